//! P-256 (FIPS 186-5, SP 800-56A), Ed25519 (RFC 8032) and X25519 (RFC 7748), all of AWS-LC.
//!
//! An ECDSA signature is r and s, 32 bytes each, most significant first. The secret that two keys share is X25519's output
//! or the x of P-256's; X25519 refuses a public key that makes it zero (RFC 7748 section 6.1).

use aws_lc_rs::agreement::{self, ECDH_P256, PrivateKey, UnparsedPublicKey};
use aws_lc_rs::digest::{Digest, SHA256};
use aws_lc_rs::encoding::{AsBigEndian, EcPrivateKeyBin};
use aws_lc_rs::signature::{
    self, ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, ED25519, EcdsaKeyPair, Ed25519KeyPair,
    KeyPair, ParsedPublicKey,
};
use cipher::{OsRandomness, Randomness};

use super::material::Secret;
use crate::wire::Status;

/// Length of an uncompressed point of P-256.
pub const POINT_BYTES: usize = 65;
/// Length of a scalar of P-256, and of the digest that ECDSA signs.
const SCALAR_BYTES: usize = 32;

/// A private key of P-256.
pub struct P256 {
    secret: Secret,
    public: Vec<u8>,
    signing: EcdsaKeyPair,
    agreeing: PrivateKey,
}

impl P256 {
    /// A fresh key.
    ///
    /// # Errors
    /// [`Status::DeviceFault`].
    pub fn generate() -> Result<P256, Status> {
        let key = PrivateKey::generate(&ECDH_P256).map_err(|_| Status::DeviceFault)?;
        let bytes: EcPrivateKeyBin<'_> = key.as_be_bytes().map_err(|_| Status::DeviceFault)?;
        P256::import(Secret::new(bytes.as_ref().to_vec()))
    }

    /// The key of a scalar.
    ///
    /// # Errors
    /// [`Status::WrongParameters`] when it is zero or not below the order.
    pub fn import(secret: Secret) -> Result<P256, Status> {
        const WRONG: Status = Status::WrongParameters;
        let agreeing = PrivateKey::from_private_key(&ECDH_P256, &secret).map_err(|_| WRONG)?;
        let public = agreeing.compute_public_key().map_err(|_| WRONG)?.as_ref().to_vec();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let signing = EcdsaKeyPair::from_private_key_and_public_key(algorithm, &secret, &public);
        Ok(P256 { secret, public, signing: signing.map_err(|_| WRONG)?, agreeing })
    }

    /// Appends the signature of a digest.
    ///
    /// # Errors
    /// [`Status::DeviceFault`].
    pub fn sign(&self, digest: &[u8], out: &mut Vec<u8>) -> Result<(), Status> {
        let signature = self.signing.sign_digest(&leftmost(digest)).map_err(|_| Status::DeviceFault)?;
        out.extend_from_slice(signature.as_ref());
        Ok(())
    }

    /// Gives `use_secret` the secret that it shares with the owner of a point.
    ///
    /// # Errors
    /// [`Status::WrongParameters`] when that is no point; those of `use_secret`.
    pub fn agree<R>(
        &self,
        public: &[u8],
        use_secret: impl FnOnce(&[u8]) -> Result<R, Status>,
    ) -> Result<R, Status> {
        if public.len() != POINT_BYTES {
            return Err(Status::WrongParameters);
        }
        let peer = UnparsedPublicKey::new(&ECDH_P256, public);
        agreement::agree(&self.agreeing, peer, Status::WrongParameters, use_secret)
    }

    /// The scalar.
    pub fn secret(&self) -> &[u8] {
        &self.secret
    }

    /// The point.
    pub fn public(&self) -> &[u8] {
        &self.public
    }
}

/// What ECDSA signs of a digest: its leftmost 256 bits, as a number (FIPS 186-5 section 6.4.1). The library wants to be
/// told that this is SHA-256's.
fn leftmost(digest: &[u8]) -> Digest {
    let mut bytes = [0; SCALAR_BYTES];
    let used = digest.len().min(SCALAR_BYTES);
    bytes[SCALAR_BYTES - used..].copy_from_slice(&digest[..used]);
    Digest::import_less_safe(&bytes, &SHA256).expect("the length is SHA-256's")
}

/// Whether these bytes are an uncompressed point of P-256 (SP 800-56A section 5.6.2.3.3).
pub fn is_point(bytes: &[u8]) -> bool {
    bytes.len() == POINT_BYTES && ParsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, bytes).is_ok()
}

/// Checks an ECDSA signature of a digest.
///
/// # Errors
/// [`Status::Rejected`].
pub fn verify_p256(public: &[u8], digest: &[u8], signature: &[u8]) -> Result<(), Status> {
    let key = signature::UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, public);
    key.verify_digest(&leftmost(digest), signature).map_err(|_| Status::Rejected)
}

/// A private key of Ed25519.
pub struct Ed25519 {
    secret: Secret,
    pair: Ed25519KeyPair,
}

impl Ed25519 {
    /// A fresh key.
    ///
    /// # Errors
    /// [`Status::DeviceFault`].
    pub fn generate() -> Result<Ed25519, Status> {
        let mut seed = Secret::new(vec![0; 32]);
        OsRandomness.fill(&mut seed).map_err(|_| Status::DeviceFault)?;
        Ed25519::import(seed)
    }

    /// The key of a seed.
    ///
    /// # Errors
    /// [`Status::WrongParameters`].
    pub fn import(secret: Secret) -> Result<Ed25519, Status> {
        let pair = Ed25519KeyPair::from_seed_unchecked(&secret).map_err(|_| Status::WrongParameters)?;
        Ok(Ed25519 { secret, pair })
    }

    /// Appends the signature of a message.
    pub fn sign(&self, message: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(self.pair.sign(message).as_ref());
    }

    /// The seed.
    pub fn secret(&self) -> &[u8] {
        &self.secret
    }

    /// The public key.
    pub fn public(&self) -> &[u8] {
        self.pair.public_key().as_ref()
    }
}

/// Checks an Ed25519 signature of a message.
///
/// # Errors
/// [`Status::Rejected`].
pub fn verify_ed25519(public: &[u8], message: &[u8], signature: &[u8]) -> Result<(), Status> {
    signature::UnparsedPublicKey::new(&ED25519, public)
        .verify(message, signature)
        .map_err(|_| Status::Rejected)
}

/// A private key of X25519.
pub struct X25519 {
    secret: Secret,
    public: Vec<u8>,
    key: PrivateKey,
}

impl X25519 {
    /// The key of 32 bytes, which may be any.
    ///
    /// # Errors
    /// [`Status::WrongParameters`].
    pub fn import(secret: Secret) -> Result<X25519, Status> {
        const WRONG: Status = Status::WrongParameters;
        let key = PrivateKey::from_private_key(&agreement::X25519, &secret).map_err(|_| WRONG)?;
        let public = key.compute_public_key().map_err(|_| WRONG)?.as_ref().to_vec();
        Ok(X25519 { secret, public, key })
    }

    /// As [`P256::agree`].
    ///
    /// # Errors
    /// [`Status::WrongParameters`] when the secret would be zero; those of `use_secret`.
    pub fn agree<R>(
        &self,
        public: &[u8],
        use_secret: impl FnOnce(&[u8]) -> Result<R, Status>,
    ) -> Result<R, Status> {
        let peer = UnparsedPublicKey::new(&agreement::X25519, public);
        agreement::agree(&self.key, peer, Status::WrongParameters, use_secret)
    }

    /// The 32 bytes.
    pub fn secret(&self) -> &[u8] {
        &self.secret
    }

    /// The public key.
    pub fn public(&self) -> &[u8] {
        &self.public
    }
}
