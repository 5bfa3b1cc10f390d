//! What a benchmark says at its end: rows of what it measured, and its goals, each met or not.
//!
//! Owns how goals are shown: a table for a person, rows for a machine, and lines for `scripts/bench.sh`. What is measured
//! and wanted is the benchmark's.

use report::row::{Clock, Experiment, Row, Value};
use report::table::{Column, Entry, Table};
use selvedge::error::Error;

use crate::output::Output;

/// What a value has to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wanted {
    /// This or more.
    AtLeast(f64),
    /// This or less.
    AtMost(f64),
}

/// A goal, and what was measured.
struct Goal {
    what: String,
    value: f64,
    peer: &'static str,
    /// The other's value, with its unit.
    peer_value: String,
    wanted: Wanted,
}

/// Rows and goals of one benchmark.
pub struct Goals {
    title: &'static str,
    experiment: Experiment,
    rows: Vec<Row>,
    goals: Vec<Goal>,
}

impl Goals {
    /// None yet.
    pub fn new(title: &'static str, source: &str) -> Goals {
        Goals { title, experiment: Experiment::new(title, source), rows: Vec::new(), goals: Vec::new() }
    }

    /// Something was measured.
    pub fn row(&mut self, case: &str, metric: &str, value: impl Into<Value>, unit: &str, clock: Clock) {
        self.rows.push(self.experiment.row(case, metric, value, unit, clock));
    }

    /// A value with a goal, beside the value of `peer`.
    pub fn goal(&mut self, what: &str, value: f64, peer: &'static str, peer_value: String, wanted: Wanted) {
        self.goals.push(Goal { what: what.to_owned(), value, peer, peer_value, wanted });
    }

    /// Prints everything: as JSON where that is wanted, else tables, or lines in place of that of the goals.
    ///
    /// # Errors
    /// [`Error::Output`].
    pub fn show(&self, output: &Output, as_lines: bool) -> Result<(), Error> {
        if output.is_json() {
            return output.rows(self.title, &self.all_rows());
        }
        output.rows("Measured", &self.rows)?;
        if as_lines {
            output.text(&self.goals.iter().map(Goal::line).collect::<String>())
        } else {
            output.text(&self.table().text(None))
        }
    }

    /// What was measured, and of each goal what was wanted.
    fn all_rows(&self) -> Vec<Row> {
        let mut rows = self.rows.clone();
        for goal in &self.goals {
            let (Wanted::AtLeast(bound) | Wanted::AtMost(bound)) = goal.wanted;
            let value = |metric, value: f64| self.experiment.row(&goal.what, metric, value, "", Clock::Wall);
            rows.extend([value("value", goal.value), value(goal.wanted.word(), bound)]);
            rows.push(self.experiment.row(&goal.what, "met", goal.is_met().to_string(), "", Clock::None));
        }
        rows
    }

    /// The goals.
    pub fn table(&self) -> Table {
        let columns = ["goal", "value", "peer", "peer's", "wanted", "met"].map(Column::new);
        let mut table = Table::new("Goals", columns);
        for goal in &self.goals {
            table.push([
                Entry::from(goal.what.as_str()),
                format!("{:.3}", goal.value).into(),
                goal.peer.into(),
                goal.peer_value.as_str().into(),
                goal.wanted.words().into(),
                if goal.is_met() { "yes" } else { "NO" }.into(),
            ]);
        }
        table
    }
}

impl Wanted {
    fn word(self) -> &'static str {
        match self {
            Wanted::AtLeast(_) => "wanted, at least",
            Wanted::AtMost(_) => "wanted, at most",
        }
    }

    fn words(self) -> String {
        match self {
            Wanted::AtLeast(bound) => format!(">= {bound}"),
            Wanted::AtMost(bound) => format!("<= {bound}"),
        }
    }
}

impl Goal {
    fn is_met(&self) -> bool {
        match self.wanted {
            Wanted::AtLeast(bound) => self.value >= bound,
            Wanted::AtMost(bound) => self.value <= bound,
        }
    }

    /// For `scripts/bench.sh`.
    fn line(&self) -> String {
        let Goal { what, value, peer, peer_value, wanted } = self;
        format!("goal\t{what}\t{value:.3}\t{peer}\t{peer_value}\t{}\n", wanted.words())
    }
}
