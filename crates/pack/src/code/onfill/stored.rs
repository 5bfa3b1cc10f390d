//! Compressed code in memory: its blocks, the table of where each is, and the tables of its code.
//!
//! Owns: the bytes of the two sections that stand for one of plain code ([`compress`]), reading them ([`Stored`]), and
//! what a core sees of them ([`seen`]). How a block is coded is the codes'; when one is brought is `chain::onfill`'s.
//!
//! For the core, code is where it was: its addresses, the caches' and those of loads are the plain ones. On the bus its
//! place is taken by what stands for it, from the first line of 16 bytes on: the model, and behind it, from a line on,
//! the blocks. What becomes free lies behind them. Numbers and bits have their highest first.
//!
//! ```text
//!   model    at  bytes
//!             0   4   first address of the plain code
//!             4   4   how long it is
//!             8   1   number of the code (`code::table`)
//!             9   1   logarithm of the length of a block in bytes: 4, 5 or 6
//!            10   2   0
//!            12   …   the code's tables, bit by bit; what is left of the last byte is 0
//!
//!   blocks   the line address table, for each 16 blocks a record:
//!                bits
//!                 32       where the first one begins, in bytes behind the table
//!                 16 × n   how long each is in bytes, less 1; n is the logarithm
//!                 …        0 to the end of 16 bytes
//!            the blocks, one behind the other, each in whole bytes
//! ```
//!
//! A block is the plain code of addresses that differ in their last bits only, so the first one and the last may be
//! shorter. One that takes as many bytes as it has is plain. Each can be decoded by its record alone.
//!
//! Invariant: [`Stored::of`] and [`Stored::decode`] return on every input.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::bits::{BitReader, BitWriter};
use super::coder::{Coder, Text};
use crate::code::packet::Dictionary;
use crate::code::table::{Code, OnFill, reader};
use crate::error::{Error, RunError};
use crate::image::{Image, Kind, Section};
use crate::limits::CODE_BYTES_MAX;
use crate::target::Target;

/// A record of the line address table, in bytes: a line of the cipher.
pub const RECORD_BYTES: u32 = 16;
/// How many blocks it is for.
pub const RECORD_BLOCKS: u32 = 16;
/// The lengths of blocks that there are, in bytes.
pub const BLOCK_BYTES: [u32; 3] = [16, 32, 64];
/// The longest block.
pub const BLOCK_BYTES_MAX: usize = 64;
/// The name of the model's section.
const MODEL_NAME: &str = ".model";
/// Where the code's tables begin in it.
const TABLES_AT: usize = 12;
/// What the sections are aligned to: a line of the cipher.
const LINE_BYTES: u32 = 16;

/// What compressed code takes, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The plain code.
    pub plain_bytes: u32,
    /// The model, in whole lines.
    pub model_bytes: u32,
    /// The line address table.
    pub table_bytes: u32,
    /// The blocks, to the end of their last line.
    pub blocks_bytes: u32,
    /// How many blocks there are.
    pub blocks: u32,
    /// How many of them are plain.
    pub plain_blocks: u32,
}

impl Report {
    /// All that stands for the code, in parts of it.
    pub fn ratio(&self) -> f64 {
        f64::from(self.model_bytes + self.table_bytes + self.blocks_bytes) / f64::from(self.plain_bytes)
    }
}

/// Compresses the largest section of code of an image.
///
/// # Errors
/// A code that is not decoded on fill, an image that is packed, a block of another length, code that is not made of
/// words, or would not become smaller.
pub fn compress(image: &Image, code: Code, block_bytes: u32) -> Result<(Image, Report), Error> {
    let on_fill = code.row().on_fill.ok_or(Error::NotOnFill { found: code.name() })?;
    compress_by(image, &on_fill, block_bytes)
}

/// The same by what makes the tables.
///
/// # Errors
/// As [`compress`].
pub fn compress_by(image: &Image, code: &OnFill, block_bytes: u32) -> Result<(Image, Report), Error> {
    if !BLOCK_BYTES.contains(&block_bytes) {
        return Err(Error::BlockBytes { found_bytes: block_bytes });
    }
    let is_changed = |section: &Section| matches!(section.kind, Kind::Model | Kind::Blocks);
    if !image.dictionary.entries().is_empty() || image.sections.iter().any(is_changed) {
        return Err(Error::Packed);
    }
    let (place, section) = largest(image).ok_or(Error::NoCode)?;
    let plain_bytes = section.bytes.len() as u32;
    if !section.first.is_multiple_of(4) || !plain_bytes.is_multiple_of(4) {
        let (section, first) = (section.name.clone(), section.first);
        return Err(Error::Unaligned { section, first, bytes: plain_bytes.into() });
    }
    if section.first.checked_add(plain_bytes).is_none() {
        return Err(Error::Overlap { section: section.name.clone(), first: section.first });
    }
    let words = words_of(image.target, &section.bytes);
    let lead_words = (section.first % block_bytes / 4) as usize;
    let text = Text { words: &words, lead_words, block_words: block_bytes as usize / 4 };
    let coder = (code.make)(image.target, text);
    let model = model(section, code.number, block_bytes, coder.as_ref());
    let (table, blocks, plain_blocks) = blocks(text, &section.bytes, coder.as_ref());
    let lead_bytes = section.first.wrapping_neg() % LINE_BYTES;
    let model_bytes = (model.len() as u32).next_multiple_of(LINE_BYTES);
    let blocks_bytes = (blocks.len() as u32).next_multiple_of(LINE_BYTES);
    let found_bytes = lead_bytes + model_bytes + table.len() as u32 + blocks_bytes;
    if found_bytes > plain_bytes {
        return Err(Error::NotSmaller { found_bytes, limit_bytes: plain_bytes });
    }
    let model_first = section.first + lead_bytes;
    let report = Report {
        plain_bytes,
        model_bytes,
        table_bytes: table.len() as u32,
        blocks_bytes,
        blocks: text.blocks().count() as u32,
        plain_blocks,
    };
    let made = |name: &str, kind, first, bytes| Section { name: name.to_owned(), kind, first, bytes };
    let stored = [
        made(MODEL_NAME, Kind::Model, model_first, model),
        made(&section.name, Kind::Blocks, model_first + model_bytes, [table, blocks].concat()),
    ];
    let mut sections = image.sections.clone();
    sections.splice(place..=place, stored);
    Ok((Image { sections, ..image.clone() }, report))
}

/// The largest section of code, and its place.
fn largest(image: &Image) -> Option<(usize, &Section)> {
    let code = image.sections.iter().enumerate().filter(|(_, section)| section.kind == Kind::Code);
    // The first of equal ones.
    code.rev().max_by_key(|(_, section)| section.bytes.len()).filter(|(_, section)| !section.bytes.is_empty())
}

fn words_of(target: Target, bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks().0.iter().map(|&word| target.word(word)).collect()
}

fn model(section: &Section, number: u8, block_bytes: u32, coder: &dyn Coder) -> Vec<u8> {
    let mut bits = BitWriter::default();
    bits.put(section.first, 32);
    bits.put(section.bytes.len() as u32, 32);
    bits.put(number.into(), 8);
    bits.put(block_bytes.trailing_zeros(), 8);
    bits.put(0, 16);
    coder.write(&mut bits);
    bits.into_bytes()
}

/// The line address table, the blocks, and how many of them are plain.
fn blocks(text: Text<'_>, plain: &[u8], coder: &dyn Coder) -> (Vec<u8>, Vec<u8>, u32) {
    let (mut blocks, mut starts, mut lengths, mut plain_blocks) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for (at_words, words) in text.blocks() {
        let mut bits = BitWriter::default();
        coder.encode(at_words, words, &mut bits);
        let mut bytes = bits.into_bytes();
        if bytes.len() >= words.len() * 4 {
            let at = at_words as usize * 4;
            bytes = plain[at..at + words.len() * 4].to_vec();
            plain_blocks += 1;
        }
        starts.push(blocks.len() as u32);
        // What takes no bits takes a byte, so that a length is at least 1.
        bytes.resize(bytes.len().max(1), 0);
        lengths.push(bytes.len() as u32);
        blocks.extend(bytes);
    }
    let block_bytes = text.block_words as u32 * 4;
    let mut table = Vec::new();
    for (starts, lengths) in starts.chunks(RECORD_BLOCKS as usize).zip(lengths.chunks(RECORD_BLOCKS as usize))
    {
        let mut bits = BitWriter::default();
        bits.put(starts[0], 32);
        lengths.iter().for_each(|length| bits.put(length - 1, block_bytes.trailing_zeros()));
        let mut record = bits.into_bytes();
        record.resize(RECORD_BYTES as usize, 0);
        table.extend(record);
    }
    (table, blocks, plain_blocks)
}

/// Compressed code, as its sections say.
#[derive(Clone)]
pub struct Stored {
    name: String,
    target: Target,
    code: Range<u32>,
    block_bytes: u32,
    /// Where the line address table is, on the bus.
    table: Range<u32>,
    /// Where the blocks are, on the bus.
    blocks: Range<u32>,
    coder: Arc<dyn Coder>,
}

/// A field of a model that says what cannot be.
fn wrong(what: &'static str, at: usize, found: u64, expected: &'static str) -> RunError {
    RunError::Model { what, at, found, expected }
}

impl Stored {
    /// The compressed code of an image, if there is any.
    ///
    /// # Errors
    /// A model that is none, and blocks that are not where they must be.
    pub fn of(image: &Image) -> Result<Option<Stored>, RunError> {
        let of_kind = |kind| image.sections.iter().filter(move |section| section.kind == kind);
        let (models, blocks) = (of_kind(Kind::Model).count(), of_kind(Kind::Blocks).count());
        let (model, blocks) = match (of_kind(Kind::Model).next(), of_kind(Kind::Blocks).next()) {
            (None, None) => return Ok(None),
            (Some(model), Some(first)) if models == 1 && blocks == 1 => (model, first),
            _ => return Err(RunError::ModelAlone { models, blocks }),
        };
        Stored::read(image.target, model, blocks).map(Some)
    }

    fn read(target: Target, model: &Section, blocks: &Section) -> Result<Stored, RunError> {
        let bytes = &model.bytes;
        let mut bits = BitReader::new(bytes);
        let mut head = |count: u32| {
            bits.take(count).ok_or(wrong("its length", 0, bytes.len() as u64, "12 bytes and its tables"))
        };
        let (first, length, number, logarithm, zero) = (head(32)?, head(32)?, head(8)?, head(8)?, head(16)?);
        let is_words = length > 0 && length % 4 == 0 && first % 4 == 0;
        let fits = is_words && u64::from(length) <= CODE_BYTES_MAX;
        let end = first.checked_add(length).filter(|_| fits);
        let end =
            end.ok_or(wrong("the code's length", 4, length.into(), "words, at most 64 MiB, in memory"))?;
        let read = reader(number as u8).ok_or(wrong("the code", 8, number.into(), "a code's number"))?;
        let block_bytes = BLOCK_BYTES.into_iter().find(|bytes| bytes.trailing_zeros() == logarithm);
        let block_bytes = block_bytes.ok_or(wrong("a block's length", 9, logarithm.into(), "4, 5 or 6"))?;
        if zero != 0 {
            return Err(wrong("a reserved field", 10, zero.into(), "0"));
        }
        let coder = read(target, &mut bits);
        let ended_at = bits.at() / 8;
        let coder = coder.ok_or(wrong("its tables", TABLES_AT, ended_at as u64, "tables of the code"))?;
        let count = (end - 1) / block_bytes - first / block_bytes + 1;
        let table_bytes = count.div_ceil(RECORD_BLOCKS) * RECORD_BYTES;
        let found_bytes = blocks.bytes.len() as u64;
        let blocks_end = blocks.first.checked_add(blocks.bytes.len() as u32);
        let blocks_end = blocks_end.filter(|_| blocks.first.is_multiple_of(LINE_BYTES));
        match blocks_end.filter(|_| found_bytes > table_bytes.into()) {
            Some(blocks_end) => Ok(Stored {
                name: blocks.name.clone(),
                target,
                code: first..end,
                block_bytes,
                table: blocks.first..blocks.first + table_bytes,
                blocks: blocks.first + table_bytes..blocks_end,
                coder: coder.into(),
            }),
            None => Err(wrong("its blocks", 0, found_bytes, "lines behind a line address table")),
        }
    }

    /// The addresses of the plain code.
    pub fn code(&self) -> Range<u32> {
        self.code.clone()
    }

    /// Where the line address table is, on the bus.
    pub fn table(&self) -> Range<u32> {
        self.table.clone()
    }

    /// Where the blocks are, on the bus.
    pub fn blocks(&self) -> Range<u32> {
        self.blocks.clone()
    }

    /// The block of an address of the code.
    pub fn block(&self, address: u32) -> u32 {
        address / self.block_bytes - self.code.start / self.block_bytes
    }

    /// The plain addresses of a block.
    pub fn plain(&self, block: u32) -> Range<u32> {
        let first = (self.code.start / self.block_bytes + block) * self.block_bytes;
        // The last block may end with memory.
        let last = first + (self.block_bytes - 1);
        first.max(self.code.start)..(last.min(self.code.end - 1) + 1)
    }

    /// Where the record of a block is, on the bus.
    pub fn record(&self, block: u32) -> u32 {
        self.table.start + block / RECORD_BLOCKS * RECORD_BYTES
    }

    /// Where a block is, on the bus, as its record says; `None` when that is not among the blocks.
    pub fn place(&self, block: u32, record: &[u8]) -> Option<Range<u32>> {
        let mut bits = BitReader::new(record);
        let mut first = u64::from(self.blocks.start) + u64::from(bits.take(32)?);
        for _ in 0..block % RECORD_BLOCKS {
            first += u64::from(bits.take(self.block_bytes.trailing_zeros())?) + 1;
        }
        let end = first + u64::from(bits.take(self.block_bytes.trailing_zeros())?) + 1;
        (end <= self.blocks.end.into()).then_some(first as u32..end as u32)
    }

    /// Decodes a block into as much room as its plain code takes; `None` when its bytes are none.
    pub fn decode(&self, block: u32, bytes: &[u8], plain: &mut [u8]) -> Option<()> {
        if bytes.len() == plain.len() {
            plain.copy_from_slice(bytes);
            return Some(());
        }
        let mut words = [0; BLOCK_BYTES_MAX / 4];
        let words = words.get_mut(..plain.len() / 4)?;
        let at_words = (self.plain(block).start - self.code.start) / 4;
        self.coder.decode(at_words, words, &mut BitReader::new(bytes))?;
        for (bytes, &word) in plain.chunks_exact_mut(4).zip(words.iter()) {
            bytes.copy_from_slice(&self.target.bytes(word));
        }
        Some(())
    }
}

/// What a core sees of an image: plain code where there is a model and blocks. Its bytes are zeros, since a core asks
/// for them where they are.
///
/// # Errors
/// As [`Stored::of`].
pub fn seen(image: &Image) -> Result<Cow<'_, Image>, RunError> {
    let Some(stored) = Stored::of(image)? else { return Ok(Cow::Borrowed(image)) };
    let bytes = vec![0; stored.code.len()];
    Ok(Cow::Owned(with_code(image, &stored, bytes)))
}

/// An image as it was before it was compressed.
///
/// # Errors
/// As [`Stored::of`], and a block that is none.
pub fn expand(image: &Image) -> Result<Cow<'_, Image>, RunError> {
    let Some(stored) = Stored::of(image)? else { return Ok(Cow::Borrowed(image)) };
    let section = image.sections.iter().find(|section| section.kind == Kind::Blocks);
    let section = section.expect("what is stored has blocks");
    let at = |address: u32| (address - section.first) as usize;
    let mut bytes = vec![0; stored.code.len()];
    for block in 0..=stored.block(stored.code.end - 1) {
        let record = at(stored.record(block));
        let plain = stored.plain(block);
        let room = (plain.start - stored.code.start) as usize..(plain.end - stored.code.start) as usize;
        let place = stored.place(block, &section.bytes[record..record + RECORD_BYTES as usize]);
        let decoded = place.and_then(|place| {
            stored.decode(block, &section.bytes[at(place.start)..at(place.end)], &mut bytes[room])
        });
        decoded.ok_or(RunError::Block { address: plain.start })?;
    }
    Ok(Cow::Owned(with_code(image, &stored, bytes)))
}

fn with_code(image: &Image, stored: &Stored, bytes: Vec<u8>) -> Image {
    let is_stored = |section: &Section| matches!(section.kind, Kind::Model | Kind::Blocks);
    let mut sections: Vec<Section> =
        image.sections.iter().filter(|section| !is_stored(section)).cloned().collect();
    let (name, first) = (stored.name.clone(), stored.code.start);
    let place = sections.partition_point(|section| section.first < first);
    sections.insert(place, Section { name, kind: Kind::Code, first, bytes });
    let dictionary = Dictionary::default();
    Image { sections, dictionary, map: Vec::new(), ..image.clone() }
}
