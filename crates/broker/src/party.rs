//! An application's connection, as the core knows it: whose it is, and which of its requests and answers are under way.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::Link;
use crate::quota::{Charge, Share};

/// An application's connection.
pub(crate) struct Peer {
    pub(crate) user: u32,
    pub(crate) groups: Vec<u32>,
    /// The opening of the device that was told whose it is, and the number of that notice.
    pub(crate) introduced: Option<(Link, u64)>,
    /// Requests that are not answered, by their ids.
    pub(crate) unanswered: BTreeMap<u32, Admitted>,
    /// Answers that are not written, oldest first; a refused request holds nothing.
    pub(crate) unwritten: VecDeque<Option<Charge>>,
    /// When the oldest unwritten answer became the oldest.
    pub(crate) moved_at: Duration,
    /// Its place among those that may have left answers unread.
    pub(crate) noted_at: Option<Duration>,
    pub(crate) share: Share,
}

/// A request that is not answered.
pub(crate) struct Admitted {
    pub(crate) at: Duration,
    pub(crate) charge: Charge,
}

impl Peer {
    /// A new one, which holds nothing.
    pub(crate) fn new(user: u32, groups: Vec<u32>, now: Duration) -> Peer {
        Peer {
            user,
            groups,
            introduced: None,
            unanswered: BTreeMap::new(),
            unwritten: VecDeque::new(),
            moved_at: now,
            noted_at: None,
            share: Share::default(),
        }
    }

    /// Whether it has read nothing of its answers for so long.
    pub(crate) fn has_left_unread(&self, unread_max: Duration, now: Duration) -> bool {
        !self.unwritten.is_empty() && self.moved_at + unread_max <= now
    }
}
