//! Ascon-AEAD128 (NIST SP 800-232) of many messages at once, each with a key, nonce, associated data and length of its
//! own, sealed and opened in place.
//!
//! One message is a chain: every block waits for the permutation of the block before. Many messages are many chains, so
//! eight of them share a vector of eight words ([`avx512`]) or two of four ([`avx2`]), and a lane whose message ends takes
//! the next one ([`lanes`]). What is left over at the end, and processors without either, take one chain at a time
//! ([`scalar`]).
//!
//! What it can cost at best by AVX2 on a Zen 3, whose vectors go through four ports, of which two shift: a round of four lanes is
//! 57 instructions (1 for the constant, 16 for the substitution, 40 for the diffusion: AVX2 has no rotation, so a word is
//! 4 shifts and 4 sums; the substitution's complement is folded into the next round's constant), so 57 / 4 = 14.25 cycles,
//! while the 20 shifts alone would be 10. Eight rounds absorb 16 bytes in each of four lanes: 8 * 14.25 / 64 = 1.78 cycles
//! per byte, and 10 instructions to bring 64 bytes into lanes and out again, 0.04. A message has 24 rounds and an empty
//! block besides: at 64 bytes the bound is 56 * 14.25 / 256 = 3.12 cycles per byte. Intel's cores have three such ports:
//! 57 / 3 = 19 cycles, so 2.38 cycles per byte. By AVX-512, which has rotations and functions of three words, a round of
//! eight lanes is 26 instructions on two ports, of which one rotates: 13 cycles, so 8 * 13 / 128 = 0.81 cycles per byte.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod lanes;
mod scalar;

use crate::ascon::lanes::{Direction, Lanes, Task};
use crate::ascon::scalar::Scalar;
use crate::plaintext::wipe_stack;

/// A message that is sealed or opened where it lies.
pub struct Message<'a> {
    /// The key.
    pub key: &'a [u8; 16],
    /// The nonce, which its key must never see twice in sealing.
    pub nonce: [u8; 16],
    /// What is authenticated and not encrypted.
    pub aad: &'a [u8],
    /// The plaintext, and after sealing the ciphertext; the other way round in opening.
    pub data: &'a mut [u8],
    /// Written by sealing, checked by opening.
    pub tag: [u8; 16],
}

/// What computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// One message after the other, on every processor.
    Scalar,
    /// Up to eight messages at once, in two vectors.
    Avx2,
    /// Up to eight messages at once, in one vector.
    Avx512,
}

impl Backend {
    /// The fastest that this CPU has.
    pub fn best() -> Backend {
        Backend::all().pop().expect("every processor has one")
    }

    /// Those that this CPU has, the fastest last.
    pub fn all() -> Vec<Backend> {
        let all = [Backend::Scalar, Backend::Avx2, Backend::Avx512];
        all.into_iter().filter(|backend| backend.is_here()).collect()
    }

    /// Whether this CPU has it.
    pub fn is_here(self) -> bool {
        match self {
            Backend::Scalar => true,
            #[cfg(target_arch = "x86_64")]
            Backend::Avx2 => avx2::Avx2::detect().is_some(),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512 => avx512::Avx512::detect().is_some(),
            #[cfg(not(target_arch = "x86_64"))]
            Backend::Avx2 | Backend::Avx512 => false,
        }
    }
}

/// Encrypts every message's data in place and writes its tag.
pub fn seal(messages: &mut [Message<'_>]) {
    seal_on(Backend::best(), messages);
}

/// [`seal`] on a backend.
///
/// # Panics
/// When the processor does not have it.
pub fn seal_on(backend: Backend, messages: &mut [Message<'_>]) {
    crypt(backend, Direction::Seal, messages);
}

/// Decrypts every message's data in place, and says of each whether its tag is right.
///
/// Invariant: the data of a message whose tag is wrong is zeros, and memory holds nothing of it, nor of the right tag.
pub fn open(messages: &mut [Message<'_>]) -> Vec<bool> {
    open_on(Backend::best(), messages)
}

/// [`open`] on a backend.
///
/// # Panics
/// When the processor does not have it.
pub fn open_on(backend: Backend, messages: &mut [Message<'_>]) -> Vec<bool> {
    let verdicts = crypt(backend, Direction::Open, messages);
    if verdicts.contains(&false) {
        wipe_stack();
    }
    verdicts
}

/// Lanes narrow as the messages run out: a vector for one message is slower than none.
#[inline(never)]
fn crypt(backend: Backend, direction: Direction, messages: &mut [Message<'_>]) -> Vec<bool> {
    let mut verdicts = if direction == Direction::Open { vec![false; messages.len()] } else { Vec::new() };
    let mut queue = Task::queue(messages);
    let single = match backend {
        Backend::Scalar => Lanes::<1>::new(direction),
        #[cfg(target_arch = "x86_64")]
        Backend::Avx2 => {
            let avx2 = avx2::Avx2::detect().expect("the processor has AVX2");
            let mut eight = Lanes::<8>::new(direction);
            eight.run(&avx2, &mut queue, &mut verdicts, 4);
            let mut four = eight.narrow::<4>();
            four.run(&avx2, &mut queue, &mut verdicts, 1);
            four.narrow::<1>()
        }
        #[cfg(target_arch = "x86_64")]
        Backend::Avx512 => {
            let avx512 = avx512::Avx512::detect().expect("the processor has AVX-512");
            let mut eight = Lanes::<8>::new(direction);
            // Eight lanes take hardly longer than one chain does.
            eight.run(&avx512, &mut queue, &mut verdicts, 1);
            eight.narrow::<1>()
        }
        #[cfg(not(target_arch = "x86_64"))]
        Backend::Avx2 | Backend::Avx512 => panic!("the processor has no such vectors"),
    };
    let mut single = single;
    single.run(&Scalar, &mut queue, &mut verdicts, 0);
    verdicts
}
