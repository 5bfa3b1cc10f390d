//! What a core is attached to: where instructions come from, and where data is.
//!
//! Owns: the seam between the core and everything that is not the core ([`Bus`]), and nothing behind it. Plain memory
//! is `memory`'s. The machine is compiled anew for each bus, so that a plain one costs nothing.
//!
//! # Places of instructions
//! A word of memory may hold several instructions. A program counter is therefore a word's address with a *slot* in
//! bits 1:0, on a bus that has [`Bus::SLOTS`]; on others those bits are zero. The core knows nothing of how many slots
//! a word has. It asks for the instruction at a place, and is told with it where the one behind it is
//! ([`Fetched::next`]): the next slot, or slot 0 of the next word. From that follows all else:
//!
//! - Branches and JAL go to slot 0 of a word: their distance is from the word that they are in.
//! - The manual has JAL and JALR leave pc + 4. What they leave here is [`Fetched::next`], the place behind them with
//!   its slot, so that a function returns to behind its call wherever in a word that is. Without slots it is pc + 4.
//! - JALR goes to whatever place its address names. The manual has it clear bit 0 of the address, and so it does; but
//!   on a bus with slots both low bits are the slot and stay, or no function could return to slots 1 and 3.
//! - AUIPC takes the address of the word. Who packs a program puts no AUIPC into a word with others: what it adds is a
//!   distance from its own word, and the linker counted on that.
//! - A program that does sums with a link (`ra + 8`), as no compiler makes them, would be surprised.
//!
//! # A chain
//! A packed and sealed image runs behind one bus that hands a fetch down a chain: the decompressor asks the instruction
//! cache for the word and cuts a slot out of it; the cache, on a miss, has a line deciphered; the cipher has memory
//! bring it. Each adds what it takes to the cycles that the core waits. Caches hold the bytes that were fetched, so
//! that a wrong fill breaks the program. A word that fails its check is a refusal before anything of it is executed;
//! or, where what is brought is executed while it is still being checked, before anything that was computed with it
//! leaves the core ([`Bus::settle`]).
//!
//! # Time
//! Every access is told the cycle in which it begins, so that what is behind the bus can be busy with an earlier one.
//! It is the core's count, which never goes back: an access begins when the one before it has been waited for.

use super::bits::Instruction;
use super::error::FaultKind;
use super::trap::Trap;
use crate::Cycles;

/// An instruction, and what is behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// The instruction.
    pub instruction: Instruction,
    /// The place of the one behind it.
    pub next: u32,
}

/// How much is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Width {
    /// 1 byte.
    Byte,
    /// 2 bytes.
    Half,
    /// 4 bytes.
    Word,
}

impl Width {
    /// In bytes.
    #[inline(always)]
    pub const fn bytes(self) -> u32 {
        match self {
            Width::Byte => 1,
            Width::Half => 2,
            Width::Word => 4,
        }
    }

    /// What so many bytes say, least significant first.
    ///
    /// # Panics
    /// When there are others than [`Width::bytes`].
    #[inline(always)]
    pub fn read(self, bytes: &[u8]) -> u32 {
        match self {
            Width::Byte => bytes[0].into(),
            Width::Half => u16::from_le_bytes(bytes.try_into().expect("two bytes")).into(),
            Width::Word => u32::from_le_bytes(bytes.try_into().expect("four bytes")),
        }
    }

    /// Makes so many bytes say the lowest bits of a value.
    ///
    /// # Panics
    /// When there are others than [`Width::bytes`].
    #[inline(always)]
    pub fn write(self, bytes: &mut [u8], value: u32) {
        match self {
            Width::Byte => bytes[0] = value as u8,
            Width::Half => bytes.copy_from_slice(&(value as u16).to_le_bytes()),
            Width::Word => bytes.copy_from_slice(&value.to_le_bytes()),
        }
    }
}

/// Why an access is not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The environment is told.
    Trap(Trap),
    /// The run ends.
    Fault(FaultKind),
}

impl From<Trap> for Refusal {
    fn from(trap: Trap) -> Refusal {
        Refusal::Trap(trap)
    }
}

/// What a core is attached to. Each access begins at `cycle`, and adds the cycles that the core waits for it to `wait`.
pub trait Bus {
    /// Whether bits 1:0 of a program counter are a slot. Elsewhere a jump to an address with such bits traps.
    const SLOTS: bool;

    /// The instruction at `pc`.
    ///
    /// # Errors
    /// `InstructionAccess` where there is nothing or what is there is not sound, `IllegalInstruction` where there is no
    /// such slot or the word is no instruction; a compressed one ends the run.
    fn fetch(&mut self, pc: u32, cycle: Cycles, wait: &mut u32) -> Result<Fetched, Refusal>;

    /// The instruction at `pc` for who only looks there; `None` also where this bus does not tell.
    fn peek(&self, _pc: u32) -> Option<Instruction> {
        None
    }

    /// What is at `address`, a multiple of the width, least significant byte first.
    ///
    /// # Errors
    /// `LoadAccess` where there is nothing.
    fn load(&mut self, address: u32, width: Width, cycle: Cycles, wait: &mut u32) -> Result<u32, Refusal>;

    /// Puts the lowest bits of `value` at `address`, a multiple of the width.
    ///
    /// # Errors
    /// `StoreAccess` where nothing can be stored.
    fn store(
        &mut self,
        address: u32,
        width: Width,
        value: u32,
        cycle: Cycles,
        wait: &mut u32,
    ) -> Result<(), Refusal>;

    /// Something is about to leave the core: a call of the environment, the end of the run. Waits until all that was
    /// brought before is known to be sound.
    ///
    /// # Errors
    /// What was found not to be sound, which ends the run.
    #[inline(always)]
    fn settle(&mut self, _cycle: Cycles, _wait: &mut u32) -> Result<(), FaultKind> {
        Ok(())
    }

    /// What a load would bring, for the environment: it takes no time, and nothing counts it.
    ///
    /// # Errors
    /// As a load.
    fn examine(&mut self, address: u32, width: Width) -> Result<u32, Refusal> {
        self.load(address, width, 0, &mut 0)
    }

    /// What a store would do, for the environment: it takes no time, and nothing counts it.
    ///
    /// # Errors
    /// As a store.
    fn deposit(&mut self, address: u32, width: Width, value: u32) -> Result<(), Refusal> {
        self.store(address, width, value, 0, &mut 0)
    }
}
