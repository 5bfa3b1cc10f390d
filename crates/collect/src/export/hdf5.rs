//! HDF5: a group for each channel, with its samples, and tables of what they are.
//!
//! ```text
//! /ward/2/0            attributes name, cell, node, input, format, unit, scale, offset;
//!                      sample_rate_hz where the node's grid is known
//!   samples            all runs one behind the other, as they were stored; unit, scale and offset here, too
//!   runs               row, first, stride, count, sample_ps, sample_rate_hz: which rows of samples are side by side,
//!                      as every so manieth of the grid
//!   gaps               row, first, count, from_ps, to_ps, why: what is missing before a row of samples
//!   frames             row, first, count, sample_ps, uncertainty_ns, epoch, counter, arrived_ns: as they were stored
//! ```
//! A program cuts `samples` by `runs`: a dataset for each run would be thousands where a bus is noisy, and one that is filled
//! up at the gaps would show samples that nobody took. Nothing is empty in HDF5: `sample_rate_hz` is a NaN where it is not
//! known, an instant `2^64 - 1`, an uncertainty `2^32 - 1`.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use hdf5_pure::{
    AttrValue, CharacterSet, CompoundTypeBuilder, Dataset, Datatype, Error, File, FileAccessProperties,
    FileBuilder, MaxExtent, StringPadding, SyncPolicy, make_f32_type, make_f64_type, make_i16_type,
    make_i32_type, make_u16_type,
};

use super::{Channel, Gap, Run, Sink, little_endian};
use crate::limits::EXPORT_CHUNK_BYTES;
use crate::record::Record;
use crate::waveform::Kind;

/// Bytes of the longest word of a gap.
const WHY_BYTES: usize = 8;

/// Writes HDF5.
pub(super) struct Hdf5 {
    file: File,
    groups: BTreeSet<String>,
    open: Option<Open>,
}

/// The channel that is being written.
struct Open {
    samples: Table,
    runs: Table,
    gaps: Table,
    frames: Table,
    /// The run that has not ended.
    run: Option<Run>,
    /// Its first row.
    run_row: u64,
    /// Rows of samples so far.
    rows: u64,
}

/// A dataset that grows by whole chunks.
struct Table {
    dataset: Dataset,
    row_bytes: usize,
    held: Vec<u8>,
}

impl Table {
    fn push(&mut self, row: &[u8]) -> io::Result<()> {
        self.held.extend_from_slice(row);
        let chunk_bytes = self.row_bytes * chunk_rows(self.row_bytes) as usize;
        let whole = self.held.len() / chunk_bytes * chunk_bytes;
        if whole > 0 {
            self.dataset.append_raw(&self.held[..whole]).map_err(fault)?;
            self.held.drain(..whole);
        }
        Ok(())
    }

    fn end(mut self) -> io::Result<()> {
        if self.held.is_empty() { Ok(()) } else { self.dataset.append_raw(&self.held).map_err(fault) }
    }
}

/// Rows of a chunk.
fn chunk_rows(row_bytes: usize) -> u64 {
    (EXPORT_CHUNK_BYTES / row_bytes) as u64
}

fn fault(error: Error) -> io::Error {
    io::Error::other(error)
}

/// What a sample is, and its bytes.
fn sample_type(kind: Kind) -> Datatype {
    match kind {
        Kind::Code => make_u16_type(),
        Kind::I16 => make_i16_type(),
        Kind::I32 => make_i32_type(),
        Kind::F32 => make_f32_type(),
        Kind::F64 => make_f64_type(),
    }
}

fn runs_type() -> CompoundTypeBuilder {
    let counted = ["row", "first", "stride", "count", "sample_ps"];
    let table = counted.into_iter().fold(CompoundTypeBuilder::new(), |table, name| table.u64_field(name));
    table.f64_field("sample_rate_hz")
}

fn gaps_type() -> CompoundTypeBuilder {
    let counted = ["row", "first", "count", "from_ps", "to_ps"];
    let table = counted.into_iter().fold(CompoundTypeBuilder::new(), |table, name| table.u64_field(name));
    let (padding, charset) = (StringPadding::NullPad, CharacterSet::Ascii);
    table.field("why", Datatype::String { size: WHY_BYTES as u32, padding, charset })
}

fn frames_type() -> CompoundTypeBuilder {
    let table = CompoundTypeBuilder::new().u64_field("row").u64_field("first").u32_field("count");
    let table = table.u64_field("sample_ps").u32_field("uncertainty_ns");
    table.u8_field("epoch").u32_field("counter").u64_field("arrived_ns")
}

impl Hdf5 {
    /// Begins the file at `path`, whatever is in it.
    pub(super) fn create(path: &Path) -> io::Result<Hdf5> {
        FileBuilder::new().write(path).map_err(fault)?;
        // The file has no name before it is whole and synced: what is half-written need not be durable.
        let access = FileAccessProperties::new().with_sync_policy(SyncPolicy::OnClose);
        let file = File::open_rw_with_options(path, access).map_err(fault)?;
        Ok(Hdf5 { file, groups: BTreeSet::new(), open: None })
    }

    /// Makes the group of a channel and those above it, and its empty tables.
    fn begin(&mut self, channel: &Channel) -> Result<Open, Error> {
        let (above, _) = channel.name.rsplit_once('/').expect("a channel is of a node");
        let ends = above.match_indices('/').map(|(end, _)| end).chain([above.len()]);
        for path in ends.map(|end| &above[..end]) {
            if self.groups.insert(path.to_owned()) {
                self.file.root().create_group(path)?;
            }
        }
        let attributes = attributes(channel);
        if self.groups.insert(channel.name.clone()) {
            self.file.root().create_group(&channel.name)?;
        }
        self.file.commit()?;
        let group = self.file.group(&channel.name)?;
        for (name, value) in &attributes {
            group.set_attr(name, value.clone())?;
        }
        let kinds = [
            ("samples", sample_type(channel.key.kind)),
            ("runs", runs_type().build()?),
            ("gaps", gaps_type().build()?),
            ("frames", frames_type().build()?),
        ];
        for (name, kind) in &kinds {
            group.create_dataset(name, |dataset| {
                let chunk = chunk_rows(kind.type_size() as usize);
                dataset.with_raw_data(kind.clone(), Vec::new(), 0).with_shape(&[0]);
                dataset.with_maxshape(&[MaxExtent::Unlimited]).with_chunks(&[chunk]);
                dataset.with_shuffle().with_deflate(1);
                for (name, value) in attributes.iter().filter(|_| *name == "samples") {
                    dataset.set_attr(name, value.clone());
                }
            })?;
        }
        self.file.commit()?;
        let table = |(name, kind): &(&str, Datatype)| {
            let dataset = self.file.dataset(&format!("{}/{name}", channel.name))?;
            Ok::<_, Error>(Table { dataset, row_bytes: kind.type_size() as usize, held: Vec::new() })
        };
        let [samples, runs, gaps, frames] = [0, 1, 2, 3].map(|place| table(&kinds[place]));
        Ok(Open {
            samples: samples?,
            runs: runs?,
            gaps: gaps?,
            frames: frames?,
            run: None,
            run_row: 0,
            rows: 0,
        })
    }

    fn end(&mut self) -> io::Result<()> {
        let Some(mut open) = self.open.take() else { return Ok(()) };
        open.end_run()?;
        let Open { samples, runs, gaps, frames, .. } = open;
        [samples, runs, gaps, frames].into_iter().try_for_each(Table::end)
    }
}

/// What a channel is.
fn attributes(channel: &Channel) -> Vec<(&'static str, AttrValue)> {
    let text = |text: &str| AttrValue::String(text.to_owned());
    let mut attributes = vec![
        ("name", text(&channel.name)),
        ("cell", AttrValue::U16(channel.key.cell)),
        ("node", AttrValue::U32(channel.key.node)),
        ("input", AttrValue::U8(channel.key.input)),
        ("format", text(channel.key.kind.name())),
        ("unit", text(channel.unit())),
        ("scale", AttrValue::F64(channel.scale())),
        ("offset", AttrValue::F64(channel.offset())),
    ];
    let rate_hz = channel.rate_hz().map(AttrValue::F64);
    attributes.extend(rate_hz.map(|rate_hz| ("sample_rate_hz", rate_hz)));
    attributes
}

impl Open {
    fn end_run(&mut self) -> io::Result<()> {
        let Some(run) = self.run.take() else { return Ok(()) };
        let count = self.rows - self.run_row;
        let mut row = Vec::new();
        let sample_ps = run.sample_ps.unwrap_or(u64::MAX);
        for field in [self.run_row, run.first, run.stride.into(), count, sample_ps] {
            row.extend_from_slice(&field.to_le_bytes());
        }
        row.extend_from_slice(&run.rate_hz().unwrap_or(f64::NAN).to_le_bytes());
        self.run_row = self.rows;
        self.runs.push(&row)
    }
}

impl Sink for Hdf5 {
    fn channel(&mut self, channel: &Channel) -> io::Result<()> {
        self.end()?;
        self.open = Some(self.begin(channel).map_err(fault)?);
        Ok(())
    }

    fn gap(&mut self, gap: &Gap) -> io::Result<()> {
        let open = self.open.as_mut().expect("a gap is of a channel");
        let mut row = Vec::new();
        let instants = [gap.from_ps, gap.to_ps].map(|instant_ps| instant_ps.unwrap_or(u64::MAX));
        for field in [open.rows, gap.first, gap.count, instants[0], instants[1]] {
            row.extend_from_slice(&field.to_le_bytes());
        }
        let mut why = [0; WHY_BYTES];
        why[..gap.why.name().len()].copy_from_slice(gap.why.name().as_bytes());
        row.extend_from_slice(&why);
        open.gaps.push(&row)
    }

    fn run(&mut self, run: &Run) -> io::Result<()> {
        let open = self.open.as_mut().expect("a run is of a channel");
        open.end_run()?;
        open.run = Some(run.clone());
        Ok(())
    }

    fn frame(&mut self, record: &Record) -> io::Result<()> {
        let open = self.open.as_mut().expect("a record is of a channel");
        let count = record.waveform.len();
        let mut row = Vec::new();
        row.extend_from_slice(&open.rows.to_le_bytes());
        row.extend_from_slice(&record.first.to_le_bytes());
        row.extend_from_slice(&(count as u32).to_le_bytes());
        row.extend_from_slice(&record.sample_ps.to_le_bytes());
        row.extend_from_slice(&record.uncertainty_ns.to_le_bytes());
        row.push(record.epoch);
        row.extend_from_slice(&record.counter.to_le_bytes());
        row.extend_from_slice(&record.arrived_ns.to_le_bytes());
        open.frames.push(&row)?;
        open.rows += count as u64;
        open.samples.push(&little_endian(&record.waveform))
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.end()?;
        self.file.close().map_err(fault)
    }
}
