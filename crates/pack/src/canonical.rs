//! One instruction for those that do the same.
//!
//! Owns: rewriting an instruction to the one that stands for all that have the same effect in every state
//! ([`canonical`]), by the rules of its instruction set. Fewer different words fill a dictionary better. A test
//! executes both sides of each rule on random registers.

use crate::target::Target;

mod rv32;
mod sparc;

/// The instruction that stands for a word's; the word itself when that is no instruction or has no other form.
pub fn canonical(target: Target, word: u32) -> u32 {
    match target {
        Target::Sparc => sparc::canonical(word),
        Target::Rv32 => rv32::canonical(word),
    }
}
