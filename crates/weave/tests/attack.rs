//! Hand-timed programs are proved and run to the same cycles; then they are broken at random, and the proof must
//! reject what no longer keeps time.
//!
//! A mutant whose writes come at other cycles than the original's must be rejected, with two exceptions that are
//! counted: its proof trusts a trip count, which it says, while the original's trusts none; or it does what the
//! directives leave open (which data a WS2812 gets; where in a frame its bits begin), which `is_open` decides, knowing
//! the wire and not the prover.

mod hand;
mod mutants;
#[path = "../../cipher/tests/soak/mod.rs"]
mod soak;

use std::collections::BTreeMap;

use hand::{FRAMES, Hand, UART, WS2812, prove, read, run, spi};
use mutants::mutate;
use mutants::random::{Random, seed};
use soak::is_soak;
use weave::proof::{Options, Window, prove as prove_program};

fn hands() -> Vec<Hand> {
    vec![spi(18), spi(34), spi(130), WS2812, UART, FRAMES]
}

#[test]
fn what_is_proved_is_what_runs() {
    for hand in hands() {
        let proof = prove(hand.text).unwrap_or_else(|violation| panic!("{}: {violation}", hand.name));
        for event in &proof.events {
            assert_eq!(event.deviation.unwrap_or((0, 0)), (0, 0), "{}: {event:?}", hand.name);
        }
        assert!(proof.trusted.is_empty(), "{}: {:?}", hand.name, proof.trusted);
        let Window::Cycles(window) = proof.window else { panic!("{}: {:?}", hand.name, proof.window) };
        for (byte, expected) in [0, 0xff].into_iter().zip(hand.instants) {
            let (found, ended) = run(hand.text, hand.watched, byte);
            assert!(ended, "{}", hand.name);
            assert_eq!(found, expected(), "{} with a message of {byte:#x}", hand.name);
            assert!(window > *found.last().unwrap(), "{}", hand.name);
        }
    }
}

#[test]
fn the_window_is_from_cli_to_the_restore_of_sreg() {
    // cli | ldi ld | 32 * 18 less the branch not taken | out
    let proof = prove(spi(18).text).unwrap();
    assert_eq!(proof.window, Window::Cycles(1 + 2 + 32 * 18 - 1 + 1));
    assert_eq!(proof.stack.bytes, 0);
    let proof = prove(FRAMES.text).unwrap();
    assert_eq!(proof.stack.bytes, 3);
}

/// What became of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    /// It is no program: a branch too far, a register that is none.
    NoProgram,
    /// Rejected, and its writes come at other cycles.
    Caught,
    /// Rejected although its writes come at the same cycles, for these two messages.
    Strict,
    /// Proved: its writes come at the same cycles.
    Same,
    /// Proved, under a trip count that the original does not have to trust, and that is not true.
    Trusting,
    /// Proved: it does what the directives leave open.
    Open,
}

/// Whether the directives of a program leave these writes open.
fn is_open(hand: &Hand, writes: &[u64]) -> bool {
    if hand.name == WS2812.name {
        let bits = (0..24).flat_map(|bit| {
            let early = Some(20 * bit + 6).filter(|early| writes.contains(early));
            [20 * bit].into_iter().chain(early).chain([20 * bit + 13])
        });
        return bits.eq(writes.iter().copied());
    }
    if hand.name == FRAMES.name {
        let frames = writes.chunks(6).zip(0..);
        return writes.len() == 36
            && frames.into_iter().all(|(frame, number)| {
                let bits = (0..4).map(|bit| frame[1] + 24 * bit);
                let (sync, fall) = (103 * number, 103 * number + 98);
                frame.iter().copied().eq([sync].into_iter().chain(bits).chain([fall]))
            });
    }
    false // every write is at a cycle that the directives say
}

fn judge(hand: &Hand, mutant: &str, what: &str) -> Fate {
    let Ok(program) = read(mutant) else { return Fate::NoProgram };
    let Some(function) = program.function("send") else { return Fate::NoProgram };
    let verdict = prove_program(&program, function, Options::default());
    let runs = [0, 0xff].map(|byte| run(mutant, hand.watched, byte));
    let is_same =
        runs.iter().zip(hand.instants).all(|((found, ended), expected)| *ended && *found == expected());
    match (verdict, is_same) {
        (Err(_), false) => Fate::Caught,
        (Err(_), true) => Fate::Strict,
        (Ok(_), true) => Fate::Same,
        (Ok(proof), false) if !proof.trusted.is_empty() => Fate::Trusting,
        (Ok(_), false) if runs.iter().all(|(found, ended)| *ended && is_open(hand, found)) => Fate::Open,
        (Ok(proof), false) => {
            panic!("{}: {what}: proved, yet writes at {runs:?}\n{mutant}\n{proof:#?}", hand.name)
        }
    }
}

#[test]
fn no_mutant_that_loses_time_is_proved() {
    let mut random = Random(seed());
    let wanted = if is_soak() { 10_000 } else { 400 };
    let hands = hands();
    let mut fates: BTreeMap<(Fate, &str), usize> = BTreeMap::new();
    let mut survivors: BTreeMap<String, usize> = BTreeMap::new();
    let mut made = 0;
    while made < wanted {
        let hand = &hands[random.below(hands.len())];
        let Some((mutant, what)) = mutate(hand.text, &mut random) else { continue };
        made += 1;
        let fate = judge(hand, &mutant, &what);
        *fates.entry((fate, hand.name)).or_default() += 1;
        if matches!(fate, Fate::Same | Fate::Strict | Fate::Trusting | Fate::Open) {
            *survivors.entry(format!("{:8} {fate:?}: {what}", hand.name)).or_default() += 1;
        }
    }
    for ((fate, name), count) in &fates {
        println!("{name:8} {fate:?}: {count}");
    }
    for (what, count) in &survivors {
        println!("  {count:3} x {what}");
    }
    let caught: usize =
        fates.iter().filter(|((fate, _), _)| *fate == Fate::Caught).map(|(_, count)| count).sum();
    assert!(caught * 2 > made, "only {caught} of {made} mutants lose time: the attack is too mild");
}
