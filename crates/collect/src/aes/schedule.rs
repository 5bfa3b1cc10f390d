//! Key expansion (FIPS 197 section 5.2, figure 4 of the paper): round keys for encryption, and for the equivalent
//! inverse cipher (section 5.3.5), which is the form that the instructions for decryption have.

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::bitslice::Planes;
use super::{BLOCK_BYTES, Backend, Block, bitslice, lanes};

/// Round keys of AES-256.
pub const ROUND_KEYS_MAX: usize = 15;
const WORD_BYTES: usize = 4;

/// Round keys in the order in which they are added. Wiped when it is dropped. Their number is in the cache with the first of
/// them.
#[derive(ZeroizeOnDrop)]
#[repr(C)]
pub struct Schedule {
    rounds: usize,
    /// The same round keys for the backend that wants them in planes.
    #[zeroize(skip)]
    planes: Option<Box<RoundPlanes>>,
    keys: [Block; ROUND_KEYS_MAX],
}

/// Round keys in planes. Wiped when it is dropped.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct RoundPlanes([Planes; ROUND_KEYS_MAX]);

impl Schedule {
    /// The round keys for encryption.
    ///
    /// # Panics
    /// When the key has not 16, 24 or 32 bytes.
    pub fn encrypting(backend: Backend, key: &[u8]) -> Schedule {
        assert!(matches!(key.len(), 16 | 24 | 32), "a key of {} bytes, not 16, 24 or 32", key.len());
        let key_words = key.len() / WORD_BYTES;
        let mut schedule = Schedule { keys: [[0; BLOCK_BYTES]; _], rounds: key_words + 6, planes: None };
        let (words, _) = schedule.keys.as_flattened_mut().as_chunks_mut::<WORD_BYTES>();
        words.as_flattened_mut()[..key.len()].copy_from_slice(key);
        let mut rcon = 1_u8;
        for i in key_words..4 * (schedule.rounds + 1) {
            let mut word = u32::from_le_bytes(words[i - 1]);
            if i % key_words == 0 {
                // Bytes move down by one, and in a little-endian word that is to the right.
                word = lanes::sub_word(backend, word.rotate_right(8)) ^ u32::from(rcon);
                rcon = (rcon << 1) ^ ((rcon >> 7) * 0x1b);
            } else if key_words > 6 && i % key_words == 4 {
                word = lanes::sub_word(backend, word);
            }
            words[i] = (u32::from_le_bytes(words[i - key_words]) ^ word).to_le_bytes();
        }
        schedule.with_planes(backend)
    }

    /// The round keys for decryption, from those for encryption.
    pub fn decrypting(backend: Backend, encrypting: &Schedule) -> Schedule {
        let rounds = encrypting.rounds;
        let mut keys = [[0; BLOCK_BYTES]; _];
        for (round, key) in encrypting.keys().iter().enumerate() {
            let is_inner = 0 < round && round < rounds;
            keys[rounds - round] = if is_inner { lanes::inverse_mix_columns(backend, *key) } else { *key };
        }
        Schedule { keys, rounds, planes: None }.with_planes(backend)
    }

    fn with_planes(mut self, backend: Backend) -> Schedule {
        if backend == Backend::Bitslice {
            let mut planes = Box::new(RoundPlanes([[0; _]; _]));
            for (planes, key) in planes.0.iter_mut().zip(self.keys()) {
                *planes = bitslice::slice(&[*key; _]);
            }
            self.planes = Some(planes);
        }
        self
    }

    /// One more than rounds, in planes.
    ///
    /// # Panics
    /// When the key was set up for another backend.
    pub fn planes(&self) -> &[Planes] {
        let planes = self.planes.as_ref().expect("the key was set up for bit planes");
        &planes.0[..=self.rounds]
    }

    /// Rounds: 10, 12 or 14.
    pub fn rounds(&self) -> usize {
        self.rounds
    }

    /// One more than rounds.
    pub fn keys(&self) -> &[Block] {
        &self.keys[..=self.rounds]
    }

    /// Where the first one lies.
    pub fn address(&self) -> *const u8 {
        self.keys.as_ptr().cast()
    }
}
