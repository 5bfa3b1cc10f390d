//! Time against size: every way of weaving that is worth looking at, and the best that is small enough.
//!
//! Owns: the sweep over [`Options`], the Pareto list, and the choice. Each way is woven and estimated in full, so the
//! list holds what really comes out.

use crate::estimate::Estimate;
use crate::product::Options;
use crate::refusal::Refusal;

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

/// Shares of time that closing a loop may cost, swept.
const LOSSES: [f64; 7] = [1.0, 0.3, 0.1, 0.05, 0.03, 0.02, 0.01];
/// Copies of a loop's body, swept.
const COPIES: [usize; 6] = [1, 2, 4, 8, 16, 32];
/// States of one block, swept.
const STATES: [usize; 4] = [1, 2, 4, 8];

/// Rounds of the guest that are written as one, and how many of them get at once what they send, swept.
const ROUNDS: [(u32, u32); 5] = [(1, 1), (2, 1), (4, 1), (4, 4), (8, 4)];

/// Everything but the number of copies.
fn shapes() -> impl Iterator<Item = Options> {
    let rounds = ROUNDS.into_iter().flat_map(|rounds| STATES.map(|states| (rounds, states)));
    let shapes = rounds.flat_map(|shape| LOSSES.map(|loss| (shape, loss)));
    shapes.flat_map(|(((rounds, together), states), loss)| {
        [false, true].map(|counted| Options { loss, copies: 0, states, counted, rounds, together })
    })
}

/// The way that recovers most within `words_max`, or the smallest, and the Pareto list in order of size.
///
/// # Errors
/// The first refusal, when nothing can be woven at all.
pub fn choose(
    words_max: u32,
    mut weave: impl FnMut(Options) -> Result<Choice, Refusal>,
) -> Result<(Choice, Vec<Choice>), Refusal> {
    let mut found: Vec<Choice> = Vec::new();
    let mut refused = None;
    for shape in shapes() {
        for copies in COPIES {
            match weave(Options { copies, ..shape }) {
                Ok(choice) => {
                    found.push(choice);
                    // Its loops closed by themselves: more copies change nothing.
                    if choice.copies < copies {
                        break;
                    }
                }
                // With more copies it is larger still; but a loop that meets no state of its one copy may meet one of
                // several.
                Err(refusal) => {
                    let is_hopeless = !matches!(refusal, Refusal::NoRoom { .. });
                    refused = refused.or(Some(refusal));
                    if is_hopeless {
                        break;
                    }
                }
            }
        }
    }
    found.sort_by(|a, b| {
        a.words.cmp(&b.words).then(b.estimate.host_share().total_cmp(&a.estimate.host_share()))
    });
    let mut list: Vec<Choice> = Vec::new();
    for choice in found {
        if list.last().is_none_or(|last| choice.estimate.host_share() > last.estimate.host_share()) {
            list.push(choice);
        }
    }
    let chosen = list.iter().rev().find(|choice| choice.words <= words_max).or(list.first()).copied();
    match (chosen, refused) {
        (Some(chosen), _) => Ok((chosen, list)),
        (None, Some(refusal)) => Err(refusal),
        (None, None) => unreachable!("something was tried"),
    }
}
