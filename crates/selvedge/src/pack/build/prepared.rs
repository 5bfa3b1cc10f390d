//! What of a program is sealed: its instructions as they are, in packets, or compressed.
//!
//! Owns: the schemes, which flags each takes, and comparing what was made with the program, by a second reader, before
//! anything is sealed. What packing and compressing are is the tool's.

use ::pack::check::check;
use ::pack::code::Code;
use ::pack::code::onfill::stored::{self, compress, expand};
use ::pack::packing::{self, Packed};
use ::pack::sealed::Unsealed;
use ::pack::{Image, Program, Sections};
use clap::ValueEnum;
use selvedge::error::{Error, PackFault};

use super::Arguments;
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
}

/// What there is before it is sealed.
pub struct Prepared {
    pub unsealed: Unsealed,
    pub report: Report,
    /// What of the file's segments is in no section.
    pub left_out_bytes: u64,
}

/// Refuses flags that the scheme has no use for: who gives them means another one.
pub fn check_flags(arguments: &Arguments) -> Result<(), Error> {
    let code = arguments.scheme.code();
    let refused = |found, expected| {
        Err(PackFault::Scheme { scheme: code.name(), found, expected }.of(&arguments.program))
    };
    if code != Code::Compacket && !arguments.packing.is_default() {
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
    Ok(Prepared { unsealed, report: Report::None, left_out_bytes })
}

fn packed(arguments: &Arguments, bytes: &[u8]) -> Result<Prepared, Error> {
    let refused = |error: ::pack::Error| PackFault::from(error).of(&arguments.program);
    let program = Program::parse(bytes).map_err(refused)?;
    let (profiles, settings) = (arguments.packing.profiles(&program)?, arguments.packing.settings());
    let Packed { image, report } = ::pack::pack(&program, &profiles, &settings).map_err(refused)?;
    if report.nothing.is_none() {
        let faults = check(&program, &image, &settings.choice).map_err(refused)?;
        assert!(faults.is_empty(), "what was packed is not the program: {}", faults[0]);
    }
    Ok(Prepared { unsealed: Unsealed::from(image), report: Report::Packed(report), left_out_bytes: 0 })
}

/// Nothing moves, so that no relocation is asked for; all else must be as it is for packing.
fn compressed(arguments: &Arguments, bytes: &[u8], code: Code) -> Result<Prepared, Error> {
    let refused = |error: ::pack::Error| PackFault::from(error).of(&arguments.program);
    Program::parse(bytes).map_err(refused)?;
    let Prepared { unsealed, left_out_bytes, .. } = as_it_is(arguments, bytes)?;
    let machine = unsealed.sections.machine;
    let plain: Image = unsealed.into_image().expect("a program is for a machine whose code can be packed");
    let block_bytes = arguments.block.unwrap_or(BLOCK_BYTES);
    let (image, report) = compress(&plain, code, block_bytes).map_err(refused)?;
    let expanded = expand(&image).map(|image| image.into_owned());
    assert!(expanded == Ok(plain), "what was compressed is not the program");
    let mut unsealed = Unsealed::from(image);
    unsealed.sections.machine = machine;
    let report = Report::Compressed { code, block_bytes, report };
    Ok(Prepared { unsealed, report, left_out_bytes })
}
