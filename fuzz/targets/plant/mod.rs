//! A server of a few nodes on a simulated disk, for targets: its keys, and what its nodes and its gateway send.

use std::io;
use std::num::{NonZeroU16, NonZeroU32};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use cipher::{Aead, CellMaster, Key, NodeMaster, StoreMaster, Suite};
use collect::Collector;
use collect::batch::{BatchId, HEADER_BYTES, NONCE_BYTES, SealedBatch};
use collect::frame::{Header, seal};
use collect::keys::{Grid, KeyRing, Node};
use collect::limits::Limits;
use collect::settings::{Planned, Settings};
use collect::shard::{Arrived, Now};
use collect::sim::{Dice, Honesty, SimDisk};

const CELL: u16 = 7;
/// Nodes, of either suite in turn.
pub const NODES: u32 = 4;
/// Before the last of them is told to change its epoch.
const EPOCH_FRAMES: u16 = 3;

/// An honest disk.
pub fn disk() -> SimDisk {
    SimDisk::new(Dice::new(1), Honesty::FULL)
}

/// The store's key.
pub fn store_master() -> StoreMaster {
    StoreMaster::from(Key::copied_from(&[2; 32]))
}

fn master(node: u32) -> NodeMaster {
    NodeMaster::from(Key::filled_by(|key| key[..4].copy_from_slice(&node.to_le_bytes())))
}

fn cell_master() -> CellMaster {
    CellMaster::from(Key::copied_from(&[1; 32]))
}

fn suite(node: u32) -> Suite {
    if node.is_multiple_of(2) { Suite::AsconAead128 } else { Suite::Aes128Ccm }
}

/// What the server knows.
pub fn ring() -> Arc<KeyRing> {
    let mut ring = KeyRing::new(store_master());
    ring.add_cell(CELL, &cell_master());
    let samples_per_superframe = NonZeroU32::new(8).expect("not zero");
    let grid = Grid { superframe_ps: 1_000_000_000, samples_per_superframe, uncertainty_ns: 5 };
    for node in 0..NODES {
        let settings = Settings::new(vec![Planned { first: 80, channel: Some(3), stride: Some(1) }], 40);
        let epoch_frames = NonZeroU16::new(EPOCH_FRAMES).filter(|_| node + 1 == NODES);
        let (master, suite) = (master(node), suite(node));
        ring.add_node(node, Node { master, suite, epoch_from: 1, epoch_frames, settings, grid });
    }
    let next = AtomicU8::new(10);
    ring.take_epochs_by(move |_| -> io::Result<Option<u8>> {
        Ok(next.fetch_update(Relaxed, Relaxed, |next| next.checked_add(1)).ok())
    });
    Arc::new(ring)
}

/// A server on `disk`.
pub fn collector(
    disk: &SimDisk,
    ring: &Arc<KeyRing>,
) -> Result<Collector<SimDisk, Dice>, collect::error::Error> {
    Collector::open(disk.clone(), ring.clone(), Limits::default(), Dice::new(3))
}

/// A frame of a node.
pub fn frame(node: u32, epoch: u8, counter: u32, plaintext: &[u8]) -> Vec<u8> {
    let key = master(node).traffic_key(node, epoch, suite(node));
    seal(&key, &Header { suite: suite(node), node, epoch, counter }, plaintext)
}

/// A gateway's batch, as it arrives.
pub fn arrived(number: u64, plaintext: &[u8]) -> Arrived {
    let id = BatchId { cell: CELL, spool: 9, number };
    let mut nonce = [0; NONCE_BYTES];
    nonce[..8].copy_from_slice(&number.to_le_bytes());
    let mut body = [&id.header()[..], &nonce, plaintext].concat();
    let key = Aead::new(Suite::Aes256Gcm, cell_master().batch_key(CELL).expose());
    key.seal_tail(&nonce, &id.header(), &mut body, HEADER_BYTES + NONCE_BYTES);
    Arrived { connection: 5, at: Now::default(), batch: Ok(SealedBatch { id, body }) }
}
