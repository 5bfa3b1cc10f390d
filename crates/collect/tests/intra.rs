//! AES as the paper deals it to threads, in every version, against FIPS 197 and the `aes` crate.

mod published;
#[path = "../../cipher/tests/seeded/mod.rs"]
mod seeded;
#[path = "../../cipher/tests/soak/mod.rs"]
mod soak;

use std::collections::HashSet;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use collect::aes::Block;
use collect::aes::intra::{Direction, Meeting, Split, Threads, Version, with_cipher, with_cipher_in};
use published::{PLAINTEXT, by_library, examples};
use rand_chacha::rand_core::Rng;
use rustix::thread::sched_getaffinity;
use seeded::{random_bytes, seeded};

const VERSIONS: [Version; 9] = [
    Version::Basic,
    Version::Ica(Threads::Two, Meeting::Spinning),
    Version::Ica(Threads::Two, Meeting::Blocking),
    Version::Ica(Threads::Four, Meeting::Spinning),
    Version::Ica(Threads::Four, Meeting::Blocking),
    Version::Eca(Threads::Two, Meeting::Spinning),
    Version::Eca(Threads::Two, Meeting::Blocking),
    Version::Eca(Threads::Four, Meeting::Spinning),
    Version::Eca(Threads::Four, Meeting::Blocking),
];

#[test]
fn every_version_meets_the_examples_of_fips_197() {
    for version in VERSIONS {
        with_cipher(version, |cipher| {
            for (key, ciphertext) in examples() {
                cipher.expand(&key);
                let mut block = PLAINTEXT;
                cipher.crypt(Direction::Encrypt, &mut block);
                assert_eq!(block, ciphertext, "{version:?}");
                cipher.crypt(Direction::Decrypt, &mut block);
                assert_eq!(block, PLAINTEXT, "{version:?}");
            }
        })
        .unwrap();
    }
}

#[test]
fn every_version_encrypts_random_blocks_as_the_library_does() {
    let mut rng = seeded();
    for version in VERSIONS {
        with_cipher(version, |cipher| {
            for key_bytes in [16, 24, 32, 16, 32, 24].repeat(3) {
                let key = random_bytes(&mut rng, key_bytes);
                cipher.expand(&key);
                for _ in 0..5 {
                    let mut block = Block::default();
                    rng.fill_bytes(&mut block);
                    let (plaintext, ciphertext) = (block, by_library(&key, &[block])[0]);
                    cipher.crypt(Direction::Encrypt, &mut block);
                    assert_eq!(block, ciphertext, "{version:?}");
                    cipher.crypt(Direction::Decrypt, &mut block);
                    assert_eq!(block, plaintext, "{version:?}");
                }
            }
        })
        .unwrap();
    }
}

#[test]
fn a_waveform_is_four_chains_in_every_version_and_split() {
    let mut rng = seeded();
    // The paper's 1024 samples are 256 blocks; a machine with fewer cores than threads takes seconds for their steps.
    for count in [if soak::is_soak() { 256 } else { 16 }, 7, 5, 4, 1, 0] {
        let key = random_bytes(&mut rng, 32);
        let waveform = random_bytes(&mut rng, 16 * count).as_chunks().0.to_vec();
        let mut ivs = [Block::default(); 4];
        rng.fill_bytes(ivs.as_flattened_mut());
        let mut expected: Vec<Block> = waveform.clone();
        for (n, chain) in expected.chunks_mut(count.div_ceil(4).max(1)).enumerate() {
            let mut last = ivs[n];
            for block in chain {
                let mixed = std::array::from_fn(|byte| block[byte] ^ last[byte]);
                *block = by_library(&key, &[mixed])[0];
                last = *block;
            }
        }
        for version in VERSIONS {
            with_cipher(version, |cipher| {
                cipher.expand(&key);
                for split in [Split::Subvectors, Split::Steps] {
                    let mut blocks = waveform.clone();
                    cipher.crypt_waveform(Direction::Encrypt, split, &ivs, &mut blocks);
                    assert!(blocks == expected, "{version:?}, {split:?}, {count} blocks");
                    cipher.crypt_waveform(Direction::Decrypt, split, &ivs, &mut blocks);
                    assert!(blocks == waveform, "{version:?}, {split:?}, {count} blocks");
                }
            })
            .unwrap();
        }
    }
}

#[test]
fn explicit_assignment_pins_the_caller_as_long_as_it_lasts() {
    let count = || sched_getaffinity(None).unwrap().count();
    let before = count();
    let version = |meeting| Version::Eca(Threads::Four, meeting);
    for meeting in [Meeting::Spinning, Meeting::Blocking] {
        assert_eq!(with_cipher(version(meeting), |_| count()).unwrap(), 1);
        assert_eq!(count(), before);
    }
    assert_eq!(with_cipher(Version::Ica(Threads::Two, Meeting::Blocking), |_| count()).unwrap(), before);
}

#[test]
#[should_panic(expected = "a key was expanded")]
fn a_team_without_a_key_encrypts_nothing() {
    let version = Version::Ica(Threads::Two, Meeting::Blocking);
    let _ = with_cipher(version, |cipher| cipher.crypt(Direction::Encrypt, &mut Block::default()));
}

#[test]
fn every_thread_enters_before_any_of_them_computes() {
    for version in VERSIONS {
        let (entered, threads) = (AtomicUsize::new(0), Mutex::new(HashSet::new()));
        let enter = || {
            entered.fetch_add(1, Ordering::Relaxed);
            threads.lock().unwrap().insert(std::thread::current().id());
            Ok(())
        };
        let seen = with_cipher_in(version, &enter, |_| entered.load(Ordering::Relaxed)).unwrap();
        let expected = match version {
            Version::Basic => 1,
            Version::Ica(Threads::Two, _) | Version::Eca(Threads::Two, _) => 2,
            Version::Ica(Threads::Four, _) | Version::Eca(Threads::Four, _) => 4,
        };
        assert_eq!((seen, threads.lock().unwrap().len()), (expected, expected), "{version:?}");
    }
}

#[test]
fn whoever_may_not_enter_ends_the_cipher_with_the_systems_word() {
    let caller = std::thread::current().id();
    for version in VERSIONS {
        for is_caller in [true, false] {
            let enter = || match (std::thread::current().id() == caller) == is_caller {
                true => Err(io::Error::from_raw_os_error(1)),
                false => Ok(()),
            };
            let refused = with_cipher_in(version, &enter, |_| ()).map_err(|error| error.raw_os_error());
            let has_others = version != Version::Basic;
            assert_eq!(refused, if is_caller || has_others { Err(Some(1)) } else { Ok(()) }, "{version:?}");
        }
    }
}
