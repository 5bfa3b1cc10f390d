//! What a subject takes on a processor, without running it there: a native run, and what its counts are worth.
//!
//! Owns rows: cycles, memory, code, and what makes one doubtful. Ranking is `rank`'s, constant time is `constant`'s;
//! files are the roof's.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::constant::Verdict;
use crate::error::Error;
use crate::model::{Estimate, Models};
use crate::native::{Native, ROUTINES};
use crate::subject::Subject;

/// What is kept from one operation to the next, as it was when cycles were told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Nothing was kept yet.
    Cold,
    /// What the subject keeps was there.
    Warm,
}

impl State {
    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            State::Cold => "cold",
            State::Warm => "warm",
        }
    }
}

/// What is known of a subject at a size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Its name.
    pub subject: String,
    /// Its size, in the unit of its family.
    pub size: u32,
    /// Cold or warm.
    pub state: State,
    /// Cycles.
    pub cycles: f64,
    /// Bytes of state and scratch of the caller's, and of the stack; nothing where one of them is not told.
    pub ram_bytes: Option<u64>,
    /// Bytes of the stack alone; nothing where models do not say.
    pub stack_bytes: Option<u64>,
    /// Bytes of code of all routines that were called; nothing where models do not say.
    pub code_bytes: Option<u64>,
    /// Bytes of the tables and other constants that these read; nothing where models do not say.
    pub table_bytes: Option<u64>,
    /// Whether no secret decided its time, as far as that was looked at.
    pub constant_time: Option<bool>,
    /// What was looked at for that, and where secrets decided the time.
    #[serde(flatten)]
    pub verdict: Option<Verdict>,
    /// Why the estimate is doubtful: routines beyond what they were characterised for.
    pub outside: Vec<String>,
}

/// The rows of a subject that was run natively: cold, and warm if it keeps something.
///
/// # Errors
/// A routine was called and has no model.
pub fn rows(subject: &Subject, size: u32, native: &Native, models: &Models) -> Result<Vec<Row>, Error> {
    let states = [State::Cold, State::Warm];
    let rows = native.turns.iter().zip(states).map(|(counts, state)| {
        let estimate = models.estimate(counts)?;
        let stack_bytes = models.stack_bytes(counts);
        let callers_bytes = native.memory_bytes.map(|bytes| bytes as u64);
        Ok(Row {
            subject: subject.to_string(),
            size,
            state,
            cycles: estimate.cycles,
            ram_bytes: callers_bytes.zip(stack_bytes).map(|(callers, stack)| callers + stack),
            stack_bytes,
            code_bytes: code_bytes(&estimate, models),
            table_bytes: table_bytes(&estimate, models),
            constant_time: None,
            verdict: None,
            outside: estimate.outside.iter().map(Error::to_string).collect(),
        })
    });
    rows.collect()
}

impl Row {
    /// Bytes of code and tables, where both are known.
    pub fn rom_bytes(&self) -> Option<u64> {
        Some(self.code_bytes? + self.table_bytes?)
    }

    /// The same with what following secrets came to.
    #[must_use]
    pub fn judged(self, verdict: Option<Verdict>) -> Row {
        Row { constant_time: verdict.as_ref().map(|verdict| verdict.places.is_empty()), verdict, ..self }
    }
}

/// Tables of all routines that were called, each once.
fn table_bytes(estimate: &Estimate, models: &Models) -> Option<u64> {
    let mut tables = BTreeMap::new();
    for (routine, _) in &estimate.by_routine {
        let model = models.routines[*routine].as_ref().expect("what was estimated has a model");
        tables.extend(model.tables.as_ref()?.iter().map(|(name, bytes)| (name, u64::from(*bytes))));
    }
    Some(tables.into_values().sum())
}

/// Code of all routines that were called.
fn code_bytes(estimate: &Estimate, models: &Models) -> Option<u64> {
    let of = |&(routine, _): &(usize, f64)| {
        let model = models.routines[routine].as_ref().expect("what was estimated has a model");
        (model.code_bytes > 0).then_some(u64::from(model.code_bytes))
    };
    estimate.by_routine.iter().map(of).sum()
}

/// What each routine takes of an estimate, the most first: name and cycles.
pub fn shares(estimate: &Estimate) -> Vec<(&'static str, f64)> {
    let named =
        estimate.by_routine.iter().map(|&(routine, cycles)| (ROUTINES[routine].name.as_str(), cycles));
    let mut shares: Vec<_> = named.collect();
    shares.sort_by(|a, b| b.1.total_cmp(&a.1));
    shares
}
