//! What a person ordered of nodes while the server ran: another input, another stride.
//!
//! An order is durable before it is answered. It holds for the node from the first frame on that is stored behind it, over
//! what the deployment sets before that frame's sample, and is told until a frame is of its input and stride; like what a
//! deployment sets, it is told again to a node that was reset (`settings`). A later order changes what it names and leaves
//! the rest.
//!
//! Owns the orders of all nodes, and those of the open group. Like the epochs (`epochs`) they follow from the log: each
//! change of an order is a record. A change of the epoch is no order here: it is `epochs`', whoever asked for it.

use cipher::Randomness;
use serde::{Deserialize, Serialize};

use crate::Collector;
use crate::disk::Disk;
use crate::error::Error;
use crate::frame::Setting;
use crate::group::PerNode;
use crate::limits::CHANNEL_MAX;
use crate::record::{Body, Change, Ordered};
use crate::shard::Now;
use crate::spare::spare_epoch;
use crate::store::Commit;

/// Nodes whose orders are made durable together: they take less of a segment than a group of frames may.
const TOLD_TOGETHER: usize = 4096;

/// What a person asks of the server while it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Read the keys again: nodes were revoked, epochs closed, or the store has another key.
    ReadKeys,
    /// Tell nodes something: all of these, or none.
    Tell {
        /// What to which node.
        orders: Vec<(u32, Order)>,
        /// Revoked nodes, and those that nobody has heard, are left out.
        leaves_out: bool,
    },
    /// Say what was told to whom.
    Status,
}

/// What a node can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Another input, another stride, or both.
    Set {
        /// Input of the converter.
        channel: Option<u8>,
        /// Every so manieth sample of its grid is taken; at least 1.
        stride: Option<u8>,
    },
    /// To go on to another epoch.
    ChangeEpoch,
}

/// What the server says to a [`Request`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// It is done, and durable; the nodes that were meant, with what they are told.
    Done(Vec<Told>),
    /// It is not.
    Refused(Reason),
}

/// Why nothing was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// No such node is provisioned.
    UnknownNode(u32),
    /// The node is revoked.
    Revoked(u32),
    /// No frame of the node is stored: nobody knows in which epoch it is.
    NeverHeard(u32),
    /// No epoch of the node's key is left.
    EpochsUsedUp(u32),
    /// The node has no such input, or its grid no such stride.
    Setting(u32),
    /// Nothing is sent down to the node: its suite has no tag.
    NeverTold(u32),
    /// The keys cannot be read, and those of before hold; what was wrong with them.
    Keys(String),
    /// The disk is full, or that of the keys; what was ordered before that holds.
    DiskFull,
    /// It is no request of this version.
    Malformed,
}

/// What a node is told, or was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// The node.
    pub node: u32,
    /// What was ordered, the latest of each kind.
    pub what: Order,
    /// The epoch that it is told to go on to.
    pub epoch: Option<u8>,
    /// A frame showed that the node does it.
    pub is_acknowledged: bool,
}

/// The orders of all nodes.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    nodes: PerNode<Ordered>,
}

impl Orders {
    fn put(&mut self, ordered: Ordered) -> Ordered {
        self.nodes.put(ordered.node, ordered);
        ordered
    }

    /// An order joins the group: what it does not name stays. Returns its record.
    pub(crate) fn give(&mut self, node: u32, channel: Option<u8>, stride: Option<u8>) -> Ordered {
        let before = self.nodes.get(node).copied();
        let channel = channel.or(before.and_then(|before| before.channel));
        let stride = stride.or(before.and_then(|before| before.stride));
        self.put(Ordered { node, channel, stride, since: None, is_done: false })
    }

    /// What the log says of a node.
    pub(crate) fn restore(&mut self, ordered: Ordered) {
        self.put(ordered);
    }

    /// A frame of a node joins the group, of samples as this setting has them. Returns the order's record when it changed.
    pub(crate) fn store(&mut self, node: u32, sampled: Setting) -> Option<Ordered> {
        let before = self.nodes.get(node).copied()?;
        let does = before.channel.is_none_or(|wanted| wanted == sampled.channel)
            && before.stride.is_none_or(|wanted| wanted == sampled.stride);
        let since = Some(before.since.unwrap_or(sampled.first));
        let after = Ordered { since, is_done: before.is_done || does, ..before };
        (after != before).then(|| self.put(after))
    }

    /// What was ordered of a node.
    pub(crate) fn of(&self, node: u32) -> Option<&Ordered> {
        self.nodes.get(node)
    }

    /// What is known of every node from what is durable.
    pub(crate) fn checkpoint(&self) -> Vec<Ordered> {
        self.nodes.durable().into_iter().map(|(_, ordered)| *ordered).collect()
    }

    /// Everything so far was read from the log: it is durable.
    pub(crate) fn keep(&mut self) {
        self.depart();
        self.commit();
    }

    /// The open group is complete and under way.
    pub(crate) fn depart(&mut self) {
        self.nodes.depart();
    }

    /// The group that was under way is durable.
    pub(crate) fn commit(&mut self) {
        self.nodes.commit();
    }

    /// It is given up, and with it the open one.
    pub(crate) fn abort(&mut self) {
        self.nodes.abort();
    }
}

impl<D: Disk, R: Randomness + Clone> Collector<D, R> {
    /// Does what is asked, durably, and answers. No group is open, and none is under way.
    ///
    /// # Errors
    /// [`Error::Io`], as of [`Collector::step`].
    pub fn ask(&mut self, now: Now, request: &Request) -> Result<Reply, Error> {
        let is_idle = self.group.batches.is_empty() && !self.is_under_way;
        assert!(is_idle, "a request waits for the end of the group");
        match request {
            Request::ReadKeys => {
                let present = match self.keys.present() {
                    Ok(present) => present,
                    Err(cause) => return Ok(Reply::Refused(Reason::Keys(cause.to_string()))),
                };
                let before = std::mem::replace(&mut self.standings, present.standings);
                // Who is admitted again has another master, which a server reads when it starts. Nothing is taken under the
                // one that is known here.
                for (node, _) in before.into_iter().filter(|(_, standing)| standing.is_revoked) {
                    self.standings.entry(node).or_default().is_revoked = true;
                }
                self.store.seal_under(present.store);
                Ok(Reply::Done(Vec::new()))
            }
            Request::Tell { orders, leaves_out } => self.tell(now, orders, *leaves_out),
            Request::Status => Ok(Reply::Done(self.told(&self.keys.node_ids()))),
        }
    }

    fn tell(&mut self, now: Now, orders: &[(u32, Order)], leaves_out: bool) -> Result<Reply, Error> {
        let mut free = Vec::new();
        // Nothing is begun for one before the others were looked at.
        for &(node, what) in orders {
            match self.hindrance(node, what) {
                None => free.push((node, what)),
                Some(Reason::Revoked(_) | Reason::NeverHeard(_) | Reason::NeverTold(_)) if leaves_out => {}
                Some(reason) => return Ok(Reply::Refused(reason)),
            }
        }
        for &(node, what) in &free {
            if what == Order::ChangeEpoch
                && self.epochs.pending(node).is_none()
                && self.spare_of(node)?.is_none()
            {
                let is_used_up = self.spare.get(&node) == Some(&None);
                let reason = if is_used_up { Reason::EpochsUsedUp(node) } else { Reason::DiskFull };
                return Ok(Reply::Refused(reason));
            }
        }
        for orders in free.chunks(TOLD_TOGETHER) {
            if self.tell_together(now, orders)? == Commit::Full {
                return Ok(Reply::Refused(Reason::DiskFull));
            }
        }
        let nodes: Vec<u32> = free.into_iter().map(|(node, _)| node).collect();
        Ok(Reply::Done(self.told(&nodes)))
    }

    /// An epoch for a node that was heard to go on to, which is kept until it does.
    fn spare_of(&mut self, node: u32) -> Result<Option<u8>, Error> {
        let epoch = self.epochs.present(node).expect("it was heard");
        let fence = self.fence.as_deref_mut().map(|fence| (fence, &mut self.is_fence_away));
        spare_epoch(&self.keys, &mut self.spare, fence, node, epoch)
    }

    /// Tells nodes whom nothing hinders, and for whose changes there are epochs, in one group.
    fn tell_together(&mut self, now: Now, orders: &[(u32, Order)]) -> Result<Commit, Error> {
        for &(node, what) in orders {
            match what {
                Order::Set { channel, stride } => {
                    let ordered = self.orders.give(node, channel, stride);
                    self.group.push_body(&Body::Order(ordered));
                }
                Order::ChangeEpoch if self.epochs.pending(node).is_some() => {}
                Order::ChangeEpoch => {
                    let epoch = self.epochs.present(node).expect("it was heard");
                    let next = self.spare_of(node)?.expect("it is kept");
                    let change = Change { node, epoch, next };
                    self.epochs.begin(change);
                    self.group.push_body(&Body::Change(change));
                }
            }
        }
        let mut underway = self.depart(now, Vec::new())?;
        underway.run();
        Ok(self.land(underway, || ())?.commit)
    }

    /// Why a node cannot be told that.
    fn hindrance(&self, node: u32, what: Order) -> Option<Reason> {
        let Some(provisioned) = self.keys.node(node) else { return Some(Reason::UnknownNode(node)) };
        if self.standings.get(&node).is_some_and(|standing| standing.is_revoked) {
            return Some(Reason::Revoked(node));
        }
        if !provisioned.is_authenticated() {
            return Some(Reason::NeverTold(node));
        }
        let is_fit = match what {
            Order::ChangeEpoch => {
                return self.epochs.present(node).is_none().then_some(Reason::NeverHeard(node));
            }
            Order::Set { channel: None, stride: None } => false,
            Order::Set { channel, stride } => {
                let per_superframe = provisioned.grid.samples_per_superframe.get();
                channel.is_none_or(|channel| channel <= CHANNEL_MAX)
                    && stride.is_none_or(|stride| stride > 0 && per_superframe.is_multiple_of(stride.into()))
            }
        };
        (!is_fit || !provisioned.settings.can_be_told()).then_some(Reason::Setting(node))
    }

    /// What these nodes are told, or were.
    fn told(&self, nodes: &[u32]) -> Vec<Told> {
        let mut told = Vec::new();
        for &node in nodes {
            if let Some(&Ordered { channel, stride, is_done, .. }) = self.orders.of(node) {
                let what = Order::Set { channel, stride };
                told.push(Told { node, what, epoch: None, is_acknowledged: is_done });
            }
            if let Some((epoch, is_acknowledged)) = self.epochs.latest_change(node) {
                let epoch = Some(epoch);
                told.push(Told { node, what: Order::ChangeEpoch, epoch, is_acknowledged });
            }
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_done_when_a_frame_does_all_of_it_and_a_later_one_leaves_what_it_does_not_name() {
        let mut orders = Orders::default();
        assert_eq!(orders.store(5, Setting { first: 0, channel: 0, stride: 1 }), None, "nothing was ordered");
        orders.give(5, Some(3), None);
        let since = orders.store(5, Setting { first: 90, channel: 0, stride: 1 }).unwrap();
        assert_eq!((since.since, since.is_done), (Some(90), false));
        assert_eq!(orders.store(5, Setting { first: 180, channel: 0, stride: 1 }), None, "nothing new");
        assert!(orders.store(5, Setting { first: 270, channel: 3, stride: 1 }).unwrap().is_done);
        assert_eq!(
            orders.store(5, Setting { first: 360, channel: 0, stride: 1 }),
            None,
            "it was done, and the node was reset"
        );
        let both = orders.give(5, None, Some(2));
        assert_eq!((both.channel, both.stride, both.is_done), (Some(3), Some(2), false));
        assert!(!orders.store(5, Setting { first: 450, channel: 3, stride: 1 }).unwrap().is_done);
        assert!(!orders.of(5).unwrap().is_done && orders.of(6).is_none());
        assert!(orders.store(5, Setting { first: 540, channel: 3, stride: 2 }).unwrap().is_done);
    }

    #[test]
    fn a_group_that_is_given_up_leaves_no_trace() {
        let mut orders = Orders::default();
        let first = orders.give(5, Some(3), None);
        orders.keep();
        orders.give(5, Some(4), None);
        orders.give(6, Some(4), None);
        assert_eq!(orders.checkpoint(), [first], "a checkpoint knows of what is durable alone");
        orders.abort();
        assert_eq!((orders.of(5), orders.of(6)), (Some(&first), None));
    }
}
