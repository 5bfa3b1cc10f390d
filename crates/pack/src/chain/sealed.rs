//! A container as a chain runs it: its image, and what opens and checks its lines.
//!
//! Owns: what a boot takes from a container, and the keys at the seams of decipher and checks. A boot reads the
//! dictionary or the model into the decompressor and the initialisers into memory, and checks their lines at once; all
//! else stays sealed outside until it is fetched. Reading containers is `container`'s, ciphers and tags are `seal`'s
//! and `integrity`'s. What a boot takes is not among a run's cycles, but `boot`'s to count.

use std::sync::Arc;

use super::decipher::{LineCipher, Work};
use super::integrity::{Check, Group};
use super::rom::LINE_BYTES;
use super::run::Protection;
use crate::code::packet::Dictionary;
use crate::container::Container;
use crate::error::RunError;
use crate::image::{Image, Kind, Section};
use crate::integrity::{Authenticator, Groups};
use crate::lines::{Entry, Role};
use crate::seal::{self, Seal};
use crate::sealed::Unlocked;

/// An image's keys, with where its tags are.
struct Keys {
    cipher: seal::LineCipher,
    authenticator: Option<Authenticator>,
    work: Work,
    /// The groups, and where the first one's tag is.
    tags: Option<(Groups, u32)>,
}

impl LineCipher for Keys {
    fn open(&self, address: u32, line: &mut [u8; LINE_BYTES as usize]) {
        self.cipher.open(address, line);
    }

    fn work(&self) -> Work {
        self.work
    }
}

impl Check for Keys {
    fn group(&self, address: u32) -> Option<Group> {
        let (groups, tags_first) = self.tags.as_ref()?;
        let index = groups.of_address(address)?;
        let (first, bytes) = groups.place(index);
        Some(Group { first, bytes, mac: tags_first + index * self.mac_bytes() })
    }

    fn mac_bytes(&self) -> u32 {
        let authenticator = self.authenticator.as_ref();
        authenticator.map_or(0, |authenticator| authenticator.integrity().tag_bytes().into())
    }

    fn is_sound(&self, group: Group, lines: &[u8], mac: &[u8]) -> bool {
        let authenticator = self.authenticator.as_ref();
        authenticator.is_some_and(|authenticator| authenticator.is_tag(group.first, lines, mac))
    }
}

/// What a unit does to open a line of a seal.
pub fn work_of(seal: Seal) -> Work {
    match seal {
        Seal::Ecb => Work::Block,
        Seal::Xts => Work::Tweak,
        Seal::Ctr(_) => Work::Pad,
    }
}

/// Boots a container that was unlocked: the image, and how it is protected.
///
/// # Errors
/// An image for another machine, and lines that a boot reads and that are not what was sealed.
pub fn boot(unlocked: Unlocked<'_>) -> Result<(Image, Protection), RunError> {
    let container = unlocked.container();
    let number = container.machine().number;
    let target = container.machine().target().ok_or(RunError::Machine { found: number })?;
    let table = container.entry_of(Role::Tags).map(|entry| entry.first);
    let tags = container.groups().zip(table);
    let (cipher, authenticator) = unlocked.into_keys();
    let keys = Keys { cipher, authenticator, work: work_of(container.seal()), tags };
    let mut image = Image {
        target,
        entry: container.entry(),
        sections: Vec::new(),
        zeros: container.zeros().to_vec(),
        dictionary: Dictionary::default(),
        packed_text: container.packed_text().to_vec(),
        map: container.map().to_vec(),
    };
    for entry in container.entries() {
        match entry.role {
            Role::Program(kind) => {
                if matches!(kind, Kind::Data | Kind::Model) {
                    keys.check(container, entry)?;
                }
                let bytes = keys.opened(container, entry);
                image.sections.push(Section { name: entry.name.clone(), kind, first: entry.first, bytes });
            }
            Role::Dictionary => {
                keys.check(container, entry)?;
                let bytes = keys.opened(container, entry);
                let words = bytes.as_chunks().0.iter().map(|&word| target.word(word)).collect();
                image.dictionary = Dictionary::new(words).expect("reading has checked its length");
            }
            Role::Tags => {}
        }
    }
    let spans = container.spans();
    let sealed = spans.iter().filter(|span| span.is_sealed);
    let keys = Arc::new(keys);
    let protection = Protection {
        memory: Some(spans.iter().map(|span| (span.first, span.bytes.clone())).collect()),
        sealed: sealed.map(|span| span.first..span.first.saturating_add(span.bytes.len() as u32)).collect(),
        check: keys.tags.is_some().then(|| keys.clone() as Arc<dyn Check>),
        cipher: Some(keys),
    };
    Ok((image, protection))
}

impl Keys {
    /// The lines that a section lies in: the first address, and the bytes as they stand outside.
    fn lines<'a>(&self, container: &'a Container, entry: &Entry) -> (u32, &'a [u8]) {
        let first = entry.first & !(LINE_BYTES - 1);
        let end = entry.end().next_multiple_of(LINE_BYTES.into());
        let bytes = (end - u64::from(first)) as u32;
        (first, container.memory(first, bytes).expect("sealed sections lie in whole lines"))
    }

    /// A section, opened.
    fn opened(&self, container: &Container, entry: &Entry) -> Vec<u8> {
        if !entry.is_sealed {
            let bytes = container.memory(entry.first, entry.bytes);
            return bytes.expect("every section lies in a piece of memory").to_vec();
        }
        let (first, lines) = self.lines(container, entry);
        let mut lines = lines.to_vec();
        self.cipher.open_all(first, &mut lines);
        let at = (entry.first - first) as usize;
        lines[at..at + entry.bytes as usize].to_vec()
    }

    /// Checks the lines that a boot reads.
    fn check(&self, container: &Container, entry: &Entry) -> Result<(), RunError> {
        if !entry.is_sealed || self.tags.is_none() {
            return Ok(());
        }
        let (first, lines) = self.lines(container, entry);
        for offset in (0..lines.len() as u32).step_by(LINE_BYTES as usize) {
            let Some(group) = self.group(first + offset) else { continue };
            let lines = container.memory(group.first, group.bytes);
            let tag = container.memory(group.mac, self.mac_bytes());
            if !lines.zip(tag).is_some_and(|(lines, tag)| self.is_sound(group, lines, tag)) {
                return Err(RunError::BootCheck { line: group.first });
            }
        }
        Ok(())
    }
}
