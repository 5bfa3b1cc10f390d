//! Where the threads begin and end: the guest's setup, its ends, the host by itself, the guest by itself.
//!
//! Owns: everything around the walk: interrupts off before the first event and as they were behind the last one,
//! the clean-up loops of the paper (section 2.2), and the sled.

use std::collections::BTreeSet;

use isa::avr::{Instruction, Opcode, Set};

use super::{Arrival, Resume, Weaver, call_opcode};
use crate::directive::{Directive, Thread};
use crate::error::Refusal;
use crate::guest::{Batch, DONE, GO, PREAMBLE_CYCLES, Preamble, inverted};
use crate::item::{self, Item, Label, Line};
use crate::phase::has_flags;
use crate::program::{Callee, Flow, Point};
use crate::rename::{Over, SREG, Store};

impl<'a> Weaver<'a> {
    /// The guest's setup, and interrupts off. `nothing` makes the label where a setup goes that finds nothing to do.
    pub(crate) fn frame(&mut self, nothing: impl FnOnce(&mut Self) -> Label) -> Label {
        let go = self.label();
        let homes = self.setting.homes;
        let setup = self.setting.guest.setup.clone();
        let targets = |item: &Item| matches!(item, Item::Line(Line { target: Some(DONE), .. }));
        let mut named = vec![(GO, go)];
        if setup.iter().any(targets) {
            named.push((DONE, nothing(self)));
        }
        let setup = self.own_labels(&setup, &named);
        let setup = self.lengthened(setup);
        self.fragments[0].extend(setup);
        self.fragments[0].push(Item::Label(go));
        // With C cleared, bit 0 of what is kept says that the guest is not over; or T says it.
        let flag = match homes.over {
            Over::Status => 0,
            Over::Flag | Over::Unasked => 6,
        };
        self.push(0, Line::added(Instruction { b: flag, ..Instruction::new(Opcode::Bclr) }));
        let keep = |d| Item::Line(Line::added(Instruction { d, k: SREG, ..Instruction::new(Opcode::In) }));
        let kept = match homes.status {
            Store::Register(status) => vec![keep(status)],
            Store::Memory(offset) => {
                let store = homes.access(Opcode::Sts, homes.moment, offset);
                homes.for_a_moment(vec![keep(homes.moment), store])
            }
        };
        self.fragments[0].extend(kept);
        self.push(0, Line::added(Instruction { b: 7, ..Instruction::new(Opcode::Bclr) }));
        go
    }

    /// What the guest does at exact cycles before its first round.
    pub(crate) fn preamble(&mut self, preamble: &Preamble) -> Result<(), Refusal> {
        let guest = self.setting.guest;
        let late = |wait_cycles: u32| {
            let late_cycles = PREAMBLE_CYCLES - wait_cycles;
            Err(Refusal::LatePreamble { clock: guest.clock.clone(), late_cycles })
        };
        let mut now = preamble.elements.first().and_then(|element| element.start).unwrap_or(0);
        if let Some(polling) = &preamble.polling {
            let items = self.own_labels(&polling.items, &[]);
            self.fragments[0].extend(items);
            now = polling.passed_cycles;
        }
        let lead_cycles = guest.period_cycles - self.rhythm.first().phase;
        let first =
            (preamble.until_cycles + PREAMBLE_CYCLES - lead_cycles % guest.period_cycles) % PREAMBLE_CYCLES;
        let nothing: &[Item] = &[];
        let steps =
            preamble.elements.iter().map(|element| (element.start, element.cycles, &element.items[..]));
        for (start, cycles, items) in steps.chain([(Some(first), 0, nothing)]) {
            let wait_cycles = start.map_or(0, |start| (start + PREAMBLE_CYCLES - now) % PREAMBLE_CYCLES);
            if wait_cycles > PREAMBLE_CYCLES / 2 {
                return late(wait_cycles);
            }
            self.pad(0, wait_cycles);
            let items = self.own_labels(items, &[]);
            self.fragments[0].extend(items);
            now = (now + wait_cycles + cycles) % PREAMBLE_CYCLES;
        }
        Ok(())
    }

    /// The rounds that make no whole batch, before the host begins.
    ///
    /// # Errors
    /// When a round by itself does not fit its period.
    pub(super) fn first_rounds(&mut self, entry: Point, batch: &'a Batch) -> Result<Label, Refusal> {
        let [begins, first, behind] = [(); 3].map(|()| self.label());
        let split = self.own_labels(&batch.split, &[]);
        let live = self.behind();
        let zero = |opcode| Instruction { b: 1, ..Instruction::new(opcode) };
        self.fragments[0].extend(split);
        if self.setting.homes.over == Over::Flag {
            self.push(0, Line::added(Instruction { b: 6, ..Instruction::new(Opcode::Bclr) }));
        }
        self.push(
            0,
            Line::added(Instruction { d: batch.rest, r: batch.rest, ..Instruction::new(Opcode::And) }),
        );
        self.unless(0, zero(Opcode::Brbs), begins);
        self.fragments[0].push(Item::Label(first));

        let batches = self.rhythm;
        self.rhythm = batches.of_one(batch);
        let start = self.rhythm.first();
        let mut at = Arrival { fragment: 0, state: start, time: 0.0, weight: 1.0 };
        let mut left = at;
        for index in 0..batch.elements.len() {
            if index == batch.counting {
                let dec = Instruction { d: batch.rest, ..Instruction::new(Opcode::Dec) };
                self.push(0, Line::added(dec));
                self.unless(0, zero(Opcode::Brbs), behind);
                left = at;
                self.spend(&mut left, 2 + self.jump_cycles());
                self.spend(&mut at, 3);
                at.state.next = (index + 1) % batch.elements.len();
            } else {
                self.element(&mut at, live, Resume::Host(entry))?;
            }
        }
        self.check_round(at.time + f64::from(self.jump_cycles()), batch)?;
        self.connect(at, start, first, live, Resume::Host(entry))?;

        self.fragments[0].push(Item::Label(behind));
        self.fragments[0].extend(batch.test.iter().cloned());
        self.spend(&mut left, item::straight_cycles(&batch.test, self.setting.program.core) + 2);
        let over = self.leave(Set::EMPTY, false, Resume::Host(entry));
        self.unless(0, zero(Opcode::Brbs), over);
        left.state.next = (batch.counting + 1) % batch.elements.len();
        while left.state.next != 0 {
            self.element(&mut left, live, Resume::Host(entry))?;
        }
        self.check_round(left.time, batch)?;
        self.pass(&mut left, 0, start, live, Resume::Host(entry))?;
        self.fragments[0].push(Item::Label(begins));
        self.rhythm = batches;
        Ok(begins)
    }

    /// Goes to a place when the branch would be taken: two cycles when not, one more than a jump when so.
    fn unless(&mut self, fragment: usize, branch: Instruction, to: Label) {
        let over = self.label();
        self.push(fragment, Line { target: Some(over), ..Line::added(inverted(branch)) });
        self.push(fragment, self.jump(to));
        self.fragments[fragment].push(Item::Label(over));
    }

    /// Whether a round is over in time for the next one.
    fn check_round(&self, cycles: f64, batch: &Batch) -> Result<(), Refusal> {
        if cycles <= f64::from(batch.period_cycles) {
            return Ok(());
        }
        Err(self.setting.guest.too_short(self.setting.guest_program))
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
    pub(crate) fn status(&self) -> (u8, Vec<Item>) {
        let homes = self.setting.homes;
        match homes.status {
            Store::Register(status) => (status, Vec::new()),
            Store::Memory(offset) => (homes.moment, vec![homes.access(Opcode::Lds, homes.moment, offset)]),
        }
    }

    /// The guest when the host is done: its rounds with nothing between. What the host returns lives, and what is its
    /// caller's.
    pub(super) fn guest_alone(&mut self, entry: Point, returns: Vec<Arrival>) -> Result<Label, Refusal> {
        let label = self.label();
        let live = self.live_at(self.last_point(entry));
        // A host that never returns is woven as long as the guest runs.
        let Some(mut at) = self.merge(returns, live, Resume::End, 1)?.pop() else {
            self.new_fragment(label);
            return Ok(label);
        };
        // Where there is time for the jump back.
        let jump_cycles = self.jump_cycles();
        let mut passed = 0;
        while self.rhythm.slack_cycles(at.state, live) < i64::from(jump_cycles) {
            if passed == self.rhythm.elements().len() {
                return Err(self.setting.guest.too_short(self.setting.guest_program));
            }
            self.element(&mut at, live, Resume::End)?;
            passed += 1;
        }
        self.idle(&mut at, jump_cycles);
        self.fragments[at.fragment].push(Item::Label(label));
        let begun = at.state;
        for _ in 0..self.rhythm.elements().len() {
            self.element(&mut at, live, Resume::End)?;
        }
        self.connect(at, begun, label, live, Resume::End)?;
        Ok(label)
    }

    /// What the guest does after its last event, once for all of its ends, and interrupts as they were. And the sled.
    pub(crate) fn finish(&mut self) {
        let [finish, interrupts] = self.finish;
        let load_is_free = matches!(self.setting.homes.status, Store::Register(_));
        let out = self.label();
        let items = self.own_labels(&self.setting.guest.finish.clone(), &[(DONE, out)]);
        let items = self.lengthened(items);
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
            Over::Unasked => {}
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
        let items = self.lengthened(items);
        self.fragments.push(items);
    }

    /// Code outside the clock, whose branches and jumps may take longer: those too far away for their short form are
    /// long.
    fn lengthened(&mut self, items: Vec<Item>) -> Vec<Item> {
        let far = self.setting.far;
        let mut long = Vec::new();
        for item in items {
            match item {
                Item::Line(line) if far.has(&line) => {
                    let over = self.label();
                    let away = self.jump(line.target.expect("what is too far has a target"));
                    let instruction = inverted(line.instruction);
                    long.push(Item::Line(Line { instruction, target: Some(over), ..line }));
                    long.extend([Item::Line(away), Item::Label(over)]);
                }
                Item::Line(line) if line.instruction.opcode == Opcode::Rjmp => {
                    let instruction = self.jump(0).instruction;
                    long.push(Item::Line(Line { instruction, ..line }));
                }
                other => long.push(other),
            }
        }
        long
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
