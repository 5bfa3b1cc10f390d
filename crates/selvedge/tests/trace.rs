//! The waveform that `selvedge node run --trace` writes, read back by the format's own parser and held against what
//! the gateway received.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use vcd::{IdCode, ScopeItem, Value};

fn tree() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("this is the tree")
}

/// `node run` of the example for `duration`, in `folder`; `None` after saying that the test is skipped.
fn node_run(folder: &Path, duration: &str, arguments: &[&str]) -> Option<Command> {
    if Command::new("avr-gcc").arg("--version").output().is_err() {
        println!("skip: waveform of a node: found no avr-gcc");
        return None;
    }
    let text = fs::read_to_string(tree().join("deployments/ecg.toml")).expect("it is there");
    let recording = tree().join("data/ecg/ecg.csv").display().to_string();
    let text = text.replace("../data/ecg/ecg.csv", &recording).replace("\"120 s\"", duration);
    let deployment = folder.join("ecg.toml");
    fs::write(&deployment, text).expect("it can be written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_selvedge"));
    command.args(["node", "run"]).arg(&deployment).arg("--out").arg(folder.join("out"));
    command.arg("--root").arg(tree()).arg("--json").args(arguments);
    command.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Some(command)
}

/// What a node put on the bus, in the order of the waveform.
#[derive(Default)]
struct Seen {
    /// The bytes that it wrote to SPDR while it held SS low, a vector a time.
    frames: Vec<Vec<u8>>,
    /// Bits of MOSI at the rising edges of SCK of those times.
    bits: Vec<Vec<bool>>,
    sleeps: usize,
    interrupts: usize,
    pins: HashMap<String, Value>,
}

fn number(digits: &vcd::Vector) -> u8 {
    digits.iter().fold(0, |number, digit| number << 1 | u8::from(digit == Value::V1))
}

impl Seen {
    fn level(&mut self, name: &str, value: Value, [sck, mosi, ss]: [&str; 3]) {
        let before = self.pins.insert(name.to_owned(), value);
        let holds = |seen: &Seen| seen.pins.get(&format!("{ss}_out")) == Some(&Value::V0);
        if name == format!("{ss}_out") && value == Value::V0 && before != Some(Value::V0) {
            self.frames.push(Vec::new());
            self.bits.push(Vec::new());
        } else if name == sck && value == Value::V1 && before == Some(Value::V0) && holds(self) {
            let high = self.pins[mosi] == Value::V1;
            self.bits.last_mut().expect("SS is low").push(high);
        } else if name == "asleep" && value == Value::V1 {
            self.sleeps += 1;
        }
    }

    fn read(path: &Path, scope: &str, pins: [&str; 3]) -> Seen {
        let dump = fs::read(path).expect("it was written");
        let mut parser = vcd::Parser::new(&dump[..]);
        let header = parser.parse_header().expect("a header");
        let [ScopeItem::Scope(node)] = &header.items[..] else { panic!("{:?}", header.items) };
        assert_eq!(node.identifier, scope);
        let names: HashMap<IdCode, String> = node
            .items
            .iter()
            .filter_map(|item| match item {
                ScopeItem::Var(var) => Some((var.code, var.reference.clone())),
                _ => None,
            })
            .collect();
        let (mut now, mut seen) = (0, Seen::default());
        for command in parser {
            match command.expect("a well-formed dump") {
                vcd::Command::Timestamp(at) => {
                    assert!(at >= now, "time goes back from {now} to {at}");
                    now = at;
                }
                vcd::Command::ChangeScalar(id, value) => seen.level(&names[&id], value, pins),
                vcd::Command::ChangeVector(id, digits) if names[&id] == "SPDR" => {
                    seen.frames.last_mut().expect("it holds SS low").push(number(&digits));
                }
                vcd::Command::ChangeVector(id, _) => seen.interrupts += usize::from(names[&id] == "vector"),
                other => panic!("unexpected {other:?}"),
            }
        }
        seen
    }
}

/// The frames in the gateway's record.
fn received(folder: &Path) -> Vec<Vec<u8>> {
    let text = fs::read_to_string(folder.join("out/cell-7/received.csv")).expect("it was written");
    let bytes = |hex: &str| -> Vec<u8> {
        let pair = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex");
        (0..hex.len()).step_by(2).map(pair).collect()
    };
    text.lines().skip(1).map(|line| bytes(line.rsplit(',').next().expect("a last column"))).collect()
}

fn bits(bytes: &[u8]) -> Vec<bool> {
    bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1 != 0)).collect()
}

#[test]
fn a_waveform_shows_every_frame_that_the_gateway_received_as_bytes_and_as_bits() {
    for (node, pins) in [("1", ["PB1", "PB2", "PB0"]), ("4", ["PB5", "PB3", "PB2"])] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("node.vcd");
        let words = ["--only", node, "--trace", path.to_str().expect("it is text")];
        let Some(mut command) = node_run(folder.path(), "\"3 s\"", &words) else { return };
        let ended = command.output().expect("it starts");
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        let (seen, received) = (Seen::read(&path, &format!("node_{node}"), pins), received(folder.path()));
        assert!(received.len() >= 8, "node {node} sent {} frames", received.len());
        assert!(seen.frames == received, "node {node}: what was written to SPDR");
        let expected: Vec<_> = received.iter().map(|frame| bits(frame)).collect();
        assert!(seen.bits == expected, "node {node}: what was on MOSI");
        // Each sample is two interrupts, and it sleeps between them.
        assert!(seen.interrupts > 2_000 && seen.sleeps > 1_000, "{} {}", seen.interrupts, seen.sleeps);
    }
}

#[test]
fn a_waveform_that_is_interrupted_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("waveforms");
    fs::create_dir(&place).expect("a folder");
    let path = place.join("node.vcd");
    let words = ["--only", "1", "--trace", path.to_str().expect("it is text")];
    let Some(mut command) = node_run(folder.path(), "\"120 s\"", &words) else { return };
    let child = command.spawn().expect("it starts");
    let names = || fs::read_dir(&place).expect("it is there").flatten().count();
    let begun = Instant::now();
    let grows = || {
        fs::read_dir(&place)
            .expect("it is there")
            .flatten()
            .any(|entry| entry.metadata().is_ok_and(|file| file.len() > 100_000))
    };
    while !grows() {
        assert!(begun.elapsed() < Duration::from_secs(300), "it draws nothing");
        sleep(Duration::from_millis(2));
    }
    assert!(!path.exists(), "it stands under its name before it is whole");
    kill_process(Pid::from_child(&child), Signal::TERM).expect("it runs");
    let ended = child.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(3), "{}", String::from_utf8_lossy(&ended.stderr));
    assert_eq!(names(), 0);
}
