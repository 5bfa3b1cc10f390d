//! Rows of what was found, beside what the paper prints.
//!
//! Owns the metrics and their names, and which witnesses each has.

use broker::simulation::sharing::Sharing;
use report::paper::PaperRow;
use report::printed::{Direction as Better, Printed, PrintedCell, read_csv};
use report::row::Value;

use super::explain::{COUNTS, Explained};
use super::sweep::{DATA_BYTES, DEVICES, Gain, Swept, length, name, timer, work};
use super::witness::{TOLERANCE, Witnessed};

/// The key of the paper.
const PAPER: &str = "mecha";
/// What the paper's text prints.
const PRINTED: &str = include_str!("printed.csv");
/// The core, the link and the device as they are shipped, in a time of their own.
const SIMULATED: [&str; 1] = ["broker::simulation"];
/// And processes.
const BOTH: [&str; 2] = ["broker::simulation", "processes"];
const SIMULATED_SOURCE: &str = "selvedge paper mecha --simulated";
const SOURCE: &str = "selvedge paper mecha";

struct Rows {
    printed: Vec<PrintedCell>,
    rows: Vec<PaperRow>,
}

/// All rows.
pub fn rows(swept: &Swept, explained: &[Explained], witnessed: &[Witnessed]) -> Vec<PaperRow> {
    let (printed, errors) = read_csv(PRINTED);
    assert!(errors.is_empty(), "the file is ours: {errors:?}");
    let mut rows = Rows { printed, rows: Vec::new() };
    rows.figure(swept);
    explained.iter().for_each(|explained| rows.explained(explained));
    rows.goals(swept);
    rows.sweep(swept);
    witnessed.iter().for_each(|witnessed| rows.witnessed(witnessed));
    rows.rows
}

impl Rows {
    fn push(
        &mut self,
        table: &str,
        case: &str,
        metric: &str,
        unit: &str,
        better: Better,
        value: impl Into<Value>,
    ) {
        let is_it = |cell: &&PrintedCell| cell.case == case && cell.metric == metric && table == "figure-5";
        let unprinted = || PrintedCell {
            case: case.to_owned(),
            metric: metric.to_owned(),
            unit: unit.to_owned(),
            printed: None,
            direction: better,
            tolerance: None,
        };
        let cell = self.printed.iter().find(is_it).cloned().unwrap_or_else(unprinted);
        self.push_cell(table, &cell, value.into());
    }

    fn push_cell(&mut self, table: &str, cell: &PrintedCell, value: Value) {
        let (witnesses, source) = match table {
            "witness" => (&BOTH[..], SOURCE),
            _ => (&SIMULATED[..], SIMULATED_SOURCE),
        };
        self.rows.push(PaperRow::new(PAPER, table, cell, Some(value), witnesses, source));
    }

    /// With the preset's re-open cost and SEND_IMMEDIATE.
    fn figure(&mut self, swept: &Swept) {
        for (count, times) in swept.figure(DEVICES[0]) {
            let case = format!("{count} x 64 KiB");
            let [theirs, .., ours] = times;
            for (sharing, time_s) in Sharing::ALL.into_iter().zip(times) {
                self.push("figure-5", &case, &format!("time, {}", name(sharing)), "s", Better::Lower, time_s);
            }
            for (metric, unit, value) in [
                ("time saved over re-opening", "s", theirs - ours),
                ("less time than by re-opening", "%", 100.0 * (1.0 - ours / theirs)),
                ("more requests a second than by re-opening", "%", 100.0 * (theirs / ours - 1.0)),
            ] {
                self.push("figure-5", &case, metric, unit, Better::Higher, value);
            }
        }
    }

    fn explained(&mut self, explained: &Explained) {
        let Explained { device, pdu_bytes, broker, fit, opens_ms } = *explained;
        let case = format!("{}, requests of {}, broker: {}", timer(device), length(pdu_bytes), name(broker));
        let table = "settings";
        let none = || Value::from("none: it is too much when opening costs nothing");
        let open = fit.map_or_else(none, |fit| (1000.0 * fit.open.as_secs_f64()).into());
        self.push(table, &case, "re-open cost for 1.91 s at 5", "ms", Better::Neither, open);
        if let Some(fit) = fit {
            let [few, many] = COUNTS;
            for (metric, unit, printed, value) in [
                (format!("then saved at {few}"), "s", "1.91", fit.saved_s),
                (format!("then less time at {many}"), "%", "82.8", 100.0 * fit.less_time),
                (format!("then more requests a second at {many}"), "%", "82.8", 100.0 * fit.more_rate),
            ] {
                let cell = PrintedCell {
                    case: case.clone(),
                    metric,
                    unit: unit.to_owned(),
                    printed: Some(Printed::new(printed)),
                    direction: Better::Neither,
                    tolerance: None,
                };
                self.push_cell(table, &cell, value.into());
            }
        }
        for (open_ms, reading) in opens_ms.into_iter().zip(["less time", "more requests a second"]) {
            let metric = format!("re-open cost for 82.8 % {reading} at 80");
            self.push(table, &case, &metric, "ms", Better::Neither, open_ms.map_or_else(none, Value::from));
        }
    }

    fn goals(&mut self, swept: &Swept) {
        if let Some(took) = swept.took(DEVICES[0], Sharing::Gathered, work(80, DATA_BYTES), None) {
            for (share, what) in took.clocks.shares().into_iter().zip(["requests", "answers"]) {
                let metric = format!("SPI cycles with bytes of {what}, wanted: at least 97");
                self.push("goals", "80 x 64 KiB", &metric, "%", Better::Higher, 100.0 * share);
            }
        }
        for gain in Gain::all(swept) {
            let case = format!("80 applications, {}, over {}", length(gain.pdu_bytes), name(gain.over));
            self.push("goals", &case, "requests a second", "x", Better::Higher, gain.times);
            self.push("goals", &case, "possible", "x", Better::Higher, gain.possible);
            let metric = "of the possible, wanted: at least 90";
            self.push("goals", &case, metric, "%", Better::Higher, 100.0 * gain.share());
        }
    }

    fn sweep(&mut self, swept: &Swept) {
        for (point, took) in swept.iter() {
            let (case, requests) = (point.name(), point.requests());
            let clocks = took.clocks;
            self.push("sweep", &case, "time", "s", Better::Lower, took.time.as_secs_f64());
            let opens = clocks.opens as f64 / requests;
            self.push("sweep", &case, "openings of the device per request", "", Better::Lower, opens);
            let transactions = clocks.transactions as f64 / requests;
            self.push("sweep", &case, "transactions per request", "", Better::Lower, transactions);
        }
    }

    fn witnessed(&mut self, found: &Witnessed) {
        let case = format!(
            "{} x 64 KiB in {}, {}",
            found.work.count,
            length(found.work.pdu_bytes),
            name(found.sharing)
        );
        let words = if found.agrees() { "yes" } else { "no" };
        let within = format!("within {:.0} %", 100.0 * TOLERANCE);
        let mut push = |metric: &str, unit, value: Value| {
            self.push("witness", &case, metric, unit, Better::Lower, value);
        };
        push("time, wall", "s", found.time_s.into());
        push("time, simulated", "s", found.simulated_s.into());
        push("apart", "%", (100.0 * found.off()).into());
        push(&within, "", words.into());
        push("context switches per request", "", found.switches.into());
        push("wake-ups per request", "", found.wake_ups.into());
        push("openings of the device per request", "", found.opens.into());
    }
}
