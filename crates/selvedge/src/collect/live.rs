//! What the server of a deployment answers over HTTP: metrics, the live page, and what the page asks for.
//!
//! ```text
//! GET /                               the page, whole in itself
//! GET /live.json?nodes=1,2[&past=1]   what there is to be seen, with the last samples of these nodes; and the totals of
//!                                     the last minutes
//! GET /metrics                        counts alone
//! ```
//! The page and its numbers show what nodes measure. They are answered where nobody else comes by, or where the deployment
//! says so; and over TCP only to a browser that was told an address: a name in `Host` may be anybody's who lets it point here
//! (DNS rebinding). What is sent is wiped behind it.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use base64ct::{Base64, Encoding};
use collect::export::{Catalogue, Meaning};
use collect::live::{Alarms, Drawn, Glass, Snapshot, Tick};
use collect::stats::Stats;
use rustix::fs::statvfs;
use selvedge::link::catalogue::catalogue;
use selvedge::link::monitoring::MonitorAddress;
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::metrics;
use crate::monitor::{Answers, Reply, Wanted};
use crate::place::Opened;

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");
/// A disk with less than this part of it free is nearly full.
const FREE_PERCENT_MIN: u64 = 5;

/// What room is on the disk of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Room {
    /// Size of the file system.
    pub bytes: u64,
    /// What of it is free for us.
    pub free_bytes: u64,
}

/// Who answers, and from what.
#[derive(Clone)]
pub struct Window(Arc<Frame>);

struct Frame {
    glass: Glass,
    name: String,
    store: PathBuf,
    /// The cell of each node.
    cells: BTreeMap<u32, String>,
    catalogue: Catalogue,
    is_live: bool,
    is_tcp: bool,
    page: String,
    policy: String,
}

impl Window {
    /// The window of the server of this deployment, through this glass.
    pub fn new(opened: &Opened, address: &MonitorAddress, glass: Glass) -> Window {
        let deployment = &opened.deployment;
        let nodes = |cell: &selvedge::link::deployment::Cell| {
            let name = cell.name.clone();
            cell.nodes.iter().map(move |node| (node.id, name.clone())).collect::<Vec<_>>()
        };
        let (page, policy) = page();
        Window(Arc::new(Frame {
            glass,
            name: deployment.name.clone(),
            store: opened.layout.store(),
            cells: deployment.cells.iter().flat_map(nodes).collect(),
            catalogue: catalogue(deployment),
            is_live: deployment.collect.is_live,
            is_tcp: matches!(address, MonitorAddress::Tcp(_)),
            page,
            policy,
        }))
    }
}

impl Answers for Window {
    async fn answer(&self, wanted: &Wanted) -> Reply {
        let frame = &self.0;
        match &*wanted.path {
            "/metrics" => {
                let snapshot = frame.glass.look(Vec::new()).await;
                Reply::metrics(snapshot.map(|snapshot| metrics::exposition(&snapshot, frame.room())))
            }
            "/" | "/live.json" if !frame.is_live => Reply::refused(
                "403 Forbidden",
                "others come by here, and the page shows what nodes measure: say `live = true` in [collect] if they may\n",
            ),
            "/" | "/live.json" if frame.is_tcp && !is_address(wanted.host.as_deref()) => Reply::refused(
                "421 Misdirected Request",
                "ask by an address, such as 127.0.0.1, and not by a name: a name may be anybody's\n",
            ),
            "/" => secluded(Reply::found("text/html; charset=utf-8", frame.page.clone().into_bytes()))
                .with("Content-Security-Policy", &frame.policy),
            "/live.json" => frame.live(&wanted.query).await,
            _ => Reply::nowhere(),
        }
    }
}

impl Frame {
    async fn live(&self, query: &str) -> Reply {
        let value = |key: &str| query.split('&').find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='));
        let nodes = value("nodes").unwrap_or_default().split(',').filter(|text| !text.is_empty());
        let Ok(nodes) = nodes.map(str::parse).collect::<Result<Vec<u32>, _>>() else {
            return Reply::refused("400 Bad Request", "`nodes` are numbers with commas between them\n");
        };
        let Some(snapshot) = self.glass.look(nodes.clone()).await else { return Reply::unavailable() };
        let shown = Shown::new(self, &snapshot, &nodes, value("past").is_some());
        secluded(Reply::found("application/json", json(&shown)))
    }

    fn room(&self) -> Option<Room> {
        let found = statvfs(&self.store).ok()?;
        Some(Room { bytes: found.f_blocks * found.f_frsize, free_bytes: found.f_bavail * found.f_frsize })
    }
}

impl Room {
    fn is_nearly_full(&self) -> bool {
        self.free_bytes < self.bytes / 100 * FREE_PERCENT_MIN
    }
}

/// Kept nowhere, read by no other page, and shown in none.
fn secluded(reply: Reply) -> Reply {
    reply
        .with("Cache-Control", "no-store")
        .with("Cross-Origin-Resource-Policy", "same-origin")
        .with("Referrer-Policy", "no-referrer")
        .with("X-Content-Type-Options", "nosniff")
}

/// Whether a browser that sends this as `Host` was told an address, or the name that each machine gives itself.
fn is_address(host: Option<&str>) -> bool {
    let Some(host) = host else { return false };
    let without_port = match host.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() => name,
        _ => host,
    };
    match without_port.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(inner) => inner.parse::<std::net::Ipv6Addr>().is_ok(),
        None => {
            without_port.eq_ignore_ascii_case("localhost")
                || without_port.parse::<IpAddr>().is_ok_and(|ip| ip.is_ipv4())
        }
    }
}

/// The page with its style and script in it, and what a browser may do with it: run these two, and ask where it came from.
fn page() -> (String, String) {
    let style = format!("{}{STYLE}", report::chart::STYLE);
    let page = PAGE.replace("<!--style-->", &style).replace("<!--script-->", SCRIPT);
    let of = |text: &str| Base64::encode_string(&Sha256::digest(text));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; connect-src 'self'; img-src data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        of(&style),
        of(SCRIPT)
    );
    (page, policy)
}

/// What the page is told.
#[derive(Serialize)]
struct Shown<'a> {
    name: &'a str,
    /// Since the server started.
    at_ms: u64,
    /// Since 1970.
    wall_ms: u64,
    alarms: ShownAlarms,
    disk: Option<Room>,
    stats: &'a Stats,
    samples: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    past: Option<Vec<[u64; 5]>>,
    nodes: Vec<ShownNode<'a>>,
    drawn: ShownLines<'a>,
}

#[derive(Serialize)]
struct ShownAlarms {
    #[serde(flatten)]
    alarms: Alarms,
    disk_nearly_full: bool,
}

#[derive(Serialize)]
struct ShownNode<'a> {
    node: u32,
    cell: &'a str,
    heard: bool,
    silence_ms: u64,
    is_silent: bool,
    is_revoked: bool,
    epoch: u8,
    frames: u64,
    samples: u64,
    steps: u64,
    missing: u64,
}

/// What is drawn, by node.
struct ShownLines<'a>(Vec<(u32, ShownLine<'a>)>);

#[derive(Serialize)]
struct ShownLine<'a> {
    channel: u8,
    kind: &'static str,
    unit: &'a str,
    scale: f64,
    offset: f64,
    span_s: f64,
    columns: Columns<'a>,
}

/// The least and the most of each column, one after the other.
struct Columns<'a>(&'a [[f64; 2]]);

impl<'a> Shown<'a> {
    fn new(frame: &'a Frame, snapshot: &'a Snapshot, drawn: &[u32], with_past: bool) -> Shown<'a> {
        let disk = frame.room();
        let row = |tick: &Tick| [tick.at_ms, tick.frames, tick.samples, tick.failed, tick.refused];
        let lines = snapshot.nodes.iter().filter(|node| drawn.contains(&node.node));
        let lines = lines.filter_map(|node| Some((node.node, line(frame, node.node, node.drawn.as_ref()?))));
        let node = |node: &collect::live::NodeView| ShownNode {
            node: node.node,
            cell: frame.cells.get(&node.node).map_or("", String::as_str),
            heard: node.cell.is_some(),
            silence_ms: node.silence_ms,
            is_silent: node.is_silent,
            is_revoked: node.is_revoked,
            epoch: node.epoch,
            frames: node.frames,
            samples: node.samples,
            steps: node.steps,
            missing: node.missing,
        };
        Shown {
            name: &frame.name,
            at_ms: snapshot.at.monotonic_ns / 1_000_000,
            wall_ms: snapshot.at.wall_ns / 1_000_000,
            alarms: ShownAlarms {
                alarms: snapshot.alarms(),
                disk_nearly_full: disk.as_ref().is_some_and(Room::is_nearly_full),
            },
            disk,
            stats: &snapshot.stats,
            samples: snapshot.samples,
            past: with_past.then(|| snapshot.past.iter().map(row).collect()),
            nodes: snapshot.nodes.iter().map(node).collect(),
            drawn: ShownLines(lines.collect()),
        }
    }
}

fn line<'a>(frame: &'a Frame, node: u32, drawn: &'a Drawn) -> ShownLine<'a> {
    let Drawn { channel, format, span_ps: (from_ps, to_ps), columns } = drawn;
    // Other samples than a converter's are what their computer sent.
    let is_code = format.kind == collect::waveform::Kind::Code;
    let meaning = frame.catalogue.meanings.get(&(node, *channel)).filter(|_| is_code);
    let (unit, scale, offset) = match meaning {
        Some(Meaning { unit, scale, offset }) => (unit.as_str(), *scale, *offset),
        None => ("", 1.0, 0.0),
    };
    let span_s = to_ps.saturating_sub(*from_ps) as f64 / 1e12;
    ShownLine {
        channel: *channel,
        kind: format.name(),
        unit,
        scale,
        offset,
        span_s,
        columns: Columns(columns),
    }
}

impl Serialize for ShownLines<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        self.0.iter().try_for_each(|(node, line)| map.serialize_entry(&node.to_string(), line))?;
        map.end()
    }
}

impl Serialize for Columns<'_> {
    /// No number is `null`; a drawing needs no more digits than these.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(Some(2 * self.0.len()))?;
        self.0.iter().flatten().try_for_each(|&value| seq.serialize_element(&(value as f32)))?;
        seq.end()
    }
}

/// Counts what is written.
#[derive(Default)]
struct Length(usize);

impl Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The text, in memory that is wiped: it is as long as it must be from the first, as what had to move would leave a copy.
fn json(shown: &Shown<'_>) -> Zeroizing<Vec<u8>> {
    let mut length = Length::default();
    serde_json::to_writer(&mut length, shown).expect("our values are JSON");
    let mut text = Zeroizing::new(Vec::with_capacity(length.0));
    serde_json::to_writer(&mut *text, shown).expect("our values are JSON");
    assert!(text.len() == length.0, "a text with samples in it was to stay where it is");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_is_a_name_is_not_believed() {
        let told =
            ["127.0.0.1:8080", "127.0.0.1", "[::1]:1", "[::1]", "localhost:9", "LocalHost", "192.168.0.7:1"];
        for host in told {
            assert!(is_address(Some(host)), "{host}");
        }
        let names = [
            "",
            ":80",
            "evil.example",
            "evil.example:8080",
            "127.0.0.1.evil.example",
            "localhost.evil.example:80",
            "127.0.0.1:80:80",
            "127.0.0.1:port",
            "::1",
            "[127.0.0.1]",
            "127.0.0.1 evil",
        ];
        for host in names {
            assert!(!is_address(Some(host)), "{host}");
        }
        assert!(!is_address(None));
    }

    #[test]
    fn the_page_is_whole_in_itself_and_its_policy_names_what_is_in_it() {
        let (page, policy) = page();
        assert!(!page.contains("<!--") && page.contains("--paper:") && page.contains("'use strict'"));
        for foreign in ["http://", "https://", "//cdn", "@import", "url(", "<link rel=\"style", "src="] {
            let found: Vec<_> = page.match_indices(foreign).map(|(at, _)| &page[at..]).collect();
            let is_name = |rest: &&str| rest.starts_with("http://www.w3.org/2000/svg'");
            assert!(found.iter().all(is_name), "{foreign}");
        }
        let between = |from: &str, to: &str| {
            let rest = page.split_once(from).expect("it begins").1;
            rest.split_once(to).expect("it ends").0.to_owned()
        };
        for text in [between("<style>", "</style>"), between("<script>", "</script>")] {
            let hash = Base64::encode_string(&Sha256::digest(text));
            assert!(policy.contains(&format!("'sha256-{hash}'")), "{policy}");
        }
        assert!(policy.starts_with("default-src 'none'; ") && !policy.contains("unsafe"));
    }

    #[test]
    fn a_disk_is_nearly_full_with_less_than_a_twentieth_free() {
        let room = |free_bytes| Room { bytes: 1000, free_bytes };
        assert!(room(49).is_nearly_full() && !room(50).is_nearly_full());
    }

    #[test]
    fn a_column_without_a_number_is_null_and_a_number_is_short() {
        let columns = Columns(&[[1.0, 0.1], [f64::NAN, f64::NAN]]);
        assert_eq!(serde_json::to_string(&columns).unwrap(), "[1.0,0.1,null,null]");
    }
}
