//! The bridge's way up: seals each batch through the broker, sends it, and reports receipts.
//!
//! Batches go up in the order of their numbers, several at a time, each in the parts that `way` makes of it. When the broker
//! or the server is lost, both connections are made again and everything without a receipt is sealed and sent again; the
//! server recognises frames that it has.
//!
//! A receipt is believed when the crypto core has opened it and it names nonce and tag of what was sent. Where the way is
//! private, anything else is the server's fault and ends the connection; where anybody may send, it is counted and passed
//! over, and so is every refusal, because nothing seals one. Receipts may come in any order; batches are handed back in
//! the order of their numbers.

use super::contents::{Pending, read};
use super::way::{Server, Way};
use crate::error::Error;
use crate::limits::{BATCHES_IN_FLIGHT_MAX, LEAVE_MS_MAX, RETRY_MS_MAX, RETRY_MS_MIN};
use crate::stderr;
use broker::Fault;
use broker::client::Client as Broker;
use broker::wire::{KeyHandle, Status};
use collect::batch::{Answer, BatchId, Entry, Hello, Receipt, SEAL_BYTES, Seal, entries_to_bytes};
use collect::disk::RealDisk;
use collect::error::Refusal;
use std::collections::VecDeque;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

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

/// A batch is durable.
pub struct Answered {
    /// The batch.
    pub batch: Pending,
    /// What the server did with its frames, part by part.
    pub receipts: Vec<Receipt>,
}

/// What went wrong on the way up since the bridge started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Connections that were lost, to either side.
    pub reconnects: u64,
    /// Batches that the server refused.
    pub refused: u64,
    /// Batches, or parts of them, that were sent more than once.
    pub resent: u64,
    /// Receipts that were not for what was sent, from wherever they came.
    pub strange: u64,
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
    /// What was sent on this connection; none before it is.
    parts: Vec<Sent>,
    was_sent: bool,
}

/// A part that was sent.
struct Sent {
    seal: Seal,
    receipt: Option<Receipt>,
}

impl Waiting {
    /// What the server did with all of it, once that is known. Takes the parts.
    fn receipts(&mut self) -> Option<Vec<Receipt>> {
        let is_answered = !self.parts.is_empty() && self.parts.iter().all(|part| part.receipt.is_some());
        is_answered.then(|| self.parts.drain(..).filter_map(|part| part.receipt).collect())
    }
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
                    stderr::tell(error.lines());
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

/// With everything answered the uplink takes its leave of the server, if that is there to be told.
pub async fn leave(uplink: JoinHandle<Result<(), Error>>, is_drained: bool) {
    let patience = Duration::from_millis(if is_drained { LEAVE_MS_MAX } else { 0 });
    let abort = uplink.abort_handle();
    match tokio::time::timeout(patience, uplink).await {
        Ok(Err(panic)) if panic.is_panic() => resume_unwind(panic.into_panic()),
        _ => abort.abort(),
    }
}

/// Whether the same may succeed later, without anybody changing anything here. What is refused by a peer that could
/// be reached is refused again, unless the refusal says otherwise.
fn may_pass(error: &Error) -> bool {
    match error {
        Error::Spool { .. } => false,
        Error::BatchRefused { status, .. } => Refusal::from_number(*status).is_some_and(Refusal::may_repeat),
        Error::Broker(broker::Error::Refused { status, .. }) => status.may_repeat(),
        Error::Broker(broker::Error::TooLong { .. }) => false,
        Error::Collect(collect::error::Error::Certificate { .. }) => false,
        _ => true,
    }
}

/// What a receipt is opened with.
struct Core {
    broker: Broker,
    batch_key: KeyHandle,
    receipt_key: KeyHandle,
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
        let core = Core { broker, batch_key, receipt_key };
        let mut way = Way::open(&self.route.server, Hello { cell, spool: self.route.spool }).await?;
        self.waiting.iter_mut().for_each(|waiting| waiting.parts.clear());
        let mut resent = 0;
        while self.open || !self.waiting.is_empty() {
            if let Some(index) = self.waiting.iter().position(|waiting| waiting.parts.is_empty()) {
                self.send(index, &core, &mut way).await?;
                continue;
            }
            tokio::select! {
                batch = batches.recv(), if self.open && self.waiting.len() < BATCHES_IN_FLIGHT_MAX => match batch {
                    Some(batch) => {
                        self.waiting.push_back(Waiting { batch, parts: Vec::new(), was_sent: false });
                    }
                    None => self.open = false,
                },
                answer = way.next() => match answer? {
                    Some(answer) => self.answer(answer, &core, &mut way, answers).await?,
                    None => return Err(Error::ServerHungUp),
                },
            }
            let again = way.resent() - std::mem::replace(&mut resent, way.resent());
            self.faults.add(|faults| faults.resent += again);
        }
        way.finish().await
    }

    async fn send(&mut self, index: usize, core: &Core, way: &mut Way) -> Result<(), Error> {
        let waiting = &mut self.waiting[index];
        let frames = read(&self.disk, &waiting.batch)
            .map_err(|fault| Error::Spool { path: self.route.folder.clone(), fault })?;
        let id = BatchId { cell: self.route.cell, spool: self.route.spool, number: waiting.batch.number };
        let header = id.header();
        for part in way.parts(frames) {
            let entries: Vec<Entry<'_>> = part
                .frames
                .iter()
                .map(|frame| Entry {
                    superframe: frame.superframe,
                    slot: frame.slot,
                    received_ps: frame.received_ps,
                    frame: &frame.bytes,
                })
                .collect();
            let sealed = core.broker.seal(core.batch_key, &header, &entries_to_bytes(&entries)).await?;
            let short = || Fault::Length { found_bytes: sealed.len(), expected_bytes: SEAL_BYTES };
            let seal = Seal::of(&sealed).ok_or_else(|| broker::Error::Answer(short()))?;
            way.send(&id, &sealed, &part).await?;
            waiting.parts.push(Sent { seal, receipt: None });
        }
        let resent = std::mem::replace(&mut waiting.was_sent, true);
        self.faults.add(|faults| faults.resent += u64::from(resent));
        Ok(())
    }

    async fn answer(
        &mut self,
        answer: Answer,
        core: &Core,
        way: &mut Way,
        answers: &mpsc::UnboundedSender<Answered>,
    ) -> Result<(), Error> {
        let id = answer.id();
        let sealed = match answer {
            Answer::Refused { status, .. } => {
                self.faults.add(|faults| faults.refused += 1);
                let refused = Error::BatchRefused { number: id.number, status };
                return if way.is_private() { Err(refused) } else { Ok(()) };
            }
            Answer::Receipt { sealed, .. } => sealed,
        };
        let place = self.waiting.iter().position(|waiting| waiting.batch.number == id.number);
        let is_ours = place.is_some() && (id.cell, id.spool) == (self.route.cell, self.route.spool);
        let receipt = if is_ours { open(core, &id, &sealed, way.is_private()).await? } else { None };
        let part = place.zip(receipt.as_ref()).and_then(|(place, receipt)| {
            self.waiting[place].parts.iter_mut().find(|part| part.seal == receipt.batch)
        });
        let Some(part) = part else {
            if way.is_private() {
                return Err(Error::ReceiptMismatch { number: id.number });
            }
            // A second receipt for what was sent twice, of an earlier connection, or nobody's.
            self.faults.add(|faults| faults.strange += 1);
            return Ok(());
        };
        way.settle(&part.seal);
        part.receipt = receipt;
        while let Some(receipts) = self.waiting.front_mut().and_then(Waiting::receipts) {
            let waiting = self.waiting.pop_front().expect("it has its receipt");
            // The receiver is gone only when the bridge itself ends.
            let _ = answers.send(Answered { batch: waiting.batch, receipts });
        }
        Ok(())
    }
}

/// Has a receipt opened. `None` when it is none, where anybody may have sent it.
async fn open(core: &Core, id: &BatchId, sealed: &[u8], is_private: bool) -> Result<Option<Receipt>, Error> {
    match core.broker.open(core.receipt_key, &id.answer_header(), sealed).await {
        Ok(plaintext) => Ok(Receipt::parse(&plaintext).ok()),
        Err(broker::Error::Refused { status: Status::Rejected, .. }) if !is_private => Ok(None),
        Err(error) => Err(error.into()),
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
