//! The log that the server is compared with: the same bytes, appended and synced by the same calls, and nothing else.

use std::path::Path;
use std::time::{Duration, Instant};

use collect::disk::{Disk, RealDisk};
use selvedge::error::Error;

use super::gateway::Message;

/// Bytes of a file, as of the store's segments.
const FILE_BYTES: usize = 64 << 20;
/// Files that are kept.
const FILES: u64 = 16;

/// A log on the disk.
pub struct Bare {
    disk: RealDisk,
    file: <RealDisk as Disk>::File,
    bytes: usize,
    number: u64,
}

impl Bare {
    /// An empty one in a new folder at `path`.
    ///
    /// # Errors
    /// The environment's.
    pub fn create(path: &Path) -> Result<Bare, Error> {
        let mut disk = RealDisk::lock(path)?;
        let file = disk.create("0").map_err(|cause| Error::io("write", path, cause))?;
        Ok(Bare { disk, file, bytes: 0, number: 0 })
    }

    /// Appends one message after the other, and syncs when so many bytes are not; returns how long that took.
    ///
    /// # Errors
    /// The environment's.
    pub fn write<'a>(
        &mut self,
        messages: impl Iterator<Item = &'a Message>,
        sync_bytes: usize,
    ) -> Result<Duration, Error> {
        let (begin, mut unsynced_bytes) = (Instant::now(), 0);
        let mut messages = messages.peekable();
        while let Some(message) = messages.next() {
            let failed = |cause| Error::io("write", Path::new("bare"), cause);
            if self.bytes + message.bytes.len() > FILE_BYTES {
                self.rotate().map_err(failed)?;
            }
            self.bytes += message.bytes.len();
            self.disk.append(&mut self.file, &message.bytes).map_err(failed)?;
            unsynced_bytes += message.bytes.len();
            let is_full = self.bytes + messages.peek().map_or(0, |next| next.bytes.len()) > FILE_BYTES;
            if unsynced_bytes >= sync_bytes || is_full || messages.peek().is_none() {
                self.disk.sync(&mut self.file).map_err(failed)?;
                unsynced_bytes = 0;
            }
        }
        Ok(begin.elapsed())
    }

    fn rotate(&mut self) -> std::io::Result<()> {
        self.number += 1;
        (self.file, self.bytes) = (self.disk.create(&self.number.to_string())?, 0);
        if let Some(oldest) = self.number.checked_sub(FILES) {
            self.disk.remove(&oldest.to_string())?;
        }
        Ok(())
    }
}
