//! `selvedge collect serve`: the server, with the keys and the settings of a deployment.

use std::fs;
use std::net::TcpListener;

use collect::keys::{KeyRing, Node};
use collect::limits::Limits;
use collect::serve;
use collect::settings::Settings;
use collect::stats::Stats;
use report::row::{Clock, Experiment, Row};
use selvedge::error::{Error, KeyFault};
use selvedge::link::grid::grid;

use crate::output::Output;
use crate::place::{Opened, Place};
use crate::stop;

/// Serves bridges until it is asked to end.
pub fn run(place: Place, output: &Output) -> Result<(), Error> {
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
