//! Charges: what the applications' requests hold, per connection, per user and in total.
//!
//! A request is charged from its admission until its answer was written, or its connection is gone.
//!
//! Invariant: the total is the sum of the users' shares, those are the sums of their connections', and none is over
//! its limit.

use std::collections::BTreeMap;

use crate::limits::{
    CONNECTIONS, CONNECTIONS_MAX, CONNECTIONS_PER_USER, PDU_BYTES_MAX, REQUEST_BYTES_MAX,
    REQUEST_BYTES_PER_USER_MAX, REQUESTS_MAX, REQUESTS_PER_CONNECTION_MAX, REQUESTS_PER_USER_MAX,
    UNFINISHED_BYTES_MAX, UNFINISHED_BYTES_MIN, UNFINISHED_BYTES_PER_USER_MAX,
};

/// How much there may be at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Connections.
    pub connections: usize,
    /// Those of one user.
    pub connections_per_user: usize,
    /// Requests that are charged.
    pub requests: usize,
    /// Those of one user.
    pub requests_per_user: usize,
    /// Those of one connection.
    pub requests_per_connection: usize,
    /// Their bytes.
    pub request_bytes: usize,
    /// Those of one user.
    pub request_bytes_per_user: usize,
    /// What connections hold besides: requests that are not whole or not looked at, and refusals that are not read.
    pub unfinished_bytes: usize,
    /// Those of one user.
    pub unfinished_bytes_per_user: usize,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            connections: CONNECTIONS,
            connections_per_user: CONNECTIONS_PER_USER,
            requests: REQUESTS_MAX,
            requests_per_user: REQUESTS_PER_USER_MAX,
            requests_per_connection: REQUESTS_PER_CONNECTION_MAX,
            request_bytes: REQUEST_BYTES_MAX,
            request_bytes_per_user: REQUEST_BYTES_PER_USER_MAX,
            unfinished_bytes: UNFINISHED_BYTES_MAX,
            unfinished_bytes_per_user: UNFINISHED_BYTES_PER_USER_MAX,
        }
    }
}

impl Bounds {
    /// Whether each is within its limit: at least one, and of the bytes the longest PDU.
    pub(crate) fn are_sound(&self) -> bool {
        (1..=CONNECTIONS_MAX).contains(&self.connections)
            && (1..=CONNECTIONS_MAX).contains(&self.connections_per_user)
            && (1..=REQUESTS_MAX).contains(&self.requests)
            && (1..=REQUESTS_MAX).contains(&self.requests_per_user)
            && (1..=REQUESTS_PER_CONNECTION_MAX).contains(&self.requests_per_connection)
            && (PDU_BYTES_MAX..=REQUEST_BYTES_MAX).contains(&self.request_bytes)
            && (PDU_BYTES_MAX..=REQUEST_BYTES_MAX).contains(&self.request_bytes_per_user)
            && (UNFINISHED_BYTES_MIN..=UNFINISHED_BYTES_MAX).contains(&self.unfinished_bytes)
            && (UNFINISHED_BYTES_MIN..=UNFINISHED_BYTES_MAX).contains(&self.unfinished_bytes_per_user)
    }
}

/// What one request holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charge {
    /// The larger of its own length and that of its longest answer.
    pub bytes: usize,
}

/// What one connection, or one user, holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Requests.
    pub requests: usize,
    /// Their bytes.
    pub bytes: usize,
    /// Those of them that are answered, and whose answers are not written: the others have to read.
    pub unread: usize,
}

/// What one user has.
#[derive(Debug, Default)]
struct User {
    connections: usize,
    share: Share,
}

/// What all connections hold.
#[derive(Debug, Default)]
pub struct Quota {
    bounds: Bounds,
    connections: usize,
    total: Share,
    users: BTreeMap<u32, User>,
}

impl Quota {
    /// Nothing is charged yet.
    pub fn new(bounds: Bounds) -> Quota {
        Quota { bounds, ..Quota::default() }
    }

    /// From now on there may be so much. What there is already stays.
    pub fn bound(&mut self, bounds: Bounds) {
        self.bounds = bounds;
    }

    /// Whether a user has a connection.
    pub fn has(&self, user: u32) -> bool {
        self.users.contains_key(&user)
    }

    /// Counts a connection of a user; `false`, and it is not counted, when a limit is reached.
    #[must_use]
    pub fn connect(&mut self, user: u32) -> bool {
        let own = self.users.get(&user).map_or(0, |user| user.connections);
        let fits = self.connections < self.bounds.connections && own < self.bounds.connections_per_user;
        if fits {
            self.connections += 1;
            self.users.entry(user).or_default().connections += 1;
        }
        fits
    }

    /// Gives back a connection and all that it held.
    pub fn disconnect(&mut self, user: u32, share: Share) {
        self.connections -= 1;
        self.total.take(share);
        let own = self.users.get_mut(&user).expect("it has this connection");
        own.connections -= 1;
        own.share.take(share);
        if own.connections == 0 {
            self.users.remove(&user);
        }
    }

    /// Charges a request to a connection's share; `false`, and nothing is charged, when a limit is reached.
    #[must_use]
    pub fn charge(&mut self, user: u32, share: &mut Share, charge: Charge) -> bool {
        let own = &mut self.users.get_mut(&user).expect("it is connected").share;
        let bounds = &self.bounds;
        let fits = share.requests < bounds.requests_per_connection
            && own.requests < bounds.requests_per_user
            && self.total.requests < bounds.requests
            && charge.bytes <= bounds.request_bytes_per_user.saturating_sub(own.bytes)
            && charge.bytes <= bounds.request_bytes.saturating_sub(self.total.bytes);
        if fits {
            for share in [share, own, &mut self.total] {
                share.requests += 1;
                share.bytes += charge.bytes;
            }
        }
        fits
    }

    /// One of the requests is answered.
    pub fn answer(&mut self, user: u32, share: &mut Share) {
        let own = &mut self.users.get_mut(&user).expect("it is connected").share;
        for share in [share, own, &mut self.total] {
            share.unread += 1;
        }
    }

    /// Gives back what one request held whose answer was written.
    pub fn release(&mut self, user: u32, share: &mut Share, charge: Charge) {
        let own = &mut self.users.get_mut(&user).expect("it is connected").share;
        for share in [share, own, &mut self.total] {
            share.take(Share { requests: 1, bytes: charge.bytes, unread: 1 });
        }
    }

    /// Whether a user holds half of what it may, and most of that is answered: there is room when it reads, and not sooner.
    pub fn is_stuck(&self, user: u32) -> bool {
        let bounds = &self.bounds;
        self.users.get(&user).is_some_and(|User { share, .. }| {
            let is_half = 2 * share.requests >= bounds.requests_per_user
                || 2 * share.bytes >= bounds.request_bytes_per_user;
            is_half && 2 * share.unread > share.requests
        })
    }

    /// What is held in all.
    pub fn total(&self) -> Share {
        self.total
    }
}

impl Share {
    fn take(&mut self, other: Share) {
        self.requests -= other.requests;
        self.bytes -= other.bytes;
        self.unread -= other.unread;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    const CHARGE: Charge = Charge { bytes: PDU_BYTES_MAX };

    /// Connections of users, two each, that ask for as much as they may; how much each user holds.
    fn fill(quota: &mut Quota, users: u32) -> Vec<usize> {
        let mut held = Vec::new();
        for user in 0..users {
            let mut shares = [Share::default(); 16];
            for share in &mut shares {
                assert!(quota.connect(user));
                while quota.charge(user, share, CHARGE) {}
            }
            held.push(shares.iter().map(|share| share.requests).sum());
        }
        held
    }

    #[test]
    fn the_65th_request_of_a_connection_is_refused_and_fits_after_one_is_answered() {
        let (mut quota, mut share) = (Quota::default(), Share::default());
        assert!(quota.connect(7));
        for _ in 0..64 {
            assert!(quota.charge(7, &mut share, CHARGE));
        }
        let full = share;
        assert!(!quota.charge(7, &mut share, CHARGE));
        assert_eq!((share, quota.total()), (full, full), "a refusal charges nothing");
        quota.answer(7, &mut share);
        quota.release(7, &mut share, CHARGE);
        assert!(quota.charge(7, &mut share, CHARGE));
        quota.disconnect(7, share);
        assert_eq!(quota.total(), Share::default());
        assert!(quota.users.is_empty());
    }

    #[test]
    fn one_user_cannot_hold_what_all_have_together() {
        let held = fill(&mut Quota::default(), 3);
        assert_eq!(held[0], REQUEST_BYTES_PER_USER_MAX / PDU_BYTES_MAX);
        assert_eq!(held.iter().sum::<usize>(), REQUEST_BYTES_MAX / PDU_BYTES_MAX);
        assert!(held[1] > 0);
    }

    #[test]
    fn one_user_cannot_have_all_connections() {
        let mut quota = Quota::default();
        let own = (0..).take_while(|_| quota.connect(1)).count();
        assert_eq!(own, CONNECTIONS_PER_USER);
        let others: usize = (2..9).map(|user| (0..).take_while(|_| quota.connect(user)).count()).sum();
        assert_eq!(own + others, CONNECTIONS);
    }

    #[test]
    fn lower_bounds_take_nothing_away_and_let_nothing_in() {
        let (mut quota, mut share) = (Quota::default(), Share::default());
        assert!(quota.connect(7) && quota.connect(7));
        while quota.charge(7, &mut share, CHARGE) {}
        let full = share;
        let (connections, requests, requests_per_user, request_bytes) = (1, 1, 1, PDU_BYTES_MAX);
        let one = Bounds { connections, requests, requests_per_user, request_bytes, ..Bounds::default() };
        assert!(one.are_sound());
        quota.bound(one);
        assert!(!quota.connect(8) && !quota.charge(7, &mut share, CHARGE));
        assert_eq!(share, full);
        for _ in 0..full.requests {
            assert_eq!(quota.is_stuck(7), 2 * share.unread > full.requests);
            quota.answer(7, &mut share);
        }
        assert!(quota.is_stuck(7));
        for _ in 1..full.requests {
            quota.release(7, &mut share, CHARGE);
        }
        assert!(!quota.charge(7, &mut share, CHARGE), "one is still there");
        quota.release(7, &mut share, CHARGE);
        assert!(quota.charge(7, &mut share, CHARGE));
    }

    #[test]
    fn bounds_over_their_limits_are_not_sound() {
        let sound = Bounds::default();
        assert!(sound.are_sound());
        let wrong = [
            Bounds { connections: 0, ..sound },
            Bounds { connections: CONNECTIONS_MAX + 1, ..sound },
            Bounds { requests_per_connection: REQUESTS_PER_CONNECTION_MAX + 1, ..sound },
            Bounds { request_bytes_per_user: PDU_BYTES_MAX - 1, ..sound },
            Bounds { request_bytes: REQUEST_BYTES_MAX + 1, ..sound },
            Bounds { unfinished_bytes: UNFINISHED_BYTES_MIN - 1, ..sound },
            Bounds { unfinished_bytes_per_user: UNFINISHED_BYTES_MAX + 1, ..sound },
        ];
        assert!(wrong.iter().all(|bounds| !bounds.are_sound()));
    }
}
