//! The records of a spool's files: what they say, and their bytes, which `spool` draws.
//!
//! Owns the format. Leaves what the records mean together, and when they are durable, to `spool`.
//!
//! Invariant: reading is total. Bytes that are no whole record end what is read, whatever they are.

use crate::limits::SPOOL_SECTOR_BYTES;

const STATE: u8 = 1;
const FRAME: u8 = 2;
const CLOSE: u8 = 3;
const FREED: u8 = 4;
/// In place of a kind: nothing more in this sector.
const PADDING: u8 = 0;
/// Kind, length and group.
const HEAD_BYTES: usize = 9;
const CRC_BYTES: usize = 4;
/// The longest body: a frame of the bus and its place.
const BODY_BYTES_MAX: usize = 13 + cell::limits::FRAME_BYTES_MAX;
const SECTOR_BYTES: u64 = SPOOL_SECTOR_BYTES as u64;

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
    /// The bytes of the record in file `sequence`, in the group that begins in sector `group`.
    pub fn encode(&self, sequence: u64, group: u32) -> Vec<u8> {
        let (kind, body) = match self {
            Record::State(state) => (STATE, state.encode()),
            Record::Frame(frame) => (FRAME, frame.encode()),
            Record::Close { superframe, batch } => (CLOSE, place(*superframe, *batch)),
            Record::Freed { batch } => (FREED, place(0, *batch)),
        };
        let mut bytes = Vec::with_capacity(HEAD_BYTES + body.len() + CRC_BYTES);
        bytes.push(kind);
        bytes.extend((body.len() as u32).to_le_bytes());
        bytes.extend(group.to_le_bytes());
        bytes.extend(body);
        bytes.extend(crc(sequence, &bytes));
        bytes
    }

    /// What fills a file of `file_bytes` up to the end of its sector.
    pub fn padding(file_bytes: u64) -> Vec<u8> {
        vec![PADDING; (file_bytes.next_multiple_of(SECTOR_BYTES) - file_bytes) as usize]
    }

    /// The record that `bytes` begin with, its group and its length.
    fn next(sequence: u64, bytes: &[u8]) -> Option<(Record, u32, usize)> {
        let four = |at: usize| bytes.get(at..)?.first_chunk().copied().map(u32::from_le_bytes);
        let (length, group) = (four(1)? as usize, four(5)?);
        if length > BODY_BYTES_MAX {
            return None;
        }
        let record = bytes.get(..HEAD_BYTES + length + CRC_BYTES)?;
        let (content, found) = record.split_at(HEAD_BYTES + length);
        if crc(sequence, content) != found {
            return None;
        }
        Some((Record::parse(content[0], &content[HEAD_BYTES..])?, group, record.len()))
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

/// A record of another file, which an old block of the disk may hold, is none.
fn crc(sequence: u64, content: &[u8]) -> [u8; CRC_BYTES] {
    crc32c::crc32c_append(crc32c::crc32c(&sequence.to_le_bytes()), content).to_le_bytes()
}

/// Where reading a file ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// At the end of the file.
    Whole,
    /// At bytes of the last group that are no record. It was being written, and nobody was told that it is durable.
    Torn,
    /// At bytes that are no record although a later group was begun, for which these must have been synced.
    Damaged {
        /// Where in the file.
        at: u64,
    },
}

/// Reads the records of a file, or of a part of one, in their order.
///
/// A group is what is made durable by one sync; it begins in a sector of its own, which its records name. So zeros
/// in a sector that was lost are not taken for the end of a group, and what follows a loss tells whether it may be
/// one: a group is begun only after everything before it was synced.
pub(super) struct Records<'a> {
    sequence: u64,
    bytes: &'a [u8],
    /// Where in the file `bytes` begin.
    first: u64,
    at: usize,
    /// The sector in which the group begins that is being read; `None` before the first record.
    group: Option<u32>,
}

impl<'a> Records<'a> {
    /// `bytes` are what file `sequence` holds from byte `first` on, at which a record begins.
    pub fn new(sequence: u64, first: u64, bytes: &'a [u8]) -> Records<'a> {
        Records { sequence, bytes, first, at: 0, group: None }
    }

    /// Where the next record begins, or the last one has ended.
    pub fn place(&self) -> u64 {
        self.first + self.at as u64
    }

    /// The next record and where it begins.
    pub fn next(&mut self) -> Result<(Record, u64), End> {
        let sector = self.place().next_multiple_of(SECTOR_BYTES);
        let padded_to = ((sector - self.first) as usize).min(self.bytes.len());
        // All of it: a kind that was torn to a zero is no padding.
        let padding = &self.bytes[self.at..padded_to];
        let after_padding = !padding.is_empty() && padding.iter().all(|&byte| byte == PADDING);
        if after_padding {
            self.at = padded_to;
        }
        if self.at == self.bytes.len() {
            return Err(End::Whole);
        }
        let place = self.place();
        let own = (place / SECTOR_BYTES) as u32;
        match Record::next(self.sequence, &self.bytes[self.at..]) {
            Some((record, group, bytes))
                if self.is_at_sector() && group == own
                    || !after_padding && self.group.unwrap_or(group) == group =>
            {
                self.group = Some(group);
                self.at += bytes;
                Ok((record, place))
            }
            _ => Err(self.end()),
        }
    }

    fn is_at_sector(&self) -> bool {
        self.place().is_multiple_of(SECTOR_BYTES)
    }

    /// What it means that there is no record here.
    fn end(&self) -> End {
        let here = self.place();
        let mut sector = (here + 1).next_multiple_of(SECTOR_BYTES);
        while let Some(bytes) =
            self.bytes.get((sector - self.first) as usize..).filter(|rest| !rest.is_empty())
        {
            match Record::next(self.sequence, bytes) {
                Some((_, group, _)) if u64::from(group) * SECTOR_BYTES > here => {
                    return End::Damaged { at: here };
                }
                _ => sector += SECTOR_BYTES,
            }
        }
        End::Torn
    }
}

impl State {
    fn encode(&self) -> Vec<u8> {
        let numbers = [self.identity, self.session, self.next_batch].map(u64::to_le_bytes);
        [numbers.as_flattened(), &self.counted.to_le_bytes()].concat()
    }

    fn parse(body: &[u8]) -> Option<State> {
        let body: &[u8; 28] = body.try_into().ok()?;
        let eight = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| body[at + i]));
        let counted = u32::from_le_bytes(std::array::from_fn(|i| body[24 + i]));
        Some(State { identity: eight(0), session: eight(8), next_batch: eight(16), counted })
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
            (any::<[u64; 3]>(), any::<u32>()).prop_map(|([identity, session, next_batch], counted)| {
                Record::State(State { identity, session, next_batch, counted })
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

    const SEQUENCE: u64 = 3;

    fn encode(records: &[Record]) -> Vec<u8> {
        records.iter().flat_map(|record| record.encode(SEQUENCE, 0)).collect()
    }

    /// The records of a file, and how it ends.
    fn read(bytes: &[u8]) -> (Vec<Record>, End) {
        let mut records = Records::new(SEQUENCE, 0, bytes);
        let mut found = Vec::new();
        loop {
            match records.next() {
                Ok((record, _)) => found.push(record),
                Err(end) => return (found, end),
            }
        }
    }

    proptest! {
        #[test]
        fn records_read_back_as_they_were_written(
            groups in proptest::collection::vec(proptest::collection::vec(record(), 1..20), 0..4),
        ) {
            let mut bytes = Vec::new();
            for group in &groups {
                let begins = (bytes.len() / SPOOL_SECTOR_BYTES) as u32;
                group.iter().for_each(|record| bytes.extend(record.encode(SEQUENCE, begins)));
                bytes.extend(Record::padding(bytes.len() as u64));
            }
            prop_assert_eq!(read(&bytes), (groups.concat(), End::Whole));
        }

        #[test]
        fn what_was_written_before_a_torn_byte_is_read_and_nothing_else(
            records in proptest::collection::vec(record(), 1..40),
            at in any::<prop::sample::Index>(),
            mask in 1..=u8::MAX,
        ) {
            let mut bytes = encode(&records);
            let at = at.index(bytes.len());
            let whole = (0..records.len()).take_while(|count| encode(&records[..*count + 1]).len() <= at).count();
            bytes[at] ^= mask;
            prop_assert_eq!(read(&bytes), (records[..whole].to_vec(), End::Torn));
            prop_assert_eq!(read(&bytes[..at]).0, &records[..whole]);
        }

        #[test]
        fn a_torn_byte_before_a_later_group_is_damage(
            records in proptest::collection::vec(record(), 1..40),
            at in any::<prop::sample::Index>(),
            mask in 1..=u8::MAX,
        ) {
            let mut bytes = encode(&records);
            let at = at.index(bytes.len());
            let whole = (0..records.len()).take_while(|count| encode(&records[..*count + 1]).len() <= at).count();
            bytes.extend(Record::padding(bytes.len() as u64));
            let later = (bytes.len() / SPOOL_SECTOR_BYTES) as u32;
            bytes.extend(Record::Freed { batch: 1 }.encode(SEQUENCE, later));
            bytes[at] ^= mask;
            let damaged = End::Damaged { at: encode(&records[..whole]).len() as u64 };
            prop_assert_eq!(read(&bytes), (records[..whole].to_vec(), damaged));
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            read(&bytes);
        }
    }

    #[test]
    fn a_kind_that_was_torn_to_zero_is_no_padding() {
        let mut bytes = encode(&[Record::Freed { batch: 1 }, Record::Freed { batch: 2 }]);
        let second = bytes.len() / 2;
        bytes.extend(Record::padding(bytes.len() as u64));
        let later = (bytes.len() / SPOOL_SECTOR_BYTES) as u32;
        bytes.extend(Record::Freed { batch: 3 }.encode(SEQUENCE, later));
        bytes[second] = PADDING;
        assert_eq!(read(&bytes), (vec![Record::Freed { batch: 1 }], End::Damaged { at: second as u64 }));
    }

    #[test]
    fn a_record_of_another_file_is_none() {
        let record = Record::Freed { batch: 1 };
        assert_eq!(read(&record.encode(SEQUENCE, 0)), (vec![record.clone()], End::Whole));
        assert_eq!(read(&record.encode(SEQUENCE + 1, 0)), (vec![], End::Torn));
    }

    #[test]
    fn numbers_that_nobody_writes_end_what_is_read() {
        let frame = Frame { superframe: u32::MAX, slot: 1, received_ps: 1, bytes: vec![1] };
        for record in [
            Record::Frame(frame),
            Record::Close { superframe: u32::MAX, batch: 1 },
            Record::Close { superframe: 1, batch: u64::MAX },
        ] {
            assert_eq!(read(&record.encode(SEQUENCE, 0)), (vec![], End::Torn), "{record:?}");
        }
    }
}
