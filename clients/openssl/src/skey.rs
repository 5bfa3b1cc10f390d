//! Secret keys as objects of their own, which OpenSSL has since 3.5 (EVP_SKEY(3)) and older ones do not ask for: a name of
//! the device's key, or bytes, which what is done under them gives the device. Neither is told again.

use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::Arc;

use broker::client::call::Secret;

use crate::abi::{
    Algorithm, Dispatch, Done, END, Failed, Param, Provider, Take, each, free, make, out, provider, trust,
};
use crate::secret::{self, Held};

/// One of them.
pub enum Skey {
    /// A key of the device, and its name.
    Named(Arc<Held>, CString),
    /// Bytes.
    Given(Secret),
}

/// The key that something begins with.
///
/// # Errors
/// That there is none.
///
/// # Safety
/// It is null or of [`import`].
pub unsafe fn taken<'a>(key: *mut Skey) -> Done<&'a Skey> {
    Ok(&*trust!(out(key))?)
}

unsafe extern "C" fn import(context: *const Provider, _selection: c_int, params: *mut Param) -> *mut Skey {
    make(|| {
        let (provider, mut key) = (trust!(provider(context))?, None);
        trust!(each(params, |name, param| {
            match name {
                b"selvedge-key" => {
                    let name = CString::new(param.get_text().ok_or(Failed)?).map_err(|_| Failed)?;
                    key = Some(Skey::Named(Held::named(&provider, param)?, name));
                }
                b"raw-bytes" => key = Some(Skey::Given(Secret::new(param.bytes().ok_or(Failed)?.to_vec()))),
                _ => {}
            }
            Ok(())
        }))?;
        key.ok_or(Failed)
    })
}

unsafe extern "C" fn delete(this: *mut Skey) {
    trust!(free(this));
}

extern "C" fn export(
    _this: *mut Skey,
    _selection: c_int,
    _take: Option<Take>,
    _argument: *mut c_void,
) -> c_int {
    0
}

unsafe extern "C" fn name(this: *mut Skey) -> *const c_char {
    match trust!(taken(this)) {
        Ok(Skey::Named(_, name)) => name.as_ptr(),
        _ => std::ptr::null(),
    }
}

static SETTABLE: [Param; 3] = [Param::text(secret::NAME), Param::octets(c"raw-bytes"), Param::END];

extern "C" fn settable(_context: *const Provider) -> *const Param {
    SETTABLE.as_ptr()
}

static FUNCTIONS: [Dispatch; 6] = [
    Dispatch(1, delete as *const c_void),
    Dispatch(2, import as *const c_void),
    Dispatch(3, export as *const c_void),
    Dispatch(5, name as *const c_void),
    Dispatch(6, settable as *const c_void),
    END,
];

/// The kinds of secret keys, by OpenSSL's names.
pub static ALGORITHMS: [Algorithm; 3] =
    [Algorithm::new(c"AES", &FUNCTIONS), Algorithm::new(c"GENERIC-SECRET", &FUNCTIONS), Algorithm::END];
