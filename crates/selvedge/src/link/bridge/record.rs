//! The records of a spool's files: what they say, and their bytes, which `spool` draws.
//!
//! Owns the format. Leaves what the records mean together, and when they are durable, to `spool`.
//!
//! Invariant: reading is total. Bytes that are no whole record end what is read, whatever they are.

use crate::limits::SPOOL_SECTOR_BYTES;
use std::iter;

const STATE: u8 = 1;
const FRAME: u8 = 2;
const CLOSE: u8 = 3;
const FREED: u8 = 4;
/// In place of a kind: nothing more in this sector.
const PADDING: u8 = 0;
/// Kind and length.
const HEAD_BYTES: usize = 5;
const CRC_BYTES: usize = 4;
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

    /// The reverse of [`Frame::encode`]; `None` when there are too few bytes, or no superframe of that number.
    pub fn parse(bytes: &[u8]) -> Option<Frame> {
        let (superframe, rest) = bytes.split_first_chunk()?;
        let (slot, rest) = rest.split_first()?;
        let (received_ps, bytes) = rest.split_first_chunk()?;
        Some(Frame {
            superframe: superframe_of(*superframe)?,
            slot: *slot,
            received_ps: u64::from_le_bytes(*received_ps),
            bytes: bytes.to_vec(),
        })
    }
}

/// A superframe's number. The last `u32` is none: the count of superframes up to it would not be one.
pub(super) fn superframe_of(bytes: [u8; 4]) -> Option<u32> {
    Some(u32::from_le_bytes(bytes)).filter(|superframe| *superframe != u32::MAX)
}

/// What the records say so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    pub identity: u64,
    pub session: u64,
    pub next_batch: u64,
    /// Superframes of the session that are on disk, as the last one plus 1.
    pub counted: u32,
    /// Superframes of the session that are answered, as the last one plus 1.
    pub answered: u32,
}

/// One record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Record {
    State(State),
    Frame(Frame),
    /// Everything of the superframe is here, and belongs to the batch; 0 = to that of a later superframe.
    Close {
        superframe: u32,
        batch: u64,
    },
    /// The batch has its receipt.
    Freed {
        batch: u64,
    },
}

impl Record {
    /// The bytes of the record.
    pub fn encode(&self) -> Vec<u8> {
        let (kind, body) = match self {
            Record::State(state) => (STATE, state.encode()),
            Record::Frame(frame) => (FRAME, frame.encode()),
            Record::Close { superframe, batch } => (CLOSE, place(*superframe, *batch)),
            Record::Freed { batch } => (FREED, place(0, *batch)),
        };
        let mut bytes = Vec::with_capacity(HEAD_BYTES + body.len() + CRC_BYTES);
        bytes.push(kind);
        bytes.extend((body.len() as u32).to_le_bytes());
        bytes.extend(body);
        bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
        bytes
    }

    /// The records of a file, up to the first that is torn.
    pub fn read_all(bytes: &[u8]) -> impl Iterator<Item = Record> {
        let mut at = 0;
        iter::from_fn(move || {
            if bytes.get(at) == Some(&PADDING) {
                at = at.next_multiple_of(SPOOL_SECTOR_BYTES);
            }
            let rest = bytes.get(at..)?;
            let (record, after) = Record::next(rest)?;
            at += rest.len() - after.len();
            Some(record)
        })
    }

    /// What fills a file of `file_bytes` up to the end of its sector.
    pub fn padding(file_bytes: u64) -> Vec<u8> {
        vec![PADDING; (file_bytes.next_multiple_of(SPOOL_SECTOR_BYTES as u64) - file_bytes) as usize]
    }

    fn next(bytes: &[u8]) -> Option<(Record, &[u8])> {
        let length = u32::from_le_bytes(bytes.get(1..)?.first_chunk().copied()?) as usize;
        if length > BODY_BYTES_MAX {
            return None;
        }
        let (record, after) = bytes.split_at_checked(HEAD_BYTES + length + CRC_BYTES)?;
        let (content, crc) = record.split_at(HEAD_BYTES + length);
        if crc32c::crc32c(content).to_le_bytes() != crc {
            return None;
        }
        Some((Record::parse(content[0], &content[HEAD_BYTES..])?, after))
    }

    fn parse(kind: u8, body: &[u8]) -> Option<Record> {
        match kind {
            STATE => State::parse(body).map(Record::State),
            FRAME => Frame::parse(body).map(Record::Frame),
            CLOSE => parse_place(body).map(|(superframe, batch)| Record::Close { superframe, batch }),
            FREED => parse_place(body).map(|(_, batch)| Record::Freed { batch }),
            _ => None,
        }
    }
}

impl State {
    fn encode(&self) -> Vec<u8> {
        let numbers = [self.identity, self.session, self.next_batch].map(u64::to_le_bytes);
        let counts = [self.counted, self.answered].map(u32::to_le_bytes);
        [numbers.as_flattened(), counts.as_flattened()].concat()
    }

    fn parse(body: &[u8]) -> Option<State> {
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
}

fn place(superframe: u32, batch: u64) -> Vec<u8> {
    [&superframe.to_le_bytes()[..], &batch.to_le_bytes()[..]].concat()
}

fn parse_place(body: &[u8]) -> Option<(u32, u64)> {
    let (superframe, batch) = body.split_first_chunk()?;
    let batch = u64::from_le_bytes(batch.try_into().ok()?);
    // Numbers rise by one from 1: nobody has written the last one.
    (batch != u64::MAX).then_some((superframe_of(*superframe)?, batch))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record() -> impl Strategy<Value = Record> {
        let bytes = proptest::collection::vec(any::<u8>(), 0..=cell::limits::FRAME_BYTES_MAX);
        let (superframe, batch) = (0..u32::MAX, 0..u64::MAX);
        prop_oneof![
            (any::<[u64; 3]>(), any::<[u32; 2]>()).prop_map(|([identity, session, next_batch], counts)| {
                let [counted, answered] = counts;
                Record::State(State { identity, session, next_batch, counted, answered })
            }),
            (superframe.clone(), any::<u8>(), any::<u64>(), bytes).prop_map(
                |(superframe, slot, received_ps, bytes)| {
                    Record::Frame(Frame { superframe, slot, received_ps, bytes })
                }
            ),
            (superframe, batch.clone()).prop_map(|(superframe, batch)| Record::Close { superframe, batch }),
            batch.prop_map(|batch| Record::Freed { batch }),
        ]
    }

    fn encode(records: &[Record]) -> Vec<u8> {
        records.iter().flat_map(Record::encode).collect()
    }

    proptest! {
        #[test]
        fn records_read_back_as_they_were_written(records in proptest::collection::vec(record(), 0..8)) {
            let bytes = encode(&records);
            prop_assert_eq!(Record::read_all(&bytes).collect::<Vec<_>>(), records);
        }

        #[test]
        fn what_was_written_before_a_torn_byte_is_read_and_nothing_else(
            records in proptest::collection::vec(record(), 1..6),
            at in any::<prop::sample::Index>(),
            mask in 1..=u8::MAX,
        ) {
            let mut bytes = encode(&records);
            let at = at.index(bytes.len());
            let whole = (0..records.len()).take_while(|count| encode(&records[..*count + 1]).len() <= at).count();
            bytes[at] ^= mask;
            prop_assert_eq!(Record::read_all(&bytes).collect::<Vec<_>>(), &records[..whole]);
            prop_assert_eq!(Record::read_all(&bytes[..at]).collect::<Vec<_>>(), &records[..whole]);
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = Record::read_all(&bytes).count();
        }
    }

    #[test]
    fn numbers_that_nobody_writes_end_what_is_read() {
        let frame = Frame { superframe: u32::MAX, slot: 1, received_ps: 1, bytes: vec![1] };
        for record in [
            Record::Frame(frame),
            Record::Close { superframe: u32::MAX, batch: 1 },
            Record::Close { superframe: 1, batch: u64::MAX },
        ] {
            assert_eq!(Record::read_all(&record.encode()).count(), 0, "{record:?}");
        }
    }
}
