//! Packing for the caches that a program will run behind: of many ways to pack it, the one with the fewest misses in
//! training runs.
//!
//! Owns: what is tried, in which order, and what decides ([`Goal`]). Each way is made by `packer` and judged by asking
//! simulated caches for what training runs fetched (`tune::trace`); no run is made here. What a cache lacks decides and
//! not what is fetched: a packet in a loop that fits the cache saves nothing, and one behind a conflict costs more than
//! it saves.

mod gaps;
mod judge;
mod trace;

use crate::code::dict;
use crate::error::Error;
use crate::flow::{Choice, Flow};
use crate::limits::{DICTIONARY_PERCENTS, EXCHANGE_ROUNDS};
use crate::packer::{Ground, Packer};
use crate::packing::{self, Assignment, Nothing, Packed, Settings};
use crate::place::{Draw, Order, Placement};
use crate::profile::{Profile, Training};
use crate::program::Program;

use gaps::Filling;
pub use judge::Goal;
use judge::{Judge, Seen};

/// What is tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effort {
    /// The shares of the profile in the dictionary, in percent.
    pub dynamic_percents: Vec<u8>,
    /// How many functions are tried unpacked, those with the most misses first.
    pub left_out: usize,
    /// How many functions are tried with room before them.
    pub spaced: usize,
    /// How many other orders of functions are tried, where their order is free.
    pub exchanges: usize,
}

impl Default for Effort {
    fn default() -> Effort {
        Effort {
            dynamic_percents: vec![20, 35, 45, 55, 65, 75, 85],
            left_out: 16,
            spaced: 48,
            exchanges: 6000,
        }
    }
}

/// Packs a program for these runs. The dictionary of `settings` is where the search begins.
///
/// # Errors
/// What is wrong with the settings, or cannot be followed in the program.
pub fn pack(
    program: &Program,
    training: &[Training],
    settings: &Settings,
    goal: &Goal,
    effort: &Effort,
) -> Result<Packed, Error> {
    let profiles: Vec<Profile> = training.iter().map(|training| training.profile.clone()).collect();
    settings.dictionary.check(settings.entries, true)?;
    if profiles.is_empty() {
        return Err(Error::NoProfile { what: "packing for caches" });
    }
    if settings.assignment == Assignment::Words && settings.order != Order::Hot {
        return packing::pack(program, &profiles, settings);
    }
    if !program.relocated {
        return Ok(packing::unpacked(program, Nothing::NoRelocations));
    }
    let mut best: Option<Found> = None;
    // Parts that lie apart may be farther from each other than a branch reaches: whole functions are there.
    let cuts = if settings.order == Order::Hot {
        vec![Cut::Parts, Cut::Everywhere, Cut::Asked]
    } else {
        vec![Cut::Asked]
    };
    for (at, &cut) in cuts.iter().enumerate() {
        let is_last = at + 1 == cuts.len();
        if is_last && best.as_ref().is_some_and(|best| !best.is_nothing()) {
            break;
        }
        let split = cut != Cut::Asked || settings.choice.split;
        let settings = Settings { choice: Choice { split, ..settings.choice.clone() }, ..settings.clone() };
        let way = Way { cut, goal, effort, spaces_words: false };
        let found = search(program, training, &profiles, &settings, &way);
        if !is_last && matches!(found, Err(Error::TooFar { .. })) {
            continue;
        }
        let found = found?;
        if best.as_ref().is_none_or(|best| found.is_better(best)) {
            best = Some(found);
        }
    }
    Ok(best.expect("there is one way at least").packed)
}

/// The unpacked program in an order that was drawn, with room before its functions by the same search as a packed one gets
/// it: what of a packed one's gain comes of where it lies.
///
/// # Errors
/// As [`pack`].
///
/// # Panics
/// In the packer's own order.
pub fn with_room(
    program: &Program,
    training: &[Training],
    settings: &Settings,
    goal: &Goal,
    effort: &Effort,
) -> Result<Packed, Error> {
    assert!(settings.order != Order::Hot, "there functions lie where the packer wants them");
    let profiles: Vec<Profile> = training.iter().map(|training| training.profile.clone()).collect();
    let settings = Settings { assignment: Assignment::Words, ..settings.clone() };
    let way = Way { cut: Cut::Asked, goal, effort, spaces_words: true };
    Ok(search(program, training, &profiles, &settings, &way)?.packed)
}

/// What a search found.
struct Found {
    /// What it was judged by.
    cost: f64,
    packed: Packed,
}

impl Found {
    /// Whether it is the program as it was.
    fn is_nothing(&self) -> bool {
        self.packed.report.nothing.is_some()
    }

    /// Whether it is to be taken in place of another one. The cost of what was discarded since it would not gain says
    /// nothing of the program that was left in its place.
    fn is_better(&self, other: &Found) -> bool {
        (self.is_nothing(), self.cost) < (other.is_nothing(), other.cost)
    }
}

/// How functions are cut. Parts that lie in orders of their own have fewer branches in packets; which is better, the
/// caches say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    /// As the settings say.
    Asked,
    /// Where that brings something, in what is executed and what is not.
    Parts,
    /// Wherever they can be.
    Everywhere,
}

/// How a search goes about it.
struct Way<'a> {
    cut: Cut,
    goal: &'a Goal,
    effort: &'a Effort,
    /// Room is left before functions of which nothing is packed, too.
    spaces_words: bool,
}

/// The best way to pack with these settings, and what it costs.
fn search(
    program: &Program,
    training: &[Training],
    profiles: &[Profile],
    settings: &Settings,
    way: &Way<'_>,
) -> Result<Found, Error> {
    let &Way { cut, goal, effort, spaces_words } = way;
    let plain = Flow::of(program, &settings.choice)?;
    let mut flow = plain.clone();
    packing::rewrite(&mut flow, settings);
    let merged = Profile::merged(profiles);
    let judge = Judge::new(&plain, training, settings.order, &merged);
    let ground = Ground::of(&flow, settings.assignment, profiles)?;
    let search = Search { judge: &judge, goal, settings, cut, spaces_words, merged: &merged };
    let best = search.place_all(search.pack(&ground, effort), effort);
    Ok(Found { cost: best.cost, packed: packing::finish(program, best.packer)? })
}

struct Search<'a> {
    judge: &'a Judge<'a>,
    goal: &'a Goal,
    settings: &'a Settings,
    cut: Cut,
    spaces_words: bool,
    merged: &'a Profile,
}

impl<'a> Search<'a> {
    /// What shares words, with functions where their order has them.
    fn pack(&self, ground: &'a Ground<'a>, effort: &Effort) -> Tried<'a> {
        let mut best = self.dictionaries(ground, effort);
        self.leave_out(&mut best, effort.left_out);
        best
    }

    /// Where functions lie.
    fn place_all(&self, mut best: Tried<'a>, effort: &Effort) -> Tried<'a> {
        best.cost = self.cost(&best, &best.packer.placement, best.words);
        if self.settings.order == Order::Hot {
            if self.cut == Cut::Parts {
                self.part(&mut best);
            }
            self.exchange(&mut best, effort.exchanges / 2);
            if best.packer.packs() {
                self.follow(&mut best, FOLLOWED_ROUNDS);
            }
            self.exchange(&mut best, effort.exchanges / 2);
        } else if best.packer.packs() || self.spaces_words {
            (0..SPACING_ROUNDS).for_each(|_| self.space(&mut best, effort.spaced));
        }
        best
    }

    /// As an image would be, with what does not gain left as it is.
    fn tried(&self, mut packer: Packer<'a>) -> Tried<'a> {
        let layout = packer.select();
        let words = layout.words.len();
        let seen = self.judge.seen(&packer, &layout);
        let misses = self.judge.misses(self.goal, &seen, &packer.placement);
        let ratio = packer.ratio_of(words);
        let cost = self.goal.cost(self.judge, &misses, ratio);
        Tried { packer, seen, cost, words }
    }

    /// The best dictionary, by weight of fetches and of misses, and by how much of it is for the image's size.
    fn dictionaries(&self, ground: &'a Ground<'a>, effort: &Effort) -> Tried<'a> {
        let mut base = Packer::new(ground, self.settings, self.merged);
        if self.cut == Cut::Parts {
            base.placement = Placement::whole(ground.flow, self.merged);
        }
        if self.settings.assignment == Assignment::Words {
            base.choose_dictionary(&DICTIONARY_PERCENTS);
            return self.tried(base);
        }
        let missed = self.judge.weights();
        let mixed = mixed(&missed, &base.weights);
        let percents = || effort.dynamic_percents.iter();
        let ways = [&missed, &mixed].into_iter().flat_map(|weights| percents().map(move |&p| (p, weights)));
        let mut best = self.chosen(base.clone(), &SCREENING_PERCENTS);
        for (dynamic_percent, weights) in ways {
            let way = base.again(dict::Choice::Blend { dynamic_percent }, weights);
            best.or(self.chosen(way, &SCREENING_PERCENTS));
        }
        let again = best.packer.again(best.packer.choice, &best.packer.weights);
        best.or(self.chosen(again, &DICTIONARY_PERCENTS));
        self.follow(&mut best, FOLLOWED_ROUNDS);
        let mut packer = best.packer.clone();
        packer.exchange(EXCHANGE_ROUNDS);
        best.or(self.tried(packer));
        best
    }

    /// With the dictionary that is the best of its kind.
    fn chosen(&self, mut packer: Packer<'a>, percents: &[usize]) -> Tried<'a> {
        packer.choose_dictionary(percents);
        self.tried(packer)
    }

    /// Chooses the dictionary again by what the image lacks that came of the last choice, as long as that is better.
    fn follow(&self, best: &mut Tried<'a>, rounds: usize) {
        for _ in 0..rounds {
            let dict::Choice::Blend { dynamic_percent } = best.packer.choice else { return };
            let lacking = self.judge.lacking(&best.packer, &best.packer.clone().settle());
            let weights = mixed(&lacking, &best.packer.weights);
            let less = dynamic_percent.saturating_sub(NEAR_PERCENT);
            let mut better = false;
            for percent in [less, dynamic_percent, 100.min(dynamic_percent + NEAR_PERCENT)] {
                let way = best.packer.again(dict::Choice::Blend { dynamic_percent: percent }, &weights);
                better |= best.or(self.chosen(way, &SCREENING_PERCENTS));
            }
            if !better {
                return;
            }
        }
    }

    /// Leaves pieces as they are where that costs less.
    fn leave_out(&self, best: &mut Tried<'a>, count: usize) {
        if !best.packer.packs() {
            return;
        }
        for piece in self.judge.hottest_pieces(count) {
            let mut packer = best.packer.clone();
            packer.leave(piece, true);
            best.or(self.tried(packer));
        }
    }

    /// Cuts functions in what is executed and what is not, where that costs less.
    fn part(&self, best: &mut Tried<'a>) {
        for first in self.judge.hottest_units(&best.packer.placement, PARTED_MAX) {
            for far in [false, true] {
                let placement = &best.packer.placement;
                let Some(at) = placement.units.iter().position(|unit| unit[0] == first) else { continue };
                let parted = placement.parted(best.packer.flow(), self.merged, at, far);
                let Some(placement) = parted else { continue };
                let mut packer = best.packer.clone();
                packer.placement = placement;
                best.or(self.tried(packer));
            }
        }
    }

    /// Gives units that are fetched another order, and leaves gaps before them, where that costs less; then fills the
    /// gaps with units that are not.
    fn exchange(&self, best: &mut Tried<'a>, count: usize) {
        let filling = Filling::of(self.judge, best);
        let hot = filling.first_unused;
        if hot < 2 {
            return;
        }
        let cost = |placement: &Placement| {
            let gaps = placement.room_words.iter().filter(|words| **words > 0).count();
            self.cost(best, placement, best.words) + GAP_COST * gaps as f64
        };
        let (mut draw, mut now) = (Draw::from(1), filling.start.clone());
        let mut now_cost = cost(&now);
        let (mut least, mut least_cost) = (now.clone(), now_cost);
        for trial in 0..count {
            // Worse ones are taken as well, less and less so (G. Dueck and T. Scheuer, "Threshold accepting", 1990).
            let worse = now_cost * THRESHOLD * (1.0 - trial as f64 / count as f64);
            let mut next = now.clone();
            filling.change(&mut next, &mut draw);
            if next.room_words.iter().sum::<u32>() > filling.words / 2 {
                continue;
            }
            let next_cost = cost(&next);
            if next_cost < now_cost + worse {
                (now, now_cost) = (next, next_cost);
            }
            if now_cost < least_cost {
                (least, least_cost) = (now.clone(), now_cost);
            }
        }
        filling.fill(&mut least);
        let mut packer = best.packer.clone();
        packer.placement = least;
        best.or(self.tried(packer));
    }

    /// Leaves room before units where that costs less.
    fn space(&self, best: &mut Tried<'a>, count: usize) {
        for first in self.judge.hottest_units(&best.packer.placement, count) {
            let at = best.packer.placement.units.iter().position(|unit| unit[0] == first);
            let Some(at) = at else { continue };
            for words in ROOMS_WORDS {
                let mut placement = best.packer.placement.clone();
                placement.room_words[at] = words;
                self.place(best, placement);
            }
        }
    }

    /// Takes a placement if it costs less.
    fn place(&self, best: &mut Tried<'a>, placement: Placement) {
        let rooms = |placement: &Placement| placement.room_words.iter().sum::<u32>() as usize;
        let words = best.words + rooms(&placement) - rooms(&best.packer.placement);
        let cost = self.cost(best, &placement, words);
        if cost < best.cost {
            best.packer.placement = placement;
            (best.cost, best.words) = (cost, words);
        }
    }

    /// What it would cost with so many words, placed so.
    fn cost(&self, tried: &Tried<'_>, placement: &Placement, words: usize) -> f64 {
        let misses = self.judge.misses(self.goal, &tried.seen, placement);
        let broken = self.judge.broken(&tried.seen, placement);
        self.goal.cost(self.judge, &misses, tried.packer.ratio_of(words)) + broken
    }
}

/// How often a dictionary is chosen anew by what its image lacks.
const FOLLOWED_ROUNDS: usize = 1;
/// How much more or less of it is for fetches then, in percent.
const NEAR_PERCENT: u8 = 10;
/// How often room between functions is given out.
const SPACING_ROUNDS: usize = 2;
/// How many functions are tried in parts, those with the most misses first.
const PARTED_MAX: usize = 32;
/// What a gap costs: what it is filled with seldom fits exactly.
const GAP_COST: f64 = 0.004;
/// How much worse an order may be than the one before it, in parts of its cost, at first.
const THRESHOLD: f64 = 0.003;
/// The room that is tried before a unit, in words: to begin elsewhere in a line, and in another line.
const ROOMS_WORDS: [u32; 12] = [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64];

/// The sizes of dictionaries on the way to one that is only looked at.
const SCREENING_PERCENTS: [usize; 5] = [200, 150, 120, 105, 100];

/// The mean of both weights, each as a share of its whole.
fn mixed(missed: &[u64], fetched: &[u64]) -> Vec<u64> {
    let total = |weights: &[u64]| weights.iter().sum::<u64>().max(1) as f64;
    let (all_missed, all_fetched) = (total(missed), total(fetched));
    let shares = missed.iter().zip(fetched);
    let share = |(&missed, &fetched): (&u64, &u64)| missed as f64 / all_missed + fetched as f64 / all_fetched;
    shares.map(|both| (share(both) * 1e12) as u64).collect()
}

/// A way of packing, and what it costs.
struct Tried<'a> {
    packer: Packer<'a>,
    seen: Seen,
    cost: f64,
    words: usize,
}

impl<'a> Tried<'a> {
    /// Becomes another one that costs less; whether it does.
    fn or(&mut self, other: Tried<'a>) -> bool {
        let better = other.cost < self.cost;
        if better {
            *self = other;
        }
        better
    }
}
