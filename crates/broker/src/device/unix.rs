//! A device behind a Unix stream socket: the emulator, or a simulated core.

use std::path::PathBuf;

use tokio::net::UnixStream;

use super::{Connect, Connecting, FromDevice, ToDevice};

/// The device that listens on a Unix stream socket at this path.
#[derive(Clone, Debug)]
pub struct UnixDevice {
    /// The socket.
    pub path: PathBuf,
}

impl Connect for UnixDevice {
    fn connect(&self) -> Connecting<'_> {
        Box::pin(async {
            let (reader, writer) = UnixStream::connect(&self.path).await?.into_split();
            Ok((Box::new(reader) as FromDevice, Box::new(writer) as ToDevice))
        })
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }
}
