//! Rows of what was found, beside what the paper prints.
//!
//! Owns the metrics that are ours alone, and which of the printed ones are measured.

use report::paper::PaperRow;
use report::printed::{Direction, PrintedCell, read_csv};
use report::row::Value;

use super::measure::Measurement;

/// The key of the paper.
const PAPER: &str = "platform";
const SECTION_1: &str = include_str!("section-1.csv");
const SECTION_4_3: &str = include_str!("section-4.3.csv");
const FIGURE_4: &str = include_str!("figure-4.csv");
const SECOND_HALF: &str = include_str!("second-half.csv");
/// Who says so: of candidates; of what is run on both sides; of calls, which `measure` compares, and of who calls, which
/// is not counted.
const COUNTED: [&str; 2] = ["explore", "explore::space's tests"];
const RUN: [&str; 2] = ["firmware/crypto natively", "isa::rv32"];
const CALLS: [&str; 2] = ["isa::rv32::calls", "firmware/crypto's counts"];
const CALLERS: [&str; 1] = ["isa::rv32::calls"];
const SECONDS_A_DAY: f64 = 86_400.0;

fn cells(text: &str) -> Vec<PrintedCell> {
    let (cells, errors) = read_csv(text);
    assert!(errors.is_empty(), "the file is ours: {errors:?}");
    cells
}

/// What gives values again: those that are the same everywhere, and times, which are of a program on a machine.
pub struct Source<'a> {
    /// Of the former.
    pub counted: &'a str,
    /// Of the latter.
    pub timed: &'a str,
}

/// A value, who says so, and what gives it again.
type Found<'a> = (Value, &'a [&'a str], &'a str);

/// Sets values beside the cells of a file, which are as many and in this order.
fn beside(table: &str, text: &str, values: Vec<Found>) -> Vec<PaperRow> {
    let cells = cells(text);
    assert_eq!(cells.len(), values.len(), "{table}");
    let row = |(cell, (value, witnesses, source)): (&PrintedCell, Found)| {
        PaperRow::new(PAPER, table, cell, Some(value), witnesses, source)
    };
    cells.iter().zip(values).map(row).collect()
}

/// A cell that the paper does not have.
fn ours(case: &str, metric: &str, unit: &str, direction: Direction) -> PrintedCell {
    let (case, metric, unit) = (case.to_owned(), metric.to_owned(), unit.to_owned());
    PrintedCell { case, metric, unit, printed: None, direction, tolerance: None }
}

/// All rows.
pub fn rows(measured: &Measurement, source: &Source) -> Vec<PaperRow> {
    let counted = |value: Value| -> Found { (value, &COUNTED, source.counted) };
    let compared = |value: f64| -> Found { (value.into(), &RUN, source.counted) };
    let timed = |value: f64| -> Found { (value.into(), &RUN, source.timed) };
    let [candidates, both] = measured.counted.candidates;
    let [simulated_s, natively_s] = measured.six_s;
    let [by_native, by_formula] = measured.faster;
    let all_days = simulated_s / 6.0 * both as f64 / SECONDS_A_DAY;
    let mut rows = beside("section-1", SECTION_1, vec![counted(both.into()), timed(all_days)]);
    let mut values = vec![counted(candidates.into())];
    values.extend(measured.counted.axes.map(|axis| counted(axis.into())));
    // Six by their hours beside all by theirs, as the paper's hours are set beside each other.
    let by_hours = simulated_s / 6.0 / (measured.all_s / candidates as f64);
    values.extend([measured.all_s / 60.0, simulated_s / 3600.0, by_native, by_hours].map(timed));
    values.push(compared(100.0 * measured.errors[0]));
    rows.extend(beside("section-4.3", SECTION_4_3, values));
    let error = compared(100.0 * measured.errors[1]);
    let more = [
        ("by formulas", "times as fast as the simulator", "", Direction::Higher, timed(by_formula)),
        ("by formulas", "mean absolute error", "%", Direction::Lower, error),
        ("six candidates by native runs", "time", "s", Direction::Lower, timed(natively_s)),
    ];
    rows.extend(more.map(|(case, metric, unit, direction, (value, witnesses, source))| {
        let cell = ours(case, metric, unit, direction);
        PaperRow::new(PAPER, "section-4.3", &cell, Some(value), witnesses, source)
    }));
    let mut values: Vec<Found> = Vec::new();
    values.extend(measured.counted.calls.map(|calls| -> Found { (calls.into(), &CALLS, source.counted) }));
    values.push((measured.counted.callers.len().into(), &CALLERS, source.counted));
    rows.extend(beside("figure-4", FIGURE_4, values));
    for mut cell in cells(SECOND_HALF) {
        let (table, case) =
            cell.case.split_once(' ').map(|(a, b)| (a.to_owned(), b.to_owned())).expect("two words");
        cell.case = case;
        rows.push(PaperRow::new(PAPER, table, &cell, None, &[], source.counted));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::super::measure::Counted;
    use super::*;

    #[test]
    fn every_printed_cell_is_a_row_once_and_what_custom_instructions_bring_is_missing() {
        let measured = Measurement {
            counted: Counted {
                axes: [5, 5, 3, 2, 3],
                candidates: [450, 720],
                calls: [4, 4, 2, 2, 2],
                callers: ["a", "b", "c"].map(str::to_owned).to_vec(),
            },
            all_s: 4.0,
            six_s: [6.0, 0.06],
            faster: [100.0, 1e5],
            errors: [0.01, 0.02],
        };
        let rows = rows(&measured, &Source { counted: "a command", timed: "a command on a machine" });
        let printed = [SECTION_1, SECTION_4_3, FIGURE_4, SECOND_HALF].map(|text| cells(text).len());
        assert_eq!(rows.len(), printed.iter().sum::<usize>() + 3);
        let missing = rows.iter().filter(|row| row.ours().is_none()).count();
        assert_eq!(missing, printed[3]);
        let words: Vec<_> =
            rows.iter().filter(|row| row.table() == "figure-4").map(|row| row.verdict().word()).collect();
        assert_eq!(words, ["same"; 6]);
        // What is a time, or a ratio of times, is of a machine; counts and cycles are the same everywhere.
        let timed = rows.iter().filter(|row| row.source().ends_with("machine"));
        let metrics: Vec<&str> = timed.map(PaperRow::metric).collect();
        assert_eq!(metrics.len(), 7);
        assert!(metrics.iter().all(|metric| metric.starts_with("time")), "{metrics:?}");
    }
}
