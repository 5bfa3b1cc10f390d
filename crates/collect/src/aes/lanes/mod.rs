//! The backends behind safe functions: AES-NI, VAES and bit planes. The only files here with `unsafe`, but for the one
//! lifetime that `cores` vouches for.
//!
//! `vector` has the loops, `aesni`, `vaes` and `vaes512` the registers. This file picks one by backend and number of
//! rounds, checks that the CPU has it, and owns [`Lanes`]: chained streams side by side, each under a key of its own.
//! [`Pairs`] does the same for CCM.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod aesni;
mod pairs;
#[cfg(target_arch = "x86_64")]
mod vaes;
#[cfg(target_arch = "x86_64")]
mod vaes512;
#[cfg(target_arch = "x86_64")]
mod vector;

use std::arch::asm;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr;

use zeroize::Zeroizing;

use crate::aes::bitslice::{self, PLANE_BLOCKS};
use crate::aes::schedule::{ROUND_KEYS_MAX, Schedule};
use crate::aes::{BLOCK_BYTES, Backend, Block};

/// Most streams side by side.
pub const LANES_MAX: usize = 16;
/// The round keys of a lane without a stream.
static NO_KEYS: [Block; ROUND_KEYS_MAX] = [[0; BLOCK_BYTES]; _];
/// Blocks that a lane without a stream has: it works all the same.
const IDLE_BLOCKS: usize = 64;

/// Calls an entry of a backend of instructions with the number of rounds as a constant.
macro_rules! call {
    ($backend:expr, $rounds:expr, $entry:ident $(::<$constant:literal>)? ($($argument:expr),*)) => {{
        $backend.check();
        match ($backend, $rounds) {
            (Backend::Bitslice, _) => unreachable!("bit planes are no instructions"),
            #[cfg(target_arch = "x86_64")]
            (Backend::AesNi, 10) => aesni::$entry::<10 $(, $constant)?>($($argument),*),
            #[cfg(target_arch = "x86_64")]
            (Backend::AesNi, 12) => aesni::$entry::<12 $(, $constant)?>($($argument),*),
            #[cfg(target_arch = "x86_64")]
            (Backend::AesNi, _) => aesni::$entry::<14 $(, $constant)?>($($argument),*),
            #[cfg(target_arch = "x86_64")]
            (Backend::Vaes, 10) => vaes::$entry::<10 $(, $constant)?>($($argument),*),
            #[cfg(target_arch = "x86_64")]
            (Backend::Vaes, 12) => vaes::$entry::<12 $(, $constant)?>($($argument),*),
            #[cfg(target_arch = "x86_64")]
            (Backend::Vaes, _) => vaes::$entry::<14 $(, $constant)?>($($argument),*),
            #[cfg(target_arch = "x86_64")]
            (Backend::Vaes512, 10) => vaes512::$entry::<10 $(, $constant)?>($($argument),*),
            #[cfg(target_arch = "x86_64")]
            (Backend::Vaes512, 12) => vaes512::$entry::<12 $(, $constant)?>($($argument),*),
            #[cfg(target_arch = "x86_64")]
            (Backend::Vaes512, _) => vaes512::$entry::<14 $(, $constant)?>($($argument),*),
        }
    }};
}
use call;

pub use self::pairs::{Front, Lane, Pairs};

/// ECB encryption of whole blocks in place, under round keys for encryption.
pub fn ecb_encrypt(backend: Backend, schedule: &Schedule, blocks: &mut [Block]) {
    if backend == Backend::Bitslice {
        return bitslice::ecb_encrypt(schedule.planes(), blocks);
    }
    // SAFETY: the CPU was checked, and the schedule has a key more than rounds.
    unsafe { call!(backend, schedule.rounds(), ecb_encrypt(schedule.address(), blocks.as_flattened_mut())) }
}

/// ECB decryption of whole blocks in place, under round keys for decryption.
pub fn ecb_decrypt(backend: Backend, schedule: &Schedule, blocks: &mut [Block]) {
    if backend == Backend::Bitslice {
        return bitslice::ecb_decrypt(schedule.planes(), blocks);
    }
    // SAFETY: the CPU was checked, and the schedule has a key more than rounds.
    unsafe { call!(backend, schedule.rounds(), ecb_decrypt(schedule.address(), blocks.as_flattened_mut())) }
}

/// CBC decryption of whole blocks in place, under round keys for decryption.
pub fn cbc_decrypt(backend: Backend, schedule: &Schedule, iv: &Block, blocks: &mut [Block]) {
    if backend == Backend::Bitslice {
        return bitslice::cbc_decrypt(schedule.planes(), iv, blocks);
    }
    // SAFETY: the CPU was checked, and the schedule has a key more than rounds.
    unsafe {
        call!(backend, schedule.rounds(), cbc_decrypt(schedule.address(), iv, blocks.as_flattened_mut()))
    }
}

/// The key stream of a counter of 128 bits and those that follow it, added to any number of bytes.
pub fn ctr(backend: Backend, schedule: &Schedule, counter: u128, data: &mut [u8]) {
    if backend == Backend::Bitslice {
        return bitslice::ctr(schedule.planes(), counter, data);
    }
    // SAFETY: the CPU was checked, and the schedule has a key more than rounds.
    unsafe { call!(backend, schedule.rounds(), ctr(schedule.address(), counter, data)) }
}

/// One block, as a big-endian number.
pub fn encrypt_number(backend: Backend, schedule: &Schedule, block: u128) -> u128 {
    if backend == Backend::Bitslice {
        let mut blocks = [block.to_be_bytes(); PLANE_BLOCKS];
        bitslice::encrypt_four(schedule.planes(), &mut blocks);
        return u128::from_be_bytes(blocks[0]);
    }
    // SAFETY: the CPU was checked, and the schedule has a key more than rounds.
    unsafe { call!(backend, schedule.rounds(), encrypt_number(schedule.address(), block)) }
}

/// The S-box on each byte of a word.
pub fn sub_word(backend: Backend, word: u32) -> u32 {
    backend.check();
    match backend {
        Backend::Bitslice => bitslice::sub_word(word),
        // SAFETY: the CPU was checked; one with VAES has AES-NI.
        #[cfg(target_arch = "x86_64")]
        Backend::AesNi | Backend::Vaes | Backend::Vaes512 => unsafe { aesni::sub_word(word) },
    }
}

/// The inverse of MixColumns on a round key.
pub fn inverse_mix_columns(backend: Backend, key: Block) -> Block {
    backend.check();
    match backend {
        Backend::Bitslice => bitslice::inverse_mix_key(key),
        // SAFETY: the CPU was checked; one with VAES has AES-NI.
        #[cfg(target_arch = "x86_64")]
        Backend::AesNi | Backend::Vaes | Backend::Vaes512 => unsafe { aesni::inverse_mix_columns(key) },
    }
}

/// Whole blocks that a lane takes one after the other; `WRITES` if it leaves ciphertext in their place.
pub struct Run<'a, const WRITES: bool> {
    address: *mut u8,
    blocks: usize,
    borrow: PhantomData<&'a mut [Block]>,
}

impl<'a> From<&'a [Block]> for Run<'a, false> {
    fn from(run: &'a [Block]) -> Self {
        Run { address: run.as_ptr().cast_mut().cast(), blocks: run.len(), borrow: PhantomData }
    }
}

impl<'a> From<&'a mut [Block]> for Run<'a, true> {
    fn from(run: &'a mut [Block]) -> Self {
        Run { address: run.as_mut_ptr().cast(), blocks: run.len(), borrow: PhantomData }
    }
}

/// Chained streams side by side, each under its own key: CBC encryption if it `WRITES`, else CBC-MAC. Wiped when it is
/// dropped.
#[repr(align(64))]
pub struct Lanes<'a, const WRITES: bool> {
    /// Round keys, those of a round together, a lane's beside the next one's. As numbers, which are copied faster.
    keys: MaybeUninit<[[u128; LANES_MAX]; ROUND_KEYS_MAX]>,
    states: [u128; LANES_MAX],
    /// Where each lane goes on, and how far it may.
    addresses: [*mut u8; LANES_MAX],
    left: [usize; LANES_MAX],
    /// Where the round keys are taken from before the next step, if they have changed.
    schedules: [*mut u8; LANES_MAX],
    is_stale: bool,
    /// What lanes without a stream work on. Nobody reads it, and they may share it.
    idle: [Block; IDLE_BLOCKS],
    backend: Backend,
    rounds: usize,
    borrow: PhantomData<(&'a mut [Block], &'a Schedule)>,
}

impl<'a, const WRITES: bool> Lanes<'a, WRITES> {
    /// Lanes without a stream, for keys of so many rounds.
    pub fn new(backend: Backend, rounds: usize) -> Self {
        Lanes {
            keys: MaybeUninit::uninit(),
            states: [0; _],
            addresses: [ptr::null_mut(); _],
            left: [0; _],
            schedules: [NO_KEYS.as_ptr().cast_mut().cast(); _],
            is_stale: true,
            idle: [[0; BLOCK_BYTES]; _],
            backend,
            rounds,
            borrow: PhantomData,
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        match self.backend {
            Backend::Bitslice => PLANE_BLOCKS,
            #[cfg(target_arch = "x86_64")]
            Backend::AesNi => LANES_MAX / 2,
            #[cfg(target_arch = "x86_64")]
            Backend::Vaes | Backend::Vaes512 => LANES_MAX,
        }
    }

    /// Begins a stream in a lane.
    ///
    /// # Panics
    /// When the schedule has another number of rounds.
    pub fn begin(&mut self, lane: usize, schedule: &'a Schedule, iv: &Block) {
        assert!(schedule.rounds() == self.rounds, "the lanes are for such keys");
        self.schedules[lane] = schedule.address().cast_mut();
        self.is_stale = true;
        self.states[lane] = u128::from_ne_bytes(*iv);
    }

    /// Gives a lane the next blocks of its stream.
    pub fn give(&mut self, lane: usize, run: Run<'a, WRITES>) {
        (self.addresses[lane], self.left[lane]) = (run.address, run.blocks);
    }

    /// Blocks that a lane still has.
    pub fn left(&self, lane: usize) -> usize {
        self.left[lane]
    }

    /// What a lane's stream has come to.
    pub fn state(&self, lane: usize) -> Block {
        self.states[lane].to_ne_bytes()
    }

    /// Takes all lanes as far as the one goes that has the fewest blocks left. Lanes that have none idle.
    pub fn go(&mut self) {
        let count = self.count();
        let idle: *mut u8 = self.idle.as_mut_ptr().cast();
        for lane in 0..count {
            if self.left[lane] == 0 {
                (self.addresses[lane], self.left[lane]) = (idle, IDLE_BLOCKS);
            }
        }
        let blocks = self.left[..count].iter().fold(usize::MAX, |least, &left| least.min(left));
        // SAFETY: each schedule is borrowed, or `NO_KEYS`; each address has so many blocks, borrowed as `WRITES` wants it,
        // or of `idle`.
        unsafe {
            if std::mem::take(&mut self.is_stale) {
                self.take_keys();
            }
            if self.backend == Backend::Bitslice {
                self.go_in_planes(blocks)
            } else {
                self.go_by_instructions(blocks)
            }
        }
        for lane in 0..count {
            self.left[lane] -= blocks;
            self.addresses[lane] = self.addresses[lane].wrapping_add(blocks * BLOCK_BYTES);
        }
    }
}

impl<const WRITES: bool> Lanes<'_, WRITES> {
    /// # Safety
    /// Each lane's schedule has the round keys.
    unsafe fn take_keys(&mut self) {
        let keys: *mut Block = self.keys.as_mut_ptr().cast();
        if self.backend != Backend::Bitslice {
            let keys = keys.cast();
            // SAFETY: the CPU is checked; the keys are laid out for it; the schedules are the caller's promise.
            return unsafe { call!(self.backend, self.rounds, side_by_side(&self.schedules, keys)) };
        }
        for lane in 0..PLANE_BLOCKS {
            for round in 0..=self.rounds {
                // SAFETY: as above, a block needs no alignment, and the keys have this row and lane.
                unsafe {
                    let key: *mut Block = self.schedules[lane].add(round * BLOCK_BYTES).cast();
                    *keys.add(round * LANES_MAX + lane) = *key;
                }
            }
        }
    }

    /// # Safety
    /// Each lane's address has so many blocks, borrowed as `WRITES` wants it, or of `idle`.
    unsafe fn go_by_instructions(&mut self, blocks: usize) {
        let (keys, states) = (self.keys.as_ptr().cast(), self.states.as_mut_ptr().cast());
        // SAFETY: the CPU is checked; keys and states are laid out for it; the addresses are the caller's promise.
        unsafe {
            if WRITES {
                call!(self.backend, self.rounds, chain::<true>(keys, states, &self.addresses, blocks));
            } else {
                call!(self.backend, self.rounds, chain::<false>(keys, states, &self.addresses, blocks));
            }
        }
    }

    /// # Safety
    /// As [`go_by_instructions`](Self::go_by_instructions).
    unsafe fn go_in_planes(&mut self, blocks: usize) {
        let mut keys = Zeroizing::new([[0; 8]; ROUND_KEYS_MAX]);
        let taken: *const Block = self.keys.as_ptr().cast();
        for (round, planes) in keys[..=self.rounds].iter_mut().enumerate() {
            // SAFETY: `take_keys` has written the keys of all rounds and lanes.
            let key = |lane: usize| unsafe { *taken.add(round * LANES_MAX + lane) };
            *planes = bitslice::slice(&std::array::from_fn(key));
        }
        for at in 0..blocks {
            let places: [*mut Block; PLANE_BLOCKS] =
                std::array::from_fn(|lane| self.addresses[lane].wrapping_add(at * BLOCK_BYTES).cast());
            let mut texts: [Block; PLANE_BLOCKS] = std::array::from_fn(|lane| {
                // SAFETY: it is one of the lane's blocks, and a block needs no alignment.
                let text = unsafe { *places[lane] };
                (u128::from_ne_bytes(text) ^ self.states[lane]).to_ne_bytes()
            });
            bitslice::encrypt_four(&keys[..=self.rounds], &mut texts);
            for (lane, text) in texts.into_iter().enumerate() {
                self.states[lane] = u128::from_ne_bytes(text);
                if WRITES {
                    // SAFETY: as above, and it is borrowed for writing.
                    unsafe { *places[lane] = text };
                }
            }
        }
    }
}

impl<const WRITES: bool> Drop for Lanes<'_, WRITES> {
    fn drop(&mut self) {
        // By registers: byte after byte it would take as long as a short message.
        self.keys = MaybeUninit::zeroed();
        self.states = [0; _];
        // SAFETY: it does nothing; the compiler has to think that it reads what was written.
        unsafe { asm!("/* {0} */", in(reg) &raw const *self, options(nostack, preserves_flags, readonly)) }
    }
}
