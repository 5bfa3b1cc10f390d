//! What a chip consists of, as data.
//!
//! Owns: the shape of a chip's description ([`Profile`]), whose contents are a file per chip (`atmega128`,
//! `atmega328p`): memory sizes, one line per I/O register, interrupt vectors in order of priority, pins.
//! What the lines mean is the machine's business; peripherals do not know their addresses.

use super::adc::{self, AnalogInput};
use super::peripheral::Pin;
use super::timing::CoreType;
use super::units::Unit;
use super::{eeprom, external, spi, spm, timer, usart, watchdog};

/// First data-space address of the internal SRAM on both chips; below it are 32 registers and the I/O space.
pub const RAM_FIRST: u16 = 0x100;
/// Data-space address of I/O address 0.
pub const IO_FIRST: u16 = 0x20;

/// What is behind an I/O address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Io {
    /// Nothing: reserved.
    Reserved,
    /// A byte that keeps the bits of `mask` and has no effect that is modelled.
    Plain {
        /// The bits that exist.
        mask: u8,
    },
    /// A feature that the simulator lacks. Changing a bit outside `harmless` is a fault.
    Unmodelled {
        /// Bits that a program may set without asking for the missing feature; they are kept.
        harmless: u8,
    },
    /// Status register.
    Sreg,
    /// Stack pointer, low byte.
    StackLow,
    /// Stack pointer, high byte.
    StackHigh,
    /// Upper bits of flash addresses for ELPM and SPM.
    Rampz,
    /// ATmega128 MCUCR: external memory, sleep, vector select.
    McucrSleep,
    /// ATmega328P MCUCR: pull-up disable, vector select.
    McucrPullUps,
    /// ATmega328P SMCR: sleep.
    Smcr,
    /// Where the last resets came from (MCUCSR, MCUSR).
    ResetFlags {
        /// Bits that are no flags and keep what is written (JTD).
        kept: u8,
    },
    /// External memory sectors and wait states.
    Xmcra,
    /// External memory: how much of port C stays a port.
    Xmcrb,
    /// Output register of a port, by its letter.
    Port(u8),
    /// Direction register of a port.
    Direction(u8),
    /// Input register of a port.
    Input(u8),
    /// Interrupts from pins.
    External(external::Register),
    /// SPI.
    Spi(spi::Register),
    /// Timers.
    Timers(timer::Register),
    /// A USART, by its number.
    Usart(u8, usart::Register),
    /// Analog-to-digital converter.
    Adc(adc::Register),
    /// EEPROM.
    Eeprom(eeprom::Register),
    /// Watchdog control.
    Watchdog,
    /// Self-programming control.
    Spm,
}

/// One I/O register.
#[derive(Clone, Copy, Debug)]
pub struct Register {
    /// Data-space address.
    pub address: u16,
    /// The datasheet's name.
    pub name: &'static str,
    /// What it is.
    pub io: Io,
    /// Its value after reset.
    pub reset: u8,
}

/// A general-purpose port.
#[derive(Clone, Copy, Debug)]
pub struct Port {
    /// Its letter.
    pub letter: u8,
    /// The pins that the package has.
    pub pins: u8,
}

/// An interrupt vector.
#[derive(Clone, Copy, Debug)]
pub struct Vector {
    /// The datasheet's name, as avr-libc shortens it.
    pub name: &'static str,
    /// Who requests it: a peripheral, and the bit of its requests.
    pub source: Option<(Unit, u8)>,
}

impl Vector {
    /// A vector and who requests it.
    pub(super) const fn from(name: &'static str, unit: Unit, bit: u8) -> Vector {
        Vector { name, source: Some((unit, bit)) }
    }

    /// A vector that nothing here requests.
    pub(super) const fn unused(name: &'static str) -> Vector {
        Vector { name, source: None }
    }
}

/// A chip.
#[derive(Debug)]
pub struct Profile {
    /// The datasheet's name.
    pub name: &'static str,
    /// Whose cycles its instructions take.
    pub core: CoreType,
    /// avr-gcc's number of its architecture.
    pub architecture: u8,
    /// Numbers of the architectures whose instructions are a part of it.
    pub lesser_architectures: &'static [u8],
    /// Program memory in bytes.
    pub flash_bytes: u32,
    /// Internal SRAM in bytes, from [`RAM_FIRST`].
    pub ram_bytes: u16,
    /// EEPROM in bytes.
    pub eeprom_bytes: u16,
    /// Stack pointer after reset.
    pub stack_reset: u16,
    /// Whether it has ELPM and RAMPZ.
    pub rampz: bool,
    /// Whether it can have memory behind its pins.
    pub external_memory: bool,
    /// Whether SBI and CBI touch only their bit; else they write the whole byte back, flags included.
    pub single_bit_sbi: bool,
    /// Whether writing ones to PINx toggles PORTx.
    pub pin_write_toggles: bool,
    /// I/O registers.
    pub registers: &'static [Register],
    /// Interrupt vectors in order of priority, the reset first; each has two words of flash.
    pub vectors: &'static [Vector],
    /// Ports in alphabetic order.
    pub ports: &'static [Port],
    /// Which pins interrupt, and how.
    pub external: external::Config,
    /// The SPI's pins.
    pub spi: spi::Config,
    /// The timers.
    pub timers: timer::Model,
    /// Pins that clock a timer or capture its count.
    pub timer_inputs: &'static [Pin],
    /// The USARTs, at most two.
    pub usarts: &'static [usart::Config],
    /// The converter, by its supply and what is connected to it.
    pub adc: fn(f64, AnalogInput) -> adc::Config,
    /// The EEPROM.
    pub eeprom: eeprom::Model,
    /// The watchdog.
    pub watchdog: watchdog::Model,
    /// Self-programming, by the clock's frequency.
    pub spm: fn(u64) -> spm::Config,
}

impl Register {
    /// One line of a chip's register map.
    pub(super) const fn new(address: u16, name: &'static str, io: Io, reset: u8) -> Register {
        assert!(address >= IO_FIRST && address < RAM_FIRST);
        Register { address, name, io, reset }
    }
}

impl Profile {
    /// The register at a data-space address.
    pub fn register_at(&self, address: u16) -> Option<&'static Register> {
        self.registers.iter().find(|register| register.address == address)
    }

    /// The register of that name.
    pub fn register(&self, name: &str) -> Option<&'static Register> {
        self.registers.iter().find(|register| register.name == name)
    }

    /// The number of the interrupt vector of that name.
    pub fn vector(&self, name: &str) -> Option<u8> {
        self.vectors.iter().position(|vector| vector.name == name).map(|number| number as u8)
    }
}
