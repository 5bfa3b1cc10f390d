//! Every derivation of one key from another: HKDF-SHA256 (RFC 5869) without a salt.
//!
//! One label per purpose, with a version in it, so that no two purposes ever share a key. Integers are
//! little-endian. AWS-LC does the HKDF because it keeps the intermediate key in memory that it wipes.
//!
//! Invariant: no derived key tells anything about its master or its siblings; a cell key opens no frame, and
//! a node's traffic key opens no other node's, epoch's or suite's.

use std::fmt;
use std::io;

use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Salt};

use crate::error::{Error, Rejected};
use crate::keys::Key;
use crate::nonces::{Randomness, beacon_nonce, node_nonce};
use crate::suites::{Aead, Suite, Tag};

/// The master key of one node; only the server and whoever provisions the node hold it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeMaster(Key<32>);

/// The master key of one cell, held by its gateway and the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellMaster(Key<32>);

/// The master key of one store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreMaster(Key<32>);

impl NodeMaster {
    /// The key of a node's frames of one epoch, in both directions:
    /// `HKDF(master, "selvedge node v1" | node 4 | epoch 1 | suite 1) = key 16 | iv 16`.
    ///
    /// # Panics
    /// When the node link does not speak `suite`.
    pub fn traffic_key(&self, node: u32, epoch: u8, suite: Suite) -> TrafficKey {
        let number =
            suite.row().node_number.unwrap_or_else(|| panic!("{suite} is no suite of the node link"));
        let info: [&[u8]; 4] = [b"selvedge node v1", &node.to_le_bytes(), &[epoch], &[number]];
        let material: Key<32> = hkdf_sha256(&[], self.0.expose(), &info);
        let (key, iv) = material.expose().split_at(16);
        TrafficKey {
            node,
            epoch,
            aead: Aead::new(suite, key),
            key: Key::filled_by(|bytes| bytes.copy_from_slice(key)),
            iv: Key::filled_by(|bytes| bytes.copy_from_slice(iv)),
        }
    }
}

impl CellMaster {
    /// The key of a cell's beacons: `HKDF(master, "selvedge beacon v1" | cell 2)`, 16 bytes.
    pub fn cell_key(&self, cell: u16) -> CellKey {
        let key = hkdf_sha256(&[], self.0.expose(), &[b"selvedge beacon v1", &cell.to_le_bytes()]);
        CellKey { cell, aead: Aead::new(Suite::AsconAead128, Key::<16>::expose(&key)), key }
    }

    /// The AES-256-GCM key of a cell's batches: `HKDF(master, "selvedge batch v1" | cell 2)`.
    pub fn batch_key(&self, cell: u16) -> Key<32> {
        hkdf_sha256(&[], self.0.expose(), &[b"selvedge batch v1", &cell.to_le_bytes()])
    }

    /// The AES-256-GCM key of the receipts for a cell's batches: `HKDF(master, "selvedge receipt v1" | cell 2)`.
    pub fn receipt_key(&self, cell: u16) -> Key<32> {
        hkdf_sha256(&[], self.0.expose(), &[b"selvedge receipt v1", &cell.to_le_bytes()])
    }
}

impl StoreMaster {
    /// The AES-256-GCM key of one segment of the store: `HKDF(master, "selvedge segment v1" | segment 32)`.
    pub fn segment_key(&self, segment: &[u8; 32]) -> Key<32> {
        hkdf_sha256(&[], self.0.expose(), &[b"selvedge segment v1", segment])
    }
}

/// The AES-CMAC key of the tags of a sealed firmware image: `HKDF(image key, "selvedge image tags v1")`. The image key
/// itself seals lines, in the hardware's own way.
pub fn image_tag_key(image_key: &[u8]) -> Key<16> {
    hkdf_sha256(&[], image_key, &[b"selvedge image tags v1"])
}

/// A master key comes from a file, from randomness, or from a key that is at hand.
macro_rules! master {
    ($($name:ident)*) => {$(
        impl $name {
            /// Reads the contents of a key file, see [`Key::from_key_file`].
            ///
            /// # Errors
            /// [`Error::KeyFileLength`] or [`Error::KeyFileDigits`].
            pub fn from_key_file(contents: &[u8]) -> Result<Self, Error> {
                Key::from_key_file(contents).map($name)
            }

            /// A fresh master key.
            ///
            /// # Errors
            /// What the source of randomness says.
            pub fn random(randomness: &mut impl Randomness) -> io::Result<Self> {
                Key::random(randomness).map($name)
            }

            /// The key, for writing its file.
            pub fn key(&self) -> &Key<32> {
                &self.0
            }
        }

        impl From<Key<32>> for $name {
            fn from(key: Key<32>) -> Self {
                $name(key)
            }
        }
    )*};
}

master! { NodeMaster CellMaster StoreMaster }

/// Seals and opens the frames of one node, epoch and suite, and makes their nonces.
pub struct TrafficKey {
    node: u32,
    epoch: u8,
    aead: Aead,
    key: Key<16>,
    iv: Key<16>,
}

impl TrafficKey {
    /// Encrypts a frame's plaintext in place. `associated_data` is the frame's header.
    ///
    /// The caller never uses one `counter` twice; its bit 31 is the direction.
    ///
    /// # Panics
    /// When `buffer` is longer than the suite allows.
    pub fn seal(&self, counter: u32, associated_data: &[u8], buffer: &mut [u8]) -> Tag {
        let nonce = node_nonce(self.iv.expose(), self.node, self.epoch, counter);
        self.aead.seal(&nonce[..self.suite().row().nonce_bytes], associated_data, buffer)
    }

    /// Decrypts a frame's ciphertext in place.
    ///
    /// # Errors
    /// [`Rejected`]; `buffer` is zeros then.
    pub fn open(
        &self,
        counter: u32,
        associated_data: &[u8],
        buffer: &mut [u8],
        tag: &[u8],
    ) -> Result<(), Rejected> {
        let nonce = node_nonce(self.iv.expose(), self.node, self.epoch, counter);
        self.aead.open(&nonce[..self.suite().row().nonce_bytes], associated_data, buffer, tag)
    }

    /// The suite.
    pub fn suite(&self) -> Suite {
        self.aead.suite()
    }

    /// The epoch.
    pub fn epoch(&self) -> u8 {
        self.epoch
    }

    /// The cipher's key, for provisioning the node.
    pub fn key(&self) -> &Key<16> {
        &self.key
    }

    /// What the nonces are made from, for provisioning the node. As secret as the key.
    pub fn iv(&self) -> &Key<16> {
        &self.iv
    }
}

impl fmt::Debug for TrafficKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TrafficKey(node {}, epoch {}, {}, ..)", self.node, self.epoch, self.suite())
    }
}

/// Authenticates the beacons of one cell: Ascon-AEAD128 of nothing, with the beacon as associated data.
pub struct CellKey {
    cell: u16,
    aead: Aead,
    key: Key<16>,
}

impl CellKey {
    /// The tag of the beacon that opens `superframe`; `beacon` is everything before the tag.
    pub fn beacon_tag(&self, superframe: u32, beacon: &[u8]) -> Tag {
        self.aead.seal(&beacon_nonce(self.cell, superframe), beacon, &mut [])
    }

    /// Checks a beacon's tag.
    ///
    /// # Errors
    /// [`Rejected`].
    pub fn check_beacon(&self, superframe: u32, beacon: &[u8], tag: &[u8]) -> Result<(), Rejected> {
        self.aead.open(&beacon_nonce(self.cell, superframe), beacon, &mut [], tag)
    }

    /// The cell key itself, for provisioning nodes.
    pub fn key(&self) -> &Key<16> {
        &self.key
    }
}

impl fmt::Debug for CellKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CellKey(cell {}, ..)", self.cell)
    }
}

/// The length of a key to derive, as AWS-LC asks for it.
struct Bytes<const N: usize>;

impl<const N: usize> KeyType for Bytes<N> {
    fn len(&self) -> usize {
        N
    }
}

/// HKDF-SHA256 with `info` given in parts.
fn hkdf_sha256<const N: usize>(salt: &[u8], master: &[u8], info: &[&[u8]]) -> Key<N> {
    const LENGTH: &str = "keys are shorter than 255 hashes";
    let intermediate = Salt::new(HKDF_SHA256, salt).extract(master);
    let expansion = intermediate.expand(info, Bytes::<N>).expect(LENGTH);
    Key::filled_by(|key| expansion.fill(key).expect(LENGTH))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors;

    /// The lengths that occur in the vectors, as constants.
    fn hkdf_of_length(vector: &vectors::HkdfVector) -> Option<Vec<u8>> {
        fn run<const N: usize>(vector: &vectors::HkdfVector) -> Option<Vec<u8>> {
            // In two parts, as the derivations give it.
            let info = vector.info.split_at(vector.info.len() / 2);
            Some(hkdf_sha256::<N>(&vector.salt, &vector.ikm, &[info.0, info.1]).expose().to_vec())
        }
        match vector.okm.len() {
            16 => run::<16>(vector),
            20 => run::<20>(vector),
            32 => run::<32>(vector),
            40 => run::<40>(vector),
            42 => run::<42>(vector),
            64 => run::<64>(vector),
            82 => run::<82>(vector),
            _ => None,
        }
    }

    #[test]
    fn hkdf_meets_the_official_vectors() {
        let mut met = 0;
        for vector in vectors::hkdf() {
            if let Some(okm) = hkdf_of_length(&vector) {
                assert_eq!(okm, vector.okm, "the vector at line {}", vector.line);
                met += 1;
            }
        }
        let lengths = vectors::hkdf().iter().map(|vector| vector.okm.len()).collect::<Vec<_>>();
        assert!(met > 3, "only {met} vectors of lengths {lengths:?}");
    }
}
