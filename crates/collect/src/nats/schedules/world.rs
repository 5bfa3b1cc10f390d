//! The cluster, the clock and the disks of simulated servers, and the threads that the servers are.
//!
//! Owns the steps: whatever a server asks of the world begins with one and ends with another, so that it is held before what it
//! asked for was done, and after that, before it knows. A request may fail, or be done and its answer lost ([`Trouble`]).

use std::any::Any;
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::io;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};
use std::thread::{self, JoinHandle};

use async_nats::jetstream::AckKind;
use tokio::sync::{mpsc, oneshot};

use super::{Flaws, PARTITIONS, bridge};
use crate::commit::Underway;
use crate::error::Error;
use crate::limits::{Limits, NATS_ACKNOWLEDGE_LEASES};
use crate::nats::fence::{Fence, Numbers, after};
use crate::nats::ground::{Ground, Later, Tally};
use crate::nats::lease::Entry;
use crate::nats::owner::Outgoing;
use crate::nats::partition_of;
use crate::nats::serve::Server;
use crate::record::{Lease, NodeEpoch};
use crate::serve::{Incoming, Inlet};
use crate::shard::{Now, Shard};
use crate::sim::{Dice, SimDisk};
use crate::stats::{Counter, Stats};
use crate::{Action, Collector};

/// Polls of a server without a step that end its turn: what it hands from one task to another is where it is to be by then.
const IDLE_POLLS: usize = 6;

pub fn limits() -> Limits {
    let (batch_frames_max, group_batches_max, segment_bytes_max) = (8, 5, 64 << 10);
    let (batch_bytes_max, group_bytes_max, sector_bytes) = (2048, 2048, 512);
    let (downlink_block, lease_ms) = (2, 3_000);
    Limits {
        batch_frames_max,
        batch_bytes_max,
        group_batches_max,
        group_bytes_max,
        segment_bytes_max,
        sector_bytes,
        downlink_block,
        lease_ms,
        ..Limits::default()
    }
}

/// What may go wrong with a request, of which the server only hears that it is to be made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It is not done.
    Failed,
    /// It is done, and the answer is lost.
    AnswerLost,
}

/// A batch in the stream.
struct Parcel {
    partition: u16,
    payload: Vec<u8>,
    /// Handed out, and not to be handed out again before; `None` when what became of it is known.
    until_ns: Option<u64>,
}

/// A log, and on whose disk it is.
pub struct Log {
    pub machine: &'static str,
    pub disk: SimDisk,
}

pub struct State {
    dice: Dice,
    flaws: Flaws,
    now_ns: u64,
    parcels: Vec<Parcel>,
    receipts: Vec<Vec<u8>>,
    /// The bucket of leases: revisions by key.
    leases: BTreeMap<String, u64>,
    revision: u64,
    /// The bucket of counters: what is given out next; of each server, where there is no fence.
    downlinks: BTreeMap<(&'static str, u32, u8), u32>,
    changes: Numbers,
    firsts: Numbers,
    /// The last epoch of each node that was taken from a key folder.
    epochs: BTreeMap<u32, u8>,
    pub logs: Vec<Log>,
    servers: u32,
    /// By what was asked for: how often it failed, and how often the answer was lost.
    pub troubles: BTreeMap<&'static str, [usize; 2]>,
}

/// What all servers share. Clones are the same.
#[derive(Clone)]
pub struct World(Arc<Mutex<State>>);

impl World {
    pub fn new(dice: Dice, flaws: Flaws) -> World {
        World(Arc::new(Mutex::new(State {
            dice,
            flaws,
            now_ns: 0,
            parcels: Vec::new(),
            receipts: Vec::new(),
            leases: BTreeMap::new(),
            revision: 0,
            downlinks: BTreeMap::new(),
            changes: Numbers::new(),
            firsts: Numbers::new(),
            epochs: BTreeMap::new(),
            logs: Vec::new(),
            servers: 0,
            troubles: BTreeMap::new(),
        })))
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("nobody panics while it holds the world")
    }

    /// Time passes.
    pub fn pass(&self, ms: u32) {
        self.state().now_ns += u64::from(ms) * 1_000_000;
    }

    /// Puts a batch into the stream.
    pub fn publish(&self, partition: u16, payload: Vec<u8>) {
        self.state().parcels.push(Parcel { partition, payload, until_ns: Some(0) });
    }

    /// Whether it is known of every batch what became of it.
    pub fn is_drained(&self) -> bool {
        self.state().parcels.iter().all(|parcel| parcel.until_ns.is_none())
    }

    /// What bridges were told since the last time.
    pub fn take_receipts(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.state().receipts)
    }

    /// Takes an epoch from the key folder of a machine: the one has odd ones, the other has even ones.
    pub fn take_epoch(&self, machine: &str, node: u32) -> Option<u8> {
        let mut state = self.state();
        let last = state.epochs.entry(node).or_default();
        let (next, is_odd) = (last.checked_add(1)?, machine == "one");
        *last = if (next % 2 == 1) == is_odd { next } else { next.checked_add(1)? };
        Some(*last)
    }

    /// The power of a machine fails.
    pub fn cut_power(&self, machine: &str) {
        self.state().logs.iter().filter(|log| log.machine == machine).for_each(|log| log.disk.cut_power());
    }

    /// Starts a server there, which is held at its step of this number, from 1.
    pub fn start(&self, machine: &'static str, held_at: Option<usize>) -> Process {
        let ((told, orders), (says, said)) = (channel(), channel());
        let line = Line {
            steps: Mutex::default(),
            held_at,
            is_dead: AtomicBool::new(false),
            is_ending: AtomicBool::new(false),
            says: Mutex::new(says),
            orders: Mutex::new(orders),
        };
        let line = Arc::new(line);
        let name = {
            let mut state = self.state();
            state.servers += 1;
            format!("{machine}-{}", state.servers)
        };
        let machine =
            Machine { name: machine, world: self.clone(), line: line.clone(), tally: Arc::new(Tally::new()) };
        let thread = thread::spawn(move || live(machine, name));
        Process { thread, line, told, said }
    }
}

/// What a server says when it is not its turn any more.
pub enum Said {
    /// It waits for time to pass, or others to do something.
    Waits,
    /// It stands at a step.
    Held,
    /// It has ended.
    Ended(Result<Box<Stats>, String>),
}

/// Between a server and whoever gives it turns.
struct Line {
    steps: Mutex<Vec<&'static str>>,
    held_at: Option<usize>,
    is_dead: AtomicBool,
    is_ending: AtomicBool,
    says: Mutex<Sender<Said>>,
    orders: Mutex<Receiver<()>>,
}

/// What a killed server unwinds with.
struct Killed;

impl Line {
    /// The server is at a step, and alive behind it.
    fn step(&self, name: &'static str) {
        self.check_alive();
        let number = {
            let mut steps = self.steps.lock().expect("nothing panics meanwhile");
            steps.push(name);
            steps.len()
        };
        if self.held_at == Some(number) {
            self.say(Said::Held);
            self.check_alive();
        }
    }

    fn steps(&self) -> usize {
        self.steps.lock().expect("nothing panics meanwhile").len()
    }

    fn check_alive(&self) {
        if self.is_dead.load(Ordering::Relaxed) {
            resume_unwind(Box::new(Killed));
        }
    }

    /// Gives the turn back, and waits for the next one. There is none for a server that was killed.
    fn say(&self, said: Said) {
        let is_heard = self.says.lock().expect("nothing panics meanwhile").send(said).is_ok();
        let is_told = is_heard && self.orders.lock().expect("nothing panics meanwhile").recv().is_ok();
        if !is_told {
            self.is_dead.store(true, Ordering::Relaxed);
        }
    }
}

/// A server that runs.
pub struct Process {
    thread: JoinHandle<()>,
    line: Arc<Line>,
    told: Sender<()>,
    said: Receiver<Said>,
}

impl Process {
    /// Gives it a turn.
    pub fn go(&self) -> Said {
        self.told.send(()).expect("it waits for its turn");
        self.said.recv().unwrap_or_else(|_| Said::Ended(Err("a server panicked".to_owned())))
    }

    pub fn ask_to_end(&self) {
        self.line.is_ending.store(true, Ordering::Relaxed);
    }

    pub fn steps(&self) -> Vec<&'static str> {
        self.line.steps.lock().expect("nothing panics meanwhile").clone()
    }

    /// It does nothing more.
    pub fn kill(self) {
        drop((self.told, self.said));
        self.thread.join().expect("it unwinds");
    }
}

/// The life of a server, a turn after the other.
fn live(machine: Machine, name: String) {
    let line = machine.line.clone();
    if line.orders.lock().expect("nothing panics meanwhile").recv().is_err() {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let living = || runtime.block_on(serve(machine, name, &line));
    let is_killed = |panic: &Box<dyn Any + Send>| panic.is::<Killed>();
    match catch_unwind(AssertUnwindSafe(living)) {
        Ok(Some(ended)) => {
            let ended = ended.map(Box::new).map_err(|error| error.to_string());
            let _ = line.says.lock().expect("nothing panics meanwhile").send(Said::Ended(ended));
        }
        Ok(None) => {}
        Err(panic) if is_killed(&panic) => {}
        Err(panic) => resume_unwind(panic),
    }
}

/// What the server ended with; `None` when it was killed.
async fn serve(machine: Machine, name: String, line: &Line) -> Option<Result<Stats, Error>> {
    let mut serving = pin!(async {
        let mut server = Server::new(machine, name, PARTITIONS, &limits());
        let shutdown = poll_fn(|cx| match line.is_ending.load(Ordering::Relaxed) {
            true => Poll::Ready(()),
            false => later(cx),
        });
        let served = server.serve(|| (), shutdown).await;
        let ended = server.end().await;
        served.and(ended)
    });
    loop {
        let mut idle = 0;
        while idle < IDLE_POLLS {
            let before = line.steps();
            if let Poll::Ready(ended) = poll_fn(|cx| Poll::Ready(serving.as_mut().poll(cx))).await {
                return Some(ended);
            }
            tokio::task::yield_now().await;
            // A task that was killed has unwound alone.
            if line.is_dead.load(Ordering::Relaxed) {
                return None;
            }
            idle = if line.steps() > before { 0 } else { idle + 1 };
        }
        line.say(Said::Waits);
        if line.is_dead.load(Ordering::Relaxed) {
            return None;
        }
    }
}

/// Asks again in this turn, and in the next one.
fn later<T>(cx: &mut Context<'_>) -> Poll<T> {
    cx.waker().wake_by_ref();
    Poll::Pending
}

/// What a server stands on.
#[derive(Clone)]
pub struct Machine {
    name: &'static str,
    world: World,
    line: Arc<Line>,
    tally: Arc<Tally>,
}

impl Machine {
    /// A request to the world.
    fn ask<T>(&self, [asked, answered]: [&'static str; 2], request: impl FnOnce(&mut State) -> T) -> T {
        self.line.step(asked);
        let answer = request(&mut self.world.state());
        self.line.step(answered);
        answer
    }

    /// The same, of which the server may not hear.
    fn request<T>(
        &self,
        names: [&'static str; 2],
        request: impl FnOnce(&mut State) -> T,
    ) -> Result<T, Later> {
        let trouble = self.world.state().trouble(names[0]);
        let answer = self.ask(names, |state| (trouble != Some(Trouble::Failed)).then(|| request(state)));
        answer.filter(|_| trouble.is_none()).ok_or(Later)
    }

    /// The same, of a log's thread.
    fn request_io<T>(
        &self,
        names: [&'static str; 2],
        request: impl FnOnce(&mut State) -> T,
    ) -> io::Result<T> {
        self.request(names, request).map_err(|Later| io::ErrorKind::TimedOut.into())
    }

    /// Opens and stores for a log, as the threads of a server do.
    async fn store(
        self,
        collector: Collector<SimDisk, Dice>,
        shard: Shard,
        queue: mpsc::Receiver<Incoming>,
        answers: mpsc::UnboundedSender<Outgoing>,
        failed: oneshot::Sender<()>,
    ) -> Result<Counter, Error> {
        let counter = self.store_all(collector, shard, queue, &answers).await;
        if counter.is_err() {
            let _ = failed.send(());
        }
        counter
    }

    async fn store_all(
        &self,
        mut collector: Collector<SimDisk, Dice>,
        mut shard: Shard,
        mut queue: mpsc::Receiver<Incoming>,
        answers: &mpsc::UnboundedSender<Outgoing>,
    ) -> Result<Counter, Error> {
        let (mut incoming, mut underway) = (Vec::new(), None);
        loop {
            // What has come is gathered while a group is under way, and nothing else is waited for.
            if underway.is_none() || !queue.is_empty() {
                if queue.recv_many(&mut incoming, limits().group_batches_max).await == 0 {
                    break;
                }
                let arrived = incoming.drain(..).filter_map(|incoming| match incoming {
                    Incoming::Batch(arrived) => Some(arrived),
                    Incoming::Asked(_) | Incoming::Looked(_) => None,
                });
                for opened in shard.open(arrived.collect()) {
                    collector.take(opened);
                    if collector.is_full() {
                        self.commit(&mut collector, &mut underway, answers)?;
                    }
                }
            }
            self.commit(&mut collector, &mut underway, answers)?;
        }
        collector.close()
    }

    /// The group that is under way lands and is answered; the next one is begun, and written.
    fn commit(
        &self,
        collector: &mut Collector<SimDisk, Dice>,
        underway: &mut Option<Underway<SimDisk>>,
        answers: &mpsc::UnboundedSender<Outgoing>,
    ) -> Result<(), Error> {
        self.line.step("commit");
        if let Some(written) = underway.take() {
            let landed = collector.land(written, || ())?;
            for Action::Send { connection: number, answer, .. } in collector.answers(landed)? {
                drop(answers.send(Outgoing { number, answer, sealed_ns: self.now().monotonic_ns }));
            }
        }
        if collector.has_group() {
            let mut begun = collector.begin(self.now())?;
            begun.run();
            *underway = Some(begun);
        }
        self.line.step("committed");
        Ok(())
    }
}

/// Hands out the batches of a partition.
#[derive(Clone)]
pub(in crate::nats) struct Hatch {
    machine: Machine,
    partition: u16,
}

/// A batch that was handed out.
pub struct Message {
    parcel: usize,
    payload: Vec<u8>,
}

impl futures_util::Stream for Hatch {
    type Item = Result<Message, Later>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let wait_ns = limits().lease_ms * 1_000_000 * u64::from(NATS_ACKNOWLEDGE_LEASES);
        let partition = self.partition;
        let next = |state: &State| {
            let is_next = |parcel: &Parcel| {
                parcel.partition == partition
                    && parcel.until_ns.is_some_and(|until_ns| until_ns <= state.now_ns)
            };
            state.parcels.iter().position(is_next)
        };
        // To wait is no step.
        if next(&self.machine.world.state()).is_none() {
            return later(cx);
        }
        let handed = self.machine.ask(["take", "taken"], |state| {
            let parcel = next(state)?;
            state.parcels[parcel].until_ns = Some(state.now_ns + wait_ns);
            Some(Message { parcel, payload: state.parcels[parcel].payload.clone() })
        });
        handed.map_or_else(|| later(cx), |message| Poll::Ready(Some(Ok(message))))
    }
}

impl Ground for Machine {
    type Consumer = Hatch;
    type Messages = Hatch;
    type Message = Message;
    type Log = tokio::task::JoinHandle<Result<Counter, Error>>;

    fn now(&self) -> Now {
        let now_ns = self.world.state().now_ns;
        Now { wall_ns: now_ns, monotonic_ns: now_ns }
    }

    async fn sleep_until(&self, monotonic_ns: u64) {
        poll_fn(|cx| if self.now().monotonic_ns < monotonic_ns { later(cx) } else { Poll::Ready(()) }).await;
    }

    fn tally(&self) -> &Tally {
        &self.tally
    }

    async fn consumer(&self, partition: u16) -> Result<Hatch, Error> {
        let hatch = |_: &mut State| Hatch { machine: self.clone(), partition };
        let hatch = self.request(["consume", "consuming"], hatch);
        hatch.map_err(|Later| Error::nats("consume from", "a partition", &"nobody answers"))
    }

    async fn messages(consumer: &Hatch) -> Result<Hatch, Later> {
        consumer.machine.request(["ask for messages", "messages come"], |_| consumer.clone())
    }

    fn take_payload(message: &mut Message) -> impl AsRef<[u8]> + Send {
        std::mem::take(&mut message.payload)
    }

    async fn acknowledge(&self, message: &Message, kind: AckKind) {
        // If that is lost nobody hears of it.
        let _: Result<(), Later> = self.request(["acknowledge", "acknowledged"], |state| {
            let now_ns = state.now_ns;
            let until_ns = &mut state.parcels[message.parcel].until_ns;
            // What is known stays known.
            *until_ns = until_ns.and_then(|until_ns| match kind {
                // The way there and back takes a while.
                AckKind::Nak(delay) => Some(now_ns + 1 + delay.map_or(0, |delay| delay.as_nanos() as u64)),
                AckKind::Progress => Some(until_ns),
                _ => None,
            });
        });
    }

    async fn publish(&self, _: String, bytes: Vec<u8>) {
        self.ask(["tell", "told"], |state| state.receipts.push(bytes));
    }

    async fn flush(&self) {}

    async fn keys(&self) -> Result<Vec<String>, Later> {
        self.request(["list", "listed"], |state| state.leases.keys().cloned().collect())
    }

    async fn entry(&self, key: &str) -> Result<Option<Entry>, Later> {
        let revision = self.request(["look", "looked"], |state| state.leases.get(key).copied());
        Ok(revision?.map(|revision| Entry { revision }))
    }

    async fn put(&self, key: &str) -> Result<(), Later> {
        self.request(["be there", "was there"], |state| state.write(key)).map(drop)
    }

    async fn create(&self, key: &str, _: &str) -> Result<Option<u64>, Later> {
        let create = |state: &mut State| (!state.leases.contains_key(key)).then(|| state.write(key));
        self.request(["create", "created"], create)
    }

    async fn update(&self, key: &str, _: &str, revision: u64) -> Result<Option<u64>, Later> {
        let update = |state: &mut State| (state.leases.get(key) == Some(&revision)).then(|| state.write(key));
        self.request(["renew", "renewed"], update)
    }

    async fn delete(&self, key: &str, revision: Option<u64>) -> Result<(), Later> {
        self.request(["release", "released"], |state| {
            if revision.is_some() && state.leases.get(key).copied() == revision {
                state.leases.remove(key);
            }
        })
    }

    async fn purge(&self, key: &str) -> Result<(), Later> {
        self.request(["forget", "forgotten"], |state| state.leases.remove(key)).map(drop)
    }

    async fn begin_log(
        self: Arc<Self>,
        lease: Lease,
        answers: mpsc::UnboundedSender<Outgoing>,
    ) -> Result<(Self::Log, Inlet), Error> {
        let (disk, dice) = self.ask(["begin a log", "began a log"], |state| {
            let disk = SimDisk::new(state.dice.split(), state.flaws.honesty);
            state.logs.push(Log { machine: self.name, disk: disk.clone() });
            (disk, state.dice.split())
        });
        let keys = Arc::new(bridge::key_ring(self.name, self.world.clone()));
        let collector = Collector::open(disk, keys.clone(), limits(), dice)?;
        let fence = Gate { machine: (*self).clone(), partition: lease.partition };
        let collector = collector.under(lease, Box::new(fence));
        let collector = collector.map_err(|cause| Error::nats("read", "the fence", &cause))?;
        let (queue, incoming) = mpsc::channel(limits().queue_batches_max);
        let (failed, failure) = oneshot::channel();
        let storing = (*self).clone().store(collector, Shard::new(keys), incoming, answers, failed);
        Ok((tokio::spawn(storing), Inlet { queue, failure }))
    }

    async fn end_log(log: Self::Log) -> Result<Counter, Error> {
        log.await.unwrap_or_else(|error| resume_unwind(error.into_panic()))
    }
}

impl State {
    /// What goes wrong with the next request.
    fn trouble(&mut self, asked: &'static str) -> Option<Trouble> {
        let one_in = self.flaws.trouble_one_in;
        if one_in == 0 || !self.dice.chance(1, one_in) {
            return None;
        }
        let trouble = if self.dice.chance(1, 2) { Trouble::Failed } else { Trouble::AnswerLost };
        self.troubles.entry(asked).or_default()[trouble as usize] += 1;
        Some(trouble)
    }

    /// Writes an entry of the bucket of leases; returns its revision.
    fn write(&mut self, key: &str) -> u64 {
        self.revision += 1;
        self.leases.insert(key.to_owned(), self.revision);
        self.revision
    }
}

/// The fence of a log, in the bucket of counters.
struct Gate {
    machine: Machine,
    partition: u16,
}

impl Fence for Gate {
    fn is_ours(&self, node: u32) -> bool {
        partition_of(node, PARTITIONS) == self.partition
    }

    fn take_downlinks(&mut self, node: u32, epoch: u8, count: u32) -> io::Result<Range<u32>> {
        let name = self.machine.name;
        self.machine.request_io(["take counts", "took counts"], |state| {
            let giver = if state.flaws.has_no_fence { name } else { "" };
            let next = state.downlinks.entry((giver, node, epoch)).or_default();
            let start = *next;
            *next += count;
            start..*next
        })
    }

    fn change(
        &mut self,
        node: u32,
        epoch: u8,
        take: &mut dyn FnMut() -> io::Result<Option<u8>>,
    ) -> io::Result<Option<u8>> {
        let known = |state: &mut State| state.changes.get(&(node, epoch)).copied();
        let told = match self.machine.request_io(["ask for a change", "asked for a change"], known)? {
            Some(told) => told,
            None => {
                let Some(taken) = take()? else { return Ok(None) };
                let change = |state: &mut State| *state.changes.entry((node, epoch)).or_insert(taken.into());
                self.machine.request_io(["change", "changed"], change)?
            }
        };
        Ok(u8::try_from(told).ok().filter(|next| *next > epoch))
    }

    fn enter(&mut self, node: u32, epoch: u8, count: u32) -> io::Result<()> {
        self.machine.request_io(["enter", "entered"], |state| {
            let first = state.firsts.entry((node, epoch)).or_insert(count);
            *first = count.min(*first);
        })
    }

    fn epochs(&mut self) -> io::Result<Vec<NodeEpoch>> {
        let all = |state: &mut State| after(&state.changes, &state.firsts);
        let mut nodes = self.machine.request_io(["ask for epochs", "asked for epochs"], all)?;
        nodes.retain(|of| self.is_ours(of.node));
        Ok(nodes)
    }
}
