//! The data space beyond SRAM: registers, I/O registers, external memory.
//!
//! Owns: what reading and writing an I/O address does. Addresses are those of the data space; IN and OUT come
//! here with 0x20 added. The inner loop comes here only for what is not internal SRAM.

use super::chip::ResetCause;
use super::error::FaultKind;
use super::machine::Machine;
use super::observer::{Observer, SleepMode};
use super::peripheral::Peripheral;
use super::ports;
use super::profile::{Io, RAM_FIRST};
use super::status::Status;
use super::timing::{EXTERNAL_BYTE_CYCLES, EXTERNAL_STACK_CYCLES};
use super::units::Unit;
use super::{eeprom, external, spm, timer, watchdog};
use crate::Cycles;

const MCUCR_SRE: u8 = 1 << 7;
const MCUCR_SRW10: u8 = 1 << 6;
const MCUCR_SE: u8 = 1 << 5;
const MCUCR_PUD: u8 = 1 << 4;
const IVSEL: u8 = 1 << 1;
const SMCR_SE: u8 = 1;
/// PUD in SFIOR of the ATmega128.
const SFIOR_PUD: u8 = 1 << 2;
/// From a write to SPMCSR to the LPM that reads a fuse, a lock bit or the signature.
const FLASH_SPECIAL_CYCLES: Cycles = 3;

/// External memory as XMCRA, XMCRB and MCUCR of the ATmega128 set it up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ExternalMemory {
    enabled: bool,
    /// First address of the upper sector.
    upper_first: u32,
    /// SRW bits of the lower and upper sector.
    wait: [u8; 2],
    /// Upper address bits that stay port C pins.
    released: u8,
}

impl ExternalMemory {
    /// The SRW bits of an address's sector.
    fn wait_of(&self, address: u16) -> usize {
        usize::from(self.wait[usize::from(u32::from(address) >= self.upper_first)])
    }
}

impl Machine {
    /// Reads what is not internal SRAM; also the extra cycles that it takes. `now` is the access's cycle
    /// without them.
    #[cold]
    #[inline(never)]
    pub(super) fn load_slow<O: Observer>(&mut self, address: u16, now: Cycles, o: &mut O) -> (u8, Cycles) {
        let (value, extra) = match address {
            0..0x20 => (self.data[usize::from(address)], 0),
            0x20..RAM_FIRST => (self.io_read(address, now, o), 0),
            _ => match self.external_address(address) {
                Some((at, extra)) => (self.data[at], extra),
                None => (0, 0),
            },
        };
        o.load(now + extra, address.into(), value);
        (value, extra)
    }

    /// Writes what is not internal SRAM; the extra cycles that it takes.
    #[cold]
    #[inline(never)]
    pub(super) fn store_slow<O: Observer>(
        &mut self,
        address: u16,
        value: u8,
        now: Cycles,
        o: &mut O,
    ) -> Cycles {
        let mut extra = 0;
        match address {
            0..0x20 => self.data[usize::from(address)] = value,
            0x20..RAM_FIRST => {
                o.store(now, address.into(), value);
                self.io_write(address, value, now, o);
                return 0;
            }
            _ => {
                if let Some((at, cycles)) = self.external_address(address) {
                    (self.data[at], extra) = (value, cycles);
                }
            }
        }
        o.store(now + extra, address.into(), value);
        extra
    }

    /// Where external memory keeps an address, and the extra cycles of one byte.
    fn external_address(&mut self, address: u16) -> Option<(usize, Cycles)> {
        let memory = self.external_memory;
        if !memory.enabled || !self.settings.external_memory {
            self.raise(FaultKind::NoMemory { address });
            return None;
        }
        // Released pins put out port C instead of the address.
        let port_c = u16::from(self.ports.port(ports::index(b'C')));
        let released = u16::from(memory.released) << 8;
        let at = address & !released | port_c << 8 & released;
        Some((usize::from(at), EXTERNAL_BYTE_CYCLES[memory.wait_of(address)]))
    }

    /// Pushes a return address; `end` is the cycle after the instruction. The extra cycles that it takes.
    pub(super) fn push_pc<O: Observer>(&mut self, pc: u32, end: Cycles, o: &mut O) -> Cycles {
        let [low, high, ..] = pc.to_le_bytes();
        let first = self.sp;
        let extra = self.push(low, end - 2, o) + self.push(high, end - 1, o);
        self.stack_cycles(first, extra)
    }

    /// Pops a return address; also the extra cycles that it takes.
    pub(super) fn pop_pc<O: Observer>(&mut self, end: Cycles, o: &mut O) -> (u32, Cycles) {
        let first = self.sp.wrapping_add(1);
        let (high, extra_high) = self.pop(end - 2, o);
        let (low, extra_low) = self.pop(end - 1, o);
        let extra = self.stack_cycles(first, extra_high + extra_low);
        (u32::from(high) << 8 | u32::from(low), extra)
    }

    /// Two bytes in a row cost less than twice one, by the datasheet's own numbers.
    #[inline(always)]
    fn stack_cycles(&self, address: u16, extra: Cycles) -> Cycles {
        if extra == 0 { 0 } else { EXTERNAL_STACK_CYCLES[self.external_memory.wait_of(address)] }
    }

    #[inline(always)]
    pub(super) fn push<O: Observer>(&mut self, value: u8, now: Cycles, o: &mut O) -> Cycles {
        if self.sp < RAM_FIRST {
            self.raise(FaultKind::StackInRegisters { pointer: self.sp });
            return 0;
        }
        let extra = self.store(self.sp, value, now, o);
        self.sp = self.sp.wrapping_sub(1);
        extra
    }

    #[inline(always)]
    pub(super) fn pop<O: Observer>(&mut self, now: Cycles, o: &mut O) -> (u8, Cycles) {
        let address = self.sp.wrapping_add(1);
        if address < RAM_FIRST {
            self.raise(FaultKind::StackInRegisters { pointer: self.sp });
            return (0, 0);
        }
        self.sp = address;
        self.load(address, now, o)
    }

    /// Reads an I/O register in cycle `now`, with the side effects of reading it.
    pub(super) fn io_read<O: Observer>(&mut self, address: u16, now: Cycles, o: &mut O) -> u8 {
        match self.map[usize::from(address)] {
            Io::Reserved => {
                self.raise(FaultKind::NoMemory { address });
                0
            }
            Io::Plain { .. }
            | Io::Unmodelled { .. }
            | Io::McucrSleep
            | Io::McucrPullUps
            | Io::Smcr
            | Io::ResetFlags { .. }
            | Io::Xmcra
            | Io::Xmcrb => self.data[usize::from(address)],
            Io::Sreg => self.status.sreg(),
            Io::StackLow => self.sp as u8,
            Io::StackHigh => (self.sp >> 8) as u8,
            Io::Rampz => self.rampz,
            Io::Port(letter) => self.ports.port(ports::index(letter)),
            Io::Direction(letter) => self.ports.direction(ports::index(letter)),
            Io::Input(letter) => {
                if self.soonest <= now {
                    self.settle(now, o);
                }
                self.ports.input(ports::index(letter), now)
            }
            Io::Spi(register) => match self.units.peek_spi(register, now) {
                Some(value) if now < self.soonest => value,
                _ => self.read_unit(Io::Spi(register), now, o),
            },
            Io::External(_)
            | Io::Timers(_)
            | Io::Usart(..)
            | Io::Adc(_)
            | Io::Eeprom(_)
            | Io::Watchdog
            | Io::Spm => self.read_unit(self.map[usize::from(address)], now, o),
        }
    }

    /// Reads a peripheral's register.
    fn read_unit<O: Observer>(&mut self, io: Io, now: Cycles, o: &mut O) -> u8 {
        macro_rules! read {
            ($unit:ident, $field:ident, $register:expr) => {
                self.with_unit(Unit::$unit, now, o, |units, local, _| units.$field.read($register, local))
            };
        }
        match io {
            Io::External(register) => read!(External, external, register),
            Io::Spi(register) => read!(Spi, spi, register),
            Io::Timers(register) => read!(Timers, timers, register),
            Io::Usart(0, register) => read!(Usart0, usart0, register),
            Io::Usart(_, register) => read!(Usart1, usart1, register),
            Io::Adc(register) => read!(Adc, adc, register),
            Io::Eeprom(register) => read!(Eeprom, eeprom, register),
            Io::Watchdog => read!(Watchdog, watchdog, watchdog::Register::Wdtcr),
            Io::Spm => read!(Spm, spm, spm::Register::Spmcsr),
            _ => unreachable!("{io:?} is no peripheral's register"),
        }
    }

    pub(super) fn eeprom_is_programmed<O: Observer>(&mut self, now: Cycles, o: &mut O) -> bool {
        self.with_unit(Unit::Eeprom, now, o, |units, _, _| units.eeprom.is_programming())
    }

    /// Writes a peripheral's register.
    fn write_unit<O: Observer>(&mut self, io: Io, value: u8, now: Cycles, o: &mut O) {
        macro_rules! write {
            ($unit:ident, $field:ident, $register:expr) => {
                self.with_unit(Unit::$unit, now, o, |units, local, effects| {
                    units.$field.write($register, value, local, effects)
                })
            };
        }
        match io {
            Io::External(register) => write!(External, external, register),
            Io::Spi(register) => write!(Spi, spi, register),
            Io::Timers(register) => {
                write!(Timers, timers, register);
                if register == timer::Register::Sfior {
                    self.set_pull_ups(value & SFIOR_PUD == 0, now, o);
                }
            }
            Io::Usart(0, register) => write!(Usart0, usart0, register),
            Io::Usart(_, register) => write!(Usart1, usart1, register),
            Io::Adc(register) => {
                write!(Adc, adc, register);
                self.units.watch_trigger();
                self.look_again();
            }
            Io::Eeprom(register) => {
                // "The EEPROM can not be programmed during a CPU write to the Flash memory."
                let starts = register == eeprom::Register::Eecr && value & eeprom::EEPE != 0;
                let is_held =
                    starts && self.with_unit(Unit::Spm, now, o, |units, _, _| units.spm.is_programming());
                let value = if is_held { value & !eeprom::EEPE } else { value };
                self.with_unit(Unit::Eeprom, now, o, |units, local, effects| {
                    units.eeprom.write(register, value, local, effects)
                });
            }
            Io::Watchdog => write!(Watchdog, watchdog, watchdog::Register::Wdtcr),
            // "EEPROM Write Prevents Writing to SPMCSR."
            Io::Spm if self.eeprom_is_programmed(now, o) => {}
            Io::Spm => {
                write!(Spm, spm, spm::Register::Spmcsr);
                // LPM behind this write, and it alone, has to ask.
                self.flash_special_until = now + FLASH_SPECIAL_CYCLES;
            }
            _ => unreachable!("{io:?} is no peripheral's register"),
        }
    }

    /// Writes an I/O register in cycle `now`.
    pub(super) fn io_write<O: Observer>(&mut self, address: u16, value: u8, now: Cycles, o: &mut O) {
        let plain = usize::from(address);
        match self.map[plain] {
            Io::Reserved => self.raise(FaultKind::NoMemory { address }),
            Io::Plain { mask } => self.data[plain] = value & mask,
            Io::Unmodelled { harmless } => {
                if (value ^ self.data[plain]) & !harmless != 0 {
                    self.unmodelled(address, value);
                } else {
                    self.data[plain] = value;
                }
            }
            Io::Sreg => self.write_sreg(value, now),
            Io::StackLow => self.sp = self.sp & 0xff00 | u16::from(value),
            Io::StackHigh => self.sp = self.sp & 0x00ff | u16::from(value) << 8,
            Io::Rampz => self.rampz = value & 1,
            Io::McucrSleep | Io::McucrPullUps if value & IVSEL != 0 => self.unmodelled(address, value),
            Io::McucrSleep | Io::Xmcra | Io::Xmcrb => {
                self.data[plain] = value;
                self.set_up_external_memory();
            }
            Io::McucrPullUps => {
                self.data[plain] = value;
                self.set_pull_ups(value & MCUCR_PUD == 0, now, o);
            }
            Io::Smcr => self.data[plain] = value & 0x0f,
            // "reset by writing a logic zero to the flag"; ones leave a flag as it is.
            Io::ResetFlags { kept } => {
                self.data[plain] = self.data[plain] & value & !kept | value & kept;
                if value & ResetCause::Watchdog.flag() == 0 {
                    self.with_unit(Unit::Watchdog, now, o, |units, _, _| units.watchdog.clear_reset_flag());
                }
            }
            Io::Port(letter) => self.write_port(ports::index(letter), value, now, o),
            Io::Direction(letter) => {
                let index = ports::index(letter);
                self.before_pins(now, o);
                self.ports.set_direction(index, value & self.pins_of(letter));
                self.after_pins(index, now, o);
                self.tell_ss_direction(letter, value, now, o);
            }
            Io::Input(letter) => {
                if self.profile.pin_write_toggles {
                    let index = ports::index(letter);
                    self.write_port(index, self.ports.port(index) ^ value, now, o);
                }
            }
            Io::External(_)
            | Io::Spi(_)
            | Io::Timers(_)
            | Io::Usart(..)
            | Io::Adc(_)
            | Io::Eeprom(_)
            | Io::Watchdog
            | Io::Spm => self.write_unit(self.map[plain], value, now, o),
        }
    }

    /// SBI and CBI: one bit of an I/O register. Where the chip writes the whole byte back, flags that are
    /// cleared by ones are cleared with it.
    pub(super) fn io_write_bit<O: Observer>(
        &mut self,
        address: u16,
        mask: u8,
        set: bool,
        now: Cycles,
        o: &mut O,
    ) {
        let alone = self.profile.single_bit_sbi && self.map[usize::from(address)].is_written_by_ones();
        let mut value = 0;
        if !alone {
            value = self.io_read(address, now, o);
            o.load(now, address.into(), value);
        }
        let value = if set { value | mask } else { value & !mask };
        o.store(now, address.into(), value);
        self.io_write(address, value, now, o);
    }

    fn unmodelled(&mut self, address: u16, value: u8) {
        let register = self.profile.register_at(address).map_or("a register", |register| register.name);
        self.raise(FaultKind::Unmodelled { register, value });
    }

    fn write_sreg(&mut self, value: u8, now: Cycles) {
        let enabled_before = self.status.i;
        self.status = Status::from_sreg(value);
        if !enabled_before {
            self.interrupts_enabled(now + 1);
        }
    }

    /// I was set by the instruction that ends at `end`: the next one runs before any interrupt.
    pub(super) fn interrupts_enabled(&mut self, end: Cycles) {
        if self.status.i {
            self.no_entry_at = end;
            if self.pending != 0 {
                self.bound = 0;
            }
        }
    }

    /// Pins that the package has.
    fn pins_of(&self, letter: u8) -> u8 {
        self.profile.ports.iter().find(|port| port.letter == letter).map_or(0, |port| port.pins)
    }

    fn write_port<O: Observer>(&mut self, index: usize, value: u8, now: Cycles, o: &mut O) {
        self.before_pins(now, o);
        self.ports.set_port(index, value & self.pins_of(ports::letter(index)));
        self.after_pins(index, now, o);
    }

    /// Peripherals are brought up to the change before the pins change.
    fn before_pins<O: Observer>(&mut self, now: Cycles, o: &mut O) {
        if self.soonest <= now {
            self.settle(now, o);
        }
    }

    fn after_pins<O: Observer>(&mut self, index: usize, now: Cycles, o: &mut O) {
        self.port_changed(index, now, o);
        self.apply_effects(o);
        self.look_again();
    }

    /// A master SPI yields to a low SS only while SS is an input.
    fn tell_ss_direction<O: Observer>(&mut self, letter: u8, direction: u8, now: Cycles, o: &mut O) {
        let ss = self.profile.spi.ss;
        if ss.port == letter {
            let output = direction >> ss.bit & 1 != 0;
            self.with_unit(Unit::Spi, now, o, |units, local, effects| {
                units.spi.set_ss_output(output, local, effects);
            });
        }
    }

    fn set_pull_ups<O: Observer>(&mut self, on: bool, now: Cycles, o: &mut O) {
        self.before_pins(now, o);
        self.ports.pull_ups_off = !on;
        for port in self.profile.ports {
            self.port_changed(ports::index(port.letter), now, o);
        }
        self.apply_effects(o);
        self.look_again();
    }

    /// The plain register that is `io`.
    fn plain(&self, io: Io) -> Option<u8> {
        let register = self.profile.registers.iter().find(|register| register.io == io)?;
        Some(self.data[usize::from(register.address)])
    }

    /// Reads MCUCR, XMCRA and XMCRB anew (ATmega128 datasheet, "External Memory Interface").
    fn set_up_external_memory(&mut self) {
        let [mcucr, xmcra, xmcrb] =
            [Io::McucrSleep, Io::Xmcra, Io::Xmcrb].map(|io| self.plain(io).unwrap_or(0));
        let sectors = xmcra >> 4 & 7;
        self.external_memory = ExternalMemory {
            enabled: mcucr & MCUCR_SRE != 0,
            // SRL = 0: the upper sector is everything.
            upper_first: u32::from(sectors) * 0x2000,
            wait: [xmcra >> 2 & 3, xmcra & 2 | u8::from(mcucr & MCUCR_SRW10 != 0)],
            // XMM: 0 keeps all eight address bits, n releases the n upper ones, 7 all of them.
            released: match xmcrb & 7 {
                7 => 0xff,
                bits => !(0xff_u16 >> bits) as u8,
            },
        };
    }

    /// SLEEP: what the sleep control register says now.
    pub(super) fn sleep_instruction(&mut self) {
        let (enabled, bits) = if let Some(smcr) = self.plain(Io::Smcr) {
            (smcr & SMCR_SE != 0, smcr >> 1 & 7)
        } else {
            // MCUCR of the ATmega128 has SM2 below SM1 and SM0.
            let mcucr = self.plain(Io::McucrSleep).unwrap_or(0);
            (mcucr & MCUCR_SE != 0, mcucr >> 3 & 3 | mcucr & 4)
        };
        if !enabled {
            return;
        }
        match SleepMode::from_bits(bits) {
            Some(mode) => {
                self.sleep_wanted = Some(mode);
                self.bound = 0;
            }
            None => self.raise(FaultKind::ReservedSleepMode { bits }),
        }
    }
}

impl Io {
    /// Whether writing ones does something to single bits and zeros do nothing.
    fn is_written_by_ones(self) -> bool {
        matches!(
            self,
            Io::Input(_)
                | Io::External(external::Register::Eifr | external::Register::Pcifr)
                | Io::Timers(timer::Register::TifrOf(_))
        )
    }
}
