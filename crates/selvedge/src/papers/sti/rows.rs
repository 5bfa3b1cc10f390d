//! Rows of what was measured, beside what the paper prints.
//!
//! Owns the metrics and their names, and which witnesses each has.

use report::paper::PaperRow;
use report::printed::{Direction as Better, PrintedCell, read_csv};
use report::row::Value;

use super::cells::{Case, Cell, Cipher, Scheme};
use super::even::Even;
use super::measure::{Bench, Found, Measured};

/// The key of the paper.
const PAPER: &str = "sti-avrx";
/// What the paper's text prints.
const PRINTED: &str = include_str!("printed.csv");

/// Every cycle of a woven program was said before it ran.
const PROVED: [&str; 2] = ["isa::avr", "proof of text and linked image"];
/// What the handler takes and what the cipher does are counted apart, and make up the whole.
const ACCOUNTED: [&str; 2] = ["isa::avr, the cipher's accesses", "isa::avr, cycles outside the handler"];
const SIMULATED: [&str; 1] = ["isa::avr"];
/// What weaving estimates of the cipher, and one measured handler.
const SCHEDULED: [&str; 2] = ["schedule of selvedge weave", "T_ISR and T_idle"];
const LINKED: [&str; 2] = ["linked image", "isa::avr runs it"];

/// How much more host work a byte than with a compiled handler.
const MORE_THAN_COMPILED: &str = "host bytes per byte more than with the compiled ISR";
/// And than with the best.
const MORE_THAN_BEST: &str = "host bytes per byte more than with the best ISR";
/// How much more host work a second.
const FASTER_THAN_COMPILED: &str = "host bytes/s more than with the compiled ISR";
/// And than with the best.
const FASTER_THAN_BEST: &str = "host bytes/s more than with the best ISR";

/// A metric of the cells.
pub struct Metric {
    /// Its name in rows.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Digits behind the point, for a person.
    pub decimals: usize,
    better: Better,
    /// Its value, where it has one.
    pub of: fn(&Measured) -> Option<Value>,
}

/// Every metric.
pub const METRICS: [Metric; 8] = [
    Metric {
        name: "host bytes per byte",
        unit: "%",
        decimals: 1,
        better: Better::Higher,
        of: |found| Some((100.0 * found.share).into()),
    },
    Metric {
        name: "bus rate",
        unit: "bytes/s",
        decimals: 0,
        better: Better::Higher,
        of: |found| Some(found.bus_rate().into()),
    },
    Metric {
        name: "host rate",
        unit: "bytes/s",
        decimals: 0,
        better: Better::Higher,
        of: |found| Some(found.host_rate().into()),
    },
    Metric {
        name: "code",
        unit: "bytes",
        decimals: 0,
        better: Better::Lower,
        of: |found| Some((found.code_bytes as i64).into()),
    },
    Metric {
        name: "jitter",
        unit: "cycles",
        decimals: 0,
        better: Better::Lower,
        of: |found| Some((found.jitter_cycles() as i64).into()),
    },
    Metric {
        name: "handler",
        unit: "cycles per byte",
        decimals: 1,
        better: Better::Lower,
        of: |found| found.handler_cycles.map(Value::from),
    },
    Metric {
        name: "recovered",
        unit: "%",
        decimals: 1,
        better: Better::Higher,
        of: |found| found.recovered.map(|share| (100.0 * share).into()),
    },
    Metric {
        name: "growth",
        unit: "x",
        decimals: 2,
        better: Better::Lower,
        of: |found| found.growth.map(Value::from),
    },
];

/// A cell with what it is.
pub struct Result<'a> {
    /// Its case.
    pub bench: &'a Bench,
    /// Which.
    pub cell: Cell,
    /// What was found.
    pub found: Found,
}

impl Result<'_> {
    /// Its name in rows.
    pub fn name(&self) -> String {
        let Cell { scheme, divider, .. } = self.cell;
        format!("{}, {}, f/{divider}", self.bench.case.name(), scheme.name())
    }

    /// The measurement, if it is one.
    pub fn measured(&self) -> Option<&Measured> {
        match &self.found {
            Found::Measured(measured) => Some(measured),
            Found::Not(_) => None,
        }
    }

    fn witnesses(&self) -> &'static [&'static str] {
        match (self.cell.scheme, &self.found) {
            (_, Found::Not(_)) => &["selvedge weave"],
            (Scheme::Woven | Scheme::WovenSmall | Scheme::Coupled, _) => &PROVED,
            (Scheme::Compiled | Scheme::Reserved, _) => &ACCOUNTED,
            (Scheme::BusyWait, _) => &SIMULATED,
        }
    }
}

/// What is printed of a row, or that nothing is.
struct Printed(Vec<PrintedCell>);

impl Printed {
    fn cell(&self, case: &str, metric: &str, unit: &str, better: Better) -> PrintedCell {
        let is_it = |cell: &&PrintedCell| cell.case == case && cell.metric == metric;
        let unprinted = || PrintedCell {
            case: case.to_owned(),
            metric: metric.to_owned(),
            unit: unit.to_owned(),
            printed: None,
            direction: better,
            tolerance: None,
        };
        self.0.iter().find(is_it).cloned().unwrap_or_else(unprinted)
    }
}

/// The figure that shows a metric of a case.
fn figure(case: &Case, metric: &str) -> &'static str {
    match (case.host.cipher, metric) {
        (Cipher::Rc4 | Cipher::Rc4Line, "code" | "growth") => "figure-10",
        (Cipher::Rc5, "code" | "growth") => "figure-11",
        (Cipher::Rc4 | Cipher::Rc4Line, _) => "figure-8",
        (Cipher::Rc5, _) => "figure-9",
        (Cipher::Ascon | Cipher::Aes | Cipher::Chacha20, _) => "modern",
    }
}

/// The rows: those of the ciphers alone, then those of each cell.
pub fn rows(benches: &[Bench], results: &[Result], source: &str) -> Vec<PaperRow> {
    let (cells, errors) = read_csv(PRINTED);
    assert!(errors.is_empty(), "the file is ours: {errors:?}");
    let printed = Printed(cells);
    let row = |case: &Case, name: &str, metric: &str, unit: &str, better, value, witnesses: &[&str]| {
        let cell = printed.cell(name, metric, unit, better);
        PaperRow::new(PAPER, figure(case, metric), &cell, Some(value), witnesses, source)
    };
    let mut rows = Vec::new();
    for bench in benches {
        let (case, name) = (&bench.case, bench.case.name());
        let cycles = bench.alone.cycles_per_byte(case);
        rows.push(row(case, &name, "cycles per byte", "cycles", Better::Lower, cycles.into(), &SIMULATED));
        let code = bench.alone.code_bytes as i64;
        rows.push(row(case, &name, "code", "bytes", Better::Lower, code.into(), &LINKED));
    }
    for even in Even::all(benches, results) {
        let (case, name) = (&even.bench.case, even.bench.case.name());
        let with = if even.handler == Scheme::Reserved { "best" } else { "compiled" };
        for (how, words, witnesses) in
            [("computed", even.computed(), &SCHEDULED[..]), ("measured", even.measured(), &SIMULATED)]
        {
            let metric = format!("dividers with more host work than with the {with} ISR, {how}");
            rows.push(row(case, &name, &metric, "", Better::Higher, Value::Text(words), witnesses));
        }
    }
    for result in results {
        let (case, name) = (&result.bench.case, result.name());
        let mut push = |metric: &str, unit: &str, better, value: Value| {
            let witnesses = if metric == "code" { &LINKED[..] } else { result.witnesses() };
            rows.push(row(case, &name, metric, unit, better, value, witnesses));
        };
        for metric in &METRICS {
            match &result.found {
                Found::Measured(measured) => {
                    (metric.of)(measured).into_iter().for_each(|value| {
                        push(metric.name, metric.unit, metric.better, value);
                    });
                }
                Found::Not(words) if metric.name == "host bytes per byte" => {
                    push(metric.name, metric.unit, metric.better, Value::Text(words.clone()));
                }
                Found::Not(_) => {}
            }
        }
        for (metric, value) in gains(result, results) {
            push(metric, "%", Better::Higher, value);
        }
    }
    rows
}

/// How much more a woven cell does than those with handlers, in percent.
fn gains(result: &Result, results: &[Result]) -> Vec<(&'static str, Value)> {
    let Some(woven) = result.measured().filter(|_| result.cell.scheme.is_woven()) else { return Vec::new() };
    let mut gains = Vec::new();
    for (scheme, more, faster) in [
        (Scheme::Compiled, MORE_THAN_COMPILED, FASTER_THAN_COMPILED),
        (Scheme::Reserved, MORE_THAN_BEST, FASTER_THAN_BEST),
    ] {
        let is_beside = |other: &&Result| {
            let (cell, ours) = (other.cell, result.cell);
            (cell.case, cell.scheme, cell.divider) == (ours.case, scheme, ours.divider)
        };
        let Some(other) = results.iter().find(is_beside).and_then(Result::measured) else { continue };
        let gain = |ours: f64, theirs: f64| -> Value {
            // Beside no work at all there is no ratio.
            if theirs > 0.0 { (100.0 * (ours / theirs - 1.0)).into() } else { "the ISR does nothing".into() }
        };
        gains.push((more, gain(woven.share, other.share)));
        gains.push((faster, gain(woven.host_rate(), other.host_rate())));
    }
    gains
}
