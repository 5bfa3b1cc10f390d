//! The bridge of a simulated run and its nodes, and the judge of what the servers said and stored.

use std::collections::{BTreeMap, BTreeSet};
use std::num::{NonZeroU16, NonZeroU32};

use cipher::{Aead, CellMaster, Key, NodeMaster, NonceSource, StoreMaster, Suite};

use super::PARTITIONS;
use super::world::World;
use crate::batch::{self, Answer, BatchId, Entry, Receipt, Seal};
use crate::frame::{self, Header, KIND_CHANGE, Samples};
use crate::keys::{Grid, KeyRing, Node};
use crate::nats::partition_of;
use crate::read::{Filter, Records, verify_disk};
use crate::settings::Settings;
use crate::sim::Dice;
use crate::waveform::Waveform;

const CELL: u16 = 7;
const SPOOL: u64 = 0x5b00;
const SUITE: Suite = Suite::Aes128Ccm;
/// Some of them in each partition.
const NODES: std::ops::Range<u32> = 1..5;
/// Frames after which a node is told another epoch.
const EPOCH_FRAMES: NonZeroU16 = NonZeroU16::new(4).expect("4");

/// Node, epoch and counter: what a frame is known by.
type Name = (u32, u8, u32);

fn cell_master() -> CellMaster {
    CellMaster::from(Key::copied_from(&[1; 32]))
}

fn node_master(node: u32) -> NodeMaster {
    NodeMaster::from(Key::copied_from(&[node as u8; 32]))
}

fn store_master() -> StoreMaster {
    StoreMaster::from(Key::copied_from(&[3; 32]))
}

/// The keys of a machine, whose epochs are other ones than those of the other.
pub fn key_ring(machine: &'static str, world: World) -> KeyRing {
    let mut keys = KeyRing::new(store_master());
    keys.add_cell(CELL, &cell_master());
    let grid = Grid { superframe_ps: 8, samples_per_superframe: NonZeroU32::MIN, uncertainty_ns: 0 };
    for node in NODES {
        let (master, settings) = (node_master(node), Settings::default());
        let epoch_frames = Some(EPOCH_FRAMES);
        keys.add_node(node, Node { master, suite: SUITE, epoch_from: 0, epoch_frames, settings, grid });
    }
    keys.take_epochs_by(move |node| Ok(world.take_epoch(machine, node)));
    keys
}

fn samples(node: u32, counter: u32) -> Waveform {
    Waveform::of_codes(&[(node * 131 + counter * 17) as u16 % 1024])
}

/// A node: in which epoch it is, and what it seals next.
#[derive(Default)]
struct SimNode {
    epoch: u8,
    counter: u32,
}

pub struct Bridge {
    batch_key: Aead,
    receipt_key: Aead,
    nonces: NonceSource<Dice>,
    nodes: BTreeMap<u32, SimNode>,
    number: u64,
    /// Parts without a receipt.
    waiting: BTreeMap<(u64, Seal), Vec<Name>>,
    /// What receipts were for.
    answered: BTreeMap<(u64, Seal), Vec<Name>>,
    /// Frames of them.
    promised: BTreeSet<Name>,
    downlinks: BTreeSet<Name>,
    /// The epoch that a node is told to go on to from another.
    told: BTreeMap<(u32, u8), u8>,
}

impl Bridge {
    pub fn new(dice: Dice) -> Bridge {
        let aead = |key: Key<32>| Aead::new(Suite::Aes256Gcm, key.expose());
        Bridge {
            batch_key: aead(cell_master().batch_key(CELL)),
            receipt_key: aead(cell_master().receipt_key(CELL)),
            nonces: NonceSource::new(dice).expect("dice have no end"),
            nodes: NODES.map(|node| (node, SimNode::default())).collect(),
            number: 0,
            waiting: BTreeMap::new(),
            answered: BTreeMap::new(),
            promised: BTreeSet::new(),
            downlinks: BTreeSet::new(),
            told: BTreeMap::new(),
        }
    }

    /// A frame of each node, in as many parts as there are partitions.
    pub fn send(&mut self, world: &World) {
        self.number += 1;
        let id = BatchId { cell: CELL, spool: SPOOL, number: self.number };
        let mut parts: BTreeMap<u16, Vec<(Name, Vec<u8>)>> = BTreeMap::new();
        for (&node, sim) in &mut self.nodes {
            let (epoch, counter) = (sim.epoch, sim.counter);
            sim.counter += 1;
            let header = Header { suite: SUITE, node, epoch, counter };
            let samples = Samples { first: counter.into(), channel: 0, waveform: samples(node, counter) };
            let key = node_master(node).traffic_key(node, epoch, SUITE);
            let frame = frame::seal(&key, &header, &samples.to_bytes());
            parts.entry(partition_of(node, PARTITIONS)).or_default().push(((node, epoch, counter), frame));
        }
        for (partition, frames) in parts {
            let (superframe, received_ps) = (self.number as u32, 0);
            let placed = (1..).zip(&frames);
            let entries: Vec<Entry<'_>> =
                placed.map(|(slot, (_, frame))| Entry { superframe, slot, received_ps, frame }).collect();
            let nonce = self.nonces.draw().expect("dice have no end");
            let mut sealed = [&nonce[..], &batch::entries_to_bytes(&entries)].concat();
            self.batch_key.seal_tail(&nonce, &id.header(), &mut sealed, nonce.len());
            let seal = Seal::of(&sealed).expect("it was sealed");
            let names = frames.into_iter().map(|(name, _)| name).collect();
            self.waiting.insert((self.number, seal), names);
            world.publish(partition, batch::batch_message(&id, &sealed)[4..].to_vec());
        }
    }

    /// What waits for its receipt.
    pub fn missing(&self) -> Vec<u64> {
        self.waiting.keys().map(|&(number, _)| number).collect()
    }

    /// A server says something.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn hear(&mut self, message: &[u8]) -> Result<(), String> {
        let answer = Answer::parse(message).map_err(|_| "what bridges are told is no answer")?;
        let Answer::Receipt { id, mut sealed } = answer else { return Err(format!("{answer:?}")) };
        let (nonce, sealed) = sealed.split_at_mut(batch::NONCE_BYTES);
        let opened = self.receipt_key.open_tail(nonce, &id.answer_header(), sealed);
        let receipt = opened.ok().and_then(|bytes| Receipt::parse(bytes).ok());
        let receipt = receipt.ok_or_else(|| format!("the receipt for batch {} does not open", id.number))?;
        let name = (id.number, receipt.batch);
        // Of a batch that was handed out twice there are two.
        if let Some(frames) = self.waiting.remove(&name) {
            self.answered.insert(name, frames);
        }
        let frames = self.answered.get(&name).ok_or_else(|| format!("a receipt for no batch: {name:?}"))?;
        if usize::from(receipt.stored + receipt.duplicate) != frames.len() || !receipt.failed.is_empty() {
            return Err(format!("of {} frames of batch {}: {receipt:?}", frames.len(), id.number));
        }
        self.promised.extend(frames);
        receipt.downlinks.iter().try_for_each(|downlink| self.hear_downlink(downlink))
    }

    fn hear_downlink(&mut self, bytes: &[u8]) -> Result<(), String> {
        let frame = frame::parse(bytes).map_err(|fault| format!("a downlink is none: {fault}"))?;
        let Header { node, epoch, counter, .. } = frame.header;
        let key = node_master(node).traffic_key(node, epoch, SUITE);
        let plaintext = frame::open(&key, &frame).map_err(|fault| format!("a downlink is none: {fault}"))?;
        if !self.downlinks.insert((node, epoch, counter)) {
            return Err(format!("node {node}: downlink counter {counter:#x} of epoch {epoch} is used twice"));
        }
        if plaintext[0] == KIND_CHANGE {
            let next = plaintext[5];
            let told = *self.told.entry((node, epoch)).or_insert(next);
            if told != next {
                return Err(format!(
                    "node {node} is told to go on from epoch {epoch} to {told} and to {next}"
                ));
            }
            let sim = self.nodes.get_mut(&node).expect("it is one of ours");
            if epoch == sim.epoch {
                sim.epoch = next;
            }
        }
        Ok(())
    }

    /// The power of all machines has failed: what they promised is there, and in each log once. Returns how many frames are
    /// in two logs.
    ///
    /// # Errors
    /// What is not so, in words.
    pub fn judge(&self, world: &World) -> Result<usize, String> {
        let (mut stored, mut twice) = (BTreeSet::new(), 0);
        for log in &world.state().logs {
            log.disk.cut_power();
            let verified = verify_disk(&log.disk, store_master()).map_err(|error| error.to_string())?;
            if !(verified.corrupt.is_empty() && verified.missing.is_empty()) {
                return Err(format!("a log is damaged: {verified:?}"));
            }
            if let Some(nonce) = log.disk.nonce_reused() {
                return Err(format!("two records are under one nonce: {nonce:?}"));
            }
            let mut of_log = BTreeSet::new();
            let records = Records::new(log.disk.clone(), store_master(), Filter::default());
            for record in records.map_err(|error| error.to_string())? {
                let record = record.map_err(|error| error.to_string())?;
                let name = (record.node, record.epoch, record.counter);
                if record.waveform != samples(record.node, record.counter) {
                    return Err(format!("{name:?} is another frame"));
                }
                if !of_log.insert(name) {
                    return Err(format!("{name:?} is twice in one log"));
                }
                twice += usize::from(!stored.insert(name));
            }
        }
        let lost: Vec<_> = self.promised.difference(&stored).collect();
        if !lost.is_empty() {
            return Err(format!("{} frames that were promised are lost: {lost:?}", lost.len()));
        }
        Ok(twice)
    }
}
