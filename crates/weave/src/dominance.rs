//! Dominators and post-dominators of a control-flow graph.
//!
//! Owns: the two trees. Post-dominance needs one exit, so a virtual one stands behind every way out of the
//! function; a loop without a way out is given one from its last block, as is usual.

use petgraph::algo::dominators::{Dominators, simple_fast};
use petgraph::graph::{DiGraph, NodeIndex};

use crate::cfg::{BlockId, Cfg};

/// Who dominates and post-dominates whom.
#[derive(Clone, Debug)]
pub struct Dominance {
    /// The immediate dominator of each block; none of the entry.
    parents: Vec<Option<BlockId>>,
    /// The immediate post-dominator of each block; none where that is the virtual exit.
    post_parents: Vec<Option<BlockId>>,
    /// Blocks without a way out that were joined to the virtual exit, ascending.
    endless: Vec<BlockId>,
}

impl Dominance {
    /// Of a function's graph.
    pub fn of(cfg: &Cfg) -> Dominance {
        let count = cfg.blocks.len();
        let dominators = simple_fast(cfg.graph(), NodeIndex::new(0));
        let endless = endless(cfg);
        let exit = NodeIndex::new(count);
        let post = simple_fast(&reversed(cfg, &endless), exit);
        Dominance { parents: parents(&dominators, count), post_parents: parents(&post, count), endless }
    }

    /// The closest block that every path from the entry to this one passes before it.
    pub fn immediate_dominator(&self, block: BlockId) -> Option<BlockId> {
        self.parents[block]
    }

    /// The closest block that every path from this one to the end passes behind it; `None` is the end itself.
    pub fn immediate_post_dominator(&self, block: BlockId) -> Option<BlockId> {
        self.post_parents[block]
    }

    /// Whether every path from the entry to `below` passes `above`.
    pub fn dominates(&self, above: BlockId, below: BlockId) -> bool {
        climbs(&self.parents, below, above)
    }

    /// Whether every path from `before` to the end passes `behind`.
    pub fn post_dominates(&self, behind: BlockId, before: BlockId) -> bool {
        climbs(&self.post_parents, before, behind)
    }

    /// The blocks from which an endless loop was given its way out.
    pub fn endless(&self) -> &[BlockId] {
        &self.endless
    }
}

/// Whether `to` is `from` or above it in the tree.
fn climbs(parents: &[Option<BlockId>], from: BlockId, to: BlockId) -> bool {
    std::iter::successors(Some(from), |&block| parents[block]).any(|block| block == to)
}

/// The tree as parents; what is no block is nobody.
fn parents(tree: &Dominators<NodeIndex>, count: usize) -> Vec<Option<BlockId>> {
    let parent = |id| tree.immediate_dominator(NodeIndex::new(id)).map(NodeIndex::index);
    (0..count).map(|id| parent(id).filter(|&parent| parent < count)).collect()
}

/// The graph with its edges turned round, and a virtual exit as its last node.
fn reversed(cfg: &Cfg, endless: &[BlockId]) -> DiGraph<(), ()> {
    let mut graph = DiGraph::new();
    let nodes: Vec<NodeIndex> = (0..=cfg.blocks.len()).map(|_| graph.add_node(())).collect();
    let exit = nodes[cfg.blocks.len()];
    for (id, block) in cfg.blocks.iter().enumerate() {
        for edge in &block.successors {
            graph.update_edge(nodes[edge.to], nodes[id], ());
        }
        if !block.exits.is_empty() {
            graph.update_edge(exit, nodes[id], ());
        }
    }
    for &id in endless {
        graph.update_edge(exit, nodes[id], ());
    }
    graph
}

/// One block of each part of the graph that has no way out: the last in reverse postorder.
fn endless(cfg: &Cfg) -> Vec<BlockId> {
    let mut ends = vec![false; cfg.blocks.len()];
    let mark = |from: BlockId, ends: &mut Vec<bool>| {
        let mut open = vec![from];
        while let Some(id) = open.pop() {
            if !std::mem::replace(&mut ends[id], true) {
                open.extend(&cfg.blocks[id].predecessors);
            }
        }
    };
    for (id, block) in cfg.blocks.iter().enumerate() {
        if !block.exits.is_empty() {
            mark(id, &mut ends);
        }
    }
    let mut found = Vec::new();
    for &id in cfg.order().iter().rev() {
        if !ends[id] {
            found.push(id);
            mark(id, &mut ends);
        }
    }
    found.sort_unstable();
    found
}
