//! RSA with 2048 and 3072 bits (RFC 8017): signatures, OAEP, and the decryption of PKCS#1 v1.5.
//!
//! The parameters of `rsa-decrypt`:
//!
//! ```text
//! 0  1  padding   1 PKCS#1 v1.5, 2 OAEP
//! 1  1  hash      OAEP's, also for MGF1: a number of `Hash` except SHA-224, or 0 for SHA-1, which only here does no
//!                 harm and is what others take when nothing is said; PKCS#1 v1.5: 0
//! 2  2  zeros
//! 4  n  OAEP's label
//! ```
//!
//! A PKCS#1 v1.5 ciphertext with wrong padding must not be told from one with right padding, else whoever can have
//! ciphertexts tried decrypts any (Bleichenbacher, CRYPTO '98). So it is decrypted to a message that follows from the key
//! and the ciphertext and looks random: implicit rejection, draft-irtf-cfrg-rsa-guidance section 7, as OpenSSL 3.2 does
//! it. Refused are only numbers that everybody can tell: those not below the modulus, and 0, 1 and the modulus less 1,
//! whose powers are themselves. AWS-LC has everything else in its safe interface; what is missing there for this is `rsa_raw`'s.
//!
//! Invariant: no branch and no address in `unpad` depends on what was decrypted, except the message's length, which is
//! the answer.

use aws_lc_rs::digest::{Digest, SHA1_FOR_LEGACY_USE_ONLY};
use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::hmac;
use aws_lc_rs::rsa::{
    KeyPair, KeySize, OAEP_SHA1_MGF1SHA1, OAEP_SHA256_MGF1SHA256, OAEP_SHA384_MGF1SHA384,
    OAEP_SHA512_MGF1SHA512, OaepAlgorithm, OaepPrivateDecryptingKey, PrivateDecryptingKey,
};
use aws_lc_rs::signature::{
    KeyPair as _, RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384,
    RSA_PKCS1_SHA512, RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512,
    RSA_PSS_SHA256, RSA_PSS_SHA384, RSA_PSS_SHA512, RsaEncoding, RsaParameters, UnparsedPublicKey,
};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq, ConstantTimeGreater, ConstantTimeLess};

use super::digest::Hash;
use super::keys::Algorithm;
use super::material::Secret;
use super::rsa_raw::RawKey;
use crate::wire::Status;

/// How a signature is padded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// PKCS#1 v1.5.
    Pkcs1,
    /// PSS, MGF1 with the same hash, a salt as long as the digest.
    Pss,
}

/// A private key.
pub struct Rsa {
    secret: Secret,
    signing: KeyPair,
    oaep: OaepPrivateDecryptingKey,
    raw: RawKey,
}

const fn bits(algorithm: Algorithm) -> usize {
    if matches!(algorithm, Algorithm::Rsa3072) { 3072 } else { 2048 }
}

/// Whether these bytes are an `RSAPublicKey` of the algorithm's length.
pub fn is_public_key(algorithm: Algorithm, bytes: &[u8]) -> bool {
    let found_bits = RsaParameters::public_modulus_len(bytes);
    found_bits.is_ok_and(|found_bits| found_bits as usize == bits(algorithm))
}

impl Rsa {
    /// A fresh key.
    ///
    /// # Errors
    /// [`Status::DeviceFault`].
    pub fn generate(algorithm: Algorithm) -> Result<Rsa, Status> {
        let size = if bits(algorithm) == 3072 { KeySize::Rsa3072 } else { KeySize::Rsa2048 };
        let key = KeyPair::generate(size).map_err(|_| Status::DeviceFault)?;
        let der: Pkcs8V1Der<'_> = key.as_der().map_err(|_| Status::DeviceFault)?;
        Rsa::import(algorithm, Secret::new(der.as_ref().to_vec()))
    }

    /// The key in PKCS#8.
    ///
    /// # Errors
    /// [`Status::WrongParameters`] when it is none, or not of the algorithm's length.
    pub fn import(algorithm: Algorithm, secret: Secret) -> Result<Rsa, Status> {
        const WRONG: Status = Status::WrongParameters;
        let decrypting = PrivateDecryptingKey::from_pkcs8(&secret).map_err(|_| WRONG)?;
        if decrypting.key_size_bits() != bits(algorithm) {
            return Err(WRONG);
        }
        Ok(Rsa {
            signing: KeyPair::from_pkcs8(&secret).map_err(|_| WRONG)?,
            oaep: OaepPrivateDecryptingKey::new(decrypting).map_err(|_| WRONG)?,
            raw: RawKey::from_pkcs8(&secret).ok_or(WRONG)?,
            secret,
        })
    }

    /// The key in PKCS#8.
    pub fn secret(&self) -> &[u8] {
        &self.secret
    }

    /// The `RSAPublicKey`.
    pub fn public(&self) -> &[u8] {
        self.signing.public_key().as_ref()
    }

    /// Appends the signature of a digest.
    ///
    /// # Errors
    /// [`Status::WrongParameters`] when there is no such signature.
    pub fn sign(&self, padding: Padding, hash: Hash, digest: &[u8], out: &mut Vec<u8>) -> Result<(), Status> {
        let encoding: &'static dyn RsaEncoding = match (padding, hash) {
            (_, Hash::Sha224) => return Err(Status::WrongParameters),
            (Padding::Pkcs1, Hash::Sha256) => &RSA_PKCS1_SHA256,
            (Padding::Pkcs1, Hash::Sha384) => &RSA_PKCS1_SHA384,
            (Padding::Pkcs1, Hash::Sha512) => &RSA_PKCS1_SHA512,
            (Padding::Pss, Hash::Sha256) => &RSA_PSS_SHA256,
            (Padding::Pss, Hash::Sha384) => &RSA_PSS_SHA384,
            (Padding::Pss, Hash::Sha512) => &RSA_PSS_SHA512,
        };
        let digest = Digest::import_less_safe(digest, hash.algorithm());
        let digest = digest.map_err(|_| Status::WrongParameters)?;
        let from = out.len();
        out.resize(from + self.signing.public_modulus_len(), 0);
        self.signing.sign_digest(encoding, &digest, &mut out[from..]).map_err(|_| Status::DeviceFault)
    }

    /// Appends the PKCS#1 v1.5 signature of a SHA-1 digest.
    ///
    /// # Errors
    /// [`Status::WrongParameters`] when it is none.
    pub fn sign_sha1(&self, digest: &[u8], out: &mut Vec<u8>) -> Result<(), Status> {
        let digest = digest.try_into().map_err(|_| Status::WrongParameters)?;
        out.extend(self.raw.sign_sha1(digest).ok_or(Status::DeviceFault)?);
        Ok(())
    }

    /// Appends the plaintext.
    ///
    /// # Errors
    /// [`Status::WrongParameters`], and [`Status::Rejected`] for OAEP or a ciphertext that everybody can tell is none.
    pub fn decrypt(&self, parameters: &[u8], ciphertext: &[u8], out: &mut Vec<u8>) -> Result<(), Status> {
        const WRONG: Status = Status::WrongParameters;
        let modulus_bytes = self.signing.public_modulus_len();
        let (&[padding, hash, 0, 0], label) = parameters.split_first_chunk::<4>().ok_or(WRONG)? else {
            return Err(WRONG);
        };
        if ciphertext.len() != modulus_bytes {
            return Err(WRONG);
        }
        match padding {
            1 if hash == 0 && label.is_empty() => self.decrypt_pkcs1(ciphertext, out),
            2 => {
                let oaep: &'static OaepAlgorithm = match hash {
                    0 => &OAEP_SHA1_MGF1SHA1,
                    number => match Hash::from_number(number)? {
                        Hash::Sha224 => return Err(WRONG),
                        Hash::Sha256 => &OAEP_SHA256_MGF1SHA256,
                        Hash::Sha384 => &OAEP_SHA384_MGF1SHA384,
                        Hash::Sha512 => &OAEP_SHA512_MGF1SHA512,
                    },
                };
                let mut room = Secret::new(vec![0; modulus_bytes]);
                let label = (!label.is_empty()).then_some(label);
                let plaintext = self.oaep.decrypt(oaep, ciphertext, &mut room, label);
                out.extend_from_slice(plaintext.map_err(|_| Status::Rejected)?);
                Ok(())
            }
            _ => Err(WRONG),
        }
    }

    fn decrypt_pkcs1(&self, ciphertext: &[u8], out: &mut Vec<u8>) -> Result<(), Status> {
        let encoded = self.raw.decrypt(ciphertext).ok_or(Status::Rejected)?;
        let exponent = self.raw.exponent(ciphertext.len()).ok_or(Status::DeviceFault)?;
        let exponent_digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &exponent);
        let kdk = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, exponent_digest.as_ref()), ciphertext);
        let kdk = hmac::Key::new(hmac::HMAC_SHA256, kdk.as_ref());
        let synthetic = prf(&kdk, b"message", ciphertext.len());
        let lengths = prf(&kdk, b"length", 2 * LENGTH_CANDIDATES);
        unpad(&encoded, &synthetic, &lengths, out);
        Ok(())
    }
}

/// How many lengths of the synthetic message are tried; the chance that none fits is below 2^-128 for these moduli.
const LENGTH_CANDIDATES: usize = 128;
/// 00, 02 and at least eight bytes of padding come before the separator.
const PADDING_BYTES_MIN: usize = 10;

/// The draft's pseudorandom function: `count_bytes` of HMAC-SHA-256 over counter, label and number of bits.
fn prf(kdk: &hmac::Key, label: &[u8], count_bytes: usize) -> Secret {
    let mut bytes = Secret::new(Vec::with_capacity(count_bytes + 32));
    let count_bits = u16::try_from(8 * count_bytes).expect("a modulus has at most 3072 bits");
    for counter in 0u16.. {
        if bytes.len() >= count_bytes {
            break;
        }
        let mut run = hmac::Context::with_key(kdk);
        run.update(&counter.to_be_bytes());
        run.update(label);
        run.update(&count_bits.to_be_bytes());
        bytes.extend_from_slice(run.sign().as_ref());
    }
    bytes.truncate(count_bytes);
    bytes
}

/// Appends the message in `encoded`, or, if that is not padded right, the end of `synthetic` whose length is the last of
/// `lengths` that is possible.
fn unpad(encoded: &[u8], synthetic: &[u8], lengths: &[u8], out: &mut Vec<u8>) {
    let modulus_bytes = encoded.len() as u16;
    let length_max = modulus_bytes - PADDING_BYTES_MIN as u16;
    let mask = length_max.next_power_of_two() - 1;
    let mut synthetic_length = 0u16;
    for pair in lengths.chunks_exact(2) {
        let length = u16::from_be_bytes([pair[0], pair[1]]) & mask;
        synthetic_length.conditional_assign(&length, length.ct_lt(&length_max));
    }
    let mut good = encoded[0].ct_eq(&0) & encoded[1].ct_eq(&2);
    let mut separator = 0u16;
    let mut found = Choice::from(0);
    for (index, byte) in (0u16..).zip(encoded).skip(2) {
        let is_first_zero = byte.ct_eq(&0) & !found;
        separator.conditional_assign(&index, is_first_zero);
        found |= is_first_zero;
    }
    good &= found & separator.ct_gt(&(PADDING_BYTES_MIN as u16 - 1));
    let start = u16::conditional_select(&(modulus_bytes - synthetic_length), &(separator + 1), good);
    for (index, (real, other)) in (0u16..).zip(encoded.iter().zip(synthetic)) {
        // The branch tells the length, which the answer tells too.
        if index >= start {
            out.push(u8::conditional_select(other, real, good));
        }
    }
}

/// Checks a signature of a digest.
///
/// # Errors
/// [`Status::WrongParameters`] when there is no such signature, [`Status::Rejected`].
pub fn verify(
    public: &[u8],
    padding: Padding,
    hash: Hash,
    digest: &[u8],
    signature: &[u8],
) -> Result<(), Status> {
    let parameters: &'static RsaParameters = match (padding, hash) {
        (_, Hash::Sha224) => return Err(Status::WrongParameters),
        (Padding::Pkcs1, Hash::Sha256) => &RSA_PKCS1_2048_8192_SHA256,
        (Padding::Pkcs1, Hash::Sha384) => &RSA_PKCS1_2048_8192_SHA384,
        (Padding::Pkcs1, Hash::Sha512) => &RSA_PKCS1_2048_8192_SHA512,
        (Padding::Pss, Hash::Sha256) => &RSA_PSS_2048_8192_SHA256,
        (Padding::Pss, Hash::Sha384) => &RSA_PSS_2048_8192_SHA384,
        (Padding::Pss, Hash::Sha512) => &RSA_PSS_2048_8192_SHA512,
    };
    let digest = Digest::import_less_safe(digest, hash.algorithm()).map_err(|_| Status::WrongParameters)?;
    UnparsedPublicKey::new(parameters, public).verify_digest(&digest, signature).map_err(|_| Status::Rejected)
}

/// Checks a PKCS#1 v1.5 signature of a SHA-1 digest.
///
/// # Errors
/// As of [`verify`].
pub fn verify_sha1(public: &[u8], digest: &[u8], signature: &[u8]) -> Result<(), Status> {
    let digest = Digest::import_less_safe(digest, &SHA1_FOR_LEGACY_USE_ONLY);
    let digest = digest.map_err(|_| Status::WrongParameters)?;
    let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA1_FOR_LEGACY_USE_ONLY, public);
    public.verify_digest(&digest, signature).map_err(|_| Status::Rejected)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpadded(encoded: &[u8], synthetic: &[u8], lengths: &[u8]) -> Vec<u8> {
        let mut out = b"before".to_vec();
        unpad(encoded, synthetic, lengths, &mut out);
        out.split_off(6)
    }

    #[test]
    fn a_message_is_found_behind_eight_bytes_of_padding_and_no_fewer() {
        let synthetic: Vec<u8> = (0..=255).collect();
        // 3 is possible, and the last that is; 246 is not.
        let lengths = [[0, 5], [0, 3], [0, 246]].concat();
        for separator in 2..256 {
            let mut encoded = vec![7; 256];
            (encoded[0], encoded[1], encoded[separator]) = (0, 2, 0);
            let expected = if separator < 10 { vec![253, 254, 255] } else { vec![7; 255 - separator] };
            assert_eq!(unpadded(&encoded, &synthetic, &lengths), expected, "separator at {separator}");
        }
        let no_separator = [&[0, 2][..], &[7; 254]].concat();
        assert_eq!(unpadded(&no_separator, &synthetic, &lengths), [253, 254, 255]);
        let wrong_type = [&[0, 1][..], &[7; 30], &[0], &[9; 223]].concat();
        assert_eq!(unpadded(&wrong_type, &synthetic, &lengths), [253, 254, 255]);
    }
}
