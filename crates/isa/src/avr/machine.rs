//! The state of a running chip, and everything of it that is not an instruction.
//!
//! Owns: registers and memory, the order of events (peripherals, levels from outside, interrupts, sleep), and
//! resets. Instructions are `exec`'s, the I/O space is `io`'s.
//!
//! Invariant: what happens depends on the cycles at which things happen, never on how a run is cut into calls.
//! Peripherals are settled in the order of their times before anybody looks at them.

use std::collections::VecDeque;

use super::chip::{ResetCause, Settings};
use super::eeprom::Eeprom;
use super::error::{Fault, FaultKind};
use super::exec::byte_address;
use super::io::ExternalMemory;
use super::observer::{Observer, SleepMode};
use super::peripheral::{Effect, Effects, NEVER, Peripheral, Pin};
use super::ports::{self, Ports};
use super::profile::{Io, Profile, RAM_FIRST};
use super::sleep::startup_cycles;
use super::status::Status;
use super::timing::{INTERRUPT_ENTRY_CYCLES, WAKE_UP_CYCLES};
use super::units::{Unit, Units};
use super::{adc, usart};
use crate::Cycles;

/// Bytes that a data-space address can reach.
pub(super) const DATA_BYTES: usize = 0x10000;

/// Why the core does not run instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// It does.
    Awake,
    /// It waits for memory, or for itself to wake up.
    Stalled { until: Cycles },
    /// It sleeps.
    Asleep { mode: SleepMode },
    /// It has been woken and waits for the oscillator.
    Starting { mode: SleepMode, until: Cycles },
}

/// Everything but the program.
#[derive(Clone)]
pub(super) struct Machine {
    pub(super) profile: &'static Profile,
    pub(super) settings: Settings,
    /// 32 registers, I/O registers that are plain bytes, SRAM, external memory.
    pub(super) data: Box<[u8; DATA_BYTES]>,
    pub(super) ram_bytes: u16,
    /// In words.
    pub(super) pc: u32,
    pub(super) sp: u16,
    pub(super) status: Status,
    pub(super) rampz: u8,
    pub(super) cycle: Cycles,
    /// The inner loop ends at the first instruction boundary that is not before this cycle.
    pub(super) bound: Cycles,
    /// When something other than an instruction happens next.
    pub(super) soonest: Cycles,
    /// Requested interrupt vectors.
    pub(super) pending: u64,
    /// The boundary at which no interrupt is taken, because I was set by the instruction before it.
    pub(super) no_entry_at: Cycles,
    pub(super) rest: Rest,
    pub(super) sleep_wanted: Option<SleepMode>,
    pub(super) spm_wanted: bool,
    pub(super) reset_wanted: bool,
    pub(super) fault: Option<Fault>,
    pub(super) fault_kind: Option<FaultKind>,
    pub(super) asleep_cycles: [Cycles; SleepMode::ALL.len()],
    pub(super) map: Box<[Io; RAM_FIRST as usize]>,
    pub(super) units: Units,
    pub(super) ports: Ports,
    pub(super) external_memory: ExternalMemory,
    pub(super) drive_changed: bool,
    /// Whether anybody looks at the SPI's edges.
    pub(super) spi_edges: bool,
    /// Whether the read-while-write section of the flash must not be read.
    pub(super) flash_blocked: bool,
    /// The last cycle in which LPM may mean a fuse or the signature instead of flash.
    pub(super) flash_special_until: Cycles,
    /// An instruction that a watched run stopped before, and that the next one executes.
    pub(super) permitted_at: Option<Cycles>,
    inputs: VecDeque<(Cycles, Pin, Option<bool>)>,
    effects: Effects,
}

impl Machine {
    pub(super) fn new(profile: &'static Profile, settings: Settings) -> Machine {
        let mut map = Box::new([Io::Reserved; RAM_FIRST as usize]);
        for register in profile.registers {
            map[usize::from(register.address)] = register.io;
        }
        let mut machine = Machine {
            profile,
            data: vec![0; DATA_BYTES].into_boxed_slice().try_into().expect("the length is that of the array"),
            ram_bytes: profile.ram_bytes,
            pc: 0,
            sp: 0,
            status: Status::RESET,
            rampz: 0,
            cycle: 0,
            bound: 0,
            soonest: NEVER,
            pending: 0,
            no_entry_at: NEVER,
            rest: Rest::Awake,
            sleep_wanted: None,
            spm_wanted: false,
            reset_wanted: false,
            fault: None,
            fault_kind: None,
            asleep_cycles: [0; SleepMode::ALL.len()],
            map,
            units: Units::new(profile, &settings),
            spi_edges: true,
            flash_special_until: 0,
            flash_blocked: false,
            ports: Ports::new(),
            external_memory: ExternalMemory::default(),
            drive_changed: false,
            permitted_at: None,
            inputs: VecDeque::new(),
            effects: Effects::new(),
            settings,
        };
        machine.reset(ResetCause::PowerOn, &mut ());
        machine.rest = Rest::Awake;
        machine
    }

    /// Resets the chip at the present cycle. Memory keeps its contents; the program begins after
    /// `reset_cycles`.
    pub(super) fn reset<O: Observer>(&mut self, cause: ResetCause, o: &mut O) {
        let flags_address =
            self.profile.registers.iter().find(|r| matches!(r.io, Io::ResetFlags { .. })).map(|r| r.address);
        let flags_address = usize::from(flags_address.expect("every chip has its reset flags"));
        let flags = if cause == ResetCause::PowerOn { 0 } else { self.data[flags_address] };
        for register in self.profile.registers {
            self.data[usize::from(register.address)] = register.reset;
        }
        self.data[flags_address] = flags | cause.flag();
        self.pc = 0;
        self.sp = self.profile.stack_reset;
        self.status = Status::RESET;
        self.rampz = 0;
        self.pending = 0;
        self.no_entry_at = NEVER;
        self.permitted_at = None;
        self.rest = Rest::Stalled { until: self.cycle + self.settings.reset_cycles };
        (self.sleep_wanted, self.spm_wanted, self.reset_wanted) = (None, false, false);
        (self.fault, self.fault_kind) = (None, None);
        self.external_memory = ExternalMemory::default();
        self.units.reset(self.profile, &self.settings, cause, self.cycle);
        (self.flash_special_until, self.flash_blocked) = (0, false);
        self.set_spi_edges(self.spi_edges, o);
        self.ports = self.ports.reset();
        for port in self.profile.ports {
            self.port_changed(ports::index(port.letter), self.cycle, o);
        }
        self.tell_levels(o);
        self.look_again();
    }

    /// Tells peripherals that have just been reset the levels of their pins.
    fn tell_levels<O: Observer>(&mut self, o: &mut O) {
        for port in self.profile.ports {
            for bit in 0..8 {
                let pin = Pin { port: port.letter, bit };
                self.tell_units(pin, self.ports.level(pin), self.cycle);
            }
        }
        self.apply_effects(o);
    }

    /// Something changed that may want attention: recomputes when the inner loop has to end.
    #[inline]
    pub(super) fn look_again(&mut self) {
        let inputs = self.inputs.front().map_or(NEVER, |input| input.0);
        self.soonest = self.units.next_due().min(inputs);
        self.pending = self.units.pending();
        self.bound = self.bound.min(self.soonest);
        if self.pending != 0 && self.status.i {
            self.bound = 0;
        }
    }

    /// Lets everything happen that is due up to `now`, in the order of its times.
    pub(super) fn settle<O: Observer>(&mut self, now: Cycles, o: &mut O) {
        while self.soonest <= now {
            let at = self.soonest;
            match self.inputs.front() {
                Some(&(cycle, pin, level)) if cycle <= at => {
                    self.inputs.pop_front();
                    self.input_changed(pin, level, at, o);
                }
                _ => {
                    let unit = self.units.next_unit();
                    self.units.advance(unit, at, &mut self.effects);
                    self.apply_effects(o);
                }
            }
            self.look_again();
        }
    }

    /// Queues a level from outside, or applies it at once when its time has come.
    pub(super) fn set_input<O: Observer>(&mut self, pin: Pin, level: Option<bool>, cycle: Cycles, o: &mut O) {
        if cycle <= self.cycle && self.inputs.front().is_none_or(|first| first.0 > cycle) {
            self.settle(cycle, o);
            self.input_changed(pin, level, cycle, o);
        } else {
            let behind = self.inputs.partition_point(|input| input.0 <= cycle);
            self.inputs.insert(behind, (cycle, pin, level));
        }
        self.look_again();
    }

    fn input_changed<O: Observer>(&mut self, pin: Pin, level: Option<bool>, at: Cycles, o: &mut O) {
        self.ports.set_outside(pin, level);
        self.port_changed(ports::index(pin.port), at, o);
        self.apply_effects(o);
    }

    /// Resolves a port and tells everybody who wants to know. Effects of that are left to be applied.
    pub(super) fn port_changed<O: Observer>(&mut self, index: usize, at: Cycles, o: &mut O) {
        let changes = self.ports.resolve(index, at);
        if changes.drives | changes.levels == 0 {
            return;
        }
        for bit in 0..8 {
            let pin = Pin { port: ports::letter(index), bit };
            if changes.drives >> bit & 1 != 0 {
                self.drive_changed = true;
                o.drive(at, pin, self.ports.drive(pin));
            }
            if changes.levels >> bit & 1 != 0 {
                let high = self.ports.level(pin);
                o.level(at, pin, high);
                self.tell_units(pin, high, at);
            }
        }
    }

    fn tell_units(&mut self, pin: Pin, high: bool, at: Cycles) {
        let mut listening = self.units.listening(pin);
        while listening != 0 {
            let unit = Unit::ALL[listening.trailing_zeros() as usize];
            listening &= listening - 1;
            self.units.pin(unit, pin, high, at, &mut self.effects);
        }
    }

    /// Carries out what peripherals did, in the order in which they did it.
    pub(super) fn apply_effects<O: Observer>(&mut self, o: &mut O) {
        let mut next = 0;
        while let Some(&(at, effect)) = self.effects.get(next) {
            next += 1;
            o.effect(at, &effect);
            match effect {
                Effect::Override { pin, drive } => {
                    self.ports.force_direction(pin, drive);
                    self.port_changed(ports::index(pin.port), at, o);
                }
                Effect::Value { pin, high } => {
                    self.ports.force_value(pin, high);
                    self.port_changed(ports::index(pin.port), at, o);
                }
                Effect::Stall(cycles) => {
                    // The access was in the last cycle of its instruction.
                    self.rest = Rest::Stalled { until: at + 1 + cycles };
                    self.bound = 0;
                }
                Effect::Reset => {
                    self.reset_wanted = true;
                    self.bound = 0;
                }
                // Only the source that triggers the ADC is asked to tell.
                Effect::Flag { .. } => {
                    if let Some(source) = self.units.adc.trigger_source() {
                        let trigger = |units: &mut Units, local, effects: &mut Effects| {
                            units.adc.trigger(source, local, effects);
                        };
                        self.units.with(Unit::Adc, at, &mut self.effects, trigger);
                    }
                }
                Effect::Sampled { .. } | Effect::Transmitted { .. } | Effect::EepromWritten { .. } => {}
            }
        }
        self.effects.clear();
    }

    /// Does something to a peripheral at `now`, after everything that is due before it.
    pub(super) fn with_unit<O: Observer, T>(
        &mut self,
        unit: Unit,
        now: Cycles,
        o: &mut O,
        act: impl FnOnce(&mut Units, Cycles, &mut Effects) -> T,
    ) -> T {
        if self.soonest <= now {
            self.settle(now, o);
        }
        let result = self.units.with(unit, now, &mut self.effects, act);
        if !self.effects.is_empty() {
            self.apply_effects(o);
        }
        self.look_again();
        result
    }

    /// Replaces the EEPROM's contents.
    pub(super) fn set_eeprom(&mut self, contents: &[u8]) {
        let eeprom = Eeprom::new(self.profile.eeprom, self.settings.clock_hz, contents);
        self.with_unit(Unit::Eeprom, self.cycle, &mut (), |units, _, _| units.eeprom = eeprom);
    }

    pub(super) fn set_analog(&mut self, input: adc::AnalogInput) {
        // A reset makes the converter anew from the settings.
        self.settings.analog = input.clone();
        self.units.adc.set_input(input);
    }

    /// A character for a USART.
    pub(super) fn receive(&mut self, usart: u8, starts: Cycles, frame: usart::Frame) {
        let unit = if usart == 0 { Unit::Usart0 } else { Unit::Usart1 };
        let lag = self.units.io_lag_cycles();
        self.with_unit(unit, self.cycle, &mut (), |units, _, _| {
            let to = if usart == 0 { Some(&mut units.usart0) } else { units.usart1.as_mut() };
            to.expect("the chip has that USART").receive(starts - lag, frame);
        });
    }

    /// Whether an interrupt is taken at this boundary.
    #[inline]
    pub(super) fn takes_interrupt(&self) -> bool {
        self.pending != 0 && self.status.i && self.cycle != self.no_entry_at
    }

    /// Leaves the program for the most urgent vector.
    pub(super) fn enter_interrupt<O: Observer>(&mut self, o: &mut O) {
        let vector = self.pending.trailing_zeros() as u8;
        o.interrupt(self.cycle, vector);
        self.units.acknowledge(vector, self.cycle, &mut self.effects);
        self.apply_effects(o);
        self.status.i = false;
        let end = self.cycle + INTERRUPT_ENTRY_CYCLES;
        let extra = self.push_pc(self.pc, end, o);
        if let Some(kind) = self.fault_kind.take() {
            self.fault = Some(Fault { address: byte_address(self.pc), kind });
        }
        self.pc = u32::from(vector) * 2;
        self.cycle = end + extra;
        self.look_again();
    }

    /// Falls asleep at this boundary.
    pub(super) fn fall_asleep<O: Observer>(&mut self, mode: SleepMode, o: &mut O) {
        o.sleep(self.cycle, mode);
        if mode == SleepMode::AdcNoiseReduction {
            self.start_conversion(o);
        }
        self.units.stop_clocks(mode, self.cycle, &mut self.effects);
        self.apply_effects(o);
        self.rest = Rest::Asleep { mode };
        self.look_again();
    }

    /// "If the ADC is enabled, a conversion starts automatically when this mode is entered."
    fn start_conversion<O: Observer>(&mut self, o: &mut O) {
        const ADEN: u8 = 1 << 7;
        const ADSC: u8 = 1 << 6;
        const ADIF: u8 = 1 << 4;
        self.with_unit(Unit::Adc, self.cycle, o, |units, local, effects| {
            let control = units.adc.read(adc::Register::AdcsrA, local);
            if control & ADEN != 0 {
                units.adc.write(adc::Register::AdcsrA, control & !ADIF | ADSC, local, effects);
            }
        });
    }

    /// Whether the SPI's edges are shown on its pins, or only what comes of them.
    pub(super) fn set_spi_edges<O: Observer>(&mut self, shown: bool, o: &mut O) {
        self.spi_edges = shown;
        self.with_unit(Unit::Spi, self.cycle, o, |units, local, effects| {
            units.spi.set_edges(shown, local, effects)
        });
    }

    /// Lets time pass up to `limit` for a core that does not run; `true` when nothing will ever happen.
    pub(super) fn pass_time<O: Observer>(&mut self, limit: Cycles, o: &mut O) -> bool {
        let next = limit.min(self.soonest);
        match self.rest {
            Rest::Awake => {}
            Rest::Stalled { until } => {
                self.cycle = self.cycle.max(until.min(next));
                if self.cycle >= until {
                    self.rest = Rest::Awake;
                }
            }
            Rest::Asleep { mode } => {
                if self.pending & self.units.wakers(mode) != 0 && self.status.i {
                    let cycles = startup_cycles(mode, self.settings.startup_cycles);
                    self.rest = Rest::Starting { mode, until: self.cycle + cycles };
                } else if self.soonest == NEVER {
                    if limit != NEVER {
                        self.sleep_until(limit, mode);
                    }
                    return true;
                } else {
                    self.sleep_until(next, mode);
                }
            }
            Rest::Starting { mode, until } => {
                self.sleep_until(until.min(next), mode);
                if self.cycle >= until {
                    self.units.start_clocks(until, &mut self.effects);
                    o.wake(until);
                    self.apply_effects(o);
                    self.rest = Rest::Stalled { until: until + WAKE_UP_CYCLES };
                    self.look_again();
                }
            }
        }
        false
    }

    fn sleep_until(&mut self, cycle: Cycles, mode: SleepMode) {
        self.asleep_cycles[mode as usize] += cycle - self.cycle;
        self.cycle = cycle;
    }

    /// Ends the inner loop with a fault of the instruction that is being executed.
    #[cold]
    pub(super) fn raise(&mut self, kind: FaultKind) {
        self.fault_kind.get_or_insert(kind);
        self.bound = 0;
    }
}
