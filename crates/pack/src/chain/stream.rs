//! The words that a run asked its instruction cache for, and what other caches would have made of them.
//!
//! Owns: writing them down in little memory, and replaying them. Which words are asked for does not depend on the
//! cache, so that one run tells the counts of all: a test compares them with those of real runs.
//!
//! Words that follow each other are one entry: how far it begins from the end of the one before, in words, and how many
//! there are; each a number of seven bits a byte, the lowest first, with the sign of the distance in its lowest bit.

use super::cache::{Shape, Tags};
use crate::error::RunError;

/// The words that a run asked for, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stream {
    entries: Vec<u8>,
    /// The address behind what is written.
    written_end: u32,
    /// What is not written yet: the first address of words that follow each other, and the one behind them.
    first: u32,
    end: u32,
    words: u64,
}

/// What a cache would have been asked for and lacked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Words asked for.
    pub accesses: u64,
    /// Those whose line was not there.
    pub misses: u64,
}

impl Stream {
    /// Adds the word at an address.
    #[inline(always)]
    pub fn push(&mut self, address: u32) {
        self.words += 1;
        if address == self.end {
            self.end = address.wrapping_add(4);
        } else {
            self.begin(address);
        }
    }

    fn begin(&mut self, address: u32) {
        self.write();
        (self.first, self.end) = (address, address.wrapping_add(4));
    }

    /// Writes down what is not written yet.
    fn write(&mut self) {
        if self.first == self.end {
            return;
        }
        let words = (self.first.wrapping_sub(self.written_end) as i32) >> 2;
        number(&mut self.entries, (words << 1 ^ words >> 31) as u32);
        number(&mut self.entries, self.end.wrapping_sub(self.first) >> 2);
        self.written_end = self.end;
        self.first = self.end;
    }

    /// How many words it has.
    pub fn words(&self) -> u64 {
        self.words
    }

    /// How much memory it takes, in bytes.
    pub fn bytes(&self) -> usize {
        self.entries.len()
    }

    /// The words that follow each other, first address and count.
    pub fn runs(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let pending = (self.first != self.end).then(|| (self.first, self.end.wrapping_sub(self.first) >> 2));
        Runs { entries: &self.entries, end: 0 }.chain(pending)
    }

    /// What caches of these shapes would have been asked for and lacked, each from being empty.
    ///
    /// # Errors
    /// A cache that cannot be built.
    pub fn replay(&self, shapes: &[Shape]) -> Result<Vec<Replayed>, RunError> {
        let caches: Result<Vec<Tags>, RunError> = shapes.iter().map(|&shape| Tags::new(shape)).collect();
        let mut caches = caches?;
        // Each cache has the stream to itself, which is short, and stays near the processor with its tags.
        let replay = |tags: &mut Tags| {
            let line_bytes = tags.shape().line_bytes;
            for (first, words) in self.runs() {
                let last = first + (words - 1) * 4;
                let mut line = first & !(line_bytes - 1);
                // What else is asked for of a line at once is there, and changes nothing in its order.
                loop {
                    if tags.find(line).is_none() {
                        tags.replace(line);
                    }
                    if last - line < line_bytes {
                        break;
                    }
                    line += line_bytes;
                }
            }
            Replayed { accesses: self.words, misses: tags.misses }
        };
        Ok(caches.iter_mut().map(replay).collect())
    }
}

/// Writes a number, seven bits a byte.
fn number(entries: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        entries.push(value as u8 | 0x80);
        value >>= 7;
    }
    entries.push(value as u8);
}

struct Runs<'a> {
    entries: &'a [u8],
    end: u32,
}

impl Runs<'_> {
    fn number(&mut self) -> Option<u32> {
        let (mut value, mut shift) = (0, 0);
        loop {
            let (&byte, rest) = self.entries.split_first()?;
            self.entries = rest;
            value |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
            shift += 7;
        }
    }
}

impl Iterator for Runs<'_> {
    type Item = (u32, u32);

    fn next(&mut self) -> Option<(u32, u32)> {
        let distance = self.number()?;
        let words = self.number()?;
        let words_between = (distance >> 1) as i32 ^ -((distance & 1) as i32);
        let first = self.end.wrapping_add((words_between as u32).wrapping_mul(4));
        self.end = first.wrapping_add(words * 4);
        Some((first, words))
    }
}

#[cfg(test)]
mod tests {
    use super::super::cache::Replacement;
    use super::*;
    use proptest::prelude::*;

    fn stream(words: &[u32]) -> Stream {
        let mut stream = Stream::default();
        words.iter().for_each(|&address| stream.push(address));
        stream
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_written_down_is_read(runs in prop::collection::vec((any::<u32>(), 1u32..40), 0..50)) {
            let words = runs.iter().flat_map(|&(first, count)| {
                (0..count).map(move |word| (first & 0x7fff_fffc) + word * 4)
            });
            let words: Vec<u32> = words.collect();
            let stream = stream(&words);
            let read = stream.runs().flat_map(|(first, count)| (0..count).map(move |word| first + word * 4));
            prop_assert_eq!(read.collect::<Vec<_>>(), words);
        }

        #[test]
        fn lines_are_missed_as_they_are_word_by_word(
            runs in prop::collection::vec((0u32..256, 1u32..40), 0..80),
            ways in prop::sample::select(vec![1u32, 2, 4, 16]),
            line_bytes in prop::sample::select(vec![16u32, 32]),
            seed: u64,
        ) {
            let words: Vec<u32> = runs
                .iter()
                .flat_map(|&(first, count)| (first..first + count).map(|word| 0x4000_0000 + word * 4))
                .collect();
            for replacement in [
                Replacement::LeastRecentlyUsed,
                Replacement::LeastRecentlyReplaced,
                Replacement::Random { seed },
            ] {
                let shape = Shape { bytes: 512, ways, line_bytes, replacement };
                let mut tags = Tags::new(shape).expect("it can be built");
                for &word in &words {
                    if tags.find(word).is_none() {
                        tags.replace(word);
                    }
                }
                let expected = Replayed { accesses: words.len() as u64, misses: tags.misses };
                prop_assert_eq!(stream(&words).replay(&[shape]).expect("it can be built"), [expected]);
            }
        }
    }
}
