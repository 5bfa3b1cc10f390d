//! The bridge's spool: every frame that was accepted from the cell, on disk until the server's receipt frees it.
//!
//! ```text
//! <sequence, 16 hex digits>.spool          one file after another; only the newest grows
//!   record:  0 4 length of body | 4 1 kind | 5 n body | 5+n 4 CRC-32C of everything before
//!   1 state  identity 8 | session 8 | next batch 8 | counted 4 | answered 4       (both as superframe + 1; 0 = none)
//!   2 frame  superframe 4 | slot 1 | received_ps 8 | frame
//!   3 close  superframe 4 | batch 8                  (batch 0: its frames stay open, for the batch of a later one)
//!   4 freed  superframe 4 | batch 8
//! ```
//! Little-endian. Every file begins with a state record and ends between superframes, so that a file whose batches
//! are all freed can be removed. Frames are sealed by their nodes; nothing here is secret.
//!
//! Owns what is pending and what was counted. Leaves sealing, sending and sockets to its neighbours.
//!
//! Invariant: a superframe is counted only after every frame of it was synced, and its frames leave the disk only
//! after a receipt named their batch. Losing a `freed` record costs a repetition, which the server recognises.

use crate::limits::{SPOOL_BYTES_MAX, SPOOL_FILE_BYTES};
use collect::disk::Disk;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::Arc;

const STATE: u8 = 1;
const FRAME: u8 = 2;
const CLOSE: u8 = 3;
const FREED: u8 = 4;
/// Bytes of a record around its body.
const RECORD_OVERHEAD_BYTES: usize = 9;
/// The longest body: a frame of the bus and its place.
const BODY_BYTES_MAX: usize = 13 + cell::limits::FRAME_BYTES_MAX;

/// A frame of the bus, with where and when it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its superframe.
    pub superframe: u32,
    /// Its slot.
    pub slot: u8,
    /// Cell time of its last bit.
    pub received_ps: u64,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl Frame {
    /// A frame and its place as they are spooled and as they travel from the cell.
    pub fn encode(&self) -> Vec<u8> {
        let place =
            [&self.superframe.to_le_bytes()[..], &[self.slot], &self.received_ps.to_le_bytes()].concat();
        [place, self.bytes.clone()].concat()
    }

    /// The reverse of [`Frame::encode`]; `None` when there are too few bytes.
    pub fn parse(bytes: &[u8]) -> Option<Frame> {
        let (superframe, rest) = bytes.split_first_chunk()?;
        let (slot, rest) = rest.split_first()?;
        let (received_ps, bytes) = rest.split_first_chunk()?;
        Some(Frame {
            superframe: u32::from_le_bytes(*superframe),
            slot: *slot,
            received_ps: u64::from_le_bytes(*received_ps),
            bytes: bytes.to_vec(),
        })
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

/// What the records say so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    identity: u64,
    session: u64,
    next_batch: u64,
    /// Superframes of the session that are on disk, as the last one plus 1.
    counted: u32,
    /// Superframes of the session that are answered, as the last one plus 1.
    answered: u32,
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
    /// What the disk says; a file that is damaged before its end is `InvalidData`.
    pub fn open(mut disk: D, identity: u64) -> io::Result<Spool<D>> {
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
        let sequence = files.last_key_value().map_or(1, |(last, _)| last + 1);
        let (file, file_bytes) = begin_file(&mut disk, sequence, &contents.state)?;
        files.insert(sequence, file_bytes);
        let mut spool = Spool { disk, file, sequence, file_bytes, files, contents };
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
    pub fn pending(&self) -> impl Iterator<Item = &Arc<Batch>> {
        self.contents.pending.iter()
    }

    /// Whether nothing waits for a receipt, or to become a batch.
    pub fn is_drained(&self) -> bool {
        self.contents.pending.is_empty() && self.contents.open.is_empty()
    }

    /// Whether the spool has no room for another superframe.
    pub fn is_full(&self) -> bool {
        self.files.values().sum::<u64>() >= SPOOL_BYTES_MAX
    }

    /// A cell begins or resumes `session`. Frames that were not counted are forgotten: the cell repeats them. What
    /// an earlier session left without a batch becomes one.
    ///
    /// # Errors
    /// What the disk says; the spool must not be used any more then. The same holds for every call below.
    pub fn begin_session(&mut self, session: u64) -> io::Result<Option<Arc<Batch>>> {
        self.contents.forget_uncounted();
        if self.contents.state.session == session {
            return Ok(None);
        }
        let left = self.end_batch()?;
        self.contents.state = State { session, counted: 0, answered: 0, ..self.contents.state };
        self.append(STATE, &state_body(&self.contents.state))?;
        self.disk.sync(&mut self.file)?;
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
        self.append(FRAME, &frame.encode())?;
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
        let number = if ends_batch { self.contents.state.next_batch } else { 0 };
        self.append(CLOSE, &place_body(superframe, number))?;
        self.disk.sync(&mut self.file)?;
        let batch = self.contents.close(superframe, number);
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
        self.append(FREED, &place_body(0, number))?;
        self.contents.free(number);
        self.remove_freed_files()?;
        Ok(true)
    }

    fn append(&mut self, kind: u8, body: &[u8]) -> io::Result<()> {
        let record = record(kind, body);
        self.disk.append(&mut self.file, &record)?;
        self.file_bytes += record.len() as u64;
        self.files.insert(self.sequence, self.file_bytes);
        Ok(())
    }

    /// Begins a new file when the newest is long enough. Only between superframes.
    fn rotate(&mut self) -> io::Result<()> {
        if self.file_bytes < SPOOL_FILE_BYTES {
            return Ok(());
        }
        self.sequence += 1;
        (self.file, self.file_bytes) = begin_file(&mut self.disk, self.sequence, &self.contents.state)?;
        self.files.insert(self.sequence, self.file_bytes);
        self.remove_freed_files()
    }

    fn remove_freed_files(&mut self) -> io::Result<()> {
        let oldest_needed = self.contents.oldest_sequence().unwrap_or(self.sequence).min(self.sequence);
        while let Some(entry) = self.files.first_entry().filter(|entry| *entry.key() < oldest_needed) {
            self.disk.remove(&name_of(*entry.key()))?;
            entry.remove();
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
        let batch = (number != 0).then(|| {
            let (mut frames, rest): (Vec<_>, Vec<_>) =
                std::mem::take(&mut self.open).into_iter().partition(|frame| frame.superframe <= superframe);
            self.open = rest;
            frames.sort_by_key(|frame| (frame.superframe, frame.slot));
            self.state.next_batch = number + 1;
            let first = frames.first().map_or(superframe, |frame| frame.superframe);
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
        let mut rest = bytes;
        while let Some((kind, body, after)) = next_record(rest) {
            rest = after;
            let applied = match kind {
                STATE => parse_state(body).map(|state| {
                    if state.session != self.state.session {
                        self.open.clear();
                    }
                    self.state = state;
                    self.answer();
                }),
                FRAME => Frame::parse(body).map(|frame| self.insert(frame, sequence)),
                CLOSE => parse_place(body).map(|(superframe, number)| {
                    self.close(superframe, number);
                }),
                FREED => parse_place(body).map(|(_, number)| self.free(number)),
                _ => None,
            };
            if applied.is_none() {
                return;
            }
        }
    }
}

fn begin_file<D: Disk>(disk: &mut D, sequence: u64, state: &State) -> io::Result<(D::File, u64)> {
    let mut file = disk.create(&name_of(sequence))?;
    let first = record(STATE, &state_body(state));
    disk.append(&mut file, &first)?;
    disk.sync(&mut file)?;
    disk.sync_dir()?;
    Ok((file, first.len() as u64))
}

fn name_of(sequence: u64) -> String {
    format!("{sequence:016x}.spool")
}

fn sequence_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".spool").filter(|digits| digits.len() == 16)?;
    u64::from_str_radix(digits, 16).ok()
}

fn record(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(RECORD_OVERHEAD_BYTES + body.len());
    bytes.extend((body.len() as u32).to_le_bytes());
    bytes.push(kind);
    bytes.extend(body);
    bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
    bytes
}

fn state_body(state: &State) -> Vec<u8> {
    let mut body = Vec::with_capacity(32);
    body.extend(state.identity.to_le_bytes());
    body.extend(state.session.to_le_bytes());
    body.extend(state.next_batch.to_le_bytes());
    body.extend(state.counted.to_le_bytes());
    body.extend(state.answered.to_le_bytes());
    body
}

fn place_body(superframe: u32, batch: u64) -> Vec<u8> {
    [&superframe.to_le_bytes()[..], &batch.to_le_bytes()[..]].concat()
}

fn next_record(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let length = u32::from_le_bytes(bytes.first_chunk().copied()?) as usize;
    if length > BODY_BYTES_MAX {
        return None;
    }
    let (record, after) = bytes.split_at_checked(length + RECORD_OVERHEAD_BYTES)?;
    let (content, crc) = record.split_at(length + 5);
    (crc32c::crc32c(content).to_le_bytes() == crc).then_some((content[4], &content[5..], after))
}

fn parse_state(body: &[u8]) -> Option<State> {
    let body: &[u8; 32] = body.try_into().ok()?;
    let eight = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| body[at + i]));
    let four = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| body[at + i]));
    Some(State {
        identity: eight(0),
        session: eight(8),
        next_batch: eight(16),
        counted: four(24),
        answered: four(28),
    })
}

fn parse_place(body: &[u8]) -> Option<(u32, u64)> {
    let (superframe, rest) = body.split_first_chunk()?;
    let number: &[u8; 8] = rest.try_into().ok()?;
    Some((u32::from_le_bytes(*superframe), u64::from_le_bytes(*number)))
}
