//! A short text that is moved on often: one file of two slots, written in place in turn.
//!
//! ```text
//! byte    0   slot 0     note N          counts the texts; the slot is N modulo 2
//! byte 4096   slot 1     ...             the text, lines
//!                        check C         CRC-32C of the lines before it, eight hexadecimal digits; zero bytes up to the end
//! ```
//! Owns the bytes of that file. A text in place takes one sync of data: no block is allocated, no name changes, so it does not
//! wait for the file system's journal and needs no room. A slot that a power cut tears fails its check, and the other one
//! holds the text before it. Where the file lies, and what the texts say, is `anchoring`'s.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};

/// A slot is a unit that no disk divides into parts of both slots: 512 and 4096 bytes are in use.
const SLOT_BYTES: usize = 4096;
/// Bytes of the file.
pub(super) const FILE_BYTES: usize = 2 * SLOT_BYTES;

/// The file, open for writing.
#[derive(Debug)]
pub(super) struct Slots {
    file: File,
    /// Counts the text that is written next.
    next: u64,
}

impl Slots {
    /// Goes on in `file`, which holds `content`; `None` where that is not of this format.
    pub fn of(file: File, content: &[u8]) -> Option<Slots> {
        let (newest, _) = newest(content)?;
        Some(Slots { file, next: newest.checked_add(1)? })
    }

    /// Writes `text` in place of the older one, durably. After an error nobody knows what that slot holds: the file is done
    /// with, and the other slot is as it was.
    ///
    /// # Errors
    /// The system's.
    pub fn write(&mut self, text: &str) -> io::Result<()> {
        let at = (self.next % 2) * SLOT_BYTES as u64;
        self.file.write_all_at(&slot(self.next, text), at)?;
        self.file.sync_data()?;
        self.next += 1;
        Ok(())
    }

    /// Whether it is the file of this device and number.
    pub fn is_file(&self, device: u64, inode: u64) -> bool {
        self.file.metadata().is_ok_and(|data| (data.dev(), data.ino()) == (device, inode))
    }
}

/// A file that begins with `text`: all its bytes, so that all its blocks are there.
pub(super) fn begun(text: &str) -> Vec<u8> {
    let mut content = slot(0, text);
    content.resize(FILE_BYTES, 0);
    content
}

/// The latest text of a file; `None` when no slot holds one.
pub(super) fn latest(content: &[u8]) -> Option<&str> {
    newest(content).map(|(_, text)| text)
}

fn newest(content: &[u8]) -> Option<(u64, &str)> {
    let content: &[u8; FILE_BYTES] = content.try_into().ok()?;
    content.chunks(SLOT_BYTES).filter_map(parse).max_by_key(|(number, _)| *number)
}

/// # Panics
/// When `text` is longer than a slot, which those of a store are far from.
fn slot(number: u64, text: &str) -> Vec<u8> {
    let mut slot = format!("note {number}\n{text}").into_bytes();
    let check = crc32c::crc32c(&slot);
    slot.extend(format!("check {check:08x}\n").into_bytes());
    assert!(slot.len() <= SLOT_BYTES, "{} bytes are for a slot", slot.len());
    slot.resize(SLOT_BYTES, 0);
    slot
}

fn parse(slot: &[u8]) -> Option<(u64, &str)> {
    let end = slot.iter().rposition(|&byte| byte != 0)? + 1;
    let lines = std::str::from_utf8(&slot[..end]).ok()?;
    let (body, check) = lines.strip_suffix('\n')?.rsplit_once('\n')?;
    let checked = &lines[..=body.len()];
    if check != format!("check {:08x}", crc32c::crc32c(checked.as_bytes())) {
        return None;
    }
    let (number, text) = checked.strip_prefix("note ")?.split_once('\n')?;
    Some((number.parse().ok()?, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_slot_that_is_torn_at_any_byte_leaves_the_text_before_or_has_the_new_one(
            texts in prop::collection::vec("[a-z0-9 ]{0,200}\n", 2..6), torn in 0..SLOT_BYTES, is_end in any::<bool>(),
        ) {
            let mut content = begun(&texts[0]);
            for (number, text) in texts.iter().enumerate().skip(1) {
                let (before, at) = (content.clone(), number % 2 * SLOT_BYTES);
                let fresh = slot(number as u64, text);
                // A disk writes the begin first, or the end.
                let written = if is_end { torn..SLOT_BYTES } else { 0..torn };
                content[at + written.start..at + written.end].copy_from_slice(&fresh[written.clone()]);
                let found = latest(&content);
                prop_assert!(found == Some(&texts[number - 1]) || found == Some(text), "{found:?}");
                content = before;
                content[at..at + SLOT_BYTES].copy_from_slice(&fresh);
                prop_assert_eq!(latest(&content), Some(&**text));
            }
        }

        #[test]
        fn any_bytes_are_read_without_a_fault(bytes in prop::collection::vec(any::<u8>(), 0..300), at in 0..FILE_BYTES - 300) {
            prop_assert_eq!(latest(&bytes), None);
            let mut content = begun("text\n");
            content[at..at + bytes.len()].copy_from_slice(&bytes);
            prop_assert!(matches!(latest(&content), None | Some("text\n")));
        }
    }

    #[test]
    fn texts_are_written_in_turn_in_a_file_that_does_not_grow() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("slots");
        std::fs::write(&path, begun("0\n")).expect("there is room");
        for (from, to) in [(1, 4), (4, 9)] {
            let file = File::options().write(true).open(&path).expect("it is there");
            let content = std::fs::read(&path).expect("it is there");
            let mut slots = Slots::of(file, &content).expect("it is ours");
            for text in from..to {
                slots.write(&format!("{text}\n")).expect("there is room");
                let content = std::fs::read(&path).expect("it is there");
                assert_eq!((latest(&content), content.len()), (Some(&*format!("{text}\n")), FILE_BYTES));
            }
        }
    }
}
