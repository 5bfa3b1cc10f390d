//! Small images for tests, packet by packet, from assembly text.
#![allow(dead_code)] // each test file uses some of it

use isa::sparc::text;
use pack::code::packet::{Branch, Dictionary, Format, Packet, SLOTS_MAX};
use pack::image::{Image, Kind, PackedText, Section, Zeros};
use pack::target::Target;

/// A word of a program.
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

pub fn word_of(line: &str) -> u32 {
    let instruction = text::parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    instruction.encode().unwrap_or_else(|error| panic!("{line}: {error}"))
}

/// Instructions of packets, in the order in which they were met.
#[derive(Clone, Debug, Default)]
pub struct Packer {
    entries: Vec<u32>,
}

impl Packer {
    fn index(&mut self, word: u32) -> u8 {
        let at = self.entries.iter().position(|&entry| entry == word).unwrap_or_else(|| {
            self.entries.push(word);
            self.entries.len() - 1
        });
        u8::try_from(at).expect("the program is small")
    }

    fn word(&mut self, word: &Word) -> u32 {
        match word {
            Word::Plain(line) => word_of(line),
            Word::Number(number) => *number,
            Word::Packet(format, lines) => {
                let mut found = Packet {
                    format: *format,
                    slots: lines.len() as u8,
                    indexes: [0; SLOTS_MAX],
                    branch: None,
                };
                for (slot, line) in lines.iter().enumerate() {
                    let mut word = word_of(line);
                    if let Some(distance) = Target::Sparc.distance(word) {
                        let distance_words = distance as i16;
                        found.branch = Some(Branch { slot: slot as u8, distance_words });
                        word = Target::Sparc.with_distance(word, 0).expect("it is a branch");
                    }
                    found.indexes[slot] = self.index(word);
                }
                found.word(Target::Sparc).unwrap_or_else(|| panic!("{format:?} has no room for {lines:?}"))
            }
        }
    }

    pub fn bytes(&mut self, words: &[Word]) -> Vec<u8> {
        words.iter().flat_map(|word| self.word(word).to_be_bytes()).collect()
    }

    pub fn dictionary(&self) -> Dictionary {
        Dictionary::new(self.entries.clone()).expect("the program is small")
    }
}

pub const CODE: u32 = 0x4000_1000;
pub const DATA: u32 = 0x4001_0000;
pub const DATA_BYTES: u32 = 0x2000;

/// What of words from an address on is packed text where there are packets: all but numbers.
pub fn packed_text(first: u32, is_number: impl Iterator<Item = bool>) -> Vec<PackedText> {
    let text = |(number, is_number): (u32, bool)| {
        (!is_number).then_some(PackedText { first: first + 4 * number, bytes: 4 })
    };
    (0..).zip(is_number).filter_map(text).collect()
}

/// An image of a program from `CODE` on that begins there, with zeros to store to at `DATA`.
pub fn image(words: &[Word]) -> Image {
    let mut packer = Packer::default();
    let bytes = packer.bytes(words);
    let code = Section { name: ".text".to_owned(), kind: Kind::Code, first: CODE, bytes };
    Image {
        target: Target::Sparc,
        entry: CODE,
        sections: vec![code],
        zeros: vec![Zeros { first: DATA, bytes: DATA_BYTES }],
        dictionary: packer.dictionary(),
        packed_text: match packer.entries.is_empty() {
            true => Vec::new(),
            false => packed_text(CODE, words.iter().map(|word| matches!(word, Word::Number(_)))),
        },
        map: Vec::new(),
    }
}

/// Random numbers from a seed (SplitMix64).
pub fn mixed(seed: u64) -> u64 {
    let mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}
