//! What names and expressions stand for, over all given texts.
//!
//! Owns: values of assigned names, labels (named, local, other texts'), and jump targets. A name without a value
//! here is the linker's.

use std::collections::HashMap;
use std::ops::Range;

use super::layout::{Layout, Spot};
use crate::error::{Error, Place};
use crate::expression::{ExpressionFault, Operators, Value, evaluate, is_local};
use crate::limits::EXPRESSION_DEPTH_MAX;

/// An instruction's place: text, section, number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Where {
    pub unit: usize,
    pub section: usize,
    pub slot: usize,
}

/// Where a jump goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// To an instruction.
    Here(Where),
    /// To what only the linker knows, as written.
    Elsewhere(String),
}

/// The given texts.
pub(super) struct World<'s> {
    pub units: Vec<Layout<'s>>,
}

/// What a jump counts from.
enum Base {
    Spot(usize, Spot),
    Symbol(String),
}

impl<'s> World<'s> {
    pub fn new(mut units: Vec<Layout<'s>>) -> World<'s> {
        units.iter_mut().for_each(complete);
        World { units }
    }

    pub fn place(&self, unit: usize, span: &Range<usize>) -> Box<Place> {
        self.units[unit].source.place(span)
    }

    /// A name's value at a time.
    pub fn value_of(&self, unit: usize, name: &str, sequence: usize) -> Value {
        value_of(&self.units[unit], name, sequence)
    }

    /// The label of a name: this text's, else another's that shows it. One that is weak yields to one that is not,
    /// as it does when it is linked.
    pub fn label(&self, unit: usize, name: &str) -> Option<(usize, Spot)> {
        let mut name = name;
        let mut weak_one = None;
        for _ in 0..EXPRESSION_DEPTH_MAX {
            if let Some(spot) = self.units[unit].labels.get(name) {
                if self.units[unit].visible.get(name) != Some(&true) {
                    return Some((unit, *spot));
                }
                weak_one = Some((unit, *spot));
                break;
            }
            match self.alias(unit, name) {
                Some(other) => name = other,
                None => break,
            }
        }
        let shown = |index: usize, weak: bool| {
            let layout = &self.units[index];
            if index == unit || layout.visible.get(name) != Some(&weak) {
                return None;
            }
            let named = layout.labels.get(name).copied();
            named.or_else(|| layout.labels.get(self.alias(index, name)?).copied()).map(|spot| (index, spot))
        };
        let all = || 0..self.units.len();
        let strong = all().find_map(|index| shown(index, false));
        strong.or(weak_one).or_else(|| all().find_map(|index| shown(index, true)))
    }

    /// The name that a name was set to.
    fn alias(&self, unit: usize, name: &str) -> Option<&'s str> {
        let layout = &self.units[unit];
        let text = layout.source.clean(&layout.assignments.get(name)?.last()?.text);
        text.bytes().all(crate::expression::is_name_byte).then_some(text)
    }

    /// Another text that means something else by a name: a label that is its own there, or is this text's own here.
    pub fn other_meaning(&self, unit: usize, name: &str) -> Option<usize> {
        let own = |index: usize| {
            self.units[index].labels.contains_key(name) && !self.units[index].visible.contains_key(name)
        };
        let here_own = own(unit);
        (0..self.units.len()).find(|other| {
            *other != unit && (own(*other) || (here_own && self.units[*other].labels.contains_key(name)))
        })
    }

    /// The label that `1b` or `1f` means at a time.
    fn local(&self, unit: usize, name: &str, sequence: usize) -> Option<Spot> {
        let (digits, direction) = name.split_at(name.len() - 1);
        let all = self.units[unit].locals.get(digits)?;
        let later = all.partition_point(|(met, _)| *met <= sequence);
        let found = if direction == "b" { all.get(later.checked_sub(1)?) } else { all.get(later) };
        found.map(|(_, spot)| *spot)
    }

    /// The instruction at a spot and some bytes behind it.
    pub fn instruction_at(&self, unit: usize, spot: Spot, bytes: i64) -> Option<Where> {
        let slots = &self.units[unit].sections[spot.section].slots;
        let offset = u32::try_from(i64::from(spot.offset).checked_add(bytes)?).ok()?;
        let wanted = (spot.segment, offset);
        let slot = slots.binary_search_by_key(&wanted, |slot| (slot.segment, slot.offset)).ok()?;
        Some(Where { unit, section: spot.section, slot })
    }

    /// Where an expression goes as a jump's or call's operand, or as a record's address. `here` is what `.` means.
    pub fn target(
        &self,
        unit: usize,
        text: &str,
        sequence: usize,
        here: Option<Spot>,
    ) -> Result<Target, Error> {
        let at = || {
            let source = self.units[unit].source;
            source.place(&source.span_of(text).unwrap_or(0..0))
        };
        let (base, bytes) = self.based(unit, text, sequence, here, &at)?;
        match base {
            Base::Symbol(name) if bytes == 0 => Ok(Target::Elsewhere(name)),
            Base::Symbol(_) => Ok(Target::Elsewhere(text.to_owned())),
            Base::Spot(its_unit, spot) => match self.instruction_at(its_unit, spot, bytes) {
                Some(found) => Ok(Target::Here(found)),
                None => Err(self.no_instruction(its_unit, spot, text, at())),
            },
        }
    }

    /// The one label, symbol or `.` in an expression, and how many bytes it adds to that.
    fn based(
        &self,
        unit: usize,
        text: &str,
        sequence: usize,
        here: Option<Spot>,
        at: &dyn Fn() -> Box<Place>,
    ) -> Result<(Base, i64), Error> {
        let mut base = None;
        let mut missing = None;
        // Counting once from 0 and once from 1 shows whether the base is added exactly once.
        let mut counted = |from: i64| {
            let mut seen = 0;
            let names = &mut |name: &str| {
                let found = if name == "." {
                    here.map(|spot| Base::Spot(unit, spot))
                } else if is_local(name) {
                    let found = self.local(unit, name, sequence).map(|spot| Base::Spot(unit, spot));
                    if found.is_none() {
                        missing = Some(name.to_owned());
                    }
                    found
                } else if let Some((its_unit, spot)) = self.label(unit, name) {
                    Some(Base::Spot(its_unit, spot))
                } else if let Value::Known(value) = self.value_of(unit, name, sequence) {
                    return Some(Value::Known(value));
                } else {
                    Some(Base::Symbol(name.to_owned()))
                };
                seen += 1;
                base = Some(found?);
                Some(Value::Known(from))
            };
            let value = evaluate(text, Operators::Gas, names);
            (value, seen)
        };
        let ((from_zero, seen), (from_one, _)) = (counted(0), counted(1));
        if let Some(found) = missing {
            return Err(Error::NoLocalLabel { at: at(), found });
        }
        match (from_zero, from_one, base) {
            (Err(why), ..) | (_, Err(why), _) => Err(self.no_value(unit, text, why)),
            (Ok(Value::Known(zero)), Ok(Value::Known(one)), Some(base))
                if seen == 1 && one.checked_sub(zero) == Some(1) =>
            {
                Ok((base, zero))
            }
            (Ok(Value::Known(zero)), _, None) => Ok((Base::Symbol(format!("{zero:#x}")), 0)),
            _ => Err(Error::TargetExpression { at: at(), found: text.to_owned() }),
        }
    }

    /// Why an expression of a text has no value.
    pub fn no_value(&self, unit: usize, text: &str, why: ExpressionFault) -> Error {
        let source = self.units[unit].source;
        let from = source.span_of(text).map_or(0, |span| span.start);
        Error::Expression { at: source.place(&(from + why.at.start..from + why.at.end)), why }
    }

    /// Why no instruction is where a jump goes.
    pub fn no_instruction(&self, unit: usize, spot: Spot, found: &str, at: Box<Place>) -> Error {
        match self.gap_at(unit, spot.section, spot.slot) {
            Some(error) => error,
            None => Error::TargetInside { at, found: found.to_owned() },
        }
    }

    /// The refusal of what stands before an instruction and is none, if something does and is not mere data.
    pub fn gap_at(&self, unit: usize, section: usize, slot: usize) -> Option<Error> {
        use super::layout::GapKind;
        let gaps = &self.units[unit].sections[section].gaps;
        let from = gaps.partition_point(|(before, _)| *before < slot);
        gaps[from..].iter().take_while(|(before, _)| *before == slot).find_map(|(_, gap)| {
            let at = self.place(unit, &gap.span);
            let found = self.units[unit].source.clean(&gap.span);
            let found = found.split_whitespace().next().unwrap_or_default().to_owned();
            match gap.kind {
                GapKind::Unexpanded => Some(Error::Unexpanded { at, found }),
                GapKind::Unknown => Some(Error::AssemblerDirective { at, found }),
                GapKind::Data | GapKind::Alignment => None,
            }
        })
    }
}

/// A name's value at a time: what it was set to before, or else first after. avr-as takes it so.
fn value_of(layout: &Layout, name: &str, sequence: usize) -> Value {
    let Some(all) = layout.assignments.get(name) else { return Value::Linker };
    let later = all.partition_point(|assignment| assignment.sequence <= sequence);
    all[later.saturating_sub(1)].value
}

/// Gives values to names that were set to names that were set later. Goes backwards until nothing changes, so that
/// no text can make it follow the same names again and again.
fn complete(layout: &mut Layout) {
    for _ in 0..EXPRESSION_DEPTH_MAX {
        let mut found: HashMap<(String, usize), Value> = HashMap::new();
        for (name, all) in &layout.assignments {
            for (index, assignment) in all.iter().enumerate() {
                if assignment.value != Value::Linker {
                    continue;
                }
                let names = &mut |inner: &str| {
                    let known = if inner == *name {
                        Value::Linker
                    } else {
                        value_of(layout, inner, assignment.sequence)
                    };
                    Some(known)
                };
                let text = layout.source.clean(&assignment.text);
                if let Ok(value @ Value::Known(_)) = evaluate(text, Operators::Gas, names) {
                    found.insert(((*name).to_owned(), index), value);
                }
            }
        }
        if found.is_empty() {
            return;
        }
        for ((name, index), value) in found {
            if let Some(all) = layout.assignments.get_mut(name.as_str()) {
                all[index].value = value;
            }
        }
    }
}
