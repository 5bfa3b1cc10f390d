//! A cell with its nodes and its bridge's keys, as far as the tests of the whole server need one.
#![allow(dead_code, reason = "each test file uses its part")]

use std::num::{NonZeroU16, NonZeroU32};

use cipher::{Aead, CellMaster, Key, NodeMaster, NonceSource, OsRandomness, StoreMaster, Suite, TrafficKey};
use collect::batch::{self, BatchId, Entry, Receipt};
use collect::frame::{self, Header, Samples};
use collect::keys::{Grid, KeyRing, Node};
use collect::settings::Settings;
use collect::waveform::Waveform;

pub const CELL: u16 = 7;
pub const SPOOL: u64 = 0x5b00_1234;
pub const NODES: u32 = 4;

pub fn store_master() -> StoreMaster {
    StoreMaster::from(Key::copied_from(&[0x11; 32]))
}

pub fn cell_master() -> CellMaster {
    CellMaster::from(Key::copied_from(&[0x22; 32]))
}

fn node_master(node: u32) -> NodeMaster {
    NodeMaster::from(Key::filled_by(|key| key.fill(0x33 ^ node as u8)))
}

fn suite(node: u32) -> Suite {
    if node.is_multiple_of(2) { Suite::AsconAead128 } else { Suite::Aes128Ccm }
}

pub fn key_ring() -> KeyRing {
    key_ring_that_changes(None)
}

/// Nodes that are told to go on from epoch 0 to 1 after so many frames.
pub fn key_ring_that_changes(epoch_frames: Option<NonZeroU16>) -> KeyRing {
    let mut keys = KeyRing::new(store_master());
    keys.add_cell(CELL, &cell_master());
    let samples_per_superframe = NonZeroU32::new(90).unwrap();
    let grid = Grid { superframe_ps: 250_000_000_000, samples_per_superframe, uncertainty_ns: 35_000 };
    for node in 0..NODES {
        let (master, suite, settings) = (node_master(node), suite(node), Settings::default());
        keys.add_node(node, Node { master, suite, epoch_from: 0, epoch_frames, settings, grid });
    }
    keys.take_epochs_by(|_| Ok(Some(1)));
    keys
}

/// The samples of a frame: a function of node and counter, so that a reader can check them.
pub fn samples(node: u32, counter: u32) -> Samples {
    let sample = |index: u32| ((node * 131 + counter * 17 + index) % 1024) as u16;
    let codes: Vec<u16> = (0..90).map(sample).collect();
    Samples { first: u64::from(counter) * 90, channel: 0, waveform: Waveform::of_codes(&codes) }
}

pub fn node_key(node: u32, epoch: u8) -> TrafficKey {
    node_master(node).traffic_key(node, epoch, suite(node))
}

pub fn node_frame(node: u32, counter: u32) -> Vec<u8> {
    node_frame_of(0, node, counter)
}

pub fn node_frame_of(epoch: u8, node: u32, counter: u32) -> Vec<u8> {
    let header = Header { suite: suite(node), node, epoch, counter };
    frame::seal(&node_key(node, epoch), &header, &samples(node, counter).to_bytes())
}

pub struct Bridge {
    batch_key: Aead,
    receipt_key: Aead,
    nonces: NonceSource<OsRandomness>,
}

impl Bridge {
    pub fn new() -> Bridge {
        let aead = |key: Key<32>| Aead::new(Suite::Aes256Gcm, key.expose());
        Bridge {
            batch_key: aead(cell_master().batch_key(CELL)),
            receipt_key: aead(cell_master().receipt_key(CELL)),
            nonces: NonceSource::new(OsRandomness).unwrap(),
        }
    }

    pub fn id(number: u64) -> BatchId {
        BatchId { cell: CELL, spool: SPOOL, number }
    }

    /// Nonce, ciphertext and tag of batch `number` with these frames.
    pub fn seal(&mut self, number: u64, frames: &[Vec<u8>]) -> Vec<u8> {
        let entry = |(slot, frame)| Entry { superframe: number as u32, slot, received_ps: number, frame };
        let entries: Vec<_> = (1..).zip(frames.iter().map(Vec::as_slice)).map(entry).collect();
        self.seal_plaintext(number, &batch::entries_to_bytes(&entries))
    }

    pub fn seal_plaintext(&mut self, number: u64, plaintext: &[u8]) -> Vec<u8> {
        let nonce = self.nonces.draw().unwrap();
        let mut sealed = [&nonce, plaintext].concat();
        self.batch_key.seal_tail(&nonce, &Self::id(number).header(), &mut sealed, nonce.len());
        sealed
    }

    /// Batch `number`: one frame of each node, with the number as counter.
    pub fn superframe(&mut self, number: u64) -> Vec<u8> {
        let frames: Vec<_> = (0..NODES).map(|node| node_frame(node, number as u32)).collect();
        self.seal(number, &frames)
    }

    pub fn open(&self, number: u64, mut sealed: Vec<u8>) -> Receipt {
        let (nonce, sealed) = sealed.split_at_mut(batch::NONCE_BYTES);
        let plaintext = self.receipt_key.open_tail(nonce, &Self::id(number).answer_header(), sealed);
        Receipt::parse(plaintext.expect("the receipt is authentic")).expect("the receipt is well-formed")
    }
}

/// What a node reads in a downlink frame: its own id, the downlink count, and the acknowledged count.
pub fn open_downlink(bytes: &[u8]) -> (u32, u32, u32) {
    let frame = frame::parse(bytes).unwrap();
    let header = frame.header;
    assert!(header.is_downlink() && header.suite == suite(header.node));
    let key = node_master(header.node).traffic_key(header.node, header.epoch, header.suite);
    let plaintext = frame::open(&key, &frame).unwrap();
    assert_eq!((plaintext.len(), plaintext[0]), (5, frame::KIND_ACKNOWLEDGE));
    let acknowledged = u32::from_le_bytes(plaintext[1..].try_into().unwrap());
    (header.node, header.counter & !frame::DIRECTION_BIT, acknowledged)
}
