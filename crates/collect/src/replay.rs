//! Which counters are stored: an exact set of intervals for each node and epoch.
//!
//! A sliding window (RFC 8613 section 7.4, 32 or 64 entries) would refuse an old frame that a bridge kept in
//! its spool for a week. Here every stored counter is known, so a stored one is a duplicate and an old one
//! never stored is stored. A segment of the store begins with the sets as they were before it, so that what is removed
//! later takes no counter with it; from there on they follow from its records.
//!
//! Every frame that is lost on the bus leaves a gap, and gaps are what the sets cost. The limit is one of all sets together,
//! so that a node may have as many as others leave free. When there are more, the lowest ones of the set that has the most
//! are forgotten: a counter below them can no longer be judged and is refused by name, while new counters, and all of other
//! sets, are always judged exactly. A [`SLICE`] of the limit goes at once, since to look which set has the most means to ask all
//! of them. What is forgotten is counted.

use std::collections::{BTreeMap, HashMap};

use crate::record::{Counters, RANGES_PER_RECORD};

/// What part of the limit is forgotten at once, when there are more intervals.
const SLICE: usize = 1024;

/// A set of counters, held as disjoint intervals that do not touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CounterSet {
    /// First counter of each interval -> its last one (inclusive).
    intervals: BTreeMap<u32, u32>,
    /// What is below was forgotten.
    floor: u32,
}

impl CounterSet {
    /// True when `counter` is in the set.
    pub fn contains(&self, counter: u32) -> bool {
        self.intervals.range(..=counter).next_back().is_some_and(|(_, &last)| counter <= last)
    }

    /// Adds `counter`; false when it was there already.
    pub fn insert(&mut self, counter: u32) -> bool {
        let before = self.intervals.range(..=counter).next_back().map(|(&first, &last)| (first, last));
        if before.is_some_and(|(_, last)| counter <= last) {
            return false;
        }
        let joins_before = before.filter(|&(_, last)| last.checked_add(1) == Some(counter));
        let first = joins_before.map_or(counter, |(first, _)| first);
        let after = counter.checked_add(1).and_then(|next| self.intervals.remove(&next));
        self.intervals.insert(first, after.unwrap_or(counter));
        true
    }

    /// Adds all counters from `first` to `last`; false when they are not all new, or touch what is there.
    fn insert_range(&mut self, first: u32, last: u32) -> bool {
        let near = (first.saturating_sub(1), last.saturating_add(1));
        let before = self.intervals.range(..=near.1).next_back();
        let is_new = first <= last && before.is_none_or(|(_, &end)| end < near.0);
        if is_new {
            self.intervals.insert(first, last);
        }
        is_new
    }

    /// Forgets so many of the lowest intervals.
    fn forget(&mut self, count: usize) {
        for _ in 0..count {
            let (_, last) = self.intervals.pop_first().expect("there are intervals");
            self.floor = last.saturating_add(1);
        }
    }

    /// First and last counter of each interval, in order.
    pub fn iter_ranges(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.intervals.iter().map(|(&first, &last)| (first, last))
    }

    /// Forgets what is below `floor`.
    pub(crate) fn forget_below(&mut self, floor: u32) {
        while let Some((&first, &last)) =
            self.intervals.first_key_value().filter(|(first, _)| **first < floor)
        {
            self.intervals.remove(&first);
            if last >= floor {
                self.intervals.insert(floor, last);
            }
        }
        self.floor = self.floor.max(floor);
    }

    /// Counters below this one were forgotten: stored or not, nobody knows.
    pub fn floor(&self) -> u32 {
        self.floor
    }

    /// The highest counter that was ever in it.
    pub(crate) fn highest(&self) -> Option<u32> {
        self.intervals.last_key_value().map(|(_, &last)| last).or(self.floor.checked_sub(1))
    }

    /// The number of intervals: what the set costs in memory.
    pub fn ranges(&self) -> usize {
        self.intervals.len()
    }

    /// Every counter in the set, in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.intervals.iter().flat_map(|(&first, &last)| first..=last)
    }

    /// The number of counters in the set.
    pub fn count(&self) -> u64 {
        self.intervals.iter().map(|(&first, &last)| u64::from(last - first) + 1).sum()
    }
}

/// What [`Replay::admit`] says about a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Neither stored, nor in the group that is under way, nor in the open one: store it.
    New,
    /// Stored, or in a group whose receipts go out before this one's or with it.
    Duplicate,
    /// Below what is remembered: it may be stored or not.
    Old,
}

/// The stored counters of all nodes and epochs, and those of the two groups that are not synced yet: one is under way, what
/// arrives joins the open one.
///
/// Invariant: a counter enters a [`CounterSet`] only after the record that carries it was synced.
#[derive(Debug, Default)]
pub struct Replay {
    stored: HashMap<(u32, u8), CounterSet>,
    underway: HashMap<(u32, u8), CounterSet>,
    open: HashMap<(u32, u8), CounterSet>,
    /// Intervals of all stored sets.
    ranges: usize,
    ranges_max: usize,
    /// Intervals that were forgotten.
    forgotten: u64,
    /// Sets that were asked how many they have.
    #[cfg(test)]
    looks: usize,
}

impl Replay {
    /// Nothing stored; at most `ranges_max` intervals are remembered.
    pub fn new(ranges_max: usize) -> Self {
        Replay { ranges_max, ..Replay::default() }
    }

    /// True when the counter is stored, or in a group that is not synced yet.
    pub fn is_known(&self, node: u32, epoch: u8, counter: u32) -> bool {
        let sets = [&self.stored, &self.underway, &self.open];
        sets.iter().any(|sets| sets.get(&(node, epoch)).is_some_and(|set| set.contains(counter)))
    }

    /// Decides about a counter of an authentic frame and, when it is new, adds it to the open group.
    pub fn admit(&mut self, node: u32, epoch: u8, counter: u32) -> Admission {
        match self.stored.get(&(node, epoch)) {
            _ if self.underway.get(&(node, epoch)).is_some_and(|set| set.contains(counter)) => {
                Admission::Duplicate
            }
            Some(set) if set.contains(counter) => Admission::Duplicate,
            // It may be in the open group, when the floor has risen since.
            Some(set) if counter < set.floor => {
                let open = self.open.get(&(node, epoch));
                let is_open = open.is_some_and(|open| open.contains(counter));
                if is_open { Admission::Duplicate } else { Admission::Old }
            }
            _ if self.open.entry((node, epoch)).or_default().insert(counter) => Admission::New,
            _ => Admission::Duplicate,
        }
    }

    /// The open group is complete and under way: what arrives from here on joins the next one.
    ///
    /// # Panics
    /// When the one before it is.
    pub fn depart(&mut self) {
        assert!(self.underway.is_empty(), "one group is under way at a time");
        std::mem::swap(&mut self.underway, &mut self.open);
    }

    /// The group that was under way was synced: its counters are stored now.
    pub fn commit(&mut self) {
        for (key, mut counters) in self.underway.drain() {
            let stored = self.stored.entry(key).or_default();
            let before = stored.ranges();
            // The floor may have risen since they were admitted.
            let admitted = counters.ranges();
            counters.forget_below(stored.floor);
            self.forgotten += (admitted - counters.ranges()) as u64;
            for counter in counters.iter() {
                assert!(stored.insert(counter), "an admitted counter was stored already");
            }
            self.ranges = self.ranges - before + stored.ranges();
        }
        self.forget();
    }

    /// With more intervals than the limit, forgets until there is room for a slice of them.
    fn forget(&mut self) {
        if self.ranges <= self.ranges_max {
            return;
        }
        let kept = self.ranges_max - self.ranges_max / SLICE;
        while self.ranges > kept {
            #[cfg(test)]
            {
                self.looks += self.stored.len();
            }
            let sets = self.stored.iter_mut().map(|(key, set)| (set.ranges(), key, set));
            let (ranges, _, most) =
                sets.max_by_key(|&(ranges, key, _)| (ranges, *key)).expect("there is one");
            // Half of a set at most, then there may be another that has more.
            let count = (self.ranges - kept).min(ranges.div_ceil(2));
            most.forget(count);
            self.ranges -= count;
            self.forgotten += count as u64;
        }
    }

    /// The number of intervals: what all sets cost in memory.
    pub fn ranges(&self) -> usize {
        self.ranges
    }

    /// Intervals that were forgotten so far, because there were more than the limit.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// The group that was under way was given up before anything of it was acknowledged, and with it the open one, which
    /// knows of it.
    pub fn abort(&mut self) {
        self.underway.clear();
        self.open.clear();
    }

    /// Adds a counter that was read from the log; false when another record is known to hold it already.
    pub fn restore(&mut self, node: u32, epoch: u8, counter: u32) -> bool {
        let stored = self.stored.entry((node, epoch)).or_default();
        if counter < stored.floor {
            return true; // it was stored before the limit was lowered, and is forgotten again
        }
        let before = stored.ranges();
        let is_new = stored.insert(counter);
        self.ranges = self.ranges - before + stored.ranges();
        self.forget();
        is_new
    }

    /// Adds counters that were stored before the segment that is read; false when some of them are known already.
    pub fn restore_ranges(&mut self, of: &Counters) -> bool {
        let stored = self.stored.entry((of.node, of.epoch)).or_default();
        stored.floor = stored.floor.max(of.floor);
        let before = stored.ranges();
        let is_new = of.ranges.iter().all(|&(first, last)| stored.insert_range(first, last));
        self.ranges += stored.ranges() - before;
        self.forget();
        is_new
    }

    /// What is stored of every node and epoch, in order, in as many records as it takes.
    pub fn checkpoint(&self) -> Vec<Counters> {
        let mut keys: Vec<&(u32, u8)> = self.stored.keys().collect();
        keys.sort_unstable();
        let mut counters = Vec::new();
        for &(node, epoch) in keys {
            let (set, floor) = (&self.stored[&(node, epoch)], self.stored[&(node, epoch)].floor);
            let ranges: Vec<(u32, u32)> = set.iter_ranges().collect();
            let parts = ranges.chunks(RANGES_PER_RECORD).map(<[_]>::to_vec);
            let parts = if ranges.is_empty() { vec![Vec::new()] } else { parts.collect() };
            counters.extend(parts.into_iter().map(|ranges| Counters { node, epoch, floor, ranges }));
        }
        counters
    }

    /// Everything that is stored, in no order.
    pub(crate) fn sets(&self) -> impl Iterator<Item = ((u32, u8), &CounterSet)> {
        self.stored.iter().map(|(&key, set)| (key, set))
    }

    /// The stored counters of a node and epoch, if there are any.
    pub fn stored(&self, node: u32, epoch: u8) -> Option<&CounterSet> {
        self.stored.get(&(node, epoch))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// The witness is the plainest set there is.
        #[test]
        fn counter_set_equals_a_set_of_numbers(
            counters in prop::collection::vec(prop_oneof![0u32..40, (u32::MAX - 8)..=u32::MAX], 0..200)
        ) {
            let mut set = CounterSet::default();
            let mut witness = BTreeSet::new();
            for counter in counters {
                prop_assert_eq!(set.insert(counter), witness.insert(counter));
                let runs = witness.iter().filter(|&&c| c == 0 || !witness.contains(&(c - 1))).count();
                prop_assert_eq!(set.ranges(), runs);
                prop_assert_eq!(set.count(), witness.len() as u64);
            }
            prop_assert!(set.iter().eq(witness.iter().copied()));
            let mut again = CounterSet::default();
            for (first, last) in set.iter_ranges() {
                prop_assert!(again.insert_range(first, last) && !again.insert_range(last, last));
            }
            prop_assert_eq!(&again, &set);
            again.forget_below(20);
            prop_assert!(again.iter().eq(witness.iter().copied().filter(|&counter| counter >= 20)));
            for counter in (0..45).chain((u32::MAX - 10)..=u32::MAX) {
                prop_assert_eq!(set.contains(counter), witness.contains(&counter));
            }
        }
    }

    #[test]
    fn a_counter_of_an_aborted_group_is_new_again() {
        let mut replay = Replay::new(8);
        assert_eq!(replay.admit(1, 0, 5), Admission::New);
        assert_eq!(replay.admit(1, 0, 5), Admission::Duplicate);
        replay.abort();
        assert_eq!(replay.admit(1, 0, 5), Admission::New);
        replay.depart();
        replay.commit();
        assert_eq!(replay.admit(1, 0, 5), Admission::Duplicate);
        assert_eq!(replay.admit(1, 1, 5), Admission::New, "another epoch is another key");
    }

    #[test]
    fn a_counter_of_a_group_under_way_is_known_until_that_is_given_up_with_the_open_one() {
        let mut replay = Replay::new(8);
        assert_eq!(replay.admit(1, 0, 5), Admission::New);
        replay.depart();
        assert_eq!([5, 6].map(|counter| replay.admit(1, 0, counter)), [Admission::Duplicate, Admission::New]);
        replay.abort();
        assert_eq!([5, 6].map(|counter| replay.admit(1, 0, counter)), [Admission::New; 2]);
        replay.depart();
        assert_eq!(replay.admit(1, 0, 7), Admission::New);
        replay.commit();
        assert_eq!(replay.stored(1, 0).unwrap().iter().collect::<Vec<_>>(), [5, 6]);
        assert!(replay.is_known(1, 0, 7));
    }

    #[test]
    fn what_is_forgotten_while_a_group_is_open_stays_forgotten() {
        let mut replay = Replay::new(2);
        let commit = |replay: &mut Replay| {
            replay.depart();
            replay.commit();
        };
        assert_eq!([10, 20].map(|counter| replay.admit(1, 0, counter)), [Admission::New; 2]);
        commit(&mut replay);
        assert_eq!(replay.admit(1, 0, 30), Admission::New);
        replay.depart();
        assert_eq!([5, 40].map(|counter| replay.admit(1, 0, counter)), [Admission::New; 2]);
        replay.commit();
        assert_eq!(replay.stored(1, 0).unwrap().floor(), 11, "10 is forgotten, and what is below");
        assert_eq!([5, 6].map(|counter| replay.admit(1, 0, counter)), [Admission::Duplicate, Admission::Old]);
        commit(&mut replay);
        assert_eq!(replay.stored(1, 0).unwrap().iter().collect::<Vec<_>>(), [30, 40]);
        assert_eq!((replay.ranges(), replay.forgotten()), (2, 3), "10, 5 and 20");
        assert_eq!([5, 20].map(|counter| replay.admit(1, 0, counter)), [Admission::Old; 2]);
    }

    #[test]
    fn the_oldest_gaps_are_forgotten_and_new_counters_never_refused() {
        let mut replay = Replay::new(3);
        for counter in (0..100).step_by(10) {
            assert_eq!(replay.admit(1, 0, counter), Admission::New);
            replay.depart();
            replay.commit();
        }
        assert_eq!(replay.stored(1, 0).unwrap().iter().collect::<Vec<_>>(), [70, 80, 90]);
        assert_eq!(replay.stored(1, 0).unwrap().floor(), 61);
        assert_eq!(replay.admit(1, 0, 80), Admission::Duplicate);
        assert_eq!(replay.admit(1, 0, 60), Admission::Old, "stored, but forgotten");
        assert_eq!(replay.admit(1, 0, 5), Admission::Old, "never stored, but nobody knows");
        assert_eq!(replay.admit(1, 0, 65), Admission::New, "above the floor it is known");
    }

    #[test]
    fn a_node_that_leaves_more_gaps_than_there_is_room_for_takes_nothing_of_the_others() {
        let mut replay = Replay::new(1000);
        let mut admit = |node, counter| {
            assert_eq!(replay.admit(node, 0, counter), Admission::New);
            replay.depart();
            replay.commit();
            (replay.ranges(), replay.forgotten())
        };
        for counter in (0..800).step_by(2) {
            admit(1, counter);
        }
        assert_eq!((0..1200).step_by(2).map(|counter| admit(2, counter)).last(), Some((1000, 0)));
        assert_eq!((1200..1400).step_by(2).map(|counter| admit(2, counter)).last(), Some((1000, 100)));
        assert_eq!(admit(1, 1), (999, 100), "a gap that is filled is none");
        assert_eq!((replay.stored(1, 0).unwrap().floor(), replay.stored(2, 0).unwrap().floor()), (0, 199));
        let mut again = Replay::new(1000);
        assert!(replay.checkpoint().iter().all(|counters| again.restore_ranges(counters)));
        assert_eq!((again.checkpoint(), again.ranges()), (replay.checkpoint(), 999));
    }

    #[test]
    fn a_gap_at_the_limit_asks_few_sets_how_many_they_have() {
        let (limit, nodes) = (4 * SLICE, 256);
        let mut replay = Replay::new(limit);
        let mut admit = |counter| {
            for node in 0..nodes {
                assert_eq!(replay.admit(node, 0, counter), Admission::New);
                replay.depart();
                replay.commit();
                assert!((limit - 4..=limit).contains(&replay.ranges()) || replay.forgotten() == 0);
            }
            (replay.ranges() as u64 + replay.forgotten(), replay.looks)
        };
        let gaps = 3 * limit as u32 / nodes;
        let (seen, looks) = (0..gaps).map(|gap| admit(2 * gap)).last().unwrap();
        assert_eq!(seen, u64::from(gaps * nodes), "each is remembered, or counted as forgotten");
        // Five are one too many and four of room.
        let forgets = (seen as usize - limit).div_ceil(5);
        assert!(forgets * nodes as usize <= looks && looks <= 3 * forgets * nodes as usize, "{looks}");
    }

    proptest! {
        /// Whatever is forgotten, nothing stored is ever called new.
        #[test]
        fn a_stored_counter_is_never_new(
            counters in prop::collection::vec(0u32..60, 0..300), ranges_max in 1usize..6, restart in 0usize..300
        ) {
            let mut replay = Replay::new(ranges_max);
            let mut log = Vec::new();
            for (step, counter) in counters.into_iter().enumerate() {
                if step == restart {
                    replay = Replay::new(ranges_max);
                    for &counter in &log {
                        prop_assert!(replay.restore(1, 0, counter));
                    }
                }
                match replay.admit(1, 0, counter) {
                    Admission::New => {
                        prop_assert!(!log.contains(&counter));
                        log.push(counter);
                    }
                    Admission::Duplicate => prop_assert!(log.contains(&counter)),
                    Admission::Old => {}
                }
                if step % 3 == 0 {
                    // The one before it, while this one is open.
                    replay.commit();
                    replay.depart();
                }
            }
        }
    }
}
