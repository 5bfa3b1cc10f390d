//! Whether a store is whole: every segment, group and record, and what a segment says of those before it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::path::Path;

use crate::anchor::Anchor;
use crate::disk::{Disk, RealDisk};
use crate::error::{Corruption, Error};
use crate::keys::StoreKeys;
use crate::limits::SEGMENT_FILE_BYTES_MAX;
use crate::record::{Body, Counters};
use crate::replay::{CounterSet, Replay};
use crate::segment::{self, Before, Scan, Segment, Tail};
use crate::store::{fault, head, numbers};

/// The numbers of the keys under which the segments of the store in folder `path` are, and of stores in folders below it.
///
/// # Errors
/// [`Error::Io`], [`Error::Corrupt`].
pub fn keys_in_use(path: &Path, keys: &StoreKeys) -> Result<BTreeSet<u32>, Error> {
    let name = || path.display().to_string();
    let disk = RealDisk::open(path).map_err(Error::io("open folder", name()))?;
    let names = disk.list().map_err(Error::io("list", name()))?;
    let mut in_use = BTreeSet::new();
    for number in numbers(&names) {
        in_use.insert(head(&disk, number, keys)?.header().key);
    }
    for below in names.iter().map(|name| path.join(name)).filter(|below| below.is_dir()) {
        in_use.extend(keys_in_use(&below, keys)?);
    }
    Ok(in_use)
}

/// What [`verify`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// Segments with a whole header.
    pub segments: u64,
    /// Whole groups.
    pub groups: u64,
    /// Stored frames.
    pub records: u64,
    /// Reservations of downlink counters.
    pub reservations: u64,
    /// Changes of a node's epoch.
    pub changes: u64,
    /// Orders, each as often as it changed.
    pub orders: u64,
    /// Segments that end in bytes that were never acknowledged (a crash, or a server that is writing).
    pub torn: u64,
    /// Bytes of all segment files.
    pub bytes: u64,
    /// Everything that is damaged: file, byte, what.
    pub corrupt: Vec<(String, u64, Corruption)>,
    /// Numbers of segments that are missing before others.
    pub missing: Vec<RangeInclusive<u64>>,
}

/// Whether the store in folder `path` has come as far as `anchor`.
///
/// # Errors
/// [`Error::RolledBack`], and those of reading.
pub fn check_anchor(path: &Path, keys: &StoreKeys, anchor: &Anchor) -> Result<(), Error> {
    let disk = RealDisk::open(path).map_err(Error::io("open folder", path.display().to_string()))?;
    crate::anchor::check(&disk, keys, anchor)
}

/// Scans the store in folder `path` to its end, whatever it meets on the way.
///
/// # Errors
/// [`Error::Io`] when a file cannot be read; damage is no error here.
pub fn verify(path: &Path, keys: impl Into<StoreKeys>) -> Result<Verification, Error> {
    let disk = RealDisk::open(path).map_err(Error::io("open folder", path.display().to_string()))?;
    verify_disk(&disk, keys)
}

/// [`verify`] for any disk.
///
/// # Errors
/// As there.
pub fn verify_disk<D: Disk>(disk: &D, keys: impl Into<StoreKeys>) -> Result<Verification, Error> {
    let keys = keys.into();
    let mut found = Verification::default();
    let mut replay = Replay::new(usize::MAX);
    let names = disk.list().map_err(Error::io("list", "store"))?;
    let numbers = numbers(&names);
    let mut expected = match numbers.last().map(|&newest| head(disk, newest, &keys)) {
        Some(Ok(newest)) => newest.header().oldest,
        Some(Err(_)) | None => numbers.first().copied().unwrap_or(0),
    };
    let open = |number: u64| {
        let name = segment::file_name(number);
        let file = disk.read(&name, SEGMENT_FILE_BYTES_MAX).map_err(Error::io("read", name))?;
        Ok::<_, Error>(Segment::open(&file, &keys).map(|segment| (segment, file)))
    };
    let mut before: Option<Segment> = None;
    let wanted: Vec<u64> = numbers.into_iter().filter(|&number| number >= expected).collect();
    for (place, &number) in wanted.iter().enumerate() {
        if expected < number {
            found.missing.push(expected..=number - 1);
            before = None;
        }
        expected = number.saturating_add(1);
        let (segment, file) = match open(number)? {
            Ok(opened) => opened,
            Err(what) => {
                found.corrupt.push((segment::file_name(number), 0, what));
                before = None;
                continue;
            }
        };
        found.bytes += file.len() as u64;
        found.segments += 1;
        // Behind a gap or a lost header there is nothing to compare with.
        let header = segment.header();
        let chained = before.as_ref().and_then(|before| fault(before.header(), header));
        let alone = header.number != number || (number == 0 && header.before != Before::default());
        let fault = chained.or_else(|| alone.then_some((number, 0, Corruption::Chain)));
        found.corrupt.extend(fault.map(|(number, at, what)| (segment::file_name(number), at, what)));
        let next = wanted.get(place + 1).filter(|&&next| next == number + 1);
        let next = next.and_then(|&next| head(disk, next, &keys).ok()).map(|next| next.header().before);
        let scan = found.end(&segment, &file, next.filter(|next| next.id == header.id));
        found.groups(&segment, &scan, before.is_none(), &mut replay);
        before = Some(segment);
    }
    Ok(found)
}

impl Verification {
    /// Where a segment's groups end, and whether that is where `next` says that they do.
    fn end(&mut self, segment: &Segment, file: &[u8], next: Option<Before>) -> Scan {
        let scan = segment.scan(file, next.map(|next| next.end));
        let is_cut = next.is_some_and(|next| (file.len() as u64) < next.end);
        let is_other = next.is_some_and(|next| next.chain != scan.chain);
        let fault = match scan.tail {
            _ if is_cut => Some((file.len() as u64, Corruption::Length)),
            Tail::Clean if !is_other => None,
            Tail::Torn => {
                self.torn += 1;
                None
            }
            Tail::Clean | Tail::Damaged => Some((scan.end, Corruption::Group)),
        };
        let name = segment::file_name(segment.header().number);
        self.corrupt.extend(fault.map(|(at, what)| (name, at, what)));
        scan
    }

    /// What a segment's groups hold; of the first one that is there, all that it knows of those before is believed.
    fn groups(&mut self, segment: &Segment, scan: &Scan, is_first: bool, replay: &mut Replay) {
        self.groups += scan.groups.len() as u64;
        let name = segment::file_name(segment.header().number);
        let mut known = Known::default();
        for group in &scan.groups {
            let mut note = |what| self.corrupt.push((name.clone(), group.at, what));
            for bytes in &group.bodies {
                match Body::parse(bytes) {
                    Some(Body::Frame(record)) => {
                        known.check(replay, is_first, &mut note);
                        self.records += 1;
                        if !replay.restore(record.node, record.epoch, record.counter) {
                            note(Corruption::Repeated);
                        }
                    }
                    Some(Body::Counters(counters)) => {
                        if is_first {
                            replay.restore_ranges(&counters);
                        }
                        known.counters.push(counters);
                    }
                    Some(Body::Reservation(_)) => self.reservations += 1,
                    Some(Body::Change(_)) => self.changes += 1,
                    Some(Body::Order(_)) => self.orders += 1,
                    Some(Body::Epoch(_) | Body::Span(_) | Body::Lease(_) | Body::Clock(_)) => {}
                    None => note(Corruption::Body),
                }
            }
        }
    }
}

/// The counters with which a segment begins.
#[derive(Default)]
struct Known {
    counters: Vec<Counters>,
    is_checked: bool,
}

impl Known {
    /// Compares them once with what the segments before it hold.
    fn check(&mut self, replay: &Replay, is_first: bool, note: &mut impl FnMut(Corruption)) {
        if std::mem::replace(&mut self.is_checked, true) || is_first {
            return;
        }
        let mut known = Replay::new(usize::MAX);
        let are_apart = self.counters.iter().all(|counters| known.restore_ranges(counters));
        let said: BTreeMap<(u32, u8), &CounterSet> = known.sets().collect();
        let mut held: BTreeMap<(u32, u8), CounterSet> =
            replay.sets().map(|(key, set)| (key, set.clone())).collect();
        for (key, set) in &mut held {
            // What was forgotten there is known here.
            set.forget_below(said.get(key).map_or(0, |said| said.floor()));
        }
        if !are_apart || !said.into_iter().eq(held.iter().map(|(&key, set)| (key, set))) {
            note(Corruption::Checkpoint);
        }
    }
}
