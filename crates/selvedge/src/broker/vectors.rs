//! `selvedge broker vectors`: official vectors through a broker's socket, for every operation.
//!
//! Owns the flags, a broker of its own where none is named, and the table. What a vector asks is the broker's library's.

use std::path::PathBuf;

use broker::device::Device;
use broker::vectors::{self, Failure, Report, Wanted};
use broker::wire::Operation;
use broker::{Config, Endpoint, Settings};
use indicatif::{ProgressBar, ProgressStyle};
use report::row::{Clock, Experiment, Row};
use report::table::{Column, Entry, Table};
use selvedge::error::Error;
use tokio::sync::oneshot;

use crate::output::Output;

/// Which vectors are asked of whom.
#[derive(clap::Args)]
pub struct Arguments {
    /// Ask the broker that serves this socket, in place of one of our own with a device in software
    #[arg(long)]
    socket: Option<PathBuf>,
    /// Only this operation, by its name on the wire; `begin` stands for all messages in parts
    #[arg(long, value_parser = operation)]
    operation: Option<Operation>,
    /// Only this source, such as `Wycheproof`
    #[arg(long, value_parser = source)]
    source: Option<String>,
}

fn operation(name: &str) -> Result<Operation, String> {
    let named = Operation::ALL.iter().find(|operation| operation.name() == name);
    let names = || Operation::ALL.iter().map(|operation| operation.name()).collect::<Vec<_>>().join(", ");
    named.copied().ok_or_else(|| format!("expected one of {}", names()))
}

fn source(name: &str) -> Result<String, String> {
    let sources = vectors::sources();
    if sources.contains(&name) {
        Ok(name.to_owned())
    } else {
        Err(format!("expected one of {}", sources.join(", ")))
    }
}

/// Asks, and says what passed; an error if anything failed.
pub async fn ask(arguments: Arguments, output: &Output) -> Result<(), Error> {
    let wanted = Wanted { operation: arguments.operation, source: arguments.source };
    let found = match &arguments.socket {
        Some(socket) => ask_at(socket.clone(), wanted, false).await?,
        None => ask_ourselves(wanted).await?,
    };
    if output.is_json() {
        output.rows("broker vectors", &rows(&found))?;
    } else {
        let [passed, failed, skipped] = found.totals();
        let text = table(&found).text(None);
        output.text(&format!("{text}{passed} passed, {failed} failed, {skipped} skipped\n"))?;
    }
    if found.failures.is_empty() { Ok(()) } else { Err(Error::VectorsFailed { failures: failures(&found) }) }
}

async fn ask_at(socket: PathBuf, wanted: Wanted, is_provided: bool) -> Result<Report, Error> {
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} vectors, {eta} left");
    let bar = ProgressBar::new(0).with_style(style.expect("the template is ours"));
    let shown = bar.clone();
    let found = vectors::ask(&socket, wanted, is_provided, move |asked, all| {
        shown.set_length(all as u64);
        shown.set_position(asked as u64);
    });
    let found = found.await;
    bar.finish_and_clear();
    Ok(found?)
}

async fn ask_ourselves(wanted: Wanted) -> Result<Report, Error> {
    let folder = tempfile::tempdir().map_err(Error::process("broker"))?;
    let socket = folder.path().join("broker.sock");
    let (ready, is_ready) = oneshot::channel();
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(broker::serve(Config {
        endpoint: Endpoint::Path(socket.clone()),
        devices: vec![Device::Inline(Box::new(vectors::device()?)).into()],
        settings: Settings::default(),
        ready: Box::new(move || {
            // Who does not wait any more was interrupted.
            let _ = ready.send(());
        }),
        stop: Box::pin(async { drop(stopped.await) }),
    }));
    // A broker that did not start has dropped the sender, and says why below.
    let found = if is_ready.await.is_ok() { Some(ask_at(socket, wanted, true).await) } else { None };
    drop(stop);
    serving.await.expect("the broker does not panic")?;
    found.expect("a broker that ended well was ready")
}

fn table(found: &Report) -> Table {
    let columns = ["operation", "algorithm", "source", "passed", "failed", "skipped"].map(Column::new);
    let mut table = Table::new("Official vectors", columns);
    for (line, counts) in &found.lines {
        let number = |count: usize| Entry::from(count as f64);
        table.push([
            line.called().into(),
            line.algorithm.into(),
            line.source.into(),
            number(counts.passed),
            number(counts.failed),
            counts.reasons().into(),
        ]);
    }
    table
}

fn rows(found: &Report) -> Vec<Row> {
    let experiment = Experiment::new("broker vectors", "selvedge broker vectors");
    let mut rows = Vec::new();
    for (line, counts) in &found.lines {
        let words = [line.called(), line.algorithm, line.source];
        let case = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ");
        let mut row = |metric: &str, count: usize| {
            rows.push(experiment.row(&case, metric, count as u64, "", Clock::None));
        };
        row("passed", counts.passed);
        row("failed", counts.failed);
        for (why, count) in &counts.skipped {
            row(&format!("skipped: {why}"), *count);
        }
    }
    rows
}

/// A line for each vector that failed.
fn failures(found: &Report) -> Vec<String> {
    let line = |failure: &Failure| {
        let Failure { line, file, number, why } = failure;
        format!("{} of {file}, number {number}: {why}", line.called())
    };
    let mut failures: Vec<String> = found.failures.iter().map(line).collect();
    failures.sort();
    failures
}
