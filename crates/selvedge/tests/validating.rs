//! `explore validate`: what is measured is kept while it runs, so that a run that was killed goes on; and formulas are
//! judged as native runs are.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use sha2::{Digest, Sha256};

const COUNT: usize = 8;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A comparison of these words; `None` after saying that it is skipped.
fn validating(words: &str) -> Option<Command> {
    if Command::new("riscv64-unknown-elf-gcc").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "there is no compiler for RV32");
        println!("skip: explore validate: riscv64-unknown-elf-gcc is not installed");
        return None;
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_selvedge"));
    command.args(["explore", "validate", "--json", "--top", "0", "--count", &COUNT.to_string()]);
    command.arg("--models").arg(root().join("crates/explore/models/vex5.ndjson")).arg("--root").arg(root());
    command.args(words.split_whitespace()).stdout(Stdio::piped());
    Some(command)
}

fn done(mut command: Command) -> Value {
    let output = command.output().expect("it can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("it is JSON")
}

/// A kept line with the digest that it has to have.
fn sealed(line: &str) -> String {
    let (before, digest) = line.split_once("\"sha256\":\"").expect("it has one");
    let (_, after) = digest.split_once('"').expect("it ends");
    let of = |digest: &str| format!("{before}\"sha256\":\"{digest}\"{after}");
    let found = Sha256::digest(of("") + "\n");
    of(&found[..16].iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

/// What was measured, in the order of what was asked.
fn measured(value: &Value) -> Vec<u64> {
    let groups = value["groups"].as_array().expect("there are groups");
    let rows = groups.iter().flat_map(|group| group["rows"].as_array().expect("it has rows"));
    rows.map(|row| row["measured_cycles"].as_u64().expect("it is a number")).collect()
}

#[test]
fn a_comparison_that_is_killed_goes_on_and_measures_nothing_again() {
    let Some(command) = validating("") else { return };
    let expected = measured(&done(command));
    let folder = tempfile::tempdir().expect("there is room");
    let (out, part) = (folder.path().join("compared.json"), folder.path().join("compared.json.part"));
    let again = || {
        let mut command = validating("").expect("there was one");
        command.arg("--out").arg(&out);
        command
    };
    let mut child = again().spawn().expect("it can be run");
    let lines = || fs::read_to_string(&part).map_or(0, |text| text.matches('\n').count());
    while lines() < 4 {
        assert!(child.try_wait().expect("it is ours").is_none(), "it was not killed while it ran");
        thread::sleep(Duration::from_millis(2));
    }
    child.kill().expect("it is ours");
    child.wait().expect("it is ours");
    assert!(!out.exists() && lines() <= COUNT, "it was not killed while it ran");
    let text = fs::read_to_string(&part).expect("it is there");
    let line = text.lines().nth(1).expect("a measurement is kept");
    let (before, after) = line.split_once("\"bench_cycles\":").expect("it has a turn");
    let changed = format!("{before}\"bench_cycles\":1000000{after}");
    fs::write(&part, text.replacen(line, &changed, 1)).expect("it is ours");
    let output = again().output().expect("it can be run");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("line 2 of what is kept: found SHA-256"), "{said}");
    // A power cut leaves half a line, too; and what was kept is taken as it stands.
    fs::write(&part, text.replacen(line, &sealed(&changed), 1) + "{\"request\":\"01").expect("it is ours");
    let found = measured(&done(again()));
    assert_eq!(found.len(), expected.len());
    let others: Vec<_> = found.iter().zip(&expected).filter(|(found, expected)| found != expected).collect();
    assert!(others.len() == 1 && others[0].0 > others[0].1, "{others:?}");
    let kept: Value = serde_json::from_str(&fs::read_to_string(&out).expect("it is there")).expect("JSON");
    assert_eq!(measured(&kept), found);
    assert!(!part.exists(), "the file is there that it was for");
}

#[test]
fn what_another_program_measured_is_refused() {
    let Some(mut command) = validating("") else { return };
    let folder = tempfile::tempdir().expect("there is room");
    let out = folder.path().join("compared.json");
    let head = "{\"image\":\"0123\",\"profile\":\"vex5\",\"tool\":\"4567\"}\n";
    fs::write(folder.path().join("compared.json.part"), head).expect("there is room");
    let output = command.arg("--out").arg(&out).stderr(Stdio::piped()).output().expect("it can be run");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("compared.json.part"), "{said}");
    assert!(said.contains("another run's: found image 0123, expected"), "{said}");
    assert_eq!(fs::read_to_string(folder.path().join("compared.json.part")).expect("it is there"), head);
}

#[test]
fn formulas_are_judged_beside_the_simulator() {
    let Some(command) = validating("--analytic") else { return };
    let value = done(command);
    assert_eq!(value["mode"], "analytic");
    let accuracy = &value["accuracy"][0];
    let [mean, most] =
        ["error_mean", "error_most"].map(|name| accuracy[name].as_f64().expect("it is a number"));
    println!("formulas beside the simulator: mean {mean:.4}, most {most:.4}");
    assert!(mean < 0.05 && most < 0.15, "{accuracy}");
    let Some(mut command) = validating("--space aes --analytic") else { return };
    let output = command.stderr(Stdio::piped()).output().expect("it can be run");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("no formula tells what `aes` counts"), "{said}");
}
