//! Macro-models: what a routine's own cycles are on a profile, as a linear function of what it counts.
//!
//! Owns fitting (section 3.2 of the paper: random inputs over a bounded domain, cycles from the simulator,
//! regression), what a model says of itself (error bars, held-out error, domain), and what counts are worth. A
//! routine's cycles are its local ones, of equation (1); those of what it calls are in the models of what it calls.
//! Regression is linregress'; files are `stored`'s; where measurements come from is `measure`'s.
//!
//! The terms are chosen among the features of `firmware/crypto/routines.def`, where pieces, squares and what depends on
//! data are counted by name: a model is linear in them. Every subset with the calls is fitted, and judged by
//! cross-validation; a larger one has to earn its terms. Measurements weigh so that relative errors count.

use linregress::{fit_low_level_regression_model, fit_low_level_regression_model_without_statistics};

use crate::error::Error;
use crate::limits::{DOMAIN_SLACK, ERROR_FLOOR, FOLDS, LIKENESS_MOST, SAMPLES_LEAST, TERM_GAIN_LEAST};
use crate::native::{Counts, FEATURES_MAX, ROUTINES, Routine};

/// A measurement of a routine: what it counted in a run, and its own cycles in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Its features, calls first; unused ones are 0.
    pub features: [f64; FEATURES_MAX],
    /// Cycles without those of the routines that it called.
    pub local_cycles: f64,
    /// How much it counts beside others in a fit: 1 where the routine was used.
    pub weight: f64,
}

/// A term of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// The feature.
    pub feature: String,
    /// Cycles for one of it.
    pub cycles: f64,
    /// The standard error of these.
    pub error_cycles: f64,
}

/// For what a feature of a routine was characterised: its mean over the calls of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// The feature.
    pub feature: String,
    /// The least a call.
    pub least: f64,
    /// The most a call.
    pub most: f64,
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
    /// Measurements that it was fitted to.
    pub samples: usize,
    /// Mean of |model - measured| / measured over measurements that it was not fitted to, parts of one.
    pub held_out_error: f64,
    /// The largest of these.
    pub held_out_error_most: f64,
}

impl Model {
    /// Fits a model to measurements.
    ///
    /// # Errors
    /// There are too few.
    pub fn fit(routine: &Routine, samples: &[Sample]) -> Result<Model, Error> {
        let samples: Vec<Sample> =
            samples.iter().copied().filter(|sample| sample.features[0] > 0.0).collect();
        if samples.len() < SAMPLES_LEAST {
            return Err(Error::TooFew { routine: routine.name.clone(), found: samples.len() });
        }
        let (subset, judged) = choose(routine, &samples);
        let Solved { parameters, errors } = solve(&samples, &subset, true).expect("it was judged");
        let terms = subset.iter().zip(parameters).zip(errors).map(|((&feature, cycles), error_cycles)| {
            Term { feature: routine.features[feature].clone(), cycles, error_cycles }
        });
        Ok(Model {
            routine: routine.name.clone(),
            features: routine.features.clone(),
            terms: terms.collect(),
            domain: domain(routine, &samples),
            code_bytes: 0,
            tables: None,
            samples: samples.len(),
            held_out_error: judged.mean,
            held_out_error_most: judged.most,
        })
    }

    /// What counts of this routine are worth, in cycles.
    fn cycles(&self, features: &[f64]) -> f64 {
        let worth = |term: &Term| term.cycles * features[self.place(&term.feature)];
        self.terms.iter().map(worth).sum()
    }

    /// Where the counts lie outside of what the routine was characterised for.
    fn outside(&self, features: &[f64]) -> Option<Error> {
        self.domain.iter().find_map(|range| {
            let found = features[self.place(&range.feature)] / features[0];
            let slack = DOMAIN_SLACK * range.most.abs().max(1.0);
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

/// Errors over measurements that a model was not fitted to, parts of one.
#[derive(Clone, Copy, Debug)]
struct Judged {
    mean: f64,
    most: f64,
}

/// The features that a model is made of, and how well.
fn choose(routine: &Routine, samples: &[Sample]) -> (Vec<usize>, Judged) {
    let others = routine.features.len() - 1;
    let mut subsets: Vec<Vec<usize>> = (0u32..1 << others)
        .map(|bits| {
            std::iter::once(0)
                .chain((0..others).filter(|bit| bits >> bit & 1 == 1).map(|bit| bit + 1))
                .collect()
        })
        .collect();
    subsets.sort_by_key(|subset: &Vec<usize>| subset.len());
    let mut best: Option<(Vec<usize>, Judged)> = None;
    for subset in subsets {
        let Some(judged) = judge(samples, &subset) else { continue };
        let earns = best.as_ref().is_none_or(|(held, than)| {
            let terms = subset.len().saturating_sub(held.len()) as i32;
            judged.mean.max(ERROR_FLOOR) < than.mean.max(ERROR_FLOOR) * (1.0 - TERM_GAIN_LEAST).powi(terms)
        });
        if earns {
            best = Some((subset, judged));
        }
    }
    best.expect("calls alone can always be fitted")
}

/// Cross-validation; nothing where a part cannot be fitted.
fn judge(samples: &[Sample], subset: &[usize]) -> Option<Judged> {
    let (mut sum, mut weights, mut most) = (0.0, 0.0, 0.0f64);
    for fold in 0..FOLDS {
        let part = |is_held: bool| -> Vec<Sample> {
            let of = |index: usize| (index % FOLDS == fold) == is_held;
            samples.iter().enumerate().filter(|(index, _)| of(*index)).map(|(_, sample)| *sample).collect()
        };
        let parameters = solve(&part(false), subset, false)?.parameters;
        for sample in part(true) {
            let modelled: f64 = subset.iter().zip(&parameters).map(|(&at, c)| c * sample.features[at]).sum();
            let error = (modelled - sample.local_cycles).abs() / sample.local_cycles.max(1.0);
            sum += sample.weight * error;
            weights += sample.weight;
            // Where it is used.
            if sample.weight == 1.0 {
                most = most.max(error);
            }
        }
    }
    Some(Judged { mean: sum / weights, most })
}

/// What a fit comes to, in the order of its features.
struct Solved {
    parameters: Vec<f64>,
    /// Standard errors; zeros where they were not asked for.
    errors: Vec<f64>,
}

/// Fits these features to the measurements; nothing where they cannot be told apart by them.
///
/// Each row is in parts of its cycles, so that relative errors count, and each column in parts of its length, so that
/// what cannot be told apart is seen by its size.
fn solve(samples: &[Sample], subset: &[usize], with_errors: bool) -> Option<Solved> {
    let row = |sample: &Sample| {
        let (features, part) = (sample.features, sample.weight / sample.local_cycles.max(1.0));
        subset.iter().map(move |&at| features[at] * part).collect::<Vec<f64>>()
    };
    let rows: Vec<Vec<f64>> = samples.iter().map(row).collect();
    let weights: Vec<f64> = samples.iter().map(|sample| sample.weight).collect();
    let lengths: Vec<f64> =
        (0..subset.len()).map(|at| rows.iter().map(|row| row[at] * row[at]).sum::<f64>().sqrt()).collect();
    if samples.len() <= subset.len() || lengths.contains(&0.0) {
        return None;
    }
    // One alone, which regression would not do.
    if subset.len() == 1 {
        let pairs = || rows.iter().zip(&weights);
        let parameter = pairs().map(|(row, weight)| row[0] * weight).sum::<f64>() / lengths[0].powi(2);
        let left: f64 = pairs().map(|(row, weight)| (weight - parameter * row[0]).powi(2)).sum();
        let error = (left / (samples.len() - 1) as f64).sqrt() / lengths[0];
        return Some(Solved { parameters: vec![parameter], errors: vec![error] });
    }
    let scaled = |(row, weight): (&Vec<f64>, &f64)| -> Vec<f64> {
        let parts = row.iter().zip(&lengths).map(|(value, length)| value / length);
        std::iter::once(*weight).chain(parts).collect()
    };
    let data: Vec<f64> = rows.iter().zip(&weights).flat_map(scaled).collect();
    let (count, columns) = (samples.len(), subset.len() + 1);
    let fitted = fit_low_level_regression_model_without_statistics(&data, count, columns).ok()?;
    let limit = LIKENESS_MOST * (count as f64).sqrt();
    if !fitted.iter().all(|parameter| parameter.abs() <= limit) {
        return None;
    }
    // Measurements that a model meets exactly leave nothing to estimate an error from.
    let statistics =
        with_errors.then(|| fit_low_level_regression_model(&data, count, columns).ok()).flatten();
    let errors = statistics.map_or(vec![0.0; subset.len()], |statistics| statistics.se().to_vec());
    let unscaled = |values: &[f64]| -> Vec<f64> {
        let pairs = values.iter().zip(&lengths).map(|(value, length)| value / length);
        pairs.map(|value| if value.is_finite() { value } else { 0.0 }).collect()
    };
    Some(Solved { parameters: unscaled(&fitted), errors: unscaled(&errors) })
}

fn domain(routine: &Routine, samples: &[Sample]) -> Vec<Range> {
    let range = |(at, feature): (usize, &String)| {
        let means = samples.iter().map(|sample| sample.features[at] / sample.features[0]);
        let (least, most) = means.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), mean| {
            (least.min(mean), most.max(mean))
        });
        Range { feature: feature.clone(), least, most }
    };
    routine.features.iter().enumerate().skip(1).map(range).collect()
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
            false => Model::fit(routine, samples).map(Some),
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

    fn model(&self, routine: usize) -> Result<&Model, Error> {
        self.routines[routine].as_ref().ok_or_else(|| Error::NoModel {
            routine: ROUTINES[routine].name.clone(),
            profile: self.origin.profile.clone(),
        })
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
            estimate.outside.extend(model.outside(&features));
        }
        Ok(estimate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routine() -> Routine {
        let features = ["calls", "limbs", "corrections"].map(str::to_owned).to_vec();
        Routine { name: "made_up".to_owned(), layer: "basic".to_owned(), features }
    }

    fn samples(cycles: impl Fn(f64, f64) -> f64) -> Vec<Sample> {
        let of = |index: u32| {
            let (limbs, corrections) = (f64::from(index % 13 + 1), f64::from(index % 3));
            let features = [1.0, limbs, corrections, 0.0, 0.0, 0.0];
            Sample { features, local_cycles: cycles(limbs, corrections), weight: 1.0 }
        };
        (0..60).map(of).collect()
    }

    #[test]
    fn a_model_finds_the_cycles_that_made_its_measurements() {
        let model =
            Model::fit(&routine(), &samples(|limbs, corrections| 20.0 + 7.0 * limbs + 11.0 * corrections));
        let model = model.expect("there are enough");
        let terms: Vec<_> =
            model.terms.iter().map(|term| (term.feature.as_str(), term.cycles.round())).collect();
        assert_eq!(terms, [("calls", 20.0), ("limbs", 7.0), ("corrections", 11.0)]);
        assert!(model.held_out_error < 1e-9, "{}", model.held_out_error);
    }

    #[test]
    fn a_feature_that_explains_nothing_is_left_out() {
        let model =
            Model::fit(&routine(), &samples(|limbs, _| 20.0 + 7.0 * limbs)).expect("there are enough");
        assert_eq!(model.terms.len(), 2, "{:?}", model.terms);
    }

    #[test]
    fn an_estimate_beyond_the_domain_says_so() {
        let model =
            Model::fit(&routine(), &samples(|limbs, _| 20.0 + 7.0 * limbs)).expect("there are enough");
        assert_eq!(model.outside(&[2.0, 26.0, 0.0]), None);
        let outside = model.outside(&[2.0, 28.0, 0.0]).expect("14 limbs were never measured");
        assert_eq!(
            outside.to_string(),
            "`made_up` was characterised for limbs of 1 to 13 a call, and is asked for 14"
        );
    }

    #[test]
    fn too_few_measurements_make_no_model() {
        let few = &samples(|limbs, _| limbs)[..SAMPLES_LEAST - 1];
        let error = Error::TooFew { routine: "made_up".to_owned(), found: SAMPLES_LEAST - 1 };
        assert_eq!(Model::fit(&routine(), few), Err(error));
    }
}
