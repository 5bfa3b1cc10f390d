//! The chain behind SPARC's core.
//!
//! Owns: `isa::sparc::Bus`, and the traps that the core is told.

use isa::Cycles;
use isa::sparc::{Bus, FaultKind, Fetched, Instruction, Memory, Refusal, Trap, Width};

use super::{Chain, Core, Data, Denial};
use crate::chain::fill::Fill;
use crate::target::Target;

/// SPARC V8's core.
#[derive(Clone, Copy, Debug)]
pub struct Sparc;

impl Core for Sparc {
    const TARGET: Target = Target::Sparc;
    type Instruction = Instruction;
    type Memory = Memory;

    fn decode(word: u32) -> Option<Instruction> {
        Instruction::decode(word)
    }

    fn stored(memory: &Memory, address: u32, bytes: u32) -> Option<&[u8]> {
        memory.read(address, bytes)
    }
}

/// What the core is told, with its trap for where there is nothing.
#[cold]
fn refusal(denial: Denial, nothing: Trap) -> Refusal {
    Refusal::Fault(match denial {
        Denial::Nothing => return nothing.into(),
        Denial::Executed { address } => FaultKind::StoredToCode { address },
        Denial::Packed { address } => FaultKind::PackedText { address },
        Denial::Unsound { line } => FaultKind::LineCheck { line },
    })
}

fn no_data(denial: Denial) -> Refusal {
    refusal(denial, Trap::DATA_ACCESS_EXCEPTION)
}

impl<F: Fill> Chain<F> {
    /// Why there is no instruction in a slot of the word that is held.
    #[cold]
    fn illegal(&self, slot: u32) -> Refusal {
        if slot == 0 && Instruction::is_for_supervisors(self.expander.word()) {
            return Refusal::IllegalPrivileged;
        }
        Trap::ILLEGAL_INSTRUCTION.into()
    }

    /// Stores, at no time.
    fn put(&mut self, address: u32, width: Width, value: u64) -> Result<(), Refusal> {
        if self.is_read_only(address, width.bytes()) {
            return Err(no_data(self.refused_store(address, width.bytes())));
        }
        self.ram.store(address, width, value, 0, &mut 0)?;
        self.keep_stored(address, width.bytes(), value);
        Ok(())
    }
}

impl<F: Fill> Bus for Chain<F> {
    const SLOTS: bool = true;

    #[inline(always)]
    fn fetch(&mut self, pc: u32, cycle: Cycles, wait: &mut u32) -> Result<Fetched, Refusal> {
        let turned = self.turn_to(pc, cycle, wait);
        turned.map_err(|denial| refusal(denial, Trap::INSTRUCTION_ACCESS_EXCEPTION))?;
        match self.cut(pc) {
            Some((instruction, next)) => Ok(Fetched { instruction, next }),
            None => Err(self.illegal(pc & 3)),
        }
    }

    #[inline(always)]
    fn load(&mut self, address: u32, width: Width, cycle: Cycles, wait: &mut u32) -> Result<u64, Refusal> {
        if self.is_read_only(address, width.bytes()) {
            self.load_constant(address, width.bytes(), cycle, wait).map_err(no_data)
        } else if self.data == Data::Ideal {
            self.ram.load(address, width, cycle, wait)
        } else {
            self.load_timed(address, width.bytes(), cycle, wait).map_err(no_data)
        }
    }

    #[inline(always)]
    fn store(
        &mut self,
        address: u32,
        width: Width,
        value: u64,
        cycle: Cycles,
        wait: &mut u32,
    ) -> Result<(), Refusal> {
        self.release(cycle, wait).map_err(no_data)?;
        self.put(address, width, value)?;
        self.stored_in(wait);
        Ok(())
    }

    fn settle(&mut self, cycle: Cycles, wait: &mut u32) -> Result<(), FaultKind> {
        self.settle_all(cycle, wait).map_err(|unsound| FaultKind::LineCheck { line: unsound.line })
    }

    fn examine(&mut self, address: u32, width: Width) -> Result<u64, Refusal> {
        if self.is_read_only(address, width.bytes()) {
            return self.examine_constant(address, width.bytes()).map_err(no_data);
        }
        self.ram.load(address, width, 0, &mut 0)
    }

    fn deposit(&mut self, address: u32, width: Width, value: u64) -> Result<(), Refusal> {
        // A window that the environment spills is stored at no time: what will be found not to be sound is found now.
        self.release(Cycles::MAX, &mut 0).map_err(no_data)?;
        self.put(address, width, value)
    }
}
