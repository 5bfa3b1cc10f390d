//! What the operations of `firmware/bench/symmetric.def` should give: the official vectors, and what Rust crates say.

use aes::{Aes128, Aes192, Aes256};
use cipher::vectors::{self, blocks, crypt};
use ctr::cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, BlockSizeUser, KeyInit};
use des::{Des, TdesEde2, TdesEde3};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::Rng;

use crate::program::{OPERANDS_BYTES_MAX, Request, operations};
use crate::seeded::random_bytes;

/// What an operation is, by its name: the algorithm, and what follows the variant's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// AES or DES: a key is expanded.
    Expand,
    /// AES: blocks are encrypted or decrypted.
    Aes {
        /// The other way.
        decrypt: bool,
    },
    /// DES or Triple DES: blocks are encrypted or decrypted.
    Des {
        /// The other way.
        decrypt: bool,
    },
}

/// What `operation` is.
pub fn kind(operation: &str) -> Kind {
    let (algorithm, _) = operation.split_once('_').expect("a name has a variant in it");
    let decrypt = operation.ends_with("_decrypt");
    match algorithm {
        _ if operation.contains("_init") => Kind::Expand,
        "aes" => Kind::Aes { decrypt },
        "des" => Kind::Des { decrypt },
        _ => panic!("`{operation}`: no crate is known that does the same"),
    }
}

/// A call, and what should come of it; `None` where only that all programs give the same is known.
pub type Expected = (Request, Option<Vec<u8>>);

fn request(operation: &str, choice: u8, operands: &[&[u8]]) -> Request {
    let operands = operands.iter().map(|operand| operand.to_vec()).collect();
    Request { operation: operation.to_owned(), choice, operands }
}

/// Every official vector, for every variant.
pub fn official() -> Vec<Expected> {
    operations().iter().flat_map(|operation| official_of(operation)).collect()
}

fn official_of(operation: &str) -> Vec<Expected> {
    let expected = match kind(operation) {
        Kind::Expand => return Vec::new(),
        Kind::Aes { decrypt } => of_a_group("ecb")
            .iter()
            .map(|block| {
                let [input, output] = if decrypt { ["CT", "PT"] } else { ["PT", "CT"] };
                let operands = [&block.bytes("Key")[..], &block.bytes(input)];
                (request(operation, 0, &operands), Some(block.bytes(output)))
            })
            .collect::<Vec<_>>(),
        Kind::Des { decrypt } => crypt(vectors::TDES_ECB)
            .into_iter()
            .map(|vector| {
                let texts = [vector.plaintext, vector.ciphertext];
                let [input, output] = if decrypt { [1, 0] } else { [0, 1] }.map(|index| &texts[index]);
                (request(operation, 0, &[&vector.key, input]), Some(output.clone()))
            })
            .collect(),
    };
    assert!(expected.len() > 6, "{operation} has {} vectors", expected.len());
    expected
}

/// The vectors of a kind in the collection of official ones.
fn of_a_group(kind: &str) -> Vec<vectors::Block<'static>> {
    let mut inside = false;
    let mut found = Vec::new();
    for block in blocks(vectors::official()) {
        if let Some(name) = block.text("Kind") {
            inside = name == kind;
        } else if inside && block.text("Left").is_none() {
            found.push(block);
        }
    }
    found
}

/// Random calls of every length that matters, for every variant.
pub fn random(rng: &mut ChaCha20Rng) -> Vec<Expected> {
    operations().iter().flat_map(|operation| random_of(rng, operation)).collect()
}

fn random_of(rng: &mut ChaCha20Rng, operation: &str) -> Vec<Expected> {
    match kind(operation) {
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
