//! The whole link while things go wrong: processes are killed, the bus is noisy, somebody interrupts. Whatever
//! happens, nothing that was counted is lost, nothing is stored twice, and nobody is left behind.
//!
//! Owns real runs of the real binary. A run is disturbed when its store has grown by so much, not after so much time,
//! and what is drawn is drawn from a seed that is printed (`SELVEDGE_SEED` sets it).

#[path = "../../collect/tests/cluster/mod.rs"]
mod cluster;
#[path = "faults/relay.rs"]
mod relay;
#[path = "../../cipher/tests/soak/mod.rs"]
mod soak;
#[path = "faults/strikes.rs"]
mod strikes;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use collect::sim::Dice;
use relay::Relay;
use rustix::process::{Pid, Signal, kill_process};
use selvedge::link::journal::{Received, read_lines};
use serde_json::Value;
use soak::is_soak;
use strikes::{Fault, is_whole_deck, signal, strike_some};

/// A pause between two looks at a run.
const LOOK: Duration = Duration::from_millis(2);
/// After so long something hangs, on any machine.
const HANGS: Duration = Duration::from_secs(300);

/// A deployment and the folder of its runs.
struct Scene {
    folder: tempfile::TempDir,
    deployment: PathBuf,
}

/// How a run ended.
struct Ended {
    status: ExitStatus,
    stdout: String,
    stderr: String,
}

/// A run that goes on.
struct Run<'a> {
    scene: &'a Scene,
    child: Child,
}

fn tree() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("this is the tree")
}

/// `None` after saying that the test is skipped, when there is no compiler for the nodes.
fn scene(seconds: u32, changes: &str) -> Option<Scene> {
    let compiler = Command::new("avr-gcc").arg("--version").output();
    if compiler.is_err() {
        println!("skip: faults of the link: found no avr-gcc");
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let deployment = folder.path().join("ecg.toml");
    let text = fs::read_to_string(tree().join("deployments/ecg.toml")).expect("it is there");
    let recording = tree().join("data/ecg/ecg.csv").display().to_string();
    let text = replaced(&text, "../data/ecg/ecg.csv", &recording);
    let text = replaced(&text, "duration = \"120 s\"", &format!("duration = \"{seconds} s\""));
    // Servers that share their nodes have no metrics: what is changed stands in their place.
    let metrics = "metrics = \"127.0.0.1:0\"\n";
    let text = if changes.is_empty() { text } else { replaced(&text, metrics, changes) };
    fs::write(&deployment, text).expect("it can be written");
    Some(Scene { folder, deployment })
}

fn replaced(text: &str, from: &str, to: &str) -> String {
    assert_eq!(text.matches(from).count(), 1, "the deployment says `{from}` once");
    text.replace(from, to)
}

impl Scene {
    fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    fn command(&self, verb: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_selvedge"));
        command.args(verb).arg(&self.deployment).arg("--out").arg(self.out()).arg("--json");
        command.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
        command.stdin(Stdio::null());
        command
    }

    fn start(&self) -> Run<'_> {
        // How far a run is can be seen from its store, not from that of the run before.
        let _ = fs::remove_dir_all(self.out().join("store"));
        let file = |name| File::create(self.folder.path().join(name)).expect("it can be written");
        let mut command = self.command(&["run"]);
        command.arg("--root").arg(tree()).stdout(file("stdout")).stderr(file("stderr"));
        Run { scene: self, child: command.spawn().expect("it starts") }
    }

    fn run(&self) -> Ended {
        self.start().end()
    }

    /// The processes, whoever their parent is now, that work in this folder.
    fn processes(&self) -> Vec<u32> {
        let out = self.out().display().to_string();
        let entries = fs::read_dir("/proc").expect("Linux has it").flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        // A zombie has no command line: it is gone, and nobody has looked yet.
        let works_here = |number: &u32| {
            let line = fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).split('\0').any(|word| word == out)
        };
        numbers.filter(works_here).collect()
    }

    fn number(&self, stem: &str) -> Option<u32> {
        let text = fs::read_to_string(self.out().join(format!("run/{stem}.pid"))).ok()?;
        text.strip_suffix('\n')?.parse().ok()
    }

    /// Of all logs, where there are several.
    fn store_bytes(&self) -> u64 {
        fn bytes(folder: &Path) -> u64 {
            let Ok(entries) = fs::read_dir(folder) else { return 0 };
            let bytes = |entry: fs::DirEntry| match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => bytes(&entry.path()),
                metadata => metadata.map_or(0, |file| file.len()),
            };
            entries.flatten().map(bytes).sum()
        }
        bytes(&self.out().join("store"))
    }

    /// Waits until none of our processes works in this folder.
    fn wait_for_nobody(&self) {
        let deadline = Instant::now() + HANGS;
        while !self.processes().is_empty() {
            assert!(Instant::now() < deadline, "{:?} have survived", self.processes());
            sleep(LOOK);
        }
    }
}

impl Run<'_> {
    fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("it can be waited for").is_some()
    }

    /// Waits until `is_so`. False when the run ends before.
    fn wait_until(&mut self, mut is_so: impl FnMut(&Scene) -> bool) -> bool {
        let deadline = Instant::now() + HANGS;
        while !is_so(self.scene) {
            if self.has_ended() {
                return false;
            }
            assert!(Instant::now() < deadline, "the run hangs");
            sleep(LOOK);
        }
        true
    }

    fn wait_until_stored(&mut self, bytes: u64) -> bool {
        self.wait_until(|scene| scene.store_bytes() >= bytes)
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it runs");
    }

    fn end(mut self) -> Ended {
        let status = self.child.wait().expect("it can be waited for");
        let read = |name| fs::read_to_string(self.scene.folder.path().join(name)).expect("it is text");
        Ended { status, stdout: read("stdout"), stderr: read("stderr") }
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        // A test that fails leaves nobody behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ended {
    fn rows(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).expect("every line is JSON")).collect()
    }

    fn sum(&self, is_meant: impl Fn(&str) -> bool) -> u64 {
        let rows = self.rows();
        let meant = rows.iter().filter(|row| row["metric"].as_str().is_some_and(&is_meant));
        meant.map(|row| row["value"].as_f64().expect("a count") as u64).sum()
    }

    fn row(&self, case: &str, metric: &str) -> u64 {
        let rows = self.rows();
        let row = rows.iter().find(|row| row["metric"] == metric && row["case"] == case).expect("a row");
        row["value"].as_u64().expect("a count")
    }

    /// The run did all that it had to.
    #[track_caller]
    fn assert_whole(&self) {
        assert!(self.status.success(), "{}\n{}", self.status, self.stderr);
        let last = self.rows().pop().expect("a last line");
        for count in ["lost", "duplicated", "mismatched_samples"] {
            assert_eq!(last[count], 0, "{count}: {last}\n{}", self.stderr);
        }
        assert!(last["frames_stored"].as_u64() > Some(0), "{last}");
    }

    /// It failed with one error, and with this code.
    #[track_caller]
    fn assert_fails(&self, code: i32, words: &str) {
        assert_eq!(self.status.code(), Some(code), "{}", self.stderr);
        assert_eq!(self.stderr.matches("error: ").count(), 1, "{}", self.stderr);
        assert!(self.stderr.contains(words) && !self.stderr.contains("panicked"), "{}", self.stderr);
        let said: Value = serde_json::from_str(self.stdout.trim()).expect("one value");
        assert!(said["error"]["message"].as_str().is_some_and(|text| text.contains(words)), "{said}");
    }
}

fn kill(number: u32) -> bool {
    signal(number, Signal::KILL)
}

/// What is drawn, from a seed that is printed.
fn dice() -> Dice {
    let clock =
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("it is after 1970").as_nanos();
    let seed = std::env::var("SELVEDGE_SEED").map_or(clock as u64, |seed| seed.parse().expect("a number"));
    println!("seed {seed}");
    Dice::new(seed)
}

#[test]
fn whoever_is_killed_or_stopped_nothing_is_lost_and_who_was_killed_is_started_again() {
    let (rounds, wanted, seconds) = if is_soak() { (8, 40, 120) } else { (1, 20, 60) };
    let Some(scene) = scene(seconds, "") else { return };
    let (stems, mut dice) = (["bridge-7", "broker", "device", "collect"], dice());
    for _ in 0..rounds {
        let mut run = scene.start();
        let struck = strike_some(&mut run, &stems, &mut dice, wanted, &mut |_| ());
        let ended = run.end();
        assert_eq!(struck.len(), wanted, "the run was over too early\n{}", ended.stderr);
        ended.assert_whole();
        assert!(is_whole_deck(&stems, &struck), "{struck:?}");
        // The cell notices a bridge that is gone, unless it has nothing more to say.
        let reconnections = ended.row("cell ward", "reconnections");
        assert!(
            reconnections > 0 || !struck[..wanted - 1].contains(&("bridge-7", Fault::Kill)),
            "{struck:?}"
        );
        let kills = struck.iter().filter(|(_, fault)| *fault == Fault::Kill).count() as u32;
        let restarts = ended.sum(|metric| metric == "restarts") as u32;
        println!("{kills} kills, {restarts} restarts, {reconnections} reconnections\n{}", ended.stderr);
        // Who is killed while it ends by itself, at the end or for want of a device, need not be started again.
        assert!(restarts <= kills && 2 * restarts >= kills, "{restarts} of {kills}");
        assert_eq!(scene.processes(), Vec::<u32>::new());
    }
}

/// A run over another transport, of which bridge and server are killed and stopped on the way; each time something happens
/// `besides`.
fn run_that_is_struck(changes: &str, mut besides: impl FnMut(&mut Dice)) {
    let (rounds, seconds) = if is_soak() { (6, 120) } else { (1, 20) };
    let Some(scene) = scene(seconds, changes) else { return };
    let (stems, mut dice) = (["bridge-7", "collect"], dice());
    let mut run = scene.start();
    let struck = strike_some(&mut run, &stems, &mut dice, 4 * rounds, &mut besides);
    let ended = run.end();
    assert!(struck.len() == 4 * rounds && is_whole_deck(&stems, &struck), "{struck:?}\n{}", ended.stderr);
    ended.assert_whole();
    // Each of them was killed once in a round.
    assert_eq!(["bridge ward", "collect"].map(|name| ended.row(name, "restarts")), [rounds as u64; 2]);
    assert_eq!(ended.row("bridge ward", "batches pending"), 0);
    // What can be read is what was stored, each frame once.
    let stored = ended.rows().pop().expect("a last line")["frames_stored"].as_u64().expect("a count");
    let listed = scene.command(&["collect", "read"]).output().expect("it starts");
    assert_eq!(String::from_utf8_lossy(&listed.stdout).lines().count() as u64, stored);
    assert!(scene.command(&["collect", "verify"]).output().expect("it starts").status.success());
    assert_eq!(scene.processes(), Vec::<u32>::new());
}

#[test]
fn a_run_over_udp_loses_nothing_when_bridge_and_server_are_killed_and_stopped() {
    run_that_is_struck("transport = \"udp\"\n", |_| ());
}

#[test]
fn a_run_through_nats_loses_nothing_when_bridge_server_and_cluster_are_killed_and_stopped() {
    let Some(program) = cluster::nats_server("a run through NATS") else { return };
    let mut cluster = cluster::Servers::start(&program);
    let servers = cluster.cluster(4).servers;
    let changes = format!("transport = \"nats\"\nnats = {servers:?}\npartitions = 4\n");
    // One of them is away whenever bridge or server are struck: it was just killed, or it is stopped meanwhile.
    let mut dealt = Vec::new();
    run_that_is_struck(&changes, |dice| {
        let fault = if dealt.len() % 2 == 0 { Fault::Kill } else { Fault::Stop };
        let server = dice.below(3) as usize;
        println!("{fault:?} server {server} of NATS besides");
        match fault {
            Fault::Kill => cluster.kill(server),
            Fault::Stop => {
                cluster.stop_beside(server, Duration::from_millis(500 + u64::from(dice.below(2_500))))
            }
        }
        dealt.push(fault);
    });
    assert!(dealt.len() >= 4, "{dealt:?}");
}

/// The broker and its device, each of them once, or over and over; at moments that are drawn.
fn core_kills(dice: &mut Dice, wanted: usize, bytes: u64) -> Vec<(&'static str, u64)> {
    let first = dice.below(2) as usize;
    // In the middle: everybody is at work, and has work left.
    let moment = |_| bytes / 10 + u64::from(dice.below((bytes * 7 / 10) as u32));
    let mut moments: Vec<u64> = (0..wanted).map(moment).collect();
    moments.sort_unstable();
    let stems = ["broker", "device"].into_iter().cycle().skip(first);
    stems.zip(moments).collect()
}

#[test]
fn a_run_whose_broker_and_device_are_killed_stores_what_one_stores_that_is_left_alone() {
    let (rounds, wanted, seconds) = if is_soak() { (4, 60, 120) } else { (1, 2, 20) };
    let Some(scene) = scene(seconds, "") else { return };
    let mut dice = dice();
    // Which samples there are, and of when. Their codes are compared with what was at the input by the run itself: when
    // a node hears of another input may depend on when the server could be heard.
    let samples = || -> Vec<String> {
        let read = |node| fs::read_to_string(scene.out().join(format!("waveforms/node-{node}.csv")));
        let texts = (1..=4).map(|node| read(node).expect("it was stored"));
        let name = |line: &str| line.rsplit_once(',').expect("three columns").0.to_owned();
        texts.flat_map(|text| text.lines().map(name).collect::<Vec<_>>()).collect()
    };
    scene.run().assert_whole();
    let (alone, bytes) = (samples(), scene.store_bytes());
    for _ in 0..rounds {
        let mut run = scene.start();
        for (stem, bytes) in core_kills(&mut dice, wanted, bytes) {
            assert!(run.wait_until_stored(bytes), "the run was over before {stem} was killed");
            let mut killed = None;
            // A broker may have given up for want of a device, and another one is on its way.
            assert!(run.wait_until(|scene| {
                killed = scene.number(stem).filter(|number| kill(*number));
                killed.is_some()
            }));
            println!("kill {stem} at {} bytes stored", scene.store_bytes());
            assert!(run.wait_until(|scene| scene.number(stem).is_some_and(|other| Some(other) != killed)));
        }
        let ended = run.end();
        ended.assert_whole();
        // A broker that was killed while it gave up for want of a device was not running.
        let restarts = ["broker", "device"].map(|name| ended.row(name, "restarts") as usize);
        println!("{restarts:?} restarts of broker and device");
        assert!(restarts.iter().sum::<usize>() <= wanted && restarts[1] == wanted / 2);
        assert!(samples() == alone, "other samples were stored");
        assert_eq!(scene.processes(), Vec::<u32>::new());
    }
}

/// The processes of a run, started one by one, with a relay between the broker and its device.
struct ByHand<'a> {
    scene: &'a Scene,
    relay: PathBuf,
    processes: Vec<(&'static str, Child)>,
}

impl ByHand<'_> {
    /// Starts it, in place of the one that there was, and waits until it can be asked.
    fn start(&mut self, name: &'static str) {
        let (root, relay) = (tree(), &self.relay);
        let (bridge, run) = (self.scene.out().join("run/bridge-7.sock"), self.scene.out().join("run"));
        let (verb, more, ready): (&[&str], Vec<&Path>, &str) = match name {
            "device" => (&["broker", "device"], vec![], "device.sock"),
            "broker" => (&["broker", "serve"], vec![Path::new("--device"), relay], "broker.sock"),
            "collect" => (&["collect", "serve"], vec![], "collect.address"),
            "bridge" => (&["bridge"], vec![], "bridge-7.sock"),
            _ => {
                (&["node", "run"], vec![Path::new("--to"), &bridge, Path::new("--root"), root.as_path()], ".")
            }
        };
        // What a killed one leaves does not say that this one is there.
        let ready = run.join(ready);
        let _ = fs::remove_file(&ready);
        let mut command = self.scene.command(verb);
        let child = command.args(more).stdout(Stdio::null()).spawn().expect("it starts");
        self.processes.push((name, child));
        let deadline = Instant::now() + HANGS;
        while !ready.exists() {
            assert!(Instant::now() < deadline, "{name} hangs");
            assert_eq!(self.ended(name), None, "{name} has ended");
            sleep(LOOK);
        }
    }

    fn process(&mut self, name: &str) -> &mut Child {
        &mut self.processes.iter_mut().find(|(other, _)| *other == name).expect("it was started").1
    }

    fn ended(&mut self, name: &str) -> Option<ExitStatus> {
        self.process(name).try_wait().expect("it is a child")
    }

    fn kill(&mut self, name: &str) {
        let child = self.process(name);
        child.kill().expect("it is a child");
        child.wait().expect("it is a child");
        self.processes.retain(|(other, _)| *other != name);
    }
}

impl Drop for ByHand<'_> {
    fn drop(&mut self) {
        // A test that fails leaves nobody behind.
        for (_, child) in &mut self.processes {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn no_nonce_is_used_twice_by_a_device_that_is_killed_and_every_frame_is_stored_once() {
    let (wanted, seconds) = if is_soak() { (40, 120) } else { (6, 20) };
    let Some(scene) = scene(seconds, "") else { return };
    let mut dice = dice();
    let path = scene.folder.path().join("relay.sock");
    let relay = Relay::start(&path, scene.out().join("run/device.sock"));
    let mut by_hand = ByHand { scene: &scene, relay: path, processes: Vec::new() };
    for name in ["device", "broker", "collect", "bridge", "nodes"] {
        by_hand.start(name);
    }
    let mut killed = 0;
    // What a cell stores in all is some 4,000 bytes a second, and the log grows in steps as long as that.
    let growth = u64::from(seconds) * 1_000 / wanted;
    while killed < wanted && by_hand.ended("nodes").is_none() {
        let bytes = scene.store_bytes() + u64::from(dice.below(growth as u32));
        while scene.store_bytes() < bytes && by_hand.ended("nodes").is_none() {
            sleep(LOOK);
        }
        let name = ["broker", "device"][usize::from(dice.chance(1, 2))];
        println!("kill {name} at {} bytes stored", scene.store_bytes());
        by_hand.kill(name);
        by_hand.start(name);
        killed += 1;
    }
    assert!(by_hand.process("nodes").wait().expect("it is a child").success());
    for name in ["bridge", "collect", "broker", "device"] {
        let child = by_hand.process(name);
        kill_process(Pid::from_child(child), Signal::TERM).expect("it runs");
        assert!(child.wait().expect("it is a child").success(), "{name}");
    }
    let read = scene.command(&["collect", "read"]).output().expect("it starts");
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    let mut stored = BTreeSet::new();
    for line in String::from_utf8_lossy(&read.stdout).lines() {
        let frame: Value = serde_json::from_str(line).expect("every line is JSON");
        let name = ["node", "epoch", "counter"].map(|field| frame[field].as_u64().expect("a number"));
        assert!(stored.insert(name), "{name:?} is stored twice");
    }
    let received: Vec<Received> = read_lines(&scene.out().join("cell-7/received.csv")).expect("frames");
    let name = |frame: &Received| {
        let byte = |at: usize| u8::from_str_radix(&frame.bytes[2 * at..2 * at + 2], 16).expect("hex");
        let four = |at: usize| u64::from(u32::from_le_bytes([0, 1, 2, 3].map(|offset| byte(at + offset))));
        [four(1), u64::from(byte(5)), four(6)]
    };
    let sent: BTreeSet<_> = received.iter().map(name).collect();
    let sealed = relay.sealed();
    let (nonces, openings) = (sealed.nonces.len(), sealed.openings);
    println!("{killed} kills, {openings} openings of the device, {nonces} nonces, {} frames", stored.len());
    assert_eq!(sent.len(), received.len(), "a frame's nonce was used twice");
    assert!(stored == sent, "lost: {:?}", sent.difference(&stored).collect::<Vec<_>>());
    assert!(sealed.repeated.is_empty(), "used twice: {:?}", sealed.repeated);
    assert!(killed == wanted && openings > wanted as usize / 2 && nonces > 5, "{killed} kills");
}

#[test]
fn a_broker_that_starts_while_its_device_is_dead_gets_both_back() {
    let Some(scene) = scene(30, "") else { return };
    let mut run = scene.start();
    for pair in 1..=4 {
        assert!(run.wait_until_stored(pair * 8_000), "the run was over before pair {pair}");
        let mut pids = [None; 2];
        assert!(run.wait_until(|scene| {
            pids = ["broker", "device"].map(|stem| scene.number(stem));
            pids.iter().all(Option::is_some)
        }));
        let [broker, device] = pids.map(|number| number.expect("both are there"));
        kill(broker);
        // The run has noticed, and starts another broker now.
        assert!(run.wait_until(|scene| scene.number("broker") != Some(broker)));
        kill(device);
        assert!(run.wait_until(|scene| scene.number("device").is_some_and(|other| other != device)));
    }
    let ended = run.end();
    ended.assert_whole();
    let met = ended.stderr.matches("cannot open the device").count();
    println!("{met} brokers have met a dead device\n{}", ended.stderr);
    let restarts = |name: &str| ended.row(name, "restarts");
    // A broker that was killed while it gave up for want of a device was not running.
    assert!(restarts("device") == 4 && (1..=4).contains(&restarts("broker")));
}

#[test]
fn a_run_whose_node_is_killed_fails_and_leaves_nobody_behind() {
    let Some(scene) = scene(60, "") else { return };
    let mut run = scene.start();
    assert!(run.wait_until_stored(10_000), "the run was over before its node was killed");
    assert!(kill(scene.number("node-7").expect("it runs")));
    let ended = run.end();
    assert_eq!(scene.processes(), Vec::<u32>::new());
    ended.assert_fails(3, "`node run ward` ended with signal: 9");
    // What was stored can be read; what a run writes at its end is not there.
    let verified = scene.command(&["collect", "verify"]).output().expect("it starts");
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
    for name in ["rows.ndjson", "report.html", "waveforms"] {
        assert!(!scene.out().join(name).exists(), "{name} is half written");
    }
    let numbers = fs::read_dir(scene.out().join("run")).expect("it is there").flatten();
    let left: Vec<_> = numbers
        .map(|entry| entry.file_name())
        .filter(|name| name.as_encoded_bytes().ends_with(b".pid"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    // The folder is a run's, and the next one empties it.
    let long = fs::read_to_string(&scene.deployment).expect("it is there");
    let short = replaced(&long, "duration = \"60 s\"", "duration = \"5 s\"");
    fs::write(&scene.deployment, short).expect("it can be written");
    scene.run().assert_whole();
}

#[test]
fn nobody_outlives_a_run_that_is_killed() {
    let Some(scene) = scene(60, "") else { return };
    for bytes in [0, 10_000] {
        let mut run = scene.start();
        assert!(run.wait_until(|scene| scene.number("broker").is_some()) && run.wait_until_stored(bytes));
        run.signal(Signal::KILL);
        assert_eq!(run.end().status.code(), None);
        scene.wait_for_nobody();
    }
}

#[test]
fn a_run_that_is_interrupted_ends_with_all_of_its_processes() {
    let Some(scene) = scene(60, "") else { return };
    for (signal, bytes) in [(Signal::INT, 0), (Signal::INT, 10_000), (Signal::TERM, 10_000)] {
        let mut run = scene.start();
        assert!(run.wait_until(|scene| scene.number("device").is_some()) && run.wait_until_stored(bytes));
        run.signal(signal);
        let ended = run.end();
        assert_eq!(scene.processes(), Vec::<u32>::new());
        ended.assert_fails(3, "interrupted");
    }
}

#[test]
fn a_second_run_in_the_same_folder_is_refused_and_the_first_goes_on() {
    let Some(scene) = scene(20, "") else { return };
    let second = || scene.command(&["run"]).arg("--root").arg(tree()).output().expect("it starts");
    let refused = |second: Output| {
        let stderr = String::from_utf8_lossy(&second.stderr).into_owned();
        assert_eq!(second.status.code(), Some(3), "{stderr}");
        assert!(stderr.contains("another process works in"), "{stderr}");
    };
    let mut first = scene.start();
    assert!(first.wait_until_stored(5_000), "the first run was over before the second began");
    refused(second());
    first.end().assert_whole();
    // A server that somebody started by hand is no less alive.
    let mut server = scene.command(&["collect", "serve"]).stdout(Stdio::null()).spawn().expect("it starts");
    let address = scene.out().join("run/collect.address");
    fs::remove_file(&address).expect("the run had one");
    let deadline = Instant::now() + HANGS;
    while !address.exists() {
        assert!(Instant::now() < deadline && server.try_wait().expect("it can be waited for").is_none());
        sleep(LOOK);
    }
    refused(second());
    kill_process(Pid::from_child(&server), Signal::TERM).expect("it runs");
    assert!(server.wait().expect("it ends").success());
    assert!(scene.store_bytes() > 0, "the store was emptied");
}

#[test]
fn frames_that_noise_has_struck_are_counted_and_nothing_else_is_touched() {
    let noise = "\n[cell.ward.noise]\nbit_errors = \"20 ppm\"\n\
                 drop_out_interval = \"3 s\"\ndrop_out_duration = \"200 ms\"\n";
    let Some(scene) = scene(30, noise) else { return };
    let ended = scene.run();
    ended.assert_whole();
    let struck = ended.sum(|metric| metric == "frames with a wrong tag");
    // The server counts them by reason, and so does the bridge from its receipts.
    let reasons = |case: &str| -> BTreeMap<String, u64> {
        let rows = ended.rows().into_iter().filter(|row| row["case"] == case);
        let reason = |row: Value| {
            Some((row["metric"].as_str()?.strip_prefix("failed: ")?.to_owned(), row["value"].as_u64()?))
        };
        rows.filter_map(reason).collect()
    };
    let failed = reasons("server");
    let stored = ended.sum(|metric| metric == "frames stored");
    let empty = ended.sum(|metric| metric == "empty slots");
    println!(
        "{struck} frames struck, {failed:?} failed, {stored} stored, {empty} slots empty\n{}",
        ended.stderr
    );
    assert!(struck > 0 && empty > 0, "there was no noise");
    assert_eq!(failed.values().sum::<u64>(), struck, "{}", ended.stdout);
    assert_eq!(reasons("bridge ward"), failed);
    let report = fs::read_to_string(scene.out().join("report.html")).expect("it is there");
    assert!(report.contains("failed: rejected"), "the report says nothing of it");
}

#[test]
fn a_run_in_which_nothing_arrives_is_no_success() {
    // No beacon is ever whole, so no node joins.
    let Some(scene) = scene(3, "\n[cell.ward.noise]\nbit_errors = \"10 %\"\n") else { return };
    let ended = scene.run();
    println!("{}\n{}", ended.stdout, ended.stderr);
    assert_eq!(ended.status.code(), Some(3));
    for node in 1..=4 {
        assert!(ended.stderr.contains(&format!("node {node}: 0 frames stored")), "{}", ended.stderr);
    }
    // The report is there all the same: it is what one looks at now.
    assert!(scene.out().join("report.html").exists());
}

#[test]
fn equal_seeds_give_equal_rows_under_other_keys() {
    let Some(scene) = scene(20, "") else { return };
    let [(first_key, first), (second_key, second)] = [(), ()].map(|()| {
        let ended = scene.run();
        ended.assert_whole();
        for node in 1..=4 {
            let (known, stored) = ["frames acknowledged", "frames stored"]
                .map(|metric| ended.row(&format!("node {node}"), metric))
                .into();
            assert!(known > 0 && known <= stored, "node {node} knows of {known} frames of {stored}");
        }
        let rows = ended.rows().into_iter().filter(|row| row["metric"].is_string() && row["clock"] != "wall");
        let rows: Vec<String> = rows.map(|row| row.to_string()).collect();
        (fs::read(scene.out().join("keys/node-1.key")).expect("it is there"), rows)
    });
    assert!(first_key != second_key, "the second run began with the keys of the first");
    assert!(first.len() > 40, "{first:#?}");
    let differ: Vec<_> = first.iter().zip(&second).filter(|(first, second)| first != second).collect();
    assert!(differ.is_empty() && first.len() == second.len(), "{differ:#?}");
}

#[test]
fn a_seed_on_the_command_line_goes_before_the_deployments() {
    let Some(scene) = scene(10, "\n[cell.ward.noise]\nbit_errors = \"30 ppm\"\n") else { return };
    let received = |seed: &[&str]| {
        let ran = scene.command(&["run"]).args(seed).arg("--root").arg(tree()).output().expect("it starts");
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        let report = fs::read_to_string(scene.out().join("report.html")).expect("it is there");
        let rows = said.lines().filter(|row| row.contains("\"metric\"") && !row.contains("\"wall\""));
        (rows.map(str::to_owned).collect::<Vec<_>>(), said.lines().last().expect("a line").to_owned(), report)
    };
    let (own, _, _) = received(&[]);
    let (other, said, report) = received(&["--seed", "424242"]);
    assert!(said.contains("\"seed\":424242") && report.contains("424242"), "{said}");
    assert!(own != other, "another seed is other noise");
    let text = fs::read_to_string(&scene.deployment).expect("it is there");
    fs::write(&scene.deployment, replaced(&text, "seed = 1\n", "seed = 424242\n"))
        .expect("it can be written");
    assert_eq!(received(&[]).0, other);
}

#[test]
fn a_store_opens_with_its_own_key_only() {
    let Some(scene) = scene(5, "") else { return };
    scene.run().assert_whole();
    let read = || scene.command(&["collect", "read"]).output().expect("it starts");
    let own = read();
    assert!(own.status.success() && !own.stdout.is_empty());
    fs::write(scene.out().join("keys/store.key"), format!("{}\n", "42".repeat(32))).expect("it is ours");
    let foreign = read();
    let stderr = String::from_utf8_lossy(&foreign.stderr);
    assert_eq!(foreign.status.code(), Some(1), "{stderr}");
    assert_eq!(stderr.matches("error: ").count(), 1, "{stderr}");
    assert!(!String::from_utf8_lossy(&foreign.stdout).contains("samples"), "a frame was released");
}

/// The example, and a second cell of two nodes: other chips, another superframe, the same recording and server.
const SECOND_CELL: &str = r#"
[cell.lab]
id = 8
superframe = "100 ms"
slot = "8 ms"
guard = "1 ms"
bus = "500 kHz"
byte_gap = "250 ns"

[cell.lab.every_node]
chip = "atmega328p"
clock = "8 MHz"
input = "ecg"
gain = "x300"
offset = "1.28 V"
reference = "2.56 V"
rate = "360 Hz"
suite = "ascon-aead128"
bus = "f/16"
counter_block = 16384

[[cell.lab.node]]
id = 11
slot = 1
drift = "+50 ppm"
start = "200 s"

[[cell.lab.node]]
id = 12
slot = 2
drift = "-60 ppm"
start = "250 s"
"#;

#[test]
fn two_cells_run_side_by_side_and_every_row_says_whose_it_is() {
    let Some(scene) = scene(10, SECOND_CELL) else { return };
    let mut run = scene.start();
    let stems = ["bridge-7", "bridge-8", "node-7", "node-8"];
    let mut numbers = [None; 4];
    assert!(run.wait_until(|scene| {
        numbers = stems.map(|stem| scene.number(stem));
        numbers.iter().all(Option::is_some)
    }));
    assert!((1..4).all(|at| !numbers[..at].contains(&numbers[at])), "{numbers:?}");
    let ended = run.end();
    ended.assert_whole();
    let rows = ended.rows();
    let value = |case: &str, metric: &str| -> f64 {
        let is_meant = |row: &&Value| row["case"] == case && row["metric"] == metric;
        let meant: Vec<_> = rows.iter().filter(is_meant).collect();
        assert_eq!(meant.len(), 1, "{case}, {metric}: {meant:?}");
        meant[0]["value"].as_f64().expect("a number")
    };
    // Each frame is counted by the cell's gateway, by its bridge and in the store.
    // Three of the ward's have woven filters: what they seal goes out a superframe later.
    for (cell, nodes, superframes, woven) in
        [("ward", &[1, 2, 3, 4][..], 40.0, 3.0), ("lab", &[11, 12], 100.0, 0.0)]
    {
        let received = value(&format!("cell {cell}"), "frames received");
        let stored: f64 = nodes.iter().map(|node| value(&format!("node {node}"), "frames stored")).sum();
        assert_eq!(value(&format!("cell {cell}"), "superframes"), superframes);
        assert_eq!(received, (superframes - 3.0) * nodes.len() as f64 - woven, "cell {cell}");
        assert_eq!((stored, value(&format!("bridge {cell}"), "frames counted")), (received, received));
        assert_eq!(value(&format!("bridge {cell}"), "restarts"), 0.0);
    }
    let mut seen = std::collections::HashSet::new();
    let again = rows.iter().find(|row| {
        row["metric"].is_string() && !seen.insert((row["case"].to_string(), row["metric"].to_string()))
    });
    assert_eq!(again, None, "two rows say the same of the same");
    let report = fs::read_to_string(scene.out().join("report.html")).expect("it is there");
    for words in
        ["Cell ward", "Cell lab", "cell ward", "cell lab", "bridge ward", "bridge lab", "node 4", "node 12"]
    {
        assert!(report.contains(words), "the report shows no {words}");
    }
}
