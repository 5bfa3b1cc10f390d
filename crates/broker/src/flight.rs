//! A request at the device, and what may answer it.

use std::sync::Arc;
use std::time::Duration;

use crate::error::Fault;
use crate::limits::{SEARCHES_MAX, SEARCHES_PER_USER_MAX};
use crate::queue::Place;
use crate::wire::{Operation, Pdu, Status};

/// A request at the device. It takes the device's time also when its connection is closed.
pub(crate) struct Flight {
    pub(crate) place: Place,
    pub(crate) request: Arc<Pdu>,
    /// Its number among all that were ever sent.
    pub(crate) order: u64,
    pub(crate) sent_at: Duration,
    pub(crate) answer_bytes_max: usize,
    pub(crate) bytes: usize,
    /// Whether its last piece was sent.
    pub(crate) is_whole: bool,
}

/// Whether as many of these look for primes as may at a time, of this user's or of all, at a device that takes so many.
pub(crate) fn are_full_of_searches<'a>(
    flights: impl Iterator<Item = &'a Flight>,
    user: u32,
    in_flight_max: usize,
) -> bool {
    let (mut own, mut all) = (0, 0);
    for Flight { place, request, .. } in flights {
        if request.operation().is_ok_and(|operation| operation.looks_for_primes(request)) {
            (own, all) = (own + usize::from(place.user == user), all + 1);
        }
    }
    let may_be = |limit: usize, share: usize| limit.min(in_flight_max / share).max(1);
    own >= may_be(SEARCHES_PER_USER_MAX, 4) || all >= may_be(SEARCHES_MAX, 2)
}

impl Flight {
    /// Whether `answer`, which has this request's number, can be its answer.
    pub(crate) fn check(&self, answer: &Pdu) -> Result<(), Fault> {
        let (head, own) = (answer.head(), self.request.head());
        if !self.is_whole {
            return Err(Fault::Mismatch { field: "request" });
        }
        let payload_bytes_max = if answer.status()? == Status::Done { self.answer_bytes_max } else { 0 };
        if head.operation != own.operation {
            return Err(Fault::Mismatch { field: "operation" });
        }
        if !answer.parameters().is_empty() {
            return Err(Fault::Mismatch { field: "parameters" });
        }
        if answer.payload().len() > payload_bytes_max {
            return Err(Fault::Mismatch { field: "payload" });
        }
        let key_is_news = Operation::from_number(head.operation).is_some_and(Operation::answers_a_key);
        if !key_is_news && head.key != own.key {
            return Err(Fault::Mismatch { field: "key" });
        }
        Ok(())
    }
}
