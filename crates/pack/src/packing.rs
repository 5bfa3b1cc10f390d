//! Packing a program: the order of the passes, and what came of it.
//!
//! Owns: the switches ([`Settings`]), the passes from a program to an image ([`pack`]), and the figures ([`Report`]).
//! Each pass is a file of its own. The image is not sealed here.

use std::collections::{BTreeMap, HashMap};

use crate::canonical::canonical;
use crate::code::assign::{self, Candidate, Group, Reach};
use crate::code::dict::{self, Worth, template};
use crate::code::packet::{ENTRIES_MAX, Format};
use crate::error::Error;
use crate::flow::{Choice, Effects, Flow, Piece, Reason, Role};
use crate::image::{Image, Kind};
use crate::layout::{Alignments, Layout, Region, alignments};
use crate::limits::DICTIONARY_PERCENTS;
use crate::place::{self, Order};
use crate::profile::Profile;
use crate::program::Program;
use crate::schedule;
use crate::select;

/// How instructions are given to packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Assignment {
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
    /// What a function must save to be packed, in percent of its words or, where a training run executes it, of its
    /// fetches in every one.
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
            least_saving_percent: 0,
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
    /// With its dictionary the image would not be smaller, nor would it fetch less.
    NoGain,
}

impl Report {
    /// The image's code and dictionary, in parts of the program's code.
    pub fn ratio(&self) -> f64 {
        let packed = f64::from(self.packed_words) * 4.0 + f64::from(self.dictionary_bytes);
        packed / (f64::from(self.plain_words) * 4.0)
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
    let mut merged = Profile::default();
    profiles.iter().for_each(|profile| merged.merge(profile));
    let mut report = Report { padding_words: flow.padding_words, ..Report::default() };
    if settings.canonical {
        report.rewritten = rewrite(&mut flow);
    }
    let mut packer = Packer::new(&flow, settings, &merged)?;
    packer.choose_dictionary();
    let left = select::left_out(&flow, &packer.regions, profiles, settings.least_saving_percent);
    packer.leave(&left);
    let layout = packer.settle();
    let dictionary = packer.dictionary();
    report.count(program, &flow, &packer, &layout, profiles);
    report.dictionary_bytes = dictionary.bytes();
    report.pieces_packed = (flow.pieces.len() - left.len()) as u32;
    if !select::gains(&report) {
        return Ok(unpacked(program, Nothing::NoGain));
    }
    let image = layout.image(program, &flow, &dictionary)?;
    Ok(Packed { image, report })
}

/// The program as it is, as an image.
fn unpacked(program: &Program, nothing: Nothing) -> Packed {
    let words = program.code().map(|section| section.bytes.len() as u32 / 4).sum();
    let report =
        Report { plain_words: words, packed_words: words, nothing: Some(nothing), ..Report::default() };
    let image = Image {
        target: program.target,
        entry: program.entry,
        sections: program.sections.clone(),
        zeros: program.zeros.clone(),
        dictionary: Default::default(),
        map: Vec::new(),
    };
    Packed { image, report }
}

/// Rewrites what may be packed; how many instructions changed.
fn rewrite(flow: &mut Flow) -> u32 {
    let mut changed = 0;
    let target = flow.target;
    for item in flow.items.iter_mut().filter(|item| !matches!(item.role, Role::Pinned(_))) {
        let other = canonical(target, item.word);
        changed += u32::from(other != item.word);
        item.word = other;
    }
    changed
}

/// What the passes share.
struct Packer<'a> {
    flow: &'a Flow,
    settings: &'a Settings,
    /// By item: its entry if it had one, and executions.
    templates: Vec<u32>,
    executions: Vec<u64>,
    effects: Vec<Effects>,
    reaches: Vec<Option<Reach>>,
    entries: Vec<u32>,
    numbers: HashMap<u32, u16>,
    /// By piece.
    regions: Vec<Vec<Region>>,
    left_out: Vec<bool>,
    order: Vec<usize>,
    alignments: Alignments,
}

impl<'a> Packer<'a> {
    fn new(flow: &'a Flow, settings: &'a Settings, profile: &'a Profile) -> Result<Packer<'a>, Error> {
        let regions = |piece: &Piece| {
            let runs = flow.regions(piece).into_iter();
            runs.map(|items| Region { items, groups: Vec::new() }).collect()
        };
        let mut packer = Packer {
            flow,
            settings,
            templates: flow.items.iter().map(|item| template(flow.target, item.word)).collect(),
            executions: flow.items.iter().map(|item| profile.executions(item.old)).collect(),
            effects: flow.items.iter().map(|item| Effects::of(flow.target, item.word)).collect(),
            reaches: Vec::new(),
            entries: Vec::new(),
            numbers: HashMap::new(),
            regions: flow.pieces.iter().map(regions).collect(),
            left_out: vec![false; flow.pieces.len()],
            order: place::order(flow, settings.order, profile),
            alignments: alignments(flow)?,
        };
        packer.reaches = packer.first_reaches();
        Ok(packer)
    }

    /// What branches would need if the image were as long as packets can make it: they grow from there.
    fn first_reaches(&self) -> Vec<Option<Reach>> {
        let reach = |item: &crate::flow::Item| {
            let (_, to) = item.refers.filter(|_| item.role == Role::Branch)?;
            let distance = (i64::from(to) - i64::from(item.old)) / 4;
            Some(Reach::of_words(distance * 7 / 10))
        };
        self.flow.items.iter().map(reach).collect()
    }

    /// Ranks candidates by what they save with a dictionary larger than the last one, and again with what is left of
    /// that, until it has the size that was asked for.
    fn choose_dictionary(&mut self) {
        let mut worths = self.occurrences();
        let entries = self.settings.entries;
        for percent in DICTIONARY_PERCENTS {
            let limit = entries * percent / 100;
            self.set_entries(dict::rank(self.settings.dictionary, &worths, limit));
            self.assign_all();
            worths = self.worths();
        }
        self.set_entries(dict::rank(self.settings.dictionary, &worths, entries));
        self.assign_all();
    }

    fn set_entries(&mut self, entries: Vec<u32>) {
        self.numbers = entries.iter().enumerate().map(|(number, &word)| (word, number as u16)).collect();
        self.entries = entries;
    }

    fn may_pack(&self, item: usize) -> bool {
        !matches!(self.flow.items[item].role, Role::Pinned(_)) && self.reach(item) != Some(Reach::Never)
    }

    /// How far a branch goes, as far as there are formats.
    fn reach(&self, item: usize) -> Option<Reach> {
        let lacks = |reach: &Reach| *reach == Reach::Far && !self.settings.far_branches;
        self.reaches[item].map(|reach| if lacks(&reach) { Reach::Never } else { reach })
    }

    /// Every instruction that may be packed, as if it were.
    fn occurrences(&self) -> HashMap<u32, Worth> {
        let mut worths: HashMap<u32, Worth> = HashMap::new();
        for item in (0..self.flow.items.len()).filter(|&item| self.may_pack(item)) {
            let worth = worths.entry(self.templates[item]).or_default();
            worth.image += 1;
            worth.fetches += self.executions[item];
        }
        worths
    }

    /// What each instruction saves in the packets that there are: all but one word of each, in equal parts.
    fn worths(&self) -> HashMap<u32, Worth> {
        let mut worths: HashMap<u32, Worth> = HashMap::new();
        let groups = self.regions.iter().flatten().flat_map(|region| &region.groups);
        for group in groups.filter(|group| group.format.is_some()) {
            let slots = u64::from(group.slots);
            for &item in group.items() {
                let worth = worths.entry(self.templates[item as usize]).or_default();
                // In twelfths, which halves, thirds and quarters are.
                let part = 12 * (slots - 1) / slots;
                worth.image += part;
                worth.fetches += part * self.executions[item as usize];
            }
        }
        worths
    }

    fn assign_all(&mut self) {
        for piece in 0..self.regions.len() {
            for number in 0..self.regions[piece].len() {
                self.assign(piece, number);
            }
        }
    }

    fn assign(&mut self, piece: usize, number: usize) {
        let items = self.regions[piece][number].items.clone();
        let candidates: Vec<Candidate> =
            items.clone().map(|item| self.candidate(item, self.left_out[piece])).collect();
        let mut groups = match self.settings.assignment {
            Assignment::Greedy => assign::greedy(&candidates),
            Assignment::Optimal => assign::optimal(&candidates),
            Assignment::Scheduled => self.scheduled(items.clone(), &candidates),
        };
        for group in &mut groups {
            for item in &mut group.items[..usize::from(group.slots)] {
                *item += items.start as u32;
            }
        }
        self.regions[piece][number].groups = groups;
    }

    fn candidate(&self, item: usize, left_out: bool) -> Candidate {
        let known = self.numbers.get(&self.templates[item]).copied();
        let entry = known.filter(|_| !left_out && !matches!(self.flow.items[item].role, Role::Pinned(_)));
        Candidate { entry, branch: self.reach(item) }
    }

    fn scheduled(&self, items: std::ops::Range<usize>, candidates: &[Candidate]) -> Vec<Group> {
        if candidates.iter().filter(|candidate| candidate.entry.is_some()).count() < 2 {
            return assign::greedy(candidates);
        }
        let windows = schedule::windows(&self.flow.items[items.clone()], &self.effects[items]);
        let mut groups = Vec::new();
        for (window, before) in windows {
            let cut = assign::scheduled(&candidates[window.clone()], &before);
            groups.extend(cut.into_iter().map(|mut group| {
                for item in &mut group.items[..usize::from(group.slots)] {
                    *item += window.start as u32;
                }
                group
            }));
        }
        groups
    }

    fn leave(&mut self, left: &[usize]) {
        for &piece in left {
            self.left_out[piece] = true;
            for number in 0..self.regions[piece].len() {
                self.assign(piece, number);
            }
        }
    }

    /// Gives addresses until every branch in a packet has room for its distance. A branch that has none is given to a
    /// format with more room, or to none, and never back: each round but the last grows one of finitely many classes,
    /// so there is a last one.
    fn settle(&mut self) -> Layout {
        let mut region_of = vec![(0, 0); self.flow.items.len()];
        for (piece, regions) in self.regions.iter().enumerate() {
            for (number, region) in regions.iter().enumerate() {
                region_of[region.items.clone()].fill((piece, number));
            }
        }
        loop {
            let layout = Layout::of(self.flow, &self.order, &self.regions, &self.alignments);
            let too_far = layout.too_far(self.flow);
            if too_far.is_empty() {
                return layout;
            }
            let mut again: Vec<(usize, usize)> = Vec::new();
            for item in too_far {
                let needed = layout.reach(self.flow, item);
                let grown = self.reaches[item].map(Reach::grown);
                self.reaches[item] = needed.max(grown);
                again.push(region_of[item]);
            }
            again.sort_unstable();
            again.dedup();
            for (piece, number) in again {
                self.assign(piece, number);
            }
        }
    }

    /// What is named by a packet, in the order of rank: short indexes keep what they reach.
    fn dictionary(&self) -> crate::code::packet::Dictionary {
        dict::dictionary(self.entries.clone())
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
    fn count(
        &mut self,
        program: &Program,
        flow: &Flow,
        packer: &Packer<'_>,
        layout: &Layout,
        profiles: &[Profile],
    ) {
        let moved = program.sections.iter().filter(|section| {
            section.kind == Kind::Code && layout.sections.iter().any(|other| other.0 == section.first)
        });
        self.plain_words = moved.map(|section| section.bytes.len() as u32 / 4).sum();
        self.packed_words = layout.words.len() as u32;
        self.pieces = flow.pieces.len() as u32;
        for group in layout.words.iter().filter_map(|word| word.1) {
            match group.format {
                Some(format) => *self.formats.entry((name(format), group.slots)).or_default() += 1,
                None => *self.alone.entry(packer.alone(group.items[0] as usize)).or_default() += 1,
            }
        }
        self.fetches = profiles
            .iter()
            .map(|profile| {
                let entered = layout.words.iter().filter_map(|word| word.1);
                let packed = entered.map(|group| profile.executions(flow.items[group.items[0] as usize].old));
                let plain = flow.items.iter().map(|item| profile.executions(item.old));
                Fetches { plain: plain.sum(), packed: packed.sum() }
            })
            .collect();
    }
}

impl Packer<'_> {
    fn alone(&self, item: usize) -> Alone {
        match self.flow.items[item].role {
            Role::Pinned(reason) => Alone::Pinned(reason),
            _ if !self.numbers.contains_key(&self.templates[item]) => Alone::NotInDictionary,
            _ if self.reach(item) == Some(Reach::Never) => Alone::Far,
            _ => Alone::NoNeighbour,
        }
    }
}
