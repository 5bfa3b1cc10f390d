//! The log that the server is compared with: the same bytes, appended and synced by the same calls, and nothing else.
//!
//! It appends whole sectors from large pages, and writes over its oldest file, as the store does with a segment that it keeps
//! no more. Files that are removed would keep a disk busy that discards their blocks after the log has ended.

use std::path::Path;
use std::time::{Duration, Instant};

use collect::disk::{Disk, RealDisk, begin_direct};
use hdrhistogram::Histogram;
use selvedge::error::Error;

use super::gateway::{Message, Sealer, no_latencies};
use super::pace::{self, Schedule};
use super::{Bench, LOAD};

/// Bytes of a file, as of the store's segments.
const FILE_BYTES: usize = 64 << 20;
/// Files that are kept.
const FILES: u64 = 16;
/// Bytes of the files that are kept: a server that is compared with this log keeps as many, so that both write over what they
/// keep no more from there on.
pub const KEPT_BYTES: u64 = FILES * FILE_BYTES as u64;
/// What is appended is whole sectors of so many bytes, as of the store's.
const SECTOR_BYTES: usize = 4096;
/// Batches that are written again and again where the schedule counts.
const BATCHES: usize = 64;

/// From when a batch was due until this log has it, which syncs each alone: what a schedule takes without a server, and without
/// groups.
///
/// # Errors
/// The environment's.
pub fn latencies(bench: &Bench, schedule: Schedule) -> Result<Histogram<u64>, Error> {
    let mut sealers = Sealer::all(LOAD, bench.seed, 1);
    let messages: Vec<Message> = (0..BATCHES).map(|_| sealers[0].seal()).collect();
    let mut log = Bare::create(&bench.folder.path().join("bare-latency"))?;
    let (mut turns, mut times) = (messages.iter().cycle(), no_latencies());
    let bar = bench.progress("bare log on the same schedule", schedule.count);
    pace::keep(pace::now_ns() + pace::LEAD_NS, schedule, |due_ns| {
        log.append(&[turns.next().expect("they go round")])?;
        times.saturating_record(pace::now_ns() - due_ns);
        bar.inc(1);
        bench.launcher.check_interrupted()
    })?;
    bar.finish_and_clear();
    Ok(times)
}

/// A log on the disk.
pub struct Bare {
    disk: RealDisk,
    file: <RealDisk as Disk>::File,
    bytes: usize,
    number: u64,
    /// What is appended next, kept for its memory.
    group: Vec<u8>,
}

impl Bare {
    /// An empty one in a new folder at `path`.
    ///
    /// # Errors
    /// The environment's.
    pub fn create(path: &Path) -> Result<Bare, Error> {
        let mut disk = RealDisk::lock(path)?;
        let file = disk.create("0").map_err(|cause| Error::io("write", path, cause))?;
        Ok(Bare { disk, file, bytes: 0, number: 0, group: Vec::new() })
    }

    /// Appends all messages, each group as soon as it has so many bytes, and syncs it; returns how long that took.
    ///
    /// # Errors
    /// The environment's.
    pub fn write<'a>(
        &mut self,
        messages: impl Iterator<Item = &'a Message>,
        sync_bytes: usize,
    ) -> Result<Duration, Error> {
        let (begin, mut group, mut bytes) = (Instant::now(), Vec::new(), 0);
        let mut messages = messages.peekable();
        while let Some(message) = messages.next() {
            group.push(message);
            bytes += message.bytes.len();
            if bytes >= sync_bytes || messages.peek().is_none() {
                self.append(&group)?;
                group.clear();
                bytes = 0;
            }
        }
        Ok(begin.elapsed())
    }

    /// Appends these and syncs them.
    ///
    /// # Errors
    /// The environment's.
    pub fn append(&mut self, messages: &[&Message]) -> Result<(), Error> {
        let bytes: usize = messages.iter().map(|message| message.bytes.len()).sum();
        let bytes = bytes.next_multiple_of(SECTOR_BYTES);
        let first = begin_direct(&mut self.group, bytes);
        messages.iter().for_each(|message| self.group.extend_from_slice(&message.bytes));
        self.group.resize(first + bytes, 0);
        self.store(first).map_err(|cause| Error::io("write", Path::new("bare"), cause))
    }

    /// Makes the group durable, which begins there in its memory.
    fn store(&mut self, first: usize) -> std::io::Result<()> {
        let group = &self.group[first..];
        if self.bytes + group.len() > FILE_BYTES {
            self.number += 1;
            let name = (self.number % FILES).to_string();
            self.file =
                if self.number < FILES { self.disk.create(&name)? } else { self.disk.reuse(&name)? };
            self.bytes = 0;
        }
        self.disk.append(&mut self.file, group)?;
        self.disk.sync(&mut self.file)?;
        self.bytes += group.len();
        Ok(())
    }
}
