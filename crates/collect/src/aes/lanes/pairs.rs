//! Messages of CCM side by side, each under a key of its own: a lane takes a block of counter mode and a block of the MAC
//! in one step, with the same round keys. A MAC alone would leave half of the core idle in a few lanes, and would read each
//! round key for one block. And as a message has a block more in its MAC than in its key stream, behind or before it, a
//! short one would have little of either.

use std::arch::asm;
use std::mem::MaybeUninit;
use std::ptr;

use zeroize::Zeroizing;

use super::{IDLE_BLOCKS, call};
#[cfg(target_arch = "x86_64")]
use super::{aesni, vaes, vaes512};
use crate::aes::bitslice::{self, PLANE_BLOCKS};
use crate::aes::schedule::{ROUND_KEYS_MAX, Schedule};
use crate::aes::{BLOCK_BYTES, Backend, Block};
use crate::plaintext::wipe;

/// A message in its lane. Blocks are numbers here, of the bytes in the order of memory.
#[repr(C)]
pub struct Lane<'a> {
    /// What the cipher takes next for the MAC; with instructions the first key is added to it.
    pub(super) state: u128,
    /// What of the cipher's first result goes on, all or nothing, and what is added to it.
    pub(super) keep: u128,
    pub(super) second: u128,
    /// Counter 0; with instructions the first key is added to it.
    pub(super) base: u128,
    /// The last bytes that are no whole block, padded; their counter, as a big-endian number; which of their bits the MAC
    /// takes as they become, not as they were; and all ones if there are any.
    pub(super) rest: u128,
    pub(super) rest_count: u128,
    pub(super) rest_mask: u128,
    pub(super) rest_is: u128,
    /// The first block of the key stream, and in the end the sum of it and the MAC.
    pub(super) tag: u128,
    schedule: &'a Schedule,
    whole: &'a mut [Block],
    rest_bytes: &'a mut [u8],
}

/// What is known of a message before its data: blocks as little-endian numbers.
pub struct Front {
    /// What the cipher takes first for its MAC.
    pub first: u128,
    /// What is added to the result; `None` when the data follow the first block at once.
    pub second: Option<u128>,
    /// Counter 0. The data are encrypted under those that follow it.
    pub counter: u128,
}

impl<'a> Lane<'a> {
    /// A message; `rest` are its last bytes that are no whole block, as a little-endian number, padded.
    #[inline(always)]
    pub fn new(
        schedule: &'a Schedule,
        front: &Front,
        data: &'a mut [u8],
        rest: u128,
        opens: bool,
    ) -> Lane<'a> {
        let (whole, rest_bytes) = data.as_chunks_mut();
        let rest_bits = 8 * rest_bytes.len() as u32;
        // Without associated data the MAC begins again with the first block, a step later.
        let (keep, second) = front.second.map_or((0, front.first), |second| (u128::MAX, second));
        Lane {
            state: in_memory(front.first),
            keep,
            second: in_memory(second),
            base: in_memory(front.counter),
            rest: in_memory(rest),
            rest_count: (whole.len() as u128 + 1).to_be(),
            rest_mask: if opens { !u128::MAX.checked_shl(rest_bits).unwrap_or(0).to_le() } else { 0 },
            rest_is: if rest_bits == 0 { 0 } else { u128::MAX },
            tag: 0,
            schedule,
            whole,
            rest_bytes,
        }
    }

    /// Wipes what became of the message.
    #[inline(always)]
    pub fn wipe(&mut self) {
        wipe(self.whole.as_flattened_mut());
        wipe(self.rest_bytes);
    }

    /// Writes what became of the last bytes, and returns the tag. Nothing is left here.
    #[inline(always)]
    pub fn end(&mut self) -> u128 {
        if !self.rest_bytes.is_empty() {
            self.rest_bytes.copy_from_slice(&self.rest.to_ne_bytes()[..self.rest_bytes.len()]);
        }
        let tag = self.tag;
        (self.state, self.base, self.rest, self.tag) = (0, 0, 0, 0);
        wiped(ptr::from_ref(self));
        tag
    }
}

/// A little-endian number as one of the bytes in memory, where it is written whole: a register that is written in halves
/// cannot be read again before both have arrived there.
#[inline(always)]
fn in_memory(number: u128) -> u128 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 has SSE2, and both are 16 bytes of any value.
    return unsafe {
        let halves = std::arch::x86_64::_mm_set_epi64x((number >> 64) as i64, number as i64);
        std::mem::transmute::<std::arch::x86_64::__m128i, u128>(halves)
    };
    #[cfg(not(target_arch = "x86_64"))]
    number.to_le()
}

/// The compiler has to think that what was written at `address` is read.
fn wiped<T>(address: *const T) {
    // SAFETY: it does nothing.
    unsafe { asm!("/* {0} */", in(reg) address, options(nostack, preserves_flags, readonly)) }
}

/// What is done in a call of a backend.
#[derive(Clone, Copy)]
pub(super) struct Steps {
    /// The first step, which takes the round keys from their schedules.
    pub(super) has_begin: bool,
    /// Blocks of every message after it, and their first counter.
    pub(super) blocks: usize,
    pub(super) count: u64,
    /// What is left of some message after that, and the end of the MAC.
    pub(super) has_rest: bool,
    pub(super) has_end: bool,
}

/// Most messages side by side.
pub(super) const PAIRS_MAX: usize = 8;

/// Where what a backend is given lies.
pub(super) struct Places {
    /// The lanes' numbers.
    pub(super) lanes: [*mut u8; PAIRS_MAX],
    /// Their next blocks.
    pub(super) blocks: [*mut u8; PAIRS_MAX],
    pub(super) schedules: [*mut u8; PAIRS_MAX],
}

/// The row of keys with the sums of the first and the last ones.
pub(super) const JOINT: usize = ROUND_KEYS_MAX;

/// Lanes for messages. Wiped when it is dropped.
#[repr(align(64))]
pub struct Pairs {
    /// Round keys, those of a round together, a lane's beside the next one's.
    keys: MaybeUninit<[[u128; PAIRS_MAX]; ROUND_KEYS_MAX + 1]>,
    /// What lanes work on whose message has ended. Nobody reads it, and they may share it.
    idle: MaybeUninit<[Block; IDLE_BLOCKS]>,
    is_idle_used: bool,
    backend: Backend,
}

impl Pairs {
    /// Lanes without a message.
    pub fn new(backend: Backend) -> Pairs {
        Pairs { keys: MaybeUninit::uninit(), idle: MaybeUninit::uninit(), is_idle_used: false, backend }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        match self.backend {
            Backend::Bitslice => PLANE_BLOCKS,
            #[cfg(target_arch = "x86_64")]
            Backend::AesNi => PAIRS_MAX / 2,
            #[cfg(target_arch = "x86_64")]
            Backend::Vaes | Backend::Vaes512 => PAIRS_MAX,
        }
    }

    /// Takes messages through, one or more and no more than there are lanes; if it `OPENS`, their MACs are taken over what
    /// they become. The nearer their lengths are to each other, the less is idle.
    ///
    /// # Panics
    /// When there are too many, or their keys have different numbers of rounds.
    pub fn run<const OPENS: bool>(&mut self, lanes: &mut [Lane<'_>]) {
        let rounds = lanes[0].schedule.rounds();
        let (count, width) = (lanes.len(), self.count());
        assert!(count <= width, "{count} messages");
        // Each place is taken once, and nothing of lanes and keys is touched but by it until the end.
        let (idle, keys): (*mut u8, _) = (self.idle.as_mut_ptr().cast(), self.keys.as_mut_ptr().cast());
        let cipher = Cipher { backend: self.backend, rounds, keys };
        let mut places =
            Places { lanes: [ptr::null_mut(); _], blocks: [idle; _], schedules: [ptr::null_mut(); _] };
        let (mut lengths, mut has_rest, mut is_mixed) = ([0; PAIRS_MAX], false, false);
        let (mut shortest, mut longest) = (usize::MAX, 0);
        for (i, lane) in lanes.iter_mut().enumerate() {
            let length = lane.whole.len();
            lengths[i] = length;
            (shortest, longest) = (shortest.min(length), longest.max(length));
            has_rest |= !lane.rest_bytes.is_empty();
            is_mixed |= lane.schedule.rounds() != rounds;
            places.schedules[i] = lane.schedule.address().cast_mut();
            places.blocks[i] = lane.whole.as_mut_ptr().cast();
        }
        let first: *mut Lane<'_> = lanes.as_mut_ptr();
        for (i, place) in places.lanes[..count].iter_mut().enumerate() {
            *place = first.wrapping_add(i).cast();
        }
        assert!(!is_mixed, "keys of different lengths");
        let lengths = &lengths[..count];
        let all = Steps { has_begin: true, blocks: longest, count: 1, has_rest, has_end: true };
        if shortest == longest && count == width {
            // SAFETY: the places are those of `lanes`, all of them, each with so many blocks.
            return unsafe { cipher.call::<OPENS>(&places, all) };
        }
        if !self.is_idle_used {
            self.is_idle_used = true;
            // SAFETY: these are the bytes of `idle`. By the field itself, the place would no longer be good.
            unsafe { idle.write_bytes(0, IDLE_BLOCKS * BLOCK_BYTES) };
        }
        let front = Front { first: 0, second: None, counter: 0 };
        // SAFETY: a lane's schedule stays where it is, and is only read.
        let schedule = unsafe { (*first).schedule };
        let mut nobody = Lane::new(schedule, &front, &mut [], 0, OPENS);
        let nobody_at: *mut u8 = ptr::from_mut(&mut nobody).cast();
        places.lanes[count..].fill(nobody_at);
        places.schedules[count..].fill(schedule.address().cast_mut());
        if longest <= IDLE_BLOCKS && shortest == longest {
            // SAFETY: the places are those of `lanes` and `nobody`, with so many blocks, which `idle` has as well.
            unsafe { cipher.call::<OPENS>(&places, all) };
        } else {
            // SAFETY: the places are those of `lanes` and `nobody`, each with as many blocks as it is long.
            unsafe { cipher.run_apart::<OPENS>(&mut places, lengths, width, (nobody_at, idle), all) };
        }
        nobody.end();
    }
}

/// What blocks are encrypted with.
struct Cipher {
    backend: Backend,
    rounds: usize,
    /// Where the round keys are laid out.
    keys: *mut u8,
}

impl Cipher {
    /// [`Pairs::run`] for messages of different `lengths`: of `width` lanes those idle whose message has ended, with the lane
    /// and the blocks that are `nobody`'s.
    ///
    /// # Safety
    /// The places are those of lanes, of their schedules, and of as many blocks as each is long.
    unsafe fn run_apart<const OPENS: bool>(
        &self,
        places: &mut Places,
        lengths: &[usize],
        width: usize,
        nobody: (*mut u8, *mut u8),
        all: Steps,
    ) {
        let begin = Steps { blocks: 0, has_rest: false, has_end: false, ..all };
        let (present, begins) = (places.lanes, places.blocks);
        // SAFETY: the caller's promise.
        unsafe { self.call::<OPENS>(places, begin) };
        let mut at = 0;
        while at < all.blocks {
            let is_idle = lengths.len() < width || lengths.iter().any(|&length| length <= at);
            let mut blocks = if is_idle { IDLE_BLOCKS } else { usize::MAX };
            for (i, &length) in lengths.iter().enumerate() {
                if length > at {
                    places.blocks[i] = begins[i].wrapping_add(at * BLOCK_BYTES);
                    blocks = blocks.min(length - at);
                } else {
                    (places.lanes[i], places.blocks[i]) = nobody;
                }
            }
            let steps = Steps { has_begin: false, blocks, count: at as u64 + 1, ..begin };
            // SAFETY: as above, and each lane has so many blocks left, or is `nobody`'s, whose blocks are as many.
            unsafe { self.call::<OPENS>(places, steps) };
            at += blocks;
        }
        places.lanes = present;
        // SAFETY: as at first.
        unsafe { self.call::<OPENS>(places, Steps { has_begin: false, blocks: 0, ..all }) };
    }

    /// # Safety
    /// The places are those of lanes, of their schedules and of as many blocks as are asked for.
    unsafe fn call<const OPENS: bool>(&self, places: &Places, steps: Steps) {
        let Cipher { backend, rounds, keys } = *self;
        // SAFETY: the CPU is checked, the keys are laid out for it, and the places are the caller's promise.
        unsafe {
            if backend == Backend::Bitslice {
                self.call_in_planes::<OPENS>(places, steps);
            } else if OPENS {
                call!(backend, rounds, pair::<true>(keys, places, steps));
            } else {
                call!(backend, rounds, pair::<false>(keys, places, steps));
            }
        }
    }

    /// # Safety
    /// As [`call`](Self::call).
    unsafe fn call_in_planes<const OPENS: bool>(&self, places: &Places, steps: Steps) {
        let rounds = self.rounds;
        let mut keys = Zeroizing::new([[0; 8]; ROUND_KEYS_MAX]);
        for (round, planes) in keys[..=rounds].iter_mut().enumerate() {
            // SAFETY: a schedule has so many keys, and a block needs no alignment.
            let key =
                |lane: usize| unsafe { *places.schedules[lane].add(round * BLOCK_BYTES).cast::<Block>() };
            *planes = bitslice::slice(&std::array::from_fn(key));
        }
        let encrypt = |numbers: [u128; PLANE_BLOCKS]| {
            let mut blocks = Zeroizing::new(numbers.map(u128::to_ne_bytes));
            bitslice::encrypt_four(&keys[..=rounds], &mut blocks);
            blocks.map(u128::from_ne_bytes)
        };
        // SAFETY: the lanes that nobody has are one, so that only one is borrowed at a time.
        let lane = |i: usize| unsafe { &mut *places.lanes[i].cast::<Lane<'_>>() };
        let step = |counts: [u128; PLANE_BLOCKS]| {
            let macs = encrypt(std::array::from_fn(|i| lane(i).state));
            (encrypt(std::array::from_fn(|i| lane(i).base ^ counts[i])), macs)
        };
        if steps.has_begin {
            let (stream, macs) = step([0; _]);
            for i in 0..PLANE_BLOCKS {
                lane(i).tag = stream[i];
                lane(i).state = macs[i] & lane(i).keep ^ lane(i).second;
            }
        }
        for at in 0..steps.blocks {
            let (stream, macs) = step([(u128::from(steps.count) + at as u128).to_be(); _]);
            for i in 0..PLANE_BLOCKS {
                let place: *mut Block = places.blocks[i].wrapping_add(at * BLOCK_BYTES).cast();
                // SAFETY: it is one of the lane's blocks, and a block needs no alignment.
                let block = u128::from_ne_bytes(unsafe { *place });
                let made = block ^ stream[i];
                // SAFETY: as above.
                unsafe { *place = made.to_ne_bytes() };
                lane(i).state = macs[i] ^ if OPENS { made } else { block };
            }
        }
        if steps.has_rest {
            let (stream, macs) = step(std::array::from_fn(|i| lane(i).rest_count));
            for i in 0..PLANE_BLOCKS {
                let rest = lane(i).rest;
                lane(i).rest = rest ^ stream[i];
                if lane(i).rest_is != 0 {
                    lane(i).state = macs[i] ^ rest ^ stream[i] & lane(i).rest_mask;
                }
            }
        }
        if steps.has_end {
            let macs = encrypt(std::array::from_fn(|i| lane(i).state));
            (0..PLANE_BLOCKS).for_each(|i| lane(i).tag ^= macs[i]);
        }
    }
}

impl Drop for Pairs {
    fn drop(&mut self) {
        // By registers: byte after byte it would take as long as a short message.
        let rows: *mut [u128; PAIRS_MAX] = self.keys.as_mut_ptr().cast();
        for row in 0..=JOINT {
            // SAFETY: there are so many rows, whatever is in them.
            unsafe { rows.add(row).write([0; _]) };
        }
        if self.is_idle_used {
            self.idle = MaybeUninit::zeroed();
        }
        wiped(ptr::from_ref(self));
    }
}
