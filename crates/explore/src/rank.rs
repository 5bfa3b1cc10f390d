//! How good a ranking is, and what is worth looking at.
//!
//! Owns Kendall's tau between estimates and measurements, mean and worst error, the regret of taking what a ranking puts
//! first, and the Pareto front. Numbers only: what they are of is the caller's.

/// Of pairs of an estimate and what was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accuracy {
    /// Mean of |estimate - measured| / measured.
    pub error_mean: f64,
    /// The largest of these.
    pub error_most: f64,
    /// Kendall's tau-b: 1 where both rank alike.
    pub tau: f64,
}

impl Accuracy {
    /// Of pairs of an estimate and a measurement; nothing where there are fewer than two.
    pub fn of(pairs: &[(f64, f64)]) -> Option<Accuracy> {
        if pairs.len() < 2 {
            return None;
        }
        let errors = pairs.iter().map(|(estimate, measured)| (estimate - measured).abs() / measured);
        Some(Accuracy {
            error_mean: errors.clone().sum::<f64>() / pairs.len() as f64,
            error_most: errors.fold(0.0, f64::max),
            tau: tau(pairs),
        })
    }
}

/// What the first of a ranking takes more than the best of it, in parts of that; of what was measured, in the ranking's
/// order. Nothing where there is nothing.
pub fn regret(measured: &[f64]) -> Option<f64> {
    let best = measured.iter().copied().fold(f64::INFINITY, f64::min);
    measured.first().map(|first| first / best - 1.0)
}

/// Kendall's tau-b (M. G. Kendall, "The treatment of ties in ranking problems", Biometrika 33, 1945).
fn tau(pairs: &[(f64, f64)]) -> f64 {
    let (mut alike, mut tied_left, mut tied_right) = (0i64, 0i64, 0i64);
    let mut all = 0i64;
    for (index, a) in pairs.iter().enumerate() {
        for b in &pairs[index + 1..] {
            let (left, right) = (a.0.total_cmp(&b.0) as i64, a.1.total_cmp(&b.1) as i64);
            alike += left * right;
            tied_left += i64::from(left == 0);
            tied_right += i64::from(right == 0);
            all += 1;
        }
    }
    alike as f64 / (((all - tied_left) as f64) * ((all - tied_right) as f64)).sqrt()
}

/// Which of these points no other is as good as in everything and better in something; less is better.
pub fn front<const N: usize>(points: &[[f64; N]]) -> Vec<bool> {
    let beats = |a: &[f64; N], b: &[f64; N]| a != b && a.iter().zip(b).all(|(a, b)| a <= b);
    points.iter().map(|point| !points.iter().any(|other| beats(other, point))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tau_is_one_for_the_same_order_and_less_for_each_pair_that_changed_places() {
        let of = |pairs: &[(f64, f64)]| Accuracy::of(pairs).expect("there are pairs").tau;
        assert_eq!(of(&[(1.0, 10.0), (2.0, 20.0), (3.0, 30.0)]), 1.0);
        assert_eq!(of(&[(1.0, 30.0), (2.0, 20.0), (3.0, 10.0)]), -1.0);
        // One of three pairs: (2 - 1) / 3.
        assert!((of(&[(1.0, 20.0), (2.0, 10.0), (3.0, 30.0)]) - 1.0 / 3.0).abs() < 1e-12);
        // A tie among the estimates: two pairs of three are alike, and tau-b is 2 / sqrt(2 * 3).
        assert!((of(&[(1.0, 10.0), (1.0, 20.0), (3.0, 30.0)]) - 2.0 / 6.0f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn errors_are_parts_of_what_was_measured_and_one_pair_is_no_group() {
        let accuracy = Accuracy::of(&[(9.0, 11.0), (10.0, 10.0)]).expect("there are pairs");
        assert!((accuracy.error_mean - 1.0 / 11.0).abs() < 1e-12, "{accuracy:?}");
        assert_eq!(Accuracy::of(&[(1.0, 1.0)]), None);
    }

    #[test]
    fn regret_is_what_the_first_takes_more_than_the_best() {
        assert!((regret(&[11.0, 12.0, 10.0]).expect("there are some") - 0.1).abs() < 1e-12);
        assert_eq!((regret(&[10.0, 10.0, 11.0]), regret(&[])), (Some(0.0), None));
    }

    #[test]
    fn the_front_keeps_what_nothing_beats_and_equal_points_together() {
        let points = [[1.0, 5.0], [2.0, 4.0], [2.0, 5.0], [3.0, 3.0], [3.0, 3.0]];
        assert_eq!(front(&points), [true, true, false, true, true]);
    }
}
