//! `selvedge broker bench`: what the broker costs and how it shares, each goal beside what it is compared with.
//!
//! Owns the list of scenarios, and what all of them have in common: starting processes, and asking them all at once. Values
//! are ratios in one run, and medians of rounds that alternate between what is compared.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use report::row::Clock;
use selvedge::error::Error;
use selvedge::link::launch::Daemon;

use super::stage::{Crowd, Seen, Stage, Until, median, stop};
use crate::goals::{Goals, Wanted};
use crate::output::Output;

mod attention;
mod echo;
mod fair;
mod hostile;
mod lanes;
mod peers;
mod threads;

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
    /// How long the broker and its clients look out before they sleep
    Attention,
    /// The broker beside a bare Unix socket
    Echo,
    /// Equal applications, and one that asks for little beside those that ask for much
    Fair,
    /// Thousands of applications that say nothing or never read
    Hostile,
    /// The software device on one thread and on two
    Lanes,
    /// The software device behind the broker, beside p11-kit and Parsec, which `scripts/peers.sh` brings
    Peers,
}

/// Where a scenario says what it measured.
struct Bench {
    stage: Stage,
    rounds: u32,
    duration_ms: u32,
    goals: Goals,
}

/// Before what is counted.
const WARM_UP_MS: u64 = 300;

/// Measures.
pub fn run(arguments: &Arguments, output: &Output) -> Result<(), Error> {
    let mut bench = Bench {
        stage: Stage::new()?,
        rounds: arguments.rounds,
        duration_ms: arguments.duration_ms,
        goals: Goals::new("broker bench", "selvedge broker bench"),
    };
    for scenario in Scenario::value_variants() {
        if arguments.scenarios.is_empty() || arguments.scenarios.contains(scenario) {
            match scenario {
                Scenario::Attention => attention::measure(&mut bench)?,
                Scenario::Echo => echo::measure(&mut bench)?,
                Scenario::Fair => fair::measure(&mut bench)?,
                Scenario::Hostile => hostile::measure(&mut bench)?,
                Scenario::Lanes => lanes::measure(&mut bench)?,
                Scenario::Peers => peers::measure(&mut bench)?,
            }
        }
    }
    bench.goals.show(output, arguments.goals)
}

impl Bench {
    /// Starts a server, `broker VERB SOCKET`.
    fn server(&self, verb: &str) -> Result<(Daemon, PathBuf), Error> {
        self.server_with(verb, &[])
    }

    fn server_with(&self, verb: &str, options: &[OsString]) -> Result<(Daemon, PathBuf), Error> {
        self.stage.server(verb, options)
    }

    /// Has crowds ask a server at the same time.
    fn ask(&self, socket: &Path, crowds: &[Crowd]) -> Result<Vec<Seen>, Error> {
        let duration_ms = self.duration_ms.into();
        self.stage.ask(socket, crowds, Until { warm_up_ms: WARM_UP_MS, duration_ms, total: u64::MAX })
    }

    fn row(&mut self, case: &str, metric: &str, value: f64, unit: &str) {
        self.goals.row(case, metric, value, unit, Clock::Wall);
    }

    fn simulated_row(&mut self, case: &str, metric: &str, value: f64, unit: &str) {
        self.goals.row(case, metric, value, unit, Clock::Cell);
    }

    fn goal(&mut self, what: &str, value: f64, peer: &'static str, peer_value: String, wanted: Wanted) {
        self.goals.goal(what, value, peer, peer_value, wanted);
    }
}
