//! What the collector counted: frames and batches by status, groups, and the time from arrival to durable.
//!
//! Counts and percentiles only; the roof turns them into rows. Percentiles come from an HDR histogram with
//! three significant digits, so they need no raw samples and cost the same for a second and for a year.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::Serialize;

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
    /// Frames that will never be stored, by status.
    pub frames_failed: BTreeMap<&'static str, u64>,
    /// Groups made durable, each by one sync.
    pub groups: u64,
    /// Times that it was noted elsewhere how far the store has come.
    pub anchors: u64,
    /// Records in them, reservations included.
    pub records: u64,
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
}

/// A distribution of times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
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
    /// Most, in nanoseconds.
    pub max_ns: u64,
}

/// Counts while the server runs.
#[derive(Debug)]
pub(crate) struct Counter {
    pub(crate) stats: Stats,
    durable_ns: Histogram<u64>,
}

impl Counter {
    pub(crate) fn new() -> Counter {
        let durable_ns = Histogram::new_with_max(LATENCY_NS_MAX, 3).expect("the bounds are valid");
        Counter { stats: Stats::default(), durable_ns }
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
        own.groups += others.groups;
        own.records += others.records;
        own.downlinks += others.downlinks;
        own.settings_told += others.settings_told;
        own.changes_told += others.changes_told;
        own.downlinks_exhausted += others.downlinks_exhausted;
        own.downlinks_unfenced += others.downlinks_unfenced;
        self.durable_ns.add(&other.durable_ns).expect("the bounds are the same");
    }

    pub(crate) fn refuse(&mut self, refusal: Refusal) {
        *self.stats.refused.entry(refusal.name()).or_default() += 1;
    }

    pub(crate) fn fail(&mut self, fault: Fault) {
        *self.stats.frames_failed.entry(fault.name()).or_default() += 1;
    }

    /// A batch is durable, `latency_ns` after it arrived.
    pub(crate) fn durable(&mut self, latency_ns: u64) {
        self.durable_ns.saturating_record(latency_ns);
    }

    pub(crate) fn stats(&self) -> Stats {
        let at = |quantile| self.durable_ns.value_at_quantile(quantile);
        let durable_latency = Latency {
            count: self.durable_ns.len(),
            min_ns: self.durable_ns.min(),
            p50_ns: at(0.5),
            p99_ns: at(0.99),
            p999_ns: at(0.999),
            max_ns: self.durable_ns.max(),
        };
        Stats { durable_latency, ..self.stats.clone() }
    }
}

impl Stats {
    /// Frames that will never be stored.
    pub fn frames_failed_total(&self) -> u64 {
        self.frames_failed.values().sum()
    }
}
