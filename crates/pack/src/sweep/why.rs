//! Why cells are what they are: which functions take each other's places in a cache, and what is left with no conflict
//! at all.
//!
//! Owns: lines that were lost to others ([`cause`]), and the bounds of a cache of the same size that may keep any line,
//! with the least recently used given up and with the one given up that is used again last ([`bounds`]; L. A. Belady,
//! "A study of replacement algorithms for a virtual-storage computer", IBM Systems Journal 5(2), 1966). It counts what
//! caches lack for itself, from streams. Cells are `sweep::cells`'.

use std::collections::{BTreeMap, HashMap};

use super::cells::Penalty;
use super::runs::{Input, Ran};
use super::stacks::Geometry;
use super::{Images, Subject, Sweep};
use crate::chain::cache::LINE_BYTES_MIN;
use crate::error::SweepError;
use crate::image::Image;

const LINE_SHIFT: u32 = LINE_BYTES_MIN.trailing_zeros();

/// The lines of a run in their order, none right behind itself.
fn lines(ran: &Ran) -> Vec<u32> {
    let mut lines = Vec::new();
    for (first, words) in ran.stream.runs() {
        lines.extend(first >> LINE_SHIFT..=(first + (words - 1) * 4) >> LINE_SHIFT);
    }
    lines.dedup();
    lines
}

/// How often a cache lacks a line: in all, and by the line and the one that it was given up for.
fn lost(lines: &[u32], cache: Geometry) -> (u64, HashMap<(u32, u32), u64>) {
    let sets = cache.bytes / (1 << LINE_SHIFT) / cache.ways;
    let mut held: Vec<Vec<u32>> = vec![Vec::new(); sets as usize];
    let (mut given_up_for, mut lost, mut misses) = (HashMap::new(), HashMap::new(), 0);
    for &line in lines {
        let set = &mut held[(line % sets) as usize];
        if let Some(at) = set.iter().position(|&other| other == line) {
            set[..=at].rotate_right(1);
            continue;
        }
        misses += 1;
        if let Some(&other) = given_up_for.get(&line) {
            *lost.entry((line, other)).or_default() += 1;
        }
        if set.len() == cache.ways as usize {
            given_up_for.insert(set.pop().expect("a set has a way"), line);
        }
        set.insert(0, line);
    }
    (misses, lost)
}

/// The name of the first function that has something in a line.
fn name(subject: &Subject, image: &Image, line: u32) -> String {
    let inside = |new: u32| new >> LINE_SHIFT == line;
    let old = image.map.iter().filter(|moved| inside(moved.new)).map(|moved| moved.old).min();
    let functions = &subject.program.functions;
    let function = old.and_then(|old| functions[..functions.partition_point(|f| f.first <= old)].last());
    function.map_or_else(|| "(not moved)".to_owned(), |function| function.name.clone())
}

/// What an input takes packed beside unpacked, behind one cache in one order.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// The input.
    pub input: String,
    /// Whether it is measured, and not learnt from.
    pub is_measured: bool,
    /// Its cycles with AES, in parts of those unpacked.
    pub share: f64,
    /// What the cache lacks of the unpacked program.
    pub plain_misses: u64,
    /// And of the packed one.
    pub packed_misses: u64,
}

/// How often lines of a function were given up for lines of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The one whose lines were.
    pub first: String,
    /// The other.
    pub second: String,
    /// How often, packed.
    pub packed: u64,
    /// And unpacked.
    pub plain: u64,
}

/// Why an order is worse packed than unpacked behind a cache.
#[derive(Clone, Debug, PartialEq)]
pub struct Cause {
    /// Every input, those that are learnt from first.
    pub shares: Vec<Share>,
    /// The measured input that is worst off.
    pub input: String,
    /// There, which functions take each other's places more often than unpacked, those with the most first.
    pub conflicts: Vec<Conflict>,
}

/// What misses of a run are lines that were given up for others, by both.
type Lost = HashMap<(u32, u32), u64>;

/// Why the images of an order take what they take behind a cache.
///
/// # Errors
/// What cannot be run.
pub fn cause(sweep: &Sweep<'_>, images: &Images, cache: Geometry) -> Result<Cause, SweepError> {
    let subject = sweep.subject;
    let miss_cycles = Penalty::default().sealed_cycles();
    let mut shares = Vec::new();
    let mut worst: Option<(f64, &Input, [Lost; 2])> = None;
    for (number, input) in subject.training.iter().chain(&subject.measured).enumerate() {
        let counted = |image: &Image| {
            let ran = Ran::of(image, input, &sweep.chain, &sweep.cores[0])?;
            let (misses, lost) = lost(&lines(&ran), cache);
            Ok::<_, SweepError>((ran.cycles + miss_cycles * misses, misses, lost))
        };
        let (before, after) = (counted(&images.plain)?, counted(&images.packed.image)?);
        let share = after.0 as f64 / before.0 as f64;
        let is_measured = number >= subject.training.len();
        let (plain_misses, packed_misses) = (before.1, after.1);
        shares.push(Share { input: input.name.clone(), is_measured, share, plain_misses, packed_misses });
        if is_measured && worst.as_ref().is_none_or(|worst| share > worst.0) {
            worst = Some((share, input, [before.2, after.2]));
        }
    }
    let (_, input, lost) = worst.expect("there is an input that is measured");
    let mut pairs: BTreeMap<(String, String), [u64; 2]> = BTreeMap::new();
    for (which, (image, lost)) in [&images.plain, &images.packed.image].into_iter().zip(lost).enumerate() {
        for ((line, other), count) in lost {
            let names = (name(subject, image, line), name(subject, image, other));
            pairs.entry(names).or_default()[which] += count;
        }
    }
    let pairs = pairs.into_iter();
    let mut conflicts: Vec<Conflict> =
        pairs.map(|((first, second), [plain, packed])| Conflict { first, second, packed, plain }).collect();
    conflicts.retain(|conflict| conflict.packed > conflict.plain);
    conflicts.sort_by_key(|conflict| std::cmp::Reverse(conflict.packed - conflict.plain));
    Ok(Cause { shares, input: input.name.clone(), conflicts })
}

/// How often a cache of so many lines lacks one at least, whatever it gives up.
fn least_misses(lines: &[u32], held_max: usize) -> u64 {
    let mut next_use = vec![usize::MAX; lines.len()];
    let mut seen: HashMap<u32, usize> = HashMap::new();
    for (at, &line) in lines.iter().enumerate().rev() {
        next_use[at] = seen.insert(line, at).unwrap_or(usize::MAX);
    }
    // The one that is used again last, last; lines that never are share no place.
    let mut held: BTreeMap<usize, u32> = BTreeMap::new();
    let (mut misses, mut never) = (0, 0);
    for (at, &line) in lines.iter().enumerate() {
        if held.remove(&at) != Some(line) {
            misses += 1;
            if held.len() + never == held_max {
                if never > 0 {
                    never -= 1;
                } else {
                    held.pop_last();
                }
            }
        }
        if next_use[at] == usize::MAX {
            never += 1;
        } else {
            held.insert(next_use[at], line);
        }
    }
    misses
}

/// What a packed program takes with AES behind caches of one size, each beside the plain program as it was linked
/// behind a direct-mapped one: means over the inputs that are measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bounds {
    /// Direct-mapped.
    pub direct: f64,
    /// Any place for each line, the least recently used given up.
    pub full: f64,
    /// Any place for each line, the one given up that is used again last.
    pub least: f64,
    /// No line is ever lacked.
    pub none: f64,
    /// The share of the plain program's cycles that are its misses'.
    pub plain_missing: f64,
}

/// The bounds of the images of an order.
///
/// # Errors
/// What cannot be run.
pub fn bounds(sweep: &Sweep<'_>, images: &Images, bytes: u32) -> Result<Bounds, SweepError> {
    let penalty = Penalty::default();
    let inputs = sweep.subject.measured.len();
    let mut sums = Bounds::default();
    for number in 0..inputs {
        let before = &sweep.plain(0)[number];
        let after = &sweep.runs(&images.packed.image, number)?[0];
        let missing = penalty.memory_cycles * lost(&lines(before), Geometry::direct(bytes)).0;
        let base = (before.cycles + missing) as f64;
        let lines = lines(after);
        let share =
            |misses: u64| (after.cycles + penalty.sealed_cycles() * misses) as f64 / base / inputs as f64;
        sums.direct += share(lost(&lines, Geometry::direct(bytes)).0);
        sums.full += share(lost(&lines, Geometry::full(bytes)).0);
        sums.least += share(least_misses(&lines, (bytes >> LINE_SHIFT) as usize));
        sums.none += share(0);
        sums.plain_missing += missing as f64 / base / inputs as f64;
    }
    Ok(sums)
}
