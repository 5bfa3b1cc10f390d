//! Time against size: every way of weaving that is worth looking at, and the best that is small enough.
//!
//! Owns: the strategies, the search among the options of each, the Pareto list, and the order of choices. Each way that
//! is tried is woven and estimated in full, so the list holds what really comes out. Of the ways of interleaving, which
//! are more than a thousand and of which most make the same code as another, those are tried that lie around good ones.

use std::fmt;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::error::Refusal;
use crate::estimate::Estimate;
use crate::limits::PLANNED_WORDS_MAX;
use crate::product::Options;
use crate::{cocall, product};

/// Which strategies are tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// All, and the better one is taken.
    #[default]
    Auto,
    /// The guest's code between the host's: at each place the guest is in one state.
    Interleave,
    /// The host asks whether the guest is due.
    Cocall,
}

impl Strategy {
    /// All of them, the default first.
    pub const ALL: [Strategy; 3] = [Strategy::Auto, Strategy::Interleave, Strategy::Cocall];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Strategy::Auto => "auto",
            Strategy::Interleave => "interleave",
            Strategy::Cocall => "cocall",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How two threads are woven.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Way {
    /// By interleaving.
    Interleave(product::Options),
    /// By cocalls.
    Cocall(cocall::Options),
}

impl Way {
    /// The strategy that it is a way of.
    pub fn strategy(&self) -> Strategy {
        match self {
            Way::Interleave(_) => Strategy::Interleave,
            Way::Cocall(_) => Strategy::Cocall,
        }
    }
}

/// One way of weaving two threads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// How.
    pub way: Way,
    /// Words of flash.
    pub words: u32,
    /// The most copies of one loop's body.
    pub copies: usize,
    /// What it gains.
    pub estimate: Estimate,
}

/// Shares of time that closing a loop may cost.
const LOSSES: [f64; 9] = [1.0, 0.3, 0.1, 0.05, 0.03, 0.02, 0.01, 0.005, 0.002];
/// Copies of a loop's body.
const COPIES: [usize; 6] = [1, 2, 4, 8, 16, 32];
/// States of one block.
const STATES: [usize; 4] = [1, 2, 4, 8];
/// Rounds of the guest that are written as one, and how many of them get at once what they send.
const ROUNDS: [(u32, u32); 5] = [(1, 1), (2, 1), (4, 1), (4, 4), (8, 4)];

/// The share by which a larger way has to leave the host more. Swept over the cells of `selvedge paper sti`: where it
/// decides, 0 makes code that is a fifth larger and recovers 0.3 points more, at most 2.5; 0.01 costs a cell up to 6.
const WORTH: f64 = 0.003;

/// Where the search among the ways of interleaving begins: small ones, and larger ones for most numbers of rounds. A
/// coupled guest has neither a count nor time between events of its own.
fn first_interleavings(is_coupled: bool) -> Vec<Options> {
    let small = [1.0, 0.1].into_iter().flat_map(|loss| [false, true].map(|counted| (loss, counted)));
    let small = small.flat_map(|(loss, counted)| {
        [1, 4, 16].map(|copies| Options { loss, copies, states: 1, counted, rounds: 1, together: 1 })
    });
    let large = ROUNDS[..4].iter().flat_map(|&rounds| [0.3, 0.1, 0.05].map(|loss| (rounds, loss)));
    let large = large.flat_map(|((rounds, together), loss)| {
        [(1, 8), (1, 32), (2, 8)].map(|(states, copies)| Options {
            loss,
            copies,
            states,
            counted: false,
            rounds,
            together,
        })
    });
    small.chain(large).filter(|options| can_be(options, is_coupled)).collect()
}

fn can_be(options: &Options, is_coupled: bool) -> bool {
    !is_coupled || (options.rounds, options.counted) == (1, false)
}

/// The ways that are one step away in one option.
fn neighbours(options: Options) -> Vec<Options> {
    let mut all = vec![Options { counted: !options.counted, ..options }];
    let rounds = beside(&ROUNDS, (options.rounds, options.together));
    all.extend(rounds.map(|(rounds, together)| Options { rounds, together, ..options }));
    all.extend(beside(&LOSSES, options.loss).map(|loss| Options { loss, ..options }));
    all.extend(beside(&COPIES, options.copies).map(|copies| Options { copies, ..options }));
    all.extend(beside(&STATES, options.states).map(|states| Options { states, ..options }));
    all
}

/// Those before and behind one of a list.
fn beside<T: Copy + PartialEq>(list: &[T], one: T) -> impl Iterator<Item = T> {
    let at = list.iter().position(|&other| other == one).expect("an option is one of its list");
    let places = [at.checked_sub(1), at.checked_add(1)];
    places.into_iter().flatten().filter_map(|place| list.get(place).copied())
}

/// Cycles between two checks of a host that cocalls, all tried. What is left of a gap by whole stretches is waited, so that
/// sizes matter that differ in little.
const STRETCHES: [u32; 8] = [8, 12, 16, 20, 25, 31, 44, 62];
/// Cycles of a round of short loops that are written several times, all tried; one round for once.
const LOOPS: [u32; 4] = [0, 22, 31, 38];

/// What is tried first.
fn first_ways(strategy: Strategy, is_coupled: bool) -> Vec<Way> {
    let mut ways = Vec::new();
    if strategy != Strategy::Cocall {
        ways.extend(first_interleavings(is_coupled).into_iter().map(Way::Interleave));
    }
    // What is coupled is sent where the host produces it.
    if strategy != Strategy::Interleave && !is_coupled {
        for (stretch_cycles, round_cycles) in
            STRETCHES.into_iter().flat_map(|one| LOOPS.map(|two| (one, two)))
        {
            for inlined in [false, true] {
                ways.push(Way::Cocall(cocall::Options { stretch_cycles, round_cycles, inlined }));
            }
        }
    }
    ways
}

/// The first ways of interleaving with more states than any that was tried: a host whose ways meet at too many cycles
/// of a round needs them.
fn more_states(tried: &[Way], is_coupled: bool) -> Vec<Way> {
    let states_of = |way: &Way| match way {
        Way::Interleave(options) => Some(options.states),
        Way::Cocall(_) => None,
    };
    let most = tried.iter().filter_map(states_of).max();
    let next = most.and_then(|most| STATES.into_iter().find(|&states| states > most));
    let mut ways = Vec::new();
    for options in next.into_iter().flat_map(|states| {
        first_interleavings(is_coupled).into_iter().map(move |options| Options { states, ..options })
    }) {
        let way = Way::Interleave(options);
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    ways
}

/// What is worth a try once `list` is the Pareto list: all cocalls have been tried.
fn next_ways(list: &[Choice], tried: &[Way], is_coupled: bool) -> Vec<Way> {
    if !list.iter().any(|choice| matches!(choice.way, Way::Interleave(_))) {
        return more_states(tried, is_coupled);
    }
    let mut ways = Vec::new();
    for choice in list {
        let Way::Interleave(options) = choice.way else { continue };
        for options in neighbours(options).into_iter().filter(|options| can_be(options, is_coupled)) {
            let way = Way::Interleave(options);
            if !tried.contains(&way) && !ways.contains(&way) {
                ways.push(way);
            }
        }
    }
    ways
}

/// Weaves all of these, on all processors; in their order.
fn try_all(
    ways: &[Way],
    weave: &(impl Fn(Way) -> Result<Choice, Refusal> + Sync),
) -> Vec<Result<Choice, Refusal>> {
    let workers = thread::available_parallelism().map_or(1, |count| count.get());
    let next = AtomicUsize::new(0);
    let work = || {
        let mut tried = Vec::new();
        while let Some((index, way)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|index| Some((index, ways.get(index)?)))
        {
            tried.push((index, weave(*way)));
        }
        tried
    };
    let mut tried: Vec<(usize, Result<Choice, Refusal>)> = thread::scope(|scope| {
        let all: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        all.into_iter()
            .flat_map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    });
    tried.sort_by_key(|&(index, _)| index);
    tried.into_iter().map(|(_, tried)| tried).collect()
}

/// What was found.
pub struct Plan {
    /// None is both larger and leaves the host less than another, or about the same; in order of size.
    pub list: Vec<Choice>,
    /// Ways that were woven, or found impossible.
    pub tried: usize,
}

impl Plan {
    /// Those within `words_max`, the one that leaves the host most first; or the smallest.
    pub fn in_order(&self, words_max: u32) -> impl Iterator<Item = Choice> {
        let is_small = |(index, choice): &(usize, &Choice)| *index == 0 || choice.words <= words_max;
        let small: Vec<Choice> = self.list.iter().enumerate().filter(is_small).map(|(_, one)| *one).collect();
        small.into_iter().rev()
    }
}

/// Searches the ways of weaving: some of all kinds, and then what is one step from the best of each size, until none
/// of these is better or [`PLANNED_WORDS_MAX`] are woven.
///
/// # Errors
/// The first refusal, when nothing can be woven at all.
pub fn search(
    strategy: Strategy,
    is_coupled: bool,
    weave: impl Fn(Way) -> Result<Choice, Refusal> + Sync,
) -> Result<Plan, Refusal> {
    let (mut tried, mut list, mut refused, mut words) = (Vec::new(), Vec::new(), None, 0);
    let mut ways = first_ways(strategy, is_coupled);
    while !ways.is_empty() && words < PLANNED_WORDS_MAX {
        for found in try_all(&ways, &weave) {
            match found {
                Ok(choice) => {
                    words += choice.words;
                    list.push(choice);
                }
                Err(refusal) => refused = first(refused, refusal),
            }
        }
        tried.append(&mut ways);
        list = pareto(list);
        ways = next_ways(&list, &tried, is_coupled);
    }
    match refused {
        Some(refusal) if list.is_empty() => Err(refusal),
        _ => Ok(Plan { list: worth_it(list), tried: tried.len() }),
    }
}

/// Of a Pareto list, those that are worth their size beside the one before.
fn worth_it(found: Vec<Choice>) -> Vec<Choice> {
    let mut list: Vec<Choice> = Vec::new();
    for choice in found {
        let least = list.last().map_or(0.0, |last| last.estimate.host_share() * (1.0 + WORTH));
        if choice.estimate.host_share() >= least {
            list.push(choice);
        }
    }
    list
}

/// Whether anything can be woven.
///
/// # Errors
/// Why not.
pub fn is_possible(
    strategy: Strategy,
    is_coupled: bool,
    weave: impl Fn(Way) -> Result<Choice, Refusal> + Sync,
) -> Result<(), Refusal> {
    let mut refused = None;
    let (mut tried, mut ways) = (Vec::new(), first_ways(strategy, is_coupled));
    while !ways.is_empty() {
        for found in try_all(&ways, &weave) {
            match found {
                Ok(_) => return Ok(()),
                Err(refusal) => refused = first(refused, refusal),
            }
        }
        tried.append(&mut ways);
        ways = next_ways(&[], &tried, is_coupled);
    }
    refused.map_or(Ok(()), Err)
}

/// Which of two refusals is told: the first one, or of gaps that are too short the one that needs least.
fn first(refused: Option<Refusal>, other: Refusal) -> Option<Refusal> {
    Some(match (refused, other) {
        (Some(Refusal::NoGap { needed_cycles, .. }), other @ Refusal::NoGap { needed_cycles: fewer, .. })
            if fewer < needed_cycles =>
        {
            other
        }
        (Some(first), _) => first,
        (None, other) => other,
    })
}

/// Those of which none is both larger and leaves the host less than another, in order of size.
fn pareto(mut found: Vec<Choice>) -> Vec<Choice> {
    let share = |choice: &Choice| choice.estimate.host_share();
    found.sort_by(|a, b| a.words.cmp(&b.words).then(share(b).total_cmp(&share(a))));
    let mut list: Vec<Choice> = Vec::new();
    for choice in found {
        if list.last().is_none_or(|last| share(&choice) > share(last)) {
            list.push(choice);
        }
    }
    list
}
