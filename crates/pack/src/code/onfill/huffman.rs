//! Prefix codes of half-words.
//!
//! Owns: two models, one of the upper halves of an image's words and one of the lower. Halves that do not pay for a
//! place in a table stand in the code as they are.
//!
//! ```text
//!   tables   the model of the upper halves, the model of the lower ones: both plain, 16 bits wide (`model`)
//!   block    for each word its upper half, then its lower
//! ```

use super::bits::{BitReader, BitWriter};
use super::coder::{Coder, Text};
use super::model::{Kind, Model};
use crate::target::Target;

const HALF: Kind = Kind::Plain(16);

struct Huffman {
    upper: Model,
    lower: Model,
}

/// Makes tables for words.
pub fn make(_target: Target, text: Text<'_>) -> Box<dyn Coder> {
    let upper = Model::of(HALF, text.words.iter().map(|word| word >> 16));
    let lower = Model::of(HALF, text.words.iter().map(|word| word & 0xffff));
    Box::new(Huffman { upper, lower })
}

/// Reads tables.
pub fn read(_target: Target, bits: &mut BitReader<'_>) -> Option<Box<dyn Coder>> {
    Some(Box::new(Huffman { upper: Model::read(HALF, bits)?, lower: Model::read(HALF, bits)? }))
}

impl Coder for Huffman {
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
