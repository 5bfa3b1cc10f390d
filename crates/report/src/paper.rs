//! [`PaperRow`]: a cell that a paper prints, beside what we measure; the verdict on it; NDJSON out and in.
//!
//! The verdict is a pure function of what is printed (with its precision, tolerance and direction) and what we
//! found. Why a cell differs is said in words elsewhere; this file only says that it does.
//!
//! Invariant: `ours` is null exactly when the verdict is `missing`; a null `printed` is `unprinted` or `missing`.

use crate::error::Error;
use crate::limits::TOLERANCE_DEFAULT;
use crate::printed::{Direction, Printed, PrintedCell};
use crate::row::{Value, read_lines};
use serde::{Deserialize, Serialize};
use std::fmt;

/// How our value stands to the printed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Within the printed precision, or the same word.
    Same,
    /// Within the cell's tolerance.
    Close,
    /// Beyond the tolerance, in the cell's direction.
    Better,
    /// Beyond the tolerance otherwise, or another word.
    Differs,
    /// Measured, but the paper gives no number (a bar without one).
    Unprinted,
    /// Not measured yet.
    Missing,
}

impl Verdict {
    /// The word for it, as in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Same => "same",
            Verdict::Close => "close",
            Verdict::Better => "better",
            Verdict::Differs => "differs",
            Verdict::Unprinted => "unprinted",
            Verdict::Missing => "missing",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// The verdict on `ours` beside `printed`; see [`Verdict`] for the rules.
///
/// `tolerance` is relative to the printed magnitude ([`TOLERANCE_DEFAULT`] if none). A value counts as the same
/// if it rounds to the printed one: within half a unit of its last digit.
pub fn verdict(
    printed: Option<&Printed>,
    ours: Option<&Value>,
    direction: Direction,
    tolerance: Option<f64>,
) -> Verdict {
    let Some(ours) = ours else { return Verdict::Missing };
    let Some(printed) = printed else { return Verdict::Unprinted };
    let (Some(expected), Some(found)) = (printed.number(), ours.number()) else {
        let equal_words = matches!(ours, Value::Text(word) if word == printed.literal());
        return if equal_words { Verdict::Same } else { Verdict::Differs };
    };
    let distance = (found - expected).abs();
    // A decimal half is not exact in binary: the allowance is far below any printed digit.
    let allowance = 4.0 * f64::EPSILON * expected.abs().max(found.abs());
    if distance <= printed.quantum() / 2.0 + allowance {
        return Verdict::Same;
    }
    if distance <= tolerance.unwrap_or(TOLERANCE_DEFAULT) * expected.abs() + allowance {
        return Verdict::Close;
    }
    match direction {
        Direction::Lower if found < expected => Verdict::Better,
        Direction::Higher if found > expected => Verdict::Better,
        _ => Verdict::Differs,
    }
}

/// One printed cell beside ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaperRow {
    paper: String,
    table: String,
    case: String,
    metric: String,
    unit: String,
    printed: Option<Printed>,
    ours: Option<Value>,
    verdict: Verdict,
    witnesses: Vec<String>,
    source: String,
}

impl PaperRow {
    /// Sets `ours` beside a printed cell of `table` in `paper`, and judges it. `witnesses` name the independent
    /// ways by which our value was found; `source` is the command that gives it again.
    ///
    /// # Panics
    /// If our value has no witness: nothing is believed because one program said so, least of all none.
    pub fn new(
        paper: impl Into<String>,
        table: impl Into<String>,
        cell: &PrintedCell,
        ours: Option<Value>,
        witnesses: &[&str],
        source: impl Into<String>,
    ) -> PaperRow {
        assert!(
            ours.is_none() || !witnesses.is_empty(),
            "a measured cell names a witness: `{}`",
            cell.metric
        );
        PaperRow {
            paper: paper.into(),
            table: table.into(),
            case: cell.case.clone(),
            metric: cell.metric.clone(),
            unit: cell.unit.clone(),
            printed: cell.printed.clone(),
            verdict: verdict(cell.printed.as_ref(), ours.as_ref(), cell.direction, cell.tolerance),
            ours,
            witnesses: witnesses.iter().map(|&witness| witness.to_owned()).collect(),
            source: source.into(),
        }
    }

    /// The key of the paper.
    pub fn paper(&self) -> &str {
        &self.paper
    }

    /// The table or figure, such as `table-2`.
    pub fn table(&self) -> &str {
        &self.table
    }

    /// The line of the table, or the bar of the figure.
    pub fn case(&self) -> &str {
        &self.case
    }

    /// What its column measures.
    pub fn metric(&self) -> &str {
        &self.metric
    }

    /// The unit of both values.
    pub fn unit(&self) -> &str {
        &self.unit
    }

    /// What is printed, if anything.
    pub fn printed(&self) -> Option<&Printed> {
        self.printed.as_ref()
    }

    /// What we measured, if we did.
    pub fn ours(&self) -> Option<&Value> {
        self.ours.as_ref()
    }

    /// How ours stands to the printed value.
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// The independent ways by which ours was found.
    pub fn witnesses(&self) -> &[String] {
        &self.witnesses
    }

    /// The command, and for timed cells the machine, that give ours again.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The row as one line of JSON, without a line end.
    pub fn json(&self) -> String {
        serde_json::to_string(self).expect("a row holds only texts and finite numbers")
    }

    fn is_consistent(&self) -> bool {
        match self.verdict {
            Verdict::Missing => self.ours.is_none(),
            Verdict::Unprinted => self.ours.is_some() && self.printed.is_none(),
            _ => self.ours.is_some() && self.printed.is_some(),
        }
    }
}

/// The rows as NDJSON, one line each, every line ended.
pub fn ndjson(rows: &[PaperRow]) -> String {
    rows.iter().map(|row| row.json() + "\n").collect()
}

/// Reads NDJSON rows. Blank lines are skipped; every other line is a row or an error, never dropped.
pub fn read_ndjson(text: &str) -> (Vec<PaperRow>, Vec<Error>) {
    let mut rows = Vec::new();
    let mut errors = Vec::new();
    for (line, found) in read_lines::<PaperRow>(text) {
        match found {
            Ok(row) if row.is_consistent() => rows.push(row),
            Ok(row) => errors.push(Error::VerdictAtOdds { line, verdict: row.verdict }),
            Err(error) => errors.push(error),
        }
    }
    (rows, errors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use proptest::prelude::*;

    fn judge(printed: &str, ours: impl Into<Value>, direction: Direction, tolerance: Option<f64>) -> Verdict {
        verdict(Some(&Printed::new(printed)), Some(&ours.into()), direction, tolerance)
    }

    #[test]
    fn same_means_that_ours_rounds_to_the_printed_digits() {
        for (printed, ours, expected) in [
            ("12.50", 12.504, Verdict::Same),
            ("12.50", 12.506, Verdict::Close),
            ("12.5", 12.549, Verdict::Same),
            ("0.3", 0.35, Verdict::Same), // the decimal half itself, inexact in binary
            ("0.30", 0.3050001, Verdict::Close),
            ("3e4", 34_000.0, Verdict::Same),
            ("3.0e4", 30_501.0, Verdict::Close),
            ("0", 0.4, Verdict::Same),
            ("-2.0", -2.04, Verdict::Same),
        ] {
            assert_eq!(judge(printed, ours, Direction::Neither, None), expected, "{printed} and {ours}");
        }
    }

    #[test]
    fn beyond_the_tolerance_the_direction_decides() {
        use Direction::*;
        for (ours, direction, tolerance, expected) in [
            (110_u32, Lower, None, Verdict::Close),
            (111, Lower, None, Verdict::Differs),
            (111, Higher, None, Verdict::Better),
            (111, Neither, None, Verdict::Differs),
            (89, Lower, None, Verdict::Better),
            (89, Higher, None, Verdict::Differs),
            (103, Higher, Some(0.02), Verdict::Better),
            (103, Lower, Some(0.0), Verdict::Differs),
            (100, Lower, Some(0.0), Verdict::Same),
        ] {
            assert_eq!(
                judge("100", ours, direction, tolerance),
                expected,
                "{ours} {direction:?} {tolerance:?}"
            );
        }
    }

    #[test]
    fn words_are_the_same_or_differ() {
        assert_eq!(judge("ECB", "ECB", Direction::Lower, None), Verdict::Same);
        assert_eq!(judge("ECB", "CTR", Direction::Lower, None), Verdict::Differs);
        assert_eq!(judge("12", "12", Direction::Lower, None), Verdict::Same);
        assert_eq!(judge("n/a", 3_u32, Direction::Lower, None), Verdict::Differs);
    }

    #[test]
    fn what_is_not_there_is_missing_or_unprinted() {
        let ours = Value::from(1_u32);
        assert_eq!(verdict(None, Some(&ours), Direction::Lower, None), Verdict::Unprinted);
        assert_eq!(verdict(None, None, Direction::Lower, None), Verdict::Missing);
        assert_eq!(verdict(Some(&Printed::new("1")), None, Direction::Lower, None), Verdict::Missing);
    }

    #[test]
    fn printed_digits_pass_through_json_unchanged() {
        let mut cell = PrintedCell {
            case: "AES".into(),
            metric: "time".into(),
            unit: "ms".into(),
            printed: Some(Printed::new("12.50")),
            direction: Direction::Lower,
            tolerance: None,
        };
        let mut rows = vec![PaperRow::new(
            "mecha",
            "table-1",
            &cell,
            Some(Value::from(11.9)),
            &["client", "device"],
            "make bench",
        )];
        cell.printed = Some(Printed::new("n/a"));
        rows.push(PaperRow::new("mecha", "table-1", &cell, None, &[], "make bench"));
        let text = ndjson(&rows);
        expect![[r#"
            {"paper":"mecha","table":"table-1","case":"AES","metric":"time","unit":"ms","printed":12.50,"ours":11.9,"verdict":"close","witnesses":["client","device"],"source":"make bench"}
            {"paper":"mecha","table":"table-1","case":"AES","metric":"time","unit":"ms","printed":"n/a","ours":null,"verdict":"missing","witnesses":[],"source":"make bench"}
        "#]]
        .assert_eq(&text);
        assert_eq!(read_ndjson(&text), (rows, vec![]));
    }

    #[test]
    fn a_verdict_at_odds_with_its_values_is_refused() {
        let cell = PrintedCell {
            case: "c".into(),
            metric: "m".into(),
            unit: String::new(),
            printed: None,
            direction: Direction::Neither,
            tolerance: None,
        };
        let line = PaperRow::new("p", "t", &cell, None, &[], "s").json().replace("missing", "same");
        let (rows, errors) = read_ndjson(&line);
        assert!(rows.is_empty());
        expect!["line 1: found the verdict `same`, which expects values in `ours` and `printed`"]
            .assert_eq(&errors[0].to_string());
    }

    proptest! {
        #[test]
        fn what_rounds_to_the_printed_digits_is_the_same(value in -1e6_f64..1e6, decimals in 0..6_usize) {
            let printed = Printed::new(format!("{value:.decimals$}"));
            prop_assert_eq!(
                verdict(Some(&printed), Some(&Value::Float(value)), Direction::Lower, Some(0.0)),
                Verdict::Same
            );
        }
    }
}
