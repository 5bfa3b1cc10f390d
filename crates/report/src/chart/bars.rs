//! [`Bars`]: sizes side by side, as lying bars from zero, grouped or stacked; every bar carries its number, and one that
//! is a mean can show from where to where its values lie.
//!
//! There is no logarithmic form on purpose: a bar's length is its message, and a logarithm has no zero to start at.

use super::frame::{NARROW_PX, Swatch, counted, crisp, head, remarks, x_axis, x_grid};
use super::scale::{Axis, Scale, Spacing, extent};
use super::svg::{Anchor, SMALL_PX, Svg, TEXT_PX, text_width};
use super::tone::Tone;
use crate::number;
use crate::table::{Column, Entry, Table};

/// How the bars of one group stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stand {
    /// One below the other: for comparing them.
    Grouped,
    /// One behind the other: for parts of a whole. All values must be zero or more.
    Stacked,
}

/// A bar chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    title: String,
    axis: Axis,
    stand: Stand,
    series: Vec<(String, Tone)>,
    groups: Vec<(String, Vec<Option<f64>>)>,
    spreads: Vec<Spread>,
    undrawn_count: usize,
}

/// The values that a bar is the mean of.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Spread {
    group: usize,
    series: usize,
    least: f64,
    most: f64,
}

const MISSING: &str = "no value";

impl Bars {
    /// An empty chart over a linear axis, with the bars of each group and their tones.
    ///
    /// # Panics
    /// If the axis is logarithmic, or there is no series.
    pub fn new<'a>(
        title: impl Into<String>,
        axis: Axis,
        stand: Stand,
        series: impl IntoIterator<Item = (&'a str, Tone)>,
    ) -> Bars {
        assert_eq!(axis.spacing, Spacing::Linear, "an axis of bars");
        let series: Vec<(String, Tone)> =
            series.into_iter().map(|(name, tone)| (name.to_owned(), tone)).collect();
        assert!(!series.is_empty(), "bars of at least one series");
        Bars {
            title: title.into(),
            axis,
            stand,
            series,
            groups: Vec::new(),
            spreads: Vec::new(),
            undrawn_count: 0,
        }
    }

    /// Adds a group with one value a series; none is a value that is not there (not printed, not measured), and the chart says so.
    ///
    /// # Panics
    /// If there are not as many values as series, or a stacked one is below zero.
    pub fn group(mut self, name: impl Into<String>, values: impl IntoIterator<Item = Option<f64>>) -> Bars {
        let mut values: Vec<Option<f64>> = values.into_iter().collect();
        assert_eq!(values.len(), self.series.len(), "values and series of `{}`", self.title);
        let is_stacked = self.stand == Stand::Stacked;
        assert!(
            !is_stacked || values.iter().flatten().all(|value| *value >= 0.0 || value.is_nan()),
            "a stacked part below zero"
        );
        for value in values.iter_mut().filter(|value| value.is_some_and(|value| !self.axis.can_draw(value))) {
            *value = None;
            self.undrawn_count += 1;
        }
        self.groups.push((name.into(), values));
        self
    }

    /// Says from where to where the values lie that a bar of the last group is the mean of, its series counted from 0;
    /// a spread that is not finite is left out.
    ///
    /// # Panics
    /// Without a group or such a series, or where bars are stacked.
    pub fn spread(mut self, series: usize, least: f64, most: f64) -> Bars {
        assert!(self.stand == Stand::Grouped && series < self.series.len(), "a bar of `{}`", self.title);
        let group = self.groups.len().checked_sub(1).expect("a group for the spread");
        if self.axis.can_draw(least) && self.axis.can_draw(most) {
            self.spreads.push(Spread { group, series, least, most });
        }
        self
    }

    fn spread_of(&self, group: usize, series: usize) -> Option<Spread> {
        self.spreads.iter().copied().find(|spread| (spread.group, spread.series) == (group, series))
    }

    pub(crate) fn title(&self) -> &str {
        &self.title
    }

    pub(crate) fn summary(&self) -> String {
        let groups: Vec<&str> = self.groups.iter().map(|(name, _)| name.as_str()).collect();
        let series: Vec<&str> = self.series.iter().map(|(name, _)| name.as_str()).collect();
        format!(
            "{}. Bar chart of {}: {} for {}.",
            self.title,
            self.axis.words(),
            series.join(", "),
            groups.join(", ")
        )
    }

    pub(crate) fn numbers(&self) -> Table {
        let series =
            self.series.iter().map(|(name, _)| Column::new(name.as_str()).unit(self.axis.unit.as_str()));
        let mut table = Table::new(self.title.clone(), std::iter::once(Column::new("")).chain(series));
        for (name, values) in &self.groups {
            let entries = values.iter().map(|value| value.map_or(Entry::Blank, Entry::from));
            let line: Vec<Entry> = std::iter::once(name.as_str().into()).chain(entries).collect();
            table.push(line);
        }
        table
    }

    pub(crate) fn draw(&self, svg: &mut Svg) -> f64 {
        let width = svg.width;
        let legend: Vec<(Tone, &str)> = match self.series.len() {
            1 => Vec::new(),
            _ => self.series.iter().map(|(name, tone)| (*tone, name.as_str())).collect(),
        };
        let mut y = head(svg, &self.title, &legend, Swatch::Area) + 4.0;
        let is_narrow = width < NARROW_PX;
        let names = self.groups.iter().map(|(name, _)| text_width(name, TEXT_PX)).fold(0.0, f64::max);
        let labels = self.labels().map(|label| text_width(&label, TEXT_PX)).fold(0.0, f64::max) + 8.0;
        let name_width = if is_narrow { 0.0 } else { (names + 12.0).min(width * 0.35) };
        let has_negative =
            self.groups.iter().any(|(_, values)| values.iter().flatten().any(|value| *value < 0.0));
        let left = name_width + if has_negative { labels } else { 1.0 };
        let right = (width - labels).max(left + 60.0);
        let scale =
            Scale::new(Spacing::Linear, self.range(), (left, right), ((right - left) / 90.0) as usize, true);
        let bar = if self.stand == Stand::Stacked || self.series.len() == 1 { 18.0 } else { 15.0 };
        let bar_count = if self.stand == Stand::Stacked { 1 } else { self.series.len() };
        let head_height = if is_narrow { 17.0 } else { 0.0 };
        let group_height = head_height + bar_count as f64 * (bar + 2.0) + 10.0;
        let foot = y + self.groups.len() as f64 * group_height;
        x_grid(svg, &scale, y, foot);
        for (group, (name, values)) in self.groups.iter().enumerate() {
            if is_narrow {
                svg.cut_text("halo", (0.0, y + 13.0), Anchor::Start, name, width, TEXT_PX);
            } else {
                let middle = y + bar_count as f64 * (bar + 2.0) / 2.0;
                svg.cut_text(
                    "",
                    (name_width - 12.0, middle + 3.0),
                    Anchor::End,
                    name,
                    name_width - 12.0,
                    TEXT_PX,
                );
            }
            let zero = crisp(scale.px(0.0));
            let bars = (y + head_height - 2.0, y + group_height - 10.0);
            svg.line("axis", (zero, bars.0), (zero, bars.1));
            match self.stand {
                Stand::Grouped => self.draw_group(svg, group, &scale, y + head_height, bar),
                Stand::Stacked => self.draw_stack(svg, values, &scale, y + head_height, bar),
            }
            y += group_height;
        }
        y = x_axis(svg, &scale, foot, &self.axis);
        let undrawn = format!("{} not drawn: not finite.", counted(self.undrawn_count, "value"));
        remarks(svg, y, if self.undrawn_count > 0 { std::slice::from_ref(&undrawn) } else { &[] })
    }

    fn draw_group(&self, svg: &mut Svg, group: usize, scale: &Scale, y: f64, bar: f64) {
        let zero = scale.px(0.0);
        let values = &self.groups[group].1;
        for (index, (value, (name, tone))) in values.iter().zip(&self.series).enumerate() {
            let top = y + index as f64 * (bar + 2.0);
            let text_y = top + bar / 2.0 + 4.0;
            let Some(value) = *value else {
                svg.text("small halo", (zero + 6.0, text_y), Anchor::Start, MISSING);
                continue;
            };
            let end = scale.px(value);
            let mut words = format!("{name}: {}", self.axis.value_words(value));
            let spread = self.spread_of(group, index);
            if let Some(Spread { least, most, .. }) = spread {
                words += &format!(", {} to {}", number::significant(least), number::significant(most));
            }
            svg.area(*tone, (end.min(zero), top, (end - zero).abs().max(0.5), bar), &words);
            let reach = |pick: fn(f64, f64) -> f64| {
                spread.map_or(end, |spread| pick(pick(end, scale.px(spread.least)), scale.px(spread.most)))
            };
            let (anchor, at) = match value < 0.0 {
                true => (Anchor::End, reach(f64::min) - 6.0),
                false => (Anchor::Start, reach(f64::max) + 6.0),
            };
            if let Some(Spread { least, most, .. }) = spread {
                draw_spread(svg, (scale.px(least), scale.px(most)), (top, bar));
            }
            svg.text("halo", (at, text_y), anchor, &number::significant(value));
        }
    }

    fn draw_stack(&self, svg: &mut Svg, values: &[Option<f64>], scale: &Scale, y: f64, bar: f64) {
        let mut total = 0.0;
        for (value, (name, tone)) in values.iter().zip(&self.series) {
            let Some(value) = *value else { continue };
            let (from, to) = (scale.px(total), scale.px(total + value));
            let words = format!("{name}: {}", self.axis.value_words(value));
            svg.area(*tone, (from, y, to - from, bar), &words);
            let label = number::significant(value);
            if text_width(&label, SMALL_PX) + 6.0 <= to - from {
                let at = ((from + to) / 2.0, y + bar / 2.0 + 4.0);
                svg.text(&format!("within stroke-{}", tone.name()), at, Anchor::Middle, &label);
            }
            total += value;
        }
        let label = self.stack_label(values, total);
        svg.text("halo", (scale.px(total) + 6.0, y + bar / 2.0 + 4.0), Anchor::Start, &label);
    }

    /// The total; a part that was not measured makes it a lower bound.
    fn stack_label(&self, values: &[Option<f64>], total: f64) -> String {
        match values.iter().filter(|value| value.is_some()).count() {
            0 => MISSING.to_owned(),
            measured if measured < values.len() => format!("≥ {}", number::significant(total)),
            _ => number::significant(total),
        }
    }

    /// Every label that stands behind a bar.
    fn labels(&self) -> impl Iterator<Item = String> {
        self.groups.iter().flat_map(move |(_, values)| match self.stand {
            Stand::Stacked => vec![self.stack_label(values, values.iter().flatten().sum())],
            Stand::Grouped => {
                values.iter().map(|value| value.map_or(MISSING.to_owned(), number::significant)).collect()
            }
        })
    }

    fn range(&self) -> (f64, f64) {
        let ends = self.groups.iter().flat_map(|(_, values)| match self.stand {
            Stand::Stacked => vec![values.iter().flatten().sum()],
            Stand::Grouped => values.iter().flatten().copied().collect(),
        });
        let spreads = self.spreads.iter().flat_map(|spread| [spread.least, spread.most]);
        match extent(ends.chain(spreads).chain([0.0])) {
            Some((low, high)) if low < high => (low, high),
            _ => (0.0, 1.0),
        }
    }
}

/// A line over a bar from the least to the most, with an edge at each end, on a lighter one so that it shows on any tone.
fn draw_spread(svg: &mut Svg, (from, to): (f64, f64), (top, bar): (f64, f64)) {
    let (middle, edge) = (crisp(top + bar / 2.0), bar / 4.0);
    let lines = [
        vec![(from, middle), (to, middle)],
        vec![(from, middle - edge), (from, middle + edge)],
        vec![(to, middle - edge), (to, middle + edge)],
    ];
    svg.polylines("spread-halo", &lines);
    svg.polylines("spread", &lines);
}
