//! The bridge's way down on a real socket and a real disk: what it counts while nobody answers on the way up.
//!
//! Owns a cell that sends as fast as it may. No broker and no server are there, so nothing is ever freed; that nothing
//! is lost on the way up is `faults`' to show.

use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use collect::disk::RealDisk;
use selvedge::limits::{SPOOL_FILE_BYTES, SPOOL_SECTOR_BYTES};
use selvedge::link::bridge::contents::read;
use selvedge::link::bridge::record::Frame;
use selvedge::link::bridge::spool::{Capacity, Spool};
use selvedge::link::bridge::wire::{FromCell, ToCell, next_blocking};
use selvedge::link::bridge::{Config, Server, Stats, serve};
use selvedge::link::deployment;
use selvedge::link::keys::Keys;
use tokio::sync::oneshot;

const CELL: u16 = 7;
const FRAME_BYTES: usize = 200;
const SMALL: Capacity = Capacity { bytes_max: 1_000_000, file_bytes: 100_000 };
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
        let nowhere = || Err(ErrorKind::NotFound.into());
        let (tell_ready, ready) = std::sync::mpsc::channel();
        let (stop, stopped) = oneshot::channel::<()>();
        let config = Config {
            cell: CELL,
            batch_superframes: 1,
            socket: folder.join("socket"),
            spool: folder.join("spool"),
            broker: folder.join("no broker"),
            server: Server::Tcp {
                address: Arc::new(nowhere),
                name: "x".into(),
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
    let mut stream = stream.try_clone().expect("a descriptor");
    std::thread::spawn(move || {
        for superframe in first..SUPERFRAMES {
            let frame = FromCell::Frame(frame(superframe)).encode();
            if stream.write_all(&[frame, FromCell::Close(superframe).encode()].concat()).is_err() {
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

fn spool_bytes(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder.join("spool")).expect("it is there").flatten();
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
fn a_batch_that_nobody_will_take_ends_the_bridge_and_stays_in_the_spool() {
    let deployment = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deployments/ecg.toml");
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let mut started = Started(Vec::new());
    let run = |name: &str| out.join("run").join(name);
    let listens = |name: &str| UnixStream::connect(run(name)).is_ok();
    started.start(&["broker", "device"], &deployment, &out, || run("device.sock").exists());
    started.start(&["broker", "serve"], &deployment, &out, || listens("broker.sock"));
    started.start(&["collect", "serve"], &deployment, &out, || run("collect.address").exists());
    for (frame_bytes, words) in [(250, "in 67842 bytes"), (10, "has 1280 frames")] {
        let disk = RealDisk::lock(&out.join("spool-7")).expect("nobody has it");
        let mut spool = Spool::open(disk, 1, Capacity::default()).expect("the disk works");
        let first = spool.progress().0;
        // More superframes than a deployment may ask for, or more frames in each than a cell has nodes.
        let superframes = if frame_bytes == 10 { 5 } else { 1 };
        for superframe in first..first + superframes {
            for slot in 0..=u8::MAX {
                let frame = Frame { slot, bytes: vec![1; frame_bytes], ..frame(superframe) };
                spool.accept(frame).expect("the disk works");
            }
            spool.close(superframe, superframe + 1 == first + superframes).expect("the disk works");
        }
        drop(spool);
        let mut command = Command::new(env!("CARGO_BIN_EXE_selvedge"));
        command.arg("bridge").arg(&deployment).arg("--out").arg(&out).stdin(Stdio::null());
        let ended = command.output().expect("it starts");
        let stderr = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(3), "{stderr}");
        assert!(stderr.contains(words) && !stderr.contains("panicked"), "{stderr}");
        let disk = RealDisk::lock(&out.join("spool-7")).expect("nobody has it");
        let mut spool = Spool::open(disk, 1, Capacity::default()).expect("the disk works");
        let waiting: Vec<u64> = spool.pending().map(|batch| batch.number).collect();
        assert_eq!(waiting.len(), 1);
        spool.free(waiting[0]).expect("the disk works");
    }
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
