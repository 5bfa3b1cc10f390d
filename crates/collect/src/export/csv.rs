//! CSV: a line for each sample, each gap, and the begin of each run.
//!
//! ```text
//! row      index                     count     sample_ps, until_ps                 code, value
//! run      its first sample          -         of its first sample, -              -           unit, scale, offset, rate
//! sample   its own                   -         its own, -                          as stored, in units
//! gap      first that is missing     missing   end of the run before, next run     -           why
//! ```
//! `value` is `scale * code + offset`; samples that are no codes of a converter have only a value, which is themselves.

use std::io::{self, Write};

use super::{Channel, Gap, Run, Sink};
use crate::record::Record;
use crate::waveform::Kind;

const COLUMNS: [&str; 18] = [
    "channel",
    "row",
    "index",
    "count",
    "sample_ps",
    "until_ps",
    "uncertainty_ns",
    "code",
    "value",
    "why",
    "unit",
    "scale",
    "offset",
    "sample_rate_hz",
    "format",
    "epoch",
    "counter",
    "arrived_ns",
];

/// Writes CSV.
pub(super) struct Csv {
    writer: ::csv::Writer<Box<dyn Write + Send>>,
    channel: Option<Channel>,
    run: Option<Run>,
}

impl Csv {
    pub(super) fn new(writer: Box<dyn Write + Send>) -> io::Result<Csv> {
        let mut writer = ::csv::Writer::from_writer(writer);
        writer.write_record(COLUMNS)?;
        Ok(Csv { writer, channel: None, run: None })
    }

    /// Writes a line, in which only these columns are not empty.
    fn line(&mut self, row: &str, cells: &[(&str, String)]) -> io::Result<()> {
        let channel = self.channel.as_ref().map_or("", |channel| &channel.name);
        let cell = |column: &&str| match *column {
            "channel" => channel,
            "row" => row,
            _ => cells.iter().find(|(name, _)| name == column).map_or("", |(_, text)| text),
        };
        Ok(self.writer.write_record(COLUMNS.iter().map(cell))?)
    }
}

fn text<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

impl Sink for Csv {
    fn channel(&mut self, channel: &Channel) -> io::Result<()> {
        self.channel = Some(channel.clone());
        Ok(())
    }

    fn gap(&mut self, gap: &Gap) -> io::Result<()> {
        self.line(
            "gap",
            &[
                ("index", gap.first.to_string()),
                ("count", gap.count.to_string()),
                ("sample_ps", text(gap.from_ps)),
                ("until_ps", text(gap.to_ps)),
                ("why", gap.why.name().to_owned()),
            ],
        )
    }

    fn run(&mut self, run: &Run) -> io::Result<()> {
        let channel = self.channel.as_ref().expect("a run is of a channel");
        let cells = [
            ("index", run.first.to_string()),
            ("sample_ps", text(run.sample_ps)),
            ("unit", channel.unit().to_owned()),
            ("scale", channel.scale().to_string()),
            ("offset", channel.offset().to_string()),
            ("sample_rate_hz", text(run.rate_hz())),
            ("format", channel.key.kind.name().to_owned()),
        ];
        self.run = Some(run.clone());
        self.line("run", &cells)
    }

    fn frame(&mut self, record: &Record) -> io::Result<()> {
        let channel = self.channel.clone().expect("a record is of a channel");
        let run = self.run.clone().expect("a record is of a run");
        let is_code = channel.key.kind == Kind::Code;
        let uncertainty_ns = text(Some(record.uncertainty_ns).filter(|&ns| ns != u32::MAX));
        for (offset, sample) in (0..).zip(record.waveform.values()) {
            let cells = [
                ("index", record.index(offset).to_string()),
                ("sample_ps", text(run.instant_ps(record, offset))),
                ("uncertainty_ns", uncertainty_ns.clone()),
                ("code", text(is_code.then_some(sample))),
                ("value", channel.value(sample).to_string()),
                ("epoch", record.epoch.to_string()),
                ("counter", record.counter.to_string()),
                ("arrived_ns", record.arrived_ns.to_string()),
            ];
            self.line("sample", &cells)?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.writer.flush()
    }
}
