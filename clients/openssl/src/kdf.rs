//! HKDF (RFC 5869), each of whose HMACs the device makes. A key of the device is one of HMAC and takes the second step only,
//! as OpenSSL's mode EXPAND_ONLY has it: the first would need the key as the message. What the device derives by itself
//! is a key, and never bytes.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use broker::client::call::{Mac, Secret};
use broker::parameters::{Hash, MacKind};
use broker::wire::Status;

use crate::abi::{
    Algorithm, Dispatch, Done, END, Failed, Param, Provider, each, free, guard, make, out, provider, trust,
};
use crate::digest::named;
use crate::secret::{self, Held};

/// Most that one digest makes, in digests.
const BLOCKS_MAX: usize = 255;

/// `EVP_KDF_HKDF_MODE_`.
#[derive(Clone, Copy, PartialEq)]
enum Steps {
    Both,
    Extract,
    Expand,
}

#[derive(Clone)]
struct Derivation {
    provider: Arc<Provider>,
    hash: Option<Hash>,
    steps: Steps,
    secret: Option<Secret>,
    held: Option<Arc<Held>>,
    salt: Secret,
    info: Secret,
}

impl Derivation {
    fn new(provider: Arc<Provider>) -> Derivation {
        let (salt, info) = (Secret::default(), Secret::default());
        Derivation { provider, hash: None, steps: Steps::Both, secret: None, held: None, salt, info }
    }

    /// # Safety
    /// The list is null or ends.
    unsafe fn set(&mut self, params: *mut Param) -> Done {
        let mut has_info = false;
        trust!(each(params, |key, param| {
            match key {
                b"digest" => self.hash = Some(named(param.get_text().ok_or(Failed)?)?),
                b"mode" => {
                    self.steps = match (param.get(), param.get_text()) {
                        (Some(0), _) | (_, Some(b"EXTRACT_AND_EXPAND")) => Steps::Both,
                        (Some(1), _) | (_, Some(b"EXTRACT_ONLY")) => Steps::Extract,
                        (Some(2), _) | (_, Some(b"EXPAND_ONLY")) => Steps::Expand,
                        _ => return Err(Failed),
                    }
                }
                b"key" => {
                    self.held = None;
                    self.secret = Some(Secret::new(param.bytes().unwrap_or_default().to_vec()));
                }
                b"selvedge-key" => {
                    self.secret = None;
                    self.held = Some(Held::named(&self.provider, param)?);
                }
                b"salt" => self.salt = Secret::new(param.bytes().unwrap_or_default().to_vec()),
                b"info" => {
                    // The infos of one list are one after the other.
                    let before: &[u8] = if has_info { &self.info } else { &[] };
                    self.info = Secret::new([before, param.bytes().unwrap_or_default()].concat());
                    has_info = true;
                }
                _ => {}
            }
            Ok(())
        }))
    }

    fn hmac(&self, key: &Held, hash: Hash, message: &[u8]) -> Done<Secret> {
        let kind = MacKind::Hmac(hash);
        self.provider.call(&Mac { key: key.handle, kind, message }).map(Secret::new)
    }

    /// HKDF's first step, the pseudorandom key as bytes.
    fn extract(&self, hash: Hash) -> Done<Secret> {
        let secret = self.secret.as_ref().ok_or(Failed)?;
        self.hmac(&*Held::hmac(&self.provider, &self.salt)?, hash, secret)
    }

    fn derive(&self, derived: &mut [u8]) -> Done {
        let hash = self.hash.ok_or(Failed)?;
        if derived.len() > BLOCKS_MAX * hash.digest_bytes() {
            return Err(Failed);
        }
        let key = match (self.steps, &self.held, &self.secret) {
            (Steps::Extract, _, _) if derived.len() == hash.digest_bytes() => {
                derived.copy_from_slice(&self.extract(hash)?);
                return Ok(());
            }
            (Steps::Both, None, _) => Held::hmac(&self.provider, &self.extract(hash)?)?,
            (Steps::Expand, Some(held), _) => held.clone(),
            (Steps::Expand, None, Some(secret)) => Held::hmac(&self.provider, secret)?,
            (_, Some(_), _) => return Err(self.provider.refuse(Status::WrongPurpose)),
            _ => return Err(Failed),
        };
        let mut last = Secret::default();
        for (place, number) in derived.chunks_mut(hash.digest_bytes()).zip(1..) {
            let message = Secret::new([&last[..], &self.info, &[number]].concat());
            last = self.hmac(&key, hash, &message)?;
            place.copy_from_slice(last.get(..place.len()).ok_or(Failed)?);
        }
        Ok(())
    }
}

unsafe extern "C" fn new(context: *const Provider) -> *mut Derivation {
    make(|| Ok(Derivation::new(trust!(provider(context))?)))
}

unsafe extern "C" fn delete(this: *mut Derivation) {
    trust!(free(this));
}

unsafe extern "C" fn copy(this: *mut Derivation) -> *mut Derivation {
    make(|| Ok(trust!(out(this))?.clone()))
}

unsafe extern "C" fn reset(this: *mut Derivation) {
    guard(|| {
        let this = trust!(out(this))?;
        *this = Derivation::new(this.provider.clone());
        Ok(())
    });
}

unsafe extern "C" fn derive(
    this: *mut Derivation,
    start: *mut u8,
    length: usize,
    params: *mut Param,
) -> c_int {
    guard(|| {
        let this = trust!(out(this))?;
        trust!(this.set(params))?;
        if start.is_null() || length == 0 || length > isize::MAX as usize {
            return Err(Failed);
        }
        // SAFETY: OpenSSL says that there is so much room.
        this.derive(unsafe { std::slice::from_raw_parts_mut(start, length) })
    })
}

unsafe extern "C" fn get(this: *mut Derivation, params: *mut Param) -> c_int {
    guard(|| {
        let this = trust!(out(this))?;
        let most = match (this.steps, this.hash) {
            (Steps::Extract, hash) => hash.ok_or(Failed)?.digest_bytes(),
            _ => usize::MAX,
        };
        trust!(each(params, |key, param| if key == b"size" { param.set(most) } else { Ok(()) }))
    })
}

unsafe extern "C" fn set(this: *mut Derivation, params: *mut Param) -> c_int {
    guard(|| trust!(trust!(out(this))?.set(params)))
}

static GETTABLE: [Param; 2] = [Param::number(c"size"), Param::END];
static SETTABLE: [Param; 7] = [
    Param::text(c"mode"),
    Param::text(c"digest"),
    Param::octets(c"key"),
    Param::octets(c"salt"),
    Param::octets(c"info"),
    Param::text(secret::NAME),
    Param::END,
];

extern "C" fn gettable(_this: *const Derivation, _context: *const Provider) -> *const Param {
    GETTABLE.as_ptr()
}

extern "C" fn settable(_this: *const Derivation, _context: *const Provider) -> *const Param {
    SETTABLE.as_ptr()
}

static FUNCTIONS: [Dispatch; 10] = [
    Dispatch(1, new as *const c_void),
    Dispatch(2, copy as *const c_void),
    Dispatch(3, delete as *const c_void),
    Dispatch(4, reset as *const c_void),
    Dispatch(5, derive as *const c_void),
    Dispatch(7, gettable as *const c_void),
    Dispatch(8, settable as *const c_void),
    Dispatch(10, get as *const c_void),
    Dispatch(11, set as *const c_void),
    END,
];

/// The derivation, by OpenSSL's name.
pub static ALGORITHMS: [Algorithm; 2] = [Algorithm::new(c"HKDF", &FUNCTIONS), Algorithm::END];
