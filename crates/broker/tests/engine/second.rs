//! The engine's answers against another library's, where official vectors are thin.
//!
//! What the engine has of AWS-LC is compared with ring and RustCrypto, what it has of RustCrypto with AWS-LC.

use aes_gcm::aead::{Aead, KeyInit, Payload};
use broker::engine::keys::{Algorithm, Grant, Grantee, Template, Usages};
use broker::wire::{KeyHandle, Operation, Status};
use hmac::Mac;
use proptest::prelude::*;
use ring::signature::{self, UnparsedPublicKey};

use crate::asking::{Asking, rsa};

const CRYPTS: Usages = Usages::ENCRYPT.and(Usages::DECRYPT);
const SEALS: Usages = Usages::SEAL.and(Usages::OPEN);

/// AWS-LC's AES in the modes that are numbered 1, 2 and 4.
fn aws_lc(mode: u8, key: &[u8], iv: [u8; 16], plaintext: &[u8]) -> Vec<u8> {
    use aws_lc_rs::cipher::*;
    use aws_lc_rs::iv::FixedLength;
    let algorithm = match key.len() {
        16 => &AES_128,
        24 => &AES_192,
        _ => &AES_256,
    };
    let unbound = UnboundCipherKey::new(algorithm, key).unwrap();
    let (key, context) = match mode {
        1 => (EncryptingKey::ecb(unbound).unwrap(), EncryptionContext::None),
        2 => (EncryptingKey::cbc(unbound).unwrap(), EncryptionContext::Iv128(FixedLength::from(iv))),
        _ => (EncryptingKey::ctr(unbound).unwrap(), EncryptionContext::Iv128(FixedLength::from(iv))),
    };
    let mut bytes = plaintext.to_vec();
    key.less_safe_encrypt(&mut bytes, context).unwrap();
    bytes
}

fn hash_with_rust_crypto(hash: u8, message: &[u8]) -> Vec<u8> {
    use sha2::Digest;
    match hash {
        1 => sha2::Sha224::digest(message).to_vec(),
        2 => sha2::Sha256::digest(message).to_vec(),
        3 => sha2::Sha384::digest(message).to_vec(),
        _ => sha2::Sha512::digest(message).to_vec(),
    }
}

proptest! {
    #[test]
    fn modes_are_as_in_another_library(
        key in prop::sample::select(vec![16usize, 24, 32]), byte: u8, iv: [u8; 16],
        message in prop::collection::vec(any::<u8>(), 0..2000),
    ) {
        let mut asking = Asking::new();
        let secret: Vec<u8> = (0..key as u8).map(|index| index.wrapping_mul(7) ^ byte).collect();
        let algorithm = [Algorithm::Aes128, Algorithm::Aes192, Algorithm::Aes256][key / 8 - 2];
        let key = asking.import(&Template::new(algorithm, CRYPTS), &secret).unwrap();
        for mode in [1u8, 2, 4] {
            let message = if mode == 4 { &message[..] } else { &message[..message.len() / 16 * 16] };
            let with_iv: &[u8] = if mode == 1 { &[] } else { &iv };
            let parameters = [&[mode, 0, 0, 0], with_iv].concat();
            let encrypted = asking.ask(Operation::Encrypt, key, &parameters, message);
            prop_assert_eq!(encrypted, Ok(aws_lc(mode, &secret, iv, message)), "mode {}", mode);
        }
    }

    #[test]
    fn digests_and_macs_are_as_in_another_library(
        secret in prop::collection::vec(any::<u8>(), 1..200), message in prop::collection::vec(any::<u8>(), 0..2000),
    ) {
        let mut asking = Asking::new();
        let template = Template { secret_bytes: secret.len() as u16, ..Template::new(Algorithm::Hmac, Usages::MAC) };
        let key = asking.import(&template, &secret).unwrap();
        for hash in 1..=4 {
            let digest = asking.ask(Operation::Hash, KeyHandle::NONE, &[hash], &message);
            prop_assert_eq!(digest, Ok(hash_with_rust_crypto(hash, &message)));
        }
        let mut mac = hmac::Hmac::<sha2::Sha384>::new_from_slice(&secret).unwrap();
        mac.update(&message);
        prop_assert_eq!(asking.ask(Operation::Mac, key, &[3], &message), Ok(mac.finalize().into_bytes().to_vec()));
        let aes: Vec<u8> = secret.iter().cycle().take(24).copied().collect();
        let key = asking.import(&Template::new(Algorithm::Aes192, Usages::MAC), &aes).unwrap();
        let mut mac = <cmac::Cmac<aes::Aes192> as cmac::KeyInit>::new_from_slice(&aes).unwrap();
        mac.update(&message);
        prop_assert_eq!(asking.ask(Operation::Mac, key, &[0], &message), Ok(mac.finalize().into_bytes().to_vec()));
    }

    /// The form that `aead` draws, taken apart with other libraries.
    #[test]
    fn what_the_device_seals_another_library_opens(
        secret: [u8; 32], message in prop::collection::vec(any::<u8>(), 0..300), associated_data: [u8; 9],
    ) {
        let mut asking = Asking::new();
        let key = asking.import(&Template::new(Algorithm::Aes256, SEALS), &secret).unwrap();
        let parameters = [&[1, 16, 0, 0], &associated_data[..]].concat();
        let sealed = asking.ask(Operation::Seal, key, &parameters, &message).unwrap();
        let (salt, rest) = sealed.split_at(32);
        let (nonce, sealed) = rest.split_at(12);
        let mut subkey = [0; 32];
        hkdf::Hkdf::<sha2::Sha256>::new(Some(salt), &secret).expand(b"selvedge seal\x01", &mut subkey).unwrap();
        let gcm = aes_gcm::Aes256Gcm::new(&subkey.into());
        let payload = Payload { msg: sealed, aad: &associated_data };
        let opened = gcm.decrypt(nonce.try_into().unwrap(), payload);
        prop_assert_eq!(opened.unwrap(), message);
    }

    #[test]
    fn keys_are_wrapped_as_in_another_library(
        wrapping: [u8; 32], secret in prop::collection::vec(any::<u8>(), 1..200),
    ) {
        use aws_lc_rs::key_wrap::{AES_256, AesKek, KeyWrapPadded};
        let mut asking = Asking::new();
        let template = Template {
            name: b"wrapping".to_vec(),
            access: vec![Grant { grantee: Grantee::Everyone, usages: Usages::WRAP }],
            ..Template::new(Algorithm::Aes256, Usages::WRAP)
        };
        let kek = asking.engine.provide(template, &wrapping).unwrap();
        let template = Template {
            secret_bytes: secret.len() as u16,
            ..Template::new(Algorithm::Hmac, Usages::MAC.and(Usages::WRAPPABLE))
        };
        let key = asking.import(&template, &secret).unwrap();
        let wrapped = asking.ask(Operation::KeyWrap, kek, &key.0.to_le_bytes(), &[]).unwrap();
        let mut unwrapped = vec![0; wrapped.len()];
        let other = AesKek::new(&AES_256, &wrapping).unwrap();
        prop_assert_eq!(&*other.unwrap_with_padding(&wrapped, &mut unwrapped).unwrap(), &secret[..]);
    }
}

/// The engine's scheme and hash, and what the other library calls them.
type Scheme = (u8, u8, &'static dyn signature::VerificationAlgorithm);

/// Signatures of keys that the device made, of messages and of digests, with every hash.
#[test]
fn another_library_checks_what_the_device_signs() {
    let mut asking = Asking::new();
    let message = b"to be signed";
    let rsa: [Scheme; 6] = [
        (3, 2, &signature::RSA_PKCS1_2048_8192_SHA256),
        (3, 3, &signature::RSA_PKCS1_2048_8192_SHA384),
        (3, 4, &signature::RSA_PKCS1_2048_8192_SHA512),
        (4, 2, &signature::RSA_PSS_2048_8192_SHA256),
        (4, 3, &signature::RSA_PSS_2048_8192_SHA384),
        (4, 4, &signature::RSA_PSS_2048_8192_SHA512),
    ];
    let all: [(Algorithm, &[Scheme]); 4] = [
        (Algorithm::Rsa2048, &rsa),
        (Algorithm::Rsa3072, &rsa),
        (Algorithm::P256, &[(1, 2, &signature::ECDSA_P256_SHA256_FIXED)]),
        (Algorithm::Ed25519, &[(2, 0, &signature::ED25519)]),
    ];
    for (algorithm, schemes) in all {
        let key = asking.generate(&Template::new(algorithm, Usages::SIGN.and(Usages::VERIFY))).unwrap();
        let public = asking.ask(Operation::KeyPublic, key, &[], &[]).unwrap();
        for (scheme, hash, verification) in schemes {
            let forms = [(0, message.to_vec()), (1, hash_with_rust_crypto(*hash, message))];
            for (form, payload) in forms.into_iter().take(if *hash == 0 { 1 } else { 2 }) {
                let parameters = [*scheme, *hash, form, 0];
                let signature = asking.ask(Operation::Sign, key, &parameters, &payload).unwrap();
                let checked = UnparsedPublicKey::new(*verification, &public).verify(message, &signature);
                assert!(checked.is_ok(), "{algorithm:?} {parameters:?}");
                let verify = [&parameters[..], &signature].concat();
                assert_eq!(asking.ask(Operation::Verify, key, &verify, &payload), Ok(vec![]));
            }
        }
    }
}

/// PKCS#1 v1.5 signatures have no randomness, so two libraries make the same.
#[test]
fn another_library_makes_the_same_rsa_signature() {
    let mut asking = Asking::new();
    for (algorithm, bits) in [(Algorithm::Rsa2048, "2048"), (Algorithm::Rsa3072, "3072")] {
        let pkcs8 = rsa(bits);
        let key = asking.import(&Template::new(algorithm, Usages::SIGN), &pkcs8).unwrap();
        let pair = signature::RsaKeyPair::from_pkcs8(&pkcs8).unwrap();
        let encodings: [(u8, &dyn signature::RsaEncoding); 3] = [
            (2, &signature::RSA_PKCS1_SHA256),
            (3, &signature::RSA_PKCS1_SHA384),
            (4, &signature::RSA_PKCS1_SHA512),
        ];
        for (hash, encoding) in encodings {
            let mut expected = vec![0; pair.public().modulus_len()];
            pair.sign(encoding, &ring::rand::SystemRandom::new(), b"message", &mut expected).unwrap();
            assert_eq!(asking.ask(Operation::Sign, key, &[3, hash, 0, 0], b"message"), Ok(expected));
        }
    }
}

/// Of SHA-1 the device signs a digest that it is given, with PKCS#1 v1.5, checks that, and has nothing else.
#[test]
fn a_sha_1_digest_is_signed_and_sha_1_is_refused_wherever_else() {
    let mut asking = Asking::new();
    let message = b"to be signed";
    let digest = ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, message);
    let signs = Usages::SIGN.and(Usages::VERIFY);
    for algorithm in [Algorithm::Rsa2048, Algorithm::Rsa3072] {
        let key = asking.generate(&Template::new(algorithm, signs)).unwrap();
        let public = asking.ask(Operation::KeyPublic, key, &[], &[]).unwrap();
        let signature = asking.ask(Operation::Sign, key, &[3, 0, 1, 0], digest.as_ref()).unwrap();
        let theirs = &signature::RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY;
        UnparsedPublicKey::new(theirs, &public).verify(message, &signature).expect("another library agrees");
        let verify = [&[3, 0, 1, 0], &signature[..]].concat();
        assert_eq!(asking.ask(Operation::Verify, key, &verify, digest.as_ref()), Ok(vec![]));
        assert_eq!(asking.ask(Operation::Verify, key, &verify, &[0; 20]), Err(Status::Rejected));
        let refused = Err(Status::WrongParameters);
        let of_message = [&[3, 0, 0, 0], &signature[..]].concat();
        assert_eq!(asking.ask(Operation::Verify, key, &of_message, message), refused);
        assert_eq!(asking.ask(Operation::Sign, key, &[3, 0, 0, 0], message), refused);
        assert_eq!(asking.ask(Operation::Sign, key, &[4, 0, 1, 0], digest.as_ref()), refused);
        for length in [0, 19] {
            assert_eq!(asking.ask(Operation::Sign, key, &[3, 0, 1, 0], &digest.as_ref()[..length]), refused);
        }
        let longer = [digest.as_ref(), &[0]].concat();
        assert_eq!(asking.ask(Operation::Sign, key, &[3, 0, 1, 0], &longer), refused);
        assert_eq!(asking.ask(Operation::Hash, KeyHandle::NONE, &[0], message), refused);
    }
    let curve = asking.generate(&Template::new(Algorithm::P256, signs)).unwrap();
    for scheme in [1, 3] {
        let signed = asking.ask(Operation::Sign, curve, &[scheme, 0, 1, 0], digest.as_ref());
        assert_eq!(signed, Err(Status::WrongParameters));
    }
    let mac = asking
        .generate(&Template { secret_bytes: 20, ..Template::new(Algorithm::Hmac, Usages::MAC) })
        .unwrap();
    assert_eq!(asking.ask(Operation::Mac, mac, &[0], message), Err(Status::WrongParameters));
}

/// Two keys of the device agree with each other, and with a key of another library.
#[test]
fn another_library_agrees_with_the_device() {
    use ring::agreement::{ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey, X25519, agree_ephemeral};
    let mut asking = Asking::new();
    for (algorithm, other) in [(Algorithm::P256, &ECDH_P256), (Algorithm::X25519, &X25519)] {
        let usages = Usages::AGREE.and(Usages::DERIVE);
        let [one, two] = [(); 2].map(|()| asking.generate(&Template::new(algorithm, usages)).unwrap());
        let [public_one, public_two] =
            [one, two].map(|key| asking.ask(Operation::KeyPublic, key, &[], &[]).unwrap());
        let shared = asking.ask(Operation::Agree, one, &[], &public_two).unwrap();
        assert_eq!(asking.ask(Operation::Agree, two, &[], &public_one), Ok(shared.clone()));
        let foreign = EphemeralPrivateKey::generate(other, &ring::rand::SystemRandom::new()).unwrap();
        let public = foreign.compute_public_key().unwrap();
        let expected = agree_ephemeral(foreign, &UnparsedPublicKey::new(other, &public_one), <[u8]>::to_vec);
        assert_eq!(asking.ask(Operation::Agree, one, &[], public.as_ref()), Ok(expected.unwrap()));
        // Kept in the device, it derives what HKDF of the told secret does.
        let hidden = Template::new(Algorithm::Hkdf, Usages::DERIVE).to_bytes();
        let hidden = asking.make(Operation::Agree, one, &hidden, &public_two).unwrap();
        let told = asking.import(&Template::new(Algorithm::Hkdf, Usages::DERIVE), &shared).unwrap();
        let macs = [hidden, told].map(|base| {
            let derived = Template::new(Algorithm::Hmac, Usages::MAC).to_bytes();
            let parameters = [&[2, 0, 0, 0], &derived[..], b"salt"].concat();
            let derived = asking.make(Operation::Derive, base, &parameters, b"info").unwrap();
            asking.ask(Operation::Mac, derived, &[2], b"message").unwrap()
        });
        assert_eq!(macs[0], macs[1]);
    }
}
