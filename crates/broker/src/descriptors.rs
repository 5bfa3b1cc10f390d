//! How many files and sockets this process may have open: one for each connection, and some besides; and which of them
//! it leaves to those that it starts.
#![allow(unsafe_code)]

use std::io;

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

/// No process that is started from now on has any descriptor of this one, whoever opened it, but the standard three.
///
/// # Errors
/// The system's: it is older than Linux 5.11.
pub fn end_at_exec() -> io::Result<()> {
    // SAFETY: it marks descriptors, and closes none; no memory is given to it.
    let result =
        unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
