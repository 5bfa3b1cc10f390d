//! Judging models: what they say beside what the simulator counts, for the same requests.
//!
//! Owns which subjects are compared: some of every kind, and those that a ranking puts first. Measures of accuracy are
//! `rank`'s. Those of every kind have a key and operands of their own each; those of a ranking have one key, with which they
//! are ranked and measured, so that what the first takes more than the best is no key's doing. Both are of a seed that
//! models have not seen.

use std::collections::BTreeMap;
use std::sync::Mutex;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sha2::{Digest, Sha256};

use crate::analytic::Analytic;
use crate::candidate::Method;
use crate::error::Error;
use crate::estimate::{self, Row, State};
use crate::measure::Bench;
use crate::model::Models;
use crate::native::{self, Native};
use crate::rank;
use crate::request::Request;
use crate::space::Space;
use crate::subject::{Family, Material, Subject};
use crate::threads;

/// Who says what a subject takes.
pub enum Estimator<'a> {
    /// Native runs, and models of what they count.
    Native(&'a Models),
    /// Formulas of counts, and the same models.
    Analytic(Box<Mutex<Analytic<'a>>>),
}

impl<'a> Estimator<'a> {
    /// Formulas whose own key and operands are drawn from a seed.
    ///
    /// # Errors
    /// The family has no formulas.
    pub fn analytic(family: Family, models: &'a Models, seed: u64) -> Result<Estimator<'a>, Error> {
        Ok(Estimator::Analytic(Box::new(Mutex::new(Analytic::new(family, models, seed)?))))
    }

    /// The rows of a subject for a request; `native` runs it natively, where that is asked for.
    fn rows(
        &self,
        (subject, size): (&Subject, u32),
        native: impl FnOnce() -> Result<Native, Error>,
    ) -> Result<Vec<Row>, Error> {
        match self {
            Estimator::Native(models) => estimate::rows(subject, size, &native()?, models),
            Estimator::Analytic(analytic) => {
                analytic.lock().expect("nobody panics with it").rows(subject, size)
            }
        }
    }
}

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
    /// Bytes of the stack by models; nothing where they do not say, nor formulas.
    pub stack_bytes: Option<u64>,
    /// Bytes of the stack in the simulator.
    pub measured_stack_bytes: u64,
    /// Why the estimate is doubtful.
    pub outside: Vec<String>,
}

impl Compared {
    /// The estimate less what was measured, in parts of that.
    pub fn error(&self) -> f64 {
        self.estimate / self.measured as f64 - 1.0
    }

    /// How far the stack by models is from the simulator's, in bytes; nothing where models do not say.
    pub fn stack_off_bytes(&self) -> Option<u64> {
        Some(self.stack_bytes?.abs_diff(self.measured_stack_bytes))
    }

    /// The two, for `rank`.
    pub fn pair(&self) -> (f64, f64) {
        (self.estimate, self.measured as f64)
    }
}

/// So many of these, of every kind as many as of the others: of exponentiation a kind is a multiplication, whether its
/// windows are fixed, a use of the factors and a radix; other families are taken as they come.
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

/// The first so many of a size by what is said of them cold or warm, in that order; where it is warm, of those that keep
/// something.
///
/// # Errors
/// A routine has no model, or the library refuses.
pub fn first(
    subjects: &[Subject],
    (size, state): (u32, State),
    count: usize,
    estimator: &Estimator,
    material: &Material,
    done: impl Fn() + Sync,
) -> Result<Vec<Subject>, Error> {
    let estimate = |subject: &Subject| {
        let rows = estimator.rows((subject, size), || native::run(&material.request(subject, size)?))?;
        Ok(rows.iter().find(|row| row.state == state).map(|row| row.cycles))
    };
    let cycles = threads::each(subjects, estimate, |_, _| done())?;
    let told = subjects.iter().zip(cycles).filter_map(|(subject, cycles)| Some((cycles?, subject)));
    let mut order: Vec<(f64, &Subject)> = told.collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(order.into_iter().take(count).map(|(_, subject)| subject.clone()).collect())
}

/// What a subject is asked at a size with a key and operands that are no other's.
///
/// # Errors
/// The library refuses.
pub fn fresh(subject: &Subject, size: u32, seed: u64) -> Result<Request, Error> {
    let digest = Sha256::digest(format!("{seed} {subject} {size}"));
    let own = digest[..8].iter().fold(0, |seed, byte| seed << 8 | u64::from(*byte));
    // Keys are the same for all spaces, and other families have none.
    let family = match subject {
        Subject::Private(_) => Family::Private(Space::All),
        Subject::Message { .. } => Family::Aes,
        Subject::Curve { .. } => Family::Ecc,
    };
    Material::new(family, &[size], own)?.request(subject, size)
}

/// What is said and what is counted of a subject for a request: cold, and warm if it keeps something.
fn compared(
    bench: &Bench,
    estimator: &Estimator,
    (subject, size): (&Subject, u32),
    request: &Request,
) -> Result<Vec<Compared>, Error> {
    let native = native::run(request)?;
    let measured = bench.measure_one(request)?;
    assert_eq!(native.response, measured.response, "{subject} at {size}");
    let rows = estimator.rows((subject, size), || Ok(native))?;
    let compared = rows.into_iter().zip(measured.turns).map(|(row, turn)| Compared {
        subject: row.subject,
        size: row.size,
        state: row.state,
        estimate: row.cycles,
        measured: turn.cycles,
        stack_bytes: row.stack_bytes,
        measured_stack_bytes: turn.stack_bytes.into(),
        outside: row.outside,
    });
    Ok(compared.collect())
}

/// Compares these, each at its size with a key of its own, cold and warm, on all cores.
///
/// # Errors
/// A routine has no model, the library refuses, or the program fails.
///
/// # Panics
/// When the program answers something else than the library does natively.
pub fn compare(
    bench: &Bench,
    estimator: &Estimator,
    seed: u64,
    asked: &[(Subject, u32)],
    done: impl Fn() + Sync,
) -> Result<Vec<Compared>, Error> {
    let compare = |(subject, size): &(Subject, u32)| {
        compared(bench, estimator, (subject, *size), &fresh(subject, *size, seed)?)
    };
    Ok(threads::each(asked, compare, |_, _| done())?.concat())
}

/// Compares those that a ranking puts [`first`], in its order and in the state that it is of, with the key and operands
/// that they are ranked with, on all cores.
///
/// # Errors
/// A routine has no model, the library refuses, or the program fails.
///
/// # Panics
/// When the program answers something else than the library does natively.
pub fn compare_first(
    bench: &Bench,
    estimator: &Estimator,
    material: &Material,
    (size, state): (u32, State),
    first: &[Subject],
    done: impl Fn() + Sync,
) -> Result<Vec<Compared>, Error> {
    let compare =
        |subject: &Subject| compared(bench, estimator, (subject, size), &material.request(subject, size)?);
    let mut all = threads::each(first, compare, |_, _| done())?.concat();
    all.retain(|row| row.state == state);
    Ok(all)
}

/// The [`rank::regret`] of those that a ranking puts first, compared in its order.
pub fn regret(ranked: &[Compared]) -> Option<f64> {
    rank::regret(&ranked.iter().map(|row| row.measured as f64).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::candidate::Multiplication;
    use crate::stored;

    #[test]
    fn sixty_that_are_stratified_have_every_multiplication_use_of_factors_and_radix() {
        let chosen = stratified(&Family::Private(Space::All).subjects(), 60, 5);
        assert_eq!(chosen.len(), 60);
        let kinds = |kind: &dyn Fn(&crate::Candidate) -> String| {
            let kinds = chosen.iter().map(|subject| match subject {
                Subject::Private(candidate) => kind(candidate),
                _ => unreachable!("all are of exponentiation"),
            });
            kinds.collect::<BTreeSet<_>>().len()
        };
        let multiplications = kinds(&|candidate| candidate.multiplication.word().to_owned());
        assert_eq!(multiplications, Multiplication::ALL.len());
        assert_eq!(kinds(&|candidate| candidate.crt.word().to_owned()), 3);
        assert_eq!(kinds(&|candidate| candidate.radix.word().to_owned()), 2);
        assert_eq!(stratified(&Family::Aes.subjects(), 60, 5).len(), Family::Aes.subjects().len());
    }

    #[test]
    fn every_candidate_at_every_size_has_a_key_of_its_own() {
        let subjects: Vec<Subject> = Family::Private(Space::PaperA).subjects().into_iter().take(3).collect();
        let requests = subjects.iter().flat_map(|subject| {
            [(512, 1), (576, 1), (512, 2)]
                .map(|(size, seed)| fresh(subject, size, seed).expect("it has a size"))
        });
        let of = |operand: usize| {
            requests.clone().map(|request| request.operands[operand].clone()).collect::<BTreeSet<_>>()
        };
        // Modulus and input.
        assert_eq!((of(0).len(), of(6).len()), (9, 9));
        let again = |subject| fresh(subject, 512, 1).expect("it has a size");
        assert_eq!(again(&subjects[0]), again(&subjects[0]));
    }

    #[test]
    fn what_is_first_warm_keeps_something() {
        let models = stored::read(include_str!("../models/vex5.ndjson")).expect("it is one");
        let subjects = stratified(&Family::Private(Space::All).subjects(), 48, 5);
        let material = Material::new(Family::Private(Space::All), &[512], 5).expect("it has a size");
        let native = Estimator::Native(&models);
        let first =
            |state| first(&subjects, (512, state), 48, &native, &material, || ()).expect("all have models");
        let (cold, warm) = (first(State::Cold), first(State::Warm));
        assert_eq!(cold.len(), 48);
        let keeping: Vec<&Subject> = subjects.iter().filter(|subject| subject.keeps()).collect();
        assert_eq!(warm.len(), keeping.len());
        assert!(warm.iter().all(Subject::keeps));
        // Warm is an order of its own.
        assert!(!warm.iter().eq(cold.iter().filter(|subject| subject.keeps())));
    }
}
