//! Break-even: at which dividers a woven program does more of the cipher's work in a second than one with a handler.
//!
//! Owns both answers. One is measured in the cells. The other is computed before a woven program has run, in the terms
//! of the paper's section 2.1: beside a handler a byte takes T_trans + T_idle, all of which is the cipher's but T_ISR;
//! woven, the cipher has what the schedule leaves it. T_ISR and T_idle are those of the slowest divider that was
//! measured, and T_trans is 8 cycles of each divider.

use super::cells::Scheme;
use super::measure::{Bench, CLOCK_HZ, Measured};
use super::rows::Result;

/// What a woven program is compared with.
pub const HANDLERS: [Scheme; 2] = [Scheme::Compiled, Scheme::Reserved];

/// Where a woven program does more than one with a handler.
pub struct Even<'a> {
    /// The case.
    pub bench: &'a Bench,
    /// With which handler.
    pub handler: Scheme,
    /// Cycles of the handler for a byte.
    pub isr_cycles: f64,
    /// Cycles of the bus between two bytes.
    pub idle_cycles: f64,
    /// The dividers that both were measured at, ascending, and whether weaving gives the cipher more: computed, and
    /// measured.
    dividers: Vec<(u32, [bool; 2])>,
}

impl<'a> Even<'a> {
    /// Of a case and a handler; none unless both were measured somewhere.
    pub fn of(bench: &'a Bench, handler: Scheme, results: &[Result]) -> Option<Even<'a>> {
        let cells = |scheme: Scheme| {
            let of_case = results.iter().filter(move |result| std::ptr::eq(result.bench, bench));
            let of_scheme = of_case.filter(move |result| result.cell.scheme == scheme);
            of_scheme.filter_map(|result| Some((result.cell.divider, result.measured()?)))
        };
        let (slowest, beside) = cells(handler).max_by_key(|&(divider, _)| divider)?;
        let isr_cycles = beside.handler_cycles?;
        let idle_cycles = CLOCK_HZ / beside.bus_rate() - f64::from(8 * slowest);
        // Work in a second, as the share of it in which the cipher alone does as much.
        let cycles_per_byte = |scheme| bench.alone_for(scheme).cycles_per_byte(&bench.case);
        let by_handler = |divider: u32| {
            let period = (f64::from(8 * divider) + idle_cycles).max(isr_cycles);
            (1.0 - isr_cycles / period) / cycles_per_byte(handler)
        };
        let by_schedule =
            |woven: &Measured| woven.schedule_share.map(|share| share / cycles_per_byte(Scheme::Woven));
        let compare = |(divider, woven): (u32, &Measured)| {
            let (_, beside) = cells(handler).find(|cell| cell.0 == divider)?;
            let computed = by_schedule(woven)? > by_handler(divider);
            Some((divider, [computed, woven.host_rate() > beside.host_rate()]))
        };
        let mut dividers: Vec<_> = cells(Scheme::Woven).filter_map(compare).collect();
        dividers.sort_unstable();
        (!dividers.is_empty()).then_some(Even { bench, handler, isr_cycles, idle_cycles, dividers })
    }

    /// Of every case and both handlers.
    pub fn all(benches: &'a [Bench], results: &[Result]) -> Vec<Even<'a>> {
        let pairs = benches.iter().flat_map(|bench| HANDLERS.map(|handler| (bench, handler)));
        pairs.filter_map(|(bench, handler)| Even::of(bench, handler, results)).collect()
    }

    /// Where the schedule says that weaving gives the cipher more.
    pub fn computed(&self) -> String {
        more(self.dividers.iter().map(|&(divider, [computed, _])| (divider, computed)))
    }

    /// Where it was measured.
    pub fn measured(&self) -> String {
        more(self.dividers.iter().map(|&(divider, [_, measured])| (divider, measured)))
    }
}

/// `f/2, f/8 to f/32`, of ascending dividers and whether there is more. The last that is named is the break-even
/// divider, unless no slower one was measured.
fn more(dividers: impl Iterator<Item = (u32, bool)>) -> String {
    let dividers: Vec<(u32, bool)> = dividers.collect();
    let runs = dividers.chunk_by(|one, next| one.1 == next.1).filter(|run| run[0].1);
    let words: Vec<String> = runs
        .map(|run| match run {
            [(only, _)] => format!("f/{only}"),
            _ => format!("f/{} to f/{}", run[0].0, run[run.len() - 1].0),
        })
        .collect();
    if words.is_empty() { "nowhere".to_owned() } else { words.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_range() {
        let of = |gains: [bool; 5]| more([2, 4, 8, 16, 32].into_iter().zip(gains));
        assert_eq!(of([true; 5]), "f/2 to f/32");
        assert_eq!(of([false; 5]), "nowhere");
        assert_eq!(of([true, false, true, true, false]), "f/2, f/8 to f/16");
    }
}
