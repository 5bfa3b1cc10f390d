//! Several logs as one: every frame once, whichever of them hold it.
//!
//! Two servers may have stored one frame, each in its own log, since a batch that was not acknowledged in time goes to
//! another one. What the node sealed is then the same in both; only how it got there differs, and the first log's record is
//! given. A second frame under one node, epoch and counter that is not the same is a fault, whether keys were used twice or
//! a log is not what it says: it is named when all logs were read, and none of the two is believed to be right.

use std::io;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::disk::Disk;
use crate::error::Error;
use crate::export::Sorter;
use crate::limits::SORT_BYTES_MAX;
use crate::read::Records;
use crate::record::Record;
use crate::replay::Replay;

/// Bytes of a digest that are compared.
const DIGEST_BYTES: usize = 16;
/// Node, epoch, counter; digest; log.
const TRIPLE_BYTES: usize = 4 + 1 + 4;
const ENTRY_BYTES: usize = TRIPLE_BYTES + DIGEST_BYTES + 2;

/// The records of several logs, in the order in which each stored them, one log behind the other.
pub struct Logs<D> {
    logs: Vec<Records<D>>,
    /// The log that is being read.
    current: usize,
    seen: Replay,
    /// What every record of every log was; `None` when each frame is in there once anyway.
    digests: Option<Sorter>,
}

impl<D: Disk> Logs<D> {
    /// Reads these logs; what is needed to compare frames, and memory does not hold, lies in `folder` meanwhile. A log that
    /// `is_live` may show a frame twice: in a group whose sync then fails, and where that is written again.
    pub fn new(logs: Vec<Records<D>>, folder: &Path, is_live: bool) -> Logs<D> {
        let digests = (is_live || logs.len() > 1).then(|| Sorter::new(folder, SORT_BYTES_MAX));
        Logs { logs, current: 0, seen: Replay::new(usize::MAX), digests }
    }

    /// Adds a log that began later, to those that are live. It is read behind them, from the next [`renew`](Self::renew) on.
    ///
    /// # Panics
    /// When they are not live: what was read of them could not be compared with it.
    pub fn add(&mut self, log: Records<D>) {
        assert!(self.digests.is_some(), "the logs are live");
        self.logs.push(log);
    }

    /// Segments that were read, and those that there are.
    pub fn progress(&self) -> (u64, u64) {
        let all = self.logs.iter().map(Records::progress);
        all.fold((0, 0), |sum, (read, there)| (sum.0 + read, sum.1 + there))
    }

    /// Looks for what was stored since the records ended: the iterator goes on with it. Returns how many segments were
    /// removed before they were read to their end, because their time was over.
    ///
    /// # Errors
    /// As [`crate::read::read`].
    pub fn renew(&mut self) -> Result<u64, Error> {
        self.current = 0;
        self.logs.iter_mut().map(Records::renew).sum()
    }

    /// Ends with whether the logs agree.
    ///
    /// # Errors
    /// [`Error::Differs`] or [`Error::Io`].
    pub fn finish(self) -> Result<(), Error> {
        let failed = Error::io("compare", "logs");
        match self
            .digests
            .map(Sorter::finish)
            .transpose()
            .and_then(|sorted| sorted.map_or(Ok(None), differing))
        {
            Ok(None) => Ok(()),
            Ok(Some(differs)) => Err(differs),
            Err(cause) => Err(failed(cause)),
        }
    }

    /// Whether the record is the first of its frame; notes what it is.
    fn is_first(&mut self, record: &Record) -> Result<bool, Error> {
        let Record { node, epoch, counter, .. } = *record;
        if let Some(digests) = &mut self.digests {
            digests.push(entry(record, self.current)).map_err(Error::io("put aside", "digests"))?;
        }
        let is_first = self.seen.restore(node, epoch, counter);
        if is_first || self.digests.is_some() {
            Ok(is_first)
        } else {
            Err(Error::Twice { node, epoch, counter })
        }
    }
}

impl<D: Disk> Iterator for Logs<D> {
    type Item = Result<Record, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        while let Some(log) = self.logs.get_mut(self.current) {
            match log.next() {
                None => self.current += 1,
                Some(Err(error)) => {
                    self.current = self.logs.len();
                    return Some(Err(error));
                }
                Some(Ok(record)) => match self.is_first(&record) {
                    Ok(false) => {}
                    Ok(true) => return Some(Ok(record)),
                    Err(error) => return Some(Err(error)),
                },
            }
        }
        None
    }
}

/// What a record says that its node sealed, and where it is: equal frames differ in the log only, and lie side by side.
fn entry(record: &Record, log: usize) -> Vec<u8> {
    let mut digest = Sha256::new();
    let suite = record.suite.row().node_number.expect("the suite is one of the node link's");
    digest.update([suite, record.channel, record.waveform.format().number()]);
    digest.update(record.first.to_le_bytes());
    digest.update(record.waveform.bytes());
    let mut entry = Vec::with_capacity(ENTRY_BYTES);
    entry.extend_from_slice(&record.node.to_be_bytes());
    entry.push(record.epoch);
    entry.extend_from_slice(&record.counter.to_be_bytes());
    entry.extend_from_slice(&digest.finalize()[..DIGEST_BYTES]);
    entry.extend_from_slice(&(log as u16).to_be_bytes());
    entry
}

/// The first two entries that name one frame and do not say the same of it.
fn differing(entries: impl Iterator<Item = io::Result<Vec<u8>>>) -> io::Result<Option<Error>> {
    let mut before: Option<Vec<u8>> = None;
    for entry in entries {
        let entry = entry?;
        let is_other = |before: &Vec<u8>| {
            before[..TRIPLE_BYTES] == entry[..TRIPLE_BYTES]
                && before[..ENTRY_BYTES - 2] != entry[..ENTRY_BYTES - 2]
        };
        if let Some(before) = before.filter(is_other) {
            let four = |at: usize| u32::from_be_bytes(entry[at..at + 4].try_into().expect("four bytes"));
            let log = |entry: &[u8]| {
                usize::from(u16::from_be_bytes([entry[ENTRY_BYTES - 2], entry[ENTRY_BYTES - 1]]))
            };
            let (one, other) = (log(&before), log(&entry));
            let logs = (one.min(other), one.max(other));
            return Ok(Some(Error::Differs { node: four(0), epoch: entry[4], counter: four(5), logs }));
        }
        before = Some(entry);
    }
    Ok(None)
}
