//! The table of codes: what each is called, and where it is decoded.
//!
//! Owns: their names and numbers, and which maker and reader belongs to which of those that are decoded on fill. How
//! each works stands in the file of its name.

use super::onfill::coder::{Make, Read};
use super::onfill::{bitmask, codepack, fields, huffman};

/// A code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// Every instruction as it is.
    None,
    /// Words that stand for several instructions, cut where the core fetches (`packet`).
    Compacket,
    /// Half-words by classes of prefix and index (`onfill::codepack`).
    Codepack,
    /// A dictionary of words, and masks over them (`onfill::bitmask`).
    Bitmask,
    /// Prefix codes of half-words (`onfill::huffman`).
    Huffman,
    /// Prefix codes of the fields of instructions (`onfill::fields`).
    Fields,
}

/// What there is to know of a code.
#[derive(Debug)]
pub struct Row {
    /// Which.
    pub code: Code,
    /// What it is called.
    pub name: &'static str,
    /// Its number in an image, and what makes and reads its tables, when it is decoded on fill.
    pub on_fill: Option<OnFill>,
}

/// A code that is decoded on fill.
#[derive(Clone, Copy, Debug)]
pub struct OnFill {
    /// Its number in the head of a model; never given to another one.
    pub number: u8,
    /// Makes tables for words.
    pub make: Make,
    /// Reads tables.
    pub read: Read,
}

/// All of them, a line each.
pub const CODES: [Row; 6] = [
    Row { code: Code::None, name: "none", on_fill: None },
    Row { code: Code::Compacket, name: "compacket", on_fill: None },
    row(Code::Codepack, "codepack", 1, codepack::make, codepack::read),
    row(Code::Bitmask, "bitmask", 2, bitmask::make, bitmask::read),
    row(Code::Huffman, "huffman", 3, huffman::make, huffman::read),
    row(Code::Fields, "fields", 4, fields::make, fields::read),
];

const fn row(code: Code, name: &'static str, number: u8, make: Make, read: Read) -> Row {
    Row { code, name, on_fill: Some(OnFill { number, make, read }) }
}

impl Code {
    /// Its line of the table.
    pub fn row(self) -> &'static Row {
        CODES.iter().find(|row| row.code == self).expect("every code has a line")
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The code of that name.
    pub fn of_name(name: &str) -> Option<Code> {
        CODES.iter().find(|row| row.name == name).map(|row| row.code)
    }

    /// Those that are decoded on fill.
    pub fn on_fill() -> impl Iterator<Item = Code> {
        CODES.iter().filter(|row| row.on_fill.is_some()).map(|row| row.code)
    }
}

/// What reads the tables of the code with this number.
pub fn reader(number: u8) -> Option<Read> {
    CODES.iter().filter_map(|row| row.on_fill).find(|row| row.number == number).map(|row| row.read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_line_and_is_found_by_its_name_and_number() {
        for row in &CODES {
            assert_eq!(Code::of_name(row.name), Some(row.code));
            assert_eq!(row.code.row().name, row.name);
        }
        let numbers: Vec<u8> = CODES.iter().filter_map(|row| row.on_fill).map(|row| row.number).collect();
        assert_eq!(numbers, [1, 2, 3, 4]);
        assert!(numbers.iter().all(|&number| reader(number).is_some()));
        assert!(reader(0).is_none() && reader(5).is_none());
        assert_eq!(Code::of_name("lzma"), None);
    }
}
