//! The mechanisms: one line each, and what a caller's parameters choose.
#![allow(unsafe_code)]

use broker::client::call::Secret;
use broker::parameters::{Hash, MacKind, Mode, RsaPadding, Scheme, Suite};
use cryptoki_sys::*;

use crate::abi::{Done, items, trust};

/// What is to be done with a message.
pub enum Work {
    /// A digest.
    Digest(Hash),
    /// AES without authentication.
    Cipher(Mode),
    /// An AEAD under the caller's nonce.
    Aead { suite: Suite, tag_bytes: u8, nonce: Vec<u8>, associated_data: Vec<u8> },
    /// RSA's decryption with PKCS#1 v1.5.
    RsaPkcs1,
    /// RSA's decryption with OAEP.
    RsaOaep { hash: Option<Hash>, label: Vec<u8> },
    /// A MAC.
    Mac(MacKind),
    /// A signature of a message.
    Sign(Scheme),
    /// An ECDSA signature of a digest, of any length.
    Ecdsa,
    /// A PKCS#1 v1.5 signature of a `DigestInfo`.
    RsaDigestInfo,
    /// An RSA-PSS signature of a digest.
    RsaPss(Hash),
}

const MODES: CK_FLAGS = CKF_ENCRYPT | CKF_DECRYPT;
const SIGNS: CK_FLAGS = CKF_SIGN | CKF_VERIFY;
const CURVE: CK_FLAGS = CKF_EC_F_P | CKF_EC_NAMEDCURVE | CKF_EC_UNCOMPRESS;

/// A line of the table: the mechanism, what it is for, and the shortest and longest key, in PKCS#11's unit for it.
pub struct Row(pub CK_MECHANISM_TYPE, pub CK_FLAGS, pub CK_ULONG, pub CK_ULONG);

#[rustfmt::skip]
pub const TABLE: &[Row] = &[
    Row(CKM_SHA224,                     CKF_DIGEST, 0, 0),
    Row(CKM_SHA256,                     CKF_DIGEST, 0, 0),
    Row(CKM_SHA384,                     CKF_DIGEST, 0, 0),
    Row(CKM_SHA512,                     CKF_DIGEST, 0, 0),
    Row(CKM_AES_KEY_GEN,                CKF_GENERATE, 16, 32),
    Row(CKM_AES_ECB,                    MODES, 16, 32),
    Row(CKM_AES_CBC,                    MODES, 16, 32),
    Row(CKM_AES_CBC_PAD,                MODES, 16, 32),
    Row(CKM_AES_CTR,                    MODES, 16, 32),
    Row(CKM_AES_GCM,                    MODES, 16, 32),
    Row(CKM_AES_CCM,                    MODES, 16, 32),
    Row(CKM_AES_CMAC,                   SIGNS, 16, 32),
    Row(CKM_AES_KEY_WRAP_KWP,           CKF_WRAP | CKF_UNWRAP, 16, 32),
    Row(CKM_GENERIC_SECRET_KEY_GEN,     CKF_GENERATE, 128, 4096),
    Row(CKM_SHA224_HMAC,                SIGNS, 8, 4096),
    Row(CKM_SHA256_HMAC,                SIGNS, 8, 4096),
    Row(CKM_SHA384_HMAC,                SIGNS, 8, 4096),
    Row(CKM_SHA512_HMAC,                SIGNS, 8, 4096),
    Row(CKM_HKDF_KEY_GEN,               CKF_GENERATE, 16, 512),
    Row(CKM_HKDF_DERIVE,                CKF_DERIVE, 16, 512),
    Row(CKM_ECDH1_DERIVE,               CKF_DERIVE | CURVE, 256, 256),
    Row(CKM_EC_KEY_PAIR_GEN,            CKF_GENERATE_KEY_PAIR | CURVE, 256, 256),
    Row(CKM_ECDSA,                      SIGNS | CURVE, 256, 256),
    Row(CKM_ECDSA_SHA224,               SIGNS | CURVE, 256, 256),
    Row(CKM_ECDSA_SHA256,               SIGNS | CURVE, 256, 256),
    Row(CKM_ECDSA_SHA384,               SIGNS | CURVE, 256, 256),
    Row(CKM_ECDSA_SHA512,               SIGNS | CURVE, 256, 256),
    Row(CKM_EC_EDWARDS_KEY_PAIR_GEN,    CKF_GENERATE_KEY_PAIR, 255, 255),
    Row(CKM_EDDSA,                      SIGNS, 255, 255),
    Row(CKM_RSA_PKCS_KEY_PAIR_GEN,      CKF_GENERATE_KEY_PAIR, 2048, 3072),
    Row(CKM_SHA256_RSA_PKCS,            SIGNS, 2048, 3072),
    Row(CKM_SHA384_RSA_PKCS,            SIGNS, 2048, 3072),
    Row(CKM_SHA512_RSA_PKCS,            SIGNS, 2048, 3072),
    Row(CKM_RSA_PKCS,                   SIGNS | CKF_DECRYPT, 2048, 3072),
    Row(CKM_RSA_PKCS_PSS,               SIGNS, 2048, 3072),
    Row(CKM_SHA256_RSA_PKCS_PSS,        SIGNS, 2048, 3072),
    Row(CKM_SHA384_RSA_PKCS_PSS,        SIGNS, 2048, 3072),
    Row(CKM_SHA512_RSA_PKCS_PSS,        SIGNS, 2048, 3072),
    Row(CKM_RSA_PKCS_OAEP,              CKF_DECRYPT, 2048, 3072),
];

/// The mechanism of a caller's, if it is for this.
///
/// # Errors
/// `CKR_MECHANISM_INVALID` or `CKR_MECHANISM_PARAM_INVALID`.
///
/// # Safety
/// The mechanism and its parameter are there.
pub unsafe fn parse(mechanism: *const CK_MECHANISM, purpose: CK_FLAGS) -> Done<Work> {
    let mechanism = &trust!(items(mechanism, 1))?[0];
    row(mechanism.mechanism, purpose)?;
    let parameter = trust!(items(mechanism.pParameter.cast::<u8>(), mechanism.ulParameterLen))?;
    let iv = || <[u8; 16]>::try_from(parameter).map_err(|_| CKR_MECHANISM_PARAM_INVALID);
    let none = |work| if parameter.is_empty() { Ok(work) } else { Err(CKR_MECHANISM_PARAM_INVALID) };
    match mechanism.mechanism {
        CKM_SHA224 => none(Work::Digest(Hash::Sha224)),
        CKM_SHA256 => none(Work::Digest(Hash::Sha256)),
        CKM_SHA384 => none(Work::Digest(Hash::Sha384)),
        CKM_SHA512 => none(Work::Digest(Hash::Sha512)),
        CKM_AES_ECB => none(Work::Cipher(Mode::Ecb)),
        CKM_AES_CBC => Ok(Work::Cipher(Mode::Cbc(iv()?))),
        CKM_AES_CBC_PAD => Ok(Work::Cipher(Mode::CbcPadded(iv()?))),
        CKM_AES_CTR => counter(trust!(read(parameter))?),
        CKM_AES_GCM => trust!(gcm(parameter)),
        CKM_AES_CCM => trust!(ccm(parameter)),
        CKM_AES_CMAC => none(Work::Mac(MacKind::Cmac)),
        CKM_SHA224_HMAC => none(Work::Mac(MacKind::Hmac(Hash::Sha224))),
        CKM_SHA256_HMAC => none(Work::Mac(MacKind::Hmac(Hash::Sha256))),
        CKM_SHA384_HMAC => none(Work::Mac(MacKind::Hmac(Hash::Sha384))),
        CKM_SHA512_HMAC => none(Work::Mac(MacKind::Hmac(Hash::Sha512))),
        CKM_ECDSA => none(Work::Ecdsa),
        CKM_ECDSA_SHA224 => none(Work::Sign(Scheme::Ecdsa(Hash::Sha224))),
        CKM_ECDSA_SHA256 => none(Work::Sign(Scheme::Ecdsa(Hash::Sha256))),
        CKM_ECDSA_SHA384 => none(Work::Sign(Scheme::Ecdsa(Hash::Sha384))),
        CKM_ECDSA_SHA512 => none(Work::Sign(Scheme::Ecdsa(Hash::Sha512))),
        CKM_EDDSA => none(Work::Sign(Scheme::Ed25519)), // no prehash, no context
        CKM_RSA_PKCS if purpose == CKF_DECRYPT => none(Work::RsaPkcs1),
        CKM_RSA_PKCS => none(Work::RsaDigestInfo),
        CKM_SHA256_RSA_PKCS => none(Work::Sign(Scheme::RsaPkcs1(Hash::Sha256))),
        CKM_SHA384_RSA_PKCS => none(Work::Sign(Scheme::RsaPkcs1(Hash::Sha384))),
        CKM_SHA512_RSA_PKCS => none(Work::Sign(Scheme::RsaPkcs1(Hash::Sha512))),
        CKM_RSA_PKCS_PSS => pss(trust!(read(parameter))?, None).map(Work::RsaPss),
        CKM_SHA256_RSA_PKCS_PSS => salted(Hash::Sha256, trust!(read(parameter))?),
        CKM_SHA384_RSA_PKCS_PSS => salted(Hash::Sha384, trust!(read(parameter))?),
        CKM_SHA512_RSA_PKCS_PSS => salted(Hash::Sha512, trust!(read(parameter))?),
        CKM_RSA_PKCS_OAEP => trust!(oaep(parameter)),
        _ => Err(CKR_MECHANISM_INVALID),
    }
}

/// The line of a mechanism that is for this.
///
/// # Errors
/// `CKR_MECHANISM_INVALID`.
pub fn row(mechanism: CK_MECHANISM_TYPE, purpose: CK_FLAGS) -> Done<&'static Row> {
    TABLE.iter().find(|row| row.0 == mechanism && row.1 & purpose == purpose).ok_or(CKR_MECHANISM_INVALID)
}

/// A structure of the caller's, which need not be aligned.
///
/// # Errors
/// `CKR_MECHANISM_PARAM_INVALID` when it is not as long as that.
///
/// # Safety
/// Any bytes are one.
pub unsafe fn read<T: Copy>(parameter: &[u8]) -> Done<T> {
    if parameter.len() != size_of::<T>() {
        return Err(CKR_MECHANISM_PARAM_INVALID);
    }
    // SAFETY: the length is right, and the caller says that any bytes are one.
    Ok(unsafe { parameter.as_ptr().cast::<T>().read_unaligned() })
}

/// PKCS#11 lets the counter be shorter than the block, and come round earlier; the device's is all of it.
fn counter(parameter: CK_AES_CTR_PARAMS) -> Done<Work> {
    match parameter.ulCounterBits {
        128 => Ok(Work::Cipher(Mode::Ctr(parameter.cb))),
        _ => Err(CKR_MECHANISM_PARAM_INVALID),
    }
}

/// # Safety
/// What the parameter points to is there.
unsafe fn gcm(parameter: &[u8]) -> Done<Work> {
    let given: CK_GCM_PARAMS = trust!(read(parameter))?;
    if given.ulTagBits != 128 {
        return Err(CKR_MECHANISM_PARAM_INVALID);
    }
    Ok(Work::Aead {
        suite: Suite::Gcm,
        tag_bytes: 16,
        nonce: nonce(trust!(items(given.pIv, given.ulIvLen))?)?,
        associated_data: trust!(items(given.pAAD, given.ulAADLen))?.to_vec(),
    })
}

/// # Safety
/// What the parameter points to is there.
unsafe fn ccm(parameter: &[u8]) -> Done<Work> {
    let given: CK_CCM_PARAMS = trust!(read(parameter))?;
    Ok(Work::Aead {
        suite: Suite::Ccm,
        tag_bytes: u8::try_from(given.ulMACLen).map_err(|_| CKR_MECHANISM_PARAM_INVALID)?,
        nonce: nonce(trust!(items(given.pNonce, given.ulNonceLen))?)?,
        associated_data: trust!(items(given.pAAD, given.ulAADLen))?.to_vec(),
    })
}

/// An empty one would be the device's to make, which is not what was asked for.
fn nonce(bytes: &[u8]) -> Done<Vec<u8>> {
    if bytes.is_empty() { Err(CKR_MECHANISM_PARAM_INVALID) } else { Ok(bytes.to_vec()) }
}

fn pss(given: CK_RSA_PKCS_PSS_PARAMS, expected: Option<Hash>) -> Done<Hash> {
    let hash = match (given.hashAlg, given.mgf) {
        (CKM_SHA256, CKG_MGF1_SHA256) => Hash::Sha256,
        (CKM_SHA384, CKG_MGF1_SHA384) => Hash::Sha384,
        (CKM_SHA512, CKG_MGF1_SHA512) => Hash::Sha512,
        _ => return Err(CKR_MECHANISM_PARAM_INVALID),
    };
    let fits =
        given.sLen == hash.digest_bytes() as CK_ULONG && expected.is_none_or(|expected| expected == hash);
    if fits { Ok(hash) } else { Err(CKR_MECHANISM_PARAM_INVALID) }
}

fn salted(hash: Hash, given: CK_RSA_PKCS_PSS_PARAMS) -> Done<Work> {
    pss(given, Some(hash)).map(|hash| Work::Sign(Scheme::RsaPss(hash)))
}

/// # Safety
/// What the parameter points to is there.
unsafe fn oaep(parameter: &[u8]) -> Done<Work> {
    let given: CK_RSA_PKCS_OAEP_PARAMS = trust!(read(parameter))?;
    let hash = match (given.hashAlg, given.mgf) {
        (CKM_SHA_1, CKG_MGF1_SHA1) => None,
        (CKM_SHA256, CKG_MGF1_SHA256) => Some(Hash::Sha256),
        (CKM_SHA384, CKG_MGF1_SHA384) => Some(Hash::Sha384),
        (CKM_SHA512, CKG_MGF1_SHA512) => Some(Hash::Sha512),
        _ => return Err(CKR_MECHANISM_PARAM_INVALID),
    };
    let label = trust!(items(given.pSourceData.cast::<u8>(), given.ulSourceDataLen))?;
    Ok(Work::RsaOaep { hash, label: label.to_vec() })
}

impl Work {
    /// How an RSA ciphertext is padded.
    pub fn padding(&self) -> Option<RsaPadding<'_>> {
        match self {
            Work::RsaPkcs1 => Some(RsaPadding::Pkcs1),
            Work::RsaOaep { hash, label } => Some(RsaPadding::Oaep { hash: *hash, label }),
            _ => None,
        }
    }
}

/// A digest as the 32 bytes of which ECDSA over P-256 signs it: its leftmost, as a number (FIPS 186-5 section 6.4.1).
pub fn scalar(digest: &[u8]) -> Secret {
    let used = &digest[..digest.len().min(32)];
    Secret::new([&[0; 32][used.len()..], used].concat())
}
