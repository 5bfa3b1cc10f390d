//! AES-GCM and AES-CCM, under a key of the device or under bytes that OpenSSL gives. A message comes as a whole, in one
//! update: the device releases nothing whose tag it has not compared, so a second part is refused by name, and who opens
//! gives the tag before the message. TLS 1.3 and CMS do so.
//!
//! Invariant: no nonce seals twice, unless the caller gives it twice; a copy's is that of what it was copied from.

use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use broker::client::call::{Open, Seal, Secret};
use broker::parameters::{Aead, Suite};
use broker::template::Usages;
use broker::wire::Status;

use crate::abi::{
    Dispatch, Done, END, Failed, Param, Provider, bytes, each, free, give, guard, make, out, provider, trust,
};
use crate::secret::{self, Held};
use crate::start;

const TAG_BYTES: usize = 16;
/// `EVP_CIPH_GCM_MODE` and `EVP_CIPH_CCM_MODE`.
const GCM: usize = 6;
const CCM: usize = 7;

/// A message that is sealed or opened. There is nothing of it at the device, so that it can be copied.
#[derive(Clone)]
struct Sealer {
    provider: Arc<Provider>,
    suite: Suite,
    key_bytes: usize,
    key: Option<Arc<Held>>,
    nonce_bytes: usize,
    nonce: Option<Vec<u8>>,
    tag_bytes: usize,
    tag: Option<Vec<u8>>,
    associated_data: Secret,
    encrypts: bool,
    /// The nonce was given, and no message came since.
    is_fresh: bool,
    /// Whether the nonce has sealed, here or in a copy.
    has_sealed: Arc<AtomicBool>,
}

impl Sealer {
    fn associate(&mut self, data: &[u8]) -> Done {
        if !self.is_fresh {
            return Err(self.provider.refuse(Status::WholeOnly));
        }
        self.associated_data = Secret::new([&self.associated_data, data].concat());
        Ok(())
    }

    /// The whole message; what is left of it to say afterwards is the tag.
    fn whole(&mut self, message: &[u8]) -> Done<Secret> {
        if !self.is_fresh {
            return Err(self.provider.refuse(Status::WholeOnly));
        }
        let key = self.key.as_ref().ok_or(Failed)?.handle;
        let nonce = self.nonce.as_deref().ok_or(Failed)?;
        let tag_bytes = self.tag_bytes as u8;
        let aead = Aead { suite: self.suite, tag_bytes, nonce, associated_data: &self.associated_data };
        self.is_fresh = false;
        if self.encrypts {
            if self.has_sealed.swap(true, Ordering::Relaxed) {
                return Err(self.provider.refuse(Status::WrongParameters));
            }
            let mut sealed = self.provider.call(&Seal { key, aead, plaintext: message })?;
            self.tag = Some(sealed.split_off(sealed.len().checked_sub(self.tag_bytes).ok_or(Failed)?));
            return Ok(Secret::new(sealed));
        }
        let tag = self.tag.take().filter(|tag| tag.len() == self.tag_bytes);
        let tag = tag.ok_or_else(|| self.provider.refuse(Status::WholeOnly))?;
        let sealed = [message, &tag].concat();
        self.provider.call(&Open { key, aead, sealed: &sealed })
    }
}

impl start::Keyed for Sealer {
    fn start(&mut self, key: Option<&[u8]>, nonce: Option<&[u8]>, encrypts: bool) -> Done {
        self.encrypts = encrypts;
        self.associated_data = Secret::default();
        if encrypts {
            self.tag = None;
        }
        if let Some(nonce) = nonce {
            self.nonce_bytes = nonce.len();
            self.nonce = Some(nonce.to_vec());
            self.is_fresh = true;
            self.has_sealed = Arc::default();
        }
        if let Some(secret) = key {
            if secret.len() != self.key_bytes {
                return Err(Failed);
            }
            self.key = Some(Held::aes(&self.provider, Usages::SEAL.and(Usages::OPEN), true, secret)?);
        }
        Ok(())
    }

    fn hold(&mut self, key: Arc<Held>) -> Done {
        let fits = secret::aes(self.key_bytes) == Some(key.algorithm);
        self.key = Some(key).filter(|_| fits);
        if fits { Ok(()) } else { Err(self.provider.refuse(Status::WrongPurpose)) }
    }

    fn set(&mut self, key: &[u8], param: &Param) -> Done {
        match (key, param.bytes()) {
            (b"ivlen", _) => {
                let nonce_bytes = param.get().and_then(|length| usize::try_from(length).ok());
                let is_known = match (self.suite, nonce_bytes) {
                    (Suite::Ccm, Some(length)) => matches!(length, 7 | 12 | 13),
                    (_, length) => length == Some(12),
                };
                if !is_known {
                    return Err(self.provider.refuse(Status::WrongParameters));
                }
                if nonce_bytes != Some(self.nonce_bytes) {
                    self.nonce = None;
                    self.is_fresh = false;
                }
                self.nonce_bytes = nonce_bytes.unwrap_or_default();
                Ok(())
            }
            // Who seals says with it how long the tag will be; so may who opens.
            (b"tag", tag) => {
                let tag_bytes = param.size();
                let is_known = match self.suite {
                    Suite::Ccm => matches!(tag_bytes, 4 | 8 | 12 | 16),
                    _ => tag_bytes == TAG_BYTES,
                };
                if !is_known {
                    return Err(self.provider.refuse(Status::WrongParameters));
                }
                self.tag_bytes = tag_bytes;
                self.tag = tag.map(<[u8]>::to_vec).filter(|_| !self.encrypts);
                Ok(())
            }
            (b"keylen", _) if param.get() != Some(self.key_bytes as i64) => Err(Failed),
            // TLS 1.2 has the cipher make nonces.
            (b"tlsaad" | b"tlsivfixed" | b"tlsivgen" | b"tlsivinv", _) => {
                Err(self.provider.refuse(Status::UnknownOperation))
            }
            (b"selvedge-key", _) => self.hold(Held::named(&self.provider, param)?),
            _ => Ok(()),
        }
    }
}

unsafe extern "C" fn new<const KEY_BYTES: usize, const MODE: usize>(context: *const Provider) -> *mut Sealer {
    make(|| {
        Ok(Sealer {
            provider: trust!(provider(context))?,
            suite: if MODE == GCM { Suite::Gcm } else { Suite::Ccm },
            key_bytes: KEY_BYTES,
            key: None,
            nonce_bytes: nonce_bytes(MODE),
            nonce: None,
            tag_bytes: if MODE == GCM { TAG_BYTES } else { 12 },
            tag: None,
            associated_data: Secret::default(),
            encrypts: true,
            is_fresh: false,
            has_sealed: Arc::default(),
        })
    })
}

/// What OpenSSL's own have, if nobody says otherwise.
const fn nonce_bytes(mode: usize) -> usize {
    if mode == GCM { 12 } else { 7 }
}

unsafe extern "C" fn delete(this: *mut Sealer) {
    trust!(free(this));
}

unsafe extern "C" fn copy(this: *mut Sealer) -> *mut Sealer {
    make(|| Ok(trust!(out(this))?.clone()))
}

unsafe extern "C" fn update(
    this: *mut Sealer,
    start: *mut u8,
    length: *mut usize,
    room: usize,
    message: *const u8,
    message_bytes: usize,
) -> c_int {
    guard(|| {
        let (this, length) = (trust!(out(this))?, trust!(out(length))?);
        *length = 0;
        match (start.is_null(), message.is_null()) {
            // CCM is told the length before, which the message says as well.
            (true, true) => Ok(()),
            (true, false) => {
                *length = message_bytes;
                this.associate(trust!(bytes(message, message_bytes))?)
            }
            (false, _) if message_bytes == 0 => Ok(()),
            (false, _) if room < message_bytes => Err(Failed),
            (false, _) => {
                let made = this.whole(trust!(bytes(message, message_bytes))?)?;
                trust!(give(&made, start, length, room))
            }
        }
    })
}

unsafe extern "C" fn finish(this: *mut Sealer, _start: *mut u8, length: *mut usize, _room: usize) -> c_int {
    guard(|| {
        let this = trust!(out(this))?;
        *trust!(out(length))? = 0;
        if this.is_fresh {
            this.whole(&[])?;
        }
        Ok(())
    })
}

unsafe extern "C" fn get<const KEY_BYTES: usize, const MODE: usize>(params: *mut Param) -> c_int {
    guard(|| {
        trust!(each(params, |key, param| match key {
            b"mode" => param.set(MODE),
            b"keylen" => param.set(KEY_BYTES),
            b"ivlen" => param.set(nonce_bytes(MODE)),
            b"blocksize" | b"aead" | b"custom-iv" => param.set(1),
            b"cts" | b"tls-multi" | b"has-randkey" => param.set(0),
            _ => Ok(()),
        }))
    })
}

unsafe extern "C" fn get_of(this: *mut Sealer, params: *mut Param) -> c_int {
    guard(|| {
        let this = trust!(out(this))?;
        trust!(each(params, |key, param| match key {
            b"keylen" => param.set(this.key_bytes),
            b"ivlen" => param.set(this.nonce_bytes),
            b"taglen" => param.set(this.tag_bytes),
            b"iv" | b"updated-iv" => param.set_octets(this.nonce.as_ref().ok_or(Failed)?),
            b"tag" => {
                let tag = this.tag.as_ref().filter(|_| this.encrypts).ok_or(Failed)?;
                let asked_bytes = param.size().min(tag.len());
                param.set_octets(&tag[..asked_bytes])
            }
            _ => Ok(()),
        }))
    })
}

static GETTABLE: [Param; 5] = [
    Param::number(c"mode"),
    Param::number(c"keylen"),
    Param::number(c"ivlen"),
    Param::number(c"blocksize"),
    Param::END,
];
static GETTABLE_OF: [Param; 7] = [
    Param::number(c"keylen"),
    Param::number(c"ivlen"),
    Param::number(c"taglen"),
    Param::octets(c"iv"),
    Param::octets(c"updated-iv"),
    Param::octets(c"tag"),
    Param::END,
];
static SETTABLE_OF: [Param; 5] = [
    Param::number(c"keylen"),
    Param::number(c"ivlen"),
    Param::octets(c"tag"),
    Param::text(secret::NAME),
    Param::END,
];

extern "C" fn gettable(_context: *const Provider) -> *const Param {
    GETTABLE.as_ptr()
}

extern "C" fn gettable_of(_this: *const Sealer, _context: *const Provider) -> *const Param {
    GETTABLE_OF.as_ptr()
}

extern "C" fn settable_of(_this: *const Sealer, _context: *const Provider) -> *const Param {
    SETTABLE_OF.as_ptr()
}

const fn functions<const KEY_BYTES: usize, const MODE: usize>() -> [Dispatch; 16] {
    [
        Dispatch(1, new::<KEY_BYTES, MODE> as *const c_void),
        Dispatch(2, start::start::<Sealer, true> as *const c_void),
        Dispatch(3, start::start::<Sealer, false> as *const c_void),
        Dispatch(4, update as *const c_void),
        Dispatch(5, finish as *const c_void),
        Dispatch(7, delete as *const c_void),
        Dispatch(8, copy as *const c_void),
        Dispatch(9, get::<KEY_BYTES, MODE> as *const c_void),
        Dispatch(10, get_of as *const c_void),
        Dispatch(11, start::set::<Sealer> as *const c_void),
        Dispatch(12, gettable as *const c_void),
        Dispatch(13, gettable_of as *const c_void),
        Dispatch(14, settable_of as *const c_void),
        Dispatch(19, start::start_skey::<Sealer, true> as *const c_void),
        Dispatch(20, start::start_skey::<Sealer, false> as *const c_void),
        END,
    ]
}

/// AES-GCM of each key length.
pub static AES_GCM: [[Dispatch; 16]; 3] =
    [functions::<16, GCM>(), functions::<24, GCM>(), functions::<32, GCM>()];
/// AES-CCM of each key length.
pub static AES_CCM: [[Dispatch; 16]; 3] =
    [functions::<16, CCM>(), functions::<24, CCM>(), functions::<32, CCM>()];
