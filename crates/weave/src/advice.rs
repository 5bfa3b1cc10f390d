//! What helps where two threads are not woven: what only weaving them otherwise tells.
//!
//! Owns: the smallest period that works, found by weaving with it, and whether a compiler can leave registers free.

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
        Refusal::RegisterConflict { guest, what, registers, .. } => {
            let is_compiled = is_compiled(request);
            Refusal::RegisterConflict { guest, what, registers, is_compiled }
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

/// Whether the host is a compiler's: it is written in a file that is no assembly.
fn is_compiled(request: &Request) -> bool {
    let program = request.host_program;
    let file = program.function(request.host).map(|host| program.place_of(host.entry).file);
    let is_assembly = |file: &str| file.ends_with(".s") || file.ends_with(".S") || file.ends_with(".asm");
    file.is_some_and(|file| !is_assembly(&file))
}
