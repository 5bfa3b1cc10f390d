//! What weaving gains, estimated without a simulator: a walk through the woven code.
//!
//! Owns: decisions for branches that stand for an ordinary run ([`Oracle`]): a loop goes round as often as its trip
//! count says, or a stated number of times, everything else takes turns. Host instructions count what they cost in
//! the plain host; jumps that weaving makes needless are not counted. Measuring is the roof's.

use std::collections::BTreeMap;

use isa::avr::{Instruction, Opcode};

use crate::cfg::{BlockId, Way};
use crate::directive::{Directive, Thread};
use crate::host::Host;
use crate::item::{Item, Label};
use crate::program::{Point, Program};

/// Rounds of a loop whose trip count is unknown: a frame's worth of bytes.
const ROUNDS_ASSUMED: u32 = 64;
/// Instructions of a walk, at most.
const STEPS_MAX: usize = 60_000;

/// Cycles of an ordinary run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// What the host's work that was done takes by itself.
    pub plain_cycles: u64,
    /// What it took woven.
    pub woven_cycles: u64,
    /// The guest's part of that.
    pub guest_cycles: u64,
    /// Its rounds in that: how often its first event happened.
    pub rounds: u64,
}

impl Estimate {
    /// The share of all cycles that did the host's work.
    pub fn host_share(&self) -> f64 {
        self.plain_cycles as f64 / self.woven_cycles.max(1) as f64
    }

    /// The guest's own cycles in a round, without what is saved and restored around them.
    pub fn guest_cycles_per_round(&self) -> f64 {
        self.guest_cycles as f64 / self.rounds.max(1) as f64
    }

    /// The share of the cycles that the guest leaves which did the host's work.
    pub fn recovered(&self) -> f64 {
        self.plain_cycles as f64 / (self.woven_cycles - self.guest_cycles).max(1) as f64
    }
}

/// What branches do in an ordinary run.
struct Oracle<'a> {
    hosts: &'a BTreeMap<Point, Host<'a>>,
    /// How often each branch was asked since it last left its loop.
    asked: BTreeMap<Point, u32>,
}

impl Oracle<'_> {
    /// Whether the branch or skip at a point is taken this time.
    fn takes(&mut self, point: Point) -> bool {
        let host = self.hosts.range(..=point).next_back().expect("a host point").1;
        let Some(block) = host.cfg.block_of(point) else { return false };
        let asked = self.asked.entry(point).or_insert(0);
        *asked += 1;
        let to = |wanted: fn(Way) -> bool| {
            let edges = &host.cfg.blocks[block].successors;
            edges.iter().find(|edge| wanted(edge.way)).map(|edge| edge.to)
        };
        let (taken, next) = (to(|way| way != Way::Next), to(|way| way == Way::Next));
        // The innermost loop that one way leaves and the other does not.
        let stays = |to: Option<BlockId>, id: usize| to.is_some_and(|to| host.loops.all[id].contains(to));
        let left = host.loops.around(block).find(|&id| stays(taken, id) != stays(next, id));
        let Some(id) = left else {
            // Outside loops the way that does the work is gone: the one that still leads to a loop.
            let works = |to: Option<BlockId>| to.is_some_and(|to| leads_to_loop(host, to));
            return if works(taken) == works(next) { asked.is_multiple_of(2) } else { works(taken) };
        };
        let rounds = host.trips[id].unwrap_or(ROUNDS_ASSUMED);
        // A test at the header is asked once more than the body runs.
        let at_header = host.loops.all[id].header == block && !host.loops.all[id].latches.contains(&block);
        let leaves = *asked >= rounds + u32::from(at_header);
        if leaves {
            *asked = 0;
        }
        leaves != stays(taken, id)
    }
}

/// Whether a loop begins in a block or behind it.
fn leads_to_loop(host: &Host, from: BlockId) -> bool {
    let mut seen = vec![false; host.cfg.blocks.len()];
    let mut open = vec![from];
    while let Some(block) = open.pop() {
        if std::mem::replace(&mut seen[block], true) {
            continue;
        }
        if host.loops.all.iter().any(|each| each.header == block) {
            return true;
        }
        open.extend(host.cfg.blocks[block].successors.iter().map(|edge| edge.to));
    }
    false
}

/// Walks both.
pub fn estimate(
    program: &Program,
    hosts: &BTreeMap<Point, Host>,
    items: &[Item],
    begins: Label,
    done: Label,
) -> Estimate {
    let mut oracle = Oracle { hosts, asked: BTreeMap::new() };
    walk(program, &mut oracle, items, begins, done)
}

/// From one label to the other.
fn walk(program: &Program, oracle: &mut Oracle, items: &[Item], begins: Label, done: Label) -> Estimate {
    let mut at = BTreeMap::new();
    for (index, item) in items.iter().enumerate() {
        if let Item::Label(label) = item {
            at.insert(*label, index);
        }
    }
    let mut counter = 0;
    let mut found = Estimate { plain_cycles: 0, woven_cycles: 0, guest_cycles: 0, rounds: 0 };
    let (mut index, mut stack) = (at[&begins], Vec::new());
    for _ in 0..STEPS_MAX {
        let line = match items.get(index) {
            Some(Item::Label(label)) if *label == done => break,
            Some(Item::Line(line)) => line,
            Some(item) => {
                let is_first = matches!(item, Item::Says(Directive::Event { at: 0, .. }));
                found.rounds += u64::from(is_first);
                index += 1;
                continue;
            }
            None => break,
        };
        let cost = line.instruction.opcode.cost(program.core);
        match line.instruction.opcode {
            Opcode::Ldi if line.thread.is_none() => counter = line.instruction.k,
            Opcode::Dec if line.thread.is_none() => counter -= 1,
            _ => {}
        }
        let decides = decides(line.instruction.opcode);
        let taken = decides
            && match (line.thread, line.point) {
                (Some(Thread::Host), Some(point)) => {
                    let is_inverted = program.code[point].instruction.opcode != line.instruction.opcode;
                    oracle.takes(point) != is_inverted
                }
                // Around a jump out of the rounds, the guest stays by being taken; otherwise by not.
                (Some(Thread::Guest), _) => jumps_over(items, index),
                _ => is_taken(&line.instruction, counter),
            };
        let spent = if taken { cost.taken_cycles } else { cost.cycles };
        found.woven_cycles += u64::from(spent);
        match (line.thread, line.point) {
            (Some(Thread::Guest), _) => found.guest_cycles += u64::from(spent),
            (Some(Thread::Host), Some(point)) => {
                let was_taken =
                    decides && taken == (program.code[point].instruction.opcode == line.instruction.opcode);
                let plain = if was_taken { program.taken_cycles(point) } else { program.cycles(point) };
                found.plain_cycles += u64::from(plain);
            }
            _ => {}
        }
        index = match (line.instruction.opcode, line.target) {
            (Opcode::Rjmp | Opcode::Jmp, Some(target)) => at[&target],
            (Opcode::Rcall | Opcode::Call, Some(target)) => {
                stack.push(index + 1);
                at[&target]
            }
            (Opcode::Ret, _) => match stack.pop() {
                Some(behind) => behind,
                None => break,
            },
            (_, Some(target)) if taken => at[&target],
            (_, None) if taken => after_skipped(items, index),
            _ => index + 1,
        };
    }
    found
}

/// Whether an instruction may go two ways.
fn decides(opcode: Opcode) -> bool {
    use Opcode::{Brbc, Brbs, Cpse, Sbic, Sbis, Sbrc, Sbrs};
    matches!(opcode, Brbs | Brbc | Sbrc | Sbrs | Sbic | Sbis | Cpse)
}

/// What a branch that weaving has added does while the guest is not over.
fn is_taken(branch: &Instruction, counter: i32) -> bool {
    match branch.opcode {
        // T says that the guest is over.
        Opcode::Brbc if branch.b == 6 => true,
        Opcode::Brbc => counter != 0,
        Opcode::Brbs => counter == 0,
        _ => true,
    }
}

/// Whether the line behind a branch is a jump: it goes around it.
fn jumps_over(items: &[Item], index: usize) -> bool {
    matches!(items.get(index + 1), Some(Item::Line(line)) if matches!(line.instruction.opcode, Opcode::Rjmp | Opcode::Jmp))
}

/// The item behind the next line.
fn after_skipped(items: &[Item], index: usize) -> usize {
    let skipped = (index + 1..items.len()).find(|&at| matches!(items[at], Item::Line(_)));
    skipped.map_or(items.len(), |at| at + 1)
}
