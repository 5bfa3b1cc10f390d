//! What is measured of a cell: a run of its program against the cipher alone.
//!
//! Owns the checks that a measurement is of what it says: both jobs done right, and every cycle accounted for. What fails
//! them is a bug of ours.

use std::ops::Range;

use isa::Cycles;
use selvedge::error::Error;
use selvedge::exchange::{Course, Kept, miso};

use super::cells::{Case, Cell, Direction, Scheme};
use super::program::{Builder, Built, OBJECT_BYTES, Outcome};
use super::terms::Terms;
use super::trace::{Input, Run, Trace};

/// No instruction takes longer, and no interrupt comes within one.
const INSTRUCTION_CYCLES_MAX: Cycles = 5;
/// The core's clock for rates.
pub const CLOCK_HZ: f64 = 16e6;

/// A cipher alone.
pub struct Alone {
    /// When it did what.
    pub course: Course,
    /// The addresses of its accesses.
    addresses: Vec<u32>,
    memory: Vec<u8>,
    /// Bytes of its code.
    pub code_bytes: usize,
}

impl Alone {
    /// Builds and runs it.
    pub fn of(builder: &Builder, case: &Case, scheme: Scheme, input: &Input) -> Result<Alone, Error> {
        let built = builder.alone(case, scheme)?;
        let function = case.host.function(case.direction);
        let run = Run { image: &built.image, function, case, scheme: None, divider: 2, input };
        let trace = run.trace(&[]).expect("a cipher alone comes to its end");
        Ok(Alone {
            course: trace.course(),
            addresses: trace.loads.iter().map(|&(_, address)| address).collect(),
            memory: trace.cipher_memory,
            code_bytes: built.code_bytes,
        })
    }

    /// Cycles a byte of the message.
    pub fn cycles_per_byte(&self, case: &Case) -> f64 {
        self.course.work_cycles() as f64 / case.host.message_bytes as f64
    }
}

/// A case with what its cells share: all that does not depend on the divider.
pub struct Bench {
    /// The case.
    pub case: Case,
    /// What every run of it is given.
    pub input: Input,
    /// The cipher alone.
    pub alone: Alone,
    /// The cipher alone, without the registers that the best handler reserves.
    alone_reserved: Alone,
    /// The programs that are not woven.
    beside: Vec<(Scheme, Built)>,
}

impl Bench {
    /// Builds what does not depend on the divider.
    pub fn new(builder: &Builder, case: Case, seed: u64) -> Result<Bench, Error> {
        let input = Input::random(&case, seed);
        let alone = Alone::of(builder, &case, Scheme::Compiled, &input)?;
        let alone_reserved = Alone::of(builder, &case, Scheme::Reserved, &input)?;
        let schemes = case.host.schemes().iter().copied().filter(|scheme| !scheme.is_woven());
        let beside = schemes.map(|scheme| Ok((scheme, builder.beside(&case, scheme)?)));
        let beside = beside.collect::<Result<Vec<_>, Error>>()?;
        Ok(Bench { case, input, alone, alone_reserved, beside })
    }

    /// The cipher as it is built beside a scheme.
    pub fn alone_for(&self, scheme: Scheme) -> &Alone {
        if scheme == Scheme::Reserved { &self.alone_reserved } else { &self.alone }
    }

    /// Measures a cell.
    pub fn measure(&self, builder: &Builder, cell: &Cell) -> Result<Found, Error> {
        let Cell { scheme, divider, .. } = *cell;
        let (woven, function) = match scheme {
            _ if scheme.is_woven() => match builder.woven(&self.case, scheme, divider)? {
                Outcome::Woven(woven) => (Some(woven), "woven"),
                Outcome::Refused(words) => return Ok(Found::Not(words)),
            },
            _ => (None, self.case.host.function(self.case.direction)),
        };
        let beside = || &self.beside.iter().find(|built| built.0 == scheme).expect("it was built").1;
        let built = woven.as_ref().map_or_else(beside, |woven| &woven.built);
        let (image, case, input) = (&built.image, &self.case, &self.input);
        let run = Run { image, function, case, scheme: Some(scheme), divider, input };
        let alone = self.alone_for(scheme);
        let trace = match self.traced(&run, alone) {
            Ok(trace) => trace,
            Err(fault) if woven.is_some() => return Ok(Found::Not(format!("a fault of weaving: {fault}"))),
            Err(fault) => panic!("{}, {}, f/{divider}: {fault}", case.name(), scheme.name()),
        };
        let starts: Vec<Cycles> = trace.written.iter().map(|&(cycle, _)| cycle).collect();
        let kept = Kept::of(&starts, &trace.course(), &alone.course);
        Ok(Found::Measured(Box::new(Measured {
            share: kept.share(&alone.course, case.host.message_bytes),
            code_bytes: built.code_bytes,
            recovered: { woven.as_ref() }
                .filter(|_| scheme != Scheme::Coupled)
                .map(|woven| kept.recovered(woven.guest_cycles)),
            growth: woven.as_ref().map(|woven| woven.growth),
            schedule_share: woven.as_ref().map(|woven| woven.schedule_share),
            handler_cycles: handler_cycles(&trace, &kept),
            terms: Terms::of(image, &trace, scheme),
            starts,
        })))
    }

    /// A run in which both jobs are done right, or what is wrong with it.
    fn traced(&self, run: &Run, alone: &Alone) -> Result<Trace, String> {
        let silent = run.trace(&[])?;
        let starts: Vec<Cycles> = silent.written.iter().map(|&(cycle, _)| cycle).collect();
        let is_coupled = run.scheme == Some(Scheme::Coupled);
        let (objects, message) = alone.memory.split_at(OBJECT_BYTES);
        let bytes = if is_coupled { message } else { &self.input.exchanged[..] };
        let trace = run.trace(&miso(&starts, run.divider.into(), bytes))?;
        if trace.written.len() != bytes.len() {
            return Err(format!("{} bytes are started, expected {}", trace.written.len(), bytes.len()));
        }
        let sent = trace.written.iter().map(|&(_, byte)| byte);
        let is_exchanged = match self.case.direction {
            Direction::Send => sent.eq(bytes.iter().copied()),
            Direction::Receive => trace.exchange_memory == *bytes,
        };
        // What is sent as it is produced is not stored.
        let left = if is_coupled { objects } else { &alone.memory[..] };
        let addresses = trace.loads.iter().map(|&(_, address)| address);
        match () {
            () if !is_exchanged => Err("other bytes are exchanged".to_owned()),
            () if !trace.cipher_memory.starts_with(left) => Err("the cipher's result differs".to_owned()),
            () if !addresses.eq(alone.addresses.iter().copied()) => {
                Err("the cipher's accesses differ".to_owned())
            }
            () => Ok(trace),
        }
    }
}

/// What a cell is.
pub enum Found {
    /// A measurement.
    Measured(Box<Measured>),
    /// It cannot be, for this reason.
    Not(String),
}

/// A measurement.
pub struct Measured {
    /// Bytes of the cipher's message that were finished for each byte of the exchange.
    pub share: f64,
    /// Bytes of flash for cipher and exchange.
    pub code_bytes: usize,
    /// The share of the cycles left by the guest that did the cipher's work, when it is woven; coupled, some of the
    /// work is left out.
    pub recovered: Option<f64>,
    /// Words over both functions' own, when it is woven.
    pub growth: Option<f64>,
    /// The share of all cycles in which its schedule lets the cipher get on, when it is woven.
    pub schedule_share: Option<f64>,
    /// Cycles of the handler for a byte, with entry and return, when there is one.
    pub handler_cycles: Option<f64>,
    /// When bytes were started.
    pub starts: Vec<Cycles>,
    /// What the processor and the bus did for one byte.
    pub terms: Terms,
}

impl Measured {
    /// Bytes of the exchange in a second of a 16 MHz core.
    pub fn bus_rate(&self) -> f64 {
        let cycles = self.starts[self.starts.len() - 1] - self.starts[0];
        (self.starts.len() - 1) as f64 * CLOCK_HZ / cycles as f64
    }

    /// Bytes of the cipher's message in a second of a 16 MHz core, meanwhile.
    pub fn host_rate(&self) -> f64 {
        self.share * self.bus_rate()
    }

    /// The longest interval between two bytes less the shortest, from the second byte on: the first is set up.
    pub fn jitter_cycles(&self) -> Cycles {
        let intervals = || self.starts[1..].windows(2).map(|pair| pair[1] - pair[0]);
        intervals().max().unwrap_or(0) - intervals().min().unwrap_or(0)
    }
}

/// Cycles of the handler for a byte. What it leaves of the time is the cipher's work, which says the same without looking at
/// the handler: the two differ by no more than the cipher's progress is known to.
fn handler_cycles(trace: &Trace, kept: &Kept) -> Option<f64> {
    let within = |from: Cycles| -> Cycles {
        let part = |range: &Range<Cycles>| range.end.min(kept.until).saturating_sub(range.start.max(from));
        trace.handler.iter().map(part).sum()
    };
    if trace.handler.is_empty() {
        return None;
    }
    let called = kept.from.max(trace.begins.min(kept.until));
    let left = kept.until - called - within(called);
    let off = left.abs_diff(kept.work_cycles);
    // The last byte is written in the middle of a handler, or of an instruction of the cipher.
    let longest = trace.handler.iter().map(|range| range.end - range.start).max().unwrap_or(0);
    let known_to = longest + INSTRUCTION_CYCLES_MAX;
    assert!(off <= known_to, "the handler leaves {left} cycles, and the cipher did {}", kept.work_cycles);
    let whole = || trace.handler.iter().filter(|range| kept.from <= range.start && range.end <= kept.until);
    let cycles: Cycles = whole().map(|range| range.end - range.start).sum();
    Some(cycles as f64 / whole().count() as f64)
}
