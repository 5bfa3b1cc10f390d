//! Entries of a dictionary given up for others that save more.
//!
//! Owns: what an image loses without one of its entries, and gains by a new one, each found by making the packets of
//! all regions anew that have it; and which entries are named by short indexes. Where ranks by what shares packets end
//! (`code::dict`), these go on: of a packet that loses one of its instructions the others may find another.

use std::collections::HashMap;

use super::{Packer, Place};
use crate::code::assign::{Candidate, Group, Index};
use crate::code::dict;
use crate::code::packet::{ENTRIES_SHORT, Format, SLOTS_MAX};
use crate::select;

/// How many words that the dictionary lacks are tried.
const TRIED_MAX: usize = 384;

/// What a word of the image costs.
#[derive(Clone, Copy)]
struct Price {
    /// For its room.
    word: f64,
    /// For each fetch of it.
    fetch: f64,
}

impl Packer<'_> {
    /// Gives up entries for others as long as that makes the image cost less, so often at most.
    pub fn exchange(&mut self, rounds: usize) {
        let Some(price) = self.price() else { return };
        for _ in 0..rounds {
            let shortened = self.shorten(price);
            if !self.exchange_once(price) && !shortened {
                return;
            }
        }
    }

    /// Room and fetches, each as a share of its whole; `None` for a dictionary that is made of two.
    fn price(&self) -> Option<Price> {
        let percent = match self.choice {
            dict::Choice::Static => 0,
            dict::Choice::Dynamic => 100,
            dict::Choice::Blend { dynamic_percent } => dynamic_percent,
            dict::Choice::Multi { .. } => return None,
        };
        let dynamic = f64::from(percent) / 100.0;
        let fetches = select::sum(self.weights.iter().copied()).max(1) as f64;
        Some(Price { word: (1.0 - dynamic) / self.weights.len().max(1) as f64, fetch: dynamic / fetches })
    }

    fn cost(&self, price: Price, groups: &[Group]) -> f64 {
        let fetched = select::sum(groups.iter().map(|group| self.weights[group.items[0] as usize]));
        price.word * groups.len() as f64 + price.fetch * fetched as f64
    }

    fn cost_of_all(&self, price: Price) -> f64 {
        self.regions.iter().flatten().map(|region| self.cost(price, &region.groups)).sum()
    }

    /// By what may be an entry, the regions that have it.
    fn regions_with(&self) -> HashMap<u32, Vec<Place>> {
        let mut with: HashMap<u32, Vec<Place>> = HashMap::new();
        for (piece, regions) in self.regions.iter().enumerate().filter(|(piece, _)| !self.left_out[*piece]) {
            for (number, region) in regions.iter().enumerate() {
                for item in region.items.clone().filter(|&item| self.may_pack(item)) {
                    let places = with.entry(self.ground.templates[item]).or_default();
                    if places.last() != Some(&(piece, number)) {
                        places.push((piece, number));
                    }
                }
            }
        }
        with
    }

    /// How much less regions cost when an instruction is known by this index, or is not.
    fn gain(&self, price: Price, places: &[Place], template: u32, index: Option<Index>) -> f64 {
        let gain = |&(piece, number): &Place| {
            let region = &self.regions[piece][number];
            let mut candidates = self.candidates((piece, number));
            for (candidate, item) in candidates.iter_mut().zip(region.items.clone()) {
                if self.ground.templates[item] == template && self.may_pack(item) {
                    candidate.index = index;
                }
            }
            self.cost(price, &region.groups) - self.cost(price, &self.cut((piece, number), &candidates))
        };
        places.iter().map(gain).sum()
    }

    /// Exchanges as many entries as bring something; whether any did.
    fn exchange_once(&mut self, price: Price) -> bool {
        let with = self.regions_with();
        let none = Vec::new();
        let places = |template: &u32| with.get(template).unwrap_or(&none);
        let loss = |entry: &u32| (-self.gain(price, places(entry), *entry, None), *entry);
        let mut losses: Vec<(f64, u32)> = self.entries.iter().map(loss).collect();
        losses.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let tried = self.worth_trying(price).into_iter();
        let gain = |entry: u32| (self.gain(price, places(&entry), entry, Some(Index::Long)), entry);
        let mut gains: Vec<(f64, u32)> = tried.map(gain).collect();
        gains.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut count = losses.iter().zip(&gains).take_while(|(loss, gain)| gain.0 > loss.0).count();
        let before = self.cost_of_all(price);
        while count > 0 {
            let mut next = self.clone();
            let lost: Vec<u32> = losses[..count].iter().map(|loss| loss.1).collect();
            let kept = self.entries.iter().copied().filter(|entry| !lost.contains(entry));
            next.set_entries(kept.chain(gains[..count].iter().map(|gain| gain.1)).collect());
            next.assign_all();
            if next.cost_of_all(price) < before {
                *self = next;
                return true;
            }
            count /= 2;
        }
        false
    }

    /// What the dictionary lacks and occurs most.
    fn worth_trying(&self, price: Price) -> Vec<u32> {
        let value = |worth: dict::Worth| price.word * worth.image as f64 + price.fetch * worth.fetches as f64;
        let lacks = |template: &u32| !self.numbers.contains_key(template);
        let known = self.occurrences().into_iter().filter(|(template, _)| lacks(template));
        let mut valued: Vec<(f64, u32)> = known.map(|(template, worth)| (value(worth), template)).collect();
        valued.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        valued.into_iter().take(TRIED_MAX).map(|valued| valued.1).collect()
    }

    /// Gives short indexes to entries whose packets need them, as far as it would show if all were short; whether that
    /// costs less.
    fn shorten(&mut self, price: Price) -> bool {
        let mut needs: HashMap<u32, f64> = HashMap::new();
        for (piece, regions) in self.regions.iter().enumerate() {
            for number in 0..regions.len() {
                let mut candidates = self.candidates((piece, number));
                let known = |candidate: &&mut Candidate| candidate.index.is_some();
                candidates.iter_mut().filter(known).for_each(|known| known.index = Some(Index::Short));
                for group in self.cut((piece, number), &candidates) {
                    let value = self.cost(price, &[group]);
                    for &item in group.items().iter().filter(|&&item| self.needs_short(&group, item)) {
                        *needs.entry(self.ground.templates[item as usize]).or_default() += value;
                    }
                }
            }
        }
        let mut entries = self.entries.clone();
        let need = |entry: &u32| needs.get(entry).copied().unwrap_or(0.0);
        entries.sort_by(|a, b| need(b).total_cmp(&need(a)));
        let short: Vec<u32> = entries.iter().take(ENTRIES_SHORT).copied().collect();
        let long = self.entries.iter().copied().filter(|entry| !short.contains(entry));
        let mut next = self.clone();
        next.set_entries(short.iter().copied().chain(long).collect());
        next.assign_all();
        let better = next.cost_of_all(price) < self.cost_of_all(price);
        if better {
            *self = next;
        }
        better
    }

    /// Whether a packet would not be one if this of its instructions had a long index.
    fn needs_short(&self, group: &Group, item: u32) -> bool {
        match group.format {
            Some(Format::Four) => usize::from(group.slots) == SLOTS_MAX,
            Some(Format::ThreeBranch) => true,
            Some(Format::FarBranch) => self.reaches[item as usize].is_some(),
            _ => false,
        }
    }
}
