//! `selvedge paper mecha`: what its rows say, in simulated time, which is the same everywhere; and that processes do the same
//! work. With `BLESS=1` the tables of docs/paper-mecha.md are written instead of compared.

mod printed;

use std::collections::BTreeMap;
use std::process::Command;

use report::paper::{PaperRow, Verdict, read_ndjson};

fn said(words: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_selvedge"));
    let output = command.args(["paper", "mecha"]).args(words).output().expect("selvedge runs");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("it is text")
}

fn rows(words: &[&str]) -> Vec<PaperRow> {
    let (rows, errors) = read_ndjson(&said(&[&["--simulated", "--json"], words].concat()));
    assert_eq!(errors, []);
    assert!(!rows.is_empty());
    rows
}

/// The numbers of a metric in a table, by case.
fn numbers<'a>(rows: &'a [PaperRow], table: &str, metric: &str) -> BTreeMap<&'a str, f64> {
    let of_metric = rows.iter().filter(|row| (row.table(), row.metric()) == (table, metric));
    of_metric.filter_map(|row| Some((row.case(), row.ours()?.number()?))).collect()
}

const SHORT: [&str; 4] = ["--pdu-bytes", "1024,16384,65536", "--instances", "5,80"];

#[test]
fn no_way_to_share_beats_the_broker_at_any_point_and_equal_runs_are_equal() {
    let rows = rows(&SHORT);
    assert_eq!(self::rows(&SHORT), rows);
    let times = numbers(&rows, "sweep", "time");
    let mut beaten = 0;
    for (case, ours_s) in times.iter().filter(|(case, _)| case.ends_with("this broker")) {
        let point = case.strip_suffix("this broker").expect("it was looked at");
        for (other, theirs_s) in times.iter().filter(|(other, _)| other.starts_with(point) && other != &case)
        {
            assert!(ours_s < theirs_s, "{case}: {ours_s} s, {other}: {theirs_s} s");
            beaten += 1;
        }
    }
    // Three timers, two numbers of applications; a lock, one by one, and six costs of opening, or two for short requests.
    assert_eq!(beaten, 3 * 2 * (8 + 2 * 4));
}

#[test]
fn what_the_paper_prints_stands_beside_ours_and_is_reached() {
    let rows = rows(&SHORT);
    let printed: Vec<&PaperRow> =
        rows.iter().filter(|row| row.table() == "figure-5" && row.printed().is_some()).collect();
    let literals = printed.iter().map(|row| row.printed().expect("it is printed").literal());
    assert_eq!(literals.collect::<Vec<_>>(), ["1.91", "82.8", "82.8"]);
    let reached = [Verdict::Same, Verdict::Close, Verdict::Better];
    assert!(printed.iter().all(|row| reached.contains(&row.verdict())), "{printed:?}");
    for saved in numbers(&rows, "settings", "then saved at 5").values() {
        assert!((saved - 1.91).abs() < 1e-6, "{saved} s: it is what the cost was chosen for");
    }
    let near = numbers(&rows, "settings", "then less time at 80");
    assert!(near.values().any(|percent| (percent - 82.8).abs() < 5.0), "{near:?}");
}

#[test]
fn small_requests_and_large_ones_fill_the_wire() {
    let rows = rows(&["--pdu-bytes", "64,1024,65536", "--instances", "80"]);
    for what in ["requests", "answers"] {
        let shares =
            numbers(&rows, "goals", &format!("SPI cycles with bytes of {what}, wanted: at least 97"));
        assert!(shares["80 x 64 KiB"] >= 97.0, "{shares:?}");
    }
    let shares = numbers(&rows, "goals", "of the possible, wanted: at least 90");
    assert_eq!(shares.len(), 4, "two lengths over two others");
    assert!(shares.values().all(|share| (90.0..=100.0).contains(share)), "{shares:?}");
}

#[test]
fn a_page_shows_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("a/b");
    let out_text = out.display().to_string();
    let printed = rows(&[&SHORT[..], &["--out", &out_text]].concat());
    let page = std::fs::read_to_string(out.join("mecha.html")).expect("the page is written");
    for words in ["Figure 5", "Until the last answer", "Which settings give the printed numbers", "re-open"] {
        assert!(page.contains(words), "the page says nothing of `{words}`");
    }
    let kept = std::fs::read_to_string(out.join("mecha.ndjson")).expect("the rows are written");
    assert_eq!(read_ndjson(&kept).0, printed);
}

/// `<!-- table: TITLE | OPTIONS -->`: the table of this title, as the command prints it with these options.
#[test]
fn the_document_has_the_tables_of_the_command() {
    printed::check("paper-mecha.md", |marker| {
        let (title, options) = marker.split_once(" | ").expect("a title and options");
        let words: Vec<&str> = ["--simulated", "--markdown"].into_iter().chain(options.split(' ')).collect();
        (title.to_owned(), said(&words))
    });
}
