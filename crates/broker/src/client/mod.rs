//! What an application calls: one connection, any number of requests at a time.
//!
//! `call` is the operations as types: what each takes and answers. A client carries calls: `blocking` from any thread, without
//! tokio; `asynchronous` within a tokio runtime. `foreign` says what a status is called by other people's interfaces; `start`
//! finds a user's own broker, or starts it. No
//! cipher is here or in what is used here.

#[cfg(feature = "service")]
mod asynchronous;
pub mod blocking;
pub mod call;
pub mod foreign;
mod fork;
pub mod start;

use std::path::PathBuf;

#[cfg(feature = "service")]
pub use asynchronous::Client;
pub use fork::generation;

use crate::error::{Error, Fault};
use crate::wire::{Operation, Pdu, Status};

/// What says where the broker listens, if the environment has it.
pub const SOCKET_VARIABLE: &str = "SELVEDGE_BROKER";
/// Where a machine's broker listens.
pub const SOCKET_PATH: &str = "/run/selvedge/broker.sock";

/// Where an application that was not told finds the broker.
pub fn socket_path() -> PathBuf {
    std::env::var_os(SOCKET_VARIABLE).filter(|path| !path.is_empty()).unwrap_or(SOCKET_PATH.into()).into()
}

/// The answer to a request for `operation`, if it is one and says that it was done.
fn check(operation: Operation, answer: Pdu) -> Result<Pdu, Error> {
    match answer.status() {
        _ if answer.head().operation != operation.number() => {
            Err(Error::Answer(Fault::Mismatch { field: "operation" }))
        }
        Ok(Status::Done) => Ok(answer),
        Ok(status) => Err(Error::Refused { operation, status }),
        Err(fault) => Err(Error::Answer(fault)),
    }
}
