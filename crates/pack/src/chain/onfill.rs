//! Lines of plain code, made of compressed blocks when the instruction cache lacks them.
//!
//! Owns: finding a block by the line address table, through a cache of that table; having its bytes brought; the time
//! that decoding takes, and the block that was decoded last ([`OnFill`]). Bytes come as they stand, opened and checked,
//! through a [`Straight`]: what is sealed and timed there is so here. What blocks and table look like is
//! `code::onfill::stored`'s, how a block is coded its code's.
//!
//! A line takes, one after the other:
//!
//! ```text
//!   record   nothing from the cache of the table, which is asked while the instruction cache is; else a fill
//!   block    a fill of the lines that it lies in; two, where those are more than 64 bytes
//!   decode   so many cycles for each instruction, up to the last one of the line, when all of the block is there.
//!            With a buffer the decoder goes on behind it, and the next line of the same block is waited for only as
//!            long as that still takes
//! ```
//!
//! Bytes that are no block are no instructions: zeros, as where memory has nothing.

use isa::Cycles;

use super::cache::{Cache, LINE_BYTES_MAX, Shape};
use super::fill::{Decoding, Fill, Straight, Transfers, Unsound};
use super::rom::LINE_BYTES;
use crate::code::onfill::stored::{BLOCK_BYTES_MAX, RECORD_BYTES, Stored};
use crate::error::RunError;

/// The lines that the longest block may lie in, in bytes.
const SPAN_BYTES_MAX: usize = BLOCK_BYTES_MAX + LINE_BYTES as usize;

/// How a decoder is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What keeps records of the line address table; without it, each comes over the bus.
    pub table_cache: Option<Shape>,
    /// What decoding takes, for each instruction.
    pub decode_cycles: u32,
    /// Whether the block that was decoded last is kept, as plain code: as many bytes as a block has.
    pub has_buffer: bool,
}

impl Default for Settings {
    /// Records for 16 KiB of code, and a buffer. No figure of a decoder's rate is known here: an instruction in a
    /// cycle, which is to be swept, and is much for codes that are read bit by bit.
    fn default() -> Settings {
        Settings { table_cache: Some(Shape::direct(256)), decode_cycles: 1, has_buffer: true }
    }
}

/// A decoded block.
#[derive(Clone, Copy, Debug)]
struct Block {
    number: u32,
    plain: [u8; BLOCK_BYTES_MAX],
    /// When all its bytes were there.
    there: Cycles,
}

/// Brings lines of compressed code, and others as they stand.
#[derive(Clone)]
pub struct OnFill {
    straight: Straight,
    stored: Stored,
    settings: Settings,
    records: Option<Cache>,
    last: Option<Block>,
    decoding: Decoding,
}

impl OnFill {
    /// A decoder over what brings its bytes.
    ///
    /// # Errors
    /// A cache of the table that cannot be built.
    pub fn new(straight: Straight, stored: Stored, settings: Settings) -> Result<OnFill, RunError> {
        let records = settings.table_cache.map(Cache::new).transpose()?;
        let decoding = Decoding::default();
        Ok(OnFill { straight, stored, settings, records, last: None, decoding })
    }

    /// The record of a block, asked for at a cycle, and when it is there.
    fn record(
        &mut self,
        block: u32,
        cycle: Cycles,
    ) -> Result<([u8; RECORD_BYTES as usize], Cycles), Unsound> {
        let (at, mut there) = (self.stored.record(block), cycle);
        let mut record = [0; RECORD_BYTES as usize];
        let Some(records) = &mut self.records else {
            self.decoding.record_fills += 1;
            there = self.straight.fill(at, &mut record, cycle)?;
            return Ok((record, there));
        };
        let place = if let Some(place) = records.find(at) {
            self.decoding.record_hits += 1;
            place
        } else {
            self.decoding.record_fills += 1;
            let straight = &mut self.straight;
            records.bring(at, |first, line| {
                there = straight.fill(first, line, cycle)?;
                Ok(())
            })?
        };
        record.copy_from_slice(records.bytes(place, RECORD_BYTES as usize));
        Ok((record, there))
    }

    /// A block, brought and decoded.
    fn bring(&mut self, number: u32, cycle: Cycles) -> Result<Block, Unsound> {
        let (record, mut there) = self.record(number, cycle)?;
        let mut block = Block { number, plain: [0; BLOCK_BYTES_MAX], there };
        let Some(place) = self.stored.place(number, &record) else { return Ok(block) };
        let first = place.start & !(LINE_BYTES - 1);
        let mut bytes = [0; SPAN_BYTES_MAX];
        let lines = &mut bytes[..(place.end - first).next_multiple_of(LINE_BYTES) as usize];
        self.decoding.blocks += 1;
        self.decoding.block_bytes += lines.len() as u64;
        for (lines, first) in
            lines.chunks_mut(LINE_BYTES_MAX as usize).zip((first..).step_by(LINE_BYTES_MAX as usize))
        {
            there = self.straight.fill(first, lines, there)?;
        }
        block.there = there;
        decode(
            &self.stored,
            &mut block,
            &bytes[(place.start - first) as usize..(place.end - first) as usize],
        );
        Ok(block)
    }

    /// The block with that number, and when its instructions before an address are decoded.
    fn block(&mut self, number: u32, before: u32, cycle: Cycles) -> Result<(Block, Cycles), Unsound> {
        let words = (before - self.stored.plain(number).start) / 4;
        let decode_cycles = Cycles::from(words) * Cycles::from(self.settings.decode_cycles);
        if let Some(block) = self.last.filter(|block| block.number == number) {
            self.decoding.buffer_hits += 1;
            let end = cycle.max(block.there + decode_cycles);
            self.decoding.decode_cycles += end - cycle;
            return Ok((block, end));
        }
        let block = self.bring(number, cycle)?;
        self.last = self.settings.has_buffer.then_some(block);
        self.decoding.decode_cycles += decode_cycles;
        Ok((block, block.there + decode_cycles))
    }
}

/// Makes a block's plain code of its bytes; leaves zeros where they are none.
fn decode(stored: &Stored, block: &mut Block, bytes: &[u8]) {
    let plain = &mut block.plain[..stored.plain(block.number).len()];
    if stored.decode(block.number, bytes, plain).is_none() {
        plain.fill(0);
    }
}

/// The numbers of the blocks that a line has something of; none where there is no compressed code in it.
fn blocks(stored: &Stored, address: u32, line: &[u8]) -> std::ops::Range<u32> {
    let code = stored.code();
    let last = address + (line.len() as u32 - 1);
    if last < code.start || address >= code.end {
        return 0..0;
    }
    stored.block(address.max(code.start))..stored.block(last.min(code.end - 1)) + 1
}

/// Whether all of a line is compressed code.
fn is_inside(stored: &Stored, address: u32, line: &[u8]) -> bool {
    let code = stored.code();
    code.start <= address && address + (line.len() as u32 - 1) < code.end
}

/// Copies into a line what of it is in a block: returns the address behind that.
fn copy(stored: &Stored, block: &Block, address: u32, line: &mut [u8]) {
    let plain = stored.plain(block.number);
    let first = plain.start.max(address);
    let last = (plain.end - 1).min(address + (line.len() as u32 - 1));
    let from = (first - plain.start) as usize..=(last - plain.start) as usize;
    line[(first - address) as usize..=(last - address) as usize].copy_from_slice(&block.plain[from]);
}

impl Fill for OnFill {
    fn fill(&mut self, address: u32, line: &mut [u8], cycle: Cycles) -> Result<Cycles, Unsound> {
        let mut now = cycle;
        if !is_inside(&self.stored, address, line) {
            now = self.straight.fill(address, line, now)?;
        }
        let line_last = address + (line.len() as u32 - 1);
        for number in blocks(&self.stored, address, line) {
            let before = (self.stored.plain(number).end - 1).min(line_last) + 1;
            let (block, decoded) = self.block(number, before, now)?;
            now = decoded;
            copy(&self.stored, &block, address, line);
        }
        Ok(now)
    }

    fn examine(&self, address: u32, line: &mut [u8]) -> Result<(), Unsound> {
        if !is_inside(&self.stored, address, line) {
            self.straight.examine(address, line)?;
        }
        for number in blocks(&self.stored, address, line) {
            let mut record = [0; RECORD_BYTES as usize];
            self.straight.examine(self.stored.record(number), &mut record)?;
            let mut block = Block { number, plain: [0; BLOCK_BYTES_MAX], there: 0 };
            if let Some(place) = self.stored.place(number, &record) {
                let first = place.start & !(LINE_BYTES - 1);
                let mut bytes = [0; SPAN_BYTES_MAX];
                let lines = &mut bytes[..(place.end - first).next_multiple_of(LINE_BYTES) as usize];
                for (lines, first) in
                    lines.chunks_mut(LINE_BYTES as usize).zip((first..).step_by(LINE_BYTES as usize))
                {
                    self.straight.examine(first, lines)?;
                }
                let inside = (place.start - first) as usize..(place.end - first) as usize;
                decode(&self.stored, &mut block, &bytes[inside]);
            }
            copy(&self.stored, &block, address, line);
        }
        Ok(())
    }

    fn settle(&mut self, cycle: Cycles) -> Result<Cycles, Unsound> {
        self.straight.settle(cycle)
    }

    fn unsound_at(&self) -> Cycles {
        self.straight.unsound_at()
    }

    fn transfers(&self) -> Transfers {
        Transfers { decoding: self.decoding, ..self.straight.transfers() }
    }
}

/// What brings an image's lines.
#[derive(Clone)]
pub enum Lines {
    /// As they stand in memory.
    Stored(Box<Straight>),
    /// Code of compressed blocks.
    Decoded(Box<OnFill>),
}

impl Lines {
    fn fill_mut(&mut self) -> &mut dyn Fill {
        match self {
            Lines::Stored(straight) => straight.as_mut(),
            Lines::Decoded(decoded) => decoded.as_mut(),
        }
    }

    fn fill_ref(&self) -> &dyn Fill {
        match self {
            Lines::Stored(straight) => straight.as_ref(),
            Lines::Decoded(decoded) => decoded.as_ref(),
        }
    }
}

impl Fill for Lines {
    fn fill(&mut self, address: u32, line: &mut [u8], cycle: Cycles) -> Result<Cycles, Unsound> {
        self.fill_mut().fill(address, line, cycle)
    }

    fn examine(&self, address: u32, line: &mut [u8]) -> Result<(), Unsound> {
        self.fill_ref().examine(address, line)
    }

    fn settle(&mut self, cycle: Cycles) -> Result<Cycles, Unsound> {
        self.fill_mut().settle(cycle)
    }

    fn unsound_at(&self) -> Cycles {
        self.fill_ref().unsound_at()
    }

    fn transfers(&self) -> Transfers {
        self.fill_ref().transfers()
    }
}
