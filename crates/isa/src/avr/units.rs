//! The peripherals of a chip as one: who is due next, who wants an interrupt, who listens to a pin.
//!
//! Owns: the list of peripherals and the dispatch to them by number. Each is told the time of its own clock;
//! everything here is in the chip's time.

use super::external::External;
use super::observer::SleepMode;
use super::peripheral::{Effects, NEVER, Peripheral, Pin};
use super::profile::{Profile, Vector};
use super::sleep::{Clock, Clocks};
use crate::Cycles;

macro_rules! units {
    ($($(#[$doc:meta])* $name:ident $field:ident: $type:ty, $clock:ident;)*) => {
        /// A peripheral, by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Unit { $($(#[$doc])* $name,)* }

        impl Unit {
            /// Every peripheral.
            pub const ALL: &[Unit] = &[$(Unit::$name),*];

            /// The clock it counts.
            fn clock(self) -> Clock {
                match self { $(Unit::$name => Clock::$clock,)* }
            }
        }

        /// The peripherals' states.
        #[derive(Clone)]
        pub(super) struct Units {
            $(pub(super) $field: $type,)*
            clocks: Clocks,
            /// When each acts next, in the chip's time.
            due: [Cycles; Unit::ALL.len()],
            /// Each one's requests, as vectors.
            requests: [u64; Unit::ALL.len()],
            /// The vector of each one's request bits.
            vectors: &'static [Vector],
            scratch: Effects,
        }

        impl Units {
            fn advance_local(&mut self, unit: Unit, local: Cycles) {
                match unit { $(Unit::$name => self.$field.advance(local, &mut self.scratch),)* }
            }

            fn due_local(&self, unit: Unit) -> Cycles {
                match unit { $(Unit::$name => self.$field.due(),)* }
            }

            fn requests_local(&self, unit: Unit) -> u32 {
                match unit { $(Unit::$name => self.$field.requests(),)* }
            }

            fn acknowledge_local(&mut self, unit: Unit, bit: u8, local: Cycles) {
                match unit { $(Unit::$name => self.$field.acknowledge(bit, local),)* }
            }

            fn pin_local(&mut self, unit: Unit, pin: Pin, high: bool, local: Cycles) {
                match unit { $(Unit::$name => self.$field.pin(pin, high, local, &mut self.scratch),)* }
            }
        }
    };
}

units! {
    /// Interrupts from pins.
    External external: External, Always;
}

const COUNT: usize = Unit::ALL.len();

impl Units {
    /// After reset.
    pub(super) fn new(profile: &'static Profile) -> Units {
        Units {
            external: External::new(profile.external),
            clocks: Clocks::default(),
            due: [NEVER; COUNT],
            requests: [0; COUNT],
            vectors: profile.vectors,
            scratch: Effects::new(),
        }
    }

    /// After a reset at `now`.
    pub(super) fn reset(&self, profile: &'static Profile, _now: Cycles) -> Units {
        Units::new(profile)
    }

    /// Whether a unit wants to know of a pin's level.
    pub(super) fn listens(&self, unit: Unit, pin: Pin) -> bool {
        match unit {
            Unit::External => self.external.listens(pin),
        }
    }

    /// Vectors that can end a sleep mode. In the deep ones EEPROM and flash programming cannot.
    pub(super) fn wakers(&self, _mode: SleepMode) -> u64 {
        u64::MAX
    }

    /// The first cycle at which one of them acts by itself, and which.
    pub(super) fn next(&self) -> (Cycles, Unit) {
        let mut first = (self.due[0], Unit::ALL[0]);
        for (&due, &unit) in self.due.iter().zip(Unit::ALL).skip(1) {
            if due < first.0 {
                first = (due, unit);
            }
        }
        first
    }

    /// The vectors that are requested, bit n for number n.
    pub(super) fn pending(&self) -> u64 {
        self.requests.iter().fold(0, |all, requests| all | requests)
    }

    /// Brings one to `now` and takes what it did.
    pub(super) fn advance(&mut self, unit: Unit, now: Cycles, effects: &mut Effects) {
        self.advance_local(unit, self.clocks.local(unit.clock(), now));
        self.refresh(unit, effects);
    }

    /// Does something to one that has been brought to `now`, and takes what came of it.
    pub(super) fn with<T>(
        &mut self,
        unit: Unit,
        now: Cycles,
        effects: &mut Effects,
        act: impl FnOnce(&mut Units, Cycles, &mut Effects) -> T,
    ) -> T {
        let local = self.clocks.local(unit.clock(), now);
        self.advance_local(unit, local);
        let mut scratch = std::mem::take(&mut self.scratch);
        let result = act(self, local, &mut scratch);
        self.scratch = scratch;
        self.refresh(unit, effects);
        result
    }

    /// A pin's level changed.
    pub(super) fn pin(&mut self, unit: Unit, pin: Pin, high: bool, now: Cycles, effects: &mut Effects) {
        let local = self.clocks.local(unit.clock(), now);
        self.advance_local(unit, local);
        self.pin_local(unit, pin, high, local);
        self.refresh(unit, effects);
    }

    /// The core enters the handler of a vector.
    pub(super) fn acknowledge(&mut self, vector: u8, now: Cycles, effects: &mut Effects) {
        if let Some((unit, bit)) = self.vectors[usize::from(vector)].source {
            let local = self.clocks.local(unit.clock(), now);
            self.advance_local(unit, local);
            self.acknowledge_local(unit, bit, local);
            self.refresh(unit, effects);
        }
    }

    /// The clocks that do not run in `mode` stop. Everything due has been settled.
    pub(super) fn stop_clocks(&mut self, mode: SleepMode, now: Cycles) {
        self.clocks.stop(mode, now);
        self.external.set_clock(self.clocks.is_running(Clock::Io), now);
        self.refresh_all();
    }

    /// All clocks run again.
    pub(super) fn start_clocks(&mut self, now: Cycles) {
        self.clocks.start(now);
        self.external.set_clock(true, now);
        self.refresh_all();
    }

    fn refresh_all(&mut self) {
        for &unit in Unit::ALL {
            self.refresh(unit, &mut Effects::new());
        }
        assert!(self.scratch.is_empty(), "clocks are switched after everything due was settled");
    }

    /// Looks again at when a unit is due and what it requests, and translates its effects' times.
    fn refresh(&mut self, unit: Unit, effects: &mut Effects) {
        let clock = unit.clock();
        for (local, effect) in self.scratch.drain(..) {
            effects.push((self.clocks.global(clock, local), effect));
        }
        self.due[unit as usize] = match self.due_local(unit) {
            NEVER => NEVER,
            local => self.clocks.global(clock, local),
        };
        let requests = self.requests_local(unit);
        let mut vectors = 0;
        if requests != 0 {
            for (number, vector) in self.vectors.iter().enumerate() {
                if vector.source.is_some_and(|(of, bit)| of == unit && requests >> bit & 1 != 0) {
                    vectors |= 1 << number;
                }
            }
        }
        self.requests[unit as usize] = vectors;
    }
}
