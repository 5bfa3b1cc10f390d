//! What `GET /metrics` answers of a server, in Prometheus' text format, version 0.0.4.
//!
//! Owns names and words, which `docs/collect.md` lists; a test compares them, and the statuses beside them. Everything is counted since the server started.

use std::fmt::{self, Write};

use collect::live::Snapshot;
use collect::stats::{Latency, Stats};

use super::live::Room;

const PREFIX: &str = "selvedge_collect_";

/// A metric whose value is one number.
struct Single {
    name: &'static str,
    help: &'static str,
    kind: &'static str,
    value: f64,
}

fn gauge(name: &'static str, help: &'static str, value: f64) -> Single {
    Single { name, help, kind: "gauge", value }
}

fn counter(name: &'static str, help: &'static str, value: u64) -> Single {
    Single { name, help, kind: "counter", value: value as f64 }
}

/// The text; without what is not known of the disk.
pub fn exposition(snapshot: &Snapshot, room: Option<Room>) -> String {
    let mut text = String::new();
    write(snapshot, room, &mut text).expect("a string takes all");
    text
}

fn write(snapshot: &Snapshot, room: Option<Room>, text: &mut String) -> fmt::Result {
    let (stats, alarms) = (&snapshot.stats, snapshot.alarms());
    let heard = snapshot.nodes.iter().filter(|node| node.cell.is_some()).count();
    let nodes = snapshot.nodes.len();
    let gauges = [
        gauge("uptime_seconds", "Since the server started", snapshot.at.monotonic_ns as f64 / 1e9),
        gauge("nodes", "Nodes that are provisioned", nodes as f64),
        gauge("nodes_heard", "Nodes of which something new was stored", heard as f64),
        gauge(
            "nodes_silent",
            "Nodes of which nothing new was stored for too long",
            alarms.silent_nodes as f64,
        ),
    ];
    let disk = room.into_iter().flat_map(|room| {
        [
            gauge("disk_bytes", "Size of the file system that the store is on", room.bytes as f64),
            gauge("disk_free_bytes", "What of it is free", room.free_bytes as f64),
        ]
    });
    for Single { name, help, kind, value } in gauges.into_iter().chain(disk).chain(counters(snapshot)) {
        begin(text, name, help, kind)?;
        writeln!(text, "{PREFIX}{name} {value}")?;
    }
    let labelled = [
        (
            "frames_failed_total",
            "Frames that will never be stored, by status",
            "status",
            names(&stats.frames_failed),
        ),
        ("batches_refused_total", "Messages that were refused, by status", "status", names(&stats.refused)),
    ];
    for (name, help, label, values) in labelled {
        begin(text, name, help, "counter")?;
        for (of, value) in values {
            writeln!(text, "{PREFIX}{name}{{{label}=\"{of}\"}} {value}")?;
        }
    }
    write_times(stats, text)?;
    write_nodes(snapshot, text)
}

fn names(counts: &std::collections::BTreeMap<&'static str, u64>) -> Vec<(String, u64)> {
    counts.iter().map(|(&name, &count)| (name.to_owned(), count)).collect()
}

fn counters(snapshot: &Snapshot) -> [Single; 21] {
    let stats = &snapshot.stats;
    [
        counter("batches_total", "Batches that were answered with a receipt", stats.batches),
        counter("frames_stored_total", "Frames of them that were stored", stats.frames_stored),
        counter("samples_stored_total", "Samples in those frames", snapshot.samples),
        counter("frames_duplicate_total", "Frames that had been stored before", stats.frames_duplicate),
        counter(
            "frames_unauthenticated_total",
            "Frames that were stored and that no tag vouches for",
            stats.frames_unauthenticated,
        ),
        counter("groups_total", "Groups made durable, each by one sync", stats.groups),
        counter("records_total", "Records in them", stats.records),
        counter(
            "torn_tails_total",
            "Torn tails that were cut off the log when the server started",
            stats.torn_tails,
        ),
        counter("torn_bytes_total", "Bytes of them, nothing that can be read", stats.torn_bytes),
        counter("anchors_total", "Times that it was noted how far the store has come", stats.anchors),
        gauge("stored_ranges", "Ranges of stored counters that are remembered", stats.counter_ranges as f64),
        counter(
            "stored_ranges_forgotten_total",
            "Ranges that were forgotten, as there were more than the limit",
            stats.counter_ranges_forgotten,
        ),
        counter("downlinks_total", "Downlink frames sealed", stats.downlinks),
        counter("settings_told_total", "Downlinks that told a setting", stats.settings_told),
        counter("changes_told_total", "Downlinks that told a change of the epoch", stats.changes_told),
        counter(
            "downlinks_exhausted_total",
            "Downlinks not sent because the counter of their key is used up",
            stats.downlinks_exhausted,
        ),
        counter(
            "downlinks_unfenced_total",
            "Downlinks not sent because nobody could say that their counter is free",
            stats.downlinks_unfenced,
        ),
        counter("connections_total", "Connections that said a valid hello", stats.connections),
        counter(
            "connections_failed_total",
            "Connections that ended before a valid hello, or were one too many",
            stats.connections_failed,
        ),
        counter(
            "datagrams_dropped_total",
            "Datagrams that came when there was no room for another batch",
            stats.datagrams_dropped,
        ),
        counter(
            "answers_withheld_total",
            "Answers that were not sent to whoever proved nothing",
            stats.answers_withheld,
        ),
    ]
}

/// Quantiles since the server started, of all of the way and of its stages; and the deadline, where there is one.
fn write_times(stats: &Stats, text: &mut String) -> fmt::Result {
    let name = "durable_seconds";
    begin(text, name, "From the arrival of a batch to its group being durable", "summary")?;
    write_quantiles(name, "", &stats.durable_latency, text)?;
    let name = "stage_seconds";
    begin(text, name, "The same by stage, and the answer behind it", "summary")?;
    for (stage, latency) in stats.stages.named() {
        write_quantiles(name, &format!("stage=\"{stage}\""), latency, text)?;
    }
    let name = "snapshot_seconds";
    begin(
        text,
        name,
        "What a snapshot for people who look, or a monitor, took of the thread that commits",
        "summary",
    )?;
    write_quantiles(name, "", &stats.snapshots, text)?;
    let Some(deadline) = stats.deadline else { return Ok(()) };
    for Single { name, help, kind, value } in [
        gauge("deadline_seconds", "From arrival to durable, at most", deadline.deadline_ns as f64 / 1e9),
        counter("deadlines_met_total", "Batches that took no longer", deadline.met),
        counter("deadlines_missed_total", "Batches that took longer", deadline.missed),
        gauge(
            "deadlines_missed_run",
            "Most batches one behind the other that took longer",
            deadline.longest_run as f64,
        ),
    ] {
        begin(text, name, help, kind)?;
        writeln!(text, "{PREFIX}{name} {value}")?;
    }
    Ok(())
}

fn write_quantiles(name: &str, label: &str, latency: &Latency, text: &mut String) -> fmt::Result {
    let quantiles = [
        ("0.5", latency.p50_ns),
        ("0.99", latency.p99_ns),
        ("0.999", latency.p999_ns),
        ("0.9999", latency.p9999_ns),
        ("1", latency.max_ns),
    ];
    let comma = if label.is_empty() { "" } else { "," };
    for (quantile, ns) in quantiles {
        writeln!(text, "{PREFIX}{name}{{{label}{comma}quantile=\"{quantile}\"}} {}", ns as f64 / 1e9)?;
    }
    let labels = if label.is_empty() { String::new() } else { format!("{{{label}}}") };
    writeln!(text, "{PREFIX}{name}_count{labels} {}", latency.count)
}

/// A line for each node that was heard.
fn write_nodes(snapshot: &Snapshot, text: &mut String) -> fmt::Result {
    type Of = fn(&collect::live::NodeView) -> f64;
    let metrics: [(&str, &str, &str, Of); 4] = [
        ("node_frames_stored_total", "Frames stored, by node", "counter", |node| node.frames as f64),
        ("node_samples_stored_total", "Samples in them, by node", "counter", |node| node.samples as f64),
        (
            "node_samples_missing",
            "Instants between the first stored sample and the last for which none is stored, by node",
            "gauge",
            |node| node.missing as f64,
        ),
        ("node_silence_seconds", "Since when nothing new was stored, by node", "gauge", |node| {
            node.silence_ms as f64 / 1e3
        }),
    ];
    for (name, help, kind, of) in metrics {
        begin(text, name, help, kind)?;
        for node in snapshot.nodes.iter().filter(|node| node.cell.is_some()) {
            writeln!(text, "{PREFIX}{name}{{node=\"{}\"}} {}", node.node, of(node))?;
        }
    }
    Ok(())
}

fn begin(text: &mut String, name: &str, help: &str, kind: &str) -> fmt::Result {
    writeln!(text, "# HELP {PREFIX}{name} {help}\n# TYPE {PREFIX}{name} {kind}")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use collect::error::{Fault, Refusal};
    use collect::live::NodeView;
    use collect::shard::Now;
    use collect::stats::Deadline;

    use super::*;

    fn snapshot() -> Snapshot {
        let view = |node, cell| NodeView {
            node,
            cell,
            silence_ms: 1500,
            is_silent: false,
            is_revoked: false,
            is_authenticated: true,
            epoch: 0,
            frames: 4,
            samples: 360,
            steps: 450,
            missing: 90,
            drawn: None,
        };
        let deadline = Some(Deadline { deadline_ns: 2_000_000, met: 3, missed: 1, longest_run: 1 });
        let mut stats = Stats { frames_stored: 4, deadline, ..Stats::default() };
        stats.frames_failed.insert("rejected", 2);
        let at = Now { wall_ns: 0, monotonic_ns: 2_500_000_000 };
        let nodes = vec![view(1, Some(7)), view(2, None)];
        Snapshot { at, stats, samples: 360, past: vec![], nodes }
    }

    #[test]
    fn each_line_is_a_number_of_ours_and_a_node_has_one_when_it_was_heard() {
        let text = exposition(&snapshot(), Some(Room { bytes: 1000, free_bytes: 10 }));
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (name, value) = line.rsplit_once(' ').expect("a name and a value");
            assert!(name.starts_with(PREFIX) && value.parse::<f64>().is_ok(), "{line}");
        }
        let line = |name: &str| {
            let found = text.lines().find_map(|line| line.strip_prefix(&format!("{PREFIX}{name} ")));
            found.unwrap_or_else(|| panic!("there is a `{name}`:\n{text}")).to_owned()
        };
        assert_eq!((line("frames_stored_total"), line("uptime_seconds")), ("4".to_owned(), "2.5".to_owned()));
        assert_eq!(line("frames_failed_total{status=\"rejected\"}"), "2");
        assert_eq!((line("nodes"), line("nodes_heard")), ("2".to_owned(), "1".to_owned()));
        assert_eq!(line("node_samples_missing{node=\"1\"}"), "90");
        assert_eq!(
            (line("disk_free_bytes"), line("deadline_seconds")),
            ("10".to_owned(), "0.002".to_owned())
        );
        assert_eq!(line("stage_seconds{stage=\"storing\",quantile=\"0.99\"}"), "0");
        assert_eq!(line("stage_seconds_count{stage=\"storing\"}"), "0");
        assert!(!text.contains("{node=\"2\"}"));
        assert!(!exposition(&snapshot(), None).contains("disk"));
    }

    /// Compares the table between `begins` and its end with `expected`, or writes it.
    fn compare(begins: &str, table: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/collect.md");
        let found = fs::read_to_string(&path).unwrap();
        let from = found.find(begins).expect("the table's place is marked") + begins.len();
        let to = from + found[from..].find("<!-- end -->").expect("and its end");
        let mut expected = found.clone();
        expected.replace_range(from..to, table);
        if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
            return fs::write(&path, expected).unwrap();
        }
        assert!(
            found == expected,
            "`BLESS=1 cargo test -p selvedge --bin selvedge metrics` writes the table behind {begins}"
        );
    }

    /// One test: two that are blessed at once would write the same file.
    #[test]
    fn the_documentation_has_each_status_and_metric() {
        compare_statuses();
        compare_metrics();
    }

    fn compare_statuses() {
        let faults = Fault::ALL.iter().map(|of| (of.number(), of.name(), of.meaning()));
        let refusals = Refusal::ALL.iter().map(|of| (of.number(), of.name(), of.meaning()));
        let line = |(number, name, meaning)| format!("| {number} | `{name}` | {meaning} |\n");
        let table = |lines: String| format!("\n| number | status | why |\n|---|---|---|\n{lines}");
        compare("<!-- faults -->", &table(faults.map(line).collect()));
        compare("<!-- refusals -->", &table(refusals.map(line).collect()));
    }

    fn compare_metrics() {
        let text = exposition(&snapshot(), Some(Room { bytes: 0, free_bytes: 0 }));
        let mut table = String::from("\n| metric | kind | |\n|---|---|---|\n");
        let mut lines = text.lines().filter(|line| line.starts_with('#'));
        while let (Some(help), Some(kind)) = (lines.next(), lines.next()) {
            let (name, help) = help.trim_start_matches("# HELP ").split_once(' ').expect("a name and words");
            let kind = kind.rsplit(' ').next().expect("a kind");
            table += &format!("| `{name}` | {kind} | {help} |\n");
        }
        compare("<!-- metrics -->", &table);
    }
}
