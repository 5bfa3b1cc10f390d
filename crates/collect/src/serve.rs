//! The daemon: threads and clocks around [`Collector::step`], fed by a transport.
//!
//! ```text
//! transport (tokio)  ── queue ──►  open (1 thread, all shards)  ──►  commit (1 thread, 1 disk)
//!        ▲                                                                   │
//!        └────────────────────  answer (1 thread)  ◄──── what to tell ───────┘
//! ```
//! While one group is synced the next is opened, and batches that arrive meanwhile wait in the queue: groups
//! grow with the load by themselves. Every queue is bounded; what a transport does when they are full is its own.
//!
//! What threads of other classes share with ours they share with those that open and that answer: these take from a
//! transport's queue, and give to its connections, where each side takes locks that the other holds. The thread that commits
//! meets those two alone, which are in its own class: no thread that has to wait for a core keeps it waiting.
//!
//! An answer carries no more than `Collector` allows. When the disk fails the commit thread ends, so that no
//! answer leaves after it, and the service ends with that error.
//!
//! Owns the threads, the clocks and their end. Leaves sockets and who is believed to the transports: `tcp`, `udp`,
//! and `nats`, which has a pipeline for each of its logs.

use std::cell::Cell;
use std::fs;
use std::future::Future;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::unix::net::UnixListener;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant, SystemTime};

use cipher::OsRandomness;
use rustls::ServerConfig;
use tokio::sync::{mpsc, oneshot};

use crate::batch::Answer;
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
use crate::{Action, Collector, Event};

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
        let (work, to_do) = sync_channel(2);
        // As many wait as batches are in flight, which the transports limit.
        let (told, to_tell) = channel();
        let (failed, failure) = oneshot::channel();
        let group_batches_max = limits.group_batches_max;
        let threads = shards.count() + THREADS_BESIDES;
        let opening = move || open_groups(shards, incoming, &work, clock, group_batches_max);
        let open = realtime.start("open".to_owned(), Role::Opens, None, threads, opening)?;
        let answering = move || to_tell.into_iter().for_each(|told| tell(told, &answer));
        let answer = realtime.start("answer".to_owned(), Role::Opens, None, threads, answering)?;
        let committing = move || {
            let result = commit_groups(collector, &to_do, clock, &told);
            // The other end is gone when the service ends by itself.
            let _ = failed.send(());
            result
        };
        let commit = realtime.start("commit".to_owned(), Role::Commits, None, threads, committing)?;
        Ok((Pipeline { open, commit, answer }, Inlet { queue, failure }))
    }

    /// Waits for the threads.
    ///
    /// # Errors
    /// What ended the commit thread.
    pub(crate) fn end(self) -> Result<Counter, Error> {
        let Pipeline { open, commit, answer } = self;
        // A panic of a thread is ours, and stays one.
        open.join().unwrap_or_else(|panic| resume_unwind(panic));
        let counted = commit.join().unwrap_or_else(|panic| resume_unwind(panic));
        answer.join().unwrap_or_else(|panic| resume_unwind(panic));
        counted
    }
}

/// Opens whatever has arrived, as long as something may arrive, and hands on what is asked behind it.
fn open_groups(
    mut shards: Shards,
    mut queue: mpsc::Receiver<Incoming>,
    done: &SyncSender<Work>,
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

/// Commits whatever was opened, and does what is asked between two groups, as long as something may come.
fn commit_groups(
    mut collector: Collector<RealDisk, OsRandomness>,
    work: &Receiver<Work>,
    clock: Clock,
    told: &Sender<Told>,
) -> Result<Counter, Error> {
    // The other end is gone only where it panicked, which `Pipeline::end` passes on.
    let is_gone = Cell::new(false);
    let tell = |what| is_gone.set(told.send(what).is_err());
    let step = |collector: &mut Collector<RealDisk, OsRandomness>, event| {
        let (now, mut durable_ns) = (clock.now(), None);
        let actions = collector.step_until(now, event, || durable_ns = Some(clock.monotonic_ns()))?;
        let sealed_ns = clock.monotonic_ns();
        // Without it there is no receipt.
        let durable_ns = durable_ns.unwrap_or(sealed_ns);
        collector.measure(now.monotonic_ns, durable_ns, sealed_ns, &actions);
        if !actions.is_empty() {
            tell(Told::Answers(actions, sealed_ns));
        }
        Ok::<_, Error>(())
    };
    while !is_gone.get()
        && let Ok(first) = work.recv()
    {
        let (mut next, mut asked) = (Some(first), None);
        while let Some(present) = next {
            match present {
                Work::Opened(group) => {
                    for opened in group {
                        step(&mut collector, Event::Opened(opened))?;
                    }
                    next = work.try_recv().ok();
                }
                other => (asked, next) = (Some(other), None),
            }
        }
        step(&mut collector, Event::Commit)?;
        match asked {
            Some(Work::Asked(Asked { request, reply })) => {
                tell(Told::Replied(reply, collector.ask(clock.now(), &request)?));
            }
            Some(Work::Looked(live::Asked { watched, reply })) => {
                let now = clock.now();
                let snapshot = collector.snapshot(now, &watched);
                collector.counter.shown(now.monotonic_ns, clock.monotonic_ns());
                tell(Told::Shown(reply, Box::new(snapshot)));
            }
            _ => {}
        }
    }
    collector.close()
}

#[cfg(test)]
mod tests;
