//! The measurement server: opens every frame, stores it durably, and only then says so.
//!
//! The story, from the socket down:
//! 1. [`mod@serve`] receives batches from bridges over TLS (`session` keeps each connection's rules);
//! 2. [`shard`] opens batches and their frames on every core, each node on its own shard;
//! 3. [`Collector::step`], in this file, sorts the frames into new, duplicate and failed ([`replay`]),
//!    gathers everything that arrived meanwhile into one group, has it made durable, and answers with
//!    receipts;
//! 4. [`store`] appends the group to a segment ([`segment`], [`record`]) and syncs it on a [`disk`].
//!
//! `step` takes an opened batch, or the end of a group, and returns what is to be sent. It draws no time and
//! opens no socket, so that a seed replays a whole run with power cuts ([`sim`]), while `serve` runs the same
//! code on the real disk. [`batch`] and [`frame`] draw what travels; [`client`] is the bridge's side of it.
//!
//! Invariant: a receipt leaves only after every record that it speaks of was synced, those of earlier batches
//! included.
//!
//! Invariant: a key leaves in a change of the epoch only after the record of the change was synced ([`mod@epochs`]).
//!
//! Invariant: a downlink counter is used only below a reservation that was synced, and never twice.

pub mod batch;
pub mod client;
pub mod disk;
mod epochs;
pub mod error;
pub mod frame;
pub mod keys;
pub mod limits;
pub mod read;
pub mod record;
pub mod replay;
pub mod segment;
pub mod serve;
pub mod session;
pub mod shard;
pub mod sim;
pub mod stats;
pub mod store;
pub mod tls;

pub use serve::{Config, serve};

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use cipher::{NonceSource, Randomness, TrafficKey};
use zeroize::Zeroizing;

use crate::batch::{Answer, BatchId, Receipt};
use crate::disk::Disk;
use crate::epochs::Epochs;
use crate::error::{Corruption, Error, Fault, Refusal};
use crate::frame::{DIRECTION_BIT, Header};
use crate::keys::KeyRing;
use crate::limits::{COUNT_MAX, Limits, RECORD_BYTES_MAX};
use crate::record::{Body, Change, Record, Reservation};
use crate::replay::{Admission, Replay};
use crate::shard::{Frames, Now, Opened};
use crate::stats::{Counter, Stats};
use crate::store::{Commit, Store};

/// Something that happened.
#[derive(Debug)]
pub enum Event {
    /// A batch was opened; it joins the group.
    Opened(Opened),
    /// Nothing more has arrived: the group is complete.
    Commit,
}

/// Something to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send an answer on a connection, if it is still there.
    Send {
        /// The connection.
        connection: u64,
        /// When the batch arrived that is answered.
        arrived: Now,
        /// The answer.
        answer: Answer,
    },
}

/// The state of the server: its store, what is stored in it, and the group that is being gathered.
pub struct Collector<D: Disk, R: Randomness> {
    keys: Arc<KeyRing>,
    limits: Limits,
    store: Store<D, R>,
    replay: Replay,
    epochs: Epochs,
    /// Epochs that were taken for a node and not told yet; `None` = there are none.
    spare: HashMap<u32, Option<u8>>,
    downlinks: HashMap<(u32, u8), Downlink>,
    nonces: NonceSource<R>,
    group: Group,
    counter: Counter,
}

/// The downlink counter of one node and epoch.
#[derive(Debug, Default)]
struct Downlink {
    next: u32,
    /// Counters below it are reserved in the log.
    limit: u32,
    key: Option<TrafficKey>,
}

/// What arrived since the last commit.
#[derive(Debug, Default)]
struct Group {
    batches: Vec<Waiting>,
    bodies: Vec<Zeroizing<Vec<u8>>>,
    /// Upper bound of what the group will take in the log.
    bytes: usize,
}

/// A batch whose answer waits for the sync.
#[derive(Debug)]
struct Waiting {
    connection: u64,
    at: Now,
    id: BatchId,
    tally: Result<Tally, Refusal>,
}

#[derive(Debug, Default)]
struct Tally {
    batch_sha256: [u8; 32],
    stored: u16,
    duplicate: u16,
    failed: Vec<Fault>,
    heard: BTreeMap<u32, Heard>,
}

/// What was heard of a node with an authentic frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Heard {
    /// The latest epoch; from the end of the batch on, the one in which it is answered.
    epoch: u8,
    /// The highest count in it.
    count: u32,
    /// The epoch that it is told.
    change: Option<u8>,
    /// It is told one that is still to be taken.
    is_due: bool,
}

impl<D: Disk, R: Randomness + Clone> Collector<D, R> {
    /// Opens the store on `disk` and learns from it what is stored.
    ///
    /// # Errors
    /// [`Error::Limit`] and those of [`Store::open`].
    pub fn open(disk: D, keys: Arc<KeyRing>, limits: Limits, randomness: R) -> Result<Self, Error> {
        limits.check()?;
        let mut replay = Replay::new(limits.counter_ranges_max);
        let mut epochs = Epochs::default();
        let mut downlinks: HashMap<(u32, u8), Downlink> = HashMap::new();
        let visit = |body| match body {
            Body::Frame(Record { node, epoch, counter, .. }) => {
                epochs.store(node, epoch, counter);
                if replay.restore(node, epoch, counter) { Ok(()) } else { Err(Corruption::Repeated) }
            }
            Body::Reservation(Reservation { node, epoch, limit }) => {
                let downlink = downlinks.entry((node, epoch)).or_default();
                // Whatever was reserved may have been used: the counter goes on behind it.
                downlink.limit = downlink.limit.max(limit);
                downlink.next = downlink.limit;
                Ok(())
            }
            Body::Change(change) => {
                epochs.begin(change);
                Ok(())
            }
        };
        let store = Store::open(disk, keys.store().clone(), &limits, randomness.clone(), visit)?;
        epochs.commit();
        let nonces = NonceSource::new(randomness).map_err(Error::io("draw randomness for", "receipts"))?;
        let (spare, group, counter) = (HashMap::new(), Group::default(), Counter::new());
        Ok(Collector { keys, limits, store, replay, epochs, spare, downlinks, nonces, group, counter })
    }

    /// One step. A group that is full is committed before the next batch joins it.
    ///
    /// # Errors
    /// [`Error::Io`]: the store is dead, nothing more may be sent, and the process should end.
    pub fn step(&mut self, now: Now, event: Event) -> Result<Vec<Action>, Error> {
        match event {
            Event::Opened(opened) => {
                self.take(opened);
                let full = self.group.batches.len() >= self.limits.group_batches_max
                    || self.group.bytes >= self.limits.group_bytes_max;
                if full { self.commit(now) } else { Ok(Vec::new()) }
            }
            Event::Commit => self.commit(now),
        }
    }

    /// Counts how long the receipts among `actions` took; `now` is when [`step`](Self::step) returned them.
    pub fn measure(&mut self, now: Now, actions: &[Action]) {
        for Action::Send { arrived, answer, .. } in actions {
            if matches!(answer, Answer::Receipt { .. }) {
                self.counter.durable(now.monotonic_ns.saturating_sub(arrived.monotonic_ns));
            }
        }
    }

    /// What was counted so far.
    pub fn stats(&self) -> Stats {
        self.counter.stats()
    }

    /// What is stored of a node and epoch.
    pub fn stored(&self, node: u32, epoch: u8) -> Option<&crate::replay::CounterSet> {
        self.replay.stored(node, epoch)
    }

    fn take(&mut self, opened: Opened) {
        let Opened { connection, at, id, frames } = opened;
        let tally = match frames {
            Ok(frames) if frames.outcomes.len() > self.limits.batch_frames_max => Err(Refusal::Frames),
            frames => frames.map(|frames| self.tally(frames)),
        };
        self.group.batches.push(Waiting { connection, at, id, tally });
    }

    /// Sorts a batch's frames into new, duplicate and failed; the new ones join the group.
    fn tally(&mut self, frames: Frames) -> Tally {
        let mut tally = Tally { batch_sha256: frames.batch_sha256, ..Tally::default() };
        for outcome in frames.outcomes {
            let record = match outcome {
                Ok(record) => record,
                Err(fault) => {
                    tally.failed.push(fault);
                    continue;
                }
            };
            let (node, epoch, counter) = (record.node, record.epoch, record.counter);
            if self.epochs.is_over(node, epoch, counter) && !self.replay.is_known(node, epoch, counter) {
                tally.failed.push(Fault::Over);
                continue;
            }
            match self.replay.admit(node, epoch, counter) {
                Admission::Old => {
                    tally.failed.push(Fault::Old);
                    continue;
                }
                Admission::Duplicate => tally.duplicate += 1,
                Admission::New => {
                    tally.stored += 1;
                    self.epochs.store(node, epoch, counter);
                    self.group.push(&Body::Frame(record));
                }
            }
            let now = Heard { epoch, count: counter, change: None, is_due: false };
            let heard = tally.heard.entry(node).or_insert(now);
            *heard = (*heard).max(now);
        }
        for (&node, heard) in &mut tally.heard {
            let frames_max = self.keys.node(node).and_then(|node| node.epoch_frames);
            heard.epoch = self.epochs.listens(node, heard.epoch);
            heard.change = self.epochs.pending(node).filter(|&next| next > heard.epoch);
            heard.is_due = self.epochs.due(node, frames_max).is_some();
        }
        self.group.bytes += tally.heard.len() * RECORD_BYTES_MAX; // each may need a reservation and a change
        tally
    }

    /// Makes the group durable and answers its batches, in order.
    fn commit(&mut self, now: Now) -> Result<Vec<Action>, Error> {
        for change in self.begin_changes()? {
            self.group.push(&Body::Change(change));
        }
        let reservations = self.reserve();
        for reservation in &reservations {
            self.group.push(&Body::Reservation(*reservation));
        }
        let Group { batches, bodies, .. } = std::mem::take(&mut self.group);
        let commit = match bodies.is_empty() {
            // Refusals, and duplicates of what earlier groups made durable.
            true => Commit::Durable,
            false => self.store.commit(&bodies, now.wall_ns)?,
        };
        match commit {
            Commit::Durable => {
                self.replay.commit();
                self.epochs.commit();
                for Reservation { node, epoch, limit } in reservations {
                    self.downlinks.entry((node, epoch)).or_default().limit = limit;
                }
                self.counter.stats.groups += u64::from(!bodies.is_empty());
                self.counter.stats.records += bodies.len() as u64;
            }
            Commit::Full => {
                self.replay.abort();
                self.epochs.abort();
            }
        }
        batches.into_iter().map(|waiting| self.answer(waiting, commit)).collect()
    }

    /// Begins the changes that are due since a batch of the group, and says in its tallies which they are. The spare epoch
    /// of a change is kept until its record is durable: a disk that stays full costs one.
    fn begin_changes(&mut self) -> Result<Vec<Change>, Error> {
        let mut changes = Vec::new();
        let tallies = self.group.batches.iter_mut().filter_map(|waiting| waiting.tally.as_mut().ok());
        for (&node, heard) in tallies.flat_map(|tally| &mut tally.heard).filter(|(_, heard)| heard.is_due) {
            let frames_max = self.keys.node(node).and_then(|node| node.epoch_frames);
            if let Some(epoch) = self.epochs.due(node, frames_max) {
                let spare = self.spare.get(&node).filter(|spare| spare.is_none_or(|spare| spare > epoch));
                let next = match spare {
                    Some(&spare) => spare,
                    None => self.keys.epoch_after(node, epoch).map_err(Error::io("take", "an epoch"))?,
                };
                self.spare.insert(node, next);
                let Some(next) = next else { continue };
                let change = Change { node, epoch, next };
                self.epochs.begin(change);
                changes.push(change);
            }
            heard.change = self.epochs.pending(node).filter(|&next| next > heard.epoch);
        }
        Ok(changes)
    }

    /// The reservations that the group's acknowledgements need.
    fn reserve(&self) -> Vec<Reservation> {
        let mut needed: BTreeMap<(u32, u8), u32> = BTreeMap::new();
        let tallies = self.group.batches.iter().filter_map(|waiting| waiting.tally.as_ref().ok());
        for (&node, heard) in tallies.flat_map(|tally| &tally.heard) {
            *needed.entry((node, heard.epoch)).or_default() += 1;
        }
        let limit_of = |((node, epoch), count): ((u32, u8), u32)| {
            let (next, limit) = self.downlinks.get(&(node, epoch)).map_or((0, 0), |d| (d.next, d.limit));
            let end = next.saturating_add(count);
            // A used-up counter stays at its end, and `downlink` finds nothing left.
            let reserved = end.saturating_add(self.limits.downlink_block).min(COUNT_MAX + 1);
            (end > limit && reserved > limit).then_some(Reservation { node, epoch, limit: reserved })
        };
        needed.into_iter().filter_map(limit_of).collect()
    }

    fn answer(&mut self, waiting: Waiting, commit: Commit) -> Result<Action, Error> {
        let Waiting { connection, at: arrived, id, tally } = waiting;
        let tally = match (tally, commit) {
            (Ok(tally), Commit::Durable) => Ok(tally),
            (Ok(_), Commit::Full) => Err(Refusal::DiskFull),
            (Err(refusal), _) => Err(refusal),
        };
        let answer = match tally {
            Ok(tally) => Answer::Receipt { id, sealed: self.receipt(&id, tally)? },
            Err(refusal) => {
                self.counter.refuse(refusal);
                Answer::Refused { id, status: refusal.number() }
            }
        };
        Ok(Action::Send { connection, arrived, answer })
    }

    /// The sealed part of the receipt for a batch that is durable: nonce, ciphertext, tag.
    fn receipt(&mut self, id: &BatchId, tally: Tally) -> Result<Vec<u8>, Error> {
        self.counter.stats.batches += 1;
        self.counter.stats.frames_stored += u64::from(tally.stored);
        self.counter.stats.frames_duplicate += u64::from(tally.duplicate);
        tally.failed.iter().for_each(|&fault| self.counter.fail(fault));
        let heard = tally.heard.into_iter();
        let downlinks = heard.filter_map(|(node, heard)| self.downlink(node, heard));
        let receipt = Receipt {
            downlinks: downlinks.collect(),
            batch_sha256: tally.batch_sha256,
            stored: tally.stored,
            duplicate: tally.duplicate,
            failed: u16::try_from(tally.failed.len()).expect("a batch's frames are counted in 16 bits"),
        };
        let cell = self.keys.cell(id.cell).expect("an authentic batch has a cell");
        let nonce = self.nonces.draw().map_err(Error::io("draw randomness for", "receipts"))?;
        let mut sealed = nonce.to_vec();
        sealed.extend_from_slice(&receipt.to_bytes());
        cell.receipt.seal_tail(&nonce, &id.answer_header(), &mut sealed, nonce.len());
        Ok(sealed)
    }

    /// The downlink frame for a node: it acknowledges all counts up to the highest that was heard, and tells its change of
    /// the epoch; `None` when the counter is used up.
    ///
    /// A node sends its counts once and in order, so those below that are not stored were lost on the bus or
    /// lie in the bridge's spool: the node will never send them again. It follows from the batch alone, so a
    /// batch that is sent again is answered with the same words.
    fn downlink(&mut self, node: u32, heard: Heard) -> Option<Vec<u8>> {
        let Heard { epoch, count, change, .. } = heard;
        let provisioned = self.keys.node(node).expect("an authentic frame has a node");
        let downlink = self.downlinks.get_mut(&(node, epoch)).filter(|downlink| downlink.next <= COUNT_MAX);
        let Some(downlink) = downlink else {
            self.counter.stats.downlinks_exhausted += 1;
            return None;
        };
        assert!(downlink.next < downlink.limit, "a downlink counter is used before it is reserved");
        let counter = DIRECTION_BIT | downlink.next;
        downlink.next += 1;
        let suite = provisioned.suite;
        let key_of = |epoch| provisioned.master.traffic_key(node, epoch, suite);
        let key = downlink.key.get_or_insert_with(|| key_of(epoch));
        let header = Header { suite, node, epoch, counter };
        self.counter.stats.downlinks += 1;
        self.counter.stats.changes_told += u64::from(change.is_some());
        Some(match change {
            Some(next) => frame::seal(key, &header, frame::change(count + 1, &key_of(next)).as_slice()),
            None => frame::seal(key, &header, &frame::acknowledgement(count + 1)),
        })
    }
}

impl Group {
    fn push(&mut self, body: &Body) {
        let bytes = body.to_bytes();
        self.bytes += 4 + bytes.len() + 16;
        self.bodies.push(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{Grid, Node};
    use crate::sim::{Dice, Honesty, SimDisk};
    use cipher::{Aead, CellMaster, Key, NodeMaster, StoreMaster, Suite};
    use std::num::{NonZeroU8, NonZeroU16};
    use std::sync::atomic::{AtomicU16, Ordering};

    const CELL: u16 = 7;
    const NODE: u32 = 5;

    fn cell_master() -> CellMaster {
        CellMaster::from(Key::copied_from(&[1; 32]))
    }

    fn node_master() -> NodeMaster {
        NodeMaster::from(Key::copied_from(&[2; 32]))
    }

    fn ring() -> Arc<KeyRing> {
        ring_with(None, |_| Ok(None))
    }

    /// A ring that tells the node to go on after `epoch_frames`, to the epochs that `take` says.
    fn ring_with(
        epoch_frames: Option<u16>,
        take: impl Fn(u32) -> std::io::Result<Option<u8>> + Send + Sync + 'static,
    ) -> Arc<KeyRing> {
        let epoch_frames = epoch_frames.and_then(NonZeroU16::new);
        let mut keys = KeyRing::new(StoreMaster::from(Key::copied_from(&[3; 32])));
        keys.add_cell(CELL, &cell_master());
        let grid = Grid { superframe_ps: 8, samples_per_superframe: NonZeroU8::MIN };
        keys.add_node(
            NODE,
            Node { master: node_master(), suite: Suite::Aes128Ccm, epoch_from: 0, epoch_frames, grid },
        );
        keys.take_epochs_by(take);
        Arc::new(keys)
    }

    fn disk() -> SimDisk {
        SimDisk::new(Dice::new(1), Honesty::FULL)
    }

    fn collector(disk: &SimDisk, limits: Limits) -> Collector<SimDisk, Dice> {
        Collector::open(disk.clone(), ring(), limits, Dice::new(2)).unwrap()
    }

    /// Batch `number` with authentic frames of these epochs and counters.
    fn opened(number: u64, frames: &[(u8, u32)]) -> Event {
        let batch = BatchId { cell: CELL, spool: 1, number };
        let outcome = |&(epoch, counter): &(u8, u32)| {
            Ok(Record {
                node: NODE,
                epoch,
                counter,
                suite: Suite::Aes128Ccm,
                batch,
                superframe: 0,
                slot: 0,
                received_ps: 0,
                arrived_ns: 0,
                first: 0,
                sample_ps: 0,
                samples: vec![1],
            })
        };
        let frames = Frames { batch_sha256: [9; 32], outcomes: frames.iter().map(outcome).collect() };
        Event::Opened(Opened { connection: 3, at: Now::default(), id: batch, frames: Ok(frames) })
    }

    /// More than any count here.
    const TOLD: u32 = 1 << 16;

    /// What a receipt says: stored, duplicate, failed, and its downlinks as (epoch, downlink count,
    /// acknowledged count, and `TOLD` times the next epoch).
    type Said = (u16, u16, u16, Vec<(u8, u32, u32)>);

    fn said(action: &Action) -> Said {
        let Action::Send { answer: Answer::Receipt { id, sealed }, connection: 3, .. } = action else {
            panic!("found {action:?}");
        };
        let key = Aead::new(Suite::Aes256Gcm, cell_master().receipt_key(CELL).expose());
        let mut sealed = sealed.clone();
        let (nonce, sealed) = sealed.split_at_mut(12);
        let receipt = Receipt::parse(key.open_tail(nonce, &id.answer_header(), sealed).unwrap()).unwrap();
        let downlink = |bytes: &Vec<u8>| {
            let frame = frame::parse(bytes).unwrap();
            let key = node_master().traffic_key(NODE, frame.header.epoch, frame.header.suite);
            let plaintext = frame::open(&key, &frame).unwrap();
            let count = u32::from_le_bytes(plaintext[1..5].try_into().unwrap());
            let told = match plaintext[0] {
                frame::KIND_CHANGE => {
                    let next = node_master().traffic_key(NODE, plaintext[5], Suite::Aes128Ccm);
                    assert_eq!(plaintext[..], frame::change(count, &next)[..]);
                    TOLD * u32::from(plaintext[5])
                }
                _ => 0,
            };
            (frame.header.epoch, frame.header.counter & !DIRECTION_BIT, count + told)
        };
        let downlinks = receipt.downlinks.iter().map(downlink).collect();
        (receipt.stored, receipt.duplicate, receipt.failed, downlinks)
    }

    /// Steps through `events`, which end with a commit, and returns all answers.
    fn run(collector: &mut Collector<SimDisk, Dice>, events: Vec<Event>) -> Vec<Said> {
        let actions = events.into_iter().flat_map(|event| collector.step(Now::default(), event).unwrap());
        actions.collect::<Vec<_>>().iter().map(said).collect()
    }

    #[test]
    fn a_frame_that_comes_twice_in_one_group_is_stored_once() {
        let mut collector = collector(&disk(), Limits::default());
        let events = vec![opened(0, &[(0, 4), (0, 4)]), opened(1, &[(0, 4), (0, 3)]), Event::Commit];
        let said = run(&mut collector, events);
        assert_eq!(said, [(1, 1, 0, vec![(0, 0, 5)]), (1, 1, 0, vec![(0, 1, 5)])]);
        assert_eq!(collector.stored(NODE, 0).unwrap().iter().collect::<Vec<_>>(), [3, 4]);
        assert_eq!(collector.stats().records, 3, "two frames and a reservation");
    }

    #[test]
    fn an_acknowledgement_follows_from_its_batch_alone() {
        let disk = disk();
        let mut first = collector(&disk, Limits::default());
        run(&mut first, vec![opened(0, &[(0, 0)]), opened(1, &[(0, 1)]), Event::Commit]);
        let mut second = collector(&disk, Limits::default());
        let said = run(&mut second, vec![opened(0, &[(0, 0)]), Event::Commit]);
        assert_eq!(said[0].2, 0);
        let (epoch, count, acknowledged) = said[0].3[0];
        assert_eq!((epoch, acknowledged), (0, 1), "not 2, though count 1 is stored");
        assert!(count >= 256, "the restart went on behind what was reserved");
    }

    #[test]
    fn a_node_that_changed_its_epoch_is_answered_in_the_new_one() {
        let mut collector = collector(&disk(), Limits::default());
        let said = run(&mut collector, vec![opened(0, &[(1, 0), (0, 900)]), Event::Commit]);
        assert_eq!(said, [(2, 0, 0, vec![(1, 0, 1)])]);
    }

    /// A collector on `disk` that tells another epoch after three frames, and the number of epochs taken so far.
    fn changing(disk: &SimDisk, taken: &Arc<AtomicU16>) -> Collector<SimDisk, Dice> {
        let taken = taken.clone();
        let take = move |_| Ok(u8::try_from(taken.fetch_add(1, Ordering::Relaxed)).ok());
        Collector::open(disk.clone(), ring_with(Some(3), take), Limits::default(), Dice::new(2)).unwrap()
    }

    /// Batch `number` with these frames in a group of its own: stored, failed, and what its node is told.
    fn tell(
        collector: &mut Collector<SimDisk, Dice>,
        number: u64,
        frames: &[(u8, u32)],
    ) -> (u16, u16, u8, u32) {
        let said = run(collector, vec![opened(number, frames), Event::Commit]).remove(0);
        assert_eq!(said.3.len(), 1);
        (said.0, said.2, said.3[0].0, said.3[0].2)
    }

    #[test]
    fn a_change_is_told_over_restarts_until_a_frame_of_the_new_epoch_is_stored() {
        let (disk, taken) = (disk(), Arc::new(AtomicU16::new(4)));
        let mut collector = changing(&disk, &taken);
        assert_eq!(tell(&mut collector, 0, &[(3, 10), (3, 11)]), (2, 0, 3, 12));
        assert_eq!(tell(&mut collector, 1, &[(3, 12)]), (1, 0, 3, 13 + 4 * TOLD));
        for (number, count) in (2..).zip(13..40) {
            if number % 3 == 0 {
                collector = changing(&disk, &taken);
            }
            let told = (1, 0, 3, count + 1 + 4 * TOLD);
            assert_eq!(tell(&mut collector, number, &[(3, count)]), told, "lost on the bus");
        }
        assert_eq!(taken.load(Ordering::Relaxed), 5, "one epoch was taken");
        collector = changing(&disk, &taken);
        // What was sealed before comes late, and beside what was sealed behind.
        assert_eq!(tell(&mut collector, 30, &[(4, 43), (3, 41)]), (2, 0, 4, 44));
        assert_eq!(tell(&mut collector, 31, &[(3, 42)]), (1, 0, 4, 43), "it listens in the new one");
        collector = changing(&disk, &taken);
        assert_eq!(tell(&mut collector, 32, &[(3, 44), (4, 45)]), (1, 1, 4, 46), "the old epoch is over");
        assert_eq!(collector.stats().frames_failed["epoch-over"], 1);
        assert_eq!(tell(&mut collector, 33, &[(3, 41), (4, 46)]), (1, 0, 4, 47 + 5 * TOLD), "the next one");
    }

    #[test]
    fn what_a_node_is_told_does_not_depend_on_how_batches_are_grouped() {
        let batches: [&[(u8, u32)]; 6] =
            [&[(0, 0), (0, 1)], &[(0, 2)], &[(0, 3)], &[(1, 4), (0, 5)], &[(1, 6)], &[(1, 7)]];
        let says = |cuts: u32| {
            let mut collector = changing(&disk(), &Arc::new(AtomicU16::new(1)));
            let mut events = Vec::new();
            for (number, frames) in (0..).zip(batches) {
                events.push(opened(number, frames));
                // A node does not hear of a change before the group ends in which it began.
                if cuts & 1 << number != 0 || number == 2 || number == 5 {
                    events.push(Event::Commit);
                }
            }
            run(&mut collector, events)
        };
        let expected = says(0);
        let told: Vec<u32> = expected.iter().map(|said| said.3[0].2).collect();
        assert_eq!(told, [2, 3 + TOLD, 4 + TOLD, 5, 7, 8 + 2 * TOLD]);
        for cuts in 1..64 {
            assert_eq!(says(cuts), expected, "{cuts:#b}");
        }
    }

    #[test]
    fn a_node_whose_epochs_are_used_up_is_acknowledged_for_ever() {
        let taken = Arc::new(AtomicU16::new(256));
        let mut collector = changing(&disk(), &taken);
        for count in 0..8 {
            assert_eq!(tell(&mut collector, count.into(), &[(255, count)]), (1, 0, 255, count + 1));
        }
        assert_eq!(taken.load(Ordering::Relaxed), 257, "it was asked for once");
    }

    #[test]
    fn a_counter_that_is_too_old_to_be_judged_fails_by_name() {
        let limits = Limits { counter_ranges_max: 2, ..Limits::default() };
        let mut collector = collector(&disk(), limits);
        let said = run(&mut collector, vec![opened(0, &[(0, 0), (0, 2), (0, 4), (0, 6)]), Event::Commit]);
        assert_eq!((said[0].0, said[0].2), (4, 0));
        let said = run(&mut collector, vec![opened(1, &[(0, 1), (0, 4)]), Event::Commit]);
        assert_eq!(said[0], (0, 1, 1, vec![(0, 1, 5)]));
        assert_eq!(collector.stats().frames_failed["too-old"], 1);
    }

    #[test]
    fn a_used_up_downlink_counter_is_never_used_again() {
        let disk = disk();
        let mut first = collector(&disk, Limits::default());
        let last = Body::Reservation(Reservation { node: NODE, epoch: 0, limit: COUNT_MAX });
        assert_eq!(first.store.commit(&[last.to_bytes()], 0).unwrap(), Commit::Durable);
        for restart in 0..2 {
            let mut collector = collector(&disk, Limits::default());
            let events = vec![opened(0, &[(0, 0)]), opened(1, &[(0, 1)]), Event::Commit];
            let downlinks: Vec<_> = run(&mut collector, events).into_iter().map(|said| said.3).collect();
            let last = if restart == 0 { vec![(0, COUNT_MAX, 1)] } else { vec![] };
            assert_eq!(downlinks, [last, vec![]]);
            assert_eq!(collector.stats().downlinks_exhausted, 1 + restart);
        }
    }

    #[test]
    fn a_full_group_is_committed_without_being_asked() {
        let limits = Limits { group_batches_max: 2, ..Limits::default() };
        let mut collector = collector(&disk(), limits);
        assert!(collector.step(Now::default(), opened(0, &[(0, 0)])).unwrap().is_empty());
        assert_eq!(collector.step(Now::default(), opened(1, &[(0, 1)])).unwrap().len(), 2);
        assert!(collector.step(Now::default(), Event::Commit).unwrap().is_empty());
        assert_eq!(collector.stats().groups, 1);
    }

    #[test]
    fn a_store_with_a_counter_twice_is_not_opened() {
        let disk = disk();
        let mut first = collector(&disk, Limits::default());
        let Event::Opened(batch) = opened(0, &[(0, 0)]) else { unreachable!() };
        let body = Body::Frame(batch.frames.unwrap().outcomes.remove(0).unwrap());
        assert_eq!(first.store.commit(&[body.to_bytes(), body.to_bytes()], 0).unwrap(), Commit::Durable);
        let opened = Collector::open(disk, ring(), Limits::default(), Dice::new(2));
        assert!(matches!(opened.map(drop), Err(Error::Corrupt { what: Corruption::Repeated, .. })));
    }
}
