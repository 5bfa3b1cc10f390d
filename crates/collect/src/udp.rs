//! Batches over UDP: a datagram is a message as over TCP, length included, and what fills it up behind that.
//!
//! ```text
//! to the server     0 4 length n | 4 n message: a batch | zeroes, so that no answer is longer than this
//! to the bridge     0 4 length n | 4 n message: a receipt, or a refusal
//! ```
//! There is no hello and no session: who sent a batch is proved by the batch's own tag, and by nothing else. So only
//! an authentic batch is answered, with no more bytes than came, to where it came from: a stranger with a borrowed
//! address makes the server send to nobody. A refusal is not sealed; a bridge believes none.
//!
//! Every datagram that is not answered with a receipt is counted by its reason. When the queue is full datagrams are
//! dropped: a bridge sends each batch again until it has the receipt.

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::batch::{Answer, Request, SealedBatch};
use crate::error::{Error, Refusal};
use crate::limits::{DATAGRAM_BYTES_MAX, Limits, RECEIVE_PAUSE};
use crate::serve::{Clock, Incoming, Inlet, Service};
use crate::shard::Arrived;
use crate::stats::{SharedTimes, Stats};

/// What came in one datagram, and is not answered yet.
#[derive(Clone, Copy)]
struct Origin {
    address: SocketAddr,
    bytes: usize,
}

/// An answer on its way out.
struct Outgoing {
    number: u64,
    answer: Answer,
    sealed_ns: u64,
}

/// The transport.
pub(crate) struct Udp {
    socket: UdpSocket,
    limits: Limits,
    clock: Clock,
    answers: mpsc::UnboundedSender<Outgoing>,
    /// Taken by `serve`. As many wait as batches are in flight.
    answered: Mutex<Option<mpsc::UnboundedReceiver<Outgoing>>>,
    refused: Mutex<BTreeMap<&'static str, u64>>,
    dropped: AtomicU64,
    withheld: AtomicU64,
    answering: SharedTimes,
}

impl Udp {
    /// A transport on `socket`.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(crate) fn new(socket: UdpSocket, limits: Limits, clock: Clock) -> Result<Udp, Error> {
        socket.set_nonblocking(true).map_err(Error::io("listen on", "socket"))?;
        let (answers, answered) = mpsc::unbounded_channel();
        Ok(Udp {
            socket,
            limits,
            clock,
            answers,
            answered: Mutex::new(Some(answered)),
            refused: Mutex::default(),
            dropped: AtomicU64::new(0),
            withheld: AtomicU64::new(0),
            answering: SharedTimes::new(),
        })
    }

    fn refused(&self) -> MutexGuard<'_, BTreeMap<&'static str, u64>> {
        self.refused.lock().expect("no thread panics while it counts")
    }

    fn refuse(&self, refusal: Refusal) {
        *self.refused().entry(refusal.name()).or_default() += 1;
        self.withheld.fetch_add(1, Ordering::Relaxed);
    }

    /// The answer's message, if whoever is at `origin` may have it.
    fn message(&self, origin: Origin, answer: &Answer) -> Option<Vec<u8>> {
        let is_proved = match answer {
            Answer::Receipt { .. } => true,
            Answer::Refused { status, .. } => {
                Refusal::from_number(*status).is_some_and(Refusal::is_of_authentic)
            }
        };
        let message = Some(answer.to_message()).filter(|message| is_proved && message.len() <= origin.bytes);
        self.withheld.fetch_add(u64::from(message.is_none()), Ordering::Relaxed);
        message
    }
}

/// The batch in a datagram.
///
/// # Errors
/// Why there is none.
pub fn parse(datagram: &[u8]) -> Result<SealedBatch, Refusal> {
    let (length, rest) = datagram.split_first_chunk().ok_or(Refusal::Malformed)?;
    let message = rest.get(..u32::from_le_bytes(*length) as usize).ok_or(Refusal::Malformed)?;
    match Request::parse(message) {
        Ok(Request::Batch(batch)) => Ok(batch),
        Ok(Request::Hello(_)) => Err(Refusal::Hello),
        Err((refusal, _)) => Err(refusal),
    }
}

/// What is in flight, and the number of the next.
#[derive(Default)]
struct Flight {
    origins: HashMap<u64, Origin>,
    number: u64,
}

impl Service for Udp {
    fn answer(&self, connection: u64, answer: &Answer, sealed_ns: u64) {
        // The receiver ends with the service.
        let _ = self.answers.send(Outgoing { number: connection, answer: answer.clone(), sealed_ns });
    }

    async fn serve(
        self: Arc<Self>,
        inlet: Inlet,
        shutdown: impl Future<Output = ()> + Send,
    ) -> Result<(), Error> {
        let Inlet { queue, mut failure } = inlet;
        let failed = || Error::io("listen on", "socket");
        let socket = self.socket.try_clone().and_then(tokio::net::UdpSocket::from_std).map_err(failed())?;
        let mut answered = self.answered.lock().expect("nobody panics with it").take().expect("served once");
        let (mut datagram, mut flight) = (vec![0; DATAGRAM_BYTES_MAX], Flight::default());
        tokio::pin!(shutdown);
        loop {
            tokio::select! {
                () = &mut shutdown => break,
                // Nothing may be answered any more.
                _ = &mut failure => return Ok(()),
                received = socket.recv_from(&mut datagram) => match received {
                    Ok((bytes, address)) => {
                        self.take(&datagram[..bytes], Origin { address, bytes }, &mut flight, &queue);
                    }
                    // Somebody's answer could not be delivered: that is theirs. A socket that is broken for good
                    // must not make this spin.
                    Err(_) => tokio::time::sleep(RECEIVE_PAUSE).await,
                },
                Some(outgoing) = answered.recv() => self.send(&socket, &mut flight, &outgoing).await,
            }
        }
        drop(queue);
        let drained = async {
            while !flight.origins.is_empty() {
                let Some(outgoing) = answered.recv().await else { break };
                self.send(&socket, &mut flight, &outgoing).await;
            }
        };
        let patience = Duration::from_millis(self.limits.drain_ms_max);
        tokio::select! {
            _ = timeout(patience, drained) => {}
            _ = &mut failure => {}
        }
        Ok(())
    }

    fn count(&self, stats: &mut Stats) {
        for (name, count) in self.refused().iter() {
            *stats.refused.entry(name).or_default() += count;
        }
        stats.datagrams_dropped = self.dropped.load(Ordering::Relaxed);
        stats.answers_withheld = self.withheld.load(Ordering::Relaxed);
        stats.stages.answering = self.answering.latency();
    }
}

impl Udp {
    fn take(&self, datagram: &[u8], origin: Origin, flight: &mut Flight, queue: &mpsc::Sender<Incoming>) {
        let batch = match parse(datagram) {
            Ok(batch) => batch,
            Err(refusal) => return self.refuse(refusal),
        };
        let connection = flight.number;
        let arrived = Arrived { connection, at: self.clock.now(), batch: Ok(batch) };
        // A full queue: the bridge sends it again. A closed one: the service ends.
        if queue.try_send(Incoming::Batch(arrived)).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        flight.number += 1;
        flight.origins.insert(connection, origin);
    }

    async fn send(&self, socket: &tokio::net::UdpSocket, flight: &mut Flight, outgoing: &Outgoing) {
        let Outgoing { number, answer, sealed_ns } = outgoing;
        let origin = flight.origins.remove(number).expect("each batch is answered once");
        if let Some(message) = self.message(origin, answer) {
            // One that is lost is asked for again.
            let _ = socket.send_to(&message, origin.address).await;
            if matches!(answer, Answer::Receipt { .. }) {
                self.answering.record(*sealed_ns, self.clock.monotonic_ns());
            }
        }
    }
}
