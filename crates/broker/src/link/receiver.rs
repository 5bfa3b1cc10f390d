//! What comes in at either end: bytes, cut anywhere, become PDUs and what else is heard.
//!
//! Owns the place in the stream: within a session a frame follows a frame; without one, the next frame that opens a
//! session is looked for at every byte.

use std::collections::BTreeMap;

use super::frame::{Announced, Kind, OPEN_FRAME_BYTES, SYNC, open_prefix, opened_session, payload};
use crate::error::Fault;
use crate::limits::FRAME_HEADER_BYTES;
use crate::stream::{Decoder, Framing};
use crate::wiped::Wiped;
use crate::wire::Pdu;

/// What was heard.
#[derive(Debug)]
pub(super) enum Heard {
    /// A session begins.
    Opened,
    /// A PDU is whole.
    Pdu(Pdu),
    /// The other end shows that it is there, or asks for that.
    Probe,
    /// The other end is broken.
    Broken,
    /// This end is.
    Damaged(Fault),
}

/// The receiver of one end.
#[derive(Default)]
pub(super) struct Receiver {
    /// The only session that may begin; any may, if there is none.
    awaited: Option<u64>,
    session: Option<u64>,
    /// The session that began last: it does not begin again.
    last: Option<u64>,
    sequence: u16,
    /// The frame that is coming, or what may be the beginning of one that opens a session.
    bytes: Wiped,
    announced: Option<Announced>,
    /// What is looked at again before anything else, because it was no frame after all.
    again: Wiped,
    slots: BTreeMap<u8, Decoder>,
    /// What the sender has ready, as far as it said.
    waiting_bytes: usize,
    pdu_bytes: u64,
}

impl Receiver {
    /// A receiver that waits for this session and no other.
    pub(super) fn awaiting(session: u64) -> Receiver {
        Receiver { awaited: Some(session), ..Receiver::default() }
    }

    /// A receiver in the middle of a session.
    pub(super) fn resumed(session: u64, sequence: u16) -> Receiver {
        Receiver { session: Some(session), last: Some(session), sequence, ..Receiver::default() }
    }

    /// The number of the next frame, if none is coming.
    pub(super) fn resting(&self) -> Option<u16> {
        let is_quiet = self.session.is_some() && self.bytes.is_empty() && self.again.is_empty();
        (is_quiet && self.slots.is_empty()).then_some(self.sequence)
    }

    /// The session, while this end is whole.
    pub(super) fn session(&self) -> Option<u64> {
        self.session
    }

    /// Bytes that the sender has ready, as far as it said.
    pub(super) fn waiting_bytes(&self) -> usize {
        self.waiting_bytes
    }

    /// Bytes of PDUs that came.
    pub(super) fn pdu_bytes(&self) -> u64 {
        self.pdu_bytes
    }

    /// Takes bytes from `input` until something is heard or none are left.
    pub(super) fn next(&mut self, input: &mut &[u8]) -> Option<Heard> {
        while !self.again.is_empty() {
            let again = std::mem::take(&mut self.again);
            let mut rest = &again[..];
            let heard = self.take(&mut rest);
            self.again.extend_from_slice(rest);
            if heard.is_some() {
                return heard;
            }
        }
        self.take(input)
    }

    fn take(&mut self, input: &mut &[u8]) -> Option<Heard> {
        while !input.is_empty() {
            let heard = match self.session {
                Some(session) => self.follow(session, input),
                None => self.hunt(input),
            };
            if heard.is_some() {
                return heard;
            }
        }
        None
    }

    /// Goes on in a session.
    fn follow(&mut self, session: u64, input: &mut &[u8]) -> Option<Heard> {
        if self.bytes.is_empty() {
            let filler_bytes = input.iter().take_while(|byte| **byte == 0).count();
            *input = &input[filler_bytes..];
            self.waiting_bytes = self.waiting_bytes.saturating_sub(filler_bytes);
            if *input.first()? != SYNC {
                return Some(self.damage(Fault::Frame { field: "sync" }));
            }
        }
        let Some(announced) = self.announced else {
            if self.collect(FRAME_HEADER_BYTES, input) {
                match Announced::parse(&self.bytes, session) {
                    Ok(announced) => self.expect(announced),
                    Err(fault) => return Some(self.damage(fault)),
                }
            }
            return None;
        };
        if !self.collect(announced.frame_bytes(), input) {
            return None;
        }
        let frame = std::mem::take(&mut self.bytes);
        self.announced = None;
        match self.whole(announced, &frame) {
            Ok(heard) => heard,
            Err(fault) => {
                self.bytes = frame;
                Some(self.damage(fault))
            }
        }
    }

    fn expect(&mut self, announced: Announced) {
        self.announced = Some(announced);
        self.waiting_bytes = announced.waiting_bytes + announced.frame_bytes() - FRAME_HEADER_BYTES;
        // Once, to the exact size: a buffer that grows leaves copies behind.
        self.bytes.reserve_exact(announced.frame_bytes() - FRAME_HEADER_BYTES);
    }

    /// Moves bytes from `input` until there are `want_bytes`; whether there are.
    fn collect(&mut self, want_bytes: usize, input: &mut &[u8]) -> bool {
        let (taken, rest) = input.split_at(input.len().min(want_bytes - self.bytes.len()));
        self.bytes.extend_from_slice(taken);
        self.waiting_bytes = self.waiting_bytes.saturating_sub(taken.len());
        *input = rest;
        self.bytes.len() == want_bytes
    }

    /// A frame is there as a whole.
    fn whole(&mut self, announced: Announced, frame: &[u8]) -> Result<Option<Heard>, Fault> {
        let mut payload = payload(frame)?;
        if announced.kind.is_numbered() {
            if announced.sequence != self.sequence {
                return Err(Fault::Frame { field: "sequence" });
            }
            self.sequence = self.sequence.wrapping_add(1);
        }
        match announced.kind {
            Kind::Probe => Ok(Some(Heard::Probe)),
            Kind::Broken => Ok(Some(Heard::Broken)),
            Kind::Open => {
                let session = opened_session(frame).filter(|session| self.may_open(*session));
                self.open(session.ok_or(Fault::Frame { field: "session" })?);
                Ok(Some(Heard::Opened))
            }
            Kind::Piece(slot) => {
                self.pdu_bytes += payload.len() as u64;
                let decoder = self.slots.entry(slot).or_insert_with(|| Decoder::new(Framing::Plain));
                let pdu = decoder.next(&mut payload).map_err(|broken| broken.fault)?;
                if pdu.is_some() {
                    self.slots.remove(&slot);
                }
                if !payload.is_empty() {
                    return Err(Fault::Frame { field: "payload_bytes" });
                }
                Ok(pdu.map(Heard::Pdu))
            }
        }
    }

    /// Whether a session of this number may begin.
    fn may_open(&self, session: u64) -> bool {
        self.last != Some(session) && self.awaited.is_none_or(|awaited| awaited == session)
    }

    fn open(&mut self, session: u64) {
        (self.session, self.last) = (Some(session), Some(session));
        (self.sequence, self.announced) = (0, None);
        self.slots.clear();
        self.bytes.wipe();
        self.waiting_bytes = 0;
    }

    /// Forgets all but what was counted.
    pub(super) fn reset(&mut self) {
        self.close();
        self.last = None;
        self.bytes.wipe();
        self.again.wipe();
    }

    fn close(&mut self) {
        (self.session, self.announced) = (None, None);
        self.slots.clear();
        self.waiting_bytes = 0;
    }

    /// From here on the next session is looked for, from the second byte of what was no frame.
    fn damage(&mut self, fault: Fault) -> Heard {
        self.close();
        let bytes = std::mem::take(&mut self.bytes);
        let mut again = std::mem::take(&mut self.again);
        again.extend_from_slice(bytes.get(1..).unwrap_or_default());
        self.again = again;
        Heard::Damaged(fault)
    }

    /// Looks for a frame that opens a session.
    fn hunt(&mut self, input: &mut &[u8]) -> Option<Heard> {
        let prefix = open_prefix();
        while let [byte, rest @ ..] = *input {
            *input = rest;
            if self.bytes.is_empty() && *byte != SYNC {
                continue;
            }
            self.bytes.push(*byte);
            while !self.bytes.is_empty() {
                let begins = self.bytes.iter().zip(&prefix).all(|(found, expected)| found == expected);
                let session = if begins { opened_session(&self.bytes) } else { None };
                if let Some(session) = session.filter(|session| self.may_open(*session)) {
                    self.open(session);
                    return Some(Heard::Opened);
                }
                if begins && self.bytes.len() < OPEN_FRAME_BYTES {
                    break;
                }
                self.bytes.remove(0);
            }
        }
        None
    }
}
