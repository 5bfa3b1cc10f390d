//! Why a spool cannot be used, in words.
//!
//! Owns the list. What is found in which file is `link::bridge`'s.

use std::fmt;
use std::io;
use std::path::Path;

/// Why a bridge's spool cannot be used, or not now.
#[derive(Debug)]
pub enum SpoolFault {
    /// The disk did not do its part.
    Disk(io::Error),
    /// Bytes are no record although they were synced: frames may be lost that were counted.
    Damaged {
        /// The file's name.
        file: String,
        /// Where the damage begins, in bytes.
        at: u64,
    },
    /// A record cannot follow from those before it: a part of them is lost.
    Contradiction {
        /// The file's name.
        file: String,
        /// Where the record begins, in bytes.
        at: u64,
    },
    /// A file is gone although the one after it is there.
    Missing {
        /// The file's name.
        file: String,
    },
    /// It holds as much as it may: nothing more is taken in. The bridge goes on.
    Full {
        /// Batches that wait for their receipt.
        batches: usize,
        /// Bytes that it may have.
        bytes_max: u64,
    },
    /// The disk has no room for more: nothing more is taken in. The bridge goes on.
    NoRoom {
        /// Batches that wait for their receipt.
        batches: usize,
    },
}

impl SpoolFault {
    /// The words for the spool in the folder at `path`.
    pub(super) fn write(&self, path: &Path, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let folder = path.display();
        match self {
            SpoolFault::Disk(source) => {
                return write!(f, "failed to use the spool in `{folder}`: {}", super::words(source));
            }
            SpoolFault::Full { batches, bytes_max } => {
                return write!(
                    f,
                    "the spool in `{folder}` is full: {batches} batches wait for a receipt in its {bytes_max} bytes\n\
                     help: nothing more is taken in, and nothing is lost that was: does `selvedge collect serve` run, and is \
                     it reached?"
                );
            }
            SpoolFault::NoRoom { batches } => {
                return write!(
                    f,
                    "the disk of the spool in `{folder}` is full: {batches} batches wait for a receipt\n\
                     help: nothing more is taken in, and nothing is lost that was: make room on it, or see that `selvedge \
                     collect serve` is reached, whose receipts make some"
                );
            }
            SpoolFault::Damaged { file, at } => {
                write!(
                    f,
                    "spool file `{folder}/{file}` at byte {at}: found no record, expected one that was synced"
                )?;
            }
            SpoolFault::Contradiction { file, at } => {
                write!(
                    f,
                    "spool file `{folder}/{file}` at byte {at}: found a record that does not follow from those before it"
                )?;
            }
            SpoolFault::Missing { file } => {
                write!(f, "spool file `{folder}/{file}`: not found, although there is a later one")?;
            }
        }
        write!(
            f,
            "\nhelp: frames that were counted may be lost; the files are as they were found. Put them away, and the bridge begins a new spool"
        )
    }
}

impl From<io::Error> for SpoolFault {
    fn from(cause: io::Error) -> Self {
        SpoolFault::Disk(cause)
    }
}
