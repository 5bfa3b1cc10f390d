//! Half-words by classes of prefix and index, as IBM's CodePack has them.
//!
//! Owns: two tables, one of the upper halves of an image's words and one of the lower, the most frequent first. What is
//! known here of CodePack are its shape and its sizes: halves apart, prefixes of two or three bits, up to 16 bits as
//! they are behind the last. Which index is how wide is ours.
//!
//! ```text
//!   upper half   prefix   index           lower half   prefix   index
//!                00       3 bits                       00       none
//!                01       5                            01       4 bits
//!                100      6                            100      5
//!                101      7                            101      7
//!                110      8                            110      8
//!                111      the 16 bits themselves       111      the 16 bits themselves
//!
//!   tables   for the upper halves, then for the lower: 9 bits, how many there are; each in 16 bits, those of the first
//!            class first
//!   block    for each word its upper half, then its lower
//! ```
//!
//! An index counts from the first of its class.

use std::collections::HashMap;

use super::bits::{BitReader, BitWriter};
use super::coder::{Coder, Text, ranked};
use crate::target::Target;

/// A prefix, its bits, and those of the index behind it.
type Class = (u32, u32, u32);
const UPPER: [Class; 5] = [(0b00, 2, 3), (0b01, 2, 5), (0b100, 3, 6), (0b101, 3, 7), (0b110, 3, 8)];
const LOWER: [Class; 5] = [(0b00, 2, 0), (0b01, 2, 4), (0b100, 3, 5), (0b101, 3, 7), (0b110, 3, 8)];
/// The prefix of what is in no class.
const RAW: (u32, u32) = (0b111, 3);
const HALF_BITS: u32 = 16;
const COUNT_BITS: u32 = 9;

/// One kind of halves.
struct Halves {
    classes: &'static [Class; 5],
    entries: Vec<u16>,
    places: HashMap<u16, usize>,
}

impl Halves {
    fn new(classes: &'static [Class; 5], entries: Vec<u16>) -> Halves {
        let places = entries.iter().enumerate().map(|(place, &half)| (half, place)).collect();
        Halves { classes, entries, places }
    }

    /// The class of a place in the table, and the number in that class.
    fn class(&self, place: usize) -> Option<(Class, u32)> {
        let mut first = 0;
        for &class in self.classes {
            let entries = 1 << class.2;
            if place < first + entries {
                return Some((class, (place - first) as u32));
            }
            first += entries;
        }
        None
    }

    /// Tables for halves: as many as pay for their place.
    fn of(classes: &'static [Class; 5], halves: impl Iterator<Item = u32>) -> Halves {
        let mut table = Halves::new(classes, Vec::new());
        for (half, count) in ranked(halves) {
            let Some(((_, prefix_bits, index_bits), _)) = table.class(table.entries.len()) else { break };
            let saved_bits = (RAW.1 + HALF_BITS).saturating_sub(prefix_bits + index_bits);
            if count * saved_bits <= HALF_BITS {
                break;
            }
            table.entries.push(half as u16);
        }
        Halves::new(classes, table.entries)
    }

    fn write(&self, bits: &mut BitWriter) {
        bits.put(self.entries.len() as u32, COUNT_BITS);
        self.entries.iter().for_each(|&half| bits.put(half.into(), HALF_BITS));
    }

    fn read(classes: &'static [Class; 5], bits: &mut BitReader<'_>) -> Option<Halves> {
        let count = bits.take(COUNT_BITS)?;
        let entries: Option<Vec<u16>> =
            (0..count).map(|_| bits.take(HALF_BITS).map(|half| half as u16)).collect();
        let table = Halves::new(classes, entries?);
        let fits = count == 0 || table.class(count as usize - 1).is_some();
        fits.then_some(table)
    }

    fn put(&self, half: u32, bits: &mut BitWriter) {
        let place = self.places.get(&(half as u16)).and_then(|&place| self.class(place));
        let Some(((prefix, prefix_bits, index_bits), index)) = place else {
            bits.put(RAW.0, RAW.1);
            return bits.put(half, HALF_BITS);
        };
        bits.put(prefix, prefix_bits);
        bits.put(index, index_bits);
    }

    fn take(&self, bits: &mut BitReader<'_>) -> Option<u32> {
        let mut prefix = bits.take(2)?;
        if prefix > 0b01 {
            prefix = prefix << 1 | bits.bit()?;
        }
        let mut first = 0;
        for &(other, _, index_bits) in self.classes {
            if prefix == other {
                let place = first + bits.take(index_bits)? as usize;
                return self.entries.get(place).map(|&half| half.into());
            }
            first += 1 << index_bits;
        }
        bits.take(HALF_BITS)
    }
}

struct Codepack {
    upper: Halves,
    lower: Halves,
}

/// Makes tables for words.
pub fn make(_target: Target, text: Text<'_>) -> Box<dyn Coder> {
    let upper = Halves::of(&UPPER, text.words.iter().map(|word| word >> 16));
    let lower = Halves::of(&LOWER, text.words.iter().map(|word| word & 0xffff));
    Box::new(Codepack { upper, lower })
}

/// Reads tables.
pub fn read(_target: Target, bits: &mut BitReader<'_>) -> Option<Box<dyn Coder>> {
    Some(Box::new(Codepack { upper: Halves::read(&UPPER, bits)?, lower: Halves::read(&LOWER, bits)? }))
}

impl Coder for Codepack {
    fn write(&self, bits: &mut BitWriter) {
        self.upper.write(bits);
        self.lower.write(bits);
    }

    fn encode(&self, _at_words: u32, words: &[u32], bits: &mut BitWriter) {
        for word in words {
            self.upper.put(word >> 16, bits);
            self.lower.put(word & 0xffff, bits);
        }
    }

    fn decode(&self, _at_words: u32, words: &mut [u32], bits: &mut BitReader<'_>) -> Option<()> {
        for word in words {
            *word = self.upper.take(bits)? << 16 | self.lower.take(bits)?;
        }
        Some(())
    }
}
