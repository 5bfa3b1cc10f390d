//! Gaps between units that are fetched, filled with units that are not.
//!
//! Owns: which gaps and orders are tried, and how gaps are filled ([`Filling`]). Where a loop is larger than the cache,
//! all of it is lacking as long as it lies in one piece; with gaps a part of it has its lines to itself, and the rest
//! shares what is left (after A. H. Hashemi, D. R. Kaeli and B. Calder, "Efficient procedure mapping using cache line
//! coloring", PLDI 1997). What is never fetched takes the room, so that gaps take none.

use super::Tried;
use super::judge::Judge;
use crate::place::{Draw, Placement};

/// The most units that change their place at once.
const MOVED_UNITS_MAX: usize = 8;
/// Gaps are up to so many words: the 1 KiB of the paper's cache.
const GAP_WORDS: u32 = 256;

/// Units that are fetched, and what gaps between them are filled with.
pub struct Filling {
    /// Where units lie at first.
    pub start: Placement,
    /// How many there are until the last of those that are fetched.
    pub first_unused: usize,
    /// By first piece, the length of what may fill a gap, in words, with its place behind the ones that are fetched.
    fillers: Vec<(u32, Vec<usize>)>,
    /// How many words there are to fill gaps with.
    pub words: u32,
}

impl Filling {
    /// Of what is packed and placed.
    pub fn of(judge: &Judge<'_>, tried: &Tried<'_>) -> Filling {
        let placement = &tried.packer.placement;
        let used = judge.used(&tried.seen, placement);
        let first_unused = used.iter().rposition(|used| used.0).map_or(0, |last| last + 1);
        let behind = placement.units.iter().zip(&used).skip(first_unused);
        // What must be aligned would leave a gap of its own, and branches that go farther may need words.
        let fits = |unit: &[usize]| !tried.packer.is_aligned(unit) && tried.packer.is_whole(unit);
        let fillers = behind.filter(|(unit, _)| fits(unit)).map(|(unit, used)| (used.1, unit.clone()));
        let mut fillers: Vec<(u32, Vec<usize>)> = fillers.collect();
        fillers.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let words = fillers.iter().map(|filler| filler.0).sum();
        Filling { start: placement.clone(), first_unused, fillers, words }
    }

    /// Changes an order or a gap.
    pub fn change(&self, placement: &mut Placement, draw: &mut Draw) {
        let hot = self.first_unused;
        let at = draw.below(hot as u64) as usize;
        match draw.below(4) {
            0 => {
                let moved = 1 + draw.below((hot - at).min(MOVED_UNITS_MAX) as u64) as usize;
                let units: Vec<Vec<usize>> = placement.units.drain(at..at + moved).collect();
                let rooms: Vec<u32> = placement.room_words.drain(at..at + moved).collect();
                let to = draw.below((hot - moved) as u64 + 1) as usize;
                placement.units.splice(to..to, units);
                placement.room_words.splice(to..to, rooms);
            }
            kind => {
                let words = 1 + draw.below(u64::from(GAP_WORDS) - 1) as u32;
                let room = &mut placement.room_words[at];
                *room = (*room + words) % GAP_WORDS;
                // The ones behind stay where they are in the cache, or move all.
                if kind > 1 && at + 1 < hot {
                    let next = &mut placement.room_words[at + 1];
                    *next = (*next + GAP_WORDS - words) % GAP_WORDS;
                }
            }
        }
    }

    /// Fills gaps, the largest first, with the longest units that fit; what is left of a gap stays free.
    pub fn fill(&self, placement: &mut Placement) {
        let mut fillers = self.fillers.clone();
        let mut left = placement.room_words.clone();
        let mut filling: Vec<Vec<Vec<usize>>> = vec![Vec::new(); self.first_unused];
        let mut gaps: Vec<usize> = (0..self.first_unused).collect();
        gaps.sort_by_key(|&gap| std::cmp::Reverse(left[gap]));
        for gap in gaps {
            while let Some(at) = fillers.iter().position(|filler| filler.0 <= left[gap] && filler.0 > 0) {
                let (words, filler) = fillers.remove(at);
                left[gap] -= words;
                filling[gap].push(filler);
            }
        }
        let (mut units, mut room_words) = (Vec::new(), Vec::new());
        for (gap, filling) in filling.into_iter().enumerate() {
            room_words.extend(std::iter::repeat_n(0, filling.len()).chain([left[gap]]));
            units.extend(filling);
            units.push(placement.units[gap].clone());
        }
        let rest: Vec<Vec<usize>> =
            placement.units.iter().filter(|unit| !units.contains(unit)).cloned().collect();
        room_words.extend(std::iter::repeat_n(0, rest.len()));
        units.extend(rest);
        *placement = Placement { units, room_words };
    }
}
