//! A deployment: what `selvedge run` runs, checked. The only parser of deployments; tools get values.
//!
//! Owns the checked structs, in integers with their units, and the story from a file to them: read, draft
//! (`draft`), recordings (`recording`), checks (`schedule`). The format is described in
//! `deployments/README.md`. Every problem is found, not only the first.
//!
//! Invariant: a [`Deployment`] can be run: its slots fit, its frames fit, its signals exist and are in range.

use std::fs::File;
use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU16;
use std::path::{Path, PathBuf};

use cipher::Suite;
use serde::{Serialize, Serializer};
use toml::de::DeTable;

use super::chip::Chip;
use super::computers::{Computer, ComputerDraft};
use super::diagnostic::Problems;
use super::draft::{self, CellDraft, Draft, NodeDraft};
use super::filters::Filters;
use super::leads::Wiring;
use super::problem::{Kind, Problem};
use super::recording::{self, Recording};
use super::{schedule, section::At, transport::Collect};
use crate::error::Error;
use crate::limits;

/// A checked deployment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Deployment {
    /// Names the report.
    pub name: String,
    /// All randomness of the simulation comes from it.
    pub seed: u64,
    /// Cell time to run.
    pub duration_ps: u64,
    /// Recorded signals.
    pub inputs: Vec<Input>,
    /// Cells, in the order of their names.
    pub cells: Vec<Cell>,
    /// How the gateway's bridge batches.
    pub bridge: Bridge,
    /// Where and how the server collects.
    pub collect: Collect,
    /// Key folder; `None` means `keys` in the run's own folder.
    pub keys: Option<PathBuf>,
}

/// A recorded signal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Input {
    /// As nodes name it.
    pub name: String,
    /// Where it was read.
    pub path: PathBuf,
    /// The signal.
    pub recording: Recording,
}

/// Nodes that share one bus.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cell {
    /// As the command line names it.
    pub name: String,
    /// In beacons and batches.
    pub id: u16,
    /// Period of the beacon.
    pub superframe_us: u32,
    /// Length of each slot.
    pub slot_us: u16,
    /// Silence at both ends of a slot.
    pub guard_us: u16,
    /// Bit clock of the gateway's transmissions.
    pub bus_hz: u64,
    /// Silence after each byte that the gateway sends.
    pub byte_gap_ps: u64,
    /// What the wires do to bits.
    pub noise: Noise,
    /// Nodes, in the order of the text.
    pub nodes: Vec<Node>,
    /// Computers whose frames are in its batches, too, in the order of the text.
    #[serde(rename = "computer", skip_serializing_if = "Vec::is_empty")]
    pub computers: Vec<Computer>,
}

/// Disturbance of a bus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Noise {
    /// Probability that a received bit is wrong.
    pub bit_errors_ppb: u32,
    /// Times in which nothing is received, if there are any.
    pub drop_outs: Option<DropOuts>,
}

/// Times in which nothing is received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct DropOuts {
    /// Mean time between the starts of two drop-outs.
    pub interval_ps: u64,
    /// How long each lasts.
    pub duration_ps: u64,
}

/// A sensor node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Node {
    /// Identity, unique in the deployment and never 0: a beacon's empty slot is 0.
    pub id: u32,
    /// Microcontroller.
    pub chip: &'static Chip,
    /// Nominal CPU clock.
    pub clock_hz: u32,
    /// Error of its crystal: positive runs fast.
    pub drift_ppb: i32,
    /// Its slot, from 1.
    pub slot: u8,
    /// Index into the deployment's inputs.
    pub input: usize,
    /// Where in the recording it begins.
    pub start_ps: u64,
    /// Amplification in front of the converter, in thousandths.
    pub gain_thousandths: u64,
    /// Voltage at the converter when the signal is 0 V.
    pub offset_nv: u64,
    /// Reference of the converter.
    pub reference_nv: u64,
    /// Input of the converter's multiplexer.
    pub channel: u8,
    /// What hangs on its converter's other inputs, and which of them it is told to convert.
    #[serde(flatten)]
    pub wiring: Wiring,
    /// Sampling rate.
    pub rate_hz: u64,
    /// Samples in a superframe, all in one frame.
    pub samples_per_superframe: u8,
    /// Cipher suite of its frames.
    #[serde(serialize_with = "by_name")]
    pub suite: Suite,
    /// SPI clock divider of its transmissions, a power of two.
    pub divider: u8,
    /// How its filters are made.
    pub filters: Filters,
    /// Counters reserved by one EEPROM write.
    pub counter_block: u16,
    /// Stored frames of an epoch after which the server tells it to go on to another; `None` = never.
    pub epoch_frames: Option<NonZeroU16>,
    /// Bytes of its frames.
    pub frame_bytes: u16,
    /// Time of a frame on the bus, by its own clock at its slowest.
    pub frame_ps: u64,
}

/// How the gateway's bridge batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Bridge {
    /// Superframes in a batch.
    pub batch_superframes: u8,
}

pub(super) fn by_name<S: Serializer>(suite: &Suite, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(suite)
}

impl Deployment {
    /// Number and suite of every node and computer: who has a key, and sends under it.
    pub fn senders(&self) -> impl Iterator<Item = (u32, Suite)> {
        self.cells.iter().flat_map(|cell| {
            let nodes = cell.nodes.iter().map(|node| (node.id, node.suite));
            nodes.chain(cell.computers.iter().map(|computer| (computer.id, computer.suite)))
        })
    }
}

impl Cell {
    /// Highest slot that a node owns: the beacon's count. The downlink slot is the next one.
    pub fn slots_used(&self) -> u8 {
        self.nodes.iter().map(|node| node.slot).max().unwrap_or(0)
    }
}

impl Node {
    /// Cycles from a sample to the next, rounded down.
    pub fn step_cycles(&self) -> u64 {
        u64::from(self.clock_hz) / self.rate_hz
    }

    /// log2 of the SPI clock divider, as the EEPROM stores it.
    pub fn divider_log2(&self) -> u8 {
        self.divider.trailing_zeros() as u8
    }
}

impl Input {
    /// Lowest and highest raw value.
    pub(super) fn extremes(&self) -> (i32, i32) {
        let samples = &self.recording.samples;
        (samples.iter().copied().min().unwrap_or(0), samples.iter().copied().max().unwrap_or(0))
    }
}

/// Reads and checks the deployment at `path`.
///
/// # Errors
/// [`Error::Io`] if the file cannot be read, [`Error::Deployment`] with every problem in it.
pub fn load(path: &Path) -> Result<Deployment, Error> {
    check(path, text(path)?).map_err(Error::Deployment)
}

/// The text of the file at `path`, or [`Error::Io`] if it cannot be read, is none, or is longer than any of ours.
pub(super) fn text(path: &Path) -> Result<String, Error> {
    let io = |source| Error::Io { action: "read", path: path.into(), source };
    let mut bytes = Vec::new();
    let mut file = File::open(path).map_err(io)?.take(limits::DEPLOYMENT_BYTES_MAX + 1);
    file.read_to_end(&mut bytes).map_err(io)?;
    if bytes.len() as u64 > limits::DEPLOYMENT_BYTES_MAX {
        let text = format!("found over {} bytes, which no deployment has", limits::DEPLOYMENT_BYTES_MAX);
        return Err(io(io::Error::new(io::ErrorKind::FileTooLarge, text)));
    }
    String::from_utf8(bytes).map_err(|error| io(io::Error::new(io::ErrorKind::InvalidData, error)))
}

/// Checks `text`, the content of the file at `path`; its relative paths start at that file's folder.
///
/// # Errors
/// Every problem of the text.
pub fn check(path: &Path, text: String) -> Result<Deployment, Problems> {
    let mut problems = Vec::new();
    let deployment = read(path, &text, &mut problems);
    match deployment {
        Some(deployment) if problems.is_empty() => Ok(deployment),
        _ => {
            assert!(!problems.is_empty(), "a deployment without problems is complete");
            Err(Problems::new(path.into(), text, problems))
        }
    }
}

fn read(path: &Path, text: &str, problems: &mut Vec<Problem>) -> Option<Deployment> {
    let (root, faults) = DeTable::parse_recoverable(text);
    if !faults.is_empty() {
        // What a text that is not TOML means cannot be told, so its meaning is not judged.
        problems.extend(faults.iter().map(|fault| Problem {
            span: fault.span().unwrap_or(0..0),
            kind: Kind::Syntax { message: fault.message().into() },
        }));
        return None;
    }
    let draft = draft::read(root.get_ref(), problems);
    let folder = path.parent().unwrap_or(Path::new(""));
    let inputs: Vec<_> = draft.inputs.iter().map(|draft| recording::input(draft, folder, problems)).collect();
    schedule::check(&draft, &inputs, text, problems);
    // Problems are reported, values are built only from a text without any: each `?` below has a problem.
    if problems.is_empty() { finish(&draft, inputs, folder) } else { None }
}

pub(super) fn value<T: Copy>(at: &Option<At<T>>) -> Option<T> {
    at.as_ref().map(|at| at.value)
}

fn finish(draft: &Draft, inputs: Vec<Option<Input>>, folder: &Path) -> Option<Deployment> {
    let inputs: Vec<Input> = inputs.into_iter().collect::<Option<_>>()?;
    let cells = draft.cells.iter().map(|draft| cell(draft, &inputs)).collect::<Option<_>>()?;
    let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let (metrics, is_live) = draft.transport.monitoring(folder);
    Some(Deployment {
        name: draft.name.as_ref()?.value.clone(),
        seed: value(&draft.seed)?.unsigned_abs(),
        duration_ps: value(&draft.duration)?.unsigned_abs(),
        cells,
        inputs,
        bridge: Bridge { batch_superframes: value(&draft.batch_superframes).unwrap_or(1).try_into().ok()? },
        collect: Collect {
            transport: draft.transport.finish(folder)?,
            address: value(&draft.address).unwrap_or(loopback),
            shards: value(&draft.shards).map(TryInto::try_into).transpose().ok()?,
            metrics,
            is_live,
            realtime: match &draft.realtime {
                Some(draft) => Some(draft.finish()?),
                None => None,
            },
            retention: draft.retention.finish(),
            allow_legacy: value(&draft.allow_legacy).unwrap_or(false),
        },
        keys: draft.keys.as_ref().map(|keys| folder.join(&keys.value)),
    })
}

fn cell(draft: &CellDraft, inputs: &[Input]) -> Option<Cell> {
    let us = |ps: &Option<At<i64>>| Some(value(ps)?.unsigned_abs() / limits::PS_PER_US);
    let drop_outs = match (value(&draft.drop_out_interval), value(&draft.drop_out_duration)) {
        (Some(interval), Some(duration)) => {
            Some(DropOuts { interval_ps: interval.unsigned_abs(), duration_ps: duration.unsigned_abs() })
        }
        _ => None,
    };
    let superframe_ps = value(&draft.superframe)?.unsigned_abs();
    Some(Cell {
        name: draft.name.value.clone(),
        id: value(&draft.id)?.try_into().ok()?,
        superframe_us: us(&draft.superframe)?.try_into().ok()?,
        slot_us: us(&draft.slot)?.try_into().ok()?,
        guard_us: us(&draft.guard)?.try_into().ok()?,
        bus_hz: value(&draft.bus)?.unsigned_abs(),
        byte_gap_ps: value(&draft.byte_gap)?.unsigned_abs(),
        noise: Noise { bit_errors_ppb: value(&draft.bit_errors).unwrap_or(0).try_into().ok()?, drop_outs },
        nodes: draft.nodes.iter().map(|draft| node(draft, superframe_ps, inputs)).collect::<Option<_>>()?,
        computers: draft.computers.iter().map(ComputerDraft::finish).collect::<Option<_>>()?,
    })
}

fn node(draft: &NodeDraft, superframe_ps: u64, inputs: &[Input]) -> Option<Node> {
    let name = &draft.input.as_ref()?.value;
    let rate_hz = value(&draft.rate)?.unsigned_abs();
    let samples = schedule::samples(rate_hz, superframe_ps)?;
    let filters = value(&draft.filters).unwrap_or_default();
    let suite = value(&draft.suite).unwrap_or(schedule::DEFAULT_SUITE);
    let frame_bytes = schedule::frame_bytes(samples, suite);
    let (divider, clock_hz) = (value(&draft.divider)?, value(&draft.clock)?.unsigned_abs());
    let drift_ppb = value(&draft.drift).unwrap_or(0);
    Some(Node {
        id: value(&draft.id)?.try_into().ok()?,
        chip: value(&draft.chip)?,
        clock_hz: clock_hz.try_into().ok()?,
        drift_ppb: drift_ppb.try_into().ok()?,
        slot: value(&draft.slot)?.try_into().ok()?,
        input: inputs.iter().position(|input| input.name == *name)?,
        start_ps: value(&draft.start).unwrap_or(0).unsigned_abs(),
        gain_thousandths: value(&draft.gain)?.unsigned_abs(),
        offset_nv: value(&draft.offset)?.unsigned_abs(),
        reference_nv: value(&draft.reference)?.unsigned_abs(),
        channel: value(&draft.channel).unwrap_or(0).try_into().ok()?,
        wiring: Wiring::of(draft)?,
        rate_hz,
        samples_per_superframe: samples.try_into().ok()?,
        suite,
        divider: divider.try_into().ok()?,
        filters,
        counter_block: value(&draft.counter_block)?.try_into().ok()?,
        epoch_frames: value(&draft.epoch_frames).and_then(|frames| NonZeroU16::new(frames.try_into().ok()?)),
        frame_bytes: frame_bytes.try_into().ok()?,
        frame_ps: schedule::uplink_ps(frame_bytes * filters.byte_cycles(divider), clock_hz, drift_ppb),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ECG: &str = include_str!("../../../../deployments/ecg.toml");

    fn repository(file: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file)
    }

    #[test]
    fn the_example_can_be_run() {
        let path = repository("deployments/ecg.toml");
        let deployment = check(&path, ECG.into()).unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!(deployment.cells[0].nodes.len(), 4);
        assert_eq!(deployment.inputs[0].recording.samples.len(), 108_000);
        assert_eq!(deployment.cells[0].nodes[3].chip.name, "atmega328p");
        assert_eq!(deployment.cells[0].nodes[3].divider_log2(), 4);
        // 10 of header, 6 before the samples, 90 samples, the tag.
        assert_eq!(deployment.cells[0].nodes[0].frame_bytes, 10 + 6 + 2 * 90 + 16);
    }

    proptest! {
        #[test]
        fn any_text_has_an_answer(text in ".*") {
            let answer = check(Path::new("x.toml"), text);
            if let Err(problems) = answer {
                prop_assert!(problems.to_string().starts_with("error: x.toml:"));
            }
        }

        /// Damage to a sound deployment reaches deeper than noise does.
        #[test]
        fn any_damage_has_an_answer(at in 0..ECG.len(), removed in 0_usize..40, inserted in "[\"\\[\\]=a-z0-9. \n-]{0,6}") {
            let end = ECG.floor_char_boundary((at + removed).min(ECG.len()));
            let text = format!("{}{inserted}{}", &ECG[..ECG.floor_char_boundary(at)], &ECG[end..]);
            // The recording is not found from here: a problem, so that every answer but one is an error.
            let answer = check(Path::new("nowhere/x.toml"), text);
            if let Err(problems) = answer {
                let _ = (problems.to_string(), problems.json());
            }
        }
    }
}
