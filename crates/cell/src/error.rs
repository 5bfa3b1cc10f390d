//! Everything that can go wrong in a cell.

use isa::avr::Stop;
use std::fmt;

/// Why a cell cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// A node's program did what its chip does not define.
    Stuck {
        /// Which node.
        node: u32,
        /// Where its chip stopped.
        stop: Stop,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Stuck { node, stop: Stop::Fault(fault) } => write!(f, "node {node}: {fault}"),
            Error::Stuck { node, stop: Stop::Break } => {
                write!(f, "node {node}: its program executed `break`, expected it to go on")
            }
            Error::Stuck { node, stop } => write!(f, "node {node}: stopped with {stop:?}"),
        }
    }
}

impl std::error::Error for Error {}
