//! One instruction's assembly text, as GNU as takes it.
//!
//! Owns: mnemonics, operand shapes, names of registers, and the pseudo-instructions that make a listing readable
//! ([`ALIASES`]). A distance is `.+N` or `.-N`, in bytes from the instruction itself. Symbols, directives and comments
//! are not instructions and not known here.

use std::fmt;

use super::bits::Instruction;
use super::custom;
use super::error::TextError;
use super::table::{Opcode, Operand, ROWS};

const NAMES: [&str; 32] = [
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4", "a5", "a6",
    "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6",
];

/// The state registers that there are, by number and name: the counters that a program can read.
pub const COUNTERS: [(i32, &str); 6] = [
    (0xc00, "cycle"),
    (0xc01, "time"),
    (0xc02, "instret"),
    (0xc80, "cycleh"),
    (0xc81, "timeh"),
    (0xc82, "instreth"),
];

/// What a fence orders, the highest bit first: input and output of devices, reads and writes of memory.
const ORDERED: [(i32, char); 4] = [(8, 'i'), (4, 'o'), (2, 'r'), (1, 'w')];

/// The name of a general register, 0 to 31.
pub fn register(number: u8) -> &'static str {
    NAMES[usize::from(number & 31)]
}

/// A second name of an instruction some of whose operands have fixed values.
#[derive(Debug)]
pub struct Alias {
    /// As GNU as spells it.
    pub mnemonic: &'static str,
    /// Operands in the order of the text.
    pub operands: &'static [Operand],
    /// The instruction that it stands for, with the values of the operands that are not shown.
    pub stands_for: Instruction,
}

const fn alias(mnemonic: &'static str, operands: &'static [Operand], stands_for: Instruction) -> Alias {
    Alias { mnemonic, operands, stands_for }
}

const fn of(opcode: Opcode) -> Instruction {
    Instruction::new(opcode)
}

/// The pseudo-instructions, what is printed first before what would be printed too.
pub const ALIASES: &[Alias] = {
    use Operand::{Branch, Csr, Immediate, Jump, Rd, Rs1, Rs2};
    &[
        alias("nop", &[], of(Opcode::Addi)),
        alias("li", &[Rd, Immediate], of(Opcode::Addi)),
        alias("mv", &[Rd, Rs1], of(Opcode::Addi)),
        alias("not", &[Rd, Rs1], Instruction { k: -1, ..of(Opcode::Xori) }),
        alias("neg", &[Rd, Rs2], of(Opcode::Sub)),
        alias("seqz", &[Rd, Rs1], Instruction { k: 1, ..of(Opcode::Sltiu) }),
        alias("snez", &[Rd, Rs2], of(Opcode::Sltu)),
        alias("beqz", &[Rs1, Branch], of(Opcode::Beq)),
        alias("bnez", &[Rs1, Branch], of(Opcode::Bne)),
        alias("bltz", &[Rs1, Branch], of(Opcode::Blt)),
        alias("bgez", &[Rs1, Branch], of(Opcode::Bge)),
        alias("blez", &[Rs2, Branch], of(Opcode::Bge)),
        alias("bgtz", &[Rs2, Branch], of(Opcode::Blt)),
        alias("j", &[Jump], of(Opcode::Jal)),
        alias("ret", &[], Instruction { rs1: 1, ..of(Opcode::Jalr) }),
        alias("jr", &[Rs1], of(Opcode::Jalr)),
        alias("csrr", &[Rd, Csr], of(Opcode::Csrrs)),
    ]
};

impl Alias {
    /// Whether the instruction differs from what it stands for in nothing but the operands shown.
    fn fits(&self, instruction: &Instruction) -> bool {
        let mut hidden = *instruction;
        for &(field, _) in self.operands.iter().flat_map(|operand| operand.fields()) {
            hidden.set_field(field, self.stands_for.field(field));
        }
        hidden == self.stands_for
    }
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mnemonic, operands) = match ALIASES.iter().find(|alias| alias.fits(self)) {
            Some(alias) => (alias.mnemonic, alias.operands),
            // Its name is in its table.
            None if self.opcode == Opcode::Custom => {
                return write!(f, ".4byte {:#010x}", custom::encode(*self));
            }
            None => (self.opcode.row().mnemonic, self.opcode.row().operands),
        };
        f.write_str(mnemonic)?;
        for (index, &operand) in operands.iter().enumerate() {
            f.write_str(if index == 0 { " " } else { ", " })?;
            self.write(f, operand)?;
        }
        Ok(())
    }
}

impl Instruction {
    fn write(&self, f: &mut fmt::Formatter<'_>, operand: Operand) -> fmt::Result {
        match operand {
            Operand::Rd => f.write_str(register(self.rd)),
            Operand::Rs1 => f.write_str(register(self.rs1)),
            Operand::Rs2 => f.write_str(register(self.rs2)),
            Operand::Immediate | Operand::Count => write!(f, "{}", self.k),
            Operand::Address | Operand::StoreAddress => write!(f, "{}({})", self.k, register(self.rs1)),
            Operand::Branch | Operand::Jump => write!(f, ".{:+}", self.k),
            Operand::High => write!(f, "{:#x}", self.k),
            Operand::Csr => match COUNTERS.iter().find(|(number, _)| *number == self.k) {
                Some((_, name)) => f.write_str(name),
                None => write!(f, "{:#x}", self.k),
            },
            Operand::Bits => write!(f, "{}", self.rs1),
            Operand::Before => write_ordered(f, self.k >> 4),
            Operand::After => write_ordered(f, self.k & 15),
        }
    }

    /// Takes the value of an operand from its text, without blanks; `None` where it is none of its shapes.
    fn read(&mut self, operand: Operand, text: &str) -> Option<()> {
        match operand {
            Operand::Rd => self.rd = number_of(text)?,
            Operand::Rs1 => self.rs1 = number_of(text)?,
            Operand::Rs2 => self.rs2 = number_of(text)?,
            Operand::Immediate | Operand::Count | Operand::High => self.k = number(text)?,
            Operand::Address | Operand::StoreAddress => {
                let (constant, register) = text.strip_suffix(')')?.split_once('(')?;
                self.k = if constant.is_empty() { 0 } else { number(constant)? };
                self.rs1 = number_of(register)?;
            }
            Operand::Branch | Operand::Jump => self.k = number(text.strip_prefix('.')?)?,
            Operand::Csr => {
                let counter = COUNTERS.iter().find(|(_, name)| *name == text);
                self.k = counter.map_or_else(|| number(text), |(number, _)| Some(*number))?;
            }
            Operand::Bits => self.rs1 = u8::try_from(number(text)?).ok()?,
            Operand::Before => self.k = self.k & 15 | read_ordered(text)? << 4,
            Operand::After => self.k = self.k & !15 | read_ordered(text)?,
        }
        Some(())
    }
}

fn write_ordered(f: &mut fmt::Formatter<'_>, set: i32) -> fmt::Result {
    if set == 0 {
        return f.write_str("0");
    }
    ORDERED.iter().filter(|(bit, _)| set & bit != 0).try_for_each(|(_, letter)| write!(f, "{letter}"))
}

/// The letters in their order, each once; or `0` for none.
fn read_ordered(text: &str) -> Option<i32> {
    if text == "0" {
        return Some(0);
    }
    let mut rest = text;
    let mut set = 0;
    for (bit, letter) in ORDERED {
        if let Some(behind) = rest.strip_prefix(letter) {
            (rest, set) = (behind, set | bit);
        }
    }
    (rest.is_empty() && set != 0).then_some(set)
}

/// A register by the name of its role or by its number.
fn number_of(text: &str) -> Option<u8> {
    if text == "fp" {
        return Some(8);
    }
    if let Some(found) = NAMES.iter().position(|&name| name == text) {
        return Some(found as u8);
    }
    text.strip_prefix('x')?.parse().ok().filter(|&number| number < 32)
}

/// A number, decimal or after `0x`, with an optional sign.
fn number(text: &str) -> Option<i32> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (digits, radix) = digits.strip_prefix("0x").map_or((digits, 10), |hexadecimal| (hexadecimal, 16));
    if !digits.starts_with(|first: char| first.is_ascii_hexdigit()) {
        return None;
    }
    let magnitude = i64::from(u32::from_str_radix(digits, radix).ok()?);
    i32::try_from(if negative { -magnitude } else { magnitude }).ok()
}

/// Mnemonic and operands, in small letters and without blanks.
fn split(text: &str) -> (String, Vec<String>) {
    let text = text.trim().to_ascii_lowercase();
    let (mnemonic, rest) = text.split_once(char::is_whitespace).unwrap_or((&text, ""));
    let rest: String = rest.split_whitespace().collect();
    let operands = if rest.is_empty() { Vec::new() } else { rest.split(',').map(str::to_owned).collect() };
    (mnemonic.to_owned(), operands)
}

/// Parses one instruction.
///
/// # Errors
/// No such instruction, or none with such operands.
pub fn parse(text: &str) -> Result<Instruction, TextError> {
    let (mnemonic, texts) = split(text);
    let rows = ROWS.iter().map(|row| (row.mnemonic, row.operands, Instruction::new(row.opcode)));
    let aliases = ALIASES.iter().map(|alias| (alias.mnemonic, alias.operands, alias.stands_for));
    let forms = rows.chain(aliases).filter(|(name, _, _)| *name == mnemonic);
    let mut expected = Vec::new();
    for (_, operands, mut instruction) in forms {
        let mut pairs = operands.iter().zip(&texts);
        if operands.len() == texts.len()
            && pairs.all(|(&operand, text)| instruction.read(operand, text).is_some())
        {
            instruction.encode().map_err(TextError::Range)?;
            return Ok(instruction);
        }
        expected.push(operands.iter().map(|&operand| placeholder(operand)).collect::<Vec<_>>().join(", "));
    }
    if expected.is_empty() {
        return Err(TextError::Mnemonic { found: mnemonic });
    }
    Err(TextError::Operands { mnemonic, found: texts.join(", "), expected })
}

/// An operand as the manual names it.
fn placeholder(operand: Operand) -> &'static str {
    match operand {
        Operand::Rd => "rd",
        Operand::Rs1 => "rs1",
        Operand::Rs2 => "rs2",
        Operand::Immediate => "imm",
        Operand::Count => "shamt",
        Operand::Address | Operand::StoreAddress => "offset(rs1)",
        Operand::Branch | Operand::Jump => ".+N",
        Operand::High => "imm20",
        Operand::Csr => "csr",
        Operand::Bits => "uimm",
        Operand::Before => "pred",
        Operand::After => "succ",
    }
}
