//! The official vectors of RSA, P-256 and X25519 as requests in both radices.

use std::collections::BTreeSet;

use cipher::vectors::{self, Block, blocks};
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

use crate::LIMB_BITS;
use crate::der;
use crate::request::{Candidate, REFUSED, Request, Response, UNFIT, multiplications};

/// What should come of a request.
#[derive(Debug)]
pub enum Expected {
    /// This.
    Done(Vec<u8>),
    /// Anything else than this.
    Not(Vec<u8>),
    /// The library's refusal.
    Refused,
    /// That of who asks it, of operands whose lengths it does not take.
    Unfit,
}

impl Expected {
    pub fn is_met_by(&self, response: &Response) -> bool {
        match self {
            Expected::Done(bytes) => response.status == 0 && response.operands == [&bytes[..]],
            Expected::Not(bytes) => response.status != 0 || response.operands != [&bytes[..]],
            Expected::Refused => response.status == REFUSED,
            Expected::Unfit => response.status == UNFIT,
        }
    }
}

/// Whether operands have the lengths that an operation takes, where official vectors may have others.
fn fits(request: &Request) -> bool {
    let bytes: Vec<usize> = request.operands.iter().map(Vec::len).collect();
    match request.operation {
        "ecdh_p256_agree" => bytes == [32, 64],
        "ecdsa_p256_verify" => bytes == [64, 32, 64],
        "x25519" => bytes == [32, 32],
        // A signature or a ciphertext is as long as the modulus.
        "rsa_verify" | "rsa_decrypt" => bytes.last() == bytes.first(),
        _ => true,
    }
}

/// Every vector that our operations take, and two with nonces. Private operations of RSA take a while in limbs of 16 bits: one
/// in six.
pub fn all() -> Vec<(Request, Expected)> {
    let mut kind = "";
    let mut all = Vec::new();
    let mut taken = BTreeSet::new();
    for block in blocks(vectors::official()) {
        if let Some(name) = block.text("Kind") {
            kind = name;
        } else if block.text("Left").is_none() {
            for limb_bits in LIMB_BITS {
                if let Some(call) = call(kind, &block, limb_bits) {
                    taken.insert(kind);
                    all.push(call);
                }
            }
        }
    }
    let kinds = [
        "ecdh",
        "ecdsa",
        "ecdsa-sign",
        "p-256",
        "rsa-pkcs1",
        "rsa-pkcs1-decrypt",
        "rsa-pkcs1-sign",
        "x25519",
    ];
    assert_eq!(taken.into_iter().collect::<Vec<_>>(), kinds);
    let nonces = blocks(include_str!("ecdsa_nonces.kat"));
    all.extend(nonces.iter().flat_map(|block| LIMB_BITS.map(|limb_bits| ecdsa_signature(block, limb_bits))));
    all
}

fn call(kind: &str, block: &Block<'_>, limb_bits: u8) -> Option<(Request, Expected)> {
    let slow = limb_bits == 16 && !block.decimal("Id").is_multiple_of(6);
    let (request, expected) = match kind {
        "ecdh" => Some(ecdh(block, limb_bits)),
        "ecdsa" => Some(ecdsa_verification(block, limb_bits)),
        "ecdsa-sign" | "p-256" => Some(public_key(block, limb_bits)),
        "x25519" => Some(x25519(block, limb_bits)),
        "rsa-pkcs1" => Some(rsa_verification(block, limb_bits)),
        "rsa-pkcs1-sign" if !slow => Some(rsa_signature(block, limb_bits)),
        "rsa-pkcs1-decrypt" if !slow => Some(rsa_decryption(block, limb_bits)),
        _ => None,
    }?;
    let is_unfit = matches!(expected, Expected::Refused) && !fits(&request);
    Some((request, if is_unfit { Expected::Unfit } else { expected }))
}

/// A window for each vector, or the ladder.
fn choice(block: &Block<'_>) -> u8 {
    (block.decimal("Id") % 6) as u8
}

/// x and y of an uncompressed point; another kind of point is left as it is, which no operation takes.
fn point(bytes: Vec<u8>) -> Vec<u8> {
    match bytes.split_first() {
        Some((4, point)) if point.len() == 64 => point.to_vec(),
        _ => bytes,
    }
}

fn curve(operation: &'static str, block: &Block<'_>, limb_bits: u8, operands: &[Vec<u8>]) -> Request {
    Request { choice: choice(block), operands: operands.to_vec(), ..Request::new(operation, limb_bits) }
}

fn ecdh(block: &Block<'_>, limb_bits: u8) -> (Request, Expected) {
    let operands = [block.bytes("Secret"), point(block.bytes("Public"))];
    let expected = match (block.text("Shared"), block.fails()) {
        (Some(_), false) => Expected::Done(block.bytes("Shared")),
        (Some(_), true) => Expected::Not(block.bytes("Shared")),
        (None, _) => Expected::Refused,
    };
    (curve("ecdh_p256_agree", block, limb_bits, &operands), expected)
}

/// Most nonces are not published: what signs is the key, whose public half must come out.
fn public_key(block: &Block<'_>, limb_bits: u8) -> (Request, Expected) {
    let expected = Expected::Done(point(block.bytes("Public")));
    (curve("ecdh_p256_public", block, limb_bits, &[block.bytes("Secret")]), expected)
}

fn digest(block: &Block<'_>) -> Vec<u8> {
    if block.text("Digest").is_some() {
        return block.bytes("Digest");
    }
    let message = block.bytes("Msg");
    match block.text("Hash") {
        Some("224") => Sha224::digest(message).to_vec(),
        Some("256") => Sha256::digest(message).to_vec(),
        Some("384") => Sha384::digest(message).to_vec(),
        Some("512") => Sha512::digest(message).to_vec(),
        hash => panic!("a vector has the hash {hash:?}"),
    }
}

/// The 32 leftmost bytes of a digest, or a shorter one as a number.
fn leftmost(digest: &[u8]) -> Vec<u8> {
    let used = digest.len().min(32);
    [&vec![0; 32 - used], &digest[..used]].concat()
}

fn ecdsa_verification(block: &Block<'_>, limb_bits: u8) -> (Request, Expected) {
    let operands = [point(block.bytes("Public")), leftmost(&digest(block)), block.bytes("Sig")];
    let expected = if block.fails() { Expected::Refused } else { Expected::Done(vec![1]) };
    (curve("ecdsa_p256_verify", block, limb_bits, &operands), expected)
}

fn ecdsa_signature(block: &Block<'_>, limb_bits: u8) -> (Request, Expected) {
    let operands = [block.bytes("Secret"), digest(block), block.bytes("Nonce")];
    (curve("ecdsa_p256_sign", block, limb_bits, &operands), Expected::Done(block.bytes("Sig")))
}

fn x25519(block: &Block<'_>, limb_bits: u8) -> (Request, Expected) {
    let operands = [block.bytes("Secret"), block.bytes("Public")];
    let expected = if block.fails() { Expected::Refused } else { Expected::Done(block.bytes("Shared")) };
    (Request { choice: 0, ..curve("x25519", block, limb_bits, &operands) }, expected)
}

/// What `enum rsa_digest` calls the hash.
fn digest_kind(block: &Block<'_>) -> u8 {
    let kind = ["1", "256", "384", "512"].iter().position(|hash| block.text("Hash") == Some(hash));
    kind.expect("a hash that signatures are made with") as u8 + 1
}

fn rsa(operation: &'static str, block: &Block<'_>, limb_bits: u8, operands: Vec<Vec<u8>>) -> Request {
    let window_bits = 1 + (block.decimal("Id") % 5) as u8;
    let multiplication = (block.decimal("Id") % usize::from(multiplications())) as u8;
    let candidate = Candidate { window_bits, multiplication, ..Candidate::shipped() };
    Request { candidate, operands, ..Request::new(operation, limb_bits) }
}

fn rsa_verification(block: &Block<'_>, limb_bits: u8) -> (Request, Expected) {
    let [n, e] = <[_; 2]>::try_from(der::integers(&block.bytes("Public"))).expect("n and e");
    let e = [vec![0; 4 - e.len()], e].concat().into_iter().rev().collect();
    let operands = vec![n, e, digest(block), block.bytes("Sig")];
    let expected = if block.fails() { Expected::Refused } else { Expected::Done(vec![1]) };
    (Request { choice: digest_kind(block), ..rsa("rsa_verify", block, limb_bits, operands) }, expected)
}

/// n, d, p, q, d_p, d_q and one operand more.
fn private(block: &Block<'_>, more: Vec<u8>) -> Vec<Vec<u8>> {
    let numbers = der::private_key(&block.bytes("Secret"));
    [1, 3, 4, 5, 6, 7].map(|place| numbers[place].clone()).into_iter().chain([more]).collect()
}

fn rsa_signature(block: &Block<'_>, limb_bits: u8) -> (Request, Expected) {
    let request = rsa("rsa_sign", block, limb_bits, private(block, digest(block)));
    (Request { choice: digest_kind(block), ..request }, Expected::Done(block.bytes("Sig")))
}

/// What implicit rejection answers is for whoever answers wrong padding with it: here it is refused.
fn rsa_decryption(block: &Block<'_>, limb_bits: u8) -> (Request, Expected) {
    let rejections = blocks(include_str!("../../vectors/rsa_implicit_rejection.kat"));
    let place =
        |block: &Block<'_>, count: &str| (block.text("Bits").map(str::to_owned), block.decimal(count));
    let rejected = rejections.iter().any(|rejection| place(rejection, "Count") == place(block, "Id"));
    let request = rsa("rsa_decrypt", block, limb_bits, private(block, block.bytes("CT")));
    let refused = block.fails() || rejected;
    (request, if refused { Expected::Refused } else { Expected::Done(block.bytes("PT")) })
}
