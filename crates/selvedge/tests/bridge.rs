//! The bridge's way down on a real socket and a real disk: what it counts while nobody answers on the way up, and what becomes
//! of that when somebody does at last.
//!
//! Owns a cell that sends as fast as it may, to a bridge without broker and server. That nothing is lost on a way up that
//! comes and goes is `faults`' to show.

#[path = "../../cipher/tests/soak/mod.rs"]
mod soak;

use std::collections::BTreeSet;
use std::fs;
use std::io::{ErrorKind, Write};
use std::ops::Range;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use cipher::{Suite, TrafficKey};
use collect::disk::RealDisk;
use collect::frame::{Header, Samples, seal};
use collect::sim::Dice;
use collect::store::{Filter, read as read_store};
use collect::waveform::Waveform;
use rustix::process::{Pid, Signal, kill_process};
use selvedge::limits::{SPOOL_FILE_BYTES, SPOOL_SECTOR_BYTES};
use selvedge::link::bridge::contents::read;
use selvedge::link::bridge::record::Frame;
use selvedge::link::bridge::spool::{Capacity, Spool};
use selvedge::link::bridge::wire::{FromCell, ToCell, next_blocking};
use selvedge::link::bridge::{Config, Server, Stats, serve};
use selvedge::link::certificates::SERVER_NAME;
use selvedge::link::deployment;
use selvedge::link::keys::Keys;
use serde_json::Value;
use soak::is_soak;
use tokio::sync::oneshot;

const CELL: u16 = 7;
const FRAME_BYTES: usize = 200;
const SMALL: Capacity = Capacity { bytes_max: 1_000_000, file_bytes: 100_000, reserve_bytes: 65_536 };
/// So many superframes that neither the spool nor the sockets on the way hold them all.
const SUPERFRAMES: u32 = 10_000;

struct Bridge {
    folder: PathBuf,
    stop: oneshot::Sender<()>,
    thread: std::thread::JoinHandle<Stats>,
}

impl Bridge {
    fn start(folder: &Path, capacity: Capacity) -> Bridge {
        let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let deployment = deployment::load(&tree.join("deployments/ecg.toml")).expect("it is right");
        let identity = Keys::of(&deployment, folder).expect("keys").certificates().bridge(CELL).expect("one");
        let tls = collect::tls::Identity {
            certificates_pem: &identity.certificate,
            private_key_pem: &identity.key,
            peer_authority_pem: &identity.authority,
        };
        // Nowhere, until somebody starts it.
        let told = folder.join("run/collect.address");
        let address = move || -> std::io::Result<std::net::SocketAddr> {
            fs::read_to_string(&told)?.trim().parse().map_err(|_| ErrorKind::InvalidData.into())
        };
        let (tell_ready, ready) = std::sync::mpsc::channel();
        let (stop, stopped) = oneshot::channel::<()>();
        let config = Config {
            cell: CELL,
            batch_superframes: 1,
            socket: folder.join("socket"),
            spool: folder.join("spool"),
            broker: folder.join("run/broker.sock"),
            server: Server::Tcp {
                address: Arc::new(address),
                name: SERVER_NAME.into(),
                tls: tls.client().expect("TLS"),
            },
            capacity,
            identity: 1,
            ready: Box::new(move || tell_ready.send(()).expect("the test waits")),
            stop: Box::pin(async {
                let _ = stopped.await;
            }),
        };
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Runtime::new().expect("a runtime");
            runtime.block_on(serve(config)).expect("the disk works")
        });
        ready.recv().expect("it becomes ready");
        Bridge { folder: folder.to_owned(), stop, thread }
    }

    fn connect(&self) -> UnixStream {
        let mut stream = UnixStream::connect(self.folder.join("socket")).expect("it listens");
        stream.write_all(&FromCell::Hello { cell: CELL, session: 5 }.encode()).expect("it reads");
        stream
    }

    fn end(self) -> Stats {
        self.stop.send(()).expect("it runs");
        self.thread.join().expect("it ends well")
    }
}

fn frame(superframe: u32) -> Frame {
    Frame { superframe, slot: 1, received_ps: superframe.into(), bytes: vec![superframe as u8; FRAME_BYTES] }
}

/// Sends everything from `first` on, on a thread of its own, until it is hung up on.
fn send_all(stream: &UnixStream, first: u32) {
    send_frames(stream, first..SUPERFRAMES, |superframe| vec![frame(superframe)]);
}

/// The same for these superframes, of which each has these frames.
fn send_frames(
    stream: &UnixStream,
    superframes: Range<u32>,
    frames: impl Fn(u32) -> Vec<Frame> + Send + 'static,
) {
    let mut stream = stream.try_clone().expect("a descriptor");
    std::thread::spawn(move || {
        for superframe in superframes {
            let frames = frames(superframe).into_iter().map(|frame| FromCell::Frame(frame).encode());
            let bytes: Vec<u8> = frames.chain([FromCell::Close(superframe).encode()]).flatten().collect();
            if stream.write_all(&bytes).is_err() {
                return;
            }
        }
    });
}

/// The last count that the bridge tells before it says that its spool is full, and from which superframe on it refuses.
fn until_full(stream: &mut UnixStream) -> (u32, u32) {
    let mut counted = 0;
    loop {
        let bytes = next_blocking(stream).expect("the bridge goes on").expect("it does not hang up");
        match ToCell::parse(&bytes).expect("a bridge's message") {
            ToCell::Counted(superframes) => counted = superframes,
            ToCell::Full(superframe) => return (counted, superframe),
            _ => {}
        }
    }
}

/// Nothing more is told, however long it is waited. A slow machine only tests less.
fn assert_silent(stream: &mut UnixStream) {
    stream.set_read_timeout(Some(Duration::from_secs(1))).expect("a socket");
    let silence = next_blocking(stream).expect_err("nothing is counted without room");
    assert!(matches!(silence.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{silence}");
}

fn spool_files(spool: &Path) -> usize {
    fs::read_dir(spool)
        .expect("it is there")
        .filter(|entry| {
            let path = entry.as_ref().expect("it is there").path();
            path.extension().is_some_and(|extension| extension == "spool")
        })
        .count()
}

fn spool_bytes(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder.join("spool")).expect("it is there").flatten();
    let entries = entries.filter(|entry| entry.file_name() != "reserve");
    entries.map(|entry| entry.metadata().expect("it is there").len()).sum()
}

#[test]
fn a_full_spool_is_told_of_in_one_line_with_its_remedy() {
    let name = "a_bridge_with_a_full_spool_refuses_by_name_and_reads_no_more_until_there_is_room";
    let mut command = Command::new(std::env::current_exe().expect("it runs"));
    let ended = command.args(["--exact", name, "--nocapture"]).output().expect("it starts");
    let stderr = String::from_utf8_lossy(&ended.stderr);
    let stdout = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success() && stdout.contains("1 passed"), "{stdout}\n{stderr}");
    let said: Vec<&str> = stderr.lines().filter(|line| line.starts_with("error: the spool in `")).collect();
    assert_eq!(said.len(), 2, "one for each bridge: {stderr}");
    assert!(
        said.iter().all(|line| line.contains("is full: ") && line.ends_with("in its 1000000 bytes")),
        "{said:?}"
    );
    let helps = stderr.lines().filter(|line| line.starts_with("help: nothing more is taken in"));
    assert_eq!(helps.count(), 2, "{stderr}");
}

#[test]
fn a_bridge_with_a_full_spool_refuses_by_name_and_reads_no_more_until_there_is_room() {
    let folder = tempfile::tempdir().expect("a folder");
    let bridge = Bridge::start(folder.path(), SMALL);
    let mut cell = bridge.connect();
    send_all(&cell, 0);
    let (first, refused_from) = until_full(&mut cell);
    assert_eq!(refused_from, first, "it says from which superframe on");
    assert_silent(&mut cell);
    let bytes = spool_bytes(folder.path());
    // A superframe takes a sector, and so does the start of a file.
    let room = SMALL.bytes_max..SMALL.bytes_max + 3 * SPOOL_SECTOR_BYTES as u64;
    assert!(
        first > 0 && first < SUPERFRAMES && room.contains(&bytes),
        "{first} superframes in {bytes} bytes"
    );
    // Another connection is told at once, whatever it says: nothing is read.
    let mut stranger = UnixStream::connect(folder.path().join("socket")).expect("it listens");
    assert_eq!(until_full(&mut stranger), (0, 0));
    let stats = bridge.end();
    assert_eq!((stats.frames_counted, stats.batches_pending), (first.into(), first.into()));
    assert!(stats.full_times == 1 && stats.full_ms > 0, "{stats:?}");

    // What was counted is there, once and in order. Half of it gets its receipt.
    let disk = RealDisk::lock(&folder.path().join("spool")).expect("nobody has it");
    let mut spool = Spool::open(disk, 2, SMALL).expect("the disk works");
    let disk = RealDisk::open(&folder.path().join("spool")).expect("it is there");
    let frames: Vec<Frame> =
        spool.pending().flat_map(|batch| read(&disk, batch).expect("the disk works")).collect();
    assert_eq!(frames, (0..first).map(frame).collect::<Vec<_>>());
    let half: Vec<u64> = spool.pending().map(|batch| batch.number).take(frames.len() / 2).collect();
    half.into_iter().for_each(|number| assert!(spool.free(number).expect("the disk works")));
    drop(spool);

    let bridge = Bridge::start(folder.path(), SMALL);
    let mut cell = bridge.connect();
    // It repeats a little, as a cell does that was told less than was counted.
    send_all(&cell, first - 10);
    let (second, refused_from) = until_full(&mut cell);
    assert!(second > first && second < SUPERFRAMES, "{first} superframes, then {second}");
    assert_eq!(refused_from, second);
    let stats = bridge.end();
    assert_eq!((stats.frames_counted, stats.full_times), (u64::from(second - first), 1));
}

/// Sends a superframe after the other, each when the one before is counted, until the bridge says that its spool is full.
/// Returns the superframe behind the last that was sent, and the one from which on they are refused.
fn fill(cell: &mut UnixStream, first: u32) -> (u32, u32) {
    let mut counted = first;
    for superframe in first.. {
        let frames = [FromCell::Frame(frame(superframe)), FromCell::Close(superframe)];
        let bytes: Vec<u8> = frames.iter().flat_map(FromCell::encode).collect();
        cell.write_all(&bytes).expect("it reads");
        while counted <= superframe {
            let bytes = next_blocking(cell).expect("the bridge goes on").expect("it does not hang up");
            match ToCell::parse(&bytes).expect("a bridge's message") {
                ToCell::Counted(superframes) => counted = superframes,
                ToCell::Full(refused) => return (superframe + 1, refused),
                _ => {}
            }
        }
    }
    unreachable!("a spool is full some day")
}

#[test]
fn a_bridge_that_was_full_goes_on_as_receipts_make_room_and_is_full_again_without_them() {
    let deployment = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deployments/ecg.toml");
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path();
    let bridge = Bridge::start(out, SMALL);
    let mut cell = bridge.connect();
    cell.set_read_timeout(Some(Duration::from_secs(120))).expect("a socket");
    let (sent, refused) = fill(&mut cell, 0);
    assert_eq!(sent, refused + 1, "one is in the socket");
    // A few more, fewer than a file holds.
    let until = sent + 10;
    send_frames(&cell, sent..until, |superframe| vec![frame(superframe)]);
    let mut started = Started(Vec::new());
    let run = |name: &str| out.join("run").join(name);
    let listens = |name: &str| UnixStream::connect(run(name)).is_ok();
    started.start(&["broker", "device"], &deployment, out, || run("device.sock").exists());
    started.start(&["broker", "serve"], &deployment, out, || listens("broker.sock"));
    started.start(&["collect", "serve"], &deployment, out, || run("collect.address").exists());
    let mut counted = refused;
    wait_counted(&mut cell, until, &mut counted);
    assert_eq!(counted, until, "receipts have made room, and it does not go on");
    drop(started);
    let (sent, refused) = fill(&mut cell, until);
    let stats = bridge.end();
    assert_eq!(stats.full_times, 2, "{stats:?}");
    // A last receipt may have made room for the one in the socket.
    let range = u64::from(refused)..=u64::from(sent);
    assert!(range.contains(&stats.frames_counted) && refused > until, "{range:?}, {stats:?}");
    assert!(stats.batches_answered > 0 && stats.full_ms > 0, "{stats:?}");
}

#[test]
fn a_bridge_goes_on_where_nobody_can_be_told_what_is_wrong() {
    let deployment = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deployments/ecg.toml");
    let folder = tempfile::tempdir().expect("a folder");
    let full = fs::File::options().write(true).open("/dev/full").expect("Linux has it");
    let mut command = Command::new(env!("CARGO_BIN_EXE_selvedge"));
    command.arg("bridge").arg(&deployment).arg("--out").arg(folder.path()).stdin(Stdio::null());
    let mut started = Started(vec![command.stdout(Stdio::null()).stderr(full).spawn().expect("it starts")]);
    let socket = folder.path().join("run/bridge-7.sock");
    let mut cell = loop {
        if let Ok(stream) = UnixStream::connect(&socket) {
            break stream;
        }
        assert!(started.0[0].try_wait().expect("it can be asked").is_none(), "the bridge has ended");
        std::thread::sleep(Duration::from_millis(5));
    };
    // There is no broker, which is said as soon as it starts.
    cell.write_all(&FromCell::Hello { cell: CELL, session: 5 }.encode()).expect("it reads");
    send_frames(&cell, 0..50, |superframe| vec![frame(superframe)]);
    let mut counted = 0;
    wait_counted(&mut cell, 50, &mut counted);
    assert_eq!(counted, 50, "it hung up");
    let bridge = &mut started.0[0];
    kill_process(Pid::from_child(bridge), Signal::TERM).expect("it runs");
    let ended = bridge.wait().expect("it can be waited for");
    assert!(ended.success(), "{ended}");
}

/// Processes of ours that end with the test.
struct Started(Vec<Child>);

impl Started {
    /// Starts `selvedge VERB` and waits until `is_ready`.
    fn start(&mut self, verb: &[&str], deployment: &Path, out: &Path, is_ready: impl Fn() -> bool) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_selvedge"));
        command.args(verb).arg(deployment).arg("--out").arg(out).stdin(Stdio::null());
        self.0.push(command.stdout(Stdio::null()).spawn().expect("it starts"));
        while !is_ready() {
            let child = self.0.last_mut().expect("it was just put there");
            assert!(child.try_wait().expect("it can be asked").is_none(), "{verb:?} has ended");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        for child in self.0.iter_mut().rev() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn a_batch_that_is_more_than_can_be_sealed_at_once_goes_up_in_parts() {
    let deployment = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deployments/ecg.toml");
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path();
    let bridge = Bridge::start(out, Capacity::default());
    let mut started = Started(Vec::new());
    let run = |name: &str| out.join("run").join(name);
    let listens = |name: &str| UnixStream::connect(run(name)).is_ok();
    started.start(&["broker", "device"], &deployment, out, || run("device.sock").exists());
    started.start(&["broker", "serve"], &deployment, out, || listens("broker.sock"));
    started.start(&["collect", "serve"], &deployment, out, || run("collect.address").exists());
    let mut cell = bridge.connect();
    cell.set_read_timeout(Some(Duration::from_secs(120))).expect("a socket");
    // What others say on the bus: too many bytes in all slots together, then too many frames in one.
    let noise = |superframe: u32| -> Vec<Frame> {
        let of = |slot, bytes| Frame { slot, bytes: vec![1; bytes], ..frame(superframe) };
        match superframe {
            0 => (0..=u8::MAX).map(|slot| of(slot, 250)).collect(),
            _ => vec![of(1, 3); 1280],
        }
    };
    send_frames(&cell, 0..2, noise);
    wait_counted(&mut cell, 2, &mut 0);
    cell.write_all(&FromCell::End.encode()).expect("it reads");
    loop {
        let bytes = next_blocking(&mut cell).expect("the bridge goes on").expect("it does not hang up");
        if ToCell::parse(&bytes) == Some(ToCell::Drained) {
            break;
        }
    }
    let stats = bridge.end();
    assert_eq!((stats.batches_answered, stats.frames_counted), (2, 256 + 1280));
    assert_eq!(stats.frames_failed.values().sum::<u64>(), 256 + 1280, "the server looked at each: {stats:?}");
}

#[test]
fn nobody_else_reaches_the_socket_and_a_file_in_its_place_is_not_removed() {
    let deployment = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deployments/ecg.toml");
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    // The mask of a user who lets everybody do everything.
    let mut command = Command::new("sh");
    command.args(["-c", "umask 0; exec \"$0\" bridge \"$1\" --out \"$2\""]);
    command.arg(env!("CARGO_BIN_EXE_selvedge")).arg(&deployment).arg(&out).stderr(Stdio::null());
    let mut started = Started(vec![command.stdin(Stdio::null()).spawn().expect("it starts")]);
    let socket = out.join("run/bridge-7.sock");
    while UnixStream::connect(&socket).is_err() {
        assert!(started.0[0].try_wait().expect("it can be asked").is_none(), "the bridge has ended");
        std::thread::sleep(Duration::from_millis(5));
    }
    let mode = |path: &Path| fs::symlink_metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!((mode(&socket), mode(&out.join("run")), mode(&out.join("spool-7"))), (0o600, 0o700, 0o700));
    drop(started);

    fs::remove_file(&socket).expect("a bridge that was killed leaves it");
    fs::write(&socket, "mine").expect("it is ours");
    let mut command = Command::new(env!("CARGO_BIN_EXE_selvedge"));
    let ended = command.arg("bridge").arg(&deployment).arg("--out").arg(&out).output().expect("it starts");
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.code() == Some(3) && stderr.contains("expected a socket or nothing"), "{stderr}");
    assert_eq!(fs::read(&socket).expect("it is there"), b"mine");
}

/// The most memory that a bridge with the spool in `out` has had by the time that a cell can connect.
fn peak_bytes(deployment: &Path, out: &Path) -> u64 {
    let mut command = Command::new(env!("CARGO_BIN_EXE_selvedge"));
    command.arg("bridge").arg(deployment).arg("--out").arg(out).stdin(Stdio::null()).stderr(Stdio::null());
    let mut bridge = command.spawn().expect("it starts");
    while UnixStream::connect(out.join("run/bridge-7.sock")).is_err() {
        assert!(bridge.try_wait().expect("it can be asked").is_none(), "the bridge has ended");
        std::thread::sleep(Duration::from_millis(5));
    }
    let status = fs::read_to_string(format!("/proc/{}/status", bridge.id())).expect("Linux has it");
    bridge.kill().expect("it runs");
    bridge.wait().expect("it has ended");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux tells it");
    peak.trim().strip_suffix(" kB").and_then(|kilobytes| kilobytes.parse::<u64>().ok()).expect("a number")
        << 10
}

#[test]
fn what_waits_in_the_spool_waits_on_the_disk_and_not_in_memory() {
    let deployment = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deployments/ecg.toml");
    let folder = tempfile::tempdir().expect("a folder");
    let [empty, full] = ["empty", "full"].map(|name| folder.path().join(name));
    for out in [&empty, &full] {
        fs::create_dir(out).expect("it is new");
    }
    let disk = RealDisk::lock(&full.join("spool-7")).expect("nobody has it");
    let mut spool = Spool::open(disk, 1, Capacity::default()).expect("the disk works");
    for superframe in 0..1_000 {
        for slot in 0..=u8::MAX {
            spool.accept(Frame { slot, ..frame(superframe) }).expect("the disk works");
        }
        spool.close(superframe, true).expect("the disk works");
    }
    drop(spool);
    let waits: u64 = fs::read_dir(full.join("spool-7"))
        .expect("it is there")
        .map(|entry| entry.expect("it is there").metadata().expect("it is there").len())
        .sum();
    let [without, with] = [&empty, &full].map(|out| peak_bytes(&deployment, out));
    println!("{without} bytes with an empty spool, {with} with {waits} bytes in it");
    // One file at a time is read, and a copy of it may be on its way.
    assert!(with < without + 3 * SPOOL_FILE_BYTES && 10 * SPOOL_FILE_BYTES < waits);
}

/// Superframes of an hour.
const HOUR: u32 = 14_400;
/// Nodes of a full cell, a slot each.
const NODES: u8 = 16;

/// The example with a cell that is full.
fn full_cell(folder: &Path) -> PathBuf {
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("this is the tree");
    let text = fs::read_to_string(tree.join("deployments/ecg.toml")).expect("it is there");
    let (cell, behind) = text.split_once("[[cell.ward.node]]").expect("it has nodes");
    let (_, behind) = behind.split_once("[bridge]").expect("it has a bridge");
    let node = |slot| {
        let start = 10 * u32::from(slot);
        format!(
            "[[cell.ward.node]]\nid = {slot}\nslot = {slot}\ndrift = \"0 ppm\"\nstart = \"{start} s\"\n\n"
        )
    };
    let nodes: String = (1..=NODES).map(node).collect();
    let recording = tree.join("data/ecg/ecg.csv").display().to_string();
    let cell = cell.replace("../data/ecg/ecg.csv", &recording).replace("\"woven\"", "\"discrete\"");
    let deployment = folder.join("full.toml");
    fs::write(&deployment, format!("{cell}{nodes}[bridge]{behind}")).expect("it can be written");
    deployment
}

/// The samples of node `slot` in a superframe.
fn samples(slot: u8, superframe: u32) -> Samples {
    let codes: Vec<u16> =
        (0..90).map(|index| ((u32::from(slot) * 61 + superframe + index) % 1024) as u16).collect();
    Samples { first: u64::from(superframe) * 90, channel: 0, waveform: Waveform::of_codes(&codes) }
}

/// What the nodes of a full cell send in a superframe, each under its key.
fn sealed(keys: &[TrafficKey], superframe: u32) -> Vec<Frame> {
    let frame = |(slot, key): (u8, &TrafficKey)| {
        let (suite, node) = (Suite::AsconAead128, u32::from(slot));
        let header = Header { suite, node, epoch: 0, counter: superframe };
        let bytes = seal(key, &header, &samples(slot, superframe).to_bytes());
        let received_ps = u64::from(superframe) * 250_000_000_000 + u64::from(slot) * 12_000_000_000;
        Frame { superframe, slot, received_ps, bytes }
    };
    (1..).zip(keys).map(frame).collect()
}

/// Reads what the bridge says until so many superframes are counted, or to its end.
fn wait_counted(stream: &mut UnixStream, superframes: u32, counted: &mut u32) {
    while *counted < superframes
        && let Ok(Some(bytes)) = next_blocking(stream)
    {
        if let ToCell::Counted(told) = ToCell::parse(&bytes).expect("a bridge's message") {
            *counted = told;
        }
    }
}

/// The seed is printed, and `SELVEDGE_SEED` sets it.
fn dice() -> Dice {
    let clock = std::time::UNIX_EPOCH.elapsed().expect("it is after 1970").as_nanos() as u64;
    let seed = std::env::var("SELVEDGE_SEED").map_or(clock, |seed| seed.parse().expect("a number"));
    println!("seed {seed}");
    Dice::new(seed)
}

/// A bridge with a full cell, in a folder of its own.
struct Hour {
    folder: tempfile::TempDir,
    deployment: PathBuf,
    keys: Keys,
    traffic: Arc<Vec<TrafficKey>>,
    superframes: u32,
}

impl Hour {
    fn new(superframes: u32) -> Hour {
        let folder = tempfile::tempdir().expect("a folder");
        let (deployment, out) = (full_cell(folder.path()), folder.path().join("out"));
        fs::create_dir(&out).expect("it is new");
        let keys = Keys::of(&deployment::load(&deployment).expect("it is right"), &out).expect("keys");
        let of = |slot: u8| {
            let id = u32::from(slot);
            assert_eq!(keys.take_epoch(id).expect("one is free"), 0);
            keys.node(id).expect("it has one").traffic_key(id, 0, Suite::AsconAead128)
        };
        let traffic = Arc::new((1..=NODES).map(of).collect());
        Hour { folder, deployment, keys, traffic, superframes }
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    fn run(&self, name: &str) -> PathBuf {
        self.out().join("run").join(name)
    }

    fn listens(&self, name: &str) -> bool {
        UnixStream::connect(self.run(name)).is_ok()
    }

    fn spool(&self) -> Spool<RealDisk> {
        let disk = RealDisk::lock(&self.out().join("spool-7")).expect("nobody has it");
        Spool::open(disk, 1, Capacity::default()).expect("the disk works")
    }

    /// The cell says that it is there, and `more`.
    fn connect(&self, more: &[FromCell]) -> UnixStream {
        let mut cell = UnixStream::connect(self.run("bridge-7.sock")).expect("it listens");
        let hello = FromCell::Hello { cell: CELL, session: 5 }.encode();
        let words: Vec<u8> =
            std::iter::once(hello).chain(more.iter().map(FromCell::encode)).flatten().collect();
        cell.write_all(&words).expect("it reads");
        cell
    }

    /// Nobody answers. The bridge is killed on the way, and when it has counted everything.
    fn fill(&self) {
        let (superframes, mut counted) = (self.superframes, 0);
        for until in [1 + dice().below(superframes - 1), superframes] {
            let mut started = Started(Vec::new());
            let is_ready = || self.listens("bridge-7.sock");
            started.start(&["bridge"], &self.deployment, &self.out(), is_ready);
            let (mut cell, traffic) = (self.connect(&[]), Arc::clone(&self.traffic));
            send_frames(&cell, counted..superframes, move |superframe| sealed(&traffic, superframe));
            wait_counted(&mut cell, until, &mut counted);
            assert!(counted >= until, "the bridge hung up");
            drop(started);
            // What it told before it died.
            wait_counted(&mut cell, superframes, &mut counted);
            println!("killed with {counted} superframes counted");
            fs::remove_file(self.run("bridge-7.sock")).expect("it was killed");
        }
    }

    /// Everybody is there now, and the cell has nothing more to say. Returns the bridge's rows.
    fn deliver(&self) -> Vec<Value> {
        let (mut started, deployment, out) = (Started(Vec::new()), &self.deployment, self.out());
        started.start(&["broker", "device"], deployment, &out, || self.run("device.sock").exists());
        started.start(&["broker", "serve"], deployment, &out, || self.listens("broker.sock"));
        started.start(&["collect", "serve"], deployment, &out, || self.run("collect.address").exists());
        let mut command = Command::new(env!("CARGO_BIN_EXE_selvedge"));
        command.arg("bridge").arg(deployment).arg("--out").arg(&out).arg("--json").stdin(Stdio::null());
        let mut bridge = command.stdout(Stdio::piped()).spawn().expect("it starts");
        while !self.listens("bridge-7.sock") {
            assert!(bridge.try_wait().expect("it can be asked").is_none(), "the bridge has ended");
            std::thread::sleep(Duration::from_millis(5));
        }
        let (mut cell, mut answered) = (self.connect(&[FromCell::End]), 0);
        loop {
            let bytes = next_blocking(&mut cell).expect("the bridge goes on").expect("it does not hang up");
            match ToCell::parse(&bytes).expect("a bridge's message") {
                ToCell::Answered(superframes) => answered = superframes,
                ToCell::Drained => break,
                _ => {}
            }
        }
        assert_eq!(answered, self.superframes);
        kill_process(Pid::from_child(&bridge), Signal::TERM).expect("it runs");
        let ended = bridge.wait_with_output().expect("it can be waited for");
        assert!(ended.status.success(), "{}", ended.status);
        let rows = String::from_utf8(ended.stdout).expect("it is text");
        rows.lines().map(|line| serde_json::from_str(line).expect("a row")).collect()
    }

    /// Every frame that is stored, by slot and superframe, none twice.
    fn stored(&self) -> BTreeSet<(u8, u32)> {
        let (store, keys) = (self.out().join("store"), self.keys.store().expect("keys"));
        let mut stored = BTreeSet::new();
        for record in read_store(&store, keys, Filter::default()).expect("it opens") {
            let record = record.expect("it is whole");
            let name = (u8::try_from(record.node).expect("a node of ours"), record.counter);
            assert!(record.waveform == samples(name.0, name.1).waveform, "{name:?} is another");
            assert!(stored.insert(name), "{name:?} is stored twice");
        }
        stored
    }
}

#[test]
fn what_was_counted_in_an_hour_without_a_server_is_stored_once_when_there_is_one_and_the_spool_is_empty() {
    let superframes = if is_soak() { HOUR } else { HOUR / 30 };
    let hour = Hour::new(superframes);
    hour.fill();
    let (frames, batches) = (u64::from(superframes) * u64::from(NODES), u64::from(superframes / 4));
    let spool = hour.spool();
    assert_eq!(spool.pending().map(|batch| u64::from(batch.frames)).sum::<u64>(), frames);
    assert_eq!(spool.pending().len() as u64, batches);
    drop(spool);

    let rows = hour.deliver();
    let row = |metric: &str| {
        rows.iter()
            .find(|row| row["metric"] == metric)
            .and_then(|row| row["value"].as_u64())
            .expect("a count")
    };
    assert_eq!((row("batches answered"), row("batches pending")), (batches, 0));
    assert_eq!((row("frames failed"), row("frames known to the server")), (0, 0));
    let sent = (1..=NODES).flat_map(|slot| (0..superframes).map(move |superframe| (slot, superframe)));
    let stored = hour.stored();
    assert!(stored == sent.collect(), "{} of {frames} frames are stored", stored.len());
    println!("{} frames in {batches} batches", stored.len());
    // One file that is begun at each start, and what shares a file with the last that was freed.
    let spool = hour.spool();
    assert!(spool.is_drained() && spool.pending().len() == 0);
    assert_eq!(spool_files(&hour.out().join("spool-7")), 1);
}
