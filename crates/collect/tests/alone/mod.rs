//! The witness of the shards: opens each frame alone, by the library's ciphers, and makes its record from its parts.

use std::collections::HashMap;

use cipher::{Aead, CellMaster, Suite, TrafficKey};
use collect::batch::{Entry, HEADER_BYTES, NONCE_BYTES, SealedBatch, entries_from_bytes};
use collect::error::{Fault, Refusal};
use collect::frame::{self, Samples};
use collect::keys::Node;
use collect::record::{Body, Record};
use collect::shard::{Arrived, Authentic, Frames, Opened, Opening};
use collect::waveform::Format;

pub struct Alone {
    nodes: HashMap<u32, Node>,
    cell: u16,
    batch_key: Aead,
    /// Keys that have opened a frame.
    traffic: HashMap<(u32, u8), TrafficKey>,
}

impl Alone {
    /// For the batches of one cell.
    pub fn new(nodes: HashMap<u32, Node>, cell: u16, master: &CellMaster) -> Alone {
        let batch_key = Aead::new(Suite::Aes256Gcm, master.batch_key(cell).expose());
        Alone { nodes, cell, batch_key, traffic: HashMap::new() }
    }

    pub fn open(&mut self, arrived: Arrived) -> Opened {
        let Arrived { connection, at, batch } = arrived;
        let (id, frames) = match batch {
            Err((refusal, id)) => (id, Err(refusal)),
            Ok(batch) => (batch.id, self.open_batch(&batch, at.wall_ns)),
        };
        Opened { connection, at, opening: Opening::default(), id, frames }
    }

    fn open_batch(&mut self, batch: &SealedBatch, arrived_ns: u64) -> Result<Frames, Refusal> {
        if batch.id.cell != self.cell {
            return Err(Refusal::Cell);
        }
        let (header, sealed) = batch.body.split_at(HEADER_BYTES);
        let (nonce, sealed) = sealed.split_at(NONCE_BYTES);
        let mut plaintext = sealed.to_vec();
        let opened = self.batch_key.open_tail(nonce, header, &mut plaintext);
        let plaintext = opened.map_err(|_| Refusal::Rejected)?;
        let mut records = Vec::new();
        let entries = entries_from_bytes(plaintext).map_err(|_| Refusal::Layout)?;
        let open = |entry: &Entry<'_>| {
            let record = self.open_frame(entry, batch, arrived_ns)?;
            let Record { node, epoch, counter, first, channel, stride, .. } = record;
            let from = records.len();
            records.extend_from_slice(&Body::Frame(record).to_bytes());
            Ok(Authentic { node, epoch, counter, first, channel, stride, record: from..records.len() })
        };
        let outcomes = entries.iter().map(open).collect();
        let (seal, bytes) = (batch.seal().expect("it was opened"), plaintext.len());
        Ok(Frames { seal, bytes, outcomes, records: records.into() })
    }

    fn open_frame(
        &mut self,
        entry: &Entry<'_>,
        batch: &SealedBatch,
        arrived_ns: u64,
    ) -> Result<Record, Fault> {
        let frame = frame::parse(entry.frame)?;
        let header = frame.header;
        if header.is_downlink() {
            return Err(Fault::Direction);
        }
        let node = self.nodes.get(&header.node).ok_or(Fault::Node)?;
        if header.suite != node.suite {
            return Err(Fault::Suite);
        }
        if u16::from(header.epoch) < node.epoch_from {
            return Err(Fault::Epoch);
        }
        let named = (header.node, header.epoch);
        let plaintext = match self.traffic.get(&named) {
            Some(key) => frame::open(key, &frame)?,
            None => {
                let key = node.master.traffic_key(header.node, header.epoch, node.suite);
                let plaintext = frame::open(&key, &frame)?;
                self.traffic.insert(named, key);
                plaintext
            }
        };
        let Samples { first, channel, waveform } = Samples::parse(&plaintext)?;
        let stride = match waveform.format() {
            Format::CODES => node.grid.stride(first, waveform.len()),
            _ => 1,
        };
        Ok(Record {
            node: header.node,
            epoch: header.epoch,
            counter: header.counter,
            suite: header.suite,
            batch: batch.id,
            superframe: entry.superframe,
            slot: entry.slot,
            received_ps: entry.received_ps,
            arrived_ns,
            first,
            sample_ps: node.grid.instant_ps(first),
            uncertainty_ns: node.grid.uncertainty_ns,
            channel,
            stride,
            waveform,
        })
    }
}
