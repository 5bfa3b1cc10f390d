//! A linked program as packing needs it: sections, functions, and what in it refers to code.
//!
//! Owns: reading the ELF files that a linker makes when it keeps its relocations (`-Wl,-q`), through the crate
//! `object`. Distances of branches are not here: they are read from the instructions. What of the code is reached, and
//! what may move, is `flow`'s. Sections of other machines that are only sealed are not this file's.
//!
//! Which relocations an instruction set has, and how they share an address among instructions, is `program/`'s, a file
//! each. Two labels of one section are subtracted by the assembler of SPARC, which leaves no relocation: tables of such
//! differences (`-fpic`) are not seen. A program that reads its own address, as such code does, is refused by `flow`.
//!
//! Invariant: [`Program::parse`] returns on every input; it never panics.

use std::collections::HashMap;

use object::elf;
use object::read::elf::{ElfFile32, FileHeader, ProgramHeader, SectionHeader};
use object::{
    Endianness, Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, SymbolIndex,
    SymbolKind,
};

use crate::error::Error;
use crate::image::{Kind, Section, Zeros};
use crate::limits::{CODE_BYTES_MAX, NAMES_BYTES_MAX, PROGRAM_BYTES_MAX};
use crate::target::Target;

mod rv32;
mod sparc;

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
    /// How far it is from another one, in four bytes.
    Difference {
        /// The other one.
        from: u32,
    },
    /// SPARC: bits 31 to 10, in an instruction's bits 21 to 0.
    High22,
    /// SPARC: bits 9 to 0, in an instruction's bits 9 to 0.
    Low10,
    /// RV32: bits 31 to 12, in an instruction's bits 31 to 12, one more where the low part is negative.
    High20,
    /// RV32: bits 11 to 0, which are a number with a sign, in an instruction's bits 31 to 20.
    Low12,
    /// RV32: the same, in bits 31 to 25 and 11 to 7.
    Low12Stored,
    /// The distance of a call or a branch.
    Distance,
}

impl Form {
    /// Whether a low part goes with it.
    pub fn is_high(self) -> bool {
        matches!(self, Form::High22 | Form::High20)
    }

    /// Whether a high part goes with it.
    pub fn is_low(self) -> bool {
        matches!(self, Form::Low10 | Form::Low12 | Form::Low12Stored)
    }

    /// Whether a word is an instruction that has such a part: in another one the same bits are something else.
    fn is_of(self, target: Target, word: u32) -> bool {
        match (target, self) {
            (_, Form::Word | Form::Difference { .. }) => true,
            (Target::Sparc, _) => sparc::has_part(self, word),
            (Target::Rv32, _) => rv32::has_part(self, word),
        }
    }

    /// A word that has this part of an address, where it stands at a place; `None` where a branch has no room for it.
    pub fn patch(self, target: Target, word: u32, at: u32, to: u32) -> Option<u32> {
        let distance_words = to.wrapping_sub(at & !3) as i32 >> 2;
        Some(match self {
            Form::Word => to,
            Form::Difference { from } => to.wrapping_sub(from),
            Form::High22 => word & !0x3f_ffff | to >> 10,
            Form::Low10 => word & !0x3ff | to & 0x3ff,
            Form::High20 => word & 0xfff | target.high(to),
            Form::Low12 => word & 0xf_ffff | to << 20,
            Form::Low12Stored => word & !0xfe00_0f80 | (to >> 5 & 0x7f) << 25 | (to & 0x1f) << 7,
            Form::Distance => match target {
                Target::Sparc if word >> 30 == 1 => 1 << 30 | distance_words as u32 & 0x3fff_ffff,
                Target::Sparc => word & !0x3f_ffff | distance_words as u32 & 0x3f_ffff,
                Target::Rv32 => target.with_distance(word, distance_words)?,
            },
        })
    }
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

impl Reference {
    /// The addresses that it says something about.
    pub fn addresses(&self) -> impl Iterator<Item = u32> {
        let from = if let Form::Difference { from } = self.form { Some(from) } else { None };
        [self.to].into_iter().chain(from)
    }
}

/// A relocation as the file has it.
struct Relocation {
    /// What it changes, and the number of its section in [`Program::sections`].
    at: u32,
    section: usize,
    r_type: elf::RelocationType,
    /// The symbol's value and what is added to it.
    to: u32,
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
        let target = match (machine, endian) {
            (elf::EM_SPARC, Endianness::Big) => Target::Sparc,
            (elf::EM_RISCV, Endianness::Little) => Target::Rv32,
            _ => return Err(Error::Machine { found: machine.0 }),
        };
        let flags = header.e_flags(endian).0;
        if target == Target::Rv32 && flags & rv32::EXTENSIONS != 0 {
            return Err(Error::Extensions { found: flags });
        }
        let kind = header.e_type(endian);
        if kind != elf::ET_EXEC {
            return Err(Error::NotLinked { found: kind.0 });
        }
        let (sections, zeros) = read_sections(&file)?;
        let mut program = Program {
            target,
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
        let mut relocations = Vec::new();
        for section in file.sections() {
            let loaded = section.elf_section_header().sh_flags(file.endian()).0 & elf::SHF_ALLOC.0 != 0;
            let index = self.sections.binary_search_by_key(&(section.address() as u32), |s| s.first);
            let Some(index) = index.ok().filter(|_| loaded) else { continue };
            for (at, relocation) in section.relocations() {
                self.relocated = true;
                let RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
                let symbol = match relocation.target() {
                    RelocationTarget::Symbol(symbol) => values.get(&symbol).copied().unwrap_or(0),
                    _ => 0,
                };
                let to = symbol.wrapping_add(relocation.addend() as u32);
                relocations.push(Relocation { at: at as u32, section: index, r_type, to });
            }
        }
        match self.target {
            Target::Sparc => sparc::read(self, &relocations)?,
            Target::Rv32 => rv32::read(self, &relocations)?,
        }
        self.references.sort_unstable_by_key(|reference| reference.at);
        Ok(())
    }

    /// Keeps a reference if it says something about code, in a word that a relocation is for.
    ///
    /// # Errors
    /// The word is no instruction that has such a part.
    fn refer(&mut self, relocation: &Relocation, form: Form, to: u32) -> Result<(), Error> {
        let reference = Reference { at: relocation.at, form, to };
        if reference.addresses().any(|address| self.code_at(address).is_some()) {
            self.check_part(relocation, form)?;
            self.references.push(reference);
        }
        Ok(())
    }

    /// Checks that what a relocation changes has such a part.
    fn check_part(&self, relocation: &Relocation, form: Form) -> Result<(), Error> {
        let &Relocation { at, r_type, .. } = relocation;
        let found = self.relocated_word(relocation, at)?;
        let has_it = form.is_of(self.target, found);
        if has_it { Ok(()) } else { Err(Error::Unrelocatable { at, r_type: r_type.0, found }) }
    }

    /// The word that a relocation is for.
    fn relocated_word(&self, relocation: &Relocation, at: u32) -> Result<u32, Error> {
        let section = &self.sections[relocation.section];
        section.word(self.target, at).ok_or_else(|| Error::Elf {
            why: format!("a relocation changes {at:#010x}, outside of section `{}`", section.name),
        })
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
        let executed = flags & elf::SHF_EXECINSTR.0 != 0;
        let written = flags & elf::SHF_WRITE.0 != 0 && may_write(file, first);
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

/// Whether a program may store at an address: constants may be in a section with what was once written, and are not
/// written where their segment says so.
fn may_write(file: &File<'_>, address: u32) -> bool {
    let endian = file.endian();
    let loads = |header: &&elf::ProgramHeader32<Endianness>| {
        let inside =
            address.checked_sub(header.p_vaddr(endian)).is_some_and(|at| at < header.p_memsz(endian));
        header.p_type(endian) == elf::PT_LOAD && inside
    };
    let segment = file.elf_program_headers().iter().find(loads);
    segment.is_none_or(|header| header.p_flags(endian).0 & elf::PF_W.0 != 0)
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
