//! Elements of a guest that nothing may part.
//!
//! Owns: which they are ([`join_flags`], [`join_events`]), which cannot be ([`has_flags_before`]), and joining two into
//! one ([`append`]). Reading them is `guest`'s.

use isa::avr::{Instruction, Opcode, Set};

use super::{Clock, Element, labels, shifted};
use crate::error::Refusal;
use crate::item::{Item, Line};

/// The status bits that are needed behind each element. Behind the last one, those are what the first one finds.
fn needed(elements: &[Element]) -> Vec<Set> {
    let mut needed = vec![Set::EMPTY; elements.len()];
    let mut live = Set::EMPTY;
    // Twice, because a round has no end.
    for index in (0..elements.len()).rev().chain((0..elements.len()).rev()) {
        needed[index] = live;
        live = live.without(elements[index].writes_flags) | elements[index].reads_flags;
    }
    needed
}

/// Whether a status bit of the guest lives into its round, from the one before or from the setup: the host runs there.
pub(super) fn has_flags_before(elements: &[Element]) -> bool {
    needed(elements).last().is_some_and(|behind| !behind.is_empty())
}

/// Elements between which a status bit of the guest lives are one.
pub(super) fn join_flags(elements: Vec<Element>, clock: &Clock) -> Result<Vec<Element>, Refusal> {
    let needed = needed(&elements);
    let mut joined: Vec<Element> = Vec::new();
    let mut open = false;
    for (element, needed) in elements.into_iter().zip(needed) {
        match joined.last_mut().filter(|_| open) {
            Some(last) => append(last, element, clock.period_cycles).map_err(|missing_cycles| {
                Refusal::EventsJoined { clock: clock.name.clone(), missing_cycles }
            })?,
            None => joined.push(element),
        }
        open = !needed.is_empty();
    }
    Ok(joined)
}

/// Elements of which each has to start when the one before it ends are one: what saves a register for one of them has
/// to stand before all.
pub(super) fn join_events(elements: Vec<Element>, period: u32) -> Vec<Element> {
    let mut joined: Vec<Element> = Vec::new();
    for element in elements {
        let ends = joined.last().and_then(|last| Some((last.start? + last.cycles) % period));
        match joined.last_mut().filter(|_| ends.is_some() && ends == element.start) {
            Some(last) => append(last, element, period).expect("no cycle is between them"),
            None => joined.push(element),
        }
    }
    joined
}

/// Joins two elements whose starts are phases of so many cycles; an error are the cycles that are missing between two
/// events.
pub(super) fn append(first: &mut Element, second: Element, period: u32) -> Result<(), u32> {
    match (first.start, second.start) {
        (None, Some(start)) => first.start = Some((start + period - first.cycles % period) % period),
        // Nobody else may run between them, so what they wait for is passed here.
        (Some(before), Some(start)) => {
            let wait_cycles = (start + 2 * period - before - first.cycles % period) % period;
            if first.cycles + wait_cycles > period {
                return Err(period - wait_cycles);
            }
            let nop = Item::Line(Line::added(Instruction::new(Opcode::Nop)));
            first.items.extend(std::iter::repeat_n(nop, wait_cycles as usize));
            first.cycles += wait_cycles;
        }
        (_, None) => {}
    }
    first.reads_flags = first.reads_flags | second.reads_flags.without(first.writes_flags);
    first.writes_flags = first.writes_flags | second.writes_flags;
    first.cycles += second.cycles;
    first.leaves |= second.leaves;
    let free = labels(&first.items);
    first.items.extend(shifted(second.items, free));
    Ok(())
}
