//! One instruction's assembly text, as GNU as takes it.
//!
//! Owns: mnemonics, operand shapes, and the synthetic instructions that make a listing readable ([`ALIASES`]).
//! A distance is `.+N` or `.-N`, in bytes from the instruction itself. Symbols, directives and comments are not
//! instructions and not known here. What other units compute has no names here: its operation is a number.

use std::fmt;

use super::bits::{CONSTANT, Field, Instruction};
use super::error::TextError;
use super::table::{Opcode, Operand, ROWS};

const NAMES: [&str; 32] = [
    "%g0", "%g1", "%g2", "%g3", "%g4", "%g5", "%g6", "%g7", "%o0", "%o1", "%o2", "%o3", "%o4", "%o5", "%sp",
    "%o7", "%l0", "%l1", "%l2", "%l3", "%l4", "%l5", "%l6", "%l7", "%i0", "%i1", "%i2", "%i3", "%i4", "%i5",
    "%fp", "%i7",
];

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

const fn jump(rs1: u8) -> Instruction {
    Instruction { opcode: Opcode::Jmpl, rd: 0, rs1, rs2: CONSTANT, k: 8 }
}

/// The synthetic instructions, what is printed first before what would be printed too.
pub const ALIASES: &[Alias] = &[
    alias("nop", &[], Instruction::new(Opcode::Sethi)),
    alias("ret", &[], jump(31)),
    alias("retl", &[], jump(15)),
    alias("jmp", &[Operand::Target], Instruction::new(Opcode::Jmpl)),
    alias("restore", &[], Instruction::new(Opcode::Restore)),
    alias("cmp", &[Operand::Rs1, Operand::Second], Instruction::new(Opcode::Subcc)),
    alias("mov", &[Operand::Second, Operand::Rd], Instruction::new(Opcode::Or)),
];

impl Alias {
    /// Whether the instruction differs from what it stands for in nothing but the operands shown.
    fn fits(&self, instruction: &Instruction) -> bool {
        let mut hidden = *instruction;
        for &(field, _) in self.operands.iter().flat_map(|operand| operand.fields()) {
            match field {
                Field::Rd | Field::Annul => hidden.rd = self.stands_for.rd,
                Field::Rs1 => hidden.rs1 = self.stands_for.rs1,
                Field::Rs2 => hidden.rs2 = self.stands_for.rs2,
                Field::Second => (hidden.rs2, hidden.k) = (self.stands_for.rs2, self.stands_for.k),
                Field::Middle | Field::Low => hidden.k = self.stands_for.k,
            }
        }
        hidden == self.stands_for
    }
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mnemonic, operands) = match ALIASES.iter().find(|alias| alias.fits(self)) {
            Some(alias) => (alias.mnemonic, alias.operands),
            None => (self.opcode.row().mnemonic, self.opcode.row().operands),
        };
        f.write_str(mnemonic)?;
        if self.annuls() {
            f.write_str(",a")?;
        }
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
            Operand::Rs1 => f.write_str(register(self.rs1)),
            Operand::Second | Operand::Shift if self.rs2 == CONSTANT => write!(f, "{}", self.k),
            Operand::Second | Operand::Shift => f.write_str(register(self.rs2)),
            Operand::Rd | Operand::Pair => f.write_str(register(self.rd)),
            Operand::Address => {
                f.write_str("[")?;
                self.write_sum(f)?;
                f.write_str("]")
            }
            Operand::Alternate if self.rs2 == 0 => write!(f, "[{}] {}", register(self.rs1), self.k),
            Operand::Alternate => {
                write!(f, "[{} + {}] {}", register(self.rs1), register(self.rs2), self.k)
            }
            Operand::Target => self.write_sum(f),
            Operand::TrapNumber if self.rs1 == 0 && self.rs2 == CONSTANT => write!(f, "{}", self.k),
            Operand::TrapNumber => self.write_sum(f),
            Operand::High22 => write!(f, "%hi({:#x})", (self.k as u32) << 10),
            Operand::Constant22 => write!(f, "{:#x}", self.k),
            Operand::Relative22 | Operand::Relative30 => write!(f, ".{:+}", self.k),
            Operand::State(name) => f.write_str(name),
            Operand::AsrRs1 => write!(f, "%asr{}", self.rs1),
            Operand::AsrRd => write!(f, "%asr{}", self.rd),
            Operand::FloatRd | Operand::FloatPair => write!(f, "%f{}", self.rd),
            Operand::CopRd => write!(f, "%c{}", self.rd),
            Operand::Opf => write!(f, "{:#x}", self.k),
            Operand::UnitRs1 => write!(f, "{}", self.rs1),
            Operand::UnitRs2 => write!(f, "{}", self.rs2),
            Operand::UnitRd => write!(f, "{}", self.rd),
        }
    }

    /// A register and the second operand, which is left out when it is r0.
    fn write_sum(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(register(self.rs1))?;
        match self.rs2 {
            0 => Ok(()),
            CONSTANT => write!(f, " + {}", self.k),
            rs2 => write!(f, " + {}", register(rs2)),
        }
    }

    /// Takes the value of an operand from its text, without blanks; `None` where it is none of its shapes.
    fn read(&mut self, operand: Operand, text: &str) -> Option<()> {
        match operand {
            Operand::Rs1 => self.rs1 = number_of(text)?,
            Operand::Second | Operand::Shift => self.read_second(text)?,
            Operand::Rd | Operand::Pair => self.rd = number_of(text)?,
            Operand::Address => self.read_sum(text.strip_prefix('[')?.strip_suffix(']')?)?,
            Operand::Alternate => {
                let (sum, space) = text.strip_prefix('[')?.split_once(']')?;
                let (rs1, rs2) = sum.split_once('+').unwrap_or((sum, "%g0"));
                (self.rs1, self.rs2, self.k) = (number_of(rs1)?, number_of(rs2)?, number(space)?);
            }
            Operand::Target => self.read_sum(text)?,
            Operand::TrapNumber => match number(text) {
                Some(constant) => (self.rs1, self.rs2, self.k) = (0, CONSTANT, constant),
                None => self.read_sum(text)?,
            },
            Operand::High22 => self.k = high22(text)?,
            Operand::Constant22 | Operand::Opf => self.k = number(text)?,
            Operand::Relative22 | Operand::Relative30 => self.k = number(text.strip_prefix('.')?)?,
            Operand::State(name) => return (text == name).then_some(()),
            Operand::AsrRs1 => self.rs1 = text.strip_prefix("%asr")?.parse().ok()?,
            Operand::AsrRd => self.rd = text.strip_prefix("%asr")?.parse().ok()?,
            Operand::FloatRd | Operand::FloatPair => self.rd = text.strip_prefix("%f")?.parse().ok()?,
            Operand::CopRd => self.rd = text.strip_prefix("%c")?.parse().ok()?,
            Operand::UnitRs1 => self.rs1 = text.parse().ok()?,
            Operand::UnitRs2 => self.rs2 = text.parse().ok()?,
            Operand::UnitRd => self.rd = text.parse().ok()?,
        }
        Some(())
    }

    fn read_second(&mut self, text: &str) -> Option<()> {
        (self.rs2, self.k) = match number_of(text) {
            Some(register) => (register, 0),
            None => (CONSTANT, number(text)?),
        };
        Some(())
    }

    fn read_sum(&mut self, text: &str) -> Option<()> {
        let sign = text.find(['+', '-']).unwrap_or(text.len());
        self.rs1 = number_of(&text[..sign])?;
        match &text[sign..] {
            "" => self.read_second("%g0"),
            rest => self.read_second(rest.strip_prefix('+').unwrap_or(rest)),
        }
    }
}

/// The number of a general register by one of its names.
fn number_of(text: &str) -> Option<u8> {
    match text {
        "%o6" => return Some(14),
        "%i6" => return Some(30),
        _ => {}
    }
    NAMES.iter().position(|&name| name == text).map(|number| number as u8)
}

/// `%hi(N)`, or the 22 bits themselves.
fn high22(text: &str) -> Option<i32> {
    match text.strip_prefix("%hi(").and_then(|rest| rest.strip_suffix(')')) {
        Some(whole) => Some((number(whole)? as u32 >> 10) as i32),
        None => number(text),
    }
}

/// A number of 32 bits, decimal or `0x`; what is over the greatest positive one stands for its bits.
fn number(text: &str) -> Option<i32> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (digits, radix) = digits.strip_prefix("0x").map_or((digits, 10), |hexadecimal| (hexadecimal, 16));
    if !digits.starts_with(|c: char| c.is_ascii_hexdigit()) {
        return None;
    }
    let magnitude = i64::from(u32::from_str_radix(digits, radix).ok()?);
    if negative { i32::try_from(-magnitude).ok() } else { Some(magnitude as u32 as i32) }
}

/// Cuts an instruction into its mnemonic, without `,a`, whether that was there, and its operands without blanks.
fn split(text: &str) -> (String, bool, Vec<String>) {
    let text = text.trim().to_ascii_lowercase();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((&text, ""));
    let (mnemonic, annul) = word.strip_suffix(",a").map_or((word, false), |mnemonic| (mnemonic, true));
    let rest: String = rest.split_whitespace().collect();
    let operands = if rest.is_empty() { Vec::new() } else { rest.split(',').map(str::to_owned).collect() };
    (mnemonic.to_owned(), annul, operands)
}

/// Parses one instruction.
///
/// # Errors
/// No such instruction, or none with such operands.
pub fn parse(text: &str) -> Result<Instruction, TextError> {
    let (mnemonic, annul, texts) = split(text);
    let rows = ROWS.iter().map(|row| (row.mnemonic, row.operands, Instruction::new(row.opcode)));
    let aliases = ALIASES.iter().map(|alias| (alias.mnemonic, alias.operands, alias.stands_for));
    let forms = rows.chain(aliases).filter(|(name, _, _)| *name == mnemonic);
    let mut expected = Vec::new();
    for (_, operands, mut instruction) in forms {
        let is_branch = matches!(operands, [Operand::Relative22]);
        let mut pairs = operands.iter().zip(&texts);
        let fits = operands.len() == texts.len()
            && (is_branch || !annul)
            && pairs.all(|(&operand, text)| instruction.read(operand, text).is_some());
        if fits {
            if is_branch {
                instruction.rd = annul.into();
            }
            instruction.encode().map_err(TextError::Range)?;
            return Ok(instruction);
        }
        expected.push(operands.iter().map(|operand| placeholder(*operand)).collect::<Vec<_>>().join(", "));
    }
    if expected.is_empty() {
        return Err(TextError::Mnemonic { found: mnemonic });
    }
    Err(TextError::Operands { mnemonic, found: texts.join(", "), expected })
}

/// An operand as the manual names it.
fn placeholder(operand: Operand) -> String {
    match operand {
        Operand::Rs1 => "rs1",
        Operand::Second => "reg_or_imm",
        Operand::Shift => "reg_or_shcnt",
        Operand::Rd | Operand::Pair => "rd",
        Operand::Address => "[address]",
        Operand::Alternate => "[regaddr] asi",
        Operand::Target => "address",
        Operand::TrapNumber => "software_trap#",
        Operand::High22 => "%hi(const32)",
        Operand::Constant22 => "const22",
        Operand::Relative22 | Operand::Relative30 => ".+N",
        Operand::State(name) => name,
        Operand::AsrRs1 | Operand::AsrRd => "%asrN",
        Operand::FloatRd | Operand::FloatPair => "%fN",
        Operand::CopRd => "%cN",
        Operand::Opf => "opf",
        Operand::UnitRs1 => "crs1",
        Operand::UnitRs2 => "crs2",
        Operand::UnitRd => "crd",
    }
    .to_owned()
}
