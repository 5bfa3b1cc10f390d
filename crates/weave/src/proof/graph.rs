//! Where execution can get, without regard to values: points, functions, and where ways meet.
//!
//! Owns: the static successors of each point ([`ways`]), and the sweep over them from a function's entry. What is
//! taken of these ways on a path is `explore`'s.

use std::collections::{BTreeMap, BTreeSet};

use isa::avr::Opcode;

use crate::directive::Directive;
use crate::program::{Callee, Flow, Function, Point, Program};

/// Where an instruction may go within its function and into others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ways {
    /// Points of the same activation: the next one, a branch's target, a skip's, a jump's.
    pub(super) steps: Vec<Point>,
    /// Entries of functions that are called, and return to the next point.
    pub(super) calls: Vec<Point>,
    /// Whether it returns.
    pub(super) returns: bool,
}

/// A way that is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) to: Point,
    /// Whether it branched or skipped, which takes other cycles than going on.
    pub(super) taken: bool,
}

/// The point `count` behind `point`. Who makes a program sees to it that what execution runs into follows in the
/// code; past its end there is nothing.
pub(super) fn next(program: &Program, point: Point, count: usize) -> Option<Point> {
    let to = point + count;
    (to < program.code.len()).then_some(to)
}

/// The functions that the directive `targets` on a point names, as far as they are there.
pub(super) fn targets(program: &Program, point: Point) -> impl Iterator<Item = Point> {
    let names = program.code[point].directives.iter().flat_map(|written| match &written.directive {
        Directive::Targets(names) => names.as_slice(),
        _ => &[],
    });
    names.filter_map(|name| Some(program.function(name)?.entry))
}

/// Whether an indirect flow is a call.
pub(super) fn is_indirect_call(program: &Program, point: Point) -> bool {
    program.code[point].instruction.opcode == Opcode::Icall
}

pub(super) fn ways(program: &Program, point: Point) -> Ways {
    let next = |count| next(program, point, count);
    let mut ways = Ways::default();
    match &program.code[point].flow {
        Flow::Next => ways.steps.extend(next(1)),
        Flow::Branch(to) => ways.steps.extend(next(1).into_iter().chain([*to])),
        Flow::Skip => ways.steps.extend(next(1).into_iter().chain(next(2))),
        Flow::Jump(to) => ways.steps.push(*to),
        Flow::Call(callee) => {
            if let Callee::Known(to) = callee {
                ways.calls.push(*to);
            }
            ways.steps.extend(next(1));
        }
        Flow::TailCall(Callee::Known(to)) => ways.steps.push(*to),
        Flow::TailCall(Callee::Unknown(_)) | Flow::Return | Flow::ReturnFromInterrupt => ways.returns = true,
        Flow::Indirect if is_indirect_call(program, point) => {
            ways.calls.extend(targets(program, point));
            ways.steps.extend(next(1));
        }
        Flow::Indirect => ways.steps.extend(targets(program, point)),
        Flow::Stop => {}
    }
    ways
}

/// What can be reached from a function's entry.
pub(super) struct Graph<'a> {
    /// Each reached point with its ways, by ascending point.
    pub(super) ways: BTreeMap<Point, Ways>,
    /// The functions that it lies in, the proved one first.
    pub(super) functions: Vec<&'a Function>,
    /// Points that several ways lead to. Every cycle of the graph has one.
    joins: BTreeSet<Point>,
}

impl<'a> Graph<'a> {
    pub(super) fn reach(program: &'a Program, function: &'a Function) -> Graph<'a> {
        let mut graph = Graph {
            ways: BTreeMap::new(),
            functions: vec![function],
            joins: BTreeSet::from([function.entry]),
        };
        let mut waiting = vec![function.entry];
        while let Some(point) = waiting.pop() {
            if graph.ways.contains_key(&point) {
                continue;
            }
            if let Some(function) = program.function_at(point)
                && !graph.functions.contains(&function)
            {
                graph.functions.push(function);
            }
            let ways = ways(program, point);
            // Callees are entered, and returned from, by more ways than this sweep sees.
            graph.joins.extend(&ways.calls);
            if !ways.calls.is_empty() {
                graph.joins.extend(&ways.steps);
            }
            waiting.extend(ways.steps.iter().chain(&ways.calls));
            graph.ways.insert(point, ways);
        }
        let mut seen = BTreeSet::new();
        for to in graph.ways.values().flat_map(|ways| &ways.steps) {
            if !seen.insert(*to) {
                graph.joins.insert(*to);
            }
        }
        graph
    }

    pub(super) fn is_join(&self, point: Point) -> bool {
        self.joins.contains(&point)
    }
}
