//! Reading a store without changing it: its records for a person, and its state for an operator.
//!
//! A store may be read while a server appends to it: what is durable does not change, and a group that is
//! being written reads as a torn tail, or is not seen yet. Nothing is locked, settled or removed.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::ops::RangeInclusive;
use std::path::Path;

use crate::disk::{Disk, RealDisk};
use crate::error::{Corruption, Error};
use crate::keys::StoreKeys;
use crate::limits::SEGMENT_FILE_BYTES_MAX;
use crate::record::{Body, Counters, Record, Span};
use crate::replay::{CounterSet, Replay};
use crate::segment::{self, Before, Scan, Segment, Tail};
use crate::store::{fault, head, load, numbers, row};

/// How much of a segment is read at a time for what it knows of the one before it.
const BIRTH_BYTES: u64 = 1 << 20;

/// Which records are wanted. The default is all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only this node.
    pub node: Option<u32>,
    /// Only this cell.
    pub cell: Option<u16>,
    /// Only this epoch.
    pub epoch: Option<u8>,
    /// Only frames whose first sample's nominal instant lies in this range, in picoseconds of cell time.
    pub sample_ps: Option<RangeInclusive<u64>>,
    /// Only frames that arrived at the server in this range, in nanoseconds since 1970.
    pub arrived_ns: Option<RangeInclusive<u64>>,
}

impl Filter {
    /// True when `record` is wanted.
    pub fn takes(&self, record: &Record) -> bool {
        self.node.is_none_or(|node| node == record.node)
            && self.cell.is_none_or(|cell| cell == record.batch.cell)
            && self.epoch.is_none_or(|epoch| epoch == record.epoch)
            && self.sample_ps.as_ref().is_none_or(|range| range.contains(&record.sample_ps))
            && self.arrived_ns.as_ref().is_none_or(|range| range.contains(&record.arrived_ns))
    }
}

impl Filter {
    /// True when a segment that holds this of a node may hold what is wanted.
    fn may_take(&self, span: &Span) -> bool {
        let meets = |wanted: &Option<RangeInclusive<u64>>, (from, to): (u64, u64)| {
            wanted.as_ref().is_none_or(|wanted| *wanted.start() <= to && from <= *wanted.end())
        };
        self.node.is_none_or(|node| node == span.node)
            && meets(&self.sample_ps, span.sample_ps)
            && meets(&self.arrived_ns, span.arrived_ns)
    }
}

/// Reads the records of the store in folder `path`, in the order in which they were stored.
///
/// # Errors
/// [`Error::Io`], [`Error::Corrupt`] or [`Error::SegmentMissing`]; the iterator itself ends after its first error.
pub fn read(path: &Path, keys: impl Into<StoreKeys>, filter: Filter) -> Result<Records<RealDisk>, Error> {
    let disk = RealDisk::open(path).map_err(Error::io("open folder", path.display().to_string()))?;
    Records::new(disk, keys, filter)
}

/// The records of a store. One segment at a time is in memory.
#[derive(Debug)]
pub struct Records<D> {
    disk: D,
    keys: StoreKeys,
    filter: Filter,
    segments: VecDeque<Segment>,
    ready: VecDeque<Record>,
}

impl<D: Disk> Records<D> {
    /// Reads from any disk.
    ///
    /// # Errors
    /// As [`read`].
    pub fn new(disk: D, keys: impl Into<StoreKeys>, filter: Filter) -> Result<Records<D>, Error> {
        let keys = keys.into();
        let segments = kept(&disk, &keys)?.into();
        Ok(Records { disk, keys, filter, segments, ready: VecDeque::new() })
    }

    /// True when the next segment says that this one has nothing of what is wanted.
    fn is_passed_over(&self, next: Option<&Segment>) -> Result<bool, Error> {
        let Some(next) = next.filter(|_| self.filter != Filter::default()) else { return Ok(false) };
        Ok(!spans(&self.disk, next)?.iter().any(|span| self.filter.may_take(span)))
    }

    fn fill(&mut self, segment: &Segment) -> Result<(), Error> {
        let next = self.segments.front();
        if self.is_passed_over(next)? {
            return Ok(());
        }
        let scan = match load(&self.disk, segment, next.map(|next| &next.header().before)) {
            // Removed since the store was listed: its time was over.
            Err(Error::Io { cause, .. })
                if cause.kind() == io::ErrorKind::NotFound && self.is_removed(segment)? =>
            {
                return Ok(());
            }
            scan => scan?,
        };
        for group in &scan.groups {
            for bytes in &group.bodies {
                match Body::parse(bytes) {
                    Some(Body::Frame(record)) if self.filter.takes(&record) => self.ready.push_back(record),
                    Some(_) => {}
                    None => {
                        let file = segment::file_name(segment.header().number);
                        return Err(Error::Corrupt { file, at: group.at, what: Corruption::Body });
                    }
                }
            }
        }
        Ok(())
    }

    fn is_removed(&self, segment: &Segment) -> Result<bool, Error> {
        let kept = kept(&self.disk, &self.keys)?;
        Ok(kept.first().is_some_and(|oldest| oldest.header().number > segment.header().number))
    }
}

/// The headers of the segments that are kept.
fn kept<D: Disk>(disk: &D, keys: &StoreKeys) -> Result<Vec<Segment>, Error> {
    let names = disk.list().map_err(Error::io("list", "store"))?;
    let mut numbers = numbers(&names);
    if let Some(&newest) = numbers.last() {
        let oldest = head(disk, newest, keys)?.header().oldest;
        numbers.retain(|&number| number >= oldest);
    }
    row(disk, &numbers, keys)
}

/// What a segment says that the one before it holds.
fn spans<D: Disk>(disk: &D, segment: &Segment) -> Result<Vec<Span>, Error> {
    let name = segment::file_name(segment.header().number);
    let mut bytes_max = BIRTH_BYTES;
    loop {
        let bytes = disk.read_at(&name, 0, bytes_max).map_err(Error::io("read", name.clone()))?;
        let is_all = (bytes.len() as u64) < bytes_max;
        let scan = segment.scan(&bytes, None);
        let bodies =
            scan.groups.iter().flat_map(|group| &group.bodies).filter_map(|bytes| Body::parse(bytes));
        let (mut spans, mut is_over) = (Vec::new(), false);
        for body in bodies {
            match body {
                Body::Span(span) => spans.push(span),
                Body::Frame(_) => is_over = true,
                Body::Counters(_) | Body::Epoch(_) | Body::Reservation(_) | Body::Change(_) => {}
            }
        }
        if is_over || is_all {
            return Ok(spans);
        }
        bytes_max *= 2;
    }
}

impl<D: Disk> Iterator for Records<D> {
    type Item = Result<Record, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(record) = self.ready.pop_front() {
                return Some(Ok(record));
            }
            let segment = self.segments.pop_front()?;
            if let Err(error) = self.fill(&segment) {
                self.segments.clear();
                self.ready.clear();
                return Some(Err(error));
            }
        }
    }
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
    /// Segments that end in bytes that were never acknowledged (a crash, or a server that is writing).
    pub torn: u64,
    /// Bytes of all segment files.
    pub bytes: u64,
    /// Everything that is damaged: file, byte, what.
    pub corrupt: Vec<(String, u64, Corruption)>,
    /// Numbers of segments that are missing before others.
    pub missing: Vec<RangeInclusive<u64>>,
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
                    Some(Body::Epoch(_) | Body::Span(_)) => {}
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
