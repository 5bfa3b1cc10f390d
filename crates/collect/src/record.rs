//! The plaintext of one record of the log: a stored frame, a reservation of downlink counters, a change of the epoch, an
//! order, the store's clock; and what a segment begins with: what is known from the segments before it, and for which lease
//! the log is.
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
//! 50  8  grid index of the first sample
//! 58  8  its nominal instant, ps of cell time
//! 66  4  how far the instant may be off, ns
//! 70  1  format (waveform)
//! 71  1  stride less 1: the samples are every so
//!        manieth of the grid
//! 72  n  samples, to the end
//!
//! kind 4, stored counters          kind 5, epoch of a node           kind 6, what the segment before holds of a node
//!  0  1  kind                       0  1  kind                        0  1  kind
//!  1  4  node                       1  4  node                        1  4  node
//!  5  1  epoch                      5  1  epoch that it is in         5  1  zero
//!  6  4  floor: what is below       6  4  stored frames of it         6  4  stored frames
//!        is forgotten              10 6n  changes that it was told:  10 16  instants of their first samples: the
//! 10 8n  ranges: first 4, last 4          from 1, to 1, lowest              earliest, the latest; ps of cell time
//!                                         count stored of `to` 4     26 16  arrivals: the earliest, the latest; ns
//!                                         (2^32 - 1: none)                  since 1970
//!
//! kind 7, lease of a partition     kind 8, order
//!  0  1  kind                       0  1  kind
//!  1  4  partition                  1  4  node
//!  5  5  zero                       5  1  1: a frame showed that the node does it
//! 10  8  fencing number             6  4  first sample of the first frame that was stored behind
//!                                         the order (2^32 - 1: none yet)
//!                                  10  1  input that it is to convert (255: not said)
//!                                  11  1  stride that it is to have (0: not said)
//!
//! kind 9, the store's clock
//!  0  1  kind
//!  1  8  what it says, ns
//! ```
//! A stored frame of a suite without a tag (13, `aes-128-cbc`) is marked by that: nobody knows whether it was its node's.
//!
//! Integers are little-endian. `segment` seals these bytes; here is only what they mean.

use zeroize::Zeroizing;

use crate::batch::BatchId;
use crate::frame::{kind_with, split_kind};
use crate::limits::{CHANNEL_MAX, COUNT_MAX, RECORD_BODY_BYTES_MAX, RECORD_HEAD_BYTES};
use crate::waveform::{Format, Waveform};
use cipher::Suite;

const KIND_FRAME: u8 = 1;
const KIND_RESERVATION: u8 = 2;
const KIND_CHANGE: u8 = 3;
const KIND_COUNTERS: u8 = 4;
const KIND_EPOCH: u8 = 5;
const KIND_SPAN: u8 = 6;
const KIND_LEASE: u8 = 7;
const KIND_ORDER: u8 = 8;
const KIND_CLOCK: u8 = 9;
const ORDER_BYTES: usize = 12;
const NO_CHANNEL: u8 = u8::MAX;
const STATE_HEAD_BYTES: usize = 10;
const RANGE_BYTES: usize = 8;
const TOLD_BYTES: usize = 6;
const SPAN_BYTES: usize = 42;
const NO_COUNT: u32 = u32::MAX;
/// Most ranges of one record: a set with more has several records.
pub const RANGES_PER_RECORD: usize = (RECORD_BODY_BYTES_MAX - STATE_HEAD_BYTES) / RANGE_BYTES;
const RESERVATION_BYTES: usize = 10;
const CHANGE_RECORD_BYTES: usize = 7;
const CLOCK_BYTES: usize = 9;

/// A stored frame: what the node measured, when, and how it got here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The node.
    pub node: u32,
    /// The epoch of the node's key.
    pub epoch: u8,
    /// The frame's count. Unique for a node and epoch.
    pub counter: u32,
    /// The suite that sealed the frame. One without a tag says that it may be anybody's.
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
    pub first: u64,
    /// Nominal instant of the first sample, in picoseconds of cell time (`u64::MAX` = beyond that).
    pub sample_ps: u64,
    /// How far the instant may be off, in nanoseconds (`u32::MAX` = nobody knows).
    pub uncertainty_ns: u32,
    /// The channel that they were converted from.
    pub channel: u8,
    /// They are every so manieth of the grid; at least 1.
    pub stride: u8,
    /// The samples.
    pub waveform: Waveform,
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

/// What a node was ordered to do, and how far that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ordered {
    /// The node.
    pub node: u32,
    /// The input that it is to convert.
    pub channel: Option<u8>,
    /// The stride that it is to have.
    pub stride: Option<u8>,
    /// First sample of the first frame that was stored behind the order.
    pub since: Option<u32>,
    /// A frame showed that the node does it.
    pub is_done: bool,
}

/// Stored counters of a node and epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters {
    /// The node.
    pub node: u32,
    /// The epoch of the node's key.
    pub epoch: u8,
    /// What is below was forgotten.
    pub floor: u32,
    /// First and last counter of each range, in order; no two touch.
    pub ranges: Vec<(u32, u32)>,
}

/// In which epoch a node is, and what it was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeEpoch {
    /// The node.
    pub node: u32,
    /// The latest epoch of which a frame is stored.
    pub epoch: u8,
    /// Its stored frames.
    pub frames: u32,
    /// Changes that the node was told, in order.
    pub changes: Vec<Told>,
}

/// A change that a node was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// The epoch before.
    pub from: u8,
    /// The epoch after.
    pub to: u8,
    /// The lowest count that is stored of `to`.
    pub first: Option<u32>,
}

/// What a segment holds of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The node.
    pub node: u32,
    /// Its stored frames.
    pub frames: u32,
    /// The earliest and the latest instant of their first samples, in picoseconds of cell time.
    pub sample_ps: (u64, u64),
    /// The earliest and the latest arrival, in nanoseconds since 1970.
    pub arrived_ns: (u64, u64),
}

/// For whom a log of several is: only the owner under this lease ever appended to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The partition.
    pub partition: u16,
    /// Rises with every owner of the partition.
    pub fencing: u64,
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
    /// Counters that were stored before the segment.
    Counters(Counters),
    /// In which epoch a node was before the segment.
    Epoch(NodeEpoch),
    /// What the segment before holds of a node.
    Span(Span),
    /// The lease under which the log is written.
    Lease(Lease),
    /// What a node was ordered.
    Order(Ordered),
    /// What the store's clock said, in nanoseconds: how long somebody had it open.
    Clock(u64),
}

/// What is drawn of a stored frame, where it lies.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) node: u32,
    pub(crate) epoch: u8,
    pub(crate) counter: u32,
    pub(crate) first: u64,
    pub(crate) channel: u8,
    pub(crate) stride: u8,
    pub(crate) format: Format,
    pub(crate) samples: &'a [u8],
}

/// Looks at a record that this process wrote, and copies nothing; `None` when it is no frame.
pub(crate) fn look(bytes: &[u8]) -> Option<Seen<'_>> {
    let (kind, channel) = split_kind(*bytes.first()?);
    let (head, samples) = bytes.split_at_checked(RECORD_HEAD_BYTES).filter(|_| kind == KIND_FRAME)?;
    let four = |at: usize| head[at..at + 4].try_into().map(u32::from_le_bytes).ok();
    Some(Seen {
        node: four(1)?,
        epoch: head[5],
        counter: four(6)?,
        first: u64::from_le_bytes(head[50..58].try_into().ok()?),
        channel,
        stride: head[71].checked_add(1)?,
        format: Format::from_number(head[70])?,
        samples,
    })
}

impl Body {
    /// The bytes to be sealed. They are wiped when they are dropped.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let bytes_max = match self {
            Body::Frame(record) => RECORD_HEAD_BYTES + record.waveform.bytes().len(),
            Body::Counters(counters) => STATE_HEAD_BYTES + RANGE_BYTES * counters.ranges.len(),
            Body::Epoch(epoch) => STATE_HEAD_BYTES + TOLD_BYTES * epoch.changes.len(),
            Body::Reservation(_)
            | Body::Change(_)
            | Body::Span(_)
            | Body::Lease(_)
            | Body::Order(_)
            | Body::Clock(_) => SPAN_BYTES,
        };
        let mut bytes = Zeroizing::new(Vec::with_capacity(bytes_max));
        match self {
            Body::Frame(record) => record.write(record.waveform.bytes(), &mut bytes),
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
            Body::Counters(Counters { node, epoch, floor, ranges }) => {
                assert!(ranges.len() <= RANGES_PER_RECORD, "{} ranges do not fit a record", ranges.len());
                state_head(&mut bytes, KIND_COUNTERS, *node, *epoch, *floor);
                for (first, last) in ranges {
                    bytes.extend_from_slice(&first.to_le_bytes());
                    bytes.extend_from_slice(&last.to_le_bytes());
                }
            }
            Body::Epoch(NodeEpoch { node, epoch, frames, changes }) => {
                state_head(&mut bytes, KIND_EPOCH, *node, *epoch, *frames);
                for Told { from, to, first } in changes {
                    bytes.extend_from_slice(&[*from, *to]);
                    bytes.extend_from_slice(&first.unwrap_or(NO_COUNT).to_le_bytes());
                }
            }
            Body::Span(Span { node, frames, sample_ps, arrived_ns }) => {
                state_head(&mut bytes, KIND_SPAN, *node, 0, *frames);
                for field in [sample_ps.0, sample_ps.1, arrived_ns.0, arrived_ns.1] {
                    bytes.extend_from_slice(&field.to_le_bytes());
                }
            }
            Body::Lease(Lease { partition, fencing }) => {
                state_head(&mut bytes, KIND_LEASE, (*partition).into(), 0, 0);
                bytes.extend_from_slice(&fencing.to_le_bytes());
            }
            Body::Order(Ordered { node, channel, stride, since, is_done }) => {
                state_head(&mut bytes, KIND_ORDER, *node, u8::from(*is_done), since.unwrap_or(NO_COUNT));
                bytes.extend_from_slice(&[channel.unwrap_or(NO_CHANNEL), stride.unwrap_or(0)]);
            }
            Body::Clock(clock_ns) => {
                bytes.push(KIND_CLOCK);
                bytes.extend_from_slice(&clock_ns.to_le_bytes());
            }
        }
        bytes
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote; `None` for anything else.
    pub fn parse(bytes: &[u8]) -> Option<Body> {
        let four = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let eight = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let (&kind, node, &epoch) = (bytes.first()?, four(1)?, bytes.get(5)?);
        if kind == KIND_CLOCK && bytes.len() == CLOCK_BYTES {
            return Some(Body::Clock(eight(1)?));
        }
        if kind == KIND_RESERVATION && bytes.len() == RESERVATION_BYTES {
            let limit = four(6).filter(|&limit| limit <= COUNT_MAX + 1)?;
            return Some(Body::Reservation(Reservation { node, epoch, limit }));
        }
        if kind == KIND_CHANGE && bytes.len() == CHANGE_RECORD_BYTES {
            let next = Some(bytes[6]).filter(|&next| next > epoch)?;
            return Some(Body::Change(Change { node, epoch, next }));
        }
        if kind == KIND_ORDER && bytes.len() == ORDER_BYTES {
            return parse_order(node, epoch, four(6)?, bytes[10], bytes[11]).map(Body::Order);
        }
        if matches!(kind, KIND_COUNTERS | KIND_EPOCH | KIND_SPAN | KIND_LEASE) {
            let rest = bytes.get(STATE_HEAD_BYTES..)?;
            return parse_state(kind, node, epoch, four(6)?, rest);
        }
        let (kind, channel) = split_kind(kind);
        let (head, samples) = bytes.split_at_checked(RECORD_HEAD_BYTES)?;
        if kind != KIND_FRAME {
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
            first: eight(50)?,
            sample_ps: eight(58)?,
            uncertainty_ns: four(66)?,
            channel,
            stride: head[71].checked_add(1)?,
            waveform: Waveform::new(Format::from_number(head[70])?, samples.to_vec())?,
        }))
    }
}

fn state_head(bytes: &mut Vec<u8>, kind: u8, node: u32, epoch: u8, count: u32) {
    bytes.push(kind);
    bytes.extend_from_slice(&node.to_le_bytes());
    bytes.push(epoch);
    bytes.extend_from_slice(&count.to_le_bytes());
}

fn parse_order(node: u32, is_done: u8, since: u32, channel: u8, stride: u8) -> Option<Ordered> {
    let is_one = is_done <= 1 && (channel <= CHANNEL_MAX || channel == NO_CHANNEL);
    is_one.then_some(Ordered {
        node,
        channel: Some(channel).filter(|&channel| channel != NO_CHANNEL),
        stride: Some(stride).filter(|&stride| stride != 0),
        since: Some(since).filter(|&since| since != NO_COUNT),
        is_done: is_done == 1,
    })
}

fn parse_state(kind: u8, node: u32, epoch: u8, count: u32, rest: &[u8]) -> Option<Body> {
    let four = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes"));
    match kind {
        KIND_COUNTERS => {
            let (ranges, rest) = rest.as_chunks::<RANGE_BYTES>();
            let ranges: Vec<_> = ranges.iter().map(|range| (four(&range[..4]), four(&range[4..]))).collect();
            let is_sound = |pair: &[(u32, u32)]| u64::from(pair[0].1) + 1 < u64::from(pair[1].0);
            let are_sound =
                ranges.iter().all(|&(first, last)| count <= first && first <= last && last <= COUNT_MAX);
            let is_one = rest.is_empty() && are_sound && ranges.windows(2).all(is_sound);
            is_one.then_some(Body::Counters(Counters { node, epoch, floor: count, ranges }))
        }
        KIND_EPOCH => {
            let (changes, rest) = rest.as_chunks::<TOLD_BYTES>();
            let told = |told: &[u8; TOLD_BYTES]| {
                let first = Some(four(&told[2..])).filter(|&first| first != NO_COUNT);
                Told { from: told[0], to: told[1], first }
            };
            let changes: Vec<_> = changes.iter().map(told).collect();
            let is_one = rest.is_empty() && changes.iter().all(|told| told.to > told.from);
            is_one.then_some(Body::Epoch(NodeEpoch { node, epoch, frames: count, changes }))
        }
        KIND_LEASE => {
            let partition = u16::try_from(node).ok().filter(|_| epoch == 0 && count == 0)?;
            let fencing = u64::from_le_bytes(rest.try_into().ok()?);
            Some(Body::Lease(Lease { partition, fencing }))
        }
        _ => {
            let (fields, rest) = rest.as_chunks::<8>();
            let fields: [[u8; 8]; 4] = fields.try_into().ok().filter(|_| rest.is_empty() && epoch == 0)?;
            let [a, b, c, d] = fields.map(u64::from_le_bytes);
            let is_one = a <= b && c <= d;
            is_one.then_some(Body::Span(Span { node, frames: count, sample_ps: (a, b), arrived_ns: (c, d) }))
        }
    }
}

/// Node, nominal instant and arrival of a stored frame's bytes; `None` when they are another record's.
pub(crate) fn stamp(bytes: &[u8]) -> Option<(u32, u64, u64)> {
    let eight = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let node = u32::from_le_bytes(bytes.get(1..5)?.try_into().ok()?);
    (split_kind(*bytes.first()?).0 == KIND_FRAME).then_some((node, eight(58)?, eight(26)?))
}

impl Record {
    /// Grid index of sample `offset`, or of the one that would follow; `u64::MAX` when it is beyond that.
    pub fn index(&self, offset: u64) -> u64 {
        self.first.saturating_add(offset.saturating_mul(self.stride.into()))
    }

    /// Appends the bytes to be sealed, with `samples` for those of the record.
    pub(crate) fn write(&self, samples: &[u8], bytes: &mut Vec<u8>) {
        assert!(
            RECORD_HEAD_BYTES + samples.len() <= RECORD_BODY_BYTES_MAX,
            "a record of {} bytes",
            samples.len()
        );
        let mut head = [0; RECORD_HEAD_BYTES];
        let Record { received_ps, arrived_ns, batch, first, sample_ps, .. } = *self;
        head[0] = kind_with(KIND_FRAME, self.channel);
        head[1..5].copy_from_slice(&self.node.to_le_bytes());
        head[5] = self.epoch;
        head[6..10].copy_from_slice(&self.counter.to_le_bytes());
        head[10] = self.suite.row().node_number.expect("the suite is one of the node link's");
        head[11..13].copy_from_slice(&batch.cell.to_le_bytes());
        head[13..17].copy_from_slice(&self.superframe.to_le_bytes());
        head[17] = self.slot;
        let fields = [received_ps, arrived_ns, batch.spool, batch.number, first, sample_ps];
        for (place, field) in head[18..66].as_chunks_mut::<8>().0.iter_mut().zip(fields) {
            *place = field.to_le_bytes();
        }
        head[66..70].copy_from_slice(&self.uncertainty_ns.to_le_bytes());
        head[70] = self.waveform.format().number();
        head[71] = self.stride.checked_sub(1).expect("a stride is at least 1");
        bytes.extend_from_slice(&head);
        bytes.extend_from_slice(samples);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    prop_compose! {
        fn any_record()(
            (node, epoch, counter) in (any::<u32>(), any::<u8>(), 0..=COUNT_MAX),
            suite in prop_oneof![Just(Suite::AsconAead128), Just(Suite::Aes128Ccm), Just(Suite::Aes128Cbc)],
            (cell, spool, number) in any::<(u16, u64, u64)>(),
            (superframe, slot, received_ps, arrived_ns) in any::<(u32, u8, u64, u64)>(),
            (first, sample_ps, uncertainty_ns, channel) in (any::<u64>(), any::<u64>(), any::<u32>(), 0u8..8),
            stride in 1u8..,
            format in prop::sample::select(Format::all().collect::<Vec<_>>()),
            bytes in prop::collection::vec(any::<u8>(), 1..=40),
        ) -> Record {
            let batch = BatchId { cell, spool, number };
            let waveform = Waveform::new(format, bytes.repeat(8)).unwrap();
            Record {
                node, epoch, counter, suite, batch, superframe, slot, received_ps, arrived_ns, first, sample_ps,
                uncertainty_ns, channel, stride, waveform,
            }
        }
    }

    proptest! {
        #[test]
        fn bodies_survive_their_bytes(
            record in any_record(),
            (node, epoch, limit) in (any::<u32>(), any::<u8>(), 0..=COUNT_MAX - 20),
        ) {
            let change = Change { node, epoch: epoch / 2, next: epoch / 2 + 1 };
            let ranges = vec![(limit / 2, limit / 2), (limit / 2 + 2, limit / 2 + 9)];
            let told = |first| Told { from: epoch / 2, to: epoch / 2 + 1, first };
            let changes = vec![told(None), told(Some(limit))];
            let (sample_ps, arrived_ns) = ((limit.into(), u64::MAX), (node.into(), u64::from(node) + 1));
            let stamped = stamp(&Body::Frame(record.clone()).to_bytes());
            prop_assert_eq!(stamped, Some((record.node, record.sample_ps, record.arrived_ns)));
            for body in [
                Body::Counters(Counters { node, epoch, floor: limit / 3, ranges }),
                Body::Counters(Counters { node, epoch, floor: limit, ranges: Vec::new() }),
                Body::Epoch(NodeEpoch { node, epoch, frames: limit, changes }),
                Body::Span(Span { node, frames: limit, sample_ps, arrived_ns }),
                Body::Frame(record),
                Body::Reservation(Reservation { node, epoch, limit }),
                Body::Change(change),
                Body::Lease(Lease { partition: node as u16, fencing: arrived_ns.0 << 20 }),
                Body::Clock(u64::from(node) << 20),
                Body::Order(Ordered { node, channel: Some(epoch % 8), stride: None, since: None, is_done: false }),
                Body::Order(Ordered { node, channel: None, stride: Some(9), since: Some(limit), is_done: true }),
            ] {
                let bytes = body.to_bytes();
                prop_assert_eq!(Body::parse(&bytes), Some(body));
                prop_assert_eq!(Body::parse(&bytes[..bytes.len() - 1]), None);
            }
        }

        #[test]
        fn no_bytes_make_the_parser_panic(kind in 0u8..11, bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Body::parse(&bytes);
            let _ = Body::parse(&[&[kind], &bytes[..]].concat());
        }
    }
}
