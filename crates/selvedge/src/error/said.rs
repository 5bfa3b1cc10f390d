//! What each error of the roof says.
//!
//! Owns the words; which class an error is of stands beside it, and a tool's own words are the tool's.

use std::fmt;

use super::{Error, words};

/// Vectors that are named of those that failed.
const SHOWN_FAILURES: usize = 20;

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
