//! What a guest leaves idle: between two events of a clock, and in a round of it.
//!
//! Owns: for each pair of events that follow each other, the guest's own cycles from the one's instant to the
//! other's, over all paths, and what is left of the time that its directives set between them. The instant of an
//! event is the last cycle of its instruction, so that instruction counts to the gap before it. Leaves the use of
//! the idle time to the weaver, and the proof of instants to `proof`.

use std::fmt;

use crate::analysis::{self, Routine};
use crate::cfg::BlockId;
use crate::directive::Directive;
use crate::loops::LoopId;
use crate::program::{Callee, Function, Point, Program};
use crate::time::{Bounds, Time, join};
use crate::trips::Untold;

/// An instruction at an instant of a clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its name.
    pub name: String,
    /// The instruction.
    pub point: Point,
    /// Cycles after the clock's start.
    pub at: u32,
    /// What it may deviate, either way, in cycles.
    pub jitter: u32,
    /// Whether a round may be without it.
    pub maybe: bool,
}

/// From one event to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The event it begins with, by its number.
    pub from: usize,
    /// The event it ends with; `None` where the clock is over or the function ends.
    pub to: Option<usize>,
    /// Cycles from instant to instant by the directives; `None` where nothing ends it.
    pub due_cycles: Option<u32>,
    /// Cycles that the guest itself executes.
    pub busy: Bounds,
}

impl Gap {
    /// What is left idle, in cycles: at least, at most. Below zero the guest is too slow for its directives.
    pub fn idle_cycles(&self) -> Option<(i64, i64)> {
        let left = |busy: u64| i64::from(self.due_cycles.unwrap_or(0)).saturating_sub_unsigned(busy);
        self.due_cycles.map(|_| (left(self.busy.worst), left(self.busy.best)))
    }
}

/// What a guest leaves idle of one clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slack {
    /// The clock.
    pub clock: String,
    /// Cycles after which it may start again, ascending.
    pub periods: Vec<u32>,
    /// Its events in the order of the layout.
    pub events: Vec<Event>,
    /// From event to event; one for each period where the clock starts again.
    pub gaps: Vec<Gap>,
    /// From start to start, whatever events are between; one for each period.
    pub rounds: Vec<Gap>,
}

impl Slack {
    /// The shortest period that the guest alone can keep, as far as its directives leave gaps to it.
    pub fn period_cycles_min(&self) -> u64 {
        let starts = self.gaps.iter().filter(|gap| gap.to.is_some_and(|to| self.events[to].at == 0));
        let needs = starts.map(|gap| u64::from(self.events[gap.from].at).saturating_add(gap.busy.worst));
        needs.max().unwrap_or(0)
    }
}

/// Why there is no slack to tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An event or `over` of a clock that the function does not declare.
    NoClock {
        /// Where.
        point: Point,
        /// The clock; `None` when it is not named and there is not exactly one.
        name: Option<String>,
    },
    /// An event follows another that is not before it in the round.
    Order {
        /// The earlier instruction.
        from: Point,
        /// The later one.
        to: Point,
    },
    /// An event of a clock in a function that is called.
    InCallee {
        /// The call.
        point: Point,
    },
    /// The time between events has no bound.
    Time(analysis::Fault),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::NoClock { name: Some(name), .. } => write!(f, "no clock `{name}` is declared here"),
            Fault::NoClock { name: None, .. } => {
                write!(f, "it is not clear which clock this is of\nhelp: write `clock=NAME`")
            }
            Fault::Order { .. } => write!(f, "this event is reached behind one that is due later"),
            Fault::InCallee { .. } => write!(f, "what is called here has events\nhelp: inline it"),
            Fault::Time(fault) => fault.fmt(f),
        }
    }
}

/// The slack of every clock of a function, in the order of their directives.
pub fn of(
    program: &Program,
    function: &Function,
    routine: &Routine,
    time: &Time,
) -> Result<Vec<Slack>, Fault> {
    let mut all: Vec<Slack> = function
        .directives
        .iter()
        .filter_map(|written| match &written.directive {
            Directive::Clock { name, periods, .. } => Some(Slack {
                clock: name.clone(),
                periods: periods.clone(),
                events: Vec::new(),
                gaps: Vec::new(),
                rounds: Vec::new(),
            }),
            _ => None,
        })
        .collect();
    let jitters: Vec<u32> = function
        .directives
        .iter()
        .filter_map(|written| match written.directive {
            Directive::Clock { jitter, .. } => Some(jitter),
            _ => None,
        })
        .collect();
    let mut overs = vec![Vec::new(); all.len()];
    for point in routine.cfg.blocks.iter().flat_map(|block| block.points()) {
        for written in &program.code[point].directives {
            match &written.directive {
                Directive::Event { name, clock, at, jitter, maybe, .. } => {
                    let index = clock_of(&all, clock.as_deref(), point)?;
                    let jitter = jitter.unwrap_or(jitters[index]);
                    all[index].events.push(Event {
                        name: name.clone(),
                        point,
                        at: *at,
                        jitter,
                        maybe: *maybe,
                    });
                }
                Directive::Over { clock } => overs[clock_of(&all, clock.as_deref(), point)?].push(point),
                _ => {}
            }
        }
    }
    for (slack, overs) in all.iter_mut().zip(&overs) {
        fill(program, routine, time, slack, overs)?;
    }
    Ok(all)
}

fn clock_of(all: &[Slack], name: Option<&str>, point: Point) -> Result<usize, Fault> {
    let found = match name {
        Some(name) => all.iter().position(|slack| slack.clock == name),
        None => (all.len() == 1).then_some(0),
    };
    found.ok_or_else(|| Fault::NoClock { point, name: name.map(ToOwned::to_owned) })
}

/// Finds the gaps and rounds of a clock.
fn fill(
    program: &Program,
    routine: &Routine,
    time: &Time,
    slack: &mut Slack,
    overs: &[Point],
) -> Result<(), Fault> {
    let starts: Vec<usize> = (0..slack.events.len()).filter(|&event| slack.events[event].at == 0).collect();
    let every: Vec<usize> = (0..slack.events.len()).collect();
    for from in 0..slack.events.len() {
        let ways = Ways { program, routine, time, events: &slack.events, cuts: &every, overs };
        for (to, busy) in ways.from(from)? {
            let gaps = between(slack, from, to, busy)?;
            slack.gaps.extend(gaps);
        }
    }
    for &from in &starts {
        let ways = Ways { program, routine, time, events: &slack.events, cuts: &starts, overs };
        for (to, busy) in ways.from(from)? {
            if to.is_some() {
                let rounds = between(slack, from, to, busy)?;
                slack.rounds.extend(rounds);
            }
        }
    }
    Ok(())
}

/// The gap from one event to another, for each period that may lie in it.
fn between(slack: &Slack, from: usize, to: Option<usize>, busy: Bounds) -> Result<Vec<Gap>, Fault> {
    let gap = |due_cycles| Gap { from, to, due_cycles, busy };
    let Some(next) = to.map(|to| &slack.events[to]) else { return Ok(vec![gap(None)]) };
    let start = &slack.events[from];
    if next.at == 0 {
        return Ok(slack.periods.iter().map(|period| gap(Some(period.saturating_sub(start.at)))).collect());
    }
    match next.at.checked_sub(start.at) {
        Some(due) if due > 0 => Ok(vec![gap(Some(due))]),
        _ => Err(Fault::Order { from: start.point, to: next.point }),
    }
}

/// The ways between events.
struct Ways<'w> {
    program: &'w Program,
    routine: &'w Routine,
    time: &'w Time,
    events: &'w [Event],
    /// The events that end a way, by their numbers.
    cuts: &'w [usize],
    /// Where the clock is over.
    overs: &'w [Point],
}

/// What ways have led to so far.
struct Found {
    ends: Vec<(Option<usize>, Bounds)>,
    /// Before blocks, along edges forward.
    at: Vec<Option<Bounds>>,
    /// Before blocks, along edges back.
    back: Vec<Option<Bounds>>,
}

impl Found {
    fn end(&mut self, to: Option<usize>, bounds: Bounds) {
        match self.ends.iter_mut().find(|(known, _)| *known == to) {
            Some((_, known)) => *known = known.or(bounds),
            None => self.ends.push((to, bounds)),
        }
    }
}

impl Ways<'_> {
    /// Where one gets from behind an event, and after how many cycles of the guest.
    fn from(&self, event: usize) -> Result<Vec<(Option<usize>, Bounds)>, Fault> {
        let cfg = &self.routine.cfg;
        let count = cfg.blocks.len();
        let mut found = Found { ends: Vec::new(), at: vec![None; count], back: vec![None; count] };
        let point = self.events[event].point;
        let block = cfg.block_of(point).expect("events are looked for in blocks");
        if point == cfg.blocks[block].last() {
            self.leave(&mut found, block, Bounds::default(), true);
        } else {
            self.go(&mut found, block, point + 1, Bounds::default())?;
        }
        // A way without an event takes the back edge of each loop around it at most once.
        for _ in 0..self.routine.loops.all.len() + 2 {
            for &id in cfg.order() {
                let Some(arrived) = found.at[id].take() else { continue };
                match self.step_over(id) {
                    Some(inner) => {
                        let time =
                            self.time.loops[inner].as_ref().map_err(|fault| Fault::Time(fault.clone()))?;
                        for &(to, bounds) in &time.ways_out {
                            self.deliver(&mut found, id, to, arrived.then(bounds));
                        }
                        if let Some(bounds) = time.leaving {
                            found.end(None, arrived.then(bounds));
                        }
                    }
                    None => self.go(&mut found, id, cfg.blocks[id].first, arrived)?,
                }
            }
            if found.back.iter().all(Option::is_none) {
                found.ends.sort_by_key(|&(to, _)| (to.is_none(), to));
                return Ok(found.ends);
            }
            std::mem::swap(&mut found.at, &mut found.back);
        }
        let header = found.at.iter().position(Option::is_some).expect("a way is still open");
        let exits = vec![cfg.blocks[header].last()];
        let point = cfg.blocks[header].first;
        Err(Fault::Time(analysis::Fault::Unbounded { point, why: Untold::Undecided { exits } }))
    }

    /// The outermost loop around a block in which no way ends.
    fn step_over(&self, block: BlockId) -> Option<LoopId> {
        let loops = &self.routine.loops;
        let ends = |point: Point| self.overs.contains(&point) || self.cut(point).is_some();
        let is_plain = |id: &LoopId| {
            let blocks = loops.all[*id].blocks.iter();
            !blocks.flat_map(|&block| self.routine.cfg.blocks[block].points()).any(ends)
        };
        loops.around(block).take_while(is_plain).last()
    }

    fn cut(&self, point: Point) -> Option<usize> {
        self.cuts.iter().copied().find(|&event| self.events[event].point == point)
    }

    /// Goes through a block from `first` on.
    fn go(&self, found: &mut Found, block: BlockId, first: Point, arrived: Bounds) -> Result<(), Fault> {
        let last = self.routine.cfg.blocks[block].last();
        let mut bounds = arrived;
        for point in first..=last {
            if self.overs.contains(&point) {
                found.end(None, bounds);
                return Ok(());
            }
            if let Some((_, call)) = self.time.calls.iter().find(|(call, _)| *call == point) {
                if self.calls_events(point) {
                    return Err(Fault::InCallee { point });
                }
                bounds = bounds.then(call.clone().map_err(Fault::Time)?);
            }
            if let Some(event) = self.cut(point) {
                let (plain, taken) = (self.program.cycles(point), self.program.taken_cycles(point));
                let own = Bounds { best: plain.min(taken).into(), worst: plain.max(taken).into() };
                found.end(Some(event), bounds.then(own));
                return Ok(());
            }
            if point != last {
                bounds = bounds.then(Bounds::exactly(self.program.cycles(point).into()));
            }
        }
        self.leave(found, block, bounds, false);
        Ok(())
    }

    /// Leaves a block by all its ways; `paid` when its last instruction has been counted.
    fn leave(&self, found: &mut Found, block: BlockId, bounds: Bounds, paid: bool) {
        let own = |cycles: u32| Bounds::exactly(if paid { 0 } else { cycles.into() });
        let here = &self.routine.cfg.blocks[block];
        for edge in &here.successors {
            self.deliver(found, block, edge.to, bounds.then(own(edge.cycles)));
        }
        for exit in &here.exits {
            found.end(None, bounds.then(own(exit.cycles)));
        }
    }

    fn deliver(&self, found: &mut Found, from: BlockId, to: BlockId, bounds: Bounds) {
        let forward = self.routine.cfg.position(to) > self.routine.cfg.position(from);
        join(if forward { &mut found.at[to] } else { &mut found.back[to] }, bounds);
    }

    /// Whether a call leads to code with events.
    fn calls_events(&self, point: Point) -> bool {
        let (mut open, mut seen) = (crate::cfg::callees(self.program, point), Vec::new());
        while let Some(callee) = open.pop() {
            let Callee::Known(entry) = callee else { continue };
            let Some(function) = self.program.function_at(entry).filter(|_| !seen.contains(&entry)) else {
                continue;
            };
            seen.push(entry);
            for inner in function.entry..function.end {
                let written = &self.program.code[inner].directives;
                if written.iter().any(|written| matches!(written.directive, Directive::Event { .. })) {
                    return true;
                }
                open.extend(crate::cfg::callees(self.program, inner));
            }
        }
        false
    }
}
