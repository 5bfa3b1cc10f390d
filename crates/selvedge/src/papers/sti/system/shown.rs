//! What is shown of the cells: rows, tables, and the paper's figure 6 as measured.
//!
//! Owns the metrics and their names.

use ::cell::energy::{DRAWS, SUPPLY_V};
use report::chart::{Axis, Timeline, Tone};
use report::page::Section;
use report::paper::PaperRow;
use report::printed::{Direction as Better, PrintedCell};
use report::row::Value;
use report::table::{Column, Entry, Table};
use selvedge::link::filters::Filters;

use super::bench::{RATE_HZ, SAMPLES};
use super::{Case, Found, Measured, conditions, rate};
use crate::phases;

/// The divider of figure 6.
const SHOWN_DIVIDER: u8 = 16;
/// What is shown around the slot of figure 6, in ms from its instant.
const SHOWN_MS: (f64, f64) = (-24.0, 24.0);
const PS_PER_US: f64 = 1e6;
const PS_PER_MS: f64 = 1e9;

const SIMULATED: [&str; 1] = ["cell"];

/// A cell, and what came of it.
pub struct Result {
    /// Which.
    pub case: Case,
    /// What.
    pub found: Found,
}

impl Result {
    fn measured(&self) -> Option<&Measured> {
        match &self.found {
            Found::Measured(measured) => Some(measured),
            Found::Not(_) => None,
        }
    }
}

/// A metric of the cells.
struct Metric {
    name: &'static str,
    unit: &'static str,
    decimals: usize,
    better: Better,
    of: fn(&Measured) -> Option<f64>,
}

const fn metric(
    name: &'static str,
    unit: &'static str,
    decimals: usize,
    better: Better,
    of: fn(&Measured) -> Option<f64>,
) -> Metric {
    Metric { name, unit, decimals, better, of }
}

const ENERGY: &str = "energy per byte";
const RATE: &str = "highest sample rate";

/// Of frames and samples.
#[rustfmt::skip]
const OF_FRAMES: [Metric; 6] = [
    metric("byte to byte", "cycles", 1, Better::Lower, |found| Some(found.slot.byte_cycles)),
    metric("bus rate", "bytes/s", 0, Better::Higher, |found| Some(found.bus_rate())),
    metric("into sealing", "%", 1, Better::Higher, |found| Some(100.0 * found.slot.share())),
    metric("sealed per slot", "bytes", 1, Better::Higher, |found| Some(found.sealed_bytes())),
    metric("slot off", "us", 2, Better::Lower, |found| Some(found.course.slot_off_ps as f64 / PS_PER_US)),
    metric("sample off", "us", 2, Better::Lower, |found| Some(found.course.sample_off_ps as f64 / PS_PER_US)),
];

/// Of the node as a whole.
#[rustfmt::skip]
const OF_NODE: [Metric; 3] = [
    metric("awake per byte", "cycles/byte", 0, Better::Lower, |found| Some(found.course.awake_cycles_per_byte)),
    metric(ENERGY, "uJ/byte", 3, Better::Lower, |found| Some(found.course.microjoules_per_byte)),
    metric(RATE, "Hz", 0, Better::Higher, |found| found.rate.as_ref().map(|rate| rate.hz)),
];

/// The rows of all cells.
pub fn rows(results: &[Result], source: &str) -> Vec<PaperRow> {
    let row = |case: &Case, metric: &str, unit: &str, better, value, witnesses: &[&str]| {
        let (case, metric, unit) = (case.name(), metric.to_owned(), unit.to_owned());
        let cell = PrintedCell { case, metric, unit, printed: None, direction: better, tolerance: None };
        PaperRow::new("sti-avrx", "system", &cell, Some(value), witnesses, source)
    };
    let (first, mut rows) = (&OF_FRAMES[0], Vec::new());
    for Result { case, found } in results {
        let measured = match found {
            Found::Measured(measured) => measured,
            Found::Not(words) => {
                let why = Value::Text(format!("{}: {words}", conditions()));
                rows.push(row(case, first.name, first.unit, first.better, why, &SIMULATED));
                continue;
            }
        };
        for metric in OF_FRAMES.iter().chain(&OF_NODE) {
            let witnesses = if metric.name == ENERGY { [DRAWS[0].source] } else { SIMULATED };
            let value = (metric.of)(measured).map(Value::from);
            rows.extend(
                value.map(|value| row(case, metric.name, metric.unit, metric.better, value, &witnesses)),
            );
        }
        let limit = match &measured.rate {
            Some(rate) => format!("{}; with {} samples a frame", rate.limit, rate.samples),
            None => format!("not even {RATE_HZ} Hz are sustained"),
        };
        let limit = format!("{limit}; searched {}", rate::searched());
        let name = "what is in the way of a higher sample rate";
        rows.push(row(case, name, "", Better::Higher, Value::Text(limit), &SIMULATED));
    }
    rows
}

/// A table of these metrics, a line a cell, with what `behind` says in columns of these names.
fn table_of<const COLUMNS: usize>(
    title: String,
    metrics: &[Metric],
    names: [&str; COLUMNS],
    results: &[Result],
    behind: fn(&Found) -> [Entry; COLUMNS],
) -> Table {
    let named =
        metrics.iter().map(|metric| Column::new(metric.name).unit(metric.unit).decimals(metric.decimals));
    let columns = [Column::new("filters"), Column::new("SPI")].into_iter().chain(named);
    let mut table = Table::new(title, columns.chain(names.map(Column::new)));
    for result in results {
        let case = &result.case;
        let mut line: Vec<Entry> = vec![case.scheme().name().into(), format!("f/{}", case.divider).into()];
        let value = |metric: &Metric| (metric.of)(result.measured()?);
        line.extend(metrics.iter().map(|metric| value(metric).map_or(Entry::Blank, Entry::from)));
        line.extend(behind(&result.found));
        table.push(line);
    }
    table
}

/// Two tables, a line a cell.
pub fn tables(results: &[Result]) -> [Table; 2] {
    let frames = format!("Frames of a node, {}", conditions());
    let whole = format!("The node, {}, {SUPPLY_V} V", conditions());
    let limits = ["with samples a frame", "in the way of more"];
    [
        table_of(frames, &OF_FRAMES, [], results, |_| []),
        table_of(whole, &OF_NODE, limits, results, |found| match found {
            Found::Measured(measured) => {
                measured.rate.as_ref().map_or([Entry::Blank, Entry::Blank], |rate| {
                    [u64::from(rate.samples).into(), rate.limit.as_str().into()]
                })
            }
            Found::Not(words) => [Entry::Blank, words.as_str().into()],
        }),
    ]
}

/// The tables and figure 6.
pub fn section(results: &[Result]) -> Option<Section> {
    let chart = around_a_slot(results);
    let section = Section::new("In a whole node").text(format!(
        "The same schemes as filters of the node's firmware, under its kernel and its controller, with the frames of one node \
         and its gateway: a frame of {SAMPLES} samples is sealed, under Ascon-AEAD128, while the one before it goes out. \
         By busy-waiting it is sealed before.",
    ));
    let [frames, whole] = tables(results);
    let of_frames = "From one run of each. What goes into sealing is of the cycles between bytes; what is off, from its \
                     instant, at most. Sealing is not measured further than to its end, which comes before the line's at f/64.";
    let of_node = format!(
        "A byte is one that is sealed and sent. The highest sample rate was searched {}; at it no sample is lost or refused, \
         and each frame is in its slot.",
        rate::searched()
    );
    let section = section.table(frames, of_frames).table(whole, of_node);
    (!results.is_empty()).then(|| match chart {
        Some(chart) => section.chart(
            chart,
            "After figure 6: who has the processor around the node's slot, from the phases that the firmware says and the \
             simulator watches. A handler's own time is within what it interrupts.",
        ),
        None => section,
    })
}

/// Figure 6, of the cells that were measured at its divider.
fn around_a_slot(results: &[Result]) -> Option<Timeline> {
    let axis = Axis::linear("from the slot's instant", "ms");
    let mut chart = Timeline::new(format!("Around a slot, f/{SHOWN_DIVIDER}"), axis);
    let kinds = phases::kinds(&mut chart);
    let (beacon, frame) = (chart.kind("from the gateway", Tone::Neutral), chart.kind("frame", Tone::Third));
    let mut is_empty = true;
    for filters in [Filters::Discrete, Filters::Handler, Filters::Woven] {
        let case = Case { filters, divider: SHOWN_DIVIDER };
        let result = results.iter().find(|result| result.case == case);
        let Some(course) = result.and_then(Result::measured).map(|measured| &measured.course) else {
            continue;
        };
        is_empty = false;
        let ms = |ps: u64| ((ps as f64 - course.slot_ps as f64) / PS_PER_MS).clamp(SHOWN_MS.0, SHOWN_MS.1);
        let core = chart.lane(format!("{}: core", case.scheme().name()));
        for &(phase, start_ps, end_ps) in &course.spans {
            let kind = kinds.iter().find(|(shown, _)| *shown == phase);
            let (start, end) = (ms(start_ps), ms(end_ps));
            if let Some((_, kind)) = kind.filter(|_| start < end) {
                chart.interval(core, *kind, start, end, "");
            }
        }
        let bus = chart.lane(format!("{}: bus", case.scheme().name()));
        for &(is_node, start_ps, end_ps) in &course.bus {
            let (start, end) = (ms(start_ps), ms(end_ps));
            if start < end {
                chart.interval(bus, if is_node { frame } else { beacon }, start, end, "");
            }
        }
    }
    (!is_empty).then_some(chart)
}
