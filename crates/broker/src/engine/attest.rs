//! Attestation: the device says, signed, what a key is.
//!
//! The statement, which `key-attest` answers:
//!
//! ```text
//!  0   8  kind               "software": nothing keeps the device's own key but this process
//!  8   8  boot               random number of this start of the device, as its `info` says
//! 16   8  key                its handle
//! 24   1  challenge_bytes    at most 64
//! 25   1  attribute_bytes
//! 26   2  public_bytes       0 for a symmetric key
//! 28   n  challenge          the request's parameters
//!      m  attributes         as `key-attributes` answers them
//!      k  public key         as `key-public` answers it
//!     32  the device's own public key, of Ed25519, made at its start
//!     64  its signature of all before
//! ```
//!
//! The device's own key says nothing about who made the device: who trusts a statement knows the key from elsewhere.

use cipher::{OsRandomness, Randomness};

use super::curve::Ed25519;
use super::keys::{Attributes, Key};
use crate::wire::{KeyHandle, Status};

/// What kind of device this is, in eight bytes.
pub const KIND: &[u8; 8] = b"software";
const _: () = assert!(Attributes::BYTES_MAX <= u8::MAX as usize);

/// The device as a witness.
pub struct Attester {
    own: Ed25519,
    boot: u64,
}

impl Attester {
    /// One with a fresh key, for a start of the device.
    ///
    /// # Errors
    /// [`Status::DeviceFault`].
    pub fn new() -> Result<Attester, Status> {
        let mut boot = [0; 8];
        OsRandomness.fill(&mut boot).map_err(|_| Status::DeviceFault)?;
        Ok(Attester { own: Ed25519::generate()?, boot: u64::from_le_bytes(boot) })
    }

    /// The random number of this start.
    pub fn boot(&self) -> u64 {
        self.boot
    }

    /// Appends a statement about a key.
    pub fn attest(&self, handle: KeyHandle, key: &Key, challenge: &[u8], out: &mut Vec<u8>) {
        let attributes = key.attributes.to_bytes();
        let public = key.material.public().unwrap_or_default();
        let mut statement = KIND.to_vec();
        statement.extend_from_slice(&self.boot.to_le_bytes());
        statement.extend_from_slice(&handle.0.to_le_bytes());
        statement.extend_from_slice(&[challenge.len() as u8, attributes.len() as u8]);
        statement.extend_from_slice(&(public.len() as u16).to_le_bytes());
        for part in [challenge, &attributes, public, self.own.public()] {
            statement.extend_from_slice(part);
        }
        out.extend_from_slice(&statement);
        self.own.sign(&statement, out);
    }
}
