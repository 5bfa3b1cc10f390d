//! Batches over TCP with TLS 1.3: connections, their rules, and who is let in.
//!
//! Whoever connects has a place among the handshakes until its hello; only a bridge with a certificate that has said
//! hello takes one of the connections (`session` keeps each one's rules). When the queue is full a connection is not
//! read, and TCP pushes back.
//!
//! Owns connections. Leaves opening, storing and clocks to `serve`.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::net::TcpListener;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::net::TcpStream;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::batch::Answer;
use crate::error::{Error, Refusal};
use crate::limits::{ACCEPT_PAUSE, LINGER_BYTES_MAX, Limits, MESSAGE_BYTES_MAX};
use crate::serve::{Clock, Incoming, Inlet, Service};
use crate::session::{Session, Verdict};
use crate::shard::Arrived;
use crate::stats::{SharedTimes, Stats};
use crate::tls;

/// So many bytes of a message arrive before there is room for the others.
const MESSAGE_BEGIN_BYTES: usize = 16 << 10;
/// Room that reading to an end wants to be left, or it grows what it reads into.
const READ_PROBE_BYTES: usize = 64;

/// What all connections share.
pub(crate) struct Tcp {
    /// Taken by `serve`.
    listener: Mutex<Option<TcpListener>>,
    tls: Arc<ServerConfig>,
    limits: Limits,
    clock: Clock,
    /// Where the answers of each connection go. The number of answers that wait is bounded by the permits
    /// that their batches hold.
    answers: Mutex<HashMap<u64, mpsc::UnboundedSender<Outgoing>>>,
    /// Bridges that may still be welcomed.
    connections: Arc<Semaphore>,
    welcomed: AtomicU64,
    failed: AtomicU64,
    answering: SharedTimes,
}

/// An answer on its way to a connection.
struct Outgoing {
    message: Vec<u8>,
    /// When it was sealed; `None` for a refusal.
    sealed_ns: Option<u64>,
}

impl Tcp {
    /// A transport that will listen on `listener`.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(crate) fn new(
        listener: TcpListener,
        tls: Arc<ServerConfig>,
        limits: Limits,
        clock: Clock,
    ) -> Result<Tcp, Error> {
        listener.set_nonblocking(true).map_err(Error::io("listen on", "socket"))?;
        Ok(Tcp {
            listener: Mutex::new(Some(listener)),
            tls,
            clock,
            answers: Mutex::default(),
            connections: Arc::new(Semaphore::new(limits.connections_max)),
            welcomed: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            answering: SharedTimes::new(),
            limits,
        })
    }

    fn answers(&self) -> MutexGuard<'_, HashMap<u64, mpsc::UnboundedSender<Outgoing>>> {
        self.answers.lock().expect("no thread panics while it holds the map")
    }
}

impl Service for Tcp {
    fn answer(&self, connection: u64, answer: &Answer, sealed_ns: u64) {
        if let Some(writer) = self.answers().get(&connection) {
            let is_receipt = matches!(answer, Answer::Receipt { .. });
            let outgoing =
                Outgoing { message: answer.to_message(), sealed_ns: is_receipt.then_some(sealed_ns) };
            // A connection that ended meanwhile gets nothing; its bridge sends the batch again.
            let _ = writer.send(outgoing);
        }
    }

    /// Accepts connections until the service is to end, and waits for theirs.
    async fn serve(
        self: Arc<Self>,
        inlet: Inlet,
        shutdown: impl Future<Output = ()> + Send,
    ) -> Result<(), Error> {
        let Inlet { queue, mut failure } = inlet;
        let listener = self.listener.lock().expect("nobody panics with it").take().expect("served once");
        let listener =
            tokio::net::TcpListener::from_std(listener).map_err(Error::io("listen on", "socket"))?;
        let acceptor = TlsAcceptor::from(self.tls.clone());
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
                        let peer = Peer { number, hub: self.clone(), queue: queue.clone(), stopped: stopped.clone() };
                        let handshake = handshakes.begin(self.limits.handshakes_max);
                        connections.spawn(peer.serve(stream, acceptor.clone(), handshake));
                    }
                    // The peer is gone already, or descriptors are short: neither ends the service, but a
                    // shortage that lasts must not make it spin.
                    Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
                },
            }
        }
        drop((listener, queue, stop));
        let drained = async { while connections.join_next().await.is_some() {} };
        let patience = Duration::from_millis(self.limits.drain_ms_max);
        tokio::select! {
            _ = timeout(patience, drained) => {}
            _ = &mut failure => {}
        }
        Ok(())
    }

    fn count(&self, stats: &mut Stats) {
        stats.connections = self.welcomed.load(Ordering::Relaxed);
        stats.connections_failed = self.failed.load(Ordering::Relaxed);
        stats.stages.answering = self.answering.latency();
    }
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
    hub: Arc<Tcp>,
    queue: mpsc::Sender<Incoming>,
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
        let writing = tokio::spawn(write_answers(self.hub.clone(), writer, written, permits.clone()));
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
            let at = self.hub.clock.now();
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
            if self.queue.send(Incoming::Batch(arrived)).await.is_err() {
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
    // A length alone takes little memory; what has begun to arrive has room for the rest at once, and is not moved as it
    // grows.
    let mut message = Vec::new();
    for arrived in [length.min(MESSAGE_BEGIN_BYTES), length] {
        let rest = arrived - message.len();
        message.reserve_exact(rest + READ_PROBE_BYTES);
        match reader.take(rest as u64).read_to_end(&mut message).await {
            Ok(read) if read == rest => {}
            _ => return Received::Ended,
        }
    }
    Received::Message(message)
}

/// Writes answers as they come; gives each batch's permit back.
async fn write_answers(
    hub: Arc<Tcp>,
    mut writer: WriteHalf<TlsStream<TcpStream>>,
    mut answers: mpsc::UnboundedReceiver<Outgoing>,
    permits: Arc<Semaphore>,
) {
    let patience = Duration::from_millis(hub.limits.write_ms_max);
    while let Some(Outgoing { message, sealed_ns }) = answers.recv().await {
        let writing = async {
            writer.write_all(&message).await?;
            writer.flush().await
        };
        if !matches!(timeout(patience, writing).await, Ok(Ok(()))) {
            permits.close();
            return;
        }
        if let Some(sealed_ns) = sealed_ns {
            hub.answering.record(sealed_ns, hub.clock.monotonic_ns());
        }
        permits.add_permits(1);
    }
    // The farewell tells the peer that no answer was cut off; a peer that is gone does not miss it.
    let _ = timeout(patience, writer.shutdown()).await;
}
