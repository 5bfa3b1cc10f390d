//! Requests of which a part has come: whose they are, and since when the rest is waited for.
//!
//! Owns who has had too long. That a part has come, and whether anybody reads on, is the loop's to say, which alone sees it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::wire::Connection;

/// Each connection whose request has begun to come, once.
#[derive(Debug, Default)]
pub(crate) struct Begun {
    since: BTreeMap<Connection, Duration>,
    by_time: BTreeSet<(Duration, Connection)>,
}

impl Begun {
    /// The rest of a connection's request is waited for since then, or not at all.
    pub(crate) fn set(&mut self, connection: Connection, since: Option<Duration>) {
        let before = match since {
            Some(since) => {
                self.by_time.insert((since, connection));
                self.since.insert(connection, since).filter(|before| *before != since)
            }
            None => self.since.remove(&connection),
        };
        if let Some(before) = before {
            self.by_time.remove(&(before, connection));
        }
    }

    /// Who is waited for longest, if that is not since later than this.
    pub(crate) fn first(&self, latest: Duration) -> Option<Connection> {
        self.by_time.first().filter(|(since, _)| *since <= latest).map(|(_, connection)| *connection)
    }

    /// Whether nobody is waited for.
    pub(crate) fn is_empty(&self) -> bool {
        self.since.is_empty()
    }
}
