//! AES-ECB, AES-CBC and AES-CTR, under a key of the device or under bytes that OpenSSL gives. What is under way is at the
//! device, and cannot be copied; what has not begun can.

use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use broker::client::call::{Begin, Cancel, Context, Decrypt, Encrypt, Finish, Secret, Update};
use broker::parameters::Mode;
use broker::template::Usages;
use broker::wire::Status;

use crate::abi::{
    Algorithm, Dispatch, Done, END, Failed, Param, Provider, bytes, each, free, give, guard, make, out,
    provider, trust,
};
use crate::aead::{AES_CCM, AES_GCM};
use crate::digest::PART_BYTES;
use crate::secret::{self, Held};
use crate::start;

const BLOCK_BYTES: usize = 16;
/// `EVP_CIPH_ECB_MODE` and so on.
const ECB: usize = 1;
const CBC: usize = 2;
const CTR: usize = 5;

/// A cipher that is under way.
pub struct Cipher {
    provider: Arc<Provider>,
    mode: usize,
    key_bytes: usize,
    key: Option<Arc<Held>>,
    iv: [u8; BLOCK_BYTES],
    is_padded: bool,
    encrypts: bool,
    context: Option<Context>,
    /// A counter was begun with the IV, here or in a copy, which must not be met again: OpenSSL's own goes on counting.
    is_spent: Arc<AtomicBool>,
}

impl Cipher {
    fn context(&mut self) -> Done<Context> {
        if let Some(context) = self.context {
            return Ok(context);
        }
        if self.mode == CTR && self.is_spent.swap(true, Ordering::Relaxed) {
            return Err(self.provider.refuse(Status::WrongParameters));
        }
        let key = self.key.as_ref().ok_or(Failed)?.handle;
        let mode = match (self.mode, self.is_padded) {
            (ECB, false) => Mode::Ecb,
            (CBC, false) => Mode::Cbc(self.iv),
            (CBC, true) => Mode::CbcPadded(self.iv),
            (CTR, _) => Mode::Ctr(self.iv),
            _ => return Err(Failed), // the device pads no ECB
        };
        let context = match self.encrypts {
            true => self.provider.call(&Begin(Encrypt { key, mode, plaintext: &[] }))?,
            false => self.provider.call(&Begin(Decrypt { key, mode, ciphertext: &[] }))?,
        };
        Ok(*self.context.insert(context))
    }

    fn update(&mut self, message: &[u8]) -> Done<Secret> {
        let context = self.context()?;
        let mut made = Secret::new(Vec::with_capacity(message.len() + BLOCK_BYTES));
        for part in message.chunks(PART_BYTES) {
            made.extend_from_slice(&self.provider.call(&Update { context, part })?);
        }
        Ok(made)
    }

    fn finish(&mut self) -> Done<Secret> {
        let context = self.context()?;
        self.context = None;
        self.provider.call(&Finish { context, part: &[] })
    }

    fn cancel(&mut self) {
        if let Some(context) = self.context.take() {
            // It may be gone with its connection already.
            let _ = self.provider.call(&Cancel { context });
        }
    }

    /// The same once more, if it is not at the device.
    fn copy(&self) -> Done<Cipher> {
        if self.context.is_some() {
            return Err(self.provider.refuse(Status::WholeOnly));
        }
        let Cipher { provider, mode, key_bytes, key, iv, is_padded, encrypts, context: _, is_spent } = self;
        Ok(Cipher {
            provider: provider.clone(),
            mode: *mode,
            key_bytes: *key_bytes,
            key: key.clone(),
            iv: *iv,
            is_padded: *is_padded,
            encrypts: *encrypts,
            context: None,
            is_spent: is_spent.clone(),
        })
    }
}

impl start::Keyed for Cipher {
    fn start(&mut self, key: Option<&[u8]>, iv: Option<&[u8]>, encrypts: bool) -> Done {
        self.cancel();
        self.encrypts = encrypts;
        if let Some(iv) = iv {
            self.iv = iv.try_into().map_err(|_| Failed)?;
            self.is_spent = Arc::default();
        }
        if let Some(secret) = key {
            if secret.len() != self.key_bytes {
                return Err(Failed);
            }
            let usages = Usages::ENCRYPT.and(Usages::DECRYPT);
            self.key = Some(Held::aes(&self.provider, usages, false, secret)?);
        }
        Ok(())
    }

    fn hold(&mut self, key: Arc<Held>) -> Done {
        self.cancel();
        let fits = secret::aes(self.key_bytes) == Some(key.algorithm);
        self.key = Some(key).filter(|_| fits);
        if fits { Ok(()) } else { Err(self.provider.refuse(Status::WrongPurpose)) }
    }

    fn set(&mut self, key: &[u8], param: &Param) -> Done {
        match key {
            b"padding" if self.mode != CTR => self.is_padded = param.get().ok_or(Failed)? != 0,
            b"keylen" if param.get() != Some(self.key_bytes as i64) => return Err(Failed),
            b"selvedge-key" => self.hold(Held::named(&self.provider, param)?)?,
            _ => {}
        }
        Ok(())
    }
}

impl Drop for Cipher {
    fn drop(&mut self) {
        self.cancel();
    }
}

unsafe extern "C" fn new<const KEY_BYTES: usize, const MODE: usize>(context: *const Provider) -> *mut Cipher {
    make(|| {
        Ok(Cipher {
            provider: trust!(provider(context))?,
            mode: MODE,
            key_bytes: KEY_BYTES,
            key: None,
            iv: [0; BLOCK_BYTES],
            is_padded: MODE != CTR,
            encrypts: true,
            context: None,
            is_spent: Arc::default(),
        })
    })
}

unsafe extern "C" fn update(
    this: *mut Cipher,
    start: *mut u8,
    length: *mut usize,
    room: usize,
    message: *const u8,
    message_bytes: usize,
) -> c_int {
    guard(|| {
        let made = trust!(out(this))?.update(trust!(bytes(message, message_bytes))?)?;
        trust!(give(&made, start, length, room))
    })
}

unsafe extern "C" fn finish(this: *mut Cipher, start: *mut u8, length: *mut usize, room: usize) -> c_int {
    guard(|| trust!(give(&trust!(out(this))?.finish()?, start, length, room)))
}

unsafe extern "C" fn delete(this: *mut Cipher) {
    trust!(free(this));
}

unsafe extern "C" fn copy(this: *mut Cipher) -> *mut Cipher {
    make(|| trust!(out(this))?.copy())
}

unsafe extern "C" fn get<const KEY_BYTES: usize, const MODE: usize>(params: *mut Param) -> c_int {
    guard(|| {
        trust!(each(params, |key, param| match key {
            b"mode" => param.set(MODE),
            b"keylen" => param.set(KEY_BYTES),
            b"ivlen" => param.set(if MODE == ECB { 0 } else { BLOCK_BYTES }),
            b"blocksize" => param.set(if MODE == CTR { 1 } else { BLOCK_BYTES }),
            b"aead" | b"custom-iv" | b"cts" | b"tls-multi" | b"has-randkey" => param.set(0),
            _ => Ok(()),
        }))
    })
}

unsafe extern "C" fn get_of(this: *mut Cipher, params: *mut Param) -> c_int {
    guard(|| {
        let this = trust!(out(this))?;
        trust!(each(params, |key, param| match key {
            b"keylen" => param.set(this.key_bytes),
            b"ivlen" => param.set(if this.mode == ECB { 0 } else { BLOCK_BYTES }),
            b"padding" => param.set(this.is_padded.into()),
            b"num" => param.set(0),
            b"iv" => param.set_octets(&this.iv),
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
static GETTABLE_OF: [Param; 6] = [
    Param::number(c"keylen"),
    Param::number(c"ivlen"),
    Param::number(c"padding"),
    Param::number(c"num"),
    Param::octets(c"iv"),
    Param::END,
];
static SETTABLE_OF: [Param; 4] =
    [Param::number(c"padding"), Param::number(c"keylen"), Param::text(secret::NAME), Param::END];

extern "C" fn gettable(_context: *const Provider) -> *const Param {
    GETTABLE.as_ptr()
}

extern "C" fn gettable_of(_this: *const Cipher, _context: *const Provider) -> *const Param {
    GETTABLE_OF.as_ptr()
}

extern "C" fn settable_of(_this: *const Cipher, _context: *const Provider) -> *const Param {
    SETTABLE_OF.as_ptr()
}

const fn functions<const KEY_BYTES: usize, const MODE: usize>() -> [Dispatch; 16] {
    [
        Dispatch(1, new::<KEY_BYTES, MODE> as *const c_void),
        Dispatch(2, start::start::<Cipher, true> as *const c_void),
        Dispatch(3, start::start::<Cipher, false> as *const c_void),
        Dispatch(4, update as *const c_void),
        Dispatch(5, finish as *const c_void),
        Dispatch(7, delete as *const c_void),
        Dispatch(8, copy as *const c_void),
        Dispatch(9, get::<KEY_BYTES, MODE> as *const c_void),
        Dispatch(10, get_of as *const c_void),
        Dispatch(11, start::set::<Cipher> as *const c_void),
        Dispatch(12, gettable as *const c_void),
        Dispatch(13, gettable_of as *const c_void),
        Dispatch(14, settable_of as *const c_void),
        Dispatch(19, start::start_skey::<Cipher, true> as *const c_void),
        Dispatch(20, start::start_skey::<Cipher, false> as *const c_void),
        END,
    ]
}

static AES_128_ECB: [Dispatch; 16] = functions::<16, ECB>();
static AES_192_ECB: [Dispatch; 16] = functions::<24, ECB>();
static AES_256_ECB: [Dispatch; 16] = functions::<32, ECB>();
static AES_128_CBC: [Dispatch; 16] = functions::<16, CBC>();
static AES_192_CBC: [Dispatch; 16] = functions::<24, CBC>();
static AES_256_CBC: [Dispatch; 16] = functions::<32, CBC>();
static AES_128_CTR: [Dispatch; 16] = functions::<16, CTR>();
static AES_192_CTR: [Dispatch; 16] = functions::<24, CTR>();
static AES_256_CTR: [Dispatch; 16] = functions::<32, CTR>();

/// The ciphers, those of `aead` too, by OpenSSL's names.
pub static ALGORITHMS: [Algorithm; 16] = [
    Algorithm::new(c"AES-128-ECB:2.16.840.1.101.3.4.1.1", &AES_128_ECB),
    Algorithm::new(c"AES-192-ECB:2.16.840.1.101.3.4.1.21", &AES_192_ECB),
    Algorithm::new(c"AES-256-ECB:2.16.840.1.101.3.4.1.41", &AES_256_ECB),
    Algorithm::new(c"AES-128-CBC:AES128:2.16.840.1.101.3.4.1.2", &AES_128_CBC),
    Algorithm::new(c"AES-192-CBC:AES192:2.16.840.1.101.3.4.1.22", &AES_192_CBC),
    Algorithm::new(c"AES-256-CBC:AES256:2.16.840.1.101.3.4.1.42", &AES_256_CBC),
    Algorithm::new(c"AES-128-CTR", &AES_128_CTR),
    Algorithm::new(c"AES-192-CTR", &AES_192_CTR),
    Algorithm::new(c"AES-256-CTR", &AES_256_CTR),
    Algorithm::new(c"AES-128-GCM:id-aes128-GCM:2.16.840.1.101.3.4.1.6", &AES_GCM[0]),
    Algorithm::new(c"AES-192-GCM:id-aes192-GCM:2.16.840.1.101.3.4.1.26", &AES_GCM[1]),
    Algorithm::new(c"AES-256-GCM:id-aes256-GCM:2.16.840.1.101.3.4.1.46", &AES_GCM[2]),
    Algorithm::new(c"AES-128-CCM:id-aes128-CCM:2.16.840.1.101.3.4.1.7", &AES_CCM[0]),
    Algorithm::new(c"AES-192-CCM:id-aes192-CCM:2.16.840.1.101.3.4.1.27", &AES_CCM[1]),
    Algorithm::new(c"AES-256-CCM:id-aes256-CCM:2.16.840.1.101.3.4.1.47", &AES_CCM[2]),
    Algorithm::END,
];
