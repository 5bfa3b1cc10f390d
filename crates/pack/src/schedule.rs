//! Which instructions of a block must stay behind which.
//!
//! Owns: the dependences within a run of instructions that is entered at its first one only. The rule that decides
//! for two of them is the instruction set's (`flow/effects.rs`); the order that comes of it is `code::assign`'s.

use std::ops::Range;

use crate::flow::{Effects, Item, Reason, Role};
use crate::limits::WINDOW_ITEMS_MAX;

/// Cuts a run into windows that are ordered one after the other, each with, for every instruction, a bit for each of
/// those in the window that must stay before it.
pub fn windows(items: &[Item], effects: &[Effects]) -> Vec<(Range<usize>, Vec<u64>)> {
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
        windows.push((first..end, before(&effects[first..end], &fixed[first..end])));
        first = end;
    }
    windows
}

/// What is pinned keeps its place among the others, unless all that pins it is that its value comes late.
fn keeps_place(item: &Item) -> bool {
    matches!(item.role, Role::Pinned(reason) if reason != Reason::CodeAddress)
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
