//! The most that goes over TLS to disk, beside a bare log of the same bytes on the same disk: windows of all take turns.

use std::sync::Arc;
use std::time::Instant;

use report::chart::{Axis, Lines, Panels};
use report::page::Section;
use report::row::Clock;
use selvedge::error::Error;
use tokio::task::JoinSet;

use super::bare::{self, Bare};
use super::cores::Watch;
use super::gateway::{Gateway, Message, Received, Sealer, seal_all};
use super::server::{Counted, Server};
use super::{Bench, GATEWAYS, LOAD, batches_that_fit};
use crate::broker::stage::median;
use crate::goals::Wanted;

/// Batches of a connection that wait for their receipts: as many as the commit and both cores are busy with, and some.
const IN_FLIGHT: usize = 8;
/// What is measured in turn: the server, and two bare logs.
const WAYS: usize = 3;
/// Batches of the window that says how many the others have.
const FIRST_BATCHES: usize = 100;

/// What was found, in frames a second.
#[derive(Clone, Debug, Default)]
pub struct Rates {
    /// Of each window, over TLS to disk.
    pub served: Vec<f64>,
    /// Of each window, the bare log, which syncs each batch.
    pub bare: Vec<f64>,
    /// Of each window, the bare log, which syncs as many bytes at once as the server may.
    pub grouped: Vec<f64>,
    /// Seconds that each of the windows over TLS to disk took.
    pub served_s: Vec<f64>,
    /// Seconds of a core that the server and the gateways used in these.
    cpu_s: [f64; 2],
}

/// The server with its gateways.
struct Rig {
    server: Server,
    gateways: Vec<Gateway>,
    sealers: Vec<Sealer>,
    received: Received,
    sent: u64,
}

impl Rig {
    fn start(bench: &Bench) -> Result<Rig, Error> {
        let server = bench.server("rate", GATEWAYS, bare::KEPT_BYTES)?;
        let sealers = Sealer::all(LOAD, bench.seed, GATEWAYS);
        let gateways = bench.connect(&server, sealers.iter().map(Sealer::spool))?;
        Ok(Rig { server, gateways, sealers, received: Received::default(), sent: 0 })
    }

    /// Frames a second, all gateways together.
    fn window(&mut self, bench: &Bench, messages: &[Arc<Vec<Message>>]) -> Result<f64, Error> {
        let gateways = std::mem::take(&mut self.gateways);
        let begin = Instant::now();
        let sent = bench.runtime.block_on(async {
            let mut sending = JoinSet::new();
            for (mut gateway, messages) in gateways.into_iter().zip(messages.iter().cloned()) {
                sending.spawn(async move {
                    let received = gateway.send_all(&messages, IN_FLIGHT).await?;
                    Ok::<_, Error>((gateway, received))
                });
            }
            let mut ended = Vec::new();
            while let Some(joined) = sending.join_next().await {
                ended.push(joined.expect("sending does not panic")?);
            }
            Ok::<_, Error>(ended)
        })?;
        let took = begin.elapsed();
        let mut received = Received::default();
        for (gateway, of_one) in sent {
            self.gateways.push(gateway);
            received = received.and(of_one);
        }
        // A gateway goes on with its own spool.
        self.gateways.sort_by_key(Gateway::spool);
        self.received = self.received.and(received);
        let batches: usize = messages.iter().map(|messages| messages.len()).sum();
        self.sent += batches as u64;
        Ok((batches * LOAD.frames_per_batch) as f64 / took.as_secs_f64())
    }
}

/// Frames a second that go over TLS to disk, by one short window: for who needs no more.
///
/// # Errors
/// The environment's.
pub fn estimate(bench: &Bench) -> Result<f64, Error> {
    let mut rig = Rig::start(bench)?;
    let rate = first(bench, &mut rig)?;
    rig.server.stop()?;
    Ok(rate)
}

/// The first windows: one that fills what is filled once, and one that counts.
fn first(bench: &Bench, rig: &mut Rig) -> Result<f64, Error> {
    let batches = if bench.is_quick { 4 } else { FIRST_BATCHES };
    let mut rate = 0.0;
    for batches in [batches, 4 * batches] {
        let messages = seal_all(&mut rig.sealers, batches);
        rate = rig.window(bench, &messages)?;
    }
    Ok(rate)
}

/// Batches of a window, of each gateway.
fn window_batches(bench: &Bench, rate: f64) -> Result<usize, Error> {
    let wanted = rate * bench.effort.window.as_secs_f64() / LOAD.frames_per_batch as f64;
    let each = (wanted / GATEWAYS as f64).ceil().max(1.0) as u64;
    Ok(each.min(batches_that_fit()?) as usize)
}

/// Measures.
///
/// # Errors
/// The environment's.
pub fn measure(bench: &mut Bench) -> Result<(), Error> {
    let mut rig = Rig::start(bench)?;
    let first_rate = first(bench, &mut rig)?;
    let batches = window_batches(bench, first_rate)?;
    let mut bare = Bare::create(&bench.folder.path().join("bare"))?;
    // The gateways are of this process.
    let processes = [rig.server.id(), std::process::id()];
    let mut rates = Rates::default();
    let watch = Watch::begin().map_err(Error::process("collect bench"))?;
    let bar = bench.progress("rate: windows", WAYS as u64 * bench.effort.windows as u64);
    for window in 0..bench.effort.windows {
        let messages = seal_all(&mut rig.sealers, batches);
        let frames = (batches * GATEWAYS * LOAD.frames_per_batch) as f64;
        // Each goes first as often as the others.
        for way in 0..WAYS {
            if (window + way) % WAYS == 0 {
                let before = [bench.usage(processes[0])?, bench.usage(processes[1])?];
                let begin = Instant::now();
                rates.served.push(rig.window(bench, &messages)?);
                rates.served_s.push(begin.elapsed().as_secs_f64());
                for ((cpu_s, id), before) in rates.cpu_s.iter_mut().zip(processes).zip(before) {
                    *cpu_s += bench.usage(id)?.cpu_s - before.cpu_s;
                }
            } else {
                let is_grouped = (window + way) % WAYS == 1;
                let (sync_bytes, rates) = match is_grouped {
                    true => (bench.chosen.group_bytes(), &mut rates.grouped),
                    false => (1, &mut rates.bare),
                };
                let took = bare.write(messages.iter().flat_map(|messages| messages.iter()), sync_bytes)?;
                rates.push(frames / took.as_secs_f64());
            }
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    let watched = watch.end();
    let counted = rig.server.stop()?;
    bench.conserve(rig.sent, rig.received, &counted);
    bench.goals.row("rate", "windows of each", bench.effort.windows, "", Clock::None);
    bench.goals.row("rate", "batches of a window", batches * GATEWAYS, "", Clock::None);
    rows(bench, &rates, &counted);
    let section = section(&rates).chart(watched.chart("Cores while it was measured"), "All ways in turn.");
    bench.sections.push(section);
    Ok(())
}

/// What was found, and what takes the time of a group.
fn rows(bench: &mut Bench, rates: &Rates, counted: &Counted) {
    let [served, alone, grouped] =
        [&rates.served, &rates.bare, &rates.grouped].map(|rates| median(rates.clone()));
    bench.rate = Some(served);
    bench.goals.row("rate", "window, median", median(rates.served_s.clone()), "s", Clock::Wall);
    bench.goals.row("rate", "over TLS to disk, median", served, "frames/s", Clock::Wall);
    bench.goals.row("rate", "bare log that syncs each batch, median", alone, "frames/s", Clock::Wall);
    bench.goals.row(
        "rate",
        "bare log that syncs as the server may, median",
        grouped,
        "frames/s",
        Clock::Wall,
    );
    let served_s: f64 = rates.served_s.iter().sum();
    for (name, cpu_s) in ["server", "gateways"].into_iter().zip(rates.cpu_s) {
        let words = format!("cores that the {name} used");
        bench.goals.row("rate", &words, cpu_s / served_s, "s/s", Clock::Wall);
    }
    bench.goals.row("rate", "syncs", counted.groups, "", Clock::Wall);
    for (name, stage) in counted.stages.named() {
        bench.goals.row("rate", &format!("{name}, p50"), stage.p50_ns as f64 / 1e3, "us", Clock::Wall);
    }
    let peer = format!("{alone:.0} frames/s");
    bench.goals.goal(
        "over TLS to disk, of a bare log",
        served / alone,
        "bare log",
        peer,
        Wanted::AtLeast(0.8),
    );
}

fn section(rates: &Rates) -> Section {
    let points =
        |rates: &[f64]| rates.iter().enumerate().map(|(at, &rate)| ((at + 1) as f64, rate)).collect();
    let (x, y) = (Axis::linear("window", ""), Axis::linear("frames a second, wall time", "1/s"));
    let lines = Lines::new("Frames a second", x, y, Panels::Together)
        .series("over TLS to disk", points(&rates.served))
        .series("bare log, a sync a batch", points(&rates.bare))
        .series("bare log, a sync a group", points(&rates.grouped));
    Section::new("Rate").chart(lines, "Windows of all take turns on one disk, with the same bytes.")
}
