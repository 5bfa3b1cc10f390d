//! Where the time goes: the stages of a window of batches, one after the other on one core, each timed by itself, and then
//! all that a shard and the collector do with it. The least of what a stage took counts: whatever else runs here only ever
//! makes it longer.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Instant;

use cipher::nonces::node_nonce;
use cipher::{Key, OsRandomness, StoreMaster, Suite};
use collect::aes::{self, Backend, ccm};
use collect::ascon;
use collect::batch::{HEADER_BYTES, NONCE_BYTES, entries_from_bytes};
use collect::disk::{Disk, RealDisk};
use collect::keys::StoreKeys;
use collect::limits::{FRAME_HEADER_BYTES, LIVE_NODES_MAX, Limits};
use collect::load::{Load, NODES, Plant};
use collect::segment::{Before, Header, Segment};
use collect::shard::{Arrived, Frames, Now, Shard};
use collect::{Collector, Event};

use crate::SEED;

/// Windows, of which the best of each stage counts.
const WINDOWS: usize = 60;
/// Bytes of a window's batches: the shards take no less at a time.
const WINDOW_BYTES: usize = 32 << 10;

/// A stage and its time in nanoseconds.
type Stage = (&'static str, f64);

/// Prints nanoseconds of a frame by stage.
pub fn print(load: Load, folder: &Path) {
    let mut plant = Plant::new(load, 0..NODES, SEED);
    let batches = WINDOW_BYTES.div_ceil(load.frame_bytes * load.frames_per_batch);
    let frames = (batches * load.frames_per_batch) as f64;
    let mut shard = Shard::new(plant.ring());
    let disk = RealDisk::lock(&folder.join("collector")).expect("memory can be written");
    let collector = Collector::open(disk, plant.ring(), Limits::default(), OsRandomness);
    let mut collector = collector.expect("an empty folder is a store");
    let mut log = Log::new(&folder.join("log"));
    let mut best: Vec<Stage> = Vec::new();
    for _ in 0..WINDOWS {
        let arrived = plant.seal(batches);
        let mut stages = opening(&plant, &arrived);
        let (opened, open) = timed(|| shard.open(arrived));
        let authentic = opened.iter().map(|opened| opened.frames.as_ref().expect("authentic"));
        stages.extend(log.write(&authentic.collect::<Vec<_>>()));
        let (_, collect) = timed(|| {
            for opened in opened {
                collector.step(Now::default(), Event::Opened(opened)).expect("the log can be written");
            }
            collector.step(Now::default(), Event::Commit).expect("the log can be written")
        });
        stages.extend([("all of a shard", open), ("all of the collector", collect)]);
        if best.is_empty() {
            best.clone_from(&stages);
        }
        best.iter_mut().zip(stages).for_each(|(best, stage)| best.1 = best.1.min(stage.1));
    }
    println!("\n{}, {} B: nanoseconds of a frame on one core, by stage", load.suite, load.frame_bytes);
    for (name, time_ns) in &best {
        println!("  {name:40} {:8.1}", time_ns / frames);
    }
    let look_us = look(&mut plant, &mut shard, &mut collector, batches) / 1e3;
    println!("  a snapshot of all {NODES} nodes, {} of them drawn: {look_us:.1} us", LIVE_NODES_MAX);
    // Memory that is left behind is seen.
    let _ = (fs::remove_dir_all(folder.join("collector")), fs::remove_dir_all(folder.join("log")));
}

/// What a snapshot for people takes of the thread that commits, in nanoseconds, when batches have passed all stages in many
/// times, and samples of as many nodes are drawn as may be.
fn look(
    plant: &mut Plant,
    shard: &mut Shard,
    collector: &mut Collector<RealDisk, OsRandomness>,
    batches: usize,
) -> f64 {
    let watched: BTreeSet<u32> = (0..LIVE_NODES_MAX as u32).collect();
    let mut best = f64::INFINITY;
    for window in 1..=WINDOWS as u64 {
        for opened in shard.open(plant.seal(batches)) {
            collector.step(Now::default(), Event::Opened(opened)).expect("the log can be written");
        }
        let actions = collector.step(Now::default(), Event::Commit).expect("the log can be written");
        // From a tenth of a millisecond to what a slow disk takes.
        collector.measure(window * 50_000, window * 150_000, window * 170_000, &actions);
        best = best.min(timed(|| collector.snapshot(Now::default(), &watched)).1);
    }
    best
}

/// The ciphers of opening.
fn opening(plant: &Plant, arrived: &[Arrived]) -> Vec<Stage> {
    let batches: Vec<_> = arrived.iter().map(|arrived| arrived.batch.as_ref().expect("a batch")).collect();
    let mut bodies: Vec<Vec<u8>> = batches.iter().map(|batch| batch.body.clone()).collect();
    let (plaintexts, gcm) = timed(|| {
        let open = |body: &'_ mut Vec<u8>| {
            let (header, sealed) = body.split_at_mut(HEADER_BYTES);
            let (nonce, sealed) = sealed.split_at_mut(NONCE_BYTES);
            plant.batch_key().open_tail(nonce, header, sealed).expect("authentic").to_vec()
        };
        bodies.iter_mut().map(open).collect::<Vec<_>>()
    });
    let entries = plaintexts.iter().flat_map(|plaintext| entries_from_bytes(plaintext).expect("a list"));
    let mut frames: Vec<Vec<u8>> = entries.map(|entry| entry.frame.to_vec()).collect();
    vec![("the batch, AES-256-GCM", gcm), ("the frames, many at once", time_frames(plant, &mut frames))]
}

fn time_frames(plant: &Plant, frames: &mut [Vec<u8>]) -> f64 {
    let four =
        |frame: &[u8], at: usize| u32::from_le_bytes(frame[at..at + 4].try_into().expect("four bytes"));
    let keys: Vec<_> = frames.iter().map(|frame| plant.key(four(frame, 1))).collect();
    let nonce = |(frame, key): (&Vec<u8>, &&cipher::TrafficKey)| {
        node_nonce(key.iv().expose(), four(frame, 1), frame[5], four(frame, 6))
    };
    let nonces: Vec<[u8; 16]> = frames.iter().zip(&keys).map(nonce).collect();
    let backend = Backend::best();
    let ccm_keys: Vec<_> = keys.iter().map(|key| aes::Key::new(backend, key.key().expose())).collect();
    let row = plant.load().suite.row();
    let (mut by_ascon, mut by_ccm) = (Vec::new(), Vec::new());
    for (index, frame) in frames.iter_mut().enumerate() {
        let (header, sealed) = frame.split_at_mut(FRAME_HEADER_BYTES);
        let (data, found) = sealed.split_at_mut(sealed.len() - row.tag_bytes);
        let mut tag = [0; 16];
        tag[..row.tag_bytes].copy_from_slice(found);
        if plant.load().suite == Suite::AsconAead128 {
            let key = keys[index].key().expose();
            by_ascon.push(ascon::Message { key, nonce: nonces[index], aad: header, data, tag });
        } else {
            let (key, nonce, tag_bytes) =
                (&ccm_keys[index], &nonces[index][..row.nonce_bytes], row.tag_bytes);
            by_ccm.push(ccm::Message { key, nonce, associated_data: header, data, tag, tag_bytes });
        }
    }
    let (is_right, time_ns) = timed(|| {
        let by_ascon = ascon::open(&mut by_ascon).into_iter().all(|is_right| is_right);
        let by_ccm = ccm::open(backend, &mut by_ccm).iter().all(Result::is_ok);
        by_ascon && by_ccm
    });
    assert!(is_right, "a frame is not authentic");
    time_ns
}

/// A segment that is sealed and written outside of any store.
struct Log {
    disk: RealDisk,
    file: <RealDisk as Disk>::File,
    segment: Segment,
    next_index: u64,
    group: Vec<u8>,
}

impl Log {
    fn new(folder: &Path) -> Log {
        let mut disk = RealDisk::lock(folder).expect("memory can be written");
        let file = disk.create("log").expect("memory can be written");
        let keys = StoreKeys::from(StoreMaster::from(Key::copied_from(&[2; 32])));
        let (sector_bytes, before) = (Limits::default().sector_bytes, Before::default());
        let header = Header {
            sector_bytes,
            key: 0,
            id: [1; 32],
            store: [2; 16],
            number: 0,
            oldest: 0,
            before,
            made_ns: 0,
        };
        let segment = Segment::new(header, &keys);
        Log { disk, file, segment, next_index: 0, group: Vec::new() }
    }

    fn write(&mut self, frames: &[&Frames]) -> Vec<Stage> {
        let authentic = |frames: &&'_ Frames| frames.outcomes.len();
        let count: usize = frames.iter().map(authentic).sum();
        let mut bodies: Vec<&[u8]> = Vec::with_capacity(count);
        for frames in frames {
            let records =
                frames.outcomes.iter().map(|outcome| outcome.as_ref().expect("authentic").record.clone());
            bodies.extend(records.map(|record| &frames.records[record]));
        }
        self.group.clear();
        let chain = self.segment.chain();
        let (_, seal) = timed(|| self.segment.seal_group(self.next_index, &bodies, &chain, &mut self.group));
        self.next_index += count as u64;
        let (_, append) =
            timed(|| self.disk.append(&mut self.file, &self.group).expect("memory can be written"));
        let (_, sync) = timed(|| self.disk.sync(&mut self.file).expect("memory can be synced"));
        vec![("the log's records, AES-256-GCM and CRC", seal), ("append", append), ("sync", sync)]
    }
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let begin = Instant::now();
    let done = work();
    (done, begin.elapsed().as_nanos() as f64)
}
