//! [`Heat`]: many values in a grid, tinted by how far each is from a middle: cells of a sweep.
//!
//! Every cell carries its number, so that nothing is said by colour alone; one that is above the middle has a frame, too.

use super::frame::{counted, remarks, title};
use super::svg::{Anchor, SMALL_PX, Svg, TEXT_PX, text_width, wrap};
use super::tone::Tone;
use crate::number;
use crate::table::{Column, Entry, Table};

/// How high a line of cells is, in px.
const LINE_PX: f64 = 22.0;
/// How strong the tint of the farthest cell is: the number on it can still be read.
const OPACITY_MAX: f64 = 0.5;
/// Greater values are written by their significant digits.
const FIXED_MAX: f64 = 1e6;
/// What stands where there is no value.
const MISSING: &str = "–";

/// A grid of values.
#[derive(Clone, Debug, PartialEq)]
pub struct Heat {
    title: String,
    /// What the columns are, and the unit of all values.
    columns_are: String,
    unit: String,
    columns: Vec<String>,
    middle: f64,
    decimals: usize,
    rows: Vec<(String, Vec<Option<f64>>)>,
    undrawn_count: usize,
}

impl Heat {
    /// An empty grid: what its columns are and their names, and the middle, from which less has another tint than more.
    /// Values have a unit and so many digits behind the point.
    ///
    /// # Panics
    /// Without a column, or if the middle is not finite.
    pub fn new<'a>(
        title: impl Into<String>,
        columns_are: impl Into<String>,
        columns: impl IntoIterator<Item = &'a str>,
        (middle, unit, decimals): (f64, &str, usize),
    ) -> Heat {
        let columns: Vec<String> = columns.into_iter().map(str::to_owned).collect();
        assert!(!columns.is_empty() && middle.is_finite(), "a grid of columns around a middle");
        let (title, columns_are) = (title.into(), columns_are.into());
        Heat {
            title,
            columns_are,
            unit: unit.to_owned(),
            columns,
            middle,
            decimals,
            rows: Vec::new(),
            undrawn_count: 0,
        }
    }

    /// Adds a line with one value a column; none is a value that is not there.
    ///
    /// # Panics
    /// If there are not as many values as columns.
    pub fn row(mut self, name: impl Into<String>, values: impl IntoIterator<Item = Option<f64>>) -> Heat {
        let mut values: Vec<Option<f64>> = values.into_iter().collect();
        assert_eq!(values.len(), self.columns.len(), "values and columns of `{}`", self.title);
        for value in values.iter_mut().filter(|value| value.is_some_and(|value| !value.is_finite())) {
            *value = None;
            self.undrawn_count += 1;
        }
        self.rows.push((name.into(), values));
        self
    }

    pub(crate) fn title(&self) -> &str {
        &self.title
    }

    pub(crate) fn summary(&self) -> String {
        let rows: Vec<&str> = self.rows.iter().map(|(name, _)| name.as_str()).collect();
        format!(
            "{}. Grid of values around {} for {} over {}: {}.",
            self.title,
            self.shown(self.middle),
            rows.join(", "),
            self.columns_are,
            self.columns.join(", ")
        )
    }

    pub(crate) fn numbers(&self) -> Table {
        let columns = self
            .columns
            .iter()
            .map(|name| Column::new(name.as_str()).unit(self.unit.as_str()).decimals(self.decimals));
        let mut table = Table::new(self.title.clone(), std::iter::once(Column::new("")).chain(columns));
        for (name, values) in &self.rows {
            let entries = values.iter().map(|value| value.map_or(Entry::Blank, Entry::from));
            table.push(std::iter::once(name.as_str().into()).chain(entries).collect::<Vec<Entry>>());
        }
        table
    }

    fn shown(&self, value: f64) -> String {
        match value.abs() < FIXED_MAX {
            true => format!("{value:.*}", self.decimals),
            false => number::significant(value),
        }
    }

    fn values(&self) -> impl Iterator<Item = f64> + '_ {
        self.rows.iter().flat_map(|(_, values)| values.iter().flatten().copied())
    }

    pub(crate) fn draw(&self, svg: &mut Svg) -> f64 {
        let mut y = title(svg, &self.title) + 6.0;
        let names = self.rows.iter().map(|(name, _)| text_width(name, TEXT_PX)).fold(0.0, f64::max);
        let left = (names + 12.0).min(svg.width * 0.3);
        let cell_px = ((svg.width - left) / self.columns.len() as f64).min(96.0);
        let farthest = self.values().map(|value| (value - self.middle).abs()).fold(0.0, f64::max);
        y += 14.0;
        svg.cut_text("small", (0.0, y), Anchor::Start, &self.columns_are, left - 6.0, SMALL_PX);
        for (index, name) in self.columns.iter().enumerate() {
            let at = (left + (index as f64 + 0.5) * cell_px, y);
            svg.cut_text("small", at, Anchor::Middle, name, cell_px, SMALL_PX);
        }
        y += 6.0;
        for (name, values) in &self.rows {
            let text_y = y + LINE_PX / 2.0 + 4.0;
            svg.cut_text("", (left - 10.0, text_y), Anchor::End, name, left - 10.0, TEXT_PX);
            for (index, value) in values.iter().enumerate() {
                let area = (left + index as f64 * cell_px + 1.0, y + 1.0, cell_px - 2.0, LINE_PX - 2.0);
                let at = (area.0 + area.2 / 2.0, text_y);
                let Some(value) = *value else {
                    svg.text("small", at, Anchor::Middle, MISSING);
                    continue;
                };
                self.draw_cell(svg, value, farthest, area);
                svg.cut_text("", at, Anchor::Middle, &self.shown(value), cell_px, TEXT_PX);
            }
            y += LINE_PX;
        }
        y = self.draw_key(svg, y + 4.0);
        let undrawn = format!("{} not drawn: not finite.", counted(self.undrawn_count, "value"));
        remarks(svg, y, if self.undrawn_count > 0 { std::slice::from_ref(&undrawn) } else { &[] })
    }

    fn draw_cell(&self, svg: &mut Svg, value: f64, farthest: f64, area: (f64, f64, f64, f64)) {
        let is_above = value > self.middle;
        let tone = if is_above { Tone::Alert } else { Tone::Accent };
        let part = (value - self.middle).abs() / farthest;
        let part = if part.is_finite() { part } else { 0.0 };
        svg.areas(tone, 0.06 + part * (OPACITY_MAX - 0.06), &[area]);
        if is_above {
            let (x, y, width, height) = area;
            let corners = [(x, y), (x + width, y), (x + width, y + height), (x, y + height)];
            svg.polygon("series stroke-alert", &corners);
        }
    }

    /// What the tints mean.
    fn draw_key(&self, svg: &mut Svg, y: f64) -> f64 {
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        let words = format!(
            "The farther below {0}{unit}, the stronger the tint; above {0}{unit} it is another, in a frame.",
            self.shown(self.middle)
        );
        wrap(&words, svg.width, SMALL_PX).iter().fold(y, |y, line| {
            svg.text("small", (0.0, y + 13.0), Anchor::Start, line);
            y + 15.0
        })
    }
}
