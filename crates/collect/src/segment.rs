//! The segment file: its bytes, how its groups are sealed, and where a file stops being one.
//!
//! A store is a row of segments, `0000000000000000.seg` and on. A segment is a header and then groups, each
//! at a multiple of the sector:
//! ```text
//! header, one sector                         group, whole sectors
//!   0  8  "SELVEDGE"                           0  4  "SvGr"
//!   8  2  version 2                            4  4  bytes of the records
//!  10  1  sector, as log2                      8  8  index of the first record
//!  11  1  zero                                16  4  number of records
//!  12  4  number of the store's key           20  4  CRC-32C of the segment's id, of bytes 4 to 19, and
//!  16 32  segment id (random)                        of the records
//!  48 16  store id (random)                   24  .  records, each:  4 bytes n | n sealed body | 16 tag
//!  64  8  number                               .  .  zeros to the end of the sector
//!  72  8  number of the oldest segment that is kept
//!  80 32  id of the segment before, and
//! 112  8  where its last group ended, and
//! 120 16  its chain there (all 0 in segment 0)
//! 136  8  when it was made, ns of the store's clock
//! 144 16  tag of bytes 0 to 143
//! ```
//! The key is derived from the store's master key and the segment id; the cipher is AES-256-GCM. The nonce of
//! a record is `index 8 | zeros 4`, of the header `2^64 - 1 | zeros 4`; a record's associated data is the
//! header, the head of its group, and the chain: the tag of the last record of the group before it, or of the header. So a
//! group is whole or it is not one, in this place of this segment only, and behind this group only; what was removed,
//! exchanged or put back is seen where it is missed. The CRC is for disks: it tells without a key what was written as a
//! whole.
//!
//! Invariant: no nonce is used twice under one key. A process only appends to segments that it made itself,
//! under an id it drew itself, and an index is spent when it is sealed, whether or not the write succeeds.
//!
//! Invariant: a group begins only after everything before it was synced. So a broken group with no whole
//! group behind it is a torn tail, of which nothing was acknowledged; with one behind it, it is damage. What
//! cannot be told from a torn tail is damage to the very last group of the very last segment.
//!
//! What a file holds behind its last group is of no segment, or of one that was removed, whose file was written over: it
//! is under another id, and no group of this one.
//!
//! Invariant: no sector holds bytes of two groups, so that a sector lost while it is written takes no
//! acknowledged byte with it.
//!
//! Owns bytes and keys; leaves files and the order of syncs to `store`.

use std::fmt;

use cipher::{Aead, Suite};
use zeroize::Zeroizing;

use crate::error::Corruption;
use crate::keys::StoreKeys;
use crate::limits::{RECORD_BODY_BYTES_MAX, RECORD_BYTES_MAX, SECTOR_BYTES};

const MAGIC: &[u8; 8] = b"SELVEDGE";
const VERSION: u16 = 2;
/// Bytes of a segment's header, tag included.
pub const HEADER_BYTES: usize = 160;
const HEADER_CLEAR_BYTES: usize = 144;
const GROUP_MAGIC: &[u8; 4] = b"SvGr";
/// Bytes of a group before its records.
pub const GROUP_HEAD_BYTES: usize = 24;
/// Where its CRC is.
const CRC_AT: usize = 20;
const CRC_BYTES: usize = 4;
const LENGTH_BYTES: usize = 4;
const TAG_BYTES: usize = 16;
/// The nonce's index for the header, which no record reaches.
const HEADER_INDEX: u64 = u64::MAX;

const _: () = assert!(HEADER_BYTES <= *SECTOR_BYTES.start());

/// The tag behind which a group must stand.
pub type Chain = [u8; TAG_BYTES];

/// The clear part of a segment's header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Alignment of groups.
    pub sector_bytes: usize,
    /// Which of the store's keys its own is derived from.
    pub key: u32,
    /// Names the segment's key.
    pub id: [u8; 32],
    /// Names the store.
    pub store: [u8; 16],
    /// The segment's place in the store, from 0.
    pub number: u64,
    /// The oldest segment that was to be kept when this one was made.
    pub oldest: u64,
    /// The segment before.
    pub before: Before,
    /// When it was made, in nanoseconds of the store's clock, which `store` keeps.
    pub made_ns: u64,
}

/// What a segment says of the one before it; the default is what segment 0 says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Before {
    /// Its id.
    pub id: [u8; 32],
    /// Where its last group ended, in bytes: what is behind was given up.
    pub end: u64,
    /// Its chain there.
    pub chain: Chain,
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
pub fn group_bytes(bodies: &[impl AsRef<[u8]>]) -> u64 {
    (GROUP_HEAD_BYTES + records_bytes(bodies)) as u64
}

/// Bytes of the group whose head this is, without its padding; `None` when it is no head.
pub fn bytes_of_group(head: &[u8]) -> Option<u64> {
    let head = GroupHead::parse(head.first_chunk()?)?;
    Some((GROUP_HEAD_BYTES + head.records_bytes) as u64)
}

fn records_bytes(bodies: &[impl AsRef<[u8]>]) -> usize {
    bodies.iter().map(|body| LENGTH_BYTES + body.as_ref().len() + TAG_BYTES).sum()
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
    ///
    /// # Panics
    /// When there is no such key.
    pub fn new(header: Header, keys: &StoreKeys) -> Segment {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..10].copy_from_slice(&VERSION.to_le_bytes());
        bytes[10] = header.sector_bytes.trailing_zeros() as u8;
        bytes[12..16].copy_from_slice(&header.key.to_le_bytes());
        bytes[16..48].copy_from_slice(&header.id);
        bytes[48..64].copy_from_slice(&header.store);
        bytes[64..72].copy_from_slice(&header.number.to_le_bytes());
        bytes[72..80].copy_from_slice(&header.oldest.to_le_bytes());
        bytes[80..112].copy_from_slice(&header.before.id);
        bytes[112..120].copy_from_slice(&header.before.end.to_le_bytes());
        bytes[120..136].copy_from_slice(&header.before.chain);
        bytes[136..144].copy_from_slice(&header.made_ns.to_le_bytes());
        let master = keys.get(header.key).expect("a segment is made under a key that is there");
        let aead = Aead::new(Suite::Aes256Gcm, master.segment_key(&header.id).expose());
        let tag = aead.seal(&nonce(HEADER_INDEX), &bytes[..HEADER_CLEAR_BYTES], &mut []);
        bytes[HEADER_CLEAR_BYTES..].copy_from_slice(tag.as_ref());
        Segment { header, header_bytes: bytes, aead }
    }

    /// Reads the header at the front of a segment file.
    ///
    /// # Errors
    /// [`Corruption::Header`], [`Corruption::Key`] or [`Corruption::HeaderTag`].
    pub fn open(file: &[u8], keys: &StoreKeys) -> Result<Segment, Corruption> {
        let header_bytes: [u8; HEADER_BYTES] =
            file.get(..HEADER_BYTES).ok_or(Corruption::Header)?.try_into().expect("as long as asked for");
        let eight = |at: usize| u64::from_le_bytes(header_bytes[at..at + 8].try_into().expect("eight bytes"));
        let sixteen =
            |at: usize| -> [u8; 16] { header_bytes[at..at + 16].try_into().expect("sixteen bytes") };
        let id = |at: usize| -> [u8; 32] { header_bytes[at..at + 32].try_into().expect("32 bytes") };
        let sector_bytes = 1usize.checked_shl(header_bytes[10].into()).unwrap_or(0);
        if header_bytes[..8] != *MAGIC
            || header_bytes[8..10] != VERSION.to_le_bytes()
            || !SECTOR_BYTES.contains(&sector_bytes)
            || header_bytes[11] != 0
        {
            return Err(Corruption::Header);
        }
        let header = Header {
            sector_bytes,
            key: u32::from_le_bytes(header_bytes[12..16].try_into().expect("four bytes")),
            id: id(16),
            store: sixteen(48),
            number: eight(64),
            oldest: eight(72),
            before: Before { id: id(80), end: eight(112), chain: sixteen(120) },
            made_ns: eight(136),
        };
        let master = keys.get(header.key).ok_or(Corruption::Key)?;
        let aead = Aead::new(Suite::Aes256Gcm, master.segment_key(&header.id).expose());
        let (clear, tag) = header_bytes.split_at(HEADER_CLEAR_BYTES);
        aead.open(&nonce(HEADER_INDEX), clear, &mut [], tag).map_err(|_| Corruption::HeaderTag)?;
        Ok(Segment { header, header_bytes, aead })
    }

    /// The clear header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The chain behind the header: its tag.
    pub fn chain(&self) -> Chain {
        self.header_bytes[HEADER_CLEAR_BYTES..].try_into().expect("as long as a tag")
    }

    /// The header's sector, as it is written.
    pub fn header_sector(&self) -> Vec<u8> {
        let mut sector = self.header_bytes.to_vec();
        sector.resize(self.header.sector_bytes, 0);
        sector
    }

    /// Seals `bodies` into a group whose first record has index `first_index`, behind `chain`. Appends whole sectors to
    /// `file`, and returns the chain behind them.
    ///
    /// # Panics
    /// When there are no bodies, or one is longer than `RECORD_BODY_BYTES_MAX`.
    pub fn seal_group(
        &self,
        first_index: u64,
        bodies: &[impl AsRef<[u8]>],
        chain: &Chain,
        file: &mut Vec<u8>,
    ) -> Chain {
        assert!(!bodies.is_empty(), "a group has a record");
        let head = GroupHead { records_bytes: records_bytes(bodies), first_index, count: bodies.len() };
        let (at, sectors_bytes) = (file.len(), align(group_bytes(bodies), self.header.sector_bytes) as usize);
        // A record's plaintext is not left behind in memory that was too short.
        file.reserve(sectors_bytes);
        file.extend_from_slice(&head.to_bytes());
        file.extend_from_slice(&[0; CRC_BYTES]);
        let associated_data = self.associated_data(&head, chain);
        for (index, body) in (first_index..HEADER_INDEX).zip(bodies) {
            let body = body.as_ref();
            assert!(body.len() <= RECORD_BODY_BYTES_MAX, "a body of {} bytes is too long", body.len());
            file.extend_from_slice(&(body.len() as u32).to_le_bytes());
            let from = file.len();
            file.extend_from_slice(body);
            self.aead.seal_tail(&nonce(index), &associated_data, file, from);
        }
        let group = &mut file[at..];
        assert_eq!(group.len() as u64, group_bytes(bodies), "the head counts the records' bytes");
        let (head, records) = group.split_at_mut(GROUP_HEAD_BYTES);
        let crc = self.crc(head, records);
        head[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
        let chain = *group.last_chunk().expect("a record ends in a tag");
        file.resize(at + sectors_bytes, 0);
        chain
    }

    fn crc(&self, head: &[u8], records: &[u8]) -> u32 {
        let of_head =
            crc32c::crc32c_append(crc32c::crc32c(&self.header.id), &head[GROUP_MAGIC.len()..CRC_AT]);
        crc32c::crc32c_append(of_head, records)
    }

    fn associated_data(&self, head: &GroupHead, chain: &Chain) -> [u8; HEADER_BYTES + CRC_AT + TAG_BYTES] {
        let mut bytes = [0; HEADER_BYTES + CRC_AT + TAG_BYTES];
        bytes[..HEADER_BYTES].copy_from_slice(&self.header_bytes);
        bytes[HEADER_BYTES..HEADER_BYTES + CRC_AT].copy_from_slice(&head.to_bytes());
        bytes[HEADER_BYTES + CRC_AT..].copy_from_slice(chain);
        bytes
    }

    /// Opens all groups of `file`, in order, up to `until`, or to its end or the first bytes that are none.
    pub fn scan(&self, file: &[u8], until: Option<u64>) -> Scan {
        let (end, tail) = (HEADER_BYTES as u64, Tail::Clean);
        let mut scan = Scan { groups: Vec::new(), end, chain: self.chain(), tail, torn_bytes: 0 };
        let file = match until {
            Some(end) => file.get(..end as usize).unwrap_or(file),
            None => file,
        };
        let mut at = align(scan.end, self.header.sector_bytes);
        let mut index = 0;
        while let Some(group) = self.open_group(file, at, index, &scan.chain) {
            index = group.first_index + group.bodies.len() as u64;
            (scan.end, scan.chain) = (group.end, group.chain);
            at = align(group.end, self.header.sector_bytes);
            scan.groups.push(group);
        }
        if let Some(until) = until {
            scan.tail = if scan.end == until { Tail::Clean } else { Tail::Damaged };
            return scan;
        }
        let rest = file.get(scan.end as usize..).unwrap_or(&[]);
        if rest.iter().any(|&byte| byte != 0) || rest.len() >= self.header.sector_bytes {
            let mut sectors = (at..file.len() as u64).step_by(self.header.sector_bytes);
            let is_written = sectors.any(|at| self.written(file, at).is_some());
            (scan.tail, scan.torn_bytes) =
                if is_written { (Tail::Damaged, 0) } else { (Tail::Torn, rest.len() as u64) };
        }
        scan
    }

    /// Whether `bytes` begin with a group of this segment that was written as a whole.
    pub fn is_written(&self, bytes: &[u8]) -> bool {
        self.written(bytes, 0).is_some()
    }

    /// The head and the records at byte `at`, if a group of this segment was written there as a whole.
    fn written<'a>(&self, file: &'a [u8], at: u64) -> Option<(GroupHead, &'a [u8])> {
        let bytes = file.get(usize::try_from(at).ok()?..)?;
        let (head_bytes, rest) = bytes.split_first_chunk::<GROUP_HEAD_BYTES>()?;
        let head = GroupHead::parse(head_bytes)?;
        let records = rest.get(..head.records_bytes)?;
        let crc = u32::from_le_bytes(head_bytes[CRC_AT..].try_into().expect("four bytes"));
        (crc == self.crc(head_bytes, records)).then_some((head, records))
    }

    /// The group at byte `at`, if there is a whole one whose first index is at least `index_min`, behind `chain`.
    fn open_group(&self, file: &[u8], at: u64, index_min: u64, chain: &Chain) -> Option<Group> {
        let (head, mut records) = self.written(file, at).filter(|(head, _)| head.first_index >= index_min)?;
        // No more than the bytes can hold, whatever the head says.
        if head.count == 0 || head.count > records.len() / (LENGTH_BYTES + TAG_BYTES) {
            return None;
        }
        head.first_index.checked_add(head.count as u64).filter(|&end| end < HEADER_INDEX)?;
        let behind = *records.last_chunk()?;
        let associated_data = self.associated_data(&head, chain);
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
        let GroupHead { first_index, .. } = head;
        records.is_empty().then_some(Group { at, end, first_index, bodies, chain: behind })
    }
}

impl fmt::Debug for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Segment({:?}, ..)", self.header)
    }
}

/// The clear head of a group, without its CRC.
struct GroupHead {
    records_bytes: usize,
    first_index: u64,
    count: usize,
}

impl GroupHead {
    fn to_bytes(&self) -> [u8; CRC_AT] {
        let mut bytes = [0; CRC_AT];
        bytes[..4].copy_from_slice(GROUP_MAGIC);
        bytes[4..8].copy_from_slice(&u32::try_from(self.records_bytes).expect("limited").to_le_bytes());
        bytes[8..16].copy_from_slice(&self.first_index.to_le_bytes());
        bytes[16..].copy_from_slice(&u32::try_from(self.count).expect("limited").to_le_bytes());
        bytes
    }

    fn parse(bytes: &[u8; GROUP_HEAD_BYTES]) -> Option<GroupHead> {
        let four = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let head = GroupHead {
            records_bytes: four(4) as usize,
            first_index: u64::from_le_bytes(bytes[8..16].try_into().expect("eight bytes")),
            count: four(16) as usize,
        };
        (bytes[..4] == *GROUP_MAGIC).then_some(head)
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
    /// The chain behind it.
    pub chain: Chain,
}

/// What comes after the last whole group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// Nothing.
    Clean,
    /// Bytes that are no group, and no group behind them: they were never acknowledged.
    Torn,
    /// Bytes that are no group here, though a group was written in them or behind them: what was acknowledged is damaged.
    Damaged,
}

/// The whole groups of a segment file.
pub struct Scan {
    /// The groups, in order.
    pub groups: Vec<Group>,
    /// Where the last one ends (the header, when there is none).
    pub end: u64,
    /// The chain there.
    pub chain: Chain,
    /// What comes behind.
    pub tail: Tail,
    /// Bytes of a torn tail, from the end of the last group to that of the file.
    pub torn_bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use cipher::{Key, StoreMaster};
    use proptest::prelude::*;

    fn keys() -> StoreKeys {
        StoreMaster::from(Key::copied_from(&[3; 32])).into()
    }

    fn segment(sector_bytes: usize) -> Segment {
        let header = Header {
            sector_bytes,
            key: 0,
            id: [1; 32],
            store: [2; 16],
            number: 5,
            oldest: 3,
            before: Before { id: [4; 32], end: 99, chain: [5; 16] },
            made_ns: 6,
        };
        Segment::new(header, &keys())
    }

    /// A file with one group for each list of body lengths.
    fn file(segment: &Segment, groups: &[Vec<usize>]) -> (Vec<u8>, Vec<std::ops::Range<usize>>) {
        let mut file = segment.header_sector();
        let (mut index, mut chain) = (0, segment.chain());
        let mut places = Vec::new();
        for lengths in groups {
            let bodies: Vec<_> =
                lengths.iter().map(|&length| Zeroizing::new(vec![length as u8; length])).collect();
            places.push(file.len()..file.len() + group_bytes(&bodies) as usize);
            chain = segment.seal_group(index, &bodies, &chain, &mut file);
            index += bodies.len() as u64;
        }
        (file, places)
    }

    fn any_groups() -> impl Strategy<Value = Vec<Vec<usize>>> {
        prop::collection::vec(prop::collection::vec(0..=300usize, 1..6), 1..6)
    }

    proptest! {
        #[test]
        fn groups_are_read_back(groups in any_groups(), sector in 9u32..=13) {
            let segment = segment(1 << sector);
            let (file, places) = file(&segment, &groups);
            prop_assert_eq!(file.len() % (1 << sector), 0);
            let opened = Segment::open(&file, &keys()).unwrap();
            prop_assert_eq!(opened.header(), segment.header());
            let scan = opened.scan(&file, None);
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
            let scan = segment.scan(&file, None);
            prop_assert_eq!(scan.groups.len(), which);
            let last = which + 1 == groups.len();
            prop_assert_eq!(scan.tail, if last { Tail::Torn } else { Tail::Damaged });
        }

        #[test]
        fn a_cut_file_keeps_its_whole_groups(groups in any_groups(), cut in any::<prop::sample::Index>()) {
            let segment = segment(512);
            let (file, places) = file(&segment, &groups);
            let cut = HEADER_BYTES + cut.index(file.len() - HEADER_BYTES);
            let scan = segment.scan(&file[..cut], None);
            prop_assert_eq!(scan.groups.len(), places.iter().filter(|place| place.end <= cut).count());
            prop_assert_ne!(scan.tail, Tail::Damaged);
        }

        #[test]
        fn no_bytes_make_the_parsers_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..2000),
            records_bytes in any::<u32>(),
            count in any::<u32>(),
        ) {
            let _ = Segment::open(&bytes, &keys());
            let segment = segment(512);
            let _ = segment.scan(&bytes, None);
            // A head that is believed, before bytes that are not.
            let (records_bytes, count) = (records_bytes as usize, count as usize);
            let head = GroupHead { records_bytes, first_index: u64::MAX - 1, count };
            let _ = segment.scan(&[&segment.header_sector()[..], &head.to_bytes(), &[0; 4], &bytes].concat(), None);
        }
    }

    #[test]
    fn a_header_is_bound_to_its_master_key_and_to_every_bit() {
        let segment = segment(4096);
        let sector = segment.header_sector();
        let master = |byte: u8| StoreMaster::from(Key::copied_from(&[byte; 32]));
        let open = |keys: StoreKeys| Segment::open(&sector, &keys).map(drop);
        assert_eq!(open(master(4).into()), Err(Corruption::HeaderTag));
        assert_eq!(open(StoreKeys::new(1, master(3))), Err(Corruption::Key));
        let mut both = StoreKeys::new(1, master(4));
        both.add(0, master(3));
        assert_eq!((open(both.clone()), both.newest().0), (Ok(()), 1));
        for bit in 0..8 * HEADER_BYTES {
            let mut changed = sector.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(Segment::open(&changed, &keys()).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_group_of_another_place_or_segment_is_none() {
        let segment = segment(512);
        let (file, places) = file(&segment, &[vec![10], vec![20]]);
        let [first, second] = [&file[places[0].start..places[1].start], &file[places[1].start..]];
        for (groups, what) in [
            (vec![second, first], "exchanged"),
            (vec![second], "the first one removed"),
            (vec![&vec![0; first.len()], second], "the first one emptied"),
        ] {
            let scan = segment.scan(&[&file[..512], &groups.concat()].concat(), None);
            assert_eq!((scan.groups.len(), scan.tail), (0, Tail::Damaged), "{what}");
        }
        let scan = segment.scan(&[&file[..512], first, first].concat(), None);
        assert_eq!((scan.groups.len(), scan.tail), (1, Tail::Damaged), "the first one twice");
        // What is behind the end that the next segment says was given up, and what is missing before it is seen.
        let end = places[0].end as u64;
        assert_eq!(segment.scan(&file, Some(end)).tail, Tail::Clean);
        assert_eq!(segment.scan(&file, Some(end)).groups.len(), 1);
        assert_eq!(segment.scan(&file, Some(end - 1)).tail, Tail::Damaged);
        assert_eq!(segment.scan(&file[..end as usize], Some(places[1].end as u64)).tail, Tail::Damaged);
        let header = Header { number: 6, ..segment.header().clone() };
        let elsewhere = Segment::new(header, &keys());
        assert_eq!(elsewhere.scan(&file, None).groups.len(), 0, "the same key, but another header");
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
