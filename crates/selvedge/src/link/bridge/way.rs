//! The ways from a bridge to the server: TCP with TLS, UDP, NATS JetStream.
//!
//! Owns what is different about them: how a batch is divided, whether the way itself proves who answers, and whether
//! what is lost on it is sent again by it. Batches are sealed, and receipts opened, by `uplink`.

use super::record::Frame;
use crate::error::Error;
use collect::batch::{Answer, BatchId, Hello, Seal};
use collect::client::udp::Link as UdpLink;
use collect::client::{self, AnswerReceiver, BatchSender};
use collect::limits::{BATCH_FRAMES_MAX, DATAGRAM_PLAINTEXT_BYTES_MAX, RESEND_MS};
use collect::nats::client::Link as NatsLink;
use collect::nats::{Cluster, partition_of_frame};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

/// Says where the server listens. One that is started again may listen elsewhere, so this is asked each time.
pub type Address = Arc<dyn Fn() -> std::io::Result<SocketAddr> + Send + Sync>;

/// A server, and who we are to it.
#[derive(Clone)]
pub enum Server {
    /// One that takes connections.
    Tcp {
        /// Where it listens.
        address: Address,
        /// The name in its certificate.
        name: String,
        /// Our certificate, and whose certificates we believe.
        tls: Arc<rustls::ClientConfig>,
    },
    /// One that takes datagrams.
    Udp {
        /// Where it listens.
        address: Address,
    },
    /// Several behind a cluster of NATS.
    Nats(Cluster),
}

/// A way that is open.
pub(super) enum Way {
    Tcp(BatchSender, AnswerReceiver),
    Udp(UdpLink),
    Nats(Box<NatsLink>, Cluster),
}

/// Frames of a batch that are sealed and sent together.
pub(super) struct Part {
    pub partition: u16,
    pub frames: Vec<Frame>,
}

impl Server {
    /// Bytes of the longest plaintext that fits its messages.
    pub(super) fn plaintext_bytes_max(&self) -> usize {
        let device = crate::limits::BATCH_BYTES_MAX as usize;
        match self {
            Server::Tcp { .. } | Server::Nats(_) => device,
            Server::Udp { .. } => device.min(DATAGRAM_PLAINTEXT_BYTES_MAX),
        }
    }
}

fn asked(address: &Address) -> Result<SocketAddr, Error> {
    address().map_err(|cause| Error::io("find", Path::new("the server's address"), cause))
}

impl Way {
    /// Opens the way to `server` for the batches of `hello`.
    pub async fn open(server: &Server, hello: Hello) -> Result<Way, Error> {
        Ok(match server {
            Server::Tcp { address, name, tls } => {
                let (sender, receiver) =
                    client::connect(asked(address)?, name, Arc::clone(tls), hello).await?;
                Way::Tcp(sender, receiver)
            }
            Server::Udp { address } => Way::Udp(UdpLink::open(asked(address)?, RESEND_MS).await?),
            Server::Nats(cluster) => {
                let link = NatsLink::open(cluster, hello.cell, hello.spool).await?;
                Way::Nats(Box::new(link), cluster.clone())
            }
        })
    }

    /// Divides a batch: over NATS what one owner stores goes together.
    pub fn parts(&self, frames: Vec<Frame>) -> Vec<Part> {
        let Way::Nats(_, cluster) = self else { return vec![Part { partition: 0, frames }] };
        let mut parts: BTreeMap<u16, Vec<Frame>> = BTreeMap::new();
        for frame in frames {
            parts.entry(partition_of_frame(&frame.bytes, cluster.partitions)).or_default().push(frame);
        }
        parts.into_iter().map(|(partition, frames)| Part { partition, frames }).collect()
    }

    /// Sends a part of a batch; `sealed` is nonce, ciphertext and tag.
    pub async fn send(&mut self, id: &BatchId, sealed: &[u8], part: &Part) -> Result<(), Error> {
        assert!(part.frames.len() <= BATCH_FRAMES_MAX, "it was checked");
        match self {
            Way::Tcp(sender, _) => sender.send(id, sealed).await?,
            Way::Udp(link) => link.send(id, sealed, part.frames.len()).await?,
            Way::Nats(link, _) => link.send(id, sealed, part.partition).await?,
        }
        Ok(())
    }

    /// The next answer; `None` when the server takes its leave. Can be given up at any time.
    pub async fn next(&mut self) -> Result<Option<Answer>, Error> {
        Ok(match self {
            Way::Tcp(_, receiver) => receiver.next().await?,
            Way::Udp(link) => Some(link.next().await?),
            Way::Nats(link, _) => Some(link.next().await?),
        })
    }

    /// The part of batch `number` with this seal has its receipt.
    pub fn settle(&mut self, number: u64, seal: &Seal) {
        match self {
            Way::Tcp(..) => {}
            Way::Udp(link) => link.settle(number),
            Way::Nats(link, _) => link.settle(seal),
        }
    }

    /// Whether only the server can have sent what comes on it: elsewhere a refusal may be anybody's.
    pub fn is_private(&self) -> bool {
        matches!(self, Way::Tcp(..))
    }

    /// How often something was sent again on it.
    pub fn resent(&self) -> u64 {
        match self {
            Way::Tcp(..) => 0,
            Way::Udp(link) => link.resent(),
            Way::Nats(link, _) => link.resent(),
        }
    }

    /// Takes leave when everything is answered.
    pub async fn finish(&mut self) -> Result<(), Error> {
        if let Way::Tcp(sender, _) = self {
            sender.finish().await?;
        }
        Ok(())
    }
}
