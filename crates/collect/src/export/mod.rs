//! Stored waveforms as files of the programs that people use: TDMS, HDF5, Parquet and CSV.
//!
//! The story:
//! 1. [`Export::push`] takes records in any order and sorts them by channel and time ([`sort`]), in as much memory as the
//!    limits say, however large the store is;
//! 2. [`Cutter`] makes runs of them, and gaps between the runs ([`channel`]);
//! 3. a [`Sink`], one for each format, writes what it is told: [`csv`], [`parquet`], [`hdf5`], [`tdms`].
//!
//! Samples are written as they were stored, codes as codes, with what they stand for beside them. Where a format has no
//! empty value, an instant that nobody knows is `u64::MAX`, as in the record. Which records are wanted is [`crate::read`]'s,
//! when a file gets its name the caller's.

pub mod channel;
mod csv;
mod hdf5;
mod parquet;
mod sort;
mod tdms;

use std::io::{self, Write};
use std::path::Path;

pub use self::channel::{Catalogue, Channel, Cutter, Gap, Key, Meaning, Pace, Run, Why};
pub(crate) use self::sort::Sorter;

use crate::error::Error;
use crate::limits::SORT_BYTES_MAX;
use crate::record::{Body, Record};
use crate::waveform::Waveform;

/// What is told of each channel, in this order: the channel; then runs with gaps between them, each with its records.
pub trait Sink {
    /// A channel begins, and with it a run.
    fn channel(&mut self, channel: &Channel) -> io::Result<()>;
    /// The run before ends, and another one follows.
    fn gap(&mut self, gap: &Gap) -> io::Result<()>;
    /// A run begins.
    fn run(&mut self, run: &Run) -> io::Result<()>;
    /// More samples of the run.
    fn frame(&mut self, record: &Record) -> io::Result<()>;
    /// That was all.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// A format of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// National Instruments' measurements: LabVIEW, DIAdem.
    Tdms,
    /// Hierarchical data: MATLAB, h5py.
    Hdf5,
    /// Columns: Arrow, pandas, databases.
    Parquet,
    /// Lines of text.
    Csv,
}

/// One line of the table of formats.
struct Row {
    format: Format,
    name: &'static str,
    extensions: &'static [&'static str],
}

const FORMATS: [Row; 4] = [
    Row { format: Format::Tdms, name: "tdms", extensions: &["tdms"] },
    Row { format: Format::Hdf5, name: "hdf5", extensions: &["h5", "hdf5"] },
    Row { format: Format::Parquet, name: "parquet", extensions: &["parquet"] },
    Row { format: Format::Csv, name: "csv", extensions: &["csv"] },
];

impl Format {
    /// Every format.
    pub fn all() -> impl Iterator<Item = Format> {
        FORMATS.iter().map(|row| row.format)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        FORMATS[self as usize].name
    }

    /// The format of a file, by the end of its name.
    pub fn of_file(path: &Path) -> Option<Format> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        let row = FORMATS.iter().find(|row| row.extensions.contains(&extension.as_str()))?;
        Some(row.format)
    }

    /// Ends of names of files, for the words of an error.
    pub fn extensions() -> impl Iterator<Item = &'static str> {
        FORMATS.iter().flat_map(|row| row.extensions).copied()
    }
}

/// Where an export goes.
pub enum Target<'a> {
    /// To a file of this path, which is there.
    File(&'a Path, Box<dyn Write + Send>),
    /// To what has no path, or whose bytes come only once: a pipe.
    Stream(Box<dyn Write + Send>),
}

/// What writes a format; `None` for one that must be able to go back, and a target that cannot.
///
/// # Errors
/// What the system says.
pub fn sink(format: Format, target: Target<'_>) -> io::Result<Option<Box<dyn Sink>>> {
    let sink: Box<dyn Sink> = match (format, target) {
        (Format::Hdf5, Target::File(path, _)) => Box::new(hdf5::Hdf5::create(path)?),
        (Format::Hdf5, Target::Stream(_)) => return Ok(None),
        (Format::Tdms, Target::File(_, writer) | Target::Stream(writer)) => Box::new(tdms::Tdms::new(writer)),
        (Format::Csv, Target::File(_, writer) | Target::Stream(writer)) => Box::new(csv::Csv::new(writer)?),
        (Format::Parquet, Target::File(_, writer) | Target::Stream(writer)) => {
            Box::new(parquet::Parquet::new(writer)?)
        }
    };
    Ok(Some(sink))
}

/// Records on their way to a file.
pub struct Export {
    sorter: Sorter,
    records: u64,
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Channels.
    pub channels: u64,
    /// Runs of all channels.
    pub runs: u64,
    /// Gaps of all channels.
    pub gaps: u64,
    /// Records.
    pub records: u64,
    /// Samples.
    pub samples: u64,
}

impl Export {
    /// An export that puts aside in `folder` what memory does not hold: samples in clear, as in the file itself.
    pub fn new(folder: &Path) -> Export {
        Export::holding(folder, SORT_BYTES_MAX)
    }

    /// [`new`](Self::new) with another limit of memory in bytes.
    pub fn holding(folder: &Path, held_bytes_max: usize) -> Export {
        Export { sorter: Sorter::new(folder, held_bytes_max), records: 0 }
    }

    /// Takes a record.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn push(&mut self, record: Record) -> Result<(), Error> {
        let mut entry = place(&record).to_vec();
        entry.extend_from_slice(&Body::Frame(record).to_bytes());
        self.records += 1;
        self.sorter.push(entry).map_err(Error::io("put aside", "records"))
    }

    /// Records so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Writes all of them, and tells `written` how many there are so far.
    ///
    /// # Errors
    /// [`Error::NothingWanted`] or [`Error::Io`].
    pub fn finish(
        self,
        catalogue: &Catalogue,
        sink: Box<dyn Sink>,
        mut written: impl FnMut(u64),
    ) -> Result<Written, Error> {
        if self.records == 0 {
            return Err(Error::NothingWanted);
        }
        let mut counted = Counted { sink, written: Written::default() };
        let mut cutter = Cutter::new(catalogue);
        for entry in self.sorter.finish().map_err(Error::io("sort", "records"))? {
            let entry = entry.map_err(Error::io("sort", "records"))?;
            let Some(Body::Frame(record)) = Body::parse(&entry[PLACE_BYTES..]) else {
                unreachable!("a record is read as it was written");
            };
            cutter.take(record, &mut counted).map_err(Error::io("write", "export"))?;
            written(counted.written.records);
        }
        cutter.finish(&mut counted).map_err(Error::io("write", "export"))?;
        written(counted.written.records);
        counted.sink.finish().map_err(Error::io("write", "export"))?;
        Ok(counted.written)
    }
}

/// Counts what its sink is told.
struct Counted {
    sink: Box<dyn Sink>,
    written: Written,
}

impl Sink for Counted {
    fn channel(&mut self, channel: &Channel) -> io::Result<()> {
        self.written.channels += 1;
        self.sink.channel(channel)
    }

    fn gap(&mut self, gap: &Gap) -> io::Result<()> {
        self.written.gaps += 1;
        self.sink.gap(gap)
    }

    fn run(&mut self, run: &Run) -> io::Result<()> {
        self.written.runs += 1;
        self.sink.run(run)
    }

    fn frame(&mut self, record: &Record) -> io::Result<()> {
        self.written.records += 1;
        self.written.samples += record.waveform.len() as u64;
        self.sink.frame(record)
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.sink.finish()
    }
}

/// Bytes of [`place`].
const PLACE_BYTES: usize = 2 + 4 + 1 + 1 + 8 + 8 + 1 + 4;

/// Where a record belongs in an export: by channel, then by time.
fn place(record: &Record) -> [u8; PLACE_BYTES] {
    let key = Key::of(record);
    let mut place = [0; PLACE_BYTES];
    place[..2].copy_from_slice(&key.cell.to_be_bytes());
    place[2..6].copy_from_slice(&key.node.to_be_bytes());
    place[6..8].copy_from_slice(&[key.input, key.kind as u8 | u8::from(!key.is_authenticated) << 7]);
    place[8..16].copy_from_slice(&record.sample_ps.to_be_bytes());
    place[16..24].copy_from_slice(&record.first.to_be_bytes());
    place[24] = record.epoch;
    place[25..].copy_from_slice(&record.counter.to_be_bytes());
    place
}

/// The bytes of samples, the least significant first.
fn little_endian(waveform: &Waveform) -> Vec<u8> {
    let mut bytes = waveform.bytes().to_vec();
    if waveform.format().is_big_endian {
        bytes.chunks_exact_mut(waveform.format().sample_bytes()).for_each(<[u8]>::reverse);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_formats() {
        for (number, row) in FORMATS.iter().enumerate() {
            assert_eq!(row.format as usize, number);
        }
        assert_eq!(Format::of_file(Path::new("a/b.H5")), Some(Format::Hdf5));
        assert_eq!(Format::of_file(Path::new("csv")), None);
    }
}
