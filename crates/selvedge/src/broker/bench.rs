//! `selvedge broker bench`: what the broker costs and how it shares, each goal beside what it is compared with.
//!
//! Owns the list of scenarios, and what all of them have in common: starting processes, asking them all at once, and the
//! table of goals. Values are ratios in one run, and medians of rounds that alternate between what is compared.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use broker::load::no_latencies;
use clap::ValueEnum;
use hdrhistogram::Histogram;
use report::row::{Clock, Experiment, Row};
use report::table::{Column, Entry, Table};
use rustix::fs::{FlockOperation, flock};
use selvedge::error::Error;
use selvedge::link::launch::{Daemon, Daemons, Launcher};

use super::part::Told;
use crate::output::Output;
use crate::stop;

mod echo;
mod fair;
mod hostile;
mod lanes;

pub use hostile::settings as hostile_settings;

/// What is measured, and how long.
#[derive(clap::Args)]
pub struct Arguments {
    /// What to measure; all of it when none is named
    #[arg(value_enum)]
    scenarios: Vec<Scenario>,
    /// How often each point is measured
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=99))]
    rounds: u32,
    /// How long each time, in milliseconds
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u32).range(50..=600_000))]
    duration_ms: u32,
    /// Lines for `make bench` in place of a table of goals
    #[arg(long, hide = true)]
    goals: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Scenario {
    /// The broker beside a bare Unix socket
    Echo,
    /// Equal applications, and one that asks for little beside those that ask for much
    Fair,
    /// Thousands of applications that say nothing or never read
    Hostile,
    /// The software device on one thread and on two
    Lanes,
}

/// What a value has to be.
#[derive(Clone, Copy)]
enum Wanted {
    AtLeast(f64),
    AtMost(f64),
}

/// A goal, and what was measured.
struct Goal {
    what: String,
    value: f64,
    peer: &'static str,
    /// The other's value, with its unit.
    peer_value: String,
    wanted: Wanted,
}

/// Where a scenario says what it measured.
struct Bench {
    launcher: Launcher,
    folder: tempfile::TempDir,
    rounds: u32,
    duration_ms: u32,
    experiment: Experiment,
    rows: Vec<Row>,
    goals: Vec<Goal>,
}

/// Applications that are alike.
#[derive(Clone, Copy)]
struct Crowd {
    count: usize,
    pdu_bytes: usize,
    outstanding: usize,
    pause_us: u64,
    /// The uid of the first, if not our own; each further one has the next.
    user: Option<u32>,
}

/// What a crowd saw.
struct Seen {
    /// Requests that were answered, of each.
    answered: Vec<u64>,
    latency_ns: Histogram<u64>,
}

/// Before what is counted.
const WARM_UP_MS: u32 = 300;

/// Measures.
pub fn run(arguments: &Arguments, output: &Output) -> Result<(), Error> {
    let folder = tempfile::tempdir().map_err(Error::process("selvedge"))?;
    let interrupted: Arc<AtomicBool> = stop::flag().map_err(Error::process("selvedge"))?;
    let mut bench = Bench {
        launcher: Launcher::new(folder.path(), interrupted),
        folder,
        rounds: arguments.rounds,
        duration_ms: arguments.duration_ms,
        experiment: Experiment::new("broker bench", "selvedge broker bench"),
        rows: Vec::new(),
        goals: Vec::new(),
    };
    for scenario in Scenario::value_variants() {
        if arguments.scenarios.is_empty() || arguments.scenarios.contains(scenario) {
            match scenario {
                Scenario::Echo => echo::measure(&mut bench)?,
                Scenario::Fair => fair::measure(&mut bench)?,
                Scenario::Hostile => hostile::measure(&mut bench)?,
                Scenario::Lanes => lanes::measure(&mut bench)?,
            }
        }
    }
    if output.is_json() {
        return output.rows("broker bench", &bench.all_rows());
    }
    output.rows("Measured", &bench.rows)?;
    if arguments.goals {
        output.text(&bench.goals.iter().map(Goal::line).collect::<String>())
    } else {
        output.text(&bench.table().text(None))
    }
}

impl Bench {
    /// Starts a server, `broker VERB SOCKET`.
    fn server(&self, verb: &str) -> Result<(Daemon, PathBuf), Error> {
        self.server_with(verb, &[])
    }

    fn server_with(&self, verb: &str, options: &[OsString]) -> Result<(Daemon, PathBuf), Error> {
        let socket = self.folder.path().join(format!("{verb}.sock"));
        // A server that was killed leaves it behind.
        let _ = std::fs::remove_file(&socket);
        let mut arguments = vec!["broker".into(), verb.into(), socket.clone().into_os_string()];
        arguments.extend_from_slice(options);
        Ok((self.launcher.start_daemon(verb, verb, arguments)?, socket))
    }

    /// Has crowds ask a server at the same time.
    fn ask(&self, socket: &Path, crowds: &[Crowd]) -> Result<Vec<Seen>, Error> {
        let path = self.folder.path().join("gate");
        let gate = File::create(&path).map_err(|cause| Error::io("create", &path, cause))?;
        let locked = |errno: rustix::io::Errno| Error::io("lock", &path, errno.into());
        flock(&gate, FlockOperation::LockExclusive).map_err(locked)?;
        let mut crowds_started = Vec::new();
        for (number, crowd) in crowds.iter().enumerate() {
            let mut applications = Vec::new();
            for member in 0..crowd.count {
                let mut arguments =
                    vec!["broker".into(), "application".into(), socket.into(), "--gate".into()];
                arguments.push(path.clone().into_os_string());
                let options = [
                    ("--pdu-bytes", crowd.pdu_bytes as u64),
                    ("--outstanding", crowd.outstanding as u64),
                    ("--pause-us", crowd.pause_us),
                    ("--warm-up-ms", WARM_UP_MS.into()),
                    ("--duration-ms", self.duration_ms.into()),
                ];
                for (option, value) in options {
                    arguments.extend([option.into(), value.to_string().into()]);
                }
                if let Some(user) = crowd.user {
                    arguments.extend(["--user".into(), (user + member as u32).to_string().into()]);
                }
                let stem = format!("application-{number}-{member}");
                applications.push(self.launcher.start("application", &stem, &arguments)?);
            }
            crowds_started.push(applications);
        }
        flock(&gate, FlockOperation::Unlock).map_err(locked)?;
        let mut all = Vec::new();
        for applications in crowds_started {
            let mut seen = Seen { answered: Vec::new(), latency_ns: no_latencies() };
            for mut application in applications {
                let ended = application.wait()?;
                let told = ended.lines.last().and_then(|line| serde_json::from_str::<Told>(line).ok());
                let Some(told) = told.filter(|_| ended.status.success()) else {
                    return Err(ended.error("application"));
                };
                seen.answered.push(told.answered);
                for (latency_ns, count) in told.latency_ns {
                    seen.latency_ns.saturating_record_n(latency_ns, count);
                }
            }
            all.push(seen);
        }
        Ok(all)
    }

    fn row(&mut self, case: &str, metric: &str, value: f64, unit: &str) {
        self.rows.push(self.experiment.row(case, metric, value, unit, Clock::Wall));
    }

    fn goal(&mut self, what: &str, value: f64, peer: &'static str, peer_value: String, wanted: Wanted) {
        self.goals.push(Goal { what: what.to_owned(), value, peer, peer_value, wanted });
    }

    /// What was measured, and of each goal what was wanted.
    fn all_rows(&self) -> Vec<Row> {
        let mut rows = self.rows.clone();
        for goal in &self.goals {
            let (Wanted::AtLeast(bound) | Wanted::AtMost(bound)) = goal.wanted;
            let value = |metric, value: f64| self.experiment.row(&goal.what, metric, value, "", Clock::Wall);
            rows.extend([value("value", goal.value), value(goal.wanted.word(), bound)]);
            rows.push(self.experiment.row(&goal.what, "met", goal.is_met().to_string(), "", Clock::None));
        }
        rows
    }

    fn table(&self) -> Table {
        let columns = ["goal", "value", "peer", "peer's", "wanted", "met"].map(Column::new);
        let mut table = Table::new("Goals", columns);
        for goal in &self.goals {
            table.push([
                Entry::from(goal.what.as_str()),
                format!("{:.3}", goal.value).into(),
                goal.peer.into(),
                goal.peer_value.as_str().into(),
                goal.wanted.words().into(),
                if goal.is_met() { "yes" } else { "NO" }.into(),
            ]);
        }
        table
    }
}

impl Wanted {
    fn word(self) -> &'static str {
        match self {
            Wanted::AtLeast(_) => "wanted, at least",
            Wanted::AtMost(_) => "wanted, at most",
        }
    }

    fn words(self) -> String {
        match self {
            Wanted::AtLeast(bound) => format!(">= {bound}"),
            Wanted::AtMost(bound) => format!("<= {bound}"),
        }
    }
}

impl Goal {
    fn is_met(&self) -> bool {
        match self.wanted {
            Wanted::AtLeast(bound) => self.value >= bound,
            Wanted::AtMost(bound) => self.value <= bound,
        }
    }

    /// For `scripts/bench.sh`.
    fn line(&self) -> String {
        let Goal { what, value, peer, peer_value, wanted } = self;
        format!("goal\t{what}\t{value:.3}\t{peer}\t{peer_value}\t{}\n", wanted.words())
    }
}

impl Seen {
    /// Requests a second of all together.
    fn rate(&self, duration_ms: u32) -> f64 {
        self.answered.iter().sum::<u64>() as f64 * 1000.0 / f64::from(duration_ms)
    }

    fn latency_us(&self, quantile: f64) -> f64 {
        self.latency_ns.value_at_quantile(quantile) as f64 / 1000.0
    }

    /// Jain's index of what each got: 1 when all got the same, 1/n when one got all.
    fn jain(&self) -> f64 {
        let sum: f64 = self.answered.iter().map(|answered| *answered as f64).sum();
        let squares: f64 = self.answered.iter().map(|answered| (*answered as f64).powi(2)).sum();
        sum * sum / (self.answered.len() as f64 * squares)
    }
}

/// The middle one, the upper of two.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn stop(server: Daemon) -> Result<(), Error> {
    let mut servers = Daemons::default();
    servers.push(server);
    servers.stop().map(drop)
}
