//! Why cells are what they are: which functions take each other's places in a cache, and what is left with no conflict
//! at all.
//!
//! Owns: packing and running a program again in one order, with its streams kept; lines that were lost to others
//! ([`cause`]); and the bounds of a cache of the same size that may keep any line, with the least recently used given
//! up and with the one given up that is used again last ([`bounds`]; L. A. Belady, "A study of replacement algorithms
//! for a virtual-storage computer", IBM Systems Journal 5(2), 1966). Cells themselves are `pack::sweep`'s.

use std::collections::{BTreeMap, HashMap};

use pack::chain;
use pack::packing::Assignment;
use pack::place::Order;
use pack::profile::Training;
use pack::sweep::{Geometry, Input, Ran, Settings, Subject, as_it_is};
use pack::{Image, tune};

const LINE_SHIFT: u32 = 4;
/// What a miss takes, with the cipher's time and without.
const MISS_CYCLES: u64 = 120;
const PLAIN_MISS_CYCLES: u64 = 80;
/// How many pairs of functions are told.
const PAIRS: usize = 8;

/// A program with its functions in one order, unpacked and packed.
struct Pair {
    plain: Image,
    packed: Image,
}

/// What the packer learns from.
fn learnt(subject: &Subject) -> Vec<Training> {
    let plain = as_it_is(&subject.program);
    subject.training.iter().map(|input| Training::of(ran(subject, &plain, input).stream)).collect()
}

fn pair(subject: &Subject, settings: &Settings, training: &[Training], order: Order) -> Pair {
    let goal = if order == Order::Hot { &settings.own_goal } else { &settings.goal };
    let image = |assignment: Assignment| {
        let settings = pack::Settings { order, assignment, ..settings.packing.clone() };
        let packed = tune::pack(&subject.program, training, &settings, goal, &Default::default());
        packed.unwrap_or_else(|error| panic!("{}: {error}", subject.name)).image
    };
    Pair { plain: image(Assignment::Words), packed: image(settings.packing.assignment) }
}

fn ran(subject: &Subject, image: &Image, input: &Input) -> Ran {
    let ran = Ran::of(image, input, &chain::Settings::default(), &subject.user);
    ran.unwrap_or_else(|error| panic!("{}: {error}", subject.name))
}

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

/// Prints what a program takes packed beside unpacked behind a cache in one order, on every input, and which functions
/// take each other's places more often than unpacked on the worst of those that are measured.
pub fn cause(subject: &Subject, settings: &Settings, seed: u64, cache: Geometry) {
    let Pair { plain, packed } = pair(subject, settings, &learnt(subject), Order::Seeded(seed));
    let Geometry { bytes, ways } = cache;
    println!("{}, {bytes} B in {ways}, order {seed}, packed to aes:", subject.name);
    let mut worst: Option<(f64, &Input, HashMap<_, _>, HashMap<_, _>)> = None;
    for (number, input) in subject.training.iter().chain(&subject.measured).enumerate() {
        let [before, after] = [&plain, &packed].map(|image| {
            let ran = ran(subject, image, input);
            let (misses, lost) = lost(&lines(&ran), cache);
            (ran.cycles + MISS_CYCLES * misses, misses, lost)
        });
        let share = after.0 as f64 / before.0 as f64;
        let is_measured = number >= subject.training.len();
        let role = if is_measured { "measured" } else { "learnt" };
        println!("  {:10} {role:8} {share:.4}  misses {} to {}", input.name, after.1, before.1);
        if is_measured && worst.as_ref().is_none_or(|worst| share > worst.0) {
            worst = Some((share, input, before.2, after.2));
        }
    }
    let Some((_, input, before, after)) = worst else { return };
    println!("  on {}, lines of the first that were given up for one of the second:", input.name);
    let mut pairs: BTreeMap<(String, String), [i64; 2]> = BTreeMap::new();
    for (which, (image, lost)) in [(&plain, before), (&packed, after)].into_iter().enumerate() {
        for ((line, other), count) in lost {
            let names = (name(subject, image, line), name(subject, image, other));
            pairs.entry(names).or_default()[which] += count as i64;
        }
    }
    let mut pairs: Vec<_> = pairs.into_iter().collect();
    pairs.sort_by_key(|(_, [before, after])| before - after);
    for ((first, second), [before, after]) in pairs.iter().take(PAIRS).filter(|(_, [b, a])| a > b) {
        println!("    {first:24} {second:24} {after:8} packed {before:8} unpacked");
    }
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

/// Prints what a program takes in the packer's own order, beside plain as it was linked, behind a direct-mapped cache
/// and behind those of its size that may keep any line.
pub fn bounds(subject: &Subject, settings: &Settings, bytes: u32) -> [f64; 3] {
    let Pair { packed, .. } = pair(subject, settings, &learnt(subject), Order::Hot);
    let given = as_it_is(&subject.program);
    let mut sums = [0.0; 3];
    for input in &subject.measured {
        let (before, after) = (ran(subject, &given, input), ran(subject, &packed, input));
        let base = before.cycles + PLAIN_MISS_CYCLES * lost(&lines(&before), Geometry::direct(bytes)).0;
        let lines = lines(&after);
        let misses = [
            lost(&lines, Geometry::direct(bytes)).0,
            lost(&lines, Geometry::full(bytes)).0,
            least_misses(&lines, (bytes >> LINE_SHIFT) as usize),
        ];
        for (sum, misses) in sums.iter_mut().zip(misses) {
            *sum +=
                (after.cycles + MISS_CYCLES * misses) as f64 / base as f64 / subject.measured.len() as f64;
        }
    }
    let [direct, full, least] = sums;
    println!(
        "{}, own order, {bytes} B: direct-mapped {direct:.3}, any place {full:.3}, and the best kept {least:.3}",
        subject.name
    );
    sums
}
