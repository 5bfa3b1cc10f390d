//! What a key is made of: its form in the device, and its form outside.
//!
//! Outside, symmetric keys, Ed25519's and X25519's are their bytes, those of P-256 are 32 bytes, most significant first,
//! and RSA's are PKCS#8. Public keys are 32 bytes, P-256's an uncompressed point, and RSA's an `RSAPublicKey` of PKCS#1.

use cipher::{OsRandomness, Randomness};
use zeroize::Zeroizing;

use super::aead::Ciphers;
use super::curve::{Ed25519, P256, X25519};
use super::keys::{Algorithm, Template};
use super::rsa::Rsa;
use crate::wire::Status;

/// Bytes that are wiped.
pub type Secret = Zeroizing<Vec<u8>>;

/// A key in the form that it is used in.
pub enum Material {
    /// AES, Ascon, HMAC, HKDF.
    Symmetric {
        /// The key.
        secret: Secret,
        /// What it seals and opens with.
        ciphers: Box<Ciphers>,
    },
    /// P-256.
    P256(P256),
    /// Ed25519.
    Ed25519(Ed25519),
    /// X25519.
    X25519(X25519),
    /// RSA.
    Rsa(Box<Rsa>),
    /// The public half of any of these, and nothing else.
    Public(Vec<u8>),
    /// A key that is elsewhere, of which only the public half is here; nothing of a symmetric one.
    Elsewhere(Vec<u8>),
}

impl Material {
    /// A fresh key.
    ///
    /// # Errors
    /// [`Status::DeviceFault`].
    pub fn generate(template: &Template) -> Result<Material, Status> {
        match (template.algorithm, template.derived_bytes()) {
            (Algorithm::P256, _) => Ok(Material::P256(P256::generate()?)),
            (Algorithm::Rsa2048 | Algorithm::Rsa3072, _) => {
                Ok(Material::Rsa(Box::new(Rsa::generate(template.algorithm)?)))
            }
            (algorithm, length) => {
                let mut secret = Secret::new(vec![0; length.ok_or(Status::DeviceFault)?]);
                OsRandomness.fill(&mut secret).map_err(|_| Status::DeviceFault)?;
                Material::import(algorithm, secret)
            }
        }
    }

    /// A key that comes from outside, or was derived.
    ///
    /// # Errors
    /// [`Status::WrongParameters`] when the bytes are no key of the algorithm.
    pub fn import(algorithm: Algorithm, secret: Secret) -> Result<Material, Status> {
        if algorithm.secret_bytes().is_some_and(|length| length != secret.len()) {
            return Err(Status::WrongParameters);
        }
        Ok(match algorithm {
            Algorithm::Aes128
            | Algorithm::Aes192
            | Algorithm::Aes256
            | Algorithm::Ascon128
            | Algorithm::Hmac
            | Algorithm::Hkdf => Material::Symmetric { secret, ciphers: Box::default() },
            Algorithm::P256 => Material::P256(P256::import(secret)?),
            Algorithm::Ed25519 => Material::Ed25519(Ed25519::import(secret)?),
            Algorithm::X25519 => Material::X25519(X25519::import(secret)?),
            Algorithm::Rsa2048 | Algorithm::Rsa3072 => {
                Material::Rsa(Box::new(Rsa::import(algorithm, secret)?))
            }
        })
    }

    /// A public key that comes from outside. Of Ed25519's 32 bytes it is seen when they are used whether they are one.
    ///
    /// # Errors
    /// [`Status::WrongParameters`] when the algorithm has none, or not of this length.
    pub fn import_public(algorithm: Algorithm, bytes: &[u8]) -> Result<Material, Status> {
        let is_one = match algorithm {
            Algorithm::P256 => super::curve::is_point(bytes),
            Algorithm::Ed25519 => bytes.len() == 32,
            Algorithm::Rsa2048 | Algorithm::Rsa3072 => super::rsa::is_public_key(algorithm, bytes),
            _ => false,
        };
        if is_one { Ok(Material::Public(bytes.to_vec())) } else { Err(Status::WrongParameters) }
    }

    /// Whether nothing of it is secret.
    pub fn is_public(&self) -> bool {
        matches!(self, Material::Public(_))
    }

    /// The key's form outside.
    ///
    /// # Errors
    /// [`Status::WrongPurpose`] for what is public.
    pub fn secret(&self) -> Result<&[u8], Status> {
        match self {
            Material::Symmetric { secret, .. } => Ok(secret),
            Material::P256(key) => Ok(key.secret()),
            Material::Ed25519(key) => Ok(key.secret()),
            Material::X25519(key) => Ok(key.secret()),
            Material::Rsa(key) => Ok(key.secret()),
            Material::Public(_) | Material::Elsewhere(_) => Err(Status::WrongPurpose),
        }
    }

    /// The secret of a symmetric key, and its ciphers.
    ///
    /// # Errors
    /// [`Status::WrongPurpose`] for other keys.
    pub fn ciphers(&self) -> Result<(&[u8], &Ciphers), Status> {
        match self {
            Material::Symmetric { secret, ciphers } => Ok((secret, ciphers)),
            _ => Err(Status::WrongPurpose),
        }
    }

    /// The secret of a symmetric key.
    ///
    /// # Errors
    /// [`Status::WrongPurpose`] for other keys.
    pub fn symmetric(&self) -> Result<&[u8], Status> {
        match self {
            Material::Symmetric { secret, .. } => Ok(secret),
            _ => Err(Status::WrongPurpose),
        }
    }

    /// The public half.
    ///
    /// # Errors
    /// [`Status::WrongPurpose`] for a symmetric key.
    pub fn public(&self) -> Result<&[u8], Status> {
        match self {
            Material::Symmetric { .. } => Err(Status::WrongPurpose),
            Material::P256(key) => Ok(key.public()),
            Material::Ed25519(key) => Ok(key.public()),
            Material::X25519(key) => Ok(key.public()),
            Material::Rsa(key) => Ok(key.public()),
            Material::Elsewhere(bytes) if bytes.is_empty() => Err(Status::WrongPurpose),
            Material::Public(bytes) | Material::Elsewhere(bytes) => Ok(bytes),
        }
    }
}
