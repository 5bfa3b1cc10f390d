//! The ciphers, which are AES's modes: a table with a line for each, and what they have in common, which is how a context is
//! made, keyed and asked. What a mode does with a message is `cipher`'s and `aead`'s.

use std::ffi::{c_int, c_void};
use std::sync::Arc;

use broker::template::Usages;
use broker::wire::Status;

use crate::abi::{
    Algorithm, Dispatch, Done, END, Failed, Param, Provider, bytes, each, free, guard, make, out, provider,
    trust,
};
use crate::aead::Sealer;
use crate::cipher::Cipher;
use crate::secret::{self, Held};
use crate::skey::{Skey, taken};

/// `EVP_CIPH_ECB_MODE` and so on.
pub const ECB: usize = 1;
pub const CBC: usize = 2;
pub const CTR: usize = 5;
pub const GCM: usize = 6;
pub const CCM: usize = 7;

/// What OpenSSL asks of a cipher that has not begun.
pub struct Line {
    /// Its mode.
    pub mode: usize,
    /// Length of its key.
    pub key_bytes: usize,
    /// Length of its IV or nonce, if nobody says otherwise.
    pub iv_bytes: usize,
    block_bytes: usize,
    is_aead: bool,
}

/// The table: each line's number, names, what does its work, mode, and lengths of key, IV and block.
macro_rules! ciphers {
    ($($number:literal $names:literal $work:ident $mode:ident $key:literal $iv:literal $block:literal)*) => {
        const COUNT: usize = [$($number),*].len();
        static LINES: [Line; COUNT] = [$(Line {
            mode: $mode,
            key_bytes: $key,
            iv_bytes: $iv,
            block_bytes: $block,
            is_aead: matches!($mode, GCM | CCM),
        }),*];
        static FUNCTIONS: [[Dispatch; 16]; COUNT] = [$(functions::<$work, $number>()),*];
        /// The ciphers, by OpenSSL's names.
        pub static ALGORITHMS: [Algorithm; COUNT + 1] =
            [$(Algorithm::new($names, &FUNCTIONS[$number]),)* Algorithm::END];
    };
}

ciphers! {
    0   c"AES-128-ECB:2.16.840.1.101.3.4.1.1"               Cipher ECB 16  0 16
    1   c"AES-192-ECB:2.16.840.1.101.3.4.1.21"              Cipher ECB 24  0 16
    2   c"AES-256-ECB:2.16.840.1.101.3.4.1.41"              Cipher ECB 32  0 16
    3   c"AES-128-CBC:AES128:2.16.840.1.101.3.4.1.2"        Cipher CBC 16 16 16
    4   c"AES-192-CBC:AES192:2.16.840.1.101.3.4.1.22"       Cipher CBC 24 16 16
    5   c"AES-256-CBC:AES256:2.16.840.1.101.3.4.1.42"       Cipher CBC 32 16 16
    6   c"AES-128-CTR"                                      Cipher CTR 16 16  1
    7   c"AES-192-CTR"                                      Cipher CTR 24 16  1
    8   c"AES-256-CTR"                                      Cipher CTR 32 16  1
    9   c"AES-128-GCM:id-aes128-GCM:2.16.840.1.101.3.4.1.6"  Sealer GCM 16 12  1
    10  c"AES-192-GCM:id-aes192-GCM:2.16.840.1.101.3.4.1.26" Sealer GCM 24 12  1
    11  c"AES-256-GCM:id-aes256-GCM:2.16.840.1.101.3.4.1.46" Sealer GCM 32 12  1
    12  c"AES-128-CCM:id-aes128-CCM:2.16.840.1.101.3.4.1.7"  Sealer CCM 16  7  1
    13  c"AES-192-CCM:id-aes192-CCM:2.16.840.1.101.3.4.1.27" Sealer CCM 24  7  1
    14  c"AES-256-CCM:id-aes256-CCM:2.16.840.1.101.3.4.1.47" Sealer CCM 32  7  1
}

/// What a context works with, whatever its mode.
#[derive(Clone)]
pub struct Setting {
    /// Its provider.
    pub provider: Arc<Provider>,
    /// Its line of the table.
    pub line: &'static Line,
    /// The key, once there is one.
    pub key: Option<Arc<Held>>,
    /// Whether it encrypts.
    pub encrypts: bool,
}

/// A place for what is made of a message, and the message. Either may be null.
pub struct Message {
    /// Where it goes.
    pub start: *mut u8,
    /// Where its length goes.
    pub length: *mut usize,
    /// As much as there may be.
    pub room: usize,
    /// Where the message is.
    pub from: *const u8,
    /// Its length.
    pub bytes: usize,
}

/// A cipher's context.
pub trait Context: Sized {
    /// What a key that was given as bytes is for.
    const USAGES: Usages;
    /// Whether such a key's nonces are the caller's.
    const IS_CALLER_NONCE: bool;
    /// What of a context can be asked, and what can be set.
    const GETTABLE: &'static [Param];
    const SETTABLE: &'static [Param];

    /// One that has not begun.
    fn new(setting: Setting) -> Self;

    /// The same once more.
    fn copy(&self) -> Done<Self>;

    /// What it works with.
    fn setting(&mut self) -> &mut Setting;

    /// Begins anew, under another IV if there is one.
    fn start(&mut self, iv: Option<&[u8]>) -> Done;

    /// Leaves what is under way at the device, if that is where it is.
    fn cancel(&mut self) {}

    /// Takes a parameter of the mode's own.
    fn set(&mut self, key: &[u8], param: &Param) -> Done;

    /// Tells one.
    fn get(&self, key: &[u8], param: &mut Param) -> Done;

    /// Works on a part of the message.
    ///
    /// # Safety
    /// What the pointers point to is there, or they are null.
    unsafe fn update(&mut self, message: Message) -> Done;

    /// Ends the message.
    ///
    /// # Safety
    /// As of [`Context::update`].
    unsafe fn finish(&mut self, message: Message) -> Done;
}

/// Works under this key from now on.
fn hold<C: Context>(this: &mut C, key: Arc<Held>) -> Done {
    this.cancel();
    let setting = this.setting();
    let fits = secret::aes(setting.line.key_bytes) == Some(key.algorithm);
    setting.key = Some(key).filter(|_| fits);
    if fits { Ok(()) } else { Err(setting.provider.refuse(Status::WrongPurpose)) }
}

/// # Safety
/// The list is null or ends.
unsafe fn set_all<C: Context>(this: &mut C, params: *mut Param) -> Done {
    trust!(each(params, |key, param| {
        match key {
            b"keylen" if param.get() != Some(this.setting().line.key_bytes as i64) => Err(Failed),
            b"selvedge-key" => {
                let key = Held::named(&this.setting().provider, param)?;
                hold(this, key)
            }
            _ => this.set(key, param),
        }
    }))
}

/// # Safety
/// What the pointers point to is there, or they are null.
unsafe fn begin<C: Context>(
    this: &mut C,
    (iv, iv_bytes): (*const u8, usize),
    params: *mut Param,
    encrypts: bool,
) -> Done {
    let iv_bytes = if iv.is_null() { 0 } else { iv_bytes };
    let iv = trust!(bytes(iv, iv_bytes))?;
    this.setting().encrypts = encrypts;
    this.start(Some(iv).filter(|iv| !iv.is_empty()))?;
    trust!(set_all(this, params))
}

/// Works under bytes, which become a key of the device.
fn lend<C: Context>(this: &mut C, key: &[u8]) -> Done {
    let setting = this.setting();
    if key.len() != setting.line.key_bytes {
        return Err(Failed);
    }
    setting.key = Some(Held::aes(&setting.provider, C::USAGES, C::IS_CALLER_NONCE, key)?);
    Ok(())
}

unsafe extern "C" fn new<C: Context, const NUMBER: usize>(context: *const Provider) -> *mut C {
    make(|| {
        let provider = trust!(provider(context))?;
        Ok(C::new(Setting { provider, line: &LINES[NUMBER], key: None, encrypts: true }))
    })
}

unsafe extern "C" fn delete<C>(this: *mut C) {
    trust!(free(this));
}

unsafe extern "C" fn copy<C: Context>(this: *mut C) -> *mut C {
    make(|| trust!(out(this))?.copy())
}

unsafe extern "C" fn start<C: Context, const ENCRYPTS: bool>(
    this: *mut C,
    key: *const u8,
    key_bytes: usize,
    iv: *const u8,
    iv_bytes: usize,
    params: *mut Param,
) -> c_int {
    guard(|| {
        let this = trust!(out(this))?;
        if !key.is_null() {
            lend(this, trust!(bytes(key, key_bytes))?)?;
        }
        trust!(begin(this, (iv, iv_bytes), params, ENCRYPTS))
    })
}

/// Since OpenSSL 3.5.
unsafe extern "C" fn start_skey<C: Context, const ENCRYPTS: bool>(
    this: *mut C,
    key: *mut Skey,
    iv: *const u8,
    iv_bytes: usize,
    params: *mut Param,
) -> c_int {
    guard(|| {
        let this = trust!(out(this))?;
        match trust!(taken(key))? {
            Skey::Given(key) => lend(this, key)?,
            Skey::Held(key, _) => hold(this, key.clone())?,
        }
        trust!(begin(this, (iv, iv_bytes), params, ENCRYPTS))
    })
}

unsafe extern "C" fn update<C: Context>(
    this: *mut C,
    start: *mut u8,
    length: *mut usize,
    room: usize,
    from: *const u8,
    bytes: usize,
) -> c_int {
    guard(|| trust!(trust!(out(this))?.update(Message { start, length, room, from, bytes })))
}

unsafe extern "C" fn finish<C: Context>(
    this: *mut C,
    start: *mut u8,
    length: *mut usize,
    room: usize,
) -> c_int {
    let message = Message { start, length, room, from: std::ptr::null(), bytes: 0 };
    guard(|| trust!(trust!(out(this))?.finish(message)))
}

unsafe extern "C" fn get<const NUMBER: usize>(params: *mut Param) -> c_int {
    let line = &LINES[NUMBER];
    guard(|| {
        trust!(each(params, |key, param| match key {
            b"mode" => param.set(line.mode),
            b"keylen" => param.set(line.key_bytes),
            b"ivlen" => param.set(line.iv_bytes),
            b"blocksize" => param.set(line.block_bytes),
            b"aead" | b"custom-iv" => param.set(line.is_aead.into()),
            b"cts" | b"tls-multi" | b"has-randkey" => param.set(0),
            _ => Ok(()),
        }))
    })
}

unsafe extern "C" fn get_of<C: Context>(this: *mut C, params: *mut Param) -> c_int {
    guard(|| {
        let this = trust!(out(this))?;
        trust!(each(params, |key, param| match key {
            b"keylen" => param.set(this.setting().line.key_bytes),
            _ => this.get(key, param),
        }))
    })
}

unsafe extern "C" fn set<C: Context>(this: *mut C, params: *mut Param) -> c_int {
    guard(|| trust!(set_all(trust!(out(this))?, params)))
}

static GETTABLE: [Param; 5] = [
    Param::number(c"mode"),
    Param::number(c"keylen"),
    Param::number(c"ivlen"),
    Param::number(c"blocksize"),
    Param::END,
];

extern "C" fn gettable(_context: *const Provider) -> *const Param {
    GETTABLE.as_ptr()
}

extern "C" fn gettable_of<C: Context>(_this: *const C, _context: *const Provider) -> *const Param {
    C::GETTABLE.as_ptr()
}

extern "C" fn settable_of<C: Context>(_this: *const C, _context: *const Provider) -> *const Param {
    C::SETTABLE.as_ptr()
}

const fn functions<C: Context, const NUMBER: usize>() -> [Dispatch; 16] {
    [
        Dispatch(1, new::<C, NUMBER> as *const c_void),
        Dispatch(2, start::<C, true> as *const c_void),
        Dispatch(3, start::<C, false> as *const c_void),
        Dispatch(4, update::<C> as *const c_void),
        Dispatch(5, finish::<C> as *const c_void),
        Dispatch(7, delete::<C> as *const c_void),
        Dispatch(8, copy::<C> as *const c_void),
        Dispatch(9, get::<NUMBER> as *const c_void),
        Dispatch(10, get_of::<C> as *const c_void),
        Dispatch(11, set::<C> as *const c_void),
        Dispatch(12, gettable as *const c_void),
        Dispatch(13, gettable_of::<C> as *const c_void),
        Dispatch(14, settable_of::<C> as *const c_void),
        Dispatch(19, start_skey::<C, true> as *const c_void),
        Dispatch(20, start_skey::<C, false> as *const c_void),
        END,
    ]
}
