//! A recording: one column of a CSV file, the signal that a node's converter sees.
//!
//! Owns reading it and its scale. Amplification and the converter's range belong to the node.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::Serialize;

use super::deployment::{Input, value};
use super::draft::InputDraft;
use super::problem::{Kind, Problem};
use crate::error::words;
use crate::limits;

/// A recorded signal, sampled evenly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Recording {
    /// Samples a second.
    pub rate_hz: u64,
    /// The raw value that stands for 0 V.
    pub zero: i64,
    /// Nanovolts for one unit of the raw value.
    pub scale_nv: u64,
    /// Whether the recording begins again when it ends.
    pub repeat: bool,
    /// Raw values.
    #[serde(skip)]
    pub samples: Vec<i32>,
}

impl Recording {
    /// The signal at sample `index`, in nanovolts; `None` after the end of a recording that does not repeat.
    pub fn nanovolts(&self, index: u64) -> Option<i64> {
        let count = self.samples.len() as u64;
        let index = if self.repeat { index.checked_rem(count)? } else { index };
        let raw = *self.samples.get(usize::try_from(index).ok()?)?;
        // |raw - zero| < 2^33 and the scale is at most 10^9 nV: 64 bits hold the product only just, so
        // saturate rather than wrap; no converter tells the difference.
        Some((i64::from(raw) - self.zero).saturating_mul(i64::try_from(self.scale_nv).unwrap_or(i64::MAX)))
    }

    /// How long it lasts once, in picoseconds.
    pub fn duration_ps(&self) -> u64 {
        let duration_ps =
            self.samples.len() as u128 * u128::from(limits::PS_PER_SECOND) / u128::from(self.rate_hz);
        u64::try_from(duration_ps).unwrap_or(u64::MAX)
    }
}

/// The signal that a draft names, if it can be read.
pub(super) fn input(draft: &InputDraft, folder: &Path, problems: &mut Vec<Problem>) -> Option<Input> {
    let (file, column) = (draft.file.as_ref()?, draft.column.as_ref()?);
    let path = folder.join(&file.value);
    let samples = match read(&path, &column.value) {
        Ok(samples) => samples,
        Err(fault) => {
            problems.push(Problem { span: file.span.clone(), kind: Kind::Recording { path, fault } });
            return None;
        }
    };
    let recording = Recording {
        rate_hz: value(&draft.rate)?.unsigned_abs(),
        zero: value(&draft.zero).unwrap_or(0),
        scale_nv: value(&draft.scale)?.unsigned_abs(),
        repeat: value(&draft.repeat).unwrap_or(false),
        samples,
    };
    Some(Input { name: draft.name.value.clone(), path, recording })
}

/// Reads the column named `column` of the CSV file at `path`: a header line, then whole numbers.
/// The error says what was found and expected, and on which line.
pub(super) fn read(path: &Path, column: &str) -> Result<Vec<i32>, String> {
    let file = File::open(path).map_err(|error| words(&error))?;
    if !file.metadata().map_err(|error| words(&error))?.is_file() {
        return Err("not a regular file".into());
    }
    parse(file.take(limits::RECORDING_BYTES_MAX), column)
}

fn parse(file: impl Read, column: &str) -> Result<Vec<i32>, String> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(file);
    let header = reader.headers().map_err(|error| error.to_string())?;
    let Some(index) = header.iter().position(|name| name == column) else {
        let names: Vec<_> = header.iter().map(|name| format!("`{}`", name.escape_default())).collect();
        return Err(format!("no column `{column}`, found {}", names.join(", ")));
    };
    let mut samples = Vec::new();
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(|error| error.to_string())? {
        let text = record.get(index).unwrap_or("");
        let Ok(sample) = text.parse() else {
            let line = record.position().map_or(0, csv::Position::line);
            return Err(format!("line {line}: found `{}`, expected a whole number", text.escape_default()));
        };
        if samples.len() == limits::RECORDING_SAMPLES_MAX {
            return Err(format!("found more than {} samples", limits::RECORDING_SAMPLES_MAX));
        }
        samples.push(sample);
    }
    if samples.is_empty() { Err("no samples below the header".into()) } else { Ok(samples) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_column_is_found_by_name() {
        assert_eq!(parse(&b"time,mlii\n0, 975\n1,-3\n"[..], "mlii"), Ok(vec![975, -3]));
    }

    #[test]
    fn a_fault_names_its_line() {
        assert_eq!(parse(&b"a\n1\n"[..], "b"), Err("no column `b`, found `a`".into()));
        assert_eq!(
            parse(&b"a\n1\n1.5\n"[..], "a"),
            Err("line 3: found `1.5`, expected a whole number".into())
        );
        assert_eq!(parse(&b"a\n"[..], "a"), Err("no samples below the header".into()));
    }

    #[test]
    fn the_end_is_an_end_unless_it_repeats() {
        let once = Recording { rate_hz: 2, zero: 10, scale_nv: 5, repeat: false, samples: vec![10, 12] };
        assert_eq!((once.nanovolts(1), once.nanovolts(2)), (Some(10), None));
        assert_eq!(once.duration_ps(), limits::PS_PER_SECOND);
        assert_eq!(Recording { repeat: true, ..once }.nanovolts(3), Some(10));
    }

    proptest! {
        #[test]
        fn any_bytes_have_an_answer(bytes: Vec<u8>) {
            let _ = parse(&bytes[..], "a");
        }
    }
}
