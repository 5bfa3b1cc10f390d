//! What operations of `firmware/bench/symmetric.def` are, by their names, and the official vectors of each as calls.

use std::sync::LazyLock;

use cipher::vectors::{self, blocks, crypt};

use crate::program::{OPERANDS_BYTES_MAX, Request, operations};

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

/// A call, and what should come of it; `None` where only that all programs give the same is known. Of RC4 it may be the end
/// alone.
pub type Expected = (Request, Option<Vec<u8>>);

/// What of a result an expectation is of.
pub fn judged<'a>(request: &Request, result: &'a [u8], expected: &[u8]) -> &'a [u8] {
    let is_end = kind(&request.operation) == Kind::Rc4;
    &result[if is_end { result.len().saturating_sub(expected.len()) } else { 0 }..]
}

pub fn request(operation: &str, choice: u8, operands: &[&[u8]]) -> Request {
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
                (request(operation, 0, &[&vector.key, &message]), Some(vector.ciphertext))
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
pub fn hash_algorithm(operation: &str) -> &str {
    operation.strip_prefix("hmac_").unwrap_or(operation).split('_').next().expect("a name has a beginning")
}

fn digest_bytes(algorithm: &str) -> usize {
    match algorithm {
        "md5" => 16,
        "sha1" => 20,
        sha => sha.strip_prefix("sha").and_then(|bits| bits.parse::<usize>().ok()).expect("it is SHA-2") / 8,
    }
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
        .filter(|block| !block.fails() && block.bytes("Tag").len() == digest_bytes(algorithm))
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
