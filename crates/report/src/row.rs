//! [`Row`]: one measured value with its unit, its clock and where it came from; NDJSON out and in.
//!
//! A row is the only form in which a measurement leaves a tool. What rows look like side by side is left to
//! [`crate::table`], what they look like drawn to [`crate::chart`], printed cells of papers to [`crate::paper`].
//!
//! Invariant: a value in a unit of time names its clock, and a row has exactly one clock.

use crate::error::Error;
use crate::limits::LINE_BYTES_MAX;
use serde::de::{DeserializeOwned, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// What was measured: a count, a quantity, or a word.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// An exact count: cycles, bytes, gates, frames.
    Integer(i64),
    /// A quantity. Invariant: it is finite.
    Float(f64),
    /// A word where no number fits, such as the name of the variant that won.
    Text(String),
}

impl Value {
    /// The value as a number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Value::Integer(value) => Some(*value as f64),
            Value::Float(value) => Some(*value),
            Value::Text(_) => None,
        }
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Value {
        Value::Integer(value)
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Value {
        Value::Integer(value.into())
    }
}

impl From<u64> for Value {
    /// # Panics
    /// Over 2⁶³ − 1: no counter of a run reaches that (it is 106 days of picoseconds), so it is a bug.
    fn from(value: u64) -> Value {
        Value::Integer(i64::try_from(value).expect("a count fits in 63 bits"))
    }
}

impl From<usize> for Value {
    fn from(value: usize) -> Value {
        Value::from(value as u64)
    }
}

impl From<f64> for Value {
    /// # Panics
    /// On NaN and infinities: a quotient by zero is not a measurement, and the row must not be written.
    fn from(value: f64) -> Value {
        assert!(value.is_finite(), "a measured value is finite, found {value}");
        Value::Float(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Value {
        Value::Text(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Value {
        Value::Text(value)
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Integer(value) => serializer.serialize_i64(*value),
            Value::Float(value) => serializer.serialize_f64(*value),
            Value::Text(value) => serializer.serialize_str(value),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl Visitor<'_> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or a text")
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Integer(value))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Value, E> {
        i64::try_from(value)
            .map(Value::Integer)
            .map_err(|_| E::invalid_value(Unexpected::Unsigned(value), &self))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        if value.is_finite() {
            Ok(Value::Float(value))
        } else {
            Err(E::invalid_value(Unexpected::Float(value), &self))
        }
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }
}

/// Whose time a value was measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Clock {
    /// Simulated time: picoseconds from the seed; equal seeds give equal values.
    Cell,
    /// Time that passed on the machine that ran the measurement.
    Wall,
    /// Not a time: counts, sizes, areas, words.
    None,
}

impl Clock {
    /// How a column or an axis names the clock; empty for [`Clock::None`].
    pub fn words(self) -> &'static str {
        match self {
            Clock::Cell => "cell time",
            Clock::Wall => "wall time",
            Clock::None => "",
        }
    }
}

/// True if a value in `unit` is a time or a rate over time, such as `ms`, `frames/s` or `µs/frame`.
///
/// Energies and frequencies are not: `µJ`, `MHz`.
pub fn is_timed(unit: &str) -> bool {
    unit.split(|c: char| !c.is_alphabetic())
        .any(|word| matches!(word, "ps" | "ns" | "us" | "µs" | "μs" | "ms" | "s" | "min" | "h"))
}

/// One measured value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    experiment: String,
    case: String,
    metric: String,
    unit: String,
    value: Value,
    clock: Clock,
    source: String,
}

impl Row {
    /// The experiment that was run, such as `link` or `broker bench`.
    pub fn experiment(&self) -> &str {
        &self.experiment
    }

    /// What was varied, such as `node 3` or `16 clients`.
    pub fn case(&self) -> &str {
        &self.case
    }

    /// What was measured, such as `latency_p99`.
    pub fn metric(&self) -> &str {
        &self.metric
    }

    /// The unit of the value; empty for a plain count or a word.
    pub fn unit(&self) -> &str {
        &self.unit
    }

    /// The value, in [`Row::unit`].
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Whose time the value is in.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Where the value comes from: the command, seed, input and machine that give it again.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The row as one line of JSON, without a line end.
    pub fn json(&self) -> String {
        serde_json::to_string(self).expect("a row holds only texts and finite numbers")
    }

    fn check(&self, line: usize) -> Result<(), Error> {
        match self.clock == Clock::None && is_timed(&self.unit) {
            true => Err(Error::ClockMissing { line, unit: self.unit.clone() }),
            false => Ok(()),
        }
    }
}

/// Makes the rows of one experiment, which share its name and source.
#[derive(Clone, Debug)]
pub struct Experiment {
    name: String,
    source: String,
}

impl Experiment {
    /// An experiment called `name`, whose values come from `source` (command, seed, machine).
    pub fn new(name: impl Into<String>, source: impl Into<String>) -> Experiment {
        Experiment { name: name.into(), source: source.into() }
    }

    /// The same experiment, for values that come from `source` as well: a datasheet, say.
    pub fn and_from(&self, source: &str) -> Experiment {
        Experiment::new(&self.name, format!("{}; {source}", self.source))
    }

    /// One measured value of this experiment.
    ///
    /// # Panics
    /// If the unit is a time and the clock is [`Clock::None`], or the value is a float that is not finite.
    pub fn row(
        &self,
        case: impl Into<String>,
        metric: impl Into<String>,
        value: impl Into<Value>,
        unit: impl Into<String>,
        clock: Clock,
    ) -> Row {
        let row = Row {
            experiment: self.name.clone(),
            case: case.into(),
            metric: metric.into(),
            unit: unit.into(),
            value: value.into(),
            clock,
            source: self.source.clone(),
        };
        assert!(
            row.check(0).is_ok(),
            "the unit `{}` of `{}` is a time: name its clock",
            row.unit,
            row.metric
        );
        row
    }
}

/// The rows as NDJSON, one line each, every line ended.
pub fn ndjson(rows: &[Row]) -> String {
    rows.iter().map(|row| row.json() + "\n").collect()
}

/// Reads NDJSON rows. Blank lines are skipped; every other line is a row or an error, never dropped.
pub fn read_ndjson(text: &str) -> (Vec<Row>, Vec<Error>) {
    let mut rows = Vec::new();
    let mut errors = Vec::new();
    for (line, found) in read_lines::<Row>(text) {
        match found.and_then(|row| row.check(line).map(|()| row)) {
            Ok(row) => rows.push(row),
            Err(error) => errors.push(error),
        }
    }
    (rows, errors)
}

/// Reads each non-blank line of `text` as one JSON value, with its line number from 1.
pub(crate) fn read_lines<T: DeserializeOwned>(text: &str) -> impl Iterator<Item = (usize, Result<T, Error>)> {
    text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(|(index, line)| {
        let number = index + 1;
        if line.len() > LINE_BYTES_MAX {
            return (number, Err(Error::LineTooLong { line: number, bytes: line.len() }));
        }
        let parsed = serde_json::from_str(line).map_err(|error| {
            let words = error.to_string();
            // The reader counts lines from the start of its input, which is always this one line.
            let found = words.split(" at line ").next().unwrap_or(&words).to_owned();
            Error::NotRow { line: number, column: error.column(), found }
        });
        (number, parsed)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    fn check_errors(text: &str, expected: Expect) {
        let (_, errors) = read_ndjson(text);
        expected.assert_eq(&errors.iter().map(|error| format!("{error}\n")).collect::<String>());
    }

    #[test]
    fn a_row_is_one_line_with_keys_in_a_fixed_order() {
        let experiment = Experiment::new("link", "selvedge run ecg.toml --seed 7");
        let rows = [
            experiment.row("node 1", "frames", 480_u32, "", Clock::None),
            experiment.row("node 1", "latency_p99", 12.5, "ms", Clock::Wall),
            experiment.row("node \"x\"\n", "variant", "bitslice", "", Clock::None),
        ];
        expect![[r#"
            {"experiment":"link","case":"node 1","metric":"frames","unit":"","value":480,"clock":"none","source":"selvedge run ecg.toml --seed 7"}
            {"experiment":"link","case":"node 1","metric":"latency_p99","unit":"ms","value":12.5,"clock":"wall","source":"selvedge run ecg.toml --seed 7"}
            {"experiment":"link","case":"node \"x\"\n","metric":"variant","unit":"","value":"bitslice","clock":"none","source":"selvedge run ecg.toml --seed 7"}
        "#]]
        .assert_eq(&ndjson(&rows));
    }

    #[test]
    fn every_bad_line_is_named_and_good_lines_still_count() {
        let good = Experiment::new("e", "s").row("c", "m", 1_u32, "", Clock::None).json();
        let text = format!(
            "{good}\n\nnot json\n{{\"experiment\":1}}\n{}\n{}\n{}\n{good}",
            good.replace("\"value\":1", "\"value\":null"),
            good.replace("\"clock\":\"none\"", "\"clock\":\"sun\""),
            good.replace("\"unit\":\"\"", "\"unit\":\"frames/s\""),
        );
        assert_eq!(read_ndjson(&text).0.len(), 2);
        check_errors(
            &text,
            expect![[r#"
                line 3, column 2: expected ident
                line 4, column 15: invalid type: integer `1`, expected a string
                line 5, column 64: invalid type: null, expected a number or a text
                line 6, column 75: unknown variant `sun`, expected one of `cell`, `wall`, `none`
                line 7: found clock `none` with the unit `frames/s`, expected `cell` or `wall`
                help: simulated time is `cell`; time that a person waits is `wall`
            "#]],
        );
    }

    #[test]
    fn a_line_over_the_limit_is_refused_before_it_is_parsed() {
        let text = "x".repeat(LINE_BYTES_MAX + 1);
        assert_eq!(read_ndjson(&text).1, [Error::LineTooLong { line: 1, bytes: LINE_BYTES_MAX + 1 }]);
    }

    #[test]
    fn energies_and_frequencies_are_not_times() {
        for unit in ["ms", "frames/s", "µs/frame", "s", "ns per byte", "MB/s"] {
            assert!(is_timed(unit), "{unit}");
        }
        for unit in ["", "cycles", "µJ", "MHz", "GE", "bytes", "%", "samples"] {
            assert!(!is_timed(unit), "{unit}");
        }
    }

    #[test]
    #[should_panic(expected = "name its clock")]
    fn a_time_without_a_clock_is_our_bug() {
        Experiment::new("e", "s").row("c", "m", 1.0, "ms", Clock::None);
    }

    #[test]
    #[should_panic(expected = "finite")]
    fn a_value_that_is_not_finite_is_our_bug() {
        let _ = Value::from(f64::NAN);
    }

    fn any_value() -> impl Strategy<Value = Value> {
        prop_oneof![
            any::<i64>().prop_map(Value::Integer),
            proptest::num::f64::NORMAL.prop_map(Value::Float),
            any::<String>().prop_map(Value::Text),
        ]
    }

    proptest! {
        #[test]
        fn rows_survive_ndjson(case in any::<String>(), value in any_value(), clock in 0..3_usize) {
            let clock = [Clock::Cell, Clock::Wall, Clock::None][clock];
            let row = Experiment::new("e", "s").row(case, "m", value, "cycles", clock);
            prop_assert_eq!(read_ndjson(&row.json()), (vec![row], vec![]));
        }

        #[test]
        fn reading_never_panics_and_loses_no_line(text in any::<String>()) {
            let (rows, errors) = read_ndjson(&text);
            let lines = text.lines().filter(|line| !line.trim().is_empty()).count();
            prop_assert_eq!(rows.len() + errors.len(), lines);
        }
    }
}
