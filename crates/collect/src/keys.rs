//! The keys that the server is given: it reads no file and makes none.
//!
//! Owns who may speak at all (which nodes, which cells) and how a node was provisioned (its suite, its
//! sampling grid). Leaves derivation to `cipher`, files and permissions to the caller.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::io;
use std::num::{NonZeroU16, NonZeroU32};

use cipher::{Aead, CellMaster, NodeMaster, StoreMaster, Suite};

use crate::anchor::Anchor;
use crate::settings::Settings;

/// When a node samples: `samples_per_superframe` times in each superframe, evenly, the first at its start. A computer that
/// hangs on no bus samples in superframes of a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Length of a superframe in picoseconds of cell time.
    pub superframe_ps: u64,
    /// Samples in each superframe.
    pub samples_per_superframe: NonZeroU32,
    /// How far an instant may be off, in nanoseconds; `u32::MAX` = nobody knows.
    pub uncertainty_ns: u32,
}

/// A node as it was provisioned.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its master key.
    pub master: NodeMaster,
    /// The only suite in which it may speak: an attacker cannot choose a weaker one.
    pub suite: Suite,
    /// The first epoch of which frames are taken. What another store may have answered is none of this store's: it
    /// could not tell a repeated frame from a new one, and its downlink counters would repeat.
    pub epoch_from: u16,
    /// After so many stored frames of an epoch it is told to go on to another; `None` = never.
    pub epoch_frames: Option<NonZeroU16>,
    /// What it samples, beyond what it was provisioned with.
    pub settings: Settings,
    /// When it samples.
    pub grid: Grid,
}

/// What is refused of a node although its key opens it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Nothing of it is taken any more.
    pub is_revoked: bool,
    /// Nothing is stored any more of these epochs.
    pub closed: BTreeSet<u8>,
}

/// What may change of the keys while the server runs.
#[derive(Clone, Debug)]
pub struct Present {
    /// The store's master keys.
    pub store: StoreKeys,
    /// The nodes of which something is refused.
    pub standings: HashMap<u32, Standing>,
}

/// The keys of one cell.
pub(crate) struct Cell {
    pub(crate) batch: Aead,
    pub(crate) receipt: Aead,
}

/// The master keys of a store by their numbers: the newest one is written under, and each segment says which it is of.
#[derive(Clone, Debug)]
pub struct StoreKeys(BTreeMap<u32, StoreMaster>);

impl StoreKeys {
    /// A store with one key.
    pub fn new(number: u32, master: StoreMaster) -> StoreKeys {
        StoreKeys(BTreeMap::from([(number, master)]))
    }

    /// Adds a key.
    pub fn add(&mut self, number: u32, master: StoreMaster) {
        self.0.insert(number, master);
    }

    /// The key of this number, if it is there.
    pub(crate) fn get(&self, number: u32) -> Option<&StoreMaster> {
        self.0.get(&number)
    }

    /// The keys' numbers, in order.
    pub fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.keys().copied()
    }

    /// The key that is written under.
    pub(crate) fn newest(&self) -> (u32, &StoreMaster) {
        let (&number, master) = self.0.last_key_value().expect("a store has a key");
        (number, master)
    }
}

/// A store's first key has number 0.
impl From<StoreMaster> for StoreKeys {
    fn from(master: StoreMaster) -> StoreKeys {
        StoreKeys::new(0, master)
    }
}

/// All keys of a server.
pub struct KeyRing {
    store: StoreKeys,
    nodes: HashMap<u32, Node>,
    cells: HashMap<u16, Cell>,
    epochs: Box<TakeEpoch>,
    present: Option<Box<ReadPresent>>,
    anchored: Option<Anchor>,
    keep_anchor: Option<Box<KeepAnchor>>,
}

/// Takes an epoch of a node's key that was never used, and never will be again by anybody else, before it returns;
/// `None` when there is none left.
pub type TakeEpoch = dyn Fn(u32) -> io::Result<Option<u8>> + Send + Sync;

/// Keeps a note of how far the store has come, durably, before it returns.
pub type KeepAnchor = dyn Fn(&Anchor) -> io::Result<()> + Send + Sync;

/// Reads again what may have changed.
pub type ReadPresent = dyn Fn() -> io::Result<Present> + Send + Sync;

impl Grid {
    /// Nominal instant of the sample with this grid index, in picoseconds of cell time; `u64::MAX` when it is
    /// beyond that (213 days).
    pub fn instant_ps(&self, index: u64) -> u64 {
        let per_superframe = u64::from(self.samples_per_superframe.get());
        let (superframe, sample) = (u128::from(index / per_superframe), u128::from(index % per_superframe));
        let length_ps = u128::from(self.superframe_ps);
        let instant_ps = superframe * length_ps + sample * length_ps / u128::from(per_superframe);
        u64::try_from(instant_ps).unwrap_or(u64::MAX)
    }

    /// Of so many samples that begin with `first`, which one of the grid each is: they are a superframe's, every so manieth
    /// of it. 1 when they are all, or are no superframe's.
    pub fn stride(&self, first: u64, samples: usize) -> u8 {
        let per_superframe = u64::from(self.samples_per_superframe.get());
        let samples = samples.max(1) as u64;
        let is_whole = first.is_multiple_of(per_superframe) && per_superframe.is_multiple_of(samples);
        u8::try_from(per_superframe / samples).ok().filter(|_| is_whole).unwrap_or(1)
    }
}

impl Node {
    /// Whether a tag says that a frame is its own. Where none does nothing is sent down to it: it could not tell, either.
    pub fn is_authenticated(&self) -> bool {
        self.suite.row().is_authenticated()
    }
}

impl KeyRing {
    /// A ring for the store with these master keys, which admits nobody yet.
    pub fn new(store: impl Into<StoreKeys>) -> KeyRing {
        KeyRing {
            store: store.into(),
            nodes: HashMap::new(),
            cells: HashMap::new(),
            epochs: Box::new(|_| Ok(None)),
            present: None,
            anchored: None,
            keep_anchor: None,
        }
    }

    /// Admits a node, or replaces what was known of it.
    ///
    /// # Panics
    /// When the node's suite is none of the node link's.
    pub fn add_node(&mut self, id: u32, node: Node) {
        assert!(node.suite.row().node_number.is_some(), "{} is no suite of the node link", node.suite);
        self.nodes.insert(id, node);
    }

    /// Admits a cell's bridge, or replaces its keys.
    pub fn add_cell(&mut self, id: u16, master: &CellMaster) {
        let aead = |key: cipher::Key<32>| Aead::new(Suite::Aes256Gcm, key.expose());
        let cell = Cell { batch: aead(master.batch_key(id)), receipt: aead(master.receipt_key(id)) };
        self.cells.insert(id, cell);
    }

    /// Says where free epochs come from; without that no node is told a change.
    pub fn take_epochs_by(&mut self, take: impl Fn(u32) -> io::Result<Option<u8>> + Send + Sync + 'static) {
        self.epochs = Box::new(take);
    }

    /// Says where the present keys of the store and standings of nodes come from; without that they are those that the ring
    /// was made with.
    pub fn read_present_by(&mut self, read: impl Fn() -> io::Result<Present> + Send + Sync + 'static) {
        self.present = Some(Box::new(read));
    }

    /// Says how far the store has come at least, and who keeps that from now on; without that an older copy of the store is
    /// not seen to be one ([`anchor`](crate::anchor)).
    pub fn anchor_by(
        &mut self,
        found: Option<Anchor>,
        keep: impl Fn(&Anchor) -> io::Result<()> + Send + Sync + 'static,
    ) {
        self.anchored = found;
        self.keep_anchor = Some(Box::new(keep));
    }

    /// How far the store had come, at least, when the ring was made.
    pub(crate) fn anchored(&self) -> Option<&Anchor> {
        self.anchored.as_ref()
    }

    /// Keeps a note of how far the store has come; false when nobody wants it.
    pub(crate) fn keep_anchor(&self, anchor: &Anchor) -> io::Result<bool> {
        match &self.keep_anchor {
            Some(keep) => keep(anchor).map(|()| true),
            None => Ok(false),
        }
    }

    /// The keys of the store and the standings of nodes as they are now.
    pub(crate) fn present(&self) -> io::Result<Present> {
        match &self.present {
            Some(read) => read(),
            None => Ok(Present { store: self.store.clone(), standings: HashMap::new() }),
        }
    }

    /// A free epoch of a node's key after `epoch`.
    ///
    /// # Errors
    /// Who takes epochs cannot, or gives one again: there are 256, and the thread that commits would ask for ever.
    pub(crate) fn epoch_after(&self, node: u32, epoch: u8) -> io::Result<Option<u8>> {
        for _ in 0..=u8::MAX {
            match (self.epochs)(node)? {
                Some(taken) if taken <= epoch => {}
                taken => return Ok(taken),
            }
        }
        Err(io::Error::other(format!("node {node} was given epochs up to {epoch} again, which were used")))
    }

    pub(crate) fn node(&self, id: u32) -> Option<&Node> {
        self.nodes.get(&id)
    }

    /// All nodes, by number.
    pub(crate) fn node_ids(&self) -> Vec<u32> {
        let mut ids: Vec<u32> = self.nodes.keys().copied().collect();
        ids.sort_unstable();
        ids
    }

    pub(crate) fn cell(&self, id: u16) -> Option<&Cell> {
        self.cells.get(&id)
    }
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyRing({} nodes, {} cells, ..)", self.nodes.len(), self.cells.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_lie_on_the_grid() {
        let grid = Grid {
            superframe_ps: 250_000_000_000,
            samples_per_superframe: NonZeroU32::new(90).unwrap(),
            uncertainty_ns: 0,
        };
        assert_eq!(grid.instant_ps(0), 0);
        assert_eq!(grid.instant_ps(1), 2_777_777_777, "rounded down");
        assert_eq!(grid.instant_ps(90), 250_000_000_000, "no rounding error is carried over");
        assert_eq!(grid.instant_ps(181), 502_777_777_777);
        assert_eq!(Grid { superframe_ps: u64::MAX, ..grid }.instant_ps(u64::MAX), u64::MAX);
    }

    #[test]
    fn who_gives_a_used_epoch_again_and_again_is_an_error_and_no_endless_search() {
        let mut ring = KeyRing::new(StoreMaster::from(cipher::Key::copied_from(&[3; 32])));
        ring.take_epochs_by(|_| Ok(Some(4)));
        assert_eq!(ring.epoch_after(5, 3).unwrap(), Some(4));
        assert_eq!(ring.epoch_after(5, 4).unwrap_err().kind(), io::ErrorKind::Other);
    }
}
