//! Any calls of the provider, from a printed seed: it answers each. `SELVEDGE_SOAK=1` makes many more, and `fuzz/` looks
//! for such calls by itself.
#![allow(unsafe_code)]

mod any_calls;
#[expect(dead_code, reason = "no program is run and no library is loaded")]
#[path = "../../pkcs11/tests/broker_thread/mod.rs"]
mod broker_thread;
#[path = "../../../crates/weave/tests/mutants/random.rs"]
mod random;

use std::io::Write;

use broker_thread::Running;
use random::{Random, seed};

#[test]
fn the_provider_answers_any_calls() {
    let running = Running::start();
    any_calls::prepare(&running.socket);
    let is_long = std::env::var_os("SELVEDGE_SOAK").is_some_and(|soak| soak == "1");
    let seed = seed();
    // The provider lets none into C, and would answer as if it had only refused.
    std::panic::set_hook(Box::new(move |panic| {
        let _ = writeln!(std::io::stderr(), "SELVEDGE_SEED={seed}: {panic}");
        std::process::abort();
    }));
    let mut random = Random(seed);
    for _ in 0..if is_long { 50_000 } else { 1_000 } {
        let bytes: Vec<u8> = (0..1024).map(|_| random.below(256) as u8).collect();
        any_calls::run(&bytes);
    }
}
