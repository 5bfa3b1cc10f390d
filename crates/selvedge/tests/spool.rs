//! The bridge's spool on a disk that loses what was not synced: whatever stops it, a frame that was counted is in
//! exactly one batch, in order, until that batch is freed.
//!
//! Owns a cell and a server that remember what they were promised. The disk is `collect::sim`'s; a run follows from
//! its seed, which a failure names. That the test sees a broken promise is shown by disks that do not what they say.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use collect::disk::{Disk, is_full};
use collect::sim::{Dice, Honesty, SimDisk, Stop};
use selvedge::link::bridge::record::Frame;
use selvedge::link::bridge::spool::{Batch, Capacity, Spool};

const BATCH_SUPERFRAMES: u32 = 3;
/// Files of a few superframes, so that most runs begin and remove several.
const CAPACITY: Capacity = Capacity { bytes_max: 20_000, file_bytes: 1_500 };

/// A frame's session, superframe and slot.
type Place = (u64, u32, u8);

/// The cell, the server and the disk between them.
struct World {
    dice: Dice,
    disk: SimDisk,
    session: u64,
    /// The superframe that the cell closes next.
    next: u32,
    /// What the cell was told, as the last superframe plus 1.
    counted: u32,
    promised: BTreeSet<Place>,
    /// Every batch that was ever seen, whole.
    seen: BTreeMap<u64, Batch>,
    freed: BTreeSet<u64>,
    stops: u32,
    repeated: u32,
}

/// What a superframe brings: the same each time that it is sent.
fn frames(session: u64, superframe: u32) -> Vec<Frame> {
    let mut dice = Dice::new(session << 32 | u64::from(superframe));
    let mut frames = Vec::new();
    for slot in 1..=4 {
        if dice.chance(2, 3) {
            let mut bytes = vec![0; 10 + dice.below(200) as usize];
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
        World { dice, disk, session: 1, next: 0, counted: 0, promised, seen, freed, stops: 0, repeated: 0 }
    }

    /// Checks a batch against every other, and remembers it.
    fn see(&mut self, batch: &Batch) -> Result<(), String> {
        let number = batch.number;
        if batch.frames.is_empty() {
            return Err(format!("batch {number} is empty"));
        }
        if let Some(before) = self.seen.get(&number) {
            let same = (before.session, &before.frames) == (batch.session, &batch.frames);
            return if same { Ok(()) } else { Err(format!("batch {number} has two contents")) };
        }
        let places = |batch: &Batch| -> Vec<Place> {
            batch.frames.iter().map(|frame| (batch.session, frame.superframe, frame.slot)).collect()
        };
        let here = places(batch);
        if !here.is_sorted_by(|a, b| a < b) {
            return Err(format!("batch {number} is not in order"));
        }
        for frame in &batch.frames {
            if !frames(batch.session, frame.superframe).contains(frame) {
                return Err(format!("batch {number} holds a frame that the cell never sent"));
            }
        }
        if let Some((last, before)) = self.seen.last_key_value()
            && (number <= *last || places(before).last() >= here.first())
        {
            return Err(format!("batch {number} is not after batch {last}"));
        }
        self.seen.insert(number, batch.clone());
        Ok(())
    }

    /// Checks everything that waits for a receipt.
    fn check_pending(&mut self, spool: &Spool<SimDisk>) -> Result<(), String> {
        let pending: Vec<Arc<Batch>> = spool.pending().cloned().collect();
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
            match Spool::open(self.disk.clone(), 7, CAPACITY) {
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
                            return Ok(spool);
                        }
                        Err(_) => self.stopped(),
                    }
                }
                Err(_) => self.stopped(),
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
                self.disk.set_room(self.disk.used_bytes() + self.dice.below(3_000) as usize);
                Ok(true)
            }
            // The cell's process begins again; what was not counted is its own loss.
            2 if self.dice.chance(1, 4) => {
                (self.session, self.next, self.counted) = (self.session + 1, 0, 0);
                match spool.begin_session(self.session) {
                    Ok(left) => left.iter().try_for_each(|batch| self.see(batch)).map(|()| true),
                    Err(_) => Ok(false),
                }
            }
            // It only connects again, and repeats the last superframes.
            2 => {
                self.next = self.counted.saturating_sub(self.dice.below(3));
                Ok(spool.begin_session(self.session).is_ok())
            }
            3..=5 => {
                let oldest = spool.pending().next().map(|batch| batch.number);
                let Some(number) = oldest else { return Ok(true) };
                let freed = spool.free(number);
                self.freed.insert(number);
                Ok(freed.is_ok())
            }
            _ => self.send_superframe(spool),
        }
    }

    fn send_superframe(&mut self, spool: &mut Spool<SimDisk>) -> Result<bool, String> {
        let superframe = self.next;
        let frames = frames(self.session, superframe);
        for frame in &frames {
            if spool.accept(frame.clone()).is_err() {
                return Ok(false);
            }
            if self.dice.chance(1, 20) {
                return Ok(spool.begin_session(self.session).is_ok());
            }
        }
        let Ok(batch) = spool.close(superframe, (superframe + 1).is_multiple_of(BATCH_SUPERFRAMES)) else {
            return Ok(false);
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
        for batch in self.seen.values() {
            for frame in &batch.frames {
                let place = (batch.session, frame.superframe, frame.slot);
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
    let runs = if std::env::var_os("SELVEDGE_SOAK").is_some() { 20_000 } else { 400 };
    let (mut stops, mut repeated, mut power_cuts, mut batches, mut freed) = (0, 0, 0, 0, 0);
    for seed in 0..runs {
        let world = World::new(seed, Honesty::FULL)
            .run(400, 25)
            .unwrap_or_else(|broken| panic!("seed {seed}: {broken}"));
        (stops, repeated) = (stops + world.stops, repeated + world.repeated);
        power_cuts += world.disk.power_cuts();
        (batches, freed) = (batches + world.seen.len(), freed + world.freed.len());
    }
    println!(
        "{runs} runs: {stops} stops, {power_cuts} power cuts, {batches} batches, {freed} freed, {repeated} repeated"
    );
    // A run in which nothing happens shows nothing.
    assert!(u64::from(stops) > runs && power_cuts > runs && freed > 0 && repeated > 0);
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

#[test]
fn a_disk_without_room_is_an_error_and_nothing_that_was_counted_is_lost() {
    let disk = SimDisk::new(Dice::new(1), Honesty::FULL);
    let mut spool = Spool::open(disk.clone(), 7, CAPACITY).expect("an empty disk");
    spool.begin_session(1).expect("the disk works");
    let send = |spool: &mut Spool<SimDisk>, superframe: u32| {
        frames(1, superframe).into_iter().try_for_each(|frame| spool.accept(frame))?;
        spool.close(superframe, true)
    };
    send(&mut spool, 0).expect("there is room");
    disk.set_room(disk.used_bytes() + 100);
    let cause = (1..10).find_map(|superframe| send(&mut spool, superframe).err()).expect("there is no room");
    assert!(is_full(&cause), "{cause}");
    let counted = spool.progress().0;
    drop(spool);
    // While the disk is full every start fails, and leaves no file behind.
    let files = disk.list().expect("it can be listed").len();
    for _ in 0..3 {
        disk.set_room(disk.used_bytes());
        let refused = Spool::open(disk.clone(), 8, CAPACITY).err().expect("there is no room");
        assert!(is_full(&refused), "{refused}");
        assert_eq!(disk.list().expect("it can be listed").len(), files);
    }
    disk.set_room(usize::MAX);
    let mut spool = Spool::open(disk, 8, CAPACITY).expect("there is room again");
    assert_eq!((spool.identity(), spool.progress().0), (7, counted));
    spool.begin_session(1).expect("the disk works");
    send(&mut spool, counted).expect("it goes on");
    let spooled: Vec<u32> = spool.pending().map(|batch| batch.closed_by).collect();
    let sent: Vec<u32> = (0..=counted).filter(|superframe| !frames(1, *superframe).is_empty()).collect();
    assert_eq!(spooled, sent);
}
