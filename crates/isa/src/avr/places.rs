//! What instructions read and write, as sets.
//!
//! Owns: the places a program can keep a value ([`Place`] by role, [`Set`] resolved) and the resolution of a
//! table line's roles for one instruction. This is the input of liveness and dependence analyses, which are
//! the business of the tools above.
//! A set names the data space as one place: registers and SREG that are reached through data-space addresses
//! (LDS 0x05, STS 0x5F) are part of `Memory`, so an analysis that meets such an address must look at it.

use super::bits::Instruction;
use super::table::{Operand, ROWS};

/// A place by its role in an instruction. Flags and pointers have the manual's letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// The destination register.
    Rd,
    /// The source register.
    Rr,
    /// The destination register and its successor.
    RdPair,
    /// The source register and its successor.
    RrPair,
    /// r0.
    R0,
    /// r1 and r0.
    R1R0,
    /// r27:r26.
    PointerX,
    /// r29:r28.
    PointerY,
    /// r31:r30.
    PointerZ,
    /// Carry.
    C,
    /// Zero.
    Z,
    /// Negative.
    N,
    /// Two's complement overflow.
    V,
    /// Sign.
    S,
    /// Half carry.
    H,
    /// Bit copy storage.
    T,
    /// Interrupt enable.
    I,
    /// The status bit that the instruction names.
    StatusBit,
    /// The stack pointer.
    Sp,
    /// RAMPZ.
    Rampz,
    /// The data space.
    Memory,
    /// The program memory.
    Flash,
    /// The I/O register that the instruction names.
    Io,
}

/// A set of resolved places: 32 registers, 8 status bits, and the rest.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Set(u64);

/// Bit of C in a [`Set`]; the other status bits follow in SREG's order.
const STATUS: u32 = 32;

impl Set {
    /// Nothing.
    pub const EMPTY: Set = Set(0);
    /// All eight bits of SREG.
    pub const SREG: Set = Set(0xff << STATUS);
    /// The stack pointer.
    pub const SP: Set = Set(1 << 40);
    /// RAMPZ.
    pub const RAMPZ: Set = Set(1 << 41);
    /// The data space.
    pub const MEMORY: Set = Set(1 << 42);
    /// The program memory.
    pub const FLASH: Set = Set(1 << 43);
    /// I/O registers other than SREG, SP and RAMPZ.
    pub const IO: Set = Set(1 << 44);

    /// One register, 0 to 31.
    pub const fn register(number: u8) -> Set {
        assert!(number < 32);
        Set(1 << number)
    }

    /// One bit of SREG, 0 (C) to 7 (I).
    pub const fn status(bit: u8) -> Set {
        assert!(bit < 8);
        Set(1 << (STATUS + bit as u32))
    }

    /// Places in either.
    pub const fn union(self, other: Set) -> Set {
        Set(self.0 | other.0)
    }

    /// Places in both.
    pub const fn intersection(self, other: Set) -> Set {
        Set(self.0 & other.0)
    }

    /// Places in `self` and not in `other`.
    pub const fn without(self, other: Set) -> Set {
        Set(self.0 & !other.0)
    }

    /// Whether every place of `other` is in `self`.
    pub const fn contains(self, other: Set) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether there is no place in it.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The registers in it, ascending.
    pub fn registers(self) -> impl Iterator<Item = u8> {
        (0..32).filter(move |&number| self.contains(Set::register(number)))
    }

    /// The register and its successor; the successor of r31 does not exist.
    fn pair(low: u8) -> Set {
        Set::register(low).union(if low < 31 { Set::register(low + 1) } else { Set::EMPTY })
    }
}

impl std::ops::BitOr for Set {
    type Output = Set;
    fn bitor(self, other: Set) -> Set {
        self.union(other)
    }
}

impl std::fmt::Debug for Set {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut list = f.debug_set();
        for number in self.registers() {
            list.entry(&format_args!("r{number}"));
        }
        for (bit, name) in "CZNVSHTI".chars().enumerate() {
            if self.contains(Set::status(bit as u8)) {
                list.entry(&format_args!("{name}"));
            }
        }
        let others = [
            (Set::SP, "SP"),
            (Set::RAMPZ, "RAMPZ"),
            (Set::MEMORY, "memory"),
            (Set::FLASH, "flash"),
            (Set::IO, "io"),
        ];
        for (set, name) in others {
            if self.contains(set) {
                list.entry(&format_args!("{name}"));
            }
        }
        list.finish()
    }
}

impl Instruction {
    /// Everything that the instruction's result or effect depends on.
    pub fn reads(&self) -> Set {
        self.resolve(ROWS[self.opcode as usize].reads)
    }

    /// Everything that the instruction may change.
    pub fn writes(&self) -> Set {
        self.resolve(ROWS[self.opcode as usize].writes)
    }

    fn resolve(&self, places: &[Place]) -> Set {
        places.iter().fold(Set::EMPTY, |set, &place| set | self.resolve_one(place))
    }

    fn resolve_one(&self, place: Place) -> Set {
        match place {
            Place::Rd => Set::register(self.d),
            Place::Rr => Set::register(self.r),
            Place::RdPair => Set::pair(self.d),
            Place::RrPair => Set::pair(self.r),
            Place::R0 => Set::register(0),
            Place::R1R0 => Set::pair(0),
            Place::PointerX => Set::pair(26),
            Place::PointerY => Set::pair(28),
            Place::PointerZ => Set::pair(30),
            Place::C => Set::status(0),
            Place::Z => Set::status(1),
            Place::N => Set::status(2),
            Place::V => Set::status(3),
            Place::S => Set::status(4),
            Place::H => Set::status(5),
            Place::T => Set::status(6),
            Place::I => Set::status(7),
            Place::StatusBit => Set::status(self.b),
            Place::Sp => Set::SP,
            Place::Rampz => Set::RAMPZ,
            Place::Memory => Set::MEMORY,
            Place::Flash => Set::FLASH,
            Place::Io => self.io_place(),
        }
    }

    /// The core's own registers have fixed I/O addresses on every part with these cores.
    fn io_place(&self) -> Set {
        debug_assert!(
            ROWS[self.opcode as usize].operands.iter().any(|o| matches!(o, Operand::Io5 | Operand::Io6))
        );
        match self.k {
            0x3f => Set::SREG,
            0x3d | 0x3e => Set::SP,
            0x3b => Set::RAMPZ,
            _ => Set::IO,
        }
    }
}
