//! A short text that is moved on often: one file of two halves, written in place in turn.
//!
//! ```text
//! byte    0   half 0     note N          counts the texts; the half is N modulo 2
//! byte 4096   half 1     ...             the text, lines
//!                        check C         CRC-32C of the lines before it, eight hexadecimal digits; zero bytes up to the end
//! ```
//! Owns the bytes of that file. A text in place takes one sync of data, which waits for no commit of the file system's journal:
//! no name changes, and where a file is written over where it lies, no block is allocated and no room is needed. A half that a
//! power cut tears fails its check, and the other one holds the text before it. Where the file lies, and what the texts say,
//! is `anchoring`'s.
//!
//! Invariant: before a half is touched, the other one is durable and is the text written last. So what is found at first is
//! written again where it lies: it may be in the system's memory alone.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};

/// No disk writes or loses parts of both halves at once: sectors have 512 or 4096 bytes.
const HALF_BYTES: usize = 4096;
/// Bytes of the file.
pub(super) const FILE_BYTES: usize = 2 * HALF_BYTES;
/// No file comes to it: one that has a higher number is begun anew.
const NUMBER_MAX: u64 = u64::MAX >> 1;

/// The file, open for reading and writing.
#[derive(Debug)]
pub(super) struct Halves {
    file: File,
    /// Counts the text that was written last.
    number: u64,
    /// The half that it is in.
    last: Vec<u8>,
}

impl Halves {
    /// Goes on in `file`, which holds `content`; `None` where that is not of this format, or has no number left.
    ///
    /// # Errors
    /// The system's.
    pub fn of(file: File, content: &[u8]) -> io::Result<Option<Halves>> {
        let Some((number, text)) = newest(content).filter(|(number, _)| *number <= NUMBER_MAX) else {
            return Ok(None);
        };
        let mut halves = Halves { file, number, last: half(number, text) };
        halves.write_last()?;
        Ok(Some(halves))
    }

    /// Writes `text` in place of the older one, durably. After an error nobody knows what that half holds: the file is done
    /// with, and the other half is as it was.
    ///
    /// # Errors
    /// The system's.
    pub fn write(&mut self, text: &str) -> io::Result<()> {
        self.number += 1;
        self.last = half(self.number, text);
        self.write_last()
    }

    fn write_last(&mut self) -> io::Result<()> {
        self.file.write_all_at(&self.last, at(self.number))?;
        self.file.sync_data()
    }

    /// Whether it is the file of this device and number, and holds what was written last.
    pub fn is_as_written(&self, device: u64, inode: u64) -> bool {
        let mut found = [0; HALF_BYTES];
        self.file.metadata().is_ok_and(|data| (data.dev(), data.ino()) == (device, inode))
            && self.file.read_exact_at(&mut found, at(self.number)).is_ok()
            && found == *self.last
    }
}

/// Where the half of a text begins.
fn at(number: u64) -> u64 {
    number % 2 * HALF_BYTES as u64
}

/// A file that begins with `text`: all its bytes, so that all its blocks are there.
pub(super) fn begun(text: &str) -> Vec<u8> {
    let mut content = half(0, text);
    content.resize(FILE_BYTES, 0);
    content
}

/// The latest text of a file; `None` when no half holds one.
pub(super) fn latest(content: &[u8]) -> Option<&str> {
    newest(content).map(|(_, text)| text)
}

fn newest(content: &[u8]) -> Option<(u64, &str)> {
    let content: &[u8; FILE_BYTES] = content.try_into().ok()?;
    let halves = (0..2).zip(content.chunks(HALF_BYTES));
    let found = halves.filter_map(|(index, half)| parse(half).filter(|(number, _)| number % 2 == index));
    found.max_by_key(|(number, _)| *number)
}

/// # Panics
/// When `text` is longer than a half, which those of a store are far from.
fn half(number: u64, text: &str) -> Vec<u8> {
    let mut half = format!("note {number}\n{text}").into_bytes();
    let check = crc32c::crc32c(&half);
    half.extend(format!("check {check:08x}\n").into_bytes());
    assert!(half.len() <= HALF_BYTES, "{} bytes are for a half", half.len());
    half.resize(HALF_BYTES, 0);
    half
}

fn parse(half: &[u8]) -> Option<(u64, &str)> {
    let end = half.iter().rposition(|&byte| byte != 0)? + 1;
    let lines = std::str::from_utf8(&half[..end]).ok()?;
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
    use std::path::Path;

    fn open(path: &Path) -> Halves {
        let file = File::options().read(true).write(true).open(path).expect("it is there");
        let content = std::fs::read(path).expect("it is there");
        Halves::of(file, &content).expect("there is room").expect("it is ours")
    }

    proptest! {
        #[test]
        fn a_half_that_is_torn_at_any_byte_leaves_the_text_before_or_has_the_new_one(
            before in 1..5_usize, torn in 0..=HALF_BYTES, is_end in any::<bool>(), text in "[a-z0-9 ]{0,200}\n",
        ) {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("halves");
            std::fs::write(&path, begun("text 0\n")).expect("there is room");
            let mut halves = open(&path);
            (1..before).for_each(|number| halves.write(&format!("text {number}\n")).expect("there is room"));
            let old = std::fs::read(&path).expect("it is there");
            halves.write(&text).expect("there is room");
            let new = std::fs::read(&path).expect("it is there");
            // What of it came to the disk: the begin, or the end, of what is written where it is.
            let changed = if is_end { torn..HALF_BYTES } else { 0..torn };
            let at = at(before as u64) as usize;
            let mut content = old.clone();
            content[at + changed.start..at + changed.end].copy_from_slice(&new[at + changed.start..at + changed.end]);
            prop_assert_eq!(latest(&new), Some(&*text));
            let (last, found) = (format!("text {}\n", before - 1), latest(&content));
            prop_assert!(found == Some(&last) || found == Some(&text), "{found:?}");
            // Who goes on there loses neither: the half that is torn is the one that is written over.
            let found = found.expect("it is one of them").to_owned();
            std::fs::write(&path, &content).expect("there is room");
            open(&path).write("next\n").expect("there is room");
            let after = std::fs::read(&path).expect("it is there");
            let texts: Vec<_> = after.chunks(HALF_BYTES).filter_map(parse).map(|(_, text)| text).collect();
            prop_assert!(texts.contains(&&*found) && texts.contains(&"next\n"), "{texts:?}");
        }

        #[test]
        fn a_half_with_any_lines_and_its_check_is_read_without_a_fault(lines in "(note )?[0-9]{0,22}\n?.{0,40}\n?") {
            let text = latest(&with_check(&lines)).map(str::to_owned);
            prop_assert!(text.is_none_or(|text| lines.ends_with(&text)));
        }
    }

    /// A file whose first half has these lines, whatever they are, and their check.
    fn with_check(lines: &str) -> Vec<u8> {
        let mut content = lines.as_bytes().to_vec();
        content.extend(format!("check {:08x}\n", crc32c::crc32c(lines.as_bytes())).into_bytes());
        content.resize(FILE_BYTES, 0);
        content
    }

    #[test]
    fn a_number_that_is_the_other_half_s_is_none_and_one_that_nobody_comes_to_is_read_and_not_gone_on_from() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("halves");
        let goes_on = |content: &[u8]| {
            std::fs::write(&path, content).expect("there is room");
            let file = File::options().read(true).write(true).open(&path).expect("it is there");
            Halves::of(file, content).expect("there is room").is_some()
        };
        for (number, is_read, is_gone_on) in
            [(2, true, true), (1, false, false), (NUMBER_MAX - 1, true, true), (u64::MAX - 1, true, false)]
        {
            let content = with_check(&format!("note {number}\nx\n"));
            assert_eq!(
                (latest(&content), goes_on(&content)),
                (is_read.then_some("x\n"), is_gone_on),
                "{number}"
            );
        }
        open(&path_of(&folder, NUMBER_MAX - 1)).write("y\n").expect("there is room");
        assert_eq!(latest(&std::fs::read(&path).expect("it is there")), Some("y\n"));
    }

    fn path_of(folder: &tempfile::TempDir, number: u64) -> std::path::PathBuf {
        let path = folder.path().join("halves");
        std::fs::write(&path, with_check(&format!("note {number}\nx\n"))).expect("there is room");
        path
    }

    #[test]
    fn texts_are_written_in_turn_in_a_file_that_does_not_grow() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("halves");
        std::fs::write(&path, begun("0\n")).expect("there is room");
        for (from, to) in [(1, 4), (4, 9)] {
            let mut halves = open(&path);
            for text in from..to {
                halves.write(&format!("{text}\n")).expect("there is room");
                let content = std::fs::read(&path).expect("it is there");
                let mut texts: Vec<_> = content.chunks(HALF_BYTES).filter_map(parse).collect();
                texts.sort_unstable();
                let [before, last] = [text - 1, text].map(|text: u64| format!("{text}\n"));
                assert_eq!(texts, [(text - 1, &*before), (text, &*last)]);
                assert_eq!(content.len(), FILE_BYTES);
            }
        }
    }

    #[test]
    fn what_is_found_is_written_again_before_the_other_half_is_touched() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("halves");
        std::fs::write(&path, begun("0\n")).expect("there is room");
        let content = std::fs::read(&path).expect("it is there");
        let read_only = File::open(&path).expect("it is there");
        assert!(Halves::of(read_only, &content).is_err(), "it was not written");
    }
}
