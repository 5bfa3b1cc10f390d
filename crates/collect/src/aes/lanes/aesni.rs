//! AES-NI on registers of 128 bits: a block in a register. With it the few single instructions that key schedules
//! need.

use std::arch::asm;
use std::arch::x86_64::*;

use super::pairs::{Places, Steps};
use super::vector::{self, Abreast, Sixteen, Vector};
use crate::aes::Block;

vector::entries!("aes,sse2", __m128i, lanes 8, chained 8 of __m128i, Sixteen, held 7);
vector::paired!("aes,sse2", __m128i, lanes 4);

/// The S-box on each byte of a word.
///
/// # Safety
/// The CPU has AES-NI.
#[target_feature(enable = "aes,sse2")]
pub unsafe fn sub_word(word: u32) -> u32 {
    // Four equal columns: rows may shift as they like.
    let columns = _mm_set1_epi32(word as i32);
    _mm_cvtsi128_si32(_mm_aesenclast_si128(columns, _mm_setzero_si128())) as u32
}

/// The inverse of MixColumns on a round key.
///
/// # Safety
/// The CPU has AES-NI.
#[target_feature(enable = "aes,sse2")]
pub unsafe fn inverse_mix_columns(key: Block) -> Block {
    let mut mixed = [0; 16];
    // SAFETY: both are 16 bytes, and neither needs an alignment.
    unsafe {
        let key = _mm_loadu_si128(key.as_ptr().cast());
        _mm_storeu_si128(mixed.as_mut_ptr().cast(), _mm_aesimc_si128(key));
    }
    mixed
}

/// A big-endian counter block, by way of registers alone.
#[inline(always)]
pub fn counter(counter: u128) -> __m128i {
    let [high, low] = [counter >> 64, counter].map(|half| (half as u64).swap_bytes() as i64);
    // SAFETY: every x86-64 has SSE2.
    unsafe { _mm_set_epi64x(low, high) }
}

// SAFETY: of all methods as the trait says; loads and stores are the unaligned ones.
#[allow(unsafe_op_in_unsafe_fn)]
impl Vector for __m128i {
    const BLOCKS: usize = 1;

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        _mm_loadu_si128(from.cast())
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        _mm_storeu_si128(to.cast(), self);
    }

    #[inline(always)]
    unsafe fn splat(from: *const u8) -> Self {
        Self::load(from)
    }

    #[inline(always)]
    unsafe fn counters<const N: usize>(counter: u128) -> [Self; N] {
        let block = |i: usize| self::counter(counter.wrapping_add(i as u128));
        let mut states = [block(0); N];
        if usize::from(counter as u8) + N <= 256 {
            // Only the last byte changes.
            for (i, state) in states.iter_mut().enumerate() {
                *state = _mm_add_epi8(*state, _mm_set_epi64x((i as i64) << 56, 0));
            }
        } else {
            for (i, state) in states.iter_mut().enumerate() {
                *state = block(i);
            }
        }
        states
    }

    #[inline(always)]
    unsafe fn behind(self, before: Self) -> Self {
        before
    }

    #[inline(always)]
    unsafe fn xor(self, other: Self) -> Self {
        _mm_xor_si128(self, other)
    }

    #[inline(always)]
    unsafe fn aesenc(self, key: Self) -> Self {
        _mm_aesenc_si128(self, key)
    }

    #[inline(always)]
    unsafe fn aesenclast(self, key: Self) -> Self {
        _mm_aesenclast_si128(self, key)
    }

    #[inline(always)]
    unsafe fn aesdec(self, key: Self) -> Self {
        _mm_aesdec_si128(self, key)
    }

    #[inline(always)]
    unsafe fn aesdeclast(self, key: Self) -> Self {
        _mm_aesdeclast_si128(self, key)
    }
}

// SAFETY: as above.
#[allow(unsafe_op_in_unsafe_fn)]
impl Abreast for __m128i {
    #[inline(always)]
    unsafe fn gather(streams: &[*mut u8], offset: usize) -> Self {
        Self::load(streams[0].add(offset))
    }

    #[inline(always)]
    unsafe fn scatter(self, streams: &[*mut u8], offset: usize) {
        self.store(streams[0].add(offset));
    }

    #[inline(always)]
    unsafe fn pin(mut self) -> Self {
        asm!("/* {0} */", inout(xmm_reg) self, options(pure, nomem, nostack, preserves_flags));
        self
    }

    #[inline(always)]
    unsafe fn and(self, other: Self) -> Self {
        _mm_and_si128(self, other)
    }

    #[inline(always)]
    unsafe fn number(number: u64) -> Self {
        counter(number.into())
    }
}
