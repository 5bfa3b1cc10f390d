//! The measurement server: opens every frame, stores it durably, and only then says so.
//!
//! The story, from the socket down:
//! 1. [`mod@serve`] is handed batches by a transport: `tcp` with TLS (`session` keeps each connection's rules), `udp`;
//!    [`nats`] does it for several servers that share the nodes;
//! 2. [`shard`] opens batches and their frames on every core, as many frames at once as the ciphers take;
//! 3. [`Collector::step`], in this file, sorts the frames into new, duplicate and failed ([`replay`]) and
//!    gathers everything that arrived meanwhile into one group; `commit` has it made durable, and answers
//!    with receipts;
//! 4. [`store`] appends the group to a segment ([`segment`], [`record`]) and syncs it on a [`disk`].
//!
//! `step` takes an opened batch, or the end of a group, and returns what is to be sent; `commit` has its parts, between which
//! a server does other things. None of them draws time or
//! opens no socket, so that a seed replays a whole run with power cuts ([`sim`]), while `serve` runs the same
//! code on the real disk. [`batch`] and [`frame`] draw what travels; [`client`] is the bridge's side of it.
//!
//! What a person asks while the server runs is in [`orders`], what people see of it in [`live`]. What its threads are given is
//! in [`realtime`], what was counted in [`stats`]; [`mod@load`] is what a benchmark sends.
//!
//! [`mod@ascon`] and [`mod@aes`] are ciphers that take many messages, or many cores, at once; [`convert`] makes bytes of
//! samples.
//!
//! Invariant: a receipt leaves only after every record that it speaks of was synced, those of earlier batches
//! included.
//!
//! Invariant: a key leaves in a change of the epoch only after the record of the change was synced ([`mod@epochs`]).
//!
//! Invariant: a downlink counter is used only below a reservation that was synced, and never twice; where several
//! servers answer a node, a fence ([`nats`]) gives each counter to one of them.

pub mod aes;
pub mod anchor;
pub mod ascon;
pub mod batch;
pub mod client;
mod commit;
pub mod control;
pub mod convert;
pub mod disk;
mod epochs;
pub mod error;
pub mod export;
pub mod frame;
mod group;
mod index;
pub mod keys;
pub mod limits;
pub mod live;
pub mod load;
pub mod nats;
pub mod orders;
pub mod plaintext;
pub mod read;
pub mod realtime;
pub mod record;
pub mod replay;
pub mod segment;
pub mod serve;
pub mod session;
pub mod settings;
pub mod shard;
pub mod sim;
mod spare;
pub mod stats;
pub mod store;
mod tcp;
pub mod tls;
mod traffic;
pub mod udp;
pub mod waveform;

pub use serve::{Config, Transport, serve};

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::ops::Range;
use std::sync::Arc;

use cipher::{NonceSource, Randomness};

use crate::aes::Backend;
use crate::anchor::Anchor;
use crate::batch::{Answer, BatchId, Seal};
use crate::disk::Disk;
use crate::epochs::{Epochs, Joined};
use crate::error::{Corruption, Error, Fault, Refusal};
use crate::frame::Setting;
use crate::keys::{KeyRing, Present, Standing};
use crate::limits::{Limits, RECORD_OVERHEAD_BYTES, SMALL_RECORD_BYTES_MAX};
use crate::live::{Brought, Live};
use crate::nats::Fence;
use crate::orders::Orders;
use crate::plaintext::Plaintext;
use crate::record::{Body, Lease, Record, Reservation};
use crate::replay::{Admission, Replay};
use crate::shard::{Authentic, Frames, Now, Opened, Opening};
use crate::stats::{Counter, Passage, Stats};
use crate::store::Store;
use crate::traffic::Traffic;

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
        /// When it was opened.
        opening: Opening,
        /// The answer.
        answer: Answer,
    },
}

/// The state of the server: its store, what is stored in it, and the group that is being gathered.
pub struct Collector<D: Disk, R: Randomness> {
    keys: Arc<KeyRing>,
    backend: Backend,
    limits: Limits,
    store: Store<D, R>,
    replay: Replay,
    epochs: Epochs,
    orders: Orders,
    standings: HashMap<u32, Standing>,
    /// Epochs that were taken for a node and not told yet; `None` = there are none.
    spare: HashMap<u32, Option<u8>>,
    downlinks: HashMap<(u32, u8), Downlink>,
    nonces: NonceSource<R>,
    /// The note of how far the store has come, and when it was made.
    anchored: (Option<Anchor>, u64),
    /// What must not be forgotten is stored and not noted yet: nothing is told before it is.
    owes_anchor: bool,
    group: Group,
    /// The group before it has not landed.
    is_under_way: bool,
    counter: Counter,
    live: Live,
    lease: Option<Lease>,
    /// Where several servers answer a node: who gives out what may be used once.
    fence: Option<Box<dyn Fence>>,
    /// It could not be asked since the group's end began.
    is_fence_away: bool,
    /// From which count on nodes are in epochs that they were told, where the fence is still to be told.
    unnoted: BTreeMap<(u32, u8), u32>,
}

/// The downlink counter of one node and epoch.
#[derive(Debug, Default)]
struct Downlink {
    next: u32,
    /// Counters below it are reserved in the log.
    limit: u32,
    traffic: Option<Traffic>,
}

/// What arrived since the last group was begun.
#[derive(Debug, Default)]
struct Group {
    batches: Vec<Waiting>,
    /// Plaintexts of records.
    plaintexts: Vec<Plaintext>,
    /// The records that are stored, in order: which plaintext, and where in it.
    records: Vec<(usize, Range<usize>)>,
    /// Some of them must never be forgotten.
    is_anchored: bool,
    /// Upper bound of what the group will take in the log.
    bytes: usize,
}

/// A batch whose answer waits for the sync.
#[derive(Debug)]
struct Waiting {
    connection: u64,
    at: Now,
    opening: Opening,
    id: BatchId,
    tally: Result<Tally, Refusal>,
}

#[derive(Debug)]
struct Tally {
    seal: Seal,
    stored: u16,
    duplicate: u16,
    failed: Vec<Fault>,
    /// Of the stored ones, those that no tag vouches for.
    unauthenticated: u16,
    heard: BTreeMap<u32, Heard>,
    /// What was new, by node and row of epochs.
    brought: BTreeMap<(u32, u8), Brought>,
}

impl Tally {
    /// Nothing of this batch yet.
    fn of(seal: Seal) -> Tally {
        let (failed, heard, brought) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        Tally { seal, stored: 0, duplicate: 0, failed, unauthenticated: 0, heard, brought }
    }
}

/// What was heard of a node with an authentic frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Heard {
    /// The latest epoch; from the end of the batch on, the one in which it is answered.
    epoch: u8,
    /// The highest count in it.
    count: u32,
    /// The setting that it is told.
    setting: Option<Setting>,
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
        let (mut epochs, mut orders) = (Epochs::default(), Orders::default());
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
            Body::Counters(counters) if replay.restore_ranges(&counters) => Ok(()),
            Body::Counters(_) => Err(Corruption::Repeated),
            Body::Epoch(epoch) => {
                epochs.restore(epoch);
                Ok(())
            }
            Body::Order(ordered) => {
                orders.restore(ordered);
                Ok(())
            }
            Body::Span(_) | Body::Lease(_) | Body::Clock(_) => Ok(()),
        };
        let Present { store, standings } = keys.present().map_err(Error::io("read", "keys"))?;
        let anchored = keys.anchored();
        // Before anything is touched: what was put back stays as it is.
        anchored.map(|anchor| anchor::check(&disk, &store, anchor)).transpose()?;
        let store = Store::open(disk, store, &limits, randomness.clone(), visit)?;
        epochs.keep();
        orders.keep();
        let nonces = NonceSource::new(randomness).map_err(Error::io("draw randomness for", "receipts"))?;
        let (spare, group, mut counter) =
            (HashMap::new(), Group::default(), Counter::new(limits.deadline_ns));
        counter.stats.torn_bytes = store.torn_bytes();
        counter.stats.torn_tails = u64::from(store.torn_bytes() > 0);
        let live = Live::behind(&replay, &epochs);
        Ok(Collector {
            keys,
            backend: Backend::best(),
            limits,
            store,
            replay,
            epochs,
            orders,
            standings,
            spare,
            downlinks,
            nonces,
            anchored: (None, 0),
            owes_anchor: false,
            group,
            is_under_way: false,
            counter,
            live,
            lease: None,
            fence: None,
            is_fence_away: false,
            unnoted: BTreeMap::new(),
        })
    }

    /// The same for a log of several, which is written under `lease`, with what the fence knows of epochs: who had the
    /// partition before told nodes to change, and heard where they did.
    ///
    /// # Errors
    /// That the fence cannot be asked now.
    pub(crate) fn under(mut self, lease: Lease, mut fence: Box<dyn Fence>) -> io::Result<Self> {
        let known = fence.epochs()?;
        known
            .into_iter()
            .filter(|of| self.keys.node(of.node).is_some())
            .for_each(|of| self.epochs.restore(of));
        self.epochs.keep();
        (self.lease, self.fence) = (Some(lease), Some(fence));
        Ok(self)
    }

    /// One step. A group that is full is committed before the next batch joins it.
    ///
    /// # Errors
    /// [`Error::Io`]: the store is dead, nothing more may be sent, and the process should end.
    pub fn step(&mut self, now: Now, event: Event) -> Result<Vec<Action>, Error> {
        match event {
            Event::Opened(opened) => {
                self.take(opened);
                if self.is_full() { self.commit(now) } else { Ok(Vec::new()) }
            }
            Event::Commit => self.commit(now),
        }
    }

    /// Counts how long the receipts among `actions` took, which are the answers to a group that was begun at `commit_ns` and
    /// durable at `durable_ns`; they were sealed at `sealed_ns`.
    pub fn measure(&mut self, commit_ns: u64, durable_ns: u64, sealed_ns: u64, actions: &[Action]) {
        for Action::Send { arrived, opening, answer, .. } in actions {
            if matches!(answer, Answer::Receipt { .. }) {
                let (arrived_ns, opening_ns) = (arrived.monotonic_ns, opening.begin_ns);
                let opened_ns = opening.end_ns;
                let passage = Passage { arrived_ns, opening_ns, opened_ns, commit_ns, durable_ns, sealed_ns };
                self.counter.durable(&passage);
            }
        }
        // Nothing was counted but with an answer.
        if !actions.is_empty() {
            self.live.tick(sealed_ns, &self.counter.stats);
        }
    }

    /// What was counted so far.
    pub fn stats(&self) -> Stats {
        let (ranges, forgotten) = (self.replay.ranges() as u64, self.replay.forgotten());
        Stats { counter_ranges: ranges, counter_ranges_forgotten: forgotten, ..self.counter.stats() }
    }

    /// What is stored of a node and epoch.
    pub fn stored(&self, node: u32, epoch: u8) -> Option<&crate::replay::CounterSet> {
        self.replay.stored(node, epoch)
    }

    /// A batch joins the open group.
    pub(crate) fn take(&mut self, opened: Opened) {
        let Opened { connection, at, opening, id, frames } = opened;
        let tally = match frames {
            Ok(frames) if frames.outcomes.len() > self.limits.batch_frames_max => Err(Refusal::Frames),
            Ok(frames) if frames.bytes > self.limits.batch_bytes_max => Err(Refusal::Bytes),
            Ok(frames) if !self.is_ours(&frames) => Err(Refusal::Partition),
            frames => frames.map(|frames| self.tally(frames)),
        };
        self.group.batches.push(Waiting { connection, at, opening, id, tally });
    }

    /// Whether all frames belong into this log. A batch can be published for another partition by anybody: were a copy
    /// stored there, what its owner does not know of closed epochs would be.
    fn is_ours(&self, frames: &Frames) -> bool {
        let Some(fence) = &self.fence else { return true };
        frames.outcomes.iter().flatten().all(|frame| fence.is_ours(frame.node))
    }

    /// Sorts a batch's frames into new, duplicate and failed; the new ones join the group.
    fn tally(&mut self, frames: Frames) -> Tally {
        let Frames { seal, outcomes, records, .. } = frames;
        self.group.plaintexts.push(records);
        let mut tally = Tally::of(seal);
        // The batch's plaintext stays the last one until all its frames are in the group.
        let mut orders = Vec::new();
        for outcome in outcomes {
            let Authentic { node, epoch, counter, first, channel, stride, record } = match outcome {
                Ok(authentic) => authentic,
                Err(fault) => {
                    tally.failed.push(fault);
                    continue;
                }
            };
            if let Some(fault) = self.refused(node, epoch, counter) {
                tally.failed.push(fault);
                continue;
            }
            // Only a node of a bus is told what it samples, and its indexes have 32 bits.
            let sampled = u32::try_from(first).ok().map(|first| Setting { first, channel, stride });
            match self.replay.admit(node, epoch, counter) {
                Admission::Old => {
                    tally.failed.push(Fault::Old);
                    continue;
                }
                Admission::Duplicate => tally.duplicate += 1,
                Admission::New => {
                    tally.stored += 1;
                    tally.unauthenticated += u16::from(!self.is_told(node));
                    let Joined { is_first, row } = self.epochs.store(node, epoch, counter);
                    if is_first && self.fence.is_some() {
                        // One of a group that was given up was heard all the same.
                        let unnoted = self.unnoted.entry((node, epoch)).or_insert(counter);
                        *unnoted = counter.min(*unnoted);
                    }
                    let is_late = self.live.is_late(node, row, counter);
                    let samples = self.group.samples(&record);
                    tally.brought.entry((node, row)).or_default().add(first, stride, samples, is_late);
                    self.group.push(record);
                    orders.extend(sampled.and_then(|sampled| self.orders.store(node, sampled)));
                }
            }
            let ordered = self.orders.of(node);
            let due =
                |node: &keys::Node| node.settings.due(sampled?, ordered).filter(|_| node.is_authenticated());
            let setting = self.keys.node(node).and_then(due);
            let now = Heard { epoch, count: counter, setting, change: None, is_due: false };
            let heard = tally.heard.entry(node).or_insert(now);
            *heard = now.max(*heard);
        }
        orders.into_iter().for_each(|ordered| self.group.push_body(&Body::Order(ordered)));
        for (&node, heard) in &mut tally.heard {
            let frames_max = self.keys.node(node).and_then(|node| node.epoch_frames);
            heard.epoch = self.epochs.listens(node, heard.epoch);
            heard.change = self.epochs.pending(node).filter(|&next| next > heard.epoch);
            heard.is_due = self.epochs.due(node, frames_max).is_some() && self.is_told(node);
        }
        // Each may need a reservation and a change.
        self.group.bytes += tally.heard.len() * 2 * SMALL_RECORD_BYTES_MAX;
        tally
    }

    /// Whether anything is sent down to a node: not where neither end can tell who sent it.
    fn is_told(&self, node: u32) -> bool {
        self.keys.node(node).is_some_and(keys::Node::is_authenticated)
    }

    /// Why a frame of this node is not taken, authentic as it is.
    fn refused(&self, node: u32, epoch: u8, counter: u32) -> Option<Fault> {
        let standing = self.standings.get(&node);
        if standing.is_some_and(|standing| standing.is_revoked) {
            return Some(Fault::Revoked);
        }
        let is_closed = standing.is_some_and(|standing| standing.closed.contains(&epoch));
        let fault = match is_closed {
            true => Fault::Closed,
            false if self.epochs.is_over(node, epoch, counter) => Fault::Over,
            false => return None,
        };
        // What is stored is, and is acknowledged again.
        (!self.replay.is_known(node, epoch, counter)).then_some(fault)
    }

    /// Ends it: how far the store has come is noted. Returns what was counted.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(crate) fn close(mut self) -> Result<Counter, Error> {
        self.store.end()?;
        // Without room for it the note is as old as after a power cut; nothing was told that it does not cover.
        self.move_anchor(0, true)?;
        let Stats { counter_ranges, counter_ranges_forgotten, .. } = self.stats();
        let stats = &mut self.counter.stats;
        (stats.counter_ranges, stats.counter_ranges_forgotten) = (counter_ranges, counter_ranges_forgotten);
        Ok(self.counter)
    }
}

impl Group {
    /// How many samples a record of the last plaintext has.
    fn samples(&self, record: &Range<usize>) -> usize {
        let plaintext = self.plaintexts.last().expect("it was put there");
        record::look(&plaintext[record.clone()])
            .map_or(0, |seen| seen.samples.len() / seen.format.sample_bytes())
    }

    /// Adds a record of the last plaintext.
    fn push(&mut self, record: Range<usize>) {
        self.bytes += record.len() + RECORD_OVERHEAD_BYTES;
        self.records.push((self.plaintexts.len() - 1, record));
    }

    /// Adds what is no frame, behind the frames of the last plaintext.
    fn push_body(&mut self, body: &Body) {
        let bytes = Plaintext::from(body.to_bytes());
        let record = 0..bytes.len();
        self.plaintexts.push(bytes);
        self.is_anchored = true;
        self.push(record);
    }
}

#[cfg(test)]
mod tests;
