//! `selvedge bridge`: forwards a cell's frames to the server, and loses none that it has counted.

use std::fs;
use std::io;
use std::sync::Arc;

use cipher::{OsRandomness, Randomness};
use collect::error::Fault;
use report::row::{Clock, Experiment};
use selvedge::error::Error;
use selvedge::link::bridge::spool::Capacity;
use selvedge::link::bridge::{Address, Config, Server, Stats, serve};
use selvedge::link::certificates::SERVER_NAME;
use selvedge::link::transport::Transport;

use crate::output::Output;
use crate::place::{Opened, Place};
use crate::stop;

/// Forward a cell's frames to the server, through a durable spool
#[derive(clap::Args)]
#[command(after_help = "Example: selvedge bridge deployments/ecg.toml --out out/ecg")]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
    /// The cell, where the deployment has several
    #[arg(long, value_name = "NAME")]
    cell: Option<String>,
}

/// Serves one cell until it is asked to end.
pub fn run(arguments: Arguments, output: &Output) -> Result<(), Error> {
    let opened = arguments.place.open()?;
    let cell = opened.cell(arguments.cell.as_deref())?;
    let name = format!("bridge {}", cell.name);
    let runtime = tokio::runtime::Runtime::new().map_err(Error::process(&name))?;
    let mut identity = [0; 8];
    OsRandomness.fill(&mut identity).map_err(Error::process(&name))?;
    let _within = runtime.enter();
    let stats = runtime.block_on(serve(Config {
        cell: cell.id,
        batch_superframes: opened.deployment.bridge.batch_superframes.into(),
        socket: opened.layout.bridge_socket(cell.id),
        spool: opened.layout.spool(cell.id),
        broker: opened.layout.broker_socket(),
        server: server(&opened, cell.id)?,
        capacity: Capacity::default(),
        identity: u64::from_le_bytes(identity),
        ready: opened.ready(),
        stop: stop::asked(),
    }))?;
    let experiment = Experiment::new(&opened.deployment.name, "selvedge bridge");
    output.rows(&name, &rows(&experiment, &name, &stats))
}

/// The server, wherever it listens now.
fn server(opened: &Opened, cell: u16) -> Result<Server, Error> {
    let told = opened.layout.server_address();
    let configured = opened.deployment.collect.address;
    let address: Address = Arc::new(move || {
        if configured.port() != 0 {
            return Ok(configured);
        }
        let text = fs::read_to_string(&told)?;
        text.trim().parse().map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "found no address"))
    });
    match &opened.deployment.collect.transport {
        Transport::Tcp => {
            let identity = opened.keys.certificates().bridge(cell)?;
            let tls = collect::tls::Identity {
                certificates_pem: &identity.certificate,
                private_key_pem: &identity.key,
                peer_authority_pem: &identity.authority,
            };
            Ok(Server::Tcp { address, name: SERVER_NAME.to_owned(), tls: tls.client()? })
        }
        Transport::Udp => Ok(Server::Udp { address }),
        Transport::Nats(cluster) => Ok(Server::Nats(cluster.clone())),
    }
}

fn rows(experiment: &Experiment, name: &str, stats: &Stats) -> Vec<report::row::Row> {
    let count = |metric: &str, value: u64| experiment.row(name, metric, value, "", Clock::None);
    let timed = |metric: &str, value: u64| experiment.row(name, metric, value, "", Clock::Wall);
    let mut rows = vec![
        count("frames counted", stats.frames_counted),
        count("batches answered", stats.batches_answered),
        count("batches pending", stats.batches_pending),
        count("frames failed", stats.frames_failed.values().sum()),
        count("frames known to the server", stats.frames_duplicate),
        timed("batches resent", stats.faults.resent),
        timed("batches refused", stats.faults.refused),
        timed("strange receipts", stats.faults.strange),
        timed("reconnections", stats.faults.reconnects),
        timed("times the spool was full", stats.full_times),
        experiment.row(name, "spool full", stats.full_ms, "ms", Clock::Wall),
    ];
    rows.extend(stats.frames_failed.iter().map(|(&status, &frames)| {
        let reason = Fault::from_number(status).map_or(format!("status {status}"), |fault| fault.to_string());
        count(&format!("failed: {reason}"), frames)
    }));
    rows
}
