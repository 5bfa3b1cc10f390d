//! Which instructions of a block share a packet.
//!
//! Owns: three ways to cut a run of instructions into words: [`greedy`], the paper's; [`optimal`], the fewest words in
//! the program's order; [`scheduled`], few words in any order that dependences allow. What may change places is
//! `schedule`'s, which entries there are `dict`'s, where words lie `layout`'s.

use std::ops::Range;

use crate::code::packet::{ENTRIES_SHORT, Format, SLOTS_MAX};
use crate::limits::{PACKET_TRIES_MAX, STATES_MAX, WINDOW_ITEMS_MAX};
use crate::schedule::{Delay, Window};

/// How far a branch has to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// A distance of 6 bits is enough.
    Short,
    /// 8 bits are.
    Long,
    /// 10 bits are.
    Far,
    /// No packet has room for it.
    Never,
}

impl Reach {
    /// The least that a distance needs, in words from the branch's own.
    pub fn of_words(distance: i64) -> Reach {
        let fits = |format: Format| {
            let (least, most) = format.reach_words().expect("the format has a branch");
            (i64::from(least)..=i64::from(most)).contains(&distance)
        };
        let formats = [
            (Format::ThreeBranch, Reach::Short),
            (Format::TwoBranch, Reach::Long),
            (Format::FarBranch, Reach::Far),
        ];
        formats.into_iter().find(|&(format, _)| fits(format)).map_or(Reach::Never, |(_, reach)| reach)
    }

    /// The next greater.
    pub fn grown(self) -> Reach {
        match self {
            Reach::Short => Reach::Long,
            Reach::Long => Reach::Far,
            Reach::Far | Reach::Never => Reach::Never,
        }
    }
}

/// Which indexes name an entry of the dictionary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    /// Those of 6 bits, and of 8.
    Short,
    /// Those of 8 bits only.
    Long,
}

impl Index {
    /// Of an entry's number.
    pub fn of(number: usize) -> Index {
        if number < ENTRIES_SHORT { Index::Short } else { Index::Long }
    }
}

/// What of an instruction decides whether it fits a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Candidate {
    /// What names it; `None` when the dictionary lacks it or it must be a word.
    pub index: Option<Index>,
    /// For a branch, how far it goes.
    pub branch: Option<Reach>,
}

impl Candidate {
    fn packs(&self) -> bool {
        self.index.is_some() && self.branch != Some(Reach::Never)
    }
}

/// A word: an instruction, or a packet of them in the order of execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// The packet's format; `None` for an instruction that is a word of its own.
    pub format: Option<Format>,
    /// How many instructions.
    pub slots: u8,
    /// Which ones.
    pub items: [u32; SLOTS_MAX],
}

impl Group {
    fn of(format: Option<Format>, items: &[u32]) -> Group {
        let mut group = Group { format, slots: items.len() as u8, items: [0; SLOTS_MAX] };
        group.items[..items.len()].copy_from_slice(items);
        group
    }

    /// An instruction that is a word.
    pub fn single(item: u32) -> Group {
        Group::of(None, &[item])
    }

    /// Its instructions.
    pub fn items(&self) -> &[u32] {
        &self.items[..usize::from(self.slots)]
    }
}

/// The format of a packet of these; `None` when there is none, or it would be of one instruction only.
pub fn format_of(candidates: &[Candidate]) -> Option<Format> {
    if candidates.len() < 2 || !candidates.iter().all(Candidate::packs) {
        return None;
    }
    let is_short = |c: &Candidate| c.index == Some(Index::Short);
    let short = candidates.iter().all(is_short);
    let mut branches = candidates.iter().filter(|candidate| candidate.branch.is_some());
    let (first, second) = (branches.next(), branches.next());
    match (first.and_then(|branch| branch.branch), second, candidates.len()) {
        (None, _, 2..=4) if short => Some(Format::Four),
        (None, _, 2 | 3) => Some(Format::Three),
        (Some(Reach::Short), None, 3) if short => Some(Format::ThreeBranch),
        (Some(Reach::Short | Reach::Long), None, 2) => Some(Format::TwoBranch),
        (Some(Reach::Far), None, 2) if first.is_some_and(is_short) => Some(Format::FarBranch),
        _ => None,
    }
}

/// The longest packet at each place, from the first on.
pub fn greedy(candidates: &[Candidate]) -> Vec<Group> {
    let (mut groups, mut at) = (Vec::new(), 0);
    while at < candidates.len() {
        let longest = (2..=SLOTS_MAX).rev().find_map(|slots| {
            let taken = candidates.get(at..at + slots)?;
            format_of(taken).map(|format| (slots, Some(format)))
        });
        let (slots, format) = longest.unwrap_or((1, None));
        groups.push(in_order(format, at, slots));
        at += slots;
    }
    groups
}

fn in_order(format: Option<Format>, first: usize, slots: usize) -> Group {
    let mut items = [0; SLOTS_MAX];
    for (item, index) in items.iter_mut().zip(first..first + slots) {
        *item = index as u32;
    }
    Group { format, slots: slots as u8, items }
}

/// The fewest words in the program's order, by dynamic programming: the fewest from each place on, from the last back.
pub fn optimal(candidates: &[Candidate]) -> Vec<Group> {
    let mut best: Vec<(u32, usize, Option<Format>)> = vec![(0, 0, None); candidates.len() + 1];
    for at in (0..candidates.len()).rev() {
        best[at] = (best[at + 1].0 + 1, 1, None);
        for slots in 2..=SLOTS_MAX.min(candidates.len() - at) {
            let words = best[at + slots].0 + 1;
            if words < best[at].0
                && let Some(format) = format_of(&candidates[at..at + slots])
            {
                best[at] = (words, slots, Some(format));
            }
        }
    }
    let (mut groups, mut at) = (Vec::new(), 0);
    while at < candidates.len() {
        let (_, slots, format) = best[at];
        groups.push(in_order(format, at, slots));
        at += slots;
    }
    groups
}

/// A set of instructions that are done, and the word that was done last.
#[derive(Clone, Copy)]
struct State {
    done: u64,
    /// The number of the state before it.
    before: usize,
    group: Group,
    /// What is left to do at least, in twelfths of a word.
    left: u32,
    /// How many instructions wait for the one right before them.
    waits: u32,
}

/// Few words in any order in which each instruction stands behind those of its `before`, a bit for each. Sets of
/// instructions that so many words can hold are followed word by word, the most promising [`STATES_MAX`] of each
/// number of words; a set that has all of another's is better than that. Of two ways to a set the one is better in
/// which fewer instructions wait for the one right before them: `waits` has a bit for each of those. Right behind a
/// transfer of control of `delays` stands the one of its instructions that is left then.
///
/// # Panics
/// For more than [`WINDOW_ITEMS_MAX`] instructions.
pub fn scheduled(candidates: &[Candidate], window: &Window) -> Vec<Group> {
    assert!(candidates.len() <= WINDOW_ITEMS_MAX, "a window is cut by its caller");
    if candidates.iter().filter(|candidate| candidate.packs()).count() < 2 {
        return greedy(candidates);
    }
    let search = Search::of(candidates, window);
    let all = if candidates.len() == 64 { u64::MAX } else { (1 << candidates.len()) - 1 };
    let left = candidates.iter().map(least).sum();
    let start = State { done: 0, before: usize::MAX, group: Group::single(0), left, waits: 0 };
    let mut states = vec![start];
    let mut layer = 0..1;
    while !states[layer.clone()].iter().any(|state| state.done == all) {
        let mut next = Vec::new();
        for index in layer.clone() {
            let State { done, group, left, waits, .. } = states[index];
            let last = (done != 0).then(|| group.items()[group.items().len() - 1]);
            search.extend(Step { state: index, done, left, waits, last }, &mut next);
        }
        prune(&mut next);
        layer = states.len()..states.len() + next.len();
        states.extend(next);
    }
    let last = layer.into_iter().find(|&index| states[index].done == all);
    let mut groups = Vec::new();
    let mut at = last.expect("the loop ends with one");
    while states[at].before != usize::MAX {
        groups.push(states[at].group);
        at = states[at].before;
    }
    groups.reverse();
    groups
}

/// What an instruction takes at least, in twelfths of a word: a word if it does not pack, a third of one if it may.
fn least(candidate: &Candidate) -> u32 {
    if candidate.packs() { 4 } else { 12 }
}

/// Keeps the most promising states, none of which has all that another has.
fn prune(states: &mut Vec<State>) {
    states.sort_by_key(|state| (state.left, state.done, state.waits));
    states.dedup_by_key(|state| state.done);
    let mut kept: Vec<State> = Vec::with_capacity(STATES_MAX);
    for state in states.iter() {
        if kept.len() == STATES_MAX {
            break;
        }
        if !kept.iter().any(|other| other.done & state.done == state.done) {
            kept.push(*state);
        }
    }
    *states = kept;
}

struct Search<'a> {
    candidates: &'a [Candidate],
    window: &'a Window,
    /// The instructions as packets are looked for: the program's order, but for a delay instruction that may stand
    /// before its transfer.
    order: Vec<usize>,
}

/// What a state is followed from.
#[derive(Clone, Copy)]
struct Step {
    /// The number of the state.
    state: usize,
    done: u64,
    left: u32,
    waits: u32,
    /// The instruction before, if there is one.
    last: Option<u32>,
}

impl<'a> Search<'a> {
    fn of(candidates: &'a [Candidate], window: &'a Window) -> Search<'a> {
        let mut order: Vec<usize> = (0..candidates.len()).collect();
        for delay in &window.delays {
            order.swap(delay.transfer, delay.transfer + 1);
        }
        Search { candidates, window, order }
    }

    fn is_ready(&self, index: usize, done: u64) -> bool {
        let ready = done >> index & 1 == 0 && self.window.before[index] & !done == 0;
        ready && self.window.delays.iter().all(|delay| Self::leaves_one(delay, index, done))
    }

    /// Whether one is left that may stand behind a transfer when an instruction is done next: one of several before the
    /// transfer is done, the only one when it is.
    fn leaves_one(delay: &Delay, index: usize, done: u64) -> bool {
        let left = delay.around & !done;
        if index == delay.transfer {
            return left.is_power_of_two();
        }
        let is_before = delay.around >> index & 1 == 1 && done >> delay.transfer & 1 == 0;
        !is_before || left & !(1 << index) & delay.may != 0
    }

    /// What is known of a transfer whose delay instruction is chosen.
    fn delay(&self, index: usize) -> Option<&Delay> {
        self.window.delays.iter().find(|delay| delay.transfer == index)
    }

    /// Where in the order the next instruction may be looked for: behind a transfer only one is left.
    fn choices(&self, step: Step, first: usize) -> Range<usize> {
        let Some(delay) = step.last.and_then(|last| self.delay(last as usize)) else {
            return first..self.candidates.len();
        };
        let left = delay.around & !step.done;
        match self.order.iter().position(|&index| left >> index & 1 == 1) {
            Some(at) => at..at + 1,
            None => first..self.candidates.len(),
        }
    }

    /// The step behind another one that executes this instruction next.
    fn then(&self, step: Step, index: usize) -> Step {
        let waits = step.last.is_some_and(|last| self.window.waits[index] >> last & 1 == 1);
        let (done, last) = (step.done | 1 << index, Some(index as u32));
        let left = step.left - least(&self.candidates[index]);
        Step { done, left, waits: step.waits + u32::from(waits), last, ..step }
    }

    /// Adds the states that are one word further.
    fn extend(&self, step: Step, next: &mut Vec<State>) {
        for index in 0..self.candidates.len() {
            if self.is_ready(index, step.done) {
                next.push(self.state(self.then(step, index), Group::single(index as u32)));
            }
        }
        let (mut chosen, mut tries) = ([0; SLOTS_MAX], PACKET_TRIES_MAX);
        self.choose(step, (0, 0), &mut chosen, &mut tries, next);
    }

    fn state(&self, step: Step, group: Group) -> State {
        State { done: step.done, before: step.state, group, left: step.left, waits: step.waits }
    }

    /// Adds every packet whose first instructions are chosen, as long as there are tries left. In this order any set that
    /// can be done next is. What is chosen next is looked for from `first` on, and takes the slot `slots`.
    fn choose(
        &self,
        step: Step,
        (first, slots): (usize, usize),
        chosen: &mut [u32; SLOTS_MAX],
        tries: &mut usize,
        next: &mut Vec<State>,
    ) {
        for at in self.choices(step, first) {
            let index = self.order[at];
            if !self.candidates[index].packs() || !self.is_ready(index, step.done) {
                continue;
            }
            let Some(left) = tries.checked_sub(1) else { return };
            *tries = left;
            chosen[slots] = index as u32;
            let taken = &chosen[..=slots];
            let mut candidates = [Candidate::default(); SLOTS_MAX];
            for (candidate, &item) in candidates.iter_mut().zip(taken) {
                *candidate = self.candidates[item as usize];
            }
            let then = self.then(step, index);
            if let Some(format) = format_of(&candidates[..=slots]) {
                next.push(self.state(then, Group::of(Some(format), taken)));
            }
            if slots + 1 < SLOTS_MAX {
                self.choose(then, (first.max(at + 1), slots + 1), chosen, tries, next);
            }
        }
    }
}
