//! What a vector register does, and the loops that are written once over it, with one block in a register or two.
//!
//! Everything is `inline(always)` and ends up inside functions of `aesni` and `vaes` that enable the instructions:
//! a call from one set of features to another would not be inlined, and a round is a single instruction.
//!
//! [`WIDE`] registers are in flight. A round takes 4 cycles and two start in each, so that 8 keep the unit busy, and
//! of 16 registers 8 remain. Keys are operands in memory; the L1 cache gives two of them in a cycle.
#![allow(unsafe_op_in_unsafe_fn)] // every function is unsafe for the reason that `Vector` gives, and for no other
#![allow(clippy::needless_range_loop)] // registers have numbers, and several arrays share them

use std::arch::asm;
use std::arch::x86_64::__m128i;

use zeroize::Zeroizing;

use super::{LANES_MAX, aesni};
use crate::aes::{BLOCK_BYTES, Block};

/// Bytes of the widest register.
const VECTOR_BYTES_MAX: usize = 32;
/// Registers of state in flight.
pub const WIDE: usize = 8;
/// First round keys of chained streams that stay in registers: what is left but for one to work with.
const HELD: usize = 7;

/// A register of one block or two.
///
/// # Safety
/// Of every method, and of every function below: the CPU has the instructions of the implementation, and each pointer
/// is good for what the words say is read or written there. Nothing needs an alignment.
pub trait Vector: Copy {
    /// Blocks in it.
    const BLOCKS: usize;
    /// Bytes in it.
    const BYTES: usize = Self::BLOCKS * BLOCK_BYTES;
    /// Reads consecutive blocks.
    unsafe fn load(from: *const u8) -> Self;
    /// Writes consecutive blocks.
    unsafe fn store(self, to: *mut u8);
    /// Reads one block into every place.
    unsafe fn splat(from: *const u8) -> Self;
    /// `N` registers of counter blocks, `counter` and those that follow it, big-endian.
    unsafe fn counters<const N: usize>(counter: u128) -> [Self; N];
    /// Its blocks moved up by one, behind the last block of `before`.
    unsafe fn behind(self, before: Self) -> Self;
    /// Reads a block at `offset` of each of `BLOCKS` streams.
    unsafe fn gather(streams: &[*mut u8], offset: usize) -> Self;
    /// Writes a block at `offset` of each of `BLOCKS` streams.
    unsafe fn scatter(self, streams: &[*mut u8], offset: usize);
    /// Stays in a register here: the compiler may not read it from memory again.
    unsafe fn pin(self) -> Self;
    /// Exclusive or.
    unsafe fn xor(self, other: Self) -> Self;
    /// A round of encryption.
    unsafe fn aesenc(self, key: Self) -> Self;
    /// The last round of encryption.
    unsafe fn aesenclast(self, key: Self) -> Self;
    /// A round of the equivalent inverse cipher.
    unsafe fn aesdec(self, key: Self) -> Self;
    /// The last round of the equivalent inverse cipher.
    unsafe fn aesdeclast(self, key: Self) -> Self;
}

/// The same address, as far as the compiler knows another one. It would else copy the keys to the stack in front of a
/// loop, where nobody wipes them, and read them from there; and take the rounds of one register after the other.
#[inline(always)]
#[allow(clippy::pointers_in_nomem_asm_block)] // nothing is read or written
unsafe fn hidden(mut keys: *const u8) -> *const u8 {
    asm!("/* {0} */", inout(reg) keys, options(nomem, nostack, preserves_flags));
    keys
}

#[inline(always)]
unsafe fn load<V: Vector, const N: usize>(data: *const u8) -> [V; N] {
    std::array::from_fn(|i| V::load(data.add(i * V::BYTES)))
}

#[inline(always)]
unsafe fn store<V: Vector, const N: usize>(states: [V; N], data: *mut u8) {
    for i in 0..N {
        states[i].store(data.add(i * V::BYTES));
    }
}

/// All rounds of encryption but the last.
#[inline(always)]
unsafe fn encrypt_rounds<V: Vector, const N: usize, const ROUNDS: usize>(
    keys: *const u8,
    states: &mut [V; N],
) {
    let key = V::splat(keys);
    for i in 0..N {
        states[i] = states[i].xor(key);
    }
    for round in 1..ROUNDS {
        let key = V::splat(hidden(keys).add(round * BLOCK_BYTES));
        for i in 0..N {
            states[i] = states[i].aesenc(key);
        }
    }
}

/// All rounds of decryption but the last.
#[inline(always)]
unsafe fn decrypt_rounds<V: Vector, const N: usize, const ROUNDS: usize>(
    keys: *const u8,
    states: &mut [V; N],
) {
    let key = V::splat(keys);
    for i in 0..N {
        states[i] = states[i].xor(key);
    }
    for round in 1..ROUNDS {
        let key = V::splat(hidden(keys).add(round * BLOCK_BYTES));
        for i in 0..N {
            states[i] = states[i].aesdec(key);
        }
    }
}

/// Takes `$step!(registers, number of the first, address)` over `$data` in order: `WIDE` registers at a time, then 4,
/// 2 and 1 of what remains, and what is left of a register in a buffer.
macro_rules! sweep {
    ($vector:ty, $data:expr, $step:ident) => {{
        let data: &mut [u8] = $data;
        let (vectors, rest_bytes) = (data.len() / <$vector>::BYTES, data.len() % <$vector>::BYTES);
        let start = data.as_mut_ptr();
        let mut at = 0;
        while vectors - at >= WIDE {
            $step!(WIDE, at, start.add(at * <$vector>::BYTES));
            at += WIDE;
        }
        if vectors & 4 != 0 {
            $step!(4, at, start.add(at * <$vector>::BYTES));
            at += 4;
        }
        if vectors & 2 != 0 {
            $step!(2, at, start.add(at * <$vector>::BYTES));
            at += 2;
        }
        if vectors & 1 != 0 {
            $step!(1, at, start.add(at * <$vector>::BYTES));
        }
        if rest_bytes != 0 {
            let rest = &mut data[vectors * <$vector>::BYTES..];
            let mut buffer = Zeroizing::new([0_u128; VECTOR_BYTES_MAX / BLOCK_BYTES]);
            let address: *mut u8 = buffer.as_mut_ptr().cast();
            address.copy_from_nonoverlapping(rest.as_ptr(), rest_bytes);
            $step!(1, vectors, address);
            address.copy_to_nonoverlapping(rest.as_mut_ptr(), rest_bytes);
        }
    }};
}

#[inline(always)]
unsafe fn ecb_encrypt_group<V: Vector, const N: usize, const ROUNDS: usize>(keys: *const u8, data: *mut u8) {
    let mut states: [V; N] = load(data);
    encrypt_rounds::<V, N, ROUNDS>(keys, &mut states);
    let key = V::splat(keys.add(ROUNDS * BLOCK_BYTES));
    for i in 0..N {
        states[i] = states[i].aesenclast(key);
    }
    store(states, data);
}

/// Encryption of a block that comes and goes in registers of the CPU: through memory it would wait for its halves.
#[inline(always)]
pub unsafe fn encrypt_number<const ROUNDS: usize>(keys: *const u8, block: u128) -> u128 {
    let mut state = [aesni::counter(block)];
    encrypt_rounds::<__m128i, 1, ROUNDS>(keys, &mut state);
    let state = state[0].aesenclast(__m128i::load(keys.add(ROUNDS * BLOCK_BYTES)));
    u128::from_be_bytes(std::mem::transmute::<__m128i, Block>(state))
}

/// ECB encryption of `data`, whole blocks, in place.
#[inline(always)]
pub unsafe fn ecb_encrypt<V: Vector, const ROUNDS: usize>(keys: *const u8, data: &mut [u8]) {
    macro_rules! step {
        ($n:expr, $at:expr, $address:expr) => {
            ecb_encrypt_group::<V, { $n }, ROUNDS>(keys, $address)
        };
    }
    sweep!(V, data, step);
}

#[inline(always)]
unsafe fn ecb_decrypt_group<V: Vector, const N: usize, const ROUNDS: usize>(keys: *const u8, data: *mut u8) {
    let mut states: [V; N] = load(data);
    decrypt_rounds::<V, N, ROUNDS>(keys, &mut states);
    let key = V::splat(keys.add(ROUNDS * BLOCK_BYTES));
    for i in 0..N {
        states[i] = states[i].aesdeclast(key);
    }
    store(states, data);
}

/// ECB decryption of `data`, whole blocks, in place.
#[inline(always)]
pub unsafe fn ecb_decrypt<V: Vector, const ROUNDS: usize>(keys: *const u8, data: &mut [u8]) {
    macro_rules! step {
        ($n:expr, $at:expr, $address:expr) => {
            ecb_decrypt_group::<V, { $n }, ROUNDS>(keys, $address)
        };
    }
    sweep!(V, data, step);
}

/// `before` ends with the ciphertext block before the group; returns the group's last register of ciphertext.
#[inline(always)]
unsafe fn cbc_decrypt_group<V: Vector, const N: usize, const ROUNDS: usize>(
    keys: *const u8,
    before: V,
    data: *mut u8,
) -> V {
    let mut states: [V; N] = load(data);
    let first = states[0].behind(before);
    decrypt_rounds::<V, N, ROUNDS>(keys, &mut states);
    // The last round adds its key, and with it the ciphertext of the block before, which is not overwritten yet.
    let key = V::splat(keys.add(ROUNDS * BLOCK_BYTES));
    states[0] = states[0].aesdeclast(key.xor(first));
    for i in 1..N {
        let previous = V::load(data.add(i * V::BYTES - BLOCK_BYTES));
        states[i] = states[i].aesdeclast(key.xor(previous));
    }
    let last = V::load(data.add((N - 1) * V::BYTES));
    store(states, data);
    last
}

/// CBC decryption of `data`, whole blocks, in place.
#[inline(always)]
pub unsafe fn cbc_decrypt<V: Vector, const ROUNDS: usize>(keys: *const u8, iv: &Block, data: &mut [u8]) {
    let mut before = V::splat(iv.as_ptr());
    macro_rules! step {
        ($n:expr, $at:expr, $address:expr) => {
            before = cbc_decrypt_group::<V, { $n }, ROUNDS>(keys, before, $address)
        };
    }
    sweep!(V, data, step);
    let _ = before;
}

#[inline(always)]
unsafe fn ctr_group<V: Vector, const N: usize, const ROUNDS: usize>(
    keys: *const u8,
    counter: u128,
    data: *mut u8,
) {
    let mut states: [V; N] = V::counters(counter);
    encrypt_rounds::<V, N, ROUNDS>(keys, &mut states);
    let key = V::splat(keys.add(ROUNDS * BLOCK_BYTES));
    for i in 0..N {
        states[i] = states[i].aesenclast(key.xor(V::load(data.add(i * V::BYTES))));
    }
    store(states, data);
}

/// Adds the key stream of `counter` and those that follow it to `data`.
#[inline(always)]
pub unsafe fn ctr<V: Vector, const ROUNDS: usize>(keys: *const u8, counter: u128, data: &mut [u8]) {
    macro_rules! step {
        ($n:expr, $at:expr, $address:expr) => {
            ctr_group::<V, { $n }, ROUNDS>(keys, counter.wrapping_add(($at * V::BLOCKS) as u128), $address)
        };
    }
    sweep!(V, data, step);
}

/// Enciphers `states ^ block` for `blocks` blocks of each of `LANES` streams under keys of their own. With `STORE`
/// each result takes the block's place, which is CBC; without, it is a MAC.
///
/// Round keys and states have a block of each lane beside that of the next.
#[inline(always)]
pub unsafe fn chain<V: Vector, const LANES: usize, const ROUNDS: usize, const STORE: bool>(
    mut keys: *const u8,
    states: *mut u8,
    streams: &[*mut u8],
    blocks: usize,
) {
    let row_bytes = LANES_MAX * BLOCK_BYTES;
    // A copy, so that writing to a stream is not taken for changing an address.
    let streams: [*mut u8; LANES] = std::array::from_fn(|lane| streams[lane]);
    let mut state: [V; WIDE] = load(states);
    let mut held: [V; HELD] = load(keys);
    let mut at = 0;
    while at < blocks * BLOCK_BYTES {
        keys = hidden(keys);
        for i in 0..HELD {
            held[i] = held[i].pin();
        }
        for i in 0..WIDE {
            let key = if i < HELD { held[i] } else { V::load(keys.add(i * V::BYTES)) };
            let block = V::gather(&streams[i * V::BLOCKS..], at);
            state[i] = state[i].xor(block.xor(key)).pin();
        }
        for round in 1..ROUNDS {
            for i in 0..WIDE {
                state[i] = state[i].aesenc(V::load(keys.add(round * row_bytes + i * V::BYTES)));
            }
        }
        for i in 0..WIDE {
            state[i] = state[i].aesenclast(V::load(keys.add(ROUNDS * row_bytes + i * V::BYTES)));
            if STORE {
                state[i].scatter(&streams[i * V::BLOCKS..], at);
            }
        }
        at += BLOCK_BYTES;
    }
    store(state, states);
}

/// The entries of a backend: the loops above with its registers, in functions that enable its instructions.
///
/// # Safety
/// Of each of them: the CPU has the instructions, there are `ROUNDS + 1` round keys, and what `chain` is given is as
/// [`super::Lanes`] lays it out, with `blocks` blocks behind each address of `streams`.
macro_rules! entries {
    ($features:literal, $vector:ty, $lanes:literal) => {
        #[target_feature(enable = $features)]
        pub unsafe fn ecb_encrypt<const ROUNDS: usize>(keys: *const u8, data: &mut [u8]) {
            // SAFETY: the caller's.
            unsafe { vector::ecb_encrypt::<$vector, ROUNDS>(keys, data) }
        }

        #[target_feature(enable = $features)]
        pub unsafe fn ecb_decrypt<const ROUNDS: usize>(keys: *const u8, data: &mut [u8]) {
            // SAFETY: the caller's.
            unsafe { vector::ecb_decrypt::<$vector, ROUNDS>(keys, data) }
        }

        #[target_feature(enable = $features)]
        pub unsafe fn cbc_decrypt<const ROUNDS: usize>(keys: *const u8, iv: &Block, data: &mut [u8]) {
            // SAFETY: the caller's.
            unsafe { vector::cbc_decrypt::<$vector, ROUNDS>(keys, iv, data) }
        }

        #[target_feature(enable = $features)]
        pub unsafe fn ctr<const ROUNDS: usize>(keys: *const u8, counter: u128, data: &mut [u8]) {
            // SAFETY: the caller's.
            unsafe { vector::ctr::<$vector, ROUNDS>(keys, counter, data) }
        }

        #[target_feature(enable = $features)]
        pub unsafe fn encrypt_number<const ROUNDS: usize>(keys: *const u8, block: u128) -> u128 {
            // SAFETY: the caller's.
            unsafe { vector::encrypt_number::<ROUNDS>(keys, block) }
        }

        #[target_feature(enable = $features)]
        pub unsafe fn chain<const ROUNDS: usize, const STORE: bool>(
            keys: *const u8,
            states: *mut u8,
            streams: &[*mut u8],
            blocks: usize,
        ) {
            // SAFETY: the caller's.
            unsafe { vector::chain::<$vector, $lanes, ROUNDS, STORE>(keys, states, streams, blocks) }
        }
    };
}
pub(super) use entries;
