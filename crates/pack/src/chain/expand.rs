//! The decompressor: between the instruction cache and the core.
//!
//! Owns: cutting instructions out of the word that the cache gave, and holding that word while its slots are executed.
//! What a packet says is `code::packet`'s, which instruction a word is the caller's.
//!
//! A word is expanded once and remembered by its value, which is what makes it fast and changes nothing: the same bytes
//! give the same instructions wherever they stand, since every distance is from the word itself.

use crate::code::packet::{Dictionary, Packet, SLOTS_MAX};
use crate::target::Target;

/// How many expanded words are remembered, a power of two.
const REMEMBERED: usize = 1 << REMEMBERED_BITS;
const REMEMBERED_BITS: u32 = 12;

/// A word's instructions.
#[derive(Clone, Copy, Debug)]
struct Expanded<I> {
    word: u32,
    /// How many there are; none in a word that is no instruction.
    slots: u32,
    instructions: [Option<I>; SLOTS_MAX],
}

/// The decompressor, with the word that it holds.
#[derive(Clone)]
pub struct Expander<I> {
    target: Target,
    dictionary: Dictionary,
    decode: fn(u32) -> Option<I>,
    remembered: Box<[Expanded<I>; REMEMBERED]>,
    /// Where the word is remembered that it holds.
    held: usize,
}

impl<I: Copy> Expander<I> {
    /// A decompressor that holds a word of zeros.
    pub fn new(target: Target, dictionary: Dictionary, decode: fn(u32) -> Option<I>) -> Expander<I> {
        let zeros = expand(target, &dictionary, decode, 0);
        let remembered = vec![zeros; REMEMBERED].into_boxed_slice().try_into();
        let remembered = remembered.unwrap_or_else(|_| unreachable!("it has this length"));
        Expander { target, dictionary, decode, remembered, held: 0 }
    }

    /// Takes the word that the cache gave.
    #[inline(always)]
    pub fn hold(&mut self, word: u32) {
        // The upper bits of a product with an odd constant (Fibonacci hashing).
        let at = (word.wrapping_mul(0x9e37_79b1) >> (32 - REMEMBERED_BITS)) as usize;
        if self.remembered[at].word != word {
            self.remember(at, word);
        }
        self.held = at;
    }

    #[cold]
    fn remember(&mut self, at: usize, word: u32) {
        self.remembered[at] = expand(self.target, &self.dictionary, self.decode, word);
    }

    /// The instruction in a slot of the word, and whether another one is behind it in the same word; `None` where there
    /// is no such slot, or no instruction in it.
    #[inline(always)]
    pub fn slot(&self, slot: u32) -> Option<(I, bool)> {
        let held = &self.remembered[self.held & (REMEMBERED - 1)];
        let instruction = held.instructions[(slot & 3) as usize]?;
        Some((instruction, slot + 1 < held.slots))
    }

    /// The word that it holds.
    pub fn word(&self) -> u32 {
        self.remembered[self.held].word
    }
}

/// A packet's instructions, or the one that a word is. What looks like a packet and is none may be an instruction: on
/// SPARC UNIMP's words are among them.
fn expand<I: Copy>(
    target: Target,
    dictionary: &Dictionary,
    decode: fn(u32) -> Option<I>,
    word: u32,
) -> Expanded<I> {
    let packet = Packet::of_word(target, word).and_then(|packet| dictionary.expand(target, &packet));
    let mut expanded = Expanded { word, slots: 0, instructions: [None; SLOTS_MAX] };
    match packet {
        Some((words, slots)) => {
            let named = words.iter().take(slots.into()).zip(&mut expanded.instructions);
            named.for_each(|(&word, instruction)| *instruction = decode(word));
            expanded.slots = slots.into();
        }
        None => {
            expanded.instructions[0] = decode(word);
            expanded.slots = expanded.instructions[0].is_some().into();
        }
    }
    expanded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_remembered_at_one_place_are_told_apart() {
        let dictionary = Dictionary::new((0..64).map(|entry| 0x100 + entry).collect()).expect("it is short");
        let mut expander = Expander::new(Target::Sparc, dictionary, Some);
        let packet = |first: u32| 1 << 27 | 3 << 24 | first << 18 | 1 << 12 | 2 << 6 | 3;
        let words = (0..64).map(|first| Target::Sparc.word_of_payload(packet(first)));
        let all: Vec<u32> = words.chain((0..100_000).map(|word| word << 30 | word << 2 | 1 << 30)).collect();
        for &word in all.iter().chain(all.iter().rev()) {
            expander.hold(word);
            assert_eq!(expander.word(), word);
            if let Some(found) = Packet::of_word(Target::Sparc, word) {
                let first = 0x100 + u32::from(found.indexes[0]);
                let slots = [0, 1, 2, 3].map(|slot| expander.slot(slot));
                let rest = [(0x101, true), (0x102, true), (0x103, false)].map(Some);
                assert_eq!((slots[0], &slots[1..]), (Some((first, true)), &rest[..]));
            } else {
                assert_eq!((expander.slot(0), expander.slot(1)), (Some((word, false)), None));
            }
        }
    }

    #[test]
    fn a_packet_of_what_the_dictionary_lacks_is_the_word_alone() {
        let mut expander = Expander::new(Target::Sparc, Dictionary::default(), Some);
        let word = Target::Sparc.word_of_payload(1 << 24);
        expander.hold(word);
        assert_eq!((expander.slot(0), expander.slot(1)), (Some((word, false)), None));
        let mut nothing = Expander::new(Target::Sparc, Dictionary::default(), |_| None::<u32>);
        nothing.hold(word);
        assert_eq!(nothing.slot(0), None);
    }
}
