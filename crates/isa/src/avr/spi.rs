//! The serial peripheral interface: SPCR, SPSR and SPDR, as master and as slave, to the cycle.
//!
//! Owns the shift register, its clock divider and the four pins' output stages. It leaves to the chip which
//! data-space addresses the registers have and what the data direction registers say; of the latter it must
//! be told one bit, whether SS is an output ([`Spi::set_ss_output`]).
//! Sources: ATmega128 datasheet (doc 2467) and ATmega328P datasheet, chapters "Serial Peripheral Interface".
//! The cycles of a transfer are not in them: with SPDR written in cycle `c`, the received byte is readable in
//! `c + 8N + 1` and the next byte may be written in `c + 8N + 2`. For `N = 2` that was found on hardware (17
//! and 18 cycles); for the other dividers it is extrapolated. What a write in `c + 8N + 1` does was only seen
//! to lose the byte; here it is a write collision, like every earlier one.

use super::peripheral::{Drive, Effect, Effects, NEVER, Peripheral, Pin};
use crate::Cycles;

const SPIE: u8 = 1 << 7;
const SPE: u8 = 1 << 6;
const DORD: u8 = 1 << 5;
const MSTR: u8 = 1 << 4;
const CPOL: u8 = 1 << 3;
const CPHA: u8 = 1 << 2;
const SPIF: u8 = 1 << 7;
const WCOL: u8 = 1 << 6;
const SPI2X: u8 = 1;

/// A slave wants SCK high and low for two cycles each (datasheets, "Functional Description" of the slave and
/// the table "SPI Timing Parameters"), which is also how late it notices the end of a byte.
const SLAVE_SYNC_CYCLES: Cycles = 2;
/// Edges of SCK in one byte.
const EDGES: u8 = 16;

/// The SPI's registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Register {
    /// Control.
    Spcr,
    /// Status.
    Spsr,
    /// Data.
    Spdr,
}

/// How the clock divider stands when a byte is started. No source settles which one the silicon does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The write to SPDR restarts the divider: every byte takes the same time.
    Restarted,
    /// The divider runs from reset: a byte waits up to `N - 1` cycles for the next multiple of `N`.
    FreeRunning,
}

/// Where the pins are, and the divider's model.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Serial clock.
    pub sck: Pin,
    /// Master out, slave in.
    pub mosi: Pin,
    /// Master in, slave out.
    pub miso: Pin,
    /// Slave select, active low.
    pub ss: Pin,
    /// Phase of the clock divider.
    pub phase: Phase,
}

impl Config {
    /// The ATmega128's pins.
    pub const ATMEGA128: Self = Self {
        sck: Pin { port: b'B', bit: 1 },
        mosi: Pin { port: b'B', bit: 2 },
        miso: Pin { port: b'B', bit: 3 },
        ss: Pin { port: b'B', bit: 0 },
        phase: Phase::Restarted,
    };
    /// The ATmega328P's pins.
    pub const ATMEGA328P: Self = Self {
        sck: Pin { port: b'B', bit: 5 },
        mosi: Pin { port: b'B', bit: 3 },
        miso: Pin { port: b'B', bit: 4 },
        ss: Pin { port: b'B', bit: 2 },
        phase: Phase::Restarted,
    };
}

/// A byte that the master is shifting.
#[derive(Clone, Copy, Debug)]
struct Transfer {
    /// When the first bit stands on MOSI.
    start: Cycles,
    /// Half an SCK period.
    half_cycles: Cycles,
    /// SPCR when the byte was started; changing the mode does not bend a byte that is under way.
    control: u8,
    /// The half periods whose edges have been put on the pins; 0 is the start itself.
    shown: Option<u8>,
    /// MISO bits sampled so far, and how many.
    input: u8,
    sampled: u8,
}

impl Transfer {
    fn done(&self) -> Cycles {
        self.start + Cycles::from(EDGES) * self.half_cycles
    }

    /// The half periods over at `now`, if the byte has begun.
    fn halves(&self, now: Cycles) -> Option<u8> {
        // Half periods are powers of two, and this is asked at every look at the unit.
        let elapsed = now.checked_sub(self.start)? >> self.half_cycles.trailing_zeros();
        Some(elapsed.min(Cycles::from(EDGES)) as u8)
    }
}

/// The slave's view of a byte.
#[derive(Clone, Copy, Debug, Default)]
struct Reception {
    /// MOSI bits sampled so far, and how many.
    input: u8,
    sampled: u8,
    /// SCK has moved since the last byte.
    begun: bool,
    /// The last byte is complete and will be noticed then.
    done: Option<(Cycles, u8)>,
}

/// What the SPI does to one pin's output stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stage {
    input: bool,
    value: Option<bool>,
}

/// The SPI unit. Its one interrupt request is bit 0.
#[derive(Clone, Debug)]
pub struct Spi {
    config: Config,
    control: u8,
    status: u8,
    /// Flags seen set by the last read of SPSR: the next access of SPDR clears them.
    noticed: u8,
    /// The shift register before a byte, and after it.
    shift: u8,
    /// The receive buffer.
    received: u8,
    transfer: Option<Transfer>,
    writable_from: Cycles,
    reception: Reception,
    edges: bool,
    ss_output: bool,
    ss: bool,
    miso: bool,
    mosi: bool,
    sck: bool,
    /// SCK as the slave's synchroniser has seen it, and since when.
    sck_seen: bool,
    sck_seen_at: Cycles,
    /// What the master last put on SCK and MOSI.
    sck_out: bool,
    mosi_out: bool,
    /// Output stages of SCK, MOSI, MISO, SS as the chip knows them.
    stages: [Stage; 4],
}

impl Spi {
    /// A unit after reset, its inputs high.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            control: 0,
            status: 0,
            noticed: 0,
            shift: 0,
            received: 0,
            transfer: None,
            writable_from: 0,
            reception: Reception::default(),
            edges: true,
            ss_output: false,
            ss: true,
            miso: true,
            mosi: true,
            sck: true,
            sck_seen: true,
            sck_seen_at: 0,
            sck_out: false,
            mosi_out: false,
            stages: [Stage::default(); 4],
        }
    }

    /// Whether each edge of SCK and MOSI is emitted while this unit is a master. Without them a byte costs
    /// one event instead of seventeen and every register reads the same; the pins then show the last level
    /// only.
    pub fn set_edges(&mut self, edges: bool, now: Cycles, effects: &mut Effects) {
        self.advance(now, effects);
        self.edges = edges;
        if let Some(t) = &mut self.transfer {
            t.shown = t.halves(now);
            if let Some(halves) = t.shown {
                (self.sck_out, self.mosi_out) = levels(t.control, self.shift, halves);
            }
        }
        if edges {
            self.show(now, effects);
        }
    }

    /// The data direction bit of SS changed: a master whose SS is an input yields when it is pulled low.
    pub fn set_ss_output(&mut self, output: bool, now: Cycles, effects: &mut Effects) {
        self.advance(now, effects);
        self.ss_output = output;
        self.yield_bus(now, effects);
    }

    fn is_enabled(&self) -> bool {
        self.control & SPE != 0
    }

    fn is_master(&self) -> bool {
        self.control & (SPE | MSTR) == SPE | MSTR
    }

    fn is_selected_slave(&self) -> bool {
        self.control & (SPE | MSTR) == SPE && !self.ss
    }

    /// Cycles per bit, `N`: 2, 4, 8, 16, 32, 64 or 128 (table "Relationship Between SCK and the Oscillator").
    fn divider(&self) -> Cycles {
        let normal = [4, 16, 64, 128][usize::from(self.control & 3)];
        if self.status & SPI2X != 0 { normal / 2 } else { normal }
    }

    fn write_data(&mut self, value: u8, now: Cycles, effects: &mut Effects) {
        self.clear_noticed();
        let busy = self.transfer.is_some() || now < self.writable_from;
        if self.is_enabled() && (busy || self.reception.begun || self.reception.done.is_some()) {
            self.status |= WCOL;
            return;
        }
        self.shift = value;
        if self.is_master() {
            let divider = self.divider();
            let start = match self.config.phase {
                Phase::Restarted => now + 1,
                Phase::FreeRunning => (now + 1).next_multiple_of(divider),
            };
            self.transfer = Some(Transfer {
                start,
                half_cycles: divider / 2,
                control: self.control,
                shown: None,
                input: 0,
                sampled: 0,
            });
        } else {
            self.show(now, effects);
        }
    }

    fn write_control(&mut self, value: u8, now: Cycles, effects: &mut Effects) {
        let changed = self.control ^ value;
        self.control = value;
        if changed & (SPE | MSTR) != 0 {
            self.transfer = None;
            self.writable_from = now;
            self.reception = Reception::default();
            (self.sck_seen, self.sck_seen_at) = (self.sck, now);
        }
        if self.transfer.is_none() {
            self.sck_out = value & CPOL != 0;
        }
        self.show(now, effects);
        self.yield_bus(now, effects);
    }

    fn clear_noticed(&mut self) {
        self.status &= !self.noticed;
        self.noticed = 0;
    }

    /// "SS Pin Functionality", master mode: SS low as an input means that another master wants the bus.
    fn yield_bus(&mut self, now: Cycles, effects: &mut Effects) {
        if self.is_master() && !self.ss_output && !self.ss {
            self.write_control(self.control & !MSTR, now, effects);
            self.status |= SPIF;
        }
    }

    fn complete(&mut self, input: u8, control: u8) {
        self.received = if control & DORD != 0 { input.reverse_bits() } else { input };
        // The shift register is a ring through both chips: what was received is sent next, unless
        // overwritten.
        self.shift = self.received;
        self.status |= SPIF;
    }

    /// Emits the edges that the running byte owes up to half period `halves`.
    fn show_edges(&mut self, t: &mut Transfer, halves: u8, effects: &mut Effects) {
        let first = t.shown.map_or(0, |shown| shown + 1);
        for half in first..=halves {
            let at = t.start + Cycles::from(half) * t.half_cycles;
            let (sck, mosi) = levels(t.control, self.shift, half);
            // The stages are a master's: this is `show` without looking at all of them.
            if sck != self.sck_out {
                effects.push((at, Effect::Value { pin: self.config.sck, high: Some(sck) }));
            }
            if mosi != self.mosi_out {
                effects.push((at, Effect::Value { pin: self.config.mosi, high: Some(mosi) }));
            }
            (self.sck_out, self.mosi_out) = (sck, mosi);
        }
        (self.stages[0].value, self.stages[1].value) = (Some(self.sck_out), Some(self.mosi_out));
        t.shown = Some(halves);
    }

    fn advance_master(&mut self, now: Cycles, effects: &mut Effects) {
        let Some(mut t) = self.transfer else { return };
        let Some(halves) = t.halves(now) else { return };
        if self.edges {
            self.show_edges(&mut t, halves, effects);
        }
        // CPHA = 0 samples on odd edges, CPHA = 1 on even ones.
        let samples = if t.control & CPHA == 0 { halves.div_ceil(2) } else { halves / 2 };
        while t.sampled < samples {
            t.input = t.input << 1 | u8::from(self.miso);
            t.sampled += 1;
        }
        if halves < EDGES {
            self.transfer = Some(t);
            return;
        }
        (_, self.mosi_out) = levels(t.control, self.shift, EDGES);
        self.sck_out = self.control & CPOL != 0;
        if self.edges {
            self.show(t.done(), effects);
        }
        self.transfer = None;
        self.writable_from = t.done() + 1;
        self.complete(t.input, t.control);
    }

    /// When the slave notices a level of SCK that came too soon after the one before, or the end of a byte.
    fn slave_due(&self) -> Cycles {
        let settled = if self.sck == self.sck_seen { NEVER } else { self.sck_seen_at + SLAVE_SYNC_CYCLES };
        self.reception.done.map_or(settled, |(done, _)| done.min(settled))
    }

    fn advance_slave(&mut self, now: Cycles, effects: &mut Effects) {
        loop {
            let at = self.slave_due();
            if at > now {
                return;
            }
            if self.reception.done.is_some_and(|(done, _)| done == at) {
                let (_, input) = self.reception.done.take().expect("`done` was read from it");
                self.complete(input, self.control);
                self.show(at, effects);
            } else {
                self.slave_edge(self.sck, at, effects);
            }
        }
    }

    fn slave_edge(&mut self, high: bool, at: Cycles, effects: &mut Effects) {
        (self.sck_seen, self.sck_seen_at) = (high, at);
        if !self.is_selected_slave() {
            return;
        }
        let leading = high != (self.control & CPOL != 0);
        let r = &mut self.reception;
        r.begun = true;
        if leading == (self.control & CPHA == 0) && r.sampled < 8 {
            r.input = r.input << 1 | u8::from(self.mosi);
            r.sampled += 1;
        }
        if !leading && r.sampled == 8 {
            *r = Reception { done: Some((at + SLAVE_SYNC_CYCLES, r.input)), ..Reception::default() };
        } else {
            // The timing table gives "SCK to out" 15 ns, so MISO follows the edge and not the synchroniser.
            self.show(at, effects);
        }
    }

    /// What the output stages should be now, in the order SCK, MOSI, MISO, SS (table "SPI Pin Overrides").
    fn wanted_stages(&self) -> [Stage; 4] {
        let input = Stage { input: true, value: None };
        let output = |high| Stage { input: false, value: Some(high) };
        if !self.is_enabled() {
            [Stage::default(); 4]
        } else if self.is_master() {
            [output(self.sck_out), output(self.mosi_out), input, Stage::default()]
        } else if self.ss {
            [input; 4]
        } else if self.reception.done.is_some() {
            [input, input, self.stages[2], input]
        } else {
            let bit = self.reception.sampled.min(7);
            [input, input, output(wire_bit(self.control, self.shift, bit)), input]
        }
    }

    fn show(&mut self, at: Cycles, effects: &mut Effects) {
        let wanted = self.wanted_stages();
        if wanted == self.stages {
            return;
        }
        let pins = [self.config.sck, self.config.mosi, self.config.miso, self.config.ss];
        for ((pin, old), new) in pins.into_iter().zip(self.stages).zip(wanted) {
            if old.input != new.input {
                let drive = new.input.then_some(Drive::Floating);
                effects.push((at, Effect::Override { pin, drive }));
            }
            if old.value != new.value {
                effects.push((at, Effect::Value { pin, high: new.value }));
            }
        }
        self.stages = wanted;
    }
}

/// Bit `index` (0 first) of `data` as it goes over the wire.
fn wire_bit(control: u8, data: u8, index: u8) -> bool {
    let bit = if control & DORD != 0 { index } else { 7 - index };
    data >> bit & 1 != 0
}

/// SCK and MOSI of a master after `halves` half periods of a byte (figures "SPI Transfer Format").
fn levels(control: u8, data: u8, halves: u8) -> (bool, bool) {
    let sck = (halves & 1 != 0) != (control & CPOL != 0);
    // CPHA = 0 sets bit k up at half 2k, CPHA = 1 at half 2k + 1 (where half 0 still shows the first bit,
    // which nobody samples there); the last bit stays.
    let bit = if control & CPHA == 0 { halves / 2 } else { halves.saturating_sub(1) / 2 };
    (sck, wire_bit(control, data, bit.min(7)))
}

impl Peripheral for Spi {
    type Register = Register;

    fn read(&mut self, register: Register, _now: Cycles) -> u8 {
        match register {
            Register::Spcr => self.control,
            Register::Spsr => {
                self.noticed = self.status & (SPIF | WCOL);
                self.status
            }
            Register::Spdr => {
                self.clear_noticed();
                self.received
            }
        }
    }

    #[inline]
    fn peek(&self, register: Register, now: Cycles) -> Option<u8> {
        // A byte may be over without being due: when nobody sees its edges, only a look completes it.
        let unfinished = self.transfer.as_ref().is_none_or(|transfer| now < transfer.done());
        let quiet = (self.status & (SPIF | WCOL)) | self.noticed == 0;
        (register == Register::Spsr && unfinished && quiet).then_some(self.status)
    }

    fn write(&mut self, register: Register, value: u8, now: Cycles, effects: &mut Effects) {
        match register {
            Register::Spcr => self.write_control(value, now, effects),
            Register::Spsr => self.status = self.status & (SPIF | WCOL) | value & SPI2X,
            Register::Spdr => self.write_data(value, now, effects),
        }
    }

    fn advance(&mut self, now: Cycles, effects: &mut Effects) {
        self.advance_master(now, effects);
        self.advance_slave(now, effects);
    }

    fn due(&self) -> Cycles {
        if let Some(t) = &self.transfer {
            return if self.edges {
                t.start + t.shown.map_or(0, |shown| Cycles::from(shown + 1) * t.half_cycles)
            } else if self.control & SPIE != 0 {
                t.done()
            } else {
                NEVER
            };
        }
        self.slave_due()
    }

    fn requests(&self) -> u32 {
        u32::from(self.control & SPIE != 0 && self.status & SPIF != 0)
    }

    fn acknowledge(&mut self, bit: u8, _now: Cycles) {
        assert_eq!(bit, 0, "the SPI has one interrupt");
        self.status &= !SPIF;
        self.noticed &= !SPIF;
    }

    fn pin(&mut self, pin: Pin, high: bool, now: Cycles, effects: &mut Effects) {
        // Everything up to now happened at the old level. A master does not look at SCK and MOSI.
        if !self.is_master() || pin == self.config.miso || pin == self.config.ss {
            self.advance(now, effects);
        }
        if pin == self.config.miso {
            self.miso = high;
        } else if pin == self.config.mosi {
            self.mosi = high;
        } else if pin == self.config.sck {
            self.sck = high;
            if self.control & (SPE | MSTR) != SPE {
                (self.sck_seen, self.sck_seen_at) = (high, now);
            } else if high != self.sck_seen && now >= self.sck_seen_at + SLAVE_SYNC_CYCLES {
                self.slave_edge(high, now, effects);
            }
        } else if pin == self.config.ss && high != self.ss {
            self.ss = high;
            // "SS Pin Functionality", slave mode: SS high drops what was partially received.
            let done = self.reception.done;
            self.reception = Reception { done, ..Reception::default() };
            self.show(now, effects);
            self.yield_bus(now, effects);
        }
    }
}

#[cfg(test)]
mod tests;
