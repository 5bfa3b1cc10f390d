//! An image and its sealed form: sealing, unlocking, verifying and unsealing, step by step.
//!
//! Owns: the order of things from sections to a [`Container`] and back. Each step is of the file that is named after
//! it. What a program stores into its memory when it runs is as it stores it: nothing here seals or tags that. Keys are
//! the caller's choice; a nonce is drawn for each image, so that none is used for two.

use cipher::Randomness;

use crate::code::onfill::stored::expand;
use crate::code::packet::Dictionary;
use crate::container::{Container, Span, check_zeros};
use crate::error::{RunError, SealError};
use crate::image::{Image, Kind, Moved, PackedText, Section};
use crate::integrity::{Authenticator, Groups, ImageName, Integrity};
use crate::keys::{DeviceKey, ImageKey};
use crate::limits::{
    FAULTS_KEPT, IMAGE_BYTES_MAX, MAP_ENTRIES_MAX, NAME_BYTES_MAX, PACKED_TEXT_MAX, SECTIONS_MAX, ZEROS_MAX,
};
use crate::lines::{Choice, Entry, Extent, FILLER, Role, check_granules, extents};
use crate::seal::{LINE_BYTES, LineCipher, Row, Seal};
use crate::sections::{Machine, Sections};
use crate::tables::{add_dictionary, add_tags};

/// How an image is sealed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The seal. Its nonce is drawn when an image is sealed.
    pub seal: &'static Row,
    /// Whether the seal may be one that shows which lines are equal.
    pub allow_legacy: bool,
    /// Which sections.
    pub choice: Choice,
    /// Which tags, if any.
    pub integrity: Option<Integrity>,
    /// Which image it is.
    pub image: ImageName,
    /// Where the dictionary goes, or else the tags, and then the tags at the next granule of the seal: the beginning of
    /// a granule in memory that nothing takes, when the program runs either. Without it each goes to the first granule
    /// behind code or constants that has room before what is loaded or zero next; there must be such room, because a
    /// program may grow into what lies behind memory that it writes.
    pub tables_first: Option<u32>,
}

/// What an image is before it is sealed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsealed {
    /// What lies in memory.
    pub sections: Sections,
    /// The instructions that its packets name; empty when nothing is packed.
    pub dictionary: Dictionary,
    /// What of its code no load may be from; empty when nothing moved.
    pub packed_text: Vec<PackedText>,
    /// Where its instructions went; empty when nothing moved, or when it was left out.
    pub map: Vec<Moved>,
}

impl From<Image> for Unsealed {
    fn from(image: Image) -> Unsealed {
        let Image { target, entry, sections, zeros, dictionary, packed_text, map } = image;
        let sections = Sections { machine: Machine::of(target), entry, sections, zeros };
        Unsealed { sections, dictionary, packed_text, map }
    }
}

/// Nothing is packed.
impl From<Sections> for Unsealed {
    fn from(sections: Sections) -> Unsealed {
        Unsealed { sections, dictionary: Dictionary::default(), packed_text: Vec::new(), map: Vec::new() }
    }
}

impl Unsealed {
    /// It as an image that can be run behind a chain; `None` when it is for another machine than those.
    pub fn into_image(self) -> Option<Image> {
        let Unsealed { sections, dictionary, packed_text, map } = self;
        let Sections { machine, entry, sections, zeros } = sections;
        let target = machine.target()?;
        Some(Image { target, entry, sections, zeros, dictionary, packed_text, map })
    }
}

/// What a device expects of an image before it takes anything from it. By default it expects nothing: neither tags, nor
/// a certain image, nor a version. Only tags vouch for what a container says, so that who expects anything expects them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// Whether there must be tags.
    pub tags: bool,
    /// Which image it must be, with tags; without, any.
    pub id: Option<[u8; 8]>,
    /// The oldest version that is taken, with tags; 0 takes all.
    pub least_version: u32,
}

impl Expected {
    /// Whether only an image with tags can be what is expected.
    fn needs_tags(&self) -> bool {
        self.tags || self.id.is_some() || self.least_version > 0
    }
}

/// A container with its keys, unwrapped and expanded. With tags, its description is what was sealed.
#[derive(Debug)]
pub struct Unlocked<'c> {
    container: &'c Container,
    cipher: LineCipher,
    authenticator: Option<Authenticator>,
    groups: Option<Groups>,
}

/// What verifying has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Whether the seal shows which lines are equal.
    pub is_legacy: bool,
    /// How many tags were checked, the description's not counted.
    pub tags: u32,
    /// How many lines they are for.
    pub tagged_lines: u32,
    /// How many sealed lines have no tag: whoever changes them is not found out.
    pub untagged_lines: u32,
    /// How many bytes are not sealed, and have no tag either; the tags themselves are not counted.
    pub plain_bytes: u64,
    /// The first [`FAULTS_KEPT`] tags that do not match.
    pub faults: Vec<SealError>,
    /// How many do not match.
    pub fault_count: u32,
}

/// Seals an image, under a nonce that is drawn for it.
///
/// # Errors
/// What cannot be sealed so; [`SealError::Randomness`].
///
/// # Panics
/// When sections, zeros or packed text are empty, do not ascend or end behind the last address, or the map does not
/// ascend, or the key is not the seal's.
pub fn seal(
    image: &Unsealed,
    settings: &Settings,
    key: &ImageKey,
    device: &DeviceKey,
    randomness: &mut impl Randomness,
) -> Result<Container, SealError> {
    let drawn = settings.seal.fresh(settings.image.version, randomness);
    let seal = drawn.map_err(|error| SealError::Randomness { why: error.to_string() })?;
    seal_under_given_nonce(image, settings, seal, key, device)
}

/// Seals an image under a nonce that the caller has: for vectors and tests, and for nobody else. Two images under one
/// nonce and one key tell each other.
///
/// # Errors
/// What cannot be sealed so.
///
/// # Panics
/// As [`seal`]; and when the seal is not that of the settings.
pub fn seal_under_given_nonce(
    image: &Unsealed,
    settings: &Settings,
    seal: Seal,
    key: &ImageKey,
    device: &DeviceKey,
) -> Result<Container, SealError> {
    let row = seal.row();
    assert!(row == settings.seal, "the seal is that of the settings");
    if row.is_legacy && !settings.allow_legacy {
        return Err(SealError::Legacy { seal: row.seal });
    }
    check_limits(image)?;
    check_order(image);
    let sections = &image.sections;
    let chosen = settings.choice.among(&sections.sections)?;
    let mut entries: Vec<Entry> =
        sections.sections.iter().zip(chosen).map(|(section, is_sealed)| entry(section, is_sealed)).collect();
    let words = image.dictionary.entries().iter();
    let dictionary: Vec<u8> = words.flat_map(|&word| sections.machine.bytes(word)).collect();
    // Places of tables depend on those before: the dictionary has tags, too.
    let place = settings.tables_first.map(u64::from);
    let place = add_dictionary(&mut entries, &sections.zeros, dictionary.len() as u64, place, row)?;
    let mut parts = extents(&entries)?;
    if let Some(integrity) = settings.integrity {
        let bytes = Groups::new(integrity, &parts).table_bytes();
        add_tags(&mut entries, &sections.zeros, bytes, place, row)?;
        parts = extents(&entries)?;
    }
    check_granules(&entries, row.granule_bytes)?;
    let found = parts.iter().map(Extent::bytes).sum();
    if found > IMAGE_BYTES_MAX {
        return Err(SealError::TooMany { what: "bytes of memory", found, limit: IMAGE_BYTES_MAX });
    }
    let cipher = LineCipher::new(seal, key.expose());
    let mut container = Container {
        machine: sections.machine,
        entry: sections.entry,
        seal,
        image: settings.image,
        wrapped_key: device.wrap_key(key),
        integrity: settings.integrity,
        spans: sealed_spans(image, &entries, &parts, &dictionary, &cipher),
        entries,
        zeros: sections.zeros.clone(),
        packed_text: image.packed_text.clone(),
        map: image.map.clone(),
        description_tag: None,
    };
    if let Some(authenticator) = container.authenticator(key) {
        container.add_tags(&authenticator);
    }
    Ok(container)
}

/// The memory of an image, sealed.
fn sealed_spans(
    image: &Unsealed,
    entries: &[Entry],
    parts: &[Extent],
    dictionary: &[u8],
    cipher: &LineCipher,
) -> Vec<Span> {
    let mut spans: Vec<Span> = parts.iter().map(filled).collect();
    for section in &image.sections.sections {
        put(&mut spans, section.first, &section.bytes);
    }
    if let Some(entry) = entries.iter().find(|entry| entry.role == Role::Dictionary) {
        put(&mut spans, entry.first, dictionary);
    }
    for span in spans.iter_mut().filter(|span| span.is_sealed) {
        cipher.seal_all(span.first, &mut span.bytes);
    }
    spans
}

impl Container {
    /// It with its keys. With tags, nothing of it is taken before that of its description matches. Without them, what it
    /// says of its id and version is worth nothing, and who expects either is told that there are none.
    ///
    /// # Errors
    /// [`SealError::NoTags`], [`SealError::OtherDeviceKey`], [`SealError::DescriptionTag`], [`SealError::OtherImage`],
    /// [`SealError::OldImage`], in this order.
    pub fn unlock(&self, device: &DeviceKey, expected: &Expected) -> Result<Unlocked<'_>, SealError> {
        if expected.needs_tags() && self.integrity.is_none() {
            return Err(SealError::NoTags);
        }
        let key = device.unwrap_key(&self.wrapped_key, self.seal.row())?;
        let authenticator = self.authenticator(&key);
        if let (Some(authenticator), Some(tag)) = (&authenticator, &self.description_tag)
            && !authenticator.is_description_tag(&Container::tagged(&self.description()), tag)
        {
            return Err(SealError::DescriptionTag);
        }
        let ImageName { version, id } = self.image;
        if let Some(expected) = expected.id.filter(|expected| *expected != id) {
            return Err(SealError::OtherImage { found: id, expected });
        }
        if version < expected.least_version {
            return Err(SealError::OldImage { found: version, least: expected.least_version });
        }
        let cipher = LineCipher::new(self.seal, key.expose());
        Ok(Unlocked { container: self, cipher, authenticator, groups: self.groups() })
    }

    fn authenticator(&self, key: &ImageKey) -> Option<Authenticator> {
        self.integrity.map(|integrity| Authenticator::new(&key.tag_key(), self.image, integrity))
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

impl<'c> Unlocked<'c> {
    /// What was unlocked.
    pub fn container(&self) -> &'c Container {
        self.container
    }

    /// What opens its lines.
    pub fn cipher(&self) -> &LineCipher {
        &self.cipher
    }

    /// What checks its tags, if it has any.
    pub fn authenticator(&self) -> Option<&Authenticator> {
        self.authenticator.as_ref()
    }

    /// Both, without the container: for who keeps them longer.
    pub fn into_keys(self) -> (LineCipher, Option<Authenticator>) {
        (self.cipher, self.authenticator)
    }

    /// Checks every tag.
    pub fn verify(&self) -> Verified {
        let container = self.container;
        let bytes = |is_sealed: bool| {
            let spans = container.spans.iter().filter(move |span| span.is_sealed == is_sealed);
            spans.map(|span| span.bytes.len() as u64).sum::<u64>()
        };
        let lines = (bytes(true) / LINE_BYTES as u64) as u32;
        let table_bytes = container.entry_of(Role::Tags).map_or(0, |entry| entry.bytes.into());
        let groups = self.groups.as_ref();
        let (tagged_lines, untagged_lines) = if groups.is_some() { (lines, 0) } else { (0, lines) };
        let mut verified = Verified {
            is_legacy: container.seal.row().is_legacy,
            tags: groups.map_or(0, Groups::count),
            tagged_lines,
            untagged_lines,
            plain_bytes: bytes(false) - table_bytes,
            faults: Vec::new(),
            fault_count: 0,
        };
        for fault in self.faults() {
            verified.fault_count += 1;
            if verified.faults.len() < FAULTS_KEPT {
                verified.faults.push(fault);
            }
        }
        verified
    }

    /// The container with its memory opened, for forms that others read; its tags are those of the sealed lines. With
    /// tags, only if all of them match.
    ///
    /// # Errors
    /// The first tag that does not match.
    pub fn opened(&self) -> Result<Container, SealError> {
        if let Some(fault) = self.faults().next() {
            return Err(fault);
        }
        let mut open = self.container.clone();
        for span in open.spans.iter_mut().filter(|span| span.is_sealed) {
            self.cipher.open_all(span.first, &mut span.bytes);
        }
        Ok(open)
    }

    /// The image before it was sealed. With tags, only if all of them match.
    ///
    /// # Errors
    /// The first tag that does not match.
    pub fn unseal(&self) -> Result<Unsealed, SealError> {
        Ok(held(&self.opened()?))
    }

    /// Checks one tag, of the group with that number.
    ///
    /// # Errors
    /// [`SealError::Tag`] when it does not match.
    ///
    /// # Panics
    /// When there is no such group.
    pub fn verify_group(&self, index: u32) -> Result<(), SealError> {
        const TOGETHER: &str = "groups, tags and their key go together";
        let groups = self.groups.as_ref().expect("without tags there is no group");
        let authenticator = self.authenticator.as_ref().expect(TOGETHER);
        let tag_bytes = u32::from(authenticator.integrity().tag_bytes());
        let (first, bytes) = groups.place(index);
        let lines = self.container.memory(first, bytes).expect(TOGETHER);
        let table = self.container.entry_of(Role::Tags).expect(TOGETHER);
        let tag = self.container.memory(table.first + index * tag_bytes, tag_bytes).expect(TOGETHER);
        if authenticator.is_tag(first, lines, tag) {
            Ok(())
        } else {
            Err(SealError::Tag { index, first, lines: bytes / LINE_BYTES as u32 })
        }
    }

    /// Each tag of lines that does not match.
    fn faults(&self) -> impl Iterator<Item = SealError> {
        (0..self.groups.as_ref().map_or(0, Groups::count)).filter_map(|index| self.verify_group(index).err())
    }
}

/// What a container holds whose memory is open.
fn held(open: &Container) -> Unsealed {
    let bytes = |entry: &Entry| {
        open.memory(entry.first, entry.bytes).expect("every section lies in a piece of memory").to_vec()
    };
    let sections = open.entries.iter().filter_map(|entry| match entry.role {
        Role::Program(kind) => {
            Some(Section { name: entry.name.clone(), kind, first: entry.first, bytes: bytes(entry) })
        }
        Role::Dictionary | Role::Tags => None,
    });
    let words = open.entry_of(Role::Dictionary).map(bytes).unwrap_or_default();
    let words = words.as_chunks().0.iter().map(|&word| open.machine.word(word)).collect();
    Unsealed {
        sections: Sections {
            machine: open.machine,
            entry: open.entry,
            sections: sections.collect(),
            zeros: open.zeros.clone(),
        },
        dictionary: Dictionary::new(words).expect("reading has checked its length"),
        packed_text: open.packed_text.clone(),
        map: open.map.clone(),
    }
}

/// A container whose memory is open, with its code as it was before it was compressed, for forms that others read; as
/// it is where its code is not compressed. Its tags are left out then: they are of lines that are not there any more.
///
/// # Errors
/// What cannot be expanded, and plain code that has no room where it was.
pub fn expanded(open: Container) -> Result<Container, RunError> {
    if open.entry_of(Role::Program(Kind::Model)).is_none() {
        return Ok(open);
    }
    let found = open.machine.number;
    let image = held(&open).into_image().ok_or(RunError::Machine { found })?;
    let sections = expand(&image)?.into_owned().sections;
    let end = |section: &Section| u64::from(section.first) + section.bytes.len() as u64;
    if let Some(pair) = sections.windows(2).find(|pair| end(&pair[0]) > pair[1].first.into()) {
        return Err(RunError::Sections { address: pair[1].first });
    }
    let span =
        |section: &Section| Span { first: section.first, bytes: section.bytes.clone(), is_sealed: false };
    Ok(Container {
        integrity: None,
        description_tag: None,
        map: Vec::new(),
        entries: sections.iter().map(|section| entry(section, false)).collect(),
        spans: sections.iter().map(span).collect(),
        ..open
    })
}

fn check_limits(image: &Unsealed) -> Result<(), SealError> {
    let sections = &image.sections;
    let names = sections.sections.iter().map(|section| section.name.len());
    // Two tables may be added.
    let counts = [
        ("sections", sections.sections.len() + 2, SECTIONS_MAX),
        ("pieces of zeros", sections.zeros.len(), ZEROS_MAX),
        ("pieces of packed text", image.packed_text.len(), PACKED_TEXT_MAX),
        ("instructions in the address map", image.map.len(), MAP_ENTRIES_MAX),
        ("bytes of a section's name", names.max().unwrap_or_default(), NAME_BYTES_MAX),
    ];
    for (what, found, limit) in counts {
        if found > limit {
            return Err(SealError::TooMany { what, found: found as u64, limit: limit as u64 });
        }
    }
    check_zeros(&sections.zeros)?;
    match sections.sections.iter().find(|section| section.name.contains('\0')) {
        Some(section) => Err(SealError::Name { name: section.name.clone() }),
        None => Ok(()),
    }
}

/// Asserts what who makes an image promises.
fn check_order(image: &Unsealed) {
    let apart = |ranges: &[(u32, u64)]| {
        let end = |range: &(u32, u64)| u64::from(range.0) + range.1;
        ranges.is_sorted_by(|a, b| end(a) <= b.0.into())
            && ranges.iter().all(|range| range.1 > 0 && end(range) <= 1 << 32)
    };
    let Sections { sections, zeros, .. } = &image.sections;
    let sections: Vec<_> =
        sections.iter().map(|section| (section.first, section.bytes.len() as u64)).collect();
    let zeros: Vec<_> = zeros.iter().map(|zeros| (zeros.first, zeros.bytes.into())).collect();
    let text: Vec<_> = image.packed_text.iter().map(|text| (text.first, text.bytes.into())).collect();
    assert!(apart(&sections), "sections ascend, and end with memory");
    assert!(apart(&zeros), "zeros ascend, and end with memory");
    assert!(apart(&text), "packed text ascends, and ends with memory");
    assert!(image.map.is_sorted_by(|a, b| a.old < b.old), "the address map ascends");
}

fn entry(section: &Section, is_sealed: bool) -> Entry {
    let (name, role) = (section.name.clone(), Role::Program(section.kind));
    Entry { name, role, first: section.first, bytes: section.bytes.len() as u32, is_sealed }
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
