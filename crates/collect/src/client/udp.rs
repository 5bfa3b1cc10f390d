//! The bridge's side of UDP: sends each batch in a datagram, and again until it is told that the receipt was good.
//!
//! Receipts are opened elsewhere, as for TCP: what comes here is handed on as it is, whoever sent it, and a batch is sent
//! again until [`Link::settle`] says that it is stored. Waits grow twofold, so that a path that is full is not filled.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::time::Instant;

use crate::batch::{Answer, BatchId, Seal, batch_message};
use crate::error::Error;
use crate::limits::{DATAGRAM_BYTES_MAX, RECEIPT_BYTES_MAX, RECEIPT_EMPTY_BYTES, RECEIPT_FRAME_BYTES_MAX};

/// A batch without a good receipt.
#[derive(Debug)]
struct Waiting {
    datagram: Vec<u8>,
    again: Instant,
    pause: Duration,
}

/// A socket that speaks to one server.
#[derive(Debug)]
pub struct Link {
    socket: UdpSocket,
    server: SocketAddr,
    waiting: HashMap<Seal, Waiting>,
    /// Before a batch is sent again: at first, and at most.
    resend_ms: (u64, u64),
    resent: u64,
    buffer: Vec<u8>,
}

impl Link {
    /// A socket for the server at `server`. Nothing is sent yet. What is not answered is sent again after `resend_ms.0`,
    /// then after twice that and so on, at last each `resend_ms.1`: [`RESEND_MS`](crate::limits::RESEND_MS).
    ///
    /// # Errors
    /// [`Error::Io`].
    pub async fn open(server: SocketAddr, resend_ms: (u64, u64)) -> Result<Link, Error> {
        let opening = async {
            let own: SocketAddr = if server.is_ipv4() { ([0; 4], 0).into() } else { ([0; 16], 0).into() };
            let socket = UdpSocket::bind(own).await?;
            // The kernel hands on what comes from there alone.
            socket.connect(server).await?;
            Ok(socket)
        };
        let socket: io::Result<UdpSocket> = opening.await;
        let socket = socket.map_err(Error::io("open a socket for", server.to_string()))?;
        let (waiting, buffer) = (HashMap::new(), vec![0; DATAGRAM_BYTES_MAX]);
        Ok(Link { socket, server, waiting, resend_ms, resent: 0, buffer })
    }

    /// Sends a batch of `frames` frames, filled up to what its receipt may have; `sealed` is nonce, ciphertext and tag.
    ///
    /// # Errors
    /// [`Error::Io`].
    ///
    /// # Panics
    /// When the batch is longer than a datagram, or shorter than nonce and tag.
    pub async fn send(&mut self, id: &BatchId, sealed: &[u8], frames: usize) -> Result<(), Error> {
        let mut datagram = batch_message(id, sealed);
        assert!(datagram.len() <= DATAGRAM_BYTES_MAX, "a batch of {} bytes in a datagram", datagram.len());
        let receipt_bytes = 4 + RECEIPT_EMPTY_BYTES + frames * RECEIPT_FRAME_BYTES_MAX;
        datagram.resize(datagram.len().max(receipt_bytes), 0);
        self.transmit(&datagram).await?;
        let pause = Duration::from_millis(self.resend_ms.0);
        let waiting = Waiting { datagram, again: Instant::now() + pause, pause };
        let seal = Seal::of(sealed).expect("a sealed batch has a nonce and a tag");
        self.waiting.insert(seal, waiting);
        Ok(())
    }

    async fn transmit(&self, datagram: &[u8]) -> Result<(), Error> {
        let sent = self.socket.send(datagram).await;
        sent.map(drop).map_err(Error::io("send to", self.server.to_string()))
    }

    /// The next answer to anything; sends again meanwhile what waits too long. Can be given up at any time.
    ///
    /// # Errors
    /// [`Error::Io`], also when nobody listens there: a server that is started again may do so elsewhere.
    pub async fn next(&mut self) -> Result<Answer, Error> {
        loop {
            let due = self.waiting.values().map(|waiting| waiting.again).min();
            let due = due.unwrap_or_else(|| Instant::now() + Duration::from_millis(self.resend_ms.1));
            tokio::select! {
                received = self.socket.recv(&mut self.buffer) => match received {
                    Ok(bytes) => {
                        if let Some(answer) = parse(&self.buffer[..bytes]) {
                            return Ok(answer);
                        }
                    }
                    Err(cause) => return Err(Error::io("receive from", self.server.to_string())(cause)),
                },
                () = tokio::time::sleep_until(due) => self.send_again().await?,
            }
        }
    }

    async fn send_again(&mut self) -> Result<(), Error> {
        let now = Instant::now();
        let due = self.waiting.iter().filter(|(_, waiting)| waiting.again <= now);
        let due: Vec<Seal> = due.map(|(seal, _)| *seal).collect();
        for seal in due {
            let waiting = self.waiting.get_mut(&seal).expect("it was there");
            waiting.pause = (2 * waiting.pause).min(Duration::from_millis(self.resend_ms.1));
            waiting.again = now + waiting.pause;
            self.resent += 1;
            let datagram = waiting.datagram.clone();
            self.transmit(&datagram).await?;
        }
        Ok(())
    }

    /// The receipt for the batch with this seal was good: it is not sent any more.
    pub fn settle(&mut self, seal: &Seal) {
        self.waiting.remove(seal);
    }

    /// How many datagrams were sent again.
    pub fn resent(&self) -> u64 {
        self.resent
    }
}

/// The answer in a datagram; `None` when there is none.
pub fn parse(datagram: &[u8]) -> Option<Answer> {
    let (length, message) = datagram.split_first_chunk()?;
    let is_whole =
        message.len() == u32::from_le_bytes(*length) as usize && message.len() <= RECEIPT_BYTES_MAX;
    Answer::parse(message).ok().filter(|_| is_whole)
}
