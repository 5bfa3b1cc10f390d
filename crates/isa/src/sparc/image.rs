//! A linked SPARC program: its segments, its symbols, and where its instructions are.
//!
//! Owns: reading the ELF files that a linker makes (through the crate `object`). Program headers say what is loaded;
//! sections that are marked executable say what of it is instructions, since constants lie behind them in the same
//! segment. Where a program runs is the environments'.
//! Invariant: [`Image::parse`] returns on every input; it never panics.

use object::elf;
use object::read::elf::{ElfFile32, FileHeader, ProgramHeader, SectionHeader};
use object::{Endianness, Object, ObjectSymbol, SymbolKind};

use super::error::ImageError;
use super::memory::Region;

/// What is loaded at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// First address.
    pub first: u32,
    /// Its bytes, those that the file leaves out as zeros included.
    pub bytes: Vec<u8>,
    /// Whether a program may store to it.
    pub writable: bool,
}

/// A name in the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// The name.
    pub name: String,
    /// Its address.
    pub address: u32,
    /// Its length in bytes, 0 when the linker was not told.
    pub bytes: u32,
    /// Whether it is a function.
    pub function: bool,
}

/// A linked program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Where it says it begins.
    pub entry: u32,
    /// What is loaded, by ascending address, without overlaps.
    pub segments: Vec<Segment>,
    /// The first address of its instructions.
    pub code_first: u32,
    /// From the first to the last of its instructions.
    pub code_bytes: u32,
    /// Its symbols, by ascending address.
    pub symbols: Vec<Symbol>,
}

/// The most that a program may be loaded into, in bytes: what no file of ours comes near.
pub const SEGMENT_BYTES_MAX: u32 = 1 << 28;

impl Image {
    /// Reads an ELF file.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<Image, ImageError> {
        let file = ElfFile32::<Endianness>::parse(bytes).map_err(unreadable)?;
        let (header, endian) = (file.elf_header(), file.endian());
        let machine = header.e_machine(endian);
        if machine != elf::EM_SPARC || endian != Endianness::Big {
            return Err(ImageError::Machine { found: machine.0 });
        }
        let kind = header.e_type(endian);
        if kind != elf::ET_EXEC {
            return Err(ImageError::NotLinked { found: kind.0 });
        }
        let mut image = Image {
            entry: header.e_entry(endian),
            segments: Vec::new(),
            code_first: 0,
            code_bytes: 0,
            symbols: symbols(&file),
        };
        let mut executable = Vec::new();
        for program_header in file.elf_program_headers() {
            if program_header.p_type(endian) != elf::PT_LOAD {
                continue;
            }
            let segment = segment(program_header, endian, bytes)?;
            if program_header.p_flags(endian).0 & elf::PF_X.0 != 0 && !segment.bytes.is_empty() {
                executable.push((segment.first, program_header.p_filesz(endian)));
            }
            image.segments.push(segment);
        }
        image.segments.retain(|segment| !segment.bytes.is_empty());
        image.segments.sort_by_key(|segment| segment.first);
        for pair in image.segments.windows(2) {
            if u64::from(pair[0].first) + pair[0].bytes.len() as u64 > u64::from(pair[1].first) {
                return Err(ImageError::Overlap { address: pair[1].first });
            }
        }
        let sections = code_sections(&file, endian);
        image.find_code(if sections.is_empty() { &executable } else { &sections })?;
        Ok(image)
    }

    /// Takes the range of the instructions from the pieces that are executable.
    fn find_code(&mut self, pieces: &[(u32, u32)]) -> Result<(), ImageError> {
        let pieces = pieces.iter().filter(|piece| piece.1 > 0);
        let first = pieces.clone().map(|piece| piece.0).min().ok_or(ImageError::Empty)?;
        let end =
            pieces.map(|piece| u64::from(piece.0) + u64::from(piece.1)).max().ok_or(ImageError::Empty)?;
        let bytes = end - u64::from(first);
        let inside = self.segments.iter().find(|segment| {
            first >= segment.first && end <= u64::from(segment.first) + segment.bytes.len() as u64
        });
        if inside.is_none() {
            return Err(ImageError::Outside { first, bytes, limit: u64::from(first) });
        }
        (self.code_first, self.code_bytes) = (first, bytes as u32);
        if !first.is_multiple_of(4) || !bytes.is_multiple_of(4) {
            return Err(ImageError::Unaligned { first, bytes: self.code_bytes });
        }
        let found = self.entry;
        if !found.is_multiple_of(4) || found < first || u64::from(found) >= end {
            return Err(ImageError::Entry { found });
        }
        Ok(())
    }

    /// The symbol of that name.
    pub fn symbol(&self, name: &str) -> Option<&Symbol> {
        self.symbols.iter().find(|symbol| symbol.name == name)
    }

    /// Its segments as memory, those that can be written first.
    pub fn regions(&self) -> Vec<Region> {
        let mut regions: Vec<Region> = self
            .segments
            .iter()
            .map(|segment| Region {
                first: segment.first,
                bytes: segment.bytes.clone(),
                writable: segment.writable,
            })
            .collect();
        regions.sort_by_key(|region| !region.writable);
        regions
    }
}

fn segment(
    header: &elf::ProgramHeader32<Endianness>,
    endian: Endianness,
    file: &[u8],
) -> Result<Segment, ImageError> {
    let data = header
        .data(endian, file)
        .map_err(|()| ImageError::Elf { why: "a segment lies past the end of the file".into() })?;
    let (first, bytes) = (header.p_vaddr(endian), header.p_memsz(endian));
    if u64::from(first) + u64::from(bytes) > 1 << 32 || bytes > SEGMENT_BYTES_MAX {
        let limit = (u64::from(first) + u64::from(SEGMENT_BYTES_MAX)).min(1 << 32);
        return Err(ImageError::Outside { first, bytes: bytes.into(), limit });
    }
    if data.len() > bytes as usize {
        return Err(ImageError::Elf { why: "a segment is longer in the file than in memory".into() });
    }
    let mut loaded = data.to_vec();
    loaded.resize(bytes as usize, 0);
    Ok(Segment { first, bytes: loaded, writable: header.p_flags(endian).0 & elf::PF_W.0 != 0 })
}

/// Address and length of the sections that are loaded and executed.
fn code_sections(file: &ElfFile32<'_, Endianness>, endian: Endianness) -> Vec<(u32, u32)> {
    let headers = file.elf_section_table().iter();
    let executed = headers.filter(|header| {
        let flags = header.sh_flags(endian).0;
        flags & elf::SHF_EXECINSTR.0 != 0 && flags & elf::SHF_ALLOC.0 != 0
    });
    executed.map(|header| (header.sh_addr(endian), header.sh_size(endian))).collect()
}

fn unreadable(error: object::read::Error) -> ImageError {
    ImageError::Elf { why: error.to_string() }
}

/// Names that denote an address; files, sections and constants are left out.
fn symbols(file: &ElfFile32<'_, Endianness>) -> Vec<Symbol> {
    let mut found: Vec<Symbol> = file
        .symbols()
        .filter(|symbol| symbol.is_definition() || symbol.kind() == SymbolKind::Label)
        .filter_map(|symbol| {
            Some(Symbol {
                name: symbol.name().ok().filter(|name| !name.is_empty())?.to_owned(),
                address: u32::try_from(symbol.address()).ok()?,
                bytes: u32::try_from(symbol.size()).ok()?,
                function: symbol.kind() == SymbolKind::Text && symbol.size() > 0,
            })
        })
        .collect();
    found.sort_by(|a, b| (a.address, &a.name).cmp(&(b.address, &b.name)));
    found
}
