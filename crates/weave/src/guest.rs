//! The guest as a clock sees it: elements of fixed duration, some of them pinned to their cycle.
//!
//! Owns: reading a guest function into [`Guest`]: what runs before its first event, one round of its clock as
//! elements in order, and what runs after its last. Conditionals inside a round become one element whose paths are
//! padded to the same duration (`conditional`); what happens at exact cycles before the rounds is `preamble`'s.
//! Leaves out where the elements go (`product`) and in which registers (`rename`).
//!
//! Phases: phase 0 is the end of the cycle in which the first event (`at=0`) happens; the round ends at phase
//! `period`, which is phase 0 again. Source of the method: the paper, section 2.2.

mod batch;
mod conditional;
mod couple;
mod fit;
mod join;
mod preamble;

use std::collections::{BTreeMap, BTreeSet};

use isa::avr::{Instruction, Opcode, Set};

use crate::directive::{Directive, Thread};
use crate::error::{self, Refusal};
use crate::item::{Item, Label, Line};
use crate::product::Far;
use crate::program::{Flow, Function, Point, Program, Written};

pub use batch::Batch;
pub use couple::consumed;
use join::{append, has_flags_before, join_events, join_flags};
use preamble::Place;
pub use preamble::{PREAMBLE_CYCLES, Polling, Preamble};

/// The register that is zero wherever compiled code begins (avr-gcc's calling convention).
const ZERO: u8 = 1;

/// Target of a branch that ends the guest's rounds.
pub const LEAVE: Label = usize::MAX;
/// Target behind the guest's setup: the preamble comes next, or the first event.
pub const GO: Label = usize::MAX - 1;
/// Target behind the guest's finish, and behind a setup that finds nothing to do.
pub const DONE: Label = usize::MAX - 2;

/// A guest, in its own registers.
#[derive(Clone, Debug)]
pub struct Guest {
    /// The name of its clock.
    pub clock: String,
    /// Where its first event is.
    pub first_at: Box<error::Place>,
    /// Cycles of one round.
    pub period_cycles: u32,
    /// One round, from the element with the first event to the one before it comes again.
    pub elements: Vec<Element>,
    /// What runs before anything is timed; ends with a jump to [`GO`], or to [`DONE`] when there is nothing to do.
    pub setup: Vec<Item>,
    /// What happens at exact cycles before the first round.
    pub preamble: Option<Preamble>,
    /// What runs after the last event; ends with a jump to [`DONE`].
    pub finish: Vec<Item>,
    /// The clock and other directives of the function, for the output.
    pub says: Vec<Directive>,
    /// Bytes of its parameters, in order.
    pub arguments: Vec<u32>,
    /// The most rounds in one call, where they end when a count of one byte comes to zero.
    pub rounds_max: Option<u64>,
    /// How it begins and ends when its round is several of the original's.
    pub batch: Option<Batch>,
    /// Whether it sends what the host produces, when the host does.
    pub is_coupled: bool,
    /// Whether it borrows registers of the host's for a moment, which takes time.
    pub borrows: bool,
}

/// A part of a round that is never divided.
#[derive(Clone, Debug, PartialEq)]
pub struct Element {
    /// Its code, with labels of its own from 0; [`LEAVE`] where the rounds end.
    pub items: Vec<Item>,
    /// Cycles on every path that goes on with the round.
    pub cycles: u32,
    /// Other forms of it that cost less where the registers of the set are dead.
    pub cheaper: Vec<Form>,
    /// The phase at which it has to start, if it has an event.
    pub start: Option<u32>,
    /// Status bits it reads from before it.
    pub reads_flags: Set,
    /// Status bits it changes.
    pub writes_flags: Set,
    /// Whether the rounds may end in it.
    pub leaves: bool,
}

/// Another form of an element.
#[derive(Clone, Debug, PartialEq)]
pub struct Form {
    /// Registers it changes and does not save.
    pub clobbers: Set,
    /// Its code.
    pub items: Vec<Item>,
    /// Its cycles.
    pub cycles: u32,
}

impl Element {
    fn form(&self, live: Set) -> Option<&Form> {
        self.cheaper.iter().find(|form| live.intersection(form.clobbers).is_empty())
    }

    /// Its code where these registers live.
    pub fn code(&self, live: Set) -> &[Item] {
        self.form(live).map_or(&self.items, |form| &form.items)
    }

    /// Its cycles where these registers live.
    pub fn cycles(&self, live: Set) -> u32 {
        self.form(live).map_or(self.cycles, |form| form.cycles)
    }
}

impl Guest {
    /// Reads a guest function, with what is too far away for a short branch written longer.
    ///
    /// # Errors
    /// When it has no clock or no first event, is no loop around it, or its elements do not fit the period.
    ///
    /// `without_loads` leaves out the loads that `consume` stands on.
    pub fn of(
        program: &Program,
        function: &Function,
        far: &Far,
        without_loads: bool,
    ) -> Result<Guest, Refusal> {
        let clock = clock(program, function)?;
        let mut reader = Reader::new(program, function, &clock, far)?;
        reader.without_loads = without_loads;
        let round = reader.round()?;
        if has_flags_before(&round) {
            let why =
                "a status bit is set before this event and read in its round, where the host runs in between";
            return Err(reader.refuse(reader.first, why));
        }
        let elements = join_events(join_flags(round, &clock)?, clock.period_cycles);
        let place = Place::find(&reader)?;
        let begin = place.as_ref().map_or(reader.first, |place| place.begin);
        let preamble = place.map(|place| place.read(&reader)).transpose()?;
        let mut guest = Guest {
            rounds_max: batch::rounds_max(&elements),
            setup: reader.copy(function.entry, Some(begin))?,
            preamble,
            finish: reader.finish()?,
            first_at: program.place_of(reader.first),
            clock: clock.name,
            period_cycles: clock.period_cycles,
            elements,
            says: function.directives.iter().map(|written| written.directive.clone()).collect(),
            arguments: arguments(function),
            batch: None,
            is_coupled: false,
            borrows: false,
        };
        if guest.reads_zero() {
            // Who reads the compiler's zero means the zero: it gets a register of its own.
            let clear = Instruction { d: ZERO, r: ZERO, ..Instruction::new(Opcode::Eor) };
            let origin = Some(program.code[function.entry].origin);
            let thread = Some(Thread::Guest);
            guest.setup.insert(0, Item::Line(Line { thread, origin, ..Line::added(clear) }));
        }
        Ok(guest)
    }

    /// Whether it may take r1 for zero, as what a compiler calls finds it. Where it writes r1 first, clearing it before
    /// does no harm.
    fn reads_zero(&self) -> bool {
        self.items().any(|item| match item {
            Item::Line(line) => line.instruction.reads().contains(Set::register(ZERO)),
            _ => false,
        })
    }

    /// All of its code.
    pub fn items(&self) -> impl Iterator<Item = &Item> {
        let batch = self.batch.iter();
        let single = batch.clone().flat_map(|batch| &batch.elements);
        let counting = batch.flat_map(|batch| batch.split.iter().chain(&batch.test));
        let preamble = self.preamble.iter();
        let lead = preamble.clone().flat_map(|preamble| &preamble.elements);
        let polling = preamble.flat_map(|preamble| &preamble.polling).flat_map(|polling| &polling.items);
        let elements = self.elements.iter().chain(single).chain(lead).flat_map(|element| &element.items);
        elements.chain(polling).chain(&self.setup).chain(&self.finish).chain(counting)
    }

    /// Cycles between what runs and the next pinned element, for each of these, when all others run as early as they
    /// may.
    pub fn gaps_cycles(&self) -> Vec<u32> {
        let mut gaps = Vec::new();
        let (mut phase, mut passed) = (0, 0);
        for element in self.elements.iter().chain(self.elements.first()) {
            if let Some(start) = element.start {
                let due = (start + self.period_cycles - phase) % self.period_cycles;
                let due = if due == 0 { self.period_cycles } else { due };
                gaps.push(due.saturating_sub(passed));
                (phase, passed) = (start, 0);
            }
            passed += element.cycles;
        }
        gaps.split_off(1)
    }
}

/// A function without a clock as one element, from its entry to its return, which takes as long on every path.
///
/// # Errors
/// When it loops, calls, or cannot be padded.
pub fn whole(program: &Program, function: &Function) -> Result<Element, Refusal> {
    let (clock, far) = (Clock { name: String::new(), period_cycles: 1, lead: None }, Far::default());
    let mut returns =
        (function.entry..function.end).filter(|&point| program.code[point].flow == Flow::Return);
    let first = returns.next_back().unwrap_or(function.entry);
    let mut reader = Reader {
        program,
        function,
        clock: &clock,
        far: &far,
        first,
        returning: BTreeSet::new(),
        without_loads: false,
    };
    if !reader.ends_in_return() {
        return Err(reader.refuse(first, "it does not return"));
    }
    reader.returning = reader.points_before(first);
    Ok(reader.element(reader.arm(function.entry, first)?, clock.period_cycles))
}

/// The clock that a guest is woven on.
pub(crate) struct Clock {
    name: String,
    period_cycles: u32,
    /// The clock of what happens before its rounds: the one with a `last` event.
    lead: Option<Box<Clock>>,
}

impl Clock {
    /// Whether an event that names this clock, or none, is one of it.
    fn has(&self, name: Option<&str>) -> bool {
        name.is_none_or(|name| name == self.name)
    }
}

/// The clocks of a guest: of its rounds, and of its preamble.
pub(crate) fn clock(program: &Program, function: &Function) -> Result<Clock, Refusal> {
    let points = || program.code[function.entry..function.end].iter().flat_map(|step| &step.directives);
    let is_lead = |name: &str| {
        points().any(|written| match &written.directive {
            Directive::Event { clock: Some(clock), last, .. } => *last && clock == name,
            _ => false,
        })
    };
    let (mut rounds, mut leads) = (Vec::new(), Vec::new());
    for written in &function.directives {
        let Directive::Clock { name, periods, .. } = &written.directive else { continue };
        let longest = periods.last().copied().unwrap_or_default();
        let clock = Clock { name: name.clone(), period_cycles: longest, lead: None };
        if is_lead(name) {
            leads.push(clock);
        } else if rounds.is_empty() && periods.len() == 1 {
            rounds.push(clock);
        } else {
            return Err(Refusal::ManyPeriods {
                function: function.name.clone(),
                at: program.place(written.origin),
            });
        }
    }
    let Some(clock) = rounds.pop() else { return Err(Refusal::NoClock { function: function.name.clone() }) };
    let nameless = points().find(|written| matches!(written.directive, Directive::Event { clock: None, .. }));
    match (leads.len(), nameless) {
        (0, _) => Ok(clock),
        (1, None) => Ok(Clock { lead: leads.pop().map(Box::new), ..clock }),
        (_, Some(written)) => {
            let (function, at) = (function.name.clone(), program.place(written.origin));
            let why = "it names no clock, and there are several; expected `clock=`";
            Err(Refusal::GuestShape { function, at, why })
        }
        (_, None) => {
            let at = program.place_of(function.entry);
            Err(Refusal::ManyPeriods { function: function.name.clone(), at })
        }
    }
}

/// The program with another period of the guest's rounds; `None` when it has no clock.
pub(crate) fn with_period(program: &Program, guest: &str, period_cycles: u32) -> Option<Program> {
    let mut program = program.clone();
    let index = program.functions.iter().position(|function| function.name == guest)?;
    let rounds = clock(&program, &program.functions[index]).ok()?.name;
    for written in &mut program.functions[index].directives {
        if let Directive::Clock { name, periods, .. } = &mut written.directive
            && *name == rounds
        {
            *periods = vec![period_cycles];
        }
    }
    Some(program)
}

/// The instructions that start a clock.
pub(crate) fn firsts(program: &Program, function: &Function, clock: &Clock) -> Vec<Point> {
    let starts = |written: &Written| match &written.directive {
        Directive::Event { at: 0, clock: name, .. } => clock.has(name.as_deref()),
        _ => false,
    };
    let is_first = |point: &Point| program.code[*point].directives.iter().any(starts);
    (function.entry..function.end).filter(is_first).collect()
}

fn arguments(function: &Function) -> Vec<u32> {
    let mut stated = function.directives.iter().filter_map(|written| match &written.directive {
        Directive::Arguments(bytes) => Some(bytes.clone()),
        _ => None,
    });
    stated.next().unwrap_or_default()
}

/// The points of a guest function from its first event on: what the host's code is woven among, and what comes after.
pub fn rounds(program: &Program, function: &Function) -> BTreeSet<Point> {
    let points = function.entry..function.end;
    let is_first = |written: &Written| matches!(written.directive, Directive::Event { at: 0, .. });
    let mut open: Vec<Point> =
        points.clone().filter(|&point| program.code[point].directives.iter().any(is_first)).collect();
    let mut found = BTreeSet::new();
    while let Some(point) = open.pop() {
        if !points.contains(&point) || !found.insert(point) {
            continue;
        }
        match program.code[point].flow {
            Flow::Branch(to) => open.extend([to, point + 1]),
            Flow::Skip => open.extend([point + 1, point + 2]),
            Flow::Jump(to) => open.push(to),
            Flow::Return | Flow::ReturnFromInterrupt | Flow::Stop => {}
            Flow::Next | Flow::Call(_) | Flow::TailCall(_) | Flow::Indirect => open.push(point + 1),
        }
    }
    found
}

/// Walks a guest function.
struct Reader<'a> {
    program: &'a Program,
    function: &'a Function,
    clock: &'a Clock,
    far: &'a Far,
    /// The instruction of the first event.
    first: Point,
    /// Points from which the first event is reached.
    returning: BTreeSet<Point>,
    without_loads: bool,
}

/// A stretch of guest code with one way in and one way on.
#[derive(Default)]
struct Stretch {
    items: Vec<Item>,
    cycles: u32,
    event: Option<Event>,
    leaves: bool,
}

/// An event in a stretch of code.
#[derive(Clone, Copy)]
struct Event {
    /// Cycles from the start of the stretch to the end of the event's instruction.
    end_cycles: u32,
    at: u32,
    maybe: bool,
    /// Whether it is one of the preamble's clock.
    is_lead: bool,
}

impl<'a> Reader<'a> {
    fn new(
        program: &'a Program,
        function: &'a Function,
        clock: &'a Clock,
        far: &'a Far,
    ) -> Result<Reader<'a>, Refusal> {
        let mut firsts = firsts(program, function, clock).into_iter();
        let Some(first) = firsts.next() else {
            return Err(Refusal::NoFirstEvent { function: function.name.clone() });
        };
        if let Some(second) = firsts.next() {
            return Err(Refusal::ManyFirstEvents {
                function: function.name.clone(),
                at: program.place_of(second),
            });
        }
        let mut reader =
            Reader { program, function, clock, far, first, returning: BTreeSet::new(), without_loads: false };
        reader.returning = reader.points_before(first);
        reader.points_behind(first)?;
        if !reader.successors(first)?.iter().any(|point| reader.returning.contains(point)) {
            return Err(Refusal::NoRound { function: function.name.clone(), at: program.place_of(first) });
        }
        Ok(reader)
    }

    fn refuse(&self, point: Point, why: &'static str) -> Refusal {
        Refusal::GuestShape { function: self.function.name.clone(), at: self.program.place_of(point), why }
    }

    /// Where a point may go on inside the function; nothing for a return.
    fn successors(&self, point: Point) -> Result<Vec<Point>, Refusal> {
        let within = |next: Point| -> Result<Point, Refusal> {
            (self.function.entry..self.function.end)
                .contains(&next)
                .then_some(next)
                .ok_or_else(|| self.refuse(point, "it runs out of its function"))
        };
        Ok(match self.program.code[point].flow {
            Flow::Next => vec![within(point + 1)?],
            Flow::Branch(to) => vec![within(to)?, within(point + 1)?],
            Flow::Skip => vec![within(point + 1)?, within(point + 2)?],
            Flow::Jump(to) => vec![within(to)?],
            Flow::Return if self.ends_in_return() && point != self.first => vec![self.first],
            Flow::Return => Vec::new(),
            Flow::Call(_) | Flow::TailCall(_) => {
                return Err(self.refuse(point, "it calls; a guest has to be one function"));
            }
            Flow::ReturnFromInterrupt | Flow::Indirect | Flow::Stop => {
                return Err(self.refuse(point, "it goes where no guest may go"));
            }
        })
    }

    /// Whether a function is read from its entry to its return, not a round from the first event to itself.
    fn ends_in_return(&self) -> bool {
        self.program.code[self.first].flow == Flow::Return
    }

    /// The points from which `goal` can be reached, itself included.
    fn points_before(&self, goal: Point) -> BTreeSet<Point> {
        let mut found = BTreeSet::from([goal]);
        loop {
            let before = found.len();
            for point in (self.function.entry..self.function.end).rev() {
                if let Ok(next) = self.successors(point)
                    && next.iter().any(|point| found.contains(point))
                {
                    found.insert(point);
                }
            }
            if found.len() == before {
                return found;
            }
        }
    }

    /// The points that can be reached from `start`, itself included.
    fn points_behind(&self, start: Point) -> Result<BTreeSet<Point>, Refusal> {
        let (mut found, mut open) = (BTreeSet::from([start]), vec![start]);
        while let Some(point) = open.pop() {
            for next in self.successors(point)? {
                if found.insert(next) {
                    open.push(next);
                }
            }
        }
        Ok(found)
    }

    /// One round as elements, each instruction by itself where it can be.
    fn round(&self) -> Result<Vec<Element>, Refusal> {
        let mut elements = Vec::new();
        let mut point = self.first;
        loop {
            let (stretch, next) = self.step(point)?;
            if stretch.event.is_some_and(|event| event.is_lead) {
                return Err(
                    self.refuse(point, "an event of the preamble's clock in a round, expected it before")
                );
            }
            if stretch.cycles > 0 || !stretch.items.is_empty() {
                elements.push(self.element(stretch, self.clock.period_cycles));
            }
            point = next;
            if point == self.first {
                return Ok(elements);
            }
            if elements.len() > self.function.end - self.function.entry {
                return Err(self.refuse(point, "a loop inside a round needs the strategy `cocall`"));
            }
        }
    }

    /// An element whose start is a phase of so many cycles.
    fn element(&self, stretch: Stretch, period: u32) -> Element {
        let (reads, writes) = status_bits(&stretch.items);
        let start =
            stretch.event.map(|event| (event.at % period + period - event.end_cycles % period) % period);
        Element {
            items: stretch.items,
            cycles: stretch.cycles,
            cheaper: Vec::new(),
            start,
            reads_flags: reads,
            writes_flags: writes,
            leaves: stretch.leaves,
        }
    }

    fn line(&self, point: Point) -> Line {
        let step = &self.program.code[point];
        Line {
            instruction: step.instruction,
            expression: step.expression.clone(),
            target: None,
            thread: Some(Thread::Guest),
            origin: Some(step.origin),
            point: None,
        }
    }

    fn is_left_out(&self, point: Point) -> bool {
        self.without_loads && self.program.code[point].says(&Directive::Consume)
    }

    /// The events that an instruction has.
    fn says(&self, point: Point) -> impl Iterator<Item = Item> {
        let written = self.program.code[point].directives.iter();
        let events = written.filter(|written| matches!(written.directive, Directive::Event { .. }));
        events.map(|written| Item::Says(written.directive.clone()))
    }

    /// How often the loop around an instruction runs, where that is said.
    fn trip(&self, point: Point) -> Option<Item> {
        let mut written = self.program.code[point].directives.iter();
        let trip = written.find(|written| matches!(written.directive, Directive::Trip { .. }));
        trip.map(|written| Item::Says(written.directive.clone()))
    }

    /// The instruction with its events before it.
    fn placed(&self, point: Point, stretch: &mut Stretch) -> Result<(), Refusal> {
        if self.is_left_out(point) {
            return Ok(());
        }
        stretch.items.extend(self.says(point));
        stretch.items.push(Item::Line(self.line(point)));
        stretch.cycles += self.program.cycles(point);
        for written in &self.program.code[point].directives {
            // The last one of the preamble happens where the rounds begin, which is when they are begun.
            let Directive::Event { clock, at, maybe, last: false, .. } = &written.directive else { continue };
            let is_lead = self.clock.lead.is_some() && !self.clock.has(clock.as_deref());
            if !is_lead && *at >= self.clock.period_cycles {
                let (at_cycles, period_cycles) = (*at, self.clock.period_cycles);
                let at = self.program.place(written.origin);
                return Err(Refusal::BeyondPeriod { at, at_cycles, period_cycles });
            }
            let event = Event { end_cycles: stretch.cycles, at: *at, maybe: *maybe, is_lead };
            if stretch.event.replace(event).is_some() {
                return Err(self.refuse(point, "two events in one conditional"));
            }
        }
        Ok(())
    }

    /// What stands at a point, up to where all its paths meet again.
    fn step(&self, point: Point) -> Result<(Stretch, Point), Refusal> {
        let mut stretch = Stretch::default();
        let is_jump = matches!(self.program.code[point].flow, Flow::Branch(_) | Flow::Jump(_));
        if is_jump && self.says(point).next().is_some() {
            return Err(self.refuse(point, "an event on a jump, expected it on what changes an I/O register"));
        }
        match self.program.code[point].flow {
            Flow::Next => {
                self.placed(point, &mut stretch)?;
                Ok((stretch, point + 1))
            }
            Flow::Jump(to) => Ok((stretch, to)),
            Flow::Return if self.ends_in_return() => Ok((stretch, self.first)),
            Flow::Skip => {
                self.skip(point, &mut stretch)?;
                Ok((stretch, point + 2))
            }
            Flow::Branch(taken) => {
                let stays = |to: &Point| self.returning.contains(to);
                match (stays(&taken), stays(&(point + 1))) {
                    (true, false) => Ok((self.exit(point, true), taken)),
                    (false, true) => Ok((self.exit(point, false), point + 1)),
                    _ => self.conditional(point, taken),
                }
            }
            _ => Err(self.refuse(point, "it goes where no guest may go")),
        }
    }

    /// A skip with what it skips, which has to take as long skipped as done.
    fn skip(&self, point: Point, stretch: &mut Stretch) -> Result<(), Refusal> {
        if self.program.code[point + 1].flow != Flow::Next {
            return Err(self.refuse(point, "it skips a jump; a branch says the same"));
        }
        let done = self.program.cycles(point) + self.program.cycles(point + 1);
        if done != self.program.taken_cycles(point) {
            return Err(self.refuse(
                point,
                "it takes one time when it skips and another when it does not; skip one word of one cycle",
            ));
        }
        self.placed(point, stretch)?;
        self.placed(point + 1, stretch)?;
        let skips = |event: &Event| event.end_cycles == stretch.cycles && !event.maybe;
        if stretch.event.as_ref().is_some_and(skips) {
            return Err(self.refuse(point, "it skips an event that is not `maybe`"));
        }
        Ok(())
    }

    /// A branch out of the rounds; `taken` when the original one stays by being taken.
    fn exit(&self, point: Point, taken: bool) -> Stretch {
        let line = self.line(point);
        let away = if taken { inverted(line.instruction) } else { line.instruction };
        let line = Line { instruction: away, target: Some(LEAVE), ..line };
        if !self.far.has(&line) {
            return Stretch { items: vec![Item::Line(line)], cycles: 1, event: None, leaves: true };
        }
        let around = Line { instruction: inverted(away), target: Some(0), ..line };
        let opcode = if self.far.jumps { Opcode::Jmp } else { Opcode::Rjmp };
        let jump = Line { target: Some(LEAVE), ..Line::added(Instruction::new(opcode)) };
        let jump = Line { thread: Some(Thread::Guest), ..jump };
        let items = vec![Item::Line(around), Item::Line(jump), Item::Label(0)];
        Stretch { items, cycles: 2, event: None, leaves: true }
    }

    /// The first point that both ways come to.
    fn meeting_point(&self, one: Point, other: Point) -> Result<Point, Refusal> {
        let way = |from: Point| -> Result<Vec<Point>, Refusal> {
            let mut points = Vec::new();
            let mut point = from;
            while !points.contains(&point) {
                points.push(point);
                if point == self.first {
                    break;
                }
                let next = self.successors(point)?;
                // A conditional on the way is passed by its longer side; both meet behind it.
                let Some(&on) = next.iter().filter(|next| self.returning.contains(next)).min() else { break };
                point = on;
            }
            Ok(points)
        };
        let (one, other) = (way(one)?, way(other)?);
        let met = one.iter().find(|point| other.contains(point)).copied();
        met.ok_or_else(|| self.refuse(self.first, "two ways of a conditional that do not meet again"))
    }

    /// What runs after the last event, from wherever the rounds are left.
    fn finish(&self) -> Result<Vec<Item>, Refusal> {
        let mut ways = BTreeSet::new();
        // What the setup skips to is no end of the rounds.
        let rounds = self.points_behind(self.first)?;
        for &point in self.returning.intersection(&rounds) {
            for next in self.successors(point)? {
                if !self.returning.contains(&next) {
                    ways.insert(next);
                }
            }
        }
        match ways.iter().next() {
            None => Ok(vec![Item::Line(Line::jump(DONE))]),
            Some(&way) if ways.iter().all(|&other| self.same_way(way, other)) => {
                let items = self.copy(way, None)?;
                match status_bits(&items).0.is_empty() {
                    true => Ok(items),
                    false => Err(self.refuse(
                        way,
                        "a status bit is read behind the rounds and set before, where the host runs in between",
                    )),
                }
            }
            Some(&way) => Err(self.refuse(way, "its rounds are left for different places")),
        }
    }

    /// Whether two points go on alike: one jumps to the other.
    fn same_way(&self, one: Point, other: Point) -> bool {
        let settle = |mut point: Point| {
            for _ in 0..8 {
                match self.program.code[point].flow {
                    Flow::Jump(to) => point = to,
                    _ => break,
                }
            }
            point
        };
        settle(one) == settle(other)
    }

    /// The code from a point on, up to `stop` (then [`GO`]) or a return (then [`DONE`]), as it stands.
    /// Pushes and pops are left out: woven, the registers have other names and are saved elsewhere.
    fn copy(&self, from: Point, stop: Option<Point>) -> Result<Vec<Item>, Refusal> {
        if stop == Some(from) {
            return Ok(vec![Item::Line(Line::jump(GO))]);
        }
        let mut points = BTreeSet::from([from]);
        let mut open = vec![from];
        while let Some(point) = open.pop() {
            for next in self.successors(point)? {
                if Some(next) != stop && points.insert(next) {
                    open.push(next);
                }
            }
        }
        if let Some(&timed) = points.iter().find(|&&point| self.says(point).next().is_some()) {
            return Err(
                self.refuse(timed, "an event outside the rounds, expected none without a clock of its own")
            );
        }
        let number: BTreeMap<Point, Label> = points.iter().copied().zip(0..).collect();
        let label = |point: Point| if Some(point) == stop { GO } else { number[&point] };
        let mut items = vec![Item::Line(Line::jump(number[&from]))];
        if points.first() == Some(&from) {
            items.clear();
        }
        for &point in &points {
            items.push(Item::Label(number[&point]));
            let mut line = self.line(point);
            let next = point + 1;
            match self.program.code[point].flow {
                Flow::Return => line = Line::jump(DONE),
                Flow::Jump(to) => line = Line::jump(label(to)),
                Flow::Branch(to) => line.target = Some(label(to)),
                Flow::Skip if !points.contains(&(point + 2)) => {
                    return Err(self.refuse(point, "it skips to the first event"));
                }
                _ => {}
            }
            let goes_on = !matches!(self.program.code[point].flow, Flow::Return | Flow::Jump(_));
            let is_saving = matches!(line.instruction.opcode, Opcode::Push | Opcode::Pop);
            if !is_saving && !self.is_left_out(point) {
                // A counter that lives in memory is nothing that a proof follows.
                let written = self.program.code[point].directives.iter();
                let trips = written.filter(|written| matches!(written.directive, Directive::Trip { .. }));
                items.extend(trips.map(|written| Item::Says(written.directive.clone())));
                items.push(Item::Line(line));
            }
            if goes_on && !points.contains(&next) {
                items.push(Item::Line(Line::jump(label(next))));
            }
        }
        Ok(items)
    }
}

/// How many labels of their own these items have: one more than the highest.
fn labels(items: &[Item]) -> Label {
    let own = items.iter().filter_map(|item| match item {
        Item::Label(label) => Some(label + 1),
        _ => None,
    });
    own.max().unwrap_or(0)
}

/// Items with their own labels moved up by `by`.
pub fn shifted(items: Vec<Item>, by: Label) -> impl Iterator<Item = Item> {
    let moved = move |label: Label| if label >= DONE { label } else { label + by };
    items.into_iter().map(move |item| match item {
        Item::Label(label) => Item::Label(moved(label)),
        Item::Line(line) => Item::Line(Line { target: line.target.map(moved), ..line }),
        says => says,
    })
}

/// The branch that is taken when this one is not.
pub fn inverted(branch: Instruction) -> Instruction {
    let opcode = match branch.opcode {
        Opcode::Brbs => Opcode::Brbc,
        Opcode::Brbc => Opcode::Brbs,
        other => unreachable!("{other:?} is no branch"),
    };
    Instruction { opcode, ..branch }
}

/// The status bits that code reads as it finds them, and those that it writes.
fn status_bits(items: &[Item]) -> (Set, Set) {
    let (mut reads, mut writes) = (Set::EMPTY, Set::EMPTY);
    for item in items {
        if let Item::Line(line) = item {
            reads = reads | line.instruction.reads().intersection(Set::SREG).without(writes);
            writes = writes | line.instruction.writes().intersection(Set::SREG);
        }
    }
    (reads, writes)
}
