//! The server of a benchmark: a process of its own, with the keys of the load in place of a deployment's.
//!
//! Owns its command line, which is for nobody else, how it is started, and what it says at its end.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use collect::limits::Limits;
use collect::nats::{self, Cluster, Protection};
use collect::stats::{Deadline, Latency, Stages, Stats};
use collect::{load, serve};
use selvedge::error::Error;
use selvedge::link::anchoring::Note;
use selvedge::link::certificates::Certificates;
use selvedge::link::launch::{Daemon, Launcher, die_with_parent, tell_ready};
use selvedge::link::realtime::RealtimeAsked;
use serde::Deserialize;

use super::LOAD;
use crate::broker::stage;
use crate::collect::serve::as_io;
use crate::output::Output;
use crate::stop;

/// Connections that have not said hello yet: those of a benchmark all do.
const HANDSHAKES_MAX: usize = 1024;
/// Milliseconds for which a peer may leave its answers unread: short, as one is waited for that does.
const WRITE_MS_MAX: u64 = 5_000;

/// What is chosen of the server: in which class its threads are, and how much it syncs at once.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Chosen {
    /// The class of the threads that open and store
    #[arg(long, value_enum, default_value_t = PolicyName::Other)]
    policy: PolicyName,
    /// Their priority under `fifo` and `fifo-commit`
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=99))]
    priority: u32,
    /// Pin each thread that opens to a core
    #[arg(long)]
    pin: bool,
    /// Lock the server's memory
    #[arg(long)]
    lock_memory: bool,
    /// Close a group of batches, which are synced together, at so many KiB, in place of the server's own limit
    #[arg(long, value_name = "KIB", value_parser = clap::value_parser!(u32).range(1..=65536))]
    group_kib: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PolicyName {
    Other,
    Fifo,
    FifoCommit,
    Deadline,
}

impl Chosen {
    /// As a deployment asks for it.
    pub fn asked(self) -> RealtimeAsked {
        let policy = match self.policy {
            PolicyName::Other => "other",
            PolicyName::Fifo => "fifo",
            PolicyName::FifoCommit => "fifo-commit",
            PolicyName::Deadline => "deadline",
        };
        let Chosen { priority, pin, lock_memory, .. } = self;
        RealtimeAsked { policy, priority, pin, lock_memory, deadline_us: None }
    }

    fn options(self) -> Vec<String> {
        let policy = self.asked().policy.to_owned();
        let mut options =
            vec!["--policy".to_owned(), policy, "--priority".to_owned(), self.priority.to_string()];
        options.extend(self.pin.then(|| "--pin".to_owned()));
        options.extend(self.lock_memory.then(|| "--lock-memory".to_owned()));
        options.extend(self.group_kib.map(|kib| format!("--group-kib={kib}")));
        options
    }

    /// At which length a group is closed.
    pub fn group_bytes(self) -> usize {
        self.group_kib.map_or(Limits::default().group_bytes_max, |kib| kib as usize * 1024)
    }
}

/// The server of a benchmark.
#[derive(clap::Args)]
pub struct Arguments {
    store: PathBuf,
    #[arg(long)]
    certificates: PathBuf,
    #[arg(long)]
    seed: u64,
    #[arg(long)]
    connections: usize,
    #[arg(long)]
    deadline_us: u64,
    /// Bytes that it keeps of its store
    #[arg(long)]
    retain_bytes: u64,
    /// Servers of a cluster, in place of connections
    #[arg(long)]
    nats: Vec<String>,
    /// Partitions there
    #[arg(long, default_value_t = 1)]
    partitions: u16,
    /// Acknowledge what comes there, and store nothing
    #[arg(long)]
    acknowledge: bool,
    #[command(flatten)]
    chosen: Chosen,
    #[arg(long)]
    ready_fd: Option<u32>,
}

/// How batches come to it.
#[derive(Clone, Debug)]
pub enum Way {
    /// Over connections with TLS.
    Tcp,
    /// Through a cluster.
    Nats(Cluster),
    /// Through a cluster, and nothing is stored.
    Acknowledge(Cluster),
}

impl Way {
    fn options(&self) -> Vec<String> {
        let (Way::Nats(cluster) | Way::Acknowledge(cluster)) = self else { return Vec::new() };
        let servers = cluster.servers.iter().flat_map(|server| ["--nats".to_owned(), server.clone()]);
        let mut options: Vec<String> = servers.collect();
        options.extend(["--partitions".to_owned(), cluster.partitions.to_string()]);
        options.extend(matches!(self, Way::Acknowledge(_)).then(|| "--acknowledge".to_owned()));
        options
    }
}

/// What the parent asks of it.
pub struct Wanted<'a> {
    pub way: Way,
    pub store: &'a Path,
    pub certificates: &'a Path,
    pub seed: u64,
    pub connections: usize,
    pub deadline_us: u64,
    pub retain_bytes: u64,
    pub chosen: Chosen,
}

/// What it counted.
#[derive(Debug, Deserialize)]
pub struct Counted {
    pub batches: u64,
    pub frames_stored: u64,
    pub groups: u64,
    pub connections_failed: u64,
    pub durable_latency: Latency,
    pub stages: Stages,
    pub deadline: Option<Deadline>,
}

/// A server that runs.
pub struct Server {
    daemon: Daemon,
    address: Option<SocketAddr>,
}

impl Server {
    /// Starts one.
    ///
    /// # Errors
    /// The environment's, and what it says itself.
    pub fn start(launcher: &Launcher, wanted: &Wanted<'_>) -> Result<Server, Error> {
        let mut arguments = vec!["collect".into(), "bench-server".into(), wanted.store.into()];
        arguments.extend(["--certificates".into(), wanted.certificates.into()]);
        let numbers = [
            ("--seed", wanted.seed),
            ("--connections", wanted.connections as u64),
            ("--deadline-us", wanted.deadline_us),
            ("--retain-bytes", wanted.retain_bytes),
        ];
        for (option, number) in numbers {
            arguments.extend([option.into(), number.to_string().into()]);
        }
        let options = wanted.way.options().into_iter().chain(wanted.chosen.options());
        arguments.extend(options.map(Into::into));
        let daemon = launcher.start_daemon("collect bench-server", "server", arguments)?;
        let address = match wanted.way {
            Way::Nats(_) | Way::Acknowledge(_) => None,
            Way::Tcp => {
                let path = address_file(wanted.store);
                let text = fs::read_to_string(&path).map_err(|cause| Error::io("read", &path, cause))?;
                Some(text.trim().parse().expect("it is ours, and whole before the server is ready"))
            }
        };
        Ok(Server { daemon, address })
    }

    /// Where it listens for connections.
    ///
    /// # Panics
    /// When it has none.
    pub fn address(&self) -> SocketAddr {
        self.address.expect("it was asked for connections")
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.daemon.id()
    }

    /// Ends it; what it counted.
    ///
    /// # Errors
    /// The environment's, and what it says itself.
    pub fn stop(self) -> Result<Counted, Error> {
        let lines = stage::stop(self.daemon)?;
        let counted = lines.last().and_then(|line| serde_json::from_str(line).ok());
        counted.ok_or(Error::ServerHungUp)
    }

    /// Ends one that has nothing to say.
    ///
    /// # Errors
    /// The environment's, and what it says itself.
    pub fn end(self) -> Result<(), Error> {
        stage::stop(self.daemon).map(drop)
    }
}

fn address_file(store: &Path) -> PathBuf {
    store.with_extension("address")
}

/// Serves until SIGTERM, and says what was counted.
///
/// # Errors
/// The environment's.
pub fn run(arguments: &Arguments) -> Result<(), Error> {
    die_with_parent(arguments.ready_fd).map_err(Error::process("collect bench-server"))?;
    broker::descriptors::raise(arguments.connections)?;
    let listening = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let listening = listening.map_err(Error::process("collect bench-server"))?;
    let within = listening.enter();
    let stop = stop::asked();
    drop(within);
    let ready_fd = arguments.ready_fd;
    let tell_ready = move || {
        // A parent that does not wait any more has ended, and so does this process.
        let _ = tell_ready(ready_fd);
    };
    let (servers, partitions) = (arguments.nats.clone(), arguments.partitions);
    let cluster = Cluster { servers, partitions, protection: Protection::Loopback };
    let stats = match cluster {
        cluster if cluster.servers.is_empty() => serve_connections(arguments, tell_ready, stop)?,
        cluster if arguments.acknowledge => {
            let limits = limits(arguments);
            let batches = listening.block_on(nats::bare::acknowledge(&cluster, &limits, tell_ready, stop))?;
            return Output::new(true).put("", &batches);
        }
        cluster => {
            let config = nats::serve::Config {
                cluster,
                keys: load::ring(LOAD.suite, arguments.seed),
                store: arguments.store.clone(),
                limits: limits(arguments),
                stats: None,
                realtime: arguments.chosen.asked().realtime(),
            };
            nats::serve::serve(config, tell_ready, stop)?
        }
    };
    // For the parent alone, whatever was asked of it: a line of JSON.
    Output::new(true).put("", &stats)
}

fn limits(arguments: &Arguments) -> Limits {
    Limits {
        retain_bytes_max: arguments.retain_bytes,
        connections_max: arguments.connections,
        handshakes_max: HANDSHAKES_MAX,
        write_ms_max: WRITE_MS_MAX,
        deadline_ns: Some(arguments.deadline_us * 1_000),
        group_bytes_max: arguments.chosen.group_bytes(),
        ..Limits::default()
    }
}

fn serve_connections(
    arguments: &Arguments,
    tell_ready: impl FnOnce(),
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<Stats, Error> {
    let identity = Certificates::in_folder(&arguments.certificates)?.server()?;
    let tls = collect::tls::Identity {
        certificates_pem: &identity.certificate,
        private_key_pem: &identity.key,
        peer_authority_pem: &identity.authority,
    };
    let address = SocketAddr::from(([127, 0, 0, 1], 0));
    let listener = TcpListener::bind(address).map_err(|source| Error::Listen { address, source })?;
    let mut keys = load::ring(LOAD.suite, arguments.seed);
    // As the server of a deployment does beside its keys; the store is a new one.
    let note = Note::begin(&arguments.store.with_extension("note"), &arguments.store)?;
    keys.anchor_by(None, move |anchor| note.keep(anchor).map_err(as_io));
    let config = serve::Config {
        transport: serve::Transport::Tcp { listener, tls: tls.server()? },
        keys,
        store: arguments.store.clone(),
        limits: limits(arguments),
        control: None,
        looks: None,
        stats: None,
        realtime: arguments.chosen.asked().realtime(),
    };
    let told = address_file(&arguments.store);
    let ready = move |address: SocketAddr, _| {
        // Who waits learns from the missing file, or from our end, that it did not work.
        if fs::write(told, format!("{address}\n")).is_ok() {
            tell_ready();
        }
    };
    Ok(serve::serve(config, ready, stop)?)
}
