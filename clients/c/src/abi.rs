//! Where C calls in and out: panics stop here, pointers are looked at before they are used, and numbers become types.

use std::ffi::{CStr, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

use broker::Error;
use broker::client::blocking::Client;
use broker::limits::KEY_NAME_BYTES_MAX;
use broker::parameters::{Aead as Sealing, Hash, Mode, Scheme, Suite};
use broker::template::{Algorithm, Template as Made, Usages};
use broker::wire::Status;

const ARGUMENT: c_int = -1;
const ROOM: c_int = -2;
const UNREACHABLE: c_int = -3;
const DISCONNECTED: c_int = -4;
const ANSWER: c_int = -5;
/// A bug of ours.
pub const BUG: c_int = -6;

/// What a function gives: nothing, or the status.
pub type Done<T = ()> = Result<T, c_int>;

/// What a caller promises in `selvedge.h`: that so many bytes are there, and nobody else's.
macro_rules! trust {
    ($call:expr) => {{
        // SAFETY: the promise above, which no callee can check further than for null and length.
        #[allow(unused_unsafe)]
        unsafe {
            $call
        }
    }};
}
pub(crate) use trust;

/// Carries a call out.
pub fn guard(call: impl FnOnce() -> Done) -> c_int {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => 0,
        Ok(Err(status)) => status,
        Err(_) => BUG,
    }
}

/// Functions of the header, whose bodies are [`guard`]ed.
macro_rules! entries {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)*) => {
        $(
            /// As in `selvedge.h`.
            ///
            /// # Safety
            /// The pointers are what that says.
            #[unsafe(no_mangle)]
            #[allow(clippy::too_many_arguments)]
            pub unsafe extern "C" fn $name($($argument: $type),*) -> std::ffi::c_int {
                $crate::abi::guard(|| $body)
            }
        )*
    };
}
pub(crate) use entries;

/// The number of an error.
pub fn failed(error: &Error) -> c_int {
    match error {
        Error::Refused { status, .. } => status.number().into(),
        Error::TooLong { .. } => Status::Oversize.number().into(),
        Error::Io { .. } => UNREACHABLE,
        Error::Disconnected => DISCONNECTED,
        _ => ANSWER,
    }
}

/// The sentence of a number.
pub fn meaning(status: c_int) -> &'static CStr {
    macro_rules! sentences {
        ($($status:ident)*) => {
            match u16::try_from(status).ok().and_then(Status::from_number) {
                $(Some(Status::$status) => {
                    const TEXT: &str = Status::$status.meaning();
                    const BYTES: [u8; TEXT.len() + 1] = ended(TEXT);
                    const SENTENCE: &CStr = match CStr::from_bytes_with_nul(&BYTES) {
                        Ok(sentence) => sentence,
                        Err(_) => panic!("it is ended"),
                    };
                    SENTENCE
                })*
                None => own(status),
            }
        };
    }
    sentences! {
        Done Malformed Oversize Version UnknownOperation WrongParameters UnknownKey Rejected DuplicateRequest Busy
        ConnectionsFull Stopping DeviceUnavailable DeviceLost DeviceSilent WireCorrupt DeviceFault WrongPurpose TooLate
        NameTaken DeviceFull UnknownContext WholeOnly NotPermitted UnknownUser StoreFull
    }
}

const fn ended<const N: usize>(text: &str) -> [u8; N] {
    let mut bytes = [0; N];
    let mut at = 0;
    while at < text.len() {
        bytes[at] = text.as_bytes()[at];
        at += 1;
    }
    bytes
}

fn own(status: c_int) -> &'static CStr {
    match status {
        ARGUMENT => c"an argument is null, too long, or a number that is in no table",
        ROOM => c"the answer is longer than its place",
        UNREACHABLE => c"no broker listens",
        DISCONNECTED => c"the broker went away, and may have done what was asked",
        ANSWER => c"what came is no answer",
        BUG => c"a bug of the library's",
        _ => c"no status",
    }
}

/// # Errors
/// When it is null.
///
/// # Safety
/// It is there.
pub unsafe fn client<'a>(this: *mut Client) -> Done<&'a Client> {
    // SAFETY: the caller's promise.
    unsafe { this.as_ref() }.ok_or(ARGUMENT)
}

/// # Errors
/// When it is null.
///
/// # Safety
/// It is there.
pub unsafe fn out<'a, T>(place: *mut T) -> Done<&'a mut T> {
    // SAFETY: the caller's promise.
    unsafe { place.as_mut() }.ok_or(ARGUMENT)
}

/// # Errors
/// When they are nowhere, or more than there can be.
///
/// # Safety
/// So many are there.
pub unsafe fn bytes<'a>(start: *const u8, length: usize) -> Done<&'a [u8]> {
    match (length, start.is_null()) {
        (0, _) => Ok(&[]),
        (_, false) if length <= isize::MAX as usize => {
            // SAFETY: not null, within an allocation's size; the rest is the caller's promise.
            Ok(unsafe { std::slice::from_raw_parts(start, length) })
        }
        _ => Err(ARGUMENT),
    }
}

/// A name.
///
/// # Errors
/// When it is null or too long.
///
/// # Safety
/// It is a text.
pub unsafe fn text<'a>(start: *const c_char) -> Done<&'a [u8]> {
    if start.is_null() {
        return Err(ARGUMENT);
    }
    // SAFETY: not null; the rest is the caller's promise.
    let text = unsafe { CStr::from_ptr(start) }.to_bytes();
    if (1..=KEY_NAME_BYTES_MAX as usize).contains(&text.len()) { Ok(text) } else { Err(ARGUMENT) }
}

/// A place for an answer.
pub struct Room<'a> {
    start: *mut u8,
    length: &'a mut usize,
}

impl Room<'_> {
    /// # Errors
    /// When it is nowhere.
    ///
    /// # Safety
    /// So much room is there.
    pub unsafe fn new<'a>(start: *mut u8, length: *mut usize) -> Done<Room<'a>> {
        // SAFETY: the caller's promise.
        let length = unsafe { out(length)? };
        if start.is_null() && *length > 0 { Err(ARGUMENT) } else { Ok(Room { start, length }) }
    }

    /// Gives these bytes, or says how many there are.
    ///
    /// # Errors
    /// When there is too little room.
    pub fn fill(self, bytes: &[u8]) -> Done {
        let fits = bytes.len() <= *self.length;
        *self.length = bytes.len();
        if !fits {
            return Err(ROOM);
        }
        if !bytes.is_empty() {
            // SAFETY: the caller promised as much room as the length said, which is not none.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.start, bytes.len()) };
        }
        Ok(())
    }
}

/// `selvedge_template`.
#[repr(C)]
pub struct Template {
    name: *const c_char,
    usages: u16,
    secret_bytes: u16,
    algorithm: u8,
    persistent: u8,
    caller_nonce: u8,
    zero: u8,
}

// As a test finds it in C.
const _: () = assert!(size_of::<usize>() != 8 || size_of::<Template>() == 16);
const _: () = assert!(size_of::<usize>() != 8 || size_of::<Aead>() == 40);

/// # Errors
/// When it is null, or no template.
///
/// # Safety
/// It is there.
pub unsafe fn template(what: *const Template) -> Done<Made> {
    // SAFETY: the caller's promise.
    let what = unsafe { what.as_ref() }.ok_or(ARGUMENT)?;
    let algorithm = Algorithm::from_number(what.algorithm).ok_or(ARGUMENT)?;
    let flags = [what.persistent, what.caller_nonce];
    if flags.iter().any(|flag| *flag > 1) || what.zero != 0 {
        return Err(ARGUMENT);
    }
    Ok(Made {
        is_persistent: flags[0] == 1,
        is_caller_nonce: flags[1] == 1,
        secret_bytes: what.secret_bytes,
        // SAFETY: the caller's promise.
        name: if what.name.is_null() { Vec::new() } else { unsafe { text(what.name)? }.to_vec() },
        ..Made::new(algorithm, Usages(what.usages))
    })
}

/// `selvedge_aead`.
#[repr(C)]
pub struct Aead {
    nonce: *const u8,
    nonce_bytes: usize,
    associated_data: *const u8,
    associated_bytes: usize,
    suite: u8,
    tag_bytes: u8,
    zeros: [u8; 6],
}

/// # Errors
/// When it is null, or none.
///
/// # Safety
/// It is there.
pub unsafe fn aead<'a>(how: *const Aead) -> Done<Sealing<'a>> {
    // SAFETY: the caller's promise.
    let how = unsafe { how.as_ref() }.ok_or(ARGUMENT)?;
    let suite = match how.suite {
        1 => Suite::Gcm,
        2 => Suite::Ccm,
        3 => Suite::Ascon,
        _ => return Err(ARGUMENT),
    };
    if how.zeros != [0; 6] {
        return Err(ARGUMENT);
    }
    // SAFETY: the caller's promise.
    let (nonce, associated_data) =
        unsafe { (bytes(how.nonce, how.nonce_bytes)?, bytes(how.associated_data, how.associated_bytes)?) };
    Ok(Sealing { suite, tag_bytes: how.tag_bytes, nonce, associated_data })
}

/// # Errors
/// When the number is in no table.
pub fn hash(which: c_int) -> Done<Hash> {
    u8::try_from(which).ok().and_then(|number| Hash::from_number(number).ok()).ok_or(ARGUMENT)
}

/// # Errors
/// When the number is in no table, or an IV is wanted and null.
///
/// # Safety
/// The IV, if it is not null, is 16 bytes.
pub unsafe fn mode(which: c_int, iv: *const u8) -> Done<Mode> {
    // SAFETY: the caller's promise.
    let iv = || unsafe { iv.cast::<[u8; 16]>().as_ref() }.copied().ok_or(ARGUMENT);
    match which {
        1 => Ok(Mode::Ecb),
        2 => Ok(Mode::Cbc(iv()?)),
        3 => Ok(Mode::CbcPadded(iv()?)),
        4 => Ok(Mode::Ctr(iv()?)),
        _ => Err(ARGUMENT),
    }
}

/// # Errors
/// When a number is in no table.
pub fn scheme(way: c_int, which: c_int) -> Done<Scheme> {
    match way {
        1 => Ok(Scheme::Ecdsa(hash(which)?)),
        2 if which == 0 => Ok(Scheme::Ed25519),
        3 if which == 0 => Ok(Scheme::RsaPkcs1Sha1),
        3 => Ok(Scheme::RsaPkcs1(hash(which)?)),
        4 => Ok(Scheme::RsaPss(hash(which)?)),
        _ => Err(ARGUMENT),
    }
}
