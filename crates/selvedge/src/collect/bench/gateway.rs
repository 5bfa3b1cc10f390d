//! Gateways of a benchmark: what they seal before, their connections, and how they send: as fast as they are answered, or
//! when it is due.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::thread;

use cipher::{Aead, Suite};
use collect::batch::{Answer, HEADER_BYTES, Hello, NONCE_BYTES, Receipt, SealedBatch, batch_message};
use collect::client::{AnswerReceiver, BatchSender, connect};
use collect::load::{CELL, Load, NODES, Plant, cell_master};
use hdrhistogram::Histogram;
use rustls::ClientConfig;
use selvedge::error::Error;
use selvedge::link::certificates::SERVER_NAME;
use tokio::sync::{Semaphore, mpsc};

use super::pace;

/// Longest latency that is told apart: an hour, in nanoseconds.
const LATENCY_NS_MAX: u64 = 3_600_000_000_000;

/// A batch as it goes over the connection.
pub struct Message {
    /// Its number in the gateway's spool.
    pub number: u64,
    /// The message, length included.
    pub bytes: Vec<u8>,
}

/// A sealed batch as it goes over the connection.
pub fn message_of(batch: SealedBatch) -> Message {
    Message { number: batch.id.number, bytes: batch_message(&batch.id, &batch.body[HEADER_BYTES..]) }
}

/// Who seals for one gateway.
pub struct Sealer {
    plant: Plant,
    spool: u64,
    next: u64,
}

impl Sealer {
    /// The sealers of `count` gateways, who share the nodes.
    pub fn all(load: Load, seed: u64, count: usize) -> Vec<Sealer> {
        let nodes = NODES / count as u32;
        let sealer = |index: u32| {
            let plant = Plant::new(load, index * nodes..(index + 1) * nodes, seed);
            Sealer { plant, spool: u64::from(index) + 1, next: 0 }
        };
        (0..count as u32).map(sealer).collect()
    }

    /// The spool of its gateway.
    pub fn spool(&self) -> u64 {
        self.spool
    }

    /// The next batch.
    pub fn seal(&mut self) -> Message {
        let number = self.next;
        self.next += 1;
        message_of(self.plant.batch(self.spool, number))
    }
}

/// Seals so many batches for each gateway, on a thread each.
pub fn seal_all(sealers: &mut [Sealer], count: usize) -> Vec<Arc<Vec<Message>>> {
    let seal = |sealer: &mut Sealer| Arc::new((0..count).map(|_| sealer.seal()).collect());
    thread::scope(|scope| {
        let threads: Vec<_> = sealers.iter_mut().map(|sealer| scope.spawn(move || seal(sealer))).collect();
        threads.into_iter().map(|thread| thread.join().expect("sealing does not panic")).collect()
    })
}

/// What receipts said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Receipts.
    pub batches: u64,
    /// Frames that were stored.
    pub stored: u64,
    /// Frames that had been stored before, or never will be.
    pub others: u64,
}

impl Received {
    /// Both.
    pub fn and(self, other: Received) -> Received {
        Received {
            batches: self.batches + other.batches,
            stored: self.stored + other.stored,
            others: self.others + other.others,
        }
    }
}

/// A connection.
pub struct Gateway {
    spool: u64,
    sender: BatchSender,
    answers: AnswerReceiver,
    opener: Opener,
}

/// Who opens receipts.
pub struct Opener(Aead);

impl Opener {
    /// With the key of the cell.
    pub fn new() -> Opener {
        Opener(Aead::new(Suite::Aes256Gcm, cell_master().receipt_key(CELL).expose()))
    }

    /// What the answer says; a refusal is an error.
    ///
    /// # Errors
    /// [`Error::BatchRefused`], [`Error::ReceiptMismatch`].
    pub fn open(&self, answer: Answer) -> Result<Received, Error> {
        match answer {
            Answer::Refused { id, status } => Err(Error::BatchRefused { number: id.number, status }),
            Answer::Receipt { id, mut sealed } => {
                let none = || Error::ReceiptMismatch { number: id.number };
                let (nonce, sealed) = sealed.split_at_mut_checked(NONCE_BYTES).ok_or_else(none)?;
                let opened = self.0.open_tail(nonce, &id.answer_header(), sealed).map_err(|_| none())?;
                let receipt = Receipt::parse(opened).map_err(|_| none())?;
                let others = u64::from(receipt.duplicate) + u64::from(receipt.failed_total());
                Ok(Received { batches: 1, stored: receipt.stored.into(), others })
            }
        }
    }
}

impl Gateway {
    /// Connects.
    ///
    /// # Errors
    /// The environment's.
    pub async fn connect(address: SocketAddr, tls: Arc<ClientConfig>, spool: u64) -> Result<Gateway, Error> {
        let (sender, answers) = connect(address, SERVER_NAME, tls, Hello { cell: CELL, spool }).await?;
        Ok(Gateway { spool, sender, answers, opener: Opener::new() })
    }

    /// Whose batches it sends.
    pub fn spool(&self) -> u64 {
        self.spool
    }

    /// Both directions.
    pub fn into_parts(self) -> (BatchSender, AnswerReceiver, Opener) {
        (self.sender, self.answers, self.opener)
    }

    async fn receive(answers: &mut AnswerReceiver, opener: &Opener) -> Result<(u64, Received), Error> {
        let answer = answers.next().await?.ok_or(Error::ServerHungUp)?;
        let number = answer.id().number;
        Ok((number, opener.open(answer)?))
    }

    /// Sends as fast as it is answered, with so many batches unanswered at most; returns when all are.
    ///
    /// # Errors
    /// The environment's, and what the server refuses.
    pub async fn send_all(&mut self, messages: &[Message], in_flight: usize) -> Result<Received, Error> {
        let permits = Semaphore::new(in_flight);
        let Gateway { sender, answers, opener, .. } = self;
        let sending = async {
            for message in messages {
                permits.acquire().await.expect("nobody closes it").forget();
                sender.send_bytes(&message.bytes).await?;
            }
            Ok::<_, Error>(())
        };
        let receiving = async {
            let mut all = Received::default();
            for _ in messages {
                all = all.and(Self::receive(answers, opener).await?.1);
                permits.add_permits(1);
            }
            Ok(all)
        };
        let ((), received) = tokio::try_join!(sending, receiving)?;
        Ok(received)
    }

    /// Sends a message of `feed` whenever one is due by `dues`, in nanoseconds of the monotonic clock, until that ends;
    /// `latency` gets the time from then to its receipt.
    ///
    /// # Errors
    /// The environment's, and what the server refuses.
    pub async fn send_when_due(
        &mut self,
        mut feed: mpsc::Receiver<Message>,
        mut dues: mpsc::UnboundedReceiver<u64>,
        count: u64,
        latency: &mut Histogram<u64>,
    ) -> Result<Received, Error> {
        // Answers of one connection come in the order of its batches.
        let unanswered = Mutex::new(VecDeque::new());
        let lock = || unanswered.lock().expect("nobody panics with it");
        let Gateway { sender, answers, opener, .. } = self;
        let sending = async {
            while let Some(due_ns) = dues.recv().await {
                let message = feed.recv().await.expect("as many are sealed as are due");
                lock().push_back((message.number, due_ns));
                sender.send_bytes(&message.bytes).await?;
            }
            Ok::<_, Error>(())
        };
        let receiving = async {
            let mut all = Received::default();
            for _ in 0..count {
                let (number, received) = Self::receive(answers, opener).await?;
                let oldest = lock().pop_front();
                let (_, due_ns) =
                    oldest.filter(|&(sent, _)| sent == number).ok_or(Error::ReceiptMismatch { number })?;
                latency.saturating_record(pace::now_ns().saturating_sub(due_ns));
                all = all.and(received);
            }
            Ok(all)
        };
        let ((), received) = tokio::try_join!(sending, receiving)?;
        Ok(received)
    }
}

/// No latencies yet.
pub fn no_latencies() -> Histogram<u64> {
    Histogram::new_with_max(LATENCY_NS_MAX, 3).expect("the bounds are valid")
}
