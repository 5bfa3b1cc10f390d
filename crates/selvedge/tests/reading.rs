//! `selvedge collect read` on a store that the test writes: exports with a deployment's names and units, several logs, and
//! following; and what `collect serve` says of one that a power cut left.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use cipher::{OsRandomness, Suite};
use collect::batch::BatchId;
use collect::disk::RealDisk;
use collect::limits::Limits;
use collect::record::{Body, Record};
use collect::store::{Commit, Store};
use collect::waveform::Waveform;
use rustix::process::{Pid, Signal, kill_process};
use selvedge::link::deployment;
use selvedge::link::keys::Keys;
use tempfile::TempDir;

/// Long, for a machine that has more to do.
const PATIENCE: Duration = Duration::from_secs(60);
/// Samples of a superframe of 250 ms.
const FRAME: u64 = 90;

fn ecg() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deployments/ecg.toml")
}

/// The folder of a run, and the log in it.
struct Rig {
    folder: TempDir,
    log: Store<RealDisk, OsRandomness>,
}

impl Rig {
    fn new() -> Rig {
        let folder = tempfile::tempdir().unwrap();
        let log = log(folder.path(), "store");
        Rig { folder, log }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn read(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_selvedge"));
        command.args(["collect", "read"]).arg(ecg()).arg("--out").arg(self.folder.path()).args(arguments);
        command
    }

    fn output(&self, arguments: &[&str]) -> Output {
        self.read(arguments).output().unwrap()
    }
}

/// A log of the run whose folder is `out`.
fn log(out: &Path, name: &str) -> Store<RealDisk, OsRandomness> {
    let keys = Keys::of(&deployment::load(&ecg()).unwrap(), out).unwrap();
    let disk = RealDisk::lock(&out.join(name)).unwrap();
    Store::open(disk, keys.store().unwrap(), &Limits::default(), OsRandomness, |_| Ok(())).unwrap()
}

/// A frame of node 2, all of whose codes are its number.
fn frame(number: u32) -> Record {
    let first = u64::from(number) * FRAME;
    Record {
        node: 2,
        epoch: 0,
        counter: number,
        suite: Suite::AsconAead128,
        batch: BatchId { cell: 7, spool: 1, number: 1 },
        superframe: number,
        slot: 2,
        received_ps: 0,
        arrived_ns: 1_700_000_000_000_000_000,
        first,
        sample_ps: u64::from(number) * 250_000_000_000,
        uncertainty_ns: 62_500,
        channel: 0,
        stride: 1,
        waveform: Waveform::of_codes(&[number as u16; FRAME as usize]),
    }
}

fn store(log: &mut Store<RealDisk, OsRandomness>, numbers: impl Iterator<Item = u32>) {
    let bodies: Vec<_> = numbers.map(|number| Body::Frame(frame(number)).to_bytes()).collect();
    assert_eq!(log.commit(&bodies, 0, Vec::new).unwrap(), Commit::Durable);
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[track_caller]
fn succeeded(output: &Output) -> &str {
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// Its lines as they come.
fn lines(child: &mut Child) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    thread::spawn(move || stdout.lines().try_for_each(|line| sender.send(line.unwrap())));
    receiver
}

fn interrupt(child: &Child) {
    kill_process(Pid::from_child(child), Signal::INT).unwrap();
}

#[test]
fn an_export_has_the_names_and_units_of_the_deployment() {
    let mut rig = Rig::new();
    store(&mut rig.log, (0..3).chain(5..6));
    let file = rig.path("ecg.csv");
    let rows = rig.output(&["--export", file.to_str().unwrap(), "--json"]);
    let counts: Vec<_> = succeeded(&rows)
        .lines()
        .map(|line| {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            (row["metric"].as_str().unwrap().to_owned(), row["value"].as_u64().unwrap())
        })
        .collect();
    let expected = [("channels", 1), ("runs", 2), ("gaps", 1), ("frames", 4), ("samples", 4 * FRAME)];
    assert_eq!(counts, expected.map(|(metric, value)| (metric.to_owned(), value)));

    let text = fs::read_to_string(&file).unwrap();
    let cells: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    let place = |name: &str| cells[0].iter().position(|cell| *cell == name).unwrap();
    let of = |row: &'static str| {
        let place = place("row");
        cells.iter().filter(move |cells| cells[place] == row).collect::<Vec<_>>()
    };
    assert!(cells[1..].iter().all(|cells| cells[place("channel")] == "ward/2/0"));
    let run = of("run")[0];
    assert_eq!(
        (run[place("unit")], run[place("sample_rate_hz")], run[place("format")]),
        ("V", "360", "code")
    );
    let number = |row: &[&str], name: &str| row[place(name)].parse::<f64>().unwrap();
    let sample = of("sample")[FRAME as usize];
    assert_eq!((sample[place("code")], sample[place("sample_ps")]), ("1", "250000000000"));
    assert_eq!(number(sample, "value"), number(run, "scale") + number(run, "offset"));
    let gap = of("gap")[0];
    let said = ["why", "index", "count", "sample_ps", "until_ps"].map(|name| gap[place(name)]);
    assert_eq!(said, ["missing", "270", "180", "750000000000", "1250000000000"]);

    // A file that is there is kept; one that would hold nothing is not made.
    let again = rig.output(&["--export", file.to_str().unwrap()]);
    assert_eq!(again.status.code(), Some(1), "{}", self::text(&again.stderr));
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    let nothing = rig.output(&["--node", "9", "--export", rig.path("none.h5").to_str().unwrap()]);
    assert_eq!(self::text(&nothing.stderr), "error: no stored frame is what was asked for\n");
    assert!(!rig.path("none.h5").exists());
    let pipe = rig.output(&["--export", "/dev/stdout", "--format", "csv"]);
    assert_eq!(succeeded(&pipe), text);
}

#[test]
fn a_part_is_read_of_several_logs() {
    let mut rig = Rig::new();
    store(&mut rig.log, 0..4);
    store(&mut log(rig.folder.path(), "other"), 2..8);
    let (one, other) = (rig.path("store"), rig.path("other"));
    let both = ["--log", one.to_str().unwrap(), "--log", other.to_str().unwrap()];
    let listed = rig.output(&both);
    let counters: Vec<&str> =
        succeeded(&listed).lines().skip(1).map(|line| line.split_whitespace().nth(2).unwrap()).collect();
    assert_eq!(counters, ["0", "1", "2", "3", "4", "5", "6", "7"]);
    let part = rig.output(&[&both[..], &["--from", "500 ms", "--to", "1.25 s", "--json"]].concat());
    assert_eq!(succeeded(&part).lines().count(), 4);
}

#[test]
fn what_is_stored_later_is_listed_until_the_end_is_asked_for() {
    let mut rig = Rig::new();
    store(&mut rig.log, 0..2);
    let mut child = rig.read(&["--follow", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
    let lines = lines(&mut child);
    let next = || {
        let line = lines.recv_timeout(PATIENCE).expect("a line comes");
        serde_json::from_str::<serde_json::Value>(&line).unwrap()["counter"].as_u64().unwrap()
    };
    assert_eq!((next(), next()), (0, 1));
    for number in 2..5 {
        store(&mut rig.log, number..number + 1);
        assert_eq!(next(), u64::from(number));
    }
    interrupt(&child);
    assert!(child.wait().unwrap().success());
    assert_eq!(lines.recv_timeout(PATIENCE).ok(), None);
}

#[test]
fn an_export_that_follows_is_whole_when_the_end_is_asked_for() {
    let mut rig = Rig::new();
    store(&mut rig.log, 0..2);
    let file = rig.path("all.csv");
    let mut child =
        rig.read(&["--follow", "--export", file.to_str().unwrap()]).stdout(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    let is_begun = |entry: fs::DirEntry| entry.file_name().to_string_lossy().starts_with(".unfinished-");
    while !rig.folder.path().read_dir().unwrap().any(|entry| is_begun(entry.unwrap())) {
        assert!(begun.elapsed() < PATIENCE, "the export is not begun");
        thread::sleep(Duration::from_millis(5));
    }
    // It listens for signals by now; what is stored before one is in the file.
    store(&mut rig.log, 2..9);
    assert!(!file.exists());
    interrupt(&child);
    assert!(child.wait().unwrap().success());
    let samples = fs::read_to_string(&file).unwrap().lines().filter(|line| line.contains(",sample,")).count();
    assert_eq!(samples as u64, 9 * FRAME);
}

#[test]
fn a_server_says_that_it_cut_off_what_a_power_cut_left_of_a_group() {
    let Rig { folder, mut log } = Rig::new();
    store(&mut log, 0..3);
    store(&mut log, 3..6);
    drop(log);
    // A group that was being written: of its sectors the first is there, and a part of the next.
    let segment = folder.path().join("store/0000000000000000.seg");
    let bytes = fs::read(&segment).unwrap();
    let torn = [&bytes[..4096], &[0x5a; 904]].concat();
    fs::OpenOptions::new().append(true).open(&segment).unwrap().write_all(&torn).unwrap();

    let serve = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_selvedge"));
        command.args(["collect", "serve"]).arg(ecg()).arg("--out").arg(folder.path()).arg("--json");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        while !said.contains("live page: ") {
            assert!(lines.read_line(&mut said).unwrap() > 0, "it ended: {said}");
        }
        interrupt(&child);
        let output = child.wait_with_output().unwrap();
        (said, succeeded(&output).to_owned())
    };
    let (said, rows) = serve();
    let line = "store: cut off 5000 bytes behind the last whole group: nothing that can be read\n";
    assert!(said.starts_with(line), "{said}");
    let row = rows.lines().find(|row| row.contains("bytes of torn tails")).expect("it is a row");
    assert!(row.contains("5000"), "{row}");
    assert_eq!(fs::read(&segment).unwrap(), bytes, "and no byte more");
    let (said, rows) = serve();
    assert!(!said.contains("cut off") && !rows.contains("torn"), "{said}{rows}");
}
