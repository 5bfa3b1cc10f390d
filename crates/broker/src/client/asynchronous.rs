//! A client for programs within a tokio runtime: one connection, any number of requests at a time.
//!
//! Owns request ids and who waits for which. Nobody else is woken by an answer than who asked. A refusal is
//! an error with its status; asking again is the caller's decision, see [`Status::may_repeat`].
//!
//! ```no_run
//! # async fn example() -> Result<(), broker::Error> {
//! let client = broker::client::Client::connect("run/broker.sock".as_ref()).await?;
//! let batches = client.find_key("batch/7").await?;
//! let sealed = client.seal(batches, b"header", b"frames").await?;
//! # let from_the_server = sealed;
//! let receipts = client.find_key("receipt/7").await?;
//! let receipt = client.open(receipts, b"header", &from_the_server).await?;
//! # Ok(())
//! # }
//! ```

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use zeroize::Zeroizing;

use super::call::{self, Call, Request};
use super::check;
use crate::error::Error;
use crate::info::DeviceInfo;
use crate::limits::{PDUS_PER_WRITE, REQUESTS_PER_CONNECTION_MAX};
use crate::stream::{Framing, Incoming, write, write_group};
use crate::wire::{Connection, Head, KeyHandle, Operation, Pdu, Status};

/// A connection to a broker. Clones share it; it is closed when the last is dropped.
///
/// As many requests as the broker lets one connection have run at a time; further ones wait here.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

struct Shared {
    requests: mpsc::UnboundedSender<Pdu>,
    slots: Arc<Semaphore>,
    waiting: Arc<Mutex<Waiting>>,
    reader: tokio::task::AbortHandle,
    writer: tokio::task::AbortHandle,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.reader.abort();
        self.writer.abort();
    }
}

/// Who waits for which request.
#[derive(Default)]
struct Waiting {
    request_last: u32,
    by_request: HashMap<u32, Waiter>,
    /// What the broker calls the connection, once it has answered.
    number: Option<Connection>,
    /// Set when no answer will come any more.
    ended: bool,
    /// Why, if the broker said it.
    notice: Option<Status>,
}

/// Stays until the answer comes even if nobody wants it any more, because the broker counts the request until
/// then.
struct Waiter {
    answer: oneshot::Sender<Pdu>,
    _slot: OwnedSemaphorePermit,
}

impl Client {
    /// Connects to the broker at `path`. Must be called within a tokio runtime, which carries the connection.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub async fn connect(path: &Path) -> Result<Client, Error> {
        let stream = UnixStream::connect(path).await;
        let stream =
            stream.map_err(|source| Error::Io { doing: "connect to", path: path.to_owned(), source })?;
        let (reader, writer) = stream.into_split();
        let waiting = Arc::new(Mutex::new(Waiting::default()));
        let (requests, receiver) = mpsc::unbounded_channel();
        let reader = tokio::spawn(read_answers(reader, waiting.clone())).abort_handle();
        let writer = tokio::spawn(write_requests(writer, receiver)).abort_handle();
        let slots = Arc::new(Semaphore::new(REQUESTS_PER_CONNECTION_MAX));
        Ok(Client { shared: Arc::new(Shared { requests, slots, waiting, reader, writer }) })
    }

    /// Asks for something. Dropping the future does not take the request back.
    ///
    /// # Errors
    /// [`Error::TooLong`], [`Error::Refused`] with its status, [`Error::Disconnected`] or [`Error::Answer`].
    pub async fn call<C: Call>(&self, call: &C) -> Result<C::Answer, Error> {
        let request = call.request();
        request.check()?;
        call.read(&self.ask(&request).await?).map_err(Error::Answer)
    }

    /// What the device is.
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Disconnected`] or [`Error::Answer`].
    pub async fn info(&self) -> Result<DeviceInfo, Error> {
        self.call(&call::Info {}).await
    }

    /// The handle of the key of this name. It stays valid when the device restarts.
    ///
    /// # Errors
    /// As [`info`](Self::info), with [`Status::UnknownKey`] if the device has no such key;
    /// [`Error::TooLong`].
    pub async fn find_key(&self, name: &str) -> Result<KeyHandle, Error> {
        self.call(&call::FindKey { name: name.as_bytes() }).await
    }

    /// Random bytes, at most [`PLAINTEXT_BYTES_MAX`](crate::limits::PLAINTEXT_BYTES_MAX) of them.
    ///
    /// # Errors
    /// As [`info`](Self::info).
    pub async fn random(&self, count_bytes: u32) -> Result<Zeroizing<Vec<u8>>, Error> {
        self.call(&call::Random { count_bytes }).await
    }

    /// What the broker has done, in Prometheus' text format. For its operator and root.
    ///
    /// # Errors
    /// As [`info`](Self::info), with [`Status::NotPermitted`].
    pub async fn status(&self) -> Result<String, Error> {
        self.call(&call::Status {}).await
    }

    /// Seals with AES-256-GCM: nonce, ciphertext, tag. The nonce is the device's.
    ///
    /// # Errors
    /// As [`info`](Self::info), with [`Status::UnknownKey`] or [`Status::WrongPurpose`]; [`Error::TooLong`].
    pub async fn seal(
        &self,
        key: KeyHandle,
        associated_data: &[u8],
        plaintext: &[u8],
    ) -> Result<Vec<u8>, Error> {
        self.call(&call::SealAes256Gcm { key, associated_data, plaintext }).await
    }

    /// Opens nonce, ciphertext, tag, that were sealed with AES-256-GCM.
    ///
    /// # Errors
    /// As [`info`](Self::info), with [`Status::UnknownKey`], or [`Status::Rejected`] if the message is not
    /// authentic under this key and associated data; [`Error::TooLong`].
    pub async fn open(
        &self,
        key: KeyHandle,
        associated_data: &[u8],
        sealed: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, Error> {
        self.call(&call::OpenAes256Gcm { key, associated_data, sealed }).await
    }

    async fn ask(&self, request: &Request<'_>) -> Result<Pdu, Error> {
        let operation = request.operation;
        if request.only_on.is_some_and(|only| self.shared.waiting().number != Some(only)) {
            return Err(Error::Refused { operation, status: Status::UnknownContext });
        }
        let slot = self.shared.slots.clone().acquire_owned().await.expect("the slots are never closed");
        let (sender, answer) = oneshot::channel();
        // On its own line: the lock must be free again before `ended` takes it.
        let enrolled = self.shared.waiting().enrol(Waiter { answer: sender, _slot: slot });
        let id = enrolled.ok_or_else(|| self.shared.ended(operation))?;
        let head = Head::request(operation, id, request.key);
        let pdu = Pdu::new(head, &request.parameters, request.payload).expect("the lengths were checked");
        // A writer that ended has met a broken socket, which the reader meets too and reports.
        let _ = self.shared.requests.send(pdu);
        let answer = answer.await.map_err(|_| self.shared.ended(operation))?;
        check(operation, answer)
    }
}

impl Shared {
    fn waiting(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.waiting.lock().expect("no holder of this lock panics")
    }

    fn ended(&self, operation: Operation) -> Error {
        match self.waiting().notice {
            Some(status) => Error::Refused { operation, status },
            None => Error::Disconnected,
        }
    }
}

impl Waiting {
    /// Gives a request an id that no unanswered one has; `None` when the connection has ended.
    fn enrol(&mut self, waiter: Waiter) -> Option<u32> {
        if self.ended {
            return None;
        }
        // Ends, because there are far fewer slots than ids.
        loop {
            self.request_last = self.request_last.wrapping_add(1);
            if !self.by_request.contains_key(&self.request_last) {
                self.by_request.insert(self.request_last, waiter);
                return Some(self.request_last);
            }
        }
    }
}

/// Gives each answer to who waits for it, until the connection ends; then nobody waits any more.
async fn read_answers(reader: OwnedReadHalf, waiting: Arc<Mutex<Waiting>>) {
    let mut answers = Incoming::new(reader, Framing::Plain);
    let mut notice = None;
    while let Ok(answer) = answers.next().await {
        if answer.head().connection == Connection::BROKER {
            // Only a connection that is refused has no number.
            notice = answer.status().ok();
            break;
        }
        let mut waiting = waiting.lock().expect("no holder of this lock panics");
        waiting.number = Some(answer.head().connection);
        if let Some(waiter) = waiting.by_request.remove(&answer.head().request) {
            // Who dropped the call does not want the answer.
            let _ = waiter.answer.send(answer);
        }
    }
    let mut waiting = waiting.lock().expect("no holder of this lock panics");
    waiting.ended = true;
    waiting.notice = notice;
    waiting.by_request.clear();
}

async fn write_requests(mut writer: OwnedWriteHalf, mut requests: mpsc::UnboundedReceiver<Pdu>) {
    let mut batch = Vec::new();
    while requests.recv_many(&mut batch, PDUS_PER_WRITE).await > 0 {
        while !batch.is_empty() {
            let group = write_group(&batch);
            if write(&mut writer, &batch[..group], Framing::Plain).await.is_err() {
                return;
            }
            batch.drain(..group);
        }
    }
}
