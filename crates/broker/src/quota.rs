//! Charges: what the applications' requests hold, per connection and in total.
//!
//! A request is charged from its admission until its answer was written, or its connection is gone. Shares
//! by user come here.
//!
//! Invariant: the total is the sum of the shares, and neither is over its limit.

use crate::limits::{REQUEST_BYTES_MAX, REQUESTS_MAX, REQUESTS_PER_CONNECTION_MAX};

/// What one request holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charge {
    /// The larger of its own length and that of its longest answer.
    pub bytes: usize,
}

/// What one connection holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Its requests.
    pub requests: usize,
    /// Their bytes.
    pub bytes: usize,
}

/// What all connections hold.
#[derive(Debug, Default)]
pub struct Quota {
    total: Share,
}

impl Quota {
    /// Charges a request to a connection's share; `false`, and nothing is charged, when a limit is reached.
    #[must_use]
    pub fn charge(&mut self, share: &mut Share, charge: Charge) -> bool {
        let fits = share.requests < REQUESTS_PER_CONNECTION_MAX
            && self.total.requests < REQUESTS_MAX
            && charge.bytes <= REQUEST_BYTES_MAX - self.total.bytes;
        if fits {
            share.requests += 1;
            share.bytes += charge.bytes;
            self.total.requests += 1;
            self.total.bytes += charge.bytes;
        }
        fits
    }

    /// Gives back what one request held.
    pub fn release(&mut self, share: &mut Share, charge: Charge) {
        share.requests -= 1;
        share.bytes -= charge.bytes;
        self.total.requests -= 1;
        self.total.bytes -= charge.bytes;
    }

    /// Gives back all that a connection held.
    pub fn release_all(&mut self, share: Share) {
        self.total.requests -= share.requests;
        self.total.bytes -= share.bytes;
    }

    /// What is held in all.
    pub fn total(&self) -> Share {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::PDU_BYTES_MAX;

    #[test]
    fn the_65th_request_of_a_connection_is_refused_and_fits_after_one_is_answered() {
        let (mut quota, mut share) = (Quota::default(), Share::default());
        let charge = Charge { bytes: PDU_BYTES_MAX };
        for _ in 0..64 {
            assert!(quota.charge(&mut share, charge));
        }
        let full = share;
        assert!(!quota.charge(&mut share, charge));
        assert_eq!((share, quota.total()), (full, full), "a refusal charges nothing");
        quota.release(&mut share, charge);
        assert!(quota.charge(&mut share, charge));
    }

    #[test]
    fn the_bytes_of_all_connections_are_bounded() {
        let mut quota = Quota::default();
        let mut shares = [Share::default(); 32];
        let charge = Charge { bytes: PDU_BYTES_MAX };
        let admitted: usize =
            shares.iter_mut().map(|share| (0..64).filter(|_| quota.charge(share, charge)).count()).sum();
        assert_eq!(admitted, REQUEST_BYTES_MAX / PDU_BYTES_MAX);
        for share in shares {
            quota.release_all(share);
        }
        assert_eq!(quota.total(), Share::default());
    }
}
