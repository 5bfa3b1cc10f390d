//! The words for what is not run, and for what is not measured.
//!
//! Owns: [`RunError`] and [`SweepError`]. The others are `error`'s.

use std::fmt;

use isa::Cycles;
use isa::sparc::ImageError;

use super::Error;
use crate::chain::run::End;
use crate::target::Target;

/// Why an image is not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// A cache line of a length that there is not.
    CacheLine {
        /// The length found, in bytes.
        found_bytes: u32,
    },
    /// A cache that is not a power of two of sets.
    CacheSets {
        /// Its size, in bytes.
        found_bytes: u32,
        /// Its ways.
        ways: u32,
        /// Its lines, in bytes.
        line_bytes: u32,
    },
    /// An image of another instruction set than the one that is run.
    RunTarget {
        /// The one found.
        found: Target,
        /// The one that the core has.
        expected: Target,
    },
    /// A program for a machine whose programs are not run here.
    Machine {
        /// `e_machine` as found; 2 is SPARC, 243 is RISC-V.
        found: u16,
    },
    /// What a boot reads is not what was sealed.
    BootCheck {
        /// The first line of its group.
        line: u32,
    },
    /// An image without instructions.
    NoCode,
    /// A section of code that does not begin with a word.
    CodeAlignment {
        /// Its first address.
        first: u32,
    },
    /// Two sections claim an address, or a section ends behind memory.
    Sections {
        /// The first address at fault.
        address: u32,
    },
    /// A sealed range that is not whole lines of what is only read.
    SealedRange {
        /// Its first address.
        first: u32,
        /// The address behind it.
        end: u32,
    },
    /// A model of compressed code that says what cannot be.
    Model {
        /// Which part of it.
        what: &'static str,
        /// Where that stands in the model, in bytes.
        at: usize,
        /// What stands there; for a code's tables, how far they could be read, in bytes.
        found: u64,
        /// What may.
        expected: &'static str,
    },
    /// A model without blocks, blocks without a model, or several.
    ModelAlone {
        /// How many models there are.
        models: usize,
        /// How many sections of blocks.
        blocks: usize,
    },
    /// A block of compressed code that is none.
    Block {
        /// Its first address, of plain code.
        address: u32,
    },
    /// The program does not fit where it is run.
    Image(ImageError),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::CacheLine { found_bytes } => {
                write!(f, "cache line: found {found_bytes} bytes, expected 16, 32 or 64")
            }
            RunError::CacheSets { found_bytes, ways, line_bytes } => {
                write!(f, "cache: found {found_bytes} bytes in {ways} ways of lines of {line_bytes} bytes")?;
                write!(f, ", expected a power of two of lines in each way, up to 16 MiB")
            }
            RunError::RunTarget { found, expected } => {
                write!(f, "this image cannot be run here: found {found:?}, expected {expected:?}")
            }
            RunError::Machine { found } => {
                write!(
                    f,
                    "programs of this processor cannot be run: found machine {found}, expected 2 (SPARC, high byte \
                     first) or 243 (RISC-V, low byte first)"
                )
            }
            RunError::BootCheck { line } => {
                write!(f, "the tag of the lines from {line:#010x} on does not match at boot: ")?;
                write!(f, "memory is not as it was sealed")
            }
            RunError::NoCode => write!(f, "image has no instructions: found no section of code"),
            RunError::CodeAlignment { first } => {
                write!(
                    f,
                    "section of code: found {first:#010x} as its first address, expected a multiple of 4"
                )
            }
            RunError::Sections { address } => {
                write!(f, "section at {address:#010x} overlaps another one, or ends behind memory")
            }
            RunError::SealedRange { first, end } => {
                write!(f, "sealed range: found {first:#010x} to {end:#010x}")?;
                write!(f, ", expected whole lines of 16 bytes of what is only read")
            }
            RunError::Model { what, at, found, expected } => {
                write!(f, "model of compressed code, {what} at {at}: found {found}, expected {expected}")
            }
            RunError::ModelAlone { models, blocks } => {
                write!(f, "compressed code: found {models} models and {blocks} sections of blocks")?;
                write!(f, ", expected one of each")
            }
            RunError::Block { address } => {
                write!(f, "compressed block of {address:#010x}: found bytes that its code does not write")
            }
            RunError::Image(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RunError {}

impl From<ImageError> for RunError {
    fn from(error: ImageError) -> RunError {
        RunError::Image(error)
    }
}

/// Why a program is not measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SweepError {
    /// It cannot be packed.
    Pack(Error),
    /// It cannot be run.
    Run {
        /// The input's name.
        input: String,
        /// Why not.
        error: RunError,
    },
    /// Compressed code that cannot be decoded.
    Image {
        /// Why not.
        error: RunError,
    },
    /// A run ended otherwise than well.
    Ended {
        /// The input's name.
        input: String,
        /// How.
        found: End,
    },
    /// A run of RV32 ended otherwise than well.
    EndedRv32 {
        /// The input's name.
        input: String,
        /// How.
        found: End<isa::rv32::Fault>,
    },
    /// A run that was given up.
    NotEnded {
        /// The input's name.
        input: String,
        /// After how many cycles.
        limit: Cycles,
    },
    /// The packed program does not write what the program writes.
    Output {
        /// The input's name.
        input: String,
    },
}

impl fmt::Display for SweepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SweepError::Pack(error) => error.fmt(f),
            SweepError::Run { input, error } => write!(f, "input `{}`: {error}", input.escape_debug()),
            SweepError::Image { error } => error.fmt(f),
            SweepError::Ended { input, found } => {
                write!(f, "input `{}`: the run ended with {found:?}, expected status 0", input.escape_debug())
            }
            SweepError::EndedRv32 { input, found } => {
                write!(f, "input `{}`: the run ended with {found:?}, expected status 0", input.escape_debug())
            }
            SweepError::NotEnded { input, limit } => {
                write!(f, "input `{}`: found no end of the run, expected one", input.escape_debug())?;
                write!(f, " within {limit} cycles\nhelp: give it more with `--limit`")
            }
            SweepError::Output { input } => {
                write!(f, "input `{}`: the packed program writes something else", input.escape_debug())
            }
        }
    }
}

impl std::error::Error for SweepError {}

impl From<Error> for SweepError {
    fn from(error: Error) -> SweepError {
        SweepError::Pack(error)
    }
}
