//! Time against size: every way of weaving that is worth looking at, and the best that is small enough.
//!
//! Owns: the sweep over [`Options`], the Pareto list, and the choice. Each way is woven and estimated in full, so the
//! list holds what really comes out.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::error::Refusal;
use crate::estimate::Estimate;
use crate::product::Options;

/// One way of weaving two threads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// How.
    pub options: Options,
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
fn shapes(is_coupled: bool) -> Vec<Options> {
    let rounds = if is_coupled { &ROUNDS[..1] } else { &ROUNDS };
    let shapes = rounds.iter().flat_map(|&rounds| LOSSES.map(|loss| (rounds, loss)));
    let shapes = shapes.flat_map(|((rounds, together), loss)| {
        [false, true].map(|counted| Options { loss, copies: 1, states: 1, counted, rounds, together })
    });
    shapes.filter(|shape| !(is_coupled && shape.counted)).collect()
}

/// What became of a shape's ways: those that work, and the first refusal.
type Tried = (Vec<Choice>, Option<Refusal>);

/// Every number of states and copies that may make a difference.
fn try_shape(shape: Options, weave: &impl Fn(Options) -> Result<Found, Refusal>) -> Tried {
    let (mut choices, mut refused) = (Vec::new(), None);
    for states in STATES {
        let mut is_limited = false;
        for copies in COPIES {
            match weave(Options { states, copies, ..shape }) {
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
    words_max: u32,
    is_coupled: bool,
    weave: impl Fn(Options) -> Result<Found, Refusal> + Sync,
) -> Result<(Choice, Vec<Choice>), Refusal> {
    let shapes = shapes(is_coupled);
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
