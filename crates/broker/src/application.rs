//! An application's socket: the paper's client thread, as a role of the broker's loop.
//!
//! Reads requests as long as the application reads its answers, and writes answers as fast as the socket takes them.
//! Nothing here waits, and nothing is decided: what follows from what was read is the core's.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::epoll::EventFlags;
use rustix::io::{Errno, read};

use crate::Event;
use crate::limits::{ANSWERS_PER_CONNECTION_MAX, REQUESTS_PER_TURN};
use crate::outgoing::Outgoing;
use crate::stream::{Decoder, Framing};
use crate::wiped::{Wiped, wipe};
use crate::wire::{Connection, Pdu};

/// One connection.
pub(crate) struct Application {
    pub(crate) connection: Connection,
    socket: OwnedFd,
    incoming: Decoder,
    /// What was read and not looked at, because answers are unread.
    unread: Wiped,
    outgoing: Outgoing,
    /// Requests whose answers are not written.
    outstanding: usize,
    /// Nothing more is read: it hung up, or was not understood.
    is_over: bool,
    /// It was told that it is too much, and when to ask again: nothing is read until then.
    rests_until: Option<Duration>,
    /// It is closed when its answers are written, or at this time.
    closes_at: Option<Duration>,
    /// What epoll was told to look at.
    pub(crate) interest: EventFlags,
    /// Whether it is to be looked at before the loop waits.
    pub(crate) is_touched: bool,
}

impl Application {
    pub(crate) fn new(connection: Connection, socket: OwnedFd) -> Application {
        Application {
            connection,
            socket,
            incoming: Decoder::new(Framing::Plain),
            unread: Wiped::default(),
            outgoing: Outgoing::new(Framing::Plain),
            outstanding: 0,
            is_over: false,
            rests_until: None,
            closes_at: None,
            interest: EventFlags::empty(),
            is_touched: false,
        }
    }

    /// Reads what has come, once, appends what follows from that, and says how many bytes it was. `buffer` is wiped. Of
    /// one that has hung up, and left its answers unread, nothing more is wanted.
    pub(crate) fn read(&mut self, buffer: &mut [u8], has_hung_up: bool, events: &mut Vec<Event>) -> usize {
        if !self.wants_more() {
            if has_hung_up && !self.is_over {
                self.end(Event::Disconnected { connection: self.connection }, events);
            }
            return 0;
        }
        let read_bytes = match read(&self.socket, &mut *buffer) {
            Ok(read_bytes @ 1..) => read_bytes,
            Err(Errno::AGAIN | Errno::INTR) => return 0,
            Ok(0) | Err(_) => {
                self.end(Event::Disconnected { connection: self.connection }, events);
                return 0;
            }
        };
        let looked_at = self.decode(&buffer[..read_bytes], events);
        self.unread.extend_from_slice(&buffer[looked_at..read_bytes]);
        wipe(&mut buffer[..read_bytes]);
        read_bytes
    }

    /// Goes on with what was read before, when answers have been written since; whether there is more of it.
    pub(crate) fn resume(&mut self, events: &mut Vec<Event>) -> bool {
        if self.unread.is_empty() || !self.has_room() {
            return false;
        }
        let unread = std::mem::take(&mut self.unread);
        let looked_at = self.decode(&unread, events);
        self.unread.extend_from_slice(&unread[looked_at..]);
        !self.unread.is_empty()
    }

    /// How many of the bytes were looked at: all, unless there are enough requests of this connection.
    fn decode(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> usize {
        let (mut input, connection) = (bytes, self.connection);
        for _ in 0..REQUESTS_PER_TURN {
            if self.is_over || !self.has_room() {
                break;
            }
            match self.incoming.next(&mut input) {
                Ok(Some(request)) => {
                    self.outstanding += 1;
                    events.push(Event::Requested { connection, request });
                }
                Ok(None) => break,
                Err(broken) => self.end(Event::Garbled { connection, broken }, events),
            }
        }
        if self.is_over { bytes.len() } else { bytes.len() - input.len() }
    }

    fn end(&mut self, event: Event, events: &mut Vec<Event>) {
        self.is_over = true;
        events.push(event);
    }

    /// Takes an answer.
    pub(crate) fn answer(&mut self, answer: Pdu) {
        self.outgoing.push(Arc::new(answer));
    }

    /// Whether it is not read from for some time.
    pub(crate) fn rests(&self) -> bool {
        self.rests_until.is_some()
    }

    /// It is not read from for so long; until when that is.
    pub(crate) fn rest(&mut self, now: Duration, time_ms: u32) -> Duration {
        *self.rests_until.insert(now + Duration::from_millis(time_ms.into()))
    }

    /// It may be read from again; until when it would have rested.
    pub(crate) fn wake(&mut self) -> Option<Duration> {
        self.rests_until.take()
    }

    /// Writes what the socket takes, and appends what follows from that.
    ///
    /// # Errors
    /// The socket's: nothing is written any more.
    pub(crate) fn write(&mut self, events: &mut Vec<Event>) -> io::Result<()> {
        let connection = self.connection;
        match self.outgoing.flush(&self.socket) {
            Ok(0) => Ok(()),
            Ok(answers) => {
                // An answer to what is no request has no request.
                self.outstanding = self.outstanding.saturating_sub(answers);
                if self.closes_at.is_none() {
                    events.push(Event::Written { connection, answers });
                }
                Ok(())
            }
            Err(error) => {
                if self.closes_at.is_none() && !self.is_over {
                    self.end(Event::Disconnected { connection }, events);
                }
                Err(error)
            }
        }
    }

    /// The core has closed it: it stays until its answers are written, but no longer than `until`.
    pub(crate) fn close(&mut self, until: Duration) {
        (self.is_over, self.closes_at) = (true, Some(until));
        self.unread.wipe();
    }

    /// Until when it stays, if the core has closed it.
    pub(crate) fn closes_at(&self) -> Option<Duration> {
        self.closes_at
    }

    /// Whether the core has closed it, and nothing is to be written any more or the time is over.
    pub(crate) fn is_gone(&self, now: Duration) -> bool {
        self.closes_at.is_some_and(|closes_at| closes_at <= now || self.outgoing.is_empty())
    }

    /// What it waits for.
    pub(crate) fn wants(&self) -> EventFlags {
        let mut wants = EventFlags::empty();
        wants.set(EventFlags::IN, self.wants_more());
        wants.set(EventFlags::OUT, !self.outgoing.is_empty());
        wants
    }

    fn wants_more(&self) -> bool {
        !self.is_over && self.unread.is_empty() && self.has_room()
    }

    fn has_room(&self) -> bool {
        self.rests_until.is_none() && self.outstanding < ANSWERS_PER_CONNECTION_MAX
    }
}

impl AsFd for Application {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
