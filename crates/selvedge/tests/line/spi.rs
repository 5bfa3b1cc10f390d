//! SPI in mode 0, most significant bit first, on the ATmega128's pins: a master with a crystal of its own.

use isa::Cycles;
use isa::avr::Pin;

const SS: Pin = Pin { port: b'B', bit: 0 };
const SCK: Pin = Pin { port: b'B', bit: 1 };
const MOSI: Pin = Pin { port: b'B', bit: 2 };
/// Where a slave answers.
#[allow(dead_code)] // each program that includes it uses some of it
pub const MISO: Pin = Pin { port: b'B', bit: 3 };

/// A pin's level from a cycle on.
type Level = (Cycles, Pin, bool);

/// A master that sends a byte every `period` cycles of its own, whose clock is `ppm` faster than ours, from a cycle on.
pub fn master(begins: Cycles, period: u32, ppm: i64, bytes: &[u8]) -> Vec<Level> {
    // In nineteenths of a period: sixteen halves of SCK, and a pause of three; rounded to our cycles.
    let at = |parts: u64| {
        let own = u128::from(parts) * u128::from(period) * 1_000_000;
        begins + (own / (19 * (1_000_000 + i128::from(ppm)) as u128)) as Cycles
    };
    let mut levels = vec![(begins - 8, SCK, false), (begins - 8, MOSI, false), (begins - 4, SS, false)];
    for (index, &byte) in bytes.iter().enumerate() {
        let first = 19 * index as u64;
        for bit in 0..8 {
            levels.push((at(first + 2 * bit), MOSI, byte & 0x80 >> bit != 0));
            levels.push((at(first + 2 * bit + 1), SCK, true));
            levels.push((at(first + 2 * bit + 2), SCK, false));
        }
    }
    levels
}
