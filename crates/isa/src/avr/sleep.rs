//! Which clocks run while the core sleeps, and how peripherals' time stands still with them.
//!
//! Owns: the datasheets' tables "Active Clock Domains and Wake-up Sources". A peripheral is told the time of its
//! own clock, so that one whose clock is stopped need not know: its time differs from the chip's by what it has
//! slept.

use super::observer::SleepMode;
use super::peripheral::NEVER;
use crate::Cycles;

/// A clock of the chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clock {
    /// clkI/O: timers, SPI, USART.
    Io,
    /// clkADC.
    Adc,
    /// Oscillators that no sleep mode stops (EEPROM and flash programming, watchdog), and what needs no clock.
    Always,
}

const CLOCKS: usize = 3;

impl Clock {
    /// Whether it runs in a sleep mode.
    fn runs_in(self, mode: SleepMode) -> bool {
        match self {
            Clock::Io => mode == SleepMode::Idle,
            Clock::Adc => matches!(mode, SleepMode::Idle | SleepMode::AdcNoiseReduction),
            Clock::Always => true,
        }
    }
}

/// What the clocks have missed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clocks {
    stopped_cycles: [Cycles; CLOCKS],
    stopped_at: [Option<Cycles>; CLOCKS],
}

impl Clocks {
    /// Stops what does not run in `mode`.
    pub(super) fn stop(&mut self, mode: SleepMode, now: Cycles) {
        for clock in [Clock::Io, Clock::Adc, Clock::Always] {
            if !clock.runs_in(mode) {
                self.stopped_at[clock as usize] = Some(now);
            }
        }
    }

    /// Everything runs again.
    pub(super) fn start(&mut self, now: Cycles) {
        for index in 0..CLOCKS {
            if let Some(at) = self.stopped_at[index].take() {
                self.stopped_cycles[index] += now - at;
            }
        }
    }

    /// Whether a clock runs.
    pub(super) fn is_running(&self, clock: Clock) -> bool {
        self.stopped_at[clock as usize].is_none()
    }

    /// The chip's time on a clock.
    #[inline]
    pub(super) fn local(&self, clock: Clock, now: Cycles) -> Cycles {
        self.stopped_at[clock as usize].unwrap_or(now) - self.stopped_cycles[clock as usize]
    }

    /// The chip's time when a clock shows `local`; never, while it stands still before that.
    #[inline]
    pub(super) fn global(&self, clock: Clock, local: Cycles) -> Cycles {
        let global = local.saturating_add(self.stopped_cycles[clock as usize]);
        match self.stopped_at[clock as usize] {
            Some(at) if global > at => NEVER,
            _ => global,
        }
    }
}

/// Cycles from a wake-up to the first cycle of the clocks: the oscillator's start-up.
pub(super) fn startup_cycles(mode: SleepMode, oscillator_cycles: Cycles) -> Cycles {
    match mode {
        SleepMode::Idle | SleepMode::AdcNoiseReduction => 0,
        SleepMode::PowerDown | SleepMode::PowerSave => oscillator_cycles,
        // "wakes up in six clock cycles" (datasheets, "Standby Mode").
        SleepMode::Standby | SleepMode::ExtendedStandby => 6,
    }
}
