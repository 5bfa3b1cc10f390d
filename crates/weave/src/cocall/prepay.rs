//! When the host asks whether the guest is due, and for how many cycles at a time.
//!
//! Owns: the accounts. A check takes cycles off the budget before they are spent; what is taken and not spent yet is
//! *prepaid*. The plan says for every node of a [`Graph`] what is prepaid when it begins, where it checks, and how ways
//! that meet with different amounts are settled: by giving back, by waiting, or by a check. Sizes are chosen so that
//! nothing is left where a loop begins again, a function is called, or returns.
//! Leaves out instructions: `cocall` writes them.
//! Invariant: no instruction of the host begins with less prepaid than it takes.

use std::collections::BTreeMap;

use isa::avr::Set;

use super::Reach;
use super::graph::{End, Graph, Node, NodeId};

/// Takes cycles off the budget, and goes to the guest when there are too few.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Check {
    /// What is taken off, the check itself included.
    pub amount: u32,
    /// What is prepaid behind it.
    pub prepaid: u32,
    /// Whether the host's flags are saved around it.
    pub wrapped: bool,
    /// Whether its guest stands in the way and is branched around, since none is near enough to be branched to.
    pub far: bool,
}

impl Check {
    /// What it takes itself when it finds enough.
    fn own_cycles(&self) -> u32 {
        2 + u32::from(self.far) + u32::from(self.wrapped)
    }
}

/// How a way comes from what is prepaid to what is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settle {
    /// They are equal.
    Nothing,
    /// So many cycles pass.
    Wait(u32),
    /// So many are put back.
    GiveBack(u32),
    /// More are needed.
    Check(Check),
}

/// What instructions that are added cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs {
    pub jump_cycles: u32,
    pub jump_words: u32,
    pub call_cycles: u32,
    pub return_cycles: u32,
}

/// A way from a node to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    pub to: NodeId,
    /// What the node's last instruction takes on it.
    pub cycles: u32,
    /// What a jump at its end takes; where there is none, 0.
    pub jump_cycles: u32,
    /// Where code can stand on it.
    pub stands: Stands,
}

/// Where code stands that settles a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stands {
    /// Where the way begins, before its jump.
    Inline,
    /// Nowhere if there is nothing to settle, or aside, with a jump.
    Anywhere,
    /// Aside, with a jump that is needed anyway.
    Aside,
}

/// The plan of one function.
pub(super) struct Plan {
    /// By node and position: before that piece; behind the last piece is before the end.
    pub checks: Vec<BTreeMap<usize, Check>>,
    /// By node and position of a call.
    pub calls: Vec<BTreeMap<usize, Settle>>,
    /// By node and way, in the order of [`Planner::ways`]; of a return, one.
    pub ends: Vec<Vec<Settle>>,
}

impl Plan {
    /// Every check, those that settle included.
    pub fn checks(&self) -> impl Iterator<Item = Check> {
        let settles = self.calls.iter().flat_map(BTreeMap::values).chain(self.ends.iter().flatten());
        let settling = settles.filter_map(|settle| match settle {
            Settle::Check(check) => Some(*check),
            _ => None,
        });
        self.checks.iter().flat_map(BTreeMap::values).copied().chain(settling)
    }
}

/// What a plan is made for.
pub(super) struct Planner<'a> {
    pub graph: &'a Graph,
    pub costs: Costs,
    /// Cycles between two checks, about.
    pub stretch_cycles: u32,
    /// What lives before each of the host's instructions.
    pub live: &'a dyn Fn(usize) -> Set,
    /// How the host's branches at these points get to where they lead.
    pub reach: &'a dyn Fn(usize) -> Reach,
    /// The guests of checks before these points stand in the way.
    pub is_far_check: &'a dyn Fn(usize) -> bool,
    /// Flags that checks, or the guest, change.
    pub changes: Set,
    /// Whether the function is the host itself, whose return is a jump.
    pub is_host: bool,
}

impl Planner<'_> {
    /// Whether flags that live have to be saved around a check.
    fn changes(&self, live: Set) -> bool {
        !live.intersection(self.changes).is_empty()
    }

    /// The ways out of a node, the one that falls through first.
    pub fn ways(&self, id: NodeId) -> Vec<Way> {
        let Costs { jump_cycles, jump_words, .. } = self.costs;
        let jump_to = |to: NodeId| if to == id + 1 { 0 } else { jump_cycles };
        let way = |to, cycles, jump_cycles, stands| Way { to, cycles, jump_cycles, stands };
        match self.graph.nodes[id].end {
            End::Jump { to, .. } => vec![way(to, 0, jump_to(to), Stands::Inline)],
            End::Branch { point, aside, through, .. } => {
                let reach = (self.reach)(point);
                let (straight, away) = if reach == Reach::Jump { (2, 1 + jump_cycles) } else { (1, 2) };
                let (stands, jump) = match reach {
                    Reach::Detour => (Stands::Aside, jump_cycles),
                    _ => (Stands::Anywhere, 0),
                };
                vec![way(through, straight, jump_to(through), Stands::Inline), way(aside, away, jump, stands)]
            }
            End::Skip { aside, through, .. } => {
                vec![
                    way(through, 1 + jump_words, jump_to(through), Stands::Inline),
                    way(aside, 1 + jump_cycles, 0, Stands::Anywhere),
                ]
            }
            End::Return { .. } => Vec::new(),
        }
    }

    fn return_cycles(&self) -> u32 {
        if self.is_host { self.costs.jump_cycles } else { self.costs.return_cycles }
    }

    /// What a node's end takes, at most.
    fn end_cycles(&self, id: NodeId) -> u32 {
        let ways = self.ways(id);
        let cycles = |way: &Way| match way.stands {
            Stands::Aside => way.cycles + way.jump_cycles,
            Stands::Inline | Stands::Anywhere => way.cycles,
        };
        ways.iter().map(cycles).max().unwrap_or_else(|| self.return_cycles())
    }

    fn piece_cycles(&self, node: &Node, position: usize) -> u32 {
        let piece = &node.pieces[position];
        if piece.callee.is_some() { self.costs.call_cycles } else { piece.cycles }
    }

    /// The point whose liveness counts at a position.
    fn point(&self, id: NodeId, position: usize) -> usize {
        let node = &self.graph.nodes[id];
        match (node.pieces.get(position), &node.end) {
            (Some(piece), _) => piece.point,
            (None, End::Branch { point, .. } | End::Skip { point, .. } | End::Return { point }) => *point,
            (None, &End::Jump { point: Some(point), .. }) => point,
            (None, &End::Jump { to, .. }) => self.graph.nodes[to].first,
        }
    }

    fn live_at(&self, id: NodeId, position: usize) -> Set {
        (self.live)(self.point(id, position))
    }

    /// Makes the plan.
    pub fn plan(&self) -> Plan {
        let count = self.graph.nodes.len();
        let (order, begins_again) = self.order();
        let distances = self.distances(&order, &begins_again);
        let mut prepaid: Vec<Option<u32>> = begins_again.iter().map(|&again| again.then_some(0)).collect();
        prepaid[0] = Some(0);
        let mut left = vec![0; count];
        let mut plan = Plan {
            checks: vec![BTreeMap::new(); count],
            calls: vec![BTreeMap::new(); count],
            ends: vec![Vec::new(); count],
        };
        let mut arriving: Vec<Vec<(u32, Stands)>> = vec![Vec::new(); count];
        for &id in &order {
            let begin = prepaid[id].unwrap_or_else(|| self.meeting(id, &arriving[id]));
            prepaid[id] = Some(begin);
            left[id] = self.node(id, begin, &distances, &mut plan);
            for way in self.ways(id) {
                arriving[way.to].push(((left[id] - way.cycles).saturating_sub(way.jump_cycles), way.stands));
            }
        }
        for &id in &order {
            let ends = match self.graph.nodes[id].end {
                End::Return { point } => {
                    vec![self.settle(left[id], self.return_cycles(), (self.live)(point), point)]
                }
                _ => self.ways(id).into_iter().map(|way| self.settled(&way, left[id], &prepaid)).collect(),
            };
            plan.ends[id] = ends;
        }
        plan
    }

    fn settled(&self, way: &Way, left: u32, prepaid: &[Option<u32>]) -> Settle {
        let first = self.graph.nodes[way.to].first;
        let target = prepaid[way.to].expect("every node is planned");
        let (left, live) = (left - way.cycles, (self.live)(first));
        // Aside, code stands elsewhere and jumps.
        match way.stands {
            Stands::Inline => self.settle(left, target + way.jump_cycles, live, first),
            Stands::Anywhere if left == target => Settle::Nothing,
            // The jump itself may be all that has to pass.
            Stands::Anywhere | Stands::Aside => {
                match self.settle(left, target + self.costs.jump_cycles, live, first) {
                    Settle::Nothing => Settle::Wait(0),
                    settle => settle,
                }
            }
        }
    }

    /// From what is prepaid to what is expected, before `point`.
    fn settle(&self, from: u32, to: u32, live: Set, point: usize) -> Settle {
        let wrapped = self.changes(live);
        match from.checked_sub(to) {
            Some(0) => Settle::Nothing,
            Some(more @ 1) => Settle::Wait(more),
            Some(more) if wrapped => Settle::Wait(more),
            Some(more) => Settle::GiveBack(more - 1),
            None => Settle::Check(self.check(from, to, live, point)),
        }
    }

    /// A check that finds `from` prepaid and leaves `to`.
    fn check(&self, from: u32, to: u32, live: Set, point: usize) -> Check {
        let wrapped = self.changes(live);
        let far = (self.is_far_check)(point);
        // Restoring the flags is paid by what it leaves.
        let prepaid = to + u32::from(wrapped);
        let check = Check { amount: 0, prepaid, wrapped, far };
        Check { amount: (prepaid + check.own_cycles()).saturating_sub(from), ..check }
    }

    /// Nodes so that ways lead forward, but for those to nodes that begin again, which are marked.
    fn order(&self) -> (Vec<NodeId>, Vec<bool>) {
        let count = self.graph.nodes.len();
        let (mut seen, mut done) = (vec![false; count], vec![false; count]);
        let mut begins_again = vec![false; count];
        let mut order = Vec::new();
        let mut open = vec![(0, self.graph.successors(0))];
        seen[0] = true;
        while let Some((id, next)) = open.last_mut() {
            match next.pop() {
                Some(to) if !seen[to] => {
                    seen[to] = true;
                    open.push((to, self.graph.successors(to)));
                }
                Some(to) => begins_again[to] |= !done[to],
                None => {
                    done[*id] = true;
                    order.push(*id);
                    open.pop();
                }
            }
        }
        order.reverse();
        (order, begins_again)
    }

    /// The most cycles from the beginning of each node until nothing may be left over.
    fn distances(&self, order: &[NodeId], begins_again: &[bool]) -> Distances {
        let count = self.graph.nodes.len();
        let mut distances = Distances { nodes: vec![0; count], ends: vec![0; count] };
        for &id in order.iter().rev() {
            let around = self.graph.nodes[id].around;
            let on = |way: &Way| {
                let stays = around.is_none() || self.graph.nodes[way.to].around == around;
                let goes_on = stays && !begins_again[way.to];
                way.cycles + way.jump_cycles + if goes_on { distances.nodes[way.to] } else { 0 }
            };
            let end = self.ways(id).iter().map(on).max().unwrap_or_else(|| self.return_cycles());
            distances.ends[id] = end;
            distances.nodes[id] = self.distance(id, 0, end);
        }
        distances
    }

    /// From a position in a node.
    fn distance(&self, id: NodeId, position: usize, end: u32) -> u32 {
        let node = &self.graph.nodes[id];
        let mut cycles = 0;
        for position in position..node.pieces.len() {
            cycles += self.piece_cycles(node, position);
            if node.pieces[position].callee.is_some() {
                return cycles;
            }
        }
        cycles + end
    }

    /// What a node that several ways lead to begins with: what costs least to settle.
    fn meeting(&self, id: NodeId, arriving: &[(u32, Stands)]) -> u32 {
        let live = (self.live)(self.graph.nodes[id].first);
        let cost = |target: u32| -> u32 {
            let costs = arriving.iter().map(|&(left, stands)| match left.checked_sub(target) {
                Some(0) => 0,
                Some(more) if stands == Stands::Inline => {
                    if self.changes(live) {
                        more
                    } else {
                        1
                    }
                }
                Some(_) => self.costs.jump_cycles + 1,
                None if stands == Stands::Inline => 2 + 2 * u32::from(self.changes(live)),
                None => self.costs.jump_cycles + 2,
            });
            costs.sum()
        };
        let targets = arriving.iter().map(|&(left, _)| left);
        targets.min_by_key(|&target| (cost(target), target)).unwrap_or(0)
    }

    /// Plans the checks of a node; what is prepaid before its end.
    fn node(&self, id: NodeId, begin: u32, distances: &Distances, plan: &mut Plan) -> u32 {
        let node = &self.graph.nodes[id];
        let last = node.pieces.len();
        let (mut position, mut left) = (0, begin);
        loop {
            // As far as it is paid.
            let (mut reach, mut rest) = (position, left);
            while reach < last && node.pieces[reach].callee.is_none() && node.pieces[reach].cycles <= rest {
                rest -= node.pieces[reach].cycles;
                reach += 1;
            }
            if reach < last && node.pieces[reach].callee.is_some() && rest >= self.costs.call_cycles {
                let point = node.pieces[reach].point;
                let settle = self.settle(rest, self.costs.call_cycles, (self.live)(point), point);
                plan.calls[id].insert(reach, settle);
                (position, left) = (reach + 1, 0);
                continue;
            }
            if reach == last && rest >= self.end_cycles(id) {
                return rest;
            }
            let at = self.last_position(id, position, reach);
            let spent: u32 = (position..at).map(|position| self.piece_cycles(node, position)).sum();
            let wanted = self.wanted(id, at, reach, distances.ends[id]);
            let mut check = self.check(left - spent, wanted, self.live_at(id, at), self.point(id, at));
            // Where flags live for long, the check that is there already prepays more.
            if let Some(known) = plan.checks[id].get(&at) {
                check.amount += known.amount - check.own_cycles();
            }
            plan.checks[id].insert(at, check);
            (position, left) = (at, check.prepaid - u32::from(check.wrapped));
        }
    }

    fn may_check(&self, id: NodeId, position: usize) -> bool {
        self.graph.nodes[id].pieces.get(position).is_none_or(|piece| !piece.joined)
    }

    /// The last position up to `reach` where a check may stand, one where flags are dead if there is.
    fn last_position(&self, id: NodeId, from: usize, reach: usize) -> usize {
        let free = |position: &usize| self.may_check(id, *position);
        let cheap = |position: &usize| !self.changes(self.live_at(id, *position));
        let mut all = (from..=reach).rev().filter(free);
        let best = all.clone().find(cheap).or_else(|| all.next());
        best.unwrap_or(from)
    }

    /// Cycles that a check at `at` prepays: those to a place where the next one is cheap, about a stretch away, past
    /// the piece that is not paid yet.
    fn wanted(&self, id: NodeId, at: usize, unpaid: usize, end: u32) -> u32 {
        let node = &self.graph.nodes[id];
        let distance = self.distance(id, at, end);
        let parts = (distance * 4).div_ceil(self.stretch_cycles * 5).max(1);
        let wanted = distance.div_ceil(parts);
        if parts == 1 {
            return wanted.max(self.least(id, at, unpaid));
        }
        // Where flags live a check costs more, and so does one that is far from where it is wanted.
        let mut places = Vec::new();
        let mut cycles = 0_u32;
        for (position, piece) in node.pieces.iter().enumerate().skip(at) {
            if position > unpaid && self.may_check(id, position) {
                let dear = if self.changes(self.live_at(id, position)) { wanted } else { 0 };
                places.push((cycles.abs_diff(wanted) + dear, cycles));
            }
            cycles += self.piece_cycles(node, position);
            if piece.callee.is_some() {
                break;
            }
        }
        let calls = node.pieces[at.min(node.pieces.len())..].iter().any(|piece| piece.callee.is_some());
        let whole = cycles + if calls { 0 } else { self.end_cycles(id) };
        places.push((whole.abs_diff(wanted), whole));
        if wanted >= whole {
            return wanted;
        }
        places.into_iter().min().map_or(whole, |(_, cycles)| cycles)
    }

    /// Cycles from a position that pay the piece at `unpaid`, and what must not be parted from it.
    fn least(&self, id: NodeId, at: usize, unpaid: usize) -> u32 {
        let node = &self.graph.nodes[id];
        let mut cycles = 0;
        for position in at..node.pieces.len() {
            if position > unpaid && self.may_check(id, position) {
                return cycles;
            }
            cycles += self.piece_cycles(node, position);
        }
        cycles + self.end_cycles(id)
    }
}

/// The most cycles until nothing may be left over.
struct Distances {
    /// From the beginning of each node.
    nodes: Vec<u32>,
    /// From the end of each node, its last instruction included.
    ends: Vec<u32>,
}
