//! `selvedge collect read`: what is stored, for a person or a program.

use collect::read::{self, Filter};
use collect::waveform::{Kind, Waveform};
use report::table::{Column, Entry, Table};
use selvedge::error::Error;

use crate::output::Output;
use crate::place::Place;

/// Which records are wanted.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
    /// Only this node
    #[arg(long, value_name = "NODE")]
    node: Option<u32>,
}

/// Lists the stored frames.
pub fn run(arguments: Arguments, output: &Output) -> Result<(), Error> {
    let opened = arguments.place.open()?;
    let filter = Filter { node: arguments.node, ..Filter::default() };
    let records = read::read(&opened.layout.store(), opened.keys.store()?, filter)?;
    let columns = ["node", "epoch", "counter", "superframe", "slot", "channel", "first sample", "samples"];
    let mut table = Table::new("stored frames", columns.map(Column::new));
    let mut lines = String::new();
    for record in records {
        let record = record?;
        if output.is_json() {
            lines += &serde_json::json!({
                "node": record.node, "epoch": record.epoch, "counter": record.counter,
                "suite": record.suite.to_string(), "superframe": record.superframe, "slot": record.slot,
                "received_ps": record.received_ps, "arrived_ns": record.arrived_ns,
                "channel": record.channel, "first": record.first, "sample_ps": record.sample_ps,
                "uncertainty_ns": record.uncertainty_ns, "format": record.waveform.format().name(),
                "samples": samples(&record.waveform),
            })
            .to_string();
            lines.push('\n');
        } else {
            let cells =
                [record.node, record.epoch.into(), record.counter, record.superframe, record.slot.into()];
            let rest = [record.channel.into(), record.first, record.waveform.len() as u64];
            table.push(cells.map(u64::from).into_iter().chain(rest).map(Entry::from));
        }
    }
    if output.is_json() { output.text(&lines) } else { output.text(&table.text(None)) }
}

/// As they are: integers without a point.
fn samples(waveform: &Waveform) -> serde_json::Value {
    match waveform.format().kind {
        Kind::Code | Kind::I16 | Kind::I32 => waveform.values().map(|value| value as i64).collect(),
        Kind::F32 | Kind::F64 => waveform.values().collect(),
    }
}
