//! What every chart has around its data: title, legend, axes, marks, remarks; one look for all of them.
//!
//! Nothing here may overlap: labels that would are moved to another row or, for ticks, left out.

use super::scale::{Axis, Scale, Tick};
use super::svg::{Anchor, BOLD, SMALL_PX, Svg, TEXT_PX, TITLE_PX, fit, text_width, wrap};
use super::tone::Tone;

/// Below this width labels stand above what they name instead of beside it, in px.
pub(crate) const NARROW_PX: f64 = 520.0;

/// How a legend shows a tone: as the chart does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Swatch {
    Area,
    Line,
}

/// A value on the x axis worth a line and words, such as a deadline.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    pub(crate) at: f64,
    pub(crate) label: String,
}

/// Draws title and legend; returns the y below them.
pub(crate) fn head(svg: &mut Svg, words: &str, names: &[(Tone, &str)], swatch: Swatch) -> f64 {
    let y = title(svg, words);
    if names.is_empty() {
        return y + 6.0;
    }
    legend(svg, y, names, |svg, tone, (x, y)| match swatch {
        Swatch::Area if tone == Tone::Quiet => svg.area(tone, (x, y - 4.0, 18.0, 3.0), ""),
        Swatch::Area => svg.area(tone, (x, y - 10.0, 18.0, 10.0), ""),
        Swatch::Line => svg
            .polylines(&format!("series stroke-{}", tone.name()), &[vec![(x, y - 4.0), (x + 18.0, y - 4.0)]]),
    })
}

/// Draws a title; returns the y below it.
pub(crate) fn title(svg: &mut Svg, words: &str) -> f64 {
    let mut y = 0.0;
    for line in wrap(words, svg.width, TITLE_PX * BOLD) {
        y += 18.0;
        svg.text("title", (0.0, y - 4.0), Anchor::Start, &line);
    }
    y
}

/// Draws a legend below `y`: names behind swatches 18 px wide, whose foot and left end `swatch` is given. Returns the y
/// below it.
pub(crate) fn legend<T: Copy>(
    svg: &mut Svg,
    y: f64,
    names: &[(T, &str)],
    swatch: impl Fn(&mut Svg, T, (f64, f64)),
) -> f64 {
    let (mut x, mut y) = (0.0, y + 18.0);
    for &(what, name) in names {
        let shown = fit(name, svg.width - 30.0, TEXT_PX);
        let width = 24.0 + text_width(&shown, TEXT_PX);
        if x > 0.0 && x + width > svg.width {
            x = 0.0;
            y += 18.0;
        }
        swatch(svg, what, (x, y));
        svg.text("", (x + 24.0, y), Anchor::Start, &shown);
        x += width + 16.0;
    }
    y + 10.0
}

/// How much room the labels of a y axis need, in px.
pub(crate) fn ticks_width(ticks: &[Tick]) -> f64 {
    ticks.iter().map(|tick| text_width(&tick.label, TEXT_PX)).fold(0.0, f64::max) + 8.0
}

/// Draws the labels of a y axis, right-aligned before `left`, and a faint line across at each.
pub(crate) fn y_axis(svg: &mut Svg, scale: &Scale, left: f64, right: f64) {
    for tick in scale.ticks.iter().filter(|tick| !tick.label.is_empty()) {
        let y = scale.px(tick.value);
        svg.line("grid", (left, crisp(y)), (right, crisp(y)));
        svg.text("muted", (left - 8.0, y + 4.0), Anchor::End, &tick.label);
    }
}

/// Draws faint lines down from `top` to `bottom` at the labelled ticks of an x axis.
pub(crate) fn x_grid(svg: &mut Svg, scale: &Scale, top: f64, bottom: f64) {
    for tick in scale.ticks.iter().filter(|tick| !tick.label.is_empty()) {
        let x = crisp(scale.px(tick.value));
        svg.line("grid", (x, top), (x, bottom));
    }
}

/// Draws an x axis at `y`: line, ticks, labels, and what it measures; returns the y below it.
pub(crate) fn x_axis(svg: &mut Svg, scale: &Scale, y: f64, axis: &Axis) -> f64 {
    svg.line("axis", (scale.low_px, crisp(y)), (scale.high_px, crisp(y)));
    let mut free_from = f64::NEG_INFINITY;
    for tick in &scale.ticks {
        let x = scale.px(tick.value);
        let half = text_width(&tick.label, TEXT_PX) / 2.0;
        svg.line("axis", (crisp(x), crisp(y)), (crisp(x), crisp(y) + if half > 0.0 { 5.0 } else { 3.0 }));
        let middle = x.clamp(half.min(svg.width / 2.0), (svg.width - half).max(svg.width / 2.0));
        if half > 0.0 && middle - half > free_from {
            svg.text("muted", (middle, y + 18.0), Anchor::Middle, &tick.label);
            free_from = middle + half + 4.0;
        }
    }
    let words = axis.words();
    if words.is_empty() {
        return y + 24.0;
    }
    svg.cut_text("muted", (scale.high_px, y + 35.0), Anchor::End, &words, svg.width, TEXT_PX);
    y + 42.0
}

/// How many rows the labels of marks need, so that none covers another, and the row of each.
fn mark_rows(marks: &[(f64, f64, f64)]) -> Vec<usize> {
    let mut rows: Vec<f64> = Vec::new();
    marks
        .iter()
        .map(|&(_, start, end)| {
            let row = rows.iter().position(|&free_from| free_from <= start).unwrap_or(rows.len());
            if row == rows.len() {
                rows.push(end);
            } else {
                rows[row] = end;
            }
            row
        })
        .collect()
}

/// Marks that lie within the axis, laid out: their lines and labels.
pub(crate) struct Marks {
    /// x of the line, start of the label, end of the label; then its row and words.
    placed: Vec<(f64, f64, usize, String)>,
    /// The height of the labels, in px.
    pub(crate) height: f64,
}

/// Lays out marks above a plot from `low_px` to `high_px`.
pub(crate) fn place_marks(marks: &[Mark], scale: &Scale, width: f64) -> Marks {
    let mut within: Vec<&Mark> =
        marks.iter().filter(|mark| mark.at >= scale.low && mark.at <= scale.high).collect();
    within.sort_by(|a, b| a.at.total_cmp(&b.at));
    let extents: Vec<(f64, f64, f64)> = within
        .iter()
        .map(|mark| {
            let (x, label) = (scale.px(mark.at), text_width(&fit(&mark.label, width, SMALL_PX), SMALL_PX));
            let start = (x - label / 2.0).clamp(0.0, (width - label).max(0.0));
            (x, start, start + label + 8.0)
        })
        .collect();
    let rows = mark_rows(&extents);
    let height = rows.iter().max().map_or(0.0, |row| (row + 1) as f64 * 14.0 + 4.0);
    let placed = within
        .iter()
        .zip(extents)
        .zip(rows)
        .map(|((mark, (x, start, _)), row)| (x, start, row, fit(&mark.label, width, SMALL_PX)))
        .collect();
    Marks { placed, height }
}

impl Marks {
    /// Draws the labels from `top` on and the lines from there to `bottom`.
    pub(crate) fn draw(&self, svg: &mut Svg, top: f64, bottom: f64) {
        for (x, _, row, _) in &self.placed {
            svg.line("mark", (crisp(*x), top + *row as f64 * 14.0 + 14.0), (crisp(*x), bottom));
        }
        for (_, start, row, label) in &self.placed {
            svg.text("small halo", (*start, top + *row as f64 * 14.0 + 10.0), Anchor::Start, label);
        }
    }
}

/// Writes remarks under a chart: what was merged or could not be drawn. Returns the y below them.
pub(crate) fn remarks(svg: &mut Svg, y: f64, remarks: &[String]) -> f64 {
    let mut y = y;
    for remark in remarks {
        for line in wrap(remark, svg.width, SMALL_PX) {
            y += 15.0;
            svg.text("small", (0.0, y), Anchor::Start, &line);
        }
    }
    y + 6.0
}

/// The middle of the pixel, so that a line one px thick fills it instead of blurring over two.
pub(crate) fn crisp(px: f64) -> f64 {
    px.floor() + 0.5
}

/// `1 value`, `2 values`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{} {noun}{}", crate::number::grouped(&count.to_string()), if count == 1 { "" } else { "s" })
}
