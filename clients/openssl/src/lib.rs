//! An OpenSSL 3 provider whose algorithms and keys are those of the device behind a broker.
//!
//! `OSSL_provider_init` is all that is exported; it leads to everything else. `abi` is what OpenSSL and a provider say to
//! each other, `digest` and `random` what needs no key, `secret` and `skey` keys that are secret, `aes`, `cipher`,
//! `aead`, `mac` and `kdf` what is done under them, `key` pairs and the URIs that they are found by, `file` files that
//! name one, `signature`, `decryption` and `exchange` what is done with them. There is no cipher here, no thread, and no
//! key: what is asked for goes to the broker at `$SELVEDGE_BROKER`.
//!
//! Invariant: no panic crosses into C, and no pointer is used that is null or whose length is over a limit.
#![allow(unsafe_code)]

mod abi;
mod aead;
mod aes;
mod cipher;
mod decryption;
mod digest;
mod exchange;
mod file;
mod kdf;
mod key;
mod mac;
mod random;
mod secret;
mod signature;
mod skey;

use std::ffi::{c_int, c_void};
use std::sync::Arc;
use std::time::Duration;

use broker::client::blocking::{Client, Settings};
use broker::client::place;

use abi::{Algorithm, Dispatch, END, Failed, Item, Param, Provider, each, guard, out, trust};

/// How long a busy broker is asked again: OpenSSL's callers do not.
const BUSY_MAX: Duration = Duration::from_secs(10);

/// Gives the provider.
///
/// # Safety
/// The table of the core's functions ends, and the other two are places.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn OSSL_provider_init(
    core: *const c_void,
    functions: *const Dispatch,
    ours: *mut *const Dispatch,
    context: *mut *const c_void,
) -> c_int {
    guard(|| {
        let (ours, context) = (trust!(out(ours))?, trust!(out(context))?);
        let settings = Settings { busy_max: BUSY_MAX, ..Settings::default() };
        let provider = trust!(Provider::new(core, functions, Client::at(place(), settings)));
        *context = Arc::into_raw(Arc::new(provider)).cast();
        *ours = FUNCTIONS.as_ptr();
        Ok(())
    })
}

static FUNCTIONS: [Dispatch; 6] = [
    Dispatch(1024, teardown as *const c_void),
    Dispatch(1025, gettable as *const c_void),
    Dispatch(1026, get as *const c_void),
    Dispatch(1027, query as *const c_void),
    Dispatch(1029, reasons as *const c_void),
    END,
];

unsafe extern "C" fn teardown(context: *const Provider) {
    if !context.is_null() {
        // SAFETY: the one that `OSSL_provider_init` gave away.
        let provider = unsafe { Arc::from_raw(context) };
        guard(|| {
            drop(provider);
            Ok(())
        });
    }
}

static GETTABLE: [Param; 4] =
    [Param::text(c"name"), Param::text(c"version"), Param::number(c"status"), Param::END];

extern "C" fn gettable(_context: *const Provider) -> *const Param {
    GETTABLE.as_ptr()
}

unsafe extern "C" fn get(_context: *const Provider, params: *mut Param) -> c_int {
    guard(|| {
        trust!(each(params, |key, param| match key {
            b"name" => param.set_pointer(c"Selvedge: the device behind a broker"),
            b"version" => param.set_pointer(c"0.1.0"),
            b"status" => param.set(1),
            _ => Ok(()),
        }))
    })
}

/// The algorithms of an `OSSL_OP_`.
unsafe extern "C" fn query(
    _context: *const Provider,
    operation: c_int,
    no_store: *mut c_int,
) -> *const Algorithm {
    guard(|| {
        *trust!(out(no_store))? = 0;
        Ok::<(), Failed>(())
    });
    match operation {
        1 => digest::ALGORITHMS.as_ptr(),
        2 => aes::ALGORITHMS.as_ptr(),
        3 => mac::ALGORITHMS.as_ptr(),
        4 => kdf::ALGORITHMS.as_ptr(),
        5 => random::ALGORITHMS.as_ptr(),
        10 => key::ALGORITHMS.as_ptr(),
        11 => exchange::ALGORITHMS.as_ptr(),
        12 => signature::ALGORITHMS.as_ptr(),
        13 => decryption::ALGORITHMS.as_ptr(),
        15 => skey::ALGORITHMS.as_ptr(),
        21 => file::ALGORITHMS.as_ptr(),
        22 => key::STORES.as_ptr(),
        _ => std::ptr::null(),
    }
}

unsafe extern "C" fn reasons(context: *const Provider) -> *const Item {
    // SAFETY: null, or of `OSSL_provider_init`.
    unsafe { context.as_ref() }.map_or(std::ptr::null(), |provider| provider.reasons.as_ptr())
}
