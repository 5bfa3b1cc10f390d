//! The bridge's side of NATS: publishes batches, and again until it is told that the receipt was good. How it, and a server,
//! is connected to the cluster is `connection`'s.
//!
//! A batch has the message id `<cell>/<spool>/<number>/<nonce>/<attempt>`. The cluster takes an id once, so that what is
//! published again because its acknowledgement was lost is not there twice. The nonce is in it because a bridge that was
//! started again seals the same number anew; the attempt, because a receipt may be lost behind an acknowledgement, and only
//! another message brings another one.

mod connection;

use std::collections::HashMap;
use std::fmt::Write;
use std::time::Duration;

use async_nats::header::{HeaderMap, NATS_MESSAGE_ID};
use async_nats::jetstream::Context;
use async_nats::{Subscriber, jetstream};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::time::Instant;

pub(super) use self::connection::connect;
pub use self::connection::is_loopback;
use super::{Cluster, STREAM, batch_subject, receipt_subject};
use crate::batch::{Answer, BatchId, Seal, batch_message};
use crate::error::Error;
use crate::limits::{RECEIPT_MS, RESEND_MS};

/// A batch without a good receipt.
#[derive(Debug)]
struct Waiting {
    id: BatchId,
    partition: u16,
    message: Vec<u8>,
    attempt: u32,
    /// The cluster has it: what is missing is the receipt.
    is_published: bool,
    again: Option<Instant>,
    pause: Duration,
}

/// What became of a publication: the seal of its batch, and whether the cluster has it.
type Published = (Seal, bool);

/// A connection to a cluster.
pub struct Link {
    context: Context,
    receipts: Subscriber,
    waiting: HashMap<Seal, Waiting>,
    publishing: FuturesUnordered<BoxFuture<'static, Published>>,
    resent: u64,
}

impl Link {
    /// Connects to `cluster` and listens for the receipts of a spool.
    ///
    /// # Errors
    /// [`Error::Nats`].
    pub async fn open(cluster: &Cluster, cell: u16, spool: u64) -> Result<Link, Error> {
        let context = connect(cluster).await?;
        let subject = receipt_subject(cell, spool);
        let receipts = context.client().subscribe(subject.clone()).await;
        let receipts = receipts.map_err(|cause| Error::nats("subscribe to", subject, &cause))?;
        // Before anything is published: a receipt must find somebody.
        let flushed = context.client().flush().await;
        flushed.map_err(|cause| Error::nats("connect to", cluster.servers.join(", "), &cause))?;
        let (waiting, publishing) = (HashMap::new(), FuturesUnordered::new());
        Ok(Link { context, receipts, waiting, publishing, resent: 0 })
    }

    /// On how many servers the cluster keeps each batch, as it says itself.
    ///
    /// # Errors
    /// [`Error::Nats`].
    pub async fn replicas(&self) -> Result<usize, Error> {
        let stream = self.context.get_stream(STREAM).await;
        let stream = stream.map_err(|cause| Error::nats("look up", STREAM, &cause))?;
        Ok(stream.cached_info().config.num_replicas)
    }

    /// Publishes a batch of one partition; `sealed` is nonce, ciphertext and tag.
    ///
    /// # Errors
    /// None so far: what cannot be published now is published later.
    pub async fn send(&mut self, id: &BatchId, sealed: &[u8], partition: u16) -> Result<(), Error> {
        let seal = Seal::of(sealed).expect("it is sealed");
        // A message has its length already.
        let message = batch_message(id, sealed)[4..].to_vec();
        let pause = Duration::from_millis(RESEND_MS.0);
        let waiting =
            Waiting { id: *id, partition, message, attempt: 0, is_published: false, again: None, pause };
        self.waiting.insert(seal, waiting);
        self.publish(seal);
        Ok(())
    }

    fn publish(&mut self, seal: Seal) {
        let Some(waiting) = self.waiting.get_mut(&seal) else { return };
        waiting.again = None;
        let BatchId { cell, spool, number } = waiting.id;
        let mut id = format!("{cell}/{spool:016x}/{number}/");
        seal.nonce().iter().for_each(|byte| write!(id, "{byte:02x}").expect("a text grows"));
        write!(id, "/{}", waiting.attempt).expect("a text grows");
        let mut headers = HeaderMap::new();
        headers.insert(NATS_MESSAGE_ID, id.as_str());
        let (context, subject) = (self.context.clone(), batch_subject(waiting.partition));
        let message = waiting.message.clone().into();
        self.publishing.push(Box::pin(async move {
            let publishing = context.publish_with_headers(subject, headers, message).await;
            let acknowledged: Result<jetstream::publish::PublishAck, _> = match publishing {
                Ok(acknowledgement) => acknowledgement.await,
                Err(error) => Err(error),
            };
            (seal, acknowledged.is_ok())
        }));
    }

    fn published(&mut self, (seal, is_published): Published) {
        let Some(waiting) = self.waiting.get_mut(&seal) else { return };
        if is_published && !waiting.is_published {
            waiting.pause = Duration::from_millis(RECEIPT_MS.0);
        }
        waiting.is_published |= is_published;
        waiting.again = Some(Instant::now() + waiting.pause);
        let pause_ms_max = if waiting.is_published { RECEIPT_MS.1 } else { RESEND_MS.1 };
        waiting.pause = (2 * waiting.pause).min(Duration::from_millis(pause_ms_max));
    }

    /// The next answer to anything; publishes again meanwhile what waits too long. Can be given up at any time.
    ///
    /// # Errors
    /// [`Error::Protocol`] when the connection is over.
    pub async fn next(&mut self) -> Result<Answer, Error> {
        loop {
            let due = self.waiting.values().filter_map(|waiting| waiting.again).min();
            let due = due.unwrap_or_else(|| Instant::now() + Duration::from_millis(RESEND_MS.1));
            tokio::select! {
                message = self.receipts.next() => {
                    let over = Error::Protocol { found: "the end of a subscription" };
                    if let Ok(answer) = Answer::parse(&message.ok_or(over)?.payload) {
                        return Ok(answer);
                    }
                }
                Some(published) = self.publishing.next() => self.published(published),
                () = tokio::time::sleep_until(due) => self.publish_again(),
            }
        }
    }

    fn publish_again(&mut self) {
        let now = Instant::now();
        let is_due = |waiting: &Waiting| waiting.again.is_some_and(|again| again <= now);
        let due: Vec<_> =
            self.waiting.iter().filter(|(_, waiting)| is_due(waiting)).map(|(seal, _)| *seal).collect();
        for seal in due {
            let waiting = self.waiting.get_mut(&seal).expect("it was there");
            waiting.attempt += u32::from(waiting.is_published);
            self.resent += 1;
            self.publish(seal);
        }
    }

    /// The receipt for the batch with this seal was good: it is not published any more.
    pub fn settle(&mut self, seal: &Seal) {
        self.waiting.remove(seal);
    }

    /// How often something was published again.
    pub fn resent(&self) -> u64 {
        self.resent
    }
}
