//! A function whose instructions name where they go on, so that they can be copied, moved and left out.
//!
//! Owns: taking a function apart ([`Draft::of`]), wiring copies of its instructions anew, and laying them out as a
//! program again, with jumps where an instruction does not go on to the next one.

use std::collections::{BTreeMap, BTreeSet};

use isa::avr::{Instruction, Opcode};

use crate::error::Refusal;
use crate::program::{Flow, Function, Point, Program, Step, Written};

/// The function.
pub(super) struct Draft {
    /// Its program, without code.
    shell: Program,
    name: String,
    directives: Vec<Written>,
    nodes: Vec<Node>,
}

/// An instruction; the points in its flow say nothing.
#[derive(Clone)]
struct Node {
    step: Step,
    /// Where it goes on: of a branch where it is taken, then the next one; of a skip the next one, then the one behind.
    ways: Vec<usize>,
    /// Whether it is a jump to the next instruction, which somebody has written to pass two cycles.
    passes: bool,
}

impl Draft {
    /// Takes apart what can be reached in a function.
    pub(super) fn of(program: &Program, function: &Function) -> Result<Draft, Refusal> {
        let mut draft = Draft {
            shell: Program {
                code: Vec::new(),
                functions: Vec::new(),
                core: program.core,
                texts: program.texts.clone(),
            },
            name: function.name.clone(),
            directives: function.directives.clone(),
            nodes: Vec::new(),
        };
        let refuse = |point: Point, why| Refusal::GuestShape {
            function: function.name.clone(),
            at: program.place_of(point),
            why,
        };
        let mut ways = BTreeMap::new();
        let mut open = vec![function.entry];
        while let Some(point) = open.pop() {
            if ways.contains_key(&point) {
                continue;
            }
            let to = match program.code[point].flow {
                Flow::Next => vec![point + 1],
                Flow::Branch(to) => vec![to, point + 1],
                Flow::Skip => vec![point + 1, point + 2],
                Flow::Jump(to) => vec![to],
                Flow::Return => Vec::new(),
                Flow::Call(_) | Flow::TailCall(_) => {
                    return Err(refuse(point, "it calls; a guest has to be one function"));
                }
                Flow::ReturnFromInterrupt | Flow::Indirect | Flow::Stop => {
                    return Err(refuse(point, "it goes where no guest may go"));
                }
            };
            if to.iter().any(|to| !(function.entry..function.end).contains(to)) {
                return Err(refuse(point, "it runs out of its function"));
            }
            open.extend(&to);
            ways.insert(point, to);
        }
        let number: BTreeMap<Point, usize> = ways.keys().copied().zip(0..).collect();
        draft.nodes = ways
            .iter()
            .map(|(&point, ways)| Node {
                step: program.code[point].clone(),
                ways: ways.iter().map(|to| number[to]).collect(),
                passes: program.code[point].flow == Flow::Jump(point + 1),
            })
            .collect();
        // What is laid out begins where it is entered.
        if number[&function.entry] != 0 {
            let step = jump(&program.code[function.entry]);
            draft.nodes.insert(0, Node { step, ways: Vec::new(), passes: false });
            for way in draft.nodes.iter_mut().flat_map(|node| &mut node.ways) {
                *way += 1;
            }
            draft.nodes[0].ways.push(number[&function.entry] + 1);
        }
        Ok(draft)
    }

    /// How many instructions it has.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn step(&self, node: usize) -> &Step {
        &self.nodes[node].step
    }

    pub(super) fn step_mut(&mut self, node: usize) -> &mut Step {
        &mut self.nodes[node].step
    }

    /// Leaves an instruction out that goes on one way.
    pub(super) fn leave_out(&mut self, node: usize) {
        let Node { step, passes, .. } = &mut self.nodes[node];
        (*step, *passes) = (jump(step), false);
    }

    /// Copies of the nodes, in this order; `way` says where a copy goes on, `None` when it never goes there.
    pub(super) fn rewired(
        &self,
        order: &[(usize, u32)],
        steps: Vec<Step>,
        way: impl Fn((usize, u32), usize) -> Option<(usize, u32)>,
    ) -> Result<Draft, Refusal> {
        let number: BTreeMap<(usize, u32), usize> = order.iter().copied().zip(0..).collect();
        let mut ways: Vec<Vec<Option<usize>>> = order
            .iter()
            .map(|&from| self.nodes[from.0].ways.iter().map(|&to| Some(number[&way(from, to)?])).collect())
            .collect();
        // What can only go where nothing goes is never reached itself.
        loop {
            let is_dead = |ways: &Vec<Option<usize>>| !ways.is_empty() && ways.iter().all(Option::is_none);
            let dead: BTreeSet<usize> = (0..ways.len()).filter(|&node| is_dead(&ways[node])).collect();
            let mut ways = ways.iter_mut().flatten().filter(|way| way.is_some_and(|to| dead.contains(&to)));
            let Some(first) = ways.next() else { break };
            *first = None;
            ways.for_each(|way| *way = None);
        }
        let nodes = steps.into_iter().zip(ways).enumerate().map(|(index, (step, ways))| {
            let known: Vec<usize> = ways.iter().copied().flatten().collect();
            let is_whole = known.len() == ways.len();
            if step.flow == Flow::Skip && !(is_whole && known == [index + 1, index + 2]) {
                let (function, at) = (self.name.clone(), self.shell.place(step.origin));
                let why = "it skips out of a loop inside a round; a branch says the same";
                return Err(Refusal::GuestShape { function, at, why });
            }
            let passes = is_whole && self.nodes[order[index].0].passes;
            Ok(Node { step: if is_whole { step } else { jump(&step) }, ways: known, passes })
        });
        let nodes = nodes.collect::<Result<_, _>>()?;
        Ok(Draft {
            shell: self.shell.clone(),
            name: self.name.clone(),
            directives: self.directives.clone(),
            nodes,
        })
    }

    /// Nodes that can be reached, in their order.
    pub(super) fn reached(&self) -> Vec<usize> {
        let (mut found, mut open) = (BTreeSet::new(), vec![0]);
        while let Some(node) = open.pop() {
            if found.insert(node) {
                open.extend(&self.nodes[node].ways);
            }
        }
        found.into_iter().collect()
    }

    /// Lays it out.
    pub(super) fn program(&self) -> Program {
        let reached = self.reached();
        let mut code: Vec<Step> = Vec::new();
        // Where each node begins, and for each instruction where it jumps.
        let (mut at, mut targets) = (BTreeMap::new(), Vec::new());
        let mut is_skipped = false;
        for (index, &node) in reached.iter().enumerate() {
            let Node { step, ways, passes } = &self.nodes[node];
            let next = reached.get(index + 1).copied();
            at.insert(node, code.len());
            let was_skipped = std::mem::replace(&mut is_skipped, step.flow == Flow::Skip);
            let (target, on) = match (&step.flow, &ways[..]) {
                (Flow::Branch(_), &[taken, on]) => (Some(taken), Some(on)),
                (Flow::Jump(_), &[to]) => (Some(to), None),
                (_, &[on, ..]) => (None, Some(on)),
                (_, &[]) => (None, None),
            };
            let is_needless =
                matches!(step.flow, Flow::Jump(_)) && step.directives.is_empty() && target == next;
            if is_needless && !was_skipped && !passes {
                continue;
            }
            code.push(step.clone());
            targets.push(target);
            if on.is_some() && on != next {
                code.push(jump(step));
                targets.push(on);
            }
        }
        for (step, target) in code.iter_mut().zip(targets) {
            if let (Flow::Branch(to) | Flow::Jump(to), Some(target)) = (&mut step.flow, target) {
                *to = at[&target];
            }
        }
        let (name, directives) = (self.name.clone(), self.directives.clone());
        let functions = vec![Function { name, entry: 0, end: code.len(), directives }];
        Program { code, functions, ..self.shell.clone() }
    }
}

/// A jump that stands where another instruction stood.
fn jump(of: &Step) -> Step {
    Step {
        instruction: Instruction::new(Opcode::Rjmp),
        expression: None,
        flow: Flow::Jump(0),
        directives: Vec::new(),
        origin: of.origin,
    }
}
