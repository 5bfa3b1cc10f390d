//! An application's socket: the paper's client thread, as a role of the broker's loop.
//!
//! Reads requests as long as the application reads its answers, and writes answers as fast as the socket takes them.
//! Nothing here waits, and nothing is decided: what follows from what was read is the core's.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;

use crate::Event;
use crate::limits::{
    ANSWER_BYTES, ANSWERS_PER_CONNECTION_MAX, BUFFERED_BYTES, HEADER_BYTES, REQUESTS_PER_TURN,
    UNFINISHED_BYTES_PER_READ,
};
use crate::outgoing::Outgoing;
use crate::stream::{Decoder, Framing};
use crate::unfinished::Unfinished;
use crate::watch::Seat;
use crate::wiped::{Wiped, wipe};
use crate::wire::{Connection, Pdu};

/// One connection.
pub(crate) struct Application {
    pub(crate) connection: Connection,
    user: u32,
    socket: OwnedFd,
    incoming: Decoder,
    /// What was read and not looked at, because answers are unread.
    unread: Wiped,
    outgoing: Outgoing,
    /// Requests whose answers are not written.
    outstanding: usize,
    /// What was last told of what it holds.
    told_bytes: usize,
    /// Nothing more is read: it hung up, or was not understood.
    is_over: bool,
    /// It was told that it is too much, and when to ask again: nothing is read until then.
    rests_until: Option<Duration>,
    /// How many requests were taken.
    taken: u64,
    /// Of the request whose rest is waited for, as was last told: how many were taken before it.
    told_begun: Option<u64>,
    /// It is closed when its answers are written, or at this time.
    closes_at: Option<Duration>,
    /// Where it is watched, and for what.
    pub(crate) seat: Option<Seat>,
    pub(crate) interest: EventFlags,
    /// Whether it is to be looked at before the loop waits.
    pub(crate) is_touched: bool,
}

impl Application {
    pub(crate) fn new(connection: Connection, user: u32, socket: OwnedFd) -> Application {
        Application {
            connection,
            user,
            socket,
            incoming: Decoder::new(Framing::Plain),
            unread: Wiped::default(),
            outgoing: Outgoing::new(Framing::Plain),
            outstanding: 0,
            told_bytes: 0,
            is_over: false,
            rests_until: None,
            taken: 0,
            told_begun: None,
            closes_at: None,
            seat: None,
            interest: EventFlags::empty(),
            is_touched: false,
        }
    }

    /// What it holds and no request is charged for, or comes to hold once it goes on with what it has read: so that whoever
    /// has begun can finish, however little room is left.
    fn unfinished_bytes(&self) -> usize {
        if self.closes_at.is_some() {
            // The core has given back what its answers held.
            return self.outgoing.bytes();
        }
        if !self.unread.is_empty() {
            return UNFINISHED_BYTES_PER_READ - BUFFERED_BYTES + self.unread.len();
        }
        self.outstanding * ANSWER_BYTES + self.begun_bytes().map_or(0, |bytes| bytes + ANSWER_BYTES)
    }

    /// Length of the request of which more than the header was read.
    fn begun_bytes(&self) -> Option<usize> {
        let is_begun = |bytes: &usize| HEADER_BYTES + self.incoming.missing_bytes() < *bytes;
        self.incoming.announced_bytes().filter(is_begun)
    }

    /// Says what it holds now.
    pub(crate) fn tell(&mut self, unfinished: &mut Unfinished) {
        let bytes = self.unfinished_bytes();
        if bytes != self.told_bytes {
            unfinished.change(self.user, self.told_bytes, bytes);
            self.told_bytes = bytes;
        }
    }

    /// Appends whether the rest of a request is waited for, if that is not as it was told last. Of one that is not read from
    /// the rest may have come.
    pub(crate) fn tell_begun(&mut self, events: &mut Vec<Event>) {
        let waits = self.wants_more() && self.incoming.is_inside();
        let begun = waits.then_some(self.taken);
        if std::mem::replace(&mut self.told_begun, begun) != begun && self.closes_at.is_none() {
            events.push(Event::Began { connection: self.connection, waits });
        }
    }

    /// It is gone, and holds nothing.
    pub(crate) fn tell_end(&mut self, unfinished: &mut Unfinished) {
        unfinished.change(self.user, self.told_bytes, 0);
        self.told_bytes = 0;
    }

    /// How much may be read of it at once. Where there is little room left, it is read from request by request: its header,
    /// and the rest when there is room for all of it.
    pub(crate) fn read_bytes_max(&self, unfinished: &Unfinished) -> usize {
        let room_bytes = unfinished.room_bytes(self.user);
        if room_bytes + self.told_bytes >= UNFINISHED_BYTES_PER_READ {
            return BUFFERED_BYTES;
        }
        let needed_bytes = match self.incoming.announced_bytes() {
            Some(_) if self.begun_bytes().is_some() => 0,
            Some(bytes) => bytes + ANSWER_BYTES,
            // A header may be all of a request.
            None => ANSWER_BYTES,
        };
        if needed_bytes <= room_bytes { self.incoming.missing_bytes().min(BUFFERED_BYTES) } else { 0 }
    }

    /// Whether its answers may wait to be written once it is closed.
    pub(crate) fn may_linger(&self, unfinished: &Unfinished) -> bool {
        self.outgoing.bytes() <= unfinished.room_bytes(self.user) + self.told_bytes
    }

    /// Whether it waits for room.
    pub(crate) fn is_crowded(&self, unfinished: &Unfinished) -> bool {
        !self.is_over && self.unread.is_empty() && self.read_bytes_max(unfinished) == 0
    }

    /// How many requests were taken.
    pub(crate) fn taken(&self) -> u64 {
        self.taken
    }

    /// Reads what has come, once, and once more if that begins a long request; appends what follows from that, and says
    /// how many bytes it was. `buffer` is wiped. Of one that has hung up, and left its answers unread, nothing more is
    /// wanted.
    pub(crate) fn read(&mut self, buffer: &mut [u8], has_hung_up: bool, events: &mut Vec<Event>) -> usize {
        if !self.wants_more() {
            if has_hung_up && !self.is_over {
                self.end(Event::Disconnected { connection: self.connection }, events);
            }
            return 0;
        }
        let mut total_bytes = 0;
        loop {
            let (read_bytes, buffered_bytes) = match self.incoming.read(&self.socket, buffer) {
                Ok((read_bytes @ 1.., buffered_bytes)) => (read_bytes, buffered_bytes),
                Err(Errno::AGAIN | Errno::INTR) => return total_bytes,
                Ok((0, _)) | Err(_) => {
                    self.end(Event::Disconnected { connection: self.connection }, events);
                    return total_bytes;
                }
            };
            total_bytes += read_bytes;
            let looked_at = self.decode(&buffer[..buffered_bytes], events);
            self.unread.extend_from_slice(&buffer[looked_at..buffered_bytes]);
            wipe(&mut buffer[..buffered_bytes]);
            if buffered_bytes < buffer.len() || !(self.wants_more() && self.incoming.wants_rest()) {
                return total_bytes;
            }
        }
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
                    self.taken += 1;
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

    /// Whether anything may be read, as far as it depends on this connection alone.
    pub(crate) fn wants_more(&self) -> bool {
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

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use proptest::prelude::*;

    use super::*;
    use crate::quota::Bounds;
    use crate::wire::{Head, KeyHandle, Operation};

    const OTHER: u32 = 8;
    const BOUND_BYTES: usize = 1024 * 1024;

    fn echo(number: u32, payload_bytes: usize) -> Pdu {
        let head = Head::request(Operation::Echo, number, KeyHandle::NONE);
        Pdu::new(head, &[], &vec![number as u8; payload_bytes]).unwrap()
    }

    /// An application, and what it writes into.
    fn connected() -> (Application, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        for stream in [&ours, &theirs] {
            stream.set_nonblocking(true).unwrap();
        }
        (Application::new(Connection(1), 7, ours.into()), theirs)
    }

    /// Leaves so many bytes for the user 7.
    fn leave(unfinished: &mut Unfinished, taken_bytes: &mut usize, room_bytes: usize) {
        unfinished.change(OTHER, *taken_bytes, 0);
        *taken_bytes = BOUND_BYTES - 2 * room_bytes;
        unfinished.change(OTHER, 0, *taken_bytes);
    }

    #[test]
    fn with_little_room_a_request_is_begun_when_all_of_it_has_room_and_is_then_read_to_its_end() {
        let bounds = Bounds { unfinished_bytes: BOUND_BYTES, ..Bounds::default() };
        let (mut unfinished, mut taken_bytes) = (Unfinished::new(bounds), 0);
        let (mut application, mut writer) = connected();
        let (request, mut buffer, mut events) = (echo(1, 5000), vec![0; BUFFERED_BYTES], Vec::new());
        let whole_bytes = request.bytes().len();
        let (begin, rest) = request.bytes().split_at(HEADER_BYTES + 1);
        writer.write_all(begin).unwrap();
        leave(&mut unfinished, &mut taken_bytes, ANSWER_BYTES);
        assert_eq!(application.read_bytes_max(&unfinished), HEADER_BYTES);
        assert_eq!(application.read(&mut buffer[..HEADER_BYTES], false, &mut events), HEADER_BYTES);
        application.tell(&mut unfinished);
        assert!(application.is_crowded(&unfinished), "there is no room for the rest");
        leave(&mut unfinished, &mut taken_bytes, whole_bytes + ANSWER_BYTES);
        assert_eq!(application.read_bytes_max(&unfinished), whole_bytes - HEADER_BYTES);
        assert_eq!(application.read(&mut buffer[..1], false, &mut events), 1);
        application.tell(&mut unfinished);
        assert_eq!(unfinished.total_bytes(), taken_bytes + whole_bytes + ANSWER_BYTES);
        leave(&mut unfinished, &mut taken_bytes, 0);
        writer.write_all(rest).unwrap();
        let rest_bytes = application.read_bytes_max(&unfinished);
        assert_eq!(rest_bytes, whole_bytes - HEADER_BYTES - 1, "who has begun finishes");
        application.read(&mut buffer[..rest_bytes], false, &mut events);
        application.tell(&mut unfinished);
        assert!(matches!(events[..], [Event::Requested { .. }]));
        assert_eq!(unfinished.total_bytes(), taken_bytes + ANSWER_BYTES, "until it has read the answer");
        application.answer(echo(1, 0));
        application.write(&mut events).unwrap();
        application.tell(&mut unfinished);
        assert_eq!(unfinished.total_bytes(), taken_bytes);
    }

    #[test]
    fn of_who_is_closed_as_much_lingers_as_there_is_room_for() {
        let bounds = Bounds { unfinished_bytes: BOUND_BYTES, ..Bounds::default() };
        let mut unfinished = Unfinished::new(bounds);
        let (mut application, _reader) = connected();
        (0..8).for_each(|number| application.answer(echo(number, 60_000)));
        assert!(application.may_linger(&unfinished));
        application.answer(echo(8, 60_000));
        assert!(!application.may_linger(&unfinished));
        application.close(Duration::ZERO);
        application.tell(&mut unfinished);
        assert_eq!(unfinished.total_bytes(), 9 * (60_000 + HEADER_BYTES));
        application.tell_end(&mut unfinished);
        assert_eq!(unfinished.total_bytes(), 0);
    }

    proptest! {
        #[test]
        fn whatever_comes_no_read_takes_more_than_there_was_room_for(
            lengths in prop::collection::vec(prop_oneof![40 => 0usize..200, 1 => 0usize..65_536], 1..1500),
            rooms in prop::collection::vec(prop_oneof![0usize..130_000, 130_000usize..500_000], 1..60),
            answers in prop::collection::vec(0usize..80, 1..60),
        ) {
            let bounds = Bounds { unfinished_bytes: BOUND_BYTES, ..Bounds::default() };
            let (mut unfinished, mut taken_bytes) = (Unfinished::new(bounds), 0);
            let (mut application, mut writer) = connected();
            let (mut buffer, mut events) = (vec![0; BUFFERED_BYTES], Vec::new());
            let stream: Vec<u8> =
                lengths.iter().zip(0..).flat_map(|(bytes, number)| echo(number, *bytes).bytes().to_vec()).collect();
            let (mut sent_bytes, mut asked, mut turn) = (0, 0, 0);
            while asked < lengths.len() {
                sent_bytes += writer.write(&stream[sent_bytes..]).unwrap_or(0);
                // Now and then there is room for all, and all is answered, so that it ends.
                let is_ample = turn % 7 == 0;
                let room_bytes = if is_ample { BOUND_BYTES / 2 } else { rooms[turn % rooms.len()] };
                leave(&mut unfinished, &mut taken_bytes, room_bytes.saturating_sub(application.told_bytes));
                let (before, room_bytes) = (application.told_bytes, unfinished.room_bytes(7));
                let bytes_max = application.read_bytes_max(&unfinished);
                if bytes_max > 0 || !application.wants_more() {
                    application.read(&mut buffer[..bytes_max], false, &mut events);
                }
                prop_assert!(application.unfinished_bytes() <= before + room_bytes);
                application.tell(&mut unfinished);
                asked += events.drain(..).filter(|event| matches!(event, Event::Requested { .. })).count();
                let held_bytes = application.told_bytes;
                let answered = if is_ample { usize::MAX } else { answers[turn % answers.len()] };
                for _ in 0..answered.min(application.outstanding) {
                    application.answer(echo(0, 0));
                }
                application.write(&mut events).unwrap();
                let mut drain = [0; 4096];
                while std::io::Read::read(&mut writer, &mut drain).is_ok_and(|bytes| bytes > 0) {}
                application.resume(&mut events);
                prop_assert!(application.unfinished_bytes() <= held_bytes, "what follows was made room for");
                application.tell(&mut unfinished);
                asked += events.drain(..).filter(|event| matches!(event, Event::Requested { .. })).count();
                turn += 1;
            }
            while application.outstanding > 0 {
                application.answer(echo(0, 0));
                application.write(&mut events).unwrap();
                let mut drain = [0; 4096];
                while std::io::Read::read(&mut writer, &mut drain).is_ok_and(|bytes| bytes > 0) {}
            }
            application.tell(&mut unfinished);
            prop_assert_eq!(application.told_bytes, 0);
        }
    }
}
