//! The pins: port registers, peripherals' claims on them, levels from outside, and what comes of it.
//!
//! Owns DDRx, PORTx and PINx. Who listens to a pin is the machine's business: it asks what changed.
//! Source: datasheets, "I/O Ports" and "Alternate Port Functions" (the signals DDOE/DDOV and PVOE/PVOV).
//! A pin that nothing drives and that has no pull-up reads as low, where hardware reads noise.

use super::peripheral::{Drive, Pin};
use crate::Cycles;

/// Cycles from a level's change to the instruction that reads it: OUT in cycle `c` is seen by IN in `c + 2`
/// ("Reading the Pin Value": a NOP between them).
const INPUT_SYNC_CYCLES: Cycles = 2;
/// Ports A to G.
pub(super) const PORTS_MAX: usize = 7;
/// Changes that can fall into the synchroniser's window, one a cycle.
const HISTORY: usize = 3;

/// One port. Every field is a mask of its bits.
#[derive(Clone, Copy, Debug, Default)]
struct Port {
    port: u8,
    direction: u8,
    /// Direction taken over by a peripheral, and where to.
    direction_forced: u8,
    direction_out: u8,
    /// Level put out by whoever forced the direction to output.
    direction_high: u8,
    /// Pull-up forced on with a direction forced to input.
    pull_up_forced: u8,
    /// Output value taken over by a peripheral.
    value_forced: u8,
    value_high: u8,
    /// What the world outside drives.
    outside_driven: u8,
    outside_high: u8,
    /// The resolved output stage, as last told.
    driven: u8,
    driven_high: u8,
    pulled_up: u8,
    /// The resolved level, and the latest changes of it: (cycle, level before), newest first.
    level: u8,
    before: [(Cycles, u8); HISTORY],
}

/// What a resolution of a port changed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Changes {
    /// Bits whose output stage changed.
    pub(super) drives: u8,
    /// Bits whose level changed.
    pub(super) levels: u8,
}

/// All ports of a chip.
#[derive(Clone, Debug)]
pub(super) struct Ports {
    ports: [Port; PORTS_MAX],
    /// PUD: every pull-up off.
    pub(super) pull_ups_off: bool,
}

/// A port's place in the array, by its letter.
pub(super) fn index(letter: u8) -> usize {
    let index = usize::from(letter.wrapping_sub(b'A'));
    assert!(index < PORTS_MAX, "there is no port {:?}", char::from(letter));
    index
}

/// The letter of a place.
pub(super) fn letter(index: usize) -> u8 {
    b'A' + index as u8
}

fn assign(mask: &mut u8, bit: u8, value: bool) {
    *mask = *mask & !(1 << bit) | u8::from(value) << bit;
}

impl Ports {
    /// After reset.
    pub(super) fn new() -> Ports {
        Ports { ports: [Port::default(); PORTS_MAX], pull_ups_off: false }
    }

    /// After reset, with the world outside as it was.
    pub(super) fn reset(&self) -> Ports {
        let mut ports = Ports::new();
        for (new, old) in ports.ports.iter_mut().zip(&self.ports) {
            (new.outside_driven, new.outside_high) = (old.outside_driven, old.outside_high);
            // What was last told stays, so that the differences will be.
            (new.driven, new.driven_high, new.pulled_up) = (old.driven, old.driven_high, old.pulled_up);
            (new.level, new.before) = (old.level, old.before);
        }
        ports
    }

    pub(super) fn port(&self, index: usize) -> u8 {
        self.ports[index].port
    }

    pub(super) fn set_port(&mut self, index: usize, value: u8) {
        self.ports[index].port = value;
    }

    pub(super) fn direction(&self, index: usize) -> u8 {
        self.ports[index].direction
    }

    pub(super) fn set_direction(&mut self, index: usize, value: u8) {
        self.ports[index].direction = value;
    }

    /// PINx: the levels as the synchroniser saw them.
    pub(super) fn input(&self, index: usize, now: Cycles) -> u8 {
        let port = &self.ports[index];
        let mut seen = port.level;
        for &(changed_at, before) in &port.before {
            if changed_at + INPUT_SYNC_CYCLES > now {
                seen = before;
            }
        }
        seen
    }

    /// The level of a pin now.
    pub(super) fn level(&self, pin: Pin) -> bool {
        self.ports[index(pin.port)].level >> pin.bit & 1 != 0
    }

    /// The output stage of a pin, as last resolved.
    pub(super) fn drive(&self, pin: Pin) -> Drive {
        let port = &self.ports[index(pin.port)];
        let has = |mask: u8| mask >> pin.bit & 1 != 0;
        match (has(port.driven), has(port.driven_high), has(port.pulled_up)) {
            (true, true, _) => Drive::High,
            (true, false, _) => Drive::Low,
            (false, _, true) => Drive::PullUp,
            (false, _, false) => Drive::Floating,
        }
    }

    /// The world outside drives a pin, or lets go of it.
    pub(super) fn set_outside(&mut self, pin: Pin, level: Option<bool>) {
        let port = &mut self.ports[index(pin.port)];
        assign(&mut port.outside_driven, pin.bit, level.is_some());
        assign(&mut port.outside_high, pin.bit, level == Some(true));
    }

    /// A peripheral takes a pin's direction, or gives it back.
    pub(super) fn force_direction(&mut self, pin: Pin, drive: Option<Drive>) {
        let port = &mut self.ports[index(pin.port)];
        assign(&mut port.direction_forced, pin.bit, drive.is_some());
        assign(&mut port.direction_out, pin.bit, matches!(drive, Some(Drive::Low | Drive::High)));
        assign(&mut port.direction_high, pin.bit, drive == Some(Drive::High));
        assign(&mut port.pull_up_forced, pin.bit, drive == Some(Drive::PullUp));
    }

    /// A peripheral takes a pin's output value, or gives it back.
    pub(super) fn force_value(&mut self, pin: Pin, high: Option<bool>) {
        let port = &mut self.ports[index(pin.port)];
        assign(&mut port.value_forced, pin.bit, high.is_some());
        assign(&mut port.value_high, pin.bit, high == Some(true));
    }

    /// Resolves a port after something of it changed at `now`, and says what came of it.
    pub(super) fn resolve(&mut self, index: usize, now: Cycles) -> Changes {
        let pull_ups = if self.pull_ups_off { 0 } else { 0xff };
        let port = &mut self.ports[index];
        let own_value = port.port & !port.value_forced | port.value_high & port.value_forced;
        let forced_out = port.direction_forced & port.direction_out;
        let driven = port.direction & !port.direction_forced | forced_out;
        let high = (own_value & !forced_out | port.direction_high & forced_out) & driven;
        let pulled_up = (port.port | port.pull_up_forced) & !driven & pull_ups;
        let outside = port.outside_driven & !driven;
        let level = high | port.outside_high & outside | pulled_up & !outside;

        let drives = port.driven ^ driven | port.driven_high ^ high | port.pulled_up ^ pulled_up;
        let levels = port.level ^ level;
        (port.driven, port.driven_high, port.pulled_up) = (driven, high, pulled_up);
        if levels != 0 {
            if port.before[0].0 != now {
                port.before.copy_within(..HISTORY - 1, 1);
                port.before[0] = (now, port.level);
            }
            port.level = level;
        }
        Changes { drives, levels }
    }
}
