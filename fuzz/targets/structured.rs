//! Looks for a structured host that is woven, and not proved, late on the simulated chip, or wrong in what it computes.
//! The hosts are those of `crates/weave/tests/structured.rs`. Refusals are counted.
#![no_main]

#[path = "../../crates/weave/tests/agreement/mod.rs"]
mod agreement;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use agreement::{Case, Outcome};
use libfuzzer_sys::fuzz_target;

static HOSTS: AtomicU64 = AtomicU64::new(0);
static REFUSED: AtomicU64 = AtomicU64::new(0);
/// Hosts between two lines that say how many were refused.
const SAID_EVERY: u64 = 1000;

fuzz_target!(|bytes: &[u8]| {
    match Case::from_bytes(bytes).agree() {
        Ok(Outcome::Woven) => {}
        Ok(Outcome::Refused(_) | Outcome::TooManyStates) => drop(REFUSED.fetch_add(1, Relaxed)),
        Err(disagreement) => panic!("{disagreement}"),
    }
    let hosts = HOSTS.fetch_add(1, Relaxed) + 1;
    if hosts.is_multiple_of(SAID_EVERY) {
        eprintln!("{hosts} hosts, {} refused", REFUSED.load(Relaxed));
    }
});
