//! What OpenSSL and a provider say to each other: tables of functions, parameters, errors (provider-base(7),
//! OSSL_PARAM(3)). The structures are `openssl/core.h`'s, the numbers `openssl/core_dispatch.h`'s.
//!
//! Panics stop here, and pointers are looked at before they are used.
#![allow(clippy::missing_safety_doc)]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use broker::Error;
use broker::client::blocking::Client;
use broker::client::call::{Call, Secret};
use broker::client::foreign::openssl_reason;
use broker::wire::Status;

/// `OSSL_DISPATCH`.
#[repr(C)]
pub struct Dispatch(pub c_int, pub *const c_void);
// SAFETY: the pointers are to functions.
unsafe impl Sync for Dispatch {}

/// The end of a table of functions.
pub const END: Dispatch = Dispatch(0, std::ptr::null());

/// `OSSL_ALGORITHM`.
#[repr(C)]
pub struct Algorithm {
    names: *const c_char,
    properties: *const c_char,
    functions: *const Dispatch,
    description: *const c_char,
}
// SAFETY: the pointers are to what is never changed.
unsafe impl Sync for Algorithm {}

impl Algorithm {
    /// The end of a table of algorithms.
    pub const END: Algorithm = Algorithm {
        names: std::ptr::null(),
        properties: std::ptr::null(),
        functions: std::ptr::null(),
        description: std::ptr::null(),
    };

    /// One, by its names.
    pub const fn new(names: &'static CStr, functions: &'static [Dispatch]) -> Algorithm {
        Algorithm::with(names, c"provider=selvedge", functions)
    }

    /// One with these properties.
    pub const fn with(
        names: &'static CStr,
        properties: &'static CStr,
        functions: &'static [Dispatch],
    ) -> Algorithm {
        Algorithm {
            names: names.as_ptr(),
            properties: properties.as_ptr(),
            functions: functions.as_ptr(),
            description: std::ptr::null(),
        }
    }
}

const INTEGER: c_uint = 1;
const UNSIGNED: c_uint = 2;
const UTF8: c_uint = 4;
const OCTETS: c_uint = 5;
const UTF8_POINTER: c_uint = 6;

/// `OSSL_PARAM`.
#[repr(C)]
pub struct Param {
    key: *const c_char,
    kind: c_uint,
    data: *mut c_void,
    size: usize,
    returned: usize,
}
// SAFETY: those that are shared, in statics, point to their names only.
unsafe impl Sync for Param {}

impl Param {
    /// The end of a list.
    pub const END: Param = Param::new(std::ptr::null(), 0, std::ptr::null_mut(), 0);

    const fn new(key: *const c_char, kind: c_uint, data: *mut c_void, size: usize) -> Param {
        Param { key, kind, data, size, returned: usize::MAX }
    }

    /// A number that can be asked for, or given.
    pub const fn number(key: &'static CStr) -> Param {
        Param::new(key.as_ptr(), UNSIGNED, std::ptr::null_mut(), 0)
    }

    /// A text that can be.
    pub const fn text(key: &'static CStr) -> Param {
        Param::new(key.as_ptr(), UTF8, std::ptr::null_mut(), 0)
    }

    /// Bytes that can be.
    pub const fn octets(key: &'static CStr) -> Param {
        Param::new(key.as_ptr(), OCTETS, std::ptr::null_mut(), 0)
    }

    /// A text that is given to OpenSSL.
    pub fn of_text(key: &'static CStr, text: &CStr) -> Param {
        Param::new(key.as_ptr(), UTF8, text.as_ptr().cast_mut().cast(), text.count_bytes())
    }

    /// Bytes that are given to OpenSSL.
    pub fn of_octets(key: &'static CStr, bytes: &[u8]) -> Param {
        Param::new(key.as_ptr(), OCTETS, bytes.as_ptr().cast_mut().cast(), bytes.len())
    }

    /// A place as bytes, which comes back to this provider.
    pub fn of_place<T>(key: &'static CStr, place: *mut T) -> Param {
        Param::new(key.as_ptr(), OCTETS, place.cast(), size_of::<T>())
    }

    /// A number, least significant byte first, that is given to OpenSSL.
    pub fn of_number(key: &'static CStr, bytes: &[u8]) -> Param {
        Param::new(key.as_ptr(), UNSIGNED, bytes.as_ptr().cast_mut().cast(), bytes.len())
    }

    /// A small number that is given to OpenSSL.
    pub fn of_int(key: &'static CStr, number: &c_int) -> Param {
        Param::new(key.as_ptr(), INTEGER, std::ptr::from_ref(number).cast_mut().cast(), size_of::<c_int>())
    }

    fn put(&mut self, kind: c_uint, bytes: &[u8], ended: usize) -> Done {
        let is_kind = self.kind == kind || (kind == UNSIGNED && self.kind == INTEGER);
        self.returned = bytes.len();
        if self.data.is_null() {
            return Ok(());
        }
        if !is_kind || self.size < bytes.len() + ended {
            return Err(Failed);
        }
        // SAFETY: OpenSSL says that there is so much room.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.data.cast(), bytes.len());
            self.data.cast::<u8>().add(bytes.len()).write_bytes(0, ended);
        }
        Ok(())
    }

    /// Answers a number, of any length.
    pub fn set(&mut self, number: usize) -> Done {
        self.set_number(&number.to_le_bytes())
    }

    /// Answers a number, least significant byte first.
    pub fn set_number(&mut self, bytes: &[u8]) -> Done {
        let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        let room = if self.data.is_null() { 0 } else { self.size };
        let mut wide = bytes[..used].to_vec();
        wide.resize(used.max(room).max(1), 0);
        self.put(UNSIGNED, &wide, 0)
    }

    /// Answers a text.
    pub fn set_text(&mut self, text: &CStr) -> Done {
        let ended = usize::from(self.size > text.count_bytes());
        self.put(UTF8, text.to_bytes(), ended)
    }

    /// Answers where a text is that stays.
    pub fn set_pointer(&mut self, text: &'static CStr) -> Done {
        if self.kind != UTF8_POINTER || self.data.is_null() {
            return self.set_text(text);
        }
        self.returned = text.count_bytes();
        // SAFETY: OpenSSL says that there is room for a pointer.
        unsafe { self.data.cast::<*const c_char>().write(text.as_ptr()) };
        Ok(())
    }

    /// Answers bytes.
    pub fn set_octets(&mut self, bytes: &[u8]) -> Done {
        self.put(OCTETS, bytes, 0)
    }

    /// A number that was given, of up to eight bytes: a command line's has as many as it needs.
    pub fn get(&self) -> Option<i64> {
        let bytes = self.bytes().filter(|_| matches!(self.kind, INTEGER | UNSIGNED))?;
        let highest = *bytes.last()?;
        let is_negative = self.kind == INTEGER && highest >= 0x80;
        let mut wide = [if is_negative { 0xff } else { 0 }; 8];
        wide.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(i64::from_le_bytes(wide))
    }

    /// A text that was given.
    pub fn get_text(&self) -> Option<&[u8]> {
        let bytes = self.bytes().filter(|_| self.kind == UTF8)?;
        Some(bytes.split(|byte| *byte == 0).next().unwrap_or_default())
    }

    /// Length of what was given, or of the room for it.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The bytes of what was given, of whatever kind.
    pub fn bytes(&self) -> Option<&[u8]> {
        if self.data.is_null() || self.size > isize::MAX as usize {
            return None;
        }
        // SAFETY: OpenSSL says that they are there.
        Some(unsafe { std::slice::from_raw_parts(self.data.cast(), self.size) })
    }
}

/// The parameters of a list, one by one, by their names.
///
/// # Safety
/// It is null, or ends.
pub unsafe fn each(mut list: *mut Param, mut take: impl FnMut(&[u8], &mut Param) -> Done) -> Done {
    // SAFETY: the caller's promise.
    while let Some(param) = unsafe { list.as_mut() }.filter(|param| !param.key.is_null()) {
        // SAFETY: a name is a text.
        let key = unsafe { CStr::from_ptr(param.key) };
        take(key.to_bytes(), param)?;
        list = list.wrapping_add(1);
    }
    Ok(())
}

/// It did not go well; why is in OpenSSL's queue of errors, if there is more to be said.
#[derive(Debug)]
pub struct Failed;

/// What a function gives.
pub type Done<T = ()> = Result<T, Failed>;

/// What OpenSSL promises about pointers: that so many bytes are there, and nobody else's.
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

/// Carries a call out; 1 is well.
pub fn guard(call: impl FnOnce() -> Done) -> c_int {
    c_int::from(matches!(catch_unwind(AssertUnwindSafe(call)), Ok(Ok(()))))
}

/// Makes something; null is not well.
pub fn make<T>(call: impl FnOnce() -> Done<T>) -> *mut T {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(made)) => Box::into_raw(Box::new(made)),
        _ => std::ptr::null_mut(),
    }
}

/// Frees what [`make`] made.
///
/// # Safety
/// It is null, or was made so and is not used any more.
pub unsafe fn free<T>(made: *mut T) {
    if !made.is_null() {
        // SAFETY: the caller's promise.
        let made = unsafe { Box::from_raw(made) };
        guard(|| {
            drop(made);
            Ok(())
        });
    }
}

/// # Safety
/// It is null or there.
pub unsafe fn out<'a, T>(place: *mut T) -> Done<&'a mut T> {
    // SAFETY: the caller's promise.
    unsafe { place.as_mut() }.ok_or(Failed)
}

/// # Safety
/// So many are there.
pub unsafe fn bytes<'a>(start: *const u8, length: usize) -> Done<&'a [u8]> {
    match (length, start.is_null()) {
        (0, _) => Ok(&[]),
        (_, false) if length <= isize::MAX as usize => {
            // SAFETY: not null, within an allocation's size; the rest is the caller's promise.
            Ok(unsafe { std::slice::from_raw_parts(start, length) })
        }
        _ => Err(Failed),
    }
}

/// Gives these bytes.
///
/// # Safety
/// So much room is there.
pub unsafe fn give(given: &[u8], start: *mut u8, length: *mut usize, room: usize) -> Done {
    // SAFETY: the caller's promise.
    let length = unsafe { out(length)? };
    if given.len() > room || (start.is_null() && !given.is_empty()) {
        return Err(Failed);
    }
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(given.as_ptr(), start, given.len()) };
    *length = given.len();
    Ok(())
}

/// `OSSL_ITEM`.
#[repr(C)]
pub struct Item {
    /// A number.
    pub number: c_uint,
    /// Its text, or null.
    pub text: *const c_char,
}

/// `OSSL_CALLBACK`.
pub type Take = unsafe extern "C" fn(*const Param, *mut c_void) -> c_int;
type Read = unsafe extern "C" fn(*mut c_void, *mut u8, usize, *mut usize) -> c_int;
type NewError = unsafe extern "C" fn(*const c_void);
type SetError = unsafe extern "C" fn(*const c_void, u32, *const c_char, *mut c_void);

/// A provider that was loaded.
pub struct Provider {
    core: *const c_void,
    new_error: Option<NewError>,
    set_error: Option<SetError>,
    read: Option<Read>,
    client: Client,
    /// The texts of the errors, which OpenSSL reads whenever it likes.
    pub reasons: Vec<Item>,
}
// SAFETY: the core's functions may be called from any thread.
unsafe impl Send for Provider {}
// SAFETY: as above; the items are never changed.
unsafe impl Sync for Provider {}

/// Reasons that are no status: what the client itself met.
const UNREACHABLE: (u32, &str) = (1001, "no broker listens");
const DISCONNECTED: (u32, &str) = (1002, "the broker went away, and may have done what was asked");
const NO_ANSWER: (u32, &str) = (1003, "what came is no answer");

impl Provider {
    /// One with this client, for a core with these functions.
    ///
    /// # Safety
    /// The table ends, and its functions are what their numbers say.
    pub unsafe fn new(core: *const c_void, mut functions: *const Dispatch, client: Client) -> Provider {
        let (mut new_error, mut set_error, mut read) = (None, None, None);
        // SAFETY: the caller's promise.
        let next = |functions: *const Dispatch| unsafe { functions.as_ref() }.filter(|one| one.0 != 0);
        while let Some(Dispatch(number, function)) = next(functions) {
            match number {
                // SAFETY: the number says that the function is one of these.
                5 => new_error = Some(unsafe { std::mem::transmute::<*const c_void, NewError>(*function) }),
                // SAFETY: as above.
                7 => set_error = Some(unsafe { std::mem::transmute::<*const c_void, SetError>(*function) }),
                // SAFETY: as above.
                42 => read = Some(unsafe { std::mem::transmute::<*const c_void, Read>(*function) }),
                _ => {}
            }
            functions = functions.wrapping_add(1);
        }
        let reasons = Status::ALL
            .iter()
            .filter(|status| **status != Status::Done)
            .map(|status| openssl_reason(*status));
        let reasons = reasons.chain([UNREACHABLE, DISCONNECTED, NO_ANSWER]).map(|(number, text)| {
            // Once for a provider, which is loaded once.
            let text = std::ffi::CString::new(text).unwrap_or_default().into_raw();
            Item { number, text }
        });
        let reasons = reasons.chain([Item { number: 0, text: std::ptr::null() }]).collect();
        Provider { core, new_error, set_error, read, client, reasons }
    }

    /// Asks the broker. What it refuses is in OpenSSL's queue then.
    ///
    /// # Errors
    /// That it was refused.
    pub fn call<C: Call>(&self, call: &C) -> Done<C::Answer> {
        self.client.call(call).map_err(|error| self.raise(&error))
    }

    /// What is in one of OpenSSL's streams, as far as so many bytes.
    ///
    /// # Errors
    /// That the core does not read.
    pub fn read(&self, stream: *mut c_void, most_bytes: usize) -> Done<Secret> {
        // It may be anybody's file, such as a private key for another provider.
        let (read, mut bytes) = (self.read.ok_or(Failed)?, Secret::new(vec![0; most_bytes]));
        let mut done = 0;
        while done < most_bytes {
            let mut part = 0;
            // SAFETY: the core's own function, and as much room as it is told.
            let went_on = unsafe { read(stream, bytes[done..].as_mut_ptr(), most_bytes - done, &mut part) };
            if went_on != 1 || part == 0 {
                break;
            }
            done += part.min(most_bytes - done);
        }
        bytes.truncate(done);
        Ok(bytes)
    }

    fn raise(&self, error: &Error) -> Failed {
        let (reason, _) = match error {
            Error::Refused { status, .. } => openssl_reason(*status),
            Error::TooLong { .. } => openssl_reason(Status::Oversize),
            Error::Io { .. } => UNREACHABLE,
            Error::Disconnected => DISCONNECTED,
            _ => NO_ANSWER,
        };
        self.say(reason);
        Failed
    }

    /// Refuses what need not be asked, with the words that the device has for it.
    pub fn refuse(&self, status: Status) -> Failed {
        self.say(openssl_reason(status).0);
        Failed
    }

    fn say(&self, reason: u32) {
        if let (Some(new_error), Some(set_error)) = (self.new_error, self.set_error) {
            // Without a format no argument is looked at; a list of none, of any shape, is all zeros.
            let mut none = [0u64; 4];
            // SAFETY: the core's own functions and handle.
            unsafe {
                new_error(self.core);
                set_error(self.core, reason, std::ptr::null(), none.as_mut_ptr().cast());
            }
        }
    }
}

/// The provider that a function is given, shared.
///
/// # Safety
/// It is of `OSSL_provider_init`.
pub unsafe fn provider(context: *const Provider) -> Done<Arc<Provider>> {
    if context.is_null() {
        return Err(Failed);
    }
    // SAFETY: it was an `Arc`'s, which the core still holds.
    unsafe {
        Arc::increment_strong_count(context);
        Ok(Arc::from_raw(context))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_as_long_as_it_needs() {
        let cases: [(c_uint, &[u8], Option<i64>); 8] = [
            (UNSIGNED, &[32], Some(32)),
            (UNSIGNED, &[0xff, 0xff], Some(0xffff)),
            (INTEGER, &[0xff; 4], Some(-1)),
            (INTEGER, &[0xfe, 0xff], Some(-2)),
            (INTEGER, &[1, 0, 0, 0, 0, 0, 0, 0x80], Some(i64::MIN + 1)),
            (UNSIGNED, &[], None),
            (UNSIGNED, &[0; 9], None),
            (OCTETS, &[1], None),
        ];
        for (kind, bytes, expected) in cases {
            let param = Param::new(c"n".as_ptr(), kind, bytes.as_ptr().cast_mut().cast(), bytes.len());
            assert_eq!(param.get(), expected);
        }
    }

    #[test]
    fn a_number_fills_its_place_and_no_digits_are_zero() {
        let mut place = [0xa5u8; 8];
        for (number, expected) in [(&[][..], 0u64), (&[0, 0], 0), (&[1, 2, 0], 0x201)] {
            let mut param = Param::new(c"n".as_ptr(), UNSIGNED, place.as_mut_ptr().cast(), 8);
            param.set_number(number).unwrap();
            assert_eq!((u64::from_le_bytes(place), param.returned), (expected, 8));
            let mut question = Param::new(c"n".as_ptr(), UNSIGNED, std::ptr::null_mut(), 0);
            question.set_number(number).unwrap();
            assert_eq!(question.returned, if expected == 0 { 1 } else { 2 });
        }
    }
}
