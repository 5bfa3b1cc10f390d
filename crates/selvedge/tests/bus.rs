//! `selvedge paper bus`: what its rows say of a few programs in a quick form, and with `SELVEDGE_SOAK=1` of all; there the
//! tables of docs/paper-bus.md are compared, too, or with `BLESS=1` written.

mod printed;
#[path = "../../cipher/tests/soak/mod.rs"]
mod soak;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use report::paper::{PaperRow, Verdict, read_ndjson};
use report::row::Value;
use soak::is_soak;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn said(words: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_selvedge"));
    let output = command.args(["paper", "bus", "--root"]).arg(root()).args(words).output();
    let output = output.expect("selvedge runs");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("it is text")
}

fn read(text: &str) -> Vec<PaperRow> {
    let (rows, errors) = read_ndjson(text);
    assert_eq!(errors, []);
    assert!(!rows.is_empty());
    rows
}

/// The numbers of a metric in a table, by case.
fn numbers<'a>(rows: &'a [PaperRow], table: &str, metric: &str) -> BTreeMap<&'a str, f64> {
    let of_metric = rows.iter().filter(|row| (row.table(), row.metric()) == (table, metric));
    of_metric.filter_map(|row| Some((row.case(), row.ours()?.number()?))).collect()
}

/// What must hold of any rows.
fn check(rows: &[PaperRow]) {
    assert!(rows.iter().all(|row| row.verdict() != Verdict::Missing));
    let agrees = |row: &&PaperRow| row.metric().starts_with("equal, and the output");
    assert!(rows.iter().any(|row| agrees(&row)), "the whole chain is a witness");
    for row in rows.iter().filter(agrees) {
        assert_eq!(row.ours(), Some(&Value::from("yes")), "{}", row.case());
    }
    for (table, figure) in [("table-1", "figure-3"), ("table-1-rv32", "figure-3-rv32")] {
        for (case, percent) in numbers(rows, table, "compression ratio") {
            assert!((50.0..100.0).contains(&percent), "{case}: {percent} %");
        }
        let aes = numbers(rows, figure, "cycles with AES");
        let packed = numbers(rows, figure, "cycles with AES and packing");
        assert_eq!(aes.len(), packed.len());
        for (case, share) in aes {
            assert!(share > 1.0 && packed[case] < share, "{case}: {share} and {}", packed[case]);
        }
    }
    // A cipher that takes half of what memory takes, of misses alone.
    for (case, share) in numbers(rows, "bounds", "misses' share of plain cycles") {
        assert!((0.0..1.0).contains(&share), "{case}: {share}");
    }
}

#[test]
fn few_orders_of_two_programs_have_all_kinds_of_rows_and_equal_runs_are_equal() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("a/b");
    let few = ["--quick", "--seeds", "1", "--program", "search,djpeg", "--json"];
    let printed = said(&[&few[..], &["--out", &out.display().to_string()]].concat());
    let rows = read(&printed);
    check(&rows);
    let tables: std::collections::BTreeSet<&str> = rows.iter().map(PaperRow::table).collect();
    for table in ["table-1", "figure-3", "section-5", "cells", "caches", "bounds", "witness", "table-1-rv32"]
    {
        assert!(tables.contains(table), "{tables:?}");
    }
    // Which lines are deciphered no core's cycles change; how long that is against all else they do.
    let packed = numbers(&rows, "figure-3", "cycles with AES and packing");
    assert_eq!(
        packed.keys().collect::<Vec<_>>(),
        [&"djpeg, LEON2", &"djpeg, LEON3", &"search, LEON2", &"search, LEON3"]
    );
    assert_ne!(packed["djpeg, LEON2"], packed["djpeg, LEON3"]);
    let left =
        |core: &str| numbers(&rows, "cells", "AES cycles left")[&*format!("djpeg, 1024 B in 1, {core}")];
    assert_eq!(left("LEON2"), left("LEON3"));
    assert_eq!(std::fs::read_to_string(out.join("bus.ndjson")).expect("the rows are written"), printed);
    let page = std::fs::read_to_string(out.join("bus.html")).expect("the page is written");
    assert!(page.contains("Figure 3") && page.contains("Never degraded?"));
    if is_soak() {
        assert_eq!(said(&few), printed);
    }
}

/// Everything; minutes. Each row that differs is told in the document by its case and metric.
#[test]
fn all_programs_are_measured_and_the_document_says_so() {
    if !is_soak() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let tables = said(&["--markdown", "--out", &folder.path().display().to_string()]);
    let rows =
        read(&std::fs::read_to_string(folder.path().join("bus.ndjson")).expect("the rows are written"));
    check(&rows);
    assert!(numbers(&rows, "table-1-rv32", "compression ratio").len() >= 5);
    let path = root().join("docs/paper-bus.md");
    let document = std::fs::read_to_string(&path).expect("it is in the tree");
    for row in rows.iter().filter(|row| row.verdict() == Verdict::Differs) {
        let case = row.case().trim_end_matches(", LEON2").trim_end_matches(", LEON3");
        let told = format!("**{case}: {}**", row.metric());
        assert!(document.contains(&told), "docs/paper-bus.md does not tell why `{told}` differs");
    }
    printed::check("paper-bus.md", |title| (title.to_owned(), tables.clone()));
}
