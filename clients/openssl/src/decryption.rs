//! RSA's decryption by keys of the device: PKCS#1 v1.5, whose wrong padding gives a message that looks random, and OAEP.
//! Encrypting needs no device: OpenSSL does that with what is public.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use broker::client::call::{RsaDecrypt, Secret};
use broker::parameters::{Hash, RsaPadding};
use broker::template::Algorithm as Kind;
use broker::wire::{KeyHandle, Status};

use crate::abi::{
    Algorithm, Dispatch, Done, END, Failed, Param, Provider, bytes, each, free, give, guard, make, out,
    provider, trust,
};
use crate::digest::named;
use crate::key::Key;

/// `RSA_PKCS1_PADDING` and `RSA_PKCS1_OAEP_PADDING`.
const PKCS1: i64 = 1;
const OAEP: i64 = 4;

#[derive(Clone)]
struct Decryption {
    provider: Arc<Provider>,
    key: Option<(KeyHandle, usize)>,
    is_oaep: bool,
    /// OAEP's hashes; none is SHA-1.
    hash: Option<Hash>,
    mask_hash: Option<Option<Hash>>,
    label: Secret,
}

/// A hash, or SHA-1.
fn hash(param: &Param) -> Done<Option<Hash>> {
    let name = param.get_text().ok_or(Failed)?;
    let is_sha1 = ["SHA1", "SHA-1"].iter().any(|one| one.as_bytes().eq_ignore_ascii_case(name));
    if is_sha1 { Ok(None) } else { named(name).map(Some) }
}

impl Decryption {
    fn set(&mut self, key: &[u8], param: &Param) -> Done {
        match key {
            b"pad-mode" => {
                self.is_oaep = match (param.get(), param.get_text()) {
                    (Some(PKCS1), _) | (_, Some(b"pkcs1")) => false,
                    (Some(OAEP), _) | (_, Some(b"oaep")) => true,
                    _ => return Err(self.provider.refuse(Status::UnknownOperation)),
                }
            }
            b"digest" => self.hash = hash(param)?,
            b"mgf1-digest" => self.mask_hash = Some(hash(param)?),
            b"oaep-label" => self.label = Secret::new(param.bytes().unwrap_or_default().to_vec()),
            // The device has no other way.
            b"implicit-rejection" if param.get() == Some(0) => {
                return Err(self.provider.refuse(Status::UnknownOperation));
            }
            _ => {}
        }
        Ok(())
    }

    fn decrypt(&self, ciphertext: &[u8]) -> Done<Secret> {
        let (key, _) = self.key.ok_or(Failed)?;
        if self.is_oaep && self.mask_hash.is_some_and(|mask_hash| mask_hash != self.hash) {
            return Err(self.provider.refuse(Status::WrongParameters));
        }
        let padding = match self.is_oaep {
            true => RsaPadding::Oaep { hash: self.hash, label: &self.label },
            false => RsaPadding::Pkcs1,
        };
        self.provider.call(&RsaDecrypt { key, padding, ciphertext })
    }
}

unsafe extern "C" fn new(context: *const Provider) -> *mut Decryption {
    make(|| {
        let (provider, label) = (trust!(provider(context))?, Secret::default());
        Ok(Decryption { provider, key: None, is_oaep: false, hash: None, mask_hash: None, label })
    })
}

unsafe extern "C" fn delete(this: *mut Decryption) {
    trust!(free(this));
}

unsafe extern "C" fn copy(this: *mut Decryption) -> *mut Decryption {
    make(|| Ok(trust!(out(this))?.clone()))
}

unsafe extern "C" fn begin(this: *mut Decryption, key: *mut Key, params: *mut Param) -> c_int {
    guard(|| {
        let (this, key) = (trust!(out(this))?, trust!(out(key))?);
        let is_rsa = matches!(key.algorithm, Kind::Rsa2048 | Kind::Rsa3072);
        if !is_rsa || key.handle == KeyHandle::NONE {
            return Err(this.provider.refuse(Status::WrongPurpose));
        }
        this.key = Some((key.handle, key.sizes()[2]));
        trust!(each(params, |key, param| this.set(key, param)))
    })
}

unsafe extern "C" fn decrypt(
    this: *mut Decryption,
    start: *mut u8,
    length: *mut usize,
    room: usize,
    ciphertext: *const u8,
    ciphertext_bytes: usize,
) -> c_int {
    guard(|| {
        let this = trust!(out(this))?;
        if start.is_null() {
            *trust!(out(length))? = this.key.ok_or(Failed)?.1;
            return Ok(());
        }
        let message = this.decrypt(trust!(bytes(ciphertext, ciphertext_bytes))?)?;
        trust!(give(&message, start, length, room))
    })
}

unsafe extern "C" fn set(this: *mut Decryption, params: *mut Param) -> c_int {
    guard(|| {
        let this = trust!(out(this))?;
        trust!(each(params, |key, param| this.set(key, param)))
    })
}

static SETTABLE: [Param; 6] = [
    Param::text(c"pad-mode"),
    Param::text(c"digest"),
    Param::text(c"mgf1-digest"),
    Param::octets(c"oaep-label"),
    Param::number(c"implicit-rejection"),
    Param::END,
];

extern "C" fn settable(_this: *const Decryption, _context: *const Provider) -> *const Param {
    SETTABLE.as_ptr()
}

static FUNCTIONS: [Dispatch; 8] = [
    Dispatch(1, new as *const c_void),
    Dispatch(4, begin as *const c_void),
    Dispatch(5, decrypt as *const c_void),
    Dispatch(6, delete as *const c_void),
    Dispatch(7, copy as *const c_void),
    Dispatch(10, set as *const c_void),
    Dispatch(11, settable as *const c_void),
    END,
];

/// The decryption, by OpenSSL's names.
pub static ALGORITHMS: [Algorithm; 2] =
    [Algorithm::new(c"RSA:rsaEncryption:1.2.840.113549.1.1.1", &FUNCTIONS), Algorithm::END];
