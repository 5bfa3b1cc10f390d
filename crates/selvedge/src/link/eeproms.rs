//! The EEPROMs of a cell's simulated nodes, kept between runs: what a power cut leaves.
//!
//! A simulated node that began again with a fresh EEPROM would use its counters twice under one key. So its EEPROM
//! is a file, saved whenever it has changed and before any frame of that superframe leaves the process; an image that
//! replaces another takes over its counters; and one that replaces none has an epoch, and so a key, of its own.
//!
//! Owns which image a node has. Its bytes are `provision`'s, epochs are `reservations`', files are `folder`'s.
//!
//! Invariant: an image without a predecessor begins an epoch that no image ever had.
//! Invariant: a file is replaced in one step and synced, and only its owner can read it: it holds keys.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use cell::Cell;
use cipher::CellMaster;
use zeroize::Zeroizing;

use super::deployment::{Cell as Plan, Node};
use super::folder::Folder;
use super::keys::Keys;
use super::layout::Layout;
use super::provision::{self, Predecessor};
use crate::error::{Error, KeyFault, PlaceFault};

/// The EEPROMs of a cell, by node.
pub struct Eeproms {
    folder: Folder,
    contents: BTreeMap<u32, Zeroizing<Vec<u8>>>,
    /// Two processes that ran the same nodes would use the same counters.
    _lock: OwnedFd,
}

impl Eeproms {
    /// Opens the files of the cell; a node that has none, or that is provisioned otherwise now, is provisioned.
    ///
    /// # Errors
    /// [`Error::Key`] for a file that must not be believed or a key that is used up, [`Error::Place`], or
    /// [`Error::Io`].
    pub fn open(layout: &Layout, plan: &Plan, keys: &Keys) -> Result<Eeproms, Error> {
        let path = layout.cell(plan.id);
        let folder = Folder::create(&path)?;
        let lock = folder.try_lock()?.ok_or_else(|| Error::place(&path, PlaceFault::CellInUse))?;
        let mut eeproms = Eeproms { folder, contents: BTreeMap::new(), _lock: lock };
        let cell_master = keys.cell(plan.id)?;
        for node in &plan.nodes {
            let from = keys.store_from(&layout.store(), node.id)?;
            let content = eeproms.provisioned(node, plan, keys, &cell_master, from)?;
            eeproms.contents.insert(node.id, content);
        }
        Ok(eeproms)
    }

    /// The EEPROM of `node` as it must be. An image of an epoch before `from`, or of a closed one, would speak to a
    /// server that does not listen.
    fn provisioned(
        &self,
        node: &Node,
        plan: &Plan,
        keys: &Keys,
        cell_master: &CellMaster,
        from: u16,
    ) -> Result<Zeroizing<Vec<u8>>, Error> {
        let name = name(node.id);
        let found = match self.folder.read(&name) {
            Ok(content) => Some(content),
            Err(Error::Key { fault: KeyFault::Missing, .. }) => None,
            Err(error) => return Err(error),
        };
        let master = keys.node(node.id)?;
        let predecessor = found.as_ref().and_then(|content| Predecessor::of(content, node.id, &master));
        if let Some(predecessor) = &predecessor {
            keys.check_epoch(node.id, predecessor.epoch)?;
        }
        let closed = keys.standing(node.id)?.closed;
        let predecessor = predecessor.filter(|predecessor| {
            u16::from(predecessor.epoch) >= from && !closed.contains(&predecessor.epoch)
        });
        let epoch = match &predecessor {
            Some(predecessor) => predecessor.epoch,
            None => keys.take_epoch(node.id)?,
        };
        let mut image = provision::eeprom(node, plan, epoch, &master, cell_master);
        if let Some(predecessor) = &predecessor {
            predecessor.hand_over(&mut image, node);
        }
        match found.filter(|content| provision::is_same(content, &image)) {
            Some(same) => Ok(same),
            None => {
                self.folder.replace(&name, image.as_slice())?;
                Ok(Zeroizing::new(image.to_vec()))
            }
        }
    }

    /// The file of a node.
    pub fn path(&self, node: u32) -> PathBuf {
        self.folder.path(&name(node))
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
                self.folder.replace(&name(node.id), now)?;
            }
        }
        Ok(())
    }
}

fn name(node: u32) -> String {
    format!("node-{node}.eeprom")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::deployment::{self, Deployment};
    use std::fs;
    use std::ops::Range;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    /// A run's folder, opened as often as a test likes.
    struct Place {
        deployment: Deployment,
        folder: tempfile::TempDir,
    }

    /// Where the counter slots, their epoch and the places for keys are (`firmware/node/provision.h`).
    const COUNTED_AT: usize = 0x0a;
    const SLOTS: Range<usize> = 0x28..0x38;
    const PLACES_AT: usize = 0x38;

    impl Place {
        fn new() -> Place {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deployments/ecg.toml");
            let deployment = deployment::load(&path).expect("the example is sound");
            Place { deployment, folder: tempfile::tempdir().expect("a folder") }
        }

        fn open(&self) -> Result<Eeproms, Error> {
            let layout = Layout::create(self.folder.path())?;
            Eeproms::open(
                &layout,
                &self.deployment.cells[0],
                &Keys::of(&self.deployment, self.folder.path())?,
            )
        }

        /// The file of node 1.
        fn path(&self) -> PathBuf {
            self.folder.path().join("cell-7/node-1.eeprom")
        }

        /// Node 1 as it is provisioned now: epoch and counter slots.
        fn provisioned(&self) -> (u8, Vec<u8>) {
            let eeproms = self.open().unwrap_or_else(|error| panic!("{error}"));
            let image = eeproms.of(1);
            assert_eq!(fs::read(self.path()).unwrap(), image);
            (provision::epoch(image).expect("a key is in force"), image[SLOTS].to_vec())
        }

        /// Writes counter slots as a node would, with these limits; `None` is one that was torn.
        fn count(&self, limits: [Option<u32>; 2]) -> Vec<u8> {
            let mut image = fs::read(self.path()).unwrap();
            for (index, limit) in limits.into_iter().enumerate() {
                let at = SLOTS.start + 8 * index;
                let slots = provision::slots(image[COUNTED_AT], limit.unwrap_or(0));
                image[at..at + 8].copy_from_slice(&slots[..8]);
                image[at + 5] ^= if limit.is_none() { 1 } else { 0 };
            }
            fs::write(self.path(), &image).unwrap();
            image[SLOTS].to_vec()
        }
    }

    #[test]
    fn an_image_that_is_lost_short_or_damaged_is_followed_by_the_next_epoch() {
        let place = Place::new();
        assert_eq!(place.provisioned().0, 0);
        place.count([Some(5), Some(9)]);
        fs::remove_file(place.path()).unwrap();
        assert_eq!(place.provisioned(), (1, provision::slots(1, 0).to_vec()));
        let whole = fs::read(place.path()).unwrap();
        fs::write(place.path(), &whole[..provision::EEPROM_BYTES - 1]).unwrap();
        assert_eq!(place.provisioned().0, 2);
        // Bytes under a CRC, and a CRC.
        for (at, epoch) in [0x00, 0x0c, 0x24, PLACES_AT + 5].into_iter().zip(3..) {
            let mut damaged = fs::read(place.path()).unwrap();
            damaged[at] ^= 0x20;
            fs::write(place.path(), damaged).unwrap();
            assert_eq!(place.provisioned(), (epoch, provision::slots(epoch, 0).to_vec()), "byte {at}");
        }
        place.count([None, None]);
        assert_eq!(place.provisioned().0, 7, "two damaged slots");
        place.count([Some(1 << 31), Some(4)]);
        assert_eq!(place.provisioned().0, 8, "no count is left");
        fs::remove_dir_all(place.folder.path().join("cell-7")).unwrap();
        assert_eq!(place.provisioned().0, 9);
        assert_eq!(place.provisioned().0, 9, "and stays");
    }

    #[test]
    fn a_changed_deployment_takes_the_counter_slots_over() {
        let mut place = Place::new();
        place.provisioned();
        let slots = place.count([Some(16_384), Some(32_768)]);
        let node = &mut place.deployment.cells[0].nodes[0];
        (node.channel, node.counter_block) = (node.channel ^ 1, 20_000);
        assert_eq!(place.provisioned(), (0, slots));
        let slots = place.count([None, Some(40_000)]);
        place.deployment.cells[0].nodes[0].suite = cipher::Suite::Aes128Ccm;
        assert_eq!(place.provisioned(), (0, slots), "one slot is enough for a node");
    }

    #[test]
    fn an_epoch_that_a_node_was_told_stays_whatever_else_changes() {
        let mut place = Place::new();
        place.provisioned();
        let keys = Keys::of(&place.deployment, place.folder.path()).unwrap();
        let slots = place.count([Some(16_384), Some(32_768)]);
        // As the node writes it, into the other place.
        let mut image = fs::read(place.path()).unwrap();
        let later = {
            let plan = &place.deployment.cells[0];
            let cell = keys.cell(plan.id).unwrap();
            provision::eeprom(&plan.nodes[0], plan, 1, &keys.node(1).unwrap(), &cell)
        };
        let bytes = (provision::EEPROM_BYTES - PLACES_AT) / 2;
        image[PLACES_AT + bytes..provision::EEPROM_BYTES]
            .copy_from_slice(&later[PLACES_AT..PLACES_AT + bytes]);
        fs::write(place.path(), &image).unwrap();
        let behind = place.open().err().expect("nobody took epoch 1");
        assert!(matches!(behind, Error::Key { fault: KeyFault::EpochsBehind { found: 1, next: 1 }, .. }));
        assert_eq!(keys.take_epoch(1).unwrap(), 1);
        assert_eq!(place.provisioned(), (1, slots.clone()));
        assert_eq!(fs::read(place.path()).unwrap(), image, "nothing was touched");
        place.deployment.cells[0].nodes[0].channel ^= 1;
        assert_eq!(place.provisioned(), (1, slots.clone()), "both keys stay");
        place.deployment.cells[0].nodes[0].suite = cipher::Suite::Aes128Ccm;
        assert_eq!(place.provisioned(), (1, slots), "another key of the same epoch");
    }

    #[test]
    fn a_smaller_block_finds_no_count_that_a_larger_one_has_used() {
        for (limits, bound) in
            [([Some(3), Some(900)], 900), ([None, Some(900)], 900 + 16_384), ([Some(7), None], 7 + 16_384)]
        {
            let mut place = Place::new();
            place.provisioned();
            place.count(limits);
            place.deployment.cells[0].nodes[0].counter_block = 10;
            assert_eq!(place.provisioned(), (0, provision::slots(0, bound).to_vec()), "{limits:?}");
        }
    }

    #[test]
    fn an_image_newer_than_its_key_folder_is_refused() {
        let place = Place::new();
        place.provisioned();
        let old = fs::read(place.folder.path().join("keys/node-1.epoch")).unwrap();
        fs::remove_file(place.path()).unwrap();
        assert_eq!(place.provisioned().0, 1);
        fs::write(place.folder.path().join("keys/node-1.epoch"), old).unwrap();
        let error = place.open().err().expect("epoch 1 would be taken twice");
        assert!(
            matches!(error, Error::Key { fault: KeyFault::EpochsBehind { found: 1, next: 1 }, .. }),
            "{error}"
        );
        // Under other keys it is no predecessor, and theirs begin at 0.
        fs::remove_dir_all(place.folder.path().join("keys")).unwrap();
        assert_eq!(place.provisioned().0, 0);
    }

    #[test]
    fn an_image_older_than_the_store_is_replaced() {
        let place = Place::new();
        place.provisioned();
        let keys = Keys::of(&place.deployment, place.folder.path()).unwrap();
        keys.begin_store(&place.folder.path().join("elsewhere"), 1).unwrap();
        assert_eq!(place.provisioned().0, 0, "it has no store yet");
        keys.begin_store(&place.folder.path().join("store"), 1).unwrap();
        assert_eq!(place.provisioned().0, 1);
    }

    #[test]
    fn an_image_that_others_can_read_or_that_lies_elsewhere_is_refused() {
        let place = Place::new();
        place.provisioned();
        let fault = || match place.open() {
            Err(Error::Key { fault, .. }) => fault,
            other => panic!("expected a key fault, found {:?}", other.err()),
        };
        let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        let folder = place.folder.path().join("cell-7");
        mode(&place.path(), 0o640);
        assert_eq!(fault(), KeyFault::Mode { found: 0o640, expected: 0o600 });
        mode(&place.path(), 0o600);
        mode(&folder, 0o755);
        assert_eq!(fault(), KeyFault::Mode { found: 0o755, expected: 0o700 });
        mode(&folder, 0o700);
        fs::rename(place.path(), folder.join("elsewhere")).unwrap();
        symlink(folder.join("elsewhere"), place.path()).unwrap();
        assert_eq!(fault(), KeyFault::Symlink);
        fs::rename(folder.join("elsewhere"), place.path()).unwrap();
        assert_eq!(place.provisioned().0, 0, "nothing was taken meanwhile");
    }

    #[test]
    fn nobody_else_runs_the_nodes_meanwhile() {
        let place = Place::new();
        let first = place.open().unwrap_or_else(|error| panic!("{error}"));
        assert!(matches!(place.open(), Err(Error::Place { fault: PlaceFault::CellInUse, .. })));
        drop(first);
        place.provisioned();
    }
}
