//! The device's end of the link: requests come out of it, answers go into it, cut and in an order of its own.
//!
//! The order is the broker's for requests, turns by the byte between connections, so that a small answer does not wait for
//! the rest of a large one.

use std::collections::{BTreeSet, VecDeque};

use super::frame::{Frame, Kind};
use super::outbox::Outbox;
use super::receiver::{Heard, Receiver};
use crate::limits::{FRAME_BYTES_MAX, FRAME_OVERHEAD_BYTES, SLOTS_MAX};
use crate::rounds::Rounds;
use crate::wire::{Connection, Operation, Pdu};

/// The device's end.
pub struct DeviceEnd {
    piece_bytes_max: usize,
    receiver: Receiver,
    outbox: Outbox,
    sequence: u16,
    answers: Rounds<Connection, VecDeque<Answer>>,
    /// Slots in which the host puts an answer together.
    slots: BTreeSet<u8>,
    /// What the answers take on the wire, as far as they are not in the outbox.
    waiting_bytes: usize,
    /// Requests of this session whose answers have not gone.
    unanswered: usize,
    pdu_bytes: u64,
}

struct Answer {
    pdu: Pdu,
    cut_bytes: usize,
    slot: Option<u8>,
}

impl DeviceEnd {
    /// An end without a session, which cuts answers into pieces of so many bytes.
    ///
    /// # Panics
    /// When a frame cannot be so long, or nothing is.
    pub fn new(piece_bytes_max: usize) -> DeviceEnd {
        assert!((1..=FRAME_BYTES_MAX).contains(&piece_bytes_max));
        DeviceEnd {
            piece_bytes_max,
            receiver: Receiver::default(),
            outbox: Outbox::default(),
            sequence: 0,
            answers: Rounds::default(),
            slots: BTreeSet::new(),
            waiting_bytes: 0,
            unanswered: 0,
            pdu_bytes: 0,
        }
    }

    /// The number of the session, while there is one.
    pub fn session(&self) -> Option<u64> {
        self.receiver.session()
    }

    /// Bytes of PDUs that came, and that went.
    pub fn pdu_bytes(&self) -> (u64, u64) {
        (self.receiver.pdu_bytes(), self.pdu_bytes)
    }

    /// Takes what came over the wire, and appends the requests that are whole now. Each is of the session that is open when
    /// this returns; those of an earlier one, and their answers, are of no use any more.
    pub fn take(&mut self, mut bytes: &[u8], requests: &mut Vec<Pdu>) {
        let is_asked = bytes.iter().any(|byte| *byte != 0);
        while let Some(heard) = self.receiver.next(&mut bytes) {
            match heard {
                Heard::Opened => {
                    self.forget();
                    requests.clear();
                    self.outbox.put(Frame::open(self.session().expect("it was just opened")));
                }
                Heard::Pdu(request) => {
                    let is_answered = !request.operation().is_ok_and(Operation::is_brokers);
                    self.unanswered += usize::from(is_answered);
                    requests.push(request);
                }
                Heard::Probe => self.put(Kind::Probe, &[]),
                // The host says so by a new session.
                Heard::Broken => {}
                Heard::Damaged(_) => {
                    self.forget();
                    requests.clear();
                }
            }
            if self.unanswered > SLOTS_MAX {
                // Who sends more than it may is no host of ours.
                self.reset();
                requests.clear();
            }
        }
        if self.session().is_none() && is_asked && self.outbox.is_empty() {
            self.outbox.put(Frame::new(Kind::Broken, 0, 0, 0, &[]));
        }
    }

    /// Forgets all, as a device does that starts anew.
    pub fn reset(&mut self) {
        self.receiver.reset();
        self.forget();
    }

    fn forget(&mut self) {
        (self.outbox, self.answers) = (Outbox::default(), Rounds::default());
        self.slots.clear();
        (self.sequence, self.waiting_bytes, self.unanswered) = (0, 0, 0);
    }

    /// Takes the answer to a request of this session. Those of another session are dropped.
    pub fn answer(&mut self, session: u64, pdu: Pdu) {
        if self.session() != Some(session) {
            return;
        }
        self.waiting_bytes += self.wire_bytes(pdu.bytes().len());
        let answers = self.answers.enter(pdu.head().connection);
        answers.push_back(Answer { pdu, cut_bytes: 0, slot: None });
    }

    /// What so many bytes of one PDU take on the wire.
    fn wire_bytes(&self, pdu_bytes: usize) -> usize {
        pdu_bytes + pdu_bytes.div_ceil(self.piece_bytes_max) * FRAME_OVERHEAD_BYTES
    }

    /// Whether it has something for the host.
    pub fn is_ready(&self) -> bool {
        !self.outbox.is_empty() || !self.answers.is_idle()
    }

    /// Appends exactly `bytes` to `wire`: what there is, and then zeros.
    pub fn fill(&mut self, bytes: usize, wire: &mut Vec<u8>) {
        let end = wire.len() + bytes;
        self.say(bytes, wire);
        wire.resize(end, 0);
    }

    /// Appends what there is to `wire`, at most `bytes_max`.
    pub fn say(&mut self, bytes_max: usize, wire: &mut Vec<u8>) {
        let end = wire.len() + bytes_max;
        while wire.len() < end {
            if self.outbox.is_empty() && !self.cut() {
                break;
            }
            self.pdu_bytes += self.outbox.go(end - wire.len(), wire) as u64;
        }
    }

    /// Puts the next piece into the outbox; whether there is one.
    fn cut(&mut self) -> bool {
        let Some(connection) = self.answers.turn() else { return false };
        let Some(answers) = self.answers.get(connection) else { return false };
        let Some(answer) = answers.front_mut() else { return false };
        let is_free = |slot: &u8| !self.slots.contains(slot);
        let free =
            || (0..SLOTS_MAX as u8).find(is_free).expect("it has no more answers than there are slots");
        let slot = *answer.slot.get_or_insert_with(free);
        let (from, all) = (answer.cut_bytes, answer.pdu.bytes().len());
        let to = all.min(from + self.piece_bytes_max);
        answer.cut_bytes = to;
        self.waiting_bytes -= to - from + FRAME_OVERHEAD_BYTES;
        let session = self.receiver.session().expect("answers are of a session");
        let piece = &answer.pdu.bytes()[from..to];
        self.outbox.put(Frame::new(Kind::Piece(slot), session, self.sequence, self.waiting_bytes, piece));
        self.sequence = self.sequence.wrapping_add(1);
        self.slots.insert(slot);
        if to == all {
            answers.pop_front();
            self.slots.remove(&slot);
            self.unanswered = self.unanswered.saturating_sub(1);
        }
        let is_empty = answers.is_empty();
        self.answers.served(connection, to - from, is_empty);
        if is_empty {
            self.answers.remove(connection);
        }
        true
    }

    fn put(&mut self, kind: Kind, payload: &[u8]) {
        let Some(session) = self.session() else { return };
        self.outbox.put(Frame::new(kind, session, self.sequence, self.waiting_bytes, payload));
        self.sequence = self.sequence.wrapping_add(1);
    }
}
