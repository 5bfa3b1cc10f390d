//! A program on its way to an image: what is in the dictionary, what shares a word, where functions lie.
//!
//! Owns: the steps that packing repeats until they agree, and what they share. Which of them is done when, and with
//! which settings, is `packing`'s and `tune`'s; each step's rule is in the file of its name.

use std::collections::HashMap;
use std::ops::Range;

use crate::code::assign::{self, Candidate, Group, Reach};
use crate::code::dict::{self, Worth, template};
use crate::code::packet::Dictionary;
use crate::error::Error;
use crate::flow::{Effects, Flow, Item, Piece, Role};
use crate::layout::{Alignments, Layout, Region, alignments};
use crate::packing::{Alone, Assignment, Settings};
use crate::place::Placement;
use crate::profile::Profile;
use crate::program::Program;
use crate::schedule::{self, Window};
use crate::select;

mod exchange;

/// What of a program no step changes.
pub struct Ground<'a> {
    /// The program.
    pub flow: &'a Flow,
    /// By item, the entry that it would have.
    templates: Vec<u32>,
    /// By piece and region.
    windows: Vec<Vec<Vec<Window>>>,
    /// By item, whether it is a word of its own whatever is done.
    pinned: Vec<bool>,
    alignments: Alignments,
    /// By profiled run and item.
    executions: Vec<Vec<u64>>,
}

impl<'a> Ground<'a> {
    /// Of a program, and what runs of it executed.
    ///
    /// # Errors
    /// An address whose other part cannot be near it.
    pub fn of(flow: &'a Flow, assignment: Assignment, profiles: &[Profile]) -> Result<Ground<'a>, Error> {
        let effects: Vec<Effects> =
            flow.items.iter().map(|item| Effects::of(flow.target, item.word)).collect();
        let windows = |items: Range<usize>| match assignment {
            Assignment::Scheduled => schedule::windows(&flow.items[items.clone()], &effects[items]),
            _ => Vec::new(),
        };
        let of_piece = |piece: &Piece| flow.regions(piece).into_iter().map(windows).collect();
        let windows: Vec<Vec<Vec<Window>>> = flow.pieces.iter().map(of_piece).collect();
        let executions = |profile: &Profile| {
            flow.items.iter().map(|item| profile.executions(item.old)).collect::<Vec<_>>()
        };
        let mut ground = Ground {
            flow,
            templates: flow.items.iter().map(|item| template(flow.target, item.word)).collect(),
            windows,
            pinned: flow.items.iter().map(|item| matches!(item.role, Role::Pinned(_))).collect(),
            alignments: alignments(flow)?,
            executions: profiles.iter().map(executions).collect(),
        };
        ground.free_delays();
        Ok(ground)
    }

    /// The delay instruction of a call may be in a packet where another one takes its place behind the call.
    fn free_delays(&mut self) {
        for (piece, windows) in self.flow.pieces.iter().zip(&self.windows) {
            for (region, windows) in self.flow.regions(piece).into_iter().zip(windows) {
                for window in windows {
                    for delay in &window.delays {
                        let item = region.start + window.items.start + delay.transfer + 1;
                        self.pinned[item] &= self.flow.items[item].refers.is_some();
                    }
                }
            }
        }
    }
}

/// A region of a piece, by their numbers.
type Place = (usize, usize);

/// What the steps have come to.
#[derive(Clone)]
pub struct Packer<'a> {
    ground: &'a Ground<'a>,
    settings: &'a Settings,
    /// By item, what leaving out a fetch of its word is worth.
    pub weights: Vec<u64>,
    /// What the dictionary was chosen for.
    pub choice: dict::Choice,
    reaches: Vec<Option<Reach>>,
    entries: Vec<u32>,
    numbers: HashMap<u32, u16>,
    /// By piece.
    pub regions: Vec<Vec<Region>>,
    /// By piece and region, of what its words were made last.
    made_of: Vec<Vec<Vec<Candidate>>>,
    left_out: Vec<bool>,
    /// Where functions lie.
    pub placement: Placement,
}

impl<'a> Packer<'a> {
    /// Nothing packed yet.
    pub fn new(ground: &'a Ground<'a>, settings: &'a Settings, profile: &Profile) -> Packer<'a> {
        let flow = ground.flow;
        let regions = |piece: &Piece| {
            let runs = flow.regions(piece).into_iter();
            runs.map(|items| Region { items, groups: Vec::new() }).collect()
        };
        let regions: Vec<Vec<Region>> = flow.pieces.iter().map(regions).collect();
        let made_of = regions.iter().map(|regions| vec![Vec::new(); regions.len()]).collect();
        let mut packer = Packer {
            ground,
            settings,
            weights: flow.items.iter().map(|item| profile.executions(item.old)).collect(),
            choice: settings.dictionary,
            reaches: Vec::new(),
            entries: Vec::new(),
            numbers: HashMap::new(),
            regions,
            made_of,
            left_out: vec![false; flow.pieces.len()],
            placement: Placement::of(flow, settings.order, profile),
        };
        packer.reaches = packer.first_reaches();
        packer
    }

    /// To have its dictionary chosen anew, for this and with these weights.
    pub fn again(&self, choice: dict::Choice, weights: &[u64]) -> Packer<'a> {
        let (weights, reaches) = (weights.to_vec(), self.first_reaches());
        Packer { choice, weights, reaches, ..self.clone() }
    }

    /// What branches would need if the image were as long as packets can make it: they grow from there.
    fn first_reaches(&self) -> Vec<Option<Reach>> {
        let reach = |item: &Item| {
            let (_, to) = item.refers.filter(|_| item.role == Role::Branch)?;
            let distance = (i64::from(to) - i64::from(item.old)) / 4;
            Some(Reach::of_words(distance * 7 / 10))
        };
        self.ground.flow.items.iter().map(reach).collect()
    }

    /// The program.
    pub fn flow(&self) -> &'a Flow {
        self.ground.flow
    }

    /// Whether there may be packets.
    pub fn packs(&self) -> bool {
        self.settings.assignment != Assignment::Words
    }

    /// What the settings ask to be saved.
    pub fn least_saving_percent(&self) -> u8 {
        self.settings.least_saving_percent
    }

    /// By profiled run, how often each item was executed.
    pub fn executions(&self) -> &'a [Vec<u64>] {
        &self.ground.executions
    }

    /// How many pieces are not left as they are.
    pub fn pieces_packed(&self) -> u32 {
        if !self.packs() {
            return 0;
        }
        self.left_out.iter().filter(|left_out| !**left_out).count() as u32
    }

    /// Ranks candidates by what they save with a dictionary larger than the last one, and again with what is left of
    /// that, until it has the size that was asked for: sizes are `percents` of it.
    pub fn choose_dictionary(&mut self, percents: &[usize]) {
        let choice = self.choice;
        if self.settings.assignment == Assignment::Words {
            return self.assign_all();
        }
        let mut worths = self.occurrences();
        let entries = self.settings.entries;
        for percent in percents {
            let limit = entries * percent / 100;
            self.set_entries(dict::rank(choice, &worths, limit));
            self.assign_all();
            worths = self.worths();
        }
        self.set_entries(dict::rank(choice, &worths, entries));
        self.assign_all();
    }

    fn set_entries(&mut self, entries: Vec<u32>) {
        self.numbers = entries.iter().enumerate().map(|(number, &word)| (word, number as u16)).collect();
        self.entries = entries;
    }

    fn may_pack(&self, item: usize) -> bool {
        !self.ground.pinned[item] && self.reach(item) != Some(Reach::Never)
    }

    /// How far a branch goes, as far as there are formats.
    fn reach(&self, item: usize) -> Option<Reach> {
        let lacks = |reach: &Reach| *reach == Reach::Far && !self.settings.far_branches;
        self.reaches[item].map(|reach| if lacks(&reach) { Reach::Never } else { reach })
    }

    /// Every instruction that may be packed, as if it were.
    fn occurrences(&self) -> HashMap<u32, Worth> {
        let mut worths: HashMap<u32, Worth> = HashMap::new();
        for item in (0..self.ground.flow.items.len()).filter(|&item| self.may_pack(item)) {
            let worth = worths.entry(self.ground.templates[item]).or_default();
            worth.image += 1;
            worth.fetches = worth.fetches.saturating_add(self.weights[item]);
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
                let worth = worths.entry(self.ground.templates[item as usize]).or_default();
                // In twelfths, which halves, thirds and quarters are.
                let part = 12 * (slots - 1) / slots;
                worth.image += part;
                let fetches = part.saturating_mul(self.weights[item as usize]);
                worth.fetches = worth.fetches.saturating_add(fetches);
            }
        }
        worths
    }

    fn assign_all(&mut self) {
        for piece in 0..self.regions.len() {
            self.assign_piece(piece);
        }
    }

    fn assign_piece(&mut self, piece: usize) {
        for number in 0..self.regions[piece].len() {
            self.assign((piece, number));
        }
    }

    fn assign(&mut self, (piece, number): Place) {
        let candidates = self.candidates((piece, number));
        // A long index in place of another, or a short one, packs alike.
        if self.made_of[piece][number] == candidates {
            return;
        }
        self.regions[piece][number].groups = self.cut((piece, number), &candidates);
        self.made_of[piece][number] = candidates;
    }

    /// The words of a region when its instructions are known like this.
    fn cut(&self, (piece, number): Place, candidates: &[Candidate]) -> Vec<Group> {
        let first = self.regions[piece][number].items.start;
        let mut groups = match self.settings.assignment {
            Assignment::Words => (0..candidates.len() as u32).map(Group::single).collect(),
            Assignment::Greedy => assign::greedy(candidates),
            Assignment::Optimal => assign::optimal(candidates),
            Assignment::Scheduled => self.scheduled((piece, number), candidates),
        };
        for group in &mut groups {
            for item in &mut group.items[..usize::from(group.slots)] {
                *item += first as u32;
            }
        }
        groups
    }

    fn candidates(&self, (piece, number): Place) -> Vec<Candidate> {
        let items = self.regions[piece][number].items.clone();
        items.map(|item| self.candidate(item, self.left_out[piece])).collect()
    }

    fn candidate(&self, item: usize, left_out: bool) -> Candidate {
        let packs = !left_out && !self.ground.pinned[item];
        let known = self.numbers.get(&self.ground.templates[item]).filter(|_| packs);
        Candidate { index: known.map(|&number| assign::Index::of(number.into())), branch: self.reach(item) }
    }

    fn scheduled(&self, (piece, number): Place, candidates: &[Candidate]) -> Vec<Group> {
        if candidates.iter().filter(|candidate| candidate.index.is_some()).count() < 2 {
            return assign::greedy(candidates);
        }
        let mut groups = Vec::new();
        for window in &self.ground.windows[piece][number] {
            let cut = assign::scheduled(&candidates[window.items.clone()], window);
            groups.extend(cut.into_iter().map(|mut group| {
                for item in &mut group.items[..usize::from(group.slots)] {
                    *item += window.items.start as u32;
                }
                group
            }));
        }
        groups
    }

    /// Leaves a piece as it is, or packs it after all.
    pub fn leave(&mut self, piece: usize, left_out: bool) {
        self.left_out[piece] = left_out;
        self.assign_piece(piece);
    }

    /// Gives addresses until every branch in a packet has room for its distance. A branch that has none is given to a
    /// format with more room, or to none, and never back: each round but the last grows one of finitely many classes,
    /// so there is a last one.
    pub fn settle(&mut self) -> Layout {
        let flow = self.ground.flow;
        let mut region_of = vec![(0, 0); flow.items.len()];
        for (piece, regions) in self.regions.iter().enumerate() {
            for (number, region) in regions.iter().enumerate() {
                region_of[region.items.clone()].fill((piece, number));
            }
        }
        loop {
            let layout = Layout::of(flow, &self.placement, &self.regions, &self.ground.alignments);
            let too_far = layout.too_far(flow);
            if too_far.is_empty() {
                return layout;
            }
            let mut again: Vec<Place> = Vec::new();
            for item in too_far {
                let needed = layout.reach(flow, item);
                let grown = self.reaches[item].map(Reach::grown);
                self.reaches[item] = needed.max(grown);
                again.push(region_of[item]);
            }
            again.sort_unstable();
            again.dedup();
            again.into_iter().for_each(|place| self.assign(place));
        }
    }

    /// The same, and leaves pieces as they are until each other one clearly gains with its branches as they are. What
    /// is left makes others longer, so that these are asked again; each round but the last leaves a piece that was not.
    pub fn select(&mut self) -> Layout {
        loop {
            let layout = self.settle();
            if !self.packs() {
                return layout;
            }
            let percent = self.settings.least_saving_percent;
            let mut left = select::left_out(self.flow(), &self.regions, &self.ground.executions, percent);
            left.retain(|&piece| !self.left_out[piece]);
            if left.is_empty() {
                return layout;
            }
            left.into_iter().for_each(|piece| self.leave(piece, true));
        }
    }

    /// The program with the words that it is written with: pieces that are left as they are have their own.
    pub fn written(&self, program: &Program) -> Flow {
        let mut flow = self.flow().clone();
        for piece in (0..flow.pieces.len()).filter(|&piece| self.left_out[piece]) {
            for item in &mut flow.items[flow.pieces[piece].items.clone()] {
                item.word = program.word_at(item.old).unwrap_or(item.word);
            }
        }
        flow
    }

    /// The dictionary, in the order of rank: short indexes keep what they reach.
    pub fn dictionary(&self) -> Dictionary {
        dict::dictionary(self.entries.clone())
    }

    /// Whether these are functions that branch to no others, nor others to parts of them.
    pub fn is_whole(&self, unit: &[usize]) -> bool {
        let flow = self.ground.flow;
        let inside = |item: usize| unit.iter().any(|&piece| flow.pieces[piece].items.contains(&item));
        let items = unit.iter().flat_map(|&piece| flow.pieces[piece].items.clone());
        let mut branches = items.filter(|&item| flow.items[item].role == Role::Branch);
        let leads_out = branches.any(|item| {
            let target = flow.items[item].refers.and_then(|(_, to)| flow.index(to));
            target.is_some_and(|target| !inside(target))
        });
        // What has no name is a part of the function before it.
        !leads_out && !flow.pieces[unit[0]].name.is_empty()
    }

    /// Whether something in these pieces must be aligned.
    pub fn is_aligned(&self, unit: &[usize]) -> bool {
        let mut items = unit.iter().map(|&piece| self.ground.flow.pieces[piece].items.clone());
        items.any(|items| self.ground.alignments.range(items).next().is_some())
    }

    /// So many words and the dictionary, in parts of the program's code.
    pub fn ratio_of(&self, words: usize) -> f64 {
        let plain = self.ground.flow.items.len() + self.ground.flow.padding_words as usize;
        (words + self.entries.len()) as f64 / plain as f64
    }

    /// Why an item is a word.
    pub fn alone(&self, item: usize) -> Alone {
        match self.ground.flow.items[item].role {
            Role::Pinned(reason) => Alone::Pinned(reason),
            _ if !self.numbers.contains_key(&self.ground.templates[item]) => Alone::NotInDictionary,
            _ if self.reach(item) == Some(Reach::Never) => Alone::Far,
            _ => Alone::NoNeighbour,
        }
    }
}
