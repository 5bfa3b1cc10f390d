//! Rows of what was measured, beside what the paper prints. Owns the metrics and their names, and which witnesses
//! each has.

use report::paper::PaperRow;
use report::printed::{Direction as Better, PrintedCell};
use report::row::Value;

use super::Shown;
use super::batch::NODES;
use super::cells::Part;
use super::compared::{Line, Printed};
use super::expansion;
use super::measure::Found;
use super::path::{self, TERMS};
use super::statistics::Spread;

/// The key of the paper.
const PAPER: &str = "multicore-aes";
/// Both encrypt the same plaintext, and are compared before and after they are timed.
const WITNESSES: [&str; 2] = ["collect::aes::intra", "collect::aes::multi, equal ciphertext"];
/// A block under the expanded key is encrypted by both.
const EXPANDED: [&str; 2] = ["collect::aes::intra", "collect::aes::block, equal ciphertext"];
/// What arrives is compared with what was sent.
const ARRIVED: [&str; 2] = ["collect::convert", "samples arrive as they were sent"];
const LINUX: [&str; 1] = ["Linux"];
const PRINTED: [&str; 1] = ["the paper's tables"];
/// What stands beside a printed time.
const BOTH: &str = "encryption and decryption";

/// Its name, and how it is taken.
type Statistic = (&'static str, fn(&Spread) -> f64);

/// The statistics of each time; the paper says neither how often it measured nor which of them it prints.
const STATISTICS: [Statistic; 5] = [
    ("median", |spread| spread.median_ns),
    ("middle half", Spread::middle_half_ns),
    ("minimum", |spread| spread.minimum_ns),
    ("mean", |spread| spread.mean_ns),
    ("maximum seen, no bound", |spread| spread.maximum_ns),
];

struct Rows<'a> {
    source: &'a str,
    rows: Vec<PaperRow>,
}

/// Where a row stands.
#[derive(Clone, Copy)]
struct Place<'a> {
    table: &'a str,
    case: &'a str,
    unit: &'a str,
}

impl Place<'_> {
    fn unit_ns(&self) -> f64 {
        match self.unit {
            "s" => 1e9,
            "ms" => 1e6,
            _ => 1e3,
        }
    }
}

/// All rows.
pub fn rows(shown: &Shown) -> Vec<PaperRow> {
    let mut rows = Rows { source: shown.source, rows: Vec::new() };
    let printed = Printed::read();
    for result in shown.measured.results {
        let cell = &result.cell;
        let beside = cell.printed().map(|name| printed.cell(cell.part, cell.key_bytes, name));
        let (table, unit) = match cell.part {
            Part::Table1 => ("table-1", "ms"),
            Part::Table2 => ("table-2", "s"),
            _ => ("figure-11", "s"),
        };
        rows.found(Place { table, case: &cell.name(), unit }, 1.0, beside, &result.found);
    }
    shown.measured.expansions.iter().for_each(|result| rows.expansion(result));
    for result in shown.measured.batches {
        let case = &result.case.name();
        rows.found(Place { table: "batch", case, unit: "us" }, 1.0 / NODES as f64, None, &result.found);
    }
    shown.paths.iter().for_each(|result| rows.path(result));
    shown.lines.iter().for_each(|line| rows.line(line));
    for (metric, unit, value) in shown.machine.facts() {
        rows.push(Place { table: "machine", case: "this run", unit }, metric, None, value, &LINUX);
    }
    rows.rows
}

impl Rows<'_> {
    fn push(
        &mut self,
        place: Place,
        metric: &str,
        beside: Option<&PrintedCell>,
        value: Value,
        witnesses: &[&str],
    ) {
        let cell = PrintedCell {
            case: place.case.to_owned(),
            metric: metric.to_owned(),
            unit: place.unit.to_owned(),
            printed: beside.and_then(|cell| cell.printed.clone()),
            direction: beside.map_or(Better::Lower, |cell| cell.direction),
            tolerance: beside.and_then(|cell| cell.tolerance),
        };
        self.rows.push(PaperRow::new(PAPER, place.table, &cell, Some(value), witnesses, self.source));
    }

    fn count(&mut self, place: Place, metric: &str, count: usize, witnesses: &[&str]) {
        self.push(Place { unit: "", ..place }, metric, None, count.into(), witnesses);
    }

    /// A cell; the rows have a share of its time.
    fn found(&mut self, place: Place, share: f64, beside: Option<&PrintedCell>, found: &Found) {
        let times = match found {
            Found::Measured(times) => times,
            Found::Not(words) => {
                let metric = format!("{BOTH}, wall time, median");
                return self.push(place, &metric, beside, Value::Text(words.clone()), &LINUX);
            }
        };
        self.spread(place, BOTH, share, beside, &times.both, &WITNESSES);
        self.spread(place, "encryption", share, None, &times.encryption, &WITNESSES);
        self.spread(place, "decryption", share, None, &times.decryption, &WITNESSES);
        self.count(place, "repetitions", times.both.repetitions, &WITNESSES);
        self.count(place, "calls in a repetition", times.calls, &WITNESSES);
    }

    fn spread(
        &mut self,
        place: Place,
        what: &str,
        share: f64,
        beside: Option<&PrintedCell>,
        spread: &Spread,
        witnesses: &[&str],
    ) {
        for (name, of) in STATISTICS {
            let beside = beside.filter(|_| name == "median");
            let value = (of(spread) * share / place.unit_ns()).into();
            self.push(place, &format!("{what}, wall time, {name}"), beside, value, witnesses);
        }
    }

    fn expansion(&mut self, result: &expansion::Result) {
        let place = Place { table: "expansion", case: &result.case.name(), unit: "us" };
        match &result.found {
            Ok((calls, spread)) => {
                self.spread(place, "expansion", 1.0, None, spread, &EXPANDED);
                self.count(place, "repetitions", spread.repetitions, &EXPANDED);
                self.count(place, "calls in a repetition", *calls, &EXPANDED);
            }
            Err(words) => {
                let metric = "expansion, wall time, median";
                self.push(place, metric, None, Value::Text(words.clone()), &LINUX);
            }
        }
    }

    fn path(&mut self, result: &path::Result) {
        let place = Place { table: "equation-7", case: &result.case.name(), unit: "us" };
        match &result.found {
            Ok(spreads) => {
                for (term, spread) in TERMS.into_iter().zip(spreads) {
                    self.spread(place, term, 1.0, None, spread, &ARRIVED);
                }
                self.count(place, "repetitions", spreads[0].repetitions, &ARRIVED);
            }
            Err(words) => {
                self.push(place, "t_ovr, wall time, median", None, Value::Text(words.clone()), &LINUX);
            }
        }
    }

    fn line(&mut self, line: &Line) {
        let place = Place { table: "ratios", case: &line.case, unit: line.unit };
        let what = if line.unit == "ns" { format!("{}, wall time", line.what) } else { line.what.clone() };
        if let Some(ours) = line.ours {
            self.push(place, &what, None, ours.into(), &WITNESSES);
        }
        if let Some(printed) = line.printed {
            self.push(place, &format!("{what}, of printed numbers"), None, printed.into(), &PRINTED);
        }
    }
}
