//! From records to channels: which samples lie side by side, at what rate, and what is missing between them.
//!
//! A channel is one input of one node in one kind of sample. Its records come in order of time; next to each other on one
//! grid they make a run, and between two runs there is a gap, which says what is missing. Owns that decision alone, without
//! files: what a format makes of it is the format's.
//!
//! Invariant: no two runs are joined. A record is part of a run only when its first sample has the index that the run's
//! next one would have, its instant lies on the run's grid, and it takes as many of that as the run.

use std::collections::BTreeMap;
use std::io;

use crate::export::Sink;
use crate::keys::Grid;
use crate::record::Record;
use crate::waveform::Kind;

/// What the name of a channel ends in whose samples anybody may have sent.
const UNAUTHENTICATED: &str = "/unauthenticated";

/// What names a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The cell.
    pub cell: u16,
    /// The node.
    pub node: u32,
    /// The input that the samples were converted from.
    pub input: u8,
    /// What one sample is.
    pub kind: Kind,
    /// Whether a tag says that they are the node's.
    pub is_authenticated: bool,
}

impl Key {
    /// The channel of a record.
    pub fn of(record: &Record) -> Key {
        let kind = record.waveform.format().kind;
        let is_authenticated = record.suite.row().is_authenticated();
        Key { cell: record.batch.cell, node: record.node, input: record.channel, kind, is_authenticated }
    }
}

/// What a code of a converter stands for: `scale * code + offset`, in `unit`.
#[derive(Clone, Debug, PartialEq)]
pub struct Meaning {
    /// Symbol of the unit.
    pub unit: String,
    /// Units for each code.
    pub scale: f64,
    /// What code 0 is, in units.
    pub offset: f64,
}

/// What is known of nodes beyond their records.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    /// Names of cells.
    pub cells: BTreeMap<u16, String>,
    /// When a node samples.
    pub grids: BTreeMap<u32, Grid>,
    /// What the codes of a node's inputs stand for.
    pub meanings: BTreeMap<(u32, u8), Meaning>,
}

/// A channel.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    /// What it is of.
    pub key: Key,
    /// Cell, node and input, and the kind of samples where they are no codes: `ward/2/0`, `ward/9/0/f32`. Its last part is
    /// `unauthenticated` where no tag says that they are the node's.
    pub name: String,
    /// What its samples stand for; `None` = themselves, in a unit that nobody told.
    pub meaning: Option<Meaning>,
    /// When its node samples, if that is known.
    pub grid: Option<Grid>,
}

impl Channel {
    fn new(key: Key, catalogue: &Catalogue) -> Channel {
        let cell = catalogue.cells.get(&key.cell).cloned().unwrap_or_else(|| key.cell.to_string());
        let mut name = format!("{cell}/{}/{}", key.node, key.input);
        if key.kind != Kind::Code {
            name = format!("{name}/{}", key.kind.name());
        }
        if !key.is_authenticated {
            name += UNAUTHENTICATED;
        }
        let meaning = catalogue.meanings.get(&(key.node, key.input)).cloned();
        let grid = catalogue.grids.get(&key.node).copied();
        Channel { key, name, meaning: meaning.filter(|_| key.kind == Kind::Code), grid }
    }

    /// The unit's symbol; empty when nobody told it.
    pub fn unit(&self) -> &str {
        self.meaning.as_ref().map_or("", |meaning| &meaning.unit)
    }

    /// Units for each step of a sample.
    pub fn scale(&self) -> f64 {
        self.meaning.as_ref().map_or(1.0, |meaning| meaning.scale)
    }

    /// What sample 0 is, in units.
    pub fn offset(&self) -> f64 {
        self.meaning.as_ref().map_or(0.0, |meaning| meaning.offset)
    }

    /// Samples a second on the grid that the node has today, if that is known. A run may have taken fewer of them.
    pub fn rate_hz(&self) -> Option<f64> {
        self.grid.and_then(|grid| Pace::Grid(grid).rate_hz())
    }

    /// What a sample stands for.
    pub fn value(&self, sample: f64) -> f64 {
        self.meaning.as_ref().map_or(sample, |meaning| meaning.scale * sample + meaning.offset)
    }
}

/// Samples that lie side by side on one grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Grid index of its first sample.
    pub first: u64,
    /// The instant of that, in picoseconds of cell time; `None` = beyond what is counted.
    pub sample_ps: Option<u64>,
    /// Its samples are every so manieth of the grid; at least 1.
    pub stride: u8,
    /// When the samples of its grid were taken.
    pub pace: Pace,
}

/// How time goes on within a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// On the grid that the node has today.
    Grid(Grid),
    /// On another one, known from the instants of its records: picoseconds from index to index.
    Step(f64),
    /// Nobody knows.
    Unknown,
}

impl Pace {
    fn rate_hz(self) -> Option<f64> {
        match self {
            Pace::Grid(grid) => {
                Some(f64::from(grid.samples_per_superframe.get()) * 1e12 / grid.superframe_ps as f64)
            }
            Pace::Step(step_ps) => Some(1e12 / step_ps),
            Pace::Unknown => None,
        }
    }
}

impl Run {
    /// Samples a second, if that is known.
    pub fn rate_hz(&self) -> Option<f64> {
        self.pace.rate_hz().map(|grid_hz| grid_hz / f64::from(self.stride))
    }

    /// The instant of a record's sample `offset`, in picoseconds of cell time, if that is known.
    pub fn instant_ps(&self, record: &Record, offset: u64) -> Option<u64> {
        let first_ps = known_ps(record.sample_ps);
        match self.pace {
            _ if offset == 0 => first_ps,
            Pace::Grid(grid) => known_ps(grid.instant_ps(record.index(offset))),
            Pace::Step(step_ps) => {
                let indexes = record.index(offset) - record.first;
                Some(first_ps?.saturating_add((indexes as f64 * step_ps) as u64))
            }
            Pace::Unknown => None,
        }
    }
}

fn known_ps(instant_ps: u64) -> Option<u64> {
    Some(instant_ps).filter(|&instant_ps| instant_ps != u64::MAX)
}

/// Why two runs are two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Samples are missing.
    Missing,
    /// The next run repeats indexes of the one before.
    Overlap,
    /// The node sampled on another grid, or took more or fewer of its samples.
    Grid,
}

impl Why {
    /// Its word in files.
    pub const fn name(self) -> &'static str {
        match self {
            Why::Missing => "missing",
            Why::Overlap => "overlap",
            Why::Grid => "grid",
        }
    }
}

/// What is between two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Why there is one.
    pub why: Why,
    /// The first grid index that is missing, or repeated; on another grid, the one that the run before would have had next.
    pub first: u64,
    /// Samples that are missing, or repeated; 0 when the grid is another one, whose indexes are none of this one.
    pub count: u64,
    /// When the run before ended, in picoseconds of cell time: the instant that its next sample would have had.
    pub from_ps: Option<u64>,
    /// The instant of the next run's first sample, in picoseconds of cell time.
    pub to_ps: Option<u64>,
}

/// Cuts records that come channel by channel, in order of time, into runs and gaps.
pub struct Cutter<'a> {
    catalogue: &'a Catalogue,
    state: Option<State>,
    /// A record at index 0, which is at instant 0 on any grid: the next one says which.
    held: Option<Record>,
}

struct State {
    channel: Channel,
    run: Run,
    steps: Option<Steps>,
    /// The grid index that the run's next sample would have, and its instant.
    next: u64,
    next_ps: Option<u64>,
}

impl<'a> Cutter<'a> {
    /// Cuts what this is known of.
    pub fn new(catalogue: &'a Catalogue) -> Cutter<'a> {
        Cutter { catalogue, state: None, held: None }
    }

    /// Tells `sink` what the next record is part of, and the record.
    ///
    /// # Errors
    /// What the sink says.
    pub fn take(&mut self, record: Record, sink: &mut dyn Sink) -> io::Result<()> {
        if let Some(held) = self.held.take() {
            self.tell(&held, Some(&record).filter(|record| Key::of(record) == Key::of(&held)), sink)?;
        }
        if (record.first, record.sample_ps) == (0, 0) {
            self.held = Some(record);
            Ok(())
        } else {
            self.tell(&record, None, sink)
        }
    }

    /// Tells `sink` of what was held back.
    ///
    /// # Errors
    /// What the sink says.
    pub fn finish(mut self, sink: &mut dyn Sink) -> io::Result<()> {
        self.held.take().map_or(Ok(()), |held| self.tell(&held, None, sink))
    }

    /// Tells of a record; `next` is the one of its channel that says on which grid it is.
    fn tell(&mut self, record: &Record, next: Option<&Record>, sink: &mut dyn Sink) -> io::Result<()> {
        let key = Key::of(record);
        if self.state.as_ref().is_none_or(|state| state.channel.key != key) {
            let channel = Channel::new(key, self.catalogue);
            sink.channel(&channel)?;
            let (run, steps) = begin(&channel, record, next);
            sink.run(&run)?;
            self.state = Some(State { channel, run, steps, next: record.first, next_ps: None });
        } else if let Some(state) = &mut self.state {
            let (run, steps) = begin(&state.channel, record, next);
            match state.gap(record, &run, steps) {
                Some(gap) => {
                    sink.gap(&gap)?;
                    sink.run(&run)?;
                    (state.run, state.steps) = (run, steps);
                }
                None => state.steps = meet(state.steps, steps),
            }
        }
        sink.frame(record)?;
        let state = self.state.as_mut().expect("there is a channel by now");
        let count = record.waveform.len() as u64;
        state.next = record.index(count);
        state.next_ps = state.run.instant_ps(record, count);
        Ok(())
    }
}

impl State {
    /// What is between the run and `record`, which would begin `run`; `None` when it goes on.
    fn gap(&self, record: &Record, run: &Run, steps: Option<Steps>) -> Option<Gap> {
        let is_same_grid = match (self.run.pace, run.pace) {
            _ if self.run.stride != run.stride => false,
            (Pace::Grid(_), Pace::Grid(_)) => true,
            (Pace::Grid(_), _) | (_, Pace::Grid(_)) => false,
            _ => meet(self.steps, steps).is_some(),
        };
        let (from_ps, to_ps) = (self.next_ps, run.sample_ps);
        if !is_same_grid {
            return Some(Gap { why: Why::Grid, first: self.next, count: 0, from_ps, to_ps });
        }
        let (why, first) = match record.first.cmp(&self.next) {
            std::cmp::Ordering::Equal => return None,
            std::cmp::Ordering::Greater => (Why::Missing, self.next),
            std::cmp::Ordering::Less => (Why::Overlap, record.first),
        };
        let count = record.first.abs_diff(self.next).div_ceil(run.stride.into());
        Some(Gap { why, first, count, from_ps, to_ps })
    }
}

/// The run that begins with a record, and what its instants say of the grid; `next` is one that says more of that.
fn begin(channel: &Channel, record: &Record, next: Option<&Record>) -> (Run, Option<Steps>) {
    let teller = next.unwrap_or(record);
    let pace = match channel.grid.filter(|grid| grid.instant_ps(teller.first) == teller.sample_ps) {
        Some(grid) => Pace::Grid(grid),
        None => Steps::of(teller).and_then(Steps::middle_ps).map_or(Pace::Unknown, Pace::Step),
    };
    let steps = Steps::of(record);
    let Record { first, sample_ps, stride, .. } = *record;
    (Run { first, sample_ps: known_ps(sample_ps), stride, pace }, steps)
}

/// What a grid's step can be, as far as records tell: at least the first fraction of a picosecond and below the second.
///
/// Index 0 of a grid is at instant 0, and instants are rounded down: sample `i` of a grid with step `s` is at `t` when
/// `t <= i * s < t + 1`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Steps {
    low: (u128, u128),
    high: (u128, u128),
}

impl Steps {
    const ANY: Steps = Steps { low: (0, 1), high: (1 << 64, 1) };

    /// What one record says; `None` when it lies on no grid.
    fn of(record: &Record) -> Option<Steps> {
        let (index, instant_ps) = (u128::from(record.first), u128::from(record.sample_ps));
        match (index, known_ps(record.sample_ps)) {
            (_, None) | (0, Some(0)) => Some(Steps::ANY),
            (0, Some(_)) => None,
            (_, Some(_)) => Some(Steps { low: (instant_ps, index), high: (instant_ps + 1, index) }),
        }
    }

    fn middle_ps(self) -> Option<f64> {
        let [low, high] = [self.low, self.high].map(|(ps, index)| ps as f64 / index as f64);
        (self != Steps::ANY).then_some((low + high) / 2.0)
    }
}

/// The steps that agree with both, if there are any.
fn meet(a: Option<Steps>, b: Option<Steps>) -> Option<Steps> {
    let (a, b) = (a?, b?);
    let is_below = |x: (u128, u128), y: (u128, u128)| x.0 * y.1 < y.0 * x.1;
    let low = if is_below(a.low, b.low) { b.low } else { a.low };
    let high = if is_below(a.high, b.high) { a.high } else { b.high };
    is_below(low, high).then_some(Steps { low, high })
}
