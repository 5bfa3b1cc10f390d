//! Machine words to instructions and back, from the table's bit patterns.
//!
//! Owns: the decoded form ([`Instruction`]), its encoding, and which operand values fit an instruction. A field
//! stands at the same bits wherever the manual has it, so its letter says where. Text is `text`'s.
//!
//! Words whose unused bits are not zero are no instructions here, though a processor may let them pass: so every
//! instruction has one word.
//!
//! Invariant: `decode(encode(i)) == i` for every legal instruction, and `encode(decode(w)) == w` for every
//! legal word.

use std::fmt;
use std::sync::OnceLock;

use super::error::Unencodable;
use super::table::{Opcode, Operand, ROWS, Row};

/// What [`Instruction::rs2`] is when the second operand is the constant.
pub const CONSTANT: u8 = 32;

/// A decoded instruction, eight bytes. Fields that its operands do not name are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
// Copied as one word: in pieces it is half of what a simulated instruction costs.
#[repr(C, align(8))]
pub struct Instruction {
    /// Which instruction.
    pub opcode: Opcode,
    /// Register `d`; of a branch, whether the instruction behind it is annulled (0 or 1).
    pub rd: u8,
    /// Register `a`.
    pub rs1: u8,
    /// The second source register, or [`CONSTANT`].
    pub rs2: u8,
    /// The constant; a distance in bytes from the instruction itself; an address space; another unit's operation.
    /// Zero beside a second source register, so that the second operand is their sum.
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

/// A part of an operand that has bits of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// `d`: bits 29 to 25.
    Rd,
    /// `a`: bits 18 to 14.
    Rs1,
    /// `b`: bits 4 to 0.
    Rs2,
    /// Bits 13 to 0: a register, or a constant of this range.
    Second,
    /// `n`: bit 29.
    Annul,
    /// `x` or `p`: bits from 5 on.
    Middle,
    /// `k`: bits from 0 on.
    Low,
}

impl Operand {
    /// The fields that it is made of, each with the values that have an encoding.
    pub fn fields(self) -> &'static [(Field, Range)] {
        use Operand::*;
        const fn to(first: i32, last: i32) -> Range {
            Range { first, last, step: 1 }
        }
        const fn words(bits: u32) -> Range {
            Range { first: i32::MIN >> (30 - bits), last: (i32::MAX >> (30 - bits)) & !3, step: 4 }
        }
        const REGISTER: Range = to(0, 31);
        const ANCILLARY: Range = to(16, 31);
        const EVEN: Range = Range { first: 0, last: 30, step: 2 };
        const SIGNED13: Range = to(-4096, 4095);
        const COUNT: Range = to(0, 31);
        const TRAP: Range = to(0, 127);
        const SPACE: Range = to(0, 255);
        const OPERATION: Range = to(0, 511);
        const BITS22: Range = to(0, (1 << 22) - 1);
        const WORDS22: Range = words(22);
        const WORDS30: Range = words(30);
        const ANNUL: Range = to(0, 1);
        match self {
            Rs1 | UnitRs1 => &[(Field::Rs1, REGISTER)],
            Second => &[(Field::Second, SIGNED13)],
            Shift => &[(Field::Second, COUNT)],
            Rd | FloatRd | CopRd | UnitRd => &[(Field::Rd, REGISTER)],
            Pair | FloatPair => &[(Field::Rd, EVEN)],
            Address | Target => &[(Field::Rs1, REGISTER), (Field::Second, SIGNED13)],
            Alternate => &[(Field::Rs1, REGISTER), (Field::Rs2, REGISTER), (Field::Middle, SPACE)],
            TrapNumber => &[(Field::Rs1, REGISTER), (Field::Second, TRAP)],
            High22 | Constant22 => &[(Field::Low, BITS22)],
            Relative22 => &[(Field::Annul, ANNUL), (Field::Low, WORDS22)],
            Relative30 => &[(Field::Low, WORDS30)],
            State(_) => &[],
            AsrRs1 => &[(Field::Rs1, ANCILLARY)],
            AsrRd => &[(Field::Rd, ANCILLARY)],
            Opf => &[(Field::Middle, OPERATION)],
            UnitRs2 => &[(Field::Rs2, REGISTER)],
        }
    }

    /// How many of the lowest bits hold `k`.
    fn low_bits(self) -> u32 {
        if self == Operand::Relative30 { 30 } else { 22 }
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

/// The table, sorted for decoding: by `op` and, where that names a group, by `op2` or `op3`.
struct Index {
    fixed: Vec<Fixed>,
    rows: [Vec<Opcode>; 256],
}

fn key(word: u32) -> usize {
    let (op, op2, op3) = (word >> 30, word >> 22 & 7, word >> 19 & 0x3f);
    (op << 6 | [op2, 0, op3, op3][op as usize]) as usize
}

fn index() -> &'static Index {
    static INDEX: OnceLock<Index> = OnceLock::new();
    INDEX.get_or_init(|| {
        let fixed: Vec<Fixed> = ROWS.iter().map(fixed).collect();
        let mut rows = [const { Vec::new() }; 256];
        for row in ROWS {
            rows[key(fixed[row.opcode as usize].value)].push(row.opcode);
        }
        Index { fixed, rows }
    })
}

/// The value that a field's bits stand for; `None` where unused bits are not zero or the value has no meaning.
fn extract(
    instruction: &mut Instruction,
    operand: Operand,
    field: Field,
    range: Range,
    word: u32,
) -> Option<()> {
    match field {
        Field::Rd => instruction.rd = (word >> 25 & 31) as u8,
        Field::Rs1 => instruction.rs1 = (word >> 14 & 31) as u8,
        Field::Rs2 => instruction.rs2 = (word & 31) as u8,
        Field::Annul => instruction.rd = (word >> 29 & 1) as u8,
        Field::Second if word >> 13 & 1 == 0 => {
            instruction.rs2 = (word & 31) as u8;
            return (word & 0x1fe0 == 0).then_some(());
        }
        Field::Second => {
            instruction.rs2 = CONSTANT;
            let signed = (word << 19) as i32 >> 19;
            instruction.k = if range.first < 0 { signed } else { signed & 0x1fff };
        }
        Field::Middle => instruction.k = (word >> 5 & range.last as u32) as i32,
        Field::Low => {
            let unused = 32 - operand.low_bits();
            let bits = word << unused;
            instruction.k =
                if range.first < 0 { bits as i32 >> unused << 2 } else { (bits >> unused) as i32 };
        }
    }
    range.has(instruction.field(field)).then_some(())
}

impl Range {
    fn has(self, value: i32) -> bool {
        value >= self.first && value <= self.last && value.wrapping_sub(self.first) % self.step == 0
    }
}

impl Instruction {
    /// An instruction whose operands are all zero, the second one a register.
    pub const fn new(opcode: Opcode) -> Instruction {
        Instruction { opcode, rd: 0, rs1: 0, rs2: 0, k: 0 }
    }

    /// Whether it is a branch that annuls the instruction behind it (unless it is conditional and taken).
    pub fn annuls(&self) -> bool {
        self.rd != 0 && matches!(self.opcode.row().operands, [Operand::Relative22])
    }

    fn field(&self, field: Field) -> i32 {
        match field {
            Field::Rd | Field::Annul => self.rd.into(),
            Field::Rs1 => self.rs1.into(),
            Field::Rs2 => self.rs2.into(),
            Field::Second | Field::Middle | Field::Low => self.k,
        }
    }

    /// Its word.
    ///
    /// # Errors
    /// An operand whose value has no bits.
    pub fn encode(&self) -> Result<u32, Unencodable> {
        let mut word = index().fixed[self.opcode as usize].value;
        for &operand in self.opcode.row().operands {
            for &(field, expected) in operand.fields() {
                word |= self.insert(operand, field, expected)?;
            }
        }
        Ok(word)
    }

    fn insert(&self, operand: Operand, field: Field, expected: Range) -> Result<u32, Unencodable> {
        let found = self.field(field);
        let error = |found, expected| Unencodable { opcode: self.opcode, operand, found, expected };
        if field == Field::Second && self.rs2 != CONSTANT {
            return match (self.rs2, self.k) {
                (0..=31, 0) => Ok(self.rs2.into()),
                (0..=31, k) => Err(error(k, Range { first: 0, last: 0, step: 1 })),
                (rs2, _) => Err(error(rs2.into(), Range { first: 0, last: 31, step: 1 })),
            };
        }
        if !expected.has(found) {
            return Err(error(found, expected));
        }
        let bits = found as u32;
        Ok(match field {
            Field::Rd => bits << 25,
            Field::Rs1 => bits << 14,
            Field::Rs2 => bits,
            Field::Annul => bits << 29,
            Field::Second => 1 << 13 | bits & 0x1fff,
            Field::Middle => bits << 5,
            Field::Low if expected.first < 0 => bits >> 2 & (u32::MAX >> (32 - operand.low_bits())),
            Field::Low => bits,
        })
    }

    /// Whether the word is of the loads and stores in other address spaces, which only supervisors may execute, even
    /// where it is no instruction.
    pub fn is_for_supervisors(word: u32) -> bool {
        word >> 30 == 3 && word >> 23 & 3 == 1
    }

    /// The instruction of a word; `None` when V8 has no such.
    pub fn decode(word: u32) -> Option<Instruction> {
        let index = index();
        let fits = |opcode: Opcode| {
            let Fixed { mask, value } = index.fixed[opcode as usize];
            word & mask == value
        };
        let opcode = index.rows[key(word)].iter().copied().find(|&opcode| fits(opcode))?;
        let mut found = Instruction::new(opcode);
        for &operand in opcode.row().operands {
            for &(field, range) in operand.fields() {
                extract(&mut found, operand, field, range, word)?;
            }
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where each letter of the patterns stands.
    fn letters(operand: Operand) -> &'static [(char, u32, u32)] {
        use Operand::*;
        match operand {
            Rs1 | UnitRs1 | AsrRs1 => &[('a', 14, 5)],
            Second => &[('s', 0, 14)],
            Shift => &[('h', 0, 14)],
            Rd | Pair | FloatRd | FloatPair | CopRd | UnitRd | AsrRd => &[('d', 25, 5)],
            Address | Target => &[('a', 14, 5), ('s', 0, 14)],
            Alternate => &[('a', 14, 5), ('x', 5, 8), ('b', 0, 5)],
            TrapNumber => &[('a', 14, 5), ('t', 0, 14)],
            High22 | Constant22 => &[('k', 0, 22)],
            Relative22 => &[('n', 29, 1), ('k', 0, 22)],
            Relative30 => &[('k', 0, 30)],
            State(_) => &[],
            Opf => &[('p', 5, 9)],
            UnitRs2 => &[('b', 0, 5)],
        }
    }

    #[test]
    fn every_letter_of_a_pattern_is_a_field_of_its_operands_and_stands_at_its_bits() {
        for row in ROWS {
            let digits: Vec<char> = row.pattern.chars().filter(|&digit| digit != ' ').collect();
            assert_eq!(digits.len(), 32, "{:?}", row.opcode);
            let mut expected: Vec<char> =
                digits.iter().map(|&digit| if digit.is_ascii_digit() { digit } else { '?' }).collect();
            for &(letter, lowest, bits) in row.operands.iter().flat_map(|&operand| letters(operand)) {
                for bit in lowest..lowest + bits {
                    expected[31 - bit as usize] = letter;
                }
            }
            assert_eq!(digits, expected, "{:?}", row.opcode);
        }
    }
}
