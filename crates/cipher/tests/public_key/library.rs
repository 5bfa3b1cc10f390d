//! Random keys of curves: what AWS-LC makes of them, and calls in which they are the secret.

use aws_lc_rs::agreement::{self, PrivateKey, UnparsedPublicKey};
use aws_lc_rs::signature::{self, EcdsaKeyPair, KeyPair};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::Rng;
use sha2::{Digest, Sha256};

use crate::LIMB_BITS;
use crate::program::Program;
use crate::request::{Request, done};
use crate::seeded::random_bytes;

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
