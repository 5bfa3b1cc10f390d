//! The real store on a real file system that forgets what was not synced: a process commits batches and is
//! killed with SIGKILL, the file system crashes, and everything that the process had acknowledged must be
//! there.
//!
//! The same run with a file system whose `fsync` does nothing must show a loss, else it would prove nothing.

mod bridge;
mod forgetful;
mod service;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use bridge::{Bridge, NODES, key_ring, samples, store_master};
use cipher::OsRandomness;
use collect::batch::{Answer, SealedBatch};
use collect::disk::RealDisk;
use collect::error::{Error, Refusal};
use collect::limits::Limits;
use collect::shard::{Arrived, Now, Shard};
use collect::store::{Filter, read};
use collect::{Action, Collector, Event};
use forgetful::{Forgetful, Honesty, one_at_a_time, skip};
use service::{Authority, Server};

const STORE: &str = "SELVEDGE_TEST_STORE";
const FIRST: &str = "SELVEDGE_TEST_FIRST";
const LIE: &str = "the store has no memory of batch";

/// Segments of a few groups, so that a run begins many.
fn limits() -> Limits {
    Limits {
        batch_frames_max: 8,
        batch_bytes_max: 8 << 10,
        group_bytes_max: 2048,
        segment_bytes_max: 48 << 10,
        sector_bytes: 512,
        ..Limits::default()
    }
}

/// Commits batch after batch until it is killed; says so on standard output only when it has the receipt.
/// Started by the other tests, not by itself.
#[test]
#[ignore = "the child process of the other tests"]
fn child_commits_until_it_is_killed() {
    let Some(store) = std::env::var_os(STORE) else { return };
    let first: u64 = std::env::var(FIRST).unwrap().parse().unwrap();
    let keys = Arc::new(key_ring());
    let disk = RealDisk::lock(Path::new(&store)).unwrap();
    let mut collector = Collector::open(disk, keys.clone(), limits(), OsRandomness).unwrap();
    let (mut shard, mut bridge) = (Shard::new(keys), Bridge::new());
    for number in first.. {
        let id = Bridge::id(number);
        let body = [&id.header()[..], &bridge.superframe(number)].concat();
        let arrived = Arrived { connection: 0, at: Now::default(), batch: Ok(SealedBatch { id, body }) };
        let mut actions = Vec::new();
        for opened in shard.open(vec![arrived]) {
            actions.extend(collector.step(Now::default(), Event::Opened(opened)).unwrap());
        }
        actions.extend(collector.step(Now::default(), Event::Commit).unwrap());
        assert_eq!(actions.len(), 1);
        for action in actions {
            let Action::Send { answer: Answer::Receipt { sealed, .. }, .. } = action else {
                panic!("refused")
            };
            let receipt = bridge.open(number, sealed);
            assert_eq!(u32::from(receipt.stored + receipt.duplicate), NODES);
            let mut out = std::io::stdout().lock();
            writeln!(out, "\nacknowledged {number}").and_then(|()| out.flush()).unwrap();
        }
    }
}

/// Runs the child until it has acknowledged `count` batches, kills it, and returns all that it acknowledged.
fn run_child(store: &Path, first: u64, count: usize) -> Vec<u64> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_commits_until_it_is_killed", "--ignored", "--nocapture"])
        .env(STORE, store)
        .env(FIRST, first.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut acknowledged = Vec::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let Some(number) = line.unwrap().strip_prefix("acknowledged ").map(|number| number.parse().unwrap())
        else {
            continue;
        };
        acknowledged.push(number);
        if acknowledged.len() == count {
            // SIGKILL; what it still says before that is read too.
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    assert!(acknowledged.len() >= count, "the child ended by itself");
    acknowledged
}

/// Some rounds of commit, kill and crash on one store. Returns what was lost, or why the store did not open.
fn crash_rounds(honesty: Honesty) -> Result<(), String> {
    let _one = one_at_a_time();
    let disk = Forgetful::new(honesty);
    let folder = tempfile::tempdir().unwrap();
    let mut acknowledged: Vec<u64> = Vec::new();
    for round in 0..4 {
        let session = disk.mount(folder.path());
        let next = acknowledged.last().map_or(0, |last| last + 1);
        acknowledged.extend(run_child(folder.path(), next, 20 + 13 * round));
        session.umount_and_join().unwrap();
        disk.crash();
        let session = disk.mount(folder.path());
        let found = check(folder.path(), &acknowledged);
        session.umount_and_join().unwrap();
        found?;
    }
    assert!(disk.syncs() > acknowledged.len() as u64, "each acknowledged batch costs a sync");
    Ok(())
}

fn check(store: &Path, acknowledged: &[u64]) -> Result<(), String> {
    // The collector's own opening is the first witness, reading without it the second.
    let disk = RealDisk::lock(store).map_err(|error| error.to_string())?;
    let collector = Collector::open(disk, Arc::new(key_ring()), limits(), OsRandomness);
    let collector = collector.map_err(|error| error.to_string())?;
    let records = read(store, store_master(), Filter::default()).map_err(|error| error.to_string())?;
    let mut seen = std::collections::BTreeSet::new();
    for record in records {
        let record = record.map_err(|error| error.to_string())?;
        assert_eq!(record.waveform, samples(record.node, record.counter).waveform);
        assert!(seen.insert((record.node, record.counter)), "a frame is stored twice");
    }
    for (node, &number) in (0..NODES).flat_map(|node| acknowledged.iter().map(move |number| (node, number))) {
        let stored = collector.stored(node, 0).is_some_and(|set| set.contains(number as u32));
        if !stored || !seen.contains(&(node, number as u32)) {
            return Err(format!("{LIE} {number}, which was acknowledged"));
        }
    }
    Ok(())
}

#[test]
fn what_was_acknowledged_survives_sigkill_and_a_crash() {
    if !skip() {
        crash_rounds(Honesty { fsync: true, fsync_dir: true }).unwrap();
    }
}

#[test]
fn without_fsync_the_loss_is_seen() {
    if !skip() {
        let lost = crash_rounds(Honesty { fsync: false, fsync_dir: true }).unwrap_err();
        println!("seen: {lost}");
    }
}

#[test]
fn without_fsync_of_the_folder_the_loss_is_seen() {
    if !skip() {
        let lost = crash_rounds(Honesty { fsync: true, fsync_dir: false }).unwrap_err();
        assert!(lost.contains(LIE), "{lost}");
    }
}

/// Runs the whole daemon on a forgetful file system.
fn with_daemon<T>(test: impl AsyncFnOnce(&Forgetful, &Server, &Authority) -> T) -> (T, Result<(), Error>) {
    let _one = one_at_a_time();
    let disk = Forgetful::new(Honesty { fsync: true, fsync_dir: true });
    let folder = tempfile::tempdir().unwrap();
    let session = disk.mount(folder.path());
    let authority = Authority::new();
    let server = Server::start(&authority, folder.path(), limits());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let tested = runtime.block_on(test(&disk, &server, &authority));
    drop(runtime);
    let result = server.end();
    session.umount_and_join().unwrap();
    (tested, result.map(drop))
}

#[test]
fn a_full_disk_is_said_to_the_bridge_and_the_service_goes_on() {
    if skip() {
        return;
    }
    let ((), result) = with_daemon(async |disk, server, authority| {
        let (mut sender, mut answers) = server.connect(&authority.client(authority)).await;
        let mut bridge = Bridge::new();
        for (number, room, refused) in [
            (0, 300, true), // not even a header
            (0, usize::MAX, false),
            (1, 700, true), // part of a group
            (1, 0, true),
            (1, usize::MAX, false),
            (2, usize::MAX, false),
        ] {
            disk.set_room_left(room);
            sender.send(&Bridge::id(number), &bridge.superframe(number)).await.unwrap();
            match answers.next().await.unwrap().unwrap() {
                Answer::Refused { id, status } => {
                    assert_eq!((id, status), (Bridge::id(number), Refusal::DiskFull.number()));
                    assert!(refused, "batch {number} with room for {room}");
                }
                Answer::Receipt { sealed, .. } => {
                    assert_eq!(bridge.open(number, sealed).stored, NODES as u16, "for the first time");
                    assert!(!refused, "batch {number} with room for {room}");
                }
            }
        }
    });
    result.unwrap();
}

#[test]
fn a_failed_sync_is_made_good_elsewhere_or_nothing_is_answered_and_the_service_ends() {
    if skip() {
        return;
    }
    let ((), result) = with_daemon(async |disk, server, authority| {
        let (mut sender, mut answers) = server.connect(&authority.client(authority)).await;
        let mut bridge = Bridge::new();
        sender.send(&Bridge::id(0), &bridge.superframe(0)).await.unwrap();
        assert!(matches!(answers.next().await.unwrap(), Some(Answer::Receipt { .. })));
        for number in 1..4 {
            disk.fail_syncs(1);
            sender.send(&Bridge::id(number), &bridge.superframe(number)).await.unwrap();
            let answer = answers.next().await.unwrap();
            let Some(Answer::Receipt { sealed, .. }) = answer else { panic!("found {answer:?}") };
            assert_eq!(bridge.open(number, sealed).stored, NODES as u16);
        }
        disk.fail_syncs(u64::MAX);
        sender.send(&Bridge::id(4), &bridge.superframe(4)).await.unwrap();
        let answer = answers.next().await;
        assert!(!matches!(answer, Ok(Some(_))), "found {answer:?}");
    });
    let error = result.unwrap_err();
    assert!(error.is_environment(), "{error}");
    assert!(error.to_string().contains("cannot sync `0000000000000004.new`"), "{error}");
}
