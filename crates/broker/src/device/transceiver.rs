//! The transceiver of a device behind a stream: it owns the open stream, asks the device what it is, and then carries
//! transfers to it and answers from it as fast as they come.
//!
//! A role of the broker's loop, not a thread: nothing here waits. All decisions are the core's; whatever ends the link
//! is one event.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::io::{Errno, read};

use super::Connect;
use super::greeting::{QUESTION, event_of};
use crate::error::LinkFault;
use crate::limits::OPEN_MAX;
use crate::outgoing::Outgoing;
use crate::queue::Piece;
use crate::stream::{Decoder, Framing};
use crate::wiped::wipe;
use crate::wire::Pdu;
use crate::{Event, Link};

/// An open stream to a device.
pub(crate) struct Transceiver {
    link: Link,
    stream: OwnedFd,
    incoming: Decoder,
    outgoing: Outgoing,
    /// PDUs of each transfer that is not all written.
    transfers: VecDeque<usize>,
    /// Until when the device may take to say what it is; none once it has.
    opens_until: Option<Duration>,
}

impl Transceiver {
    /// Opens the stream and asks the device what it is.
    pub(crate) fn open(device: &dyn Connect, link: Link, now: Duration) -> Result<Transceiver, LinkFault> {
        let stream = device.connect().map_err(|error| LinkFault::Io(error.kind()))?;
        let mut outgoing = Outgoing::new(Framing::Checked);
        outgoing.push(Arc::new(Pdu::empty(QUESTION)));
        Ok(Transceiver {
            link,
            stream,
            incoming: Decoder::new(Framing::Checked),
            outgoing,
            transfers: VecDeque::from([1]),
            opens_until: Some(now + OPEN_MAX),
        })
    }

    /// Takes a transfer.
    pub(crate) fn transmit(&mut self, pieces: Vec<Piece>) {
        self.transfers.push_back(pieces.len());
        for piece in pieces {
            assert!(piece.is_first() && piece.is_last(), "a stream takes whole requests");
            self.outgoing.push(piece.request);
        }
    }

    /// Writes what the stream takes, and appends what follows from that.
    pub(crate) fn write(&mut self, events: &mut Vec<Event>) {
        let mut completed = match self.outgoing.flush(&self.stream) {
            Ok(completed) => completed,
            // The device may have said why before it hung up: that is still to be read, and its end comes then.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return,
            Err(error) => return self.lose(LinkFault::Io(error.kind()), events),
        };
        while let Some(first) = self.transfers.front_mut() {
            let now = completed.min(*first);
            (*first, completed) = (*first - now, completed - now);
            if *first > 0 {
                break;
            }
            self.transfers.pop_front();
            if self.opens_until.is_none() {
                events.push(Event::DeviceTook { link: self.link });
            }
        }
    }

    /// Reads what has come, once, and appends what follows from that. `buffer` is wiped.
    pub(crate) fn read(&mut self, buffer: &mut [u8], events: &mut Vec<Event>) {
        let read_bytes = match read(&self.stream, &mut *buffer) {
            Ok(0) => return self.lose(LinkFault::HungUp, events),
            Ok(read_bytes) => read_bytes,
            Err(Errno::AGAIN | Errno::INTR) => return,
            Err(Errno::CONNRESET) => return self.lose(LinkFault::HungUp, events),
            Err(errno) => return self.lose(LinkFault::Io(io::Error::from(errno).kind()), events),
        };
        let mut input = &buffer[..read_bytes];
        let fault = loop {
            match self.incoming.next(&mut input) {
                Ok(Some(answer)) => {
                    if let Err(fault) = self.take(answer, events) {
                        break Some(fault);
                    }
                }
                Ok(None) => break None,
                Err(broken) => break Some(LinkFault::Corrupt(broken.fault)),
            }
        };
        wipe(&mut buffer[..read_bytes]);
        if let Some(fault) = fault {
            self.lose(fault, events);
        }
    }

    /// Appends that the device took too long to say what it is, if it did.
    pub(crate) fn tick(&mut self, now: Duration, events: &mut Vec<Event>) {
        if self.opens_until.is_some_and(|until| until <= now) {
            self.lose(LinkFault::OpenTimeout, events);
        }
    }

    /// Whether something waits to be written.
    pub(crate) fn is_full(&self) -> bool {
        !self.outgoing.is_empty()
    }

    fn take(&mut self, answer: Pdu, events: &mut Vec<Event>) -> Result<(), LinkFault> {
        events.push(event_of(answer, self.link, self.opens_until.is_none())?);
        self.opens_until = None;
        Ok(())
    }

    fn lose(&self, fault: LinkFault, events: &mut Vec<Event>) {
        events.push(Event::DeviceLost { link: self.link, fault });
    }
}

impl AsFd for Transceiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
