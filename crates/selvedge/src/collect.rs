//! `selvedge collect`: the measurement server, and what can be read from its store.

use std::fs;
use std::net::TcpListener;

use collect::keys::{KeyRing, Node};
use collect::limits::Limits;
use collect::read::{self, Filter};
use collect::serve;
use collect::settings::Settings;
use collect::stats::Stats;
use collect::waveform::{Kind, Waveform};
use report::row::{Clock, Experiment, Row};
use report::table::{Column, Entry, Table};
use selvedge::error::{Error, KeyFault};
use selvedge::link::grid::grid;

use crate::output::Output;
use crate::place::{Opened, Place};
use crate::stop;

/// Store measurements durably, and read them back
#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Serve bridges over TLS, until SIGTERM
    #[command(after_help = "Example: selvedge collect serve deployments/ecg.toml --out out/ecg")]
    Serve(Place),
    /// List the stored frames
    #[command(
        after_help = "Examples:\n  selvedge collect read deployments/ecg.toml --out out/ecg --node 2\n  \
                            selvedge collect read deployments/ecg.toml --out out/ecg --json"
    )]
    Read(Read),
    /// Check every segment and record of the store
    #[command(after_help = "Example: selvedge collect verify deployments/ecg.toml --out out/ecg")]
    Verify(Place),
}

#[derive(clap::Args)]
struct Read {
    #[command(flatten)]
    place: Place,
    /// Only this node
    #[arg(long, value_name = "NODE")]
    node: Option<u32>,
}

/// Does what the subcommand says.
pub fn run(arguments: Arguments, output: &Output) -> Result<(), Error> {
    match arguments.command {
        Command::Serve(place) => serve_bridges(place, output),
        Command::Read(read) => list(read, output),
        Command::Verify(place) => verify(place, output),
    }
}

fn serve_bridges(place: Place, output: &Output) -> Result<(), Error> {
    let opened = place.open()?;
    let wanted = opened.deployment.collect;
    let identity = opened.keys.certificates().server()?;
    let tls = collect::tls::Identity {
        certificates_pem: &identity.certificate,
        private_key_pem: &identity.key,
        peer_authority_pem: &identity.authority,
    };
    let listener = TcpListener::bind(wanted.address)
        .map_err(|source| Error::Listen { address: wanted.address, source })?;
    let _alone = opened.keys.lock_store()?;
    let config = serve::Config {
        listener,
        tls: tls.server()?,
        keys: key_ring(&opened)?,
        store: opened.layout.store(),
        limits: Limits { shards: wanted.shards.unwrap_or(0).into(), ..Limits::default() },
        stats: None,
    };
    let told = opened.layout.server_address();
    let tell_ready = opened.ready();
    let ready = |address: std::net::SocketAddr| {
        // Beside, then in one step: a bridge never reads half of it.
        let beside = told.with_extension("new");
        if fs::write(&beside, format!("{address}\n")).and_then(|()| fs::rename(&beside, &told)).is_ok() {
            tell_ready();
        }
    };
    // The server has a runtime of its own, later: whoever hears of its address may ask it to end at once.
    let listening = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let listening = listening.map_err(Error::process("collect serve"))?;
    let within = listening.enter();
    let stop = stop::asked();
    drop(within);
    let stats = serve::serve(config, ready, stop)?;
    output.rows("server", &rows(&Experiment::new(&opened.deployment.name, "selvedge collect serve"), &stats))
}

fn key_ring(opened: &Opened) -> Result<KeyRing, Error> {
    let mut ring = KeyRing::new(opened.keys.store()?);
    for cell in &opened.deployment.cells {
        ring.add_cell(cell.id, &opened.keys.cell(cell.id)?);
        for node in &cell.nodes {
            let grid = grid(cell, node);
            let (master, epoch_from) =
                (opened.keys.node(node.id)?, opened.keys.begin_store(&opened.layout.store(), node.id)?);
            let (suite, epoch_frames) = (node.suite, node.epoch_frames);
            let lead_samples = opened.deployment.answer_superframes(cell) * grid.samples_per_superframe.get();
            let settings = Settings::new(node.wiring.settings.clone(), lead_samples);
            ring.add_node(node.id, Node { master, suite, epoch_from, epoch_frames, settings, grid });
        }
    }
    let keys = opened.keys.clone();
    ring.take_epochs_by(move |id| match keys.take_epoch(id) {
        Ok(epoch) => Ok(Some(epoch)),
        Err(Error::Key { fault: KeyFault::EpochsUsedUp, .. }) => Ok(None),
        Err(error) => Err(std::io::Error::other(error.to_string())),
    });
    Ok(ring)
}

fn rows(experiment: &Experiment, stats: &Stats) -> Vec<Row> {
    let count = |metric: &str, value: u64| experiment.row("server", metric, value, "", Clock::None);
    let latency = &stats.durable_latency;
    let micros = |metric, ns: u64| experiment.row("server", metric, ns as f64 / 1000.0, "us", Clock::Wall);
    let mut rows = vec![
        count("batches", stats.batches),
        count("frames stored", stats.frames_stored),
        count("frames stored before", stats.frames_duplicate),
        count("frames failed", stats.frames_failed_total()),
        experiment.row("server", "syncs", stats.groups, "", Clock::Wall),
        count("downlinks sealed", stats.downlinks),
        count("settings told", stats.settings_told),
        count("epoch changes told", stats.changes_told),
        micros("arrival to durable, median", latency.p50_ns),
        micros("arrival to durable, p99", latency.p99_ns),
        micros("arrival to durable, most", latency.max_ns),
    ];
    rows.extend(
        stats.frames_failed.iter().map(|(status, value)| count(&format!("failed: {status}"), *value)),
    );
    rows.extend(stats.refused.iter().map(|(status, value)| count(&format!("refused: {status}"), *value)));
    rows
}

fn list(arguments: Read, output: &Output) -> Result<(), Error> {
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

fn verify(place: Place, output: &Output) -> Result<(), Error> {
    let opened = place.open()?;
    let found = read::verify(&opened.layout.store(), opened.keys.store()?)?;
    let experiment = Experiment::new(&opened.deployment.name, "selvedge collect verify");
    let count = |metric, value: u64| experiment.row("store", metric, value, "", Clock::None);
    output.rows(
        "store",
        &[
            count("segments", found.segments),
            count("groups", found.groups),
            count("records", found.records),
            count("reservations", found.reservations),
            count("epoch changes", found.changes),
            count("torn segments", found.torn),
            count("damaged places", found.corrupt.len() as u64),
            count(
                "missing segments",
                found.missing.iter().map(|range| range.end() - range.start() + 1).sum(),
            ),
        ],
    )?;
    if let Some(range) = found.missing.first() {
        return Err(collect::error::Error::SegmentMissing { number: *range.start() }.into());
    }
    match found.corrupt.into_iter().next() {
        Some((file, at, what)) => Err(collect::error::Error::Corrupt { file, at, what }.into()),
        None => Ok(()),
    }
}
