//! Lanes: a message goes through the phases of Ascon-AEAD128 (SP 800-232 section 4) in a lane of its own, and a lane whose
//! message ends takes the next one. The permutation, of all lanes together, is left to a [`Permutation`].
//!
//! The longest messages begin first. Equal ones then stay in step, and what keeps other lanes waiting at the end is short.

use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

use crate::ascon::Message;

/// What one permutation absorbs.
pub(super) const BLOCK_BYTES: usize = 16;

/// The initial value of Ascon-AEAD128 (section 4.1).
const INITIAL: u64 = 0x0000_1000_808c_0001;

/// How many blocks lanes without a message may be carried along with the others before they are looked at again.
const IDLE_BLOCKS: usize = 4;

/// Which way messages go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Seal,
    Open,
}

/// The states of L lanes: word w of lane l is `.0[w][l]`.
#[repr(align(32))]
pub(super) struct State<const L: usize>(pub [[u64; L]; 5]);

impl<const L: usize> Drop for State<L> {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// The permutation on L states.
pub(super) trait Permutation<const L: usize> {
    /// Twelve rounds in those lanes whose mask is all ones, and the last eight of them in those whose mask is zero.
    fn permute(&self, state: &mut State<L>, twelve: &[u64; L]);

    /// Takes each lane through its data, whole blocks and as many in every lane, with the last eight rounds behind each.
    fn blocks(&self, direction: Direction, state: &mut State<L>, data: [&mut [u8]; L]);
}

/// A message that waits for a lane.
pub(super) struct Task<'m, 'a> {
    /// How many permutations it takes, and in the lower half how many of them are over associated data: equal ones stay in
    /// step.
    permutations: u64,
    index: usize,
    message: &'m mut Message<'a>,
}

impl<'m, 'a> Task<'m, 'a> {
    /// All messages, the one that takes longest at the end.
    pub(super) fn queue(messages: &'m mut [Message<'a>]) -> Vec<Task<'m, 'a>> {
        let task = |(index, message): (usize, &'m mut Message<'a>)| {
            let over_aad = if message.aad.is_empty() { 0 } else { message.aad.len() / BLOCK_BYTES + 1 };
            let all = message.data.len() / BLOCK_BYTES + over_aad;
            let permutations = ((all as u64) << 32) | over_aad as u64;
            Task { permutations, index, message }
        };
        let mut queue: Vec<_> = messages.iter_mut().enumerate().map(task).collect();
        queue.sort_unstable_by_key(|task| task.permutations);
        queue
    }

    fn begin(self) -> Lane<'m, 'a> {
        Lane { message: self.message, index: self.index, phase: Phase::Initialise, at: 0 }
    }
}

/// What a lane does next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Take key and nonce, or add the key behind their permutation.
    Initialise,
    /// Absorb associated data.
    Associate,
    /// Mark the end of the associated data.
    Separate,
    /// Absorb data and give it back.
    Crypt,
    /// Make or check the tag.
    Finish,
}

struct Lane<'m, 'a> {
    message: &'m mut Message<'a>,
    index: usize,
    phase: Phase,
    /// How much of the associated data, then of the data, is done.
    at: usize,
}

/// L lanes and their states.
pub(super) struct Lanes<'m, 'a, const L: usize> {
    direction: Direction,
    lanes: [Option<Lane<'m, 'a>>; L],
    state: State<L>,
    /// What lanes without a message take for data. They go on from the state of their last one.
    idle: Zeroizing<[[u8; BLOCK_BYTES * IDLE_BLOCKS]; L]>,
}

impl<'m, 'a, const L: usize> Lanes<'m, 'a, L> {
    pub(super) fn new(direction: Direction) -> Self {
        let (lanes, state) = ([const { None }; L], State([[0; L]; 5]));
        Lanes { direction, lanes, state, idle: Zeroizing::new([[0; BLOCK_BYTES * IDLE_BLOCKS]; L]) }
    }

    /// The lanes that have a message, M or fewer, as they stand.
    pub(super) fn narrow<const M: usize>(mut self) -> Lanes<'m, 'a, M> {
        let mut narrow = Lanes::new(self.direction);
        let busy = self.lanes.iter_mut().enumerate().filter_map(|(l, lane)| Some((l, lane.take()?)));
        for (to, (from, lane)) in busy.enumerate() {
            narrow.lanes[to] = Some(lane);
            for (to_word, from_word) in narrow.state.0.iter_mut().zip(&self.state.0) {
                to_word[to] = from_word[from];
            }
        }
        narrow
    }

    /// Goes on until the queue is empty and no more than `left_max` lanes have a message.
    pub(super) fn run(
        &mut self,
        permutation: &impl Permutation<L>,
        queue: &mut Vec<Task<'m, 'a>>,
        verdicts: &mut [bool],
        left_max: usize,
    ) {
        for lane in self.lanes.iter_mut().filter(|lane| lane.is_none()) {
            *lane = queue.pop().map(Task::begin);
        }
        let mut busy = self.lanes.iter().flatten().count();
        while busy > left_max {
            busy -= self.run_one(permutation, queue, verdicts);
            let mut blocks = self.lanes.iter().flatten().map(Lane::whole_blocks).min().unwrap_or(0);
            while blocks > 0 {
                let taken = if busy == L { blocks } else { blocks.min(IDLE_BLOCKS) };
                self.run_blocks(permutation, taken);
                blocks -= taken;
            }
        }
    }

    /// Takes that many blocks, which every lane has.
    fn run_blocks(&mut self, permutation: &impl Permutation<L>, blocks: usize) {
        let bytes = blocks * BLOCK_BYTES;
        let mut data: [&mut [u8]; L] = [(); L].map(|()| &mut [][..]);
        for ((data, lane), idle) in data.iter_mut().zip(&mut self.lanes).zip(self.idle.iter_mut()) {
            *data = match lane {
                Some(lane) => {
                    lane.at += bytes;
                    &mut lane.message.data[lane.at - bytes..lane.at]
                }
                None => &mut idle[..bytes],
            };
        }
        permutation.blocks(self.direction, &mut self.state, data);
    }

    /// Takes each lane through one permutation, whatever it is for. Whose message ends takes the next one; how many lanes
    /// found none is returned.
    fn run_one(
        &mut self,
        permutation: &impl Permutation<L>,
        queue: &mut Vec<Task<'m, 'a>>,
        verdicts: &mut [bool],
    ) -> usize {
        let direction = self.direction;
        let mut twelve = [0; L];
        for (l, (lane, twelve)) in self.lanes.iter_mut().zip(&mut twelve).enumerate() {
            let Some(lane) = lane else { continue };
            *twelve = if lane.absorb(direction, &mut self.state, l) { u64::MAX } else { 0 };
        }
        permutation.permute(&mut self.state, &twelve);
        let mut emptied = 0;
        for (l, lane) in self.lanes.iter_mut().enumerate() {
            if lane.as_mut().is_some_and(|lane| lane.settle(direction, &mut self.state, l, verdicts)) {
                *lane = queue.pop().map(Task::begin);
                emptied += usize::from(lane.is_none());
            }
        }
        emptied
    }
}

impl Lane<'_, '_> {
    /// How many blocks of data can be taken one behind the other from here.
    fn whole_blocks(&self) -> usize {
        if self.phase == Phase::Crypt { (self.message.data.len() - self.at) / BLOCK_BYTES } else { 0 }
    }

    /// What comes before a permutation; whether it is one of twelve rounds.
    fn absorb<const L: usize>(&mut self, direction: Direction, state: &mut State<L>, l: usize) -> bool {
        let message = &mut *self.message;
        match self.phase {
            Phase::Initialise => {
                let ([k0, k1], [n0, n1]) = (words(message.key), words(&message.nonce));
                for (state, word) in state.0.iter_mut().zip([INITIAL, k0, k1, n0, n1]) {
                    state[l] = word;
                }
                true
            }
            Phase::Associate => {
                let rest = &message.aad[self.at..];
                if let Some(block) = rest.first_chunk() {
                    state.add(l, 0, words(block));
                    self.at += BLOCK_BYTES;
                } else {
                    state.add(l, 0, padded(rest));
                    self.phase = Phase::Separate;
                }
                false
            }
            Phase::Crypt => {
                let rest = &mut message.data[self.at..];
                if let Some(block) = rest.first_chunk_mut() {
                    state.crypt(l, direction, block);
                    self.at += BLOCK_BYTES;
                    return false;
                }
                let taken = padded(rest);
                let given = [taken[0] ^ state.0[0][l], taken[1] ^ state.0[1][l]];
                if !rest.is_empty() {
                    rest.copy_from_slice(&bytes(given)[..rest.len()]);
                }
                state.add(l, 0, if direction == Direction::Seal { taken } else { padded(rest) });
                state.add(l, 2, words(message.key));
                self.phase = Phase::Finish;
                true
            }
            Phase::Separate | Phase::Finish => unreachable!("settled behind the permutation"),
        }
    }

    /// What comes behind a permutation; whether the message is done.
    fn settle<const L: usize>(
        &mut self,
        direction: Direction,
        state: &mut State<L>,
        l: usize,
        verdicts: &mut [bool],
    ) -> bool {
        let message = &mut *self.message;
        match self.phase {
            Phase::Initialise => {
                state.add(l, 3, words(message.key));
                self.phase = if message.aad.is_empty() { Phase::Separate } else { Phase::Associate };
            }
            Phase::Finish => {
                let [k0, k1] = words(message.key);
                let tag = [state.0[3][l] ^ k0, state.0[4][l] ^ k1];
                match direction {
                    Direction::Seal => message.tag = bytes(tag),
                    Direction::Open => {
                        let [t0, t1] = words(&message.tag);
                        let is_right: bool = ((tag[0] ^ t0) | (tag[1] ^ t1)).ct_eq(&0).into();
                        if !is_right {
                            message.data.zeroize();
                        }
                        verdicts[self.index] = is_right;
                    }
                }
                return true;
            }
            Phase::Associate | Phase::Separate | Phase::Crypt => {}
        }
        if self.phase == Phase::Separate {
            state.0[4][l] ^= 1 << 63;
            self.phase = Phase::Crypt;
            self.at = 0;
        }
        false
    }
}

impl<const L: usize> State<L> {
    /// Adds two words to lane l's words from `first` on.
    fn add(&mut self, l: usize, first: usize, words: [u64; 2]) {
        self.0[first][l] ^= words[0];
        self.0[first + 1][l] ^= words[1];
    }

    /// Takes a whole block through lane l.
    fn crypt(&mut self, l: usize, direction: Direction, block: &mut [u8; BLOCK_BYTES]) {
        let taken = words(block);
        let given = [taken[0] ^ self.0[0][l], taken[1] ^ self.0[1][l]];
        *block = bytes(given);
        [self.0[0][l], self.0[1][l]] = if direction == Direction::Seal { given } else { taken };
    }
}

/// A word of the state, in the order of SP 800-232.
pub(super) fn word(bytes: &[u8; 8]) -> u64 {
    u64::from_le_bytes(*bytes)
}

fn words(block: &[u8; BLOCK_BYTES]) -> [u64; 2] {
    let (halves, _) = block.as_chunks();
    [word(&halves[0]), word(&halves[1])]
}

fn bytes(words: [u64; 2]) -> [u8; BLOCK_BYTES] {
    (u128::from(words[1]) << 64 | u128::from(words[0])).to_le_bytes()
}

/// Fifteen bytes or fewer with the bit that ends them.
fn padded(rest: &[u8]) -> [u64; 2] {
    if rest.is_empty() {
        return [1, 0];
    }
    let mut block = [0; BLOCK_BYTES];
    block[..rest.len()].copy_from_slice(rest);
    block[rest.len()] = 1;
    words(&block)
}
