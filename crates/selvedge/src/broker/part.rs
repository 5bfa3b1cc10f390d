//! The processes that `selvedge broker bench` starts: applications that ask as fast as they are answered, and the servers
//! that they ask.
//!
//! Owns their command lines, which are for nobody else, and the line in which an application says what it saw.

use std::fs::File;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::time::Duration;

use broker::device::{Device, Loopback};
use broker::engine::SoftwareEngine;
use broker::load::{self, Load};
use broker::{Config, Endpoint, descriptors};
use rustix::fs::{FlockOperation, flock};
use selvedge::error::Error;
use selvedge::link::launch::{die_with_parent, tell_ready};
use serde::{Deserialize, Serialize};

use super::bench::hostile_settings;
use crate::output::Output;
use crate::stop;

/// An application of a benchmark.
#[derive(clap::Args)]
pub struct Application {
    /// The server
    socket: PathBuf,
    /// A file that is locked until all applications are there
    #[arg(long)]
    gate: PathBuf,
    /// As somebody else, for whom this process must be root
    #[arg(long)]
    user: Option<u32>,
    #[arg(long)]
    pdu_bytes: usize,
    #[arg(long)]
    outstanding: usize,
    #[arg(long)]
    pause_us: u64,
    #[arg(long)]
    warm_up_ms: u64,
    #[arg(long)]
    duration_ms: u64,
    #[arg(long)]
    ready_fd: Option<u32>,
}

/// A server of a benchmark.
#[derive(clap::Args)]
pub struct Server {
    socket: PathBuf,
    /// Connections at a time, in place of the usual number
    #[arg(long)]
    connections: Option<usize>,
    #[arg(long)]
    ready_fd: Option<u32>,
}

/// A server whose device computes.
#[derive(clap::Args)]
pub struct Soft {
    #[command(flatten)]
    server: Server,
    /// Threads of the device
    #[arg(long)]
    lanes: usize,
}

/// What an application says at its end.
#[derive(Serialize, Deserialize)]
pub struct Told {
    /// Requests that were answered.
    pub answered: u64,
    /// Latencies in nanoseconds, and how many requests had each.
    pub latency_ns: Vec<(u64, u64)>,
}

/// Is an application.
pub fn ask(application: &Application, output: &Output) -> Result<(), Error> {
    let failed = || Error::process("application");
    die_with_parent(application.ready_fd).map_err(failed())?;
    if let Some(user) = application.user {
        // This process has one thread.
        let uid = rustix::process::Uid::from_raw(user);
        rustix::thread::set_thread_res_uid(uid, uid, uid).map_err(|errno| failed()(errno.into()))?;
    }
    let gate = File::open(&application.gate).map_err(|cause| Error::io("open", &application.gate, cause))?;
    let load = Load {
        pdu_bytes: application.pdu_bytes,
        outstanding: application.outstanding,
        pause: Duration::from_micros(application.pause_us),
        warm_up: Duration::from_millis(application.warm_up_ms),
        duration: Duration::from_millis(application.duration_ms),
    };
    let prepared = load::prepare(&application.socket, &load).map_err(failed())?;
    tell_ready(application.ready_fd).map_err(failed())?;
    flock(&gate, FlockOperation::LockShared).map_err(|errno| failed()(errno.into()))?;
    let seen = prepared.run().map_err(failed())?;
    let latencies = seen.latency_ns.iter_recorded();
    let latency_ns = latencies.map(|value| (value.value_iterated_to(), value.count_at_value())).collect();
    let told = Told { answered: seen.answered, latency_ns };
    output.put(&serde_json::to_string(&told).expect("our values are JSON"), &told)
}

/// Is the server that gives back what it is given.
pub fn serve_bare(server: &Server) -> Result<(), Error> {
    let failed = || Error::process("bare");
    die_with_parent(server.ready_fd).map_err(failed())?;
    let listener = UnixListener::bind(&server.socket).map_err(failed())?;
    tell_ready(server.ready_fd).map_err(failed())?;
    load::echo(&listener).map_err(failed())
}

/// Is the broker, with a device that gives back what it is given.
pub async fn serve_loopback(server: Server) -> Result<(), Error> {
    die_with_parent(server.ready_fd).map_err(Error::process("loopback"))?;
    let settings = hostile_settings(server.connections);
    descriptors::raise(settings.bounds.connections)?;
    broker::serve(Config {
        endpoint: Endpoint::Shared(server.socket),
        device: Device::Inline(Box::new(Loopback)),
        settings,
        ready: Box::new(move || {
            // A parent that does not wait any more has ended, and so does this process.
            let _ = tell_ready(server.ready_fd);
        }),
        stop: stop::asked(),
    })
    .await?;
    Ok(())
}

/// Is the broker, with the software device.
pub async fn serve_soft(soft: Soft) -> Result<(), Error> {
    let Soft { server, lanes } = soft;
    die_with_parent(server.ready_fd).map_err(Error::process("soft"))?;
    broker::serve(Config {
        endpoint: Endpoint::Shared(server.socket),
        device: Device::soft(SoftwareEngine::new(Vec::new())?, Some(lanes)),
        settings: Settings::default(),
        ready: Box::new(move || {
            // A parent that does not wait any more has ended, and so does this process.
            let _ = tell_ready(server.ready_fd);
        }),
        stop: stop::asked(),
    })
    .await?;
    Ok(())
}
