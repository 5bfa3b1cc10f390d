//! The bridge's spool: every frame that was accepted from the cell, on disk until the server's receipt frees it.
//!
//! ```text
//! <sequence, 16 hex digits>.spool          one file after another; only the newest grows
//!   record:  0 1 kind | 1 4 length of body | 5 4 group | 9 n body | 9+n 4 CRC-32C of sequence 8 and all before
//!   0        nothing more in this sector of 4096 bytes: what was synced shares none with what follows
//!   1 state  identity 8 | session 8 | next batch 8 | counted 4                   (as superframe + 1; 0 = none)
//!   2 frame  superframe 4 | slot 1 | received_ps 8 | frame
//!   3 close  superframe 4 | batch 8                  (batch 0: its frames stay open, for the batch of a later one)
//!   4 freed  superframe 4 | batch 8
//! ```
//! Little-endian. A group is what one sync makes durable; the field is the number of the sector in which it begins.
//! Every file begins with a state record and ends between superframes, so that a file whose batches are all freed can
//! be removed. Frames are sealed by their nodes; nothing here is secret.
//!
//! Owns the files, and when they are durable. Leaves what the records mean to `contents`, their bytes to `record`,
//! sealing, sending and sockets to its neighbours.
//!
//! Invariant: a superframe is counted only after every frame of it was synced, and its frames leave the disk only
//! after a receipt named their batch. Losing a `freed` record costs a repetition, which the server recognises.
//!
//! Invariant: the files that are there are the newest ones without a gap, and every `freed` record of a batch is
//! durable before a file that holds a part of it is removed. So a batch comes back whole or not at all, and a number
//! never stands for two contents.
//!
//! Invariant: a spool that is seen to lack something that was counted is not opened, and none of its files is touched.
//! Bytes that are no record may only end a file: then they were being written, and nothing was told about them. That
//! cannot be told from later damage to the last group, until a file is begun behind it, which says what it follows.

use super::contents::{Contents, Pending};
use super::record::{Frame, Record, State};
use crate::error::SpoolFault;
use crate::limits::{SPOOL_BYTES_MAX, SPOOL_FILE_BYTES, SPOOL_SECTOR_BYTES};
use collect::disk::Disk;
use std::collections::BTreeMap;

/// How much a spool holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Bytes of all its files together; more than that of one file and a batch.
    pub bytes_max: u64,
    /// Bytes after which a new file is begun.
    pub file_bytes: u64,
}

impl Default for Capacity {
    fn default() -> Self {
        Capacity { bytes_max: SPOOL_BYTES_MAX, file_bytes: SPOOL_FILE_BYTES }
    }
}

/// The spool.
pub struct Spool<D: Disk> {
    disk: D,
    file: D::File,
    sequence: u64,
    file_bytes: u64,
    /// Where the group begins that is synced next.
    group_at: u64,
    /// Bytes of every file that is still there.
    files: BTreeMap<u64, u64>,
    contents: Contents,
    capacity: Capacity,
}

impl<D: Disk> Spool<D> {
    /// Opens the spool on `disk`, with what an earlier process left, or begins one with `identity`.
    ///
    /// # Errors
    /// What the disk says, and that something is lost which was counted; everything stays as it is then.
    pub fn open(mut disk: D, identity: u64, capacity: Capacity) -> Result<Spool<D>, SpoolFault> {
        let mut contents = Contents::new(identity);
        let mut files = BTreeMap::new();
        let mut names = disk.list()?;
        names.sort();
        for name in names {
            let Some(sequence) = sequence_of(&name) else { continue };
            if let Some((last, _)) = files.last_key_value().filter(|(last, _)| *last + 1 != sequence) {
                return Err(SpoolFault::Missing { file: name_of(last + 1) });
            }
            disk.settle(&name)?;
            let bytes = disk.read(&name, SPOOL_BYTES_MAX)?;
            files.insert(sequence, bytes.len() as u64);
            contents.replay(&bytes, sequence)?;
        }
        contents.forget_uncounted();
        // The names that an earlier process left, before the next one: a power cut must not keep that one alone.
        disk.sync_dir()?;
        let sequence = files.last_key_value().map_or(1, |(last, _)| last + 1);
        let (file, file_bytes) = begin_file(&mut disk, sequence, &contents.state)?;
        files.insert(sequence, file_bytes);
        let group_at = file_bytes;
        let mut spool = Spool { disk, file, sequence, file_bytes, group_at, files, contents, capacity };
        spool.remove_freed_files()?;
        Ok(spool)
    }

    /// What tells this spool from every other.
    pub fn identity(&self) -> u64 {
        self.contents.state.identity
    }

    /// Superframes of the session that are on disk, and that are answered: each as the last one plus 1.
    pub fn progress(&self) -> (u32, u32) {
        (self.contents.state.counted, self.contents.answered)
    }

    /// The batches that wait for a receipt, oldest first.
    pub fn pending(&self) -> impl ExactSizeIterator<Item = &Pending> {
        self.contents.pending()
    }

    /// The first batch that waits for a receipt and has this number or a later one.
    pub fn pending_from(&self, number: u64) -> Option<Pending> {
        self.contents.pending_from(number)
    }

    /// Whether nothing waits for a receipt, or to become a batch.
    pub fn is_drained(&self) -> bool {
        self.contents.is_drained()
    }

    /// Whether nothing more should be accepted before a receipt has made room.
    pub fn is_full(&self) -> bool {
        // Without a batch that waits no receipt would ever come.
        self.contents.pending().len() > 0 && self.files.values().sum::<u64>() >= self.capacity.bytes_max
    }

    /// Bytes that it may have.
    pub fn bytes_max(&self) -> u64 {
        self.capacity.bytes_max
    }

    /// A cell begins or resumes `session`. Frames that were not counted are forgotten: the cell repeats them. What
    /// an earlier session left without a batch becomes one.
    ///
    /// # Errors
    /// What the disk says; the spool must not be used any more then. The same holds for every call below.
    pub fn begin_session(&mut self, session: u64) -> Result<Option<Pending>, SpoolFault> {
        self.contents.forget_uncounted();
        if self.contents.state.session == session {
            // What is read later forgets the same frames.
            self.append(&Record::State(self.contents.state))?;
            return Ok(None);
        }
        let left = self.end_batch()?;
        self.contents.begin_session(session);
        self.append(&Record::State(self.contents.state))?;
        self.sync()?;
        Ok(left)
    }

    /// Accepts a frame; it counts once its superframe is closed. One that was counted before is ignored, and one
    /// that repeats a slot replaces it.
    ///
    /// # Errors
    /// What the disk says.
    pub fn accept(&mut self, frame: Frame) -> Result<(), SpoolFault> {
        if frame.superframe < self.contents.state.counted {
            return Ok(());
        }
        let at = self.file_bytes;
        self.append(&Record::Frame(frame.clone()))?;
        self.contents.insert(frame, self.sequence, at);
        Ok(())
    }

    /// Everything of `superframe` was accepted: makes it durable, and the end of a batch if `ends_batch`. A
    /// superframe that was closed before is ignored.
    ///
    /// # Errors
    /// What the disk says.
    pub fn close(&mut self, superframe: u32, ends_batch: bool) -> Result<Option<Pending>, SpoolFault> {
        if superframe < self.contents.state.counted {
            return Ok(None);
        }
        self.close_with(superframe, ends_batch && self.contents.has_until(superframe))
    }

    /// Makes a batch of what is counted and belongs to none.
    ///
    /// # Errors
    /// What the disk says.
    pub fn end_batch(&mut self) -> Result<Option<Pending>, SpoolFault> {
        match self.contents.state.counted.checked_sub(1).filter(|last| self.contents.has_until(*last)) {
            Some(last) => self.close_with(last, true),
            None => Ok(None),
        }
    }

    fn close_with(&mut self, superframe: u32, ends_batch: bool) -> Result<Option<Pending>, SpoolFault> {
        let batch = if ends_batch { self.contents.state.next_batch } else { 0 };
        self.append(&Record::Close { superframe, batch })?;
        let end = self.file_bytes;
        self.sync()?;
        let batch = self.contents.close(superframe, batch, self.sequence, end);
        self.rotate()?;
        Ok(batch)
    }

    /// A receipt named batch `number`: frees it. Returns whether it was pending.
    ///
    /// # Errors
    /// What the disk says.
    pub fn free(&mut self, number: u64) -> Result<bool, SpoolFault> {
        if !self.contents.free(number) {
            return Ok(false);
        }
        self.append(&Record::Freed { batch: number })?;
        self.remove_freed_files()?;
        Ok(true)
    }

    /// Makes the newest file durable. What follows begins in a sector of its own: a power cut that strikes it takes
    /// nothing along that was synced before.
    fn sync(&mut self) -> Result<(), SpoolFault> {
        let padding = Record::padding(self.file_bytes);
        self.disk.append(&mut self.file, &padding)?;
        self.file_bytes += padding.len() as u64;
        self.files.insert(self.sequence, self.file_bytes);
        self.disk.sync(&mut self.file)?;
        self.group_at = self.file_bytes;
        Ok(())
    }

    fn append(&mut self, record: &Record) -> Result<(), SpoolFault> {
        let bytes = record.encode(self.sequence, group_of(self.group_at));
        self.disk.append(&mut self.file, &bytes)?;
        self.file_bytes += bytes.len() as u64;
        self.files.insert(self.sequence, self.file_bytes);
        Ok(())
    }

    /// Begins a new file when the newest is long enough. Only between superframes.
    fn rotate(&mut self) -> Result<(), SpoolFault> {
        if self.file_bytes < self.capacity.file_bytes {
            return Ok(());
        }
        self.sequence += 1;
        (self.file, self.file_bytes) = begin_file(&mut self.disk, self.sequence, &self.contents.state)?;
        self.group_at = self.file_bytes;
        self.files.insert(self.sequence, self.file_bytes);
        self.remove_freed_files()
    }

    /// Removes the files before the oldest that is needed, which are all older than the newest.
    fn remove_freed_files(&mut self) -> Result<(), SpoolFault> {
        let oldest_needed = self.contents.oldest_sequence().unwrap_or(self.sequence).min(self.sequence);
        if self.files.first_key_value().is_none_or(|(oldest, _)| *oldest >= oldest_needed) {
            return Ok(());
        }
        // The `freed` records before the files. Those in files that are not the newest were synced with the last
        // superframe there.
        self.sync()?;
        while let Some(entry) = self.files.first_entry().filter(|entry| *entry.key() < oldest_needed) {
            self.disk.remove(&name_of(*entry.key()))?;
            entry.remove();
            // One after the other: a power cut must not bring back an older one without a newer.
            self.disk.sync_dir()?;
        }
        Ok(())
    }
}

fn begin_file<D: Disk>(disk: &mut D, sequence: u64, state: &State) -> Result<(D::File, u64), SpoolFault> {
    let name = name_of(sequence);
    let mut file = disk.create(&name)?;
    let mut first = Record::State(*state).encode(sequence, 0);
    first.extend(Record::padding(first.len() as u64));
    let written = disk.append(&mut file, &first).and_then(|()| disk.sync(&mut file));
    if let Err(cause) = written.and_then(|()| disk.sync_dir()) {
        // It holds nothing yet, and a full disk should not fill with such files. The cause is what to tell.
        let _ = disk.remove(&name);
        return Err(cause.into());
    }
    Ok((file, first.len() as u64))
}

/// The sector in which a group begins, as its records name it.
fn group_of(at: u64) -> u32 {
    u32::try_from(at / SPOOL_SECTOR_BYTES as u64).expect("a file is shorter than the spool")
}

pub(super) fn name_of(sequence: u64) -> String {
    format!("{sequence:016x}.spool")
}

fn sequence_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".spool").filter(|digits| digits.len() == 16)?;
    // Numbers rise by one from 1: nobody has written the last one.
    u64::from_str_radix(digits, 16).ok().filter(|sequence| *sequence != u64::MAX)
}
