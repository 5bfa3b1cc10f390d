//! What is still free under the keys of a folder: epochs of a node's key, superframe numbers of a cell's.
//!
//! ```text
//! KEYS/node-<id>.epoch        next N     no image was ever made with epoch N or a later one, and no node was told to
//!                                        go on to one; 256: none is left
//!                             stores S   so many stores have taken and answered its frames, one after the other
//! KEYS/cell-<id>.superframe   next N     no beacon was ever sealed with number N or a later one
//! STORE/node-<id>.from        from N     the store knows every frame of epoch N and of the later ones
//!                             store S    its number among those stores; only the last one goes on
//! ```
//! Lines of text, each value in decimal. They lie beside the keys because they are as old as the keys: a folder of a
//! run that is emptied, lost or made anew takes nothing of it along.
//!
//! Owns these files; superframe numbers are `superframes`'. Which image a node has is `eeproms`', files and their checks are `folder`'s.
//!
//! Invariant: what is taken is taken for ever: a file says so, synced under its name, before anything is sealed. A
//! crash skips what it had taken, and repeats nothing.
//! Invariant: a key has its file from before its first use, so a key without one is not believed.

pub mod superframes;

use std::os::fd::OwnedFd;
use std::path::Path;

use zeroize::Zeroizing;

use super::deployment::Deployment;
use super::folder::Folder;
use super::keys::Keys;
use crate::error::{Error, KeyFault};
use crate::limits::EPOCHS;

/// Locked by who answers under the keys.
const LOCK_NAME: &str = "store.lock";

/// The epochs of a node's key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Epochs {
    /// The first that was never used; 256 when there is none.
    pub next: u16,
    /// How many stores have been begun for its frames.
    pub stores: u32,
}

/// The content of every file that a fresh key of `deployment` begins with, by name: the key's, then its own.
pub(super) fn fresh(deployment: &Deployment) -> Vec<(String, String)> {
    let cells = deployment.cells.iter();
    let nodes = deployment.senders().map(|(id, _)| (epoch_name(id), Epochs::default().text()));
    nodes.chain(cells.map(|cell| (superframe_name(cell.id), next_text(0)))).collect()
}

fn epoch_name(node: u32) -> String {
    format!("node-{node}.epoch")
}

fn superframe_name(cell: u16) -> String {
    format!("cell-{cell}.superframe")
}

fn from_name(node: u32) -> String {
    format!("node-{node}.from")
}

impl Epochs {
    fn text(self) -> String {
        format!("next {}\nstores {}\n", self.next, self.stores)
    }

    fn parse(text: &str) -> Option<Epochs> {
        let (next, stores) = text.strip_suffix('\n')?.split_once('\n')?;
        let (next, stores) = (number(next.strip_prefix("next ")?)?, number(stores.strip_prefix("stores ")?)?);
        (next <= EPOCHS).then_some(Epochs { next, stores })
    }
}

fn next_text(next: u32) -> String {
    format!("next {next}\n")
}

fn parse_next(text: &str) -> Option<u32> {
    number(text.strip_suffix('\n')?.strip_prefix("next ")?)
}

/// What a store knows of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    from: u16,
    store: u32,
}

impl Known {
    fn text(self) -> String {
        format!("from {}\nstore {}\n", self.from, self.store)
    }

    fn parse(text: &str) -> Option<Known> {
        let (from, store) = text.strip_suffix('\n')?.split_once('\n')?;
        let (from, store) = (number(from.strip_prefix("from ")?)?, number(store.strip_prefix("store ")?)?);
        (from <= EPOCHS).then_some(Known { from, store })
    }
}

/// Digits only: what was written here, and no other spelling of it.
fn number<T: std::str::FromStr>(digits: &str) -> Option<T> {
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

fn read<T>(folder: &Folder, name: &str, parse: impl FnOnce(&str) -> Option<T>) -> Result<T, Error> {
    let fault = |fault| Error::Key { path: folder.path(name), fault };
    let content = folder.read(name).map_err(|error| match error {
        Error::Key { fault: KeyFault::Missing, .. } => fault(KeyFault::Unaccounted),
        other => other,
    })?;
    let text = std::str::from_utf8(&content).ok();
    text.and_then(parse).ok_or_else(|| fault(KeyFault::Reservation))
}

impl Keys {
    /// What is used of the key of node `id`.
    ///
    /// # Errors
    /// [`Error::Key`] or [`Error::Io`].
    pub fn epochs(&self, id: u32) -> Result<Epochs, Error> {
        read(self.folder(), &epoch_name(id), Epochs::parse)
    }

    fn change_epochs<T>(
        &self,
        id: u32,
        change: impl FnOnce(&mut Epochs) -> Result<T, KeyFault>,
    ) -> Result<T, Error> {
        let (folder, name) = (self.folder(), epoch_name(id));
        let _lock = folder.lock()?;
        let mut epochs = self.epochs(id)?;
        let changed = change(&mut epochs).map_err(|fault| Error::Key { path: folder.path(&name), fault })?;
        folder.replace(&name, epochs.text().as_bytes())?;
        Ok(changed)
    }

    /// Takes an epoch of the key of node `id` that was never used, and never will be again.
    ///
    /// # Errors
    /// [`Error::Key`], also when no epoch is left, or [`Error::Io`].
    pub fn take_epoch(&self, id: u32) -> Result<u8, Error> {
        self.change_epochs(id, |epochs| {
            let taken = u8::try_from(epochs.next).map_err(|_| KeyFault::EpochsUsedUp)?;
            epochs.next += 1;
            Ok(taken)
        })
    }

    /// Checks that `epoch` of the key of node `id`, which an image has, was taken.
    ///
    /// # Errors
    /// [`Error::Key`] when it was not, and so is not known of, or [`Error::Io`].
    pub fn check_epoch(&self, id: u32, epoch: u8) -> Result<(), Error> {
        let next = self.epochs(id)?.next;
        if u16::from(epoch) < next {
            return Ok(());
        }
        let fault = KeyFault::EpochsBehind { found: epoch, next };
        Err(Error::Key { path: self.folder().path(&epoch_name(id)), fault })
    }

    /// Locks the store's keys until the descriptor is dropped: one server at a time answers under the keys of a folder.
    ///
    /// # Errors
    /// [`Error::Key`] when another process has locked them, or [`Error::Io`].
    pub fn lock_store(&self) -> Result<OwnedFd, Error> {
        // A file of its own: keys come and go.
        self.folder().read_or_write(LOCK_NAME, || Ok(Zeroizing::new(Vec::new())))?;
        let locked = self.folder().try_lock_file(LOCK_NAME)?;
        locked.ok_or_else(|| Error::Key { path: self.folder().path(LOCK_NAME), fault: KeyFault::InUse })
    }

    /// The first epoch of node `id` of which the store at `store` takes frames. A store that is new knows no frame that
    /// another one has taken and answered, so it takes none of an epoch that is as old.
    ///
    /// # Errors
    /// [`Error::Key`], also when another store was begun since, or [`Error::Io`].
    pub fn begin_store(&self, store: &Path, id: u32) -> Result<u16, Error> {
        let (folder, name) = (Folder::create(store)?, from_name(id));
        folder.read_or_write(&name, || {
            let Epochs { next, stores } = self.epochs(id)?;
            let known = Known { from: if stores == 0 { 0 } else { next }, store: stores + 1 };
            Ok(Zeroizing::new(known.text().into_bytes()))
        })?;
        let known = read(&folder, &name, Known::parse)?;
        // In this order: a crash between the two leaves a store that is still to be counted.
        let stores = self.epochs(id)?.stores;
        if known.store == stores + 1 {
            self.change_epochs(id, |epochs| {
                epochs.stores = known.store;
                Ok(())
            })?;
        } else if known.store != stores {
            let fault = KeyFault::StoreSuperseded { found: known.store, stores };
            return Err(Error::Key { path: folder.path(&name), fault });
        }
        Ok(known.from)
    }

    /// As [`Keys::begin_store`] has said; 0 for a store that does not exist yet.
    ///
    /// # Errors
    /// [`Error::Key`] or [`Error::Io`].
    pub fn store_from(&self, store: &Path, id: u32) -> Result<u16, Error> {
        let found = Folder::open(store).and_then(|folder| read(&folder, &from_name(id), Known::parse));
        match found {
            Err(Error::Key { fault: KeyFault::Missing | KeyFault::Unaccounted, .. }) => Ok(0),
            found => Ok(found?.from),
        }
    }

    /// Reads everything once, so that a fault is told before anything runs.
    pub(super) fn check_reservations(&self, deployment: &Deployment) -> Result<(), Error> {
        for cell in &deployment.cells {
            read(self.folder(), &superframe_name(cell.id), parse_next)?;
        }
        deployment.senders().try_for_each(|(id, _)| self.epochs(id).map(drop))
    }
}

#[cfg(test)]
pub(super) use tests::{ecg, fault};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::deployment;
    use proptest::prelude::*;

    pub(in crate::link) fn ecg() -> Deployment {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deployments/ecg.toml");
        deployment::load(&path).expect("the example is sound")
    }

    pub(in crate::link) fn fault<T>(result: Result<T, Error>) -> KeyFault {
        match result {
            Err(Error::Key { fault, .. }) => fault,
            Err(other) => panic!("expected a key fault, found {other}"),
            Ok(_) => panic!("expected a key fault, found none"),
        }
    }

    #[test]
    fn an_epoch_is_taken_once_and_after_255_there_is_none() {
        let out = tempfile::tempdir().expect("a folder");
        // Each time by another process.
        let take = |node| Keys::of(&ecg(), out.path()).expect("keys are there").take_epoch(node);
        assert_eq!((take(1).unwrap(), take(1).unwrap(), take(2).unwrap()), (0, 1, 0));
        folder_write(&out.path().join("keys/node-1.epoch"), b"next 254\nstores 1\n");
        assert_eq!((take(1).unwrap(), take(1).unwrap()), (254, 255));
        assert_eq!(fault(take(1)), KeyFault::EpochsUsedUp);
        assert_eq!(fault(take(1)), KeyFault::EpochsUsedUp);
    }

    #[test]
    fn epochs_taken_at_once_are_different_ones() {
        let out = tempfile::tempdir().expect("a folder");
        let keys = Keys::of(&ecg(), out.path()).expect("keys are made");
        let mut taken: Vec<u8> = std::thread::scope(|scope| {
            let takers: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| (0..8).map(|_| keys.take_epoch(1).unwrap()).collect::<Vec<_>>()))
                .collect();
            takers.into_iter().flat_map(|taker| taker.join().unwrap()).collect()
        });
        taken.sort_unstable();
        assert_eq!(taken, (0..32).collect::<Vec<_>>());
    }

    #[test]
    fn a_second_store_takes_nothing_that_the_first_may_have_answered() {
        let out = tempfile::tempdir().expect("a folder");
        let (first, second) = (out.path().join("first"), out.path().join("second"));
        let keys = Keys::of(&ecg(), out.path()).expect("keys are made");
        assert_eq!(keys.take_epoch(1).unwrap(), 0);
        assert_eq!(keys.store_from(&first, 1).unwrap(), 0);
        assert_eq!(keys.begin_store(&first, 1).unwrap(), 0, "nobody has answered yet");
        assert_eq!(keys.take_epoch(1).unwrap(), 1);
        assert_eq!(keys.begin_store(&first, 1).unwrap(), 0, "it knows both epochs");
        assert_eq!(keys.begin_store(&second, 1).unwrap(), 2);
        assert_eq!((keys.store_from(&first, 1).unwrap(), keys.store_from(&second, 1).unwrap()), (0, 2));
        // Frames of epoch 2 that the second has answered are unknown to the first.
        let expected = KeyFault::StoreSuperseded { found: 1, stores: 2 };
        assert_eq!(fault(keys.begin_store(&first, 1)), expected);
    }

    #[test]
    fn a_key_whose_use_nobody_knows_is_refused() {
        let out = tempfile::tempdir().expect("a folder");
        Keys::of(&ecg(), out.path()).expect("keys are made");
        let path = |name: &str| out.path().join("keys").join(name);
        for name in ["node-3.epoch", "cell-7.superframe"] {
            let sound = std::fs::read(path(name)).unwrap();
            std::fs::remove_file(path(name)).unwrap();
            assert_eq!(fault(Keys::of(&ecg(), out.path())), KeyFault::Unaccounted, "{name}");
            folder_write(&path(name), b"next -1\n");
            assert_eq!(fault(Keys::of(&ecg(), out.path())), KeyFault::Reservation, "{name}");
            folder_write(&path(name), &sound);
        }
        Keys::of(&ecg(), out.path()).expect("all is there again");
    }

    fn folder_write(path: &Path, content: &[u8]) {
        use std::os::unix::fs::PermissionsExt;
        std::fs::write(path, content).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }

    /// But for zeros before a number.
    fn is_same(written: &str, read: &str) -> bool {
        let numbers = |text: &str| {
            text.split_whitespace().map(|word| word.trim_start_matches('0').to_owned()).collect::<Vec<_>>()
        };
        numbers(written) == numbers(read)
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_and_nothing_else(next in 0u16..=256, stores: u32, noise in ".{0,30}") {
            let (epochs, known) = (Epochs { next, stores }, Known { from: next, store: stores });
            prop_assert_eq!(Epochs::parse(&epochs.text()), Some(epochs));
            prop_assert_eq!(Known::parse(&known.text()), Some(known));
            prop_assert_eq!(parse_next(&next_text(stores)), Some(stores));
            for text in [noise.clone(), format!("next {noise}\n"), format!("next 1\nstores {noise}\n")] {
                prop_assert!(Epochs::parse(&text).is_none_or(|epochs| is_same(&epochs.text(), &text)));
                prop_assert!(parse_next(&text).is_none_or(|next| is_same(&next_text(next), &text)));
                prop_assert!(Known::parse(&text).is_none());
            }
        }
    }
}
