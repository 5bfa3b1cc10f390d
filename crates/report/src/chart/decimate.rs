//! Thins a waveform to what the pixels can show: of each pixel column the first, least, greatest and last point.
//!
//! A picture of the kept points is that of all points, to the pixel: the stroke still runs from each column's
//! least to its greatest value, and enters and leaves it where it did. Peaks of one sample stay. Lost samples
//! (a value that is NaN) break the stroke where the break is wide enough to see, and are counted everywhere.
//!
//! Invariant: what is kept are points of the input, in its order, at most four a column.

/// A waveform as drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decimated {
    /// Unbroken stretches of points.
    pub runs: Vec<Vec<(f64, f64)>>,
    /// From where to where samples are lost, where that crosses from one pixel column to another.
    pub gaps: Vec<(f64, f64)>,
    /// Samples without a drawable value, all of them.
    pub lost_count: usize,
}

/// Thins `points`, whose x must not fall. `column_of` gives the pixel column of an x and must not fall either;
/// `can_draw` says which values have a place.
pub fn decimate(
    points: &[(f64, f64)],
    column_of: impl Fn(f64) -> usize,
    can_draw: impl Fn(f64) -> bool,
) -> Decimated {
    let mut thinned = Decimated::default();
    let mut run: Vec<(f64, f64)> = Vec::new();
    let mut column: Option<Column> = None;
    let mut gap_from: Option<f64> = None;
    for &point in points {
        if !can_draw(point.1) {
            thinned.lost_count += 1;
            gap_from.get_or_insert(column.as_ref().map_or(point.0, |column| column.last.0));
            continue;
        }
        let index = column_of(point.0);
        match &mut column {
            Some(column) if column.index == index => column.add(point),
            _ => {
                if let Some(done) = column.take() {
                    done.flush(&mut run);
                }
                if let Some(from) = gap_from {
                    thinned.gaps.push((from, point.0));
                    thinned.runs.extend((!run.is_empty()).then(|| std::mem::take(&mut run)));
                }
                column = Some(Column::new(index, point));
            }
        }
        gap_from = None;
    }
    if let Some(done) = column {
        done.flush(&mut run);
    }
    thinned.runs.extend((!run.is_empty()).then_some(run));
    if let (Some(from), Some(&(to, _))) = (gap_from, points.last())
        && from < to
    {
        thinned.gaps.push((from, to));
    }
    thinned
}

/// The points of one pixel column that matter, with their place in the input's order.
struct Column {
    index: usize,
    count: usize,
    first: (f64, f64),
    least: (usize, (f64, f64)),
    greatest: (usize, (f64, f64)),
    last: (f64, f64),
}

impl Column {
    fn new(index: usize, point: (f64, f64)) -> Column {
        Column { index, count: 1, first: point, least: (0, point), greatest: (0, point), last: point }
    }

    fn add(&mut self, point: (f64, f64)) {
        if point.1 < self.least.1.1 {
            self.least = (self.count, point);
        }
        if point.1 > self.greatest.1.1 {
            self.greatest = (self.count, point);
        }
        self.last = point;
        self.count += 1;
    }

    fn flush(self, run: &mut Vec<(f64, f64)>) {
        let mut kept = [(0, self.first), self.least, self.greatest, (self.count - 1, self.last)];
        kept.sort_by_key(|(order, _)| *order);
        let mut previous = None;
        for (order, point) in kept {
            if previous != Some(order) {
                run.push(point);
            }
            previous = Some(order);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(step: usize) -> impl Fn(f64) -> usize {
        move |x| x as usize / step
    }

    #[test]
    fn a_peak_of_one_sample_among_ten_thousand_is_kept() {
        let mut points: Vec<(f64, f64)> = (0..10_000).map(|x| (f64::from(x), f64::from(x % 7))).collect();
        points[4321].1 = 99.0;
        points[8765].1 = -99.0;
        let thinned = decimate(&points, at(100), f64::is_finite);
        assert_eq!(thinned.runs.len(), 1);
        assert!(thinned.runs[0].contains(&(4321.0, 99.0)) && thinned.runs[0].contains(&(8765.0, -99.0)));
        assert!(thinned.runs[0].len() <= 400);
    }

    #[test]
    fn lost_samples_break_the_stroke_and_are_counted() {
        let lost = [2.0, 3.0, 7.0, 8.0, 9.0];
        let points: Vec<(f64, f64)> =
            (0..10).map(f64::from).map(|x| (x, if lost.contains(&x) { f64::NAN } else { x })).collect();
        let thinned = decimate(&points, at(1), f64::is_finite);
        assert_eq!(thinned.gaps, [(1.0, 4.0), (6.0, 9.0)]);
        assert_eq!(thinned.runs, [vec![(0.0, 0.0), (1.0, 1.0)], vec![(4.0, 4.0), (5.0, 5.0), (6.0, 6.0)]]);
        assert_eq!(thinned.lost_count, 5);
        // Within one pixel the break cannot be seen, but the samples still count as lost.
        let coarse = decimate(&points[..7], at(10), f64::is_finite);
        assert_eq!((coarse.runs.len(), coarse.gaps.len(), coarse.lost_count), (1, 0, 2));
    }

    #[test]
    fn nothing_but_lost_samples_is_one_gap() {
        let points = [(0.0, f64::NAN), (1.0, f64::NAN), (2.0, f64::NAN)];
        let thinned = decimate(&points, at(1), f64::is_finite);
        assert_eq!((thinned.runs.len(), thinned.gaps), (0, vec![(0.0, 2.0)]));
        assert_eq!(decimate(&[], at(1), f64::is_finite), Decimated::default());
    }

    proptest! {
        #[test]
        fn decimation_keeps_every_columns_extremes_and_ends(
            values in proptest::collection::vec(prop_oneof![8 => -50..50_i32, 1 => Just(i32::MAX)], 0..400),
            step in 1..50_usize,
        ) {
            let value = |v: i32| if v == i32::MAX { f64::NAN } else { f64::from(v) };
            let points: Vec<(f64, f64)> = values.iter().enumerate().map(|(x, &v)| (x as f64, value(v))).collect();
            let thinned = decimate(&points, at(step), f64::is_finite);
            let kept: Vec<(f64, f64)> = thinned.runs.concat();
            prop_assert!(kept.windows(2).all(|pair| pair[0].0 < pair[1].0), "order and no repeats");
            prop_assert!(kept.iter().all(|point| points.contains(point)));
            prop_assert_eq!(thinned.lost_count, points.iter().filter(|point| point.1.is_nan()).count());
            for column in points.chunks(step) {
                let here: Vec<f64> = column.iter().map(|point| point.1).filter(|y| y.is_finite()).collect();
                let range = column[0].0..column[0].0 + step as f64;
                let there: Vec<f64> = kept.iter().filter(|point| range.contains(&point.0)).map(|point| point.1).collect();
                prop_assert!(there.len() <= 4);
                prop_assert_eq!(here.is_empty(), there.is_empty());
                let least = |ys: &[f64]| ys.iter().copied().fold(f64::INFINITY, f64::min);
                let greatest = |ys: &[f64]| ys.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                prop_assert_eq!((least(&here), greatest(&here)), (least(&there), greatest(&there)));
                prop_assert_eq!((here.first(), here.last()), (there.first(), there.last()));
            }
        }
    }
}
