//! What of a program is code, where jumps lead, and which words must stay words.
//!
//! Owns: following the program from its entrances ([`Flow::of`]); leaders, which must begin a word because something
//! jumps there; the reasons why an instruction cannot be in a packet ([`Reason`]); the pieces that may change places.
//! What one instruction does is the file's of its instruction set in `flow/`, making packets `code`'s, addresses
//! `layout`'s.
//!
//! A word is code when control reaches it from the entry, a function's symbol, or a reference; other words are kept as
//! they are. A packet may go on behind a branch and its delay instruction, since PC names a slot: only what is jumped
//! to must begin a word. The place behind a call is jumped to, by the return. Behind what transfers control stands its
//! delay instruction on SPARC and nothing on RV32, where a call may be in a packet, too: the core leaves the place
//! behind it, which a packet's end makes a word's beginning.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use crate::error::Error;
use crate::program::{Form, Program, Reference};
use crate::target::Target;

pub mod effects;
mod returns;
mod rv32;
mod sparc;

pub use effects::Effects;
use returns::Returns;

/// Where control goes behind an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// To the next one.
    Plain,
    /// A branch.
    Branch {
        /// Where it goes.
        to: u32,
        /// Whether control may go on behind it and its delay instruction.
        falls: bool,
        /// Whether it has a delay instruction that is ever executed.
        delay: bool,
        /// Whether it tests the conditions of another unit.
        other_unit: bool,
    },
    /// A call to a known place.
    Call {
        /// Where it goes.
        to: u32,
    },
    /// A call to a computed place.
    Link,
    /// A jump to a computed place; the delay instruction, if there is one, is the last.
    Jump,
    /// A return from a trap, itself a delay instruction.
    Return,
    /// A trap instruction, which may come back.
    Trap,
    /// It computes with its own address, and no relocation says what.
    OwnAddress,
    /// No instruction.
    Nothing,
}

/// What a word at an address does with control.
fn step(target: Target, word: u32, at: u32) -> Step {
    match target {
        Target::Sparc => sparc::step(word, at),
        Target::Rv32 => rv32::step(word, at),
    }
}

/// Whether what is behind it is fetched and never executed: it goes elsewhere always, and annuls its delay instruction.
pub fn always_annuls(target: Target, word: u32) -> bool {
    target.delay_words() > 0
        && matches!(step(target, word, 0), Step::Branch { falls: false, delay: false, .. })
}

/// Whether it reads memory.
fn is_load(target: Target, word: u32) -> bool {
    match target {
        Target::Sparc => sparc::is_load(word),
        Target::Rv32 => rv32::is_load(word),
    }
}

/// The section that stays where and as it is: a table whose entries the processor finds by their addresses.
pub const FIXED_SECTIONS: [&str; 1] = [".traps"];

/// Why an instruction is a word of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// A call: it leaves its own address, and the return adds 8 to that.
    Call,
    /// The delay instruction of a call: what is behind it begins 8 bytes behind the call.
    BehindCall,
    /// A part of a code address, which is known when everything has its place.
    CodeAddress,
    /// No instruction but a number that the program loads.
    Constant,
    /// Nothing leads there.
    Unreached,
    /// No instruction of the processor, on purpose or not.
    Unimplemented,
    /// A trap instruction and the one behind it: handlers may count on words there.
    Trap,
    /// A branch of another unit, for which packets have no room.
    OtherUnit,
    /// Its function was excluded by name.
    Excluded,
    /// Packing its function would not clearly gain.
    NotSelected,
}

impl Reason {
    /// All of them.
    pub const ALL: [Reason; 10] = [
        Reason::Call,
        Reason::BehindCall,
        Reason::CodeAddress,
        Reason::Constant,
        Reason::Unreached,
        Reason::Unimplemented,
        Reason::Trap,
        Reason::OtherUnit,
        Reason::Excluded,
        Reason::NotSelected,
    ];
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Call => "call",
            Reason::BehindCall => "behind a call",
            Reason::CodeAddress => "part of a code address",
            Reason::Constant => "constant",
            Reason::Unreached => "never reached",
            Reason::Unimplemented => "no instruction",
            Reason::Trap => "trap or behind one",
            Reason::OtherUnit => "branch of another unit",
            Reason::Excluded => "excluded",
            Reason::NotSelected => "not selected",
        })
    }
}

/// What may be done with a word of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It may be in a packet.
    Free,
    /// A branch; it may be in a packet that has a distance.
    Branch,
    /// It is a word of its own.
    Pinned(Reason),
}

/// A word of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its address in the program.
    pub old: u32,
    /// The word.
    pub word: u32,
    /// What may be done with it.
    pub role: Role,
    /// Whether it must begin a word, because something jumps to it.
    pub leader: bool,
    /// Which code address it has a part of, and which part.
    pub refers: Option<(Form, u32)>,
}

/// What may change places with others: a function, and those that it runs into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The name of its first function; empty for what has none.
    pub name: String,
    /// The section that it is in, by its first address.
    pub section: u32,
    /// Its words, by their number in [`Flow::items`].
    pub items: Range<usize>,
    /// Whether the piece before it runs into it, so that they stay together.
    pub follows: bool,
}

/// The program, word by word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The instruction set.
    pub target: Target,
    /// Its words, by ascending address; padding between functions is left out.
    pub items: Vec<Item>,
    /// Its functions, by ascending address.
    pub pieces: Vec<Piece>,
    /// Words that were left out: what fills the room between functions and is never reached.
    pub padding_words: u32,
    /// References to moved code from what is not moved: data and fixed sections.
    pub outside: Vec<Reference>,
    /// Pairs of addresses that one high part serves: the first has it, the second is behind it.
    pub ties: Vec<(u32, u32)>,
    /// The addresses of calls that do not return to the place behind them.
    pub endless: BTreeSet<u32>,
}

/// What changes which words are pinned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Functions that are packed; all when empty.
    pub include: Vec<String>,
    /// Functions that are not packed.
    pub exclude: Vec<String>,
    /// Sections of code that stay as they are, besides [`FIXED_SECTIONS`].
    pub exclude_sections: Vec<String>,
    /// Whether a call leaves the place that it is come back to with its slot (on SPARC less 8, as it does without):
    /// then that place need not begin a word.
    pub link_slots: bool,
    /// Whether functions are cut where nothing runs from one part into the next: the parts may then lie apart.
    pub split: bool,
}

impl Flow {
    /// Follows a program.
    ///
    /// # Errors
    /// What in the program cannot be followed, or a function in the lists that it lacks.
    pub fn of(program: &Program, choice: &Choice) -> Result<Flow, Error> {
        check_names(program, choice)?;
        let mut walk = Walk::new(program, choice);
        walk.find_constants();
        walk.follow()?;
        walk.pin();
        walk.exclude();
        Ok(walk.finish())
    }

    /// The number of the word at an address of the program; `None` for what is not moved, or padding.
    pub fn index(&self, old: u32) -> Option<usize> {
        self.items.binary_search_by_key(&old, |item| item.old).ok()
    }

    /// By item, whether it is a number that the program may load: a constant, or what stands behind one and is never
    /// reached, as do the other entries of a table whose first one is loaded by its address.
    pub fn constants(&self) -> Vec<bool> {
        let mut constants: Vec<bool> = Vec::with_capacity(self.items.len());
        for (index, item) in self.items.iter().enumerate() {
            let behind = |before: usize| constants[before] && self.items[before].old + 4 == item.old;
            constants.push(match item.role {
                Role::Pinned(Reason::Constant) => true,
                Role::Pinned(Reason::Unreached) => index.checked_sub(1).is_some_and(behind),
                _ => false,
            });
        }
        constants
    }

    /// Runs of words of a piece that begin with a leader and have no other: what is between two places that can be
    /// jumped to.
    pub fn regions(&self, piece: &Piece) -> Vec<Range<usize>> {
        let mut regions = Vec::new();
        let mut first = piece.items.start;
        for index in piece.items.clone().skip(1).filter(|&index| self.items[index].leader) {
            regions.push(first..index);
            first = index;
        }
        if first < piece.items.end {
            regions.push(first..piece.items.end);
        }
        regions
    }
}

fn check_names(program: &Program, choice: &Choice) -> Result<(), Error> {
    let lists = choice.include.iter().chain(&choice.exclude);
    match lists.into_iter().find(|name| !program.functions.iter().any(|function| function.name == **name)) {
        Some(name) => Err(Error::Function { found: name.clone() }),
        None => Ok(()),
    }
}

/// What is known of a word.
#[derive(Clone, Copy, Default)]
struct Mark {
    reached: bool,
    /// Whether it is looked at what is behind it: not so for what is executed as a delay instruction only.
    followed: bool,
    leader: bool,
    constant: bool,
    /// Whether the word before it runs into it.
    follows: bool,
    reason: Option<Reason>,
    refers: Option<(Form, u32)>,
}

struct Walk<'a> {
    program: &'a Program,
    choice: &'a Choice,
    /// First address and first number of each moved section, ascending.
    sections: Vec<(u32, usize)>,
    words: Vec<(u32, u32)>,
    marks: Vec<Mark>,
    /// Reached and not yet followed.
    waiting: Vec<usize>,
    /// On SPARC.
    returns: Option<Returns>,
    endless: BTreeSet<u32>,
}

impl<'a> Walk<'a> {
    fn new(program: &'a Program, choice: &'a Choice) -> Walk<'a> {
        let (mut sections, mut words) = (Vec::new(), Vec::new());
        for section in program.code() {
            let name = section.name.as_str();
            if FIXED_SECTIONS.contains(&name) || choice.exclude_sections.iter().any(|other| other == name) {
                continue;
            }
            sections.push((section.first, words.len()));
            let chunks = section.bytes.chunks_exact(4).enumerate();
            words.extend(chunks.map(|(index, bytes)| {
                let word = program.target.word(bytes.try_into().expect("a chunk has four bytes"));
                (section.first + 4 * index as u32, word)
            }));
        }
        let marks = vec![Mark::default(); words.len()];
        let (waiting, endless) = (Vec::new(), BTreeSet::new());
        let mut walk = Walk { program, choice, sections, words, marks, waiting, returns: None, endless };
        if program.target == Target::Sparc {
            walk.returns = Some(Returns::of(&walk.words, |address| walk.index(address)));
        }
        walk
    }

    /// The number of the word that an address is in.
    fn index(&self, address: u32) -> Option<usize> {
        let (first, number) = *self
            .sections
            .get(self.sections.partition_point(|section| section.0 <= address).checked_sub(1)?)?;
        let index = number + (address - first) as usize / 4;
        (self.words.get(index)?.0 == address & !3).then_some(index)
    }

    /// The number of the word behind another, in the same section.
    fn behind(&self, index: usize, words: usize) -> Option<usize> {
        let (old, _) = self.words[index];
        self.index(old.checked_add(4 * words as u32)?)
    }

    /// Words of code that are numbers: those that relocations make, and what is loaded by its address.
    fn find_constants(&mut self) {
        for reference in &self.program.references {
            if matches!(reference.form, Form::Word | Form::Difference { .. }) {
                for address in [reference.at, reference.at.saturating_add(3)] {
                    if let Some(index) = self.index(address) {
                        self.marks[index].constant = true;
                        self.marks[index].leader = true;
                    }
                }
            }
        }
        for reference in &self.program.references {
            let target = self.program.target;
            let word = self.program.word_at(reference.at & !3).filter(|_| reference.form.is_low());
            let loads = word.is_some_and(|word| is_load(target, word));
            let function = self.program.functions.binary_search_by_key(&reference.to, |f| f.first).is_ok();
            if let Some(index) = self.index(reference.to).filter(|_| loads && !function) {
                self.marks[index].constant = true;
            }
        }
    }

    /// Marks what is jumped to.
    fn jump(&mut self, to: u32) {
        if let Some(index) = self.index(to) {
            self.marks[index].leader = true;
            self.reach(index);
        }
    }

    fn reach(&mut self, index: usize) {
        let mark = &mut self.marks[index];
        if !mark.constant && !mark.followed {
            (mark.reached, mark.followed) = (true, true);
            self.waiting.push(index);
        }
    }

    /// Goes over the delay instruction of a transfer: where control goes behind it, the transfer says. One that
    /// transfers control itself is followed like any other.
    fn delay(&mut self, index: usize) {
        let Some(delay) = self.behind(index, 1) else { return };
        let (at, word) = self.words[delay];
        self.marks[delay].follows = true;
        if step(self.program.target, word, at) != Step::Plain {
            self.reach(delay);
        } else if !self.marks[delay].constant {
            self.marks[delay].reached = true;
        }
    }

    /// Goes on behind an instruction. What cannot be there ends a way that is never gone, as behind exit().
    fn run_into(&mut self, index: usize, words: usize) {
        if let Some(next) = self.behind(index, words) {
            self.marks[next].follows = true;
            self.reach(next);
        }
    }

    fn follow(&mut self) -> Result<(), Error> {
        self.jump(self.program.entry);
        for function in &self.program.functions {
            self.jump(function.first);
        }
        for reference in &self.program.references {
            self.jump(reference.to);
            // What is subtracted is an address that code knows, too.
            for address in reference.addresses() {
                if let Some(index) = self.index(address) {
                    self.marks[index].leader = true;
                }
            }
        }
        while let Some(index) = self.waiting.pop() {
            self.step(index)?;
        }
        Ok(())
    }

    fn step(&mut self, index: usize) -> Result<(), Error> {
        let (at, word) = self.words[index];
        let target = self.program.target;
        let behind = 1 + target.delay_words();
        match step(target, word, at) {
            Step::Plain => self.run_into(index, 1),
            Step::Branch { to, falls, delay, other_unit } => {
                self.check_target(at, to)?;
                self.marks[index].refers = Some((Form::Distance, to));
                if other_unit {
                    self.marks[index].reason = Some(Reason::OtherUnit);
                }
                self.jump(to);
                if delay {
                    self.delay(index);
                }
                if falls {
                    self.run_into(index, behind);
                }
            }
            Step::Call { to } => {
                self.check_target(at, to)?;
                if to == at.wrapping_add(4 * behind as u32) {
                    return Err(Error::ReadsItsPlace { at });
                }
                self.marks[index].refers = Some((Form::Distance, to));
                self.jump(to);
                self.call(index, Some(to));
            }
            Step::Link => self.call(index, None),
            Step::Jump if target.delay_words() == 0 => {}
            Step::Jump => self.delay(index),
            Step::Return => {}
            Step::Trap => self.trap(index),
            Step::OwnAddress => return Err(Error::ReadsItsPlace { at }),
            Step::Nothing => self.marks[index].reason = Some(Reason::Unimplemented),
        }
        Ok(())
    }

    /// It and its delay instruction, if there is one, are words, and so is what begins behind them.
    fn trap(&mut self, index: usize) {
        let delay_words = self.program.target.delay_words();
        for words in 0..=delay_words {
            if let Some(next) = self.behind(index, words) {
                self.marks[next].reason.get_or_insert(Reason::Trap);
            }
        }
        if let Some(next) = self.behind(index, 1 + delay_words) {
            self.marks[next].leader = true;
        }
        self.run_into(index, 1);
    }

    fn call(&mut self, index: usize, to: Option<u32>) {
        match self.program.target {
            Target::Sparc => self.call_with_delay(index, to),
            Target::Rv32 => {
                self.run_into(index, 1);
                if let Some(back) = self.behind(index, 1).filter(|_| !self.choice.link_slots) {
                    self.marks[back].leader = true;
                }
            }
        }
    }

    /// Behind a call stands its delay instruction and then, if it is come back from, the place of return, or, for
    /// functions that return structures, UNIMP and then that place (V8 manual, appendix D.4).
    fn call_with_delay(&mut self, index: usize, to: Option<u32>) {
        self.delay(index);
        let delay = self.behind(index, 1).map(|delay| (delay, self.words[delay].1));
        let back = |(returns, (_, word)): (&Returns, (usize, u32))| returns.comes_back(to, word);
        if !self.returns.as_ref().zip(delay).is_none_or(back) {
            self.endless.insert(self.words[index].0);
            self.marks[index].reason = Some(Reason::Call);
            delay.into_iter().for_each(|(delay, _)| {
                self.marks[delay].reason.get_or_insert(Reason::BehindCall);
            });
            return;
        }
        let size = self.behind(index, 2).filter(|&next| sparc::is_structure_size(self.words[next].1));
        let pinned = size.is_some() || !self.choice.link_slots;
        if pinned {
            self.marks[index].reason = Some(Reason::Call);
            if let Some(delay) = self.behind(index, 1) {
                self.marks[delay].reason.get_or_insert(Reason::BehindCall);
            }
        } else if self.marks[index].refers.is_some() {
            self.marks[index].reason = Some(Reason::Call);
        }
        for words in 2..=2 + usize::from(size.is_some()) {
            self.run_into(index, words);
            if let Some(back) = self.behind(index, words).filter(|_| pinned) {
                self.marks[back].leader = true;
            }
        }
    }

    fn check_target(&self, at: u32, to: u32) -> Result<(), Error> {
        let constant = self.index(to).is_some_and(|index| self.marks[index].constant);
        let there = to.is_multiple_of(4) && self.program.code_at(to).is_some();
        if there && !constant { Ok(()) } else { Err(Error::NoTarget { at, to }) }
    }

    /// Pins parts of code addresses, and what is no code.
    fn pin(&mut self) {
        for reference in &self.program.references {
            let moved = reference.addresses().any(|address| self.index(address).is_some());
            if let Some(index) =
                self.index(reference.at).filter(|_| moved && reference.form != Form::Distance)
            {
                self.marks[index].refers = Some((reference.form, reference.to));
                self.marks[index].reason.get_or_insert(Reason::CodeAddress);
            }
        }
        for mark in &mut self.marks {
            if mark.constant {
                mark.reason = Some(Reason::Constant);
            } else if !mark.reached {
                mark.reason = Some(Reason::Unreached);
            }
        }
    }

    fn exclude(&mut self) {
        let functions = &self.program.functions;
        for function in functions {
            let named = |list: &[String]| list.contains(&function.name);
            let included = self.choice.include.is_empty() || named(&self.choice.include);
            if included && !named(&self.choice.exclude) {
                continue;
            }
            let end = match function.bytes {
                // What was written in assembly may lack a length: it goes on to the next function, or to the end.
                0 => {
                    let section = self.program.code_at(function.first);
                    let behind =
                        section.map_or(0, |section| section.first.saturating_add(section.bytes.len() as u32));
                    let next =
                        functions.iter().map(|other| other.first).find(|&first| first > function.first);
                    next.map_or(behind, |next| next.min(behind))
                }
                bytes => function.first.saturating_add(bytes.max(4)),
            };
            for index in 0..self.words.len() {
                if (function.first..end).contains(&self.words[index].0) {
                    self.marks[index].reason.get_or_insert(Reason::Excluded);
                } else if self.words[index].0 == end {
                    self.marks[index].leader = true;
                }
            }
        }
    }

    fn finish(mut self) -> Flow {
        let (ties, outside) = (self.ties(), self.outside());
        let mut starts: BTreeSet<usize> = self.sections.iter().map(|section| section.1).collect();
        starts.extend(self.program.functions.iter().filter_map(|function| self.index(function.first)));
        if self.choice.split {
            starts.extend((0..self.words.len()).filter(|&index| self.is_entered_only(index, &ties)));
        }
        let starts: Vec<usize> = starts.into_iter().filter(|&start| start < self.words.len()).collect();
        let (mut items, mut pieces, mut padding_words) = (Vec::new(), Vec::<Piece>::new(), 0);
        for (number, &start) in starts.iter().enumerate() {
            let mut end = starts.get(number + 1).copied().unwrap_or(self.words.len());
            while end > start && self.is_padding(end - 1) {
                (end, padding_words) = (end - 1, padding_words + 1);
            }
            self.marks[start].leader = true;
            let first = items.len();
            items.extend((start..end).map(|index| self.item(index)));
            if items.len() > first {
                pieces.push(self.piece(start, first..items.len()));
            }
        }
        let (target, endless) = (self.program.target, self.endless);
        Flow { target, items, pieces, padding_words, outside, ties, endless }
    }

    /// Whether control comes here by jumps only, so that what is before it may lie elsewhere. What is loaded by its
    /// address stays behind what it is behind, and what one high part serves stays together.
    fn is_entered_only(&self, index: usize, ties: &[(u32, u32)]) -> bool {
        let (mark, (old, _)) = (self.marks[index], self.words[index]);
        let tied = ties.iter().any(|&(high, low)| high < old && old <= low);
        mark.leader && mark.reached && !mark.follows && !mark.constant && !tied
    }

    fn is_padding(&self, index: usize) -> bool {
        let mark = &self.marks[index];
        let fills = [0, self.program.target.nop()].contains(&self.words[index].1);
        !mark.reached && !mark.leader && !mark.constant && fills
    }

    fn item(&self, index: usize) -> Item {
        let ((old, word), mark) = (self.words[index], self.marks[index]);
        let role = match (mark.reason, mark.refers) {
            (Some(reason), _) => Role::Pinned(reason),
            (None, Some((Form::Distance, _))) => Role::Branch,
            (None, _) => Role::Free,
        };
        Item { old, word, role, leader: mark.leader, refers: mark.refers }
    }

    fn piece(&self, start: usize, items: Range<usize>) -> Piece {
        let (old, _) = self.words[start];
        let functions = &self.program.functions;
        let at = functions.partition_point(|function| function.first < old);
        let name = functions.get(at).filter(|function| function.first == old);
        let section = self.sections[self.sections.partition_point(|section| section.1 <= start) - 1].0;
        let follows = self.marks[start].follows && start > 0;
        Piece { name: name.map_or_else(String::new, |f| f.name.clone()), section, items, follows }
    }

    fn outside(&self) -> Vec<Reference> {
        let outside = |reference: &&Reference| {
            let moved = reference.addresses().any(|address| self.index(address).is_some());
            self.index(reference.at).is_none() && moved
        };
        self.program.references.iter().filter(outside).copied().collect()
    }

    /// A low part whose own address has no high part anywhere takes that of an address shortly before it.
    fn ties(&self) -> Vec<(u32, u32)> {
        let of = |is_wanted: fn(Form) -> bool| -> BTreeSet<u32> {
            let wanted = self.program.references.iter().filter(|reference| is_wanted(reference.form));
            wanted.map(|reference| reference.to).filter(|&to| self.index(to).is_some()).collect()
        };
        let high = of(Form::is_high);
        let alone = of(Form::is_low).into_iter().filter(|to| !high.contains(to));
        alone.map(|to| (high.range(..to).next_back().copied().unwrap_or(to), to)).collect()
    }
}
