//! What stands at an address, for who watches a run.
//!
//! Owns: the instructions of a program, decoded once, with those of one's own. Code that changes is not seen here.

use super::bare::Program;
use super::bits::Instruction;
use super::custom::Units;

/// The instructions of a program.
#[derive(Clone, Debug)]
pub struct Listing {
    words: Vec<Option<Instruction>>,
}

impl Listing {
    /// Of a program for the bare machine.
    pub fn new(program: &Program, units: &Units) -> Listing {
        let words = program.bytes().chunks_exact(4);
        let words = words.map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")));
        Listing { words: words.map(|word| units.decode(word)).collect() }
    }

    /// The instruction at an address.
    #[inline]
    pub fn get(&self, pc: u32) -> Option<Instruction> {
        *self.words.get(pc.rotate_right(2) as usize)?
    }
}
