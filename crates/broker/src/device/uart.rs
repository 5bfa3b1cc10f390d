//! A device behind a serial line: a UART, an adapter for one on USB, or a pseudo-terminal.
//!
//! A line has two directions of their own, so the device is not clocked: it sends when it has something. What is written
//! is a transaction that is over when its last bit is on the line, reckoned from the line's rate: a system takes more than
//! that at once, and a small request would wait for all of it. There is no flow control; the device has room for what the
//! broker may have there.
//!
//! By `rustix` and not the `serialport` crate, whose calls wait and so cannot wait for the bell, too.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::{Errno, read, write};
use rustix::termios::{ControlModes, OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr};

use super::bus::{Bus, OpenBus};
use crate::limits::{LINE_BYTES_MAX, READ_BYTES, TRANSACTION_MAX};
use crate::wiped::{Wiped, wipe};

/// Bits on the line for a byte: one to start, eight, one to stop.
const BYTE_BITS: u32 = 10;
/// So that the line need not rest between two transactions.
const DEPTH: usize = 2;

/// The device behind the serial line at this path.
#[derive(Clone, Debug)]
pub struct Uart {
    /// The line: `/dev/ttyUSB0`, for one.
    pub path: PathBuf,
    /// Bits in a second.
    pub baud: u32,
}

impl OpenBus for Uart {
    fn open(&self) -> io::Result<Box<dyn Bus>> {
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let line = open(&self.path, flags, Mode::empty())?;
        // Two who write to one line damage each other's frames.
        flock(&line, FlockOperation::NonBlockingLockExclusive)?;
        tcsetattr(&line, OptionalActions::Now, &settings(tcgetattr(&line).map_err(no_line)?, self.baud)?)?;
        // What came before is nobody's.
        tcflush(&line, QueueSelector::IOFlush)?;
        Ok(Box::new(Open {
            line,
            byte: Duration::from_secs(1) * BYTE_BITS / self.baud,
            // Never larger: a buffer that grows leaves copies behind.
            unwritten: Wiped::new(Vec::with_capacity(DEPTH * LINE_BYTES_MAX)),
            written_total: 0,
            begun: VecDeque::new(),
            free_at: Instant::now(),
        }))
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }
}

fn no_line(errno: Errno) -> io::Error {
    if errno == Errno::NOTTY { io::ErrorKind::Unsupported.into() } else { errno.into() }
}

/// Bytes as they are, no modem, and no line that falls when it is closed: some boards start anew then.
fn settings(mut settings: Termios, baud: u32) -> io::Result<Termios> {
    settings.make_raw();
    settings.control_modes |= ControlModes::CLOCAL | ControlModes::CREAD;
    settings.control_modes -= ControlModes::CRTSCTS | ControlModes::CSTOPB | ControlModes::HUPCL;
    settings.set_speed(baud)?;
    Ok(settings)
}

/// A transaction that is not finished.
struct Begun {
    /// Where in the stream of all that was ever written it ends.
    end_total: u64,
    /// When its last bit is on the line.
    over_at: Instant,
}

struct Open {
    line: OwnedFd,
    byte: Duration,
    /// What the system did not take yet.
    unwritten: Wiped,
    written_total: u64,
    begun: VecDeque<Begun>,
    /// When the line is free.
    free_at: Instant,
}

impl Open {
    fn write(&mut self) -> io::Result<()> {
        while !self.unwritten.is_empty() {
            match write(&self.line, &self.unwritten) {
                Ok(written_bytes) => {
                    wipe(&mut self.unwritten[..written_bytes]);
                    self.unwritten.drain(..written_bytes);
                    self.written_total += written_bytes as u64;
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    fn is_finished(&self) -> bool {
        let first = self.begun.front();
        first.is_some_and(|first| first.end_total <= self.written_total && first.over_at <= Instant::now())
    }

    /// Waits for what there is to read, for room to write, for `other`, and for the end of a transaction. `time_max` is
    /// for all of them.
    fn poll(&mut self, other: Option<BorrowedFd<'_>>, time_max: Option<Duration>) -> io::Result<()> {
        let flags = if self.unwritten.is_empty() { PollFlags::IN } else { PollFlags::IN | PollFlags::OUT };
        // Who waits for the end of a transaction does not read what comes.
        let flags = if other.is_some() { flags } else { flags - PollFlags::IN };
        let written = |first: &&Begun| first.end_total <= self.written_total;
        let over = self.begun.front().filter(written).map(|first| first.over_at);
        let over = over.map(|at| at.saturating_duration_since(Instant::now()));
        let time = over.into_iter().chain(time_max).min();
        let time =
            time.map(|time| Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() });
        let mut watched = vec![PollFd::from_borrowed_fd(self.line.as_fd(), flags)];
        watched.extend(other.map(|other| PollFd::from_borrowed_fd(other, PollFlags::IN)));
        match poll(&mut watched, time.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        self.write()
    }
}

impl Bus for Open {
    fn transaction_bytes_max(&self) -> usize {
        LINE_BYTES_MAX
    }

    fn depth(&self) -> usize {
        DEPTH
    }

    fn begin(&mut self, outgoing: &[u8]) -> io::Result<()> {
        self.unwritten.extend_from_slice(outgoing);
        self.free_at = self.free_at.max(Instant::now()) + self.byte * outgoing.len() as u32;
        let end_total = self.written_total + self.unwritten.len() as u64;
        self.begun.push_back(Begun { end_total, over_at: self.free_at });
        self.write()
    }

    fn wait(&mut self, bell: BorrowedFd<'_>, _is_owed: bool, time_max: Option<Duration>) -> io::Result<bool> {
        if !self.is_finished() {
            self.poll(Some(bell), time_max)?;
        }
        Ok(self.is_finished())
    }

    fn finish(&mut self, _incoming: &mut Vec<u8>) -> io::Result<()> {
        let until = Instant::now() + TRANSACTION_MAX;
        while !self.is_finished() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.poll(None, Some(left))?;
        }
        self.begun.pop_front();
        Ok(())
    }

    fn is_ready(&self) -> bool {
        false
    }

    fn is_clocked(&self) -> bool {
        false
    }

    fn hear(&mut self, incoming: &mut Vec<u8>) -> io::Result<()> {
        let mut buffer = [0; LINE_BYTES_MAX];
        let mut taken_bytes = 0;
        while taken_bytes < READ_BYTES {
            match read(&self.line, &mut buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read_bytes) => {
                    incoming.extend_from_slice(&buffer[..read_bytes]);
                    wipe(&mut buffer[..read_bytes]);
                    taken_bytes += read_bytes;
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                // The other end of a pseudo-terminal, or an adapter that was pulled out.
                Err(Errno::IO) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }
}
