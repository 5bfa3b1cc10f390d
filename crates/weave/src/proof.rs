//! Proves that every timed instruction of a function executes at exactly its cycle, on every path.
//!
//! Owns: [`prove`], which explores all states that execution of the function can be in, and says what it found:
//! a [`Proof`], or a [`Violation`] with a path to it. It reads a [`Program`] and knows nothing of how
//! that was made. Both ways of a branch are taken unless values that are known decide, so what is proved holds for
//! all inputs; a function may be refused although no input breaks it.
//!
//! What the proof rests on, beyond the cycles of the instruction table: nothing but the code at hand executes (no
//! reset, and no interrupt where they are not checked); data is in internal memory (external memory adds wait
//! states that are not counted); stores through pointers and through the linker's symbols reach neither registers
//! nor SREG nor return addresses, nor where STS has kept SREG; frames that code makes by writing to the stack pointer are undone before it
//! returns; a trip count that no known value contradicts is true ([`Proof::trusted`] lists those that something
//! rests on); unknown code that is called while all clocks are stopped returns to where it was called from, with interrupts as they
//! were.

mod contract;
mod drift;
mod explore;
mod graph;
mod relevant;
mod rounds;
mod stack;
mod trips;
mod values;
mod violation;
mod window;

use std::collections::BTreeSet;

pub use drift::{Followed, rounds_max};
pub use violation::{Kind, Violation, Way};
pub use window::{Unbounded, Window};

use crate::error::Place;
use crate::limits::{PROOF_STATES_MAX, PROOF_VARIANTS_MAX};
use crate::program::{Function, Origin, Point, Program};
use contract::Contract;
use explore::{Exploration, Found};
use graph::Graph;
use rounds::Round;
use trips::Trips;

/// What is promised of interrupts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interrupts {
    /// Nothing: the function must turn them off itself before a clock runs. A handler (`__vector_…`) is entered
    /// with interrupts off.
    #[default]
    Checked,
    /// The function is only called with interrupts off.
    OffAtEntry,
    /// None comes, or none is minded: they may be on while a clock runs.
    Allowed,
}

/// What a proof is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// What is promised of interrupts.
    pub interrupts: Interrupts,
    /// States that it may have.
    pub states_max: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { interrupts: Interrupts::default(), states_max: PROOF_STATES_MAX }
    }
}

/// An event that was proved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proved {
    /// The event.
    pub event: String,
    /// Its clock.
    pub clock: String,
    /// Cycles after the clock's start; 0 is the start itself.
    pub at: u32,
    /// For a start: the cycles after which it may come again.
    pub periods: Vec<u32>,
    /// What it may deviate, either way, in cycles.
    pub jitter: u32,
    /// Whether a round may be without it.
    pub maybe: bool,
    /// The instructions that it stands on.
    pub points: Vec<Point>,
    /// In how many states it happens.
    pub states: u64,
    /// The least and the greatest cycles that it deviates; none of a start that is never a second one.
    pub deviation: Option<(i64, i64)>,
}

/// What the function takes of the stack, return addresses of its callees included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackUse {
    /// The most bytes of pushes and calls.
    pub bytes: u32,
    /// Whether frames, whose size is not known here, come on top.
    pub framed: bool,
}

/// A trip count that the proof takes on trust: what is known of the values does not imply it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trusted {
    /// The loop's header.
    pub header: Point,
    /// Where that is written.
    pub origin: Origin,
    /// The least number of runs.
    pub min: u32,
    /// The most.
    pub max: u32,
    /// Whether any number between them is one.
    pub between: bool,
}

/// What is proved of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// The function.
    pub function: String,
    /// Every event, by clock and cycle.
    pub events: Vec<Proved>,
    /// Every server, the most cycles between two of its runs while a clock runs, and how many they may be.
    pub servers: Vec<(String, u32, u32)>,
    /// Trip counts that the proof holds under.
    pub trusted: Vec<Trusted>,
    /// Clocks that follow another crystal.
    pub followed: Vec<Followed>,
    /// The longest time that interrupts are known to be off.
    pub window: Window,
    /// What it takes of the stack.
    pub stack: StackUse,
    /// How many states were kept: where ways meet or part.
    pub states: usize,
}

/// What the directives of a function, with all that it calls, say by themselves: clocks that follow another crystal.
///
/// # Errors
/// When they do not agree with one another, or cannot be true.
pub fn promised(program: &Program, function: &Function) -> Result<Vec<Followed>, Box<Violation>> {
    read(program, function, &Graph::reach(program, function)).map(|(_, followed)| followed)
}

fn read(
    program: &Program,
    function: &Function,
    graph: &Graph,
) -> Result<(Contract, Vec<Followed>), Box<Violation>> {
    let contract = Contract::read(program, &graph.functions);
    let both = contract.and_then(|contract| drift::followed(&contract).map(|followed| (contract, followed)));
    both.map_err(|(kind, origin)| {
        let (function, place) = (function.name.clone(), place(program, origin));
        Box::new(Violation { kind, function, point: None, origin, place, path: Vec::new() })
    })
}

/// Proves a function, with all that it calls.
///
/// # Errors
/// What may go wrong, with a path to it; or why it cannot be proved.
///
/// # Panics
/// If `function` is not one of `program`.
pub fn prove(program: &Program, function: &Function, options: Options) -> Result<Proof, Box<Violation>> {
    assert!(program.functions.contains(function), "`{}` is not of the program", function.name);
    let violation = |kind, origin, point, path| {
        let (function, place) = (function.name.clone(), place(program, origin));
        Box::new(Violation { kind, function, point, origin, place, path })
    };
    let graph = Graph::reach(program, function);
    let (contract, followed) = read(program, function, &graph)?;
    let trips =
        Trips::find(program, &graph).map_err(|(kind, origin)| violation(kind, origin, None, Vec::new()))?;
    let is_handler = function.name.starts_with("__vector_");
    let off = options.interrupts == Interrupts::OffAtEntry || is_handler;
    let mut tries = PROOF_VARIANTS_MAX.into_iter().peekable();
    let exploration = loop {
        let variants_max = tries.next().expect("the last try ends the loop");
        let mut exploration = Exploration::new(program, &graph, &contract, &trips, options, variants_max);
        match exploration.run(function.entry, off) {
            Ok(()) => break exploration,
            // Found wrong with too little known, perhaps; with more that is told apart there are more states.
            Err(found)
                if exploration.has_forgotten
                    && !matches!(found.kind, Kind::TooManyStates { .. })
                    && tries.peek().is_some() => {}
            Err(found) => {
                let origin = program.code[found.point].origin;
                let path = path(program, &exploration, &found);
                return Err(violation(found.kind, origin, Some(found.point), path));
            }
        }
    };
    let proof = conclude(program, function, &exploration, followed);
    let never = proof.events.iter().find(|event| event.states == 0);
    match never {
        None => Ok(proof),
        Some(event) => {
            let point = event.points.first().copied();
            let origin = program.code[point.unwrap_or(function.entry)].origin;
            let (event, clock) = (event.event.clone(), event.clock.clone());
            Err(violation(Kind::NeverHappens { event, clock }, origin, point, Vec::new()))
        }
    }
}

/// A line that can be shown.
fn place(program: &Program, origin: Origin) -> Option<Box<Place>> {
    matches!(origin, Origin::Line { .. }).then(|| program.place(origin))
}

fn conclude(
    program: &Program,
    function: &Function,
    exploration: &Exploration<'_>,
    followed: Vec<Followed>,
) -> Proof {
    let mut events = Vec::new();
    for (clock, sightings) in exploration.contract.clocks.iter().zip(&exploration.sightings) {
        let from = events.len();
        for (event, sightings) in clock.events.iter().zip(sightings) {
            events.push(Proved {
                event: event.name.clone(),
                clock: clock.name.clone(),
                at: event.at,
                periods: if event.at == 0 { clock.periods.clone() } else { Vec::new() },
                jitter: event.jitter,
                maybe: event.maybe,
                points: event.points.iter().copied().collect::<BTreeSet<_>>().into_iter().collect(),
                states: sightings.states,
                deviation: sightings.deviation,
            });
        }
        events[from..].sort_by_key(|event| event.at);
    }
    let trusted = exploration.relied.iter().map(|&index| {
        let (header, min, max, between) = exploration.trips.trip(index);
        Trusted { header, origin: program.code[header].origin, min, max, between }
    });
    Proof {
        function: function.name.clone(),
        events,
        servers: { &exploration.contract.servers }
            .iter()
            .zip(&exploration.unserved_max)
            .map(|((name, within), &most)| (name.clone(), most, *within))
            .collect(),
        trusted: trusted.collect(),
        followed,
        window: exploration.windows.longest(&exploration.nodes, exploration.contract),
        stack: StackUse { bytes: exploration.stacks.bytes_max, framed: exploration.stacks.framed },
        states: exploration.nodes.len(),
    }
}

/// The ways from the entry to where something was found, with the cycles of the clock that it is about.
fn path(program: &Program, exploration: &Exploration<'_>, found: &Found) -> Vec<Way> {
    let name = found.kind.clock();
    let clock = exploration.contract.clocks.iter().position(|clock| Some(clock.name.as_str()) == name);
    let mut path = Vec::new();
    let mut at = Some(found.node);
    while let Some(node) = at.and_then(|node| exploration.nodes.get(node)) {
        if node.parent.is_some() {
            let tau = match clock.map(|clock| node.state.rounds.0[clock]) {
                Some(Round::Running { tau, .. }) => Some(tau),
                Some(Round::Stopped) | None => None,
            };
            let (from, taken) = node.from;
            path.push(Way { from, origin: program.code[from].origin, taken, tau });
        }
        at = node.parent;
    }
    path.reverse();
    path
}
