//! What the directives promise: clocks with their events, and where each instruction touches them.
//!
//! Owns: gathering the directives of the code that can be reached, and their agreement with one another.
//! Loops with trip counts are `trips`'s, what happens on a path is `rounds`'s.

use std::collections::HashMap;

use crate::directive::{Directive, instant_count, instants};
use crate::limits::PROOF_EVENTS_MAX;
use crate::program::{Function, Origin, Point, Program, Written};

use super::violation::Kind;

/// A clock and all its events.
#[derive(Debug)]
pub(super) struct Clock {
    pub(super) name: String,
    /// Ascending, not empty.
    pub(super) periods: Vec<u32>,
    pub(super) jitter: u32,
    pub(super) events: Vec<Event>,
}

/// What happens at one time of a round, wherever in the code it stands.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) name: String,
    pub(super) at: u32,
    /// The widest of those given where it stands.
    pub(super) jitter: u32,
    /// Whether a round may be without it; only if every place says so.
    pub(super) maybe: bool,
    /// Whether the clock stops with it, wherever it stands.
    pub(super) last: bool,
    /// Where it stands.
    pub(super) points: Vec<Point>,
}

/// An event where it stands.
#[derive(Clone, Debug)]
pub(super) struct Mark {
    pub(super) clock: usize,
    /// One; in a loop inside a round one for each run, in their order.
    pub(super) events: Vec<usize>,
    pub(super) jitter: u32,
    /// Whether the clock stops with it.
    pub(super) last: bool,
}

/// A clock that follows another crystal.
#[derive(Clone, Debug)]
pub(super) struct Drift {
    pub(super) clock: usize,
    pub(super) ppm: u32,
    pub(super) rounds: u32,
    pub(super) until: Option<u32>,
    pub(super) origin: Origin,
}

/// The clocks of the code and what its instructions have to do with them.
#[derive(Debug, Default)]
pub(super) struct Contract {
    pub(super) clocks: Vec<Clock>,
    pub(super) marks: HashMap<Point, Vec<Mark>>,
    pub(super) overs: HashMap<Point, Vec<usize>>,
    pub(super) targets: HashMap<Point, Vec<Point>>,
    /// The servers, by name, and the cycles between two runs, at most.
    pub(super) servers: Vec<(String, u32)>,
    /// The servers that an instruction is the first of.
    pub(super) runs: HashMap<Point, Vec<usize>>,
    pub(super) drifts: Vec<Drift>,
}

/// A directive that does not make sense, and where.
pub(super) type Fault = (Kind, Origin);

impl Contract {
    /// Reads the directives of the functions that `reached` are entries of, and of the points in them.
    pub(super) fn read(program: &Program, functions: &[&Function]) -> Result<Contract, Fault> {
        let mut contract = Contract::default();
        for function in functions {
            let written = program.code[function.entry..function.end].iter().flat_map(|step| &step.directives);
            for written in function.directives.iter().chain(written) {
                contract.declare(written)?;
            }
        }
        for written in functions.iter().flat_map(|function| &function.directives) {
            contract.follow(written)?;
        }
        for function in functions {
            for point in function.entry..function.end {
                for written in &program.code[point].directives {
                    contract.place(program, point, written)?;
                }
            }
        }
        if contract.clocks.is_empty() {
            return Err((Kind::NoClock, origin_of(program, functions)));
        }
        for clock in &contract.clocks {
            let has_start = clock.events.iter().any(|event| event.at == 0);
            if !has_start {
                let kind = Kind::NoStart { clock: clock.name.clone() };
                return Err((kind, origin_of(program, functions)));
            }
            if clock.events.len() > PROOF_EVENTS_MAX {
                let (clock, found) = (clock.name.clone(), clock.events.len() as u64);
                let kind = Kind::TooManyEvents { clock, found };
                return Err((kind, origin_of(program, functions)));
            }
        }
        Ok(contract)
    }

    fn declare(&mut self, written: &Written) -> Result<(), Fault> {
        if let Directive::Server { name, within } = &written.directive {
            self.servers.push((name.clone(), *within));
        }
        let Directive::Clock { name, periods, jitter } = &written.directive else { return Ok(()) };
        let mut periods = periods.clone();
        periods.sort_unstable();
        periods.dedup();
        if periods.first().is_none_or(|&period| period == 0) {
            return Err((Kind::NoPeriod { clock: name.clone() }, written.origin));
        }
        match self.clocks.iter().find(|clock| clock.name == *name) {
            // Functions that share a clock may each declare it.
            Some(clock) if clock.periods == periods && clock.jitter == *jitter => Ok(()),
            Some(_) => Err((Kind::ClockTwice { clock: name.clone() }, written.origin)),
            None => {
                let clock = Clock { name: name.clone(), periods, jitter: *jitter, events: Vec::new() };
                self.clocks.push(clock);
                Ok(())
            }
        }
    }

    /// The clock of this name, or the only one.
    fn clock(&self, name: Option<&str>, origin: Origin) -> Result<usize, Fault> {
        match name {
            Some(name) => {
                let found = self.clocks.iter().position(|clock| clock.name == name);
                found.ok_or_else(|| (Kind::UnknownClock { clock: name.to_owned() }, origin))
            }
            None if self.clocks.len() == 1 => Ok(0),
            None => {
                let clocks = self.clocks.iter().map(|clock| clock.name.clone()).collect();
                Err((Kind::WhichClock { clocks }, origin))
            }
        }
    }

    fn place(&mut self, program: &Program, point: Point, written: &Written) -> Result<(), Fault> {
        match &written.directive {
            Directive::Event { name, clock, at, jitter, repeats, maybe, last } => {
                let clock = self.clock(clock.as_deref(), written.origin)?;
                if instant_count(repeats) > PROOF_EVENTS_MAX as u64 {
                    let (clock, found) = (self.clocks[clock].name.clone(), instant_count(repeats));
                    return Err((Kind::TooManyEvents { clock, found }, written.origin));
                }
                let jitter = jitter.unwrap_or(self.clocks[clock].jitter);
                let place = |at| Event {
                    name: name.clone(),
                    at,
                    jitter,
                    maybe: *maybe,
                    last: *last,
                    points: vec![point],
                };
                let instants = instants(*at, repeats).into_iter();
                let events = instants.map(|at| self.clocks[clock].event(place(at))).collect();
                self.marks.entry(point).or_default().push(Mark { clock, events, jitter, last: *last });
            }
            Directive::Over { clock } => {
                let clock = self.clock(clock.as_deref(), written.origin)?;
                self.overs.entry(point).or_default().push(clock);
            }
            Directive::Ran(name) => {
                let server = self.servers.iter().position(|(known, _)| known == name);
                let unknown = || (Kind::UnknownServer { server: name.clone() }, written.origin);
                self.runs.entry(point).or_default().push(server.ok_or_else(unknown)?);
            }
            Directive::Targets(names) => {
                for name in names {
                    let Some(function) = program.function(name) else {
                        return Err((Kind::UnknownTarget { name: name.clone() }, written.origin));
                    };
                    self.targets.entry(point).or_default().push(function.entry);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn follow(&mut self, written: &Written) -> Result<(), Fault> {
        if let Directive::Drift { clock, ppm, rounds, until } = &written.directive {
            let (clock, origin) = (self.clock(Some(clock), written.origin)?, written.origin);
            self.drifts.push(Drift { clock, ppm: *ppm, rounds: *rounds, until: *until, origin });
        }
        Ok(())
    }
}

impl Clock {
    /// Adds a place to an event.
    fn event(&mut self, place: Event) -> usize {
        let same = |event: &Event| event.name == place.name && event.at == place.at;
        if let Some(index) = self.events.iter().position(same) {
            let event = &mut self.events[index];
            event.jitter = event.jitter.max(place.jitter);
            event.maybe &= place.maybe;
            event.last |= place.last;
            event.points.extend(place.points);
            return index;
        }
        self.events.push(place);
        self.events.len() - 1
    }

    /// The most cycles between two starts in a row.
    pub(super) fn period_max(&self) -> u64 {
        let jitters = self.events.iter().filter(|event| event.at == 0).map(|event| event.jitter);
        let period = self.periods.last().copied().unwrap_or_default();
        u64::from(period) + u64::from(jitters.max().unwrap_or_default())
    }

    /// The cycle behind which a round has no event any more.
    pub(super) fn last_cycle(&self) -> u32 {
        let start = self.periods.last().copied().unwrap_or_default();
        let ends = self.events.iter().filter(|event| event.at == 0 || event.last);
        let ends = ends.map(|event| start.max(event.at).saturating_add(event.jitter));
        ends.max().unwrap_or(start)
    }
}

/// Where a fault is written that is none of one line.
fn origin_of(program: &Program, functions: &[&Function]) -> Origin {
    functions
        .first()
        .map_or(Origin::Line { text: 0, line: 0 }, |function| program.code[function.entry].origin)
}
