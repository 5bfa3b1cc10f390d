//! The cell's bus: three shared wires, who drives them, and what level results.
//!
//! ```text
//! SCK    serial clock, pulled down       driven by the owner of the slot
//! MOSI   data, pulled down               driven by the owner of the slot
//! SS     low while a frame is sent,      driven low by the owner of the slot
//!        pulled up
//! ```
//! Owns the resolution of drivers into levels and the detection of contention. Leaves timing to the caller, bits
//! to the SPI peripherals, and disturbance of the wires to `inject`.
//!
//! Invariant: a level depends only on what is driven now, except under contention, where the wire keeps the level
//! it had.

use crate::clock::Picoseconds;
use isa::avr::peripheral::Drive;

/// A wire of the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// Serial clock.
    Sck,
    /// Data from the owner of the slot to everyone else.
    Mosi,
    /// Frame select, active low.
    Ss,
}

/// Every wire, in the order of their indices.
pub const WIRES: [Wire; 3] = [Wire::Sck, Wire::Mosi, Wire::Ss];

/// A change of a wire's level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Which wire.
    pub wire: Wire,
    /// Its new level.
    pub high: bool,
}

/// Two drivers pulled one wire in opposite directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contention {
    /// Which wire.
    pub wire: Wire,
    /// From when.
    pub start_ps: Picoseconds,
    /// Until when.
    pub end_ps: Picoseconds,
}

/// The wires and everyone on them.
#[derive(Clone, Debug)]
pub struct Bus {
    drives: Vec<[Drive; 3]>,
    high: [bool; 3],
    contended_since_ps: [Option<Picoseconds>; 3],
    contentions: Vec<Contention>,
}

impl Bus {
    /// A bus with `drivers` participants, none of which drives anything.
    pub fn new(drivers: usize) -> Bus {
        Bus {
            drives: vec![[Drive::Floating; 3]; drivers],
            high: WIRES.map(idle_level),
            contended_since_ps: [None; 3],
            contentions: Vec::new(),
        }
    }

    /// The level of `wire`.
    pub fn is_high(&self, wire: Wire) -> bool {
        self.high[wire as usize]
    }

    /// Whether participant `driver` holds SS low now, that is, is sending a frame.
    pub fn is_selecting(&self, driver: usize) -> bool {
        self.drives[driver][Wire::Ss as usize] == Drive::Low
    }

    /// Participant `driver` drives `wire` with `drive` from `now_ps` on. Returns the edge if the level changed.
    pub fn drive(&mut self, driver: usize, wire: Wire, drive: Drive, now_ps: Picoseconds) -> Option<Edge> {
        let index = wire as usize;
        if self.drives[driver][index] == drive {
            return None;
        }
        self.drives[driver][index] = drive;
        let driven_low = self.drives.iter().any(|drives| drives[index] == Drive::Low);
        let driven_high = self.drives.iter().any(|drives| drives[index] == Drive::High);
        let level = match (driven_low, driven_high) {
            (true, true) => {
                self.contended_since_ps[index].get_or_insert(now_ps);
                return None;
            }
            (true, false) => false,
            (false, true) => true,
            (false, false) => idle_level(wire),
        };
        // Two drivers that change together are heard one after the other: that is no contention.
        if let Some(start_ps) = self.contended_since_ps[index].take().filter(|start_ps| *start_ps < now_ps) {
            self.contentions.push(Contention { wire, start_ps, end_ps: now_ps });
        }
        if self.high[index] == level {
            return None;
        }
        self.high[index] = level;
        Some(Edge { wire, high: level })
    }

    /// Takes the contentions that have ended since the last call.
    pub fn take_contentions(&mut self) -> Vec<Contention> {
        std::mem::take(&mut self.contentions)
    }
}

/// The level to which a wire's resistor pulls it.
fn idle_level(wire: Wire) -> bool {
    wire == Wire::Ss
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_undriven_wire_rests_at_its_resistor() {
        let bus = Bus::new(2);
        assert!(bus.is_high(Wire::Ss) && !bus.is_high(Wire::Sck) && !bus.is_high(Wire::Mosi));
    }

    #[test]
    fn a_pull_up_is_not_a_driver() {
        let mut bus = Bus::new(1);
        assert_eq!(bus.drive(0, Wire::Sck, Drive::PullUp, 5), None);
        assert!(!bus.is_high(Wire::Sck));
    }

    #[test]
    fn two_drivers_that_agree_are_no_contention() {
        let mut bus = Bus::new(2);
        assert_eq!(bus.drive(0, Wire::Ss, Drive::Low, 1), Some(Edge { wire: Wire::Ss, high: false }));
        assert_eq!(bus.drive(1, Wire::Ss, Drive::Low, 2), None);
        bus.drive(0, Wire::Ss, Drive::Floating, 3);
        assert!(!bus.is_high(Wire::Ss));
        assert!(bus.take_contentions().is_empty());
    }

    #[test]
    fn two_drivers_that_change_together_are_no_contention() {
        let mut bus = Bus::new(2);
        bus.drive(0, Wire::Sck, Drive::Low, 1);
        bus.drive(1, Wire::Sck, Drive::Low, 1);
        assert_eq!(bus.drive(0, Wire::Sck, Drive::High, 9), None);
        assert_eq!(bus.drive(1, Wire::Sck, Drive::High, 9), Some(Edge { wire: Wire::Sck, high: true }));
        assert!(bus.take_contentions().is_empty());
    }

    #[test]
    fn two_drivers_that_disagree_are_reported_from_start_to_end() {
        let mut bus = Bus::new(2);
        bus.drive(0, Wire::Mosi, Drive::High, 10);
        assert_eq!(bus.drive(1, Wire::Mosi, Drive::Low, 20), None);
        assert!(bus.is_high(Wire::Mosi), "a contended wire keeps its level");
        assert_eq!(
            bus.drive(0, Wire::Mosi, Drive::Floating, 35),
            Some(Edge { wire: Wire::Mosi, high: false })
        );
        assert_eq!(bus.take_contentions(), [Contention { wire: Wire::Mosi, start_ps: 20, end_ps: 35 }]);
    }
}
