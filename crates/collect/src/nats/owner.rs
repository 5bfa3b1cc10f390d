//! One lease of a partition: its log, its consumer, and the answers to what it consumes.
//!
//! A batch is handed out by the cluster, opened and stored by a pipeline of the lease's own, answered to the bridge, and
//! only then acknowledged to the cluster, together with others of a while. When the lease is over, by the owner's own clock,
//! nothing is answered or acknowledged any more: the cluster hands those batches to the next owner.
//!
//! Owns this order. Who holds which lease is `lease`'s and `serve`'s.

use std::collections::HashMap;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_nats::jetstream::AckKind;
use futures_util::{FutureExt, StreamExt};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use super::ground::Ground;
use super::receipt_subject;
use crate::batch::{Answer, Request};
use crate::error::{Error, Refusal};
use crate::limits::{
    NATS_ACKNOWLEDGE_BATCHES_MAX, NATS_ACKNOWLEDGE_PAUSE, NATS_DISK_FULL_MS, NATS_FETCH_PAUSE,
};
use crate::record::Lease;
use crate::serve::{Incoming, Inlet};
use crate::shard::Arrived;
use crate::stats::Counter;

/// Until when the lease is ours.
struct Tenure<G> {
    ground: Arc<G>,
    until_ns: AtomicU64,
}

impl<G: Ground> Tenure<G> {
    fn is_valid(&self) -> bool {
        self.ground.now().monotonic_ns < self.until_ns.load(Ordering::Acquire)
    }
}

/// An answer on its way out.
pub(super) struct Outgoing {
    pub number: u64,
    pub answer: Answer,
    pub sealed_ns: u64,
}

/// Messages that wait for what becomes of their batches.
type Flight<G> = HashMap<u64, <G as Ground>::Message>;

/// A lease that is held, and what works under it.
pub(super) struct Owner<G: Ground> {
    tenure: Arc<Tenure<G>>,
    log: G::Log,
    failure: oneshot::Receiver<()>,
    stop: watch::Sender<()>,
    tasks: [JoinHandle<()>; 2],
}

impl<G: Ground> Owner<G> {
    /// Begins the log of `lease`, and consumes, until the monotonic instant `until_ns` or what [`extend`](Self::extend)
    /// says.
    pub async fn begin(ground: &Arc<G>, lease: Lease, until_ns: u64) -> Result<Owner<G>, Error> {
        let consumer = ground.consumer(lease.partition).await?;
        let (answers, answered) = mpsc::unbounded_channel();
        let (log, Inlet { queue, failure }) = ground.clone().begin_log(lease, answers).await?;
        let tenure = Arc::new(Tenure { ground: ground.clone(), until_ns: AtomicU64::new(until_ns) });
        let (stop, stopped) = watch::channel(());
        let flight = Arc::new(Mutex::new(Flight::<G>::new()));
        let consuming = Consuming { ground: ground.clone(), tenure: tenure.clone(), flight: flight.clone() };
        let answering = Consuming { ground: ground.clone(), tenure: tenure.clone(), flight };
        let tasks = [
            tokio::spawn(consuming.consume(consumer, queue, stopped)),
            tokio::spawn(answering.answer(answered)),
        ];
        Ok(Owner { tenure, log, failure, stop, tasks })
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
        let Owner { log, stop, tasks, .. } = self;
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
        let counter = G::end_log(log).await;
        join(answering.await);
        counter
    }
}

/// What consumes and answers under one lease.
struct Consuming<G: Ground> {
    ground: Arc<G>,
    tenure: Arc<Tenure<G>>,
    flight: Arc<Mutex<Flight<G>>>,
}

impl<G: Ground> Consuming<G> {
    fn flight(&self) -> MutexGuard<'_, Flight<G>> {
        self.flight.lock().expect("no thread panics while it holds the map")
    }

    async fn consume(
        self,
        consumer: G::Consumer,
        queue: mpsc::Sender<Incoming>,
        mut stopped: watch::Receiver<()>,
    ) {
        let mut number = 0;
        loop {
            let messages = tokio::select! {
                biased;
                _ = stopped.changed() => return,
                messages = G::messages(&consumer) => messages,
            };
            let Ok(mut messages) = messages else {
                tokio::select! {
                    biased;
                    _ = stopped.changed() => return,
                    () = self.pause(NATS_FETCH_PAUSE) => continue,
                }
            };
            loop {
                let next = tokio::select! {
                    biased;
                    _ = stopped.changed() => {
                        // What was handed out and not taken is for the next owner, now.
                        while let Some(Some(Ok(message))) = messages.next().now_or_never() {
                            self.ground.acknowledge(&message, AckKind::Nak(None)).await;
                        }
                        return;
                    }
                    next = messages.next() => next,
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
            self.pause(NATS_FETCH_PAUSE).await;
        }
    }

    async fn pause(&self, pause: Duration) {
        self.ground.sleep_until(self.behind(pause)).await;
    }

    /// What the monotonic clock shows then.
    fn behind(&self, pause: Duration) -> u64 {
        self.ground.now().monotonic_ns + u64::try_from(pause.as_nanos()).unwrap_or(u64::MAX)
    }

    /// Hands a message over; `None` when nobody takes any more.
    async fn take(
        &self,
        connection: u64,
        mut message: G::Message,
        queue: &mpsc::Sender<Incoming>,
    ) -> Option<()> {
        // Without the lease it is left to the next owner.
        if !self.tenure.is_valid() {
            return Some(());
        }
        // The batch is the queue's from here on; what is kept of the message names it to the cluster.
        let request = Request::parse(G::take_payload(&mut message).as_ref());
        let refusal = match request {
            Ok(Request::Batch(batch)) => {
                self.flight().insert(connection, message);
                let arrived = Arrived { connection, at: self.ground.now(), batch: Ok(batch) };
                return queue.send(Incoming::Batch(arrived)).await.ok();
            }
            Ok(Request::Hello(_)) => Refusal::Hello,
            Err((refusal, _)) => refusal,
        };
        *self.ground.tally().refused().entry(refusal.name()).or_default() += 1;
        // If that is lost it is handed out, and refused, once more.
        self.ground.acknowledge(&message, AckKind::Term).await;
        Some(())
    }

    async fn answer(self, mut answered: mpsc::UnboundedReceiver<Outgoing>) {
        let mut owed = Vec::new();
        let mut due_ns = 0;
        loop {
            let outgoing = tokio::select! {
                biased;
                () = self.ground.sleep_until(due_ns), if !owed.is_empty() => {
                    self.acknowledge(&mut owed).await;
                    continue;
                }
                outgoing = answered.recv() => outgoing,
            };
            let Some(outgoing) = outgoing else { break };
            if owed.is_empty() {
                due_ns = self.behind(NATS_ACKNOWLEDGE_PAUSE);
            }
            owed.extend(self.tell(outgoing).await);
            if owed.len() >= NATS_ACKNOWLEDGE_BATCHES_MAX {
                self.acknowledge(&mut owed).await;
            }
        }
        self.acknowledge(&mut owed).await;
    }

    /// Tells the bridge, and returns what the cluster is to be told; nothing when the lease is over.
    async fn tell(&self, outgoing: Outgoing) -> Option<(G::Message, AckKind)> {
        let Outgoing { number, answer, sealed_ns } = outgoing;
        let message = self.flight().remove(&number).expect("each batch is answered once");
        if !self.tenure.is_valid() {
            self.ground.tally().withheld.fetch_add(1, Ordering::Relaxed);
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
            self.ground.publish(receipt_subject(id.cell, id.spool), told).await;
        }
        if matches!(answer, Answer::Receipt { .. }) {
            self.ground.tally().answering.record(sealed_ns, self.ground.now().monotonic_ns);
        }
        Some((message, kind))
    }

    /// Tells the cluster what became of batches, if it is still ours to say.
    async fn acknowledge(&self, owed: &mut Vec<(G::Message, AckKind)>) {
        for (message, kind) in owed.drain(..) {
            if self.tenure.is_valid() {
                self.ground.acknowledge(&message, kind).await;
            }
        }
    }
}
