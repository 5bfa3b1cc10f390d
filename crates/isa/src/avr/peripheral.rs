//! The seam between a chip and its peripherals.
//!
//! Owns: how a chip reaches a peripheral's registers, how a peripheral says when it next acts, and what it
//! may do to the chip. A peripheral is a state machine over cycles and knows nothing of the core, of the
//! data-space addresses of its registers or of its neighbours: those are rows of the chip's profile.
//!
//! Invariant: a peripheral that is brought to cycle `t` in one step or in many ends in the same state and
//! has emitted the same effects with the same cycles. That is what lets the chip jump.

use crate::Cycles;

/// "Never, unless somebody writes a register or drives a pin": the answer of an idle [`Peripheral::due`].
pub const NEVER: Cycles = Cycles::MAX;

/// A pin of the package: port letter (`b'A'`..=`b'G'`) and bit number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pin {
    /// The port's letter, `b'B'` for port B.
    pub port: u8,
    /// The bit in the port, 0 to 7.
    pub bit: u8,
}

/// What a pin's output stage does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Drive {
    /// Driven low.
    Low,
    /// Driven high.
    High,
    /// Not driven, pull-up on.
    PullUp,
    /// Not driven.
    Floating,
}

/// Something that a peripheral did to the rest of the chip, at a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The peripheral takes over (`Some`) or releases (`None`) a pin's direction, whatever the data direction
    /// register says (DDOE and DDOV in the datasheets' "Alternate Port Functions"). `Floating` makes the pin
    /// an input that keeps the port's pull-up.
    Override {
        /// Which pin.
        pin: Pin,
        /// What it is driven to, or `None` when the port decides again.
        drive: Option<Drive>,
    },
    /// The peripheral replaces (`Some`) or gives back (`None`) the value that the port puts out on a pin; the
    /// data direction register still decides whether the pin is driven at all (PVOE and PVOV, same place).
    /// An [`Override`](Self::Override) of the same pin comes first.
    Value {
        /// Which pin.
        pin: Pin,
        /// The level put out, or `None` when the port's own value counts again.
        high: Option<bool>,
    },
    /// An interrupt flag that the chip asked to watch rose, enabled or not: what triggers the ADC.
    Flag {
        /// The flag, in the peripheral's own numbering of requests.
        bit: u8,
    },
    /// The core stands still for this many cycles (EEPROM access, SPM).
    Stall(Cycles),
    /// The watchdog bit the chip.
    Reset,
    /// The ADC's sample-and-hold closed on `channel`; `code` is what the conversion will return.
    Sampled {
        /// The MUX bits: 0 to 7 are the pins.
        channel: u8,
        /// Right-adjusted conversion result, 0 to 1023 (a differential one is its ten bits of two's
        /// complement).
        code: u16,
    },
    /// A USART shifted a whole character out.
    Transmitted {
        /// Which USART.
        usart: u8,
        /// The character, up to nine bits.
        character: u16,
    },
    /// A byte of the EEPROM changed.
    EepromWritten {
        /// Address in the EEPROM.
        address: u16,
        /// Its new value.
        value: u8,
    },
}

/// Effects in the order in which they happened, each with its cycle.
pub type Effects = Vec<(Cycles, Effect)>;

/// A peripheral of the chip. `R` is its own closed enum of registers.
pub trait Peripheral {
    /// Its registers, by the datasheet's names.
    type Register: Copy;

    /// Reads `register` at `now`, with the side effects that a read has in hardware.
    /// The caller has advanced the peripheral to `now`.
    fn read(&mut self, register: Self::Register, now: Cycles) -> u8;

    /// What [`read`](Self::read) gives at `now` when neither it nor the advance before it would change anything
    /// that can be seen; `None` asks for both. Nothing is due up to `now`. Programs wait by reading, so an answer
    /// is worth having for the registers that they wait on.
    fn peek(&self, _register: Self::Register, _now: Cycles) -> Option<u8> {
        None
    }

    /// Writes `register` at `now`. The caller has advanced the peripheral to `now`.
    fn write(&mut self, register: Self::Register, value: u8, now: Cycles, effects: &mut Effects);

    /// Brings the state to `now`, emitting every effect that falls due on the way.
    fn advance(&mut self, now: Cycles, effects: &mut Effects);

    /// The earliest cycle at which [`advance`](Self::advance) will emit an effect or raise an interrupt
    /// that is enabled; [`NEVER`] when only a write or a pin can bring that about. May be early, never late.
    fn due(&self) -> Cycles;

    /// The peripheral's interrupt requests (flag set and enabled), as a bit set in its own numbering.
    /// The profile maps bits to vectors.
    fn requests(&self) -> u32;

    /// The core has entered the handler of request bit `bit`: clears the flag where hardware does.
    fn acknowledge(&mut self, bit: u8, now: Cycles);

    /// The level of an input pin that the peripheral listens to changed at `now`.
    fn pin(&mut self, _pin: Pin, _high: bool, _now: Cycles, _effects: &mut Effects) {}
}
