//! What a simulated cell did, kept while it runs and written down at its end: sampling instants, the timeline of bus
//! and processors, and the rows of cell time.
//!
//! The samples file is the truth that stored samples are later compared with: it comes from the simulator's
//! sample-and-hold, not from anything that the node says.

use super::deployment::{Cell as Plan, Node as Planned};
use super::layout::Layout;
use crate::error::Error;
use crate::limits::{PS_PER_US, TIMELINE_PS};
use crate::toolchain::Image as Built;
use cell::clock::Picoseconds;
use cell::decision::{FILTERS, REASONS};
use cell::energy::{Draw, SUPPLY_V};
use cell::log::Phase;
use cell::node::Node;
use cell::{Cell, Superframe, Transmission};
use isa::avr::Image;
use report::row::{Clock, Experiment, Row};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::Path;

/// A sample that a node's converter took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// When its sample-and-hold closed, in cell time.
    pub instant_ps: Picoseconds,
    /// What it converted to.
    pub code: u16,
}

/// A frame that the gateway received.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Received {
    /// Its superframe.
    pub superframe: u32,
    /// Its slot.
    pub slot: u8,
    /// Its bytes, in hex.
    pub bytes: String,
}

/// How a run was numbered, and the first moments of bus and processors, for a picture.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    /// The number of the run's first superframe, which begins at 0 of cell time.
    pub superframe: u32,
    /// Who held the bus: a node's id, 0 for the gateway; from, until.
    pub bus: Vec<(u32, Picoseconds, Picoseconds)>,
    /// What each node did: phase, from, until.
    pub nodes: BTreeMap<u32, Vec<(String, Picoseconds, Picoseconds)>>,
}

/// The record of a run.
#[derive(Default)]
pub struct Journal {
    samples: BTreeMap<u32, Vec<Sample>>,
    received: Vec<Received>,
    bus: Vec<Transmission>,
    first: Option<u32>,
    superframes: u64,
    frames: u64,
    bytes: u64,
    busy_ps: Picoseconds,
    contentions: u64,
    downlinks: u64,
    downlinks_dropped: u64,
    acknowledged: BTreeMap<u32, u32>,
    /// By node: how often which filter was chosen for which reason.
    decisions: BTreeMap<u32, [[u64; REASONS.len()]; FILTERS.len()]>,
}

/// Where the program keeps what came down, and how far into that what was acknowledged (`firmware/node/downlink.h`).
const DOWNLINK: (&str, u16) = ("downlink", 4);

impl Journal {
    /// Takes what happened in a superframe.
    pub fn take(&mut self, cell: &mut Cell, superframe: &Superframe) {
        self.first.get_or_insert(superframe.number);
        self.superframes += 1;
        self.frames += superframe.received.len() as u64;
        self.bytes += superframe.received.iter().map(|received| received.bytes.len() as u64).sum::<u64>();
        self.received.extend(superframe.received.iter().map(|received| Received {
            superframe: received.superframe,
            slot: received.slot,
            bytes: received.bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        }));
        self.contentions += superframe.contentions.len() as u64;
        for transmission in &superframe.transmissions {
            self.busy_ps += transmission.end_ps - transmission.start_ps;
            if transmission.start_ps < TIMELINE_PS.end {
                self.bus.push(*transmission);
            }
        }
        for node in cell.nodes_mut() {
            for decision in node.log_mut().take_decisions().into_iter().flatten() {
                let counts = self.decisions.entry(node.id).or_default();
                counts[decision.filter][decision.reason] += 1;
            }
            let clock = node.clock;
            let taken = node.log_mut().take_samples();
            let samples = self.samples.entry(node.id).or_default();
            samples.extend(
                taken.iter().map(|sample| Sample { instant_ps: clock.at(sample.cycle), code: sample.code }),
            );
        }
    }

    /// Counts a downlink frame that the gateway took, or had no room for.
    pub fn downlink(&mut self, taken: bool) {
        self.downlinks += u64::from(taken);
        self.downlinks_dropped += u64::from(!taken);
    }

    /// Looks up in the memory of a node, which runs `image`, how far the server has got, as the node knows.
    ///
    /// # Errors
    /// An image that is none.
    pub fn acknowledged(&mut self, node: &Node, image: &Built) -> Result<(), Error> {
        let Some(symbol) = Image::parse(&image.elf)?.symbol(DOWNLINK.0).map(|symbol| symbol.address as u16)
        else {
            return Ok(());
        };
        let byte = |at: u16| node.chip().memory(symbol + DOWNLINK.1 + at).unwrap_or(0);
        self.acknowledged.insert(node.id, u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)]));
        Ok(())
    }

    /// Writes samples and timeline to their places.
    ///
    /// # Errors
    /// The environment's.
    pub fn write(&self, cell: &Cell, plan: &Plan, layout: &Layout) -> Result<(), Error> {
        for (node, samples) in &self.samples {
            write_lines(&layout.samples(plan.id, *node), samples)?;
        }
        write_lines(&layout.received(plan.id), &self.received)?;
        let path = layout.timeline(plan.id);
        let write = || {
            let mut file = BufWriter::new(File::create(&path)?);
            serde_json::to_writer(&mut file, &self.timeline(cell))?;
            file.flush()
        };
        write().map_err(|cause| Error::io("write", &path, cause))
    }

    fn timeline(&self, cell: &Cell) -> Timeline {
        let in_picture = |start: u64, end: u64| start < TIMELINE_PS.end && end > TIMELINE_PS.start;
        let mut timeline = Timeline { superframe: self.first.unwrap_or(0), ..Timeline::default() };
        for transmission in &self.bus {
            if in_picture(transmission.start_ps, transmission.end_ps) {
                let node = transmission.node.map_or(0, |index| cell.nodes()[index].id);
                timeline.bus.push((node, transmission.start_ps, transmission.end_ps));
            }
        }
        for node in cell.nodes() {
            let spans = node.log().spans().iter().map(|span| {
                (span.phase.name().to_owned(), node.clock.at(span.start), node.clock.at(span.end))
            });
            timeline
                .nodes
                .insert(node.id, spans.filter(|(_, start, end)| in_picture(*start, *end)).collect());
        }
        timeline
    }

    /// The rows of cell time.
    pub fn rows(&self, cell: &Cell, plan: &Plan, name: &str) -> Vec<Row> {
        let experiment = Experiment::new(name, "selvedge node run");
        let case = format!("cell {}", plan.name);
        let count = |metric, value: u64| experiment.row(&case, metric, value, "", Clock::None);
        let losses = cell.losses();
        let elapsed_ps = self.superframes * u64::from(plan.superframe_us) * PS_PER_US;
        let mut rows = vec![
            count("superframes", self.superframes),
            count("frames received", self.frames),
            experiment.row(&case, "frame bytes received", self.bytes, "B", Clock::None),
            experiment.row(&case, "bus use", percent(self.busy_ps, elapsed_ps), "%", Clock::None),
            count("contentions", self.contentions),
            count("empty slots", losses.empty_slots),
            count("torn frames", losses.torn),
            count("oversize frames", losses.oversize),
            count("downlinks", self.downlinks),
            count("downlinks dropped", self.downlinks_dropped),
        ];
        for node in cell.nodes() {
            let planned =
                plan.nodes.iter().find(|planned| planned.id == node.id).expect("the plan made the node");
            rows.extend(self.node_rows(&experiment, node, planned));
            rows.extend(energy_rows(&experiment, node, planned));
            rows.extend(self.filter_rows(&experiment, node.id));
        }
        rows
    }

    /// How often the node's controller chose each of its filters, and why; why it chose none, too.
    fn filter_rows(&self, experiment: &Experiment, node: u32) -> Vec<Row> {
        let case = format!("node {node}");
        let Some(counts) = self.decisions.get(&node) else { return Vec::new() };
        let mut rows = Vec::new();
        for (filter, (name, reasons)) in FILTERS.iter().zip(counts).enumerate() {
            let mut row =
                |metric, count: u64| rows.push(experiment.row(&case, metric, count, "", Clock::None));
            if filter > 0 {
                row(format!("filter {name}"), reasons.iter().sum());
            }
            for (reason, count) in REASONS.iter().zip(reasons).filter(|(_, count)| **count > 0) {
                row(format!("filter {name}: {reason}"), *count);
            }
        }
        rows
    }

    fn node_rows(&self, experiment: &Experiment, node: &Node, planned: &Planned) -> Vec<Row> {
        let case = format!("node {}", node.id);
        let (log, chip) = (node.log(), node.chip());
        let samples = self.samples.get(&node.id).map_or(0, Vec::len) as u64;
        let awake = percent(chip.awake_cycles(), chip.cycle().max(1));
        let mut rows = vec![
            experiment.row(&case, "samples taken", samples, "", Clock::None),
            experiment.row(&case, "awake share", awake, "%", Clock::None),
        ];
        if let Some(count) = self.acknowledged.get(&node.id) {
            rows.push(experiment.row(&case, "frames acknowledged", *count, "", Clock::None));
        }
        let sealing = log.work(Phase::Sealing);
        if sealing.times > 0 {
            let per_byte = sealing.cycles as f64 / (sealing.times * plaintext_bytes(planned)) as f64;
            rows.push(experiment.row(&case, "cycles per sealed byte", per_byte, "cycles/B", Clock::Cell));
        }
        for phase in [
            Phase::Sampling,
            Phase::Sealing,
            Phase::Transmitting,
            Phase::Weaving,
            Phase::Receiving,
            Phase::Verifying,
        ] {
            let share = percent(log.phase_cycles(phase), chip.cycle().max(1));
            rows.push(experiment.row(&case, format!("{} share", phase.name()), share, "%", Clock::None));
        }
        rows
    }
}

/// What the node's core took, without its radio: its cycles are measured, its currents are its datasheet's.
fn energy_rows(experiment: &Experiment, node: &Node, planned: &Planned) -> Vec<Row> {
    let (case, chip) = (format!("node {}", node.id), node.chip());
    let mut rows = vec![
        experiment.row(&case, "cycles awake", chip.awake_cycles(), "cycles", Clock::Cell),
        experiment.row(&case, "cycles asleep", chip.cycle() - chip.awake_cycles(), "cycles", Clock::Cell),
    ];
    let draw = Draw::of(chip.profile().name).expect("every chip's currents are known");
    let sourced = experiment.and_from(draw.source);
    let energy_uj = draw.microjoules(chip, SUPPLY_V, f64::from(planned.clock_hz));
    rows.push(sourced.row(&case, format!("energy at {SUPPLY_V} V"), energy_uj, "uJ", Clock::None));
    let frames = [Phase::Transmitting, Phase::Weaving].map(|phase| node.log().work(phase).times);
    let sent = frames.iter().sum::<u64>() * plaintext_bytes(planned);
    if sent > 0 {
        let per_byte = energy_uj / sent as f64;
        rows.push(sourced.row(&case, "energy per byte sealed and sent", per_byte, "uJ/B", Clock::None));
    }
    rows
}

/// What a frame of samples seals, in bytes.
fn plaintext_bytes(planned: &Planned) -> u64 {
    collect::limits::SAMPLES_HEADER_BYTES as u64 + 2 * u64::from(planned.samples_per_superframe)
}

fn percent(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole as f64
}

fn write_lines<T: Serialize>(path: &Path, lines: &[T]) -> Result<(), Error> {
    let write = || -> Result<(), csv::Error> {
        let mut file = csv::Writer::from_path(path)?;
        for line in lines {
            file.serialize(line)?;
        }
        Ok(file.flush()?)
    };
    write().map_err(|cause| Error::io("write", path, cause.into()))
}

/// Reads the [`Sample`]s or [`Received`] frames of a run.
///
/// # Errors
/// The environment's, and a file that is not one of ours.
pub fn read_lines<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<Vec<T>, Error> {
    let read = || csv::Reader::from_path(path)?.deserialize().collect::<Result<Vec<T>, csv::Error>>();
    read().map_err(|cause| Error::io("read", path, cause.into()))
}

/// Reads a timeline.
///
/// # Errors
/// As [`read_lines`].
pub fn read_timeline(path: &Path) -> Result<Timeline, Error> {
    let read = || Ok(serde_json::from_reader(BufReader::new(File::open(path)?))?);
    read().map_err(|cause: std::io::Error| Error::io("read", path, cause))
}
