//! Packing a program: the order of the passes, and what came of it.
//!
//! Owns: the switches ([`Settings`]), the passes from a program to an image ([`pack`]), and the figures ([`Report`]).
//! Each pass is a file of its own. The image is not sealed here.

use std::collections::BTreeMap;

use crate::canonical::canonical;
use crate::code::dict;
use crate::code::packet::{ENTRIES_MAX, Format};
use crate::error::Error;
use crate::flow::{Choice, Flow, Item, Reason, Role};
use crate::image::{Image, Kind};
use crate::layout::Layout;
use crate::limits::{DICTIONARY_PERCENTS, EXCHANGE_ROUNDS};
use crate::packer::{Ground, Packer};
use crate::place::Order;
use crate::profile::Profile;
use crate::program::Program;
use crate::select;

/// How instructions are given to packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Assignment {
    /// Each instruction is a word, and there is no dictionary: what the order of functions does alone.
    Words,
    /// The longest packet first, as in the paper.
    Greedy,
    /// The fewest words in the program's order.
    Optimal,
    /// Few words in any order that dependences allow.
    Scheduled,
}

/// Every switch of packing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What the dictionary is chosen for.
    pub dictionary: dict::Choice,
    /// How many entries it may have.
    pub entries: usize,
    /// How packets are made.
    pub assignment: Assignment,
    /// Whether instructions that do the same are made the same.
    pub canonical: bool,
    /// Whether packets of format 2F are made, which the paper lacks.
    pub far_branches: bool,
    /// The order of functions.
    pub order: Order,
    /// Which functions and sections are packed.
    pub choice: Choice,
    /// What a function must save to be packed, in percent of its fetches in every training run that executes it, or,
    /// where none does, of its words. The image must save [`select::CLEAR_SAVING_PERCENT`] of its bytes, or else of all
    /// fetches, and of those of every run; with 0, something, and no run may fetch more.
    pub least_saving_percent: u8,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            dictionary: dict::Choice::Static,
            entries: ENTRIES_MAX,
            assignment: Assignment::Scheduled,
            canonical: true,
            far_branches: true,
            order: Order::Given,
            choice: Choice::default(),
            least_saving_percent: select::CLEAR_SAVING_PERCENT,
        }
    }
}

/// Fetches of words in a profiled run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fetches {
    /// Of the program: one for each instruction.
    pub plain: u64,
    /// Of the image: one for each packet that is entered.
    pub packed: u64,
}

/// Why an instruction that may be packed is a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Alone {
    /// It must be.
    Pinned(Reason),
    /// The dictionary lacks it.
    NotInDictionary,
    /// It is a branch that goes too far.
    Far,
    /// None of its neighbours fits beside it.
    NoNeighbour,
}

/// What packing did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Words of the sections that were packed, before.
    pub plain_words: u32,
    /// And after.
    pub packed_words: u32,
    /// What the dictionary takes.
    pub dictionary_bytes: u32,
    /// How many packets there are of each format and number of slots.
    pub formats: BTreeMap<(&'static str, u8), u32>,
    /// How many instructions are words, by the reason.
    pub alone: BTreeMap<Alone, u32>,
    /// Instructions that were rewritten to an equal one.
    pub rewritten: u32,
    /// Words that filled room between functions and were left out.
    pub padding_words: u32,
    /// How many functions were packed.
    pub pieces_packed: u32,
    /// And how many there are.
    pub pieces: u32,
    /// Fetches for each profile, in their order.
    pub fetches: Vec<Fetches>,
    /// Why nothing was packed, when that is so.
    pub nothing: Option<Nothing>,
}

/// Why an image is left as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Nothing {
    /// Without relocations nothing says which words are addresses of code: none may move.
    NoRelocations,
    /// With its dictionary the image would not clearly be smaller, or a training run would not fetch clearly less.
    NoGain,
}

impl Report {
    /// The image's code and dictionary, in parts of the program's code.
    pub fn ratio(&self) -> f64 {
        let packed = f64::from(self.packed_words) * 4.0 + f64::from(self.dictionary_bytes);
        packed / (f64::from(self.plain_words) * 4.0)
    }

    /// The same with so many bytes of tags.
    pub fn ratio_with_tags(&self, tags_bytes: u64) -> f64 {
        self.ratio() + tags_bytes as f64 / (f64::from(self.plain_words) * 4.0)
    }
}

/// A packed program.
#[derive(Clone, Debug, PartialEq)]
pub struct Packed {
    /// It, in memory.
    pub image: Image,
    /// What packing did.
    pub report: Report,
}

/// Packs a program, for the runs that these profiles are of.
///
/// # Errors
/// What is wrong with the settings, or cannot be followed in the program.
pub fn pack(program: &Program, profiles: &[Profile], settings: &Settings) -> Result<Packed, Error> {
    settings.dictionary.check(settings.entries, !profiles.is_empty())?;
    if settings.order == Order::Hot && profiles.is_empty() {
        return Err(Error::NoProfile { what: "an order by heat" });
    }
    if !program.relocated {
        return Ok(unpacked(program, Nothing::NoRelocations));
    }
    let mut flow = Flow::of(program, &settings.choice)?;
    rewrite(&mut flow, settings);
    let ground = Ground::of(&flow, settings.assignment, profiles)?;
    let mut packer = Packer::new(&ground, settings, &Profile::merged(profiles));
    packer.choose_dictionary(&DICTIONARY_PERCENTS);
    if settings.assignment == Assignment::Scheduled {
        packer.exchange(EXCHANGE_ROUNDS);
    }
    finish(program, packer)
}

/// Gives everything its place, leaves as it is what does not gain there, and makes the image; what the packer has come
/// to is as good as its settings.
pub(crate) fn finish(program: &Program, mut packer: Packer<'_>) -> Result<Packed, Error> {
    let layout = packer.select();
    let flow = packer.written(program);
    let dictionary = packer.dictionary();
    let mut report = Report { padding_words: flow.padding_words, ..Report::default() };
    report.count(program, &flow, &packer, &layout);
    report.dictionary_bytes = dictionary.bytes();
    if packer.packs() && !select::gains(&report, packer.least_saving_percent()) {
        return Ok(unpacked(program, Nothing::NoGain));
    }
    let image = layout.image(program, &flow, &dictionary)?;
    Ok(Packed { image, report })
}

/// The program as it is, as an image.
pub(crate) fn unpacked(program: &Program, nothing: Nothing) -> Packed {
    let words = program.code().map(|section| section.bytes.len() as u32 / 4).sum();
    let report =
        Report { plain_words: words, packed_words: words, nothing: Some(nothing), ..Report::default() };
    let image = Image {
        target: program.target,
        entry: program.entry,
        sections: program.sections.clone(),
        zeros: program.zeros.clone(),
        dictionary: Default::default(),
        packed_text: Vec::new(),
        map: Vec::new(),
    };
    Packed { image, report }
}

/// Rewrites what may be packed, if anything is.
pub(crate) fn rewrite(flow: &mut Flow, settings: &Settings) {
    if !settings.canonical || settings.assignment == Assignment::Words {
        return;
    }
    let target = flow.target;
    let packs = |item: &Item| match item.role {
        Role::Pinned(reason) => reason == Reason::BehindCall && item.refers.is_none(),
        _ => true,
    };
    for item in flow.items.iter_mut().filter(|item| packs(item)) {
        item.word = canonical(target, item.word);
    }
}

fn name(format: Format) -> &'static str {
    match format {
        Format::Four => "4",
        Format::Three => "3",
        Format::ThreeBranch => "3B",
        Format::TwoBranch => "2B",
        Format::FarBranch => "2F",
    }
}

impl Report {
    fn count(&mut self, program: &Program, flow: &Flow, packer: &Packer<'_>, layout: &Layout) {
        let moved = program.sections.iter().filter(|section| {
            section.kind == Kind::Code && layout.sections.iter().any(|other| other.0 == section.first)
        });
        self.plain_words = moved.map(|section| section.bytes.len() as u32 / 4).sum();
        self.packed_words = layout.words.len() as u32;
        self.pieces = flow.pieces.len() as u32;
        self.pieces_packed = packer.pieces_packed();
        for group in layout.words.iter().filter_map(|word| word.1) {
            match group.format {
                Some(format) => *self.formats.entry((name(format), group.slots)).or_default() += 1,
                None => *self.alone.entry(packer.alone(group.items[0] as usize)).or_default() += 1,
            }
        }
        let rewritten = flow.items.iter().filter(|item| program.word_at(item.old) != Some(item.word));
        self.rewritten = rewritten.count() as u32;
        let of_run = |executions: &Vec<u64>| {
            let entered = layout.words.iter().filter_map(|word| word.1);
            let packed = entered.map(|group| executions[group.items[0] as usize]);
            Fetches { plain: select::sum(executions.iter().copied()), packed: select::sum(packed) }
        };
        self.fetches = packer.executions().iter().map(of_run).collect();
    }
}
