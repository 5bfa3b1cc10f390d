//! Which instructions of a block must stay behind which.
//!
//! Owns: the dependences within a run of instructions that is entered at its first one only, and which transfers of
//! control may have another of them as their delay instruction ([`Delay`]). The rule that decides for two instructions,
//! and whether one waits behind another, is the instruction set's (`flow/effects.rs`); the order that comes of it is
//! `code::assign`'s.

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
    /// Transfers of control that other instructions may be the delay instruction of, in the program's order.
    pub delays: Vec<Delay>,
}

/// A transfer of control whose delay instruction is chosen anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay {
    /// It; its delay instruction in the program is the next one.
    pub transfer: usize,
    /// A bit for each instruction since the transfer before it, and for its delay instruction: all of these but one
    /// stand before it, and that one right behind it.
    pub around: u64,
    /// Those of them that may be the one; no other of them waits for one of these.
    pub may: u64,
}

/// Cuts a run into windows that are ordered one after the other.
pub fn windows(items: &[Item], effects: &[Effects]) -> Vec<Window> {
    let mut windows = Vec::new();
    let (mut fixed, open) = fixed(items, effects);
    let mut first = 0;
    while first < items.len() {
        let end = items.len().min(first + WINDOW_ITEMS_MAX);
        // Its transfer is in the window before.
        fixed[first] |= first > 0 && open[first - 1];
        let (effects, fixed) = (&effects[first..end], &fixed[first..end]);
        let waits = effects.iter().map(|effect| bits(effects, |earlier| effect.waits_for(earlier))).collect();
        let mut before = before(effects, fixed);
        let delays = delays(effects, fixed, &open[first..end], &mut before);
        windows.push(Window { items: first..end, before, waits, delays });
        first = end;
    }
    windows
}

/// By instruction, whether nothing changes places with it, and whether it is a transfer of control whose delay
/// instruction may.
fn fixed(items: &[Item], effects: &[Effects]) -> (Vec<bool>, Vec<bool>) {
    let (mut fixed, mut open) = (vec![false; items.len()], vec![false; items.len()]);
    let mut fixed_until = 0;
    for index in 0..items.len() {
        let held = index < fixed_until;
        let is_delay = index > 0 && open[index - 1];
        // What is jumped to stays first, so that the map has one place for each address.
        fixed[index] = index == 0 || held || keeps_place(&items[index]) && !is_delay;
        open[index] = !held && is_open(&items[index..], &effects[index..]);
        if !open[index] {
            fixed_until = fixed_until.max(index + 1 + effects[index].keeps_behind());
        }
    }
    (fixed, open)
}

/// Whether the first of these transfers control, and the second may stand before it as well.
fn is_open(items: &[Item], effects: &[Effects]) -> bool {
    let ([transfer, delay, ..], [leaves, passes, ..]) = (items, effects) else { return false };
    let packs = matches!(transfer.role, Role::Free | Role::Branch | Role::Pinned(Reason::Call));
    let moves = !keeps_place(delay) || delay.role == Role::Pinned(Reason::BehindCall);
    packs && moves && leaves.delays() && passes.passes(leaves)
}

/// The transfers of a window that are open, which then wait for all but one of what is around them.
fn delays(effects: &[Effects], fixed: &[bool], open: &[bool], before: &mut [u64]) -> Vec<Delay> {
    let below = |index: usize| (1u64 << index) - 1;
    let (mut delays, mut first) = (Vec::new(), 0);
    for transfer in 0..effects.len().saturating_sub(1) {
        let delay = transfer + 1;
        if open[transfer] {
            let around = (below(transfer) & !below(first)) | 1 << delay;
            let passes = bits(&effects[..transfer], |earlier| earlier.passes(&effects[transfer]));
            let free =
                (first..transfer).filter(|&index| !fixed[index]).fold(0, |bits, index| bits | 1 << index);
            // What another one of these waits for is not the last of them.
            let needed = (first..transfer).chain([delay]).fold(0, |bits, index| bits | before[index]);
            let may = around & passes & free & !needed | 1 << delay;
            if may == 1 << delay {
                before[delay] |= below(delay);
            } else {
                (first..=delay).for_each(|index| before[index] &= !(1 << transfer));
                before[transfer] = below(first);
                delays.push(Delay { transfer, around, may });
            }
            before[delay + 1..].iter_mut().for_each(|before| *before |= below(delay) | 1 << delay);
        }
        // A transfer that is not open keeps all its instructions where they are.
        if effects[transfer].keeps_behind() > 0 {
            first = delay + 1;
        }
    }
    delays
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
