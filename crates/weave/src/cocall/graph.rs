//! One function of the host in the order in which it is written: its blocks, short loops several times.
//!
//! Owns: what is never divided ([`Piece`]), jumps that lead to jumps, copies of short loops, and the layout, in which
//! the way that stays in a loop falls through. Leaves out time: `prepay` plans that.

use std::collections::{BTreeMap, BTreeSet};

use crate::cfg::{BlockId, ExitKind, Way};
use crate::error::Refusal;
use crate::host::Host;
use crate::loops::LoopId;
use crate::product::whole_ends;
use crate::program::{Callee, Flow, Point, Program};

/// An index of [`Graph::nodes`], in the order of the layout.
pub(super) type NodeId = usize;

/// Instructions between which the guest never runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    /// The first one.
    pub point: Point,
    /// How many; the second one is skipped by the first.
    pub count: usize,
    /// What they take, a callee's cycles not included.
    pub cycles: u32,
    /// Whether it must not be parted from what stands before it.
    pub joined: bool,
    /// The callee that it calls.
    pub callee: Option<Point>,
}

/// How a node goes on.
#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    /// To one place; with the original jump, if there was one.
    Jump { point: Option<Point>, to: NodeId },
    /// A branch to `aside`, else on to `through`; the original one, when it is inverted, went `through`.
    Branch { point: Point, inverted: bool, aside: NodeId, through: NodeId },
    /// A skip around a jump to `aside`.
    Skip { point: Point, aside: NodeId, through: NodeId },
    /// Out of the function.
    Return { point: Point },
}

/// A block, or what is left of it without its last instruction.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// Its first instruction.
    pub first: Point,
    pub pieces: Vec<Piece>,
    pub end: End,
    /// The innermost loop around it.
    pub around: Option<LoopId>,
}

/// A function as it is written.
pub(super) struct Graph {
    /// In the order of the layout, the entry first.
    pub nodes: Vec<Node>,
}

/// A block's copy.
type Key = (BlockId, usize);

/// Copies of a short loop, at most.
const COPIES_MAX: usize = 8;

struct Builder<'a> {
    program: &'a Program,
    host: &'a Host<'a>,
    /// By loop.
    copies: Vec<usize>,
}

impl Graph {
    /// Of a function. Loops without loops in them are written so often that a round of all copies takes
    /// `round_cycles`.
    ///
    /// # Errors
    /// When it has an instruction that no host may have.
    pub fn of(program: &Program, host: &Host, round_cycles: u32) -> Result<Graph, Refusal> {
        let mut builder = Builder { program, host, copies: vec![1; host.loops.all.len()] };
        for id in 0..host.loops.all.len() {
            builder.copies[id] = builder.copies_of(id, round_cycles);
        }
        let order = builder.order()?;
        let at: BTreeMap<Key, NodeId> = order.iter().copied().zip(0..).collect();
        let nodes = order.iter().enumerate().map(|(id, &key)| builder.node(id, key, &at));
        Ok(Graph { nodes: nodes.collect::<Result<_, _>>()? })
    }

    /// The calls in it.
    pub fn calls(&self) -> Vec<Piece> {
        let pieces = self.nodes.iter().flat_map(|node| &node.pieces);
        pieces.filter(|piece| piece.callee.is_some()).copied().collect()
    }

    /// Where a node may go on in its function.
    pub fn successors(&self, id: NodeId) -> Vec<NodeId> {
        match self.nodes[id].end {
            End::Jump { to, .. } => vec![to],
            End::Branch { aside, through, .. } | End::Skip { aside, through, .. } => vec![through, aside],
            End::Return { .. } => Vec::new(),
        }
    }
}

/// Where a block goes on.
enum Goes {
    Jump { point: Option<Point>, to: Key },
    Branch { point: Point, taken: Key, next: Key },
    Skip { point: Point, aside: Key, through: Key },
    Return { point: Point },
}

impl Builder<'_> {
    fn copies_of(&self, id: LoopId, round_cycles: u32) -> usize {
        let found = &self.host.loops.all[id];
        let calls = |point: Point| matches!(self.program.code[point].flow, Flow::Call(_));
        let points = || found.blocks.iter().flat_map(|&block| self.host.cfg.blocks[block].points());
        if !found.children.is_empty() || found.is_irreducible() || points().any(calls) {
            return 1;
        }
        let cycles: u32 = points().map(|point| self.program.cycles(point)).sum();
        ((round_cycles / cycles.max(1)) as usize).clamp(1, COPIES_MAX)
    }

    /// Where an edge of a block's copy leads: past what is nothing but a jump, and from a loop's end to its next copy.
    fn goal(&self, (from, copy): Key, to: BlockId) -> Key {
        let key = self.copy((from, copy), to);
        self.past_jumps(key)
    }

    fn copy(&self, (from, copy): Key, to: BlockId) -> Key {
        let loops = &self.host.loops;
        match loops.innermost(from) {
            Some(id) if loops.all[id].contains(to) && loops.innermost(to) == Some(id) => {
                let is_back = loops.all[id].header == to;
                (to, if is_back { (copy + 1) % self.copies[id] } else { copy })
            }
            _ => (to, 0),
        }
    }

    fn past_jumps(&self, key: Key) -> Key {
        let mut key = key;
        for _ in 0..self.host.cfg.blocks.len() {
            let block = &self.host.cfg.blocks[key.0];
            let is_jump =
                block.points().len() == 1 && matches!(self.program.code[block.first].flow, Flow::Jump(_));
            match block.successors.first() {
                Some(edge) if is_jump && edge.to != key.0 => key = self.copy(key, edge.to),
                _ => break,
            }
        }
        key
    }

    /// A skip whose skipped instruction takes as long skipped as done, and is reached by nothing else.
    fn is_simple_skip(&self, block: BlockId) -> bool {
        let (program, found) = (self.program, &self.host.cfg.blocks[block]);
        let point = found.last();
        let Some(next) = found.successors.iter().find(|edge| edge.way == Way::Next) else { return false };
        program.code[point].flow == Flow::Skip
            && program.code[point + 1].flow == Flow::Next
            && program.cycles(point) + program.cycles(point + 1) == program.taken_cycles(point)
            && self.host.cfg.blocks[next.to].predecessors.len() == 1
    }

    fn goes(&self, key: Key) -> Result<Goes, Refusal> {
        let block = &self.host.cfg.blocks[key.0];
        let point = block.last();
        let to = |way: Way| {
            let edge = block.successors.iter().find(|edge| edge.way == way);
            self.goal(key, edge.expect("the instruction has this way").to)
        };
        Ok(match &self.program.code[point].flow {
            Flow::Branch(_) => Goes::Branch { point, taken: to(Way::Taken), next: to(Way::Next) },
            Flow::Skip if self.is_simple_skip(key.0) => Goes::Jump { point: None, to: to(Way::Skipped) },
            Flow::Skip => Goes::Skip { point, aside: to(Way::Next), through: to(Way::Skipped) },
            Flow::Jump(_) => Goes::Jump { point: Some(point), to: to(Way::Taken) },
            Flow::Return if block.exits.iter().any(|exit| exit.kind == ExitKind::Return) => {
                Goes::Return { point }
            }
            Flow::Next | Flow::Call(Callee::Known(_)) => Goes::Jump { point: None, to: to(Way::Next) },
            Flow::Call(Callee::Unknown(name)) | Flow::TailCall(Callee::Unknown(name)) => {
                let at = self.program.place_of(point);
                return Err(Refusal::UnresolvedCall { at, callee: name.clone() });
            }
            _ => return Err(self.shape(point)),
        })
    }

    fn shape(&self, point: Point) -> Refusal {
        let mnemonic = self.program.mnemonic(point);
        Refusal::HostShape { at: self.program.place_of(point), mnemonic }
    }

    /// All copies that are reached, in the order of the layout: each followed by where it most likely goes on.
    fn order(&self) -> Result<Vec<Key>, Refusal> {
        let mut order = Vec::new();
        let mut placed = BTreeSet::new();
        let mut open = BTreeSet::from([(0, 0)]);
        while let Some(first) = open.pop_first() {
            let mut current = first;
            while placed.insert(current) {
                open.remove(&current);
                order.push(current);
                let around = self.host.loops.innermost(current.0);
                let stays = |key: &Key| {
                    around.is_some_and(|id| self.host.loops.all[id].contains(key.0)) && !placed.contains(key)
                };
                let (likely, other) = match self.goes(current)? {
                    Goes::Jump { to, .. } => (to, None),
                    Goes::Branch { taken, next, .. }
                        if placed.contains(&next) || stays(&taken) && !stays(&next) =>
                    {
                        (taken, Some(next))
                    }
                    Goes::Branch { taken, next, .. } => (next, Some(taken)),
                    Goes::Skip { aside, through, .. } => (through, Some(aside)),
                    Goes::Return { .. } => break,
                };
                open.extend(other.filter(|key| !placed.contains(key)));
                current = likely;
            }
        }
        Ok(order)
    }

    fn node(&self, id: NodeId, key: Key, at: &BTreeMap<Key, NodeId>) -> Result<Node, Refusal> {
        let block = &self.host.cfg.blocks[key.0];
        let end = match self.goes(key)? {
            Goes::Jump { point, to } => End::Jump { point, to: at[&to] },
            Goes::Branch { point, taken, next } if at[&taken] == id + 1 => {
                End::Branch { point, inverted: true, aside: at[&next], through: at[&taken] }
            }
            Goes::Branch { point, taken, next } => {
                End::Branch { point, inverted: false, aside: at[&taken], through: at[&next] }
            }
            Goes::Skip { point, aside, through } => {
                End::Skip { point, aside: at[&aside], through: at[&through] }
            }
            Goes::Return { point } => End::Return { point },
        };
        let around = self.host.loops.innermost(key.0);
        Ok(Node { first: block.first, pieces: self.pieces(key.0)?, end, around })
    }

    fn pieces(&self, block: BlockId) -> Result<Vec<Piece>, Refusal> {
        let program = self.program;
        let points = self.host.cfg.blocks[block].points();
        let mut pieces = Vec::new();
        let mut whole_until = 0;
        for point in points.clone() {
            let cycles = program.cycles(point);
            let joined = point < whole_until;
            let piece = Piece { point, count: 1, cycles, joined, callee: None };
            match &program.code[point].flow {
                Flow::Next => {
                    if !joined {
                        whole_until = whole_ends(program, point, points.end);
                    }
                    pieces.push(piece);
                }
                Flow::Call(Callee::Known(callee)) => {
                    pieces.push(Piece { callee: Some(*callee), ..piece });
                }
                Flow::Skip if self.is_simple_skip(block) => {
                    pieces.push(Piece { count: 2, cycles: program.taken_cycles(point), ..piece });
                }
                Flow::Branch(_) | Flow::Skip | Flow::Jump(_) | Flow::Return => {}
                Flow::Call(Callee::Unknown(name)) | Flow::TailCall(Callee::Unknown(name)) => {
                    let at = program.place_of(point);
                    return Err(Refusal::UnresolvedCall { at, callee: name.clone() });
                }
                _ => return Err(self.shape(point)),
            }
        }
        Ok(pieces)
    }
}
