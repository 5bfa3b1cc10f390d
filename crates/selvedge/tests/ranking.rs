//! What `explore algorithms` leaves in its folder, and that a run which was killed goes on there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use explore::stored;
use serde_json::Value;

/// The candidates of the paper, cold, and warm where they keep something.
const ROWS: usize = 450 + 300;

/// What each row tells of where it comes from.
const PROVENANCE: [&str; 9] =
    ["tool", "sources", "compiler", "models", "models_sources", "models_seed", "seed", "leaves", "layout"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn models() -> PathBuf {
    root().join("crates/explore/models/vex5.ndjson")
}

/// A ranking of these words in a folder.
fn ranking(words: &str, folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_selvedge"));
    command.args(["explore", "algorithms", "--json", "--models"]).arg(models()).args(words.split(' '));
    command.arg("--root").arg(root()).arg("--out").arg(folder).stdout(Stdio::piped());
    command
}

fn done(words: &str, folder: &Path) -> Value {
    let output = ranking(words, folder).output().expect("it can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("it is JSON")
}

fn file(folder: &Path) -> String {
    fs::read_to_string(folder.join("rows.ndjson")).expect("rows are kept")
}

/// The kept rows, each by what it is of; each once.
fn rows(folder: &Path) -> BTreeMap<String, Value> {
    let mut rows = BTreeMap::new();
    for line in file(folder).lines() {
        let row: Value = serde_json::from_str(line).expect("it is a row");
        if row.get("subject").is_some() {
            let key = ["subject", "size", "state"].map(|name| row[name].to_string()).join(" ");
            assert!(rows.insert(key.clone(), row).is_none(), "{key} is there twice");
        }
    }
    rows
}

fn has_compiler() -> bool {
    let is_there = Command::new("riscv64-unknown-elf-gcc").arg("--version").output().is_ok();
    if !is_there {
        assert!(std::env::var_os("CI").is_none(), "there is no compiler for RV32");
        println!("skip: secrets of candidates: riscv64-unknown-elf-gcc is not installed");
    }
    is_there
}

#[test]
fn a_ranking_that_is_killed_goes_on_and_has_each_row_once() {
    let folder = tempfile::tempdir().expect("there is room");
    let (whole, killed) = (folder.path().join("whole"), folder.path().join("killed"));
    let words = "--space paper-a --size 1024";
    let expected = done(words, &whole);
    let mut child = ranking(words, &killed).spawn().expect("it can be run");
    let kept = killed.join("rows.ndjson");
    while fs::read(&kept).map_or(0, |bytes| bytes.iter().filter(|byte| **byte == b'\n').count()) < 40 {
        thread::sleep(Duration::from_millis(2));
    }
    child.kill().expect("it is ours");
    child.wait().expect("it is ours");
    let left = rows_or_less(&kept);
    assert!((40..ROWS).contains(&left), "{left} rows: it was not killed while it ran");
    // What a power cut leaves, too: a candidate with its cold row alone, and half a line.
    let text = file(&killed);
    let cold =
        text.lines().find(|line| line.contains("/constants/") && line.contains("\"cold\"")).expect("one");
    let name = cold.split("\"state\"").next().expect("it has one");
    let kept_lines = text.lines().filter(|line| !(line.starts_with(name) && line.contains("\"warm\"")));
    let kept_text: String = kept_lines.map(|line| format!("{line}\n")).collect();
    fs::write(&kept, kept_text + "{\"subject\":\"cios/bin").expect("it is ours");
    assert_eq!(done(words, &killed), expected);
    assert_eq!(rows(&killed).len(), ROWS);
    assert_eq!(rows(&killed), rows(&whole));
    // Done once more, nothing is done again.
    let before = file(&killed);
    assert_eq!(done(words, &killed), expected);
    assert_eq!(file(&killed), before);
}

/// Whole lines of a file.
fn rows_or_less(path: &Path) -> usize {
    fs::read_to_string(path).map_or(0, |text| text.matches('\n').count())
}

#[test]
fn rows_of_formulas_are_kept_and_not_computed_again() {
    let folder = tempfile::tempdir().expect("there is room");
    let words = "--space paper-b --size 512 --analytic";
    let expected = done(words, folder.path());
    let text = file(folder.path());
    assert_eq!(rows(folder.path()).len(), ROWS);
    let half: String = text.lines().take(100).map(|line| format!("{line}\n")).collect();
    fs::write(folder.path().join("rows.ndjson"), half + "{").expect("it is ours");
    assert_eq!(done(words, folder.path()), expected);
    assert_eq!(rows(folder.path()).len(), ROWS);
    let other = ranking("--space paper-b --size 512", folder.path()).output().expect("it can be run");
    assert!(!other.status.success(), "rows of native runs are others");
}

#[test]
fn every_row_tells_its_provenance_and_rows_of_edited_routines_are_refused() {
    let folder = tempfile::tempdir().expect("there is room");
    let words = "--space sha256 --size 64";
    let value = done(words, folder.path());
    let kept = rows(folder.path());
    for row in kept.values().chain(value["rankings"][0]["rows"].as_array().expect("there are rows")) {
        for name in PROVENANCE {
            assert!(!row[name].is_null(), "{name}: {row}");
        }
    }
    let (_, row) = kept.first_key_value().expect("there are rows");
    let sources = row["sources"].as_str().expect("it is a digest");
    fs::write(folder.path().join("rows.ndjson"), file(folder.path()).replace(sources, "0123")).expect("ours");
    let output = ranking(words, folder.path()).stderr(Stdio::piped()).output().expect("it can be run");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("found sources \"0123\""), "{said}");
}

#[test]
fn where_secrets_decide_is_kept_by_line_and_is_not_followed_again() {
    if !has_compiler() {
        return;
    }
    let folder = tempfile::tempdir().expect("there is room");
    let words = "--space aes --size 128 --only aes_t1,aes_fixsliced --constant-time";
    let value = done(words, folder.path());
    let rows = value["rankings"][0]["rows"].as_array().expect("there are rows");
    let of = |name: &str| rows.iter().find(|row| row["subject"] == name).expect("it was asked for");
    assert_eq!(of("aes_fixsliced")["constant_time"], true);
    assert_eq!(of("aes_fixsliced")["places"], Value::Array(Vec::new()));
    assert_eq!(of("aes_t1")["constant_time"], false);
    let places = of("aes_t1")["places"].as_array().expect("there are places");
    let functions: BTreeSet<&str> = places.iter().filter_map(|place| place["function"].as_str()).collect();
    assert_eq!(functions, BTreeSet::from(["aes_t1_encrypt", "aes_t1_init"]));
    for place in places {
        assert_eq!(place["kind"], "address");
        assert!(
            place["count"].as_u64() > Some(0)
                && place["line"].as_str().is_some_and(|line| line.contains(":"))
        );
    }
    assert!(!places.is_empty());
    // What is kept is what is told: nobody follows again.
    let line = places[0]["line"].as_str().expect("it is a line");
    let text = file(folder.path());
    assert!(text.contains(line), "{text}");
    fs::write(folder.path().join("rows.ndjson"), text.replace(line, "crypto/nowhere.c:1"))
        .expect("it is ours");
    let again = done(words, folder.path()).to_string();
    assert!(again.contains("crypto/nowhere.c:1") && !again.contains(line), "{again}");
    assert_eq!(file(folder.path()).lines().count(), text.lines().count());
}

#[test]
fn models_of_other_leaves_make_variants_of_every_candidate() {
    let folder = tempfile::tempdir().expect("there is room");
    let text = fs::read_to_string(models()).expect("they are beside the source");
    let mut changed = stored::read(&text).expect("they are models");
    changed.origin.leaves = "rv32".to_owned();
    let other = folder.path().join("rv32.ndjson");
    fs::write(&other, stored::write(&changed)).expect("it is ours");
    let mut command = ranking("--space paper-b --size 512 --state cold", &folder.path().join("out"));
    command.arg("--models").arg(&other);
    let output = command.output().expect("it can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let kept = rows(&folder.path().join("out"));
    assert_eq!(kept.len(), 2 * ROWS);
    for (suffix, leaves) in [("@c\"", "c"), ("@rv32\"", "rv32")] {
        let of = kept.iter().filter(|(key, _)| key.contains(suffix));
        assert_eq!(of.clone().count(), ROWS);
        assert!(of.into_iter().all(|(_, row)| row["leaves"] == leaves));
    }
}
