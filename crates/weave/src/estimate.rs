//! What weaving gains, estimated without a simulator: a walk through the woven code.
//!
//! Owns: decisions for branches that stand for an ordinary run ([`Oracle`]). The host's outermost loop goes on as long
//! as the walk does when nothing bounds it: a message of any length. Other loops go round as often as their trip counts
//! say, or as bits of 32 would, and what depends on data takes turns at random, each time the same. What weaving has
//! added is executed, as far as its values are known ([`Added`]). Host instructions count what they cost in the plain host; jumps that weaving makes needless are not counted. Measuring is the roof's.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use isa::avr::{Instruction, Opcode, Set};

use crate::alu::{self, Flags};
use crate::cfg::{BlockId, Way};
use crate::directive::{Directive, Thread};
use crate::host::Host;
use crate::item::{Item, Label, Line};
use crate::loops::LoopId;
use crate::program::{Flow, Point, Program};

/// Rounds of a loop about which nothing is known, directly inside an outermost one: a message's.
const ROUNDS_MESSAGE: [u32; 2] = [1, 256];
/// Rounds of one further in, or in a callee: a word's bits.
const ROUNDS_WORD: [u32; 2] = [1, 32];
/// Rounds of the guest in the messages by which weaving is judged.
const MESSAGE_ROUNDS: u64 = 256;
/// Rounds of it that are walked.
const GUEST_ROUNDS: u64 = MESSAGE_ROUNDS / 2;
/// Instructions of a walk, at most.
const STEPS_MAX: usize = 40_000;

/// Cycles of an ordinary run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// What the host's work that was done takes by itself.
    pub plain_cycles: u64,
    /// What it took woven.
    pub woven_cycles: u64,
    /// The guest's part of that.
    pub guest_cycles: u64,
    /// What saved and restored registers and flags around it.
    pub saving_cycles: u64,
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

    /// Cycles of saving and restoring in a round of the guest.
    pub fn saving_cycles_per_round(&self) -> f64 {
        self.saving_cycles as f64 / self.rounds.max(1) as f64
    }

    /// What the host lacks for a round of the guest: the guest's own cycles, and those lost to waits, saves and jumps. A
    /// handler that takes fewer, entry and return included, leaves the host more.
    pub fn cost_cycles_per_round(&self) -> f64 {
        self.woven_cycles.saturating_sub(self.plain_cycles) as f64 / self.rounds.max(1) as f64
    }

    /// The share of the cycles that the guest leaves which did the host's work.
    pub fn recovered(&self) -> f64 {
        self.plain_cycles as f64 / (self.woven_cycles - self.guest_cycles).max(1) as f64
    }

    /// With the rounds that make no whole batch and come first, by themselves: half of one, on an average, in a message.
    pub fn with_first_rounds(self, batch_cycles: u32, round_cycles: u32) -> Estimate {
        let alone_cycles = u64::from(batch_cycles - round_cycles) / 2 * self.rounds / MESSAGE_ROUNDS;
        Estimate { woven_cycles: self.woven_cycles + alone_cycles, ..self }
    }
}

/// What branches do in an ordinary run.
pub struct Oracle {
    /// By point.
    forks: Vec<Option<Fork>>,
}

/// What decides a branch or skip.
#[derive(Clone, Copy, Debug)]
enum Fork {
    /// A loop is left, by being taken or by not, after so many questions.
    Leaves { taken: bool, asked: [u32; 2], between: bool },
    /// Always the same.
    Always(bool),
    /// Data.
    Turns,
}

impl Oracle {
    /// For a host and everything it calls; `entry` is the host's own.
    pub fn of(program: &Program, hosts: &BTreeMap<Point, Host>, entry: Point) -> Oracle {
        let mut forks = vec![None; program.code.len()];
        for host in hosts.values() {
            let is_callee = host.function.entry != entry;
            for block in &host.cfg.blocks {
                let point = block.last();
                if matches!(program.code[point].flow, Flow::Branch(_) | Flow::Skip) {
                    forks[point] = Some(fork(host, is_callee, point));
                }
            }
        }
        Oracle { forks }
    }
}

fn fork(host: &Host, is_callee: bool, point: Point) -> Fork {
    let Some(block) = host.cfg.block_of(point) else { return Fork::Always(false) };
    let to = |wanted: fn(Way) -> bool| {
        let edges = &host.cfg.blocks[block].successors;
        edges.iter().find(|edge| wanted(edge.way)).map(|edge| edge.to)
    };
    let (taken, next) = (to(|way| way != Way::Next), to(|way| way == Way::Next));
    // The innermost loop that one way leaves and the other does not.
    let stays = |to: Option<BlockId>, id: usize| to.is_some_and(|to| host.loops.all[id].contains(to));
    let Some(id) = host.loops.around(block).find(|&id| stays(taken, id) != stays(next, id)) else {
        // Outside loops the way that does the work is gone: the one that still leads to more loops.
        let works = |to: Option<BlockId>| to.map_or(0, |to| loops_behind(host, to));
        return match works(taken).cmp(&works(next)) {
            Ordering::Equal => Fork::Turns,
            more => Fork::Always(more == Ordering::Greater),
        };
    };
    if host.trips[id].is_none() && !is_callee && host.loops.all[id].depth == OUTERMOST {
        return Fork::Always(stays(taken, id));
    }
    let [fewest, most] = rounds(host, id, is_callee);
    // A test at the header is asked once more than the body runs.
    let at_header = host.loops.all[id].header == block && !host.loops.all[id].latches.contains(&block);
    let asked = [fewest, most].map(|rounds| rounds.saturating_add(at_header.into()).max(1));
    let between = host.trips[id].is_none_or(|trips| trips.between);
    Fork::Leaves { taken: !stays(taken, id), asked, between }
}

/// The fewest rounds of a loop and the most, in an ordinary run.
pub fn rounds(host: &Host, id: LoopId, is_callee: bool) -> [u32; 2] {
    match &host.trips[id] {
        Some(trips) => {
            [trips.rounds_min, trips.rounds_max].map(|rounds| rounds.min(u64::from(u32::MAX)) as u32)
        }
        None if !is_callee && host.loops.all[id].depth <= OUTERMOST + 1 => ROUNDS_MESSAGE,
        None => ROUNDS_WORD,
    }
}

/// The depth of a loop that is in no other.
const OUTERMOST: usize = 1;

/// A run in which nothing happened yet.
struct Run<'a> {
    oracle: &'a Oracle,
    /// Questions that each branch may still be asked before its loop is left.
    left: Vec<u32>,
    random: u32,
}

impl Run<'_> {
    /// A number below `below`, the same in every run (a linear congruential generator).
    fn random(&mut self, below: u32) -> u32 {
        self.random = self.random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((u64::from(self.random) * u64::from(below)) >> 32) as u32
    }

    /// Whether the branch or skip at a point is taken this time.
    fn takes(&mut self, point: Point) -> bool {
        match self.oracle.forks[point] {
            None => false,
            Some(Fork::Always(taken)) => taken,
            Some(Fork::Turns) => self.random(2) == 1,
            Some(Fork::Leaves { taken, asked: [fewest, most], between }) => {
                if self.left[point] == 0 {
                    self.left[point] = match between {
                        true => fewest + self.random((most - fewest).saturating_add(1)),
                        false => [fewest, most][self.random(2) as usize],
                    };
                }
                self.left[point] -= 1;
                (self.left[point] == 0) == taken
            }
        }
    }
}

/// How many loops begin in a block or behind it.
fn loops_behind(host: &Host, from: BlockId) -> usize {
    let mut seen = vec![false; host.cfg.blocks.len()];
    let mut open = vec![from];
    while let Some(block) = open.pop() {
        if !std::mem::replace(&mut seen[block], true) {
            open.extend(host.cfg.blocks[block].successors.iter().map(|edge| edge.to));
        }
    }
    host.loops.all.iter().filter(|each| seen[each.header]).count()
}

/// Walks woven code from one label to the other, or for as long as it takes to know.
pub fn estimate(program: &Program, oracle: &Oracle, items: &[Item], begins: Label, done: Label) -> Estimate {
    let mut run = Run { oracle, left: vec![0; oracle.forks.len()], random: 1 };
    let at = places(items);
    let mut added = Added::default();
    let mut found =
        Estimate { plain_cycles: 0, woven_cycles: 0, guest_cycles: 0, saving_cycles: 0, rounds: 0 };
    let (mut index, mut stack) = (at[begins], Vec::new());
    for _ in 0..STEPS_MAX {
        let line = match items.get(index) {
            Some(Item::Label(label)) if *label == done || found.rounds == GUEST_ROUNDS => break,
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
        let decides = decides(line.instruction.opcode);
        let taken = decides
            && match (line.thread, line.point) {
                (Some(Thread::Host), Some(point)) => {
                    let is_inverted = program.code[point].instruction.opcode != line.instruction.opcode;
                    run.takes(point) != is_inverted
                }
                // Around a jump out of the rounds, the guest stays by being taken; otherwise by not.
                (Some(Thread::Guest), _) => {
                    line.target.is_some_and(|target| jumps_over(items, index, target))
                }
                _ => added.takes(&line.instruction),
            };
        added.execute(line);
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
            _ if moves(line.instruction.opcode) => found.saving_cycles += u64::from(spent),
            _ => {}
        }
        index = match (line.instruction.opcode, line.target) {
            (Opcode::Rjmp | Opcode::Jmp, Some(target)) => at[target],
            (Opcode::Rcall | Opcode::Call, Some(target)) => {
                stack.push(index + 1);
                at[target]
            }
            (Opcode::Ret, _) => match stack.pop() {
                Some(behind) => behind,
                None => break,
            },
            (_, Some(target)) if taken => at[target],
            (_, None) if taken => after_skipped(items, index),
            _ => index + 1,
        };
    }
    found
}

/// Where each label is.
fn places(items: &[Item]) -> Vec<usize> {
    let mut at = Vec::new();
    for (index, item) in items.iter().enumerate() {
        if let Item::Label(label) = item {
            at.resize(at.len().max(label + 1), 0);
            at[*label] = index;
        }
    }
    at
}

/// Whether an instruction may go two ways.
fn decides(opcode: Opcode) -> bool {
    opcode.is_branch() || opcode.is_skip()
}

/// Whether what weaving adds saves or restores by it.
fn moves(opcode: Opcode) -> bool {
    use Opcode::{In, Lds, Mov, Movw, Out, Pop, Push, Sts};
    matches!(opcode, Mov | Movw | Push | Pop | In | Out | Lds | Sts)
}

/// Registers and flags as far as the instructions that weaving adds make them known: counters and budgets.
#[derive(Default)]
struct Added {
    registers: [Option<u8>; 32],
    flags: Flags,
    /// Whether any of them is known, perhaps: mostly none is.
    is_some_known: bool,
}

impl Added {
    fn execute(&mut self, line: &Line) {
        let Instruction { opcode, d, r, b, k, .. } = line.instruction;
        let [to, from] = [d, r].map(usize::from);
        if line.thread.is_none() {
            self.is_some_known = true;
            let flags = &mut self.flags;
            let result = match (opcode, self.registers[to]) {
                (Opcode::Ldi, _) => Some(k as u8),
                (Opcode::Mov, _) => self.registers[from],
                (Opcode::Eor, _) if d == r => Some(alu::logic(0, flags)),
                (Opcode::Subi, Some(byte)) => Some(alu::subtract(byte, k as u8, false, Some(true), flags)),
                (Opcode::Cpi, Some(byte)) => {
                    alu::subtract(byte, k as u8, false, Some(true), flags);
                    Some(byte)
                }
                (Opcode::Dec, Some(byte)) => Some(alu::decrement(byte, flags)),
                (Opcode::Inc, Some(byte)) => Some(alu::increment(byte, flags)),
                (Opcode::Bset | Opcode::Bclr, byte) => {
                    flags[usize::from(b)] = Some(opcode == Opcode::Bset);
                    byte
                }
                _ => return self.forget(&line.instruction),
            };
            self.registers[to] = result;
        } else {
            self.forget(&line.instruction);
        }
    }

    fn forget(&mut self, instruction: &Instruction) {
        if !self.is_some_known {
            return;
        }
        let writes = instruction.writes();
        writes.registers().for_each(|register| self.registers[usize::from(register)] = None);
        for (number, flag) in self.flags.iter_mut().enumerate() {
            *flag = flag.filter(|_| !writes.contains(Set::status(number as u8)));
        }
        let is_some_flag_known = self.flags.iter().any(Option::is_some);
        self.is_some_known = is_some_flag_known || self.registers.iter().any(Option::is_some);
    }

    /// Whether a branch or skip that weaving has added is taken. What is not known stands for a guest that is not over.
    fn takes(&self, instruction: &Instruction) -> bool {
        let Instruction { opcode, r, b, .. } = *instruction;
        let bit = || self.registers[usize::from(r)].map(|byte| byte >> b & 1 == 1);
        let flag = self.flags[usize::from(b & 7)];
        match opcode {
            Opcode::Brbs => flag.unwrap_or(false),
            Opcode::Brbc => !flag.unwrap_or(false),
            Opcode::Sbrs => bit().unwrap_or(false),
            Opcode::Sbrc => !bit().unwrap_or(false),
            _ => true,
        }
    }
}

/// Whether a branch goes around a jump behind it, and others that stand there.
fn jumps_over(items: &[Item], index: usize, target: Label) -> bool {
    let passed = items[index + 1..].iter().take_while(|item| match item {
        Item::Label(label) => *label != target,
        Item::Line(line) => line.instruction.opcode.is_jump(),
        Item::Says(_) => false,
    });
    let passed = passed.count();
    passed > 0 && items.get(index + 1 + passed) == Some(&Item::Label(target))
}

/// The item behind the next line.
fn after_skipped(items: &[Item], index: usize) -> usize {
    let skipped = (index + 1..items.len()).find(|&at| matches!(items[at], Item::Line(_)));
    skipped.map_or(items.len(), |at| at + 1)
}
