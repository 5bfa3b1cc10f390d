//! SHA-2 (FIPS 180-4), HMAC (FIPS 198-1), CMAC (SP 800-38B) and HKDF (RFC 5869), all of AWS-LC.
//!
//! The parameter of `hash` and `mac` is the number of a hash, one byte. That of `mac` is 0 for CMAC, which an AES key
//! makes. Behind it, `mac-verify` has the MAC or its first bytes, at least 8.

use aws_lc_rs::{cmac, digest, hmac};
use subtle::ConstantTimeEq;

use super::keys::Algorithm;
use crate::limits::MAC_BYTES_MIN;
pub use crate::parameters::Hash;
use crate::wire::Status;

impl Hash {
    /// The library's name for it.
    pub fn algorithm(self) -> &'static digest::Algorithm {
        match self {
            Hash::Sha224 => &digest::SHA224,
            Hash::Sha256 => &digest::SHA256,
            Hash::Sha384 => &digest::SHA384,
            Hash::Sha512 => &digest::SHA512,
        }
    }

    fn hmac(self) -> hmac::Algorithm {
        match self {
            Hash::Sha224 => hmac::HMAC_SHA224,
            Hash::Sha256 => hmac::HMAC_SHA256,
            Hash::Sha384 => hmac::HMAC_SHA384,
            Hash::Sha512 => hmac::HMAC_SHA512,
        }
    }
}

/// The hash that the parameters name.
///
/// # Errors
/// [`Status::WrongParameters`].
pub fn parse(parameters: &[u8]) -> Result<Hash, Status> {
    match parameters {
        [number] => Hash::from_number(*number),
        _ => Err(Status::WrongParameters),
    }
}

/// A MAC that is under way.
pub enum MacRun {
    /// HMAC.
    Hmac(Box<hmac::Context>),
    /// CMAC.
    Cmac(cmac::Context),
}

impl MacRun {
    /// Begins a MAC of this number.
    ///
    /// # Errors
    /// [`Status::WrongParameters`] when the key makes no such MAC.
    pub fn begin(algorithm: Algorithm, key: &[u8], number: u8) -> Result<MacRun, Status> {
        let cmac = |algorithm| {
            let key = cmac::Key::new(algorithm, key).map_err(|_| Status::DeviceFault)?;
            Ok(MacRun::Cmac(cmac::Context::with_key(&key)))
        };
        match (algorithm, number) {
            (Algorithm::Aes128, 0) => cmac(cmac::AES_128),
            (Algorithm::Aes192, 0) => cmac(cmac::AES_192),
            (Algorithm::Aes256, 0) => cmac(cmac::AES_256),
            (Algorithm::Hmac, number) => {
                let key = hmac::Key::new(Hash::from_number(number)?.hmac(), key);
                Ok(MacRun::Hmac(Box::new(hmac::Context::with_key(&key))))
            }
            _ => Err(Status::WrongParameters),
        }
    }

    /// Takes a part of the message.
    ///
    /// # Errors
    /// [`Status::DeviceFault`].
    pub fn update(&mut self, part: &[u8]) -> Result<(), Status> {
        match self {
            MacRun::Hmac(hmac) => hmac.update(part),
            MacRun::Cmac(cmac) => cmac.update(part).map_err(|_| Status::DeviceFault)?,
        }
        Ok(())
    }

    /// Appends the MAC.
    ///
    /// # Errors
    /// [`Status::DeviceFault`].
    pub fn finish(self, out: &mut Vec<u8>) -> Result<(), Status> {
        match self {
            MacRun::Hmac(hmac) => out.extend_from_slice(hmac.sign().as_ref()),
            MacRun::Cmac(cmac) => {
                out.extend_from_slice(cmac.sign().map_err(|_| Status::DeviceFault)?.as_ref());
            }
        }
        Ok(())
    }

    /// Compares the MAC's first bytes with these.
    ///
    /// # Errors
    /// [`Status::Rejected`]; [`Status::WrongParameters`] when they are too few or too many.
    pub fn verify(self, expected: &[u8]) -> Result<(), Status> {
        let mut own = crate::wiped::Wiped::default();
        self.finish(&mut own)?;
        if !(MAC_BYTES_MIN..=own.len()).contains(&expected.len()) {
            return Err(Status::WrongParameters);
        }
        let same = own[..expected.len()].ct_eq(expected);
        if bool::from(same) { Ok(()) } else { Err(Status::Rejected) }
    }
}

/// Fills `out`, at most 255 digests, with HKDF of the secret. The info is the pieces one after the other.
///
/// # Errors
/// [`Status::WrongParameters`] when `out` is too long, or the library has no HKDF with this hash.
pub fn hkdf(hash: Hash, salt: &[u8], secret: &[u8], info: &[&[u8]], out: &mut [u8]) -> Result<(), Status> {
    use aws_lc_rs::hkdf;
    struct Length(usize);
    impl hkdf::KeyType for Length {
        fn len(&self) -> usize {
            self.0
        }
    }
    let algorithm = match hash {
        Hash::Sha224 => return Err(Status::WrongParameters),
        Hash::Sha256 => hkdf::HKDF_SHA256,
        Hash::Sha384 => hkdf::HKDF_SHA384,
        Hash::Sha512 => hkdf::HKDF_SHA512,
    };
    let prk = hkdf::Salt::new(algorithm, salt).extract(secret);
    let okm = prk.expand(info, Length(out.len())).map_err(|_| Status::WrongParameters)?;
    okm.fill(out).map_err(|_| Status::DeviceFault)
}
