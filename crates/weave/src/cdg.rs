//! The control-dependence graph, as nested regions.
//!
//! Owns: what decides whether a block is executed ([`dependences`], after Ferrante, Ottenstein and Warren 1987),
//! and the same as a hierarchy ([`Cdg`]): loops and conditionals are inner nodes, instructions are in the leaves,
//! and what is executed under the same condition is one region, in the order of execution. Each loop has a level
//! of its own, on which its back edges end. Where conditions are not nested (`a && b` with one else), a region
//! hangs on several arms; it is one region all the same.

use crate::cfg::{BlockId, Cfg, Way};
use crate::dominance::Dominance;
use crate::loops::{LoopId, Loops};

/// A condition: the block that decides, and how it must go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Dependence {
    /// The block whose last instruction decides.
    pub block: BlockId,
    /// The way it goes.
    pub way: Way,
}

/// For each block, the conditions that it depends on directly, ascending. A block that is executed in any case
/// depends on none, a loop's blocks on what ends it.
pub fn dependences(cfg: &Cfg, dominance: &Dominance) -> Vec<Vec<Dependence>> {
    let mut found = vec![Vec::new(); cfg.blocks.len()];
    for (block, here) in cfg.blocks.iter().enumerate() {
        let stop = dominance.immediate_post_dominator(block);
        for edge in &here.successors {
            let mut next = Some(edge.to);
            while next != stop
                && let Some(dependent) = next
            {
                found[dependent].push(Dependence { block, way: edge.way });
                next = dominance.immediate_post_dominator(dependent);
            }
        }
    }
    for each in &mut found {
        each.sort_unstable();
        each.dedup();
    }
    found
}

/// An index of [`Cdg::regions`].
pub type RegionId = usize;

/// Something in a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Node {
    /// Instructions; the last one decides if a region depends on it.
    Block(BlockId),
    /// A loop, as one step of the level around it.
    Loop(LoopId),
}

/// One way on from a node, where several lead to different things.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Arm {
    /// The node that decides.
    pub node: Node,
    /// The block that is left, with the way: of the node itself, or of a block in the loop.
    pub from: Dependence,
}

/// What is executed under the same conditions, in the order of execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// The loop whose level it is on; `None` is the function's.
    pub level: Option<LoopId>,
    /// The conditions, any of which leads here; none is the level's own region.
    pub arms: Vec<Arm>,
    /// What is in it.
    pub nodes: Vec<Node>,
}

/// The control-dependence graph of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cdg {
    /// All regions, the function's first, then level by level.
    pub regions: Vec<Region>,
    /// The region of each loop's body, by the loop. On an irreducible loop's level every edge back in the order of
    /// [`Cfg::order`] is cut.
    pub bodies: Vec<RegionId>,
}

impl Cdg {
    /// Of a function.
    pub fn of(cfg: &Cfg, loops: &Loops) -> Cdg {
        let mut cdg = Cdg { regions: Vec::new(), bodies: vec![0; loops.all.len()] };
        cdg.add_level(cfg, loops, None);
        for id in 0..loops.all.len() {
            cdg.bodies[id] = cdg.regions.len();
            cdg.add_level(cfg, loops, Some(id));
        }
        cdg
    }

    /// The regions on a node's arms, in the order of the arms.
    pub fn below(&self, node: Node) -> Vec<(Arm, RegionId)> {
        let mut found: Vec<(Arm, RegionId)> = Vec::new();
        for (id, region) in self.regions.iter().enumerate() {
            found.extend(region.arms.iter().filter(|arm| arm.node == node).map(|&arm| (arm, id)));
        }
        found.sort_unstable_by_key(|&(arm, id)| (arm, id));
        found
    }

    fn add_level(&mut self, cfg: &Cfg, loops: &Loops, level: Option<LoopId>) {
        let graph = Level::of(cfg, loops, level);
        let first = self.regions.len();
        self.regions.push(Region { level, arms: Vec::new(), nodes: Vec::new() });
        for (node, arms) in graph.nodes.iter().zip(graph.dependences()) {
            let known = self.regions[first..].iter().position(|region| region.arms == arms);
            match known {
                Some(index) => self.regions[first + index].nodes.push(*node),
                None => self.regions.push(Region { level, arms, nodes: vec![*node] }),
            }
        }
    }
}

/// One level of the loop forest, without back edges: inner loops are nodes, and what leads back or out ends it.
struct Level {
    /// In the order of execution.
    nodes: Vec<Node>,
    /// For each node the ways on: the arm and the node's index, or the end.
    ways: Vec<Vec<(Arm, Option<usize>)>>,
}

impl Level {
    fn of(cfg: &Cfg, loops: &Loops, level: Option<LoopId>) -> Level {
        let around = |block: BlockId| loops.around(block).take_while(move |&id| Some(id) != level).last();
        let inside = |block: BlockId| level.is_none_or(|id| loops.all[id].contains(block));
        // An irreducible loop's blocks have no order that one entry begins; they stand side by side.
        let node = |block: BlockId| around(block).map_or(Node::Block(block), Node::Loop);
        let mut nodes = Vec::new();
        for &block in cfg.order().iter().filter(|&&block| inside(block)) {
            if !nodes.contains(&node(block)) {
                nodes.push(node(block));
            }
        }
        let index = |of: Node| nodes.iter().position(|&node| node == of);
        let mut ways = vec![Vec::new(); nodes.len()];
        for &block in cfg.order().iter().filter(|&&block| inside(block)) {
            let here = node(block);
            let from = index(here).expect("it has just been listed");
            for edge in &cfg.blocks[block].successors {
                let to = if inside(edge.to) { index(node(edge.to)) } else { None };
                let forward = to.filter(|&to| to > from);
                // Inside one node nothing is decided on this level.
                if to != Some(from) || matches!(here, Node::Block(_)) {
                    ways[from].push((Arm { node: here, from: Dependence { block, way: edge.way } }, forward));
                }
            }
            for exit in &cfg.blocks[block].exits {
                ways[from].push((Arm { node: here, from: Dependence { block, way: exit.way } }, None));
            }
        }
        Level { nodes, ways }
    }

    /// The closest node behind each that every way passes; `None` is the end.
    fn post_dominators(&self) -> Vec<Option<usize>> {
        let mut behind: Vec<Option<usize>> = vec![None; self.nodes.len()];
        for node in (0..self.nodes.len()).rev() {
            let mut ways = self.ways[node].iter().map(|&(_, to)| to);
            let first = ways.next().flatten();
            behind[node] = ways.fold(first, |mut a, mut b| {
                // Who stands farther behind has the greater index; the end stands behind all.
                while a != b {
                    match (a, b) {
                        (Some(one), Some(other)) if one < other => a = behind[one],
                        (Some(_), Some(other)) => b = behind[other],
                        _ => return None,
                    }
                }
                a
            });
        }
        behind
    }

    /// The arms that each node depends on.
    fn dependences(&self) -> Vec<Vec<Arm>> {
        let behind = self.post_dominators();
        let mut found = vec![Vec::new(); self.nodes.len()];
        for (node, ways) in self.ways.iter().enumerate() {
            for &(arm, to) in ways {
                let mut next = to;
                while next != behind[node]
                    && let Some(dependent) = next
                {
                    found[dependent].push(arm);
                    next = behind[dependent];
                }
            }
        }
        for arms in &mut found {
            arms.sort_unstable();
            arms.dedup();
        }
        found
    }
}
