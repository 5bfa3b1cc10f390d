//! Fitting a model to measurements of a routine.
//!
//! Owns which terms a model is made of and what each is worth: regression, which is linregress', and cross-validation.
//! Where measurements come from is `characterise`'s; what a model is, `model`'s.
//!
//! The terms are chosen among the features of `firmware/crypto/routines.def`, where pieces and what depends on data are
//! counted by name. Every subset with the calls is fitted, and judged by cross-validation; a larger one has to earn its
//! terms. Then squares of a routine's length, and what it is above a bound, have to earn theirs. Measurements weigh so
//! that relative errors count.

use linregress::{fit_low_level_regression_model, fit_low_level_regression_model_without_statistics};

use crate::error::Error;
use crate::limits::{BENT_TERMS_MOST, ERROR_FLOOR, FOLDS, LIKENESS_MOST, SAMPLES_LEAST, TERM_GAIN_LEAST};
use crate::model::{Model, Range, Shape, Term};
use crate::native::{Extent, FEATURES_MAX, Routine};

/// Features that say how long what a routine is called with is, of which there is one a routine.
const LENGTHS: [&str; 5] = ["limbs", "rows", "columns", "blocks", "bytes"];

/// A measurement of a routine: what it counted in a run, and its own cycles in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Its features, calls first; unused ones are 0.
    pub features: [f64; FEATURES_MAX],
    /// What each of them was in a call.
    pub extents: [Extent; FEATURES_MAX],
    /// Cycles without those of the routines that it called.
    pub local_cycles: f64,
    /// How much it counts beside others in a fit: 1 where the routine was used.
    pub weight: f64,
    /// The request that it is of: those of one, cold and warm, are alike, and lie one behind the other.
    pub request: usize,
}

/// Fits a model to measurements.
///
/// # Errors
/// There are too few.
pub fn fit(routine: &Routine, samples: &[Sample]) -> Result<Model, Error> {
    fitted(routine, samples, bent(routine, samples))
}

/// The same without squares and bends, to see what these say more.
///
/// # Errors
/// There are too few.
pub fn straight(routine: &Routine, samples: &[Sample]) -> Result<Model, Error> {
    fitted(routine, samples, Vec::new())
}

fn fitted(routine: &Routine, samples: &[Sample], bent: Vec<Column>) -> Result<Model, Error> {
    if samples.len() < SAMPLES_LEAST {
        return Err(Error::TooFew { routine: routine.name.clone(), found: samples.len() });
    }
    let (subset, judged) = choose(routine, samples, &bent);
    let Solved { parameters, errors } = solve(samples, &subset, true).expect("it was judged");
    let terms = subset.iter().zip(parameters).zip(errors).map(|((column, cycles), error_cycles)| {
        let feature = routine.features[column.feature].clone();
        Term { feature, shape: column.shape, cycles, error_cycles }
    });
    Ok(Model {
        routine: routine.name.clone(),
        features: routine.features.clone(),
        terms: terms.collect(),
        domain: domain(routine, samples),
        code_bytes: 0,
        tables: None,
        stack: None,
        samples: samples.len(),
        held_out_error: judged.mean,
        held_out_error_most: judged.most,
    })
}

/// Errors over measurements that a model was not fitted to, parts of one.
#[derive(Clone, Copy, Debug)]
struct Judged {
    mean: f64,
    most: f64,
}

/// What a term is fitted to.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Column {
    feature: usize,
    shape: Shape,
}

impl Column {
    fn straight(feature: usize) -> Column {
        Column { feature, shape: Shape::Straight }
    }

    fn of(self, sample: &Sample) -> f64 {
        self.shape.of(sample.features[self.feature], sample.features[0])
    }
}

/// The columns that a model is made of, and how well.
fn choose(routine: &Routine, samples: &[Sample], bent: &[Column]) -> (Vec<Column>, Judged) {
    let others = routine.features.len() - 1;
    let mut subsets: Vec<Vec<Column>> = (0u32..1 << others)
        .map(|bits| {
            let taken = (0..others).filter(|bit| bits >> bit & 1 == 1).map(|bit| bit + 1);
            std::iter::once(0).chain(taken).map(Column::straight).collect()
        })
        .collect();
    subsets.sort_by_key(Vec::len);
    let mut best = best_of(None, subsets, samples).expect("calls alone can always be fitted");
    for _ in 0..BENT_TERMS_MOST {
        let with = |column: &Column| best.0.iter().copied().chain([*column]).collect::<Vec<_>>();
        let subsets: Vec<Vec<Column>> =
            bent.iter().filter(|column| !best.0.contains(column)).map(with).collect();
        best = best_of(Some(best), subsets, samples).expect("there was one");
    }
    pruned(best, samples)
}

/// What there is without terms that others came to stand for.
fn pruned(mut best: (Vec<Column>, Judged), samples: &[Sample]) -> (Vec<Column>, Judged) {
    for at in (1..best.0.len()).rev() {
        let subset: Vec<Column> = { best.0.iter().enumerate() }
            .filter(|(place, _)| *place != at)
            .map(|(_, column)| *column)
            .collect();
        let Some(judged) = judge(samples, &subset) else { continue };
        if best.1.mean.max(ERROR_FLOOR) >= judged.mean.max(ERROR_FLOOR) * (1.0 - TERM_GAIN_LEAST) {
            best = (subset, judged);
        }
    }
    best
}

/// The best of what there is and these subsets, of which one has to earn the terms that it has more.
fn best_of(
    mut best: Option<(Vec<Column>, Judged)>,
    subsets: Vec<Vec<Column>>,
    samples: &[Sample],
) -> Option<(Vec<Column>, Judged)> {
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
    best
}

/// The square of a routine's length, and what is above each quartile of those that were measured; nothing where it has
/// none.
fn bent(routine: &Routine, samples: &[Sample]) -> Vec<Column> {
    if samples.is_empty() {
        return Vec::new();
    }
    let Some(feature) = routine.features.iter().position(|name| LENGTHS.contains(&name.as_str())) else {
        return Vec::new();
    };
    let mut lengths: Vec<f64> =
        samples.iter().map(|sample| (sample.features[feature] / sample.features[0]).round()).collect();
    lengths.sort_by(f64::total_cmp);
    let mut bounds: Vec<f64> = (1..=3).map(|quarter| lengths[quarter * (lengths.len() - 1) / 4]).collect();
    bounds.dedup();
    let shapes = bounds.into_iter().map(Shape::Above).chain([Shape::Square]);
    shapes.map(|shape| Column { feature, shape }).collect()
}

/// The part of cross-validation that each measurement is of: all of a request are of the same.
fn folds(samples: &[Sample]) -> Vec<usize> {
    let mut requests = 0;
    let mut last = None;
    let mut fold = |sample: &Sample| {
        requests += usize::from(last.is_some_and(|last| last != sample.request));
        last = Some(sample.request);
        requests % FOLDS
    };
    samples.iter().map(&mut fold).collect()
}

/// Cross-validation; nothing where a part cannot be fitted.
fn judge(samples: &[Sample], subset: &[Column]) -> Option<Judged> {
    let folds = folds(samples);
    let (mut sum, mut weights, mut most) = (0.0, 0.0, 0.0f64);
    for fold in 0..FOLDS {
        let part = |is_held: bool| -> Vec<Sample> {
            let pairs = samples.iter().zip(&folds).filter(|(_, of)| (**of == fold) == is_held);
            pairs.map(|(sample, _)| *sample).collect()
        };
        let parameters = solve(&part(false), subset, false)?.parameters;
        for sample in part(true) {
            let modelled: f64 =
                subset.iter().zip(&parameters).map(|(column, c)| c * column.of(&sample)).sum();
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
fn solve(samples: &[Sample], subset: &[Column], with_errors: bool) -> Option<Solved> {
    let row = |sample: &Sample| {
        let part = sample.weight / sample.local_cycles.max(1.0);
        subset.iter().map(|column| column.of(sample) * part).collect::<Vec<f64>>()
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
        let extents = samples.iter().map(|sample| sample.extents[at]);
        let [least, most] = extents.fold([f64::INFINITY, f64::NEG_INFINITY], |all, extent| {
            [all[0].min(extent[0]), all[1].max(extent[1])]
        });
        Range { feature: feature.clone(), least, most }
    };
    routine.features.iter().enumerate().skip(1).map(range).collect()
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
            let extents = features.map(|feature| [feature; 2]);
            let request = index as usize;
            Sample { features, extents, local_cycles: cycles(limbs, corrections), weight: 1.0, request }
        };
        (0..60).map(of).collect()
    }

    #[test]
    fn a_model_finds_the_cycles_that_made_its_measurements() {
        let model = fit(&routine(), &samples(|limbs, corrections| 20.0 + 7.0 * limbs + 11.0 * corrections));
        let model = model.expect("there are enough");
        let terms: Vec<_> =
            model.terms.iter().map(|term| (term.feature.as_str(), term.cycles.round())).collect();
        assert_eq!(terms, [("calls", 20.0), ("limbs", 7.0), ("corrections", 11.0)]);
        assert!(model.held_out_error < 1e-9, "{}", model.held_out_error);
    }

    #[test]
    fn a_feature_that_explains_nothing_is_left_out() {
        let model = fit(&routine(), &samples(|limbs, _| 20.0 + 7.0 * limbs)).expect("there are enough");
        assert_eq!(model.terms.len(), 2, "{:?}", model.terms);
    }

    #[test]
    fn a_square_and_a_bend_are_found_where_they_made_the_measurements() {
        let words = |cycles: &dyn Fn(f64, f64) -> f64| {
            let model = fit(&routine(), &samples(cycles)).expect("there are enough");
            assert!(model.held_out_error < 1e-9, "{model:?}");
            model.terms.iter().map(|term| format!("{:.0} {}", term.cycles, term.word())).collect::<Vec<_>>()
        };
        assert_eq!(
            words(&|limbs, _| 20.0 + 7.0 * limbs + 3.0 * limbs * limbs),
            ["20 calls", "7 limbs", "3 limbs^2"]
        );
        let bent = |limbs: f64, _| 20.0 + 7.0 * limbs + 5.0 * (limbs - 6.0).max(0.0);
        assert_eq!(words(&bent), ["20 calls", "7 limbs", "5 limbs>6"]);
    }

    #[test]
    fn all_measurements_of_a_request_are_held_out_together() {
        let mut samples = samples(|limbs, _| limbs);
        for (at, sample) in samples.iter_mut().enumerate() {
            sample.request = 7 * (at / 2);
        }
        let expected: Vec<usize> = (0..samples.len()).map(|at| at / 2 % FOLDS).collect();
        assert_eq!(folds(&samples), expected);
    }

    #[test]
    fn too_few_measurements_make_no_model() {
        let few = &samples(|limbs, _| limbs)[..SAMPLES_LEAST - 1];
        let error = Error::TooFew { routine: "made_up".to_owned(), found: SAMPLES_LEAST - 1 };
        assert_eq!(fit(&routine(), few), Err(error));
    }
}
