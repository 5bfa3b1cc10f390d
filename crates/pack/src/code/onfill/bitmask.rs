//! A dictionary of words, and masks for words that differ little from one of it, after Seong and Mishra.
//!
//! Owns: the dictionary, up to 2048 words, and finding the shortest way to say a word. A mask changes one of a word's
//! eight groups of four bits; up to two may be used.
//!
//! ```text
//!   tables   12 bits, how many words the dictionary has; each in 32 bits
//!   word     0     index                                the word
//!            10    mask index                           the word with one group changed
//!            110   mask mask index                      with two
//!            111   the 32 bits themselves
//!   mask     3 bits, the group, 0 is the lowest; 4 bits, which are added to it (exclusive or)
//!   index    as many bits as the last index needs
//! ```

use std::collections::HashMap;

use super::bits::{BitReader, BitWriter};
use super::coder::{Coder, Text, ranked};
use super::model::count_bits;
use crate::target::Target;

/// The sizes that are tried, in words.
pub const ENTRIES: [usize; 3] = [256, 1024, 2048];
const COUNT_BITS: u32 = 12;
const WORD_BITS: u32 = 32;
const GROUP_BITS: u32 = 4;
const MASK_BITS: u32 = 3 + GROUP_BITS;
/// A word is worth a place when it is there as often as this.
const COUNT_LEAST: u32 = 3;
/// The first bits of a word, by how many masks follow, and of one as it is.
const PREFIXES: [(u32, u32); 3] = [(0b0, 1), (0b10, 2), (0b110, 3)];
const RAW: (u32, u32) = (0b111, 3);

/// A way to say a word: an entry, and what is added to it.
#[derive(Clone, Copy, Debug)]
struct Match {
    entry: usize,
    difference: u32,
    masks: usize,
}

struct Bitmask {
    entries: Vec<u32>,
    index_bits: u32,
    /// The shortest way of each word that the tables were made for, where there is one.
    matches: HashMap<u32, Match>,
}

/// The groups that have a bit, each by its lowest.
fn groups(difference: u32) -> u32 {
    (difference | difference >> 1 | difference >> 2 | difference >> 3) & 0x1111_1111
}

/// Makes tables for words, of the size that takes the least.
pub fn make(target: Target, text: Text<'_>) -> Box<dyn Coder> {
    let sizes = ENTRIES.iter().map(|&entries| of_size(target, text, entries));
    let sized = sizes.map(|coder| {
        let mut bits = BitWriter::default();
        coder.write(&mut bits);
        coder.encode(0, text.words, &mut bits);
        (bits.count(), coder)
    });
    sized.min_by_key(|sized| sized.0).expect("there are three").1
}

/// Makes tables with at most so many words.
pub fn of_size(_target: Target, text: Text<'_>, entries: usize) -> Box<dyn Coder> {
    let ranked = ranked(text.words.iter().copied());
    let worth = ranked.iter().take(entries).filter(|&&(_, count)| count >= COUNT_LEAST);
    let mut coder = Bitmask::new(worth.map(|&(word, _)| word).collect());
    coder.matches = ranked.iter().filter_map(|&(word, _)| Some((word, coder.nearest(word)?))).collect();
    Box::new(coder)
}

/// Reads tables.
pub fn read(_target: Target, bits: &mut BitReader<'_>) -> Option<Box<dyn Coder>> {
    let count = bits.take(COUNT_BITS)?;
    let entries: Option<Vec<u32>> = (0..count).map(|_| bits.take(WORD_BITS)).collect();
    Some(Box::new(Bitmask::new(entries?)))
}

impl Bitmask {
    fn new(entries: Vec<u32>) -> Bitmask {
        let index_bits = count_bits((entries.len() as u32).saturating_sub(1));
        Bitmask { entries, index_bits, matches: HashMap::new() }
    }

    /// The way with the fewest masks, when that is shorter than the word as it is.
    fn nearest(&self, word: u32) -> Option<Match> {
        let masks = |&(_, entry): &(usize, &u32)| groups(entry ^ word).count_ones();
        let (entry, found) = self.entries.iter().enumerate().min_by_key(masks)?;
        let difference = found ^ word;
        let masks = groups(difference).count_ones() as usize;
        let (_, prefix_bits) = PREFIXES.get(masks)?;
        let bits = prefix_bits + masks as u32 * MASK_BITS + self.index_bits;
        (bits < RAW.1 + WORD_BITS).then_some(Match { entry, difference, masks })
    }

    fn put(&self, word: u32, bits: &mut BitWriter) {
        let Some(&Match { entry, difference, masks }) = self.matches.get(&word) else {
            bits.put(RAW.0, RAW.1);
            return bits.put(word, WORD_BITS);
        };
        let (prefix, prefix_bits) = PREFIXES[masks];
        bits.put(prefix, prefix_bits);
        let mut left = groups(difference);
        while left != 0 {
            let shift = left.trailing_zeros();
            bits.put(shift / GROUP_BITS, MASK_BITS - GROUP_BITS);
            bits.put(difference >> shift & 0xf, GROUP_BITS);
            left &= left - 1;
        }
        bits.put(entry as u32, self.index_bits);
    }

    fn take(&self, bits: &mut BitReader<'_>) -> Option<u32> {
        let mut masks = 0;
        while masks < 3 && bits.bit()? == 1 {
            masks += 1;
        }
        if masks == 3 {
            return bits.take(WORD_BITS);
        }
        let mut difference = 0;
        for _ in 0..masks {
            let group = bits.take(MASK_BITS - GROUP_BITS)?;
            difference ^= bits.take(GROUP_BITS)? << (group * GROUP_BITS);
        }
        let entry = bits.take(self.index_bits)?;
        self.entries.get(entry as usize).map(|entry| entry ^ difference)
    }
}

impl Coder for Bitmask {
    fn write(&self, bits: &mut BitWriter) {
        bits.put(self.entries.len() as u32, COUNT_BITS);
        self.entries.iter().for_each(|&entry| bits.put(entry, WORD_BITS));
    }

    fn encode(&self, _at_words: u32, words: &[u32], bits: &mut BitWriter) {
        words.iter().for_each(|&word| self.put(word, bits));
    }

    fn decode(&self, _at_words: u32, words: &mut [u32], bits: &mut BitReader<'_>) -> Option<()> {
        for word in words {
            *word = self.take(bits)?;
        }
        Some(())
    }
}
