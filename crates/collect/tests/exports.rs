//! Exports, opened by the software that people use, against what was stored; and any records, by libraries of ours.
//!
//! npTDMS, h5py and pyarrow are in `target/python`, where `scripts/install.sh` puts them.

mod exported;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::Command;

use cipher::Suite;
use collect::batch::BatchId;
use collect::error::Error;
use collect::export::{Catalogue, Export, Format, Meaning, Target, Written, sink};
use collect::keys::Grid;
use collect::limits::Limits;
use collect::read::logs::Logs;
use collect::read::{Filter, read};
use collect::record::Record;
use collect::waveform::{Format as Samples, Kind, Waveform};
use exported::{Log, grid, keys, sample, waveform};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Samples of a frame.
const FRAME: u64 = 90;
/// Where each frame of the tests begins in time.
const SUPERFRAME_PS: u64 = 250_000_000_000;
const ARRIVED_NS: u64 = 1_700_000_000_000_000_000;

/// Frames of one node that lie side by side.
#[derive(Clone, Copy)]
struct Stretch {
    channel: &'static str,
    cell: u16,
    node: u32,
    input: u8,
    format: Samples,
    grid: Grid,
    /// Grid index of the first sample.
    first: u64,
    frames: u64,
    /// Epoch and counter of the first frame.
    from: (u8, u32),
    /// Every so manieth sample of the grid.
    stride: u8,
}

impl Stretch {
    fn records(&self) -> impl Iterator<Item = Record> + '_ {
        (0..self.frames).map(|frame| {
            let first = self.first + frame * FRAME;
            let indexes = (first..first + FRAME).step_by(self.stride.into());
            let values: Vec<f64> = indexes.map(|index| sample(self.node, self.format.kind, index)).collect();
            let counter = self.from.1 + frame as u32;
            Record {
                node: self.node,
                epoch: self.from.0,
                counter,
                suite: Suite::AsconAead128,
                batch: BatchId { cell: self.cell, spool: 5, number: 6 },
                superframe: counter,
                slot: 1,
                received_ps: 0,
                arrived_ns: ARRIVED_NS + first,
                first,
                sample_ps: self.grid.instant_ps(first),
                uncertainty_ns: if self.node == 3 { u32::MAX } else { 40 + self.node },
                channel: self.input,
                stride: self.stride,
                waveform: waveform(self.format, &values),
            }
        })
    }

    /// What is expected of it as a run that goes on over `more`.
    fn run(&self, more: u64, catalogue: &Catalogue) -> Value {
        let indexes = (self.first..self.first + (self.frames + more) * FRAME).step_by(self.stride.into());
        let grid_hz =
            f64::from(self.grid.samples_per_superframe.get()) * 1e12 / self.grid.superframe_ps as f64;
        let raw: Vec<f64> = indexes.clone().map(|index| sample(self.node, self.format.kind, index)).collect();
        let is_code = self.format.kind == Kind::Code;
        let meaning = catalogue.meanings.get(&(self.node, self.input)).filter(|_| is_code);
        let (scale, offset) = meaning.map_or((1.0, 0.0), |meaning| (meaning.scale, meaning.offset));
        let values = raw.iter().map(|&value| if meaning.is_some() { scale * value + offset } else { value });
        json!({
            "channel": self.channel, "first": self.first, "sample_ps": self.grid.instant_ps(self.first),
            "rate": grid_hz / f64::from(self.stride),
            "unit": meaning.map_or("", |meaning| &meaning.unit), "scale": bits(scale), "offset": bits(offset),
            "values": values.map(bits).collect::<Vec<_>>(),
            "raw": raw.into_iter().map(bits).collect::<Vec<_>>(),
            "instants": indexes.map(|index| self.grid.instant_ps(index)).collect::<Vec<_>>(),
        })
    }
}

fn bits(value: f64) -> String {
    value.to_le_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

const CODES: Samples = Samples::CODES;

fn of(kind: Kind, is_big_endian: bool) -> Samples {
    Samples { kind, is_big_endian }
}

/// What the nodes sampled, with what is missing between.
fn stretches() -> Vec<Stretch> {
    let bus = grid(SUPERFRAME_PS, FRAME as u32);
    // A second of 3,000 samples, and later one of 1,000.
    let (fast, slow) = (grid(1_000_000_000_000, 3000), grid(1_000_000_000_000, 1000));
    let one = Stretch {
        channel: "ward/1/0",
        cell: 7,
        node: 1,
        input: 0,
        format: CODES,
        grid: bus,
        first: 0,
        frames: 5,
        from: (0, 100),
        stride: 1,
    };
    let seven = Stretch { channel: "ward/7/0", node: 7, frames: 2, ..one };
    let two = Stretch { channel: "ward/2/0/f32", node: 2, format: of(Kind::F32, true), from: (0, 0), ..one };
    let three =
        Stretch { channel: "9/3/2/f64", cell: 9, node: 3, input: 2, format: of(Kind::F64, false), ..two };
    let five = Stretch { channel: "ward/5/0/i32", node: 5, format: of(Kind::I32, true), grid: fast, ..two };
    vec![
        one,
        // The epoch changes within a run.
        Stretch { first: 6 * FRAME, frames: 2, from: (0, 106), ..one },
        Stretch { first: 8 * FRAME, frames: 4, from: (1, 0), ..one },
        Stretch { first: 14 * FRAME, frames: 1, from: (1, 6), ..one },
        Stretch { channel: "ward/1/1", input: 1, first: 15 * FRAME, frames: 2, from: (1, 7), ..one },
        two,
        three,
        Stretch { first: 1000 * FRAME, from: (0, 9), ..three },
        Stretch { channel: "ward/4/0/i16", node: 4, format: of(Kind::I16, true), ..two },
        five,
        Stretch { grid: slow, first: 30_000, frames: 3, from: (0, 90), ..five },
        Stretch { channel: "ward/6/0", node: 6, frames: 1, ..one },
        Stretch { channel: "ward/6/0", node: 6, frames: 1, first: 45, from: (0, 200), ..one },
        // It is told to take every other sample.
        seven,
        Stretch { first: 2 * FRAME, frames: 3, from: (0, 102), stride: 2, ..seven },
        Stretch { first: 6 * FRAME, frames: 1, from: (0, 106), stride: 2, ..seven },
    ]
}

fn catalogue() -> Catalogue {
    let meaning = || Meaning { unit: "V".to_owned(), scale: 2.56 / 1024.0 / 300.0, offset: -1.28 / 300.0 };
    let bus = grid(SUPERFRAME_PS, FRAME as u32);
    Catalogue {
        cells: BTreeMap::from([(7, "ward".to_owned())]),
        // Nobody knows node 3; node 5 is at its last rate today.
        grids: [1, 2, 4, 6, 7]
            .map(|node| (node, bus))
            .into_iter()
            .chain([(5, grid(1_000_000_000_000, 1000))])
            .collect(),
        meanings: [(1, 0), (1, 1), (2, 0), (6, 0)].map(|input| (input, meaning())).into(),
    }
}

fn expected() -> Value {
    let (stretches, catalogue) = (stretches(), catalogue());
    // The second and the third stretch, four frames of another epoch, are one run.
    let places: [(usize, u64); 15] = [6, 7, 0, 1, 3, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15]
        .map(|place| (place, if place == 1 { 4 } else { 0 }));
    let bus = |index: u64| index * SUPERFRAME_PS / FRAME;
    let gap = |channel: &str, why: &str, first: u64, count: u64, from_ps: u64, to_ps: u64| json!({ "channel": channel, "why": why, "first": first, "count": count, "from_ps": from_ps, "to_ps": to_ps });
    json!({
        "runs": places.map(|(place, more)| stretches[place].run(more, &catalogue)),
        "gaps": [
            gap("9/3/2/f64", "missing", 450, 1000 * 90 - 450, bus(450), bus(90_000)),
            gap("ward/1/0", "missing", 450, 90, bus(450), bus(540)),
            gap("ward/1/0", "missing", 1080, 180, bus(1080), bus(1260)),
            gap("ward/5/0/i32", "grid", 450, 0, 150_000_000_000, 30_000_000_000_000),
            gap("ward/6/0", "overlap", 45, 45, bus(90), bus(45)),
            gap("ward/7/0", "grid", 180, 0, bus(180), bus(180)),
            gap("ward/7/0", "missing", 450, 45, bus(450), bus(540)),
        ],
        "frames": frames(&stretches),
    })
}

/// Channel, epoch, counter, first index, samples, uncertainty, arrival of every frame, in the order of an export.
fn frames(stretches: &[Stretch]) -> Vec<Value> {
    let mut frames = Vec::new();
    for stretch in stretches {
        for record in stretch.records() {
            let uncertainty = Some(record.uncertainty_ns).filter(|&ns| ns != u32::MAX);
            frames.push(json!([
                stretch.channel,
                record.epoch,
                record.counter,
                record.first,
                record.waveform.len(),
                uncertainty,
                record.arrived_ns
            ]));
        }
    }
    frames.sort_by_key(|frame| (frame[0].as_str().expect("a name").to_owned(), frame[3].as_u64()));
    frames
}

/// Two logs that hold all records between them, and some of them both; late ones come out of order.
fn write_logs(folder: &Path) -> [PathBuf; 2] {
    let all: Vec<Record> =
        stretches().iter().flat_map(|stretch| stretch.records().collect::<Vec<_>>()).collect();
    let paths = ["a", "b"].map(|name| folder.join(name));
    for (place, path) in paths.iter().enumerate() {
        let mut log = Log::open(path, &Limits::default());
        let held = all.iter().enumerate().filter(|(number, _)| number % 3 != place);
        let mut records: Vec<Record> = held.map(|(_, record)| record.clone()).collect();
        records.reverse();
        records.rotate_left(7);
        records.chunks(5).for_each(|group| log.commit(group));
    }
    paths
}

fn export_to(path: &Path, format: Format, export: Export, catalogue: &Catalogue) -> Result<Written, Error> {
    let writer = Box::new(BufWriter::new(File::create(path).unwrap()));
    let sink = sink(format, Target::File(path, writer)).unwrap().expect("a file will do");
    let mut told = 0;
    let written = export.finish(catalogue, sink, |records| told = records)?;
    assert_eq!(told, written.records);
    Ok(written)
}

/// The Python with the software; `None` after saying that it is not there.
fn python() -> Option<PathBuf> {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/python/bin/python");
    let asked = Command::new(&python).args(["-c", "import h5py, nptdms, pyarrow"]).output();
    if asked.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    println!("skip: exports: npTDMS, h5py and pyarrow are not installed");
    None
}

fn read_by_python(python: &Path, format: Format, path: &Path) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/exported/read.py");
    let output = Command::new(python).arg(script).arg(format.name()).arg(path).output().unwrap();
    assert!(output.status.success(), "{}: {}", format.name(), String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Compares what a format can say.
fn compare(format: Format, mut found: Value, mut expected: Value) {
    // Channels come in any order, what is in them does not.
    let name = |value: &Value| value.get("channel").unwrap_or(&value[0]).as_str().map(str::to_owned);
    let lists = found.as_object_mut().into_iter().flatten().filter_map(|(_, list)| list.as_array_mut());
    lists.for_each(|list| list.sort_by_key(name));
    let rates = |value: &mut Value| -> Vec<f64> {
        let runs = value["runs"].as_array_mut().expect("runs");
        runs.iter_mut().map(|run| run["rate"].take().as_f64().expect("a rate")).collect()
    };
    for (found, expected) in rates(&mut found).into_iter().zip(rates(&mut expected)) {
        // A rate that follows from instants is as exact as they are.
        assert!((found / expected - 1.0).abs() < 1e-9, "{}: {found} Hz, {expected} Hz", format.name());
    }
    if matches!(format, Format::Tdms | Format::Hdf5) {
        expected["runs"].as_array_mut().unwrap().iter_mut().for_each(|run| run["instants"] = Value::Null);
    }
    if format == Format::Tdms {
        expected["frames"] = Value::Null;
    }
    for part in ["gaps", "frames"] {
        assert_eq!(found[part], expected[part], "{}: {part}", format.name());
    }
    let runs = |value: &Value| value["runs"].as_array().unwrap().clone();
    let (found, expected) = (runs(&found), runs(&expected));
    assert_eq!(found.len(), expected.len(), "{}: runs", format.name());
    for (found, expected) in found.iter().zip(&expected) {
        for (name, expected) in expected.as_object().unwrap() {
            let place = (format.name(), &found["channel"], &found["first"], name);
            let is_rounded = name == "instants" && !expected.is_null();
            if is_rounded && matches!(found["channel"].as_str(), Some("9/3/2/f64" | "ward/5/0/i32")) {
                // Where no grid is known, a picosecond is rounded another way.
                let instants = |value: &Value| serde_json::from_value::<Vec<u64>>(value.clone()).unwrap();
                let both = instants(&found[name]).into_iter().zip(instants(expected));
                assert!(both.into_iter().all(|(found, expected)| found.abs_diff(expected) <= 1), "{place:?}");
                continue;
            }
            assert_eq!(&found[name], expected, "{place:?}");
        }
    }
}

#[test]
fn every_export_holds_what_was_stored() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let paths = write_logs(folder.path());
    for format in Format::all() {
        let open = |path: &PathBuf| read(path, keys(), Filter::default()).unwrap();
        let mut logs = Logs::new(paths.iter().map(open).collect(), folder.path(), false);
        // So little memory that most of it is put aside.
        let mut export = Export::holding(folder.path(), 2000);
        logs.by_ref().for_each(|record| export.push(record.unwrap()).unwrap());
        logs.finish().unwrap();
        let path = folder.path().join("export").with_extension(format.name());
        let written = export_to(&path, format, export, &catalogue()).unwrap();
        assert_eq!((written.channels, written.runs, written.gaps), (8, 15, 7));
        compare(format, read_by_python(&python, format, &path), expected());
    }
}

#[test]
fn long_channels_span_chunks_row_groups_and_segments() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    // Over a MiB of samples, and of rows more than two groups.
    let long = Stretch { frames: 1000, format: of(Kind::F64, false), ..stretches()[0] };
    let after = Stretch { first: 1001 * FRAME, frames: 500, from: (0, 9000), ..long };
    for format in Format::all() {
        let mut export = Export::new(folder.path());
        long.records().chain(after.records()).for_each(|record| export.push(record).unwrap());
        let path = folder.path().join("export").with_extension(format.name());
        let written = export_to(&path, format, export, &catalogue()).unwrap();
        assert_eq!((written.runs, written.samples), (2, 1500 * FRAME));
        let found = read_by_python(&python, format, &path);
        for (place, stretch) in [long, after].iter().enumerate() {
            let expected = stretch.run(0, &catalogue());
            for name in ["first", "sample_ps", "raw", "values"] {
                assert!(found["runs"][place][name] == expected[name], "{}: {name}", format.name());
            }
        }
    }
}

#[test]
fn an_export_of_nothing_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let found = export_to(&folder.path().join("a"), Format::Csv, Export::new(folder.path()), &catalogue());
    assert!(matches!(found, Err(Error::NothingWanted)));
}

#[test]
fn only_hdf5_cannot_go_through_a_pipe() {
    for format in Format::all() {
        let sink = sink(format, Target::Stream(Box::new(std::io::sink()))).unwrap();
        assert_eq!(sink.is_none(), format == Format::Hdf5, "{}", format.name());
    }
}

prop_compose! {
    fn any_record()(
        (node, epoch, counter, cell) in (1_u32..3, 0_u8..2, 0_u32..1 << 31, 0_u16..2),
        (first, sample_ps) in prop_oneof![
            // On a grid of a nanosecond, and anywhere.
            (0_u64..500).prop_map(|first| (first, first * 1000)),
            any::<(u64, u64)>(),
        ],
        (uncertainty_ns, channel, arrived_ns) in (any::<u32>(), 0_u8..3, any::<u64>()),
        stride in 1_u8..4,
        format in prop::sample::select(Samples::all().collect::<Vec<_>>()),
        bytes in prop::collection::vec(any::<u8>(), 1..=6),
    ) -> Record {
        let batch = BatchId { cell, spool: 0, number: 0 };
        let waveform = Waveform::new(format, bytes.repeat(8)).unwrap();
        Record {
            node, epoch, counter, suite: Suite::Aes128Ccm, batch, superframe: 0, slot: 0, received_ps: 0, arrived_ns,
            first, sample_ps, uncertainty_ns, channel, stride, waveform,
        }
    }
}

/// Epoch, counter, index, uncertainty, arrival and value of a sample.
type Sample = (u64, u64, u64, Option<u64>, u64, String);

/// A value as it can be compared: of a NaN only that it is one.
fn printed(value: f64) -> String {
    if value.is_nan() { "NaN".to_owned() } else { bits(value) }
}

fn samples_of(records: &[Record]) -> Vec<Sample> {
    let mut records: Vec<&Record> = records.iter().collect();
    records.sort_by_key(|record| {
        let kind = record.waveform.format().kind;
        let place = (record.sample_ps, record.first, record.epoch, record.counter);
        (record.batch.cell, record.node, record.channel, kind, place)
    });
    let samples = records.into_iter().flat_map(|record| {
        let uncertainty_ns = Some(record.uncertainty_ns).filter(|&ns| ns != u32::MAX).map(u64::from);
        (0..).zip(record.waveform.values()).map(move |(offset, value)| {
            let index = record.first.saturating_add(u64::from(record.stride) * offset);
            let value = printed(value);
            (record.epoch.into(), record.counter.into(), index, uncertainty_ns, record.arrived_ns, value)
        })
    });
    samples.collect()
}

fn read_csv(path: &Path) -> (Vec<Sample>, u64) {
    let mut reader = csv::Reader::from_path(path).unwrap();
    let columns = reader.headers().unwrap().clone();
    let place = |name: &str| columns.iter().position(|column| column == name).unwrap();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let gaps = rows.iter().filter(|row| &row[place("row")] == "gap").count();
    let sample = |row: &csv::StringRecord| {
        let number = |name: &str| row[place(name)].parse::<u64>().ok();
        let of = |name: &str| number(name).unwrap();
        let value = printed(row[place("value")].parse().unwrap());
        (of("epoch"), of("counter"), of("index"), number("uncertainty_ns"), of("arrived_ns"), value)
    };
    (rows.iter().filter(|row| &row[place("row")] == "sample").map(sample).collect(), gaps as u64)
}

fn read_parquet(path: &Path) -> (Vec<Sample>, u64) {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let columns: Vec<String> = {
        let schema = reader.metadata().file_metadata().schema_descr_ptr();
        schema.columns().iter().map(|column| column.name().to_owned()).collect()
    };
    let place = |name: &str| columns.iter().position(|column| column == name).unwrap();
    let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
    let is = |row: &parquet::record::Row, kind: &str| row.get_string(place("row")).unwrap() == kind;
    let sample = |row: &parquet::record::Row| {
        let long = |name: &str| row.get_ulong(place(name)).unwrap();
        (
            row.get_ubyte(place("epoch")).unwrap().into(),
            row.get_uint(place("counter")).unwrap().into(),
            long("index"),
            row.get_uint(place("uncertainty_ns")).ok().map(u64::from),
            long("arrived_ns"),
            printed(row.get_double(place("value")).unwrap()),
        )
    };
    let gaps = rows.iter().filter(|row| is(row, "gap")).count();
    (rows.iter().filter(|row| is(row, "sample")).map(sample).collect(), gaps as u64)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_records_come_back(records in prop::collection::vec(any_record(), 1..12), held_bytes_max in 1_usize..4000) {
        let folder = tempfile::tempdir().unwrap();
        for format in Format::all() {
            let mut export = Export::holding(folder.path(), held_bytes_max);
            records.iter().for_each(|record| export.push(record.clone()).unwrap());
            let path = folder.path().join(format.name());
            let written = export_to(&path, format, export, &Catalogue::default()).unwrap();
            prop_assert_eq!(written.records, records.len() as u64);
            prop_assert_eq!(written.runs, written.channels + written.gaps);
            let found = match format {
                Format::Csv => read_csv(&path),
                Format::Parquet => read_parquet(&path),
                Format::Tdms | Format::Hdf5 => continue,
            };
            prop_assert_eq!(found, (samples_of(&records), written.gaps));
        }
    }
}
