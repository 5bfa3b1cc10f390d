//! A device that gives back what it is given, at once: what is left is the broker's own cost.

use super::DeviceInfo;
use crate::engine::Engine;
use crate::limits::{IN_FLIGHT_MAX, PAYLOAD_BYTES_MAX};
use crate::wire::{Operation, Pdu, Status};

/// It says what it is and knows [`Operation::Echo`], and nothing else.
#[derive(Clone, Copy, Debug, Default)]
pub struct Loopback {
    /// How often it has started anew.
    restarts: u64,
}

impl Engine for Loopback {
    fn info(&self) -> DeviceInfo {
        DeviceInfo {
            payload_bytes_max: PAYLOAD_BYTES_MAX,
            in_flight_max: IN_FLIGHT_MAX as u16,
            lanes: 1,
            boot: self.restarts,
            name: "loopback".to_owned(),
            store: String::new(),
        }
    }

    fn opened(&mut self) {}

    fn restarted(&mut self) {
        self.restarts += 1;
    }

    fn execute(&mut self, request: &Pdu) -> Option<Pdu> {
        let head = request.head();
        let done = |payload: &[u8]| Pdu::new(head.answer(Status::Done), &[], payload);
        match request.operation() {
            Ok(Operation::Echo) => {
                Some(done(request.payload()).expect("what fits a request fits its answer"))
            }
            Ok(Operation::Info) => Some(done(&self.info().to_bytes()).expect("it is within its limits")),
            Ok(operation) if operation.is_brokers() => None,
            _ => Some(Pdu::empty(head.answer(Status::DeviceFault))),
        }
    }
}
