//! Woven functions are broken at random, one instruction at a time; the proof must reject what no longer keeps time.
//!
//! A mutant whose writes come at other cycles than the directives say must be rejected. What it computes is not what a
//! proof of time is about: a mutant that keeps time and computes something else is proved, and found by running it
//! beside the unwoven host, as every woven function is. Both kinds are counted, and the table is printed. One thing is
//! taken for granted by the proof (its head says so): pointers reach no I/O register. A mutant that breaks a pointer
//! and writes to one is counted by itself.

mod agreement;
mod mutants;
#[path = "../../cipher/tests/soak/mod.rs"]
mod soak;

use std::collections::{BTreeMap, BTreeSet};

use agreement::pair::{Done, Input, Pair, guest, read};
use agreement::{Case, input};
use mutants::mutate;
use mutants::random::{Random, seed};
use soak::is_soak;
use weave::proof::{Options, prove};

const MUTANTS: usize = 100;
const SOAK_MUTANTS: usize = 10_000;
/// Woven functions that they are made from, one more for so many mutants.
const MUTANTS_EACH: usize = 100;
const HOST_BYTES: usize = 160;

/// A woven function, and what it does.
struct Subject {
    pair: Pair,
    text: String,
    inputs: Vec<Input>,
    plain: Vec<Done>,
    written: BTreeSet<u32>,
}

impl Subject {
    /// One that is woven, and whose first write is its first event: a mutant's writes are compared from there on.
    fn random(random: &mut Random) -> Subject {
        loop {
            let bytes: Vec<u8> = (0..HOST_BYTES).map(|_| random.below(256) as u8).collect();
            let case = Case::from_bytes(&bytes);
            let pair = Pair::new(&case.host, &guest(case.guest, case.cycles));
            let (true, Ok(text)) = (pair.function != "spi_rx", case.woven(&pair)) else { continue };
            let inputs: Vec<Input> = case.seeds.iter().map(|&seed| input(seed)).collect();
            let plain = inputs.iter().map(|input| pair.host_alone(input)).collect();
            let written = pair.written(&inputs[0]);
            return Subject { pair, text, inputs, plain, written };
        }
    }
}

/// What became of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    /// It is no program: a branch too far, a register that is none.
    NoProgram,
    /// Rejected, and its writes come at other cycles.
    Caught,
    /// Rejected although it keeps time with these messages.
    Strict,
    /// Proved: it does the same with these messages; what they do not reach is in it too.
    Same,
    /// Proved: it keeps time, and sends other bytes or more or fewer of them, which no directive says.
    Sends,
    /// Proved: it keeps time, and computes something else or breaks the caller's registers, stack or return.
    Computes,
    /// Proved: it writes I/O registers that the guest does not write, through a pointer.
    Strays,
    /// Proved: it keeps time, and begins another message when the one that was asked for is over, as a function may.
    Repeats,
}

fn judge(subject: &Subject, mutant: &str, what: &str) -> Fate {
    let Ok(program) = read(mutant, "woven") else { return Fate::NoProgram };
    let Some(function) = program.function("woven") else { return Fate::NoProgram };
    let verdict = prove(&program, function, Options::default());
    let pair = &subject.pair;
    let runs: Vec<Done> = subject.inputs.iter().map(|input| pair.woven(&program, "woven", input)).collect();
    let strays = |done: &Done| done.stores.iter().any(|store| !subject.written.contains(&store.1));
    let is_timed = runs.iter().all(|done| pair.is_on_the_clock(&done.stores));
    let calls = || runs.iter().zip(&subject.inputs).zip(&subject.plain);
    let computes = calls().all(|((done, _), plain)| pair.computes(done, plain).is_ok());
    let sends = calls().all(|((done, input), _)| pair.keeps_time(done, input).is_ok());
    match verdict {
        Err(_) if is_timed => Fate::Strict,
        Err(_) => Fate::Caught,
        Ok(_) if runs.iter().any(strays) => Fate::Strays,
        Ok(_) if !computes && is_timed => Fate::Computes,
        Ok(_) if !sends && is_timed => Fate::Sends,
        Ok(_) if is_timed => Fate::Same,
        Ok(_) if runs.iter().zip(&subject.inputs).all(|(done, input)| pair.repeats(done, input)) => {
            Fate::Repeats
        }
        Ok(proof) => {
            let times: Vec<_> = runs.iter().map(|done| &done.stores).collect();
            panic!("{what}: proved, yet writes at {times:?}\n{mutant}\n{proof:#?}")
        }
    }
}

/// What was done, and to which instruction.
fn class(what: &str) -> String {
    let words: Vec<&str> = what.split_whitespace().collect();
    let count = if words[0] == "nop" { 3 } else { 2 };
    words[..count].join(" ")
}

#[test]
fn no_mutant_of_a_woven_function_that_loses_time_is_proved() {
    let mut random = Random(seed());
    let wanted = if is_soak() { SOAK_MUTANTS } else { MUTANTS };
    let mut fates: BTreeMap<Fate, usize> = BTreeMap::new();
    let mut survivors: BTreeMap<(Fate, String), usize> = BTreeMap::new();
    let mut subject = Subject::random(&mut random);
    let mut made = 0;
    while made < wanted {
        let Some((mutant, what)) = mutate(&subject.text, &mut random) else { continue };
        let fate = judge(&subject, &mutant, &what);
        *fates.entry(fate).or_default() += 1;
        if !matches!(fate, Fate::NoProgram | Fate::Caught | Fate::Same) {
            *survivors.entry((fate, class(&what))).or_default() += 1;
        }
        made += 1;
        if made.is_multiple_of(MUTANTS_EACH) {
            subject = Subject::random(&mut random);
        }
    }
    for (fate, count) in &fates {
        println!("{fate:?}: {count}");
    }
    for ((fate, what), count) in &survivors {
        println!("  {count:4} x {fate:?}: {what}");
    }
    let caught = fates.get(&Fate::Caught).copied().unwrap_or(0);
    // How many lose time hangs on how much of a woven function its messages reach: two functions say nothing of that.
    let expected = if is_soak() { made / 4 } else { 1 };
    assert!(caught >= expected, "only {caught} of {made} mutants lose time: the attack is too mild");
}
