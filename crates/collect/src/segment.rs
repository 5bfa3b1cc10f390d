//! The segment file: its bytes, how its groups are sealed, and where a file stops being one.
//!
//! A store is a row of segments, `0000000000000000.seg` and on. A segment is a header and then groups, each
//! at a multiple of the sector:
//! ```text
//! header, one sector            group, whole sectors
//!  0  8  "SELVEDGE"              0  4  "SvGr"
//!  8  2  version 1               4  4  bytes of the records
//! 10  1  sector, as log2         8  8  index of the first record
//! 11  5  zeros                  16  4  number of records
//! 16 16  segment id (random)    20  4  zeros
//! 32 16  store id (random)      24  .  records, each:  4 bytes n | n sealed body | 16 tag
//! 48  8  number                  .  .  zeros to the end of the sector
//! 56 16  id of the segment before, and
//! 72  8  where its last group ended (both 0 in segment 0)
//! 80  8  when it was made, ns since 1970
//! 88 16  tag of bytes 0 to 87
//! ```
//! The key is derived from the store's master key and the segment id; the cipher is AES-256-GCM. The nonce of
//! a record is `index 8 | zeros 4`, of the header `2^64 - 1 | zeros 4`; a record's associated data is the
//! header and the head of its group. So a group is whole or it is not one, in this place of this segment
//! only.
//!
//! Invariant: no nonce is used twice under one key. A process only appends to segments that it made itself,
//! under an id it drew itself, and an index is spent when it is sealed, whether or not the write succeeds.
//!
//! Invariant: a group begins only after everything before it was synced. So a broken group with no whole
//! group behind it is a torn tail, of which nothing was acknowledged; with one behind it, it is damage. What
//! cannot be told from a torn tail is damage to the very last group of the very last segment.
//!
//! Invariant: no sector holds bytes of two groups, so that a sector lost while it is written takes no
//! acknowledged byte with it.
//!
//! Owns bytes and keys; leaves files and the order of syncs to `store`.

use std::fmt;

use cipher::{Aead, StoreMaster, Suite};
use zeroize::Zeroizing;

use crate::error::Corruption;
use crate::limits::{RECORD_BODY_BYTES_MAX, RECORD_BYTES_MAX, SECTOR_BYTES};

const MAGIC: &[u8; 8] = b"SELVEDGE";
const VERSION: u16 = 1;
/// Bytes of a segment's header, tag included.
pub const HEADER_BYTES: usize = 104;
const HEADER_CLEAR_BYTES: usize = 88;
const GROUP_MAGIC: &[u8; 4] = b"SvGr";
/// Bytes of a group before its records.
pub const GROUP_HEAD_BYTES: usize = 24;
const LENGTH_BYTES: usize = 4;
const TAG_BYTES: usize = 16;
/// The nonce's index for the header, which no record reaches.
const HEADER_INDEX: u64 = u64::MAX;

const _: () = assert!(HEADER_BYTES <= *SECTOR_BYTES.start());

/// The clear part of a segment's header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Alignment of groups.
    pub sector_bytes: usize,
    /// Names the segment's key.
    pub id: [u8; 16],
    /// Names the store.
    pub store: [u8; 16],
    /// The segment's place in the store, from 0.
    pub number: u64,
    /// The id of the segment before; zeros in segment 0.
    pub before: [u8; 16],
    /// Where the last group of the segment before ended, in bytes; 0 in segment 0.
    pub before_bytes: u64,
    /// When the segment was made, in nanoseconds since 1970.
    pub made_ns: u64,
}

/// The name of segment `number`.
pub fn file_name(number: u64) -> String {
    format!("{number:016x}.seg")
}

/// The number in a segment's name; `None` for other names.
pub fn file_number(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".seg")?;
    let number = u64::from_str_radix(digits, 16).ok()?;
    (file_name(number) == name).then_some(number)
}

/// The next multiple of the sector.
pub fn align(at: u64, sector_bytes: usize) -> u64 {
    at.next_multiple_of(sector_bytes as u64)
}

/// Bytes of the group that holds `bodies`, without its padding.
pub fn group_bytes(bodies: &[Zeroizing<Vec<u8>>]) -> u64 {
    (GROUP_HEAD_BYTES + records_bytes(bodies)) as u64
}

fn records_bytes(bodies: &[Zeroizing<Vec<u8>>]) -> usize {
    bodies.iter().map(|body| LENGTH_BYTES + body.len() + TAG_BYTES).sum()
}

/// The nonce of the record with this index.
fn nonce(index: u64) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[..8].copy_from_slice(&index.to_le_bytes());
    nonce
}

/// A segment's header and its key: seals groups and opens them.
pub struct Segment {
    header: Header,
    header_bytes: [u8; HEADER_BYTES],
    aead: Aead,
}

impl Segment {
    /// The segment that `header` describes.
    pub fn new(header: Header, master: &StoreMaster) -> Segment {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..10].copy_from_slice(&VERSION.to_le_bytes());
        bytes[10] = header.sector_bytes.trailing_zeros() as u8;
        bytes[16..32].copy_from_slice(&header.id);
        bytes[32..48].copy_from_slice(&header.store);
        bytes[48..56].copy_from_slice(&header.number.to_le_bytes());
        bytes[56..72].copy_from_slice(&header.before);
        bytes[72..80].copy_from_slice(&header.before_bytes.to_le_bytes());
        bytes[80..88].copy_from_slice(&header.made_ns.to_le_bytes());
        let aead = Aead::new(Suite::Aes256Gcm, master.segment_key(&header.id).expose());
        let tag = aead.seal(&nonce(HEADER_INDEX), &bytes[..HEADER_CLEAR_BYTES], &mut []);
        bytes[HEADER_CLEAR_BYTES..].copy_from_slice(tag.as_ref());
        Segment { header, header_bytes: bytes, aead }
    }

    /// Reads the header at the front of a segment file.
    ///
    /// # Errors
    /// [`Corruption::Header`] or [`Corruption::HeaderTag`].
    pub fn open(file: &[u8], master: &StoreMaster) -> Result<Segment, Corruption> {
        let header_bytes: [u8; HEADER_BYTES] =
            file.get(..HEADER_BYTES).ok_or(Corruption::Header)?.try_into().expect("as long as asked for");
        let eight = |at: usize| u64::from_le_bytes(header_bytes[at..at + 8].try_into().expect("eight bytes"));
        let sixteen =
            |at: usize| -> [u8; 16] { header_bytes[at..at + 16].try_into().expect("sixteen bytes") };
        let sector_bytes = 1usize.checked_shl(header_bytes[10].into()).unwrap_or(0);
        if header_bytes[..8] != *MAGIC
            || header_bytes[8..10] != VERSION.to_le_bytes()
            || !SECTOR_BYTES.contains(&sector_bytes)
            || header_bytes[11..16] != [0; 5]
        {
            return Err(Corruption::Header);
        }
        let header = Header {
            sector_bytes,
            id: sixteen(16),
            store: sixteen(32),
            number: eight(48),
            before: sixteen(56),
            before_bytes: eight(72),
            made_ns: eight(80),
        };
        let aead = Aead::new(Suite::Aes256Gcm, master.segment_key(&header.id).expose());
        let (clear, tag) = header_bytes.split_at(HEADER_CLEAR_BYTES);
        aead.open(&nonce(HEADER_INDEX), clear, &mut [], tag).map_err(|_| Corruption::HeaderTag)?;
        Ok(Segment { header, header_bytes, aead })
    }

    /// The clear header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The header's sector, as it is written.
    pub fn header_sector(&self) -> Vec<u8> {
        let mut sector = self.header_bytes.to_vec();
        sector.resize(self.header.sector_bytes, 0);
        sector
    }

    /// Seals `bodies` into a group whose first record has index `first_index`. Returns whole sectors.
    ///
    /// # Panics
    /// When there are no bodies, or one is longer than `RECORD_BODY_BYTES_MAX`.
    pub fn seal_group(&self, first_index: u64, bodies: &[Zeroizing<Vec<u8>>]) -> Vec<u8> {
        assert!(!bodies.is_empty(), "a group has a record");
        let head = GroupHead { records_bytes: records_bytes(bodies), first_index, count: bodies.len() };
        let sectors_bytes = align(group_bytes(bodies), self.header.sector_bytes) as usize;
        let mut group = Vec::with_capacity(sectors_bytes);
        group.extend_from_slice(&head.to_bytes());
        let associated_data = self.associated_data(&head);
        for (index, body) in (first_index..HEADER_INDEX).zip(bodies) {
            assert!(body.len() <= RECORD_BODY_BYTES_MAX, "a body of {} bytes is too long", body.len());
            group.extend_from_slice(&(body.len() as u32).to_le_bytes());
            let from = group.len();
            group.extend_from_slice(body);
            self.aead.seal_tail(&nonce(index), &associated_data, &mut group, from);
        }
        assert_eq!(group.len() as u64, group_bytes(bodies), "the head counts the records' bytes");
        group.resize(sectors_bytes, 0);
        group
    }

    fn associated_data(&self, head: &GroupHead) -> [u8; HEADER_BYTES + GROUP_HEAD_BYTES] {
        let mut bytes = [0; HEADER_BYTES + GROUP_HEAD_BYTES];
        bytes[..HEADER_BYTES].copy_from_slice(&self.header_bytes);
        bytes[HEADER_BYTES..].copy_from_slice(&head.to_bytes());
        bytes
    }

    /// Opens all groups of `file`, in order, up to its end or to the first bytes that are none.
    pub fn scan(&self, file: &[u8]) -> Scan {
        let mut scan = Scan { groups: Vec::new(), end: HEADER_BYTES as u64, tail: Tail::Clean };
        let mut at = align(scan.end, self.header.sector_bytes);
        let mut index = 0;
        while let Some(group) = self.open_group(file, at, index) {
            index = group.first_index + group.bodies.len() as u64;
            scan.end = group.end;
            at = align(group.end, self.header.sector_bytes);
            scan.groups.push(group);
        }
        let rest = file.get(scan.end as usize..).unwrap_or(&[]);
        if rest.iter().any(|&byte| byte != 0) || rest.len() >= self.header.sector_bytes {
            let sectors = (at..file.len() as u64).step_by(self.header.sector_bytes).skip(1);
            let mut later = sectors.filter(|&at| self.open_group(file, at, index).is_some());
            scan.tail = if later.next().is_some() { Tail::Damaged } else { Tail::Torn };
        }
        scan
    }

    /// The group at byte `at`, if there is a whole one whose first index is at least `index_min`.
    fn open_group(&self, file: &[u8], at: u64, index_min: u64) -> Option<Group> {
        let bytes = file.get(usize::try_from(at).ok()?..)?;
        let (head_bytes, rest) = bytes.split_first_chunk()?;
        let head = GroupHead::parse(head_bytes).filter(|head| head.first_index >= index_min)?;
        let mut records = rest.get(..head.records_bytes)?;
        // No more than the bytes can hold, whatever the head says.
        if head.count == 0 || head.count > records.len() / (LENGTH_BYTES + TAG_BYTES) {
            return None;
        }
        head.first_index.checked_add(head.count as u64).filter(|&end| end < HEADER_INDEX)?;
        let associated_data = self.associated_data(&head);
        let mut bodies = Vec::with_capacity(head.count);
        for index in (head.first_index..).take(head.count) {
            let (length, rest) = records.split_first_chunk()?;
            let sealed_bytes = u32::from_le_bytes(*length) as usize + TAG_BYTES;
            if sealed_bytes > RECORD_BYTES_MAX {
                return None;
            }
            let (sealed, rest) = rest.split_at_checked(sealed_bytes)?;
            records = rest;
            let mut body = Zeroizing::new(sealed.to_vec());
            let body_bytes = self.aead.open_tail(&nonce(index), &associated_data, &mut body).ok()?.len();
            body.truncate(body_bytes);
            bodies.push(body);
        }
        let end = at + (GROUP_HEAD_BYTES + head.records_bytes) as u64;
        records.is_empty().then_some(Group { at, end, first_index: head.first_index, bodies })
    }
}

impl fmt::Debug for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Segment({:?}, ..)", self.header)
    }
}

/// The clear head of a group.
struct GroupHead {
    records_bytes: usize,
    first_index: u64,
    count: usize,
}

impl GroupHead {
    fn to_bytes(&self) -> [u8; GROUP_HEAD_BYTES] {
        let mut bytes = [0; GROUP_HEAD_BYTES];
        bytes[..4].copy_from_slice(GROUP_MAGIC);
        bytes[4..8].copy_from_slice(&u32::try_from(self.records_bytes).expect("limited").to_le_bytes());
        bytes[8..16].copy_from_slice(&self.first_index.to_le_bytes());
        bytes[16..20].copy_from_slice(&u32::try_from(self.count).expect("limited").to_le_bytes());
        bytes
    }

    fn parse(bytes: &[u8; GROUP_HEAD_BYTES]) -> Option<GroupHead> {
        let four = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let head = GroupHead {
            records_bytes: four(4) as usize,
            first_index: u64::from_le_bytes(bytes[8..16].try_into().expect("eight bytes")),
            count: four(16) as usize,
        };
        (bytes[..4] == *GROUP_MAGIC && four(20) == 0).then_some(head)
    }
}

/// A group that is whole.
#[derive(Clone, PartialEq, Eq)]
pub struct Group {
    /// Where it begins in the file.
    pub at: u64,
    /// Where its records end.
    pub end: u64,
    /// The index of its first record.
    pub first_index: u64,
    /// The opened bodies of its records.
    pub bodies: Vec<Zeroizing<Vec<u8>>>,
}

/// What comes after the last whole group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Nothing.
    Clean,
    /// Bytes that are no group, and no group behind them: they were never acknowledged.
    Torn,
    /// Bytes that are no group, but a whole group behind them: what was acknowledged is damaged.
    Damaged,
}

/// The whole groups of a segment file.
pub struct Scan {
    /// The groups, in order.
    pub groups: Vec<Group>,
    /// Where the last one ends (the header, when there is none).
    pub end: u64,
    /// What comes behind.
    pub tail: Tail,
}

#[cfg(test)]
mod tests {
    use super::*;
    use cipher::Key;
    use proptest::prelude::*;

    fn master() -> StoreMaster {
        StoreMaster::from(Key::copied_from(&[3; 32]))
    }

    fn segment(sector_bytes: usize) -> Segment {
        let header = Header {
            sector_bytes,
            id: [1; 16],
            store: [2; 16],
            number: 5,
            before: [4; 16],
            before_bytes: 99,
            made_ns: 6,
        };
        Segment::new(header, &master())
    }

    /// A file with one group for each list of body lengths.
    fn file(segment: &Segment, groups: &[Vec<usize>]) -> (Vec<u8>, Vec<std::ops::Range<usize>>) {
        let mut file = segment.header_sector();
        let mut index = 0;
        let mut places = Vec::new();
        for lengths in groups {
            let bodies: Vec<_> =
                lengths.iter().map(|&length| Zeroizing::new(vec![length as u8; length])).collect();
            let bytes = segment.seal_group(index, &bodies);
            places.push(file.len()..file.len() + group_bytes(&bodies) as usize);
            index += bodies.len() as u64;
            file.extend_from_slice(&bytes);
        }
        (file, places)
    }

    fn any_groups() -> impl Strategy<Value = Vec<Vec<usize>>> {
        prop::collection::vec(prop::collection::vec(0..=RECORD_BODY_BYTES_MAX, 1..6), 1..6)
    }

    proptest! {
        #[test]
        fn groups_are_read_back(groups in any_groups(), sector in 9u32..=13) {
            let segment = segment(1 << sector);
            let (file, places) = file(&segment, &groups);
            prop_assert_eq!(file.len() % (1 << sector), 0);
            let opened = Segment::open(&file, &master()).unwrap();
            prop_assert_eq!(opened.header(), segment.header());
            let scan = opened.scan(&file);
            prop_assert_eq!(scan.tail, Tail::Clean);
            prop_assert_eq!(scan.end as usize, places.last().unwrap().end);
            let lengths: Vec<Vec<usize>> =
                scan.groups.iter().map(|group| group.bodies.iter().map(|body| body.len()).collect()).collect();
            prop_assert_eq!(lengths, groups);
        }

        /// One changed byte inside a group takes that group away and nothing else, and whether it is torn or
        /// damaged depends only on whether a group follows.
        #[test]
        fn a_changed_byte_is_seen(
            groups in any_groups(),
            which in any::<prop::sample::Index>(),
            place in any::<prop::sample::Index>(),
            mask in 1u8..,
        ) {
            let segment = segment(512);
            let (mut file, places) = file(&segment, &groups);
            let which = which.index(groups.len());
            let range = places[which].clone();
            file[range.start + place.index(range.len())] ^= mask;
            let scan = segment.scan(&file);
            prop_assert_eq!(scan.groups.len(), which);
            let last = which + 1 == groups.len();
            prop_assert_eq!(scan.tail, if last { Tail::Torn } else { Tail::Damaged });
        }

        #[test]
        fn a_cut_file_keeps_its_whole_groups(groups in any_groups(), cut in any::<prop::sample::Index>()) {
            let segment = segment(512);
            let (file, places) = file(&segment, &groups);
            let cut = HEADER_BYTES + cut.index(file.len() - HEADER_BYTES);
            let scan = segment.scan(&file[..cut]);
            prop_assert_eq!(scan.groups.len(), places.iter().filter(|place| place.end <= cut).count());
            prop_assert_ne!(scan.tail, Tail::Damaged);
        }

        #[test]
        fn no_bytes_make_the_parsers_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..2000),
            records_bytes in any::<u32>(),
            count in any::<u32>(),
        ) {
            let _ = Segment::open(&bytes, &master());
            let segment = segment(512);
            let _ = segment.scan(&bytes);
            // A head that is believed, before bytes that are not.
            let (records_bytes, count) = (records_bytes as usize, count as usize);
            let head = GroupHead { records_bytes, first_index: u64::MAX - 1, count };
            let _ = segment.scan(&[&segment.header_sector()[..], &head.to_bytes(), &bytes].concat());
        }
    }

    #[test]
    fn a_header_is_bound_to_its_master_key_and_to_every_bit() {
        let segment = segment(4096);
        let sector = segment.header_sector();
        let other = StoreMaster::from(Key::copied_from(&[4; 32]));
        assert_eq!(Segment::open(&sector, &other).unwrap_err(), Corruption::HeaderTag);
        for bit in 0..8 * HEADER_BYTES {
            let mut changed = sector.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(Segment::open(&changed, &master()).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_group_of_another_place_or_segment_is_none() {
        let segment = segment(512);
        let (file, places) = file(&segment, &[vec![10], vec![20]]);
        // The groups exchanged: each opens by itself, but indexes must rise.
        let second =
            [&file[..512], &file[places[1].start..], &file[places[0].start..places[1].start]].concat();
        assert_eq!(segment.scan(&second).groups.len(), 1);
        let header = Header { number: 6, ..segment.header().clone() };
        let elsewhere = Segment::new(header, &master());
        assert_eq!(elsewhere.scan(&file).groups.len(), 0, "the same key, but another header");
    }

    #[test]
    fn names_are_numbers_and_nothing_else_is() {
        assert_eq!(file_number(&file_name(0x1f)), Some(0x1f));
        for name in ["1f.seg", "000000000000001F.seg", "000000000000001f.new", "+00000000000001f.seg", "lock"]
        {
            assert_eq!(file_number(name), None, "{name}");
        }
    }
}
