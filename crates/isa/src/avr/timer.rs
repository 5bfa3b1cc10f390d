//! The timer/counters of a chip, with their shared prescalers and interrupt registers.
//!
//! Owns every timer register of the ATmega128 (timers 0 to 3, ASSR, SFIOR, TIMSK, ETIMSK, TIFR, ETIFR) and of
//! the ATmega328P (timers 0 to 2, ASSR, GTCCR, TIMSKn, TIFRn). All counters are one peripheral because they
//! share registers and prescalers. Sources: the timer chapters of both datasheets, named where a rule is.
//! Left out: the output compare modulator (timers 1C and 2 of the ATmega128 share PB7: the last change wins),
//! the analog comparator as a capture source, the timer cycle and three processor cycles by which the flags
//! of an asynchronous timer are late.
//!
//! Invariant: a register written in cycle `c` takes effect at `c + 1`, after the tick that falls there. So a
//! count written in `c` reads back in `c + 1` and has moved one tick of the undivided clock in `c + 2`.
//! Interrupt masks, and clearing a flag, act at once; a flag that rises as it is cleared stays set.

mod clock;
mod counter;
mod input;
mod mode;

pub use counter::{CAPTURE, COMPARE_A, OVERFLOW};

use super::peripheral::{Effects, NEVER, Peripheral, Pin};
use crate::Cycles;
use clock::{Clocks, Prescaler};
use counter::{Counter, Time};
use mode::{Kind, SOURCES_WITH_CRYSTAL, SOURCES_WITH_PIN};

/// A compare unit of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Unit A, or the only one of an ATmega128's 8-bit timer.
    A,
    /// Unit B.
    B,
    /// Unit C (ATmega128, 16-bit timers).
    C,
}

/// The timers' registers; the number is the timer's. A register that the chip does not have is a bug of the
/// profile and panics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Register {
    /// TCCRn, the only control register of an ATmega128's 8-bit timer.
    Tccr(u8),
    /// TCCRnA.
    TccrA(u8),
    /// TCCRnB.
    TccrB(u8),
    /// TCCRnC.
    TccrC(u8),
    /// TCNTn of an 8-bit timer.
    Tcnt(u8),
    /// TCNTnL of a 16-bit timer.
    TcntL(u8),
    /// TCNTnH.
    TcntH(u8),
    /// OCRnx of an 8-bit timer.
    Ocr(u8, Channel),
    /// OCRnxL of a 16-bit timer.
    OcrL(u8, Channel),
    /// OCRnxH.
    OcrH(u8, Channel),
    /// ICRnL.
    IcrL(u8),
    /// ICRnH.
    IcrH(u8),
    /// TIMSK (ATmega128).
    Timsk,
    /// ETIMSK (ATmega128).
    Etimsk,
    /// TIFR (ATmega128).
    Tifr,
    /// ETIFR (ATmega128).
    Etifr,
    /// TIMSKn (ATmega328P).
    TimskOf(u8),
    /// TIFRn (ATmega328P).
    TifrOf(u8),
    /// ASSR.
    Assr,
    /// SFIOR (ATmega128). Its bits PUD and ACME are kept here and mean nothing to the timers.
    Sfior,
    /// GTCCR (ATmega328P).
    Gtccr,
}

/// Which chip's timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// Timers 0 (asynchronous), 1, 2 and 3.
    Atmega128,
    /// Timers 0, 1 and 2 (asynchronous).
    Atmega328p,
}

/// A chip's timers and the clocks they see.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// The chip.
    pub model: Model,
    /// Nominal frequency of the processor's clock.
    pub cpu_hz: u64,
    /// Frequency of the crystal on TOSC1 and TOSC2, usually 32768.
    pub crystal_hz: u64,
}

/// The request bit of flag `kind` ([`OVERFLOW`], [`COMPARE_A`] and the two after it, [`CAPTURE`]) of `timer`.
pub const fn request(timer: u8, kind: u8) -> u8 {
    timer * 8 + kind
}

/// A bit of an interrupt register: (bit, timer, flag).
type FlagBit = (u8, u8, u8);

const TIMSK: [FlagBit; 8] = [
    (7, 2, COMPARE_A),
    (6, 2, OVERFLOW),
    (5, 1, CAPTURE),
    (4, 1, COMPARE_A),
    (3, 1, COMPARE_A + 1),
    (2, 1, OVERFLOW),
    (1, 0, COMPARE_A),
    (0, 0, OVERFLOW),
];
const ETIMSK: [FlagBit; 6] = [
    (5, 3, CAPTURE),
    (4, 3, COMPARE_A),
    (3, 3, COMPARE_A + 1),
    (2, 3, OVERFLOW),
    (1, 3, COMPARE_A + 2),
    (0, 1, COMPARE_A + 2),
];
const TIMSK_OF: [[FlagBit; 4]; 3] = [timsk_of(0), timsk_of(1), timsk_of(2)];

/// The 8-bit timers have no capture: their bit 5 is reserved and masked away in [`Timers::mask_of`].
const fn timsk_of(timer: u8) -> [FlagBit; 4] {
    [(5, timer, CAPTURE), (2, timer, COMPARE_A + 1), (1, timer, COMPARE_A), (0, timer, OVERFLOW)]
}

const TSM: u8 = 1 << 7;
/// Prescaler 0 belongs to the synchronous timers (PSR321, PSRSYNC), prescaler 1 to the one that has the
/// crystal.
const SYNCHRONOUS: usize = 0;
const CRYSTAL: usize = 1;
/// A write from the processor, and one latch for each register of the asynchronous timer.
const WRITES: usize = 6;

/// A register write that has not taken effect.
#[derive(Clone, Copy, Debug)]
struct Write {
    at: Cycles,
    register: Register,
    value: u8,
    /// ASSR's busy bit of a write that waits for the crystal; 0 for the processor's own.
    busy: u8,
}

/// The timers of a chip. A request's bit is [`request`]`(timer, flag)`.
#[derive(Clone, Debug)]
pub struct Timers {
    model: Model,
    clocks: Clocks,
    prescalers: [Prescaler; 2],
    counters: Vec<Counter>,
    writes: [Option<Write>; WRITES],
    assr: u8,
    /// SFIOR or GTCCR as it reads.
    special: u8,
    now: Cycles,
    due: Cycles,
}

const fn pin(port: u8, bit: u8) -> Option<Pin> {
    Some(Pin { port, bit })
}

impl Timers {
    /// The timers after reset.
    ///
    /// # Panics
    /// If a frequency is zero.
    pub fn new(config: Config) -> Self {
        use Kind::{Double8, Double16, Single8, Triple16};
        let counters = match config.model {
            Model::Atmega128 => vec![
                Counter::new(Single8, 0, [pin(b'B', 4), None, None]),
                Counter::new(Triple16, 8, [pin(b'B', 5), pin(b'B', 6), pin(b'B', 7)]),
                Counter::new(Single8, 16, [pin(b'B', 7), None, None]),
                Counter::new(Triple16, 24, [pin(b'E', 3), pin(b'E', 4), pin(b'E', 5)]),
            ],
            Model::Atmega328p => vec![
                Counter::new(Double8, 0, [pin(b'D', 6), pin(b'D', 5), None]),
                Counter::new(Double16, 8, [pin(b'B', 1), pin(b'B', 2), None]),
                Counter::new(Double8, 16, [pin(b'B', 3), pin(b'D', 3), None]),
            ],
        };
        Self {
            model: config.model,
            clocks: Clocks::new(config.cpu_hz, config.crystal_hz),
            prescalers: [Prescaler::default(); 2],
            counters,
            writes: [None; WRITES],
            assr: 0,
            special: 0,
            now: 0,
            due: NEVER,
        }
    }

    /// Stops (in the sleep modes that stop clkI/O) or starts the I/O clock. What runs from the crystal goes
    /// on.
    pub fn set_io_clock(&mut self, running: bool, now: Cycles, effects: &mut Effects) {
        self.advance(now, effects);
        self.flush(effects);
        if !running {
            for counter in &mut self.counters {
                counter.clock_input.clear();
                counter.capture_input.clear();
            }
        }
        self.clocks.set_io(running, now.max(self.now));
        self.find_due();
    }

    /// Asks for [`Effect::Flag`](super::peripheral::Effect::Flag) whenever one of these request bits rises,
    /// enabled or not.
    pub fn watch(&mut self, bits: u32) {
        for counter in &mut self.counters {
            counter.watched = (bits >> counter.base) as u8;
        }
        self.find_due();
    }

    /// The timer that can run from the crystal, and ASSR's bit that makes it do so.
    fn crystal_timer(&self) -> (usize, u8) {
        match self.model {
            Model::Atmega128 => (0, 1 << 3),
            Model::Atmega328p => (2, 1 << 5),
        }
    }

    fn prescaler_of(&self, timer: usize) -> usize {
        if timer == self.crystal_timer().0 { CRYSTAL } else { SYNCHRONOUS }
    }

    /// ASSR's update busy bit of a register that the crystal's clock has to take over.
    fn busy_bit(&self, register: Register) -> u8 {
        if !self.prescalers[CRYSTAL].crystal {
            return 0;
        }
        match (self.model, register) {
            (Model::Atmega128, Register::Tcnt(0)) => 1 << 2,
            (Model::Atmega128, Register::Ocr(0, _)) => 1 << 1,
            (Model::Atmega128, Register::Tccr(0)) => 1,
            (Model::Atmega328p, Register::Tcnt(2)) => 1 << 4,
            (Model::Atmega328p, Register::Ocr(2, Channel::A)) => 1 << 3,
            (Model::Atmega328p, Register::Ocr(2, _)) => 1 << 2,
            (Model::Atmega328p, Register::TccrA(2)) => 1 << 1,
            (Model::Atmega328p, Register::TccrB(2)) => 1,
            _ => 0,
        }
    }

    fn run(&mut self, now: Cycles, effects: &mut Effects) {
        if now <= self.now {
            return;
        }
        let first = effects.len();
        let (with_crystal, _) = self.crystal_timer();
        for (timer, counter) in self.counters.iter_mut().enumerate() {
            let prescaler = &self.prescalers[if timer == with_crystal { CRYSTAL } else { SYNCHRONOUS }];
            counter.run(now, Time { clocks: &self.clocks, prescaler }, effects);
        }
        // Each counter emitted its own in order; a stable sort keeps that among equals.
        if effects.len() > first + 1 {
            effects[first..].sort_by_key(|&(cycle, _)| cycle);
        }
        self.now = now;
    }

    /// Applies every write that takes effect by `now`, each at its own cycle.
    fn settle(&mut self, now: Cycles, effects: &mut Effects) {
        while let Some(slot) = (0..WRITES)
            .filter(|&i| self.writes[i].is_some_and(|w| w.at <= now))
            .min_by_key(|&i| self.writes[i].map(|w| w.at))
        {
            let write = self.writes[slot].take().expect("the slot was found full");
            self.run(write.at, effects);
            self.apply(write, effects);
        }
    }

    /// Applies a processor's write that is still to take effect, before its cycle's neighbours see the
    /// timers.
    fn flush(&mut self, effects: &mut Effects) {
        if let Some(write) = self.writes[0] {
            self.settle(write.at, effects);
        }
    }

    fn apply(&mut self, write: Write, effects: &mut Effects) {
        let busy = self.busy_bit(write.register);
        if busy != 0 && write.busy == 0 {
            // "Asynchronous Operation": written to a latch, taken over two crystal edges later. A second
            // write before that replaces the first.
            let at = self.clocks.crystal_edge_after(write.at, 2);
            let slot = 1 + busy.trailing_zeros() as usize;
            self.writes[slot] = Some(Write { at, busy, ..write });
        } else {
            self.apply_now(write.register, write.value, write.at, effects);
        }
        // "The output compare function is disabled during writing to OCR or TCNT" (Asynchronous Operation).
        let (timer, _) = self.crystal_timer();
        let mut latched = self.writes.iter().flatten().filter(|w| w.busy != 0);
        self.counters[timer].compare_off =
            latched.any(|w| matches!(w.register, Register::Tcnt(_) | Register::Ocr(..)));
    }

    fn apply_now(&mut self, register: Register, value: u8, at: Cycles, effects: &mut Effects) {
        match register {
            Register::Assr => self.write_assr(value, at),
            Register::Sfior | Register::Gtccr => self.write_special(value, at),
            Register::Tccr(n) => {
                let c = &mut self.counters[usize::from(n)];
                // FOC, WGM00, COM01, COM00, WGM01, CS02, CS01, CS00.
                c.wgm = value >> 6 & 1 | value >> 2 & 2;
                c.com[0] = value >> 4 & 3;
                c.configure(at, effects);
                if value & 0x80 != 0 {
                    c.force(0, at, effects);
                }
                self.select_clock(n, value & 7, at);
            }
            Register::TccrA(n) => {
                let c = &mut self.counters[usize::from(n)];
                c.wgm = c.wgm & !3 | value & 3;
                c.com = [value >> 6, value >> 4 & 3, value >> 2 & 3];
                c.configure(at, effects);
            }
            Register::TccrB(n) => {
                let c = &mut self.counters[usize::from(n)];
                if c.kind.is_16_bit() {
                    c.wgm = c.wgm & 3 | value >> 1 & 0xC;
                    (c.noise_canceler, c.capture_rising) = (value & 0x80 != 0, value & 0x40 != 0);
                    c.configure(at, effects);
                } else {
                    c.wgm = c.wgm & 3 | value >> 1 & 4;
                    c.configure(at, effects);
                    c.force_all(value, at, effects);
                }
                self.select_clock(n, value & 7, at);
            }
            Register::TccrC(n) => self.counters[usize::from(n)].force_all(value, at, effects),
            Register::Tcnt(n) => self.counters[usize::from(n)].write_count(value.into()),
            Register::Ocr(n, channel) => {
                self.counters[usize::from(n)].write_compare(channel as usize, value.into());
            }
            Register::TcntH(n) | Register::OcrH(n, _) | Register::IcrH(n) => {
                self.counters[usize::from(n)].temp = value;
            }
            Register::TcntL(n) => {
                let c = &mut self.counters[usize::from(n)];
                c.write_count(u16::from_be_bytes([c.temp, value]));
            }
            Register::OcrL(n, channel) => {
                let c = &mut self.counters[usize::from(n)];
                c.write_compare(channel as usize, u16::from_be_bytes([c.temp, value]));
            }
            Register::IcrL(n) => {
                let c = &mut self.counters[usize::from(n)];
                if c.capture_is_top() {
                    c.capture = u16::from_be_bytes([c.temp, value]);
                }
            }
            Register::Timsk
            | Register::Etimsk
            | Register::Tifr
            | Register::Etifr
            | Register::TimskOf(_)
            | Register::TifrOf(_) => unreachable!("interrupt registers act at once"),
        }
    }

    fn select_clock(&mut self, timer: u8, select: u8, at: Cycles) {
        let (timer, select) = (usize::from(timer), usize::from(select));
        let shared = self.prescaler_of(timer);
        let source = if shared == CRYSTAL { SOURCES_WITH_CRYSTAL[select] } else { SOURCES_WITH_PIN[select] };
        let time = Time { clocks: &self.clocks, prescaler: &self.prescalers[shared] };
        let counter = &mut self.counters[timer];
        if counter.source != source {
            counter.source = source;
            counter.anchor(at, time);
        }
    }

    fn anchor_all(&mut self, at: Cycles) {
        for timer in 0..self.counters.len() {
            let prescaler = &self.prescalers[self.prescaler_of(timer)];
            self.counters[timer].anchor(at, Time { clocks: &self.clocks, prescaler });
        }
    }

    fn write_assr(&mut self, value: u8, at: Cycles) {
        let (_, bit) = self.crystal_timer();
        let kept = if self.model == Model::Atmega328p { bit | 1 << 6 } else { bit };
        self.assr = value & kept;
        let crystal = value & bit != 0;
        if self.prescalers[CRYSTAL].crystal != crystal {
            self.prescalers[CRYSTAL].crystal = crystal;
            self.prescalers[CRYSTAL].reset(&self.clocks, at);
            self.anchor_all(at);
        }
    }

    /// SFIOR and GTCCR: both have TSM in bit 7 and the two prescaler resets in bits 0 and 1.
    fn write_special(&mut self, value: u8, at: Cycles) {
        let others = if self.model == Model::Atmega128 { 0x0C } else { 0 };
        let held = value & TSM != 0;
        self.special = value & if held { TSM | 3 | others } else { others };
        for shared in [SYNCHRONOUS, CRYSTAL] {
            let reset = value & 1 << shared != 0;
            let prescaler = &mut self.prescalers[shared];
            if reset || prescaler.held {
                prescaler.reset(&self.clocks, at);
            }
            prescaler.held = held && reset;
        }
        self.anchor_all(at);
    }

    /// The bits of an interrupt mask or flag register.
    fn mask_of(&self, register: Register) -> &'static [FlagBit] {
        match register {
            Register::Timsk | Register::Tifr => &TIMSK,
            Register::Etimsk | Register::Etifr => &ETIMSK,
            Register::TimskOf(1) | Register::TifrOf(1) => &TIMSK_OF[1],
            Register::TimskOf(n) | Register::TifrOf(n) => &TIMSK_OF[usize::from(n)][1..],
            _ => unreachable!("not an interrupt register"),
        }
    }

    fn gather(&self, register: Register, of: impl Fn(&Counter) -> u8) -> u8 {
        let bits = self.mask_of(register).iter();
        bits.fold(0, |value, &(bit, timer, flag)| {
            value | (of(&self.counters[usize::from(timer)]) >> flag & 1) << bit
        })
    }

    fn find_due(&mut self) {
        let mut due = NEVER;
        for write in self.writes.iter().flatten() {
            due = due.min(write.at);
        }
        for (timer, counter) in self.counters.iter().enumerate() {
            let prescaler = &self.prescalers[self.prescaler_of(timer)];
            due = due.min(counter.due(Time { clocks: &self.clocks, prescaler }));
        }
        self.due = due;
    }

    /// A register of a counter, as it reads.
    fn read_counter(&mut self, register: Register) -> u8 {
        let latched = self.writes.iter().flatten().find(|w| w.busy != 0 && w.register == register);
        // "When reading OCR and TCCR, the value in the temporary storage register is read."
        if let Some(write) = latched
            && !matches!(register, Register::Tcnt(_))
        {
            return write.value & written_bits(register);
        }
        match register {
            Register::Tccr(n) => {
                let c = &self.counters[usize::from(n)];
                (c.wgm & 1) << 6 | c.com[0] << 4 | (c.wgm & 2) << 2 | self.clock_select(n)
            }
            Register::TccrA(n) => {
                let c = &self.counters[usize::from(n)];
                c.com[0] << 6
                    | c.com[1] << 4
                    | if c.kind == Kind::Triple16 { c.com[2] << 2 } else { 0 }
                    | c.wgm & 3
            }
            Register::TccrB(n) => {
                let c = &self.counters[usize::from(n)];
                let capture = u8::from(c.noise_canceler) << 7 | u8::from(c.capture_rising) << 6;
                capture | (c.wgm & 0xC) << 1 | self.clock_select(n)
            }
            Register::Tcnt(n) => self.counters[usize::from(n)].count as u8,
            Register::TcntL(n) => {
                let c = &mut self.counters[usize::from(n)];
                let [high, low] = c.count.to_be_bytes();
                c.temp = high;
                low
            }
            Register::IcrL(n) => {
                let c = &mut self.counters[usize::from(n)];
                let [high, low] = c.capture.to_be_bytes();
                c.temp = high;
                low
            }
            Register::TcntH(n) | Register::IcrH(n) => self.counters[usize::from(n)].temp,
            // "Reading the OCR 16-bit registers does not involve using the temporary register."
            Register::Ocr(n, channel) | Register::OcrL(n, channel) => {
                self.counters[usize::from(n)].buffer[channel as usize] as u8
            }
            Register::OcrH(n, channel) => (self.counters[usize::from(n)].buffer[channel as usize] >> 8) as u8,
            _ => unreachable!("not a counter's register"),
        }
    }

    fn clock_select(&self, timer: u8) -> u8 {
        let timer = usize::from(timer);
        let table =
            if self.prescaler_of(timer) == CRYSTAL { &SOURCES_WITH_CRYSTAL } else { &SOURCES_WITH_PIN };
        let source = self.counters[timer].source;
        table.iter().position(|&s| s == source).expect("sources come from this table") as u8
    }

    /// The timer whose T pin this is (`false`), or whose ICP pin (`true`).
    fn input_of(&self, pin: Pin) -> Option<(usize, bool)> {
        match (self.model, pin.port, pin.bit) {
            (Model::Atmega128, b'D', 6) => Some((1, false)),
            (Model::Atmega128, b'D', 7) => Some((2, false)),
            (Model::Atmega128, b'E', 6) => Some((3, false)),
            (Model::Atmega128, b'D', 4) => Some((1, true)),
            (Model::Atmega128, b'E', 7) => Some((3, true)),
            (Model::Atmega328p, b'D', 4) => Some((0, false)),
            (Model::Atmega328p, b'D', 5) => Some((1, false)),
            (Model::Atmega328p, b'B', 0) => Some((1, true)),
            _ => None,
        }
    }
}

/// The bits of a latched control register that are kept (FOC strobes read as zero).
fn written_bits(register: Register) -> u8 {
    match register {
        Register::Tccr(_) => 0x7F,
        Register::TccrA(_) => 0xF3,
        Register::TccrB(_) => 0x0F,
        _ => 0xFF,
    }
}

impl Peripheral for Timers {
    type Register = Register;

    fn read(&mut self, register: Register, _now: Cycles) -> u8 {
        match register {
            Register::Timsk | Register::Etimsk | Register::TimskOf(_) => self.gather(register, |c| c.enabled),
            Register::Tifr | Register::Etifr | Register::TifrOf(_) => self.gather(register, |c| c.flags),
            Register::Assr => self.writes.iter().flatten().fold(self.assr, |value, w| value | w.busy),
            Register::Sfior | Register::Gtccr => self.special,
            Register::TccrC(_) => 0,
            _ => self.read_counter(register),
        }
    }

    fn write(&mut self, register: Register, value: u8, now: Cycles, effects: &mut Effects) {
        self.flush(effects);
        match register {
            Register::Timsk | Register::Etimsk | Register::TimskOf(_) => {
                for &(bit, timer, flag) in self.mask_of(register) {
                    let enabled = &mut self.counters[usize::from(timer)].enabled;
                    *enabled = *enabled & !(1 << flag) | (value >> bit & 1) << flag;
                }
            }
            Register::Tifr | Register::Etifr | Register::TifrOf(_) => {
                for &(bit, timer, flag) in self.mask_of(register) {
                    self.counters[usize::from(timer)].flags &= !((value >> bit & 1) << flag);
                }
            }
            _ => self.writes[0] = Some(Write { at: now + 1, register, value, busy: 0 }),
        }
        self.find_due();
    }

    fn advance(&mut self, now: Cycles, effects: &mut Effects) {
        self.settle(now, effects);
        self.run(now, effects);
        // Nothing that was not due can bring forward what is.
        if now >= self.due {
            self.find_due();
        }
    }

    fn due(&self) -> Cycles {
        self.due
    }

    fn requests(&self) -> u32 {
        self.counters.iter().fold(0, |bits, c| bits | u32::from(c.flags & c.enabled) << c.base)
    }

    fn acknowledge(&mut self, bit: u8, _now: Cycles) {
        self.counters[usize::from(bit / 8)].flags &= !(1 << (bit % 8));
        self.find_due();
    }

    fn pin(&mut self, pin: Pin, high: bool, now: Cycles, effects: &mut Effects) {
        let Some((timer, capture)) = self.input_of(pin) else { return };
        self.advance(now, effects);
        let listening = !self.clocks.is_io_halted();
        let counter = &mut self.counters[timer];
        if capture {
            counter.capture_input.set(high, counter.noise_canceler, listening, now);
        } else {
            counter.clock_input.set(high, false, listening, now);
        }
        self.find_due();
    }
}

#[cfg(test)]
mod naive;
#[cfg(test)]
mod steps;
#[cfg(test)]
mod tests;
