//! The keys of a deployment: `node-<id>.key`, `cell-<id>.key`, those of the store and `tls/`, in one folder.
//!
//! Owns which keys there are, and that fresh ones come from the operating system's randomness. A folder of
//! our own is filled with what the deployment needs; a folder that the deployment names must be complete, so
//! that a wrong name is an error and not a new set of keys. What was used of a key is `reservations'`, what a person says of one is
//! `standing`'s, files and
//! their checks are `folder`'s, TLS is `certificates'`, derivations are `cipher::derive`'s.

use std::path::Path;

use cipher::{CellMaster, Error as CipherError, NodeMaster, OsRandomness};
use zeroize::Zeroizing;

use super::certificates::Certificates;
use super::deployment::Deployment;
use super::folder::Folder;
use super::{reservations, standing};
use crate::error::{Error, KeyFault};

/// The key folder of a deployment, checked. Secrets are read when they are asked for.
#[derive(Debug)]
pub struct Keys {
    folder: Folder,
    certificates: Certificates,
}

impl Keys {
    /// The keys of `deployment`: in the folder that it names, or in `keys` below `out`, made where missing.
    ///
    /// # Errors
    /// [`Error::Key`] for a file that must not be believed, [`Error::Io`] if the system fails.
    pub fn of(deployment: &Deployment, out: &Path) -> Result<Keys, Error> {
        match &deployment.keys {
            Some(named) => Self::open(named, deployment),
            None => Self::create(&out.join("keys"), deployment),
        }
    }

    /// The keys in the folder at `path`; whatever `deployment` needs and the folder lacks is made.
    ///
    /// # Errors
    /// [`Error::Key`] for a file that must not be believed, [`Error::Io`] if the system fails.
    pub fn create(path: &Path, deployment: &Deployment) -> Result<Keys, Error> {
        let folder = Folder::create(path)?;
        let fresh = |name: &str| {
            folder.read_or_write(name, || {
                let key = cipher::Key::<32>::random(&mut OsRandomness).map_err(|source| Error::Io {
                    action: "make",
                    path: folder.path(name),
                    source,
                })?;
                Ok(key.to_key_file())
            })
        };
        for (name, (reservation, unused)) in reserved_names(deployment).zip(reservations::fresh(deployment)) {
            // Before the key: one that has no such file is one that was used by nobody knows whom.
            if let Err(Error::Key { fault: KeyFault::Missing, .. }) = folder.read(&name) {
                folder.read_or_write(&reservation, || Ok(Zeroizing::new(unused.into_bytes())))?;
            }
            fresh(&name)?;
        }
        // Where there is a later one, the first was retired.
        if !folder.names()?.iter().any(|name| standing::store_number(name).is_some()) {
            fresh(STORE_NAME)?;
        }
        let certificates =
            Certificates::create(folder.create_below("tls")?, deployment.cells.iter().map(|cell| cell.id))?;
        let keys = Keys { folder, certificates };
        keys.check(deployment)?;
        Ok(keys)
    }

    /// The keys in the folder at `path`, which must hold all that `deployment` needs.
    ///
    /// # Errors
    /// [`Error::Key`] for a file that is missing or must not be believed, [`Error::Io`] if the system fails.
    pub fn open(path: &Path, deployment: &Deployment) -> Result<Keys, Error> {
        let folder = Folder::open(path)?;
        let certificates = Certificates::open(folder.open_below("tls")?);
        let keys = Keys { folder, certificates };
        keys.check(deployment)?;
        Ok(keys)
    }

    /// Reads everything once, so that a fault is told before anything runs.
    fn check(&self, deployment: &Deployment) -> Result<(), Error> {
        for cell in &deployment.cells {
            self.cell(cell.id)?;
            self.certificates.bridge(cell.id)?;
        }
        deployment.senders().try_for_each(|(id, _)| self.node(id).map(drop))?;
        self.store()?;
        self.check_reservations(deployment)?;
        self.certificates.server().map(drop)
    }

    /// Master key of the node `id`.
    ///
    /// # Errors
    /// [`Error::Key`] or [`Error::Io`].
    pub fn node(&self, id: u32) -> Result<NodeMaster, Error> {
        self.read(&node_name(id), NodeMaster::from_key_file)
    }

    /// Master key of the cell `id`.
    ///
    /// # Errors
    /// [`Error::Key`] or [`Error::Io`].
    pub fn cell(&self, id: u16) -> Result<CellMaster, Error> {
        self.read(&cell_name(id), CellMaster::from_key_file)
    }

    /// Who may speak to whom over TLS.
    pub fn certificates(&self) -> &Certificates {
        &self.certificates
    }

    /// The folder itself.
    pub(super) fn folder(&self) -> &Folder {
        &self.folder
    }

    pub(super) fn read<K>(
        &self,
        name: &str,
        parse: impl FnOnce(&[u8]) -> Result<K, CipherError>,
    ) -> Result<K, Error> {
        let content: Zeroizing<Vec<u8>> = self.folder.read(name)?;
        let fault = |fault| Error::Key { path: self.folder.path(name), fault: KeyFault::Content(fault) };
        parse(&content).map_err(fault)
    }
}

/// The file of the store's master key.
pub(super) const STORE_NAME: &str = "store.key";

pub(super) fn node_name(id: u32) -> String {
    format!("node-{id}.key")
}

fn cell_name(id: u16) -> String {
    format!("cell-{id}.key")
}

/// The master keys of nodes and cells, in the order of [`reservations::fresh`].
fn reserved_names(deployment: &Deployment) -> impl Iterator<Item = String> {
    let cells = deployment.cells.iter();
    let nodes = deployment.senders().map(|(id, _)| node_name(id));
    nodes.chain(cells.map(|cell| cell_name(cell.id)))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::error::Class;
    use crate::link::deployment;

    fn ecg() -> Deployment {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deployments/ecg.toml");
        deployment::load(&path).expect("the example is sound")
    }

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).expect("it is there").permissions().mode() & 0o7777
    }

    fn fault(result: Result<impl Sized, Error>) -> KeyFault {
        match result {
            Err(error @ Error::Key { .. }) => {
                assert_eq!(error.class(), Class::Input);
                let Error::Key { fault, .. } = error else { unreachable!("matched above") };
                fault
            }
            Err(other) => panic!("expected a key fault, found {other}"),
            Ok(_) => panic!("expected a key fault, found keys"),
        }
    }

    #[test]
    fn keys_are_made_once_and_kept() {
        let out = tempfile::tempdir().expect("a folder");
        let deployment = ecg();
        let first = Keys::of(&deployment, out.path()).expect("keys are made");
        let again = Keys::of(&deployment, out.path()).expect("keys are found");
        let node = deployment.cells[0].nodes[0].id;
        assert!(first.node(node).unwrap().key() == again.node(node).unwrap().key());
        assert!(first.node(node).unwrap().key() != first.cell(7).unwrap().key());
        let folder = out.path().join("keys");
        assert_eq!((mode(&folder), mode(&folder.join("tls"))), (0o700, 0o700));
        let mut files = Vec::new();
        for folder in [folder.clone(), folder.join("tls")] {
            files.extend(fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
        }
        files.retain(|path| path.is_file());
        assert!(files.iter().all(|path| mode(path) == 0o600), "{files:?}");
        let mut names: Vec<_> =
            files.iter().map(|path| path.strip_prefix(&folder).unwrap().to_str().unwrap()).collect();
        names.sort_unstable();
        let expected = [
            "cell-7.key",
            "cell-7.superframe",
            "node-1.epoch",
            "node-1.key",
            "node-2.epoch",
            "node-2.key",
            "node-3.epoch",
            "node-3.key",
            "node-4.epoch",
            "node-4.key",
            "store.key",
            "tls/bridge-7.key",
            "tls/bridge-7.pem",
            "tls/broker.key",
            "tls/broker.pem",
            "tls/ca.key",
            "tls/ca.pem",
            "tls/device.key",
            "tls/device.pem",
            "tls/server.key",
            "tls/server.pem",
        ];
        assert_eq!(names, expected);
        assert_eq!(fs::read(folder.join("store.key")).unwrap().len(), 65);
    }

    #[test]
    fn what_others_can_read_is_refused() {
        let out = tempfile::tempdir().expect("a folder");
        let deployment = ecg();
        Keys::of(&deployment, out.path()).expect("keys are made");
        let folder = out.path().join("keys");
        for (name, expected) in
            [("node-3.key", 0o600), ("tls/server.key", 0o600), ("tls", 0o700), ("", 0o700)]
        {
            let path = folder.join(name);
            let found = expected | 0o040;
            fs::set_permissions(&path, Permissions::from_mode(found)).unwrap();
            assert_eq!(
                fault(Keys::of(&deployment, out.path())),
                KeyFault::Mode { found, expected },
                "{name}"
            );
            fs::set_permissions(&path, Permissions::from_mode(expected)).unwrap();
        }
        Keys::of(&deployment, out.path()).expect("the modes are right again");
    }

    #[test]
    fn what_is_not_a_whole_key_of_our_own_is_refused() {
        let out = tempfile::tempdir().expect("a folder");
        let deployment = ecg();
        Keys::of(&deployment, out.path()).expect("keys are made");
        let path = out.path().join("keys/node-2.key");
        let sound = fs::read(&path).unwrap();
        fs::write(&path, &sound[..40]).unwrap();
        let cut = KeyFault::Content(CipherError::KeyFileLength { found_bytes: 40 });
        assert_eq!(fault(Keys::of(&deployment, out.path())), cut);
        fs::write(&path, vec![b'0'; 1 << 20]).unwrap();
        assert_eq!(fault(Keys::of(&deployment, out.path())), KeyFault::TooLong);
        fs::remove_file(&path).unwrap();
        symlink(out.path().join("keys/node-1.key"), &path).unwrap();
        assert_eq!(fault(Keys::of(&deployment, out.path())), KeyFault::Symlink);
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert_eq!(fault(Keys::of(&deployment, out.path())), KeyFault::NotAFile);
    }

    #[test]
    fn another_users_key_is_refused() {
        let out = tempfile::tempdir().expect("a folder");
        let deployment = ecg();
        Keys::of(&deployment, out.path()).expect("keys are made");
        let path = out.path().join("keys/store.key");
        let user = rustix::process::geteuid().as_raw();
        if std::os::unix::fs::chown(&path, Some(user + 1), None).is_err() {
            println!("skip (machine): key owner: only root can give a file away");
            return;
        }
        let expected = KeyFault::Owner { found: user + 1, expected: user };
        assert_eq!(fault(Keys::of(&deployment, out.path())), expected);
    }

    #[test]
    fn a_named_folder_is_read_and_never_filled() {
        let out = tempfile::tempdir().expect("a folder");
        let mut deployment = ecg();
        Keys::of(&deployment, out.path()).expect("keys are made");
        let folder = out.path().join("keys");
        deployment.keys = Some(folder.clone());
        Keys::of(&deployment, Path::new("elsewhere")).expect("keys are found");
        fs::remove_file(folder.join("cell-7.key")).unwrap();
        assert_eq!(fault(Keys::of(&deployment, out.path())), KeyFault::Missing);
        assert!(!folder.join("cell-7.key").exists());
        symlink(&folder, out.path().join("link")).unwrap();
        deployment.keys = Some(out.path().join("link"));
        assert_eq!(fault(Keys::of(&deployment, out.path())), KeyFault::NotAFolder);
    }

    #[test]
    fn no_error_shows_a_secret() {
        let out = tempfile::tempdir().expect("a folder");
        let deployment = ecg();
        let keys = Keys::of(&deployment, out.path()).expect("keys are made");
        let path = out.path().join("keys/node-2.key");
        let secret = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{}zz", secret.trim())).unwrap();
        let error = Keys::of(&deployment, out.path()).expect_err("the key is broken");
        let shown = format!("{} {error:?} {} {keys:?}", error.lines(), error.json());
        assert!(!shown.contains(&secret[..16]), "{shown}");
    }
}
