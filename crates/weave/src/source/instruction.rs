//! One instruction of a text: its operands' values, and where it may go.
//!
//! Owns: what the assembler would do with the operands, over `isa`'s table of forms. Whether a target belongs to
//! the same function is `functions`' to say.

use isa::avr::table::Operand;
use isa::avr::text::{self, Resolve};
use isa::avr::{Instruction, TextError};

use super::layout::{Slot, Spot};
use super::symbols::{Target, Where, World};
use crate::error::Error;
use crate::expression::{Operators, Value, evaluate, gnu_form, is_local};

/// An instruction before its function is known.
pub(super) struct Draft {
    pub instruction: Instruction,
    /// Its operand that only the linker knows.
    pub expression: Option<String>,
    /// Where it goes when its operand says so, with the text that does.
    pub target: Option<(Target, String)>,
}

/// The halves of the pointer registers, which GNU as knows by these names.
const REGISTERS: &[(&str, i64)] = &[("xl", 26), ("xh", 27), ("yl", 28), ("yh", 29), ("zl", 30), ("zh", 31)];

/// Reads the instruction at a place.
pub(super) fn read(world: &World, at: Where) -> Result<Draft, Error> {
    let layout = &world.units[at.unit];
    let slot = &layout.sections[at.section].slots[at.slot];
    let (mnemonic, operands) = text::split(layout.source.clean(&slot.span));
    let lower = mnemonic.to_ascii_lowercase();
    if lower == "__gcc_isr" {
        return Err(Error::GccIsr { at: world.place(at.unit, &slot.span) });
    }
    let pairs = matches!(&*lower, "movw" | "adiw" | "sbiw");
    let operands: Vec<&str> =
        operands.into_iter().map(|operand| if pairs { pointer_pair(operand) } else { operand }).collect();
    let mut operands_values = Operands { world, at, slot, expression: None, target: None };
    let instruction = match text::parse_with(mnemonic, &operands, &mut operands_values) {
        Ok(instruction) => instruction,
        Err(TextError::Expression { why, .. }) => return Err(why),
        Err(other) => {
            // The resolver's own errors are taken out above.
            let why = without_resolver(other);
            return Err(Error::Instruction { at: world.place(at.unit, &slot.span), why });
        }
    };
    let Operands { expression, target, .. } = operands_values;
    Ok(Draft { instruction, expression, target })
}

/// GNU as takes a pointer's letter where a pair of registers stands.
fn pointer_pair(operand: &str) -> &str {
    match operand {
        "X" | "x" => "r26",
        "Y" | "y" => "r28",
        "Z" | "z" => "r30",
        _ => operand,
    }
}

fn without_resolver(error: TextError<Error>) -> TextError<()> {
    match error {
        TextError::Mnemonic { found } => TextError::Mnemonic { found },
        TextError::Operands { mnemonic, found, expected } => {
            TextError::Operands { mnemonic, found, expected }
        }
        TextError::Expression { found, .. } => TextError::Expression { found, why: () },
        TextError::Odd { found } => TextError::Odd { found },
        TextError::Range(unencodable) => TextError::Range(unencodable),
    }
}

/// Whether what an operand stands for must be known here, because the instruction's meaning hangs on it.
fn must_be_known(operand: Operand) -> bool {
    use Operand::*;
    match operand {
        Rd | Rr | RdHigh | RrHigh | RdMiddle | RrMiddle | RdPair | RrPair | RdWord => true,
        Io6 | Io5 | Bit | Flag | K6 => true,
        K8 | Address16 | DisplacedY | DisplacedZ | Pointer(_) => false,
        Relative7 | Relative12 | Address22 => false,
    }
}

struct Operands<'w, 's> {
    world: &'w World<'s>,
    at: Where,
    slot: &'w Slot,
    expression: Option<String>,
    target: Option<(Target, String)>,
}

impl Resolve for Operands<'_, '_> {
    type Error = Error;

    fn value(&mut self, expression: &str, operand: Operand) -> Result<i64, Error> {
        match operand {
            Operand::Relative7 | Operand::Relative12 | Operand::Address22 => self.jump(expression, operand),
            _ => self.constant(expression, operand),
        }
    }
}

impl Operands<'_, '_> {
    fn constant(&mut self, written: &str, operand: Operand) -> Result<i64, Error> {
        let unit = self.at.unit;
        let source = self.world.units[unit].source;
        let at = || source.place(&source.span_of(written).unwrap_or(self.slot.span.clone()));
        let registers = must_be_known(operand) && !matches!(operand, Operand::Io6 | Operand::Io5);
        let text = gnu_form(written);
        let mut of_here = false;
        let mut shared = None;
        let names = &mut |name: &str| {
            of_here |= name == "." || is_local(name);
            if let Some(other) = self.world.other_meaning(unit, name) {
                shared = Some((name.to_owned(), other));
            }
            let register = REGISTERS.iter().find(|(known, _)| registers && name.eq_ignore_ascii_case(known));
            Some(match register {
                Some((_, number)) => Value::Known(*number),
                None => self.world.value_of(unit, name, self.slot.sequence),
            })
        };
        let value = match evaluate(&text, Operators::Gas, names) {
            Ok(value) => value,
            // A rewritten text has other places than the one that is shown.
            Err(why) if text != written => return Err(Error::Expression { at: at(), why }),
            Err(why) => return Err(self.world.no_value(unit, written, why)),
        };
        match value {
            Value::Known(value) => Ok(value),
            Value::Linker if must_be_known(operand) => {
                Err(Error::Unknown { at: at(), found: written.to_owned() })
            }
            Value::Linker if of_here => Err(Error::LocalAddress { at: at(), found: written.to_owned() }),
            Value::Linker => {
                // As an expression, two places of one name would be one.
                if let Some((name, other)) = shared {
                    let other = self.world.units[other].source.name().to_owned();
                    return Err(Error::OtherMeaning { at: at(), name, other });
                }
                self.expression = Some(text);
                Ok(0)
            }
        }
    }

    /// Keeps a jump's target; its distance in bytes when it is known here.
    fn jump(&mut self, written: &str, operand: Operand) -> Result<i64, Error> {
        let (at, slot) = (self.at, self.slot);
        // `.` is the address behind the instruction, in a distance and in an address alike.
        let (segment, offset) = (slot.segment, slot.offset + 2 * slot.words);
        let behind = Spot { section: at.section, slot: at.slot + 1, segment, offset };
        let target = self.world.target(at.unit, written, slot.sequence, Some(behind))?;
        let mut distance = None;
        if let Target::Here(to) = &target
            && (to.unit, to.section) == (at.unit, at.section)
            && operand != Operand::Address22
        {
            let its = &self.world.units[to.unit].sections[to.section].slots[to.slot];
            distance = (its.segment == segment).then(|| i64::from(its.offset) - i64::from(offset));
        }
        self.target = Some((target, written.to_owned()));
        Ok(distance.unwrap_or(0))
    }
}
