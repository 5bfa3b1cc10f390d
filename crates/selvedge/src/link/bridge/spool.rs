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
//! A disk that is full before the spool is refuses as a full spool does: what did not fit is cut off again, and the rest
//! goes on. What receipts need to make room is in a reserve beside the files (`reserve`).
//!
//! Invariant: a spool that is seen to lack something that was counted is not opened, and none of its files is touched.
//! Bytes that are no record may only end a file: then they were being written, and nothing was told about them. That
//! cannot be told from later damage to the last group, until a file is begun behind it, which says what it follows.

pub use super::file::Capacity;

use super::contents::{Contents, Pending};
use super::file::{begin_file, group_of, name_of, sequence_of};
use super::record::{Frame, Record, State};
use super::reserve;
use crate::error::SpoolFault;
use crate::limits::{SPOOL_BYTES_MAX, SPOOL_SECTOR_BYTES};
use collect::disk::{Disk, is_full};
use std::collections::{BTreeMap, VecDeque};

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
    /// Batches that have their receipt, of which the disk had no room to say so.
    unwritten: VecDeque<u64>,
    has_reserve: bool,
    /// Something did not fit the disk, and nobody has seen room since.
    lacks_room: bool,
}

impl<D: Disk> Spool<D> {
    /// Opens the spool on `disk`, with what an earlier process left, or begins one with `identity`.
    ///
    /// # Errors
    /// What the disk says, and that something is lost which was counted; everything stays as it is then. A full disk is
    /// one only when its reserve is used up.
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
        let had_reserve = reserve::take(&mut disk, capacity.reserve_bytes)?;
        let (begun, has_reserve) = match begin_file(&mut disk, sequence, &contents.state) {
            Err(cause) if had_reserve && is_full(&cause) => {
                reserve::give_up(&mut disk)?;
                (begin_file(&mut disk, sequence, &contents.state), false)
            }
            begun => (begun, had_reserve),
        };
        let (file, file_bytes) = begun?;
        files.insert(sequence, file_bytes);
        let mut spool = Spool {
            disk,
            file,
            sequence,
            file_bytes,
            group_at: file_bytes,
            files,
            contents,
            capacity,
            unwritten: VecDeque::new(),
            has_reserve,
            lacks_room: false,
        };
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
        self.lacks_room()
            || self.contents.pending().len() > 0
                && self.files.values().sum::<u64>() >= self.capacity.bytes_max
    }

    /// Whether it is full because the disk is.
    pub fn lacks_room(&self) -> bool {
        self.lacks_room || !self.has_reserve
    }

    /// On a disk that was full: looks whether there is room again, and makes some of what has its receipt.
    ///
    /// # Errors
    /// What the disk says otherwise; the spool must not be used any more then.
    pub fn look_for_room(&mut self) -> Result<(), SpoolFault> {
        self.write_freed()?;
        // The newest file is removed by nobody: another one takes a sector in place of all its bytes.
        if self.lacks_room() && self.contents.is_drained() && self.file_bytes > SPOOL_SECTOR_BYTES as u64 {
            self.begin_next()?;
        }
        self.restore_reserve()
    }

    /// Bytes that it may have.
    pub fn bytes_max(&self) -> u64 {
        self.capacity.bytes_max
    }

    /// A cell begins or resumes `session`. Frames that were not counted are forgotten: the cell repeats them. What
    /// an earlier session left without a batch becomes one.
    ///
    /// # Errors
    /// [`SpoolFault::NoRoom`]: nothing was done, and a session must be begun before anything else is accepted. Otherwise what
    /// the disk says; the spool must not be used any more then. The same holds for every call below.
    pub fn begin_session(&mut self, session: u64) -> Result<Option<Pending>, SpoolFault> {
        self.contents.forget_uncounted();
        if self.contents.state.session == session {
            // What is read later forgets the same frames.
            self.append(&Record::State(self.contents.state))?;
            return Ok(None);
        }
        let batch = self.contents.state.next_batch;
        let last = self.last_without_batch();
        let close = last.map(|superframe| Record::Close { superframe, batch });
        let next_batch = batch + u64::from(last.is_some());
        let state = State { session, counted: 0, next_batch, ..self.contents.state };
        let end = self.append_group(close.iter().chain([&Record::State(state)]))?;
        let left = last.and_then(|superframe| self.contents.close(superframe, batch, self.sequence, end));
        self.contents.begin_session(session);
        self.rotate()?;
        Ok(left)
    }

    /// Accepts a frame; it counts once its superframe is closed. One that was counted before is ignored.
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
        match self.last_without_batch() {
            Some(last) => self.close_with(last, true),
            None => Ok(None),
        }
    }

    /// The last superframe that is counted, if any until it belongs to no batch.
    fn last_without_batch(&self) -> Option<u32> {
        self.contents.state.counted.checked_sub(1).filter(|last| self.contents.has_until(*last))
    }

    fn close_with(&mut self, superframe: u32, ends_batch: bool) -> Result<Option<Pending>, SpoolFault> {
        let batch = if ends_batch { self.contents.state.next_batch } else { 0 };
        let end = self.append_group([&Record::Close { superframe, batch }])?;
        let batch = self.contents.close(superframe, batch, self.sequence, end);
        self.rotate()?;
        Ok(batch)
    }

    /// A receipt named batch `number`: frees it. Returns whether it was pending.
    ///
    /// # Errors
    /// What the disk says, but not that it is full: then it is written later that the batch is freed.
    pub fn free(&mut self, number: u64) -> Result<bool, SpoolFault> {
        if !self.contents.free(number) {
            return Ok(false);
        }
        self.unwritten.push_back(number);
        self.write_freed()?;
        Ok(true)
    }

    /// Writes which batches are freed, as far as there is room, and makes room of it.
    fn write_freed(&mut self) -> Result<(), SpoolFault> {
        while let Some(&batch) = self.unwritten.front() {
            if !self.with_reserve(|spool| spool.append(&Record::Freed { batch }))? {
                return Ok(());
            }
            self.unwritten.pop_front();
        }
        self.remove_freed_files()
    }

    /// Does what makes room in the end, if need be on the reserve. False when there is no room even so.
    fn with_reserve(
        &mut self,
        mut write: impl FnMut(&mut Self) -> Result<(), SpoolFault>,
    ) -> Result<bool, SpoolFault> {
        loop {
            match write(self) {
                Ok(()) => return Ok(true),
                Err(SpoolFault::NoRoom { .. }) if self.has_reserve => {
                    self.has_reserve = false;
                    reserve::give_up(&mut self.disk)?;
                }
                Err(SpoolFault::NoRoom { .. }) => return Ok(false),
                Err(fault) => return Err(fault),
            }
        }
    }

    /// Takes the reserve again, and looks whether there is more room than that.
    fn restore_reserve(&mut self) -> Result<(), SpoolFault> {
        let bytes = self.capacity.reserve_bytes;
        if !self.has_reserve {
            self.has_reserve = reserve::take(&mut self.disk, bytes)?;
        }
        if self.has_reserve && self.lacks_room {
            self.lacks_room = !reserve::has_room_beside(&mut self.disk, bytes)?;
        }
        Ok(())
    }

    /// Appends what one sync makes durable, and makes it so. What follows begins in a sector of its own: a power cut that
    /// strikes it takes nothing along that was synced before. Returns where the first record ends.
    fn append_group<'r>(&mut self, records: impl IntoIterator<Item = &'r Record>) -> Result<u64, SpoolFault> {
        let (mut bytes, mut first_end) = (Vec::new(), None);
        for record in records {
            bytes.extend(record.encode(self.sequence, group_of(self.group_at)));
            first_end.get_or_insert(self.file_bytes + bytes.len() as u64);
        }
        bytes.extend(Record::padding(self.file_bytes + bytes.len() as u64));
        self.append_bytes(&bytes)?;
        self.disk.sync(&mut self.file)?;
        self.group_at = self.file_bytes;
        Ok(first_end.unwrap_or(self.file_bytes))
    }

    fn append(&mut self, record: &Record) -> Result<(), SpoolFault> {
        self.append_bytes(&record.encode(self.sequence, group_of(self.group_at)))
    }

    /// Appends whole records, or nothing where there is no room.
    fn append_bytes(&mut self, bytes: &[u8]) -> Result<(), SpoolFault> {
        match self.disk.append(&mut self.file, bytes) {
            Ok(()) => {}
            Err(cause) if is_full(&cause) => {
                self.disk.truncate(&mut self.file, self.file_bytes)?;
                self.lacks_room = true;
                return Err(SpoolFault::NoRoom { batches: self.contents.pending().len() });
            }
            Err(cause) => return Err(cause.into()),
        }
        self.file_bytes += bytes.len() as u64;
        self.files.insert(self.sequence, self.file_bytes);
        Ok(())
    }

    /// Begins a new file when the newest is long enough. Only between superframes.
    fn rotate(&mut self) -> Result<(), SpoolFault> {
        if self.file_bytes < self.capacity.file_bytes { Ok(()) } else { self.begin_next() }
    }

    /// Begins a new file behind the newest, which grows on where there is no room for one.
    fn begin_next(&mut self) -> Result<(), SpoolFault> {
        let is_begun = self.with_reserve(|spool| {
            match begin_file(&mut spool.disk, spool.sequence + 1, &spool.contents.state) {
                Ok((file, file_bytes)) => {
                    (spool.file, spool.file_bytes) = (file, file_bytes);
                    Ok(())
                }
                Err(cause) if is_full(&cause) => {
                    // A power cut must not bring back a file that follows from less than what goes on here.
                    spool.disk.sync_dir()?;
                    Err(SpoolFault::NoRoom { batches: spool.contents.pending().len() })
                }
                Err(cause) => Err(cause.into()),
            }
        })?;
        if !is_begun {
            self.lacks_room = true;
            return Ok(());
        }
        self.sequence += 1;
        self.group_at = self.file_bytes;
        self.files.insert(self.sequence, self.file_bytes);
        self.remove_freed_files()
    }

    /// Removes the files before the oldest that is needed, which are all older than the newest, if there is room to say so.
    fn remove_freed_files(&mut self) -> Result<(), SpoolFault> {
        let oldest_needed = self.contents.oldest_sequence().unwrap_or(self.sequence).min(self.sequence);
        let is_any = self.files.first_key_value().is_some_and(|(oldest, _)| *oldest < oldest_needed);
        if !is_any || !self.unwritten.is_empty() {
            return Ok(());
        }
        // The `freed` records before the files. Those in files that are not the newest were synced with the last
        // superframe there.
        if !self.with_reserve(|spool| spool.append_group([]).map(drop))? {
            return Ok(());
        }
        while let Some(entry) = self.files.first_entry().filter(|entry| *entry.key() < oldest_needed) {
            self.disk.remove(&name_of(*entry.key()))?;
            entry.remove();
            // One after the other: a power cut must not bring back an older one without a newer.
            self.disk.sync_dir()?;
        }
        if self.lacks_room() { self.restore_reserve() } else { Ok(()) }
    }
}
