//! Judging models: what they say beside what the simulator counts, for the same requests.
//!
//! Owns which subjects are compared: some of every kind, and those that a ranking puts first. Measures of accuracy are
//! `rank`'s. Keys and operands are of a seed of their own, which models have not seen.

use std::collections::BTreeMap;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::candidate::Method;
use crate::error::Error;
use crate::estimate::{self, State};
use crate::measure::Bench;
use crate::model::Models;
use crate::native;
use crate::subject::{Material, Subject};
use crate::threads;

/// What is said and what is counted of a subject.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Its name.
    pub subject: String,
    /// Its size.
    pub size: u32,
    /// Cold or warm.
    pub state: State,
    /// Cycles by models.
    pub estimate: f64,
    /// Cycles of the simulator.
    pub measured: u64,
    /// Why the estimate is doubtful.
    pub outside: Vec<String>,
}

impl Compared {
    /// The estimate less what was measured, in parts of that.
    pub fn error(&self) -> f64 {
        self.estimate / self.measured as f64 - 1.0
    }

    /// The two, for `rank`.
    pub fn pair(&self) -> (f64, f64) {
        (self.estimate, self.measured as f64)
    }
}

/// So many of these, of every kind as many as of the others: of exponentiation a kind is a multiplication, a method, a
/// use of the factors and a radix; other families are taken as they come.
pub fn stratified(subjects: &[Subject], count: usize, seed: u64) -> Vec<Subject> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut kinds: BTreeMap<_, Vec<&Subject>> = BTreeMap::new();
    for subject in subjects {
        let kind = match subject {
            Subject::Private(candidate) => {
                let is_fixed = candidate.method == Method::Fixed;
                Some((candidate.multiplication, candidate.crt, candidate.radix, is_fixed))
            }
            _ => None,
        };
        kinds.entry(kind).or_default().push(subject);
    }
    let mut kinds: Vec<Vec<&Subject>> = kinds.into_values().collect();
    let mut below = |limit: usize| (rng.next_u64() % limit as u64) as usize;
    let mut chosen = Vec::new();
    while chosen.len() < count && !kinds.is_empty() {
        // Kinds in an order of this turn's own.
        for at in (1..kinds.len()).rev() {
            kinds.swap(at, below(at + 1));
        }
        for kind in &mut kinds {
            if chosen.len() < count {
                chosen.push(kind.swap_remove(below(kind.len())).clone());
            }
        }
        kinds.retain(|kind| !kind.is_empty());
    }
    chosen
}

/// The first so many by what models say of them cold, of a size.
///
/// # Errors
/// A routine has no model, or the library refuses.
pub fn first(
    subjects: &[Subject],
    size: u32,
    count: usize,
    models: &Models,
    material: &Material,
    done: impl Fn() + Sync,
) -> Result<Vec<Subject>, Error> {
    let estimate = |subject: &Subject| {
        let native = native::run(&material.request(subject, size)?)?;
        Ok(estimate::rows(subject, size, &native, models)?[0].cycles)
    };
    let cycles = threads::each(subjects, estimate, |_, _| done())?;
    let mut order: Vec<usize> = (0..subjects.len()).collect();
    order.sort_by(|&a, &b| cycles[a].total_cmp(&cycles[b]));
    Ok(order.into_iter().take(count).map(|at| subjects[at].clone()).collect())
}

/// Compares these, each at its size, cold and warm, on all cores.
///
/// # Errors
/// A routine has no model, the library refuses, or the program fails.
///
/// # Panics
/// When the program answers something else than the library does natively.
pub fn compare(
    bench: &Bench,
    models: &Models,
    material: &Material,
    asked: &[(Subject, u32)],
    done: impl Fn() + Sync,
) -> Result<Vec<Compared>, Error> {
    let compare = |(subject, size): &(Subject, u32)| {
        let request = material.request(subject, *size)?;
        let native = native::run(&request)?;
        let measured = bench.measure(std::slice::from_ref(&request))?.remove(0);
        assert_eq!(native.response, measured.response, "{subject} at {size}");
        let rows = estimate::rows(subject, *size, &native, models)?;
        let compared = rows.into_iter().zip(measured.turns).map(|(row, turn)| Compared {
            subject: row.subject,
            size: row.size,
            state: row.state,
            estimate: row.cycles,
            measured: turn.cycles,
            outside: row.outside,
        });
        Ok(compared.collect::<Vec<_>>())
    };
    Ok(threads::each(asked, compare, |_, _| done())?.concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::Space;
    use crate::subject::Family;

    #[test]
    fn sixty_that_are_stratified_have_every_multiplication_use_of_factors_and_radix() {
        let chosen = stratified(&Family::Private(Space::All).subjects(), 60, 5);
        assert_eq!(chosen.len(), 60);
        let kinds = |kind: &dyn Fn(&crate::Candidate) -> String| {
            let kinds = chosen.iter().map(|subject| match subject {
                Subject::Private(candidate) => kind(candidate),
                _ => unreachable!("all are of exponentiation"),
            });
            kinds.collect::<std::collections::BTreeSet<_>>().len()
        };
        assert_eq!(kinds(&|candidate| candidate.multiplication.word().to_owned()), 8);
        assert_eq!(kinds(&|candidate| candidate.crt.word().to_owned()), 3);
        assert_eq!(kinds(&|candidate| candidate.radix.word().to_owned()), 2);
        assert_eq!(stratified(&Family::Aes.subjects(), 60, 5).len(), Family::Aes.subjects().len());
    }
}
