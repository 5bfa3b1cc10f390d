//! The official vectors of RSA, P-256 and X25519 as requests in both radices, and random keys against AWS-LC.

use std::collections::BTreeSet;

use aws_lc_rs::agreement::{self, PrivateKey, UnparsedPublicKey};
use aws_lc_rs::signature::{self, EcdsaKeyPair, KeyPair};
use cipher::vectors::{self, Block, blocks};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::Rng;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

use crate::LIMB_BITS;
use crate::der;
use crate::program::Program;
use crate::request::{Candidate, Request, Response, done};
use crate::seeded::random_bytes;

/// What should come of a request.
#[derive(Debug)]
pub enum Expected {
    /// This.
    Done(Vec<u8>),
    /// Anything else than this.
    Not(Vec<u8>),
    /// A refusal, whoever makes it.
    Refused,
}

impl Expected {
    pub fn is_met_by(&self, response: &Response) -> bool {
        match self {
            Expected::Done(bytes) => response.status == 0 && response.operands == [&bytes[..]],
            Expected::Not(bytes) => response.status != 0 || response.operands != [&bytes[..]],
            Expected::Refused => response.status != 0,
        }
    }
}

/// Every vector that our operations take. Private operations of RSA take a while in limbs of 16 bits: one in six.
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
    all
}

fn call(kind: &str, block: &Block<'_>, limb_bits: u8) -> Option<(Request, Expected)> {
    let slow = limb_bits == 16 && block.decimal("Id") % 6 != 0;
    match kind {
        "ecdh" => Some(ecdh(block, limb_bits)),
        "ecdsa" => Some(ecdsa_verification(block, limb_bits)),
        "ecdsa-sign" | "p-256" => Some(public_key(block, limb_bits)),
        "x25519" => Some(x25519(block, limb_bits)),
        "rsa-pkcs1" => Some(rsa_verification(block, limb_bits)),
        "rsa-pkcs1-sign" if !slow => Some(rsa_signature(block, limb_bits)),
        "rsa-pkcs1-decrypt" if !slow => Some(rsa_decryption(block, limb_bits)),
        _ => None,
    }
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

/// The nonces are not published: what signs is the key, whose public half must come out.
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
    let multiplication = (block.decimal("Id") % 8) as u8;
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

/// A private key of P-256 that nobody refuses.
fn scalar(rng: &mut ChaCha20Rng) -> Vec<u8> {
    let mut scalar = random_bytes(rng, 32);
    scalar[0] = scalar[0] % 0xfe + 1;
    scalar
}

/// Random keys, both ways: AWS-LC finds the same public keys and secrets, and verifies what we sign.
pub fn against_a_library(program: &Program, rng: &mut ChaCha20Rng) {
    for round in 0..24 {
        let limb_bits = LIMB_BITS[round % 2];
        let choice = (round / 2 % 6) as u8;
        let ask = |operation, operands: &[&[u8]]| {
            let operands = operands.iter().map(|operand| operand.to_vec()).collect();
            let request = Request { choice, operands, ..Request::new(operation, limb_bits) };
            done(&program.run(&[request])[0]).remove(0)
        };
        let (ours, theirs, nonce) = (scalar(rng), scalar(rng), scalar(rng));
        let library = PrivateKey::from_private_key(&agreement::ECDH_P256, &theirs).expect("a private key");
        let their_public = library.compute_public_key().expect("a public key");
        assert_eq!(ask("ecdh_p256_public", &[&theirs]), their_public.as_ref()[1..]);
        let public = [&[4], &ask("ecdh_p256_public", &[&ours])[..]].concat();
        let peer = UnparsedPublicKey::new(&agreement::ECDH_P256, &public);
        let shared = agreement::agree(&library, peer, (), |shared| Ok(shared.to_vec())).expect("a secret");
        assert_eq!(ask("ecdh_p256_agree", &[&ours, &their_public.as_ref()[1..]]), shared);

        let message = random_bytes(rng, round);
        let signature = ask("ecdsa_p256_sign", &[&ours, &Sha256::digest(&message), &nonce]);
        let key = signature::UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, &public);
        key.verify(&message, &signature).expect("AWS-LC accepts our signature");
        let pair = EcdsaKeyPair::from_private_key_and_public_key(
            &signature::ECDSA_P256_SHA256_FIXED_SIGNING,
            &theirs,
            their_public.as_ref(),
        );
        let pair = pair.expect("a key pair");
        let random = aws_lc_rs::rand::SystemRandom::new();
        let signature = pair.sign(&random, &message).expect("a signature");
        let their_key = &pair.public_key().as_ref()[1..];
        let verified = ask("ecdsa_p256_verify", &[their_key, &Sha256::digest(&message), signature.as_ref()]);
        assert_eq!(verified, [1]);

        let (ours, theirs) = (random_bytes(rng, 32), random_bytes(rng, 32));
        let library = PrivateKey::from_private_key(&agreement::X25519, &theirs).expect("a private key");
        let their_public = library.compute_public_key().expect("a public key");
        let base = [&[9][..], &[0; 31]].concat();
        let x25519 = |scalar: &[u8], u: &[u8]| {
            let request =
                Request { operands: vec![scalar.to_vec(), u.to_vec()], ..Request::new("x25519", limb_bits) };
            done(&program.run(&[request])[0]).remove(0)
        };
        assert_eq!(x25519(&theirs, &base), their_public.as_ref());
        let public = x25519(&ours, &base);
        let peer = UnparsedPublicKey::new(&agreement::X25519, &public);
        let shared = agreement::agree(&library, peer, (), |shared| Ok(shared.to_vec())).expect("a secret");
        assert_eq!(x25519(&ours, their_public.as_ref()), shared);
    }
}

/// Operations of curves with a secret in them, one a choice.
pub fn secret_operations(rng: &mut ChaCha20Rng, limb_bits: u8) -> Vec<Request> {
    let mut requests = Vec::new();
    let base = [
        0x6b17_d1f2_e12c_4247_f8bc_e6e5_63a4_40f2_u128,
        0x7703_7d81_2deb_33a0_f4a1_3945_d898_c296,
        0x4fe3_42e2_fe1a_7f9b_8ee7_eb4a_7c0f_9e16,
        0x2bce_3357_6b31_5ece_cbb6_4068_37bf_51f5,
    ];
    let base: Vec<u8> = base.into_iter().flat_map(u128::to_be_bytes).collect();
    for choice in [0, 1, 4] {
        let digest = random_bytes(rng, 32);
        for (operation, operands) in [
            ("ecdh_p256_public", vec![scalar(rng)]),
            ("ecdh_p256_agree", vec![scalar(rng), base.clone()]),
            ("ecdsa_p256_sign", vec![scalar(rng), digest, scalar(rng)]),
        ] {
            requests.push(Request { choice, operands, ..Request::new(operation, limb_bits) });
        }
    }
    let mut u = random_bytes(rng, 32);
    u[31] = rng.next_u32() as u8;
    requests.push(Request { operands: vec![random_bytes(rng, 32), u], ..Request::new("x25519", limb_bits) });
    requests
}
