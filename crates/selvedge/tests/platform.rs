//! `selvedge paper platform`, with `SELVEDGE_SOAK=1`: every cell of the paper that its first half has is measured, and what
//! is counted is what the document says. Models are made first, which takes minutes; what rows are made of in a short run is
//! tested where they are made.

#[path = "../../cipher/tests/soak/mod.rs"]
mod soak;

use std::path::Path;
use std::process::Command;

use report::paper::{PaperRow, Verdict, read_ndjson};
use soak::is_soak;

/// What custom instructions bring is the second half's.
const SECOND_HALF: &str = include_str!("../src/papers/platform/second-half.csv");

#[test]
fn every_cell_but_those_of_custom_instructions_is_measured() {
    if !is_soak() {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(env!("CARGO_BIN_EXE_selvedge"));
    let output = command.args(["paper", "platform", "--json", "--root"]).arg(root).output();
    let output = output.expect("selvedge runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (rows, errors) = read_ndjson(&String::from_utf8(output.stdout).expect("rows are text"));
    assert_eq!(errors, []);
    let missing = rows.iter().filter(|row| row.verdict() == Verdict::Missing).count();
    let cells = SECOND_HALF.lines().filter(|line| line.starts_with('"')).count();
    assert_eq!(missing, cells, "what is missing is the second half's");
    let number = |case: &str, metric: &str| {
        let found = rows.iter().find(|row| (row.case(), row.metric()) == (case, metric));
        let value = found.and_then(PaperRow::ours).and_then(|value| value.number());
        value.unwrap_or_else(|| panic!("no number of {case}, {metric}"))
    };
    assert_eq!(number("modular exponentiation", "candidates"), 450.0);
    let error_percent = number("macro-models", "mean absolute error");
    println!("mean absolute error {error_percent:.2} %");
    assert!(error_percent > 0.0 && error_percent < 5.0, "{error_percent}");
    // How long it takes is the machine's.
    assert!(number("all candidates by macro-models", "time") > 0.0);
}
