//! Waveforms: an observer that writes what it sees as a value change dump (IEEE 1364, section 18).
//!
//! Owns: which signals of a chip are drawn and the order of their changes. What peripherals do between two
//! instructions is told late by a few cycles, and a dump must not go back in time, so changes wait until nothing
//! older can come. The format itself is the crate `vcd`'s.

use std::collections::VecDeque;
use std::io;

use vcd::{IdCode, TimescaleUnit, Value, Writer};

use super::chip::Chip;
use super::observer::{Observer, SleepMode};
use super::peripheral::{Drive, Pin};
use crate::Cycles;

/// How far back in time a change can be told: behind the longest instruction with its wait states, and behind a
/// level that a bus simulator applies late.
const LATE_CYCLES_MAX: Cycles = 64;
/// Changes held back before they are looked through without a fetch; more come in [`LATE_CYCLES_MAX`] only from
/// many pins at once.
const WAITING_MAX: usize = 1024;
const PICOSECONDS_PER_SECOND: u64 = 1_000_000_000_000;

/// Something to draw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signal {
    /// A pin: its level as `PB0`, and what the chip drives it to as `PB0_out` (z when it does not).
    Pin(Pin),
    /// A byte of data space, as the program stores it.
    Byte {
        /// The name in the waveform.
        name: String,
        /// Its data-space address.
        address: u16,
    },
    /// The byte address of the instruction that runs.
    ProgramCounter,
    /// Whether the core sleeps.
    Asleep,
    /// The number of the interrupt vector that was entered last.
    Vector,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Scalar(IdCode, u8),
    Word(IdCode, u32, u8),
}

/// Writes a waveform of one chip. [`Vcd::finish`] must be called in the end.
pub struct Vcd<W: io::Write> {
    writer: Writer<W>,
    picoseconds: Box<dyn Fn(Cycles) -> u64 + Send>,
    /// Per port letter and bit: level, output.
    pins: Vec<(Pin, IdCode, IdCode)>,
    bytes: Vec<(u32, IdCode)>,
    program_counter: Option<IdCode>,
    asleep: Option<IdCode>,
    vector: Option<IdCode>,
    /// By cycle; changes of one cycle in the order in which they were told.
    waiting: VecDeque<(Cycles, Change)>,
    written_to: Option<Cycles>,
    error: Option<io::Error>,
}

/// Bits of the wider signals.
const ADDRESS_BITS: u8 = 18;
const BYTE_BITS: u8 = 8;

impl<W: io::Write> Vcd<W> {
    /// Begins a waveform with the chip's present state. Times are picoseconds at the chip's nominal clock.
    pub fn new(out: W, chip: &Chip, signals: &[Signal]) -> io::Result<Vcd<W>> {
        let scope = chip.profile().name.to_ascii_lowercase();
        Vcd::in_time(out, chip, signals, &scope, nominal(chip.settings().clock_hz))
    }

    /// As [`Vcd::new`], in the scope `scope` and with a cycle at the time that `picoseconds` gives it, which must not
    /// go back.
    pub fn in_time(
        out: W,
        chip: &Chip,
        signals: &[Signal],
        scope: &str,
        picoseconds: impl Fn(Cycles) -> u64 + Send + 'static,
    ) -> io::Result<Vcd<W>> {
        let mut writer = Writer::new(out);
        writer.timescale(1, TimescaleUnit::PS)?;
        writer.add_module(scope)?;
        let mut vcd = Vcd {
            writer,
            picoseconds: Box::new(picoseconds),
            pins: Vec::new(),
            bytes: Vec::new(),
            program_counter: None,
            asleep: None,
            vector: None,
            waiting: VecDeque::new(),
            written_to: None,
            error: None,
        };
        for signal in signals {
            vcd.declare(signal)?;
        }
        vcd.writer.upscope()?;
        vcd.writer.enddefinitions()?;
        vcd.begin(chip);
        Ok(vcd)
    }

    fn declare(&mut self, signal: &Signal) -> io::Result<()> {
        match signal {
            Signal::Pin(pin) => {
                let name = format!("P{}{}", char::from(pin.port), pin.bit);
                let level = self.writer.add_wire(1, &name)?;
                let output = self.writer.add_wire(1, &format!("{name}_out"))?;
                self.pins.push((*pin, level, output));
            }
            Signal::Byte { name, address } => {
                self.bytes.push((u32::from(*address), self.writer.add_wire(u32::from(BYTE_BITS), name)?));
            }
            Signal::ProgramCounter => {
                self.program_counter = Some(self.writer.add_wire(u32::from(ADDRESS_BITS), "pc")?);
            }
            Signal::Asleep => self.asleep = Some(self.writer.add_wire(1, "asleep")?),
            Signal::Vector => self.vector = Some(self.writer.add_wire(u32::from(BYTE_BITS), "vector")?),
        }
        Ok(())
    }

    /// The state before the first change.
    fn begin(&mut self, chip: &Chip) {
        let now = chip.cycle();
        for (pin, level, output) in self.pins.clone() {
            self.wait(now, Change::Scalar(level, u8::from(chip.level(pin))));
            self.wait(now, Change::Scalar(output, scalar_of(chip.drive(pin))));
        }
        for (address, id) in self.bytes.clone() {
            if let Some(value) = chip.memory(address as u16) {
                self.wait(now, Change::Word(id, value.into(), BYTE_BITS));
            }
        }
        if let Some(id) = self.asleep {
            self.wait(now, Change::Scalar(id, u8::from(chip.is_asleep())));
        }
    }

    fn wait(&mut self, cycle: Cycles, change: Change) {
        // Late ones are rare and late by little: the place is found from behind.
        let later = self.waiting.iter().rev().take_while(|(at, _)| *at > cycle).count();
        self.waiting.insert(self.waiting.len() - later, (cycle, change));
        // Pins can change for long while the core sleeps and fetches nothing.
        if self.waiting.len() > WAITING_MAX {
            self.write_before(cycle.saturating_sub(LATE_CYCLES_MAX));
        }
    }

    /// Writes everything that nothing older can come before any more.
    fn write_before(&mut self, cycle: Cycles) {
        while let Some(&(at, change)) = self.waiting.front()
            && at < cycle
        {
            self.waiting.pop_front();
            if self.error.is_none()
                && let Err(error) = self.write(at, change)
            {
                self.error = Some(error);
            }
        }
    }

    fn write(&mut self, at: Cycles, change: Change) -> io::Result<()> {
        // One that comes even later than it can is drawn at the latest time that was.
        let at = self.written_to.map_or(at, |written| written.max(at));
        if self.written_to != Some(at) {
            self.written_to = Some(at);
            self.writer.timestamp((self.picoseconds)(at))?;
        }
        match change {
            Change::Scalar(id, value) => self.writer.change_scalar(id, scalar(value)),
            Change::Word(id, word, bits) => {
                let digits = (0..bits).rev().map(|bit| Value::from(word >> bit & 1 != 0));
                self.writer.change_vector(id, digits)
            }
        }
    }

    /// Writes what still waits, and says whether everything could be written.
    pub fn finish(mut self) -> io::Result<()> {
        self.write_before(Cycles::MAX);
        match self.error {
            Some(error) => Err(error),
            None => self.writer.flush(),
        }
    }
}

/// The time of a cycle at `clock_hz`. A period of most clocks is a whole number of picoseconds, and a long division
/// takes its time.
fn nominal(clock_hz: u64) -> impl Fn(Cycles) -> u64 + Send + 'static {
    let period_ps =
        PICOSECONDS_PER_SECOND.is_multiple_of(clock_hz).then(|| PICOSECONDS_PER_SECOND / clock_hz);
    move |at| match period_ps {
        Some(period_ps) => at * period_ps,
        None => (u128::from(at) * u128::from(PICOSECONDS_PER_SECOND) / u128::from(clock_hz)) as u64,
    }
}

/// What a pin is driven to: 0, 1, or 2 for not at all.
fn scalar_of(drive: Drive) -> u8 {
    match drive {
        Drive::Low => 0,
        Drive::High => 1,
        Drive::PullUp | Drive::Floating => 2,
    }
}

fn scalar(value: u8) -> Value {
    match value {
        0 => Value::V0,
        1 => Value::V1,
        _ => Value::Z,
    }
}

impl<W: io::Write> crate::Observer for Vcd<W> {
    fn fetch(&mut self, cycle: Cycles, address: u32) {
        if let Some(id) = self.program_counter {
            self.wait(cycle, Change::Word(id, address, ADDRESS_BITS));
        }
        self.write_before(cycle.saturating_sub(LATE_CYCLES_MAX));
    }

    fn store(&mut self, cycle: Cycles, address: u32, value: u8) {
        if let Some(&(_, id)) = self.bytes.iter().find(|byte| byte.0 == address) {
            self.wait(cycle, Change::Word(id, value.into(), BYTE_BITS));
        }
    }
}

impl<W: io::Write> Observer for Vcd<W> {
    fn interrupt(&mut self, cycle: Cycles, vector: u8) {
        if let Some(id) = self.vector {
            self.wait(cycle, Change::Word(id, vector.into(), BYTE_BITS));
        }
    }

    fn drive(&mut self, cycle: Cycles, pin: Pin, drive: Drive) {
        if let Some(&(_, _, id)) = self.pins.iter().find(|known| known.0 == pin) {
            self.wait(cycle, Change::Scalar(id, scalar_of(drive)));
        }
    }

    fn level(&mut self, cycle: Cycles, pin: Pin, high: bool) {
        if let Some(&(_, id, _)) = self.pins.iter().find(|known| known.0 == pin) {
            self.wait(cycle, Change::Scalar(id, u8::from(high)));
        }
    }

    fn sleep(&mut self, cycle: Cycles, _mode: SleepMode) {
        if let Some(id) = self.asleep {
            self.wait(cycle, Change::Scalar(id, 1));
        }
    }

    fn wake(&mut self, cycle: Cycles) {
        if let Some(id) = self.asleep {
            self.wait(cycle, Change::Scalar(id, 0));
        }
    }
}
