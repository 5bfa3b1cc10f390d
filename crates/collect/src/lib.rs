//! The measurement server: opens every frame, stores it durably, and only then says so.
//!
//! The story, from the socket down:
//! 1. [`mod@serve`] is handed batches by a transport: `tcp` with TLS (`session` keeps each connection's rules), `udp`;
//!    [`nats`] does it for several servers that share the nodes;
//! 2. [`shard`] opens batches and their frames on every core, as many frames at once as the ciphers take;
//! 3. [`Collector::step`], in this file, sorts the frames into new, duplicate and failed ([`replay`]),
//!    gathers everything that arrived meanwhile into one group, has it made durable, and answers with
//!    receipts;
//! 4. [`store`] appends the group to a segment ([`segment`], [`record`]) and syncs it on a [`disk`].
//!
//! `step` takes an opened batch, or the end of a group, and returns what is to be sent. It draws no time and
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
use zeroize::Zeroizing;

use crate::aes::Backend;
use crate::anchor::Anchor;
use crate::batch::{Answer, BatchId, Receipt, Seal};
use crate::disk::Disk;
use crate::epochs::{Epochs, Joined};
use crate::error::{Corruption, Error, Fault, Refusal};
use crate::frame::{DIRECTION_BIT, Header, Setting};
use crate::keys::{KeyRing, Present, Standing};
use crate::limits::{COUNT_MAX, Limits, RECORD_OVERHEAD_BYTES, SMALL_RECORD_BYTES_MAX};
use crate::live::{Brought, Live};
use crate::nats::Fence;
use crate::orders::Orders;
use crate::plaintext::Plaintext;
use crate::record::{Body, Change, Lease, Record, Reservation};
use crate::replay::{Admission, Replay};
use crate::shard::{Authentic, Frames, Now, Opened, Opening};
use crate::spare::{ask, spare_epoch};
use crate::stats::{Counter, Passage, Stats};
use crate::store::{Commit, Store};
use crate::traffic::{Traffic, Unsealed};

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

/// What arrived since the last commit.
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
        epochs.commit();
        orders.commit();
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
        self.epochs.commit();
        (self.lease, self.fence) = (Some(lease), Some(fence));
        Ok(self)
    }

    /// One step. A group that is full is committed before the next batch joins it.
    ///
    /// # Errors
    /// [`Error::Io`]: the store is dead, nothing more may be sent, and the process should end.
    pub fn step(&mut self, now: Now, event: Event) -> Result<Vec<Action>, Error> {
        self.step_until(now, event, || ())
    }

    /// The same; `is_durable` is called as soon as a group is, before its receipts are sealed.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn step_until(
        &mut self,
        now: Now,
        event: Event,
        is_durable: impl FnOnce(),
    ) -> Result<Vec<Action>, Error> {
        match event {
            Event::Opened(opened) => {
                self.take(opened);
                let full = self.group.batches.len() >= self.limits.group_batches_max
                    || self.group.bytes >= self.limits.group_bytes_max;
                if full { self.commit(now, is_durable) } else { Ok(Vec::new()) }
            }
            Event::Commit => self.commit(now, is_durable),
        }
    }

    /// Counts how long the receipts among `actions` took, which a step returned that was taken at `commit_ns`; the group was
    /// durable at `durable_ns`, and the step returned at `sealed_ns`.
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

    fn take(&mut self, opened: Opened) {
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

    /// Makes the group durable and answers its batches, in order.
    fn commit(&mut self, now: Now, is_durable: impl FnOnce()) -> Result<Vec<Action>, Error> {
        self.is_fence_away = false;
        // What cannot be noted now is noted with the next group.
        while let (Some(fence), Some(entry)) = (&mut self.fence, self.unnoted.first_entry()) {
            let &(node, epoch) = entry.key();
            match fence.enter(node, epoch, *entry.get()) {
                Ok(()) => drop(entry.remove()),
                Err(_) => {
                    self.is_fence_away = true;
                    break;
                }
            }
        }
        for change in self.begin_changes()? {
            self.group.push_body(&Body::Change(change));
        }
        let reservations = self.reserve();
        for reservation in &reservations {
            self.group.push_body(&Body::Reservation(*reservation));
        }
        let batches = std::mem::take(&mut self.group.batches);
        let commit = self.commit_group(now, &reservations, is_durable)?;
        let mut sealed = self.seal_downlinks(&batches, commit).into_iter();
        batches.into_iter().map(|waiting| self.answer(waiting, commit, &mut sealed)).collect()
    }

    /// The downlink frames for all nodes that the batches of a group heard, each batch's after the other's: sealed
    /// together.
    fn seal_downlinks(&mut self, batches: &[Waiting], commit: Commit) -> Vec<Vec<Vec<u8>>> {
        if commit == Commit::Full {
            return Vec::new();
        }
        let tallies = batches.iter().filter_map(|waiting| waiting.tally.as_ref().ok());
        let heard = tallies.map(|tally| tally.heard.iter());
        let told: Vec<Vec<(Header, Zeroizing<Vec<u8>>)>> = heard
            .map(|heard| heard.filter_map(|(&node, &heard)| self.downlink(node, heard)).collect())
            .collect();
        let unsealed = told.iter().flatten().map(|(header, plaintext)| {
            let traffic = self.downlinks[&(header.node, header.epoch)].traffic.as_ref();
            Unsealed { traffic: traffic.expect("it was set up"), header: *header, plaintext }
        });
        let sealed = traffic::seal_all(self.backend, &unsealed.collect::<Vec<_>>());
        let mut sealed = sealed.into_iter();
        told.iter().map(|told| sealed.by_ref().take(told.len()).collect()).collect()
    }

    /// Makes the group's records durable, these reservations among them.
    fn commit_group(
        &mut self,
        now: Now,
        reservations: &[Reservation],
        is_durable: impl FnOnce(),
    ) -> Result<Commit, Error> {
        let Group { plaintexts, records, is_anchored, .. } = std::mem::take(&mut self.group);
        let bodies: Vec<&[u8]> =
            records.into_iter().map(|(plaintext, record)| &plaintexts[plaintext][record]).collect();
        let commit = match bodies.is_empty() {
            // Refusals, and duplicates of what earlier groups made durable.
            true => Commit::Durable,
            false => {
                let lease = self.lease.map(Body::Lease);
                let known = || {
                    let state = checkpoint(&self.replay, &self.epochs, &self.orders, &self.downlinks);
                    lease.clone().into_iter().chain(state).collect()
                };
                self.store.commit(&bodies, now.monotonic_ns, known)?
            }
        };
        match commit {
            Commit::Durable => {
                self.replay.commit();
                self.epochs.commit();
                self.orders.commit();
                for &Reservation { node, epoch, limit } in reservations {
                    self.downlinks.entry((node, epoch)).or_default().limit = limit;
                }
                let is_noted = self.move_anchor(now.monotonic_ns, is_anchored)?;
                is_durable();
                self.counter.stats.groups += u64::from(!bodies.is_empty());
                self.counter.stats.records += bodies.len() as u64;
                self.live.draw(&bodies);
                if !is_noted {
                    // What is in these batches comes again, and is known then.
                    return Ok(Commit::Full);
                }
            }
            Commit::Full => {
                self.replay.abort();
                self.epochs.abort();
                self.orders.abort();
            }
        }
        Ok(commit)
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

    /// Begins the changes that are due since a batch of the group, and says in its tallies which they are. The spare epoch
    /// of a change is kept until its record is durable: a disk that stays full costs one.
    fn begin_changes(&mut self) -> Result<Vec<Change>, Error> {
        let mut changes = Vec::new();
        let tallies = self.group.batches.iter_mut().filter_map(|waiting| waiting.tally.as_mut().ok());
        for (&node, heard) in tallies.flat_map(|tally| &mut tally.heard).filter(|(_, heard)| heard.is_due) {
            let frames_max = self.keys.node(node).and_then(|node| node.epoch_frames);
            if let Some(epoch) = self.epochs.due(node, frames_max) {
                let fence = self.fence.as_deref_mut().map(|fence| (fence, &mut self.is_fence_away));
                let next = spare_epoch(&self.keys, &mut self.spare, fence, node, epoch)?;
                let Some(next) = next else { continue };
                let change = Change { node, epoch, next };
                self.epochs.begin(change);
                changes.push(change);
            }
            heard.change = self.epochs.pending(node).filter(|&next| next > heard.epoch);
        }
        Ok(changes)
    }

    /// The reservations that the group's acknowledgements need. What a fence gives begins where it says.
    fn reserve(&mut self) -> Vec<Reservation> {
        let mut needed: BTreeMap<(u32, u8), u32> = BTreeMap::new();
        let tallies = self.group.batches.iter().filter_map(|waiting| waiting.tally.as_ref().ok());
        let keys = &self.keys;
        let is_told = |node| keys.node(node).is_some_and(keys::Node::is_authenticated);
        for (&node, heard) in tallies.flat_map(|tally| &tally.heard).filter(|(node, _)| is_told(**node)) {
            *needed.entry((node, heard.epoch)).or_default() += 1;
        }
        let (block, downlinks) = (self.limits.downlink_block, &mut self.downlinks);
        let is_away = &mut self.is_fence_away;
        let limit_of = |((node, epoch), count): ((u32, u8), u32)| {
            if let Some(fence) = &mut self.fence {
                let downlink = downlinks.entry((node, epoch)).or_default();
                if downlink.limit.saturating_sub(downlink.next) >= count {
                    return None;
                }
                // Who cannot be asked gives nothing: those downlinks are not sent.
                let given = ask(is_away, || fence.take_downlinks(node, epoch, count + block))?;
                (downlink.next, downlink.limit) = (given.start, given.start);
                return Some(Reservation { node, epoch, limit: given.end });
            }
            let (next, limit) = downlinks.get(&(node, epoch)).map_or((0, 0), |d| (d.next, d.limit));
            let end = next.saturating_add(count);
            // A used-up counter stays at its end, and `downlink` finds nothing left.
            let reserved = end.saturating_add(block).min(COUNT_MAX + 1);
            (end > limit && reserved > limit).then_some(Reservation { node, epoch, limit: reserved })
        };
        needed.into_iter().filter_map(limit_of).collect()
    }

    /// The answer to a batch; `sealed` begins with its downlink frames, if it gets a receipt.
    fn answer(
        &mut self,
        waiting: Waiting,
        commit: Commit,
        sealed: &mut impl Iterator<Item = Vec<Vec<u8>>>,
    ) -> Result<Action, Error> {
        let Waiting { connection, at: arrived, opening, id, tally } = waiting;
        let tally = match (tally, commit) {
            (Ok(tally), Commit::Durable) => Ok(tally),
            (Ok(_), Commit::Full) => Err(Refusal::DiskFull),
            (Err(refusal), _) => Err(refusal),
        };
        let answer = match tally {
            Ok(tally) => {
                self.live.hear(id.cell, arrived, &tally.heard, &tally.brought);
                let downlinks = sealed.next().expect("the downlinks of each tally were sealed");
                Answer::Receipt { id, sealed: self.receipt(&id, tally, downlinks)? }
            }
            Err(refusal) => {
                self.counter.refuse(refusal);
                Answer::Refused { id, status: refusal.number() }
            }
        };
        Ok(Action::Send { connection, arrived, opening, answer })
    }

    /// The sealed part of the receipt for a batch that is durable: nonce, ciphertext, tag.
    fn receipt(&mut self, id: &BatchId, tally: Tally, downlinks: Vec<Vec<u8>>) -> Result<Vec<u8>, Error> {
        self.counter.stats.batches += 1;
        self.counter.stats.frames_stored += u64::from(tally.stored);
        self.counter.stats.frames_duplicate += u64::from(tally.duplicate);
        self.counter.stats.frames_unauthenticated += u64::from(tally.unauthenticated);
        let mut failed = BTreeMap::new();
        for fault in tally.failed {
            self.counter.fail(fault);
            *failed.entry(fault.number()).or_default() += 1;
        }
        let receipt = Receipt {
            downlinks,
            batch: tally.seal,
            stored: tally.stored,
            duplicate: tally.duplicate,
            failed,
        };
        let cell = self.keys.cell(id.cell).expect("an authentic batch has a cell");
        let nonce = self.nonces.draw().map_err(Error::io("draw randomness for", "receipts"))?;
        let mut sealed = nonce.to_vec();
        sealed.extend_from_slice(&receipt.to_bytes());
        cell.receipt.seal_tail(&nonce, &id.answer_header(), &mut sealed, nonce.len());
        Ok(sealed)
    }

    /// Header and plaintext of the downlink frame for a node: it acknowledges all counts up to the highest that was heard,
    /// and tells its setting or its change of the epoch, in turn where there are both; `None` when the counter is used up,
    /// or a fence gave none, and for a node that is told nothing.
    ///
    /// A node sends its counts once and in order, so those below that are not stored were lost on the bus or
    /// lie in the bridge's spool: the node will never send them again. It follows from the batch alone, so a
    /// batch that is sent again is answered with the same words.
    fn downlink(&mut self, node: u32, heard: Heard) -> Option<(Header, Zeroizing<Vec<u8>>)> {
        let Heard { epoch, count, setting, change, .. } = heard;
        let provisioned = self.keys.node(node).expect("an authentic frame has a node");
        if !provisioned.is_authenticated() {
            return None;
        }
        let downlink = self.downlinks.get_mut(&(node, epoch)).filter(|downlink| downlink.next <= COUNT_MAX);
        let Some(downlink) = downlink else {
            self.counter.stats.downlinks_exhausted += 1;
            return None;
        };
        if self.fence.is_some() && downlink.next >= downlink.limit {
            self.counter.stats.downlinks_unfenced += 1;
            return None;
        }
        assert!(downlink.next < downlink.limit, "a downlink counter is used before it is reserved");
        let (counter, downlink_ones) = (DIRECTION_BIT | downlink.next, downlink.next.count_ones());
        downlink.next += 1;
        let suite = provisioned.suite;
        let key_of = |epoch| provisioned.master.traffic_key(node, epoch, suite);
        downlink.traffic.get_or_insert_with(|| Traffic::new(self.backend, &key_of(epoch)));
        let header = Header { suite, node, epoch, counter };
        let stats = &mut self.counter.stats;
        stats.downlinks += 1;
        // By the ones of the count: a node that hears every second answer only, or every eighth, hears both as well.
        let setting = setting.filter(|_| change.is_none() || downlink_ones.is_multiple_of(2));
        let plaintext = match (setting, change) {
            (Some(setting), _) => {
                stats.settings_told += 1;
                frame::setting(count + 1, setting).to_vec()
            }
            (None, Some(next)) => {
                stats.changes_told += 1;
                frame::change(count + 1, &key_of(next)).to_vec()
            }
            (None, None) => frame::acknowledgement(count + 1).to_vec(),
        };
        Some((header, Zeroizing::new(plaintext)))
    }
}

/// What is known from all that is durable, for the next segment to begin with.
fn checkpoint(
    replay: &Replay,
    epochs: &Epochs,
    orders: &Orders,
    downlinks: &HashMap<(u32, u8), Downlink>,
) -> Vec<Body> {
    let reserved = downlinks.iter().filter(|(_, downlink)| downlink.limit > 0);
    let mut reserved: Vec<Reservation> = reserved
        .map(|(&(node, epoch), &Downlink { limit, .. })| Reservation { node, epoch, limit })
        .collect();
    reserved.sort_unstable_by_key(|reservation| (reservation.node, reservation.epoch));
    let counters = replay.checkpoint().into_iter().map(Body::Counters);
    let epochs = epochs.checkpoint().into_iter().map(Body::Epoch);
    let orders = orders.checkpoint().into_iter().map(Body::Order);
    counters.chain(epochs).chain(orders).chain(reserved.into_iter().map(Body::Reservation)).collect()
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
