//! Which requests a processor's routines are characterised with.
//!
//! Owns the plan. Routines are measured where they are used, in powers and whole operations, since caches make their
//! cycles depend on what is around them; those of the basic layer are called alone, too. The domain is numbers of up to
//! 3072 bits in both radices: moduli of every length with exponents as long as can be afforded, and the longest
//! exponents, walked through in every way, with short moduli; and messages of up to 4096 octets. Operands are
//! `workload`'s.
//!
//! Invariant: whatever a family has of sizes (`subject`) is inside of what is planned at the default depth.

use std::collections::BTreeMap;

use crate::candidate::{Caching, Candidate, Crt, Method, Multiplication, Radix, WINDOW_BITS_MAX};
use crate::error::Error;
use crate::limits::{MODEXP_PRODUCTS, SAMPLES_LEAST};
use crate::request::Request;
use crate::space::Space;
use crate::workload::primitive::P256_WINDOW_MAX;
use crate::workload::{BASIC, Draw, Key, symmetric};

/// Lengths of keys in bits, and how many operations with each there are.
const KEYS: [(u16, usize); 6] = [(512, 48), (768, 48), (1024, 48), (1536, 48), (2048, 48), (3072, 48)];
/// Calls of each symmetric operation with messages of random lengths, for each length of keys.
const MESSAGES: usize = 4;
/// Octets of messages that are always among those of each: one or one block, a usual message, and the longest.
const MESSAGE_OCTETS: [usize; 3] = [1, 1024, 4096];
/// The shortest modulus in limbs.
const LIMBS_LEAST: usize = 2;
/// The shortest exponents in bits: all windows are full.
const EXPONENT_BITS_LEAST: usize = 16;
/// The longest modulus in bits.
pub const BITS_MAX: usize = 3072;

/// How thoroughly routines are characterised: what multiplies the requests of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Depth(pub usize);

/// A request, and whether it calls routines as they are used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// What is asked.
    pub request: Request,
    /// Whether it is an operation in which routines are used: not one of them alone, and none whose operands are so short
    /// that it is there for who calls whom.
    pub is_whole: bool,
}

/// What is asked to characterise everything that exponentiation calls.
///
/// # Errors
/// The library refuses to make a key.
pub fn plan(seed: u64, depth: Depth) -> Result<Vec<Planned>, Error> {
    let mut plan = Vec::new();
    for &radix in Radix::ALL {
        let mut draw = Draw::new(seed, radix);
        alone(&mut draw, radix, depth, &mut plan);
        powers(&mut draw, radix, depth, &mut plan);
        walks(&mut draw, radix, &mut plan);
        plan.push(largest_table(&mut draw, radix));
        products(&mut draw, radix, depth, &mut plan);
    }
    keys(seed, depth, &mut plan)?;
    meetings(seed, &mut plan)?;
    primitives(seed, depth, &mut plan)?;
    let mut draw = Draw::new(seed ^ 2, Radix::Limbs32);
    for operation in symmetric::operations() {
        // Short messages and long ones.
        let mut push = |octets, key| {
            // Cold alone: messages keep nothing, so that nobody asks for more.
            let request = draw.symmetric(operation, octets, key);
            plan.push(Planned { request, is_whole: true });
        };
        for key in 0..symmetric::KEYS {
            for turn in 0..MESSAGES * depth.0 {
                push(1..=[64, 256, 512, 1024][turn % 4], key);
            }
            for octets in MESSAGE_OCTETS {
                push(octets..=octets, key);
            }
        }
    }
    Ok(plan)
}

/// Primitives of public keys besides the private operation, of the shortest lengths.
fn primitives(seed: u64, depth: Depth, plan: &mut Vec<Planned>) -> Result<(), Error> {
    let whole = |request| Planned { request, is_whole: true };
    for &radix in Radix::ALL {
        let mut draw = Draw::new(seed ^ 3, radix);
        let of_radix = |candidate: &Candidate| candidate.radix == radix && candidate.method != Method::Fixed;
        let candidates: Vec<Candidate> = Space::All.candidates().into_iter().filter(of_radix).collect();
        for turn in 0..2 * SAMPLES_LEAST * depth.0 {
            let key = Key::generate(seed + turn as u64, 512)?;
            let candidate = candidates[draw.within(0, candidates.len() - 1)];
            plan.extend(draw.rsa(&key, candidate)?.into_iter().map(whole));
            plan.extend(draw.elgamal(candidate, 512)?.into_iter().map(whole));
            plan.extend(draw.p256(turn as u8 % (P256_WINDOW_MAX + 1))?.into_iter().map(whole));
            plan.push(whole(draw.x25519()));
            if turn < SAMPLES_LEAST {
                plan.push(whole(draw.rsa_generate(Candidate { radix, ..crate::workload::fast() }, 512)));
            }
        }
    }
    Ok(())
}

fn limbs_max(radix: Radix) -> usize {
    BITS_MAX / usize::from(radix.limb_bits())
}

/// Operations of the basic layer by themselves.
fn alone(draw: &mut Draw, radix: Radix, depth: Depth, plan: &mut Vec<Planned>) {
    for operation in BASIC {
        for turn in 0..6 * depth.0 {
            let limbs = match turn {
                0 => 3,
                1 => limbs_max(radix),
                _ => draw.within(3, limbs_max(radix)),
            };
            let request = draw.basic(operation, limbs).warm();
            plan.push(Planned { request, is_whole: false });
        }
    }
}

/// Powers by every multiplication, method and kind of caching, of moduli of all lengths.
fn powers(draw: &mut Draw, radix: Radix, depth: Depth, plan: &mut Vec<Planned>) {
    let all: Vec<Candidate> = { Space::All.candidates().into_iter() }
        .filter(|candidate| candidate.radix == radix && candidate.crt == Crt::Whole)
        .collect();
    for &multiplication in Multiplication::ALL {
        let of: Vec<&Candidate> =
            all.iter().filter(|candidate| candidate.multiplication == multiplication).collect();
        for turn in 0..24 * depth.0 {
            let candidate = *of[draw.within(0, of.len() - 1)];
            let limbs = length(draw, radix, turn);
            let exponent_limbs = exponent_limbs(draw, radix, limbs);
            let request = draw.modexp(candidate, limbs, exponent_limbs);
            let request = if draw.within(0, 1) == 1 { request.warm() } else { request };
            plan.push(Planned { request, is_whole: true });
        }
    }
}

/// Every method and window once through exponents of all shapes, with a short modulus: short ones, and longest ones
/// that are random and that have as few ones, windows and zeros in windows as there can be, and as many.
fn walks(draw: &mut Draw, radix: Radix, plan: &mut Vec<Planned>) {
    let mut ways: BTreeMap<_, Vec<Candidate>> = BTreeMap::new();
    for candidate in Space::All.candidates() {
        if candidate.radix == radix && candidate.crt == Crt::Whole {
            ways.entry((candidate.method, candidate.window_bits)).or_default().push(candidate);
        }
    }
    for ((_, window_bits), of) in ways {
        let mut push = |exponent_limbs, every: Option<usize>| {
            let candidate = of[draw.within(0, of.len() - 1)];
            let mut request = draw.modexp(candidate, LIMBS_LEAST, exponent_limbs);
            if let Some(every) = every {
                request.operands[2] = ones(request.operands[2].len(), every);
            }
            plan.push(Planned { request, is_whole: true });
        };
        push(LIMBS_LEAST, None);
        let most = limbs_max(radix);
        push(most, None);
        for every in [1, usize::from(window_bits), BITS_MAX] {
            push(most, Some(every));
        }
    }
}

/// Products of residues by themselves in every way, of the shortest, the longest and other numbers, and by 1: each is
/// all that a formula runs.
fn products(draw: &mut Draw, radix: Radix, depth: Depth, plan: &mut Vec<Planned>) {
    let is_plainest = |candidate: &Candidate| {
        let Candidate { crt, caching, window_bits, method, .. } = *candidate;
        let is_plain = (crt, caching, window_bits) == (Crt::Whole, Caching::Nothing, 1);
        candidate.radix == radix && is_plain && matches!(method, Method::Binary | Method::Fixed)
    };
    for candidate in Space::All.candidates().into_iter().filter(is_plainest) {
        let max = limbs_max(radix);
        let others = (0..depth.0).map(|_| draw.within(LIMBS_LEAST, max)).collect::<Vec<_>>();
        for limbs in [LIMBS_LEAST, max].into_iter().chain(others) {
            let mut requests = Vec::new();
            for operation in ["modmul_square", "modmul_multiply"] {
                requests.push(draw.modmul(operation, candidate, limbs));
                requests.push(draw.modmul_by_one(operation, candidate, limbs));
            }
            // The largest modulus and the least, of which digits of a quotient are estimated best and worst.
            for (every, lowest) in [(1, 0xff), (BITS_MAX, 1)] {
                let mut request = draw.modmul("modmul_multiply", candidate, limbs);
                request.operands[0] = ones(request.operands[0].len(), every);
                request.operands[0][0] = lowest;
                requests.push(request);
            }
            plan.extend(requests.into_iter().map(|request| Planned { request, is_whole: false }));
        }
    }
}

/// A number of so many octets, the lowest first, of whose bits the highest is a one and, from there on, every so
/// manieth.
fn ones(octets: usize, every: usize) -> Vec<u8> {
    let mut number = vec![0; octets];
    for place in (0..8 * octets).step_by(every) {
        number[octets - 1 - place / 8] |= 0x80 >> (place % 8);
    }
    number
}

/// The largest table that is looked through in constant time, with a short exponent.
fn largest_table(draw: &mut Draw, radix: Radix) -> Planned {
    let (method, window_bits) = (Method::Fixed, WINDOW_BITS_MAX);
    let candidate = Candidate { method, window_bits, radix, crt: Crt::Whole, ..crate::workload::fast() };
    Planned { request: draw.modexp(candidate, limbs_max(radix), 1), is_whole: true }
}

/// A length of a modulus in limbs: those that keys of usual lengths have, whole or by halves, as often as any.
fn length(draw: &mut Draw, radix: Radix, turn: usize) -> usize {
    let max = limbs_max(radix);
    match turn % 3 {
        0 => max / [12, 6, 4, 3, 2, 1][draw.within(0, 5)],
        1 => draw.within(LIMBS_LEAST, max),
        _ => draw.within(LIMBS_LEAST, max / 6),
    }
}

/// As long an exponent as can be afforded.
fn exponent_limbs(draw: &mut Draw, radix: Radix, limbs: usize) -> usize {
    let bits = MODEXP_PRODUCTS / (limbs * limbs);
    let most = (bits / usize::from(radix.limb_bits())).clamp(1, limbs_max(radix));
    draw.within(most.div_ceil(2), most)
}

/// Private operations with keys of all usual lengths, with exponents as long as can be afforded: every multiplication,
/// use of the factors, kind of caching and radix as often as the others.
fn keys(seed: u64, depth: Depth, plan: &mut Vec<Planned>) -> Result<(), Error> {
    let mut draw = Draw::new(seed ^ 1, Radix::Limbs32);
    let candidates = Space::All.candidates();
    for (bits, count) in KEYS {
        let key = Key::generate(seed, bits)?;
        let mut groups: BTreeMap<_, Vec<Candidate>> = BTreeMap::new();
        for &candidate in &candidates {
            let of = (candidate.radix, candidate.crt, candidate.multiplication);
            groups.entry(of).or_default().push(candidate);
        }
        let groups: Vec<Vec<Candidate>> = groups.into_values().collect();
        for turn in 0..count * depth.0 {
            // Any number that is prime to that of groups meets them all.
            let group = &groups[turn * 7 % groups.len()];
            let candidate = group[draw.within(0, group.len() - 1)];
            let limbs = usize::from(bits) / usize::from(candidate.radix.limb_bits());
            let limbs = if candidate.crt == Crt::Whole { limbs } else { limbs / 2 };
            let exponent_bits = MODEXP_PRODUCTS / (limbs * limbs);
            // In constant time, all bits are looked at that an exponent may have.
            if candidate.method == Method::Fixed
                && exponent_bits < limbs * usize::from(candidate.radix.limb_bits())
            {
                continue;
            }
            let request = key.shortened(exponent_bits.max(EXPONENT_BITS_LEAST)).private(candidate, seed);
            let request = if draw.within(0, 1) == 1 { request.warm() } else { request };
            plan.push(Planned { request, is_whole: true });
        }
    }
    Ok(())
}

/// Every multiplication, and its square, in every method and every use of the factors once, with the shortest moduli: what
/// one takes of the stack when it calls the other is to be seen. ElGamal's operations, which nothing ranks, meet those that
/// [`primitives`] draws.
fn meetings(seed: u64, plan: &mut Vec<Planned>) -> Result<(), Error> {
    let key = Key::generate(seed, KEYS[0].0)?;
    let mut draw = Draw::new(seed ^ 4, Radix::Limbs32);
    let mut groups: BTreeMap<_, Vec<Candidate>> = BTreeMap::new();
    for candidate in Space::All.candidates() {
        let Candidate { radix, crt, multiplication, method, squaring, .. } = candidate;
        groups.entry((radix, crt, multiplication, method, squaring)).or_default().push(candidate);
    }
    for of in groups.into_values() {
        let candidate = of[draw.within(0, of.len() - 1)];
        let request = match (candidate.crt, candidate.method) {
            (Crt::Whole, _) => Draw::new(seed ^ 4, candidate.radix).modexp(candidate, LIMBS_LEAST, 1),
            (_, Method::Fixed) => key.private(candidate, seed),
            _ => key.shortened(EXPONENT_BITS_LEAST).private(candidate, seed),
        };
        plan.push(Planned { request, is_whole: false });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ones_begin_with_the_highest_bit() {
        assert_eq!(ones(2, 1), [0xff, 0xff]);
        assert_eq!(ones(2, 5), [0b0010_0001, 0b1000_0100]);
        assert_eq!(ones(2, 16), [0, 0x80]);
    }

    #[test]
    fn every_method_and_window_walks_through_the_longest_exponents() {
        let plan = plan(1, Depth(1)).expect("the library makes keys");
        for candidate in Space::All.candidates() {
            let is_of = |planned: &&Planned| {
                planned.request.candidate.is_some_and(|other| {
                    (other.method, other.window_bits, other.radix)
                        == (candidate.method, candidate.window_bits, candidate.radix)
                })
            };
            let longest = { plan.iter() }
                .filter(|planned| planned.request.operation == "modexp")
                .filter(is_of)
                .filter(|planned| 8 * planned.request.operands[2].len() == BITS_MAX);
            assert!(longest.count() >= 4, "{candidate}");
        }
    }
}
