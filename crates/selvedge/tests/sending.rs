//! What a person asks of a server while a whole deployment runs: another rate, told over a SIGKILL of the server; a node
//! that is revoked; and an older copy of the store, which is not opened.
//!
//! Owns the runs with real processes and simulated chips. What is told when is `collect`'s tests' business, what a node
//! does with it `settings.rs`'s.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const ECG: &str = include_str!("../../../deployments/ecg.toml");
/// After so long something hangs, on any machine.
const HANGS: Duration = Duration::from_secs(600);
const LOOK: Duration = Duration::from_millis(200);

/// A deployment that runs in a folder of its own.
struct Scene {
    folder: tempfile::TempDir,
    run: Option<Child>,
}

impl Drop for Scene {
    fn drop(&mut self) {
        if let Some(run) = &mut self.run {
            // Its processes end with it.
            let _ = run.kill();
            let _ = run.wait();
        }
    }
}

fn tree() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("this is the tree")
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + HANGS;
    while !is_so() {
        assert!(Instant::now() < deadline, "waiting for {what} hangs");
        thread::sleep(LOOK);
    }
}

impl Scene {
    /// The example without settings of its own, for so long; `None` where it cannot be built.
    fn begin(duration: &str) -> Option<Scene> {
        if Command::new("avr-gcc").arg("--version").output().is_err() {
            println!("skip: runs in which nodes are told something: found no avr-gcc");
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let recording = tree().join("data/ecg/ecg.csv").canonicalize().expect("it is there");
        let text = ECG.replace("../data/ecg/ecg.csv", &recording.display().to_string());
        let text = text.replace("\"120 s\"", &format!("\"{duration}\""));
        let kept = text.lines().filter(|line| !line.trim_start().starts_with("setting"));
        let text: String = kept.map(|line| format!("{line}\n")).collect();
        fs::write(folder.path().join("ecg.toml"), text).expect("it can be written");
        let mut scene = Scene { folder, run: None };
        let mut run = Command::new(env!("CARGO_BIN_EXE_selvedge"));
        run.args(["run", "--json", "--root"])
            .arg(tree())
            .arg("--out")
            .arg(scene.out())
            .arg(scene.deployment());
        run.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
        let streams = run.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        scene.run = Some(streams.spawn().expect("it starts"));
        let socket = scene.out().join("run/collect.sock");
        wait_until("the server", || {
            let ended = scene.run.as_mut().expect("it runs").try_wait().expect("it can be waited for");
            assert!(ended.is_none(), "the run ended: {ended:?}");
            socket.exists()
        });
        Some(scene)
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    fn deployment(&self) -> PathBuf {
        self.folder.path().join("ecg.toml")
    }

    /// `selvedge collect VERB... DEPLOYMENT WORDS... --out OUT --json`.
    fn collect(&self, verb: &[&str], words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_selvedge"));
        command.arg("collect").args(verb).arg(self.deployment()).args(words);
        command.arg("--out").arg(self.out()).arg("--json").stdin(Stdio::null());
        command.output().expect("it starts")
    }

    /// Waits, as long as the run goes on or has done what it owed.
    fn wait_until(&mut self, what: &str, mut is_so: impl FnMut(&Scene) -> bool) {
        let deadline = Instant::now() + HANGS;
        while !is_so(self) {
            let ended = self.run.as_mut().and_then(|run| run.try_wait().expect("it can be waited for"));
            if ended.is_some_and(|status| !status.success()) {
                let said = self.run.take().expect("it ran").wait_with_output().expect("it ended");
                panic!("waiting for {what}: {}", String::from_utf8_lossy(&said.stderr));
            }
            assert!(Instant::now() < deadline, "waiting for {what} hangs");
            thread::sleep(LOOK);
        }
    }

    #[track_caller]
    fn told(&self, verb: &[&str], words: &[&str]) -> Vec<Value> {
        let output = self.collect(verb, words);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        lines(&output.stdout)
    }

    fn end(&mut self) -> (Output, Vec<Value>) {
        let output = self.run.take().expect("it runs").wait_with_output().expect("it ends");
        let rows = lines(&output.stdout);
        (output, rows)
    }

    /// The server of this run.
    fn server(&self) -> Pid {
        let out = self.out().display().to_string();
        let of_process = |entry: fs::DirEntry| {
            let number: i32 = entry.file_name().to_str()?.parse().ok()?;
            let words = fs::read(entry.path().join("cmdline")).ok()?;
            let words: Vec<&str> = std::str::from_utf8(&words).ok()?.split('\0').collect();
            let is_ours = words.windows(2).any(|pair| pair == ["collect", "serve"]) && words.contains(&&*out);
            is_ours.then(|| Pid::from_raw(number).expect("a process has a number"))
        };
        let mut found = None;
        wait_until("the server's process", || {
            let processes = fs::read_dir("/proc").expect("there is one").filter_map(Result::ok);
            found = processes.filter_map(of_process).next();
            found.is_some()
        });
        found.expect("it was found")
    }
}

fn lines(text: &[u8]) -> Vec<Value> {
    let text = String::from_utf8_lossy(text);
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn value(rows: &[Value], case: &str, metric: &str) -> f64 {
    let mut rows = rows.iter().filter(|row| row["case"] == case && row["metric"] == metric);
    rows.next().and_then(|row| row["value"].as_f64()).unwrap_or_else(|| panic!("no row {case}: {metric}"))
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    fs::set_permissions(to, fs::metadata(from).expect("it is there").permissions()).expect("it is ours");
    for entry in fs::read_dir(from).expect("it is there") {
        let path = entry.expect("an entry").path();
        fs::copy(&path, to.join(path.file_name().expect("a name"))).expect("it can be copied");
    }
}

#[test]
fn a_rate_that_is_asked_for_is_told_by_the_next_server_if_this_one_is_killed_and_its_effect_is_stored() {
    let Some(mut scene) = Scene::begin("40 s") else { return };
    let asked = scene.told(&["send"], &["all", "rate=180Hz"]);
    assert_eq!(asked.len(), 4);
    kill_process(scene.server(), Signal::KILL).expect("it runs");
    let mut states = Vec::new();
    scene.wait_until("all nodes to do it", |scene| {
        // Between the two servers nobody answers, or the store itself does.
        let said = scene.collect(&["send"], &["all", "--status"]);
        states = if said.status.success() { lines(&said.stdout) } else { Vec::new() };
        states.len() == 4 && states.iter().all(|told| told["acknowledged"] == true)
    });
    assert!(states.iter().all(|told| told["stride"] == 2), "{states:?}");
    let (output, rows) = scene.end();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for node in 1..=4 {
        let case = format!("node {node}");
        assert_eq!(value(&rows, &case, "rate changes"), 1.0, "{case}");
        assert_eq!(value(&rows, &case, "mismatched samples"), 0.0, "{case}");
        assert_eq!(value(&rows, &case, "lost"), 0.0, "{case}");
    }
    // The store as it was is the latest one, and anything older is not.
    let store = scene.out().join("store");
    assert!(scene.collect(&["verify"], &[]).status.success());
    let older = scene.out().join("older");
    copy_folder(&store, &older);
    let (oldest, _) = segments(&older);
    fs::remove_dir_all(&store).expect("it is ours");
    for name in segments(&older).1.iter().filter(|name| **name != oldest) {
        fs::remove_file(older.join(name)).expect("it is there");
    }
    fs::rename(&older, &store).expect("it has its place");
    for verb in ["verify", "serve"] {
        let refused = scene.collect(&[verb], &[]);
        let said = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(1), "{said}");
        assert!(said.contains("the store is not as far as it was"), "{said}");
    }
    let refused = scene.collect(&["send"], &["1", "input=1"]);
    assert_eq!(refused.status.code(), Some(1), "nothing is written to it either");
}

/// The oldest segment's name, and all of them.
fn segments(store: &Path) -> (String, Vec<String>) {
    let names = fs::read_dir(store).expect("it is there").map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> = names.filter_map(|name| name.into_string().ok()).collect();
    names.retain(|name| name.ends_with(".seg"));
    names.sort();
    assert!(names.len() > 1, "a server that was killed left one, and the next one made another");
    (names[0].clone(), names)
}

#[test]
fn a_node_that_is_revoked_while_it_speaks_is_refused_by_name_and_what_is_stored_stays() {
    let Some(mut scene) = Scene::begin("40 s") else { return };
    let stored = |scene: &Scene| lines(&scene.collect(&["read"], &["--node", "2"]).stdout).len();
    scene.wait_until("frames of the node", |scene| stored(scene) > 3);
    let said = scene.told(&["keys", "revoke"], &["2"]);
    assert_eq!(said[0]["state"], "revoked");
    let before = stored(&scene);
    let asked = scene.collect(&["send"], &["2", "input=1"]);
    assert!(String::from_utf8_lossy(&asked.stderr).contains("node 2 is revoked"));
    let rotated = scene.told(&["keys", "rotate-store"], &[]);
    assert_eq!(rotated[0]["store_key"], 1);
    let (output, rows) = scene.end();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(
        said.contains("node 2: ") && said.contains("frames lost") && !said.contains("node 1: "),
        "{said}"
    );
    assert_eq!(stored(&scene), before, "nothing more of it, and nothing less");
    assert!(value(&rows, "server", "failed: revoked") > 3.0);
    let keys = scene.told(&["keys", "list"], &[]);
    assert!(keys.iter().any(|line| line["node"] == 2 && line["state"] == "revoked"), "{keys:?}");
    assert!(keys.iter().any(|line| line["store_key"] == 0 && line["state"] == "needed"), "{keys:?}");
    assert!(keys.iter().any(|line| line["store_key"] == 1 && line["state"] == "sealing"), "{keys:?}");
    assert_eq!(scene.collect(&["keys", "retire-store"], &["0"]).status.code(), Some(1), "segments need it");
    // Destroying a node's key loses nothing that is stored.
    fs::remove_file(scene.out().join("keys/node-1.key")).expect("it is there");
    assert!(!lines(&scene.collect(&["read"], &["--node", "1"]).stdout).is_empty());
}
