//! Who owns which partition, as one server sees it: a lease is what nobody else has changed for so long.
//!
//! An owner writes its name again and again; every write gives the entry another revision. Who sees the same revision
//! for the lease time, by its own clock alone, may take the lease by a compare-and-set on that revision. No clock is
//! compared with another, so a wrong one does no harm, and a slow owner loses a lease but no frame.
//!
//! Owns this judgement; reading, writing and waiting are `serve`'s.
//!
//! Invariant: who holds a lease stops believing so, by the clock that it renews by, before anybody else may take it.

use std::collections::HashMap;

/// An entry of the bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub revision: u64,
}

/// What to try for a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing, for now.
    Wait,
    /// Nobody has it: create the entry.
    Create,
    /// Its owner is silent: take it, if it is still at this revision.
    TakeOver(u64),
    /// It is ours: say so again, at this revision.
    Renew(u64),
    /// It was ours, and is somebody else's.
    Lost,
}

/// A lease that is held.
#[derive(Clone, Copy, Debug)]
struct Held {
    revision: u64,
}

/// One partition.
#[derive(Debug, Default)]
pub(super) struct View {
    held: Option<Held>,
    /// The revision of somebody else's lease, and since when it is seen, in nanoseconds.
    seen: Option<(u64, u64)>,
}

impl View {
    /// What follows from the entry as it is at `now_ns` of the monotonic clock. `wants_more` when another partition is welcome here.
    pub fn look(&mut self, entry: Option<&Entry>, now_ns: u64, lease_ns: u64, wants_more: bool) -> Step {
        if let Some(held) = self.held {
            // What is read may be older than what was written: the compare-and-set decides.
            if entry.is_none_or(|entry| entry.revision <= held.revision) {
                return Step::Renew(held.revision);
            }
            *self = View::default();
            return Step::Lost;
        }
        let Some(entry) = entry else {
            self.seen = None;
            return if wants_more { Step::Create } else { Step::Wait };
        };
        match self.seen {
            Some((revision, since)) if revision >= entry.revision => {
                let is_silent = now_ns.saturating_sub(since) >= lease_ns;
                if is_silent && wants_more { Step::TakeOver(revision) } else { Step::Wait }
            }
            _ => {
                self.seen = Some((entry.revision, now_ns));
                Step::Wait
            }
        }
    }

    /// A create, a takeover or a renewal succeeded.
    pub fn hold(&mut self, revision: u64) {
        *self = View { held: Some(Held { revision }), seen: None };
    }

    /// The revision under which it is held.
    pub fn held(&self) -> Option<u64> {
        self.held.map(|held| held.revision)
    }

    /// It was given up, or believed lost.
    pub fn forget(&mut self) {
        *self = View::default();
    }
}

/// The servers that are there: those that were heard of within the lease time.
#[derive(Debug, Default)]
pub(super) struct Peers(HashMap<String, (u64, u64)>);

impl Peers {
    /// The entries of all servers, our own among them, as they are at `now_ns`. Returns how many partitions each should have.
    pub fn share(
        &mut self,
        entries: &[(String, u64)],
        own: &str,
        now_ns: u64,
        lease_ns: u64,
        partitions: u16,
    ) -> usize {
        self.0.retain(|name, _| entries.iter().any(|(listed, _)| listed == name));
        for (name, revision) in entries {
            let seen = self.0.entry(name.clone()).or_insert((*revision, now_ns));
            if seen.0 < *revision {
                *seen = (*revision, now_ns);
            }
        }
        let is_there = |since: &u64| now_ns.saturating_sub(*since) < lease_ns;
        let others = self.0.iter().filter(|(name, (_, since))| *name != own && is_there(since)).count();
        usize::from(partitions).div_ceil(others + 1)
    }

    /// Those that were not heard of for long.
    pub fn gone(&self, now_ns: u64, after_ns: u64) -> Vec<String> {
        let is_gone = |since: &u64| now_ns.saturating_sub(*since) >= after_ns;
        self.0.iter().filter(|(_, (_, since))| is_gone(since)).map(|(name, _)| name.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: u64 = 1_000_000_000;
    const LEASE: u64 = 6 * SECOND;

    fn entry(revision: u64) -> Entry {
        Entry { revision }
    }

    #[test]
    fn a_lease_is_taken_when_it_was_silent_for_its_time_and_not_before() {
        let mut view = View::default();
        let at = |seconds| 7 * SECOND + seconds * SECOND;
        assert_eq!(view.look(Some(&entry(5)), at(0), LEASE, true), Step::Wait);
        assert_eq!(view.look(Some(&entry(5)), at(5), LEASE, true), Step::Wait);
        assert_eq!(view.look(Some(&entry(6)), at(7), LEASE, true), Step::Wait, "it was renewed");
        assert_eq!(view.look(Some(&entry(6)), at(12), LEASE, true), Step::Wait);
        assert_eq!(view.look(Some(&entry(6)), at(13), LEASE, false), Step::Wait, "others shall");
        assert_eq!(view.look(Some(&entry(6)), at(13), LEASE, true), Step::TakeOver(6));
        view.hold(9);
        assert_eq!(view.look(Some(&entry(9)), at(14), LEASE, false), Step::Renew(9));
        assert_eq!(view.look(Some(&entry(10)), at(15), LEASE, true), Step::Lost);
        assert_eq!(view.held(), None);
        assert_eq!(view.look(None, at(16), LEASE, true), Step::Create);
        view.hold(12);
        assert_eq!(
            view.look(None, at(17), LEASE, true),
            Step::Renew(12),
            "it may be an old view of the bucket"
        );
        assert_eq!(view.look(Some(&entry(11)), at(17), LEASE, true), Step::Renew(12));
        view.forget();
        assert_eq!(view.look(None, at(18), LEASE, false), Step::Wait);
    }

    #[test]
    fn partitions_are_shared_among_those_that_were_heard_of() {
        let mut peers = Peers::default();
        let at = |seconds| 7 * SECOND + seconds * SECOND;
        let list = |revisions: &[(&str, u64)]| -> Vec<(String, u64)> {
            revisions.iter().map(|(name, revision)| ((*name).to_owned(), *revision)).collect()
        };
        assert_eq!(peers.share(&list(&[("a", 1)]), "a", at(0), LEASE, 16), 16);
        assert_eq!(peers.share(&list(&[("a", 2), ("b", 3)]), "a", at(1), LEASE, 16), 8);
        assert_eq!(peers.share(&list(&[("a", 4), ("b", 5), ("c", 6)]), "a", at(5), LEASE, 16), 6);
        assert_eq!(
            peers.share(&list(&[("a", 7), ("b", 8), ("c", 6)]), "a", at(11), LEASE, 16),
            8,
            "c is silent"
        );
        assert_eq!(peers.gone(at(17), 2 * LEASE), ["c"]);
        assert_eq!(peers.share(&list(&[("a", 9)]), "a", at(12), LEASE, 16), 16, "b took its leave");
    }

    proptest! {
        /// Two servers and one bucket, in any order of looks and pauses: whoever is told to renew has the entry, and a
        /// revision is written by one of them only.
        #[test]
        fn no_two_hold_one_revision(turns in prop::collection::vec((any::<bool>(), 0u64..9, any::<bool>()), 1..200)) {
            let (mut views, mut now_ns, mut revision) = ([View::default(), View::default()], 0, 0);
            let (mut bucket, mut owner): (Option<Entry>, bool) = (None, false);
            for (who, pause, fails) in turns {
                now_ns += pause * SECOND;
                let view = &mut views[usize::from(who)];
                let step = view.look(bucket.as_ref(), now_ns, LEASE, true);
                let is_allowed = match step {
                    Step::Create => bucket.is_none(),
                    Step::TakeOver(at) | Step::Renew(at) => bucket.as_ref().is_some_and(|entry| entry.revision == at),
                    Step::Wait | Step::Lost => continue,
                };
                prop_assert!(is_allowed, "nothing was written between");
                if let Step::Renew(_) = step {
                    prop_assert_eq!(owner, who);
                }
                if !fails {
                    // Others write to the bucket, too.
                    revision += 1 + pause;
                    (bucket, owner) = (Some(Entry { revision }), who);
                    view.hold(revision);
                }
            }
            let held: Vec<_> = views.iter().filter_map(View::held).collect();
            prop_assert!(held.len() < 2 || held[0] != held[1]);
        }
    }
}
