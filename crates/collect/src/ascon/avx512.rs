//! The permutation of eight states in one vector of words.
//!
//! AVX-512 rotates words, and computes any function of three of them at once: a sum of three, or what the substitution does
//! to a word. So a round is 26 instructions, of which none waits for more than five others, and one vector keeps the ports
//! busy. The complement of the third word is taken with its diffusion's sum.

use std::arch::x86_64::{
    __m128i, __m512i, _mm_loadu_si128, _mm_storeu_si128, _mm512_castsi128_si512, _mm512_cmpneq_epi64_mask,
    _mm512_extracti32x4_epi32, _mm512_inserti32x4, _mm512_loadu_si512, _mm512_mask_blend_epi64,
    _mm512_ror_epi64, _mm512_set1_epi64, _mm512_setzero_si512, _mm512_storeu_si512,
    _mm512_ternarylogic_epi64, _mm512_unpackhi_epi64, _mm512_unpacklo_epi64, _mm512_xor_si512,
};

use crate::ascon::lanes::{BLOCK_BYTES, Direction, Permutation, State};
use crate::ascon::scalar::{CONSTANTS, FIRST};

/// `a ^ b ^ c`, and its complement.
const SUM: i32 = 0x96;
const SUM_COMPLEMENTED: i32 = 0x69;
/// `a ^ (!b & c)`.
const SUBSTITUTED: i32 = 0xd2;

/// Word w of eight lanes is `[w]`.
type Octet = [__m512i; 5];

/// Says that the processor has AVX-512's foundation.
pub(super) struct Avx512(());

impl Avx512 {
    pub(super) fn detect() -> Option<Avx512> {
        is_x86_feature_detected!("avx512f").then_some(Avx512(()))
    }
}

impl Permutation<8> for Avx512 {
    #[allow(unsafe_code)]
    fn permute(&self, state: &mut State<8>, twelve: &[u64; 8]) {
        // SAFETY: there is an `Avx512` only where the processor has it.
        unsafe { permute(state, twelve) }
    }

    #[allow(unsafe_code)]
    fn blocks(&self, direction: Direction, state: &mut State<8>, data: [&mut [u8]; 8]) {
        // SAFETY: there is an `Avx512` only where the processor has it.
        unsafe { blocks(direction, state, data) }
    }
}

/// Rounds with these constants. A macro, since a function of this size that needs AVX-512 is called and not inlined.
macro_rules! rounds {
    ($octet:ident, $constants:expr) => {
        for &constant in $constants {
            round(&mut $octet, constant);
        }
    };
}

#[target_feature(enable = "avx512f")]
fn permute(state: &mut State<8>, twelve: &[u64; 8]) {
    let mut octet = load(state);
    let twelve = _mm512_cmpneq_epi64_mask(load_words(twelve), _mm512_setzero_si512());
    if twelve != 0 {
        let before = octet;
        rounds!(octet, &CONSTANTS[..FIRST]);
        for (after, before) in octet.iter_mut().zip(before) {
            *after = _mm512_mask_blend_epi64(twelve, before, *after);
        }
    }
    rounds!(octet, &CONSTANTS[FIRST..]);
    store(state, &octet);
}

#[target_feature(enable = "avx512f")]
fn blocks(direction: Direction, state: &mut State<8>, data: [&mut [u8]; 8]) {
    let mut octet = load(state);
    let count = data[0].len() / BLOCK_BYTES;
    let mut data = data.map(|data| data.as_chunks_mut::<BLOCK_BYTES>().0[..count].iter_mut());
    for _ in 0..count {
        let block = data.each_mut().map(|blocks| blocks.next().expect("every lane has as many"));
        absorb(direction, &mut octet, block);
        rounds!(octet, &CONSTANTS[FIRST..]);
    }
    store(state, &octet);
}

/// A round (SP 800-232 sections 3.2 to 3.4).
#[inline]
#[target_feature(enable = "avx512f")]
fn round(octet: &mut Octet, constant: u64) {
    let [mut x0, x1, mut x2, x3, mut x4] = *octet;
    x0 = _mm512_xor_si512(x0, x4);
    x4 = _mm512_xor_si512(x4, x3);
    x2 = of_three::<SUM>(x2, x1, _mm512_set1_epi64(constant as i64));
    let y0 = of_three::<SUBSTITUTED>(x0, x1, x2);
    let y1 = of_three::<SUBSTITUTED>(x1, x2, x3);
    let y2 = of_three::<SUBSTITUTED>(x2, x3, x4);
    let y3 = of_three::<SUBSTITUTED>(x3, x4, x0);
    let y4 = of_three::<SUBSTITUTED>(x4, x0, x1);
    *octet = [
        diffuse::<19, 28, SUM>(_mm512_xor_si512(y0, y4)),
        diffuse::<61, 39, SUM>(_mm512_xor_si512(y1, y0)),
        diffuse::<1, 6, SUM_COMPLEMENTED>(y2),
        diffuse::<10, 17, SUM>(_mm512_xor_si512(y3, y2)),
        diffuse::<7, 41, SUM>(y4),
    ];
}

/// A word with the two that are rotated right by A and by B (section 3.4).
#[inline]
#[target_feature(enable = "avx512f")]
fn diffuse<const A: i32, const B: i32, const SUMMED: i32>(word: __m512i) -> __m512i {
    of_three::<SUMMED>(word, _mm512_ror_epi64::<A>(word), _mm512_ror_epi64::<B>(word))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn of_three<const FUNCTION: i32>(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    _mm512_ternarylogic_epi64::<FUNCTION>(a, b, c)
}

/// Takes a block of each lane.
#[inline]
#[target_feature(enable = "avx512f")]
fn absorb(direction: Direction, octet: &mut Octet, blocks: [&mut [u8; BLOCK_BYTES]; 8]) {
    let [block0, block1, block2, block3, block4, block5, block6, block7] = blocks;
    let taken_even = four([block0, block2, block4, block6]);
    let taken_odd = four([block1, block3, block5, block7]);
    let given_even = _mm512_xor_si512(taken_even, _mm512_unpacklo_epi64(octet[0], octet[1]));
    let given_odd = _mm512_xor_si512(taken_odd, _mm512_unpackhi_epi64(octet[0], octet[1]));
    give(given_even, [block0, block2, block4, block6]);
    give(given_odd, [block1, block3, block5, block7]);
    let (ciphertext_even, ciphertext_odd) = match direction {
        Direction::Seal => (given_even, given_odd),
        Direction::Open => (taken_even, taken_odd),
    };
    octet[0] = _mm512_unpacklo_epi64(ciphertext_even, ciphertext_odd);
    octet[1] = _mm512_unpackhi_epi64(ciphertext_even, ciphertext_odd);
}

/// Four blocks side by side.
#[inline]
#[target_feature(enable = "avx512f")]
fn four(blocks: [&[u8; BLOCK_BYTES]; 4]) -> __m512i {
    let [block0, block1, block2, block3] = blocks.map(from_bytes);
    let pair = _mm512_inserti32x4::<1>(_mm512_castsi128_si512(block0), block1);
    _mm512_inserti32x4::<3>(_mm512_inserti32x4::<2>(pair, block2), block3)
}

/// And back.
#[inline]
#[target_feature(enable = "avx512f")]
fn give(vector: __m512i, blocks: [&mut [u8; BLOCK_BYTES]; 4]) {
    let [block0, block1, block2, block3] = blocks;
    to_bytes(_mm512_extracti32x4_epi32::<0>(vector), block0);
    to_bytes(_mm512_extracti32x4_epi32::<1>(vector), block1);
    to_bytes(_mm512_extracti32x4_epi32::<2>(vector), block2);
    to_bytes(_mm512_extracti32x4_epi32::<3>(vector), block3);
}

#[allow(unsafe_code)]
fn from_bytes(block: &[u8; BLOCK_BYTES]) -> __m128i {
    // SAFETY: a block is as long as what is loaded, and any place will do.
    unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
}

#[allow(unsafe_code)]
fn to_bytes(vector: __m128i, block: &mut [u8; BLOCK_BYTES]) {
    // SAFETY: a block is as long as what is stored, and any place will do.
    unsafe { _mm_storeu_si128(block.as_mut_ptr().cast(), vector) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(state: &State<8>) -> Octet {
    let mut octet = [_mm512_setzero_si512(); 5];
    for (octet, words) in octet.iter_mut().zip(&state.0) {
        *octet = load_words(words);
    }
    octet
}

#[inline]
#[target_feature(enable = "avx512f")]
#[allow(unsafe_code)]
fn load_words(words: &[u64; 8]) -> __m512i {
    // SAFETY: eight words are as long as what is loaded, and any place will do.
    unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
#[allow(unsafe_code)]
fn store(state: &mut State<8>, octet: &Octet) {
    for (words, &octet) in state.0.iter_mut().zip(octet) {
        // SAFETY: eight words are as long as what is stored, and any place will do.
        unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), octet) }
    }
}
