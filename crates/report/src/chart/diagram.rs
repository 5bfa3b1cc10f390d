//! [`Diagram`]: what is connected with what: blocks in a grid, and straight arrows between those that face each other.
//!
//! Who makes one says in which columns and rows each block lies. Columns are equally wide at every width, rows as high
//! as what is in them; no word is cut, since a name that is too long goes on in the next line. A look is a border and a
//! shape, so that it is seen without colour.

use std::ops::Range;

use super::frame::{legend, title};
use super::svg::{Anchor, Area, BOLD, SMALL_PX, Svg, TEXT_PX, text_width};
use crate::table::{Column, Table};

/// How a block looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Look {
    /// A part like others.
    Plain,
    /// It holds things: round ends.
    Store,
    /// It decides what others do: a dark border.
    Control,
    /// What the reader should look at: a thick border in the accent's colour.
    Chosen,
    /// It could be there, and is not: a dashed border.
    Absent,
    /// Words alone.
    Words,
    /// Around others, which may lie within it. Its heading is not written.
    Group,
}

impl Look {
    /// Its class in the style sheet, and the radius of its corners, in px.
    fn style(self) -> Option<(&'static str, f64)> {
        match self {
            Look::Plain => Some(("block", 3.0)),
            Look::Store => Some(("block store", 12.0)),
            Look::Control => Some(("block control", 0.0)),
            Look::Chosen => Some(("block chosen", 3.0)),
            Look::Absent => Some(("block absent", 3.0)),
            Look::Group => Some(("block group", 6.0)),
            Look::Words => None,
        }
    }
}

/// A heading with lines below it, each of one text or of two side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    look: Look,
    heading: String,
    lines: Vec<(String, String)>,
}

impl Block {
    /// A block without lines.
    pub fn new(look: Look, heading: impl Into<String>) -> Block {
        Block { look, heading: heading.into(), lines: Vec::new() }
    }

    /// Adds a line.
    pub fn line(self, words: impl Into<String>) -> Block {
        self.pair("", words)
    }

    /// Adds a line of two texts. The left ones of a block are as wide as the widest of them.
    pub fn pair(mut self, left: impl Into<String>, right: impl Into<String>) -> Block {
        self.lines.push((left.into(), right.into()));
        self
    }

    /// Its texts in a block `width` px wide, and how high that is.
    fn set(&self, width: f64) -> (Vec<Text>, f64) {
        if self.look == Look::Group {
            return (Vec::new(), 0.0);
        }
        let inner = width - 2.0 * PAD_PX;
        let mut texts = Vec::new();
        let mut y = PAD_PX;
        for words in broken(&self.heading, inner, TEXT_PX * BOLD) {
            y += 16.0;
            texts.push(Text { class: "strong", x: PAD_PX, y: y - 4.0, words });
        }
        let widest = self.lines.iter().map(|(left, _)| text_width(left, SMALL_PX)).fold(0.0, f64::max);
        let left_width = widest.min(inner * LEFT_SHARE_MAX);
        for (left, right) in &self.lines {
            let indent = if left.is_empty() { 0.0 } else { left_width + 8.0 };
            let sides = [(0.0, left, left_width), (indent, right, inner - indent)];
            let sides = sides.map(|(x, words, width)| (x, broken(words, width, SMALL_PX)));
            let height = sides.iter().map(|(_, lines)| lines.len()).max().unwrap_or(0);
            for (x, lines) in sides {
                for (index, words) in lines.into_iter().enumerate() {
                    let y = y + 14.0 * (index + 1) as f64 - 3.0;
                    texts.push(Text { class: "small", x: PAD_PX + x, y, words });
                }
            }
            y += 14.0 * height as f64 + 2.0;
        }
        (texts, y + PAD_PX)
    }

    /// Heading and lines as one text.
    fn words(&self) -> String {
        let lines = self.lines.iter().map(|(left, right)| format!("{left} {right}").trim().to_owned());
        let lines: Vec<String> = lines.collect();
        if lines.is_empty() {
            self.heading.clone()
        } else {
            format!("{} ({})", self.heading, lines.join("; "))
        }
    }
}

/// A text in a block, from its top left.
struct Text {
    class: &'static str,
    x: f64,
    y: f64,
    words: String,
}

/// Between a block's border and its words, in px.
const PAD_PX: f64 = 7.0;
/// What the left texts of a block take of it at most.
const LEFT_SHARE_MAX: f64 = 0.4;
/// Between two columns, and between two rows, in px.
const GAP_PX: (f64, f64) = (20.0, 30.0);
/// Between the drawing's edges and the outer blocks, in px.
const EDGE_PX: f64 = 2.0;
/// How much further than those within it a group goes, in px.
const AROUND_PX: f64 = 7.0;
/// The length of an arrow's tip, and half its width, in px.
const TIP_PX: (f64, f64) = (7.0, 3.5);

/// Which ends of an arrow have tips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ways {
    /// The second block's.
    There,
    /// Both.
    Both,
}

/// A block of the diagram that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(usize);

#[derive(Clone, Debug, PartialEq)]
struct Placed {
    columns: Range<usize>,
    rows: Range<usize>,
    block: Block,
}

#[derive(Clone, Debug, PartialEq)]
struct Arrow {
    from: usize,
    to: usize,
    ways: Ways,
    label: String,
}

/// Blocks in a grid, with arrows.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagram {
    title: String,
    columns: usize,
    legend: Vec<(Look, String)>,
    blocks: Vec<Placed>,
    arrows: Vec<Arrow>,
}

/// The numbers that two ranges share.
fn shared(one: &Range<usize>, other: &Range<usize>) -> Range<usize> {
    one.start.max(other.start)..one.end.min(other.end)
}

impl Diagram {
    /// An empty diagram.
    ///
    /// # Panics
    /// Without columns.
    pub fn new(title: impl Into<String>, columns: usize) -> Diagram {
        assert!(columns > 0, "a diagram has columns");
        Diagram { title: title.into(), columns, legend: vec![], blocks: vec![], arrows: vec![] }
    }

    /// Says what a look means.
    pub fn legend(&mut self, look: Look, words: impl Into<String>) {
        self.legend.push((look, words.into()));
    }

    /// Puts a block into these columns and rows, from 0.
    ///
    /// # Panics
    /// If there are no such columns, or another block lies there.
    pub fn put(&mut self, columns: Range<usize>, rows: Range<usize>, block: Block) -> Place {
        assert!(columns.start < columns.end && columns.end <= self.columns, "a block in columns {columns:?}");
        assert!(rows.start < rows.end, "a block in rows {rows:?}");
        let is_apart = |other: &Placed| {
            other.block.look == Look::Group
                || block.look == Look::Group
                || shared(&other.columns, &columns).is_empty()
                || shared(&other.rows, &rows).is_empty()
        };
        assert!(self.blocks.iter().all(is_apart), "two blocks in columns {columns:?}, rows {rows:?}");
        self.blocks.push(Placed { columns, rows, block });
        Place(self.blocks.len() - 1)
    }

    /// Adds an arrow from a block to one in a row or column next to it. Only one to another row has room for a label.
    ///
    /// # Panics
    /// If the two do not face each other.
    pub fn arrow(&mut self, from: Place, to: Place, ways: Ways, label: impl Into<String>) {
        let [one, other] = [from, to].map(|place| &self.blocks[place.0]);
        let touch =
            |one: &Range<usize>, other: &Range<usize>| one.end == other.start || other.end == one.start;
        let is_down = !shared(&one.columns, &other.columns).is_empty() && touch(&one.rows, &other.rows);
        let is_across = !shared(&one.rows, &other.rows).is_empty() && touch(&one.columns, &other.columns);
        let label = label.into();
        assert!(
            is_down || is_across && label.is_empty(),
            "an arrow between blocks that do not face each other"
        );
        self.arrows.push(Arrow { from: from.0, to: to.0, ways, label });
    }

    pub(crate) fn title(&self) -> &str {
        &self.title
    }

    pub(crate) fn summary(&self) -> String {
        let blocks: Vec<String> = self.blocks.iter().map(|placed| placed.block.words()).collect();
        let arrows: Vec<String> = self.arrows.iter().map(|arrow| self.arrow_words(arrow)).collect();
        let arrows =
            if arrows.is_empty() { String::new() } else { format!(" Arrows: {}.", arrows.join(", ")) };
        format!("{}. Diagram of: {}.{arrows}", self.title, blocks.join(", "))
    }

    fn arrow_words(&self, arrow: &Arrow) -> String {
        let [from, to] = [arrow.from, arrow.to].map(|index| &self.blocks[index].block.heading);
        let label = if arrow.label.is_empty() { String::new() } else { format!(" ({})", arrow.label) };
        match arrow.ways {
            Ways::There => format!("{from} to {to}{label}"),
            Ways::Both => format!("{from} to {to} and back{label}"),
        }
    }

    pub(crate) fn numbers(&self) -> Table {
        let mut table = Table::new(self.title.clone(), ["part", "says", "leads to"].map(Column::new));
        for (index, Placed { block, .. }) in self.blocks.iter().enumerate() {
            let lines: Vec<String> =
                block.lines.iter().map(|(left, right)| format!("{left} {right}").trim().to_owned()).collect();
            let leads = self.arrows.iter().filter_map(|arrow| match arrow.ways {
                _ if arrow.from == index => Some(arrow.to),
                Ways::Both if arrow.to == index => Some(arrow.from),
                _ => None,
            });
            let leads: Vec<&str> = leads.map(|to| self.blocks[to].block.heading.as_str()).collect();
            table.push([block.heading.as_str().into(), lines.join("; ").into(), leads.join(", ").into()]);
        }
        table
    }

    pub(crate) fn draw(&self, svg: &mut Svg) -> f64 {
        let mut top = title(svg, &self.title);
        if !self.legend.is_empty() {
            let names: Vec<(Look, &str)> =
                self.legend.iter().map(|(look, name)| (*look, name.as_str())).collect();
            top = legend(svg, top, &names, |svg, look, (x, y)| {
                if let Some((class, radius)) = look.style() {
                    svg.round_rect(class, (x + 1.0, y - 11.0, 16.0, 12.0), radius / 2.0);
                }
            });
        }
        let areas = self.areas(svg.width, top + 6.0);
        for (Placed { block, .. }, &(x, y, width, height)) in self.blocks.iter().zip(&areas) {
            if let Some((class, radius)) = block.look.style() {
                svg.round_rect(class, (x, y, width, height), radius);
            }
            for text in block.set(width).0 {
                svg.text(text.class, (x + text.x, y + text.y), Anchor::Start, &text.words);
            }
        }
        for arrow in &self.arrows {
            draw_arrow(svg, arrow, areas[arrow.from], areas[arrow.to]);
        }
        areas.iter().map(|area| area.1 + area.3).fold(top, f64::max) + 6.0
    }

    /// Where each block lies in a drawing of that width, below `top`.
    fn areas(&self, width: f64, top: f64) -> Vec<Area> {
        let (across, down) = GAP_PX;
        // A border is drawn half outside.
        let (left, right) = (EDGE_PX, width - EDGE_PX);
        let column = (right - left - across * (self.columns - 1) as f64) / self.columns as f64;
        let row_count = self.blocks.iter().map(|placed| placed.rows.end).max().unwrap_or(0);
        let wide = |columns: &Range<usize>| columns.len() as f64 * (column + across) - across;
        let mut heights = vec![0.0_f64; row_count];
        // Those in one row first: what a higher one lacks is shared by its rows.
        let mut blocks: Vec<&Placed> = self.blocks.iter().collect();
        blocks.sort_by_key(|placed| placed.rows.len());
        for Placed { columns, rows, block } in blocks {
            let there = heights[rows.clone()].iter().sum::<f64>() + down * (rows.len() - 1) as f64;
            let lacks = (block.set(wide(columns)).1 - there).max(0.0);
            heights[rows.clone()].iter_mut().for_each(|height| *height += lacks / rows.len() as f64);
        }
        let y = |row: usize| top + heights[..row].iter().map(|height| height + down).sum::<f64>();
        let area = |Placed { columns, rows, .. }: &Placed| {
            let x = left + columns.start as f64 * (column + across);
            (x, y(rows.start), wide(columns), y(rows.end) - down - y(rows.start))
        };
        let around = |placed: &Placed| match (area(placed), placed.block.look) {
            ((x, y, width, height), Look::Group) => {
                let (from, to) = ((x - AROUND_PX).max(left), (x + width + AROUND_PX).min(right));
                (from, y - AROUND_PX, to - from, height + 2.0 * AROUND_PX)
            }
            (area, _) => area,
        };
        self.blocks.iter().map(around).collect()
    }
}

/// The middle of what two stretches share, and its end.
fn facing(one: (f64, f64), other: (f64, f64)) -> Option<(f64, f64)> {
    let (start, end) = (one.0.max(other.0), (one.0 + one.1).min(other.0 + other.1));
    (start < end).then_some(((start + end) / 2.0, end))
}

fn draw_arrow(svg: &mut Svg, arrow: &Arrow, from: Area, to: Area) {
    let (ends, label_at) = match facing((from.0, from.2), (to.0, to.2)) {
        Some((x, end)) => {
            let is_down = from.1 < to.1;
            let ends =
                if is_down { [(x, from.1 + from.3), (x, to.1)] } else { [(x, from.1), (x, to.1 + to.3)] };
            (ends, Some((x + 8.0, (ends[0].1 + ends[1].1) / 2.0 + 4.0, end - x - 8.0)))
        }
        None => {
            let (y, _) = facing((from.1, from.3), (to.1, to.3))
                .expect("arrows are between blocks that face each other");
            let is_right = from.0 < to.0;
            let ends =
                if is_right { [(from.0 + from.2, y), (to.0, y)] } else { [(from.0, y), (to.0 + to.2, y)] };
            (ends, None)
        }
    };
    svg.line("arrow", ends[0], ends[1]);
    tip(svg, ends[0], ends[1]);
    if arrow.ways == Ways::Both {
        tip(svg, ends[1], ends[0]);
    }
    if let (false, Some((x, y, width))) = (arrow.label.is_empty(), label_at) {
        svg.cut_text("small", (x, y), Anchor::Start, &arrow.label, width, SMALL_PX);
    }
}

/// The tip of an arrow at `to`.
fn tip(svg: &mut Svg, from: (f64, f64), to: (f64, f64)) {
    let (length, half) = TIP_PX;
    let (along_x, along_y) = ((to.0 - from.0).signum() * length, (to.1 - from.1).signum() * length);
    let corners = if from.0 == to.0 {
        [(to.0 - half, to.1 - along_y), to, (to.0 + half, to.1 - along_y)]
    } else {
        [(to.0 - along_x, to.1 - half), to, (to.0 - along_x, to.1 + half)]
    };
    svg.polygon("tip", &corners);
}

/// The text in lines of at most `width` px, broken between words, behind a `_` or `.`, and in the middle of what is
/// still too long.
fn broken(text: &str, width: f64, size_px: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let fits = |text: &str| text_width(text, size_px) <= width;
    for word in text.split_whitespace() {
        for (index, piece) in word.split_inclusive(['_', '.']).enumerate() {
            let joined =
                lines.last().map(|line| format!("{line}{}{piece}", if index == 0 { " " } else { "" }));
            match (joined, lines.last_mut()) {
                (Some(joined), Some(line)) if fits(&joined) => *line = joined,
                _ => {
                    lines.push(String::new());
                    for c in piece.chars() {
                        let line = lines.last_mut().expect("there is one");
                        if !line.is_empty() && !fits(&format!("{line}{c}")) {
                            lines.push(c.into());
                        } else {
                            line.push(c);
                        }
                    }
                }
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_too_long_goes_on_in_the_next_line() {
        let broken = |text: &str, chars: f64| broken(text, chars * 0.62 * 10.0 + 0.01, 10.0);
        assert_eq!(broken("ab cd ef", 5.0), ["ab cd", "ef"]);
        assert_eq!(broken("aa_bb_cc dd", 6.0), ["aa_bb_", "cc dd"]);
        assert_eq!(broken("a bcdefgh", 3.0), ["a", "bcd", "efg", "h"]);
        assert_eq!(broken("", 3.0), [""; 0]);
        assert_eq!(broken("abc", 0.0), ["a", "b", "c"], "at least one character a line");
    }

    #[test]
    fn a_block_over_several_rows_is_as_high_as_they_are_and_what_it_says() {
        let mut diagram = Diagram::new("rows", 2);
        let mut tall = Block::new(Look::Control, "tall");
        for _ in 0..10 {
            tall = tall.line("line");
        }
        diagram.put(0..1, 0..2, tall.clone());
        diagram.put(1..2, 0..1, Block::new(Look::Plain, "one"));
        diagram.put(1..2, 1..2, Block::new(Look::Plain, "other"));
        let areas = diagram.areas(300.0, 0.0);
        assert_eq!(areas[0].3, tall.set(140.0).1);
        assert_eq!(areas[0].3, areas[1].3 + areas[2].3 + GAP_PX.1);
        assert_eq!(areas[1].3, areas[2].3, "both rows share it");
    }

    #[test]
    #[should_panic(expected = "two blocks")]
    fn no_block_lies_on_another() {
        let mut diagram = Diagram::new("two", 1);
        diagram.put(0..1, 0..2, Block::new(Look::Plain, "one"));
        diagram.put(0..1, 1..2, Block::new(Look::Plain, "other"));
    }

    #[test]
    #[should_panic(expected = "do not face")]
    fn no_arrow_passes_a_block() {
        let mut diagram = Diagram::new("three", 1);
        let places = [0, 1, 2].map(|row| diagram.put(0..1, row..row + 1, Block::new(Look::Plain, "one")));
        diagram.arrow(places[0], places[2], Ways::There, "");
    }
}
