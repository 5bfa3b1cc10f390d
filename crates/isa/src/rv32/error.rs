//! Every word this room says when something is wrong with its input.
//!
//! Owns: the closed error enums of words, text and tables of units, and what a running program does that ends its run. Those of images
//! and timing files are all processors' (`crate::error`). Bugs of this room are assertions and not here; files are read
//! by the tools above.

use std::fmt;

use super::bits::Range;
use super::table::{Opcode, Operand};
use super::trap::Trap;
pub use crate::error::{ImageError, TimingError};

/// An operand value that the instruction has no bits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unencodable {
    /// Which instruction.
    pub opcode: Opcode,
    /// Which operand of it.
    pub operand: Operand,
    /// The value found.
    pub found: i32,
    /// What would fit.
    pub expected: Range,
}

impl fmt::Display for Unencodable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mnemonic = self.opcode.row().mnemonic;
        let (found, expected) = (self.found, self.expected);
        write!(f, "operand of `{mnemonic}` out of range: found {found}, expected {expected}")
    }
}

impl std::error::Error for Unencodable {}

/// Why a text is not an instruction of RV32IM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextError {
    /// There is no instruction of that name.
    Mnemonic {
        /// The name found.
        found: String,
    },
    /// The instruction exists, with other operands.
    Operands {
        /// The instruction.
        mnemonic: String,
        /// The operands found.
        found: String,
        /// The shapes that exist.
        expected: Vec<String>,
    },
    /// An operand's value has no encoding.
    Range(Unencodable),
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TextError::Mnemonic { found } => {
                write!(f, "unknown instruction: found `{found}`")?;
                if found.starts_with("c.") {
                    write!(f, "\nhelp: RV32IM has no compressed instructions")?;
                }
                Ok(())
            }
            TextError::Operands { mnemonic, found, expected } => {
                write!(f, "operands of `{mnemonic}` do not fit: found `{found}`, expected ")?;
                for (index, shape) in expected.iter().enumerate() {
                    write!(f, "{}`{shape}`", if index == 0 { "" } else { " or " })?;
                }
                Ok(())
            }
            TextError::Range(unencodable) => unencodable.fmt(f),
        }
    }
}

impl std::error::Error for TextError {}

/// Why lines are no table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnitError {
    /// A line's funct3 or funct7 has more bits than there are.
    Function {
        /// Which line.
        name: &'static str,
        /// What it says: funct3 and funct7.
        found: (u8, u8),
        /// The greatest that there are.
        last: (u8, u8),
    },
    /// A word would be of two lines.
    Ambiguous {
        /// The one.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
    /// More lines than there may be.
    Count {
        /// How many.
        found: usize,
        /// How many there may be.
        limit: usize,
    },
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnitError::Function { name, found, last } => {
                let ((funct3, funct7), (last3, last7)) = (found, last);
                write!(f, "unit `{name}`: found funct3 {funct3} and funct7 {funct7}, ")?;
                write!(f, "expected at most {last3} and {last7}")
            }
            UnitError::Ambiguous { first, second } => {
                write!(f, "units `{first}` and `{second}` have words in common")?;
                write!(f, "\nhelp: give one of them another funct3, or another opcode")
            }
            UnitError::Count { found, limit } => write!(f, "found {found} units, expected at most {limit}"),
        }
    }
}

impl std::error::Error for UnitError {}

/// What a program did that ends its run. A faulted machine stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where the instruction is that did it, its slot in bits 1:0.
    pub pc: u32,
    /// What it did.
    pub kind: FaultKind,
}

/// What a program did that ends its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// A trap that the environment has no answer to.
    Unanswered {
        /// The trap.
        trap: Trap,
    },
    /// A compressed instruction, which this processor has none of.
    Compressed {
        /// Its half-word.
        half: u16,
    },
    /// A system call that is not among those that programs here need.
    SystemCall {
        /// Its number.
        number: u32,
    },
    /// It stored where it executes.
    StoredToCode {
        /// The address.
        address: u32,
    },
    /// What memory has in a line is not what was put there.
    LineCheck {
        /// The first address of the lines that one tag is for.
        line: u32,
    },
    /// It loaded, as data, what is packed as instructions.
    PackedText {
        /// The address.
        address: u32,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fault at {:#010x}: ", self.pc & !3)?;
        if self.pc & 3 != 0 {
            write!(f, "slot {}: ", self.pc & 3)?;
        }
        match self.kind {
            FaultKind::Unanswered { trap } => write!(f, "{trap}, which nothing answers"),
            FaultKind::Compressed { half } => {
                write!(f, "compressed instruction: found half-word {half:#06x}, expected low bits 11")?;
                write!(f, "\nhelp: compile with -march=rv32im")
            }
            FaultKind::SystemCall { number } => write!(f, "system call {number} is not known"),
            FaultKind::StoredToCode { address } => {
                write!(f, "stored to {address:#010x}, which is executed")?;
                write!(f, "\nhelp: code that changes cannot be run")
            }
            FaultKind::LineCheck { line } => {
                write!(f, "the tag of the lines from {line:#010x} on does not match: ")?;
                write!(f, "memory is not as it was sealed")
            }
            FaultKind::PackedText { address } => {
                write!(f, "loaded from {address:#010x}, where packed instructions are")?;
                write!(f, "\nhelp: keep constants in a section of their own")
            }
        }
    }
}

impl std::error::Error for Fault {}
