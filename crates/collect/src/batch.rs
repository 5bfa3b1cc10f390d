//! What travels between a gateway's bridge and the server, byte for byte.
//!
//! Every message is a 32-bit length (of what follows), a kind byte and a body; integers are little-endian.
//! ```text
//! kind                body
//! 0x01 hello          0 1 version | 1 2 cell | 3 8 spool (random identity of the bridge's spool)
//! 0x02 batch          0 1 version | 1 1 reserved 0 | 2 2 cell | 4 8 spool | 12 8 number
//!                     20 12 nonce | 32 n ciphertext | 32+n 16 tag
//! 0x81 receipt        0 2 cell | 2 8 spool | 10 8 number | 18 12 nonce | 30 n ciphertext | 30+n 16 tag
//! 0x82 refused        0 2 cell | 2 8 spool | 10 8 number | 18 2 status
//!
//! batch plaintext     0 2 frames, then each: 4 superframe | 1 slot | 8 arrival at the bridge, ps of cell
//!                                                 time | 2 bytes | frame
//! receipt plaintext   0 12 the batch's nonce | 12 16 its tag
//!                     28 2 stored | 30 2 duplicate | 32 2 reasons, then each: 2 status | 2 frames
//!                     then 2 downlinks, then each: 2 bytes | frame
//! ```
//! Both are sealed with AES-256-GCM. A batch's associated data is its first 20 bytes and its key the cell's
//! batch key; a receipt's associated data is its first 18 bytes and its key the cell's receipt key. A receipt names a batch by
//! its nonce and tag as well: one that was sealed anew under the same number is another, and nobody without the key makes a
//! second with both, so that no hash of its bytes is needed. Numbers
//! of one spool rise by one; a batch may be sent again.
//!
//! A status is the number of a [`Fault`](crate::error::Fault): why so many frames of the batch will never be stored. They rise,
//! and none stands for no frame. Stored, duplicate and those frames add up to the batch's. A frame has a downlink or is
//! counted under a status, which takes less, or neither.
//!
//! Owns the layout only. The bridge seals batches and opens receipts in its crypto device, so both plaintexts
//! can be written and read without a key.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::error::Refusal;
use crate::limits::{
    BATCH_ENTRY_BYTES, BATCH_FRAMES_MAX, FRAME_BYTES_MAX, MESSAGE_BYTES_MAX, RECEIPT_REASON_BYTES,
};

/// The version of hello and batch, and so of the receipt that answers it.
pub const VERSION: u8 = 3;
/// Bytes of a batch's header, which is its associated data.
pub const HEADER_BYTES: usize = 20;
/// Bytes of a receipt's header, which is its associated data.
pub const ANSWER_HEADER_BYTES: usize = 18;
/// Bytes of the AES-GCM nonce before a ciphertext.
pub const NONCE_BYTES: usize = 12;
/// Bytes of the AES-GCM tag behind a ciphertext.
pub const TAG_BYTES: usize = 16;
/// Bytes of a receipt's plaintext without reasons and downlinks.
pub(crate) const RECEIPT_HEAD_BYTES: usize = SEAL_BYTES + 8;
/// Bytes of a [`Seal`].
pub const SEAL_BYTES: usize = NONCE_BYTES + TAG_BYTES;

const KIND_HELLO: u8 = 0x01;
const KIND_BATCH: u8 = 0x02;
const KIND_RECEIPT: u8 = 0x81;
const KIND_REFUSED: u8 = 0x82;

/// Names a batch: a cell, the spool that numbered it, and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BatchId {
    /// The cell.
    pub cell: u16,
    /// The spool.
    pub spool: u64,
    /// The number within the spool.
    pub number: u64,
}

/// What tells a sealed batch from any other: its nonce, then its tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Seal(pub [u8; SEAL_BYTES]);

impl Seal {
    /// Of nonce, ciphertext and tag; `None` when they are too short.
    pub fn of(sealed: &[u8]) -> Option<Seal> {
        let (nonce, rest) = sealed.split_at_checked(NONCE_BYTES)?;
        let tag = rest.last_chunk::<TAG_BYTES>()?;
        let mut seal = [0; SEAL_BYTES];
        seal[..NONCE_BYTES].copy_from_slice(nonce);
        seal[NONCE_BYTES..].copy_from_slice(tag);
        Some(Seal(seal))
    }

    /// The nonce.
    pub fn nonce(&self) -> &[u8] {
        &self.0[..NONCE_BYTES]
    }
}

/// The first message of a bridge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The cell whose batches follow.
    pub cell: u16,
    /// The spool that numbers them.
    pub spool: u64,
}

/// A message to the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Who speaks.
    Hello(Hello),
    /// A sealed batch.
    Batch(SealedBatch),
}

/// A batch as it was received; nothing of it is authentic yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedBatch {
    /// What its header says.
    pub id: BatchId,
    /// The whole body: header, nonce, ciphertext, tag.
    pub body: Vec<u8>,
}

/// A message to the bridge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The batch is durable. What exactly became of its frames stands in the sealed part.
    Receipt {
        /// Which batch.
        id: BatchId,
        /// Nonce, ciphertext and tag.
        sealed: Vec<u8>,
    },
    /// The batch was not taken.
    Refused {
        /// Which batch; spool and number are 0 when the message did not tell them.
        id: BatchId,
        /// The number of a [`Refusal`], or one that this version does not know.
        status: u16,
    },
}

/// One frame of a batch, with what the gateway knows about its arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The superframe in which it was received.
    pub superframe: u32,
    /// The slot in which it was received.
    pub slot: u8,
    /// When it was received, in picoseconds of cell time.
    pub received_ps: u64,
    /// The frame, untouched.
    pub frame: &'a [u8],
}

/// The plaintext of a receipt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// What tells the batch from others of its name.
    pub batch: Seal,
    /// Frames of the batch that are stored for the first time.
    pub stored: u16,
    /// Frames of the batch that had been stored before.
    pub duplicate: u16,
    /// Frames of the batch that will never be stored, by the number of a [`Fault`](crate::error::Fault), or one that this
    /// version does not know.
    pub failed: BTreeMap<u16, u16>,
    /// Downlink frames for the cell.
    pub downlinks: Vec<Vec<u8>>,
}

/// Why bytes are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// Takes `N` bytes off the front.
fn take<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], Malformed> {
    let (head, rest) = bytes.split_first_chunk::<N>().ok_or(Malformed)?;
    *bytes = rest;
    Ok(*head)
}

fn take_slice<'a>(bytes: &mut &'a [u8], count: usize) -> Result<&'a [u8], Malformed> {
    let (head, rest) = bytes.split_at_checked(count).ok_or(Malformed)?;
    *bytes = rest;
    Ok(head)
}

fn take_u16(bytes: &mut &[u8]) -> Result<u16, Malformed> {
    take(bytes).map(u16::from_le_bytes)
}

/// The length of a list that has at most an entry a frame.
fn take_count(bytes: &mut &[u8]) -> Result<u16, Malformed> {
    take_u16(bytes).and_then(
        |count| {
            if usize::from(count) <= BATCH_FRAMES_MAX { Ok(count) } else { Err(Malformed) }
        },
    )
}

fn take_u64(bytes: &mut &[u8]) -> Result<u64, Malformed> {
    take(bytes).map(u64::from_le_bytes)
}

impl BatchId {
    /// The header of a batch: its associated data.
    pub fn header(&self) -> [u8; HEADER_BYTES] {
        let mut header = [0; HEADER_BYTES];
        header[0] = VERSION;
        header[2..4].copy_from_slice(&self.cell.to_le_bytes());
        header[4..12].copy_from_slice(&self.spool.to_le_bytes());
        header[12..20].copy_from_slice(&self.number.to_le_bytes());
        header
    }

    /// The header of an answer: the associated data of a receipt.
    pub fn answer_header(&self) -> [u8; ANSWER_HEADER_BYTES] {
        let mut header = [0; ANSWER_HEADER_BYTES];
        header[..2].copy_from_slice(&self.cell.to_le_bytes());
        header[2..10].copy_from_slice(&self.spool.to_le_bytes());
        header[10..].copy_from_slice(&self.number.to_le_bytes());
        header
    }

    fn take_answer(body: &mut &[u8]) -> Result<BatchId, Malformed> {
        Ok(BatchId { cell: take_u16(body)?, spool: take_u64(body)?, number: take_u64(body)? })
    }
}

/// Puts length and kind before a body that is given in parts.
fn message(kind: u8, parts: &[&[u8]]) -> Vec<u8> {
    let length = 1 + parts.iter().map(|part| part.len()).sum::<usize>();
    assert!(length <= MESSAGE_BYTES_MAX, "a message of {length} bytes is too long");
    let mut bytes = Vec::with_capacity(4 + length);
    bytes.extend_from_slice(&(length as u32).to_le_bytes());
    bytes.push(kind);
    parts.iter().for_each(|part| bytes.extend_from_slice(part));
    bytes
}

impl Hello {
    /// The message, length included.
    pub fn to_message(&self) -> Vec<u8> {
        message(KIND_HELLO, &[&[VERSION], &self.cell.to_le_bytes(), &self.spool.to_le_bytes()])
    }
}

/// The message that carries a batch, length included. `sealed` is nonce, ciphertext and tag.
///
/// # Panics
/// When it would be longer than `MESSAGE_BYTES_MAX`.
pub fn batch_message(id: &BatchId, sealed: &[u8]) -> Vec<u8> {
    message(KIND_BATCH, &[&id.header(), sealed])
}

impl Request {
    /// Reads a message without its length: kind and body.
    ///
    /// # Errors
    /// [`Refusal::Malformed`] or [`Refusal::Version`], and which batch that was, as far as it can be told.
    pub fn parse(message: &[u8]) -> Result<Request, (Refusal, BatchId)> {
        let unknown = BatchId { cell: 0, spool: 0, number: 0 };
        let malformed = |_| (Refusal::Malformed, unknown);
        let (&kind, mut body) = message.split_first().ok_or((Refusal::Malformed, unknown))?;
        if kind == KIND_HELLO {
            let [version] = take(&mut body).map_err(malformed)?;
            let cell = take_u16(&mut body).map_err(malformed)?;
            let spool = take_u64(&mut body).map_err(malformed)?;
            return match (version, body) {
                (VERSION, []) => Ok(Request::Hello(Hello { cell, spool })),
                (VERSION, _) => Err((Refusal::Malformed, unknown)),
                _ => Err((Refusal::Version, BatchId { cell, spool, number: 0 })),
            };
        }
        if kind != KIND_BATCH || body.len() < HEADER_BYTES + NONCE_BYTES + TAG_BYTES {
            return Err((Refusal::Malformed, unknown));
        }
        let mut fields = body;
        let [version, reserved] = take(&mut fields).map_err(malformed)?;
        let id = BatchId::take_answer(&mut fields).map_err(malformed)?;
        match (version, reserved) {
            (VERSION, 0) => Ok(Request::Batch(SealedBatch { id, body: body.to_vec() })),
            (VERSION, _) => Err((Refusal::Malformed, id)),
            _ => Err((Refusal::Version, id)),
        }
    }
}

impl SealedBatch {
    /// What a receipt says about the batch that it is for.
    pub fn seal(&self) -> Option<Seal> {
        Seal::of(self.body.get(HEADER_BYTES..)?)
    }
}

impl Answer {
    /// The message, length included.
    pub fn to_message(&self) -> Vec<u8> {
        match self {
            Answer::Receipt { id, sealed } => message(KIND_RECEIPT, &[&id.answer_header(), sealed]),
            Answer::Refused { id, status } => {
                message(KIND_REFUSED, &[&id.answer_header(), &status.to_le_bytes()])
            }
        }
    }

    /// Reads a message without its length: kind and body.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn parse(message: &[u8]) -> Result<Answer, Malformed> {
        let (&kind, mut body) = message.split_first().ok_or(Malformed)?;
        let id = BatchId::take_answer(&mut body)?;
        match kind {
            KIND_RECEIPT if body.len() >= NONCE_BYTES + RECEIPT_HEAD_BYTES + TAG_BYTES => {
                Ok(Answer::Receipt { id, sealed: body.to_vec() })
            }
            KIND_REFUSED => {
                let status = take_u16(&mut body)?;
                if body.is_empty() { Ok(Answer::Refused { id, status }) } else { Err(Malformed) }
            }
            _ => Err(Malformed),
        }
    }

    /// Which batch is answered.
    pub fn id(&self) -> BatchId {
        match self {
            Answer::Receipt { id, .. } | Answer::Refused { id, .. } => *id,
        }
    }
}

/// Writes a batch's plaintext.
///
/// # Panics
/// When there are more than `BATCH_FRAMES_MAX` frames or one is longer than `FRAME_BYTES_MAX`.
pub fn entries_to_bytes(entries: &[Entry<'_>]) -> Vec<u8> {
    assert!(entries.len() <= BATCH_FRAMES_MAX, "{} frames do not fit a batch", entries.len());
    let frames_bytes: usize = entries.iter().map(|entry| entry.frame.len()).sum();
    let mut bytes = Vec::with_capacity(2 + entries.len() * BATCH_ENTRY_BYTES + frames_bytes + TAG_BYTES);
    bytes.extend_from_slice(&(entries.len() as u16).to_le_bytes());
    for entry in entries {
        assert!(entry.frame.len() <= FRAME_BYTES_MAX, "a frame of {} bytes is too long", entry.frame.len());
        bytes.extend_from_slice(&entry.superframe.to_le_bytes());
        bytes.push(entry.slot);
        bytes.extend_from_slice(&entry.received_ps.to_le_bytes());
        bytes.extend_from_slice(&(entry.frame.len() as u16).to_le_bytes());
        bytes.extend_from_slice(entry.frame);
    }
    bytes
}

/// Where a frame lies in a batch's plaintext, with what the gateway knows about its arrival.
pub(crate) struct Place {
    pub(crate) superframe: u32,
    pub(crate) slot: u8,
    pub(crate) received_ps: u64,
    pub(crate) frame: Range<usize>,
}

/// Reads a batch's plaintext.
///
/// A frame of any length is an entry: what is wrong with it is counted for that frame alone.
///
/// # Errors
/// [`Malformed`] when the bytes are no list, or a list of more than `BATCH_FRAMES_MAX` frames.
pub fn entries_from_bytes(bytes: &[u8]) -> Result<Vec<Entry<'_>>, Malformed> {
    let entry = |Place { superframe, slot, received_ps, frame }| Entry {
        superframe,
        slot,
        received_ps,
        frame: &bytes[frame],
    };
    Ok(places_from_bytes(bytes)?.into_iter().map(entry).collect())
}

/// [`entries_from_bytes`] without their bytes, which the caller may want to change. Frames lie one behind the other.
pub(crate) fn places_from_bytes(bytes: &[u8]) -> Result<Vec<Place>, Malformed> {
    let rest = &mut &*bytes;
    let count = usize::from(take_u16(rest)?);
    if count > BATCH_FRAMES_MAX {
        return Err(Malformed);
    }
    let mut places = Vec::with_capacity(count);
    for _ in 0..count {
        let superframe = u32::from_le_bytes(take(rest)?);
        let [slot] = take(rest)?;
        let received_ps = take_u64(rest)?;
        let frame_bytes = usize::from(take_u16(rest)?);
        let from = bytes.len() - rest.len();
        take_slice(rest, frame_bytes)?;
        places.push(Place { superframe, slot, received_ps, frame: from..from + frame_bytes });
    }
    if rest.is_empty() { Ok(places) } else { Err(Malformed) }
}

impl Receipt {
    /// The plaintext.
    ///
    /// # Panics
    /// When there are more reasons or downlinks than a batch has frames, or a downlink is longer than `FRAME_BYTES_MAX`.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (reasons, downlinks) = (self.failed.len(), self.downlinks.len());
        assert!(reasons.max(downlinks) <= BATCH_FRAMES_MAX, "{reasons} reasons, {downlinks} downlinks");
        let downlinks_bytes: usize = self.downlinks.iter().map(|frame| 2 + frame.len()).sum();
        let lists_bytes = reasons * RECEIPT_REASON_BYTES + downlinks_bytes;
        let mut bytes = Vec::with_capacity(RECEIPT_HEAD_BYTES + lists_bytes + TAG_BYTES);
        bytes.extend_from_slice(&self.batch.0);
        let reasons_of = self.failed.iter().flat_map(|(&status, &frames)| [status, frames]);
        let counts = [self.stored, self.duplicate, reasons as u16].into_iter().chain(reasons_of);
        for count in counts.chain([downlinks as u16]) {
            bytes.extend_from_slice(&count.to_le_bytes());
        }
        for frame in &self.downlinks {
            assert!(frame.len() <= FRAME_BYTES_MAX, "a frame of {} bytes is too long", frame.len());
            bytes.extend_from_slice(&(frame.len() as u16).to_le_bytes());
            bytes.extend_from_slice(frame);
        }
        bytes
    }

    /// Reads the plaintext.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn parse(mut bytes: &[u8]) -> Result<Receipt, Malformed> {
        let bytes = &mut bytes;
        let batch = Seal(take(bytes)?);
        let (stored, duplicate) = (take_u16(bytes)?, take_u16(bytes)?);
        // As a list is written in one way only.
        let (mut failed, mut before) = (BTreeMap::new(), 0);
        for _ in 0..take_count(bytes)? {
            let (status, frames) = (take_u16(bytes)?, take_u16(bytes)?);
            if status <= before || frames == 0 {
                return Err(Malformed);
            }
            failed.insert(status, frames);
            before = status;
        }
        let mut downlinks = Vec::new();
        for _ in 0..take_count(bytes)? {
            let frame_bytes = usize::from(take_u16(bytes)?);
            downlinks.push(take_slice(bytes, frame_bytes)?.to_vec());
        }
        let receipt = Receipt { batch, stored, duplicate, failed, downlinks };
        if bytes.is_empty() { Ok(receipt) } else { Err(Malformed) }
    }

    /// Frames of the batch that will never be stored, whatever the reason.
    pub fn failed_total(&self) -> u32 {
        self.failed.values().copied().map(u32::from).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Fault;
    use crate::limits::{BATCH_PLAINTEXT_BYTES_MAX, SLOT_FRAME_BYTES_MAX};
    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;

    fn any_id() -> impl Strategy<Value = BatchId> {
        any::<(u16, u64, u64)>().prop_map(|(cell, spool, number)| BatchId { cell, spool, number })
    }

    /// A message without its length, which is checked on the way.
    fn body(message: &[u8]) -> &[u8] {
        let (length, rest) = message.split_first_chunk().unwrap();
        assert_eq!(u32::from_le_bytes(*length) as usize, rest.len());
        rest
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_parsers_panic(kind in any::<u8>(), bytes in vec(any::<u8>(), 0..400)) {
            let _ = entries_from_bytes(&bytes);
            let _ = Receipt::parse(&bytes);
            for kind in [kind, KIND_HELLO, KIND_BATCH, KIND_RECEIPT, KIND_REFUSED] {
                let message = [&[kind], &bytes[..]].concat();
                let _ = Request::parse(&message);
                let _ = Answer::parse(&message);
            }
        }

        #[test]
        fn entries_survive_their_bytes_and_no_shorter_or_longer_ones_parse(
            fields in vec(any::<(u32, u8, u64)>(), 0..20), frame in vec(any::<u8>(), 0..256),
            cut in any::<prop::sample::Index>(),
        ) {
            let entries: Vec<_> = fields.into_iter().map(|(superframe, slot, received_ps)| {
                Entry { superframe, slot, received_ps, frame: &frame }
            }).collect();
            let bytes = entries_to_bytes(&entries);
            prop_assert_eq!(entries_from_bytes(&bytes).unwrap(), entries);
            prop_assert!(entries_from_bytes(&bytes[..cut.index(bytes.len())]).is_err());
            prop_assert!(entries_from_bytes(&[&bytes[..], &[0]].concat()).is_err());
        }

        #[test]
        fn receipts_survive_their_bytes(
            seal in any::<[u8; SEAL_BYTES]>(), (stored, duplicate) in any::<(u16, u16)>(),
            failed in btree_map(1..=u16::MAX, 1..=u16::MAX, 0..20), downlinks in vec(vec(any::<u8>(), 0..50), 0..20), cut in any::<prop::sample::Index>(),
        ) {
            let receipt = Receipt { batch: Seal(seal), stored, duplicate, failed, downlinks };
            let bytes = receipt.to_bytes();
            prop_assert_eq!(Receipt::parse(&bytes).unwrap(), receipt);
            prop_assert!(Receipt::parse(&bytes[..cut.index(bytes.len())]).is_err());
            prop_assert!(Receipt::parse(&[&bytes[..], &[0]].concat()).is_err());
        }

        #[test]
        fn messages_survive_their_bytes(id in any_id(), sealed in vec(any::<u8>(), 68..200), status in any::<u16>()) {
            let hello = Hello { cell: id.cell, spool: id.spool };
            prop_assert_eq!(Request::parse(body(&hello.to_message())).unwrap(), Request::Hello(hello));
            let batch = SealedBatch { id, body: [&id.header()[..], &sealed].concat() };
            prop_assert_eq!(Request::parse(body(&batch_message(&id, &sealed))).unwrap(), Request::Batch(batch));
            for answer in [Answer::Receipt { id, sealed }, Answer::Refused { id, status }] {
                prop_assert_eq!(&Answer::parse(body(&answer.to_message())).unwrap(), &answer);
            }
        }
    }

    #[test]
    fn offsets_are_the_drawn_ones() {
        let id = BatchId { cell: 0x0403, spool: 0x0c0b_0a09_0807_0605, number: 0x1413_1211_100f_0e0d };
        let header: Vec<u8> = [VERSION, 0].into_iter().chain(3..=0x14).collect();
        assert_eq!(id.header()[..], header);
        assert_eq!(id.answer_header()[..], header[2..]);
        let entry =
            Entry { superframe: 0x0201_0000, slot: 3, received_ps: 0x0b0a_0908_0706_0504, frame: &[9] };
        let bytes = entries_to_bytes(&[entry]);
        assert_eq!(bytes, [1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1, 0, 9]);
    }

    #[test]
    fn a_receipt_names_its_reasons_where_they_are_drawn_and_in_one_order_only() {
        let failed = [(Fault::Layout.number(), 0x0302), (Fault::Revoked.number(), 4)];
        let downlinks = vec![vec![9]];
        let receipt = Receipt {
            batch: Seal([8; SEAL_BYTES]),
            stored: 5,
            duplicate: 6,
            failed: failed.into(),
            downlinks,
        };
        let lists = [5, 0, 6, 0, 2, 0, 1, 0, 2, 3, 10, 0, 4, 0, 1, 0, 1, 0, 9];
        assert_eq!(receipt.to_bytes()[SEAL_BYTES..], lists);
        assert_eq!(receipt.failed_total(), 0x0306);
        // Twice, falling, for no reason, for no frame, and more than a batch has frames.
        let reasons = |reasons: &[(u16, u16)]| {
            let numbers = reasons.iter().flat_map(|&(status, frames)| [status, frames]);
            let numbers = [5, 6, reasons.len() as u16].into_iter().chain(numbers).chain([0]);
            let bytes: Vec<u8> =
                [8; SEAL_BYTES].into_iter().chain(numbers.flat_map(u16::to_le_bytes)).collect();
            Receipt::parse(&bytes).map(|receipt| receipt.failed.len())
        };
        assert_eq!(reasons(&[(1, 1), (10, 2)]), Ok(2));
        for wrong in [[(1, 1), (1, 1)], [(2, 1), (1, 1)], [(0, 1), (1, 1)], [(1, 1), (2, 0)]] {
            assert_eq!(reasons(&wrong), Err(Malformed), "{wrong:?}");
        }
        let many: Vec<_> = (1..=BATCH_FRAMES_MAX as u16 + 1).map(|status| (status, 1)).collect();
        assert_eq!((reasons(&many[1..]), reasons(&many)), (Ok(BATCH_FRAMES_MAX), Err(Malformed)));
    }

    #[test]
    fn another_version_is_named_with_its_batch() {
        let id = BatchId { cell: 7, spool: 8, number: 9 };
        let mut message = batch_message(&id, &[0; 28]);
        message[5] = VERSION - 1;
        assert_eq!(Request::parse(body(&message)), Err((Refusal::Version, id)));
        message[5] = VERSION;
        message[6] = 1;
        assert_eq!(Request::parse(body(&message)), Err((Refusal::Malformed, id)), "reserved byte");
    }

    #[test]
    fn the_longest_batch_fits_a_message() {
        for (frame_bytes, frames) in [(SLOT_FRAME_BYTES_MAX, BATCH_FRAMES_MAX), (4096 + 36, 64)] {
            let frame = vec![0; frame_bytes];
            let entry = Entry { superframe: 0, slot: 0, received_ps: 0, frame: &frame };
            assert!(entries_to_bytes(&vec![entry; frames]).len() <= BATCH_PLAINTEXT_BYTES_MAX);
        }
        let sealed = vec![0; NONCE_BYTES + BATCH_PLAINTEXT_BYTES_MAX + TAG_BYTES];
        let message = batch_message(&BatchId { cell: 0, spool: 0, number: 0 }, &sealed);
        assert_eq!(message.len(), 4 + MESSAGE_BYTES_MAX);
    }
}
