//! Charts: values in, SVG out. Each chart is drawn for a width, so that its text keeps its size.
//!
//! `lines` draws waveforms, `timeline` what happens when, `distribution` how often values occur, `bars` sizes side
//! by side. `frame` is what they share, `scale` places values, `tone` tells things apart, `svg` writes.
//!
//! Invariant: a chart draws, merges or counts every value it was given; what it does not draw it says.

mod bars;
mod decimate;
mod distribution;
mod frame;
mod lines;
mod merge;
mod scale;
mod svg;
mod timeline;
mod tone;

pub use bars::{Bars, Stand};
pub use decimate::{Decimated, decimate};
pub use distribution::{Distribution, Form};
pub use lines::{Lines, Panels};
pub use scale::{Axis, Spacing};
pub use timeline::{Kind, Lane, Timeline};
pub use tone::Tone;

use crate::limits::{CHART_WIDTH_PX_MAX, CHART_WIDTH_PX_MIN};
use crate::table::Table;
use svg::Svg;
pub(crate) use svg::legal;

/// The style of everything drawn: colours as CSS variables for light, dark and print.
pub(crate) const STYLE: &str = include_str!("chart.css");

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

impl Chart {
    /// The title.
    pub fn title(&self) -> &str {
        match self {
            Chart::Lines(chart) => chart.title(),
            Chart::Timeline(chart) => chart.title(),
            Chart::Distribution(chart) => chart.title(),
            Chart::Bars(chart) => chart.title(),
        }
    }

    /// What the chart shows, in a sentence or two, for who cannot see it.
    pub fn summary(&self) -> String {
        match self {
            Chart::Lines(chart) => chart.summary(),
            Chart::Timeline(chart) => chart.summary(),
            Chart::Distribution(chart) => chart.summary(),
            Chart::Bars(chart) => chart.summary(),
        }
    }

    /// What the chart shows, as numbers.
    pub fn numbers(&self) -> Table {
        match self {
            Chart::Lines(chart) => chart.numbers(),
            Chart::Timeline(chart) => chart.numbers(),
            Chart::Distribution(chart) => chart.numbers(),
            Chart::Bars(chart) => chart.numbers(),
        }
    }

    /// A document of its own: an SVG file that follows the reader's light or dark setting.
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
        assert!((CHART_WIDTH_PX_MIN..=CHART_WIDTH_PX_MAX).contains(&width_px), "a chart {width_px} px wide");
        let mut svg = Svg::new(f64::from(width_px), prefix);
        let height = match self {
            Chart::Lines(chart) => chart.draw(&mut svg),
            Chart::Timeline(chart) => chart.draw(&mut svg),
            Chart::Distribution(chart) => chart.draw(&mut svg),
            Chart::Bars(chart) => chart.draw(&mut svg),
        };
        svg.finish(height, &self.summary(), style)
    }
}
