//! Any calls of the module, from a printed seed: it answers each. `SELVEDGE_SOAK=1` makes many more, and `fuzz/` looks
//! for such calls by itself.
#![allow(unsafe_code)]

mod any_calls;
#[expect(dead_code, reason = "no program is run and no library is loaded")]
mod broker_thread;
#[path = "../../../crates/weave/tests/mutants/random.rs"]
mod random;

use broker_thread::Running;
use random::{Random, seed};

#[test]
fn the_module_answers_any_calls() {
    let running = Running::start();
    // SAFETY: nobody else reads or writes the environment meanwhile.
    unsafe { std::env::set_var("SELVEDGE_BROKER", &running.socket) };
    let is_long = std::env::var_os("SELVEDGE_SOAK").is_some_and(|soak| soak == "1");
    let mut random = Random(seed());
    for _ in 0..if is_long { 50_000 } else { 1_000 } {
        let bytes: Vec<u8> = (0..1024).map(|_| random.below(256) as u8).collect();
        any_calls::run(&bytes);
    }
}
