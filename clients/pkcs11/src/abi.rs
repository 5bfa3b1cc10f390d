//! Where C calls in and out: panics stop here, and pointers are looked at before they are used.
#![allow(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};

use cryptoki_sys::{
    CK_ATTRIBUTE, CK_ATTRIBUTE_TYPE, CK_BYTE, CK_RV, CK_ULONG, CKR_ARGUMENTS_BAD, CKR_BUFFER_TOO_SMALL,
    CKR_GENERAL_ERROR, CKR_OK,
};

/// What a call gives: nothing, or why not.
pub type Done<T = ()> = Result<T, CK_RV>;

/// Most attributes of a template; PKCS#11 has about 140.
const ATTRIBUTES_MAX: usize = 256;
/// Most bytes that a caller may say are somewhere: what an allocation can have.
const BYTES_MAX: usize = isize::MAX as usize;

/// What a caller of PKCS#11 promises about its pointers: that so many bytes are there, and nobody else's.
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

/// Carries a call out. A bug is a status, and does not unwind into somebody's C.
pub fn guard(call: impl FnOnce() -> Done) -> CK_RV {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => CKR_OK,
        Ok(Err(rv)) => rv,
        Err(_) => CKR_GENERAL_ERROR,
    }
}

/// Functions of the C interface, whose bodies are [`guard`]ed.
macro_rules! entries {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)*) => {
        $(pub(crate) unsafe extern "C" fn $name($($argument: $type),*) -> cryptoki_sys::CK_RV {
            $crate::abi::guard(|| $body)
        })*
    };
}
pub(crate) use entries;

/// So many items of the caller's.
///
/// # Errors
/// `CKR_ARGUMENTS_BAD` for a null pointer to something, or for more than there can be.
///
/// # Safety
/// They are there.
pub unsafe fn items<'a, T>(start: *const T, count: CK_ULONG) -> Done<&'a [T]> {
    let count = usize::try_from(count).map_err(|_| CKR_ARGUMENTS_BAD)?;
    let fits = count.checked_mul(size_of::<T>()).is_some_and(|bytes| bytes <= BYTES_MAX);
    match (count, start.is_null()) {
        (0, _) => Ok(&[]),
        (_, false) if fits && start.is_aligned() => {
            // SAFETY: not null, aligned, within an allocation's size; the rest is the caller's promise.
            Ok(unsafe { std::slice::from_raw_parts(start, count) })
        }
        _ => Err(CKR_ARGUMENTS_BAD),
    }
}

/// The one item of the caller's to be written.
///
/// # Errors
/// `CKR_ARGUMENTS_BAD` for a null pointer.
///
/// # Safety
/// It is there.
pub unsafe fn out<'a, T>(place: *mut T) -> Done<&'a mut T> {
    if place.is_null() || !place.is_aligned() {
        return Err(CKR_ARGUMENTS_BAD);
    }
    // SAFETY: not null and aligned; the rest is the caller's promise.
    Ok(unsafe { &mut *place })
}

/// A template's attributes.
///
/// # Errors
/// As [`items`].
///
/// # Safety
/// They and their values are there.
pub unsafe fn template<'a>(start: *const CK_ATTRIBUTE, count: CK_ULONG) -> Done<Vec<Given<'a>>> {
    if count as usize > ATTRIBUTES_MAX {
        return Err(CKR_ARGUMENTS_BAD);
    }
    let given = |attribute: &CK_ATTRIBUTE| {
        // SAFETY: the caller's promise.
        let value = unsafe { items(attribute.pValue.cast::<CK_BYTE>(), attribute.ulValueLen)? };
        Ok(Given { kind: attribute.type_, value })
    };
    // SAFETY: the caller's promise.
    unsafe { items(start, count)? }.iter().map(given).collect()
}

/// An attribute as a caller gives it.
#[derive(Clone, Copy)]
pub struct Given<'a> {
    /// Which.
    pub kind: CK_ATTRIBUTE_TYPE,
    /// Its value.
    pub value: &'a [u8],
}

/// A caller's buffer and the place of its length.
pub struct Room<'a> {
    start: *mut CK_BYTE,
    length: &'a mut CK_ULONG,
}

impl Room<'_> {
    /// # Errors
    /// `CKR_ARGUMENTS_BAD` for a length that is nowhere.
    ///
    /// # Safety
    /// So much room is there.
    pub unsafe fn new<'a>(start: *mut CK_BYTE, length: *mut CK_ULONG) -> Done<Room<'a>> {
        // SAFETY: the caller's promise.
        Ok(Room { start, length: unsafe { out(length)? } })
    }

    /// Whether only the length is asked for.
    pub fn is_question(&self) -> bool {
        self.start.is_null()
    }

    /// Answers that question.
    pub fn say(&mut self, length: usize) {
        *self.length = length as CK_ULONG;
    }

    /// Gives these bytes.
    ///
    /// # Errors
    /// `CKR_BUFFER_TOO_SMALL`; the length is said then.
    pub fn fill(&mut self, bytes: &[u8]) -> Done {
        let fits = bytes.len() as CK_ULONG <= *self.length;
        self.say(bytes.len());
        if !fits {
            return Err(CKR_BUFFER_TOO_SMALL);
        }
        // SAFETY: the caller promised as much room as the length said, and it was not a question.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.start, bytes.len()) };
        Ok(())
    }
}
