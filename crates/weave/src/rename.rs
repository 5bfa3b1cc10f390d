//! The guest's registers, among those that the host leaves free.
//!
//! Owns: the choice of homes, and the rewriting of guest code to them. What finds no register free that can do its work
//! lives in another, or in memory, and borrows one of the host's for each use: a dead one where there is one. What a
//! register has to be able to do is `need`'s.
//! Leaves out saving the homes on the stack: that is the woven function's frame, in `emit`.

use std::ops::Range;

use isa::avr::table::Operand;
use isa::avr::{CoreType, Instruction, Opcode, Set};

use crate::directive::Directive;
use crate::error::{Lack, Refusal};
use crate::guest::{Element, Form, Guest, PREAMBLE_CYCLES};
use crate::item::{Item, Label, Line, straight_cycles};
use crate::program::Program;

mod need;
pub mod pointer;
mod units;

pub(crate) use need::lacking;
use need::{Need, demanding_first, needs};
use pointer::Pointer;
use units::{conditional_items, together, whole};

/// The I/O address of SREG.
pub const SREG: i32 = 0x3f;

/// Registers that a called function may change (avr-gcc's ABI), the cheapest homes.
pub const CALL_CLOBBERED: [u8; 14] = [18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 30, 31, 0, 1];

/// Where the guest lives.
#[derive(Clone, Debug)]
pub struct Homes {
    /// The home of each guest register that has one of its own.
    pub of: [Option<u8>; 32],
    /// Keeps the host's flags while the guest changes them; counts rounds while no element runs. Without one they
    /// are kept on the stack.
    pub flags: Option<u8>,
    /// For what takes a moment: the same register, or one of the host's, which is saved then.
    pub moment: u8,
    /// SREG as it was before interrupts were switched off.
    pub status: Store,
    /// What says in callees that the guest is over.
    pub over: Over,
    /// Bytes of memory that are homes.
    pub memory_bytes: u32,
    /// The symbol of that memory.
    pub memory: String,
    /// Every register that the woven function uses besides the host's.
    pub used: Set,
    /// Guest registers whose home is none that can do what is asked: they borrow one for each use.
    borrowers: Vec<Borrower>,
    /// A free pair that keeps what was in a borrowed one.
    kept: Option<u8>,
}

/// What says that the guest is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Nothing: nobody asks, and T is the host's.
    Unasked,
    /// The flag T, which neither of the two uses.
    Flag,
    /// Bit 0 of the status, which is a register.
    Status,
}

/// A place for a byte, or for two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// A register, or the lower one of a pair.
    Register(u8),
    /// So many bytes into the woven function's memory.
    Memory(u32),
}

/// A guest register, or pair, that borrows one of the host's for each use.
#[derive(Clone, Debug, PartialEq)]
struct Borrower {
    need: Need,
    /// The guest's register, or the lower one of its pair.
    register: u8,
    pair: bool,
    store: Store,
    /// What it may borrow, the first one where all of them live.
    lenders: Vec<u8>,
}

impl Borrower {
    fn may_borrow(&self, register: u8) -> bool {
        let low = if self.pair { register & !1 } else { register };
        self.lenders.contains(&low)
    }
}

/// Whether somebody asks if the guest is over, and whether one of the two has a use for the flag T.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calls {
    /// Nobody asks, or both leave T alone.
    WithoutFlagT,
    /// Somebody asks, and one of them uses T.
    WithFlagT,
}

/// Chooses homes among the registers not in `taken`. `lenders` are the host's registers, those first that are dead
/// most often; `program` is the guest's, and `name` the woven function's. `keeps_flags` says whether the host's flags
/// are ever saved.
///
/// # Errors
/// [`Refusal::RegisterConflict`] when there are too few.
pub fn homes(
    guest: &Guest,
    program: &Program,
    taken: Set,
    lenders: &[u8],
    calls: Calls,
    keeps_flags: bool,
    name: &str,
) -> Result<Homes, Refusal> {
    let mut needs = needs(guest, program)?;
    let moved = only_moved(guest);
    for &(_, from) in &moved {
        needs[usize::from(from)] = Need::default();
    }
    if let Some(batch) = &guest.batch {
        needs[usize::from(batch.rest)] = Need::default();
    }
    let mut chooser = Chooser {
        taken,
        used: Set::EMPTY,
        of: [None; 32],
        borrowers: Vec::new(),
        memory_bytes: 0,
        lenders,
        together: together(guest),
    };
    let lacking = |what, lack| lacking(&guest.clock, what, lack);
    // Callees ask whether the guest is over, and the proof follows registers, not memory.
    let early = if calls == Calls::WithFlagT {
        let lacking = || lacking("what says in callees whether it is over", Lack::Any);
        Some(chooser.single(|_| true).ok_or_else(lacking)?)
    } else {
        None
    };
    let flags = if keeps_flags { chooser.single(|_| true) } else { None };
    if let Some(batch) = &guest.batch {
        // No flag of the host lives before it begins.
        chooser.of[usize::from(batch.rest)] =
            Some(flags.ok_or_else(|| lacking("a count of the guest's first rounds", Lack::Any))?);
    }
    for register in demanding_first(&needs) {
        let need = needs[usize::from(register)];
        chooser.place(register, need).ok_or_else(|| lacking("a guest register", need.lack()))?;
    }
    for (to, from) in moved {
        for half in 0..2 {
            chooser.of[usize::from(from + half)] = chooser.of[usize::from(to + half)];
        }
        let same = chooser.borrowers.iter().find(|borrower| borrower.register == to).cloned();
        if let Some(same) = same {
            chooser.borrowers.push(Borrower { register: from, ..same });
        }
    }
    // A pair that keeps what was in a borrowed one is used in every round, the status once.
    let borrows_pairs = chooser.borrowers.iter().any(|borrower| borrower.pair);
    let kept = if borrows_pairs { chooser.pair(|_| true) } else { None };
    let status = match early.or_else(|| chooser.single(|_| true)) {
        Some(register) => Store::Register(register),
        None => chooser.memory(1),
    };
    Ok(Homes {
        of: chooser.of,
        flags,
        over: if calls == Calls::WithFlagT { Over::Status } else { Over::Flag },
        moment: flags.unwrap_or_else(|| lenders.iter().copied().find(|&lender| lender > 1).unwrap_or(24)),
        status,
        memory_bytes: chooser.memory_bytes,
        memory: format!(".Lweave_{name}_homes"),
        used: chooser.used,
        borrowers: chooser.borrowers,
        kept,
    })
}

/// Pairs that are only ever copied into another pair, which nothing has touched before: parameters on their way, by what
/// the setup begins with. They need no home of their own, and no copy ([`Homes::stays`]). Destination first.
fn only_moved(guest: &Guest) -> Vec<(u8, u8)> {
    let lines: Vec<&Line> = guest
        .items()
        .filter_map(|item| match item {
            Item::Line(line) => Some(line),
            _ => None,
        })
        .collect();
    let uses = |instruction: &Instruction, pair: u8| {
        let both = Set::register(pair) | Set::register(pair + 1);
        !(instruction.reads() | instruction.writes()).intersection(both).is_empty()
    };
    let mentions = |pair: u8| lines.iter().filter(|line| uses(&line.instruction, pair)).count();
    let aimed_at: Vec<Label> = guest
        .setup
        .iter()
        .filter_map(|item| match item {
            Item::Line(line) => line.target,
            _ => None,
        })
        .collect();
    let first: Vec<&Line> = guest
        .setup
        .iter()
        .map_while(|item| match item {
            Item::Line(line) => Some(Some(line)),
            Item::Says(_) => Some(None),
            Item::Label(label) if !aimed_at.contains(label) => Some(None),
            _ => None,
        })
        .flatten()
        .collect();
    let moves = first.iter().map(|line| line.instruction).enumerate();
    let fresh = moves.filter(|(index, copy)| {
        let before = &first[..*index];
        let is_sure = !before.iter().any(|line| line.target.is_some() || line.instruction.opcode.is_skip());
        // Where it is passed over, a pointer holds nothing, and another pair may hold a parameter.
        copy.opcode == Opcode::Movw
            && (is_sure || POINTERS.contains(&copy.d))
            && mentions(copy.r) == 1
            && !before.iter().any(|line| uses(&line.instruction, copy.d))
    });
    fresh.map(|(_, copy)| (copy.d, copy.r)).collect()
}

/// Registers that the operands name, pairs with both halves, pointers included.
pub(crate) fn named_registers(instruction: &Instruction) -> Vec<u8> {
    let mut named = Vec::new();
    if let Some(pointer) = Pointer::of(instruction) {
        named.extend([pointer.base, pointer.base + 1]);
    }
    for &operand in instruction.opcode.row().operands {
        let number = instruction.operand(operand) as u8;
        match operand {
            Operand::Rd | Operand::Rr => named.push(number),
            Operand::RdHigh | Operand::RrHigh | Operand::RdMiddle | Operand::RrMiddle => named.push(number),
            Operand::RdPair | Operand::RrPair | Operand::RdWord => named.extend([number, number + 1]),
            _ => {}
        }
    }
    named
}

struct Chooser<'a> {
    taken: Set,
    used: Set,
    of: [Option<u8>; 32],
    borrowers: Vec<Borrower>,
    memory_bytes: u32,
    lenders: &'a [u8],
    together: [Set; 32],
}

/// Registers that one borrower looks at.
const LENDERS: usize = 4;

impl Chooser<'_> {
    fn is_free(&self, register: u8) -> bool {
        let set = Set::register(register);
        !self.taken.contains(set) && !self.used.contains(set) && !self.is_lent(register)
    }

    /// Whether some borrower may borrow a register: then it is nobody's home.
    fn is_lent(&self, register: u8) -> bool {
        self.borrowers.iter().any(|borrower| borrower.may_borrow(register))
    }

    /// Whether one that works together with a guest register may borrow a register.
    fn is_lent_beside(&self, guest_register: u8, register: u8) -> bool {
        let beside = self.together[usize::from(guest_register)];
        let mut partners =
            self.borrowers.iter().filter(|other| beside.contains(Set::register(other.register)));
        partners.any(|other| other.may_borrow(register))
    }

    /// Free registers, those first that are no half of a free pair, then those of pairs that are no pointers, and of
    /// these those that need no saving.
    fn single(&mut self, fits: impl Fn(u8) -> bool) -> Option<u8> {
        let unsaved = CALL_CLOBBERED.into_iter().filter(|&register| register != 1);
        let saved = (2..18).chain([28, 29]);
        let free = unsaved.chain(saved).filter(|&register| self.is_free(register) && fits(register));
        let found = free.min_by_key(|&register| {
            let is_of_pair = self.is_free(register ^ 1);
            (is_of_pair, is_of_pair && POINTERS.contains(&(register & !1)))
        })?;
        self.used = self.used | Set::register(found);
        Some(found)
    }

    fn pair(&mut self, fits: impl Fn(u8) -> bool) -> Option<u8> {
        let low = (2..32).step_by(2).filter(|&low| fits(low));
        let found = low.filter(|&low| self.is_free(low) && self.is_free(low + 1)).min_by_key(|&low| {
            let saved = !CALL_CLOBBERED.contains(&low);
            (saved, low)
        })?;
        self.used = self.used | Set::register(found) | Set::register(found + 1);
        Some(found)
    }

    fn memory(&mut self, bytes: u32) -> Store {
        self.memory_bytes += bytes;
        Store::Memory(self.memory_bytes - bytes)
    }

    fn place(&mut self, register: u8, need: Need) -> Option<()> {
        let fits = |low: u8| {
            (!need.high || low >= 16)
                && (!need.middle || (16..24).contains(&low))
                && (!need.word || low >= 24)
                && need.pointers.is_none_or(|able| able_at(able, low))
        };
        let is_pair = need.pair || need.word;
        let home = if is_pair { self.pair(fits) } else { self.single(fits) };
        let Some(home) = home else { return self.borrow(register, need, fits) };
        self.of[usize::from(register)] = Some(home);
        if is_pair {
            self.of[usize::from(register) + 1] = Some(home + 1);
        }
        Some(())
    }

    /// A home that cannot do what is asked, and what to borrow for it.
    fn borrow(&mut self, register: u8, need: Need, fits: impl Fn(u8) -> bool) -> Option<()> {
        let pair = need.pair || need.word;
        let is_home = |register: u8| self.used.contains(Set::register(register));
        let is_taken = |&lender: &u8| {
            let both = if pair { lender..=lender + 1 } else { lender..=lender };
            both.into_iter().any(|lender| is_home(lender) || self.is_lent_beside(register, lender))
        };
        let all: Vec<u8> = if pair {
            let lends = |low: &u8| [*low, low + 1].iter().all(|half| self.lenders.contains(half));
            (2..32).step_by(2).filter(|low| fits(*low) && lends(low)).collect()
        } else {
            self.lenders.iter().copied().filter(|&lender| lender > 1 && fits(lender)).collect()
        };
        // Two borrowers that work together never borrow the same register.
        let alone = all.iter().copied().filter(|lender| !is_taken(lender));
        let mut lenders: Vec<u8> = alone.take(LENDERS).collect();
        if pair {
            // Of pointers the last is the one that compilers load anew most often.
            lenders.reverse();
        }
        lenders.first()?;
        let store = match if pair { self.pair(|_| true) } else { self.single(|_| true) } {
            Some(home) => Store::Register(home),
            None => self.memory(if pair { 2 } else { 1 }),
        };
        self.borrowers.push(Borrower { need, register, pair, store, lenders });
        Some(())
    }
}

const POINTERS: [u8; 3] = [26, 28, 30];

fn able_at(able: [bool; 3], low: u8) -> bool {
    POINTERS.iter().position(|&base| base == low).is_some_and(|index| able[index])
}

impl Homes {
    /// The guest in its homes.
    ///
    /// # Errors
    /// [`Refusal::RegisterConflict`] when a pointer would have to be borrowed inside a conditional.
    pub fn rename(&self, guest: &Guest, program: &Program) -> Result<Guest, Refusal> {
        let mut renamed = Guest { borrows: !self.borrowers.is_empty(), ..guest.clone() };
        let core = program.core;
        for element in &mut renamed.elements {
            *element = self.element(element, guest.period_cycles, &guest.clock, core)?;
        }
        if let Some(batch) = &mut renamed.batch {
            for element in &mut batch.elements {
                *element = self.element(element, batch.period_cycles, &guest.clock, core)?;
            }
            batch.split = self.items(&batch.split).collect();
            batch.test = self.items(&batch.test).collect();
            batch.rest = self.of[usize::from(batch.rest)].expect("it is where flags are kept");
        }
        if let Some(preamble) = &mut renamed.preamble {
            for element in &mut preamble.elements {
                *element = self.element(element, PREAMBLE_CYCLES, &guest.clock, core)?;
            }
            if let Some(polling) = &mut preamble.polling {
                let items: Vec<Item> = self.items(&polling.items).collect();
                if items.len() > polling.items.len() {
                    let what = "a guest register that polls";
                    return Err(lacking(&guest.clock, what, self.lack(&polling.items)));
                }
                polling.items = items;
            }
        }
        let setup: Vec<Item> = guest.setup.iter().filter(|item| !self.stays(item)).cloned().collect();
        renamed.setup = self.items(&setup).collect();
        renamed.finish = self.items(&guest.finish).collect();
        Ok(renamed)
    }

    /// Whether it copies a pair that has arrived where its copy is.
    fn stays(&self, item: &Item) -> bool {
        let Item::Line(line) = item else { return false };
        let Instruction { opcode, d, r, .. } = line.instruction;
        opcode == Opcode::Movw && self.store(d).is_some() && self.store(d) == self.store(r)
    }

    /// An element whose start is modulo `period_cycles`.
    fn element(
        &self,
        element: &Element,
        period_cycles: u32,
        clock: &str,
        core: CoreType,
    ) -> Result<Element, Refusal> {
        let first = |_: &Borrower| None;
        let (items, cycles, earlier) = self.form(element, &first, clock, core)?;
        let start =
            element.start.map(|start| (start + period_cycles - earlier % period_cycles) % period_cycles);
        let mut cheaper = Vec::new();
        // An element with an event has one form: its start is fixed.
        if cycles > element.cycles && element.start.is_none() {
            for lending in self.lendings(element) {
                let lender = |borrower: &Borrower| {
                    lending
                        .iter()
                        .find(|(register, _)| *register == borrower.register)
                        .map(|&(_, lender)| lender)
                };
                let (items, cycles, _) = self.form(element, &lender, clock, core)?;
                let clobbers = lending.iter().fold(Set::EMPTY, |set, &(register, lender)| {
                    let pair = self.borrower(register).is_some_and(|borrower| borrower.pair);
                    set | Set::register(lender) | if pair { Set::register(lender + 1) } else { Set::EMPTY }
                });
                cheaper.push(Form { clobbers, items, cycles });
            }
            cheaper.sort_by_key(|form| form.cycles);
        }
        Ok(Element { items, cycles, cheaper, start, ..element.clone() })
    }

    fn borrower(&self, register: u8) -> Option<&Borrower> {
        self.borrowers.iter().find(|borrower| borrower.register == register)
    }

    /// What would do for what these items borrow.
    fn lack(&self, items: &[Item]) -> Lack {
        let used = items.iter().flat_map(|item| match item {
            Item::Line(line) => self.borrowing(&line.instruction),
            _ => Vec::new(),
        });
        let most = used.max_by_key(|borrower| (borrower.pair, borrower.lenders[0]));
        most.map_or(Lack::Any, |borrower| borrower.need.lack())
    }

    /// The borrowers that an instruction uses.
    fn borrowing(&self, instruction: &Instruction) -> Vec<&Borrower> {
        let named = named_registers(instruction);
        let uses = |borrower: &&Borrower| {
            named.contains(&borrower.register) || (borrower.pair && named.contains(&(borrower.register + 1)))
        };
        self.borrowers.iter().filter(uses).collect()
    }

    /// Every way in which some of an element's borrowers use a register that is dead.
    fn lendings(&self, element: &Element) -> Vec<Vec<(u8, u8)>> {
        let mut ways: Vec<Vec<(u8, u8)>> = vec![Vec::new()];
        let mut seen = Vec::new();
        for item in &element.items {
            let Item::Line(line) = item else { continue };
            for borrower in self.borrowing(&line.instruction) {
                if seen.contains(&borrower.register) {
                    continue;
                }
                seen.push(borrower.register);
                for way in ways.clone() {
                    for &lender in &borrower.lenders {
                        let mut more = way.clone();
                        more.push((borrower.register, lender));
                        ways.push(more);
                    }
                }
            }
        }
        ways.retain(|way| !way.is_empty());
        ways
    }

    /// The element's code, its cycles, and how many of them are new before its event; `dead` names a register that a
    /// borrower need not save.
    fn form(
        &self,
        element: &Element,
        dead: &dyn Fn(&Borrower) -> Option<u8>,
        clock: &str,
        core: CoreType,
    ) -> Result<(Vec<Item>, u32, u32), Refusal> {
        let mut items = Vec::new();
        let (mut cycles, mut earlier) = (element.cycles, 0);
        let conditional = conditional_items(&element.items);
        let (mut before_event, mut added_behind) = (true, 0);
        for range in self.units(&element.items) {
            let unit = &element.items[range.clone()];
            let [before, own, behind] = self.unit(unit, dead);
            let [lead, rest] = [&before, &behind].map(|lines| straight_cycles(lines, core));
            let has_event = unit.iter().any(|item| matches!(item, Item::Says(Directive::Event { .. })));
            let conflict = |what| Err(lacking(clock, what, self.lack(unit)));
            if lead + rest > 0 && conditional[range.end - 1] {
                return conflict("a guest register that a conditional uses");
            }
            if has_event && !before_event && added_behind + lead > 0 {
                return conflict("a guest register between two events that a status bit joins");
            }
            cycles += lead + rest;
            if before_event {
                earlier += if has_event { lead } else { lead + rest };
            }
            added_behind += if !before_event {
                lead + rest
            } else if has_event {
                rest
            } else {
                0
            };
            before_event &= !has_event;
            items.extend([before, own, behind].into_iter().flatten());
        }
        Ok((items, cycles, earlier))
    }

    fn items<'a>(&'a self, items: &'a [Item]) -> impl Iterator<Item = Item> + 'a {
        self.units(items).into_iter().flat_map(|range| self.unit(&items[range], &|_| None)).flatten()
    }

    /// The pieces of code that are given what they borrow, and give it back: neighbours that borrow the same are one.
    fn units(&self, items: &[Item]) -> Vec<Range<usize>> {
        let borrowing = |range: &Range<usize>| match &items[range.clone()] {
            [Item::Line(Line { instruction, target: None, .. }), rest @ ..] => {
                let same = |item: &Item| matches!(item, Item::Line(Line { target: None, .. }));
                let plain = rest.iter().all(same) && !instruction.opcode.is_skip();
                Some(self.borrowing(instruction)).filter(|borrowers| plain && !borrowers.is_empty())
            }
            _ => None,
        };
        let mut units: Vec<Range<usize>> = Vec::new();
        for range in whole(items) {
            match units.last_mut() {
                Some(last) if borrowing(last).is_some() && borrowing(last) == borrowing(&range) => {
                    last.end = range.end;
                }
                _ => units.push(range),
            }
        }
        units
    }

    /// A unit in its homes: what loads and saves the registers that it borrows, itself, what stores and restores them.
    fn unit(&self, unit: &[Item], dead: &dyn Fn(&Borrower) -> Option<u8>) -> [Vec<Item>; 3] {
        let instructions: Vec<Instruction> = unit
            .iter()
            .filter_map(|item| match item {
                Item::Line(line) if line.thread.is_some() => Some(line.instruction),
                _ => None,
            })
            .collect();
        let uses = |borrower: &&Borrower| {
            instructions.iter().any(|instruction| self.borrowing(instruction).contains(borrower))
        };
        let borrowing: Vec<&Borrower> = self.borrowers.iter().filter(uses).collect();
        let lender = |borrower: &Borrower| dead(borrower).unwrap_or(borrower.lenders[0]);
        let at = |number: u8| -> u8 {
            let own = |borrower: &&&Borrower| {
                number == borrower.register || (borrower.pair && number == borrower.register + 1)
            };
            match borrowing.iter().find(own) {
                Some(borrower) => lender(borrower) + number - borrower.register,
                None => self.of[usize::from(number)].unwrap_or(number),
            }
        };
        let renamed = unit.iter().map(|item| match item {
            Item::Line(line) if line.thread.is_some() => {
                Item::Line(Line { instruction: rehomed(line.instruction, at), ..line.clone() })
            }
            other => other.clone(),
        });
        let own = renamed.collect();
        let (mut before, mut behind) = (Vec::new(), Vec::new());
        for borrower in borrowing {
            let is_saved = dead(borrower).is_none();
            let [first, last] = self.lent(borrower, lender(borrower), is_saved, &instructions);
            before = [first, before].concat();
            behind.extend(last);
        }
        [before, own, behind]
    }

    /// What loads a borrowed register for these instructions, and what gives it back.
    fn lent(
        &self,
        borrower: &Borrower,
        lender: u8,
        is_saved: bool,
        instructions: &[Instruction],
    ) -> [Vec<Item>; 2] {
        let register =
            |opcode, d, r| Item::Line(Line::added(Instruction { d, r, ..Instruction::new(opcode) }));
        let halves: &[u8] = if borrower.pair { &[0, 1] } else { &[0] };
        let own = halves.iter().fold(Set::EMPTY, |set, half| set | Set::register(borrower.register + half));
        let writes = instructions.iter().any(|each| !each.writes().intersection(own).is_empty());
        // What a pair's other half holds is loaded with it, and so is what a skipped instruction may leave as it was.
        let skips = instructions.first().is_some_and(|first| first.opcode.is_skip());
        let is_new =
            |each: &Instruction| each.writes().contains(own) && each.reads().intersection(own).is_empty();
        let touches = |each: &&Instruction| !(each.reads() | each.writes()).intersection(own).is_empty();
        let reads = skips || !instructions.iter().find(touches).is_some_and(is_new);
        let (mut before, mut after) = (Vec::new(), Vec::new());
        match (is_saved, borrower.pair, self.kept) {
            (false, ..) => {}
            (true, true, Some(kept)) => {
                before.push(register(Opcode::Movw, kept, lender));
                after.push(register(Opcode::Movw, lender, kept));
            }
            (true, ..) => {
                before.extend(halves.iter().map(|half| register(Opcode::Push, 0, lender + half)));
                after.extend(halves.iter().rev().map(|half| register(Opcode::Pop, lender + half, 0)));
            }
        }
        let (mut load, mut keep) = (Vec::new(), Vec::new());
        match borrower.store {
            Store::Register(home) if borrower.pair => {
                load.push(register(Opcode::Movw, lender, home));
                keep.push(register(Opcode::Movw, home, lender));
            }
            Store::Register(home) => {
                load.push(register(Opcode::Mov, lender, home));
                keep.push(register(Opcode::Mov, home, lender));
            }
            Store::Memory(offset) => {
                for &half in halves {
                    load.push(self.access(Opcode::Lds, lender + half, offset + u32::from(half)));
                    keep.push(self.access(Opcode::Sts, lender + half, offset + u32::from(half)));
                }
            }
        }
        let loaded = if reads { load } else { Vec::new() };
        let kept = if writes { keep } else { Vec::new() };
        [[before, loaded].concat(), [kept, after].concat()]
    }

    /// What saves the host's flags.
    pub fn save_flags(&self) -> Vec<Item> {
        let keep =
            Item::Line(Line::added(Instruction { d: self.moment, k: SREG, ..Instruction::new(Opcode::In) }));
        match self.flags {
            Some(_) => vec![keep],
            None => vec![self.push(), keep, self.push()],
        }
    }

    /// What restores them.
    pub fn restore_flags(&self) -> Vec<Item> {
        let restore =
            Item::Line(Line::added(Instruction { r: self.moment, k: SREG, ..Instruction::new(Opcode::Out) }));
        match self.flags {
            Some(_) => vec![restore],
            None => vec![self.pop(), restore, self.pop()],
        }
    }

    /// Items that use [`Homes::moment`], with what it takes to lend it.
    pub fn for_a_moment(&self, items: Vec<Item>) -> Vec<Item> {
        match self.flags {
            Some(_) => items,
            None => self.kept_on_stack(items),
        }
    }

    /// Items that use [`Homes::moment`] while it holds something.
    pub fn kept_on_stack(&self, items: Vec<Item>) -> Vec<Item> {
        [vec![self.push()], items, vec![self.pop()]].concat()
    }

    fn push(&self) -> Item {
        Item::Line(Line::added(Instruction { r: self.moment, ..Instruction::new(Opcode::Push) }))
    }

    fn pop(&self) -> Item {
        Item::Line(Line::added(Instruction { d: self.moment, ..Instruction::new(Opcode::Pop) }))
    }

    /// A load or store of a byte of the woven function's memory.
    pub fn access(&self, opcode: Opcode, register: u8, offset: u32) -> Item {
        let instruction = Instruction { d: register, r: register, ..Instruction::new(opcode) };
        let instruction = match opcode {
            Opcode::Lds => Instruction { r: 0, ..instruction },
            _ => Instruction { d: 0, ..instruction },
        };
        let expression = Some(format!("{}+{offset}", self.memory));
        Item::Line(Line { expression, ..Line::added(instruction) })
    }

    /// Where a guest register is kept between two uses.
    pub fn store(&self, register: u8) -> Option<Store> {
        let borrower = self.borrowers.iter().find(|borrower| {
            register == borrower.register || (borrower.pair && register == borrower.register + 1)
        });
        match borrower {
            Some(borrower) => Some(match borrower.store {
                Store::Register(home) => Store::Register(home + register - borrower.register),
                Store::Memory(offset) => Store::Memory(offset + u32::from(register - borrower.register)),
            }),
            None => self.of[usize::from(register)].map(Store::Register),
        }
    }
}

/// The instruction with its registers, and the pointer that its opcode names, where they are at home.
pub fn rehomed(mut instruction: Instruction, at: impl Fn(u8) -> u8) -> Instruction {
    for &operand in instruction.opcode.row().operands {
        use Operand::*;
        if matches!(operand, Rd | Rr | RdHigh | RrHigh | RdMiddle | RrMiddle | RdPair | RrPair | RdWord) {
            let number = instruction.operand(operand) as u8;
            instruction.set_operand(operand, at(number).into());
        }
    }
    if let Some(pointer) = Pointer::of(&instruction) {
        instruction.opcode =
            pointer.at(at(pointer.base)).expect("a pointer's home can do what is asked of it");
    }
    instruction
}
