//! RV32 for tests: programs of the corpus, small ones from assembly text, and packets of them.
#![allow(dead_code)] // each test file uses some of it

use std::path::PathBuf;

use isa::rv32::text;
use pack::code::packet::{Branch, Dictionary, Format, Packet, SLOTS_MAX};
use pack::image::{Image, Kind, PackedText, Section, Zeros};
use pack::program::Function;
use pack::{Program, Target};

/// The paper's six, and three more.
pub const PROGRAMS: [&str; 9] =
    ["cjpeg", "djpeg", "dijkstra", "pegwit", "search", "susan", "bzip2", "minigzip", "lua"];

/// A program's file.
pub fn elf(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../corpus/rv32").join(name);
    let path = path.with_extension("elf");
    std::fs::read(&path).unwrap_or_else(|error| panic!("`{}`: {error}", path.display()))
}

/// The same, read.
pub fn program(name: &str) -> Program {
    Program::parse(&elf(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A line of assembly as a word.
pub fn word_of(line: &str) -> u32 {
    let instruction = text::parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    instruction.encode().unwrap_or_else(|error| panic!("{line}: {error}"))
}

pub const CODE: u32 = 0x1_0000;
pub const DATA: u32 = 0x10_0000;
pub const DATA_BYTES: u32 = 0x1000;

/// Words from `CODE` on.
pub fn code(words: &[u32]) -> Section {
    let bytes = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    Section { name: ".text".to_owned(), kind: Kind::Code, first: CODE, bytes }
}

/// A linked program of these words, of which functions begin at these.
pub fn linked(words: &[u32], functions: &[u32]) -> Program {
    let function = |&index: &u32| Function { name: format!("f{index}"), first: CODE + 4 * index, bytes: 0 };
    Program {
        target: Target::Rv32,
        entry: CODE,
        sections: vec![code(words)],
        zeros: vec![Zeros { first: DATA, bytes: DATA_BYTES }],
        functions: functions.iter().map(function).collect(),
        references: Vec::new(),
        relocated: true,
    }
}

/// A program as it is, as an image.
pub fn unpacked(program: &Program) -> Image {
    Image {
        target: program.target,
        entry: program.entry,
        sections: program.sections.clone(),
        zeros: program.zeros.clone(),
        dictionary: Dictionary::default(),
        packed_text: Vec::new(),
        map: Vec::new(),
    }
}

/// A word of an image.
#[derive(Clone, Debug)]
pub enum Word {
    /// One instruction.
    Plain(String),
    /// Several. The distance of a branch is in bytes from this word.
    Packet(Format, Vec<String>),
    /// A number.
    Number(u32),
}

pub fn plain(line: &str) -> Word {
    Word::Plain(line.to_owned())
}

pub fn packet(format: Format, lines: &[&str]) -> Word {
    Word::Packet(format, lines.iter().map(|&line| line.to_owned()).collect())
}

/// The word of a packet, whose instructions go into the dictionary.
fn packed(entries: &mut Vec<u32>, format: Format, lines: &[String]) -> u32 {
    let mut found = Packet { format, slots: lines.len() as u8, indexes: [0; SLOTS_MAX], branch: None };
    for (slot, line) in lines.iter().enumerate() {
        // What is no instruction is written as a number.
        let number = line.strip_prefix(".word ").map(|digits| digits.parse().expect("a number"));
        let mut word = number.unwrap_or_else(|| word_of(line));
        if let Some(distance) = Target::Rv32.distance(word) {
            found.branch = Some(Branch { slot: slot as u8, distance_words: distance as i16 });
            word = Target::Rv32.with_distance(word, 0).expect("it is a branch");
        }
        let at = entries.iter().position(|&entry| entry == word).unwrap_or_else(|| {
            entries.push(word);
            entries.len() - 1
        });
        found.indexes[slot] = at as u8;
    }
    found.word(Target::Rv32).unwrap_or_else(|| panic!("{format:?} has no room for {lines:?}"))
}

/// An image that begins at `CODE`, with zeros to store to at `DATA`.
pub fn image(words: &[Word]) -> Image {
    let mut entries = Vec::new();
    let is_packed = words.iter().any(|word| matches!(word, Word::Packet(..)));
    let is_number = |word: &Word| matches!(word, Word::Number(_));
    let packed_text: Vec<PackedText> = (0..)
        .zip(words)
        .filter(|(_, word)| is_packed && !is_number(word))
        .map(|(number, _)| PackedText { first: CODE + 4 * number, bytes: 4 })
        .collect();
    let words: Vec<u32> = words
        .iter()
        .map(|word| match word {
            Word::Plain(line) => word_of(line),
            Word::Packet(format, lines) => packed(&mut entries, *format, lines),
            Word::Number(number) => *number,
        })
        .collect();
    Image {
        target: Target::Rv32,
        entry: CODE,
        sections: vec![code(&words)],
        zeros: vec![Zeros { first: DATA, bytes: DATA_BYTES }],
        dictionary: Dictionary::new(entries).expect("the program is small"),
        packed_text,
        map: Vec::new(),
    }
}
