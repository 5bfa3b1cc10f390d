//! A linked program as packing needs it: sections, functions, and what in it refers to code.
//!
//! Owns: reading the ELF files that a linker makes when it keeps its relocations (`-Wl,-q`), through the crate
//! `object`. Distances of branches are not here: they are read from the instructions. What of the code is reached, and
//! what may move, is `flow`'s. Sections of other machines that are only sealed are not this file's.
//!
//! Two labels of one section are subtracted by the assembler, which leaves no relocation: tables of such differences
//! (`-fpic`) are not seen. A program that reads its own address, as such code does, is refused by `flow`.
//!
//! Invariant: [`Program::parse`] returns on every input; it never panics.

use std::collections::HashMap;

use object::elf;
use object::read::elf::{ElfFile32, FileHeader, SectionHeader};
use object::{
    Endianness, Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, SymbolIndex,
    SymbolKind,
};

use crate::error::Error;
use crate::image::{Kind, Section, Zeros};
use crate::limits::{CODE_BYTES_MAX, NAMES_BYTES_MAX, PROGRAM_BYTES_MAX};
use crate::target::Target;

/// A function, as its symbol says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Its address.
    pub first: u32,
    /// Its length in bytes.
    pub bytes: u32,
}

/// Which part of an address stands where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// All of it, in four bytes.
    Word,
    /// Bits 31 to 10, in an instruction's bits 21 to 0.
    High22,
    /// Bits 9 to 0, in an instruction's bits 9 to 0.
    Low10,
    /// The distance of a call or a branch.
    Distance,
}

/// Something that says where code is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Where it stands.
    pub at: u32,
    /// Which part of the address it is.
    pub form: Form,
    /// The address that it refers to.
    pub to: u32,
}

/// A linked program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its instruction set.
    pub target: Target,
    /// Where it begins.
    pub entry: u32,
    /// What is loaded, by ascending address, without overlaps.
    pub sections: Vec<Section>,
    /// What is zero at the start, by ascending address.
    pub zeros: Vec<Zeros>,
    /// Its functions, by ascending address, those of one address by name.
    pub functions: Vec<Function>,
    /// What refers to code, by ascending place.
    pub references: Vec<Reference>,
    /// Whether the file has the relocations of its link. Without them nothing says which words are addresses.
    pub relocated: bool,
}

type File<'data> = ElfFile32<'data, Endianness>;

impl Program {
    /// Reads an ELF file.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<Program, Error> {
        let file = File::parse(bytes).map_err(unreadable)?;
        let (header, endian) = (file.elf_header(), file.endian());
        let machine = header.e_machine(endian);
        if machine != elf::EM_SPARC || endian != Endianness::Big {
            return Err(Error::Machine { found: machine.0 });
        }
        let kind = header.e_type(endian);
        if kind != elf::ET_EXEC {
            return Err(Error::NotLinked { found: kind.0 });
        }
        let (sections, zeros) = read_sections(&file)?;
        let mut program = Program {
            target: Target::Sparc,
            entry: header.e_entry(endian),
            sections,
            zeros,
            functions: functions(&file)?,
            references: Vec::new(),
            relocated: false,
        };
        program.check_code()?;
        program.read_relocations(&file)?;
        Ok(program)
    }

    /// The sections of instructions.
    pub fn code(&self) -> impl Iterator<Item = &Section> {
        self.sections.iter().filter(|section| section.kind == Kind::Code)
    }

    /// The section of instructions that an address is in.
    pub fn code_at(&self, address: u32) -> Option<&Section> {
        self.code().find(|section| section.contains(address))
    }

    /// The word at an address of code.
    pub fn word_at(&self, address: u32) -> Option<u32> {
        self.code_at(address)?.word(self.target, address)
    }

    fn check_code(&self) -> Result<(), Error> {
        let mut code_bytes = 0;
        for section in self.code() {
            let bytes = section.bytes.len() as u64;
            if !section.first.is_multiple_of(4) || !bytes.is_multiple_of(4) {
                return Err(Error::Unaligned { section: section.name.clone(), first: section.first, bytes });
            }
            code_bytes += bytes;
        }
        if code_bytes == 0 {
            return Err(Error::NoCode);
        }
        if code_bytes > CODE_BYTES_MAX {
            return Err(Error::TooLarge { found_bytes: code_bytes, limit_bytes: CODE_BYTES_MAX });
        }
        if !self.entry.is_multiple_of(4) || self.code_at(self.entry).is_none() {
            return Err(Error::Entry { found: self.entry });
        }
        Ok(())
    }

    /// Keeps what refers to code; what refers to data stays true, since data does not move.
    fn read_relocations(&mut self, file: &File<'_>) -> Result<(), Error> {
        let values: HashMap<SymbolIndex, u32> =
            file.symbols().map(|symbol| (symbol.index(), symbol.address() as u32)).collect();
        for section in file.sections() {
            let Ok(index) = self.sections.binary_search_by_key(&(section.address() as u32), |s| s.first)
            else {
                continue;
            };
            for (at, relocation) in section.relocations() {
                self.relocated = true;
                let RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
                let symbol = match relocation.target() {
                    RelocationTarget::Symbol(symbol) => values.get(&symbol).copied().unwrap_or(0),
                    _ => 0,
                };
                let to = symbol.wrapping_add(relocation.addend() as u32);
                if self.code_at(to).is_none() {
                    continue;
                }
                let at = at as u32;
                if let Some(form) = form(r_type, at, to)? {
                    check_value(&self.sections[index], self.target, Reference { at, form, to })?;
                    self.references.push(Reference { at, form, to });
                }
            }
        }
        self.references.sort_unstable_by_key(|reference| reference.at);
        Ok(())
    }
}

impl Section {
    /// Whether it has something at an address.
    pub fn contains(&self, address: u32) -> bool {
        address.checked_sub(self.first).is_some_and(|at| (at as usize) < self.bytes.len())
    }

    /// The word at an address.
    pub fn word(&self, target: Target, address: u32) -> Option<u32> {
        let at = address.checked_sub(self.first)? as usize;
        let bytes = self.bytes.get(at..at.checked_add(4)?)?;
        Some(target.word(bytes.try_into().ok()?))
    }

    /// Changes the word at an address.
    ///
    /// # Panics
    /// When the section has no such word.
    pub fn set_word(&mut self, target: Target, address: u32, word: u32) {
        let at = (address - self.first) as usize;
        self.bytes[at..at + 4].copy_from_slice(&target.bytes(word));
    }
}

/// What a relocation of SPARC leaves where it stands; `None` when it says nothing about the place of code.
fn form(r_type: elf::RelocationType, at: u32, to: u32) -> Result<Option<Form>, Error> {
    Ok(match r_type {
        elf::R_SPARC_NONE => None,
        elf::R_SPARC_32 | elf::R_SPARC_UA32 => Some(Form::Word),
        elf::R_SPARC_HI22 => Some(Form::High22),
        elf::R_SPARC_LO10 => Some(Form::Low10),
        elf::R_SPARC_WDISP30 | elf::R_SPARC_WPLT30 | elf::R_SPARC_WDISP22 => Some(Form::Distance),
        _ => return Err(Error::Relocation { at, found: r_type.0, to }),
    })
}

/// Checks that the linker's value stands where the relocation says.
fn check_value(section: &Section, target: Target, reference: Reference) -> Result<(), Error> {
    let Reference { at, form, to } = reference;
    let why = format!("a relocation changes {at:#010x}, outside of section `{}`", section.name);
    let word = section.word(target, at).ok_or(Error::Elf { why })?;
    let (found, expected) = match form {
        Form::Word => (word, to),
        Form::High22 => (word & 0x3f_ffff, to >> 10),
        Form::Low10 => (word & 0x3ff, to & 0x3ff),
        Form::Distance if word >> 30 == 1 => (at.wrapping_add(word << 2), to),
        Form::Distance => (at.wrapping_add(((word << 10) as i32 >> 8) as u32), to),
    };
    if found == expected { Ok(()) } else { Err(Error::Changed { at, found, expected }) }
}

fn read_sections(file: &File<'_>) -> Result<(Vec<Section>, Vec<Zeros>), Error> {
    let endian = file.endian();
    let (mut sections, mut zeros) = (Vec::new(), Vec::new());
    let mut found_bytes = 0;
    for section in file.sections() {
        let header = section.elf_section_header();
        let flags = header.sh_flags(endian).0;
        let (first, bytes) = (header.sh_addr(endian), u64::from(header.sh_size(endian)));
        if flags & elf::SHF_ALLOC.0 == 0 || bytes == 0 {
            continue;
        }
        let name = String::from_utf8_lossy(section.name_bytes().map_err(unreadable)?).into_owned();
        found_bytes += bytes;
        if found_bytes > PROGRAM_BYTES_MAX {
            return Err(Error::TooLarge { found_bytes, limit_bytes: PROGRAM_BYTES_MAX });
        }
        let (written, executed) = (flags & elf::SHF_WRITE.0 != 0, flags & elf::SHF_EXECINSTR.0 != 0);
        if written && executed {
            return Err(Error::Writable { section: name });
        }
        if header.sh_type(endian) == elf::SHT_NOBITS {
            zeros.push(Zeros { first, bytes: bytes as u32 });
            continue;
        }
        let kind = match (executed, written) {
            (true, _) => Kind::Code,
            (_, true) => Kind::Data,
            _ => Kind::Constants,
        };
        let bytes = section.data().map_err(unreadable)?.to_vec();
        sections.push(Section { name, kind, first, bytes });
    }
    sections.sort_by_key(|section| section.first);
    zeros.sort_by_key(|zeros| zeros.first);
    check_apart(&sections, &zeros)?;
    Ok((sections, zeros))
}

fn check_apart(sections: &[Section], zeros: &[Zeros]) -> Result<(), Error> {
    let mut ranges: Vec<(u64, u64, &str)> =
        sections.iter().map(|s| (s.first.into(), s.bytes.len() as u64, s.name.as_str())).collect();
    ranges.extend(zeros.iter().map(|zeros| (zeros.first.into(), zeros.bytes.into(), ".bss")));
    ranges.sort_unstable();
    let mut end = 0;
    for (first, bytes, name) in ranges {
        if first < end || first + bytes > 1 << 32 {
            return Err(Error::Overlap { section: name.into(), first: first as u32 });
        }
        end = first + bytes;
    }
    Ok(())
}

fn functions(file: &File<'_>) -> Result<Vec<Function>, Error> {
    let (mut found, mut names_bytes) = (Vec::new(), 0);
    let wanted = file.symbols().filter(|symbol| symbol.is_definition() && symbol.kind() == SymbolKind::Text);
    for symbol in wanted {
        let (Ok(name), Ok(first), Ok(bytes)) =
            (symbol.name(), u32::try_from(symbol.address()), u32::try_from(symbol.size()))
        else {
            continue;
        };
        // A long name may be that of every symbol.
        names_bytes += name.len();
        if names_bytes > NAMES_BYTES_MAX {
            let why = format!("its functions have more than {NAMES_BYTES_MAX} bytes of names");
            return Err(Error::Elf { why });
        }
        if first.is_multiple_of(4) && !name.is_empty() {
            found.push(Function { name: name.to_owned(), first, bytes });
        }
    }
    found.sort_by(|a, b| (a.first, &a.name).cmp(&(b.first, &b.name)));
    Ok(found)
}

fn unreadable(error: object::read::Error) -> Error {
    Error::Elf { why: error.to_string() }
}
