//! Keys: what an image is sealed under, and what that key is wrapped under.
//!
//! Owns: the *image key*, fresh for each image, and the *device key*, under which it is wrapped by RFC 3394 for its
//! container. The key of the tags is derived from the image key, so that one wrapped key opens and checks an image. A
//! device's boot unwraps it and gives it to the decipher. Key files are the roof's.
//! Invariant: keys are wiped when they are dropped, and stand in no error and no container but wrapped.

use std::io;

use aes_kw::cipher::KeyInit;
use aes_kw::{KwAes128, KwAes256};
use cipher::derive::image_tag_key;
use cipher::{Key, Randomness};
use zeroize::Zeroizing;

use crate::error::SealError;
use crate::seal::{Row, SEALS};

/// How much longer a key is when it is wrapped, in bytes.
pub const WRAP_BYTES: usize = 8;
/// The lengths of wrapped keys, in bytes.
pub const WRAPPED_BYTES: [usize; 2] = [16 + WRAP_BYTES, 32 + WRAP_BYTES];

const _: () = {
    let mut number = 0;
    while number < SEALS.len() {
        let wrapped = SEALS[number].key_bytes + WRAP_BYTES;
        assert!(wrapped == WRAPPED_BYTES[0] || wrapped == WRAPPED_BYTES[1]);
        number += 1;
    }
};

/// What image keys are wrapped under: a key of one device, or of many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceKey {
    /// For AES with 128 bits.
    Short(Key<16>),
    /// For AES with 256 bits.
    Long(Key<32>),
}

/// What the lines of one image are sealed under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageKey {
    /// Of 16 bytes.
    Short(Key<16>),
    /// Of 32 bytes, for XTS.
    Long(Key<32>),
}

impl DeviceKey {
    /// A copy of these bytes. The caller wipes the original.
    ///
    /// # Errors
    /// [`SealError::DeviceKey`] for another length than 16 or 32.
    pub fn from_bytes(bytes: &[u8]) -> Result<DeviceKey, SealError> {
        match (bytes.try_into(), bytes.try_into()) {
            (Ok(short), _) => Ok(DeviceKey::Short(Key::copied_from(short))),
            (_, Ok(long)) => Ok(DeviceKey::Long(Key::copied_from(long))),
            _ => Err(SealError::DeviceKey { found_bytes: bytes.len() }),
        }
    }

    /// An image key, wrapped.
    pub fn wrap_key(&self, key: &ImageKey) -> Vec<u8> {
        const FITS: &str = "the lengths are right";
        let mut wrapped = vec![0; key.expose().len() + WRAP_BYTES];
        match self {
            DeviceKey::Short(device) => {
                let wrap = KwAes128::new_from_slice(device.expose()).expect(FITS);
                wrap.wrap_key(key.expose(), &mut wrapped).expect(FITS);
            }
            DeviceKey::Long(device) => {
                let wrap = KwAes256::new_from_slice(device.expose()).expect(FITS);
                wrap.wrap_key(key.expose(), &mut wrapped).expect(FITS);
            }
        }
        wrapped
    }

    /// The image key of a seal that was wrapped.
    ///
    /// # Errors
    /// [`SealError::OtherDeviceKey`] when it was not wrapped under this key, or is not as it was wrapped; then
    /// [`ImageKey::from_bytes`]'s.
    pub fn unwrap_key(&self, wrapped: &[u8], row: &Row) -> Result<ImageKey, SealError> {
        const FITS: &str = "16 or 32 bytes are a key";
        let mut bytes = Zeroizing::new(vec![0; wrapped.len().saturating_sub(WRAP_BYTES)]);
        let unwrapped = match self {
            DeviceKey::Short(device) => {
                let wrap = KwAes128::new_from_slice(device.expose()).expect(FITS);
                wrap.unwrap_key(wrapped, &mut bytes).map(<[u8]>::len)
            }
            DeviceKey::Long(device) => {
                let wrap = KwAes256::new_from_slice(device.expose()).expect(FITS);
                wrap.unwrap_key(wrapped, &mut bytes).map(<[u8]>::len)
            }
        };
        unwrapped.map_err(|_| SealError::OtherDeviceKey)?;
        ImageKey::from_bytes(row, &bytes)
    }
}

impl ImageKey {
    /// A fresh key for a seal.
    ///
    /// # Errors
    /// What the source of randomness says.
    pub fn random(row: &Row, randomness: &mut impl Randomness) -> io::Result<ImageKey> {
        match row.key_bytes {
            16 => Key::random(randomness).map(ImageKey::Short),
            _ => Key::random(randomness).map(ImageKey::Long),
        }
    }

    /// A copy of these bytes. The caller wipes the original, and never seals two images with it under one nonce.
    ///
    /// # Errors
    /// [`SealError::ImageKey`] when the seal wants another length; [`SealError::EqualHalves`] for XTS, whose two keys
    /// must differ (FIPS 140-3 implementation guidance, C.I).
    pub fn from_bytes(row: &Row, bytes: &[u8]) -> Result<ImageKey, SealError> {
        let wrong = SealError::ImageKey { found_bytes: bytes.len(), expected_bytes: row.key_bytes };
        if bytes.len() != row.key_bytes {
            return Err(wrong);
        }
        match (bytes.try_into(), bytes.try_into()) {
            (Ok(short), _) => Ok(ImageKey::Short(Key::copied_from(short))),
            (_, Ok(long)) => {
                let long: &[u8; 32] = long;
                let half = |half: &[u8]| Key::<16>::copied_from(half.try_into().expect("half of 32"));
                if half(&long[..16]) == half(&long[16..]) {
                    return Err(SealError::EqualHalves);
                }
                Ok(ImageKey::Long(Key::copied_from(long)))
            }
            _ => Err(wrong),
        }
    }

    /// The secret itself.
    pub fn expose(&self) -> &[u8] {
        match self {
            ImageKey::Short(key) => key.expose(),
            ImageKey::Long(key) => key.expose(),
        }
    }

    /// The key of the image's tags.
    pub fn tag_key(&self) -> Key<16> {
        image_tag_key(self.expose())
    }
}
