//! What a guest's round does only to pass time or to count: left out, for the host passes the time.
//!
//! Owns: leaving out instructions of the round whose results nobody reads, and shifts of a register whose bits are
//! only tested: the test takes the bit where it was. What has an effect beside its result stays, and so does what an
//! event stands on.

use std::collections::BTreeSet;

use isa::avr::{Opcode, Set};

use super::draft::Draft;
use crate::analysis::Fault;
use crate::cfg::Cfg;
use crate::error::Refusal;
use crate::guest::{self, Clock};
use crate::loops::Loops;
use crate::program::{Flow, Point, Program};
use crate::registers::{Liveness, Registers, reads};

/// The program without them.
pub(super) fn dropped(program: &Program, clock: &Clock) -> Result<Program, Refusal> {
    let Some(view) = View::of(program, clock)? else { return Ok(program.clone()) };
    let mut draft = Draft::of(program, &program.functions[0])?;
    for &point in &view.round {
        view.untwist(&mut draft, point);
    }
    let mut program = draft.program();
    while let Some(view) = View::of(&program, clock)? {
        let dead = view.dead();
        if dead.is_empty() {
            break;
        }
        let mut draft = Draft::of(&program, &program.functions[0])?;
        dead.into_iter().for_each(|point| draft.leave_out(point));
        program = draft.program();
    }
    Ok(program)
}

/// What is known of a laid out function: its points are the nodes of its draft.
struct View<'a> {
    program: &'a Program,
    cfg: Cfg,
    live: Liveness,
    round: BTreeSet<Point>,
}

impl<'a> View<'a> {
    /// `None` when it has no round.
    fn of(program: &'a Program, clock: &Clock) -> Result<Option<View<'a>>, Refusal> {
        let function = &program.functions[0];
        let flow =
            |fault| Refusal::Analysis { at: program.place_of(function.entry), fault: Fault::Flow(fault) };
        let cfg = Cfg::of(program, function).map_err(flow)?;
        let loops = Loops::of(&cfg);
        let firsts = guest::firsts(program, function, clock);
        let first = firsts.first().and_then(|&first| cfg.block_of(first));
        let Some(round) = first.and_then(|block| loops.around(block).last()) else { return Ok(None) };
        let blocks = &loops.all[round].blocks;
        let round = blocks.iter().flat_map(|&block| cfg.blocks[block].points()).collect();
        let live = Liveness::of(program, &cfg, &Registers::of(program), 0);
        Ok(Some(View { program, cfg, live, round }))
    }

    fn is_skipped(&self, point: Point) -> bool {
        point > 0 && self.program.code[point - 1].flow == Flow::Skip
    }

    /// Whether an instruction does nothing but write registers and flags, and stands by itself.
    fn only_writes(&self, point: Point) -> bool {
        let step = &self.program.code[point];
        let places = Set::SREG.without(Set::status(7)) | crate::registers::REGISTERS;
        let is_pure = |set: Set| set.without(places).is_empty();
        let instruction = &step.instruction;
        let is_idle = instruction.opcode == Opcode::Nop || !instruction.writes().is_empty();
        let has_effect = !is_pure(reads(self.program, point)) || !is_pure(instruction.writes());
        is_idle
            && !has_effect
            && step.flow == Flow::Next
            && step.directives.is_empty()
            && !self.is_skipped(point)
    }

    /// What writes nothing that anybody reads, those before it that it alone reads included.
    fn dead(&self) -> BTreeSet<Point> {
        let mut dead = BTreeSet::new();
        for block in self.cfg.blocks.iter().filter(|block| self.round.contains(&block.first)) {
            let mut live = self.live.after(block.last());
            for point in block.points().rev() {
                let writes = self.program.code[point].instruction.writes();
                if self.only_writes(point) && live.intersection(writes).is_empty() {
                    dead.insert(point);
                    continue;
                }
                live = live.without(writes) | reads(self.program, point);
            }
        }
        dead
    }

    /// Leaves a shift by one bit out when everything behind it that reads the register shifts it on, or tests a bit
    /// that it had before.
    fn untwist(&self, draft: &mut Draft, point: Point) {
        let shift = self.program.code[point].instruction;
        let register = shift.d;
        let before: i8 = match shift.opcode {
            Opcode::Add if shift.r == register => -1,
            Opcode::Lsr => 1,
            _ => return,
        };
        let own = Set::register(register);
        let flags = shift.writes().without(own);
        if !self.only_writes(point) || !self.live.after(point).intersection(flags).is_empty() {
            return;
        }
        let mut tests = Vec::new();
        let mut at = point + 1;
        // From here on to where the register is not read any more, without leaving straight code.
        while self.live.before(at).contains(own) {
            let (step, drafted) = (&self.program.code[at], draft.step(at).instruction);
            let is_test = matches!(step.instruction.opcode, Opcode::Sbrc | Opcode::Sbrs);
            let (reads, writes) = (reads(self.program, at), step.instruction.writes());
            // Behind what is skipped two ways meet that are one here.
            let ways = 1 + usize::from(at >= 2 && self.program.code[at - 2].flow == Flow::Skip);
            let is_joined = self.cfg.block_of(at).is_none_or(|block| {
                let block = &self.cfg.blocks[block];
                block.first == at && block.predecessors.len() > ways
            });
            if is_joined || self.is_skipped(at) && !(reads | writes).intersection(own).is_empty() {
                return;
            }
            match step.flow {
                Flow::Skip if is_test && step.instruction.r == register => {
                    let Some(bit) = drafted.b.checked_add_signed(before).filter(|&bit| bit < 8) else {
                        return;
                    };
                    tests.push((at, bit));
                }
                Flow::Skip | Flow::Next if reads.intersection(own).is_empty() => {}
                Flow::Next if step.instruction == shift => {}
                _ => return,
            }
            at += 1;
        }
        for (test, bit) in tests {
            draft.step_mut(test).instruction.b = bit;
        }
        draft.leave_out(point);
    }
}
