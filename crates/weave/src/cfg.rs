//! The control-flow graph of one function.
//!
//! Owns: basic blocks, the edges between them with what the last instruction costs on each, the ways out of the
//! function, and the code that nothing reaches. A skip ends a block like a branch does; a call does not, since it
//! comes back. Blocks are numbered in the order of the layout, so block 0 is the entry.
//! Invariant: every reachable instruction is in exactly one block, and every block is reachable.

use std::fmt;
use std::ops::Range;

use isa::avr::Opcode;
use petgraph::graph::{DiGraph, NodeIndex};

use crate::directive::Directive;
use crate::program::{Callee, Flow, Function, Point, Program, Step};

/// An index of [`Cfg::blocks`].
pub type BlockId = usize;

/// How control goes on from a block's last instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Way {
    /// To the next instruction.
    Next,
    /// Along a branch or a jump.
    Taken,
    /// Past the next instruction.
    Skipped,
}

/// A way from one block to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Edge {
    /// The block it leads to.
    pub to: BlockId,
    /// How it is gone.
    pub way: Way,
    /// Cycles of the block's last instruction when it goes this way, without those of a callee.
    pub cycles: u32,
}

/// A way out of the function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Where it leads.
    pub kind: ExitKind,
    /// How it is gone.
    pub way: Way,
    /// Cycles of the block's last instruction when it goes this way, without those of a callee.
    pub cycles: u32,
}

/// Where a way out of the function leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExitKind {
    /// Back to the caller.
    Return,
    /// Back to what was interrupted.
    ReturnFromInterrupt,
    /// Into another function that returns in this one's stead.
    TailCall(Callee),
    /// Nowhere.
    Stop,
}

/// Instructions that are executed one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its first instruction.
    pub first: Point,
    /// One behind its last instruction.
    pub end: Point,
    /// Where it goes on inside the function: next, skipped, taken.
    pub successors: Vec<Edge>,
    /// Where it leaves the function.
    pub exits: Vec<Exit>,
    /// The blocks with an edge to it, ascending.
    pub predecessors: Vec<BlockId>,
}

impl Block {
    /// Its instructions.
    pub fn points(&self) -> Range<Point> {
        self.first..self.end
    }

    /// Its last instruction.
    pub fn last(&self) -> Point {
        self.end - 1
    }
}

/// The control-flow graph of one function.
#[derive(Clone, Debug)]
pub struct Cfg {
    /// The blocks in the order of the layout.
    pub blocks: Vec<Block>,
    /// The function's first instruction.
    pub entry: Point,
    /// One behind its last.
    pub end: Point,
    /// Instructions that nothing reaches, ascending.
    pub unreachable: Vec<Range<Point>>,
    /// Reverse postorder from the entry, inner ways before those that leave a loop.
    order: Vec<BlockId>,
    positions: Vec<usize>,
    owners: Vec<Option<BlockId>>,
    graph: DiGraph<Point, Way>,
}

/// Why a function has no control-flow graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The program holds no such stretch of code.
    NoCode {
        /// The function.
        function: String,
    },
    /// Control runs past the last instruction that is known.
    RunsOff {
        /// The instruction that does.
        point: Point,
    },
    /// A jump or branch into the middle of another function.
    IntoFunction {
        /// The instruction that jumps.
        point: Point,
        /// Where to.
        target: Point,
    },
    /// An indirect jump without a directive that says where it goes.
    Indirect {
        /// The jump.
        point: Point,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::NoCode { function } => write!(f, "`{function}` has no code"),
            Fault::RunsOff { .. } => write!(f, "control runs past the end of the code"),
            Fault::IntoFunction { .. } => write!(f, "this goes into the middle of another function"),
            Fault::Indirect { .. } => {
                write!(f, "nothing says where this goes\nhelp: write `targets A B …` on it")
            }
        }
    }
}

/// Where one way of an instruction leads.
enum Target {
    Inside(Point),
    Outside(ExitKind),
}

/// Which functions an instruction calls; none when it is no call.
pub fn callees(program: &Program, point: Point) -> Vec<Callee> {
    let step = &program.code[point];
    match &step.flow {
        Flow::Call(callee) => vec![callee.clone()],
        Flow::Indirect if step.instruction.opcode == Opcode::Icall => {
            let targets = targets(program, point);
            if targets.is_empty() { vec![Callee::Unknown("*Z".into())] } else { targets }
        }
        _ => Vec::new(),
    }
}

/// Whether a call is avr-gcc's way of making room on the stack: it goes on to the next instruction, for good.
pub(crate) fn allocates(step: &Step) -> bool {
    step.flow == Flow::Next && (step.instruction.opcode.is_call() || step.instruction.opcode == Opcode::Icall)
}

/// The functions that a directive names on an indirect jump or call.
fn targets(program: &Program, point: Point) -> Vec<Callee> {
    let written = &program.code[point].directives;
    let names = written.iter().filter_map(|written| match &written.directive {
        Directive::Targets(names) => Some(names),
        _ => None,
    });
    names.flatten().map(|name| callee(program, name)).collect()
}

fn callee(program: &Program, name: &str) -> Callee {
    match program.function(name) {
        Some(function) => Callee::Known(function.entry),
        None => Callee::Unknown(name.to_owned()),
    }
}

/// The ways of one instruction, in the order next, skipped, taken.
fn ways(program: &Program, function: &Function, point: Point) -> Result<Vec<(Way, Target)>, Fault> {
    let step = &program.code[point];
    let inside = |target: Point| -> Result<Target, Fault> {
        if (function.entry..function.end).contains(&target) {
            return Ok(Target::Inside(target));
        }
        match program.functions.iter().find(|other| other.entry == target) {
            Some(other) => Ok(Target::Outside(ExitKind::TailCall(Callee::Known(other.entry)))),
            None if target >= program.code.len() => Err(Fault::RunsOff { point }),
            None => Err(Fault::IntoFunction { point, target }),
        }
    };
    let outside = |kind: ExitKind| Ok(vec![(Way::Taken, Target::Outside(kind))]);
    match &step.flow {
        Flow::Next | Flow::Call(_) => Ok(vec![(Way::Next, inside(point + 1)?)]),
        Flow::Branch(target) => Ok(vec![(Way::Next, inside(point + 1)?), (Way::Taken, inside(*target)?)]),
        Flow::Skip => Ok(vec![(Way::Next, inside(point + 1)?), (Way::Skipped, inside(point + 2)?)]),
        Flow::Jump(target) => Ok(vec![(Way::Taken, inside(*target)?)]),
        Flow::TailCall(callee) => outside(ExitKind::TailCall(callee.clone())),
        Flow::Return => outside(ExitKind::Return),
        Flow::ReturnFromInterrupt => outside(ExitKind::ReturnFromInterrupt),
        Flow::Stop => outside(ExitKind::Stop),
        Flow::Indirect if step.instruction.opcode == Opcode::Icall => {
            Ok(vec![(Way::Next, inside(point + 1)?)])
        }
        Flow::Indirect => {
            let targets = targets(program, point);
            if targets.is_empty() {
                return Err(Fault::Indirect { point });
            }
            let exits = targets.into_iter().map(ExitKind::TailCall);
            Ok(exits.map(|kind| (Way::Taken, Target::Outside(kind))).collect())
        }
    }
}

/// Whether an instruction is the last of its block wherever it stands.
fn ends_block(program: &Program, point: Point) -> bool {
    let step = &program.code[point];
    match step.flow {
        Flow::Next | Flow::Call(_) => false,
        Flow::Indirect => step.instruction.opcode != Opcode::Icall,
        _ => true,
    }
}

impl Cfg {
    /// The graph of one function of the program.
    pub fn of(program: &Program, function: &Function) -> Result<Cfg, Fault> {
        if function.entry >= function.end || function.end > program.code.len() {
            return Err(Fault::NoCode { function: function.name.clone() });
        }
        let (reached, leaders) = reach(program, function)?;
        let mut cfg = Cfg {
            blocks: Vec::new(),
            entry: function.entry,
            end: function.end,
            unreachable: Vec::new(),
            order: Vec::new(),
            positions: Vec::new(),
            owners: vec![None; function.end - function.entry],
            graph: DiGraph::new(),
        };
        cfg.cut(program, &reached, &leaders);
        cfg.connect(program, function)?;
        cfg.sort();
        Ok(cfg)
    }

    /// Cuts what is reached into blocks.
    fn cut(&mut self, program: &Program, reached: &[bool], leaders: &[bool]) {
        for index in 0..reached.len() {
            let point = self.entry + index;
            if !reached[index] {
                match self.unreachable.last_mut() {
                    Some(range) if range.end == point => range.end += 1,
                    _ => self.unreachable.push(point..point + 1),
                }
                continue;
            }
            let continues = index > 0
                && reached[index - 1]
                && !leaders[index]
                && !ends_block(program, point - 1)
                && self.owners[index - 1].is_some();
            if continues {
                self.blocks.last_mut().expect("the instruction before has a block").end += 1;
            } else {
                let block = Block {
                    first: point,
                    end: point + 1,
                    successors: Vec::new(),
                    exits: Vec::new(),
                    predecessors: Vec::new(),
                };
                self.blocks.push(block);
            }
            self.owners[index] = Some(self.blocks.len() - 1);
        }
    }

    /// Gives the blocks their edges.
    fn connect(&mut self, program: &Program, function: &Function) -> Result<(), Fault> {
        for block in &self.blocks {
            self.graph.add_node(block.first);
        }
        for id in 0..self.blocks.len() {
            let last = self.blocks[id].last();
            for (way, target) in ways(program, function, last)? {
                let cycles = if way == Way::Next { program.cycles(last) } else { program.taken_cycles(last) };
                match target {
                    Target::Inside(point) => {
                        let to = self.owners[point - self.entry].expect("a target is reached");
                        self.blocks[id].successors.push(Edge { to, way, cycles });
                        self.blocks[to].predecessors.push(id);
                        self.graph.add_edge(NodeIndex::new(id), NodeIndex::new(to), way);
                    }
                    Target::Outside(kind) => self.blocks[id].exits.push(Exit { kind, way, cycles }),
                }
            }
        }
        for block in &mut self.blocks {
            block.predecessors.dedup();
        }
        Ok(())
    }

    /// Finds the reverse postorder. The farthest way is explored first, so that what follows a loop comes behind it.
    fn sort(&mut self) {
        let mut postorder = Vec::with_capacity(self.blocks.len());
        let mut seen = vec![false; self.blocks.len()];
        let mut stack = vec![(0, self.farthest_first(0))];
        seen[0] = true;
        while let Some((id, rest)) = stack.last_mut() {
            match rest.pop() {
                Some(next) if !seen[next] => {
                    seen[next] = true;
                    let successors = self.farthest_first(next);
                    stack.push((next, successors));
                }
                Some(_) => {}
                None => {
                    postorder.push(*id);
                    stack.pop();
                }
            }
        }
        postorder.reverse();
        self.positions = vec![0; postorder.len()];
        for (position, &id) in postorder.iter().enumerate() {
            self.positions[id] = position;
        }
        self.order = postorder;
    }

    /// The successors such that popping takes the farthest first.
    fn farthest_first(&self, id: BlockId) -> Vec<BlockId> {
        let mut to: Vec<BlockId> = self.blocks[id].successors.iter().map(|edge| edge.to).collect();
        to.sort_unstable();
        to
    }

    /// Blocks in reverse postorder: each before those that it leads to, loops aside.
    pub fn order(&self) -> &[BlockId] {
        &self.order
    }

    /// The place of a block in [`Cfg::order`].
    pub fn position(&self, block: BlockId) -> usize {
        self.positions[block]
    }

    /// The block that an instruction of the function is in; `None` when nothing reaches it.
    pub fn block_of(&self, point: Point) -> Option<BlockId> {
        *self.owners.get(point.checked_sub(self.entry)?)?
    }

    /// The graph itself; a node's index is its [`BlockId`], its weight the first instruction.
    pub fn graph(&self) -> &DiGraph<Point, Way> {
        &self.graph
    }
}

/// Which instructions are reached, and which of them something jumps to.
fn reach(program: &Program, function: &Function) -> Result<(Vec<bool>, Vec<bool>), Fault> {
    let count = function.end - function.entry;
    let (mut reached, mut leaders) = (vec![false; count], vec![false; count]);
    let mut open = vec![function.entry];
    reached[0] = true;
    leaders[0] = true;
    while let Some(point) = open.pop() {
        let leads = ends_block(program, point);
        for (_, target) in ways(program, function, point)? {
            let Target::Inside(target) = target else { continue };
            let index = target - function.entry;
            leaders[index] |= leads;
            if !reached[index] {
                reached[index] = true;
                open.push(target);
            }
        }
    }
    Ok((reached, leaders))
}
