//! A node under a legacy suite without a tag, beside one with a tag: what of it is stored, how it is marked, and that nothing
//! is sent down to it.

use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;

use cipher::{Aead, CellMaster, Key, NodeMaster, OsRandomness, StoreMaster, Suite};
use collect::batch::{
    Answer, BatchId, Entry, HEADER_BYTES, NONCE_BYTES, Receipt, SealedBatch, entries_to_bytes,
};
use collect::disk::RealDisk;
use collect::error::Fault;
use collect::export::{Catalogue, Export, Format as File, Target, sink};
use collect::frame::{self, Header, Samples};
use collect::keys::{Grid, KeyRing, Node};
use collect::limits::Limits;
use collect::orders::{Order, Reason, Reply, Request};
use collect::record::Record;
use collect::settings::Settings;
use collect::shard::{Arrived, Now, Shard};
use collect::store::{Filter, read};
use collect::waveform::{Format, Kind, Waveform};
use collect::{Action, Collector, Event};

const CELL: u16 = 7;
/// Its suite has no tag.
const LEGACY: u32 = 9;
/// Its suite has one.
const SOUND: u32 = 10;
/// Samples of a frame, and bytes of each: it is many blocks of a cipher.
const SAMPLES: u64 = 400;
const SAMPLE_BYTES: usize = 4;

fn store_master() -> StoreMaster {
    StoreMaster::from(Key::copied_from(&[2; 32]))
}

fn cell_master() -> CellMaster {
    CellMaster::from(Key::copied_from(&[1; 32]))
}

fn master(node: u32) -> NodeMaster {
    NodeMaster::from(Key::filled_by(|key| key.fill(node as u8)))
}

fn suite(node: u32) -> Suite {
    if node == LEGACY { Suite::Aes128Cbc } else { Suite::Aes128Ccm }
}

fn ring() -> Arc<KeyRing> {
    let mut ring = KeyRing::new(store_master());
    ring.add_cell(CELL, &cell_master());
    let samples_per_superframe = NonZeroU32::new(1000).expect("not zero");
    let grid = Grid { superframe_ps: 1_000_000_000_000, samples_per_superframe, uncertainty_ns: u32::MAX };
    for id in [LEGACY, SOUND] {
        let (master, suite, settings) = (master(id), suite(id), Settings::default());
        // Due from the first frame on.
        let epoch_frames = Some(std::num::NonZeroU16::MIN);
        ring.add_node(id, Node { master, suite, epoch_from: 0, epoch_frames, settings, grid });
    }
    ring.take_epochs_by(|_| Ok(Some(1)));
    Arc::new(ring)
}

fn samples(counter: u32) -> Samples {
    let format = Format { kind: Kind::F32, is_big_endian: false };
    let values =
        (0..SAMPLES).flat_map(|sample| ((u64::from(counter) * SAMPLES + sample) as f32).to_le_bytes());
    let waveform = Waveform::new(format, values.collect()).expect("whole samples");
    Samples { first: u64::from(counter) * SAMPLES, channel: 3, waveform }
}

fn node_frame(node: u32, counter: u32) -> Vec<u8> {
    let header = Header { suite: suite(node), node, epoch: 0, counter };
    frame::seal(&master(node).traffic_key(node, 0, suite(node)), &header, &samples(counter).to_bytes())
}

/// The same with one bit of the middle flipped on its way.
fn flipped_frame(node: u32, counter: u32) -> Vec<u8> {
    let mut frame = node_frame(node, counter);
    let middle = frame.len() / 2;
    frame[middle] ^= 0x10;
    frame
}

/// A server, and the gateway that is its only client.
struct Rig {
    shard: Shard,
    collector: Collector<RealDisk, OsRandomness>,
    number: u64,
}

impl Rig {
    fn open(store: &Path, number: u64) -> Rig {
        let disk = RealDisk::lock(store).unwrap();
        let collector = Collector::open(disk, ring(), Limits::default(), OsRandomness).unwrap();
        Rig { shard: Shard::new(ring()), collector, number }
    }

    /// The receipt for a batch of these frames, in a group of its own.
    fn send(&mut self, frames: &[Vec<u8>]) -> Receipt {
        let entry = |frame| Entry { superframe: 1, slot: 2, received_ps: 3, frame };
        let entries: Vec<Entry<'_>> = frames.iter().map(|frame| entry(frame.as_slice())).collect();
        let id = BatchId { cell: CELL, spool: 5, number: self.number };
        let mut nonce = [0; NONCE_BYTES];
        nonce[..8].copy_from_slice(&self.number.to_le_bytes());
        self.number += 1;
        let mut body = [&id.header()[..], &nonce, &entries_to_bytes(&entries)].concat();
        let key = Aead::new(Suite::Aes256Gcm, cell_master().batch_key(CELL).expose());
        key.seal_tail(&nonce, &id.header(), &mut body, HEADER_BYTES + NONCE_BYTES);
        let at = Now { wall_ns: 5, monotonic_ns: 5 };
        let arrived = Arrived { connection: 0, at, batch: Ok(SealedBatch { id, body }) };
        for opened in self.shard.open(vec![arrived]) {
            assert!(self.collector.step(at, Event::Opened(opened)).unwrap().is_empty());
        }
        let actions = self.collector.step(at, Event::Commit).unwrap();
        let [Action::Send { answer: Answer::Receipt { sealed, .. }, .. }] = &actions[..] else {
            panic!("found {actions:?}")
        };
        let key = Aead::new(Suite::Aes256Gcm, cell_master().receipt_key(CELL).expose());
        let mut sealed = sealed.clone();
        let (nonce, sealed) = sealed.split_at_mut(NONCE_BYTES);
        Receipt::parse(key.open_tail(nonce, &id.answer_header(), sealed).unwrap()).unwrap()
    }
}

/// To whom a receipt has something.
fn told(receipt: &Receipt) -> Vec<u32> {
    receipt.downlinks.iter().map(|bytes| frame::parse(bytes).unwrap().header.node).collect()
}

fn stored(store: &Path, node: u32) -> Vec<Record> {
    let filter = Filter { node: Some(node), ..Filter::default() };
    read(store, store_master(), filter).unwrap().map(Result::unwrap).collect()
}

#[test]
fn what_no_tag_vouches_for_is_stored_once_marked_and_answered_with_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let mut rig = Rig::open(&store, 0);
    let receipt = rig.send(&[node_frame(LEGACY, 0), node_frame(SOUND, 0)]);
    assert_eq!((receipt.stored, receipt.duplicate, told(&receipt)), (2, 0, vec![SOUND]));

    // A changed byte is seen of the one, and stored of the other; what comes again is neither.
    let changed = [node_frame(LEGACY, 0), flipped_frame(LEGACY, 1), flipped_frame(SOUND, 1)];
    let receipt = rig.send(&changed);
    assert_eq!((receipt.stored, receipt.duplicate), (1, 1));
    assert_eq!(receipt.failed.into_iter().collect::<Vec<_>>(), [(Fault::Rejected.number(), 1)]);
    // What no block begins and ends as it should be is no content, and a part of a block no frame.
    let mut headless = node_frame(LEGACY, 2);
    headless[6] ^= 0x55; // another count, and so another vector, which makes of a kind byte any
    let cut = node_frame(LEGACY, 3)[..100].to_vec();
    let receipt = rig.send(&[headless, cut]);
    assert_eq!((receipt.stored, receipt.failed.get(&Fault::Layout.number())), (0, Some(&1)));
    assert_eq!(receipt.failed.get(&Fault::Content.number()), Some(&1));

    let stats = rig.collector.stats();
    assert_eq!((stats.frames_stored, stats.frames_unauthenticated), (3, 2));
    assert_eq!((stats.downlinks, stats.changes_told, stats.downlinks_exhausted), (1, 1, 0), "one was told");
    let order = Request::Tell { orders: vec![(LEGACY, Order::ChangeEpoch)], leaves_out: false };
    let reply = rig.collector.ask(Now::default(), &order).unwrap();
    assert_eq!(reply, Reply::Refused(Reason::NeverTold(LEGACY)));
    let seen = rig.collector.snapshot(Now::default(), &Default::default());
    let marks: Vec<_> = seen.nodes.iter().map(|node| (node.node, node.is_authenticated)).collect();
    assert_eq!(marks, [(LEGACY, false), (SOUND, true)]);
    drop(rig);

    // The set of stored counters is its, too, over a restart.
    let receipt = Rig::open(&store, 9).send(&[node_frame(LEGACY, 1), node_frame(LEGACY, 7)]);
    assert_eq!((receipt.stored, receipt.duplicate, receipt.downlinks.len()), (1, 1, 0));

    let records = stored(&store, LEGACY);
    assert_eq!(records.iter().map(|record| record.counter).collect::<Vec<_>>(), [0, 1, 7]);
    assert!(records.iter().all(|record| !record.suite.row().is_authenticated()));
    assert!(stored(&store, SOUND).iter().all(|record| record.suite.row().is_authenticated()));
    let differ = |record: &Record| {
        let (found, sent) = (record.waveform.bytes(), samples(record.counter).waveform);
        found.chunks(SAMPLE_BYTES).zip(sent.bytes().chunks(SAMPLE_BYTES)).filter(|(a, b)| a != b).count()
    };
    assert_eq!(differ(&records[0]), 0);
    // A block of noise, and the flip in the one behind it.
    assert!((2..=6).contains(&differ(&records[1])), "{}", differ(&records[1]));
}

#[test]
fn an_export_marks_the_channel_of_what_no_tag_vouches_for() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let mut rig = Rig::open(&store, 0);
    rig.send(&[node_frame(LEGACY, 0), node_frame(SOUND, 0)]);
    drop(rig);
    for format in File::all() {
        let path = folder.path().join(format.name());
        let mut export = Export::new(folder.path());
        let records = [LEGACY, SOUND].into_iter().flat_map(|node| stored(&store, node));
        records.for_each(|record| export.push(record).unwrap());
        let writer = Box::new(std::fs::File::create(&path).unwrap());
        let to = sink(format, Target::File(&path, writer)).unwrap().expect("a file will do");
        let written = export.finish(&Catalogue::default(), to, |_| ()).unwrap();
        assert_eq!((written.channels, written.samples), (2, 2 * SAMPLES));
        let bytes = std::fs::read(&path).unwrap();
        let has = |name: &str| bytes.windows(name.len()).any(|part| part == name.as_bytes());
        assert!(has("7/9/3/f32/unauthenticated") || format == File::Hdf5, "{}", format.name());
        assert!(has("unauthenticated") && !has("7/10/3/f32/unauthenticated"), "{}", format.name());
    }
}
