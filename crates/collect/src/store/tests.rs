//! The store on a disk that loses, tears and fails.

use super::*;
use crate::batch::BatchId;
use crate::record::Record;
use crate::replay::{Admission, Replay};
use crate::sim::{Dice, Honesty, SimDisk, Stop};
use crate::waveform::Waveform;
use cipher::{Key, StoreMaster, Suite};

const LIMITS: fn() -> Limits = || Limits {
    sector_bytes: 512,
    segment_bytes_max: 4096,
    group_bytes_max: 1024,
    batch_frames_max: 1,
    batch_bytes_max: 512,
    ..Limits::default()
};

fn master() -> StoreMaster {
    StoreMaster::from(Key::copied_from(&[9; 32]))
}

fn frame(node: u32, counter: u32) -> Body {
    Body::Frame(Record {
        node,
        epoch: 0,
        counter,
        suite: Suite::Aes128Ccm,
        batch: BatchId { cell: 1, spool: 2, number: 3 },
        superframe: 0,
        slot: 0,
        received_ps: 0,
        arrived_ns: u64::from(counter) * 1000,
        first: 0,
        sample_ps: u64::from(counter) * 7,
        uncertainty_ns: 0,
        channel: 0,
        stride: 1,
        waveform: Waveform::of_codes(&[1, 2, 3]),
    })
}

/// A store, and what its user knows.
struct Rig {
    store: Store<SimDisk, Dice>,
    replay: Replay,
}

impl Rig {
    fn open_with(
        disk: &SimDisk,
        keys: impl Into<StoreKeys>,
        limits: &Limits,
        seed: u64,
    ) -> Result<Rig, Error> {
        let mut replay = Replay::new(usize::MAX);
        let store = Store::open(disk.clone(), keys.into(), limits, Dice::new(seed), |body| {
            let is_new = match body {
                Body::Frame(record) => replay.restore(record.node, record.epoch, record.counter),
                Body::Counters(counters) => replay.restore_ranges(&counters),
                _ => true,
            };
            if is_new { Ok(()) } else { Err(Corruption::Repeated) }
        })?;
        Ok(Rig { store, replay })
    }

    fn open(disk: &SimDisk, seed: u64) -> Result<Rig, Error> {
        Rig::open_with(disk, master(), &LIMITS(), seed)
    }

    /// Commits a frame of a node, at `monotonic_ns`.
    fn commit(&mut self, node: u32, counter: u32, monotonic_ns: u64) -> Result<Commit, Error> {
        assert_eq!(self.replay.admit(node, 0, counter), Admission::New);
        let Rig { store, replay } = self;
        let known = || replay.checkpoint().into_iter().map(Body::Counters).collect();
        let commit = store.commit(&[frame(node, counter).to_bytes()], monotonic_ns, known);
        match commit {
            Ok(Commit::Durable) => {
                self.replay.depart();
                self.replay.commit();
            }
            Ok(Commit::Full) | Err(_) => self.replay.abort(),
        }
        commit
    }

    /// What is known to be stored of node 0.
    fn known(&self) -> Vec<u32> {
        self.replay.stored(0, 0).map_or(Vec::new(), |set| set.iter().collect())
    }
}

/// The counters of all frames that are kept, as a reader finds them.
fn read_all(disk: &SimDisk) -> Result<Vec<u32>, Error> {
    Records::new(disk.clone(), master(), Filter::default())?.map(|record| Ok(record?.counter)).collect()
}

fn disk(seed: u64) -> SimDisk {
    SimDisk::new(Dice::new(seed), Honesty::FULL)
}

/// Commits numbers from `first` on, one a group, until something happens.
fn commit_while(rig: &mut Rig, first: u32, durable: &mut Vec<u32>) {
    for counter in first..first + 20 {
        match rig.commit(0, counter, 0) {
            Ok(Commit::Durable) => durable.push(counter),
            Ok(Commit::Full) => panic!("there is room"),
            Err(_) => return,
        }
    }
}

/// Two processes, each stopped in each of its operations: a kill, and then a kill or a power cut.
#[test]
fn every_pair_of_stops_leaves_a_store_that_opens() {
    for seed in 0..8 {
        for (first_stop, second_stop) in (1..=24).flat_map(|a| (1..=24).map(move |b| (a, b))) {
            let disk = disk(seed * 1000 + first_stop * 24 + second_stop);
            let mut durable = Vec::new();
            let stops = [(100, first_stop, Stop::Kill), (1000, second_stop, Stop::Power)];
            for (first, stop, how) in stops {
                disk.plan_stop(stop, how);
                if let Ok(mut rig) = Rig::open(&disk, stop + 1000 * (1 + how as u64)) {
                    commit_while(&mut rig, first, &mut durable);
                }
                if disk.process_ended() == Some(Stop::Power) {
                    disk.cut_power();
                }
            }
            let place = format!("seed {seed}, stops {first_stop}, {second_stop}");
            let rig = Rig::open(&disk, 0).unwrap_or_else(|error| panic!("{place}: {error}"));
            let found = read_all(&disk).unwrap_or_else(|error| panic!("{place}: {error}"));
            assert_eq!(rig.known(), found, "{place}: the newest segment knows of all");
            let lost: Vec<_> = durable.iter().filter(|number| !found.contains(number)).collect();
            assert!(lost.is_empty(), "{place}: lost {lost:?}");
            assert_eq!(disk.nonce_reused(), None);
        }
    }
}

#[test]
fn a_full_disk_refuses_and_the_store_goes_on() {
    let disk = disk(1);
    let mut rig = Rig::open(&disk, 1).unwrap();
    let mut durable = Vec::new();
    for room in (0..9000).step_by(100) {
        disk.set_room(room);
        if rig.commit(0, room as u32, 0).unwrap() == Commit::Durable {
            durable.push(room as u32);
        }
    }
    assert!(durable.len() > 8 && durable.len() < 80, "the room was met, and was left: {durable:?}");
    disk.cut_power();
    assert_eq!(Rig::open(&disk, 2).unwrap().known(), durable);
    assert_eq!(read_all(&disk).unwrap(), durable);
    assert_eq!(disk.nonce_reused(), None);
}

#[test]
fn a_restart_begins_a_new_segment_and_an_idle_one_none() {
    let disk = disk(1);
    for counter in 0..3 {
        let mut rig = Rig::open(&disk, counter.into()).unwrap();
        assert_eq!(rig.known().len(), counter as usize);
        assert_eq!(rig.commit(0, counter, 0).unwrap(), Commit::Durable);
    }
    Rig::open(&disk, 9).unwrap();
    assert_eq!(disk.list().unwrap(), [0, 1, 2].map(segment::file_name));
}

/// Nineteen groups in three segments, all durable.
fn filled() -> (SimDisk, usize) {
    let disk = disk(1);
    let mut rig = Rig::open(&disk, 1).unwrap();
    for counter in 0..19 {
        assert_eq!(rig.commit(0, counter, 0).unwrap(), Commit::Durable);
    }
    disk.cut_power();
    let names = disk.list().unwrap();
    assert_eq!(names, [0, 1, 2].map(segment::file_name));
    let bytes = disk.read(&names[2], u64::MAX).unwrap().len();
    (disk, bytes)
}

#[test]
fn damage_to_what_was_acknowledged_is_no_torn_tail() {
    for (name, at) in [(0, 512), (0, 8 * 512 + 30), (1, 1062), (2, 1024)] {
        let (disk, _) = filled();
        disk.damage(&segment::file_name(name), at, 4);
        let is_fault = |error: Error| {
            let Error::Corrupt { file, what, .. } = &error else { panic!("{error}") };
            assert_eq!((file.as_str(), *what), (&*segment::file_name(name), Corruption::Group), "at {at}");
        };
        is_fault(read_all(&disk).unwrap_err());
        let found = verify_disk(&disk, master()).unwrap().corrupt;
        assert!(found.iter().any(|(_, _, what)| *what == Corruption::Group), "verify goes on: {found:?}");
        // A server looks at what it will append behind.
        match Rig::open(&disk, 2) {
            Ok(_) => assert!(name < 2),
            Err(error) => is_fault(error),
        }
    }
}

#[test]
fn damage_to_the_very_last_group_reads_as_a_torn_tail() {
    let (disk, bytes) = filled();
    disk.damage(&segment::file_name(2), bytes - 500, 4);
    assert_eq!(verify_disk(&disk, master()).unwrap().torn, 1);
    let rig = Rig::open(&disk, 2).unwrap();
    assert_eq!(rig.known(), (0..18).collect::<Vec<_>>());
    assert_eq!(rig.store.torn_bytes(), 512, "the group");
    assert_eq!(disk.read(&segment::file_name(2), u64::MAX).unwrap().len(), bytes - 512);
    assert_eq!(verify_disk(&disk, master()).unwrap().torn, 0, "it was cut off");
    let rig = Rig::open(&disk, 3).unwrap();
    assert_eq!((rig.known().len(), rig.store.torn_bytes()), (18, 0), "and is said once");
}

#[test]
fn a_header_or_a_segment_that_is_gone_is_seen() {
    let fault = |disk: &SimDisk| Rig::open(disk, 2).map(drop).unwrap_err();
    let (disk, _) = filled();
    disk.damage(&segment::file_name(1), 20, 1);
    assert!(matches!(fault(&disk), Error::Corrupt { what: Corruption::HeaderTag, .. }));
    let (mut disk, _) = filled();
    disk.remove(&segment::file_name(1)).unwrap();
    assert!(matches!(fault(&disk), Error::SegmentMissing { number: 1 }));
    assert_eq!(verify_disk(&disk, master()).unwrap().missing, [1..=1]);
    disk.remove(&segment::file_name(0)).unwrap();
    disk.rename(&segment::file_name(2), &segment::file_name(0)).unwrap();
    assert!(matches!(fault(&disk), Error::Corrupt { what: Corruption::Chain, .. }));
    let (disk, bytes) = filled();
    disk.cut(&segment::file_name(1), bytes);
    assert!(matches!(fault(&disk), Error::Corrupt { what: Corruption::Length, .. }));
    assert_eq!(verify_disk(&disk, master()).unwrap().corrupt[0].2, Corruption::Length);
}

#[test]
fn a_segment_that_was_written_again_without_a_group_is_seen() {
    let (mut disk, _) = filled();
    let name = segment::file_name(0);
    let bytes = disk.read(&name, u64::MAX).unwrap();
    disk.remove(&name).unwrap();
    let mut file = disk.create(&name).unwrap();
    // The last group but one is gone, and one that was there comes again so that nothing is shorter.
    let groups = [&bytes[..7 * 512], &bytes[8 * 512..], &bytes[512..1024]].concat();
    disk.append(&mut file, &groups).unwrap();
    assert!(matches!(read_all(&disk), Err(Error::Corrupt { what: Corruption::Group, .. })));
    let found = verify_disk(&disk, master()).unwrap().corrupt;
    assert_eq!(found[0].2, Corruption::Group);
    assert_eq!(found[1].2, Corruption::Checkpoint, "and the next segment knows of more");
}

#[test]
#[should_panic(expected = "a store that failed")]
fn a_store_that_failed_cannot_be_used_again() {
    let disk = disk(1);
    let mut rig = Rig::open(&disk, 1).unwrap();
    disk.plan_stop(4, Stop::Kill);
    for counter in 0.. {
        let _ = rig.commit(0, counter, 0);
    }
}

#[test]
fn a_sync_that_fails_closes_the_segment_and_the_group_is_stored_behind() {
    let disk = disk(1);
    let mut rig = Rig::open(&disk, 1).unwrap();
    for counter in 0..30 {
        disk.fail_syncs(u64::from(counter % 3 == 2));
        assert_eq!(rig.commit(0, counter, 0).unwrap(), Commit::Durable, "{counter}");
    }
    disk.cut_power();
    assert_eq!(read_all(&disk).unwrap(), (0..30).collect::<Vec<_>>());
    let verified = verify_disk(&disk, master()).unwrap();
    assert_eq!((verified.corrupt, verified.segments, verified.torn), (vec![], 11, 0));
    assert_eq!(disk.nonce_reused(), None);
    let mut rig = Rig::open(&disk, 2).unwrap();
    assert_eq!(rig.known(), (0..30).collect::<Vec<_>>());
    let _ = rig.commit(0, 30, 0).unwrap();
    disk.fail_syncs(2);
    assert!(rig.commit(0, 31, 0).is_err(), "and nowhere else either");
    disk.cut_power();
    let known = Rig::open(&disk, 3).unwrap().known();
    assert!(known.starts_with(&(0..31).collect::<Vec<_>>()), "{known:?}");
}

#[test]
fn the_oldest_segments_are_removed_and_their_counters_are_known_for_ever() {
    let disk = disk(1);
    let limits = Limits { retain_bytes_max: 16_000, ..LIMITS() };
    let mut rig = Rig::open_with(&disk, master(), &limits, 1).unwrap();
    for counter in 0..100 {
        assert_eq!(rig.commit(0, counter, counter.into()).unwrap(), Commit::Durable);
        let names = disk.list().unwrap();
        let bytes: usize = names.iter().map(|name| disk.read(name, u64::MAX).unwrap().len()).sum();
        assert!(bytes <= 16_000, "{bytes}");
    }
    let kept = read_all(&disk).unwrap();
    assert!(kept.len() > 8 && kept[0] > 50 && kept.iter().copied().eq(kept[0]..100), "{kept:?}");
    let verified = verify_disk(&disk, master()).unwrap();
    assert_eq!((verified.corrupt, verified.missing), (vec![], vec![]));
    let limits = Limits { retain_ns_max: 5, ..LIMITS() };
    let mut rig = Rig::open_with(&disk, master(), &limits, 2).unwrap();
    assert_eq!(rig.known(), (0..100).collect::<Vec<_>>());
    let _ = rig.commit(0, 100, 900).unwrap();
    assert!(read_all(&disk).unwrap()[0] < 100, "the last one ended just now");
    for counter in 101..125 {
        let _ = rig.commit(0, counter, 900 + u64::from(counter)).unwrap();
    }
    assert!(read_all(&disk).unwrap()[0] >= 100, "what had ended long ago");
    assert_eq!(Rig::open(&disk, 3).unwrap().known(), (0..125).collect::<Vec<_>>());
}

const MINUTE_NS: u64 = 60_000_000_000;

/// Each process has a monotonic clock of its own, which begins anywhere: what each says of the time that it had the store
/// open adds up, whether it ended by a kill or not, and nothing else makes a segment old.
#[test]
fn a_segment_is_as_old_as_the_store_was_open_behind_it() {
    let disk = disk(1);
    let limits = Limits { retain_ns_max: 60 * MINUTE_NS, ..LIMITS() };
    let mut counter = 0;
    // Half an hour each, with a frame a minute.
    let mut run = |begin_ns: u64| {
        let mut rig = Rig::open_with(&disk, master(), &limits, begin_ns).unwrap();
        for minute in 0..=30 {
            assert_eq!(rig.commit(0, counter, begin_ns + minute * MINUTE_NS).unwrap(), Commit::Durable);
            counter += 1;
        }
        read_all(&disk).unwrap()
    };
    assert_eq!(run(1 << 60)[0], 0);
    assert_eq!(run(0)[0], 0, "an earlier clock");
    // A frame a minute: of an hour and a half, and then of two hours, the last hour is kept, and no segment more.
    for (begin_ns, oldest) in [(7, 31), (1 << 62, 62)] {
        let kept = run(begin_ns)[0];
        assert!((oldest - 16..=oldest).contains(&kept), "{kept} of {oldest}");
    }
    assert_eq!(Rig::open(&disk, 9).unwrap().known(), (0..124).collect::<Vec<_>>());
}

/// Keeps few segments, and a spare.
fn few() -> Limits {
    Limits { retain_bytes_max: 5 * 4096, ..LIMITS() }
}

#[test]
fn a_removed_segment_is_written_over_by_the_next_one() {
    let disk = disk(1);
    let mut rig = Rig::open_with(&disk, master(), &few(), 1).unwrap();
    let mut made = Vec::new();
    for counter in 0..200 {
        assert_eq!(rig.commit(0, counter, 0).unwrap(), Commit::Durable);
        assert!(disk.used_bytes() <= 5 * 4096);
        made.push(disk.files_made());
        let kept = read_all(&disk).unwrap();
        assert!(kept.iter().copied().eq(kept[0]..=counter), "{kept:?}");
        let verified = verify_disk(&disk, master()).unwrap();
        assert_eq!((verified.corrupt, verified.missing), (vec![], vec![]));
    }
    assert_eq!(made[60], made[199], "no file is made any more");
    rig.store.end().unwrap();
    assert_eq!(verify_disk(&disk, master()).unwrap().torn, 0, "an ended segment has nothing behind it");
    disk.cut_power();
    let rig = Rig::open_with(&disk, master(), &few(), 2).unwrap();
    assert_eq!(rig.known(), (0..200).collect::<Vec<_>>());
    assert!(!disk.list().unwrap().contains(&SPARE.to_owned()));
}

/// Two processes that write over segments, stopped in their operations: a kill, and then a power cut.
#[test]
fn a_stop_while_a_segment_is_written_over_loses_nothing() {
    let mut written_over = 0;
    for (first_stop, second_stop) in (1..=64).flat_map(|a| (1..=64).step_by(3).map(move |b| (a, b))) {
        let disk = disk(64 * first_stop + second_stop);
        let mut durable: Vec<u32> = (0..45).collect();
        let mut rig = Rig::open_with(&disk, master(), &few(), 1).unwrap();
        durable.iter().for_each(|&counter| assert_eq!(rig.commit(0, counter, 0).unwrap(), Commit::Durable));
        let made = disk.files_made();
        disk.plan_stop(first_stop, Stop::Kill);
        commit_while(&mut rig, 100, &mut durable);
        written_over += usize::from(disk.files_made() == made);
        let _ = disk.process_ended();
        disk.plan_stop(second_stop, Stop::Power);
        if let Ok(mut rig) = Rig::open_with(&disk, master(), &few(), 2) {
            commit_while(&mut rig, 200, &mut durable);
        }
        if disk.process_ended() == Some(Stop::Power) {
            disk.cut_power();
        }
        let place = format!("stops {first_stop}, {second_stop}");
        let rig =
            Rig::open_with(&disk, master(), &few(), 3).unwrap_or_else(|error| panic!("{place}: {error}"));
        let known = rig.known();
        let lost: Vec<_> = durable.iter().filter(|number| !known.contains(number)).collect();
        assert!(lost.is_empty(), "{place}: lost {lost:?}");
        let found = read_all(&disk).unwrap_or_else(|error| panic!("{place}: {error}"));
        assert!(known.ends_with(&found), "{place}: {found:?} of {known:?}");
        let verified = verify_disk(&disk, master()).unwrap();
        assert_eq!((verified.corrupt, verified.missing), (vec![], vec![]), "{place}");
        assert_eq!(disk.nonce_reused(), None);
    }
    assert!(written_over > 1000, "{written_over}");
}

#[test]
fn a_removal_that_was_cut_short_is_finished() {
    let (disk, _) = filled();
    let limits = Limits { retain_bytes_max: 8192, ..LIMITS() };
    let mut rig = Rig::open_with(&disk, master(), &limits, 3).unwrap();
    let before = [0, 1].map(|number| disk.read(&segment::file_name(number), u64::MAX).unwrap());
    let _ = rig.commit(0, 20, 0).unwrap();
    assert!(!disk.list().unwrap().contains(&segment::file_name(1)));
    let mut put_back = disk.clone();
    for (number, bytes) in (0..).zip(before) {
        let mut file = put_back.create(&segment::file_name(number)).unwrap();
        put_back.append(&mut file, &bytes).unwrap();
    }
    assert_eq!(verify_disk(&disk, master()).unwrap().missing, []);
    Rig::open(&disk, 4).unwrap();
    assert!(!disk.list().unwrap().contains(&segment::file_name(1)));
}

#[test]
fn who_looks_for_a_node_or_a_time_reads_no_segment_that_has_nothing_of_it() {
    let disk = disk(1);
    let mut rig = Rig::open(&disk, 1).unwrap();
    for counter in 0..32 {
        let _ = rig.commit(counter / 8, counter, 0).unwrap();
    }
    let read = |filter: Filter| {
        let before = disk.reads();
        let found = Records::new(disk.clone(), master(), filter).unwrap();
        let counters: Vec<u32> = found.map(|record| record.unwrap().counter).collect();
        (counters, disk.reads() - before)
    };
    let (_, all) = read(Filter::default());
    assert_eq!(all, 4);
    // The newest segment is always read: nobody says what it holds.
    assert_eq!(read(Filter { node: Some(1), ..Filter::default() }), ((8..16).collect(), 2));
    assert_eq!(read(Filter { sample_ps: Some(0..=20), ..Filter::default() }), (vec![0, 1, 2], 2));
    assert_eq!(read(Filter { arrived_ns: Some(31_000..=40_000), ..Filter::default() }), (vec![31], 1));
}
