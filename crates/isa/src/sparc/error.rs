//! Every word this room says when something is wrong with its input.
//!
//! Owns: the closed error enums of words, text, images and timing files, and what a running program does that ends
//! its run. Bugs of this room are assertions and not here; files are read by the tools above.

use std::fmt;

use super::bits::Range;
use super::table::{Opcode, Operand};
use super::trap::Trap;

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

/// Why bytes are not an image of a program for this processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageError {
    /// Not a 32-bit ELF file, or one that ends early or contradicts itself.
    Elf {
        /// What the reader of ELF said.
        why: String,
    },
    /// The file is for another processor.
    Machine {
        /// `e_machine` as found; 2 is SPARC.
        found: u16,
    },
    /// The file is an object or a library, not a linked program.
    NotLinked {
        /// `e_type` as found; 2 is a linked program.
        found: u16,
    },
    /// The program begins where no instruction can.
    Entry {
        /// The address as found.
        found: u32,
    },
    /// A segment of instructions begins or ends inside a word.
    Unaligned {
        /// Its first address.
        first: u32,
        /// Its length in bytes.
        bytes: u32,
    },
    /// Two segments claim the same address.
    Overlap {
        /// The first address that is claimed twice.
        address: u32,
    },
    /// A segment lies past the end of memory, or outside what the environment has.
    Outside {
        /// Its first address.
        first: u32,
        /// Its length in bytes.
        bytes: u64,
        /// The first address behind the memory.
        limit: u64,
    },
    /// More to load, or more of it instructions, than this room takes.
    TooLarge {
        /// How much it is, in bytes.
        found_bytes: u64,
        /// What it may be.
        limit_bytes: u64,
    },
    /// The arguments do not fit the stack.
    Arguments {
        /// Their length in bytes.
        found_bytes: u64,
        /// What they may take.
        limit_bytes: u64,
    },
    /// Nothing to load.
    Empty,
}

impl fmt::Display for ImageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImageError::Elf { why } => write!(f, "not a readable 32-bit ELF file: {why}"),
            ImageError::Machine { found } => {
                write!(f, "not a SPARC V8 program: found machine {found}, expected 2")?;
                if *found == 18 {
                    write!(f, "\nhelp: 18 is V8 plus parts of V9: link no library that was compiled for V9")?;
                }
                Ok(())
            }
            ImageError::NotLinked { found } => {
                write!(f, "not a linked program: found ELF type {found}, expected 2")?;
                write!(f, "\nhelp: link it with -static and -no-pie")
            }
            ImageError::Entry { found } => {
                write!(f, "entry is no word of a segment of instructions: found {found:#010x}")
            }
            ImageError::Unaligned { first, bytes } => {
                write!(f, "instructions are not whole words: found {bytes} bytes from {first:#010x}")?;
                write!(f, ", expected multiples of 4")
            }
            ImageError::Overlap { address } => write!(f, "two segments claim address {address:#010x}"),
            ImageError::Outside { first, bytes, limit } => {
                let end = u64::from(*first) + bytes;
                write!(f, "segment outside memory: found {first:#x} to {end:#x}, expected at most {limit:#x}")
            }
            ImageError::TooLarge { found_bytes, limit_bytes } => {
                write!(f, "program is too large: found {found_bytes} bytes, expected at most {limit_bytes}")
            }
            ImageError::Arguments { found_bytes, limit_bytes } => {
                write!(f, "arguments are too long: found {found_bytes} bytes, expected at most {limit_bytes}")
            }
            ImageError::Empty => write!(f, "program is empty: found no segment of instructions"),
        }
    }
}

impl std::error::Error for ImageError {}

/// Why a file does not tell the cycles of a core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimingError {
    /// Its first line is another one.
    Header {
        /// The line found.
        found: String,
    },
    /// A line that is not four cells.
    Cells {
        /// The line, from 1.
        line: usize,
        /// How many cells it has.
        found: usize,
    },
    /// A line of nothing that takes time.
    Name {
        /// The line, from 1.
        line: usize,
        /// The name found.
        found: String,
    },
    /// A line of what a line before it told.
    Twice {
        /// The line, from 1.
        line: usize,
        /// The name found.
        found: String,
    },
    /// Cycles that are no number, too few or too many.
    Cycles {
        /// The line, from 1.
        line: usize,
        /// The text found.
        found: String,
        /// The fewest that there can be.
        least: u8,
    },
    /// A cell without a source.
    Source {
        /// The line, from 1.
        line: usize,
    },
    /// A line is missing.
    Missing {
        /// What it would tell.
        name: &'static str,
    },
}

impl fmt::Display for TimingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TimingError::Header { found } => {
                write!(f, "timing line 1: found `{found}`, expected `name,cycles,source,comment`")
            }
            TimingError::Cells { line, found } => {
                write!(f, "timing line {line}: found {found} cells, expected 4")
            }
            TimingError::Name { line, found } => {
                write!(f, "timing line {line}: nothing called `{found}` takes time")
            }
            TimingError::Twice { line, found } => write!(f, "timing line {line}: `{found}` is told twice"),
            TimingError::Cycles { line, found, least } => {
                write!(f, "timing line {line}: found `{found}`, expected {least} to 255 cycles")
            }
            TimingError::Source { line } => write!(f, "timing line {line}: the number has no source"),
            TimingError::Missing { name } => write!(f, "timing lacks a line for `{name}`"),
        }
    }
}

impl std::error::Error for TimingError {}

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
        /// The line's first address.
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
                write!(f, "the line at {line:#010x} fails its check: memory is not as it was sealed")
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
