//! Makes a program of some functions of some texts.
//!
//! Owns: where functions begin and end, which are reached, and what an instruction's target means for its flow.
//! A function begins at a label of type function, at a root, where a call goes, and at a visible label outside
//! every function that has a `.size`. It ends at its `.size`, where the next one begins, or with its section.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::RangeInclusive;

use isa::avr::{CoreType, Opcode, text};

use super::instruction::{Draft, read};
use super::layout::{Layout, Slot, Spot};
use super::symbols::{Target, Where, World};
use super::{Source, notes};
use crate::chip;
use crate::directive::Parameters;
use crate::error::Error;
use crate::program::{Callee, Flow, Function, Origin, Point, Program, Step};

/// What a program's points are in its texts, for those who change the texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// Where each function of [`Program::functions`] is written, in the same order.
    pub extents: Vec<Extent>,
    /// The named labels of the functions, by text (an index of the given ones) and name.
    pub labels: BTreeMap<(usize, String), Point>,
}

/// Where a function is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// An index of the given texts.
    pub source: usize,
    /// From its label to its last instruction. Data and other sections may stand between.
    pub lines: RangeInclusive<u32>,
}

/// Library code that returns in other ways than a function does, and the option that avoids it.
const UNUSUAL: &[(&str, &str)] = &[
    ("__tablejump", "-fno-jump-tables"),
    ("__prologue_saves__", "-mno-call-prologues"),
    ("__epilogue_restores__", "-mno-call-prologues"),
];

/// Functions of the C library that do not return.
const ENDLESS: &[&str] = &["abort", "exit", "_exit", "__stop_program", "longjmp"];

impl Program {
    /// The functions `roots`, and all that they reach by calls and jumps within the texts. Whose cycles count is
    /// what their `chip` directives say, or `core`.
    ///
    /// A jump or branch within its function is a point in its [`Flow`]; its constant is the distance, and where that is
    /// the linker's to say (`jmp`, or something of unknown length between) its expression is the target as written.
    /// `rcall .`, which makes room on the stack, goes to [`Flow::Next`]. A function that begins at a local label is
    /// called by its number and line (`1@34`).
    ///
    /// # Errors
    /// What the texts say that cannot be read, analysed or executed, with its place.
    pub fn read(
        sources: &[Source],
        roots: &[&str],
        parameters: &Parameters,
        core: Option<CoreType>,
    ) -> Result<(Program, Listing), Error> {
        let units: Result<Vec<Layout>, Error> = sources.iter().map(Layout::of).collect();
        let world = World::new(units?);
        let outline = Outline::of(&world, roots)?;
        let gathered = gather(&world, &outline)?;
        let (mut program, listing) = assemble(&world, &outline, &gathered)?;
        notes::attach(&world, &outline, &gathered.points(), parameters, &mut program)?;
        program.core = chip::core_of(&program, core)?;
        Ok((program, listing))
    }
}

/// A function's stretch of a section.
#[derive(Clone, Debug)]
pub(super) struct Stretch {
    pub name: String,
    /// One behind its last instruction's number.
    pub end: usize,
    /// When its own `.size` was met.
    pub closed: Option<usize>,
    label_line: u32,
}

/// Where functions begin and end.
pub(super) struct Outline {
    roots: Vec<Where>,
    pub stretches: BTreeMap<Where, Stretch>,
}

impl Outline {
    fn of(world: &World, roots: &[&str]) -> Result<Outline, Error> {
        let found: Result<Vec<Where>, Error> = roots.iter().map(|root| self::root(world, root)).collect();
        let roots_at = found?;
        let mut starts: BTreeMap<Where, String> = BTreeMap::new();
        for (unit, layout) in world.units.iter().enumerate() {
            let named = labels(world, unit);
            // The better names first: what is there stays.
            for (name, at) in named.iter().filter(|(name, _)| layout.typed.contains(name)) {
                starts.entry(*at).or_insert_with(|| (*name).to_owned());
            }
            for (name, at) in named.iter().filter(|(name, _)| layout.visible.contains_key(name)) {
                if !within_a_sized_one(layout, &starts, *at) {
                    starts.entry(*at).or_insert_with(|| (*name).to_owned());
                }
            }
        }
        for (root, at) in roots.iter().zip(&roots_at) {
            starts.insert(*at, (*root).to_owned());
        }
        called(world, &mut starts);
        let stretches = starts.iter().map(|(at, name)| (*at, stretch(world, &starts, *at, name))).collect();
        Ok(Outline { roots: roots_at, stretches })
    }

    /// The function that an instruction belongs to.
    pub fn owner(&self, at: Where) -> Option<(Where, &Stretch)> {
        let (start, stretch) = self.stretches.range(..=at).next_back()?;
        let same = (start.unit, start.section) == (at.unit, at.section);
        (same && at.slot < stretch.end).then_some((*start, stretch))
    }
}

/// The labels of a text that stand on instructions, in the order of their names.
fn labels<'s>(world: &World<'s>, unit: usize) -> Vec<(&'s str, Where)> {
    let spots = world.units[unit].labels.iter();
    let mut found: Vec<_> =
        spots.filter_map(|(name, spot)| Some((*name, world.instruction_at(unit, *spot, 0)?))).collect();
    found.sort();
    found
}

/// Whether a place is inside a function whose end is written, and not its beginning.
fn within_a_sized_one(layout: &Layout, starts: &BTreeMap<Where, String>, at: Where) -> bool {
    layout.sizes.iter().any(|(name, (end, _))| {
        layout.labels.get(name).is_some_and(|start| {
            let inside = start.section == at.section && start.slot < at.slot && at.slot < end.slot;
            inside && starts.contains_key(&Where { slot: start.slot, ..at })
        })
    })
}

/// Where a root begins.
fn root(world: &World, name: &str) -> Result<Where, Error> {
    let mut found = BTreeSet::new();
    let mut refusal = None;
    for (unit, layout) in world.units.iter().enumerate() {
        let Some((its_unit, spot)) = world.label(unit, name).filter(|(its_unit, _)| *its_unit == unit) else {
            continue;
        };
        match world.instruction_at(its_unit, spot, 0) {
            Some(at) => {
                found.insert((layout.visible.contains_key(name), at));
            }
            None => refusal = Some((its_unit, spot)),
        }
    }
    let shown = found.iter().any(|(visible, _)| *visible);
    let mut found = found.into_iter().filter(|(visible, _)| *visible == shown).map(|(_, at)| at);
    match (found.next(), found.next(), refusal) {
        (Some(at), None, _) => Ok(at),
        (Some(one), Some(other), _) => {
            let file = |at: Where| world.units[at.unit].source.name().to_owned();
            Err(Error::FunctionTwice { name: name.to_owned(), files: [file(one), file(other)] })
        }
        (None, _, Some((unit, spot))) => {
            let gap = world.gap_at(unit, spot.section, spot.slot);
            Err(gap.unwrap_or_else(|| Error::NotCode { name: name.to_owned() }))
        }
        (None, ..) => {
            let mut known = BTreeSet::new();
            for layout in &world.units {
                let shown = layout.typed.iter().chain(layout.visible.keys());
                known.extend(
                    shown.filter(|name| layout.labels.contains_key(*name)).map(|name| (*name).to_owned()),
                );
            }
            Err(Error::NoFunction { name: name.to_owned(), known: known.into_iter().collect() })
        }
    }
}

/// Adds the places that calls go to, but for subroutines inside a function.
fn called(world: &World, starts: &mut BTreeMap<Where, String>) {
    for (unit, layout) in world.units.iter().enumerate() {
        for slot in layout.sections.iter().flat_map(|section| &section.slots) {
            let (mnemonic, operands) = text::split(layout.source.clean(&slot.span));
            if !mnemonic.eq_ignore_ascii_case("call") && !mnemonic.eq_ignore_ascii_case("rcall") {
                continue;
            }
            // `rcall .` makes room on the stack. What is wrong with a target is said when its call is read.
            let [operand] = operands[..] else { continue };
            if let Ok(Target::Here(at)) = world.target(unit, operand, slot.sequence, None) {
                // A subroutine of a function whose extent is written stays inside it.
                if within_a_sized_one(&world.units[at.unit], starts, at) {
                    continue;
                }
                let line = layout.source.line_of(world_slot(world, at).span.start);
                let digits = operand.trim_end_matches(['b', 'f']);
                let local = crate::expression::is_local(operand);
                starts
                    .entry(at)
                    .or_insert_with(|| if local { format!("{digits}@{line}") } else { operand.to_owned() });
            }
        }
    }
}

fn world_slot<'w>(world: &'w World, at: Where) -> &'w Slot {
    &world.units[at.unit].sections[at.section].slots[at.slot]
}

fn stretch(world: &World, starts: &BTreeMap<Where, String>, at: Where, name: &str) -> Stretch {
    let layout = &world.units[at.unit];
    let behind = Where { slot: at.slot + 1, ..at }..Where { section: at.section + 1, slot: 0, ..at };
    let next = starts.range(behind).next().map(|(at, _)| at.slot);
    let sizes = layout.sizes.values().filter(|(end, _)| end.section == at.section && end.slot > at.slot);
    let size = sizes.map(|(end, _)| end.slot).min();
    // Data that others see ends it too.
    let shown = |name: &str| layout.typed.contains(name) || layout.visible.contains_key(name);
    let others = layout.labels.iter().filter(|(name, spot)| {
        spot.section == at.section && spot.slot > at.slot && shown(name) && !holds_code(layout, spot)
    });
    let data = others.map(|(_, spot)| spot.slot).min();
    let end = layout.sections[at.section].slots.len();
    let end = [next, size, data].into_iter().flatten().fold(end, usize::min);
    let closed = layout.sizes.get(name).map(|(_, sequence)| *sequence);
    // A local label has no place of its own here; its instruction's will do.
    let label = layout.labels.get_key_value(name).and_then(|(name, _)| layout.source.span_of(name));
    let label_line = layout.source.line_of(label.unwrap_or(world_slot(world, at).span.clone()).start);
    Stretch { name: name.to_owned(), end, closed, label_line }
}

/// Whether an instruction stands at a label.
fn holds_code(layout: &Layout, spot: &Spot) -> bool {
    let slot = layout.sections[spot.section].slots.get(spot.slot);
    slot.is_some_and(|slot| (slot.segment, slot.offset) == (spot.segment, spot.offset))
}

/// What is known of an instruction before points are.
struct Link {
    step: Step,
    to: To,
}

/// A flow to another instruction.
enum To {
    /// None: the step's flow is what it is.
    Nowhere,
    Branch(Where),
    Jump(Where),
    Call(Where),
    Tail(Where),
}

/// The functions that are reached, with their instructions.
struct Gathered {
    functions: BTreeMap<Where, Vec<Link>>,
}

impl Gathered {
    /// The point of each instruction.
    fn points(&self) -> HashMap<Where, Point> {
        let places = self.functions.iter().flat_map(|(start, links)| {
            (0..links.len()).map(|index| Where { slot: start.slot + index, ..*start })
        });
        places.enumerate().map(|(point, at)| (at, point)).collect()
    }
}

fn gather(world: &World, outline: &Outline) -> Result<Gathered, Error> {
    let mut functions = BTreeMap::new();
    let mut waiting = outline.roots.clone();
    while let Some(start) = waiting.pop() {
        if functions.contains_key(&start) {
            continue;
        }
        let function = Reading { world, outline, start, stretch: &outline.stretches[&start] };
        let links = function.links()?;
        for link in &links {
            if let To::Call(to) | To::Tail(to) = link.to {
                let (owner, _) = outline.owner(to).expect("what is called is in a function");
                waiting.push(owner);
            }
        }
        waiting.extend(function.targets());
        functions.insert(start, links);
    }
    Ok(Gathered { functions })
}

/// One function while it is read.
struct Reading<'w, 's> {
    world: &'w World<'s>,
    outline: &'w Outline,
    start: Where,
    stretch: &'w Stretch,
}

impl Reading<'_, '_> {
    fn links(&self) -> Result<Vec<Link>, Error> {
        let (start, end) = (self.start, self.stretch.end);
        for slot in start.slot + 1..end {
            if let Some(error) = self.world.gap_at(start.unit, start.section, slot) {
                return Err(error);
            }
        }
        (start.slot..end).map(|slot| self.link(Where { slot, ..start })).collect()
    }

    /// The functions that `targets` directives name.
    fn targets(&self) -> Vec<Where> {
        let texts = notes::target_texts(self.world, self.outline, self.start);
        let names = texts.iter().flat_map(|text| text.split_ascii_whitespace().skip(1));
        let spots = names.filter_map(|name| self.world.label(self.start.unit, name));
        let places = spots.filter_map(|(unit, spot)| self.world.instruction_at(unit, spot, 0));
        places.filter(|at| self.outline.stretches.contains_key(at)).collect()
    }

    fn link(&self, at: Where) -> Result<Link, Error> {
        let slot = world_slot(self.world, at);
        let Draft { mut instruction, mut expression, target } = read(self.world, at)?;
        let (flow, to) = match target {
            Some((target, written)) => {
                let (flow, to) = self.directed(at, instruction.opcode, target, &written)?;
                let inside = matches!(&to, To::Branch(to) | To::Jump(to) if self.distance_known(at, *to));
                let room = flow == Flow::Next;
                if !room && (!inside || instruction.opcode == Opcode::Jmp) {
                    instruction.k = 0;
                    expression = Some(written.trim().to_owned());
                }
                (flow, to)
            }
            None => (undirected(instruction.opcode), To::Nowhere),
        };
        let line = self.world.units[at.unit].source.line_of(slot.span.start);
        let origin = Origin::Line { text: at.unit, line };
        let step = Step { instruction, expression, flow, directives: Vec::new(), origin };
        self.continued(at, Link { step, to })
    }

    fn distance_known(&self, at: Where, to: Where) -> bool {
        world_slot(self.world, at).segment == world_slot(self.world, to).segment
    }

    /// The flow of an instruction whose operand is a target.
    fn directed(
        &self,
        at: Where,
        opcode: Opcode,
        target: Target,
        written: &str,
    ) -> Result<(Flow, To), Error> {
        let place = || self.world.place(at.unit, &world_slot(self.world, at).span);
        let function = || self.stretch.name.clone();
        let found = || written.to_owned();
        let branches = opcode.is_branch();
        let to = match target {
            Target::Here(to) => to,
            Target::Elsewhere(name) => {
                if let Some((_, option)) = UNUSUAL.iter().find(|(begin, _)| name.starts_with(begin)) {
                    return Err(Error::Unusual { at: place(), found: name, option });
                }
                return match (branches, opcode.is_call()) {
                    (true, _) => Err(Error::BranchOut { at: place(), found: found(), function: function() }),
                    (_, true) => Ok((Flow::Call(Callee::Unknown(name)), To::Nowhere)),
                    (_, false) => Ok((Flow::TailCall(Callee::Unknown(name)), To::Nowhere)),
                };
            }
        };
        // The compiler's way to make room on the stack: the return address stays there.
        if opcode.is_call() && matches!(&*written.replace([' ', '\t'], ""), "." | ".+0" | ".-0") {
            return Ok((Flow::Next, To::Nowhere));
        }
        let inside = self.outline.owner(to).is_some_and(|(start, _)| start == self.start);
        let begins = self.outline.stretches.contains_key(&to);
        // Points are set when all functions are there.
        match (branches, opcode.is_call(), inside, begins) {
            (true, _, true, _) => Ok((Flow::Branch(0), To::Branch(to))),
            (true, _, false, _) => {
                Err(Error::BranchOut { at: place(), found: found(), function: function() })
            }
            // Where a call goes a function begins: the outline has seen to that.
            (_, true, ..) => Ok((Flow::Call(Callee::Known(0)), To::Call(to))),
            (_, _, true, _) => Ok((Flow::Jump(0), To::Jump(to))),
            (_, _, false, true) => Ok((Flow::TailCall(Callee::Known(0)), To::Tail(to))),
            (_, _, false, false) => {
                Err(Error::JumpInside { at: place(), found: found(), function: function() })
            }
        }
    }

    /// Checks that what follows an instruction is there, and follows it out of the function's end.
    fn continued(&self, at: Where, mut link: Link) -> Result<Link, Error> {
        let steps = match link.step.flow {
            Flow::Next | Flow::Branch(_) | Flow::Call(_) => 1,
            Flow::Skip => 2,
            Flow::Indirect if link.step.instruction.opcode == Opcode::Icall => 1,
            _ => 0,
        };
        let section = &self.world.units[at.unit].sections[at.section];
        let place = || self.world.place(at.unit, &world_slot(self.world, at).span);
        for slot in at.slot + 1..=at.slot + steps {
            let from = section.gaps.partition_point(|(before, _)| *before < slot);
            if let Some((_, gap)) = section.gaps.get(from).filter(|(before, _)| *before == slot) {
                if let Some(error) = self.world.gap_at(at.unit, at.section, slot) {
                    return Err(error);
                }
                if let Flow::Call(callee) = &link.step.flow {
                    return self.endless(callee.clone(), place(), link);
                }
                let data = self.world.place(at.unit, &gap.span);
                return Err(Error::DataInFlow { at: data, from: place() });
            }
            if slot < self.stretch.end {
                continue;
            }
            let next = Where { slot, ..at };
            return match &link.step.flow {
                Flow::Next if self.outline.stretches.contains_key(&next) => {
                    link.step.flow = Flow::TailCall(Callee::Known(0));
                    link.to = To::Tail(next);
                    Ok(link)
                }
                Flow::Call(callee) => self.endless(callee.clone(), place(), link),
                _ => Err(Error::RunsOff { at: place(), function: self.stretch.name.clone() }),
            };
        }
        Ok(link)
    }

    /// A call with nothing behind it: the last thing that its function does, if the callee does not return.
    fn endless(&self, callee: Callee, at: Box<crate::error::Place>, mut link: Link) -> Result<Link, Error> {
        link.to = match (link.to, &callee) {
            (To::Call(to), _) => To::Tail(to),
            (_, Callee::Unknown(name)) if ENDLESS.contains(&name.as_str()) => To::Nowhere,
            (_, Callee::Unknown(name)) => {
                return Err(Error::ReturnsOff {
                    at,
                    callee: name.clone(),
                    function: self.stretch.name.clone(),
                });
            }
            (to, Callee::Known(_)) => to,
        };
        link.step.flow = Flow::TailCall(callee);
        Ok(link)
    }
}

/// The flow of an instruction without a target.
fn undirected(opcode: Opcode) -> Flow {
    match opcode {
        _ if opcode.is_skip() => Flow::Skip,
        Opcode::Ret => Flow::Return,
        Opcode::Reti => Flow::ReturnFromInterrupt,
        Opcode::Ijmp | Opcode::Icall => Flow::Indirect,
        Opcode::Break => Flow::Stop,
        _ => Flow::Next,
    }
}

/// Puts the functions behind each other.
fn assemble(world: &World, outline: &Outline, gathered: &Gathered) -> Result<(Program, Listing), Error> {
    let points = gathered.points();
    let texts = world.units.iter().map(|unit| unit.source.as_text()).collect();
    let mut program = Program { code: Vec::new(), functions: Vec::new(), core: CoreType::AvrePc2, texts };
    let mut extents = Vec::new();
    for (start, links) in &gathered.functions {
        let stretch = &outline.stretches[start];
        let entry = program.code.len();
        for link in links {
            let mut step = link.step.clone();
            match link.to {
                To::Nowhere => {}
                To::Branch(to) => step.flow = Flow::Branch(points[&to]),
                To::Jump(to) => step.flow = Flow::Jump(points[&to]),
                To::Call(to) => step.flow = Flow::Call(Callee::Known(points[&to])),
                To::Tail(to) => step.flow = Flow::TailCall(Callee::Known(points[&to])),
            }
            program.code.push(step);
        }
        let end = program.code.len();
        let name = stretch.name.clone();
        program.functions.push(Function { name, entry, end, directives: Vec::new() });
        let last = Where { slot: stretch.end - 1, ..*start };
        let source = world.units[start.unit].source;
        let last_line = source.line_of(world_slot(world, last).span.start);
        extents.push(Extent { source: start.unit, lines: stretch.label_line..=last_line });
    }
    let mut named = BTreeMap::new();
    for unit in 0..world.units.len() {
        for (name, at) in labels(world, unit) {
            if let Some(point) = points.get(&at) {
                named.insert((unit, name.to_owned()), *point);
            }
        }
    }
    check_endless(world, gathered, &points, &program)?;
    Ok((program, Listing { extents, labels: named }))
}

/// Checks that callees behind whose call nothing stands do not return.
fn check_endless(
    world: &World,
    gathered: &Gathered,
    points: &HashMap<Where, Point>,
    program: &Program,
) -> Result<(), Error> {
    let mut returning = None;
    for (start, links) in &gathered.functions {
        for (index, link) in links.iter().enumerate() {
            let To::Tail(to) = link.to else { continue };
            if !link.step.instruction.opcode.is_call() {
                continue;
            }
            let returning = returning.get_or_insert_with(|| returning_functions(program));
            let callee = program.function_at(points[&to]).expect("callees are gathered");
            if returning.contains(&callee.entry) {
                let at = Where { slot: start.slot + index, ..*start };
                let function = program.function_at(points[&at]).map(|function| function.name.clone());
                return Err(Error::ReturnsOff {
                    at: world.place(at.unit, &world_slot(world, at).span),
                    callee: callee.name.clone(),
                    function: function.unwrap_or_default(),
                });
            }
        }
    }
    Ok(())
}

/// The entries of the functions that may return: the least set that holds what its members' code says.
fn returning_functions(program: &Program) -> BTreeSet<Point> {
    let mut returning = BTreeSet::new();
    loop {
        let found = program.functions.iter().filter(|function| {
            !returning.contains(&function.entry) && may_return(program, function, &returning)
        });
        let found: Vec<Point> = found.map(|function| function.entry).collect();
        if found.is_empty() {
            return returning;
        }
        returning.extend(found);
    }
}

fn may_return(program: &Program, function: &Function, returning: &BTreeSet<Point>) -> bool {
    let comes_back = |callee: &Callee| match callee {
        Callee::Known(entry) => returning.contains(entry),
        Callee::Unknown(name) => !ENDLESS.contains(&name.as_str()),
    };
    let mut seen = BTreeSet::new();
    let mut waiting = vec![function.entry];
    while let Some(point) = waiting.pop() {
        if point >= function.end || !seen.insert(point) {
            continue;
        }
        match &program.code[point].flow {
            Flow::Next => waiting.push(point + 1),
            Flow::Branch(to) => waiting.extend([point + 1, *to]),
            Flow::Skip => waiting.extend([point + 1, point + 2]),
            Flow::Jump(to) => waiting.push(*to),
            Flow::Call(callee) if comes_back(callee) => waiting.push(point + 1),
            Flow::TailCall(callee) if comes_back(callee) => return true,
            Flow::Call(_) | Flow::TailCall(_) | Flow::Stop => {}
            // Where an indirect jump goes is not known here.
            Flow::Return | Flow::ReturnFromInterrupt | Flow::Indirect => return true,
        }
    }
    false
}
