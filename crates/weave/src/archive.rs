//! Functions of libgcc and of the C library as assembly text, out of the archives that the linker takes them from.
//!
//! Owns: finding the member that defines a symbol, and writing what its code is: labels where it branches, and the names
//! that its relocations have. A text holds the function and the subroutines of its member that it calls, each with all
//! that is reached from its entry, so that code which two of them share stands in both. What it calls elsewhere is named,
//! for the caller to ask for. Which archives there are is the roof's to know.
//! Invariant: it returns on every input; it never panics.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::{self, Write};

use isa::avr::table::Operand;
use isa::avr::{Instruction, Opcode};
use object::read::archive::ArchiveFile;
use object::read::elf::ElfFile32;
use object::{
    Endianness, Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, SectionIndex,
    SectionKind, SymbolKind, elf,
};

use crate::error::Error;
use crate::limits::LINKED_INSTRUCTIONS_MAX;
use crate::source::Source;

/// Why a function of an archive is not read.
#[derive(Debug)]
pub enum ArchiveError {
    /// It is no archive, or its member no object.
    Unreadable {
        /// The archive, or the member in it.
        file: String,
        /// Why.
        why: String,
    },
    /// Execution comes to what is no instruction.
    NoInstruction {
        /// The member.
        file: String,
        /// Where in its section, in bytes.
        address: u64,
    },
    /// An operand that only its member can name: data or a place of its own.
    Operand {
        /// The member.
        file: String,
        /// The function.
        function: String,
        /// Where in its section, in bytes.
        address: u64,
    },
    /// The function reaches more instructions than are read.
    TooLong {
        /// The member.
        file: String,
    },
    /// What was written does not read.
    Text(Error),
}

impl fmt::Display for ArchiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ArchiveError::Unreadable { file, why } => write!(f, "`{file}` cannot be read: {why}"),
            ArchiveError::NoInstruction { file, address } => {
                write!(f, "`{file}`: found no instruction at {address:#06x}, to which execution comes")
            }
            ArchiveError::Operand { file, function, address } => write!(
                f,
                "`{file}`: `{function}` needs at {address:#06x} what only its own file can name, expected a symbol that \
                 others see"
            ),
            ArchiveError::TooLong { file } => {
                write!(f, "`{file}`: found more than {LINKED_INSTRUCTIONS_MAX} instructions")
            }
            ArchiveError::Text(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for ArchiveError {}

/// An archive of objects.
pub struct Archive<'d> {
    name: String,
    bytes: &'d [u8],
    file: ArchiveFile<'d>,
}

impl<'d> Archive<'d> {
    /// Reads one; `name` is how errors and texts call it.
    ///
    /// # Errors
    /// [`ArchiveError::Unreadable`].
    pub fn parse(name: &str, bytes: &'d [u8]) -> Result<Archive<'d>, ArchiveError> {
        let file = ArchiveFile::parse(bytes).map_err(unreadable(name))?;
        Ok(Archive { name: name.to_owned(), bytes, file })
    }

    /// The function of this name as a text that shows it to others, when a member has it.
    ///
    /// # Errors
    /// What is wrong with the archive, or why the function cannot be written as text.
    pub fn function(&self, symbol: &str) -> Result<Option<Source>, ArchiveError> {
        let unreadable = unreadable(&self.name);
        let Some(mut symbols) = self.file.symbols().map_err(&unreadable)? else { return Ok(None) };
        let found = symbols.find_map(|found| match found {
            Ok(found) => (found.name() == symbol.as_bytes()).then_some(Ok(found)),
            Err(error) => Some(Err(error)),
        });
        let Some(found) = found.transpose().map_err(&unreadable)? else { return Ok(None) };
        let member = self.file.member(found.offset()).map_err(&unreadable)?;
        let name = format!("{}({})", self.name, String::from_utf8_lossy(member.name()));
        let bytes = member.data(self.bytes).map_err(self::unreadable(&name))?;
        Member::parse(&name, bytes)?.function(symbol)
    }
}

fn unreadable(file: &str) -> impl Fn(object::read::Error) -> ArchiveError {
    move |error| ArchiveError::Unreadable { file: file.to_owned(), why: error.to_string() }
}

/// An object of an archive.
struct Member<'d> {
    name: String,
    file: ElfFile32<'d, Endianness>,
}

/// A place in a member's code: a section, and bytes in it.
type Spot = (SectionIndex, u64);

/// A section's code.
struct Code<'d> {
    bytes: &'d [u8],
    relocations: BTreeMap<u64, Relocation>,
}

struct Relocation {
    kind: elf::RelocationType,
    /// What it names in this member.
    spot: Option<Spot>,
    /// What it names to everybody.
    name: Option<String>,
    addend: i64,
}

impl<'d> Member<'d> {
    fn parse(name: &str, bytes: &'d [u8]) -> Result<Member<'d>, ArchiveError> {
        let file = ElfFile32::parse(bytes).map_err(unreadable(name))?;
        Ok(Member { name: name.to_owned(), file })
    }

    fn function(&self, symbol: &str) -> Result<Option<Source>, ArchiveError> {
        let is_it = |found: &object::read::elf::ElfSymbol32<'_, '_, Endianness>| {
            found.is_definition() && found.name() == Ok(symbol)
        };
        let Some(found) = self.file.symbols().find(is_it) else { return Ok(None) };
        let Some(section) = found.section_index() else { return Ok(None) };
        let holds = self.file.section_by_index(section).map_err(unreadable(&self.name))?;
        if holds.kind() != SectionKind::Text {
            return Ok(None);
        }
        let mut text = format!("\t.global {symbol}\n");
        let entry = Routine { spot: (section, found.address()), name: symbol.to_owned() };
        let (mut open, mut written) = (vec![entry], HashSet::new());
        while let Some(routine) = open.pop() {
            if written.insert(routine.spot) {
                let number = written.len();
                Writing { member: self, code: self.code(routine.spot.0)?, routine, number, open: &mut open }
                    .write(&mut text)?;
            }
        }
        Source::parse(&self.name, &text).map(Some).map_err(ArchiveError::Text)
    }

    fn code(&self, section: SectionIndex) -> Result<Code<'d>, ArchiveError> {
        let unreadable = unreadable(&self.name);
        let section = self.file.section_by_index(section).map_err(&unreadable)?;
        let bytes = section.data().map_err(&unreadable)?;
        let mut relocations = BTreeMap::new();
        for (at, relocation) in section.relocations() {
            let RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
            let RelocationTarget::Symbol(index) = relocation.target() else { continue };
            let symbol = self.file.symbol_by_index(index).map_err(&unreadable)?;
            let spot = symbol.section_index().map(|section| (section, symbol.address()));
            let is_shown = symbol.is_global() && symbol.kind() != SymbolKind::Section;
            let name = symbol.name().ok().filter(|name| is_shown && !name.is_empty());
            let (name, addend) = (name.map(str::to_owned), relocation.addend());
            relocations.insert(at, Relocation { kind: elf::RelocationType(r_type.0), spot, name, addend });
        }
        Ok(Code { bytes, relocations })
    }

    /// What a place is called: by its symbol, or by its number of bytes.
    fn routine(&self, spot: Spot) -> Routine {
        let here = |found: &object::read::elf::ElfSymbol32<'_, '_, Endianness>| {
            found.kind() != SymbolKind::Section
                && (found.section_index(), found.address()) == (Some(spot.0), spot.1)
        };
        let name = self
            .file
            .symbols()
            .find(here)
            .and_then(|found| found.name().ok())
            .filter(|name| !name.is_empty());
        let name = name.map_or_else(|| format!("subroutine_{}_{:x}", spot.0.0, spot.1), str::to_owned);
        Routine { spot, name }
    }
}

/// Code that is entered at one place.
struct Routine {
    spot: Spot,
    name: String,
}

/// Where an instruction goes.
enum Goes {
    /// To a place of its section.
    Here(u64),
    /// To a function.
    Function(String),
}

/// A routine while it is written.
struct Writing<'w, 'd> {
    member: &'w Member<'d>,
    code: Code<'d>,
    routine: Routine,
    /// Tells its labels from those of the others.
    number: usize,
    /// Routines that have to be written as well.
    open: &'w mut Vec<Routine>,
}

impl Writing<'_, '_> {
    fn write(&mut self, out: &mut String) -> Result<(), ArchiveError> {
        let entry = self.routine.spot.1;
        let (mut lines, mut targets) = (BTreeMap::new(), BTreeSet::new());
        let mut waiting = vec![entry];
        while let Some(address) = waiting.pop() {
            if lines.contains_key(&address) {
                continue;
            }
            if lines.len() >= LINKED_INSTRUCTIONS_MAX {
                return Err(ArchiveError::TooLong { file: self.member.name.clone() });
            }
            let instruction = self.instruction(address)?;
            let next = address + 2 * u64::from(instruction.opcode.words());
            let goes = self.goes(address, &instruction)?;
            if let Some(Goes::Here(to)) = goes
                && !instruction.opcode.is_call()
            {
                targets.insert(to);
                waiting.push(to);
            }
            if goes_on(instruction.opcode) {
                waiting.push(next);
            }
            if instruction.opcode.is_skip() {
                waiting.push(next + 2 * u64::from(self.instruction(next)?.opcode.words()));
            }
            let line = self.line(address, &instruction, goes)?;
            lines.insert(address, (line, goes_on(instruction.opcode)));
        }
        // The entry comes first, and what stands before it runs on into it.
        let runs_on = lines.range(..entry).next_back().is_some_and(|(_, (_, goes_on))| *goes_on);
        if runs_on {
            targets.insert(entry);
        }
        let name = &self.routine.name;
        let put = |out: &mut String, line: fmt::Arguments| {
            out.write_fmt(line).expect("a string takes everything");
        };
        put(out, format_args!("\t.type {name}, @function\n{name}:\n"));
        for (index, (address, (line, _))) in lines.range(entry..).chain(lines.range(..entry)).enumerate() {
            if index == lines.range(entry..).count() {
                // How far it is from one part to the other is nobody's concern: it is moved.
                put(out, format_args!("\t.p2align 2\n"));
            }
            if targets.contains(address) {
                put(out, format_args!("{}:\n", self.label(*address)));
            }
            put(out, format_args!("\t{line}\n"));
        }
        if runs_on {
            put(out, format_args!("\trjmp {}\n", self.label(entry)));
        }
        put(out, format_args!("\t.size {name}, .-{name}\n"));
        Ok(())
    }

    fn label(&self, address: u64) -> String {
        format!(".L{}_{address:x}", self.number)
    }

    fn instruction(&self, address: u64) -> Result<Instruction, ArchiveError> {
        let word = |at: u64| {
            let at = usize::try_from(at).ok()?;
            let bytes = self.code.bytes.get(at..at.checked_add(2)?)?;
            Some(u16::from_le_bytes([bytes[0], bytes[1]]))
        };
        let decoded = word(address).and_then(|first| Instruction::decode(first, word(address + 2)));
        decoded.ok_or_else(|| ArchiveError::NoInstruction { file: self.member.name.clone(), address })
    }

    fn operand(&self, address: u64) -> ArchiveError {
        let (file, function) = (self.member.name.clone(), self.routine.name.clone());
        ArchiveError::Operand { file, function, address }
    }

    /// Where a branch, jump or call goes; a call to a place of the member has it written, too.
    fn goes(&mut self, address: u64, instruction: &Instruction) -> Result<Option<Goes>, ArchiveError> {
        use Opcode::*;
        let opcode = instruction.opcode;
        if !(opcode.is_jump() || opcode.is_call() || opcode.is_branch()) {
            return Ok(None);
        }
        let next = address + 2 * u64::from(instruction.opcode.words());
        let here = self.routine.spot.0;
        let spot = match self.code.relocations.get(&address) {
            Some(Relocation { spot: Some((section, at)), addend, .. }) => {
                Some((*section, at.wrapping_add_signed(*addend)))
            }
            Some(Relocation { name: Some(name), addend: 0, .. }) => {
                return Ok(Some(Goes::Function(name.clone())));
            }
            Some(_) => return Err(self.operand(address)),
            None if matches!(instruction.opcode, Jmp | Call) => return Err(self.operand(address)),
            None => Some((here, next.wrapping_add_signed(2 * i64::from(instruction.k)))),
        };
        let spot = spot.expect("every way that has none has returned");
        // `rcall .` makes room on the stack.
        if spot.0 == here && (!instruction.opcode.is_call() || spot.1 == next) {
            return Ok(Some(Goes::Here(spot.1)));
        }
        let routine = self.member.routine(spot);
        let name = routine.name.clone();
        self.open.push(routine);
        Ok(Some(Goes::Function(name)))
    }

    /// An instruction's text.
    fn line(
        &self,
        address: u64,
        instruction: &Instruction,
        goes: Option<Goes>,
    ) -> Result<String, ArchiveError> {
        let expression = match goes {
            Some(Goes::Here(_)) if instruction.opcode.is_call() => Some(".".to_owned()),
            Some(Goes::Here(to)) => Some(self.label(to)),
            Some(Goes::Function(name)) => Some(name),
            None => self.expression(address, instruction)?,
        };
        let mut line = String::new();
        let written = instruction.write_with(&mut line, &mut |out, operand| match &expression {
            Some(expression) if !matches!(operand, Operand::Bit | Operand::Flag) => {
                out.write_str(expression).map(|()| true)
            }
            _ => Ok(false),
        });
        written.expect("a string takes everything");
        Ok(line)
    }

    /// The operand that only the linker knows.
    fn expression(&self, address: u64, instruction: &Instruction) -> Result<Option<String>, ArchiveError> {
        let at = if instruction.opcode.words() == 2 { address + 2 } else { address };
        let Some(Relocation { kind, name, addend, .. }) = self.code.relocations.get(&at) else {
            return Ok(None);
        };
        let name = name.as_ref().ok_or_else(|| self.operand(address))?;
        let address_of = match addend {
            0 => name.clone(),
            addend => format!("{name}{addend:+}"),
        };
        let modifier = match *kind {
            elf::R_AVR_16 | elf::R_AVR_LDI | elf::R_AVR_6 | elf::R_AVR_6_ADIW => return Ok(Some(address_of)),
            elf::R_AVR_PORT6 | elf::R_AVR_PORT5 => return Ok(Some(address_of)),
            elf::R_AVR_LO8_LDI => "lo8",
            elf::R_AVR_HI8_LDI => "hi8",
            elf::R_AVR_HH8_LDI => "hh8",
            elf::R_AVR_LO8_LDI_NEG => return Ok(Some(format!("lo8(-({address_of}))"))),
            elf::R_AVR_HI8_LDI_NEG => return Ok(Some(format!("hi8(-({address_of}))"))),
            elf::R_AVR_HH8_LDI_NEG => return Ok(Some(format!("hh8(-({address_of}))"))),
            _ => return Err(self.operand(address)),
        };
        Ok(Some(format!("{modifier}({address_of})")))
    }
}

/// Whether what stands behind an instruction may be executed next.
fn goes_on(opcode: Opcode) -> bool {
    use Opcode::*;
    !matches!(opcode, Rjmp | Jmp | Ijmp | Ret | Reti | Break)
}
