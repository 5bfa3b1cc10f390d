//! A linked ELF file as a [`Program`]: what will execute, and the directives that the linker has carried along.
//!
//! Owns: decoding a function, and all that it reaches by calls and jumps, from the bytes that go into flash; and
//! the records of the section `.weave` (a byte address of flash, little endian, 32 bits; then the directive's text
//! and a zero byte). Reading ELF itself is `isa::avr::Image`'s.
//! Invariant: [`program`] returns on every input; it never panics.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use isa::avr::image::{self, Space};
use isa::avr::{CoreType, Image, ImageError, Instruction, Opcode};

use crate::chip;
use crate::directive::{Directive, Parameters};
use crate::error::DirectiveFault;
use crate::limits::LINKED_INSTRUCTIONS_MAX;
use crate::program::{Callee, Flow, Function, Origin, Point, Program, Step, Written};

/// A directive as it stands in the section `.weave`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Byte address in flash of the instruction that it stands on.
    pub address: u32,
    /// The directive.
    pub text: String,
}

/// Why there is no program.
#[derive(Debug)]
pub enum LinkedError {
    /// The file is no linked AVR program.
    Image(ImageError),
    /// The section `.weave` ends within a record, or one is not text.
    Records {
        /// Where in the section, in bytes.
        offset: usize,
    },
    /// A record is no directive.
    Directive {
        /// Where it stands, in bytes of flash.
        address: u32,
        /// Its text.
        text: String,
        /// Why.
        why: Box<DirectiveFault>,
    },
    /// A record stands where no instruction is reached.
    Stray {
        /// Where, in bytes of flash.
        address: u32,
        /// Its text.
        text: String,
    },
    /// There is no such symbol in flash.
    NoFunction {
        /// Its name.
        name: String,
        /// The functions that have directives, or all.
        known: Vec<String>,
    },
    /// The architecture does not tell whose cycles count, and no directive does.
    NoChip {
        /// The architecture, as avr-gcc numbers them.
        architecture: u8,
    },
    /// A chip that is not known.
    Chip {
        /// Its name.
        name: String,
    },
    /// The program is linked for another core than its chip has, or for several chips.
    Core {
        /// The chip's core.
        found: CoreType,
        /// That of the file, or of another directive.
        expected: CoreType,
    },
    /// Execution comes to what is no instruction, or none that is supported.
    NoInstruction {
        /// Where, in bytes of flash.
        address: u32,
        /// The word that is there, where there is one.
        word: Option<u16>,
    },
    /// Execution comes to the second word of an instruction.
    Overlap {
        /// Where, in bytes of flash.
        address: u32,
    },
    /// The function reaches more instructions than are read.
    TooLong,
}

impl fmt::Display for LinkedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkedError::Image(error) => write!(f, "{error}"),
            LinkedError::Records { offset } => {
                write!(f, "section `.weave` has no record at byte {offset}, expected an address and a text")
            }
            LinkedError::Directive { address, text, why } => {
                write!(f, "directive `{text}` at {address:#06x}: {why}")
            }
            LinkedError::Stray { address, text } => {
                write!(f, "directive `{text}` stands at {address:#06x}, where no instruction is reached")
            }
            LinkedError::NoFunction { name, known } => {
                write!(f, "no such function: found `{name}`")?;
                let known: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
                if known.is_empty() { Ok(()) } else { write!(f, ", expected one of {}", known.join(", ")) }
            }
            LinkedError::NoChip { architecture } => write!(
                f,
                "architecture {architecture} does not say whose cycles count\nhelp: add the directive `chip NAME`"
            ),
            LinkedError::Chip { name } => write!(f, "unknown chip: found `{name}`"),
            LinkedError::Core { found, expected } => {
                write!(f, "found a chip with core {found:?}, expected {expected:?}")
            }
            LinkedError::NoInstruction { address, word: Some(word) } => {
                write!(f, "found {word:#06x} at {address:#06x}, expected an instruction that is supported")
            }
            LinkedError::NoInstruction { address, word: None } => {
                write!(f, "execution comes to {address:#06x}, where the file has no flash")
            }
            LinkedError::Overlap { address } => {
                write!(f, "execution comes to {address:#06x}, within an instruction of two words")
            }
            LinkedError::TooLong => {
                write!(f, "the function reaches more than {LINKED_INSTRUCTIONS_MAX} instructions")
            }
        }
    }
}

impl std::error::Error for LinkedError {}

/// Reads a function, and all that it reaches, from a linked file.
///
/// # Errors
/// Whatever keeps the file from being a program with that function; never a panic.
pub fn program(elf: &[u8], function: &str) -> Result<Program, LinkedError> {
    program_for(elf, function, None)
}

/// Like [`program`], for a chip that the caller names where the file may not.
///
/// # Errors
/// Like [`program`].
pub fn program_for(elf: &[u8], function: &str, chip: Option<&str>) -> Result<Program, LinkedError> {
    let image = Image::parse(elf).map_err(LinkedError::Image)?;
    let records = records(elf)?;
    from_image(&image, &records, function, chip)
}

/// The records of a file's section `.weave`; none where there is no such section.
///
/// # Errors
/// A file that is no ELF, or a record that is none.
pub fn records(elf: &[u8]) -> Result<Vec<Record>, LinkedError> {
    let bytes = image::section(elf, ".weave").map_err(LinkedError::Image)?;
    let mut records = Vec::new();
    let mut offset = 0;
    while let Some((address, rest)) = bytes[offset..].split_first_chunk::<4>() {
        let end = rest.iter().position(|&byte| byte == 0).ok_or(LinkedError::Records { offset })?;
        let text = std::str::from_utf8(&rest[..end]).map_err(|_| LinkedError::Records { offset })?;
        records.push(Record { address: u32::from_le_bytes(*address), text: text.to_owned() });
        offset += 4 + end + 1;
    }
    if offset < bytes.len() { Err(LinkedError::Records { offset }) } else { Ok(records) }
}

/// Reads a function, and all that it reaches, from an image with its records.
///
/// # Errors
/// Like [`program`].
pub fn from_image(
    image: &Image,
    records: &[Record],
    function: &str,
    chip: Option<&str>,
) -> Result<Program, LinkedError> {
    let root = image.symbols.iter().find(|symbol| symbol.space == Space::Flash && symbol.name == function);
    let root = root.ok_or_else(|| no_function(image, function))?.address;
    let directives = directives(records)?;
    let decoded = decode(image, root, &directives)?;
    let layout = Layout::of(image, root, &decoded);
    let mut program = layout.program(&decoded, core_of_file(image.architecture));
    attach(&mut program, image, &layout, directives, records)?;
    program.core = core(&program, image.architecture, chip)?;
    Ok(program)
}

fn no_function(image: &Image, name: &str) -> LinkedError {
    let functions = image.symbols.iter().filter(|symbol| symbol.space == Space::Flash && symbol.function);
    LinkedError::NoFunction {
        name: name.to_owned(),
        known: functions.map(|symbol| symbol.name.clone()).collect(),
    }
}

/// Directives by the address that they stand on.
type Directives = BTreeMap<u32, Vec<Directive>>;

fn directives(records: &[Record]) -> Result<Directives, LinkedError> {
    let mut directives = Directives::new();
    for Record { address, text } in records {
        // A record's values were written out when it was made: there is no plan left to give names numbers.
        let directive = Directive::parse(text, &Parameters::new()).map_err(|why| LinkedError::Directive {
            address: *address,
            text: text.clone(),
            why: Box::new(why),
        })?;
        directives.entry(*address).or_default().push(directive);
    }
    Ok(directives)
}

/// The word of flash at a byte address.
fn word(image: &Image, address: u32) -> Option<u16> {
    let after = image.flash.partition_point(|segment| segment.address <= address);
    let segment = image.flash[..after].last()?;
    let at = (address - segment.address) as usize;
    let bytes = segment.bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_le_bytes([bytes[0], bytes[1]]))
}

/// An instruction in flash.
struct Decoded {
    instruction: Instruction,
    /// Where it may jump, branch or call, in bytes.
    target: Option<u32>,
}

impl Decoded {
    fn bytes(&self) -> u32 {
        2 * self.instruction.opcode.words()
    }

    fn is_call(&self) -> bool {
        self.instruction.opcode.is_call()
    }
}

/// Everything that is reached, by address.
fn decode(image: &Image, root: u32, directives: &Directives) -> Result<BTreeMap<u32, Decoded>, LinkedError> {
    let mut decoded = BTreeMap::new();
    let mut waiting = vec![root];
    while let Some(address) = waiting.pop() {
        if decoded.contains_key(&address) {
            continue;
        }
        if decoded.len() >= LINKED_INSTRUCTIONS_MAX {
            return Err(LinkedError::TooLong);
        }
        let first = word(image, address).ok_or(LinkedError::NoInstruction { address, word: None })?;
        let second = address.checked_add(2).and_then(|address| word(image, address));
        let instruction = Instruction::decode(first, second)
            .ok_or(LinkedError::NoInstruction { address, word: Some(first) })?;
        let next = address + 2 * instruction.opcode.words();
        let target = target(&instruction, next);
        use Opcode::*;
        match instruction.opcode {
            Rjmp | Jmp | Ijmp | Ret | Reti | Break => {}
            opcode if opcode.is_skip() => {
                // Both the skipped instruction and the one behind it are needed, or the length is unknown.
                let skipped = word(image, next).and_then(|first| Instruction::decode(first, Some(0)));
                let bytes = skipped.map_or(2, |skipped| 2 * skipped.opcode.words());
                waiting.extend([next, next + bytes]);
            }
            _ => waiting.push(next),
        }
        waiting.extend(target);
        for name in directives.get(&address).into_iter().flatten().filter_map(|directive| match directive {
            Directive::Targets(names) => Some(names),
            _ => None,
        }) {
            let known = |name: &String| image.symbols.iter().find(|symbol| is_code(symbol, name));
            waiting.extend(name.iter().filter_map(known).map(|symbol| symbol.address));
        }
        decoded.insert(address, Decoded { instruction, target });
    }
    let mut end = 0;
    for (&address, found) in &decoded {
        if address < end {
            return Err(LinkedError::Overlap { address });
        }
        end = address + found.bytes();
    }
    Ok(decoded)
}

fn is_code(symbol: &isa::avr::image::Symbol, name: &str) -> bool {
    symbol.space == Space::Flash && symbol.name == name
}

/// Where a branch, jump or call goes, in bytes. A distance below zero leads to an address that no file has.
fn target(instruction: &Instruction, next: u32) -> Option<u32> {
    use Opcode::*;
    match instruction.opcode {
        Rjmp | Rcall | Brbs | Brbc => Some(next.wrapping_add_signed(2 * instruction.k)),
        Jmp | Call => Some(2 * instruction.k as u32),
        _ => None,
    }
}

/// Which instruction belongs to which function.
struct Layout {
    /// Names by the first address of the function that is reached.
    names: BTreeMap<u32, String>,
    /// Points by address.
    points: BTreeMap<u32, Point>,
}

impl Layout {
    /// A function begins at the root, and wherever a symbol is that is called, or that says it is a function.
    fn of(image: &Image, root: u32, decoded: &BTreeMap<u32, Decoded>) -> Layout {
        let called: BTreeSet<u32> = decoded
            .iter()
            .filter(|(_, found)| found.is_call())
            .filter_map(|(_, found)| found.target)
            .chain([root])
            .collect();
        let mut starts: BTreeMap<u32, &str> = BTreeMap::new();
        for symbol in image.symbols.iter().filter(|symbol| symbol.space == Space::Flash) {
            if symbol.function || called.contains(&symbol.address) {
                let name = starts.entry(symbol.address).or_insert(&symbol.name);
                if symbol.function {
                    *name = &symbol.name;
                }
            }
        }
        let mut names: BTreeMap<u32, String> = BTreeMap::new();
        let mut last = None;
        for &address in decoded.keys() {
            let start = starts.range(..=address).next_back();
            if last != Some(start) {
                // Code below every symbol that is called is called by its address.
                let name = start.map_or_else(|| format!("{address:#06x}"), |(_, name)| (*name).to_owned());
                names.insert(address, name);
                last = Some(start);
            }
        }
        let points = decoded.keys().enumerate().map(|(point, &address)| (address, point)).collect();
        Layout { names, points }
    }

    fn program(&self, decoded: &BTreeMap<u32, Decoded>, core: Option<CoreType>) -> Program {
        let code: Vec<Step> = decoded
            .iter()
            .map(|(&address, found)| Step {
                instruction: found.instruction,
                expression: None,
                flow: self.flow(address, found),
                directives: Vec::new(),
                origin: Origin::Address(address),
            })
            .collect();
        let mut functions: Vec<Function> = Vec::new();
        for (address, name) in &self.names {
            let entry = self.points[address];
            if let Some(before) = functions.last_mut() {
                before.end = entry;
            }
            functions.push(Function { name: name.clone(), entry, end: code.len(), directives: Vec::new() });
        }
        Program { code, functions, core: core.unwrap_or(CoreType::AvrePc2), texts: Vec::new() }
    }

    fn flow(&self, address: u32, found: &Decoded) -> Flow {
        use Opcode::*;
        let to = found.target.map_or(0, |target| self.points[&target]);
        match found.instruction.opcode {
            Rjmp | Jmp if self.is_other_entry(address, found.target) => Flow::TailCall(Callee::Known(to)),
            Rjmp | Jmp => Flow::Jump(to),
            Rcall | Call => Flow::Call(Callee::Known(to)),
            Brbs | Brbc => Flow::Branch(to),
            opcode if opcode.is_skip() => Flow::Skip,
            Ijmp | Icall => Flow::Indirect,
            Ret => Flow::Return,
            Reti => Flow::ReturnFromInterrupt,
            Break => Flow::Stop,
            _ => Flow::Next,
        }
    }

    /// Whether `target` is where another function begins than that of `address`.
    fn is_other_entry(&self, address: u32, target: Option<u32>) -> bool {
        let own = self.names.range(..=address).next_back().map(|(start, _)| *start);
        target.is_some_and(|target| self.names.contains_key(&target) && own != Some(target))
    }
}

/// Puts the directives of the reached functions on them.
fn attach(
    program: &mut Program,
    image: &Image,
    layout: &Layout,
    directives: Directives,
    records: &[Record],
) -> Result<(), LinkedError> {
    for (address, directives) in directives {
        let origin = Origin::Address(address);
        let Some(&point) = layout.points.get(&address) else {
            if is_within(image, layout, address) {
                let text = records.iter().find(|record| record.address == address);
                let text = text.map_or_else(String::new, |record| record.text.clone());
                return Err(LinkedError::Stray { address, text });
            }
            continue; // of a function that is not reached
        };
        for directive in directives {
            let written = Written { directive, origin };
            if written.directive.is_of_function() {
                let after = program.functions.partition_point(|function| function.entry <= point);
                program.functions[after - 1].directives.push(written);
            } else {
                program.code[point].directives.push(written);
            }
        }
    }
    Ok(())
}

/// Whether an address lies in a function that is reached: by its symbol's size, or before its last instruction.
fn is_within(image: &Image, layout: &Layout, address: u32) -> bool {
    let functions = image.symbols.iter().filter(|symbol| symbol.space == Space::Flash && symbol.function);
    let mut sized = functions.filter(|symbol| layout.names.contains_key(&symbol.address));
    let between = || {
        let start = layout.names.range(..=address).next_back()?.0;
        let end = layout.names.range(address..).next().map_or(u32::MAX, |(end, _)| *end);
        layout.points.range(start..&end).next_back().map(|(last, _)| address < *last)
    };
    sized.any(|symbol| address.wrapping_sub(symbol.address) < symbol.bytes) || between().unwrap_or(false)
}

/// The core of an architecture, where it has only one (GNU as, "AVR Options").
fn core_of_file(architecture: u8) -> Option<CoreType> {
    match architecture {
        25 | 31 | 35 | 4 | 5 | 51 => Some(CoreType::AvrePc2),
        6 => Some(CoreType::AvrePc3),
        // 102 to 107 are XMEGA and the AVRxt families alike.
        _ => None,
    }
}

/// Whose cycles count: those of the chip that directives name, and the caller, and the architecture allows.
fn core(program: &Program, architecture: u8, chip: Option<&str>) -> Result<CoreType, LinkedError> {
    let mut core = core_of_file(architecture);
    let is_extended = (100..=107).contains(&architecture);
    let written = program.functions.iter().flat_map(|function| &function.directives);
    let named = written.filter_map(|written| match &written.directive {
        Directive::Chip(name) => Some(name.as_str()),
        _ => None,
    });
    for name in named.chain(chip) {
        let found = chip::core(name).ok_or_else(|| LinkedError::Chip { name: name.to_owned() })?;
        let expected = match core {
            None if is_extended && matches!(found, CoreType::Avrxm | CoreType::Avrxt) => found,
            None => return Err(LinkedError::NoChip { architecture }),
            Some(expected) => expected,
        };
        if found != expected {
            return Err(LinkedError::Core { found, expected });
        }
        core = Some(found);
    }
    core.ok_or(LinkedError::NoChip { architecture })
}
