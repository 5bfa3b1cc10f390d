//! The data EEPROM: its four registers, its programming times, and what a power cut leaves behind.
//!
//! Sources: ATmega128 datasheet, "EEPROM Data Memory" (8448 cycles of the calibrated 1 MHz oscillator, 8.5
//! ms); ATmega328P datasheet, same title (table "EEPROM Mode Bits": 3.4 ms, 1.8 ms, 1.8 ms). Times are of the
//! chip's own oscillator and given here in nominal processor cycles. A reset does not stop a write
//! ([`Eeprom::reset`]).
//! Left to the chip: that no write begins while the flash is being programmed.
//!
//! Invariant: a power cut changes at most the byte that is being written.

use super::peripheral::{Effect, Effects, NEVER, Peripheral};
use crate::Cycles;

/// EEPM1:0 (ATmega328P).
const EEPM: u8 = 3 << 4;
const EERIE: u8 = 1 << 3;
/// EEMWE on the ATmega128.
const EEMPE: u8 = 1 << 2;
/// EEWE on the ATmega128.
pub(super) const EEPE: u8 = 1 << 1;
const EERE: u8 = 1;

/// "Hardware clears the bit to zero after four clock cycles."
const ARMED_CYCLES: Cycles = 4;
const READ_STALL_CYCLES: Cycles = 4;
const WRITE_STALL_CYCLES: Cycles = 2;
const ERASED: u8 = 0xFF;

/// The EEPROM's registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Register {
    /// Address, low byte.
    EearL,
    /// Address, high byte.
    EearH,
    /// Data.
    Eedr,
    /// Control.
    Eecr,
}

/// Which chip's EEPROM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// 4096 bytes, one programming mode.
    Atmega128,
    /// 1024 bytes; erasing and writing can be split (EEPM).
    Atmega328p,
}

impl Model {
    /// Size of the array.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Atmega128 => 4096,
            Self::Atmega328p => 1024,
        }
    }

    fn programming_us(self, operation: Operation) -> u64 {
        match (self, operation) {
            (Self::Atmega128, _) => 8448,
            (Self::Atmega328p, Operation::EraseAndWrite) => 3400,
            (Self::Atmega328p, _) => 1800,
        }
    }
}

/// What a programming cycle does (EEPM).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    EraseAndWrite,
    Erase,
    Write,
}

/// A programming cycle under way.
#[derive(Clone, Copy, Debug)]
struct Programming {
    operation: Operation,
    address: u16,
    data: u8,
    started: Cycles,
    done: Cycles,
}

/// The EEPROM. Its one request, bit 0, lasts as long as it is ready and EERIE is set.
#[derive(Clone, Debug)]
pub struct Eeprom {
    model: Model,
    cpu_hz: u64,
    array: Vec<u8>,
    address: u16,
    data: u8,
    /// EEPM and EERIE.
    control: u8,
    armed_at: Option<Cycles>,
    programming: Option<Programming>,
}

impl Eeprom {
    /// An EEPROM that holds `contents` from address 0 on, erased beyond.
    ///
    /// # Panics
    /// If there is more in `contents` than the EEPROM holds.
    pub fn new(model: Model, cpu_hz: u64, contents: &[u8]) -> Self {
        let size = model.bytes();
        assert!(contents.len() <= size, "{} bytes for an EEPROM of {size}", contents.len());
        let mut array = contents.to_vec();
        array.resize(size, ERASED);
        let (address, data, control) = (0, 0, 0);
        Self { model, cpu_hz, array, address, data, control, armed_at: None, programming: None }
    }

    /// What the array holds. The byte that is being written has its old value.
    pub fn contents(&self) -> &[u8] {
        &self.array
    }

    /// Whether a byte is being programmed.
    pub fn is_programming(&self) -> bool {
        self.programming.is_some()
    }

    /// The chip was reset: the registers are cleared, but a write that has begun is completed ("Preventing
    /// EEPROM Corruption").
    pub fn reset(&mut self) {
        (self.address, self.data, self.control, self.armed_at) = (0, 0, 0, None);
    }

    /// What the array holds if the power fails in cycle `now`. A byte in its erase phase has some of its
    /// zeros already turned to ones, one in its write phase has some of its zeros not yet programmed; `seed`
    /// decides which. The datasheets do not say when one phase ends: half of the time of an atomic write is
    /// taken.
    pub fn cut(&self, now: Cycles, seed: u64) -> Vec<u8> {
        let mut array = self.array.clone();
        let Some(p) = self.programming else { return array };
        let byte = &mut array[usize::from(p.address)];
        if now >= p.done {
            *byte = p.result(*byte);
            return array;
        }
        let mask = scramble(seed);
        let erases = match p.operation {
            Operation::EraseAndWrite => now < p.started + (p.done - p.started) / 2,
            Operation::Erase => true,
            Operation::Write => false,
        };
        *byte = if erases { *byte | mask } else { p.result(*byte) | p.before_write(*byte) & mask };
        array
    }

    fn is_armed(&self, now: Cycles) -> bool {
        self.armed_at.is_some_and(|armed| now <= armed + ARMED_CYCLES)
    }

    fn write_control(&mut self, value: u8, now: Cycles, effects: &mut Effects) {
        let keeps_mode = self.programming.is_some() || self.model == Model::Atmega128;
        let mode = if keeps_mode { self.control } else { value } & EEPM;
        self.control = mode | value & EERIE;
        let busy = self.programming.is_some();
        if value & EEPE != 0 && self.is_armed(now) && !busy {
            self.armed_at = None;
            self.program(now);
            effects.push((now, Effect::Stall(WRITE_STALL_CYCLES)));
        } else if value & EERE != 0 && !busy {
            self.data = self.array[usize::from(self.address)];
            effects.push((now, Effect::Stall(READ_STALL_CYCLES)));
        }
        if value & EEMPE != 0 && value & EEPE == 0 {
            self.armed_at = Some(now);
        }
    }

    fn program(&mut self, now: Cycles) {
        let operation = match self.control >> 4 {
            1 => Operation::Erase,
            2 => Operation::Write,
            // Mode 3 is "reserved for future use" and taken for mode 0.
            _ => Operation::EraseAndWrite,
        };
        let us = u128::from(self.model.programming_us(operation));
        let cycles = (us * u128::from(self.cpu_hz)).div_ceil(1_000_000) as Cycles;
        self.programming = Some(Programming {
            operation,
            address: self.address,
            data: self.data,
            started: now,
            done: now + cycles,
        });
    }
}

impl Programming {
    /// The byte once `old` has been programmed.
    fn result(&self, old: u8) -> u8 {
        match self.operation {
            Operation::EraseAndWrite => self.data,
            Operation::Erase => ERASED,
            Operation::Write => old & self.data,
        }
    }

    /// The byte between erasing and writing.
    fn before_write(&self, old: u8) -> u8 {
        if self.operation == Operation::Write { old } else { ERASED }
    }
}

/// Eight bits that depend on all of `seed` (SplitMix64's output function).
fn scramble(seed: u64) -> u8 {
    let mut z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (z >> 56) as u8
}

impl Peripheral for Eeprom {
    type Register = Register;

    fn read(&mut self, register: Register, now: Cycles) -> u8 {
        match register {
            Register::EearL => self.address as u8,
            Register::EearH => (self.address >> 8) as u8,
            Register::Eedr => self.data,
            Register::Eecr => {
                let armed = if self.is_armed(now) { EEMPE } else { 0 };
                let busy = if self.programming.is_some() { EEPE } else { 0 };
                self.control | armed | busy
            }
        }
    }

    fn write(&mut self, register: Register, value: u8, now: Cycles, effects: &mut Effects) {
        // "If a write operation is in progress, it is neither possible to read the EEPROM, nor to change
        // EEAR."
        let frozen = self.programming.is_some();
        let mask = (self.model.bytes() - 1) as u16;
        match register {
            Register::EearL if !frozen => self.address = self.address & 0xFF00 | u16::from(value),
            Register::EearH if !frozen => {
                self.address = (self.address & 0x00FF | u16::from(value) << 8) & mask;
            }
            Register::EearL | Register::EearH => {}
            Register::Eedr => self.data = value,
            Register::Eecr => self.write_control(value, now, effects),
        }
    }

    fn advance(&mut self, now: Cycles, effects: &mut Effects) {
        if let Some(p) = self.programming.take_if(|p| p.done <= now) {
            let byte = &mut self.array[usize::from(p.address)];
            *byte = p.result(*byte);
            effects.push((p.done, Effect::EepromWritten { address: p.address, value: *byte }));
        }
    }

    fn due(&self) -> Cycles {
        self.programming.map_or(NEVER, |p| p.done)
    }

    fn requests(&self) -> u32 {
        u32::from(self.control & EERIE != 0 && self.programming.is_none())
    }

    fn acknowledge(&mut self, bit: u8, _now: Cycles) {
        // "The EEPROM Ready interrupt generates a constant interrupt when EEWE is cleared."
        assert_eq!(bit, 0, "the EEPROM has one interrupt");
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::stepping::{Act, assert_steps_do_not_matter};
    use super::*;

    const HZ: u64 = 8_000_000;

    fn write(e: &mut Eeprom, register: Register, value: u8, now: Cycles) -> Effects {
        let mut effects = Vec::new();
        e.advance(now, &mut effects);
        e.write(register, value, now, &mut effects);
        effects
    }

    fn read(e: &mut Eeprom, register: Register, now: Cycles) -> u8 {
        e.advance(now, &mut Vec::new());
        e.read(register, now)
    }

    /// Writes `value` to `address` with programming mode `mode`; EEPE is written in cycle `at`.
    fn program(e: &mut Eeprom, address: u16, value: u8, mode: u8, at: Cycles) -> Effects {
        write(e, Register::EearH, (address >> 8) as u8, at - 5);
        write(e, Register::EearL, address as u8, at - 4);
        write(e, Register::Eedr, value, at - 3);
        write(e, Register::Eecr, mode << 4 | EEMPE, at - 2);
        write(e, Register::Eecr, mode << 4 | EEPE, at)
    }

    #[test]
    fn write_takes_the_documented_time_and_stalls_two_cycles() {
        for (model, mode, us) in [
            (Model::Atmega128, 0, 8448),
            (Model::Atmega328p, 0, 3400),
            (Model::Atmega328p, 1, 1800),
            (Model::Atmega328p, 2, 1800),
        ] {
            for hz in [HZ, 16_000_000, 7_372_800] {
                let mut e = Eeprom::new(model, hz, &[]);
                assert_eq!(program(&mut e, 0x123, 0x5A, mode, 100), [(100, Effect::Stall(2))]);
                let done = 100 + (us * hz).div_ceil(1_000_000);
                assert_eq!(e.due(), done);
                assert_eq!(read(&mut e, Register::Eecr, done - 1) & EEPE, EEPE);
                let mut effects = Vec::new();
                e.advance(done, &mut effects);
                let value = if mode == 1 { 0xFF } else { 0x5A };
                assert_eq!(effects, [(done, Effect::EepromWritten { address: 0x123, value })]);
                assert_eq!(e.contents()[0x123], value);
                assert_eq!(read(&mut e, Register::Eecr, done) & EEPE, 0);
            }
        }
    }

    #[test]
    fn write_enable_must_follow_master_enable_within_four_cycles() {
        for (gap, starts) in [(1, true), (4, true), (5, false), (100, false)] {
            let mut e = Eeprom::new(Model::Atmega128, HZ, &[]);
            write(&mut e, Register::Eecr, EEMPE, 10);
            assert_eq!(read(&mut e, Register::Eecr, 14), EEMPE);
            write(&mut e, Register::Eecr, EEPE, 10 + gap);
            assert_eq!(e.programming.is_some(), starts, "gap {gap}");
        }
        let mut e = Eeprom::new(Model::Atmega128, HZ, &[]);
        write(&mut e, Register::Eecr, EEMPE, 10);
        assert_eq!(read(&mut e, Register::Eecr, 15), 0, "cleared by hardware");
        write(&mut e, Register::Eecr, EEPE, 16);
        assert_eq!(e.due(), NEVER);
        write(&mut e, Register::Eecr, EEMPE | EEPE, 20);
        assert_eq!(e.due(), NEVER, "both at once start nothing");
    }

    #[test]
    fn read_stalls_four_cycles_and_gives_the_byte_at_once() {
        let mut e = Eeprom::new(Model::Atmega128, HZ, &[7, 8, 9]);
        write(&mut e, Register::EearL, 2, 1);
        assert_eq!(write(&mut e, Register::Eecr, EERE, 2), [(2, Effect::Stall(4))]);
        assert_eq!(read(&mut e, Register::Eedr, 7), 9);
        assert_eq!(read(&mut e, Register::Eecr, 8), 0);
    }

    #[test]
    fn address_and_reading_are_blocked_while_a_write_runs() {
        let mut e = Eeprom::new(Model::Atmega128, HZ, &[1, 2, 3]);
        program(&mut e, 1, 0xAA, 0, 100);
        write(&mut e, Register::EearL, 2, 110);
        assert_eq!(read(&mut e, Register::EearL, 111), 1);
        write(&mut e, Register::Eedr, 0x55, 112);
        assert_eq!(write(&mut e, Register::Eecr, EERE, 113), []);
        assert_eq!(read(&mut e, Register::Eedr, 114), 0x55);
        e.advance(100_000, &mut Vec::new());
        assert_eq!(e.contents()[..3], [1, 0xAA, 3], "the data was taken when the write began");
    }

    #[test]
    fn ready_interrupt_lasts_while_nothing_is_written() {
        let mut e = Eeprom::new(Model::Atmega328p, HZ, &[]);
        write(&mut e, Register::Eecr, EERIE, 1);
        assert_eq!(e.requests(), 1);
        e.acknowledge(0, 2);
        assert_eq!(e.requests(), 1);
        write(&mut e, Register::Eecr, EERIE | EEMPE, 3);
        write(&mut e, Register::Eecr, EERIE | EEPE, 4);
        assert_eq!(e.requests(), 0);
        e.advance(e.due(), &mut Vec::new());
        assert_eq!(e.requests(), 1);
    }

    #[test]
    fn split_programming_only_sets_or_only_clears_bits() {
        let mut e = Eeprom::new(Model::Atmega328p, HZ, &[0x3C]);
        program(&mut e, 0, 0xF0, 2, 100);
        e.advance(e.due(), &mut Vec::new());
        assert_eq!(e.contents()[0], 0x30);
        program(&mut e, 0, 0x00, 1, 200_000);
        e.advance(e.due(), &mut Vec::new());
        assert_eq!(e.contents()[0], 0xFF);
    }

    #[test]
    fn atmega128_has_no_programming_modes_and_addresses_wrap_at_the_size() {
        let mut e = Eeprom::new(Model::Atmega128, HZ, &[]);
        write(&mut e, Register::Eecr, 0xF0, 1);
        assert_eq!(read(&mut e, Register::Eecr, 2), 0);
        write(&mut e, Register::EearH, 0xFF, 3);
        assert_eq!(read(&mut e, Register::EearH, 4), 0x0F);
    }

    #[test]
    fn reset_clears_the_registers_and_lets_the_write_end() {
        let mut e = Eeprom::new(Model::Atmega128, HZ, &[]);
        program(&mut e, 5, 0x11, 0, 100);
        e.reset();
        assert_eq!(read(&mut e, Register::EearL, 101), 0);
        e.advance(e.due(), &mut Vec::new());
        assert_eq!(e.contents()[5], 0x11);
    }

    #[test]
    fn power_cut_mixes_old_bits_with_ones_and_then_ones_with_new_bits() {
        let (old, new) = (0b0011_0101u8, 0b0101_0011u8);
        let mut e = Eeprom::new(Model::Atmega128, HZ, &[9, old, 9]);
        program(&mut e, 1, new, 0, 100);
        let half = (e.due() - 100) / 2;
        let (mut erasing, mut writing) = (0u8, 0u8);
        for seed in 0..500 {
            let byte = |now| {
                let array = e.cut(now, seed);
                assert_eq!((array[0], array[2], array.len()), (9, 9, 4096));
                array[1]
            };
            let erased = byte(100 + half - 1);
            assert_eq!(erased & old, old, "no one is lost while erasing");
            erasing |= erased ^ old;
            let written = byte(100 + half);
            assert_eq!(written & new, new, "a one is never programmed");
            writing |= written ^ new;
            assert_eq!([byte(e.due()), byte(e.due() + 1)], [new; 2]);
            assert_eq!(e.cut(200, seed), e.cut(200, seed));
        }
        assert_eq!((erasing, writing), (!old, !new), "every zero is in doubt");
        assert_eq!(Eeprom::new(Model::Atmega128, HZ, &[3]).cut(5, 1)[0], 3);
    }

    #[test]
    fn power_cut_of_a_split_operation_stays_between_its_two_values() {
        for seed in 0..200 {
            let mut e = Eeprom::new(Model::Atmega328p, HZ, &[0x3C]);
            program(&mut e, 0, 0xF0, 2, 100);
            let cut = e.cut(200, seed)[0];
            assert_eq!((cut & 0x30, cut & !0x3C), (0x30, 0), "between 0x3c and 0x30");
            let mut e = Eeprom::new(Model::Atmega328p, HZ, &[0x3C]);
            program(&mut e, 0, 0x00, 1, 100);
            assert_eq!(e.cut(100 + 8 * 1799, seed)[0] & 0x3C, 0x3C);
        }
    }

    proptest! {
        #[test]
        fn steps_do_not_matter(
            script in prop::collection::vec(
                (prop_oneof![1..8u64, 8..3000u64], prop_oneof![
                    any::<u8>().prop_map(|v| Act::Write(Register::EearL, v)),
                    any::<u8>().prop_map(|v| Act::Write(Register::Eedr, v)),
                    Just(Act::Write(Register::Eecr, EEMPE | EERIE)),
                    Just(Act::Write(Register::Eecr, EEPE | EERIE)),
                    any::<u8>().prop_map(|v| Act::Write(Register::Eecr, v)),
                    Just(Act::Read(Register::Eecr)),
                    Just(Act::Read(Register::Eedr)),
                ]),
                1..60,
            ),
            seed in any::<u64>(),
        ) {
            let e = Eeprom::new(Model::Atmega328p, 500_000, &[1, 2, 3]);
            use Register::*;
            assert_steps_do_not_matter(&e, &[EearL, EearH, Eedr, Eecr], &script, seed);
        }
    }
}
