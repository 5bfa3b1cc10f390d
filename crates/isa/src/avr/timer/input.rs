//! The counters' input pins: T as a clock and ICP for capture, behind their synchronisers.
//!
//! Source: ATmega128 datasheet "Timer/Counter3, Timer/Counter2, and Timer/Counter1 Prescalers" (external
//! clock source) and "Input Capture Unit"; the ATmega328P's chapters of the same names. Levels change on
//! whole cycles here, so the synchroniser's 2.5 to 3.5 cycles are three.

use crate::Cycles;
use crate::avr::peripheral::NEVER;

/// From an edge at the pin to the counter ("2.5 to 3.5 system clock cycles").
pub const SYNC_CYCLES: Cycles = 3;
/// The noise canceler wants four equal samples, and is four cycles later for it.
const NOISE_CYCLES: Cycles = 4;
/// More edges than this are never on their way through the synchroniser.
const QUEUE: usize = 4;

/// One pin, from its level to edges that reach the counter.
#[derive(Clone, Copy, Debug)]
pub struct Input {
    level: bool,
    /// The level behind the noise canceler, and when that will follow the pin.
    filtered: bool,
    follows: Cycles,
    /// Edges (rising?) on their way, oldest first, with the cycle in which each arrives.
    queue: [(Cycles, bool); QUEUE],
    queued: usize,
}

impl Default for Input {
    fn default() -> Self {
        Self { level: true, filtered: true, follows: NEVER, queue: [(NEVER, false); QUEUE], queued: 0 }
    }
}

impl Input {
    /// The pin is at `high` from `now` on. `noise` switches the noise canceler on; `listening` is false while
    /// the clock of the synchroniser stands still.
    pub fn set(&mut self, high: bool, noise: bool, listening: bool, now: Cycles) {
        self.settle(now);
        if high == self.level {
            return;
        }
        self.level = high;
        if !listening {
            (self.filtered, self.follows) = (high, NEVER);
        } else if noise {
            self.follows = if high == self.filtered { NEVER } else { now + NOISE_CYCLES };
        } else {
            if high != self.filtered {
                self.push(now, high);
            }
            (self.filtered, self.follows) = (high, NEVER);
        }
    }

    fn settle(&mut self, now: Cycles) {
        if self.follows <= now {
            let at = std::mem::replace(&mut self.follows, NEVER);
            self.filtered = self.level;
            self.push(at, self.level);
        }
    }

    fn push(&mut self, at: Cycles, rising: bool) {
        // A level that lasts no cycle is none, so three cycles hold three edges at most.
        if self.queued > 0 && self.queue[self.queued - 1].0 == at + SYNC_CYCLES {
            self.queued -= 1;
            return;
        }
        assert!(self.queued < QUEUE, "edges are taken in the cycle in which they arrive");
        self.queue[self.queued] = (at + SYNC_CYCLES, rising);
        self.queued += 1;
    }

    /// Forgets what is on its way: the clock stopped.
    pub fn clear(&mut self) {
        *self = Self { level: self.level, filtered: self.level, ..Self::default() };
    }

    /// When the next edge reaches the counter, at the earliest.
    pub fn due(&self) -> Cycles {
        if self.queued > 0 { self.queue[0].0 } else { self.follows.saturating_add(SYNC_CYCLES) }
    }

    /// Takes the next edge that has reached the counter by `now`: its cycle, and whether it rises.
    pub fn take(&mut self, now: Cycles) -> Option<(Cycles, bool)> {
        if self.due() > now {
            return None;
        }
        self.settle(now);
        let first = self.queue[0];
        self.queue.rotate_left(1);
        self.queued -= 1;
        Some(first)
    }
}
