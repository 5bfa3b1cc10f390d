//! [`Page`]: sections of figures, tables, charts, notes and code as one HTML file.
//!
//! The file asks the network for nothing and runs nothing: style and drawings are inside, values show as the
//! browser's own tooltips. Each chart is there at three widths, of which the style sheet shows the one that fits,
//! so that its text keeps its size on a phone and on paper.
//! Numbers are taken from tables and charts as they are: a page computes nothing.

use crate::chart::{Chart, STYLE};
use crate::limits::{CONTENTS_MAX, PAGE_WIDTHS_PX};
use crate::number::signed;
use crate::table::{Column, Entry, Table, shown};
use maud::{DOCTYPE, Markup, PreEscaped, html};

const PAGE_STYLE: &str = include_str!("page.css");

/// An entry of a table up to this long is never broken into lines.
const SHORT_CHARS: usize = 28;

/// Keeps a browser from fetching or running anything that is not in the file.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// One number that a reader should take away.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    label: String,
    value: Entry,
    unit: String,
    aside: String,
}

impl Figure {
    /// A figure: what it is, its value, its unit.
    pub fn new(label: impl Into<String>, value: impl Into<Entry>, unit: impl Into<String>) -> Figure {
        Figure { label: label.into(), value: value.into(), unit: unit.into(), aside: String::new() }
    }

    /// Adds a few words below, such as what it is compared with.
    pub fn aside(mut self, words: impl Into<String>) -> Figure {
        self.aside = words.into();
        self
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Block {
    Text(String),
    Figures(Vec<Figure>),
    Table(Table, String),
    Chart(Box<Chart>, String),
    Note(String),
    Code(String, String),
}

/// A section of a page: a heading and blocks, in the order they are added.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    title: String,
    blocks: Vec<Block>,
}

impl Section {
    /// An empty section.
    pub fn new(title: impl Into<String>) -> Section {
        Section { title: title.into(), blocks: Vec::new() }
    }

    /// A paragraph of plain text; an empty line starts another.
    pub fn text(self, text: impl Into<String>) -> Section {
        self.with(Block::Text(text.into()))
    }

    /// A strip of key figures.
    pub fn figures(self, figures: impl IntoIterator<Item = Figure>) -> Section {
        self.with(Block::Figures(figures.into_iter().collect()))
    }

    /// A table with a caption below; an empty caption is left out.
    pub fn table(self, table: Table, caption: impl Into<String>) -> Section {
        self.with(Block::Table(table, caption.into()))
    }

    /// A chart with a caption below; an empty caption is left out.
    pub fn chart(self, chart: impl Into<Chart>, caption: impl Into<String>) -> Section {
        self.with(Block::Chart(Box::new(chart.into()), caption.into()))
    }

    /// A remark that the reader must not miss.
    pub fn note(self, text: impl Into<String>) -> Section {
        self.with(Block::Note(text.into()))
    }

    /// Code or a command line as it is, with a caption below; an empty caption is left out.
    pub fn code(self, code: impl Into<String>, caption: impl Into<String>) -> Section {
        self.with(Block::Code(code.into(), caption.into()))
    }

    fn with(mut self, block: Block) -> Section {
        self.blocks.push(block);
        self
    }
}

/// A page under way.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    title: String,
    lead: String,
    sections: Vec<Section>,
    provenance: Vec<(String, String)>,
}

impl Page {
    /// An empty page; the lead is the sentence or two under its title.
    pub fn new(title: impl Into<String>, lead: impl Into<String>) -> Page {
        Page { title: title.into(), lead: lead.into(), sections: Vec::new(), provenance: Vec::new() }
    }

    /// Adds a section.
    pub fn section(mut self, section: Section) -> Page {
        self.sections.push(section);
        self
    }

    /// Adds a line on how the page came to be, such as the command, the seed or the machine.
    pub fn provenance(mut self, name: impl Into<String>, value: impl Into<String>) -> Page {
        self.provenance.push((name.into(), value.into()));
        self
    }

    /// The page as one HTML file.
    pub fn html(&self) -> String {
        let ids = section_ids(&self.sections);
        let mut chart_count = 0;
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta http-equiv="Content-Security-Policy" content=(POLICY);
                    title { (legal(&self.title)) }
                    style { (PreEscaped(STYLE)) (PreEscaped(PAGE_STYLE)) }
                }
                body {
                    main {
                        header {
                            h1 { (legal(&self.title)) }
                            @if !self.lead.is_empty() { p.lead { (legal(&self.lead)) } }
                            @if self.sections.len() > 2 { (contents(&self.sections, &ids)) }
                        }
                        @for (section, id) in self.sections.iter().zip(&ids) {
                            section aria-labelledby=(id) {
                                @if !section.title.is_empty() { h2 id=(id) { (legal(&section.title)) } }
                                @for block in &section.blocks { (block_html(block, &mut chart_count)) }
                            }
                        }
                    }
                    @if !self.provenance.is_empty() {
                        footer {
                            h2 { "How this page was made" }
                            dl {
                                @for (name, value) in &self.provenance {
                                    dt { (legal(name)) }
                                    dd { (legal(value)) }
                                }
                            }
                        }
                    }
                }
            }
        };
        page.into_string()
    }
}

fn contents(sections: &[Section], ids: &[String]) -> Markup {
    html! {
        nav aria-label="Contents" {
            ol {
                @for (section, id) in sections.iter().zip(ids).filter(|(s, _)| !s.title.is_empty()).take(CONTENTS_MAX) {
                    li { a href={ "#" (id) } { (legal(&section.title)) } }
                }
            }
        }
    }
}

/// One id a section, from its title where that gives one, so that links to it outlive other sections.
fn section_ids(sections: &[Section]) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for section in sections {
        let lower = section.title.to_lowercase();
        let words: Vec<&str> =
            lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let slug = if words.is_empty() { "section".to_owned() } else { words.join("-") };
        let mut id = slug.clone();
        let mut number = 2;
        while ids.contains(&id) {
            id = format!("{slug}-{number}");
            number += 1;
        }
        ids.push(id);
    }
    ids
}

fn block_html(block: &Block, chart_count: &mut usize) -> Markup {
    match block {
        Block::Text(text) => paragraphs(text),
        Block::Figures(figures) => figures_html(figures),
        Block::Table(table, caption) => html! {
            figure { (table_html(table, true)) (caption_html(caption)) }
        },
        Block::Chart(chart, caption) => {
            *chart_count += 1;
            chart_html(chart, caption, *chart_count)
        }
        Block::Note(text) => html! { aside.note { (paragraphs(text)) } },
        Block::Code(code, caption) => html! {
            figure { pre tabindex="0" { code { (legal_lines(code)) } } (caption_html(caption)) }
        },
    }
}

fn paragraphs(text: &str) -> Markup {
    let text = text.replace("\r\n", "\n");
    html! {
        @for paragraph in text.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()) {
            p { (legal(paragraph)) }
        }
    }
}

fn caption_html(caption: &str) -> Markup {
    html! { @if !caption.is_empty() { figcaption { (legal(caption)) } } }
}

fn figures_html(figures: &[Figure]) -> Markup {
    let column = Column::new("");
    html! {
        dl.figures {
            @for figure in figures {
                div {
                    dt { (legal(&figure.label)) }
                    dd.value {
                        (signed(&legal(&shown(&figure.value, &column))))
                        @if !figure.unit.is_empty() { " " span.unit { (legal(&figure.unit)) } }
                    }
                    @if !figure.aside.is_empty() { dd.aside { (legal(&figure.aside)) } }
                }
            }
        }
    }
}

fn chart_html(chart: &Chart, caption: &str, number: usize) -> Markup {
    html! {
        figure {
            div.drawing {
                @for width in PAGE_WIDTHS_PX { (PreEscaped(chart.inline(width, &format!("chart-{number}-{width}")))) }
            }
            (caption_html(caption))
            @let numbers = chart.numbers();
            @let other = if matches!(chart, Chart::Diagram(_)) { "In words" } else { "In numbers" };
            @if numbers.line_count() > 0 {
                details { summary { (other) } (table_html(&numbers, false)) }
            }
        }
    }
}

fn table_html(table: &Table, has_caption: bool) -> Markup {
    // Figure space and punctuation space are as wide as a digit and a point.
    let columns: Vec<Vec<String>> =
        (0..table.columns.len()).map(|index| table.aligned(index, '\u{2007}', '\u{2008}')).collect();
    let is_numeric: Vec<bool> = (0..table.columns.len()).map(|index| table.is_numeric(index)).collect();
    let class = |index: usize| is_numeric[index].then_some("number");
    html! {
        div.scroll role="region" aria-label=(legal(&table.title)) tabindex="0" {
            table {
                @if has_caption && !table.title.is_empty() { caption { (legal(&table.title)) } }
                thead {
                    tr {
                        @for (index, column) in table.columns.iter().enumerate() {
                            th scope="col" class=[class(index)] {
                                (legal(&column.name))
                                @if !column.unit.is_empty() { " " span.unit { (legal(&column.unit)) } }
                            }
                        }
                    }
                }
                tbody {
                    @for (line, entries) in table.lines.iter().enumerate() {
                        tr {
                            @for (index, entry) in entries.iter().enumerate() {
                                @let text = signed(&legal(&columns[index][line]));
                                @match (index, entry) {
                                    (0, _) => th scope="row" class=[class(0).or(short(&text))] { (text) },
                                    (_, Entry::Blank) => td class={ "blank" @if is_numeric[index] { " number" } } { (text) },
                                    (_, Entry::Verdict(verdict)) => td { span class={ "verdict " (verdict.word()) } { (text) } },
                                    _ => td class=[class(index).or(short(&text))] { (text) },
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The class of an entry that stays on one line: a table that is too wide scrolls instead.
fn short(text: &str) -> Option<&'static str> {
    (text.chars().count() <= SHORT_CHARS).then_some("short")
}

/// The text without characters that HTML forbids.
fn legal(text: &str) -> String {
    crate::chart::legal(text)
}

fn legal_lines(text: &str) -> String {
    text.lines().map(legal).collect::<Vec<String>>().join("\n")
}
