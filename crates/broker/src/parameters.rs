//! What the parameters of operations choose between, as types.
//!
//! Owns the choices and the bytes that a client writes for them. The device reads those bytes where the operation is:
//! each family's file in `engine/` draws its own.

use crate::wire::Status;

/// A hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Hash {
    /// SHA-224.
    Sha224 = 1,
    /// SHA-256.
    Sha256 = 2,
    /// SHA-384.
    Sha384 = 3,
    /// SHA-512.
    Sha512 = 4,
}

impl Hash {
    /// All of them.
    pub const ALL: [Hash; 4] = [Hash::Sha224, Hash::Sha256, Hash::Sha384, Hash::Sha512];

    /// The hash of a number.
    ///
    /// # Errors
    /// [`Status::WrongParameters`].
    pub const fn from_number(number: u8) -> Result<Hash, Status> {
        match number {
            1 => Ok(Hash::Sha224),
            2 => Ok(Hash::Sha256),
            3 => Ok(Hash::Sha384),
            4 => Ok(Hash::Sha512),
            _ => Err(Status::WrongParameters),
        }
    }

    /// Length of the digest.
    pub const fn digest_bytes(self) -> usize {
        match self {
            Hash::Sha224 => 28,
            Hash::Sha256 => 32,
            Hash::Sha384 => 48,
            Hash::Sha512 => 64,
        }
    }
}

/// A mode of AES without authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Each block by itself.
    Ecb,
    /// Cipher block chaining of whole blocks, from this IV.
    Cbc([u8; 16]),
    /// The same of any message, with PKCS#7's padding.
    CbcPadded([u8; 16]),
    /// Counter mode of any message, from this block.
    Ctr([u8; 16]),
}

impl Mode {
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let (number, iv): (u8, Option<[u8; 16]>) = match self {
            Mode::Ecb => (1, None),
            Mode::Cbc(iv) => (2, Some(iv)),
            Mode::CbcPadded(iv) => (3, Some(iv)),
            Mode::Ctr(block) => (4, Some(block)),
        };
        [number, 0, 0, 0].into_iter().chain(iv.into_iter().flatten()).collect()
    }
}

/// Which AEAD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Suite {
    /// AES-GCM.
    Gcm = 1,
    /// AES-CCM.
    Ccm = 2,
    /// Ascon-AEAD128.
    Ascon = 3,
}

/// How a message is sealed.
#[derive(Clone, Copy, Debug)]
pub struct Aead<'a> {
    /// With what.
    pub suite: Suite,
    /// Length of the tag: 16; of CCM also 4, 8 or 12 if the nonce is the caller's.
    pub tag_bytes: u8,
    /// The nonce of a `caller_nonce` key; empty: the device makes it.
    pub nonce: &'a [u8],
    /// What is authenticated beside the message.
    pub associated_data: &'a [u8],
}

impl Aead<'_> {
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        // No suite has a nonce so long that this would be another one.
        let nonce_bytes = u8::try_from(self.nonce.len()).unwrap_or(u8::MAX);
        [&[self.suite as u8, self.tag_bytes, nonce_bytes, 0], self.nonce, self.associated_data].concat()
    }
}

/// A kind of MAC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MacKind {
    /// CMAC, which an AES key makes.
    Cmac,
    /// HMAC with this hash.
    Hmac(Hash),
}

impl MacKind {
    pub(crate) fn number(self) -> u8 {
        match self {
            MacKind::Cmac => 0,
            MacKind::Hmac(hash) => hash as u8,
        }
    }
}

/// A way to sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// ECDSA; the signature is r and s, 32 bytes each, most significant first.
    Ecdsa(Hash),
    /// Ed25519.
    Ed25519,
    /// RSA with PKCS#1 v1.5.
    RsaPkcs1(Hash),
    /// The same of a SHA-1 digest that is given, since the device computes none.
    RsaPkcs1Sha1,
    /// RSA-PSS, MGF1 with the same hash, a salt as long as the digest.
    RsaPss(Hash),
}

/// What is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signed<'a> {
    /// A message.
    Message(&'a [u8]),
    /// A message of which this is the scheme's digest.
    Digest(&'a [u8]),
}

impl Scheme {
    pub(crate) fn to_bytes(self, signed: Signed<'_>) -> [u8; 4] {
        let (number, hash) = match self {
            Scheme::Ecdsa(hash) => (1, hash as u8),
            Scheme::Ed25519 => (2, 0),
            Scheme::RsaPkcs1(hash) => (3, hash as u8),
            Scheme::RsaPkcs1Sha1 => (3, 0),
            Scheme::RsaPss(hash) => (4, hash as u8),
        };
        [number, hash, matches!(signed, Signed::Digest(_)).into(), 0]
    }
}

impl<'a> Signed<'a> {
    pub(crate) fn bytes(self) -> &'a [u8] {
        match self {
            Signed::Message(bytes) | Signed::Digest(bytes) => bytes,
        }
    }
}

/// How an RSA ciphertext is padded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RsaPadding<'a> {
    /// PKCS#1 v1.5. Wrong padding gives a message that looks random.
    Pkcs1,
    /// OAEP, MGF1 with the same hash.
    Oaep {
        /// The hash, or none for SHA-1.
        hash: Option<Hash>,
        /// The label, mostly empty.
        label: &'a [u8],
    },
}

impl RsaPadding<'_> {
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        match self {
            RsaPadding::Pkcs1 => vec![1, 0, 0, 0],
            RsaPadding::Oaep { hash, label } => {
                [&[2, hash.map_or(0, |hash| hash as u8), 0, 0], label].concat()
            }
        }
    }
}
