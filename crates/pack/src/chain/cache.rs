//! A cache: which lines it holds, which it gives up, and their bytes.
//!
//! Owns: any size, ways and line, three ways of replacement, and the bytes that were brought, so that a wrong fill
//! breaks the program. [`Tags`] is a cache without bytes, for replaying what a run fetched. When a line is brought, and
//! what that takes, is `fill`'s.

use crate::error::RunError;

/// The shortest line, in bytes: a block of the cipher.
pub const LINE_BYTES_MIN: u32 = 16;
/// The longest.
pub const LINE_BYTES_MAX: u32 = 64;
/// The largest cache.
const CACHE_BYTES_MAX: u32 = 16 << 20;

/// Which line of a set makes room. An empty one always comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replacement {
    /// The one that was used least recently (LRU).
    LeastRecentlyUsed,
    /// The one that was brought least recently: first in, first out. LEON calls it least recently replaced (LRR).
    LeastRecentlyReplaced,
    /// Any, from a generator with this seed.
    Random {
        /// The seed.
        seed: u64,
    },
}

/// How a cache is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// All its lines together, in bytes.
    pub bytes: u32,
    /// How many places a line may have; 1 is direct-mapped, and `bytes / line_bytes` fully associative.
    pub ways: u32,
    /// A line, in bytes: 16, 32 or 64.
    pub line_bytes: u32,
    /// Which line makes room.
    pub replacement: Replacement,
}

impl Shape {
    /// A direct-mapped cache of 16-byte lines.
    pub const fn direct(bytes: u32) -> Shape {
        Shape { bytes, ways: 1, line_bytes: LINE_BYTES_MIN, replacement: Replacement::LeastRecentlyUsed }
    }

    /// How many sets.
    ///
    /// # Errors
    /// A shape that cannot be built.
    pub fn sets(&self) -> Result<u32, RunError> {
        let Shape { bytes, ways, line_bytes, .. } = *self;
        if !line_bytes.is_power_of_two() || !(LINE_BYTES_MIN..=LINE_BYTES_MAX).contains(&line_bytes) {
            return Err(RunError::CacheLine { found_bytes: line_bytes });
        }
        let way_bytes = ways.checked_mul(line_bytes).filter(|&way| way > 0 && bytes <= CACHE_BYTES_MAX);
        let sets = way_bytes.filter(|&way| bytes.is_multiple_of(way)).map(|way| bytes / way);
        let wrong = RunError::CacheSets { found_bytes: bytes, ways, line_bytes };
        sets.filter(|sets| sets.is_power_of_two()).ok_or(wrong)
    }
}

/// No line: an address has at least four bits inside its line.
const EMPTY: u32 = u32::MAX;

/// Which lines are in a cache.
#[derive(Clone, Debug)]
pub struct Tags {
    shape: Shape,
    line_shift: u32,
    set_mask: u32,
    /// The number of the line at each place, a set's ways side by side.
    lines: Vec<u32>,
    /// When each place was used or filled last, where that decides; else empty.
    stamps: Vec<u64>,
    clock: u64,
    random: u64,
    /// Lookups.
    pub accesses: u64,
    /// Lines that were not there.
    pub misses: u64,
}

impl Tags {
    /// An empty cache.
    ///
    /// # Errors
    /// A shape that cannot be built.
    pub fn new(shape: Shape) -> Result<Tags, RunError> {
        let sets = shape.sets()?;
        let places = (sets * shape.ways) as usize;
        let random = if let Replacement::Random { seed } = shape.replacement { seed } else { 0 };
        let stamped = shape.ways > 1 && !matches!(shape.replacement, Replacement::Random { .. });
        Ok(Tags {
            shape,
            line_shift: shape.line_bytes.trailing_zeros(),
            set_mask: sets - 1,
            lines: vec![EMPTY; places],
            stamps: if stamped { vec![0; places] } else { Vec::new() },
            clock: 0,
            random,
            accesses: 0,
            misses: 0,
        })
    }

    /// How it is built.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Looks for the line of an address: its place.
    #[inline(always)]
    pub fn find(&mut self, address: u32) -> Option<usize> {
        self.accesses += 1;
        let line = address >> self.line_shift;
        let set = (line & self.set_mask) as usize;
        if self.shape.ways == 1 {
            return (self.lines[set] == line).then_some(set);
        }
        self.find_way(set, line)
    }

    fn find_way(&mut self, set: usize, line: u32) -> Option<usize> {
        let place = self.place_of(set, line)?;
        if self.shape.replacement == Replacement::LeastRecentlyUsed {
            self.clock += 1;
            self.stamps[place] = self.clock;
        }
        Some(place)
    }

    fn place_of(&self, set: usize, line: u32) -> Option<usize> {
        let first = set * self.shape.ways as usize;
        let ways = &self.lines[first..first + self.shape.ways as usize];
        ways.iter().position(|&held| held == line).map(|way| first + way)
    }

    /// Where an address is, without looking it up.
    pub fn held(&self, address: u32) -> Option<usize> {
        let line = address >> self.line_shift;
        self.place_of((line & self.set_mask) as usize, line)
    }

    /// Makes room for the line of an address that was not found, and puts it there: its place.
    pub fn replace(&mut self, address: u32) -> usize {
        self.misses += 1;
        let line = address >> self.line_shift;
        let first = (line & self.set_mask) as usize * self.shape.ways as usize;
        let place = first + self.victim(first);
        self.lines[place] = line;
        if !self.stamps.is_empty() {
            self.clock += 1;
            self.stamps[place] = self.clock;
        }
        place
    }

    fn victim(&mut self, first: usize) -> usize {
        let ways = self.shape.ways as usize;
        if ways == 1 {
            return 0;
        }
        let Replacement::Random { .. } = self.shape.replacement else {
            // What was never filled has the stamp 0.
            let stamps = &self.stamps[first..first + ways];
            return (0..ways).min_by_key(|&way| stamps[way]).expect("a set has ways");
        };
        if let Some(empty) = self.lines[first..first + ways].iter().position(|&line| line == EMPTY) {
            return empty;
        }
        // SplitMix64.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.random ^ self.random >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % ways as u64) as usize
    }

    /// Forgets what is at a place: what was to be brought there did not come.
    fn empty(&mut self, place: usize) {
        self.lines[place] = EMPTY;
        if let Some(stamp) = self.stamps.get_mut(place) {
            *stamp = 0;
        }
    }
}

/// A cache with its bytes.
#[derive(Clone, Debug)]
pub struct Cache {
    /// Which lines it holds.
    pub tags: Tags,
    bytes: Vec<u8>,
}

impl Cache {
    /// An empty cache.
    ///
    /// # Errors
    /// A shape that cannot be built.
    pub fn new(shape: Shape) -> Result<Cache, RunError> {
        Ok(Cache { tags: Tags::new(shape)?, bytes: vec![0; shape.bytes as usize] })
    }

    /// How long its lines are, in bytes.
    #[inline(always)]
    pub fn line_bytes(&self) -> u32 {
        1 << self.tags.line_shift
    }

    /// Where in the cache's bytes an address is.
    #[inline(always)]
    pub fn find(&mut self, address: u32) -> Option<usize> {
        let place = self.tags.find(address)?;
        Some(self.offset(place, address))
    }

    /// The same, without counting a lookup or a use.
    pub fn held(&self, address: u32) -> Option<usize> {
        self.tags.held(address).map(|place| self.offset(place, address))
    }

    #[inline(always)]
    fn offset(&self, place: usize, address: u32) -> usize {
        place << self.tags.line_shift | (address & (self.line_bytes() - 1)) as usize
    }

    /// Has a line brought that was not found, and says where the address is then. The line's first address and room
    /// for it are given to whoever brings it.
    ///
    /// # Errors
    /// What the bringer says; the line is not there then.
    pub fn bring<E>(
        &mut self,
        address: u32,
        fill: impl FnOnce(u32, &mut [u8]) -> Result<(), E>,
    ) -> Result<usize, E> {
        let (place, line_bytes) = (self.tags.replace(address), self.line_bytes());
        let first = place << self.tags.line_shift;
        let line = &mut self.bytes[first..first + line_bytes as usize];
        if let Err(error) = fill(address & !(line_bytes - 1), line) {
            self.tags.empty(place);
            return Err(error);
        }
        Ok(self.offset(place, address))
    }

    /// The word at a place that was found.
    #[inline(always)]
    pub fn word(&self, at: usize) -> [u8; 4] {
        let bytes = &self.bytes[at..at + 4];
        [bytes[0], bytes[1], bytes[2], bytes[3]]
    }

    /// Bytes of one line, at a place that was found.
    pub fn bytes(&self, at: usize, count: usize) -> &[u8] {
        &self.bytes[at..at + count]
    }

    /// The same, to be changed.
    pub fn bytes_mut(&mut self, at: usize, count: usize) -> &mut [u8] {
        &mut self.bytes[at..at + count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of these lines are not there when they are asked for in turn, in a cache of one set.
    fn missed(ways: u32, replacement: Replacement, lines: &[u32]) -> Vec<u32> {
        let shape = Shape { bytes: 16 * ways, ways, line_bytes: 16, replacement };
        let mut cache = Cache::new(shape).expect("it can be built");
        let mut missed = Vec::new();
        for &line in lines {
            let address = line * 16 + 4;
            let at = cache.find(address).unwrap_or_else(|| {
                missed.push(line);
                let fill = |first: u32, bytes: &mut [u8]| -> Result<(), ()> {
                    assert_eq!(first, line * 16);
                    bytes.fill(line as u8);
                    Ok(())
                };
                cache.bring(address, fill).expect("it comes")
            });
            assert_eq!(cache.word(at), [line as u8; 4]);
        }
        assert_eq!((cache.tags.accesses, cache.tags.misses), (lines.len() as u64, missed.len() as u64));
        missed
    }

    #[test]
    fn least_recently_used_and_least_recently_replaced_differ_where_a_line_is_used_again() {
        let lines = [1, 2, 1, 3, 1, 2];
        assert_eq!(missed(2, Replacement::LeastRecentlyUsed, &lines), [1, 2, 3, 2]);
        assert_eq!(missed(2, Replacement::LeastRecentlyReplaced, &lines), [1, 2, 3, 1, 2]);
        assert_eq!(missed(1, Replacement::LeastRecentlyUsed, &lines), lines);
    }

    #[test]
    fn random_replacement_fills_empty_lines_first_and_repeats_with_its_seed() {
        let lines: Vec<u32> = (0..4).chain(0..4).chain((4..40).map(|line| line % 7)).collect();
        let of_seed = |seed| missed(4, Replacement::Random { seed }, &lines);
        assert_eq!(of_seed(7)[..4], [0, 1, 2, 3]);
        assert_eq!(of_seed(7), of_seed(7));
        assert!((8..16).any(|seed| of_seed(seed) != of_seed(7)));
    }

    #[test]
    fn a_line_that_does_not_come_is_not_there() {
        let mut cache = Cache::new(Shape::direct(32)).expect("it can be built");
        assert_eq!(cache.bring(0x20, |_, _| Err("not sound")), Err("not sound"));
        assert_eq!(cache.find(0x20), None);
    }

    #[test]
    fn a_cache_that_cannot_be_built_is_named() {
        let shape = |bytes, ways, line_bytes| Shape {
            bytes,
            ways,
            line_bytes,
            replacement: Replacement::LeastRecentlyUsed,
        };
        // Three ways are LEON's, too.
        for sound in [shape(256, 1, 16), shape(3 << 10, 3, 32), shape(16384, 256, 64)] {
            assert!(sound.sets().is_ok(), "{sound:?}");
        }
        let words = |wrong: Shape| wrong.sets().expect_err("it cannot be built").to_string();
        assert_eq!(words(shape(1024, 1, 8)), "cache line: found 8 bytes, expected 16, 32 or 64");
        for wrong in [shape(1024, 3, 16), shape(0, 1, 16), shape(1024, 0, 16), shape(1 << 30, 1, 16)] {
            let Shape { bytes, ways, .. } = wrong;
            let expected =
                format!("cache: found {bytes} bytes in {ways} ways of lines of 16 bytes, expected a ");
            assert!(words(wrong).starts_with(&expected), "{}", words(wrong));
        }
    }
}
