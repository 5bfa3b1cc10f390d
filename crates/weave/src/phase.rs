//! Where the guest is at a point of the woven code, and how to get from one such state to another.
//!
//! Owns: the arithmetic of phases. A [`State`] is static: every path to a point of the woven code arrives in the
//! same one, which is what makes the code cycle-exact. Leaves out code: `product` emits what is decided here.

use isa::avr::{CoreType, Set};

use crate::guest::{Batch, Element, Guest};
use crate::item::straight_cycles;
use crate::rename::Homes;

/// The guest's progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct State {
    /// Cycles since the first event of the round, below the period.
    pub phase: u32,
    /// The element that comes next.
    pub next: usize,
}

/// A guest as phases go by.
#[derive(Clone, Copy)]
pub struct Rhythm<'a> {
    elements: &'a [Element],
    period_cycles: u32,
    /// Cycles before and behind an element that save and restore the host's flags.
    flags_cycles: [u32; 2],
    /// Whether elements come when the host has something for them.
    is_coupled: bool,
}

/// An element with an event that has no time any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Late {
    /// The element.
    pub element: usize,
    /// How late it would be.
    pub cycles: u32,
}

/// How long to wait, and how many elements run meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Cycles, those of the elements included.
    pub cycles: u32,
    /// Elements that run.
    pub elements: usize,
    /// Cycles in which nobody works.
    pub idle_cycles: u32,
}

impl<'a> Rhythm<'a> {
    /// Of a guest in its homes.
    pub fn of(guest: &'a Guest, homes: &Homes, core: CoreType) -> Rhythm<'a> {
        let flags_cycles =
            [homes.save_flags(), homes.restore_flags()].map(|items| straight_cycles(&items, core));
        let (elements, period_cycles) = (&guest.elements, guest.period_cycles);
        Rhythm { elements, period_cycles, flags_cycles, is_coupled: guest.is_coupled }
    }

    /// Before the first event of a coupled guest: no clock runs yet.
    pub fn stopped(&self) -> State {
        State { phase: 0, next: self.elements.len() }
    }

    /// Whether the clock runs.
    pub fn runs(&self, state: State) -> bool {
        state.next < self.elements.len()
    }

    /// The state in which the first event is about to happen.
    pub fn first(&self) -> State {
        State { phase: self.elements[0].start.expect("the first element has the first event"), next: 0 }
    }

    /// Of single rounds of a guest in batches.
    pub fn of_one(self, batch: &'a Batch) -> Rhythm<'a> {
        Rhythm { elements: &batch.elements, period_cycles: batch.period_cycles, ..self }
    }

    /// The elements of a round, in order.
    pub fn elements(&self) -> &'a [Element] {
        self.elements
    }

    /// Cycles of a round.
    pub fn period_cycles(&self) -> u32 {
        self.period_cycles
    }

    /// Cycles of saving the host's flags before an element.
    pub fn save_cycles(&self) -> u32 {
        self.flags_cycles[0]
    }

    /// Whether an element has to be wrapped in saving and restoring the host's flags.
    pub fn wraps(&self, index: usize, live: Set) -> bool {
        !live.intersection(self.elements[index].writes_flags).is_empty()
    }

    /// Cycles of an element with what saves the flags around it.
    pub fn cost_cycles(&self, index: usize, live: Set) -> u32 {
        self.elements[index].cycles(live)
            + if self.wraps(index, live) { self.flags_cycles.iter().sum() } else { 0 }
    }

    /// Cycles until the next element has to start, when it is pinned; below zero when there is no time to save what
    /// lives.
    pub fn due_cycles(&self, state: State, live: Set) -> Option<i64> {
        let start = self.elements[state.next].start?;
        let until_cycles = (start + self.period_cycles - state.phase) % self.period_cycles;
        Some(i64::from(until_cycles) - i64::from(self.lead_cycles(state.next, live)))
    }

    /// Cycles until the next element starts, which runs as early as it may.
    ///
    /// # Errors
    /// When it is late, or makes the next one with an event late.
    pub fn start_cycles(&self, state: State, live: Set) -> Result<u32, Late> {
        let index = state.next;
        let lead_cycles = self.lead_cycles(index, live);
        let due_cycles = self.due_cycles(state, live);
        let late = |element, cycles| Err(Late { element, cycles });
        let waits = match due_cycles.map(u32::try_from) {
            None => 0,
            Some(Ok(due_cycles)) => due_cycles,
            Some(Err(_)) => return late(index, due_cycles.map_or(0, |due| due.unsigned_abs() as u32)),
        };
        let next = self.next_pinned(index + 1);
        let start = self.elements[next].start.unwrap_or_default();
        let until_cycles = match self.elements[index].start {
            Some(from) => (start + self.period_cycles - from - 1) % self.period_cycles + 1 + lead_cycles,
            None => (start + self.period_cycles - state.phase) % self.period_cycles,
        };
        match self.cost_cycles(index, live).checked_sub(until_cycles) {
            None | Some(0) => Ok(waits),
            Some(late_cycles) => late(next, late_cycles),
        }
    }

    /// The first element with an event from one on.
    pub fn next_pinned(&self, index: usize) -> usize {
        let count = self.elements.len();
        let mut all = (index..index + count).map(|index| index % count);
        all.find(|&index| self.elements[index].start.is_some()).expect("the first element is pinned")
    }

    /// Cycles before an element that save the host's flags.
    fn lead_cycles(&self, index: usize, live: Set) -> u32 {
        if self.wraps(index, live) { self.flags_cycles[0] } else { 0 }
    }

    /// The state after the next element, which starts now.
    pub fn after_element(&self, state: State, live: Set) -> State {
        let passed = self.later(state, self.cost_cycles(state.next, live));
        State { next: (state.next + 1) % self.elements.len(), ..passed }
    }

    /// The state some cycles later, when no element runs.
    pub fn later(&self, state: State, cycles: u32) -> State {
        if !self.runs(state) {
            return state;
        }
        State { phase: (state.phase + cycles) % self.period_cycles, ..state }
    }

    /// The state some cycles before.
    pub fn earlier(&self, state: State, cycles: u32) -> State {
        if !self.runs(state) {
            return state;
        }
        let back = cycles % self.period_cycles;
        State { phase: (state.phase + self.period_cycles - back) % self.period_cycles, ..state }
    }

    /// Cycles that the host may take now without making an element late; below zero when there is not even time to
    /// save what lives.
    pub fn slack_cycles(&self, state: State, live: Set) -> i64 {
        if !self.runs(state) {
            return i64::from(u32::MAX);
        }
        let mut pending = 0;
        let mut at = state;
        for _ in 0..=self.elements.len() {
            // An element's due time counts from now, whatever is still to run before it.
            if let Some(start) = self.elements[at.next].start {
                let until = (start + self.period_cycles - state.phase) % self.period_cycles;
                return i64::from(until) - i64::from(self.lead_cycles(at.next, live) + pending);
            }
            pending += self.cost_cycles(at.next, live);
            at.next = (at.next + 1) % self.elements.len();
        }
        unreachable!("the first element is pinned")
    }

    /// Whether the next element may run at any time and costs less here than it may elsewhere: what it changes is
    /// dead. Those before the next pinned one count as well, since they run in order.
    pub fn is_cheap_now(&self, state: State, live: Set) -> bool {
        let mut index = state.next;
        while self.runs(state) {
            if self.elements[index].start.is_some() {
                return false;
            }
            if self.cost_cycles(index, live) < self.cost_cycles(index, everything()) {
                return true;
            }
            index = (index + 1) % self.elements.len();
        }
        false
    }

    /// The shortest wait that leads from one state to another.
    pub fn wait(&self, from: State, to: State, live: Set) -> Option<Wait> {
        if !self.runs(from) || !self.runs(to) {
            return (from == to).then_some(Wait { cycles: 0, elements: 0, idle_cycles: 0 });
        }
        let count = self.elements.len();
        let apart = (to.phase + self.period_cycles - from.phase) % self.period_cycles;
        let elements = (to.next + count - from.next) % count;
        // An event of a coupled guest cannot be passed by waiting.
        let rounds_max = if self.is_coupled { 1 } else { 4 };
        for periods in 0..rounds_max {
            let cycles = apart + periods * self.period_cycles;
            for rounds in 0..rounds_max as usize {
                let elements = elements + rounds * count;
                if let Some(idle_cycles) = self.idle(from, cycles, elements, live) {
                    return Some(Wait { cycles, elements, idle_cycles });
                }
            }
        }
        None
    }

    /// Cycles of `cycles` in which nobody works when `elements` run as early as they may; `None` when they do not
    /// fit, or when another would have been due.
    fn idle(&self, from: State, cycles: u32, elements: usize, live: Set) -> Option<u32> {
        let (mut state, mut left, mut worked) = (from, cycles, 0);
        for _ in 0..elements {
            let waits = self.start_cycles(state, live).ok()?;
            left = left.checked_sub(waits)?;
            state = self.later(state, waits);
            let cost = self.cost_cycles(state.next, live);
            left = left.checked_sub(cost)?;
            worked += cost;
            state = self.after_element(state, live);
        }
        (i64::from(left) <= self.slack_cycles(state, live)).then_some(cycles - worked)
    }
}

/// Whether a flag that programs compute with is among these.
pub fn has_flags(live: Set) -> bool {
    !live.intersection(Set::SREG.without(Set::status(7))).is_empty()
}

/// Every register and flag.
fn everything() -> Set {
    (0..32).fold(Set::SREG, |set, number| set | Set::register(number))
}
