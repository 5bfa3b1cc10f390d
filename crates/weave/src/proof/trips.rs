//! Loops with a trip count, and how often each has run on a path.
//!
//! Owns: the natural loops that `trip` directives stand on, and what a count allows. A directive on a header means
//! that loop, another one the innermost loop around it. A run begins each time the header executes. Only where the
//! header is a test (straight code up to an exit that changes nothing but registers and flags, and does not lead back
//! itself) does it begin behind the test: `while` and `do` alike count their bodies. A count that the
//! known values contradict is a violation; where the values are not known, the count decides.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use isa::avr::Set;
use petgraph::algo::dominators::simple_fast;
use petgraph::graph::{DiGraph, NodeIndex};

use super::contract::Fault;
use super::graph::{Choice, Graph};
use super::violation::Kind;
use crate::directive::Directive;
use crate::program::{Function, Origin, Point, Program};

#[derive(Clone, Debug)]
struct Loop {
    header: Point,
    members: BTreeSet<Point>,
    latches: BTreeSet<Point>,
    /// The exit at the end of a header that is a test.
    test: Option<Point>,
    /// Members from which the loop can still be left without passing its header.
    leavable: BTreeSet<Point>,
}

#[derive(Debug)]
struct Trip {
    around: Loop,
    min: u32,
    max: u32,
    /// Whether it may end after any number of runs between these.
    between: bool,
}

impl Trip {
    /// Whether a run begins on this way within the loop.
    fn begins(&self, from: Point, to: Point) -> bool {
        match self.around.test {
            Some(test) => from == test,
            None => to == self.around.header,
        }
    }

    /// Whether a way may be taken in the run number `found`, as far as the count tells.
    fn allows(&self, from: Point, to: Point, has_exit: bool, found: u32) -> bool {
        if !self.around.members.contains(&to) {
            found == self.min || found >= self.max || found > self.min && self.between
        } else if self.begins(from, to) {
            found < self.max
        } else if has_exit && self.around.test.is_none() {
            // Past the last exit there would be nothing but a run too many.
            found < self.max || self.around.leavable.contains(&to)
        } else {
            true
        }
    }
}

/// All loops with a trip count.
#[derive(Debug, Default)]
pub(super) struct Trips(Vec<Trip>);

/// How often each loop that a path is in has run, by its index. A loop that is not listed is not counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Counts(Vec<(u16, u32)>);

impl Trips {
    pub(super) fn find(program: &Program, graph: &Graph<'_>) -> Result<Trips, Fault> {
        let mut trips = Trips::default();
        for function in &graph.functions {
            let marks: Vec<(Point, (u32, u32, bool), Origin)> = (function.entry..function.end)
                .filter(|point| graph.ways.contains_key(point))
                .flat_map(|point| program.code[point].directives.iter().map(move |written| (point, written)))
                .filter_map(|(point, written)| match written.directive {
                    Directive::Trip { min, max, between } => {
                        Some((point, (min, max, between), written.origin))
                    }
                    _ => None,
                })
                .collect();
            if marks.is_empty() {
                continue;
            }
            let loops = loops(program, function, graph);
            for (point, (min, max, between), origin) in marks {
                let around = loops
                    .iter()
                    .filter(|candidate| candidate.members.contains(&point))
                    .min_by_key(|candidate| (candidate.header != point, candidate.members.len()));
                let around = around.ok_or((Kind::NoLoop, origin))?;
                let twice = trips.0.iter().any(|trip| trip.around.header == around.header);
                if twice || min > max || trips.0.len() > usize::from(u16::MAX) {
                    return Err((Kind::TripCount, origin));
                }
                trips.0.push(Trip { around: around.clone(), min, max, between });
            }
        }
        Ok(trips)
    }

    /// The instruction at `point`, which may go to `all`, executes: leaves those of `steps` that the counts allow.
    /// Where values have decided, and one is left before, the counts must agree; else they are `relied` on.
    pub(super) fn decide(
        &self,
        counts: &Counts,
        point: Point,
        all: &[Point],
        steps: &mut Vec<Choice>,
        relied: &mut BTreeSet<u16>,
    ) -> Result<(), Kind> {
        let fixed = steps.len() < 2;
        for &(index, found) in &counts.0 {
            let trip = &self.0[usize::from(index)];
            if !trip.around.members.contains(&point) {
                continue; // in a callee
            }
            let has_exit = all.iter().any(|to| !trip.around.members.contains(to));
            let allowed = |choice: &Choice| trip.allows(point, choice.to, has_exit, found);
            let is_contradicted = if fixed {
                !steps.iter().all(allowed)
            } else {
                let before = steps.len();
                steps.retain(allowed);
                if steps.len() < before {
                    relied.insert(index);
                }
                steps.is_empty()
            };
            if is_contradicted {
                return Err(Kind::Trips { min: trip.min, max: trip.max, between: trip.between, found });
            }
        }
        Ok(())
    }

    /// The header of a loop, the directive's counts, and whether all between them count.
    pub(super) fn trip(&self, index: u16) -> (Point, u32, u32, bool) {
        let trip = &self.0[usize::from(index)];
        (trip.around.header, trip.min, trip.max, trip.between)
    }

    /// Execution goes from one point to another of the same activation, or enters a function (`from` is none).
    pub(super) fn go(&self, counts: &mut Counts, from: Option<Point>, to: Point) -> Result<(), Kind> {
        if self.0.is_empty() {
            return Ok(());
        }
        if let Some(from) = from {
            counts.0.retain_mut(|(index, count)| {
                let trip = &self.0[usize::from(*index)];
                let members = &trip.around.members;
                if !members.contains(&from) {
                    return true; // in a callee
                }
                *count = count.saturating_add(u32::from(trip.begins(from, to)));
                members.contains(&to)
            });
        }
        for (index, trip) in self.0.iter().enumerate() {
            let inside = from.is_some_and(|from| trip.around.members.contains(&from));
            if trip.around.header == to && !inside {
                let index = index as u16;
                if counts.0.iter().any(|(counted, _)| *counted == index) {
                    return Err(Kind::RecursiveLoop);
                }
                counts.0.push((index, u32::from(trip.around.test.is_none())));
                counts.0.sort_unstable();
            }
        }
        Ok(())
    }
}

/// The exit that ends the header, where that is a test: see the head of this file.
fn test(program: &Program, graph: &Graph<'_>, around: &Loop) -> Option<Point> {
    let mut point = around.header;
    loop {
        let steps = &graph.ways[&point].steps;
        let step = &program.code[point];
        let places = Set::MEMORY | Set::IO | Set::FLASH | Set::SP | Set::RAMPZ | Set::status(7);
        let is_mute = step.instruction.writes().intersection(places).is_empty();
        let is_marked =
            step.directives.iter().any(|written| matches!(written.directive, Directive::Event { .. }));
        if !is_mute || is_marked || around.latches.contains(&point) || !graph.ways[&point].calls.is_empty() {
            return None;
        }
        match steps.as_slice() {
            [next] if around.members.contains(next) => point = *next,
            [_] | [] => return None,
            several => return several.iter().any(|to| !around.members.contains(to)).then_some(point),
        }
    }
}

/// Members from which the loop can be left without passing its header.
fn leavable(graph: &Graph<'_>, around: &Loop) -> BTreeSet<Point> {
    let mut found = BTreeSet::new();
    loop {
        let before = found.len();
        for &point in &around.members {
            let leaves =
                |to: &Point| !around.members.contains(to) || *to != around.header && found.contains(to);
            if graph.ways[&point].steps.iter().any(leaves) {
                found.insert(point);
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

/// The natural loops of one function, those of one header as one.
fn loops(program: &Program, function: &Function, graph: &Graph<'_>) -> Vec<Loop> {
    let points = || graph.ways.range(function.entry..function.end);
    let mut flow = DiGraph::<Point, ()>::new();
    let nodes: HashMap<Point, NodeIndex> =
        points().map(|(&point, _)| (point, flow.add_node(point))).collect();
    let Some(&entry) = nodes.get(&function.entry) else { return Vec::new() };
    for (point, ways) in points() {
        for to in ways.steps.iter().filter_map(|to| nodes.get(to)) {
            flow.add_edge(nodes[point], *to, ());
        }
    }
    // A subroutine inside the function is entered by calls alone.
    let reached = simple_fast(&flow, entry);
    let is_apart = |to: &&NodeIndex| **to != entry && reached.immediate_dominator(**to).is_none();
    let called: Vec<NodeIndex> = points()
        .flat_map(|(_, ways)| &ways.calls)
        .filter_map(|to| nodes.get(to))
        .filter(is_apart)
        .copied()
        .collect();
    for to in called {
        flow.update_edge(entry, to, ());
    }
    let dominators = simple_fast(&flow, entry);
    let mut loops: BTreeMap<Point, Loop> = BTreeMap::new();
    for edge in flow.edge_indices() {
        let Some((from, to)) = flow.edge_endpoints(edge) else { continue };
        let is_back = dominators.dominators(from).is_some_and(|mut all| all.any(|node| node == to));
        if !is_back {
            continue;
        }
        let header = flow[to];
        let empty = || Loop {
            header,
            members: BTreeSet::from([header]),
            latches: BTreeSet::new(),
            test: None,
            leavable: BTreeSet::new(),
        };
        let found = loops.entry(header).or_insert_with(empty);
        found.latches.insert(flow[from]);
        let mut waiting = vec![from];
        while let Some(node) = waiting.pop() {
            if found.members.insert(flow[node]) {
                waiting.extend(flow.neighbors_directed(node, petgraph::Direction::Incoming));
            }
        }
    }
    for around in loops.values_mut() {
        around.test = test(program, graph, around);
        around.leavable = leavable(graph, around);
    }
    loops.into_values().collect()
}
