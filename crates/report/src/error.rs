//! All the words of this crate's input faults. Faults of the caller's own code are assertions instead.

use crate::limits::LINE_BYTES_MAX;
use crate::paper::Verdict;
use std::fmt;

/// What can be wrong with rows that are read back.
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
        }
    }
}

impl std::error::Error for Error {}
