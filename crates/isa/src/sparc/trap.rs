//! Traps by their number.
//!
//! Owns: the trap types of V8 (manual, table 7-1), their names, and which of two comes first. What happens when one
//! is taken is `machine`'s.

use std::fmt;

/// A trap type, the eight bits that TBR has of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Trap(pub u8);

macro_rules! traps {
    ($($(#[$doc:meta])* $name:ident $number:literal $words:literal)*) => {
        impl Trap {
            $($(#[$doc])* pub const $name: Trap = Trap($number);)*

            /// The manual's name, of those that have one of their own.
            fn name(self) -> Option<&'static str> {
                match self {
                    $(Trap::$name => Some($words),)*
                    _ => None,
                }
            }
        }
    };
}

traps! {
    /// Reset.
    RESET 0x00 "reset"
    /// Nothing to execute at an address.
    INSTRUCTION_ACCESS_EXCEPTION 0x01 "instruction_access_exception"
    /// A word that is no instruction.
    ILLEGAL_INSTRUCTION 0x02 "illegal_instruction"
    /// An instruction for supervisors only.
    PRIVILEGED_INSTRUCTION 0x03 "privileged_instruction"
    /// There is no floating-point unit, or it is off.
    FP_DISABLED 0x04 "fp_disabled"
    /// SAVE towards an invalid window.
    WINDOW_OVERFLOW 0x05 "window_overflow"
    /// RESTORE or RETT towards an invalid window.
    WINDOW_UNDERFLOW 0x06 "window_underflow"
    /// An address that is no multiple of what is accessed.
    MEM_ADDRESS_NOT_ALIGNED 0x07 "mem_address_not_aligned"
    /// Nothing to load or store at an address.
    DATA_ACCESS_EXCEPTION 0x09 "data_access_exception"
    /// TADDCCTV or TSUBCCTV with a tag or an overflow.
    TAG_OVERFLOW 0x0a "tag_overflow"
    /// What is at an address cannot be brought or is not sound.
    INSTRUCTION_ACCESS_ERROR 0x21 "instruction_access_error"
    /// There is no coprocessor, or it is off.
    CP_DISABLED 0x24 "cp_disabled"
    /// A load cannot be done, or what it brings is not sound.
    DATA_ACCESS_ERROR 0x29 "data_access_error"
    /// A division by zero.
    DIVISION_BY_ZERO 0x2a "division_by_zero"
    /// A store cannot be done.
    DATA_STORE_ERROR 0x2b "data_store_error"
}

impl Trap {
    /// The trap of an interrupt of level 1 to 15.
    pub const fn interrupt(level: u8) -> Trap {
        assert!(level >= 1 && level <= 15);
        Trap(0x10 + level)
    }

    /// The trap of a Ticc instruction, by its number 0 to 127.
    pub const fn software(number: u8) -> Trap {
        Trap(0x80 | number & 0x7f)
    }

    /// The level of an interrupt.
    pub const fn interrupt_level(self) -> Option<u8> {
        if self.0 >= 0x11 && self.0 <= 0x1f { Some(self.0 - 0x10) } else { None }
    }

    /// The number of a Ticc instruction's trap.
    pub const fn software_number(self) -> Option<u8> {
        if self.0 >= 0x80 { Some(self.0 & 0x7f) } else { None }
    }
}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.name(), self.0) {
            (Some(name), number) => write!(f, "trap {name} ({number:#04x})"),
            (None, 0x11..=0x1f) => write!(f, "interrupt of level {}", self.0 - 0x10),
            (None, 0x80..) => write!(f, "trap instruction {:#04x}", self.0 & 0x7f),
            (None, number) => write!(f, "trap {number:#04x}"),
        }
    }
}
