//! What a way of packing costs, by what training runs lack in simulated caches.
//!
//! Owns: the goal and its weights, and where every stretch of the trace lies in an image as its functions are moved.

use std::collections::HashMap;

use super::trace::{Misses, SETS, Stretch, Trace, WAYS};
use crate::flow::{Flow, Role};
use crate::layout::Layout;
use crate::packer::Packer;
use crate::place::{self, Order, Placement};
use crate::profile::{Profile, Training};

/// What is aimed at.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    /// How much the time behind direct-mapped caches of 256 bytes to 16 KiB counts.
    pub weights: [f64; SETS.len()],
    /// How much it counts behind the others, with 2 and 4 ways.
    pub other_weight: f64,
    /// How much the lines count that a direct-mapped one lacks, beside the time.
    pub line_weights: [f64; SETS.len()],
    /// What a miss takes, in cycles.
    pub miss_cycles: u64,
    /// How many cycles an instruction takes but for misses, about.
    pub instruction_cycles: f64,
    /// The most that the image and its dictionary may take, in parts of the program.
    pub ratio_max: f64,
    /// How much it counts that a cache is worse off than without packing.
    pub degraded: f64,
}

impl Default for Goal {
    /// The paper's cache first; that another one is worse off than without packing counts much, and is not ruled out.
    fn default() -> Goal {
        Goal {
            weights: [0.5, 1.0, 4.0, 1.0, 1.0, 1.0, 0.5],
            other_weight: 0.25,
            line_weights: [0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0],
            miss_cycles: 120,
            instruction_cycles: 1.3,
            ratio_max: 0.91,
            degraded: 20.0,
        }
    }
}

impl Goal {
    /// One direct-mapped cache: the only one that its image will run behind.
    pub fn of_cache(bytes: u32) -> Goal {
        let of = |weight: f64| SETS.map(|sets| if sets * 16 == bytes { weight } else { 0.0 });
        Goal { weights: of(4.0), line_weights: of(4.0), other_weight: 0.0, degraded: 0.0, ..Goal::default() }
    }

    /// The sets of the one cache that counts, if it is only one.
    fn only(&self) -> Option<usize> {
        let mut counted = (0..SETS.len()).filter(|&sets| self.weights[sets] > 0.0);
        let only = counted.next().filter(|_| counted.next().is_none());
        only.filter(|_| self.other_weight == 0.0 && self.degraded == 0.0)
    }

    /// What the misses of training runs cost, beside those of the unpacked program.
    pub fn cost(&self, judge: &Judge<'_>, misses: &[Misses], ratio: f64) -> f64 {
        let cycles = |words: u64, misses: u64| {
            words as f64 * self.instruction_cycles + (self.miss_cycles * misses) as f64
        };
        let words: Vec<u64> = judge.trace.words().collect();
        let mut cost = 100.0 * (ratio - self.ratio_max).max(0.0) + ratio / 100.0;
        for sets in 0..SETS.len() {
            for way in 0..WAYS.len() {
                let of = |all: &[Misses]| all.iter().map(|misses| misses[sets][way]).sum::<u64>();
                let (after, before, all_words) = (of(misses), of(&judge.before), words.iter().sum());
                let weight = if way == 0 { self.weights[sets] } else { self.other_weight };
                cost += weight * cycles(all_words, after) / cycles(all_words, before);
                if way == 0 {
                    cost += self.line_weights[sets] * after as f64 / before.max(1) as f64;
                }
                let runs = misses.iter().zip(&judge.before).zip(&words).filter(|_| self.degraded > 0.0);
                // What is worse off in one run is, however much others gain.
                let worst = runs.map(|((after, before), &words)| {
                    cycles(words, after[sets][way]) / cycles(words, before[sets][way])
                });
                cost += self.degraded * (worst.fold(0.0, f64::max) - NOT_WORSE).max(0.0);
            }
        }
        cost
    }
}

/// Where a stretch is: in which unit, and its first and last address from there; what is fixed is in none.
type Part = (Option<usize>, u32, u32);

/// Where stretches lie in an image, and what length its units have.
#[derive(Clone)]
pub struct Seen {
    parts: Vec<Part>,
    /// By the first piece of a unit, in words.
    lengths: Vec<u32>,
    links: Vec<Link>,
}

/// A branch in a packet that goes to another unit: it is a word when it goes too far.
#[derive(Clone)]
struct Link {
    /// Its unit and its target's, and how far in them they are, in bytes.
    from: (usize, u32),
    to: (usize, u32),
    /// How far it may go, in words: from the first of these to the second.
    reach_words: (i16, i16),
    /// What it costs that it goes too far.
    cost: f64,
}

/// The trace of a program, and what unpacked it lacks.
pub struct Judge<'a> {
    flow: &'a Flow,
    trace: Trace,
    /// By item, the first piece of its unit, and its piece.
    unit_of: Vec<usize>,
    piece_of: Vec<usize>,
    /// By run.
    before: Vec<Misses>,
    /// By item, its share of the misses of the unpacked program.
    missed: Vec<u64>,
    missed_total: u64,
}

impl<'a> Judge<'a> {
    /// Of a program with its functions in this order; where that is the packer's, its own is what is compared with.
    pub fn new(flow: &'a Flow, training: &[Training], order: Order, merged: &Profile) -> Judge<'a> {
        let mut unit_of = vec![0; flow.items.len()];
        let mut last_of_unit = vec![0; flow.items.len()];
        for unit in place::units(flow) {
            let last = flow.pieces[unit[unit.len() - 1]].items.end as u32 - 1;
            for item in unit.iter().flat_map(|&piece| flow.pieces[piece].items.clone()) {
                (unit_of[item], last_of_unit[item]) = (unit[0], last);
            }
        }
        let mut piece_of = vec![0; flow.items.len()];
        for (number, piece) in flow.pieces.iter().enumerate() {
            piece_of[piece.items.clone()].fill(number);
        }
        let trace = Trace::of(flow, &last_of_unit, training);
        let mut judge =
            Judge { flow, trace, unit_of, piece_of, before: Vec::new(), missed: Vec::new(), missed_total: 0 };
        let order = if order == Order::Hot { Order::Given } else { order };
        let placement = Placement::of(flow, order, merged);
        let places = judge.plain_places(&placement);
        judge.before = judge.trace.misses(&places);
        judge.missed = judge.shares(&places, |stretch, item| match judge.trace.stretches[stretch] {
            Stretch::Items(first, _) => places[stretch].0 + (item - first) * 4,
            Stretch::Fixed(..) => unreachable!("it has no items"),
        });
        judge.missed_total = judge.missed.iter().sum();
        judge
    }

    fn plain_places(&self, placement: &Placement) -> Vec<(u32, u32)> {
        let mut lengths = vec![0; self.flow.pieces.len()];
        for unit in &placement.units {
            lengths[unit[0]] = unit.iter().map(|&piece| self.flow.pieces[piece].items.len() as u32).sum();
        }
        let parts = self.trace.stretches.iter().map(|stretch| match *stretch {
            Stretch::Items(first, last) => {
                let unit = self.unit_of[first as usize];
                let start = self.flow.items[self.flow.pieces[unit].items.start].old;
                let offset = |item: u32| self.flow.items[item as usize].old - start;
                (Some(unit), offset(first), offset(last))
            }
            Stretch::Fixed(first, last) => (None, first, last),
        });
        let seen = Seen { parts: parts.collect(), lengths, links: Vec::new() };
        self.places(&seen, placement)
    }

    /// Where stretches lie in a layout.
    pub fn seen(&self, packer: &Packer<'_>, layout: &Layout) -> Seen {
        let flow = packer.flow();
        let (mut unit_of, mut starts) = (vec![0; flow.pieces.len()], vec![0; flow.pieces.len()]);
        for unit in &packer.placement.units {
            unit.iter().for_each(|&piece| unit_of[piece] = unit[0]);
            starts[unit[0]] = layout.places[flow.pieces[unit[0]].items.start] & !3;
        }
        let place = |item: usize| {
            let unit = unit_of[self.piece_of[item]];
            (unit, (layout.places[item] & !3).wrapping_sub(starts[unit]))
        };
        let stands = stands(packer);
        let stands = |item: u32| place(stands[item as usize] as usize);
        let parts = self.trace.stretches.iter().map(|stretch| match *stretch {
            Stretch::Items(first, last) => {
                let (unit, first) = stands(first);
                (Some(unit), first, stands(last).1)
            }
            Stretch::Fixed(first, last) => (None, first, last),
        });
        let mut lengths = vec![0; flow.pieces.len()];
        for unit in &packer.placement.units {
            let words = |piece: &usize| {
                packer.regions[*piece].iter().map(|region| region.groups.len() as u32).sum::<u32>()
            };
            lengths[unit[0]] = unit.iter().map(words).sum();
        }
        Seen { parts: parts.collect(), lengths, links: self.links(flow, layout, place) }
    }

    /// Branches in packets that go to other units; `place` tells an item's unit, and how far in it is.
    fn links(&self, flow: &Flow, layout: &Layout, place: impl Fn(usize) -> (usize, u32)) -> Vec<Link> {
        let mut links = Vec::new();
        for group in layout.words.iter().filter_map(|word| word.1) {
            let Some((least, most)) = group.format.and_then(|format| format.reach_words()) else { continue };
            for item in group.items().iter().map(|&item| item as usize) {
                let target = flow.items[item].refers.filter(|_| flow.items[item].role == Role::Branch);
                let Some(target) = target.and_then(|(_, to)| flow.index(to)) else { continue };
                let (from, to) = (place(item), place(target));
                if from.0 != to.0 {
                    let share = self.missed[item] as f64 / self.missed_total.max(1) as f64;
                    let cost = COLD_LINK_COST + HOT_LINK_COST * share;
                    links.push(Link { from, to, reach_words: (least, most), cost });
                }
            }
        }
        links
    }

    /// What it costs that branches go too far with units so placed.
    pub fn broken(&self, seen: &Seen, placement: &Placement) -> f64 {
        if seen.links.is_empty() {
            return 0.0;
        }
        let starts = self.starts(seen, placement);
        let too_far = seen.links.iter().filter(|link| {
            let place = |(unit, bytes): (usize, u32)| i64::from(starts[unit] + bytes);
            let distance_words = (place(link.to) - place(link.from)) / 4;
            let (least, most) = link.reach_words;
            !(i64::from(least)..=i64::from(most)).contains(&distance_words)
        });
        too_far.map(|link| link.cost).sum()
    }

    fn places(&self, seen: &Seen, placement: &Placement) -> Vec<(u32, u32)> {
        let starts = self.starts(seen, placement);
        let place = |&(unit, first, last): &Part| match unit {
            Some(unit) => (starts[unit] + first, starts[unit] + last),
            None => (first, last),
        };
        seen.parts.iter().map(place).collect()
    }

    /// By the first piece of each unit, its address.
    fn starts(&self, seen: &Seen, placement: &Placement) -> Vec<u32> {
        let mut starts = vec![0; self.flow.pieces.len()];
        let mut next: Vec<(u32, u32)> = Vec::new();
        for (unit, room_words) in placement.units.iter().zip(&placement.room_words) {
            let section = self.flow.pieces[unit[0]].section;
            let at = match next.iter_mut().find(|next| next.0 == section) {
                Some((_, at)) => at,
                None => {
                    next.push((section, section));
                    &mut next.last_mut().expect("there is one").1
                }
            };
            *at += room_words * 4;
            starts[unit[0]] = *at;
            *at += seen.lengths[unit[0]] * 4;
        }
        starts
    }

    /// What caches lack of an image with its functions so placed, by run; where one cache counts alone, only what that
    /// lacks in all of them.
    pub fn misses(&self, goal: &Goal, seen: &Seen, placement: &Placement) -> Vec<Misses> {
        let places = self.places(seen, placement);
        match goal.only() {
            None => self.trace.misses(&places),
            Some(sets) => {
                let mut misses = Misses::default();
                misses[sets][0] = self.trace.misses_direct(&places, SETS[sets]);
                vec![misses]
            }
        }
    }

    /// By item, how often a line with it was lacking, the stretches and the items of each lying at these addresses; the
    /// paper's cache counts most.
    fn shares(&self, places: &[(u32, u32)], address: impl Fn(usize, u32) -> u32) -> Vec<u64> {
        let mut by_line: HashMap<(usize, u32), u64> = HashMap::new();
        self.trace.ask(places, |_, stretch, line, depths, times| {
            let worth: u64 = MISS_WORTHS[..depths.len()].iter().sum();
            *by_line.entry((stretch, line)).or_default() += times * worth;
        });
        let mut shares = vec![0; self.flow.items.len()];
        for ((stretch, line), count) in by_line {
            if let Stretch::Items(first, last) = self.trace.stretches[stretch] {
                for item in (first..=last).filter(|&item| address(stretch, item) >> 4 == line) {
                    shares[item as usize] += count;
                }
            }
        }
        shares
    }

    /// By item, its share of the misses of an image.
    pub fn lacking(&self, packer: &Packer<'_>, layout: &Layout) -> Vec<u64> {
        let stands = stands(packer);
        let address = |item: u32| layout.places[item as usize] & !3;
        let places = self.trace.stretches.iter().map(|stretch| match *stretch {
            Stretch::Items(first, last) => (address(stands[first as usize]), address(stands[last as usize])),
            Stretch::Fixed(first, last) => (first, last),
        });
        self.shares(&places.collect::<Vec<_>>(), |_, item| address(item))
    }

    /// By item, its share of the misses of the unpacked program.
    pub fn weights(&self) -> Vec<u64> {
        self.missed.clone()
    }

    /// The pieces with the most misses.
    pub fn hottest_pieces(&self, count: usize) -> Vec<usize> {
        let heat =
            |piece: usize| self.flow.pieces[piece].items.clone().map(|item| self.missed[item]).sum::<u64>();
        let mut heats: Vec<(u64, usize)> =
            (0..self.flow.pieces.len()).map(|piece| (heat(piece), piece)).collect();
        heats.retain(|heat| heat.0 > 0);
        heats.sort_by_key(|&(heat, piece)| (std::cmp::Reverse(heat), piece));
        heats.into_iter().take(count).map(|(_, piece)| piece).collect()
    }

    /// The units with the most misses, by their first pieces.
    pub fn hottest_units(&self, placement: &Placement, count: usize) -> Vec<usize> {
        let mut heats: Vec<(u64, usize)> =
            placement.units.iter().map(|unit| (self.heat(unit), unit[0])).collect();
        heats.retain(|heat| heat.0 > 0);
        heats.sort_by_key(|&(heat, first)| (std::cmp::Reverse(heat), first));
        heats.into_iter().take(count).map(|(_, first)| first).collect()
    }

    fn heat(&self, unit: &[usize]) -> u64 {
        unit.iter()
            .flat_map(|&piece| self.flow.pieces[piece].items.clone())
            .map(|item| self.missed[item])
            .sum()
    }

    /// By unit of a placement, whether it is fetched at all in the trace, and how long it is in an image.
    pub fn used(&self, seen: &Seen, placement: &Placement) -> Vec<(bool, u32)> {
        let mut used = vec![false; self.flow.pieces.len()];
        seen.parts.iter().filter_map(|part| part.0).for_each(|unit| used[unit] = true);
        placement.units.iter().map(|unit| (used[unit[0]], seen.lengths[unit[0]])).collect()
    }

    /// How many units there are before the first of those without a miss behind which there are only such.
    pub fn hot_units(&self, placement: &Placement) -> usize {
        placement.units.iter().rposition(|unit| self.heat(unit) > 0).map_or(0, |last| last + 1)
    }
}

/// By item, which one stands where it stood in its block: a stretch ends with a delay instruction, and that may be
/// another one.
fn stands(packer: &Packer<'_>) -> Vec<u32> {
    let mut stands = vec![0; packer.flow().items.len()];
    for region in packer.regions.iter().flatten() {
        let order = region.groups.iter().flat_map(|group| group.items());
        stands[region.items.clone()].iter_mut().zip(order).for_each(|(stands, &item)| *stands = item);
    }
    stands
}

/// What it costs that a branch needs a word of its own: the word, and its fetches.
const COLD_LINK_COST: f64 = 0.0005;
const HOT_LINK_COST: f64 = 4.0;
/// What a run may take beside the unpacked program before that counts as worse off: measured runs differ a little.
const NOT_WORSE: f64 = 0.995;
/// What a miss is worth by the cache that lacks the line, the smallest first.
const MISS_WORTHS: [u64; SETS.len()] = [1, 2, 8, 2, 2, 1, 1];
