//! What an application calls: one connection, any number of requests at a time.
//!
//! `call` is the operations as types: what each takes and answers. A client carries calls: `blocking` from any thread, without
//! tokio; `asynchronous` within a tokio runtime. `foreign` says what a status is called by other people's interfaces; `start`
//! finds a user's own broker, or starts it; `environment` is what may be believed of the environment. No cipher is here or in
//! what is used here.

#[cfg(feature = "service")]
mod asynchronous;
pub mod blocking;
pub mod call;
mod environment;
pub mod foreign;
mod fork;
pub mod start;

use std::ffi::OsString;
use std::path::PathBuf;

#[cfg(feature = "service")]
pub use asynchronous::Client;
pub use fork::generation;
use start::Starter;

use crate::error::{Error, Fault};
use crate::wire::{Operation, Pdu, Status};

/// What says where the broker listens, if the environment has it.
pub const SOCKET_VARIABLE: &str = "SELVEDGE_BROKER";
/// Where a machine's broker listens.
pub const SOCKET_PATH: &str = "/run/selvedge/broker.sock";

/// What [`SOCKET_VARIABLE`] is for this user's own broker; behind a colon may be its configuration.
pub const OWN: &str = "own";

/// Where a broker is.
#[derive(Clone, Debug)]
pub enum Place {
    /// Behind this socket.
    Socket(PathBuf),
    /// It is this user's own, and started by whoever needs it first.
    Own(Starter),
}

/// Where an application that was not told finds the broker: what [`SOCKET_VARIABLE`] says, else [`SOCKET_PATH`]. Its own
/// is started by the `selvedge` that is found as any program is. A program with more rights than whoever started it is not
/// told by its environment.
pub fn place() -> Place {
    let said = environment::variable(SOCKET_VARIABLE).filter(|said| !said.is_empty());
    said.map_or(Place::Socket(SOCKET_PATH.into()), place_of)
}

fn place_of(said: OsString) -> Place {
    let config = match said.to_str().and_then(|said| said.strip_prefix(OWN)) {
        Some("") => None,
        Some(rest) if rest.starts_with(':') => Some(rest[1..].into()),
        _ => return Place::Socket(said.into()),
    };
    Place::Own(Starter { executable: "selvedge".into(), config })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_socket_or_ones_own() {
        let own = |said: &str| match place_of(said.into()) {
            Place::Own(starter) => Some(starter.config),
            Place::Socket(path) => {
                assert_eq!(path.to_str(), Some(said));
                None
            }
        };
        assert_eq!(own("own"), Some(None));
        assert_eq!(own("own:/etc/own.toml"), Some(Some("/etc/own.toml".into())));
        assert_eq!((own("/run/own"), own("owner"), own("./own")), (None, None, None));
    }
}
