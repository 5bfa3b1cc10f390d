//! The peripherals of a chip as one: who is due next, who wants an interrupt, who listens to a pin.
//!
//! Owns: the list of peripherals and the dispatch to them by name. Each is told the time of its own clock;
//! everything here is in the chip's time.

use super::adc::{Adc, Trigger};
use super::chip::{ResetCause, Settings};
use super::eeprom::Eeprom;
use super::external::External;
use super::observer::SleepMode;
use super::peripheral::{Effects, NEVER, Peripheral, Pin};
use super::ports;
use super::profile::{Profile, Vector};
use super::sleep::{Clock, Clocks};
use super::spi::{self, Spi};
use super::spm::Spm;
use super::timer::{self, CAPTURE, COMPARE_A, OVERFLOW, Timers, request};
use super::usart::Usart;
use super::watchdog::Watchdog;
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
            #[inline]
            fn clock(self) -> Clock {
                match self { $(Unit::$name => Clock::$clock,)* }
            }
        }

        /// The peripherals' states.
        #[derive(Clone)]
        pub(super) struct Units {
            $(pub(super) $field: $type,)*
            clocks: Clocks,
            /// How far each has been brought, in its own time.
            seen: [Cycles; COUNT],
            /// When each acts next, in the chip's time.
            due: [Cycles; COUNT],
            /// Each one's requests, as vectors.
            requests: [u64; COUNT],
            /// All of them together.
            pending: u64,
            vectors: &'static [Vector],
            /// Which listen to a pin, by port and bit: bit n is unit n.
            listeners: [[u16; 8]; ports::PORTS_MAX],
            /// Vectors that cannot end the deep sleep modes.
            shallow_vectors: u64,
        }

        impl Units {
            #[inline]
            fn advance_local(&mut self, unit: Unit, local: Cycles, effects: &mut Effects) {
                match unit { $(Unit::$name => self.$field.advance(local, effects),)* }
            }

            #[inline]
            fn due_local(&self, unit: Unit) -> Cycles {
                match unit { $(Unit::$name => self.$field.due(),)* }
            }

            #[inline]
            fn requests_local(&self, unit: Unit) -> u32 {
                match unit { $(Unit::$name => self.$field.requests(),)* }
            }

            fn acknowledge_local(&mut self, unit: Unit, bit: u8, local: Cycles) {
                match unit { $(Unit::$name => self.$field.acknowledge(bit, local),)* }
            }

            fn pin_local(&mut self, unit: Unit, pin: Pin, high: bool, local: Cycles, effects: &mut Effects) {
                match unit { $(Unit::$name => self.$field.pin(pin, high, local, effects),)* }
            }
        }
    };
}

units! {
    /// Interrupts from pins.
    External external: External, Always;
    /// Serial peripheral interface.
    Spi spi: Spi, Io;
    /// All timers.
    Timers timers: Timers, Timers;
    /// The first USART.
    Usart0 usart0: Usart, Io;
    /// The second USART; the ATmega328P has none.
    Usart1 usart1: Option<Usart>, Io;
    /// Analog-to-digital converter.
    Adc adc: Adc, Adc;
    /// EEPROM.
    Eeprom eeprom: Eeprom, Always;
    /// Watchdog.
    Watchdog watchdog: Watchdog, Always;
    /// Self-programming.
    Spm spm: Spm, Always;
}

const COUNT: usize = Unit::ALL.len();
const _: () = assert!(COUNT <= 16, "listeners are sets of 16 bits");

/// A peripheral that some chips lack. One that is missing has no registers, so nobody reads or writes it.
impl<P: Peripheral> Peripheral for Option<P> {
    type Register = P::Register;

    fn read(&mut self, register: P::Register, now: Cycles) -> u8 {
        self.as_mut().map_or(0, |unit| unit.read(register, now))
    }

    fn write(&mut self, register: P::Register, value: u8, now: Cycles, effects: &mut Effects) {
        if let Some(unit) = self {
            unit.write(register, value, now, effects);
        }
    }

    fn advance(&mut self, now: Cycles, effects: &mut Effects) {
        if let Some(unit) = self {
            unit.advance(now, effects);
        }
    }

    fn due(&self) -> Cycles {
        self.as_ref().map_or(NEVER, P::due)
    }

    fn requests(&self) -> u32 {
        self.as_ref().map_or(0, P::requests)
    }

    fn acknowledge(&mut self, bit: u8, now: Cycles) {
        if let Some(unit) = self {
            unit.acknowledge(bit, now);
        }
    }

    fn pin(&mut self, pin: Pin, high: bool, now: Cycles, effects: &mut Effects) {
        if let Some(unit) = self {
            unit.pin(pin, high, now, effects);
        }
    }
}

/// Which units listen to each pin.
fn listeners(profile: &Profile) -> [[u16; 8]; ports::PORTS_MAX] {
    let mut listeners = [[0; 8]; ports::PORTS_MAX];
    let mut add = |unit: Unit, pin: Pin| {
        listeners[ports::index(pin.port)][usize::from(pin.bit)] |= 1 << unit as u32;
    };
    for line in profile.external.lines {
        add(Unit::External, line.pin);
    }
    for &port in profile.external.pin_change_ports {
        (0..8).for_each(|bit| add(Unit::External, Pin { port, bit }));
    }
    let spi::Config { sck, mosi, miso, ss, .. } = profile.spi;
    [sck, mosi, miso, ss].into_iter().for_each(|pin| add(Unit::Spi, pin));
    profile.timer_inputs.iter().for_each(|&pin| add(Unit::Timers, pin));
    for (unit, usart) in [Unit::Usart0, Unit::Usart1].into_iter().zip(profile.usarts) {
        add(unit, usart.rxd);
    }
    listeners
}

impl Units {
    /// After power-on in cycle 0, with an erased EEPROM.
    pub(super) fn new(profile: &'static Profile, settings: &Settings) -> Units {
        let Settings { clock_hz, crystal_hz, .. } = *settings;
        let mut usarts = profile.usarts.iter().map(|&config| Usart::new(config));
        let is_shallow = |vector: &Vector| matches!(vector.source, Some((Unit::Eeprom | Unit::Spm, _)));
        let shallow = profile.vectors.iter().enumerate().filter(|(_, vector)| is_shallow(vector));
        let mut units = Units {
            external: External::new(profile.external),
            spi: Spi::new(spi::Config { phase: settings.spi_phase, ..profile.spi }),
            timers: Timers::new(timer::Config { model: profile.timers, cpu_hz: clock_hz, crystal_hz }),
            usart0: usarts.next().expect("every chip has a USART"),
            usart1: usarts.next(),
            adc: Adc::new((profile.adc)(settings.avcc_volts, settings.analog.clone())),
            eeprom: Eeprom::new(profile.eeprom, clock_hz, &[]),
            watchdog: Watchdog::new(profile.watchdog, clock_hz, settings.watchdog_always_on),
            spm: Spm::new((profile.spm)(clock_hz)),
            clocks: Clocks::beginning_at(0),
            seen: [0; COUNT],
            due: [NEVER; COUNT],
            requests: [0; COUNT],
            pending: 0,
            vectors: profile.vectors,
            listeners: listeners(profile),
            shallow_vectors: shallow.fold(0, |set, (number, _)| set | 1 << number),
        };
        units.refresh_all();
        units
    }

    /// After a reset at `now`: everything begins anew, except that the EEPROM completes what it has begun.
    pub(super) fn reset(
        &mut self,
        profile: &'static Profile,
        settings: &Settings,
        cause: ResetCause,
        now: Cycles,
    ) {
        let fresh = Units::new(profile, settings);
        let old = std::mem::replace(self, fresh);
        self.clocks = Clocks::beginning_at(now);
        (self.eeprom, self.watchdog) = (old.eeprom, old.watchdog);
        self.eeprom.reset();
        self.watchdog.reset(now, cause == ResetCause::Watchdog);
        self.seen[Unit::Eeprom as usize] = now;
        self.seen[Unit::Watchdog as usize] = now;
        self.adc.set_lag(self.clocks.lag_cycles(Clock::Adc));
        self.refresh_all();
    }

    /// What clkI/O is behind the chip's time.
    pub(super) fn io_lag_cycles(&self) -> Cycles {
        self.clocks.lag_cycles(Clock::Io)
    }

    /// The units that want to know of a pin's level.
    #[inline]
    pub(super) fn listening(&self, pin: Pin) -> u16 {
        self.listeners[ports::index(pin.port)][usize::from(pin.bit)]
    }

    /// Vectors that can end a sleep mode (tables "Active Clock Domains and Wake-up Sources"): in the deep ones
    /// EEPROM and flash programming cannot, though they go on. What has no clock does not request anything.
    pub(super) fn wakers(&self, mode: SleepMode) -> u64 {
        match mode {
            SleepMode::Idle | SleepMode::AdcNoiseReduction => u64::MAX,
            _ => !self.shallow_vectors,
        }
    }

    /// The first cycle at which one of them acts by itself.
    #[inline]
    pub(super) fn next_due(&self) -> Cycles {
        self.due.iter().fold(NEVER, |first, &due| first.min(due))
    }

    /// The one that acts in that cycle; of several the first.
    pub(super) fn next_unit(&self) -> Unit {
        let first = self.next_due();
        let index = self.due.iter().position(|&due| due == first);
        Unit::ALL[index.expect("the least is one of them")]
    }

    /// The vectors that are requested, bit n for number n.
    #[inline]
    pub(super) fn pending(&self) -> u64 {
        self.pending
    }

    /// Brings a unit to the chip's time `now`, or as far as it has got already: an input may come late. Its time.
    /// Effects are in its time until [`refresh`](Self::refresh).
    #[inline]
    fn bring(&mut self, unit: Unit, now: Cycles, effects: &mut Effects) -> Cycles {
        let seen = self.seen[unit as usize];
        let local = self.clocks.local(unit.clock(), now).max(seen);
        if local > seen || self.due[unit as usize] <= now {
            self.seen[unit as usize] = local;
            self.advance_local(unit, local, effects);
        }
        local
    }

    /// What the SPI's register reads at `now`, up to which nothing is due, if reading it changes nothing.
    #[inline]
    pub(super) fn peek_spi(&self, register: spi::Register, now: Cycles) -> Option<u8> {
        self.spi.peek(register, self.clocks.local(Clock::Io, now))
    }

    /// Brings one to `now` and takes what it did.
    pub(super) fn advance(&mut self, unit: Unit, now: Cycles, effects: &mut Effects) {
        let first = effects.len();
        self.bring(unit, now, effects);
        self.refresh(unit, effects, first);
    }

    /// Does something to one that has been brought to `now`, and takes what came of it.
    #[inline]
    pub(super) fn with<T>(
        &mut self,
        unit: Unit,
        now: Cycles,
        effects: &mut Effects,
        act: impl FnOnce(&mut Units, Cycles, &mut Effects) -> T,
    ) -> T {
        let first = effects.len();
        let local = self.bring(unit, now, effects);
        let result = act(self, local, effects);
        self.refresh(unit, effects, first);
        result
    }

    /// A pin's level changed.
    pub(super) fn pin(&mut self, unit: Unit, pin: Pin, high: bool, now: Cycles, effects: &mut Effects) {
        let first = effects.len();
        let local = self.bring(unit, now, effects);
        self.pin_local(unit, pin, high, local, effects);
        self.refresh(unit, effects, first);
    }

    /// The core enters the handler of a vector.
    pub(super) fn acknowledge(&mut self, vector: u8, now: Cycles, effects: &mut Effects) {
        if let Some((unit, bit)) = self.vectors[usize::from(vector)].source {
            let first = effects.len();
            let local = self.bring(unit, now, effects);
            self.acknowledge_local(unit, bit, local);
            self.refresh(unit, effects, first);
        }
    }

    /// The clocks that do not run in `mode` stop. Everything due has been settled.
    pub(super) fn stop_clocks(&mut self, mode: SleepMode, now: Cycles, effects: &mut Effects) {
        for &unit in Unit::ALL {
            self.advance(unit, now, effects);
        }
        if mode != SleepMode::Idle {
            self.external.set_clock(false, now);
            self.with(Unit::Timers, now, effects, |units, local, effects| {
                units.timers.set_io_clock(false, local, effects);
            });
        }
        self.clocks.stop(mode, now);
        self.refresh_all();
    }

    /// All clocks run again.
    pub(super) fn start_clocks(&mut self, now: Cycles, effects: &mut Effects) {
        let io_stood = !self.clocks.is_running(Clock::Io);
        self.clocks.start(now);
        if io_stood {
            self.external.set_clock(true, now);
            self.with(Unit::Timers, now, effects, |units, local, effects| {
                units.timers.set_io_clock(true, local, effects);
            });
        }
        self.adc.set_lag(self.clocks.lag_cycles(Clock::Adc));
        self.refresh_all();
    }

    /// Asks the unit that triggers the ADC to tell when its flag rises, and no other.
    pub(super) fn watch_trigger(&mut self) {
        let source = self.adc.trigger_source();
        let timer_bit = match source {
            Some(Trigger::Timer0CompareA) => Some(request(0, COMPARE_A)),
            Some(Trigger::Timer0Overflow) => Some(request(0, OVERFLOW)),
            Some(Trigger::Timer1CompareB) => Some(request(1, COMPARE_A + 1)),
            Some(Trigger::Timer1Overflow) => Some(request(1, OVERFLOW)),
            Some(Trigger::Timer1Capture) => Some(request(1, CAPTURE)),
            Some(Trigger::AnalogComparator | Trigger::External0) | None => None,
        };
        self.timers.watch(timer_bit.map_or(0, |bit| 1 << bit));
        self.external.watch(u8::from(source == Some(Trigger::External0)));
        self.refresh_all();
    }

    fn refresh_all(&mut self) {
        for &unit in Unit::ALL {
            self.refresh(unit, &mut Effects::new(), 0);
        }
    }

    /// Looks again at when a unit is due and what it requests, and translates the times of its effects, which are
    /// those from `first` on.
    #[inline]
    fn refresh(&mut self, unit: Unit, effects: &mut Effects, first: usize) {
        let clock = unit.clock();
        for (cycle, _) in &mut effects[first..] {
            *cycle = self.clocks.global(clock, *cycle);
        }
        self.due[unit as usize] = match self.due_local(unit) {
            NEVER => NEVER,
            local => self.clocks.global(clock, local),
        };
        let requests = self.requests_local(unit);
        let vectors = if requests == 0 { 0 } else { self.vectors_of(unit, requests) };
        if self.requests[unit as usize] != vectors {
            self.requests[unit as usize] = vectors;
            self.pending = self.requests.iter().fold(0, |all, requests| all | requests);
        }
    }

    /// The vectors of a unit's request bits.
    fn vectors_of(&self, unit: Unit, requests: u32) -> u64 {
        let wanted =
            |vector: &Vector| vector.source.is_some_and(|(of, bit)| of == unit && requests >> bit & 1 != 0);
        let vectors = self.vectors.iter().enumerate().filter(|(_, vector)| wanted(vector));
        vectors.fold(0, |set, (number, _)| set | 1 << number)
    }
}
