//! `selvedge collect bench`: what the server takes and how long that lasts, each goal beside what it is compared with.
//!
//! Owns the list of scenarios, and what all of them have in common: a server process with its folder on the disk that is
//! measured, connections to it, and that nothing is lost. Server and gateways share the machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use collect::load::{CELL, Load};
use indicatif::{ProgressBar, ProgressStyle};
use report::page::{Page, Section};
use report::row::Clock;
use rustls::ClientConfig;
use selvedge::error::Error;
use selvedge::link::certificates::Certificates;
use selvedge::link::launch::Launcher;
use selvedge::link::quantity::{self, DURATION};
use selvedge::whole;
use tokio::runtime::Runtime;

use self::cores::Usage;
use self::gateway::{Gateway, Received};
use self::server::{Chosen, Counted, Server, Wanted, Way};
use crate::goals::Goals;
use crate::machine::{Began, Machine};
use crate::output::Output;
use crate::stop;

mod bare;
mod connections;
mod cores;
mod gateway;
mod latency;
mod nats;
mod pace;
mod rate;
pub mod server;

/// What is sent: waveforms of 1,000 nodes, from as many as there are frames in a batch.
const LOAD: Load =
    Load { suite: cipher::Suite::Aes128Ccm, frame_bytes: 4096, frames_per_batch: 64, nodes_per_batch: 64 };
/// Connections that carry it.
const GATEWAYS: usize = 4;
const LEAD: &str = "What the measurement server takes over TLS to disk, how long that lasts by stage, and what the cores \
                    do meanwhile. Gateways seal before, and send from processes on the same machine.";

/// Bytes that a server keeps of its store, where it is not compared with a log that keeps fewer.
const RETAIN_BYTES: u64 = 8 << 30;

/// What is measured, and how long.
#[derive(clap::Args)]
pub struct Arguments {
    /// What to measure; all of it when none is named
    #[arg(value_enum)]
    scenarios: Vec<Scenario>,
    /// A folder on the disk to measure; what is written there is removed
    #[arg(long, value_name = "DIR", default_value = ".")]
    disk: PathBuf,
    /// How long the soak takes [default: 5 min]
    #[arg(long = "for", value_name = "TIME", value_parser = time)]
    soak: Option<Duration>,
    #[command(flatten)]
    chosen: Chosen,
    /// The folder in which `scripts/nats.sh start` has started a cluster, for `nats`
    #[arg(long, value_name = "DIR")]
    cluster: Option<PathBuf>,
    /// The seed of the nodes' keys
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Short windows and small numbers, to see that it works
    #[arg(long)]
    quick: bool,
    /// Write a page with tables and charts
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Lines for `make bench` in place of a table of goals
    #[arg(long, hide = true)]
    goals: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Scenario {
    /// The most that goes over TLS to disk, beside a bare log of the same bytes
    Rate,
    /// How long that takes at half of it, by stage
    Latency,
    /// Memory of the server at half of it
    Soak,
    /// 10,000 connections at once, one slow reader among them
    Connections,
    /// Through three servers of NATS, beside a consumer that does not store; only with --cluster
    Nats,
}

/// How much is measured.
struct Effort {
    windows: usize,
    window: Duration,
    latency: Duration,
    soak: Duration,
}

/// What all scenarios use, and where they say what they measured.
struct Bench {
    seed: u64,
    is_quick: bool,
    chosen: Chosen,
    effort: Effort,
    launcher: Launcher,
    runtime: Runtime,
    folder: tempfile::TempDir,
    tls: Arc<ClientConfig>,
    goals: Goals,
    sections: Vec<Section>,
    /// Frames a second over TLS to disk, once that is known.
    rate: Option<f64>,
}

fn time(text: &str) -> Result<Duration, String> {
    let time_ps = quantity::parse(text, &DURATION).ok().and_then(|ps| u64::try_from(ps).ok());
    let time =
        time_ps.map(|ps| Duration::from_nanos(ps / 1_000)).filter(|time| *time >= Duration::from_secs(1));
    time.ok_or_else(|| "expected a duration of a second or more, such as `5 min`".to_owned())
}

/// Measures.
///
/// # Errors
/// The environment's.
pub fn run(arguments: &Arguments, output: &Output) -> Result<(), Error> {
    if let Err(words) = arguments.check_nats() {
        clap::Error::raw(clap::error::ErrorKind::MissingRequiredArgument, words).exit();
    }
    let began = Began::now();
    let mut bench = Bench::new(arguments)?;
    bench.goals.row("all", "seed", arguments.seed, "", Clock::None);
    bench.goals.row("all", "a group is closed at", arguments.chosen.group_bytes(), "B", Clock::None);
    bench.goals.row("all", "the server's threads", arguments.chosen.asked().words(), "", Clock::None);
    for scenario in Scenario::value_variants() {
        if arguments.wants(*scenario) {
            match scenario {
                Scenario::Rate => rate::measure(&mut bench)?,
                Scenario::Latency => latency::measure(&mut bench)?,
                Scenario::Soak => latency::soak(&mut bench)?,
                Scenario::Connections => connections::measure(&mut bench)?,
                Scenario::Nats => match &arguments.cluster {
                    Some(folder) => nats::measure(&mut bench, folder)?,
                    None => eprintln!(
                        "skip: through JetStream: found no --cluster; `scripts/nats.sh start DIR` starts one"
                    ),
                },
            }
        }
    }
    let machine = began.ended();
    for (what, unit, value) in machine.facts() {
        let clock = if unit.is_empty() { Clock::None } else { Clock::Wall };
        bench.goals.row("machine", what, value, unit, clock);
    }
    if let Some(path) = &arguments.page {
        whole::write(path, bench.page(&machine).as_bytes())?;
    }
    bench.goals.show(output, arguments.goals)
}

impl Arguments {
    fn wants(&self, scenario: Scenario) -> bool {
        self.scenarios.is_empty() || self.scenarios.contains(&scenario)
    }

    /// Before there is anything to remove: who ends the process removes nothing.
    fn check_nats(&self) -> Result<(), &'static str> {
        if self.cluster.is_none() && self.scenarios.contains(&Scenario::Nats) {
            return Err("nats needs --cluster: `scripts/nats.sh start DIR` starts one\n");
        }
        if self.cluster.is_some() && self.wants(Scenario::Nats) && self.chosen.asked().policy == "deadline" {
            return Err(
                "nats goes with --policy other or fifo: deadlines are dealt to the threads of one log\n",
            );
        }
        Ok(())
    }
}

impl Bench {
    fn new(arguments: &Arguments) -> Result<Bench, Error> {
        let failed = || Error::process("collect bench");
        let folder = tempfile::Builder::new().prefix("selvedge-bench-").tempdir_in(&arguments.disk);
        let folder = folder.map_err(|cause| Error::io("make a folder in", &arguments.disk, cause))?;
        let certificates = Certificates::make(&folder.path().join("tls"), [CELL])?;
        let identity = certificates.bridge(CELL)?;
        let tls = collect::tls::Identity {
            certificates_pem: &identity.certificate,
            private_key_pem: &identity.key,
            peer_authority_pem: &identity.authority,
        };
        let tls = tls.client()?;
        let seconds = Duration::from_secs;
        let soak = arguments.soak.unwrap_or(seconds(300));
        let effort = match arguments.quick {
            false => Effort { windows: 10, window: seconds(10), latency: seconds(20), soak },
            true => {
                let window = Duration::from_millis(50);
                let soak = arguments.soak.unwrap_or(seconds(1));
                Effort { windows: 2, window, latency: Duration::from_millis(200), soak }
            }
        };
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        Ok(Bench {
            seed: arguments.seed,
            is_quick: arguments.quick,
            chosen: arguments.chosen,
            effort,
            launcher: Launcher::new(folder.path(), stop::flag().map_err(failed())?),
            runtime: runtime.map_err(failed())?,
            tls,
            folder,
            goals: Goals::new("collect bench", &format!("selvedge collect bench --seed {}", arguments.seed)),
            sections: Vec::new(),
            rate: None,
        })
    }

    /// Starts a server for so many connections, with an empty store of this name.
    fn server(&self, name: &str, connections: usize, retain_bytes: u64) -> Result<Server, Error> {
        // What an earlier one stored is not ours to measure.
        let _ = fs::remove_dir_all(self.folder.path().join(name));
        self.server_by(name, Way::Tcp, connections, retain_bytes)
    }

    /// Starts one, with what is stored under this name.
    fn server_by(
        &self,
        name: &str,
        way: Way,
        connections: usize,
        retain_bytes: u64,
    ) -> Result<Server, Error> {
        let store = self.folder.path().join(name);
        let certificates = self.folder.path().join("tls");
        let wanted = Wanted {
            way,
            store: &store,
            certificates: &certificates,
            seed: self.seed,
            connections,
            deadline_us: DEADLINE_US,
            retain_bytes,
            chosen: self.chosen,
        };
        Server::start(&self.launcher, &wanted)
    }

    /// A connection for each spool.
    fn connect(&self, server: &Server, spools: impl Iterator<Item = u64>) -> Result<Vec<Gateway>, Error> {
        self.runtime.block_on(async {
            let mut gateways = Vec::new();
            for spool in spools {
                gateways.push(Gateway::connect(server.address(), self.tls.clone(), spool).await?);
            }
            Ok(gateways)
        })
    }

    fn usage(&self, id: u32) -> Result<Usage, Error> {
        cores::usage(id).map_err(Error::process("collect bench"))
    }

    /// A bar on standard error.
    fn progress(&self, what: &'static str, length: u64) -> ProgressBar {
        let style = ProgressStyle::with_template("{bar:40} {pos}/{len} {msg}").expect("the template is ours");
        ProgressBar::new(length).with_style(style).with_message(what)
    }

    /// What was sent is stored, once, and the receipts say so.
    ///
    /// # Panics
    /// When it is not: that is a bug of ours.
    fn conserve(&self, batches: u64, received: Received, counted: &Counted) {
        let frames = batches * LOAD.frames_per_batch as u64;
        let expected = Received { batches, stored: frames, others: 0 };
        assert_eq!(received, expected, "receipts differ from what was sent");
        assert_eq!(
            (counted.batches, counted.frames_stored),
            (batches, frames),
            "counts differ from receipts"
        );
    }

    fn page(&self, machine: &Machine) -> String {
        let mut page = Page::new("The measurement server", LEAD);
        page = page.section(Section::new("Goals").table(self.goals.table(), ""));
        for section in &self.sections {
            page = page.section(section.clone());
        }
        page.provenance("command", format!("selvedge collect bench --seed {}", self.seed))
            .provenance("server", self.chosen.asked().words())
            .provenance("machine", machine.words())
            .provenance("selvedge", env!("CARGO_PKG_VERSION"))
            .html()
    }
}

/// The deadline of which misses are counted, in microseconds: what p99 should be.
const DEADLINE_US: u64 = 3_000;

/// Of the memory that is free, this part may hold sealed batches.
const MEMORY_PART: u64 = 3;

/// Sealed batches that each gateway may hold: at least one.
fn batches_that_fit() -> Result<u64, Error> {
    let path = Path::new("/proc/meminfo");
    let text = fs::read_to_string(path).map_err(|cause| Error::io("read", path, cause))?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    let none = || Error::io("read", path, std::io::Error::other("found no number of `MemAvailable`"));
    let batch_bytes = (LOAD.frames_per_batch * LOAD.frame_bytes) as u64;
    Ok((kib.ok_or_else(none)? * 1024 / MEMORY_PART / batch_bytes / GATEWAYS as u64).max(1))
}
