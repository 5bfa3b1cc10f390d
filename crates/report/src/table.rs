//! [`Table`]: columns and entries, printed as text, Markdown, CSV or JSON; HTML is [`crate::page`]'s.
//!
//! Made from rows ([`Table::of_rows`], [`Table::pivot`], [`Table::of_paper`]) or column by column. Text and
//! Markdown are for reading: thousands are grouped, numbers align on their decimal point. CSV and JSON are for
//! programs: values as they are, nothing rounded. Column widths and wrapping are comfy-table's.

use crate::number;
use crate::paper::{PaperRow, Verdict};
use crate::row::{Clock, Row, Value};
use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, TableStyle};
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};

/// What an empty entry shows where a person reads.
pub(crate) const BLANK: &str = "–";

/// One column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub(crate) name: String,
    pub(crate) unit: String,
    decimals: Option<usize>,
}

impl Column {
    /// A column headed `name`; its numbers show four significant digits.
    pub fn new(name: impl Into<String>) -> Column {
        Column { name: name.into(), unit: String::new(), decimals: None }
    }

    /// Heads the column with a unit too.
    pub fn unit(mut self, unit: impl Into<String>) -> Column {
        self.unit = unit.into();
        self
    }

    /// Shows every number of the column with exactly `decimals` digits after the point.
    pub fn decimals(mut self, decimals: usize) -> Column {
        self.decimals = Some(decimals);
        self
    }

    fn heading(&self) -> String {
        match self.unit.is_empty() {
            true => self.name.clone(),
            false => format!("{} [{}]", self.name, self.unit),
        }
    }
}

/// What stands in one place of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// Nothing: not measured, or not applicable.
    Blank,
    /// A value, shown by the rule of its column.
    Value(Value),
    /// A number with its digits as they were printed, or rounded on purpose; or a printed word.
    Literal(String),
    /// A verdict on a paper's cell.
    Verdict(Verdict),
}

impl<T: Into<Value>> From<T> for Entry {
    fn from(value: T) -> Entry {
        Entry::Value(value.into())
    }
}

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Entry::Blank => serializer.serialize_none(),
            Entry::Value(value) => value.serialize(serializer),
            Entry::Literal(literal) => crate::printed::Printed::new(literal.as_str()).serialize(serializer),
            Entry::Verdict(verdict) => verdict.serialize(serializer),
        }
    }
}

/// A table. Invariant: every line has as many entries as there are columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    pub(crate) title: String,
    pub(crate) columns: Vec<Column>,
    pub(crate) lines: Vec<Vec<Entry>>,
}

impl Table {
    /// An empty table with these columns.
    pub fn new(title: impl Into<String>, columns: impl IntoIterator<Item = Column>) -> Table {
        Table { title: title.into(), columns: columns.into_iter().collect(), lines: Vec::new() }
    }

    /// Adds a line.
    ///
    /// # Panics
    /// If it has not as many entries as there are columns.
    pub fn push(&mut self, line: impl IntoIterator<Item = Entry>) {
        let line: Vec<Entry> = line.into_iter().collect();
        assert_eq!(line.len(), self.columns.len(), "entries and columns of `{}`", self.title);
        self.lines.push(line);
    }

    /// The title.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Lines without the heading.
    pub fn line_count(&self) -> usize {
        self.lines.len()
    }

    /// One line a row, with every key of it.
    pub fn of_rows(title: impl Into<String>, rows: &[Row]) -> Table {
        let names = ["experiment", "case", "metric", "value", "unit", "clock", "source"];
        let mut table = Table::new(title, names.map(Column::new));
        for row in rows {
            let clock = match row.clock() {
                Clock::None => Entry::Blank,
                clock => clock.words().into(),
            };
            table.push([
                row.experiment().into(),
                row.case().into(),
                row.metric().into(),
                Entry::Value(row.value().clone()),
                row.unit().into(),
                clock,
                row.source().into(),
            ]);
        }
        table
    }

    /// One line a case, one column a metric, both in order of appearance.
    ///
    /// A metric in two units or two clocks gets two columns, so that no column mixes cell and wall time. Of rows
    /// that agree in case, metric, unit and clock the last one stands.
    pub fn pivot(title: impl Into<String>, rows: &[Row]) -> Table {
        let mut cases: Vec<&str> = Vec::new();
        let mut metrics: Vec<(&str, &str, Clock)> = Vec::new();
        for row in rows {
            let metric = (row.metric(), row.unit(), row.clock());
            if !cases.contains(&row.case()) {
                cases.push(row.case());
            }
            if !metrics.contains(&metric) {
                metrics.push(metric);
            }
        }
        let columns = metrics.iter().map(|(metric, unit, clock)| {
            let separator = if unit.is_empty() || *clock == Clock::None { "" } else { ", " };
            Column::new(*metric).unit(format!("{unit}{separator}{}", clock.words()))
        });
        let mut table = Table::new(title, std::iter::once(Column::new("case")).chain(columns));
        for case in cases {
            let entries = metrics.iter().map(|metric| {
                let matching =
                    |row: &&Row| row.case() == case && (row.metric(), row.unit(), row.clock()) == *metric;
                let row = rows.iter().rev().find(matching);
                row.map_or(Entry::Blank, |row| Entry::Value(row.value().clone()))
            });
            let line: Vec<Entry> = std::iter::once(case.into()).chain(entries).collect();
            table.push(line);
        }
        table
    }

    /// One line a printed cell: printed, ours, verdict. Ours shows as many decimals as the paper prints.
    pub fn of_paper(title: impl Into<String>, rows: &[PaperRow]) -> Table {
        let names = ["case", "metric", "unit", "printed", "ours", "verdict", "witnesses"];
        let mut table = Table::new(title, names.map(Column::new));
        for row in rows {
            let printed =
                row.printed().map_or(Entry::Blank, |printed| Entry::Literal(printed.literal().to_owned()));
            let decimals = row.printed().and_then(|printed| printed.decimals());
            let ours = match (row.ours(), decimals) {
                (None, _) => Entry::Blank,
                (Some(Value::Float(ours)), Some(decimals)) => Entry::Literal(format!("{ours:.decimals$}")),
                (Some(ours), _) => Entry::Value(ours.clone()),
            };
            table.push([
                row.case().into(),
                row.metric().into(),
                row.unit().into(),
                printed,
                ours,
                Entry::Verdict(row.verdict()),
                row.witnesses().join(", ").into(),
            ]);
        }
        table
    }

    /// Aligned text for a terminal or a log, `width_columns` wide at most (longer texts wrap), or as wide as it
    /// needs. No colour, no control characters: a name from outside cannot move the cursor.
    pub fn text(&self, width_columns: Option<u16>) -> String {
        let mut text = comfy_table::Table::new();
        text.load_style(
            TableStyle::new()
                .header_separator(LineStyle::none().fill('─').junction('─'))
                .bottom_border(LineStyle::none().fill('─').junction('─')),
        );
        if let Some(width) = width_columns {
            text.set_content_arrangement(ContentArrangement::Dynamic);
            text.set_width(width);
        }
        let aligned: Vec<Vec<String>> =
            (0..self.columns.len()).map(|column| self.aligned(column, ' ', ' ')).collect();
        text.set_header(self.columns.iter().enumerate().map(|(index, column)| {
            Cell::new(printable(&column.heading())).set_alignment(self.alignment(index))
        }));
        for line in 0..self.lines.len() {
            text.add_row(aligned.iter().enumerate().map(|(index, column)| {
                Cell::new(printable(&column[line])).set_alignment(self.alignment(index))
            }));
        }
        let body: String = text.lines().map(|line| format!("{}\n", line.trim_end())).collect();
        if self.title.is_empty() { body } else { format!("{}\n{body}", printable(&self.title)) }
    }

    /// A Markdown table (GitHub's form), with the title as a line in bold.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        if !self.title.is_empty() {
            text += &format!("**{}**\n\n", markdown_text(&self.title));
        }
        let line_of = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        text += &line_of(self.columns.iter().map(|column| markdown_text(&column.heading())).collect());
        let rule = |index| if self.is_numeric(index) { "---:" } else { "---" };
        text += &line_of((0..self.columns.len()).map(|index| rule(index).to_owned()).collect());
        for line in &self.lines {
            let shown =
                line.iter().zip(&self.columns).map(|(entry, column)| markdown_text(&shown(entry, column)));
            text += &line_of(shown.collect());
        }
        text
    }

    /// CSV (RFC 4180, line feeds), headed by column names with their units; blank entries are empty.
    pub fn csv(&self) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let mut write = |fields: Vec<String>| writer.write_record(fields).expect("memory takes every record");
        write(self.columns.iter().map(Column::heading).collect());
        for line in &self.lines {
            write(line.iter().map(exact).collect());
        }
        let bytes = writer.into_inner().expect("memory takes every record");
        String::from_utf8(bytes).expect("texts are UTF-8")
    }

    /// One JSON value: `{"title", "columns": [{"name", "unit"}], "lines": [[…]]}`; blank entries are null.
    pub fn json(&self) -> String {
        serde_json::to_string(self).expect("a table holds only texts and finite numbers")
    }

    /// True if the column holds numbers and nothing else but blanks, and so aligns on the right.
    pub(crate) fn is_numeric(&self, index: usize) -> bool {
        let entries = || self.lines.iter().map(|line| &line[index]);
        let is_number = |entry: &Entry| match entry {
            Entry::Blank => true,
            Entry::Value(value) => value.number().is_some(),
            Entry::Literal(literal) => crate::printed::Printed::new(literal.as_str()).number().is_some(),
            Entry::Verdict(_) => false,
        };
        entries().all(is_number) && entries().any(|entry| *entry != Entry::Blank)
    }

    /// The column's entries as shown; numbers padded on the right by `digit` and `point` so that, aligned on the
    /// right, their decimal points stand in line.
    pub(crate) fn aligned(&self, index: usize, digit: char, point: char) -> Vec<String> {
        let column = &self.columns[index];
        let mut texts: Vec<String> = self.lines.iter().map(|line| shown(&line[index], column)).collect();
        if !self.is_numeric(index) {
            return texts;
        }
        let after_point = |text: &str| text.find('.').map_or(0, |at| text.len() - at);
        let longest = texts.iter().map(|text| after_point(text)).max().unwrap_or(0);
        for text in texts.iter_mut().filter(|text| *text != BLANK) {
            let mut missing = longest - after_point(text);
            if missing == longest && missing > 0 {
                text.push(point);
                missing -= 1;
            }
            text.extend(std::iter::repeat_n(digit, missing));
        }
        texts
    }

    fn alignment(&self, index: usize) -> CellAlignment {
        if self.is_numeric(index) { CellAlignment::Right } else { CellAlignment::Left }
    }
}

impl Serialize for Table {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Heading<'a> {
            name: &'a str,
            unit: &'a str,
        }
        #[derive(Serialize)]
        struct Whole<'a> {
            title: &'a str,
            columns: Headings<'a>,
            lines: &'a [Vec<Entry>],
        }
        struct Headings<'a>(&'a [Column]);
        impl Serialize for Headings<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut list = serializer.serialize_seq(Some(self.0.len()))?;
                for Column { name, unit, .. } in self.0 {
                    list.serialize_element(&Heading { name, unit })?;
                }
                list.end()
            }
        }
        Whole { title: &self.title, columns: Headings(&self.columns), lines: &self.lines }
            .serialize(serializer)
    }
}

/// The entry as a person reads it.
pub(crate) fn shown(entry: &Entry, column: &Column) -> String {
    match entry {
        Entry::Blank => BLANK.to_owned(),
        Entry::Value(Value::Integer(value)) => match column.decimals {
            Some(decimals) if decimals > 0 => number::decimal(*value as f64, decimals),
            _ => number::integer(*value),
        },
        Entry::Value(Value::Float(value)) => match column.decimals {
            Some(decimals) => number::decimal(*value, decimals),
            None => number::significant(*value),
        },
        Entry::Value(Value::Text(text)) => text.clone(),
        Entry::Literal(literal) => number::grouped(literal),
        Entry::Verdict(verdict) => verdict.word().to_owned(),
    }
}

/// The entry as a program reads it.
fn exact(entry: &Entry) -> String {
    match entry {
        Entry::Blank => String::new(),
        Entry::Value(Value::Integer(value)) => value.to_string(),
        // JSON's form: the shortest digits that read back as the same number, with a power where those are many.
        Entry::Value(value @ Value::Float(_)) => {
            serde_json::to_string(value).expect("a measured value is finite")
        }
        Entry::Value(Value::Text(text)) => text.clone(),
        Entry::Literal(literal) => literal.clone(),
        Entry::Verdict(verdict) => verdict.word().to_owned(),
    }
}

/// Control characters as U+FFFD, so that a terminal shows them instead of obeying them.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// Text that Markdown shows as it is, in one table cell.
fn markdown_text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in printable(text).chars() {
        match c {
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '&' => escaped += "&amp;",
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '~' => escaped.extend(['\\', c]),
            _ => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::printed::{Direction, PrintedCell};
    use crate::row::Experiment;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    fn check(found: String, expected: Expect) {
        expected.assert_eq(&found);
    }

    fn sample() -> Table {
        let mut table = Table::new(
            "Sealing a frame",
            [
                Column::new("suite"),
                Column::new("cycles"),
                Column::new("energy").unit("µJ"),
                Column::new("share").unit("%").decimals(1),
            ],
        );
        table.push(["ascon-aead128".into(), 123_456_u32.into(), 12.3456.into(), 3.0.into()]);
        table.push(["a|b <i>*x*".into(), 99_u32.into(), 0.00123.into(), Entry::Blank]);
        table.push(["rc4-mac".into(), Entry::Blank, 1200_u32.into(), 100.0.into()]);
        table
    }

    #[test]
    fn text_aligns_numbers_on_their_point() {
        check(
            sample().text(None),
            expect![[r#"
            Sealing a frame
             suite            cycles   energy [µJ]   share [%]
            ───────────────────────────────────────────────────
             ascon-aead128   123,456      12.35            3.0
             a|b <i>*x*           99       0.00123           –
             rc4-mac               –   1,200             100.0
            ───────────────────────────────────────────────────
        "#]],
        );
    }

    #[test]
    fn text_wraps_within_the_width_it_is_given() {
        let text = sample().text(Some(44));
        assert!(text.lines().all(|line| line.chars().count() <= 44), "{text}");
        assert!(text.contains("123,456"), "{text}");
    }

    #[test]
    fn markdown_escapes_what_it_would_obey() {
        check(
            sample().markdown(),
            expect![[r#"
            **Sealing a frame**

            | suite | cycles | energy \[µJ\] | share \[%\] |
            | --- | ---: | ---: | ---: |
            | ascon-aead128 | 123,456 | 12.35 | 3.0 |
            | a\|b &lt;i&gt;\*x\* | 99 | 0.00123 | – |
            | rc4-mac | – | 1,200 | 100.0 |
        "#]],
        );
    }

    #[test]
    fn csv_and_json_round_nothing() {
        check(
            sample().csv(),
            expect![[r#"
                suite,cycles,energy [µJ],share [%]
                ascon-aead128,123456,12.3456,3.0
                a|b <i>*x*,99,0.00123,
                rc4-mac,,1200,100.0
            "#]],
        );
        check(
            sample().json(),
            expect![[
                r#"{"title":"Sealing a frame","columns":[{"name":"suite","unit":""},{"name":"cycles","unit":""},{"name":"energy","unit":"µJ"},{"name":"share","unit":"%"}],"lines":[["ascon-aead128",123456,12.3456,3.0],["a|b <i>*x*",99,0.00123,null],["rc4-mac",null,1200,100.0]]}"#
            ]],
        );
    }

    #[test]
    fn a_pivot_never_mixes_cell_and_wall_time_in_one_column() {
        let experiment = Experiment::new("link", "seed 7");
        let rows = [
            experiment.row("node 1", "latency", 3.5, "ms", Clock::Cell),
            experiment.row("node 1", "latency", 12.0, "ms", Clock::Wall),
            experiment.row("node 1", "frames", 480_u32, "", Clock::None),
            experiment.row("node 2", "latency", 3.25, "ms", Clock::Cell),
            experiment.row("node 2", "frames", 479_u32, "", Clock::None),
        ];
        check(
            Table::pivot("", &rows).text(None),
            expect![[r#"
             case     latency [ms, cell time]   latency [ms, wall time]   frames
            ─────────────────────────────────────────────────────────────────────
             node 1                      3.5                         12      480
             node 2                      3.25                         –      479
            ─────────────────────────────────────────────────────────────────────
        "#]],
        );
        check(
            Table::of_rows("", &rows[..2]).text(None),
            expect![[r#"
             experiment   case     metric    value   unit   clock       source
            ───────────────────────────────────────────────────────────────────
             link         node 1   latency     3.5   ms     cell time   seed 7
             link         node 1   latency    12     ms     wall time   seed 7
            ───────────────────────────────────────────────────────────────────
        "#]],
        );
    }

    #[test]
    fn a_paper_table_shows_ours_at_the_printed_precision() {
        let cell = |case: &str, printed: Option<&str>| PrintedCell {
            case: case.into(),
            metric: "time".into(),
            unit: "ms".into(),
            printed: printed.map(crate::printed::Printed::new),
            direction: Direction::Lower,
            tolerance: None,
        };
        let row = |case, printed, ours: Option<Value>| {
            let witnesses: &[&str] = if ours.is_some() { &["proof", "simulator"] } else { &[] };
            PaperRow::new("sti", "table-2", &cell(case, printed), ours, witnesses, "selvedge paper sti")
        };
        let rows = [
            row("RC5", Some("1234.50"), Some(1234.5049.into())),
            row("RC4", Some("12.5"), Some(9.87654.into())),
            row("AES", Some("7"), None),
            row("bar", None, Some(2.75.into())),
        ];
        check(
            Table::of_paper("Table 2", &rows).text(None),
            expect![[r#"
                Table 2
                 case   metric   unit    printed       ours   verdict     witnesses
                ───────────────────────────────────────────────────────────────────────────
                 RC5    time     ms     1,234.50   1,234.50   same        proof, simulator
                 RC4    time     ms        12.5        9.9    better      proof, simulator
                 AES    time     ms         7             –   missing
                 bar    time     ms            –       2.75   unprinted   proof, simulator
                ───────────────────────────────────────────────────────────────────────────
            "#]],
        );
    }

    #[test]
    fn a_name_from_outside_cannot_move_the_cursor() {
        let mut table = Table::new("\x1b[2J", [Column::new("n\r")]);
        table.push(["\x1b]0;x\x07".into()]);
        assert!(table.text(None).chars().all(|c| c == '\n' || !c.is_control()));
        assert!(table.markdown().chars().all(|c| c == '\n' || !c.is_control()));
    }

    #[test]
    #[should_panic(expected = "entries and columns")]
    fn a_line_of_the_wrong_length_is_our_bug() {
        Table::new("", [Column::new("a")]).push([1_u32.into(), 2_u32.into()]);
    }

    proptest! {
        #[test]
        fn csv_reads_back_as_written(texts in proptest::collection::vec(any::<String>(), 2..8)) {
            let mut table = Table::new("", [Column::new("a"), Column::new("b")]);
            for pair in texts.chunks_exact(2) {
                table.push(pair.iter().map(|text| text.as_str().into()));
            }
            let csv = table.csv();
            let mut reader = csv::Reader::from_reader(csv.as_bytes());
            let read: Vec<String> =
                reader.records().flat_map(|record| record.unwrap().iter().map(str::to_owned).collect::<Vec<_>>()).collect();
            prop_assert_eq!(read, texts[..texts.len() / 2 * 2].to_vec());
        }

        #[test]
        fn every_line_of_markdown_has_the_same_cells(text in any::<String>()) {
            let mut table = Table::new("", [Column::new(text.clone()), Column::new("b")]);
            table.push([text.into(), 1_u32.into()]);
            let markdown = table.markdown();
            prop_assert_eq!(markdown.lines().count(), 3);
            for line in markdown.lines() {
                let bars = line.replace("\\\\", "").replace("\\|", "").matches('|').count();
                prop_assert_eq!(bars, 3);
            }
        }
    }
}
