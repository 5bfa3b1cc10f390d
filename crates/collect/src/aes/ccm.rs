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

use super::lanes::{Front, LANES_MAX, Lane, Pairs};
use super::multi::{Absorption, run};
use super::{BLOCK_BYTES, Backend, Block, Key};
use crate::plaintext::{wipe, wipe_stack};

/// Lengths of a nonce: what is left of a block by a flag and a length field of 8 to 2 bytes.
const NONCE_BYTES: RangeInclusive<usize> = 7..=13;
/// Associated data that have room in one block, behind their length.
const ASSOCIATED_BYTES_SHORT: usize = BLOCK_BYTES - 2;

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
    for message in &*messages {
        assert!(message.fits(), "{} bytes are too many for the length field", message.data.len());
    }
    let tags = compute::<false>(backend, messages);
    for (message, tag) in messages.iter_mut().zip(tags) {
        // As a number: not a copy of a length that nobody foresees.
        let behind = u128::MAX.checked_shr(8 * message.tag_bytes as u32).unwrap_or(0);
        let tag = u128::from_be(tag) & !behind | u128::from_be_bytes(message.tag) & behind;
        message.tag = tag.to_be_bytes();
    }
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
    let mut tags = compute::<true>(backend, messages);
    let verdict = |(message, &tag): (&mut Message<'_>, &u128)| {
        let difference = u128::from_be_bytes(message.tag) ^ u128::from_be(tag);
        let is_equal = (difference >> (8 * (BLOCK_BYTES - message.tag_bytes))).ct_eq(&0);
        if bool::from(is_equal) && message.fits() {
            return Ok(());
        }
        wipe(message.data);
        Err(Rejected)
    };
    let verdicts = messages.iter_mut().zip(&tags).map(verdict).collect();
    // A forgery's right tag would make it authentic.
    wipe(&mut tags);
    verdicts
}

/// A message, and where its tag goes.
struct Work<'w, 'm> {
    message: &'w mut Message<'m>,
    tag: &'w mut u128,
}

impl Work<'_, '_> {
    /// By what messages stand side by side.
    fn kind(&self) -> (usize, usize) {
        (self.message.key.rounds(), self.message.data.len() / BLOCK_BYTES)
    }
}

/// Takes all messages through the lanes. Returns their tags, all bytes of them, as numbers of the bytes in memory.
fn compute<const OPENS: bool>(backend: Backend, messages: &mut [Message<'_>]) -> Vec<u128> {
    let mut tags = vec![0; messages.len()];
    let mut works: Vec<Work<'_, '_>> = Vec::with_capacity(messages.len());
    works.extend(messages.iter_mut().zip(&mut tags).map(|(message, tag)| Work { message, tag }));
    if !works.is_sorted_by_key(Work::kind) {
        works.sort_unstable_by_key(Work::kind);
    }
    let long = absorb_long(backend, &works);
    let mut long = long.iter().copied();
    let mut pairs = Pairs::new(backend);
    let mut lanes = Vec::with_capacity(pairs.count());
    for works in works.chunk_by_mut(|a, b| a.message.key.rounds() == b.message.key.rounds()) {
        for works in works.chunks_mut(pairs.count()) {
            lanes.clear();
            let mut tags: [Option<&mut u128>; LANES_MAX] = [const { None }; _];
            for (Work { message, tag }, place) in works.iter_mut().zip(&mut tags) {
                message.check();
                let long = if message.is_long() { long.next() } else { None };
                let (front, rest) = (message.front(long), front(message.data.as_chunks::<BLOCK_BYTES>().1));
                let schedule = message.key.encrypting();
                lanes.push(Lane::new(schedule, &front, message.data, rest.to_be(), OPENS));
                *place = Some(tag);
            }
            pairs.run::<OPENS>(&mut lanes);
            for (lane, place) in lanes.iter_mut().zip(tags.into_iter().flatten()) {
                *place = lane.end();
            }
        }
    }
    tags
}

/// Of each message that has more associated data than a block has room for, in order: what its MAC takes next to last and
/// last before the data.
fn absorb_long(backend: Backend, works: &[Work<'_, '_>]) -> Zeroizing<Vec<[u128; 2]>> {
    let long = works.iter().map(|work| &*work.message).filter(|message| message.is_long());
    let headers: Vec<(&Key, Vec<Block>)> = long.map(|message| (message.key, message.header())).collect();
    if headers.is_empty() {
        return Zeroizing::default();
    }
    let mut macs = Zeroizing::new(vec![[0; BLOCK_BYTES]; headers.len()]);
    let works = headers.iter().zip(&mut *macs);
    let works =
        works.map(|((key, header), mac)| Absorption::new(key, [&header[..header.len() - 2], &[]], mac));
    run(backend, &mut works.collect::<Vec<_>>());
    let last = |((_, header), &mac): (&(_, Vec<Block>), &Block)| {
        let [.., first, second] = header[..] else { unreachable!("it is longer than that") };
        [u128::from_ne_bytes(mac) ^ u128::from_ne_bytes(first), u128::from_ne_bytes(second)]
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
        let second = || (associated_data.len() as u128) << 112 | front(associated_data) >> 16;
        let second = (!associated_data.is_empty()).then(|| second().to_be());
        Front { first: b0.to_be(), second, counter }
    }

    /// Counter 0, and B0 (SP 800-38C appendix A.2 and A.3), as numbers.
    fn first(&self) -> (u128, u128) {
        let length_bytes = BLOCK_BYTES - 1 - self.nonce.len();
        let counter = ((length_bytes as u128 - 1) << 120) | (front(self.nonce) >> 8);
        let flags = (u8::from(!self.associated_data.is_empty()) << 6) | ((self.tag_bytes / 2 - 1) << 3) as u8;
        (counter, counter | (u128::from(flags) << 120) | self.data.len() as u128)
    }

    /// B0 and the associated data behind their length.
    fn header(&self) -> Vec<Block> {
        let length = self.associated_data.len() as u64;
        let mut bytes = self.first().1.to_be_bytes().to_vec();
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

/// Up to 16 bytes at the top of a block of zeros: without a copy of a length that nobody foresees.
#[inline(always)]
fn front(bytes: &[u8]) -> u128 {
    if bytes.is_empty() {
        return 0;
    }
    let bits = 8 * bytes.len() as u32;
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let last = u64::from_be_bytes(*last).checked_shl(128 - bits).unwrap_or(0);
        return (u128::from(u64::from_be_bytes(*first)) << 64) | u128::from(last);
    }
    let half = if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let last = u64::from(u32::from_be_bytes(*last)) << (64 - bits);
        (u64::from(u32::from_be_bytes(*first)) << 32) | last
    } else {
        let value = bytes.iter().fold(0, |value, &byte| (value << 8) | u64::from(byte));
        value.checked_shl(64 - bits).unwrap_or(0)
    };
    u128::from(half) << 64
}
