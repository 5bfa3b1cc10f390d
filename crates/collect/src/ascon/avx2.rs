//! The permutation of four states in one vector of words, or of eight in two.
//!
//! One vector's rounds alternate between substitution, which needs no shift, and diffusion, which the two ports that shift
//! hold up. So the two vectors run half a round apart: while one diffuses, the other substitutes.
//!
//! The third word is kept complemented, which saves its complement in every round: the constants are complemented instead.

use std::arch::x86_64::{
    __m128i, __m256i, _mm_cvtsi128_si64, _mm_set_epi64x, _mm_unpackhi_epi64, _mm256_andnot_si256,
    _mm256_blendv_epi8, _mm256_castsi256_si128, _mm256_extracti128_si256, _mm256_set_epi64x,
    _mm256_set_m128i, _mm256_set1_epi64x, _mm256_setzero_si256, _mm256_slli_epi64, _mm256_srli_epi64,
    _mm256_unpackhi_epi64, _mm256_unpacklo_epi64, _mm256_xor_si256,
};

use crate::ascon::lanes::{BLOCK_BYTES, Direction, Permutation, State};
use crate::ascon::scalar::{CONSTANTS, FIRST};

/// The constants of the first four of twelve rounds, and of the eight behind them, complemented.
const FIRST_FOUR: [u64; FIRST] = complemented(0);
const EIGHT: [u64; CONSTANTS.len() - FIRST] = complemented(FIRST);

/// Word w of four lanes is `[w]`.
type Quad = [__m256i; 5];

/// Says that the processor has AVX2.
pub(super) struct Avx2(());

impl Avx2 {
    pub(super) fn detect() -> Option<Avx2> {
        is_x86_feature_detected!("avx2").then_some(Avx2(()))
    }
}

/// Rounds of one vector. A macro, since a function of this size that needs AVX2 is called and not inlined.
macro_rules! alone {
    ($quad:ident, $constants:expr) => {
        for &constant in $constants {
            substitute(&mut $quad, constant);
            diffuse_all(&mut $quad);
        }
    };
}

/// Rounds of two vectors, the second half a round behind the first.
macro_rules! staggered {
    ($first:ident, $second:ident, $constants:expr) => {
        let constants = $constants;
        substitute(&mut $first, constants[0]);
        for round in 1..constants.len() {
            half(&mut $first, &mut $second, constants[round - 1]);
            half(&mut $second, &mut $first, constants[round]);
        }
        half(&mut $first, &mut $second, constants[constants.len() - 1]);
        diffuse_all(&mut $second);
    };
}

impl Permutation<4> for Avx2 {
    #[allow(unsafe_code)]
    fn permute(&self, state: &mut State<4>, twelve: &[u64; 4]) {
        // SAFETY: there is an `Avx2` only where the processor has AVX2.
        unsafe { permute_four(state, twelve) }
    }

    #[allow(unsafe_code)]
    fn blocks(&self, direction: Direction, state: &mut State<4>, data: [&mut [u8]; 4]) {
        // SAFETY: there is an `Avx2` only where the processor has AVX2.
        unsafe { blocks_four(direction, state, data) }
    }
}

impl Permutation<8> for Avx2 {
    #[allow(unsafe_code)]
    fn permute(&self, state: &mut State<8>, twelve: &[u64; 8]) {
        // SAFETY: there is an `Avx2` only where the processor has AVX2.
        unsafe { permute_eight(state, twelve) }
    }

    #[allow(unsafe_code)]
    fn blocks(&self, direction: Direction, state: &mut State<8>, data: [&mut [u8]; 8]) {
        // SAFETY: there is an `Avx2` only where the processor has AVX2.
        unsafe { blocks_eight(direction, state, data) }
    }
}

#[target_feature(enable = "avx2")]
fn permute_four(state: &mut State<4>, twelve: &[u64; 4]) {
    let mut quad = load(state, 0);
    if twelve.iter().any(|&mask| mask != 0) {
        let before = quad;
        alone!(quad, &FIRST_FOUR);
        blend(&before, &mut quad, twelve);
    }
    alone!(quad, &EIGHT);
    store(state, 0, &quad);
}

#[target_feature(enable = "avx2")]
fn blocks_four(direction: Direction, state: &mut State<4>, data: [&mut [u8]; 4]) {
    let mut quad = load(state, 0);
    let [data0, data1, data2, data3] = data;
    let blocks = whole(data0).iter_mut().zip(whole(data1)).zip(whole(data2)).zip(whole(data3));
    for (((block0, block1), block2), block3) in blocks {
        absorb(direction, &mut quad, [block0, block1, block2, block3]);
        alone!(quad, &EIGHT);
    }
    store(state, 0, &quad);
}

#[target_feature(enable = "avx2")]
fn permute_eight(state: &mut State<8>, twelve: &[u64; 8]) {
    let (mut low, mut high) = (load(state, 0), load(state, 4));
    if twelve.iter().any(|&mask| mask != 0) {
        let before = (low, high);
        staggered!(low, high, FIRST_FOUR);
        let (masks, _) = twelve.as_chunks();
        blend(&before.0, &mut low, &masks[0]);
        blend(&before.1, &mut high, &masks[1]);
    }
    staggered!(low, high, EIGHT);
    store(state, 0, &low);
    store(state, 4, &high);
}

#[target_feature(enable = "avx2")]
fn blocks_eight(direction: Direction, state: &mut State<8>, data: [&mut [u8]; 8]) {
    let (mut low, mut high) = (load(state, 0), load(state, 4));
    let [data0, data1, data2, data3, data4, data5, data6, data7] = data;
    let lower = whole(data0).iter_mut().zip(whole(data1)).zip(whole(data2)).zip(whole(data3));
    let upper = whole(data4).iter_mut().zip(whole(data5)).zip(whole(data6)).zip(whole(data7));
    for ((((block0, block1), block2), block3), (((block4, block5), block6), block7)) in lower.zip(upper) {
        absorb(direction, &mut low, [block0, block1, block2, block3]);
        absorb(direction, &mut high, [block4, block5, block6, block7]);
        staggered!(low, high, EIGHT);
    }
    store(state, 0, &low);
    store(state, 4, &high);
}

/// One vector's diffusion with the other's substitution strewn in.
#[inline]
#[target_feature(enable = "avx2")]
fn half(diffused: &mut Quad, substituted: &mut Quad, constant: u64) {
    let [mut x0, mut x1, mut x2, mut x3, mut x4] = *substituted;
    x2 = xor(x2, _mm256_set1_epi64x(constant as i64));
    x0 = xor(x0, x4);
    diffuse::<2, 1, 63, 6, 58>(diffused);
    x4 = xor(x4, x3);
    x2 = xor(x2, x1);
    let t0 = and_not(x0, x1);
    let t4 = and_not(x4, x0);
    diffuse::<4, 7, 57, 41, 23>(diffused);
    let t3 = and_not(x3, x4);
    let t2 = and_not(x2, x3);
    let t1 = and_not(x1, x2);
    diffuse::<0, 19, 45, 28, 36>(diffused);
    x2 = xor(x2, t3);
    x4 = xor(x4, t0);
    x0 = xor(x0, t1);
    x1 = xor(x1, t2);
    diffuse::<1, 61, 3, 39, 25>(diffused);
    x3 = xor(x3, t4);
    x1 = xor(x1, x0);
    x0 = xor(x0, x4);
    x3 = xor(x3, x2);
    diffuse::<3, 10, 54, 17, 47>(diffused);
    *substituted = [x0, x1, x2, x3, x4];
}

/// Constant and substitution (SP 800-232 sections 3.2 and 3.3), but for the complement of the third word.
#[inline]
#[target_feature(enable = "avx2")]
fn substitute(quad: &mut Quad, constant: u64) {
    let [mut x0, mut x1, mut x2, mut x3, mut x4] = *quad;
    x2 = xor(x2, _mm256_set1_epi64x(constant as i64));
    x0 = xor(x0, x4);
    x4 = xor(x4, x3);
    x2 = xor(x2, x1);
    let (t0, t1, t2) = (and_not(x0, x1), and_not(x1, x2), and_not(x2, x3));
    let (t3, t4) = (and_not(x3, x4), and_not(x4, x0));
    x0 = xor(x0, t1);
    x1 = xor(x1, t2);
    x2 = xor(x2, t3);
    x3 = xor(x3, t4);
    x4 = xor(x4, t0);
    x1 = xor(x1, x0);
    x0 = xor(x0, x4);
    x3 = xor(x3, x2);
    *quad = [x0, x1, x2, x3, x4];
}

#[inline]
#[target_feature(enable = "avx2")]
fn diffuse_all(quad: &mut Quad) {
    diffuse::<0, 19, 45, 28, 36>(quad);
    diffuse::<1, 61, 3, 39, 25>(quad);
    diffuse::<2, 1, 63, 6, 58>(quad);
    diffuse::<3, 10, 54, 17, 47>(quad);
    diffuse::<4, 7, 57, 41, 23>(quad);
}

/// Adds to a word the two that are rotated right by A and by B (section 3.4); LEFT_A = 64 - A, LEFT_B = 64 - B.
#[inline]
#[target_feature(enable = "avx2")]
fn diffuse<const WORD: usize, const A: i32, const LEFT_A: i32, const B: i32, const LEFT_B: i32>(
    quad: &mut Quad,
) {
    const { assert!(A + LEFT_A == 64 && B + LEFT_B == 64) };
    let word = quad[WORD];
    let by_a = xor(_mm256_srli_epi64::<A>(word), _mm256_slli_epi64::<LEFT_A>(word));
    let by_b = xor(_mm256_srli_epi64::<B>(word), _mm256_slli_epi64::<LEFT_B>(word));
    quad[WORD] = xor(xor(word, by_a), by_b);
}

/// Takes a block of each lane.
#[inline]
#[target_feature(enable = "avx2")]
fn absorb(direction: Direction, quad: &mut Quad, blocks: [&mut [u8; BLOCK_BYTES]; 4]) {
    let [block0, block1, block2, block3] = blocks;
    let taken_02 = _mm256_set_m128i(from_bytes(block2), from_bytes(block0));
    let taken_13 = _mm256_set_m128i(from_bytes(block3), from_bytes(block1));
    let given_02 = xor(taken_02, _mm256_unpacklo_epi64(quad[0], quad[1]));
    let given_13 = xor(taken_13, _mm256_unpackhi_epi64(quad[0], quad[1]));
    *block0 = to_bytes(_mm256_castsi256_si128(given_02));
    *block1 = to_bytes(_mm256_castsi256_si128(given_13));
    *block2 = to_bytes(_mm256_extracti128_si256::<1>(given_02));
    *block3 = to_bytes(_mm256_extracti128_si256::<1>(given_13));
    let (ciphertext_02, ciphertext_13) = match direction {
        Direction::Seal => (given_02, given_13),
        Direction::Open => (taken_02, taken_13),
    };
    quad[0] = _mm256_unpacklo_epi64(ciphertext_02, ciphertext_13);
    quad[1] = _mm256_unpackhi_epi64(ciphertext_02, ciphertext_13);
}

#[inline]
#[target_feature(enable = "avx2")]
fn from_bytes(block: &[u8; BLOCK_BYTES]) -> __m128i {
    let block = u128::from_le_bytes(*block);
    _mm_set_epi64x((block >> 64) as i64, block as i64)
}

#[inline]
#[target_feature(enable = "avx2")]
fn to_bytes(block: __m128i) -> [u8; BLOCK_BYTES] {
    let (low, high) = (_mm_cvtsi128_si64(block), _mm_cvtsi128_si64(_mm_unpackhi_epi64(block, block)));
    (u128::from(high as u64) << 64 | u128::from(low as u64)).to_le_bytes()
}

/// Four lanes from `first` on.
#[inline]
#[target_feature(enable = "avx2")]
fn load<const L: usize>(state: &State<L>, first: usize) -> Quad {
    let mut quad = [_mm256_setzero_si256(); 5];
    for (quad, word) in quad.iter_mut().zip(&state.0) {
        let [w0, w1, w2, w3] = *word[first..].first_chunk().expect("four lanes begin at a multiple of four");
        *quad = _mm256_set_epi64x(w3 as i64, w2 as i64, w1 as i64, w0 as i64);
    }
    quad[2] = xor(quad[2], _mm256_set1_epi64x(-1));
    quad
}

#[inline]
#[target_feature(enable = "avx2")]
fn store<const L: usize>(state: &mut State<L>, first: usize, quad: &Quad) {
    let mut quad = *quad;
    quad[2] = xor(quad[2], _mm256_set1_epi64x(-1));
    for (word, quad) in state.0.iter_mut().zip(quad) {
        let (low, high) = (_mm256_castsi256_si128(quad), _mm256_extracti128_si256::<1>(quad));
        let word = word[first..].first_chunk_mut::<4>().expect("four lanes begin at a multiple of four");
        word[0] = _mm_cvtsi128_si64(low) as u64;
        word[1] = _mm_cvtsi128_si64(_mm_unpackhi_epi64(low, low)) as u64;
        word[2] = _mm_cvtsi128_si64(high) as u64;
        word[3] = _mm_cvtsi128_si64(_mm_unpackhi_epi64(high, high)) as u64;
    }
}

/// Puts back what was `before` where the mask is zero.
#[inline]
#[target_feature(enable = "avx2")]
fn blend(before: &Quad, after: &mut Quad, mask: &[u64; 4]) {
    let [m0, m1, m2, m3] = *mask;
    let mask = _mm256_set_epi64x(m3 as i64, m2 as i64, m1 as i64, m0 as i64);
    for (after, before) in after.iter_mut().zip(before) {
        *after = _mm256_blendv_epi8(*before, *after, mask);
    }
}

fn whole(data: &mut [u8]) -> &mut [[u8; BLOCK_BYTES]] {
    data.as_chunks_mut().0
}

const fn complemented<const N: usize>(from: usize) -> [u64; N] {
    let mut complemented = [0; N];
    let mut round = 0;
    while round < N {
        complemented[round] = !CONSTANTS[from + round];
        round += 1;
    }
    complemented
}

#[inline]
#[target_feature(enable = "avx2")]
fn xor(a: __m256i, b: __m256i) -> __m256i {
    _mm256_xor_si256(a, b)
}

/// `!a & b`.
#[inline]
#[target_feature(enable = "avx2")]
fn and_not(a: __m256i, b: __m256i) -> __m256i {
    _mm256_andnot_si256(a, b)
}
