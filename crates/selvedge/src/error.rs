//! Everything that can go wrong at the roof, in three classes: the input, the environment, or us.
//!
//! Owns which exit code an error means and how it is printed. The words of a tool's own errors are the
//! tool's; our bugs are panics, which `main` turns into exit code 70.

use std::fmt;
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
mod spool;
mod weave;

/// Vectors that are named of those that failed.
const SHOWN_FAILURES: usize = 20;

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
    /// A batch has more than the crypto device and the server take; it stays in the spool.
    BatchTooLong {
        /// The batch.
        number: u64,
        /// Its frames.
        frames: usize,
        /// Its bytes.
        bytes: usize,
        /// As many as would do.
        bytes_max: usize,
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
            | Error::BatchTooLong { .. }
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

/// Reads after "error: ". Problems of a deployment are complete lines that begin with it themselves.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Deployment(problems) => write!(f, "{problems}"),
            Error::Key { path, fault } => fault.write(path, f),
            Error::Spool { path, fault } => fault.write(path, f),
            Error::Io { action, path, source } => {
                write!(f, "failed to {action} `{}`: {}", path.display(), words(source))
            }
            Error::Toolchain(fault) => write!(f, "{fault}"),
            Error::Output(source) => write!(f, "failed to write to standard output: {}", words(source)),
            Error::Broker(error) => write!(f, "{error}"),
            Error::Collect(error) => write!(f, "{error}"),
            Error::Order(fault) => write!(f, "{fault}"),
            Error::WhichCell { found: Some(found), cells } => {
                write!(f, "found no cell `{found}`, expected one of: {}", cells.join(", "))
            }
            Error::WhichCell { found: None, cells } => {
                write!(
                    f,
                    "the deployment has several cells\nhelp: say `--cell` with one of: {}",
                    cells.join(", ")
                )
            }
            Error::WhichNode { found, nodes } => {
                let nodes: Vec<String> = nodes.iter().map(u32::to_string).collect();
                write!(f, "found no node {found}, expected one of: {}", nodes.join(", "))
            }
            Error::TraceOfSeveral { nodes } => {
                let names: Vec<String> = nodes.iter().map(u32::to_string).collect();
                write!(
                    f,
                    "a waveform shows one node, found {}\nhelp: say `--only` with one of them",
                    names.join(", ")
                )
            }
            Error::NoSocket => f.write_str(
                "found no socket: neither does the configuration name one, nor does the service manager pass one\n\
                 help: write `socket = \"/run/selvedge-broker/broker.sock\"` in [broker], or use `--own`",
            ),
            Error::Listen { address, source } => {
                write!(f, "failed to listen on {address}: {}\nhelp: port 0 is any free one", words(source))
            }
            Error::LinkNotWhole { faults, report } => {
                let faults = faults.iter().map(|(node, what, count)| format!("node {node}: {count} {what}"));
                let faults = faults.collect::<Vec<_>>().join(", ");
                write!(
                    f,
                    "the store does not hold what the nodes sampled: {faults}; see `{}`",
                    report.display()
                )
            }
            Error::VectorsFailed { failures } => {
                let (shown, rest) = failures.split_at(failures.len().min(SHOWN_FAILURES));
                write!(f, "{} official vectors have other answers: {}", failures.len(), shown.join("; "))?;
                if rest.is_empty() { Ok(()) } else { write!(f, "; and {} more", rest.len()) }
            }
            Error::Place { path, fault } => fault.write(path, f),
            Error::Export { path, fault } => fault.write(path, f),
            Error::Image(error) => write!(f, "{error}"),
            Error::Cell(error) => write!(f, "{error}"),
            Error::Weave(error) => write!(f, "{error}"),
            Error::Linked(error) => write!(f, "{error}"),
            Error::Violation(violation) => write!(f, "{violation}"),
            Error::Woven(fault) => write!(f, "{fault}"),
            Error::Pack { path, fault } => fault.write(path, f),
            Error::Explore { path: Some(path), error } => write!(f, "`{}`: {error}", path.display()),
            Error::Explore { path: None, error } => write!(f, "{error}"),
            Error::BatchRefused { number, status } => {
                write!(f, "the server refused batch {number} with status {status}")?;
                if let Some(refusal) = collect::error::Refusal::from_number(*status) {
                    write!(f, ", {refusal}")?;
                }
                write!(f, "\nhelp: it stays in the spool, and is sent again when the bridge is started again")
            }
            Error::BatchTooLong { number, frames, bytes, bytes_max } => write!(
                f,
                "batch {number} has {frames} frames in {bytes} bytes, expected at most {} in {bytes_max}\n\
                 help: it stays in the spool",
                collect::limits::BATCH_FRAMES_MAX
            ),
            Error::ReceiptMismatch { number } => {
                write!(f, "found a receipt for batch {number} that is not one for what was sent")
            }
            Error::ServerHungUp => write!(f, "the server hung up before it had answered every batch"),
            Error::Process { process, source } => write!(f, "failed to run `{process}`: {}", words(source)),
            Error::NotReady { process, limit_s } => {
                write!(f, "`{process}` was not ready within {limit_s} s")
            }
            Error::CrashedTooOften { process, status, limit } => {
                write!(f, "`{process}` crashed more than {limit} times, the last time with {status}")
            }
            Error::Failed { process, status } => write!(f, "`{process}` ended with {status}"),
            Error::Told { process, code, .. } => write!(f, "`{process}` ended with exit code {code}"),
            Error::Interrupted => write!(f, "interrupted"),
            Error::DidNotStop { process, limit_s } => {
                write!(f, "`{process}` did not end within {limit_s} s of being asked to")
            }
        }
    }
}
