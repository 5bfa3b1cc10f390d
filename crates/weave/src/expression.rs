//! The value of an expression, as GNU as takes it, or as a directive does.
//!
//! Owns: numbers, operators with their precedence (GNU as manual, "Infix Operators"), the AVR modifiers
//! (`lo8(…)`, `gs(…)`), and how known and unknown parts combine. What a name stands for is the caller's to say.
//! Invariant: reading is total; depth is limited, and arithmetic that leaves 64 bits is an error.

use std::ops::Range;

use crate::limits::EXPRESSION_DEPTH_MAX;

/// What an expression comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// A number.
    Known(i64),
    /// Something that only the linker knows is part of it.
    Linker,
}

/// Which operators there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operators {
    /// `+ - * /` and parentheses: a directive's.
    Four,
    /// All of GNU as for AVR, with its modifiers.
    Gas,
}

/// Why an expression has no value, and where in its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionFault {
    /// Why.
    pub kind: ExpressionFaultKind,
    /// The bytes of the text that are to blame.
    pub at: Range<usize>,
}

/// Why an expression has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpressionFaultKind {
    /// A number, name or parenthesis is missing here.
    Operand,
    /// Something is left over.
    Rest,
    /// `(` without `)`.
    Unclosed,
    /// Digits that are no number.
    Number,
    /// A name that stands for nothing.
    Name,
    /// Divided by zero.
    ByZero,
    /// Left 64 bits.
    Overflow,
    /// More in one another than the limit.
    Depth,
}

/// A modifier: its name, and what it makes of a number.
type Modifier = (&'static str, fn(i64) -> i64);

/// The modifiers of GNU as for AVR.
const MODIFIERS: &[Modifier] = &[
    ("lo8", |value| value & 0xff),
    ("hi8", |value| value >> 8 & 0xff),
    ("hlo8", |value| value >> 16 & 0xff),
    ("hh8", |value| value >> 16 & 0xff),
    ("hhi8", |value| value >> 24 & 0xff),
    ("pm_lo8", |value| value >> 1 & 0xff),
    ("pm_hi8", |value| value >> 9 & 0xff),
    ("pm_hh8", |value| value >> 17 & 0xff),
    ("pm", |value| value >> 1),
    ("gs", |value| value >> 1),
];

/// Evaluates `text`, asking `names` for each name (also `.`, `1b` and `1f`); `None` from it is an error.
pub(crate) fn evaluate(
    text: &str,
    operators: Operators,
    names: &mut dyn FnMut(&str) -> Option<Value>,
) -> Result<Value, ExpressionFault> {
    let mut reader = Reader { text, at: 0, depth: 0, operators, names };
    let value = reader.binary(0)?;
    reader.blanks();
    if reader.at < text.len() {
        return Err(reader.fault(ExpressionFaultKind::Rest, reader.at..text.len()));
    }
    Ok(value)
}

/// Clang's `-lo8(x)` in GNU as's words, `lo8(-(x))`; anything else as it is. The two name one relocation.
pub(crate) fn gnu_form(text: &str) -> String {
    let text = text.trim();
    let rewritten = || {
        let rest = text.strip_prefix('-')?.trim_start();
        let (name, inner) = rest.split_once('(')?;
        let name = name.trim();
        MODIFIERS.iter().find(|(known, _)| *known == name)?;
        let inner = enclosed(inner)?.trim();
        let negated = inner.strip_prefix('-').map(str::trim_start).and_then(|inner| inner.strip_prefix('('));
        Some(match negated.and_then(enclosed) {
            Some(twice) => format!("{name}({})", twice.trim()),
            None => format!("{name}(-({inner}))"),
        })
    };
    rewritten().unwrap_or_else(|| text.to_owned())
}

/// What stands before the parenthesis that closes at the very end of `text`.
fn enclosed(text: &str) -> Option<&str> {
    let mut depth = 1_usize;
    for (at, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return (at + 1 == text.len()).then_some(&text[..at]);
        }
    }
    None
}

/// Whether a byte may stand in a symbol's name.
pub(crate) fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.' || byte >= 0x80
}

/// A binary operator: its text, its precedence (higher binds more), and what it does.
type Operator = (&'static str, u8, fn(i64, i64) -> Option<i64>);

fn truth(holds: bool) -> Option<i64> {
    Some(if holds { -1 } else { 0 })
}

/// Longer ones first, so that `<<` is not `<`.
const OPERATORS: &[Operator] = &[
    ("||", 1, |a, b| Some(i64::from(a != 0 || b != 0))),
    ("&&", 2, |a, b| Some(i64::from(a != 0 && b != 0))),
    ("<<", 6, |a, b| Some(if (0..64).contains(&b) { a << b } else { 0 })),
    (">>", 6, |a, b| Some(if (0..64).contains(&b) { (a as u64 >> b) as i64 } else { 0 })),
    ("==", 3, |a, b| truth(a == b)),
    ("!=", 3, |a, b| truth(a != b)),
    ("<>", 3, |a, b| truth(a != b)),
    ("<=", 3, |a, b| truth(a <= b)),
    (">=", 3, |a, b| truth(a >= b)),
    ("<", 3, |a, b| truth(a < b)),
    (">", 3, |a, b| truth(a > b)),
    ("+", 4, i64::checked_add),
    ("-", 4, i64::checked_sub),
    ("|", 5, |a, b| Some(a | b)),
    ("&", 5, |a, b| Some(a & b)),
    ("^", 5, |a, b| Some(a ^ b)),
    ("!", 5, |a, b| Some(a | !b)),
    ("*", 6, i64::checked_mul),
    ("/", 6, i64::checked_div),
    ("%", 6, i64::checked_rem),
];

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    operators: Operators,
    names: &'a mut dyn FnMut(&str) -> Option<Value>,
}

impl Reader<'_> {
    fn fault(&self, kind: ExpressionFaultKind, at: Range<usize>) -> ExpressionFault {
        ExpressionFault { kind, at }
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    /// The operator that stands here, if there is one.
    fn operator(&mut self) -> Option<Operator> {
        self.blanks();
        let four = |operator: &&Operator| matches!(operator.0, "+" | "-" | "*" | "/");
        let rest = self.rest();
        let mut known =
            OPERATORS.iter().filter(|operator| self.operators == Operators::Gas || four(operator));
        known.find(|operator| rest.starts_with(operator.0)).copied()
    }

    /// Operands joined by operators that bind more than `floor`.
    fn binary(&mut self, floor: u8) -> Result<Value, ExpressionFault> {
        let mut left = self.unary()?;
        while let Some((sign, precedence, apply)) = self.operator() {
            if precedence <= floor {
                break;
            }
            let from = self.at;
            self.at += sign.len();
            let right = self.binary(precedence)?;
            left = match (left, right) {
                (_, Value::Known(0)) if matches!(sign, "/" | "%") => {
                    return Err(self.fault(ExpressionFaultKind::ByZero, from..self.at));
                }
                (Value::Known(a), Value::Known(b)) => match apply(a, b) {
                    Some(value) => Value::Known(value),
                    None => return Err(self.fault(ExpressionFaultKind::Overflow, from..self.at)),
                },
                _ => Value::Linker,
            };
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Value, ExpressionFault> {
        self.blanks();
        if self.depth == EXPRESSION_DEPTH_MAX {
            return Err(self.fault(ExpressionFaultKind::Depth, self.at..self.text.len()));
        }
        self.depth += 1;
        let value = self.operand();
        self.depth -= 1;
        value
    }

    fn operand(&mut self) -> Result<Value, ExpressionFault> {
        let from = self.at;
        let Some(first) = self.rest().bytes().next() else {
            // Marks the last byte, so that a caret has something to stand under.
            return Err(self.fault(ExpressionFaultKind::Operand, from.saturating_sub(1)..from));
        };
        let gas = self.operators == Operators::Gas;
        match first {
            b'(' => self.parenthesised(),
            b'-' | b'+' => self.signed(first, from),
            b'~' | b'!' if gas => self.signed(first, from),
            b'\'' if gas => self.character(),
            _ if is_name_byte(first) => self.word(),
            _ => Err(self.fault(ExpressionFaultKind::Operand, from..self.text.len())),
        }
    }

    fn signed(&mut self, sign: u8, from: usize) -> Result<Value, ExpressionFault> {
        self.at += 1;
        let Value::Known(value) = self.unary()? else { return Ok(Value::Linker) };
        let value = match sign {
            b'-' => value.checked_neg(),
            b'~' => Some(!value),
            b'!' => Some(i64::from(value == 0)),
            _ => Some(value),
        };
        value.map(Value::Known).ok_or_else(|| self.fault(ExpressionFaultKind::Overflow, from..self.at))
    }

    fn parenthesised(&mut self) -> Result<Value, ExpressionFault> {
        let from = self.at;
        self.at += 1;
        let value = self.binary(0)?;
        self.blanks();
        if !self.rest().starts_with(')') {
            return Err(self.fault(ExpressionFaultKind::Unclosed, from..from + 1));
        }
        self.at += 1;
        Ok(value)
    }

    /// `'a'` and `'a` are the same to GNU as.
    fn character(&mut self) -> Result<Value, ExpressionFault> {
        let from = self.at;
        let mut characters = self.rest()[1..].chars();
        let found = characters.next().filter(|found| found.is_ascii() && *found != '\\');
        let Some(found) = found else {
            return Err(self.fault(ExpressionFaultKind::Number, from..self.text.len()));
        };
        self.at += 2;
        if self.rest().starts_with('\'') {
            self.at += 1;
        }
        Ok(Value::Known(i64::from(u32::from(found))))
    }

    /// A number, a name, or a modifier with what it modifies.
    fn word(&mut self) -> Result<Value, ExpressionFault> {
        let from = self.at;
        let bytes = self.rest().bytes().take_while(|byte| is_name_byte(*byte)).count();
        self.at += bytes;
        let word = &self.text[from..self.at];
        if word.starts_with(|c: char| c.is_ascii_digit()) && !is_local(word) {
            let number = isa::avr::text::number(word);
            return number
                .map(Value::Known)
                .ok_or_else(|| self.fault(ExpressionFaultKind::Number, from..self.at));
        }
        if self.operators == Operators::Gas
            && let Some((_, apply)) = MODIFIERS.iter().find(|(name, _)| *name == word)
            && self.rest().trim_start().starts_with('(')
        {
            self.blanks();
            self.depth += 1;
            let inner = if self.depth > EXPRESSION_DEPTH_MAX {
                Err(self.fault(ExpressionFaultKind::Depth, from..self.text.len()))
            } else {
                self.parenthesised()
            };
            self.depth -= 1;
            return Ok(match inner? {
                Value::Known(value) => Value::Known(apply(value)),
                Value::Linker => Value::Linker,
            });
        }
        (self.names)(word).ok_or_else(|| self.fault(ExpressionFaultKind::Name, from..self.at))
    }
}

/// Whether a word refers to a local label: `1b`, `12f`.
pub(crate) fn is_local(word: &str) -> bool {
    let digits = word.strip_suffix(['b', 'f']);
    digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn gas(text: &str) -> Result<Value, ExpressionFault> {
        evaluate(text, Operators::Gas, &mut |name| {
            Some(if name == "k" { Value::Known(7) } else { Value::Linker })
        })
    }

    #[test]
    fn operators_bind_as_in_gnu_as() {
        // Each value was read from what avr-as 2.26 assembled `ldi r16, …` to.
        for (text, value) in [
            ("1+2*3", 7),
            ("(k<<4)|1", 0x71),
            ("~1 & 0xff", 0xfe),
            ("k%4", 3),
            ("1<<3", 8),
            ("-k & 255", 0xf9),
            ("!k", 0),
            ("k==7", -1),
            ("5>3 & 15", -1),
            ("1+2<<1", 5),
            ("'a'", 97),
            ("lo8(-(1))", 255),
            ("017 + 0b11", 18),
        ] {
            assert_eq!(gas(text), Ok(Value::Known(value)), "{text}");
        }
        assert_eq!(gas("lo8(table+2)"), Ok(Value::Linker));
        assert_eq!(gas("1b"), Ok(Value::Linker));
    }

    #[test]
    fn what_has_no_value_is_marked() {
        use ExpressionFaultKind::*;
        for (text, kind, at) in [
            ("1+", Operand, 1..2),
            ("1 2", Rest, 2..3),
            ("(1", Unclosed, 0..1),
            ("3/0", ByZero, 1..3),
            ("12z", Number, 0..3),
            ("9223372036854775807+1", Overflow, 19..21),
            ("", Operand, 0..0),
        ] {
            assert_eq!(gas(text), Err(ExpressionFault { kind, at }), "{text}");
        }
        assert_eq!(gas(&"(".repeat(1000)).map_err(|fault| fault.kind), Err(Depth));
        assert_eq!(gas(&"lo8(".repeat(1000)).map_err(|fault| fault.kind), Err(Depth));
        assert_eq!(gas(&"-".repeat(1000)).map_err(|fault| fault.kind), Err(Depth));
    }

    #[test]
    fn clang_negates_outside_and_gnu_inside() {
        for (clang, gnu) in [
            ("-lo8(table)", "lo8(-(table))"),
            ("- hi8( table+2 )", "hi8(-(table+2))"),
            ("-lo8(-(table))", "lo8(table)"),
            ("lo8(-(table))", "lo8(-(table))"),
            ("-lo8(a)+lo8(b)", "-lo8(a)+lo8(b)"),
            ("-x", "-x"),
        ] {
            assert_eq!(gnu_form(clang), gnu);
        }
    }

    proptest! {
        #[test]
        fn any_text_has_a_value_or_a_fault_inside_it(text in "[-+*/%<>|&^!~()'. a-z0-9é]{0,40}") {
            for operators in [Operators::Four, Operators::Gas] {
                if let Err(fault) = evaluate(&text, operators, &mut |_| None) {
                    prop_assert!(fault.at.start <= fault.at.end && fault.at.end <= text.len());
                }
            }
            let _ = gnu_form(&text);
        }
    }
}
