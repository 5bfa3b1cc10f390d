//! Opens batches and frames on every core.
//!
//! A group of batches is cut into bunches, and each shard takes the next bunch as long as there are any. It opens the
//! batches of a bunch, and then all their frames together, where they lie (`traffic`). What is authentic is written once
//! more, as the records of the log. Opening decides nothing but authenticity: it depends on the keys and the bytes alone, so the
//! number of shards changes no result. Duplicates are found later, in order, by the collector.
//!
//! Invariant: a frame that failed its tag leaves nothing but a [`Fault`], and zeros where it lay; a batch nothing at all. One
//! of a legacy suite, which has no tag, fails none: its record says so by its suite, and the collector tells its node nothing.

use std::collections::HashMap;
use std::iter::Enumerate;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::vec;

use cipher::{Aead, Rejected, TrafficKey};

use crate::aes::Backend;
use crate::batch::{
    BatchId, HEADER_BYTES, NONCE_BYTES, Place, Seal, SealedBatch, TAG_BYTES, places_from_bytes,
};
use crate::error::{Error, Fault, Refusal};
use crate::frame::{self, Content, Header};
use crate::keys::{KeyRing, Node};
use crate::limits::{FRAME_HEADER_BYTES, RECORD_HEAD_BYTES};
use crate::plaintext::{Plaintext, wipe_stack};
use crate::realtime::{Realtime, Role, THREADS_BESIDES, Thread};
use crate::record::Record;
use crate::traffic::{self, Traffic};
use crate::waveform::{Format, Waveform};

/// A bunch ends with the batch that brings it to so many bytes: hundreds of short frames, whose lanes are seldom idle then,
/// or one batch of waveforms, which has enough of them.
const BUNCH_BYTES: usize = 32 << 10;
/// Where a batch's plaintext begins in its body.
const PLAINTEXT_AT: usize = HEADER_BYTES + NONCE_BYTES;

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

/// When a group of batches was opened, in nanoseconds of the monotonic clock. Shards read no clock, and leave zeroes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Opening {
    /// The begin.
    pub begin_ns: u64,
    /// The end.
    pub end_ns: u64,
}

/// A batch after opening.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Where the answer goes.
    pub connection: u64,
    /// When it arrived.
    pub at: Now,
    /// When it was opened.
    pub opening: Opening,
    /// Which batch.
    pub id: BatchId,
    /// Its frames, or why none was looked at.
    pub frames: Result<Frames, Refusal>,
}

/// The frames of an authentic batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frames {
    /// What tells the batch from others.
    pub seal: Seal,
    /// Bytes of the batch's plaintext.
    pub bytes: usize,
    /// One outcome for each frame, in order.
    pub outcomes: Vec<Result<Authentic, Fault>>,
    /// The records of the authentic ones, as [`Body`](crate::record::Body) writes them.
    pub records: Plaintext,
}

/// A frame whose tag was right, or that has none to be wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authentic {
    /// The node.
    pub node: u32,
    /// The epoch of the node's key.
    pub epoch: u8,
    /// The frame's count.
    pub counter: u32,
    /// Grid index of the first sample.
    pub first: u64,
    /// The channel that its samples were converted from.
    pub channel: u8,
    /// They are every so manieth of the grid; at least 1.
    pub stride: u8,
    /// Where its record lies.
    pub record: Range<usize>,
}

/// A batch whose tag was right.
struct OpenedBatch {
    seal: Seal,
    /// All that was received, its frames opened where they lie.
    body: Plaintext,
    /// Frames of `body[PLAINTEXT_AT..]`.
    places: Vec<Place>,
}

impl OpenedBatch {
    /// Bytes of its plaintext.
    fn bytes(&self) -> usize {
        self.body.len() - PLAINTEXT_AT - TAG_BYTES
    }

    fn frame(&self, place: &Place) -> &[u8] {
        &self.body[PLAINTEXT_AT..][place.frame.clone()]
    }

    /// Its frames, in order.
    fn frames_mut(&mut self) -> impl Iterator<Item = &mut [u8]> {
        let mut rest = &mut self.body.as_mut()[PLAINTEXT_AT..];
        let mut at = 0;
        self.places.iter().map(move |place| {
            let (frame, behind) =
                std::mem::take(&mut rest)[place.frame.start - at..].split_at_mut(place.frame.len());
            (rest, at) = (behind, place.frame.end);
            frame
        })
    }
}

/// Opens a batch itself; its frames stay sealed.
fn open_batch(
    keys: &KeyRing,
    batch: Result<SealedBatch, (Refusal, BatchId)>,
) -> Result<OpenedBatch, Refusal> {
    let batch = batch.map_err(|(refusal, _)| refusal)?;
    let cell = keys.cell(batch.id.cell).ok_or(Refusal::Cell)?;
    let seal = batch.seal().ok_or(Refusal::Malformed)?;
    let mut body = Plaintext::from(batch.body);
    let (header, sealed) = body.as_mut().split_at_mut_checked(HEADER_BYTES).ok_or(Refusal::Malformed)?;
    let (nonce, sealed) = sealed.split_at_mut_checked(NONCE_BYTES).ok_or(Refusal::Malformed)?;
    let opened = open_sealed(&cell.batch, nonce, header, sealed);
    let plaintext = opened.map_err(|Rejected| {
        wipe_stack();
        Refusal::Rejected
    })?;
    let places = places_from_bytes(plaintext).map_err(|_| Refusal::Layout)?;
    Ok(OpenedBatch { seal, body, places })
}

/// Opens a batch's ciphertext where it lies. In a frame of its own on the stack, which is wiped behind a forgery.
#[inline(never)]
fn open_sealed<'a>(
    key: &Aead,
    nonce: &[u8],
    header: &[u8],
    sealed: &'a mut [u8],
) -> Result<&'a mut [u8], Rejected> {
    key.open_tail(nonce, header, sealed)
}

/// What a frame says of itself: nothing of it is authentic before its tag is.
struct Claim<'k> {
    header: Header,
    node: &'k Node,
}

/// The nodes of one thread.
#[derive(Debug)]
pub struct Shard {
    keys: Arc<KeyRing>,
    backend: Backend,
    /// Keys that have opened a frame. A forged epoch never enters, so this is no larger than what nodes use, or 256 of a node
    /// whose frames have no tag.
    traffic: HashMap<(u32, u8), Traffic>,
}

impl Shard {
    /// A shard that knows no traffic key yet.
    pub fn new(keys: Arc<KeyRing>) -> Shard {
        Shard { keys, backend: Backend::best(), traffic: HashMap::new() }
    }

    /// Opens a group of batches; for simulations, and as the witness of [`Shards::open`]. The result is in order.
    pub fn open(&mut self, arrived: Vec<Arrived>) -> Vec<Opened> {
        bunches(arrived).into_iter().flat_map(|bunch| self.open_bunch(bunch)).collect()
    }

    fn open_bunch(&mut self, bunch: Vec<Arrived>) -> Vec<Opened> {
        let keys = self.keys.clone();
        let open = |Arrived { connection, at, batch }| {
            let id = match &batch {
                Ok(batch) => batch.id,
                Err((_, id)) => *id,
            };
            (connection, at, id, open_batch(&keys, batch))
        };
        let mut batches: Vec<_> = bunch.into_iter().map(open).collect();
        let opened = batches.iter().filter_map(|(.., batch)| batch.as_ref().ok());
        let claim = |frame| claim(&keys, frame);
        let mut claims: Vec<_> =
            opened.flat_map(|batch| batch.places.iter().map(|place| claim(batch.frame(place)))).collect();
        let opened = batches.iter_mut().filter_map(|(.., batch)| batch.as_mut().ok());
        self.open_frames(opened.flat_map(OpenedBatch::frames_mut), &mut claims);
        let mut claims = claims.into_iter();
        let finish = |(connection, at, id, batch): (_, _, _, Result<OpenedBatch, _>)| {
            let frames = batch.map(|batch| write_records(&batch, id, at, &mut claims));
            Opened { connection, at, opening: Opening::default(), id, frames }
        };
        batches.into_iter().map(finish).collect()
    }

    /// Opens frames where they lie; a claim that does not hold becomes a fault.
    fn open_frames<'a>(
        &mut self,
        frames: impl Iterator<Item = &'a mut [u8]>,
        claims: &mut [Result<Claim<'_>, Fault>],
    ) {
        let known = |claim: &Claim<'_>| self.traffic.get(&claim.key());
        let known: Vec<_> = claims.iter().map(|claim| claim.as_ref().ok().and_then(known)).collect();
        let mut fresh = HashMap::new();
        for (claim, _) in claims.iter().zip(&known).filter(|(_, known)| known.is_none()) {
            let Ok(claim) = claim else { continue };
            fresh.entry(claim.key()).or_insert_with(|| Traffic::new(self.backend, &claim.traffic_key()));
        }
        let keyed = |(claim, known): (&Result<Claim<'_>, Fault>, Option<_>)| {
            let claim = claim.as_ref().ok()?;
            let traffic: &Traffic = known.or_else(|| fresh.get(&claim.key())).expect("it is known or fresh");
            Some((traffic, claim.header))
        };
        let keyed: Vec<_> = claims.iter().zip(known).map(keyed).collect();
        for wrong in traffic::open_all(self.backend, frames, &keyed) {
            claims[wrong] = Err(Fault::Rejected);
        }
        drop(keyed);
        if !fresh.is_empty() {
            let proved = claims.iter().flatten().map(Claim::key);
            self.traffic.extend(proved.filter_map(|key| fresh.remove_entry(&key)));
        }
    }
}

impl Claim<'_> {
    /// Which key it names.
    fn key(&self) -> (u32, u8) {
        (self.header.node, self.header.epoch)
    }

    fn traffic_key(&self) -> TrafficKey {
        self.node.master.traffic_key(self.header.node, self.header.epoch, self.node.suite)
    }
}

/// Reads what a frame says of itself, and whether somebody may say so.
fn claim<'k>(keys: &'k KeyRing, frame: &[u8]) -> Result<Claim<'k>, Fault> {
    let header = frame::parse(frame)?.header;
    if header.is_downlink() {
        return Err(Fault::Direction);
    }
    let node = keys.node(header.node).ok_or(Fault::Node)?;
    if header.suite != node.suite {
        return Err(Fault::Suite);
    }
    if u16::from(header.epoch) < node.epoch_from {
        return Err(Fault::Epoch);
    }
    Ok(Claim { header, node })
}

/// Writes the records of a batch whose frames were opened; `claims` begin with its own.
fn write_records<'k>(
    batch: &OpenedBatch,
    id: BatchId,
    at: Now,
    claims: &mut impl Iterator<Item = Result<Claim<'k>, Fault>>,
) -> Frames {
    // Never too few: plaintext that moved to other memory would be left where it was.
    let records_bytes_max = batch.bytes() + batch.places.len() * RECORD_HEAD_BYTES;
    let mut records = Vec::with_capacity(records_bytes_max);
    let write = |(place, claim): (&Place, Result<Claim<'_>, Fault>)| {
        let Claim { header: Header { suite, node, epoch, counter }, node: provisioned } = claim?;
        let frame = batch.frame(place);
        let plaintext =
            frame::unfilled(suite, &frame[FRAME_HEADER_BYTES..frame.len() - suite.row().tag_bytes])?;
        let Content { first, channel, format, samples } = Content::parse(plaintext)?;
        // Only a node of a bus, whose samples are codes, has a stride.
        let stride = match format {
            Format::CODES => provisioned.grid.stride(first, samples.len() / format.sample_bytes()),
            _ => 1,
        };
        let record = Record {
            node,
            epoch,
            counter,
            suite,
            batch: id,
            superframe: place.superframe,
            slot: place.slot,
            received_ps: place.received_ps,
            arrived_ns: at.wall_ns,
            first,
            sample_ps: provisioned.grid.instant_ps(first),
            uncertainty_ns: provisioned.grid.uncertainty_ns,
            channel,
            stride,
            waveform: Waveform::none(format),
        };
        let from = records.len();
        record.write(samples, &mut records);
        Ok(Authentic { node, epoch, counter, first, channel, stride, record: from..records.len() })
    };
    let outcomes = batch.places.iter().zip(claims).map(write).collect();
    assert!(records.len() <= records_bytes_max, "the records were to fit");
    Frames { seal: batch.seal, bytes: batch.bytes(), outcomes, records: records.into() }
}

/// Cuts a group into bunches.
fn bunches(arrived: Vec<Arrived>) -> Vec<Vec<Arrived>> {
    let mut bunches = Vec::new();
    let (mut bunch, mut bytes) = (Vec::new(), 0);
    for arrived in arrived {
        bytes += arrived.batch.as_ref().map_or(0, |batch| batch.body.len());
        bunch.push(arrived);
        if bytes >= BUNCH_BYTES {
            bunches.push(std::mem::take(&mut bunch));
            bytes = 0;
        }
    }
    bunches.extend((!bunch.is_empty()).then_some(bunch));
    bunches
}

/// The bunches of a group with their places, from which each shard takes the next one.
type Queue = Mutex<Enumerate<vec::IntoIter<Vec<Arrived>>>>;

/// Bunches that a shard opened, with their places.
type Done = Vec<(usize, Vec<Opened>)>;

/// A shard on each of some threads.
#[derive(Debug)]
pub struct Shards {
    /// Each shard has its own channels, so that one that died is seen and not waited for.
    channels: Vec<(Sender<Arc<Queue>>, Receiver<Done>)>,
    threads: Vec<Thread<()>>,
}

impl Shards {
    /// Starts `count` threads; 0 = one for each core.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn start(keys: &Arc<KeyRing>, count: usize) -> Result<Shards, Error> {
        Shards::start_in(keys, 0, count, &Realtime::default())
    }

    /// The same, with what `realtime` gives them; the first is pinned to the core of number `core`, the next to that behind
    /// it.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Scheduling`].
    pub(crate) fn start_in(
        keys: &Arc<KeyRing>,
        core: usize,
        count: usize,
        realtime: &Realtime,
    ) -> Result<Shards, Error> {
        let cores = || thread::available_parallelism().map_err(Error::io("count", "cores"));
        let count = if count == 0 { cores()?.get() } else { count };
        let mut shards = Shards { channels: Vec::new(), threads: Vec::new() };
        for index in 0..count {
            let ((queues, asked), (answers, done)) = (channel(), channel());
            let shard = Shard::new(keys.clone());
            let serve = move || serve_queues(shard, &asked, &answers);
            let threads = count + THREADS_BESIDES;
            let thread =
                realtime.start(format!("shard {index}"), Role::Opens, Some(core + index), threads, serve)?;
            shards.channels.push((queues, done));
            shards.threads.push(thread);
        }
        Ok(shards)
    }

    /// How many threads there are.
    pub(crate) fn count(&self) -> usize {
        self.threads.len()
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
        let bunches = bunches(arrived);
        let mut opened: Vec<Vec<Opened>> = bunches.iter().map(|_| Vec::new()).collect();
        let queue: Arc<Queue> = Arc::new(Mutex::new(bunches.into_iter().enumerate()));
        for (queues, _) in &self.channels {
            queues.send(queue.clone()).ok()?;
        }
        for (_, done) in &self.channels {
            for (place, bunch) in done.recv().ok()? {
                opened[place] = bunch;
            }
        }
        Some(opened.into_iter().flatten().collect())
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

fn serve_queues(mut shard: Shard, asked: &Receiver<Arc<Queue>>, answers: &Sender<Done>) {
    while let Ok(queue) = asked.recv() {
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        let mut done = Vec::new();
        while let Some((place, bunch)) = next() {
            done.push((place, shard.open_bunch(bunch)));
        }
        if answers.send(done).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{self, Entry};
    use crate::frame::Samples;
    use crate::keys::Grid;
    use crate::record::Body;
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
        Shard::new(ring()).open(vec![arrived]).remove(0)
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
        let Frames { outcomes, records, .. } = open(arrived(batch(1, &plaintext(&frames)))).frames.unwrap();
        let opened: Vec<_> = outcomes
            .into_iter()
            .map(|outcome| outcome.map(|authentic| Body::parse(&records[authentic.record]).unwrap()))
            .collect();
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
            stride: 1,
            waveform: Waveform::of_codes(&[1, 2, 3]),
        };
        let expected = [
            Ok(Body::Frame(record)),
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
        let mut shard = Shard::new(ring());
        let good = frame(2, Suite::AsconAead128, 5, &samples(4));
        let forged = (0..=255).map(|epoch| [&good[..5], &[epoch], &good[6..]].concat());
        let group = vec![arrived(batch(1, &plaintext(&forged.collect::<Vec<_>>())))];
        let outcomes = shard.open(group).remove(0).frames.unwrap().outcomes;
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
        let witness = Shard::new(ring()).open(group.clone());
        assert!(witness.iter().any(|opened| opened.frames.is_err()));
        for count in [1, 2, 3, 7] {
            let mut shards = Shards::start(&ring(), count).unwrap();
            assert_eq!(shards.open(group.clone()), witness, "{count} shards");
            assert_eq!(shards.open(Vec::new()), []);
        }
    }
}
