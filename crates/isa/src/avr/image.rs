//! A linked AVR program: what of it goes into flash and EEPROM, and its symbols.
//!
//! Owns: reading the ELF files that avr-gcc links (through the crate `object`). Of what is loaded, sections are not looked at: the
//! program headers say what is loaded, and their physical addresses say where (.data lies in flash behind the
//! code). Fuses, lock bits and signature (0x820000 up) are the programmer's business and skipped.
//! Invariant: [`Image::parse`] returns on every input; it never panics.

use object::elf;
use object::read::elf::{ElfFile32, FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, SymbolKind};

use super::error::ImageError;

/// Where avr-gcc's linker scripts put the data space.
const DATA_FIRST: u32 = 0x80_0000;
/// Where they put the EEPROM.
const EEPROM_FIRST: u32 = 0x81_0000;
/// Where they put fuses, and behind them lock bits and signature.
const FUSES_FIRST: u32 = 0x82_0000;
/// The most EEPROM a program can be linked for.
const EEPROM_BYTES_MAX: u32 = FUSES_FIRST - EEPROM_FIRST;
/// The part of `e_flags` that holds the architecture (`EF_AVR_MACH`).
const FLAGS_ARCHITECTURE: u32 = 0x7f;

/// Bytes with a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// First address in its memory, in bytes.
    pub address: u32,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// The memory that a symbol's address counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Flash, in bytes.
    Flash,
    /// Data space.
    Data,
    /// EEPROM.
    Eeprom,
}

/// A name in the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// The name.
    pub name: String,
    /// Its memory.
    pub space: Space,
    /// Its first address in that memory, in bytes.
    pub address: u32,
    /// Its length in bytes, 0 when the linker was not told.
    pub bytes: u32,
    /// Whether it is a function.
    pub function: bool,
}

/// A linked program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The architecture it was linked for, as avr-gcc numbers them: 5 for avr5, 51 for avr51.
    pub architecture: u8,
    /// Byte address in flash where it says it begins. (A chip begins at its reset vector.)
    pub entry: u32,
    /// What goes into flash, by ascending address, without overlaps.
    pub flash: Vec<Segment>,
    /// What goes into EEPROM, by ascending address, without overlaps.
    pub eeprom: Vec<Segment>,
    /// Its symbols, by ascending space and address.
    pub symbols: Vec<Symbol>,
}

impl Image {
    /// Reads an ELF file.
    pub fn parse(bytes: &[u8]) -> Result<Image, ImageError> {
        let file = ElfFile32::<Endianness>::parse(bytes).map_err(unreadable)?;
        let (header, endian) = (file.elf_header(), file.endian());
        let machine = header.e_machine(endian);
        if machine != elf::EM_AVR || endian != Endianness::Little {
            return Err(ImageError::Machine { found: machine.0 });
        }
        let kind = header.e_type(endian);
        if kind != elf::ET_EXEC {
            return Err(ImageError::NotLinked { found: kind.0 });
        }
        let mut image = Image {
            architecture: (header.e_flags(endian).0 & FLAGS_ARCHITECTURE) as u8,
            entry: header.e_entry(endian),
            flash: Vec::new(),
            eeprom: Vec::new(),
            symbols: symbols(&file),
        };
        for program_header in file.elf_program_headers() {
            if program_header.p_type(endian) == elf::PT_LOAD {
                let data = program_header.data(endian, bytes).map_err(|()| ImageError::Elf {
                    why: "a segment lies past the end of the file".into(),
                })?;
                image.place(program_header.p_paddr(endian), data)?;
            }
        }
        if image.flash.is_empty() {
            return Err(ImageError::Empty);
        }
        sort(&mut image.flash)?;
        sort(&mut image.eeprom)?;
        Ok(image)
    }

    /// A program without ELF: bytes that begin at flash address 0.
    pub fn from_flash(architecture: u8, bytes: Vec<u8>) -> Image {
        let flash = vec![Segment { address: 0, bytes }];
        Image { architecture, entry: 0, flash, eeprom: Vec::new(), symbols: Vec::new() }
    }

    /// The symbol of that name.
    pub fn symbol(&self, name: &str) -> Option<&Symbol> {
        self.symbols.iter().find(|symbol| symbol.name == name)
    }

    /// Puts one segment where its load address says.
    fn place(&mut self, address: u32, data: &[u8]) -> Result<(), ImageError> {
        if data.is_empty() {
            return Ok(()); // .bss and .noinit: memory without content
        }
        let segment = |address| Segment { address, bytes: data.to_vec() };
        let bytes = data.len() as u64;
        match address {
            ..DATA_FIRST => {
                outside("flash", address, bytes, DATA_FIRST)?;
                self.flash.push(segment(address));
            }
            DATA_FIRST..EEPROM_FIRST => return Err(ImageError::Unloadable { found: address }),
            EEPROM_FIRST..FUSES_FIRST => {
                let address = address - EEPROM_FIRST;
                outside("EEPROM", address, bytes, EEPROM_BYTES_MAX)?;
                self.eeprom.push(segment(address));
            }
            FUSES_FIRST.. => {}
        }
        Ok(())
    }
}

/// What a section of an ELF file holds that is not loaded, by its name; nothing where there is none.
///
/// # Errors
/// A file that is no ELF, or whose section lies past its end.
pub fn section<'elf>(bytes: &'elf [u8], name: &str) -> Result<&'elf [u8], ImageError> {
    let file = ElfFile32::<Endianness>::parse(bytes).map_err(unreadable)?;
    file.section_by_name(name).map_or(Ok(&[][..]), |section| section.data()).map_err(unreadable)
}

/// Checks that a segment lies in its memory.
pub(super) fn outside(memory: &'static str, first: u32, bytes: u64, limit: u32) -> Result<(), ImageError> {
    let (first, limit_bytes) = (u64::from(first), u64::from(limit));
    if first + bytes > limit_bytes {
        return Err(ImageError::Outside { memory, first, bytes, limit_bytes });
    }
    Ok(())
}

fn unreadable(error: object::read::Error) -> ImageError {
    ImageError::Elf { why: error.to_string() }
}

fn sort(segments: &mut [Segment]) -> Result<(), ImageError> {
    segments.sort_by_key(|segment| segment.address);
    for pair in segments.windows(2) {
        if u64::from(pair[0].address) + pair[0].bytes.len() as u64 > u64::from(pair[1].address) {
            return Err(ImageError::Overlap { address: pair[1].address });
        }
    }
    Ok(())
}

/// Names that denote an address in one of the memories; files, sections and constants are left out.
fn symbols(file: &ElfFile32<'_, Endianness>) -> Vec<Symbol> {
    let mut found: Vec<Symbol> = file
        .symbols()
        .filter(|symbol| symbol.is_definition() || symbol.kind() == SymbolKind::Label)
        .filter_map(|symbol| {
            let name = symbol.name().ok().filter(|name| !name.is_empty())?.to_owned();
            let address = u32::try_from(symbol.address()).ok()?;
            let (space, address) = match address {
                ..DATA_FIRST => (Space::Flash, address),
                DATA_FIRST..EEPROM_FIRST => (Space::Data, address - DATA_FIRST),
                EEPROM_FIRST..FUSES_FIRST => (Space::Eeprom, address - EEPROM_FIRST),
                FUSES_FIRST.. => return None,
            };
            let bytes = u32::try_from(symbol.size()).ok()?;
            Some(Symbol {
                name,
                space,
                address,
                bytes,
                function: symbol.kind() == SymbolKind::Text && bytes > 0,
            })
        })
        .collect();
    found.sort_by(|a, b| (a.space as u8, a.address, &a.name).cmp(&(b.space as u8, b.address, &b.name)));
    found
}
