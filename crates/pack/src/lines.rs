//! Which sections are sealed, and how they lie in lines.
//!
//! Owns: the choice of sections ([`Choice`]), and the pieces of memory that an image is made of ([`extents`]): sealed
//! sections widened to whole lines, those that touch as one piece, and each other section as it is. What is in a line
//! and in no section is [`FILLER`], and never what lay there before. How a line is sealed is `seal`'s.

use crate::error::SealError;
use crate::image::{Kind, Section};
use crate::seal::LINE_BYTES;

/// What the rest of a line is filled with, before it is sealed. Zeros may stand in what a program takes for zeroed
/// memory, and are no instruction of SPARC or RISC-V.
pub const FILLER: u8 = 0;

/// Which sections are sealed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// All sections of these kinds, and with code what stands for it,
    pub kinds: Vec<Kind>,
    /// and all of these names,
    pub include: Vec<String>,
    /// but none of these.
    pub exclude: Vec<String>,
}

impl Default for Choice {
    /// Everything that is loaded.
    fn default() -> Choice {
        let kinds = vec![Kind::Code, Kind::Constants, Kind::Data];
        Choice { kinds, include: Vec::new(), exclude: Vec::new() }
    }
}

impl Choice {
    /// For each section whether it is sealed.
    ///
    /// # Errors
    /// [`SealError::NoSuchSection`], [`SealError::Contradiction`], [`SealError::NothingToSeal`].
    pub fn among(&self, sections: &[Section]) -> Result<Vec<bool>, SealError> {
        for name in self.include.iter().chain(&self.exclude) {
            if !sections.iter().any(|section| section.name == *name) {
                return Err(SealError::NoSuchSection { name: name.clone() });
            }
        }
        if let Some(name) = self.include.iter().find(|name| self.exclude.contains(name)) {
            return Err(SealError::Contradiction { name: name.clone() });
        }
        let is_sealed = |section: &Section| {
            let asked =
                self.kinds.contains(&section.kind.chosen_as()) || self.include.contains(&section.name);
            asked && !self.exclude.contains(&section.name)
        };
        let chosen: Vec<bool> = sections.iter().map(is_sealed).collect();
        if chosen.contains(&true) { Ok(chosen) } else { Err(SealError::NothingToSeal) }
    }
}

/// A section without its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub role: Role,
    /// First address.
    pub first: u32,
    /// How long it is, without what fills its lines.
    pub bytes: u32,
    /// Whether it is sealed.
    pub is_sealed: bool,
}

/// What a section of a sealed image holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// What the program has there.
    Program(Kind),
    /// The instructions that packets name, a word each. A boot reads them once, through the decipher, into the
    /// decompressor's own memory.
    Dictionary,
    /// The tags of the sealed lines.
    Tags,
}

impl Entry {
    /// The first address behind it.
    pub fn end(&self) -> u64 {
        u64::from(self.first) + u64::from(self.bytes)
    }
}

/// A piece of memory without its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// First address: that of a line, when sealed.
    pub first: u32,
    /// The first address behind it.
    pub end: u64,
    /// Whether it is sealed.
    pub is_sealed: bool,
}

impl Extent {
    /// How long it is.
    pub fn bytes(&self) -> u64 {
        self.end - u64::from(self.first)
    }
}

/// Checks that nothing that is loaded and not sealed lies in a granule that a decipher is turned on for. Zeros are not
/// asked: they are not loaded, and whether memory that a program writes lies behind a decipher is its board's.
///
/// # Errors
/// [`SealError::SharedGranule`].
pub fn check_granules(entries: &[Entry], granule_bytes: u32) -> Result<(), SealError> {
    let granule = |address: u64| address / u64::from(granule_bytes);
    // Entries ascend, so the nearest ones are those that come after each other.
    for pair in entries.windows(2).filter(|pair| pair[0].is_sealed != pair[1].is_sealed) {
        if granule(pair[0].end() - 1) == granule(pair[1].first.into()) {
            let address = pair[1].first / granule_bytes * granule_bytes;
            let (lower, upper) = (pair[0].name.clone(), pair[1].name.clone());
            return Err(SealError::SharedGranule { address, granule_bytes, lower, upper });
        }
    }
    Ok(())
}

/// The pieces of memory in which sections lie that ascend and do not overlap.
///
/// # Errors
/// [`SealError::SharedLine`] when one that is sealed and one that is not have a line in common.
pub fn extents(entries: &[Entry]) -> Result<Vec<Extent>, SealError> {
    let mut extents: Vec<Extent> = Vec::new();
    let mut lower: Option<&Entry> = None;
    for entry in entries {
        let line_bytes = LINE_BYTES as u32;
        let extent = if entry.is_sealed {
            let first = entry.first / line_bytes * line_bytes;
            Extent { first, end: entry.end().next_multiple_of(line_bytes.into()), is_sealed: true }
        } else {
            Extent { first: entry.first, end: entry.end(), is_sealed: false }
        };
        match (extents.last_mut(), lower) {
            (Some(last), _) if last.is_sealed && entry.is_sealed && u64::from(extent.first) <= last.end => {
                last.end = extent.end;
            }
            (Some(last), Some(lower)) if u64::from(extent.first) < last.end => {
                let address = entry.first / line_bytes * line_bytes;
                let (lower, upper) = (lower.name.clone(), entry.name.clone());
                return Err(SealError::SharedLine { address, lower, upper });
            }
            _ => extents.push(extent),
        }
        lower = Some(entry);
    }
    Ok(extents)
}
