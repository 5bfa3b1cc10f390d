//! Frames that are opened together on several shards, against each of them opened alone by the library's ciphers.
//!
//! Everything random comes from a printed seed. `SELVEDGE_SOAK=1` takes many more mixes.

mod alone;
#[path = "../../cipher/tests/seeded/mod.rs"]
mod seeded;
#[path = "../../cipher/tests/soak/mod.rs"]
mod soak;

use std::collections::{HashMap, HashSet};
use std::num::NonZeroU32;
use std::sync::Arc;

use alone::Alone;
use cipher::{Aead, CellMaster, Key, NodeMaster, StoreMaster, Suite};
use collect::batch::{BatchId, Entry, HEADER_BYTES, NONCE_BYTES, SealedBatch, entries_to_bytes};
use collect::error::{Fault, Refusal};
use collect::frame::{self, Header, KIND_WAVEFORM};
use collect::keys::{Grid, KeyRing, Node};
use collect::limits::{BATCH_PLAINTEXT_BYTES_MAX, FRAME_BYTES_MAX};
use collect::settings::Settings;
use collect::shard::{Arrived, Now, Opened, Shard, Shards};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::Rng;
use seeded::{random_bytes, seeded};

const CELL: u16 = 7;
const NODES: u32 = 24;
/// Frames of lower epochs are refused.
const EPOCH_FROM: u16 = 2;

fn master(node: u32) -> NodeMaster {
    NodeMaster::from(Key::filled_by(|key| key[..4].copy_from_slice(&node.to_le_bytes())))
}

fn cell_master() -> CellMaster {
    CellMaster::from(Key::copied_from(&[1; 32]))
}

fn suite(node: u32) -> Suite {
    match node % 6 {
        0 | 2 | 4 => Suite::AsconAead128,
        5 => Suite::Aes128Cbc,
        _ => Suite::Aes128Ccm,
    }
}

fn nodes() -> HashMap<u32, Node> {
    let samples_per_superframe = NonZeroU32::new(3).expect("not zero");
    let grid = Grid { superframe_ps: 10, samples_per_superframe, uncertainty_ns: 5 };
    let node = |id| {
        let (master, suite, settings) = (master(id), suite(id), Settings::default());
        (id, Node { master, suite, epoch_from: EPOCH_FROM, epoch_frames: None, settings, grid })
    };
    (0..NODES).map(node).collect()
}

fn ring() -> Arc<KeyRing> {
    let mut ring = KeyRing::new(StoreMaster::from(Key::copied_from(&[2; 32])));
    ring.add_cell(CELL, &cell_master());
    nodes().into_iter().for_each(|(id, node)| ring.add_node(id, node));
    Arc::new(ring)
}

fn below(rng: &mut ChaCha20Rng, limit: usize) -> usize {
    rng.next_u32() as usize % limit
}

/// Of every length; of some nodes nobody knows, of epochs too low, with wrong tags, suites, headers and contents.
fn frame(rng: &mut ChaCha20Rng) -> Vec<u8> {
    let node = below(rng, NODES as usize + 1) as u32;
    let suite = if below(rng, 20) == 0 { suite(node + 1) } else { suite(node) };
    let epoch = (EPOCH_FROM as u8 - 1) + below(rng, 4) as u8;
    let header = Header { suite, node, epoch, counter: rng.next_u32() >> usize::from(below(rng, 20) > 0) };
    let longest = if below(rng, 3) == 0 { FRAME_BYTES_MAX - 26 } else { 300 };
    let length = below(rng, longest + 1);
    let mut plaintext = random_bytes(rng, length);
    if let Some(kind) = plaintext.first_mut().filter(|_| below(rng, 10) > 0) {
        *kind = KIND_WAVEFORM;
        // A format of whole samples, when they are.
        plaintext.get_mut(9).into_iter().for_each(|format| *format %= 5);
    }
    let mut frame = frame::seal(&master(node).traffic_key(node, epoch, suite), &header, &plaintext);
    let place = below(rng, frame.len());
    match below(rng, 8) {
        0 => frame[place] ^= 1 << below(rng, 8),
        1 => frame.truncate(place),
        _ => {}
    }
    frame
}

fn arrived(rng: &mut ChaCha20Rng, number: u64) -> Arrived {
    let (mut frames, mut bytes) = (Vec::new(), 0);
    for _ in 0..below(rng, 70) {
        let frame = frame(rng);
        bytes += frame.len() + 15;
        if bytes + 2 <= BATCH_PLAINTEXT_BYTES_MAX {
            frames.push(frame);
        }
    }
    let entry = |frame| Entry { superframe: 1, slot: 2, received_ps: 3, frame };
    let entries: Vec<Entry<'_>> = frames.iter().map(|frame| entry(frame.as_slice())).collect();
    let id = BatchId { cell: CELL + u16::from(below(rng, 15) == 0), spool: 9, number };
    let mut plaintext = entries_to_bytes(&entries);
    plaintext.truncate(plaintext.len() - usize::from(below(rng, 15) == 0));
    let nonce = random_bytes(rng, NONCE_BYTES);
    let mut body = [&id.header()[..], &nonce, &plaintext].concat();
    let key = Aead::new(Suite::Aes256Gcm, cell_master().batch_key(CELL).expose());
    key.seal_tail(&nonce, &id.header(), &mut body, HEADER_BYTES + NONCE_BYTES);
    if below(rng, 15) == 0 {
        let place = below(rng, body.len());
        body[place] ^= 1;
    }
    let batch = if below(rng, 15) == 0 { Err((Refusal::Order, id)) } else { Ok(SealedBatch { id, body }) };
    Arrived { connection: number % 3, at: Now { wall_ns: number, monotonic_ns: 0 }, batch }
}

#[test]
fn frames_opened_together_are_those_opened_alone() {
    let mut rng = seeded();
    let mut alone = Alone::new(nodes(), CELL, &cell_master());
    let mut shard = Shard::new(ring());
    let mut several: Vec<Shards> =
        [1, 2, 3].map(|count| Shards::start(&ring(), count).expect("threads can be started")).into();
    let (mut faults, mut refusals, mut authentic) = (HashSet::new(), HashSet::new(), 0);
    for _ in 0..if soak::is_soak() { 300 } else { 6 } {
        let group: Vec<Arrived> = (0..40).map(|number| arrived(&mut rng, number)).collect();
        let expected: Vec<Opened> = group.iter().cloned().map(|arrived| alone.open(arrived)).collect();
        assert_eq!(shard.open(group.clone()), expected);
        for shards in &mut several {
            assert_eq!(shards.open(group.clone()), expected);
        }
        for opened in expected {
            match opened.frames {
                Err(refusal) => refusals.extend([refusal.name()]),
                Ok(frames) => frames.outcomes.into_iter().for_each(|outcome| match outcome {
                    Err(fault) => faults.extend([fault.name()]),
                    Ok(_) => authentic += 1,
                }),
            }
        }
    }
    // All that opening can find, so that the mix is one.
    let every = [
        Fault::Layout,
        Fault::Suite,
        Fault::Direction,
        Fault::Node,
        Fault::Epoch,
        Fault::Rejected,
        Fault::Content,
    ];
    assert_eq!(faults, HashSet::from(every.map(Fault::name)));
    let every = [Refusal::Order, Refusal::Cell, Refusal::Rejected, Refusal::Layout];
    assert_eq!(refusals, HashSet::from(every.map(Refusal::name)));
    assert!(authentic > 100, "{authentic} authentic frames");
}
