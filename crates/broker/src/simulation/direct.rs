//! Applications that share a device without a broker: by a lock, in turn, as libraries of such devices do.
//!
//! Owns what one does that has the lock. They are as good as such applications can be: the lock passes from one to the next
//! in no time, the link's session goes on across all of them, and each knows how long its answers are.

use std::sync::Arc;
use std::time::Duration;

use super::{Wire, echo};
use crate::emulate::clocked::Clocks;
use crate::emulate::draws::Draws;
use crate::emulate::faults::{Faults, Rates};
use crate::emulate::preset::Preset;
use crate::limits::{FRAME_OVERHEAD_BYTES, TRANSACTION_BYTES_MAX};
use crate::link::HostEnd;
use crate::queue::Piece;
use crate::wire::{Connection, Pdu};
use crate::{Event, Link};

/// What the applications do.
#[derive(Clone, Copy, Debug)]
pub struct Turns {
    /// How many there are.
    pub count: usize,
    /// Requests of each, all in one turn.
    pub requests: usize,
    /// Length of each request, its header included.
    pub pdu_bytes: usize,
    /// Whether the device is opened and closed in each turn, and not once by all of them.
    pub is_reopened: bool,
}

/// How long all of them take, and what the device does meanwhile.
///
/// # Panics
/// When an answer is not what was asked for.
pub fn run(seed: u64, preset: Preset, turns: Turns) -> (Duration, Clocks) {
    let mut wire = Wire::new(preset, Faults::new(Rates::default(), 0));
    let (mut draws, mut now) = (Draws::new(seed), Duration::ZERO);
    let mut host = HostEnd::open(LINK, draws.draw(), now, TRANSACTION_BYTES_MAX);
    while host.rest().is_none() {
        turn(&mut wire, &mut host, &mut now);
    }
    let (from, before) = (now, wire.device.clocks());
    for _ in 0..turns.count {
        if turns.is_reopened {
            wire.reopen();
            now += preset.open;
        }
        let rest = host.rest().expect("the one before is done");
        host = HostEnd::resume(LINK, rest, now, TRANSACTION_BYTES_MAX);
        host.expect_bytes(wire_bytes(turns.pdu_bytes, preset.piece_bytes_max()));
        for number in 0..turns.requests {
            let mut request = echo(&mut draws, number as u32, turns.pdu_bytes);
            request.assign(HOLDER);
            let request = Arc::new(request);
            host.transmit(&[whole(&request)]);
            let answer = loop {
                let events = turn(&mut wire, &mut host, &mut now);
                if let Some(answer) = answer_of(events) {
                    break answer;
                }
            };
            assert!(answer.payload() == request.payload(), "an echo is what was said");
        }
    }
    (now - from, wire.device.clocks().since(&before))
}

/// The link knows of one opening only.
pub(crate) const LINK: Link = 1;

/// Whoever has the lock is the device's only connection.
pub(crate) const HOLDER: Connection = Connection(1);

/// What a PDU takes on the wire that is cut into pieces of at most so many bytes.
pub fn wire_bytes(pdu_bytes: usize, piece_bytes_max: usize) -> usize {
    pdu_bytes + pdu_bytes.div_ceil(piece_bytes_max) * FRAME_OVERHEAD_BYTES
}

/// All of a request.
pub(crate) fn whole(request: &Arc<Pdu>) -> Piece {
    Piece { request: request.clone(), from: 0, to: request.bytes().len() }
}

fn answer_of(events: Vec<Event>) -> Option<Pdu> {
    events.into_iter().find_map(|event| match event {
        Event::DeviceAnswered { answer, .. } => Some(answer),
        Event::DeviceLost { fault, .. } => panic!("a wire without faults loses nothing: {fault:?}"),
        _ => None,
    })
}

/// What can be begun is, and then it is the next instant.
fn turn(wire: &mut Wire, host: &mut HostEnd, now: &mut Duration) -> Vec<Event> {
    let mut events = Vec::new();
    wire.begin(*now, host);
    *now = wire.device.next_at().expect("an answer is owed").max(*now);
    wire.hear(*now, Some(host), &mut events);
    events
}
