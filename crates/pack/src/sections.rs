//! The plain reader of ELF files: what of a linked program lies in memory, for any machine, without disassembly.
//!
//! Owns: reading sections and their load addresses (through the crate `object`). Program headers say what is loaded and
//! where: at its *physical* address, which is where a memory-mapped decipher sees it. Initialisers of a firmware's
//! variables lie behind its code, and are copied elsewhere before `main`. What is zero at the start is given where it
//! is used. Section headers say what is code, constants and initialisers, and must agree with program headers on where
//! it is used; what of a segment is in no section, as headers and gaps, is left out and counted. A file without section
//! headers has a section for each segment. Which instructions there are is `program`'s.
//! Invariant: [`Sections::parse`] returns on every input; it never panics.

use object::Endianness;
use object::elf;
use object::read::elf::{ElfFile32, FileHeader, ProgramHeader, SectionHeader};

use crate::error::ElfError;
use crate::image::{Kind, Section, Zeros};
use crate::limits::{IMAGE_BYTES_MAX, NAME_BYTES_MAX, SECTIONS_MAX, ZEROS_MAX};
use crate::target::Target;

/// A processor, as an ELF file names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// `e_machine`: 2 is SPARC, 40 Arm, 243 RISC-V.
    pub number: u16,
    /// `e_flags`: which kind of it.
    pub flags: u32,
    /// Whether the first byte of a word is its highest.
    pub is_big_endian: bool,
}

/// What of a program lies in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sections {
    /// The processor that it is for.
    pub machine: Machine,
    /// Where it begins, as the file has it: on some processors not an address of an instruction.
    pub entry: u32,
    /// What is loaded, by ascending load address, without overlaps, none empty.
    pub sections: Vec<Section>,
    /// What is zero at the start, by ascending address, without overlaps, none empty.
    pub zeros: Vec<Zeros>,
}

impl Machine {
    /// The processor of an instruction set.
    pub const fn of(target: Target) -> Machine {
        match target {
            Target::Sparc => Machine { number: elf::EM_SPARC.0, flags: 0, is_big_endian: true },
            Target::Rv32 => Machine { number: elf::EM_RISCV.0, flags: 0, is_big_endian: false },
        }
    }

    /// Its instruction set; `None` when that is not one whose code can be packed.
    pub fn target(self) -> Option<Target> {
        let same = |target: &Target| {
            let machine = Machine::of(*target);
            (machine.number, machine.is_big_endian) == (self.number, self.is_big_endian)
        };
        [Target::Sparc, Target::Rv32].into_iter().find(same)
    }

    /// A word from memory.
    pub const fn word(self, bytes: [u8; 4]) -> u32 {
        if self.is_big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    /// A word for memory.
    pub const fn bytes(self, word: u32) -> [u8; 4] {
        if self.is_big_endian { word.to_be_bytes() } else { word.to_le_bytes() }
    }
}

impl Sections {
    /// Reads a linked 32-bit ELF file of any machine.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<Sections, ElfError> {
        Sections::parse_counting(bytes).map(|(sections, _)| sections)
    }

    /// As [`Sections::parse`], and how many bytes of its segments are in no section: they are loaded by others and not
    /// by who takes these sections.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse_counting(bytes: &[u8]) -> Result<(Sections, u64), ElfError> {
        if !bytes.starts_with(&elf::ELFMAG) {
            return Err(ElfError::NotElf { found_bytes: bytes.len() });
        }
        if bytes.get(4) == Some(&elf::ELFCLASS64.0) {
            return Err(ElfError::Class64);
        }
        let file = ElfFile32::<Endianness>::parse(bytes).map_err(unreadable)?;
        let (header, endian) = (file.elf_header(), file.endian());
        let kind = header.e_type(endian);
        if kind != elf::ET_EXEC {
            return Err(ElfError::NotLinked { found: kind.0 });
        }
        let loads = loads(&file)?;
        let (mut pieces, mut zeros) = if file.elf_section_table().is_empty() {
            of_segments(&loads)?
        } else {
            of_sections(&file, &loads)?
        };
        if pieces.is_empty() {
            return Err(ElfError::Empty);
        }
        pieces.sort_by_key(|piece| piece.first);
        zeros.sort_by_key(|zeros| zeros.first);
        // Before memory is made for any of them.
        check_apart(pieces.iter().map(|piece| (piece.first, piece.bytes.into())))?;
        check_apart(zeros.iter().map(|zeros| (zeros.first, zeros.bytes.into())))?;
        // Pieces share no memory, so those of a segment share none of its bytes.
        let loaded: u64 = loads.iter().map(|load| u64::from(load.file_bytes)).sum();
        let left_out = loaded - pieces.iter().map(|piece| u64::from(piece.bytes)).sum::<u64>();
        let sections = pieces.into_iter().map(|piece| piece.read(bytes)).collect::<Result<_, _>>()?;
        let machine = Machine {
            number: header.e_machine(endian).0,
            flags: header.e_flags(endian).0,
            is_big_endian: endian == Endianness::Big,
        };
        Ok((Sections { machine, entry: header.e_entry(endian), sections, zeros }, left_out))
    }
}

/// A segment that is loaded.
struct Load {
    /// Where its bytes are in the file.
    offset: u32,
    file_bytes: u32,
    /// Where it is used, and how much memory it takes there.
    virtual_first: u32,
    memory_bytes: u32,
    /// Where it is loaded.
    first: u32,
    is_writable: bool,
    is_executable: bool,
}

fn loads(file: &ElfFile32<'_, Endianness>) -> Result<Vec<Load>, ElfError> {
    let endian = file.endian();
    let headers = file.elf_program_headers().iter().filter(|header| header.p_type(endian) == elf::PT_LOAD);
    let mut loads: Vec<Load> = headers
        .map(|header| Load {
            offset: header.p_offset(endian),
            file_bytes: header.p_filesz(endian),
            virtual_first: header.p_vaddr(endian),
            memory_bytes: header.p_memsz(endian),
            first: header.p_paddr(endian),
            is_writable: header.p_flags(endian).contains(elf::PF_W),
            is_executable: header.p_flags(endian).contains(elf::PF_X),
        })
        .collect();
    if loads.len() > SECTIONS_MAX {
        return Err(ElfError::TooMany {
            what: "segments",
            found: loads.len() as u64,
            limit: SECTIONS_MAX as u64,
        });
    }
    // Linkers that know of no physical addresses leave them zero.
    if loads.iter().all(|load| load.first == 0) {
        loads.iter_mut().for_each(|load| load.first = load.virtual_first);
    }
    let found = loads.iter().map(|load| u64::from(load.file_bytes)).sum();
    if found > IMAGE_BYTES_MAX {
        return Err(ElfError::TooMany { what: "bytes to load", found, limit: IMAGE_BYTES_MAX });
    }
    if loads.iter().any(|load| load.file_bytes > load.memory_bytes) {
        return Err(ElfError::Elf { why: "a segment has more bytes in the file than in memory".into() });
    }
    Ok(loads)
}

/// A section whose bytes are not read yet.
struct Piece {
    name: String,
    kind: Kind,
    first: u32,
    offset: u32,
    bytes: u32,
}

impl Piece {
    fn read(self, file: &[u8]) -> Result<Section, ElfError> {
        let Piece { name, kind, first, offset, bytes } = self;
        let found = (offset as usize)
            .checked_add(bytes as usize)
            .and_then(|end| file.get(offset as usize..end))
            .ok_or_else(|| ElfError::Elf { why: format!("`{name}` lies past the end of the file") })?;
        Ok(Section { name, kind, first, bytes: found.to_vec() })
    }
}

/// What a section of each segment would say.
fn of_segments(loads: &[Load]) -> Result<(Vec<Piece>, Vec<Zeros>), ElfError> {
    let (mut pieces, mut zeros) = (Vec::new(), Vec::new());
    for (number, load) in loads.iter().enumerate() {
        let name = format!("segment {number}");
        if load.file_bytes > 0 {
            let kind = match (load.is_executable, load.is_writable) {
                (true, _) => Kind::Code,
                (false, true) => Kind::Data,
                (false, false) => Kind::Constants,
            };
            let (first, offset, bytes) = (load.first, load.offset, load.file_bytes);
            pieces.push(Piece { name, kind, first, offset, bytes });
        }
        if let Some(bytes @ 1..) = load.memory_bytes.checked_sub(load.file_bytes) {
            let first = load
                .virtual_first
                .checked_add(load.file_bytes)
                .ok_or(ElfError::Outside { first: load.virtual_first, bytes: load.memory_bytes.into() })?;
            zeros.push(Zeros { first, bytes });
        }
    }
    Ok((pieces, zeros))
}

/// What its sections say of what is loaded.
fn of_sections(
    file: &ElfFile32<'_, Endianness>,
    loads: &[Load],
) -> Result<(Vec<Piece>, Vec<Zeros>), ElfError> {
    let (endian, table) = (file.endian(), file.elf_section_table());
    let (mut pieces, mut zeros) = (Vec::new(), Vec::new());
    for header in table.iter() {
        let (flags, bytes) = (header.sh_flags(endian), header.sh_size(endian));
        if !flags.contains(elf::SHF_ALLOC) || bytes == 0 {
            continue;
        }
        if header.sh_type(endian) == elf::SHT_NOBITS {
            // A thread's own zeros are made with the thread.
            if !flags.contains(elf::SHF_TLS) {
                zeros.push(Zeros { first: header.sh_addr(endian), bytes });
            }
            continue;
        }
        let offset = header.sh_offset(endian);
        let end = u64::from(offset) + u64::from(bytes);
        let holds = |load: &&Load| {
            offset >= load.offset && end <= u64::from(load.offset) + u64::from(load.file_bytes)
        };
        let name = table.section_name(endian, header).map_err(unreadable)?;
        let used = |load: &Load| u64::from(load.virtual_first) + u64::from(offset - load.offset);
        let address = header.sh_addr(endian);
        let fits = |load: &&Load| holds(load) && used(load) == u64::from(address);
        let load = match (loads.iter().find(fits), loads.iter().find(holds)) {
            (Some(load), _) => load,
            (None, Some(load)) => {
                let (name, expected) = (name_of(name)?, used(load));
                return Err(ElfError::SectionPlace { name, found: address, expected });
            }
            // What no segment holds is not in memory, whatever its flags say.
            (None, None) => continue,
        };
        let name = name_of(name)?;
        let first = load.first.checked_add(offset - load.offset);
        let first = first.ok_or(ElfError::Outside { first: load.first, bytes: load.file_bytes.into() })?;
        let kind = if flags.contains(elf::SHF_EXECINSTR) {
            Kind::Code
        } else if flags.contains(elf::SHF_WRITE) && load.is_writable {
            Kind::Data
        } else {
            Kind::Constants
        };
        pieces.push(Piece { name, kind, first, offset, bytes });
    }
    for (what, found, limit) in
        [("sections", pieces.len(), SECTIONS_MAX), ("sections of zeros", zeros.len(), ZEROS_MAX)]
    {
        if found > limit {
            return Err(ElfError::TooMany { what, found: found as u64, limit: limit as u64 });
        }
    }
    Ok((pieces, zeros))
}

fn name_of(name: &[u8]) -> Result<String, ElfError> {
    if name.len() > NAME_BYTES_MAX {
        let found = name.len() as u64;
        return Err(ElfError::TooMany {
            what: "bytes of a section's name",
            found,
            limit: NAME_BYTES_MAX as u64,
        });
    }
    let text = str::from_utf8(name);
    text.map(str::to_owned).map_err(|_| ElfError::Elf { why: "a section's name is not UTF-8".into() })
}

/// Checks that ranges, each an address and a length in bytes, ascend, end with memory and share nothing.
fn check_apart(ranges: impl Iterator<Item = (u32, u64)>) -> Result<(), ElfError> {
    let mut end = 0;
    for (first, bytes) in ranges {
        if u64::from(first) < end {
            return Err(ElfError::Overlap { address: first });
        }
        end = u64::from(first) + bytes;
        if end > 1 << 32 {
            return Err(ElfError::Outside { first, bytes });
        }
    }
    Ok(())
}

fn unreadable(error: object::read::Error) -> ElfError {
    ElfError::Elf { why: error.to_string() }
}
