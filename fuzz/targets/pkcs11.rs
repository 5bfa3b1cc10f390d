//! Any calls of the PKCS#11 module; a broker with a software device answers it.
#![no_main]
#![allow(unsafe_code)]

#[path = "../../clients/pkcs11/tests/any_calls/mod.rs"]
mod any_calls;
mod served;

use std::sync::Once;

use libfuzzer_sys::fuzz_target;

static SERVED: Once = Once::new();

fuzz_target!(|bytes: &[u8]| {
    // SAFETY: the broker's thread reads no variable of the environment.
    SERVED.call_once(|| unsafe { std::env::set_var("SELVEDGE_BROKER", served::start()) });
    any_calls::run(bytes);
});
