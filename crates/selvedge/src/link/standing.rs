//! What a person says of the keys in a folder: which node is revoked, which epochs are closed, which key the store is
//! sealed under from now on.
//!
//! ```text
//! KEYS/node-<id>.standing     revoked yes|no     nothing of the node is taken any more
//!                             closed N N ...     nothing new of these epochs is
//! KEYS/store.key              key 0 of the store
//! KEYS/store-<number>.key     the later ones; what is new is sealed under the one with the highest number
//! ```
//! A node without such a file is in good standing. The words lie beside the keys, and not in a store, so that they are as
//! old as the keys: a store that is lost or begun anew takes none of them along.
//!
//! A node that is admitted again after it was revoked gets another master key, and its epochs go on where they were: each
//! that was ever used is closed. So no count and no frame of before is ever one of its own.
//!
//! Invariant: a master key of the store is removed only when somebody has looked that no segment needs it, and never the
//! one that is written under; so no number is used twice.

use std::collections::{BTreeSet, HashMap};

use cipher::{NodeMaster, OsRandomness, StoreMaster};
use collect::keys::{Present, Standing, StoreKeys};

use super::deployment::Deployment;
use super::keys::{Keys, STORE_NAME, node_name};
use crate::error::{Error, KeyFault};

fn standing_name(node: u32) -> String {
    format!("node-{node}.standing")
}

fn text(standing: &Standing) -> String {
    let revoked = if standing.is_revoked { "yes" } else { "no" };
    let closed: String = standing.closed.iter().map(|epoch| format!(" {epoch}")).collect();
    format!("revoked {revoked}\nclosed{closed}\n")
}

fn parse(text: &str) -> Option<Standing> {
    let (revoked, closed) = text.strip_suffix('\n')?.split_once('\n')?;
    let is_revoked = match revoked {
        "revoked yes" => true,
        "revoked no" => false,
        _ => return None,
    };
    let closed = closed.strip_prefix("closed")?;
    let closed: BTreeSet<u8> =
        closed.split_whitespace().map(|epoch| epoch.parse().ok()).collect::<Option<_>>()?;
    let standing = Standing { is_revoked, closed };
    // What was written here, and no other spelling of it.
    (self::text(&standing) == text).then_some(standing)
}

fn store_name(number: u32) -> String {
    if number == 0 { STORE_NAME.to_owned() } else { format!("store-{number}.key") }
}

/// The number in the name of a store's key; `None` for other names.
pub(super) fn store_number(name: &str) -> Option<u32> {
    let digits = name.strip_prefix("store-").and_then(|rest| rest.strip_suffix(".key"));
    let number = if name == STORE_NAME { 0 } else { digits?.parse().ok()? };
    (store_name(number) == name).then_some(number)
}

impl Keys {
    /// What is refused of node `id`.
    ///
    /// # Errors
    /// [`Error::Key`] or [`Error::Io`].
    pub fn standing(&self, id: u32) -> Result<Standing, Error> {
        let name = standing_name(id);
        let content = match self.folder().read(&name) {
            Err(Error::Key { fault: KeyFault::Missing, .. }) => return Ok(Standing::default()),
            content => content?,
        };
        let fault = || Error::Key { path: self.folder().path(&name), fault: KeyFault::Standing };
        std::str::from_utf8(&content).ok().and_then(parse).ok_or_else(fault)
    }

    fn change_standing(&self, id: u32, change: impl FnOnce(&mut Standing)) -> Result<Standing, Error> {
        let _lock = self.folder().lock()?;
        let mut standing = self.standing(id)?;
        change(&mut standing);
        self.folder().replace(&standing_name(id), text(&standing).as_bytes())?;
        Ok(standing)
    }

    /// Nothing of node `id` is taken any more.
    ///
    /// # Errors
    /// [`Error::Key`] or [`Error::Io`].
    pub fn revoke(&self, id: u32) -> Result<Standing, Error> {
        self.change_standing(id, |standing| standing.is_revoked = true)
    }

    /// Nothing new of `epoch` of node `id` is taken any more.
    ///
    /// # Errors
    /// [`Error::Key`], also when the epoch was never used, or [`Error::Io`].
    pub fn close(&self, id: u32, epoch: u8) -> Result<Standing, Error> {
        let next = self.epochs(id)?.next;
        if u16::from(epoch) >= next {
            let path = self.folder().path(&standing_name(id));
            return Err(Error::Key { path, fault: KeyFault::EpochUnused { found: epoch, next } });
        }
        self.change_standing(id, |standing| standing.closed.extend([epoch]))
    }

    /// Admits node `id` again, which is revoked: under another master key, in none of the epochs so far. Its key file is
    /// replaced first: a crash in between leaves it revoked.
    ///
    /// # Errors
    /// [`Error::Key`], also when it is not revoked, or [`Error::Io`].
    pub fn admit_again(&self, id: u32) -> Result<Standing, Error> {
        let path = self.folder().path(&standing_name(id));
        if !self.standing(id)?.is_revoked {
            return Err(Error::Key { path, fault: KeyFault::NotRevoked });
        }
        let next = self.epochs(id)?.next;
        if next > u8::MAX.into() {
            return Err(Error::Key { path, fault: KeyFault::EpochsUsedUp });
        }
        let master = NodeMaster::random(&mut OsRandomness);
        let master = master.map_err(|cause| Error::io("make", &self.folder().path(&node_name(id)), cause))?;
        self.folder().replace(&node_name(id), &master.key().to_key_file())?;
        self.change_standing(id, |standing| {
            standing.is_revoked = false;
            standing.closed.extend((0..next).filter_map(|epoch| u8::try_from(epoch).ok()));
        })
    }

    /// What may change of the keys of `deployment` while a server runs.
    ///
    /// # Errors
    /// [`Error::Key`] or [`Error::Io`].
    pub fn present(&self, deployment: &Deployment) -> Result<Present, Error> {
        let mut standings = HashMap::new();
        for (id, _) in deployment.senders() {
            standings.insert(id, self.standing(id)?);
        }
        Ok(Present { store: self.store()?, standings })
    }

    fn store_numbers(&self) -> Result<Vec<u32>, Error> {
        let mut numbers: Vec<u32> =
            self.folder().names()?.iter().filter_map(|name| store_number(name)).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Master keys of the server's store.
    ///
    /// # Errors
    /// [`Error::Key`] or [`Error::Io`].
    pub fn store(&self) -> Result<StoreKeys, Error> {
        let read = |number| self.read(&store_name(number), StoreMaster::from_key_file);
        let numbers = self.store_numbers()?;
        // The first one is named where there is none at all.
        let (&first, rest) = numbers.split_first().unwrap_or((&0, &[]));
        let mut keys = StoreKeys::new(first, read(first)?);
        for &number in rest {
            keys.add(number, read(number)?);
        }
        Ok(keys)
    }

    /// Makes another key for the store, and returns its number.
    ///
    /// # Errors
    /// [`Error::Key`] or [`Error::Io`].
    pub fn rotate_store(&self) -> Result<u32, Error> {
        let _lock = self.folder().lock()?;
        let number = self.store_numbers()?.last().map_or(0, |newest| newest + 1);
        let name = store_name(number);
        let master = StoreMaster::random(&mut OsRandomness);
        let master = master.map_err(|cause| Error::io("make", &self.folder().path(&name), cause))?;
        self.folder().replace(&name, &master.key().to_key_file())?;
        Ok(number)
    }

    /// Removes key `number` of the store, under which no segment is: `needed` are the keys that segments are under.
    ///
    /// # Errors
    /// [`Error::Key`], also for a key that is needed, or [`Error::Io`].
    pub fn retire_store(&self, number: u32, needed: &BTreeSet<u32>) -> Result<(), Error> {
        let _lock = self.folder().lock()?;
        let (name, numbers) = (store_name(number), self.store_numbers()?);
        let fault = |fault| Err(Error::Key { path: self.folder().path(&name), fault });
        if !numbers.contains(&number) {
            return fault(KeyFault::NoStoreKey { numbers });
        }
        if needed.contains(&number) || numbers.last() == Some(&number) {
            return fault(KeyFault::StoreKeyNeeded);
        }
        self.folder().remove(&name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::reservations::{ecg, fault};
    use proptest::prelude::*;
    use std::os::unix::fs::PermissionsExt;

    fn keys() -> (tempfile::TempDir, Keys) {
        let out = tempfile::tempdir().expect("a folder");
        let keys = Keys::of(&ecg(), out.path()).expect("keys are made");
        (out, keys)
    }

    #[test]
    fn a_revoked_node_is_admitted_again_under_another_key_and_in_none_of_its_epochs() {
        let (out, keys) = keys();
        assert_eq!(keys.standing(2).unwrap(), Standing::default());
        let before = keys.node(2).unwrap();
        assert_eq!((keys.take_epoch(2).unwrap(), keys.take_epoch(2).unwrap()), (0, 1));
        assert_eq!(fault(keys.admit_again(2)), KeyFault::NotRevoked);
        assert!(keys.revoke(2).unwrap().is_revoked);
        let elsewhere = Keys::of(&ecg(), out.path()).expect("keys are there");
        assert!(elsewhere.standing(2).unwrap().is_revoked && !elsewhere.standing(1).unwrap().is_revoked);
        let again = Standing { is_revoked: false, closed: BTreeSet::from([0, 1]) };
        assert_eq!(elsewhere.admit_again(2).unwrap(), again);
        assert!(keys.node(2).unwrap().key() != before.key());
        assert_eq!(keys.take_epoch(2).unwrap(), 2, "its epochs go on");
        let mode = |name: &str| out.path().join("keys").join(name).metadata().unwrap().permissions().mode();
        assert_eq!((mode("node-2.standing") & 0o777, mode("node-2.key") & 0o777), (0o600, 0o600));
    }

    #[test]
    fn an_epoch_that_was_never_used_is_not_closed() {
        let (_out, keys) = keys();
        assert_eq!(fault(keys.close(1, 0)), KeyFault::EpochUnused { found: 0, next: 0 });
        keys.take_epoch(1).unwrap();
        assert_eq!(keys.close(1, 0).unwrap().closed, BTreeSet::from([0]));
    }

    #[test]
    fn words_that_nobody_wrote_are_refused() {
        let (out, keys) = keys();
        let path = out.path().join("keys/node-1.standing");
        keys.revoke(1).unwrap();
        for wrong in [
            "",
            "revoked no\n",
            "revoked maybe\nclosed\n",
            "revoked no\nclosed 256\n",
            "revoked no\nclosed 2 1\n",
        ] {
            std::fs::write(&path, wrong).unwrap();
            assert_eq!(fault(keys.standing(1)), KeyFault::Standing, "{wrong}");
        }
    }

    #[test]
    fn a_key_of_the_store_is_kept_as_long_as_it_is_needed_and_its_number_is_never_used_again() {
        let (_out, keys) = keys();
        let numbers = || keys.store().unwrap().numbers().collect::<Vec<_>>();
        let needed = |numbers: &[u32]| numbers.iter().copied().collect::<BTreeSet<u32>>();
        assert_eq!((keys.rotate_store().unwrap(), keys.rotate_store().unwrap()), (1, 2));
        assert_eq!(numbers(), [0, 1, 2]);
        assert_eq!(fault(keys.retire_store(0, &needed(&[0, 2]))), KeyFault::StoreKeyNeeded);
        assert_eq!(
            fault(keys.retire_store(2, &needed(&[]))),
            KeyFault::StoreKeyNeeded,
            "it is written under"
        );
        assert_eq!(
            fault(keys.retire_store(7, &needed(&[]))),
            KeyFault::NoStoreKey { numbers: vec![0, 1, 2] }
        );
        keys.retire_store(1, &needed(&[0])).unwrap();
        keys.retire_store(0, &needed(&[])).unwrap();
        assert_eq!(numbers(), [2]);
        // Whoever opens the folder makes no key 0 again.
        assert_eq!(
            Keys::of(&ecg(), _out.path()).unwrap().store().unwrap().numbers().collect::<Vec<_>>(),
            [2]
        );
        assert_eq!(keys.rotate_store().unwrap(), 3);
    }

    proptest! {
        #[test]
        fn a_standing_survives_its_words(is_revoked: bool, closed in prop::collection::btree_set(any::<u8>(), 0..9)) {
            let standing = Standing { is_revoked, closed };
            prop_assert_eq!(parse(&text(&standing)), Some(standing));
        }
    }
}
