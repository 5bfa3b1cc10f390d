//! What a benchmark sends: frames of a thousand nodes, sealed by the library's ciphers as their nodes would, in the batches
//! of their gateways.
//!
//! A [`Plant`] is some of the nodes with their counters, so that several threads can seal at once, each with a plant of its
//! own; what a server knows of all of them is [`ring`]. All keys come from a seed: nothing here protects anything.

use std::num::NonZeroU32;
use std::sync::Arc;

use cipher::{Aead, CellMaster, Key, NodeMaster, StoreMaster, Suite, TrafficKey};

use crate::batch::{self, BatchId, Entry, HEADER_BYTES, NONCE_BYTES, SealedBatch};
use crate::frame::{self, Header, Samples};
use crate::keys::{Grid, KeyRing, Node};
use crate::limits::{FRAME_HEADER_BYTES, SAMPLES_HEADER_BYTES, SLOT_FRAME_BYTES_MAX, WAVEFORM_HEADER_BYTES};
use crate::settings::Settings;
use crate::shard::{Arrived, Now};
use crate::waveform::{Format, Kind, Waveform};

/// Nodes that send.
pub const NODES: u32 = 1000;
/// The cell of all of them.
pub const CELL: u16 = 7;
const SPOOL: u64 = 9;
const EPOCH: u8 = 3;

/// What a batch is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// The suite of its nodes.
    pub suite: Suite,
    /// Bytes of a frame.
    pub frame_bytes: usize,
    /// Frames of a batch.
    pub frames_per_batch: usize,
    /// So many nodes share them.
    pub nodes_per_batch: usize,
}

/// Nodes and their gateway, with their counters.
pub struct Plant {
    load: Load,
    seed: u64,
    nodes: Vec<u32>,
    counters: Vec<u32>,
    /// Batches so far.
    batches: u64,
    keys: Vec<TrafficKey>,
    batch_key: Aead,
}

fn master(seed: u64, node: u32) -> NodeMaster {
    NodeMaster::from(Key::filled_by(|key| {
        key[..4].copy_from_slice(&node.to_le_bytes());
        key[8..16].copy_from_slice(&seed.to_le_bytes());
    }))
}

/// The key of the cell.
pub fn cell_master() -> CellMaster {
    CellMaster::from(Key::copied_from(&[1; 32]))
}

/// All nodes of a suite, as a server knows them.
pub fn nodes(suite: Suite, seed: u64) -> impl Iterator<Item = (u32, Node)> {
    let samples_per_superframe = NonZeroU32::new(1000).expect("not zero");
    let grid = Grid { superframe_ps: 1_000_000_000_000, samples_per_superframe, uncertainty_ns: 5 };
    (0..NODES).map(move |node| {
        let (master, settings) = (master(seed, node), Settings::default());
        (node, Node { master, suite, epoch_from: 0, epoch_frames: None, settings, grid })
    })
}

/// What a server knows of them, and under which key it stores.
pub fn ring(suite: Suite, seed: u64) -> KeyRing {
    let mut ring = KeyRing::new(StoreMaster::from(Key::copied_from(&[2; 32])));
    ring.add_cell(CELL, &cell_master());
    nodes(suite, seed).for_each(|(id, node)| ring.add_node(id, node));
    ring
}

impl Plant {
    /// These nodes, before they have sent anything.
    pub fn new(load: Load, nodes: impl IntoIterator<Item = u32>, seed: u64) -> Plant {
        let nodes: Vec<u32> = nodes.into_iter().collect();
        let keys =
            nodes.iter().map(|&node| master(seed, node).traffic_key(node, EPOCH, load.suite)).collect();
        let batch_key = Aead::new(Suite::Aes256Gcm, cell_master().batch_key(CELL).expose());
        Plant { load, seed, counters: vec![0; nodes.len()], nodes, batches: 0, keys, batch_key }
    }

    /// What its batches are made of.
    pub fn load(&self) -> &Load {
        &self.load
    }

    /// What a server knows of all nodes.
    pub fn ring(&self) -> Arc<KeyRing> {
        Arc::new(ring(self.load.suite, self.seed))
    }

    /// The gateway's key.
    pub fn batch_key(&self) -> &Aead {
        &self.batch_key
    }

    /// The key of the node.
    pub fn key(&self, node: u32) -> &TrafficKey {
        let place = self.nodes.iter().position(|&own| own == node);
        &self.keys[place.expect("it is one of the plant")]
    }

    /// The next frame of the node of this place.
    fn frame(&mut self, place: usize) -> Vec<u8> {
        let (Load { suite, frame_bytes, .. }, counter) = (self.load, self.counters[place]);
        let node = self.nodes[place];
        self.counters[place] += 1;
        let plaintext_bytes = frame_bytes - FRAME_HEADER_BYTES - suite.row().tag_bytes;
        let waveform = if frame_bytes <= SLOT_FRAME_BYTES_MAX {
            Waveform::of_codes(&vec![0x5a5; (plaintext_bytes - SAMPLES_HEADER_BYTES) / 2])
        } else {
            let format = Format { kind: Kind::F32, is_big_endian: false };
            let samples = vec![node as u8; plaintext_bytes - WAVEFORM_HEADER_BYTES];
            Waveform::new(format, samples).expect("whole samples")
        };
        let plaintext = Samples { first: counter.into(), channel: 0, waveform }.to_bytes();
        let header = Header { suite, node, epoch: EPOCH, counter };
        let frame = frame::seal(&self.keys[place], &header, &plaintext);
        assert_eq!(frame.len(), frame_bytes);
        frame
    }

    /// So many batches of one spool, as if they had just arrived.
    pub fn seal(&mut self, batches: usize) -> Vec<Arrived> {
        let arrived = |batch| Arrived { connection: 5, at: Now::default(), batch: Ok(batch) };
        (0..batches).map(|_| arrived(self.batch(SPOOL, self.batches))).collect()
    }

    /// The next batch, of this spool and with this number there.
    pub fn batch(&mut self, spool: u64, number: u64) -> SealedBatch {
        let Load { frames_per_batch, nodes_per_batch, .. } = self.load;
        let first = self.batches * nodes_per_batch as u64;
        self.batches += 1;
        let place =
            |index: usize| ((first + (index % nodes_per_batch) as u64) % self.nodes.len() as u64) as usize;
        let places: Vec<usize> = (0..frames_per_batch).map(place).collect();
        let frames: Vec<Vec<u8>> = places.into_iter().map(|place| self.frame(place)).collect();
        let entry = |frame| Entry { superframe: 1, slot: 2, received_ps: 3, frame };
        let entries: Vec<Entry<'_>> = frames.iter().map(|frame| entry(frame.as_slice())).collect();
        let id = BatchId { cell: CELL, spool, number };
        let mut nonce = [0; NONCE_BYTES];
        nonce[..8].copy_from_slice(&number.to_le_bytes());
        nonce[8..].copy_from_slice(&(spool as u32).to_le_bytes());
        let mut body = [&id.header()[..], &nonce, &batch::entries_to_bytes(&entries)].concat();
        self.batch_key.seal_tail(&nonce, &id.header(), &mut body, HEADER_BYTES + NONCE_BYTES);
        SealedBatch { id, body }
    }
}
