//! What of a program is sealed: its instructions as they are, in packets, or compressed.
//!
//! Owns: the schemes, which flags each takes, and comparing what was made with the program, by a second reader, before
//! anything is sealed. What packing and compressing are is the tool's.

use ::pack::check::check;
use ::pack::code::Code;
use ::pack::code::onfill::stored::{self, compress, expand};
use ::pack::flow::Choice;
use ::pack::packing::{self, Packed};
use ::pack::sealed::Unsealed;
use ::pack::{Error as Refusal, Image, Program, Sections};
use clap::ValueEnum;
use selvedge::error::{Error, PackFault};

use super::Arguments;
use super::tuned::{Tuned, tuned};
use crate::pack::read;

/// Bytes of plain code in a block, where nobody says how many.
const BLOCK_BYTES: u32 = 64;
/// The schemes that have blocks.
const ON_FILL: &str = "codepack, bitmask, huffman and fields";

/// What is done to instructions.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Scheme {
    /// Several in a word, by a dictionary; expanded behind the cache
    Compacket,
    /// Half-words by classes; decoded when a line of the cache is filled, like those below
    Codepack,
    /// Words of a dictionary, and masks over them
    Bitmask,
    /// Prefix codes of half-words
    Huffman,
    /// Prefix codes of the fields of instructions, in their context
    Fields,
    /// Nothing: a program of any processor is sealed as it is
    None,
}

impl Scheme {
    /// The tool's word for it.
    pub fn code(self) -> Code {
        match self {
            Scheme::Compacket => Code::Compacket,
            Scheme::Codepack => Code::Codepack,
            Scheme::Bitmask => Code::Bitmask,
            Scheme::Huffman => Code::Huffman,
            Scheme::Fields => Code::Fields,
            Scheme::None => Code::None,
        }
    }
}

/// What a scheme did.
pub enum Report {
    /// Nothing.
    None,
    /// It packed.
    Packed(packing::Report),
    /// It compressed.
    Compressed {
        /// By which code.
        code: Code,
        /// Plain code in a block.
        block_bytes: u32,
        /// What came of it.
        report: stored::Report,
    },
    /// It would not have compressed, so that the program is as it was.
    NotSmaller {
        /// By which code.
        code: Code,
        /// Plain code in a block.
        block_bytes: u32,
        /// What its code and tables would take.
        found_bytes: u32,
        /// What the code takes.
        limit_bytes: u32,
    },
}

/// What there is before it is sealed.
pub struct Prepared {
    pub unsealed: Unsealed,
    pub report: Report,
    /// The inputs that were learnt from.
    pub trained: Vec<String>,
    /// What of the file's segments is in no section.
    pub left_out_bytes: u64,
}

/// Refuses flags that the scheme has no use for: who gives them means another one.
pub fn check_flags(arguments: &Arguments) -> Result<(), Error> {
    let code = arguments.scheme.code();
    let refused = |found, expected| {
        Err(PackFault::Scheme { scheme: code.name(), found, expected }.of(&arguments.program))
    };
    let is_packing = !arguments.packing.is_default() || arguments.tuning.is_asked();
    if code != Code::Compacket && is_packing {
        return refused("flags of packing", "compacket");
    }
    match arguments.block {
        Some(_) if code.row().on_fill.is_none() => refused("blocks (`--block`)", ON_FILL),
        Some(found_bytes) if !stored::BLOCK_BYTES.contains(&found_bytes) => {
            Err(PackFault::Program(::pack::Error::BlockBytes { found_bytes }).of(&arguments.program))
        }
        _ => Ok(()),
    }
}

/// What is sealed.
pub fn prepared(arguments: &Arguments) -> Result<Prepared, Error> {
    let bytes = read(&arguments.program)?;
    match arguments.scheme.code() {
        Code::None => as_it_is(arguments, &bytes),
        Code::Compacket => packed(arguments, &bytes),
        code => compressed(arguments, &bytes, code),
    }
}

fn as_it_is(arguments: &Arguments, bytes: &[u8]) -> Result<Prepared, Error> {
    let parsed = Sections::parse_counting(bytes).map_err(PackFault::from);
    let (sections, left_out_bytes) = parsed.map_err(|fault| fault.of(&arguments.program))?;
    let unsealed = Unsealed::from(sections);
    Ok(Prepared { unsealed, report: Report::None, trained: Vec::new(), left_out_bytes })
}

fn packed(arguments: &Arguments, bytes: &[u8]) -> Result<Prepared, Error> {
    let refused = |error: Refusal| PackFault::from(error).of(&arguments.program);
    let made = match tuned(arguments)? {
        Some(made) => made,
        None => {
            let program = Program::parse(bytes).map_err(refused)?;
            let (profiles, settings) = (arguments.packing.profiles(&program)?, arguments.packing.settings());
            let packed = ::pack::pack(&program, &profiles, &settings).map_err(refused)?;
            Tuned { program, settings, packed, trained: Vec::new() }
        }
    };
    let Tuned { program, settings, packed: Packed { image, report }, trained } = made;
    if report.nothing.is_none() {
        check_same(&program, &image, &settings.choice, arguments.tuning.is_asked()).map_err(refused)?;
    }
    Ok(Prepared {
        unsealed: Unsealed::from(image),
        report: Report::Packed(report),
        trained,
        left_out_bytes: 0,
    })
}

/// Asserts that a second reader finds the program in what was packed. For a cache, functions may have been cut.
fn check_same(program: &Program, image: &Image, choice: &Choice, may_be_cut: bool) -> Result<(), Refusal> {
    let mut faults = check(program, image, choice)?;
    if may_be_cut && !faults.is_empty() {
        faults = check(program, image, &Choice { split: true, ..choice.clone() })?;
    }
    assert!(faults.is_empty(), "what was packed is not the program: {}", faults[0]);
    Ok(())
}

/// Nothing moves, so that no relocation is asked for; all else must be as it is for packing.
fn compressed(arguments: &Arguments, bytes: &[u8], code: Code) -> Result<Prepared, Error> {
    let refused = |error: Refusal| PackFault::from(error).of(&arguments.program);
    Program::parse(bytes).map_err(refused)?;
    let prepared = as_it_is(arguments, bytes)?;
    let machine = prepared.unsealed.sections.machine;
    let plain = prepared.unsealed.clone().into_image();
    let plain: Image = plain.expect("a program is for a machine whose code can be packed");
    let block_bytes = arguments.block.unwrap_or(BLOCK_BYTES);
    let (image, report) = match compress(&plain, code, block_bytes) {
        Ok(made) => made,
        Err(Refusal::NotSmaller { found_bytes, limit_bytes }) => {
            let report = Report::NotSmaller { code, block_bytes, found_bytes, limit_bytes };
            return Ok(Prepared { report, ..prepared });
        }
        Err(error) => return Err(refused(error)),
    };
    let expanded = expand(&image).map(|image| image.into_owned());
    assert!(expanded == Ok(plain), "what was compressed is not the program");
    let mut unsealed = Unsealed::from(image);
    unsealed.sections.machine = machine;
    Ok(Prepared { unsealed, report: Report::Compressed { code, block_bytes, report }, ..prepared })
}
