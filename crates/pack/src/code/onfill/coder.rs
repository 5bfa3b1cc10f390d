//! The seam between a code and the memory that its blocks lie in.
//!
//! Owns: what a code does ([`Coder`]), what it is given ([`Text`]), and what its maker and reader look like. Which
//! codes there are is `code::table`'s.

use std::cmp::Reverse;

use super::bits::{BitReader, BitWriter};
use crate::target::Target;

/// An image's code, cut into blocks.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    /// Its words.
    pub words: &'a [u32],
    /// How many words of its first block lie before it.
    pub lead_words: usize,
    /// How many words a block has.
    pub block_words: usize,
}

impl<'a> Text<'a> {
    /// Its blocks, each with how many words behind the beginning of the code it begins.
    pub fn blocks(&self) -> impl Iterator<Item = (u32, &'a [u32])> + use<'a> {
        let first = self.words.len().min(self.block_words - self.lead_words);
        let (head, rest) = self.words.split_at(first);
        let heads = std::iter::once((0, head)).filter(|(_, words)| !words.is_empty());
        let at = (first as u32..).step_by(self.block_words);
        heads.chain(at.zip(rest.chunks(self.block_words)))
    }
}

/// Tables that were made for an image's words. Blocks are coded one by one: each can be decoded without the others.
pub trait Coder: Send + Sync {
    /// Writes the tables: all that decoding needs.
    fn write(&self, bits: &mut BitWriter);

    /// Writes the words of a block, the first of which is so many words behind the beginning of the code.
    ///
    /// # Panics
    /// For a block that the tables were not made for.
    fn encode(&self, at_words: u32, words: &[u32], bits: &mut BitWriter);

    /// Reads as many words as there is room for; `None` where the bits are no block of this code. What follows a block
    /// is not looked at.
    fn decode(&self, at_words: u32, words: &mut [u32], bits: &mut BitReader<'_>) -> Option<()>;
}

/// Makes tables for an image's code.
pub type Make = fn(Target, Text<'_>) -> Box<dyn Coder>;
/// Reads tables; `None` where there are none.
pub type Read = fn(Target, &mut BitReader<'_>) -> Option<Box<dyn Coder>>;

/// How often each number is there, ascending by number.
pub fn counted(numbers: impl IntoIterator<Item = u32>) -> Vec<(u32, u32)> {
    let mut numbers: Vec<u32> = numbers.into_iter().collect();
    numbers.sort_unstable();
    numbers.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u32)).collect()
}

/// The same, the most frequent first, equal ones by number.
pub fn ranked(numbers: impl IntoIterator<Item = u32>) -> Vec<(u32, u32)> {
    let mut counted = counted(numbers);
    counted.sort_by_key(|&(number, count)| (Reverse(count), number));
    counted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_block_is_as_short_as_what_lies_before_it_says() {
        let words = [1, 2, 3, 4, 5, 6, 7];
        let text = |lead_words, count| Text { words: &words[..count], lead_words, block_words: 4 };
        let blocks: Vec<(u32, &[u32])> = text(3, 7).blocks().collect();
        assert_eq!(blocks, [(0, &[1][..]), (1, &[2, 3, 4, 5]), (5, &[6, 7])]);
        assert_eq!(text(0, 4).blocks().collect::<Vec<_>>(), [(0, &words[..4])]);
        assert_eq!(text(1, 2).blocks().collect::<Vec<_>>(), [(0, &words[..2])]);
        assert_eq!(text(1, 0).blocks().count(), 0);
    }
}
