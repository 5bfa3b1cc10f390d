//! What is worth packing.
//!
//! Owns: the choice of functions that stay as they are because packing them does not clearly gain, in the image and in
//! every training run that executes them; and the same choice for the whole image. Lists of names are `flow`'s.

use crate::flow::Flow;
use crate::layout::Region;
use crate::packing::Report;
use crate::profile::Profile;

/// The pieces that are left as they are: those that save less than so many percent of their words or, in one of the
/// profiles that execute them, of their fetches; and those that save nothing.
pub fn left_out(flow: &Flow, regions: &[Vec<Region>], profiles: &[Profile], least_percent: u8) -> Vec<usize> {
    let least = |plain: u64| (plain * u64::from(least_percent)).div_ceil(100).max(1);
    let gains = |piece: &usize| {
        let words = || regions[*piece].iter().flat_map(|region| &region.groups);
        let items = flow.pieces[*piece].items.len() as u64;
        let saves = items - words().count() as u64 >= least(items);
        saves
            && profiles.iter().all(|profile| {
                let executions = |item: usize| profile.executions(flow.items[item].old);
                let plain: u64 = flow.pieces[*piece].items.clone().map(executions).sum();
                let packed: u64 = words().map(|group| executions(group.items[0] as usize)).sum();
                plain == 0 || least_percent == 0 || plain.saturating_sub(packed) >= least(plain)
            })
    };
    (0..flow.pieces.len()).filter(|piece| !gains(piece)).collect()
}

/// Whether an image is smaller with its dictionary, or fetches less in every profiled run.
pub fn gains(report: &Report) -> bool {
    let smaller = report.ratio() < 1.0;
    let fetches = report.fetches.iter().all(|fetches| fetches.packed < fetches.plain);
    smaller || !report.fetches.is_empty() && fetches
}
