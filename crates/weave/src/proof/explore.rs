//! The states that execution can be in, all of them.
//!
//! Owns: the sweep over states breadth first, so that the path of a violation is a shortest one, and what each
//! instruction makes of a state. Only states where ways meet or part are kept; straight code between two of them
//! is walked. A state that was seen is not walked again.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::rc::Rc;

use isa::avr::{CoreType, Opcode};

use super::contract::Contract;
use super::graph::{self, Choice, Graph};
use super::relevant::Relevance;
use super::rounds::{Rounds, Sightings};
use super::stack::{EMPTY, Slot, Stack, Stacks, TooDeep};
use super::trips::{Counts, Trips};
use super::values::{Bit, Byte, Own, Values, own};
use super::violation::Kind;
use super::window::{Unbounded, Windows};
use super::{Interrupts, Options};
use crate::limits::{PROOF_STOPPED_VARIANTS_MAX, PROOF_WINDOW_ENTRIES_MAX, PROOF_WINDOW_VARIANTS_MAX};
use crate::program::{Callee, Flow, Point, Program};

impl From<TooDeep> for Kind {
    fn from(_: TooDeep) -> Kind {
        Kind::TooDeep
    }
}

/// Where execution is, and all that decides what it does next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct State {
    pub(super) point: Point,
    stack: Stack,
    values: Values,
    pub(super) rounds: Rounds,
    /// Cycles that each server has not run while a clock runs.
    unserved: Vec<u32>,
    counts: Counts,
}

/// A state that is kept, and how it was first reached.
pub(super) struct Node {
    pub(super) state: Rc<State>,
    pub(super) parent: Option<usize>,
    /// The instruction before it, and whether that was a way other than to the next instruction.
    pub(super) from: (Point, bool),
}

/// A place and a time: states of one differ in constants only.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Moment {
    point: Point,
    stack: Stack,
    rounds: Rounds,
    counts: Counts,
    /// Interrupts, now and at the entry, and T, which is what says that a clock is over when a callee comes back, are
    /// never forgotten.
    flags: (bool, Bit, Bit),
}

/// The constants that a moment was visited with.
struct Variants {
    count: usize,
    /// What all of them agree in.
    common: Values,
}

/// Where a walk found something wrong.
pub(super) struct Found {
    pub(super) kind: Kind,
    pub(super) point: Point,
    /// The node that the walk began at.
    pub(super) node: usize,
}

pub(super) struct Exploration<'a> {
    program: &'a Program,
    graph: &'a Graph<'a>,
    pub(super) contract: &'a Contract,
    pub(super) trips: &'a Trips,
    /// Loops whose counts have decided something that values have not.
    pub(super) relied: BTreeSet<u16>,
    relevance: Relevance,
    options: Options,
    pub(super) stacks: Stacks,
    index: HashMap<Rc<State>, usize>,
    pub(super) nodes: Vec<Node>,
    variants: HashMap<Moment, Variants>,
    /// Constants of one moment that are told apart while a clock runs: in all their bits, and at all.
    variants_max: [usize; 2],
    /// Whether some were not: what was found wrong may be right.
    pub(super) has_forgotten: bool,
    waiting: VecDeque<usize>,
    /// By clock and event.
    pub(super) sightings: Vec<Vec<Sightings>>,
    pub(super) windows: Windows,
    /// The longest that each server has not run.
    pub(super) unserved_max: Vec<u32>,
}

impl<'a> Exploration<'a> {
    pub(super) fn new(
        program: &'a Program,
        graph: &'a Graph<'a>,
        contract: &'a Contract,
        trips: &'a Trips,
        options: Options,
        variants_max: [usize; 2],
    ) -> Exploration<'a> {
        let return_bytes = if program.core == CoreType::AvrePc3 { 3 } else { 2 };
        let sightings = contract.clocks.iter().map(|clock| vec![Sightings::default(); clock.events.len()]);
        Exploration {
            program,
            graph,
            contract,
            trips,
            relied: BTreeSet::new(),
            relevance: Relevance::find(program, graph),
            options,
            stacks: Stacks::new(return_bytes),
            index: HashMap::new(),
            nodes: Vec::new(),
            variants: HashMap::new(),
            variants_max,
            has_forgotten: false,
            waiting: VecDeque::new(),
            sightings: sightings.collect(),
            windows: Windows::default(),
            unserved_max: vec![0; contract.servers.len()],
        }
    }

    /// Visits every state from the entry on.
    pub(super) fn run(&mut self, entry: Point, interrupts_off: bool) -> Result<(), Found> {
        let mut state = State {
            point: entry,
            stack: EMPTY,
            values: Values::at_entry(),
            rounds: Rounds::stopped(self.contract),
            unserved: vec![0; self.contract.servers.len()],
            counts: Counts::default(),
        };
        if interrupts_off {
            state.values.set_interrupts(Some(false));
        }
        let at_entry = |kind| Found { kind, point: entry, node: 0 };
        self.trips.go(&mut state.counts, None, entry).map_err(at_entry)?;
        self.keep(state, None, (entry, false)).map_err(at_entry)?;
        while let Some(node) = self.waiting.pop_front() {
            self.walk(node)?;
        }
        Ok(())
    }

    /// Keeps a state, to be walked from if it is new.
    fn keep(&mut self, mut state: State, parent: Option<usize>, from: (Point, bool)) -> Result<usize, Kind> {
        state.values.keep(self.relevance.before(state.point));
        let is_called = matches!(self.program.code[from.0].flow, Flow::Call(_)) && from.1;
        self.forget(&mut state, is_called);
        if let Some(&found) = self.index.get(&state) {
            return Ok(found);
        }
        let made = self.nodes.len();
        let states_max = self.options.states_max;
        if made >= states_max {
            return Err(Kind::TooManyStates { states_max });
        }
        let state = Rc::new(state);
        self.index.insert(Rc::clone(&state), made);
        self.nodes.push(Node { state, parent, from });
        self.waiting.push_back(made);
        Ok(made)
    }

    /// Constants in which the states of one moment differ are forgotten when there are too many of them, so that what
    /// data decides does not multiply the states. What a clock hangs on is the same in all of them.
    fn forget(&mut self, state: &mut State, is_called: bool) {
        let stopped = state.rounds.all_stopped();
        let flags = (state.values.interrupts_off(), state.values.entered(), state.values.flag_t());
        let counts = if stopped { Counts::default() } else { state.counts.clone() };
        let moment =
            Moment { point: state.point, stack: state.stack, rounds: state.rounds.clone(), counts, flags };
        let first = || Variants { count: 0, common: state.values.clone() };
        let variants = self.variants.entry(moment).or_insert_with(first);
        variants.common.keep_common(&state.values);
        let before = (!stopped).then(|| state.values.clone());
        let variants_max = match (stopped, state.values.turned_off()) {
            (false, _) => self.variants_max,
            (true, true) if is_called => PROOF_WINDOW_ENTRIES_MAX,
            (true, true) => PROOF_WINDOW_VARIANTS_MAX,
            (true, false) => [PROOF_STOPPED_VARIANTS_MAX; 2],
        };
        if variants.count >= variants_max[1] {
            state.values = variants.common.clone();
            if stopped {
                state.counts = Counts::default();
            }
        } else if variants.count >= variants_max[0] {
            state.values.keep_whole_or(&variants.common);
        }
        self.has_forgotten |= before.is_some_and(|before| before != state.values);
        if !self.index.contains_key(state) {
            variants.count += 1;
        }
    }

    /// Follows execution from a kept state to the next ones.
    fn walk(&mut self, node: usize) -> Result<(), Found> {
        let mut state = State::clone(&self.nodes[node].state);
        let mut within = Windows::begin(node, state.values.turned_off());
        let mut after = Vec::new();
        loop {
            let point = state.point;
            let found = |kind| Found { kind, point, node };
            let before = self.contract.marks.contains_key(&point).then(|| {
                let mut rounds = state.rounds.clone();
                rounds.stop(self.contract, point);
                rounds
            });
            let starts =
                |next: &State| before.as_ref().map_or(Vec::new(), |before| next.rounds.starts_since(before));
            self.step(state, &mut after).map_err(found)?;
            if after.is_empty() {
                self.windows.end(within, self.program.cycles(point));
                return Ok(());
            }
            let is_kept = after.len() > 1 || self.graph.is_join(after[0].0.point);
            if !is_kept && let Some((next, cycles, _)) = after.pop() {
                self.windows.pass(&mut within, cycles, &starts(&next), next.values.turned_off());
                state = next;
                continue;
            }
            for (next, cycles, taken) in after.drain(..) {
                let mut within = within.clone();
                self.windows.pass(&mut within, cycles, &starts(&next), next.values.turned_off());
                let kept = self.keep(next, Some(node), (point, taken)).map_err(found)?;
                self.windows.reach(kept, within);
            }
            return Ok(());
        }
    }

    /// Executes one instruction: the states behind it, the cycles to each, and whether it is not the next one.
    fn step(&mut self, mut state: State, after: &mut Vec<(State, u32, bool)>) -> Result<(), Kind> {
        let point = state.point;
        let program = self.program;
        let step = &program.code[point];
        state.rounds.stop(self.contract, point);
        match &step.flow {
            Flow::Next | Flow::Branch(_) | Flow::Skip | Flow::Jump(_) | Flow::TailCall(Callee::Known(_)) => {
                self.go_on(state, after)
            }
            Flow::Call(Callee::Known(to)) => self.call(state, &[*to], after),
            Flow::Indirect => {
                let targets = self.contract.targets.get(&point).map_or(&[][..], Vec::as_slice);
                match (targets, graph::is_indirect_call(program, point)) {
                    ([], true) => self.call_unknown(state, None, after),
                    ([], false) => Err(Kind::UnresolvedJump),
                    (targets, true) => self.call(state, targets, after),
                    (_, false) => self.go_on(state, after),
                }
            }
            Flow::Call(Callee::Unknown(name)) => self.call_unknown(state, Some(name), after),
            Flow::TailCall(Callee::Unknown(name)) => match state.rounds.running() {
                Some((clock, _)) => Err(self.unresolved(clock, Some(name))),
                None => {
                    if state.values.turned_off() {
                        self.windows.unbounded(Unbounded::Call(point));
                    }
                    state.values = state.values.behind_unknown();
                    self.go_back(state, after)
                }
            },
            Flow::Return | Flow::ReturnFromInterrupt => {
                if step.flow == Flow::ReturnFromInterrupt {
                    state.values.set_interrupts(Some(true));
                }
                self.go_back(state, after)
            }
            Flow::Stop => match state.rounds.running() {
                Some((clock, _)) => Err(Kind::Stops { clock: self.name(clock) }),
                None => Ok(()),
            },
        }
    }

    fn name(&self, clock: usize) -> String {
        self.contract.clocks[clock].name.clone()
    }

    fn unresolved(&self, clock: usize, callee: Option<&str>) -> Kind {
        Kind::UnresolvedCall { callee: callee.map(str::to_owned), clock: self.name(clock) }
    }

    /// The cycles of the instruction at `point` pass, and its events happen.
    fn pass(&mut self, state: &mut State, point: Point, cycles: u32) -> Result<(), Kind> {
        state.rounds.pass(self.contract, point, cycles, &mut self.sightings)?;
        self.serve(state, point, cycles)?;
        let is_checked = self.options.interrupts != Interrupts::Allowed;
        match state.rounds.running() {
            Some((clock, found)) if is_checked && !state.values.interrupts_off() => {
                Err(Kind::InterruptsOn { clock: self.name(clock), found })
            }
            _ => Ok(()),
        }
    }

    /// Servers wait while a clock runs, until they run.
    fn serve(&mut self, state: &mut State, point: Point, cycles: u32) -> Result<(), Kind> {
        let waits = state.rounds.running().is_some();
        let runs = self.contract.runs.get(&point).map_or(&[][..], Vec::as_slice);
        for (index, (server, within)) in self.contract.servers.iter().enumerate() {
            let unserved = &mut state.unserved[index];
            *unserved = unserved.saturating_add(cycles);
            if !waits {
                *unserved = 0;
            }
            self.unserved_max[index] = self.unserved_max[index].max(*unserved);
            if *unserved > *within {
                let (server, within, found) = (server.clone(), *within, *unserved);
                return Err(Kind::Unserved { server, within, found });
            }
            if runs.contains(&index) {
                *unserved = 0;
            }
        }
        Ok(())
    }

    /// To points of the same activation.
    fn go_on(&mut self, mut state: State, after: &mut Vec<(State, u32, bool)>) -> Result<(), Kind> {
        let (program, point) = (self.program, state.point);
        let step = &program.code[point];
        let all = &self.graph.ways[&point].steps;
        let next = |count| graph::next(program, point, count).ok_or(Kind::FallsOff);
        let mut choices = Vec::with_capacity(2);
        match step.flow {
            Flow::Branch(_) | Flow::Skip => {
                let decided = state.values.decide(&step.instruction);
                if decided != Some(true) {
                    choices.push(Choice { to: next(1)?, taken: false });
                }
                if decided != Some(false) {
                    let to = if let Flow::Branch(to) = step.flow { to } else { next(2)? };
                    choices.push(Choice { to, taken: true });
                }
            }
            Flow::Next => choices.push(Choice { to: next(1)?, taken: false }),
            _ => choices.extend(all.iter().map(|&to| Choice { to, taken: false })),
        }
        if state.rounds.running().is_some() && step.instruction.opcode == Opcode::Sleep {
            let clock = state.rounds.running().map_or(0, |(clock, _)| clock);
            return Err(Kind::Sleeps { clock: self.name(clock) });
        }
        self.trips.decide(&state.counts, point, all, &mut choices, &mut self.relied)?;
        self.change(&mut state)?;
        let jumps = !matches!(step.flow, Flow::Next | Flow::Branch(_) | Flow::Skip);
        for choice in choices {
            let mut next = state.clone();
            next.values.assume(&step.instruction, choice.taken);
            let cycles = if choice.taken { program.taken_cycles(point) } else { program.cycles(point) };
            self.pass(&mut next, point, cycles)?;
            self.trips.go(&mut next.counts, Some(point), choice.to)?;
            next.point = choice.to;
            after.push((next, cycles, choice.taken || jumps));
        }
        Ok(())
    }

    /// Whether the LDS or STS at a point accesses where SREG as it was at the entry is kept.
    fn is_kept_place(&self, values: &Values, point: Point) -> bool {
        let place = |point: Point| {
            let step = &self.program.code[point];
            (step.instruction.k, &step.expression)
        };
        values.kept().is_some_and(|kept| place(kept) == place(point))
    }

    /// What the instruction does to registers, flags and stack.
    fn change(&mut self, state: &mut State) -> Result<(), Kind> {
        let step = &self.program.code[state.point];
        let core = self.program.core;
        let pushed = state.values.register(step.instruction.r);
        state.values.execute(step, core);
        match step.instruction.opcode {
            Opcode::Push => {
                let byte = if self.relevance.stack { pushed } else { Byte::UNKNOWN };
                state.stack = self.stacks.push(state.stack, Slot::Byte(byte))?;
            }
            Opcode::Pop => {
                let (byte, rest) = self.stacks.pop(state.stack)?.ok_or(Kind::Underflow)?;
                state.values.set_register(step.instruction.d, byte);
                state.stack = rest;
            }
            // A call to the next instruction makes room: its return address is never returned to.
            Opcode::Rcall => {
                for _ in 0..2 {
                    state.stack = self.stacks.push(state.stack, Slot::Byte(Byte::UNKNOWN))?;
                }
            }
            Opcode::Out | Opcode::Sts if own(step, core) == Some(Own::StackPointer) => {
                state.stack = self.stacks.frame(state.stack)?;
            }
            Opcode::Sts if own(step, core).is_none() => {
                let is_kept_place = self.is_kept_place(&state.values, state.point);
                state.values.store(step.instruction.r, state.point, is_kept_place);
            }
            Opcode::Lds if own(step, core).is_none() && self.is_kept_place(&state.values, state.point) => {
                state.values.load_kept(step.instruction.d);
            }
            _ => {}
        }
        Ok(())
    }

    fn call(
        &mut self,
        mut state: State,
        targets: &[Point],
        after: &mut Vec<(State, u32, bool)>,
    ) -> Result<(), Kind> {
        let point = state.point;
        let to = graph::next(self.program, point, 1).ok_or(Kind::FallsOff)?;
        let cycles = self.program.cycles(point);
        self.pass(&mut state, point, cycles)?;
        if targets == [to] {
            self.stacks.calls_to_next.insert(point);
        }
        state.stack = self.stacks.push(state.stack, Slot::Return { call: point, to })?;
        for &target in targets {
            let mut next = state.clone();
            self.trips.go(&mut next.counts, None, target)?;
            next.point = target;
            after.push((next, cycles, true));
        }
        Ok(())
    }

    /// A call of code that is not known, which may do anything but touch the caller's stack.
    fn call_unknown(
        &mut self,
        mut state: State,
        callee: Option<&str>,
        after: &mut Vec<(State, u32, bool)>,
    ) -> Result<(), Kind> {
        let point = state.point;
        if let Some((clock, _)) = state.rounds.running() {
            return Err(self.unresolved(clock, callee));
        }
        if state.values.turned_off() {
            self.windows.unbounded(Unbounded::Call(point));
        }
        // The event of the call itself may start a clock, and then runs into the same.
        let cycles = self.program.cycles(point);
        self.pass(&mut state, point, cycles)?;
        if let Some((clock, _)) = state.rounds.running() {
            return Err(self.unresolved(clock, callee));
        }
        state.values = state.values.behind_unknown();
        let to = graph::next(self.program, point, 1).ok_or(Kind::FallsOff)?;
        self.come_back(state, point, to, cycles, after)
    }

    /// Returns to the caller, or out of the function.
    fn go_back(&mut self, mut state: State, after: &mut Vec<(State, u32, bool)>) -> Result<(), Kind> {
        let point = state.point;
        let cycles = self.program.cycles(point);
        let back = self.stacks.unwind(state.stack).map_err(|bytes| Kind::Unbalanced { bytes })?;
        self.pass(&mut state, point, cycles)?;
        match (back, state.rounds.running()) {
            (Some((call, to, rest)), _) => {
                state.stack = rest;
                self.come_back(state, call, to, cycles, after)
            }
            (None, Some((clock, found))) => Err(Kind::LeftRunning { clock: self.name(clock), found }),
            (None, None) => {
                self.windows.leave(point, state.values.turned_off());
                Ok(())
            }
        }
    }

    /// Execution goes on behind a call.
    fn come_back(
        &mut self,
        mut state: State,
        call: Point,
        to: Point,
        cycles: u32,
        after: &mut Vec<(State, u32, bool)>,
    ) -> Result<(), Kind> {
        let all = &self.graph.ways[&call].steps;
        let mut choices = vec![Choice { to, taken: true }];
        self.trips.decide(&state.counts, call, all, &mut choices, &mut self.relied)?;
        self.trips.go(&mut state.counts, Some(call), to)?;
        state.point = to;
        after.push((state, cycles, true));
        Ok(())
    }
}
