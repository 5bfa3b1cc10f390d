//! A bus with transactions behind a Unix stream socket: the emulated device, with the time that a wire takes.
//!
//! ```text
//! device to host, once:       4  transaction_bytes_max      4  depth      4  packet_bytes
//! host to device:             4  bytes, at least 1          n  what the transaction sends
//! device to host:             4  bytes                      1  1 if the device has more, else 0
//!                             n  what the transaction received; none when only the signal changed
//! ```

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::bus::{Bus, OpenBus};
use crate::limits::{OPEN_MAX, TRANSACTION_BYTES_MAX, TRANSACTION_MAX};

/// The device that listens on a Unix stream socket at this path, and is clocked.
#[derive(Clone, Debug)]
pub struct SocketBus {
    /// The socket.
    pub path: PathBuf,
}

/// What the device says at once.
struct Greeting {
    transaction_bytes_max: usize,
    depth: usize,
    packet_bytes: usize,
}

impl SocketBus {
    /// Opens the bus for others, who [adopt](Self::adopt) what this returns.
    ///
    /// # Errors
    /// As [`OpenBus::open`].
    pub fn open_for_others(&self) -> io::Result<UnixStream> {
        self.greeted().map(|(stream, _)| stream)
    }

    /// An open bus, of which the longest transaction and the depth are known.
    pub fn adopt(stream: UnixStream, transaction_bytes_max: usize, depth: usize) -> Box<dyn Bus> {
        Open::boxed(stream, Greeting { transaction_bytes_max, depth, packet_bytes: 1 })
    }

    fn greeted(&self) -> io::Result<(UnixStream, Greeting)> {
        let mut stream = UnixStream::connect(&self.path)?;
        stream.set_read_timeout(Some(OPEN_MAX))?;
        stream.set_write_timeout(Some(TRANSACTION_MAX))?;
        let (transaction_bytes_max, depth) = (read_u32(&mut stream)?, read_u32(&mut stream)?);
        let packet_bytes = read_u32(&mut stream)?;
        if !(1..=TRANSACTION_BYTES_MAX).contains(&transaction_bytes_max) || depth == 0 || packet_bytes == 0 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        stream.set_read_timeout(Some(TRANSACTION_MAX))?;
        Ok((stream, Greeting { transaction_bytes_max, depth, packet_bytes }))
    }
}

impl OpenBus for SocketBus {
    fn open(&self) -> io::Result<Box<dyn Bus>> {
        self.greeted().map(|(stream, greeting)| Open::boxed(stream, greeting))
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }
}

struct Open {
    stream: UnixStream,
    greeting: Greeting,
    /// Lengths of the transactions that are not finished.
    begun: VecDeque<usize>,
    /// What a transaction received whose end was seen.
    coming_bytes: usize,
    is_ready: bool,
}

fn read_u32(stream: &mut UnixStream) -> io::Result<usize> {
    let mut bytes = [0; 4];
    stream.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes) as usize)
}

impl Open {
    fn boxed(stream: UnixStream, greeting: Greeting) -> Box<dyn Bus> {
        Box::new(Open { stream, greeting, begun: VecDeque::new(), coming_bytes: 0, is_ready: false })
    }

    /// Reads the signal and how many bytes of a transaction follow.
    fn read_head(&mut self) -> io::Result<usize> {
        let bytes = read_u32(&mut self.stream)?;
        let mut signal = [0];
        self.stream.read_exact(&mut signal)?;
        self.is_ready = signal[0] != 0;
        Ok(bytes)
    }
}

impl Bus for Open {
    fn transaction_bytes_max(&self) -> usize {
        self.greeting.transaction_bytes_max
    }

    fn depth(&self) -> usize {
        self.greeting.depth
    }

    fn packet_bytes(&self) -> usize {
        self.greeting.packet_bytes
    }

    fn begin(&mut self, outgoing: &[u8]) -> io::Result<()> {
        let bytes = u32::try_from(outgoing.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        self.begun.push_back(outgoing.len());
        self.stream.write_all(&bytes.to_le_bytes())?;
        self.stream.write_all(outgoing)
    }

    fn wait(&mut self, bell: BorrowedFd<'_>, _is_owed: bool, time_max: Option<Duration>) -> io::Result<bool> {
        if self.is_ready && self.begun.is_empty() {
            return Ok(false);
        }
        let time_max = time_max
            .map(|time| Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() });
        let mut watched =
            [PollFd::new(&self.stream, PollFlags::IN), PollFd::from_borrowed_fd(bell, PollFlags::IN)];
        match poll(&mut watched, time_max.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        if watched[0].revents().is_empty() {
            return Ok(false);
        }
        // The head is read here, so that a change of the signal ends no transaction.
        self.coming_bytes = self.read_head()?;
        Ok(self.coming_bytes > 0)
    }

    fn finish(&mut self, incoming: &mut Vec<u8>) -> io::Result<()> {
        while self.coming_bytes == 0 {
            self.coming_bytes = self.read_head()?;
        }
        let bytes = std::mem::take(&mut self.coming_bytes);
        if self.begun.pop_front() != Some(bytes) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let from = incoming.len();
        incoming.resize(from + bytes, 0);
        self.stream.read_exact(&mut incoming[from..])
    }

    fn is_ready(&self) -> bool {
        self.is_ready
    }
}
