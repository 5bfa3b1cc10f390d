//! All the words of this crate's input faults. Faults of the caller's own code are assertions instead.

use crate::limits::LINE_BYTES_MAX;
use crate::paper::Verdict;
use std::fmt;

/// What can be wrong with rows and printed cells that are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// A line of NDJSON is longer than [`crate::limits::LINE_BYTES_MAX`].
    LineTooLong {
        /// Line number, from 1.
        line: usize,
        /// Bytes found.
        bytes: usize,
    },
    /// A line is not JSON, or not a row: a key is missing, unknown or of the wrong type.
    NotRow {
        /// Line number, from 1.
        line: usize,
        /// Column of the fault, from 1; 0 where the line as a whole is at fault.
        column: usize,
        /// What the JSON reader found and expected.
        found: String,
    },
    /// A value is in a unit of time, and the row does not say whose time it is.
    ClockMissing {
        /// Line number, from 1.
        line: usize,
        /// The unit of the value.
        unit: String,
    },
    /// A paper row's verdict does not fit which of its two values are there.
    VerdictAtOdds {
        /// Line number, from 1.
        line: usize,
        /// The verdict found.
        verdict: Verdict,
    },
    /// A file of printed cells is not CSV.
    NotCsv {
        /// Line number, from 1.
        line: u64,
        /// What the CSV reader found and expected.
        found: String,
    },
    /// A file of printed cells has other columns.
    PrintedHeader {
        /// The columns found, joined by commas.
        found: String,
        /// The columns expected, joined by commas.
        expected: String,
    },
    /// A line has too few or too many fields.
    PrintedFieldCount {
        /// Line number, from 1.
        line: u64,
        /// Fields found.
        found: usize,
        /// Fields expected.
        expected: usize,
    },
    /// A field of a printed cell cannot be read.
    PrintedField {
        /// Line number, from 1.
        line: u64,
        /// The name of the column.
        column: &'static str,
        /// The field found.
        found: String,
        /// What may stand there.
        expected: &'static str,
    },
    /// Two lines of a file are the same cell.
    PrintedTwice {
        /// Line number of the second one, from 1.
        line: u64,
        /// The case of both.
        case: String,
        /// The metric of both.
        metric: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::LineTooLong { line, bytes } => {
                write!(f, "line {line}: found {bytes} bytes, expected at most {}", LINE_BYTES_MAX)
            }
            Error::NotRow { line, column: 0, found } => write!(f, "line {line}: {found}"),
            Error::NotRow { line, column, found } => write!(f, "line {line}, column {column}: {found}"),
            Error::ClockMissing { line, unit } => write!(
                f,
                "line {line}: found clock `none` with the unit `{unit}`, expected `cell` or `wall`\n\
                 help: simulated time is `cell`; time that a person waits is `wall`"
            ),
            Error::VerdictAtOdds { line, verdict } => {
                let expected = match verdict {
                    Verdict::Missing => "`ours` null",
                    Verdict::Unprinted => "`ours` a value and `printed` null",
                    _ => "values in `ours` and `printed`",
                };
                write!(f, "line {line}: found the verdict `{verdict}`, which expects {expected}")
            }
            Error::NotCsv { line, found } => write!(f, "line {line}: {found}"),
            Error::PrintedHeader { found, expected } => {
                write!(f, "found the columns `{found}`, expected `{expected}`")
            }
            Error::PrintedFieldCount { line, found, expected } => {
                write!(f, "line {line}: found {found} fields, expected {expected}")
            }
            Error::PrintedField { line, column, found, expected } => {
                write!(f, "line {line}: found `{found}` in `{column}`, expected {expected}")
            }
            Error::PrintedTwice { line, case, metric } => {
                write!(f, "line {line}: found `{metric}` of `{case}` again, expected each cell once")
            }
        }
    }
}

impl std::error::Error for Error {}
