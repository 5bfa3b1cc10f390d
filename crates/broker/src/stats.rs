//! What a broker counts. Plain numbers; the roof draws them.

use std::collections::BTreeMap;

use crate::wire::Status;

/// Sizes of transfers that are told apart; the last is of 1024 pieces and more.
pub const TRANSFER_CLASSES: usize = 11;

/// Counters of one run of a broker, all from its start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Connections that were taken.
    pub connections_admitted: u64,
    /// Connections that were refused, each with a named status.
    pub connections_refused: u64,
    /// Connections closed because their bytes were no requests.
    pub connections_closed_malformed: u64,
    /// Connections closed because they left too many answers unread, or too long.
    pub connections_closed_unread: u64,
    /// Requests that were let into the queue.
    pub requests_admitted: u64,
    /// Requests that were put on the wire to the device.
    pub requests_transmitted: u64,
    /// Requests that the device lost and that were sent once more.
    pub requests_repeated: u64,
    /// Transfers to the device, by how many requests they had a piece of: 1, 2 to 3, 4 to 7, and so on.
    pub transfers: [u64; TRANSFER_CLASSES],
    /// Answers handed to a connection, by status; see [`Stats::answers`].
    pub(crate) answers_by_status: [u64; Status::ALL.len()],
    /// Answers of the device for a connection that had closed; dropped.
    pub answers_late: u64,
    /// Answers of the device that nobody had asked for; dropped.
    pub answers_stray: u64,
    /// Times that the device was opened.
    pub device_opens: u64,
    /// Times that it could not be opened.
    pub device_open_failures: u64,
    /// Times that it was lost while open.
    pub device_losses: u64,
    /// Times that it had started anew between two opens.
    pub device_restarts: u64,
    /// Most requests that waited at a time.
    pub queued_max: usize,
    /// Most requests that were at the device at a time.
    pub in_flight_max: usize,
    /// What each user did, by uid.
    pub users: BTreeMap<u32, Usage>,
}

/// What one user did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Connections that were taken.
    pub connections: u64,
    /// Requests that were let into the queue.
    pub requests: u64,
}

impl Stats {
    pub(crate) fn count_transfer(&mut self, pieces: usize) {
        let class = pieces.max(1).ilog2() as usize;
        self.transfers[class.min(TRANSFER_CLASSES - 1)] += 1;
    }

    /// How many answers of this status were handed to connections.
    pub fn answers(&self, status: Status) -> u64 {
        self.answers_by_status[usize::from(status.number())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_status_has_a_counter() {
        for (index, status) in Status::ALL.iter().enumerate() {
            assert_eq!(usize::from(status.number()), index, "a retired number keeps its line in the table");
        }
    }
}
