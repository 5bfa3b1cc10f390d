//! What a server asks of its cluster, of its clock and of its disk: the seam between what it does in which order, and who does
//! it.
//!
//! Owns the seam, and what is behind it in a real server. The order is `owner`'s and `serve`'s. In tests there is a cluster
//! behind it that stops or kills a server at each of these calls (`schedules`).

use std::collections::BTreeMap;
use std::future::Future;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::kv::{CreateErrorKind, Operation, Store, UpdateErrorKind};
use async_nats::jetstream::stream::Stream;
use async_nats::jetstream::{AckKind, Message};
use cipher::OsRandomness;
use futures_util::{StreamExt, TryStreamExt};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::fence::Bucket;
use super::lease::Entry;
use super::owner::Outgoing;
use super::{COUNTERS, batch_subject};
use crate::Collector;
use crate::batch::Answer;
use crate::disk::RealDisk;
use crate::error::Error;
use crate::keys::KeyRing;
use crate::limits::{Limits, NATS_ACKNOWLEDGE_LEASES, NATS_REQUEST_MS_MAX};
use crate::realtime::Realtime;
use crate::record::Lease;
use crate::serve::{Clock, Inlet, Pipeline};
use crate::shard::{Now, Shards};
use crate::stats::{Counter, SharedTimes};

/// A request that could not be made now, or of which nobody knows what became of it: it is made again later.
pub(super) struct Later;

impl<E: std::error::Error> From<E> for Later {
    fn from(_: E) -> Later {
        Later
    }
}

/// What a server stands on. What goes wrong with a request, and is not said here, is made up for by the cluster, which hands
/// out again what is not acknowledged, or by the end of a lease.
pub(super) trait Ground: Send + Sync + 'static {
    /// What the cluster hands out batches of a partition by.
    type Consumer: Send + Sync + 'static;
    /// What it hands out as long as it is there.
    type Messages: futures_util::Stream<Item = Result<Self::Message, Later>> + Unpin + Send;
    /// A batch that was handed out.
    type Message: Send + Sync + 'static;
    /// What stores for one lease.
    type Log: Send + 'static;

    /// What its clocks show.
    fn now(&self) -> Now;
    /// Ready when the monotonic one shows that.
    fn sleep_until(&self, monotonic_ns: u64) -> impl Future<Output = ()> + Send;
    /// What is counted outside of the logs.
    fn tally(&self) -> &Tally;

    /// The consumer of a partition, which all its owners share one after the other.
    fn consumer(&self, partition: u16) -> impl Future<Output = Result<Self::Consumer, Error>> + Send;
    /// What it hands out from now on.
    fn messages(consumer: &Self::Consumer) -> impl Future<Output = Result<Self::Messages, Later>> + Send;
    /// The bytes of a batch, which the message has no longer afterwards.
    fn take_payload(message: &mut Self::Message) -> impl AsRef<[u8]> + Send;
    /// Tells the cluster what became of a batch.
    fn acknowledge(&self, message: &Self::Message, kind: AckKind) -> impl Future<Output = ()> + Send;
    /// Tells everybody who listens there.
    fn publish(&self, subject: String, bytes: Vec<u8>) -> impl Future<Output = ()> + Send;
    /// Waits until that has left.
    fn flush(&self) -> impl Future<Output = ()> + Send;

    /// The entries of the bucket of leases.
    fn keys(&self) -> impl Future<Output = Result<Vec<String>, Later>> + Send;
    /// One of them.
    fn entry(&self, key: &str) -> impl Future<Output = Result<Option<Entry>, Later>> + Send;
    /// Writes one, whatever is there.
    fn put(&self, key: &str) -> impl Future<Output = Result<(), Later>> + Send;
    /// Creates one where none is. `None` when there is one; otherwise its revision.
    fn create(&self, key: &str, value: &str) -> impl Future<Output = Result<Option<u64>, Later>> + Send;
    /// Writes one that is at `revision`. `None` when it is not; otherwise the one that it is at then.
    fn update(
        &self,
        key: &str,
        value: &str,
        revision: u64,
    ) -> impl Future<Output = Result<Option<u64>, Later>> + Send;
    /// Deletes one, if it is at `revision`.
    fn delete(&self, key: &str, revision: Option<u64>) -> impl Future<Output = Result<(), Later>> + Send;
    /// Deletes one, and forgets that it was there.
    fn purge(&self, key: &str) -> impl Future<Output = Result<(), Later>> + Send;

    /// Begins the log of `lease` and what opens and stores for it.
    fn begin_log(
        self: Arc<Self>,
        lease: Lease,
        answers: mpsc::UnboundedSender<Outgoing>,
    ) -> impl Future<Output = Result<(Self::Log, Inlet), Error>> + Send;
    /// Waits until it has stored and answered everything, and closes it.
    fn end_log(log: Self::Log) -> impl Future<Output = Result<Counter, Error>> + Send;
}

/// What is counted outside of the logs.
pub(super) struct Tally {
    refused: Mutex<BTreeMap<&'static str, u64>>,
    pub withheld: AtomicU64,
    pub answering: SharedTimes,
}

impl Tally {
    pub fn new() -> Tally {
        let (refused, withheld) = (Mutex::default(), AtomicU64::new(0));
        Tally { refused, withheld, answering: SharedTimes::new() }
    }

    pub fn refused(&self) -> MutexGuard<'_, BTreeMap<&'static str, u64>> {
        self.refused.lock().expect("no thread panics while it counts")
    }
}

/// A cluster of NATS, a disk, and threads.
pub(super) struct Shared {
    pub client: async_nats::Client,
    pub stream: Stream,
    /// Among how many partitions the nodes are divided.
    pub partitions: u16,
    pub leases: Store,
    pub counters: Store,
    pub keys: Arc<KeyRing>,
    pub store: PathBuf,
    pub limits: Limits,
    pub realtime: Realtime,
    pub clock: Clock,
    pub tally: Tally,
}

impl Shared {
    fn begin_threads(
        &self,
        lease: Lease,
        fence: Bucket,
        answers: mpsc::UnboundedSender<Outgoing>,
    ) -> Result<(Pipeline, Inlet), Error> {
        let Lease { partition, fencing } = lease;
        let disk = RealDisk::lock(&self.store.join(format!("{partition}-{fencing}")))?;
        let collector = Collector::open(disk, self.keys.clone(), self.limits.clone(), OsRandomness)?;
        let collector = collector.under(lease, Box::new(fence));
        let collector = collector.map_err(|cause| Error::nats("read", COUNTERS, &cause))?;
        // The partitions are on as many threads as there are of them, and so on the cores in turn.
        let shards = Shards::start_in(&self.keys, usize::from(partition), 1, &self.realtime)?;
        let answer = move |number, answer: &Answer, sealed_ns| {
            drop(answers.send(Outgoing { number, answer: answer.clone(), sealed_ns }));
        };
        Pipeline::start(collector, shards, &self.limits, &self.realtime, self.clock, answer)
    }
}

/// A request that is given up when it takes too long.
async fn patient<T>(request: impl Future<Output = Result<T, Later>>) -> Result<T, Later> {
    timeout(Duration::from_millis(NATS_REQUEST_MS_MAX), request).await.unwrap_or(Err(Later))
}

impl Ground for Shared {
    type Consumer = PullConsumer;
    type Messages = futures_util::stream::BoxStream<'static, Result<Message, Later>>;
    type Message = Message;
    type Log = Pipeline;

    fn now(&self) -> Now {
        self.clock.now()
    }

    async fn sleep_until(&self, monotonic_ns: u64) {
        let left_ns = monotonic_ns.saturating_sub(self.clock.monotonic_ns());
        tokio::time::sleep(Duration::from_nanos(left_ns)).await;
    }

    fn tally(&self) -> &Tally {
        &self.tally
    }

    async fn consumer(&self, partition: u16) -> Result<PullConsumer, Error> {
        consumer(&self.stream, &self.limits, partition).await
    }

    async fn messages(consumer: &PullConsumer) -> Result<Self::Messages, Later> {
        let messages = consumer.messages().await?;
        Ok(messages.map(|message| message.map_err(Later::from)).boxed())
    }

    fn take_payload(message: &mut Message) -> impl AsRef<[u8]> + Send {
        std::mem::take(&mut message.message.payload)
    }

    async fn acknowledge(&self, message: &Message, kind: AckKind) {
        let _ = message.ack_with(kind).await;
    }

    async fn publish(&self, subject: String, bytes: Vec<u8>) {
        let _ = self.client.publish(subject, bytes.into()).await;
    }

    async fn flush(&self) {
        let _ = self.client.flush().await;
    }

    async fn keys(&self) -> Result<Vec<String>, Later> {
        patient(async { Ok(self.leases.keys().await?.try_collect().await?) }).await
    }

    async fn entry(&self, key: &str) -> Result<Option<Entry>, Later> {
        let entry = patient(async { Ok(self.leases.entry(key).await?) }).await?;
        let entry = entry.filter(|entry| entry.operation == Operation::Put);
        Ok(entry.map(|entry| Entry { revision: entry.revision }))
    }

    async fn put(&self, key: &str) -> Result<(), Later> {
        patient(async { Ok(self.leases.put(key, "".into()).await.map(drop)?) }).await
    }

    async fn create(&self, key: &str, value: &str) -> Result<Option<u64>, Later> {
        patient(async {
            match self.leases.create(key, value.to_owned().into()).await {
                Ok(revision) => Ok(Some(revision)),
                Err(error) if error.kind() == CreateErrorKind::AlreadyExists => Ok(None),
                Err(_) => Err(Later),
            }
        })
        .await
    }

    async fn update(&self, key: &str, value: &str, revision: u64) -> Result<Option<u64>, Later> {
        patient(async {
            match self.leases.update(key, value.to_owned().into(), revision).await {
                Ok(revision) => Ok(Some(revision)),
                Err(error) if error.kind() == UpdateErrorKind::WrongLastRevision => Ok(None),
                Err(_) => Err(Later),
            }
        })
        .await
    }

    async fn delete(&self, key: &str, revision: Option<u64>) -> Result<(), Later> {
        patient(async { Ok(self.leases.delete_expect_revision(key, revision).await?) }).await
    }

    async fn purge(&self, key: &str) -> Result<(), Later> {
        patient(async { Ok(self.leases.purge(key).await?) }).await
    }

    async fn begin_log(
        self: Arc<Self>,
        lease: Lease,
        answers: mpsc::UnboundedSender<Outgoing>,
    ) -> Result<(Pipeline, Inlet), Error> {
        let (store, runtime) = (self.counters.clone(), Handle::current());
        let fence = Bucket { store, partition: lease.partition, partitions: self.partitions, runtime };
        // It waits for the disk, and for threads that enter their class: other leases are renewed on this one.
        let begun = spawn_blocking(move || self.begin_threads(lease, fence, answers)).await;
        begun.unwrap_or_else(|panic| resume_unwind(panic.into_panic()))
    }

    async fn end_log(log: Pipeline) -> Result<Counter, Error> {
        let ended = spawn_blocking(|| log.end()).await;
        ended.unwrap_or_else(|panic| resume_unwind(panic.into_panic()))
    }
}

/// The durable consumer of a partition.
pub(super) async fn consumer(
    stream: &Stream,
    limits: &Limits,
    partition: u16,
) -> Result<PullConsumer, Error> {
    let name = format!("partition-{partition}");
    let config = pull::Config {
        durable_name: Some(name.clone()),
        filter_subject: batch_subject(partition),
        ack_policy: AckPolicy::Explicit,
        ack_wait: Duration::from_millis(limits.lease_ms) * NATS_ACKNOWLEDGE_LEASES,
        max_ack_pending: limits.group_batches_max as i64,
        ..pull::Config::default()
    };
    let consumer = stream.get_or_create_consumer(&name, config).await;
    consumer.map_err(|cause| Error::nats("consume from", name, &cause))
}
