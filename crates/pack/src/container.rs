//! The container of a sealed image, `.spk`.
//!
//! Owns: its bytes, and reading and writing them. What is in it is `lines`', `seal`'s, `keys`' and `integrity`'s; how
//! an image is sealed and unsealed is `sealed`'s. Numbers are little-endian.
//!
//! ```text
//!   at  bytes
//!    0   4   93 53 50 4b
//!    4   2   version of this format, 2
//!    6   2   bit 0: the machine is big-endian; bit 1: there are tags; the others are 0
//!    8   4   length of the container
//!   12   4   CRC-32C of all its other bytes: against accidents
//!   16   2   machine, `e_machine` of ELF
//!   18   1   number of the seal: 0 ecb, 1 xts, 2 ctr otfdec, 3 ctr otfad, 4 ctr otfad-swapped, 5 ctr mcuboot-xip
//!   19   1   length of the wrapped image key, 24 or 40
//!   20   4   which kind of the machine, `e_flags` of ELF
//!   24   4   where the program begins
//!   28   4   image version
//!   32   8   image id
//!   40  12   what the seal's counters start from, zeros behind it:
//!              otfdec: nonce 8, as its head has it; firmware version 2, the image's
//!                      low 16 bits; region from 0 on 1
//!              otfad, otfad-swapped: counter 8         mcuboot-xip: nonce 12         ecb, xts: nothing
//!   52   1   lines a tag: 1, 4 or 8, or 0 without tags
//!   53   1   bytes of a tag: 8 or 16, or 0 without tags
//!   54   2   how many sections
//!   56   2   how many pieces of zeros
//!   58   2   how many pieces of packed text
//!   60   4   how many instructions the address map has, or 0
//!   64  24 or 40   the image key, wrapped by RFC 3394 under the device key
//!            sections, by ascending address, sealed ones in no granule of the seal with others, each
//!              1   what it holds: 0 code, 1 constants, 2 data, 3 the dictionary, 4 the tags, 5 the model of
//!                  compressed code, 6 its line address table and blocks
//!              1   1 when it is sealed
//!              1   length of its name
//!              1   0
//!              4   first address
//!              4   how long it is, without what fills its lines
//!              …   its name, UTF-8 without a zero
//!            zeros, by ascending address, each: first address 4, bytes 4
//!            packed text, by ascending address, each: first address 4, bytes 4
//!            address map, by ascending old address, each: old 4, new 4 with the slot in bits 1:0
//!       16   with tags: the tag of this description, over the bytes from 0 to 12 and from 16 to here
//!            the memory, by ascending address
//! ```
//!
//! The memory is that of the sections: sealed ones widened to lines of 16 bytes (and those that touch once), the
//! others as they are; gaps between them are left out. The dictionary and the table of tags are sections like others,
//! at addresses of their own. The dictionary is code and is sealed; the table of tags is not. A model and blocks go
//! together, at most one of each; what is in them is drawn in `code::onfill::stored`.
//!
//! Packed text is what of the code a load may not be from: the sections that were packed, but for the constants in them.
//! Who runs the image ends a run by it. The address map is for debuggers and is not needed to run. It is not sealed, and
//! tells where each instruction went: leave it out of what is handed out. No key is in a container but wrapped.
//!
//! Invariant: [`Container::parse`] returns on every input, and takes what [`Container::to_bytes`] writes and nothing
//! else: every container has one form only.

use crate::code::packet::ENTRIES_MAX;
use crate::error::SealError;
use crate::image::{Kind, Moved, PackedText, Zeros};
use crate::integrity::{Groups, ImageName, Integrity};
use crate::keys::WRAP_BYTES;
use crate::limits::{
    IMAGE_BYTES_MAX, MAP_ENTRIES_MAX, PACKED_TEXT_MAX, SECTIONS_MAX, ZEROS_BYTES_MAX, ZEROS_MAX,
};
use crate::lines::{Entry, Extent, Role, check_granules, extents};
use crate::seal::{LINE_BYTES, Line, START_BYTES, Seal};
use crate::sections::Machine;

/// How a container begins.
pub const MAGIC: [u8; 4] = *b"\x93SPK";
/// The version of its format.
pub const VERSION: u16 = 2;
/// Where its length stands.
const LENGTH_AT: usize = 8;
/// Where its checksum stands.
const CHECKSUM_AT: usize = 12;
/// What is checked begins again behind the checksum.
const CHECKED_AT: usize = 16;
/// Where the flags stand.
const FLAGS_AT: usize = 6;
/// Where the number of the seal stands.
const SEAL_AT: usize = 18;
/// Where the length of the wrapped key stands.
const WRAPPED_AT: usize = 19;
/// Where the lines and bytes of a tag stand.
const INTEGRITY_AT: usize = 52;
/// How long a section's record is without its name.
const RECORD_BYTES: usize = 12;
/// How long the part is that is as long in all of them.
const HEAD_BYTES: usize = 64;

/// Memory of an image, as it is on the bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// First address: that of a line, when sealed.
    pub first: u32,
    /// Its bytes: whole lines, when sealed.
    pub bytes: Vec<u8>,
    /// Whether it is sealed.
    pub is_sealed: bool,
}

/// A sealed image. Its parts fit together: `sealed` and [`Container::parse`] see to that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    pub(crate) machine: Machine,
    pub(crate) entry: u32,
    pub(crate) seal: Seal,
    pub(crate) image: ImageName,
    pub(crate) wrapped_key: Vec<u8>,
    pub(crate) integrity: Option<Integrity>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) zeros: Vec<Zeros>,
    pub(crate) packed_text: Vec<PackedText>,
    pub(crate) map: Vec<Moved>,
    /// With tags only.
    pub(crate) description_tag: Option<Line>,
    pub(crate) spans: Vec<Span>,
}

impl Container {
    /// The processor that it is for.
    pub fn machine(&self) -> Machine {
        self.machine
    }

    /// Where the program begins.
    pub fn entry(&self) -> u32 {
        self.entry
    }

    /// How it is sealed.
    pub fn seal(&self) -> Seal {
        self.seal
    }

    /// Which image it is.
    pub fn image(&self) -> ImageName {
        self.image
    }

    /// Its tags, if it has any.
    pub fn integrity(&self) -> Option<Integrity> {
        self.integrity
    }

    /// Its sections, by ascending address, the dictionary's and that of the tags with them.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// What is zero at the start.
    pub fn zeros(&self) -> &[Zeros] {
        &self.zeros
    }

    /// What of its code no load may be from.
    pub fn packed_text(&self) -> &[PackedText] {
        &self.packed_text
    }

    /// Where instructions went; empty when it was left out, or nothing moved.
    pub fn map(&self) -> &[Moved] {
        &self.map
    }

    /// Its memory as it is on the bus, by ascending address.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// The section with that role, if there is one.
    pub fn entry_of(&self, role: Role) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.role == role)
    }

    /// Which lines its tags are for, if it has any.
    pub fn groups(&self) -> Option<Groups> {
        let extents: Vec<Extent> = self.spans.iter().map(Span::extent).collect();
        self.integrity.map(|integrity| Groups::new(integrity, &extents))
    }

    /// What its tags take that are for code: for packed sections, or all where nothing is packed, and for the
    /// dictionary; and for compressed code with its tables. A tag that is for something else, too, is with them.
    pub fn code_tags_bytes(&self) -> u64 {
        let is_packed = |entry: &Entry| {
            let has = |text: &PackedText| (u64::from(entry.first)..entry.end()).contains(&text.first.into());
            self.packed_text.is_empty() || self.packed_text.iter().any(has)
        };
        let is_code = |entry: &&Entry| match entry.role {
            Role::Program(Kind::Code) => is_packed(entry),
            Role::Program(Kind::Model | Kind::Blocks) | Role::Dictionary => true,
            Role::Program(Kind::Constants | Kind::Data) | Role::Tags => false,
        };
        let Some((groups, integrity)) = self.groups().zip(self.integrity) else { return 0 };
        // They ascend, so that what two sections share is counted once.
        let (mut count, mut counted) = (0, None);
        for entry in self.entries.iter().filter(is_code).filter(|entry| entry.is_sealed) {
            let last = groups.of_address((entry.end() - 1) as u32).expect("it is sealed");
            let first = groups.of_address(entry.first).expect("it is sealed");
            let first = counted.map_or(first, |before: u32| first.max(before + 1));
            count += u64::from((last + 1).saturating_sub(first));
            counted = Some(last);
        }
        count * u64::from(integrity.tag_bytes())
    }

    /// The memory of a range of addresses; `None` when some of it is not there, or not in one piece.
    pub fn memory(&self, first: u32, bytes: u32) -> Option<&[u8]> {
        let after = self.spans.partition_point(|span| span.first <= first);
        let span = &self.spans[after.checked_sub(1)?];
        let from = (first - span.first) as usize;
        span.bytes.get(from..from.checked_add(bytes as usize)?)
    }

    /// Its bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.description();
        bytes.extend(self.description_tag.iter().flatten());
        self.spans.iter().for_each(|span| bytes.extend_from_slice(&span.bytes));
        let checksum = checksum(&bytes);
        bytes[CHECKSUM_AT..CHECKED_AT].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// All before the tag of the description, without a checksum.
    pub(crate) fn description(&self) -> Vec<u8> {
        let flags = u16::from(self.machine.is_big_endian) | u16::from(self.integrity.is_some()) << 1;
        let (lines, tag_bytes) = self.integrity.map_or((0, 0), |kind| (kind.lines(), kind.tag_bytes()));
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(flags.to_le_bytes());
        bytes.extend([0; CHECKED_AT - LENGTH_AT]);
        bytes.extend(self.machine.number.to_le_bytes());
        bytes.extend([self.seal.row().number, self.wrapped_key.len() as u8]);
        bytes.extend(self.machine.flags.to_le_bytes());
        bytes.extend(self.entry.to_le_bytes());
        bytes.extend(self.image.version.to_le_bytes());
        bytes.extend(self.image.id);
        bytes.extend(self.seal.start());
        bytes.extend([lines, tag_bytes]);
        bytes.extend((self.entries.len() as u16).to_le_bytes());
        bytes.extend((self.zeros.len() as u16).to_le_bytes());
        bytes.extend((self.packed_text.len() as u16).to_le_bytes());
        bytes.extend((self.map.len() as u32).to_le_bytes());
        debug_assert_eq!(bytes.len(), HEAD_BYTES);
        bytes.extend(&self.wrapped_key);
        for entry in &self.entries {
            bytes.extend([number_of(entry.role), entry.is_sealed.into(), entry.name.len() as u8, 0]);
            bytes.extend(entry.first.to_le_bytes());
            bytes.extend(entry.bytes.to_le_bytes());
            bytes.extend(entry.name.as_bytes());
        }
        let zeros = self.zeros.iter().map(|zeros| [zeros.first, zeros.bytes]);
        let text = self.packed_text.iter().map(|text| [text.first, text.bytes]);
        let map = self.map.iter().map(|moved| [moved.old, moved.new]);
        bytes.extend(zeros.chain(text).chain(map).flatten().flat_map(u32::to_le_bytes));
        let memory_bytes: usize = self.spans.iter().map(|span| span.bytes.len()).sum();
        let tag_bytes = if self.integrity.is_some() { LINE_BYTES } else { 0 };
        let length = bytes.len() + tag_bytes + memory_bytes;
        let length = u32::try_from(length).expect("the limits add up to less");
        bytes[LENGTH_AT..CHECKSUM_AT].copy_from_slice(&length.to_le_bytes());
        bytes
    }

    /// What of a description its tag is for.
    pub(crate) fn tagged(description: &[u8]) -> [&[u8]; 2] {
        [&description[..CHECKSUM_AT], &description[CHECKED_AT..]]
    }

    /// Reads a container.
    ///
    /// # Errors
    /// What is wrong with it. Keys and tags are not looked at.
    pub fn parse(bytes: &[u8]) -> Result<Container, SealError> {
        check_whole(bytes)?;
        let mut reader = Reader { bytes, at: FLAGS_AT };
        let flags = reader.u16()?;
        check("a flag", FLAGS_AT, flags & !0b11 == 0, flags.into(), "0 but for bits 0 and 1")?;
        reader.at = CHECKED_AT;
        let number = reader.u16()?;
        let (seal_number, wrapped_bytes) = (reader.u8()?, reader.u8()?);
        let machine = Machine { number, flags: reader.u32()?, is_big_endian: flags & 1 == 1 };
        let entry = reader.u32()?;
        let image = ImageName { version: reader.u32()?, id: reader.array()? };
        let start: [u8; START_BYTES] = reader.array()?;
        let seal = Seal::from_start(seal_number, &start);
        let seal = field("the seal", SEAL_AT, seal, seal_number.into(), "a seal with a start of its own")?;
        let expected = seal.row().key_bytes + WRAP_BYTES;
        let fits = usize::from(wrapped_bytes) == expected;
        let found = wrapped_bytes.into();
        check("the wrapped key's length", WRAPPED_AT, fits, found, "that of the seal's key and 8")?;
        let integrity = reader.integrity(flags >> 1 & 1 == 1)?;
        let sections = reader.count("sections", SECTIONS_MAX)?;
        let pieces = reader.count("pieces of zeros", ZEROS_MAX)?;
        let texts = reader.count("pieces of packed text", PACKED_TEXT_MAX)?;
        let moved = reader.u32()?;
        if moved as usize > MAP_ENTRIES_MAX {
            let (found, limit) = (moved.into(), MAP_ENTRIES_MAX as u64);
            return Err(SealError::TooMany { what: "instructions in the address map", found, limit });
        }
        let wrapped_key = reader.take(wrapped_bytes.into())?.to_vec();
        let entries = reader.entries(sections)?;
        let zeros = reader.pieces(pieces, |first, bytes| Zeros { first, bytes })?;
        check_zeros(&zeros)?;
        let packed_text = reader.pieces(texts, |first, bytes| PackedText { first, bytes })?;
        let map = reader.map(moved)?;
        let description_tag = integrity.map(|_| reader.array()).transpose()?;
        let extents = extents(&entries)?;
        check_granules(&entries, seal.row().granule_bytes)?;
        check_tables(HEAD_BYTES + wrapped_key.len(), &entries, &extents, integrity)?;
        let spans = reader.spans(&extents)?;
        if reader.at != bytes.len() {
            return Err(SealError::Length { found: bytes.len() as u64, expected: reader.at as u64 });
        }
        Ok(Container {
            machine,
            entry,
            seal,
            image,
            wrapped_key,
            integrity,
            entries,
            zeros,
            packed_text,
            map,
            description_tag,
            spans,
        })
    }
}

impl Span {
    /// It without its bytes.
    pub fn extent(&self) -> Extent {
        let end = u64::from(self.first) + self.bytes.len() as u64;
        Extent { first: self.first, end, is_sealed: self.is_sealed }
    }
}

const fn number_of(role: Role) -> u8 {
    match role {
        Role::Program(Kind::Code) => 0,
        Role::Program(Kind::Constants) => 1,
        Role::Program(Kind::Data) => 2,
        Role::Dictionary => 3,
        Role::Tags => 4,
        Role::Program(Kind::Model) => 5,
        Role::Program(Kind::Blocks) => 6,
    }
}

fn role_of(number: u8) -> Option<Role> {
    let roles = [Kind::Code, Kind::Constants, Kind::Data, Kind::Model, Kind::Blocks].map(Role::Program);
    roles.into_iter().chain([Role::Dictionary, Role::Tags]).find(|&role| number_of(role) == number)
}

fn checksum(bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&bytes[..CHECKSUM_AT]), &bytes[CHECKED_AT..])
}

/// Puts the checksum of a container's bytes into them. For who looks for faults behind it.
///
/// # Panics
/// When there are fewer than 16.
pub fn with_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
    let checksum = checksum(&bytes);
    bytes[CHECKSUM_AT..CHECKED_AT].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// Checks that nothing happened to a container since it was written.
fn check_whole(bytes: &[u8]) -> Result<(), SealError> {
    if !bytes.starts_with(&MAGIC) {
        return Err(SealError::Magic { found_bytes: bytes.len() });
    }
    let found = bytes.len() as u64;
    let Some(head) = bytes.first_chunk::<HEAD_BYTES>() else {
        return Err(SealError::Length { found, expected: HEAD_BYTES as u64 });
    };
    let version = u16::from_le_bytes([head[4], head[5]]);
    if version != VERSION {
        return Err(SealError::Version { found: version, expected: VERSION });
    }
    let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    if found != u64::from(word(LENGTH_AT)) {
        return Err(SealError::Length { found, expected: word(LENGTH_AT).into() });
    }
    let (found, expected) = (checksum(bytes), word(CHECKSUM_AT));
    if found == expected { Ok(()) } else { Err(SealError::Checksum { found, expected }) }
}

/// Checks the dictionary, the table of tags, and what stands for code. The sections' records begin at an offset.
fn check_tables(
    records_at: usize,
    entries: &[Entry],
    extents: &[Extent],
    integrity: Option<Integrity>,
) -> Result<(), SealError> {
    let mut at = records_at;
    let (mut dictionaries, mut tables) = (0, 0);
    let count = |kind| entries.iter().filter(|entry| entry.role == Role::Program(kind)).count() as u64;
    let (models, blocks) = (count(Kind::Model), count(Kind::Blocks));
    check("the number of models", records_at, models <= 1, models, "0 or 1")?;
    check("the number of sections of blocks", records_at, blocks == models, blocks, "that of models")?;
    for entry in entries {
        let (sealed_at, bytes_at) = (at + 1, at + 8);
        let (is_sealed, bytes) = (u64::from(entry.is_sealed), u64::from(entry.bytes));
        match (entry.role, integrity) {
            (Role::Program(_), _) => {}
            (Role::Dictionary, _) => {
                dictionaries += 1;
                check("the number of dictionaries", at, dictionaries <= 1, dictionaries, "0 or 1")?;
                check("whether the dictionary is sealed", sealed_at, entry.is_sealed, is_sealed, "1")?;
                let fits = bytes.is_multiple_of(4) && bytes / 4 <= ENTRIES_MAX as u64;
                check("the dictionary's length", bytes_at, fits, bytes, "words, at most 256")?;
            }
            (Role::Tags, None) => {
                check("the number of tables of tags", at, false, 1, "0 without tags")?;
            }
            (Role::Tags, Some(integrity)) => {
                tables += 1;
                check("the number of tables of tags", at, tables <= 1, tables, "1 with tags")?;
                check("whether the table of tags is sealed", sealed_at, !entry.is_sealed, is_sealed, "0")?;
                let fits = bytes == Groups::new(integrity, extents).table_bytes();
                check("the table's length", bytes_at, fits, bytes, "a tag for each group of sealed lines")?;
            }
        }
        at += RECORD_BYTES + entry.name.len();
    }
    let is_there = integrity.is_none() || tables == 1;
    check("the flag of tags", FLAGS_AT, is_there, 1, "0 without a table of tags")
}

/// Checks how much memory is zero at the start.
pub(crate) fn check_zeros(zeros: &[Zeros]) -> Result<(), SealError> {
    let found: u64 = zeros.iter().map(|zeros| u64::from(zeros.bytes)).sum();
    if found > ZEROS_BYTES_MAX {
        return Err(SealError::TooMany { what: "bytes of zeros", found, limit: ZEROS_BYTES_MAX });
    }
    Ok(())
}

/// What a field says that stands at an offset, unless that cannot be.
fn field<T>(
    name: &'static str,
    at: usize,
    value: Option<T>,
    found: u64,
    expected: &'static str,
) -> Result<T, SealError> {
    value.ok_or(SealError::Field { name, at, found, expected })
}

fn check(
    name: &'static str,
    at: usize,
    is: bool,
    found: u64,
    expected: &'static str,
) -> Result<(), SealError> {
    field(name, at, is.then_some(()), found, expected)
}

/// Where in a container is read.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, bytes: usize) -> Result<&'a [u8], SealError> {
        let end = self.at as u64 + bytes as u64;
        let found = self.bytes.len() as u64;
        let taken = usize::try_from(end).ok().and_then(|end| self.bytes.get(self.at..end));
        let taken = taken.ok_or(SealError::Length { found, expected: end })?;
        self.at += bytes;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], SealError> {
        Ok(self.take(N)?.try_into().expect("as many were taken"))
    }

    fn u8(&mut self) -> Result<u8, SealError> {
        Ok(self.array::<1>()?[0])
    }

    fn u16(&mut self) -> Result<u16, SealError> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, SealError> {
        self.array().map(u32::from_le_bytes)
    }

    fn count(&mut self, what: &'static str, limit: usize) -> Result<u16, SealError> {
        let found = self.u16()?;
        if usize::from(found) > limit {
            return Err(SealError::TooMany { what, found: found.into(), limit: limit as u64 });
        }
        Ok(found)
    }

    fn integrity(&mut self, is_there: bool) -> Result<Option<Integrity>, SealError> {
        let [lines, tag_bytes] = self.array()?;
        if is_there {
            return Integrity::new(lines, tag_bytes).map(Some);
        }
        check("the lines of a tag", INTEGRITY_AT, lines == 0, lines.into(), "0 without tags")?;
        check("the bytes of a tag", INTEGRITY_AT + 1, tag_bytes == 0, tag_bytes.into(), "0 without tags")?;
        Ok(None)
    }

    fn entries(&mut self, count: u16) -> Result<Vec<Entry>, SealError> {
        let (mut entries, mut end) = (Vec::new(), 0);
        for _ in 0..count {
            let at = self.at;
            let [number, sealed, name_bytes, reserved] = self.array()?;
            let role = field("what a section holds", at, role_of(number), number.into(), "0 to 6")?;
            check("whether a section is sealed", at + 1, sealed <= 1, sealed.into(), "0 or 1")?;
            check("a reserved field", at + 3, reserved == 0, reserved.into(), "0")?;
            let (first, bytes);
            (first, bytes, end) = self.range(end)?;
            let name = str::from_utf8(self.take(name_bytes.into())?).ok().filter(|name| !name.contains('\0'));
            let (name_at, found) = (at + RECORD_BYTES, name_bytes.into());
            let name = field("a section's name", name_at, name, found, "bytes of UTF-8 without a zero")?;
            entries.push(Entry { name: name.to_owned(), role, first, bytes, is_sealed: sealed == 1 });
        }
        Ok(entries)
    }

    /// First address, length and end of what is not empty, begins behind another's end, and ends with memory.
    fn range(&mut self, before: u64) -> Result<(u32, u32, u64), SealError> {
        let at = self.at;
        let (first, bytes) = (self.u32()?, self.u32()?);
        let end = u64::from(first) + u64::from(bytes);
        let ascends = u64::from(first) >= before;
        check("a first address", at, ascends, first.into(), "one behind the piece before")?;
        let fits = bytes > 0 && end <= 1 << 32;
        check("a length", at + 4, fits, bytes.into(), "1 to what memory has left")?;
        Ok((first, bytes, end))
    }

    fn pieces<T>(&mut self, count: u16, piece: impl Fn(u32, u32) -> T) -> Result<Vec<T>, SealError> {
        let (mut pieces, mut end) = (Vec::new(), 0);
        for _ in 0..count {
            let (first, bytes);
            (first, bytes, end) = self.range(end)?;
            pieces.push(piece(first, bytes));
        }
        Ok(pieces)
    }

    fn map(&mut self, count: u32) -> Result<Vec<Moved>, SealError> {
        let at = self.at;
        let words = self.take(count as usize * 8)?;
        let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four of eight"));
        let moved = |pair: &[u8]| Moved { old: word(&pair[..4]), new: word(&pair[4..]) };
        let map: Vec<Moved> = words.chunks_exact(8).map(moved).collect();
        let descends = map.windows(2).position(|pair| pair[0].old >= pair[1].old);
        if let Some(number) = descends {
            let (at, found) = (at + 8 * (number + 1), map[number + 1].old.into());
            check("an old address", at, false, found, "one behind the one before")?;
        }
        Ok(map)
    }

    fn spans(&mut self, extents: &[Extent]) -> Result<Vec<Span>, SealError> {
        let found = extents.iter().map(Extent::bytes).sum();
        if found > IMAGE_BYTES_MAX {
            return Err(SealError::TooMany { what: "bytes of memory", found, limit: IMAGE_BYTES_MAX });
        }
        let mut spans = Vec::new();
        for extent in extents {
            let bytes = self.take(extent.bytes() as usize)?.to_vec();
            spans.push(Span { first: extent.first, bytes, is_sealed: extent.is_sealed });
        }
        Ok(spans)
    }
}
