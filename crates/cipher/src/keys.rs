//! A secret of a fixed length: where it lies, how it is compared, how it gets in and out of a key file.
//!
//! File access and permission checks belong to the roof; this file turns bytes into keys and back.

use std::fmt;
use std::io;

use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::error::Error;
use crate::limits::KEY_FILE_DIGITS;
use crate::nonces::Randomness;

/// A secret of `N` bytes, wiped when it is dropped.
///
/// It lies on the heap so that moving a `Key` moves a pointer and leaves no copy of the secret behind.
#[derive(Clone, ZeroizeOnDrop)]
pub struct Key<const N: usize>(Box<[u8; N]>);

impl<const N: usize> Key<N> {
    /// A key whose bytes `fill` writes, straight into their final place.
    pub fn filled_by(fill: impl FnOnce(&mut [u8; N])) -> Self {
        let mut key = Key(Box::new([0; N]));
        fill(&mut key.0);
        key
    }

    /// A copy of `bytes`. The caller wipes the original.
    pub fn copied_from(bytes: &[u8; N]) -> Self {
        Self::filled_by(|key| key.copy_from_slice(bytes))
    }

    /// A fresh key.
    ///
    /// # Errors
    /// What the source of randomness says.
    pub fn random(randomness: &mut impl Randomness) -> io::Result<Self> {
        let mut key = Key(Box::new([0; N]));
        randomness.fill(key.0.as_mut_slice())?;
        Ok(key)
    }

    /// The secret itself.
    pub fn expose(&self) -> &[u8; N] {
        &self.0
    }
}

impl Key<32> {
    /// Reads the contents of a key file: 64 hex digits of either case, and one newline that may be missing.
    ///
    /// Takes the same time for all keys of one letter case.
    ///
    /// # Errors
    /// [`Error::KeyFileLength`] or [`Error::KeyFileDigits`].
    pub fn from_key_file(contents: &[u8]) -> Result<Self, Error> {
        let digits = contents.strip_suffix(b"\n").unwrap_or(contents);
        if digits.len() != KEY_FILE_DIGITS {
            return Err(Error::KeyFileLength { found_bytes: contents.len() });
        }
        let mut key = Key(Box::new([0; 32]));
        base16ct::mixed::decode(digits, key.0.as_mut_slice()).map_err(|_| Error::KeyFileDigits)?;
        Ok(key)
    }

    /// The contents of a key file: 64 lower-case hex digits and a newline.
    pub fn to_key_file(&self) -> Zeroizing<Vec<u8>> {
        let mut contents = Zeroizing::new(vec![b'\n'; KEY_FILE_DIGITS + 1]);
        base16ct::lower::encode(self.expose(), &mut contents[..KEY_FILE_DIGITS])
            .expect("64 digits hold 32 bytes");
        contents
    }
}

impl<const N: usize> Zeroize for Key<N> {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

impl<const N: usize> fmt::Debug for Key<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key<{N}>(..)")
    }
}

impl<const N: usize> PartialEq for Key<N> {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&*other.0).into()
    }
}

impl<const N: usize> Eq for Key<N> {}
