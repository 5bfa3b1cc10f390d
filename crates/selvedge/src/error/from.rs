//! What the tools and the toolchain say, as an error of the roof; and back, the source of an error.
//!
//! Owns the conversions only; the words stay with those whose they are.

use super::{Error, SpoolFault};
use crate::toolchain::Fault;

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Error::Toolchain(fault)
    }
}

impl From<broker::error::Error> for Error {
    fn from(error: broker::error::Error) -> Self {
        Error::Broker(error)
    }
}

impl From<collect::error::Error> for Error {
    fn from(error: collect::error::Error) -> Self {
        Error::Collect(error)
    }
}

impl From<::explore::Error> for Error {
    fn from(error: ::explore::Error) -> Self {
        Error::Explore { path: None, error }
    }
}

impl From<isa::avr::ImageError> for Error {
    fn from(error: isa::avr::ImageError) -> Self {
        Error::Image(error)
    }
}

impl From<cell::Error> for Error {
    fn from(error: cell::Error) -> Self {
        Error::Cell(error)
    }
}

impl From<::weave::error::Error> for Error {
    fn from(error: ::weave::error::Error) -> Self {
        Error::Weave(error)
    }
}

impl From<::weave::linked::LinkedError> for Error {
    fn from(error: ::weave::linked::LinkedError) -> Self {
        Error::Linked(error)
    }
}

impl From<Box<::weave::proof::Violation>> for Error {
    fn from(violation: Box<::weave::proof::Violation>) -> Self {
        Error::Violation(violation)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io { source, .. } | Error::Output(source) | Error::Process { source, .. } => Some(source),
            Error::Spool { fault: SpoolFault::Disk(source), .. } => Some(source),
            Error::Broker(error) => Some(error),
            Error::Collect(error) => Some(error),
            Error::Cell(error) => Some(error),
            _ => None,
        }
    }
}
