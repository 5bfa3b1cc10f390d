//! The daemon: sockets, TLS, threads and clocks around [`Collector::step`]. The only place with any of them.
//!
//! ```text
//! connections (tokio)  ── queue ──►  open (1 thread, all shards)  ──►  commit (1 thread, 1 disk)
//!        ▲                                                                   │
//!        └──────────────────────────── answers ─────────────────────────────┘
//! ```
//! While one group is synced the next is opened, and batches that arrive meanwhile wait in the queue: groups
//! grow with the load by themselves. Every queue is bounded; when they are full a connection is not read.
//!
//! Whoever connects has a place among the handshakes until its hello; only a bridge with a certificate that has said
//! hello takes one of the connections.
//!
//! An answer carries no more than `Collector` allows. When the disk fails the commit thread ends, so that no
//! answer leaves after it, and the service ends with that error.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::future::Future;
use std::net::{SocketAddr, TcpListener};
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use cipher::OsRandomness;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::net::TcpStream;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::disk::RealDisk;
use crate::error::{Error, Refusal};
use crate::keys::KeyRing;
use crate::limits::{LINGER_BYTES_MAX, Limits, MESSAGE_BYTES_MAX};
use crate::session::{Session, Verdict};
use crate::shard::{Arrived, Now, Opened, Shards};
use crate::stats::Stats;
use crate::tls;
use crate::{Action, Collector, Event};

/// What a server needs.
#[derive(Debug)]
pub struct Config {
    /// Where it listens.
    pub listener: TcpListener,
    /// Who it is and whom it lets in, see [`tls::Identity::server`](crate::tls::Identity::server).
    pub tls: Arc<ServerConfig>,
    /// Its keys.
    pub keys: KeyRing,
    /// The folder of the store; made when it is missing.
    pub store: PathBuf,
    /// Its limits.
    pub limits: Limits,
    /// Where the counts are written as JSON when it ends cleanly.
    pub stats: Option<PathBuf>,
}

/// Serves until `shutdown` is ready, then answers what it has received and returns the counts.
///
/// `ready` is called with the listening address when the store is open and connections are accepted.
///
/// # Errors
/// Those of [`Collector::open`] and [`Collector::step`], [`Error::Io`] for sockets and the counts' file.
pub fn serve(
    config: Config,
    ready: impl FnOnce(SocketAddr),
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<Stats, Error> {
    let Config { listener, tls, keys, store, limits, stats: stats_path } = config;
    limits.check()?;
    let keys = Arc::new(keys);
    let disk = RealDisk::lock(&store)?;
    let collector = Collector::open(disk, keys.clone(), limits.clone(), OsRandomness)?;
    let shards = Shards::start(&keys, limits.shards)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(Error::io("start", "runtime"))?;

    let address = listener.local_addr().map_err(Error::io("listen on", "socket"))?;
    let (queue, arrived) = mpsc::channel(limits.queue_batches_max);
    let (opened, groups) = sync_channel(2);
    let (failed, failure) = oneshot::channel();
    let hub = Arc::new(Hub {
        limits: limits.clone(),
        started: Instant::now(),
        answers: Mutex::default(),
        connections: Arc::new(Semaphore::new(limits.connections_max)),
        welcomed: AtomicU64::new(0),
        failed: AtomicU64::new(0),
    });
    let open = spawn("open", {
        let limits = limits.clone();
        move || open_groups(shards, arrived, &opened, &limits)
    })?;
    let commit = spawn("commit", {
        let hub = hub.clone();
        move || {
            let result = commit_groups(collector, &groups, &hub);
            // The other end is gone when the service ends by itself.
            let _ = failed.send(());
            result
        }
    })?;
    ready(address);
    let accepted = runtime.block_on(accept(listener, tls, &hub, queue, shutdown, failure));
    // Connections hold the queue: they must be gone before the threads can end.
    drop(runtime);
    // A panic of a thread is ours, and stays one.
    open.join().unwrap_or_else(|panic| resume_unwind(panic));
    let mut stats = commit.join().unwrap_or_else(|panic| resume_unwind(panic))?;
    accepted?;
    stats.connections = hub.welcomed.load(Ordering::Relaxed);
    stats.connections_failed = hub.failed.load(Ordering::Relaxed);
    if let Some(path) = stats_path {
        let json = serde_json::to_vec_pretty(&stats).expect("counts are JSON");
        fs::write(&path, json).map_err(Error::io("write", path.display().to_string()))?;
    }
    Ok(stats)
}

fn spawn<T: Send + 'static>(
    name: &'static str,
    run: impl FnOnce() -> T + Send + 'static,
) -> Result<thread::JoinHandle<T>, Error> {
    thread::Builder::new().name(name.to_owned()).spawn(run).map_err(Error::io("start", name))
}

/// What all connections share.
struct Hub {
    limits: Limits,
    started: Instant,
    /// Where the answers of each connection go. The number of answers that wait is bounded by the permits
    /// that their batches hold.
    answers: Mutex<HashMap<u64, mpsc::UnboundedSender<Vec<u8>>>>,
    /// Bridges that may still be welcomed.
    connections: Arc<Semaphore>,
    welcomed: AtomicU64,
    failed: AtomicU64,
}

impl Hub {
    fn now(&self) -> Now {
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let nanoseconds = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        // A clock before 1970 is not set at all.
        Now { wall_ns: wall.map_or(0, nanoseconds), monotonic_ns: nanoseconds(self.started.elapsed()) }
    }

    fn answers(&self) -> MutexGuard<'_, HashMap<u64, mpsc::UnboundedSender<Vec<u8>>>> {
        self.answers.lock().expect("no thread panics while it holds the map")
    }
}

/// Opens whatever has arrived, as long as something may arrive.
fn open_groups(
    mut shards: Shards,
    mut arrived: mpsc::Receiver<Arrived>,
    opened: &SyncSender<Vec<Opened>>,
    limits: &Limits,
) {
    let mut group = Vec::new();
    while arrived.blocking_recv_many(&mut group, limits.group_batches_max) > 0 {
        if opened.send(shards.open(std::mem::take(&mut group))).is_err() {
            // The disk failed: the commit thread has the error.
            return;
        }
    }
}

/// Commits whatever was opened, as long as something may be.
fn commit_groups(
    mut collector: Collector<RealDisk, OsRandomness>,
    groups: &Receiver<Vec<Opened>>,
    hub: &Hub,
) -> Result<Stats, Error> {
    while let Ok(group) = groups.recv() {
        let mut next = Some(group);
        while let Some(group) = next {
            for opened in group {
                step(&mut collector, hub, Event::Opened(opened))?;
            }
            next = groups.try_recv().ok();
        }
        step(&mut collector, hub, Event::Commit)?;
    }
    Ok(collector.stats())
}

fn step(collector: &mut Collector<RealDisk, OsRandomness>, hub: &Hub, event: Event) -> Result<(), Error> {
    let actions = collector.step(hub.now(), event)?;
    collector.measure(hub.now(), &actions);
    let answers = hub.answers();
    for Action::Send { connection, answer, .. } in actions {
        if let Some(writer) = answers.get(&connection) {
            // A connection that ended meanwhile gets nothing; its bridge sends the batch again.
            let _ = writer.send(answer.to_message());
        }
    }
    Ok(())
}

/// Accepts connections until the service is to end, and waits for theirs.
async fn accept(
    listener: TcpListener,
    tls: Arc<ServerConfig>,
    hub: &Arc<Hub>,
    queue: mpsc::Sender<Arrived>,
    shutdown: impl Future<Output = ()> + Send,
    mut failure: oneshot::Receiver<()>,
) -> Result<(), Error> {
    let listening = listener.set_nonblocking(true).and_then(|()| tokio::net::TcpListener::from_std(listener));
    let listener = listening.map_err(Error::io("listen on", "socket"))?;
    let acceptor = TlsAcceptor::from(tls);
    let (stop, stopped) = watch::channel(());
    let mut connections = JoinSet::new();
    let mut handshakes = Handshakes(VecDeque::new());
    let mut number = 0;
    tokio::pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            // Nothing may be answered any more: connections end where they are.
            _ = &mut failure => return Ok(()),
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    number += 1;
                    let peer = Peer { number, hub: hub.clone(), queue: queue.clone(), stopped: stopped.clone() };
                    let handshake = handshakes.begin(hub.limits.handshakes_max);
                    connections.spawn(peer.serve(stream, acceptor.clone(), handshake));
                }
                // The peer is gone already, or descriptors are short: neither ends the service, but a
                // shortage that lasts must not make it spin.
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            },
        }
    }
    drop((listener, queue, stop));
    let drained = async { while connections.join_next().await.is_some() {} };
    let patience = Duration::from_millis(hub.limits.drain_ms_max);
    tokio::select! {
        _ = timeout(patience, drained) => {}
        _ = &mut failure => {}
    }
    Ok(())
}

/// The handshakes that go on, oldest first. Each lives as long as its connection has it.
struct Handshakes(VecDeque<Weak<Notify>>);

impl Handshakes {
    /// Begins one more, and ends the oldest when there are too many. One that is not held up is over long before as
    /// many others have come.
    fn begin(&mut self, handshakes_max: usize) -> Arc<Notify> {
        self.0.retain(|other| other.strong_count() > 0);
        while self.0.len() >= handshakes_max {
            if let Some(oldest) = self.0.pop_front().and_then(|oldest| oldest.upgrade()) {
                oldest.notify_one();
            }
        }
        let handshake = Arc::new(Notify::new());
        self.0.push_back(Arc::downgrade(&handshake));
        handshake
    }
}

/// One connection.
struct Peer {
    number: u64,
    hub: Arc<Hub>,
    queue: mpsc::Sender<Arrived>,
    stopped: watch::Receiver<()>,
}

/// A message, or why there is none.
enum Received {
    Message(Vec<u8>),
    Oversize,
    Ended,
}

impl Peer {
    async fn serve(self, stream: TcpStream, acceptor: TlsAcceptor, handshake: Arc<Notify>) {
        let patience = Duration::from_millis(self.hub.limits.handshake_ms_max);
        // An answer is one write; waiting to fill a packet only delays it.
        if stream.set_nodelay(true).is_err() {
            return self.count_failed(1);
        }
        let accepted = tokio::select! {
            accepted = timeout(patience, acceptor.accept(stream).into_fallible()) => accepted,
            () = handshake.notified() => return self.count_failed(1),
        };
        let stream = match accepted {
            Ok(Ok(stream)) => stream,
            Ok(Err((_, mut stream))) => {
                self.count_failed(1);
                let lingering = async {
                    // Best effort, as all of lingering is.
                    let _ = stream.shutdown().await;
                    linger(&mut stream, &self.hub.limits).await;
                };
                return tokio::select! {
                    () = lingering => {}
                    () = handshake.notified() => {}
                };
            }
            Err(_) => return self.count_failed(1),
        };
        let certificates = stream.get_ref().1.peer_certificates().unwrap_or_default();
        let certificate = certificates.first().expect("TLS lets nobody in without one").clone().into_owned();
        let session = Session::new(move |cell| tls::is_bridge_of(&certificate, cell));
        let (mut reader, writer) = tokio::io::split(stream);
        let (answers, written) = mpsc::unbounded_channel();
        self.hub.answers().insert(self.number, answers);
        let window = self.hub.limits.connection_batches_max;
        let permits = Arc::new(Semaphore::new(window));
        let write_patience = Duration::from_millis(self.hub.limits.write_ms_max);
        let writing = tokio::spawn(write_answers(writer, written, permits.clone(), write_patience));
        let connection = self.read_batches(&mut reader, session, &permits, handshake).await;
        // What was taken is answered before the connection ends. A writer that gave up closes the permits.
        let all = u32::try_from(window).expect("limited");
        let _ = permits.acquire_many(all).await;
        self.hub.answers().remove(&self.number);
        let _ = writing.await;
        linger(&mut reader, &self.hub.limits).await;
        drop(connection);
    }

    fn count_failed(&self, connections: u64) {
        self.hub.failed.fetch_add(connections, Ordering::Relaxed);
    }

    /// Reads messages until the peer ends, breaks a rule, is silent too long, or the service is to end. Returns the
    /// connection that it took when it was welcomed.
    async fn read_batches(
        &self,
        reader: &mut ReadHalf<TlsStream<TcpStream>>,
        mut session: Session,
        permits: &Semaphore,
        handshake: Arc<Notify>,
    ) -> Option<OwnedSemaphorePermit> {
        let limits = &self.hub.limits;
        let mut stopped = self.stopped.clone();
        let mut patience = Duration::from_millis(limits.handshake_ms_max);
        let (mut connection, mut handshake) = (None, Some(handshake));
        loop {
            let received = tokio::select! {
                received = timeout(patience, read_message(reader)) => received,
                // The sender is dropped, never used.
                _ = stopped.changed() => break,
                () = ended(handshake.as_deref()) => break,
            };
            let at = self.hub.now();
            let verdict = match received {
                Err(_) | Ok(Received::Ended) => break,
                Ok(Received::Oversize) => session.refuse(Refusal::Oversize),
                Ok(Received::Message(message)) => session.receive(&message),
            };
            let (batch, close) = match verdict {
                Verdict::Welcome => {
                    handshake = None;
                    connection = self.hub.connections.clone().try_acquire_owned().ok();
                    if connection.is_some() {
                        self.hub.welcomed.fetch_add(1, Ordering::Relaxed);
                        patience = Duration::from_millis(limits.idle_ms_max);
                        continue;
                    }
                    (Err((Refusal::Connections, session.unnumbered())), true)
                }
                Verdict::Batch(batch) => (Ok(batch), false),
                Verdict::Refuse { refusal, id, close } => (Err((refusal, id)), close),
            };
            // The permit comes back when the answer is written.
            let Ok(permit) = permits.acquire().await else { break };
            permit.forget();
            let arrived = Arrived { connection: self.number, at, batch };
            if self.queue.send(arrived).await.is_err() {
                permits.add_permits(1);
                break;
            }
            if close {
                break;
            }
        }
        self.count_failed(u64::from(connection.is_none()));
        connection
    }
}

/// Returns when the handshake is to end; never without one.
async fn ended(handshake: Option<&Notify>) {
    match handshake {
        Some(handshake) => handshake.notified().await,
        None => std::future::pending().await,
    }
}

/// Reads and forgets what a peer still sends, for a while: closing a socket with unread bytes resets it, and
/// the peer would lose the last answer or alert, which tells it why.
async fn linger(reader: &mut (impl AsyncRead + Unpin), limits: &Limits) {
    let (mut rest, mut nowhere) = (reader.take(LINGER_BYTES_MAX), tokio::io::sink());
    let forgotten = tokio::io::copy(&mut rest, &mut nowhere);
    let _ = timeout(Duration::from_millis(limits.linger_ms_max), forgotten).await;
}

async fn read_message(reader: &mut ReadHalf<TlsStream<TcpStream>>) -> Received {
    let mut length = [0; 4];
    if reader.read_exact(&mut length).await.is_err() {
        return Received::Ended;
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > MESSAGE_BYTES_MAX {
        return Received::Oversize;
    }
    // The buffer grows with what arrives: a length alone takes no memory.
    let mut message = Vec::new();
    match reader.take(length as u64).read_to_end(&mut message).await {
        Ok(read) if read == length => Received::Message(message),
        _ => Received::Ended,
    }
}

/// Writes answers as they come; gives each batch's permit back.
async fn write_answers(
    mut writer: WriteHalf<TlsStream<TcpStream>>,
    mut answers: mpsc::UnboundedReceiver<Vec<u8>>,
    permits: Arc<Semaphore>,
    patience: Duration,
) {
    while let Some(answer) = answers.recv().await {
        let writing = async {
            writer.write_all(&answer).await?;
            writer.flush().await
        };
        if !matches!(timeout(patience, writing).await, Ok(Ok(()))) {
            permits.close();
            return;
        }
        permits.add_permits(1);
    }
    // The farewell tells the peer that no answer was cut off; a peer that is gone does not miss it.
    let _ = timeout(patience, writer.shutdown()).await;
}
