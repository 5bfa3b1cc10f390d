//! All the words of the broker: what goes wrong, in one closed enum, and what is wrong with bytes, in
//! another.
//!
//! An application's fault is a [`Status`] on the wire and never an [`Error`] of the
//! daemon; what is here climbs to `main` or to the caller of the client. No error holds a secret.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::limits::{KEY_NAME_BYTES_MAX, KEYS_MAX};
use crate::wire::{Operation, Status};

/// Why a daemon could not go on, or a client's call failed.
#[derive(Debug)]
pub enum Error {
    /// The operating system refused something on a path.
    Io {
        /// What was being done, after "cannot": `bind`.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another process serves this path.
    AlreadyServed {
        /// The socket's path.
        path: PathBuf,
    },
    /// There is a file that is no socket where the socket should be.
    NotASocket {
        /// The file's path.
        path: PathBuf,
    },
    /// The device could not be opened in the time that a start may take.
    DeviceClosed {
        /// Which device.
        device: String,
        /// What the last attempt met.
        fault: LinkFault,
    },
    /// The operating system gave no randomness.
    Randomness(io::Error),
    /// The system gave the broker's loop nothing to wait with.
    Loop(io::Error),
    /// The system lets this process have too few descriptors.
    Descriptors {
        /// How many it may have.
        found: u64,
        /// How many it needs.
        needed: u64,
        /// For so many connections.
        connections: usize,
    },
    /// A folder that only its user may change, and that others can.
    NotPrivate {
        /// Which one.
        path: PathBuf,
        /// What is wrong with it.
        fault: PrivateFault,
    },
    /// A user's own broker was started, and did not become ready.
    NotStarted {
        /// What it said last.
        said: String,
    },
    /// Two keys of one name were given to the device.
    KeyTwice {
        /// The name.
        name: String,
    },
    /// A key's name is empty or too long.
    KeyName {
        /// Its length.
        found_bytes: usize,
    },
    /// Too many keys were given to the device.
    KeyCount {
        /// How many.
        found: usize,
    },
    /// A device's key store cannot be opened. It stays as it is.
    Store {
        /// Its folder.
        path: PathBuf,
        /// Why.
        fault: StoreFault,
    },
    /// The caller asked for more than a PDU holds.
    TooLong {
        /// `payload` or `parameters`.
        what: &'static str,
        /// Its length.
        found_bytes: usize,
        /// The longest.
        max_bytes: usize,
    },
    /// The broker answered, and the answer is no.
    Refused {
        /// What was asked.
        operation: Operation,
        /// Why it was not done.
        status: Status,
    },
    /// The connection to the broker ended before the answer came.
    Disconnected,
    /// The broker sent what is no PDU, or no answer to the request.
    Answer(Fault),
}

/// Why a folder is not private.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrivateFault {
    /// It is a link or a file.
    NotAFolder,
    /// It is somebody else's.
    Owner {
        /// Whose.
        found: u32,
    },
    /// Others may do too much.
    Mode {
        /// Its permissions.
        found: u32,
    },
}

/// What is wrong with bytes that should be a PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The version is not ours.
    Version {
        /// The byte.
        found: u8,
    },
    /// A reserved field, or one that the sender must leave zero, is not zero.
    NotZero {
        /// The field's name.
        field: &'static str,
    },
    /// A length is over its limit.
    Oversize {
        /// The field's name.
        field: &'static str,
        /// The length.
        found_bytes: u32,
        /// Its limit.
        max_bytes: u32,
    },
    /// The bytes end before, or go on after, the end that the header announces.
    Length {
        /// How many there are.
        found_bytes: usize,
        /// How many the header announces.
        expected_bytes: usize,
    },
    /// The checksum of the device wire does not match.
    Crc,
    /// A number that no table has.
    Unknown {
        /// The field's name.
        field: &'static str,
        /// The number.
        found: u16,
    },
    /// A frame of the link that is not the one which comes next.
    Frame {
        /// The field that does not fit.
        field: &'static str,
    },
    /// An answer that does not fit the request it names.
    Mismatch {
        /// The field that does not fit.
        field: &'static str,
    },
}

/// Why a key store must not be believed, or cannot be used.
#[derive(Debug)]
pub enum StoreFault {
    /// Another process uses it.
    InUse,
    /// Others can enter its folder.
    Open {
        /// The folder's permissions.
        mode: u32,
        /// Its owner.
        owner: u32,
    },
    /// The file is no key store of ours.
    Alien,
    /// It was sealed under another key, or its header is damaged.
    OtherKey,
    /// A passphrase was given to a store that a key sealed.
    NoPassphrase,
    /// A key was given to a store that a passphrase sealed.
    Passphrase,
    /// The keys are not there, and their anchor is.
    KeysMissing,
    /// The anchor is not there, and the keys are.
    AnchorMissing,
    /// The anchor is none.
    AnchorDamaged,
    /// The anchor is that of another store.
    AnchorOfAnother,
    /// A record that the anchor counts is damaged.
    Damaged {
        /// Where it begins.
        at: u64,
    },
    /// It lacks changes that the anchor counts: an older copy was put back.
    RolledBack {
        /// Its generation.
        found: u64,
        /// The anchor's.
        expected: u64,
    },
    /// It has other changes than the anchor counts.
    Forked {
        /// The anchor's generation.
        generation: u64,
    },
    /// What is in a record is no key, though it was sealed as one.
    Unreadable,
    /// The system's.
    Io(io::Error),
}

impl From<io::Error> for StoreFault {
    fn from(cause: io::Error) -> StoreFault {
        StoreFault::Io(cause)
    }
}

/// How the link to the device ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkFault {
    /// The operating system refused or broke it.
    Io(io::ErrorKind),
    /// The device hung up.
    HungUp,
    /// Bytes were damaged on the way to the device or from it.
    Corrupt(Fault),
    /// Opening took too long.
    OpenTimeout,
    /// A request was not answered in time.
    AnswerTimeout,
    /// The device's answer cannot be one.
    Protocol(Fault),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io { doing, path, source } => write!(f, "cannot {doing} `{}`: {source}", path.display()),
            Error::AlreadyServed { path } => write!(
                f,
                "another process serves `{}`\nhelp: stop it, or choose another path; a socket has one server",
                path.display()
            ),
            Error::NotASocket { path } => write!(
                f,
                "found a file at `{}`, expected a socket or nothing\nhelp: move the file away",
                path.display()
            ),
            Error::DeviceClosed { device, fault } => write!(
                f,
                "cannot open the device `{device}`: {fault}\nhelp: start it first: `selvedge broker device`"
            ),
            Error::Randomness(source) => write!(f, "the system gives no randomness: {source}"),
            Error::Loop(source) => write!(f, "the system gives the broker nothing to wait with: {source}"),
            Error::Descriptors { found, needed, connections } => write!(
                f,
                "found a limit of {found} open files, expected {needed} for {connections} connections\nhelp: raise the hard \
                 limit (`LimitNOFILE=` of the unit, `ulimit -Hn`), or lower `connections`"
            ),
            Error::NotPrivate { path, fault } => write!(f, "`{}` is not private: {fault}", path.display()),
            Error::NotStarted { said } => write!(f, "the broker did not start; it said: {said}"),
            Error::KeyTwice { name } => write!(f, "found two keys of the name `{name}`, expected one"),
            Error::KeyName { found_bytes } => {
                write!(f, "found a key name of {found_bytes} bytes, expected 1 to {KEY_NAME_BYTES_MAX}")
            }
            Error::KeyCount { found } => write!(f, "found {found} keys, expected at most {KEYS_MAX}"),
            Error::Store { path, fault } => {
                write!(f, "cannot open the key store `{}`: {fault}", path.display())
            }
            Error::TooLong { what, found_bytes, max_bytes } => {
                write!(f, "found {what} of {found_bytes} bytes, expected at most {max_bytes}")
            }
            Error::Refused { operation, status } => {
                write!(f, "`{}` was not done: {}: {}", operation.name(), status.name(), status.meaning())?;
                if status.may_repeat() { f.write_str("\nhelp: ask again after a pause") } else { Ok(()) }
            }
            Error::Disconnected => f.write_str("the broker closed the connection before it answered"),
            Error::Answer(fault) => write!(f, "the broker's answer is none: {fault}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io { source, .. } | Error::Loop(source) | Error::Randomness(source) => Some(source),
            _ => None,
        }
    }
}

impl fmt::Display for PrivateFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PrivateFault::NotAFolder => f.write_str("found a link or a file, expected a folder"),
            PrivateFault::Owner { found } => {
                write!(f, "found the owner {found}, expected this process's user")
            }
            PrivateFault::Mode { found } => {
                write!(
                    f,
                    "found permissions {found:04o}, expected 0700\nhelp: `chmod go-w` lets nobody else change it"
                )
            }
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Version { found } => {
                write!(f, "found version {found}, expected {}", crate::wire::VERSION)
            }
            Fault::NotZero { field } => write!(f, "the field `{field}` is not zero"),
            Fault::Oversize { field, found_bytes, max_bytes } => {
                write!(f, "found {field} of {found_bytes} bytes, expected at most {max_bytes}")
            }
            Fault::Length { found_bytes, expected_bytes } => {
                write!(f, "found {found_bytes} bytes, expected {expected_bytes}")
            }
            Fault::Crc => f.write_str("the checksum does not match"),
            Fault::Unknown { field, found } => write!(f, "the {field} {found} is in no table"),
            Fault::Frame { field } => write!(f, "the frame's `{field}` is not what comes next"),
            Fault::Mismatch { field } => write!(f, "the field `{field}` does not fit the request"),
        }
    }
}

impl fmt::Display for StoreFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const BOTH: &str = "help: put both files of one backup back, or begin a new store in another folder";
        match self {
            StoreFault::InUse => f.write_str("another process uses it"),
            StoreFault::Open { mode, owner } => write!(
                f,
                "found permissions {mode:03o} of user {owner}, expected 700 of the user who runs this\n\
                 help: chmod 700, chown"
            ),
            StoreFault::Alien => f.write_str("its file `keys` is no key store"),
            StoreFault::OtherKey => f.write_str(
                "it was sealed under another key, or its header is damaged\n\
                 help: name the source of the key that it was made with",
            ),
            StoreFault::NoPassphrase => {
                f.write_str("found a passphrase, expected the key that it was made with")
            }
            StoreFault::Passphrase => {
                f.write_str("found a key, expected the passphrase that it was made with")
            }
            StoreFault::KeysMissing => write!(f, "its file `keys` is gone\n{BOTH}"),
            StoreFault::AnchorMissing => write!(f, "its file `anchor` is gone\n{BOTH}"),
            StoreFault::AnchorDamaged => write!(f, "its file `anchor` is damaged\n{BOTH}"),
            StoreFault::AnchorOfAnother => write!(f, "its file `anchor` is another store's\n{BOTH}"),
            StoreFault::Damaged { at } => write!(f, "its file `keys` is damaged at byte {at}\n{BOTH}"),
            StoreFault::RolledBack { found, expected } => write!(
                f,
                "an older copy was put back: found change {found}, expected change {expected}\n{BOTH}"
            ),
            StoreFault::Forked { generation } => {
                write!(f, "change {generation} is not the one that its anchor counts\n{BOTH}")
            }
            StoreFault::Unreadable => f.write_str("what is sealed in it is no key of this version"),
            StoreFault::Io(cause) => write!(f, "{cause}"),
        }
    }
}

impl fmt::Display for LinkFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkFault::Io(kind) => write!(f, "{kind}"),
            LinkFault::HungUp => f.write_str("it hung up"),
            LinkFault::Corrupt(fault) => write!(f, "bytes were damaged on the wire: {fault}"),
            LinkFault::OpenTimeout => f.write_str("opening took too long"),
            LinkFault::AnswerTimeout => f.write_str("an answer took too long"),
            LinkFault::Protocol(fault) => write!(f, "its answer is none: {fault}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_says_what_was_found_and_what_to_do() {
        let path = || PathBuf::from("run/broker.sock");
        let errors = [
            Error::Io { doing: "bind", path: path(), source: io::ErrorKind::PermissionDenied.into() },
            Error::AlreadyServed { path: path() },
            Error::NotASocket { path: path() },
            Error::DeviceClosed { device: "run/device.sock".to_owned(), fault: LinkFault::HungUp },
            Error::Randomness(io::ErrorKind::Unsupported.into()),
            Error::Loop(io::ErrorKind::OutOfMemory.into()),
            Error::KeyTwice { name: "batch/7".to_owned() },
            Error::KeyName { found_bytes: 65 },
            Error::KeyCount { found: 5000 },
            Error::TooLong { what: "plaintext", found_bytes: 65_537, max_bytes: 65_536 },
            Error::Refused { operation: Operation::SealAes256Gcm, status: Status::Busy },
            Error::Refused { operation: Operation::OpenAes256Gcm, status: Status::Rejected },
            Error::Disconnected,
            Error::Answer(Fault::Mismatch { field: "payload" }),
            Error::Answer(Fault::Version { found: 9 }),
            Error::Answer(Fault::NotZero { field: "reserved" }),
            Error::Answer(Fault::Oversize { field: "payload", found_bytes: 70_000, max_bytes: 65_600 }),
            Error::Answer(Fault::Length { found_bytes: 31, expected_bytes: 32 }),
            Error::Answer(Fault::Unknown { field: "status", found: 99 }),
        ];
        let faults = [
            LinkFault::Io(io::ErrorKind::ConnectionRefused),
            LinkFault::Corrupt(Fault::Crc),
            LinkFault::Corrupt(Fault::Frame { field: "sequence" }),
            LinkFault::OpenTimeout,
            LinkFault::AnswerTimeout,
            LinkFault::Protocol(Fault::Mismatch { field: "connection" }),
        ];
        let mut words: Vec<String> = errors.iter().map(Error::to_string).collect();
        words.extend(faults.iter().map(LinkFault::to_string));
        expect_test::expect![[r#"
            cannot bind `run/broker.sock`: permission denied
            another process serves `run/broker.sock`
            help: stop it, or choose another path; a socket has one server
            found a file at `run/broker.sock`, expected a socket or nothing
            help: move the file away
            cannot open the device `run/device.sock`: it hung up
            help: start it first: `selvedge broker device`
            the system gives no randomness: unsupported
            the system gives the broker nothing to wait with: out of memory
            found two keys of the name `batch/7`, expected one
            found a key name of 65 bytes, expected 1 to 64
            found 5000 keys, expected at most 4096
            found plaintext of 65537 bytes, expected at most 65536
            `seal-aes-256-gcm` was not done: busy: too many requests are waiting
            help: ask again after a pause
            `open-aes-256-gcm` was not done: rejected: the message is not authentic under this key and associated data
            the broker closed the connection before it answered
            the broker's answer is none: the field `payload` does not fit the request
            the broker's answer is none: found version 9, expected 2
            the broker's answer is none: the field `reserved` is not zero
            the broker's answer is none: found payload of 70000 bytes, expected at most 65600
            the broker's answer is none: found 31 bytes, expected 32
            the broker's answer is none: the status 99 is in no table
            connection refused
            bytes were damaged on the wire: the checksum does not match
            bytes were damaged on the wire: the frame's `sequence` is not what comes next
            opening took too long
            an answer took too long
            its answer is none: the field `connection` does not fit the request"#]].assert_eq(&words.join("\n"));
    }

    #[test]
    fn what_a_daemon_lacks_at_its_start_is_named() {
        let path = || PathBuf::from("run/selvedge");
        let private = |fault| Error::NotPrivate { path: path(), fault };
        let errors = [
            Error::Descriptors { found: 1024, needed: 11_064, connections: 11_000 },
            private(PrivateFault::NotAFolder),
            private(PrivateFault::Owner { found: 33 }),
            private(PrivateFault::Mode { found: 0o777 }),
            Error::NotStarted { said: "nothing".to_owned() },
        ];
        let words: Vec<String> = errors.iter().map(Error::to_string).collect();
        expect_test::expect![[r#"
            found a limit of 1024 open files, expected 11064 for 11000 connections
            help: raise the hard limit (`LimitNOFILE=` of the unit, `ulimit -Hn`), or lower `connections`
            `run/selvedge` is not private: found a link or a file, expected a folder
            `run/selvedge` is not private: found the owner 33, expected this process's user
            `run/selvedge` is not private: found permissions 0777, expected 0700
            help: `chmod go-w` lets nobody else change it
            the broker did not start; it said: nothing"#]]
        .assert_eq(&words.join("\n"));
    }

    #[test]
    fn a_store_that_is_not_believed_says_why() {
        let faults = [
            StoreFault::InUse,
            StoreFault::Open { mode: 0o755, owner: 1000 },
            StoreFault::Alien,
            StoreFault::OtherKey,
            StoreFault::NoPassphrase,
            StoreFault::Passphrase,
            StoreFault::KeysMissing,
            StoreFault::AnchorMissing,
            StoreFault::AnchorDamaged,
            StoreFault::AnchorOfAnother,
            StoreFault::Damaged { at: 512 },
            StoreFault::RolledBack { found: 3, expected: 7 },
            StoreFault::Forked { generation: 7 },
            StoreFault::Unreadable,
            StoreFault::Io(io::ErrorKind::StorageFull.into()),
        ];
        let words = faults.map(|fault| Error::Store { path: PathBuf::from("keys"), fault }.to_string());
        expect_test::expect![[r#"
            cannot open the key store `keys`: another process uses it
            cannot open the key store `keys`: found permissions 755 of user 1000, expected 700 of the user who runs this
            help: chmod 700, chown
            cannot open the key store `keys`: its file `keys` is no key store
            cannot open the key store `keys`: it was sealed under another key, or its header is damaged
            help: name the source of the key that it was made with
            cannot open the key store `keys`: found a passphrase, expected the key that it was made with
            cannot open the key store `keys`: found a key, expected the passphrase that it was made with
            cannot open the key store `keys`: its file `keys` is gone
            help: put both files of one backup back, or begin a new store in another folder
            cannot open the key store `keys`: its file `anchor` is gone
            help: put both files of one backup back, or begin a new store in another folder
            cannot open the key store `keys`: its file `anchor` is damaged
            help: put both files of one backup back, or begin a new store in another folder
            cannot open the key store `keys`: its file `anchor` is another store's
            help: put both files of one backup back, or begin a new store in another folder
            cannot open the key store `keys`: its file `keys` is damaged at byte 512
            help: put both files of one backup back, or begin a new store in another folder
            cannot open the key store `keys`: an older copy was put back: found change 3, expected change 7
            help: put both files of one backup back, or begin a new store in another folder
            cannot open the key store `keys`: change 7 is not the one that its anchor counts
            help: put both files of one backup back, or begin a new store in another folder
            cannot open the key store `keys`: what is sealed in it is no key of this version
            cannot open the key store `keys`: no storage space"#]].assert_eq(&words.join("\n"));
    }
}
