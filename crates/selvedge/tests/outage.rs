//! The power of nodes, gateway and server fails at once, at random moments: every process is killed, and spool, store
//! and EEPROMs forget what was not synced. Nothing that the bridge had counted is lost, nothing is stored twice, and no
//! counter is used twice.
//!
//! Real processes on a real file system (FUSE). A relay between cell and bridge is the witness: it takes down every
//! frame that passes and every count that comes back. The same outage with a spool whose syncs do nothing must show a
//! loss, else it would prove nothing. `SELVEDGE_SEED=n` repeats the moments.

#[path = "../../collect/tests/forgetful/mod.rs"]
mod forgetful;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use collect::sim::Dice;
use forgetful::{Forgetful, Honesty, one_at_a_time, skip};
use rustix::process::{Pid, Signal, kill_process};
use selvedge::link::bridge::wire::{FromCell, ToCell, next_blocking};
use serde_json::Value;

/// After so long something hangs, on any machine.
const HANGS: Duration = Duration::from_secs(300);
const LOOK: Duration = Duration::from_millis(2);
/// What is on a forgetful file system, each on its own.
const FOLDERS: [&str; 3] = ["spool-7", "store", "cell-7"];

/// Node, epoch and counter: what a frame is known by.
type Name = (u32, u8, u32);

/// What passed between cell and bridge.
#[derive(Default)]
struct Witness {
    /// All frames ever.
    seen: BTreeMap<Name, Vec<u8>>,
    /// Those of this life that are not counted, by superframe.
    open: BTreeMap<u32, BTreeSet<Name>>,
    counted: BTreeSet<Name>,
    superframes_counted: usize,
    /// What must not be.
    fault: Option<String>,
}

impl Witness {
    fn frame(&mut self, superframe: u32, bytes: &[u8]) {
        let four = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let name = (four(1), bytes[5], four(6));
        if self.seen.insert(name, bytes.to_vec()).is_some_and(|before| before != bytes) {
            self.fault.get_or_insert(format!("{name:?} was sealed twice"));
        }
        self.open.entry(superframe).or_default().insert(name);
    }

    fn count(&mut self, superframes: u32) {
        let later = self.open.split_off(&superframes);
        let counted = std::mem::replace(&mut self.open, later);
        self.superframes_counted += counted.len();
        self.counted.extend(counted.into_values().flatten());
    }
}

struct Scene {
    folder: tempfile::TempDir,
    disks: [Forgetful; 3],
    witness: Arc<Mutex<Witness>>,
}

/// Processes that run until the power fails, and the file systems that they work on.
struct Life<'a> {
    scene: &'a Scene,
    mounts: Vec<fuser::BackgroundSession>,
    processes: Vec<Child>,
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

/// `None` after saying why the test is skipped.
fn scene(spool: Honesty) -> Option<Scene> {
    if skip() {
        return None;
    }
    if Command::new("avr-gcc").arg("--version").output().is_err() {
        println!("skip: outages of the link: found no avr-gcc");
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let text = fs::read_to_string(tree().join("deployments/ecg.toml")).expect("it is there");
    let recording = tree().join("data/ecg/ecg.csv").display().to_string();
    let text = text.replace("../data/ecg/ecg.csv", &recording).replace("\"120 s\"", "\"20 s\"");
    fs::write(folder.path().join("ecg.toml"), text).expect("it can be written");
    let honest = Honesty { fsync: true, fsync_dir: true };
    let disks = [spool, honest, honest].map(Forgetful::new);
    let scene = Scene { folder, disks, witness: Arc::default() };
    FOLDERS.iter().for_each(|name| fs::create_dir_all(scene.out().join(name)).expect("a place to mount"));
    scene.relay();
    Some(scene)
}

impl Scene {
    fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    fn witness(&self) -> MutexGuard<'_, Witness> {
        self.witness.lock().expect("no thread panics")
    }

    /// Passes every message on, and takes down what it says. A hang-up of one side is one of the other.
    fn relay(&self) {
        let listener = UnixListener::bind(self.folder.path().join("relay.sock")).expect("a socket");
        let (bridge, witness) = (self.out().join("run/bridge-7.sock"), Arc::clone(&self.witness));
        thread::spawn(move || {
            while let Ok((mut cell, _)) = listener.accept() {
                let Ok(mut up) = UnixStream::connect(&bridge) else { continue };
                let (mut down, mut cell_down) = (up.try_clone().unwrap(), cell.try_clone().unwrap());
                let (witness, witness_down) = (Arc::clone(&witness), Arc::clone(&witness));
                thread::spawn(move || {
                    while let Ok(Some(bytes)) = next_blocking(&mut cell) {
                        let message = FromCell::parse(&bytes).expect("a cell's message");
                        if let FromCell::Frame(frame) = &message {
                            witness.lock().unwrap().frame(frame.superframe, &frame.bytes);
                        }
                        if up.write_all(&message.encode()).is_err() {
                            break;
                        }
                    }
                    let _ = up.shutdown(Shutdown::Both);
                });
                thread::spawn(move || {
                    while let Ok(Some(bytes)) = next_blocking(&mut down) {
                        let message = ToCell::parse(&bytes).expect("a bridge's message");
                        if let ToCell::Counted(superframes) = message {
                            witness_down.lock().unwrap().count(superframes);
                        }
                        if cell_down.write_all(&message.encode()).is_err() {
                            break;
                        }
                    }
                    let _ = cell_down.shutdown(Shutdown::Both);
                });
            }
        });
    }

    fn command(&self, verb: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_selvedge"));
        command
            .args(verb)
            .arg(self.folder.path().join("ecg.toml"))
            .arg("--out")
            .arg(self.out())
            .arg("--json");
        command.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
        command.stdin(Stdio::null());
        command
    }

    /// Power comes on: whatever the disks hold, and nothing that runs.
    fn power_on(&self) -> Life<'_> {
        let _ = fs::remove_dir_all(self.out().join("run"));
        self.witness().open.clear();
        let mounts = self.disks.iter().zip(FOLDERS).map(|(disk, name)| disk.mount(&self.out().join(name)));
        Life { scene: self, mounts: mounts.collect(), processes: Vec::new() }
    }

    /// Every stored frame, after checking that none is stored twice.
    fn stored(&self) -> BTreeSet<Name> {
        let read = self.command(&["collect", "read"]).output().expect("it starts");
        assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
        let mut stored = BTreeSet::new();
        for line in String::from_utf8_lossy(&read.stdout).lines() {
            let frame: Value = serde_json::from_str(line).expect("every line is JSON");
            let number = |field: &str| frame[field].as_u64().expect("a number") as u32;
            let name = (number("node"), number("epoch") as u8, number("counter"));
            assert!(stored.insert(name), "{name:?} is stored twice");
        }
        let verified = self.command(&["collect", "verify"]).output().expect("it starts");
        assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
        stored
    }
}

impl Life<'_> {
    fn start(&mut self, verb: &[&str], more: &[&str], ready: &str) {
        let mut command = self.scene.command(verb);
        // What a process says when others are killed around it is not what is tested.
        command.args(more).stdout(Stdio::null()).stderr(Stdio::null());
        self.processes.push(command.spawn().expect("it starts"));
        let ready = self.scene.out().join("run").join(ready);
        wait_until(&format!("{verb:?}"), || ready.exists() || self.has_ended());
        assert!(!self.has_ended(), "{verb:?} has ended");
    }

    fn has_ended(&mut self) -> bool {
        self.processes.iter_mut().any(|process| process.try_wait().expect("a child").is_some())
    }

    fn start_gateway(&mut self) {
        self.start(&["broker", "device"], &[], "device.sock");
        self.start(&["broker", "serve"], &[], "broker.sock");
        self.start(&["bridge"], &[], "bridge-7.sock");
    }

    fn start_server(&mut self) {
        self.start(&["collect", "serve"], &[], "collect.address");
    }

    fn start_nodes(&mut self) {
        let (root, relay) = (tree(), self.scene.folder.path().join("relay.sock"));
        let more = ["--root", root.to_str().expect("text"), "--to", relay.to_str().expect("text")];
        self.start(&["node", "run"], &more, ".");
    }

    /// Waits until so many superframes more are counted, or the nodes have finished.
    fn wait_until_counted(&mut self, more: usize) {
        let wanted = self.scene.witness().superframes_counted + more;
        wait_until("counts", || self.scene.witness().superframes_counted >= wanted || self.has_ended());
    }

    /// Lets the nodes finish, and everybody else end well.
    fn finish(mut self) {
        let mut nodes = self.processes.pop().expect("nodes were started last");
        assert!(nodes.wait().expect("a child").success(), "the nodes");
        while let Some(mut process) = self.processes.pop() {
            kill_process(Pid::from_child(&process), Signal::TERM).expect("it runs");
            assert!(
                process.wait().expect("a child").success(),
                "process {} from the first",
                self.processes.len()
            );
        }
        self.cut();
    }

    /// Power fails.
    fn cut(mut self) {
        self.kill();
        for mount in self.mounts.drain(..) {
            mount.umount_and_join().expect("nobody has a file open");
        }
        let forgotten: Vec<usize> = self.scene.disks.iter().map(Forgetful::crash).collect();
        println!("cut: {forgotten:?} bytes of {FOLDERS:?} forgotten");
    }

    fn kill(&mut self) {
        for process in &mut self.processes {
            let _ = process.kill();
        }
        for mut process in self.processes.drain(..) {
            let _ = process.wait();
        }
    }
}

impl Drop for Life<'_> {
    fn drop(&mut self) {
        // A test that fails leaves nobody behind, and nothing mounted.
        self.kill();
    }
}

/// Two lives without a server, then some with one, all cut short, and a last one that is not. Returns the frames that
/// were counted and are not stored.
fn outages(spool: Honesty) -> Option<BTreeSet<Name>> {
    let _one = one_at_a_time();
    let scene = scene(spool)?;
    let seed = std::env::var("SELVEDGE_SEED").map_or_else(
        |_| std::time::UNIX_EPOCH.elapsed().expect("it is after 1970").as_nanos() as u64,
        |seed| seed.parse().expect("a number"),
    );
    println!("seed {seed}");
    let mut dice = Dice::new(seed);
    for has_server in [false, false, true, true, true] {
        let mut life = scene.power_on();
        if has_server {
            life.start_server();
        }
        life.start_gateway();
        life.start_nodes();
        // Without a server a cell goes no further than its lag.
        life.wait_until_counted(3 + dice.below(if has_server { 40 } else { 10 }) as usize);
        life.cut();
    }
    let mut life = scene.power_on();
    life.start_server();
    life.start_gateway();
    life.start_nodes();
    life.finish();
    let life = scene.power_on();
    let stored = scene.stored();
    life.cut();
    let witness = scene.witness();
    assert_eq!(witness.fault, None);
    let (seen, counted) = (witness.seen.len(), witness.counted.len());
    println!("{seen} frames seen, {counted} counted, {} stored", stored.len());
    assert!(counted > 300 && stored.iter().all(|name| witness.seen.contains_key(name)));
    Some(witness.counted.difference(&stored).copied().collect())
}

#[test]
fn what_was_counted_survives_an_outage_of_everything_and_is_stored_once() {
    let Some(lost) = outages(Honesty { fsync: true, fsync_dir: true }) else { return };
    assert!(lost.is_empty(), "{} counted frames are lost: {lost:?}", lost.len());
}

#[test]
fn with_a_spool_that_is_not_synced_the_loss_is_seen() {
    let Some(lost) = outages(Honesty { fsync: false, fsync_dir: true }) else { return };
    println!("seen: {} counted frames are lost", lost.len());
    assert!(!lost.is_empty(), "a spool that forgets lost nothing");
}
