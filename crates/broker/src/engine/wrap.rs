//! AES key wrap with padding (RFC 5649, SP 800-38F's KWP).
//!
//! The library is RustCrypto's: AWS-LC's safe interface has no 192 bits.

use aes_kw::cipher::KeyInit;
use aes_kw::{KwpAes128, KwpAes192, KwpAes256};

use super::material::Secret;
use crate::wire::Status;

/// Length of a semiblock.
const SEMIBLOCK_BYTES: usize = 8;

macro_rules! with_key {
    ($key:expr, $wrapping:ident => $do:expr) => {
        match $key.len() {
            16 => KwpAes128::new_from_slice($key).map(|$wrapping| $do),
            24 => KwpAes192::new_from_slice($key).map(|$wrapping| $do),
            _ => KwpAes256::new_from_slice($key).map(|$wrapping| $do),
        }
        .map_err(|_| Status::WrongPurpose)
    };
}

/// Appends `secret` wrapped under `key`.
///
/// # Errors
/// [`Status::WrongPurpose`] when the key is not AES's.
pub fn wrap(key: &[u8], secret: &[u8], out: &mut Vec<u8>) -> Result<(), Status> {
    let from = out.len();
    out.resize(from + secret.len().next_multiple_of(SEMIBLOCK_BYTES) + SEMIBLOCK_BYTES, 0);
    let wrapped = with_key!(key, wrapping => wrapping.wrap_key(secret, &mut out[from..]).map(|_| ()))?;
    wrapped.map_err(|_| Status::DeviceFault)
}

/// What was wrapped under `key`.
///
/// # Errors
/// [`Status::Rejected`] when nothing was; [`Status::WrongPurpose`] when the key is not AES's.
pub fn unwrap(key: &[u8], wrapped: &[u8]) -> Result<Secret, Status> {
    let mut buffer = Secret::new(vec![0; wrapped.len()]);
    let length = with_key!(key, wrapping => wrapping.unwrap_key(wrapped, &mut buffer).map(<[u8]>::len))?;
    buffer.truncate(length.map_err(|_| Status::Rejected)?);
    Ok(buffer)
}
