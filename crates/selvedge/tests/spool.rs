//! The bridge's spool on a disk that loses what was not synced: whatever stops it, a frame that was counted is in
//! exactly one batch, in order, until that batch is freed.
//!
//! Owns a cell and a server that remember what they were promised. The disk is `collect::sim`'s; a run follows from
//! its seed, which a failure names. That the test sees a broken promise is shown by disks that do not what they say.

#[path = "../../cipher/tests/soak/mod.rs"]
mod soak;

use std::collections::{BTreeMap, BTreeSet};

use collect::disk::{Disk, is_full};
use collect::sim::{Dice, Honesty, SimDisk, Stop};
use selvedge::error::SpoolFault;
use selvedge::limits::SPOOL_SECTOR_BYTES;
use selvedge::link::bridge::contents::{Pending, read};
use selvedge::link::bridge::record::Frame;
use selvedge::link::bridge::spool::{Capacity, Spool};
use soak::is_soak;

const BATCH_SUPERFRAMES: u32 = 3;
/// Files of a few superframes, so that most runs begin and remove several.
const CAPACITY: Capacity = Capacity { bytes_max: 20_000, file_bytes: 1_500, reserve_bytes: 16_384 };
/// Files of many superframes, so that one holds what several syncs have made durable.
const LONG: Capacity = Capacity { bytes_max: 200_000, file_bytes: 60_000, reserve_bytes: 16_384 };
/// Bytes of a frame whose record has 256, so that records end where sectors do.
const EVEN: usize = 230;

/// A frame's session, superframe and slot.
type Place = (u64, u32, u8);

/// The cell, the server and the disk between them.
struct World {
    dice: Dice,
    capacity: Capacity,
    disk: SimDisk,
    session: u64,
    /// The superframe that the cell closes next.
    next: u32,
    /// What the cell was told, as the last superframe plus 1.
    counted: u32,
    promised: BTreeSet<Place>,
    /// Every batch that was ever seen, whole, with its session.
    seen: BTreeMap<u64, (u64, Vec<Frame>)>,
    freed: BTreeSet<u64>,
    stops: u32,
    repeated: u32,
    /// The disk was full, and no session was begun since.
    is_hung_up: bool,
    /// How often it was, and how many batches were freed then.
    times_full: u32,
    freed_when_full: u32,
}

/// What a superframe brings: the same each time that it is sent.
fn frames(session: u64, superframe: u32) -> Vec<Frame> {
    let mut dice = Dice::new(session << 32 | u64::from(superframe));
    let mut frames = Vec::new();
    // Sometimes more than a sector of 4096 bytes holds, and sometimes all records in step with the disk's sectors.
    let (slots, is_even) = (if dice.chance(1, 4) { 18 } else { 4 }, dice.chance(1, 3));
    for slot in 1..=slots {
        if dice.chance(2, 3) {
            let mut bytes = vec![0; if is_even { EVEN } else { 10 + dice.below(200) as usize }];
            dice.fill_bytes(&mut bytes);
            frames.push(Frame { superframe, slot, received_ps: dice.next_u64() >> 20, bytes });
        }
    }
    frames
}

impl World {
    fn new(seed: u64, honesty: Honesty) -> World {
        let mut dice = Dice::new(seed);
        let disk = SimDisk::new(dice.split(), honesty);
        let (promised, seen, freed) = (BTreeSet::new(), BTreeMap::new(), BTreeSet::new());
        let capacity = if seed.is_multiple_of(2) { CAPACITY } else { LONG };
        World {
            dice,
            capacity,
            disk,
            session: 1,
            next: 0,
            counted: 0,
            promised,
            seen,
            freed,
            stops: 0,
            repeated: 0,
            is_hung_up: false,
            times_full: 0,
            freed_when_full: 0,
        }
    }

    /// Reads a batch, checks it against every other, and remembers it.
    fn see(&mut self, batch: &Pending) -> Result<(), String> {
        let (number, session) = (batch.number, batch.session);
        let read_frames = match read(&self.disk, batch) {
            Ok(read_frames) => read_frames,
            // The process was stopped while it read.
            Err(SpoolFault::Disk(_)) => return Ok(()),
            Err(lost) => return Err(format!("batch {number} cannot be read: {lost:?}")),
        };
        if read_frames.is_empty() {
            return Err(format!("batch {number} is empty"));
        }
        if let Some(before) = self.seen.get(&number) {
            let same = *before == (session, read_frames);
            return if same { Ok(()) } else { Err(format!("batch {number} has two contents")) };
        }
        let places = |session: u64, frames: &[Frame]| -> Vec<Place> {
            frames.iter().map(|frame| (session, frame.superframe, frame.slot)).collect()
        };
        let here = places(session, &read_frames);
        if !here.is_sorted_by(|a, b| a < b) {
            return Err(format!("batch {number} is not in order"));
        }
        if here.len() != batch.frames as usize || here[0].1 != batch.superframe {
            return Err(format!("batch {number} is not what it was said to be"));
        }
        for frame in &read_frames {
            if !frames(session, frame.superframe).contains(frame) {
                return Err(format!("batch {number} holds a frame that the cell never sent"));
            }
        }
        if let Some((last, (session, before))) = self.seen.last_key_value()
            && (number <= *last || places(*session, before).last() >= here.first())
        {
            return Err(format!("batch {number} is not after batch {last}"));
        }
        self.seen.insert(number, (session, read_frames));
        Ok(())
    }

    /// Checks everything that waits for a receipt.
    fn check_pending(&mut self, spool: &Spool<SimDisk>) -> Result<(), String> {
        let pending: Vec<Pending> = spool.pending().copied().collect();
        if !pending.is_sorted_by(|a, b| a.number < b.number) {
            return Err("what is pending is not in order".into());
        }
        pending.iter().try_for_each(|batch| self.see(batch))?;
        let numbers: BTreeSet<u64> = pending.iter().map(|batch| batch.number).collect();
        if let Some(lost) =
            self.seen.keys().find(|number| !self.freed.contains(number) && !numbers.contains(number))
        {
            return Err(format!("batch {lost} is gone without a receipt"));
        }
        // A freed record that was lost: the server sees the batch again.
        self.repeated += self.freed.intersection(&numbers).count() as u32;
        self.freed.retain(|number| !numbers.contains(number));
        Ok(())
    }

    /// Starts the bridge as often as it takes.
    fn open(&mut self) -> Result<Spool<SimDisk>, String> {
        loop {
            match Spool::open(self.disk.clone(), 7, self.capacity) {
                Ok(mut spool) => {
                    self.check_pending(&spool)?;
                    match spool.begin_session(self.session) {
                        Ok(left) => {
                            left.iter().try_for_each(|batch| self.see(batch))?;
                            let (counted, _) = spool.progress();
                            if counted < self.counted {
                                return Err(format!(
                                    "{} superframes were counted, {counted} are there",
                                    self.counted
                                ));
                            }
                            self.is_hung_up = false;
                            return Ok(spool);
                        }
                        Err(_) => self.stopped(),
                    }
                }
                Err(SpoolFault::Disk(_)) => self.stopped(),
                Err(lost) => return Err(format!("{lost:?}")),
            }
        }
    }

    fn stopped(&mut self) {
        self.stops += 1;
        if self.disk.process_ended() == Some(Stop::Power) || self.dice.chance(1, 8) {
            self.disk.cut_power();
        }
        // Somebody made room.
        self.disk.set_room(usize::MAX);
    }

    /// One step of cell or server. False when the bridge is gone.
    fn step(&mut self, spool: &mut Spool<SimDisk>) -> Result<bool, String> {
        match self.dice.below(12) {
            0 => {
                let stop = if self.dice.chance(1, 2) { Stop::Power } else { Stop::Kill };
                self.disk.plan_stop(1 + u64::from(self.dice.below(40)), stop);
                Ok(true)
            }
            1 => {
                let more = if self.dice.chance(1, 4) { 100_000 } else { 6_000 };
                self.disk.set_room(self.disk.used_bytes() + self.dice.below(more) as usize);
                Ok(true)
            }
            // The cell's process begins again; what was not counted is its own loss.
            2 if self.dice.chance(1, 4) => {
                (self.session, self.next, self.counted) = (self.session + 1, 0, 0);
                self.connect(spool)
            }
            // It only connects again, and repeats the last superframes.
            2 => {
                self.next = self.counted.saturating_sub(self.dice.below(3));
                self.connect(spool)
            }
            3..=5 => {
                let oldest = spool.pending().next().map(|batch| batch.number);
                let Some(number) = oldest else { return Ok(true) };
                let was_full = spool.lacks_room();
                let freed = spool.free(number);
                self.freed.insert(number);
                self.freed_when_full += u32::from(was_full && freed.is_ok());
                Ok(freed.is_ok())
            }
            // As the bridge does: nothing is taken in meanwhile.
            _ if spool.lacks_room() => Ok(spool.look_for_room().is_ok()),
            _ if self.is_hung_up => {
                self.next = self.counted;
                self.connect(spool)
            }
            _ => self.send_superframe(spool),
        }
    }

    fn connect(&mut self, spool: &mut Spool<SimDisk>) -> Result<bool, String> {
        match spool.begin_session(self.session) {
            Ok(left) => {
                self.is_hung_up = false;
                left.iter().try_for_each(|batch| self.see(batch)).map(|()| true)
            }
            Err(fault) => Ok(self.goes_on(&fault)),
        }
    }

    /// Whether the bridge is there behind a fault.
    fn goes_on(&mut self, fault: &SpoolFault) -> bool {
        self.is_hung_up = matches!(fault, SpoolFault::NoRoom { .. });
        self.times_full += u32::from(self.is_hung_up);
        self.is_hung_up
    }

    fn send_superframe(&mut self, spool: &mut Spool<SimDisk>) -> Result<bool, String> {
        let superframe = self.next;
        let frames = frames(self.session, superframe);
        for frame in &frames {
            if let Err(fault) = spool.accept(frame.clone()) {
                return Ok(self.goes_on(&fault));
            }
            if self.dice.chance(1, 20) {
                return self.connect(spool);
            }
        }
        let batch = match spool.close(superframe, (superframe + 1).is_multiple_of(BATCH_SUPERFRAMES)) {
            Ok(batch) => batch,
            Err(fault) => return Ok(self.goes_on(&fault)),
        };
        batch.iter().try_for_each(|batch| self.see(batch))?;
        self.promised.extend(frames.iter().map(|frame| (self.session, superframe, frame.slot)));
        self.next = superframe + 1;
        self.counted = self.counted.max(self.next);
        Ok(true)
    }

    /// A run with all its stops, then calm: every promised frame must have been in exactly one batch.
    fn run(mut self, steps: u32, sync_error_every: u32) -> Result<World, String> {
        self.disk.set_sync_errors(sync_error_every);
        let mut spool = self.open()?;
        for _ in 0..steps {
            if !self.step(&mut spool)? {
                self.stopped();
                self.next = self.counted;
                spool = self.open()?;
            }
        }
        self.disk.set_sync_errors(0);
        self.disk.process_ended();
        self.disk.cut_power();
        self.disk.set_room(usize::MAX);
        self.session += 1;
        self.counted = 0;
        let spool = self.open()?;
        self.check_pending(&spool)?;
        let mut found = BTreeSet::new();
        for (session, frames) in self.seen.values() {
            for frame in frames {
                let place = (*session, frame.superframe, frame.slot);
                if !found.insert(place) {
                    return Err(format!("{place:?} is in two batches"));
                }
            }
        }
        match self.promised.difference(&found).next() {
            Some(lost) => Err(format!("{lost:?} was counted and is in no batch")),
            None => Ok(self),
        }
    }
}

fn broken(seeds: u64, honesty: Honesty) -> usize {
    (0..seeds).filter(|seed| World::new(*seed, honesty).run(400, 25).is_err()).count()
}

#[test]
fn a_counted_frame_is_in_one_batch_until_it_is_freed_whatever_stops_the_bridge() {
    let runs = if is_soak() { 20_000 } else { 400 };
    let (mut stops, mut repeated, mut power_cuts, mut batches, mut freed) = (0, 0, 0, 0, 0);
    let (mut times_full, mut freed_when_full) = (0, 0);
    for seed in 0..runs {
        let world = World::new(seed, Honesty::FULL)
            .run(400, 25)
            .unwrap_or_else(|broken| panic!("seed {seed}: {broken}"));
        (stops, repeated) = (stops + world.stops, repeated + world.repeated);
        power_cuts += world.disk.power_cuts();
        (batches, freed) = (batches + world.seen.len(), freed + world.freed.len());
        (times_full, freed_when_full) =
            (times_full + world.times_full, freed_when_full + world.freed_when_full);
    }
    println!(
        "{runs} runs: {stops} stops, {power_cuts} power cuts, {batches} batches, {freed} freed, {repeated} repeated, \
         {times_full} times no room, {freed_when_full} freed without"
    );
    // A run in which nothing happens shows nothing.
    assert!(u64::from(stops) > runs && power_cuts > runs && freed > 0 && repeated > 0);
    assert!(u64::from(times_full) > runs && u64::from(freed_when_full) > runs);
}

#[test]
fn the_test_sees_a_disk_that_does_not_what_it_says() {
    let [no_sync, no_names, no_settle] = [
        Honesty { sync: false, ..Honesty::FULL },
        Honesty { sync_dir: false, ..Honesty::FULL },
        Honesty { settle: false, ..Honesty::FULL },
    ]
    .map(|honesty| broken(60, honesty));
    println!(
        "of 60 runs are broken: {no_sync} without sync, {no_names} without names, {no_settle} without settle"
    );
    assert!(no_sync > 0 && no_names > 0 && no_settle > 0);
    assert_eq!(broken(60, Honesty::FULL), 0);
}

fn is_no_room(fault: &SpoolFault) -> bool {
    matches!(fault, SpoolFault::Disk(cause) if is_full(cause))
}

#[test]
fn a_full_spool_says_so_until_a_receipt_makes_room() {
    let mut spool =
        Spool::open(SimDisk::new(Dice::new(1), Honesty::FULL), 7, CAPACITY).expect("an empty disk");
    spool.begin_session(1).expect("the disk works");
    let mut superframe = 0;
    while !spool.is_full() {
        for frame in frames(1, superframe) {
            spool.accept(frame).expect("the disk works");
        }
        spool.close(superframe, true).expect("the disk works");
        superframe += 1;
        assert!(superframe < 1_000, "the spool grows without end");
    }
    let pending: Vec<u64> = spool.pending().map(|batch| batch.number).collect();
    // A file is removed when all of it is freed: by then there is room.
    let freed = pending.iter().take_while(|number| {
        let was_full = spool.is_full();
        spool.free(**number).expect("the disk works");
        was_full
    });
    assert!(freed.count() < pending.len(), "no receipt made room");
}

/// Accepts and closes a superframe, which is a batch.
fn send(spool: &mut Spool<SimDisk>, superframe: u32) -> Result<Option<Pending>, SpoolFault> {
    frames(1, superframe).into_iter().try_for_each(|frame| spool.accept(frame))?;
    spool.close(superframe, true)
}

/// A spool with 10 batches and more on a disk that was full before the last of them, and how many it has counted.
fn on_a_full_disk() -> (SimDisk, Spool<SimDisk>, u32) {
    let disk = SimDisk::new(Dice::new(1), Honesty::FULL);
    let mut spool = Spool::open(disk.clone(), 7, CAPACITY).expect("an empty disk");
    spool.begin_session(1).expect("the disk works");
    for superframe in 0..16 {
        send(&mut spool, superframe).expect("there is room");
    }
    disk.set_room(disk.used_bytes() + 100);
    let refused =
        (16..30).find_map(|superframe| send(&mut spool, superframe).err()).expect("there is no room");
    assert!(matches!(refused, SpoolFault::NoRoom { batches: 10.. }), "{refused:?}");
    let counted = spool.progress().0;
    (disk, spool, counted)
}

/// What has its receipt makes room: for the superframe that was refused, without anybody else's doing.
fn assert_receipts_make_room(spool: &mut Spool<SimDisk>, counted: u32) {
    assert!(spool.is_full() && spool.lacks_room());
    spool.look_for_room().expect("the disk works");
    assert!(spool.lacks_room(), "nobody has made room");
    let pending: Vec<u64> = spool.pending().map(|batch| batch.number).collect();
    assert!(pending.iter().all(|&number| spool.free(number).expect("it is written on the reserve")));
    spool.look_for_room().expect("the disk works");
    assert!(!spool.is_full(), "receipts made room");
    assert_eq!((spool.begin_session(1).expect("there is room"), spool.progress().0), (None, counted));
    send(spool, counted).expect("there is room");
    assert_eq!(spool.progress().0, counted + 1);
}

#[test]
fn a_full_disk_refuses_until_receipts_make_room_and_nothing_that_was_counted_is_lost() {
    let (disk, mut spool, counted) = on_a_full_disk();
    let pending: Vec<Pending> = spool.pending().copied().collect();
    let frames_of: Vec<Frame> =
        pending.iter().flat_map(|batch| read(&disk, batch).expect("it is whole")).collect();
    assert_eq!(frames_of, (0..counted).flat_map(|superframe| frames(1, superframe)).collect::<Vec<_>>());
    assert_receipts_make_room(&mut spool, counted);
}

#[test]
fn a_bridge_that_is_started_again_on_a_full_disk_delivers_and_makes_room() {
    let (disk, spool, counted) = on_a_full_disk();
    drop(spool);
    disk.set_room(disk.used_bytes());
    let mut spool = Spool::open(disk, 8, CAPACITY).expect("the reserve has room for a file");
    assert_eq!((spool.identity(), spool.progress().0), (7, counted));
    assert_receipts_make_room(&mut spool, counted);
}

#[test]
fn a_full_disk_without_a_reserve_is_an_error_and_leaves_no_file_behind() {
    let (mut disk, spool, counted) = on_a_full_disk();
    drop(spool);
    disk.remove("reserve").expect("it is there");
    let files = disk.list().expect("it can be listed").len();
    for _ in 0..3 {
        disk.set_room(disk.used_bytes());
        let refused = Spool::open(disk.clone(), 8, CAPACITY).err().expect("there is no room");
        assert!(is_no_room(&refused), "{refused:?}");
        assert_eq!(disk.list().expect("it can be listed").len(), files);
    }
    disk.set_room(usize::MAX);
    let spool = Spool::open(disk, 8, CAPACITY).expect("there is room again");
    assert_eq!((spool.identity(), spool.progress().0), (7, counted));
}

/// A spool of one file with a group for each of four superframes, and its disk.
fn four_superframes() -> (SimDisk, Vec<Pending>) {
    let disk = SimDisk::new(Dice::new(1), Honesty::FULL);
    let mut spool = Spool::open(disk.clone(), 7, LONG).expect("an empty disk");
    spool.begin_session(1).expect("the disk works");
    for superframe in 0..4 {
        send_even(&mut spool, superframe, 3);
    }
    let pending = spool.pending().copied().collect();
    (disk, pending)
}

/// Sends `count` frames whose records fill sectors to the last byte, and closes their batch.
fn send_even(spool: &mut Spool<SimDisk>, superframe: u32, count: u8) {
    for slot in 1..=count {
        let frame = Frame { superframe, slot, received_ps: 1, bytes: vec![0xa5; EVEN] };
        spool.accept(frame).expect("the disk works");
    }
    spool.close(superframe, true).expect("the disk works");
}

const FIRST: &str = "0000000000000001.spool";

fn files(disk: &SimDisk) -> Vec<(String, Vec<u8>)> {
    let mut names = disk.list().expect("it can be listed");
    names.sort();
    let read = |name: String| (name.clone(), disk.read(&name, u64::MAX).expect("it can be read"));
    names.into_iter().map(read).collect()
}

#[test]
fn a_damaged_byte_of_what_was_counted_ends_the_start_and_every_file_stays() {
    let (disk, pending) = four_superframes();
    let bytes = disk.read(FIRST, u64::MAX).expect("it is there");
    let last = bytes.len() - SPOOL_SECTOR_BYTES;
    // Every byte of a record before the last group; padding says nothing, and may be anything behind its first byte.
    let ends = bytes.chunks(SPOOL_SECTOR_BYTES).map(|sector| sector.iter().rposition(|byte| *byte != 0));
    let ends: Vec<usize> = ends.map(|end| end.expect("a sector has a record") + 1).collect();
    let is_record = |at: &usize| at % SPOOL_SECTOR_BYTES < ends[at / SPOOL_SECTOR_BYTES];
    let mut struck = 0;
    for at in (0..last).filter(is_record).step_by(7) {
        disk.damage(FIRST, at, 0x10);
        let before = files(&disk);
        match Spool::open(disk.clone(), 8, LONG).err() {
            Some(SpoolFault::Damaged { file, at: found }) => {
                assert!(file == FIRST && found <= at as u64, "{found} for {at}");
            }
            other => panic!("byte {at}: {other:?}"),
        }
        assert_eq!(files(&disk), before, "byte {at}");
        disk.damage(FIRST, at, 0x10);
        struck += 1;
    }
    assert!(struck > 300, "{struck} bytes were struck");
    let whole = Spool::open(disk, 8, LONG).expect("nothing is damaged any more");
    assert_eq!(whole.pending().copied().collect::<Vec<_>>(), pending);
}

#[test]
fn a_damaged_last_group_is_seen_once_a_later_file_was_begun() {
    let (disk, _) = four_superframes();
    drop(Spool::open(disk.clone(), 8, LONG).expect("the disk works"));
    let bytes = disk.read(FIRST, u64::MAX).expect("it is there");
    disk.damage(FIRST, bytes.len() - SPOOL_SECTOR_BYTES + 20, 1);
    let before = files(&disk);
    let second = "0000000000000002.spool";
    match Spool::open(disk.clone(), 8, LONG).err() {
        Some(SpoolFault::Contradiction { file, at: 0 }) => assert_eq!(file, second),
        other => panic!("{other:?}"),
    }
    assert_eq!(files(&disk), before);
}

#[test]
fn a_file_of_which_no_record_can_be_read_is_not_taken_for_one_that_was_just_begun() {
    let mut disk = SimDisk::new(Dice::new(1), Honesty::FULL);
    let mut file = disk.create(FIRST).expect("it is new");
    // As another version of the format would look.
    disk.append(&mut file, &vec![0x5a; 2 * SPOOL_SECTOR_BYTES]).expect("the disk works");
    let before = files(&disk);
    let refused = Spool::open(disk.clone(), 8, LONG).err();
    assert!(matches!(refused, Some(SpoolFault::Damaged { at: 0, .. })), "{refused:?}");
    assert_eq!(files(&disk), before);
}

#[test]
fn a_file_that_is_gone_from_the_middle_ends_the_start() {
    let (mut disk, _) = four_superframes();
    drop(Spool::open(disk.clone(), 8, LONG).expect("the disk works"));
    drop(Spool::open(disk.clone(), 8, LONG).expect("the disk works"));
    let second = "0000000000000002.spool";
    disk.remove(second).expect("it is there");
    match Spool::open(disk, 8, LONG).err() {
        Some(SpoolFault::Missing { file }) => assert_eq!(file, second),
        other => panic!("{other:?}"),
    }
}

#[test]
fn however_two_starts_are_stopped_the_third_finds_a_whole_spool() {
    let mut stops = 0;
    for (first, second) in (1..=12).flat_map(|first| (1..=12).map(move |second| (first, second))) {
        for seed in 0..8 {
            let disk = SimDisk::new(Dice::new(seed), Honesty::FULL);
            let mut spool = Spool::open(disk.clone(), 7, LONG).expect("an empty disk");
            send_even(&mut spool, 0, 3);
            drop(spool);
            // The process is killed, and what it wrote may still be only in the cache when power is cut.
            for (operations, stop) in [(first, Stop::Kill), (second, Stop::Power)] {
                disk.plan_stop(operations, stop);
                stops += u32::from(Spool::open(disk.clone(), 8, LONG).is_err());
                disk.process_ended();
            }
            disk.cut_power();
            let spool =
                Spool::open(disk, 9, LONG).unwrap_or_else(|lost| panic!("{first} {second} {seed}: {lost:?}"));
            assert_eq!((spool.identity(), spool.pending().len()), (7, 1), "{first} {second} {seed}");
        }
    }
    assert!(stops > 1_000, "{stops} starts were stopped");
}

#[test]
fn a_superframe_is_not_counted_when_a_sector_of_its_frames_was_lost() {
    // The records of 16 frames fill a sector of 4096 bytes, and the record that closes them begins the next.
    for lost in 0..8 {
        let disk = SimDisk::new(Dice::new(1), Honesty::FULL);
        let mut spool = Spool::open(disk.clone(), 7, LONG).expect("an empty disk");
        // No session is begun: the group has the frames and their end, and nothing else.
        send_even(&mut spool, 0, 16);
        assert_eq!(spool.progress().0, 1);
        drop(spool);
        let bytes = disk.read(FIRST, u64::MAX).expect("it is there");
        assert_eq!(bytes.len(), 3 * SPOOL_SECTOR_BYTES);
        assert!(
            bytes[SPOOL_SECTOR_BYTES..2 * SPOOL_SECTOR_BYTES].iter().filter(|byte| **byte == 0xa5).count()
                >= 16 * EVEN
        );
        let sector = bytes.iter().enumerate().skip(SPOOL_SECTOR_BYTES + 512 * lost).take(512);
        sector.for_each(|(at, byte)| disk.damage(FIRST, at, *byte));
        // As if power had been cut before the sync returned: that is no damage, and nothing was promised.
        let spool = Spool::open(disk, 8, LONG).expect("it was being written");
        assert_eq!((spool.progress(), spool.pending().len()), ((0, 0), 0), "sector {lost}");
    }
}

#[test]
fn what_waits_is_read_from_the_disk_when_it_is_sent() {
    let (disk, pending) = four_superframes();
    for batch in &pending {
        let frames = read(&disk, batch).expect("it is there");
        assert_eq!((frames.len(), frames[0].superframe), (3, batch.superframe));
    }
    // The first superframe's group is behind those of the file's begin and the session's.
    disk.damage(FIRST, 2 * SPOOL_SECTOR_BYTES + 100, 1);
    assert!(matches!(read(&disk, &pending[0]), Err(SpoolFault::Damaged { .. })));
    read(&disk, &pending[1]).expect("it is there");
}
