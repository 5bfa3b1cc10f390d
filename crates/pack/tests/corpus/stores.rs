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
    /// The words that are stored whole, by address, with their bytes as they lie in memory.
    whole: HashMap<u32, [u8; 4]>,
    /// The word that an instruction is storing to: when, where, and its bytes so far.
    begun: (Cycles, u32, Vec<u8>),
}

impl Observer for Stores {
    fn store(&mut self, cycle: Cycles, address: u32, value: u8) {
        let word = address & !3;
        if (self.begun.0, self.begun.1) != (cycle, word) || address == word {
            self.begun = (cycle, word, Vec::with_capacity(4));
        }
        self.begun.2.push(value);
        if let Ok(bytes) = <[u8; 4]>::try_from(self.begun.2.as_slice()) {
            self.whole.insert(word, bytes);
        }
    }
}

impl sparc::Observer for Stores {}

impl Stores {
    /// What was stored last to all of a word; `None` where nothing was.
    fn whole(&self, word: u32) -> Option<[u8; 4]> {
        self.whole.get(&word).copied()
    }
}

/// What was stored whole in the plain run and in the packed one where these words are now, if they are what is left of
/// that: the same bytes were stored over the same part in both, and the others have not changed.
pub fn left_of(address: u32, words: [[u8; 4]; 2], stores: [&Stores; 2]) -> Option<[[u8; 4]; 2]> {
    let [plain, packed] = words;
    let whole = [stores[0].whole(address)?, stores[1].whole(address)?];
    let is_whole = |byte: usize| [plain[byte], packed[byte]] == whole.map(|bytes| bytes[byte]);
    (0..4).all(|byte| plain[byte] == packed[byte] || is_whole(byte)).then_some(whole)
}
