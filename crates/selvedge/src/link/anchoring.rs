//! How far the store has come, noted beside the keys: an older copy of it is not written to.
//!
//! ```text
//! KEYS/store.anchor     name NAME                                   the store that was written to last
//!                       store ID segment N end E chain TAG          and its last group that is noted, if there is one
//! STORE/store.name      name NAME                                   random, from before anything is stored
//! ```
//! Owns these files. When the note is moved, and what of a store is compared with it, is `collect::anchor`'s. Whoever can
//! write to the key folder can forge both; the store's folder may be on a disk that others restore.
//!
//! A store that is begun anew, in an empty folder, has another name, and takes the place of the one before; which epochs it
//! takes frames of is `reservations`' to say.

use std::path::Path;

use cipher::{OsRandomness, Randomness};
use collect::anchor::Anchor;
use zeroize::Zeroizing;

use super::folder::Folder;
use super::keys::Keys;
use crate::error::{Error, KeyFault};

const ANCHOR_NAME: &str = "store.anchor";
const NAME_NAME: &str = "store.name";

/// What is noted of the store that was written to last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noted {
    name: String,
    /// How far it has come at least; `None` when nothing is noted yet.
    pub anchor: Option<Anchor>,
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
}

fn name_text(name: &str) -> String {
    format!("name {name}\n")
}

fn parse_name(text: &str) -> Option<String> {
    let name = text.strip_prefix("name ")?.strip_suffix('\n')?;
    let is_name = name.len() == 32 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_name.then(|| name.to_owned())
}

fn read<T>(folder: &Folder, name: &str, parse: impl Fn(&str) -> Option<T>) -> Result<Option<T>, Error> {
    let content = match folder.read(name) {
        Err(Error::Key { fault: KeyFault::Missing, .. }) => return Ok(None),
        content => content?,
    };
    let parsed = std::str::from_utf8(&content).ok().and_then(parse);
    let fault = || Error::Key { path: folder.path(name), fault: KeyFault::Anchor };
    parsed.map(Some).ok_or_else(fault)
}

impl Keys {
    /// How far the store at `store` has come at least, as far as that is noted; `None` also when it was never written to.
    ///
    /// # Errors
    /// [`Error::Key`], also when another store was written to last, or [`Error::Io`].
    pub fn anchored(&self, store: &Path) -> Result<Option<Anchor>, Error> {
        self.noted(&Folder::open(store)?).map(|noted| noted.and_then(|noted| noted.anchor))
    }

    /// `None` for a store that nothing is noted of, and that may be the one from now on.
    fn noted(&self, folder: &Folder) -> Result<Option<Noted>, Error> {
        let Some(noted) = read(self.folder(), ANCHOR_NAME, Noted::parse)? else { return Ok(None) };
        if read(folder, NAME_NAME, parse_name)?.as_ref() == Some(&noted.name) {
            return Ok(Some(noted));
        }
        let is_used = |name: &String| name.ends_with(".from") || name.ends_with(".seg");
        if folder.names()?.iter().any(is_used) {
            return Err(Error::Key { path: folder.path(NAME_NAME), fault: KeyFault::OtherStore });
        }
        Ok(None)
    }

    /// What is noted of the store at `store`, which is the one from now on. Before anything else is begun there.
    ///
    /// # Errors
    /// As [`Keys::anchored`].
    pub fn begin_anchor(&self, store: &Path) -> Result<Noted, Error> {
        let folder = Folder::create(store)?;
        if let Some(noted) = self.noted(&folder)? {
            return Ok(noted);
        }
        let content = folder.read_or_write(NAME_NAME, || {
            let mut name = [0; 16];
            let path = || folder.path(NAME_NAME);
            OsRandomness.fill(&mut name).map_err(|cause| Error::io("name", &path(), cause))?;
            let name: String = name.iter().map(|byte| format!("{byte:02x}")).collect();
            Ok(Zeroizing::new(name_text(&name).into_bytes()))
        })?;
        let name = std::str::from_utf8(&content).ok().and_then(parse_name);
        let fault = || Error::Key { path: folder.path(NAME_NAME), fault: KeyFault::Anchor };
        let noted = Noted { name: name.ok_or_else(fault)?, anchor: None };
        self.folder().replace(ANCHOR_NAME, noted.text().as_bytes())?;
        Ok(noted)
    }

    /// Notes, durably, how far the store has come that `noted` is of.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn keep_anchor(&self, noted: &Noted, anchor: &Anchor) -> Result<(), Error> {
        let noted = Noted { name: noted.name.clone(), anchor: Some(*anchor) };
        self.folder().replace(ANCHOR_NAME, noted.text().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::reservations::{ecg, fault};
    use std::fs;

    #[test]
    fn what_is_noted_of_a_store_is_found_and_another_used_one_is_not_taken_for_it() {
        let out = tempfile::tempdir().expect("a folder");
        let keys = Keys::of(&ecg(), out.path()).expect("keys are made");
        let (store, other) = (out.path().join("store"), out.path().join("other"));
        let anchor = Anchor { store: [1; 16], segment: 3, end: 4096, chain: [0; 16] };
        let noted = keys.begin_anchor(&store).unwrap();
        assert_eq!(noted.anchor, None);
        keys.keep_anchor(&noted, &anchor).unwrap();
        assert_eq!(
            (keys.begin_anchor(&store).unwrap().anchor, keys.anchored(&store).unwrap()),
            (Some(anchor), Some(anchor))
        );
        // A name that is gone or another is that of no older copy.
        keys.begin_store(&store, 1).unwrap();
        let name = fs::read(store.join(NAME_NAME)).unwrap();
        fs::remove_file(store.join(NAME_NAME)).unwrap();
        assert_eq!(fault(keys.anchored(&store)), KeyFault::OtherStore);
        assert_eq!(fault(keys.begin_anchor(&store).map(drop)), KeyFault::OtherStore);
        Folder::open(&store).unwrap().replace(NAME_NAME, &name).unwrap();
        assert_eq!(keys.anchored(&store).unwrap(), Some(anchor));
        // A new store takes its place.
        assert_eq!(keys.begin_anchor(&other).unwrap().anchor, None);
        assert_eq!(keys.begin_store(&other, 1).unwrap(), 0);
        assert_eq!(fault(keys.begin_anchor(&store).map(drop)), KeyFault::OtherStore);
        fs::write(out.path().join("keys").join(ANCHOR_NAME), "name x\n").unwrap();
        assert_eq!(fault(keys.anchored(&other)), KeyFault::Anchor);
    }
}
