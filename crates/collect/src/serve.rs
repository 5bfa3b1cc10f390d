//! The daemon: threads and clocks around [`Collector`], fed by a transport.
//!
//! ```text
//! transport (tokio)  ── queue ──►  open (1 thread, all shards)  ──►  commit (1 thread)  ◄── groups ──►  disk (1 thread)
//!        ▲                                                               │
//!        └──────────────────  answer (1 thread)  ◄──── what to tell ─────┘
//! ```
//! While one group is written and synced, the one before it is answered and the next one gathered; when that is full,
//! batches wait in the queue: groups grow with the load by themselves. Every queue is bounded; what a transport does when
//! they are full is its own.
//!
//! What threads of other classes share with ours they share with those that open and that answer: these take from a
//! transport's queue, and give to its connections, where each side takes locks that the other holds. The threads that commit
//! and write meet those two alone, which are in their own class: no thread that has to wait for a core keeps them waiting.
//!
//! An answer carries no more than `Collector` allows. When the disk fails the commit thread ends, so that no
//! answer leaves after it, and the service ends with that error.
//!
//! Owns the threads, the clocks and their end. Leaves sockets and who is believed to the transports: `tcp`, `udp`,
//! and `nats`, which has a pipeline for each of its logs.

use std::collections::VecDeque;
use std::fs;
use std::future::Future;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::unix::net::UnixListener;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use cipher::OsRandomness;
use crossbeam_channel::{Receiver, Sender, bounded, never, select_biased, unbounded};
use rustls::ServerConfig;
use tokio::sync::{mpsc, oneshot};

use crate::batch::Answer;
use crate::commit::{Landed, Underway};
use crate::control::{self, Asked};
use crate::disk::RealDisk;
use crate::error::Error;
use crate::keys::KeyRing;
use crate::limits::Limits;
use crate::live::{self, Snapshot};
use crate::orders::Reply;
use crate::realtime::{Realtime, Role, THREADS_BESIDES, Thread};
use crate::shard::{Arrived, Now, Opened, Opening, Shards};
use crate::stats::{Counter, Stats};
use crate::tcp::Tcp;
use crate::udp::Udp;
use crate::{Action, Collector};

/// How batches come and answers go.
#[derive(Debug)]
pub enum Transport {
    /// Connections of bridges.
    Tcp {
        /// Where it listens.
        listener: TcpListener,
        /// Who it is and whom it lets in, see [`tls::Identity::server`](crate::tls::Identity::server).
        tls: Arc<ServerConfig>,
    },
    /// Datagrams.
    Udp(UdpSocket),
}

/// What a server needs.
#[derive(Debug)]
pub struct Config {
    /// How batches come.
    pub transport: Transport,
    /// Its keys.
    pub keys: KeyRing,
    /// The folder of the store; made when it is missing.
    pub store: PathBuf,
    /// Its limits.
    pub limits: Limits,
    /// Where its people ask it something, see [`control::ask`](crate::control::ask).
    pub control: Option<UnixListener>,
    /// Whoever looks at it, see [`live::glass`](crate::live::glass).
    pub looks: Option<live::Looks>,
    /// Where the counts are written as JSON when it ends cleanly.
    pub stats: Option<PathBuf>,
    /// What its threads are given.
    pub realtime: Realtime,
}

/// A transport of a server with one log.
pub(crate) trait Service: Send + Sync + Sized + 'static {
    /// Hands an answer to where its batch came from, if that is still there; it was sealed at `sealed_ns`.
    fn answer(&self, connection: u64, answer: &Answer, sealed_ns: u64);

    /// Hands over what arrives until `shutdown`, or the end of `inlet`, and waits for the answers to it.
    fn serve(
        self: Arc<Self>,
        inlet: Inlet,
        shutdown: impl Future<Output = ()> + Send,
    ) -> impl Future<Output = Result<(), Error>>;

    /// Adds what it counted.
    fn count(&self, stats: &mut Stats);
}

/// Where a transport puts what arrives.
pub(crate) struct Inlet {
    /// Batches that wait to be opened, and what people ask.
    pub(crate) queue: mpsc::Sender<Incoming>,
    /// Ready when nothing may be answered any more.
    pub(crate) failure: oneshot::Receiver<()>,
}

/// What the thread that opens is given.
pub(crate) enum Incoming {
    /// A batch.
    Batch(Arrived),
    /// What somebody asks.
    Asked(Asked),
    /// Somebody looks.
    Looked(live::Asked),
}

/// The two clocks of a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    started: Instant,
}

impl Clock {
    pub(crate) fn start() -> Clock {
        Clock { started: Instant::now() }
    }

    pub(crate) fn now(&self) -> Now {
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let nanoseconds = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        // A clock before 1970 is not set at all.
        Now { wall_ns: wall.map_or(0, nanoseconds), monotonic_ns: self.monotonic_ns() }
    }

    pub(crate) fn monotonic_ns(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// Serves until `shutdown` is ready, then answers what it has received and returns the counts.
///
/// `ready` is called when the store is open and batches are taken, with the listening address, and with the bytes of a torn
/// tail that were cut off the store.
///
/// # Errors
/// Those of [`Collector::open`] and [`Collector::step`], [`Error::Io`] for sockets and the counts' file,
/// [`Error::LockMemory`] and [`Error::Scheduling`].
pub fn serve(
    config: Config,
    ready: impl FnOnce(SocketAddr, u64),
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<Stats, Error> {
    let Config { transport, keys, store, limits, control, looks, stats, realtime } = config;
    limits.check()?;
    realtime.prepare()?;
    let listen = || Error::io("listen on", "socket");
    let clock = Clock::start();
    let log = Log { keys: Arc::new(keys), store, limits: limits.clone(), clock, control, looks, realtime };
    let counts = match transport {
        Transport::Tcp { listener, tls } => {
            let address = listener.local_addr().map_err(listen())?;
            log.serve(
                Tcp::new(listener, tls, limits, clock)?,
                |torn_bytes| ready(address, torn_bytes),
                shutdown,
            )?
        }
        Transport::Udp(socket) => {
            let address = socket.local_addr().map_err(listen())?;
            log.serve(Udp::new(socket, limits, clock)?, |torn_bytes| ready(address, torn_bytes), shutdown)?
        }
    };
    if let Some(path) = stats {
        write_stats(&path, &counts)?;
    }
    Ok(counts)
}

/// Leaves the counts as JSON.
pub(crate) fn write_stats(path: &Path, stats: &Stats) -> Result<(), Error> {
    let json = serde_json::to_vec_pretty(stats).expect("counts are JSON");
    fs::write(path, json).map_err(Error::io("write", path.display().to_string()))
}

/// The one log of a server.
struct Log {
    keys: Arc<KeyRing>,
    store: PathBuf,
    limits: Limits,
    clock: Clock,
    control: Option<UnixListener>,
    looks: Option<live::Looks>,
    realtime: Realtime,
}

impl Log {
    fn serve<S: Service>(
        self,
        service: S,
        ready: impl FnOnce(u64),
        shutdown: impl Future<Output = ()> + Send,
    ) -> Result<Stats, Error> {
        let disk = RealDisk::lock(&self.store)?;
        let collector = Collector::open(disk, self.keys.clone(), self.limits.clone(), OsRandomness)?;
        let torn_bytes = collector.counter.stats.torn_bytes;
        let shards = Shards::start_in(&self.keys, 0, self.limits.shards, &self.realtime)?;
        let runtime = self.realtime.runtime()?;
        let service = Arc::new(service);
        let answer = {
            let service = service.clone();
            move |connection, answer: &Answer, sealed_ns| service.answer(connection, answer, sealed_ns)
        };
        let started = Pipeline::start(collector, shards, &self.limits, &self.realtime, self.clock, answer);
        let (pipeline, inlet) = started?;
        if let Some(control) = self.control {
            runtime.spawn(control::listen(control, inlet.queue.clone(), Incoming::Asked));
        }
        if let Some(looks) = self.looks {
            let (asked, counted) = (inlet.queue.clone(), service.clone());
            runtime.spawn(live::show(looks, asked, Incoming::Looked, move |stats| counted.count(stats)));
        }
        ready(torn_bytes);
        let served = runtime.block_on(service.clone().serve(inlet, shutdown));
        // What the runtime still runs holds the queue, or asks: it must be gone before the threads can end.
        drop(runtime);
        let mut stats = pipeline.end()?.stats();
        served?;
        service.count(&mut stats);
        Ok(stats)
    }
}

/// The threads that open and store what arrives for one log.
pub(crate) struct Pipeline {
    open: Thread<()>,
    commit: Thread<Result<Counter, Error>>,
    disk: Thread<()>,
    answer: Thread<()>,
}

impl Pipeline {
    /// Starts the threads; they end when the queue of the inlet has no sender any more. `answer` is called with the
    /// number under which a batch arrived, its answer, and when that was sealed; it may wait for others.
    pub(crate) fn start(
        collector: Collector<RealDisk, OsRandomness>,
        shards: Shards,
        limits: &Limits,
        realtime: &Realtime,
        clock: Clock,
        answer: impl Fn(u64, &Answer, u64) + Send + 'static,
    ) -> Result<(Pipeline, Inlet), Error> {
        let (queue, incoming) = mpsc::channel(limits.queue_batches_max);
        let (opened, work) = bounded(2);
        let (disk, to_write) = bounded(1);
        let (wrote, written) = bounded(1);
        // As many wait as batches are in underway, which the transports limit.
        let (told, to_tell) = unbounded();
        let (failed, failure) = oneshot::channel();
        let group_batches_max = limits.group_batches_max;
        let threads = shards.count() + THREADS_BESIDES;
        let opening = move || open_groups(shards, incoming, &opened, clock, group_batches_max);
        let open = realtime.start("open".to_owned(), Role::Opens, None, threads, opening)?;
        let answering = move || to_tell.into_iter().for_each(|told| tell(told, &answer));
        let answer = realtime.start("answer".to_owned(), Role::Opens, None, threads, answering)?;
        let writing = move || write_groups(&to_write, &wrote);
        let writes = realtime.start("disk".to_owned(), Role::Commits, None, threads, writing)?;
        let commits =
            Commits { collector, clock, work, opened: VecDeque::new(), disk, written, told, is_over: false };
        let committing = move || {
            let result = commits.run();
            // The other end is gone when the service ends by itself.
            let _ = failed.send(());
            result
        };
        let commit = realtime.start("commit".to_owned(), Role::Commits, None, threads, committing)?;
        Ok((Pipeline { open, commit, disk: writes, answer }, Inlet { queue, failure }))
    }

    /// Waits for the threads.
    ///
    /// # Errors
    /// What ended the commit thread.
    pub(crate) fn end(self) -> Result<Counter, Error> {
        let Pipeline { open, commit, disk, answer } = self;
        // A panic of a thread is ours, and stays one.
        open.join().unwrap_or_else(|panic| resume_unwind(panic));
        let counted = commit.join().unwrap_or_else(|panic| resume_unwind(panic));
        disk.join().unwrap_or_else(|panic| resume_unwind(panic));
        answer.join().unwrap_or_else(|panic| resume_unwind(panic));
        counted
    }
}

/// Opens whatever has arrived, as long as something may arrive, and hands on what is asked behind it.
fn open_groups(
    mut shards: Shards,
    mut queue: mpsc::Receiver<Incoming>,
    done: &Sender<Work>,
    clock: Clock,
    group_batches_max: usize,
) {
    let mut incoming = Vec::new();
    while queue.blocking_recv_many(&mut incoming, group_batches_max) > 0 {
        let (mut group, mut works) = (Vec::new(), Vec::new());
        for incoming in incoming.drain(..) {
            match incoming {
                Incoming::Batch(arrived) => group.push(arrived),
                Incoming::Asked(asked) => works.push(Work::Asked(asked)),
                Incoming::Looked(asked) => works.push(Work::Looked(asked)),
            }
        }
        if !group.is_empty() {
            let begin_ns = clock.monotonic_ns();
            let mut opened = shards.open(group);
            let opening = Opening { begin_ns, end_ns: clock.monotonic_ns() };
            opened.iter_mut().for_each(|opened| opened.opening = opening);
            works.insert(0, Work::Opened(opened));
        }
        for work in works {
            if done.send(work).is_err() {
                // The disk failed: the commit thread has the error.
                return;
            }
        }
    }
}

/// What the thread that commits is given.
enum Work {
    /// Batches that were opened.
    Opened(Vec<Opened>),
    /// What somebody asks.
    Asked(Asked),
    /// Somebody looks.
    Looked(live::Asked),
}

/// What the thread that answers is given.
enum Told {
    /// Answers to batches, and when they were sealed.
    Answers(Vec<Action>, u64),
    /// A reply to what somebody asked.
    Replied(oneshot::Sender<Reply>, Reply),
    /// What somebody sees.
    Shown(oneshot::Sender<Snapshot>, Box<Snapshot>),
}

/// Hands it to whoever waits for it. Who has asked may be gone; what was asked was done all the same.
fn tell(told: Told, answer: &impl Fn(u64, &Answer, u64)) {
    match told {
        Told::Answers(actions, sealed_ns) => {
            for Action::Send { connection, answer: sent, .. } in actions {
                answer(connection, &sent, sealed_ns);
            }
        }
        Told::Replied(asker, reply) => drop(asker.send(reply)),
        Told::Shown(looker, snapshot) => drop(looker.send(*snapshot)),
    }
}

/// Writes groups, one at a time, as long as there may be another.
fn write_groups(to_write: &Receiver<Underway<RealDisk>>, wrote: &Sender<Underway<RealDisk>>) {
    for mut underway in to_write {
        underway.run();
        if wrote.send(underway).is_err() {
            // The thread that commits has ended, with an error.
            return;
        }
    }
}

/// The thread that commits.
struct Commits {
    collector: Collector<RealDisk, OsRandomness>,
    clock: Clock,
    work: Receiver<Work>,
    /// What was opened and is in no group yet: no more than was opened at once.
    opened: VecDeque<Opened>,
    /// The thread that writes groups: what it is given, and what it gives back.
    disk: Sender<Underway<RealDisk>>,
    written: Receiver<Underway<RealDisk>>,
    told: Sender<Told>,
    /// A thread that it works with is gone. That one panicked, which `Pipeline::end` passes on.
    is_over: bool,
}

impl Commits {
    /// Commits whatever is opened, and does what is asked between two groups, as long as something may come.
    fn run(mut self) -> Result<Counter, Error> {
        let (no_work, nothing) = (never(), never());
        let (mut asked, mut landed) = (None, Vec::new());
        let (mut may_come, mut is_under_way) = (true, false);
        while !self.is_over {
            self.fill();
            if !is_under_way {
                // Whatever waits is in the group.
                while asked.is_none()
                    && !self.collector.is_full()
                    && let Ok(work) = self.work.try_recv()
                {
                    asked = self.take(work);
                }
                if !self.collector.is_pressed() {
                    self.answer(&mut landed)?;
                }
                if self.collector.has_group() {
                    let underway = self.collector.begin(self.clock.now())?;
                    is_under_way = underway.has_writing();
                    match is_under_way {
                        true => self.is_over = self.disk.send(underway).is_err(),
                        false => landed.push(self.land(underway)?),
                    }
                    self.fill();
                }
            }
            self.answer(&mut landed)?;
            if !is_under_way {
                if self.collector.has_group() {
                    continue;
                }
                if let Some(asked) = asked.take() {
                    self.reply(asked)?;
                    continue;
                }
                if !may_come {
                    break;
                }
            }
            let is_taking = may_come && asked.is_none() && !self.collector.is_full();
            select_biased! {
                recv(if is_under_way { &self.written } else { &nothing }) -> underway => {
                    is_under_way = false;
                    match underway {
                        Ok(underway) => landed.push(self.land(underway)?),
                        Err(_) => self.is_over = true,
                    }
                }
                recv(if is_taking { &self.work } else { &no_work }) -> work => match work {
                    Ok(work) => asked = self.take(work),
                    Err(_) => may_come = false,
                }
            }
        }
        self.collector.close()
    }

    /// Batches that were opened join the group; what is asked comes back, and waits for its end.
    fn take(&mut self, work: Work) -> Option<Work> {
        match work {
            Work::Opened(opened) => self.opened.extend(opened),
            asked => return Some(asked),
        }
        self.fill();
        None
    }

    /// Fills the group with what was opened: until it is full, or nothing is left.
    fn fill(&mut self) {
        while !self.collector.is_full()
            && let Some(opened) = self.opened.pop_front()
        {
            self.collector.take(opened);
        }
    }

    /// What became of a group, and when that was known.
    fn land(&mut self, underway: Underway<RealDisk>) -> Result<(Landed, u64), Error> {
        let (clock, mut durable_ns) = (self.clock, None);
        let landed = self.collector.land(underway, || durable_ns = Some(clock.monotonic_ns()))?;
        // Without it there is no receipt.
        Ok((landed, durable_ns.unwrap_or_else(|| clock.monotonic_ns())))
    }

    /// Answers groups that have landed, and when they were durable.
    fn answer(&mut self, landed: &mut Vec<(Landed, u64)>) -> Result<(), Error> {
        for (landed, durable_ns) in landed.drain(..) {
            let commit_ns = landed.begun.monotonic_ns;
            let actions = self.collector.answers(landed)?;
            let sealed_ns = self.clock.monotonic_ns();
            self.collector.measure(commit_ns, durable_ns, sealed_ns, &actions);
            self.tell(Told::Answers(actions, sealed_ns));
        }
        Ok(())
    }

    /// Does what is asked. No group is open, and none is under way.
    fn reply(&mut self, asked: Work) -> Result<(), Error> {
        match asked {
            Work::Asked(Asked { request, reply }) => {
                let replied = self.collector.ask(self.clock.now(), &request)?;
                self.tell(Told::Replied(reply, replied));
            }
            Work::Looked(live::Asked { watched, reply }) => {
                let now = self.clock.now();
                let snapshot = self.collector.snapshot(now, &watched);
                self.collector.counter.shown(now.monotonic_ns, self.clock.monotonic_ns());
                self.tell(Told::Shown(reply, Box::new(snapshot)));
            }
            Work::Opened(_) => unreachable!("batches are taken"),
        }
        Ok(())
    }

    fn tell(&mut self, told: Told) {
        self.is_over |= self.told.send(told).is_err();
    }
}

#[cfg(test)]
mod tests;
