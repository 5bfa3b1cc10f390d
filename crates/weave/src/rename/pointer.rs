//! Loads and stores through X, Y and Z, and which of them can be through another of the three.

use isa::avr::{Instruction, Opcode};

/// Whether it stores a register in memory.
pub fn is_store(instruction: &Instruction) -> bool {
    let through_pointer = Pointer::of(instruction).is_some_and(|pointer| pointer.access == Access::Store);
    through_pointer || instruction.opcode == Opcode::Sts
}

/// Whether an access changes its pointer.
pub fn moves_pointer(instruction: &Instruction) -> bool {
    Pointer::of(instruction).is_some_and(|pointer| matches!(pointer.mode, Mode::Increment | Mode::Decrement))
}

/// A load or store through a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pointer {
    /// The lower register of X, Y or Z.
    pub(super) base: u8,
    access: Access,
    mode: Mode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Load,
    Store,
    Flash,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Plain,
    Increment,
    Decrement,
    Displaced,
}

/// The opcodes with a pointer; `Plain` through Y and Z is a displacement of zero.
#[rustfmt::skip]
const POINTED: [(Opcode, u8, Access, Mode); 20] = {
    use Access::*;
    use Mode::*;
    [
        (Opcode::LdX, 26, Load, Plain), (Opcode::LdXInc, 26, Load, Increment), (Opcode::LdXDec, 26, Load, Decrement),
        (Opcode::LddY, 28, Load, Displaced), (Opcode::LdYInc, 28, Load, Increment), (Opcode::LdYDec, 28, Load, Decrement),
        (Opcode::LddZ, 30, Load, Displaced), (Opcode::LdZInc, 30, Load, Increment), (Opcode::LdZDec, 30, Load, Decrement),
        (Opcode::StX, 26, Store, Plain), (Opcode::StXInc, 26, Store, Increment), (Opcode::StXDec, 26, Store, Decrement),
        (Opcode::StdY, 28, Store, Displaced), (Opcode::StYInc, 28, Store, Increment), (Opcode::StYDec, 28, Store, Decrement),
        (Opcode::StdZ, 30, Store, Displaced), (Opcode::StZInc, 30, Store, Increment), (Opcode::StZDec, 30, Store, Decrement),
        (Opcode::LpmZ, 30, Flash, Plain), (Opcode::LpmZInc, 30, Flash, Increment),
    ]
};

impl Pointer {
    /// Of an instruction that has one.
    pub(super) fn of(instruction: &Instruction) -> Option<Pointer> {
        let &(_, base, access, mode) = POINTED.iter().find(|(known, ..)| *known == instruction.opcode)?;
        let mode = if mode == Mode::Displaced && instruction.b == 0 { Mode::Plain } else { mode };
        Some(Pointer { base, access, mode })
    }

    /// The same access through another pointer.
    pub(super) fn at(self, base: u8) -> Option<Opcode> {
        let same = |mode: Mode| {
            let is_it = |entry: &&(Opcode, u8, Access, Mode)| {
                entry.1 == base && entry.2 == self.access && entry.3 == mode
            };
            POINTED.iter().find(is_it).map(|entry| entry.0)
        };
        same(self.mode).or_else(|| match self.mode {
            Mode::Plain if self.access != Access::Flash => same(Mode::Displaced),
            _ => None,
        })
    }
}
