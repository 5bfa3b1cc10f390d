//! Every word this room says when something is wrong with its input.
//!
//! Owns: the closed error enums of words, text and images, and what a running chip calls a fault.
//! Bugs of this room are assertions and not here; files are read by the tools above.

use std::fmt;

use super::bits::Range;
use super::table::{Opcode, Operand};

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

/// Why a text is not an instruction of these cores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextError<E> {
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
    /// An operand's expression has no value.
    Expression {
        /// The expression found.
        found: String,
        /// What the resolver said.
        why: E,
    },
    /// A flash address or distance is odd.
    Odd {
        /// The value found, in bytes.
        found: i64,
    },
    /// An operand's value has no encoding.
    Range(Unencodable),
}

impl<E> fmt::Display for TextError<E> {
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
            TextError::Expression { found, .. } => write!(f, "operand has no value: found `{found}`"),
            TextError::Odd { found } => {
                write!(f, "flash address is odd: found {found} bytes, expected a multiple of 2")
            }
            TextError::Range(unencodable) => unencodable.fmt(f),
        }
    }
}

impl<E: fmt::Debug> std::error::Error for TextError<E> {}

/// Why bytes are not an image of a program for these chips.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageError {
    /// Not a 32-bit little-endian ELF file, or one that ends early or contradicts itself.
    Elf {
        /// What the reader of ELF said.
        why: String,
    },
    /// The file is for another processor.
    Machine {
        /// `e_machine` as found; 83 is AVR.
        found: u16,
    },
    /// The file is an object or a library, not a linked program.
    NotLinked {
        /// `e_type` as found; 2 is a linked program.
        found: u16,
    },
    /// The file is for an AVR generation that the chip is not.
    Generation {
        /// The architecture in `e_flags` (51 for avr51).
        found: u8,
        /// The one of the chip, which runs parts of it too.
        expected: u8,
    },
    /// A segment lies outside its memory.
    Outside {
        /// Which memory.
        memory: &'static str,
        /// The segment's first address in that memory, in bytes.
        first: u64,
        /// The segment's length in bytes.
        bytes: u64,
        /// The memory's size in bytes.
        limit_bytes: u64,
    },
    /// A segment has an address in no memory that can be programmed.
    Unloadable {
        /// The load address as found.
        found: u32,
    },
    /// Two segments claim the same address.
    Overlap {
        /// The first address that is claimed twice.
        address: u32,
    },
    /// Nothing to load.
    Empty,
}

impl fmt::Display for ImageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImageError::Elf { why } => write!(f, "not a readable 32-bit ELF file: {why}"),
            ImageError::Machine { found } => {
                write!(
                    f,
                    "not an AVR program: found machine {found}, expected 83\nhelp: link it with avr-gcc"
                )
            }
            ImageError::NotLinked { found } => {
                write!(
                    f,
                    "not a linked program: found ELF type {found}, expected 2\nhelp: link it with avr-gcc"
                )
            }
            ImageError::Generation { found, expected } => {
                write!(
                    f,
                    "program is for another AVR: found avr{found}, expected avr{expected} or a part of it"
                )?;
                write!(f, "\nhelp: compile it with the chip's -mmcu")
            }
            ImageError::Outside { memory, first, bytes, limit_bytes } => {
                let end = first + bytes;
                write!(
                    f,
                    "segment outside {memory}: found {first:#x} to {end:#x}, expected at most {limit_bytes:#x}"
                )
            }
            ImageError::Unloadable { found } => {
                write!(f, "segment has no memory: found load address {found:#x}, expected flash or EEPROM")
            }
            ImageError::Overlap { address } => write!(f, "two segments claim flash address {address:#x}"),
            ImageError::Empty => write!(f, "program is empty: found no segment to load"),
        }
    }
}

impl std::error::Error for ImageError {}

/// Something a program did that the chip does not define. A faulted chip stands still until it is reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Byte address in flash of the instruction that did it.
    pub address: u32,
    /// What it did.
    pub kind: FaultKind,
}

/// What a program did that the chip does not define.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// Its word is no instruction of this core.
    IllegalInstruction {
        /// The word.
        word: u16,
    },
    /// The program counter left the flash.
    PastFlash,
    /// A data-space address where the chip has nothing.
    NoMemory {
        /// The address.
        address: u16,
    },
    /// The stack pointer points at registers.
    StackInRegisters {
        /// The stack pointer.
        pointer: u16,
    },
    /// Something the hardware has and this simulator does not: better stopped than wrong.
    Unmodelled {
        /// The register written.
        register: &'static str,
        /// The value written.
        value: u8,
    },
    /// The read-while-write section was read or executed while it is programmed or not yet enabled again.
    FlashBusy {
        /// The byte address in flash.
        address: u32,
    },
    /// SLEEP with a reserved mode.
    ReservedSleepMode {
        /// The mode bits.
        bits: u8,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fault at flash address {:#x}: ", self.address)?;
        match self.kind {
            FaultKind::IllegalInstruction { word } => write!(f, "word {word:#06x} is no instruction"),
            FaultKind::PastFlash => write!(f, "program counter left the flash"),
            FaultKind::NoMemory { address } => write!(f, "no memory at data address {address:#06x}"),
            FaultKind::StackInRegisters { pointer } => {
                write!(f, "stack pointer {pointer:#06x} points at registers")?;
                write!(f, "\nhelp: set SP before the first call, push or interrupt")
            }
            FaultKind::Unmodelled { register, value } => {
                write!(f, "wrote {value:#04x} to {register}, which is not modelled")
            }
            FaultKind::FlashBusy { address } => {
                write!(f, "read flash address {address:#x} while its section is being programmed")?;
                write!(f, "\nhelp: wait for SPMEN to clear, then enable the section with RWWSRE")
            }
            FaultKind::ReservedSleepMode { bits } => write!(f, "sleep mode {bits:#05b} is reserved"),
        }
    }
}

impl std::error::Error for Fault {}
