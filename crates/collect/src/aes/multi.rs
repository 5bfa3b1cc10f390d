//! Many streams at once, each under its own key and of its own length: what has to take the blocks of a stream one
//! after the other. Alone a stream would leave the core idle for nine tenths of the time.
//!
//! [`run`] deals streams to lanes. All lanes go on by as many blocks as the one with the fewest has left; a lane whose
//! stream has ended takes the next one. Keys of one length are taken together.

use super::block::whole;
use super::lanes::{LANES_MAX, Lanes, Run};
use super::{BLOCK_BYTES, Backend, Block, Key, lanes};

/// Rounds of the key lengths.
const ROUNDS: [usize; 3] = [10, 12, 14];

/// A message for [`cbc_encrypt`].
#[derive(Debug)]
pub struct Stream<'a> {
    /// Its key.
    pub key: &'a Key,
    /// The block before its first one; afterwards its last block, for what follows.
    pub iv: Block,
    /// Plaintext; afterwards ciphertext.
    pub data: &'a mut [u8],
}

/// A message for [`cbc_mac`] and [`cmac`].
#[derive(Debug)]
pub struct Mac<'a> {
    /// Its key.
    pub key: &'a Key,
    /// The message.
    pub data: &'a [u8],
    /// What is computed.
    pub tag: Block,
}

/// CBC encryption in place. It authenticates nothing.
///
/// # Panics
/// When the data of a stream are not a whole number of blocks, or the CPU lacks the backend.
pub fn cbc_encrypt(backend: Backend, streams: &mut [Stream<'_>]) {
    let works = streams.iter_mut().map(|Stream { key, iv, data }| Encryption { key, iv, data: whole(data) });
    run(backend, &mut works.collect::<Vec<_>>());
}

/// CBC-MAC from a block of zeros: safe only among messages of one length. It is what [`super::ccm`] is made of.
///
/// # Panics
/// As [`cbc_encrypt`].
pub fn cbc_mac(backend: Backend, messages: &mut [Mac<'_>]) {
    let works = messages.iter_mut().map(|Mac { key, data, tag }| {
        let (blocks, rest) = data.as_chunks();
        assert!(rest.is_empty(), "{} bytes are not a whole number of blocks", data.len());
        Absorption::new(key, [blocks, &[]], tag)
    });
    run(backend, &mut works.collect::<Vec<_>>());
}

/// CMAC (SP 800-38B) of messages of any length.
///
/// # Panics
/// When the CPU lacks the backend.
pub fn cmac(backend: Backend, messages: &mut [Mac<'_>]) {
    let lasts: Vec<[Block; 1]> = messages.iter().map(|message| [last(backend, message)]).collect();
    let works = messages.iter_mut().zip(&lasts).map(|(Mac { key, data, tag }, last)| {
        let whole = &data[..rest_at(data)];
        Absorption::new(key, [whole.as_chunks().0, last], tag)
    });
    run(backend, &mut works.collect::<Vec<_>>());
}

/// Where the last block of a message begins for CMAC, whole or not.
fn rest_at(data: &[u8]) -> usize {
    data.len().saturating_sub(1) / BLOCK_BYTES * BLOCK_BYTES
}

/// The last block that CMAC takes: what is left after all blocks but one, padded if need be, and a subkey.
fn last(backend: Backend, message: &Mac<'_>) -> Block {
    let double = |x: u128| (x << 1) ^ ((x >> 127) * 0x87);
    let once = double(lanes::encrypt_number(backend, message.key.encrypting(), 0));
    let rest = &message.data[rest_at(message.data)..];
    let mut padded = [0; BLOCK_BYTES];
    padded[..rest.len()].copy_from_slice(rest);
    let subkey = if rest.len() == BLOCK_BYTES {
        once
    } else {
        padded[rest.len()] = 0x80;
        double(once)
    };
    (u128::from_be_bytes(padded) ^ subkey).to_be_bytes()
}

/// A stream on its way through a lane.
pub(super) trait Work<'a, const WRITES: bool> {
    /// Its key.
    fn key(&self) -> &'a Key;
    /// Its state before the first block.
    fn start(&self) -> Block;
    /// What it takes next; `None` when it has ended.
    fn next(&mut self) -> Option<Run<'a, WRITES>>;
    /// Keeps its state after the last block.
    fn end(&mut self, state: Block);
}

/// Takes all streams through the lanes.
pub(super) fn run<'a, const WRITES: bool, W: Work<'a, WRITES>>(backend: Backend, works: &mut [W]) {
    for rounds in ROUNDS {
        let mut queue = works.iter_mut().filter(|work| work.key().rounds() == rounds);
        let Some(first) = queue.next() else { continue };
        let mut queue = std::iter::once(first).chain(queue);
        let mut lanes = Lanes::new(backend, rounds);
        let mut places: [Option<&mut W>; LANES_MAX] = [const { None }; _];
        loop {
            for (lane, place) in places.iter_mut().enumerate().take(lanes.count()) {
                if lanes.left(lane) == 0 {
                    fill(&mut lanes, lane, place, &mut queue);
                }
            }
            if places.iter().all(Option::is_none) {
                break;
            }
            lanes.go();
        }
    }
}

/// Gives a lane the next blocks of its stream, or of the next stream, if there are any.
fn fill<'a, 'b, const WRITES: bool, W: Work<'a, WRITES>>(
    lanes: &mut Lanes<'a, WRITES>,
    lane: usize,
    place: &mut Option<&'b mut W>,
    queue: &mut impl Iterator<Item = &'b mut W>,
) {
    loop {
        if let Some(work) = place {
            if let Some(run) = work.next() {
                return lanes.give(lane, run);
            }
            work.end(lanes.state(lane));
        }
        *place = queue.next();
        let Some(work) = place else { return };
        lanes.begin(lane, work.key().encrypting(), &work.start());
    }
}

/// CBC encryption of a stream.
struct Encryption<'a> {
    key: &'a Key,
    iv: &'a mut Block,
    /// All of it, until it is taken.
    data: &'a mut [Block],
}

impl<'a> Work<'a, true> for Encryption<'a> {
    fn key(&self) -> &'a Key {
        self.key
    }

    fn start(&self) -> Block {
        *self.iv
    }

    fn next(&mut self) -> Option<Run<'a, true>> {
        let data = std::mem::take(&mut self.data);
        (!data.is_empty()).then(|| data.into())
    }

    fn end(&mut self, state: Block) {
        *self.iv = state;
    }
}

/// CBC-MAC of up to two runs of blocks, from a block of zeros.
pub(super) struct Absorption<'a> {
    key: &'a Key,
    runs: [&'a [Block]; 2],
    /// The next run.
    at: usize,
    tag: &'a mut Block,
}

impl<'a> Absorption<'a> {
    pub(super) fn new(key: &'a Key, runs: [&'a [Block]; 2], tag: &'a mut Block) -> Absorption<'a> {
        Absorption { key, runs, at: 0, tag }
    }
}

impl<'a> Work<'a, false> for Absorption<'a> {
    fn key(&self) -> &'a Key {
        self.key
    }

    fn start(&self) -> Block {
        [0; BLOCK_BYTES]
    }

    fn next(&mut self) -> Option<Run<'a, false>> {
        let rest = &self.runs[self.at..];
        let skipped = rest.iter().position(|run| !run.is_empty())?;
        self.at += skipped + 1;
        Some(rest[skipped].into())
    }

    fn end(&mut self, state: Block) {
        *self.tag = state;
    }
}
