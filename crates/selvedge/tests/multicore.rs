//! `selvedge paper multicore`: its quick form measures every kind of cell, and what it says of each is consistent.

#[path = "../../cipher/tests/soak/mod.rs"]
mod soak;

use std::collections::BTreeMap;
use std::process::Command;

use report::paper::{PaperRow, Verdict, read_ndjson};
use report::row::Value;
use soak::is_soak;

fn said(words: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_selvedge"));
    let output = command.args(["paper", "multicore", "--quick"]).args(words).output().expect("selvedge runs");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("it is text")
}

fn rows(text: &str) -> Vec<PaperRow> {
    let (rows, errors) = read_ndjson(text);
    assert_eq!(errors, []);
    assert!(!rows.is_empty());
    rows
}

/// The numbers of a metric, by table and case.
fn numbers<'a>(rows: &'a [PaperRow], metric: &str) -> BTreeMap<(&'a str, &'a str), f64> {
    let of_metric = rows.iter().filter(|row| row.metric() == metric);
    of_metric.filter_map(|row| Some(((row.table(), row.case()), row.ours()?.number()?))).collect()
}

#[test]
fn every_kind_of_cell_is_measured_or_says_what_the_system_said() {
    // Threads that sleep take a minute for what table 2 has.
    let parts = ["table1,expansion,figure11,batch,path", "table1,expansion,table2,figure11,batch,path"];
    let rows = rows(&said(&["--json", "--part", parts[usize::from(is_soak())]]));
    assert!(rows.iter().all(|row| row.verdict() != Verdict::Missing));
    let mut refused = 0;
    for row in rows.iter().filter(|row| row.unit() == "ms" || row.unit() == "us" || row.unit() == "s") {
        match row.ours().expect("no row is missing") {
            Value::Text(words) => {
                let is_reason = words.starts_with("not permitted: ") && words.contains("os error")
                    || words == "this CPU has no instructions for AES";
                // Whether there was steal time is for the system to say.
                assert!(is_reason || row.table() == "machine", "{}: {words}", row.case());
                assert!(!row.case().contains("Basic, SCHED_OTHER"), "{}: {words}", row.case());
                refused += 1;
            }
            value => assert!(value.number().is_some_and(|number| number >= 0.0), "{}: {value:?}", row.case()),
        }
    }
    let (basic, ours) =
        (numbers(&rows, "encryption and decryption, wall time, median"), "one block, Basic, SCHED_OTHER");
    for key in ["AES-128", "AES-192", "AES-256"] {
        assert!(basic[&("table-1", format!("{key}, {ours}").as_str())] > 0.0);
        let waveform = format!("{key}, 1024 samples of f32, Basic, SCHED_OTHER");
        assert_eq!(basic.get(&("table-2", waveform.as_str())).is_some_and(|&time_s| time_s > 0.0), is_soak());
    }
    let counts = numbers(&rows, "repetitions");
    let cases = rows.iter().filter(|row| row.metric().ends_with("wall time, median")).map(|row| row.case());
    let cases: std::collections::BTreeSet<&str> = cases.collect();
    assert!(counts.len() + refused >= cases.len(), "{} of {}", counts.len(), cases.len());
}

#[test]
fn the_median_is_between_the_least_and_the_greatest_and_both_ways_take_what_each_takes() {
    let rows = rows(&said(&["--json", "--part", "table1", "--class", "other"]));
    let of = |what: &str, statistic: &str| numbers(&rows, &format!("{what}, wall time, {statistic}"));
    for what in ["encryption", "decryption", "encryption and decryption"] {
        let [least, median, mean, greatest] =
            ["minimum", "median", "mean", "maximum seen, no bound"].map(|statistic| of(what, statistic));
        assert!(!median.is_empty());
        for (case, median) in &median {
            assert!(least[case] <= *median && *median <= greatest[case], "{case:?}");
            assert!(least[case] <= mean[case] && mean[case] <= greatest[case], "{case:?}");
        }
    }
    let [encryption, decryption] = ["encryption", "decryption"].map(|what| of(what, "mean"));
    for (case, both) in of("encryption and decryption", "mean") {
        let sum = encryption[&case] + decryption[&case];
        assert!((both / sum - 1.0).abs() < 1e-6, "{case:?}: {both} ms, {sum} ms");
    }
}

#[test]
fn the_terms_of_a_path_are_the_whole_of_it() {
    let rows = rows(&said(&["--json", "--part", "path", "--class", "other"]));
    let mean = |term: &str| numbers(&rows, &format!("{term}, wall time, mean"));
    let terms = ["t_conv", "t_enc", "t_net", "t_dec", "t_conv back"].map(mean);
    let whole = mean("t_ovr");
    assert!(whole.len() >= 8, "Basic with four types in two orders: {whole:?}");
    for (case, whole) in &whole {
        let sum: f64 = terms.iter().map(|term| term[case]).sum();
        assert!((whole / sum - 1.0).abs() < 1e-6, "{case:?}: {whole} us, {sum} us");
    }
}

#[test]
fn the_page_and_the_rows_are_written_and_the_machine_is_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("a/b");
    let printed = said(&["--json", "--part", "batch", "--seed", "7", "--out", &out.display().to_string()]);
    let kept = std::fs::read_to_string(out.join("multicore.ndjson")).expect("the rows are written");
    assert_eq!(kept, printed);
    let rows = rows(&kept);
    assert!(rows.iter().all(|row| row.source().starts_with("selvedge paper multicore --seed 7; ")));
    let facts: Vec<&str> = rows.iter().filter(|row| row.table() == "machine").map(PaperRow::metric).collect();
    for fact in ["kernel", "processor", "cores", "machine", "steal time of all cores, wall time"] {
        assert!(facts.contains(&fact), "{facts:?}");
    }
    let page = std::fs::read_to_string(out.join("multicore.html")).expect("the page is written");
    assert!(
        page.contains("Measured on") && page.contains("A server"),
        "the page shows the batch and the machine"
    );
}
