//! Signing and checking: which scheme, over what.
//!
//! The parameters of `sign` and `verify`:
//!
//! ```text
//! 0  1  scheme      1 ECDSA, 2 Ed25519, 3 RSA PKCS#1 v1.5, 4 RSA-PSS
//! 1  1  hash        a number of `Hash`; 0 for Ed25519; not SHA-224 for RSA
//! 2  1  form        0 the payload is the message, 1 it is the message's digest, which Ed25519 does not take
//! 3  1  zero
//! 4  n  of `verify`, the signature
//! ```
//!
//! Scheme 3 with hash 0 and form 1 is SHA-1, for protocols that still have it: a digest that is given is signed or
//! compared with a signature. Nothing here computes SHA-1, and no other operation takes it but OAEP's.

use aws_lc_rs::digest::{self as library, Digest};

use super::curve::{verify_ed25519, verify_p256};
use super::digest::Hash;
use super::keys::{Algorithm, Key};
use super::material::Material;
use super::rsa::{self, Padding};
use crate::wire::Status;

/// The parameters, taken apart.
pub(super) enum Scheme {
    Ecdsa(Hash),
    Ed25519,
    Rsa(Padding, Hash),
    RsaSha1,
}

pub(super) fn parse(parameters: &[u8]) -> Result<(Scheme, bool, &[u8]), Status> {
    const WRONG: Status = Status::WrongParameters;
    let (&[scheme, hash, form, 0], signature) = parameters.split_first_chunk::<4>().ok_or(WRONG)? else {
        return Err(WRONG);
    };
    let is_digest = match form {
        0 => false,
        1 => true,
        _ => return Err(WRONG),
    };
    let scheme = match (scheme, hash) {
        (1, hash) => Scheme::Ecdsa(Hash::from_number(hash)?),
        (2, 0) if !is_digest => Scheme::Ed25519,
        (3, 0) if is_digest => Scheme::RsaSha1,
        (3, hash) => Scheme::Rsa(Padding::Pkcs1, Hash::from_number(hash)?),
        (4, hash) => Scheme::Rsa(Padding::Pss, Hash::from_number(hash)?),
        _ => return Err(WRONG),
    };
    Ok((scheme, is_digest, signature))
}

/// The digest that is signed: the payload's, or the payload.
pub(super) fn digest(hash: Hash, is_digest: bool, payload: &[u8]) -> Result<Digest, Status> {
    let algorithm = hash.algorithm();
    if is_digest {
        Digest::import_less_safe(payload, algorithm).map_err(|_| Status::WrongParameters)
    } else {
        Ok(library::digest(algorithm, payload))
    }
}

/// Appends the signature of the payload.
///
/// # Errors
/// [`Status::WrongParameters`] when the key has no such signature.
pub fn sign(material: &Material, parameters: &[u8], payload: &[u8], out: &mut Vec<u8>) -> Result<(), Status> {
    let (scheme, is_digest, signature) = parse(parameters)?;
    if !signature.is_empty() {
        return Err(Status::WrongParameters);
    }
    match (scheme, material) {
        (Scheme::Ecdsa(hash), Material::P256(key)) => {
            key.sign(digest(hash, is_digest, payload)?.as_ref(), out)
        }
        (Scheme::Ed25519, Material::Ed25519(key)) => {
            key.sign(payload, out);
            Ok(())
        }
        (Scheme::Rsa(padding, hash), Material::Rsa(key)) => {
            key.sign(padding, hash, digest(hash, is_digest, payload)?.as_ref(), out)
        }
        (Scheme::RsaSha1, Material::Rsa(key)) => key.sign_sha1(payload, out),
        _ => Err(Status::WrongParameters),
    }
}

/// Checks the parameters' signature of the payload.
///
/// # Errors
/// [`Status::Rejected`]; [`Status::WrongParameters`] when the key has no such signature.
pub fn verify(key: &Key, parameters: &[u8], payload: &[u8]) -> Result<(), Status> {
    let (scheme, is_digest, signature) = parse(parameters)?;
    let public = key.material.public()?;
    match (scheme, key.attributes.template.algorithm) {
        (Scheme::Ecdsa(hash), Algorithm::P256) => {
            verify_p256(public, digest(hash, is_digest, payload)?.as_ref(), signature)
        }
        (Scheme::Ed25519, Algorithm::Ed25519) => verify_ed25519(public, payload, signature),
        (Scheme::Rsa(padding, hash), Algorithm::Rsa2048 | Algorithm::Rsa3072) => {
            rsa::verify(public, padding, hash, digest(hash, is_digest, payload)?.as_ref(), signature)
        }
        (Scheme::RsaSha1, Algorithm::Rsa2048 | Algorithm::Rsa3072) => {
            rsa::verify_sha1(public, payload, signature)
        }
        _ => Err(Status::WrongParameters),
    }
}
