//! The send queue: requests that were admitted and wait for the device, and whose turn it is.
//!
//! Owns the order only: first in, first out within a connection, one request of each connection in turn. How
//! much may wait is `quota`'s. Another order (by deficit, priority, deadline) changes [`Queue::pop`] alone.
//!
//! Invariant: the ring holds each connection with a waiting request exactly once, and perhaps connections
//! that were removed; those never come back, because their numbers are never used again.

use std::collections::{BTreeMap, VecDeque};

use crate::wire::{Connection, Pdu};

/// Requests in the order in which the device gets them.
#[derive(Default)]
pub struct Queue {
    lanes: BTreeMap<Connection, VecDeque<Pdu>>,
    ring: VecDeque<Connection>,
    waiting: usize,
}

impl Queue {
    /// Puts a request at the end of its connection's lane.
    pub fn push(&mut self, connection: Connection, request: Pdu) {
        let lane = self.lanes.entry(connection).or_default();
        if lane.is_empty() {
            self.ring.push_back(connection);
        }
        lane.push_back(request);
        self.waiting += 1;
    }

    /// The request whose turn it is.
    pub fn peek(&mut self) -> Option<&Pdu> {
        while self.ring.front().is_some_and(|connection| !self.lanes.contains_key(connection)) {
            self.ring.pop_front();
        }
        self.ring.front().map(|connection| &self.lanes[connection][0])
    }

    /// Takes the request whose turn it is, and gives the turn to the next connection.
    pub fn pop(&mut self) -> Option<(Connection, Pdu)> {
        self.peek()?;
        let connection = self.ring.pop_front()?;
        let lane = self.lanes.get_mut(&connection)?;
        let request = lane.pop_front()?;
        self.waiting -= 1;
        if lane.is_empty() {
            self.lanes.remove(&connection);
        } else {
            self.ring.push_back(connection);
        }
        Some((connection, request))
    }

    /// Drops all that waits for a connection that closed.
    pub fn remove(&mut self, connection: Connection) {
        self.waiting -= self.lanes.remove(&connection).map_or(0, |lane| lane.len());
    }

    /// How many requests wait.
    pub fn len(&self) -> usize {
        self.waiting
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Head, KeyHandle, Operation};

    fn request(number: u32) -> Pdu {
        Pdu::empty(Head::request(Operation::Info, number, KeyHandle::NONE))
    }

    fn order(queue: &mut Queue) -> Vec<(u64, u32)> {
        std::iter::from_fn(|| queue.pop()).map(|(from, pdu)| (from.0, pdu.head().request)).collect()
    }

    #[test]
    fn connections_take_turns_and_each_keeps_its_order() {
        let mut queue = Queue::default();
        for (connection, number) in [(1, 10), (1, 11), (1, 12), (2, 20), (3, 30), (3, 31)] {
            queue.push(Connection(connection), request(number));
        }
        assert_eq!(queue.len(), 6);
        assert_eq!(order(&mut queue), [(1, 10), (2, 20), (3, 30), (1, 11), (3, 31), (1, 12)]);
        assert!(queue.is_empty() && queue.pop().is_none());
    }

    #[test]
    fn a_hog_delays_a_newcomer_by_one_request() {
        let mut queue = Queue::default();
        for number in 0..1000 {
            queue.push(Connection(1), request(number));
        }
        queue.push(Connection(2), request(7));
        assert_eq!(queue.pop().map(|(from, _)| from.0), Some(1));
        assert_eq!(queue.pop().map(|(from, _)| from.0), Some(2));
    }

    #[test]
    fn a_removed_connection_leaves_no_request_and_no_turn() {
        let mut queue = Queue::default();
        for (connection, number) in [(1, 10), (1, 11), (2, 20)] {
            queue.push(Connection(connection), request(number));
        }
        queue.remove(Connection(1));
        queue.remove(Connection(9));
        assert_eq!(queue.len(), 1);
        assert_eq!(queue.peek().map(|pdu| pdu.head().request), Some(20));
        assert_eq!(order(&mut queue), [(2, 20)]);
    }
}
