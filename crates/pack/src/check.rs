//! A second witness: does a packed image do what the program does?
//!
//! Owns: reading an image back through its map and comparing it with the program word by word ([`check`]). It is
//! written apart from the passes that packed: it takes from them what is reached (`flow`), and nothing of packets,
//! orders or addresses. Equal instructions are equal words, or leave the same registers, condition codes, Y and memory
//! on a core, from many states. Whether a program's output is the same, a run shows.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

use isa::Cycles;
use isa::sparc::bits::CONSTANT;
use isa::sparc::table::Operand;
use isa::sparc::{Bus, Class, Fetched, Instruction, Machine, Opcode, Refusal, Set, Settings, Stop, Width};

use crate::code::packet::Packet;
use crate::error::Error;
use crate::flow::sparc::NOP;
use crate::flow::{Choice, Flow, Reason, Role};
use crate::image::Image;
use crate::program::{Form, Program};

/// Where an image is not the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An instruction that the map lacks.
    Unmapped {
        /// Its address in the program.
        old: u32,
    },
    /// Two instructions in one place, or a place outside of the image.
    Place {
        /// The address in the program.
        old: u32,
        /// The place in the image.
        new: u32,
    },
    /// Another instruction.
    Differs {
        /// The address in the program.
        old: u32,
        /// What stands in the image.
        found: u32,
        /// What stands in the program.
        expected: u32,
    },
    /// A branch, a call or a part of an address that leads elsewhere.
    Target {
        /// The address in the program.
        old: u32,
        /// Where it leads in the image.
        found: u32,
        /// Where it should.
        expected: u32,
    },
    /// Something that is jumped to does not begin a word.
    Inside {
        /// The address in the program.
        old: u32,
        /// The place in the image.
        new: u32,
    },
    /// Two instructions that changed places and depend on each other, or one that left its block.
    Order {
        /// The address in the program of the one that was first.
        first: u32,
        /// And of the other.
        second: u32,
    },
    /// What is behind an instruction in the program is not behind it in the image.
    Behind {
        /// The address in the program.
        old: u32,
    },
    /// A word of the image that is nothing of the program's.
    Stray {
        /// Its address in the image.
        new: u32,
    },
    /// A section that should not have changed, or not so.
    Section {
        /// Its name.
        name: String,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Unmapped { old } => write!(f, "{old:#010x}: not in the map"),
            Fault::Place { old, new } => {
                write!(f, "{old:#010x}: its place {new:#010x} is another's, or none")
            }
            Fault::Differs { old, found, expected } => {
                write!(
                    f,
                    "{old:#010x}: found word {found:#010x}, expected {expected:#010x} or one that does the same"
                )
            }
            Fault::Target { old, found, expected } => {
                write!(f, "{old:#010x}: leads to {found:#010x}, expected {expected:#010x}")
            }
            Fault::Inside { old, new } => {
                write!(f, "{old:#010x}: is jumped to, and its place {new:#010x} is inside a word")
            }
            Fault::Order { first, second } => {
                write!(f, "{first:#010x}: stands behind {second:#010x}, which may not be before it")
            }
            Fault::Behind { old } => write!(f, "{old:#010x}: what is behind it is elsewhere"),
            Fault::Stray { new } => write!(f, "{new:#010x}: a word that is nothing of the program's"),
            Fault::Section { name } => write!(f, "section `{name}`: differs in more than addresses of code"),
        }
    }
}

/// Compares an image with its program; every fault that there is.
///
/// # Errors
/// What in the program cannot be followed.
pub fn check(program: &Program, image: &Image, choice: &Choice) -> Result<Vec<Fault>, Error> {
    let flow = Flow::of(program, choice)?;
    let mut check = Check {
        program,
        image,
        flow: &flow,
        new_of: image.map.iter().map(|moved| (moved.old, moved.new)).collect(),
        old_of: BTreeMap::new(),
        equal: HashMap::new(),
        faults: Vec::new(),
    };
    if image.map.is_empty() {
        if image.sections != program.sections {
            check.faults.push(Fault::Section { name: String::new() });
        }
        return Ok(check.faults);
    }
    check.places();
    check.instructions();
    let leaders = check.leaders();
    check.orders(&leaders);
    check.returns(choice.link_slots);
    check.strays();
    check.sections();
    Ok(check.faults)
}

struct Check<'a> {
    program: &'a Program,
    image: &'a Image,
    flow: &'a Flow,
    new_of: HashMap<u32, u32>,
    old_of: BTreeMap<u32, u32>,
    /// Pairs of words, and whether they do the same.
    equal: HashMap<(u32, u32), bool>,
    faults: Vec<Fault>,
}

/// What transfers control, and what decides where to.
fn transfers(instruction: &Instruction) -> bool {
    let operands = instruction.opcode.row().operands;
    let relative = matches!(operands, [Operand::Relative22] | [Operand::Relative30] | [Operand::TrapNumber]);
    relative || matches!(instruction.opcode, Opcode::Jmpl | Opcode::Rett)
}

impl Check<'_> {
    /// The place of an address of the program; addresses that were not moved are their own.
    fn place(&self, old: u32) -> u32 {
        self.new_of.get(&(old & !3)).map_or(old, |new| new + (old & 3))
    }

    /// What the core finds at a place.
    fn word(&self, new: u32) -> Option<u32> {
        let at = new & !3;
        let section = self.image.sections.iter().find(|section| section.contains(at))?;
        let word = section.word(self.image.target, at)?;
        let shared = self.old_of.contains_key(&(at | 1));
        let packet = Packet::of_word(self.image.target, word);
        match packet.filter(|_| shared) {
            None => (new == at).then_some(word),
            Some(packet) => {
                let (words, slots) = self.image.dictionary.expand(self.image.target, &packet)?;
                words[..usize::from(slots)].get((new & 3) as usize).copied()
            }
        }
    }

    /// How many instructions the word at a place has.
    fn slots(&self, at: u32) -> u32 {
        (1..4).take_while(|slot| self.old_of.contains_key(&(at | slot))).count() as u32 + 1
    }

    /// The place behind another one.
    fn behind(&self, new: u32) -> u32 {
        let at = new & !3;
        if (new & 3) + 1 < self.slots(at) { new + 1 } else { at + 4 }
    }

    fn places(&mut self) {
        for moved in &self.image.map {
            if self.old_of.insert(moved.new, moved.old).is_some() {
                self.faults.push(Fault::Place { old: moved.old, new: moved.new });
            }
        }
        for item in &self.flow.items {
            if !self.new_of.contains_key(&item.old) {
                self.faults.push(Fault::Unmapped { old: item.old });
            }
        }
    }

    fn instructions(&mut self) {
        let references: HashMap<u32, (Form, u32)> = self
            .program
            .references
            .iter()
            .map(|reference| (reference.at, (reference.form, reference.to)))
            .collect();
        for item in self.flow.items.clone() {
            let new = self.place(item.old);
            let expected = self.program.word_at(item.old).unwrap_or_default();
            let Some(found) = self.word(new) else {
                self.faults.push(Fault::Place { old: item.old, new });
                continue;
            };
            let never = matches!(item.role, Role::Pinned(Reason::Constant | Reason::Unreached));
            let relative = Instruction::decode(expected).filter(|instruction| {
                matches!(instruction.opcode.row().operands, [Operand::Relative22] | [Operand::Relative30])
            });
            match (relative.filter(|_| !never), references.get(&item.old)) {
                (Some(instruction), _) => self.relative(item.old, new, instruction, found),
                (None, Some(&(form, to))) => self.part(item.old, form, self.place(to), found, expected),
                _ if found == expected || !never && self.does_the_same(found, expected) => {}
                _ => self.faults.push(Fault::Differs { old: item.old, found, expected }),
            }
        }
    }

    fn relative(&mut self, old: u32, new: u32, expected: Instruction, found: u32) {
        let to = self.place(old.wrapping_add(expected.k as u32));
        match Instruction::decode(found) {
            Some(other) if Instruction { k: expected.k, ..other } == expected => {
                let goes = (new & !3).wrapping_add(other.k as u32);
                if goes != to {
                    self.faults.push(Fault::Target { old, found: goes, expected: to });
                }
            }
            _ => {
                let expected = expected.encode().unwrap_or_default();
                self.faults.push(Fault::Differs { old, found, expected });
            }
        }
    }

    /// A part of an address, in a word whose other bits stay.
    fn part(&mut self, old: u32, form: Form, to: u32, found: u32, expected: u32) {
        let (mask, part) = match form {
            Form::Word => (u32::MAX, to),
            Form::High22 => (0x3f_ffff, to >> 10),
            Form::Low10 => (0x3ff, to & 0x3ff),
            Form::Distance => (0, 0),
        };
        if found & mask != part {
            self.faults.push(Fault::Target { old, found: found & mask, expected: part });
        }
        if found & !mask != expected & !mask {
            self.faults.push(Fault::Differs { old, found, expected });
        }
    }

    fn instruction(&self, old: u32) -> Option<Instruction> {
        let item = &self.flow.items[self.flow.index(old)?];
        let code = !matches!(item.role, Role::Pinned(Reason::Constant | Reason::Unreached));
        code.then(|| Instruction::decode(self.program.word_at(old)?)).flatten()
    }

    /// What something jumps to, all of which must begin a word.
    fn leaders(&mut self) -> BTreeSet<u32> {
        let mut leaders: BTreeSet<u32> = [self.program.entry].into();
        leaders.extend(self.program.references.iter().map(|reference| reference.to & !3));
        leaders.extend(self.program.functions.iter().map(|function| function.first));
        for item in &self.flow.items {
            let Some(instruction) = self.instruction(item.old) else { continue };
            if matches!(instruction.opcode.row().operands, [Operand::Relative22] | [Operand::Relative30]) {
                leaders.insert(item.old.wrapping_add(instruction.k as u32));
            }
        }
        leaders.retain(|leader| self.new_of.contains_key(leader));
        for &old in &leaders {
            let new = self.place(old);
            if new & 3 != 0 {
                self.faults.push(Fault::Inside { old, new });
            }
        }
        leaders
    }

    /// Each run between leaders fills a run of places, and what changed places in it may.
    fn orders(&mut self, leaders: &BTreeSet<u32>) {
        for piece in self.flow.pieces.clone() {
            let olds: Vec<u32> = self.flow.items[piece.items.clone()].iter().map(|item| item.old).collect();
            let mut first = 0;
            let mut end = None;
            while first < olds.len() {
                let mut last = first + 1;
                while last < olds.len() && !leaders.contains(&olds[last]) {
                    last += 1;
                }
                let mut run: Vec<u32> = olds[first..last].to_vec();
                run.sort_by_key(|&old| self.place(old));
                self.follows(end, run[0]);
                for pair in run.windows(2) {
                    if self.skip_fillers(self.behind(self.place(pair[0]))) != self.place(pair[1]) {
                        self.faults.push(Fault::Behind { old: pair[0] });
                    }
                }
                self.swaps(&run);
                end = Some(run[run.len() - 1]);
                first = last;
            }
        }
    }

    /// Fillers stand before what must be aligned.
    fn skip_fillers(&self, mut new: u32) -> u32 {
        while new & 3 == 0 && !self.old_of.contains_key(&new) && self.word(new) == Some(NOP) {
            new += 4;
        }
        new
    }

    fn follows(&mut self, end: Option<u32>, first: u32) {
        let Some(end) = end else { return };
        if self.skip_fillers(self.behind(self.place(end))) != self.place(first) {
            self.faults.push(Fault::Behind { old: end });
        }
    }

    /// In a run in the image's order, every pair that the program has in the other order.
    fn swaps(&mut self, run: &[u32]) {
        for (at, &earlier) in run.iter().enumerate() {
            for &later in run[at + 1..].iter().filter(|&&later| later < earlier) {
                if !self.may_swap(later, earlier) {
                    self.faults.push(Fault::Order { first: later, second: earlier });
                }
            }
        }
    }

    /// Whether two instructions, `first` before `second` in the program, may change places.
    fn may_swap(&self, first: u32, second: u32) -> bool {
        let keeps = |old: u32| {
            let late = |opcode| {
                matches!(opcode, Opcode::Wry | Opcode::Wrpsr | Opcode::Wrwim | Opcode::Wrtbr | Opcode::Wrasr)
            };
            let before = |words: u32| old.checked_sub(4 * words).and_then(|old| self.instruction(old));
            before(1).is_some_and(|i| transfers(&i))
                || (1..=3).any(|words| before(words).is_some_and(|i| late(i.opcode)))
                || self.instruction(old).is_none_or(|i| transfers(&i) || late(i.opcode))
        };
        let (Some(a), Some(b)) = (self.instruction(first), self.instruction(second)) else { return false };
        !keeps(first) && !keeps(second) && are_independent(&a, &b)
    }

    /// The place of return is 8 behind a call, 12 where a structure's size stands between.
    fn returns(&mut self, link_slots: bool) {
        for item in &self.flow.items {
            let Some(instruction) = self.instruction(item.old) else { continue };
            let links = matches!(instruction.opcode, Opcode::Call)
                || instruction.opcode == Opcode::Jmpl && instruction.rd != 0;
            let new = self.place(item.old);
            let delay = self.place(item.old + 4);
            // What an unconditional branch annuls is never executed; RETT is a delay instruction itself.
            let annuls = instruction.opcode == Opcode::Ba && instruction.annuls();
            let delayed = transfers(&instruction) && !annuls && instruction.opcode != Opcode::Rett;
            let there = self.flow.index(item.old + 4).is_some();
            if delayed && there && self.skip_fillers(self.behind(new)) != delay {
                self.faults.push(Fault::Behind { old: item.old });
            }
            let sized = self.program.word_at(item.old + 8).is_some_and(|word| word != 0 && word >> 12 == 0);
            let back = [Some(8), sized.then_some(12)];
            for bytes in back.into_iter().flatten().filter(|_| links && (sized || !link_slots)) {
                let there = self.flow.index(item.old + bytes).is_some();
                if there && (new & 3 != 0 || self.place(item.old + bytes) != new + bytes) {
                    self.faults.push(Fault::Behind { old: item.old });
                }
            }
        }
    }

    fn strays(&mut self) {
        for section in self
            .image
            .code()
            .filter(|section| self.flow.pieces.iter().any(|piece| piece.section == section.first))
        {
            for at in (section.first..section.first + section.bytes.len() as u32).step_by(4) {
                if !self.old_of.contains_key(&at) && self.word(at) != Some(NOP) {
                    self.faults.push(Fault::Stray { new: at });
                }
            }
        }
    }

    /// What was not moved has changed in addresses of code only.
    fn sections(&mut self) {
        let moved = |first| self.flow.pieces.iter().any(|piece| piece.section == first);
        for (section, found) in self.program.sections.iter().zip(&self.image.sections) {
            if moved(section.first) {
                continue;
            }
            let mut expected = section.clone();
            for reference in self.program.references.iter().filter(|other| section.contains(other.at)) {
                let (at, to) = (reference.at, self.place(reference.to));
                let Some(word) = expected.word(self.image.target, at) else { continue };
                let word = match reference.form {
                    Form::Word => to,
                    Form::High22 => word >> 22 << 22 | to >> 10,
                    Form::Low10 => word >> 10 << 10 | to & 0x3ff,
                    Form::Distance if word >> 30 == 1 => 1 << 30 | to.wrapping_sub(at) >> 2,
                    Form::Distance => word >> 22 << 22 | to.wrapping_sub(at) << 8 >> 10,
                };
                expected.set_word(self.image.target, at, word);
            }
            if expected != *found {
                self.faults.push(Fault::Section { name: section.name.clone() });
            }
        }
    }

    fn does_the_same(&mut self, found: u32, expected: u32) -> bool {
        if let Some(&known) = self.equal.get(&(found, expected)) {
            return known;
        }
        let both = Instruction::decode(found).zip(Instruction::decode(expected));
        let same = both.is_some_and(|(a, b)| do_the_same(a, b));
        self.equal.insert((found, expected), same);
        same
    }
}

/// A constant distance from a stack pointer: base, first byte, and how many.
fn on_stack(i: &Instruction) -> Option<(u8, i32, i32)> {
    let bytes = match i.opcode.row().mnemonic {
        "ldsb" | "ldub" | "stb" => 1,
        "ldsh" | "lduh" | "sth" => 2,
        "ld" | "st" if i.opcode.row().class != Class::Unit => 4,
        "ldd" | "std" if i.opcode.row().class != Class::Unit => 8,
        _ => return None,
    };
    (matches!(i.rs1, 14 | 30) && i.rs2 == CONSTANT).then_some((i.rs1, i.k, bytes))
}

/// Whether neither changes what the other one has or does, and at most one of them may trap.
fn are_independent(a: &Instruction, b: &Instruction) -> bool {
    let registers = |set: Set| set.without(Set::MEMORY);
    let meets =
        registers(a.writes()).meets(b.reads().union(b.writes())) || registers(b.writes()).meets(a.reads());
    let memory = |i: &Instruction| i.reads().union(i.writes()).contains(Set::MEMORY);
    let stores = |i: &Instruction| i.writes().contains(Set::MEMORY);
    let divides = |i: &Instruction| i.opcode.row().class == Class::Divide;
    let windows = |i: &Instruction| matches!(i.opcode, Opcode::Save | Opcode::Restore);
    let tagged = |i: &Instruction| matches!(i.opcode, Opcode::Taddcctv | Opcode::Tsubcctv);
    let traps = |i: &Instruction| memory(i) && on_stack(i).is_none() || divides(i) || windows(i) || tagged(i);
    if meets || traps(a) && traps(b) {
        return false;
    }
    let apart = match (on_stack(a), on_stack(b)) {
        (Some((base, first, bytes)), Some((other, second, more))) => {
            base == other && (first + bytes <= second || second + more <= first)
        }
        _ => false,
    };
    !(memory(a) && memory(b)) || apart || !stores(a) && !stores(b)
}

/// States that two instructions are compared from. An error that one in four shows is missed once in 10,000 pairs.
const STATES: u64 = 32;

/// A place with one instruction, and memory whose bytes follow from their addresses.
struct Bench {
    instruction: Instruction,
    stored: Option<(u32, Width, u64)>,
}

impl Bus for Bench {
    const SLOTS: bool = false;

    fn fetch(&mut self, pc: u32, _cycle: Cycles, _wait: &mut u32) -> Result<Fetched, Refusal> {
        Ok(Fetched { instruction: self.instruction, next: pc + 4 })
    }

    fn load(&mut self, address: u32, width: Width, _cycle: Cycles, _wait: &mut u32) -> Result<u64, Refusal> {
        let mixed = mix(address.into());
        Ok(if width == Width::Double { mixed } else { mixed >> (64 - 8 * width.bytes()) })
    }

    fn store(
        &mut self,
        address: u32,
        width: Width,
        value: u64,
        _cycle: Cycles,
        _wait: &mut u32,
    ) -> Result<(), Refusal> {
        self.stored = Some((address, width, value));
        Ok(())
    }
}

/// The generator `splitmix64`, as a function.
fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Executes both from the same states and compares all that they leave.
pub fn do_the_same(a: Instruction, b: Instruction) -> bool {
    (0..STATES).all(|state| after(a, state) == after(b, state))
}

/// Everything that an instruction leaves behind: registers, PSR, Y, PC, what it stored, and how it ended.
type After = (Vec<u32>, u32, u32, u32, Option<(u32, Width, u64)>, Stop);

fn after(instruction: Instruction, state: u64) -> After {
    let mut machine = Machine::new(Bench { instruction, stored: None }, Settings::default(), 0x4000_0000);
    for number in 1..32 {
        let value = mix(state << 8 | u64::from(number)) as u32;
        // Half of the states have addresses that fit every access, and some have small numbers.
        let value = match state % 4 {
            0 | 1 => value & !7,
            2 => value % 16,
            _ => value,
        };
        machine.set_register(number, value);
    }
    machine.set_y(mix(state << 8) as u32);
    let icc = (mix(state << 8 | 0xff) as u32 & 0xf) << 20;
    let psr = machine.psr() & !(0xf << 20) | icc;
    assert!(machine.set_psr(psr).is_ok(), "only condition codes change");
    let stop = machine.step(&mut ());
    let registers = (0..32).map(|number| machine.register(number)).collect();
    (registers, machine.psr(), machine.y(), machine.pc(), machine.bus.stored, stop)
}
