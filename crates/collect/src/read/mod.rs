//! Reading a store without changing it: its records for a person, and its state for an operator.
//!
//! A store may be read while a server appends to it: what is durable does not change, and a group that is
//! being written reads as a torn tail, or is not seen yet. Nothing is locked, settled or removed. Owns one log; [`logs`] has
//! several of them, and [`mod@verify`] scans one to its end whatever it meets.

pub mod logs;
pub mod verify;

use std::collections::VecDeque;
use std::io;
use std::ops::RangeInclusive;
use std::path::Path;

pub use self::verify::{Verification, check_anchor, keys_in_use, verify, verify_disk};

use crate::disk::{Disk, RealDisk};
use crate::error::{Corruption, Error};
use crate::keys::StoreKeys;
use crate::limits::LISTINGS_MAX;
use crate::record::{Body, Record, Span};
use crate::segment::{self, Segment};
use crate::store::{head, load, numbers, row};

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
    read: Option<Read>,
    /// The last segment.
    last: Option<Segment>,
    /// Segments that were read or passed over, and those that are to be.
    progress: (u64, u64),
}

/// How far a store was read.
#[derive(Clone, Copy, Debug)]
struct Read {
    /// The number of the last segment.
    number: u64,
    /// Where its last group that was read ends, in bytes.
    end: u64,
    /// Alignment of its groups in bytes.
    sector_bytes: usize,
    /// Whether there was a later segment: it will not grow any more.
    is_closed: bool,
}

impl<D: Disk> Records<D> {
    /// Reads from any disk.
    ///
    /// # Errors
    /// As [`read`].
    pub fn new(disk: D, keys: impl Into<StoreKeys>, filter: Filter) -> Result<Records<D>, Error> {
        let keys = keys.into();
        let segments: VecDeque<Segment> = kept(&disk, &keys)?.into();
        let progress = (0, segments.len() as u64);
        let ready = VecDeque::new();
        Ok(Records { disk, keys, filter, segments, ready, read: None, last: None, progress })
    }

    /// Segments that were read, and those that there are.
    pub fn progress(&self) -> (u64, u64) {
        self.progress
    }

    /// Looks for what was stored since the records ended: the iterator goes on with it. Returns how many segments were
    /// removed before they were read to their end, because their time was over.
    ///
    /// # Errors
    /// As [`read`].
    pub fn renew(&mut self) -> Result<u64, Error> {
        if self.read.is_some_and(|read| !read.is_closed) && !self.has_grown()? {
            return Ok(0);
        }
        let segments = match kept(&self.disk, &self.keys) {
            // Removed, or not yet whole, since the names were listed: the next look finds what there is then.
            Err(Error::Io { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => return Ok(0),
            segments => segments?,
        };
        let next = self.read.map_or(0, |read| read.number + u64::from(read.is_closed));
        let oldest = segments.first().map_or(next, |oldest| oldest.header().number);
        let removed = if self.read.is_some() { oldest.saturating_sub(next) } else { 0 };
        self.segments = segments.into_iter().filter(|segment| segment.header().number >= next).collect();
        self.progress.1 = self.progress.0 + self.segments.len() as u64;
        Ok(removed)
    }

    /// True when there is more behind what was read: a whole group in its segment, or a later segment.
    fn has_grown(&self) -> Result<bool, Error> {
        let (Some(read), Some(last)) = (self.read, &self.last) else { return Ok(true) };
        let (name, later) = (segment::file_name(read.number), segment::file_name(read.number + 1));
        let behind = segment::align(read.end, read.sector_bytes);
        let found = |name: &str, at, bytes_max| match self.disk.read_at(name, at, bytes_max) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
            found => found.map(Some).map_err(Error::io("read", name)),
        };
        if found(&later, 0, 1)?.is_some() {
            return Ok(true);
        }
        // When it was removed, there are others.
        let Some(head) = found(&name, behind, segment::GROUP_HEAD_BYTES as u64)? else { return Ok(true) };
        let Some(bytes) = segment::bytes_of_group(&head) else { return Ok(false) };
        Ok(found(&name, behind, bytes)?.is_none_or(|group| last.is_written(&group)))
    }

    /// True when the next segment says that this one has nothing of what is wanted.
    fn is_passed_over(&self, next: Option<&Segment>) -> Result<bool, Error> {
        let Some(next) = next.filter(|_| self.filter != Filter::default()) else { return Ok(false) };
        Ok(!spans(&self.disk, next)?.iter().any(|span| self.filter.may_take(span)))
    }

    fn fill(&mut self, segment: &Segment) -> Result<(), Error> {
        let next = self.segments.front();
        let (number, is_closed) = (segment.header().number, next.is_some());
        let sector_bytes = segment.header().sector_bytes;
        let from = self.read.filter(|read| read.number == number).map_or(0, |read| read.end);
        if self.is_passed_over(next)? {
            self.read = Some(Read { number, end: from, sector_bytes, is_closed });
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
        self.read = Some(Read { number, end: scan.end.max(from), sector_bytes, is_closed });
        for group in scan.groups.iter().filter(|group| group.at >= from) {
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

/// The headers of the segments that are kept. A segment that is removed between its name and its head is the writer going on:
/// the names are listed again, and are then others.
fn kept<D: Disk>(disk: &D, keys: &StoreKeys) -> Result<Vec<Segment>, Error> {
    for _ in 1..LISTINGS_MAX {
        match listed(disk, keys) {
            Err(Error::Io { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => {}
            segments => return segments,
        }
    }
    listed(disk, keys)
}

/// The same, as the folder was at one moment.
fn listed<D: Disk>(disk: &D, keys: &StoreKeys) -> Result<Vec<Segment>, Error> {
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
                Body::Counters(_)
                | Body::Epoch(_)
                | Body::Reservation(_)
                | Body::Change(_)
                | Body::Lease(_)
                | Body::Order(_)
                | Body::Clock(_) => {}
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
            self.progress.0 += 1;
            if let Err(error) = self.fill(&segment) {
                self.segments.clear();
                self.ready.clear();
                return Some(Err(error));
            }
            self.last = Some(segment);
        }
    }
}
