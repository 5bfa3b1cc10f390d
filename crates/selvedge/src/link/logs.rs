//! The logs of a store: one, or where several servers share a deployment one for each lease that any of them had.
//!
//! Owns which folders they are, and which there are later. How they are read as one is `collect`'s.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use collect::disk::RealDisk;
use collect::read::logs::Logs;
use collect::read::{self, Filter, Verification};
use collect::record::Record;

use super::keys::Keys;
use crate::error::Error;

/// The folders of the logs in `store`: those that are named `<partition>-<fencing>`, in that order, or the store itself.
///
/// # Errors
/// The environment's.
pub fn folders(store: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |cause| Error::io("list", store, cause);
    let mut leases = Vec::new();
    for entry in fs::read_dir(store).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let lease = name.to_str().and_then(|name| name.split_once('-'));
        let lease = lease.and_then(|(partition, fencing)| {
            Some((partition.parse::<u16>().ok()?, fencing.parse::<u64>().ok()?))
        });
        if let Some(lease) = lease.filter(|_| entry.path().is_dir()) {
            leases.push((lease, entry.path()));
        }
    }
    leases.sort();
    let folders: Vec<_> = leases.into_iter().map(|(_, folder)| folder).collect();
    Ok(if folders.is_empty() { vec![store.to_owned()] } else { folders })
}

/// These logs as one. What memory does not hold of them lies in `scratch` meanwhile. A log that `is_live` is written to.
///
/// # Errors
/// Those of [`read::read`].
pub fn open(
    folders: &[PathBuf],
    keys: &Keys,
    filter: &Filter,
    scratch: &Path,
    is_live: bool,
) -> Result<Logs<RealDisk>, Error> {
    let open = |folder: &PathBuf| Ok(read::read(folder, keys.store()?, filter.clone())?);
    let logs = folders.iter().map(open).collect::<Result<Vec<_>, Error>>()?;
    Ok(Logs::new(logs, scratch, is_live))
}

/// Where logs of leases that begin later are looked for.
pub struct Leases {
    store: PathBuf,
    keys: Arc<Keys>,
    filter: Filter,
    /// Folders whose logs are read already.
    known: BTreeSet<PathBuf>,
}

impl Leases {
    /// Of the store of which the logs in `folders` are read, for what `filter` takes.
    pub fn behind(store: PathBuf, folders: &[PathBuf], keys: Arc<Keys>, filter: Filter) -> Leases {
        Leases { store, keys, filter, known: folders.iter().cloned().collect() }
    }

    /// Adds to `logs` those that began since.
    ///
    /// # Errors
    /// Those of [`read::read`].
    pub fn find(&mut self, logs: &mut Logs<RealDisk>) -> Result<(), Error> {
        for folder in folders(&self.store)? {
            if !self.known.contains(&folder) {
                logs.add(read::read(&folder, self.keys.store()?, self.filter.clone())?);
                self.known.insert(folder);
            }
        }
        Ok(())
    }
}

/// The records of a store that `filter` takes, each once, log after log.
///
/// # Errors
/// Those of [`read::read`], and that the logs do not agree.
pub fn read(store: &Path, keys: &Keys, filter: &Filter) -> Result<Vec<Record>, Error> {
    let mut logs = open(&folders(store)?, keys, filter, store, false)?;
    let records = logs.by_ref().collect::<Result<Vec<_>, _>>()?;
    logs.finish()?;
    Ok(records)
}

/// What there is in all logs, and what is wrong with it. A damaged file is named with its log.
///
/// # Errors
/// Those of [`read::verify`].
pub fn verify(store: &Path, keys: &Keys) -> Result<Verification, Error> {
    let mut all = Verification::default();
    for folder in folders(store)? {
        let found = read::verify(&folder, keys.store()?)?;
        let log = folder.strip_prefix(store).expect("it is in the store");
        all.segments += found.segments;
        all.groups += found.groups;
        all.records += found.records;
        all.reservations += found.reservations;
        all.changes += found.changes;
        all.orders += found.orders;
        all.torn += found.torn;
        all.bytes += found.bytes;
        all.missing.extend(found.missing);
        let named = |(file, at, what): (String, _, _)| (log.join(file).display().to_string(), at, what);
        all.corrupt.extend(found.corrupt.into_iter().map(named));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_one_log_or_those_of_its_leases_by_number() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(folders(folder.path()).expect("it is there"), [folder.path()]);
        for name in ["10-7", "2-30", "2-4", "lost+found", "x-1", "3-"] {
            fs::create_dir(folder.path().join(name)).expect("it can be made");
        }
        fs::write(folder.path().join("5-5"), "a file").expect("it can be written");
        let expected = ["2-4", "2-30", "10-7"].map(|name| folder.path().join(name));
        assert_eq!(folders(folder.path()).expect("it is there"), expected);
    }
}
