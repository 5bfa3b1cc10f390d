//! What the live page is told, as JSON in memory that is wiped.

use std::io::{self, Write};

use collect::export::Meaning;
use collect::live::{Alarms, Drawn, Snapshot, Tick};
use collect::stats::Stats;
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use zeroize::Zeroizing;

use super::{Frame, Room};

/// What the page is told.
#[derive(Serialize)]
pub(super) struct Shown<'a> {
    name: &'a str,
    /// When the server started, since 1970.
    started_ms: u64,
    /// Since the server started.
    at_ms: u64,
    /// Since 1970.
    wall_ms: u64,
    alarms: ShownAlarms,
    disk: Option<Room>,
    stats: &'a Stats,
    samples: u64,
    /// Of the moment, as those of the past are.
    totals: [u64; 5],
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
    is_authenticated: bool,
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
    /// With the last samples of the nodes that are `drawn`.
    pub(super) fn new(
        frame: &'a Frame,
        snapshot: &'a Snapshot,
        disk: Option<Room>,
        drawn: &[u32],
        with_past: bool,
    ) -> Shown<'a> {
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
            is_authenticated: node.is_authenticated,
            epoch: node.epoch,
            frames: node.frames,
            samples: node.samples,
            steps: node.steps,
            missing: node.missing,
        };
        Shown {
            name: &frame.name,
            started_ms: frame.started_ms,
            at_ms: snapshot.at.monotonic_ns / 1_000_000,
            wall_ms: snapshot.at.wall_ns / 1_000_000,
            alarms: ShownAlarms {
                alarms: snapshot.alarms(),
                disk_nearly_full: disk.as_ref().is_some_and(Room::is_nearly_full),
            },
            disk,
            stats: &snapshot.stats,
            samples: snapshot.samples,
            totals: snapshot.past.last().map(row).unwrap_or_default(),
            past: with_past.then(|| snapshot.past.iter().map(row).collect()),
            nodes: snapshot.nodes.iter().map(node).collect(),
            drawn: ShownLines(lines.collect()),
        }
    }
}

fn line<'a>(frame: &'a Frame, node: u32, drawn: &'a Drawn) -> ShownLine<'a> {
    let Drawn { channel, format, span_ps, columns } = drawn;
    // Other samples than a converter's are what their computer sent.
    let is_code = format.kind == collect::waveform::Kind::Code;
    let meaning = frame.catalogue.meanings.get(&(node, *channel)).filter(|_| is_code);
    let (unit, scale, offset) = match meaning {
        Some(Meaning { unit, scale, offset }) => (unit.as_str(), *scale, *offset),
        None => ("", 1.0, 0.0),
    };
    let span_s = *span_ps as f64 / 1e12;
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
    /// No number is `null`; one is as short as it can be.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(Some(2 * self.0.len()))?;
        self.0.iter().flatten().try_for_each(|&value| match value as f32 {
            short if f64::from(short) == value => seq.serialize_element(&short),
            _ => seq.serialize_element(&value),
        })?;
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
pub(super) fn json(shown: &Shown<'_>) -> Zeroizing<Vec<u8>> {
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
    fn a_column_without_a_number_is_null_and_a_number_is_short_and_exact() {
        let columns = Columns(&[[1.0, 0.1], [f64::NAN, f64::NAN], [0.1f32.into(), 2_147_483_647.0]]);
        let text = serde_json::to_string(&columns).unwrap();
        assert_eq!(text, "[1.0,0.1,null,null,0.1,2147483647.0]");
    }
}
