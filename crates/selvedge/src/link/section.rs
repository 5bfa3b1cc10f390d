//! A table of the text, read key by key: every key that is read is known, every other one is a problem.
//!
//! Owns the step from TOML values to integers, names and flags, each with its place in the text. What the
//! keys are is `draft`'s; what the values must be to each other is `schedule`'s.

use std::ops::{Range, RangeInclusive};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::problem::{Kind, Problem};
use super::quantity::{self, Dimension, Fault};

/// A value and its place in the text.
#[derive(Clone, Debug)]
pub(super) struct At<T> {
    pub value: T,
    pub span: Range<usize>,
}

type Value<'a> = Spanned<DeValue<'a>>;

/// A table that is being read.
pub(super) struct Section<'a> {
    /// Its path, such as "cell.ward"; empty for the file itself.
    name: String,
    /// Where a missing key is reported: the table's header.
    span: Range<usize>,
    table: Option<&'a DeTable<'a>>,
    /// Read where `table` lacks a key.
    shared: Option<&'a DeTable<'a>>,
    known: Vec<&'static str>,
    /// Whether it is one of an array of tables.
    element: bool,
}

impl<'a> Section<'a> {
    /// Reads `table`, found at `span`.
    pub fn new(name: String, table: &'a DeTable<'a>, span: Range<usize>) -> Self {
        Section { name, span, table: Some(table), shared: None, known: Vec::new(), element: false }
    }

    /// Reads a table that is not there: every key is missing.
    pub fn absent(name: String, span: Range<usize>) -> Self {
        Section { name, span, table: None, shared: None, known: Vec::new(), element: false }
    }

    /// An element of an array of tables; keys that it lacks are looked up in `shared`.
    pub fn element(mut self, shared: Option<&'a DeTable<'a>>) -> Self {
        self.shared = shared;
        self.element = true;
        self
    }

    /// Where the table begins.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    fn label(&self) -> String {
        match (self.name.as_str(), self.element) {
            ("", _) => "the file".into(),
            (name, false) => format!("[{name}]"),
            (name, true) => format!("[[{name}]]"),
        }
    }

    /// The value of `key`, if there is one; `key` is known from now on.
    pub fn take(&mut self, key: &'static str) -> Option<&'a Value<'a>> {
        self.known.push(key);
        find(self.table, key).or_else(|| find(self.shared, key))
    }

    /// Reports each of `keys` that is not there; beside a key stands a value that would do.
    pub fn require(&self, keys: &[(&'static str, &str)], problems: &mut Vec<Problem>) {
        for (key, example) in keys {
            if find(self.table, key).or_else(|| find(self.shared, key)).is_none() {
                let kind = Kind::MissingKey { key, section: self.label(), example: (*example).into() };
                problems.push(Problem { span: self.span.clone(), kind });
            }
        }
    }

    /// A text.
    pub fn text(
        &mut self,
        key: &'static str,
        example: &str,
        problems: &mut Vec<Problem>,
    ) -> Option<At<String>> {
        let value = self.take(key)?;
        match value.get_ref() {
            DeValue::String(text) => Some(At { value: text.to_string(), span: value.span() }),
            other => {
                wrong_type(other, "a string", format!("{key} = {example}"), value.span(), problems);
                None
            }
        }
    }

    /// A list of texts.
    pub fn texts(
        &mut self,
        key: &'static str,
        example: &str,
        problems: &mut Vec<Problem>,
    ) -> Option<At<Vec<At<String>>>> {
        let value = self.take(key)?;
        let mut wrong = |found: &Value<'_>| {
            let (expected, example) = ("a list of strings", format!("{key} = {example}"));
            wrong_type(found.get_ref(), expected, example, found.span(), problems);
        };
        let DeValue::Array(array) = value.get_ref() else {
            wrong(value);
            return None;
        };
        let mut texts = Vec::new();
        for element in array.iter() {
            match element.get_ref() {
                DeValue::String(text) => texts.push(At { value: text.to_string(), span: element.span() }),
                _ => wrong(element),
            }
        }
        (texts.len() == array.len()).then_some(At { value: texts, span: value.span() })
    }

    /// A flag.
    pub fn flag(&mut self, key: &'static str, problems: &mut Vec<Problem>) -> Option<At<bool>> {
        let value = self.take(key)?;
        match value.get_ref() {
            DeValue::Boolean(flag) => Some(At { value: *flag, span: value.span() }),
            other => {
                wrong_type(other, "true or false", format!("{key} = true"), value.span(), problems);
                None
            }
        }
    }

    /// A whole number without a unit.
    pub fn integer(
        &mut self,
        key: &'static str,
        range: RangeInclusive<i64>,
        problems: &mut Vec<Problem>,
    ) -> Option<At<i64>> {
        let value = self.take(key)?;
        let DeValue::Integer(integer) = value.get_ref() else {
            let example = format!("{key} = {}", range.start());
            wrong_type(value.get_ref(), "a whole number", example, value.span(), problems);
            return None;
        };
        match i64::from_str_radix(integer.as_str(), integer.radix()) {
            Ok(number) if range.contains(&number) => Some(At { value: number, span: value.span() }),
            _ => {
                let (min, max) = (range.start().to_string(), range.end().to_string());
                out_of_range(key, integer.to_string(), min, max, value.span(), problems);
                None
            }
        }
    }

    /// A number with a unit of `dimension`, in its grains. `min` and `max` are written as a person would.
    pub fn quantity(
        &mut self,
        key: &'static str,
        dimension: &'static Dimension,
        [min, max]: [&str; 2],
        problems: &mut Vec<Problem>,
    ) -> Option<At<i64>> {
        let value = self.take(key)?;
        let example = format!("{key} = \"{}\"", dimension.example);
        let DeValue::String(text) = value.get_ref() else {
            wrong_type(value.get_ref(), dimension.what, example, value.span(), problems);
            return None;
        };
        let bound =
            |bound: &str| quantity::parse(bound, dimension).expect("a limit in the code is a quantity");
        match quantity::parse(text, dimension) {
            Ok(grains) if (bound(min)..=bound(max)).contains(&grains) => {
                let value_grains = i64::try_from(grains).expect("limits in the code fit 64 bits");
                Some(At { value: value_grains, span: value.span() })
            }
            Ok(_) | Err(Fault::TooLong) => {
                out_of_range(key, text.to_string(), min.into(), max.into(), value.span(), problems);
                None
            }
            Err(fault) => {
                problems
                    .push(Problem { span: value.span(), kind: quantity_fault(fault, text, key, dimension) });
                None
            }
        }
    }

    /// An amplification such as "x1000", in thousandths.
    pub fn gain(&mut self, key: &'static str, max: i128, problems: &mut Vec<Problem>) -> Option<At<i64>> {
        let value = self.take(key)?;
        let (what, example) = ("an amplification", "x1000");
        let DeValue::String(text) = value.get_ref() else {
            wrong_type(value.get_ref(), what, format!("{key} = \"{example}\""), value.span(), problems);
            return None;
        };
        let kind = match quantity::parse_gain(text) {
            Ok(gain) if (1..=max).contains(&gain) => {
                return Some(At {
                    value: i64::try_from(gain).expect("a limit fits 64 bits"),
                    span: value.span(),
                });
            }
            Ok(_) | Err(Fault::TooLong) => {
                out_of_range(
                    key,
                    text.to_string(),
                    "x0.001".into(),
                    format!("x{}", max / 1_000),
                    value.span(),
                    problems,
                );
                return None;
            }
            Err(Fault::TooFine) => Kind::TooFine { found: text.to_string(), grain: "thousandths" },
            Err(_) => Kind::NotANumber { found: text.to_string(), expected: what, example },
        };
        problems.push(Problem { span: value.span(), kind });
        None
    }

    /// A table below this one.
    pub fn table(&mut self, key: &'static str, problems: &mut Vec<Problem>) -> Option<At<&'a DeTable<'a>>> {
        let value = self.take(key)?;
        match value.get_ref() {
            DeValue::Table(table) => Some(At { value: table, span: value.span() }),
            other => {
                wrong_type(other, "a table", format!("[{key}]"), value.span(), problems);
                None
            }
        }
    }

    /// The tables of `[key.NAME]`, with their names.
    pub fn tables(
        &mut self,
        key: &'static str,
        problems: &mut Vec<Problem>,
    ) -> Vec<(At<String>, Section<'a>)> {
        let Some(all) = self.table(key, problems) else { return Vec::new() };
        let mut sections = Vec::new();
        for (name, value) in all.value {
            let span = name.span();
            let name = name.get_ref().to_string();
            let sound = (1..=32).contains(&name.len())
                && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
            if !sound {
                problems.push(Problem { span: span.clone(), kind: Kind::BadName { found: name.clone() } });
            }
            match value.get_ref() {
                DeValue::Table(table) => {
                    let section = Section::new(format!("{key}.{name}"), table, value.span());
                    sections.push((At { value: name, span }, section));
                }
                other => wrong_type(other, "a table", format!("[{key}.{name}]"), value.span(), problems),
            }
        }
        sections
    }

    /// The tables of `[[key]]`.
    pub fn array(&mut self, key: &'static str, problems: &mut Vec<Problem>) -> Vec<At<&'a DeTable<'a>>> {
        let Some(value) = self.take(key) else { return Vec::new() };
        let parent = if self.name.is_empty() { String::new() } else { format!("{}.", self.name) };
        let example = format!("[[{parent}{key}]]");
        let DeValue::Array(array) = value.get_ref() else {
            wrong_type(value.get_ref(), "an array of tables", example, value.span(), problems);
            return Vec::new();
        };
        let mut tables = Vec::new();
        for element in array.iter() {
            match element.get_ref() {
                DeValue::Table(table) => tables.push(At { value: table, span: element.span() }),
                other => wrong_type(other, "a table", example.clone(), element.span(), problems),
            }
        }
        tables
    }

    /// Reports every key that nothing has read.
    pub fn finish(self, problems: &mut Vec<Problem>) {
        for (key, _) in self.table.into_iter().flatten() {
            if !self.known.contains(&key.get_ref().as_ref()) {
                let kind = Kind::UnknownKey {
                    key: key.get_ref().to_string(),
                    section: self.label(),
                    known: self.known.clone(),
                };
                problems.push(Problem { span: key.span(), kind });
            }
        }
    }
}

fn find<'a>(table: Option<&'a DeTable<'a>>, key: &str) -> Option<&'a Value<'a>> {
    table?.iter().find(|(name, _)| name.get_ref() == key).map(|(_, value)| value)
}

fn wrong_type(
    found: &DeValue<'_>,
    expected: &str,
    example: String,
    span: Range<usize>,
    problems: &mut Vec<Problem>,
) {
    let found = match found {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    };
    problems.push(Problem { span, kind: Kind::WrongType { found, expected: expected.into(), example } });
}

fn out_of_range(
    what: &'static str,
    found: String,
    min: String,
    max: String,
    span: Range<usize>,
    problems: &mut Vec<Problem>,
) {
    problems.push(Problem { span, kind: Kind::OutOfRange { what, found, min, max } });
}

fn quantity_fault(fault: Fault, text: &str, key: &str, dimension: &'static Dimension) -> Kind {
    let (found, expected) = (text.to_string(), dimension.what);
    match fault {
        Fault::NotANumber | Fault::TooLong => {
            Kind::NotANumber { found, expected, example: dimension.example }
        }
        Fault::NoUnit => {
            Kind::NoUnit { found, expected, example: format!("{key} = \"{}\"", dimension.example) }
        }
        Fault::UnknownUnit(unit) => Kind::UnknownUnit {
            unit,
            expected,
            units: dimension.units.iter().map(|(name, _)| *name).collect(),
        },
        Fault::TooFine => Kind::TooFine { found, grain: dimension.grain },
    }
}
