//! What a device is asked when it is opened, and what its answers are to the core from then on.

use super::DeviceInfo;
use crate::error::{Fault, LinkFault};
use crate::wire::{Connection, Head, KeyHandle, Operation, Pdu, Status};
use crate::{Event, Link};

/// The first request on each opening.
pub(crate) const QUESTION: Head = Head::request(Operation::Info, 0, KeyHandle::NONE);

/// What an answer is to the core. `is_open`: the question was answered before.
///
/// # Errors
/// What ends the link: an answer to nobody, or none to the question.
pub(crate) fn event_of(answer: Pdu, link: Link, is_open: bool) -> Result<Event, LinkFault> {
    if !is_open {
        if answer.head() != QUESTION.answer(Status::Done) {
            return Err(notice(&answer));
        }
        let info = DeviceInfo::parse(answer.payload()).map_err(LinkFault::Protocol)?;
        Ok(Event::DeviceOpened { link, info })
    } else if answer.head().connection == Connection::BROKER {
        Err(notice(&answer))
    } else {
        Ok(Event::DeviceAnswered { link, answer })
    }
}

/// What an answer means that is for the broker itself, and not the expected one.
fn notice(answer: &Pdu) -> LinkFault {
    match answer.status() {
        Ok(Status::WireCorrupt) => LinkFault::Corrupt(Fault::Crc),
        Ok(_) => LinkFault::Protocol(Fault::Mismatch { field: "connection" }),
        Err(fault) => LinkFault::Protocol(fault),
    }
}
