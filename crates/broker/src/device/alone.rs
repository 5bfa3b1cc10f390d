//! An application that drives a bus itself, when its turn has come: what there is without a broker.
//!
//! Owns the drive of one such turn, in which each request waits for the answer of the one before. Whose turn it is, and
//! keeping what is left of the session between two turns, is the caller's.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::bus::Bus;
use crate::Event;
use crate::bell::Bell;
use crate::limits::{TICK, TRANSACTION_BYTES_MAX, TRANSACTION_MAX};
use crate::link::{HostEnd, Rest};
use crate::simulation::direct::{HOLDER, LINK, whole, wire_bytes};
use crate::wire::Pdu;

/// Who has the bus.
pub struct Alone {
    bus: Box<dyn Bus>,
    /// Nobody else has anything to say.
    silence: Bell,
    started: Instant,
}

impl Alone {
    /// Has this bus.
    ///
    /// # Errors
    /// The system's.
    pub fn new(bus: Box<dyn Bus>) -> io::Result<Alone> {
        Ok(Alone { bus, silence: Bell::new()?, started: Instant::now() })
    }

    /// Begins a session of this number, with which others go on.
    ///
    /// # Errors
    /// The bus's, and that the device does not answer.
    pub fn begin(&mut self, session: u64) -> io::Result<Rest> {
        let mut host = HostEnd::open(LINK, session, self.started.elapsed(), TRANSACTION_BYTES_MAX);
        loop {
            if let Some(rest) = host.rest() {
                return Ok(rest);
            }
            self.drive(&mut host)?;
        }
    }

    /// Has requests answered, which are as long as their answers, and tells how long each took. `piece_bytes_max`: how the
    /// device cuts.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    pub fn ask(
        &mut self,
        rest: Rest,
        requests: Vec<Pdu>,
        piece_bytes_max: usize,
    ) -> io::Result<(Rest, Vec<Duration>)> {
        let mut host = HostEnd::resume(LINK, rest, self.started.elapsed(), TRANSACTION_BYTES_MAX);
        let mut latencies = Vec::with_capacity(requests.len());
        for mut request in requests {
            let asked_at = Instant::now();
            request.assign(HOLDER);
            let request = Arc::new(request);
            host.expect_bytes(wire_bytes(request.bytes().len(), piece_bytes_max));
            host.transmit(&[whole(&request)]);
            while self.drive(&mut host)?.is_none() {
                if asked_at.elapsed() > TRANSACTION_MAX {
                    return Err(io::ErrorKind::TimedOut.into());
                }
            }
            latencies.push(asked_at.elapsed());
        }
        Ok((host.rest().expect("all is answered"), latencies))
    }

    /// Begins what can be begun, and waits for one thing; an answer, if there was one.
    fn drive(&mut self, host: &mut HostEnd) -> io::Result<Option<Pdu>> {
        let (mut wire, mut events) = (Vec::new(), Vec::new());
        while host.begun_count() < self.bus.depth() {
            host.begin(self.bus.is_ready(), self.bus.transaction_bytes_max(), &mut wire);
            if wire.is_empty() {
                break;
            }
            self.bus.begin(&wire)?;
            wire.clear();
        }
        if self.bus.wait(self.silence.as_fd(), true, Some(TICK))? {
            self.bus.finish(&mut wire)?;
            host.finish(self.started.elapsed(), &wire, &mut events);
        }
        let mut answer = None;
        for event in events {
            match event {
                Event::DeviceAnswered { answer: found, .. } => answer = Some(found),
                Event::DeviceLost { .. } => return Err(io::ErrorKind::InvalidData.into()),
                _ => {}
            }
        }
        Ok(answer)
    }
}
