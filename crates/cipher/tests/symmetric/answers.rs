//! What the operations of `firmware/bench/symmetric.def` should give: the official vectors, and what Rust crates say.

use std::sync::LazyLock;

use aes::{Aes128, Aes192, Aes256};
use cipher::vectors::{self, blocks, crypt};
use ctr::cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, BlockSizeUser, KeyInit, StreamCipher};
use des::{Des, TdesEde2, TdesEde3};
use hmac::{Hmac, Mac};
use md5::Md5;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::Rng;
use rc4::Rc4;
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

use crate::program::{OPERANDS_BYTES_MAX, Request, operations};
use crate::seeded::random_bytes;

/// What an operation is, by its name: the algorithm, and what follows the variant's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A key is expanded.
    Expand,
    /// AES: blocks are encrypted or decrypted.
    Aes {
        /// The other way.
        decrypt: bool,
    },
    /// The compression of a hash: whole blocks go into its state.
    Compress,
    /// A hash: pieces of a message.
    Hash,
    /// HMAC: a key, and pieces of a message.
    Hmac,
    /// RC4: a key and a message.
    Rc4,
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
        _ if operation.ends_with("_compress") => Kind::Compress,
        "sha224" | "sha256" | "sha384" | "sha512" | "sha1" | "md5" => Kind::Hash,
        "hmac" => Kind::Hmac,
        "rc4" => Kind::Rc4,
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
        Kind::Expand | Kind::Compress => return Vec::new(),
        Kind::Hash => hash_vectors(operation),
        Kind::Hmac => hmac_vectors(operation),
        Kind::Rc4 => crypt(vectors::RC4)
            .into_iter()
            .map(|vector| {
                let message = [vec![0; vector.skipped_bytes], vector.plaintext].concat();
                let mut expected = rc4(&vector.key, &message);
                expected.splice(vector.skipped_bytes.., vector.ciphertext);
                (request(operation, 0, &[&vector.key, &message]), Some(expected))
            })
            .collect(),
        Kind::Aes { decrypt } => of_a_group("ecb")
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

/// The algorithm of a hash or of HMAC: `sha256` of `hmac_sha256_plain`.
fn hash_algorithm(operation: &str) -> &str {
    operation.strip_prefix("hmac_").unwrap_or(operation).split('_').next().expect("a name has a beginning")
}

fn hash_vectors(operation: &str) -> Vec<Expected> {
    let algorithm = hash_algorithm(operation);
    let own = match algorithm {
        "sha1" => blocks(vectors::SHA1),
        "md5" => blocks(vectors::MD5),
        _ => Vec::new(),
    };
    let shared = of_a_group("sha-2").filter(|block| block.text("Hash") == algorithm.strip_prefix("sha"));
    let all = own.iter().chain(shared).filter(|block| block.bytes("Msg").len() <= OPERANDS_BYTES_MAX);
    all.map(|block| (request(operation, 0, &[&block.bytes("Msg")]), Some(block.bytes("MD")))).collect()
}

fn hmac_vectors(operation: &str) -> Vec<Expected> {
    let algorithm = hash_algorithm(operation);
    let own = match algorithm {
        "sha1" => blocks(vectors::HMAC_SHA1),
        "md5" => blocks(vectors::HMAC_MD5),
        _ => Vec::new(),
    };
    let shared = of_a_group("hmac").filter(|block| block.text("Hash") == algorithm.strip_prefix("sha"));
    own.iter()
        .chain(shared)
        // Wycheproof's also has tags that are cut short.
        .filter(|block| !block.fails() && block.bytes("Tag").len() == digest(algorithm, &[]).len())
        .map(|block| {
            let operands = [&block.bytes("Key")[..], &block.bytes("Msg")];
            (request(operation, 0, &operands), Some(block.bytes("Tag")))
        })
        .collect()
}

/// The vectors of a kind in the collection of official ones, which is read once.
fn of_a_group<'a>(kind: &'a str) -> impl Iterator<Item = &'a vectors::Block<'a>> {
    static ALL: LazyLock<Vec<(&str, vectors::Block<'static>)>> = LazyLock::new(|| {
        let mut kind = "";
        let mut found = Vec::new();
        for block in blocks(vectors::official()) {
            if let Some(name) = block.text("Kind") {
                kind = name;
            } else if block.text("Left").is_none() && ["ecb", "sha-2", "hmac"].contains(&kind) {
                found.push((kind, block));
            }
        }
        found
    });
    ALL.iter().filter(move |(name, _)| *name == kind).map(|(_, block)| block)
}

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
