//! Which instructions of a block must stay behind which.
//!
//! Owns: the dependences within a run of instructions that is entered at its first one only. The rule that decides
//! for two of them, and whether one waits behind another, is the instruction set's (`flow/effects.rs`); the order that
//! comes of it is `code::assign`'s.

use std::ops::Range;

use crate::flow::{Effects, Item, Reason, Role};
use crate::limits::WINDOW_ITEMS_MAX;

/// Instructions that are ordered together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Which ones of their run.
    pub items: Range<usize>,
    /// For every instruction, a bit for each of the window that must stay before it.
    pub before: Vec<u64>,
    /// For every instruction, a bit for each right behind which it waits.
    pub waits: Vec<u64>,
}

/// Cuts a run into windows that are ordered one after the other.
pub fn windows(items: &[Item], effects: &[Effects]) -> Vec<Window> {
    let mut windows = Vec::new();
    let mut fixed_until = 0;
    let mut fixed = vec![false; items.len()];
    for (index, (item, effect)) in items.iter().zip(effects).enumerate() {
        // What is jumped to stays first, so that the map has one place for each address.
        fixed[index] = index == 0 || index < fixed_until || keeps_place(item);
        fixed_until = fixed_until.max(index + 1 + effect.keeps_behind());
    }
    let mut first = 0;
    while first < items.len() {
        let end = items.len().min(first + WINDOW_ITEMS_MAX);
        let effects = &effects[first..end];
        let waits = effects.iter().map(|effect| bits(effects, |earlier| effect.waits_for(earlier)));
        let (before, waits) = (before(effects, &fixed[first..end]), waits.collect());
        windows.push(Window { items: first..end, before, waits });
        first = end;
    }
    windows
}

/// What is pinned keeps its place among the others, unless all that pins it is that its value comes late.
fn keeps_place(item: &Item) -> bool {
    matches!(item.role, Role::Pinned(reason) if reason != Reason::CodeAddress)
}

fn bits(effects: &[Effects], is: impl Fn(&Effects) -> bool) -> u64 {
    effects.iter().enumerate().fold(0, |bits, (index, effect)| bits | u64::from(is(effect)) << index)
}

fn before(effects: &[Effects], fixed: &[bool]) -> Vec<u64> {
    let mut all = vec![0u64; effects.len()];
    for later in 0..effects.len() {
        for earlier in 0..later {
            let tied = fixed[earlier] || fixed[later] || effects[earlier].stays_before(&effects[later]);
            all[later] |= u64::from(tied) << earlier;
        }
    }
    all
}
