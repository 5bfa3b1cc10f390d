//! What the device is to be told of connections, before any request: whose one is that comes, and which one has gone.
//!
//! Owns the order and how much of the first is sent; when something is to be told is the core's.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::queue::Piece;
use crate::wire::{Connection, Head, KeyHandle, Operation, Pdu};

/// Notices that wait for the device.
#[derive(Default)]
pub(crate) struct Notices {
    /// By their numbers, which are never used again.
    waiting: BTreeMap<u64, Arc<Pdu>>,
    number_last: u64,
    /// How much of the first is sent.
    sent_bytes: usize,
}

impl Notices {
    /// Whether none waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Puts a notice behind the others, and says its number.
    pub(crate) fn push(&mut self, operation: Operation, connection: Connection, payload: &[u8]) -> u64 {
        let head = Head { connection, ..Head::request(operation, 0, KeyHandle::NONE) };
        let notice = Pdu::new(head, &[], payload).expect("it is within its limits");
        self.number_last += 1;
        self.waiting.insert(self.number_last, Arc::new(notice));
        self.number_last
    }

    /// Takes a notice back; `false` when the device has it, or a part of it.
    pub(crate) fn retract(&mut self, number: u64) -> bool {
        let first = self.waiting.first_key_value().map(|(first, _)| *first);
        let is_begun = self.sent_bytes > 0 && first == Some(number);
        !is_begun && self.waiting.remove(&number).is_some()
    }

    /// What goes next, at most `room_bytes` of it.
    pub(crate) fn piece(&mut self, room_bytes: usize) -> Option<Piece> {
        let first = self.waiting.first_entry()?;
        let (from, all) = (self.sent_bytes, first.get().bytes().len());
        let to = all.min(from.saturating_add(room_bytes));
        self.sent_bytes = if to == all { 0 } else { to };
        let request = if to == all { first.remove() } else { first.get().clone() };
        Some(Piece { request, from, to })
    }

    /// Forgets all of them: the device has forgotten all connections.
    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
        self.sent_bytes = 0;
    }
}
