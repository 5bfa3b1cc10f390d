//! The EEPROMs of a cell's simulated nodes, kept between runs: what a power cut leaves.
//!
//! A simulated node that began again with a fresh EEPROM would use its counters twice under one key. So its EEPROM
//! is a file, saved whenever it has changed and before any frame of that superframe leaves the process.
//!
//! Invariant: a file is replaced in one step and synced, and only its owner can read it: it holds keys.

use super::deployment::Cell as Plan;
use super::keys::Keys;
use super::layout::Layout;
use super::provision;
use crate::error::Error;
use cell::Cell;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// The EEPROMs of a cell, by node.
pub struct Eeproms {
    folder: PathBuf,
    contents: BTreeMap<u32, Zeroizing<Vec<u8>>>,
}

impl Eeproms {
    /// Opens the files of the cell; a node that has none, or one that was provisioned otherwise, is provisioned.
    ///
    /// # Errors
    /// A key that cannot be read, or the environment's.
    pub fn open(layout: &Layout, plan: &Plan, keys: &Keys) -> Result<Eeproms, Error> {
        let folder = layout.cell(plan.id);
        layout.folder(&folder)?;
        let mut eeproms = Eeproms { folder, contents: BTreeMap::new() };
        let cell_master = keys.cell(plan.id)?;
        for node in &plan.nodes {
            let master = keys.node(node.id)?;
            let fresh = provision::eeprom(node, plan, provision::FIRST_EPOCH, &master, &cell_master);
            let path = eeproms.path(node.id);
            let kept = match fs::read(&path) {
                Ok(bytes) => Some(Zeroizing::new(bytes)).filter(|kept| provision::is_same(kept, &fresh)),
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => None,
                Err(cause) => return Err(Error::io("read", &path, cause)),
            };
            if kept.is_none() {
                replace(&path, fresh.as_slice()).map_err(|cause| Error::io("write", &path, cause))?;
            }
            eeproms.contents.insert(node.id, kept.unwrap_or_else(|| Zeroizing::new(fresh.to_vec())));
        }
        Ok(eeproms)
    }

    /// The file of a node.
    pub fn path(&self, node: u32) -> PathBuf {
        self.folder.join(format!("node-{node}.eeprom"))
    }

    /// What the EEPROM of a node holds.
    ///
    /// # Panics
    /// When the node is none of the cell.
    pub fn of(&self, node: u32) -> &[u8] {
        &self.contents[&node]
    }

    /// Saves the EEPROMs that have changed.
    ///
    /// # Errors
    /// The environment's.
    pub fn save(&mut self, cell: &Cell) -> Result<(), Error> {
        for node in cell.nodes() {
            let now = node.chip().eeprom();
            let kept = self.contents.get_mut(&node.id).expect("the cell's nodes are the plan's");
            if kept.as_slice() != now {
                *kept = Zeroizing::new(now.to_vec());
                let path = self.path(node.id);
                replace(&path, now).map_err(|cause| Error::io("write", &path, cause))?;
            }
        }
        Ok(())
    }
}

/// Replaces the file at `path` in one step.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("eeprom.new");
    match fs::remove_file(&beside) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(cause),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
    file.write_all(bytes)?;
    file.sync_data()?;
    fs::rename(&beside, path)?;
    File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
}
