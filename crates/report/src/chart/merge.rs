//! Merges intervals that are narrower than a pixel: for each pixel column, the share of its time each kind takes.
//!
//! Shares are rounded to a sixteenth, and upwards from zero, so that equal columns join into one shape and the
//! rarest event still leaves a trace.
//!
//! Invariant: every interval leaves its kind in the column of its start, however short it is.

use super::scale::Scale;
use super::timeline::Interval;

/// The steps to which shares are rounded.
const STEPS: f64 = 16.0;

/// Neighbouring pixel columns in which every kind has the same share.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shade {
    pub(super) from_px: f64,
    pub(super) width_px: f64,
    /// Sixteenths of the time, by kind.
    steps: Vec<u8>,
}

impl Shade {
    /// The kinds that are there, with their share of the time, more than 0 and at most 1.
    pub(super) fn shares(&self) -> impl Iterator<Item = (usize, f64)> {
        self.steps
            .iter()
            .enumerate()
            .filter(|(_, steps)| **steps > 0)
            .map(|(kind, steps)| (kind, f64::from(*steps) / STEPS))
    }
}

/// Merges intervals within the scale's range, by pixel column from its left end.
pub(super) fn shade(intervals: &[&Interval], scale: &Scale, kind_count: usize) -> Vec<Shade> {
    let mut columns: std::collections::BTreeMap<u32, Vec<f64>> = std::collections::BTreeMap::new();
    let mut add = |column: f64, kind: usize, px: f64| {
        let shares = columns.entry(column as u32).or_insert_with(|| vec![0.0; kind_count]);
        // The least share that rounds up to a step: an instant is there too.
        shares[kind] += px.max(1e-9);
    };
    let last = (scale.high_px - scale.low_px - 1.0).max(0.0);
    for interval in intervals {
        let from = (scale.px(interval.start) - scale.low_px).max(0.0);
        let to = scale.px(interval.end) - scale.low_px;
        // At most a pixel wide, so it lies in one column or in two neighbouring ones.
        let column = from.floor().min(last);
        let cut = to.min(column + 1.0);
        add(column, interval.kind, cut - from);
        if to > cut && column < last {
            add(column + 1.0, interval.kind, to - cut);
        }
    }
    let mut shades: Vec<Shade> = Vec::new();
    for (column, shares) in columns {
        let steps: Vec<u8> = shares
            .iter()
            .map(|&share| if share > 0.0 { (share * STEPS).round().clamp(1.0, STEPS) as u8 } else { 0 })
            .collect();
        let from_px = scale.low_px + f64::from(column);
        match shades.last_mut() {
            Some(shade)
                if shade.steps == steps && (shade.from_px + shade.width_px - from_px).abs() < 1e-6 =>
            {
                shade.width_px += 1.0;
            }
            _ => shades.push(Shade { from_px, width_px: 1.0, steps }),
        }
    }
    shades
}

#[cfg(test)]
mod tests {
    use super::super::{Axis, Timeline, Tone};
    use super::*;
    use crate::chart::scale::Spacing;
    use proptest::prelude::*;

    /// A hundred units of time on a hundred pixels, from px 50 on.
    fn scale() -> Scale {
        Scale::new(Spacing::Linear, (0.0, 100.0), (50.0, 150.0), 5, false)
    }

    /// From which px, how many px wide, and each kind's share.
    type Shaded = (f64, f64, Vec<(usize, f64)>);

    fn shares(intervals: &[(f64, f64, usize)]) -> Vec<Shaded> {
        let mut timeline = Timeline::new("", Axis::linear("time", "ms"));
        let kinds = [timeline.kind("a", Tone::Accent), timeline.kind("b", Tone::Second)];
        let lane = timeline.lane("lane");
        for &(start, end, kind) in intervals {
            timeline.interval(lane, kinds[kind], start, end, "");
        }
        let intervals: Vec<&Interval> = timeline.intervals_of(lane).iter().collect();
        shade(&intervals, &scale(), 2).iter().map(|s| (s.from_px, s.width_px, s.shares().collect())).collect()
    }

    #[test]
    fn a_column_shows_each_kinds_share_of_its_time() {
        assert_eq!(shares(&[(3.0, 3.25, 0), (3.5, 4.0, 1)]), [(53.0, 1.0, vec![(0, 0.25), (1, 0.5)])]);
    }

    #[test]
    fn an_interval_across_two_columns_counts_in_both() {
        assert_eq!(shares(&[(3.75, 4.5, 0)]), [(53.0, 1.0, vec![(0, 0.25)]), (54.0, 1.0, vec![(0, 0.5)])]);
    }

    #[test]
    fn equal_columns_join_and_an_instant_leaves_a_trace() {
        let many: Vec<(f64, f64, usize)> = (0..100).map(|i| (f64::from(i), f64::from(i), 1)).collect();
        assert_eq!(shares(&many), [(50.0, 100.0, vec![(1, 1.0 / 16.0)])]);
        // The very end of the axis belongs to its last column.
        assert_eq!(shares(&[(100.0, 100.0, 0)]), [(149.0, 1.0, vec![(0, 1.0 / 16.0)])]);
    }

    proptest! {
        #[test]
        fn merging_keeps_the_total_time_and_every_kind(
            intervals in proptest::collection::vec((0.0..99.0_f64, 0.0..1.0_f64, 0..2_usize), 0..300),
        ) {
            let intervals: Vec<(f64, f64, usize)> =
                intervals.into_iter().map(|(start, length, kind)| (start, start + length, kind)).collect();
            let shaded = shares(&intervals);
            for &(start, _, kind) in &intervals {
                let column = 50.0 + start.floor();
                let here = shaded.iter().find(|(from, width, _)| (*from..from + width).contains(&column));
                prop_assert!(here.is_some_and(|(_, _, shares)| shares.iter().any(|(k, _)| *k == kind)));
            }
            let total: f64 = shaded.iter().map(|(_, width, shares)| width * shares.iter().map(|(_, s)| s).sum::<f64>()).sum();
            let time: f64 = intervals.iter().map(|(start, end, _)| end - start).sum();
            // Rounding moves each share by at most half a step, from zero by one step; more than all of a column
            // (lanes whose intervals overlap) is cut to all of it.
            prop_assert!(total <= time + 200.0 / STEPS);
        }
    }
}
