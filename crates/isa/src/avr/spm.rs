//! Self-programming: SPMCSR, the temporary page buffer and the times of page erase and page write.
//!
//! Owns the register, the buffer, the fuse and lock bytes and what the instructions SPM and LPM do with them.
//! The flash array is the chip's: [`Spm::execute`] answers what to do to it. Left to the chip: that SPM works
//! only from the boot loader section, and that neither it nor SPMCSR does anything during an EEPROM write.
//! What the boot lock bits forbid to SPM is kept; BLB02 and BLB12, which forbid LPM and interrupts to cross the
//! border between the sections, have no effect, because the datasheets do not say what is read then.
//! A page changes in the array when the operation begins; while it runs, and until the section is enabled
//! again, the read-while-write section must not be read ([`Spm::is_blocked`]), so that no program can tell.
//! Programming the no-read-while-write section halts the core for the whole time instead.
//! Sources: ATmega128 datasheet, "Boot Loader Support - Read-While-Write Self-Programming"; ATmega328P
//! datasheet, the chapter of the same name. Both give 3.7 to 4.5 ms for an erase or a write; here it takes
//! the longest.

use super::peripheral::{Effect, Effects, NEVER, Peripheral};
use crate::Cycles;

const SPMIE: u8 = 1 << 7;
const RWWSB: u8 = 1 << 6;
/// Signature row read (ATmega328P).
const SIGRD: u8 = 1 << 5;
const RWWSRE: u8 = 1 << 4;
const BLBSET: u8 = 1 << 3;
const PGWRT: u8 = 1 << 2;
const PGERS: u8 = 1 << 1;
/// SELFPRGEN on the ATmega328P.
const SPMEN: u8 = 1;

/// SPMEN and its companions clear themselves if no SPM instruction follows within four clock cycles.
const ARMED_CYCLES: Cycles = 4;
/// An LPM that reads fuse, lock or signature bytes must follow within three cycles.
const LPM_CYCLES: Cycles = 3;
const PROGRAMMING_US: u64 = 4500;
/// The bits of the lock byte that SPM can program, by clearing them.
const BOOT_LOCK_BITS: u8 = 0b0011_1100;
/// Cleared: SPM must not write to the application section (modes 2 and 3 of boot lock bits 0).
const BLB01: u8 = 1 << 2;
/// Cleared: SPM must not write to the boot loader section (modes 2 and 3 of boot lock bits 1).
const BLB11: u8 = 1 << 4;
const PAGE_BYTES_MAX: usize = 256;

/// The register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Register {
    /// Store program memory control and status.
    Spmcsr,
}

/// A chip's flash, as self-programming sees it.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Nominal frequency of the processor's clock.
    pub cpu_hz: u64,
    /// Bytes in a page.
    pub page_bytes: usize,
    /// Bytes of flash.
    pub flash_bytes: u32,
    /// First byte of the no-read-while-write section, and of the boot loader section, which has its largest size
    /// with the factory's BOOTSZ.
    pub nrww_start: u32,
    /// Fuse and lock bytes by their Z pointer: low fuse, lock, extended fuse, high fuse.
    pub fuses: [u8; 4],
    /// The signature row (ATmega328P): signature bytes at 0, 2 and 4, OSCCAL at 1.
    pub signature: Option<[u8; 5]>,
}

impl Config {
    /// An ATmega128 with its factory fuses.
    pub const fn atmega128(cpu_hz: u64) -> Self {
        Self {
            cpu_hz,
            page_bytes: 256,
            flash_bytes: 0x2_0000,
            nrww_start: 0x1_E000,
            fuses: [0xE1, 0xFF, 0xFD, 0x99],
            signature: None,
        }
    }

    /// An ATmega328P with its factory fuses.
    pub const fn atmega328p(cpu_hz: u64) -> Self {
        Self {
            cpu_hz,
            page_bytes: 128,
            flash_bytes: 0x8000,
            nrww_start: 0x7000,
            fuses: [0x62, 0xFF, 0xFF, 0xD9],
            signature: Some([0x1E, 0x80, 0x95, 0xFF, 0x0F]),
        }
    }
}

/// What the chip has to do to its flash array now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Nothing.
    None,
    /// Set the page that begins at this byte address to 0xFF.
    Erase(u32),
    /// Program a page: each byte becomes its old value AND the new one.
    Write {
        /// First byte of the page.
        address: u32,
        /// What to program, as long as a page.
        page: Box<[u8]>,
    },
}

/// Self-programming. Its one request, bit 0, lasts as long as SPMEN is clear and SPMIE is set.
#[derive(Clone, Debug)]
pub struct Spm {
    config: Config,
    /// SPMIE, and the operation that is armed or under way.
    control: u8,
    armed_at: Option<Cycles>,
    /// Until when a page is erased or written.
    done: Option<Cycles>,
    /// RWWSB.
    blocked: bool,
    page: [u8; PAGE_BYTES_MAX],
    /// Words of the buffer that have been loaded since it was erased.
    loaded: [bool; PAGE_BYTES_MAX / 2],
}

impl Spm {
    /// Self-programming after reset.
    ///
    /// # Panics
    /// If the page is larger than any of the two chips has, or not a power of two.
    pub fn new(config: Config) -> Self {
        assert!(config.page_bytes.is_power_of_two() && config.page_bytes <= PAGE_BYTES_MAX);
        Self {
            config,
            control: 0,
            armed_at: None,
            done: None,
            blocked: false,
            page: [0xFF; PAGE_BYTES_MAX],
            loaded: [false; PAGE_BYTES_MAX / 2],
        }
    }

    /// The chip was reset: an operation is abandoned and the buffer erased; fuses and lock bits stay.
    pub fn reset(&mut self) {
        *self = Self::new(self.config);
    }

    /// The temporary page buffer.
    pub fn page(&self) -> &[u8] {
        &self.page[..self.config.page_bytes]
    }

    /// The lock byte; its boot lock bits are what SPM has left of them.
    pub fn lock_bits(&self) -> u8 {
        self.config.fuses[1]
    }

    /// Whether `address` lies in the section that cannot be read now.
    pub fn is_blocked(&self, address: u32) -> bool {
        self.blocked && address < self.config.nrww_start
    }

    /// Whether a page is being erased or written, or lock bits.
    pub fn is_programming(&self) -> bool {
        self.done.is_some()
    }

    /// Whether the boot lock bits forbid SPM to write to the section of `address`.
    fn is_locked(&self, address: u32) -> bool {
        let bit = if address >= self.config.nrww_start { BLB11 } else { BLB01 };
        self.lock_bits() & bit == 0
    }

    fn is_armed(&self, now: Cycles, within: Cycles) -> bool {
        self.armed_at.is_some_and(|armed| now <= armed + within)
    }

    /// The instruction SPM in cycle `now`, with Z (and RAMPZ) as a byte address and R1:R0. Does nothing
    /// unless SPMCSR was written within the last four cycles.
    pub fn execute(&mut self, z: u32, word: u16, now: Cycles, effects: &mut Effects) -> Command {
        self.advance(now, effects);
        if !self.is_armed(now, ARMED_CYCLES) || self.done.is_some() {
            return Command::None;
        }
        self.armed_at = None;
        let operation = self.control & (SIGRD | RWWSRE | BLBSET | PGWRT | PGERS);
        self.control &= SPMIE;
        let page_bytes = self.config.page_bytes as u32;
        let address = (z & (self.config.flash_bytes - 1)) / page_bytes * page_bytes;
        match operation {
            0 => {
                let index = (z as usize / 2) % (self.config.page_bytes / 2);
                // A page load ends the section's blocking, too.
                self.blocked = false;
                // "It is not possible to write more than one time to each address without erasing the
                // temporary buffer."
                if !std::mem::replace(&mut self.loaded[index], true) {
                    self.page[2 * index..][..2].copy_from_slice(&word.to_le_bytes());
                }
                Command::None
            }
            PGERS | PGWRT if self.is_locked(address) => Command::None,
            PGERS => {
                self.begin(PGERS, address, now, effects);
                Command::Erase(address)
            }
            PGWRT => {
                let command = Command::Write { address, page: self.page().into() };
                self.erase_buffer();
                self.begin(PGWRT, address, now, effects);
                command
            }
            BLBSET => {
                self.config.fuses[1] &= word as u8 | !BOOT_LOCK_BITS;
                self.begin(BLBSET, self.config.nrww_start, now, effects);
                Command::None
            }
            RWWSRE => {
                self.blocked = false;
                Command::None
            }
            // "Writing any other combination … will have no effect", and SIGRD is for LPM only.
            _ => Command::None,
        }
    }

    /// The instruction LPM in cycle `now`: the fuse, lock or signature byte that it reads instead of flash
    /// when SPMCSR says so and was written within the last three cycles.
    pub fn load(&mut self, z: u32, now: Cycles) -> Option<u8> {
        if !self.is_armed(now, LPM_CYCLES) || self.done.is_some() {
            return None;
        }
        let value = match self.control & !SPMIE {
            BLBSET => *self.config.fuses.get(z as usize & 3)?,
            SIGRD => *self.config.signature?.get(z as usize)?,
            _ => return None,
        };
        self.armed_at = None;
        self.control &= SPMIE;
        Some(value)
    }

    fn begin(&mut self, operation: u8, address: u32, now: Cycles, effects: &mut Effects) {
        let us = u128::from(PROGRAMMING_US) * u128::from(self.config.cpu_hz);
        let cycles = us.div_ceil(1_000_000) as Cycles;
        self.control |= operation;
        self.done = Some(now + cycles);
        if address >= self.config.nrww_start {
            effects.push((now, Effect::Stall(cycles)));
        } else {
            self.blocked = true;
        }
    }

    fn erase_buffer(&mut self) {
        self.page = [0xFF; PAGE_BYTES_MAX];
        self.loaded = [false; PAGE_BYTES_MAX / 2];
    }
}

impl Peripheral for Spm {
    type Register = Register;

    fn read(&mut self, _register: Register, now: Cycles) -> u8 {
        let blocked = if self.blocked { RWWSB } else { 0 };
        if self.done.is_some() || self.is_armed(now, ARMED_CYCLES) {
            self.control | blocked | SPMEN
        } else {
            self.control & SPMIE | blocked
        }
    }

    fn write(&mut self, _register: Register, value: u8, now: Cycles, _effects: &mut Effects) {
        if self.done.is_some() {
            // While a page is programmed only the interrupt can be switched.
            self.control = self.control & !SPMIE | value & SPMIE;
            return;
        }
        let signature = if self.config.signature.is_some() { SIGRD } else { 0 };
        self.control = value & (SPMIE | RWWSRE | BLBSET | PGWRT | PGERS | signature);
        self.armed_at = (value & SPMEN != 0).then_some(now);
        // "The temporary buffer will auto-erase … by writing the RWWSRE bit in SPMCSR."
        if value & RWWSRE != 0 {
            self.erase_buffer();
        }
    }

    fn advance(&mut self, now: Cycles, _effects: &mut Effects) {
        if self.done.is_some_and(|done| done <= now) {
            self.done = None;
            self.control &= SPMIE;
        }
        if self.armed_at.is_some_and(|armed| now > armed + ARMED_CYCLES) {
            self.armed_at = None;
            self.control &= SPMIE;
        }
    }

    fn due(&self) -> Cycles {
        if self.control & SPMIE == 0 {
            return NEVER;
        }
        self.done.or(self.armed_at.map(|armed| armed + ARMED_CYCLES + 1)).unwrap_or(NEVER)
    }

    fn requests(&self) -> u32 {
        u32::from(self.control & SPMIE != 0 && self.done.is_none() && self.armed_at.is_none())
    }

    fn acknowledge(&mut self, bit: u8, _now: Cycles) {
        // The interrupt lasts as long as SPMEN is clear.
        assert_eq!(bit, 0, "self-programming has one interrupt");
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::stepping::{Act, assert_steps_do_not_matter};
    use super::Register::Spmcsr;
    use super::*;

    const HZ: u64 = 8_000_000;
    const DONE: Cycles = 4500 * 8;

    fn spm(config: Config, control: u8, z: u32, word: u16, s: &mut Spm, now: Cycles) -> (Command, Effects) {
        assert_eq!(s.config.page_bytes, config.page_bytes);
        let mut effects = Vec::new();
        s.advance(now - 1, &mut effects);
        s.write(Spmcsr, control | SPMEN, now - 1, &mut effects);
        let command = s.execute(z, word, now, &mut effects);
        (command, effects)
    }

    fn at(s: &mut Spm, now: Cycles) -> u8 {
        s.advance(now, &mut Vec::new());
        s.read(Spmcsr, now)
    }

    #[test]
    fn spm_must_follow_within_four_cycles() {
        for (gap, works) in [(1, true), (4, true), (5, false)] {
            let mut s = Spm::new(Config::atmega128(HZ));
            s.write(Spmcsr, PGERS | SPMEN, 10, &mut Vec::new());
            assert_eq!(at(&mut s, 14), PGERS | SPMEN);
            let command = s.execute(0x200, 0, 10 + gap, &mut Vec::new());
            assert_eq!(command == Command::Erase(0x200), works, "gap {gap}");
        }
        let mut s = Spm::new(Config::atmega128(HZ));
        s.write(Spmcsr, PGERS | SPMEN, 10, &mut Vec::new());
        assert_eq!(at(&mut s, 15), 0, "cleared by hardware");
    }

    #[test]
    fn page_is_filled_by_words_and_each_word_once() {
        for config in [Config::atmega128(HZ), Config::atmega328p(HZ)] {
            let mut s = Spm::new(config);
            let words = config.page_bytes as u32 / 2;
            for word in 0..words {
                let (command, effects) =
                    spm(config, 0, 0x1000 + 2 * word, word as u16 * 257, &mut s, 100 + 10 * u64::from(word));
                assert_eq!((command, effects), (Command::None, vec![]));
            }
            spm(config, 0, 0x1000, 0xDEAD, &mut s, 9000);
            let expected: Vec<u8> = (0..words as u16).flat_map(|w| (w * 257).to_le_bytes()).collect();
            assert_eq!(s.page(), expected);
            let (command, _) = spm(config, PGWRT, 0x1234, 0, &mut s, 9100);
            let Command::Write { address, page } = command else { panic!("{command:?}") };
            assert_eq!(address, 0x1234 / config.page_bytes as u32 * config.page_bytes as u32);
            assert_eq!(page[..], expected);
            assert!(s.page().iter().all(|&b| b == 0xFF), "erased by the page write");
        }
    }

    #[test]
    fn programming_the_read_while_write_section_blocks_it_and_not_the_core() {
        for (operation, config) in [(PGERS, Config::atmega128(HZ)), (PGWRT, Config::atmega328p(HZ))] {
            let mut s = Spm::new(config);
            let (_, effects) = spm(config, SPMIE | operation, 0x800, 0, &mut s, 1000);
            assert_eq!(effects, []);
            assert!(
                s.is_blocked(0) && s.is_blocked(config.nrww_start - 1) && !s.is_blocked(config.nrww_start)
            );
            assert_eq!(s.due(), 1000 + DONE);
            assert_eq!(at(&mut s, 1000 + DONE - 1), SPMIE | RWWSB | operation | SPMEN);
            assert_eq!(s.requests(), 0);
            assert_eq!(at(&mut s, 1000 + DONE), SPMIE | RWWSB);
            assert_eq!(s.requests(), 1);
            assert!(s.is_blocked(0), "until it is enabled again");
            spm(config, RWWSRE, 0, 0, &mut s, 1000 + DONE + 10);
            assert!(!s.is_blocked(0));
            assert_eq!(at(&mut s, 1000 + DONE + 11), 0);
        }
    }

    #[test]
    fn programming_the_other_section_halts_the_core() {
        for config in [Config::atmega128(HZ), Config::atmega328p(HZ)] {
            let mut s = Spm::new(config);
            let (command, effects) = spm(config, PGERS, config.nrww_start, 0, &mut s, 1000);
            assert_eq!(command, Command::Erase(config.nrww_start));
            assert_eq!(effects, [(1000, Effect::Stall(DONE))]);
            assert!(!s.is_blocked(0));
        }
    }

    #[test]
    fn nothing_starts_while_a_page_is_programmed() {
        let config = Config::atmega128(HZ);
        let mut s = Spm::new(config);
        spm(config, PGERS, 0x800, 0, &mut s, 1000);
        let (command, _) = spm(config, PGERS, 0x900, 0, &mut s, 1100);
        assert_eq!(command, Command::None);
        let (_, _) = spm(config, RWWSRE, 0, 0, &mut s, 1200);
        assert!(s.is_blocked(0));
    }

    #[test]
    fn page_load_unblocks_the_section_and_enabling_it_loses_the_load() {
        let config = Config::atmega128(HZ);
        let mut s = Spm::new(config);
        spm(config, PGERS, 0x800, 0, &mut s, 1000);
        at(&mut s, 1000 + DONE);
        spm(config, 0, 0x800, 0x1234, &mut s, 1100 + DONE);
        assert!(!s.is_blocked(0));
        assert_eq!(s.page()[..2], [0x34, 0x12]);
        s.write(Spmcsr, RWWSRE | SPMEN, 1200 + DONE, &mut Vec::new());
        assert_eq!(s.page()[..2], [0xFF, 0xFF]);
    }

    #[test]
    fn combined_operations_do_nothing() {
        let config = Config::atmega128(HZ);
        let mut s = Spm::new(config);
        assert_eq!(spm(config, PGERS | PGWRT, 0x800, 0, &mut s, 1000), (Command::None, vec![]));
        assert_eq!(at(&mut s, 1001), 0);
        let config = Config::atmega328p(HZ);
        let mut s = Spm::new(config);
        spm(config, SIGRD, 0x800, 0x1234, &mut s, 1000);
        assert_eq!(s.page()[..2], [0xFF, 0xFF]);
    }

    #[test]
    fn boot_lock_bits_are_programmed_by_zeros_and_never_set() {
        let config = Config::atmega128(HZ);
        let mut s = Spm::new(config);
        spm(config, BLBSET, 1, 0b1110_1011, &mut s, 1000);
        assert_eq!(s.lock_bits(), 0b1110_1111 & (0b1110_1011 | !BOOT_LOCK_BITS));
        at(&mut s, 1000 + DONE);
        spm(config, BLBSET, 1, 0xFF, &mut s, 2000 + DONE);
        assert_eq!(s.lock_bits(), 0b1110_1011);
        at(&mut s, 2000 + 2 * DONE);
        spm(config, BLBSET, 1, 0x00, &mut s, 3000 + 2 * DONE);
        assert_eq!(s.lock_bits(), !BOOT_LOCK_BITS, "the other bits are not the program's");
        s.reset();
        assert_eq!(s.lock_bits(), !BOOT_LOCK_BITS, "they outlast a reset");
        assert_eq!((at(&mut s, 3001 + 2 * DONE), s.page()[0]), (0, 0xFF));
    }

    #[test]
    fn a_locked_section_is_neither_erased_nor_written() {
        for config in [Config::atmega128(HZ), Config::atmega328p(HZ)] {
            let [application, boot] = [0, config.nrww_start];
            // The four modes of the boot lock bits 0 and 1 (table "Boot Lock Bit0 Protection Modes" and its neighbour).
            for (lock, free) in [
                (0b1111_1111, [true, true]),
                (0b1111_1011, [false, true]),
                (0b1111_0011, [false, true]),
                (0b1111_0111, [true, true]),
                (0b1110_1111, [true, false]),
                (0b1100_1111, [true, false]),
                (0b1101_1111, [true, true]),
                (0b1110_1011, [false, false]),
            ] {
                for (address, free) in [application, boot].into_iter().zip(free) {
                    for operation in [PGERS, PGWRT] {
                        let mut s = Spm::new(config);
                        spm(config, BLBSET, 1, lock, &mut s, 1000);
                        at(&mut s, 1000 + DONE);
                        spm(config, RWWSRE, 0, 0, &mut s, 1010 + DONE);
                        let (command, effects) = spm(config, operation, address, 0, &mut s, 2000 + DONE);
                        let said = (command != Command::None, s.is_programming());
                        assert_eq!(said, (free, free), "{address:#x} under {lock:#010b}");
                        assert!(free || effects.is_empty() && !s.is_blocked(0));
                    }
                }
            }
        }
    }

    #[test]
    fn lpm_reads_fuses_within_three_cycles() {
        let config = Config::atmega128(HZ);
        for (gap, works) in [(1, true), (3, true), (4, false)] {
            for (z, byte) in [(0, 0xE1), (1, 0xFF), (2, 0xFD), (3, 0x99)] {
                let mut s = Spm::new(config);
                s.write(Spmcsr, BLBSET | SPMEN, 10, &mut Vec::new());
                assert_eq!(s.load(z, 10 + gap), works.then_some(byte));
            }
        }
        assert_eq!(Spm::new(config).load(0, 5), None);
    }

    #[test]
    fn lpm_reads_the_signature_of_an_atmega328p() {
        for (z, byte) in [(0, Some(0x1E)), (2, Some(0x95)), (4, Some(0x0F)), (5, None)] {
            let mut s = Spm::new(Config::atmega328p(HZ));
            s.write(Spmcsr, SIGRD | SPMEN, 10, &mut Vec::new());
            assert_eq!(s.load(z, 12), byte);
            let mut s = Spm::new(Config::atmega128(HZ));
            s.write(Spmcsr, SIGRD | SPMEN, 10, &mut Vec::new());
            assert_eq!(s.load(z, 12), None, "the ATmega128 has no such bit");
        }
    }

    proptest! {
        #[test]
        fn steps_do_not_matter(
            script in prop::collection::vec(
                (1..9u64, prop_oneof![
                    any::<u8>().prop_map(|v| Act::Write(Spmcsr, v)),
                    Just(Act::Read(Spmcsr)),
                ]),
                1..60,
            ),
            seed in any::<u64>(),
        ) {
            assert_steps_do_not_matter(&Spm::new(Config::atmega328p(HZ)), &[Spmcsr], &script, seed);
        }

        #[test]
        fn any_sequence_of_instructions_is_taken(
            acts in prop::collection::vec(
                (1..6000u64, any::<u8>(), any::<u32>(), any::<u16>(), any::<bool>()),
                1..80,
            ),
        ) {
            let mut s = Spm::new(Config::atmega328p(1_000_000));
            let mut now = 0;
            for (gap, control, z, word, load) in acts {
                now += gap;
                s.advance(now, &mut Vec::new());
                s.write(Spmcsr, control, now, &mut Vec::new());
                if load {
                    s.load(z, now + 2);
                } else if let Command::Erase(address) | Command::Write { address, .. } =
                    s.execute(z, word, now + 2, &mut Vec::new())
                {
                    prop_assert!(address + 128 <= 0x8000 && address % 128 == 0);
                }
                now += 2;
            }
        }
    }
}
