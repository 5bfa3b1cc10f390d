//! The chain behind RV32IM's core.
//!
//! Owns: `isa::rv32::Bus`, and the traps that the environment is told.

use isa::Cycles;
use isa::rv32::{Bus, FaultKind, Fetched, Instruction, Memory, Refusal, Trap, Width};

use super::{Chain, Core, Data, Denial};
use crate::chain::fill::Fill;
use crate::target::Target;

/// RV32IM's core.
#[derive(Clone, Copy, Debug)]
pub struct Rv32;

impl Core for Rv32 {
    const TARGET: Target = Target::Rv32;
    type Instruction = Instruction;
    type Memory = Memory;

    fn decode(word: u32) -> Option<Instruction> {
        Instruction::decode(word)
    }

    fn stored(memory: &Memory, address: u32, bytes: u32) -> Option<&[u8]> {
        memory.read(address, bytes)
    }
}

/// What the environment is told, with its trap for where there is nothing.
#[cold]
fn refusal(denial: Denial, nothing: Trap) -> Refusal {
    Refusal::Fault(match denial {
        Denial::Nothing => return nothing.into(),
        Denial::Executed { address } => FaultKind::StoredToCode { address },
        Denial::Packed { address } => FaultKind::PackedText { address },
        Denial::Unsound { line } => FaultKind::LineCheck { line },
    })
}

fn no_load(denial: Denial) -> Refusal {
    refusal(denial, Trap::LoadAccess)
}

fn no_store(denial: Denial) -> Refusal {
    refusal(denial, Trap::StoreAccess)
}

impl<F: Fill> Chain<F, Rv32> {
    /// Why there is no instruction in a slot of the word that is held.
    #[cold]
    fn illegal(&self, slot: u32) -> Refusal {
        let word = self.expander.word();
        let may_be_packet = Target::Rv32.payload_of_word(word).is_some();
        if slot == 0 && Instruction::is_compressed(word) && !may_be_packet {
            return Refusal::Fault(FaultKind::Compressed { half: word as u16 });
        }
        Trap::IllegalInstruction.into()
    }

    /// Stores, at no time.
    fn put(&mut self, address: u32, width: Width, value: u32) -> Result<(), Refusal> {
        if self.is_read_only(address, width.bytes()) {
            return Err(no_store(self.refused_store(address, width.bytes())));
        }
        self.ram.store(address, width, value, 0, &mut 0)?;
        self.keep_stored(address, width.bytes(), value.into());
        Ok(())
    }
}

impl<F: Fill> Bus for Chain<F, Rv32> {
    const SLOTS: bool = true;

    #[inline(always)]
    fn fetch(&mut self, pc: u32, cycle: Cycles, wait: &mut u32) -> Result<Fetched, Refusal> {
        let turned = self.turn_to(pc, cycle, wait);
        turned.map_err(|denial| refusal(denial, Trap::InstructionAccess))?;
        match self.cut(pc) {
            Some((instruction, next)) => Ok(Fetched { instruction, next }),
            None => Err(self.illegal(pc & 3)),
        }
    }

    #[inline(always)]
    fn load(&mut self, address: u32, width: Width, cycle: Cycles, wait: &mut u32) -> Result<u32, Refusal> {
        let bytes = width.bytes();
        if self.is_read_only(address, bytes) {
            self.load_constant(address, bytes, cycle, wait).map(|value| value as u32).map_err(no_load)
        } else if self.data == Data::Ideal {
            self.ram.load(address, width, cycle, wait)
        } else {
            self.load_timed(address, bytes, cycle, wait).map(|value| value as u32).map_err(no_load)
        }
    }

    #[inline(always)]
    fn store(
        &mut self,
        address: u32,
        width: Width,
        value: u32,
        cycle: Cycles,
        wait: &mut u32,
    ) -> Result<(), Refusal> {
        self.release(cycle, wait).map_err(no_store)?;
        self.put(address, width, value)?;
        self.stored_in(wait);
        Ok(())
    }

    fn settle(&mut self, cycle: Cycles, wait: &mut u32) -> Result<(), FaultKind> {
        self.settle_all(cycle, wait).map_err(|unsound| FaultKind::LineCheck { line: unsound.line })
    }

    fn examine(&mut self, address: u32, width: Width) -> Result<u32, Refusal> {
        let bytes = width.bytes();
        if self.is_read_only(address, bytes) {
            return self.examine_constant(address, bytes).map(|value| value as u32).map_err(no_load);
        }
        self.ram.load(address, width, 0, &mut 0)
    }

    fn deposit(&mut self, address: u32, width: Width, value: u32) -> Result<(), Refusal> {
        self.put(address, width, value)
    }
}
