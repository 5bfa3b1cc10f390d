//! The ways from a bridge to the server: TCP with TLS, UDP, NATS JetStream.
//!
//! Owns how a batch is divided, and what is different about the ways: whether one itself proves who answers, and whether
//! what is lost on it is sent again by it. Batches are sealed, and receipts opened, by `uplink`.

use super::record::Frame;
use crate::error::Error;
use crate::limits::{BATCH_BYTES_MAX, BATCH_ENTRY_BYTES, BATCH_HEADER_BYTES};
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

    /// Divides a batch: over NATS what one owner stores goes together, and everywhere what is sealed and sent at once. A
    /// cell on whose bus others speak hands over more than its nodes send.
    pub fn parts(&self, frames: Vec<Frame>) -> Vec<Part> {
        let bytes_max = match self {
            Way::Tcp(..) | Way::Nats(..) => BATCH_BYTES_MAX as usize,
            Way::Udp(_) => (BATCH_BYTES_MAX as usize).min(DATAGRAM_PLAINTEXT_BYTES_MAX),
        };
        let partition_of = |frame: &Frame| match self {
            Way::Tcp(..) | Way::Udp(_) => 0,
            Way::Nats(_, cluster) => partition_of_frame(&frame.bytes, cluster.partitions),
        };
        let mut shares: BTreeMap<u16, Vec<Frame>> = BTreeMap::new();
        for frame in frames {
            shares.entry(partition_of(&frame)).or_default().push(frame);
        }
        let parts = |(partition, frames)| {
            let parts = cut(frames, BATCH_FRAMES_MAX, bytes_max);
            parts.into_iter().map(move |frames| Part { partition, frames })
        };
        shares.into_iter().flat_map(parts).collect()
    }

    /// Sends a part of a batch; `sealed` is nonce, ciphertext and tag.
    pub async fn send(&mut self, id: &BatchId, sealed: &[u8], part: &Part) -> Result<(), Error> {
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

    /// The part with this seal has its receipt.
    pub fn settle(&mut self, seal: &Seal) {
        match self {
            Way::Tcp(..) => {}
            Way::Udp(link) => link.settle(seal),
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

/// Frames in order, in lists of so many at most, whose plaintexts have so many bytes at most; one frame always fits.
fn cut(frames: Vec<Frame>, frames_max: usize, bytes_max: usize) -> Vec<Vec<Frame>> {
    let mut lists: Vec<Vec<Frame>> = Vec::new();
    let mut bytes = 0;
    for frame in frames {
        let entry_bytes = BATCH_ENTRY_BYTES as usize + frame.bytes.len();
        let has_room = |list: &Vec<Frame>| list.len() < frames_max && bytes + entry_bytes <= bytes_max;
        if !lists.last().is_some_and(has_room) {
            lists.push(Vec::new());
            bytes = BATCH_HEADER_BYTES as usize;
        }
        bytes += entry_bytes;
        lists.last_mut().expect("it was put there").push(frame);
    }
    lists
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_cut_where_it_has_too_many_frames_or_bytes_and_nothing_is_lost() {
        let frame =
            |slot: u8, bytes: usize| Frame { superframe: 1, slot, received_ps: 0, bytes: vec![slot; bytes] };
        let entry_bytes = BATCH_ENTRY_BYTES as usize;
        let room = BATCH_HEADER_BYTES as usize + 2 * (entry_bytes + 10);
        let cut_at = |frames: &[Frame], frames_max| -> Vec<usize> {
            let lists = cut(frames.to_vec(), frames_max, room);
            assert_eq!(lists.concat(), frames);
            lists.iter().map(Vec::len).collect()
        };
        assert!(cut_at(&[], 9).is_empty());
        assert_eq!(cut_at(&[frame(1, 10), frame(2, 10)], 9), [2]);
        assert_eq!(cut_at(&[frame(1, 10), frame(2, 11), frame(3, 10), frame(4, 1)], 9), [1, 1, 2]);
        assert_eq!(cut_at(&[frame(1, 1), frame(1, 1), frame(1, 1)], 2), [2, 1]);
    }
}
