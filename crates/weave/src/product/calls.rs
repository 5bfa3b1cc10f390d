//! Calls: woven copies of callees, one for each state in which they are worth being entered.
//!
//! Owns: the copies, and asking behind each call whether the guest has ended inside.

use isa::avr::{Instruction, Opcode, Set};

use super::{Arrival, CalleeCopy, Resume, Weaver, call_opcode};
use crate::cfg::ExitKind;
use crate::error::Refusal;
use crate::item::{Item, Line};
use crate::program::Point;
use crate::rename::{Over, Store};

impl<'a> Weaver<'a> {
    /// A call into a woven copy of the callee that enters in this state, or in one that is worth waiting for.
    pub(super) fn call(&mut self, at: &mut Arrival, point: Point, target: Point) -> Result<(), Refusal> {
        if self.calling.contains(&target) {
            return Err(Refusal::Recursion { at: self.setting.program.place_of(point) });
        }
        let opcode = call_opcode(self.setting.far);
        let call = Line { instruction: Instruction::new(opcode), ..self.host_line(point) };
        let cycles = u32::from(opcode.cost(self.setting.program.core).cycles);
        let live = self.live_at(target);
        self.make_room(at, cycles, point, live)?;
        let copy = match self.copy_for(*at, cycles, point, target) {
            Some((index, wait)) => {
                let enters = self.rhythm.earlier(self.copies[&target][index].enters, cycles);
                self.pass(at, wait, enters, self.live_at(point), Resume::Host(point))?;
                index
            }
            None => self.new_copy(*at, cycles, target)?,
        };
        let copy = &self.copies[&target][copy];
        let (label, leaves, passed) = (copy.label, copy.leaves, copy.cycles);
        self.push(at.fragment, Line { target: Some(label), ..call });
        at.state = leaves;
        at.time += passed;
        if self.setting.guest.is_coupled {
            return Ok(());
        }
        // The guest may have ended inside, and no element of it may come before that is asked: the copy leaves time.
        let behind = point + 1;
        let plain = self.plain_label(behind);
        match self.setting.homes.over {
            Over::Status => {
                let Store::Register(status) = self.setting.homes.status else {
                    unreachable!("it is chosen only for a register");
                };
                let skip = Instruction { r: status, ..Instruction::new(Opcode::Sbrc) };
                self.push(at.fragment, Line::added(skip));
                self.push(at.fragment, self.jump(plain));
            }
            Over::Flag | Over::Unasked => {
                let over = self.label();
                let brtc = Instruction { b: 6, ..Instruction::new(Opcode::Brbc) };
                self.push(at.fragment, Line { target: Some(over), ..Line::added(brtc) });
                self.push(at.fragment, self.jump(plain));
                self.fragments[at.fragment].push(Item::Label(over));
            }
        }
        let asks_cycles = self.asks_cycles();
        debug_assert!(self.rhythm.slack_cycles(at.state, self.live_at(behind)) >= i64::from(asks_cycles));
        self.spend(at, asks_cycles);
        Ok(())
    }

    /// Cycles of asking whether the guest is over, when it is not.
    fn asks_cycles(&self) -> u32 {
        match self.setting.homes.over {
            Over::Status => 1 + self.jump(0).instruction.opcode.words(),
            Over::Flag | Over::Unasked => 2,
        }
    }

    /// A copy that is worth waiting for, and the elements that run meanwhile.
    pub(super) fn copy_for(
        &self,
        at: Arrival,
        cycles: u32,
        point: Point,
        target: Point,
    ) -> Option<(usize, usize)> {
        let live = self.live_at(point);
        let copies = self.copies.get(&target)?;
        let waits = copies.iter().enumerate().filter_map(|(index, copy)| {
            let wait = self.rhythm.wait(at.state, self.rhythm.earlier(copy.enters, cycles), live)?;
            Some((wait.idle_cycles, wait.elements, index, copy.cycles))
        });
        let (idle, elements, index, taken) = waits.min_by_key(|&(idle, ..)| idle)?;
        let worth = f64::from(idle) <= self.options.loss * taken;
        (worth || copies.len() >= self.options.copies).then_some((index, elements))
    }

    pub(super) fn new_copy(&mut self, at: Arrival, cycles: u32, target: Point) -> Result<usize, Refusal> {
        self.check_size()?;
        let label = self.label();
        let fragment = self.new_fragment(label);
        let enters = self.rhythm.later(at.state, cycles);
        let start = Arrival { fragment, state: enters, time: 0.0, weight: 1.0 };
        self.calling.push(target);
        let returns = self.function(target, start)?;
        self.calling.pop();
        let last = self.last_point(target);
        let live = self.live_at(last);
        let merged = self.merge(returns, live, Resume::Host(last), 1)?;
        let [mut out] = merged[..] else { return Err(self.no_way(target)) };
        let ret = Instruction::new(Opcode::Ret);
        let cycles = u32::from(ret.opcode.cost(self.setting.program.core).cycles);
        // The caller's flags may live, which brings elements forward.
        let needed_cycles = cycles + self.asks_cycles() + self.rhythm.save_cycles();
        self.make_room(&mut out, needed_cycles, last, live)?;
        self.push(out.fragment, Line::added(ret));
        self.spend(&mut out, cycles);
        let copy = CalleeCopy { label, enters, leaves: out.state, cycles: out.time };
        let copies = self.copies.entry(target).or_default();
        copies.push(copy);
        Ok(copies.len() - 1)
    }

    /// A return of the function: where its plain form goes on when the guest ends behind its last instruction.
    pub(super) fn last_point(&self, entry: Point) -> Point {
        let host = &self.setting.hosts[&entry];
        let mut returns = host
            .cfg
            .blocks
            .iter()
            .filter(|block| block.exits.iter().any(|exit| exit.kind == ExitKind::Return));
        returns.next().map_or(entry, |block| block.last())
    }

    /// What lives behind the return of a callee: any register may be its caller's.
    pub(super) fn behind(&self) -> Set {
        (0..32).fold(Set::EMPTY, |set, number| set | Set::register(number))
    }
}
