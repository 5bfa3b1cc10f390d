//! One instruction's assembly text, as GNU as takes it and as avr-objdump prints it.
//!
//! Owns: mnemonics, aliases, operand shapes, and the choice of the table line they select.
//! Leaves expressions to a [`Resolve`]: [`Numbers`] knows plain numbers and `.+N`; a tool with symbols brings
//! its own. Labels, directives and comments are not instructions and not known here.

use std::fmt;

use super::bits::Instruction;
use super::error::TextError;
use super::table::{ALIASES, Alias, Fixed, Opcode, Operand, ROWS};

/// Turns the text of an operand into its value.
pub trait Resolve {
    /// Why an expression has no value.
    type Error;

    /// The value of `expression` where `operand` stands, in the units of the text: distances and flash
    /// addresses in bytes, as GNU as counts them; registers by number.
    fn value(&mut self, expression: &str, operand: Operand) -> Result<i64, Self::Error>;
}

/// Resolves numbers (`10`, `0x1f`, `0b101`, `017`, `-3`, `'a'`), and `.+N`/`.-N` where a distance stands.
pub struct Numbers;

impl Resolve for Numbers {
    type Error = ();

    fn value(&mut self, expression: &str, operand: Operand) -> Result<i64, ()> {
        match (operand, expression.strip_prefix('.')) {
            // GNU as counts from the instruction itself in `.`, yet prints and reads `.+N` of a branch from
            // the next one.
            (Operand::Relative7 | Operand::Relative12, Some("")) => Ok(0),
            (Operand::Relative7 | Operand::Relative12, Some(distance))
                if distance.starts_with(['+', '-']) =>
            {
                number(distance).ok_or(())
            }
            (Operand::Relative7 | Operand::Relative12, _) | (_, Some(_)) => Err(()),
            (_, None) => number(expression).ok_or(()),
        }
    }
}

/// A plain number in GNU as's spelling.
pub fn number(text: &str) -> Option<i64> {
    let text = text.trim();
    if let Some(rest) = text.strip_prefix('-') {
        return magnitude(rest.trim_start()).map(|value| -value);
    }
    magnitude(text.strip_prefix('+').unwrap_or(text).trim_start())
}

fn magnitude(text: &str) -> Option<i64> {
    if let Some(quoted) = text.strip_prefix('\'') {
        let quoted = quoted.strip_suffix('\'').unwrap_or(quoted);
        let mut characters = quoted.chars();
        return match (characters.next(), characters.next()) {
            (Some(character), None) if character.is_ascii() && character != '\\' => Some(character as i64),
            _ => None,
        };
    }
    let lower = text.to_ascii_lowercase();
    let (digits, radix) = if let Some(digits) = lower.strip_prefix("0x") {
        (digits, 16)
    } else if let Some(digits) = lower.strip_prefix("0b") {
        (digits, 2)
    } else if lower.len() > 1 && lower.starts_with('0') {
        (&lower[1..], 8)
    } else {
        (&lower[..], 10)
    };
    // `from_str_radix` takes a sign, which has been taken already.
    if !digits.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return None;
    }
    i64::from_str_radix(digits, radix).ok()
}

/// Splits an instruction into its mnemonic and its operands: at commas outside parentheses and quotes.
/// Blanks around the pieces are dropped.
pub fn split(text: &str) -> (&str, Vec<&str>) {
    let text = text.trim();
    let (mnemonic, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.trim();
    if rest.is_empty() {
        return (mnemonic, Vec::new());
    }
    let mut operands = Vec::new();
    let (mut depth, mut from, mut quoted) = (0_i32, 0, false);
    let mut before = '\0';
    for (at, character) in rest.char_indices() {
        match character {
            // 'c' and 'c are both characters for GNU as, so a quote only guards the character after it.
            '\'' if !quoted => quoted = true,
            _ if quoted && before == '\'' => quoted = false,
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth <= 0 => {
                operands.push(rest[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
        before = character;
    }
    operands.push(rest[from..].trim());
    (mnemonic, operands)
}

/// Parses one instruction whose operands are plain numbers.
pub fn parse(text: &str) -> Result<Instruction, TextError<()>> {
    let (mnemonic, operands) = split(text);
    parse_with(mnemonic, &operands, &mut Numbers)
}

/// Parses one instruction that has been [`split`], with a resolver for its expressions.
pub fn parse_with<R: Resolve>(
    mnemonic: &str,
    operands: &[&str],
    resolver: &mut R,
) -> Result<Instruction, TextError<R::Error>> {
    let name = mnemonic.to_ascii_lowercase();
    let mut shapes = Vec::new();
    for form in forms(&name) {
        if form.fits(operands) {
            return form.resolve(operands, resolver);
        }
        shapes.push(form.shape());
    }
    if shapes.is_empty() {
        return Err(TextError::Mnemonic { found: mnemonic.to_owned() });
    }
    Err(TextError::Operands { mnemonic: name, found: operands.join(", "), expected: shapes })
}

/// One way to write an instruction: a table line or an alias.
struct Form {
    opcode: Opcode,
    operands: &'static [Operand],
    fixed: Fixed,
}

/// The ways to use a mnemonic.
fn forms(mnemonic: &str) -> impl Iterator<Item = Form> {
    let rows = ROWS.iter().filter(move |row| row.mnemonic == mnemonic).map(|row| Form {
        opcode: row.opcode,
        operands: row.operands,
        fixed: Fixed::Nothing,
    });
    let aliases = ALIASES.iter().filter(move |alias| alias.mnemonic == mnemonic).map(|alias| Form {
        opcode: alias.opcode,
        operands: alias.operands,
        fixed: alias.fixed,
    });
    // Old compilers write `ld r, Y+1` and `st`; GNU as takes only `ldd` and `std` there, and so do we.
    rows.chain(aliases)
}

impl Form {
    /// Whether the operands have this form's number and fixed words.
    fn fits(&self, texts: &[&str]) -> bool {
        texts.len() == self.operands.len()
            && texts.iter().zip(self.operands).all(|(text, operand)| match operand {
                Operand::Pointer(word) => text.replace(' ', "").eq_ignore_ascii_case(word),
                Operand::DisplacedY => displacement(text, 'Y').is_some(),
                Operand::DisplacedZ => displacement(text, 'Z').is_some(),
                _ => pointer_word(text).is_none(),
            })
    }

    /// The form as a manual would print it.
    fn shape(&self) -> String {
        let words: Vec<String> = self.operands.iter().map(|operand| placeholder(*operand)).collect();
        words.join(", ")
    }

    fn resolve<R: Resolve>(
        &self,
        texts: &[&str],
        resolver: &mut R,
    ) -> Result<Instruction, TextError<R::Error>> {
        let mut instruction = Instruction::new(self.opcode);
        for (text, &operand) in texts.iter().zip(self.operands) {
            let expression = match operand {
                Operand::Pointer(_) => continue,
                Operand::DisplacedY | Operand::DisplacedZ => displacement(text, 'Y')
                    .or_else(|| displacement(text, 'Z'))
                    .expect("a form is resolved only when it fits"),
                _ => text,
            };
            let value = match register(expression, operand) {
                Some(number) => i64::from(number),
                None => resolver
                    .value(expression, operand)
                    .map_err(|why| TextError::Expression { found: expression.to_owned(), why })?,
            };
            let value = in_words(value, operand)?;
            instruction.set_operand(operand, clamp(value));
        }
        match self.fixed {
            Fixed::Nothing => {}
            Fixed::SameRegister => instruction.r = instruction.d,
            Fixed::Bit(bit) => instruction.b = bit,
            Fixed::Constant(constant) => instruction.k = constant,
            Fixed::Complement => instruction.k = !instruction.k & 0xff,
        }
        instruction.encode().map_err(TextError::Range)?;
        Ok(instruction)
    }
}

/// A value that does not fit 32 bits fits no operand either; keep it out of range.
fn clamp(value: i64) -> i32 {
    value.clamp(i32::MIN.into(), i32::MAX.into()) as i32
}

/// Bytes to words where the text counts bytes; a signed constant to its byte.
fn in_words<E>(value: i64, operand: Operand) -> Result<i64, TextError<E>> {
    match operand {
        Operand::Relative7 | Operand::Relative12 | Operand::Address22 => {
            if value % 2 != 0 {
                return Err(TextError::Odd { found: value });
            }
            Ok(value / 2)
        }
        Operand::K8 if (-128..0).contains(&value) => Ok(value & 0xff),
        _ => Ok(value),
    }
}

/// A register's number, where a register stands.
fn register(text: &str, operand: Operand) -> Option<u8> {
    use Operand::*;
    if !matches!(operand, Rd | Rr | RdHigh | RrHigh | RdMiddle | RrMiddle | RdPair | RrPair | RdWord) {
        return None;
    }
    let number = text.strip_prefix(['r', 'R'])?;
    if !number.bytes().all(|byte| byte.is_ascii_digit()) || number.len() > 2 {
        return None;
    }
    number.parse().ok()
}

/// The pointer letter in a text that is a pointer form.
fn pointer_word(text: &str) -> Option<char> {
    let bare = text.trim_start_matches('-').trim_end_matches('+').trim();
    let mut letters = bare.chars();
    match (letters.next().map(|c| c.to_ascii_uppercase()), letters.next()) {
        (Some(letter @ ('X' | 'Y' | 'Z')), None) => Some(letter),
        _ => None,
    }
}

/// The expression in `Y+expression`.
fn displacement(text: &str, pointer: char) -> Option<&str> {
    let rest = text.strip_prefix([pointer, pointer.to_ascii_lowercase()])?;
    let expression = rest.trim_start().strip_prefix('+')?.trim();
    (!expression.is_empty()).then_some(expression)
}

fn placeholder(operand: Operand) -> String {
    use Operand::*;
    match operand {
        Rd | RdHigh | RdMiddle | RdPair | RdWord => "Rd",
        Rr | RrHigh | RrMiddle | RrPair => "Rr",
        K8 | K6 => "K",
        Relative7 | Relative12 | Address22 | Address16 => "k",
        Io6 | Io5 => "A",
        Bit => "b",
        Flag => "s",
        Pointer(word) => word,
        DisplacedY => "Y+q",
        DisplacedZ => "Z+q",
    }
    .to_owned()
}

impl Instruction {
    /// The alias that disassembly prefers, if there is one.
    fn alias(&self) -> Option<&'static Alias> {
        ALIASES
            .iter()
            .find(|alias| alias.printed && alias.opcode == self.opcode && alias.fixed == Fixed::Bit(self.b))
    }

    /// Its mnemonic and operands, as disassembly prints them.
    pub fn form(&self) -> (&'static str, &'static [Operand]) {
        match self.alias() {
            Some(alias) => (alias.mnemonic, alias.operands),
            None => (self.opcode.row().mnemonic, self.opcode.row().operands),
        }
    }

    /// The same by this mnemonic of its, in whatever case; none where it has no such.
    pub fn form_as(&self, mnemonic: &str) -> Option<(&'static str, &'static [Operand])> {
        let row = self.opcode.row();
        let fits = |fixed: Fixed| match fixed {
            Fixed::Nothing => true,
            Fixed::SameRegister => self.d == self.r,
            Fixed::Bit(bit) => self.b == bit,
            Fixed::Constant(constant) => self.k == constant,
            // Its operand is another number than the instruction's.
            Fixed::Complement => false,
        };
        let aliases = ALIASES.iter().filter(|alias| alias.opcode == self.opcode && fits(alias.fixed));
        let names = aliases.map(|alias| (alias.mnemonic, alias.operands));
        [(row.mnemonic, row.operands)]
            .into_iter()
            .chain(names)
            .find(|(name, _)| name.eq_ignore_ascii_case(mnemonic))
    }

    /// Writes it with `expression` printing the operands that are not registers or pointers;
    /// `Ok(false)` from it means the plain number.
    pub fn write_with(
        &self,
        out: &mut dyn fmt::Write,
        expression: &mut dyn FnMut(&mut dyn fmt::Write, Operand) -> Result<bool, fmt::Error>,
    ) -> fmt::Result {
        self.write_form(self.form(), out, expression)
    }

    /// The same in a form of its.
    pub fn write_form(
        &self,
        (mnemonic, operands): (&'static str, &'static [Operand]),
        out: &mut dyn fmt::Write,
        expression: &mut dyn FnMut(&mut dyn fmt::Write, Operand) -> Result<bool, fmt::Error>,
    ) -> fmt::Result {
        out.write_str(mnemonic)?;
        for (index, &operand) in operands.iter().enumerate() {
            out.write_str(if index == 0 { " " } else { ", " })?;
            self.write_operand(out, operand, expression)?;
        }
        Ok(())
    }

    fn write_operand(
        &self,
        out: &mut dyn fmt::Write,
        operand: Operand,
        expression: &mut dyn FnMut(&mut dyn fmt::Write, Operand) -> Result<bool, fmt::Error>,
    ) -> fmt::Result {
        use Operand::*;
        let value = self.operand(operand);
        match operand {
            Rd | Rr | RdHigh | RrHigh | RdMiddle | RrMiddle | RdPair | RrPair | RdWord => {
                return write!(out, "r{value}");
            }
            Pointer(word) => return out.write_str(word),
            DisplacedY => out.write_str("Y+")?,
            DisplacedZ => out.write_str("Z+")?,
            _ => {}
        }
        if expression(out, operand)? {
            return Ok(());
        }
        match operand {
            K8 | K6 | Io6 | Io5 => write!(out, "{value:#04x}"),
            Relative7 | Relative12 => write!(out, ".{:+}", value * 2),
            Address22 => write!(out, "{:#x}", value * 2),
            Address16 => write!(out, "{value:#06x}"),
            _ => write!(out, "{value}"),
        }
    }
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_with(f, &mut |_, _| Ok(false))
    }
}
