//! The loops of a function and how they nest.
//!
//! Owns: headers, latches, exits and the forest. A loop is a strongly connected part of the graph; what is left
//! of it without the edges to its header is searched for the next inner ones. With one entry that is the natural
//! loop of its header (all back edges of one header are one loop). With several it is irreducible, and reported
//! as that. How often a loop runs is `trips`'s.

use petgraph::algo::kosaraju_scc;
use petgraph::graph::NodeIndex;
use petgraph::visit::{EdgeFiltered, EdgeRef, NodeFiltered};

use crate::cfg::{BlockId, Cfg, Edge};

/// An index of [`Loops::all`].
pub type LoopId = usize;

/// A loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The block that it is entered by; of an irreducible one the first of them.
    pub header: BlockId,
    /// Every block that it is entered by; more than one is an irreducible loop.
    pub entries: Vec<BlockId>,
    /// Its blocks, ascending, those of inner loops included.
    pub blocks: Vec<BlockId>,
    /// The blocks with an edge back to an entry, ascending.
    pub latches: Vec<BlockId>,
    /// The ways out of it inside the function: the block that is left and the edge.
    pub exits: Vec<(BlockId, Edge)>,
    /// Blocks of it that may leave the function.
    pub leaving: Vec<BlockId>,
    /// The loop around it.
    pub parent: Option<LoopId>,
    /// The loops in it, in the order of execution.
    pub children: Vec<LoopId>,
    /// 1 for an outermost loop.
    pub depth: usize,
}

impl Loop {
    /// Whether it has more than one entry.
    pub fn is_irreducible(&self) -> bool {
        self.entries.len() > 1
    }

    /// Whether a block is in it.
    pub fn contains(&self, block: BlockId) -> bool {
        self.blocks.binary_search(&block).is_ok()
    }
}

/// The loops of one function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loops {
    /// Every loop, an outer one before its inner ones, in the order of execution.
    pub all: Vec<Loop>,
    /// The outermost ones.
    pub roots: Vec<LoopId>,
    innermost: Vec<Option<LoopId>>,
}

impl Loops {
    /// Of a function's graph.
    pub fn of(cfg: &Cfg) -> Loops {
        let count = cfg.blocks.len();
        let mut loops = Loops { all: Vec::new(), roots: Vec::new(), innermost: vec![None; count] };
        loops.roots = loops.search(cfg, None, &vec![true; count], &vec![false; count]);
        loops
    }

    /// Finds the loops among the blocks that are `within`, ignoring edges to the headers that are `cut`.
    fn search(&mut self, cfg: &Cfg, parent: Option<LoopId>, within: &[bool], cut: &[bool]) -> Vec<LoopId> {
        let nodes = NodeFiltered::from_fn(cfg.graph(), |node: NodeIndex| within[node.index()]);
        let inner = EdgeFiltered::from_fn(&nodes, |edge| !cut[edge.target().index()]);
        let mut parts: Vec<Vec<BlockId>> = kosaraju_scc(&inner)
            .into_iter()
            .map(|part| {
                let mut part: Vec<BlockId> = part.into_iter().map(NodeIndex::index).collect();
                part.sort_unstable_by_key(|&block| cfg.position(block));
                part
            })
            .filter(|part| {
                let goes_round =
                    |block: BlockId| cfg.blocks[block].successors.iter().any(|edge| edge.to == block);
                part.len() > 1 || (goes_round(part[0]) && !cut[part[0]])
            })
            .collect();
        parts.sort_unstable_by_key(|part| cfg.position(part[0]));
        parts.into_iter().map(|part| self.add(cfg, parent, part, cut)).collect()
    }

    /// Adds the loop that consists of these blocks, and those in it.
    fn add(&mut self, cfg: &Cfg, parent: Option<LoopId>, part: Vec<BlockId>, cut: &[bool]) -> LoopId {
        let mut within = vec![false; cfg.blocks.len()];
        for &block in &part {
            within[block] = true;
        }
        let entered = |block: BlockId| {
            block == 0 || cfg.blocks[block].predecessors.iter().any(|&before| !within[before])
        };
        let entries: Vec<BlockId> = part.iter().copied().filter(|&block| entered(block)).collect();
        let returns =
            |block: BlockId| cfg.blocks[block].successors.iter().any(|edge| entries.contains(&edge.to));
        let exits = |block: BlockId| {
            let leaves = cfg.blocks[block].successors.iter().filter(|edge| !within[edge.to]);
            leaves.map(move |&edge| (block, edge)).collect::<Vec<_>>()
        };
        let mut blocks = part.clone();
        blocks.sort_unstable();
        let id = self.all.len();
        self.all.push(Loop {
            header: entries[0],
            latches: blocks.iter().copied().filter(|&block| returns(block)).collect(),
            exits: blocks.iter().flat_map(|&block| exits(block)).collect(),
            leaving: blocks.iter().copied().filter(|&block| !cfg.blocks[block].exits.is_empty()).collect(),
            parent,
            children: Vec::new(),
            depth: parent.map_or(1, |parent| self.all[parent].depth + 1),
            entries,
            blocks,
        });
        for &block in &part {
            self.innermost[block] = Some(id);
        }
        let mut cut = cut.to_vec();
        for &entry in &self.all[id].entries {
            cut[entry] = true;
        }
        self.all[id].children = self.search(cfg, Some(id), &within, &cut);
        id
    }

    /// The innermost loop that a block is in.
    pub fn innermost(&self, block: BlockId) -> Option<LoopId> {
        self.innermost[block]
    }

    /// The loops that a block is in, from the innermost out.
    pub fn around(&self, block: BlockId) -> impl Iterator<Item = LoopId> {
        std::iter::successors(self.innermost[block], |&id| self.all[id].parent)
    }

    /// The irreducible ones.
    pub fn irreducible(&self) -> impl Iterator<Item = &Loop> {
        self.all.iter().filter(|found| found.is_irreducible())
    }
}
