//! Which registers and flags can still decide where execution goes.
//!
//! Owns: a pass backwards from every branch and skip over what its operands are computed from. Constants in other
//! places are forgotten, so that states that differ in nothing else are one. Calls are followed without regard to
//! their caller, which keeps too much and never too little; interrupt enable is always kept (`values`).

use std::collections::BTreeMap;

use isa::avr::{CoreType, Opcode, Set};

use super::graph::Graph;
use super::values::{Own, own};
use crate::program::{Flow, Point, Program};

/// Places that matter, by point, before its instruction.
pub(super) struct Relevance {
    before: BTreeMap<Point, Set>,
    /// Whether a byte that is popped somewhere matters, so that pushed ones are kept.
    pub(super) stack: bool,
}

/// What an instruction reads and writes, with SREG and registers that are reached by address.
fn accesses(program: &Program, point: Point, core: CoreType) -> (Set, Set) {
    let step = &program.code[point];
    let instruction = &step.instruction;
    let (mut reads, mut writes) = (instruction.reads(), instruction.writes());
    let reached = match own(step, core) {
        Some(Own::Sreg) => Set::SREG,
        Some(Own::Register(number)) => Set::register(number),
        // Written by nobody knows what: nothing that was there before is known to be gone.
        Some(Own::Perhaps | Own::StackPointer) | None => Set::EMPTY,
    };
    match instruction.opcode {
        Opcode::In | Opcode::Lds => reads = reads | reached,
        Opcode::Out | Opcode::Sts => writes = writes | reached,
        _ => {}
    }
    (reads, writes)
}

impl Relevance {
    pub(super) fn find(program: &Program, graph: &Graph<'_>) -> Relevance {
        let mut found = Relevance { before: BTreeMap::new(), stack: false };
        let returns = found.return_points(graph);
        loop {
            let mut changed = false;
            let after_return = returns.iter().fold(Set::EMPTY, |set, &to| set | found.before(to));
            for (&point, ways) in graph.ways.iter().rev() {
                let mut after = ways.steps.iter().chain(&ways.calls).fold(Set::EMPTY, |set, &to| {
                    // Behind a call, what matters there passes through the callee.
                    set | found.before(to)
                });
                if ways.returns {
                    after = after | after_return;
                }
                let before = found.step(program, point, after);
                let old = found.before.insert(point, before);
                changed |= old != Some(before);
            }
            if !changed {
                return found;
            }
        }
    }

    /// Where any call returns to.
    fn return_points(&self, graph: &Graph<'_>) -> Vec<Point> {
        let calls = graph.ways.values().filter(|ways| !ways.calls.is_empty());
        calls.flat_map(|ways| ways.steps.iter().copied()).collect()
    }

    fn step(&mut self, program: &Program, point: Point, after: Set) -> Set {
        let step = &program.code[point];
        let (reads, writes) = accesses(program, point, program.core);
        let opcode = step.instruction.opcode;
        let matters = writes.intersection(after);
        match opcode {
            Opcode::Pop => self.stack |= !matters.is_empty(),
            Opcode::Push if self.stack => return after | reads,
            _ => {}
        }
        let decides = matches!(step.flow, Flow::Branch(_) | Flow::Skip);
        // Interrupt enable is kept everywhere, and so is what it is written from.
        let to_sreg = matches!(own(step, program.core), Some(Own::Sreg | Own::Perhaps));
        let restores = to_sreg && matches!(opcode, Opcode::Out | Opcode::Sts);
        if decides || restores || !matters.is_empty() { after.without(writes) | reads } else { after }
    }

    /// What matters before the instruction at `point`.
    pub(super) fn before(&self, point: Point) -> Set {
        self.before.get(&point).copied().unwrap_or(Set::EMPTY)
    }
}
