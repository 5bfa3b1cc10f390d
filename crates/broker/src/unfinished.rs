//! What connections hold and no request is charged for: requests that are not whole or not looked at, and refusals that are
//! not read.
//!
//! Owns how much of it each user and all together may have. What a connection holds is the loop's to say, which alone
//! sees it; what admitted requests hold is `quota`'s.
//!
//! Invariant: what anybody may take is no more than is left for the others then. So who holds most is the first who may
//! take nothing, and who holds nothing may always take something.

use std::collections::BTreeMap;

use crate::quota::Bounds;

/// What is held, by user.
#[derive(Debug, Default)]
pub struct Unfinished {
    bounds: Bounds,
    total_bytes: usize,
    users: BTreeMap<u32, usize>,
}

impl Unfinished {
    /// Nothing is held yet.
    pub fn new(bounds: Bounds) -> Unfinished {
        Unfinished { bounds, ..Unfinished::default() }
    }

    /// From now on there may be so much. What there is already stays.
    pub fn bound(&mut self, bounds: Bounds) {
        self.bounds = bounds;
    }

    /// How many bytes more a user's connections may hold.
    pub fn room_bytes(&self, user: u32) -> usize {
        let own_bytes = self.users.get(&user).copied().unwrap_or(0);
        let left_bytes = self.bounds.unfinished_bytes.saturating_sub(self.total_bytes);
        let own_left_bytes = self.bounds.unfinished_bytes_per_user.saturating_sub(own_bytes);
        own_left_bytes.min(left_bytes.saturating_sub(own_bytes) / 2)
    }

    /// A connection of a user that held so many bytes holds so many now.
    pub fn change(&mut self, user: u32, from_bytes: usize, to_bytes: usize) {
        let own_bytes = self.users.entry(user).or_default();
        *own_bytes = *own_bytes - from_bytes + to_bytes;
        self.total_bytes = self.total_bytes - from_bytes + to_bytes;
        if *own_bytes == 0 {
            self.users.remove(&user);
        }
    }

    /// What all hold together.
    pub fn total_bytes(&self) -> usize {
        self.total_bytes
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::limits::{UNFINISHED_BYTES_MAX, UNFINISHED_BYTES_MIN};

    #[test]
    fn each_further_user_who_takes_all_it_may_gets_half_of_what_is_left() {
        let mut unfinished = Unfinished::default();
        let mut left_bytes = UNFINISHED_BYTES_MAX;
        for user in 0..8 {
            let room_bytes = unfinished.room_bytes(user);
            assert_eq!(room_bytes, left_bytes / 2, "user {user}");
            unfinished.change(user, 0, room_bytes);
            left_bytes -= room_bytes;
            assert_eq!(unfinished.room_bytes(user), 0, "it holds as much as is left for others");
        }
        assert_eq!(unfinished.room_bytes(0), 0, "who holds most waits until it holds less");
        unfinished.change(0, UNFINISHED_BYTES_MAX / 2, 0);
        assert!(unfinished.room_bytes(0) > UNFINISHED_BYTES_MAX / 4);
    }

    #[test]
    fn a_user_holds_no_more_than_one_user_may() {
        let bounds = Bounds { unfinished_bytes_per_user: UNFINISHED_BYTES_MIN, ..Bounds::default() };
        let mut unfinished = Unfinished::new(bounds);
        unfinished.change(7, 0, UNFINISHED_BYTES_MIN - 9);
        assert_eq!((unfinished.room_bytes(7), unfinished.room_bytes(8)), (9, UNFINISHED_BYTES_MIN));
        // Lower bounds take nothing away.
        unfinished.bound(Bounds { unfinished_bytes: UNFINISHED_BYTES_MIN, ..bounds });
        assert_eq!((unfinished.room_bytes(7), unfinished.total_bytes()), (0, UNFINISHED_BYTES_MIN - 9));
        unfinished.change(7, UNFINISHED_BYTES_MIN - 9, 0);
        assert!(unfinished.users.is_empty() && unfinished.total_bytes() == 0);
    }

    proptest! {
        #[test]
        fn whatever_is_taken_and_given_back_the_sum_is_bounded_and_who_holds_nothing_has_room(
            steps in prop::collection::vec((0u32..12, 0usize..1000), 1..400),
        ) {
            let bounds = Bounds { unfinished_bytes: UNFINISHED_BYTES_MIN, ..Bounds::default() };
            let mut unfinished = Unfinished::new(bounds);
            let mut held = [0; 12];
            for (user, part) in steps {
                let own = &mut held[user as usize];
                // Part of what there is room for, or, of who has none, part of what it holds.
                let to = match unfinished.room_bytes(user) {
                    0 => *own * part / 1000,
                    room_bytes => *own + room_bytes * part / 999,
                };
                unfinished.change(user, *own, to);
                *own = to;
                prop_assert_eq!(unfinished.total_bytes(), held.iter().sum::<usize>());
                prop_assert!(unfinished.total_bytes() < bounds.unfinished_bytes);
                prop_assert!(unfinished.room_bytes(99) > 0 || unfinished.total_bytes() > bounds.unfinished_bytes - 3);
            }
        }
    }
}
