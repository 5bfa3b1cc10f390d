//! All the words of this crate. No variant carries a secret, nor says where in a secret the fault lies.

use std::fmt;

use crate::limits::KEY_FILE_DIGITS;
use crate::suites::SUITES;

/// The tag did not match, or the message is longer than its suite allows. Which of them is not told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejected;

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("authentication failed")
    }
}

impl std::error::Error for Rejected {}

/// A wrong input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// No suite has this name.
    UnknownSuite {
        /// The name that was given.
        found: String,
    },
    /// A key file is not 64 digits and a newline.
    KeyFileLength {
        /// Its length in bytes.
        found_bytes: usize,
    },
    /// A key file has the right length, but holds something else than hex digits and the newline.
    KeyFileDigits,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::UnknownSuite { found } => {
                write!(f, "unknown suite `{}`, expected one of", found.escape_debug())?;
                for (index, row) in SUITES.iter().enumerate() {
                    write!(f, "{} `{}`", if index == 0 { "" } else { "," }, row.name)?;
                }
                Ok(())
            }
            Error::KeyFileLength { found_bytes } => write!(
                f,
                "key file of {found_bytes} bytes, expected {KEY_FILE_DIGITS} hex digits and a newline\n\
                 help: `selvedge run` makes new keys when the folder has none"
            ),
            Error::KeyFileDigits => write!(
                f,
                "key file holds something else than hex digits, expected {KEY_FILE_DIGITS} of them and a newline"
            ),
        }
    }
}

impl std::error::Error for Error {}
