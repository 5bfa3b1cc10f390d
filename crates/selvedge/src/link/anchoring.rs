//! How far the store has come, noted beside the keys: an older copy of it is not written to.
//!
//! ```text
//! KEYS/store.anchor     name NAME                                   the store that was written to last
//!                       store ID segment N end E chain TAG          and its last group that is noted, if there is one
//! STORE/store.name      name NAME                                   random, from before anything is stored
//! ```
//! The note is moved with groups of the log, so it is written in place: its file is of `halves`. One that has the lines alone
//! is of an earlier version, and is read once.
//!
//! Owns these files. When the note is moved, and what of a store is compared with it, is `collect::anchor`'s. Whoever can
//! write to the key folder can forge both; the store's folder may be on a disk that others restore.
//!
//! A store that is begun anew, in an empty folder, has another name, and takes the place of the one before; which epochs it
//! takes frames of is `reservations`' to say.

use std::path::Path;
use std::sync::Mutex;

use cipher::{OsRandomness, Randomness};
use collect::anchor::Anchor;
use zeroize::Zeroizing;

use super::folder::Folder;
use super::halves::{self, FILE_BYTES, Halves};
use super::keys::Keys;
use crate::error::{Error, KeyFault};

const ANCHOR_NAME: &str = "store.anchor";
const NAME_NAME: &str = "store.name";

/// What is noted of the store that was written to last.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Noted {
    name: String,
    /// How far it has come at least; `None` when nothing is noted yet.
    anchor: Option<Anchor>,
}

impl Noted {
    fn text(&self) -> String {
        let anchor = self.anchor.as_ref().map_or(String::new(), Anchor::to_text);
        format!("{}{anchor}", name_text(&self.name))
    }

    fn parse(text: &str) -> Option<Noted> {
        let (name, rest) = text.split_at(text.find('\n')? + 1);
        let anchor = if rest.is_empty() { None } else { Some(Anchor::parse(rest)?) };
        Some(Noted { name: parse_name(name)?, anchor })
    }

    fn of_file(content: &[u8]) -> Option<Noted> {
        match content.len() {
            FILE_BYTES => Noted::parse(halves::latest(content)?),
            _ => Noted::parse(std::str::from_utf8(content).ok()?),
        }
    }
}

/// The note of the store that is written to, for who moves it.
#[derive(Debug)]
pub struct Note {
    folder: Folder,
    noted: Noted,
    /// `None` where the file has to be written anew.
    halves: Mutex<Option<Halves>>,
}

impl Note {
    /// What is noted in the folder at `notes`, which is made if it is not there, of the store at `store`, which is the one
    /// from now on. Before anything else is begun there.
    ///
    /// # Errors
    /// As [`Keys::anchored`].
    pub fn begin(notes: &Path, store: &Path) -> Result<Note, Error> {
        Self::begin_in(Folder::create(notes)?, store)
    }

    fn begin_in(folder: Folder, store: &Path) -> Result<Note, Error> {
        let noted = begin(&folder, &Folder::create(store)?)?;
        let content = folder.read(ANCHOR_NAME)?;
        let halves = Mutex::new(go_on(&folder, &content));
        Ok(Note { folder, noted, halves })
    }

    /// How far the store had come at least when it was begun, as far as that was noted.
    pub fn found(&self) -> Option<Anchor> {
        self.noted.anchor
    }

    /// Notes, durably, how far the store has come. A file that somebody has taken away or replaced, or that could not be
    /// written to, is written anew.
    ///
    /// # Errors
    /// [`Error::Io`].
    ///
    /// # Panics
    /// When a thread did while it noted.
    pub fn keep(&self, anchor: &Anchor) -> Result<(), Error> {
        let text = Noted { anchor: Some(*anchor), ..self.noted.clone() }.text();
        let mut kept = self.halves.lock().expect("nobody panics with it");
        let identity = self.folder.identity(ANCHOR_NAME);
        // Taken out: an error leaves none, and the next note makes another file.
        let is_there =
            |halves: &Halves| identity.is_some_and(|(device, inode)| halves.is_as_written(device, inode));
        if let Some(mut halves) = kept.take().filter(is_there) {
            halves.write(&text).map_err(|cause| Error::io("write", &self.folder.path(ANCHOR_NAME), cause))?;
            *kept = Some(halves);
            return Ok(());
        }
        let content = halves::begun(&text);
        self.folder.replace(ANCHOR_NAME, &content)?;
        // It is noted, whether or not the next one can go on there.
        *kept = go_on(&self.folder, &content);
        Ok(())
    }
}

/// The file in place; `None` where the first note has to make one: it is of an earlier version, or cannot be written to.
fn go_on(folder: &Folder, content: &[u8]) -> Option<Halves> {
    // Who wrote it may have ended before its name was durable.
    folder.sync().ok()?;
    let file = folder.open_in_place(ANCHOR_NAME).ok()?;
    Halves::of(file, content).ok().flatten()
}

fn name_text(name: &str) -> String {
    format!("name {name}\n")
}

fn parse_name(text: &str) -> Option<String> {
    let name = text.strip_prefix("name ")?.strip_suffix('\n')?;
    let is_name = name.len() == 32 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_name.then(|| name.to_owned())
}

fn read<T>(folder: &Folder, name: &str, parse: impl Fn(&[u8]) -> Option<T>) -> Result<Option<T>, Error> {
    let content = match folder.read(name) {
        Err(Error::Key { fault: KeyFault::Missing, .. }) => return Ok(None),
        content => content?,
    };
    parse(&content).map(Some).ok_or_else(|| fault(folder, name))
}

fn fault(folder: &Folder, name: &str) -> Error {
    Error::Key { path: folder.path(name), fault: KeyFault::Anchor }
}

fn name_of_file(content: &[u8]) -> Option<String> {
    parse_name(std::str::from_utf8(content).ok()?)
}

/// What `notes` has of the store; `None` for one that nothing is noted of, and that may be the one from now on.
fn noted(notes: &Folder, store: &Folder) -> Result<Option<Noted>, Error> {
    let Some(noted) = read(notes, ANCHOR_NAME, Noted::of_file)? else { return Ok(None) };
    if read(store, NAME_NAME, name_of_file)?.as_ref() == Some(&noted.name) {
        return Ok(Some(noted));
    }
    let is_used = |name: &String| name.ends_with(".from") || name.ends_with(".seg");
    if store.names()?.iter().any(is_used) {
        return Err(Error::Key { path: store.path(NAME_NAME), fault: KeyFault::OtherStore });
    }
    Ok(None)
}

fn begin(notes: &Folder, store: &Folder) -> Result<Noted, Error> {
    if let Some(noted) = noted(notes, store)? {
        return Ok(noted);
    }
    let content = store.read_or_write(NAME_NAME, || {
        let mut name = [0; 16];
        let path = || store.path(NAME_NAME);
        OsRandomness.fill(&mut name).map_err(|cause| Error::io("name", &path(), cause))?;
        let name: String = name.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Zeroizing::new(name_text(&name).into_bytes()))
    })?;
    let name = name_of_file(&content).ok_or_else(|| fault(store, NAME_NAME))?;
    let noted = Noted { name, anchor: None };
    notes.replace(ANCHOR_NAME, &halves::begun(&noted.text()))?;
    Ok(noted)
}

impl Keys {
    /// How far the store at `store` has come at least, as far as that is noted; `None` also when it was never written to.
    ///
    /// # Errors
    /// [`Error::Key`], also when another store was written to last, or [`Error::Io`].
    pub fn anchored(&self, store: &Path) -> Result<Option<Anchor>, Error> {
        noted(self.folder(), &Folder::open(store)?).map(|noted| noted.and_then(|noted| noted.anchor))
    }

    /// The note of the store at `store`, which is the one from now on. Before anything else is begun there.
    ///
    /// # Errors
    /// As [`Keys::anchored`].
    pub fn begin_anchor(&self, store: &Path) -> Result<Note, Error> {
        Note::begin_in(self.folder().try_clone()?, store)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::reservations::{ecg, fault};
    use std::fs;

    fn at(segment: u64) -> Anchor {
        Anchor { store: [1; 16], segment, end: 4096, chain: [0; 16] }
    }

    #[test]
    fn what_is_noted_of_a_store_is_found_and_another_used_one_is_not_taken_for_it() {
        let out = tempfile::tempdir().expect("a folder");
        let keys = Keys::of(&ecg(), out.path()).expect("keys are made");
        let (store, other) = (out.path().join("store"), out.path().join("other"));
        let note = keys.begin_anchor(&store).unwrap();
        assert_eq!(note.found(), None);
        note.keep(&at(3)).unwrap();
        assert_eq!(
            (keys.begin_anchor(&store).unwrap().found(), keys.anchored(&store).unwrap()),
            (Some(at(3)), Some(at(3)))
        );
        // A name that is gone or another is that of no older copy.
        keys.begin_store(&store, 1).unwrap();
        let name = fs::read(store.join(NAME_NAME)).unwrap();
        fs::remove_file(store.join(NAME_NAME)).unwrap();
        assert_eq!(fault(keys.anchored(&store)), KeyFault::OtherStore);
        assert_eq!(fault(keys.begin_anchor(&store).map(drop)), KeyFault::OtherStore);
        Folder::open(&store).unwrap().replace(NAME_NAME, &name).unwrap();
        assert_eq!(keys.anchored(&store).unwrap(), Some(at(3)));
        // A new store takes its place.
        assert_eq!(keys.begin_anchor(&other).unwrap().found(), None);
        assert_eq!(keys.begin_store(&other, 1).unwrap(), 0);
        assert_eq!(fault(keys.begin_anchor(&store).map(drop)), KeyFault::OtherStore);
        fs::write(out.path().join("keys").join(ANCHOR_NAME), "name x\n").unwrap();
        assert_eq!(fault(keys.anchored(&other)), KeyFault::Anchor);
    }

    #[test]
    fn a_note_of_an_earlier_version_is_read_and_goes_on_in_halves() {
        let out = tempfile::tempdir().expect("a folder");
        let (notes, store) = (out.path().join("notes"), out.path().join("store"));
        let name = Note::begin(&notes, &store).unwrap().noted.name;
        let text = Noted { name, anchor: Some(at(7)) }.text();
        Folder::open(&notes).unwrap().replace(ANCHOR_NAME, text.as_bytes()).unwrap();
        let note = Note::begin(&notes, &store).unwrap();
        assert_eq!(note.found(), Some(at(7)));
        note.keep(&at(8)).unwrap();
        assert_eq!(Note::begin(&notes, &store).unwrap().found(), Some(at(8)));
        assert_eq!(fs::metadata(notes.join(ANCHOR_NAME)).unwrap().len(), FILE_BYTES as u64);
    }

    #[test]
    fn a_note_is_written_in_place_unless_its_file_was_taken_away_or_replaced() {
        let out = tempfile::tempdir().expect("a folder");
        let (notes, store) = (out.path().join("notes"), out.path().join("store"));
        let (path, other) = (notes.join(ANCHOR_NAME), notes.join("other"));
        let note = Note::begin(&notes, &store).unwrap();
        let mut segments = 0..;
        let mut is_in_place = || {
            let file = || Folder::open(&notes).unwrap().identity(ANCHOR_NAME);
            let before = file();
            for segment in segments.by_ref().take(3) {
                note.keep(&at(segment)).unwrap();
                let found = Noted::of_file(&fs::read(&path).unwrap()).expect("it is a note");
                assert_eq!(found.anchor, Some(at(segment)));
            }
            file() == before
        };
        assert!(is_in_place());
        let older = fs::read(&path).unwrap();
        assert!(is_in_place());
        fs::rename(&path, &other).unwrap();
        assert!(!is_in_place(), "it is elsewhere");
        fs::rename(&other, &path).unwrap();
        assert!(!is_in_place(), "another one has its name");
        assert!(is_in_place());
        fs::write(&path, &older).unwrap();
        assert!(!is_in_place(), "it was written over");
        fs::write(&path, "").unwrap();
        assert!(!is_in_place(), "it was cut");
    }

    #[test]
    fn a_note_with_one_half_that_is_torn_is_the_one_before_and_with_both_none() {
        let out = tempfile::tempdir().expect("a folder");
        let (notes, store) = (out.path().join("notes"), out.path().join("store"));
        let note = Note::begin(&notes, &store).unwrap();
        (0..4).for_each(|segment| note.keep(&at(segment)).unwrap());
        let path = notes.join(ANCHOR_NAME);
        let mut content = fs::read(&path).unwrap();
        content[100] ^= 1;
        fs::write(&path, &content).unwrap();
        // The first notes nothing, and the last of five is in the half that is torn.
        assert_eq!(Note::begin(&notes, &store).unwrap().found(), Some(at(2)));
        content[FILE_BYTES / 2 + 100] ^= 1;
        fs::write(&path, &content).unwrap();
        assert_eq!(fault(Note::begin(&notes, &store).map(drop)), KeyFault::Anchor);
    }
}
