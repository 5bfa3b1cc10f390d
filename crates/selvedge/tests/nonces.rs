//! What is sealed under the keys of one folder, over many runs: the same counter is never sealed twice under one key,
//! and the same superframe number is never sent twice, whatever became of the folder of the run in between.
//!
//! Owns real runs of the real binary in a key folder that the deployment names. What one process promises is in
//! `link`'s own tests; that a node keeps its counters over power cuts is in `power.rs`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use selvedge::link::journal::{Received, read_lines, read_timeline};
use serde_json::Value;

/// A deployment whose keys outlive its runs.
struct Scene {
    folder: tempfile::TempDir,
    deployment: PathBuf,
    /// Node, epoch and counter of every frame that came off the bus.
    frames: BTreeSet<(u32, u8, u32)>,
    /// The first superframe number that no run has used.
    superframe: u32,
    /// In each run.
    superframes: u32,
}

fn tree() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("this is the tree")
}

fn scene() -> Option<Scene> {
    if Command::new("avr-gcc").arg("--version").output().is_err() {
        println!("skip: nonces over many runs: found no avr-gcc");
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let deployment = folder.path().join("ecg.toml");
    let text = fs::read_to_string(tree().join("deployments/ecg.toml")).expect("it is there");
    let recording = tree().join("data/ecg/ecg.csv").display().to_string();
    fs::write(&deployment, text.replace("../data/ecg/ecg.csv", &recording)).expect("it can be written");
    let scene = Scene { folder, deployment, frames: BTreeSet::new(), superframe: 0, superframes: 12 };
    scene.change("\"120 s\"", "\"3 s\"");
    // A key folder begins in a run's own.
    let made = scene.selvedge(&["node", "build", "--root", &tree().display().to_string()]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    fs::rename(scene.out().join("keys"), scene.folder.path().join("keys")).expect("one file system");
    fs::remove_dir_all(scene.out()).expect("it is ours");
    scene.change("[collect]", "[keys]\nfolder = \"keys\"\n\n[collect]");
    Some(scene)
}

impl Scene {
    fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    fn eeprom(&self, node: u32) -> PathBuf {
        self.out().join(format!("cell-7/node-{node}.eeprom"))
    }

    fn change(&self, from: &str, to: &str) {
        let text = fs::read_to_string(&self.deployment).expect("it is there");
        assert_eq!(text.matches(from).count(), 1, "the deployment says `{from}` once");
        fs::write(&self.deployment, text.replace(from, to)).expect("it can be written");
    }

    fn selvedge(&self, verb: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_selvedge"));
        command.args(verb).arg(&self.deployment).arg("--out").arg(self.out()).arg("--json");
        command.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
        command.stdin(Stdio::null()).output().expect("it starts")
    }

    /// Runs the nodes, or the whole link, and returns the epochs that they used.
    #[track_caller]
    fn run(&mut self, verb: &[&str], what: &str) -> BTreeSet<(u32, u8)> {
        let ran = self.selvedge(&[verb, &["--root", &tree().display().to_string()]].concat());
        assert!(ran.status.success(), "{what}: {}", String::from_utf8_lossy(&ran.stderr));
        let first = read_timeline(&self.out().join("cell-7/timeline.json")).expect("a timeline").superframe;
        assert!(first >= self.superframe, "{what}: superframe {first} was sent before");
        self.superframe = first + self.superframes;
        let received: Vec<Received> = read_lines(&self.out().join("cell-7/received.csv")).expect("frames");
        assert!(received.len() >= 4 * 8, "{what}: {} frames", received.len());
        assert!(received.iter().all(|frame| (first..self.superframe).contains(&frame.superframe)), "{what}");
        let mut epochs = BTreeSet::new();
        for frame in received {
            let byte = |at: usize| u8::from_str_radix(&frame.bytes[2 * at..2 * at + 2], 16).expect("hex");
            let four = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|offset| byte(at + offset)));
            let (node, epoch, counter) = (four(1), byte(5), four(6));
            epochs.insert((node, epoch));
            assert!(
                self.frames.insert((node, epoch, counter)),
                "{what}: node {node} sealed count {counter} of epoch {epoch} twice"
            );
        }
        epochs
    }
}

fn all(epoch: u8) -> BTreeSet<(u32, u8)> {
    (1..=4).map(|node| (node, epoch)).collect()
}

#[test]
fn no_counter_and_no_superframe_is_sealed_twice_under_one_key() {
    let Some(mut scene) = scene() else { return };
    let nodes = &["node", "run"][..];
    // The key folder was made with images, which are lost.
    assert_eq!(scene.run(nodes, "first"), all(1));
    assert_eq!(scene.run(nodes, "again"), all(1));
    scene.change("counter_block = 16384", "counter_block = 64");
    assert_eq!(scene.run(nodes, "a smaller block"), all(1));
    scene.change("rate = \"360 Hz\"\nsuite", "rate = \"180 Hz\"\nsuite");
    assert_eq!(scene.run(nodes, "another rate"), all(1));
    fs::remove_file(scene.eeprom(2)).expect("it is there");
    let image = fs::read(scene.eeprom(3)).expect("it is there");
    fs::write(scene.eeprom(3), &image[..64]).expect("it can be written");
    assert_eq!(scene.run(nodes, "lost and short"), [(1, 1), (2, 2), (3, 2), (4, 1)].into());
    fs::remove_dir_all(scene.out()).expect("it is ours");
    assert_eq!(scene.run(nodes, "an empty folder"), [(1, 2), (2, 3), (3, 3), (4, 2)].into());
}

#[test]
fn a_link_that_begins_anew_under_old_keys_has_epochs_of_its_own() {
    let Some(mut scene) = scene() else { return };
    for (run, epoch) in ["first", "second"].into_iter().zip(1..) {
        assert_eq!(scene.run(&["run"], run), all(epoch));
        let read = scene.selvedge(&["collect", "read"]);
        let frames: Vec<Value> = String::from_utf8_lossy(&read.stdout)
            .lines()
            .map(|line| serde_json::from_str(line).expect("every line is JSON"))
            .collect();
        assert!(frames.len() >= 4 * 8 && frames.iter().all(|frame| frame["epoch"] == epoch), "{frames:?}");
        // The picture of a run begins where the run does.
        let waveform = fs::read_to_string(scene.out().join("waveforms/node-1.csv")).expect("it is there");
        let first = waveform.lines().nth(1).expect("a sample").split(',').next().expect("an index");
        assert!(first.parse::<u32>().expect("a number") < 12 * 90, "{first}");
    }
}

#[test]
fn nodes_that_are_told_to_change_their_epochs_count_on_and_no_run_takes_what_another_told() {
    let Some(mut scene) = scene() else { return };
    scene.change("\"3 s\"", "\"20 s\"");
    scene.change("epoch_frames = 100\n", "");
    scene.change("counter_block = 16384", "counter_block = 16384\nepoch_frames = 4");
    scene.superframes = 80;
    for (run, first) in ["first", "second"].into_iter().zip([Some(1), None]) {
        let before = std::mem::take(&mut scene.frames);
        let epochs = scene.run(&["run"], run);
        for node in 1..=4 {
            let of = |frames: &BTreeSet<(u32, u8, u32)>| -> Vec<(u8, u32)> {
                frames.iter().filter(|frame| frame.0 == node).map(|frame| (frame.1, frame.2)).collect()
            };
            let (earlier, sent) = (of(&before), of(&scene.frames));
            let epochs: Vec<u8> =
                epochs.iter().filter(|(of, _)| *of == node).map(|(_, epoch)| *epoch).collect();
            assert!(epochs.len() >= 3, "{run}: node {node} was in {epochs:?}");
            assert!(first.is_none_or(|first| first == epochs[0]), "{run}: node {node} was in {epochs:?}");
            assert!(
                earlier.last().is_none_or(|last| last.0 < epochs[0]),
                "{run}: {earlier:?}, then {epochs:?}"
            );
            // By epoch and count; over an epoch's end the count goes on.
            assert!(sent.windows(2).all(|two| two[0].1 < two[1].1), "{run}: node {node} sent {sent:?}");
        }
        let verified = scene.selvedge(&["collect", "verify"]);
        assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
    }
}

#[test]
fn a_key_whose_epochs_are_used_up_is_refused_before_anything_is_sealed() {
    let Some(scene) = scene() else { return };
    fs::write(scene.folder.path().join("keys/node-2.epoch"), "next 256\nstores 0\n").expect("it is ours");
    let refused = scene.selvedge(&["node", "run", "--root", &tree().display().to_string()]);
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{stderr}");
    assert!(
        stderr.contains("node-2.epoch`: all 256 epochs of the key are used\nhelp: make new keys"),
        "{stderr}"
    );
}
