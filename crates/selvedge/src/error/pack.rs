//! Why a program is not packed, sealed, opened or run, with the file that is meant.
//!
//! Owns whose fault each is, and the words of what only the roof knows. The tool has an enum for each of its doors
//! (programs, ELF files, seals, runs), because who calls one of them gets no other's; here they are one.

use std::fmt;
use std::path::{Path, PathBuf};

use ::pack::error::SweepError;
use ::pack::{ElfError, RunError, SealError, Target};
use isa::{Cycles, rv32, sparc};

use super::Class;

/// Why a program is not packed, sealed, opened or run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PackFault {
    /// It cannot be packed, or not so.
    Program(::pack::Error),
    /// It is no file that can be sealed as it is.
    Elf(ElfError),
    /// It cannot be sealed so, or is no sealed image, or not one for us.
    Seal(SealError),
    /// It cannot be run, or not so.
    Run(RunError),
    /// It cannot be measured.
    Sweep(SweepError),
    /// It is not clear which inputs are learnt from, and which are measured.
    WhichInput {
        /// What was asked for.
        found: Option<String>,
        /// Those that there are.
        inputs: Vec<String>,
    },
    /// There is nothing to learn from.
    NoInput,
    /// Its address map is asked for, and it has none.
    NoMap,
    /// Tags that do not match.
    Tags {
        /// The first of them, one at least.
        faults: Vec<SealError>,
        /// How many there are.
        count: u32,
    },
    /// It is sealed, and nobody says under which key.
    NoDeviceKey,
    /// It is sealed, and what is asked for is of a program as it was before.
    Sealed {
        /// What is asked for.
        what: &'static str,
    },
    /// It has no table of traps, and what is asked for needs one.
    NoTraps,
    /// What is asked for, or compared with, is of another instruction set.
    OtherTarget {
        /// What that is.
        what: &'static str,
        /// The program's instruction set.
        found: Target,
        /// That of what is asked for.
        expected: Target,
    },
    /// A flag of another scheme than the one that is asked for.
    Scheme {
        /// The scheme.
        scheme: &'static str,
        /// What the flag is of.
        found: &'static str,
        /// Which schemes have that.
        expected: &'static str,
    },
    /// A file that should be text.
    NotText,
    /// What synthesis said of other hardware than there is.
    Stale,
    /// What is written would take the place of something else.
    Overwrites {
        /// What is read or written there already.
        other: PathBuf,
    },
    /// The program did what ends its run.
    Fault(sparc::Fault),
    /// The same of RV32IM.
    FaultRv32(rv32::Fault),
    /// The program ended and says that it failed.
    Status {
        /// What it says.
        found: u32,
    },
    /// The program did not end within the cycles that it was given.
    NotEnded {
        /// How many.
        limit: Cycles,
    },
    /// The program and the one that it is compared with did not print the same.
    Differs {
        /// The other one.
        other: PathBuf,
    },
}

impl PackFault {
    /// It, with the file.
    pub fn of(self, path: &Path) -> super::Error {
        super::Error::Pack { path: path.to_owned(), fault: self }
    }

    /// Whose fault it is.
    pub(super) fn class(&self) -> Class {
        match self {
            fault if fault.is_of_flags() => Class::CommandLine,
            PackFault::Seal(SealError::Randomness { .. }) => Class::Environment,
            PackFault::Program(::pack::Error::Function { .. })
            | PackFault::Seal(
                SealError::NoSuchSection { .. }
                | SealError::Contradiction { .. }
                | SealError::NothingToSeal
                | SealError::TablesPlace { .. }
                | SealError::Gaps { .. },
            )
            | PackFault::WhichInput { .. }
            | PackFault::NoInput
            | PackFault::NoMap
            | PackFault::NoDeviceKey
            | PackFault::Sealed { .. }
            | PackFault::NoTraps
            | PackFault::OtherTarget { .. }
            | PackFault::Overwrites { .. } => Class::CommandLine,
            _ => Class::Input,
        }
    }

    /// Whether the flags alone are at fault, whatever the file is.
    fn is_of_flags(&self) -> bool {
        use ::pack::Error as Program;
        matches!(
            self,
            PackFault::Scheme { .. }
                | PackFault::Program(
                    Program::Entries { .. }
                        | Program::Share { .. }
                        | Program::NoProfile { .. }
                        | Program::BlockBytes { .. },
                )
                | PackFault::Seal(
                    SealError::UnknownSeal { .. }
                        | SealError::UnknownLayout { .. }
                        | SealError::Legacy { .. }
                        | SealError::Integrity { .. },
                )
                | PackFault::Run(RunError::CacheLine { .. } | RunError::CacheSets { .. })
        )
    }

    /// The words for the file at `path`.
    pub(super) fn write(&self, path: &Path, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_of_flags() {
            write!(f, "`{}`: ", path.display())?;
        }
        write!(f, "{self}")?;
        match self {
            PackFault::Program(::pack::Error::Machine { .. }) => {
                f.write_str("\nhelp: `--scheme none` seals a program of any processor as it is")
            }
            PackFault::Seal(SealError::TablesFirst { .. } | SealError::TablesPlace { .. }) => {
                f.write_str(", with `--tables`")
            }
            PackFault::Seal(SealError::Legacy { .. }) => f.write_str(" with `--allow-legacy`"),
            PackFault::Seal(SealError::NoTags) => f.write_str(": `pack build --integrity 8`"),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for PackFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PackFault::Program(error) => write!(f, "{error}"),
            PackFault::Elf(error) => write!(f, "{error}"),
            PackFault::Seal(error) => write!(f, "{error}"),
            PackFault::Run(error) => write!(f, "{error}"),
            PackFault::Sweep(error) => write!(f, "{error}"),
            PackFault::WhichInput { found: Some(found), inputs } => {
                write!(f, "found no input `{found}`, expected one of: {}", inputs.join(", "))
            }
            PackFault::WhichInput { found: None, inputs } => write!(
                f,
                "found {} inputs of the program, expected one to learn from at least, and another to measure",
                inputs.len()
            ),
            PackFault::NoInput => {
                f.write_str("found no input of the program, expected a line for one to learn from at least")
            }
            PackFault::NoMap => f.write_str(
                "found no address map, expected one: nothing moved in the image, or `--no-map` left it out",
            ),
            PackFault::Tags { faults, count } => {
                let words: Vec<String> = faults.iter().map(ToString::to_string).collect();
                f.write_str(&words.join("; "))?;
                match count.saturating_sub(faults.len() as u32) {
                    0 => Ok(()),
                    rest => write!(f, "; and {rest} more"),
                }
            }
            PackFault::NoDeviceKey => f.write_str(
                "the image is sealed, found no device key, expected the one that it was built for\n\
                 help: name its file with `--device-key`",
            ),
            PackFault::Sealed { what } => {
                write!(
                    f,
                    "found a sealed image, expected an ELF file: {what} is a program's before it is packed"
                )
            }
            PackFault::NoTraps => f.write_str(
                "found no section `.traps`, expected one: on a board a program begins at its table of traps\n\
                 help: without `--board` it runs under Linux's calls",
            ),
            PackFault::OtherTarget { what, found, expected } => write!(
                f,
                "found a program for {}, expected one for {}, which {what} is for",
                name(*found),
                name(*expected)
            ),
            PackFault::Scheme { scheme, found, expected } => {
                write!(f, "found {found} with `--scheme {scheme}`, expected them only with {expected}")
            }
            PackFault::NotText => f.write_str("found bytes that are not UTF-8, expected text"),
            PackFault::Stale => f.write_str(
                "found a synthesis of other hardware, expected one of rtl/*.v\n\
                 help: scripts/rtl.sh synth --csv >synthesis.csv && mv synthesis.csv rtl",
            ),
            PackFault::Overwrites { other } => write!(
                f,
                "found an output that is the same file as `{}`, expected one of its own",
                other.display()
            ),
            PackFault::Fault(fault) => write!(f, "{fault}"),
            PackFault::FaultRv32(fault) => write!(f, "{fault}"),
            PackFault::Status { found } => write!(f, "the program ended with status {found}, expected 0"),
            PackFault::NotEnded { limit } => write!(
                f,
                "the program had not ended after {limit} cycles, expected it to\nhelp: give it more with `--limit`"
            ),
            PackFault::Differs { other } => {
                write!(f, "the program printed something else than `{}`, expected the same", other.display())
            }
        }
    }
}

/// What an instruction set is called.
const fn name(target: Target) -> &'static str {
    match target {
        Target::Sparc => "SPARC V8",
        Target::Rv32 => "RV32IM",
    }
}

macro_rules! from {
    ($($error:ty => $variant:ident),*) => {
        $(impl From<$error> for PackFault {
            fn from(error: $error) -> PackFault {
                PackFault::$variant(error)
            }
        })*
    };
}

from! {
    ::pack::Error => Program, ElfError => Elf, SealError => Seal, RunError => Run, SweepError => Sweep,
    sparc::Fault => Fault, rv32::Fault => FaultRv32
}
