//! Interrupts from pins: INTn by level or edge, and pin changes.
//!
//! Owns EICRA/EICRB, EIMSK, EIFR and the PCINT registers. Which pins there are is the chip's [`Config`].
//! Sources: ATmega128 and ATmega328P datasheets, chapters "External Interrupts". The synchroniser's two cycles
//! and the pin change's three flip-flops are read off the ATmega328P's figure "Timing of pin change interrupts".
//! The chip tells when the I/O clock stops ([`External::set_clock`]): then only what is detected
//! asynchronously gets through, and edges are found when the clock is back.

use super::peripheral::{Effect, Effects, NEVER, Peripheral, Pin};
use crate::Cycles;

/// From a pin's edge to INTF where the edge is detected by the I/O clock.
const EDGE_SYNC_CYCLES: Cycles = 2;
/// From a pin's change to PCIF while the I/O clock runs.
const PIN_CHANGE_CYCLES: Cycles = 3;

/// The registers, by the datasheets' names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Register {
    /// Sense control of INT3 to INT0.
    Eicra,
    /// Sense control of INT7 to INT4.
    Eicrb,
    /// Mask of INTn.
    Eimsk,
    /// Flags of INTn.
    Eifr,
    /// Enables of the pin change groups.
    Pcicr,
    /// Flags of the pin change groups.
    Pcifr,
    /// Pins of a pin change group.
    Pcmsk(u8),
}

/// One INTn pin.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// Its pin.
    pub pin: Pin,
    /// Whether edges are detected without the I/O clock.
    pub asynchronous_edges: bool,
    /// Whether sense control 01 means "any change" (else it is reserved).
    pub any_change: bool,
}

/// What a chip has.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// INT0 and up.
    pub lines: &'static [Line],
    /// Ports of the pin change groups 0 and up.
    pub pin_change_ports: &'static [u8],
}

const fn line(port: u8, bit: u8, asynchronous_edges: bool, any_change: bool) -> Line {
    Line { pin: Pin { port, bit }, asynchronous_edges, any_change }
}

impl Config {
    /// The ATmega128: INT3:0 detect edges asynchronously, INT7:4 with the I/O clock.
    pub const ATMEGA128: Config = Config {
        lines: &[
            line(b'D', 0, true, false),
            line(b'D', 1, true, false),
            line(b'D', 2, true, false),
            line(b'D', 3, true, false),
            line(b'E', 4, false, true),
            line(b'E', 5, false, true),
            line(b'E', 6, false, true),
            line(b'E', 7, false, true),
        ],
        pin_change_ports: &[],
    };
    /// The ATmega328P: edges need the I/O clock, pin changes do not.
    pub const ATMEGA328P: Config =
        Config { lines: &[line(b'D', 2, false, true), line(b'D', 3, false, true)], pin_change_ports: b"BCD" };
}

const LINES_MAX: usize = 8;
const GROUPS_MAX: usize = 3;
/// Request bit of the first pin change group; INTn is bit n.
pub const PIN_CHANGE_FIRST: u8 = LINES_MAX as u8;

/// The pin interrupts of a chip.
#[derive(Clone, Debug)]
pub struct External {
    config: Config,
    sense: [u8; 2],
    mask: u8,
    flags: u8,
    group_enable: u8,
    group_flags: u8,
    group_masks: [u8; GROUPS_MAX],
    /// Level of each INTn pin, and as the edge detector last saw it.
    levels: u8,
    sampled: u8,
    /// When detected edges and changes become flags.
    line_sets: [Cycles; LINES_MAX],
    group_sets: [Cycles; GROUPS_MAX],
    clocked: bool,
    watched: u8,
}

impl External {
    /// After reset, all pins low.
    pub fn new(config: Config) -> External {
        assert!(config.lines.len() <= LINES_MAX && config.pin_change_ports.len() <= GROUPS_MAX);
        External {
            config,
            sense: [0; 2],
            mask: 0,
            flags: 0,
            group_enable: 0,
            group_flags: 0,
            group_masks: [0; GROUPS_MAX],
            levels: 0,
            sampled: 0,
            line_sets: [NEVER; LINES_MAX],
            group_sets: [NEVER; GROUPS_MAX],
            clocked: true,
            watched: 0,
        }
    }

    /// Asks for [`Effect::Flag`] whenever the flag of one of these lines rises, enabled or not.
    pub fn watch(&mut self, lines: u8) {
        self.watched = lines;
    }

    /// The I/O clock stops or runs from `now` on.
    pub fn set_clock(&mut self, running: bool, now: Cycles) {
        self.clocked = running;
        if !running {
            return;
        }
        for index in 0..self.config.lines.len() {
            self.detect(index, now);
        }
    }

    /// Sense control of a line: 0 low level, 1 any change, 2 falling, 3 rising.
    fn sense_of(&self, index: usize) -> u8 {
        self.sense[index / 4] >> (index % 4 * 2) & 3
    }

    /// Looks for an edge between what was sampled and the level.
    fn detect(&mut self, index: usize, now: Cycles) {
        let bit = 1 << index;
        let line = self.config.lines[index];
        if (self.levels ^ self.sampled) & bit == 0 || !(self.clocked || line.asynchronous_edges) {
            return;
        }
        let rising = self.levels & bit != 0;
        self.sampled = self.sampled & !bit | self.levels & bit;
        let wanted = match self.sense_of(index) {
            1 => line.any_change,
            2 => !rising,
            3 => rising,
            _ => false,
        };
        if wanted {
            let delay = if line.asynchronous_edges { 0 } else { EDGE_SYNC_CYCLES };
            // An edge that is already on its way becomes the flag first.
            self.line_sets[index] = self.line_sets[index].min(now + delay);
        }
    }

    /// Lines whose level sense sees a low pin.
    fn low_levels(&self) -> u8 {
        let lines = 0..self.config.lines.len();
        lines.filter(|&index| self.sense_of(index) == 0).fold(0, |set, index| set | 1 << index) & !self.levels
    }
}

impl Peripheral for External {
    type Register = Register;

    fn read(&mut self, register: Register, _now: Cycles) -> u8 {
        match register {
            Register::Eicra => self.sense[0],
            Register::Eicrb => self.sense[1],
            Register::Eimsk => self.mask,
            Register::Eifr => self.flags,
            Register::Pcicr => self.group_enable,
            Register::Pcifr => self.group_flags,
            Register::Pcmsk(group) => self.group_masks[usize::from(group)],
        }
    }

    fn write(&mut self, register: Register, value: u8, _now: Cycles, _effects: &mut Effects) {
        let lines = (1_u16 << self.config.lines.len()) - 1;
        let groups = (1_u8 << self.config.pin_change_ports.len()) - 1;
        match register {
            Register::Eicra => {
                self.sense[0] = value & (4_u16.pow(self.config.lines.len().min(4) as u32) - 1) as u8
            }
            Register::Eicrb => self.sense[1] = value,
            Register::Eimsk => self.mask = value & lines as u8,
            Register::Eifr => self.flags &= !value,
            Register::Pcicr => self.group_enable = value & groups,
            Register::Pcifr => self.group_flags &= !value,
            Register::Pcmsk(group) => self.group_masks[usize::from(group)] = value,
        }
    }

    fn advance(&mut self, now: Cycles, effects: &mut Effects) {
        for (index, sets) in self.line_sets.iter_mut().enumerate() {
            if *sets <= now {
                if self.watched & !self.flags & 1 << index != 0 {
                    effects.push((*sets, Effect::Flag { bit: index as u8 }));
                }
                *sets = NEVER;
                self.flags |= 1 << index;
            }
        }
        for (group, sets) in self.group_sets.iter_mut().enumerate() {
            if *sets <= now {
                *sets = NEVER;
                self.group_flags |= 1 << group;
            }
        }
    }

    fn due(&self) -> Cycles {
        self.line_sets.into_iter().chain(self.group_sets).min().unwrap_or(NEVER)
    }

    fn requests(&self) -> u32 {
        let lines = (self.flags | self.low_levels()) & self.mask;
        u32::from(lines) | u32::from(self.group_flags & self.group_enable) << PIN_CHANGE_FIRST
    }

    fn acknowledge(&mut self, bit: u8, _now: Cycles) {
        if bit < PIN_CHANGE_FIRST {
            self.flags &= !(1 << bit);
        } else {
            self.group_flags &= !(1 << (bit - PIN_CHANGE_FIRST));
        }
    }

    fn pin(&mut self, pin: Pin, high: bool, now: Cycles, _effects: &mut Effects) {
        for index in 0..self.config.lines.len() {
            if self.config.lines[index].pin == pin {
                self.levels = self.levels & !(1 << index) | u8::from(high) << index;
                self.detect(index, now);
            }
        }
        for (group, &port) in self.config.pin_change_ports.iter().enumerate() {
            if port == pin.port && self.group_masks[group] >> pin.bit & 1 == 1 {
                let delay = if self.clocked { PIN_CHANGE_CYCLES } else { 0 };
                self.group_sets[group] = self.group_sets[group].min(now + delay);
            }
        }
    }
}
