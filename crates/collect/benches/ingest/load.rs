//! What arrives: frames of a thousand nodes, sealed by the library's ciphers, in the batches of their gateways; and the
//! way of opening them that takes one frame at a time.

use std::num::NonZeroU32;
use std::sync::Arc;

use cipher::{Aead, CellMaster, Key, NodeMaster, StoreMaster, Suite, TrafficKey};
use collect::batch::{self, BatchId, Entry, HEADER_BYTES, NONCE_BYTES, SealedBatch};
use collect::frame::{self, Header, Samples};
use collect::keys::{Grid, KeyRing, Node};
use collect::limits::{
    FRAME_HEADER_BYTES, SAMPLES_HEADER_BYTES, SLOT_FRAME_BYTES_MAX, WAVEFORM_HEADER_BYTES,
};
use collect::settings::Settings;
use collect::shard::{Arrived, Now};
use collect::waveform::{Format, Kind, Waveform};

use crate::alone::Alone;

/// Nodes that send.
pub const NODES: u32 = 1000;
const CELL: u16 = 7;
const SPOOL: u64 = 9;
const EPOCH: u8 = 3;

/// What is sent in a round.
pub struct Load {
    pub suite: Suite,
    pub frame_bytes: usize,
    pub batches: usize,
    pub frames_per_batch: usize,
    /// So many nodes share the frames of a batch.
    pub nodes_per_batch: usize,
}

/// Nodes and a gateway, with their counters.
pub struct Plant {
    suite: Suite,
    counters: Vec<u32>,
    batches: u64,
    keys: Vec<TrafficKey>,
    batch_key: Aead,
}

fn master(node: u32) -> NodeMaster {
    NodeMaster::from(Key::filled_by(|key| key[..4].copy_from_slice(&node.to_le_bytes())))
}

fn cell_master() -> CellMaster {
    CellMaster::from(Key::copied_from(&[1; 32]))
}

fn batch_key() -> Aead {
    Aead::new(Suite::Aes256Gcm, cell_master().batch_key(CELL).expose())
}

impl Plant {
    pub fn new(suite: Suite) -> Plant {
        let keys = (0..NODES).map(|node| master(node).traffic_key(node, EPOCH, suite)).collect();
        Plant { suite, counters: vec![0; NODES as usize], batches: 0, keys, batch_key: batch_key() }
    }

    pub fn suite(&self) -> Suite {
        self.suite
    }

    /// The gateway's key.
    pub fn batch_key(&self) -> &Aead {
        &self.batch_key
    }

    /// A node's key.
    pub fn key(&self, node: u32) -> &TrafficKey {
        &self.keys[node as usize]
    }

    fn nodes(&self) -> impl Iterator<Item = (u32, Node)> {
        let samples_per_superframe = NonZeroU32::new(1000).expect("not zero");
        let grid = Grid { superframe_ps: 1_000_000_000_000, samples_per_superframe, uncertainty_ns: 5 };
        let suite = self.suite;
        (0..NODES).map(move |node| {
            let (master, settings) = (master(node), Settings::default());
            (node, Node { master, suite, epoch_from: 0, epoch_frames: None, settings, grid })
        })
    }

    /// What the server knows of them.
    pub fn ring(&self) -> Arc<KeyRing> {
        let mut ring = KeyRing::new(StoreMaster::from(Key::copied_from(&[2; 32])));
        ring.add_cell(CELL, &cell_master());
        self.nodes().for_each(|(id, node)| ring.add_node(id, node));
        Arc::new(ring)
    }

    /// The same for the way of one frame at a time.
    pub fn alone(&self) -> Alone {
        Alone::new(self.nodes().collect(), CELL, &cell_master())
    }

    /// The next frame of a node.
    pub fn frame(&mut self, node: u32, frame_bytes: usize) -> Vec<u8> {
        let (suite, counter) = (self.suite, self.counters[node as usize]);
        self.counters[node as usize] += 1;
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
        let frame = frame::seal(&self.keys[node as usize], &header, &plaintext);
        assert_eq!(frame.len(), frame_bytes);
        frame
    }

    /// A round's batches.
    pub fn seal(&mut self, load: &Load) -> Vec<Arrived> {
        (0..load.batches).map(|_| self.batch(load)).collect()
    }

    fn batch(&mut self, load: &Load) -> Arrived {
        let number = self.batches;
        self.batches += 1;
        let node = |index: usize| {
            (number * load.nodes_per_batch as u64 + (index % load.nodes_per_batch) as u64) % u64::from(NODES)
        };
        let frames: Vec<Vec<u8>> = (0..load.frames_per_batch)
            .map(|index| self.frame(node(index) as u32, load.frame_bytes))
            .collect();
        let entry = |frame| Entry { superframe: 1, slot: 2, received_ps: 3, frame };
        let entries: Vec<Entry<'_>> = frames.iter().map(|frame| entry(frame.as_slice())).collect();
        let id = BatchId { cell: CELL, spool: SPOOL, number };
        let mut nonce = [0; NONCE_BYTES];
        nonce[..8].copy_from_slice(&number.to_le_bytes());
        let mut body = [&id.header()[..], &nonce, &batch::entries_to_bytes(&entries)].concat();
        self.batch_key.seal_tail(&nonce, &id.header(), &mut body, HEADER_BYTES + NONCE_BYTES);
        Arrived { connection: 5, at: Now::default(), batch: Ok(SealedBatch { id, body }) }
    }
}
