//! What helps where two threads are not woven: what only weaving them otherwise tells.
//!
//! Owns: the smallest period that works, found by weaving with it, and how large a woven function is with it.

use crate::error::Refusal;
use crate::limits::PERIODS_TRIED_MAX;
use crate::{Request, guest, looked_at, plan};

/// A refusal with what helps.
pub(crate) fn with(request: &Request, refusal: Refusal) -> Refusal {
    match refusal {
        Refusal::ImpossiblePeriod { function, period_cycles, events, borrows, .. } => {
            let smallest_cycles = smallest_period(request, period_cycles);
            Refusal::ImpossiblePeriod { function, period_cycles, events, borrows, smallest_cycles }
        }
        Refusal::NoRoom { at, mnemonic, cycles, period_cycles, events: 1, .. } => {
            let smallest_cycles = smallest_period(request, period_cycles);
            Refusal::NoRoom { at, mnemonic, cycles, period_cycles, events: 1, smallest_cycles }
        }
        other => other,
    }
}

/// The smallest period above one that is too short, when it is not far away and nothing else is in the way.
fn smallest_period(request: &Request, too_short_cycles: u32) -> Option<u32> {
    for period_cycles in (too_short_cycles + 1..).take(PERIODS_TRIED_MAX) {
        let guest_program = &guest::with_period(request.guest_program, request.guest, period_cycles)?;
        let longer = Request { guest_program, ..*request };
        let Request { strategy, is_coupled, .. } = longer;
        let woven = looked_at(&longer, |weaving| {
            plan::is_possible(strategy, is_coupled, |way| Ok(weaving.one(way)?.choice))
        });
        match woven {
            Ok(()) => return Some(period_cycles),
            Err(
                Refusal::ImpossiblePeriod { .. }
                | Refusal::NoRoom { .. }
                | Refusal::Unreachable { .. }
                | Refusal::EventsClose { .. }
                | Refusal::TooLarge { .. },
            ) => {}
            Err(_) => return None,
        }
    }
    None
}

/// How many times larger than both functions the woven one is at least with another period of the guest; none where it
/// cannot be woven.
pub fn smallest_growth(request: &Request, period_cycles: u32) -> Option<f64> {
    let guest_program = &guest::with_period(request.guest_program, request.guest, period_cycles)?;
    let other = Request { guest_program, ..*request };
    let growth = looked_at(&other, |weaving| {
        let plan = plan::search(other.strategy, other.is_coupled, |way| Ok(weaving.one(way)?.choice))?;
        Ok(plan.list.first().map(|choice| f64::from(choice.words) / f64::from(weaving.plain_words())))
    });
    growth.ok().flatten()
}
