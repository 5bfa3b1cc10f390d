//! What a paper prints: [`Printed`] digits, the [`PrintedCell`] they stand in, and the CSV files that hold them.
//!
//! A file has the columns `case,metric,unit,printed,direction,tolerance`; lines that start with `#` say where in the
//! paper it stands. `printed` is empty for a bar without a number, `direction` is `lower`, `higher` or `neither`
//! (which is better), `tolerance` is a percentage such as `5 %`, or empty. What we measure is [`crate::paper`]'s.

use crate::error::Error;
use crate::limits::PRINTED_BYTES_MAX;
use crate::row::Value;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// What stands in the paper, digit by digit: `12.50` is not `12.5`, because its last digit says how precise it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Printed {
    literal: String,
    is_number: bool,
}

impl Printed {
    /// Takes `literal` as printed. It is a number if it is a plain decimal, perhaps with an exponent, without
    /// group separators (`-12.50`, `3e4`); anything else is a word.
    pub fn new(literal: impl Into<String>) -> Printed {
        let literal = literal.into();
        let is_finite = || literal.parse().is_ok_and(f64::is_finite);
        let is_number = literal.len() <= PRINTED_BYTES_MAX && is_json_number(&literal) && is_finite();
        Printed { literal, is_number }
    }

    /// The literal as printed.
    pub fn literal(&self) -> &str {
        &self.literal
    }

    /// The number that is printed, if it is one.
    pub fn number(&self) -> Option<f64> {
        if self.is_number {
            self.literal.parse().ok().filter(|number: &f64| number.is_finite())
        } else {
            None
        }
    }

    /// Digits after the decimal point, if a number without an exponent is printed.
    pub fn decimals(&self) -> Option<usize> {
        (self.is_number && !self.literal.contains(['e', 'E']))
            .then(|| self.literal.split_once('.').map_or(0, |(_, fraction)| fraction.len()))
    }

    /// The unit of the last printed digit: 0.01 for `12.50`, 1000 for `3e3`.
    pub(crate) fn quantum(&self) -> f64 {
        let (mantissa, power) = self.literal.split_once(['e', 'E']).unwrap_or((&self.literal, "0"));
        let decimals = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len() as i32);
        10_f64.powi(power.parse::<i32>().unwrap_or(0).saturating_sub(decimals))
    }
}

/// JSON's own grammar for numbers (RFC 8259, section 6), so that a literal can be passed through as it stands.
fn is_json_number(literal: &str) -> bool {
    let magnitude = literal.strip_prefix('-').unwrap_or(literal);
    let (mantissa, power) = match magnitude.split_once(['e', 'E']) {
        Some((mantissa, power)) => (mantissa, Some(power.strip_prefix(['+', '-']).unwrap_or(power))),
        None => (magnitude, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && power.is_none_or(|power| digits(power) && power.len() <= 3)
}

impl Serialize for Printed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_number {
            let raw = RawValue::from_string(self.literal.clone()).map_err(serde::ser::Error::custom)?;
            raw.serialize(serializer)
        } else {
            serializer.serialize_str(&self.literal)
        }
    }
}

impl<'de> Deserialize<'de> for Printed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Printed, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        match serde_json::from_str(raw.get()) {
            Ok(Value::Text(word)) => Ok(Printed { literal: word, is_number: false }),
            Ok(_) => Ok(Printed::new(raw.get())),
            Err(error) => Err(serde::de::Error::custom(error)),
        }
    }
}

/// Which way a value beats the printed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Less is better: cycles, bytes, waiting.
    Lower,
    /// More is better: throughput, saved share.
    Higher,
    /// Neither: a size of the setting, a choice.
    Neither,
}

/// One cell of a paper's table or figure, as printed.
#[derive(Clone, Debug, PartialEq)]
pub struct PrintedCell {
    /// The line of the table, or the bar of the figure.
    pub case: String,
    /// What its column measures.
    pub metric: String,
    /// The unit of both values.
    pub unit: String,
    /// What is printed; none for a bar without a number.
    pub printed: Option<Printed>,
    /// Which way is better.
    pub direction: Direction,
    /// Relative tolerance for `close`; none means [`TOLERANCE_DEFAULT`].
    pub tolerance: Option<f64>,
}

/// The columns of a file of printed cells, in order.
const COLUMNS: [&str; 6] = ["case", "metric", "unit", "printed", "direction", "tolerance"];

/// Reads a file of printed cells. Every line is a cell or an error, never dropped; all errors are returned.
pub fn read_csv(text: &str) -> (Vec<PrintedCell>, Vec<Error>) {
    let mut reader = csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    match reader.headers() {
        Ok(found) if found.iter().eq(COLUMNS) => {}
        Ok(found) => {
            let found = found.iter().collect::<Vec<&str>>().join(",");
            return (Vec::new(), vec![Error::PrintedHeader { found, expected: COLUMNS.join(",") }]);
        }
        Err(error) => return (Vec::new(), vec![not_csv(&error)]),
    }
    let mut cells: Vec<PrintedCell> = Vec::new();
    let mut errors = Vec::new();
    for record in reader.records() {
        let cell = record.map_err(|error| vec![not_csv(&error)]).and_then(|record| read_cell(&record));
        match cell {
            Ok((line, cell))
                if cells.iter().any(|other| (&other.case, &other.metric) == (&cell.case, &cell.metric)) =>
            {
                errors.push(Error::PrintedTwice { line, case: cell.case, metric: cell.metric });
            }
            Ok((_, cell)) => cells.push(cell),
            Err(found) => errors.extend(found),
        }
    }
    (cells, errors)
}

fn not_csv(error: &csv::Error) -> Error {
    Error::NotCsv { line: error.position().map_or(1, csv::Position::line), found: error.to_string() }
}

/// One cell with its line number, or everything that is wrong with it.
fn read_cell(record: &csv::StringRecord) -> Result<(u64, PrintedCell), Vec<Error>> {
    let line = record.position().map_or(1, csv::Position::line);
    if record.len() != COLUMNS.len() {
        return Err(vec![Error::PrintedFieldCount { line, found: record.len(), expected: COLUMNS.len() }]);
    }
    let mut errors = Vec::new();
    let mut refuse = |column, found: &str, expected| {
        errors.push(Error::PrintedField { line, column, found: found.to_owned(), expected });
    };
    for (column, found) in [("case", &record[0]), ("metric", &record[1])] {
        if found.is_empty() {
            refuse(column, found, "a name");
        }
    }
    let direction = match &record[4] {
        "lower" => Direction::Lower,
        "higher" => Direction::Higher,
        "neither" => Direction::Neither,
        found => {
            refuse("direction", found, "`lower`, `higher` or `neither`");
            Direction::Neither
        }
    };
    let tolerance = match &record[5] {
        "" => None,
        found => {
            let percent = found.strip_suffix('%').and_then(|number| number.trim_end().parse::<f64>().ok());
            let tolerance = percent.filter(|percent| (0.0..=100.0).contains(percent));
            if tolerance.is_none() {
                refuse("tolerance", found, "a percentage from `0 %` to `100 %`");
            }
            tolerance.map(|percent| percent / 100.0)
        }
    };
    let printed = (!record[3].is_empty()).then(|| Printed::new(&record[3]));
    // `1,234` or `.5` would pass for a word, and then differ from every number.
    let is_like_number = record[3].bytes().all(|byte| byte.is_ascii_digit() || b"+-., '".contains(&byte));
    if printed.as_ref().is_some_and(|printed| printed.number().is_none()) && is_like_number {
        refuse("printed", &record[3], "a plain number such as `1234.50`, or a word");
    }
    let (case, metric, unit) = (record[0].to_owned(), record[1].to_owned(), record[2].to_owned());
    match errors.is_empty() {
        true => Ok((line, PrintedCell { case, metric, unit, printed, direction, tolerance })),
        false => Err(errors),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    fn check_errors(text: &str, expected: Expect) {
        let (_, errors) = read_csv(text);
        expected.assert_eq(&errors.iter().map(|error| format!("{error}\n")).collect::<String>());
    }

    #[test]
    fn a_file_gives_its_cells_with_the_digits_as_printed() {
        let text = "# Table 2, page 5\ncase,metric,unit,printed,direction,tolerance\n\
                    RC5,time,ms,12.50,lower,5 %\n\"AES, fast\",time,ms,,neither,\n# end\n";
        let (cells, errors) = read_csv(text);
        assert_eq!(errors, []);
        assert_eq!(cells.len(), 2);
        assert_eq!(cells[0].printed.as_ref().map(Printed::literal), Some("12.50"));
        assert_eq!((cells[0].direction, cells[0].tolerance), (Direction::Lower, Some(0.05)));
        assert_eq!(
            (cells[1].case.as_str(), &cells[1].printed, cells[1].tolerance),
            ("AES, fast", &None, None)
        );
    }

    #[test]
    fn every_fault_of_a_file_is_named_with_its_line() {
        check_errors(
            "# of\ncase,metric,unit,printed,direction,tolerance\nRC5,time,ms,1,less,10\n,time,ms,1,lower,\n\
             RC4,time\nDES,time,ms,\"1,234\",lower,\nAES,time,ms,1,lower,\nAES,time,ms,2,lower,101 %\nAES,time,s,2,higher,\n",
            expect![[r#"
                line 3: found `less` in `direction`, expected `lower`, `higher` or `neither`
                line 3: found `10` in `tolerance`, expected a percentage from `0 %` to `100 %`
                line 4: found `` in `case`, expected a name
                line 5: found 2 fields, expected 6
                line 6: found `1,234` in `printed`, expected a plain number such as `1234.50`, or a word
                line 8: found `101 %` in `tolerance`, expected a percentage from `0 %` to `100 %`
                line 9: found `time` of `AES` again, expected each cell once
            "#]],
        );
        check_errors(
            "case,value\n",
            expect![[r#"
                found the columns `case,value`, expected `case,metric,unit,printed,direction,tolerance`
            "#]],
        );
        check_errors(
            "",
            expect![[r#"
                found the columns ``, expected `case,metric,unit,printed,direction,tolerance`
            "#]],
        );
    }

    proptest! {
        #[test]
        fn any_literal_is_a_number_or_a_word_and_survives_json(literal in "[-+0-9.eE]{0,12}|\\PC{0,8}") {
            let printed = Printed::new(literal.clone());
            // The witness for our grammar is serde_json's own reader.
            let reader = serde_json::from_str::<serde_json::Number>(&literal);
            let power_is_short = literal.split(['e', 'E']).nth(1).is_none_or(|power| power.len() <= 3);
            if power_is_short && literal.trim() == literal {
                prop_assert_eq!(printed.number().is_some(), reader.is_ok(), "{}", literal);
            }
            let json = serde_json::to_string(&printed).unwrap();
            prop_assert_eq!(serde_json::from_str::<Printed>(&json).unwrap(), printed);
        }


        #[test]
        fn reading_a_file_never_panics(text in any::<String>(), line in "[a-z%,0-9 \"#\n-]{0,80}") {
            let _ = read_csv(&text);
            let (cells, errors) = read_csv(&format!("{}\n{line}", COLUMNS.join(",")));
            prop_assert!(cells.len() + errors.len() <= 2 * 80);
        }
    }
}
