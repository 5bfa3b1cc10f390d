//! Whose turn it is among flows that share something by the byte: deficit round robin (Shreedhar and Varghese, 1996),
//! in which a flow that asks for little is not kept waiting by those that ask for much.
//!
//! Owns the turns only; what a flow's value is, is the caller's. A *round* is once around all flows that have used
//! up their first [`SPARSE_BYTES`]; until then a flow is sparse, and goes before them.
//!
//! Invariant: in a round, each flow that always has something gets its weight times [`QUANTUM_BYTES`], give or take one
//! piece, and no flow gets more than that and [`SPARSE_BYTES`].

use std::collections::{BTreeMap, VecDeque};

use crate::limits::{QUANTUM_BYTES, SPARSE_BYTES};

/// Flows and their turns.
pub struct Rounds<K, V> {
    flows: BTreeMap<K, Flow<V>>,
    /// Flows that have something, each in one of the two.
    sparse: VecDeque<K>,
    busy: VecDeque<K>,
    /// Which round it is, and how many flows of `busy` still have their turn in it.
    round: u64,
    turns_left: usize,
}

struct Flow<V> {
    value: V,
    weight: u32,
    /// What it may still be served, in bytes; below 0 after a piece that was longer.
    credit: i64,
    /// The round for which it had its first bytes out of turn.
    round: u64,
    is_listed: bool,
}

impl<K, V> Default for Rounds<K, V> {
    fn default() -> Rounds<K, V> {
        let (flows, sparse, busy) = (BTreeMap::new(), VecDeque::new(), VecDeque::new());
        Rounds { flows, sparse, busy, round: 1, turns_left: 0 }
    }
}

impl<K: Copy + Ord, V: Default> Rounds<K, V> {
    /// The flow of this key, which has something from now on.
    pub fn enter(&mut self, key: K) -> &mut V {
        let flow = self.flows.entry(key).or_insert_with(|| Flow {
            value: V::default(),
            weight: 1,
            credit: 0,
            round: 0,
            is_listed: false,
        });
        if !flow.is_listed {
            flow.is_listed = true;
            // Who waits for each answer before it asks again has its turn in parts: what is left of it stays its own.
            if flow.round != self.round {
                (flow.round, flow.credit) = (self.round, SPARSE_BYTES);
            }
            let list = if flow.credit > 0 { &mut self.sparse } else { &mut self.busy };
            list.push_back(key);
        }
        &mut flow.value
    }

    /// From its next turn on the flow of this key gets so many times what others get.
    pub fn weigh(&mut self, key: K, weight: u32) {
        if let Some(flow) = self.flows.get_mut(&key) {
            flow.weight = weight;
        }
    }

    /// Whose turn it is: it has something, as far as it said so.
    pub fn turn(&mut self) -> Option<K> {
        loop {
            if let Some(&key) = self.sparse.front() {
                match self.flows.get(&key) {
                    Some(flow) if flow.credit > 0 => return Some(key),
                    Some(_) => self.busy.extend(self.sparse.pop_front()),
                    None => drop(self.sparse.pop_front()),
                }
                continue;
            }
            if self.turns_left == 0 {
                self.round += 1;
                self.turns_left = self.busy.len();
            }
            let &key = self.busy.front()?;
            match self.flows.get_mut(&key) {
                // Its credit of the last turn is used up: this is the next turn.
                Some(flow) if flow.round != self.round => {
                    flow.round = self.round;
                    let turn_bytes = i64::from(flow.weight) * QUANTUM_BYTES;
                    flow.credit = (flow.credit + turn_bytes).min(turn_bytes);
                }
                Some(flow) if flow.credit > 0 => return Some(key),
                Some(_) => {
                    self.busy.rotate_left(1);
                    self.turns_left = self.turns_left.saturating_sub(1);
                }
                None => {
                    self.busy.pop_front();
                    self.turns_left = self.turns_left.saturating_sub(1);
                }
            }
        }
    }

    /// The flow of a key, if there is one.
    pub fn get(&mut self, key: K) -> Option<&mut V> {
        self.flows.get_mut(&key).map(|flow| &mut flow.value)
    }

    /// The flow was served so many bytes. `is_empty`: it has nothing any more.
    pub fn served(&mut self, key: K, bytes: usize, is_empty: bool) {
        let Some(flow) = self.flows.get_mut(&key) else { return };
        flow.credit -= bytes as i64;
        if is_empty {
            self.unlist(key);
        }
    }

    /// The flow has nothing any more.
    pub fn unlist(&mut self, key: K) {
        let Some(flow) = self.flows.get_mut(&key) else { return };
        if !std::mem::take(&mut flow.is_listed) {
            return;
        }
        // Most often it is the one whose turn it was.
        if let Some(at) = self.sparse.iter().position(|other| *other == key) {
            self.sparse.remove(at);
        } else if let Some(at) = self.busy.iter().position(|other| *other == key) {
            self.busy.remove(at);
            self.turns_left = self.turns_left.saturating_sub(usize::from(at < self.turns_left));
        }
    }

    /// Forgets a flow.
    pub fn remove(&mut self, key: K) -> Option<V> {
        self.unlist(key);
        self.flows.remove(&key).map(|flow| flow.value)
    }

    /// All flows.
    pub fn values_mut(&mut self) -> impl Iterator<Item = (K, &mut V)> {
        self.flows.iter_mut().map(|(key, flow)| (*key, &mut flow.value))
    }

    /// Whether no flow has anything.
    pub fn is_idle(&self) -> bool {
        self.sparse.is_empty() && self.busy.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Serves pieces of these bytes while flows never run dry, and says how much each got.
    fn serve(rounds: &mut Rounds<u8, ()>, pieces: usize, bytes: impl Fn(u8) -> usize) -> BTreeMap<u8, usize> {
        let mut got = BTreeMap::new();
        for _ in 0..pieces {
            let key = rounds.turn().expect("somebody has something");
            *got.entry(key).or_default() += bytes(key);
            rounds.served(key, bytes(key), false);
        }
        got
    }

    fn greedy(keys: std::ops::Range<u8>) -> Rounds<u8, ()> {
        let mut rounds = Rounds::default();
        for key in keys {
            rounds.enter(key);
        }
        rounds
    }

    #[test]
    fn flows_that_always_have_something_get_equal_bytes_whatever_their_pieces() {
        let mut rounds = greedy(0..5);
        let got = serve(&mut rounds, 100_000, |key| [100, 1000, 4096, 65_000, 300][usize::from(key)]);
        let (least, most) = (got.values().min().unwrap(), got.values().max().unwrap());
        assert!(most - least <= 2 * (QUANTUM_BYTES as usize + 65_000), "{got:?}");
    }

    #[test]
    fn who_asks_for_little_goes_before_those_who_ask_for_much() {
        let mut rounds = greedy(0..16);
        serve(&mut rounds, 100, |_| 65_000);
        for _ in 0..30 {
            rounds.enter(99);
            assert_eq!(rounds.turn(), Some(99));
            rounds.served(99, 128, true);
            serve(&mut rounds, 1, |_| 65_000);
        }
    }

    #[test]
    fn who_comes_and_goes_all_the_time_gets_no_more_than_its_share() {
        let mut rounds = greedy(0..2);
        let (mut other, mut own) = (0, 0);
        for _ in 0..10_000 {
            rounds.enter(9);
            match rounds.turn() {
                Some(9) => {
                    own += 3000;
                    rounds.served(9, 3000, true);
                }
                Some(key) => {
                    other += 3000;
                    rounds.served(key, 3000, false);
                }
                None => unreachable!("two flows are greedy"),
            }
        }
        let share = own as f64 / f64::from(own + other);
        assert!((0.30..0.37).contains(&share), "a third is its share, it got {share}");
    }

    #[test]
    fn a_flow_of_three_times_the_weight_gets_three_times_the_bytes() {
        let mut rounds = greedy(0..3);
        rounds.weigh(1, 3);
        rounds.weigh(9, 3);
        let got = serve(&mut rounds, 50_000, |key| [100, 1000, 4096][usize::from(key)]);
        let share = |key| got[&key] as f64 / got.values().sum::<usize>() as f64;
        for (key, expected) in [(0, 0.2), (1, 0.6), (2, 0.2)] {
            assert!((share(key) - expected).abs() < 0.01, "{key} of a fifth, three and one: {}", share(key));
        }
    }

    #[test]
    fn a_flow_that_is_removed_has_no_turn() {
        let mut rounds = greedy(0..3);
        serve(&mut rounds, 4, |_| 70_000);
        for key in [1, 0] {
            assert_eq!(rounds.remove(key), Some(()));
            assert_eq!(rounds.remove(key), None);
        }
        assert_eq!(serve(&mut rounds, 3, |_| 70_000), BTreeMap::from([(2, 210_000)]));
        rounds.unlist(2);
        assert_eq!(rounds.turn(), None);
        assert!(rounds.is_idle());
    }
}
