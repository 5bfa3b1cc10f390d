//! TDMS: National Instruments' format, as its white paper "TDMS File Format Internal Structure" describes it.
//!
//! ```text
//! segment                                          object
//!  0  4  "TDSm"                                     0  4 n  path, its length first: "/'group'/'channel'"
//!  4  4  contents: 2 metadata, 4 new list,          .  4    bytes of what follows here (20, texts 28),
//!        8 raw data                                         or 2^32 - 1: no raw data
//!  8  4  version 4713                               .  4    type   . 4  dimension, 1
//! 12  8  bytes after this head                      .  8    values . 8  bytes, of texts only
//! 20  8  of these, metadata                         .  4    number of properties, each: name, type 4, value
//! 28  .  number of objects 4, objects
//!  .  .  raw data, object by object
//! ```
//! A segment repeats no object, so values of one object are gathered until there are enough for a segment.
//!
//! A group is a channel of ours, and each run is a channel of its own in it: a waveform has one start and one increment, so
//! that LabVIEW and DIAdem draw a run as it was, and no program can join two. `wf_start_time` is cell time since 1904-01-01,
//! which is how a time that is not the calendar's is written there; `arrived` is the calendar's. Codes are stored as they
//! are, with NI's linear scale, which every reader applies. The gaps are a group of their own beside the channel's, a row
//! each.

use std::collections::HashMap;
use std::io::{self, Write};

use super::{Channel, Gap, Run, Sink, little_endian};
use crate::limits::EXPORT_SEGMENT_BYTES;
use crate::record::Record;
use crate::waveform::Kind;

const VERSION: u32 = 4713;
const CONTENTS: u32 = 2 | 4 | 8;
const NO_RAW_DATA: u32 = u32::MAX;
const TYPE_STRING: u32 = 0x20;
const TYPE_U64: u32 = 8;
/// Seconds from 1904 to 1970.
const EPOCH_S: i64 = 2_082_844_800;

/// Writes TDMS.
pub(super) struct Tdms {
    writer: Box<dyn Write + Send>,
    /// What the next segment has, in order; each object once.
    objects: Vec<Object>,
    places: HashMap<String, usize>,
    held_bytes: usize,
    channel: Option<Channel>,
    run: Option<Open>,
    runs: u64,
}

/// The run that is being written.
struct Open {
    path: String,
    samples: u64,
    uncertainty_ns: u32,
}

struct Object {
    path: String,
    properties: Vec<(String, Property)>,
    data: Option<Data>,
}

enum Data {
    Values { kind: u32, count: u64, bytes: Vec<u8> },
    Texts(Vec<&'static str>),
}

enum Property {
    U32(u32),
    U64(u64),
    F64(f64),
    Text(String),
    /// Seconds since 1904, and 2^-64 of a second.
    Time(i64, u64),
}

impl Property {
    fn of_ps(instant_ps: u64) -> Property {
        const PS_PER_S: u64 = 1_000_000_000_000;
        let fraction = (u128::from(instant_ps % PS_PER_S) << 64) / u128::from(PS_PER_S);
        Property::Time((instant_ps / PS_PER_S).cast_signed(), fraction as u64)
    }

    fn of_unix_ns(instant_ns: u64) -> Property {
        const NS_PER_S: u64 = 1_000_000_000;
        let fraction = (u128::from(instant_ns % NS_PER_S) << 64) / u128::from(NS_PER_S);
        Property::Time((instant_ns / NS_PER_S).cast_signed() + EPOCH_S, fraction as u64)
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        let mut typed = |kind: u32, value: &[u8]| {
            bytes.extend_from_slice(&kind.to_le_bytes());
            bytes.extend_from_slice(value);
        };
        match self {
            Property::U32(value) => typed(7, &value.to_le_bytes()),
            Property::U64(value) => typed(TYPE_U64, &value.to_le_bytes()),
            Property::F64(value) => typed(10, &value.to_le_bytes()),
            Property::Text(value) => {
                typed(TYPE_STRING, &[]);
                text(bytes, value);
            }
            Property::Time(seconds, fraction) => {
                typed(0x44, &fraction.to_le_bytes());
                bytes.extend_from_slice(&seconds.to_le_bytes());
            }
        }
    }
}

fn text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

fn sample_type(kind: Kind) -> u32 {
    match kind {
        Kind::Code => 6,
        Kind::I16 => 2,
        Kind::I32 => 3,
        Kind::F32 => 9,
        Kind::F64 => 10,
    }
}

/// The path of an object: a quotation mark in a name is doubled.
fn path(names: &[&str]) -> String {
    if names.is_empty() {
        return "/".to_owned();
    }
    names.iter().map(|name| format!("/'{}'", name.replace('\'', "''"))).collect()
}

impl Data {
    fn count(&self) -> u64 {
        match self {
            Data::Values { count, .. } => *count,
            Data::Texts(texts) => texts.len() as u64,
        }
    }

    fn write_index(&self, bytes: &mut Vec<u8>) {
        let (length, kind) = match self {
            Data::Values { kind, .. } => (20_u32, *kind),
            Data::Texts(_) => (28, TYPE_STRING),
        };
        for field in [length, kind, 1] {
            bytes.extend_from_slice(&field.to_le_bytes());
        }
        bytes.extend_from_slice(&self.count().to_le_bytes());
        if let Data::Texts(texts) = self {
            let texts_bytes: usize = texts.iter().map(|text| 4 + text.len()).sum();
            bytes.extend_from_slice(&(texts_bytes as u64).to_le_bytes());
        }
    }

    fn write(&self, raw: &mut Vec<u8>) {
        match self {
            Data::Values { bytes, .. } => raw.extend_from_slice(bytes),
            Data::Texts(texts) => {
                let mut end = 0;
                for text in texts {
                    end += text.len() as u32;
                    raw.extend_from_slice(&end.to_le_bytes());
                }
                texts.iter().for_each(|text| raw.extend_from_slice(text.as_bytes()));
            }
        }
    }
}

impl Tdms {
    pub(super) fn new(writer: Box<dyn Write + Send>) -> Tdms {
        let (objects, places) = (Vec::new(), HashMap::new());
        let mut tdms = Tdms { writer, objects, places, held_bytes: 0, channel: None, run: None, runs: 0 };
        tdms.object(&path(&[]));
        tdms
    }

    /// The object in the segment that is gathered.
    fn object(&mut self, path: &str) -> &mut Object {
        let place = *self.places.entry(path.to_owned()).or_insert_with(|| {
            self.objects.push(Object { path: path.to_owned(), properties: Vec::new(), data: None });
            self.objects.len() - 1
        });
        &mut self.objects[place]
    }

    fn set(&mut self, path: &str, properties: Vec<(&str, Property)>) {
        let object = self.object(path);
        for (name, property) in properties {
            match object.properties.iter_mut().find(|(known, _)| known == name) {
                Some((_, value)) => *value = property,
                None => object.properties.push((name.to_owned(), property)),
            }
        }
        self.held_bytes += 256;
    }

    fn values(&mut self, path: &str, kind: u32, count: u64, values: &[u8]) {
        self.held_bytes += values.len();
        let empty = || Data::Values { kind, count: 0, bytes: Vec::new() };
        let data = self.object(path).data.get_or_insert_with(empty);
        if let Data::Values { count: counted, bytes, .. } = data {
            *counted += count;
            bytes.extend_from_slice(values);
        }
    }

    fn write_full(&mut self) -> io::Result<()> {
        if self.held_bytes < EXPORT_SEGMENT_BYTES { Ok(()) } else { self.write_segment() }
    }

    fn write_segment(&mut self) -> io::Result<()> {
        let objects = std::mem::take(&mut self.objects);
        self.places.clear();
        self.held_bytes = 0;
        let (mut metadata, mut raw) = (Vec::new(), Vec::new());
        metadata.extend_from_slice(&(objects.len() as u32).to_le_bytes());
        for object in &objects {
            text(&mut metadata, &object.path);
            match &object.data {
                Some(data) => {
                    data.write_index(&mut metadata);
                    data.write(&mut raw);
                }
                None => metadata.extend_from_slice(&NO_RAW_DATA.to_le_bytes()),
            }
            metadata.extend_from_slice(&(object.properties.len() as u32).to_le_bytes());
            for (name, property) in &object.properties {
                text(&mut metadata, name);
                property.write(&mut metadata);
            }
        }
        let mut head = b"TDSm".to_vec();
        head.extend_from_slice(&CONTENTS.to_le_bytes());
        head.extend_from_slice(&VERSION.to_le_bytes());
        head.extend_from_slice(&((metadata.len() + raw.len()) as u64).to_le_bytes());
        head.extend_from_slice(&(metadata.len() as u64).to_le_bytes());
        [head, metadata, raw].iter().try_for_each(|part| self.writer.write_all(part))
    }

    /// Says of the open run what is known at its end only.
    fn tell_run(&mut self) {
        if let Some(open) = self.run.take() {
            let told = vec![
                ("wf_samples", Property::U64(open.samples)),
                ("uncertainty_ns", Property::U32(open.uncertainty_ns)),
            ];
            self.set(&open.path, told);
        }
    }

    fn name(&self) -> &str {
        &self.channel.as_ref().expect("a channel is written").name
    }
}

/// What a channel is.
fn describe(channel: &Channel) -> Vec<(&'static str, Property)> {
    let mut told = vec![
        ("cell", Property::U32(channel.key.cell.into())),
        ("node", Property::U32(channel.key.node)),
        ("input", Property::U32(channel.key.input.into())),
        ("format", Property::Text(channel.key.kind.name().to_owned())),
        ("unit", Property::Text(channel.unit().to_owned())),
        ("scale", Property::F64(channel.scale())),
        ("offset", Property::F64(channel.offset())),
    ];
    told.extend(channel.rate_hz().map(|rate_hz| ("sample_rate_hz", Property::F64(rate_hz))));
    told
}

/// What a run is: a waveform, and what its values stand for.
fn waveform(channel: &Channel, run: &Run) -> Vec<(&'static str, Property)> {
    let mut told = vec![
        ("unit_string", Property::Text(channel.unit().to_owned())),
        ("first_index", Property::U64(run.first)),
        ("stride", Property::U32(run.stride.into())),
        ("sample_ps", Property::U64(run.sample_ps.unwrap_or(u64::MAX))),
        ("wf_xname", Property::Text("Time".to_owned())),
        ("wf_xunit_string", Property::Text("s".to_owned())),
        ("wf_start_offset", Property::F64(0.0)),
    ];
    told.extend(run.sample_ps.map(|instant_ps| ("wf_start_time", Property::of_ps(instant_ps))));
    if let Some(rate_hz) = run.rate_hz() {
        told.push(("wf_increment", Property::F64(1.0 / rate_hz)));
        told.push(("sample_rate_hz", Property::F64(rate_hz)));
    }
    if channel.meaning.is_some() {
        told.extend([
            ("NI_Scaling_Status", Property::Text("unscaled".to_owned())),
            ("NI_Number_Of_Scales", Property::U32(1)),
            ("NI_Scale[0]_Scale_Type", Property::Text("Linear".to_owned())),
            ("NI_Scale[0]_Linear_Slope", Property::F64(channel.scale())),
            ("NI_Scale[0]_Linear_Y_Intercept", Property::F64(channel.offset())),
            ("NI_Scale[0]_Linear_Input_Source", Property::U32(u32::MAX)),
        ]);
    }
    told
}

impl Sink for Tdms {
    fn channel(&mut self, channel: &Channel) -> io::Result<()> {
        self.tell_run();
        self.channel = Some(channel.clone());
        self.runs = 0;
        let group = path(&[self.name()]);
        self.set(&group, describe(channel));
        self.write_full()
    }

    fn gap(&mut self, gap: &Gap) -> io::Result<()> {
        let group = format!("{} gaps", self.name());
        self.object(&path(&[&group]));
        let instants = [gap.from_ps, gap.to_ps].map(|instant_ps| instant_ps.unwrap_or(u64::MAX));
        let fields =
            [("first", gap.first), ("count", gap.count), ("from_ps", instants[0]), ("to_ps", instants[1])];
        for (name, value) in fields {
            self.values(&path(&[&group, name]), TYPE_U64, 1, &value.to_le_bytes());
        }
        let why = gap.why.name();
        self.held_bytes += why.len();
        let texts = self.object(&path(&[&group, "why"])).data.get_or_insert_with(|| Data::Texts(Vec::new()));
        if let Data::Texts(texts) = texts {
            texts.push(why);
        }
        self.write_full()
    }

    fn run(&mut self, run: &Run) -> io::Result<()> {
        self.tell_run();
        let place = path(&[self.name(), &format!("run {:06}", self.runs)]);
        let told = waveform(self.channel.as_ref().expect("a run is of a channel"), run);
        self.set(&place, told);
        self.runs += 1;
        self.run = Some(Open { path: place, samples: 0, uncertainty_ns: 0 });
        Ok(())
    }

    fn frame(&mut self, record: &Record) -> io::Result<()> {
        let mut open = self.run.take().expect("a record is of a run");
        if open.samples == 0 {
            let told = vec![
                ("arrived", Property::of_unix_ns(record.arrived_ns)),
                ("arrived_ns", Property::U64(record.arrived_ns)),
                ("epoch", Property::U32(record.epoch.into())),
                ("counter", Property::U32(record.counter)),
            ];
            self.set(&open.path, told);
        }
        let count = record.waveform.len() as u64;
        open.samples += count;
        open.uncertainty_ns = open.uncertainty_ns.max(record.uncertainty_ns);
        let kind = sample_type(record.waveform.format().kind);
        self.values(&open.path, kind, count, &little_endian(&record.waveform));
        self.run = Some(open);
        self.write_full()
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.tell_run();
        self.write_segment()?;
        self.writer.flush()
    }
}
