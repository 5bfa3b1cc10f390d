//! Rows as they are kept, so that an interrupted run goes on: a line of JSON each, with where it comes from; and what
//! following secrets came to, a line for each subject that was followed, cold and warm.
//!
//! Owns the lines, and that those of another run are not taken for those of this one. Files are the roof's. A line
//! that is cut off at the end is what an interruption leaves, and is done again; any other line that is neither is an
//! error.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::constant::Verdict;
use crate::error::Error;
use crate::estimate::{Row, State};
use crate::model::Models;
use crate::stored;

/// This program and its version.
pub const TOOL: &str = concat!("selvedge ", env!("CARGO_PKG_VERSION"));
/// The digest of the library's and the bench's sources (`sources`, by `build.rs`). The leaves of native runs are not in it:
/// they count what all leaves count.
pub const SOURCES: &str = env!("EXPLORE_SOURCES");

/// What a row is a function of, besides its subject and size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// This program and its version.
    pub tool: String,
    /// The library that it has, as [`SOURCES`].
    pub sources: String,
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
    /// The library that the models are of, as [`SOURCES`]; empty where they do not say.
    #[serde(default)]
    pub models_sources: String,
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
        let origin = &models.origin;
        Provenance {
            tool: TOOL.to_owned(),
            sources: SOURCES.to_owned(),
            profile: origin.profile.clone(),
            instruction_set: origin.instruction_set.clone(),
            leaves: origin.leaves.clone(),
            layout: origin.layout,
            compiler: origin.compiler.clone(),
            models_seed: origin.seed,
            models_sources: origin.sources.clone(),
            models: half_digest(stored::write(models).as_bytes()),
            mode: mode.to_owned(),
            seed,
        }
    }
}

/// The first half of a SHA-256, in hexadecimal digits.
pub(crate) fn half_digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes)[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What is kept, with where it comes from.
#[derive(Serialize, Deserialize)]
struct Line<T> {
    #[serde(flatten)]
    kept: T,
    #[serde(flatten)]
    provenance: Provenance,
}

/// A verdict, and when it holds.
#[derive(Clone, Serialize, Deserialize)]
struct Judged {
    state: State,
    #[serde(flatten)]
    verdict: Verdict,
}

fn written<T: Serialize>(kept: T, provenance: &Provenance) -> String {
    let line = Line { kept, provenance: provenance.clone() };
    serde_json::to_string(&line).expect("lines are numbers and names") + "\n"
}

/// A row as a line, with its end.
pub fn line(row: &Row, provenance: &Provenance) -> String {
    written(row, provenance)
}

/// A verdict as a line, with its end.
pub fn verdict_line(verdict: &Verdict, state: State, provenance: &Provenance) -> String {
    written(Judged { state, verdict: verdict.clone() }, provenance)
}

/// What runs kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kept {
    /// Rows by subject, size and state.
    pub rows: HashMap<(String, u32, State), Row>,
    /// What following secrets came to, by the subject that was followed, its size and state.
    pub verdicts: HashMap<(String, u32, State), Verdict>,
}

/// Reads what a run kept, whose rows are of these provenances; and how many bytes of it are whole lines.
///
/// # Errors
/// A line that is neither a row nor a verdict, or one of another run.
pub fn read(text: &str, provenances: &[Provenance]) -> Result<(Kept, usize), Error> {
    let whole = text.rfind('\n').map_or(0, |at| at + 1);
    let mut kept = Kept::default();
    for (index, words) in text[..whole].lines().enumerate() {
        let bad = |error: serde_json::Error| Error::RowLine { line: index + 1, why: error.to_string() };
        let value: serde_json::Value = serde_json::from_str(words).map_err(bad)?;
        let provenance = if value.get("subject").is_none() && value.get("followed").is_some() {
            let Line { kept: Judged { state, verdict }, provenance } =
                serde_json::from_value(value).map_err(bad)?;
            kept.verdicts.insert((verdict.followed.clone(), verdict.followed_size, state), verdict);
            provenance
        } else {
            let Line::<Row> { kept: row, provenance } = serde_json::from_value(value).map_err(bad)?;
            kept.rows.insert((row.subject.clone(), row.size, row.state), row);
            provenance
        };
        check(&provenance, provenances)?;
    }
    Ok((kept, whole))
}

/// That a line is of this run: of one of its provenances, of which that with the same leaves is meant.
fn check(found: &Provenance, expected: &[Provenance]) -> Result<(), Error> {
    if expected.contains(found) {
        return Ok(());
    }
    let meant = expected.iter().find(|one| one.leaves == found.leaves).or(expected.first());
    let [found, expected] = [found, meant.expect("a run has a provenance")].map(fields);
    let what = expected.iter().zip(&found).find(|(expected, found)| expected != found);
    let ((name, expected), (_, found)) = what.expect("they are not equal");
    Err(Error::OtherRun { what: name.clone(), found: found.to_string(), expected: expected.to_string() })
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
    use isa::rv32::Leak;

    use super::*;
    use crate::constant::Telling;

    fn provenance(seed: u64) -> Provenance {
        let word = || "word".to_owned();
        Provenance {
            tool: word(),
            sources: word(),
            profile: word(),
            instruction_set: word(),
            leaves: word(),
            layout: 0,
            compiler: word(),
            models_seed: 1,
            models_sources: word(),
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
            stack_bytes: Some(3),
            code_bytes: None,
            table_bytes: None,
            constant_time: None,
            verdict: None,
            outside: Vec::new(),
        }
    }

    fn verdict() -> Verdict {
        let place = Telling {
            line: "crypto/block/aes_t4.c:31".to_owned(),
            function: "aes_t4_encrypt".to_owned(),
            kind: Leak::Address,
            count: 16,
        };
        Verdict { followed: "aes_t4".to_owned(), followed_size: 128, places: vec![place] }
    }

    fn read_one(text: &str, provenance: Provenance) -> Result<(Kept, usize), Error> {
        read(text, &[provenance])
    }

    #[test]
    fn what_was_kept_is_read_but_for_a_line_that_is_cut_off() {
        let text: String = [512, 1024].map(|size| line(&row(size), &provenance(1))).concat();
        let (kept, whole) = read_one(&text, provenance(1)).expect("it is ours");
        assert_eq!((kept.rows.len(), whole), (2, text.len()));
        assert_eq!(kept.rows[&(row(512).subject, 512, State::Cold)], row(512));
        let (kept, whole) = read_one(&text[..text.len() - 3], provenance(1)).expect("it is ours");
        assert_eq!(kept.rows.len(), 1);
        assert_eq!(&text[whole..whole + 1], "{");
    }

    #[test]
    fn verdicts_are_kept_beside_rows_and_with_them() {
        let judged = row(512).judged(Some(verdict()));
        assert_eq!(judged.constant_time, Some(false));
        let text = line(&judged, &provenance(1)) + &verdict_line(&verdict(), State::Warm, &provenance(1));
        let (kept, _) = read_one(&text, provenance(1)).expect("it is ours");
        assert_eq!(kept.rows[&(judged.subject.clone(), 512, State::Cold)], judged);
        assert_eq!(kept.verdicts[&("aes_t4".to_owned(), 128, State::Warm)], verdict());
        assert!(text.contains("\"kind\":\"address\""), "{text}");
    }

    #[test]
    fn rows_of_another_run_and_lines_that_are_none_are_refused() {
        let text = line(&row(512), &provenance(2));
        let error = read_one(&text, provenance(1)).expect_err("the seed is another").to_string();
        assert!(error.contains("seed") && error.contains('2') && error.contains('1'), "{error}");
        let other = Provenance { sources: "others".to_owned(), ..provenance(2) };
        let error = read_one(&text, other.clone()).expect_err("a routine was changed").to_string();
        assert!(error.contains("sources"), "{error}");
        let other = Provenance { leaves: "other".to_owned(), ..other };
        assert!(read(&text, &[other, provenance(2)]).is_ok(), "it is of the second of both");
        let error = read_one("{\"subject\":\n", provenance(1)).expect_err("it is cut off in a line");
        assert!(matches!(error, Error::RowLine { line: 1, .. }), "{error}");
    }
}
