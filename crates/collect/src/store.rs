//! The store: a row of segment files in one folder, and the order of writes and syncs that makes it durable.
//!
//! A commit is one group of records, one append, one `fdatasync`. A new segment is written under a temporary
//! name, synced, renamed, and its folder synced, all before its first group: a segment has a whole header or
//! no name. Behind the header, and there as surely, is what is known from the segments before it: the checkpoint, and what
//! the last of them holds of whom ([`Index`]). So a store is opened by its newest segment, and the oldest ones may go: the
//! new segment says which is the oldest that is kept, and those before are removed when it is durable.
//!
//! When the disk is full the group is cut off again and the store goes on, because nothing else refers to it;
//! the indexes of its records stay spent. After any other error of a write, and after every failed sync,
//! nobody knows what the device holds: the segment is closed where it was last synced, nothing is ever appended to it or
//! synced again, and the group is written to a new segment, which says where the old one ended. When that fails too, the
//! store does nothing more.
//!
//! Opening settles the last segment first (see [`Disk::settle`]): what is read must be what the device holds,
//! because a frame found there is answered as a duplicate, and that is a promise too.
//!
//! Owns files and their order; `segment` owns their bytes, `record` what they mean.

use std::collections::BTreeMap;
use std::io;

use cipher::Randomness;
use zeroize::Zeroizing;

use crate::anchor::Anchor;
use crate::disk::{Disk, begin_direct, is_full};
use crate::error::{Corruption, Error};
use crate::index::Index;
use crate::keys::StoreKeys;
use crate::limits::{Limits, SEGMENT_FILE_BYTES_MAX};
use crate::record::Body;
use crate::segment::{self, Before, Chain, Header, Scan, Segment, Tail, align};

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
    keys: StoreKeys,
    limits: Limits,
    newest: Option<Newest>,
    /// The segments that are kept, and those that are still to be removed.
    kept: BTreeMap<u64, Kept>,
    current: Option<Current<D::File>>,
    /// The last group as it was written: memory for the next one.
    group: Vec<u8>,
    failed: bool,
}

/// What the next segment says of the newest one.
#[derive(Debug)]
struct Newest {
    number: u64,
    store: [u8; 16],
    before: Before,
    index: Index,
}

/// A segment file, for retention.
#[derive(Clone, Copy, Debug)]
struct Kept {
    bytes: u64,
    made_ns: u64,
}

/// The segment that is appended to.
struct Current<F> {
    file: F,
    segment: Segment,
    /// Where its first group begins behind what it knows of the segments before.
    born: u64,
    /// Everything below is synced, and the next group begins here.
    synced: u64,
    /// No record has used this index or a higher one.
    next_index: u64,
}

/// A failure after which a group may still be written elsewhere.
struct Closed;

impl<D: Disk, R: Randomness> Store<D, R> {
    /// Opens a store, or begins one in an empty folder, and hands every record of its newest segment to `visit`, in the
    /// order in which they were stored, what is known from the segments before it first.
    ///
    /// # Errors
    /// [`Error::Corrupt`], also when `visit` finds a body impossible, [`Error::SegmentMissing`],
    /// [`Error::Io`].
    pub fn open(
        mut disk: D,
        keys: StoreKeys,
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
        let mut numbers = numbers(&names);
        if let Some(&number) = numbers.last() {
            let name = segment::file_name(number);
            disk.settle(&name).map_err(Error::io("settle", name.clone()))?;
            let oldest = head(&disk, number, &keys)?.header().oldest;
            let first_kept = numbers.partition_point(|&number| number < oldest);
            for number in numbers.drain(..first_kept) {
                let name = segment::file_name(number);
                disk.remove(&name).map_err(Error::io("remove", name.clone()))?;
            }
        }
        let segments = row(&disk, &numbers, &keys)?;
        let mut kept = BTreeMap::new();
        for (segment, next) in segments.iter().zip(segments.iter().skip(1)) {
            let Header { number, made_ns, .. } = *segment.header();
            kept.insert(number, Kept { bytes: next.header().before.end, made_ns });
        }
        let newest = match segments.into_iter().next_back() {
            None => None,
            Some(segment) => {
                let Header { number, store, made_ns, id, .. } = *segment.header();
                let scan = load(&disk, &segment, None)?;
                let mut index = Index::default();
                for group in &scan.groups {
                    for bytes in &group.bodies {
                        let visited = Body::parse(bytes).ok_or(Corruption::Body).and_then(&mut visit);
                        visited.map_err(|what| corrupt(number, group.at, what))?;
                    }
                    index.note(&group.bodies);
                }
                kept.insert(number, Kept { bytes: scan.end, made_ns });
                let before = Before { id, end: scan.end, chain: scan.chain };
                Some(Newest { number, store, before, index })
            }
        };
        let limits = limits.clone();
        Ok(Store {
            disk,
            randomness,
            keys,
            limits,
            newest,
            kept,
            current: None,
            group: Vec::new(),
            failed: false,
        })
    }

    /// The end of the last group that is durable; `None` when there is none.
    pub fn anchor(&self) -> Option<Anchor> {
        let Newest { number, store, before, .. } = self.newest.as_ref()?;
        Some(Anchor { store: *store, segment: *number, end: before.end, chain: before.chain })
    }

    /// What is written from now on is sealed under the newest of these keys, in a new segment if that is another one.
    pub fn seal_under(&mut self, keys: StoreKeys) {
        if self.current.as_ref().is_some_and(|current| current.segment.header().key != keys.newest().0) {
            // What is in the segment is synced: it ends here.
            self.current = None;
        }
        self.keys = keys;
    }

    /// Makes `bodies` durable as one group. `now_ns` dates a new segment (ns since 1970), which begins with what
    /// `checkpoint` returns: all that is known from the groups that are durable.
    ///
    /// # Errors
    /// [`Error::Io`], and then the store is dead: what of the group is durable shows when it is opened again.
    ///
    /// # Panics
    /// When the store is dead, when there are no bodies, or too many for any segment.
    pub fn commit(
        &mut self,
        bodies: &[impl AsRef<[u8]>],
        now_ns: u64,
        checkpoint: impl Fn() -> Vec<Body>,
    ) -> Result<Commit, Error> {
        assert!(!self.failed, "a store that failed is used again");
        // Dead until proved alive, so that no path out of here can forget to say so.
        self.failed = true;
        let commit = self.try_commit(bodies, now_ns, checkpoint)?;
        self.failed = false;
        Ok(commit)
    }

    fn try_commit(
        &mut self,
        bodies: &[impl AsRef<[u8]>],
        now_ns: u64,
        checkpoint: impl Fn() -> Vec<Body>,
    ) -> Result<Commit, Error> {
        let bytes = align(segment::group_bytes(bodies), self.limits.sector_bytes);
        let segment_bytes_max = self.limits.segment_bytes_max;
        assert!(bytes <= segment_bytes_max, "a group that no segment can hold");
        let has_room = |current: &Current<_>| current.synced - current.born + bytes <= segment_bytes_max;
        if self.current.as_ref().is_some_and(has_room) {
            match self.write_group(bodies)? {
                Ok(commit) => return Ok(commit),
                Err(Closed) => self.current = None,
            }
        }
        // What is full is synced, and what is closed was given up behind its last sync.
        self.current = None;
        let Some(new) = self.begin_segment(now_ns, &checkpoint())? else { return Ok(Commit::Full) };
        self.current = Some(new);
        self.write_group(bodies)?.map_err(|Closed| {
            let name = segment::file_name(self.newest.as_ref().map_or(0, |newest| newest.number));
            Error::io("write", name)(io::Error::other(
                "two segments, one after the other, could not be written",
            ))
        })
    }

    /// Appends a group to the current segment and syncs it.
    fn write_group(&mut self, bodies: &[impl AsRef<[u8]>]) -> Result<Result<Commit, Closed>, Error> {
        let current = self.current.as_mut().expect("a group is written to a segment");
        let newest = self.newest.as_mut().expect("the current segment is the newest");
        let bytes = align(segment::group_bytes(bodies), self.limits.sector_bytes);
        let first = begin_direct(&mut self.group, bytes as usize);
        let before = &mut newest.before;
        let chain = current.segment.seal_group(current.next_index, bodies, &before.chain, &mut self.group);
        // Spent, whatever becomes of the group.
        current.next_index += bodies.len() as u64;
        match self.disk.append(&mut current.file, &self.group[first..]) {
            Ok(()) => {
                if self.disk.sync(&mut current.file).is_err() {
                    return Ok(Err(Closed));
                }
                (before.end, before.chain) = (current.synced + segment::group_bytes(bodies), chain);
                newest.index.note(bodies);
                current.synced += bytes;
                self.kept.entry(newest.number).and_modify(|kept| kept.bytes = current.synced);
                Ok(Ok(Commit::Durable))
            }
            Err(cause) if is_full(&cause) => {
                let cut = self.disk.truncate(&mut current.file, current.synced);
                Ok(cut.map(|()| Commit::Full).map_err(|_| Closed))
            }
            Err(_) => Ok(Err(Closed)),
        }
    }

    /// A new segment, durable up to what it knows of those before; `None` when there is no room for it.
    fn begin_segment(
        &mut self,
        made_ns: u64,
        checkpoint: &[Body],
    ) -> Result<Option<Current<D::File>>, Error> {
        let mut id = [0; 32];
        let mut draw = |bytes: &mut [u8]| {
            self.randomness.fill(bytes).map_err(Error::io("draw randomness for", "segment"))
        };
        draw(&mut id)?;
        let (number, store, before) = match &self.newest {
            Some(newest) => (newest.number + 1, newest.store, newest.before),
            None => {
                let mut store = [0; 16];
                draw(&mut store)?;
                (0, store, Before::default())
            }
        };
        let oldest = self.oldest_kept(number, made_ns);
        let (key, sector_bytes) = (self.keys.newest().0, self.limits.sector_bytes);
        let segment = Segment::new(
            Header { sector_bytes, key, id, store, number, oldest, before, made_ns },
            &self.keys,
        );
        let spans = self.newest.iter().flat_map(|newest| newest.index.bodies());
        let known: Vec<_> =
            checkpoint.iter().map(Body::to_bytes).chain(spans.map(|span| span.to_bytes())).collect();
        let Birth { bytes, end, chain, next_index } = birth(&segment, &known, self.limits.group_bytes_max);
        let Some(file) = self.begin_file(number, &bytes)? else { return Ok(None) };
        let before = Before { id, end, chain };
        self.newest = Some(Newest { number, store, before, index: Index::default() });
        let born = bytes.len() as u64;
        self.kept.insert(number, Kept { bytes: born, made_ns });
        self.remove_before(oldest);
        Ok(Some(Current { file, segment, born, synced: born, next_index }))
    }

    /// The oldest segment that is kept when segment `number` is begun at `now_ns`.
    fn oldest_kept(&self, number: u64, now_ns: u64) -> u64 {
        let mut bytes: u64 =
            self.kept.values().map(|kept| kept.bytes).sum::<u64>() + self.limits.segment_bytes_max;
        let ends = self.kept.values().skip(1).map(|next| next.made_ns).chain([now_ns]);
        for ((&kept_number, kept), ended_ns) in self.kept.iter().zip(ends) {
            let is_old = now_ns.saturating_sub(ended_ns) > self.limits.retain_ns_max;
            if bytes <= self.limits.retain_bytes_max && !is_old {
                return kept_number;
            }
            bytes -= kept.bytes;
        }
        number
    }

    /// Removes what is not kept. A file that cannot be removed is tried again with the next segment.
    fn remove_before(&mut self, oldest: u64) {
        while let Some((&number, _)) = self.kept.first_key_value().filter(|(number, _)| **number < oldest) {
            if self.disk.remove(&segment::file_name(number)).is_err() {
                return;
            }
            self.kept.remove(&number);
        }
    }

    /// Writes and syncs a segment's begin under a temporary name, then gives it its own.
    fn begin_file(&mut self, number: u64, bytes: &[u8]) -> Result<Option<D::File>, Error> {
        let name = segment::file_name(number);
        let unborn = name.replace(".seg", UNBORN);
        let mut file = match self.disk.create(&unborn) {
            Err(cause) if is_full(&cause) => return Ok(None),
            created => created.map_err(Error::io("create", unborn.clone()))?,
        };
        if let Err(cause) = self.disk.append(&mut file, bytes) {
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

/// The bytes with which a segment begins.
struct Birth {
    bytes: Vec<u8>,
    /// Where the last group in them ends.
    end: u64,
    chain: Chain,
    next_index: u64,
}

/// A segment's header, and `known` in groups of about `group_bytes_max`.
fn birth(segment: &Segment, known: &[Zeroizing<Vec<u8>>], group_bytes_max: usize) -> Birth {
    let (end, chain) = (segment::HEADER_BYTES as u64, segment.chain());
    let mut birth = Birth { bytes: segment.header_sector(), end, chain, next_index: 0 };
    let mut rest = known;
    while !rest.is_empty() {
        let mut bytes = 0;
        let is_over = |body: &Zeroizing<Vec<u8>>| {
            bytes += body.len();
            bytes > group_bytes_max
        };
        let count = rest.iter().position(is_over).unwrap_or(rest.len()).max(1);
        let (bodies, behind) = rest.split_at(count);
        birth.end = birth.bytes.len() as u64 + segment::group_bytes(bodies);
        birth.chain = segment.seal_group(birth.next_index, bodies, &birth.chain, &mut birth.bytes);
        birth.next_index += count as u64;
        rest = behind;
    }
    birth
}

fn corrupt(number: u64, at: u64, what: Corruption) -> Error {
    Error::Corrupt { file: segment::file_name(number), at, what }
}

/// The numbers of the segments among `names`, in order.
pub(crate) fn numbers(names: &[String]) -> Vec<u64> {
    let mut numbers: Vec<u64> = names.iter().filter_map(|name| segment::file_number(name)).collect();
    numbers.sort_unstable();
    numbers
}

/// The header of segment `number`.
pub(crate) fn head<D: Disk>(disk: &D, number: u64, keys: &StoreKeys) -> Result<Segment, Error> {
    let name = segment::file_name(number);
    let bytes = disk.read_at(&name, 0, segment::HEADER_BYTES as u64).map_err(Error::io("read", name))?;
    let segment = Segment::open(&bytes, keys).map_err(|what| corrupt(number, 0, what))?;
    let is_named = segment.header().number == number;
    if is_named { Ok(segment) } else { Err(corrupt(number, 0, Corruption::Chain)) }
}

/// The headers of the segments with these numbers: all that are kept, each behind the one before it, which is as long as it
/// was.
pub(crate) fn row<D: Disk>(disk: &D, numbers: &[u64], keys: &StoreKeys) -> Result<Vec<Segment>, Error> {
    let segments: Vec<Segment> =
        numbers.iter().map(|&number| head(disk, number, keys)).collect::<Result<_, Error>>()?;
    let oldest = segments.last().map_or(0, |newest| newest.header().oldest);
    if let Some((number, _)) = (oldest..).zip(numbers).find(|&(expected, &found)| expected != found) {
        return Err(Error::SegmentMissing { number });
    }
    let is_alone = |first: &Segment| first.header().number > 0 || first.header().before == Before::default();
    if !segments.first().is_none_or(is_alone) {
        return Err(corrupt(0, 0, Corruption::Chain));
    }
    for (segment, next) in segments.iter().zip(segments.iter().skip(1)) {
        if let Some((number, at, what)) = fault(segment.header(), next.header()) {
            return Err(corrupt(number, at, what));
        }
        let (name, end) = (segment::file_name(segment.header().number), next.header().before.end);
        let last = disk.read_at(&name, end.saturating_sub(1), 1).map_err(Error::io("read", name))?;
        if last.is_empty() {
            return Err(corrupt(segment.header().number, end, Corruption::Length));
        }
    }
    Ok(segments)
}

/// What is wrong when `next` follows `segment`: the segment, its byte, what.
pub(crate) fn fault(segment: &Header, next: &Header) -> Option<(u64, u64, Corruption)> {
    let follows =
        next.number == segment.number + 1 && next.before.id == segment.id && next.store == segment.store;
    (!follows).then_some((next.number, 0, Corruption::Chain))
}

/// Reads a segment's groups: those before where `next` says that it ended, or all of them.
pub(crate) fn load<D: Disk>(disk: &D, segment: &Segment, next: Option<&Before>) -> Result<Scan, Error> {
    let number = segment.header().number;
    let name = segment::file_name(number);
    let file = disk.read(&name, SEGMENT_FILE_BYTES_MAX).map_err(Error::io("read", name))?;
    let scan = segment.scan(&file, next.map(|next| next.end));
    if scan.tail == Tail::Damaged || next.is_some_and(|next| next.chain != scan.chain) {
        return Err(corrupt(number, scan.end, Corruption::Group));
    }
    Ok(scan)
}

#[cfg(test)]
mod tests {
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

        /// Commits a frame of a node, at `now_ns`.
        fn commit(&mut self, node: u32, counter: u32, now_ns: u64) -> Result<Commit, Error> {
            assert_eq!(self.replay.admit(node, 0, counter), Admission::New);
            let Rig { store, replay } = self;
            let known = || replay.checkpoint().into_iter().map(Body::Counters).collect();
            let commit = store.commit(&[frame(node, counter).to_bytes()], now_ns, known);
            match commit {
                Ok(Commit::Durable) => self.replay.commit(),
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
                assert_eq!(
                    (file.as_str(), *what),
                    (&*segment::file_name(name), Corruption::Group),
                    "at {at}"
                );
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
        assert_eq!(Rig::open(&disk, 2).unwrap().known(), (0..18).collect::<Vec<_>>());
        assert_eq!(verify_disk(&disk, master()).unwrap().torn, 1);
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
    #[should_panic(expected = "a store that failed is used again")]
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
}
