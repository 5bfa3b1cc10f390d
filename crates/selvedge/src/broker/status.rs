//! `selvedge broker status`: what a running broker has done, once or again and again.
//!
//! The broker says it in Prometheus' text format, so that what a person reads here and what a monitor scrapes is the same.

use std::path::PathBuf;
use std::time::Duration;

use broker::client::Client;
use report::row::{Clock, Experiment, Row};
use report::table::{Column, Entry, Table};
use selvedge::error::Error;

use crate::output::Output;
use crate::place::Place;
use crate::stop;

/// Of which broker, and how.
#[derive(clap::Args)]
pub struct Arguments {
    /// The deployment of whose run it is
    #[arg(required_unless_present = "socket")]
    deployment: Option<PathBuf>,
    /// The folder of the run
    #[arg(long, value_name = "DIR", default_value = "out", conflicts_with = "socket")]
    out: PathBuf,
    /// The broker at this socket, in place of a run's
    #[arg(long, value_name = "SOCKET", conflicts_with = "deployment")]
    socket: Option<PathBuf>,
    /// Show it again every second, with what changed, until interrupted
    #[arg(long, conflicts_with = "prometheus")]
    watch: bool,
    /// As Prometheus reads it
    #[arg(long)]
    prometheus: bool,
}

/// Between two looks.
const LOOK: Duration = Duration::from_secs(1);
/// Moves to the upper left corner and clears what is there (ECMA-48, CUP and ED).
const CLEAR: &str = "\x1b[H\x1b[2J";

/// A line of the broker's text that holds a value.
#[derive(Clone, Debug, PartialEq)]
struct Metric {
    /// Without what all names begin with.
    name: String,
    /// What stands in braces behind it.
    case: String,
    value: f64,
}

/// Shows it.
pub async fn show(arguments: Arguments, output: &Output) -> Result<(), Error> {
    let socket = match (arguments.socket, arguments.deployment) {
        (Some(socket), _) => socket,
        (None, Some(deployment)) => {
            let place = Place { deployment, out: arguments.out, ready_fd: None };
            place.open()?.layout.broker_socket()
        }
        (None, None) => unreachable!("the command line has one of them"),
    };
    let client = Client::connect(&socket).await?;
    let mut text = client.status().await?;
    if arguments.prometheus {
        return output.text(&text);
    }
    let mut stopped = stop::asked();
    let mut before = None;
    loop {
        let metrics = metrics(&text);
        if output.is_json() {
            output.rows("broker", &rows(&metrics))?;
        } else {
            let clear = if arguments.watch { CLEAR } else { "" };
            output.text(&format!("{clear}{}", table(&metrics, before.as_deref()).text(None)))?;
        }
        if !arguments.watch {
            return Ok(());
        }
        tokio::select! {
            () = &mut stopped => return Ok(()),
            () = tokio::time::sleep(LOOK) => {}
        }
        text = client.status().await?;
        before = Some(metrics);
    }
}

/// What a text says, without what it says of its histograms' single classes.
fn metrics(text: &str) -> Vec<Metric> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let parsed = lines.filter_map(|line| {
        let (name, value) = line.rsplit_once(' ')?;
        let name = name.strip_prefix("selvedge_broker_").unwrap_or(name);
        let (name, case) = name.split_once('{').unwrap_or((name, ""));
        let case = case.trim_end_matches('}').replace('"', "").replace('=', " ");
        Some(Metric { name: name.to_owned(), case, value: value.parse().ok()? })
    });
    parsed.filter(|metric| !metric.name.ends_with("_bucket")).collect()
}

/// With `before`, what changed in a second.
fn table(metrics: &[Metric], before: Option<&[Metric]>) -> Table {
    let changes = before.map(|_| Column::new("in a second"));
    let columns = ["what", "of", "value"].map(Column::new);
    let mut table = Table::new("broker", columns.into_iter().chain(changes));
    for metric in metrics {
        let name = metric.name.trim_end_matches("_total").replace('_', " ");
        let mut line = vec![Entry::from(name), metric.case.as_str().into(), metric.value.into()];
        if let Some(before) = before {
            let same = |other: &&Metric| (&other.name, &other.case) == (&metric.name, &metric.case);
            let was = before.iter().find(same).map_or(0.0, |other| other.value);
            line.push((metric.value - was).into());
        }
        table.push(line);
    }
    table
}

fn rows(metrics: &[Metric]) -> Vec<Row> {
    let experiment = Experiment::new("broker", "selvedge broker status");
    let row = |metric: &Metric| {
        let unit = if metric.name.contains("_seconds_sum") { "s" } else { "" };
        let case = if metric.case.is_empty() { "broker" } else { &metric.case };
        experiment.row(case, &metric.name, metric.value, unit, Clock::Wall)
    };
    metrics.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_prometheus_reads_is_what_is_shown() {
        let text = "# HELP selvedge_broker_connections Applications\n# TYPE selvedge_broker_connections gauge\n\
                    selvedge_broker_connections 2\nselvedge_broker_answers_total{status=\"done\"} 7\n\
                    selvedge_broker_answer_seconds_bucket{le=\"+Inf\"} 7\nselvedge_broker_answer_seconds_sum 0.5\n";
        let metric = |name: &str, case: &str, value| Metric { name: name.into(), case: case.into(), value };
        let expected = [
            metric("connections", "", 2.0),
            metric("answers_total", "status done", 7.0),
            metric("answer_seconds_sum", "", 0.5),
        ];
        assert_eq!(metrics(text), expected);
    }
}
