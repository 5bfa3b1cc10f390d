//! Any calls of the OpenSSL provider; a broker with a software device answers it.
#![no_main]

#[path = "../../clients/openssl/tests/any_calls/mod.rs"]
mod any_calls;
mod served;

use std::sync::Once;

use libfuzzer_sys::fuzz_target;

static SERVED: Once = Once::new();

fuzz_target!(|bytes: &[u8]| {
    SERVED.call_once(|| any_calls::prepare(&served::start()));
    any_calls::run(bytes);
});
