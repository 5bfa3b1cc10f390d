//! A bus whose system call waits until a transaction is over, and whose device has no line of its own to signal with.
//!
//! While the device owes an answer it is clocked a little now and then: soon at first, and ever more slowly while it says
//! nothing. What it says tells how much more there is, and that is fetched at once.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::bus::Bus;
use crate::limits::{POLL_PAUSE_MAX, POLL_PAUSE_MIN};
use crate::wiped::Wiped;

/// What is particular to a bus.
pub(super) trait Exchange: Send {
    /// Longest transaction.
    fn bytes_max(&self) -> usize;

    /// Carries a transaction out, in a bounded time: fills `incoming` with what came, as long as `outgoing`.
    ///
    /// # Errors
    /// The system's: the bus is opened anew.
    fn exchange(&mut self, outgoing: &[u8], incoming: &mut [u8]) -> io::Result<()>;
}

/// A bus of this kind.
pub(super) struct Polled<E> {
    wire: E,
    received: Wiped,
    is_begun: bool,
    /// It is time to look whether the device has something.
    is_due: bool,
    pause: Duration,
}

impl<E: Exchange> Polled<E> {
    pub(super) fn new(wire: E) -> Polled<E> {
        // Never larger: a buffer that grows leaves copies behind.
        let received = Wiped::new(Vec::with_capacity(wire.bytes_max()));
        Polled { wire, received, is_begun: false, is_due: false, pause: POLL_PAUSE_MIN }
    }
}

impl<E: Exchange> Bus for Polled<E> {
    fn transaction_bytes_max(&self) -> usize {
        self.wire.bytes_max()
    }

    fn depth(&self) -> usize {
        1
    }

    fn begin(&mut self, outgoing: &[u8]) -> io::Result<()> {
        self.received.resize(outgoing.len(), 0);
        self.wire.exchange(outgoing, &mut self.received)?;
        if outgoing.iter().chain(self.received.iter()).any(|byte| *byte != 0) {
            self.pause = POLL_PAUSE_MIN;
        }
        (self.is_begun, self.is_due) = (true, false);
        Ok(())
    }

    fn wait(&mut self, bell: BorrowedFd<'_>, is_owed: bool, time_max: Option<Duration>) -> io::Result<bool> {
        if self.is_begun {
            return Ok(true);
        }
        let pause = is_owed.then_some(self.pause);
        let time = pause.into_iter().chain(time_max).min();
        let time =
            time.map(|time| Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() });
        match poll(&mut [PollFd::from_borrowed_fd(bell, PollFlags::IN)], time.as_ref()) {
            Ok(0) if is_owed => {
                self.is_due = true;
                self.pause = (self.pause * 2).min(POLL_PAUSE_MAX);
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        Ok(false)
    }

    fn finish(&mut self, incoming: &mut Vec<u8>) -> io::Result<()> {
        incoming.extend_from_slice(&self.received);
        self.received.wipe();
        self.is_begun = false;
        Ok(())
    }

    fn is_ready(&self) -> bool {
        self.is_due
    }
}
