//! Integrity: tags over sealed lines, so that no line is taken that was not sealed, for this address, in this image.
//!
//! Owns: which lines a tag is for ([`Groups`]), and how it is made and checked ([`Authenticator`]). A tag is AES-CMAC
//! (SP 800-38B) under a key of its own, cut to its first 8 or 16 bytes, over
//!
//! ```text
//!   address of the first line 4 │ image version 4 │ image id 8 │ the sealed lines, 16 each
//! ```
//!
//! with numbers little-endian, and so over what is in memory, that it may be checked beside the decipher. A group is 1,
//! 4 or 8 lines that begin at a multiple of its length; where sealed memory begins or ends inside one, the tag is for
//! the lines that are sealed. No counters: lines are read and never written. The table of tags lies in the image's
//! memory, group after group by ascending address; the tag of a group is at `table + index · tag bytes`. What checking
//! costs, and when, is `chain`'s.
//!
//! What is enforced about versions: a line, a table or a description of one version does not match in a container that
//! says another, since its version is in each tag. A whole container of an older version, with its own tags, is sound:
//! it is refused where it is unlocked, when [`Expected::least_version`](crate::sealed::Expected) says so, and to
//! remember that number is the device's. An image without tags is as good a container, of any id and version that who
//! changes it likes: a device that expects tags, an id or a version takes none.

use aes::Aes128Enc;
use cipher::Key;
use cmac::{Cmac, KeyInit, Mac};

use crate::error::SealError;
use crate::lines::Extent;
use crate::seal::{LINE_BYTES, Line};

/// How long a tag is before it is cut.
pub const TAG_BYTES_MAX: usize = 16;
/// Begins the description's tag where lines have their address; no line begins there.
const DESCRIPTION: u32 = u32::MAX;

/// Which image it is, of which firmware.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImageName {
    /// Its version.
    pub version: u32,
    /// The firmware, or what else tells images apart.
    pub id: [u8; 8],
}

/// How much a tag is for, and how long it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Integrity {
    lines: u8,
    tag_bytes: u8,
}

impl Integrity {
    /// Tags of 8 or 16 bytes, over 1, 4 or 8 lines.
    ///
    /// # Errors
    /// [`SealError::Integrity`] for others.
    pub fn new(lines: u8, tag_bytes: u8) -> Result<Integrity, SealError> {
        if !matches!(lines, 1 | 4 | 8) || !matches!(tag_bytes, 8 | 16) {
            return Err(SealError::Integrity { lines, tag_bytes });
        }
        Ok(Integrity { lines, tag_bytes })
    }

    /// How many lines a tag is for.
    pub fn lines(self) -> u8 {
        self.lines
    }

    /// How long a tag is.
    pub fn tag_bytes(self) -> u8 {
        self.tag_bytes
    }

    fn group_bytes(self) -> u64 {
        u64::from(self.lines) * LINE_BYTES as u64
    }
}

/// The groups of lines of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups {
    integrity: Integrity,
    runs: Vec<Run>,
    count: u32,
}

/// Sealed lines without a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    first: u32,
    end: u64,
    /// The number of its first group.
    index: u32,
}

impl Groups {
    /// Of the pieces of memory that an image is made of.
    pub fn new(integrity: Integrity, extents: &[Extent]) -> Groups {
        let group_bytes = integrity.group_bytes();
        let (mut runs, mut count) = (Vec::new(), 0);
        for extent in extents.iter().filter(|extent| extent.is_sealed) {
            runs.push(Run { first: extent.first, end: extent.end, index: count });
            count += (extent.end.div_ceil(group_bytes) - u64::from(extent.first) / group_bytes) as u32;
        }
        Groups { integrity, runs, count }
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// How long the table of their tags is.
    pub fn table_bytes(&self) -> u64 {
        u64::from(self.count) * u64::from(self.integrity.tag_bytes)
    }

    /// The group of an address; `None` when nothing is sealed there.
    pub fn of_address(&self, address: u32) -> Option<u32> {
        let after = self.runs.partition_point(|run| run.first <= address);
        let run = self.runs.get(after.checked_sub(1)?)?;
        let number = |address: u32| u64::from(address) / self.integrity.group_bytes();
        (u64::from(address) < run.end).then(|| run.index + (number(address) - number(run.first)) as u32)
    }

    /// The first address and the length in bytes of a group.
    ///
    /// # Panics
    /// When there is no such group.
    pub fn place(&self, index: u32) -> (u32, u32) {
        assert!(index < self.count, "group {index} of {}", self.count);
        let run = self.runs[self.runs.partition_point(|run| run.index <= index) - 1];
        let group_bytes = self.integrity.group_bytes();
        let begin = (u64::from(run.first) / group_bytes + u64::from(index - run.index)) * group_bytes;
        let first = begin.max(run.first.into());
        (first as u32, ((begin + group_bytes).min(run.end) - first) as u32)
    }
}

/// Makes and checks tags under one key. The key is wiped when this is dropped.
pub struct Authenticator {
    mac: Box<Cmac<Aes128Enc>>,
    image: ImageName,
    integrity: Integrity,
}

impl Authenticator {
    /// Of the key of an image's tags.
    pub fn new(key: &Key<16>, image: ImageName, integrity: Integrity) -> Authenticator {
        let mac = Cmac::new_from_slice(key.expose()).expect("16 bytes are a key");
        Authenticator { mac: Box::new(mac), image, integrity }
    }

    /// How much a tag is for, and how long it is.
    pub fn integrity(&self) -> Integrity {
        self.integrity
    }

    /// The tag of sealed lines; as much of it as the tables hold counts.
    pub fn tag(&self, first: u32, lines: &[u8]) -> Vec<u8> {
        let mut tag = self.begun(first, lines).finalize().into_bytes().to_vec();
        tag.truncate(self.integrity.tag_bytes.into());
        tag
    }

    /// Whether that is the tag of sealed lines. It takes as long whether it is or not.
    pub fn is_tag(&self, first: u32, lines: &[u8], tag: &[u8]) -> bool {
        tag.len() == usize::from(self.integrity.tag_bytes)
            && self.begun(first, lines).verify_truncated_left(tag).is_ok()
    }

    /// The tag of what describes the image, whole.
    pub fn description_tag(&self, parts: &[&[u8]]) -> Line {
        self.description(parts).finalize().into_bytes().into()
    }

    /// Whether that is the tag of what describes the image.
    pub fn is_description_tag(&self, parts: &[&[u8]], tag: &Line) -> bool {
        self.description(parts).verify_slice(tag).is_ok()
    }

    fn begun(&self, first: u32, lines: &[u8]) -> Cmac<Aes128Enc> {
        let mut mac = (*self.mac).clone();
        let mut head = [0; LINE_BYTES];
        head[..4].copy_from_slice(&first.to_le_bytes());
        head[4..8].copy_from_slice(&self.image.version.to_le_bytes());
        head[8..].copy_from_slice(&self.image.id);
        mac.update(&head);
        mac.update(lines);
        mac
    }

    fn description(&self, parts: &[&[u8]]) -> Cmac<Aes128Enc> {
        let mut mac = self.begun(DESCRIPTION, &[]);
        parts.iter().for_each(|part| mac.update(part));
        mac
    }
}

impl std::fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Authenticator(..)")
    }
}
