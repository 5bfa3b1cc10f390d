//! Rows as they are kept, so that an interrupted run goes on: a line of JSON each, with where it comes from.
//!
//! Owns the lines, and that rows of another run are not taken for those of this one. Files are the roof's. A line
//! that is cut off at the end is what an interruption leaves, and is done again; any other line that is no row is an
//! error.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::estimate::{Row, State};
use crate::model::Models;
use crate::stored;

/// What a row is a function of, besides its subject and size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// This program and its version.
    pub tool: String,
    /// The processor.
    pub profile: String,
    /// Its instruction set.
    pub instruction_set: String,
    /// Which leaves of the basic layer.
    pub leaves: String,
    /// How the program was linked where models were made.
    pub layout: u64,
    /// The compiler there, and how it optimised.
    pub compiler: String,
    /// What the models' inputs were drawn from.
    pub models_seed: u64,
    /// The first half of the models' SHA-256.
    pub models: String,
    /// How cycles are told: `native` or `analytic`.
    pub mode: String,
    /// What operands are drawn from.
    pub seed: u64,
}

impl Provenance {
    /// Of rows by these models.
    pub fn new(models: &Models, mode: &str, seed: u64) -> Provenance {
        let digest = Sha256::digest(stored::write(models));
        let origin = &models.origin;
        Provenance {
            tool: concat!("selvedge ", env!("CARGO_PKG_VERSION")).to_owned(),
            profile: origin.profile.clone(),
            instruction_set: origin.instruction_set.clone(),
            leaves: origin.leaves.clone(),
            layout: origin.layout,
            compiler: origin.compiler.clone(),
            models_seed: origin.seed,
            models: digest[..16].iter().map(|byte| format!("{byte:02x}")).collect(),
            mode: mode.to_owned(),
            seed,
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Line {
    #[serde(flatten)]
    row: Row,
    #[serde(flatten)]
    provenance: Provenance,
}

/// A row as a line, with its end.
pub fn line(row: &Row, provenance: &Provenance) -> String {
    let line = Line { row: row.clone(), provenance: provenance.clone() };
    serde_json::to_string(&line).expect("rows are numbers and names") + "\n"
}

/// Rows that were kept, by subject, size and state.
pub type Kept = HashMap<(String, u32, State), Row>;

/// Reads what a run kept; and how many bytes of it are whole lines.
///
/// # Errors
/// A line that is no row, or one of another run than `provenance` is.
pub fn read(text: &str, provenance: &Provenance) -> Result<(Kept, usize), Error> {
    let whole = text.rfind('\n').map_or(0, |at| at + 1);
    let mut kept = Kept::new();
    for (index, words) in text[..whole].lines().enumerate() {
        let number = index + 1;
        let line: Line = serde_json::from_str(words)
            .map_err(|error| Error::RowLine { line: number, why: error.to_string() })?;
        if line.provenance != *provenance {
            let [found, expected] = [&line.provenance, provenance].map(fields);
            let what = expected.iter().zip(&found).find(|(expected, found)| expected != found);
            let ((name, expected), (_, found)) = what.expect("they are not equal");
            return Err(Error::OtherRun {
                what: name.clone(),
                found: found.to_string(),
                expected: expected.to_string(),
            });
        }
        kept.insert((line.row.subject.clone(), line.row.size, line.row.state), line.row);
    }
    Ok((kept, whole))
}

/// Its fields by name, in a fixed order.
fn fields(provenance: &Provenance) -> Vec<(String, serde_json::Value)> {
    match serde_json::to_value(provenance) {
        Ok(serde_json::Value::Object(fields)) => fields.into_iter().collect(),
        _ => unreachable!("it is an object"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provenance(seed: u64) -> Provenance {
        let word = || "word".to_owned();
        Provenance {
            tool: word(),
            profile: word(),
            instruction_set: word(),
            leaves: word(),
            layout: 0,
            compiler: word(),
            models_seed: 1,
            models: word(),
            mode: word(),
            seed,
        }
    }

    fn row(size: u32) -> Row {
        Row {
            subject: "cios/binary/garner/fresh/32".to_owned(),
            size,
            state: State::Cold,
            cycles: 12.5,
            ram_bytes: Some(7),
            code_bytes: None,
            constant_time: None,
            outside: Vec::new(),
        }
    }

    #[test]
    fn what_was_kept_is_read_but_for_a_line_that_is_cut_off() {
        let text: String = [512, 1024].map(|size| line(&row(size), &provenance(1))).concat();
        let (kept, whole) = read(&text, &provenance(1)).expect("it is ours");
        assert_eq!((kept.len(), whole), (2, text.len()));
        assert_eq!(kept[&(row(512).subject, 512, State::Cold)], row(512));
        let (kept, whole) = read(&text[..text.len() - 3], &provenance(1)).expect("it is ours");
        assert_eq!(kept.len(), 1);
        assert_eq!(&text[whole..whole + 1], "{");
    }

    #[test]
    fn rows_of_another_run_and_lines_that_are_none_are_refused() {
        let text = line(&row(512), &provenance(2));
        let error = read(&text, &provenance(1)).expect_err("the seed is another").to_string();
        assert!(error.contains("seed") && error.contains('2') && error.contains('1'), "{error}");
        let error = read("{\"subject\":\n", &provenance(1)).expect_err("it is cut off in a line");
        assert!(matches!(error, Error::RowLine { line: 1, .. }), "{error}");
    }
}
