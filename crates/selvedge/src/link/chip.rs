//! The microcontrollers that a deployment may name, one line each.
//!
//! Owns what a deployment is checked against and what the compiler is told. Cycle tables, memories and
//! peripherals of the same chips are `isa::avr`'s.

use serde::{Serialize, Serializer};

/// A microcontroller that a node can be.
#[derive(Debug, PartialEq, Eq)]
pub struct Chip {
    /// As a deployment and avr-gcc's `-mmcu` name it.
    pub name: &'static str,
    /// Highest CPU clock at 5 V, in hertz (datasheet, "Speed Grades").
    pub clock_hz_max: u64,
    /// Lowest external reference of the converter, in nanovolts (datasheet, "ADC Characteristics").
    pub reference_nv_min: u64,
    /// Highest external reference: the supply's own maximum, in nanovolts.
    pub reference_nv_max: u64,
    /// Its SRAM (datasheet, "Features").
    pub sram_bytes: u64,
    /// Whether it has room for the thread controller's pipes (`firmware/node/chip.h`), without which nothing is woven.
    pub has_pipes: bool,
    /// The firmware's way from the end of a frame's last conversion to the first cycle of its sealing: from the alarm to
    /// the MAC's task, and from there through the controller, where the chip has room for its pipes.
    pub collect_cycles: u64,
}

/// Every chip that we simulate.
pub static CHIPS: [Chip; 2] = [
    // ATmega128: Atmel document 2467; ATmega328P: document 7810/8271.
    Chip {
        name: "atmega128",
        clock_hz_max: 16_000_000,
        reference_nv_min: 2_000_000_000,
        reference_nv_max: 5_500_000_000,
        sram_bytes: 4_096,
        has_pipes: true,
        collect_cycles: 4_200,
    },
    Chip {
        name: "atmega328p",
        clock_hz_max: 20_000_000,
        reference_nv_min: 1_000_000_000,
        reference_nv_max: 5_500_000_000,
        sram_bytes: 2_048,
        has_pipes: false,
        collect_cycles: 1_600,
    },
];

impl Chip {
    /// The chip of that name, if there is one.
    pub fn find(name: &str) -> Option<&'static Chip> {
        CHIPS.iter().find(|chip| chip.name == name)
    }
}

/// A chip is its name.
impl Serialize for Chip {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}
