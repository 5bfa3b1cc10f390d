//! What training runs fetched, in little: which stretches of the program followed each other.
//!
//! Owns: cutting streams into stretches that stay whole wherever functions lie ([`Trace`]), and asking caches for the
//! lines of an image that these stretches are in ([`Trace::misses`]). A stretch of instructions is a stretch of words
//! in every image, whatever order its instructions have within blocks: blocks begin and end at the same places.
//!
//! Of a long run windows are taken at even distances and put behind each other.

use std::collections::HashMap;

use crate::flow::{Flow, always_annuls};
use crate::profile::Training;

/// How many words are looked at without a gap.
const WINDOW_WORDS: u64 = 1 << 14;
/// How many words of a run are looked at, about.
const SAMPLE_WORDS: u64 = 1 << 19;
/// The sets of the caches that are asked, the smallest first: 256 B to 16 KiB of 16-byte lines, direct-mapped.
pub const SETS: [u32; 7] = [16, 32, 64, 128, 256, 512, 1024];
/// The places that a set has for lines: as many caches with as many sets.
pub const WAYS: [usize; 3] = [1, 2, 4];
const DEPTH: usize = WAYS[WAYS.len() - 1];

/// What each cache lacks, by its sets and ways.
pub type Misses = [[u64; WAYS.len()]; SETS.len()];
/// The most stretches of what is repeated, and how often it has to be.
const LOOP_TURNS_MAX: usize = 12;
const LOOP_TIMES_MIN: usize = 3;
const LINE_SHIFT: u32 = 4;
const EMPTY: u32 = u32::MAX;

/// Words that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stretch {
    /// From an item to another one of the same unit.
    Items(u32, u32),
    /// From an address to another one, which do not move.
    Fixed(u32, u32),
}

/// Stretches in the order in which they were fetched.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Each once.
    pub stretches: Vec<Stretch>,
    /// By their numbers; what is repeated is there once.
    turns: Vec<u32>,
    /// How many of the turns belong together, and how often they are repeated.
    loops: Vec<(u32, u32)>,
    /// Each run: how many loops there are until its end, and how many words it fetched.
    runs: Vec<(usize, u64)>,
}

impl Trace {
    /// Of these runs; `last_of_unit` says by item which one is the last that stays with it.
    pub fn of(flow: &Flow, last_of_unit: &[u32], training: &[Training]) -> Trace {
        let mut trace = Trace::default();
        let mut numbers: HashMap<Stretch, u32> = HashMap::new();
        let mut cut: HashMap<(u32, u32), Vec<u32>> = HashMap::new();
        for training in training {
            let windows = (SAMPLE_WORDS / WINDOW_WORDS).max(1);
            let every = (training.stream.words() / windows).max(WINDOW_WORDS);
            let (mut at, mut taken_words, mut turns) = (0, 0, Vec::new());
            for (first, words) in training.stream.runs() {
                let is_taken = at % every < WINDOW_WORDS;
                at += u64::from(words);
                if !is_taken {
                    continue;
                }
                taken_words += u64::from(words);
                let stretches = cut.entry((first, words)).or_insert_with(|| {
                    let found = stretches(flow, last_of_unit, first, words).into_iter();
                    let number = found.map(|stretch| {
                        *numbers.entry(stretch).or_insert_with(|| {
                            trace.stretches.push(stretch);
                            trace.stretches.len() as u32 - 1
                        })
                    });
                    number.collect()
                });
                turns.extend_from_slice(stretches);
            }
            trace.fold(&turns);
            trace.runs.push((trace.loops.len(), taken_words));
        }
        trace
    }

    /// How many words each run fetched.
    pub fn words(&self) -> impl Iterator<Item = u64> {
        self.runs.iter().map(|run| run.1)
    }

    /// Writes down what is repeated at once as a loop.
    fn fold(&mut self, turns: &[u32]) {
        let (mut at, mut straight) = (0, 0);
        while at < turns.len() {
            let rest = &turns[at..];
            let repeats = |length: usize| {
                let again =
                    rest.iter().skip(length).zip(rest).take_while(|(later, earlier)| later == earlier);
                again.count() / length + 1
            };
            let found = (1..=LOOP_TURNS_MAX).map(|length| (length, repeats(length)));
            let best = found.max_by_key(|&(length, times)| ((times - 1) * length, std::cmp::Reverse(length)));
            let (length, times) = best.filter(|found| found.1 >= LOOP_TIMES_MIN).unwrap_or((1, 1));
            if times > 1 {
                self.end(straight, 1);
                straight = 0;
            }
            self.turns.extend_from_slice(&rest[..length]);
            if times > 1 {
                self.end(length, times);
            } else {
                straight += 1;
            }
            at += length * times;
        }
        self.end(straight, 1);
    }

    fn end(&mut self, turns: usize, times: usize) {
        if turns > 0 {
            self.loops.push((turns as u32, times as u32));
        }
    }

    /// What caches lack in each run when these are the first and the last address of each stretch.
    pub fn misses(&self, places: &[(u32, u32)]) -> Vec<Misses> {
        let mut misses = vec![Misses::default(); self.runs.len()];
        self.ask(places, |run, _, _, depths, times| {
            for (lacking, &depth) in misses[run].iter_mut().zip(depths) {
                for (lacking, ways) in lacking.iter_mut().zip(WAYS) {
                    *lacking += if usize::from(depth) >= ways { times } else { 0 };
                }
            }
        });
        misses
    }

    /// What one direct-mapped cache lacks.
    pub fn misses_direct(&self, places: &[(u32, u32)], sets: u32) -> u64 {
        let lines: Vec<(u32, u32)> =
            places.iter().map(|&(first, last)| (first >> LINE_SHIFT, last >> LINE_SHIFT)).collect();
        let mut tags = vec![EMPTY; sets as usize];
        let (mut rest, mut misses) = (&self.turns[..], 0);
        for &(length, times) in &self.loops {
            let turns;
            (turns, rest) = rest.split_at(length as usize);
            for times in [1, u64::from(times) - 1].into_iter().filter(|&times| times > 0) {
                for &turn in turns {
                    let (first, last) = lines[turn as usize];
                    for line in first..=last {
                        let tag = &mut tags[(line & (sets - 1)) as usize];
                        misses += if *tag == line { 0 } else { times };
                        *tag = line;
                    }
                }
            }
        }
        misses
    }

    /// Calls for each line that some cache lacks: in which run, which stretch it was asked for by, which line, how many
    /// lines of its set were used since it was, by the sets for as many as that is not none, and how often all this is
    /// so. The line that was used last in a set is the last one that was used in its part of the set when there are
    /// more.
    pub fn ask(&self, places: &[(u32, u32)], mut lacks: impl FnMut(usize, usize, u32, &[u8], u64)) {
        let lines: Vec<(u32, u32)> =
            places.iter().map(|&(first, last)| (first >> LINE_SHIFT, last >> LINE_SHIFT)).collect();
        let mut stacks: Vec<Vec<[u32; DEPTH]>> =
            SETS.iter().map(|&sets| vec![[EMPTY; DEPTH]; sets as usize]).collect();
        let (mut rest, mut depths, mut run) = (&self.turns[..], [0; SETS.len()], 0);
        for (number, &(length, times)) in self.loops.iter().enumerate() {
            while self.runs[run].0 <= number {
                run += 1;
            }
            let turns;
            (turns, rest) = rest.split_at(length as usize);
            // What the second time leaves in the caches is what the first time left: all others are like it.
            let passes = [1, u64::from(times) - 1];
            for &times in &passes[..if times > 1 { 2 } else { 1 }] {
                for &turn in turns {
                    let (first, last) = lines[turn as usize];
                    for line in first..=last {
                        let deep = use_line(&mut stacks, line, &mut depths);
                        if deep > 0 {
                            lacks(run, turn as usize, line, &depths[..deep], times);
                        }
                    }
                }
            }
        }
    }
}

/// Uses a line in all caches; by sets, how many lines of its set were used since it was, and for how many of them that
/// is not none.
#[inline(always)]
fn use_line(stacks: &mut [Vec<[u32; DEPTH]>], line: u32, depths: &mut [u8; SETS.len()]) -> usize {
    for (deep, (stacks, sets)) in stacks.iter_mut().zip(SETS).enumerate() {
        let stack = &mut stacks[(line & (sets - 1)) as usize];
        if stack[0] == line {
            return deep;
        }
        let depth = stack.iter().position(|&held| held == line);
        stack.copy_within(..depth.unwrap_or(DEPTH - 1), 1);
        stack[0] = line;
        depths[deep] = depth.unwrap_or(DEPTH) as u8;
    }
    SETS.len()
}

fn stretches(flow: &Flow, last_of_unit: &[u32], first: u32, words: u32) -> Vec<Stretch> {
    let (mut found, mut at, end) = (Vec::new(), first, first + words * 4);
    while at < end {
        let Some(item) = flow.index(at) else {
            // What is not moved lies together, and so does what is left out.
            let until = (at + 4..end).step_by(4).find(|&next| flow.index(next).is_some()).unwrap_or(end);
            found.push(Stretch::Fixed(at, until - 4));
            at = until;
            continue;
        };
        let whole = last_of_unit[item].min(item as u32 + (end - at) / 4 - 1);
        // What is fetched behind the unit and annulled is whatever lies there.
        if at + (whole - item as u32 + 2) * 4 == end
            && always_annuls(flow.target, flow.items[whole as usize].word)
        {
            found.push(Stretch::Items(item as u32, whole));
            break;
        }
        found.push(Stretch::Items(item as u32, whole));
        at += (whole - item as u32 + 1) * 4;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::Stream;
    use crate::sweep::{Geometry, Stacks};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_folded_lacks_what_the_whole_lacks(
            loops in prop::collection::vec((prop::collection::vec(0u32..12, 1..14), 1usize..9), 0..20),
            places in prop::collection::vec((0u32..2000, 1u32..90), 12),
        ) {
            let turns: Vec<u32> =
                loops.iter().flat_map(|(turns, times)| turns.repeat(*times)).collect();
            let mut trace = Trace::default();
            trace.fold(&turns);
            trace.runs = vec![(trace.loops.len(), 0)];
            let places: Vec<(u32, u32)> =
                places.iter().map(|&(first, words)| (first * 4, (first + words - 1) * 4)).collect();
            let geometry = |sets: u32, ways: u32| Geometry { bytes: sets * ways * 16, ways };
            let caches = SETS.map(|sets| WAYS.map(|ways| geometry(sets, ways as u32)));
            let mut stacks = Stacks::new(&caches.concat()).expect("they can be built");
            for &turn in &turns {
                let (first, last) = places[turn as usize];
                stacks.ask(first, (last - first) / 4 + 1);
            }
            let direct = SETS.map(|sets| trace.misses_direct(&places, sets));
            let misses = trace.misses(&places)[0];
            prop_assert_eq!(direct, misses.map(|misses| misses[0]));
            prop_assert_eq!(misses, caches.map(|caches| caches.map(|cache| stacks.misses(cache))));
        }
    }

    #[test]
    fn a_short_run_is_taken_whole() {
        let mut stream = Stream::default();
        (0..100u32).for_each(|word| stream.push(0x4000_0000 + word % 10 * 4));
        let program = Flow {
            target: crate::Target::Sparc,
            items: Vec::new(),
            pieces: Vec::new(),
            padding_words: 0,
            outside: Vec::new(),
            ties: Vec::new(),
            endless: Default::default(),
        };
        let trace = Trace::of(&program, &[], &[Training::of(stream)]);
        assert_eq!(trace.stretches, [Stretch::Fixed(0x4000_0000, 0x4000_0024)]);
        assert_eq!((trace.turns.len(), trace.loops), (1, vec![(1, 10)]));
        assert_eq!(trace.runs, [(1, 100)]);
    }
}
