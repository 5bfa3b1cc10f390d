//! [`Timeline`]: what happens when, a lane a node or a wire, with a stretch of it enlarged below.
//!
//! An interval at least a pixel wide is drawn as it is. What is narrower is merged by [`super::merge`] and shaded
//! by its share of the time; the chart says so where it happened. Intervals that overlap in one lane are drawn
//! later over earlier, an interrupt over what it interrupts, and what is only a few pixels wide over the rest.

use super::frame::{Swatch, counted, crisp, head, remarks, x_axis, x_grid};
use super::merge::{Shade, shade};
use super::scale::{Axis, Scale, extent};
use super::svg::{Anchor, Area, SMALL_PX, Svg, TEXT_PX, text_width};
use super::tone::Tone;
use crate::limits::{INTERVAL_PX_MIN, SHADE_MIN};
use crate::number;
use crate::table::{Column, Table};
use std::collections::BTreeMap;

/// A kind of interval, of the timeline that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind(usize);

/// A lane, of the timeline that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane(usize);

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Interval {
    pub(super) start: f64,
    pub(super) end: f64,
    pub(super) kind: usize,
    label: String,
}

impl Interval {
    /// True if some of it lies in the scale's range; what only touches an end does not, unless it is an instant.
    fn is_within(&self, scale: &Scale) -> bool {
        match self.start == self.end {
            true => (scale.low..=scale.high).contains(&self.start),
            false => self.end > scale.low && self.start < scale.high,
        }
    }
}

/// The height of the base line that stands for a quiet interval, in px.
const QUIET_PX: f64 = 3.0;

/// An interval at least this wide can be pointed at, and has words of its own, in px.
const POINTABLE_PX: f64 = 4.0;

#[derive(Clone, Debug, PartialEq)]
struct Band {
    start: f64,
    end: f64,
    label: String,
}

/// Lanes of intervals over one axis of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    title: String,
    time: Axis,
    kinds: Vec<(String, Tone)>,
    lanes: Vec<(String, Vec<Interval>)>,
    bands: Vec<Band>,
    inset: Option<(f64, f64)>,
    undrawn_count: usize,
}

impl Timeline {
    /// An empty timeline over `time`, which must be a linear axis.
    ///
    /// # Panics
    /// If the axis is logarithmic: a share of time has no place on it.
    pub fn new(title: impl Into<String>, time: Axis) -> Timeline {
        assert_eq!(time.spacing, super::Spacing::Linear, "a timeline's axis");
        let (kinds, lanes, bands) = (Vec::new(), Vec::new(), Vec::new());
        Timeline { title: title.into(), time, kinds, lanes, bands, inset: None, undrawn_count: 0 }
    }

    /// Adds a kind of interval, such as `sealing`. Its order is that of the legend.
    pub fn kind(&mut self, name: impl Into<String>, tone: Tone) -> Kind {
        self.kinds.push((name.into(), tone));
        Kind(self.kinds.len() - 1)
    }

    /// Adds a lane below the others.
    pub fn lane(&mut self, name: impl Into<String>) -> Lane {
        self.lanes.push((name.into(), Vec::new()));
        Lane(self.lanes.len() - 1)
    }

    /// Adds an interval, in the unit of the axis. The label is written into it where there is room, and is always
    /// there for who points at it. An interval that ends before it starts, or is not finite, is counted as not
    /// drawn, and the chart says so.
    pub fn interval(&mut self, lane: Lane, kind: Kind, start: f64, end: f64, label: impl Into<String>) {
        assert!(kind.0 < self.kinds.len(), "a kind of this timeline");
        if self.time.can_draw(start) && self.time.can_draw(end) && start <= end {
            self.lanes[lane.0].1.push(Interval { start, end, kind: kind.0, label: label.into() });
        } else {
            self.undrawn_count += 1;
        }
    }

    /// Adds a band across all lanes, such as a slot of the superframe.
    pub fn band(&mut self, start: f64, end: f64, label: impl Into<String>) {
        if self.time.can_draw(start) && self.time.can_draw(end) && start < end {
            self.bands.push(Band { start, end, label: label.into() });
        } else {
            self.undrawn_count += 1;
        }
    }

    /// Enlarges a stretch of time below.
    ///
    /// # Panics
    /// If it is empty or not finite.
    pub fn inset(&mut self, from: f64, to: f64) {
        assert!(
            self.time.can_draw(from) && self.time.can_draw(to) && from < to,
            "an inset from {from} to {to}"
        );
        self.inset = Some((from, to));
    }

    #[cfg(test)]
    pub(super) fn intervals_of(&self, lane: Lane) -> &[Interval] {
        &self.lanes[lane.0].1
    }

    pub(crate) fn title(&self) -> &str {
        &self.title
    }

    pub(crate) fn summary(&self) -> String {
        let lanes: Vec<&str> = self.lanes.iter().map(|(name, _)| name.as_str()).collect();
        let kinds: Vec<&str> = self.kinds.iter().map(|(name, _)| name.as_str()).collect();
        let (from, to) = self.range();
        format!(
            "{}. Timeline from {} to {}. Lanes: {}. Intervals: {}.",
            self.title,
            self.time.value_words(from),
            self.time.value_words(to),
            lanes.join(", "),
            kinds.join(", ")
        )
    }

    pub(crate) fn numbers(&self) -> Table {
        let unit = self.time.unit.as_str();
        let columns = [
            Column::new("lane"),
            Column::new("interval"),
            Column::new("count"),
            Column::new("total").unit(unit),
            Column::new("longest").unit(unit),
            Column::new("share of the time").unit("%").decimals(2),
        ];
        let (from, to) = self.range();
        let mut table = Table::new(self.title.clone(), columns);
        for (lane, intervals) in &self.lanes {
            for (kind, (name, _)) in self.kinds.iter().enumerate() {
                let lengths: Vec<f64> = intervals
                    .iter()
                    .filter(|i| i.kind == kind)
                    .map(|interval| interval.end - interval.start)
                    .collect();
                if lengths.is_empty() {
                    continue;
                }
                let total: f64 = lengths.iter().sum();
                let longest = lengths.iter().copied().fold(0.0, f64::max);
                let share = total / (to - from) * 100.0;
                table.push([
                    lane.as_str().into(),
                    name.as_str().into(),
                    lengths.len().into(),
                    total.into(),
                    longest.into(),
                    share.into(),
                ]);
            }
        }
        table
    }

    pub(crate) fn draw(&self, svg: &mut Svg) -> f64 {
        let legend: Vec<(Tone, &str)> =
            self.kinds.iter().map(|(name, tone)| (*tone, name.as_str())).collect();
        let mut y = head(svg, &self.title, &legend, Swatch::Area);
        let names = self.lanes.iter().map(|(name, _)| text_width(name, TEXT_PX));
        let left = names.fold(0.0, f64::max).min(svg.width * 0.28) + 10.0;
        let (right, tick_count) = (svg.width - 10.0, (svg.width / 90.0) as usize);
        let whole = Scale::new(self.time.spacing, self.range(), (left, right), tick_count, false);
        let (top, merged_count);
        (y, top, merged_count) = self.panel(svg, &whole, y);
        let Some((from, to)) = self.inset else {
            y = x_axis(svg, &whole, y, &self.time);
            return remarks(svg, y, &self.remarks(merged_count, None));
        };
        let (lens_from, lens_to) = (whole.px(from), whole.px(to).max(whole.px(from) + 2.0));
        svg.rect("lens", crisp(lens_from), top - 3.0, lens_to - lens_from, y - top + 3.0);
        let below = y + 52.0;
        svg.polygon("beam", &[(lens_from, y), (lens_to, y), (right, below), (left, below)]);
        x_axis(svg, &whole, y, &self.time);
        y = below + 4.0;
        let enlarged = Scale::new(self.time.spacing, (from, to), (left, right), tick_count, false);
        let (bottom, _, enlarged_count) = self.panel(svg, &enlarged, y);
        y = x_axis(
            svg,
            &enlarged,
            bottom,
            &Axis::linear(self.enlargement(&whole, &enlarged), self.time.unit.clone()),
        );
        remarks(svg, y, &self.remarks(merged_count, Some(enlarged_count)))
    }

    fn enlargement(&self, whole: &Scale, enlarged: &Scale) -> String {
        let factor = (whole.high - whole.low) / (enlarged.high - enlarged.low);
        format!("{}, enlarged {} times", self.time.label, number::significant((factor * 10.0).round() / 10.0))
    }

    fn remarks(&self, merged_count: usize, enlarged_count: Option<usize>) -> Vec<String> {
        let mut remarks = Vec::new();
        if merged_count > 0 {
            let below = enlarged_count
                .filter(|count| *count > 0)
                .map(|count| format!(" ({} below)", number::integer(count as i64)));
            remarks.push(format!(
                "{} narrower than a pixel{}: merged by pixel, height by kind, shade by share of the time (at least {} %).",
                counted(merged_count, "interval"),
                below.unwrap_or_default(),
                (SHADE_MIN * 100.0).round()
            ));
        }
        if self.undrawn_count > 0 {
            remarks.push(format!(
                "{} not drawn: the end is before the start, or not finite.",
                counted(self.undrawn_count, "interval")
            ));
        }
        remarks
    }

    /// Draws bands and lanes over one scale from `y` on; returns the y of their foot, the y of their top, and how
    /// many intervals were merged.
    fn panel(&self, svg: &mut Svg, scale: &Scale, y: f64) -> (f64, f64, usize) {
        let has_bands = !self.bands.is_empty();
        let top = y + if has_bands { 18.0 } else { 6.0 };
        let (height, gap) = if self.lanes.len() > 12 { (13.0, 4.0) } else { (20.0, 7.0) };
        let foot = top + self.lanes.len() as f64 * (height + gap) + 2.0;
        self.draw_bands(svg, scale, top, foot);
        if !has_bands {
            x_grid(svg, scale, top, foot);
        }
        let mut merged_count = 0;
        let mut y = top;
        for (name, intervals) in &self.lanes {
            svg.cut_text(
                "",
                (scale.low_px - 10.0, y + height / 2.0 + 4.0),
                Anchor::End,
                name,
                scale.low_px - 10.0,
                TEXT_PX,
            );
            svg.line("grid", (scale.low_px, crisp(y + height)), (scale.high_px, crisp(y + height)));
            merged_count += self.draw_lane(svg, scale, intervals, y, height);
            y += height + gap;
        }
        (foot, top, merged_count)
    }

    fn draw_bands(&self, svg: &mut Svg, scale: &Scale, top: f64, foot: f64) {
        for (index, band) in self.bands.iter().enumerate() {
            if band.end < scale.low || band.start > scale.high {
                continue;
            }
            let (from, to) = (scale.px(band.start), scale.px(band.end));
            if to - from >= 3.0 {
                if index % 2 == 0 {
                    svg.rect("wash", from, top - 3.0, to - from, foot - top + 3.0);
                }
                svg.line("grid", (crisp(from), top - 3.0), (crisp(from), foot));
            }
            if text_width(&band.label, SMALL_PX) <= to - from {
                svg.text("small", ((from + to) / 2.0, top - 7.0), Anchor::Middle, &band.label);
            }
        }
    }

    fn draw_lane(&self, svg: &mut Svg, scale: &Scale, intervals: &[Interval], y: f64, height: f64) -> usize {
        let mut small: BTreeMap<usize, Vec<Area>> = BTreeMap::new();
        let mut narrow: Vec<&Interval> = Vec::new();
        let mut labels = Vec::new();
        for interval in intervals.iter().filter(|interval| interval.is_within(scale)) {
            let (from, to) = (scale.px(interval.start), scale.px(interval.end));
            if to - from < INTERVAL_PX_MIN {
                narrow.push(interval);
                continue;
            }
            let tone = self.kinds[interval.kind].1;
            let (top, height) =
                if tone == Tone::Quiet { (y + height - QUIET_PX, QUIET_PX) } else { (y, height) };
            if to - from < POINTABLE_PX {
                small.entry(interval.kind).or_default().push((from, top, to - from, height));
                continue;
            }
            svg.area(tone, (from, top, to - from, height), &self.interval_words(interval, scale));
            let has_label = !interval.label.is_empty() && height >= SMALL_PX + 4.0;
            if has_label && text_width(&interval.label, SMALL_PX) + 4.0 <= to - from {
                let at = ((from + to) / 2.0, y + height / 2.0 + 4.0);
                labels.push((tone, at, &interval.label));
            }
        }
        for (kind, areas) in small {
            svg.areas(self.kinds[kind].1, 1.0, &areas);
        }
        self.draw_shades(svg, &shade(&narrow, scale, self.kinds.len()), y, height);
        for (tone, at, label) in labels {
            svg.text(&format!("within stroke-{}", tone.name()), at, Anchor::Middle, label);
        }
        narrow.len()
    }

    /// Draws merged intervals: the kinds share the height by their part, the shade is the time they take together.
    fn draw_shades(&self, svg: &mut Svg, shades: &[Shade], y: f64, height: f64) {
        let mut layers: BTreeMap<(usize, u32), Vec<Area>> = BTreeMap::new();
        for merged in shades {
            let is_quiet = |kind: usize| self.kinds[kind].1 == Tone::Quiet;
            let active: Vec<(usize, f64)> = merged.shares().filter(|(kind, _)| !is_quiet(*kind)).collect();
            let total: f64 = active.iter().map(|(_, share)| share).sum();
            let percent = (total.clamp(SHADE_MIN, 1.0) * 100.0).round() as u32;
            let mut foot = y + height;
            for &(kind, share) in &active {
                let part = height * share / total;
                layers.entry((kind, percent)).or_default().push((
                    merged.from_px,
                    foot - part,
                    merged.width_px,
                    part,
                ));
                foot -= part;
            }
            if let (true, Some((quiet, _))) = (active.is_empty(), merged.shares().next()) {
                let area = (merged.from_px, y + height - QUIET_PX, merged.width_px, QUIET_PX);
                layers.entry((quiet, 100)).or_default().push(area);
            }
        }
        for ((kind, percent), areas) in layers {
            svg.areas(self.kinds[kind].1, f64::from(percent) / 100.0, &areas);
        }
    }

    fn interval_words(&self, interval: &Interval, scale: &Scale) -> String {
        let kind = &self.kinds[interval.kind].0;
        let label = if interval.label.is_empty() { String::new() } else { format!(": {}", interval.label) };
        let (from, to) = (self.moment(interval.start, scale), self.moment(interval.end, scale));
        format!("{kind}{label}, {from} to {to} ({})", self.time.value_words(interval.end - interval.start))
    }

    /// A point in time, to a ten-thousandth of what is shown.
    fn moment(&self, time: f64, scale: &Scale) -> String {
        let decimals = (4.0 - (scale.high - scale.low).log10().floor()).clamp(0.0, 9.0) as usize;
        format!("{} {}", number::decimal(time, decimals), self.time.unit).trim_end().to_owned()
    }

    fn range(&self) -> (f64, f64) {
        let intervals = self.lanes.iter().flat_map(|(_, intervals)| intervals);
        let ends = intervals.flat_map(|interval| [interval.start, interval.end]);
        let bands = self.bands.iter().flat_map(|band| [band.start, band.end]);
        match extent(ends.chain(bands)) {
            Some((from, to)) if from < to => (from, to),
            Some((from, _)) => (from, from + from.abs().max(1.0) * 1e-3),
            None => (0.0, 1.0),
        }
    }
}
