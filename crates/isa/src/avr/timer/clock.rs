//! What makes a counter tick: the I/O clock or the asynchronous crystal, behind a prescaler.
//!
//! Owns the arithmetic between processor cycles and ticks, both ways and without loops.
//! It leaves pins as a clock to `input`.

use crate::Cycles;
use crate::avr::peripheral::NEVER;

/// The two clocks that a prescaler can be fed from, over the chip's cycles.
#[derive(Clone, Copy, Debug)]
pub struct Clocks {
    cpu_hz: u64,
    crystal_hz: u64,
    /// Cycles during which the I/O clock has stood still so far, and since when it does now.
    halted_cycles: Cycles,
    halted_since: Option<Cycles>,
}

impl Clocks {
    pub fn new(cpu_hz: u64, crystal_hz: u64) -> Self {
        assert!(cpu_hz > 0 && crystal_hz > 0, "a clock needs a frequency");
        Self { cpu_hz, crystal_hz, halted_cycles: 0, halted_since: None }
    }

    pub fn is_io_halted(&self) -> bool {
        self.halted_since.is_some()
    }

    /// Stops or starts the I/O clock at `now`.
    pub fn set_io(&mut self, running: bool, now: Cycles) {
        match (self.halted_since, running) {
            (None, false) => self.halted_since = Some(now),
            (Some(since), true) => {
                self.halted_cycles += now - since;
                self.halted_since = None;
            }
            _ => {}
        }
    }

    /// Rising edges of the clock up to and including `cycle`.
    fn edges(&self, crystal: bool, cycle: Cycles) -> u64 {
        if crystal {
            (u128::from(cycle) * u128::from(self.crystal_hz) / u128::from(self.cpu_hz)) as u64
        } else {
            self.halted_since.unwrap_or(cycle) - self.halted_cycles
        }
    }

    /// The first cycle in which `edges` rising edges have happened.
    fn cycle_of(&self, crystal: bool, edges: u64) -> Cycles {
        if crystal {
            (u128::from(edges) * u128::from(self.cpu_hz)).div_ceil(u128::from(self.crystal_hz)) as Cycles
        } else if self.is_io_halted() {
            NEVER
        } else {
            edges + self.halted_cycles
        }
    }

    /// The cycle of the `n`th crystal edge after `now`.
    pub fn crystal_edge_after(&self, now: Cycles, n: u64) -> Cycles {
        self.cycle_of(true, self.edges(true, now) + n)
    }
}

/// A prescaler that several counters share. It runs whether or not a counter uses it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prescaler {
    /// Fed from the crystal on the TOSC pins (ASn in ASSR).
    pub crystal: bool,
    /// Held in reset (TSM together with its PSR bit): its counters stand still.
    pub held: bool,
    /// The clock's edge at which it was last reset.
    origin_edges: u64,
}

impl Prescaler {
    /// Sets it to zero at `now`.
    pub fn reset(&mut self, clocks: &Clocks, now: Cycles) {
        self.origin_edges = clocks.edges(self.crystal, now);
    }

    /// Ticks of the tap that divides by 2 to the `log2` since its reset, up to and including `cycle`.
    pub fn ticks(&self, clocks: &Clocks, log2: u32, cycle: Cycles) -> u64 {
        if self.held { 0 } else { (clocks.edges(self.crystal, cycle) - self.origin_edges) >> log2 }
    }

    /// The cycle of tick number `tick` of that tap.
    pub fn cycle_of(&self, clocks: &Clocks, log2: u32, tick: u64) -> Cycles {
        if self.held { NEVER } else { clocks.cycle_of(self.crystal, self.origin_edges + (tick << log2)) }
    }
}
