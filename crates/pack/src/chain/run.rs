//! Putting an image behind a chain, and running it.
//!
//! Owns: what of an image goes where, SPARC's two surroundings (Linux' calls, a board), and what a run tells. What the
//! core and the surroundings do is `isa::sparc`'s; RV32's are `rv32`'s.

use std::ops::Range;
use std::sync::Arc;

use isa::Cycles;
use isa::sparc::machine::{self, Spent};
use isa::sparc::{Board, Fault, Files, Machine, Memory, Observer, Region, Stop, User, bare, user};

use super::bus::{Chain, Contents, Core, Counts, Data};
use super::cache::Shape;
use super::decipher::{self, LineCipher, Unsealed, Work};
use super::expand::Expander;
use super::fill::{Fill, MemoryTiming, Straight};
use super::integrity::{self, Check, Integrity};
use super::onfill::{self, Lines, OnFill};
use super::rom::Rom;
use crate::code::onfill::stored::{Stored, seen};
use crate::code::packet::Dictionary;
use crate::error::RunError;
use crate::image::{Image, Kind, Section, Zeros};
use crate::target::Target;

pub mod rv32;

/// Variables with less than this between them are one piece of memory, in bytes.
const GAP_BYTES_MAX: u32 = 4096;

/// What a chain is built of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The instruction cache.
    pub cache: Shape,
    /// Memory.
    pub memory: MemoryTiming,
    /// The cipher's unit, where something is sealed.
    pub cipher: decipher::Timing,
    /// The unit that checks, where something has MACs.
    pub integrity: integrity::Settings,
    /// The decoder, where code is compressed.
    pub onfill: onfill::Settings,
    /// How data is reached.
    pub data: Data,
    /// Whether stores wait for checks, as what devices are told does: memory lies outside the core.
    pub holds_stores: bool,
}

impl Default for Settings {
    /// The paper's: 1 KiB direct-mapped with lines of 16 bytes, 80 cycles for memory, 40 for the cipher, data ideal.
    fn default() -> Settings {
        Settings {
            cache: Shape::direct(1024),
            memory: MemoryTiming::default(),
            cipher: decipher::Timing::default(),
            integrity: integrity::Settings::default(),
            onfill: onfill::Settings::default(),
            data: Data::Ideal,
            holds_stores: true,
        }
    }
}

/// How what stands outside is protected. The image itself is neither sealed nor otherwise changed.
#[derive(Clone, Default)]
pub struct Protection {
    /// What stands there, pieces with their first addresses: sealed lines, MACs. Without it the image's own bytes do,
    /// which only a cipher that does nothing leaves as they are.
    pub memory: Option<Vec<(u32, Vec<u8>)>>,
    /// Opens the lines that are sealed.
    pub cipher: Option<Arc<dyn LineCipher>>,
    /// Where those are, of what is only read: whole lines of 16 bytes.
    pub sealed: Vec<Range<u32>>,
    /// MACs, if it has any.
    pub check: Option<Arc<dyn Check>>,
}

impl Protection {
    /// What an image's code costs under a cipher that takes its time and does nothing.
    pub fn cost_of_code(image: &Image, work: Work) -> Protection {
        Protection::of_code(image, Arc::new(Unsealed(work)))
    }

    /// All code of an image under one cipher, and what stands for code.
    pub fn of_code(image: &Image, cipher: Arc<dyn LineCipher>) -> Protection {
        let code = image.sections.iter().filter(|section| section.kind.chosen_as() == Kind::Code);
        let lines = code.map(|section| {
            let end = section.first + section.bytes.len() as u32;
            section.first & !15..end.next_multiple_of(16)
        });
        Protection { cipher: Some(cipher), sealed: lines.collect(), ..Protection::default() }
    }
}

/// A linked program as an image of which nothing is packed and nothing sealed.
pub fn unpacked<const MACHINE: u16>(program: &isa::elf::Image<MACHINE>) -> Image {
    let mut image = Image {
        target: if MACHINE == isa::elf::RISCV { Target::Rv32 } else { Target::Sparc },
        entry: program.entry,
        sections: Vec::new(),
        zeros: Vec::new(),
        dictionary: Dictionary::default(),
        packed_text: Vec::new(),
        map: Vec::new(),
    };
    let code = program.code_first..program.code_first + program.code_bytes;
    for segment in &program.segments {
        let end = segment.first + segment.bytes.len() as u32;
        let mut add = |name: &str, kind: Kind, range: Range<u32>| {
            let places = (range.start - segment.first) as usize..(range.end - segment.first) as usize;
            let bytes = segment.bytes[places].to_vec();
            if !bytes.is_empty() {
                image.sections.push(Section { name: name.to_owned(), kind, first: range.start, bytes });
            }
        };
        if segment.writable {
            let last = segment.bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last as u32 + 1);
            let zeros_first = segment.first + last;
            add(".data", Kind::Data, segment.first..zeros_first);
            image.zeros.push(Zeros { first: zeros_first, bytes: end - zeros_first });
        } else if segment.first <= code.start && code.end <= end {
            add(".head", Kind::Constants, segment.first..code.start);
            add(".text", Kind::Code, code.clone());
            add(".rodata", Kind::Constants, code.end..end);
        } else {
            add(".rodata", Kind::Constants, segment.first..end);
        }
    }
    image
}

/// What programs store to, of an image: initialisers and zeros, pieces that are near each other in one.
fn variables(image: &Image) -> Vec<Region> {
    let data = image.sections.iter().filter(|section| section.kind == Kind::Data);
    let data = data.map(|section| (section.first, section.bytes.len() as u32, &section.bytes[..]));
    let zeros = image.zeros.iter().map(|zeros| (zeros.first, zeros.bytes, &[][..]));
    let mut pieces: Vec<(u32, u32, &[u8])> = data.chain(zeros).filter(|piece| piece.1 > 0).collect();
    pieces.sort_by_key(|piece| piece.0);
    let near = pieces.chunk_by(|before, piece| {
        let (behind, first) = (u64::from(before.0) + u64::from(before.1), u64::from(piece.0));
        behind <= first && first - behind < GAP_BYTES_MAX.into()
    });
    let region = near.map(|pieces| {
        let (first, last) = (pieces[0].0, pieces[pieces.len() - 1]);
        // Made once, as long as all of it; zeros that nobody touches are never made.
        let mut bytes = vec![0; (last.0 - first) as usize + last.1 as usize];
        for &(at, _, content) in pieces {
            let at = (at - first) as usize;
            bytes[at..at + content.len()].copy_from_slice(content);
        }
        Region { first, bytes, writable: true }
    });
    region.collect()
}

/// What is only read of an image, as it stands outside.
fn constants(image: &Image) -> impl Iterator<Item = (u32, Vec<u8>)> + '_ {
    let read = image.sections.iter().filter(|section| section.kind != Kind::Data);
    read.map(|section| (section.first, section.bytes.clone()))
}

/// The addresses of an image's code, from the first to the last, and which of its words are packed text.
fn code(image: &Image) -> Result<(Range<u32>, Vec<bool>), RunError> {
    let sections = image.sections.iter().filter(|section| section.kind == Kind::Code);
    if let Some(section) = sections.clone().find(|section| !section.first.is_multiple_of(4)) {
        return Err(RunError::CodeAlignment { first: section.first });
    }
    let first = sections.clone().map(|section| section.first).min().ok_or(RunError::NoCode)?;
    let end = sections.map(|section| section.first.saturating_add(section.bytes.len() as u32)).max();
    let end = (end.ok_or(RunError::NoCode)? & !3).max(first);
    let mut packed = vec![false; ((end - first) / 4) as usize];
    for text in &image.packed_text {
        // A container without tags may say what it likes.
        let begins = text.first.clamp(first, end) - first;
        let ends = text.first.saturating_add(text.bytes).clamp(first, end) - first;
        packed[begins as usize / 4..ends.div_ceil(4) as usize].fill(true);
    }
    Ok((first..end, packed))
}

/// What brings an image's lines as they stand.
///
/// # Errors
/// Ranges that are not lines of it, and checks that cannot be made.
pub fn straight(image: &Image, protection: &Protection, settings: &Settings) -> Result<Straight, RunError> {
    let mut rom = match &protection.memory {
        Some(pieces) => Rom::new(pieces.iter().cloned())?,
        None => Rom::new(constants(image))?,
    };
    protection.sealed.iter().try_for_each(|range| rom.seal(range.clone()))?;
    let check = protection.check.clone();
    let integrity = check.map(|check| Integrity::new(check, settings.integrity)).transpose()?;
    let mut fill = Straight::new(rom, settings.memory);
    if let Some(cipher) = &protection.cipher {
        fill = fill.deciphered(cipher.clone(), settings.cipher);
    }
    Ok(integrity.into_iter().fold(fill, Straight::checked))
}

/// What brings an image's lines, decoded where its code is compressed.
///
/// # Errors
/// As [`straight`], a model that is none, and a cache of the line address table that cannot be built.
pub fn lines(image: &Image, protection: &Protection, settings: &Settings) -> Result<Lines, RunError> {
    let straight = straight(image, protection, settings)?;
    Ok(match Stored::of(image)? {
        Some(stored) => Lines::Decoded(Box::new(OnFill::new(straight, stored, settings.onfill)?)),
        None => Lines::Stored(Box::new(straight)),
    })
}

/// A chain of SPARC with an image, as its core sees it, over a fill, and memory to store to.
///
/// # Errors
/// A cache that cannot be built, an image that cannot be run.
pub fn chain<F: Fill>(
    image: &Image,
    fill: F,
    ram: Memory,
    settings: &Settings,
) -> Result<Chain<F>, RunError> {
    build(image, fill, ram, settings)
}

/// The same of any core.
fn build<F: Fill, C: Core>(
    image: &Image,
    fill: F,
    ram: C::Memory,
    settings: &Settings,
) -> Result<Chain<F, C>, RunError> {
    if image.target != C::TARGET {
        return Err(RunError::RunTarget { found: image.target, expected: C::TARGET });
    }
    let (code, packed) = code(image)?;
    let mut pieces: Vec<Range<u32>> = image
        .sections
        .iter()
        .filter(|section| section.kind != Kind::Data && !section.bytes.is_empty())
        .map(|section| section.first..section.first + section.bytes.len() as u32)
        .collect();
    pieces.sort_by_key(|piece| piece.start);
    let mut read_only: Vec<Range<u32>> = Vec::new();
    for piece in pieces {
        match read_only.last_mut().filter(|last| last.end == piece.start) {
            Some(last) => last.end = piece.end,
            None => read_only.push(piece),
        }
    }
    let expander = Expander::new(image.target, image.dictionary.clone(), C::decode);
    let contents = Contents { ram, read_only, code, packed };
    Chain::new(settings.cache, settings.data, settings.holds_stores, expander, fill, contents)
}

/// An image under Linux' calls, about to begin.
///
/// # Errors
/// What cannot be built, and what does not fit.
pub fn under_linux(
    image: &Image,
    protection: &Protection,
    settings: &Settings,
    arguments: &[&str],
    files: Files,
    user: user::Settings,
) -> Result<User<Chain>, RunError> {
    let fill = lines(image, protection, settings)?;
    let plain = seen(image)?;
    let image = &*plain;
    let read_only = constants(image).map(|(first, bytes)| Region { first, bytes, writable: false });
    let regions = variables(image).into_iter().chain(read_only).collect();
    let (mut regions, start) = user::furnish(regions, image.entry, arguments, &user)?;
    regions.retain(|region| region.writable);
    let chain = chain(image, fill, Memory::new(regions, 0, 0), settings)?;
    Ok(User::with_bus(chain, start, files, user))
}

/// An image on a board, with what a loader leaves in memory, about to begin at its entry.
///
/// # Errors
/// What cannot be built, and what does not fit.
pub fn on_board(
    image: &Image,
    protection: &Protection,
    settings: &Settings,
    core: machine::Settings,
    memory_bytes: u32,
    loaded: &[(u32, &[u8])],
) -> Result<Machine<Board<Chain>>, RunError> {
    let fill = lines(image, protection, settings)?;
    let plain = seen(image)?;
    let image = &*plain;
    let sections = image.sections.iter().map(|section| (section.first, &section.bytes[..]));
    let region = bare::load(sections.chain(loaded.iter().copied()), memory_bytes)?;
    let chain = chain(image, fill, Memory::new(vec![region], 0, 0), settings)?;
    Ok(Board::with_memory(chain).start(core, image.entry))
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End<W = Fault> {
    /// The program ended, with this status.
    Exit(u8),
    /// It did what ends its run; on a board that is how every run ends.
    Fault(W),
    /// It had run for as long as it should.
    Reached,
}

/// What a run told: of SPARC, where nothing else is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome<S = Spent, W = Fault> {
    /// How it ended.
    pub end: End<W>,
    /// What it wrote to standard output, or over the serial line.
    pub output: Vec<u8>,
    /// All cycles.
    pub cycles: Cycles,
    /// What they were spent for.
    pub spent: S,
    /// What the chain did.
    pub counts: Counts,
}

/// Runs an image under Linux' calls, at most until a cycle.
pub fn finish<F: Fill, O: Observer>(program: &mut User<Chain<F>>, until: Cycles, o: &mut O) -> Outcome {
    let end = match program.run(until, o) {
        user::Stop::Exit(status) => End::Exit(status),
        user::Stop::Fault(fault) => End::Fault(fault),
        user::Stop::Reached => End::Reached,
    };
    let machine = &program.machine;
    let output = program.files.output.clone();
    Outcome { end, output, cycles: machine.cycle(), spent: machine.spent(), counts: machine.bus.counts() }
}

/// Runs an image on a board, at most until a cycle.
pub fn finish_board<F: Fill, O: Observer>(
    machine: &mut Machine<Board<Chain<F>>>,
    until: Cycles,
    o: &mut O,
) -> Outcome {
    let end = match machine.run(until, o) {
        Stop::Fault(fault) => End::Fault(fault),
        Stop::Reached => End::Reached,
        Stop::Trap(trap) => unreachable!("{trap}: on a board the environment answers nothing"),
    };
    let counts = machine.bus.memory.counts();
    let output = machine.bus.sent.clone();
    Outcome { end, output, cycles: machine.cycle(), spent: machine.spent(), counts }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Were a region copied whenever a piece is added, the last one would be copied half a tebibyte long.
    #[test]
    fn pieces_that_are_near_each_other_are_one_region() {
        let data = Section { name: ".data".into(), kind: Kind::Data, first: 0x1000, bytes: vec![7; 16] };
        let mut zeros = vec![
            Zeros { first: 0x1010 + GAP_BYTES_MAX - 1, bytes: 1 },
            Zeros { first: 0x2010 + GAP_BYTES_MAX, bytes: 2 },
        ];
        zeros.extend((0..4096).map(|number| Zeros { first: 0x1000_0000 + (number << 16), bytes: 1 << 16 }));
        let image = Image {
            target: Target::Sparc,
            entry: 0,
            sections: vec![data],
            zeros,
            dictionary: Dictionary::default(),
            packed_text: Vec::new(),
            map: Vec::new(),
        };
        let regions = variables(&image);
        let places: Vec<_> = regions.iter().map(|region| (region.first, region.bytes.len())).collect();
        assert_eq!(places, [(0x1000, 0x1010), (0x3010, 2), (0x1000_0000, 1 << 28)]);
        assert_eq!(regions[0].bytes[..17], [[7_u8; 16].as_slice(), &[0]].concat());
    }
}
