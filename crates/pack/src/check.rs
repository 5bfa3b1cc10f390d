//! A second witness: does a packed image do what the program does?
//!
//! Owns: reading an image back through its map and comparing it with the program word by word ([`check`]). It is
//! written apart from the passes that packed: it takes from them what is reached (`flow`), and nothing of packets,
//! orders, addresses or constants. Equal instructions are equal words, or leave the same registers, condition codes, Y and
//! memory on a core, from many states. Where the image begins, what is zero at the start, its processor and how many
//! sections it has are the program's, too. What an instruction is, is asked of `isa`, in a file for each instruction set.
//! Whether a program's output is the same, a run shows.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::marker::PhantomData;

use crate::code::packet::Packet;
use crate::error::Error;
use crate::flow::{Choice, Flow, Reason, Role};
use crate::image::Image;
use crate::program::{Form, Program};
use crate::target::Target;

pub mod rv32;
pub mod sparc;

/// States that two instructions are compared from. An error that one in four shows is missed once in 10,000 pairs.
const STATES: u64 = 32;

/// What is asked of an instruction set.
trait Reading: Sized {
    /// An instruction.
    type Instruction: Copy;
    /// What fills room.
    const NOP: u32;

    /// The instruction of a word.
    fn decode(word: u32) -> Option<Self::Instruction>;

    /// How far a branch or a call goes whose distance is in it, in bytes; `None` for others.
    fn distance(instruction: &Self::Instruction) -> Option<i32>;

    /// Whether two branches or calls are the same but for their distances.
    fn are_same_branch(a: Self::Instruction, b: Self::Instruction) -> bool;

    /// A word of a branch or a call with another distance, in bytes; what is none stays.
    fn sent(word: u32, bytes: u32) -> u32;

    /// Whether both do the same from any state.
    fn do_the_same(a: Self::Instruction, b: Self::Instruction) -> bool;

    /// Whether it reads memory and writes none.
    fn loads(instruction: &Self::Instruction) -> bool;

    /// Whether two instructions, `first` before `second` in the program, may change places.
    fn may_swap(check: &Check<'_, Self>, first: u32, second: u32) -> bool;

    /// Compares what stands behind calls and branches.
    fn behind(check: &mut Check<'_, Self>, link_slots: bool);
}

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
    /// A word that may be loaded and is no constant, or a constant that may not.
    Loaded {
        /// Its address in the image.
        new: u32,
    },
    /// A section that should not have changed, or not so.
    Section {
        /// Its name.
        name: String,
    },
    /// More sections, or fewer.
    Sections {
        /// How many the image has.
        found: usize,
        /// How many the program has.
        expected: usize,
    },
    /// It is for another processor; nothing else is compared then.
    Machine {
        /// That of the image.
        found: Target,
        /// That of the program.
        expected: Target,
    },
    /// It begins elsewhere.
    Entry {
        /// Where it begins.
        found: u32,
        /// Where the program's first instruction is in it.
        expected: u32,
    },
    /// Other memory is zero at the start.
    Zeros,
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
            Fault::Loaded { new } => {
                write!(f, "{new:#010x}: found an instruction that may be loaded or a constant that may not")
            }
            Fault::Section { name } => write!(f, "section `{name}`: differs in more than addresses of code"),
            Fault::Sections { found, expected } => write!(f, "found {found} sections, expected {expected}"),
            Fault::Machine { found, expected } => {
                write!(f, "found an image for {found:?}, expected one for {expected:?}")
            }
            Fault::Entry { found, expected } => {
                write!(f, "begins at {found:#010x}, expected {expected:#010x}")
            }
            Fault::Zeros => f.write_str("other memory than the program's is zero at the start"),
        }
    }
}

/// Compares an image with its program; every fault that there is.
///
/// # Errors
/// What in the program cannot be followed.
pub fn check(program: &Program, image: &Image, choice: &Choice) -> Result<Vec<Fault>, Error> {
    let flow = Flow::of(program, choice)?;
    if image.target != program.target {
        return Ok(vec![Fault::Machine { found: image.target, expected: program.target }]);
    }
    if image.map.is_empty() {
        let mut faults = beside_code(program, image, program.entry);
        if image.sections != program.sections || !image.packed_text.is_empty() {
            faults.push(Fault::Section { name: String::new() });
        }
        return Ok(faults);
    }
    Ok(match program.target {
        Target::Sparc => Check::<sparc::Sparc>::of(program, image, &flow).faults(choice.link_slots),
        Target::Rv32 => Check::<rv32::Rv32>::of(program, image, &flow).faults(choice.link_slots),
    })
}

/// Compares what an image says beside its code and its sections' bytes; where it must begin is given.
fn beside_code(program: &Program, image: &Image, entry: u32) -> Vec<Fault> {
    let mut faults = Vec::new();
    if image.entry != entry {
        faults.push(Fault::Entry { found: image.entry, expected: entry });
    }
    if image.zeros != program.zeros {
        faults.push(Fault::Zeros);
    }
    let (found, expected) = (image.sections.len(), program.sections.len());
    if found != expected {
        faults.push(Fault::Sections { found, expected });
    }
    faults
}

struct Check<'a, R: Reading> {
    program: &'a Program,
    image: &'a Image,
    flow: &'a Flow,
    new_of: HashMap<u32, u32>,
    old_of: BTreeMap<u32, u32>,
    /// Pairs of words, and whether they do the same.
    equal: HashMap<(u32, u32), bool>,
    faults: Vec<Fault>,
    reading: PhantomData<R>,
}

impl<'a, R: Reading> Check<'a, R> {
    fn of(program: &'a Program, image: &'a Image, flow: &'a Flow) -> Check<'a, R> {
        Check {
            program,
            image,
            flow,
            new_of: image.map.iter().map(|moved| (moved.old, moved.new)).collect(),
            old_of: BTreeMap::new(),
            equal: HashMap::new(),
            faults: Vec::new(),
            reading: PhantomData,
        }
    }

    fn faults(mut self, link_slots: bool) -> Vec<Fault> {
        self.faults = beside_code(self.program, self.image, self.place(self.program.entry));
        self.places();
        self.instructions();
        let leaders = self.leaders();
        self.orders(&leaders);
        R::behind(&mut self, link_slots);
        self.strays();
        self.loads();
        self.sections();
        self.faults
    }

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
                // What is in it and not in the map would be executed, too.
                let whole = u32::from(slots) == self.slots(at);
                words[..usize::from(slots)].get((new & 3) as usize).copied().filter(|_| whole)
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
            let relative = R::decode(expected).filter(|_| !never).and_then(|i| Some((i, R::distance(&i)?)));
            match (relative, references.get(&item.old)) {
                (Some(relative), _) => {
                    if !self.relative(item.old, new, relative, found) {
                        self.faults.push(Fault::Differs { old: item.old, found, expected });
                    }
                }
                (None, Some(&(form, to))) => self.part(item.old, form, self.place(to), found, expected),
                _ if found == expected || !never && self.does_the_same(found, expected) => {}
                _ => self.faults.push(Fault::Differs { old: item.old, found, expected }),
            }
        }
    }

    /// Compares a branch or a call, and whether it goes where it should; whether it is the same at all.
    fn relative(&mut self, old: u32, new: u32, expected: (R::Instruction, i32), found: u32) -> bool {
        let to = self.place(old.wrapping_add(expected.1 as u32));
        let found = R::decode(found).and_then(|found| Some((found, R::distance(&found)?)));
        let Some((_, bytes)) = found.filter(|found| R::are_same_branch(found.0, expected.0)) else {
            return false;
        };
        let goes = (new & !3).wrapping_add(bytes as u32);
        if goes != to {
            self.faults.push(Fault::Target { old, found: goes, expected: to });
        }
        true
    }

    /// A part of an address, in a word whose other bits stay.
    fn part(&mut self, old: u32, form: Form, to: u32, found: u32, expected: u32) {
        let (mask, part) = self.form(form, to);
        if found & mask != part {
            self.faults.push(Fault::Target { old, found: found & mask, expected: part });
        }
        if found & !mask != expected & !mask {
            self.faults.push(Fault::Differs { old, found, expected });
        }
    }

    /// The bits of a form, and what an address has there.
    fn form(&self, form: Form, to: u32) -> (u32, u32) {
        match form {
            Form::Word => (u32::MAX, to),
            Form::Difference { from } => (u32::MAX, to.wrapping_sub(self.place(from))),
            Form::High22 => (0x3f_ffff, to >> 10),
            Form::Low10 => (0x3ff, to & 0x3ff),
            // What is added has a sign, so half of all addresses have one more.
            Form::High20 => (0xffff_f000, (to >> 12).wrapping_add(to >> 11 & 1) << 12),
            Form::Low12 => (0xfff0_0000, to << 20),
            Form::Low12Stored => (0xfe00_0f80, (to & 0xfe0) << 20 | (to & 0x1f) << 7),
            Form::Distance => (0, 0),
        }
    }

    fn instruction(&self, old: u32) -> Option<R::Instruction> {
        let item = &self.flow.items[self.flow.index(old)?];
        let code = !matches!(item.role, Role::Pinned(Reason::Constant | Reason::Unreached));
        code.then(|| R::decode(self.program.word_at(old)?)).flatten()
    }

    /// What something jumps to, all of which must begin a word.
    fn leaders(&mut self) -> BTreeSet<u32> {
        let mut leaders: BTreeSet<u32> = [self.program.entry].into();
        let told = self.program.references.iter().flat_map(|reference| reference.addresses());
        leaders.extend(told.map(|address| address & !3));
        leaders.extend(self.program.functions.iter().map(|function| function.first));
        for item in &self.flow.items {
            if let Some(bytes) = self.instruction(item.old).and_then(|instruction| R::distance(&instruction))
            {
                leaders.insert(item.old.wrapping_add(bytes as u32));
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
        while new & 3 == 0 && !self.old_of.contains_key(&new) && self.word(new) == Some(R::NOP) {
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
                if !R::may_swap(self, later, earlier) {
                    self.faults.push(Fault::Order { first: later, second: earlier });
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
                if !self.old_of.contains_key(&at) && self.word(at) != Some(R::NOP) {
                    self.faults.push(Fault::Stray { new: at });
                }
            }
        }
    }

    /// Numbers that the program may load, by their addresses in it: where relocations put an address, what an
    /// instruction loads by its address, and what stands behind one of these and is never reached.
    fn constants(&self) -> BTreeSet<u32> {
        let (program, mut constants) = (self.program, BTreeSet::new());
        let functions: BTreeSet<u32> = program.functions.iter().map(|function| function.first).collect();
        for reference in &program.references {
            let instruction = || R::decode(program.word_at(reference.at & !3)?);
            match reference.form {
                Form::Word | Form::Difference { .. } => {
                    constants.extend([reference.at & !3, reference.at.saturating_add(3) & !3]);
                }
                Form::Low10 | Form::Low12 | Form::Low12Stored
                    if instruction().is_some_and(|i| R::loads(&i)) && !functions.contains(&reference.to) =>
                {
                    constants.insert(reference.to & !3);
                }
                _ => {}
            }
        }
        for item in self.flow.items.iter().filter(|item| item.role == Role::Pinned(Reason::Unreached)) {
            let before = item.old.checked_sub(4).filter(|&before| self.flow.index(before).is_some());
            if before.is_some_and(|before| constants.contains(&before)) {
                constants.insert(item.old);
            }
        }
        constants
    }

    /// Of packed sections, constants may be loaded and nothing else.
    fn loads(&mut self) {
        let (constants, image) = (self.constants(), self.image);
        let is_text = |at: u32| {
            let after = image.packed_text.partition_point(|text| text.first <= at);
            after > 0 && at - image.packed_text[after - 1].first < image.packed_text[after - 1].bytes
        };
        for section in image.code() {
            let is_packed = self.flow.pieces.iter().any(|piece| piece.section == section.first);
            for at in (section.first..section.first + section.bytes.len() as u32).step_by(4) {
                let is_number = self.old_of.get(&at).is_some_and(|old| constants.contains(old));
                let is_constant = !is_packed || is_number;
                if is_text(at) == is_constant {
                    self.faults.push(Fault::Loaded { new: at });
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
                let (mask, part) = self.form(reference.form, to);
                let word = match reference.form {
                    Form::Distance => R::sent(word, to.wrapping_sub(at)),
                    _ => word & !mask | part,
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
        let same = R::decode(found).zip(R::decode(expected)).is_some_and(|(a, b)| R::do_the_same(a, b));
        self.equal.insert((found, expected), same);
        same
    }
}

/// The generator `splitmix64`, as a function.
fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A register of a state: half of the states have addresses that fit every access, and some have small numbers.
fn register(state: u64, number: u8) -> u32 {
    let value = mix(state << 8 | u64::from(number)) as u32;
    match state % 4 {
        0 | 1 => value & !7,
        2 => value % 16,
        _ => value,
    }
}
