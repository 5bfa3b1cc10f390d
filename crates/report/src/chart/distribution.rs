//! [`Distribution`]: how often values occur, as a histogram, a cumulative curve or the tail above each value.
//!
//! Every value counts: curves are exact at each pixel, bins are as wide as the legend of their tooltip says.
//! Percentiles are by nearest rank (the smallest value that at least that share of the values does not exceed),
//! so they are values that occurred; one that would only repeat the maximum is left blank.

use super::frame::{
    Mark, NARROW_PX, Swatch, counted, head, place_marks, remarks, ticks_width, x_axis, x_grid, y_axis,
};
use super::scale::{Axis, Scale, Spacing, Tick};
use super::svg::{Anchor, SMALL_PX, Svg, TEXT_PX, text_width};
use super::tone::Tone;
use crate::number;
use crate::table::{Column, Entry, Table};

/// What is drawn of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The share of the values in each of many ranges, one panel a series.
    Histogram,
    /// The share of the values that are at most x.
    Cumulative,
    /// The share of the values above x, on a logarithmic axis: for rare, late values.
    Tail,
}

#[derive(Clone, Debug, PartialEq)]
struct Sample {
    name: String,
    tone: Tone,
    /// Invariant: drawable and ascending.
    values: Vec<f64>,
    undrawn_count: usize,
}

/// A chart of distributions.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    title: String,
    x: Axis,
    form: Form,
    samples: Vec<Sample>,
    marks: Vec<Mark>,
}

/// The percentiles that are marked and listed, in per mille.
const PERCENTILES: [(u64, &str); 4] = [(500, "p50"), (900, "p90"), (990, "p99"), (999, "p99.9")];

impl Distribution {
    /// An empty chart of values over `x`.
    pub fn new(title: impl Into<String>, x: Axis, form: Form) -> Distribution {
        Distribution { title: title.into(), x, form, samples: Vec::new(), marks: Vec::new() }
    }

    /// Adds a series of values in the unit of the axis, in any order. What has no place on the axis (NaN, or not
    /// above zero on a logarithmic one) is counted, and the chart says so.
    pub fn series(mut self, name: impl Into<String>, values: Vec<f64>) -> Distribution {
        let given = values.len();
        let mut values: Vec<f64> = values.into_iter().filter(|&value| self.x.can_draw(value)).collect();
        values.sort_by(f64::total_cmp);
        let tone = if self.form == Form::Histogram { Tone::Accent } else { Tone::nth(self.samples.len()) };
        let undrawn_count = given - values.len();
        self.samples.push(Sample { name: name.into(), tone, values, undrawn_count });
        self
    }

    /// Marks a value with a line and words, such as a deadline; the axis reaches at least to it.
    pub fn mark(mut self, at: f64, label: impl Into<String>) -> Distribution {
        if self.x.can_draw(at) {
            self.marks.push(Mark { at, label: label.into() });
        }
        self
    }

    pub(crate) fn title(&self) -> &str {
        &self.title
    }

    pub(crate) fn summary(&self) -> String {
        let form = match self.form {
            Form::Histogram => "Histogram",
            Form::Cumulative => "Cumulative distribution",
            Form::Tail => "Share above each value",
        };
        let series: Vec<String> = self.samples.iter().map(|sample| self.sample_words(sample)).collect();
        format!("{}. {form} of {}: {}.", self.title, self.x.label, series.join("; "))
    }

    fn sample_words(&self, sample: &Sample) -> String {
        match percentile(&sample.values, 500) {
            Some(median) => {
                let count = counted(sample.values.len(), "value");
                format!("{}, {count}, median {}", sample.name, self.x.value_words(median))
            }
            None => format!("{}, no values", sample.name),
        }
    }

    pub(crate) fn numbers(&self) -> Table {
        let unit = self.x.unit.as_str();
        let percentiles = PERCENTILES.map(|(_, name)| Column::new(name).unit(unit));
        let columns = [Column::new("series"), Column::new("values"), Column::new("least").unit(unit)]
            .into_iter()
            .chain(percentiles)
            .chain([Column::new("greatest").unit(unit)]);
        let mut table = Table::new(self.title.clone(), columns);
        for sample in &self.samples {
            let values = &sample.values;
            let or_blank = |value: Option<f64>| value.map_or(Entry::Blank, Entry::from);
            let mut line =
                vec![sample.name.as_str().into(), values.len().into(), or_blank(values.first().copied())];
            line.extend(PERCENTILES.map(|(per_mille, _)| or_blank(percentile(values, per_mille))));
            line.push(or_blank(values.last().copied()));
            table.push(line);
        }
        table
    }

    pub(crate) fn draw(&self, svg: &mut Svg) -> f64 {
        let y = match self.form {
            Form::Histogram => self.draw_histograms(svg),
            Form::Cumulative | Form::Tail => self.draw_curves(svg),
        };
        let undrawn = self.samples.iter().filter(|sample| sample.undrawn_count > 0);
        let reason =
            if self.x.spacing == Spacing::Log { "not above zero or not finite" } else { "not finite" };
        let remark = |sample: &Sample| {
            format!("{}: {} not drawn, {reason}.", sample.name, counted(sample.undrawn_count, "value"))
        };
        remarks(svg, y, &undrawn.map(remark).collect::<Vec<String>>())
    }

    fn draw_curves(&self, svg: &mut Svg) -> f64 {
        let width = svg.width;
        let legend: Vec<(Tone, &str)> = match self.samples.len() {
            0 | 1 => Vec::new(),
            _ => self.samples.iter().map(|sample| (sample.tone, sample.name.as_str())).collect(),
        };
        let words = if self.form == Form::Tail { "share of values above" } else { "share of values at most" };
        let mut y = head(svg, &self.title, &legend, Swatch::Line) + 14.0;
        svg.cut_text("muted", (0.0, y - 2.0), Anchor::Start, &format!("{words} [%]"), width, TEXT_PX);
        y += 4.0;
        let most = self.samples.iter().map(|sample| sample.values.len()).max().unwrap_or(0).max(10) as f64;
        let (spacing, range) = match self.form {
            Form::Tail => (Spacing::Log, (100.0 / most, 100.0)),
            _ => (Spacing::Linear, (0.0, 100.0)),
        };
        let mut y_scale = Scale::new(spacing, range, (1.0, 0.0), 6, true);
        let left = ticks_width(&y_scale.ticks);
        let x_scale = self.x_scale(left, width - 10.0);
        let marks = place_marks(&self.marks, &x_scale, width);
        let (marks_top, top) = (y, y + marks.height + 4.0);
        let foot = top + 220.0;
        (y_scale.low_px, y_scale.high_px) = (foot, top);
        x_grid(svg, &x_scale, top, foot);
        y_axis(svg, &y_scale, left, width - 10.0);
        marks.draw(svg, marks_top, foot);
        for sample in &self.samples {
            let curve = self.curve(&sample.values, &x_scale, &y_scale);
            svg.polylines(&format!("series stroke-{}", sample.tone.name()), &[curve]);
        }
        for sample in &self.samples {
            self.draw_percentiles(svg, sample, &x_scale, &y_scale);
        }
        x_axis(svg, &x_scale, foot, &self.x)
    }

    /// The curve as steps, exact at every pixel column.
    fn curve(&self, values: &[f64], x: &Scale, y: &Scale) -> Vec<(f64, f64)> {
        if values.is_empty() {
            return Vec::new();
        }
        let count = values.len() as f64;
        let share_at = |value: f64| {
            let at_most = values.partition_point(|&other| other <= value) as f64;
            100.0 * if self.form == Form::Tail { (count - at_most) / count } else { at_most / count }
        };
        let first = x.px(values[0]);
        let last = x.px(values[values.len() - 1]);
        let start = if self.form == Form::Tail { (x.low_px, 100.0) } else { (first, 0.0) };
        let mut curve = vec![(start.0, y.px(start.1))];
        let mut height = curve[0].1;
        let columns = (first.floor() as i64..=last.ceil() as i64).map(|column| column as f64);
        for px in columns.filter(|px| (first..last).contains(px)).chain([last]) {
            let share = if px < last { share_at(x.value(px)) } else { share_at(values[values.len() - 1]) };
            // A tail ends at its last value: nothing is above it, and zero has no place on a logarithmic axis.
            let next = if self.form == Form::Tail && share <= 0.0 { y.low_px } else { y.px(share) };
            if next != height {
                curve.push((px, height));
                curve.push((px, next));
                height = next;
            }
        }
        if self.form == Form::Cumulative {
            curve.push((x.high_px, height));
        }
        curve
    }

    fn draw_percentiles(&self, svg: &mut Svg, sample: &Sample, x: &Scale, y: &Scale) {
        for (per_mille, name) in PERCENTILES {
            let Some(value) = percentile(&sample.values, per_mille) else { continue };
            let share = per_mille as f64 / 10.0;
            let at = (x.px(value), y.px(if self.form == Form::Tail { 100.0 - share } else { share }));
            let words = format!("{name} {}", self.x.value_words(value));
            svg.point(sample.tone, at, &format!("{}: {words}", sample.name));
            // p90 to p99.9 stand too close together on a linear axis of shares to have words each.
            let has_room = self.form == Form::Tail || matches!(per_mille, 500 | 990);
            if self.samples.len() > 1 || !has_room {
                continue;
            }
            let drop = if self.form == Form::Tail { -4.0 } else { 14.0 };
            let is_right = at.0 + text_width(&words, SMALL_PX) + 10.0 < svg.width;
            let (anchor, shift) = if is_right { (Anchor::Start, 8.0) } else { (Anchor::End, -8.0) };
            svg.text("small halo", (at.0 + shift, at.1 + drop), anchor, &words);
        }
    }

    fn draw_histograms(&self, svg: &mut Svg) -> f64 {
        let width = svg.width;
        let mut y = head(svg, &self.title, &[], Swatch::Area) + 14.0;
        svg.cut_text("muted", (0.0, y - 2.0), Anchor::Start, "share of values [%]", width, TEXT_PX);
        y += 4.0;
        let height = if self.samples.len() > 1 { 90.0 } else { 200.0 };
        let gap = if self.samples.len() > 1 { 28.0 } else { 6.0 };
        // Bins lie on the rounded ends of the x axis, which do not depend on where it is drawn.
        let layout = self.x_scale(0.0, 1.0);
        let bins: Vec<Vec<usize>> =
            self.samples.iter().map(|sample| self.bins(sample, &layout, width)).collect();
        let share =
            |sample: &Sample, count: usize| 100.0 * count as f64 / (sample.values.len().max(1) as f64);
        let shares =
            self.samples.iter().zip(&bins).flat_map(|(sample, bins)| bins.iter().map(|&n| share(sample, n)));
        let most = shares.fold(0.0, f64::max);
        let y_layout = Scale::new(
            Spacing::Linear,
            (0.0, most.max(1e-6) * 1.05),
            (1.0, 0.0),
            if gap > 6.0 { 3 } else { 5 },
            false,
        );
        let left = ticks_width(&y_layout.ticks);
        let x_scale = self.x_scale(left, width - 10.0);
        let marks = place_marks(&self.marks, &x_scale, width);
        let marks_top = y;
        y += marks.height;
        for (sample, bins) in self.samples.iter().zip(bins) {
            let mut y_scale = y_layout.clone();
            (y_scale.low_px, y_scale.high_px) = (y + gap + height, y + gap);
            y_axis(svg, &y_scale, left, width - 10.0);
            if gap > 6.0 {
                svg.text("strong halo", (left, y + 19.0), Anchor::Start, &sample.name);
            }
            for (index, &count) in bins.iter().enumerate().filter(|(_, count)| **count > 0) {
                let edge = |index: usize| left + (width - 10.0 - left) * index as f64 / bins.len() as f64;
                let top = y_scale.px(share(sample, count)).min(y_scale.low_px - 0.5);
                let (from, to) = (x_scale.value(edge(index)), x_scale.value(edge(index + 1)));
                let values = counted(count, "value");
                let words = format!("{} to {}: {values}", number::significant(from), self.x.value_words(to));
                let bar = (edge(index) + 0.5, edge(index + 1) - 0.5);
                svg.area(sample.tone, (bar.0, top, bar.1 - bar.0, y_scale.low_px - top), &words);
            }
            y += gap + height;
        }
        marks.draw(svg, marks_top, y);
        x_axis(svg, &x_scale, y, &self.x)
    }

    /// Counts in equal bins over the axis: twice the cube root of the count (Rice's rule), as far as px allow.
    fn bins(&self, sample: &Sample, layout: &Scale, width: f64) -> Vec<usize> {
        let rice = 2.0 * (sample.values.len() as f64).cbrt();
        let range = match (sample.values.first(), sample.values.last()) {
            (Some(&first), Some(&last)) => (layout.px(last) - layout.px(first)).abs().max(0.05),
            _ => 1.0,
        };
        // The rule is for the range of the values; the axis is wider.
        let count = (rice / range).clamp(10.0, (width / if width < NARROW_PX { 5.0 } else { 8.0 }).max(10.0))
            as usize;
        let mut bins = vec![0; count];
        for &value in &sample.values {
            bins[((layout.px(value) * count as f64) as usize).min(count - 1)] += 1;
        }
        bins
    }

    fn x_scale(&self, left: f64, right: f64) -> Scale {
        let ends = self
            .samples
            .iter()
            .flat_map(|sample| sample.values.first().into_iter().chain(sample.values.last()));
        let all = ends.copied().chain(self.marks.iter().map(|mark| mark.at));
        let range = super::scale::extent(all).unwrap_or((1.0, 10.0));
        let mut scale = Scale::new(self.x.spacing, range, (left, right), 8, true);
        // Where labels have little room, a logarithmic axis keeps those of the decades.
        if right - left < 400.0 && self.x.spacing == Spacing::Log && scale.ticks.len() > 8 {
            for tick in &mut scale.ticks {
                if tick.label.trim_start_matches(['0', '.']).starts_with(['2', '5']) {
                    *tick = Tick { value: tick.value, label: String::new() };
                }
            }
        }
        scale
    }
}

/// The percentile by nearest rank of ascending values, unless that is the greatest value (a lone value is its own
/// median).
fn percentile(values: &[f64], per_mille: u64) -> Option<f64> {
    let count = values.len() as u64;
    let rank = (count * per_mille).div_ceil(1000);
    if rank == 0 || (rank == count && per_mille > 500) {
        None
    } else {
        values.get(rank as usize - 1).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_occurred() {
        let values: Vec<f64> = (1..=1000).map(f64::from).collect();
        let found: Vec<Option<f64>> = PERCENTILES.iter().map(|(p, _)| percentile(&values, *p)).collect();
        assert_eq!(found, [Some(500.0), Some(900.0), Some(990.0), Some(999.0)]);
    }

    #[test]
    fn a_percentile_that_only_repeats_the_maximum_is_blank() {
        let values: Vec<f64> = (1..=50).map(f64::from).collect();
        assert_eq!(percentile(&values, 900), Some(45.0));
        assert_eq!(percentile(&values, 990), None);
        assert_eq!(percentile(&[], 500), None);
        assert_eq!((percentile(&[7.0], 500), percentile(&[7.0], 900)), (Some(7.0), None));
    }

    #[test]
    fn every_value_is_in_one_bin() {
        let values: Vec<f64> = (0..10_000).map(|i| 0.1 * 1.0007_f64.powi(i)).collect();
        let chart = Distribution::new("", Axis::log("x", "ms"), Form::Histogram).series("a", values);
        for width in [300.0, 1000.0] {
            let bins = chart.bins(&chart.samples[0], &chart.x_scale(0.0, 1.0), width);
            assert_eq!(bins.iter().sum::<usize>(), 10_000);
        }
    }

    #[test]
    fn values_without_a_place_on_the_axis_are_counted() {
        let chart = Distribution::new("", Axis::log("x", "ms"), Form::Tail)
            .series("a", vec![0.0, -1.0, f64::NAN, 2.0]);
        assert_eq!((chart.samples[0].undrawn_count, chart.samples[0].values.len()), (3, 1));
        assert!(
            super::super::Chart::from(chart)
                .svg(600)
                .contains("a: 3 values not drawn, not above zero or not finite.")
        );
    }
}
