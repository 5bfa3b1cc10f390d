//! Tests only: the invariant of the seam, checked for any peripheral.
//!
//! A random script of reads, writes, acknowledgements and pin levels is run on copies of one peripheral: one
//! is brought forward only where the script touches it, one in random steps, one cycle by cycle. All must
//! answer the same reads, emit the same effects at the same cycles and never act before they said they were
//! due.

use super::peripheral::{Effects, Peripheral, Pin};
use crate::Cycles;

/// One thing done to a peripheral.
#[derive(Clone, Copy, Debug)]
pub enum Act<R> {
    Read(R),
    Write(R, u8),
    Acknowledge(u8),
    Pin(Pin, bool),
}

/// What a run let an onlooker see.
#[derive(Debug, PartialEq)]
pub struct Seen {
    pub effects: Effects,
    pub reads: Vec<u8>,
    pub requests: Vec<u32>,
}

/// A step size from a seed (SplitMix64), 1 to `most` cycles.
fn step(seed: &mut u64, most: Cycles) -> Cycles {
    *seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *seed;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    1 + (z ^ (z >> 31)) % most
}

/// Runs `script` (gaps in cycles, at least one, and acts); between acts `advance` is called as `pace` says.
pub fn run<P: Peripheral>(
    mut peripheral: P,
    script: &[(Cycles, Act<P::Register>)],
    mut pace: impl FnMut(&mut P, Cycles, Cycles, &mut Effects),
) -> (P, Seen) {
    let mut seen = Seen { effects: Vec::new(), reads: Vec::new(), requests: Vec::new() };
    let mut now = 0;
    for &(gap, act) in script {
        let next = now + gap.max(1);
        pace(&mut peripheral, now, next, &mut seen.effects);
        now = next;
        let peeked = match act {
            Act::Read(register) if peripheral.due() > now => peripheral.peek(register, now),
            _ => None,
        };
        let (effects, requests) = (seen.effects.len(), peripheral.requests());
        peripheral.advance(now, &mut seen.effects);
        match act {
            Act::Read(register) => {
                let value = peripheral.read(register, now);
                if let Some(peeked) = peeked {
                    assert_eq!(
                        (peeked, effects, requests),
                        (value, seen.effects.len(), peripheral.requests())
                    );
                }
                seen.reads.push(value);
            }
            Act::Write(register, value) => peripheral.write(register, value, now, &mut seen.effects),
            Act::Acknowledge(bit) if peripheral.requests() & (1 << bit) != 0 => {
                peripheral.acknowledge(bit, now)
            }
            Act::Pin(pin, high) => peripheral.pin(pin, high, now, &mut seen.effects),
            Act::Acknowledge(_) => {}
        }
        seen.requests.push(peripheral.requests());
    }
    (peripheral, seen)
}

/// Asserts the invariant of the seam for `script`, and that nothing happens before it was due.
pub fn assert_steps_do_not_matter<P: Peripheral + Clone>(
    peripheral: &P,
    registers: &[P::Register],
    script: &[(Cycles, Act<P::Register>)],
    seed: u64,
) {
    eprintln!("seed {seed}");
    let (jumped_end, jumped) = run(peripheral.clone(), script, |_, _, _, _| {});
    let mut state = seed;
    let (stepped_end, stepped) = run(peripheral.clone(), script, |p, from, to, effects| {
        let mut at = from;
        loop {
            at += step(&mut state, 40);
            if at >= to {
                break;
            }
            p.advance(at, effects);
        }
    });
    let (crept_end, crept) = run(peripheral.clone(), script, |p, from, to, effects| {
        for at in from + 1..=to {
            let (due, requests, count) = (p.due(), p.requests(), effects.len());
            p.advance(at, effects);
            assert!(effects[count..].iter().all(|&(cycle, _)| cycle == at), "an effect at {at} came late");
            if effects.len() > count || p.requests() & !requests != 0 {
                assert!(due <= at, "acted at {at}, but was due at {due}");
            }
        }
    });
    let (_, followed) = run(peripheral.clone(), script, |p, _, to, effects| {
        // As the chip does it: from one due cycle to the next.
        while p.due() <= to {
            let due = p.due();
            p.advance(due, effects);
            assert!(p.due() > due, "still due at {due} after it was brought there");
        }
    });
    assert_eq!(jumped, stepped);
    assert_eq!(jumped, crept);
    assert_eq!(jumped, followed);
    let end = script.iter().map(|&(gap, _)| gap.max(1)).sum();
    for &register in registers {
        let values = [&jumped_end, &stepped_end, &crept_end].map(|p| p.clone().read(register, end));
        assert!(values.iter().all(|&v| v == values[0]), "a register differs in the end: {values:?}");
    }
}
