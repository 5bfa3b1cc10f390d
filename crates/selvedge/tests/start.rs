//! The paper's start rule, with real processes: whoever comes first creates the broker, and all others find it.
//!
//! The applications are this test binary, started again.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use broker::client::blocking::Client;
use broker::client::start::{Starter, socket};
use broker::client::{Place, call};
use rustix::fs::{FlockOperation, flock};
use rustix::net::sockopt::socket_peercred;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

const SELVEDGE: &str = env!("CARGO_BIN_EXE_selvedge");
/// Only for a test that hangs.
const PATIENCE: Duration = Duration::from_secs(60);

fn is_soak() -> bool {
    std::env::var_os("SELVEDGE_SOAK").is_some_and(|value| value == "1")
}

/// An application: waits at the gate, finds or starts its broker so many times with pauses between, and says each time
/// which process that is. It stays connected until its standard input ends.
#[test]
#[ignore = "is an application of other tests, in a process of its own"]
fn application() {
    let var = |name: &str| std::env::var(name).expect("started by another test");
    let [times, pause_us, seed] = ["TIMES", "PAUSE_US", "SEED"].map(|name| var(name).parse::<u64>().unwrap());
    // As a program may have it that does not think of those that it starts.
    let left_open = File::open(var("GATE")).unwrap();
    rustix::io::fcntl_setfd(&left_open, rustix::io::FdFlags::empty()).unwrap();
    let starter = Starter { executable: SELVEDGE.into(), config: std::env::var_os("CONFIG").map(Into::into) };
    let gate = File::open(var("GATE")).unwrap();
    println!("here");
    flock(&gate, FlockOperation::LockShared).unwrap();
    let mut random = seed;
    let mut last = None;
    for _ in 0..times {
        drop(last.take());
        // Knuth's constants (The Art of Computer Programming 2, section 3.3.4): what matters is that processes differ.
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        thread::sleep(Duration::from_micros((random >> 33) % (pause_us + 1)));
        let stream = starter.find_or_start().unwrap_or_else(|error| panic!("{error}"));
        println!("broker {}", pid(&stream));
        last = Some(stream);
    }
    println!("done");
    let _ = std::io::stdin().read_line(&mut String::new());
}

fn pid(stream: &UnixStream) -> i32 {
    socket_peercred(stream).unwrap().pid.as_raw_pid()
}

struct Application {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Application {
    fn start(folder: &Path, config: Option<&Path>, times: u64, pause_us: u64, seed: u64) -> Application {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--ignored", "--exact", "--nocapture", "application"]);
        command.env("XDG_RUNTIME_DIR", folder).env("GATE", folder.join("gate"));
        for (name, value) in [("TIMES", times), ("PAUSE_US", pause_us), ("SEED", seed)] {
            command.env(name, value.to_string());
        }
        if let Some(config) = config {
            command.env("CONFIG", config);
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut application = Application { child, lines };
        application.until("here");
        application
    }

    /// What it says before that.
    fn until(&mut self, end: &str) -> Vec<String> {
        let mut said = Vec::new();
        for line in self.lines.by_ref().map_while(Result::ok) {
            if line.ends_with(end) {
                return said;
            }
            said.push(line);
        }
        panic!("an application failed: {said:?}");
    }

    /// Which brokers it found, one after the other; it stays connected to the last.
    fn found(&mut self) -> Vec<i32> {
        let said = self.until("done");
        said.iter().filter_map(|line| line.strip_prefix("broker ")?.parse().ok()).collect()
    }
}

impl Drop for Application {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn is_there(process: i32) -> bool {
    Pid::from_raw(process).is_some_and(|pid| test_kill_process(pid).is_ok())
}

fn wait_until_gone(process: i32) {
    let begun = Instant::now();
    while is_there(process) {
        assert!(begun.elapsed() < PATIENCE, "the broker {process} does not end");
        thread::sleep(Duration::from_millis(2));
    }
}

/// A gate that nobody passes until it is opened.
fn gate(folder: &Path) -> File {
    let gate = File::create(folder.join("gate")).unwrap();
    flock(&gate, FlockOperation::LockExclusive).unwrap();
    gate
}

#[test]
fn of_80_that_start_together_one_creates_the_broker_and_nobody_fails() {
    const APPLICATIONS: u64 = 80;
    let rounds = if is_soak() { 50 } else { 2 };
    for seed in 0..rounds {
        println!("seed {seed}");
        let folder = tempfile::tempdir().unwrap();
        let gate = gate(folder.path());
        let start = |number| Application::start(folder.path(), None, 1, 2000, seed * APPLICATIONS + number);
        let mut applications: Vec<Application> = (0..APPLICATIONS).map(start).collect();
        flock(&gate, FlockOperation::Unlock).unwrap();
        let found: BTreeSet<i32> = applications.iter_mut().flat_map(Application::found).collect();
        assert_eq!(found.len(), 1, "seed {seed}: there is one broker");
        let broker = *found.first().unwrap();
        drop(applications);
        let log = fs::read_to_string(folder.path().join("selvedge/broker.log")).unwrap();
        assert_eq!(log.matches("event=started").count(), 1, "{log}");
        kill_process(Pid::from_raw(broker).unwrap(), Signal::TERM).unwrap();
        wait_until_gone(broker);
    }
}

#[test]
fn who_comes_while_the_broker_is_about_to_end_does_not_fail() {
    let (count, times) = if is_soak() { (3, 400) } else { (2, 30) };
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("own.toml");
    fs::write(&config, "[broker]\nidle = \"10 ms\"\n").unwrap();
    let gate = gate(folder.path());
    // Pauses about as long as the broker waits for others, so that it often ends just when somebody comes.
    let start = |seed| Application::start(folder.path(), Some(&config), times, 40_000, seed);
    println!("seeds 1 to {count}");
    let mut applications: Vec<Application> = (1..=count).map(start).collect();
    flock(&gate, FlockOperation::Unlock).unwrap();
    let mut found = BTreeSet::new();
    for application in &mut applications {
        let brokers = application.found();
        assert_eq!(brokers.len() as u64, times);
        found.extend(brokers);
        // Who stays keeps the broker.
        application.child.stdin.take().unwrap().write_all(b"\n").unwrap();
        application.child.wait().unwrap();
    }
    println!("{} brokers", found.len());
    assert!(found.len() > 1, "it ended in between");
    found.into_iter().for_each(wait_until_gone);
    assert!(!socket(&folder.path().join("selvedge")).exists(), "the last one has tidied up");
}

#[test]
fn the_broker_has_no_folder_and_no_descriptor_of_whoever_started_it() {
    let folder = tempfile::tempdir().unwrap();
    let gate = gate(folder.path());
    flock(&gate, FlockOperation::Unlock).unwrap();
    let mut application = Application::start(folder.path(), None, 1, 0, 1);
    let broker = application.found()[0];
    assert_eq!(fs::read_link(format!("/proc/{broker}/cwd")).unwrap(), Path::new("/"));
    let open = fs::read_dir(format!("/proc/{broker}/fd")).unwrap();
    let open: Vec<_> = open.filter_map(|entry| fs::read_link(entry.unwrap().path()).ok()).collect();
    assert!(!open.contains(&folder.path().join("gate")), "{open:?}");
    assert!(open.contains(&folder.path().join("selvedge/broker.log")), "{open:?}");
    kill_process(Pid::from_raw(broker).unwrap(), Signal::TERM).unwrap();
    wait_until_gone(broker);
}

/// An application with the blocking client, whose broker is killed.
#[test]
#[ignore = "is an application of other tests, in a process of its own"]
fn client() {
    let folder = std::env::var_os("XDG_RUNTIME_DIR").expect("started by another test");
    let found =
        || UnixStream::connect(socket(&Path::new(&folder).join("selvedge"))).map(|stream| pid(&stream));
    let starter = Starter { executable: SELVEDGE.into(), config: None };
    let client = Client::at(Place::Own(starter), Default::default());
    assert!(found().is_err(), "it is started when something is asked");
    let mut brokers = BTreeSet::new();
    for _ in 0..2 {
        assert!(client.call(&call::Random { count_bytes: 8 }).is_ok());
        let broker = found().unwrap();
        assert!(brokers.insert(broker), "it is another one");
        kill_process(Pid::from_raw(broker).unwrap(), Signal::KILL).unwrap();
        wait_until_gone(broker);
    }
}

#[test]
fn a_blocking_client_starts_its_own_broker_and_another_one_after_that_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "--nocapture", "client"]);
    assert!(command.env("XDG_RUNTIME_DIR", folder.path()).status().unwrap().success());
}

#[test]
fn a_program_whose_children_nobody_waits_for_starts_its_broker_too() {
    let folder = tempfile::tempdir().unwrap();
    // What is ignored stays so in what is executed.
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' CHLD; exec \"$@\"", "sh"]).arg(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "--nocapture", "client"]);
    assert!(command.env("XDG_RUNTIME_DIR", folder.path()).status().unwrap().success());
}

#[test]
fn a_killed_broker_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let gate = gate(folder.path());
    flock(&gate, FlockOperation::Unlock).unwrap();
    let found = || Application::start(folder.path(), None, 1, 0, 1).found()[0];
    let first = found();
    kill_process(Pid::from_raw(first).unwrap(), Signal::KILL).unwrap();
    wait_until_gone(first);
    let second = found();
    assert_ne!(first, second);
    kill_process(Pid::from_raw(second).unwrap(), Signal::TERM).unwrap();
    wait_until_gone(second);
}

#[test]
fn what_the_broker_said_is_told_when_it_does_not_start() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("own.toml");
    fs::write(&config, "[broker]\nidel = \"10 s\"\n").unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--ignored", "--exact", "--nocapture", "application"])
        .env("XDG_RUNTIME_DIR", folder.path());
    drop(File::create(folder.path().join("gate")).unwrap());
    command.env("GATE", folder.path().join("gate")).env("CONFIG", &config);
    let output = command
        .env("TIMES", "1")
        .env("PAUSE_US", "0")
        .env("SEED", "1")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("own.toml: 1 problem"), "{said}");
}

#[test]
fn an_own_broker_serves_nobody_else_not_even_root() {
    const SOMEBODY: u32 = 65_533;
    if !rustix::process::geteuid().is_root() {
        return println!("skip (machine): another user: only root can be somebody else");
    }
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::chown(folder.path(), Some(SOMEBODY), None).unwrap();
    // The executable lies where only root may look.
    let executable = folder.path().join("selvedge-copy");
    fs::copy(SELVEDGE, &executable).unwrap();
    let mut command = Command::new(&executable);
    command
        .args(["broker", "serve", "--own"])
        .env("XDG_RUNTIME_DIR", folder.path())
        .uid(SOMEBODY)
        .gid(SOMEBODY);
    let mut broker = command.current_dir("/").stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(broker.stderr.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line.contains("event=started")), "it starts");
    let mut stream = UnixStream::connect(socket(&folder.path().join("selvedge"))).unwrap();
    let mut notice = Vec::new();
    std::io::Read::read_to_end(&mut stream, &mut notice).unwrap();
    let status = broker::wire::Status::NotPermitted.number();
    assert_eq!(notice[24..26], status.to_le_bytes());
    broker.kill().unwrap();
    broker.wait().unwrap();
}
