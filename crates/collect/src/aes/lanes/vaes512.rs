//! VAES on registers of 512 bits: four blocks in a register. It needs AVX-512, with which come twice as many registers.

use std::arch::asm;
use std::arch::x86_64::*;

use super::aesni;
use super::vector::{self, Registers, Vector};
use crate::aes::Block;

vector::entries!(
    "aes,avx2,vaes,avx512f,avx512bw,avx512vl", __m512i, lanes 16,
    chained 8 of __m256i, ThirtyTwo, held 22
);

/// Messages have registers of 256 bits, too: sixteen lanes in wider ones have more to gather and no more rounds to begin.
pub use super::vaes::pair;

/// All that AVX-512 has, for registers of 256 bits too. Streams that each have keys of their own want many of them, not
/// wide ones: a round of four blocks begins in every cycle, and of two blocks two do.
pub struct ThirtyTwo;

// SAFETY: as the trait says.
#[allow(unsafe_op_in_unsafe_fn)]
impl Registers<__m256i> for ThirtyTwo {
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    unsafe fn pin(mut vector: __m256i) -> __m256i {
        asm!("/* {0:y} */", inout(zmm_reg) vector, options(pure, nomem, nostack, preserves_flags));
        vector
    }
}

// SAFETY: of all methods as the trait says; loads and stores are the unaligned ones.
#[allow(unsafe_op_in_unsafe_fn)]
impl Vector for __m512i {
    const BLOCKS: usize = 4;

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        _mm512_loadu_si512(from.cast())
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        _mm512_storeu_si512(to.cast(), self);
    }

    #[inline(always)]
    unsafe fn splat(from: *const u8) -> Self {
        _mm512_broadcast_i32x4(_mm_loadu_si128(from.cast()))
    }

    #[inline(always)]
    unsafe fn counters<const N: usize>(counter: u128) -> [Self; N] {
        let block = |i: usize| aesni::counter(counter.wrapping_add(i as u128));
        let mut states = [_mm512_broadcast_i32x4(block(0)); N];
        if usize::from(counter as u8) + 4 * N <= 256 {
            // Only the last byte changes.
            let mut add = _mm512_set_epi64(3 << 56, 0, 2 << 56, 0, 1 << 56, 0, 0, 0);
            for state in &mut states {
                *state = _mm512_add_epi8(*state, add);
                add = _mm512_add_epi8(add, _mm512_set_epi64(4 << 56, 0, 4 << 56, 0, 4 << 56, 0, 4 << 56, 0));
            }
        } else {
            for (i, state) in states.iter_mut().enumerate() {
                *state = four([block(4 * i), block(4 * i + 1), block(4 * i + 2), block(4 * i + 3)]);
            }
        }
        states
    }

    #[inline(always)]
    unsafe fn behind(self, before: Self) -> Self {
        _mm512_alignr_epi64::<6>(self, before)
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        _mm512_xor_si512(self, other)
    }

    #[inline(always)]
    unsafe fn aesenc(self, key: Self) -> Self {
        _mm512_aesenc_epi128(self, key)
    }

    #[inline(always)]
    unsafe fn aesenclast(self, key: Self) -> Self {
        _mm512_aesenclast_epi128(self, key)
    }

    #[inline(always)]
    unsafe fn aesdec(self, key: Self) -> Self {
        _mm512_aesdec_epi128(self, key)
    }

    #[inline(always)]
    unsafe fn aesdeclast(self, key: Self) -> Self {
        _mm512_aesdeclast_epi128(self, key)
    }
}

/// Blocks in one register.
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
#[allow(unsafe_op_in_unsafe_fn)]
unsafe fn four([a, b, c, d]: [__m128i; 4]) -> __m512i {
    let (low, high) = (_mm256_set_m128i(b, a), _mm256_set_m128i(d, c));
    _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high)
}
