//! A LEON without a system: memory and a serial line.
//!
//! Owns: the bus of a board ([`Board`]), whatever its memory is behind, and loading an image into it. A program begins
//! as a supervisor with traps disabled and brings its own table of traps; a trap while they are disabled is how it
//! ends. Addresses are those of GRLIB's LEON3 template designs: memory from 0x40000000 on, the first APBUART at
//! 0x80000100. The serial line takes every byte at once and brings none. Interrupts are what the caller asks the
//! machine for.

use super::bus::{Bus, Fetched, Refusal, Width};
use super::error::{FaultKind, ImageError};
use super::image::Image;
use super::machine::{Machine, Settings};
use super::memory::{Memory, Region};
use super::trap::Trap;
use crate::Cycles;

/// The first address of memory.
pub const MEMORY_FIRST: u32 = 0x4000_0000;
/// How much memory there is unless somebody says otherwise.
pub const MEMORY_BYTES: u32 = 64 << 20;

/// The serial line's registers, a word each.
const SERIAL_DATA: u32 = 0x8000_0100;
const SERIAL_STATUS: u32 = SERIAL_DATA + 4;
const SERIAL_SCALER: u32 = SERIAL_DATA + 12;
/// Nothing is left to send, neither in the shift register nor in the holding register.
const SERIAL_IDLE: u64 = 0x6;

/// Whether that is one of the serial line's registers.
fn is_serial(address: u32, width: Width) -> bool {
    matches!((address, width), (SERIAL_DATA..=SERIAL_SCALER, Width::Word))
}

/// What is at the core's bus: memory, and beside it the serial line.
#[derive(Clone, Debug)]
pub struct Board<M = Memory> {
    /// Its memory, with the program.
    pub memory: M,
    /// What was sent over the serial line.
    pub sent: Vec<u8>,
}

/// A board's memory with a program and, at some addresses, what a loader leaves in it.
///
/// # Errors
/// What does not lie in it.
pub fn load<'a>(
    loaded: impl IntoIterator<Item = (u32, &'a [u8])>,
    memory_bytes: u32,
) -> Result<Region, ImageError> {
    let mut bytes = vec![0; memory_bytes as usize];
    for (first, content) in loaded {
        let at = first.wrapping_sub(MEMORY_FIRST) as usize;
        let place = at.checked_add(content.len()).and_then(|end| bytes.get_mut(at..end));
        let limit = u64::from(MEMORY_FIRST) + u64::from(memory_bytes);
        let outside = ImageError::Outside { first, bytes: content.len() as u64, limit };
        place.ok_or(outside)?.copy_from_slice(content);
    }
    Ok(Region { first: MEMORY_FIRST, bytes, writable: true })
}

impl Board {
    /// A board with a program in plain memory and, at some addresses, what a loader leaves there.
    ///
    /// # Errors
    /// What does not lie in its memory.
    pub fn new(image: &Image, memory_bytes: u32, loaded: &[(u32, &[u8])]) -> Result<Board, ImageError> {
        let segments = image.segments.iter().map(|segment| (segment.first, &segment.bytes[..]));
        let region = load(segments.chain(loaded.iter().copied()), memory_bytes)?;
        Ok(Board::with_memory(Memory::new(vec![region], image.code_first, image.code_bytes)))
    }
}

impl<M: Bus> Board<M> {
    /// A board whose memory is behind another bus.
    pub fn with_memory(memory: M) -> Board<M> {
        Board { memory, sent: Vec::new() }
    }

    /// A core on it that is about to execute at `entry`.
    pub fn start(self, settings: Settings, entry: u32) -> Machine<Board<M>> {
        Machine::new(self, settings, entry)
    }

    /// A device sees that it is read, as it does what it is told.
    #[cold]
    fn load_device(
        &mut self,
        address: u32,
        width: Width,
        cycle: Cycles,
        wait: &mut u32,
    ) -> Result<u64, Refusal> {
        if !is_serial(address, width) {
            return Err(Trap::DATA_ACCESS_EXCEPTION.into());
        }
        self.memory.settle(cycle, wait).map_err(Refusal::Fault)?;
        Ok(if address == SERIAL_STATUS { SERIAL_IDLE } else { 0 })
    }

    #[cold]
    fn store_device(
        &mut self,
        address: u32,
        width: Width,
        value: u64,
        cycle: Cycles,
        wait: &mut u32,
    ) -> Result<(), Refusal> {
        if !is_serial(address, width) {
            return Err(Trap::DATA_ACCESS_EXCEPTION.into());
        }
        self.memory.settle(cycle, wait).map_err(Refusal::Fault)?;
        if address == SERIAL_DATA {
            self.sent.push(value as u8);
        }
        Ok(())
    }
}

impl<M: Bus> Bus for Board<M> {
    const SLOTS: bool = M::SLOTS;

    #[inline(always)]
    fn fetch(&mut self, pc: u32, cycle: Cycles, wait: &mut u32) -> Result<Fetched, Refusal> {
        self.memory.fetch(pc, cycle, wait)
    }

    #[inline(always)]
    fn load(&mut self, address: u32, width: Width, cycle: Cycles, wait: &mut u32) -> Result<u64, Refusal> {
        match self.memory.load(address, width, cycle, wait) {
            Err(Refusal::Trap(_)) => self.load_device(address, width, cycle, wait),
            answer => answer,
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
        match self.memory.store(address, width, value, cycle, wait) {
            Err(Refusal::Trap(_)) => self.store_device(address, width, value, cycle, wait),
            answer => answer,
        }
    }

    #[inline(always)]
    fn settle(&mut self, cycle: Cycles, wait: &mut u32) -> Result<(), FaultKind> {
        self.memory.settle(cycle, wait)
    }

    fn examine(&mut self, address: u32, width: Width) -> Result<u64, Refusal> {
        self.memory.examine(address, width)
    }

    fn deposit(&mut self, address: u32, width: Width, value: u64) -> Result<(), Refusal> {
        self.memory.deposit(address, width, value)
    }
}
