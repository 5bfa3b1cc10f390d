//! What a vector register does, and the loops that are written once over it, with one block in a register, two or four.
//!
//! Everything is `inline(always)` and ends up inside functions of `aesni`, `vaes` and `vaes512` that enable the
//! instructions: a call from one set of features to another would not be inlined, and a round is a single instruction.
//! So there are loops where elsewhere there are closures, which have not the features of whom they are in.
//!
//! [`WIDE`] registers are in flight. A round takes 4 cycles and two start in each, so that 8 keep the unit busy, and
//! of 16 registers 8 remain. Keys are operands in memory; the L1 cache gives two of them in a cycle.
#![allow(unsafe_op_in_unsafe_fn)] // every function is unsafe for the reason that `Vector` gives, and for no other
#![allow(clippy::needless_range_loop)] // registers have numbers, and several arrays share them

use std::arch::asm;
use std::arch::x86_64::{__m128i, _MM_HINT_T0, _mm_prefetch};
use std::mem::offset_of;

use zeroize::Zeroizing;

use super::pairs::{JOINT, Lane, PAIRS_MAX, Places, Steps};
use super::{LANES_MAX, aesni};
use crate::aes::{BLOCK_BYTES, Block};

/// Bytes of the widest register.
const VECTOR_BYTES_MAX: usize = 64;
/// How far before it is needed ciphertext is fetched. Two cores decrypted 4 MiB 1.86 to 1.92 times as fast as one without
/// it, 1.88 to 1.90 with 512, 1.87 to 1.94 with 1024, 1.93 with 2048 and 1.87 to 1.90 with 4096, in stripes of 256 KiB: the
/// last goal of `cargo bench -p collect --bench aes`, with this changed.
const AHEAD_BYTES: usize = 2048;
/// Bytes of a line of the cache.
const LINE_BYTES: usize = 64;
/// Registers of state in flight.
pub const WIDE: usize = 8;

/// A register of one block, two or four.
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

/// A register whose blocks belong to a stream each, under keys of their own.
///
/// # Safety
/// As [`Vector`].
pub trait Abreast: Vector {
    /// Reads a block at `offset` of each of `BLOCKS` streams.
    unsafe fn gather(streams: &[*mut u8], offset: usize) -> Self;
    /// Writes a block at `offset` of each of `BLOCKS` streams.
    unsafe fn scatter(self, streams: &[*mut u8], offset: usize);
    /// Stays in a register here: the compiler may not read it from memory again.
    unsafe fn pin(self) -> Self;
    /// And.
    unsafe fn and(self, other: Self) -> Self;
    /// A big-endian number in every place.
    unsafe fn number(number: u64) -> Self;
}

/// Which registers a backend has for an [`Abreast`] that is to stay in one.
pub trait Registers<V> {
    /// [`Abreast::pin`], into any of them.
    ///
    /// # Safety
    /// The CPU has them.
    unsafe fn pin(vector: V) -> V;
}

/// Those that every instruction can name: 16.
pub struct Sixteen;

impl<V: Abreast> Registers<V> for Sixteen {
    #[inline(always)]
    unsafe fn pin(vector: V) -> V {
        vector.pin()
    }
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
    let mut states = [V::load(data); N];
    for i in 1..N {
        states[i] = V::load(data.add(i * V::BYTES));
    }
    states
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
    for line in 0..N * V::BYTES / LINE_BYTES {
        _mm_prefetch::<_MM_HINT_T0>(data.wrapping_add(AHEAD_BYTES + line * LINE_BYTES).cast());
    }
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

/// Enciphers `states ^ block` for `blocks` blocks, one or more, of each of `LANES` streams under keys of their own. With
/// `STORE` each result takes the block's place, which is CBC; without, it is a MAC. `N` registers hold a block of all lanes.
///
/// Round keys and states have a block of each lane beside that of the next. The first `HELD` registers of round keys stay
/// in registers, among those of `P`: loads are what is scarce, of which a core begins two in a cycle.
#[inline(always)]
pub unsafe fn chain<
    V: Abreast,
    P: Registers<V>,
    const LANES: usize,
    const N: usize,
    const HELD: usize,
    const ROUNDS: usize,
    const STORE: bool,
>(
    mut keys: *const u8,
    states: *mut u8,
    streams: &[*mut u8],
    blocks: usize,
) {
    // A copy, so that writing to a stream is not taken for changing an address.
    let streams: [*mut u8; LANES] = std::array::from_fn(|lane| streams[lane]);
    let mut state: [V; N] = load(states);
    let mut held = [V::load(keys); HELD];
    for i in 1..HELD {
        held[i] = V::load(keys.add(i / N * LANES_MAX * BLOCK_BYTES + i % N * V::BYTES));
    }
    macro_rules! key {
        ($round:expr, $i:expr) => {
            if $round * N + $i < HELD {
                held[$round * N + $i]
            } else {
                V::load(keys.add($round * LANES_MAX * BLOCK_BYTES + $i * V::BYTES))
            }
        };
    }
    // What has to be known for the next block is taken as soon as the last one's result is there, lane by lane.
    macro_rules! begin {
        ($i:expr, $at:expr) => {
            P::pin(state[$i].xor(V::gather(&streams[$i * V::BLOCKS..], $at).xor(key!(0, $i))))
        };
    }
    for i in 0..N {
        state[i] = begin!(i, 0);
    }
    let end = blocks * BLOCK_BYTES;
    let mut at = 0;
    loop {
        keys = hidden(keys);
        for i in 0..HELD {
            held[i] = P::pin(held[i]);
        }
        for round in 1..ROUNDS {
            for i in 0..N {
                state[i] = state[i].aesenc(key!(round, i));
            }
        }
        let next = at + BLOCK_BYTES;
        if next == end {
            break;
        }
        for i in 0..N {
            state[i] = state[i].aesenclast(key!(ROUNDS, i));
            if STORE {
                state[i].scatter(&streams[i * V::BLOCKS..], at);
            }
            state[i] = begin!(i, next);
        }
        at = next;
    }
    for i in 0..N {
        state[i] = state[i].aesenclast(key!(ROUNDS, i));
        if STORE {
            state[i].scatter(&streams[i * V::BLOCKS..], at);
        }
    }
    store(state, states);
}

/// Copies the round keys of `LANES` schedules to where [`chain`] wants them, a register at a time: it would else wait for
/// all that was written in parts.
#[inline(always)]
pub unsafe fn side_by_side<V: Abreast, const LANES: usize, const ROUNDS: usize>(
    schedules: &[*mut u8],
    keys: *mut u8,
) {
    for i in 0..LANES / V::BLOCKS {
        for round in 0..=ROUNDS {
            let key = V::gather(&schedules[i * V::BLOCKS..], round * BLOCK_BYTES);
            key.store(keys.add(round * LANES_MAX * BLOCK_BYTES + i * V::BYTES));
        }
    }
}

/// Registers of MACs in [`pair`], and of key streams.
const HALF: usize = WIDE / 2;

/// All rounds but the last for MACs and key streams of the same lanes, to which the first key was added, with what the last
/// argument says as the key of a round and register. No closure: it would not be inlined, nor would be what it calls.
macro_rules! encrypt_pair {
    ($rounds:expr, $states:ident, $streams:ident, |$round:ident, $i:ident| $key:expr) => {
        for $round in 1..$rounds {
            for $i in 0..HALF {
                let key = $key;
                $states[$i] = $states[$i].aesenc(key);
                $streams[$i] = $streams[$i].aesenc(key);
            }
        }
    };
}

#[inline(always)]
unsafe fn gather<V: Abreast, const N: usize>(places: &[*mut u8], offset: usize) -> [V; N] {
    let mut states = [V::gather(places, offset); N];
    for i in 1..N {
        states[i] = V::gather(&places[i * V::BLOCKS..], offset);
    }
    states
}

#[inline(always)]
unsafe fn scatter<V: Abreast, const N: usize>(states: [V; N], places: &[*mut u8], offset: usize) {
    for i in 0..N {
        states[i].scatter(&places[i * V::BLOCKS..], offset);
    }
}

/// Bytes from a row of round keys to the next one.
const ROW_BYTES: usize = PAIRS_MAX * BLOCK_BYTES;

/// The registers of [`pair`]: MACs, to which the first key was added, and so are counters 0.
struct Halves<V> {
    state: [V; HALF],
    base: [V; HALF],
}

impl<V: Abreast> Halves<V> {
    /// The first step, which takes the keys from their schedules and notes what the others want.
    #[inline(always)]
    unsafe fn begin<const ROUNDS: usize>(&mut self, keys: *mut u8, places: &Places) {
        let Halves { state, base } = self;
        macro_rules! key {
            ($round:expr, $i:expr) => {{
                let key = V::gather(&places.schedules[$i * V::BLOCKS..], $round * BLOCK_BYTES);
                key.store(keys.add($round * ROW_BYTES + $i * V::BYTES));
                key
            }};
        }
        for i in 0..HALF {
            let key = key!(0, i);
            state[i] = state[i].xor(key);
            base[i] = base[i].xor(key);
        }
        let mut stream = *base;
        encrypt_pair!(ROUNDS, state, stream, |round, i| key!(round, i));
        let keep: [V; HALF] = gather(&places.lanes, offset_of!(Lane<'_>, keep));
        let second: [V; HALF] = gather(&places.lanes, offset_of!(Lane<'_>, second));
        for i in 0..HALF {
            let (first, last) = (V::load(keys.add(i * V::BYTES)), key!(ROUNDS, i));
            first.xor(last).store(keys.add(JOINT * ROW_BYTES + i * V::BYTES));
            state[i] = state[i].aesenclast(last).and(keep[i]).xor(second[i].xor(first));
            stream[i] = stream[i].aesenclast(last);
        }
        scatter(stream, &places.lanes, offset_of!(Lane<'_>, tag));
    }

    /// What is no whole block.
    #[inline(always)]
    unsafe fn take_rest<const ROUNDS: usize>(&mut self, keys: *const u8, lanes: &[*mut u8]) {
        let Halves { state, base } = self;
        let (keys, before) = (hidden(keys), *state);
        let mut stream: [V; HALF] = gather(lanes, offset_of!(Lane<'_>, rest_count));
        for i in 0..HALF {
            stream[i] = stream[i].xor(base[i]);
        }
        encrypt_pair!(ROUNDS, state, stream, |round, i| V::load(keys.add(round * ROW_BYTES + i * V::BYTES)));
        let rest: [V; HALF] = gather(lanes, offset_of!(Lane<'_>, rest));
        let mask: [V; HALF] = gather(lanes, offset_of!(Lane<'_>, rest_mask));
        let is: [V; HALF] = gather(lanes, offset_of!(Lane<'_>, rest_is));
        for i in 0..HALF {
            let joint = V::load(keys.add(JOINT * ROW_BYTES + i * V::BYTES));
            stream[i] = stream[i].aesenclast(V::load(keys.add(ROUNDS * ROW_BYTES + i * V::BYTES)));
            let after = state[i].aesenclast(joint).xor(rest[i]).xor(stream[i].and(mask[i]));
            // Who has no rest goes on from before.
            state[i] = before[i].xor(before[i].xor(after).and(is[i]));
            stream[i] = stream[i].xor(rest[i]);
        }
        scatter(stream, lanes, offset_of!(Lane<'_>, rest));
    }

    /// The MACs' last step, and the tags.
    #[inline(always)]
    unsafe fn end<const ROUNDS: usize>(&mut self, keys: *const u8, lanes: &[*mut u8]) {
        let (state, keys) = (&mut self.state, hidden(keys));
        for round in 1..ROUNDS {
            for i in 0..HALF {
                state[i] = state[i].aesenc(V::load(keys.add(round * ROW_BYTES + i * V::BYTES)));
            }
        }
        let tag: [V; HALF] = gather(lanes, offset_of!(Lane<'_>, tag));
        for i in 0..HALF {
            let key = V::load(keys.add(ROUNDS * ROW_BYTES + i * V::BYTES));
            state[i] = state[i].aesenclast(key.xor(tag[i]));
        }
        scatter(*state, lanes, offset_of!(Lane<'_>, tag));
    }
}

/// Steps of [`Pairs`](super::Pairs) in `LANES` lanes: half of the registers in flight are MACs, and half the key streams of
/// the same lanes, so that a round key is read for both. `OPENS` if the MAC takes what the blocks become.
///
/// What is scarce are the two ports that begin a round, which everything else takes its share of. So the first key is
/// added to a MAC together with the last one of the block before, and to counters once: those of all lanes differ from
/// the first ones by the same number.
#[inline(always)]
pub unsafe fn pair<V: Abreast, const LANES: usize, const ROUNDS: usize, const OPENS: bool>(
    keys: *mut u8,
    places: &Places,
    steps: Steps,
) {
    let lanes = &places.lanes;
    let mut halves = Halves::<V> {
        state: gather(lanes, offset_of!(Lane<'_>, state)),
        base: gather(lanes, offset_of!(Lane<'_>, base)),
    };
    if steps.has_begin {
        halves.begin::<ROUNDS>(keys, places);
    }
    // A copy, so that writing a block is not taken for changing an address.
    let blocks: [*mut u8; LANES] = std::array::from_fn(|lane| places.blocks[lane]);
    let (mut state, base, mut stream) = (halves.state, halves.base, halves.base);
    let (mut at, mut count) = (0, steps.count);
    while at < steps.blocks * BLOCK_BYTES {
        let keys = hidden(keys);
        let number = V::number(count);
        for i in 0..HALF {
            stream[i] = base[i].xor(number);
        }
        encrypt_pair!(ROUNDS, state, stream, |round, i| V::load(keys.add(round * ROW_BYTES + i * V::BYTES)));
        for i in 0..HALF {
            let joint = V::load(keys.add(JOINT * ROW_BYTES + i * V::BYTES));
            let block = V::gather(&blocks[i * V::BLOCKS..], at).pin();
            let last = V::load(keys.add(ROUNDS * ROW_BYTES + i * V::BYTES));
            let made = stream[i].aesenclast(last).xor(block).pin();
            state[i] = if OPENS {
                state[i].aesenclast(joint).xor(made)
            } else {
                state[i].aesenclast(joint.xor(block))
            };
            made.scatter(&blocks[i * V::BLOCKS..], at);
        }
        (at, count) = (at + BLOCK_BYTES, count + 1);
    }
    halves.state = state;
    if steps.has_rest {
        halves.take_rest::<ROUNDS>(keys, lanes);
    }
    if steps.has_end {
        halves.end::<ROUNDS>(keys, lanes);
    } else {
        scatter(halves.state, lanes, offset_of!(Lane<'_>, state));
        scatter(halves.base, lanes, offset_of!(Lane<'_>, base));
    }
}

/// The entries of a backend: the loops above with its registers, in functions that enable its instructions.
///
/// # Safety
/// Of each of them: the CPU has the instructions, there are `ROUNDS + 1` round keys, and what `chain` and `pair` are given
/// is as [`super::Lanes`] and [`super::Pairs`] lay it out, with `blocks` blocks, one or more, behind each address of
/// `streams`.
macro_rules! entries {
    (
        $features:literal, $vector:ty, lanes $lanes:literal,
        chained $chained:literal of $link:ty, $registers:ty, held $held:literal
    ) => {
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
            unsafe {
                vector::chain::<$link, $registers, $lanes, $chained, $held, ROUNDS, STORE>(
                    keys, states, streams, blocks,
                )
            }
        }

        #[target_feature(enable = $features)]
        pub unsafe fn side_by_side<const ROUNDS: usize>(schedules: &[*mut u8], keys: *mut u8) {
            // SAFETY: the caller's.
            unsafe { vector::side_by_side::<$link, $lanes, ROUNDS>(schedules, keys) }
        }
    };
}
pub(super) use entries;

/// [`pair`] with a backend's registers; as [`entries`].
macro_rules! paired {
    ($features:literal, $vector:ty, lanes $lanes:literal) => {
        #[target_feature(enable = $features)]
        pub unsafe fn pair<const ROUNDS: usize, const OPENS: bool>(
            keys: *mut u8,
            places: &Places,
            steps: Steps,
        ) {
            // SAFETY: the caller's.
            unsafe { vector::pair::<$vector, $lanes, ROUNDS, OPENS>(keys, places, steps) }
        }
    };
}
pub(super) use paired;
