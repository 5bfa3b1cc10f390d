//! Machine words to instructions and back, from the table's bit patterns.
//!
//! Owns: the decoded form ([`Instruction`]), its encoding, and which operand values fit an instruction. Text is
//! `text`'s.
//!
//! Words whose unused bits are not zero are no instructions here, though a processor may let them pass: so every
//! instruction has one word.
//!
//! Invariant: `decode(encode(i)) == i` for every legal instruction, and `encode(decode(w)) == w` for every
//! legal word.

use std::fmt;
use std::sync::OnceLock;

use super::custom;
use super::error::Unencodable;
use super::table::{Opcode, Operand, ROWS, Row};

/// A decoded instruction, eight bytes. Fields that its operands do not name are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
// Copied as one word: in pieces it is a good part of what a simulated instruction costs.
#[repr(C, align(8))]
pub struct Instruction {
    /// Which instruction.
    pub opcode: Opcode,
    /// Register `d`.
    pub rd: u8,
    /// Register `a`, or a constant that stands at its bits.
    pub rs1: u8,
    /// Register `b`.
    pub rs2: u8,
    /// The constant; a distance in bytes from the instruction itself; the number of a state register; what a fence
    /// orders before (bits 7 to 4) and behind (bits 3 to 0).
    pub k: i32,
}

const _: () = assert!(size_of::<Option<Instruction>>() == 8);

/// The values that fit an operand: from `first` to `last` in steps of `step`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The least value.
    pub first: i32,
    /// The greatest value.
    pub last: i32,
    /// The distance between neighbours.
    pub step: i32,
}

impl Range {
    fn has(self, value: i32) -> bool {
        value >= self.first && value <= self.last && value.wrapping_sub(self.first) % self.step == 0
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.first, self.last)?;
        if self.step != 1 {
            write!(f, " in steps of {}", self.step)?;
        }
        Ok(())
    }
}

/// A part of an operand that has bits of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// `d`: bits 11 to 7.
    Rd,
    /// `a`: bits 19 to 15.
    Rs1,
    /// `b`: bits 24 to 20.
    Rs2,
    /// Bits 31 to 20 (the manual's I-immediate).
    Upper12,
    /// Bits 24 to 20.
    Count,
    /// Bits 31 to 25 and 11 to 7 (S-immediate).
    Store,
    /// The same bits, of a distance (B-immediate).
    Branch,
    /// Bits 31 to 12 of a distance (J-immediate).
    Jump,
    /// Bits 31 to 12 (U-immediate).
    High,
    /// Bits 27 to 24.
    Before,
    /// Bits 23 to 20.
    After,
}

impl Operand {
    /// The fields that it is made of, each with the values that have an encoding.
    pub fn fields(self) -> &'static [(Field, Range)] {
        use Operand::*;
        const fn to(first: i32, last: i32) -> Range {
            Range { first, last, step: 1 }
        }
        const fn halves(bits: u32) -> Range {
            Range { first: -(1 << bits), last: (1 << bits) - 2, step: 2 }
        }
        const REGISTER: Range = to(0, 31);
        const SIGNED12: Range = to(-2048, 2047);
        const COUNT: Range = to(0, 31);
        const HIGH: Range = to(0, (1 << 20) - 1);
        const NUMBER: Range = to(0, 4095);
        const ORDER: Range = to(0, 15);
        const BRANCH: Range = halves(12);
        const JUMP: Range = halves(20);
        match self {
            Rd => &[(Field::Rd, REGISTER)],
            Rs1 | Bits => &[(Field::Rs1, REGISTER)],
            Rs2 => &[(Field::Rs2, REGISTER)],
            Immediate => &[(Field::Upper12, SIGNED12)],
            Count => &[(Field::Count, COUNT)],
            Address => &[(Field::Upper12, SIGNED12), (Field::Rs1, REGISTER)],
            StoreAddress => &[(Field::Store, SIGNED12), (Field::Rs1, REGISTER)],
            Branch => &[(Field::Branch, BRANCH)],
            Jump => &[(Field::Jump, JUMP)],
            High => &[(Field::High, HIGH)],
            Csr => &[(Field::Upper12, NUMBER)],
            Before => &[(Field::Before, ORDER)],
            After => &[(Field::After, ORDER)],
        }
    }
}

/// The bits of a constant that stand together in a word: how many, the lowest one's number in the constant and in the
/// word.
type Piece = (u32, u32, u32);

impl Field {
    /// Where the pieces of a constant stand; nothing for registers.
    fn pieces(self) -> &'static [Piece] {
        match self {
            Field::Rd | Field::Rs1 | Field::Rs2 => &[],
            Field::Upper12 => &[(12, 0, 20)],
            Field::Count => &[(5, 0, 20)],
            Field::Store => &[(7, 5, 25), (5, 0, 7)],
            Field::Branch => &[(1, 12, 31), (6, 5, 25), (4, 1, 8), (1, 11, 7)],
            Field::Jump => &[(1, 20, 31), (10, 1, 21), (1, 11, 20), (8, 12, 12)],
            Field::High => &[(20, 0, 12)],
            Field::Before => &[(4, 0, 24)],
            Field::After => &[(4, 0, 20)],
        }
    }
}

/// The digits of a pattern that are not letters.
#[derive(Clone, Copy)]
struct Fixed {
    mask: u32,
    value: u32,
}

fn fixed(row: &Row) -> Fixed {
    let mut found = Fixed { mask: 0, value: 0 };
    let digits = row.pattern.bytes().filter(|&byte| byte != b' ');
    for digit in digits {
        found.mask = found.mask << 1 | u32::from(matches!(digit, b'0' | b'1'));
        found.value = found.value << 1 | u32::from(digit == b'1');
    }
    found
}

/// The table, sorted for decoding by the lowest seven bits.
struct Index {
    fixed: Vec<Fixed>,
    rows: [Vec<Opcode>; 128],
}

fn index() -> &'static Index {
    static INDEX: OnceLock<Index> = OnceLock::new();
    INDEX.get_or_init(|| {
        let fixed: Vec<Fixed> = ROWS.iter().map(fixed).collect();
        let mut rows = [const { Vec::new() }; 128];
        for row in ROWS {
            rows[(fixed[row.opcode as usize].value & 0x7f) as usize].push(row.opcode);
        }
        Index { fixed, rows }
    })
}

impl Instruction {
    /// An instruction whose operands are all zero.
    pub const fn new(opcode: Opcode) -> Instruction {
        Instruction { opcode, rd: 0, rs1: 0, rs2: 0, k: 0 }
    }

    /// What stands in a field.
    pub fn field(&self, field: Field) -> i32 {
        match field {
            Field::Rd => self.rd.into(),
            Field::Rs1 => self.rs1.into(),
            Field::Rs2 => self.rs2.into(),
            Field::Before => self.k >> 4,
            Field::After => self.k & 15,
            _ => self.k,
        }
    }

    /// Puts a value into a field; whether it has an encoding is told when it is encoded.
    pub fn set_field(&mut self, field: Field, value: i32) {
        match field {
            Field::Rd => self.rd = value as u8,
            Field::Rs1 => self.rs1 = value as u8,
            Field::Rs2 => self.rs2 = value as u8,
            Field::Before => self.k = self.k & 15 | value << 4,
            Field::After => self.k = self.k & !15 | value & 15,
            _ => self.k = value,
        }
    }

    /// Its word.
    ///
    /// # Errors
    /// An operand whose value has no bits.
    pub fn encode(&self) -> Result<u32, Unencodable> {
        if self.opcode == Opcode::Custom {
            return Ok(custom::encode(*self));
        }
        let mut word = index().fixed[self.opcode as usize].value;
        for &operand in self.opcode.row().operands {
            for &(field, expected) in operand.fields() {
                let found = self.field(field);
                if !expected.has(found) {
                    return Err(Unencodable { opcode: self.opcode, operand, found, expected });
                }
                word |= insert(field, found as u32);
            }
        }
        Ok(word)
    }

    /// The instruction of a word; `None` when RV32IM has no such, as for those of one's own (`custom`).
    pub fn decode(word: u32) -> Option<Instruction> {
        let index = index();
        let fits = |opcode: Opcode| {
            let Fixed { mask, value } = index.fixed[opcode as usize];
            word & mask == value
        };
        let opcode = index.rows[(word & 0x7f) as usize].iter().copied().find(|&opcode| fits(opcode))?;
        let mut found = Instruction::new(opcode);
        for &(field, range) in opcode.row().operands.iter().flat_map(|operand| operand.fields()) {
            found.set_field(field, extract(field, range, word));
        }
        Some(found)
    }

    /// Whether a word begins with a compressed instruction, which RV32IM has none of.
    pub const fn is_compressed(word: u32) -> bool {
        word & 3 != 3
    }
}

/// The bits of a value in a word.
fn insert(field: Field, bits: u32) -> u32 {
    match field {
        Field::Rd => bits << 7,
        Field::Rs1 => bits << 15,
        Field::Rs2 => bits << 20,
        _ => {
            let pieces = field.pieces().iter();
            pieces.fold(0, |word, &(count, of, at)| word | (bits >> of & ((1 << count) - 1)) << at)
        }
    }
}

/// The value that a field's bits stand for.
fn extract(field: Field, range: Range, word: u32) -> i32 {
    match field {
        Field::Rd => (word >> 7 & 31) as i32,
        Field::Rs1 => (word >> 15 & 31) as i32,
        Field::Rs2 => (word >> 20 & 31) as i32,
        _ => {
            let pieces = field.pieces().iter();
            let bits =
                pieces.fold(0, |bits, &(count, of, at)| bits | (word >> at & ((1 << count) - 1)) << of);
            if range.first >= 0 || word >> 31 == 0 {
                return bits as i32;
            }
            // The sign is the word's highest bit: all above it in the constant are like it.
            bits as i32 | range.first
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where each letter of the patterns stands: the lowest bit and how many.
    fn letters(field: Field) -> &'static [(char, u32, u32)] {
        match field {
            Field::Rd => &[('d', 7, 5)],
            Field::Rs1 => &[('a', 15, 5)],
            Field::Rs2 => &[('b', 20, 5)],
            Field::Upper12 => &[('k', 20, 12)],
            Field::Count => &[('k', 20, 5)],
            Field::Store | Field::Branch => &[('k', 25, 7), ('k', 7, 5)],
            Field::Jump | Field::High => &[('k', 12, 20)],
            Field::Before => &[('k', 24, 4)],
            Field::After => &[('k', 20, 4)],
        }
    }

    #[test]
    fn every_letter_of_a_pattern_is_a_field_of_its_operands_and_stands_at_its_bits() {
        for row in ROWS {
            let digits: Vec<char> = row.pattern.chars().filter(|&digit| digit != ' ').collect();
            assert_eq!(digits.len(), 32, "{:?}", row.opcode);
            let mut expected: Vec<char> =
                digits.iter().map(|&digit| if digit.is_ascii_digit() { digit } else { '?' }).collect();
            let fields = row.operands.iter().flat_map(|operand| operand.fields());
            for &(letter, lowest, bits) in fields.flat_map(|&(field, _)| letters(field)) {
                for bit in lowest..lowest + bits {
                    expected[31 - bit as usize] = letter;
                }
            }
            assert_eq!(digits, expected, "{:?}", row.opcode);
        }
    }

    #[test]
    fn the_pieces_of_a_constant_are_all_its_bits_once() {
        for row in ROWS {
            for &(field, range) in row.operands.iter().flat_map(|operand| operand.fields()) {
                let bits = |&(count, of, _): &Piece| ((1_u32 << count) - 1) << of;
                let told: u32 = field.pieces().iter().map(bits).sum();
                let needed = (range.last - range.first) as u32;
                assert!(field.pieces().is_empty() || told == needed, "{field:?}: {told:#x}, {needed:#x}");
            }
        }
    }
}
