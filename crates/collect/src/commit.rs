//! The end of a group, from its last batch to its answers: it is begun, is on its way to the disk, lands, and is answered.
//!
//! ```text
//! open group ── begin ──► Underway ── run ──► Underway ── land ──► Landed ── answers ──► receipts, refusals
//!                              (any thread)
//! ```
//! While it is under way the next group is open and takes batches. That one is begun when this one has landed, and this one
//! may be answered after that, so that the disk does not wait. When a group is given up, for want of room, so is the open
//! one: its frames were judged by what the other one holds, and what is sent again is judged again.
//!
//! Owns what a group is durable with, and what its batches are told. Leaves to `store` how it becomes durable, and to
//! `serve` which thread waits for the disk.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use cipher::Randomness;
use zeroize::Zeroizing;

use crate::batch::{Answer, BatchId, Receipt};
use crate::disk::Disk;
use crate::epochs::Epochs;
use crate::error::{Error, Refusal};
use crate::frame::{self, DIRECTION_BIT, Header};
use crate::keys;
use crate::limits::COUNT_MAX;
use crate::orders::Orders;
use crate::plaintext::Plaintext;
use crate::record::{Body, Change, Lease, Reservation};
use crate::replay::Replay;
use crate::shard::Now;
use crate::spare::{ask, spare_epoch};
use crate::store::{Commit, Writing};
use crate::traffic::{self, Traffic, Unsealed};
use crate::{Action, Collector, Downlink, Group, Heard, Tally, Waiting};

/// A group that is complete.
pub(crate) struct Underway<D: Disk> {
    /// When it was begun.
    begun: Now,
    group: Group,
    /// Those among its records.
    reservations: Vec<Reservation>,
    /// What is to be written; what became of it where nothing is.
    writing: Result<Writing<D>, Commit>,
}

/// A group of which it is known what became of it.
pub(crate) struct Landed {
    /// When it was begun.
    pub(crate) begun: Now,
    batches: Vec<Waiting>,
    pub(crate) commit: Commit,
    /// What each batch's nodes are told, where the group is durable.
    told: Vec<Vec<Untold>>,
    /// Wiped when it is answered: the disk does not wait for that.
    plaintexts: Vec<Plaintext>,
}

/// A downlink frame that is to be sealed.
type Untold = (Header, Zeroizing<Vec<u8>>);

impl<D: Disk> Underway<D> {
    /// Whether anything of it is to be written.
    pub(crate) fn has_writing(&self) -> bool {
        self.writing.is_ok()
    }

    /// Writes it: all that takes long.
    pub(crate) fn run(&mut self) {
        if let Ok(writing) = &mut self.writing {
            writing.run();
        }
    }
}

impl<D: Disk, R: Randomness + Clone> Collector<D, R> {
    /// Makes the group durable and answers its batches, in order.
    pub(crate) fn commit(&mut self, now: Now) -> Result<Vec<Action>, Error> {
        let mut underway = self.begin(now)?;
        underway.run();
        let landed = self.land(underway, || ())?;
        self.answers(landed)
    }

    /// Whether the open group takes no more batches.
    pub(crate) fn is_full(&self) -> bool {
        self.group.batches.len() >= self.limits.group_batches_max
            || self.group.bytes >= self.limits.group_bytes_max
    }

    /// Whether the next group is better begun before this one is answered: batches wait for the disk, and there is nobody to
    /// ask first, over whom receipts would wait.
    pub(crate) fn is_pressed(&self) -> bool {
        self.is_full() && self.fence.is_none()
    }

    /// Whether the open group has batches.
    pub(crate) fn has_group(&self) -> bool {
        !self.group.batches.is_empty()
    }

    /// The open group is complete, and sealed; the next one is open. The one before it has landed.
    ///
    /// # Errors
    /// [`Error::Io`], as of [`Collector::step`].
    pub(crate) fn begin(&mut self, now: Now) -> Result<Underway<D>, Error> {
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
        self.depart(now, reservations)
    }

    /// The open group as it is, these reservations among its records.
    pub(crate) fn depart(&mut self, now: Now, reservations: Vec<Reservation>) -> Result<Underway<D>, Error> {
        assert!(!self.is_under_way, "one group is under way at a time");
        self.is_under_way = true;
        self.replay.depart();
        self.epochs.depart();
        self.orders.depart();
        let group = std::mem::take(&mut self.group);
        let writing = match group.records.is_empty() {
            // Refusals, and duplicates of what earlier groups made durable.
            true => Err(Commit::Durable),
            false => {
                let known = || known(self.lease, &self.replay, &self.epochs, &self.orders, &self.downlinks);
                let writing = self.store.begin(&group.bodies(), now.monotonic_ns, known)?;
                writing.ok_or(Commit::Full)
            }
        };
        Ok(Underway { begun: now, group, reservations, writing })
    }

    /// What became of a group: its records are durable, or it is given up. `is_durable` is called as soon as it is.
    ///
    /// # Errors
    /// [`Error::Io`], as of [`Collector::step`].
    pub(crate) fn land(&mut self, underway: Underway<D>, is_durable: impl FnOnce()) -> Result<Landed, Error> {
        let Underway { begun, group, reservations, writing } = underway;
        let mut commit = match writing {
            Err(commit) => commit,
            Ok(writing) => {
                let known = || known(self.lease, &self.replay, &self.epochs, &self.orders, &self.downlinks);
                self.store.land(writing, &group.bodies(), known)?
            }
        };
        match commit {
            Commit::Durable => {
                self.replay.commit();
                self.epochs.commit();
                self.orders.commit();
                for &Reservation { node, epoch, limit } in &reservations {
                    self.downlinks.entry((node, epoch)).or_default().limit = limit;
                }
                let is_noted = self.move_anchor(begun.monotonic_ns, group.is_anchored)?;
                is_durable();
                let bodies = group.bodies();
                self.counter.stats.groups += u64::from(!bodies.is_empty());
                self.counter.stats.records += bodies.len() as u64;
                self.live.draw(&bodies);
                if !is_noted {
                    // What is in these batches comes again, and is known then.
                    commit = Commit::Full;
                }
            }
            Commit::Full => {
                self.replay.abort();
                self.epochs.abort();
                self.orders.abort();
                self.group.give_up();
            }
        }
        self.is_under_way = false;
        let Group { batches, plaintexts, .. } = group;
        // Before the next group reserves what it needs.
        let told = match commit {
            Commit::Durable => self.tell_batches(&batches),
            Commit::Full => Vec::new(),
        };
        Ok(Landed { begun, batches, commit, told, plaintexts })
    }

    /// The answers to a group's batches, in order.
    ///
    /// # Errors
    /// [`Error::Io`]: there is no randomness.
    pub(crate) fn answers(&mut self, landed: Landed) -> Result<Vec<Action>, Error> {
        let Landed { batches, commit, told, plaintexts, .. } = landed;
        drop(plaintexts);
        let mut sealed = self.seal_downlinks(&told).into_iter();
        batches.into_iter().map(|waiting| self.answer(waiting, commit, &mut sealed)).collect()
    }

    /// What the nodes are told that each of these batches heard.
    fn tell_batches(&mut self, batches: &[Waiting]) -> Vec<Vec<Untold>> {
        let tallies = batches.iter().filter_map(|waiting| waiting.tally.as_ref().ok());
        let heard = tallies.map(|tally| tally.heard.iter());
        heard.map(|heard| heard.filter_map(|(&node, &heard)| self.downlink(node, heard)).collect()).collect()
    }

    /// The downlink frames of all batches, sealed together.
    fn seal_downlinks(&self, told: &[Vec<Untold>]) -> Vec<Vec<Vec<u8>>> {
        let unsealed = told.iter().flatten().map(|(header, plaintext)| {
            let traffic = self.downlinks[&(header.node, header.epoch)].traffic.as_ref();
            Unsealed { traffic: traffic.expect("it was set up"), header: *header, plaintext }
        });
        let sealed = traffic::seal_all(self.backend, &unsealed.collect::<Vec<_>>());
        let mut sealed = sealed.into_iter();
        told.iter().map(|told| sealed.by_ref().take(told.len()).collect()).collect()
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

/// What is known from all that is durable, for the next segment to begin with: under which lease, first.
fn known(
    lease: Option<Lease>,
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
    let lease = lease.map(Body::Lease).into_iter();
    lease
        .chain(counters)
        .chain(epochs)
        .chain(orders)
        .chain(reserved.into_iter().map(Body::Reservation))
        .collect()
}

impl Group {
    /// The bodies of its records, in order.
    fn bodies(&self) -> Vec<&[u8]> {
        let body = |(plaintext, record): &(usize, Range<usize>)| &self.plaintexts[*plaintext][record.clone()];
        self.records.iter().map(body).collect()
    }

    /// All of its batches are refused: there is no room for what they refer to.
    fn give_up(&mut self) {
        let batches = self
            .batches
            .drain(..)
            .map(|waiting| Waiting { tally: waiting.tally.and(Err(Refusal::DiskFull)), ..waiting });
        *self = Group { batches: batches.collect(), ..Group::default() };
    }
}
