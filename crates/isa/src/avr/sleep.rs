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
    /// clkI/O: SPI, USART.
    Io,
    /// clkADC.
    Adc,
    /// The timers', who know themselves when clkI/O stops: runs as long as their crystal does.
    Timers,
    /// Oscillators that no sleep mode stops (EEPROM and flash programming, watchdog), and what needs no clock.
    /// Runs through resets.
    Always,
}

const CLOCKS: usize = 4;

impl Clock {
    /// Whether it runs in a sleep mode.
    fn runs_in(self, mode: SleepMode) -> bool {
        match self {
            Clock::Io => mode == SleepMode::Idle,
            Clock::Adc => matches!(mode, SleepMode::Idle | SleepMode::AdcNoiseReduction),
            Clock::Timers => !matches!(mode, SleepMode::PowerDown | SleepMode::Standby),
            Clock::Always => true,
        }
    }
}

/// What the clocks have missed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clocks {
    stopped_cycles: [Cycles; CLOCKS],
    stopped_at: [Option<Cycles>; CLOCKS],
}

impl Clocks {
    /// Clocks that begin at a reset.
    pub(super) fn beginning_at(reset: Cycles) -> Clocks {
        let mut stopped_cycles = [reset; CLOCKS];
        stopped_cycles[Clock::Always as usize] = 0;
        Clocks { stopped_cycles, stopped_at: [None; CLOCKS] }
    }

    /// What a clock is behind the chip's time.
    pub(super) fn lag_cycles(&self, clock: Clock) -> Cycles {
        self.stopped_cycles[clock as usize]
    }

    /// Stops what does not run in `mode`.
    pub(super) fn stop(&mut self, mode: SleepMode, now: Cycles) {
        for clock in [Clock::Io, Clock::Adc, Clock::Timers, Clock::Always] {
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

    /// The chip's time on a clock. Before the reset that began it, the clock shows 0.
    #[inline]
    pub(super) fn local(&self, clock: Clock, now: Cycles) -> Cycles {
        let now = self.stopped_at[clock as usize].map_or(now, |at| at.min(now));
        now.saturating_sub(self.stopped_cycles[clock as usize])
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
