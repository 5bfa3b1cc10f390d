//! AES key wrap with padding (RFC 5649, SP 800-38F's KWP).
//!
//! The library is RustCrypto's: AWS-LC's safe interface has no 192 bits.

use aes_kw::cipher::KeyInit;
use aes_kw::{KwpAes128, KwpAes192, KwpAes256};

use super::material::Secret;
use crate::limits::KEY_BYTES_MAX;
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
/// [`Status::WrongPurpose`] when the key is not AES's; [`Status::Oversize`] when an RSA key was given with so much beside
/// it, in PKCS#8's attributes, that what it is wrapped in would be longer than an answer: the broker would take a device
/// that gives one for broken, and all keys of connections would be lost.
pub fn wrap(key: &[u8], secret: &[u8], out: &mut Vec<u8>) -> Result<(), Status> {
    let from = out.len();
    let wrapped_bytes = secret.len().next_multiple_of(SEMIBLOCK_BYTES) + SEMIBLOCK_BYTES;
    if wrapped_bytes > KEY_BYTES_MAX {
        return Err(Status::Oversize);
    }
    out.resize(from + wrapped_bytes, 0);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrapped_is_no_longer_than_an_answer() {
        let mut out = Vec::new();
        wrap(&[0; 16], &[7; KEY_BYTES_MAX - SEMIBLOCK_BYTES], &mut out).unwrap();
        assert_eq!(out.len(), KEY_BYTES_MAX);
        assert_eq!(*unwrap(&[0; 16], &out).unwrap(), [7; KEY_BYTES_MAX - SEMIBLOCK_BYTES]);
        for length in KEY_BYTES_MAX - SEMIBLOCK_BYTES + 1..=KEY_BYTES_MAX {
            assert_eq!(wrap(&[0; 16], &vec![7; length], &mut Vec::new()), Err(Status::Oversize));
        }
    }
}
