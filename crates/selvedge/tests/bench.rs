//! `selvedge collect bench`: its quick forms send, store and count everything, and what they say of it is consistent. No
//! time is judged here. `SELVEDGE_SOAK=1` has all 10,000 connections.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use report::row::{Row, Value, read_ndjson};
use soak::is_soak;

#[path = "../../cipher/tests/soak/mod.rs"]
mod soak;

const BENCH: [&str; 3] = ["collect", "bench", "--json"];
/// What says how a time is spread, from the least to the greatest.
const SPREAD: [&str; 5] = ["p50", "p99", "p99.9", "p99.99", "most seen"];

fn bench(program: &mut Command, words: &[&str], disk: &Path) -> Output {
    program.args(BENCH).args(words).arg("--disk").arg(disk).output().expect("selvedge runs")
}

fn quick<'a>(words: &[&'a str]) -> Vec<&'a str> {
    [&["--quick"], words].concat()
}

fn rows(words: &[&str], disk: &Path) -> Vec<Row> {
    all_rows(&quick(words), disk)
}

/// The same of what is no quick form.
fn all_rows(words: &[&str], disk: &Path) -> Vec<Row> {
    let output = bench(&mut Command::new(env!("CARGO_BIN_EXE_selvedge")), words, disk);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    let (rows, errors) = read_ndjson(&String::from_utf8(output.stdout).expect("it is text"));
    assert_eq!(errors, []);
    rows
}

/// Numbers by case and metric.
fn numbers(rows: &[Row]) -> BTreeMap<(&str, &str), f64> {
    rows.iter().filter_map(|row| Some(((row.case(), row.metric()), row.value().number()?))).collect()
}

fn text<'a>(rows: &'a [Row], case: &str, metric: &str) -> &'a str {
    let row = rows.iter().find(|row| row.case() == case && row.metric() == metric);
    match row.unwrap_or_else(|| panic!("there is no {case}, {metric}")).value() {
        Value::Text(text) => text,
        other => panic!("{case}, {metric}: {other:?}"),
    }
}

#[test]
fn rate_latency_and_soak_tell_their_goals_stages_and_page_and_leave_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let (disk, page) = (folder.path().join("disk"), folder.path().join("bench.html"));
    std::fs::create_dir(&disk).expect("a folder");
    let words = ["rate", "latency", "soak", "--seed", "7", "--page", page.to_str().expect("it is text")];
    let rows = rows(&words, &disk);
    assert_eq!(std::fs::read_dir(&disk).expect("it is there").count(), 0, "what was written is removed");
    let numbers = numbers(&rows);
    assert_eq!(numbers[&("all", "seed")], 7.0);
    for goal in [
        "over TLS to disk, of a bare log",
        "arrival to durable at half the rate, p99, ms",
        "due to receipt at half the rate, p99, ms",
    ] {
        assert!(numbers[&(goal, "value")].is_finite(), "{goal}");
        assert!(["true", "false"].contains(&text(&rows, goal, "met")), "{goal}");
    }
    let soaks = rows.iter().filter(|row| row.case().starts_with("memory of a soak")).count();
    assert_eq!(soaks, 0, "a second has no growth to judge");
    for half in ["resident in its first half", "resident in its second half"] {
        assert!(numbers[&("soak", half)] > 0.0, "{half}");
    }
    assert!(numbers[&("soak", "store at its end")] >= numbers[&("soak", "batches")] * 64.0 * 4000.0);
    assert_eq!(numbers[&("soak", "segments removed")], 0.0, "a second of it is no 8 GiB");
    assert!(numbers[&("rate", "window, median")] > 0.0);
    let bare = "bare log that syncs each batch, median";
    for metric in ["over TLS to disk, median", bare, "bare log that syncs as the server may, median"] {
        assert!(numbers[&("rate", metric)] > 0.0, "{metric}");
    }
    let names = [
        "queued",
        "opening",
        "waiting",
        "storing",
        "answering",
        "arrival to durable",
        "due to receipt",
        "due to durable, bare log",
    ];
    for name in names {
        let spread = SPREAD.map(|quantile| numbers[&("latency", format!("{name}, {quantile}").as_str())]);
        assert!(spread.is_sorted() && spread[0] > 0.0, "{name}: {spread:?}");
    }
    let median = |name: &str| numbers[&("latency", format!("{name}, p50").as_str())];
    assert!(median("due to receipt") > median("storing"), "a receipt is after its sync");
    assert!(numbers[&("latency", "batches")] >= 4.0 && numbers[&("soak", "batches")] >= 4.0);
    for scenario in ["latency", "soak"] {
        let [run, all] =
            ["longest run of misses", "misses of 3 ms"].map(|metric| numbers[&(scenario, metric)]);
        assert!(run <= all && all <= numbers[&(scenario, "batches")], "{scenario}: {run} of {all}");
    }
    assert!(
        !text(&rows, "machine", "kernel").is_empty() && !text(&rows, "machine", "clock source").is_empty()
    );
    let no_bound = rows.iter().all(|row| !row.metric().ends_with("max") && !row.metric().contains("worst"));
    assert!(no_bound, "what was seen is not called a bound");
    let page = std::fs::read_to_string(page).expect("the page was asked for");
    for words in ["Frames a second", "Wall time by stage", "Cores meanwhile", "Memory of the server"] {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn all_connections_are_answered_beside_a_slow_reader_and_those_beyond_are_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let (rows, connections) = match is_soak() {
        true => (all_rows(&["connections"], folder.path()), 10_000.0),
        false => (rows(&["connections"], folder.path()), 40.0),
    };
    let numbers = numbers(&rows);
    let of = |metric: &str| numbers[&("connections", metric)];
    assert_eq!((of("at once"), of("answered beside a slow reader")), (connections, connections - 1.0));
    assert_eq!(
        (of("refused: connections-full"), of("connections that ended before a hello, or were one too many")),
        (10.0, 10.0)
    );
    let sent = of("batches that the slow reader sent until it was given up");
    let taken = of("of these taken by the server");
    let answered = of("of these with a receipt that it read at last");
    assert!(taken > 32.0 && answered <= taken && taken <= sent + 1.0, "{answered} of {taken} of {sent}");
    assert_eq!(of("not answered"), 0.0);
    assert_eq!(text(&rows, "connections at once, answered beside a slow reader", "met"), "true");
}

#[test]
fn a_cluster_that_is_not_named_or_cannot_have_deadlines_is_refused_before_anything_is_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let (disk, cluster) = (folder.path(), folder.path().to_str().expect("it is text"));
    for (words, expected) in [
        (&["nats"][..], "nats needs --cluster: "),
        (&["nats", "--cluster", cluster, "--policy", "deadline"], "nats goes with --policy other or fifo: "),
    ] {
        let output = bench(&mut Command::new(env!("CARGO_BIN_EXE_selvedge")), &quick(words), disk);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(expected), "{words:?}: {said}");
        assert_eq!(std::fs::read_dir(disk).expect("it is there").count(), 0, "{words:?}");
    }
}

#[test]
fn a_class_or_memory_that_the_system_refuses_ends_it_with_the_environments_code() {
    let folder = tempfile::tempdir().expect("a folder");
    // Who is root may do everything, until that is taken away.
    let is_root = rustix::process::geteuid().is_root();
    let program = env!("CARGO_BIN_EXE_selvedge");
    let limited = || {
        let mut limited = Command::new("prlimit");
        limited.args(["--rtprio=0", "--memlock=65536"]);
        if is_root {
            let taken = "-sys_nice,-ipc_lock,-sys_resource";
            limited.args(["setpriv", "--bounding-set", taken, "--inh-caps", taken]);
        }
        limited.arg(program);
        limited
    };
    for tool in ["prlimit", "setpriv"] {
        if Command::new(tool).arg("--version").output().is_err() {
            return println!("skip (machine): classes that are refused: there is no {tool}");
        }
    }
    for (words, expected) in [
        (
            &["rate", "--policy", "fifo", "--priority", "7"][..],
            "cannot put a thread into SCHED_FIFO with priority 7: ",
        ),
        (&["rate", "--policy", "deadline"], "cannot put a thread into SCHED_DEADLINE with "),
        (&["rate", "--lock-memory"], "cannot lock the memory of this process: "),
    ] {
        let output = bench(&mut limited(), &quick(words), folder.path());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{words:?}: {said}");
        assert!(said.contains(expected) && said.contains("help: it takes CAP_"), "{words:?}: {said}");
    }
}
