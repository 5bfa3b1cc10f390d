//! The software engine: which function does which operation, under which key.
//!
//! Invariant: a deployment's key seals or it opens. An application that can have receipts opened cannot forge one, and one
//! that can have batches sealed cannot read them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, OnceLock, RwLock, RwLockReadGuard};

use cipher::{Key, NonceSource, OsRandomness, Randomness};

use super::aead::{self, Ciphers, Form};
use super::attest::Attester;
use super::block::{self, Direction, Run};
use super::context::{Context, Contexts};
use super::digest::{self, MacRun, hkdf};
use super::keys::{Algorithm, Asker, Grant, Grantee, Keys, NoncePolicy, Origin, Template, Usages};
use super::material::{Material, Secret};
use super::store::{Opened, Store};
use super::{Engine, Host, signature, wrap};
use crate::device::DeviceInfo;
use crate::error::Error;
use crate::limits::{
    IN_FLIGHT_MAX, IN_FLIGHT_PER_LANE, KEY_NAME_BYTES_MAX, KEYS_MAX, NONCE_BYTES, PAYLOAD_BYTES_MAX,
};
use crate::wire::{Connection, Draft, KeyHandle, Operation, Pdu, Status};

/// What a deployment's key is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// It seals and opens nothing.
    Seal,
    /// It opens and seals nothing.
    Open,
}

/// A key that a device is given at its start. Everyone may use it.
pub struct NamedKey {
    /// What applications find it by, such as `batch/7`.
    pub name: String,
    /// What it is for.
    pub purpose: Purpose,
    /// The key, of AES-256.
    pub key: Key<32>,
}

/// A device in software. A clone is another lane of the same device: it computes at the same time, with the same keys.
#[derive(Clone)]
pub struct SoftwareEngine {
    held: Arc<Held>,
}

/// What all lanes have. Each lock is held for as long as something is looked up or put in, and never while it is computed;
/// `store` alone is held while a key is born or dies, disk included. Who needs several takes them in this order.
struct Held {
    store: Mutex<Option<Store>>,
    askers: RwLock<BTreeMap<Connection, Arc<Asker>>>,
    contexts: Mutex<BTreeMap<Connection, Arc<Mutex<Contexts>>>>,
    keys: RwLock<Keys>,
    /// For deployments' keys.
    nonces: Mutex<NonceSource>,
    attester: RwLock<Attester>,
    /// What the store's key comes from; empty without a store.
    source: OnceLock<String>,
    /// How many clones compute.
    lanes: AtomicU8,
}

const UNPOISONED: &str = "nothing panics while it holds this lock";

impl SoftwareEngine {
    /// A device that holds these keys.
    ///
    /// # Errors
    /// When a name cannot be one, two keys have one, there are too many, or there is no randomness.
    pub fn new(keys: Vec<NamedKey>) -> Result<SoftwareEngine, Error> {
        if keys.len() > KEYS_MAX {
            return Err(Error::KeyCount { found: keys.len() });
        }
        let mut held = Keys::default();
        for NamedKey { name, purpose, key } in keys {
            if name.is_empty() || name.len() > KEY_NAME_BYTES_MAX as usize {
                return Err(Error::KeyName { found_bytes: name.len() });
            }
            let usages = match purpose {
                Purpose::Seal => Usages::SEAL,
                Purpose::Open => Usages::OPEN,
            };
            let template = Template {
                is_persistent: true,
                name: name.as_bytes().to_vec(),
                access: vec![Grant { grantee: Grantee::Everyone, usages }],
                ..Template::new(Algorithm::Aes256, usages)
            };
            let secret = Secret::new(key.expose().to_vec());
            let material = Material::Symmetric { secret, ciphers: Box::default() };
            if !held.provision(template, NoncePolicy::Prefix, material) {
                return Err(Error::KeyTwice { name });
            }
        }
        let no_randomness = |_| Error::Randomness(std::io::ErrorKind::Other.into());
        let held = Held {
            store: Mutex::new(None),
            askers: RwLock::default(),
            contexts: Mutex::default(),
            keys: RwLock::new(held),
            nonces: Mutex::new(NonceSource::new(OsRandomness).map_err(Error::Randomness)?),
            attester: RwLock::new(Attester::new().map_err(no_randomness)?),
            source: OnceLock::new(),
            lanes: AtomicU8::new(1),
        };
        Ok(SoftwareEngine { held: Arc::new(held) })
    }

    /// A device that holds these keys, and those of a store.
    ///
    /// # Errors
    /// As [`new`](Self::new) and [`with_store`](Self::with_store).
    pub fn with(keys: Vec<NamedKey>, store: Option<Opened>) -> Result<SoftwareEngine, Error> {
        let engine = SoftwareEngine::new(keys)?;
        match store {
            Some(opened) => engine.with_store(opened),
            None => Ok(engine),
        }
    }

    /// The same device, with the keys of a store, where it keeps persistent ones from now on. Without one, they end with
    /// the device.
    ///
    /// # Errors
    /// When there are too many keys, or the store has one that was given already.
    ///
    /// # Panics
    /// When it has a store.
    pub fn with_store(self, opened: Opened) -> Result<SoftwareEngine, Error> {
        let mut store = self.held.store.lock().expect(UNPOISONED);
        let mut keys = self.held.keys.write().expect(UNPOISONED);
        let found = keys.len() + opened.keys.len();
        if found > KEYS_MAX {
            return Err(Error::KeyCount { found });
        }
        for (handle, attributes, material) in opened.keys {
            let name = attributes.template.name.clone();
            if !keys.adopt(handle, attributes, material) {
                return Err(Error::KeyTwice { name: String::from_utf8_lossy(&name).into_owned() });
            }
        }
        drop(keys);
        let source = self.held.source.set(opened.store.source().to_owned());
        assert!(source.is_ok(), "a device has one store");
        *store = Some(opened.store);
        drop(store);
        Ok(self)
    }

    /// The same device, which says that so many of its clones compute.
    pub fn with_lanes(self, lanes: u8) -> SoftwareEngine {
        self.held.lanes.store(lanes.max(1), Ordering::Relaxed);
        self
    }

    /// Gives the device a key of a deployment's that is for any use, such as one that several devices wrap under. Who may
    /// use it is its access list's to say; nobody owns it.
    ///
    /// # Errors
    /// [`Status::WrongParameters`] when there can be no such key, [`Status::NameTaken`] or [`Status::DeviceFull`].
    pub fn provide(&mut self, template: Template, secret: &[u8]) -> Result<KeyHandle, Status> {
        let material = Material::import(template.algorithm, Secret::new(secret.to_vec()))?;
        let handle = KeyHandle::of(&template.name);
        let policy = if template.is_caller_nonce { NoncePolicy::Caller } else { NoncePolicy::Device };
        let is_length =
            !template.algorithm.is_open_length() || usize::from(template.secret_bytes) == secret.len();
        if template.name.is_empty() || !is_length || !template.is_sound(Origin::Provisioned, false) {
            return Err(Status::WrongParameters);
        }
        let mut keys = self.held.keys.write().expect(UNPOISONED);
        if keys.len() >= KEYS_MAX {
            return Err(Status::DeviceFull);
        }
        if keys.provision(template, policy, material) { Ok(handle) } else { Err(Status::NameTaken) }
    }

    fn keys(&self) -> RwLockReadGuard<'_, Keys> {
        self.held.keys.read().expect(UNPOISONED)
    }

    /// Keeps a key of the asker's: first in the store, if it is for that.
    fn create(
        &self,
        turn: &Turn<'_>,
        template: Template,
        origin: Origin,
        material: Material,
    ) -> Result<KeyHandle, Status> {
        let mut store = self.held.store.lock().expect(UNPOISONED);
        let is_persistent = template.is_persistent;
        let (handle, key) = self.keys().bear(&turn.asker, template, origin, material)?;
        match &mut *store {
            Some(store) if is_persistent => store.keep(handle, &key)?,
            _ => {}
        }
        // A key that would die with its connection is not made once that has gone.
        let askers = self.held.askers.read().expect(UNPOISONED);
        let is_here = askers.get(&turn.asker.connection).is_some_and(|here| Arc::ptr_eq(here, &turn.asker));
        if !is_here && !is_persistent {
            return Err(Status::DeviceFault);
        }
        self.held.keys.write().expect(UNPOISONED).insert(handle, key);
        Ok(handle)
    }

    /// Forgets a key, and first in the store.
    fn destroy(&self, turn: &Turn<'_>) -> Result<(), Status> {
        let mut store = self.held.store.lock().expect(UNPOISONED);
        let key = self.keys().own(&turn.asker, turn.key)?;
        match &mut *store {
            Some(store) if key.attributes.template.is_persistent => store.forget(turn.key)?,
            _ => {}
        }
        self.held.keys.write().expect(UNPOISONED).remove(turn.key);
        let contexts: Vec<_> = self.held.contexts.lock().expect(UNPOISONED).values().cloned().collect();
        for contexts in contexts {
            contexts.lock().expect(UNPOISONED).forget_key(turn.key);
        }
        Ok(())
    }

    fn answer(&self, request: &Pdu) -> Result<Pdu, Status> {
        let head = request.head();
        let operation = request.operation().map_err(|_| Status::UnknownOperation)?;
        if head.status != 0 || !operation.takes(request) {
            return Err(Status::WrongParameters);
        }
        let draft = Draft::new(head.answer(Status::Done), &[], operation.answer_bytes_max(request));
        let mut draft = draft.expect("no parameters are within their limit");
        let known = self.held.askers.read().expect(UNPOISONED).get(&head.connection).cloned();
        let asker = known.unwrap_or_else(|| Arc::new(Asker::stranger(head.connection)));
        let turn =
            Turn { asker, key: head.key, parameters: request.parameters(), payload: request.payload() };
        if let Some(key) = self.carry_out(operation, &turn, draft.buffer())? {
            draft.head().key = key;
        }
        Ok(draft.finish().expect("the operation's answers are within the limits"))
    }

    /// Appends what the operation answers; a key if that is one.
    fn carry_out(
        &self,
        operation: Operation,
        turn: &Turn<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Option<KeyHandle>, Status> {
        match operation {
            Operation::FindKey => {
                self.keys().find(&turn.asker, turn.payload).ok_or(Status::UnknownKey).map(Some)
            }
            Operation::Derive => self.derive(turn).map(Some),
            Operation::Agree => self.agree(turn, out),
            Operation::KeyGenerate => self.generate(turn).map(Some),
            Operation::KeyImport => self.import(turn).map(Some),
            Operation::KeyUnwrap => self.unwrap_key(turn).map(Some),
            Operation::Info => {
                out.extend(self.info().to_bytes());
                Ok(None)
            }
            Operation::Random => random(turn, out).map(|()| None),
            Operation::Echo => {
                out.extend_from_slice(turn.payload);
                Ok(None)
            }
            Operation::SealAes256Gcm => self.seal_prefixed(turn, out).map(|()| None),
            Operation::OpenAes256Gcm => self.open_prefixed(turn, out).map(|()| None),
            Operation::Encrypt => self.cipher(turn, Direction::Encrypt, out).map(|()| None),
            Operation::Decrypt => self.cipher(turn, Direction::Decrypt, out).map(|()| None),
            Operation::Seal => self.seal(turn, out).map(|()| None),
            Operation::Open => self.open(turn, out).map(|()| None),
            Operation::Hash | Operation::Mac | Operation::MacVerify => {
                let mut context = self.context(operation, turn, turn.parameters)?;
                context.update(turn.payload, out)?;
                context.finish(&[], out).map(|()| None)
            }
            Operation::Sign => {
                let key = self.keys().get(&turn.asker, turn.key, Usages::SIGN)?;
                signature::sign(&key.material, turn.parameters, turn.payload, out).map(|()| None)
            }
            Operation::Verify => {
                let key = self.keys().get(&turn.asker, turn.key, Usages::VERIFY)?;
                signature::verify(&key, turn.parameters, turn.payload).map(|()| None)
            }
            Operation::RsaDecrypt => self.rsa_decrypt(turn, out).map(|()| None),
            Operation::Begin | Operation::Update | Operation::Finish | Operation::Cancel => {
                self.in_parts(operation, turn, out).map(|()| None)
            }
            Operation::KeyWrap
            | Operation::KeyDestroy
            | Operation::KeyList
            | Operation::KeyAttributes
            | Operation::KeyPublic
            | Operation::KeyAttest => self.manage(operation, turn, out).map(|()| None),
            Operation::Introduce | Operation::Leave => unreachable!("these have no answer"),
            Operation::Status => Err(Status::UnknownOperation), // the broker's own
        }
    }

    fn seal_prefixed(&self, turn: &Turn<'_>, out: &mut Vec<u8>) -> Result<(), Status> {
        let key = self.keys().get(&turn.asker, turn.key, Usages::SEAL)?;
        let (secret, ciphers) = of_policy(NoncePolicy::Prefix, &key)?;
        let drawn = self.held.nonces.lock().expect(UNPOISONED).draw();
        let nonce = drawn.map_err(|_| Status::DeviceFault)?;
        out.extend_from_slice(&nonce);
        aead::seal_with_nonce(secret, ciphers, Form::gcm(&nonce, turn.parameters), turn.payload, out)
    }

    fn open_prefixed(&self, turn: &Turn<'_>, out: &mut Vec<u8>) -> Result<(), Status> {
        const NONCE: usize = NONCE_BYTES as usize;
        let key = self.keys().get(&turn.asker, turn.key, Usages::OPEN)?;
        let (secret, ciphers) = of_policy(NoncePolicy::Prefix, &key)?;
        let (nonce, sealed) = turn.payload.split_first_chunk::<NONCE>().ok_or(Status::Rejected)?;
        aead::open_with_nonce(secret, ciphers, Form::gcm(nonce, turn.parameters), sealed, out)
    }

    fn cipher(&self, turn: &Turn<'_>, direction: Direction, out: &mut Vec<u8>) -> Result<(), Status> {
        let usage = if direction == Direction::Encrypt { Usages::ENCRYPT } else { Usages::DECRYPT };
        let key = self.keys().get(&turn.asker, turn.key, usage)?;
        block::run(key.material.symmetric()?, direction, turn.parameters, turn.payload, out)
    }

    fn seal(&self, turn: &Turn<'_>, out: &mut Vec<u8>) -> Result<(), Status> {
        let key = self.keys().get(&turn.asker, turn.key, Usages::SEAL)?;
        let form = Form::parse(turn.parameters, key.attributes.template.algorithm)?;
        let (secret, ciphers) = key.material.ciphers()?;
        match key.attributes.policy {
            NoncePolicy::Device if form.is_device_nonce() => {
                aead::seal(secret, ciphers, form, turn.payload, out)
            }
            NoncePolicy::Caller if !form.is_device_nonce() => {
                aead::seal_with_nonce(secret, ciphers, form, turn.payload, out)
            }
            NoncePolicy::Prefix => Err(Status::WrongPurpose),
            _ => Err(Status::WrongParameters),
        }
    }

    fn open(&self, turn: &Turn<'_>, out: &mut Vec<u8>) -> Result<(), Status> {
        let key = self.keys().get(&turn.asker, turn.key, Usages::OPEN)?;
        let form = Form::parse(turn.parameters, key.attributes.template.algorithm)?;
        let (secret, ciphers) = key.material.ciphers()?;
        match key.attributes.policy {
            NoncePolicy::Device if form.is_device_nonce() => {
                aead::open(secret, ciphers, form, turn.payload, out)
            }
            NoncePolicy::Caller if !form.is_device_nonce() => {
                aead::open_with_nonce(secret, ciphers, form, turn.payload, out)
            }
            NoncePolicy::Prefix => Err(Status::WrongPurpose),
            _ => Err(Status::WrongParameters),
        }
    }

    fn rsa_decrypt(&self, turn: &Turn<'_>, out: &mut Vec<u8>) -> Result<(), Status> {
        // Not in the `match`: the lock would be held while it is computed, and the loop waits for it when somebody leaves.
        let key = self.keys().get(&turn.asker, turn.key, Usages::DECRYPT)?;
        match &key.material {
            Material::Rsa(key) => key.decrypt(turn.parameters, turn.payload, out),
            _ => Err(Status::WrongPurpose),
        }
    }

    fn derive(&self, turn: &Turn<'_>) -> Result<KeyHandle, Status> {
        const WRONG: Status = Status::WrongParameters;
        let base = self.keys().get(&turn.asker, turn.key, Usages::DERIVE)?;
        let secret = base.material.symmetric()?;
        let (&[hash, 0, 0, 0], rest) = turn.parameters.split_first_chunk::<4>().ok_or(WRONG)? else {
            return Err(WRONG);
        };
        let (template, salt) = Template::parse(rest)?;
        self.keys().check_birth(&turn.asker, &template, Origin::Derived, false)?;
        let mut derived = Secret::new(vec![0; template.derived_bytes().ok_or(WRONG)?]);
        hkdf(digest::Hash::from_number(hash)?, salt, secret, &[turn.payload], &mut derived)?;
        let material = Material::import(template.algorithm, derived)?;
        self.create(turn, template, Origin::Derived, material)
    }

    fn agree(&self, turn: &Turn<'_>, out: &mut Vec<u8>) -> Result<Option<KeyHandle>, Status> {
        let usage = if turn.parameters.is_empty() { Usages::AGREE } else { Usages::DERIVE };
        let key = self.keys().get(&turn.asker, turn.key, usage)?;
        let mut shared = Secret::default();
        let keep = |secret: &[u8]| {
            shared.extend_from_slice(secret);
            Ok(())
        };
        match &key.material {
            Material::P256(key) => key.agree(turn.payload, keep)?,
            Material::X25519(key) => key.agree(turn.payload, keep)?,
            _ => return Err(Status::WrongPurpose),
        }
        if turn.parameters.is_empty() {
            out.extend_from_slice(&shared);
            return Ok(None);
        }
        let template = whole_template(turn.parameters)?;
        // What is shared is not yet a key of anything (SP 800-56C).
        if template.algorithm != Algorithm::Hkdf || usize::from(template.secret_bytes) != shared.len() {
            return Err(Status::WrongParameters);
        }
        let material = Material::import(template.algorithm, shared)?;
        self.create(turn, template, Origin::Derived, material).map(Some)
    }

    fn generate(&self, turn: &Turn<'_>) -> Result<KeyHandle, Status> {
        let template = whole_template(turn.parameters)?;
        self.keys().check_birth(&turn.asker, &template, Origin::Generated, false)?;
        let material = Material::generate(&template)?;
        self.create(turn, template, Origin::Generated, material)
    }

    fn import(&self, turn: &Turn<'_>) -> Result<KeyHandle, Status> {
        const WRONG: Status = Status::WrongParameters;
        let (&[form, 0, 0, 0], rest) = turn.parameters.split_first_chunk::<4>().ok_or(WRONG)? else {
            return Err(WRONG);
        };
        let template = whole_template(rest)?;
        match form {
            0 => self.keep(turn, template, Secret::new(turn.payload.to_vec())),
            1 => {
                let material = Material::import_public(template.algorithm, turn.payload)?;
                self.create(turn, template, Origin::Imported, material)
            }
            _ => Err(WRONG),
        }
    }

    fn unwrap_key(&self, turn: &Turn<'_>) -> Result<KeyHandle, Status> {
        let wrapping = self.keys().get(&turn.asker, turn.key, Usages::UNWRAP)?;
        let template = whole_template(turn.parameters)?;
        let secret = wrap::unwrap(wrapping.material.symmetric()?, turn.payload)?;
        self.keep(turn, template, secret)
    }

    /// Keeps a secret that came from outside.
    fn keep(&self, turn: &Turn<'_>, template: Template, secret: Secret) -> Result<KeyHandle, Status> {
        self.keys().check_birth(&turn.asker, &template, Origin::Imported, false)?;
        if template.algorithm.is_open_length() && usize::from(template.secret_bytes) != secret.len() {
            return Err(Status::WrongParameters);
        }
        let material = Material::import(template.algorithm, secret)?;
        self.create(turn, template, Origin::Imported, material)
    }

    fn manage(&self, operation: Operation, turn: &Turn<'_>, out: &mut Vec<u8>) -> Result<(), Status> {
        match operation {
            Operation::KeyWrap => {
                let wrapping = self.keys().get(&turn.asker, turn.key, Usages::WRAP)?;
                let wrapped = self.keys().get(&turn.asker, KeyHandle(turn.number()?), Usages::WRAPPABLE)?;
                wrap::wrap(wrapping.material.symmetric()?, wrapped.material.secret()?, out)
            }
            Operation::KeyDestroy => self.destroy(turn),
            Operation::KeyList => {
                for handle in self.keys().list(&turn.asker, KeyHandle(turn.number()?)) {
                    out.extend_from_slice(&handle.0.to_le_bytes());
                }
                Ok(())
            }
            Operation::KeyAttributes => {
                out.extend(self.keys().see(&turn.asker, turn.key)?.attributes.to_bytes());
                Ok(())
            }
            Operation::KeyPublic => {
                out.extend_from_slice(self.keys().see(&turn.asker, turn.key)?.material.public()?);
                Ok(())
            }
            Operation::KeyAttest => {
                let key = self.keys().see(&turn.asker, turn.key)?;
                self.held.attester.read().expect(UNPOISONED).attest(turn.key, &key, turn.parameters, out);
                Ok(())
            }
            _ => Err(Status::UnknownOperation),
        }
    }

    fn in_parts(&self, operation: Operation, turn: &Turn<'_>, out: &mut Vec<u8>) -> Result<(), Status> {
        if operation == Operation::Begin {
            let begun = self.begin(turn)?;
            out.extend_from_slice(&begun.to_le_bytes());
            return Ok(());
        }
        let of_all = self.held.contexts.lock().expect(UNPOISONED);
        let contexts = of_all.get(&turn.asker.connection).cloned().ok_or(Status::UnknownContext)?;
        drop(of_all);
        let number = turn.number()?;
        let mut contexts = contexts.lock().expect(UNPOISONED);
        match operation {
            Operation::Update => contexts.get(number)?.update(turn.payload, out),
            Operation::Finish => contexts.end(number)?.finish(turn.payload, out),
            _ => contexts.end(number).map(|_| ()),
        }
    }

    fn begin(&self, turn: &Turn<'_>) -> Result<u64, Status> {
        let (number, parameters) = turn.parameters.split_first_chunk::<2>().ok_or(Status::WrongParameters)?;
        let operation = Operation::from_number(u16::from_le_bytes(*number)).ok_or(Status::WrongParameters)?;
        // Only a connection that the broker speaks for will be said to have left.
        turn.asker.user.ok_or(Status::DeviceFault)?;
        let context = self.context(operation, turn, parameters)?;
        let askers = self.held.askers.read().expect(UNPOISONED);
        let is_here = askers.get(&turn.asker.connection).is_some_and(|here| Arc::ptr_eq(here, &turn.asker));
        let mut of_all = self.held.contexts.lock().expect(UNPOISONED);
        let contexts = is_here.then(|| of_all.entry(turn.asker.connection).or_default());
        let contexts = contexts.ok_or(Status::DeviceFault)?;
        if turn.key != KeyHandle::NONE {
            self.keys().see(&turn.asker, turn.key)?; // it may have gone meanwhile
        }
        contexts.lock().expect(UNPOISONED).begin(turn.key, context)
    }

    /// Begins what can be done in parts.
    fn context(&self, operation: Operation, turn: &Turn<'_>, parameters: &[u8]) -> Result<Context, Status> {
        let mac = |usage, number: &u8| {
            let key = self.keys().get(&turn.asker, turn.key, usage)?;
            MacRun::begin(key.attributes.template.algorithm, key.material.symmetric()?, *number)
        };
        let run = |usage, direction| {
            let key = self.keys().get(&turn.asker, turn.key, usage)?;
            Run::begin(key.material.symmetric()?, direction, parameters).map(Context::Cipher)
        };
        match (operation, parameters) {
            (Operation::Hash, _) if turn.key == KeyHandle::NONE => {
                let hash = digest::parse(parameters)?;
                Ok(Context::Hash(aws_lc_rs::digest::Context::new(hash.algorithm())))
            }
            (Operation::Mac, [number]) => mac(Usages::MAC, number).map(Context::Mac),
            (Operation::MacVerify, [number, expected @ ..]) => {
                Ok(Context::MacVerify(mac(Usages::MAC_VERIFY, number)?, expected.to_vec()))
            }
            (Operation::Encrypt, _) => run(Usages::ENCRYPT, Direction::Encrypt),
            (Operation::Decrypt, _) => run(Usages::DECRYPT, Direction::Decrypt),
            (Operation::Seal | Operation::Open | Operation::SealAes256Gcm | Operation::OpenAes256Gcm, _) => {
                Err(Status::WholeOnly)
            }
            _ => Err(Status::WrongParameters),
        }
    }
}

/// A request, looked at.
struct Turn<'a> {
    asker: Arc<Asker>,
    key: KeyHandle,
    parameters: &'a [u8],
    payload: &'a [u8],
}

impl Turn<'_> {
    /// The eight bytes of parameters, as a number.
    fn number(&self) -> Result<u64, Status> {
        self.parameters.try_into().map(u64::from_le_bytes).map_err(|_| Status::WrongParameters)
    }
}

/// A template with nothing behind it.
fn whole_template(bytes: &[u8]) -> Result<Template, Status> {
    let (template, rest) = Template::parse(bytes)?;
    if rest.is_empty() { Ok(template) } else { Err(Status::WrongParameters) }
}

/// The secret and the ciphers of a key whose nonces are made so.
fn of_policy(policy: NoncePolicy, key: &super::keys::Key) -> Result<(&[u8], &Ciphers), Status> {
    if key.attributes.policy == policy { key.material.ciphers() } else { Err(Status::WrongPurpose) }
}

fn random(turn: &Turn<'_>, out: &mut Vec<u8>) -> Result<(), Status> {
    let count = turn.parameters.try_into().map(u32::from_le_bytes).map_err(|_| Status::WrongParameters)?;
    let from = out.len();
    out.resize(from + count as usize, 0);
    OsRandomness.fill(&mut out[from..]).map_err(|_| Status::DeviceFault)
}

impl Engine for SoftwareEngine {
    fn info(&self) -> DeviceInfo {
        let lanes = self.held.lanes.load(Ordering::Relaxed);
        // What waits at a lane waits behind others, whosever they are: the broker's queue is the fairer one.
        let in_flight_max = if lanes == 1 { IN_FLIGHT_MAX } else { usize::from(lanes) * IN_FLIGHT_PER_LANE };
        let in_flight_max = in_flight_max.min(IN_FLIGHT_MAX) as u16;
        DeviceInfo {
            payload_bytes_max: PAYLOAD_BYTES_MAX,
            in_flight_max,
            lanes,
            boot: self.held.attester.read().expect(UNPOISONED).boot(),
            name: "selvedge software device".to_owned(),
            store: self.held.source.get().cloned().unwrap_or_default(),
        }
    }

    fn opened(&mut self) {
        self.held.askers.write().expect(UNPOISONED).clear();
        self.held.contexts.lock().expect(UNPOISONED).clear();
        self.held.keys.write().expect(UNPOISONED).forget_sessions(None);
    }

    fn restarted(&mut self) {
        self.opened();
        // Without randomness there is no other: it is still the one that it was.
        if let Ok(attester) = Attester::new() {
            *self.held.attester.write().expect(UNPOISONED) = attester;
        }
    }

    fn execute(&mut self, request: &Pdu) -> Option<Pdu> {
        if self.hears(request) {
            return None;
        }
        Some(self.answer(request).unwrap_or_else(|status| Pdu::empty(request.head().answer(status))))
    }
}

impl Host for SoftwareEngine {
    fn introduce(&mut self, connection: Connection, asker: Option<Asker>) {
        let asker = asker.map(|asker| (connection, Arc::new(asker)));
        self.held.askers.write().expect(UNPOISONED).extend(asker);
    }

    fn leave(&mut self, connection: Connection) {
        // Who is not known any more makes nothing that would stay behind.
        if self.held.askers.write().expect(UNPOISONED).remove(&connection).is_some() {
            self.held.contexts.lock().expect(UNPOISONED).remove(&connection);
            self.held.keys.write().expect(UNPOISONED).forget_sessions(Some(connection));
        }
    }
}

#[cfg(test)]
mod secrets;
