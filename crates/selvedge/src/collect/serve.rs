//! `selvedge collect serve`: the server, with the keys and the settings of a deployment.

use std::fs;
use std::io;
use std::net::{TcpListener, UdpSocket};

use collect::keys::{KeyRing, Node};
use collect::limits::Limits;
use collect::nats::{self, Cluster};
use collect::serve;
use collect::settings::Settings;
use collect::stats::Stats;
use report::row::{Clock, Experiment, Row};
use selvedge::error::{Error, KeyFault};
use selvedge::link::grid::grid;
use selvedge::link::transport::Transport;

use super::asking;
use crate::output::Output;
use crate::place::{Opened, Place};
use crate::stop;

/// Serves bridges until it is asked to end.
pub fn run(place: Place, output: &Output) -> Result<(), Error> {
    let opened = place.open()?;
    // The server has a runtime of its own, later: whoever hears that it is ready may ask it to end at once.
    let listening = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let listening = listening.map_err(Error::process("collect serve"))?;
    let within = listening.enter();
    let stop = stop::asked();
    drop(within);
    let wanted = &opened.deployment.collect;
    let listen = |source| Error::Listen { address: wanted.address, source };
    let transport = match &wanted.transport {
        Transport::Tcp => {
            let identity = opened.keys.certificates().server()?;
            let tls = collect::tls::Identity {
                certificates_pem: &identity.certificate,
                private_key_pem: &identity.key,
                peer_authority_pem: &identity.authority,
            };
            let listener = TcpListener::bind(wanted.address).map_err(listen)?;
            serve::Transport::Tcp { listener, tls: tls.server()? }
        }
        Transport::Udp => serve::Transport::Udp(UdpSocket::bind(wanted.address).map_err(listen)?),
        Transport::Nats(cluster) => return serve_cluster(&opened, cluster, stop, output),
    };
    let _alone = asking::lock(&opened)?;
    // Before the keys are read: whoever changes them finds nobody who could have read the old ones, or is heard.
    let control = asking::listen(&opened)?;
    let config = serve::Config {
        transport,
        keys: key_ring(&opened)?,
        store: opened.layout.store(),
        limits: limits(&opened),
        control: Some(control),
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
    let stats = serve::serve(config, ready, stop)?;
    output.rows("server", &rows(&Experiment::new(&opened.deployment.name, "selvedge collect serve"), &stats))
}

/// One of the servers that share a deployment. The key folder may be another's, too: what must be used once is given
/// out by the cluster.
fn serve_cluster(
    opened: &Opened,
    cluster: &Cluster,
    stop: impl Future<Output = ()> + Send + 'static,
    output: &Output,
) -> Result<(), Error> {
    let config = nats::serve::Config {
        cluster: cluster.clone(),
        keys: key_ring(opened)?,
        store: opened.layout.store(),
        limits: limits(opened),
        stats: None,
    };
    let stats = nats::serve::serve(config, opened.ready(), stop)?;
    let experiment = Experiment::new(&opened.deployment.name, "selvedge collect serve");
    let count = |metric: &str, value: u64| experiment.row("server", metric, value, "", Clock::Wall);
    let mut rows = rows(&experiment, &stats);
    rows.extend([
        count("leases taken", stats.leases_taken),
        count("leases taken over", stats.leases_taken_over),
        count("leases lost", stats.leases_lost),
        count("downlinks unfenced", stats.downlinks_unfenced),
    ]);
    output.rows("server", &rows)
}

fn limits(opened: &Opened) -> Limits {
    Limits { shards: opened.deployment.collect.shards.unwrap_or(0).into(), ..Limits::default() }
}

/// What the server knows of keys, and asks of the key folder while it runs.
pub fn key_ring(opened: &Opened) -> Result<KeyRing, Error> {
    let mut ring = KeyRing::new(opened.keys.store()?);
    let other = |error: Error| io::Error::other(error.to_string());
    // Logs of several servers are many, and the key folder notes one: what must be used once is the cluster's there.
    if !opened.deployment.collect.is_shared() {
        // Before the store is begun for any node: one that is not the last is not touched.
        let (noted, keys) = (opened.keys.begin_anchor(&opened.layout.store())?, opened.keys.clone());
        ring.anchor_by(noted.anchor, move |anchor| keys.keep_anchor(&noted, anchor).map_err(other));
    }
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
    let (keys, deployment) = (opened.keys.clone(), opened.deployment.clone());
    ring.read_present_by(move || keys.present(&deployment).map_err(other));
    let keys = opened.keys.clone();
    ring.take_epochs_by(move |id| match keys.take_epoch(id) {
        Ok(epoch) => Ok(Some(epoch)),
        Err(Error::Key { fault: KeyFault::EpochsUsedUp, .. }) => Ok(None),
        Err(error) => Err(other(error)),
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
    let by_clock = |metric: &str, value: u64| {
        (value > 0).then(|| experiment.row("server", metric, value, "", Clock::Wall))
    };
    rows.extend(by_clock("datagrams dropped", stats.datagrams_dropped));
    rows.extend(by_clock("answers withheld", stats.answers_withheld));
    rows.extend(
        stats.frames_failed.iter().map(|(status, value)| count(&format!("failed: {status}"), *value)),
    );
    rows.extend(stats.refused.iter().map(|(status, value)| count(&format!("refused: {status}"), *value)));
    rows
}
