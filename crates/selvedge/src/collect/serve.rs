//! `selvedge collect serve`: the server, with the keys and the settings of a deployment.

use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::path::Path;

use collect::keys::{KeyRing, Node};
use collect::limits::Limits;
use collect::live::{self, Glass};
use collect::nats::{self, Cluster};
use collect::realtime::Realtime;
use collect::serve;
use collect::settings::Settings;
use collect::stats::Stats;
use report::row::{Clock, Experiment, Row};
use selvedge::error::{Error, KeyFault};
use selvedge::link::grid::{computer_grid, grid};
use selvedge::link::monitoring::MonitorAddress;
use selvedge::link::transport::Transport;
use selvedge::stderr;

use super::asking;
use super::live::Window;
use crate::machine::Began;
use crate::monitor::Monitors;
use crate::output::Output;
use crate::place::{Opened, Place};
use crate::stop;

/// Permissions of a socket on which what nodes measure is asked for.
const MONITOR_MODE: u32 = 0o600;

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
    let (glass, looks) = live::glass();
    let monitors = listening.block_on(listen_to_monitors(&opened, glass))?;
    let config = serve::Config {
        transport,
        keys: key_ring(&opened)?,
        store: opened.layout.store(),
        limits: limits(&opened),
        control: Some(control),
        looks: monitors.is_some().then_some(looks),
        stats: None,
        realtime: realtime(&opened),
    };
    let tell_ready = opened.ready();
    let ready = |address: SocketAddr, torn_bytes: u64| {
        if torn_bytes > 0 {
            stderr::tell(format_args!(
                "store: cut off {torn_bytes} bytes behind the last whole group: nothing that can be read"
            ));
        }
        if let Some(monitors) = monitors {
            tell_people(&opened, &monitors);
            listening.spawn(monitors.answer());
        }
        if tell(&opened.layout.server_address(), &address.to_string()).is_ok() {
            tell_ready();
        }
    };
    let began = Began::now();
    let stats = serve::serve(config, ready, stop)?;
    let experiment = Experiment::new(&opened.deployment.name, "selvedge collect serve");
    let mut rows = rows(&experiment, &stats);
    rows.extend(realtime_rows(&opened, &experiment, &stats, &began));
    output.rows("server", &rows)
}

/// Where people look at the server through this glass, if the deployment says where.
async fn listen_to_monitors(opened: &Opened, glass: Glass) -> Result<Option<Monitors<Window>>, Error> {
    let Some(address) = &opened.deployment.collect.metrics else { return Ok(None) };
    let window = Window::new(opened, glass);
    if let Some(before) = before(address, &opened.layout.server_monitor())
        && let Ok(monitors) = Monitors::listen(&before, MONITOR_MODE, window.clone()).await
    {
        return Ok(Some(monitors));
    }
    Monitors::listen(address, MONITOR_MODE, window).await.map(Some)
}

/// Where it was before it was started again, if any port will do: a page that is open finds it there.
fn before(address: &MonitorAddress, told: &Path) -> Option<MonitorAddress> {
    let MonitorAddress::Tcp(wanted) = address else { return None };
    let before: SocketAddr = fs::read_to_string(told).ok()?.trim_end().parse().ok()?;
    (wanted.port() == 0 && wanted.ip() == before.ip()).then_some(MonitorAddress::Tcp(before))
}

/// Says where the live page is: in the folder of the run, and to whoever started this.
fn tell_people(opened: &Opened, monitors: &Monitors<Window>) {
    let collect = &opened.deployment.collect;
    let (place, page) = match &collect.metrics {
        Some(MonitorAddress::Unix(path)) => {
            (path.display().to_string(), format!("on socket {}", path.display()))
        }
        _ => (monitors.address(), format!("http://{}/", monitors.address())),
    };
    // Who looks for it there looks again.
    let _ = tell(&opened.layout.server_monitor(), &place);
    if collect.is_live {
        stderr::tell(format_args!("live page: {page}"));
    }
}

/// Leaves a line in a file: beside, then in one step, so that nobody reads half of it.
fn tell(path: &Path, line: &str) -> io::Result<()> {
    let beside = path.with_extension("new");
    fs::write(&beside, format!("{line}\n"))?;
    fs::rename(&beside, path)
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
        realtime: realtime(opened),
    };
    let began = Began::now();
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
    rows.extend(realtime_rows(opened, &experiment, &stats, &began));
    output.rows("server", &rows)
}

fn limits(opened: &Opened) -> Limits {
    let wanted = &opened.deployment.collect;
    let (all, retention) = (Limits::default(), wanted.retention);
    Limits {
        shards: wanted.shards.unwrap_or(0).into(),
        deadline_ns: wanted.realtime.and_then(|realtime| realtime.deadline_ns()),
        retain_bytes_max: retention.retain_bytes.unwrap_or(all.retain_bytes_max),
        retain_ns_max: retention.retain_s.map_or(all.retain_ns_max, |s| s.saturating_mul(1_000_000_000)),
        ..all
    }
}

/// What the server's threads are given.
fn realtime(opened: &Opened) -> Realtime {
    opened.deployment.collect.realtime.map(|realtime| realtime.realtime()).unwrap_or_default()
}

/// What the server knows of keys, and asks of the key folder while it runs.
pub fn key_ring(opened: &Opened) -> Result<KeyRing, Error> {
    let mut ring = KeyRing::new(opened.keys.store()?);
    // Logs of several servers are many, and the key folder notes one: what must be used once is the cluster's there.
    if !opened.deployment.collect.is_shared() {
        // Before the store is begun for any node: one that is not the last is not touched.
        let note = opened.keys.begin_anchor(&opened.layout.store())?;
        ring.anchor_by(note.found(), move |anchor| note.keep(anchor).map_err(as_io));
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
        for computer in &cell.computers {
            let (suite, grid, id) = (computer.suite, computer_grid(computer), computer.id);
            let (master, epoch_from) =
                (opened.keys.node(id)?, opened.keys.begin_store(&opened.layout.store(), id)?);
            let (epoch_frames, settings) = (None, Settings::default());
            ring.add_node(id, Node { master, suite, epoch_from, epoch_frames, settings, grid });
        }
    }
    let (keys, deployment) = (opened.keys.clone(), opened.deployment.clone());
    ring.read_present_by(move || keys.present(&deployment).map_err(as_io));
    let keys = opened.keys.clone();
    ring.take_epochs_by(move |id| match keys.take_epoch(id) {
        Ok(epoch) => Ok(Some(epoch)),
        Err(Error::Key { fault: KeyFault::EpochsUsedUp, .. }) => Ok(None),
        Err(error) => Err(as_io(error)),
    });
    Ok(ring)
}

/// The same for the server, which goes on where the disk is full.
pub fn as_io(error: Error) -> io::Error {
    let kind = match &error {
        Error::Io { source, .. } => source.kind(),
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, error.to_string())
}

fn rows(experiment: &Experiment, stats: &Stats) -> Vec<Row> {
    let count = |metric: &str, value: u64| experiment.row("server", metric, value, "", Clock::None);
    let latency = &stats.durable_latency;
    let micros =
        |metric: &str, ns: u64| experiment.row("server", metric, ns as f64 / 1000.0, "us", Clock::Wall);
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
        micros("arrival to durable, p99.9", latency.p999_ns),
        micros("arrival to durable, p99.99", latency.p9999_ns),
        micros("arrival to durable, most seen", latency.max_ns),
    ];
    for (name, stage) in stats.stages.named() {
        rows.extend([
            micros(&format!("{name}, median"), stage.p50_ns),
            micros(&format!("{name}, p99"), stage.p99_ns),
            micros(&format!("{name}, most seen"), stage.max_ns),
        ]);
    }
    let by_clock = |metric: &str, value: u64| {
        (value > 0).then(|| experiment.row("server", metric, value, "", Clock::Wall))
    };
    rows.extend(by_clock("datagrams dropped", stats.datagrams_dropped));
    rows.extend(by_clock("answers withheld", stats.answers_withheld));
    if stats.frames_unauthenticated > 0 {
        rows.push(count("frames stored, not authenticated", stats.frames_unauthenticated));
    }
    rows.extend(by_clock("ranges of counters forgotten", stats.counter_ranges_forgotten));
    if stats.torn_tails > 0 {
        rows.extend([
            experiment.row("server", "torn tails cut off", stats.torn_tails, "", Clock::Wall),
            experiment.row("server", "bytes of torn tails", stats.torn_bytes, "B", Clock::Wall),
        ]);
    }
    rows.extend(
        stats.frames_failed.iter().map(|(status, value)| count(&format!("failed: {status}"), *value)),
    );
    rows.extend(stats.refused.iter().map(|(status, value)| count(&format!("refused: {status}"), *value)));
    rows
}

/// What belongs to times that matter: the deadline, what the threads were given, and the machine meanwhile.
fn realtime_rows(opened: &Opened, experiment: &Experiment, stats: &Stats, began: &Began) -> Vec<Row> {
    let Some(realtime) = opened.deployment.collect.realtime else { return Vec::new() };
    let mut rows = vec![experiment.row("server", "threads", realtime.words(), "", Clock::None)];
    if let Some(deadline) = stats.deadline {
        let count = |metric: &str, value: u64| experiment.row("server", metric, value, "", Clock::Wall);
        let deadline_us = deadline.deadline_ns as f64 / 1e3;
        rows.extend([
            experiment.row("server", "deadline", deadline_us, "us", Clock::Wall),
            count("deadline met", deadline.met),
            count("deadline missed", deadline.missed),
            count("longest run of misses", deadline.longest_run),
        ]);
    }
    rows.extend(began.ended().facts().into_iter().map(|(what, unit, value)| {
        let clock = if unit.is_empty() { Clock::None } else { Clock::Wall };
        experiment.row("machine", what, value, unit, clock)
    }));
    rows
}
