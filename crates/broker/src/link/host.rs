//! The host's end of the link, and what it clocks: a pure function of transfers, of what comes back, and of time.
//!
//! A full-duplex bus moves as many bytes in as out. So whoever has nothing to say and is owed an answer clocks zeros: as
//! many as the device said that it has ready, or a few when all that is known is that it has something. On a line with two
//! directions of their own the device sends when it has something, and nothing is clocked for it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::frame::{Frame, Kind};
use super::outbox::Outbox;
use super::receiver::{Heard, Receiver};
use crate::device::greeting::{QUESTION, event_of};
use crate::error::{Fault, LinkFault};
use crate::limits::{FETCH_BYTES, FRAME_BYTES_MAX, FRAME_OVERHEAD_BYTES, OPEN_MAX, PROBE_PAUSE, SLOTS_MAX};
use crate::queue::Piece;
use crate::wire::{Connection, Operation, Pdu};
use crate::{Event, Link};

/// How far the opening has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The device is asked for a session.
    Opening,
    /// It is asked what it is.
    Asking,
    /// It carries transfers.
    Open,
    /// Nothing is sent or believed any more.
    Lost,
}

/// A transaction that is begun and not finished.
struct Begun {
    bytes: usize,
    /// Where in the outbox's stream it ends.
    gone_total: u64,
    /// Whether it sends nothing but zeros.
    is_fetch: bool,
}

/// What is left of a session between two requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rest {
    /// Its number.
    pub session: u64,
    /// Frames that the host has sent and numbered, and those that it has received.
    pub sent: u16,
    /// See [`sent`](Self::sent).
    pub received: u16,
}

/// The host's end, for one opening of the device.
pub struct HostEnd {
    link: Link,
    session: u64,
    phase: Phase,
    opens_until: Duration,
    /// Longest transaction that only fetches: as long as a full transfer.
    fetch_bytes_max: usize,
    /// What is fetched when all that is known is that the device has something.
    fetch_bytes: usize,
    /// Transactions are a multiple of this.
    packet_bytes: usize,
    receiver: Receiver,
    outbox: Outbox,
    sequence: u16,
    /// Where each PDU is put together of which not all pieces are in the outbox.
    slots: BTreeMap<(Connection, u32), u8>,
    /// Where in the outbox's stream each transfer ends that has not gone.
    transfers: VecDeque<u64>,
    begun: VecDeque<Begun>,
    /// Requests that went and have no answer.
    owed: BTreeSet<(Connection, u32)>,
    /// When something last came or went.
    moved_at: Duration,
}

impl Rest {
    /// Length of its bytes.
    pub const BYTES: usize = 12;

    /// As bytes, for a file that all share who go on with the session.
    pub fn to_bytes(self) -> [u8; Rest::BYTES] {
        let mut bytes = [0; Rest::BYTES];
        bytes[..8].copy_from_slice(&self.session.to_le_bytes());
        bytes[8..10].copy_from_slice(&self.sent.to_le_bytes());
        bytes[10..].copy_from_slice(&self.received.to_le_bytes());
        bytes
    }

    /// What [`to_bytes`](Self::to_bytes) made bytes of.
    pub fn of_bytes(bytes: [u8; Rest::BYTES]) -> Rest {
        let [session @ .., a, b, c, d] = bytes;
        Rest {
            session: u64::from_le_bytes(session),
            sent: u16::from_le_bytes([a, b]),
            received: u16::from_le_bytes([c, d]),
        }
    }
}

impl HostEnd {
    /// An end that opens a session of this number, or one a little above it, which nobody else may know or guess. The device
    /// has [`OPEN_MAX`] to say what it is. `transfer_bytes_max`: the longest transfer.
    pub fn open(link: Link, session: u64, now: Duration, transfer_bytes_max: usize) -> HostEnd {
        let mut end = HostEnd {
            link,
            session,
            phase: Phase::Opening,
            opens_until: now + OPEN_MAX,
            fetch_bytes_max: transfer_bytes_max + FRAME_OVERHEAD_BYTES,
            fetch_bytes: FETCH_BYTES,
            packet_bytes: 1,
            receiver: Receiver::awaiting(session),
            outbox: Outbox::default(),
            sequence: 0,
            slots: BTreeMap::new(),
            transfers: VecDeque::new(),
            begun: VecDeque::new(),
            owed: BTreeSet::new(),
            moved_at: now,
        };
        end.ask_for_session();
        end
    }

    /// The same for a device that sends of itself: nothing is clocked for what it has.
    #[must_use]
    pub fn unclocked(self) -> HostEnd {
        HostEnd { fetch_bytes_max: 0, fetch_bytes: 0, ..self }
    }

    /// An end that goes on with a session between whose requests somebody else had the bus.
    pub fn resume(link: Link, rest: Rest, now: Duration, transfer_bytes_max: usize) -> HostEnd {
        let mut end = HostEnd::open(link, rest.session, now, transfer_bytes_max);
        (end.phase, end.outbox, end.sequence) = (Phase::Open, Outbox::default(), rest.sent);
        end.receiver = Receiver::resumed(rest.session, rest.received);
        end
    }

    /// What somebody else needs to go on; `None` while anything is under way.
    pub fn rest(&self) -> Option<Rest> {
        let is_quiet = self.phase == Phase::Open && self.outbox.is_empty() && self.begun.is_empty();
        let received = self.receiver.resting().filter(|_| is_quiet && self.owed.is_empty())?;
        Some(Rest { session: self.session, sent: self.sequence, received })
    }

    /// Every transaction fills packets of so many bytes: a bus that keeps the end of a packet back has nothing to keep.
    ///
    /// # Panics
    /// When they have none.
    pub fn fill_packets(&mut self, packet_bytes: usize) {
        assert!(packet_bytes > 0);
        self.packet_bytes = packet_bytes;
    }

    /// The next answers have so many bytes, each frame's own included: they are fetched without a look at how many.
    pub fn expect_bytes(&mut self, fetch_bytes: usize) {
        self.fetch_bytes = fetch_bytes;
    }

    fn ask_for_session(&mut self) {
        // The device may still wait for the rest of a frame.
        self.outbox.put(Frame::filler());
        self.outbox.put(Frame::open(self.session));
    }

    /// Takes a transfer.
    ///
    /// # Panics
    /// When the device is not open yet.
    pub fn transmit(&mut self, pieces: &[Piece]) {
        assert!(!matches!(self.phase, Phase::Opening | Phase::Asking), "transfers follow the opening");
        self.load(pieces);
    }

    fn load(&mut self, pieces: &[Piece]) {
        for piece in pieces {
            let head = piece.request.head();
            let number = (head.connection, head.request);
            let slot = if piece.is_first() { self.free_slot() } else { self.slots[&number] };
            for part in piece.request.bytes()[piece.from..piece.to].chunks(FRAME_BYTES_MAX) {
                self.put(Kind::Piece(slot), part);
            }
            if piece.is_last() {
                self.slots.remove(&number);
                if !piece.request.operation().is_ok_and(Operation::is_brokers) {
                    self.owed.insert(number);
                }
            } else {
                self.slots.insert(number, slot);
            }
        }
        self.transfers.push_back(self.outbox.put_total);
    }

    fn free_slot(&self) -> u8 {
        let is_free = |slot: &u8| !self.slots.values().any(|used| used == slot);
        (0..SLOTS_MAX as u8).find(is_free).expect("the core begins no more than there are slots")
    }

    fn put(&mut self, kind: Kind, payload: &[u8]) {
        self.outbox.put(Frame::new(kind, self.session, self.sequence, 0, payload));
        self.sequence = self.sequence.wrapping_add(1);
    }

    /// Appends to `wire` what the next transaction sends, which is then begun, or nothing if there is no reason for one.
    /// `is_ready`: the device has something, by its own signal.
    pub fn begin(&mut self, is_ready: bool, bytes_max: usize, wire: &mut Vec<u8>) {
        if self.phase == Phase::Lost {
            return;
        }
        let is_fetch = self.outbox.is_empty();
        let bytes = self.next_bytes().max(self.wanted_bytes(is_ready)).min(bytes_max);
        // A transaction that sends something makes room for another transfer, which will be here before long.
        if bytes == 0 || is_fetch && !self.begun.iter().all(|begun| begun.is_fetch) {
            return;
        }
        let bytes = self.filled(bytes, bytes_max);
        let end = wire.len() + bytes;
        wire.reserve_exact(bytes);
        self.outbox.go(bytes, wire);
        wire.resize(end, 0);
        self.begun.push_back(Begun { bytes, gone_total: self.outbox.gone_total, is_fetch });
    }

    /// So many bytes, or what makes them fill their packets.
    fn filled(&self, bytes: usize, bytes_max: usize) -> usize {
        let (more, most) =
            (bytes.next_multiple_of(self.packet_bytes), bytes_max - bytes_max % self.packet_bytes);
        if most == 0 { bytes } else { more.min(most) }
    }

    /// How much is worth fetching, beside what is being fetched.
    fn wanted_bytes(&self, is_ready: bool) -> usize {
        let begun_bytes: usize = self.begun.iter().map(|begun| begun.bytes).sum();
        let waiting_bytes = self.receiver.waiting_bytes().saturating_sub(begun_bytes);
        let is_news = is_ready && waiting_bytes == 0 && self.begun.is_empty();
        if is_news { self.fetch_bytes } else { waiting_bytes.min(self.fetch_bytes_max) }
    }

    /// What is left of the oldest transfer: a transaction is as long as that, so that there is another one to follow it
    /// without a pause.
    fn next_bytes(&self) -> usize {
        let gone_total = self.outbox.gone_total;
        let end = self.transfers.iter().find(|end| **end > gone_total);
        end.map_or(self.outbox.len(), |end| (end - gone_total) as usize)
    }

    /// How many transactions are begun and not finished.
    pub fn begun_count(&self) -> usize {
        self.begun.len()
    }

    /// Whether a transaction is begun and not finished.
    pub fn is_busy(&self) -> bool {
        !self.begun.is_empty()
    }

    /// The oldest transaction is finished: `incoming` came meanwhile. Appends what follows.
    ///
    /// # Panics
    /// When none was begun.
    pub fn finish(&mut self, now: Duration, incoming: &[u8], events: &mut Vec<Event>) {
        let Begun { gone_total, is_fetch, .. } = self.begun.pop_front().expect("it was begun");
        if self.phase == Phase::Lost {
            return;
        }
        if !is_fetch {
            self.moved_at = now;
        }
        while self.transfers.front().is_some_and(|end| *end <= gone_total) {
            self.transfers.pop_front();
            if self.phase == Phase::Open {
                events.push(Event::DeviceTook { link: self.link });
            }
        }
        self.hear(now, incoming, events);
    }

    /// Bytes came, in a transaction or without one. Appends what follows.
    pub fn hear(&mut self, now: Duration, mut incoming: &[u8], events: &mut Vec<Event>) {
        if self.phase == Phase::Lost {
            return;
        }
        // A device that is polled and has nothing to say is as silent as one that is not.
        if incoming.iter().any(|byte| *byte != 0) {
            self.moved_at = now;
        }
        while let Some(heard) = self.receiver.next(&mut incoming) {
            if let Err(fault) = self.take(heard, events) {
                return self.lose(fault, events);
            }
        }
    }

    fn take(&mut self, heard: Heard, events: &mut Vec<Event>) -> Result<(), LinkFault> {
        match heard {
            Heard::Opened => {
                self.phase = Phase::Asking;
                let request = Arc::new(Pdu::empty(QUESTION));
                let to = request.bytes().len();
                self.load(&[Piece { request, from: 0, to }]);
            }
            Heard::Pdu(answer) => {
                let head = answer.head();
                self.owed.remove(&(head.connection, head.request));
                events.push(event_of(answer, self.link, self.phase == Phase::Open)?);
                self.phase = Phase::Open;
            }
            Heard::Probe => {}
            Heard::Broken => return Err(LinkFault::Corrupt(Fault::Crc)),
            Heard::Damaged(fault) => return Err(LinkFault::Corrupt(fault)),
        }
        Ok(())
    }

    fn lose(&mut self, fault: LinkFault, events: &mut Vec<Event>) {
        self.phase = Phase::Lost;
        events.push(Event::DeviceLost { link: self.link, fault });
    }

    /// Whether the device owes an answer, so that its signal is worth looking at and time matters.
    pub fn is_owed(&self) -> bool {
        match self.phase {
            Phase::Opening | Phase::Asking => true,
            Phase::Open => !self.owed.is_empty(),
            Phase::Lost => false,
        }
    }

    /// Asks the device to say something when it has been silent for long: so a loss shows of which nothing that follows
    /// would tell. To be called every now and then while an answer is owed.
    pub fn pass_time(&mut self, now: Duration, events: &mut Vec<Event>) {
        if matches!(self.phase, Phase::Opening | Phase::Asking) && self.opens_until <= now {
            return self.lose(LinkFault::OpenTimeout, events);
        }
        let is_quiet = self.is_owed() && self.outbox.is_empty() && self.begun.is_empty();
        if !is_quiet || now < self.moved_at + PROBE_PAUSE {
            return;
        }
        self.moved_at = now;
        if self.phase == Phase::Opening {
            // The device may have opened this one, and opens none twice.
            self.session = self.session.wrapping_add(1);
            self.receiver = Receiver::awaiting(self.session);
            self.ask_for_session();
        } else {
            self.outbox.put(Frame::filler());
            self.put(Kind::Probe, &[]);
        }
    }
}
