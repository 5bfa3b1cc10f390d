//! The chain as a core sees it: a core's bus over decompressor, instruction cache and what brings its lines; and beside
//! it the data.
//!
//! Owns: which access goes where, what the core waits for, and the counts. The slot of a program counter is in its bits
//! 1:0. The decompressor holds the word that it cuts instructions from: the next slot of the same word asks no cache,
//! and everything else does, a word that is come back to included. What each core calls an access that is not done is
//! in `bus/`, a file for each.
//!
//! What is only read is loaded through the same cipher and checks as instructions are fetched: constants, and tables
//! among packed instructions. A load of anything else of packed text has no answer that the program could mean: it ends
//! the run.

use std::ops::Range;

use isa::Cycles;

use super::cache::{Cache, Shape};
use super::expand::Expander;
use super::fill::{Fill, Transfers, Unsound};
use super::onfill::Lines;
use super::rom::LINE_BYTES;
use super::stream::Stream;
use crate::error::RunError;
use crate::target::Target;

mod rv32;
mod sparc;

pub use rv32::Rv32;
pub use sparc::Sparc;

/// A core that a chain can be behind.
pub trait Core: Clone {
    /// Its instruction set, whose order of bytes a number has.
    const TARGET: Target;
    /// A decoded instruction.
    type Instruction: Copy;
    /// Where programs store.
    type Memory: Clone;

    /// The instruction of a word.
    fn decode(word: u32) -> Option<Self::Instruction>;

    /// Bytes where programs store; `None` where not all of them are in one piece.
    fn stored(memory: &Self::Memory, address: u32, bytes: u32) -> Option<&[u8]>;
}

/// Why an access is not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Denial {
    /// There is nothing.
    Nothing,
    /// It is executed, and a store would change it.
    Executed { address: u32 },
    /// There are packed instructions where data was meant.
    Packed { address: u32 },
    /// It is not what was sealed.
    Unsound { line: u32 },
}

impl From<Unsound> for Denial {
    fn from(unsound: Unsound) -> Denial {
        Denial::Unsound { line: unsound.line }
    }
}

/// What takes how long where programs store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataTiming {
    /// From asking to the first 16 bytes.
    pub first_cycles: u32,
    /// To each 16 bytes behind them, in the line of a cache.
    pub next_cycles: u32,
    /// A store: 0 where a buffer takes it.
    pub store_cycles: u32,
}

/// How data is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// At no time, what is only read too: cycles are the instructions' alone (the paper).
    Ideal,
    /// Without a cache.
    Uncached(DataTiming),
    /// Through a cache. Stores go through it, and bring nothing into it (as LEON's).
    Cached(Shape, DataTiming),
}

/// What a chain did. Times are in [`Transfers`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Fetches that the decompressor answered with the word that it held.
    pub held: u64,
    /// Words that the instruction cache was asked for.
    pub accesses: u64,
    /// Those that it lacked.
    pub misses: u64,
    /// Loads of what is only read.
    pub constants: u64,
    /// Lookups in the data cache.
    pub data_accesses: u64,
    /// Lines that it lacked.
    pub data_misses: u64,
    /// What came over the bus.
    pub transfers: Transfers,
}

/// What is where, for a chain.
#[derive(Clone, Debug)]
pub struct Contents<M> {
    /// Where programs store.
    pub ram: M,
    /// What is only read, by ascending address.
    pub read_only: Vec<Range<u32>>,
    /// The addresses of words that can be executed.
    pub code: Range<u32>,
    /// By word of the code: whether it is packed text, so that nobody means it by its address.
    pub packed: Vec<bool>,
}

/// Decompressor, caches, and what brings lines.
#[derive(Clone)]
pub struct Chain<F = Lines, C: Core = Sparc> {
    cache: Cache,
    expander: Expander<C::Instruction>,
    /// The address of the word that the decompressor holds; no multiple of 4 while there is none.
    held_at: u32,
    /// What brings lines.
    pub fill: F,
    /// When it is known that something brought is not sound.
    unsound_at: Cycles,
    code_first: u32,
    code_bytes: u32,
    packed: Vec<bool>,
    read_only: Vec<Range<u32>>,
    /// Where an access may begin that has a byte of these, from the first to the last.
    read_only_first: u32,
    read_only_bytes: u32,
    ram: C::Memory,
    data: Data,
    data_cache: Option<Cache>,
    /// Lines that were loaded at no time: a store of what does not change in a run.
    examined: Cache,
    holds_stores: bool,
    held: u64,
    constants: u64,
    /// Where the words that are fetched are written down, if anywhere.
    pub stream: Option<Box<Stream>>,
}

/// How far an access goes behind its first byte, at most.
const REACH_BYTES: u32 = 7;

/// The number in these bytes.
fn value_of<C: Core>(bytes: &[u8]) -> u64 {
    let next = |value: u64, &byte: &u8| value << 8 | u64::from(byte);
    match C::TARGET {
        Target::Sparc => bytes.iter().fold(0, next),
        Target::Rv32 => bytes.iter().rev().fold(0, next),
    }
}

impl<F: Fill, C: Core> Chain<F, C> {
    /// A chain with empty caches.
    ///
    /// # Errors
    /// A cache that cannot be built, or that would hold what is only read and what is written in one line.
    pub fn new(
        cache: Shape,
        data: Data,
        holds_stores: bool,
        expander: Expander<C::Instruction>,
        fill: F,
        contents: Contents<C::Memory>,
    ) -> Result<Chain<F, C>, RunError> {
        let Contents { ram, read_only, code, packed } = contents;
        let first = read_only.first().map_or(0, |piece| piece.start);
        let end = read_only.last().map_or(0, |piece| piece.end);
        let data_cache = if let Data::Cached(shape, _) = data { Some(Cache::new(shape)?) } else { None };
        Ok(Chain {
            cache: Cache::new(cache)?,
            expander,
            held_at: 1,
            fill,
            unsound_at: Cycles::MAX,
            code_first: code.start,
            code_bytes: code.end - code.start,
            packed,
            read_only,
            read_only_first: first.wrapping_sub(REACH_BYTES),
            read_only_bytes: end - first + REACH_BYTES,
            ram,
            data,
            data_cache,
            examined: Cache::new(Shape::direct(4096))?,
            holds_stores,
            held: 0,
            constants: 0,
            stream: None,
        })
    }

    /// What it did until now.
    pub fn counts(&self) -> Counts {
        let tags = &self.cache.tags;
        let data = self.data_cache.as_ref().map(|cache| &cache.tags);
        Counts {
            held: self.held,
            accesses: tags.accesses,
            misses: tags.misses,
            constants: self.constants,
            data_accesses: data.map_or(0, |tags| tags.accesses),
            data_misses: data.map_or(0, |tags| tags.misses),
            transfers: self.fill.transfers(),
        }
    }

    /// Where programs store.
    pub fn ram(&self) -> &C::Memory {
        &self.ram
    }

    /// Brings the word of a place to the decompressor, which holds it: the next slot of one that is held asks nobody.
    #[inline(always)]
    fn turn_to(&mut self, pc: u32, cycle: Cycles, wait: &mut u32) -> Result<(), Denial> {
        let (address, slot) = (pc & !3, pc & 3);
        if slot != 0 && address == self.held_at {
            self.held += 1;
            return Ok(());
        }
        if address.wrapping_sub(self.code_first) >= self.code_bytes {
            return Err(Denial::Nothing);
        }
        if cycle >= self.unsound_at {
            self.settle_all(cycle, wait)?;
        }
        if let Some(stream) = &mut self.stream {
            stream.push(address);
        }
        let at = match self.cache.find(address) {
            Some(at) => at,
            None => self.miss(address, cycle, wait)?,
        };
        self.expander.hold(C::TARGET.word(self.cache.word(at)));
        self.held_at = address;
        Ok(())
    }

    /// The instruction at a place whose word is held, and the place behind it.
    #[inline(always)]
    fn cut(&self, pc: u32) -> Option<(C::Instruction, u32)> {
        let (instruction, is_followed) = self.expander.slot(pc & 3)?;
        Some((instruction, if is_followed { pc + 1 } else { (pc & !3).wrapping_add(4) }))
    }

    #[cold]
    fn miss(&mut self, address: u32, cycle: Cycles, wait: &mut u32) -> Result<usize, Unsound> {
        let (fill, mut end) = (&mut self.fill, cycle);
        let brought = self.cache.bring(address, |first, line| {
            end = fill.fill(first, line, cycle)?;
            Ok(())
        });
        self.unsound_at = self.fill.unsound_at();
        *wait += (end - cycle) as u32;
        brought
    }

    /// Waits until all that was brought is known to be sound.
    fn settle_all(&mut self, cycle: Cycles, wait: &mut u32) -> Result<(), Unsound> {
        let end = self.fill.settle(cycle)?;
        *wait += (end - cycle) as u32;
        Ok(())
    }

    /// Whether something of these bytes is only read.
    #[inline(always)]
    fn is_read_only(&self, address: u32, bytes: u32) -> bool {
        // What is stored to is elsewhere, nearly always.
        address.wrapping_sub(self.read_only_first) < self.read_only_bytes && self.is_in_piece(address, bytes)
    }

    fn is_in_piece(&self, address: u32, bytes: u32) -> bool {
        let last = address.wrapping_add(bytes - 1);
        self.read_only.iter().any(|piece| piece.contains(&address) || piece.contains(&last))
    }

    /// Checks that what is only read can be meant by its address.
    fn check_load(&self, address: u32, bytes: u32) -> Result<(), Denial> {
        let last = address.wrapping_add(bytes - 1);
        if !self.read_only.iter().any(|piece| piece.contains(&address) && piece.contains(&last)) {
            return Err(Denial::Nothing);
        }
        for address in (address..address + bytes).step_by(4) {
            let word = address.wrapping_sub(self.code_first) / 4;
            if self.packed.get(word as usize) == Some(&true) {
                return Err(Denial::Packed { address });
            }
        }
        Ok(())
    }

    /// Loads what is only read at no time.
    fn examine_constant(&mut self, address: u32, bytes: u32) -> Result<u64, Denial> {
        self.check_load(address, bytes)?;
        let at = match self.examined.find(address) {
            Some(at) => at,
            None => {
                let fill = &self.fill;
                self.examined.bring(address, |first, line| fill.examine(first, line))?
            }
        };
        Ok(value_of::<C>(self.examined.bytes(at, bytes as usize)))
    }

    /// Loads what is only read.
    fn load_constant(
        &mut self,
        address: u32,
        bytes: u32,
        cycle: Cycles,
        wait: &mut u32,
    ) -> Result<u64, Denial> {
        self.constants += 1;
        if self.data == Data::Ideal {
            return self.examine_constant(address, bytes);
        }
        self.check_load(address, bytes)?;
        if let Data::Cached(_, timing) = self.data {
            return self.load_cached(address, bytes, timing, cycle, wait);
        }
        let mut line = [0; LINE_BYTES as usize];
        let inside = (address % LINE_BYTES) as usize;
        let brought = self.fill.fill(address & !(LINE_BYTES - 1), &mut line, cycle);
        self.unsound_at = self.fill.unsound_at();
        *wait += (brought? - cycle) as u32;
        Ok(value_of::<C>(&line[inside..inside + bytes as usize]))
    }

    /// Loads what can be stored to.
    fn load_timed(&mut self, address: u32, bytes: u32, cycle: Cycles, wait: &mut u32) -> Result<u64, Denial> {
        let stored = C::stored(&self.ram, address, bytes).ok_or(Denial::Nothing)?;
        let value = value_of::<C>(stored);
        match self.data {
            Data::Ideal => Ok(value),
            Data::Uncached(timing) => {
                *wait += timing.first_cycles;
                Ok(value)
            }
            Data::Cached(_, timing) => self.load_cached(address, bytes, timing, cycle, wait),
        }
    }

    /// Loads through the data cache, from where there is something.
    fn load_cached(
        &mut self,
        address: u32,
        bytes: u32,
        timing: DataTiming,
        cycle: Cycles,
        wait: &mut u32,
    ) -> Result<u64, Denial> {
        let cache = self.data_cache.as_mut().expect("it was made with its settings");
        let at = if let Some(at) = cache.find(address) {
            at
        } else {
            let (fill, ram, pieces) = (&mut self.fill, &self.ram, &self.read_only);
            let next_cycles = timing.next_cycles * (cache.line_bytes() / LINE_BYTES - 1);
            let mut end = cycle + Cycles::from(timing.first_cycles + next_cycles);
            let brought = cache.bring(address, |first, line| {
                let behind = first + line.len() as u32;
                if pieces.iter().any(|piece| piece.start < behind && first < piece.end) {
                    end = fill.fill(first, line, cycle)?;
                }
                copy_stored::<C>(ram, pieces, first, line);
                Ok::<(), Unsound>(())
            });
            self.unsound_at = self.fill.unsound_at();
            *wait += (end - cycle) as u32;
            brought?
        };
        Ok(value_of::<C>(cache.bytes(at, bytes as usize)))
    }

    /// Before a store leaves the core, where it waits for checks.
    #[inline(always)]
    fn release(&mut self, cycle: Cycles, wait: &mut u32) -> Result<(), Denial> {
        if self.holds_stores {
            self.settle_all(cycle, wait)?;
        }
        Ok(())
    }

    /// Behind a store: its time.
    #[inline(always)]
    fn stored_in(&self, wait: &mut u32) {
        if let Data::Uncached(timing) | Data::Cached(_, timing) = self.data {
            *wait += timing.store_cycles;
        }
    }

    /// Behind a store: what the data cache has of it changes, too.
    #[inline(always)]
    fn keep_stored(&mut self, address: u32, bytes: u32, value: u64) {
        if let Some(cache) = &mut self.data_cache
            && let Some(at) = cache.held(address)
        {
            let count = bytes as usize;
            let place = cache.bytes_mut(at, count);
            match C::TARGET {
                Target::Sparc => place.copy_from_slice(&value.to_be_bytes()[8 - count..]),
                Target::Rv32 => place.copy_from_slice(&value.to_le_bytes()[..count]),
            }
        }
    }

    /// Why nothing is stored where something is only read.
    #[cold]
    fn refused_store(&self, address: u32, bytes: u32) -> Denial {
        // The second half of a double word may be the first instruction.
        let mut words = (0..bytes).step_by(4).map(|offset| address.wrapping_add(offset));
        match words.find(|address| address.wrapping_sub(self.code_first) < self.code_bytes) {
            Some(address) => Denial::Executed { address },
            None => Denial::Nothing,
        }
    }
}

/// Copies into a line what of it can be stored to.
fn copy_stored<C: Core>(ram: &C::Memory, read_only: &[Range<u32>], first: u32, line: &mut [u8]) {
    let end = first + line.len() as u32;
    let shared = read_only.iter().any(|piece| piece.start < end && first < piece.end);
    if !shared && let Some(bytes) = C::stored(ram, first, line.len() as u32) {
        line.copy_from_slice(bytes);
        return;
    }
    for (address, byte) in (first..end).zip(line) {
        if !read_only.iter().any(|piece| piece.contains(&address))
            && let Some(stored) = C::stored(ram, address, 1)
        {
            *byte = stored[0];
        }
    }
}
