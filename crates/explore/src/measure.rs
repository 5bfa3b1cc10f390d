//! What requests take on a processor: cycles of the simulator, by routine.
//!
//! Owns how requests are put before a program (`firmware/bench/rv32/explore.c`), and which routine a cycle is of. A
//! function that is no routine and has a compiler's or a C library's name (`memcpy`, `__udivdi3`) belongs to the
//! routine that was executed last, which called it; what else is no routine is the bench. Equation (1) holds by
//! construction: local cycles of routines and those of the bench add up to the whole.

use std::sync::Arc;

use isa::elf;
use isa::rv32::bare::{self, End, MARK, Outcome};
use isa::rv32::{CallGraph, Calls, Profile, Units};
use isa::{Cycles, Observer};

use crate::error::Error;
use crate::frames::{Activations, Frames};
use crate::image::{Image, REQUESTS, REQUESTS_BYTES_MAX, Symbol};
use crate::measured::Measurements;
use crate::native::ROUTINES;
use crate::request::{Request, Response};

/// The mark before what is timed.
pub(crate) const BEGIN: u32 = 1;
/// The mark behind it.
pub(crate) const FINISH: u32 = 2;
/// Who executes what nobody is asked for: a place behind the routines.
const NOBODY: u16 = u16::MAX;
/// Of a place, that it is where the routine begins.
const ENTRY: u16 = 1 << 15;
/// Cycles that a run may take before it is taken for one that does not end.
const CYCLES_MAX: Cycles = 1 << 40;

/// A request that was done on a processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// What it answered.
    pub response: Response,
    /// What it took, each time.
    pub turns: Vec<Turn>,
    /// Which constants of the image were read by which routines while it was timed, and others that were done with it: a
    /// place in [`ROUTINES`], and one in [`Image::constants`].
    pub read: Vec<(usize, usize)>,
    /// What routines took of the stack with it and those others, timed or not.
    pub frames: Frames,
}

impl Measured {
    /// What it took the last time: of a warm request, when it was warm.
    pub fn last(&self) -> &Turn {
        self.turns.last().expect("a request is done once at least")
    }
}

/// One time that a request was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// All cycles.
    pub cycles: Cycles,
    /// Local cycles, in the order of [`ROUTINES`].
    pub local_cycles: Vec<Cycles>,
    /// Cycles that are no routine's.
    pub bench_cycles: Cycles,
    /// How far the library went down the stack.
    pub stack_bytes: u32,
}

/// Which constant each word is of.
struct Constants {
    /// The address of the first word.
    first: u32,
    /// Of each word, its constant, or [`NOBODY`].
    places: Vec<u16>,
    count: usize,
}

impl Constants {
    fn new(constants: &[Symbol]) -> Constants {
        let first = constants.first().map_or(0, |symbol| symbol.address & !3);
        let end = constants.iter().map(|symbol| symbol.address + symbol.bytes).max().unwrap_or(0);
        let mut places = vec![NOBODY; (end - first).div_ceil(4) as usize];
        for (at, symbol) in constants.iter().enumerate() {
            let (from, to) = (symbol.address - first, symbol.address + symbol.bytes - first);
            places[from as usize / 4..to.div_ceil(4) as usize].fill(at as u16);
        }
        Constants { first, places, count: constants.len() }
    }
}

/// Tells cycles by routine, between marks.
struct Routines<'a> {
    /// Of each word of code, the routine, one more than the last for the bench, or [`NOBODY`]; with [`ENTRY`], where it
    /// begins.
    places: &'a [u16],
    constants: &'a Constants,
    stack: Activations,
    /// Whether each routine, and behind them the bench, has read each constant.
    read: Vec<bool>,
    at: u16,
    last: Cycles,
    is_timed: bool,
    mark: u32,
    local: Vec<Cycles>,
    /// Of each turn, local cycles and how deep the stack was.
    done: Vec<(Vec<Cycles>, u32)>,
}

impl Observer for Routines<'_> {
    #[inline(always)]
    fn fetch(&mut self, cycle: Cycles, address: u32) {
        if self.is_timed {
            self.local[usize::from(self.at)] += cycle - self.last;
        }
        self.last = cycle;
        let place = self.places.get(address as usize / 4).copied().unwrap_or(NOBODY);
        if place != self.at && place != NOBODY {
            self.go(place);
        }
    }

    #[inline(always)]
    fn load(&mut self, _cycle: Cycles, address: u32, _value: u8) {
        let word = address.wrapping_sub(self.constants.first) / 4;
        if let Some(&constant) = self.constants.places.get(word as usize)
            && self.is_timed
            && constant != NOBODY
        {
            self.read[usize::from(self.at) * self.constants.count + usize::from(constant)] = true;
        }
    }

    #[inline(always)]
    fn stack(&mut self, address: u32) {
        self.stack.set(address);
    }

    #[inline(always)]
    fn store(&mut self, _cycle: Cycles, address: u32, value: u8) {
        let byte = address.wrapping_sub(MARK);
        if byte < 4 {
            self.mark = self.mark & !(0xff << (8 * byte)) | u32::from(value) << (8 * byte);
            if byte == 3 {
                self.tell();
            }
        }
    }
}

impl Routines<'_> {
    /// Into another routine, or to where this one begins, which is a call only from elsewhere: none calls itself.
    fn go(&mut self, place: u16) {
        let routine = place & !ENTRY;
        if routine == self.at {
            return;
        }
        match place & ENTRY {
            0 => self.stack.back(routine.into()),
            _ => self.stack.call(routine.into()),
        }
        self.at = routine;
    }

    #[cold]
    fn tell(&mut self) {
        if self.mark == BEGIN {
            self.is_timed = true;
            self.stack.take_deepest_bytes();
        } else if self.mark == FINISH {
            self.is_timed = false;
            let local = std::mem::replace(&mut self.local, vec![0; ROUTINES.len() + 1]);
            self.done.push((local, self.stack.take_deepest_bytes()));
        }
    }
}

/// A program that requests are put to.
pub struct Bench<'a> {
    image: &'a Image,
    profile: Profile,
    units: Arc<Units>,
    places: Vec<u16>,
    constants: Constants,
    kept: Option<&'a Measurements<'a>>,
}

impl<'a> Bench<'a> {
    /// An image on a processor.
    pub fn new(image: &'a Image, profile: Profile) -> Bench<'a> {
        let bench = u16::try_from(ROUTINES.len()).expect("there are few routines");
        let end = image.functions.iter().map(|symbol| symbol.address + symbol.bytes).max().unwrap_or(0);
        let mut places = vec![NOBODY; end.div_ceil(4) as usize];
        for symbol in &image.functions {
            let routine = ROUTINES.iter().position(|routine| routine.name == symbol.name);
            let place = match routine {
                Some(routine) => routine as u16,
                None if is_compilers(&symbol.name) => NOBODY,
                None => bench,
            };
            let first = symbol.address as usize / 4;
            places[first..(symbol.address + symbol.bytes).div_ceil(4) as usize].fill(place);
            places[first] |= ENTRY;
        }
        let (units, constants) = (Arc::default(), Constants::new(&image.constants));
        Bench { image, profile, units, places, constants, kept: None }
    }

    /// The same on a processor that has these instructions of one's own.
    ///
    /// # Panics
    /// When it keeps what it measures, which does not tell of them.
    #[must_use]
    pub fn with_units(self, units: Arc<Units>) -> Bench<'a> {
        assert!(self.kept.is_none(), "what is kept does not tell of instructions of one's own");
        Bench { units, ..self }
    }

    /// The same, which keeps what it measures of requests by themselves.
    ///
    /// # Panics
    /// When it has instructions of one's own, which what is kept does not tell of.
    #[must_use]
    pub fn keeping(self, kept: &'a Measurements<'a>) -> Bench<'a> {
        assert!(self.units.as_slice().is_empty(), "what is kept does not tell of instructions of one's own");
        Bench { kept: Some(kept), ..self }
    }

    /// The image that is asked.
    pub fn image(&self) -> &Image {
        self.image
    }

    /// The processor.
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// Its instructions of one's own.
    pub fn units(&self) -> &Arc<Units> {
        &self.units
    }

    /// Does a request by itself, or finds what it took where that is kept.
    ///
    /// # Errors
    /// The library refuses it, the program does not end well, or it cannot be kept.
    pub fn measure_one(&self, request: &Request) -> Result<Measured, Error> {
        let measure = || Ok(self.measure(std::slice::from_ref(request))?.remove(0));
        match self.kept {
            Some(kept) => kept.of(request, measure),
            None => measure(),
        }
    }

    /// Does requests one behind the other.
    ///
    /// # Errors
    /// The library refuses one, or the program does not end well.
    pub fn measure(&self, requests: &[Request]) -> Result<Vec<Measured>, Error> {
        let mut measured = Vec::with_capacity(requests.len());
        let mut rest = requests;
        while !rest.is_empty() {
            let (bytes, taken) = lay(rest.iter().map(Request::bytes));
            let (now, later) = rest.split_at(taken);
            measured.extend(self.run(now, &bytes)?);
            rest = later;
        }
        Ok(measured)
    }

    /// Runs a program that requests are put before, and somebody watches.
    fn start<O: Observer>(&self, bytes: &[u8], watch: &mut O) -> Result<Outcome, Error> {
        let mut program = self.image.program.clone();
        program.place(REQUESTS, bytes).map_err(|error| Error::Image { why: error.to_string() })?;
        let outcome = bare::run(&program, self.profile, &self.units, CYCLES_MAX, watch);
        match outcome.end {
            End::Exit(0) => Ok(outcome),
            end => Err(Error::Image { why: format!("it ended with {end:?}") }),
        }
    }

    /// Does a request with nobody watching; instructions and cycles of the whole run.
    ///
    /// # Errors
    /// The library refuses it, or the program does not end well.
    pub fn run_unwatched(&self, request: &Request) -> Result<(u64, Cycles), Error> {
        let (bytes, _) = lay([request.bytes()]);
        let outcome = self.start(&bytes, &mut ())?;
        Response::read(request.operation, &outcome.console)?;
        Ok((outcome.spent.instructions, outcome.cycle))
    }

    /// Who calls whom while a request is timed, each time that it is done together.
    ///
    /// # Errors
    /// As above.
    pub fn calls(&self, request: &Request) -> Result<CallGraph, Error> {
        let symbol = |symbol: &Symbol| elf::Symbol {
            name: symbol.name.clone(),
            address: symbol.address,
            bytes: symbol.bytes,
            function: true,
        };
        let symbols: Vec<elf::Symbol> = self.image.functions.iter().map(symbol).collect();
        let mut calls = Calls::new(self.image.listing(&self.units), &symbols).between(BEGIN, FINISH);
        self.watch(request, &mut calls)?;
        Ok(calls.finish())
    }

    /// Does a request while somebody watches.
    pub(crate) fn watch<O: Observer>(&self, request: &Request, watch: &mut O) -> Result<Response, Error> {
        let (bytes, _) = lay([request.bytes()]);
        Response::read(request.operation, &self.start(&bytes, watch)?.console)
    }

    fn run(&self, requests: &[Request], bytes: &[u8]) -> Result<Vec<Measured>, Error> {
        let mut routines = Routines {
            places: &self.places,
            constants: &self.constants,
            stack: Activations::new(),
            read: vec![false; (ROUTINES.len() + 1) * self.constants.count],
            at: ROUTINES.len() as u16,
            last: 0,
            is_timed: false,
            mark: 0,
            local: vec![0; ROUTINES.len() + 1],
            done: Vec::new(),
        };
        let outcome = self.start(bytes, &mut routines)?;
        let mut console = &outcome.console[..];
        let mut measured = Vec::with_capacity(requests.len());
        // The bench reads for nobody.
        let read = routines.read.iter().enumerate().filter(|(_, is_read)| **is_read);
        let read = read.map(|(at, _)| (at / self.constants.count, at % self.constants.count));
        let read: Vec<(usize, usize)> = read.filter(|(routine, _)| *routine < ROUTINES.len()).collect();
        let frames = routines.stack.finish();
        let mut done = routines.done.into_iter();
        for request in requests {
            let (response, rest) = Response::take(request.operation, console)?;
            console = rest;
            let turns = done.by_ref().take(request.repeats.into()).map(|(mut local_cycles, stack_bytes)| {
                let cycles = local_cycles.iter().sum();
                let bench_cycles = local_cycles.pop().expect("the bench is the last");
                Turn { cycles, local_cycles, bench_cycles, stack_bytes }
            });
            let (turns, read, frames) = (turns.collect(), read.clone(), frames.clone());
            measured.push(Measured { response, turns, read, frames });
        }
        Ok(measured)
    }
}

/// A function that compilers call of their own accord.
fn is_compilers(name: &str) -> bool {
    name.starts_with("__") || ["memcpy", "memset", "memmove", "memcmp"].contains(&name)
}

/// The first of these requests as they lie in memory, each behind its length and a length of 0 at the end, and how many
/// they are.
///
/// # Panics
/// When the first has no room.
pub fn lay(requests: impl IntoIterator<Item = Vec<u8>>) -> (Vec<u8>, usize) {
    let mut bytes = Vec::new();
    let mut taken = 0;
    for asked in requests {
        // Both lengths, and what is asked with up to a whole word.
        if bytes.len() + 8 + asked.len().next_multiple_of(4) > REQUESTS_BYTES_MAX {
            assert!(taken != 0, "a request of {} bytes, of at most {REQUESTS_BYTES_MAX}", asked.len());
            break;
        }
        bytes.extend((asked.len() as u32).to_le_bytes());
        bytes.extend(asked);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        taken += 1;
    }
    bytes.extend([0; 4]);
    (bytes, taken)
}
