//! The module between `C_Initialize` and `C_Finalize`: its client, its sessions, and the objects it has told of.
//!
//! Invariant: a child after `fork` is not initialised, and looks at nothing that was its parent's.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use broker::Error;
use broker::client::blocking::{Client, Settings};
use broker::client::call::{Call, KeyAttributes, KeyDestroy, KeyList, KeyPublic, Secret};
use broker::client::{foreign, generation, place};
use broker::template::{Algorithm, Attributes, Usages};
use broker::wire::{KeyHandle, Status};
use cryptoki_sys::*;

use crate::abi::Done;
use crate::session::Session;

/// How long a busy broker is asked again: PKCS#11 has no word for it that callers know.
const BUSY_MAX: Duration = Duration::from_secs(10);
/// Sessions of one process.
const SESSIONS_MAX: usize = 1024;

static MODULE: AtomicPtr<Module> = AtomicPtr::new(std::ptr::null_mut());

/// What was initialised. It is never freed, since another thread may be in it; a finalised one is all but empty.
pub struct Module {
    generation: u64,
    state: Mutex<Option<State>>,
}

struct State {
    client: Arc<Client>,
    sessions: HashMap<CK_SESSION_HANDLE, Arc<Mutex<Session>>>,
    session_last: CK_SESSION_HANDLE,
    is_logged_in: bool,
    objects: HashMap<CK_OBJECT_HANDLE, Object>,
    by_object: HashMap<Object, CK_OBJECT_HANDLE>,
    object_last: CK_OBJECT_HANDLE,
    /// Of each key that is not the token's, the session that it dies with.
    owned: HashMap<KeyHandle, CK_SESSION_HANDLE>,
    known: HashMap<KeyHandle, Arc<Known>>,
}

/// What PKCS#11 calls an object: a key, or one half of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Object {
    /// The key.
    pub key: KeyHandle,
    /// Its half: `CKO_SECRET_KEY`, `CKO_PRIVATE_KEY` or `CKO_PUBLIC_KEY`.
    pub class: CK_OBJECT_CLASS,
}

/// What was fixed when a key was made.
pub struct Known {
    /// Its handle.
    pub key: KeyHandle,
    /// The device's word.
    pub attributes: Attributes,
    /// The public half, of what has one.
    pub public: Option<Vec<u8>>,
    /// The secret, where ECDH told it to the caller.
    pub told: Option<Secret>,
}

impl Known {
    /// The objects that the key is.
    pub fn classes(&self) -> &'static [CK_OBJECT_CLASS] {
        match (&self.public, self.attributes.template.usages) {
            (None, _) => &[CKO_SECRET_KEY],
            (Some(_), Usages::VERIFY) => &[CKO_PUBLIC_KEY],
            (Some(_), _) => &[CKO_PRIVATE_KEY, CKO_PUBLIC_KEY],
        }
    }
}

/// As `C_Initialize`.
///
/// # Errors
/// `CKR_CRYPTOKI_ALREADY_INITIALIZED`.
pub fn initialise() -> Done {
    let seen = MODULE.load(Ordering::Acquire);
    if is_current(seen) {
        return Err(CKR_CRYPTOKI_ALREADY_INITIALIZED);
    }
    let settings = Settings { busy_max: BUSY_MAX, ..Settings::default() };
    let state = State {
        client: Arc::new(Client::at(place(), settings)),
        sessions: HashMap::new(),
        session_last: 0,
        is_logged_in: false,
        objects: HashMap::new(),
        by_object: HashMap::new(),
        object_last: 0,
        owned: HashMap::new(),
        known: HashMap::new(),
    };
    let module = Box::into_raw(Box::new(Module { generation: generation(), state: Mutex::new(Some(state)) }));
    if MODULE.compare_exchange(seen, module, Ordering::AcqRel, Ordering::Acquire).is_ok() {
        return Ok(());
    }
    // SAFETY: nobody else was shown it.
    drop(unsafe { Box::from_raw(module) });
    Err(CKR_CRYPTOKI_ALREADY_INITIALIZED)
}

/// As `C_Finalize`.
///
/// # Errors
/// `CKR_CRYPTOKI_NOT_INITIALIZED`.
pub fn finalise() -> Done {
    let module = Module::get()?;
    let this = std::ptr::from_ref(module).cast_mut();
    let taken = MODULE.compare_exchange(this, std::ptr::null_mut(), Ordering::AcqRel, Ordering::Acquire);
    taken.map_err(|_| CKR_CRYPTOKI_NOT_INITIALIZED)?;
    drop(module.lock().take());
    Ok(())
}

fn is_current(module: *mut Module) -> bool {
    // SAFETY: null, or of `initialise`, which is never freed.
    unsafe { module.as_ref() }.is_some_and(|module| module.generation == generation())
}

impl Module {
    /// The module, if it is initialised in this process.
    ///
    /// # Errors
    /// `CKR_CRYPTOKI_NOT_INITIALIZED`.
    pub fn get() -> Done<&'static Module> {
        let module = MODULE.load(Ordering::Acquire);
        if !is_current(module) {
            return Err(CKR_CRYPTOKI_NOT_INITIALIZED);
        }
        // SAFETY: it is current, so it is not null; it is never freed.
        Ok(unsafe { &*module })
    }

    fn lock(&self) -> MutexGuard<'_, Option<State>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, work: impl FnOnce(&mut State) -> Done<T>) -> Done<T> {
        work(self.lock().as_mut().ok_or(CKR_CRYPTOKI_NOT_INITIALIZED)?)
    }

    /// Asks the broker.
    ///
    /// # Errors
    /// The status as a `CK_RV`.
    pub fn call<C: Call>(&self, call: &C) -> Done<C::Answer> {
        let client = self.with(|state| Ok(state.client.clone()))?;
        client.call(call).map_err(|error| rv(&error))
    }

    /// Opens a session.
    ///
    /// # Errors
    /// `CKR_SESSION_COUNT`.
    pub fn open(&self, flags: CK_FLAGS) -> Done<CK_SESSION_HANDLE> {
        self.with(|state| {
            if state.sessions.len() >= SESSIONS_MAX {
                return Err(CKR_SESSION_COUNT);
            }
            state.session_last += 1;
            state.sessions.insert(state.session_last, Arc::new(Mutex::new(Session::new(flags))));
            Ok(state.session_last)
        })
    }

    /// Notes that a key dies with a session.
    ///
    /// # Errors
    /// `CKR_CRYPTOKI_NOT_INITIALIZED`.
    pub fn own(&self, session: CK_SESSION_HANDLE, key: KeyHandle) -> Done {
        self.with(|state| {
            state.owned.insert(key, session);
            Ok(())
        })
    }

    /// Closes one, or all, and what dies with them.
    ///
    /// # Errors
    /// `CKR_SESSION_HANDLE_INVALID`.
    pub fn close(&self, session: Option<CK_SESSION_HANDLE>) -> Done {
        let (closed, dead) = self.with(|state| {
            let closed: Vec<_> = match session {
                Some(session) => {
                    vec![state.sessions.remove(&session).ok_or(CKR_SESSION_HANDLE_INVALID)?]
                }
                None => state.sessions.drain().map(|(_, session)| session).collect(),
            };
            state.is_logged_in &= !state.sessions.is_empty();
            let dies = |owner: &CK_SESSION_HANDLE| session.is_none_or(|session| session == *owner);
            let dead = state.owned.iter().filter(|(_, owner)| dies(owner)).map(|(key, _)| *key);
            Ok((closed, dead.collect::<Vec<_>>()))
        })?;
        // Outside the lock: what is under way is cancelled at the device.
        closed.iter().for_each(|session| lock(session).abandon(self));
        for key in dead {
            // It may be gone with its connection already.
            let _ = self.call(&KeyDestroy { key });
            self.forget(key)?;
        }
        Ok(())
    }

    /// The session of a handle.
    ///
    /// # Errors
    /// `CKR_SESSION_HANDLE_INVALID`.
    pub fn session(&self, session: CK_SESSION_HANDLE) -> Done<Arc<Mutex<Session>>> {
        self.with(|state| state.sessions.get(&session).cloned().ok_or(CKR_SESSION_HANDLE_INVALID))
    }

    /// How many sessions there are, and whether somebody logged in.
    ///
    /// # Errors
    /// `CKR_CRYPTOKI_NOT_INITIALIZED`.
    pub fn sessions(&self) -> Done<(usize, bool)> {
        self.with(|state| Ok((state.sessions.len(), state.is_logged_in)))
    }

    /// Notes that somebody logged in or out. It changes nothing: whose the keys are says the kernel.
    ///
    /// # Errors
    /// That it was so already.
    pub fn log(&self, is_in: bool) -> Done {
        self.with(|state| match (state.is_logged_in, is_in) {
            (true, true) => Err(CKR_USER_ALREADY_LOGGED_IN),
            (false, false) => Err(CKR_USER_NOT_LOGGED_IN),
            _ => {
                state.is_logged_in = is_in;
                Ok(())
            }
        })
    }

    /// The object of a handle.
    ///
    /// # Errors
    /// `CKR_OBJECT_HANDLE_INVALID`.
    pub fn object(&self, handle: CK_OBJECT_HANDLE) -> Done<Object> {
        self.with(|state| state.objects.get(&handle).copied().ok_or(CKR_OBJECT_HANDLE_INVALID))
    }

    /// The handle of an object, the same as long as the module is initialised and the key is there.
    ///
    /// # Errors
    /// `CKR_CRYPTOKI_NOT_INITIALIZED`.
    pub fn handle(&self, object: Object) -> Done<CK_OBJECT_HANDLE> {
        self.with(|state| {
            let State { objects, by_object, object_last, .. } = state;
            Ok(*by_object.entry(object).or_insert_with(|| {
                *object_last += 1;
                objects.insert(*object_last, object);
                *object_last
            }))
        })
    }

    /// What a key is. It is asked for once, since it never changes.
    ///
    /// # Errors
    /// The status as a `CK_RV`.
    pub fn known(&self, key: KeyHandle) -> Done<Arc<Known>> {
        if let Some(known) = self.with(|state| Ok(state.known.get(&key).cloned()))? {
            return Ok(known);
        }
        let attributes = self.call(&KeyAttributes { key })?;
        let has_public = !matches!(
            attributes.template.algorithm,
            Algorithm::Aes128
                | Algorithm::Aes192
                | Algorithm::Aes256
                | Algorithm::Ascon128
                | Algorithm::Hmac
                | Algorithm::Hkdf
        );
        let public = has_public.then(|| self.call(&KeyPublic { key })).transpose()?;
        let known = Arc::new(Known { key, attributes, public, told: None });
        self.with(|state| {
            state.known.insert(key, known.clone());
            Ok(())
        })?;
        Ok(known)
    }

    /// Notes the secret of a key that was just made of it.
    ///
    /// # Errors
    /// The status as a `CK_RV`.
    pub fn tell(&self, key: KeyHandle, secret: Secret) -> Done {
        let attributes = self.call(&KeyAttributes { key })?;
        let known = Known { key, attributes, public: None, told: Some(secret) };
        self.with(|state| {
            state.known.insert(key, Arc::new(known));
            Ok(())
        })
    }

    /// A key is no more.
    ///
    /// # Errors
    /// `CKR_CRYPTOKI_NOT_INITIALIZED`.
    pub fn forget(&self, key: KeyHandle) -> Done {
        self.with(|state| {
            state.known.remove(&key);
            state.owned.remove(&key);
            for class in [CKO_SECRET_KEY, CKO_PRIVATE_KEY, CKO_PUBLIC_KEY] {
                if let Some(handle) = state.by_object.remove(&Object { key, class }) {
                    state.objects.remove(&handle);
                }
            }
            Ok(())
        })
    }

    /// All keys that the user can see.
    ///
    /// # Errors
    /// The status as a `CK_RV`.
    pub fn keys(&self) -> Done<Vec<Arc<Known>>> {
        let mut known = Vec::new();
        let mut after = KeyHandle::NONE;
        loop {
            let handles = self.call(&KeyList { after })?;
            let Some(last) = handles.last() else { return Ok(known) };
            after = *last;
            for key in handles {
                match self.known(key) {
                    Ok(key) => known.push(key),
                    Err(CKR_KEY_HANDLE_INVALID) => {} // somebody destroyed it meanwhile
                    Err(rv) => return Err(rv),
                }
            }
        }
    }
}

/// The lock of a session.
pub fn lock(session: &Mutex<Session>) -> MutexGuard<'_, Session> {
    session.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What PKCS#11 calls it.
fn rv(error: &Error) -> CK_RV {
    match error {
        Error::Refused { status, .. } => foreign::ckr(*status).into(),
        Error::TooLong { .. } => foreign::ckr(Status::Oversize).into(),
        Error::Io { .. } => CKR_TOKEN_NOT_PRESENT,
        Error::Disconnected => foreign::ckr(Status::DeviceLost).into(),
        _ => CKR_DEVICE_ERROR,
    }
}
