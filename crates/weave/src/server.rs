//! Polling servers: further guests without a clock, woven into the same function so that nothing that they poll is
//! lost while interrupts are off. After Welch et al., "Bridging the gap between software and hardware", CASES 2003.
//!
//! Owns: a server as one element that saves what it changes ([`Server`]), and where it runs: behind as few of the
//! guest's events as its `within` allows. That it does is the proof's to say.

use isa::avr::{CoreType, Instruction, Opcode, Set};

use crate::directive::Directive;
use crate::error::Refusal;
use crate::guest::{self, Element, Form, Guest};
use crate::item::{Item, Line, straight_cycles};
use crate::program::{Function, Origin, Program};
use crate::rename::SREG;

/// A server.
#[derive(Clone, Debug)]
pub struct Server {
    /// Its name.
    pub name: String,
    /// Cycles between two runs, at most, while the guest's clock runs.
    pub within_cycles: u32,
    /// Its code, which changes registers.
    body: Element,
    /// Those that it changes.
    changes: Set,
    /// Whether it takes r1 for zero, as avr-gcc's code does.
    expects_zero: bool,
}

/// Cycles for which a server may wait longer than its places are apart: the guest's end is not over at once, and what
/// is saved before a run depends on where it is.
const MARGIN_CYCLES: u32 = 96;

impl Server {
    /// Reads a server. `text` is the number that its program's first text has among those of all guests.
    ///
    /// # Errors
    /// When it has no `server` directive, loops, calls, switches interrupts, or expects something of a register.
    pub fn of(program: &Program, function: &Function, text: usize) -> Result<Server, Refusal> {
        let name = function.name.clone();
        let said = function.directives.iter().find_map(|written| match &written.directive {
            Directive::Server { name, within } => Some((name.clone(), *within)),
            _ => None,
        });
        let Some((server, within_cycles)) = said else { return Err(Refusal::NoServer { function: name }) };
        let mut body = guest::whole(program, function)?;
        let (mut changes, mut expects) = (Set::EMPTY, Set::EMPTY);
        for item in &mut body.items {
            let Item::Line(line) = item else { continue };
            let instruction = line.instruction;
            if let Some(why) = unfit(&instruction) {
                let at = line.origin.map_or_else(|| program.place_of(function.entry), |at| program.place(at));
                return Err(Refusal::GuestShape { function: name, at, why });
            }
            expects = expects | instruction.reads().without(changes);
            changes = changes | instruction.writes();
            if let Some(Origin::Line { text: own, .. }) = &mut line.origin {
                *own += text;
            }
        }
        let registers = |set: Set| set.registers().fold(Set::EMPTY, |all, one| all | Set::register(one));
        let zero = Set::register(1);
        if !registers(expects).without(zero).is_empty() || !expects.intersection(Set::SREG).is_empty() {
            let (at, why) = (program.place_of(function.entry), "it expects something of a register or flag");
            return Err(Refusal::GuestShape { function: name, at, why });
        }
        let expects_zero = !expects.intersection(zero).is_empty();
        Ok(Server { name: server, within_cycles, body, changes: registers(changes), expects_zero })
    }

    /// What the output says of it.
    pub fn says(&self) -> Directive {
        Directive::Server { name: self.name.clone(), within: self.within_cycles }
    }

    /// It as an element of a guest: it saves what it changes, where that lives. `homes` always do.
    fn element(&self, homes: Set, lenders: &[u8], host_keeps_zero: bool, core: CoreType) -> Element {
        let clears = self.expects_zero && !host_keeps_zero;
        let changes = if clears { self.changes | Set::register(1) } else { self.changes };
        let full: Vec<u8> = changes.registers().collect();
        let items = self.saving(&full, clears);
        let mut cheaper = Vec::new();
        let mut clobbers = Set::EMPTY;
        for &lender in lenders {
            let set = Set::register(lender);
            if changes.intersection(set).is_empty() || !homes.intersection(set).is_empty() {
                continue;
            }
            clobbers = clobbers | set;
            let saved: Vec<u8> = changes.without(clobbers).registers().collect();
            let items = self.saving(&saved, clears);
            cheaper.push(Form { clobbers, cycles: self.cycles(&items, core), items });
        }
        cheaper.sort_by_key(|form| form.cycles);
        let clear = Instruction { d: 1, r: 1, ..Instruction::new(Opcode::Eor) };
        let flags = if clears { clear.writes().intersection(Set::SREG) } else { Set::EMPTY };
        Element {
            cycles: self.cycles(&items, core),
            items,
            cheaper,
            start: None,
            reads_flags: Set::EMPTY,
            writes_flags: self.body.writes_flags | flags,
            leaves: false,
        }
    }

    /// Its code between what saves registers and restores them.
    fn saving(&self, saved: &[u8], clears: bool) -> Vec<Item> {
        let line = |instruction| Item::Line(Line::added(instruction));
        let push = |&r: &u8| line(Instruction { r, ..Instruction::new(Opcode::Push) });
        let pop = |&d: &u8| line(Instruction { d, ..Instruction::new(Opcode::Pop) });
        let clear = clears.then(|| line(Instruction { d: 1, r: 1, ..Instruction::new(Opcode::Eor) }));
        let mut items: Vec<Item> = saved.iter().map(push).chain(clear).collect();
        items.push(Item::Says(Directive::Ran(self.name.clone())));
        items.extend(self.body.items.iter().cloned());
        items.extend(saved.iter().rev().map(pop));
        items
    }

    /// Cycles of its code with what is around it; the body's paths all take as long.
    fn cycles(&self, items: &[Item], core: CoreType) -> u32 {
        let around = straight_cycles(items, core) - straight_cycles(&self.body.items, core);
        around + self.body.cycles
    }
}

/// What no server may do.
fn unfit(instruction: &Instruction) -> Option<&'static str> {
    match instruction.opcode {
        Opcode::Bset | Opcode::Bclr if instruction.b == 7 => Some("a server leaves interrupts as they are"),
        Opcode::Out if instruction.k == SREG => Some("a server leaves interrupts as they are"),
        Opcode::Bst => Some("a server leaves the flag T alone"),
        Opcode::Bset | Opcode::Bclr if instruction.b == 6 => Some("a server leaves the flag T alone"),
        Opcode::Sleep => Some("a server does not wait"),
        _ => None,
    }
}

/// What servers are woven with.
pub struct Among<'a> {
    /// The guest's homes.
    pub homes: Set,
    /// The host's registers, those first that are dead most often.
    pub lenders: &'a [u8],
    /// Whether r1 is zero throughout the host.
    pub host_keeps_zero: bool,
    /// Whose cycles count.
    pub core: CoreType,
    /// Cycles that saving and restoring the host's flags takes.
    pub flags_cycles: u32,
}

/// Puts a server behind as few of a guest's events as it allows.
///
/// # Errors
/// [`Refusal::Unserved`] when it would run too seldom.
pub fn serve(guest: &mut Guest, server: &Server, among: &Among<'_>) -> Result<(), Refusal> {
    let element = server.element(among.homes, among.lenders, among.host_keeps_zero, among.core);
    let cost_cycles = element.cycles + among.flags_cycles;
    let places = Places::of(&guest.elements, guest.period_cycles, cost_cycles);
    let chosen = places.chosen(server.within_cycles.saturating_sub(MARGIN_CYCLES));
    let unserved = |smallest: Option<u32>| Refusal::Unserved {
        server: server.name.clone(),
        within_cycles: server.within_cycles,
        smallest_cycles: smallest.map(|cycles| cycles + MARGIN_CYCLES),
    };
    let chosen = chosen.map_err(unserved)?;
    for &index in chosen.iter().rev() {
        guest.elements.insert(index + 1, element.clone());
    }
    if let Some(batch) = &mut guest.batch {
        // Rounds by themselves, in each of which there is time for it.
        let alone = Places::of(&batch.elements, batch.period_cycles, cost_cycles);
        let index = alone.all.first().ok_or_else(|| unserved(None))?.index;
        batch.elements.insert(index + 1, element);
        if index < batch.counting {
            batch.counting += 1;
        }
    }
    guest.says.push(server.says());
    Ok(())
}

/// Where a server fits: behind an event and before the next one.
struct Places {
    all: Vec<Gap>,
    period_cycles: u32,
}

#[derive(Clone, Copy)]
struct Gap {
    /// The element with the event before it.
    index: usize,
    /// Cycles since the round began, at which the server may begin.
    earliest: u32,
    latest: u32,
}

impl Places {
    fn of(elements: &[Element], period_cycles: u32, cost_cycles: u32) -> Places {
        let pinned: Vec<usize> =
            (0..elements.len()).filter(|&index| elements[index].start.is_some()).collect();
        let start = |index: usize| elements[index].start.unwrap_or_default();
        let mut all = Vec::new();
        let mut begun = 0;
        for (number, &index) in pinned.iter().enumerate() {
            let next = pinned.get(number + 1).copied();
            let behind = &elements[index + 1..next.unwrap_or(elements.len())];
            let apart =
                (start(next.unwrap_or(pinned[0])) + 2 * period_cycles - start(index) - 1) % period_cycles + 1;
            let work: u32 = behind.iter().map(|element| element.cycles).sum();
            let earliest = begun + elements[index].cycles;
            if let Some(latest) = (begun + apart).checked_sub(work + cost_cycles)
                && latest >= earliest
            {
                all.push(Gap { index, earliest, latest });
            }
            begun += apart;
        }
        Places { all, period_cycles }
    }

    /// The fewest of them with which the server never waits longer than `limit_cycles`: from each the farthest next.
    ///
    /// # Errors
    /// The smallest limit that would do, if the server fits anywhere.
    fn chosen(&self, limit_cycles: u32) -> Result<Vec<usize>, Option<u32>> {
        let first = *self.all.first().ok_or(None)?;
        let around = Gap { latest: first.latest + self.period_cycles, ..first };
        let (mut chosen, mut at) = (vec![first.index], 0);
        loop {
            let here = self.all[at];
            if around.latest - here.earliest <= limit_cycles {
                return Ok(chosen);
            }
            let behind = (at + 1..self.all.len()).rev();
            let farthest =
                behind.into_iter().find(|&next| self.all[next].latest - here.earliest <= limit_cycles);
            match farthest {
                Some(next) => {
                    at = next;
                    chosen.push(self.all[at].index);
                }
                None => {
                    let gaps = self.all.iter().zip(self.all[1..].iter().chain([&around]));
                    return Err(gaps.map(|(here, next)| next.latest - here.earliest).max());
                }
            }
        }
    }
}
