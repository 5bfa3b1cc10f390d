//! Every word that all simulators of 32-bit processors say when something is wrong with their input.
//!
//! Owns: the closed error enums of images and of files that tell cycles. What has a processor's instructions in it is
//! in the `error` of its room.

use std::fmt;

use crate::elf;

/// Why bytes are not an image of a program for a processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageError {
    /// Not a 32-bit ELF file, or one that ends early or contradicts itself.
    Elf {
        /// What the reader of ELF said.
        why: String,
    },
    /// The file is for another processor.
    Machine {
        /// `e_machine` as found.
        found: u16,
        /// What it would be: 2 is SPARC, 243 is RISC-V.
        expected: u16,
    },
    /// The file is for a RISC-V processor with what RV32IM lacks.
    Extensions {
        /// `e_flags` as found.
        found: u32,
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
    /// More to load, or more of it instructions, than is taken.
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
            ImageError::Machine { found, expected } => {
                let name = if *expected == elf::SPARC { "a SPARC V8" } else { "an RV32" };
                write!(f, "not {name} program: found machine {found}, expected {expected}")?;
                if (*found, *expected) == (18, elf::SPARC) {
                    write!(f, "\nhelp: 18 is V8 plus parts of V9: link no library that was compiled for V9")?;
                }
                Ok(())
            }
            ImageError::Extensions { found } => {
                write!(f, "not a program for RV32IM: found ELF flags {found:#x}, expected 0")?;
                if found & 1 != 0 {
                    write!(f, ": it has compressed instructions")?;
                }
                write!(f, "\nhelp: compile it, and every library that it is linked with, with ")?;
                write!(f, "-march=rv32im -mabi=ilp32")
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
