//! What the collector counted: frames and batches by status, groups, the time of each stage, and deadlines.
//!
//! Counts and percentiles only; the roof turns them into rows. Percentiles come from an HDR histogram with
//! three significant digits, so they need no raw samples and cost the same for a second and for a year. To record one
//! time allocates nothing.
//!
//! ```text
//! arrived ─ queued ─► opening begins ─ opening ─► opened ─ waiting ─► commit begins ─ storing ─► durable
//!    └────────────────────────── durable_latency, the deadline ──────────────────────────────────┘
//!                                                              durable ─ sealing ─► sealed ─ answering ─►
//! ```
//! A batch has arrived when a transport has read it; what still lies in the kernel has not.
//!
//! The commit thread records all of that up to sealed, a transport's threads the answering. What people who look take of the
//! commit thread is beside the stages: a batch that comes meanwhile waits for it.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::error::{Fault, Refusal};

/// Longest latency that is told apart: an hour, in nanoseconds.
const LATENCY_NS_MAX: u64 = 3_600_000_000_000;

/// Counts since the server started.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Stats {
    /// Batches that were answered with a receipt.
    pub batches: u64,
    /// Messages that were refused, by status.
    pub refused: BTreeMap<&'static str, u64>,
    /// Frames of those batches that were stored.
    pub frames_stored: u64,
    /// Frames that had been stored before.
    pub frames_duplicate: u64,
    /// Stored frames that no tag vouches for: their suite is a legacy one.
    pub frames_unauthenticated: u64,
    /// Frames that will never be stored, by status.
    pub frames_failed: BTreeMap<&'static str, u64>,
    /// Groups made durable, each by one sync.
    pub groups: u64,
    /// Times that it was noted elsewhere how far the store has come.
    pub anchors: u64,
    /// Records in them, reservations included.
    pub records: u64,
    /// Torn tails that were cut off the log when it was opened.
    pub torn_tails: u64,
    /// Their bytes: nothing that can be read. Of a group that was damaged after it was synced, something was acknowledged.
    pub torn_bytes: u64,
    /// Ranges of stored counters that are remembered.
    pub counter_ranges: u64,
    /// Ranges of them that were forgotten, because there were more than the limit.
    pub counter_ranges_forgotten: u64,
    /// Downlink frames sealed.
    pub downlinks: u64,
    /// Those of them that told a setting.
    pub settings_told: u64,
    /// Those of them that told a change of the epoch.
    pub changes_told: u64,
    /// Downlinks not sent because the counter of their key is used up.
    pub downlinks_exhausted: u64,
    /// Connections that said a valid hello.
    pub connections: u64,
    /// Connections that ended before a valid hello, or were one too many.
    pub connections_failed: u64,
    /// Datagrams that came when there was no room for another batch.
    pub datagrams_dropped: u64,
    /// Answers that were not sent: to datagrams that proved nothing, or are shorter than the answer, and of an owner
    /// whose lease was over.
    pub answers_withheld: u64,
    /// Downlinks not sent because nobody could say that their counter is free.
    pub downlinks_unfenced: u64,
    /// Leases of partitions that were taken.
    pub leases_taken: u64,
    /// Those of them that were taken over from a server that was silent.
    pub leases_taken_over: u64,
    /// Leases that somebody else has now.
    pub leases_lost: u64,
    /// Time from the arrival of a batch's last byte to its group being durable, for batches with a receipt.
    pub durable_latency: Latency,
    /// The same by stage, and what comes behind it.
    pub stages: Stages,
    /// What a snapshot for people who look took of the thread that commits.
    pub snapshots: Latency,
    /// How often that was in time, where the deployment has a deadline.
    pub deadline: Option<Deadline>,
}

/// Where the time of batches with a receipt goes. What is opened, or committed, together has the times of the group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stages {
    /// From the arrival until the opening of its group begins.
    pub queued: Latency,
    /// Until its group is opened.
    pub opening: Latency,
    /// Until the commit of its group begins.
    pub waiting: Latency,
    /// Until it is durable.
    pub storing: Latency,
    /// Until its receipt is sealed, with those of its group and their downlinks; a full group that waits for the disk is
    /// begun before.
    pub sealing: Latency,
    /// Until the answer is with the system's socket, or given to the client of the cluster.
    pub answering: Latency,
}

impl Stages {
    /// Each with its name, in their order.
    pub fn named(&self) -> [(&'static str, &Latency); 6] {
        [
            ("queued", &self.queued),
            ("opening", &self.opening),
            ("waiting", &self.waiting),
            ("storing", &self.storing),
            ("sealing", &self.sealing),
            ("answering", &self.answering),
        ]
    }
}

/// How often a batch with a receipt was durable in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deadline {
    /// From arrival to durable, in nanoseconds.
    pub deadline_ns: u64,
    /// Batches that took no longer.
    pub met: u64,
    /// Batches that took longer.
    pub missed: u64,
    /// Most of these one behind the other.
    pub longest_run: u64,
}

/// A distribution of times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    /// Number of samples.
    pub count: u64,
    /// Least, in nanoseconds.
    pub min_ns: u64,
    /// Median, in nanoseconds.
    pub p50_ns: u64,
    /// 99th percentile, in nanoseconds.
    pub p99_ns: u64,
    /// 99.9th percentile, in nanoseconds.
    pub p999_ns: u64,
    /// 99.99th percentile, in nanoseconds.
    pub p9999_ns: u64,
    /// Most, in nanoseconds.
    pub max_ns: u64,
}

/// Times of one kind.
#[derive(Debug)]
pub(crate) struct Times(Histogram<u64>);

impl Times {
    pub(crate) fn new() -> Times {
        Times(Histogram::new_with_max(LATENCY_NS_MAX, 3).expect("the bounds are valid"))
    }

    fn record(&mut self, from_ns: u64, to_ns: u64) {
        self.0.saturating_record(to_ns.saturating_sub(from_ns));
    }

    fn add(&mut self, other: &Times) {
        self.0.add(&other.0).expect("the bounds are the same");
    }

    fn latency(&self) -> Latency {
        let at = |quantile| self.0.value_at_quantile(quantile);
        Latency {
            count: self.0.len(),
            min_ns: self.0.min(),
            p50_ns: at(0.5),
            p99_ns: at(0.99),
            p999_ns: at(0.999),
            p9999_ns: at(0.9999),
            max_ns: self.0.max(),
        }
    }
}

/// Times of one kind that several threads record.
#[derive(Debug)]
pub(crate) struct SharedTimes(Mutex<Times>);

impl SharedTimes {
    pub(crate) fn new() -> SharedTimes {
        SharedTimes(Mutex::new(Times::new()))
    }

    /// Records the time between two monotonic instants.
    pub(crate) fn record(&self, from_ns: u64, to_ns: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).record(from_ns, to_ns);
    }

    pub(crate) fn latency(&self) -> Latency {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).latency()
    }
}

/// When a batch was where, in nanoseconds of the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passage {
    pub(crate) arrived_ns: u64,
    pub(crate) opening_ns: u64,
    pub(crate) opened_ns: u64,
    pub(crate) commit_ns: u64,
    pub(crate) durable_ns: u64,
    pub(crate) sealed_ns: u64,
}

/// Counts while the server runs.
#[derive(Debug)]
pub(crate) struct Counter {
    pub(crate) stats: Stats,
    durable: Times,
    queued: Times,
    opening: Times,
    waiting: Times,
    storing: Times,
    sealing: Times,
    snapshots: Times,
    /// Batches that missed the deadline since the last that met it.
    run: u64,
}

impl Counter {
    /// Counts of nothing, for batches that should be durable so long after their arrival.
    pub(crate) fn new(deadline_ns: Option<u64>) -> Counter {
        let deadline = deadline_ns.map(|deadline_ns| Deadline { deadline_ns, ..Deadline::default() });
        let [durable, queued, opening, waiting, storing, sealing, snapshots] =
            std::array::from_fn(|_| Times::new());
        let stats = Stats { deadline, ..Stats::default() };
        Counter { stats, durable, queued, opening, waiting, storing, sealing, snapshots, run: 0 }
    }

    /// Adds what was counted for another log.
    pub(crate) fn add(&mut self, other: &Counter) {
        let (own, others) = (&mut self.stats, &other.stats);
        for (all, more) in
            [(&mut own.refused, &others.refused), (&mut own.frames_failed, &others.frames_failed)]
        {
            more.iter().for_each(|(&name, count)| *all.entry(name).or_default() += count);
        }
        own.batches += others.batches;
        own.frames_stored += others.frames_stored;
        own.frames_duplicate += others.frames_duplicate;
        own.frames_unauthenticated += others.frames_unauthenticated;
        own.groups += others.groups;
        own.records += others.records;
        own.counter_ranges_forgotten += others.counter_ranges_forgotten;
        own.torn_tails += others.torn_tails;
        own.torn_bytes += others.torn_bytes;
        own.downlinks += others.downlinks;
        own.settings_told += others.settings_told;
        own.changes_told += others.changes_told;
        own.downlinks_exhausted += others.downlinks_exhausted;
        own.downlinks_unfenced += others.downlinks_unfenced;
        for (all, more) in [
            (&mut self.durable, &other.durable),
            (&mut self.queued, &other.queued),
            (&mut self.opening, &other.opening),
            (&mut self.waiting, &other.waiting),
            (&mut self.storing, &other.storing),
            (&mut self.sealing, &other.sealing),
            (&mut self.snapshots, &other.snapshots),
        ] {
            all.add(more);
        }
        if let (Some(own), Some(others)) = (&mut own.deadline, &others.deadline) {
            own.met += others.met;
            own.missed += others.missed;
            own.longest_run = own.longest_run.max(others.longest_run);
        }
    }

    pub(crate) fn refuse(&mut self, refusal: Refusal) {
        *self.stats.refused.entry(refusal.name()).or_default() += 1;
    }

    pub(crate) fn fail(&mut self, fault: Fault) {
        *self.stats.frames_failed.entry(fault.name()).or_default() += 1;
    }

    /// A batch with a receipt is durable.
    pub(crate) fn durable(&mut self, passage: &Passage) {
        let &Passage { arrived_ns, opening_ns, opened_ns, commit_ns, durable_ns, sealed_ns } = passage;
        self.queued.record(arrived_ns, opening_ns);
        self.opening.record(opening_ns, opened_ns);
        self.waiting.record(opened_ns, commit_ns);
        self.storing.record(commit_ns, durable_ns);
        self.sealing.record(durable_ns, sealed_ns);
        self.durable.record(arrived_ns, durable_ns);
        if let Some(deadline) = &mut self.stats.deadline {
            if durable_ns.saturating_sub(arrived_ns) > deadline.deadline_ns {
                self.run += 1;
                deadline.missed += 1;
                deadline.longest_run = deadline.longest_run.max(self.run);
            } else {
                self.run = 0;
                deadline.met += 1;
            }
        }
    }

    /// Somebody was shown a snapshot that was made from the one instant to the other.
    pub(crate) fn shown(&mut self, begin_ns: u64, end_ns: u64) {
        self.snapshots.record(begin_ns, end_ns);
    }

    /// What was counted so far; a transport adds what it counts.
    pub(crate) fn stats(&self) -> Stats {
        let stages = Stages {
            queued: self.queued.latency(),
            opening: self.opening.latency(),
            waiting: self.waiting.latency(),
            storing: self.storing.latency(),
            sealing: self.sealing.latency(),
            answering: Latency::default(),
        };
        let (durable_latency, snapshots) = (self.durable.latency(), self.snapshots.latency());
        Stats { durable_latency, stages, snapshots, ..self.stats.clone() }
    }
}

impl Stats {
    /// Frames that will never be stored.
    pub fn frames_failed_total(&self) -> u64 {
        self.frames_failed.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A batch that arrives at `arrived_ns` and spends so long in each stage.
    fn passage(arrived_ns: u64, [queued, opening, waiting, storing, sealing]: [u64; 5]) -> Passage {
        let opening_ns = arrived_ns + queued;
        let opened_ns = opening_ns + opening;
        let commit_ns = opened_ns + waiting;
        let durable_ns = commit_ns + storing;
        Passage { arrived_ns, opening_ns, opened_ns, commit_ns, durable_ns, sealed_ns: durable_ns + sealing }
    }

    #[test]
    fn a_deadline_is_met_up_to_its_last_nanosecond_and_the_longest_run_of_misses_is_kept() {
        let mut counter = Counter::new(Some(100));
        for latency_ns in [100, 101, 150, 0, 101, 101, 101, 99, 500] {
            counter.durable(&passage(7, [0, 0, 0, latency_ns, 5]));
        }
        let expected = Deadline { deadline_ns: 100, met: 3, missed: 6, longest_run: 3 };
        assert_eq!(counter.stats().deadline, Some(expected));
        let mut all = Counter::new(Some(100));
        all.add(&counter);
        all.add(&counter);
        let expected = Deadline { deadline_ns: 100, met: 6, missed: 12, longest_run: 3 };
        assert_eq!(all.stats().deadline, Some(expected));
        assert_eq!(all.stats().durable_latency.count, 18);
    }

    #[test]
    fn the_stages_of_a_batch_add_up_to_its_time_from_arrival_to_durable() {
        let mut counter = Counter::new(None);
        counter.durable(&passage(1_000, [10, 200, 3_000, 40_000, 500_000]));
        let Stats { stages, durable_latency, deadline, .. } = counter.stats();
        // Three significant digits.
        let close = |found: u64, expected: u64| found.abs_diff(expected) <= expected / 500;
        let found = [stages.queued, stages.opening, stages.waiting, stages.storing, stages.sealing]
            .map(|of| of.p9999_ns);
        let expected = [10, 200, 3_000, 40_000, 500_000];
        assert!(found.iter().zip(expected).all(|(&found, expected)| close(found, expected)), "{found:?}");
        assert!(close(durable_latency.max_ns, 43_210), "{durable_latency:?}");
        assert_eq!((durable_latency.count, stages.answering.count, deadline), (1, 0, None));
    }
}
