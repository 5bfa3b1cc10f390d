//! What must not happen twice, taken from the cluster by compare-and-set before it is used; and what the next owner of a
//! partition has to know of its nodes' epochs.
//!
//! ```text
//! downlink.<node>.<epoch>    the first downlink count that was given to nobody yet
//! change.<node>.<epoch>      the epoch that the node is told to go on to from this one
//! first.<node>.<epoch>       the lowest count that was heard of an epoch that it was told: what it seals of the epoch
//!                            before comes below it
//! ```
//! All are decimal. An owner that lost its lease without knowing it takes what nobody else was given, or nothing; one
//! that cannot reach the cluster takes nothing.
//!
//! Invariant: a downlink count of a node and epoch is given to one log, once; everybody tells a node the same epoch.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::time::Duration;

use async_nats::jetstream::kv::{CreateErrorKind, Operation, Store, UpdateErrorKind};
use futures_util::StreamExt;
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::{SETUP, partition_of};
use crate::limits::{COUNT_MAX, NATS_BEHIND_PAUSE, NATS_REQUEST_MS_MAX};
use crate::record::{NodeEpoch, Told};

/// Gives what may be used once.
pub trait Fence: Send {
    /// Whether a node's frames belong into this log: it knows of no other node how far its epochs are.
    fn is_ours(&self, node: u32) -> bool;

    /// So many downlink counts of a node and epoch that were given to nobody; none are left when the range is empty.
    ///
    /// # Errors
    /// That it cannot be asked now. Nothing may be used then.
    fn take_downlinks(&mut self, node: u32, epoch: u8, count: u32) -> io::Result<Range<u32>>;

    /// The epoch that a node is told to go on to from `epoch`: the one that it was told before, or what `take` gives.
    ///
    /// # Errors
    /// Those of `take`, and that it cannot be asked now.
    fn change(
        &mut self,
        node: u32,
        epoch: u8,
        take: &mut dyn FnMut() -> io::Result<Option<u8>>,
    ) -> io::Result<Option<u8>>;

    /// Notes for who comes next that a frame of `epoch` has this count, an epoch that the node was told.
    ///
    /// # Errors
    /// That it cannot be noted now.
    fn enter(&mut self, node: u32, epoch: u8, count: u32) -> io::Result<()>;

    /// What is noted of all nodes that were told another epoch.
    ///
    /// # Errors
    /// That it cannot be asked now.
    fn epochs(&mut self) -> io::Result<Vec<NodeEpoch>>;
}

/// A fence in a bucket, for the nodes of one partition.
pub(super) struct Bucket {
    pub store: Store,
    /// The partition, of so many.
    pub partition: u16,
    pub partitions: u16,
    /// Where the requests run; the caller is a thread of its own.
    pub runtime: Handle,
}

impl Bucket {
    fn wait<T>(&self, request: impl Future<Output = io::Result<T>>) -> io::Result<T> {
        let patience = Duration::from_millis(NATS_REQUEST_MS_MAX);
        let waiting = async {
            timeout(patience, request).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
        };
        self.runtime.block_on(waiting)
    }

    /// The number at `key`, and its revision.
    async fn get(&self, key: &str) -> io::Result<Option<(u32, u64)>> {
        let entry = self.store.entry(key).await.map_err(io::Error::other)?;
        let Some(entry) = entry else { return Ok(None) };
        // Nobody removes one: what was given would be given again.
        let number = std::str::from_utf8(&entry.value).ok().and_then(|text| text.parse().ok());
        let number = number.filter(|_| entry.operation == Operation::Put);
        number.map(|number| Some((number, entry.revision))).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, format!("`{key}` of the bucket holds no number"))
        })
    }

    /// Writes `number` where nothing is, or what has `revision`. False when somebody else was first.
    async fn set(&self, key: &str, number: u32, revision: Option<u64>) -> io::Result<bool> {
        let value = number.to_string().into();
        match revision {
            None => match self.store.create(key, value).await {
                Ok(_) => Ok(true),
                Err(error) if error.kind() == CreateErrorKind::AlreadyExists => Ok(false),
                Err(error) => Err(io::Error::other(error)),
            },
            Some(revision) => match self.store.update(key, value, revision).await {
                Ok(_) => Ok(true),
                Err(error) if error.kind() == UpdateErrorKind::WrongLastRevision => Ok(false),
                Err(error) => Err(io::Error::other(error)),
            },
        }
    }
}

/// Numbers by node and epoch.
pub(super) type Numbers = BTreeMap<(u32, u8), u32>;

impl Bucket {
    /// All changes that nodes were told, and the lowest counts of epochs.
    async fn noted(&self) -> io::Result<(Numbers, Numbers)> {
        let (mut changes, mut firsts) = Default::default();
        // What the cluster was set up for is always there, so that there is an end to wait for.
        let entries = self.store.watch_many_with_history([SETUP, "change.>", "first.>"]).await;
        let mut entries = entries.map_err(io::Error::other)?;
        while let Some(entry) = entries.next().await {
            let entry = entry.map_err(io::Error::other)?;
            let noted = std::str::from_utf8(&entry.value).ok().and_then(|value| {
                let (kind, node_epoch) = entry.key.split_once('.')?;
                let (node, epoch) = node_epoch.split_once('.')?;
                let numbers: &mut Numbers = if kind == "change" { &mut changes } else { &mut firsts };
                numbers.insert((node.parse().ok()?, epoch.parse().ok()?), value.parse().ok()?);
                Some(())
            });
            if noted.is_none() && entry.key != SETUP {
                let words = format!("`{}` of the bucket holds no number", entry.key);
                return Err(io::Error::new(io::ErrorKind::InvalidData, words));
            }
            if entry.delta == 0 {
                return Ok((changes, firsts));
            }
        }
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

/// In which epochs nodes are after these changes, of which the lowest counts are these.
pub(super) fn after(changes: &Numbers, firsts: &Numbers) -> Vec<NodeEpoch> {
    let mut nodes: Vec<NodeEpoch> = Vec::new();
    for (&(node, from), &to) in changes {
        // One that leads back is nobody's: an epoch is told once.
        let Some(to) = u8::try_from(to).ok().filter(|&to| to > from) else { continue };
        if nodes.last().is_none_or(|latest| latest.node != node) {
            nodes.push(NodeEpoch { node, epoch: from, frames: 0, changes: Vec::new() });
        }
        let of = nodes.last_mut().expect("it is there");
        let first = firsts.get(&(node, to)).copied();
        of.changes.push(Told { from, to, first });
        if first.is_some() {
            of.epoch = of.epoch.max(to);
        }
    }
    nodes
}

impl Fence for Bucket {
    fn is_ours(&self, node: u32) -> bool {
        partition_of(node, self.partitions) == self.partition
    }

    fn take_downlinks(&mut self, node: u32, epoch: u8, count: u32) -> io::Result<Range<u32>> {
        let key = format!("downlink.{node}.{epoch}");
        self.wait(async {
            loop {
                let found = self.get(&key).await?;
                let start = found.map_or(0, |(next, _)| next);
                let end = start.saturating_add(count).min(COUNT_MAX + 1);
                if start >= end || self.set(&key, end, found.map(|(_, revision)| revision)).await? {
                    return Ok(start..end.max(start));
                }
                // A replica that is behind showed an old number.
                tokio::time::sleep(NATS_BEHIND_PAUSE).await;
            }
        })
    }

    fn change(
        &mut self,
        node: u32,
        epoch: u8,
        take: &mut dyn FnMut() -> io::Result<Option<u8>>,
    ) -> io::Result<Option<u8>> {
        let key = format!("change.{node}.{epoch}");
        let told = |number: u32| u8::try_from(number).ok().filter(|next| *next > epoch);
        let found = self.wait(self.get(&key))?;
        if let Some((number, _)) = found {
            return Ok(told(number));
        }
        let Some(taken) = take()? else { return Ok(None) };
        if self.wait(self.set(&key, taken.into(), None))? {
            return Ok(Some(taken));
        }
        Ok(self.wait(self.get(&key))?.and_then(|(number, _)| told(number)))
    }

    fn enter(&mut self, node: u32, epoch: u8, count: u32) -> io::Result<()> {
        let key = format!("first.{node}.{epoch}");
        self.wait(async {
            loop {
                let found = self.get(&key).await?;
                let is_noted = found.is_some_and(|(noted, _)| noted <= count);
                if is_noted || self.set(&key, count, found.map(|(_, revision)| revision)).await? {
                    return Ok(());
                }
                tokio::time::sleep(NATS_BEHIND_PAUSE).await;
            }
        })
    }

    fn epochs(&mut self) -> io::Result<Vec<NodeEpoch>> {
        let (changes, firsts) = self.wait(self.noted())?;
        let mut nodes = after(&changes, &firsts);
        nodes.retain(|of| self.is_ours(of.node));
        Ok(nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_in_the_latest_epoch_that_was_heard_of_it_or_where_it_was_told_to_change() {
        let changes = [((4, 0), 2), ((4, 2), 7), ((9, 3), 5), ((9, 6), 6)];
        let firsts = [((4, 2), 100), ((9, 3), 50)];
        let told = |from, to, first| Told { from, to, first };
        let found = after(&changes.into_iter().collect(), &firsts.into_iter().collect());
        let expected = [
            NodeEpoch {
                node: 4,
                epoch: 2,
                frames: 0,
                changes: vec![told(0, 2, Some(100)), told(2, 7, None)],
            },
            NodeEpoch { node: 9, epoch: 3, frames: 0, changes: vec![told(3, 5, None)] },
        ];
        assert_eq!(found, expected);
    }
}
