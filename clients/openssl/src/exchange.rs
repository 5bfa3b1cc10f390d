//! ECDH under keys of the device, P-256 and X25519: the secret that a key shares with somebody's public key. The device
//! tells it for keys whose usages say so; what it keeps instead is a key, and never bytes.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use broker::client::call::Agree;
use broker::template::Algorithm as Kind;
use broker::wire::{KeyHandle, Status};

use crate::abi::{
    Algorithm, Dispatch, Done, END, Failed, Param, Provider, each, free, give, guard, make, out, provider,
    trust,
};
use crate::key::Key;

/// Length of what two keys share, on both curves.
const SHARED_BYTES: usize = 32;

#[derive(Clone)]
struct Exchange {
    provider: Arc<Provider>,
    key: Option<(KeyHandle, Kind)>,
    peer: Option<Vec<u8>>,
}

impl Exchange {
    fn set(&mut self, key: &[u8], param: &Param) -> Done {
        match key {
            b"kdf-type" if param.get_text().is_some_and(|kdf| !kdf.is_empty()) => {
                Err(self.provider.refuse(Status::UnknownOperation))
            }
            // P-256 has the cofactor 1, so that its mode changes nothing.
            _ => Ok(()),
        }
    }
}

unsafe extern "C" fn new(context: *const Provider) -> *mut Exchange {
    make(|| Ok(Exchange { provider: trust!(provider(context))?, key: None, peer: None }))
}

unsafe extern "C" fn delete(this: *mut Exchange) {
    trust!(free(this));
}

unsafe extern "C" fn copy(this: *mut Exchange) -> *mut Exchange {
    make(|| Ok(trust!(out(this))?.clone()))
}

unsafe extern "C" fn begin(this: *mut Exchange, key: *mut Key, params: *mut Param) -> c_int {
    guard(|| {
        let (this, key) = (trust!(out(this))?, trust!(out(key))?);
        let agrees = matches!(key.algorithm, Kind::P256 | Kind::X25519);
        if !agrees || key.handle == KeyHandle::NONE {
            return Err(this.provider.refuse(Status::WrongPurpose));
        }
        (this.key, this.peer) = (Some((key.handle, key.algorithm)), None);
        trust!(each(params, |key, param| this.set(key, param)))
    })
}

unsafe extern "C" fn set_peer(this: *mut Exchange, peer: *mut Key) -> c_int {
    guard(|| {
        let (this, peer) = (trust!(out(this))?, trust!(out(peer))?);
        let (_, algorithm) = this.key.ok_or(Failed)?;
        if peer.algorithm != algorithm {
            return Err(this.provider.refuse(Status::WrongParameters));
        }
        this.peer = Some(peer.point()?.to_vec());
        Ok(())
    })
}

unsafe extern "C" fn derive(this: *mut Exchange, start: *mut u8, length: *mut usize, room: usize) -> c_int {
    guard(|| {
        let this = trust!(out(this))?;
        let ((key, _), public) = (this.key.ok_or(Failed)?, this.peer.as_deref().ok_or(Failed)?);
        if start.is_null() {
            *trust!(out(length))? = SHARED_BYTES;
            return Ok(());
        }
        let shared = this.provider.call(&Agree { key, public })?;
        trust!(give(&shared, start, length, room))
    })
}

unsafe extern "C" fn set(this: *mut Exchange, params: *mut Param) -> c_int {
    guard(|| {
        let this = trust!(out(this))?;
        trust!(each(params, |key, param| this.set(key, param)))
    })
}

static SETTABLE: [Param; 3] = [Param::number(c"ecdh-cofactor-mode"), Param::text(c"kdf-type"), Param::END];

extern "C" fn settable(_this: *const Exchange, _context: *const Provider) -> *const Param {
    SETTABLE.as_ptr()
}

static FUNCTIONS: [Dispatch; 9] = [
    Dispatch(1, new as *const c_void),
    Dispatch(2, begin as *const c_void),
    Dispatch(3, derive as *const c_void),
    Dispatch(4, set_peer as *const c_void),
    Dispatch(5, delete as *const c_void),
    Dispatch(6, copy as *const c_void),
    Dispatch(7, set as *const c_void),
    Dispatch(8, settable as *const c_void),
    END,
];

/// The exchanges, by OpenSSL's names.
pub static ALGORITHMS: [Algorithm; 3] =
    [Algorithm::new(c"ECDH", &FUNCTIONS), Algorithm::new(c"X25519:1.3.101.110", &FUNCTIONS), Algorithm::END];
