//! The guest as cocalls see it: segments that run in one piece, and the gaps between them that are the host's.
//!
//! Owns: which gaps are worth leaving to the host; shorter ones are waited for inside a segment.

use isa::avr::Set;

use crate::phase::Rhythm;

/// Elements of a round that run in one piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    /// Each element by its index, with the cycles that are waited before it.
    pub elements: Vec<(usize, u32)>,
    /// Cycles from its end to the start of the next segment.
    pub gap_cycles: u32,
}

/// What runs before the first gap, and the segments of a round behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Segments {
    /// From the first event to the first gap that is left to the host; the next segment is the first one of `round`.
    pub start: Segment,
    /// In order, for ever.
    pub round: Vec<Segment>,
}

/// Cuts a round where a gap has `gap_cycles_min` at least; `live` is what lives in the host's registers then. `None`
/// when no gap has.
pub(super) fn segments(rhythm: &Rhythm, live: Set, gap_cycles_min: u32) -> Option<Segments> {
    let count = rhythm.elements().len();
    let mut state = rhythm.first();
    let mut done: Vec<Segment> = Vec::new();
    let mut current = Vec::new();
    let mut first = None;
    // Two rounds: the first may begin in the middle of a segment.
    for step in 0..3 * count + 1 {
        let due = if step == 0 { Some(0) } else { rhythm.due_cycles(state, live) };
        let due = due.map_or(0, |due| due.try_into().expect("no flags are saved before an element"));
        let waits = if due >= gap_cycles_min {
            done.push(Segment { elements: std::mem::take(&mut current), gap_cycles: due });
            match first {
                None => first = Some(state.next),
                Some(begin) if begin == state.next => {
                    let start = done.remove(0);
                    return Some(Segments { start, round: done });
                }
                Some(_) => {}
            }
            0
        } else {
            due
        };
        current.push((state.next, waits));
        state = rhythm.after_element(rhythm.later(state, due), live);
    }
    None
}
