//! Random structured hosts, woven with guests at random periods: what is woven is proved, keeps time on the
//! simulated chip and computes what the host computes by itself; the rest is refused with a reason.
//!
//! Seeds are printed; `SELVEDGE_SOAK=1` takes many more hosts. `fuzz/` looks for hosts with the same files. A host that
//! it finds becomes a case in `structured/`, with the guest on its first line.

mod agreement;
#[path = "mutants/random.rs"]
mod random;
#[path = "../../cipher/tests/soak/mod.rs"]
mod soak;

use std::collections::BTreeMap;

use agreement::{Case, Outcome};
use random::{Random, seed};
use soak::is_soak;

/// Bytes that a host is made from, at most.
const BYTES_MAX: usize = 256;
const HOSTS: usize = 30;
const SOAK_HOSTS: usize = 20_000;

#[test]
fn proof_simulator_and_the_unwoven_host_agree() {
    let mut random = Random(seed());
    let hosts = if is_soak() { SOAK_HOSTS } else { HOSTS };
    let mut refused: BTreeMap<String, usize> = BTreeMap::new();
    let mut woven = 0;
    for _ in 0..hosts {
        let bytes: Vec<u8> = (0..16 + random.below(BYTES_MAX)).map(|_| random.below(256) as u8).collect();
        match Case::from_bytes(&bytes).agree() {
            Ok(Outcome::Woven) => woven += 1,
            Ok(Outcome::Refused(why)) => *refused.entry(why).or_default() += 1,
            Ok(Outcome::TooManyStates) => *refused.entry("the proof gives up".to_owned()).or_default() += 1,
            Err(disagreement) => panic!("{disagreement}"),
        }
    }
    println!("{woven} of {hosts} hosts are woven, proved, and right on the simulated chip");
    for (why, count) in &refused {
        println!("  {count:4} refused: {why}");
    }
    assert!(woven * 2 > hosts, "only {woven} of {hosts} hosts are woven: the test does not bite");
}

/// What once disagreed.
const TEXTS: [&str; 6] = [
    include_str!("structured/beside.s"),
    include_str!("structured/bit.s"),
    include_str!("structured/callees_loop.s"),
    include_str!("structured/guests_bit.s"),
    include_str!("structured/kept.s"),
    include_str!("structured/over.s"),
];

#[test]
fn what_once_disagreed_agrees() {
    for text in TEXTS {
        match Case::from_text(text).agree() {
            Ok(Outcome::Woven) => {}
            Ok(Outcome::Refused(why)) => panic!("refused: {why}\n{text}"),
            Ok(Outcome::TooManyStates) => panic!("the proof gives up\n{text}"),
            Err(disagreement) => panic!("{disagreement}"),
        }
    }
}

/// Its flags live where the guest has time for its own work and not for saving them.
#[test]
fn a_host_whose_flags_would_make_the_guest_late_is_refused() {
    let case = Case::from_text(include_str!("structured/late.s"));
    assert!(matches!(case.agree(), Ok(Outcome::Refused(_))));
}
