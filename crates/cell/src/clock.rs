//! A node's own clock: cycles of its crystal against cell time.
//!
//! Cell time is picoseconds since the cell began, kept by the gateway. A node's crystal is off by its drift, so
//! each node counts cycles of its own period. The period is kept in femtoseconds: at 8 MHz one femtosecond is
//! 8 parts in 10^9, finer than the parts per billion in which a drift is stated.

use isa::Cycles;

/// Picoseconds of cell time.
pub type Picoseconds = u64;

/// Picoseconds in a second.
pub const PS_PER_S: u64 = 1_000_000_000_000;

/// The map between a chip's cycles and cell time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    start_ps: Picoseconds,
    period_fs: u64,
}

impl Clock {
    /// A clock of nominal frequency `clock_hz` that runs fast by `drift_ppb` parts per billion (slow if negative)
    /// and whose cycle 0 falls on `start_ps`.
    pub fn new(clock_hz: u64, drift_ppb: i64, start_ps: Picoseconds) -> Clock {
        let numerator = 1_000_000_000_000_000u128 * 1_000_000_000;
        let denominator = u128::from(clock_hz) * (1_000_000_000i128 + i128::from(drift_ppb)) as u128;
        Clock { start_ps, period_fs: ((numerator + denominator / 2) / denominator) as u64 }
    }

    /// The same crystal, whose cycle 0 falls on `start_ps`.
    pub fn starting_at(self, start_ps: Picoseconds) -> Clock {
        Clock { start_ps, ..self }
    }

    /// The instant at which `cycle` begins.
    pub fn at(&self, cycle: Cycles) -> Picoseconds {
        self.start_ps + self.span(cycle)
    }

    /// The first cycle that does not begin before `instant_ps`; 0 for instants before the clock started.
    pub fn first_cycle_from(&self, instant_ps: Picoseconds) -> Cycles {
        let since_ps = instant_ps.saturating_sub(self.start_ps);
        // Asked at every event: 64 bits hold five hours of femtoseconds, and divide much faster than 128.
        match since_ps.checked_mul(1000) {
            Some(since_fs) => since_fs.div_ceil(self.period_fs),
            None => (u128::from(since_ps) * 1000).div_ceil(u128::from(self.period_fs)) as u64,
        }
    }

    /// The length of a span of cycles.
    pub fn span(&self, cycles: Cycles) -> Picoseconds {
        match cycles.checked_mul(self.period_fs) {
            Some(span_fs) => span_fs / 1000,
            None => (u128::from(cycles) * u128::from(self.period_fs) / 1000) as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_fast_crystal_counts_more_cycles_in_the_same_time() {
        let second = PS_PER_S;
        assert_eq!(Clock::new(8_000_000, 0, 0).first_cycle_from(second), 8_000_000);
        let fast = Clock::new(8_000_000, 100_000, 0).first_cycle_from(second);
        assert!((8_000_799..=8_000_801).contains(&fast), "{fast}");
    }

    proptest! {
        #[test]
        fn a_cycle_is_the_first_one_from_its_own_instant(
            hz in 1_000_000u64..20_000_000, ppb in -100_000i64..100_000, start in 0u64..PS_PER_S, cycle in 0u64..1 << 40,
        ) {
            let clock = Clock::new(hz, ppb, start);
            prop_assert_eq!(clock.first_cycle_from(clock.at(cycle)), cycle);
            prop_assert_eq!(clock.first_cycle_from(clock.at(cycle) + 1), cycle + 1);
        }
    }
}
