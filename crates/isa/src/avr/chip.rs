//! A chip as its users see it.
//!
//! Owns: loading, running, stopping, pins from outside, power and resets. What happens inside is `machine`'s and
//! `exec`'s.
//!
//! Invariant: a run that is cut into many calls of [`Chip::run_until`] does the same at the same cycles as one
//! call does.

use std::fmt;
use std::sync::Arc;

use super::adc::AnalogInput;
use super::error::{Fault, ImageError};
use super::exec::{Program, byte_address};
use super::image::{Image, outside};
use super::machine::{Machine, Rest};
use super::observer::{Observer, SleepMode};
use super::peripheral::{Drive, NEVER, Pin};
use super::profile::Profile;
use super::{spi, usart};
use crate::Cycles;

/// What a chip's surroundings and fuses decide.
#[derive(Clone)]
pub struct Settings {
    /// Nominal frequency of the processor's clock, to which oscillators of fixed frequency are scaled.
    pub clock_hz: u64,
    /// Start-up time of the oscillator after power-down and power-save (CKSEL, SUT). The default is that of a
    /// crystal, 16 Ki cycles.
    pub startup_cycles: Cycles,
    /// Cycles from a reset to the first instruction. (The first run of a new chip begins at once.)
    pub reset_cycles: Cycles,
    /// Whether 64 KiB of memory are connected to the external memory interface.
    pub external_memory: bool,
    /// Frequency of the crystal on TOSC1 and TOSC2.
    pub crystal_hz: u64,
    /// How the SPI's clock divider stands when a byte begins.
    pub spi_phase: spi::Phase,
    /// The fuse WDTON.
    pub watchdog_always_on: bool,
    /// Supply of the ADC, and its reference where AREF is connected to it, in volts.
    pub avcc_volts: f64,
    /// Volts at the ADC's pins, by channel and cycle of the chip.
    pub analog: AnalogInput,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            clock_hz: 8_000_000,
            startup_cycles: 16_384,
            reset_cycles: 16_384,
            external_memory: false,
            crystal_hz: 32_768,
            spi_phase: spi::Phase::Restarted,
            watchdog_always_on: false,
            avcc_volts: 5.0,
            analog: Arc::new(|_, _| 0.0),
        }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("clock_hz", &self.clock_hz)
            .field("startup_cycles", &self.startup_cycles)
            .field("reset_cycles", &self.reset_cycles)
            .field("external_memory", &self.external_memory)
            .field("crystal_hz", &self.crystal_hz)
            .field("spi_phase", &self.spi_phase)
            .field("watchdog_always_on", &self.watchdog_always_on)
            .field("avcc_volts", &self.avcc_volts)
            .finish_non_exhaustive()
    }
}

/// Why a chip is reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetCause {
    /// The supply came.
    PowerOn,
    /// The reset pin.
    External,
    /// The supply sank too low.
    BrownOut,
    /// The watchdog.
    Watchdog,
}

impl ResetCause {
    /// Its bit in MCUCSR and MCUSR.
    pub(super) fn flag(self) -> u8 {
        match self {
            ResetCause::PowerOn => 1,
            ResetCause::External => 2,
            ResetCause::BrownOut => 4,
            ResetCause::Watchdog => 8,
        }
    }
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The limit is reached. The last instruction may end a few cycles behind it.
    Reached,
    /// BREAK was executed.
    Break,
    /// The program did what the chip does not define; the chip stands still until it is reset.
    Fault(Fault),
    /// The chip sleeps and nothing but a pin or a reset will ever wake it. The limit is reached too.
    Halted,
    /// A watched run: the output stage of a pin changed.
    Pin,
    /// A watched run: the next instruction accesses a watched I/O register. It has not begun; the next run
    /// executes it.
    Access {
        /// The register's data-space address.
        address: u16,
    },
}

/// What ends a watched run early.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    /// A change of any pin's output stage.
    pub drives: bool,
    registers: [u64; 4],
}

impl Watch {
    /// Nothing.
    pub fn new() -> Watch {
        Watch::default()
    }

    /// Adds a register by its data-space address, below 0x100.
    pub fn add(&mut self, address: u16) {
        assert!(address < 0x100, "address {address:#x} is not of the I/O space");
        self.registers[usize::from(address / 64)] |= 1 << (address % 64);
    }

    /// Whether an access to `address` ends the run.
    #[inline(always)]
    pub(super) fn has(&self, address: u16) -> bool {
        address < 0x100 && self.registers[usize::from(address / 64)] >> (address % 64) & 1 != 0
    }
}

/// A simulated chip. A clone is a snapshot; clones share the program until one of them changes it.
#[derive(Clone)]
pub struct Chip {
    program: Program,
    machine: Machine,
}

impl Chip {
    /// A chip with erased memories that has just got its supply, at cycle 0.
    pub fn new(profile: &'static Profile) -> Chip {
        Chip::with_settings(profile, Settings::default())
    }

    /// A chip in other than the default surroundings.
    pub fn with_settings(profile: &'static Profile, settings: Settings) -> Chip {
        let flash = vec![0xff; profile.flash_bytes as usize];
        Chip { program: Program::new(profile, flash), machine: Machine::new(profile, settings) }
    }

    /// Programs flash, and EEPROM where the image has some; then the chip begins anew as after power-on. The
    /// rest of the flash is erased. Nothing is changed when the image does not fit.
    pub fn load(&mut self, image: &Image) -> Result<(), ImageError> {
        let profile = self.machine.profile;
        let runs = image.architecture == profile.architecture
            || profile.lesser_architectures.contains(&image.architecture);
        if !runs {
            return Err(ImageError::Generation { found: image.architecture, expected: profile.architecture });
        }
        for segment in &image.flash {
            outside("flash", segment.address, segment.bytes.len() as u64, profile.flash_bytes)?;
        }
        for segment in &image.eeprom {
            outside("EEPROM", segment.address, segment.bytes.len() as u64, profile.eeprom_bytes.into())?;
        }
        let mut flash = vec![0xff; profile.flash_bytes as usize];
        for segment in &image.flash {
            let first = segment.address as usize;
            flash[first..first + segment.bytes.len()].copy_from_slice(&segment.bytes);
        }
        self.program = Program::new(profile, flash);
        if !image.eeprom.is_empty() {
            let mut contents = vec![0xff; profile.eeprom_bytes.into()];
            for segment in &image.eeprom {
                let first = segment.address as usize;
                contents[first..first + segment.bytes.len()].copy_from_slice(&segment.bytes);
            }
            self.set_eeprom(&contents)?;
        }
        self.reset(ResetCause::PowerOn, &mut ());
        self.machine.rest = Rest::Awake;
        Ok(())
    }

    /// The chip's description.
    pub fn profile(&self) -> &'static Profile {
        self.machine.profile
    }

    /// What was given to it.
    pub fn settings(&self) -> &Settings {
        &self.machine.settings
    }

    /// What the EEPROM holds. A byte that is being written still has its old value.
    pub fn eeprom(&self) -> &[u8] {
        self.machine.units.eeprom.contents()
    }

    /// Programs the EEPROM from its first byte on; the rest is erased.
    pub fn set_eeprom(&mut self, contents: &[u8]) -> Result<(), ImageError> {
        let profile = self.machine.profile;
        outside("EEPROM", 0, contents.len() as u64, profile.eeprom_bytes.into())?;
        self.machine.set_eeprom(contents);
        Ok(())
    }

    /// Connects the converter's pins to another input, which conversions that have not sampled yet will see.
    pub fn set_analog(&mut self, input: AnalogInput) {
        self.machine.set_analog(input);
    }

    /// The power fails now and comes back: a new chip at its cycle 0, with the flash of this one and its EEPROM,
    /// in which a byte that is being written is left half-way. `seed` decides how. Its analog input is the same
    /// function of its own cycles, so one that is a function of another time must be set anew.
    pub fn cut_power(&self, seed: u64) -> Chip {
        let machine = &self.machine;
        let mut chip = Chip {
            program: self.program.clone(),
            machine: Machine::new(machine.profile, machine.settings.clone()),
        };
        let contents = machine.units.eeprom.cut(machine.cycle, seed);
        chip.set_eeprom(&contents).expect("one EEPROM is as large as the other");
        chip
    }

    /// Whether the SPI shows each edge on its pins (the default), or only what comes of them. Without edges a
    /// byte costs one event instead of seventeen and every register reads the same.
    pub fn set_spi_edges(&mut self, shown: bool, observer: &mut impl Observer) {
        self.machine.set_spi_edges(shown, observer);
    }

    /// A character arrives at a USART; its start bit begins in cycle `starts`.
    ///
    /// # Panics
    /// If `starts` lies before the present cycle or before that of an earlier character.
    pub fn receive(&mut self, usart: u8, starts: Cycles, frame: usart::Frame) {
        assert!(starts >= self.machine.cycle, "a character cannot have started in the past");
        self.machine.receive(usart, starts, frame);
    }

    /// The cycle that begins now, counted from the chip's creation.
    pub fn cycle(&self) -> Cycles {
        self.machine.cycle
    }

    /// The byte address in flash of the next instruction.
    pub fn pc(&self) -> u32 {
        byte_address(self.machine.pc)
    }

    /// The stack pointer.
    pub fn sp(&self) -> u16 {
        self.machine.sp
    }

    /// SREG.
    pub fn sreg(&self) -> u8 {
        self.machine.status.sreg()
    }

    /// A register, 0 to 31.
    pub fn register(&self, number: u8) -> u8 {
        assert!(number < 32, "there is no r{number}");
        self.machine.data[usize::from(number)]
    }

    /// Sets a register, 0 to 31.
    pub fn set_register(&mut self, number: u8, value: u8) {
        assert!(number < 32, "there is no r{number}");
        self.machine.data[usize::from(number)] = value;
    }

    /// The flash.
    pub fn flash(&self) -> &[u8] {
        &self.program.flash
    }

    /// Data memory from address 0x100 to the end of the address space, external memory included.
    pub fn memory(&self, address: u16) -> Option<u8> {
        self.has_memory(address).then(|| self.machine.data[usize::from(address)])
    }

    /// Changes data memory. `false` when the chip has none at that address.
    pub fn set_memory(&mut self, address: u16, value: u8) -> bool {
        let has = self.has_memory(address);
        if has {
            self.machine.data[usize::from(address)] = value;
        }
        has
    }

    fn has_memory(&self, address: u16) -> bool {
        use super::profile::RAM_FIRST;
        let internal = address.wrapping_sub(RAM_FIRST) < self.machine.ram_bytes;
        internal || (address >= RAM_FIRST && self.machine.settings.external_memory)
    }

    /// Whether the core sleeps.
    pub fn is_asleep(&self) -> bool {
        matches!(self.machine.rest, Rest::Asleep { .. } | Rest::Starting { .. })
    }

    /// The mode in which the core sleeps.
    pub fn sleep_mode(&self) -> Option<SleepMode> {
        match self.machine.rest {
            Rest::Asleep { mode } | Rest::Starting { mode, .. } => Some(mode),
            _ => None,
        }
    }

    /// The earliest cycle at which the chip does something by itself: now when it is awake, `None` when it
    /// sleeps and only a pin or a reset can change that.
    pub fn next_wake(&self) -> Option<Cycles> {
        let machine = &self.machine;
        let at = match machine.rest {
            Rest::Awake => machine.cycle,
            Rest::Stalled { until } | Rest::Starting { until, .. } => until.min(machine.soonest),
            Rest::Asleep { mode }
                if machine.pending & machine.units.wakers(mode) != 0 && machine.status.i =>
            {
                machine.cycle
            }
            Rest::Asleep { .. } => machine.soonest,
        };
        (at != NEVER).then_some(at)
    }

    /// Cycles spent in a sleep mode since the chip's creation.
    pub fn asleep_cycles(&self, mode: SleepMode) -> Cycles {
        self.machine.asleep_cycles[mode as usize]
    }

    /// Cycles not spent asleep since the chip's creation.
    pub fn awake_cycles(&self) -> Cycles {
        self.machine.cycle - self.machine.asleep_cycles.iter().sum::<Cycles>()
    }

    /// The fault that stopped the chip.
    pub fn fault(&self) -> Option<Fault> {
        self.machine.fault
    }

    /// What a pin's output stage does.
    pub fn drive(&self, pin: Pin) -> Drive {
        self.machine.ports.drive(pin)
    }

    /// The level of a pin. One that nothing drives is low.
    pub fn level(&self, pin: Pin) -> bool {
        self.machine.ports.level(pin)
    }

    /// The world outside drives a pin from `cycle` on, or lets go of it (`None`). A cycle that lies ahead is
    /// kept until then. A cycle in the past is that of an instruction which the run's limit fell into: it is
    /// applied with its own cycle, but what the program has already read stays read. The observer is told what
    /// comes of it at once, such as an SPI slave's next bit.
    pub fn set_input(&mut self, pin: Pin, level: Option<bool>, cycle: Cycles, observer: &mut impl Observer) {
        self.machine.set_input(pin, level, cycle, observer);
    }

    /// Resets the chip now. Memories keep their contents, and so do flags of earlier resets.
    pub fn reset(&mut self, cause: ResetCause, observer: &mut impl Observer) {
        self.machine.reset(cause, observer);
    }

    /// Runs until the first instruction boundary at or behind `limit`.
    pub fn run_until(&mut self, limit: Cycles, observer: &mut impl Observer) -> Stop {
        self.run::<_, false>(limit, &Watch::new(), observer)
    }

    /// Runs like [`run_until`](Self::run_until), and stops earlier for what is watched.
    pub fn run_watched(&mut self, limit: Cycles, watch: &Watch, observer: &mut impl Observer) -> Stop {
        self.machine.drive_changed = false;
        self.run::<_, true>(limit, watch, observer)
    }

    fn run<O: Observer, const WATCHED: bool>(&mut self, limit: Cycles, watch: &Watch, o: &mut O) -> Stop {
        let machine = &mut self.machine;
        loop {
            machine.settle(machine.cycle, o);
            if machine.reset_wanted {
                machine.reset(ResetCause::Watchdog, o);
            }
            if let Some(fault) = machine.fault {
                return Stop::Fault(fault);
            }
            if std::mem::take(&mut machine.spm_wanted) {
                machine.self_program(&mut self.program, o);
                continue;
            }
            if let Some(mode) = machine.sleep_wanted.take() {
                machine.fall_asleep(mode, o);
            }
            if WATCHED && watch.drives && std::mem::take(&mut machine.drive_changed) {
                return Stop::Pin;
            }
            if machine.cycle >= limit {
                return Stop::Reached;
            }
            if machine.rest != Rest::Awake {
                if machine.pass_time(limit, o) {
                    return Stop::Halted;
                }
                continue;
            }
            if machine.takes_interrupt() {
                machine.enter_interrupt(o);
                continue;
            }
            machine.check_flash();
            if let Some(fault) = machine.fault {
                return Stop::Fault(fault);
            }
            // A pending interrupt that waits for one instruction lets exactly one run, and so does flash that must
            // not be executed everywhere.
            let waits = machine.pending != 0 && machine.status.i || machine.flash_blocked;
            machine.bound = if waits { machine.cycle + 1 } else { limit.min(machine.soonest) };
            if let Some(stop) = machine.execute::<O, WATCHED>(&self.program, watch, o) {
                return stop;
            }
        }
    }
}
