//! The note of how far the store has come: when it is moved, what is seen by it, and what is told without room for it.

use super::*;

/// A collector on `disk` whose anchor is kept in `note`, and which was found there.
fn anchored(
    disk: &SimDisk,
    note: &Arc<Mutex<Option<Anchor>>>,
    limits: Limits,
) -> Result<Collector<SimDisk, Dice>, Error> {
    anchored_with_room(disk, note, limits, &Arc::new(AtomicBool::new(true)))
}

/// The same, where `has_room` says whether there is room for the note, and for one that an epoch is taken.
pub(super) fn anchored_with_room(
    disk: &SimDisk,
    note: &Arc<Mutex<Option<Anchor>>>,
    limits: Limits,
    has_room: &Arc<AtomicBool>,
) -> Result<Collector<SimDisk, Dice>, Error> {
    let (settings, room) = (Settings::new(Vec::new(), 10), has_room.clone());
    let look = move || match room.load(Ordering::Relaxed) {
        true => Ok(()),
        false => Err(io::Error::from(io::ErrorKind::StorageFull)),
    };
    let take = look.clone();
    let mut keys = Arc::into_inner(ring_with(None, settings, move |_| take().map(|()| Some(4))))
        .expect("the disk works");
    let (found, kept) = (*note.lock().expect("nobody panics with it"), note.clone());
    keys.anchor_by(found, move |anchor| {
        look()?;
        *kept.lock().expect("nobody panics with it") = Some(*anchor);
        Ok(())
    });
    Collector::open(disk.clone(), Arc::new(keys), limits, Dice::new(2))
}

#[test]
fn without_room_for_the_note_what_may_be_forgotten_is_taken_and_the_rest_is_refused_until_there_is() {
    let (disk, note) = (disk(), Arc::new(Mutex::new(None)));
    let has_room = Arc::new(AtomicBool::new(true));
    let mut collector =
        anchored_with_room(&disk, &note, Limits::default(), &has_room).expect("the disk works");
    let commit = |collector: &mut Collector<SimDisk, Dice>, number: u64, counts: &[(u8, u32)], s: u64| {
        collector.step(Now::default(), opened(number, counts)).expect("the disk works");
        let now = Now { wall_ns: 0, monotonic_ns: s * 1_000_000_000 };
        let mut actions = collector.step(now, Event::Commit).expect("the disk works");
        match actions.remove(0) {
            Action::Send { answer: Answer::Refused { status, .. }, .. } => {
                assert_eq!(status, Refusal::DiskFull.number());
                None
            }
            action => Some(said(&action)),
        }
    };
    assert!(commit(&mut collector, 0, &[(0, 0)], 0).is_some());
    let noted = *note.lock().expect("nobody panics with it");
    has_room.store(false, Ordering::Relaxed);
    // A frame alone, long after the note; and, twice, one that needs a reservation.
    assert_eq!(commit(&mut collector, 1, &[(0, 1)], 5).map(|said| said.0), Some(1));
    assert_eq!(commit(&mut collector, 2, &[(1, 2)], 6), None);
    assert_eq!(commit(&mut collector, 2, &[(1, 2)], 7), None, "it is stored, and still not noted");
    assert_eq!(commit(&mut collector, 3, &[(0, 3)], 8), None, "nothing is told behind it");
    assert_eq!(*note.lock().expect("nobody panics with it"), noted);
    let change = Request::Tell { orders: vec![(NODE, Order::ChangeEpoch)], leaves_out: false };
    assert_eq!(
        ask(&mut collector, change.clone()),
        Reply::Refused(Reason::DiskFull),
        "no epoch can be taken"
    );
    has_room.store(true, Ordering::Relaxed);
    let again = commit(&mut collector, 2, &[(1, 2)], 9).expect("there is room");
    assert_eq!((again.0, again.1, again.3.len()), (0, 1, 1), "known, and answered");
    assert_ne!(*note.lock().expect("nobody panics with it"), noted);
    assert!(matches!(ask(&mut collector, change), Reply::Done(_)));
    has_room.store(false, Ordering::Relaxed);
    commit(&mut collector, 4, &[(1, 4)], 9);
    collector.close().expect("the note is as old as after a power cut");
}

/// What a disk holds, to be put back.
fn copy(disk: &SimDisk) -> Vec<(String, Vec<u8>)> {
    let names = disk.list().expect("the disk works").into_iter();
    names.map(|name| (name.clone(), disk.read(&name, u64::MAX).expect("the disk works"))).collect()
}

fn put_back(disk: &mut SimDisk, files: &[(String, Vec<u8>)]) {
    for name in disk.list().expect("the disk works") {
        disk.remove(&name).expect("the disk works");
    }
    for (name, bytes) in files {
        let mut file = disk.create(name).expect("the disk works");
        disk.append(&mut file, bytes).expect("the disk works");
        disk.sync(&mut file).expect("the disk works");
    }
    disk.sync_dir().expect("the disk works");
}

#[test]
fn an_older_copy_of_the_store_is_not_opened_and_stays_as_it_is() {
    let note = Arc::new(Mutex::new(None));
    let mut disk = disk();
    // Every group is noted, each restart makes a segment.
    let limits = || Limits { anchor_ms_max: 0, ..Limits::default() };
    let mut copies = vec![copy(&disk)];
    for number in 0..12 {
        let mut collector = anchored(&disk, &note, limits()).expect("the disk works");
        for count in 0..3 {
            tell(&mut collector, number, &[(0, 3 * number as u32 + count)]);
            copies.push(copy(&disk));
        }
    }
    let latest = copies.pop().expect("the disk works");
    for (index, old) in copies.iter().enumerate() {
        put_back(&mut disk, old);
        let opened = anchored(&disk, &note, limits()).map(drop);
        assert!(matches!(opened, Err(Error::RolledBack { segment: 11, .. })), "copy {index}: {opened:?}");
        assert_eq!(&copy(&disk), old, "it was touched");
    }
    put_back(&mut disk, &latest);
    anchored(&disk, &note, limits()).expect("the disk works");
}

#[test]
fn what_may_not_be_forgotten_is_noted_before_it_leaves_and_the_rest_after_a_while() {
    let (disk, note) = (disk(), Arc::new(Mutex::new(None)));
    let mut collector = anchored(&disk, &note, Limits::default()).expect("the disk works");
    let at = |collector: &Collector<SimDisk, Dice>| collector.store.anchor();
    let commit = |collector: &mut Collector<SimDisk, Dice>, count: u32, monotonic_ns: u64| {
        collector.step(Now::default(), opened(count.into(), &[(0, count)])).expect("the disk works");
        collector.step(Now { wall_ns: 0, monotonic_ns }, Event::Commit).expect("the disk works");
        *note.lock().expect("nobody panics with it") == at(collector)
    };
    assert!(commit(&mut collector, 0, 0), "the first, with a reservation");
    assert!(!commit(&mut collector, 1, 999_999_999), "a frame alone");
    assert!(commit(&mut collector, 2, 1_000_000_000), "a second later");
    assert!(!commit(&mut collector, 3, 1_000_000_001));
    collector.ask(Now::default(), &set(Some(3), None)).expect("the disk works");
    assert_eq!(*note.lock().expect("nobody panics with it"), at(&collector), "an order");
    for count in 4..300 {
        let reserved = collector.downlinks[&(NODE, 0)].limit;
        collector.step(Now::default(), opened(count.into(), &[(0, count)])).expect("the disk works");
        collector.step(Now { wall_ns: 0, monotonic_ns: 0 }, Event::Commit).expect("the disk works");
        let is_reserved = collector.downlinks[&(NODE, 0)].limit > reserved;
        // The first one shows that the order has begun.
        assert_eq!(
            *note.lock().expect("nobody panics with it") == at(&collector),
            is_reserved || count == 4,
            "count {count}"
        );
    }
    let last = at(&collector);
    assert_ne!(*note.lock().expect("nobody panics with it"), last);
    let anchors = collector.stats().anchors;
    assert_eq!(collector.close().expect("the disk works").stats().anchors, anchors + 1);
    assert_eq!(*note.lock().expect("nobody panics with it"), last, "it ended");
}
