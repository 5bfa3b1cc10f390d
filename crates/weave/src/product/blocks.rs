//! One block of the host, from one state to the states it goes on in.
//!
//! Owns: host instructions in their order, branches turned so that the frequent way falls through, skips, and what
//! must not be divided. Calls are `calls`'s.

use isa::avr::Opcode;

use super::{Arrival, Goal, Ways, Weaver};
use crate::cfg::{BlockId, ExitKind, Way};
use crate::error::Refusal;
use crate::guest::inverted;
use crate::host::Host;
use crate::item::{Item, Label, Line};
use crate::loops::LoopId;
use crate::program::{Callee, Flow, Point, Program};
use crate::rename::SREG;

/// One behind the last instruction of what must not be divided, when it begins at `point`. A stack pointer of which
/// one half is new is none, and SREG that is saved and restored around it would undo what the guest's end does to
/// interrupts.
pub(crate) fn whole_ends(program: &Program, point: Point, end: Point) -> Point {
    let writes = |point: Point, address: i32| {
        let instruction = program.code[point].instruction;
        instruction.opcode == Opcode::Out && instruction.k == address
    };
    let half = |point: Point| STACK_POINTER.into_iter().find(|&address| writes(point, address));
    let within = |from: Point| from + 1..end.min(from + WHOLE_INSTRUCTIONS_MAX);
    let first = program.code[point].instruction;
    let mut ends = point;
    if first.opcode == Opcode::In && first.k == SREG {
        ends = within(point).find(|&point| writes(point, SREG)).map_or(ends, |point| point + 1);
    }
    for start in point..ends.max(point + 1) {
        if let Some(first) = half(start) {
            let other = within(start).find(|&point| half(point).is_some_and(|other| other != first));
            ends = other.map_or(ends, |other| ends.max(other + 1));
        }
    }
    ends
}

/// Instructions among which the other end of such a stretch is looked for.
const WHOLE_INSTRUCTIONS_MAX: usize = 8;

/// The I/O addresses of the stack pointer's halves.
const STACK_POINTER: [i32; 2] = [0x3d, 0x3e];

impl<'a> Weaver<'a> {
    /// One block of the host, from one state.
    pub(super) fn block(
        &mut self,
        host: &'a Host<'a>,
        scope: Option<LoopId>,
        block: BlockId,
        mut at: Arrival,
    ) -> Result<Ways, Refusal> {
        let program = self.setting.program;
        let points = host.cfg.blocks[block].points();
        let mut whole_until = 0;
        for point in points.clone() {
            let cycles = program.cycles(point);
            match &program.code[point].flow {
                Flow::Next if point < whole_until => {
                    let line = self.host_line(point);
                    self.push(at.fragment, line);
                    self.spend(&mut at, cycles);
                }
                Flow::Next if self.is_produced(point) => self.produced(&mut at, point)?,
                Flow::Next => {
                    whole_until = whole_ends(program, point, points.end);
                    let cycles_whole =
                        (point + 1..whole_until).map(|point| program.cycles(point)).sum::<u32>();
                    let cycles_needed = cycles + cycles_whole;
                    let behind = self.live_at(whole_until.max(point + 1));
                    self.make_room(&mut at, cycles_needed, point, behind)?;
                    let line = self.host_line(point);
                    self.push(at.fragment, line);
                    self.spend(&mut at, cycles);
                }
                Flow::Call(Callee::Known(target)) => self.call(&mut at, point, *target)?,
                Flow::Call(Callee::Unknown(name)) | Flow::TailCall(Callee::Unknown(name)) => {
                    let at = program.place_of(point);
                    return Err(Refusal::UnresolvedCall { at, callee: name.clone() });
                }
                Flow::Branch(_) => return self.branch(host, scope, block, point, at),
                Flow::Skip => return self.skip(host, block, point, at),
                Flow::Jump(_) | Flow::Return => {}
                Flow::TailCall(_) | Flow::ReturnFromInterrupt | Flow::Indirect | Flow::Stop => {
                    let mnemonic = program.mnemonic(point);
                    return Err(Refusal::HostShape { at: program.place_of(point), mnemonic });
                }
            }
        }
        // A jump needs no code: what it leads to is written next, or jumped to when it waits.
        let block = &host.cfg.blocks[block];
        let goal = match (&block.successors[..], &block.exits[..]) {
            ([edge], []) => Goal::Block(edge.to),
            ([], [exit]) if exit.kind == ExitKind::Return => Goal::Return,
            _ => unreachable!("a block without branch or skip goes one way"),
        };
        Ok(vec![(goal, at)])
    }

    pub(super) fn successor(host: &Host, block: BlockId, way: Way) -> BlockId {
        let edges = &host.cfg.blocks[block].successors;
        edges.iter().find(|edge| edge.way == way).expect("the instruction has this way").to
    }

    pub(crate) fn is_far(&self, point: Point) -> bool {
        self.setting.far.has(&self.host_line(point))
    }

    pub(super) fn branch(
        &mut self,
        host: &'a Host<'a>,
        scope: Option<LoopId>,
        block: BlockId,
        point: Point,
        mut at: Arrival,
    ) -> Result<Ways, Refusal> {
        let (taken, next) =
            (Self::successor(host, block, Way::Taken), Self::successor(host, block, Way::Next));
        let stays = |to: BlockId| scope.is_some_and(|id| host.loops.all[id].contains(to));
        let mut instruction = self.host_line(point).instruction;
        // Inside a loop the way that stays falls through; it is gone more often.
        let (through, aside) = if stays(taken) && !stays(next) {
            instruction = inverted(instruction);
            (taken, next)
        } else {
            (next, taken)
        };
        let is_far = self.is_far(point);
        let live = self.live_at(host.cfg.blocks[taken].first) | self.live_at(host.cfg.blocks[next].first);
        let leaves = stays(through) != stays(aside);
        let find =
            |weaver: &Self, at: Arrival| weaver.island_in_reach(at.fragment).filter(|_| is_far && leaves);
        let jump_cycles = self.jump_cycles();
        let cycles = |island: Option<Label>| match (is_far, island) {
            (false, _) => (1, 2),
            (true, None) => (2, 1 + jump_cycles),
            (true, Some(_)) => (1, 2 + jump_cycles),
        };
        let island = find(self, at);
        let needed_cycles = cycles(island).1;
        self.make_room(&mut at, needed_cycles, point, live)?;
        // What was written meanwhile may be in between.
        let island = island.and_then(|_| find(self, at));
        let (straight_cycles, aside_cycles) = cycles(island);
        let label = self.label();
        if let Some(island) = island {
            let jump = self.jump_from(island, label);
            let line = Line { instruction, target: Some(jump), ..self.host_line(point) };
            self.push(at.fragment, line);
        } else if is_far {
            let over = self.label();
            let line =
                Line { instruction: inverted(instruction), target: Some(over), ..self.host_line(point) };
            self.push(at.fragment, line);
            self.push(at.fragment, self.jump(label));
            self.island(at.fragment);
            self.fragments[at.fragment].push(Item::Label(over));
        } else {
            let line = Line { instruction, target: Some(label), ..self.host_line(point) };
            self.push(at.fragment, line);
        }
        let share = if leaves { 0.9 } else { 0.5 };
        let mut other = at;
        other.fragment = self.new_fragment(label);
        other.weight *= 1.0 - share;
        self.spend(&mut other, aside_cycles);
        at.weight *= share;
        self.spend(&mut at, straight_cycles);
        Ok(vec![(Goal::Block(through), at), (Goal::Block(aside), other)])
    }

    pub(super) fn skip(
        &mut self,
        host: &'a Host<'a>,
        block: BlockId,
        point: Point,
        mut at: Arrival,
    ) -> Result<Ways, Refusal> {
        let program = self.setting.program;
        let (next, behind) =
            (Self::successor(host, block, Way::Next), Self::successor(host, block, Way::Skipped));
        let skipped = &program.code[point + 1];
        let live = self.live_at(host.cfg.blocks[behind].first) | self.live_at(host.cfg.blocks[next].first);
        let only_here = host.cfg.blocks[next].predecessors.len() == 1;
        let simple = skipped.flow == Flow::Next
            && skipped.instruction.opcode.words() == 1
            && program.cycles(point) + program.cycles(point + 1) == program.taken_cycles(point);
        if simple && only_here {
            let cycles = program.taken_cycles(point);
            self.make_room(&mut at, cycles, point, live)?;
            let (line, skipped) = (self.host_line(point), self.host_line(point + 1));
            self.push(at.fragment, line);
            self.push(at.fragment, skipped);
            self.spend(&mut at, cycles);
            return Ok(vec![(Goal::Block(behind), at)]);
        }
        // Otherwise the skip goes around a jump: to what is skipped, or past it.
        let inverse = match program.code[point].instruction.opcode {
            Opcode::Sbrc => Some(Opcode::Sbrs),
            Opcode::Sbrs => Some(Opcode::Sbrc),
            Opcode::Sbic => Some(Opcode::Sbis),
            Opcode::Sbis => Some(Opcode::Sbic),
            _ => None,
        };
        let jumps = matches!(skipped.flow, Flow::Jump(_));
        let jump_words = self.jump(0).instruction.opcode.words();
        let passed = 1 + jump_words;
        let jumped = 1 + self.jump_cycles();
        self.make_room(&mut at, passed.max(jumped), point, live)?;
        let mut line = self.host_line(point);
        let (through, aside) = match inverse {
            Some(opcode) if !jumps => {
                line.instruction.opcode = opcode;
                (next, behind)
            }
            _ => (behind, next),
        };
        let label = self.label();
        self.push(at.fragment, line);
        self.push(at.fragment, self.jump(label));
        let mut other = at;
        other.fragment = self.new_fragment(label);
        other.weight *= 0.5;
        self.spend(&mut other, jumped);
        at.weight *= 0.5;
        self.spend(&mut at, passed);
        Ok(vec![(Goal::Block(through), at), (Goal::Block(aside), other)])
    }
}
