//! The plaintext of one record of the log: a stored frame, a reservation of downlink counters, or a change of the epoch.
//!
//! ```text
//! kind 1, stored frame                                  kind 2, reservation
//!  0  1  kind; bits 4 to 6, ADC channel                  0  1  kind
//!  1  4  node                                            1  4  node
//!  5  1  epoch                                           5  1  epoch
//!  6  4  counter                                         6  4  limit: every downlink count
//! 10  1  suite (its number in the frame)                       below it may have been used
//! 11  2  cell          \
//! 13  4  superframe     | where and when the            kind 3, change of the epoch
//! 17  1  slot           | gateway received it            0  1  kind
//! 18  8  received, ps of cell time                       1  4  node
//! 26  8  arrival at the server, ns since 1970            5  1  epoch that the node is in
//! 34  8  spool         \  which batch brought it         6  1  next: it may have been told to go on to it
//! 42  8  batch number  /
//! 50  4  grid index of the first sample
//! 54  8  its nominal instant, ps of cell time
//! 62  1  number of samples s
//! 63 2s  samples, 16 bits each
//! ```
//! Integers are little-endian. `segment` seals these bytes; here is only what they mean.

use zeroize::Zeroizing;

use crate::batch::BatchId;
use crate::frame::{kind_with, split_kind};
use crate::limits::{COUNT_MAX, RECORD_BODY_BYTES_MAX, SAMPLES_MAX};
use cipher::Suite;

const KIND_FRAME: u8 = 1;
const KIND_RESERVATION: u8 = 2;
const KIND_CHANGE: u8 = 3;
const FRAME_HEAD_BYTES: usize = 63;
const RESERVATION_BYTES: usize = 10;
const CHANGE_RECORD_BYTES: usize = 7;

const _: () = assert!(FRAME_HEAD_BYTES + 2 * SAMPLES_MAX == RECORD_BODY_BYTES_MAX);

/// A stored frame: what the node measured, when, and how it got here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The node.
    pub node: u32,
    /// The epoch of the node's key.
    pub epoch: u8,
    /// The frame's count. Unique for a node and epoch.
    pub counter: u32,
    /// The suite that sealed the frame.
    pub suite: Suite,
    /// The batch that brought it first; its cell is the cell of the frame.
    pub batch: BatchId,
    /// The superframe in which the gateway received it.
    pub superframe: u32,
    /// The slot in which the gateway received it.
    pub slot: u8,
    /// When the gateway received it, in picoseconds of cell time.
    pub received_ps: u64,
    /// When the server received its batch, in nanoseconds since 1970.
    pub arrived_ns: u64,
    /// Grid index of the first sample.
    pub first: u32,
    /// Nominal instant of the first sample, in picoseconds of cell time (`u64::MAX` = beyond that).
    pub sample_ps: u64,
    /// The ADC channel that they were converted from.
    pub channel: u8,
    /// The samples, as ADC codes.
    pub samples: Vec<u16>,
}

/// Downlink counters that may have been used, whatever happened after the record was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// The node.
    pub node: u32,
    /// The epoch of the node's key.
    pub epoch: u8,
    /// Every downlink count below it may have been used.
    pub limit: u32,
}

/// A change of the epoch that a node may have been told, whatever happened after the record was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The node.
    pub node: u32,
    /// The epoch that it is in.
    pub epoch: u8,
    /// The later one that it is told.
    pub next: u8,
}

/// What a record of the log holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// A stored frame.
    Frame(Record),
    /// A reservation of downlink counters.
    Reservation(Reservation),
    /// A change of a node's epoch.
    Change(Change),
}

impl Body {
    /// The bytes to be sealed. They are wiped when they are dropped.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(RECORD_BODY_BYTES_MAX));
        match self {
            Body::Frame(record) => record.write(&mut bytes),
            Body::Reservation(reservation) => {
                bytes.push(KIND_RESERVATION);
                bytes.extend_from_slice(&reservation.node.to_le_bytes());
                bytes.push(reservation.epoch);
                bytes.extend_from_slice(&reservation.limit.to_le_bytes());
            }
            Body::Change(Change { node, epoch, next }) => {
                bytes.push(KIND_CHANGE);
                bytes.extend_from_slice(&node.to_le_bytes());
                bytes.extend_from_slice(&[*epoch, *next]);
            }
        }
        bytes
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote; `None` for anything else.
    pub fn parse(bytes: &[u8]) -> Option<Body> {
        let four = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let eight = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let (&kind, node, &epoch) = (bytes.first()?, four(1)?, bytes.get(5)?);
        if kind == KIND_RESERVATION && bytes.len() == RESERVATION_BYTES {
            let limit = four(6).filter(|&limit| limit <= COUNT_MAX + 1)?;
            return Some(Body::Reservation(Reservation { node, epoch, limit }));
        }
        if kind == KIND_CHANGE && bytes.len() == CHANGE_RECORD_BYTES {
            let next = Some(bytes[6]).filter(|&next| next > epoch)?;
            return Some(Body::Change(Change { node, epoch, next }));
        }
        let (kind, channel) = split_kind(kind);
        if kind != KIND_FRAME || bytes.len() < FRAME_HEAD_BYTES {
            return None;
        }
        let samples = &bytes[FRAME_HEAD_BYTES..];
        if samples.len() != 2 * usize::from(bytes[62]) {
            return None;
        }
        let cell = u16::from_le_bytes([bytes[11], bytes[12]]);
        Some(Body::Frame(Record {
            node,
            epoch,
            counter: four(6).filter(|&counter| counter <= COUNT_MAX)?,
            suite: Suite::from_node_number(bytes[10])?,
            batch: BatchId { cell, spool: eight(34)?, number: eight(42)? },
            superframe: four(13)?,
            slot: bytes[17],
            received_ps: eight(18)?,
            arrived_ns: eight(26)?,
            first: four(50)?,
            sample_ps: eight(54)?,
            channel,
            samples: samples.chunks_exact(2).map(|two| u16::from_le_bytes([two[0], two[1]])).collect(),
        }))
    }
}

impl Record {
    fn write(&self, bytes: &mut Vec<u8>) {
        assert!(self.samples.len() <= SAMPLES_MAX, "{} samples do not fit a record", self.samples.len());
        bytes.push(kind_with(KIND_FRAME, self.channel));
        bytes.extend_from_slice(&self.node.to_le_bytes());
        bytes.push(self.epoch);
        bytes.extend_from_slice(&self.counter.to_le_bytes());
        bytes.push(self.suite.row().node_number.expect("the suite is one of the node link's"));
        bytes.extend_from_slice(&self.batch.cell.to_le_bytes());
        bytes.extend_from_slice(&self.superframe.to_le_bytes());
        bytes.push(self.slot);
        for field in [self.received_ps, self.arrived_ns, self.batch.spool, self.batch.number] {
            bytes.extend_from_slice(&field.to_le_bytes());
        }
        bytes.extend_from_slice(&self.first.to_le_bytes());
        bytes.extend_from_slice(&self.sample_ps.to_le_bytes());
        bytes.push(self.samples.len() as u8);
        bytes.extend(self.samples.iter().flat_map(|sample| sample.to_le_bytes()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    prop_compose! {
        fn any_record()(
            (node, epoch, counter) in (any::<u32>(), any::<u8>(), 0..=COUNT_MAX),
            suite in prop_oneof![Just(Suite::AsconAead128), Just(Suite::Aes128Ccm)],
            (cell, spool, number) in any::<(u16, u64, u64)>(),
            (superframe, slot, received_ps, arrived_ns) in any::<(u32, u8, u64, u64)>(),
            (first, sample_ps, channel) in (any::<u32>(), any::<u64>(), 0u8..8),
            samples in prop::collection::vec(any::<u16>(), 0..=SAMPLES_MAX),
        ) -> Record {
            let batch = BatchId { cell, spool, number };
            Record {
                node, epoch, counter, suite, batch, superframe, slot, received_ps, arrived_ns, first, sample_ps,
                channel, samples,
            }
        }
    }

    proptest! {
        #[test]
        fn bodies_survive_their_bytes(
            record in any_record(),
            (node, epoch, limit) in (any::<u32>(), any::<u8>(), 0..=COUNT_MAX + 1),
        ) {
            let change = Change { node, epoch: epoch / 2, next: epoch / 2 + 1 };
            for body in [
                Body::Frame(record),
                Body::Reservation(Reservation { node, epoch, limit }),
                Body::Change(change),
            ] {
                let bytes = body.to_bytes();
                prop_assert_eq!(Body::parse(&bytes), Some(body));
                prop_assert_eq!(Body::parse(&bytes[..bytes.len() - 1]), None);
            }
        }

        #[test]
        fn no_bytes_make_the_parser_panic(kind in 0u8..4, bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Body::parse(&bytes);
            let _ = Body::parse(&[&[kind], &bytes[..]].concat());
        }
    }
}
