//! How a run of an AVR chip is watched.
//!
//! Owns: the hooks beyond those that all rooms share ([`crate::Observer`]), and what they speak of.

use super::peripheral::{Drive, Effect, Pin};
use crate::Cycles;

/// The sleep modes, by their number in the SM bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SleepMode {
    /// The core stands still, every peripheral runs.
    Idle,
    /// The ADC and asynchronous clocks run; entering starts a conversion.
    AdcNoiseReduction,
    /// Every clock stands still.
    PowerDown,
    /// The asynchronous timer runs.
    PowerSave,
    /// Power-down with the oscillator running.
    Standby,
    /// Power-save with the oscillator running.
    ExtendedStandby,
}

impl SleepMode {
    /// Every mode, in the order of [`SleepMode`].
    pub const ALL: [SleepMode; 6] = [
        SleepMode::Idle,
        SleepMode::AdcNoiseReduction,
        SleepMode::PowerDown,
        SleepMode::PowerSave,
        SleepMode::Standby,
        SleepMode::ExtendedStandby,
    ];

    /// The mode of the bits SM2:0; `None` for the reserved ones.
    pub(super) fn from_bits(bits: u8) -> Option<SleepMode> {
        match bits {
            0..=3 => Some(SleepMode::ALL[usize::from(bits)]),
            6 => Some(SleepMode::Standby),
            7 => Some(SleepMode::ExtendedStandby),
            _ => None,
        }
    }
}

/// Watches a chip. Every hook has an empty default and is inlined away when it is not overridden.
///
/// Hooks come in the order of the instructions that bring them about; what peripherals do between two
/// instructions is told at the boundary, with its own cycle.
pub trait Observer: crate::Observer {
    /// The core left the program at `cycle` for interrupt vector number `vector`.
    #[inline(always)]
    fn interrupt(&mut self, _cycle: Cycles, _vector: u8) {}
    /// A RETI ended; what it returns to begins at `cycle`.
    #[inline(always)]
    fn interrupt_ends(&mut self, _cycle: Cycles) {}
    /// A pin's output stage changed at `cycle`.
    #[inline(always)]
    fn drive(&mut self, _cycle: Cycles, _pin: Pin, _drive: Drive) {}
    /// The level of a pin changed at `cycle`, whoever drives it.
    #[inline(always)]
    fn level(&mut self, _cycle: Cycles, _pin: Pin, _high: bool) {}
    /// The core fell asleep at `cycle`.
    #[inline(always)]
    fn sleep(&mut self, _cycle: Cycles, _mode: SleepMode) {}
    /// The clocks run again from `cycle` on.
    #[inline(always)]
    fn wake(&mut self, _cycle: Cycles) {}
    /// A peripheral did something to the chip.
    #[inline(always)]
    fn effect(&mut self, _cycle: Cycles, _effect: &Effect) {}
}

impl Observer for () {}
