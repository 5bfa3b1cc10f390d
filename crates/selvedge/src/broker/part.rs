//! The processes that `selvedge broker bench` starts: applications that ask as fast as they are answered, and the servers
//! that they ask.
//!
//! Owns their command lines, which are for nobody else, and the line in which an application says what it saw.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use broker::device::{Alone, Device, Loopback, OpenBus, SocketBus};
use broker::emulate::ClockedConfig;
use broker::emulate::clocked::Clocks;
use broker::emulate::faults::{Faults, Rates};
use broker::emulate::preset::Preset;
use broker::engine::SoftwareEngine;
use broker::link::Rest;
use broker::load::{self, Load};
use broker::simulation::sharing::Sharing;
use broker::{Config, Endpoint, Settings, descriptors};
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Uid, getuid};
use rustix::thread::set_thread_res_uid;
use selvedge::error::Error;
use selvedge::link::launch::{die_with_parent, tell_ready};
use serde::{Deserialize, Serialize};

use super::bench::hostile_settings;
use super::device::presets;
use super::switches::Switches;
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
    #[arg(long, default_value_t = u64::MAX)]
    total: u64,
    #[arg(long)]
    ready_fd: Option<u32>,
}

/// An application that drives the device itself, when it has a lock.
#[derive(clap::Args)]
pub struct Direct {
    /// The device
    socket: PathBuf,
    /// The lock, in which the link's session is kept
    #[arg(long)]
    lock: PathBuf,
    /// The device is open already, on standard input
    #[arg(long)]
    kept: bool,
    #[arg(long)]
    gate: PathBuf,
    #[arg(long)]
    pdu_bytes: usize,
    #[arg(long)]
    total: u32,
    #[arg(long)]
    ready_fd: Option<u32>,
}

/// A device of a benchmark, and the broker in front of one.
#[derive(clap::Args)]
pub struct Clocked {
    socket: PathBuf,
    /// A broker's, of this device
    #[arg(long)]
    device: Option<PathBuf>,
    /// A request for each transfer, and one transfer at a time
    #[arg(long)]
    one_by_one: bool,
    #[arg(long, value_parser = presets())]
    preset: Preset,
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
    /// How long it looks out before it sleeps, in place of the usual time
    #[arg(long)]
    attention_us: Option<u64>,
}

/// What an application says at its end.
#[derive(Serialize, Deserialize)]
pub struct Told {
    /// Requests that were answered.
    pub answered: u64,
    /// Latencies in nanoseconds, and how many requests had each.
    pub latency_ns: Vec<(u64, u64)>,
    /// When it had asked all that it asked.
    pub ended_at: SystemTime,
    /// While it asked.
    pub switches: Switches,
}

/// Is an application.
pub fn ask(application: &Application, output: &Output) -> Result<(), Error> {
    let failed = || Error::process("application");
    let gate = File::open(&application.gate).map_err(|cause| Error::io("open", &application.gate, cause))?;
    let load = Load {
        pdu_bytes: application.pdu_bytes,
        outstanding: application.outstanding,
        pause: Duration::from_micros(application.pause_us),
        warm_up: Duration::from_millis(application.warm_up_ms),
        duration: Duration::from_millis(application.duration_ms),
        total: application.total,
    };
    // Whose a connection is, is decided when it is made. This process has one thread.
    let become_user = |user: Option<u32>| {
        let (own, uid) = (getuid(), user.map_or(getuid(), Uid::from_raw));
        set_thread_res_uid(own, uid, own).map_err(|errno| failed()(errno.into()))
    };
    become_user(application.user)?;
    let prepared = load::prepare(&application.socket, &load).map_err(failed())?;
    become_user(None)?;
    // The kernel forgets this when a process becomes somebody else.
    die_with_parent(application.ready_fd).map_err(failed())?;
    tell_ready(application.ready_fd).map_err(failed())?;
    flock(&gate, FlockOperation::LockShared).map_err(|errno| failed()(errno.into()))?;
    let before = Switches::of("self").map_err(failed())?;
    let seen = prepared.run().map_err(failed())?;
    let ended_at = SystemTime::now();
    let switches = Switches::of("self").map_err(failed())? - before;
    let latencies = seen.latency_ns.iter_recorded();
    let latency_ns = latencies.map(|value| (value.value_iterated_to(), value.count_at_value())).collect();
    tell(output, &Told { answered: seen.answered, latency_ns, ended_at, switches })
}

/// What the process that started this one reads.
pub(super) fn tell(output: &Output, told: &impl Serialize) -> Result<(), Error> {
    output.put(&serde_json::to_string(told).expect("our values are JSON"), told)
}

/// Is an application that has the device when it has the lock.
pub fn take_turn(direct: &Direct, output: &Output) -> Result<(), Error> {
    let failed = || Error::process("application");
    die_with_parent(direct.ready_fd).map_err(failed())?;
    let open = |path: &PathBuf, may_write| {
        let file = File::options().read(true).write(may_write).open(path);
        file.map_err(|cause| Error::io("open", path, cause))
    };
    let (gate, lock) = (open(&direct.gate, false)?, open(&direct.lock, true)?);
    let kept = std::io::stdin().as_fd().try_clone_to_owned().map_err(failed())?;
    tell_ready(direct.ready_fd).map_err(failed())?;
    flock(&gate, FlockOperation::LockShared).map_err(|errno| failed()(errno.into()))?;
    let before = Switches::of("self").map_err(failed())?;
    flock(&lock, FlockOperation::LockExclusive).map_err(|errno| failed()(errno.into()))?;
    let latencies = drive(direct, kept, &lock).map_err(failed())?;
    flock(&lock, FlockOperation::Unlock).map_err(|errno| failed()(errno.into()))?;
    let ended_at = SystemTime::now();
    let switches = Switches::of("self").map_err(failed())? - before;
    let latency_ns = latencies.iter().map(|latency| (latency.as_nanos() as u64, 1)).collect();
    tell(output, &Told { answered: latencies.len() as u64, latency_ns, ended_at, switches })
}

/// What one does that has the lock.
fn drive(direct: &Direct, kept: OwnedFd, lock: &File) -> io::Result<Vec<Duration>> {
    let device = SocketBus { path: direct.socket.clone() };
    let preset = Sharing::Locked.preset(Preset::named(DIRECT_PRESET).expect("it is in the table"));
    let bus = match direct.kept {
        true => SocketBus::adopt(kept.into(), preset.transaction_bytes_max, preset.depth),
        false => device.open()?,
    };
    let mut rest = [0; Rest::BYTES];
    lock.read_exact_at(&mut rest, 0)?;
    let requests = load::echoes(direct.pdu_bytes, direct.total)?;
    let (rest, latencies) = Alone::new(bus)?.ask(Rest::of_bytes(rest), requests, preset.piece_bytes_max())?;
    lock.write_all_at(&rest.to_bytes(), 0)?;
    Ok(latencies)
}

/// The device of all who drive one themselves.
pub const DIRECT_PRESET: &str = "ftdi-30MHz";

/// What a clocked device says at its end.
#[derive(Serialize, Deserialize)]
pub struct Counted {
    pub opens: u64,
    pub transactions: u64,
    pub requests: u64,
    pub cycles: u64,
    pub request_cycles: u64,
    pub answer_cycles: u64,
}

impl Counted {
    /// What a device said.
    pub fn of(lines: &[String]) -> Result<Counted, Error> {
        let said = lines.last().and_then(|line| serde_json::from_str(line).ok());
        said.ok_or_else(|| Error::process("clocked")(io::ErrorKind::InvalidData.into()))
    }
}

/// Is a clocked device, or the broker in front of one.
pub async fn serve_clocked(clocked: Clocked, output: &Output) -> Result<(), Error> {
    die_with_parent(clocked.ready_fd).map_err(Error::process("clocked"))?;
    let sharing = if clocked.one_by_one { Sharing::OneByOne } else { Sharing::Gathered };
    let preset = sharing.preset(clocked.preset);
    let ready = Box::new(move || {
        // A parent that does not wait any more has ended, and so does this process.
        let _ = tell_ready(clocked.ready_fd);
    });
    let endpoint = Endpoint::Shared(clocked.socket);
    if let Some(path) = clocked.device {
        let settings = sharing.settings(&preset).expect("it has a broker");
        let device = Device::Bus(Arc::new(SocketBus { path }));
        broker::serve(Config {
            endpoint,
            devices: vec![device.into()],
            settings,
            ready,
            stop: stop::asked(),
        })
        .await?;
        return Ok(());
    }
    let faults = Faults::new(Rates::default(), 0);
    let config =
        ClockedConfig { endpoint, keys: Vec::new(), store: None, preset, faults, ready, stop: stop::asked() };
    let clocks = broker::emulate::serve_clocked(config).await?;
    let Clocks { opens, transactions, requests, cycles, request_cycles, answer_cycles, .. } = clocks;
    tell(output, &Counted { opens, transactions, requests, cycles, request_cycles, answer_cycles })
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
        devices: vec![Device::Inline(Box::new(Loopback::default())).into()],
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
    let Soft { server, lanes, attention_us } = soft;
    let mut settings = Settings::default();
    settings.attention = attention_us.map_or(settings.attention, Duration::from_micros);
    die_with_parent(server.ready_fd).map_err(Error::process("soft"))?;
    broker::serve(Config {
        endpoint: Endpoint::Shared(server.socket),
        devices: vec![Device::soft(SoftwareEngine::new(Vec::new())?, Some(lanes)).into()],
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
