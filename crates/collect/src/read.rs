//! Reading a store without changing it: its records for a person, and its state for an operator.
//!
//! A store may be read while a server appends to it: what is durable does not change, and a group that is
//! being written reads as a torn tail, or is not seen yet. Nothing is locked, settled or removed.

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::path::Path;

use cipher::StoreMaster;

use crate::disk::{Disk, RealDisk};
use crate::error::{Corruption, Error};
use crate::record::{Body, Record};
use crate::replay::Replay;
use crate::segment::{self, Segment, Tail};
use crate::store::{Link, first_fault, load, numbers};

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

/// Reads the records of the store in folder `path`, in the order in which they were stored.
///
/// # Errors
/// [`Error::Io`] or [`Error::SegmentMissing`]; the iterator itself ends after its first error.
pub fn read(path: &Path, master: StoreMaster, filter: Filter) -> Result<Records<RealDisk>, Error> {
    let disk = RealDisk::open(path).map_err(Error::io("open folder", path.display().to_string()))?;
    Records::new(disk, master, filter)
}

/// The records of a store. One segment at a time is in memory.
#[derive(Debug)]
pub struct Records<D> {
    disk: D,
    master: StoreMaster,
    filter: Filter,
    numbers: VecDeque<u64>,
    before: Option<Link>,
    ready: VecDeque<Record>,
}

impl<D: Disk> Records<D> {
    /// Reads from any disk.
    ///
    /// # Errors
    /// [`Error::Io`] or [`Error::SegmentMissing`].
    pub fn new(disk: D, master: StoreMaster, filter: Filter) -> Result<Records<D>, Error> {
        let names = disk.list().map_err(Error::io("list", "store"))?;
        let numbers = numbers(&names)?.into();
        Ok(Records { disk, master, filter, numbers, before: None, ready: VecDeque::new() })
    }

    fn fill(&mut self, number: u64) -> Result<(), Error> {
        let (segment, scan) = load(&self.disk, number, &self.master, self.before.as_ref())?;
        for group in &scan.groups {
            for bytes in &group.bodies {
                match Body::parse(bytes) {
                    Some(Body::Frame(record)) if self.filter.takes(&record) => self.ready.push_back(record),
                    Some(_) => {}
                    None => {
                        let file = segment::file_name(number);
                        return Err(Error::Corrupt { file, at: group.at, what: Corruption::Body });
                    }
                }
            }
        }
        self.before = Some(Link::new(&segment, scan.end));
        Ok(())
    }
}

impl<D: Disk> Iterator for Records<D> {
    type Item = Result<Record, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(record) = self.ready.pop_front() {
                return Some(Ok(record));
            }
            let number = self.numbers.pop_front()?;
            if let Err(error) = self.fill(number) {
                self.numbers.clear();
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
pub fn verify(path: &Path, master: &StoreMaster) -> Result<Verification, Error> {
    let disk = RealDisk::open(path).map_err(Error::io("open folder", path.display().to_string()))?;
    verify_disk(&disk, master)
}

/// [`verify`] for any disk.
///
/// # Errors
/// As there.
pub fn verify_disk<D: Disk>(disk: &D, master: &StoreMaster) -> Result<Verification, Error> {
    let mut found = Verification::default();
    let mut replay = Replay::new(usize::MAX);
    let mut before: Option<Link> = None;
    let names = disk.list().map_err(Error::io("list", "store"))?;
    let mut numbers: Vec<u64> = names.iter().filter_map(|name| segment::file_number(name)).collect();
    numbers.sort_unstable();
    let mut expected = 0;
    for number in numbers {
        if expected < number {
            found.missing.push(expected..=number - 1);
            before = None;
        }
        expected = number.saturating_add(1);
        let name = segment::file_name(number);
        let file = disk.read(&name, u32::MAX.into()).map_err(Error::io("read", name.clone()))?;
        found.bytes += file.len() as u64;
        let segment = match Segment::open(&file, master) {
            Ok(segment) => segment,
            Err(what) => {
                found.corrupt.push((name, 0, what));
                before = None;
                continue;
            }
        };
        found.segments += 1;
        // Behind a gap or a lost header there is nothing to compare with.
        found.corrupt.extend(match &before {
            Some(before) => before.check(&segment, number),
            None if number == 0 => first_fault(&segment, number),
            None => None,
        });
        let scan = segment.scan(&file);
        match scan.tail {
            Tail::Clean => {}
            Tail::Torn => found.torn += 1,
            Tail::Damaged => found.corrupt.push((name.clone(), scan.end, Corruption::Group)),
        }
        found.groups += scan.groups.len() as u64;
        for group in &scan.groups {
            for bytes in &group.bodies {
                match Body::parse(bytes) {
                    Some(Body::Frame(record)) => {
                        found.records += 1;
                        if !replay.restore(record.node, record.epoch, record.counter) {
                            found.corrupt.push((name.clone(), group.at, Corruption::Repeated));
                        }
                    }
                    Some(Body::Reservation(_)) => found.reservations += 1,
                    Some(Body::Change(_)) => found.changes += 1,
                    None => found.corrupt.push((name.clone(), group.at, Corruption::Body)),
                }
            }
        }
        before = Some(Link::new(&segment, scan.end));
    }
    // A damaged group is seen from its own segment and from the one behind.
    found.corrupt.dedup();
    Ok(found)
}
