//! Every chart, table and block of this crate on one page, with synthetic data from a seed.
//!
//! `cargo run -p report --example gallery -- OUT.html [SEED]` writes the page. The data imitate the shapes of real
//! ones (a heartbeat, a TDMA bus, latencies with a tail) and measure nothing; their numbers mean nothing.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use report::chart::{Axis, Bars, Distribution, Form, Lines, Panels, Stand, Timeline, Tone};
use report::page::{Figure, Page, Section};
use report::paper::PaperRow;
use report::printed::{Direction, Printed, PrintedCell};
use report::row::{Clock, Experiment, Value};
use report::table::Table;
use std::process::ExitCode;

/// Uniform in 0..1.
fn uniform(random: &mut ChaCha8Rng) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Standard normal, by Box and Muller.
fn normal(random: &mut ChaCha8Rng) -> f64 {
    let radius = (-2.0 * uniform(random).max(1e-300).ln()).sqrt();
    radius * (std::f64::consts::TAU * uniform(random)).cos()
}

const SUPERFRAME_MS: f64 = 250.0;
const SLOT_MS: f64 = 38.0;
const DURATION_S: f64 = 120.0;
const RATE_HZ: f64 = 360.0;
const NODES: [(&str, &str); 4] = [
    ("node 1", "ATmega128, 8 MHz, +35 ppm"),
    ("node 2", "ATmega128, 8 MHz, −60 ppm"),
    ("node 3", "ATmega128, 4 MHz, +12 ppm"),
    ("node 4", "ATmega328P, 16 MHz, −90 ppm"),
];

/// A made-up heartbeat in ADC codes, with noise, a premature beat now and then, and lost frames.
fn heartbeat(random: &mut ChaCha8Rng, losses: usize) -> Vec<(f64, f64)> {
    let count = (DURATION_S * RATE_HZ) as usize;
    let mut codes = vec![0.0; count];
    let mut beat_s = uniform(random);
    while beat_s < DURATION_S {
        let is_premature = uniform(random) < 0.05;
        let waves: [(f64, f64, f64); 5] = match is_premature {
            true => [
                (0.0, 0.045, 190.0),
                (0.10, 0.05, -140.0),
                (0.30, 0.06, -50.0),
                (0.0, 1.0, 0.0),
                (0.0, 1.0, 0.0),
            ],
            false => [
                (-0.17, 0.025, 22.0),
                (-0.03, 0.010, -25.0),
                (0.0, 0.012, 210.0),
                (0.03, 0.011, -55.0),
                (0.26, 0.045, 48.0),
            ],
        };
        for (at, width, height) in waves.into_iter().filter(|wave| wave.2 != 0.0) {
            let from = ((beat_s + at - 4.0 * width) * RATE_HZ).max(0.0) as usize;
            let to = (((beat_s + at + 4.0 * width) * RATE_HZ).max(0.0) as usize).min(count);
            for (index, code) in codes.iter_mut().enumerate().take(to).skip(from) {
                let distance = (index as f64 / RATE_HZ - beat_s - at) / width;
                *code += height * (-distance * distance / 2.0).exp();
            }
        }
        beat_s += if is_premature { 1.1 } else { 0.78 + 0.05 * normal(random) };
    }
    let mut points: Vec<(f64, f64)> = Vec::with_capacity(count);
    for (index, code) in codes.iter().enumerate() {
        let time_s = index as f64 / RATE_HZ;
        let wander = 14.0 * (time_s * 0.9).sin();
        points.push((time_s, (420.0 + wander + code + 2.5 * normal(random)).round()));
    }
    for _ in 0..losses {
        let start = (uniform(random) * (count - 360) as f64) as usize;
        points[start..start + 90].iter_mut().for_each(|point| point.1 = f64::NAN);
    }
    points
}

fn waveforms(random: &mut ChaCha8Rng) -> (Lines, Lines) {
    let chart = |title: &str| {
        let axis = Axis::linear("cell time", "s");
        Lines::new(title, axis, Axis::linear("reading", "ADC code"), Panels::Each)
    };
    let (mut whole, mut detail) = (chart("What the server stored"), chart("Six seconds of it"));
    for (index, (name, note)) in NODES.into_iter().enumerate() {
        let points = heartbeat(random, index * 2);
        whole = whole.noted_series(name, note, points.clone());
        detail = detail.noted_series(name, note, points);
    }
    (whole, detail.window(30.0, 36.0).mark(32.5, "cell key changes"))
}

fn bus(random: &mut ChaCha8Rng) -> Timeline {
    let mut bus = Timeline::new("Two superframes on the bus", Axis::linear("cell time", "ms"));
    let beacon = bus.kind("beacon", Tone::Neutral);
    let frame = bus.kind("frame", Tone::Accent);
    let downlink = bus.kind("downlink", Tone::Third);
    let contention = bus.kind("contention", Tone::Alert);
    let lanes =
        [bus.lane("gateway"), bus.lane("node 1"), bus.lane("node 2"), bus.lane("node 3"), bus.lane("node 4")];
    for superframe in 0..2 {
        let start = f64::from(superframe) * SUPERFRAME_MS;
        let slots = ["beacon", "node 1", "node 2", "node 3", "node 4", "downlink"];
        for (slot, name) in slots.into_iter().enumerate() {
            let slot_start = start + slot as f64 * SLOT_MS;
            bus.band(slot_start, slot_start + SLOT_MS, name);
            let jitter = 0.05 * normal(random).abs();
            let (kind, lane, bytes) = match slot {
                0 => (beacon, 0, 47),
                5 => (downlink, 0, 31),
                _ => (frame, slot, 216),
            };
            let length = f64::from(bytes) * 0.16;
            let from = slot_start + 1.2 + jitter;
            bus.interval(lanes[lane], kind, from, from + length, format!("{bytes} B"));
        }
        if superframe == 1 {
            bus.interval(lanes[2], contention, start + 104.0, start + 108.5, "two drivers on MOSI");
        }
    }
    bus
}

fn processors(random: &mut ChaCha8Rng) -> Timeline {
    let mut timeline = Timeline::new("What the processors do", Axis::linear("cell time", "ms"));
    let asleep = timeline.kind("asleep", Tone::Quiet);
    let sampling = timeline.kind("sampling", Tone::Second);
    let sealing = timeline.kind("sealing", Tone::Accent);
    let transmitting = timeline.kind("transmitting", Tone::Third);
    let interrupt = timeline.kind("interrupt", Tone::Fourth);
    for (index, (name, _)) in NODES.into_iter().enumerate() {
        let lane = timeline.lane(name);
        let mut busy = Vec::new();
        for superframe in 0..8 {
            let start = f64::from(superframe) * SUPERFRAME_MS;
            for sample in 0..90 {
                let at = start + f64::from(sample) * SUPERFRAME_MS / 90.0 + 0.02 * normal(random).abs();
                busy.push((sampling, at + 0.08, at + 0.5, ""));
                busy.push((interrupt, at, at + 0.08, ""));
            }
            busy.push((sealing, start + 6.0, start + 19.0 + index as f64 * 5.0, "seal 180 B"));
            let slot = start + (index as f64 + 1.0) * SLOT_MS + 1.2;
            busy.push((transmitting, slot, slot + 34.5, "216 B"));
        }
        busy.sort_by(|a, b| a.1.total_cmp(&b.1));
        let mut awake_until = 0.0;
        for (kind, from, to, label) in busy {
            if from > awake_until {
                timeline.interval(lane, asleep, awake_until, from, "");
            }
            timeline.interval(lane, kind, from, to, label);
            awake_until = to.max(awake_until);
        }
        timeline.interval(lane, asleep, awake_until, 8.0 * SUPERFRAME_MS, "");
    }
    timeline.inset(500.0, 750.0);
    timeline
}

fn latencies(random: &mut ChaCha8Rng, count: usize, median_ms: f64, tail: f64) -> Vec<f64> {
    (0..count)
        .map(|_| {
            let late = if uniform(random) < tail { 6.0 + 20.0 * uniform(random) } else { 1.0 };
            median_ms * (0.35 * normal(random)).exp() * late
        })
        .collect()
}

fn distributions(random: &mut ChaCha8Rng) -> Section {
    let axis = || Axis::log("frame sealed to sample durable, wall time", "ms");
    let ours = latencies(random, 20_000, 3.2, 0.004);
    let one = latencies(random, 20_000, 5.1, 0.02);
    let none = latencies(random, 2_000, 2.1, 0.0);
    let histogram = Distribution::new("Latency, by batch size", axis(), Form::Histogram)
        .series("1 superframe a batch", ours.clone())
        .series("4 superframes a batch", one.clone())
        .mark(250.0, "deadline");
    let cumulative = Distribution::new("Latency, all frames", axis(), Form::Cumulative)
        .series("sealed", ours.clone())
        .mark(100.0, "deadline");
    let tail = Distribution::new("How late the late ones are", axis(), Form::Tail)
        .series("AES-GCM, device", one)
        .series("AES-GCM, host", ours)
        .series("not sealed", none)
        .mark(250.0, "deadline")
        .mark(125.0, "half of it");
    Section::new("Latency")
        .chart(histogram, "One panel a series, the same axes for both.")
        .chart(cumulative, "A single curve carries its percentiles.")
        .chart(tail, "The share of frames later than each value: one in a thousand is at 0.1 %.")
}

fn bars() -> Section {
    let grouped = Bars::new(
        "Cycles to seal one byte, printed and ours",
        Axis::linear("cycles a byte", ""),
        Stand::Grouped,
        [("printed", Tone::Neutral), ("ours", Tone::Accent)],
    )
    .group("AES-128-CCM, tables in RAM", [Some(312.5), Some(287.25)])
    .group("AES-128-CCM, tables in flash", [Some(402.0), Some(398.5)])
    .group("Ascon-AEAD128", [None, Some(481.0)])
    .group("RC5-32/12/16", [Some(188.0), Some(195.125)])
    .group("RC4", [Some(61.0), None]);
    let stacked = Bars::new(
        "Energy of one frame",
        Axis::linear("energy", "µJ"),
        Stand::Stacked,
        [
            ("sample", Tone::Second),
            ("seal", Tone::Accent),
            ("transmit", Tone::Third),
            ("asleep", Tone::Quiet),
        ],
    )
    .group("node 1", [Some(88.0), Some(131.5), Some(402.0), Some(35.0)])
    .group("node 2", [Some(88.0), Some(131.5), Some(398.0), Some(35.5)])
    .group("node 3", [Some(61.0), Some(97.0), Some(310.0), None])
    .group("node 4", [Some(120.0), Some(24.0), Some(260.0), Some(11.0)]);
    let change = Bars::new(
        "Change against no sealing",
        Axis::linear("change", "%"),
        Stand::Grouped,
        [("change", Tone::Accent)],
    )
    .group("code", [Some(12.5)])
    .group("bus slots", [Some(8.3)])
    .group("idle cycles", [Some(-21.75)])
    .group("memory", [Some(-0.4)]);
    Section::new("Bars")
        .chart(grouped, "What was not measured, or not printed, says so.")
        .chart(stacked, "A part that is missing makes the total a lower bound.")
        .chart(change, "")
}

fn tables() -> Section {
    let experiment = Experiment::new("gallery", "cargo run -p report --example gallery");
    let mut rows = Vec::new();
    for (index, (name, _)) in NODES.into_iter().enumerate() {
        let scale = index as f64 + 1.0;
        rows.push(experiment.row(name, "frames", 480_u32 - index as u32, "", Clock::None));
        rows.push(experiment.row(name, "idle slots used", 98.12345 / scale, "%", Clock::None));
        rows.push(experiment.row(name, "seal", 16.402 * scale, "ms", Clock::Cell));
        rows.push(experiment.row(name, "store", 3.25 * scale * scale, "ms", Clock::Wall));
        rows.push(experiment.row(name, "drift", -35_i64 + 30 * index as i64, "ppm", Clock::None));
        rows.push(experiment.row(
            name,
            "suite",
            ["ascon-aead128", "aes-128-ccm"][index % 2],
            "",
            Clock::None,
        ));
    }
    let cells = [
        ("RC5", "1234.50", Some(Value::from(1234.502)), Direction::Lower),
        ("RC4", "12.5", Some(Value::from(13.0)), Direction::Lower),
        ("AES", "99", Some(Value::from(61_u32)), Direction::Lower),
        ("DES", "0.25", Some(Value::from(0.5)), Direction::Lower),
        ("3DES", "", Some(Value::from(0.75)), Direction::Lower),
        ("IDEA", "3e4", None, Direction::Lower),
    ];
    let paper: Vec<PaperRow> = cells
        .into_iter()
        .map(|(case, printed, ours, direction)| {
            let printed = (!printed.is_empty()).then(|| Printed::new(printed));
            let (case, metric, unit) = (case.to_owned(), "time to seal".to_owned(), "ms".to_owned());
            let cell = PrintedCell { case, metric, unit, printed, direction, tolerance: None };
            let witnesses: &[&str] = if ours.is_some() { &["proof", "simulator"] } else { &[] };
            PaperRow::new("gallery", "table-2", &cell, ours, witnesses, "made up")
        })
        .collect();
    Section::new("Tables")
        .table(
            Table::pivot("Nodes", &rows),
            "Numbers align on their decimal point. A column is cell time or wall time, never both.",
        )
        .table(Table::of_paper("Printed beside ours", &paper), "Each verdict has a sign as well as a word.")
        .code(
            "selvedge run deployments/ecg.toml --seed 7\nselvedge paper sti --json | head",
            "Code is shown as it is: <b>not bold</b>.",
        )
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (path, seed) = match arguments.as_slice() {
        [path] => (path, 7),
        [path, seed] if seed.parse::<u64>().is_ok() => (path, seed.parse().unwrap_or_default()),
        _ => {
            eprintln!("usage: gallery OUT.html [SEED]");
            return ExitCode::from(2);
        }
    };
    println!("seed {seed}");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let (whole, detail) = waveforms(&mut random);
    let page = Page::new(
        "Gallery of charts and tables",
        "Every kind of block that a report can hold, with made-up data. Nothing here was measured.",
    )
    .section(
        Section::new("Key figures").figures([
            Figure::new("samples stored", 172_080_u32, "").aside("of 172,800 taken"),
            Figure::new("energy of a frame", 656.5, "µJ").aside("20 % of it sealing"),
            Figure::new("late frames", 0.0312, "%").aside("deadline 250 ms"),
            Figure::new("median latency", 3.21, "ms").aside("wall time"),
            Figure::new("crypto core", 12_345_u32, "GE"),
        ])
        .note("A note is for what a reader must not miss: these data are synthetic, and the same seed gives the same page."),
    )
    .section(
        Section::new("Waveforms")
            .text("A hundred and twenty seconds at 360 samples a second are 43,200 points a node; every peak is kept.")
            .chart(whole, "The red line at the foot of a panel marks lost frames.")
            .chart(detail, "A window of the same series."),
    )
    .section(
        Section::new("Time")
            .chart(bus(&mut random), "Slots are bands; a frame's length is written where it fits.")
            .chart(processors(&mut random), "Two seconds, and one superframe enlarged."),
    )
    .section(distributions(&mut random))
    .section(bars())
    .section(tables())
    .provenance("Command", format!("cargo run -p report --example gallery -- OUT.html {seed}"))
    .provenance("Seed", seed.to_string());
    match std::fs::write(path, page.html()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {path}: {error}");
            ExitCode::from(3)
        }
    }
}
