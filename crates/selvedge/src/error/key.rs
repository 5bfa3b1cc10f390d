//! Why a secret is not believed, in words that say nothing of its content.
//!
//! Owns the list. What is checked, and when, is `link`'s.

use std::fmt;
use std::path::Path;

/// Why a file or folder of secrets must not be believed. Says nothing of its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyFault {
    /// It is not there, and it is not ours to make.
    Missing,
    /// Others than its owner have rights to it.
    Mode {
        /// Permission bits of the file.
        found: u32,
        /// The bits that it should have.
        expected: u32,
    },
    /// It belongs to somebody else.
    Owner {
        /// User id of the owner.
        found: u32,
        /// User id that we run under.
        expected: u32,
    },
    /// It is a symbolic link, and could lead anywhere.
    Symlink,
    /// It is no regular file.
    NotAFile,
    /// It is no folder, or a link to one.
    NotAFolder,
    /// It is far too long for what it should be.
    TooLong,
    /// It is not a key.
    Content(cipher::Error),
    /// It is no private key or certificate, or none could be made.
    Certificate(String),
}

impl KeyFault {
    /// The words for the file or folder at `path`.
    pub(super) fn write(&self, path: &Path, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = path.display();
        write!(f, "`{path}`: ")?;
        match self {
            KeyFault::Missing => {
                write!(f, "not found\nhelp: a key folder that a deployment names must be complete")
            }
            KeyFault::Mode { found, expected } => write!(
                f,
                "mode is {found:04o}, expected {expected:04o}\n\
             help: `chmod {expected:04o} {path}` if you are sure that nobody else has read it, else delete it"
            ),
            KeyFault::Owner { found, expected } => {
                write!(f, "owner is user {found}, expected user {expected}")
            }
            KeyFault::Symlink => write!(f, "found a symbolic link, expected a file"),
            KeyFault::NotAFile => write!(f, "found no regular file, expected one"),
            KeyFault::NotAFolder => write!(f, "found a link or a file, expected a folder"),
            KeyFault::TooLong => {
                write!(
                    f,
                    "found over {} bytes, expected a key or certificate",
                    crate::limits::SECRET_BYTES_MAX
                )
            }
            KeyFault::Content(error) => write!(f, "{error}"),
            KeyFault::Certificate(error) => write!(f, "found no usable private key or certificate: {error}"),
        }
    }
}
