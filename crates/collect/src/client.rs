//! The bridge's side of a connection: says hello, sends sealed batches, receives answers as they are.
//!
//! Batches are sealed and receipts opened elsewhere (in the gateway's crypto device), so no key but TLS's is
//! here. The two halves are independent: send as many batches as you like before the first answer; when the
//! server has enough of them it stops reading, and [`BatchSender::send`] waits.

pub mod udp;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::batch::{Answer, BatchId, Hello, batch_message};
use crate::error::Error;
use crate::limits::{Limits, RECEIPT_BYTES_MAX};

/// Sends batches.
#[derive(Debug)]
pub struct BatchSender {
    stream: WriteHalf<TlsStream<TcpStream>>,
    server: String,
}

/// Receives answers.
#[derive(Debug)]
pub struct AnswerReceiver {
    stream: ReadHalf<TlsStream<TcpStream>>,
    server: String,
    /// What came of the next answers.
    received: Vec<u8>,
}

/// Connects, shows the client certificate of `tls`, and says hello.
///
/// A server that does not accept the certificate says so only when it is read from (TLS 1.3), so that error
/// may come from [`AnswerReceiver::next`].
///
/// # Errors
/// [`Error::Certificate`] when `server_name` is no name, [`Error::Io`].
pub async fn connect(
    address: SocketAddr,
    server_name: &str,
    tls: Arc<ClientConfig>,
    hello: Hello,
) -> Result<(BatchSender, AnswerReceiver), Error> {
    let server = address.to_string();
    let name = ServerName::try_from(server_name.to_owned())
        .map_err(|cause| Error::Certificate { which: "server name", cause: cause.to_string() })?;
    let connecting = async {
        let stream = TcpStream::connect(address).await?;
        // Batches are whole messages; waiting to fill a packet only delays them.
        stream.set_nodelay(true)?;
        let mut stream = TlsConnector::from(tls).connect(name, stream).await?;
        stream.write_all(&hello.to_message()).await?;
        stream.flush().await?;
        Ok(stream)
    };
    let patience = Duration::from_millis(Limits::default().handshake_ms_max);
    let connected =
        timeout(patience, connecting).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
    let stream = connected.map_err(Error::io("connect to", server.clone()))?;
    let (read, write) = tokio::io::split(stream);
    let sender = BatchSender { stream: write, server: server.clone() };
    Ok((sender, AnswerReceiver { stream: read, server, received: Vec::new() }))
}

impl BatchSender {
    /// Sends a batch; `sealed` is nonce, ciphertext and tag. Waits while the server does not read.
    ///
    /// # Errors
    /// [`Error::Io`].
    ///
    /// # Panics
    /// When the batch is longer than a message may be.
    pub async fn send(&mut self, id: &BatchId, sealed: &[u8]) -> Result<(), Error> {
        self.send_bytes(&batch_message(id, sealed)).await
    }

    /// Sends bytes as they are, for tests of what a server refuses.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub async fn send_bytes(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let sending = async {
            self.stream.write_all(bytes).await?;
            self.stream.flush().await
        };
        sending.await.map_err(Error::io("send to", self.server.clone()))
    }

    /// Says that nothing more will be sent. Answers still come.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub async fn finish(&mut self) -> Result<(), Error> {
        self.stream.shutdown().await.map_err(Error::io("finish sending to", self.server.clone()))
    }
}

impl AnswerReceiver {
    /// The next answer; `None` when the server closed the connection after its last one. What was read of an answer
    /// is kept when the call is given up.
    ///
    /// # Errors
    /// [`Error::Io`], also when the connection ends without TLS's farewell, and [`Error::Protocol`].
    pub async fn next(&mut self) -> Result<Option<Answer>, Error> {
        loop {
            if let Some((length, rest)) = self.received.split_first_chunk() {
                let length = u32::from_le_bytes(*length) as usize;
                if length > RECEIPT_BYTES_MAX {
                    return Err(Error::Protocol { found: "an answer longer than any receipt" });
                }
                if let Some(message) = rest.get(..length) {
                    let answer = Answer::parse(message);
                    self.received.drain(..4 + length);
                    return answer.map(Some).map_err(|_| Error::Protocol { found: "an answer that is none" });
                }
            }
            let lost = || Error::io("receive from", self.server.clone());
            let read = self.stream.read_buf(&mut self.received).await.map_err(lost())?;
            if read == 0 {
                let is_whole = self.received.is_empty();
                return if is_whole { Ok(None) } else { Err(lost()(io::ErrorKind::UnexpectedEof.into())) };
            }
        }
    }
}
