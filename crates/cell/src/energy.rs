//! What a chip's core draws, from its datasheet, and what energy a run took.
//!
//! Owns the table of currents and their interpolation. A CMOS core's current goes with voltage times frequency
//! (datasheets, "Typical Characteristics": the dominating factors), so that what is printed at two points is a line
//! between them. Leaves out what hangs on the pins, the radio first of all, and the analog parts.

use isa::avr::{Chip, SleepMode};

/// Voltage at which a node is reckoned: two cells and a regulator, and what an ATmega128L takes at 8 MHz.
pub const SUPPLY_V: f64 = 3.3;

/// Typical currents of one chip.
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    /// The chip's name, as its profile has it.
    pub chip: &'static str,
    /// Where the currents stand.
    pub source: &'static str,
    /// Volts times megahertz, and milliamperes awake and in idle mode there; in order.
    points: &'static [(f64, f64, f64)],
    /// Milliamperes in power-down mode with the watchdog off, at 3 V.
    power_down_ma: f64,
}

/// The chips that a node can be.
pub static DRAWS: [Draw; 2] = [
    Draw {
        chip: "ATmega128",
        source: "ATmega128 datasheet 2467X, DC Characteristics (p. 319), typical ICC at 4 MHz 3 V and 8 MHz 5 V",
        points: &[(12.0, 5.0, 2.0), (40.0, 17.0, 8.0)],
        power_down_ma: 0.005,
    },
    Draw {
        chip: "ATmega328P",
        source: "ATmega328P datasheet 8271H, table 29-12, typical ICC at 1 MHz 2 V, 4 MHz 3 V and 8 MHz 5 V",
        points: &[(2.0, 0.3, 0.04), (12.0, 1.7, 0.3), (40.0, 5.2, 1.2)],
        power_down_ma: 0.0001,
    },
];

impl Draw {
    /// The currents of a chip that is named so.
    pub fn of(chip: &str) -> Option<&'static Draw> {
        DRAWS.iter().find(|draw| draw.chip == chip)
    }

    /// Milliamperes at `supply_v` volts and `hz`: awake, and in idle mode.
    pub fn milliamperes(&self, supply_v: f64, hz: f64) -> (f64, f64) {
        let at = supply_v * hz / 1e6;
        // A core that stands still draws next to nothing.
        let mut below = (0.0, 0.0, 0.0);
        let (last, others) = self.points.split_last().expect("a datasheet prints a current");
        for point in others {
            if at <= point.0 {
                return between(below, *point, at);
            }
            below = *point;
        }
        between(below, *last, at)
    }

    /// Microjoules that the core of `chip` took since it was made, at `supply_v` volts and `hz` cycles a second.
    pub fn microjoules(&self, chip: &Chip, supply_v: f64, hz: f64) -> f64 {
        let (awake_ma, idle_ma) = self.milliamperes(supply_v, hz);
        let down = chip.asleep_cycles(SleepMode::PowerDown);
        let asleep = chip.cycle() - chip.awake_cycles() - down;
        let milliampere_cycles = chip.awake_cycles() as f64 * awake_ma
            + asleep as f64 * idle_ma
            + down as f64 * self.power_down_ma;
        milliampere_cycles * supply_v / hz * 1e3
    }
}

fn between(below: (f64, f64, f64), above: (f64, f64, f64), at: f64) -> (f64, f64) {
    let share = (at - below.0) / (above.0 - below.0);
    (below.1 + share * (above.1 - below.1), below.2 + share * (above.2 - below.2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use isa::avr::image::{Image, Segment};

    #[test]
    fn what_the_datasheet_prints_comes_out_again() {
        let draw = Draw::of("ATmega328P").unwrap();
        for (volts, megahertz, awake, idle) in
            [(2.0, 1.0, 0.3, 0.04), (3.0, 4.0, 1.7, 0.3), (5.0, 8.0, 5.2, 1.2)]
        {
            let (found_awake, found_idle) = draw.milliamperes(volts, megahertz * 1e6);
            assert!((found_awake - awake).abs() < 1e-9 && (found_idle - idle).abs() < 1e-9);
        }
    }

    #[test]
    fn a_chip_that_stands_awake_for_a_second_takes_its_current_for_a_second() {
        let mut chip = Chip::new(&isa::avr::ATMEGA328P);
        let itself = Segment { address: 0, bytes: vec![0xFF, 0xCF] };
        let image = Image { architecture: 5, entry: 0, flash: vec![itself], eeprom: vec![], symbols: vec![] };
        chip.load(&image).unwrap();
        let draw = Draw::of("ATmega328P").unwrap();
        chip.run_until(4000, &mut ());
        let microjoules = draw.microjoules(&chip, 3.0, 4e6);
        assert!((microjoules - 1.7 * 3.0 * chip.cycle() as f64 / 4e6 * 1e3).abs() < 1e-9, "{microjoules}");
    }
}
