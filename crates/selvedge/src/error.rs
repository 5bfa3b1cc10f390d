//! Everything that can go wrong at the roof, in three classes: the input, the environment, or us.
//!
//! Owns which exit code an error means; its words are in `said`. The words of a tool's own errors are the
//! tool's; our bugs are panics, which `main` turns into exit code 70.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

pub use class::Class;
pub use export::ExportFault;
pub use key::KeyFault;
pub use order::OrderFault;
pub use pack::PackFault;
pub use place::PlaceFault;
pub(crate) use printed::words;
pub use spool::SpoolFault;
pub use weave::WeaveFault;

use crate::link::Problems;
use crate::toolchain::Fault;

mod class;
mod export;
mod from;
mod key;
mod order;
mod pack;
mod place;
mod printed;
mod said;
mod spool;
mod weave;

/// Why a verb ended without doing its work.
#[derive(Debug)]
pub enum Error {
    /// The deployment, or a broker's configuration, is wrong.
    Deployment(Problems),
    /// A file or folder of secrets must not be believed.
    Key {
        /// Which one.
        path: PathBuf,
        /// Why.
        fault: KeyFault,
    },
    /// A bridge's spool cannot be used.
    Spool {
        /// Its folder.
        path: PathBuf,
        /// Why.
        fault: SpoolFault,
    },
    /// A file or folder could not be used.
    Io {
        /// Verb for the message: "failed to ACTION".
        action: &'static str,
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// An image could not be built.
    Toolchain(Fault),
    /// Standard output could not be written.
    Output(io::Error),
    /// The broker said no, or could not be used.
    Broker(broker::error::Error),
    /// The server said no, or the store could not be used.
    Collect(collect::error::Error),
    /// Nodes were not told something.
    Order(OrderFault),
    /// It is not clear which cell is meant.
    WhichCell {
        /// What was asked for.
        found: Option<String>,
        /// What the deployment has.
        cells: Vec<String>,
    },
    /// A cell has no such node.
    WhichNode {
        /// What was asked for.
        found: u32,
        /// What the cell has.
        nodes: Vec<u32>,
    },
    /// A waveform shows one node, and several are powered.
    TraceOfSeveral {
        /// Those.
        nodes: Vec<u32>,
    },
    /// Nobody said where a broker is to listen.
    NoSocket,
    /// The server cannot listen.
    Listen {
        /// Where.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// A run lost, doubled or changed something, or did not measure. Its report says what.
    LinkNotWhole {
        /// What of which node, and how many.
        faults: Vec<(u32, &'static str, u64)>,
        /// The report.
        report: PathBuf,
    },
    /// Official vectors have other answers than the device's.
    VectorsFailed {
        /// Which, and what was found; one at least.
        failures: Vec<String>,
    },
    /// A folder of a run cannot be worked in.
    Place {
        /// The folder.
        path: PathBuf,
        /// Why.
        fault: PlaceFault,
    },
    /// Stored waveforms cannot be exported.
    Export {
        /// The file.
        path: PathBuf,
        /// Why.
        fault: ExportFault,
    },
    /// An image is none, or does not fit its chip.
    Image(isa::avr::ImageError),
    /// A simulated cell could not go on.
    Cell(cell::Error),
    /// A text is no program that can be woven or proved.
    Weave(::weave::error::Error),
    /// A linked image is no program that can be proved.
    Linked(::weave::linked::LinkedError),
    /// A function does not keep time, or that could not be proved.
    Violation(Box<::weave::proof::Violation>),
    /// Nothing was woven.
    Woven(WeaveFault),
    /// A program is not packed, sealed, opened or run.
    Pack {
        /// The file.
        path: PathBuf,
        /// Why.
        fault: PackFault,
    },
    /// Something is not measured, modelled, estimated or ranked.
    Explore {
        /// The file that is at fault, if one is.
        path: Option<PathBuf>,
        /// Why.
        error: ::explore::Error,
    },
    /// The server refused a batch; it stays in the spool.
    BatchRefused {
        /// The batch.
        number: u64,
        /// The server's status.
        status: u16,
    },
    /// A receipt is not one for what was sent.
    ReceiptMismatch {
        /// The batch that it names.
        number: u64,
    },
    /// The server closed the connection although batches waited for their receipts.
    ServerHungUp,
    /// A process of ours could not be started, watched or waited for.
    Process {
        /// Its name.
        process: String,
        /// What the system said.
        source: io::Error,
    },
    /// A process of ours said nothing in time.
    NotReady {
        /// Its name.
        process: String,
        /// How long it was waited for.
        limit_s: u64,
    },
    /// A process of ours was started again too often.
    CrashedTooOften {
        /// Its name.
        process: String,
        /// How it ended the last time.
        status: ExitStatus,
        /// How often it was started again.
        limit: u32,
    },
    /// A process of ours failed and has said why, on the stderr that it shares with us.
    Told {
        /// Its name.
        process: String,
        /// Its exit code.
        code: u8,
        /// What it said, as JSON.
        said: Option<serde_json::Value>,
    },
    /// Somebody asked us to end.
    Interrupted,
    /// A process of ours was ended, by somebody else.
    Failed {
        /// Its name.
        process: String,
        /// How it ended.
        status: ExitStatus,
    },
    /// A process of ours did not end when it was asked to.
    DidNotStop {
        /// Its name.
        process: String,
        /// How long it was waited for.
        limit_s: u64,
    },
}

impl Error {
    /// Whose fault it is.
    pub fn class(&self) -> Class {
        match self {
            Error::Deployment(_)
            | Error::Key { .. }
            | Error::WhichCell { .. }
            | Error::WhichNode { .. }
            | Error::TraceOfSeveral { .. }
            | Error::Told { code: 1, .. }
            | Error::Weave(_)
            | Error::Linked(_)
            | Error::Violation(_)
            | Error::Export { .. }
            | Error::Image(_) => Class::Input,
            Error::Woven(fault) => fault.class(),
            Error::Pack { fault, .. } => fault.class(),
            Error::Explore { error, .. } if error.is_environment() => Class::Environment,
            Error::Explore { .. } => Class::Input,
            Error::Order(fault) => fault.class(),
            Error::Toolchain(Fault::NoTree { .. } | Fault::NoCompiler) => Class::Environment,
            Error::Toolchain(_) => Class::Input,
            Error::Collect(error) if !error.is_environment() => Class::Input,
            Error::Place { fault, .. } if !fault.is_environment() => Class::Input,
            Error::Io { .. }
            | Error::Spool { .. }
            | Error::Output(_)
            | Error::Broker(_)
            | Error::Collect(_)
            | Error::Cell(_)
            | Error::BatchRefused { .. }
            | Error::ReceiptMismatch { .. }
            | Error::ServerHungUp
            | Error::LinkNotWhole { .. }
            | Error::VectorsFailed { .. }
            | Error::Place { .. }
            | Error::NoSocket
            | Error::Listen { .. }
            | Error::Process { .. }
            | Error::NotReady { .. }
            | Error::CrashedTooOften { .. }
            | Error::Failed { .. }
            | Error::Told { .. }
            | Error::Interrupted
            | Error::DidNotStop { .. } => Class::Environment,
        }
    }

    /// The exit code: that of a process of ours that has told why it failed, or the class's.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Told { code, .. } => *code,
            other => other.class().exit_code(),
        }
    }

    /// Whether a process of ours has told it already, on the same stderr.
    pub fn is_told(&self) -> bool {
        matches!(self, Error::Told { .. })
    }

    /// A file or folder could not be used: "failed to ACTION `PATH`".
    pub fn io(action: &'static str, path: &Path, source: io::Error) -> Error {
        Error::Io { action, path: path.into(), source }
    }

    /// The folder of a run at `path` cannot be worked in.
    pub fn place(path: &Path, fault: PlaceFault) -> Error {
        Error::Place { path: path.into(), fault }
    }

    /// Wraps what the system said about a process of ours.
    pub fn process(process: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::Process { process: process.into(), source }
    }
}
