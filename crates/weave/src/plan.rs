//! Time against size: every way of weaving that is worth looking at, and the best that is small enough.
//!
//! Owns: the strategies, the sweep over the options of each, the Pareto list, and the choice. Each way is woven and
//! estimated in full, so the list holds what really comes out.

use std::fmt;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::error::Refusal;
use crate::estimate::Estimate;
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

/// A way that was tried.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// The way.
    pub choice: Choice,
    /// Whether ways that met waited because [`Options::states`] allows no more.
    pub is_limited: bool,
}

/// Shares of time that closing a loop may cost, swept.
const LOSSES: [f64; 7] = [1.0, 0.3, 0.1, 0.05, 0.03, 0.02, 0.01];
/// Copies of a loop's body, swept.
const COPIES: [usize; 6] = [1, 2, 4, 8, 16, 32];
/// States of one block, swept.
const STATES: [usize; 4] = [1, 2, 4, 8];
/// Rounds of the guest that are written as one, and how many of them get at once what they send, swept.
const ROUNDS: [(u32, u32); 5] = [(1, 1), (2, 1), (4, 1), (4, 4), (8, 4)];

/// Everything but the numbers of states and copies. A coupled guest has neither a count nor time between events of
/// its own.
fn interleavings(is_coupled: bool) -> Vec<Options> {
    let rounds = if is_coupled { &ROUNDS[..1] } else { &ROUNDS };
    let shapes = rounds.iter().flat_map(|&rounds| LOSSES.map(|loss| (rounds, loss)));
    let shapes = shapes.flat_map(|((rounds, together), loss)| {
        [false, true].map(|counted| Options { loss, copies: 1, states: 1, counted, rounds, together })
    });
    shapes.filter(|shape| !(is_coupled && shape.counted)).collect()
}

/// Cycles between two checks of a host that cocalls, swept. What is left of a gap by whole stretches is waited, so that
/// sizes matter that differ in little.
const STRETCHES: [u32; 8] = [8, 12, 16, 20, 25, 31, 44, 62];
/// Cycles of a round of short loops that are written several times, swept; one round for once.
const LOOPS: [u32; 4] = [0, 22, 31, 44];

/// What is tried at once: ways of interleaving that differ in their numbers of states and copies, or one of cocalling.
#[derive(Clone, Copy, Debug)]
enum Shape {
    Interleave(Options),
    Cocall(cocall::Options),
}

/// All that a strategy tries.
fn shapes(strategy: Strategy, is_coupled: bool) -> Vec<Shape> {
    let mut shapes = Vec::new();
    if strategy != Strategy::Cocall {
        shapes.extend(interleavings(is_coupled).into_iter().map(Shape::Interleave));
    }
    // What is coupled is sent where the host produces it.
    if strategy != Strategy::Interleave && !is_coupled {
        for (stretch_cycles, round_cycles) in
            STRETCHES.into_iter().flat_map(|one| LOOPS.map(|two| (one, two)))
        {
            for inlined in [false, true] {
                shapes.push(Shape::Cocall(cocall::Options { stretch_cycles, round_cycles, inlined }));
            }
        }
    }
    shapes
}

/// What became of a shape's ways: those that work, and the first refusal.
type Tried = (Vec<Choice>, Option<Refusal>);

fn try_shape(shape: Shape, weave: &impl Fn(Way) -> Result<Found, Refusal>) -> Tried {
    match shape {
        Shape::Interleave(options) => try_numbers(options, weave),
        Shape::Cocall(options) => match weave(Way::Cocall(options)) {
            Ok(found) => (vec![found.choice], None),
            Err(refusal) => (Vec::new(), Some(refusal)),
        },
    }
}

/// Every number of states and copies that may make a difference.
fn try_numbers(shape: Options, weave: &impl Fn(Way) -> Result<Found, Refusal>) -> Tried {
    let (mut choices, mut refused) = (Vec::new(), None);
    for states in STATES {
        let mut is_limited = false;
        for copies in COPIES {
            match weave(Way::Interleave(Options { states, copies, ..shape })) {
                Ok(found) => {
                    choices.push(found.choice);
                    is_limited |= found.is_limited;
                    // Its loops closed by themselves: more copies change nothing.
                    if found.choice.copies < copies {
                        break;
                    }
                }
                // With more copies it is larger still; but a loop that meets no state of its one copy may meet one of
                // several.
                Err(refusal) => {
                    let is_hopeless = !matches!(refusal, Refusal::NoRoom { .. });
                    refused = refused.or(Some(refusal));
                    is_limited = true;
                    if is_hopeless {
                        break;
                    }
                }
            }
        }
        if !is_limited {
            break;
        }
    }
    (choices, refused)
}

/// The way that leaves the host most within `words_max`, or the smallest, and the Pareto list in order of size.
///
/// # Errors
/// The first refusal, when nothing can be woven at all.
pub fn choose(
    strategy: Strategy,
    words_max: u32,
    is_coupled: bool,
    weave: impl Fn(Way) -> Result<Found, Refusal> + Sync,
) -> Result<(Choice, Vec<Choice>), Refusal> {
    let shapes = shapes(strategy, is_coupled);
    let workers = thread::available_parallelism().map_or(1, |count| count.get());
    let next = AtomicUsize::new(0);
    let work = || {
        let mut tried: Vec<(usize, Tried)> = Vec::new();
        while let Some((index, shape)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|index| Some((index, shapes.get(index)?)))
        {
            tried.push((index, try_shape(*shape, &weave)));
        }
        tried
    };
    let mut tried: Vec<(usize, Tried)> = thread::scope(|scope| {
        let all: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        all.into_iter()
            .flat_map(|worker| worker.join().unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    });
    // In the order of the sweep, whoever was first.
    tried.sort_by_key(|&(index, _)| index);
    let (found, refused): (Vec<_>, Vec<_>) = tried.into_iter().map(|(_, tried)| tried).unzip();
    let list = pareto(found.concat());
    let chosen = list.iter().rev().find(|choice| choice.words <= words_max).or(list.first()).copied();
    match (chosen, refused.into_iter().flatten().next()) {
        (Some(chosen), _) => Ok((chosen, list)),
        (None, Some(refusal)) => Err(refusal),
        (None, None) => unreachable!("something was tried"),
    }
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
