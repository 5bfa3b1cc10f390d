//! Random calls of the operations of `firmware/bench/symmetric.def`, and what Rust crates say that they should give.

use aes::{Aes128, Aes192, Aes256};
use ctr::cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, BlockSizeUser, KeyInit, StreamCipher};
use des::{Des, TdesEde2, TdesEde3};
use hmac::{Hmac, Mac};
use md5::Md5;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::Rng;
use rc4::Rc4;
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

use crate::official::{Expected, Kind, hash_algorithm, kind, request};
use crate::program::{OPERANDS_BYTES_MAX, operations};
use crate::seeded::random_bytes;

/// Random calls of every length that matters, for every variant.
pub fn random(rng: &mut ChaCha20Rng) -> Vec<Expected> {
    operations().iter().flat_map(|operation| random_of(rng, operation)).collect()
}

fn random_of(rng: &mut ChaCha20Rng, operation: &str) -> Vec<Expected> {
    match kind(operation) {
        Kind::Expand if operation.starts_with("rc4") => {
            let keys = [1, 5, 16, 32, 255].map(|length| random_bytes(rng, length));
            keys.iter().map(|key| (request(operation, 0, &[key]), None)).collect()
        }
        Kind::Expand => {
            let shortest = if operation.starts_with("des") { 8 } else { 16 };
            let keys = [shortest, shortest + 8, shortest + 16].map(|length| random_bytes(rng, length));
            keys.iter().map(|key| (request(operation, 0, &[key]), None)).collect()
        }
        Kind::Aes { decrypt } => {
            let lengths = (0..=300 / 16).chain([(OPERANDS_BYTES_MAX - 32) / 16]);
            let shapes = lengths.flat_map(|count| [16, 24, 32].map(|key_bytes| (key_bytes, 16 * count)));
            let call = |(key_bytes, bytes)| {
                let (key, blocks) = (random_bytes(rng, key_bytes), random_bytes(rng, bytes));
                (request(operation, 0, &[&key, &blocks]), Some(aes(&key, &blocks, decrypt)))
            };
            shapes.map(call).collect()
        }
        Kind::Compress => {
            let block_bytes = if digest(hash_algorithm(operation), &[]).len() > 32 { 128 } else { 64 };
            let blocks = [0, 1, 2, 5].map(|count| random_bytes(rng, count * block_bytes));
            let call = |blocks: &Vec<u8>| (request(operation, (rng.next_u32() % 8) as u8, &[blocks]), None);
            blocks.iter().map(call).collect()
        }
        Kind::Hash => (0..=300)
            .chain([1000, OPERANDS_BYTES_MAX])
            .map(|length| {
                let message = random_bytes(rng, length);
                let expected = digest(hash_algorithm(operation), &message);
                (request(operation, (rng.next_u32() % 8) as u8, &pieces(rng, &message, 8)), Some(expected))
            })
            .collect(),
        Kind::Hmac => (0..=300)
            .chain([1000, OPERANDS_BYTES_MAX - 300])
            .map(|length| {
                let key_bytes = (rng.next_u32() % 300) as usize;
                let (key, message) = (random_bytes(rng, key_bytes), random_bytes(rng, length));
                let operands = [&[&key[..]], &pieces(rng, &message, 7)[..]].concat();
                let expected = tag(hash_algorithm(operation), &key, &message);
                (request(operation, (rng.next_u32() % 8) as u8, &operands), Some(expected))
            })
            .collect(),
        Kind::Rc4 => (0..=300)
            .chain([OPERANDS_BYTES_MAX - 300])
            .map(|length| {
                let key_bytes = 1 + (rng.next_u32() % 255) as usize;
                let (key, message) = (random_bytes(rng, key_bytes), random_bytes(rng, length));
                let expected = rc4(&key, &message);
                (request(operation, (rng.next_u32() % 8) as u8, &[&key, &message]), Some(expected))
            })
            .collect(),
        Kind::Des { decrypt } => {
            let counts = (0..=300 / 8).chain([63, 64, 65, 128]);
            let shapes = counts.flat_map(|count| [8, 16, 24].map(|key_bytes| (key_bytes, 8 * count)));
            let call = |(key_bytes, bytes)| {
                let (key, blocks) = (random_bytes(rng, key_bytes), random_bytes(rng, bytes));
                let shift = (rng.next_u32() % 8) as u8;
                (request(operation, shift, &[&key, &blocks]), Some(des(&key, &blocks, decrypt)))
            };
            shapes.map(call).collect()
        }
    }
}

fn rc4(key: &[u8], message: &[u8]) -> Vec<u8> {
    let mut result = message.to_vec();
    Rc4::new_from_slice(key).expect("RC4 takes the key").apply_keystream(&mut result);
    result
}

/// A message in up to `count` pieces, of which some may be empty.
fn pieces<'a>(rng: &mut ChaCha20Rng, message: &'a [u8], count: usize) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    let mut left = message;
    for _ in 1..1 + rng.next_u32() as usize % count {
        let (piece, rest) = left.split_at(rng.next_u32() as usize % (left.len() + 1));
        pieces.push(piece);
        left = rest;
    }
    pieces.push(left);
    pieces
}

fn digest(algorithm: &str, message: &[u8]) -> Vec<u8> {
    match algorithm {
        "sha224" => Sha224::digest(message).to_vec(),
        "sha256" => Sha256::digest(message).to_vec(),
        "sha384" => Sha384::digest(message).to_vec(),
        "sha512" => Sha512::digest(message).to_vec(),
        "sha1" => Sha1::digest(message).to_vec(),
        _ => Md5::digest(message).to_vec(),
    }
}

fn tag(algorithm: &str, key: &[u8], message: &[u8]) -> Vec<u8> {
    match algorithm {
        "sha224" => mac::<Hmac<Sha224>>(key, message),
        "sha256" => mac::<Hmac<Sha256>>(key, message),
        "sha384" => mac::<Hmac<Sha384>>(key, message),
        "sha512" => mac::<Hmac<Sha512>>(key, message),
        "sha1" => mac::<Hmac<Sha1>>(key, message),
        _ => mac::<Hmac<Md5>>(key, message),
    }
}

fn mac<M: Mac + hmac::KeyInit>(key: &[u8], message: &[u8]) -> Vec<u8> {
    let mac = <M as hmac::KeyInit>::new_from_slice(key).expect("HMAC takes any key");
    mac.chain_update(message).finalize().into_bytes().to_vec()
}

fn des(key: &[u8], blocks: &[u8], decrypt: bool) -> Vec<u8> {
    match key.len() {
        8 => each_block(Des::new_from_slice(key).expect("a key"), blocks, decrypt),
        16 => each_block(TdesEde2::new_from_slice(key).expect("a key"), blocks, decrypt),
        _ => each_block(TdesEde3::new_from_slice(key).expect("a key"), blocks, decrypt),
    }
}

fn aes(key: &[u8], blocks: &[u8], decrypt: bool) -> Vec<u8> {
    match key.len() {
        16 => each_block(Aes128::new_from_slice(key).expect("a key"), blocks, decrypt),
        24 => each_block(Aes192::new_from_slice(key).expect("a key"), blocks, decrypt),
        _ => each_block(Aes256::new_from_slice(key).expect("a key"), blocks, decrypt),
    }
}

fn each_block<C>(cipher: C, blocks: &[u8], decrypt: bool) -> Vec<u8>
where
    C: BlockCipherEncrypt + BlockCipherDecrypt + BlockSizeUser,
{
    let mut result = blocks.to_vec();
    for block in result.chunks_exact_mut(C::block_size()) {
        let block: &mut Array<u8, C::BlockSize> = block.try_into().expect("a block");
        if decrypt { cipher.decrypt_block(block) } else { cipher.encrypt_block(block) }
    }
    result
}
