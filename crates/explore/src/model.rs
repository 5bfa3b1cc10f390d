//! Macro-models: what a routine's own cycles are on a profile, as a sum of terms of what it counts.
//!
//! Owns what a model says of itself (terms, error bars, held-out error, domain, stack), and what counts are worth. A
//! routine's cycles are its local ones, of equation (1); those of what it calls are in the models of what it calls, and
//! so is what these take of the stack below it. Fitting is `fit`'s (section 3.2 of the paper: random inputs over a bounded
//! domain, cycles from the simulator, regression); files are `stored`'s.

use crate::error::Error;
use crate::fit::{self, Sample};
use crate::limits::DOMAIN_SLACK;
use crate::native::{Counts, Extent, FEATURES_MAX, ROUTINES, Routine};

/// How a term goes with its feature.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// As the feature.
    Straight,
    /// As its square, of the mean of a run's calls.
    Square,
    /// As what of it is above so many a call, of the mean of a run's calls.
    Above(f64),
}

impl Shape {
    /// What a run's sum of a feature over so many calls counts.
    pub(crate) fn of(self, sum: f64, calls: f64) -> f64 {
        match self {
            Shape::Straight => sum,
            Shape::Square if calls == 0.0 => 0.0,
            Shape::Square => sum * sum / calls,
            Shape::Above(bound) => (sum - bound * calls).max(0.0),
        }
    }
}

/// A term of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// The feature.
    pub feature: String,
    /// What of it counts.
    pub shape: Shape,
    /// Cycles for one of it.
    pub cycles: f64,
    /// The standard error of these.
    pub error_cycles: f64,
}

impl Term {
    /// As it is written: `limbs`, `limbs^2`, or `limbs>24` for what is above 24.
    pub fn word(&self) -> String {
        match self.shape {
            Shape::Straight => self.feature.clone(),
            Shape::Square => format!("{}^2", self.feature),
            Shape::Above(bound) => format!("{}>{bound}", self.feature),
        }
    }

    /// The feature and the shape of what [`Term::word`] writes; nothing where a bound is no number.
    pub(crate) fn read(word: &str) -> Option<(&str, Shape)> {
        if let Some(feature) = word.strip_suffix("^2") {
            return Some((feature, Shape::Square));
        }
        let Some((feature, bound)) = word.split_once('>') else { return Some((word, Shape::Straight)) };
        Some((feature, Shape::Above(bound.parse().ok().filter(|bound: &f64| bound.is_finite())?)))
    }
}

/// For what a feature of a routine was characterised, a call: what calls began with, and means of what they count as
/// they go.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// The feature.
    pub feature: String,
    /// The least a call.
    pub least: f64,
    /// The most a call.
    pub most: f64,
}

/// What a routine takes of the stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    /// Itself.
    pub own_bytes: u32,
    /// When it calls others, by their place in [`ROUTINES`].
    pub callee_bytes: Vec<(usize, u32)>,
}

/// The model of a routine on a profile.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The routine's symbol.
    pub routine: String,
    /// All features that it counts, by which a model of another library is told.
    pub features: Vec<String>,
    /// What its cycles are made of.
    pub terms: Vec<Term>,
    /// What it was characterised for.
    pub domain: Vec<Range>,
    /// Bytes of its code where it was measured, 0 where nobody knows.
    pub code_bytes: u32,
    /// Tables and other constants that it read, each with its bytes; nothing where nobody knows.
    pub tables: Option<Vec<(String, u32)>>,
    /// What it takes of the stack; nothing where nobody knows.
    pub stack: Option<Stack>,
    /// Measurements that it was fitted to.
    pub samples: usize,
    /// Mean of |model - measured| / measured over measurements that it was not fitted to, parts of one.
    pub held_out_error: f64,
    /// The largest of these.
    pub held_out_error_most: f64,
}

impl Model {
    /// What counts of this routine are worth, in cycles.
    fn cycles(&self, features: &[f64; FEATURES_MAX]) -> f64 {
        let worth =
            |term: &Term| term.cycles * term.shape.of(features[self.place(&term.feature)], features[0]);
        self.terms.iter().map(worth).sum()
    }

    /// Where what calls had lies outside of what the routine was characterised for.
    fn outside(&self, extents: &[Extent; FEATURES_MAX]) -> Option<Error> {
        self.domain.iter().find_map(|range| {
            let [least, most] = extents[self.place(&range.feature)];
            let slack = DOMAIN_SLACK * range.most.abs().max(1.0);
            let found = if least < range.least - slack { least } else { most };
            let is_inside = (range.least - slack..=range.most + slack).contains(&found);
            (!is_inside).then(|| Error::OutOfDomain {
                routine: self.routine.clone(),
                feature: range.feature.clone(),
                found,
                least: range.least,
                most: range.most,
            })
        })
    }

    fn place(&self, feature: &str) -> usize {
        let place = self.features.iter().position(|name| name == feature);
        place.expect("terms and ranges are of its features, which reading checks")
    }
}

/// Of which runs the models are: what makes them comparable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The instruction set, as the compiler was told it.
    pub instruction_set: String,
    /// The profile of the simulator.
    pub profile: String,
    /// The leaves of the basic layer.
    pub leaves: String,
    /// How the program is linked.
    pub layout: u64,
    /// The compiler and its options.
    pub compiler: String,
    /// The program that made them, and its version.
    pub tool: String,
    /// The library that they are of, as [`crate::kept::SOURCES`]; empty where nobody said.
    pub sources: String,
    /// What inputs were drawn from.
    pub seed: u64,
}

/// The models of all routines that were characterised on a profile.
#[derive(Clone, Debug, PartialEq)]
pub struct Models {
    /// Where they come from.
    pub origin: Origin,
    /// By routine, in the order of [`ROUTINES`]; nothing where there is no model.
    pub routines: Vec<Option<Model>>,
}

/// What counts are worth.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// All cycles.
    pub cycles: f64,
    /// Of each routine that was called: its place in [`ROUTINES`], and its local cycles.
    pub by_routine: Vec<(usize, f64)>,
    /// Where routines were asked beyond what they were characterised for.
    pub outside: Vec<Error>,
}

impl Models {
    /// Fits all routines of which there are measurements, by their place in [`ROUTINES`].
    ///
    /// # Errors
    /// A routine has some, and too few.
    pub fn fit(origin: Origin, samples: &[Vec<Sample>]) -> Result<Models, Error> {
        let fit = |(routine, samples): (&Routine, &Vec<Sample>)| match samples.is_empty() {
            true => Ok(None),
            false => fit::fit(routine, samples).map(Some),
        };
        let routines = ROUTINES.iter().zip(samples).map(fit).collect::<Result<_, Error>>()?;
        Ok(Models { origin, routines })
    }

    /// What features of a routine are worth, calls first, wherever they come from.
    ///
    /// # Errors
    /// It has no model.
    pub fn worth(&self, routine: usize, features: &[f64; FEATURES_MAX]) -> Result<f64, Error> {
        Ok(self.model(routine)?.cycles(features))
    }

    /// Where calls that have these features on average are outside of what the routine was characterised for.
    ///
    /// # Errors
    /// It has no model.
    pub fn outside(&self, routine: usize, features: &[f64; FEATURES_MAX]) -> Result<Option<Error>, Error> {
        Ok(self.model(routine)?.outside(&features.map(|feature| [feature / features[0]; 2])))
    }

    /// Routines that have no model, since too few requests of a plan call them while they are timed.
    pub fn without(&self) -> impl Iterator<Item = &'static str> {
        let pairs = ROUTINES.iter().zip(&self.routines);
        pairs.filter(|(_, model)| model.is_none()).map(|(routine, _)| routine.name.as_str())
    }

    fn model(&self, routine: usize) -> Result<&Model, Error> {
        self.routines[routine].as_ref().ok_or_else(|| Error::NoModel {
            routine: ROUTINES[routine].name.clone(),
            profile: self.origin.profile.clone(),
        })
    }

    /// How deep the stack is at most in the contexts of a run; nothing where models do not say, or were made of runs in
    /// which nobody called for another who did here.
    pub fn stack_bytes(&self, counts: &Counts) -> Option<u64> {
        // Of each context, where the stack ended when it was entered, and its stack; nothing of what is no library's.
        let mut entered: Vec<(u64, Option<&Stack>)> = vec![(0, None)];
        let mut deepest = 0;
        for context in counts.contexts() {
            let (begin, caller) = entered[context.caller()];
            let routine = context.routine();
            let called = |stack: &Stack| {
                let found = stack.callee_bytes.iter().find(|(callee, _)| *callee == routine);
                found.map(|&(_, bytes)| u64::from(bytes))
            };
            let begin = begin + caller.map_or(Some(0), called)?;
            if !ROUTINES[routine].is_library() {
                entered.push((begin, None));
                continue;
            }
            let stack = self.routines[routine].as_ref()?.stack.as_ref()?;
            deepest = deepest.max(begin + u64::from(stack.own_bytes));
            entered.push((begin, Some(stack)));
        }
        Some(deepest)
    }

    /// What these counts are worth on the profile. Equation (1): the sum over routines of their local cycles.
    ///
    /// # Errors
    /// A routine was called and has no model.
    pub fn estimate(&self, counts: &Counts) -> Result<Estimate, Error> {
        let mut estimate = Estimate { cycles: 0.0, by_routine: Vec::new(), outside: Vec::new() };
        for (routine, counted) in counts.called() {
            let model = self.model(routine)?;
            let features = counted.map(|feature| feature as f64);
            let cycles = model.cycles(&features);
            estimate.cycles += cycles;
            estimate.by_routine.push((routine, cycles));
            estimate.outside.extend(model.outside(&counts.extents(routine)));
        }
        Ok(estimate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_read_as_they_are_written() {
        for (word, feature, shape) in [
            ("limbs", "limbs", Shape::Straight),
            ("limbs^2", "limbs", Shape::Square),
            ("limbs>24", "limbs", Shape::Above(24.0)),
        ] {
            assert_eq!(Term::read(word), Some((feature, shape)));
            let term = Term { feature: feature.to_owned(), shape, cycles: 1.0, error_cycles: 0.0 };
            assert_eq!(term.word(), word);
        }
        assert_eq!((Term::read("limbs>many"), Term::read("limbs>inf")), (None, None));
    }

    #[test]
    fn an_estimate_beyond_the_domain_says_so() {
        let model = Model {
            routine: "made_up".to_owned(),
            features: ["calls", "limbs"].map(str::to_owned).to_vec(),
            terms: Vec::new(),
            domain: vec![Range { feature: "limbs".to_owned(), least: 1.0, most: 13.0 }],
            code_bytes: 0,
            tables: None,
            stack: None,
            samples: 13,
            held_out_error: 0.0,
            held_out_error_most: 0.0,
        };
        let of = |least: f64, most: f64| {
            let mut extents = [[0.0; 2]; FEATURES_MAX];
            extents[1] = [least, most];
            model.outside(&extents).map(|outside| outside.to_string())
        };
        assert_eq!(of(1.0, 13.0), None);
        let said = |found: u32| {
            Some(format!("`made_up` was characterised for limbs of 1 to 13 a call, and is asked for {found}"))
        };
        assert_eq!(of(14.0, 14.0), said(14));
        // One call of many, whose mean is well inside.
        assert_eq!(of(2.0, 20.0), said(20));
        assert_eq!(of(0.0, 12.0), said(0));
    }
}
