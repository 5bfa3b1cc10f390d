//! `selvedge collect read`: what is stored, as lines for a person or a program, or as a file ([`export`]).

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use collect::disk::RealDisk;
use collect::export::Format;
use collect::read::Filter;
use collect::read::logs::Logs;
use collect::record::Record;
use collect::waveform::{Kind, Waveform};
use selvedge::error::Error;
use selvedge::link::logs::{self, Leases};
use selvedge::link::quantity::{self, DURATION};
use selvedge::stderr;

use super::export;
use crate::output::Output;
use crate::place::Place;
use crate::stop;

/// How often the logs are looked at for what is new.
const LOOK: Duration = Duration::from_millis(100);
/// Bytes of lines that are printed together.
const LINES_BYTES: usize = 64 << 10;

/// Which records are wanted, and as what.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
    /// Only this node
    #[arg(long, value_name = "NODE")]
    node: Option<u32>,
    /// Only frames that begin at this cell time or later, such as "90 s"
    #[arg(long, value_name = "TIME", value_parser = time)]
    from: Option<u64>,
    /// Only frames that begin at this cell time or earlier
    #[arg(long, value_name = "TIME", value_parser = time)]
    to: Option<u64>,
    /// A log to read, in place of the run's own; several are read as one, each frame once
    #[arg(long, value_name = "DIR")]
    log: Vec<PathBuf>,
    /// Write the samples to this file: .tdms, .h5, .parquet or .csv
    #[arg(long, value_name = "FILE")]
    export: Option<PathBuf>,
    /// The format of the file, whatever its name ends in
    #[arg(long, value_name = "FORMAT", requires = "export", value_parser = format)]
    format: Option<Format>,
    /// Go on with what is stored later, until SIGINT or SIGTERM; a file is written then
    #[arg(long)]
    follow: bool,
}

fn time(text: &str) -> Result<u64, String> {
    let instant_ps = quantity::parse(text, &DURATION).ok().and_then(|instant_ps| instant_ps.try_into().ok());
    instant_ps.ok_or_else(|| format!("expected {} such as `{}`", DURATION.what, DURATION.example))
}

fn format(name: &str) -> Result<Format, String> {
    let names = || Format::all().map(Format::name).collect::<Vec<_>>().join(", ");
    Format::all().find(|format| format.name() == name).ok_or_else(|| format!("expected one of {}", names()))
}

/// Lists the stored frames, or exports them.
pub fn run(arguments: Arguments, output: &Output) -> Result<(), Error> {
    // Who sees the first lines, or the file that is begun, may ask for the end at once.
    let stop = arguments.follow.then(stop::flag).transpose().map_err(Error::process("collect read"))?;
    let file = arguments.export.as_deref().map(|path| export::File::begin(path, arguments.format));
    let file = file.transpose()?;
    let any = arguments.from.is_none() && arguments.to.is_none();
    let times = arguments.from.unwrap_or(0)..=arguments.to.unwrap_or(u64::MAX);
    let filter = Filter { node: arguments.node, sample_ps: (!any).then_some(times), ..Filter::default() };
    let opened = arguments.place.open()?;
    let scratch = file.as_ref().map_or(opened.layout.out(), export::File::folder);
    let (store, is_own) = (opened.layout.store(), arguments.log.is_empty());
    let folders = if is_own { logs::folders(&store)? } else { arguments.log };
    let logs = logs::open(&folders, &opened.keys, &filter, scratch, stop.is_some())?;
    let leases = is_own.then(|| Leases::behind(store, &folders, opened.keys.clone(), filter));
    let source = Source { logs, leases, stop };
    match file {
        Some(file) => file.write(source, &opened, output),
        None => list(source, output),
    }
}

/// What is read, once or again and again.
pub struct Source {
    logs: Logs<RealDisk>,
    /// Those of a run that begin later; `None` = logs were named, and there are no others.
    leases: Option<Leases>,
    /// Set when nobody wants more; `None` = the logs are read once.
    stop: Option<Arc<AtomicBool>>,
}

/// What a [`Source`] says.
pub enum Event {
    /// There is a record; so many segments of so many were read.
    Record(Box<Record>, (u64, u64)),
    /// There is no more for now.
    Pause,
}

impl Source {
    /// Tells of every record, each frame's once.
    pub fn read(mut self, mut tell: impl FnMut(Event) -> Result<(), Error>) -> Result<(), Error> {
        loop {
            // Asked before the records are read: what was stored before the end was asked for is told, too.
            let is_last = self.stop.as_ref().is_none_or(|stop| stop.load(Ordering::Relaxed));
            while let Some(record) = self.logs.next() {
                tell(Event::Record(Box::new(record?), self.logs.progress()))?;
            }
            tell(Event::Pause)?;
            if is_last {
                return Ok(self.logs.finish()?);
            }
            thread::sleep(LOOK);
            if let Some(leases) = &mut self.leases {
                leases.find(&mut self.logs)?;
            }
            let removed = self.logs.renew()?;
            if removed > 0 {
                stderr::tell(format_args!("{removed} segments were removed before they were read"));
            }
        }
    }
}

fn list(source: Source, output: &Output) -> Result<(), Error> {
    let mut lines = if output.is_json() { String::new() } else { heading() };
    source.read(|event| {
        let is_full = match event {
            Event::Record(record, _) => {
                lines += &if output.is_json() { json(&record) } else { line(&record) };
                lines.len() >= LINES_BYTES
            }
            Event::Pause => !lines.is_empty(),
        };
        if is_full { output.text(&std::mem::take(&mut lines)) } else { Ok(()) }
    })
}

/// The columns, each as wide as its longest number is likely to be: lines are printed as they come.
fn heading() -> String {
    let (node, epoch, counter, superframe) = ("node", "epoch", "counter", "superframe");
    format!(
        "{node:>10} {epoch:>5} {counter:>10} {superframe:>10} {:>4} {:>7} {:>14} {:>7}\n",
        "slot", "channel", "first sample", "samples"
    )
}

fn line(record: &Record) -> String {
    let Record { node, epoch, counter, superframe, slot, channel, first, .. } = record;
    let samples = record.waveform.len();
    let mark = if record.suite.row().is_authenticated() { "" } else { "  not authenticated" };
    format!(
        "{node:>10} {epoch:>5} {counter:>10} {superframe:>10} {slot:>4} {channel:>7} {first:>14} {samples:>7}{mark}\n"
    )
}

fn json(record: &Record) -> String {
    let line = serde_json::json!({
        "node": record.node, "epoch": record.epoch, "counter": record.counter,
        "suite": record.suite.to_string(), "authenticated": record.suite.row().is_authenticated(), "superframe": record.superframe, "slot": record.slot,
        "received_ps": record.received_ps, "arrived_ns": record.arrived_ns,
        "channel": record.channel, "first": record.first, "stride": record.stride,
        "sample_ps": record.sample_ps, "uncertainty_ns": record.uncertainty_ns,
        "format": record.waveform.format().name(),
        "samples": samples(&record.waveform),
    });
    format!("{line}\n")
}

/// As they are: integers without a point.
fn samples(waveform: &Waveform) -> serde_json::Value {
    match waveform.format().kind {
        Kind::Code | Kind::I16 | Kind::I32 => waveform.values().map(|value| value as i64).collect(),
        Kind::F32 | Kind::F64 => waveform.values().collect(),
    }
}
