//! What a node's thread controller decided and why, as seen from outside: an observer of its record.
//!
//! Owns the record's layout (`struct record` of `firmware/node/controller.h`) and the names of what is in it. What is
//! decided by which hints is `firmware/node/policy.h`'s; nothing here changes the node's behaviour.

use isa::Cycles;

/// The pipes by their numbers.
pub const PIPES: [&str; 4] = ["plain", "sealed", "heard", "opened"];

/// The filters by their numbers: what the line does, and what security does beside it.
pub const FILTERS: [&str; 9] = [
    "nothing",
    "seal",
    "open",
    "transmit",
    "transmit + seal",
    "transmit + open",
    "receive",
    "receive + seal",
    "receive + open",
];

/// Why, by the numbers of `firmware/node/policy.h`: the same words, which a test compares.
pub const REASONS: [&str; 8] =
    ["nothing waits", "due", "pipe full", "woven", "nothing to weave", "postponed", "not woven", "blocked"];

/// How what waits for sealing or for opening stood, by the numbers of `firmware/node/policy.h`.
pub const STANDINGS: [&str; 5] = ["empty", "blocked", "waiting", "full", "due"];

/// The names of these filters, reasons and standings, by their numbers.
const NAMED: [usize; 3] = [FILTERS.len(), REASONS.len(), STANDINGS.len()];

/// One decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// When its record was complete.
    pub cycle: Cycles,
    /// How many slots had begun, modulo 2^16.
    pub slot: u16,
    /// Frames that waited in each of [`PIPES`].
    pub waiting: [u8; PIPES.len()],
    /// Of sealing and of opening; an index into [`STANDINGS`].
    pub standings: [usize; 2],
    /// An index into [`FILTERS`].
    pub filter: usize,
    /// An index into [`REASONS`].
    pub reason: usize,
}

const SLOT_AT: usize = 0;
const WAITING_AT: usize = 2;
const STANDINGS_AT: usize = WAITING_AT + PIPES.len();
const FILTER_AT: usize = STANDINGS_AT + 1;
/// Stored last.
const REASON_AT: usize = FILTER_AT + 1;
const RECORD_BYTES: usize = REASON_AT + 1;

/// Watches the stores into a controller's record.
pub struct Decisions {
    address: u32,
    record: [u8; RECORD_BYTES],
    decisions: Vec<Decision>,
}

impl Decisions {
    /// Of the controller whose record is at this data-space address.
    pub fn new(address: u16) -> Decisions {
        Decisions { address: address.into(), record: [0; RECORD_BYTES], decisions: Vec::new() }
    }

    /// Whether the record is at this data-space address.
    pub fn has(&self, address: u32) -> bool {
        address.wrapping_sub(self.address) < RECORD_BYTES as u32
    }

    /// Takes those since the last call, oldest first.
    pub fn take(&mut self) -> Vec<Decision> {
        std::mem::take(&mut self.decisions)
    }

    /// What the record says; `None` when it names what there is not.
    fn decision(&self, cycle: Cycles) -> Option<Decision> {
        let byte = |at: usize| usize::from(self.record[at]);
        let standings = [byte(STANDINGS_AT) & 0xF, byte(STANDINGS_AT) >> 4];
        let (filter, reason) = (byte(FILTER_AT), byte(REASON_AT));
        let named = [filter, reason, standings[0].max(standings[1])];
        named.iter().zip(NAMED).all(|(&number, count)| number < count).then(|| Decision {
            cycle,
            slot: u16::from_le_bytes([self.record[SLOT_AT], self.record[SLOT_AT + 1]]),
            waiting: std::array::from_fn(|pipe| self.record[WAITING_AT + pipe]),
            standings,
            filter,
            reason,
        })
    }
}

impl isa::Observer for Decisions {
    #[inline]
    fn store(&mut self, cycle: Cycles, address: u32, value: u8) {
        let Some(at) = address.checked_sub(self.address).map(|at| at as usize) else { return };
        if at < RECORD_BYTES {
            self.record[at] = value;
            if at == REASON_AT {
                self.decisions.extend(self.decision(cycle));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isa::Observer as _;

    #[test]
    fn a_decision_is_complete_with_its_reason() {
        let mut decisions = Decisions::new(0x200);
        for (at, value) in [0x34, 0x12, 1, 2, 3, 4, 0x42, 7, 2].into_iter().enumerate() {
            assert_eq!(decisions.take(), [], "byte {at}");
            decisions.store(at as Cycles, 0x200 + at as u32, value);
        }
        decisions.store(20, 0x209, 1);
        decisions.store(21, 0x1FF, 1);
        let expected = Decision {
            cycle: 8,
            slot: 0x1234,
            waiting: [1, 2, 3, 4],
            standings: [2, 4],
            filter: 7,
            reason: 2,
        };
        assert_eq!(decisions.take(), [expected]);
        // What memory is before the program has cleared it is no decision.
        decisions.store(30, 0x207, 9);
        decisions.store(31, 0x208, 1);
        assert_eq!(decisions.take(), []);
    }
}
