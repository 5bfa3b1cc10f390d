//! CCM (SP 800-38C, RFC 3610) of many messages at once, each under its own key, with any length of nonce, tag and
//! associated data.
//!
//! It is a CBC-MAC over plaintext and counter mode over it and the MAC. The messages of a call stand side by side in
//! `lanes`, which take a block of both in a step: those whose lengths are nearest to each other together.
//!
//! Invariant: after a failed open the buffer holds zeros, never unauthenticated plaintext, and memory nothing of it, nor
//! of the tag that would have been right.

use std::ops::RangeInclusive;

use cipher::Rejected;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::lanes::{Front, Lane, Pairs};
use super::multi::{Absorption, run};
use super::{BLOCK_BYTES, Backend, Block, Key};
use crate::plaintext::{wipe, wipe_stack};

/// Lengths of a nonce: what is left of a block by a flag and a length field of 8 to 2 bytes.
const NONCE_BYTES: RangeInclusive<usize> = 7..=13;
/// Associated data that have room in one block, behind their length.
const ASSOCIATED_BYTES_SHORT: usize = BLOCK_BYTES - 2;
/// Of a tag of so many bytes those that count, all ones, as a number of the bytes in memory.
static COUNTS: [u128; BLOCK_BYTES + 1] = {
    let mut counts = [0; BLOCK_BYTES + 1];
    let mut bytes = 1;
    while bytes <= BLOCK_BYTES {
        counts[bytes] = (u128::MAX >> (8 * (BLOCK_BYTES - bytes))).to_le();
        bytes += 1;
    }
    counts
};

/// A message to be sealed or opened.
#[derive(Debug)]
pub struct Message<'a> {
    /// Its key.
    pub key: &'a Key,
    /// Its nonce, 7 to 13 bytes, never twice under one key. A longer nonce leaves less room for the length.
    pub nonce: &'a [u8],
    /// What is authenticated and not encrypted.
    pub associated_data: &'a [u8],
    /// Plaintext or ciphertext, which becomes the other.
    pub data: &'a mut [u8],
    /// The tag at the beginning: written by sealing, compared by opening.
    pub tag: Block,
    /// Bytes of the tag: 4, 6, 8, 10, 12, 14 or 16.
    pub tag_bytes: usize,
}

/// Encrypts every message in place and writes its tag.
///
/// # Panics
/// When a nonce or tag has a length that CCM has not, a message is too long for its nonce, or the CPU lacks the
/// backend.
pub fn seal(backend: Backend, messages: &mut [Message<'_>]) {
    let mut places = vec![(); messages.len()];
    compute::<false, ()>(backend, messages, &mut places, |_, sum, tag, tag_bytes| {
        // As numbers: not a copy of a length that nobody foresees.
        let counts = COUNTS[tag_bytes];
        *tag = (sum & counts | u128::from_ne_bytes(*tag) & !counts).to_ne_bytes();
    });
}

/// Decrypts every message in place, and says of each whether it is authentic: one that is not is zeros then.
///
/// # Panics
/// When a nonce or tag has a length that CCM has not, or the CPU lacks the backend.
#[must_use = "a message may be a forgery"]
pub fn open(backend: Backend, messages: &mut [Message<'_>]) -> Vec<Result<(), Rejected>> {
    let verdicts = open_all(backend, messages);
    if verdicts.iter().any(Result::is_err) {
        wipe_stack();
    }
    verdicts
}

#[inline(never)]
fn open_all(backend: Backend, messages: &mut [Message<'_>]) -> Vec<Result<(), Rejected>> {
    let mut verdicts = vec![Err(Rejected); messages.len()];
    // The right tag of a forgery would make it authentic: it is nowhere but on the stack.
    compute::<true, _>(backend, messages, &mut verdicts, |lane, sum, tag, tag_bytes| {
        let difference = u128::from_ne_bytes(*tag) ^ sum;
        let is_equal = (difference & COUNTS[tag_bytes]).ct_eq(&0);
        if bool::from(is_equal) {
            return Ok(());
        }
        lane.wipe();
        Err(Rejected)
    });
    for (message, verdict) in messages.iter_mut().zip(&mut verdicts) {
        if !message.fits() {
            wipe(message.data);
            *verdict = Err(Rejected);
        }
    }
    verdicts
}

/// A message, and where what is said of it goes.
struct Work<'w, 'm, T> {
    message: &'w mut Message<'m>,
    place: &'w mut T,
    /// By what messages stand side by side: rounds, and whole blocks.
    kind: (usize, usize),
}

/// Takes all messages through the lanes, and asks `finish` of each, in its lane, what to say of it: it is given the sum of MAC
/// and key stream as a number of the bytes in memory, the message's own tag and how much of that counts.
fn compute<const OPENS: bool, T>(
    backend: Backend,
    messages: &mut [Message<'_>],
    places: &mut [T],
    finish: impl Fn(&mut Lane<'_>, u128, &mut Block, usize) -> T,
) {
    let mut works: Vec<Work<'_, '_, T>> = Vec::with_capacity(messages.len());
    let (mut is_sorted, mut is_any_long, mut last) = (true, false, (0, 0));
    for (message, place) in messages.iter_mut().zip(places) {
        message.check();
        assert!(OPENS || message.fits(), "{} bytes are too many for the length field", message.data.len());
        let kind = (message.key.rounds(), message.data.len() / BLOCK_BYTES);
        is_sorted &= last <= kind;
        is_any_long |= message.is_long();
        last = kind;
        works.push(Work { message, place, kind });
    }
    if !is_sorted {
        works.sort_unstable_by_key(|work| work.kind);
    }
    let long = if is_any_long { absorb_long(backend, &works) } else { Zeroizing::default() };
    let mut long = long.iter().copied();
    let mut pairs = Pairs::new(backend);
    let (mut lanes, mut ends) = (Vec::with_capacity(pairs.count()), Vec::with_capacity(pairs.count()));
    for works in works.chunk_by_mut(|a, b| a.kind.0 == b.kind.0) {
        for works in works.chunks_mut(pairs.count()) {
            lanes.clear();
            for Work { message, place, .. } in works {
                let long = if message.is_long() { long.next() } else { None };
                let (front, rest) = (message.front(long), front(message.data.as_chunks::<BLOCK_BYTES>().1));
                let Message { key, data, tag, tag_bytes, .. } = &mut **message;
                lanes.push(Lane::new(key.encrypting(), &front, data, rest, OPENS));
                ends.push((tag, *tag_bytes, &mut **place));
            }
            pairs.run::<OPENS>(&mut lanes);
            for (lane, (tag, tag_bytes, place)) in lanes.iter_mut().zip(ends.drain(..)) {
                let sum = lane.end();
                *place = finish(lane, sum, tag, tag_bytes);
            }
        }
    }
}

/// Of each message that has more associated data than a block has room for, in order: what its MAC takes next to last and
/// last before the data.
fn absorb_long<T>(backend: Backend, works: &[Work<'_, '_, T>]) -> Zeroizing<Vec<[u128; 2]>> {
    let long = works.iter().map(|work| &*work.message).filter(|message| message.is_long());
    let headers: Vec<(&Key, Vec<Block>)> = long.map(|message| (message.key, message.header())).collect();
    let mut macs = Zeroizing::new(vec![[0; BLOCK_BYTES]; headers.len()]);
    let works = headers.iter().zip(&mut *macs);
    let works =
        works.map(|((key, header), mac)| Absorption::new(key, [&header[..header.len() - 2], &[]], mac));
    run(backend, &mut works.collect::<Vec<_>>());
    let last = |((_, header), &mac): (&(_, Vec<Block>), &Block)| {
        let [.., first, second] = header[..] else { unreachable!("it is longer than that") };
        [u128::from_le_bytes(mac) ^ u128::from_le_bytes(first), u128::from_le_bytes(second)]
    };
    Zeroizing::new(headers.iter().zip(&*macs).map(last).collect())
}

impl Message<'_> {
    fn check(&self) {
        let (nonce_bytes, tag_bytes) = (self.nonce.len(), self.tag_bytes);
        assert!(NONCE_BYTES.contains(&nonce_bytes), "a nonce of {nonce_bytes} bytes, not 7 to 13");
        let is_tag = tag_bytes % 2 == 0 && (4..=BLOCK_BYTES).contains(&tag_bytes);
        assert!(is_tag, "a tag of {tag_bytes} bytes, not 4, 6 and so on to 16");
    }

    /// Whether the length has room in its field.
    fn fits(&self) -> bool {
        let length_bytes = BLOCK_BYTES - 1 - self.nonce.len();
        length_bytes >= size_of::<usize>() || self.data.len() >> (8 * length_bytes) == 0
    }

    /// Whether the MAC takes more than two blocks before the data.
    fn is_long(&self) -> bool {
        self.associated_data.len() > ASSOCIATED_BYTES_SHORT
    }

    /// What is known before the data.
    #[inline(always)]
    fn front(&self, long: Option<[u128; 2]>) -> Front {
        let (counter, b0) = self.first();
        let associated_data = self.associated_data;
        if let Some([first, second]) = long {
            return Front { first, second: Some(second), counter };
        }
        let length = u128::from((associated_data.len() as u16).swap_bytes());
        let second = || front(associated_data) << 16 | length;
        Front { first: b0, second: (!associated_data.is_empty()).then(second), counter }
    }

    /// Counter 0, and B0 (SP 800-38C appendix A.2 and A.3).
    #[inline(always)]
    fn first(&self) -> (u128, u128) {
        let length_bytes = BLOCK_BYTES - 1 - self.nonce.len();
        let counter = front(self.nonce) << 8 | (length_bytes as u128 - 1);
        let flags = (u8::from(!self.associated_data.is_empty()) << 6) | ((self.tag_bytes / 2 - 1) << 3) as u8;
        let length = (self.data.len() as u64).swap_bytes();
        (counter, counter | u128::from(flags) | u128::from(length) << 64)
    }

    /// B0 and the associated data behind their length.
    fn header(&self) -> Vec<Block> {
        let length = self.associated_data.len() as u64;
        let mut bytes = self.first().1.to_le_bytes().to_vec();
        match length {
            0..0xff00 => bytes.extend_from_slice(&length.to_be_bytes()[6..]),
            0xff00..0x1_0000_0000 => bytes.extend([&[0xff, 0xfe], &length.to_be_bytes()[4..]].concat()),
            _ => bytes.extend([&[0xff, 0xff], &length.to_be_bytes()[..]].concat()),
        }
        bytes.extend_from_slice(self.associated_data);
        bytes.resize(bytes.len().next_multiple_of(BLOCK_BYTES), 0);
        bytes.as_chunks().0.to_vec()
    }
}

/// Up to 16 bytes at the begin of a block of zeros: without a copy of a length that nobody foresees.
#[inline(always)]
fn front(bytes: &[u8]) -> u128 {
    let bits = 8 * bytes.len() as u32;
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let last = u64::from_le_bytes(*last).checked_shr(128 - bits).unwrap_or(0);
        return u128::from(u64::from_le_bytes(*first)) | u128::from(last) << 64;
    }
    let half = if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let last = u64::from(u32::from_le_bytes(*last)) << (bits - 32);
        u64::from(u32::from_le_bytes(*first)) | last
    } else {
        bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
    };
    u128::from(half)
}
