//! How numbers of one kind are coded in an image: a prefix code for those that pay for their place in its table, and a
//! way for all others.
//!
//! Owns: what such a table is made of, choosing the numbers that stand in it, and its bits. Which numbers of an image
//! share a model is the codes'.
//!
//! A model's symbols are fixed ones, which its kind says, and listed numbers behind them:
//!
//! ```text
//!   kind       fixed symbols                                               listed
//!   choice n   each of n numbers                                           none
//!   number w   the number's class: its sign, and how many bits it has,     numbers of w bits
//!              0 to w - 1; symbol = negative · w + bits. A negative one
//!              is inverted first. Behind it its bits but the highest 1
//!   plain w    one: behind it w bits, as they are                          numbers of w bits
//!
//!   bits
//!   n'         how many of the fixed symbols follow, the others have no code; in as few bits as all of them need
//!   n' times   0: no code; 1: a code, and its length in 4 bits
//!   13         how many numbers are listed (not for a choice), by ascending length and then by number, each as
//!                1 …     one bit for each by which its code is longer than the one before, the first than 1
//!                0       and this
//!                w       and the number
//! ```
//!
//! The codes follow from the lengths (`prefix`).

use std::collections::HashMap;

use super::bits::{BitReader, BitWriter};
use super::coder::counted;
use super::prefix::{LENGTH_BITS_MAX, Prefix};

/// The bits of how many numbers are listed.
const LISTED_BITS: u32 = 13;
/// The bits of the length of a fixed symbol's code.
const LENGTH_BITS: u32 = 4;
/// How often the choice of the listed is made again with what the last one left.
const ROUNDS: usize = 4;

/// What a model is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One of so many.
    Choice(u32),
    /// A signed number of so many bits, small ones more often.
    Number(u32),
    /// Any number of so many bits.
    Plain(u32),
}

impl Kind {
    /// How many fixed symbols there are.
    fn fixed(self) -> u32 {
        match self {
            Kind::Choice(count) => count,
            Kind::Number(width) => 2 * width,
            Kind::Plain(_) => 1,
        }
    }

    /// How wide its listed numbers are; `None` when it has none.
    fn width(self) -> Option<u32> {
        match self {
            Kind::Choice(_) => None,
            Kind::Number(width) | Kind::Plain(width) => Some(width),
        }
    }

    /// The fixed symbol of a number, and what is behind it: bits and how many.
    fn fixed_of(self, number: u32) -> (u32, u32, u32) {
        match self {
            Kind::Choice(_) => (number, 0, 0),
            Kind::Number(width) => {
                let negative = number >> (width - 1) & 1;
                let size = if negative == 1 { !number & mask(width) } else { number };
                let bits = u32::BITS - size.leading_zeros();
                let behind = bits.saturating_sub(1);
                (negative * width + bits, size & mask(behind), behind)
            }
            Kind::Plain(width) => (0, number, width),
        }
    }

    /// The number of a fixed symbol, with what is behind it.
    fn number(self, symbol: u32, bits: &mut BitReader<'_>) -> Option<u32> {
        match self {
            Kind::Choice(_) => Some(symbol),
            Kind::Number(width) => {
                let (negative, count) = (symbol >= width, symbol % width);
                let size = match count {
                    0 => 0,
                    count => 1 << (count - 1) | bits.take(count - 1)?,
                };
                Some(if negative { !size & mask(width) } else { size })
            }
            Kind::Plain(width) => bits.take(width),
        }
    }
}

/// That many ones.
fn mask(bits: u32) -> u32 {
    ((1u64 << bits) - 1) as u32
}

/// A model.
#[derive(Clone, Debug)]
pub struct Model {
    kind: Kind,
    /// Fixed symbols, then the listed numbers in their order.
    prefix: Prefix,
    listed: Vec<u32>,
    symbol_of: HashMap<u32, u32>,
}

impl Model {
    /// The model for numbers, each with how often it is there.
    pub fn of_counts(kind: Kind, counts: &[(u32, u32)]) -> Model {
        let listed = match kind.width() {
            Some(width) => choose(kind, width, counts),
            None => Vec::new(),
        };
        let fixed = kind.fixed() as usize;
        let places: HashMap<u32, usize> =
            listed.iter().enumerate().map(|(place, &number)| (number, fixed + place)).collect();
        let mut symbols = vec![0; fixed + listed.len()];
        for &(number, count) in counts {
            let symbol = places.get(&number).copied().unwrap_or(kind.fixed_of(number).0 as usize);
            symbols[symbol] += count;
        }
        let prefix = Prefix::of_counts(&symbols);
        let mut by_length: Vec<(u8, u32)> =
            listed.iter().map(|number| (prefix.length(places[number]), *number)).collect();
        by_length.sort_unstable();
        // The same lengths, for symbols in the order in which they are listed.
        let lengths = (0..fixed).map(|symbol| prefix.length(symbol));
        let lengths: Vec<u8> = lengths.chain(by_length.iter().map(|&(length, _)| length)).collect();
        let listed = by_length.into_iter().map(|(_, number)| number).collect();
        Model::of_lengths(kind, &lengths, listed).expect("the lengths are a code's")
    }

    /// The model for these numbers.
    pub fn of(kind: Kind, numbers: impl IntoIterator<Item = u32>) -> Model {
        Model::of_counts(kind, &counted(numbers))
    }

    fn of_lengths(kind: Kind, lengths: &[u8], listed: Vec<u32>) -> Option<Model> {
        let prefix = Prefix::of_lengths(lengths)?;
        let symbols = kind.fixed()..;
        let symbol_of = listed.iter().copied().zip(symbols).collect();
        Some(Model { kind, prefix, listed, symbol_of })
    }

    /// How many bits a number takes; `None` when it has no code.
    pub fn bits(&self, number: u32) -> Option<u32> {
        if let Some(&symbol) = self.symbol_of.get(&number) {
            return self.prefix.bits(symbol as usize);
        }
        let (symbol, _, behind) = self.kind.fixed_of(number);
        self.prefix.bits(symbol as usize).map(|bits| bits + behind)
    }

    /// How many bits numbers take, each as often as it is there; `None` when one has no code.
    pub fn bits_of(&self, counts: &[(u32, u32)]) -> Option<u64> {
        counts.iter().map(|&(number, count)| Some(u64::from(self.bits(number)?) * u64::from(count))).sum()
    }

    /// How many bits its table takes.
    pub fn table_bits(&self) -> u64 {
        let mut bits = BitWriter::default();
        self.write(&mut bits);
        bits.count() as u64
    }

    /// Writes a number.
    ///
    /// # Panics
    /// When it has no code.
    pub fn put(&self, number: u32, bits: &mut BitWriter) {
        if let Some(&symbol) = self.symbol_of.get(&number) {
            return self.prefix.put(symbol as usize, bits);
        }
        let (symbol, behind, count) = self.kind.fixed_of(number);
        self.prefix.put(symbol as usize, bits);
        bits.put(behind, count);
    }

    /// Reads a number; `None` where there is none.
    pub fn take(&self, bits: &mut BitReader<'_>) -> Option<u32> {
        let symbol = self.prefix.take(bits)? as u32;
        match symbol.checked_sub(self.kind.fixed()) {
            Some(place) => self.listed.get(place as usize).copied(),
            None => self.kind.number(symbol, bits),
        }
    }

    /// Writes its table.
    pub fn write(&self, bits: &mut BitWriter) {
        let fixed = self.kind.fixed();
        let used = (0..fixed).rev().find(|&symbol| self.prefix.length(symbol as usize) > 0);
        let used = used.map_or(0, |last| last + 1);
        bits.put(used, count_bits(fixed));
        for symbol in 0..used {
            let length = u32::from(self.prefix.length(symbol as usize));
            bits.put((length > 0).into(), 1);
            bits.put(length, if length > 0 { LENGTH_BITS } else { 0 });
        }
        let Some(width) = self.kind.width() else { return };
        bits.put(self.listed.len() as u32, LISTED_BITS);
        let mut before = 1;
        for (place, &number) in self.listed.iter().enumerate() {
            let length = self.prefix.length(fixed as usize + place);
            (before..length).for_each(|_| bits.put(1, 1));
            before = length;
            bits.put(0, 1);
            bits.put(number, width);
        }
    }

    /// Reads a table; `None` where there is none.
    pub fn read(kind: Kind, bits: &mut BitReader<'_>) -> Option<Model> {
        let fixed = kind.fixed();
        let used = bits.take(count_bits(fixed)).filter(|&used| used <= fixed)?;
        // Where nothing is listed behind them, those without a code need no room.
        let room = if kind.width().is_some() { fixed } else { used };
        let mut lengths = vec![0; room as usize];
        for length in &mut lengths[..used as usize] {
            if bits.bit()? == 1 {
                *length = bits.take(LENGTH_BITS)? as u8;
            }
        }
        let mut listed = Vec::new();
        if let Some(width) = kind.width() {
            let mut length = 1;
            for _ in 0..bits.take(LISTED_BITS)? {
                while bits.bit()? == 1 {
                    length += 1;
                    if length > LENGTH_BITS_MAX as u8 {
                        return None;
                    }
                }
                listed.push(bits.take(width)?);
                lengths.push(length);
            }
        }
        Model::of_lengths(kind, &lengths, listed)
    }
}

/// How many bits hold a number up to this one.
pub fn count_bits(most: u32) -> u32 {
    u32::BITS - most.leading_zeros()
}

/// The numbers that are worth a place in the table: by what they take there and as a code, beside what they take
/// without. Both are estimated from how often they are there, and again with what the last choice left to the others.
fn choose(kind: Kind, width: u32, counts: &[(u32, u32)]) -> Vec<u32> {
    let total: f64 = counts.iter().map(|&(_, count)| f64::from(count)).sum();
    let bits_of = |count: f64| (total / count.max(1.0)).log2();
    let mut listed: Vec<(f64, u32)> = Vec::new();
    let mut is_listed = vec![false; counts.len()];
    for _ in 0..ROUNDS {
        let mut fixed = vec![0.0; kind.fixed() as usize];
        for (&(number, count), _) in counts.iter().zip(&is_listed).filter(|(_, is_listed)| !**is_listed) {
            fixed[kind.fixed_of(number).0 as usize] += f64::from(count);
        }
        listed.clear();
        for (place, &(number, count)) in counts.iter().enumerate() {
            let (symbol, _, behind) = kind.fixed_of(number);
            let count = f64::from(count);
            let without = bits_of(fixed[symbol as usize].max(count)) + f64::from(behind);
            let gain = count * (without - bits_of(count)) - f64::from(width + 1);
            is_listed[place] = gain > 0.0;
            if gain > 0.0 {
                listed.push((gain, number));
            }
        }
    }
    listed.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    listed.truncate((1 << LISTED_BITS) - 1);
    listed.into_iter().map(|(_, number)| number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kinds() -> impl Strategy<Value = Kind> {
        prop_oneof![
            (1u32..200).prop_map(Kind::Choice),
            (1u32..=32).prop_map(Kind::Number),
            (1u32..=32).prop_map(Kind::Plain),
        ]
    }

    /// A number of that kind from any number, small ones and some of a few more often.
    fn number(kind: Kind, any: u32) -> u32 {
        match kind {
            Kind::Choice(count) => any % count,
            Kind::Number(width) | Kind::Plain(width) => match any % 4 {
                0 => any & mask(width),
                1 => ((any >> 2) % 5) & mask(width),
                2 => !((any >> 2) % 70) & mask(width),
                _ => ((any >> 2) % 3 * 0x0123_4567) & mask(width),
            },
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn numbers_are_read_as_they_were_written(
            kind in kinds(),
            numbers in prop::collection::vec(any::<u32>(), 0..600),
        ) {
            let numbers: Vec<u32> = numbers.into_iter().map(|any| number(kind, any)).collect();
            let model = Model::of(kind, numbers.iter().copied());
            let mut writer = BitWriter::default();
            model.write(&mut writer);
            prop_assert_eq!(writer.count() as u64, model.table_bits());
            numbers.iter().for_each(|&number| model.put(number, &mut writer));
            let counts = counted(numbers.iter().copied());
            let bits = model.table_bits() + model.bits_of(&counts).expect("they all have codes");
            prop_assert_eq!(writer.count() as u64, bits);
            let bytes = writer.into_bytes();
            let mut reader = BitReader::new(&bytes);
            let read = Model::read(kind, &mut reader).expect("it was written");
            prop_assert_eq!(&read.listed, &model.listed);
            for number in numbers {
                prop_assert_eq!(read.take(&mut reader), Some(number));
            }
        }

        #[test]
        fn any_bits_are_answered(kind in kinds(), bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let mut reader = BitReader::new(&bytes);
            if let Some(model) = Model::read(kind, &mut reader) {
                let numbers: Vec<u32> = (0..100).map_while(|_| model.take(&mut reader)).collect();
                for number in numbers {
                    prop_assert!(model.bits(number).is_some());
                }
            }
        }
    }

    #[test]
    fn classes_are_signs_and_bits() {
        let kind = Kind::Number(13);
        let of = |number: u32| kind.fixed_of(number & 0x1fff);
        assert_eq!((of(0), of(1), of(5), of(0xfff)), ((0, 0, 0), (1, 0, 0), (3, 1, 2), (12, 0x7ff, 11)));
        let minus = |number: u32| of(number.wrapping_neg());
        assert_eq!((minus(1), minus(2), minus(4096)), ((13, 0, 0), (14, 0, 0), (25, 0x7ff, 11)));
    }

    #[test]
    fn what_is_there_once_is_not_listed() {
        let numbers = (0..500).map(|number| 4000 + number).chain([77; 40]);
        let model = Model::of(Kind::Plain(16), numbers);
        assert_eq!(model.listed, [77]);
    }
}
