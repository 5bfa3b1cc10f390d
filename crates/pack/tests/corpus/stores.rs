//! What a run stored last to all of a word, for words that were stored to in part since.
//!
//! Owns: what remains of an address when something shorter is stored over part of it. Memory that is used again, of the
//! heap or of the stack, has such words: the zero behind a string, or its text, over a function's address in what was
//! freed; a tag of one byte over a register that a call had saved. What remains is where no instruction is or was, and
//! whole words alone cannot tell it from an address that was patched wrongly; the words that were stored there can.

use std::collections::HashMap;

use isa::{Cycles, Observer, sparc};

/// Watches the stores of instructions. What the environment stores, answering calls and traps, it is not told.
#[derive(Debug, Default)]
pub struct Stores {
    /// The words that were stored whole, by address.
    words: HashMap<u32, Word>,
    /// The word that an instruction is storing to: when, where, its bytes so far, and how many.
    begun: (Cycles, u32, [u8; 4], usize),
}

/// A word that was stored whole, its bytes as they lay in memory, and which of them were stored to since.
#[derive(Clone, Copy, Debug)]
struct Word {
    bytes: [u8; 4],
    is_over: [bool; 4],
}

impl Observer for Stores {
    fn store(&mut self, cycle: Cycles, address: u32, value: u8) {
        let (word, byte) = (address & !3, address as usize % 4);
        if (self.begun.0, self.begun.1) != (cycle, word) || byte == 0 {
            self.begun = (cycle, word, [0; 4], 0);
        }
        let (_, _, bytes, count) = &mut self.begun;
        bytes[byte] = value;
        *count += 1;
        if *count == 4 {
            self.words.insert(word, Word { bytes: *bytes, is_over: [false; 4] });
        } else if let Some(whole) = self.words.get_mut(&word) {
            whole.is_over[byte] = true;
        }
    }
}

impl sparc::Observer for Stores {}

/// What was stored whole in the plain run and in the packed one where these words are now, if they are what is left of
/// that: nothing was stored to the bytes that differ since, and the same to the same others in both.
pub fn left_of(address: u32, words: [[u8; 4]; 2], stores: [&Stores; 2]) -> Option<[[u8; 4]; 2]> {
    let [plain, packed] = [stores[0].words.get(&address)?, stores[1].words.get(&address)?];
    let is_left = |byte: usize| [words[0][byte], words[1][byte]] == [plain.bytes[byte], packed.bytes[byte]];
    let is_same = |byte: usize| match plain.is_over[byte] {
        true => words[0][byte] == words[1][byte],
        false => is_left(byte),
    };
    (plain.is_over == packed.is_over && (0..4).all(is_same)).then_some([plain.bytes, packed.bytes])
}
