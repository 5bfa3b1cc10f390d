//! The report of a run: tables and pictures from its rows, its store and its timeline. Computes nothing.

use report::chart::{Axis, Lines, Panels, Timeline as Chart, Tone};
use report::page::{Figure, Page, Section};
use report::row::{Clock, Row, Value};
use report::table::Table;
use selvedge::error::Error;
use selvedge::link::check::Found;
use selvedge::link::deployment::{Cell, Deployment, Node};
use selvedge::link::journal::{Timeline, read_timeline};
use selvedge::link::layout::Layout;

use crate::phases;

/// Picoseconds in a millisecond, the unit of the timelines.
const PS_PER_MS: f64 = 1e9;

/// What each of the [`tables`] says.
const CAPTIONS: [&str; 4] = [
    "Stored samples against an ideal converter at the instants at which the simulated one sampled, and those instants \
     against the nominal grid.",
    "Counted by the simulator, to the cycle. Shares are of a node's own time.",
    "Rows of wall time depend on the machine; all others are the same for the same seed.",
    "What had been acknowledged before survived.",
];

/// The metric of who may send what no tag vouches for.
pub const LEGACY: &str = "legacy suite, not authenticated";

/// The whole page.
pub fn html(
    deployment: &Deployment,
    rows: &[Row],
    nodes: &[(&Cell, &Node, Found)],
    layout: &Layout,
) -> Result<String, Error> {
    let lead = format!(
        "{} nodes measured for {} s of cell time. Every sample was sealed on its node, carried over a shared bus, \
         sealed again at the gateway, opened by the server and stored durably before it was acknowledged.",
        nodes.len(),
        deployment.duration_ps / 1_000_000_000_000
    );
    let mut page = Page::new(format!("{}: from the node to the store", deployment.name), lead)
        .section(key_figures(rows, nodes))
        .section(waveforms(nodes));
    let legacy: Vec<&str> = rows.iter().filter(|row| row.metric() == LEGACY).map(Row::case).collect();
    if !legacy.is_empty() {
        let words = format!(
            "{} may send under a legacy suite, which has no tag: what is stored of it may be anybody's, and is marked.",
            legacy.join(", ")
        );
        page = page.section(Section::new("Not authenticated").text(words));
    }
    for cell in &deployment.cells {
        page = page.section(timelines(cell, &read_timeline(&layout.timeline(cell.id))?));
    }
    let mut numbers = Section::new("In numbers");
    for (table, caption) in tables(rows).into_iter().zip(CAPTIONS) {
        numbers = numbers.table(table, caption);
    }
    Ok(page
        .section(numbers)
        .provenance("deployment", &deployment.name)
        .provenance("seed", deployment.seed.to_string())
        .provenance("selvedge", env!("CARGO_PKG_VERSION"))
        .provenance("command", "selvedge run")
        .html())
}

/// The rows as tables: a line a node, then a line a process.
pub fn tables(rows: &[Row]) -> Vec<Table> {
    let of = |keep: &dyn Fn(&Row) -> bool| rows.iter().filter(|row| keep(row)).cloned().collect::<Vec<_>>();
    let is_node = |row: &Row| row.case().starts_with("node ");
    let nodes = of(&|row| is_node(row) && row.source() == "selvedge run");
    let work = of(&|row| is_node(row) && row.source() != "selvedge run");
    let rest = of(&|row| !is_node(row) && row.metric() != "restarts");
    let restarts = of(&|row| row.metric() == "restarts" && row.value() != &Value::from(0u64));
    let mut tables = vec![
        Table::pivot("What is stored", &nodes),
        Table::pivot("What each node did", &work),
        Table::of_rows("Bus, gateway and server", &rest),
    ];
    if !restarts.is_empty() {
        tables.push(Table::of_rows("Processes that had to be started again", &restarts));
    }
    tables
}

fn value(rows: &[Row], case: &str, metric: &str) -> Option<f64> {
    rows.iter().find(|row| row.case().starts_with(case) && row.metric() == metric)?.value().number()
}

fn mean(rows: &[Row], metric: &str) -> f64 {
    let values: Vec<f64> = rows
        .iter()
        .filter(|row| row.case().starts_with("node ") && row.metric() == metric)
        .filter_map(|row| row.value().number())
        .collect();
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn key_figures(rows: &[Row], nodes: &[(&Cell, &Node, Found)]) -> Section {
    let sum = |of: &dyn Fn(&Found) -> u64| nodes.iter().map(|(_, _, found)| of(found)).sum::<u64>();
    let mut figures = vec![
        Figure::new("samples stored", sum(&|found| found.waveform.len() as u64), ""),
        Figure::new("frames lost", sum(&|found| found.lost), ""),
        Figure::new("duplicated", sum(&|found| found.duplicated), ""),
        Figure::new("samples mismatched", sum(&|found| found.mismatched_samples), "")
            .aside("against an ideal 10-bit converter"),
        Figure::new("sealing one byte", mean(rows, "cycles per sealed byte").round(), "cycles")
            .aside("on the node"),
        Figure::new("awake", (10.0 * mean(rows, "awake share")).round() / 10.0, "%")
            .aside("of a node's time"),
    ];
    let energy_uj = mean(rows, "energy per byte sealed and sent");
    if energy_uj > 0.0 {
        let aside = "the core's, by its datasheet; without the radio";
        figures.push(Figure::new("energy of a byte", (100.0 * energy_uj).round() / 100.0, "µJ").aside(aside));
    }
    for row in rows.iter().filter(|row| row.metric() == "bus use") {
        if let Some(bus) = row.value().number() {
            figures.push(Figure::new("bus in use", (10.0 * bus).round() / 10.0, "%").aside(row.case()));
        }
    }
    if let Some(latency_us) = value(rows, "server", "arrival to durable, p99") {
        let aside = "from the batch's arrival at the server, 99 % of them";
        figures.push(Figure::new("durable within", (latency_us / 10.0).round() / 100.0, "ms").aside(aside));
    }
    assert!(rows.iter().all(|row| row.unit() != "us" || row.clock() == Clock::Wall));
    Section::new("What came of it").figures(figures)
}

fn waveforms(nodes: &[(&Cell, &Node, Found)]) -> Section {
    let chart = |title: &str| {
        let time = Axis::linear("cell time", "s");
        Lines::new(title, time, Axis::linear("stored sample", "ADC code"), Panels::Each)
    };
    let (mut whole, mut detail) = (chart("The waveforms as stored"), chart("Six seconds of them"));
    for (_, node, found) in nodes {
        let points: Vec<(f64, f64)> = with_gaps(found);
        let note =
            format!("{}, {} MHz, {:+} ppm", node.chip.name, node.clock_hz / 1_000_000, node.drift_ppb / 1000);
        whole = whole.noted_series(format!("node {}", node.id), note.clone(), points.clone());
        detail = detail.noted_series(format!("node {}", node.id), note, points);
    }
    Section::new("What was measured")
        .chart(whole, "Every stored sample, at its nominal instant. A gap is a sample that is not stored.")
        .chart(detail.window(20.0, 26.0), "The same, close enough to see each beat.")
}

/// The points of a waveform, broken where samples are missing.
fn with_gaps(found: &Found) -> Vec<(f64, f64)> {
    let mut points = Vec::with_capacity(found.waveform.len());
    let mut expected = None;
    for (index, (nominal_ps, code, stride)) in &found.waveform {
        let seconds = *nominal_ps as f64 * 1e-12;
        if expected.is_some_and(|expected| expected != *index) {
            points.push((seconds, f64::NAN));
        }
        points.push((seconds, f64::from(*code)));
        expected = Some(index + u64::from(*stride));
    }
    points
}

fn timelines(cell: &Cell, timeline: &Timeline) -> Section {
    Section::new(format!("Cell {}", cell.name))
        .chart(bus(cell, timeline), "Who held the bus: the beacon, each node in its slot, and an acknowledgement.")
        .chart(
            processors(cell, timeline),
            "What each processor did, from the phase byte that the firmware writes and the simulator watches.",
        )
}

fn bus(cell: &Cell, timeline: &Timeline) -> Chart {
    let mut chart = Chart::new("The bus", Axis::linear("cell time", "ms"));
    let (beacon, frame) = (chart.kind("beacon", Tone::Neutral), chart.kind("frame", Tone::Accent));
    let downlink = chart.kind("downlink", Tone::Third);
    let gateway = chart.lane("gateway");
    let lanes: Vec<_> =
        cell.nodes.iter().map(|node| (node.id, chart.lane(format!("node {}", node.id)))).collect();
    let superframe_ps = u64::from(cell.superframe_us) * 1_000_000;
    for (node, start_ps, end_ps) in &timeline.bus {
        let (start, end) = (*start_ps as f64 / PS_PER_MS, *end_ps as f64 / PS_PER_MS);
        let is_beacon = start_ps % superframe_ps < u64::from(cell.slot_us) * 1_000_000;
        match lanes.iter().find(|(id, _)| id == node) {
            Some((_, lane)) => chart.interval(*lane, frame, start, end, ""),
            None => chart.interval(gateway, if is_beacon { beacon } else { downlink }, start, end, ""),
        }
    }
    chart
}

fn processors(cell: &Cell, timeline: &Timeline) -> Chart {
    let mut chart = Chart::new("The processors", Axis::linear("cell time", "ms"));
    let kinds = phases::kinds(&mut chart);
    for node in &cell.nodes {
        let lane = chart.lane(format!("node {}", node.id));
        for (phase, start_ps, end_ps) in timeline.nodes.get(&node.id).into_iter().flatten() {
            if let Some((_, kind)) = kinds.iter().find(|(known, _)| known.name() == phase) {
                chart.interval(lane, *kind, *start_ps as f64 / PS_PER_MS, *end_ps as f64 / PS_PER_MS, "");
            }
        }
    }
    chart.inset(2000.0, 2070.0);
    chart
}
