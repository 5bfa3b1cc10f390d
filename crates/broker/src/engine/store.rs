//! The store: the persistent keys of a device, sealed, in a folder.
//!
//! Owns the bytes, what is believed of them, and the order in which they are written. What seals is `sealing`'s, what a
//! disk does is `disk`'s. A file, `keys`, holds a header and a record for each change; another one, `anchor`, perhaps in
//! another folder, says which record is the last that counts. Integers are little-endian.
//!
//! ```text
//! header:  0  8  "SvKeys1" and a zero                       anchor:  0  8  "SvAnchor"
//!          8  4  derivation of the key    `sealing`'s                8 16  id
//!         12 12  its numbers              `sealing`'s               24  8  generation
//!         24 16  id, random                                         32 32  chain
//!         40  8  generation of what this file continues             64 32  HMAC-SHA-256 of all before
//!         48 32  its chain
//!         80  4  founders: records that were written with the header
//!         84 32  HMAC-SHA-256 of all before
//! record:  0  4  sealed_bytes
//!          4  8  generation, one more than before
//!         12 32  salt
//!         44  n  AES-256-GCM of `kind 1 | handle 8 | attribute_bytes 2 | attributes | secret`, nonce 0, under HKDF's key
//!                of that salt; the chain before it and the 12 bytes at its start are authenticated with it
//! ```
//!
//! Header and records begin at multiples of 512 bytes, zeros between. The chain is SHA-256 of the header, and then of the
//! chain before and the record. Kinds are 1 a secret key, 2 a public one, 3 a key that is gone.
//!
//! A salt is HMAC of fresh randomness, the chain and what is sealed. So no two different messages ever meet one nonce under
//! one key: not when an old copy of the file is put back, and not when a machine is woken twice from one snapshot with
//! the same randomness.
//!
//! A change is a record, which is synced, and then an anchor, which is synced. Power that fails between leaves one record
//! behind the anchor, whole or not; nobody was told of it. When too much is gone the file is written anew beside the old
//! one and takes its name: its header names the chain that it continues, which the anchor still has.
//!
//! Invariant: a change that was answered is durable, and one for which there was no room leaves nothing. Of one that was
//! refused because the disk failed nobody knows what it left: until the file is written anew nothing is changed any more,
//! and the next opening counts what is there as a whole.
//! Invariant: what lacks a record that the anchor counts is not opened, and stays as it is.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use cipher::{OsRandomness, Randomness};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::keys::{Attributes, Key};
use super::material::{Material, Secret};
use crate::error::{Error, StoreFault};
use crate::limits::{STORE_BYTES_MAX, STORE_RECORDS_MAX};
use crate::wire::{KeyHandle, Status};

mod disk;
mod sealing;

pub use disk::{Disk, Folder};
use sealing::Seals;
pub use sealing::{Derivation, SealingKey};

const KEYS: &str = "keys";
const ANCHOR: &str = "anchor";
const KEYS_MAGIC: &[u8; 8] = b"SvKeys1\0";
const ANCHOR_MAGIC: &[u8; 8] = b"SvAnchor";
/// What a disk writes as a whole, so that a record that is being written damages none before it.
const SECTOR_BYTES: usize = 512;
const MAC_BYTES: usize = 32;
const HEADER_BYTES: usize = 84 + MAC_BYTES;
const ANCHOR_BYTES: usize = 64 + MAC_BYTES;
/// Of a record, what is before the salt, and before what is sealed.
const HEAD_BYTES: usize = 12;
const SALTED_BYTES: usize = HEAD_BYTES + 32;

/// Of what is sealed for a key, what is before its attributes.
const KEY_AT: usize = 11;

/// How far a store has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Point {
    generation: u64,
    chain: [u8; 32],
}

#[derive(Clone)]
struct Header {
    derivation: Derivation,
    id: [u8; 16],
    origin: Point,
    founders: u32,
}

/// What is sealed in a record.
type Plain = Zeroizing<Vec<u8>>;

/// What a log says.
struct Replay {
    /// Of each key that is there, what its record sealed.
    kept: BTreeMap<KeyHandle, Plain>,
    at: Point,
    end: usize,
    records: usize,
    /// The end of what the anchor counts, and how many records are behind that.
    anchored_end: Option<usize>,
    ahead: u64,
}

/// An open store.
pub struct Store {
    disk: Box<dyn Disk>,
    anchors: Box<dyn Disk>,
    randomness: Box<dyn Randomness + Send>,
    source: String,
    seals: Seals,
    header: Header,
    at: Point,
    end: u64,
    records: usize,
    /// Nobody knows what the disk has.
    is_broken: bool,
}

/// What was found when a store was opened.
pub struct Opened {
    /// The store.
    pub store: Store,
    /// Its keys.
    pub keys: Vec<(KeyHandle, Attributes, Material)>,
    /// Bytes of a change that was not finished, and was cut off.
    pub cut_bytes: u64,
    /// Records behind the anchor: 1 when power failed before it was moved, more when an old anchor was put back.
    pub ahead: u64,
}

impl Store {
    /// Opens the store in the folder at `path`, with its anchor in another folder, if one is named. What is not there is
    /// made.
    ///
    /// # Errors
    /// [`Error::Store`] or [`Error::Io`].
    pub fn in_folder(path: &Path, anchor: Option<&Path>, key: &SealingKey) -> Result<Opened, Error> {
        let folder = Folder::lock(path)?;
        let anchors = match anchor.filter(|anchor| *anchor != path) {
            Some(anchor) => Folder::lock(anchor)?,
            None => folder.clone(),
        };
        let opened = Store::open(Box::new(folder), Box::new(anchors), key, Derivation::PASSPHRASE);
        opened.map_err(|fault| Error::Store { path: path.to_owned(), fault })
    }

    /// Opens the store on `disk`, or makes one if there is none, with its anchor on `anchors`.
    ///
    /// # Errors
    /// What must not be believed, or what the system says.
    pub fn open(
        disk: Box<dyn Disk>,
        anchors: Box<dyn Disk>,
        key: &SealingKey,
        fresh: Derivation,
    ) -> Result<Opened, StoreFault> {
        Store::open_with(disk, anchors, key, fresh, Box::new(OsRandomness))
    }

    /// As [`open`](Self::open), with randomness from elsewhere.
    ///
    /// # Errors
    /// As `open`.
    pub fn open_with(
        disk: Box<dyn Disk>,
        anchors: Box<dyn Disk>,
        key: &SealingKey,
        fresh: Derivation,
        randomness: Box<dyn Randomness + Send>,
    ) -> Result<Opened, StoreFault> {
        let anchor = anchors.read(ANCHOR, ANCHOR_BYTES as u64)?;
        match (disk.read(KEYS, STORE_BYTES_MAX)?, anchor) {
            (Some(log), Some(anchor)) => Store::resume(disk, anchors, key, randomness, &log, &anchor),
            (Some(_), None) => Err(StoreFault::AnchorMissing),
            // An anchor of nothing is one whose store was not made to the end.
            (None, Some(anchor)) if anchor.get(24..32) != Some(&[0; 8]) => Err(StoreFault::KeysMissing),
            (None, _) => Store::make(disk, anchors, key, fresh, randomness),
        }
    }

    fn make(
        disk: Box<dyn Disk>,
        anchors: Box<dyn Disk>,
        key: &SealingKey,
        fresh: Derivation,
        mut randomness: Box<dyn Randomness + Send>,
    ) -> Result<Opened, StoreFault> {
        let mut id = [0; 16];
        randomness.fill(&mut id)?;
        let derivation = if key.is_passphrase() { fresh } else { Derivation::Given };
        let header = Header { derivation, id, origin: Point::default(), founders: 0 };
        let seals = Seals::derive(key, derivation, &id)?;
        let bytes = header.to_bytes(&seals);
        let mut store = Store {
            disk,
            anchors,
            randomness,
            source: key.source().to_owned(),
            at: header.start(&bytes),
            seals,
            header,
            end: bytes.len() as u64,
            records: 0,
            is_broken: false,
        };
        let anchor = store.anchor(store.at);
        store.anchors.prepare(ANCHOR, &anchor)?;
        store.anchors.place(ANCHOR)?;
        store.disk.prepare(KEYS, &bytes)?;
        store.disk.place(KEYS)?;
        Ok(Opened { store, keys: Vec::new(), cut_bytes: 0, ahead: 0 })
    }

    fn resume(
        mut disk: Box<dyn Disk>,
        mut anchors: Box<dyn Disk>,
        key: &SealingKey,
        randomness: Box<dyn Randomness + Send>,
        log: &[u8],
        anchor: &[u8],
    ) -> Result<Opened, StoreFault> {
        disk.discard(KEYS)?;
        anchors.discard(ANCHOR)?;
        let (header, seals) = Header::parse(log, key)?;
        let anchor = parse_anchor(anchor, &header.id, &seals)?;
        let replay = replay(log, &header, &seals, Some(anchor))?;
        let keys = replay.kept.iter().map(|(handle, plain)| {
            let (attributes, material) = parse_key(plain).ok_or(StoreFault::Unreadable)?;
            Ok((*handle, attributes, material))
        });
        let keys = keys.collect::<Result<Vec<_>, StoreFault>>()?;
        let mut store = Store {
            disk,
            anchors,
            randomness,
            source: key.source().to_owned(),
            seals,
            header,
            at: replay.at,
            end: replay.end as u64,
            records: replay.records,
            is_broken: false,
        };
        let cut_bytes = log.len().saturating_sub(replay.end) as u64;
        let anchored_end = replay.anchored_end.expect("what has no such end is not followed");
        if log.len() > anchored_end {
            // Written again, not only synced: pages whose writing failed once count as clean.
            let mut behind = log[anchored_end..].to_vec();
            behind.resize(replay.end - anchored_end, 0);
            store.disk.write(KEYS, anchored_end as u64, &behind)?;
        }
        if store.at != anchor {
            store.move_anchor()?;
        }
        if replay.records > replay.kept.len() {
            match store.compact(&replay.kept) {
                Err(StoreFault::Io(cause)) if is_full(&cause) && !store.is_broken => {}
                done => done?,
            }
        }
        Ok(Opened { store, keys, cut_bytes, ahead: replay.ahead })
    }

    /// What the sealing key comes from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Keeps a key; it is durable when this returns.
    ///
    /// # Errors
    /// [`Status::StoreFull`], or [`Status::DeviceFault`] when the disk fails; the key is not there then.
    pub fn keep(&mut self, handle: KeyHandle, key: &Key) -> Result<(), Status> {
        let (kind, bytes) = match key.material.is_public() {
            true => (2, key.material.public()?),
            false => (1, key.material.secret()?),
        };
        let attributes = key.attributes.to_bytes();
        // Room for everything at once: a vector that grows leaves copies behind.
        let mut plain = Plain::new(Vec::with_capacity(KEY_AT + attributes.len() + bytes.len()));
        plain.push(kind);
        plain.extend(handle.0.to_le_bytes());
        plain.extend((attributes.len() as u16).to_le_bytes());
        plain.extend(attributes);
        plain.extend(bytes);
        self.commit(&plain)
    }

    /// Forgets a key, for ever when this returns. Its record leaves the file at the next start.
    ///
    /// # Errors
    /// As [`keep`](Self::keep); the key is still there then.
    pub fn forget(&mut self, handle: KeyHandle) -> Result<(), Status> {
        self.commit(&[&[3][..], &handle.0.to_le_bytes()].concat())
    }

    fn commit(&mut self, plain: &[u8]) -> Result<(), Status> {
        if !self.is_broken && self.records >= STORE_RECORDS_MAX {
            self.compact_again().map_err(|fault| refusal(&fault))?;
        }
        if self.is_broken {
            return Err(Status::DeviceFault);
        }
        let (record, next) = self.seals.seal(self.at, plain, &mut *self.randomness)?;
        // What may not fit is written before anything changes.
        let anchor = self.anchor(next);
        self.anchors.prepare(ANCHOR, &anchor).map_err(|cause| refusal(&cause.into()))?;
        if let Err(cause) = self.disk.write(KEYS, self.end, &record) {
            // After a failed sync nobody knows what the disk has; a full one is as it was without the beginning of this.
            self.is_broken = !is_full(&cause) || self.disk.write(KEYS, self.end, &[]).is_err();
            return Err(refusal(&cause.into()));
        }
        if self.anchors.place(ANCHOR).is_err() {
            self.is_broken = true;
            return Err(Status::DeviceFault);
        }
        self.at = next;
        self.end += record.len() as u64;
        self.records += 1;
        Ok(())
    }

    fn anchor(&self, at: Point) -> Vec<u8> {
        let generation = at.generation.to_le_bytes();
        let mut bytes = [ANCHOR_MAGIC, &self.header.id[..], &generation, &at.chain].concat();
        bytes.extend(self.seals.authenticate(&bytes));
        bytes
    }

    fn move_anchor(&mut self) -> Result<(), StoreFault> {
        let anchor = self.anchor(self.at);
        self.anchors.prepare(ANCHOR, &anchor)?;
        Ok(self.anchors.place(ANCHOR)?)
    }

    fn compact_again(&mut self) -> Result<(), StoreFault> {
        let log = self.disk.read(KEYS, STORE_BYTES_MAX)?.ok_or(StoreFault::KeysMissing)?;
        let replay = replay(&log, &self.header, &self.seals, None)?;
        if replay.at != self.at {
            return Err(StoreFault::Damaged { at: replay.end as u64 });
        }
        self.compact(&replay.kept)
    }

    /// Writes the file anew, with what is kept.
    fn compact(&mut self, kept: &BTreeMap<KeyHandle, Plain>) -> Result<(), StoreFault> {
        let header = Header { origin: self.at, founders: kept.len() as u32, ..self.header.clone() };
        let mut bytes = header.to_bytes(&self.seals);
        let mut at = header.start(&bytes);
        for plain in kept.values() {
            let sealed = self.seals.seal(at, plain, &mut *self.randomness);
            let (record, next) = sealed.map_err(|_| StoreFault::Unreadable)?;
            bytes.extend(record);
            at = next;
        }
        self.disk.prepare(KEYS, &bytes)?;
        self.is_broken = true;
        self.disk.place(KEYS)?;
        (self.header, self.at, self.end, self.records) = (header, at, bytes.len() as u64, kept.len());
        self.move_anchor()?;
        self.is_broken = false;
        Ok(())
    }
}

/// Whether there is no room, so that the same may succeed later.
fn is_full(cause: &io::Error) -> bool {
    matches!(cause.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

fn refusal(fault: &StoreFault) -> Status {
    match fault {
        StoreFault::Io(cause) if is_full(cause) => Status::StoreFull,
        _ => Status::DeviceFault,
    }
}

impl Header {
    fn to_bytes(&self, seals: &Seals) -> Vec<u8> {
        let mut bytes = KEYS_MAGIC.to_vec();
        bytes.extend(self.derivation.to_bytes());
        bytes.extend(self.id);
        bytes.extend(self.origin.generation.to_le_bytes());
        bytes.extend(self.origin.chain);
        bytes.extend(self.founders.to_le_bytes());
        bytes.extend(seals.authenticate(&bytes));
        bytes.resize(SECTOR_BYTES, 0);
        bytes
    }

    fn parse(log: &[u8], key: &SealingKey) -> Result<(Header, Seals), StoreFault> {
        let bytes: &[u8; HEADER_BYTES] = log.first_chunk().ok_or(StoreFault::Alien)?;
        if !bytes.starts_with(KEYS_MAGIC) {
            return Err(StoreFault::Alien);
        }
        let derivation = Derivation::parse(&bytes[8..24]).ok_or(StoreFault::Alien)?;
        let id = array(&bytes[24..40]);
        let seals = Seals::derive(key, derivation, &id)?;
        let (said, mac) = bytes.split_at(HEADER_BYTES - MAC_BYTES);
        if !seals.is_authentic(said, mac) {
            return Err(StoreFault::OtherKey);
        }
        let origin =
            Point { generation: u64::from_le_bytes(array(&bytes[40..48])), chain: array(&bytes[48..80]) };
        let founders = u32::from_le_bytes(array(&bytes[80..84]));
        Ok((Header { derivation, id, origin, founders }, seals))
    }

    /// Where the chain begins. A file is itself a change of what it continues.
    fn start(&self, bytes: &[u8]) -> Point {
        let is_first = self.origin == Point::default();
        Point {
            generation: self.origin.generation + u64::from(!is_first),
            chain: Sha256::digest(&bytes[..HEADER_BYTES]).into(),
        }
    }
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("the caller cut as many")
}

fn parse_anchor(bytes: &[u8], id: &[u8; 16], seals: &Seals) -> Result<Point, StoreFault> {
    let bytes: &[u8; ANCHOR_BYTES] = bytes.try_into().map_err(|_| StoreFault::AnchorDamaged)?;
    let (said, mac) = bytes.split_at(ANCHOR_BYTES - MAC_BYTES);
    if !said.starts_with(ANCHOR_MAGIC) {
        return Err(StoreFault::AnchorDamaged);
    }
    if said[8..24] != id[..] {
        return Err(StoreFault::AnchorOfAnother);
    }
    if !seals.is_authentic(said, mac) {
        return Err(StoreFault::AnchorDamaged);
    }
    Ok(Point { generation: u64::from_le_bytes(array(&said[24..32])), chain: array(&said[32..]) })
}

/// What a record of a key sealed.
fn parse_key(plain: &[u8]) -> Option<(Attributes, Material)> {
    let attribute_bytes = u16::from_le_bytes(*plain.get(KEY_AT - 2..)?.first_chunk()?);
    let (attributes, bytes) = plain[KEY_AT..].split_at_checked(attribute_bytes.into())?;
    let attributes = Attributes::parse(attributes).ok()?;
    let algorithm = attributes.template.algorithm;
    let material = match plain[0] {
        1 => Material::import(algorithm, Secret::new(bytes.to_vec())),
        _ => Material::import_public(algorithm, bytes),
    };
    Some((attributes, material.ok()?))
}

/// Follows the records as far as they are good. Without an anchor all of them count.
fn replay(log: &[u8], header: &Header, seals: &Seals, anchor: Option<Point>) -> Result<Replay, StoreFault> {
    let mut replay = Replay {
        kept: BTreeMap::new(),
        at: header.start(log),
        end: SECTOR_BYTES,
        records: 0,
        anchored_end: None,
        ahead: 0,
    };
    loop {
        // What was written with the header counts as a whole, and so does what the file continues.
        let is_founded = replay.records >= header.founders as usize;
        let counts = |anchor: Point| anchor == replay.at || anchor.chain == header.origin.chain;
        if is_founded && replay.anchored_end.is_none() && anchor.is_none_or(counts) {
            replay.anchored_end = Some(replay.end);
        }
        let Some((plain, next, bytes)) = seals.open(replay.at, log.get(replay.end..).unwrap_or_default())
        else {
            break;
        };
        replay.ahead += u64::from(replay.anchored_end.is_some());
        let handle = KeyHandle(u64::from_le_bytes(array(&plain[1..9])));
        match plain[0] {
            3 => drop(replay.kept.remove(&handle)),
            _ => drop(replay.kept.insert(handle, plain)),
        }
        replay.at = next;
        replay.end += bytes;
        replay.records += 1;
    }
    let (found, expected) = (replay.at.generation, anchor.map_or(0, |anchor| anchor.generation));
    match replay.anchored_end {
        // Nobody was told of what is behind: it was not finished.
        Some(_) => Ok(replay),
        None if replay.end < log.len() => Err(StoreFault::Damaged { at: replay.end as u64 }),
        None if found < expected => Err(StoreFault::RolledBack { found, expected }),
        None => Err(StoreFault::Forked { generation: expected }),
    }
}
