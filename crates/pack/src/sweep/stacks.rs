//! All caches at once that give up the line that was used least recently, from the words that a run asked for.
//!
//! Owns: a stack for each set, the line that was used last on top (after R. L. Mattson et al., "Evaluation techniques
//! for storage hierarchies", IBM Systems Journal 9(2), 1970): a line at a depth of its set's stack is in every cache of
//! so many sets that has more ways than that. Other replacements, and other lines than the cipher's blocks, are
//! `chain::stream`'s to replay.

use crate::chain::Shape;
use crate::chain::cache::LINE_BYTES_MIN;
use crate::error::RunError;

/// A cache of 16-byte lines that gives up the one that was used least recently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Geometry {
    /// All its lines together, in bytes.
    pub bytes: u32,
    /// How many places a line may have.
    pub ways: u32,
}

impl Geometry {
    /// One place for each line.
    pub const fn direct(bytes: u32) -> Geometry {
        Geometry { bytes, ways: 1 }
    }

    /// Any place for each line.
    pub const fn full(bytes: u32) -> Geometry {
        Geometry { bytes, ways: bytes / LINE_BYTES_MIN }
    }

    /// Whether a line may be anywhere.
    pub fn is_full(self) -> bool {
        self.ways == self.bytes / LINE_BYTES_MIN
    }

    /// How a chain is told.
    pub const fn shape(self) -> Shape {
        Shape { ways: self.ways, ..Shape::direct(self.bytes) }
    }
}

/// No line: an address has at least four bits inside its line.
const EMPTY: u32 = u32::MAX;

/// The stacks of caches with as many sets.
#[derive(Clone, Debug)]
struct Sets {
    mask: u32,
    depth: usize,
    /// Every set's stack, the top first.
    lines: Vec<u32>,
    /// How often a line was found, by its depth.
    found: Vec<u64>,
}

impl Sets {
    fn new(sets: u32, depth: u32) -> Sets {
        let lines = vec![EMPTY; (sets * depth) as usize];
        Sets { mask: sets - 1, depth: depth as usize, lines, found: vec![0; depth as usize] }
    }

    /// Uses a line: how deep it was, or that it was not there.
    #[inline(always)]
    fn ask(&mut self, line: u32) -> Option<usize> {
        let first = (line & self.mask) as usize * self.depth;
        let stack = &mut self.lines[first..first + self.depth];
        if stack[0] == line {
            self.found[0] += 1;
            return Some(0);
        }
        let depth = stack.iter().position(|&held| held == line);
        match depth {
            Some(depth) => {
                self.found[depth] += 1;
                stack.copy_within(..depth, 1);
            }
            None => stack.copy_within(..self.depth - 1, 1),
        }
        stack[0] = line;
        depth
    }
}

/// What caches would have been asked for, each from being empty.
#[derive(Clone, Debug)]
pub struct Stacks {
    sets: Vec<Sets>,
    last: u32,
    words: u64,
    /// How often another line was asked for than just before.
    turns: u64,
}

impl Stacks {
    /// Of these caches.
    ///
    /// # Errors
    /// A cache that cannot be built.
    pub fn new(caches: &[Geometry]) -> Result<Stacks, RunError> {
        let mut sets: Vec<Sets> = Vec::new();
        for cache in caches {
            let count = cache.shape().sets()?;
            match sets.iter_mut().find(|other| other.mask == count - 1) {
                Some(same) if same.depth >= cache.ways as usize => {}
                Some(same) => *same = Sets::new(count, cache.ways),
                None => sets.push(Sets::new(count, cache.ways)),
            }
        }
        Ok(Stacks { sets, last: EMPTY, words: 0, turns: 0 })
    }

    /// Words that follow each other are asked for.
    #[inline]
    pub fn ask(&mut self, first: u32, words: u32) {
        self.words += u64::from(words);
        let shift = LINE_BYTES_MIN.trailing_zeros();
        let last = first.wrapping_add((words - 1) * 4) >> shift;
        for line in first >> shift..=last {
            // What was asked for just now is on top of every stack.
            if line != self.last {
                self.last = line;
                self.turns += 1;
                self.sets.iter_mut().for_each(|sets| {
                    sets.ask(line);
                });
            }
        }
    }

    /// The same, and calls for each line with the caches that have as many sets ([`Stacks::sets_of`]), with how many
    /// ways at most they lacked it, and with its first address.
    pub fn ask_telling(&mut self, first: u32, words: u32, mut lacks: impl FnMut(usize, usize, u32)) {
        self.words += u64::from(words);
        let shift = LINE_BYTES_MIN.trailing_zeros();
        let last = first.wrapping_add((words - 1) * 4) >> shift;
        for line in first >> shift..=last {
            if line != self.last {
                self.last = line;
                self.turns += 1;
                for (number, sets) in self.sets.iter_mut().enumerate() {
                    let depth = sets.ask(line).unwrap_or(usize::MAX);
                    if depth > 0 {
                        lacks(number, depth, line << shift);
                    }
                }
            }
        }
    }

    /// The number of the caches that have as many sets as one of those that these were made for.
    ///
    /// # Panics
    /// For a cache that is none of them.
    pub fn sets_of(&self, cache: Geometry) -> usize {
        let count = cache.bytes / LINE_BYTES_MIN / cache.ways;
        let sets =
            self.sets.iter().position(|sets| sets.mask == count - 1 && sets.depth >= cache.ways as usize);
        sets.expect("it is one of those that these were made for")
    }

    /// How many words were asked for.
    pub fn words(&self) -> u64 {
        self.words
    }

    /// How often one of the caches lacked the line.
    ///
    /// # Panics
    /// For a cache that is none of them.
    pub fn misses(&self, cache: Geometry) -> u64 {
        let sets = &self.sets[self.sets_of(cache)];
        self.turns - sets.found[..cache.ways as usize].iter().sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::Stream;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_cache_lacks_what_it_lacks_alone(runs in prop::collection::vec((0u32..600, 1u32..40), 0..200)) {
            let caches = [
                Geometry::direct(256),
                Geometry { bytes: 512, ways: 2 },
                Geometry { bytes: 1024, ways: 4 },
                Geometry::direct(4096),
                Geometry::full(256),
                Geometry::full(2048),
            ];
            let mut stacks = Stacks::new(&caches).expect("they can be built");
            let mut stream = Stream::default();
            let mut telling = stacks.clone();
            let mut lacked = caches.map(|_| 0);
            for &(first, words) in &runs {
                stacks.ask(0x4000_0000 + first * 4, words);
                let numbers = caches.map(|cache| telling.sets_of(cache));
                telling.ask_telling(0x4000_0000 + first * 4, words, |sets, depth, _| {
                    for ((cache, number), lacked) in caches.iter().zip(numbers).zip(&mut lacked) {
                        *lacked += u64::from(number == sets && cache.ways as usize <= depth);
                    }
                });
                (first..first + words).for_each(|word| stream.push(0x4000_0000 + word * 4));
            }
            let alone = stream.replay(&caches.map(Geometry::shape)).expect("they can be built");
            prop_assert_eq!(caches.map(|cache| stacks.misses(cache)), lacked);
            for (cache, alone) in caches.into_iter().zip(alone) {
                prop_assert_eq!((stacks.words(), stacks.misses(cache)), (alone.accesses, alone.misses));
            }
        }
    }

    #[test]
    fn a_cache_that_cannot_be_built_is_refused() {
        assert!(Stacks::new(&[Geometry { bytes: 1024, ways: 3 }]).is_err());
    }
}
