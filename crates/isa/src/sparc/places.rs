//! What an instruction reads and writes, as sets of places.
//!
//! Owns: the roles that the table names, and their resolution for one instruction. Memory is one place; the state
//! that only supervisors reach is one; r0 is none. Registers are those of the instruction's own window: whoever names
//! one of r8 to r31 reads which window that is, and so shares a place with what changes it.

use std::fmt;

use super::bits::{CONSTANT, Instruction};

/// A role in the table's columns of reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The first source register.
    Rs1,
    /// The second source register, where there is one.
    Rs2,
    /// The destination register, or the one that is stored.
    Rd,
    /// Two registers from an even one on.
    Pair,
    /// r15, where a call leaves its address.
    LinkRegister,
    /// The integer condition codes.
    Icc,
    /// The Y register.
    Y,
    /// The current window and which ones are valid.
    Window,
    /// What supervisors are told apart by: PSR without the above, and TBR.
    Psr,
    /// Ancillary state registers.
    Ancillary,
    /// Memory.
    Memory,
    /// Registers of the floating-point unit or the coprocessor.
    Unit,
    /// All of these: what an environment or a handler does that a trap leads to.
    Everything,
}

/// A set of places.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Set(u64);

const NAMES: [&str; 7] = ["icc", "y", "window", "psr", "asr", "memory", "unit"];

impl Set {
    /// Nothing.
    pub const EMPTY: Set = Set(0);
    /// The integer condition codes.
    pub const ICC: Set = Set(1 << 32);
    /// The Y register.
    pub const Y: Set = Set(1 << 33);
    /// The current window and which ones are valid.
    pub const WINDOW: Set = Set(1 << 34);
    /// PSR without condition codes and window, and TBR.
    pub const PSR: Set = Set(1 << 35);
    /// Ancillary state registers.
    pub const ANCILLARY: Set = Set(1 << 36);
    /// Memory.
    pub const MEMORY: Set = Set(1 << 37);
    /// Registers of other units.
    pub const UNIT: Set = Set(1 << 38);
    /// All places.
    pub const ALL: Set = Set((1 << 39) - 2);
    /// The registers that each window has of its own or shares with a neighbour.
    const WINDOWED: Set = Set(0xffff_ff00);

    /// One general register; r0 is no place.
    pub const fn register(number: u8) -> Set {
        Set((1 << (number & 31)) & !1)
    }

    /// Both.
    #[must_use]
    pub const fn union(self, other: Set) -> Set {
        Set(self.0 | other.0)
    }

    /// What is in it and not in `other`.
    #[must_use]
    pub const fn without(self, other: Set) -> Set {
        Set(self.0 & !other.0)
    }

    /// Whether all of `other` is in it.
    pub const fn contains(self, other: Set) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether they share a place.
    pub const fn meets(self, other: Set) -> bool {
        self.0 & other.0 != 0
    }
}

impl fmt::Debug for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Set::ALL {
            return f.write_str("{all}");
        }
        let registers = (0..32).filter(|number| self.0 >> number & 1 == 1).map(super::text::register);
        let others = NAMES.iter().enumerate().filter(|(bit, _)| self.0 >> (bit + 32) & 1 == 1);
        let names: Vec<&str> = registers.chain(others.map(|(_, &name)| name)).collect();
        write!(f, "{{{}}}", names.join(", "))
    }
}

impl Instruction {
    /// What it reads, an instruction behind it on the way of the program left out.
    pub fn reads(&self) -> Set {
        let found = self.resolve(self.opcode.row().reads);
        let windowed = found.union(self.writes()).meets(Set::WINDOWED);
        if windowed { found.union(Set::WINDOW) } else { found }
    }

    /// What it writes. A register that SAVE or RESTORE writes is of the window that it enters.
    pub fn writes(&self) -> Set {
        self.resolve(self.opcode.row().writes)
    }

    fn resolve(&self, places: &[Place]) -> Set {
        places.iter().fold(Set::EMPTY, |set, &place| set.union(self.place(place)))
    }

    fn place(&self, place: Place) -> Set {
        match place {
            Place::Rs1 => Set::register(self.rs1),
            Place::Rs2 if self.rs2 == CONSTANT => Set::EMPTY,
            Place::Rs2 => Set::register(self.rs2),
            Place::Rd => Set::register(self.rd),
            Place::Pair => Set::register(self.rd & !1).union(Set::register(self.rd | 1)),
            Place::LinkRegister => Set::register(15),
            Place::Icc => Set::ICC,
            Place::Y => Set::Y,
            Place::Window => Set::WINDOW,
            Place::Psr => Set::PSR,
            Place::Ancillary => Set::ANCILLARY,
            Place::Memory => Set::MEMORY,
            Place::Unit => Set::UNIT,
            Place::Everything => Set::ALL,
        }
    }
}
