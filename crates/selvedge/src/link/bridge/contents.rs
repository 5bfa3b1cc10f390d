//! What is in a spool: the frames that belong to no batch yet, and where on the disk every batch is that waits.
//!
//! Owns what records mean together, when they are written and when they are read back. Leaves their bytes to
//! `record`, and files to `spool`. A batch that waits is a few numbers here: its frames are read from the disk when
//! it is sent.
//!
//! Invariant: the number of the next batch never falls, and what a file begins with agrees with the files before it;
//! records that say otherwise are a fault of the spool and are never worked with.

use super::file::name_of;
use super::record::{End, Frame, Record, Records, State};
use crate::error::SpoolFault;
use crate::limits::{SPOOL_BYTES_MAX, SPOOL_SECTOR_BYTES};
use collect::disk::Disk;
use std::collections::VecDeque;

/// Where a record begins, or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    sequence: u64,
    at: u64,
}

/// A batch that waits for its receipt: the frames of one superframe or of several, numbered for the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// Its number in this spool, from 1.
    pub number: u64,
    /// The session in which it was accepted.
    pub session: u64,
    /// The first superframe of which it holds frames.
    pub superframe: u32,
    /// The superframe whose end closed it.
    pub closed_by: u32,
    /// How many frames it has. Never none.
    pub frames: u32,
    /// Where the first record of its frames begins, or one before that.
    start: Place,
    /// Where the record that closed it ends.
    end: Place,
}

// Each batch has a record that was synced, and with it a sector: an index entry is small beside that.
const _: () = assert!(size_of::<Pending>() * 32 <= SPOOL_SECTOR_BYTES);

/// Frames that belong to no batch yet, those of superframes that are not counted among them.
#[derive(Debug, Default)]
struct Open {
    frames: Vec<Frame>,
    /// Where the first of them is, or one before it.
    start: Option<Place>,
}

impl Open {
    /// Where others speak in a node's slot it has more than one frame, and the node's own is among them.
    fn insert(&mut self, frame: Frame, place: Place) {
        if self.frames.is_empty() {
            self.start = Some(place);
        }
        self.frames.push(frame);
    }

    fn has_until(&self, superframe: u32) -> bool {
        self.frames.iter().any(|frame| frame.superframe <= superframe)
    }

    fn forget_from(&mut self, superframe: u32) {
        self.frames.retain(|frame| frame.superframe < superframe);
    }

    /// Takes the frames up to `superframe`, in the order of their superframes and slots, in a slot as they came.
    fn take_until(&mut self, superframe: u32) -> Vec<Frame> {
        let (mut frames, rest): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.frames).into_iter().partition(|frame| frame.superframe <= superframe);
        self.frames = rest;
        frames.sort_by_key(|frame| (frame.superframe, frame.slot));
        frames
    }

    /// The oldest file that holds a part of it.
    fn oldest_sequence(&self) -> Option<u64> {
        self.start.filter(|_| !self.frames.is_empty()).map(|place| place.sequence)
    }
}

/// What is in the spool.
#[derive(Debug)]
pub(super) struct Contents {
    pub state: State,
    open: Open,
    /// By their numbers.
    pending: VecDeque<Pending>,
    /// Batches of this number and later ones are of the session.
    session_first: u64,
    /// Superframes of the session that are answered, as the last one plus 1.
    pub answered: u32,
    /// A state was read: what follows must follow from it.
    has_begun: bool,
}

impl Contents {
    pub fn new(identity: u64) -> Contents {
        let state = State { identity, session: 0, next_batch: 1, counted: 0 };
        let (open, pending) = (Open::default(), VecDeque::new());
        Contents { state, open, pending, session_first: 0, answered: 0, has_begun: false }
    }

    /// The batches that wait, oldest first.
    pub fn pending(&self) -> impl ExactSizeIterator<Item = &Pending> {
        self.pending.iter()
    }

    /// The first batch that waits and has this number or a later one.
    pub fn pending_from(&self, number: u64) -> Option<Pending> {
        self.pending.get(self.pending.partition_point(|batch| batch.number < number)).copied()
    }

    pub fn is_drained(&self) -> bool {
        self.pending.is_empty() && self.open.frames.is_empty()
    }

    pub fn has_until(&self, superframe: u32) -> bool {
        self.open.has_until(superframe)
    }

    pub fn insert(&mut self, frame: Frame, sequence: u64, at: u64) {
        self.open.insert(frame, Place { sequence, at });
    }

    pub fn forget_uncounted(&mut self) {
        self.open.forget_from(self.state.counted);
    }

    pub fn begin_session(&mut self, session: u64) {
        self.state = State { session, counted: 0, ..self.state };
        self.session_first = self.state.next_batch;
        self.open.forget_from(0);
        self.answer();
    }

    /// A record that closes `superframe`, and ends batch `number` unless that is 0, ends at `at` in file `sequence`.
    pub fn close(&mut self, superframe: u32, number: u64, sequence: u64, at: u64) -> Option<Pending> {
        self.state.counted = self.state.counted.max(superframe + 1);
        if number != 0 {
            self.state.next_batch = number + 1;
        }
        let start = self.open.start;
        let batch = start.filter(|_| number != 0 && self.has_until(superframe)).map(|start| {
            let frames = self.open.take_until(superframe);
            let batch = Pending {
                number,
                session: self.state.session,
                superframe: frames[0].superframe,
                closed_by: superframe,
                frames: frames.len() as u32,
                start,
                end: Place { sequence, at },
            };
            self.pending.push_back(batch);
            batch
        });
        self.answer();
        batch
    }

    /// Returns whether the batch was pending.
    pub fn free(&mut self, number: u64) -> bool {
        let found = self.pending.binary_search_by_key(&number, |batch| batch.number);
        if let Ok(index) = found {
            self.pending.remove(index);
            self.answer();
        }
        found.is_ok()
    }

    /// Answered is every superframe before the first that waits for a receipt, or to become a batch.
    fn answer(&mut self) {
        let pending = self.pending_from(self.session_first).map(|batch| batch.superframe);
        let open = self.open.frames.iter().map(|frame| frame.superframe);
        self.answered = open.chain(pending).min().unwrap_or(u32::MAX).min(self.state.counted);
    }

    /// The oldest file that is needed, if one is.
    pub fn oldest_sequence(&self) -> Option<u64> {
        let pending = self.pending.front().map(|batch| batch.start.sequence);
        self.open.oldest_sequence().into_iter().chain(pending).min()
    }

    /// Applies the records of file `sequence`, up to the first that is torn.
    ///
    /// # Errors
    /// [`SpoolFault::Damaged`] when something is lost that was synced, [`SpoolFault::Contradiction`].
    pub fn replay(&mut self, bytes: &[u8], sequence: u64) -> Result<(), SpoolFault> {
        let mut records = Records::new(sequence, 0, bytes);
        loop {
            match records.next() {
                Ok((record, at)) if self.agrees(&record, at) => {
                    self.apply(record, sequence, at, records.place())
                }
                Ok((_, at)) => return Err(SpoolFault::Contradiction { file: name_of(sequence), at }),
                Err(End::Damaged { at }) => return Err(SpoolFault::Damaged { file: name_of(sequence), at }),
                // The first sector was synced before anything was written behind it.
                Err(_) if records.place() == 0 && bytes.len() > SPOOL_SECTOR_BYTES => {
                    return Err(SpoolFault::Damaged { file: name_of(sequence), at: 0 });
                }
                Err(End::Whole | End::Torn) => break,
            }
        }
        Ok(())
    }

    /// Whether the record is one that we would write now, as far as that can be told.
    fn agrees(&self, record: &Record, at: u64) -> bool {
        match record {
            Record::State(state) => {
                // The oldest file says what it follows from; everything else follows from the records before.
                let is_first = at == 0 && !self.has_begun;
                let begins = State { session: state.session, counted: 0, ..self.state };
                is_first || *state == self.state || at > 0 && *state == begins
            }
            Record::Frame(_) => true,
            Record::Close { superframe, batch } => {
                *superframe >= self.state.counted.saturating_sub(1)
                    && (*batch == 0 || *batch == self.state.next_batch)
            }
            Record::Freed { batch } => *batch < self.state.next_batch,
        }
    }

    fn apply(&mut self, record: Record, sequence: u64, at: u64, end: u64) {
        match record {
            Record::State(state) if state.session == self.state.session || at == 0 => {
                self.has_begun = true;
                self.state = state;
                self.forget_uncounted();
                self.answer();
            }
            Record::State(state) => self.begin_session(state.session),
            Record::Frame(frame) => self.insert(frame, sequence, at),
            Record::Close { superframe, batch } => {
                self.close(superframe, batch, sequence, end);
            }
            Record::Freed { batch } => {
                self.free(batch);
            }
        }
    }
}

/// Reads the frames of a batch that waits, in the order of their superframes and slots.
///
/// # Errors
/// What the disk says, and [`SpoolFault::Damaged`] when not all of the batch is there any more.
pub fn read<D: Disk>(disk: &D, batch: &Pending) -> Result<Vec<Frame>, SpoolFault> {
    let Pending { start, end, .. } = *batch;
    let mut open = Open::default();
    let mut ended_at = start.at;
    for sequence in start.sequence..=end.sequence {
        let from = if sequence == start.sequence { start.at } else { 0 };
        let until = if sequence == end.sequence { end.at } else { SPOOL_BYTES_MAX };
        let bytes = disk.read_at(&name_of(sequence), from, until - from)?;
        let mut records = Records::new(sequence, from, &bytes);
        loop {
            match records.next() {
                Ok((Record::State(state), _)) => open.forget_from(state.counted),
                Ok((Record::Frame(frame), at)) => open.insert(frame, Place { sequence, at }),
                Ok((Record::Close { superframe, batch: number }, _)) if number != 0 => {
                    let frames = open.take_until(superframe);
                    if number == batch.number && frames.len() == batch.frames as usize {
                        return Ok(frames);
                    }
                }
                Ok((Record::Close { .. } | Record::Freed { .. }, _)) => {}
                Err(End::Damaged { at }) => return Err(SpoolFault::Damaged { file: name_of(sequence), at }),
                Err(End::Whole | End::Torn) => break,
            }
        }
        ended_at = records.place();
    }
    Err(SpoolFault::Damaged { file: name_of(end.sequence), at: ended_at })
}
