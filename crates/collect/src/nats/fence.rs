//! What must not happen twice, taken from the cluster by compare-and-set before it is used.
//!
//! ```text
//! downlink.<node>.<epoch>    the first downlink count that was given to nobody yet
//! change.<node>.<epoch>      the epoch that the node is told to go on to from this one
//! ```
//! Both are decimal. An owner that lost its lease without knowing it takes what nobody else was given, or nothing; one
//! that cannot reach the cluster takes nothing.
//!
//! Invariant: a downlink count of a node and epoch is given to one log, once; everybody tells a node the same epoch.

use std::io;
use std::ops::Range;
use std::time::Duration;

use async_nats::jetstream::kv::{CreateErrorKind, Operation, Store, UpdateErrorKind};
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::limits::{COUNT_MAX, NATS_BEHIND_PAUSE, NATS_REQUEST_MS_MAX};

/// Gives what may be used once.
pub trait Fence: Send {
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
}

/// A fence in a bucket.
pub(super) struct Bucket {
    pub store: Store,
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

impl Fence for Bucket {
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
}
