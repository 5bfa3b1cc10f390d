//! How a cipher begins, whichever it is: under bytes, under a key by its name, or under a key that is an object.

use std::ffi::c_int;
use std::sync::Arc;

use crate::abi::{Done, Param, bytes, each, guard, out, trust};
use crate::secret::Held;
use crate::skey::{Skey, taken};

/// A cipher's context.
pub trait Keyed {
    /// Begins anew, under another key or IV if there is one.
    fn start(&mut self, key: Option<&[u8]>, iv: Option<&[u8]>, encrypts: bool) -> Done;

    /// Works under this key from now on.
    fn hold(&mut self, key: Arc<Held>) -> Done;

    /// Takes a parameter.
    fn set(&mut self, key: &[u8], param: &Param) -> Done;
}

/// # Safety
/// What the pointers point to is there, or they are null.
unsafe fn begin<C: Keyed>(
    this: &mut C,
    key: Option<&[u8]>,
    (iv, iv_bytes): (*const u8, usize),
    params: *mut Param,
    encrypts: bool,
) -> Done {
    let iv_bytes = if iv.is_null() { 0 } else { iv_bytes };
    let iv = trust!(bytes(iv, iv_bytes))?;
    this.start(key, Some(iv).filter(|iv| !iv.is_empty()), encrypts)?;
    trust!(each(params, |key, param| this.set(key, param)))
}

/// `encrypt_init` and `decrypt_init`.
pub unsafe extern "C" fn start<C: Keyed, const ENCRYPTS: bool>(
    this: *mut C,
    key: *const u8,
    key_bytes: usize,
    iv: *const u8,
    iv_bytes: usize,
    params: *mut Param,
) -> c_int {
    guard(|| {
        let key = if key.is_null() { None } else { Some(trust!(bytes(key, key_bytes))?) };
        trust!(begin(trust!(out(this))?, key, (iv, iv_bytes), params, ENCRYPTS))
    })
}

/// `encrypt_skey_init` and `decrypt_skey_init`, since OpenSSL 3.5.
pub unsafe extern "C" fn start_skey<C: Keyed, const ENCRYPTS: bool>(
    this: *mut C,
    key: *mut Skey,
    iv: *const u8,
    iv_bytes: usize,
    params: *mut Param,
) -> c_int {
    guard(|| {
        let this = trust!(out(this))?;
        let given = match trust!(taken(key))? {
            Skey::Given(key) => Some(&key[..]),
            Skey::Named(key, _) => {
                this.hold(key.clone())?;
                None
            }
        };
        trust!(begin(this, given, (iv, iv_bytes), params, ENCRYPTS))
    })
}

/// `set_ctx_params`.
pub unsafe extern "C" fn set<C: Keyed>(this: *mut C, params: *mut Param) -> c_int {
    guard(|| {
        let this = trust!(out(this))?;
        trust!(each(params, |key, param| this.set(key, param)))
    })
}
