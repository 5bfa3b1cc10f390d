//! AES as the server of the paper does it (Bilski and Winiecki, section 3.1): on every core, and on every core as many
//! blocks at once as its registers hold.
//!
//! [`block`] has the modes whose blocks do not wait for each other: a core takes up to 32 of them at a time, and
//! [`cores`] deals stripes of a message to all cores. CBC encryption and MACs do wait, one block for the other of the same
//! stream; there [`multi`] takes 16 streams at a time and [`ccm`] 8 messages, each under its own key, which is what a
//! server of many nodes has. `schedule` expands keys; `lanes` has the instructions. `bitslice` does without those, in
//! bit planes, and [`intra`] deals one block to several threads as the paper does (section 3.2).
//!
//! The CPU is asked when the program runs. The standard library does it: the libraries' own detection wants AVX-512
//! before it believes in VAES, and misses it on every CPU that has only AVX2.

mod bitslice;
pub mod block;
pub mod ccm;
pub mod cores;
pub mod intra;
mod lanes;
pub mod multi;
mod schedule;

use std::fmt;

use self::schedule::Schedule;

/// Bytes of a block.
pub const BLOCK_BYTES: usize = 16;
/// A block: plaintext, ciphertext, counter or round key.
pub type Block = [u8; BLOCK_BYTES];

/// What computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// Bit planes of four blocks, on every processor.
    Bitslice,
    /// Instructions on one block.
    #[cfg(target_arch = "x86_64")]
    AesNi,
    /// Instructions on two blocks.
    #[cfg(target_arch = "x86_64")]
    Vaes,
    /// Instructions on four blocks.
    #[cfg(target_arch = "x86_64")]
    Vaes512,
}

impl Backend {
    /// The fastest that this CPU has.
    pub fn best() -> Backend {
        Backend::all().pop().expect("every processor has one")
    }

    /// Those that this CPU has, the fastest last.
    pub fn all() -> Vec<Backend> {
        let every = [
            Backend::Bitslice,
            #[cfg(target_arch = "x86_64")]
            Backend::AesNi,
            #[cfg(target_arch = "x86_64")]
            Backend::Vaes,
            #[cfg(target_arch = "x86_64")]
            Backend::Vaes512,
        ];
        every.into_iter().filter(|backend| backend.is_here()).collect()
    }

    /// Whether this CPU has it.
    pub fn is_here(self) -> bool {
        match self {
            Backend::Bitslice => true,
            #[cfg(target_arch = "x86_64")]
            Backend::AesNi => is_x86_feature_detected!("aes"),
            #[cfg(target_arch = "x86_64")]
            Backend::Vaes => {
                Backend::AesNi.is_here()
                    && is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("vaes")
            }
            #[cfg(target_arch = "x86_64")]
            Backend::Vaes512 => {
                Backend::Vaes.is_here()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vl")
            }
        }
    }

    /// Everything unsafe stands behind this.
    fn check(self) {
        assert!(self.is_here(), "this CPU has no {self:?}");
    }
}

/// A key that is set up for a backend, of 128, 192 or 256 bits; one for instructions is good for all of them. Behind boxes, so that moving it leaves no copy; wiped when it is
/// dropped.
pub struct Key {
    rounds: usize,
    encrypting: Box<Schedule>,
    decrypting: Box<Schedule>,
}

impl Key {
    /// Sets up a key.
    ///
    /// # Panics
    /// When it has not 16, 24 or 32 bytes, or the CPU lacks the backend.
    pub fn new(backend: Backend, key: &[u8]) -> Key {
        let encrypting = Box::new(Schedule::encrypting(backend, key));
        let decrypting = Box::new(Schedule::decrypting(backend, &encrypting));
        Key { rounds: encrypting.rounds(), encrypting, decrypting }
    }

    /// Rounds: 10, 12 or 14.
    pub fn rounds(&self) -> usize {
        self.rounds
    }

    fn encrypting(&self) -> &Schedule {
        &self.encrypting
    }

    fn decrypting(&self) -> &Schedule {
        &self.decrypting
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}
