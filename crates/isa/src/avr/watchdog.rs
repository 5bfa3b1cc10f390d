//! The watchdog timer: WDTCR (ATmega128) or WDTCSR (ATmega328P), its timed sequence and its bite.
//!
//! It runs from its own oscillator in every sleep mode; its time-outs are given here in nominal processor
//! cycles.
//! Left to the chip: WDRF in MCUSR (told by [`Watchdog::reset`] and [`Watchdog::clear_reset_flag`]) and the
//! fuse.
//! Sources: ATmega128 datasheet, "Watchdog Timer" (1 MHz) and "Timed Sequences for Changing the Configuration
//! of the Watchdog Timer", safety levels 1 and 2; ATmega328P datasheet, "Watchdog Timer" (128 kHz).

use super::peripheral::{Effect, Effects, NEVER, Peripheral};
use crate::Cycles;

const WDIF: u8 = 1 << 7;
const WDIE: u8 = 1 << 6;
const WDP3: u8 = 1 << 5;
const WDCE: u8 = 1 << 4;
const WDE: u8 = 1 << 3;
const WDP: u8 = 7;

/// "Within the next four clock cycles".
const CHANGE_CYCLES: Cycles = 4;
/// Settings of the ATmega328P's prescaler beyond this are reserved and taken for it.
const WDP_MAX: u8 = 9;

/// The watchdog's one register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Register {
    /// WDTCR or WDTCSR.
    Wdtcr,
}

/// Which chip's watchdog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// Resets only; 16 K to 2048 K cycles of 1 MHz.
    Atmega128,
    /// Interrupt, reset or both; 2 K to 1024 K cycles of 128 kHz.
    Atmega328p,
}

/// The watchdog. Its one request, bit 0, is the ATmega328P's time-out interrupt.
#[derive(Clone, Debug)]
pub struct Watchdog {
    model: Model,
    cpu_hz: u64,
    /// The fuse WDTON: always on, as a system reset.
    always_on: bool,
    /// WDIF, WDIE, WDE and the prescaler bits.
    control: u8,
    change_from: Option<Cycles>,
    /// WDRF holds WDE set (ATmega328P).
    reset_flag: bool,
    /// The counter stood at zero then.
    started: Cycles,
    due: Cycles,
}

impl Watchdog {
    /// The watchdog after power-on, in cycle 0.
    pub fn new(model: Model, cpu_hz: u64, always_on: bool) -> Self {
        let mut watchdog = Self {
            model,
            cpu_hz,
            always_on,
            control: 0,
            change_from: None,
            reset_flag: false,
            started: 0,
            due: NEVER,
        };
        watchdog.reset(0, false);
        watchdog
    }

    /// The chip was reset in cycle `now`; `by_watchdog` says whether WDRF is set. On the ATmega328P that
    /// keeps the watchdog running, at its shortest time-out.
    pub fn reset(&mut self, now: Cycles, by_watchdog: bool) {
        self.reset_flag = by_watchdog && self.model == Model::Atmega328p;
        let on = self.always_on || self.reset_flag;
        self.control = if on { WDE } else { 0 };
        self.change_from = None;
        self.restart(now);
    }

    /// The program cleared WDRF in MCUSR: WDE can be cleared again ("WDE is overridden by WDRF").
    pub fn clear_reset_flag(&mut self) {
        self.reset_flag = false;
    }

    /// The instruction WDR.
    pub fn restart(&mut self, now: Cycles) {
        self.started = now;
        self.find_due(now);
    }

    fn is_running(&self) -> bool {
        self.control & (WDE | WDIE) != 0
    }

    /// The time-out in processor cycles.
    fn timeout_cycles(&self) -> Cycles {
        let low = self.control & WDP;
        let (clocks, oscillator_hz) = match self.model {
            Model::Atmega128 => ((16 * 1024u64) << low, 1_000_000),
            Model::Atmega328p => {
                let select = (low | (self.control & WDP3) >> 2).min(WDP_MAX);
                ((2 * 1024u64) << select, 128_000)
            }
        };
        (u128::from(clocks) * u128::from(self.cpu_hz)).div_ceil(oscillator_hz) as Cycles
    }

    /// The next time-out after `now`. The counter runs on when the prescaler bits change: they choose a tap
    /// of it.
    fn find_due(&mut self, now: Cycles) {
        self.due = if self.is_running() {
            let timeout = self.timeout_cycles();
            self.started + ((now - self.started) / timeout + 1) * timeout
        } else {
            NEVER
        };
    }

    fn may_change(&self, now: Cycles) -> bool {
        self.change_from.is_some_and(|from| now <= from + CHANGE_CYCLES)
    }

    fn write_control(&mut self, value: u8, now: Cycles) {
        let was_running = self.is_running();
        let changes = self.may_change(now);
        if value & (WDCE | WDE) == WDCE | WDE {
            self.change_from = Some(now);
        } else if changes {
            self.change_from = None;
        }
        // "Must be written with WDCE cleared": while it is set, the write only opens the window.
        let changes = changes && value & WDCE == 0;
        match self.model {
            // "In safety level 1 and 2, this bit must also be set when changing the prescaler bits."
            Model::Atmega128 if changes => self.control = value & (WDE | WDP),
            Model::Atmega128 => self.control |= value & WDE,
            Model::Atmega328p => {
                let flag = self.control & WDIF & !value;
                let guarded = WDE | WDP3 | WDP;
                let kept = if changes { value & guarded } else { self.control & guarded | value & WDE };
                self.control = flag | value & WDIE | kept;
                if self.always_on {
                    // The fuse locks WDE to one and WDIE to zero.
                    self.control &= !WDIE;
                }
            }
        }
        if self.always_on || self.reset_flag {
            self.control |= WDE;
        }
        if !was_running {
            self.started = now;
        }
        self.find_due(now);
    }
}

impl Peripheral for Watchdog {
    type Register = Register;

    fn read(&mut self, _register: Register, now: Cycles) -> u8 {
        self.control | if self.may_change(now) { WDCE } else { 0 }
    }

    fn write(&mut self, _register: Register, value: u8, now: Cycles, _effects: &mut Effects) {
        self.write_control(value, now);
    }

    fn advance(&mut self, now: Cycles, effects: &mut Effects) {
        while self.due <= now {
            let at = self.due;
            // "If the interrupt is not executed before the next time-out, a system reset will be applied."
            if self.control & WDE != 0 && (self.control & WDIE == 0 || self.control & WDIF != 0) {
                effects.push((at, Effect::Reset));
                // The chip resets this unit too; until then it does not bite again.
                self.due = NEVER;
                return;
            }
            self.control |= WDIF;
            if self.control & WDE == 0 {
                // Interrupt mode: whole periods that only set the flag again are one.
                self.find_due(now);
                return;
            }
            self.find_due(at);
        }
    }

    fn due(&self) -> Cycles {
        self.due
    }

    fn requests(&self) -> u32 {
        u32::from(self.control & (WDIF | WDIE) == WDIF | WDIE)
    }

    fn acknowledge(&mut self, bit: u8, _now: Cycles) {
        assert_eq!(bit, 0, "the watchdog has one interrupt");
        self.control &= !WDIF;
        // "Executing the corresponding interrupt vector will clear WDIE and WDIF automatically by hardware
        // (the watchdog goes to System Reset Mode)."
        if self.control & WDE != 0 {
            self.control &= !WDIE;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::stepping::{Act, assert_steps_do_not_matter};
    use super::Register::Wdtcr;
    use super::*;

    const HZ: u64 = 8_000_000;

    fn write(w: &mut Watchdog, value: u8, now: Cycles) {
        w.advance(now, &mut Vec::new());
        w.write(Wdtcr, value, now, &mut Vec::new());
    }

    fn effects(w: &mut Watchdog, now: Cycles) -> Effects {
        let mut effects = Vec::new();
        w.advance(now, &mut effects);
        effects
    }

    /// Opens the window in cycle `at` and writes `value` two cycles later.
    fn change(w: &mut Watchdog, value: u8, at: Cycles) {
        write(w, WDCE | WDE, at);
        write(w, value, at + 2);
    }

    #[test]
    fn atmega128_bites_after_16k_to_2048k_cycles_of_one_megahertz() {
        for (wdp, k) in [(0u8, 16), (1, 32), (2, 64), (3, 128), (4, 256), (5, 512), (6, 1024), (7, 2048)] {
            let mut w = Watchdog::new(Model::Atmega128, HZ, false);
            change(&mut w, WDE | wdp, 100);
            // Enabled by the first write of the sequence already.
            let bites = 100 + k * 1024 * 8;
            assert_eq!(w.due(), bites, "WDP {wdp}");
            assert_eq!(effects(&mut w, bites - 1), []);
            assert_eq!(effects(&mut w, bites), [(bites, Effect::Reset)]);
        }
    }

    #[test]
    fn atmega328p_times_out_after_2k_to_1024k_cycles_of_128_kilohertz() {
        for select in 0..=9u8 {
            let mut w = Watchdog::new(Model::Atmega328p, HZ, false);
            change(&mut w, WDE | select & 7 | (select & 8) << 2, 100);
            let cycles = (2048u64 << select) * 125 / 2;
            assert_eq!(w.due(), 100 + cycles, "WDP {select}");
        }
    }

    #[test]
    fn wdr_starts_the_time_out_again() {
        let mut w = Watchdog::new(Model::Atmega128, HZ, false);
        change(&mut w, WDE, 100);
        w.restart(50_000);
        assert_eq!(w.due(), 50_000 + 16 * 1024 * 8);
    }

    #[test]
    fn disabling_needs_the_sequence_within_four_cycles() {
        for model in [Model::Atmega128, Model::Atmega328p] {
            for (gap, disabled) in [(1, true), (4, true), (5, false), (50, false)] {
                let mut w = Watchdog::new(model, HZ, false);
                write(&mut w, WDE, 10);
                write(&mut w, 0, 20);
                assert_ne!(w.due(), NEVER, "not without WDCE");
                write(&mut w, WDCE | WDE, 30);
                write(&mut w, 0, 30 + gap);
                assert_eq!(w.due() == NEVER, disabled, "{model:?}, gap {gap}");
            }
        }
    }

    #[test]
    fn wdce_reads_set_for_four_cycles_and_needs_wde_in_the_same_write() {
        let mut w = Watchdog::new(Model::Atmega128, HZ, false);
        write(&mut w, WDCE | WDE, 10);
        assert_eq!([w.read(Wdtcr, 14), w.read(Wdtcr, 15)], [WDCE | WDE, WDE]);
        write(&mut w, WDCE, 20);
        write(&mut w, 0, 21);
        assert_eq!(w.read(Wdtcr, 22), WDE);
    }

    #[test]
    fn period_needs_the_sequence_and_enabling_does_not() {
        for model in [Model::Atmega128, Model::Atmega328p] {
            let mut w = Watchdog::new(model, HZ, false);
            write(&mut w, WDE | 5, 10);
            assert_eq!(w.read(Wdtcr, 11), WDE);
            write(&mut w, WDE | 5, 20);
            assert_eq!(w.read(Wdtcr, 21), WDE);
            change(&mut w, WDE | 5, 30);
            assert_eq!(w.read(Wdtcr, 40), WDE | 5);
        }
    }

    #[test]
    fn fuse_keeps_the_watchdog_on() {
        for model in [Model::Atmega128, Model::Atmega328p] {
            let mut w = Watchdog::new(model, HZ, true);
            assert_ne!(w.due(), NEVER);
            change(&mut w, 3, 10);
            assert_eq!(w.read(Wdtcr, 20), WDE | 3);
        }
    }

    #[test]
    fn interrupt_mode_interrupts_at_every_time_out_and_never_resets() {
        let mut w = Watchdog::new(Model::Atmega328p, HZ, false);
        write(&mut w, WDIE, 0);
        let period = 2048 * 125 / 2;
        for n in 1..4 {
            assert_eq!(effects(&mut w, n * period - 1), []);
            assert_eq!(w.requests(), 0);
            assert_eq!(effects(&mut w, n * period), []);
            assert_eq!(w.requests(), 1);
            w.acknowledge(0, n * period);
            assert_eq!(w.read(Wdtcr, n * period) & (WDIF | WDIE), WDIE);
        }
    }

    #[test]
    fn interrupt_and_reset_mode_interrupts_first_and_resets_next() {
        let mut w = Watchdog::new(Model::Atmega328p, HZ, false);
        write(&mut w, WDE | WDIE, 0);
        let period = 2048 * 125 / 2;
        assert_eq!(effects(&mut w, period), []);
        let mut unanswered = w.clone();
        assert_eq!(w.requests(), 1);
        w.acknowledge(0, period + 10);
        assert_eq!(w.read(Wdtcr, period + 11) & (WDIF | WDIE | WDE), WDE);
        assert_eq!(effects(&mut w, 3 * period), [(2 * period, Effect::Reset)]);
        assert_eq!(effects(&mut unanswered, 3 * period), [(2 * period, Effect::Reset)]);
        // A handler that sets WDIE again keeps it from biting.
        let mut kept = Watchdog::new(Model::Atmega328p, HZ, false);
        write(&mut kept, WDE | WDIE, 0);
        for n in 1..5 {
            assert_eq!(effects(&mut kept, n * period), []);
            kept.acknowledge(0, n * period);
            write(&mut kept, WDIE | WDE, n * period + 20);
        }
    }

    #[test]
    fn atmega328p_keeps_running_after_its_own_reset_until_the_flag_is_cleared() {
        let mut w = Watchdog::new(Model::Atmega328p, HZ, false);
        w.reset(1000, true);
        assert_eq!(w.due(), 1000 + 2048 * 125 / 2, "the shortest time-out");
        change(&mut w, 0, 2000);
        assert_eq!(w.read(Wdtcr, 2003), WDE, "WDRF overrides");
        w.clear_reset_flag();
        change(&mut w, 0, 2010);
        assert_eq!(w.due(), NEVER);
        let mut other = Watchdog::new(Model::Atmega128, HZ, false);
        other.reset(1000, true);
        assert_eq!(other.due(), NEVER);
    }

    proptest! {
        #[test]
        fn steps_do_not_matter(
            script in prop::collection::vec(
                (prop_oneof![4 => 1..6u64, 1 => 1..4000u64], prop_oneof![
                    3 => Just(Act::Write(Wdtcr, WDCE | WDE)),
                    3 => any::<u8>().prop_map(|v| Act::Write(Wdtcr, v & !(WDCE | 0x27))),
                    1 => any::<u8>().prop_map(|v| Act::Write(Wdtcr, v)),
                    1 => Just(Act::Read(Wdtcr)),
                    1 => Just(Act::Acknowledge(0)),
                ]),
                1..60,
            ),
            seed in any::<u64>(),
        ) {
            for model in [Model::Atmega128, Model::Atmega328p] {
                // Slow enough that time-outs fall into the script.
                assert_steps_do_not_matter(&Watchdog::new(model, 64_000, false), &[Wdtcr], &script, seed);
            }
        }
    }
}
