//! A device behind a Unix stream socket: the emulator, or a simulated core.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use super::Connect;

/// The device that listens on a Unix stream socket at this path.
#[derive(Clone, Debug)]
pub struct UnixDevice {
    /// The socket.
    pub path: PathBuf,
}

impl Connect for UnixDevice {
    fn connect(&self) -> io::Result<OwnedFd> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        connect(&socket, &SocketAddrUnix::new(&self.path)?)?;
        Ok(socket)
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }
}
