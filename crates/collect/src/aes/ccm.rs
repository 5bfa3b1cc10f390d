//! CCM (SP 800-38C, RFC 3610) of many messages at once, each under its own key, with any length of nonce, tag and
//! associated data.
//!
//! It is a CBC-MAC over plaintext and counter mode over it and the MAC. The MACs of a batch stand side by side in
//! `multi`'s lanes; in counter mode a message fills the lanes by itself.
//!
//! Invariant: after a failed open the buffer holds zeros, never unauthenticated plaintext.

use std::ops::RangeInclusive;

use cipher::Rejected;
use subtle::ConstantTimeEq;
use zeroize::Zeroize;

use super::multi::{Absorption, run};
use super::{BLOCK_BYTES, Backend, Block, Key, lanes};

/// Messages of a batch: 64 of a waveform's 4 KiB stay in a core's L2 cache between the two passes.
const BATCH: usize = 64;
/// Lengths of a nonce: what is left of a block by a flag and a length field of 8 to 2 bytes.
const NONCE_BYTES: RangeInclusive<usize> = 7..=13;

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
    for batch in messages.chunks_mut(BATCH) {
        for message in &*batch {
            message.check();
            assert!(message.fits(), "{} bytes are too many for the length field", message.data.len());
        }
        let frames: Vec<Frame> = batch.iter().map(Frame::new).collect();
        let macs = authenticate(backend, batch, &frames);
        for ((message, frame), mac) in batch.iter_mut().zip(&frames).zip(&*macs) {
            let tag = frame.tag(backend, message.key, mac);
            message.tag[..message.tag_bytes].copy_from_slice(&tag[..message.tag_bytes]);
            frame.encrypt(backend, message);
        }
    }
}

/// Decrypts every message in place, and says of each whether it is authentic: one that is not is zeros then.
///
/// # Panics
/// When a nonce or tag has a length that CCM has not, or the CPU lacks the backend.
#[must_use = "a message may be a forgery"]
pub fn open(backend: Backend, messages: &mut [Message<'_>]) -> Vec<Result<(), Rejected>> {
    let mut verdicts = Vec::with_capacity(messages.len());
    for batch in messages.chunks_mut(BATCH) {
        batch.iter().for_each(Message::check);
        let frames: Vec<Frame> = batch.iter().map(Frame::new).collect();
        for (message, frame) in batch.iter_mut().zip(&frames) {
            frame.encrypt(backend, message);
        }
        let macs = authenticate(backend, batch, &frames);
        for ((message, frame), mac) in batch.iter_mut().zip(&frames).zip(&*macs) {
            let expected = frame.tag(backend, message.key, mac);
            let is_equal = expected[..message.tag_bytes].ct_eq(&message.tag[..message.tag_bytes]);
            verdicts.push(if bool::from(is_equal) && message.fits() {
                Ok(())
            } else {
                message.data.fill(0);
                Err(Rejected)
            });
        }
    }
    verdicts
}

/// CBC-MACs of a batch, of plaintext.
fn authenticate(backend: Backend, batch: &[Message<'_>], frames: &[Frame]) -> Vec<Block> {
    let mut macs = vec![[0; BLOCK_BYTES]; batch.len()];
    let mut tails: Vec<Block> = batch.iter().map(|message| tail(message.data)).collect();
    let works =
        batch.iter().zip(frames).zip(&tails).zip(&mut macs).map(|(((message, frame), tail), mac)| {
            Absorption::new(message.key, frame.runs(message, tail), mac)
        });
    run(backend, &mut works.collect::<Vec<_>>());
    let partial = tails.iter_mut().zip(batch).filter(|(_, message)| message.data.len() % BLOCK_BYTES != 0);
    partial.for_each(|(tail, _)| tail.zeroize());
    macs
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
}

/// The blocks of a message that are not its own bytes.
struct Frame {
    /// Counter 0: flags and nonce. As a number, like what follows from it.
    counter: u128,
    /// B0, and the length of the associated data with what follows of them in that block.
    first: [Block; 2],
    /// Bytes of associated data in `first`.
    associated_first: usize,
    /// The last bytes of the associated data, padded.
    associated_tail: Block,
}

impl Frame {
    /// Formats a message (SP 800-38C appendix A.2).
    fn new(message: &Message<'_>) -> Frame {
        let Message { nonce, associated_data, data, tag_bytes, .. } = message;
        let length_bytes = BLOCK_BYTES - 1 - nonce.len();
        let counter = ((length_bytes as u128 - 1) << 120) | (front(nonce) >> 8);
        let flags = (u8::from(!associated_data.is_empty()) << 6) | ((tag_bytes / 2 - 1) << 3) as u8;
        let b0 = counter | (u128::from(flags) << 120) | data.len() as u128;
        let (b1, associated_first) = second(associated_data);
        let rest = &associated_data[associated_first..];
        Frame {
            counter,
            first: [b0.to_be_bytes(), b1.to_be_bytes()],
            associated_first,
            associated_tail: tail(rest),
        }
    }

    /// What the MAC is taken over, in order. The last bytes of the data are `padded` apart.
    fn runs<'a>(&'a self, message: &'a Message<'_>, padded: &'a Block) -> [&'a [Block]; 5] {
        let (associated, associated_rest) = message.associated_data[self.associated_first..].as_chunks();
        let (data, rest) = message.data.as_chunks();
        let some = |block: &'a Block, is_some: bool| &std::slice::from_ref(block)[..usize::from(is_some)];
        [
            &self.first[..1 + usize::from(self.associated_first > 0)],
            associated,
            some(&self.associated_tail, !associated_rest.is_empty()),
            data,
            some(padded, !rest.is_empty()),
        ]
    }

    /// The key stream, on the data.
    fn encrypt(&self, backend: Backend, message: &mut Message<'_>) {
        lanes::ctr(backend, message.key.encrypting(), self.counter + 1, message.data);
    }

    /// The tag that a MAC makes.
    fn tag(&self, backend: Backend, key: &Key, mac: &Block) -> Block {
        let mask = lanes::encrypt_number(backend, key.encrypting(), self.counter);
        (mask ^ u128::from_be_bytes(*mac)).to_be_bytes()
    }
}

/// The length of associated data and as many of them as follow it in its block, and how many these are.
fn second(associated_data: &[u8]) -> (u128, usize) {
    let length = associated_data.len() as u128;
    let first = |room: usize| {
        let count = associated_data.len().min(room);
        (front(&associated_data[..count]), count)
    };
    match length {
        0 => (0, 0),
        1..0xff00 => {
            let (bytes, count) = first(14);
            ((length << 112) | (bytes >> 16), count)
        }
        0xff00..0x1_0000_0000 => {
            let (bytes, count) = first(10);
            ((0xfffe << 112) | (length << 80) | (bytes >> 48), count)
        }
        _ => {
            let (bytes, count) = first(6);
            ((0xffff << 112) | (length << 48) | (bytes >> 80), count)
        }
    }
}

/// What is left after whole blocks, padded.
fn tail(data: &[u8]) -> Block {
    front(data.as_chunks::<BLOCK_BYTES>().1).to_be_bytes()
}

/// Up to 16 bytes at the top of a block of zeros: without a copy of a length that nobody foresees.
fn front(bytes: &[u8]) -> u128 {
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
