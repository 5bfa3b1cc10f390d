//! What repetitions of a measurement say, without opinion: least, quartiles, mean and greatest.

/// Times of one thing, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// How many were taken.
    pub repetitions: usize,
    /// The least.
    pub minimum_ns: f64,
    /// A quarter is below.
    pub lower_quartile_ns: f64,
    /// Half is below.
    pub median_ns: f64,
    /// Three quarters are below.
    pub upper_quartile_ns: f64,
    /// Their sum over their number.
    pub mean_ns: f64,
    /// The greatest that was seen, which bounds nothing.
    pub maximum_ns: f64,
}

impl Spread {
    /// Of such times.
    ///
    /// # Panics
    /// When there are none.
    pub fn of(mut times_ns: Vec<f64>) -> Spread {
        assert!(!times_ns.is_empty(), "a spread of nothing");
        times_ns.sort_by(f64::total_cmp);
        let last = times_ns.len() - 1;
        // Between neighbours where the place is no whole number (Hyndman and Fan's definition 7).
        let quantile = |share: f64| {
            let at = share * last as f64;
            let below = at.floor();
            let (low, high) = (times_ns[below as usize], times_ns[at.ceil() as usize]);
            low + (high - low) * (at - below)
        };
        Spread {
            repetitions: times_ns.len(),
            minimum_ns: times_ns[0],
            lower_quartile_ns: quantile(0.25),
            median_ns: quantile(0.5),
            upper_quartile_ns: quantile(0.75),
            mean_ns: times_ns.iter().sum::<f64>() / times_ns.len() as f64,
            maximum_ns: times_ns[last],
        }
    }

    /// What the middle half of them is wide.
    pub fn middle_half_ns(&self) -> f64 {
        self.upper_quartile_ns - self.lower_quartile_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_stand_between_neighbours_whatever_the_order() {
        let spread = Spread::of(vec![40.0, 10.0, 100.0, 20.0]);
        assert_eq!(
            spread,
            Spread {
                repetitions: 4,
                minimum_ns: 10.0,
                lower_quartile_ns: 17.5,
                median_ns: 30.0,
                upper_quartile_ns: 55.0,
                mean_ns: 42.5,
                maximum_ns: 100.0,
            }
        );
        assert_eq!(spread.middle_half_ns(), 37.5);
    }

    #[test]
    fn one_time_is_all_of_its_spread() {
        let spread = Spread::of(vec![7.0]);
        assert_eq!(
            (spread.minimum_ns, spread.median_ns, spread.mean_ns, spread.maximum_ns),
            (7.0, 7.0, 7.0, 7.0)
        );
        assert_eq!((spread.repetitions, spread.middle_half_ns()), (1, 0.0));
    }

    #[test]
    fn the_median_of_an_odd_number_is_the_one_in_the_middle_and_a_late_one_moves_only_the_mean() {
        let spread = Spread::of(vec![3.0, 1.0, 1000.0, 2.0, 4.0]);
        assert_eq!((spread.lower_quartile_ns, spread.median_ns, spread.upper_quartile_ns), (2.0, 3.0, 4.0));
        assert_eq!((spread.mean_ns, spread.maximum_ns), (202.0, 1000.0));
    }

    #[test]
    #[should_panic(expected = "a spread of nothing")]
    fn nothing_has_no_spread() {
        Spread::of(Vec::new());
    }
}
