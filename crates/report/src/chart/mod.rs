//! Charts: values in, SVG out. Each chart is drawn for a width, so that its text keeps its size.
//!
//! `lines` draws waveforms, `timeline` what happens when, `distribution` how often values occur, `bars` sizes side
//! by side, `diagram` what is connected with what, `heat` many values in a grid. `frame` is what they share, `scale`
//! places values, `tone` tells things apart, `svg` writes.
//!
//! Invariant: a chart draws, merges or counts every value it was given; what it does not draw it says.

mod bars;
mod decimate;
mod diagram;
mod distribution;
mod frame;
mod heat;
mod lines;
mod merge;
mod scale;
mod svg;
mod timeline;
mod tone;

pub use bars::{Bars, Stand};
pub use decimate::{Decimated, decimate};
pub use diagram::{Block, Diagram, Look, Place, Ways};
pub use distribution::{Distribution, Form};
pub use heat::Heat;
pub use lines::{Lines, Panels};
pub use scale::{Axis, Spacing};
pub use timeline::{Kind, Lane, Timeline};
pub use tone::Tone;

use crate::limits::{CHART_WIDTH_PX_MAX, CHART_WIDTH_PX_MIN};
use crate::table::Table;
use svg::Svg;
pub(crate) use svg::legal;

/// The style of everything drawn: colours as CSS variables for light, dark and print.
pub const STYLE: &str = include_str!("chart.css");

/// Any chart.
#[derive(Clone, Debug, PartialEq)]
pub enum Chart {
    /// Waveforms and other curves.
    Lines(Lines),
    /// What happens when.
    Timeline(Timeline),
    /// How often values occur.
    Distribution(Distribution),
    /// Sizes side by side.
    Bars(Bars),
    /// What is connected with what.
    Diagram(Diagram),
    /// Many values in a grid.
    Heat(Heat),
}

impl From<Lines> for Chart {
    fn from(chart: Lines) -> Chart {
        Chart::Lines(chart)
    }
}

impl From<Timeline> for Chart {
    fn from(chart: Timeline) -> Chart {
        Chart::Timeline(chart)
    }
}

impl From<Distribution> for Chart {
    fn from(chart: Distribution) -> Chart {
        Chart::Distribution(chart)
    }
}

impl From<Bars> for Chart {
    fn from(chart: Bars) -> Chart {
        Chart::Bars(chart)
    }
}

impl From<Diagram> for Chart {
    fn from(chart: Diagram) -> Chart {
        Chart::Diagram(chart)
    }
}

impl From<Heat> for Chart {
    fn from(chart: Heat) -> Chart {
        Chart::Heat(chart)
    }
}

impl Chart {
    /// The title.
    pub fn title(&self) -> &str {
        match self {
            Chart::Lines(chart) => chart.title(),
            Chart::Timeline(chart) => chart.title(),
            Chart::Distribution(chart) => chart.title(),
            Chart::Bars(chart) => chart.title(),
            Chart::Diagram(chart) => chart.title(),
            Chart::Heat(chart) => chart.title(),
        }
    }

    /// What the chart shows, in a sentence or two, for who cannot see it.
    pub fn summary(&self) -> String {
        match self {
            Chart::Lines(chart) => chart.summary(),
            Chart::Timeline(chart) => chart.summary(),
            Chart::Distribution(chart) => chart.summary(),
            Chart::Bars(chart) => chart.summary(),
            Chart::Diagram(chart) => chart.summary(),
            Chart::Heat(chart) => chart.summary(),
        }
    }

    /// What the chart shows, as numbers.
    pub fn numbers(&self) -> Table {
        match self {
            Chart::Lines(chart) => chart.numbers(),
            Chart::Timeline(chart) => chart.numbers(),
            Chart::Distribution(chart) => chart.numbers(),
            Chart::Bars(chart) => chart.numbers(),
            Chart::Diagram(chart) => chart.numbers(),
            Chart::Heat(chart) => chart.numbers(),
        }
    }

    /// A document of its own: an SVG file that follows the reader's light or dark setting. A small margin is added
    /// around the width.
    ///
    /// # Panics
    /// If the width is outside [`CHART_WIDTH_PX_MIN`] to [`CHART_WIDTH_PX_MAX`].
    pub fn svg(&self, width_px: u32) -> String {
        self.drawn(width_px, "chart", STYLE)
    }

    /// An `svg` element for a page that has [`STYLE`]; its ids start with `prefix`.
    pub(crate) fn inline(&self, width_px: u32, prefix: &str) -> String {
        self.drawn(width_px, prefix, "")
    }

    fn drawn(&self, width_px: u32, prefix: &str, style: &str) -> String {
        let mut svg = begun(width_px, prefix);
        let height = self.draw(&mut svg);
        svg.finish(height, self.title(), &self.summary(), style)
    }

    /// Draws it from the top of the drawing on; returns the y below it.
    fn draw(&self, svg: &mut Svg) -> f64 {
        match self {
            Chart::Lines(chart) => chart.draw(svg),
            Chart::Timeline(chart) => chart.draw(svg),
            Chart::Distribution(chart) => chart.draw(svg),
            Chart::Bars(chart) => chart.draw(svg),
            Chart::Diagram(chart) => chart.draw(svg),
            Chart::Heat(chart) => chart.draw(svg),
        }
    }
}

/// Charts one below another as one SVG file, like [`Chart::svg`].
///
/// # Panics
/// If the width is outside [`CHART_WIDTH_PX_MIN`] to [`CHART_WIDTH_PX_MAX`].
pub fn sheet(title: &str, charts: &[Chart], width_px: u32) -> String {
    let mut svg = begun(width_px, "sheet");
    let height = charts.iter().fold(0.0, |y, chart| svg.below(y, |svg| chart.draw(svg)) + SHEET_GAP_PX);
    let summaries: Vec<String> = charts.iter().map(Chart::summary).collect();
    svg.finish((height - SHEET_GAP_PX).max(0.0), title, &summaries.join(" "), STYLE)
}

/// Between two charts of a sheet, in px.
const SHEET_GAP_PX: f64 = 28.0;

fn begun(width_px: u32, prefix: &str) -> Svg {
    assert!((CHART_WIDTH_PX_MIN..=CHART_WIDTH_PX_MAX).contains(&width_px), "a chart {width_px} px wide");
    Svg::new(f64::from(width_px), prefix)
}

#[cfg(test)]
mod tests {
    //! No text of a chart covers another or is cut off, by the widths that `svg::text_width` expects of a wide font.

    use super::svg::{SMALL_PX, TEXT_PX, TITLE_PX, text_width};
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug)]
    struct Placed {
        words: String,
        left: f64,
        right: f64,
        top: f64,
        foot: f64,
    }

    fn texts(document: &str) -> Vec<Placed> {
        let tree = roxmltree::Document::parse(document).expect("well-formed");
        let nodes =
            tree.descendants().filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", "text")));
        let place = |node: roxmltree::Node| {
            let number = |name| node.attribute(name).unwrap().parse::<f64>().unwrap();
            let class = node.attribute("class").unwrap_or("");
            let size = match class {
                _ if class.contains("title") => TITLE_PX,
                _ if class.contains("small") || class.contains("within") => SMALL_PX,
                _ => TEXT_PX,
            };
            let words = node.text().unwrap_or("").to_owned();
            let width = text_width(&words, size);
            let left = match node.attribute("text-anchor") {
                Some("middle") => number("x") - width / 2.0,
                Some("end") => number("x") - width,
                _ => number("x"),
            };
            let (top, foot) = (number("y") - 0.74 * size, number("y") + 0.2 * size);
            Placed { words, left, right: left + width, top, foot }
        };
        nodes.map(place).collect()
    }

    /// Panics if two texts overlap or one leaves the drawing by more than a px.
    fn check(chart: impl Into<Chart>, width: u32) {
        let chart = chart.into();
        let document = chart.svg(width);
        let height: f64 =
            document.split("height=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
        // The document has a margin on both sides, in which no text may stand.
        let height = height - 32.0;
        let placed = texts(&document);
        for (index, text) in placed.iter().enumerate() {
            let is_within = text.left >= -1.0 && text.right <= f64::from(width) + 1.0;
            assert!(
                is_within && text.top >= 0.0 && text.foot <= height,
                "{width} px: `{}` leaves the drawing: {text:?}",
                text.words
            );
            for other in &placed[..index] {
                let is_beside = text.left >= other.right - 1.0 || other.left >= text.right - 1.0;
                let is_below = text.top >= other.foot - 0.5 || other.top >= text.foot - 0.5;
                assert!(
                    is_beside || is_below,
                    "{width} px: `{}` covers `{}`: {text:?}, {other:?}",
                    text.words,
                    other.words
                );
            }
        }
    }

    const NAMES: [&str; 6] =
        ["node 1", "a name that is longer than most", "RC5", "AES-128-CCM, tables in flash", "x", "gateway"];

    proptest! {
        #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.div_ceil(2), failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_text_covers_another(
            values in proptest::collection::vec(0.001..1000.0_f64, 1..30),
            scale in prop_oneof![Just(1.0), Just(1e-4), Just(1e6), Just(-1.0)],
            series in 1..6_usize,
            marks in proptest::collection::vec(0.0..1000.0_f64, 0..4),
            width in prop_oneof![Just(280_u32), Just(350), Just(680), Just(1000)],
        ) {
            let values: Vec<f64> = values.into_iter().map(|value| value * scale).collect();
            let points: Vec<(f64, f64)> = values.iter().enumerate().map(|(x, &y)| (x as f64, y)).collect();
            for panels in [Panels::Together, Panels::Each, Panels::EachOwnScale] {
                let axis = Axis::linear("a level of something measured", "ADC code");
                let mut chart = Lines::new("A title of ordinary length", Axis::linear("time", "s"), axis, panels);
                for name in &NAMES[..series] {
                    chart = chart.noted_series(*name, "ATmega128, 8 MHz, +35 ppm", points.clone());
                }
                check(marks.iter().fold(chart, |chart, &at| chart.mark(at / 40.0, "a deadline")), width);
            }
            for form in [Form::Histogram, Form::Cumulative, Form::Tail] {
                for axis in [Axis::linear("latency", "ms"), Axis::log("latency, wall time", "ms")] {
                    let mut chart = Distribution::new("A title of ordinary length", axis, form);
                    for name in &NAMES[..series] {
                        chart = chart.series(*name, values.clone());
                    }
                    check(marks.iter().fold(chart, |chart, &at| chart.mark(at, "a deadline")), width);
                }
            }
        }

        #[test]
        fn no_text_of_a_diagram_covers_another(
            lines in proptest::collection::vec((0..6_usize, 0..6_usize, 0..8_usize), 1..12),
            columns in 1..4_usize,
            width in prop_oneof![Just(280_u32), Just(350), Just(680), Just(1000)],
        ) {
            let mut chart = Diagram::new("A title of ordinary length", columns);
            let looks = [Look::Plain, Look::Store, Look::Control, Look::Chosen, Look::Absent, Look::Words];
            looks.into_iter().zip(NAMES).for_each(|(look, name)| chart.legend(look, name));
            let mut above: Option<Place> = None;
            for (row, &(heading, left, count)) in lines.iter().enumerate() {
                let mut block = Block::new(looks[row % looks.len()], NAMES[heading]);
                for line in 0..count {
                    block = block.pair(if left == 0 { "" } else { NAMES[left] }, NAMES[(left + line) % NAMES.len()]);
                }
                let wide = 1 + (heading + row) % columns;
                let place = chart.put(0..wide, row..row + 1, block);
                if wide < columns {
                    let beside = chart.put(wide..columns, row..row + 1, Block::new(Look::Plain, NAMES[left]));
                    chart.arrow(place, beside, Ways::Both, "");
                }
                above.into_iter().for_each(|above| chart.arrow(above, place, Ways::There, NAMES[left]));
                above = Some(place);
            }
            check(chart, width);
        }

        #[test]
        fn no_text_of_bars_and_lanes_covers_another(
            values in proptest::collection::vec(-1000.0..1000.0_f64, 6..24),
            scale in prop_oneof![Just(1.0), Just(1e-4), Just(1e6)],
            lanes in 1..16_usize,
            width in prop_oneof![Just(280_u32), Just(350), Just(680), Just(1000)],
        ) {
            for stand in [Stand::Grouped, Stand::Stacked] {
                let series = [("printed", Tone::Neutral), ("ours", Tone::Accent), ("a third one", Tone::Second)];
                let mut chart = Bars::new("A title of ordinary length", Axis::linear("energy", "µJ"), stand, series);
                for (index, group) in values.chunks_exact(3).enumerate() {
                    let part = |value: f64| if stand == Stand::Stacked { value.abs() * scale } else { value * scale };
                    let parts = [Some(part(group[0])), None, Some(part(group[2]))];
                    chart = chart.group(NAMES[index % NAMES.len()], parts);
                }
                check(chart, width);
            }
            let mut timeline = Timeline::new("A title of ordinary length", Axis::linear("cell time", "ms"));
            let kinds = [timeline.kind("sealing", Tone::Accent), timeline.kind("asleep", Tone::Quiet)];
            for index in 0..lanes {
                let lane = timeline.lane(NAMES[index % NAMES.len()]);
                for (index, value) in values.iter().enumerate() {
                    let start = index as f64 * 1000.0 * scale;
                    timeline.interval(lane, kinds[index % 2], start, start + value.abs() * scale, "216 B");
                }
            }
            for slot in 0..5 {
                let start = f64::from(slot) * 1000.0 * scale;
                timeline.band(start, start + 1000.0 * scale, "node 1");
            }
            check(timeline.clone(), width);
            timeline.inset(100.0 * scale, 1100.0 * scale);
            check(timeline, width);
        }
    }
}
