//! [`Lines`]: waveforms and other curves over a common x axis, on one plot or one panel each.
//!
//! Tens of thousands of samples are thinned by [`super::decimate`], which keeps every peak. A y that is not a
//! number is a lost sample: the stroke breaks there, and a line in the alert colour along the foot of the plot
//! and a tint over the height show from where to where.

use super::decimate::{Decimated, decimate};
use super::frame::{Mark, Swatch, counted, head, place_marks, remarks, ticks_width, x_axis, x_grid, y_axis};
use super::scale::{Axis, Scale, Spacing, extent};
use super::svg::{Anchor, Svg, TEXT_PX, fit, text_width};
use super::tone::Tone;
use crate::table::{Column, Entry, Table};

/// How several series share a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Panels {
    /// All on one plot, told apart by dash and colour: for smooth curves, at most six.
    Together,
    /// One above the other, all with the same y axis: for comparing sizes.
    Each,
    /// One above the other, each with its own y axis: for comparing shapes.
    EachOwnScale,
}

/// One series of points.
#[derive(Clone, Debug, PartialEq)]
struct Series {
    name: String,
    note: String,
    tone: Tone,
    points: Vec<(f64, f64)>,
    /// Points beside the curve, each with its words.
    dots: Vec<((f64, f64), String)>,
}

/// A line chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Lines {
    title: String,
    x: Axis,
    y: Axis,
    panels: Panels,
    series: Vec<Series>,
    marks: Vec<Mark>,
    window: Option<(f64, f64)>,
    has_zero: bool,
    is_stepped: bool,
}

impl Lines {
    /// An empty chart.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis, panels: Panels) -> Lines {
        let (series, marks) = (Vec::new(), Vec::new());
        let (has_zero, is_stepped) = (false, false);
        Lines { title: title.into(), x, y, panels, series, marks, window: None, has_zero, is_stepped }
    }

    /// Adds a series of (x, y) in the units of the axes; points are put in the order of their x. A y of NaN is a
    /// lost sample. On separate panels every series takes the accent, together each takes the next tone.
    pub fn series(self, name: impl Into<String>, points: Vec<(f64, f64)>) -> Lines {
        self.noted_series(name, "", points)
    }

    /// Adds a series with a note behind its name, such as its chip and clock.
    pub fn noted_series(
        mut self,
        name: impl Into<String>,
        note: impl Into<String>,
        mut points: Vec<(f64, f64)>,
    ) -> Lines {
        points.retain(|point| self.x.can_draw(point.0));
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let tone = match self.panels {
            Panels::Together => Tone::nth(self.series.len()),
            Panels::Each | Panels::EachOwnScale => Tone::Accent,
        };
        self.series.push(Series { name: name.into(), note: note.into(), tone, points, dots: Vec::new() });
        self
    }

    /// Adds a point to the series that was added last, in its tone and beside its curve, with words for who points at
    /// it.
    ///
    /// # Panics
    /// If there is no series yet.
    pub fn dot(mut self, at: (f64, f64), words: impl Into<String>) -> Lines {
        if self.x.can_draw(at.0) && self.y.can_draw(at.1) {
            self.series.last_mut().expect("a point is of a series").dots.push((at, words.into()));
        }
        self
    }

    /// Marks an x with a line and words.
    pub fn mark(mut self, at: f64, label: impl Into<String>) -> Lines {
        if self.x.can_draw(at) {
            self.marks.push(Mark { at, label: label.into() });
        }
        self
    }

    /// Draws only this stretch of x.
    ///
    /// # Panics
    /// If it is empty or not finite.
    pub fn window(mut self, from: f64, to: f64) -> Lines {
        assert!(self.x.can_draw(from) && self.x.can_draw(to) && from < to, "a window from {from} to {to}");
        self.window = Some((from, to));
        self
    }

    /// Lets the y axis start at zero, for quantities whose size matters and not only their change.
    pub fn from_zero(mut self) -> Lines {
        self.has_zero = self.y.spacing == Spacing::Linear;
        self
    }

    /// Draws a y as what holds until the next x, for curves between whose points there is nothing.
    pub fn stepped(mut self) -> Lines {
        self.is_stepped = true;
        self
    }

    pub(crate) fn title(&self) -> &str {
        &self.title
    }

    pub(crate) fn summary(&self) -> String {
        let names: Vec<&str> = self.series.iter().map(|series| series.name.as_str()).collect();
        let x = self.x_range();
        format!(
            "{}. Line chart of {} over {} from {} to {}.",
            self.title,
            names.join(", "),
            self.x.label,
            self.x.value_words(x.0),
            self.x.value_words(x.1)
        )
    }

    pub(crate) fn numbers(&self) -> Table {
        let unit = self.y.unit.as_str();
        let columns = [
            Column::new("series"),
            Column::new("points"),
            Column::new("lost"),
            Column::new("least").unit(unit),
            Column::new("mean").unit(unit),
            Column::new("greatest").unit(unit),
        ];
        let mut table = Table::new(self.title.clone(), columns);
        for series in &self.series {
            let shown: Vec<f64> = self.within(series).iter().map(|point| point.1).collect();
            let drawn: Vec<f64> = shown.iter().copied().filter(|&y| self.y.can_draw(y)).collect();
            let (least, greatest) = match extent(drawn.iter().copied()) {
                Some((least, greatest)) => (least.into(), greatest.into()),
                None => (Entry::Blank, Entry::Blank),
            };
            let count = drawn.len() as f64;
            let mean = if drawn.is_empty() {
                Entry::Blank
            } else {
                drawn.iter().map(|y| y / count).sum::<f64>().into()
            };
            let lost = shown.len() - drawn.len();
            table.push([series.name.as_str().into(), shown.len().into(), lost.into(), least, mean, greatest]);
        }
        table
    }

    pub(crate) fn draw(&self, svg: &mut Svg) -> f64 {
        let width = svg.width;
        let together = self.panels == Panels::Together;
        let legend: Vec<(Tone, &str)> = match together && self.series.len() > 1 {
            true => self.series.iter().map(|series| (series.tone, series.name.as_str())).collect(),
            false => Vec::new(),
        };
        let mut y = head(svg, &self.title, &legend, Swatch::Line);
        let y_words = self.y.words();
        if !y_words.is_empty() {
            y += 14.0;
            svg.cut_text("muted", (0.0, y - 2.0), Anchor::Start, &y_words, width, TEXT_PX);
            y += 4.0;
        }
        let groups: Vec<&[Series]> = match together {
            true => vec![&self.series[..]],
            false => self.series.chunks(1).collect(),
        };
        let (height, gap) =
            if together { (240.0, 0.0) } else { (if width < 520.0 { 52.0 } else { 64.0 }, 24.0) };
        let y_scales: Vec<Scale> = groups.iter().map(|group| self.y_scale(group, height, together)).collect();
        let left = y_scales.iter().map(|scale| ticks_width(&scale.ticks)).fold(0.0, f64::max);
        let right = width - 10.0;
        let x_scale =
            Scale::new(self.x.spacing, self.x_range(), (left, right), (width / 90.0) as usize, false);
        let marks = place_marks(&self.marks, &x_scale, width);
        let marks_top = y;
        y += marks.height;
        let bottom = y + groups.len() as f64 * (height + gap);
        x_grid(svg, &x_scale, y, bottom);
        marks.draw(svg, marks_top, bottom);
        let mut lost_count = 0;
        for (group, mut y_scale) in groups.into_iter().zip(y_scales) {
            if !together {
                self.panel_name(svg, &group[0], (left, y + 15.0), right - left);
            }
            y += gap;
            (y_scale.low_px, y_scale.high_px) = (y + height - 4.0, y + 4.0);
            y_axis(svg, &y_scale, left, right);
            for series in group {
                lost_count += self.stroke(svg, series, &x_scale, &y_scale, y + height - 1.0);
            }
            y += height;
        }
        y = x_axis(svg, &x_scale, y, &self.x);
        let lost = format!("{} lost, marked in red where wide enough to see.", counted(lost_count, "sample"));
        remarks(svg, y, if lost_count > 0 { std::slice::from_ref(&lost) } else { &[] })
    }

    fn panel_name(&self, svg: &mut Svg, series: &Series, at: (f64, f64), width: f64) {
        let name = fit(&series.name, width, TEXT_PX);
        svg.text("strong halo", at, Anchor::Start, &name);
        let used = text_width(&name, TEXT_PX) * 1.06 + 8.0;
        if !series.note.is_empty() && used + 40.0 < width {
            svg.cut_text(
                "muted halo",
                (at.0 + used, at.1),
                Anchor::Start,
                &series.note,
                width - used,
                TEXT_PX,
            );
        }
    }

    /// Strokes one series and its gaps; returns how many samples are lost.
    fn stroke(&self, svg: &mut Svg, series: &Series, x: &Scale, y: &Scale, foot: f64) -> usize {
        let points = self.within(series);
        let Decimated { runs, gaps, lost_count } =
            decimate(points, |at| x.px(at).floor() as usize, |value| self.y.can_draw(value));
        let to_px = |run: &Vec<(f64, f64)>| run.iter().map(|point| (x.px(point.0), y.px(point.1))).collect();
        let mut drawn: Vec<Vec<(f64, f64)>> = runs.iter().map(to_px).collect();
        if self.is_stepped {
            drawn = drawn.iter().map(|run| stairs(run)).collect();
        }
        let is_dense = points.len() as f64 > x.high_px - x.low_px;
        let class = format!("series{} stroke-{}", if is_dense { " dense" } else { "" }, series.tone.name());
        svg.polylines(&class, &drawn);
        for (at, words) in &series.dots {
            if (x.low_px..=x.high_px).contains(&x.px(at.0)) {
                svg.point(series.tone, (x.px(at.0), y.px(at.1)), words);
            }
        }
        for (from, to) in gaps {
            let (from, to) = (x.px(from), x.px(to).max(x.px(from) + 2.0));
            svg.rect("lost", from, y.high_px, to - from, foot - y.high_px);
            svg.line("gap", (from, foot), (to, foot));
        }
        lost_count
    }

    /// The points within the window.
    fn within<'a>(&self, series: &'a Series) -> &'a [(f64, f64)] {
        let Some((from, to)) = self.window else { return &series.points };
        let start = series.points.partition_point(|point| point.0 < from);
        let end = series.points.partition_point(|point| point.0 <= to);
        &series.points[start..end.max(start)]
    }

    fn x_range(&self) -> (f64, f64) {
        let dots = |series: &Series| series.dots.iter().map(|(at, _)| at.0).collect::<Vec<_>>();
        let points = |series: &Series| series.points.iter().map(|point| point.0).collect::<Vec<_>>();
        let all = || self.series.iter().flat_map(|series| [points(series), dots(series)].concat());
        self.window
            .or_else(|| extent(all()))
            .unwrap_or((if self.x.spacing == Spacing::Log { 1.0 } else { 0.0 }, 10.0))
    }

    fn y_scale(&self, group: &[Series], height: f64, together: bool) -> Scale {
        let shared = if self.panels == Panels::EachOwnScale { group } else { &self.series[..] };
        let dots = shared.iter().flat_map(|series| &series.dots).map(|(at, _)| at.1);
        let ys = shared.iter().flat_map(|series| self.within(series)).map(|point| point.1).chain(dots);
        let zero = self.has_zero.then_some(0.0);
        let range = extent(ys.filter(|&y| self.y.can_draw(y)).chain(zero)).unwrap_or((1.0, 10.0));
        if together || self.y.spacing == Spacing::Log {
            return Scale::new(self.y.spacing, range, (height, 0.0), 5, true);
        }
        // A panel is low: rounding its ends outwards to ticks would leave the curve little of it.
        Scale::new(self.y.spacing, range, (height, 0.0), 2, false)
    }
}

/// The curve with a corner before each point after the first, where it comes from the left.
fn stairs(run: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let steps = run.windows(2).flat_map(|pair| [(pair[1].0, pair[0].1), pair[1]]);
    run.iter().take(1).copied().chain(steps).collect()
}
