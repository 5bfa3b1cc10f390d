//! The store: a row of segment files in one folder, and the order of writes and syncs that makes it durable.
//!
//! A commit is one group of records, one append, one `fdatasync`. A new segment is written under a temporary
//! name, synced, renamed, and its folder synced, all before its first group: a segment has a whole header or
//! no name.
//!
//! When the disk is full the group is cut off again and the store goes on, because nothing else refers to it;
//! the indexes of its records stay spent. After any other error of a write, and after every failed sync,
//! nobody knows what the device holds: the store does nothing more, and only a new process that reads the
//! device again may go on. A failed sync is never repeated.
//!
//! Opening settles the last segment first (see [`Disk::settle`]): what is read must be what the device holds,
//! because a frame found there is answered as a duplicate, and that is a promise too.
//!
//! Owns files and their order; `segment` owns their bytes, `record` what they mean.

use std::cmp::Ordering;
use std::io;

use cipher::{Randomness, StoreMaster};
use zeroize::Zeroizing;

use crate::disk::{Disk, is_full};
use crate::error::{Corruption, Error};
use crate::limits::Limits;
use crate::record::Body;
use crate::segment::{self, Header, Scan, Segment, Tail, align};

pub use crate::read::{Filter, Records, Verification, read, verify, verify_disk};

/// Ending of a segment that has no whole header yet.
const UNBORN: &str = ".new";

/// What became of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Commit {
    /// It is durable.
    Durable,
    /// There was no room; nothing of it is stored, and the store goes on.
    Full,
}

/// A store that is open for writing.
pub struct Store<D: Disk, R> {
    disk: D,
    randomness: R,
    master: StoreMaster,
    sector_bytes: usize,
    segment_bytes_max: u64,
    last: Option<Link>,
    current: Option<Current<D::File>>,
    failed: bool,
}

/// What a segment must know of the one before it.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    number: u64,
    id: [u8; 16],
    store: [u8; 16],
    /// Where its last group ends.
    end: u64,
}

/// The segment that is appended to.
struct Current<F> {
    file: F,
    segment: Segment,
    /// Everything below is synced, and the next group begins here.
    synced: u64,
    /// No record has used this index or a higher one.
    next_index: u64,
}

impl<D: Disk, R: Randomness> Store<D, R> {
    /// Opens a store, or begins one in an empty folder, and hands every record to `visit` in the order in
    /// which they were stored.
    ///
    /// # Errors
    /// [`Error::Corrupt`], also when `visit` finds a body impossible, [`Error::SegmentMissing`],
    /// [`Error::Io`].
    pub fn open(
        mut disk: D,
        master: StoreMaster,
        limits: &Limits,
        randomness: R,
        mut visit: impl FnMut(Body) -> Result<(), Corruption>,
    ) -> Result<Self, Error> {
        let names = disk.list().map_err(Error::io("list", "store"))?;
        for name in names.iter().filter(|name| name.ends_with(UNBORN)) {
            disk.remove(name).map_err(Error::io("remove", name))?;
        }
        // A name that is only cached must not become the predecessor of a durable one.
        disk.sync_dir().map_err(Error::io("sync folder", "store"))?;
        let numbers = numbers(&names)?;
        if let Some(&number) = numbers.last() {
            let name = segment::file_name(number);
            disk.settle(&name).map_err(Error::io("settle", name.clone()))?;
        }
        let mut last = None;
        for number in numbers {
            let (segment, scan) = load(&disk, number, &master, last.as_ref())?;
            for group in &scan.groups {
                for bytes in &group.bodies {
                    let visited = Body::parse(bytes).ok_or(Corruption::Body).and_then(&mut visit);
                    visited.map_err(|what| corrupt(number, group.at, what))?;
                }
            }
            last = Some(Link::new(&segment, scan.end));
        }
        let (sector_bytes, segment_bytes_max) = (limits.sector_bytes, limits.segment_bytes_max);
        let (current, failed) = (None, false);
        Ok(Store { disk, randomness, master, sector_bytes, segment_bytes_max, last, current, failed })
    }

    /// Makes `bodies` durable as one group. `now_ns` dates a new segment (ns since 1970).
    ///
    /// # Errors
    /// [`Error::Io`], and then the store is dead: what of the group is durable shows when it is opened again.
    ///
    /// # Panics
    /// When the store is dead, when there are no bodies, or too many for any segment.
    pub fn commit(&mut self, bodies: &[Zeroizing<Vec<u8>>], now_ns: u64) -> Result<Commit, Error> {
        assert!(!self.failed, "a store that failed is used again");
        // Dead until proved alive, so that no path out of here can forget to say so.
        self.failed = true;
        let commit = self.try_commit(bodies, now_ns)?;
        self.failed = false;
        Ok(commit)
    }

    fn try_commit(&mut self, bodies: &[Zeroizing<Vec<u8>>], now_ns: u64) -> Result<Commit, Error> {
        let sectors_bytes = align(segment::group_bytes(bodies), self.sector_bytes);
        let fits = |current: &Current<_>| current.synced + sectors_bytes <= self.segment_bytes_max;
        if !self.current.as_ref().is_some_and(fits) {
            // What is full is synced: nothing of it is left to be done.
            self.current = None;
            let Some(new) = self.begin_segment(now_ns)? else { return Ok(Commit::Full) };
            assert!(new.synced + sectors_bytes <= self.segment_bytes_max, "a group that no segment can hold");
            self.current = Some(new);
        }
        let current = self.current.as_mut().expect("there is a segment now");
        let group = current.segment.seal_group(current.next_index, bodies);
        // Spent, whatever becomes of the group.
        current.next_index += bodies.len() as u64;
        self.write_group(&group, segment::group_bytes(bodies))
    }

    fn write_group(&mut self, group: &[u8], group_bytes: u64) -> Result<Commit, Error> {
        let current = self.current.as_mut().expect("a group is written to a segment");
        let name = segment::file_name(current.segment.header().number);
        match self.disk.append(&mut current.file, group) {
            Ok(()) => {
                self.disk.sync(&mut current.file).map_err(Error::io("sync", name))?;
                self.last = Some(Link::new(&current.segment, current.synced + group_bytes));
                current.synced += group.len() as u64;
                Ok(Commit::Durable)
            }
            Err(cause) if is_full(&cause) => {
                let cut = self.disk.truncate(&mut current.file, current.synced);
                cut.map_err(Error::io("cut", name))?;
                Ok(Commit::Full)
            }
            Err(cause) => Err(Error::io("append to", name)(cause)),
        }
    }

    /// A new segment, durable up to its header; `None` when there is no room for it.
    fn begin_segment(&mut self, made_ns: u64) -> Result<Option<Current<D::File>>, Error> {
        let mut draw = || {
            let mut bytes = [0; 16];
            let drawn = self.randomness.fill(&mut bytes);
            drawn.map(|()| bytes).map_err(Error::io("draw randomness for", "segment"))
        };
        let id = draw()?;
        let header = match &self.last {
            Some(last) => Header {
                sector_bytes: self.sector_bytes,
                id,
                store: last.store,
                number: last.number + 1,
                before: last.id,
                before_bytes: last.end,
                made_ns,
            },
            None => {
                let (store, before) = (draw()?, [0; 16]);
                let sector_bytes = self.sector_bytes;
                Header { sector_bytes, id, store, number: 0, before, before_bytes: 0, made_ns }
            }
        };
        let segment = Segment::new(header, &self.master);
        let Some(file) = self.begin_file(&segment)? else { return Ok(None) };
        self.last = Some(Link::new(&segment, segment::HEADER_BYTES as u64));
        Ok(Some(Current { file, synced: self.sector_bytes as u64, segment, next_index: 0 }))
    }

    /// Writes and syncs a segment's header under a temporary name, then gives it its own.
    fn begin_file(&mut self, segment: &Segment) -> Result<Option<D::File>, Error> {
        let name = segment::file_name(segment.header().number);
        let unborn = name.replace(".seg", UNBORN);
        let mut file = match self.disk.create(&unborn) {
            Err(cause) if is_full(&cause) => return Ok(None),
            created => created.map_err(Error::io("create", unborn.clone()))?,
        };
        if let Err(cause) = self.disk.append(&mut file, &segment.header_sector()) {
            return self.give_up(unborn, "append to", cause);
        }
        self.disk.sync(&mut file).map_err(Error::io("sync", unborn.clone()))?;
        if let Err(cause) = self.disk.rename(&unborn, &name) {
            return self.give_up(unborn, "rename", cause);
        }
        self.disk.sync_dir().map_err(Error::io("sync folder", "store"))?;
        Ok(Some(file))
    }

    /// Removes what there is of a segment for which there was no room.
    fn give_up(
        &mut self,
        unborn: String,
        doing: &'static str,
        cause: io::Error,
    ) -> Result<Option<D::File>, Error> {
        if !is_full(&cause) {
            return Err(Error::io(doing, unborn)(cause));
        }
        self.disk.remove(&unborn).map_err(Error::io("remove", unborn))?;
        Ok(None)
    }
}

impl Link {
    pub(crate) fn new(segment: &Segment, end: u64) -> Link {
        let header = segment.header();
        Link { number: header.number, id: header.id, store: header.store, end }
    }

    /// What is wrong when `segment` follows under the name `number`: file, byte, what.
    pub(crate) fn check(&self, segment: &Segment, number: u64) -> Option<(String, u64, Corruption)> {
        let header = segment.header();
        let (before, own) = (segment::file_name(self.number), segment::file_name(number));
        if header.number != number || header.before != self.id || header.store != self.store {
            return Some((own, 0, Corruption::Chain));
        }
        match self.end.cmp(&header.before_bytes) {
            Ordering::Less => Some((before, self.end, Corruption::Group)),
            Ordering::Equal => None,
            Ordering::Greater => Some((before, header.before_bytes, Corruption::Length)),
        }
    }
}

fn corrupt(number: u64, at: u64, what: Corruption) -> Error {
    Error::Corrupt { file: segment::file_name(number), at, what }
}

/// What is wrong when `segment` begins the store under the name `number`: file, byte, what.
pub(crate) fn first_fault(segment: &Segment, number: u64) -> Option<(String, u64, Corruption)> {
    let header = segment.header();
    let first = number == 0 && header.number == 0 && header.before == [0; 16] && header.before_bytes == 0;
    (!first).then(|| (segment::file_name(number), 0, Corruption::Chain))
}

/// The numbers of the segments among `names`, from 0 without a gap.
pub(crate) fn numbers(names: &[String]) -> Result<Vec<u64>, Error> {
    let mut numbers: Vec<u64> = names.iter().filter_map(|name| segment::file_number(name)).collect();
    numbers.sort_unstable();
    match (0..).zip(&numbers).find(|&(expected, &found)| expected != found) {
        Some((number, _)) => Err(Error::SegmentMissing { number }),
        None => Ok(numbers),
    }
}

/// Reads segment `number` and checks that it follows `before`, and that `before` ended where it says.
pub(crate) fn load<D: Disk>(
    disk: &D,
    number: u64,
    master: &StoreMaster,
    before: Option<&Link>,
) -> Result<(Segment, Scan), Error> {
    let name = segment::file_name(number);
    let file = disk.read(&name, u32::MAX.into()).map_err(Error::io("read", name.clone()))?;
    let segment = Segment::open(&file, master).map_err(|what| corrupt(number, 0, what))?;
    let fault = match before {
        Some(before) => before.check(&segment, number),
        None => first_fault(&segment, number),
    };
    if let Some((file, at, what)) = fault {
        return Err(Error::Corrupt { file, at, what });
    }
    let scan = segment.scan(&file);
    if scan.tail == Tail::Damaged {
        return Err(corrupt(number, scan.end, Corruption::Group));
    }
    Ok((segment, scan))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Reservation;
    use crate::sim::{Dice, Honesty, SimDisk, Stop};
    use cipher::Key;

    const LIMITS: fn() -> Limits = || Limits {
        sector_bytes: 512,
        segment_bytes_max: 4096,
        group_bytes_max: 1024,
        batch_frames_max: 1,
        ..Limits::default()
    };

    fn master() -> StoreMaster {
        StoreMaster::from(Key::copied_from(&[9; 32]))
    }

    /// A body that tells its number.
    fn body(number: u32) -> Body {
        Body::Reservation(Reservation { node: number, epoch: 0, limit: 0 })
    }

    /// Opens the store and returns the numbers of its bodies.
    fn open(disk: &SimDisk, seed: u64) -> Result<(Store<SimDisk, Dice>, Vec<u32>), Error> {
        let mut numbers = Vec::new();
        let store = Store::open(disk.clone(), master(), &LIMITS(), Dice::new(seed), |body| {
            let Body::Reservation(reservation) = body else { panic!("another body") };
            numbers.push(reservation.node);
            Ok(())
        })?;
        Ok((store, numbers))
    }

    fn disk(seed: u64) -> SimDisk {
        SimDisk::new(Dice::new(seed), Honesty::FULL)
    }

    /// Commits numbers from `first` on, one a group, until something happens.
    fn commit_while(store: &mut Store<SimDisk, Dice>, first: u32, durable: &mut Vec<u32>) {
        for number in first..first + 20 {
            match store.commit(&[body(number).to_bytes()], 0) {
                Ok(Commit::Durable) => durable.push(number),
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
                for (stop, how) in [(first_stop, Stop::Kill), (second_stop, Stop::Power)] {
                    disk.plan_stop(stop, how);
                    if let Ok((mut store, _)) = open(&disk, stop + 1000 * (1 + how as u64)) {
                        commit_while(&mut store, 100 * stop as u32, &mut durable);
                    }
                    if disk.process_ended() == Some(Stop::Power) {
                        disk.cut_power();
                    }
                }
                let (_, found) = open(&disk, 0)
                    .unwrap_or_else(|error| panic!("seed {seed}, {first_stop}, {second_stop}: {error}"));
                let lost: Vec<_> = durable.iter().filter(|number| !found.contains(number)).collect();
                assert!(lost.is_empty(), "seed {seed}, stops {first_stop}, {second_stop}: lost {lost:?}");
                assert_eq!(disk.nonce_reused(), None);
            }
        }
    }

    #[test]
    fn a_full_disk_refuses_and_the_store_goes_on() {
        let disk = disk(1);
        let (mut store, _) = open(&disk, 1).unwrap();
        let mut durable = Vec::new();
        for room in (0..6000).step_by(100) {
            disk.set_room(room);
            let number = room as u32;
            if store.commit(&[body(number).to_bytes()], 0).unwrap() == Commit::Durable {
                durable.push(number);
            }
        }
        assert!(durable.len() > 5 && durable.len() < 60, "the room was met, and was left");
        disk.cut_power();
        assert_eq!(open(&disk, 2).unwrap().1, durable);
        assert_eq!(disk.nonce_reused(), None);
    }

    #[test]
    fn a_restart_begins_a_new_segment_and_an_idle_one_none() {
        let disk = disk(1);
        for number in 0..3 {
            let (mut store, found) = open(&disk, number.into()).unwrap();
            assert_eq!(found.len(), number as usize);
            assert_eq!(store.commit(&[body(number).to_bytes()], 0).unwrap(), Commit::Durable);
        }
        open(&disk, 9).unwrap();
        assert_eq!(disk.list().unwrap(), [0, 1, 2].map(segment::file_name));
    }

    /// Seven groups in three segments, all durable.
    fn filled() -> (SimDisk, usize) {
        let disk = disk(1);
        let (mut store, _) = open(&disk, 1).unwrap();
        for number in 0..17 {
            assert_eq!(store.commit(&[body(number).to_bytes()], 0).unwrap(), Commit::Durable);
        }
        disk.cut_power();
        let names = disk.list().unwrap();
        assert_eq!(names, [0, 1, 2].map(segment::file_name));
        let bytes = disk.read(&names[2], u64::MAX).unwrap().len();
        (disk, bytes)
    }

    #[test]
    fn damage_to_what_was_acknowledged_is_no_torn_tail() {
        for (name, at) in [(0, 512), (0, 7 * 512 + 30), (1, 550), (2, 512)] {
            let (disk, _) = filled();
            disk.damage(&segment::file_name(name), at, 4);
            let error = open(&disk, 2).map(|_| ()).unwrap_err();
            let Error::Corrupt { file, what, .. } = &error else { panic!("{error}") };
            assert_eq!((file.as_str(), *what), (&*segment::file_name(name), Corruption::Group), "at {at}");
            assert!(verify_disk(&disk, &master()).unwrap().corrupt.len() == 1, "verify goes on");
        }
    }

    #[test]
    fn damage_to_the_very_last_group_reads_as_a_torn_tail() {
        let (disk, bytes) = filled();
        disk.damage(&segment::file_name(2), bytes - 500, 4);
        assert_eq!(open(&disk, 2).unwrap().1, (0..16).collect::<Vec<_>>());
        assert_eq!(verify_disk(&disk, &master()).unwrap().torn, 1);
    }

    #[test]
    fn a_header_or_a_segment_that_is_gone_is_seen() {
        let (disk, _) = filled();
        disk.damage(&segment::file_name(1), 20, 1);
        assert!(matches!(open(&disk, 2), Err(Error::Corrupt { what: Corruption::HeaderTag, .. })));
        let (mut disk, _) = filled();
        disk.remove(&segment::file_name(1)).unwrap();
        assert!(matches!(open(&disk, 2), Err(Error::SegmentMissing { number: 1 })));
        assert_eq!(verify_disk(&disk, &master()).unwrap().missing, [1..=1]);
        disk.remove(&segment::file_name(0)).unwrap();
        disk.rename(&segment::file_name(2), &segment::file_name(0)).unwrap();
        assert!(matches!(open(&disk, 2), Err(Error::Corrupt { what: Corruption::Chain, .. })));
    }

    #[test]
    #[should_panic(expected = "a store that failed is used again")]
    fn a_store_that_failed_cannot_be_used_again() {
        let disk = disk(1);
        let (mut store, _) = open(&disk, 1).unwrap();
        disk.plan_stop(4, Stop::Kill);
        while store.commit(&[body(1).to_bytes()], 0).is_ok() {}
        let _ = store.commit(&[body(2).to_bytes()], 0);
    }
}
