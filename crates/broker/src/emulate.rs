//! The device's side of the link: what a crypto device does with a PDU, and a device in software.
//!
//! [`execute`] is the device as a function over an [`Engine`], the part that differs between devices;
//! [`serve`] puts it behind a Unix socket. The keys live in this process and nowhere else in the broker.
//!
//! Invariant: the nonce of a seal is made here, never taken from a request.
//! Invariant: the plaintext of a message that is not authentic is never released.
//! Invariant: a key seals or it opens. An application that can have receipts opened cannot forge one, and one that
//! can have batches sealed cannot read them.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;

use cipher::{Aead, Key, NonceSource, OsRandomness, Randomness, Suite};
use tokio::net::UnixStream;

use crate::device::DeviceInfo;
use crate::error::Error;
use crate::limits::{IN_FLIGHT_MAX, KEY_NAME_BYTES_MAX, KEYS_MAX, NONCE_BYTES, PAYLOAD_BYTES_MAX, TAG_BYTES};
use crate::listen::{Endpoint, Listener};
use crate::stream::{End, Framing, Incoming, write};
use crate::wire::{Draft, Head, KeyHandle, Operation, Pdu, Status, random_bytes};

/// What a key is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// It seals and opens nothing.
    Seal,
    /// It opens and seals nothing.
    Open,
}

/// A key that a device is given.
pub struct NamedKey {
    /// What applications find it by, such as `batch/7`.
    pub name: String,
    /// What it is for.
    pub purpose: Purpose,
    /// The key.
    pub key: Key<32>,
}

/// What a device computes with. Refusals are statuses of the table.
pub trait Engine {
    /// What the device is.
    fn info(&self) -> DeviceInfo;

    /// The handle of the key of this name, if the device has it.
    fn find_key(&self, name: &[u8]) -> Option<KeyHandle>;

    /// Fills `bytes` with randomness.
    ///
    /// # Errors
    /// [`Status::DeviceFault`].
    fn random(&mut self, bytes: &mut [u8]) -> Result<(), Status>;

    /// Appends nonce, ciphertext and tag to `sealed`.
    ///
    /// # Errors
    /// [`Status::UnknownKey`], [`Status::WrongPurpose`] or [`Status::DeviceFault`].
    fn seal(
        &mut self,
        key: KeyHandle,
        associated_data: &[u8],
        plaintext: &[u8],
        sealed: &mut Vec<u8>,
    ) -> Result<(), Status>;

    /// Appends the plaintext of `sealed`, which is nonce, ciphertext and tag, to `plaintext`.
    ///
    /// # Errors
    /// [`Status::UnknownKey`], [`Status::WrongPurpose`] or [`Status::Rejected`]; `plaintext` is as it was then.
    fn open(
        &mut self,
        key: KeyHandle,
        associated_data: &[u8],
        sealed: &[u8],
        plaintext: &mut Vec<u8>,
    ) -> Result<(), Status>;
}

/// The answer of a device to any PDU.
pub fn execute(engine: &mut impl Engine, request: &Pdu) -> Pdu {
    let head = request.head();
    answer(engine, request).unwrap_or_else(|status| Pdu::empty(head.answer(status)))
}

fn answer(engine: &mut impl Engine, request: &Pdu) -> Result<Pdu, Status> {
    let head = request.head();
    let operation = request.operation().map_err(|_| Status::UnknownOperation)?;
    if head.status != 0 || !operation.takes(request) {
        return Err(Status::WrongParameters);
    }
    let draft = Draft::new(head.answer(Status::Done), &[], operation.answer_bytes_max(request));
    let mut draft = draft.expect("no parameters are within their limit");
    let start = draft.payload_start();
    match operation {
        Operation::Info => draft.buffer().extend(engine.info().to_bytes()),
        Operation::FindKey => {
            draft.head().key = engine.find_key(request.payload()).ok_or(Status::UnknownKey)?;
        }
        Operation::Random => {
            let count = random_bytes(request).expect("the operation takes four bytes of parameters");
            draft.buffer().resize(start + count as usize, 0);
            engine.random(&mut draft.buffer()[start..])?;
        }
        Operation::Introduce | Operation::Leave => {}
        Operation::Status => return Err(Status::UnknownOperation), // the broker's own
        Operation::Echo => draft.buffer().extend_from_slice(request.payload()),
        Operation::SealAes256Gcm => {
            engine.seal(head.key, request.parameters(), request.payload(), draft.buffer())?;
        }
        Operation::OpenAes256Gcm => {
            engine.open(head.key, request.parameters(), request.payload(), draft.buffer())?;
        }
    }
    Ok(draft.finish().expect("the operation's answers are within the limits"))
}

/// A device in software: AES-256-GCM of the cipher crate, and the operating system's randomness.
pub struct SoftwareEngine {
    keys: BTreeMap<KeyHandle, Held>,
    nonces: NonceSource,
    boot: u64,
}

/// A key ready for use.
struct Held {
    name: String,
    purpose: Purpose,
    aead: Aead,
}

impl SoftwareEngine {
    /// A device that holds these keys.
    ///
    /// # Errors
    /// When a name cannot be one, two keys have one, there are too many, or there is no randomness.
    pub fn new(keys: Vec<NamedKey>) -> Result<SoftwareEngine, Error> {
        if keys.len() > KEYS_MAX {
            return Err(Error::KeyCount { found: keys.len() });
        }
        let mut held: BTreeMap<KeyHandle, Held> = BTreeMap::new();
        for NamedKey { name, purpose, key } in keys {
            if name.is_empty() || name.len() > KEY_NAME_BYTES_MAX as usize {
                return Err(Error::KeyName { found_bytes: name.len() });
            }
            let handle = KeyHandle::of(name.as_bytes());
            if held.contains_key(&handle) {
                return Err(Error::KeyTwice { name });
            }
            held.insert(handle, Held { name, purpose, aead: Aead::new(Suite::Aes256Gcm, key.expose()) });
        }
        let mut boot = [0; 8];
        OsRandomness.fill(&mut boot).map_err(Error::Randomness)?;
        let nonces = NonceSource::new(OsRandomness).map_err(Error::Randomness)?;
        Ok(SoftwareEngine { keys: held, nonces, boot: u64::from_le_bytes(boot) })
    }
}

/// The key of this handle, if that is what it is for.
fn key_for(purpose: Purpose, handle: KeyHandle, keys: &BTreeMap<KeyHandle, Held>) -> Result<&Aead, Status> {
    let held = keys.get(&handle).ok_or(Status::UnknownKey)?;
    if held.purpose == purpose { Ok(&held.aead) } else { Err(Status::WrongPurpose) }
}

impl Engine for SoftwareEngine {
    fn info(&self) -> DeviceInfo {
        DeviceInfo {
            payload_bytes_max: PAYLOAD_BYTES_MAX,
            in_flight_max: IN_FLIGHT_MAX as u16,
            boot: self.boot,
            name: "selvedge software device".to_owned(),
        }
    }

    fn find_key(&self, name: &[u8]) -> Option<KeyHandle> {
        let handle = KeyHandle::of(name);
        self.keys.get(&handle).filter(|held| held.name.as_bytes() == name).map(|_| handle)
    }

    fn random(&mut self, bytes: &mut [u8]) -> Result<(), Status> {
        OsRandomness.fill(bytes).map_err(|_| Status::DeviceFault)
    }

    fn seal(
        &mut self,
        key: KeyHandle,
        associated_data: &[u8],
        plaintext: &[u8],
        sealed: &mut Vec<u8>,
    ) -> Result<(), Status> {
        let aead = key_for(Purpose::Seal, key, &self.keys)?;
        let nonce = self.nonces.draw().map_err(|_| Status::DeviceFault)?;
        sealed.extend_from_slice(&nonce);
        let from = sealed.len();
        sealed.extend_from_slice(plaintext);
        aead.seal_tail(&nonce, associated_data, sealed, from);
        Ok(())
    }

    fn open(
        &mut self,
        key: KeyHandle,
        associated_data: &[u8],
        sealed: &[u8],
        plaintext: &mut Vec<u8>,
    ) -> Result<(), Status> {
        let aead = key_for(Purpose::Open, key, &self.keys)?;
        let (nonce, sealed) = sealed.split_at_checked(NONCE_BYTES as usize).ok_or(Status::Rejected)?;
        let length = sealed.len().checked_sub(TAG_BYTES as usize).ok_or(Status::Rejected)?;
        let (ciphertext, tag) = sealed.split_at(length);
        let from = plaintext.len();
        plaintext.extend_from_slice(ciphertext);
        let opened = aead.open(nonce, associated_data, &mut plaintext[from..], tag);
        opened.map_err(|_| {
            plaintext.truncate(from); // what is cut off was zeroed by `Aead::open`
            Status::Rejected
        })
    }
}

/// What an emulated device is told at its start.
pub struct Config {
    /// Where the broker connects.
    pub endpoint: Endpoint,
    /// The keys.
    pub keys: Vec<NamedKey>,
    /// Called once, when the broker can connect.
    pub ready: Box<dyn FnOnce() + Send>,
    /// The device ends when this does.
    pub stop: Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// What an emulated device did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Times that it was opened.
    pub links: u64,
    /// Requests that it answered.
    pub requests: u64,
    /// Times that what it got was damaged; it hangs up then.
    pub corruptions: u64,
}

/// Is a device in software until `stop`. One host has it open at a time; another waits.
///
/// # Errors
/// When the endpoint or the keys cannot be used, or there is no randomness.
pub async fn serve(config: Config) -> Result<Served, Error> {
    let Config { endpoint, keys, ready, stop } = config;
    let mut engine = SoftwareEngine::new(keys)?;
    let listener = Listener::open(endpoint)?;
    ready();
    let mut served = Served::default();
    tokio::select! {
        () = stop => {}
        () = serve_links(&listener, &mut engine, &mut served) => {}
    }
    Ok(served)
}

async fn serve_links(listener: &Listener, engine: &mut SoftwareEngine, served: &mut Served) {
    loop {
        match listener.accept().await {
            Ok(stream) => {
                served.links += 1;
                serve_link(stream, engine, served).await;
            }
            Err(_) => tokio::time::sleep(crate::limits::ACCEPT_PAUSE).await,
        }
    }
}

/// Answers until the host hangs up or what it sends is damaged.
async fn serve_link(mut stream: UnixStream, engine: &mut impl Engine, served: &mut Served) {
    let (reader, mut writer) = stream.split();
    let mut requests = Incoming::new(reader, Framing::Checked);
    loop {
        let first = match requests.next().await {
            Ok(request) => Ok(request),
            Err(End::Broken(broken)) => Err(broken),
            Err(End::HungUp | End::Io(_)) => return,
        };
        // All that has come is answered with one write.
        let mut answers = Vec::new();
        let mut next = first.map(Some);
        while let Ok(Some(request)) = &next {
            if !request.operation().is_ok_and(Operation::is_brokers) {
                answers.push(execute(engine, request));
                served.requests += 1;
            }
            next = if answers.len() < IN_FLIGHT_MAX { requests.buffered() } else { Ok(None) };
        }
        let damaged = next.is_err();
        if damaged {
            served.corruptions += 1;
            answers.push(Pdu::empty(
                Head::request(Operation::Info, 0, KeyHandle::NONE).answer(Status::WireCorrupt),
            ));
        }
        if write(&mut writer, &answers, Framing::Checked).await.is_err() || damaged {
            return;
        }
    }
}
