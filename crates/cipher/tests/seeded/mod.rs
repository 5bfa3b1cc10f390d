//! Randomness for tests: from a seed that is printed, so that a failure can be repeated.

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A generator from `SELVEDGE_SEED`, or else from a fresh seed.
///
/// # Panics
/// When `SELVEDGE_SEED` is no number.
pub fn seeded() -> ChaCha20Rng {
    let seed = match std::env::var("SELVEDGE_SEED") {
        Ok(seed) => seed.parse().expect("SELVEDGE_SEED is a number"),
        Err(_) => {
            let mut bytes = [0; 8];
            getrandom::fill(&mut bytes).expect("the operating system has randomness");
            u64::from_le_bytes(bytes)
        }
    };
    println!("SELVEDGE_SEED={seed}");
    ChaCha20Rng::seed_from_u64(seed)
}

/// That many random bytes.
#[allow(dead_code)] // each program that includes it uses some of it
pub fn random_bytes(rng: &mut ChaCha20Rng, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    rng.fill_bytes(&mut bytes);
    bytes
}
