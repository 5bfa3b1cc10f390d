//! What an instruction reads and writes, as sets of places.
//!
//! Owns: the roles that the table names, and their resolution for one instruction. Memory is one place, and so are all
//! state registers; x0 is none.

use std::fmt;

use super::bits::Instruction;

/// A role in the table's columns of reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The first source register.
    Rs1,
    /// The second source register, or the one that is stored.
    Rs2,
    /// The destination register.
    Rd,
    /// Memory.
    Memory,
    /// State registers.
    Csr,
    /// All of these: what an environment does that is called.
    Everything,
}

/// A set of places.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Set(u64);

const NAMES: [&str; 2] = ["csr", "memory"];

impl Set {
    /// Nothing.
    pub const EMPTY: Set = Set(0);
    /// State registers.
    pub const CSR: Set = Set(1 << 32);
    /// Memory.
    pub const MEMORY: Set = Set(1 << 33);
    /// All places.
    pub const ALL: Set = Set((1 << 34) - 2);

    /// One general register; x0 is no place.
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
        self.resolve(self.opcode.row().reads)
    }

    /// What it writes.
    pub fn writes(&self) -> Set {
        self.resolve(self.opcode.row().writes)
    }

    fn resolve(&self, places: &[Place]) -> Set {
        places.iter().fold(Set::EMPTY, |set, &place| set.union(self.place(place)))
    }

    fn place(&self, place: Place) -> Set {
        match place {
            Place::Rs1 => Set::register(self.rs1),
            Place::Rs2 => Set::register(self.rs2),
            Place::Rd => Set::register(self.rd),
            Place::Memory => Set::MEMORY,
            Place::Csr => Set::CSR,
            Place::Everything => Set::ALL,
        }
    }
}
