//! Machine words to instructions and back, from the table's bit patterns.
//!
//! Owns: the decoded form ([`Instruction`]), its encoding, and which operand values fit an instruction.
//! The decoder is a table of all 65,536 first words, built once from the patterns. Text is `text`'s.
//!
//! Invariant: `decode(encode(i)) == i` for every legal instruction, and `encode(decode(w)) == w` for every
//! legal word.

use std::fmt;
use std::sync::OnceLock;

use super::error::Unencodable;
use super::table::{Opcode, Operand, ROWS, Row};

/// A decoded instruction, eight bytes. Fields that its operands do not name are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// Which instruction.
    pub opcode: Opcode,
    /// Register `d` (the lower one of a pair).
    pub d: u8,
    /// Register `r` (the lower one of a pair).
    pub r: u8,
    /// Bit number `b`, status bit `s`, or displacement `q`.
    pub b: u8,
    /// Constant `K`; I/O address `A`; address or distance `k` (words in flash, bytes in data space;
    /// distances are signed and count from the next instruction).
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

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.first, self.last)?;
        if self.step != 1 {
            write!(f, " in steps of {}", self.step)?;
        }
        Ok(())
    }
}

/// The bits of a 16- or 32-digit pattern, the first word uppermost when there are two.
struct Pattern {
    fixed_mask: u32,
    fixed_value: u32,
    bits: u32,
}

/// Reads a pattern's fixed digits.
fn pattern(row: &Row) -> Pattern {
    let mut found = Pattern { fixed_mask: 0, fixed_value: 0, bits: 0 };
    for digit in row.pattern.bytes().filter(|&byte| byte != b' ') {
        found.bits += 1;
        found.fixed_mask = found.fixed_mask << 1 | u32::from(matches!(digit, b'0' | b'1'));
        found.fixed_value = found.fixed_value << 1 | u32::from(digit == b'1');
    }
    assert!(found.bits == 16 * row.opcode.words(), "{}: pattern and words disagree", row.mnemonic);
    found
}

/// The positions of `letter` in the pattern.
fn field_mask(row: &Row, letter: u8) -> u32 {
    row.pattern
        .bytes()
        .filter(|&byte| byte != b' ')
        .fold(0, |mask, digit| mask << 1 | u32::from(digit == letter))
}

/// Collects the bits of `word` under `mask`, most significant first.
fn gather(word: u32, mask: u32) -> u32 {
    (0..32).rev().filter(|bit| mask >> bit & 1 == 1).fold(0, |value, bit| value << 1 | word >> bit & 1)
}

/// Spreads `value` over the bits of `mask`.
fn scatter(value: u32, mask: u32) -> u32 {
    let positions = (0..32).filter(|bit| mask >> bit & 1 == 1);
    positions.enumerate().fold(0, |word, (index, bit)| word | (value >> index & 1) << bit)
}

impl Operand {
    /// The letter of its field in the patterns; `None` for words without a field.
    fn letter(self) -> Option<u8> {
        use Operand::*;
        match self {
            Rd | RdHigh | RdMiddle | RdPair | RdWord => Some(b'd'),
            Rr | RrHigh | RrMiddle | RrPair => Some(b'r'),
            K8 | K6 => Some(b'K'),
            Relative7 | Relative12 | Address22 | Address16 => Some(b'k'),
            Io6 | Io5 => Some(b'A'),
            Bit => Some(b'b'),
            Flag => Some(b's'),
            DisplacedY | DisplacedZ => Some(b'q'),
            Pointer(_) => None,
        }
    }

    /// The values that have an encoding.
    pub fn range(self) -> Range {
        use Operand::*;
        let (first, last, step) = match self {
            Rd | Rr => (0, 31, 1),
            RdHigh | RrHigh => (16, 31, 1),
            RdMiddle | RrMiddle => (16, 23, 1),
            RdPair | RrPair => (0, 30, 2),
            RdWord => (24, 30, 2),
            K8 => (0, 255, 1),
            K6 => (0, 63, 1),
            Relative7 => (-64, 63, 1),
            Relative12 => (-2048, 2047, 1),
            Address22 => (0, (1 << 22) - 1, 1),
            Address16 => (0, 0xffff, 1),
            Io6 => (0, 63, 1),
            Io5 => (0, 31, 1),
            Bit | Flag => (0, 7, 1),
            DisplacedY | DisplacedZ => (0, 63, 1),
            Pointer(_) => (0, 0, 1),
        };
        Range { first, last, step }
    }

    /// The value that a field's bits stand for.
    fn value_of(self, bits: u32) -> i32 {
        let range = self.range();
        match self {
            Operand::Relative7 => (bits as i32) << 25 >> 25,
            Operand::Relative12 => (bits as i32) << 20 >> 20,
            _ => range.first + bits as i32 * range.step,
        }
    }

    /// The bits that stand for a value.
    fn bits_of(self, value: i32) -> Option<u32> {
        let Range { first, last, step } = self.range();
        if value < first || value > last || (value - first) % step != 0 {
            return None;
        }
        Some(match self {
            Operand::Relative7 | Operand::Relative12 => value as u32,
            _ => ((value - first) / step) as u32,
        })
    }
}

impl Instruction {
    /// An instruction without operands.
    pub const fn new(opcode: Opcode) -> Instruction {
        Instruction { opcode, d: 0, r: 0, b: 0, k: 0 }
    }

    /// The value of one of its operands.
    pub fn operand(&self, operand: Operand) -> i32 {
        match operand.letter() {
            Some(b'd') => self.d.into(),
            Some(b'r') => self.r.into(),
            Some(b'K' | b'k' | b'A') => self.k,
            Some(_) => self.b.into(),
            None => 0,
        }
    }

    /// Sets the value of one of its operands. A register or bit number beyond a byte is kept unencodable.
    pub fn set_operand(&mut self, operand: Operand, value: i32) {
        let narrow = u8::try_from(value).unwrap_or(u8::MAX);
        match operand.letter() {
            Some(b'd') => self.d = narrow,
            Some(b'r') => self.r = narrow,
            Some(b'K' | b'k' | b'A') => self.k = value,
            Some(_) => self.b = narrow,
            None => {}
        }
    }

    /// Its words of flash; the second one only of an instruction of two words.
    pub fn encode(&self) -> Result<(u16, Option<u16>), Unencodable> {
        let row = self.opcode.row();
        let Pattern { fixed_value, bits, .. } = pattern(row);
        let mut word = fixed_value;
        for &operand in row.operands {
            let Some(letter) = operand.letter() else { continue };
            let found = self.operand(operand);
            let Some(bits) = operand.bits_of(found) else {
                let expected = operand.range();
                return Err(Unencodable { opcode: self.opcode, operand, found, expected });
            };
            word |= scatter(bits, field_mask(row, letter));
        }
        Ok(if bits == 32 { ((word >> 16) as u16, Some(word as u16)) } else { (word as u16, None) })
    }

    /// The instruction that begins with `first`; `second` is the word behind it, if there is one.
    /// `None` when these cores have no such instruction, or when its second word is missing.
    pub fn decode(first: u16, second: Option<u16>) -> Option<Instruction> {
        let mut found = first_words()[usize::from(first)]?;
        if found.opcode.words() == 2 {
            // The second word is the lower 16 bits of `k` in all four instructions that have one.
            found.k |= i32::from(second?);
        }
        Some(found)
    }
}

/// All first words, decoded as if a second word of zero followed.
fn first_words() -> &'static [Option<Instruction>] {
    static WORDS: OnceLock<Vec<Option<Instruction>>> = OnceLock::new();
    WORDS.get_or_init(|| {
        let mut words = vec![None; 0x10000];
        for row in ROWS {
            let Pattern { fixed_mask, fixed_value, bits } = pattern(row);
            let shift = bits - 16;
            let free = !(fixed_mask >> shift) & 0xffff;
            for choice in 0..1 << free.count_ones() {
                let word = fixed_value >> shift | scatter(choice, free);
                let slot = &mut words[word as usize];
                assert!(slot.is_none(), "{word:#06x} is `{}` and something before it", row.mnemonic);
                *slot = Some(fields(row, word << shift));
            }
        }
        words
    })
}

/// The operands in a word that is known to match the row.
fn fields(row: &Row, word: u32) -> Instruction {
    let mut instruction = Instruction::new(row.opcode);
    for &operand in row.operands {
        if let Some(letter) = operand.letter() {
            let value = operand.value_of(gather(word, field_mask(row, letter)));
            instruction.set_operand(operand, value);
        }
    }
    instruction
}
