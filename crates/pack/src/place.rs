//! In which order functions lie.
//!
//! Owns: the order as the linker gave it, orders drawn from a seed, and one that follows a profile: functions that call
//! each other often lie beside each other (after Pettis and Hansen, PLDI 1990), the hottest first. Functions that run
//! into each other stay together. Addresses are `layout`'s.

use std::collections::BTreeMap;

use crate::flow::Flow;
use crate::profile::Profile;
use crate::program::Form;

/// An order of functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// As in the program.
    Given,
    /// Drawn from a seed.
    Seeded(u64),
    /// What is executed together lies together, the most executed first.
    Hot,
}

/// Where pieces lie: behind each other, with room between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// What stays together, in the order of addresses: pieces by their numbers in [`Flow::pieces`].
    pub units: Vec<Vec<usize>>,
    /// Words that are left free before each of them.
    pub room_words: Vec<u32>,
}

impl Placement {
    /// The pieces of a program in this order, without room.
    pub fn of(flow: &Flow, order: Order, profile: &Profile) -> Placement {
        let units = units(flow);
        let units = match order {
            Order::Given => units,
            Order::Seeded(seed) => shuffled(units, seed),
            Order::Hot => hot_first(flow, cold_together(flow, units, profile), profile),
        };
        Placement { room_words: vec![0; units.len()], units }
    }

    /// Functions by their heat, each in one piece though it could be cut.
    pub fn whole(flow: &Flow, profile: &Profile) -> Placement {
        let units = hot_first(flow, functions(flow), profile);
        Placement { room_words: vec![0; units.len()], units }
    }

    /// With a unit cut in two: what a profile executes, and behind that, or behind all units, what it does not. `None`
    /// when it has not both, or control runs from the one into the other.
    pub fn parted(&self, flow: &Flow, profile: &Profile, at: usize, far: bool) -> Option<Placement> {
        let parts: Vec<Vec<usize>> = together(flow, &self.units[at]);
        let (cold, hot): (Vec<Vec<usize>>, _) =
            parts.into_iter().partition(|part| heat(flow, part, profile).0 == 0);
        if cold.is_empty() || hot.is_empty() {
            return None;
        }
        let mut parted = self.clone();
        parted.units[at] = hot.concat();
        let behind = if far { parted.units.len() } else { at + 1 };
        parted.units.insert(behind, cold.concat());
        parted.room_words.insert(behind, 0);
        Some(parted)
    }
}

/// Pieces that stay together.
pub fn units(flow: &Flow) -> Vec<Vec<usize>> {
    together(flow, &(0..flow.pieces.len()).collect::<Vec<_>>())
}

/// Of pieces that lie behind each other, those that stay together.
fn together(flow: &Flow, pieces: &[usize]) -> Vec<Vec<usize>> {
    let mut units: Vec<Vec<usize>> = Vec::new();
    for &number in pieces {
        let piece = &flow.pieces[number];
        let joins = |unit: &&mut Vec<usize>| {
            let last = unit[unit.len() - 1];
            piece.follows && last + 1 == number && flow.pieces[last].section == piece.section
        };
        match units.last_mut().filter(joins) {
            Some(unit) => unit.push(number),
            None => units.push(vec![number]),
        }
    }
    units
}

/// Pieces that stay together, and what has no name with the function before it.
fn functions(flow: &Flow) -> Vec<Vec<usize>> {
    let mut functions: Vec<Vec<usize>> = Vec::new();
    for unit in units(flow) {
        let piece = &flow.pieces[unit[0]];
        let joins =
            |last: &&mut Vec<usize>| piece.name.is_empty() && flow.pieces[last[0]].section == piece.section;
        match functions.last_mut().filter(joins) {
            Some(last) => last.extend(unit),
            None => functions.push(unit),
        }
    }
    functions
}

/// What is never executed of a function stays together, as far as it lies together: only packets of branches between
/// parts could be lost.
fn cold_together(flow: &Flow, units: Vec<Vec<usize>>, profile: &Profile) -> Vec<Vec<usize>> {
    let mut together: Vec<(bool, Vec<usize>)> = Vec::new();
    for unit in units {
        let cold = heat(flow, &unit, profile).0 == 0;
        // What has a name begins a function.
        let part = flow.pieces[unit[0]].name.is_empty();
        let section = flow.pieces[unit[0]].section;
        match together.last_mut() {
            Some((true, last)) if cold && part && flow.pieces[last[0]].section == section => {
                last.extend(unit)
            }
            _ => together.push((cold, unit)),
        }
    }
    together.into_iter().map(|(_, unit)| unit).collect()
}

/// The generator `splitmix64`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draw(u64);

impl Draw {
    /// From a seed.
    pub fn from(seed: u64) -> Draw {
        Draw(seed)
    }

    /// A number below a limit.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        // The product's upper half: uneven by less than one in 2^50 for as many functions as there are.
        ((u128::from(z ^ (z >> 31)) * u128::from(limit)) >> 64) as u64
    }
}

/// Fisher and Yates' shuffle.
fn shuffled(mut units: Vec<Vec<usize>>, seed: u64) -> Vec<Vec<usize>> {
    let mut draw = Draw::from(seed);
    for last in (1..units.len()).rev() {
        units.swap(last, draw.below(last as u64 + 1) as usize);
    }
    units
}

/// Merges chains of units along the calls that are made most often; then the chain with the most executions for each
/// word comes first, and what is never executed keeps its order behind.
fn hot_first(flow: &Flow, units: Vec<Vec<usize>>, profile: &Profile) -> Vec<Vec<usize>> {
    let mut chain_of: Vec<usize> = (0..units.len()).collect();
    let mut chains: Vec<Vec<usize>> = (0..units.len()).map(|unit| vec![unit]).collect();
    let mut edges: Vec<(u64, usize, usize)> =
        calls(flow, &units, profile).into_iter().map(|((a, b), calls)| (calls, a, b)).collect();
    edges.sort_by_key(|&(calls, a, b)| (std::cmp::Reverse(calls), a, b));
    for (_, a, b) in edges {
        let (first, second) = (chain_of[a], chain_of[b]);
        if first == second {
            continue;
        }
        let moved = std::mem::take(&mut chains[second]);
        let joined = join(std::mem::take(&mut chains[first]), moved, a, b);
        for &unit in &joined {
            chain_of[unit] = first;
        }
        chains[first] = joined;
    }
    let heats: Vec<(u64, u64)> = units.iter().map(|unit| heat(flow, unit, profile)).collect();
    chains.retain(|chain| !chain.is_empty());
    let density = |chain: &Vec<usize>| {
        let (executions, words) = chain
            .iter()
            .fold((0u64, 0u64), |sum, &unit| (sum.0.saturating_add(heats[unit].0), sum.1 + heats[unit].1));
        executions as f64 / words.max(1) as f64
    };
    chains.sort_by(|a, b| density(b).total_cmp(&density(a)));
    let mut units: Vec<Option<Vec<usize>>> = units.into_iter().map(Some).collect();
    chains.into_iter().flatten().filter_map(|unit| units[unit].take()).collect()
}

/// Two chains with the ends beside each other that bring two of their units nearest.
fn join(mut first: Vec<usize>, mut second: Vec<usize>, a: usize, b: usize) -> Vec<usize> {
    let position = |chain: &[usize], unit| chain.iter().position(|&other| other == unit).unwrap_or(0);
    if position(&first, a) * 2 < first.len().saturating_sub(1) {
        first.reverse();
    }
    if position(&second, b) * 2 > second.len().saturating_sub(1) {
        second.reverse();
    }
    first.extend(second);
    first
}

/// Executions and executed words of a unit.
fn heat(flow: &Flow, unit: &[usize], profile: &Profile) -> (u64, u64) {
    let items = unit.iter().flat_map(|&piece| flow.pieces[piece].items.clone());
    items.fold((0, 0), |sum, index| {
        let executions = profile.executions(flow.items[index].old);
        (sum.0.saturating_add(executions), sum.1 + u64::from(executions > 0))
    })
}

/// How often each unit calls or jumps to each other, by the lower number first.
fn calls(flow: &Flow, units: &[Vec<usize>], profile: &Profile) -> BTreeMap<(usize, usize), u64> {
    let mut unit_of = vec![0; flow.items.len()];
    for (number, unit) in units.iter().enumerate() {
        for index in unit.iter().flat_map(|&piece| flow.pieces[piece].items.clone()) {
            unit_of[index] = number;
        }
    }
    let mut calls = BTreeMap::new();
    for (index, item) in flow.items.iter().enumerate() {
        let Some((Form::Distance, to)) = item.refers else { continue };
        let Some(target) = flow.index(to) else { continue };
        let (a, b) = (unit_of[index], unit_of[target]);
        let executions = profile.executions(item.old);
        if a != b && executions > 0 {
            let sum: &mut u64 = calls.entry((a.min(b), a.max(b))).or_default();
            *sum = sum.saturating_add(executions);
        }
    }
    calls
}
