//! Several logs as one, and a log that is read while it is written.

mod exported;

use std::path::Path;
use std::thread;

use collect::disk::RealDisk;
use collect::error::Error;
use collect::limits::Limits;
use collect::read::logs::Logs;
use collect::read::{Filter, read};
use exported::{Log, keys, small};

fn limits() -> Limits {
    Limits {
        sector_bytes: 512,
        segment_bytes_max: 4096,
        group_bytes_max: 1024,
        batch_frames_max: 1,
        batch_bytes_max: 512,
        ..Limits::default()
    }
}

fn logs(paths: &[&Path], folder: &Path, is_live: bool) -> Logs<RealDisk> {
    let open = |path: &&Path| read(path, keys(), Filter::default()).unwrap();
    Logs::new(paths.iter().map(open).collect(), folder, is_live)
}

fn counters(logs: &mut Logs<RealDisk>) -> Vec<u32> {
    logs.map(|record| record.unwrap().counter).collect()
}

#[test]
fn a_frame_of_several_logs_is_given_once() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a", "b", "c"].map(|name| folder.path().join(name));
    for (path, held) in paths.iter().zip([0..20, 10..30, 5..15]) {
        let mut log = Log::open(path, &limits());
        for counter in held {
            let mut record = small(counter, &[1, 2, 3]);
            // How a frame got there may differ.
            record.arrived_ns += path.as_os_str().len() as u64;
            log.commit(&[record]);
        }
    }
    let paths: Vec<&Path> = paths.iter().map(|path| path.as_path()).collect();
    let mut all = logs(&paths, folder.path(), false);
    assert_eq!(counters(&mut all), (0..30).collect::<Vec<_>>());
    let (read, there) = all.progress();
    assert!(read == there && there > 3, "{read} of {there} segments");
    all.finish().unwrap();
    // In the order in which they were stored, one log behind the other.
    let backwards: Vec<&Path> = paths.into_iter().rev().collect();
    let found = counters(&mut logs(&backwards, folder.path(), false));
    assert_eq!(found, (5..15).chain(15..30).chain(0..5).collect::<Vec<_>>());
}

#[test]
fn two_frames_under_one_counter_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a", "b"].map(|name| folder.path().join(name));
    for (number, path) in (1..).zip(&paths) {
        let mut log = Log::open(path, &limits());
        log.commit(&[small(4, &[1, 2, 3]), small(5, &[1, 2, number])]);
    }
    let mut both = logs(&[&paths[0], &paths[1]], folder.path(), false);
    assert_eq!(counters(&mut both), [4, 5]);
    let fault = both.finish().unwrap_err();
    assert!(matches!(fault, Error::Differs { node: 1, epoch: 0, counter: 5, logs: (0, 1) }), "{fault}");
}

#[test]
fn a_frame_that_one_log_holds_twice_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let mut log = Log::open(&path, &limits());
    log.commit(&[small(4, &[1]), small(4, &[1])]);
    let found: Vec<_> = logs(&[&path], folder.path(), false).collect();
    assert!(matches!(found[1], Err(Error::Twice { node: 1, epoch: 0, counter: 4 })), "{found:?}");
    // While a log is written, the same may be seen twice; something else may not.
    let mut live = logs(&[&path], folder.path(), true);
    assert_eq!(counters(&mut live), [4]);
    live.finish().unwrap();
    log.commit(&[small(4, &[2])]);
    let mut live = logs(&[&path], folder.path(), true);
    assert_eq!(counters(&mut live), [4]);
    assert!(matches!(live.finish(), Err(Error::Differs { logs: (0, 0), .. })));
}

#[test]
fn what_is_stored_later_is_read_across_segments() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let mut log = Log::open(&path, &limits());
    log.commit(&[small(0, &[7])]);
    let mut live = logs(&[&path], folder.path(), true);
    assert_eq!(counters(&mut live), [0]);
    assert_eq!((live.renew().unwrap(), counters(&mut live)), (0, vec![]), "nothing new");
    let mut next = 1;
    // From a part of a segment to several of them at a time.
    for count in [1, 1, 2, 3, 20, 1, 40, 1] {
        let counts: Vec<u32> = (next..next + count).collect();
        counts.iter().for_each(|&counter| log.commit(&[small(counter, &[7; 40])]));
        assert_eq!((live.renew().unwrap(), counters(&mut live)), (0, counts));
        next += count;
    }
    let segments = path.read_dir().unwrap().count();
    assert!(segments > 5, "{segments} segments");
    live.finish().unwrap();
}

#[test]
fn a_log_that_begins_later_is_read_with_the_others_and_no_frame_of_theirs_again() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a", "b"].map(|name| folder.path().join(name));
    let mut first = Log::open(&paths[0], &limits());
    first.commit(&[small(0, &[7]), small(1, &[7])]);
    let mut live = logs(&[&paths[0]], folder.path(), true);
    assert_eq!(counters(&mut live), [0, 1]);
    // Somebody has begun it, and stored nothing yet.
    std::fs::create_dir(&paths[1]).unwrap();
    live.add(read(&paths[1], keys(), Filter::default()).unwrap());
    assert_eq!((live.renew().unwrap(), counters(&mut live)), (0, vec![]));
    let mut second = Log::open(&paths[1], &limits());
    second.commit(&[small(1, &[7]), small(2, &[7])]);
    assert_eq!((live.renew().unwrap(), counters(&mut live)), (0, vec![2]));
    first.commit(&[small(3, &[7])]);
    second.commit(&[small(4, &[7])]);
    assert_eq!((live.renew().unwrap(), counters(&mut live)), (0, vec![3, 4]));
    live.finish().unwrap();
}

#[test]
fn what_is_removed_before_it_is_read_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let limits = Limits { retain_bytes_max: 4 * 4096, ..limits() };
    let mut log = Log::open(&path, &limits);
    log.commit(&[small(0, &[7; 40])]);
    let mut live = logs(&[&path], folder.path(), true);
    assert_eq!(counters(&mut live), [0]);
    (1..100).for_each(|counter| log.commit(&[small(counter, &[7; 40])]));
    let removed = live.renew().unwrap();
    let found = counters(&mut live);
    assert!(removed > 2, "{removed} segments");
    assert!(found[0] > 1 && *found.last().unwrap() == 99, "{found:?}");
    assert!(found.is_sorted_by(|a, b| a + 1 == *b), "{found:?}");
    log.commit(&[small(100, &[7; 40])]);
    assert_eq!((live.renew().unwrap(), counters(&mut live)), (0, vec![100]));
}

/// A reader is as slow or as fast as it happens to be, and sees what was written over as removed.
#[test]
fn what_is_written_over_while_it_is_read_is_no_damage() {
    const LAST: u32 = 1500;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let limits = Limits { retain_bytes_max: 6 * 4096, ..limits() };
    let mut log = Log::open(&path, &limits);
    log.commit(&[small(0, &[7; 40])]);
    let mut live = logs(&[&path], folder.path(), true);
    let writer =
        thread::spawn(move || (1..=LAST).for_each(|counter| log.commit(&[small(counter, &[7; 40])])));
    let (mut found, mut removed) = (Vec::new(), 0);
    while found.last() != Some(&LAST) {
        found.extend(counters(&mut live));
        removed += live.renew().unwrap();
    }
    writer.join().unwrap();
    assert!(found.is_sorted_by(|a, b| a < b), "each once, in their order");
    let met = found.windows(2).filter(|pair| pair[0] + 1 == pair[1]).count();
    assert!(met > 100, "{met} behind each other");
    println!("{} of {LAST} read, {removed} segments removed before", found.len());
}
