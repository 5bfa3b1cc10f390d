//! What the tools and the toolchain say, as an error of the roof.
//!
//! Owns the conversions only; the words stay with those whose they are.

use super::Error;
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
