//! Which of a guest's items belong together.
//!
//! Owns: what nothing may stand between ([`whole`]), which registers work together there, and which items only some
//! ways pass. What is put around them is `rename`'s.

use std::ops::Range;

use isa::avr::Set;

use super::named_registers;
use crate::guest::Guest;
use crate::item::{Item, Line};

/// The items that nothing may stand between: an instruction with what is said of it, a skip with what it skips, and
/// instructions in a row of which each is an event.
pub(super) fn whole(items: &[Item]) -> Vec<Range<usize>> {
    let mut units = Vec::new();
    let mut from = 0;
    let says = |index: usize| matches!(items.get(index), Some(Item::Says(_)));
    for (index, item) in items.iter().enumerate() {
        let goes_on = match item {
            Item::Says(_) => true,
            Item::Line(_) if index > 0 && says(index - 1) && says(index + 1) => true,
            Item::Line(line) => line.instruction.opcode.is_skip(),
            Item::Label(_) => false,
        };
        if !goes_on || index + 1 == items.len() {
            units.push(from..index + 1);
            from = index + 1;
        }
    }
    units
}

/// For each guest register those that work together with it; of a pair both halves with both.
pub(super) fn together(guest: &Guest) -> [Set; 32] {
    let mut together = [Set::EMPTY; 32];
    let items: Vec<Item> = guest.items().cloned().collect();
    for range in whole(&items) {
        let named = items[range].iter().flat_map(|item| match item {
            Item::Line(line) => named_registers(&line.instruction),
            _ => Vec::new(),
        });
        let named: Vec<u8> = named.flat_map(|register| [register & !1, register | 1]).collect();
        let all = named.iter().fold(Set::EMPTY, |set, &register| set | Set::register(register));
        for &register in &named {
            together[usize::from(register)] = together[usize::from(register)] | all;
        }
    }
    together
}

/// Whether each item is passed on some ways through the element only: a branch goes around it.
pub(super) fn conditional_items(items: &[Item]) -> Vec<bool> {
    let mut conditional = vec![false; items.len()];
    for (from, item) in items.iter().enumerate() {
        let Item::Line(Line { target: Some(target), .. }) = item else { continue };
        let to = items.iter().position(|item| *item == Item::Label(*target));
        if let Some(to) = to.filter(|&to| to > from) {
            conditional[from + 1..to].fill(true);
        }
    }
    conditional
}
