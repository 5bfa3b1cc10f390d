//! How many files and sockets this process may have open: one for each connection, and some besides.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::error::Error;
use crate::limits::DESCRIPTORS_BESIDES;

/// Lets this process have descriptors for so many connections, as far as the system allows it without being asked.
///
/// # Errors
/// [`Error::Descriptors`] when that is not far enough.
pub fn raise(connections: usize) -> Result<(), Error> {
    let needed = (connections + DESCRIPTORS_BESIDES) as u64;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // None means that there is no limit.
    if current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    match maximum {
        Some(found) if found < needed || raised.is_err() => {
            Err(Error::Descriptors { found, needed, connections })
        }
        _ => Ok(()),
    }
}
