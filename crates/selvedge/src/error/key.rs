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
    /// The file that says what of a key is used is not there, and the key is.
    Unaccounted,
    /// The file that says what of a key is used says something else.
    Reservation,
    /// No epoch of the key is left.
    EpochsUsedUp,
    /// An image was made with an epoch that is not taken: the file is older than the image.
    EpochsBehind {
        /// The image's epoch.
        found: u8,
        /// The first epoch that is free, as the file says.
        next: u16,
    },
    /// Another process uses it, and only one may.
    InUse,
    /// A later store has taken and answered frames under the same keys.
    StoreSuperseded {
        /// The number of this store.
        found: u32,
        /// How many there are.
        stores: u32,
    },
    /// Not so many superframe numbers of the key are left.
    SuperframesUsedUp {
        /// How many are.
        free: u32,
        /// How many a run wants.
        wanted: u32,
    },
    /// Somebody else numbers superframes under the same key.
    SuperframesShared,
    /// The file that says who is revoked, and what is closed, says something else.
    Standing,
    /// The node is not revoked.
    NotRevoked,
    /// The epoch was never used.
    EpochUnused {
        /// The epoch.
        found: u8,
        /// The first that was not, either.
        next: u16,
    },
    /// The store has no key of this number.
    NoStoreKey {
        /// Those that it has.
        numbers: Vec<u32>,
    },
    /// What is stored, or will be, is sealed under the key.
    StoreKeyNeeded,
    /// The note of how far a store has come, or of its name, says something else.
    Anchor,
    /// Another store was written to under these keys since.
    OtherStore,
    /// Nobody hands credentials to this process.
    NoCredentials,
    /// There is no passphrase.
    NoPassphrase,
    /// It is not the text of a device's key.
    DeviceKey {
        /// Its length in bytes.
        found_bytes: usize,
    },
    /// A new key would take the place of what is there.
    Exists,
}

const NEW_KEYS: &str = "help: make new keys: name another folder, or none and let a run make its own";

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
            KeyFault::Unaccounted => {
                write!(f, "not found, and nothing else says what the key has sealed\n{NEW_KEYS}")
            }
            KeyFault::Reservation => {
                write!(f, "found other words than those that say what the key has sealed\n{NEW_KEYS}")
            }
            KeyFault::EpochsUsedUp => {
                write!(f, "all {} epochs of the key are used\n{NEW_KEYS}", crate::limits::EPOCHS)
            }
            KeyFault::EpochsBehind { found, next } => {
                write!(
                    f,
                    "found an EEPROM of epoch {found}, expected one before {next}: this key folder is a copy of an older one\n{NEW_KEYS}"
                )
            }
            KeyFault::InUse => write!(f, "another server answers under the keys of this folder"),
            KeyFault::StoreSuperseded { found, stores } => {
                write!(
                    f,
                    "found store {found} under these keys, expected the last one, {stores}\nhelp: go on with that one, or make new keys"
                )
            }
            KeyFault::SuperframesUsedUp { free, wanted } => {
                write!(
                    f,
                    "found {free} superframes left under the key, expected {wanted}\n{NEW_KEYS}, or run for less"
                )
            }
            KeyFault::Standing => write!(
                f,
                "found other words than those that say who is revoked and what is closed\n\
                 help: `selvedge collect keys revoke` writes them anew, once the file is removed"
            ),
            KeyFault::NotRevoked => write!(
                f,
                "the node is not revoked, expected one that is\n\
                 help: a node that a deployment names has a key; only one that was revoked gets another"
            ),
            KeyFault::EpochUnused { found, next } => {
                write!(f, "found epoch {found}, expected one that was used: the first that was not is {next}")
            }
            KeyFault::NoStoreKey { numbers } => {
                let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
                write!(f, "not found, expected one of the keys {}", numbers.join(", "))
            }
            KeyFault::StoreKeyNeeded => write!(
                f,
                "the key seals what is stored, or will be\n\
                 help: `selvedge collect keys list` says which keys are needed; `rotate-store` first makes another one"
            ),
            KeyFault::Anchor => {
                write!(
                    f,
                    "found other words than those that say which store these keys have, and how far it has come\n\
                     help: put the file back from its latest backup"
                )
            }
            KeyFault::OtherStore => write!(
                f,
                "this is not the store that was last written to under these keys\n\
                 help: go on with that one, or begin a new one in an empty folder"
            ),
            KeyFault::NoCredentials => write!(
                f,
                "found no $CREDENTIALS_DIRECTORY, expected the one that systemd sets\n\
                 help: run it as a unit with `LoadCredential={path}:...`"
            ),
            KeyFault::NoPassphrase => write!(f, "found nothing, expected a passphrase"),
            KeyFault::DeviceKey { found_bytes } => write!(
                f,
                "found {found_bytes} bytes that are no device key, expected 32 or 64 hex digits and a newline\n\
                 help: `selvedge pack key` makes one"
            ),
            KeyFault::Exists => {
                write!(f, "it is there, and images may be sealed for it\nhelp: name another file")
            }
            KeyFault::SuperframesShared => {
                write!(
                    f,
                    "another process runs a cell under the same key\nhelp: one after the other, or other keys"
                )
            }
        }
    }
}
