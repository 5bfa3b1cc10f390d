//! VAES on registers of 256 bits: two blocks in a register. It needs AVX2 and no AVX-512.

use std::arch::asm;
use std::arch::x86_64::*;

use super::aesni;
use super::pairs::{Places, Steps};
use super::vector::{self, Abreast, Sixteen, Vector};
use crate::aes::Block;

vector::entries!("aes,avx2,vaes", __m256i, lanes 16, chained 8 of __m256i, Sixteen, held 7);
vector::paired!("aes,avx2,vaes", __m256i, lanes 8);

// SAFETY: of all methods as the trait says; loads and stores are the unaligned ones.
#[allow(unsafe_op_in_unsafe_fn)]
impl Vector for __m256i {
    const BLOCKS: usize = 2;

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        _mm256_loadu_si256(from.cast())
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        _mm256_storeu_si256(to.cast(), self);
    }

    #[inline(always)]
    unsafe fn splat(from: *const u8) -> Self {
        _mm256_broadcastsi128_si256(_mm_loadu_si128(from.cast()))
    }

    #[inline(always)]
    unsafe fn counters<const N: usize>(counter: u128) -> [Self; N] {
        let block = |i: usize| aesni::counter(counter.wrapping_add(i as u128));
        let mut states = [_mm256_broadcastsi128_si256(block(0)); N];
        if usize::from(counter as u8) + 2 * N <= 256 {
            // Only the last byte changes.
            let mut add = _mm256_set_epi64x(1 << 56, 0, 0, 0);
            for state in &mut states {
                *state = _mm256_add_epi8(*state, add);
                add = _mm256_add_epi8(add, _mm256_set_epi64x(2 << 56, 0, 2 << 56, 0));
            }
        } else {
            for (i, state) in states.iter_mut().enumerate() {
                *state = _mm256_set_m128i(block(2 * i + 1), block(2 * i));
            }
        }
        states
    }

    #[inline(always)]
    unsafe fn behind(self, before: Self) -> Self {
        _mm256_permute2x128_si256::<0x21>(before, self)
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        _mm256_xor_si256(self, other)
    }

    #[inline(always)]
    unsafe fn aesenc(self, key: Self) -> Self {
        _mm256_aesenc_epi128(self, key)
    }

    #[inline(always)]
    unsafe fn aesenclast(self, key: Self) -> Self {
        _mm256_aesenclast_epi128(self, key)
    }

    #[inline(always)]
    unsafe fn aesdec(self, key: Self) -> Self {
        _mm256_aesdec_epi128(self, key)
    }

    #[inline(always)]
    unsafe fn aesdeclast(self, key: Self) -> Self {
        _mm256_aesdeclast_epi128(self, key)
    }
}

// SAFETY: as above.
#[allow(unsafe_op_in_unsafe_fn)]
impl Abreast for __m256i {
    #[inline(always)]
    unsafe fn gather(streams: &[*mut u8], offset: usize) -> Self {
        let low = _mm256_castsi128_si256(_mm_loadu_si128(streams[0].add(offset).cast()));
        _mm256_inserti128_si256::<1>(low, _mm_loadu_si128(streams[1].add(offset).cast()))
    }

    #[inline(always)]
    unsafe fn scatter(self, streams: &[*mut u8], offset: usize) {
        _mm_storeu_si128(streams[0].add(offset).cast(), _mm256_castsi256_si128(self));
        _mm_storeu_si128(streams[1].add(offset).cast(), _mm256_extracti128_si256::<1>(self));
    }

    #[inline]
    #[target_feature(enable = "avx")]
    unsafe fn pin(mut self) -> Self {
        asm!("/* {0} */", inout(ymm_reg) self, options(pure, nomem, nostack, preserves_flags));
        self
    }

    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        _mm256_and_si256(self, other)
    }

    #[inline(always)]
    unsafe fn number(number: u64) -> Self {
        _mm256_broadcastsi128_si256(aesni::counter(number.into()))
    }
}
