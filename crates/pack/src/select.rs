//! What is worth packing.
//!
//! Owns: the choice of functions that stay as they are because packing them does not clearly gain, in the image and in
//! every training run that executes them; and the same choice for the whole image. Lists of names are `flow`'s.

use crate::flow::Flow;
use crate::layout::Region;
use crate::packing::{Fetches, Report};

/// A saving that is clear: what is run differs a little from what it was packed for.
pub const CLEAR_SAVING_PERCENT: u8 = 1;

/// The least that is to be saved of so many: so many percent, and something.
fn least(plain: u64, percent: u8) -> u64 {
    let percent = (u128::from(plain) * u128::from(percent)).div_ceil(100);
    u64::try_from(percent).unwrap_or(u64::MAX).max(1)
}

/// Executions of all of these; as many as a number can say.
pub fn sum(executions: impl Iterator<Item = u64>) -> u64 {
    executions.fold(0, u64::saturating_add)
}

/// The pieces that are left as they are: those that save nothing; that save less than so many percent of their fetches
/// in one of the profiled runs that execute them; or, where none does, of their words. With 0 percent, only those that
/// save no word. Executions are of each run, by item.
pub fn left_out(flow: &Flow, regions: &[Vec<Region>], runs: &[Vec<u64>], least_percent: u8) -> Vec<usize> {
    let gains = |piece: &usize| {
        let words = || regions[*piece].iter().flat_map(|region| &region.groups);
        let items = flow.pieces[*piece].items.clone();
        let fetches = runs.iter().map(|executions| Fetches {
            plain: sum(executions[items.clone()].iter().copied()),
            packed: sum(words().map(|group| executions[group.items[0] as usize])),
        });
        let executed: Vec<Fetches> = fetches.filter(|fetches| fetches.plain > 0).collect();
        let percent = if executed.is_empty() { least_percent } else { 0 };
        let count = items.len() as u64;
        count - words().count() as u64 >= least(count, percent)
            && executed.into_iter().all(|fetches| saves_fetches(fetches, least_percent))
    };
    (0..flow.pieces.len()).filter(|piece| !gains(piece)).collect()
}

/// Whether a profiled run fetches less by so many percent. With 0 percent it may fetch as much, and no more.
fn saves_fetches(Fetches { plain, packed }: Fetches, least_percent: u8) -> bool {
    let least = if least_percent == 0 { 0 } else { least(plain, least_percent) };
    plain.checked_sub(packed).is_some_and(|saved| saved >= least)
}

/// Whether an image clearly gains: it is smaller with its dictionary, or every profiled run that executes its code
/// fetches less; and none of these runs is without that gain. Where less is asked of functions, less is of the image.
pub fn gains(report: &Report, least_percent: u8) -> bool {
    let percent = least_percent.min(CLEAR_SAVING_PERCENT);
    let executed = || report.fetches.iter().filter(|fetches| fetches.plain > 0);
    let plain_bytes = 4 * u64::from(report.plain_words);
    let packed_bytes = 4 * u64::from(report.packed_words) + u64::from(report.dictionary_bytes);
    let smaller = packed_bytes + least(plain_bytes, percent) <= plain_bytes;
    let fetches_less = executed().next().is_some() && executed().all(|all| all.packed < all.plain);
    (smaller || fetches_less) && executed().all(|&fetches| saves_fetches(fetches, percent))
}
