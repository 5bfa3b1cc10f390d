//! What seals a store: keys that are derived from what its owner gives, and records under them.
//!
//! The derivation, of which a header says all but the secret: `kind 1 | zeros 3 | memory_kib 4 | passes 4 | lanes 4`. Kind 0
//! is a key of 32 bytes that is given; kind 1 is Argon2id (RFC 9106) of a passphrase, the store's id being the salt. From
//! that key HKDF makes, with the id as salt, one key for records, one for their salts, and one that authenticates headers
//! and anchors.

use argon2::{Algorithm, Argon2, Params, Version};
use aws_lc_rs::hmac;
use cipher::{Aead, Key, Randomness, Suite};
use sha2::{Digest, Sha256};

use super::{HEAD_BYTES, Plain, Point, SALTED_BYTES, SECTOR_BYTES};
use crate::engine::digest::{Hash, hkdf};
use crate::engine::material::Secret;
use crate::error::StoreFault;
use crate::limits::{
    ARGON2_LANES_MAX, ARGON2_MEMORY_KIB_MAX, ARGON2_PASSES_MAX, STORE_SEALED_BYTES_MAX,
    STORE_SOURCE_BYTES_MAX, TAG_BYTES,
};
use crate::wire::Status;

/// Each record has a key of its own.
const NONCE: [u8; 12] = [0; 12];
/// A kind and a handle.
const PLAIN_BYTES_MIN: usize = 9;

/// What a store is sealed under, and what that came from.
pub struct SealingKey {
    secret: Given,
    source: String,
}

enum Given {
    Key(Key<32>),
    Passphrase(Secret),
}

impl SealingKey {
    /// A key, and where it came from, in words that may be shown; those over their limit are not kept.
    pub fn new(key: Key<32>, mut source: String) -> SealingKey {
        source.truncate(source.floor_char_boundary(STORE_SOURCE_BYTES_MAX));
        SealingKey { secret: Given::Key(key), source }
    }

    /// What a person remembers.
    pub fn passphrase(passphrase: Secret) -> SealingKey {
        SealingKey { secret: Given::Passphrase(passphrase), source: "passphrase".to_owned() }
    }

    /// Where it came from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether it is a passphrase.
    pub fn is_passphrase(&self) -> bool {
        matches!(self.secret, Given::Passphrase(_))
    }
}

/// How a store's key follows from what is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Derivation {
    /// It is given.
    Given,
    /// Argon2id.
    Argon2id {
        /// Memory, in KiB.
        memory_kib: u32,
        /// How often that is passed over.
        passes: u32,
        /// Lanes.
        lanes: u32,
    },
}

impl Derivation {
    /// For a passphrase: RFC 9106's second choice, 64 MiB.
    pub const PASSPHRASE: Derivation = Derivation::Argon2id { memory_kib: 64 * 1024, passes: 3, lanes: 4 };

    pub(super) fn to_bytes(self) -> [u8; 16] {
        let numbers = match self {
            Derivation::Given => [0; 4],
            Derivation::Argon2id { memory_kib, passes, lanes } => [1, memory_kib, passes, lanes],
        };
        let mut bytes = [0; 16];
        for (field, number) in bytes.chunks_exact_mut(4).zip(numbers) {
            field.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    /// Nothing here is authentic yet, so numbers that would take all memory are none.
    pub(super) fn parse(bytes: &[u8]) -> Option<Derivation> {
        let (numbers, _) = bytes.as_chunks::<4>();
        let numbers: Vec<u32> = numbers.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
        match numbers[..] {
            [0, 0, 0, 0] => Some(Derivation::Given),
            [1, memory_kib, passes, lanes]
                if memory_kib <= ARGON2_MEMORY_KIB_MAX
                    && passes <= ARGON2_PASSES_MAX
                    && lanes <= ARGON2_LANES_MAX =>
            {
                Some(Derivation::Argon2id { memory_kib, passes, lanes })
            }
            _ => None,
        }
    }

    fn derive(self, given: &Given, id: &[u8; 16]) -> Result<Key<32>, StoreFault> {
        match (self, given) {
            (Derivation::Given, Given::Key(key)) => Ok(key.clone()),
            (Derivation::Argon2id { memory_kib, passes, lanes }, Given::Passphrase(passphrase)) => {
                let parameters = Params::new(memory_kib, passes, lanes, Some(32));
                let parameters = parameters.map_err(|_| StoreFault::Alien)?;
                let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, parameters);
                let mut done = Ok(());
                let key = Key::filled_by(|key| done = argon2.hash_password_into(passphrase, id, key));
                done.map(|()| key).map_err(|_| StoreFault::Alien)
            }
            (Derivation::Given, Given::Passphrase(_)) => Err(StoreFault::NoPassphrase),
            (Derivation::Argon2id { .. }, Given::Key(_)) => Err(StoreFault::Passphrase),
        }
    }
}

/// The keys of a store.
pub(super) struct Seals {
    records: Key<32>,
    salts: hmac::Key,
    headers: hmac::Key,
}

impl Seals {
    pub(super) fn derive(
        key: &SealingKey,
        derivation: Derivation,
        id: &[u8; 16],
    ) -> Result<Seals, StoreFault> {
        let master = derivation.derive(&key.secret, id)?;
        let derived = |purpose: &[u8]| {
            let mut derived = Ok(());
            let key = Key::<32>::filled_by(|key| {
                derived = hkdf(Hash::Sha256, id, master.expose(), &[b"selvedge key store ", purpose], key);
            });
            derived.map(|()| key).map_err(|_| StoreFault::Unreadable)
        };
        Ok(Seals {
            records: derived(b"records")?,
            salts: hmac::Key::new(hmac::HMAC_SHA256, derived(b"salts")?.expose()),
            headers: hmac::Key::new(hmac::HMAC_SHA256, derived(b"headers")?.expose()),
        })
    }

    pub(super) fn authenticate(&self, said: &[u8]) -> Vec<u8> {
        hmac::sign(&self.headers, said).as_ref().to_vec()
    }

    pub(super) fn is_authentic(&self, said: &[u8], mac: &[u8]) -> bool {
        hmac::verify(&self.headers, said, mac).is_ok()
    }

    fn aead(&self, salt: &[u8]) -> Result<Aead, Status> {
        let mut key = Secret::new(vec![0; 32]);
        hkdf(Hash::Sha256, salt, self.records.expose(), &[b"record"], &mut key)?;
        Ok(Aead::new(Suite::Aes256Gcm, &key))
    }

    /// The record of `plain`, to the end of its last sector, and how far the store has come with it.
    pub(super) fn seal(
        &self,
        at: Point,
        plain: &[u8],
        randomness: &mut dyn Randomness,
    ) -> Result<(Vec<u8>, Point), Status> {
        let mut fresh = [0; 32];
        randomness.fill(&mut fresh).map_err(|_| Status::DeviceFault)?;
        let mut salt = hmac::Context::with_key(&self.salts);
        [&fresh[..], &at.chain, plain].iter().for_each(|part| salt.update(part));
        let salt = salt.sign();
        let generation = at.generation + 1;
        let sealed_bytes = plain.len() + TAG_BYTES as usize;
        // Room for everything at once: what is written here is a secret until it is sealed.
        let mut record = Vec::with_capacity((SALTED_BYTES + sealed_bytes).next_multiple_of(SECTOR_BYTES));
        record.extend((sealed_bytes as u32).to_le_bytes());
        record.extend(generation.to_le_bytes());
        record.extend(salt.as_ref());
        record.extend(plain);
        let associated_data = [&at.chain[..], &record[..HEAD_BYTES]].concat();
        let tag = self.aead(salt.as_ref())?.seal(&NONCE, &associated_data, &mut record[SALTED_BYTES..]);
        record.extend(tag.as_ref());
        let next = Point { generation, chain: link(&at, &record) };
        record.resize(record.len().next_multiple_of(SECTOR_BYTES), 0);
        Ok((record, next))
    }

    /// What the record at the start of `bytes` sealed, how far the store has come with it, and its length.
    pub(super) fn open(&self, at: Point, bytes: &[u8]) -> Option<(Plain, Point, usize)> {
        let sealed_bytes = u32::from_le_bytes(*bytes.first_chunk()?) as usize;
        let generation = u64::from_le_bytes(*bytes.get(4..)?.first_chunk()?);
        let least = PLAIN_BYTES_MIN + TAG_BYTES as usize;
        if !(least..=STORE_SEALED_BYTES_MAX).contains(&sealed_bytes) || generation != at.generation + 1 {
            return None;
        }
        let record = bytes.get(..SALTED_BYTES + sealed_bytes)?;
        let (plain, tag) = record[SALTED_BYTES..].split_at(sealed_bytes - TAG_BYTES as usize);
        let mut plain = Plain::new(plain.to_vec());
        let associated_data = [&at.chain[..], &record[..HEAD_BYTES]].concat();
        let aead = self.aead(&record[HEAD_BYTES..SALTED_BYTES]).ok()?;
        aead.open(&NONCE, &associated_data, &mut plain, tag).ok()?;
        let next = Point { generation, chain: link(&at, record) };
        Some((plain, next, record.len().next_multiple_of(SECTOR_BYTES)))
    }
}

/// The chain behind a record.
fn link(before: &Point, record: &[u8]) -> [u8; 32] {
    Sha256::new().chain_update(before.chain).chain_update(record).finalize().into()
}
