//! The code that a plan asks for.
//!
//! Owns: the host with its checks, what a check goes to when the guest is due, the guest's segments, and both
//! threads' ends.

use std::collections::BTreeMap;
use std::ops::Range;

use isa::avr::{Instruction, Opcode, Set};

use super::graph::{End, Graph, NodeId};
use super::prepay::{Check, Plan, Settle};
use super::segments::{Segment, Segments, segments};
use super::{Budget, Options, Reach, Times, is_far_check, reach};
use crate::directive::Directive;
use crate::error::Refusal;
use crate::guest::{LEAVE, inverted};
use crate::item::{self, Item, Label, Line};
use crate::phase::Rhythm;
use crate::product::{Setting, Weaver, call_opcode};
use crate::program::{Origin, Point};
use crate::rename::{Over, SREG, Store};

/// Words that a branch gets around.
const ISLAND_WORDS_MAX: u32 = 60;
/// A full budget.
const FULL: u32 = 255;
/// The flags' numbers in SREG.
const C: u8 = 0;
const N: u8 = 2;
const T: u8 = 6;
const I: u8 = 7;

/// What is behind a check that finds too little.
struct Stub {
    check: Check,
    label: Label,
    /// Where the host goes on.
    back: Label,
    /// What lives in the host's registers there.
    live: Set,
}

/// A way that is not straight on and has to be settled.
struct Detour {
    label: Label,
    settle: Settle,
    /// Where it leads, and the first instruction there.
    to: (Label, Point),
}

/// A function that is written.
struct Function<'g> {
    graph: &'g Graph,
    plan: &'g Plan,
    /// By node.
    labels: Vec<Label>,
    /// Whether it is the host itself.
    is_host: bool,
}

pub(super) struct Writer<'a> {
    pub out: Weaver<'a>,
    rhythm: Rhythm<'a>,
    options: Options,
    budget: Budget,
    times: Times,
    entries: BTreeMap<Point, Label>,
    stubs: Vec<Stub>,
    detours: Vec<Detour>,
    /// The host's entry.
    entry: Point,
    host: Label,
    switch: Label,
    idle: Label,
}

/// Every register.
fn registers() -> Set {
    (0..32).fold(Set::EMPTY, |set, number| set | Set::register(number))
}

fn constant(opcode: Opcode, register: u8, value: u32) -> Line {
    Line::added(Instruction { d: register, k: (value & 0xff) as i32, ..Instruction::new(opcode) })
}

fn flag(opcode: Opcode, number: u8) -> Line {
    Line::added(Instruction { b: number, ..Instruction::new(opcode) })
}

fn branch(opcode: Opcode, number: u8, target: Label) -> Line {
    Line { target: Some(target), ..flag(opcode, number) }
}

impl<'a> Writer<'a> {
    /// With nothing written; the first entry is the host's.
    pub fn new(
        setting: &'a Setting<'a>,
        budget: Budget,
        options: Options,
        times: Times,
        entries: Vec<Point>,
    ) -> Writer<'a> {
        let mut out = Weaver::new(setting);
        let [host, switch, idle] = [(); 3].map(|()| out.label());
        let entry = entries[0];
        let entries = entries.into_iter().enumerate();
        let entries = entries.map(|(index, entry)| (entry, if index == 0 { host } else { out.label() }));
        let entries = entries.collect();
        let rhythm = Rhythm::of(setting.guest, setting.homes, setting.program.core);
        let (stubs, detours) = (Vec::new(), Vec::new());
        Writer { rhythm, options, budget, times, entries, stubs, detours, entry, host, switch, idle, out }
    }

    fn line(&mut self, line: Line) {
        self.out.push(0, line);
    }

    fn lines(&mut self, lines: impl IntoIterator<Item = Line>) {
        self.items(lines.into_iter().map(Item::Line).collect());
    }

    fn items(&mut self, items: Vec<Item>) {
        self.out.fragments[0].extend(items);
    }

    fn place(&mut self, label: Label) {
        self.items(vec![Item::Label(label)]);
    }

    fn jump(&mut self, label: Label) {
        let jump = self.out.jump(label);
        self.line(jump);
    }

    fn call(&mut self, label: Label) {
        let opcode = call_opcode(self.out.setting.far);
        self.line(Line { target: Some(label), ..Line::added(Instruction::new(opcode)) });
    }

    fn wait(&mut self, cycles: u32) {
        self.out.pad(0, cycles);
    }

    fn origin(&self, point: Point) -> Option<Origin> {
        Some(self.out.setting.program.code[point].origin)
    }

    /// The guest's segments when these registers live.
    fn segments(&self, live: Set) -> Result<Segments, Refusal> {
        let guest = self.out.setting.guest;
        let finding = match self.budget.segment {
            Some(_) => self.test_cycles()[0] * guest.elements.len().ilog2() + self.test_cycles()[0],
            None => 0,
        };
        let Times { overhead_cycles, lead_cycles, prepaid_max, .. } = self.times;
        let needed_cycles = self.returning_cycles() + overhead_cycles + lead_cycles + finding + prepaid_max;
        // Registers were chosen for so many gaps.
        let needed_cycles = needed_cycles.max(super::GAP_CYCLES_MIN);
        let found = segments(&self.rhythm, live.without(Set::SREG), needed_cycles);
        let (at, clock) = (guest.first_at.clone(), guest.clock.clone());
        found.ok_or_else(|| {
            let found_cycles = guest.gaps_cycles().into_iter().max().unwrap_or_default();
            Refusal::NoGap { at, clock, found_cycles, needed_cycles }
        })
    }

    /// From the end of a segment to where the host goes on.
    fn returning_cycles(&self) -> u32 {
        let back = if self.options.inlined { 0 } else { self.times.costs.return_cycles + 1 };
        self.loading_cycles() + back + self.times.costs.jump_cycles
    }

    /// Loading the budget, and saying which segment is next.
    fn loading_cycles(&self) -> u32 {
        let load = if self.budget.refills.is_some() { 3 } else { 1 };
        load + u32::from(self.budget.segment.is_some())
    }

    /// A bit of the segment's number that is clear, and one that is set.
    fn test_cycles(&self) -> [u32; 2] {
        let costs = self.times.costs;
        [1 + costs.jump_cycles, 1 + costs.jump_words]
    }

    /// From a check that finds nothing left to the start of one of so many segments.
    fn due_cycles(&self, index: usize, count: usize) -> u32 {
        let mut cycles = self.times.overhead_cycles + self.times.lead_cycles;
        let mut range = 0..count;
        for bit in (0..usize::BITS).rev().filter(|_| self.budget.segment.is_some()) {
            let middle = range.start.saturating_add(1_usize.checked_shl(bit).unwrap_or(usize::MAX));
            if middle < range.end {
                let [clear, set] = self.test_cycles();
                let is_set = index >= middle;
                cycles += if is_set { set } else { clear };
                range = if is_set { middle..range.end } else { range.start..middle };
            }
        }
        cycles
    }

    /// Whether the rounds may end in a segment.
    fn leaves(&self, segment: &Segment) -> bool {
        let elements = self.rhythm.elements();
        segment.elements.iter().any(|&(index, _)| elements[index].leaves)
    }

    /// A segment's elements, of which those that end the rounds go to `left`.
    fn elements(&mut self, segment: &Segment, live: Set, left: Label) {
        for &(index, waits) in &segment.elements {
            self.wait(waits);
            let element = &self.out.setting.guest.elements[index];
            let items = element.code(live.without(Set::SREG)).to_vec();
            let items = self.out.own_labels(&items, &[(LEAVE, left)]);
            self.items(items);
        }
    }

    /// Says which segment is next and loads the budget with so many cycles, less what is prepaid already.
    fn load(&mut self, next: usize, cycles: u32, prepaid: u32) -> Result<(), Refusal> {
        let budget = self.budget;
        if let Some(segment) = budget.segment {
            let instruction = match next {
                0 => Instruction { d: segment, r: segment, ..Instruction::new(Opcode::Eor) },
                _ => Instruction { d: segment, ..Instruction::new(Opcode::Inc) },
            };
            self.line(Line::added(instruction));
        }
        let cycles = cycles - prepaid;
        let Some(refills) = budget.refills else {
            if cycles > FULL {
                return Err(self.too_long());
            }
            self.line(constant(Opcode::Ldi, budget.cycles, cycles));
            return Ok(());
        };
        let base = FULL + 1 - self.times.headroom_cycles();
        let stride = base + self.times.refill_cycles();
        let (mut times, mut rest) = (cycles / stride, cycles % stride);
        let mut waits = rest.saturating_sub(base - 1);
        // A budget that is less than what is prepaid later, without a check.
        if !self.options.inlined && rest < self.times.prepaid_max && times > 0 {
            (times, waits) = (times - 1, rest + stride - (base - 1));
            rest = base - 1;
        }
        if times > 127 {
            return Err(self.too_long());
        }
        self.wait(waits);
        self.line(constant(Opcode::Ldi, budget.cycles, times));
        self.line(Line::added(Instruction { d: refills, r: budget.cycles, ..Instruction::new(Opcode::Mov) }));
        self.line(constant(Opcode::Ldi, budget.cycles, rest.min(base - 1)));
        Ok(())
    }

    fn too_long(&self) -> Refusal {
        let guest = self.out.setting.guest;
        Refusal::LongGap { at: guest.first_at.clone(), clock: guest.clock.clone() }
    }

    /// The guest's setup and its first segment; then the host begins.
    pub fn start(&mut self) -> Result<Label, Refusal> {
        let [nothing, left, full] = [(); 3].map(|()| self.out.label());
        let mut begins = self.out.frame(|_| nothing);
        if let Some(preamble) = &self.out.setting.guest.preamble {
            self.out.preamble(preamble)?;
            begins = self.out.label();
            self.place(begins);
        }
        let found = self.segments(registers())?;
        self.elements(&found.start, registers(), left);
        let next = self.due_cycles(0, found.round.len());
        let jump_cycles = self.times.costs.jump_cycles;
        self.load(0, found.start.gap_cycles - self.loading_cycles() - jump_cycles - next, 0)?;
        self.jump(self.host);
        if self.leaves(&found.start) {
            self.place(left);
            self.over();
            self.jump(full);
        }
        self.place(nothing);
        self.mark_over();
        self.place(full);
        self.line(constant(Opcode::Ldi, self.budget.cycles, FULL));
        Ok(begins)
    }

    /// The guest's rounds end here: its finish, and interrupts as they were.
    fn over(&mut self) {
        let clock = Some(self.out.setting.guest.clock.clone());
        self.items(vec![Item::Says(Directive::Over { clock })]);
        self.call(self.out.finish[0]);
        let Some(kept) = self.out.setting.homes.flags.filter(|_| self.times.lead_cycles > 0) else { return };
        // Flags that are restored say so too.
        let off = self.out.label();
        let keep = |bit| Line::added(Instruction { d: kept, b: bit, ..Instruction::new(Opcode::Bld) });
        let set_kept = [flag(Opcode::Bclr, T), branch(Opcode::Brbc, I, off), flag(Opcode::Bset, T)];
        if self.out.setting.homes.over == Over::Flag {
            self.lines(set_kept);
            self.place(off);
            self.lines([keep(I), flag(Opcode::Bset, T), keep(T)]);
        } else {
            // T is the host's, and lives beside checks that need no flags saved. The budget is nobody's any more.
            let cycles = self.budget.cycles;
            self.line(Line::added(Instruction { d: cycles, k: SREG, ..Instruction::new(Opcode::In) }));
            self.lines(set_kept);
            self.place(off);
            let again = Instruction { d: cycles, r: cycles, b: T, ..Instruction::new(Opcode::Bst) };
            self.lines([keep(I), Line::added(again)]);
        }
    }

    /// The guest never began.
    fn mark_over(&mut self) {
        match (self.out.setting.homes.over, self.out.setting.homes.status) {
            (Over::Status, Store::Register(status)) => {
                self.line(flag(Opcode::Bset, C));
                let mark = Instruction { d: status, k: SREG, ..Instruction::new(Opcode::In) };
                self.line(Line::added(mark));
            }
            _ => self.line(flag(Opcode::Bset, T)),
        }
    }

    /// Goes to a label when the guest is over.
    fn go_if_over(&mut self, label: Label) {
        match (self.out.setting.homes.over, self.out.setting.homes.status) {
            (Over::Status, Store::Register(status)) => {
                self.line(Line::added(Instruction { r: status, ..Instruction::new(Opcode::Sbrc) }));
                self.line(Line::jump(label));
            }
            _ => self.line(branch(Opcode::Brbs, T, label)),
        }
    }

    /// A function of the host.
    pub fn function(&mut self, entry: Point, graph: &Graph, plan: &Plan) -> Result<(), Refusal> {
        let labels = graph.nodes.iter().map(|_| self.out.label()).collect();
        let function = Function { graph, plan, labels, is_host: self.entries[&entry] == self.host };
        self.place(self.entries[&entry]);
        for (id, node) in graph.nodes.iter().enumerate() {
            self.place(function.labels[id]);
            for (position, piece) in node.pieces.iter().enumerate() {
                if let Some(&check) = plan.checks[id].get(&position) {
                    self.check(check, piece.point)?;
                }
                if let Some(&settle) = plan.calls[id].get(&position) {
                    self.settle(settle, piece.point)?;
                }
                for point in piece.point..piece.point + piece.count {
                    let mut line = self.out.host_line(point);
                    if let Some(callee) = piece.callee {
                        line.instruction = Instruction::new(call_opcode(self.out.setting.far));
                        line.target = Some(self.entries[&callee]);
                    }
                    self.line(line);
                }
            }
            self.end(id, &function)?;
        }
        self.flush()
    }

    /// How a node goes on.
    fn end(&mut self, id: NodeId, function: &Function) -> Result<(), Refusal> {
        let Function { graph, plan, labels, .. } = function;
        let node = &graph.nodes[id];
        let settles = &plan.ends[id];
        let check = plan.checks[id].get(&node.pieces.len()).copied();
        let first = |to: NodeId| graph.nodes[to].first;
        match node.end {
            End::Jump { point, to } => {
                self.checked(check, point.unwrap_or(first(to)))?;
                self.settle(settles[0], first(to))?;
                if to != id + 1 {
                    let jump = self.out.jump(labels[to]);
                    let host = point.map(|point| Line {
                        instruction: jump.instruction,
                        target: jump.target,
                        ..self.out.host_line(point)
                    });
                    self.line(host.unwrap_or(jump));
                    self.flush()?;
                }
            }
            End::Branch { point, inverted: turned, aside, through } => {
                self.checked(check, point)?;
                let target = self.detour(settles[1], (labels[aside], first(aside)));
                let host = self.out.host_line(point);
                let taken = if turned { inverted(host.instruction) } else { host.instruction };
                if reach(self.out.setting, point) == Reach::Jump {
                    let over = self.out.label();
                    self.line(Line { instruction: inverted(taken), target: Some(over), ..host });
                    self.jump(target);
                    self.place(over);
                } else {
                    self.line(Line { instruction: taken, target: Some(target), ..host });
                }
                self.through(id, through, settles[0], function)?;
            }
            End::Skip { point, aside, through } => {
                self.checked(check, point)?;
                let target = self.detour(settles[1], (labels[aside], first(aside)));
                let host = self.out.host_line(point);
                self.line(host);
                self.jump(target);
                self.through(id, through, settles[0], function)?;
            }
            End::Return { point } => {
                self.checked(check, point)?;
                self.settle(settles[0], point)?;
                let host = self.out.host_line(point);
                if function.is_host {
                    let jump = self.out.jump(self.idle);
                    self.line(Line { instruction: jump.instruction, target: jump.target, ..host });
                } else {
                    self.line(host);
                }
                self.flush()?;
            }
        }
        Ok(())
    }

    fn through(
        &mut self,
        id: NodeId,
        to: NodeId,
        settle: Settle,
        function: &Function,
    ) -> Result<(), Refusal> {
        self.settle(settle, function.graph.nodes[to].first)?;
        if to != id + 1 {
            self.jump(function.labels[to]);
            self.flush()?;
        }
        Ok(())
    }

    /// The label by which a way aside is gone.
    fn detour(&mut self, settle: Settle, to: (Label, Point)) -> Label {
        if settle == Settle::Nothing {
            return to.0;
        }
        let label = self.out.label();
        self.detours.push(Detour { label, settle, to });
        label
    }

    fn checked(&mut self, check: Option<Check>, point: Point) -> Result<(), Refusal> {
        match check {
            Some(check) => self.check(check, point),
            None => Ok(()),
        }
    }

    fn settle(&mut self, settle: Settle, point: Point) -> Result<(), Refusal> {
        match settle {
            Settle::Nothing => {}
            Settle::Wait(cycles) => self.wait(cycles),
            Settle::GiveBack(cycles) => {
                self.line(constant(Opcode::Subi, self.budget.cycles, cycles.wrapping_neg()));
            }
            Settle::Check(check) => self.check(check, point)?,
        }
        Ok(())
    }

    /// Takes a stretch off the budget, or goes to the guest.
    fn check(&mut self, check: Check, point: Point) -> Result<(), Refusal> {
        let homes = self.out.setting.homes;
        let [label, back] = [(); 2].map(|()| self.out.label());
        let flags = if check.wrapped { Set::SREG } else { Set::EMPTY };
        let live = self.out.live_at(point).without(Set::SREG.without(flags));
        let stub = Stub { check, label, back, live };
        if check.wrapped {
            self.items(homes.save_flags());
        }
        self.ask(&stub, point)?;
        if check.wrapped {
            self.items(homes.restore_flags());
        }
        self.stubs.extend((!check.far).then_some(stub));
        Ok(())
    }

    /// The check itself, before `point`.
    fn ask(&mut self, stub: &Stub, point: Point) -> Result<(), Refusal> {
        let Stub { check, label, back, .. } = *stub;
        self.line(constant(Opcode::Subi, self.budget.cycles, check.amount));
        if check.far {
            self.line(branch(Opcode::Brbc, C, back));
            self.island(stub)?;
        } else {
            let origin = self.origin(point);
            self.line(Line { origin, ..branch(Opcode::Brbs, C, label) });
        }
        self.place(back);
        Ok(())
    }

    /// Where a check goes that is branched around, and what else is waiting to be in reach of a branch.
    fn island(&mut self, stub: &Stub) -> Result<(), Refusal> {
        let begin = self.out.fragments[0].len();
        self.stub(stub)?;
        while !self.stubs.is_empty() {
            let (before, next) = (self.out.fragments[0].len(), self.stubs.remove(0));
            self.stub(&next)?;
            if item::words(&self.out.fragments[0][begin..]) > ISLAND_WORDS_MAX {
                self.out.fragments[0].truncate(before);
                self.stubs.insert(0, next);
                break;
            }
        }
        Ok(())
    }

    /// What stands aside, behind a jump: where the guest runs, and ways that are settled.
    fn flush(&mut self) -> Result<(), Refusal> {
        loop {
            for Detour { label, settle, to: (to, point) } in std::mem::take(&mut self.detours) {
                self.place(label);
                self.settle(settle, point)?;
                self.jump(to);
            }
            let stubs = std::mem::take(&mut self.stubs);
            if stubs.is_empty() {
                return Ok(());
            }
            for stub in stubs {
                self.stub(&stub)?;
            }
        }
    }

    /// Where a check goes that finds too little.
    fn stub(&mut self, stub: &Stub) -> Result<(), Refusal> {
        let (budget, times, costs) = (self.budget, self.times, self.times.costs);
        let [left, full] = [(); 2].map(|()| self.out.label());
        let begin = self.out.fragments[0].len();
        self.place(stub.label);
        let mut spent_cycles = if stub.check.far { 2 } else { 3 };
        if let Some(refills) = budget.refills {
            // So that it costs the same whether a check branches to here or around it.
            let waits = if stub.check.far { costs.jump_cycles } else { costs.jump_cycles - 2 };
            self.wait(waits);
            spent_cycles += waits;
            let due = self.out.label();
            self.line(Line::added(Instruction { d: refills, ..Instruction::new(Opcode::Dec) }));
            self.line(branch(Opcode::Brbs, N, due));
            self.line(constant(Opcode::Subi, budget.cycles, times.headroom_cycles()));
            self.jump(stub.back);
            self.place(due);
        }
        let late_cycles = times.check_cycles - spent_cycles;
        let rest = stub.check.prepaid + 2 + u32::from(stub.check.far) + times.lead_cycles + late_cycles;
        if self.options.inlined {
            self.go_if_over(full);
        }
        self.line(constant(Opcode::Subi, budget.cycles, rest.wrapping_neg()));
        if self.options.inlined {
            self.wait_rest();
            self.segment_here(stub, left)?;
            self.jump(stub.back);
            self.place(left);
            self.over();
            self.place(full);
            self.line(constant(Opcode::Ldi, budget.cycles, FULL));
        } else {
            self.call(self.switch);
            self.line(constant(Opcode::Subi, budget.cycles, stub.check.prepaid));
        }
        self.jump(stub.back);
        match item::words(&self.out.fragments[0][begin..]) {
            ..=ISLAND_WORDS_MAX => Ok(()),
            _ => Err(Refusal::TooLarge { words_max: ISLAND_WORDS_MAX }),
        }
    }

    /// Passes the cycles that are left, and [`super::WAIT_CYCLES`] less the correction's one.
    fn wait_rest(&mut self) {
        let cycles = self.budget.cycles;
        let [again, behind] = [(); 2].map(|()| self.out.label());
        self.place(again);
        self.lines([constant(Opcode::Subi, cycles, 3), branch(Opcode::Brbc, C, again)]);
        // What was left over is -3, -2 or -1 now: 3, 4 or 5 cycles.
        let skip = |opcode, bit| Line::added(Instruction { r: cycles, b: bit, ..Instruction::new(opcode) });
        self.lines([skip(Opcode::Sbrs, 1), Line::jump(behind), skip(Opcode::Sbrc, 0), Line::jump(behind)]);
        self.place(behind);
    }

    /// The guest's only segment, and the budget for the stretch that follows.
    fn segment_here(&mut self, stub: &Stub, left: Label) -> Result<(), Refusal> {
        let found = self.segments(stub.live)?;
        self.elements(&found.round[0], stub.live, left);
        let cycles = found.round[0].gap_cycles - self.returning_cycles() - self.due_cycles(0, 1);
        self.load(0, cycles, stub.check.prepaid)
    }

    /// The guest's segments, which checks call; the budget holds what is to be waited.
    fn switch(&mut self) -> Result<(), Refusal> {
        let [left, full] = [(); 2].map(|()| self.out.label());
        self.place(left);
        self.over();
        self.place(full);
        self.line(constant(Opcode::Ldi, self.budget.cycles, FULL));
        self.line(Line::added(Instruction::new(Opcode::Ret)));
        self.place(self.switch);
        self.go_if_over(full);
        self.wait_rest();
        let found = self.segments(registers())?;
        self.find(0..found.round.len(), usize::BITS - 1, &found, left)
    }

    /// The segments of a range, of which the one that is due is found by the bits of its number.
    fn find(&mut self, range: Range<usize>, bit: u32, found: &Segments, left: Label) -> Result<(), Refusal> {
        let middle = range.start.saturating_add(1 << bit);
        match self.budget.segment {
            Some(segment) if middle < range.end => {
                let below = self.out.label();
                let skip = Instruction { r: segment, b: bit as u8, ..Instruction::new(Opcode::Sbrs) };
                self.line(Line::added(skip));
                self.jump(below);
                self.find(middle..range.end, bit.saturating_sub(1), found, left)?;
                self.place(below);
                self.find(range.start..middle, bit.saturating_sub(1), found, left)
            }
            _ if bit > 0 => self.find(range, bit - 1, found, left),
            _ => self.segment(range.start, found, left),
        }
    }

    fn segment(&mut self, index: usize, found: &Segments, left: Label) -> Result<(), Refusal> {
        let segment = &found.round[index];
        let next = (index + 1) % found.round.len();
        self.elements(segment, registers(), left);
        let due = self.due_cycles(next, found.round.len());
        self.load(next, segment.gap_cycles - self.returning_cycles() - due, 0)?;
        self.line(Line::added(Instruction::new(Opcode::Ret)));
        Ok(())
    }

    /// Both threads' ends: the guest's segments and finish, and the host that is done; where that is.
    pub fn ends(&mut self) -> Result<Label, Refusal> {
        if !self.options.inlined {
            self.switch()?;
        }
        let finish = self.out.fragments.len();
        self.out.finish();
        let finish = self.out.fragments.split_off(finish).concat();
        self.items(finish);
        // The host that is done asks and jumps, until the guest is over, too.
        let over = if self.out.setting.homes.over == Over::Flag { 1 } else { 2 };
        let prepaid = over + self.times.costs.jump_cycles;
        let far = is_far_check(self.out.setting, self.entry);
        let check = Check { amount: prepaid + 2 + u32::from(far), prepaid, wrapped: false, far };
        let [label, back] = [(); 2].map(|()| self.out.label());
        let stub = Stub { check, label, back, live: registers() };
        if !far {
            self.stub(&stub)?;
        }
        self.place(self.idle);
        self.ask(&stub, self.entry)?;
        self.go_if_over(self.out.end);
        self.jump(self.idle);
        Ok(self.idle)
    }
}
