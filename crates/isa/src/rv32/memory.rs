//! Plain memory: a bus that answers at once.
//!
//! Owns: bytes as numbers, and the program decoded once. The memory is little-endian. Code does not change: a store to
//! it ends the run with a name. Where bytes are is `crate::region`'s, loading a file is `image`'s; caches and ciphers
//! are for buses of other crates.

use super::bits::Instruction;
use super::bus::{Bus, Fetched, Refusal, Width};
use super::error::FaultKind;
use super::trap::Trap;
use crate::Cycles;
use crate::region::{Region, Regions};

/// Memory with a program in it.
#[derive(Clone, Debug)]
pub struct Memory {
    regions: Regions,
    code_first: u32,
    /// The words of the program from `code_first` on; `None` is a word that is no instruction.
    code: Vec<Option<Instruction>>,
}

impl Memory {
    /// Memory of these regions, with whole words of code in `code_bytes` bytes from `code_first` on.
    ///
    /// # Panics
    /// If the code is not in one of the regions, is not whole words, or ends with the address space.
    pub fn new(regions: Vec<Region>, code_first: u32, code_bytes: u32) -> Memory {
        assert!(code_first.is_multiple_of(4) && code_bytes.is_multiple_of(4), "code is whole words");
        let code_end = code_first.checked_add(code_bytes).expect("there are addresses behind the code");
        let mut memory = Memory { regions: Regions::new(regions), code_first, code: Vec::new() };
        let words = code_first..code_end;
        memory.code = words.step_by(4).map(|address| Instruction::decode(memory.word(address))).collect();
        memory
    }

    fn word(&self, address: u32) -> u32 {
        let bytes = self.regions.get(address, 4).expect("code is in a region");
        u32::from_le_bytes(bytes.try_into().expect("four bytes"))
    }

    /// The regions, in the order in which they are looked through.
    pub fn regions(&self) -> &[Region] {
        self.regions.as_slice()
    }

    /// Adds a region, which is looked at when no other has the address.
    pub fn add(&mut self, region: Region) {
        self.regions.push(region);
    }

    /// Where the program's instructions are: first address and length in bytes.
    pub fn code(&self) -> (u32, u32) {
        (self.code_first, self.code.len() as u32 * 4)
    }

    /// Bytes as they are; `None` where not all of them are in one region.
    pub fn read(&self, address: u32, bytes: u32) -> Option<&[u8]> {
        self.regions.get(address, bytes)
    }

    #[inline(always)]
    fn executes(&self, address: u32) -> bool {
        address.wrapping_sub(self.code_first) >> 2 < self.code.len() as u32
    }

    /// Why there is no instruction at a place.
    #[cold]
    fn unfetched(&self, pc: u32) -> Refusal {
        if !pc.is_multiple_of(4) {
            return Trap::InstructionMisaligned.into();
        }
        if !self.executes(pc) {
            return Trap::InstructionAccess.into();
        }
        let word = self.word(pc);
        if Instruction::is_compressed(word) {
            return Refusal::Fault(FaultKind::Compressed { half: word as u16 });
        }
        Trap::IllegalInstruction.into()
    }
}

impl Bus for Memory {
    const SLOTS: bool = false;

    #[inline(always)]
    fn fetch(&mut self, pc: u32, _cycle: Cycles, _wait: &mut u32) -> Result<Fetched, Refusal> {
        // Rotated, an address inside a word is far behind the code.
        match self.code.get(pc.wrapping_sub(self.code_first).rotate_right(2) as usize) {
            Some(&Some(instruction)) => Ok(Fetched { instruction, next: pc.wrapping_add(4) }),
            _ => Err(self.unfetched(pc)),
        }
    }

    fn peek(&self, pc: u32) -> Option<Instruction> {
        *self.code.get(pc.wrapping_sub(self.code_first).rotate_right(2) as usize)?
    }

    #[inline(always)]
    fn load(&mut self, address: u32, width: Width, _cycle: Cycles, _wait: &mut u32) -> Result<u32, Refusal> {
        let bytes = self.regions.get(address, width.bytes()).ok_or(Trap::LoadAccess)?;
        Ok(width.read(bytes))
    }

    #[inline(always)]
    fn store(
        &mut self,
        address: u32,
        width: Width,
        value: u32,
        _cycle: Cycles,
        _wait: &mut u32,
    ) -> Result<(), Refusal> {
        if self.executes(address) {
            return Err(Refusal::Fault(FaultKind::StoredToCode { address }));
        }
        let bytes = self.regions.get_mut(address, width.bytes()).ok_or(Trap::StoreAccess)?;
        width.write(bytes, value);
        Ok(())
    }
}
