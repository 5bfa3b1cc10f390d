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
/// Who says so.
const COUNTED: [&str; 2] = ["explore", "explore::space's tests"];
const RUN: [&str; 2] = ["firmware/crypto natively", "isa::rv32"];
const GRAPH: [&str; 2] = ["isa::rv32::calls", "firmware/crypto's counts"];
const SECONDS_A_DAY: f64 = 86_400.0;

fn cells(text: &str) -> Vec<PrintedCell> {
    let (cells, errors) = read_csv(text);
    assert!(errors.is_empty(), "the file is ours: {errors:?}");
    cells
}

/// Sets values beside the cells of a file, which are as many and in this order.
fn beside(table: &str, text: &str, values: &[Value], witnesses: &[&str], source: &str) -> Vec<PaperRow> {
    let cells = cells(text);
    assert_eq!(cells.len(), values.len(), "{table}");
    let row = |(cell, value): (&PrintedCell, &Value)| {
        PaperRow::new(PAPER, table, cell, Some(value.clone()), witnesses, source)
    };
    cells.iter().zip(values).map(row).collect()
}

/// A cell that the paper does not have.
fn ours(case: &str, metric: &str, unit: &str, direction: Direction) -> PrintedCell {
    let (case, metric, unit) = (case.to_owned(), metric.to_owned(), unit.to_owned());
    PrintedCell { case, metric, unit, printed: None, direction, tolerance: None }
}

/// All rows.
pub fn rows(measured: &Measurement, source: &str) -> Vec<PaperRow> {
    let [candidates, both] = measured.counted.candidates;
    let [simulated_s, natively_s] = measured.six_s;
    let [by_native, by_formula] = measured.faster;
    let all_days = simulated_s / 6.0 * both as f64 / SECONDS_A_DAY;
    let mut rows = beside("section-1", SECTION_1, &[both.into(), all_days.into()], &RUN, source);
    let mut values: Vec<Value> = vec![candidates.into()];
    values.extend(measured.counted.axes.map(Value::from));
    // Six by their hours beside all by theirs, as the paper's hours are set beside each other.
    let by_hours = simulated_s / 6.0 / (measured.all_s / candidates as f64);
    let timed =
        [measured.all_s / 60.0, simulated_s / 3600.0, by_native, by_hours, 100.0 * measured.errors[0]];
    values.extend(timed.map(Value::from));
    rows.extend(beside("section-4.3", SECTION_4_3, &values, &RUN, source));
    let more = [
        ("by formulas", "times as fast as the simulator", "", Direction::Higher, by_formula),
        ("by formulas", "mean absolute error", "%", Direction::Lower, 100.0 * measured.errors[1]),
        ("six candidates by native runs", "time", "s", Direction::Lower, natively_s),
    ];
    rows.extend(more.map(|(case, metric, unit, direction, value)| {
        let cell = ours(case, metric, unit, direction);
        PaperRow::new(PAPER, "section-4.3", &cell, Some(value.into()), &RUN, source)
    }));
    let mut values = measured.counted.calls.map(Value::from).to_vec();
    values.push(measured.counted.callers.len().into());
    rows.extend(beside("figure-4", FIGURE_4, &values, &GRAPH, source));
    for mut cell in cells(SECOND_HALF) {
        let (table, case) =
            cell.case.split_once(' ').map(|(a, b)| (a.to_owned(), b.to_owned())).expect("two words");
        cell.case = case;
        rows.push(PaperRow::new(PAPER, table, &cell, None, &COUNTED[..0], source));
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
        let rows = rows(&measured, "selvedge paper platform");
        let printed = [SECTION_1, SECTION_4_3, FIGURE_4, SECOND_HALF].map(|text| cells(text).len());
        assert_eq!(rows.len(), printed.iter().sum::<usize>() + 3);
        let missing = rows.iter().filter(|row| row.ours().is_none()).count();
        assert_eq!(missing, printed[3]);
        let words: Vec<_> =
            rows.iter().filter(|row| row.table() == "figure-4").map(|row| row.verdict().word()).collect();
        assert_eq!(words, ["same"; 6]);
    }
}
