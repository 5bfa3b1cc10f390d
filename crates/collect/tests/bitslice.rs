//! AES in bit planes against FIPS 197, NIST's validation vectors and the `aes` crate.

mod published;
#[path = "../../cipher/tests/seeded/mod.rs"]
mod seeded;
#[path = "../../cipher/tests/soak/mod.rs"]
mod soak;

use aes::Aes128;
use aes::cipher::{BlockCipherDecrypt, KeyInit};
use cipher::vectors;
use collect::aes::block::{ecb_decrypt, ecb_encrypt};
use collect::aes::{Backend, Block, Key};
use proptest::prelude::*;
use published::{PLAINTEXT, by_library, examples};
use rand_chacha::rand_core::Rng;
use seeded::{random_bytes, seeded};

fn check(key: &[u8], plaintext: &[Block], ciphertext: &[Block]) {
    let set_up = Key::new(Backend::Bitslice, key);
    let mut blocks = plaintext.to_vec();
    ecb_encrypt(Backend::Bitslice, &set_up, blocks.as_flattened_mut());
    assert_eq!(blocks, ciphertext, "{} blocks, key of {} bytes", blocks.len(), key.len());
    ecb_decrypt(Backend::Bitslice, &set_up, blocks.as_flattened_mut());
    assert_eq!(blocks, plaintext, "{} blocks, key of {} bytes", blocks.len(), key.len());
}

fn blocks_of(bytes: &[u8]) -> Vec<Block> {
    let (blocks, rest) = bytes.as_chunks();
    assert!(rest.is_empty(), "whole blocks");
    blocks.to_vec()
}

#[test]
fn the_examples_of_fips_197_hold() {
    for (key, ciphertext) in examples() {
        check(&key, &[PLAINTEXT], &[ciphertext]);
    }
}

#[test]
fn the_validation_vectors_of_nist_hold() {
    let (mut is_ours, mut count) = (false, 0);
    for block in vectors::blocks(vectors::official()) {
        if let Some(kind) = block.text("Kind") {
            is_ours = kind == "ecb";
        } else if is_ours && block.text("Key").is_some() {
            check(&block.bytes("Key"), &blocks_of(&block.bytes("PT")), &blocks_of(&block.bytes("CT")));
            count += 1;
        }
    }
    assert_eq!(count, 2141);
}

#[test]
fn random_keys_and_every_number_of_blocks_give_what_the_library_gives() {
    let mut rng = seeded();
    let turns = if soak::is_soak() { 1000 } else { 10 };
    for key_bytes in [16, 24, 32] {
        for count in (0..=40).cycle().take(41 * turns) {
            let key = random_bytes(&mut rng, key_bytes);
            let plaintext = blocks_of(&random_bytes(&mut rng, 16 * count));
            check(&key, &plaintext, &by_library(&key, &plaintext));
        }
    }
}

#[test]
fn every_byte_is_substituted_and_back_in_every_place() {
    let mut rng = seeded();
    let mut key = [0; 16];
    rng.fill_bytes(&mut key);
    let plaintext: Vec<Block> = (0..=255).map(|byte| [byte; 16]).collect();
    check(&key, &plaintext, &by_library(&key, &plaintext));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn decryption_undoes_the_librarys_encryption(
        key in prop_oneof![
            prop::collection::vec(any::<u8>(), 16), prop::collection::vec(any::<u8>(), 24),
            prop::collection::vec(any::<u8>(), 32),
        ],
        blocks in prop::collection::vec(any::<[u8; 16]>(), 0..50),
    ) {
        let mut decrypted = by_library(&key, &blocks);
        let key = Key::new(Backend::Bitslice, &key);
        ecb_decrypt(Backend::Bitslice, &key, decrypted.as_flattened_mut());
        prop_assert_eq!(decrypted, blocks);
    }

    #[test]
    fn encryption_is_undone_by_the_library(key in any::<[u8; 16]>(), block in any::<[u8; 16]>()) {
        let mut blocks = [block];
        ecb_encrypt(Backend::Bitslice, &Key::new(Backend::Bitslice, &key), blocks.as_flattened_mut());
        let mut decrypted = blocks[0].into();
        Aes128::new(&key.into()).decrypt_block(&mut decrypted);
        prop_assert_eq!(Block::from(decrypted), block);
    }
}
