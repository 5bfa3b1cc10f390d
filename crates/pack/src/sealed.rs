//! An image and its sealed form: sealing, verifying and unsealing, step by step.
//!
//! Owns: the order of things from sections to a [`Container`] and back, and where the dictionary and the table of tags
//! lie. Each step is of the file that is named after it. What a program stores into its memory when it runs is as it
//! stores it: nothing here seals or tags that. Choosing keys and nonces is the caller's: a nonce is never
//! used for two images under one key.

use crate::code::packet::Dictionary;
use crate::container::{Container, Span};
use crate::error::SealError;
use crate::image::{Image, Moved, Section, Zeros};
use crate::integrity::{Authenticator, Groups, ImageName, Integrity};
use crate::keys::{DeviceKey, ImageKey};
use crate::limits::{IMAGE_BYTES_MAX, MAP_ENTRIES_MAX, NAME_BYTES_MAX, SECTIONS_MAX, ZEROS_MAX};
use crate::lines::{Choice, Entry, Extent, FILLER, Role, extents};
use crate::seal::{LINE_BYTES, LineCipher, Seal};
use crate::sections::{Machine, Sections};

/// The name of the dictionary's section.
const DICTIONARY_NAME: &str = ".dictionary";
/// The name of the section of tags.
const TAGS_NAME: &str = ".tags";

/// How an image is sealed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The seal, with a nonce that was never used.
    pub seal: Seal,
    /// Which sections.
    pub choice: Choice,
    /// Which tags, if any.
    pub integrity: Option<Integrity>,
    /// Which image it is.
    pub image: ImageName,
    /// Where the tables go; without, behind what is loaded, in the first memory that nothing else takes.
    pub tables_first: Option<u32>,
}

/// What an image is before it is sealed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsealed {
    /// What lies in memory.
    pub sections: Sections,
    /// The instructions that its packets name; empty when nothing is packed.
    pub dictionary: Dictionary,
    /// Where its instructions went; empty when nothing moved, or when it was left out.
    pub map: Vec<Moved>,
}

impl From<Image> for Unsealed {
    fn from(image: Image) -> Unsealed {
        let Image { target, entry, sections, zeros, dictionary, map } = image;
        let sections = Sections { machine: Machine::of(target), entry, sections, zeros };
        Unsealed { sections, dictionary, map }
    }
}

impl Unsealed {
    /// It as an image that can be run behind a chain; `None` when it is for another machine than those.
    pub fn into_image(self) -> Option<Image> {
        let Sections { machine, entry, sections, zeros } = self.sections;
        let target = machine.target()?;
        Some(Image { target, entry, sections, zeros, dictionary: self.dictionary, map: self.map })
    }
}

/// An image's keys, unwrapped and expanded.
#[derive(Debug)]
pub struct Unlocked {
    /// Opens its lines.
    pub cipher: LineCipher,
    /// Checks its tags, if it has any.
    pub authenticator: Option<Authenticator>,
}

/// What verifying has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// How many tags were checked, the description's not counted.
    pub tags: u32,
    /// How many lines they are for.
    pub tagged_lines: u32,
    /// How many sealed lines have no tag: whoever changes them is not found out.
    pub untagged_lines: u32,
    /// How many bytes are not sealed, and have no tag either; the tags themselves are not counted.
    pub plain_bytes: u64,
    /// Every tag that does not match.
    pub faults: Vec<SealError>,
}

/// Seals an image.
///
/// # Errors
/// What cannot be sealed so.
///
/// # Panics
/// When sections are empty, or they or the map do not ascend, or the key is not the seal's.
pub fn seal(
    image: &Unsealed,
    settings: &Settings,
    key: &ImageKey,
    device: &DeviceKey,
) -> Result<Container, SealError> {
    check_limits(image)?;
    assert!(image.map.is_sorted_by(|a, b| a.old < b.old), "the address map ascends");
    let sections = &image.sections;
    let apart =
        sections.sections.is_sorted_by(|a, b| u64::from(a.first) + a.bytes.len() as u64 <= b.first.into());
    assert!(apart && sections.sections.iter().all(|section| !section.bytes.is_empty()), "sections ascend");
    let chosen = settings.choice.among(&sections.sections)?;
    let mut entries: Vec<Entry> =
        sections.sections.iter().zip(chosen).map(|(section, is_sealed)| entry(section, is_sealed)).collect();
    // Places of tables depend on those before: the dictionary has tags, too.
    let mut tables_first = settings.tables_first.map(u64::from);
    let words = image.dictionary.entries().iter();
    let dictionary: Vec<u8> = words.flat_map(|&word| sections.machine.bytes(word)).collect();
    if !dictionary.is_empty() {
        let end = add_table(
            &mut entries,
            &sections.zeros,
            Role::Dictionary,
            dictionary.len() as u64,
            tables_first,
        )?;
        tables_first = tables_first.map(|_| end);
    }
    let mut parts = extents(&entries)?;
    if let Some(integrity) = settings.integrity {
        let bytes = Groups::new(integrity, &parts).table_bytes();
        add_table(&mut entries, &sections.zeros, Role::Tags, bytes, tables_first)?;
        parts = extents(&entries)?;
    }
    let found = parts.iter().map(Extent::bytes).sum();
    if found > IMAGE_BYTES_MAX {
        return Err(SealError::TooMany { what: "bytes of memory", found, limit: IMAGE_BYTES_MAX });
    }
    let mut spans: Vec<Span> = parts.iter().map(filled).collect();
    for section in &sections.sections {
        put(&mut spans, section.first, &section.bytes);
    }
    if let Some(entry) = entries.iter().find(|entry| entry.role == Role::Dictionary) {
        put(&mut spans, entry.first, &dictionary);
    }
    let unlocked = Unlocked::new(settings.seal, key, settings.image, settings.integrity);
    for span in spans.iter_mut().filter(|span| span.is_sealed) {
        unlocked.cipher.seal_all(span.first, &mut span.bytes);
    }
    let mut container = Container {
        machine: sections.machine,
        entry: sections.entry,
        seal: settings.seal,
        image: settings.image,
        wrapped_key: device.wrap_key(key),
        integrity: settings.integrity,
        entries,
        zeros: sections.zeros.clone(),
        map: image.map.clone(),
        description_tag: None,
        spans,
    };
    if let Some(authenticator) = &unlocked.authenticator {
        container.add_tags(authenticator);
    }
    Ok(container)
}

impl Unlocked {
    fn new(seal: Seal, key: &ImageKey, image: ImageName, integrity: Option<Integrity>) -> Unlocked {
        let authenticator = integrity.map(|integrity| Authenticator::new(&key.tag_key(), image, integrity));
        Unlocked { cipher: LineCipher::new(seal, key.expose()), authenticator }
    }
}

impl Container {
    /// Its keys.
    ///
    /// # Errors
    /// [`SealError::OtherDeviceKey`].
    pub fn unlock(&self, device: &DeviceKey) -> Result<Unlocked, SealError> {
        let key = device.unwrap_key(&self.wrapped_key, self.seal.row())?;
        Ok(Unlocked::new(self.seal, &key, self.image, self.integrity))
    }

    /// Checks one tag, of the group with that number.
    ///
    /// # Errors
    /// [`SealError::Tag`] when it does not match.
    ///
    /// # Panics
    /// When there is no such group, or the keys are another image's.
    pub fn verify_group(&self, groups: &Groups, unlocked: &Unlocked, index: u32) -> Result<(), SealError> {
        const TOGETHER: &str = "groups, tags and their key go together";
        let authenticator = unlocked.authenticator.as_ref().expect(TOGETHER);
        let tag_bytes = u32::from(authenticator.integrity().tag_bytes());
        let (first, bytes) = groups.place(index);
        let lines = self.memory(first, bytes).expect(TOGETHER);
        let table = self.entry_of(Role::Tags).expect(TOGETHER);
        let tag = self.memory(table.first + index * tag_bytes, tag_bytes).expect(TOGETHER);
        if authenticator.is_tag(first, lines, tag) {
            Ok(())
        } else {
            Err(SealError::Tag { index, first, lines: bytes / LINE_BYTES as u32 })
        }
    }

    /// Checks every tag.
    pub fn verify(&self, unlocked: &Unlocked) -> Verified {
        let bytes = |is_sealed: bool| {
            let spans = self.spans.iter().filter(move |span| span.is_sealed == is_sealed);
            spans.map(|span| span.bytes.len() as u64).sum::<u64>()
        };
        let lines = (bytes(true) / LINE_BYTES as u64) as u32;
        let table_bytes = self.entry_of(Role::Tags).map_or(0, |entry| entry.bytes.into());
        let plain_bytes = bytes(false) - table_bytes;
        let mut verified =
            Verified { tags: 0, tagged_lines: 0, untagged_lines: lines, plain_bytes, faults: Vec::new() };
        let (Some(groups), Some(authenticator), Some(tag)) =
            (self.groups(), &unlocked.authenticator, &self.description_tag)
        else {
            return verified;
        };
        if !authenticator.is_description_tag(&Container::tagged(&self.description()), tag) {
            verified.faults.push(SealError::DescriptionTag);
        }
        for index in 0..groups.count() {
            verified.faults.extend(self.verify_group(&groups, unlocked, index).err());
        }
        Verified { tags: groups.count(), tagged_lines: lines, untagged_lines: 0, ..verified }
    }

    /// The image before it was sealed. With tags, only if all of them match.
    ///
    /// # Errors
    /// The first tag that does not match.
    pub fn unseal(&self, unlocked: &Unlocked) -> Result<Unsealed, SealError> {
        if let Some(fault) = self.verify(unlocked).faults.into_iter().next() {
            return Err(fault);
        }
        let mut open = self.clone();
        for span in open.spans.iter_mut().filter(|span| span.is_sealed) {
            unlocked.cipher.open_all(span.first, &mut span.bytes);
        }
        let bytes = |entry: &Entry| {
            open.memory(entry.first, entry.bytes).expect("every section lies in a piece of memory").to_vec()
        };
        let sections = self.entries.iter().filter_map(|entry| match entry.role {
            Role::Program(kind) => {
                Some(Section { name: entry.name.clone(), kind, first: entry.first, bytes: bytes(entry) })
            }
            Role::Dictionary | Role::Tags => None,
        });
        let words = self.entry_of(Role::Dictionary).map(bytes).unwrap_or_default();
        let words = words.as_chunks().0.iter().map(|&word| self.machine.word(word)).collect();
        Ok(Unsealed {
            sections: Sections {
                machine: self.machine,
                entry: self.entry,
                sections: sections.collect(),
                zeros: self.zeros.clone(),
            },
            dictionary: Dictionary::new(words).expect("reading has checked its length"),
            map: self.map.clone(),
        })
    }

    /// Puts the tags of all groups into their table, and the description's beside it.
    fn add_tags(&mut self, authenticator: &Authenticator) {
        const ADDED: &str = "the table was added";
        let groups = self.groups().expect("who makes tags has groups");
        let tags: Vec<u8> = (0..groups.count())
            .map(|index| groups.place(index))
            .flat_map(|(first, bytes)| authenticator.tag(first, self.memory(first, bytes).expect(ADDED)))
            .collect();
        let first = self.entry_of(Role::Tags).expect(ADDED).first;
        put(&mut self.spans, first, &tags);
        let description = self.description();
        self.description_tag = Some(authenticator.description_tag(&Container::tagged(&description)));
    }
}

fn check_limits(image: &Unsealed) -> Result<(), SealError> {
    let sections = &image.sections;
    let names = sections.sections.iter().map(|section| section.name.len());
    // Two tables may be added.
    let counts = [
        ("sections", sections.sections.len() + 2, SECTIONS_MAX),
        ("pieces of zeros", sections.zeros.len(), ZEROS_MAX),
        ("instructions in the address map", image.map.len(), MAP_ENTRIES_MAX),
        ("bytes of a section's name", names.max().unwrap_or_default(), NAME_BYTES_MAX),
    ];
    for (what, found, limit) in counts {
        if found > limit {
            return Err(SealError::TooMany { what, found: found as u64, limit: limit as u64 });
        }
    }
    Ok(())
}

fn entry(section: &Section, is_sealed: bool) -> Entry {
    let (name, role) = (section.name.clone(), Role::Program(section.kind));
    Entry { name, role, first: section.first, bytes: section.bytes.len() as u32, is_sealed }
}

/// Gives a table its place. Returns the first line behind it.
fn add_table(
    entries: &mut Vec<Entry>,
    zeros: &[Zeros],
    role: Role,
    bytes: u64,
    first: Option<u64>,
) -> Result<u64, SealError> {
    let line_bytes = LINE_BYTES as u64;
    let lines = |first: u64, end: u64| (first / line_bytes * line_bytes, end.next_multiple_of(line_bytes));
    let mut taken: Vec<(u64, u64)> = entries
        .iter()
        .map(|entry| lines(entry.first.into(), entry.end()))
        .chain(
            zeros
                .iter()
                .map(|zeros| lines(zeros.first.into(), u64::from(zeros.first) + u64::from(zeros.bytes))),
        )
        .collect();
    taken.sort_unstable();
    let needed = bytes.next_multiple_of(line_bytes);
    let overlaps = |place: u64| taken.iter().find(|(first, end)| place < *end && *first < place + needed);
    let mut place = match first {
        Some(first) => first,
        None => {
            entries.iter().map(|entry| entry.end().next_multiple_of(line_bytes)).max().unwrap_or_default()
        }
    };
    if first.is_none() {
        while let Some((_, end)) = overlaps(place) {
            place = *end;
        }
    }
    if overlaps(place).is_some() || !place.is_multiple_of(line_bytes) || place + needed > 1 << 32 {
        return Err(SealError::TablesPlace { first: place, bytes });
    }
    let (name, is_sealed) = match role {
        Role::Tags => (TAGS_NAME, false),
        Role::Dictionary | Role::Program(_) => (DICTIONARY_NAME, true),
    };
    let entry = Entry { name: name.into(), role, first: place as u32, bytes: bytes as u32, is_sealed };
    entries.insert(entries.partition_point(|other| other.first < entry.first), entry);
    Ok(place + needed)
}

fn filled(extent: &Extent) -> Span {
    Span { first: extent.first, bytes: vec![FILLER; extent.bytes() as usize], is_sealed: extent.is_sealed }
}

/// Puts bytes where a span has room for them.
fn put(spans: &mut [Span], first: u32, bytes: &[u8]) {
    let span = &mut spans[..].iter_mut().rev().find(|span| span.first <= first).expect("a span begins there");
    let from = (first - span.first) as usize;
    span.bytes[from..from + bytes.len()].copy_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::Kind;

    #[test]
    fn tables_go_behind_what_is_loaded_and_past_what_is_zero() {
        let loaded = |first, bytes| Entry {
            name: "a".into(),
            role: Role::Program(Kind::Code),
            first,
            bytes,
            is_sealed: true,
        };
        let mut entries = vec![loaded(0x100, 5), loaded(0x203, 0x10)];
        let zeros = [Zeros { first: 0x218, bytes: 0x100 }, Zeros { first: 0x330, bytes: 4 }];
        // From 0x220 on it is zero until 0x320; one line is free, then one is zero.
        assert_eq!(add_table(&mut entries, &zeros, Role::Dictionary, 9, None), Ok(0x330));
        assert_eq!(add_table(&mut entries, &zeros, Role::Tags, 0x21, None), Ok(0x370));
        assert_eq!(entries[2].first, 0x320);
        assert_eq!(entries[3].first, 0x340);
        let last = (1 << 32) - 16;
        for (place, bytes) in [(0x104, 1), (0x0f0, 17), (0x210, 1), (0x310, 1), (last, 17)] {
            let refused = SealError::TablesPlace { first: place, bytes };
            assert_eq!(add_table(&mut entries, &zeros, Role::Tags, bytes, Some(place)), Err(refused));
        }
        assert_eq!(add_table(&mut entries, &zeros, Role::Tags, 16, Some(last)), Ok(1 << 32));
        let refused = Err(SealError::TablesPlace { first: 1 << 32, bytes: 1 });
        assert_eq!(add_table(&mut entries, &[], Role::Tags, 1, None), refused);
    }
}
