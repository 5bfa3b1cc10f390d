//! Opens batches and frames on every core.
//!
//! A group of batches is opened in two steps: each batch by any shard, then each frame by the shard that owns
//! its node. A node belongs to one shard, so its traffic keys are derived and kept once, and no lock is
//! taken. Opening decides nothing but authenticity: it depends on the keys and the bytes alone, so the number
//! of shards changes no result. Duplicates are found later, in order, by the collector.
//!
//! Invariant: a frame that failed its tag leaves nothing but a [`Fault`].

use std::collections::HashMap;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use cipher::TrafficKey;
use zeroize::Zeroizing;

use crate::batch::{self, BatchId, Entry, HEADER_BYTES, NONCE_BYTES, SealedBatch};
use crate::error::{Error, Fault, Refusal};
use crate::frame::{self, Samples};
use crate::keys::KeyRing;
use crate::record::Record;

/// The two clocks of a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Nanoseconds since 1970; may jump.
    pub wall_ns: u64,
    /// Nanoseconds since some start; never goes back.
    pub monotonic_ns: u64,
}

/// A batch that arrived on a connection, or what to answer in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// Where the answer goes.
    pub connection: u64,
    /// When it arrived.
    pub at: Now,
    /// The batch, or the refusal that takes its turn among the answers.
    pub batch: Result<SealedBatch, (Refusal, BatchId)>,
}

/// A batch after opening.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Where the answer goes.
    pub connection: u64,
    /// When it arrived.
    pub at: Now,
    /// Which batch.
    pub id: BatchId,
    /// Its frames, or why none was looked at.
    pub frames: Result<Frames, Refusal>,
}

/// The frames of an authentic batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frames {
    /// SHA-256 of the batch as it was received.
    pub batch_sha256: [u8; 32],
    /// Bytes of the batch's plaintext.
    pub bytes: usize,
    /// One outcome for each frame, in order.
    pub outcomes: Vec<Result<Record, Fault>>,
}

/// A batch whose tag was right.
struct OpenedBatch {
    arrived: Now,
    id: BatchId,
    batch_sha256: [u8; 32],
    plaintext: Zeroizing<Vec<u8>>,
    /// Number of frames in `plaintext`, which is a list of them.
    frames: usize,
}

/// Opens a batch itself; its frames stay sealed.
fn open_batch(keys: &KeyRing, arrived: &Arrived) -> Result<OpenedBatch, Refusal> {
    let batch = arrived.batch.as_ref().map_err(|&(refusal, _)| refusal)?;
    let cell = keys.cell(batch.id.cell).ok_or(Refusal::Cell)?;
    let (header, sealed) = batch.body.split_at_checked(HEADER_BYTES).ok_or(Refusal::Malformed)?;
    let (nonce, sealed) = sealed.split_at_checked(NONCE_BYTES).ok_or(Refusal::Malformed)?;
    let mut plaintext = Zeroizing::new(sealed.to_vec());
    let opened = cell.batch.open_tail(nonce, header, &mut plaintext);
    let plaintext_bytes = opened.map_err(|_| Refusal::Rejected)?.len();
    plaintext.truncate(plaintext_bytes);
    let frames = batch::entries_from_bytes(&plaintext).map_err(|_| Refusal::Layout)?.len();
    Ok(OpenedBatch { arrived: arrived.at, id: batch.id, batch_sha256: batch.sha256(), plaintext, frames })
}

/// The nodes of one thread.
#[derive(Debug)]
pub struct Shard {
    keys: Arc<KeyRing>,
    index: usize,
    shards: usize,
    /// Keys that have opened a frame. A forged epoch never enters, so this is no larger than what nodes use.
    traffic: HashMap<(u32, u8), TrafficKey>,
}

/// A frame's place in a group (batch, frame), and its outcome.
type Placed = (usize, usize, Result<Record, Fault>);

impl Shard {
    /// Shard `index` of `shards`.
    pub fn new(keys: Arc<KeyRing>, index: usize, shards: usize) -> Shard {
        assert!(index < shards, "shard {index} of {shards}");
        Shard { keys, index, shards, traffic: HashMap::new() }
    }

    /// True when this shard opens the frames of `node`. A frame too short to name one counts as node 0's.
    fn owns(&self, frame: &[u8]) -> bool {
        let node = frame.get(1..5).map_or(0, |node| u32::from_le_bytes(node.try_into().expect("four bytes")));
        // Spread by Fibonacci hashing: node ids come in rows and multiples.
        let spread = (u64::from(node).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize;
        spread % self.shards == self.index
    }

    /// Opens this shard's frames of a group of batches.
    fn open_frames(&mut self, group: &[Option<OpenedBatch>]) -> Vec<Placed> {
        let mut placed = Vec::new();
        for (place, batch) in group.iter().enumerate() {
            let Some(batch) = batch else { continue };
            let entries = batch::entries_from_bytes(&batch.plaintext).expect("it was read before");
            for (index, entry) in entries.iter().enumerate() {
                if self.owns(entry.frame) {
                    placed.push((place, index, self.open_frame(entry, batch)));
                }
            }
        }
        placed
    }

    fn open_frame(&mut self, entry: &Entry<'_>, batch: &OpenedBatch) -> Result<Record, Fault> {
        let frame = frame::parse(entry.frame)?;
        let header = frame.header;
        if header.is_downlink() {
            return Err(Fault::Direction);
        }
        let node = self.keys.node(header.node).ok_or(Fault::Node)?;
        if header.suite != node.suite {
            return Err(Fault::Suite);
        }
        if u16::from(header.epoch) < node.epoch_from {
            return Err(Fault::Epoch);
        }
        let plaintext = match self.traffic.get(&(header.node, header.epoch)) {
            Some(key) => frame::open(key, &frame)?,
            None => {
                let key = node.master.traffic_key(header.node, header.epoch, node.suite);
                let plaintext = frame::open(&key, &frame)?;
                self.traffic.insert((header.node, header.epoch), key);
                plaintext
            }
        };
        let Samples { first, channel, waveform } = Samples::parse(&plaintext)?;
        Ok(Record {
            node: header.node,
            epoch: header.epoch,
            counter: header.counter,
            suite: header.suite,
            batch: batch.id,
            superframe: entry.superframe,
            slot: entry.slot,
            received_ps: entry.received_ps,
            arrived_ns: batch.arrived.wall_ns,
            first,
            sample_ps: node.grid.instant_ps(first),
            uncertainty_ns: node.grid.uncertainty_ns,
            channel,
            waveform,
        })
    }
}

/// Puts the frames of all shards back in their places.
fn assemble(
    arrived: Vec<(u64, Now, BatchId)>,
    group: &[Option<OpenedBatch>],
    refusals: Vec<Option<Refusal>>,
    placed: impl IntoIterator<Item = Placed>,
) -> Vec<Opened> {
    let slots = |batch: &Option<OpenedBatch>| vec![None; batch.as_ref().map_or(0, |batch| batch.frames)];
    let mut outcomes: Vec<Vec<Option<Result<Record, Fault>>>> = group.iter().map(slots).collect();
    for (batch, frame, outcome) in placed {
        let before = outcomes[batch][frame].replace(outcome);
        assert!(before.is_none(), "two shards own one node");
    }
    let parts = arrived.into_iter().zip(group).zip(refusals).zip(outcomes);
    parts
        .map(|((((connection, at, id), batch), refusal), outcomes)| {
            let frames = match (batch, refusal) {
                (Some(batch), None) => Ok(Frames {
                    batch_sha256: batch.batch_sha256,
                    bytes: batch.plaintext.len(),
                    outcomes: outcomes.into_iter().map(|outcome| outcome.expect("a shard owns it")).collect(),
                }),
                (None, Some(refusal)) => Err(refusal),
                _ => unreachable!("a batch is opened or refused"),
            };
            Opened { connection, at, id, frames }
        })
        .collect()
}

/// Which batch this is, opened or not.
fn ticket(arrived: &Arrived) -> (u64, Now, BatchId) {
    let id = match &arrived.batch {
        Ok(batch) => batch.id,
        Err((_, id)) => *id,
    };
    (arrived.connection, arrived.at, id)
}

fn split(opened: Vec<Result<OpenedBatch, Refusal>>) -> (Vec<Option<OpenedBatch>>, Vec<Option<Refusal>>) {
    opened
        .into_iter()
        .map(|batch| match batch {
            Ok(batch) => (Some(batch), None),
            Err(refusal) => (None, Some(refusal)),
        })
        .unzip()
}

/// Opens a group on the calling thread; for simulations, and as the witness of [`Shards::open`].
pub fn open_here(shard: &mut Shard, arrived: Vec<Arrived>) -> Vec<Opened> {
    assert_eq!(shard.shards, 1, "one shard owns all nodes here");
    let opened = arrived.iter().map(|arrived| open_batch(&shard.keys, arrived)).collect();
    let (group, refusals) = split(opened);
    let placed = shard.open_frames(&group);
    assemble(arrived.iter().map(ticket).collect(), &group, refusals, placed)
}

/// What a shard is asked to do.
enum Job {
    Batches(Arc<Vec<Arrived>>),
    Frames(Arc<Vec<Option<OpenedBatch>>>),
}

/// What a shard answers.
enum Done {
    /// Batches by their place in the group.
    Batches(Vec<(usize, Result<OpenedBatch, Refusal>)>),
    Frames(Vec<Placed>),
}

/// A shard on each of some threads.
#[derive(Debug)]
pub struct Shards {
    /// Each shard has its own channels, so that one that died is seen and not waited for.
    channels: Vec<(Sender<Job>, Receiver<Done>)>,
    threads: Vec<JoinHandle<()>>,
}

impl Shards {
    /// Starts `count` threads; 0 = one for each core.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn start(keys: &Arc<KeyRing>, count: usize) -> Result<Shards, Error> {
        let cores = || thread::available_parallelism().map_err(Error::io("count", "cores"));
        let count = if count == 0 { cores()?.get() } else { count };
        let mut shards = Shards { channels: Vec::new(), threads: Vec::new() };
        for index in 0..count {
            let ((jobs, asked), (answers, done)) = (channel(), channel());
            let shard = Shard::new(keys.clone(), index, count);
            let thread = thread::Builder::new().name(format!("shard {index}"));
            let thread = thread.spawn(move || serve_jobs(shard, &asked, &answers));
            shards.channels.push((jobs, done));
            shards.threads.push(thread.map_err(Error::io("start", "shard thread"))?);
        }
        Ok(shards)
    }

    /// Opens a group of batches on all shards. The result is in order.
    ///
    /// # Panics
    /// When a shard panicked, with its panic.
    pub fn open(&mut self, arrived: Vec<Arrived>) -> Vec<Opened> {
        self.try_open(arrived).unwrap_or_else(|| self.resume_panic())
    }

    /// `None` when a shard is gone.
    fn try_open(&self, arrived: Vec<Arrived>) -> Option<Vec<Opened>> {
        let arrived = Arc::new(arrived);
        let mut opened: Vec<Option<_>> = arrived.iter().map(|_| None).collect();
        for (jobs, _) in &self.channels {
            jobs.send(Job::Batches(arrived.clone())).ok()?;
        }
        for (_, done) in &self.channels {
            let Ok(Done::Batches(batches)) = done.recv() else { return None };
            batches.into_iter().for_each(|(place, batch)| opened[place] = Some(batch));
        }
        let (group, refusals) = split(opened.into_iter().map(|batch| batch.expect("opened")).collect());
        let group = Arc::new(group);
        for (jobs, _) in &self.channels {
            jobs.send(Job::Frames(group.clone())).ok()?;
        }
        let mut placed = Vec::new();
        for (_, done) in &self.channels {
            let Ok(Done::Frames(frames)) = done.recv() else { return None };
            placed.extend(frames);
        }
        Some(assemble(arrived.iter().map(ticket).collect(), &group, refusals, placed))
    }

    fn resume_panic(&mut self) -> ! {
        self.channels.clear();
        for thread in self.threads.drain(..) {
            if let Err(panic) = thread.join() {
                resume_unwind(panic);
            }
        }
        unreachable!("a shard ends only by a panic");
    }
}

impl Drop for Shards {
    fn drop(&mut self) {
        self.channels.clear();
        for thread in self.threads.drain(..) {
            // A panic was passed on by `open`.
            let _ = thread.join();
        }
    }
}

fn serve_jobs(mut shard: Shard, asked: &Receiver<Job>, answers: &Sender<Done>) {
    while let Ok(job) = asked.recv() {
        let done = match job {
            Job::Batches(arrived) => {
                let own = arrived.iter().enumerate().skip(shard.index).step_by(shard.shards);
                Done::Batches(own.map(|(place, arrived)| (place, open_batch(&shard.keys, arrived))).collect())
            }
            Job::Frames(group) => Done::Frames(shard.open_frames(&group)),
        };
        if answers.send(done).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Header;
    use crate::keys::{Grid, Node};
    use crate::settings::Settings;
    use crate::waveform::Waveform;
    use cipher::{CellMaster, Key, NodeMaster, StoreMaster, Suite};
    use std::num::NonZeroU32;

    const CELL: u16 = 7;

    fn master(node: u32) -> NodeMaster {
        NodeMaster::from(Key::filled_by(|key| key[..4].copy_from_slice(&node.to_le_bytes())))
    }

    fn cell_master() -> CellMaster {
        CellMaster::from(Key::copied_from(&[1; 32]))
    }

    fn ring() -> Arc<KeyRing> {
        let mut keys = KeyRing::new(StoreMaster::from(Key::copied_from(&[2; 32])));
        keys.add_cell(CELL, &cell_master());
        let grid =
            Grid { superframe_ps: 8, samples_per_superframe: NonZeroU32::new(2).unwrap(), uncertainty_ns: 5 };
        for node in 0..20 {
            let suite = if node % 2 == 0 { Suite::AsconAead128 } else { Suite::Aes128Ccm };
            keys.add_node(
                node,
                Node {
                    master: master(node),
                    suite,
                    epoch_from: 2,
                    epoch_frames: None,
                    settings: Settings::default(),
                    grid,
                },
            );
        }
        Arc::new(keys)
    }

    fn frame(node: u32, suite: Suite, counter: u32, plaintext: &[u8]) -> Vec<u8> {
        frame_of_epoch(3, node, suite, counter, plaintext)
    }

    fn frame_of_epoch(epoch: u8, node: u32, suite: Suite, counter: u32, plaintext: &[u8]) -> Vec<u8> {
        let key = master(node).traffic_key(node, epoch, suite);
        frame::seal(&key, &Header { suite, node, epoch, counter }, plaintext)
    }

    fn samples(first: u32) -> Vec<u8> {
        Samples { first: first.into(), channel: 6, waveform: Waveform::of_codes(&[1, 2, 3]) }
            .to_bytes()
            .to_vec()
    }

    fn batch(number: u64, plaintext: &[u8]) -> SealedBatch {
        let id = BatchId { cell: CELL, spool: 9, number };
        let nonce = [number as u8; 12];
        let mut body = [&id.header()[..], &nonce, plaintext].concat();
        let key = cipher::Aead::new(Suite::Aes256Gcm, cell_master().batch_key(CELL).expose());
        key.seal_tail(&nonce, &id.header(), &mut body, HEADER_BYTES + NONCE_BYTES);
        SealedBatch { id, body }
    }

    fn arrived(batch: SealedBatch) -> Arrived {
        Arrived { connection: 5, at: Now { wall_ns: 70, monotonic_ns: 71 }, batch: Ok(batch) }
    }

    fn plaintext(frames: &[Vec<u8>]) -> Vec<u8> {
        let entry = |frame| Entry { superframe: 1, slot: 2, received_ps: 3, frame };
        batch::entries_to_bytes(&frames.iter().map(|frame| entry(frame.as_slice())).collect::<Vec<_>>())
    }

    fn open(arrived: Arrived) -> Opened {
        open_here(&mut Shard::new(ring(), 0, 1), vec![arrived]).remove(0)
    }

    #[test]
    fn every_fault_of_a_frame_has_its_own_status() {
        let good = frame(2, Suite::AsconAead128, 5, &samples(4));
        let mut forged = good.clone();
        forged[20] ^= 1;
        let frames = [
            good.clone(),
            good[..20].to_vec(),
            frame(2, Suite::Aes128Ccm, 5, &samples(4)),
            [&[0x1f], &good[1..]].concat(),
            frame(99, Suite::AsconAead128, 5, &samples(4)),
            frame(2, Suite::AsconAead128, frame::DIRECTION_BIT, &samples(4)),
            forged,
            frame(2, Suite::AsconAead128, 5, &[9; 7]),
            Vec::new(),
            frame_of_epoch(1, 2, Suite::AsconAead128, 5, &samples(4)),
        ];
        let opened = open(arrived(batch(1, &plaintext(&frames)))).frames.unwrap().outcomes;
        let record = Record {
            node: 2,
            epoch: 3,
            counter: 5,
            suite: Suite::AsconAead128,
            batch: BatchId { cell: CELL, spool: 9, number: 1 },
            superframe: 1,
            slot: 2,
            received_ps: 3,
            arrived_ns: 70,
            first: 4,
            sample_ps: 16,
            uncertainty_ns: 5,
            channel: 6,
            waveform: Waveform::of_codes(&[1, 2, 3]),
        };
        let expected = [
            Ok(record),
            Err(Fault::Layout),
            Err(Fault::Suite),
            Err(Fault::Suite),
            Err(Fault::Node),
            Err(Fault::Direction),
            Err(Fault::Rejected),
            Err(Fault::Content),
            Err(Fault::Layout),
            Err(Fault::Epoch),
        ];
        assert_eq!(opened, expected);
    }

    #[test]
    fn every_fault_of_a_batch_has_its_own_status() {
        let mut forged = batch(1, &plaintext(&[]));
        *forged.body.last_mut().unwrap() ^= 1;
        let mut elsewhere = batch(1, &plaintext(&[]));
        elsewhere.id.cell = 8;
        for (batch, refusal) in
            [(forged, Refusal::Rejected), (elsewhere, Refusal::Cell), (batch(1, &[1, 0, 5]), Refusal::Layout)]
        {
            assert_eq!(open(arrived(batch)).frames, Err(refusal));
        }
        let id = BatchId { cell: 1, spool: 2, number: 3 };
        let refused = Arrived { connection: 5, at: Now::default(), batch: Err((Refusal::Order, id)) };
        let opened = open(refused);
        assert_eq!((opened.id, opened.frames), (id, Err(Refusal::Order)));
    }

    #[test]
    fn a_forged_epoch_takes_no_memory() {
        let mut shard = Shard::new(ring(), 0, 1);
        let good = frame(2, Suite::AsconAead128, 5, &samples(4));
        let forged = (0..=255).map(|epoch| [&good[..5], &[epoch], &good[6..]].concat());
        let group = vec![arrived(batch(1, &plaintext(&forged.collect::<Vec<_>>())))];
        let outcomes = open_here(&mut shard, group).remove(0).frames.unwrap().outcomes;
        assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1, "the true epoch");
        assert_eq!(shard.traffic.len(), 1);
    }

    #[test]
    fn the_number_of_shards_changes_no_result() {
        let group: Vec<Arrived> = (0..40)
            .map(|number| {
                let frames = (0..number % 23).map(|index| {
                    let node = (number * 7 + index) % 22;
                    let suite = if node % 2 == 0 { Suite::AsconAead128 } else { Suite::Aes128Ccm };
                    let mut frame = frame(node, suite, number, &samples(index));
                    let last = frame.len() - 1;
                    frame[last] ^= u8::from(index == 5);
                    frame
                });
                let mut batch = batch(number.into(), &plaintext(&frames.collect::<Vec<_>>()));
                batch.body[40] ^= u8::from(number == 11);
                arrived(batch)
            })
            .collect();
        let witness = open_here(&mut Shard::new(ring(), 0, 1), group.clone());
        assert!(witness.iter().any(|opened| opened.frames.is_err()));
        for count in [1, 2, 3, 7] {
            let mut shards = Shards::start(&ring(), count).unwrap();
            assert_eq!(shards.open(group.clone()), witness, "{count} shards");
            assert_eq!(shards.open(Vec::new()), []);
        }
    }
}
