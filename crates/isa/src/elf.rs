//! A linked program for a 32-bit processor: its segments, its symbols, and where its instructions are.
//!
//! Owns: reading the ELF files that a linker makes (through the crate `object`), and which of them are for which
//! processor. Program headers say what is loaded; sections that are marked executable say what of it is instructions,
//! since constants lie behind them in the same segment. Where a program runs is for the room of its processor.
//! Invariant: [`Image::parse`] returns on every input; it never panics.

use object::elf;
use object::read::elf::{ElfFile32, FileHeader, ProgramHeader, SectionHeader};
use object::{Endianness, Object, ObjectSymbol, SymbolKind};

use crate::error::ImageError;
use crate::limits::{CODE_BYTES_MAX, IMAGE_BYTES_MAX, NAMES_BYTES_MAX};
use crate::region::Region;

/// `e_machine` of SPARC V8.
pub const SPARC: u16 = elf::EM_SPARC.0;
/// `e_machine` of RISC-V.
pub const RISCV: u16 = elf::EM_RISCV.0;

/// How bytes are a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The most significant one first.
    Big,
    /// The least significant one first.
    Little,
}

impl Order {
    /// A word's bytes.
    pub const fn word(self, word: u32) -> [u8; 4] {
        match self {
            Order::Big => word.to_be_bytes(),
            Order::Little => word.to_le_bytes(),
        }
    }

    const fn of(machine: u16) -> Order {
        if machine == SPARC { Order::Big } else { Order::Little }
    }
}

/// In `e_flags` of RISC-V: compressed instructions, floating-point arguments, and the half of the registers.
const RVC: u32 = elf::EF_RISCV_RVC.0;
const FLOAT_ABI: u32 = elf::EF_RISCV_FLOAT_ABI;
const RVE: u32 = elf::EF_RISCV_RVE.0;

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

/// A linked program for the processor whose `e_machine` this is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image<const MACHINE: u16> {
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

impl<const MACHINE: u16> Image<MACHINE> {
    /// Reads an ELF file.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<Self, ImageError> {
        let file = ElfFile32::<Endianness>::parse(bytes).map_err(unreadable)?;
        let (header, endian) = (file.elf_header(), file.endian());
        let (found, order) = (header.e_machine(endian).0, Order::of(MACHINE));
        if found != MACHINE || (endian == Endianness::Big) != (order == Order::Big) {
            return Err(ImageError::Machine { found, expected: MACHINE });
        }
        let flags = header.e_flags(endian).0;
        if MACHINE == RISCV && flags & (RVC | FLOAT_ABI | RVE) != 0 {
            return Err(ImageError::Extensions { found: flags });
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
            symbols: symbols(&file)?,
        };
        let mut loaded: Vec<_> = file
            .elf_program_headers()
            .iter()
            .filter(|header| header.p_type(endian) == elf::PT_LOAD && header.p_memsz(endian) > 0)
            .collect();
        loaded.sort_by_key(|header| header.p_vaddr(endian));
        // Before memory is made for any of them.
        check_apart(loaded.iter().map(|header| (header.p_vaddr(endian), header.p_memsz(endian).into())))?;
        let found_bytes = loaded.iter().map(|header| u64::from(header.p_memsz(endian))).sum();
        if found_bytes > IMAGE_BYTES_MAX {
            return Err(ImageError::TooLarge { found_bytes, limit_bytes: IMAGE_BYTES_MAX });
        }
        for header in &loaded {
            image.segments.push(segment(header, endian, bytes)?);
        }
        let executable: Vec<(u32, u32)> = loaded
            .iter()
            .filter(|header| header.p_flags(endian).0 & elf::PF_X.0 != 0)
            .map(|header| (header.p_vaddr(endian), header.p_filesz(endian)))
            .collect();
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
        if bytes > CODE_BYTES_MAX {
            return Err(ImageError::TooLarge { found_bytes: bytes, limit_bytes: CODE_BYTES_MAX });
        }
        // What is behind an instruction has an address, too.
        if end > u64::from(u32::MAX) {
            return Err(ImageError::Outside { first, bytes, limit: u32::MAX.into() });
        }
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

/// Checks that ranges, each an address and a length in bytes, end with memory and share nothing.
///
/// # Errors
/// Memory's end, or what two of them have.
pub fn check_apart(ranges: impl Iterator<Item = (u32, u64)>) -> Result<(), ImageError> {
    let mut ranges: Vec<(u32, u64)> = ranges.collect();
    ranges.sort_unstable();
    if let Some(&(first, bytes)) = ranges.iter().find(|(first, bytes)| u64::from(*first) + bytes > 1 << 32) {
        return Err(ImageError::Outside { first, bytes, limit: 1 << 32 });
    }
    for pair in ranges.windows(2) {
        if u64::from(pair[0].0) + pair[0].1 > u64::from(pair[1].0) {
            return Err(ImageError::Overlap { address: pair[1].0 });
        }
    }
    Ok(())
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
    if data.len() > bytes as usize {
        return Err(ImageError::Elf { why: "a segment is longer in the file than in memory".into() });
    }
    // Zeros that nobody touches are never made.
    let mut loaded = vec![0; bytes as usize];
    loaded[..data.len()].copy_from_slice(data);
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
fn symbols(file: &ElfFile32<'_, Endianness>) -> Result<Vec<Symbol>, ImageError> {
    let wanted = file.symbols().filter(|symbol| symbol.is_definition() || symbol.kind() == SymbolKind::Label);
    let (mut found, mut names_bytes) = (Vec::new(), 0);
    for symbol in wanted {
        let (Ok(name), Ok(address), Ok(bytes)) =
            (symbol.name(), u32::try_from(symbol.address()), u32::try_from(symbol.size()))
        else {
            continue;
        };
        // A long name may be that of every symbol.
        names_bytes += name.len();
        if names_bytes > NAMES_BYTES_MAX {
            let why = format!("its symbols have more than {NAMES_BYTES_MAX} bytes of names");
            return Err(ImageError::Elf { why });
        }
        if !name.is_empty() {
            let function = symbol.kind() == SymbolKind::Text && bytes > 0;
            found.push(Symbol { name: name.to_owned(), address, bytes, function });
        }
    }
    found.sort_by(|a, b| (a.address, &a.name).cmp(&(b.address, &b.name)));
    Ok(found)
}
