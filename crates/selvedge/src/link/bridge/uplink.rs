//! The bridge's way up: seals each batch through the broker, sends it, and reports receipts.
//!
//! Batches go up in the order of their numbers, several at a time. When the broker or the server is lost, both
//! connections are made again and everything without a receipt is sealed and sent again; the server recognises
//! frames that it has.

use super::contents::{Pending, read};
use super::record::Frame;
use crate::error::Error;
use crate::limits::{
    BATCH_BYTES_MAX, BATCH_ENTRY_BYTES, BATCH_HEADER_BYTES, BATCHES_IN_FLIGHT_MAX, RETRY_MS_MAX, RETRY_MS_MIN,
};
use broker::client::Client as Broker;
use broker::wire::KeyHandle;
use collect::batch::{Answer, BatchId, Entry, Hello, Receipt, entries_to_bytes};
use collect::client::{self, BatchSender};
use collect::disk::RealDisk;
use collect::error::Refusal;
use collect::limits::BATCH_FRAMES_MAX;
use sha2::{Digest, Sha256};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;

/// Where the way up leads.
pub struct Route {
    /// The cell whose batches these are.
    pub cell: u16,
    /// The spool that numbers them.
    pub spool: u64,
    /// The folder that it is in.
    pub folder: PathBuf,
    /// The broker's socket.
    pub broker: PathBuf,
    /// The server.
    pub server: Server,
}

/// A server, and who we are to it.
#[derive(Clone)]
pub struct Server {
    /// Where it listens. A server that is started again may listen elsewhere, so this is asked each time.
    pub address: Arc<dyn Fn() -> std::io::Result<SocketAddr> + Send + Sync>,
    /// The name in its certificate.
    pub name: String,
    /// Our certificate, and whose certificates we believe.
    pub tls: Arc<rustls::ClientConfig>,
}

/// A batch is durable.
pub struct Answered {
    /// The batch.
    pub batch: Pending,
    /// What the server did with its frames.
    pub receipt: Receipt,
}

/// What went wrong on the way up since the bridge started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Connections that were lost, to either side.
    pub reconnects: u64,
    /// Batches that the server refused.
    pub refused: u64,
    /// Batches that were sent more than once.
    pub resent: u64,
}

/// Where the uplink counts its faults, for whoever wants to know them.
#[derive(Clone, Default)]
pub struct Tally(Arc<Mutex<Faults>>);

impl Tally {
    /// What went wrong so far.
    pub fn get(&self) -> Faults {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, add: impl FnOnce(&mut Faults)) {
        add(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// A batch that waits for its receipt.
struct Waiting {
    batch: Pending,
    /// Digest of the bytes that were sent on this connection; `None` before they are.
    sent_sha256: Option<[u8; 32]>,
    was_sent: bool,
}

/// Sends what comes from `batches` until it is closed and everything is answered, or forever.
///
/// # Errors
/// What no repetition mends: see [`may_pass`]. Everything else is told on stderr, and tried again.
pub async fn run(
    route: Route,
    mut batches: mpsc::Receiver<Pending>,
    answers: mpsc::UnboundedSender<Answered>,
    faults: Tally,
) -> Result<(), Error> {
    let disk = RealDisk::open(&route.folder).map_err(|cause| Error::io("open", &route.folder, cause))?;
    let mut uplink = Uplink { route, disk, waiting: VecDeque::new(), faults, open: true };
    let mut pause_ms = RETRY_MS_MIN;
    let mut told = false;
    while uplink.open || !uplink.waiting.is_empty() {
        let before = uplink.waiting.front().map(|waiting| waiting.batch.number);
        match uplink.session(&mut batches, &answers).await {
            Ok(()) => break,
            Err(error) if !may_pass(&error) => return Err(error),
            Err(error) => {
                // One line for a trouble, however long it lasts.
                if !std::mem::replace(&mut told, true) {
                    eprintln!("{}", error.lines());
                }
            }
        }
        uplink.faults.add(|faults| faults.reconnects += 1);
        if uplink.waiting.front().map(|waiting| waiting.batch.number) != before {
            (pause_ms, told) = (RETRY_MS_MIN, false);
        }
        tokio::time::sleep(Duration::from_millis(pause_ms)).await;
        pause_ms = (2 * pause_ms).min(RETRY_MS_MAX);
    }
    Ok(())
}

/// Whether the same may succeed later, without anybody changing anything here. What is refused by a peer that could
/// be reached is refused again, unless the refusal says otherwise.
fn may_pass(error: &Error) -> bool {
    match error {
        Error::Spool { .. } | Error::BatchTooLong { .. } => false,
        Error::BatchRefused { status, .. } => Refusal::from_number(*status).is_some_and(Refusal::may_repeat),
        Error::Broker(broker::Error::Refused { status, .. }) => status.may_repeat(),
        Error::Broker(broker::Error::TooLong { .. }) => false,
        Error::Collect(collect::error::Error::Certificate { .. }) => false,
        _ => true,
    }
}

/// A cell on a noisy bus may hand over more than its nodes send.
fn check(number: u64, frames: &[Frame]) -> Result<(), Error> {
    let entry = |frame: &Frame| BATCH_ENTRY_BYTES as usize + frame.bytes.len();
    let bytes = BATCH_HEADER_BYTES as usize + frames.iter().map(entry).sum::<usize>();
    if frames.len() <= BATCH_FRAMES_MAX && bytes <= BATCH_BYTES_MAX as usize {
        return Ok(());
    }
    Err(Error::BatchTooLong { number, frames: frames.len(), bytes })
}

struct Uplink {
    route: Route,
    /// The spool's, for reading.
    disk: RealDisk,
    /// At most as many as may be in flight.
    waiting: VecDeque<Waiting>,
    faults: Tally,
    /// Whether more batches may come.
    open: bool,
}

impl Uplink {
    /// One pair of connections. Returns when there is nothing left to do; an error asks for the next pair.
    async fn session(
        &mut self,
        batches: &mut mpsc::Receiver<Pending>,
        answers: &mpsc::UnboundedSender<Answered>,
    ) -> Result<(), Error> {
        let cell = self.route.cell;
        let broker = Broker::connect(&self.route.broker).await?;
        let batch_key = broker.find_key(&format!("batch/{cell}")).await?;
        let receipt_key = broker.find_key(&format!("receipt/{cell}")).await?;
        let Server { address, name, tls } = &self.route.server;
        let address =
            address().map_err(|cause| Error::io("find", Path::new("the server's address"), cause))?;
        let hello = Hello { cell, spool: self.route.spool };
        let (mut sender, mut receiver) = client::connect(address, name, Arc::clone(tls), hello).await?;
        self.waiting.iter_mut().for_each(|waiting| waiting.sent_sha256 = None);
        while self.open || !self.waiting.is_empty() {
            let in_flight = self.waiting.iter().filter(|waiting| waiting.sent_sha256.is_some()).count();
            if in_flight < self.waiting.len() {
                self.send(in_flight, &broker, batch_key, &mut sender).await?;
                continue;
            }
            tokio::select! {
                batch = batches.recv(), if self.open && self.waiting.len() < BATCHES_IN_FLIGHT_MAX => match batch {
                    Some(batch) => self.waiting.push_back(Waiting { batch, sent_sha256: None, was_sent: false }),
                    None => self.open = false,
                },
                answer = receiver.next() => match answer? {
                    Some(answer) => self.answer(answer, &broker, receipt_key, answers).await?,
                    None => return Err(Error::ServerHungUp),
                },
            }
        }
        sender.finish().await?;
        Ok(())
    }

    async fn send(
        &mut self,
        index: usize,
        broker: &Broker,
        key: KeyHandle,
        server: &mut BatchSender,
    ) -> Result<(), Error> {
        let waiting = &mut self.waiting[index];
        let frames = read(&self.disk, &waiting.batch)
            .map_err(|fault| Error::Spool { path: self.route.folder.clone(), fault })?;
        check(waiting.batch.number, &frames)?;
        let entries: Vec<Entry<'_>> = frames
            .iter()
            .map(|frame| Entry {
                superframe: frame.superframe,
                slot: frame.slot,
                received_ps: frame.received_ps,
                frame: &frame.bytes,
            })
            .collect();
        let id = BatchId { cell: self.route.cell, spool: self.route.spool, number: waiting.batch.number };
        let header = id.header();
        let sealed = broker.seal(key, &header, &entries_to_bytes(&entries)).await?;
        let digest = Sha256::new().chain_update(header).chain_update(&sealed).finalize();
        server.send(&id, &sealed).await?;
        waiting.sent_sha256 = Some(digest.into());
        let resent = std::mem::replace(&mut waiting.was_sent, true);
        self.faults.add(|faults| faults.resent += u64::from(resent));
        Ok(())
    }

    async fn answer(
        &mut self,
        answer: Answer,
        broker: &Broker,
        key: KeyHandle,
        answers: &mpsc::UnboundedSender<Answered>,
    ) -> Result<(), Error> {
        let id = answer.id();
        match answer {
            Answer::Refused { status, .. } => {
                self.faults.add(|faults| faults.refused += 1);
                Err(Error::BatchRefused { number: id.number, status })
            }
            Answer::Receipt { sealed, .. } => {
                let plaintext = broker.open(key, &id.answer_header(), &sealed).await?;
                let not_ours = || Error::ReceiptMismatch { number: id.number };
                let receipt = Receipt::parse(&plaintext).map_err(|_| not_ours())?;
                let is_ours = |waiting: &Waiting| {
                    waiting.batch.number == id.number && waiting.sent_sha256 == Some(receipt.batch_sha256)
                };
                let waiting = self.waiting.front().filter(|waiting| is_ours(waiting)).ok_or_else(not_ours)?;
                // The receiver is gone only when the bridge itself ends.
                let _ = answers.send(Answered { batch: waiting.batch, receipt });
                self.waiting.pop_front();
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broker::wire::{Operation, Status};

    #[test]
    fn what_is_refused_for_good_is_not_asked_for_again() {
        let refused = |status: u16| may_pass(&Error::BatchRefused { number: 1, status });
        let repeated: Vec<_> = Refusal::ALL.iter().filter(|refusal| refused(refusal.number())).collect();
        assert_eq!(repeated, [&Refusal::DiskFull, &Refusal::Connections]);
        assert!(!refused(999), "a status that this version does not know");
        let broker = |status| {
            may_pass(&Error::Broker(broker::Error::Refused { operation: Operation::SealAes256Gcm, status }))
        };
        assert!(Status::ALL.iter().all(|status| broker(*status) == status.may_repeat()));
        assert!(broker(Status::DeviceLost) && !broker(Status::UnknownKey));
        assert!(may_pass(&Error::ServerHungUp) && may_pass(&Error::Broker(broker::Error::Disconnected)));
    }
}
