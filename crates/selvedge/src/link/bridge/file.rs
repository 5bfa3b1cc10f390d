//! A file of the spool: its name, how it begins, and how long it may be.
//!
//! Leaves what follows in it, and when it is removed, to `spool`.

use std::io;

use collect::disk::Disk;

use super::record::{Record, State};
use crate::limits::{SPOOL_BYTES_MAX, SPOOL_FILE_BYTES, SPOOL_RESERVE_BYTES, SPOOL_SECTOR_BYTES};

/// How much a spool holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Bytes of all its files together; more than that of one file and a batch.
    pub bytes_max: u64,
    /// Bytes after which a new file is begun.
    pub file_bytes: u64,
    /// Bytes beside them that are kept for when the disk is full: several sectors.
    pub reserve_bytes: u64,
}

impl Default for Capacity {
    fn default() -> Self {
        Capacity {
            bytes_max: SPOOL_BYTES_MAX,
            file_bytes: SPOOL_FILE_BYTES,
            reserve_bytes: SPOOL_RESERVE_BYTES,
        }
    }
}

/// Makes a file that begins with `state`, durable, name and all. Nothing of it is left after an error.
pub(super) fn begin_file<D: Disk>(disk: &mut D, sequence: u64, state: &State) -> io::Result<(D::File, u64)> {
    let name = name_of(sequence);
    let mut file = disk.create(&name)?;
    let mut first = Record::State(*state).encode(sequence, 0);
    first.extend(Record::padding(first.len() as u64));
    let written = disk.append(&mut file, &first).and_then(|()| disk.sync(&mut file));
    if let Err(cause) = written.and_then(|()| disk.sync_dir()) {
        // It holds nothing yet, and a full disk should not fill with such files. The cause is what to tell.
        let _ = disk.remove(&name);
        return Err(cause);
    }
    Ok((file, first.len() as u64))
}

/// The sector in which a group begins, as its records name it.
pub(super) fn group_of(at: u64) -> u32 {
    u32::try_from(at / SPOOL_SECTOR_BYTES as u64).expect("a file is shorter than the spool")
}

/// The name of a spool's file.
pub(super) fn name_of(sequence: u64) -> String {
    format!("{sequence:016x}.spool")
}

/// The reverse.
pub(super) fn sequence_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".spool").filter(|digits| digits.len() == 16)?;
    // Numbers rise by one from 1: nobody has written the last one.
    u64::from_str_radix(digits, 16).ok().filter(|sequence| *sequence != u64::MAX)
}
