//! Every word this room says when something is wrong with its input.
//!
//! Owns: the closed error enums of words and text, and what a running program does that ends its run. Those of images
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

/// Why a text is not an instruction of SPARC V8.
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
            TextError::Mnemonic { found } => write!(f, "unknown instruction: found `{found}`"),
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
    /// A trap while traps are disabled: the processor is in its error mode.
    ErrorMode {
        /// The trap.
        trap: Trap,
    },
    /// A trap that the environment has no answer to.
    Unanswered {
        /// The trap.
        trap: Trap,
    },
    /// A window could not be spilled to or filled from the stack.
    Stack {
        /// The stack pointer.
        pointer: u32,
    },
    /// An ancillary state register that the hardware may have and this simulator has not: better stopped than wrong.
    AncillaryRegister {
        /// Its number.
        number: u8,
    },
    /// An address space beyond ordinary memory.
    AddressSpace {
        /// Its number.
        number: u8,
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
    /// A trap at an instruction of a word that has several, before it was known where the next one is: nothing could
    /// come back to it.
    Unfetched {
        /// The trap.
        trap: Trap,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fault at {:#010x}: ", self.pc & !3)?;
        if self.pc & 3 != 0 {
            write!(f, "slot {}: ", self.pc & 3)?;
        }
        match self.kind {
            FaultKind::ErrorMode { trap } => {
                write!(f, "{trap} while traps are disabled: the processor is in error mode")
            }
            FaultKind::Unanswered { trap } => write!(f, "{trap}, which nothing answers"),
            FaultKind::Stack { pointer } => {
                write!(f, "a window does not fit the stack: found stack pointer {pointer:#010x}")
            }
            FaultKind::AncillaryRegister { number } => write!(f, "%asr{number} is not modelled"),
            FaultKind::AddressSpace { number } => write!(f, "address space {number:#04x} is not modelled"),
            FaultKind::SystemCall { number } => write!(f, "system call {number} is not known"),
            FaultKind::StoredToCode { address } => {
                write!(
                    f,
                    "stored to {address:#010x}, which is executed\nhelp: code that changes cannot be run"
                )
            }
            FaultKind::LineCheck { line } => {
                write!(f, "the tag of the lines from {line:#010x} on does not match: ")?;
                write!(f, "memory is not as it was sealed")
            }
            FaultKind::PackedText { address } => {
                write!(f, "loaded from {address:#010x}, where packed instructions are")?;
                write!(f, "\nhelp: keep constants in a section of their own")
            }
            FaultKind::Unfetched { trap } => {
                write!(f, "{trap} in a word of several instructions, and nothing tells what is behind it")
            }
        }
    }
}

impl std::error::Error for Fault {}
