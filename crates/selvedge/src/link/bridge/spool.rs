//! The bridge's spool: every frame that was accepted from the cell, on disk until the server's receipt frees it.
//!
//! ```text
//! <sequence, 16 hex digits>.spool          one file after another; only the newest grows
//!   record:  0 1 kind | 1 4 length of body | 5 n body | 5+n 4 CRC-32C of everything before
//!   0        nothing more in this sector of 4096 bytes: what was synced shares none with what follows
//!   1 state  identity 8 | session 8 | next batch 8 | counted 4 | answered 4       (both as superframe + 1; 0 = none)
//!   2 frame  superframe 4 | slot 1 | received_ps 8 | frame
//!   3 close  superframe 4 | batch 8                  (batch 0: its frames stay open, for the batch of a later one)
//!   4 freed  superframe 4 | batch 8
//! ```
//! Little-endian. Every file begins with a state record and ends between superframes, so that a file whose batches
//! are all freed can be removed. Frames are sealed by their nodes; nothing here is secret.
//!
//! Owns what is pending and what was counted. Leaves the records' bytes to `record`, sealing, sending and sockets to
//! its neighbours.
//!
//! Invariant: a superframe is counted only after every frame of it was synced, and its frames leave the disk only
//! after a receipt named their batch. Losing a `freed` record costs a repetition, which the server recognises.
//!
//! Invariant: the files that are there are the newest ones without a gap, and every `freed` record of a batch is
//! durable before a file that holds a part of it is removed. So a batch comes back whole or not at all, and a number
//! never stands for two contents.

use super::record::{Frame, Record, State};
use crate::limits::{SPOOL_BYTES_MAX, SPOOL_FILE_BYTES};
use collect::disk::Disk;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::Arc;

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

/// The frames of one superframe or of several, numbered for the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Its number in this spool, from 1.
    pub number: u64,
    /// The session in which it was accepted.
    pub session: u64,
    /// The first superframe of which it holds frames.
    pub superframe: u32,
    /// The superframe whose end closed it.
    pub closed_by: u32,
    /// The frames, in the order of their superframes and slots. Never none.
    pub frames: Vec<Frame>,
    /// The oldest file that holds a part of it.
    sequence: u64,
}

/// The spool.
pub struct Spool<D: Disk> {
    disk: D,
    file: D::File,
    sequence: u64,
    file_bytes: u64,
    /// Bytes of every file that is still there.
    files: BTreeMap<u64, u64>,
    contents: Contents,
    capacity: Capacity,
}

/// What is in the spool.
#[derive(Debug)]
struct Contents {
    state: State,
    /// Frames that belong to no batch yet, those of superframes that are not counted among them.
    open: Vec<Frame>,
    /// The file in which the first of `open` is.
    open_sequence: u64,
    pending: VecDeque<Arc<Batch>>,
}

impl<D: Disk> Spool<D> {
    /// Opens the spool on `disk`, with what an earlier process left, or begins one with `identity`.
    ///
    /// # Errors
    /// What the disk says.
    pub fn open(mut disk: D, identity: u64, capacity: Capacity) -> io::Result<Spool<D>> {
        let state = State { identity, session: 0, next_batch: 1, counted: 0, answered: 0 };
        let mut contents = Contents { state, open: Vec::new(), open_sequence: 0, pending: VecDeque::new() };
        let mut files = BTreeMap::new();
        let mut names = disk.list()?;
        names.sort();
        for name in names {
            let Some(sequence) = sequence_of(&name) else { continue };
            disk.settle(&name)?;
            let bytes = disk.read(&name, SPOOL_BYTES_MAX)?;
            files.insert(sequence, bytes.len() as u64);
            contents.replay(&bytes, sequence);
        }
        contents.forget_uncounted();
        let sequence = files.last_key_value().map_or(1, |(last, _)| last.saturating_add(1));
        let (file, file_bytes) = begin_file(&mut disk, sequence, &contents.state)?;
        files.insert(sequence, file_bytes);
        let mut spool = Spool { disk, file, sequence, file_bytes, files, contents, capacity };
        spool.remove_freed_files()?;
        Ok(spool)
    }

    /// What tells this spool from every other.
    pub fn identity(&self) -> u64 {
        self.contents.state.identity
    }

    /// Superframes of the session that are on disk, and that are answered: each as the last one plus 1.
    pub fn progress(&self) -> (u32, u32) {
        (self.contents.state.counted, self.contents.state.answered)
    }

    /// The batches that wait for a receipt, oldest first.
    pub fn pending(&self) -> impl ExactSizeIterator<Item = &Arc<Batch>> {
        self.contents.pending.iter()
    }

    /// Whether nothing waits for a receipt, or to become a batch.
    pub fn is_drained(&self) -> bool {
        self.contents.pending.is_empty() && self.contents.open.is_empty()
    }

    /// Whether nothing more should be accepted before a receipt has made room.
    pub fn is_full(&self) -> bool {
        // Without a batch that waits no receipt would ever come.
        !self.contents.pending.is_empty() && self.files.values().sum::<u64>() >= self.capacity.bytes_max
    }

    /// A cell begins or resumes `session`. Frames that were not counted are forgotten: the cell repeats them. What
    /// an earlier session left without a batch becomes one.
    ///
    /// # Errors
    /// What the disk says; the spool must not be used any more then. The same holds for every call below.
    pub fn begin_session(&mut self, session: u64) -> io::Result<Option<Arc<Batch>>> {
        self.contents.forget_uncounted();
        if self.contents.state.session == session {
            // What is read later forgets the same frames.
            self.append(&Record::State(self.contents.state))?;
            return Ok(None);
        }
        let left = self.end_batch()?;
        self.contents.state = State { session, counted: 0, answered: 0, ..self.contents.state };
        self.append(&Record::State(self.contents.state))?;
        self.sync()?;
        Ok(left)
    }

    /// Accepts a frame; it counts once its superframe is closed. One that was counted before is ignored, and one
    /// that repeats a slot replaces it.
    ///
    /// # Errors
    /// What the disk says.
    pub fn accept(&mut self, frame: Frame) -> io::Result<()> {
        if frame.superframe < self.contents.state.counted {
            return Ok(());
        }
        self.append(&Record::Frame(frame.clone()))?;
        self.contents.insert(frame, self.sequence);
        Ok(())
    }

    /// Everything of `superframe` was accepted: makes it durable, and the end of a batch if `ends_batch`. A
    /// superframe that was closed before is ignored.
    ///
    /// # Errors
    /// What the disk says.
    pub fn close(&mut self, superframe: u32, ends_batch: bool) -> io::Result<Option<Arc<Batch>>> {
        if superframe < self.contents.state.counted {
            return Ok(None);
        }
        self.close_with(superframe, ends_batch && self.contents.has_until(superframe))
    }

    /// Makes a batch of what is counted and belongs to none.
    ///
    /// # Errors
    /// What the disk says.
    pub fn end_batch(&mut self) -> io::Result<Option<Arc<Batch>>> {
        match self.contents.state.counted.checked_sub(1).filter(|last| self.contents.has_until(*last)) {
            Some(last) => self.close_with(last, true),
            None => Ok(None),
        }
    }

    fn close_with(&mut self, superframe: u32, ends_batch: bool) -> io::Result<Option<Arc<Batch>>> {
        let batch = if ends_batch { self.contents.state.next_batch } else { 0 };
        self.append(&Record::Close { superframe, batch })?;
        self.sync()?;
        let batch = self.contents.close(superframe, batch);
        self.rotate()?;
        Ok(batch)
    }

    /// A receipt named batch `number`: frees it. Returns whether it was pending.
    ///
    /// # Errors
    /// What the disk says.
    pub fn free(&mut self, number: u64) -> io::Result<bool> {
        if !self.contents.pending.iter().any(|batch| batch.number == number) {
            return Ok(false);
        }
        self.append(&Record::Freed { batch: number })?;
        self.contents.free(number);
        self.remove_freed_files()?;
        Ok(true)
    }

    /// Makes the newest file durable. What follows begins in a sector of its own: a power cut that strikes it takes
    /// nothing along that was synced before.
    fn sync(&mut self) -> io::Result<()> {
        let padding = Record::padding(self.file_bytes);
        self.disk.append(&mut self.file, &padding)?;
        self.file_bytes += padding.len() as u64;
        self.files.insert(self.sequence, self.file_bytes);
        self.disk.sync(&mut self.file)
    }

    fn append(&mut self, record: &Record) -> io::Result<()> {
        let bytes = record.encode();
        self.disk.append(&mut self.file, &bytes)?;
        self.file_bytes += bytes.len() as u64;
        self.files.insert(self.sequence, self.file_bytes);
        Ok(())
    }

    /// Begins a new file when the newest is long enough. Only between superframes.
    fn rotate(&mut self) -> io::Result<()> {
        if self.file_bytes < self.capacity.file_bytes {
            return Ok(());
        }
        self.sequence += 1;
        (self.file, self.file_bytes) = begin_file(&mut self.disk, self.sequence, &self.contents.state)?;
        self.files.insert(self.sequence, self.file_bytes);
        self.remove_freed_files()
    }

    /// Removes the files before the oldest that is needed, which are all older than the newest.
    fn remove_freed_files(&mut self) -> io::Result<()> {
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

impl Contents {
    fn insert(&mut self, frame: Frame, sequence: u64) {
        let place = (frame.superframe, frame.slot);
        if self.open.is_empty() {
            self.open_sequence = sequence;
        }
        match self.open.iter_mut().find(|other| (other.superframe, other.slot) == place) {
            Some(other) => *other = frame,
            None => self.open.push(frame),
        }
    }

    fn has_until(&self, superframe: u32) -> bool {
        self.open.iter().any(|frame| frame.superframe <= superframe)
    }

    fn forget_uncounted(&mut self) {
        let counted = self.state.counted;
        self.open.retain(|frame| frame.superframe < counted);
    }

    fn close(&mut self, superframe: u32, number: u64) -> Option<Arc<Batch>> {
        self.state.counted = self.state.counted.max(superframe + 1);
        if number != 0 {
            self.state.next_batch = self.state.next_batch.max(number + 1);
        }
        let batch = (number != 0 && self.has_until(superframe)).then(|| {
            let (mut frames, rest): (Vec<_>, Vec<_>) =
                std::mem::take(&mut self.open).into_iter().partition(|frame| frame.superframe <= superframe);
            self.open = rest;
            frames.sort_by_key(|frame| (frame.superframe, frame.slot));
            let first = frames[0].superframe;
            let (session, sequence) = (self.state.session, self.open_sequence);
            let batch = Arc::new(Batch {
                number,
                session,
                superframe: first,
                closed_by: superframe,
                frames,
                sequence,
            });
            self.pending.push_back(Arc::clone(&batch));
            batch
        });
        self.answer();
        batch
    }

    fn free(&mut self, number: u64) {
        self.pending.retain(|batch| batch.number != number);
        self.answer();
    }

    /// Answered is every superframe before the first that waits for a receipt, or to become a batch.
    fn answer(&mut self) {
        let session = self.state.session;
        let pending =
            self.pending.iter().filter(|batch| batch.session == session).map(|batch| batch.superframe);
        let waiting = pending.chain(self.open.iter().map(|frame| frame.superframe)).min();
        self.state.answered = waiting.unwrap_or(u32::MAX).min(self.state.counted);
    }

    fn oldest_sequence(&self) -> Option<u64> {
        let open = (!self.open.is_empty()).then_some(self.open_sequence);
        self.pending.iter().map(|batch| batch.sequence).chain(open).min()
    }

    /// Applies a file's records up to the first that is torn. What follows a torn record was never synced, and
    /// what was never synced was never counted.
    fn replay(&mut self, bytes: &[u8], sequence: u64) {
        for record in Record::read_all(bytes) {
            match record {
                Record::State(state) => {
                    if state.session != self.state.session {
                        self.open.clear();
                    }
                    self.state = state;
                    self.forget_uncounted();
                    self.answer();
                }
                Record::Frame(frame) => self.insert(frame, sequence),
                Record::Close { superframe, batch } => {
                    self.close(superframe, batch);
                }
                Record::Freed { batch } => self.free(batch),
            }
        }
    }
}

fn begin_file<D: Disk>(disk: &mut D, sequence: u64, state: &State) -> io::Result<(D::File, u64)> {
    let name = name_of(sequence);
    let mut file = disk.create(&name)?;
    let mut first = Record::State(*state).encode();
    first.extend(Record::padding(first.len() as u64));
    let written = disk.append(&mut file, &first).and_then(|()| disk.sync(&mut file));
    if let Err(cause) = written.and_then(|()| disk.sync_dir()) {
        // It holds nothing yet, and a full disk should not fill with such files. The cause is what to tell.
        let _ = disk.remove(&name);
        return Err(cause);
    }
    Ok((file, first.len() as u64))
}

fn name_of(sequence: u64) -> String {
    format!("{sequence:016x}.spool")
}

fn sequence_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".spool").filter(|digits| digits.len() == 16)?;
    u64::from_str_radix(digits, 16).ok()
}
