//! Where the threads begin and end: the guest's setup, its ends, the host by itself, the guest by itself.
//!
//! Owns: everything around the walk: interrupts off before the first event and as they were behind the last one,
//! the clean-up loops of the paper (section 2.2), and the sled.

use std::collections::BTreeSet;

use isa::avr::{Instruction, Opcode, Set};

use super::{Arrival, Resume, Weaver, call_opcode};
use crate::directive::{Directive, Thread};
use crate::guest::{DONE, GO};
use crate::item::{Item, Label, Line};
use crate::phase::has_flags;
use crate::program::{Callee, Flow, Point};
use crate::refusal::Refusal;
use crate::rename::{Over, SREG, Store};

impl<'a> Weaver<'a> {
    /// The guest's setup, and interrupts off.
    pub(super) fn frame(&mut self, entry: Point) -> Label {
        let go = self.label();
        let homes = self.setting.homes;
        let setup = self.setting.guest.setup.clone();
        let targets = |item: &Item| matches!(item, Item::Line(Line { target: Some(DONE), .. }));
        let mut named = vec![(GO, go)];
        if setup.iter().any(targets) {
            named.push((DONE, self.plain_label(entry)));
        }
        let setup = self.own_labels(&setup, &named);
        self.fragments[0].extend(setup);
        self.fragments[0].push(Item::Label(go));
        // With C cleared, bit 0 of what is kept says that the guest is not over; or T says it.
        let flag = match homes.over {
            Over::Status => 0,
            Over::Flag => 6,
        };
        self.push(0, Line::added(Instruction { b: flag, ..Instruction::new(Opcode::Bclr) }));
        let (register, store) = match homes.status {
            Store::Register(status) => (status, None),
            Store::Memory(offset) => (homes.moment, Some(homes.access(Opcode::Sts, homes.moment, offset))),
        };
        let keep = Instruction { d: register, k: SREG, ..Instruction::new(Opcode::In) };
        let keep = std::iter::once(Item::Line(Line::added(keep))).chain(store).collect();
        self.fragments[0].extend(homes.for_a_moment(keep));
        self.push(0, Line::added(Instruction { b: 7, ..Instruction::new(Opcode::Bclr) }));
        go
    }

    /// Where the guest's rounds end: its finish, interrupts as they were, and the host goes on by itself.
    pub(super) fn leave(&mut self, live: Set, wrapped: bool, resume: Resume) -> Label {
        let label = self.label();
        let stub = self.new_fragment(label);
        let homes = self.setting.homes;
        self.fragments[stub]
            .push(Item::Says(Directive::Over { clock: Some(self.setting.guest.clock.clone()) }));
        if has_flags(live) && !wrapped {
            self.fragments[stub].extend(homes.save_flags());
        }
        let opcode = call_opcode(self.setting.far);
        let [finish, interrupts] = self.finish;
        self.push(stub, Line { target: Some(finish), ..Line::added(Instruction::new(opcode)) });
        if has_flags(live) {
            // The flags again, which switches interrupts off, and then interrupts again.
            self.fragments[stub].extend(homes.restore_flags());
            self.push(stub, Line { target: Some(interrupts), ..Line::added(Instruction::new(opcode)) });
        }
        let on = match resume {
            Resume::Host(point) => self.plain_label(point),
            Resume::End => self.end,
        };
        self.push(stub, self.jump(on));
        label
    }

    /// The register that holds the guest's status, and what loads it.
    pub(super) fn status(&self) -> (u8, Vec<Item>) {
        let homes = self.setting.homes;
        match homes.status {
            Store::Register(status) => (status, Vec::new()),
            Store::Memory(offset) => (homes.moment, vec![homes.access(Opcode::Lds, homes.moment, offset)]),
        }
    }

    /// The guest when the host is done: its rounds with nothing between.
    pub(super) fn guest_alone(&mut self, returns: Vec<Arrival>) -> Result<Label, Refusal> {
        let label = self.label();
        // A host that never returns is woven as long as the guest runs.
        let Some(mut at) = self.merge(returns, Set::EMPTY, Resume::End, 1)?.pop() else {
            self.new_fragment(label);
            return Ok(label);
        };
        self.fragments[at.fragment].push(Item::Label(label));
        let begun = at.state;
        for _ in 0..self.setting.guest.elements.len() {
            self.element(&mut at, Set::EMPTY, Resume::End);
        }
        self.connect(at, begun, label, Set::EMPTY, Resume::End)?;
        Ok(label)
    }

    /// What the guest does after its last event, once for all of its ends, and interrupts as they were. And the sled.
    pub(super) fn finish(&mut self) {
        let [finish, interrupts] = self.finish;
        let load_is_free = matches!(self.setting.homes.status, Store::Register(_));
        let out = self.label();
        let items = self.own_labels(&self.setting.guest.finish.clone(), &[(DONE, out)]);
        let homes = self.setting.homes;
        let (status, load) = self.status();
        let line = |instruction| Item::Line(Line::added(instruction));
        let fragment = self.new_fragment(finish);
        self.fragments[fragment].extend(items);
        self.fragments[fragment].push(Item::Label(out));
        let mut over = Vec::new();
        let mut on = load;
        match homes.over {
            Over::Status => over.push(line(Instruction { d: status, ..Instruction::new(Opcode::Inc) })),
            Over::Flag => on.insert(0, line(Instruction { b: 6, ..Instruction::new(Opcode::Bset) })),
        }
        on.push(line(Instruction { r: status, b: 7, ..Instruction::new(Opcode::Sbrc) }));
        on.push(line(Instruction { b: 7, ..Instruction::new(Opcode::Bset) }));
        for (label, items) in [(None, over), (Some(interrupts), on)] {
            self.fragments[fragment].extend(label.map(Item::Label));
            let items = if load_is_free || items.is_empty() { items } else { homes.kept_on_stack(items) };
            self.fragments[fragment].extend(items);
        }
        self.push(fragment, Line::added(Instruction::new(Opcode::Ret)));
        self.fragments.push(self.sled.items());
    }

    /// The host as it was, to go on in when the guest is over: what can still be reached then.
    pub(super) fn plain_host(&mut self, entry: Point) {
        let reached = self.plain_points();
        let labelled = |point: Point| match &self.setting.program.code[point].flow {
            Flow::Branch(to) | Flow::Jump(to) | Flow::Call(Callee::Known(to)) => Some(*to),
            _ => None,
        };
        for to in reached.iter().filter_map(|&point| labelled(point)) {
            self.plain_label(to);
        }
        let mut items = Vec::new();
        for &point in &reached {
            if let Some(&label) = self.plain.get(&point) {
                items.push(Item::Label(label));
            }
            let function = self.host(point).function.entry;
            let mut line = self.host_line(point);
            match &self.setting.program.code[point].flow {
                Flow::Return if function == entry => {
                    line = Line { thread: Some(Thread::Host), ..self.jump(self.end) };
                }
                Flow::Jump(to) => line = Line { thread: Some(Thread::Host), ..self.jump(self.plain[to]) },
                Flow::Call(Callee::Known(to)) => {
                    line.instruction.opcode = call_opcode(self.setting.far);
                    line.target = Some(self.plain[to]);
                }
                _ => line.target = labelled(point).map(|to| self.plain[&to]),
            }
            items.push(Item::Line(line));
        }
        self.fragments.push(items);
    }

    /// Every point that can be reached from where the guest may end.
    pub(super) fn plain_points(&self) -> BTreeSet<Point> {
        let mut reached = BTreeSet::new();
        let mut open: Vec<Point> = self.plain.keys().copied().collect();
        while let Some(point) = open.pop() {
            if !reached.insert(point) {
                continue;
            }
            match &self.setting.program.code[point].flow {
                Flow::Next => open.push(point + 1),
                Flow::Branch(to) => open.extend([point + 1, *to]),
                Flow::Call(Callee::Known(to)) => open.extend([point + 1, *to]),
                Flow::Skip => open.extend([point + 1, point + 2]),
                Flow::Jump(to) => open.push(*to),
                _ => {}
            }
        }
        reached
    }
}
