//! The check of a run: what is stored against what the converters saw.
//!
//! Every stored sample is compared with what an ideal 10-bit converter returns for the input at the very instant
//! at which the simulator's sample-and-hold closed, on the channel that its frame names, and that instant with the nominal
//! grid. Every frame that the
//! gateway received and that opens with the node's key must be stored once.
//!
//! Owns the comparison, as pure functions over values. The truth is the simulator's (`journal`), the store is the
//! server's; neither knows of the other.

use super::deployment::Node;
use super::journal::{Received, Sample};
use crate::limits::SETTLED_SUPERFRAMES;
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
    /// Changes to another epoch among them.
    pub epoch_changes: u64,
    /// Changes to another input of the converter among them.
    pub input_changes: u64,
    /// Changes to another rate among them.
    pub rate_changes: u64,
    /// Frames that the gateway received with a tag that matches, and that are not in the store.
    pub lost: u64,
    /// Frames or samples that are in the store twice.
    pub duplicated: u64,
    /// Frames that the gateway received in the node's slot and that do not open with its key: without noise, none.
    pub rejected: u64,
    /// Superframes without a frame in the node's slot, after the first that had one: without noise, none.
    pub missed: u64,
    /// Samples that differ from the ideal converter's, or that nobody took.
    pub mismatched_samples: u64,
    /// Greatest distance of a sampling instant from the grid.
    pub instant_error_ns_max: f64,
    /// The greatest one after [`SETTLED_SUPERFRAMES`](crate::limits::SETTLED_SUPERFRAMES) of the node's own.
    pub settled_error_ns_max: f64,
    /// Root of the mean square of all those distances.
    pub instant_error_ns_rms: f64,
    /// The stored samples, counted from the run's first superframe: nominal instant in picoseconds, code, and how many
    /// places behind it the next one is.
    pub waveform: BTreeMap<u64, (u64, u16, u8)>,
}

/// When a node was to sample in a run.
#[derive(Clone, Copy, Debug)]
pub struct Nominal {
    /// Its grid.
    pub grid: Grid,
    /// The superframe with which the run began, at 0 of its cell time.
    pub superframe: u32,
    /// How many there were.
    pub superframes: u32,
}

impl Nominal {
    /// The index of a sample in the run; `None` when it is older.
    fn index(&self, of_grid: u64) -> Option<u64> {
        of_grid.checked_sub(u64::from(self.superframe) * u64::from(self.grid.samples_per_superframe.get()))
    }
}

/// Checks one node: its `records` in the store against the samples that its converter `took` and the frames that
/// the gateway `received`.
pub fn node(
    records: &[Record],
    took: &[Sample],
    received: &[Received],
    feeds: &BTreeMap<u8, Feed>,
    nominal: Nominal,
    plan: &Node,
    master: &NodeMaster,
) -> Found {
    let mut found = Found { frames_stored: records.len() as u64, ..Found::default() };
    let mut counters = BTreeSet::new();
    let mut used = BTreeSet::new();
    let (mut squares, mut compared) = (0.0, 0u64);
    let begins = records.iter().filter_map(|record| nominal.index(record.first)).min().unwrap_or(0);
    let settles = begins + u64::from(SETTLED_SUPERFRAMES * nominal.grid.samples_per_superframe.get());
    for record in records {
        found.duplicated += u64::from(!counters.insert((record.epoch, record.counter)));
        let (Some(first), Some(codes)) = (nominal.index(record.first), record.waveform.codes()) else {
            found.mismatched_samples += record.waveform.len() as u64;
            continue;
        };
        for (index, code) in (first..).step_by(record.stride.into()).zip(codes) {
            let nominal_ps = nominal.grid.instant_ps(index);
            if found.waveform.insert(index, (nominal_ps, code, record.stride)).is_some() {
                found.duplicated += 1;
            }
            let Some(nearest) = nearest(took, nominal_ps).filter(|nearest| used.insert(*nearest)) else {
                found.mismatched_samples += 1;
                continue;
            };
            let sample = took[nearest];
            // Where nothing hangs there is no voltage.
            let ideal = feeds.get(&record.channel).map_or(0, |feed| feed.ideal_code(sample.instant_ps));
            if code != ideal || code != sample.code {
                found.mismatched_samples += 1;
            }
            let error_ns = (sample.instant_ps as f64 - nominal_ps as f64) / 1000.0;
            found.instant_error_ns_max = found.instant_error_ns_max.max(error_ns.abs());
            if index >= settles {
                found.settled_error_ns_max = found.settled_error_ns_max.max(error_ns.abs());
            }
            squares += error_ns * error_ns;
            compared += 1;
        }
    }
    let epochs: BTreeSet<u8> = counters.iter().map(|(epoch, _)| *epoch).collect();
    found.epoch_changes = epochs.len().saturating_sub(1) as u64;
    let settings: BTreeMap<u64, (u8, u8)> =
        records.iter().map(|record| (record.first, (record.channel, record.stride))).collect();
    let settings: Vec<(u8, u8)> = settings.into_values().collect();
    let changes = |of: fn(&(u8, u8)) -> u8| {
        settings.windows(2).filter(|pair| of(&pair[0]) != of(&pair[1])).count() as u64
    };
    found.input_changes = changes(|&(channel, _)| channel);
    found.rate_changes = changes(|&(_, stride)| stride);
    if compared > 0 {
        found.instant_error_ns_rms = (squares / compared as f64).sqrt();
    }
    let heard: BTreeSet<u32> =
        received.iter().filter(|frame| frame.slot == plan.slot).map(|frame| frame.superframe).collect();
    if let Some(joined) = heard.first() {
        let owed = nominal.superframe + nominal.superframes - joined;
        found.missed = u64::from(owed) - heard.len() as u64;
    }
    let mut keys = BTreeMap::new();
    for frame in received {
        match opens(frame, plan, master, &mut keys) {
            Some(opened) if counters.contains(&opened) => {}
            Some(_) => found.lost += 1,
            None => found.rejected += u64::from(frame.slot == plan.slot),
        }
    }
    found
}

impl Found {
    /// What a run owes and did not do, with its number. Noise may strike a frame, but not every one.
    pub fn faults(&self, is_noisy: bool) -> Vec<(&'static str, u64)> {
        let without_noise = |count: u64| if is_noisy { 0 } else { count };
        let mut faults = vec![
            ("frames lost", self.lost),
            ("duplicated", self.duplicated),
            ("samples mismatched", self.mismatched_samples),
            ("frames with a wrong tag on a bus without noise", without_noise(self.rejected)),
            ("slots missed on a bus without noise", without_noise(self.missed)),
        ];
        faults.retain(|(_, count)| *count > 0);
        if self.frames_stored == 0 {
            faults.push(("frames stored", 0));
        }
        faults
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::{deployment, simulation};
    use cipher::{Key, Suite};
    use collect::batch::BatchId;
    use collect::frame::{Header, Samples, seal};
    use collect::waveform::Waveform;
    use std::num::NonZeroU32;
    use std::path::Path;

    /// Superframes that the run of the example has here, the first of which is not 0.
    const NOMINAL: Nominal = Nominal {
        grid: Grid {
            superframe_ps: 250_000_000_000,
            samples_per_superframe: NonZeroU32::new(90).unwrap(),
            uncertainty_ns: 0,
        },
        superframe: 1000,
        superframes: 6,
    };
    const EPOCH: u8 = 3;

    /// A run of the example's first node: a frame in each of these superframes, which holds the samples of the one
    /// before.
    struct Ran {
        took: Vec<Sample>,
        received: Vec<Received>,
        records: Vec<Record>,
    }

    fn master() -> NodeMaster {
        NodeMaster::from(Key::copied_from(&[7; 32]))
    }

    fn ran(superframes: &[u32], found: impl FnOnce(&mut Ran)) -> Found {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deployments/ecg.toml");
        let deployment = deployment::load(&path).expect("the example is sound");
        let plan = &deployment.cells[0].nodes[0];
        let feeds = simulation::feeds(&deployment, plan);
        let feed = &feeds[&plan.channel];
        let sample = |index| {
            let instant_ps = NOMINAL.grid.instant_ps(index);
            Sample { instant_ps, code: feed.ideal_code(instant_ps) }
        };
        let took: Vec<Sample> = (0..6 * 90).map(sample).collect();
        let mut ran = Ran { took, received: Vec::new(), records: Vec::new() };
        let traffic = master().traffic_key(plan.id, EPOCH, plan.suite);
        for (counter, superframe) in (0..).zip(superframes) {
            let first = u64::from(superframe - 1) * 90;
            let codes = &ran.took[(first - 90_000) as usize..][..90];
            let codes: Vec<u16> = codes.iter().map(|sample| sample.code).collect();
            let waveform = Waveform::of_codes(&codes);
            let header = Header { suite: plan.suite, node: plan.id, epoch: EPOCH, counter };
            let bytes = seal(
                &traffic,
                &header,
                &Samples { first, channel: plan.channel, waveform: waveform.clone() }.to_bytes(),
            );
            let bytes = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            ran.received.push(Received { superframe: *superframe, slot: plan.slot, bytes });
            ran.records.push(Record {
                node: plan.id,
                epoch: EPOCH,
                counter,
                suite: Suite::AsconAead128,
                batch: BatchId { cell: 7, spool: 1, number: 1 },
                superframe: *superframe,
                slot: plan.slot,
                received_ps: 0,
                arrived_ns: 0,
                first,
                sample_ps: 0,
                uncertainty_ns: 0,
                channel: plan.channel,
                stride: 1,
                waveform,
            });
        }
        found(&mut ran);
        node(&ran.records, &ran.took, &ran.received, &feeds, NOMINAL, plan, &master())
    }

    #[test]
    fn a_run_that_does_what_it_owes_has_no_fault() {
        let found = ran(&[1002, 1003, 1004, 1005], |_| {});
        assert_eq!(found.faults(false), []);
        assert_eq!((found.frames_stored, found.waveform.len()), (4, 360));
        assert_eq!(found.waveform.keys().next(), Some(&90), "counted from the run's first superframe");
    }

    #[test]
    fn each_fault_is_found_and_only_noise_excuses_a_slot_or_a_tag() {
        let missed = ran(&[1002, 1005], |_| {});
        assert_eq!(missed.faults(false), [("slots missed on a bus without noise", 2)]);
        assert_eq!(missed.faults(true), []);
        let struck = ran(&[1002, 1003, 1004, 1005], |ran| {
            ran.received[2].bytes.replace_range(40..41, "x");
            ran.records.remove(2);
        });
        assert_eq!(struck.faults(false), [("frames with a wrong tag on a bus without noise", 1)]);
        assert_eq!(struck.faults(true), []);
        let nothing = ran(&[], |_| {});
        assert_eq!(nothing.faults(true), [("frames stored", 0)]);
        let lost = ran(&[1003, 1004, 1005], |ran| drop(ran.records.remove(1)));
        assert_eq!(lost.faults(true), [("frames lost", 1)]);
        let twice = ran(&[1005], |ran| ran.records.push(ran.records[0].clone()));
        assert_eq!((twice.duplicated, twice.mismatched_samples), (1 + 90, 90));
        let changed = ran(&[1005], |ran| {
            let mut codes: Vec<u16> = ran.records[0].waveform.codes().expect("codes").collect();
            codes[7] ^= 1;
            ran.records[0].waveform = Waveform::of_codes(&codes);
        });
        assert_eq!(changed.faults(true), [("samples mismatched", 1)]);
        let mislabelled = ran(&[1005], |ran| ran.records[0].channel ^= 1);
        assert_eq!(mislabelled.faults(true), [("samples mismatched", 90)]);
        let of_before = ran(&[1005], |ran| ran.records[0].first = 89_999);
        assert_eq!(of_before.faults(true), [("samples mismatched", 90)]);
    }
}
