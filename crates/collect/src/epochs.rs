//! In which epoch each node is, and when it is told to go on to another.
//!
//! A change begins when so many frames of an epoch are stored, and is told to the node until a frame of the new epoch is
//! stored. A node counts on over a change: what it sealed before, and what comes late, has a count below the first of the
//! new epoch. A frame of the old epoch with a later count was sealed by somebody else, and is not taken.
//!
//! Owns this judgement, for stored frames and for those of the open group. Like the counters (`replay`) it follows from
//! the log: from the frames, and from one record for each change. Which epochs are free is the key ring's to know.
//!
//! Invariant: a change is told only after the record of it was synced, so that a server that starts again tells the same
//! one.

use std::num::NonZeroU16;

use crate::group::PerNode;
use crate::record::{Change, NodeEpoch, Told};

/// The epochs of all nodes.
#[derive(Debug, Default)]
pub(crate) struct Epochs {
    nodes: PerNode<Present>,
}

/// What a node is in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Present {
    /// The latest epoch of which a frame is stored.
    epoch: u8,
    /// Its stored frames.
    frames: u32,
    /// Changes that the node was told, in order.
    changes: Vec<Told>,
}

impl Present {
    fn pending(&self) -> Option<u8> {
        self.changes.last().filter(|told| told.to > self.epoch).map(|told| told.to)
    }
}

/// What a frame is among those of its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Joined {
    /// It has the lowest count that is known of an epoch that the node was told to go on to.
    pub(crate) is_first: bool,
    /// The first of the epochs that the node went on from, one after the other, until it came to the frame's. Over them its
    /// counts and its sampling grid go on.
    pub(crate) row: u8,
}

/// The first of the row that `epoch` is in. A change is behind those that led to where it begins, so one look back is enough.
fn row(changes: &[Told], epoch: u8) -> u8 {
    let before = |epoch, told: &Told| if told.to == epoch && told.from < epoch { told.from } else { epoch };
    changes.iter().rev().fold(epoch, before)
}

impl Epochs {
    /// A frame joins the group, or was read from the log.
    pub(crate) fn store(&mut self, node: u32, epoch: u8, counter: u32) -> Joined {
        let present = self.nodes.entry(node);
        if epoch > present.epoch {
            (present.epoch, present.frames) = (epoch, 0);
        }
        present.frames = present.frames.saturating_add(u32::from(epoch == present.epoch));
        let mut is_first = false;
        for told in present.changes.iter_mut().filter(|told| told.to == epoch) {
            if told.first.is_none_or(|first| counter < first) {
                (told.first, is_first) = (Some(counter), true);
            }
        }
        Joined { is_first, row: row(&present.changes, epoch) }
    }

    /// A change joins the group, or was read from the log.
    pub(crate) fn begin(&mut self, change: Change) {
        self.nodes.entry(change.node).changes.push(Told { from: change.epoch, to: change.next, first: None });
    }

    /// What was known of a node before the segment that is read.
    pub(crate) fn restore(&mut self, of: NodeEpoch) {
        let NodeEpoch { node, epoch, frames, changes } = of;
        self.nodes.put(node, Present { epoch, frames, changes });
    }

    /// What is known of every node from what is durable.
    pub(crate) fn checkpoint(&self) -> Vec<NodeEpoch> {
        let state = |(node, Present { epoch, frames, changes }): (u32, &Present)| NodeEpoch {
            node,
            epoch: *epoch,
            frames: *frames,
            changes: changes.clone(),
        };
        self.nodes.durable().into_iter().map(state).collect()
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

    /// True when `node` had gone on to another epoch before it came to this count.
    pub(crate) fn is_over(&self, node: u32, epoch: u8, counter: u32) -> bool {
        let changes = self.nodes.get(node).map_or(&[][..], |present| &present.changes);
        changes.iter().any(|told| told.from == epoch && told.first.is_some_and(|first| counter >= first))
    }

    /// The epoch in which `node` listens now, of which a frame of `epoch` came: a later one, where it was told to change.
    pub(crate) fn listens(&self, node: u32, epoch: u8) -> u8 {
        let changes = self.nodes.get(node).map_or(&[][..], |present| &present.changes);
        let done = changes.iter().filter(|told| told.first.is_some());
        done.fold(epoch, |epoch, told| if told.from == epoch { told.to } else { epoch })
    }

    /// The row of epochs of `node` that `epoch` is in; see [`Joined::row`].
    pub(crate) fn row(&self, node: u32, epoch: u8) -> u8 {
        row(self.nodes.get(node).map_or(&[][..], |present| &present.changes), epoch)
    }

    /// The change that `node` has to be told.
    pub(crate) fn pending(&self, node: u32) -> Option<u8> {
        self.nodes.get(node).and_then(Present::pending)
    }

    /// The latest epoch of which a frame of `node` is stored.
    pub(crate) fn present(&self, node: u32) -> Option<u8> {
        self.nodes.get(node).map(|present| present.epoch)
    }

    /// The latest change that `node` was told, and whether a frame of its epoch or a later one is stored.
    pub(crate) fn latest_change(&self, node: u32) -> Option<(u8, bool)> {
        let present = self.nodes.get(node)?;
        present.changes.last().map(|told| (told.to, told.to <= present.epoch))
    }

    /// The epoch that `node` has to leave after `frames_max` stored frames of it, and is not told to yet.
    pub(crate) fn due(&self, node: u32, frames_max: Option<NonZeroU16>) -> Option<u8> {
        let present = self.nodes.get(node)?;
        let is_due = present.frames >= u32::from(frames_max?.get()) && present.pending().is_none();
        is_due.then_some(present.epoch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: u32 = 5;

    fn changed() -> Epochs {
        let mut epochs = Epochs::default();
        epochs.store(NODE, 3, 10);
        epochs.begin(Change { node: NODE, epoch: 3, next: 5 });
        epochs.keep();
        epochs
    }

    #[test]
    fn a_change_is_due_after_so_many_frames_and_pending_until_one_of_the_new_epoch() {
        let mut epochs = Epochs::default();
        let two = NonZeroU16::new(2);
        assert_eq!(epochs.due(NODE, two), None);
        epochs.store(NODE, 3, 10);
        assert_eq!(epochs.due(NODE, two), None);
        epochs.store(NODE, 3, 11);
        assert_eq!((epochs.due(NODE, two), epochs.due(NODE, None)), (Some(3), None));
        epochs.begin(Change { node: NODE, epoch: 3, next: 5 });
        assert_eq!((epochs.due(NODE, two), epochs.pending(NODE)), (None, Some(5)));
        epochs.store(NODE, 3, 12);
        assert_eq!((epochs.pending(NODE), epochs.listens(NODE, 3)), (Some(5), 3));
        epochs.store(NODE, 5, 14);
        assert_eq!((epochs.pending(NODE), epochs.listens(NODE, 3)), (None, 5));
        assert_eq!(epochs.due(NODE, two), None, "one frame of the new epoch");
    }

    #[test]
    fn what_was_under_way_is_taken_and_what_is_later_is_not() {
        let mut epochs = changed();
        assert!(!epochs.is_over(NODE, 3, 99), "it was told, and may not have heard");
        epochs.store(NODE, 5, 20);
        assert!(!epochs.is_over(NODE, 3, 19) && epochs.is_over(NODE, 3, 20));
        epochs.store(NODE, 5, 18);
        assert!(epochs.is_over(NODE, 3, 18), "an earlier one of the new epoch was there");
        assert!(!epochs.is_over(NODE, 2, 99), "of an image before: it counted by itself");
        assert!(!epochs.is_over(NODE, 5, 99) && !epochs.is_over(NODE + 1, 3, 99));
    }

    #[test]
    fn a_group_that_is_given_up_leaves_no_trace() {
        let mut epochs = changed();
        let before = epochs.checkpoint();
        epochs.store(NODE, 5, 20);
        epochs.begin(Change { node: NODE, epoch: 5, next: 6 });
        epochs.store(NODE + 1, 0, 0);
        let state = epochs.checkpoint();
        epochs.abort();
        assert_eq!(epochs.checkpoint(), before);
        assert_eq!(epochs.pending(NODE), Some(5));
        assert_eq!(epochs.checkpoint(), state, "a checkpoint knows of what is durable alone");
        let mut restored = Epochs::default();
        state.into_iter().for_each(|node| restored.restore(node));
        restored.keep();
        assert_eq!(restored.checkpoint(), before);
    }

    #[test]
    fn two_groups_that_are_given_up_leave_no_trace_and_one_of_them_none_in_what_is_durable() {
        let (mut epochs, before) = (changed(), changed().checkpoint());
        epochs.store(NODE, 5, 20);
        epochs.depart();
        epochs.begin(Change { node: NODE, epoch: 5, next: 6 });
        epochs.store(NODE + 1, 0, 0);
        assert_eq!(epochs.checkpoint(), before, "neither is durable");
        epochs.abort();
        assert_eq!((epochs.checkpoint(), epochs.present(NODE + 1)), (before, None));
        epochs.store(NODE, 5, 20);
        epochs.depart();
        epochs.begin(Change { node: NODE, epoch: 5, next: 6 });
        epochs.commit();
        let mut first = changed();
        first.store(NODE, 5, 20);
        first.keep();
        assert_eq!(epochs.checkpoint(), first.checkpoint(), "the first of them is");
        assert_eq!(epochs.pending(NODE), Some(6));
    }

    #[test]
    fn a_row_begins_with_an_epoch_that_the_node_was_not_told() {
        let mut epochs = Epochs::default();
        epochs.store(NODE, 3, 10);
        for (epoch, next) in [(3, 5), (5, 6), (9, 200), (200, 255)] {
            epochs.begin(Change { node: NODE, epoch, next });
            epochs.store(NODE, next, 10 + u32::from(next));
        }
        let rows = [3, 5, 6, 9, 200, 255, 7, 0].map(|epoch| epochs.row(NODE, epoch));
        assert_eq!(rows, [3, 3, 3, 9, 9, 9, 7, 0]);
        assert_eq!(epochs.store(NODE, 255, 300), Joined { is_first: false, row: 9 });
        assert_eq!(epochs.row(NODE + 1, 5), 5);
    }
}
