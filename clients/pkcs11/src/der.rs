//! The few forms of DER (X.690) that PKCS#11 wants: object identifiers, points, RSA keys, digests.

use broker::client::call::Secret;
use broker::parameters::{Hash, Scheme};

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const OCTETS: u8 = 0x04;

/// prime256v1, RFC 5480 section 2.1.1.1.
pub const P256: &[u8] = &[0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
/// id-Ed25519, RFC 8410 section 3, and the name that PKCS#11 2.40 errata has for it.
pub const ED25519: [&[u8]; 2] = [&[0x06, 0x03, 0x2b, 0x65, 0x70], b"\x13\x0cedwards25519"];
/// rsaEncryption and NULL, RFC 8017 appendix C.
const RSA: &[u8] =
    &[0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00];

/// What comes before a digest in a `DigestInfo`, RFC 8017 section 9.2.
const fn digest_prefix(hash: Hash) -> [u8; 19] {
    let (length, number) = match hash {
        Hash::Sha224 => (28, 4),
        Hash::Sha256 => (32, 1),
        Hash::Sha384 => (48, 2),
        Hash::Sha512 => (64, 3),
    };
    [
        0x30,
        17 + length,
        0x30,
        0x0d,
        0x06,
        0x09,
        0x60,
        0x86,
        0x48,
        0x01,
        0x65,
        0x03,
        0x04,
        0x02,
        number,
        0x05,
        0x00,
        0x04,
        length,
    ]
}

/// The same before a SHA-1 digest.
const SHA_1: [u8; 15] = *b"\x30\x21\x30\x09\x06\x05\x2b\x0e\x03\x02\x1a\x05\x00\x04\x14";

/// How a `DigestInfo` is signed, and its digest.
pub fn digest_info(bytes: &[u8]) -> Option<(Scheme, &[u8])> {
    if let Some(digest) = bytes.strip_prefix(&SHA_1) {
        return (digest.len() == 20).then_some((Scheme::RsaPkcs1Sha1, digest));
    }
    Hash::ALL.into_iter().find_map(|hash| {
        let digest = bytes.strip_prefix(&digest_prefix(hash))?;
        (digest.len() == hash.digest_bytes()).then_some((Scheme::RsaPkcs1(hash), digest))
    })
}

/// An element with this tag.
fn element(tag: u8, parts: &[&[u8]]) -> Secret {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let mut bytes = Secret::new(Vec::with_capacity(length + 6));
    bytes.push(tag);
    match length {
        0..0x80 => bytes.push(length as u8),
        0x80..0x100 => bytes.extend([0x81, length as u8]),
        _ => bytes.extend([0x82, (length >> 8) as u8, length as u8]),
    }
    parts.iter().for_each(|part| bytes.extend_from_slice(part));
    bytes
}

/// An octet string.
pub fn octets(bytes: &[u8]) -> Vec<u8> {
    element(OCTETS, &[bytes]).to_vec()
}

/// An unsigned integer, most significant byte first.
fn integer(bytes: &[u8]) -> Secret {
    let start = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len());
    let bytes = &bytes[start..];
    let sign: &[u8] = if bytes.first().is_none_or(|byte| *byte >= 0x80) { &[0] } else { &[] };
    element(INTEGER, &[sign, bytes])
}

/// The element at the start, and what follows.
fn take(tag: u8, bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let ([found, first], rest) = bytes.split_first_chunk::<2>()?;
    let (length, rest) = match *first {
        ..=0x7f => (usize::from(*first), rest),
        0x81 => (usize::from(*rest.first()?), &rest[1..]),
        0x82 => (usize::from(u16::from_be_bytes(*rest.first_chunk::<2>()?)), &rest[2..]),
        _ => return None,
    };
    if *found == tag { rest.split_at_checked(length) } else { None }
}

/// A public key on a curve, which callers give in an octet string or as it is. A point begins with that string's tag, so
/// the length decides.
pub fn point(bytes: &[u8]) -> &[u8] {
    match (bytes.len(), take(OCTETS, bytes)) {
        (32 | 65, _) => bytes,
        (_, Some((inside, []))) => inside,
        _ => bytes,
    }
}

/// An `RSAPublicKey` of these numbers.
pub fn rsa_public(modulus: &[u8], exponent: &[u8]) -> Vec<u8> {
    element(SEQUENCE, &[&integer(modulus), &integer(exponent)]).to_vec()
}

/// Modulus and exponent of an `RSAPublicKey`, without leading zeros.
pub fn rsa_numbers(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (inside, _) = take(SEQUENCE, bytes)?;
    let (modulus, rest) = take(INTEGER, inside)?;
    let (exponent, _) = take(INTEGER, rest)?;
    Some((modulus.strip_prefix(&[0]).unwrap_or(modulus), exponent.strip_prefix(&[0]).unwrap_or(exponent)))
}

/// A `PrivateKeyInfo` of an RSA key's eight numbers, in the order of RFC 8017 appendix A.1.2.
pub fn rsa_private(numbers: [&[u8]; 8]) -> Secret {
    let numbers = numbers.map(integer);
    let mut parts: Vec<&[u8]> = vec![&[INTEGER, 1, 0]];
    parts.extend(numbers.iter().map(|number| &number[..]));
    let key = element(OCTETS, &[&element(SEQUENCE, &parts)]);
    element(SEQUENCE, &[&[INTEGER, 1, 0], RSA, &key])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_rubbish_does_not() {
        let modulus: Vec<u8> = (0..=255).rev().collect();
        let public = rsa_public(&[&[0], &modulus[..]].concat(), &[1, 0, 1]);
        assert_eq!(rsa_numbers(&public), Some((&modulus[..], &[1, 0, 1][..])));
        for length in 0..public.len() {
            assert_eq!(rsa_numbers(&public[..length]), None);
        }
        // As it is, this one is also an octet string of 63 bytes.
        let bare = [&[4, 63][..], &[7; 63]].concat();
        assert_eq!(point(&bare), bare);
        assert_eq!(point(&octets(&bare)), bare);
        assert_eq!(point(&octets(&[7; 32])), [7; 32]);
        assert_eq!(point(&[4, 65, 1]), [4, 65, 1]);
        let info = [&digest_prefix(Hash::Sha384)[..], &[9; 48]].concat();
        assert_eq!(digest_info(&info), Some((Scheme::RsaPkcs1(Hash::Sha384), &[9; 48][..])));
        assert_eq!(digest_info(&info[..66]), None);
        let info = [&SHA_1[..], &[9; 20]].concat();
        assert_eq!(digest_info(&info), Some((Scheme::RsaPkcs1Sha1, &[9; 20][..])));
        assert_eq!(digest_info(&info[..34]), None);
    }
}
