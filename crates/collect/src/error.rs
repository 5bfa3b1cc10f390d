//! All the words of the collector: its errors, and the two numbered tables that travel.
//!
//! [`Error`] is what a caller of this crate gets. [`Refusal`] is what a peer gets for a message that was not
//! taken, [`Fault`] what is counted for a frame that was not stored; neither ever ends the service. Numbers
//! are never reused. No error carries a secret, and a failed tag is one indistinct status.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// A wrong input or a failed environment. Our own bugs panic instead.
#[derive(Debug)]
pub enum Error {
    /// A limit contradicts another one.
    Limit {
        /// The field of `Limits`.
        name: &'static str,
        /// What it says.
        found: u64,
        /// The least that would do.
        low: u64,
        /// The most that would do.
        high: u64,
    },
    /// A certificate or private key could not be used.
    Certificate {
        /// Which of them.
        which: &'static str,
        /// What the TLS library says.
        cause: String,
    },
    /// A file of the store is not what this program wrote, or was written under another master key.
    Corrupt {
        /// The file's name.
        file: String,
        /// Where the damage begins, in bytes.
        at: u64,
        /// What is wrong there.
        what: Corruption,
    },
    /// A segment in the middle of the store is missing.
    SegmentMissing {
        /// The number of the missing segment.
        number: u64,
    },
    /// Two logs hold different frames of one node, epoch and counter.
    Differs {
        /// The node.
        node: u32,
        /// The epoch of its key.
        epoch: u8,
        /// The counter.
        counter: u32,
        /// The logs, by their places among those that were read, from 0.
        logs: (usize, usize),
    },
    /// A log holds a frame twice.
    Twice {
        /// The node.
        node: u32,
        /// The epoch of its key.
        epoch: u8,
        /// The counter.
        counter: u32,
    },
    /// No stored frame is what was asked for.
    NothingWanted,
    /// The store is older than it was, or another one.
    RolledBack {
        /// The segment that it had come to, at least.
        segment: u64,
        /// The byte in it at which its last group ended.
        end: u64,
    },
    /// Another process has the store open.
    StoreInUse {
        /// The store.
        path: PathBuf,
    },
    /// The system lets no thread into a scheduling class.
    Scheduling {
        /// The class, in words.
        class: String,
        /// What the system says.
        cause: io::Error,
    },
    /// The system does not let this process keep its memory.
    LockMemory {
        /// What it says.
        cause: io::Error,
    },
    /// A call to the operating system failed.
    Io {
        /// What was being done, as a verb.
        doing: &'static str,
        /// The file, folder or address.
        name: String,
        /// What the system says.
        cause: io::Error,
    },
    /// A cluster of NATS could not be used.
    Nats {
        /// What was being done, as a verb.
        doing: &'static str,
        /// The server, stream, bucket or subject.
        name: String,
        /// What the client says.
        cause: String,
    },
    /// A server of NATS is elsewhere, and the connection to it has no TLS.
    InClear {
        /// The server.
        server: String,
    },
    /// The cluster was set up for something else.
    OtherCluster {
        /// What it is about.
        what: &'static str,
        /// What the cluster says.
        found: String,
        /// What this server has.
        expected: String,
    },
    /// The peer sent what it must not send (client side).
    Protocol {
        /// What was wrong with it.
        found: &'static str,
    },
}

/// What is wrong with a file of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corruption {
    /// The header is short, or of another format or version.
    Header,
    /// The header names a key of the store that is not there.
    Key,
    /// The header's tag does not match: other bytes, or another master key.
    HeaderTag,
    /// The header names another store, another place in it, or another predecessor.
    Chain,
    /// A group is damaged although a later one was written, so that it had been acknowledged.
    Group,
    /// A record opens, but its body is not one that this version writes.
    Body,
    /// A second record holds a counter that is stored already.
    Repeated,
    /// The file is shorter than its successor says.
    Length,
    /// What the segment says of the state before it is not what the segments before it add up to.
    Checkpoint,
}

impl Error {
    /// True when the environment failed, false when the input was wrong.
    pub fn is_environment(&self) -> bool {
        matches!(
            self,
            Error::Io { .. }
                | Error::StoreInUse { .. }
                | Error::Nats { .. }
                | Error::Scheduling { .. }
                | Error::LockMemory { .. }
        )
    }

    /// Wraps what the client of NATS says.
    pub(crate) fn nats(doing: &'static str, name: impl Into<String>, cause: &dyn fmt::Display) -> Error {
        Error::Nats { doing, name: name.into(), cause: cause.to_string() }
    }

    /// Wraps a system error with what was being done to which file.
    pub(crate) fn io(doing: &'static str, name: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        let name = name.into();
        move |cause| Error::Io { doing, name, cause }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Limit { name, found, low, high } => {
                write!(f, "limit `{name}` is {found}, expected {low} to {high}")
            }
            Error::Certificate { which, cause } => write!(f, "the {which} cannot be used: {cause}"),
            Error::Corrupt { file, at, what: Corruption::HeaderTag } => write!(
                f,
                "store file `{file}` at byte {at}: {}\nhelp: is this the store's own master key?",
                Corruption::HeaderTag
            ),
            Error::Corrupt { file, at, what } => write!(
                f,
                "store file `{file}` at byte {at}: {what}\n\
                 help: `selvedge collect verify` lists what can still be read"
            ),
            Error::SegmentMissing { number } => write!(f, "segment {number} of the store is missing"),
            Error::Differs { node, epoch, counter, logs: (one, other) } if one == other => {
                write!(f, "a log holds two different frames of node {node}, epoch {epoch}, counter {counter}")
            }
            Error::Differs { node, epoch, counter, logs: (one, other) } => write!(
                f,
                "logs {} and {} hold different frames of node {node}, epoch {epoch}, counter {counter}\n\
                 help: read the logs one by one: each is whole, and which of them is right nobody can tell",
                one + 1,
                other + 1
            ),
            Error::Twice { node, epoch, counter } => write!(
                f,
                "the log holds the frame of node {node}, epoch {epoch}, counter {counter} twice\n\
                 help: `selvedge collect verify` says where"
            ),
            Error::NothingWanted => f.write_str("no stored frame is what was asked for"),
            Error::RolledBack { segment, end } => write!(
                f,
                "the store is not as far as it was: nothing that was stored ends at byte {end} of segment {segment}\n\
                 help: an older copy must not be written to; put the latest one back, or begin a new store in another folder"
            ),
            Error::StoreInUse { path } => write!(f, "store `{}` is open in another process", path.display()),
            Error::Scheduling { class, cause } => write!(
                f,
                "cannot put a thread into {class}: {cause}\n\
                 help: it takes CAP_SYS_NICE, or a limit that lets it (`LimitRTPRIO=` of the unit, `ulimit -r`)"
            ),
            Error::LockMemory { cause } => write!(
                f,
                "cannot lock the memory of this process: {cause}\n\
                 help: it takes CAP_IPC_LOCK, or no limit of it (`LimitMEMLOCK=infinity` of the unit, `ulimit -l`)"
            ),
            Error::Io { doing, name, cause } => write!(f, "cannot {doing} `{name}`: {cause}"),
            Error::Nats { doing, name, cause } => write!(f, "cannot {doing} `{name}`: {cause}"),
            Error::InClear { server } => write!(
                f,
                "the connection to `{server}` would be in clear, expected TLS, or a server on this machine\n\
                 help: `[collect.tls]` names certificates, and `tls = \"no\"` says that nobody else comes by"
            ),
            Error::OtherCluster { what, found, expected } => write!(
                f,
                "the cluster's {what} is {found}, expected {expected}\n\
                 help: a store goes on with the cluster that it was begun with, and begins anew in an empty folder"
            ),
            Error::Protocol { found } => write!(f, "the peer broke the protocol: {found}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io { cause, .. } | Error::Scheduling { cause, .. } | Error::LockMemory { cause } => {
                Some(cause)
            }
            _ => None,
        }
    }
}

impl fmt::Display for Corruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Corruption::Header => "no segment header of a known version",
            Corruption::Key => "the segment is under a key of the store that is not there",
            Corruption::HeaderTag => "the header's tag does not match",
            Corruption::Chain => "the segment does not follow the one before it",
            Corruption::Group => "a group that was acknowledged is damaged",
            Corruption::Body => "a record has an unknown body",
            Corruption::Repeated => "a counter is stored twice",
            Corruption::Length => "the segment is shorter than the next one says",
            Corruption::Checkpoint => {
                "the state at the begin of the segment is not what was stored before it"
            }
        })
    }
}

/// Builds an enum of statuses from one line each: doc, number, name on the wire and in reports.
macro_rules! statuses {
    ($(#[$table:meta])* $table_name:ident {
        $($(#[doc = $doc:literal])* $number:literal $variant:ident $name:literal)*
    }) => {
        $(#[$table])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum $table_name { $($(#[doc = $doc])* $variant = $number),* }

        impl $table_name {
            /// All lines of the table, by number.
            pub const ALL: &'static [$table_name] = &[$($table_name::$variant),*];

            /// Its number on the wire.
            pub const fn number(self) -> u16 {
                self as u16
            }

            /// The status with this number, if there is one.
            pub fn from_number(number: u16) -> Option<Self> {
                match number {
                    $($number => Some($table_name::$variant),)*
                    _ => None,
                }
            }

            /// Its name in reports.
            pub const fn name(self) -> &'static str {
                match self {
                    $($table_name::$variant => $name),*
                }
            }

            /// What it means, in a sentence.
            pub const fn meaning(self) -> &'static str {
                match self {
                    $($table_name::$variant => concat!($($doc),*).trim_ascii()),*
                }
            }
        }

        impl fmt::Display for $table_name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }
    };
}

statuses! {
    /// Why a message was refused. The connection goes on unless the line says otherwise.
    Refusal {
        /// The hello, or a batch's header, has an unknown version.
        1 Version "version"
        /// The first message was no hello, or a later one was; the connection is closed.
        2 Hello "hello"
        /// The key ring has no such cell.
        3 Cell "unknown-cell"
        /// A batch names another cell or spool than the connection's hello.
        4 Spool "other-spool"
        /// A batch skips a number.
        5 Order "number-skipped"
        /// The message is longer than the limit; the connection is closed, the rest is not read.
        6 Oversize "oversize"
        /// The message is no message: unknown kind, or too short; the connection is closed.
        7 Malformed "malformed"
        /// The batch's tag does not match.
        8 Rejected "rejected"
        /// The batch is authentic, but its plaintext is not a list of frames.
        9 Layout "layout"
        /// The disk is full. Send it again later.
        10 DiskFull "disk-full"
        /// The batch has more frames than the limit.
        11 Frames "too-many-frames"
        /// The peer's certificate is not that of the bridge of the cell in its hello; the connection is closed.
        12 Certificate "other-certificate"
        /// As many bridges as the limit are connected; the connection is closed. Connect again later.
        13 Connections "connections-full"
        /// The batch has frames of more bytes than the limit.
        14 Bytes "too-many-bytes"
        /// A frame of the batch is of a node of another partition than the batch was published for.
        15 Partition "other-partition"
    }
}

impl Refusal {
    /// Whether the same message may be taken later, without anything being changed at either end.
    pub const fn may_repeat(self) -> bool {
        matches!(self, Refusal::DiskFull | Refusal::Connections)
    }

    /// Whether nothing but an authentic batch is refused so, where it belongs: it is known then who sent it, once.
    pub const fn is_of_authentic(self) -> bool {
        matches!(self, Refusal::Layout | Refusal::DiskFull | Refusal::Frames | Refusal::Bytes)
    }
}

statuses! {
    /// Why a frame of an authentic batch was not stored.
    Fault {
        /// Too short, too long, or of an unknown version.
        1 Layout "layout"
        /// The suite does not exist, or is not the one the node was provisioned with.
        2 Suite "suite"
        /// The key ring has no such node.
        3 Node "unknown-node"
        /// A downlink frame came up.
        4 Direction "direction"
        /// The tag does not match.
        5 Rejected "rejected"
        /// The frame is authentic, but its plaintext is not what a node sends.
        6 Content "content"
        /// Below the counters that are remembered, of a node that left more gaps than the limit: stored or not, nobody knows.
        7 Old "too-old"
        /// The epoch is older than the store: another store may have taken and answered the frame.
        8 Epoch "epoch"
        /// The node had gone on to another epoch before it came to this count.
        9 Over "epoch-over"
        /// The node was revoked.
        10 Revoked "revoked"
        /// The epoch was closed.
        11 Closed "epoch-closed"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every variant, so that a change of words is seen in review.
    #[test]
    fn errors_say_what_was_found_and_what_to_do() {
        let file = || "0000000000000001.seg".to_owned();
        let cause = || io::Error::from(io::ErrorKind::PermissionDenied);
        let corrupt = |what| Error::Corrupt { file: file(), at: 4096, what };
        let words = [
            Error::Limit { name: "shards", found: 2000, low: 0, high: 1024 },
            Error::Certificate { which: "private key", cause: "no items found".to_owned() },
            corrupt(Corruption::HeaderTag),
            corrupt(Corruption::Group),
            Error::SegmentMissing { number: 3 },
            Error::Differs { node: 1, epoch: 0, counter: 5, logs: (0, 0) },
            Error::Differs { node: 1, epoch: 0, counter: 5, logs: (0, 2) },
            Error::Twice { node: 1, epoch: 0, counter: 5 },
            Error::NothingWanted,
            Error::RolledBack { segment: 3, end: 8192 },
            Error::StoreInUse { path: "store".into() },
            Error::Scheduling { class: "SCHED_FIFO with priority 10".to_owned(), cause: cause() },
            Error::LockMemory { cause: cause() },
            Error::Io { doing: "sync", name: file(), cause: cause() },
            Error::nats("connect to", "nats://127.0.0.1:1", &"timed out"),
            Error::InClear { server: "nats://one:4222".into() },
            Error::OtherCluster { what: "number of partitions", found: "8".into(), expected: "16".into() },
            Error::Protocol { found: "an answer that is none" },
        ]
        .map(|error| error.to_string());
        expect_test::expect![[r#"
            limit `shards` is 2000, expected 0 to 1024
            the private key cannot be used: no items found
            store file `0000000000000001.seg` at byte 4096: the header's tag does not match
            help: is this the store's own master key?
            store file `0000000000000001.seg` at byte 4096: a group that was acknowledged is damaged
            help: `selvedge collect verify` lists what can still be read
            segment 3 of the store is missing
            a log holds two different frames of node 1, epoch 0, counter 5
            logs 1 and 3 hold different frames of node 1, epoch 0, counter 5
            help: read the logs one by one: each is whole, and which of them is right nobody can tell
            the log holds the frame of node 1, epoch 0, counter 5 twice
            help: `selvedge collect verify` says where
            no stored frame is what was asked for
            the store is not as far as it was: nothing that was stored ends at byte 8192 of segment 3
            help: an older copy must not be written to; put the latest one back, or begin a new store in another folder
            store `store` is open in another process
            cannot put a thread into SCHED_FIFO with priority 10: permission denied
            help: it takes CAP_SYS_NICE, or a limit that lets it (`LimitRTPRIO=` of the unit, `ulimit -r`)
            cannot lock the memory of this process: permission denied
            help: it takes CAP_IPC_LOCK, or no limit of it (`LimitMEMLOCK=infinity` of the unit, `ulimit -l`)
            cannot sync `0000000000000001.seg`: permission denied
            cannot connect to `nats://127.0.0.1:1`: timed out
            the connection to `nats://one:4222` would be in clear, expected TLS, or a server on this machine
            help: `[collect.tls]` names certificates, and `tls = "no"` says that nobody else comes by
            the cluster's number of partitions is 8, expected 16
            help: a store goes on with the cluster that it was begun with, and begins anew in an empty folder
            the peer broke the protocol: an answer that is none"#]]
        .assert_eq(&words.join("\n"));
    }

    #[test]
    fn statuses_keep_their_numbers() {
        for (index, &status) in Refusal::ALL.iter().enumerate() {
            assert_eq!(usize::from(status.number()), index + 1);
            assert_eq!(Refusal::from_number(status.number()), Some(status));
        }
        for (index, &status) in Fault::ALL.iter().enumerate() {
            assert_eq!(usize::from(status.number()), index + 1);
            assert_eq!(Fault::from_number(status.number()), Some(status));
        }
        assert_eq!(Refusal::from_number(0), None, "0 is no refusal");
    }
}
