//! Rows, tables and document, from times that are made up and therefore in nothing but these tests.

use std::collections::HashMap;
use std::time::Duration;

use report::paper::{PaperRow, Verdict};
use report::printed::read_csv;

use super::cells::Cell;
use super::compared::Measured;
use super::measure::{Found, Result};
use super::statistics::Spread;
use super::watch::Times;
use super::{Shown, batch, expansion, page, path, rows, tables};
use crate::machine::{Began, Machine};
use crate::papers::document::has_the_commands_tables;

fn spread(of_ns: f64) -> Spread {
    Spread::of(vec![of_ns, 2.0 * of_ns, 4.0 * of_ns])
}

fn measured() -> Found {
    let [encryption, decryption, both] = [1e3, 2e3, 3e3].map(spread);
    Found::Measured(Box::new(Times { calls: 7, encryption, decryption, both }))
}

fn refused() -> Found {
    Found::Not("not permitted: Operation not permitted (os error 1)".to_owned())
}

fn machine() -> Machine {
    Machine { stolen: None, load: "0.00".to_owned(), took: Duration::from_secs(1), ..Began::now().ended() }
}

/// Calls `check` with everything that is measured, where `found` came of every cell.
fn with_all<R>(found: fn() -> Found, check: impl FnOnce(&Shown) -> R) -> R {
    let results: Vec<Result> =
        Cell::all(false).into_iter().map(|cell| Result { cell, found: found() }).collect();
    let batches: Vec<batch::Result> =
        batch::Case::all().into_iter().map(|case| batch::Result { case, found: found() }).collect();
    let of_expansion = |case| {
        let found = match found() {
            Found::Measured(times) => Ok((times.calls, times.encryption)),
            Found::Not(words) => Err(words),
        };
        expansion::Result { case, found }
    };
    let expansions: Vec<_> = expansion::Case::all().into_iter().map(of_expansion).collect();
    let of_path = |case| path::Result { case, found: Ok([1e3; path::TERMS.len()].map(spread)) };
    let paths: Vec<path::Result> = path::Case::all().into_iter().map(of_path).collect();
    let measured = Measured { results: &results, expansions: &expansions, batches: &batches };
    let (lines, machine) = (measured.lines(), machine());
    check(&Shown { measured, paths: &paths, lines: &lines, machine: &machine, source: "a test" })
}

#[test]
fn each_cell_of_the_papers_tables_stands_in_one_row_measured_or_not() {
    let (cells, errors) = read_csv(include_str!("printed.csv"));
    assert_eq!((cells.len(), errors.len()), (18, 0));
    for found in [measured, refused] {
        let rows = with_all(found, rows::rows);
        let printed: Vec<&PaperRow> = rows.iter().filter(|row| row.printed().is_some()).collect();
        assert_eq!(printed.len(), cells.len());
        for cell in &cells {
            let table = cell.metric.replace(' ', "-");
            let (key, version) = cell.case.split_once(", ").expect("a key and a version");
            let is_case = |case: &str| case.starts_with(key) && case.contains(&format!(", {version},"));
            let is_it = |row: &&&PaperRow| row.table() == table && is_case(row.case());
            let beside: Vec<_> = printed.iter().filter(is_it).collect();
            let [row] = beside[..] else { panic!("{}, {}: {} rows", cell.case, table, beside.len()) };
            assert_eq!((row.printed(), row.unit()), (cell.printed.as_ref(), cell.unit.as_str()));
            assert_ne!(row.verdict(), Verdict::Missing);
        }
    }
}

#[test]
fn no_two_rows_say_the_same_thing_and_a_refusal_is_its_words() {
    let key = |row: &PaperRow| [row.table(), row.case(), row.metric()].map(str::to_owned);
    let rows = with_all(measured, rows::rows);
    let mut count: HashMap<_, usize> = HashMap::new();
    rows.iter().for_each(|row| *count.entry(key(row)).or_default() += 1);
    let twice: Vec<_> = count.iter().filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
    let words = "not permitted: Operation not permitted (os error 1)";
    let of_tables =
        |row: &&PaperRow| ["table-1", "table-2", "figure-11", "batch", "expansion"].contains(&row.table());
    let refused = with_all(refused, rows::rows);
    assert!(refused.iter().filter(of_tables).all(|row| row.ours() == Some(&words.into())));
    let count = Cell::all(false).len() + batch::Case::all().len() + expansion::Case::all().len();
    assert_eq!(refused.iter().filter(of_tables).count(), count);
}

#[test]
fn times_are_in_the_unit_of_their_row() {
    let rows = with_all(measured, rows::rows);
    let ours = |case: &str, metric: &str| {
        let row = rows.iter().find(|row| row.case() == case && row.metric() == metric);
        row.and_then(|row| row.ours()?.number()).unwrap_or_else(|| panic!("{case}, {metric}"))
    };
    let both = "encryption and decryption, wall time,";
    let near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-9;
    // 6 us, the second of three: in ms, in s, and as one of 64.
    assert!(near(ours("AES-128, one block, Basic, SCHED_FIFO", &format!("{both} median")), 6e-3));
    assert!(near(ours("AES-256, 1024 samples of f64, Basic, SCHED_OTHER", &format!("{both} median")), 6e-6));
    let batch = "AES-128, 64 waveforms of 1024 f32, 1 core";
    assert!(near(ours(batch, &format!("{both} median")), 6.0 / 64.0));
    assert!(near(ours(batch, &format!("{both} maximum seen, no bound")), 12.0 / 64.0));
    assert!(near(ours(batch, "calls in a repetition"), 7.0));
    let key = "AES-192, a key, ECA, 2 threads that spin, SCHED_FIFO";
    assert!(near(ours(key, "expansion, wall time, median"), 2.0));
}

#[test]
fn the_page_shows_each_table_and_what_was_refused() {
    for found in [measured, refused] {
        let page = with_all(found, page::html);
        for words in ["Table 1", "Figure 4", "Table 2", "Equation 7", "Measured on"] {
            assert!(page.contains(words), "the page says nothing of `{words}`");
        }
    }
    let page = with_all(measured, page::html);
    assert!(page.contains("Figure 11") && page.contains("What the numbers mean today"));
    assert!(with_all(refused, page::html).contains("not permitted"));
}

#[test]
fn the_document_has_the_commands_tables() {
    let printed: String =
        with_all(measured, |shown| tables::all(shown).iter().map(|table| table.markdown() + "\n").collect());
    has_the_commands_tables("paper-multicore.md", &printed, 6);
}
