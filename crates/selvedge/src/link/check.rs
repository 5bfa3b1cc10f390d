//! The check of a run: what is stored against what the converters saw.
//!
//! Every stored sample is compared with what an ideal 10-bit converter returns for the input at the very instant
//! at which the simulator's sample-and-hold closed, and that instant with the nominal grid. Every frame that the
//! gateway received and that opens with the node's key must be stored once.
//!
//! Owns the comparison, as pure functions over values. The truth is the simulator's (`journal`), the store is the
//! server's; neither knows of the other.

use super::deployment::Node;
use super::journal::{Received, Sample};
use cell::feed::Feed;
use cipher::{NodeMaster, TrafficKey};
use collect::keys::Grid;
use collect::limits::FRAME_HEADER_BYTES;
use collect::record::Record;
use std::collections::{BTreeMap, BTreeSet};

/// What the check of one node found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// Frames in the store.
    pub frames_stored: u64,
    /// Frames that the gateway received with a tag that matches, and that are not in the store.
    pub lost: u64,
    /// Frames or samples that are in the store twice.
    pub duplicated: u64,
    /// Frames that the gateway received with a tag that does not match: struck by noise.
    pub struck: u64,
    /// Samples that differ from the ideal converter's, or that nobody took.
    pub mismatched_samples: u64,
    /// Greatest distance of a sampling instant from the grid.
    pub instant_error_ns_max: f64,
    /// Root of the mean square of those distances.
    pub instant_error_ns_rms: f64,
    /// The stored samples, counted from the run's first superframe: nominal instant in picoseconds, and code.
    pub waveform: BTreeMap<u32, (u64, u16)>,
}

/// When a node was to sample in a run.
#[derive(Clone, Copy, Debug)]
pub struct Nominal {
    /// Its grid.
    pub grid: Grid,
    /// The superframe with which the run began, at 0 of its cell time.
    pub superframe: u32,
}

impl Nominal {
    /// The index of a sample in the run; `None` when it is older.
    fn index(&self, of_grid: u32) -> Option<u32> {
        of_grid.checked_sub(self.superframe * u32::from(self.grid.samples_per_superframe.get()))
    }
}

/// Checks one node: its `records` in the store against the samples that its converter `took` and the frames that
/// the gateway `received`.
pub fn node(
    records: &[Record],
    took: &[Sample],
    received: &[Received],
    feed: &Feed,
    nominal: Nominal,
    plan: &Node,
    master: &NodeMaster,
) -> Found {
    let mut found = Found { frames_stored: records.len() as u64, ..Found::default() };
    let mut counters = BTreeSet::new();
    let mut used = BTreeSet::new();
    let (mut squares, mut compared) = (0.0, 0u64);
    for record in records {
        found.duplicated += u64::from(!counters.insert((record.epoch, record.counter)));
        let Some(first) = nominal.index(record.first) else {
            found.mismatched_samples += record.samples.len() as u64;
            continue;
        };
        for (index, code) in (first..).zip(&record.samples) {
            let nominal_ps = nominal.grid.instant_ps(index);
            if found.waveform.insert(index, (nominal_ps, *code)).is_some() {
                found.duplicated += 1;
            }
            let Some(nearest) = nearest(took, nominal_ps).filter(|nearest| used.insert(*nearest)) else {
                found.mismatched_samples += 1;
                continue;
            };
            let sample = took[nearest];
            if *code != feed.ideal_code(sample.instant_ps) || *code != sample.code {
                found.mismatched_samples += 1;
            }
            let error_ns = (sample.instant_ps as f64 - nominal_ps as f64) / 1000.0;
            found.instant_error_ns_max = found.instant_error_ns_max.max(error_ns.abs());
            squares += error_ns * error_ns;
            compared += 1;
        }
    }
    if compared > 0 {
        found.instant_error_ns_rms = (squares / compared as f64).sqrt();
    }
    let mut keys = BTreeMap::new();
    for frame in received {
        match opens(frame, plan, master, &mut keys) {
            Some(opened) if counters.contains(&opened) => {}
            Some(_) => found.lost += 1,
            None => found.struck += u64::from(frame.slot == plan.slot),
        }
    }
    found
}

/// The index of the sample whose instant is nearest to `nominal_ps`.
fn nearest(took: &[Sample], nominal_ps: u64) -> Option<usize> {
    let behind = took.partition_point(|sample| sample.instant_ps < nominal_ps);
    let distance = |index: &usize| took[*index].instant_ps.abs_diff(nominal_ps);
    [behind.checked_sub(1), (behind < took.len()).then_some(behind)]
        .into_iter()
        .flatten()
        .min_by_key(distance)
}

/// Epoch and counter of a frame of this node, if its tag matches. Opened here once more, with the library and not with
/// the server's code.
fn opens(
    frame: &Received,
    plan: &Node,
    master: &NodeMaster,
    keys: &mut BTreeMap<u8, TrafficKey>,
) -> Option<(u8, u32)> {
    let hex = |at: usize| u8::from_str_radix(frame.bytes.get(2 * at..2 * at + 2)?, 16).ok();
    let bytes: Vec<u8> = (0..frame.bytes.len() / 2).map(hex).collect::<Option<_>>()?;
    let (header, rest) = bytes.split_at_checked(FRAME_HEADER_BYTES)?;
    let four = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let (node, epoch, counter) = (four(1), header[5], four(6));
    let tag_at = rest.len().checked_sub(plan.suite.row().tag_bytes)?;
    let (ciphertext, tag) = rest.split_at(tag_at);
    let key = keys.entry(epoch).or_insert_with(|| master.traffic_key(plan.id, epoch, plan.suite));
    let opened = key.open(counter, header, &mut ciphertext.to_vec(), tag);
    (node == plan.id && opened.is_ok()).then_some((epoch, counter))
}
