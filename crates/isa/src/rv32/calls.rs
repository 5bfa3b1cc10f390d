//! Which functions a run's cycles were spent in, and for whom: a call graph.
//!
//! Owns: the stack of functions as a run goes ([`Calls`], which watches it), and what it comes to ([`CallGraph`]). Names
//! are the program's symbols; what has none is called by its address. Pure values: what is drawn of them is for the
//! tools above.
//!
//! # What is a call
//! JAL and JALR that leave a link in ra or t0 call what stands where they go. JALR by way of ra or t0 that leaves none, to
//! where a function of the stack is to return, ends it, and those above it. Any other way into another function, by a jump or by running into it, is a tail
//! call: the one that is left stays below, and both end together; unless it leads back into the middle of one that was
//! left so, which goes on.
//!
//! Invariant: what an activation took is its own cycles and those of what it called. So the cycles of each function are
//! its local ones and those of the edges that leave it, and all local cycles together are those of the run.

use std::collections::BTreeMap;

use super::bare::MARK;
use super::listing::Listing;
use super::table::Opcode;
use crate::elf::Symbol;
use crate::{Cycles, Observer};

/// Where links are left, by the manual's convention for return-address stacks.
const LINKS: [u8; 2] = [1, 5];

/// What a function took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its symbol, or its address where there is none.
    pub name: String,
    /// Where it begins.
    pub address: u32,
    /// How often it was called; the run's first one is called by nobody.
    pub calls: u64,
    /// In its own instructions.
    pub local_cycles: Cycles,
    /// In all of its activations, with what they called. One that calls itself has the inner ones' in the outer's, too.
    pub cycles: Cycles,
}

/// What a function took for another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Who called, as its place among the functions.
    pub caller: usize,
    /// Who was called.
    pub callee: usize,
    /// How often.
    pub calls: u64,
    /// What those calls took, with what they called.
    pub cycles: Cycles,
}

/// What a run was, by function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallGraph {
    /// Those that were executed, by address.
    pub functions: Vec<Function>,
    /// Who called whom.
    pub edges: Vec<Edge>,
    /// All cycles that were watched.
    pub cycles: Cycles,
}

impl CallGraph {
    /// The function of a name.
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|function| function.name == name)
    }

    /// The edge between two functions.
    pub fn edge(&self, caller: &str, callee: &str) -> Option<&Edge> {
        self.edges.iter().find(|edge| {
            self.functions[edge.caller].name == caller && self.functions[edge.callee].name == callee
        })
    }
}

/// A function on the stack.
#[derive(Clone, Copy, Debug)]
struct Frame {
    function: usize,
    /// Where it returns to.
    link: u32,
    /// Whether it was called by a tail call, and its end is that of the one below.
    is_tail: bool,
    /// When it was called, on the clock of what is watched.
    begin: Cycles,
}

/// Watches a run.
#[derive(Clone, Debug)]
pub struct Calls {
    listing: Listing,
    /// Where each function begins and ends, by where it begins, and which it is.
    ranges: BTreeMap<u32, (u32, usize)>,
    functions: Vec<Function>,
    edges: BTreeMap<(usize, usize), (u64, Cycles)>,
    stack: Vec<Frame>,
    /// Where the function on top of it begins and ends.
    range: (u32, u32),
    /// The last instruction: its address, and the cycle in which it began.
    last: Option<(u32, Cycles)>,
    /// Cycles that were watched.
    watched: Cycles,
    is_watching: bool,
    /// The marks between which is watched, and the bytes of one that is being stored.
    between: Option<(u32, u32)>,
    mark: u32,
}

impl Calls {
    /// Watches a run from its begin to its end. Functions are those of the symbols.
    pub fn new(listing: Listing, symbols: &[Symbol]) -> Calls {
        let mut calls = Calls {
            listing,
            ranges: BTreeMap::new(),
            functions: Vec::new(),
            edges: BTreeMap::new(),
            stack: Vec::new(),
            range: (0, 0),
            last: None,
            watched: 0,
            is_watching: true,
            between: None,
            mark: 0,
        };
        for symbol in symbols.iter().filter(|symbol| symbol.function) {
            calls.add(symbol.name.clone(), symbol.address, symbol.bytes);
        }
        calls
    }

    /// Watches only between a mark of one number and the next one of another, each time. What was called before is on
    /// the stack, and not among the calls.
    #[must_use]
    pub fn between(mut self, from: u32, to: u32) -> Calls {
        (self.between, self.is_watching) = (Some((from, to)), false);
        self
    }

    /// A function; the first one to begin somewhere is it.
    fn add(&mut self, name: String, address: u32, bytes: u32) -> usize {
        let index = self.functions.len();
        let (_, known) = *self.ranges.entry(address).or_insert((address.saturating_add(bytes), index));
        if known == index {
            self.functions.push(Function { name, address, calls: 0, local_cycles: 0, cycles: 0 });
        }
        known
    }

    /// The function that an address is in.
    fn function_at(&mut self, pc: u32) -> usize {
        match self.ranges.range(..=pc).next_back() {
            Some((_, &(end, index))) if pc < end => index,
            _ => {
                // What has no name goes as far as to what has one.
                let end = self.ranges.range(pc..).next().map_or(u32::MAX, |(&begin, _)| begin);
                self.add(format!("{pc:#010x}"), pc, end - pc)
            }
        }
    }

    fn push(&mut self, function: usize, link: u32, is_tail: bool) {
        if self.is_watching {
            self.functions[function].calls += 1;
            if let Some(caller) = self.stack.last() {
                self.edges.entry((caller.function, function)).or_default().0 += 1;
            }
        }
        self.stack.push(Frame { function, link, is_tail, begin: self.watched });
        self.find_range();
    }

    /// Ends the functions from a place of the stack on.
    fn pop_to(&mut self, depth: usize) {
        while self.stack.len() > depth {
            let Some(frame) = self.stack.pop() else { break };
            let cycles = self.watched - frame.begin;
            self.functions[frame.function].cycles += cycles;
            if let Some(caller) = self.stack.last() {
                self.edges.entry((caller.function, frame.function)).or_default().1 += cycles;
            }
        }
        self.find_range();
    }

    fn find_range(&mut self) {
        let begin = self.stack.last().map_or(0, |frame| self.functions[frame.function].address);
        self.range = (begin, self.ranges.get(&begin).map_or(0, |&(end, _)| end));
    }

    /// The last instruction led from one address to another.
    fn go(&mut self, from: u32, to: u32) {
        let is_inside = self.range.0 <= to && to < self.range.1;
        let jump = self.listing.get(from).filter(|i| matches!(i.opcode, Opcode::Jal | Opcode::Jalr));
        match jump {
            // A branch, or nothing.
            None if is_inside => return,
            Some(i) if LINKS.contains(&i.rd) => {
                let function = self.function_at(to);
                return self.push(function, from.wrapping_add(4), false);
            }
            Some(i) if i.opcode == Opcode::Jalr && LINKS.contains(&i.rs1) && self.returns(to) => return,
            _ => {}
        }
        if !is_inside {
            self.go_elsewhere(to);
        }
    }

    /// Into another function without a call.
    fn go_elsewhere(&mut self, to: u32) {
        let function = self.function_at(to);
        let Some(&top) = self.stack.last() else { return };
        if self.functions[function].address != to {
            // Those that were left by tail calls, from the last one on.
            let tails = self.stack.iter().rev().take_while(|frame| frame.is_tail).count();
            let first = self.stack.len() - 1 - tails;
            let left = (first..self.stack.len()).rev().find(|&at| self.stack[at].function == function);
            if let Some(at) = left {
                return self.pop_to(at + 1);
            }
        }
        self.push(function, top.link, true);
    }

    /// Whether a jump ends functions, which is done.
    fn returns(&mut self, to: u32) -> bool {
        // The first one was not called.
        let frames = self.stack.iter().enumerate().skip(1).rev();
        let found = frames.filter(|(_, frame)| !frame.is_tail).find(|(_, frame)| frame.link == to);
        let Some(at) = found.map(|(at, _)| at) else { return false };
        self.pop_to(at);
        true
    }

    /// What is between two instructions belongs to the one.
    fn pass(&mut self, cycle: Cycles) {
        let Some((_, begin)) = self.last else { return };
        let (Some(frame), true) = (self.stack.last(), self.is_watching) else { return };
        self.functions[frame.function].local_cycles += cycle - begin;
        self.watched += cycle - begin;
    }

    /// The run has ended: what it was. Functions that were never executed are left out.
    pub fn finish(mut self) -> CallGraph {
        self.pop_to(0);
        let executed = |function: &Function| function.calls > 0 || function.cycles > 0;
        let mut order: Vec<usize> = (0..self.functions.len()).collect();
        order.retain(|&index| executed(&self.functions[index]));
        order.sort_by_key(|&index| self.functions[index].address);
        let place = |index: usize| order.iter().position(|&other| other == index);
        let edges = self.edges.iter().filter_map(|(&(caller, callee), &(calls, cycles))| {
            Some(Edge { caller: place(caller)?, callee: place(callee)?, calls, cycles })
        });
        let mut edges: Vec<Edge> = edges.filter(|edge| edge.calls > 0 || edge.cycles > 0).collect();
        edges.sort_by_key(|edge| (edge.caller, edge.callee));
        let functions = order.iter().map(|&index| self.functions[index].clone()).collect();
        CallGraph { functions, edges, cycles: self.watched }
    }
}

impl Observer for Calls {
    fn fetch(&mut self, cycle: Cycles, address: u32) {
        self.pass(cycle);
        match self.last {
            Some((last, _)) => {
                // Nearly every instruction goes on in its function.
                let is_inside = self.range.0 <= address && address < self.range.1;
                if address != last.wrapping_add(4) || !is_inside {
                    self.go(last, address);
                }
            }
            None => {
                let function = self.function_at(address);
                self.push(function, 0, false);
            }
        }
        self.last = Some((address, cycle));
    }

    fn store(&mut self, _cycle: Cycles, address: u32, value: u8) {
        let byte = address.wrapping_sub(MARK);
        let Some((from, to)) = self.between.filter(|_| byte < 4) else { return };
        self.mark = self.mark & !(0xff << (8 * byte)) | u32::from(value) << (8 * byte);
        if byte == 3 {
            // A store is of what begins with it, and not of what ends with it.
            self.is_watching = if self.is_watching { self.mark != to } else { self.mark == from };
        }
    }
}
