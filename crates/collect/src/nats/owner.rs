//! One lease of a partition: its log, its consumer, and the answers to what it consumes.
//!
//! A batch is handed out by the cluster, opened and stored by a pipeline of the lease's own, answered to the bridge, and
//! only then acknowledged to the cluster, together with others of a while. When the lease is over, by the owner's own clock, nothing is answered or
//! acknowledged any more: the cluster hands those batches to the next owner.
//!
//! Owns this order. Who holds which lease is `lease`'s and `serve`'s.

use std::collections::{BTreeMap, HashMap};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::kv::Store;
use async_nats::jetstream::stream::Stream;
use async_nats::jetstream::{AckKind, Message};
use cipher::OsRandomness;
use futures_util::{FutureExt, StreamExt};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, sleep_until};

use super::fence::Bucket;
use super::{COUNTERS, batch_subject, receipt_subject};
use crate::Collector;
use crate::batch::{Answer, Request};
use crate::disk::RealDisk;
use crate::error::{Error, Refusal};
use crate::keys::KeyRing;
use crate::limits::{
    Limits, NATS_ACKNOWLEDGE_BATCHES_MAX, NATS_ACKNOWLEDGE_LEASES, NATS_ACKNOWLEDGE_PAUSE, NATS_DISK_FULL_MS,
    NATS_FETCH_PAUSE,
};
use crate::realtime::Realtime;
use crate::record::Lease;
use crate::serve::{Clock, Incoming, Inlet, Pipeline};
use crate::shard::{Arrived, Shards};
use crate::stats::{Counter, SharedTimes};

/// What all leases of a server share.
pub(super) struct Shared {
    pub client: async_nats::Client,
    pub stream: Stream,
    /// Among how many partitions the nodes are divided.
    pub partitions: u16,
    pub counters: Store,
    pub keys: Arc<KeyRing>,
    pub store: std::path::PathBuf,
    pub limits: Limits,
    pub realtime: Realtime,
    pub clock: Clock,
    pub tally: Tally,
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

impl Shared {
    /// Begins the log of `lease` and the threads that open and store for it.
    fn begin_log(
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

/// Until when the lease is ours.
struct Tenure {
    clock: Clock,
    until_ns: AtomicU64,
}

impl Tenure {
    fn is_valid(&self) -> bool {
        self.clock.now().monotonic_ns < self.until_ns.load(Ordering::Acquire)
    }
}

/// An answer on its way out.
struct Outgoing {
    number: u64,
    answer: Answer,
    sealed_ns: u64,
}

/// Messages that wait for what becomes of their batches.
type Flight = Mutex<HashMap<u64, Message>>;

/// A lease that is held, and what works under it.
pub(super) struct Owner {
    tenure: Arc<Tenure>,
    pipeline: Pipeline,
    failure: oneshot::Receiver<()>,
    stop: watch::Sender<()>,
    tasks: [JoinHandle<()>; 2],
}

impl Owner {
    /// Begins the log of `lease`, and consumes, until the monotonic instant `until_ns` or what [`extend`](Self::extend)
    /// says.
    pub async fn begin(shared: &Arc<Shared>, lease: Lease, until_ns: u64) -> Result<Owner, Error> {
        let consumer = consumer(&shared.stream, &shared.limits, lease.partition).await?;
        let (answers, answered) = mpsc::unbounded_channel();
        let (store, runtime) = (shared.counters.clone(), Handle::current());
        let Lease { partition, .. } = lease;
        let fence = Bucket { store, partition, partitions: shared.partitions, runtime };
        let begin = {
            let shared = shared.clone();
            move || shared.begin_log(lease, fence, answers)
        };
        // It waits for the disk, and for threads that enter their class: other leases are renewed on this one.
        let begun = spawn_blocking(begin).await;
        let begun = begun.unwrap_or_else(|panic| resume_unwind(panic.into_panic()))?;
        let (pipeline, Inlet { queue, failure }) = begun;
        let tenure = Arc::new(Tenure { clock: shared.clock, until_ns: AtomicU64::new(until_ns) });
        let (stop, stopped) = watch::channel(());
        let flight = Arc::new(Flight::default());
        let consuming = Consuming { shared: shared.clone(), tenure: tenure.clone(), flight: flight.clone() };
        let answering = Consuming { shared: shared.clone(), tenure: tenure.clone(), flight };
        let tasks = [
            tokio::spawn(consuming.consume(consumer, queue, stopped)),
            tokio::spawn(answering.answer(answered)),
        ];
        Ok(Owner { tenure, pipeline, failure, stop, tasks })
    }

    /// The lease is ours until then.
    pub fn extend(&self, until_ns: u64) {
        self.tenure.until_ns.fetch_max(until_ns, Ordering::AcqRel);
    }

    /// Whether it still is.
    pub fn is_valid(&self) -> bool {
        self.tenure.is_valid()
    }

    /// Whether the log cannot be written any more.
    pub fn has_failed(&mut self) -> bool {
        !matches!(self.failure.try_recv(), Err(oneshot::error::TryRecvError::Empty))
    }

    /// Consumes nothing more, answers what was consumed as long as the lease is valid, and closes the log.
    pub async fn end(self) -> Result<Counter, Error> {
        let Owner { pipeline, stop, tasks, .. } = self;
        drop(stop);
        let [consuming, answering] = tasks;
        let join = |ended: Result<(), tokio::task::JoinError>| {
            if let Err(error) = ended
                && error.is_panic()
            {
                resume_unwind(error.into_panic());
            }
        };
        join(consuming.await);
        let ended = spawn_blocking(|| pipeline.end()).await;
        let counter = ended.unwrap_or_else(|panic| resume_unwind(panic.into_panic()));
        join(answering.await);
        counter
    }
}

/// The durable consumer of a partition, which all its owners share one after the other.
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

/// What consumes and answers under one lease.
struct Consuming {
    shared: Arc<Shared>,
    tenure: Arc<Tenure>,
    flight: Arc<Flight>,
}

impl Consuming {
    fn flight(&self) -> MutexGuard<'_, HashMap<u64, Message>> {
        self.flight.lock().expect("no thread panics while it holds the map")
    }

    async fn consume(
        self,
        consumer: PullConsumer,
        queue: mpsc::Sender<Incoming>,
        mut stopped: watch::Receiver<()>,
    ) {
        let mut number = 0;
        loop {
            let messages = tokio::select! {
                messages = consumer.messages() => messages,
                _ = stopped.changed() => return,
            };
            let Ok(mut messages) = messages else {
                tokio::select! {
                    () = tokio::time::sleep(NATS_FETCH_PAUSE) => continue,
                    _ = stopped.changed() => return,
                }
            };
            loop {
                let next = tokio::select! {
                    next = messages.next() => next,
                    _ = stopped.changed() => {
                        // What was handed out and not taken is for the next owner, now.
                        while let Some(Some(Ok(message))) = messages.next().now_or_never() {
                            let _ = message.ack_with(AckKind::Nak(None)).await;
                        }
                        return;
                    }
                };
                match next {
                    Some(Ok(message)) => {
                        number += 1;
                        if self.take(number, message, &queue).await.is_none() {
                            return;
                        }
                    }
                    // The cluster is busy with itself, or away: ask again.
                    Some(Err(_)) | None => break,
                }
            }
            tokio::time::sleep(NATS_FETCH_PAUSE).await;
        }
    }

    /// Hands a message over; `None` when nobody takes any more.
    async fn take(
        &self,
        connection: u64,
        mut message: Message,
        queue: &mpsc::Sender<Incoming>,
    ) -> Option<()> {
        // Without the lease it is left to the next owner.
        if !self.tenure.is_valid() {
            return Some(());
        }
        let refusal = match Request::parse(&message.payload) {
            Ok(Request::Batch(batch)) => {
                // The batch is the queue's from here on; what is kept of the message names it to the cluster.
                drop(std::mem::take(&mut message.message.payload));
                self.flight().insert(connection, message);
                let arrived = Arrived { connection, at: self.shared.clock.now(), batch: Ok(batch) };
                return queue.send(Incoming::Batch(arrived)).await.ok();
            }
            Ok(Request::Hello(_)) => Refusal::Hello,
            Err((refusal, _)) => refusal,
        };
        *self.shared.tally.refused().entry(refusal.name()).or_default() += 1;
        // If that is lost it is handed out, and refused, once more.
        let _ = message.ack_with(AckKind::Term).await;
        Some(())
    }

    async fn answer(self, mut answered: mpsc::UnboundedReceiver<Outgoing>) {
        let mut owed = Vec::new();
        let mut due = Instant::now();
        loop {
            let outgoing = tokio::select! {
                biased;
                () = sleep_until(due), if !owed.is_empty() => {
                    self.acknowledge(&mut owed).await;
                    continue;
                }
                outgoing = answered.recv() => outgoing,
            };
            let Some(outgoing) = outgoing else { break };
            if owed.is_empty() {
                due = Instant::now() + NATS_ACKNOWLEDGE_PAUSE;
            }
            owed.extend(self.tell(outgoing).await);
            if owed.len() >= NATS_ACKNOWLEDGE_BATCHES_MAX {
                self.acknowledge(&mut owed).await;
            }
        }
        self.acknowledge(&mut owed).await;
    }

    /// Tells the bridge, and returns what the cluster is to be told; nothing when the lease is over.
    async fn tell(&self, outgoing: Outgoing) -> Option<(Message, AckKind)> {
        let Outgoing { number, answer, sealed_ns } = outgoing;
        let message = self.flight().remove(&number).expect("each batch is answered once");
        if !self.tenure.is_valid() {
            self.shared.tally.withheld.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        let (kind, is_told) = match &answer {
            Answer::Receipt { .. } => (AckKind::Ack, true),
            Answer::Refused { status, .. } => match Refusal::from_number(*status) {
                Some(Refusal::DiskFull) => {
                    (AckKind::Nak(Some(Duration::from_millis(NATS_DISK_FULL_MS))), true)
                }
                refusal => (AckKind::Term, refusal.is_some_and(Refusal::is_of_authentic)),
            },
        };
        // Receipt before acknowledgement: one that is lost comes again with the batch.
        if is_told {
            let id = answer.id();
            let told = answer.to_message()[4..].to_vec();
            let _ = self.shared.client.publish(receipt_subject(id.cell, id.spool), told.into()).await;
        }
        if matches!(answer, Answer::Receipt { .. }) {
            self.shared.tally.answering.record(sealed_ns, self.shared.clock.monotonic_ns());
        }
        Some((message, kind))
    }

    /// Tells the cluster what became of batches, if it is still ours to say.
    async fn acknowledge(&self, owed: &mut Vec<(Message, AckKind)>) {
        for (message, kind) in owed.drain(..) {
            if self.tenure.is_valid() {
                let _ = message.ack_with(kind).await;
            }
        }
    }
}
