//! An open loop at half of the rate that goes through: what is due is sent when it is due, however busy the server is.
//! Latency, and a soak that looks at the memory of the server meanwhile.
//!
//! Only the time from due to receipt is counted from the schedule. The server's own times begin when it has read a batch,
//! and what waits before that, in a stall, is not in them.

use std::convert::Infallible;
use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use collect::segment::file_number;
use collect::stats::Latency;
use hdrhistogram::Histogram;
use report::chart::{Axis, Lines, Panels};
use report::page::Section;
use report::row::Clock;
use report::table::{Column, Entry, Table};
use selvedge::error::Error;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::cores::{Watch, Watched, resident_bytes};
use super::gateway::{Gateway, Message, Received, Sealer, no_latencies, seal_all};
use super::server::{Counted, Server};
use super::{Bench, GATEWAYS, LOAD, RETAIN_BYTES, bare, batches_that_fit, pace, rate};
use crate::goals::Wanted;

/// What p99 should be, from arrival to durable and from due to receipt, in milliseconds.
const P99_MS: f64 = 3.0;
/// Sealed batches of a gateway that wait in a soak.
const SEALED_MAX: usize = 64;
/// Growth of memory after the first minute that a soak may show, in percent.
const GROWTH_PERCENT: f64 = 1.0;
/// From when on a soak counts: the memory of the server is still growing into its work before.
const SETTLED_S: f64 = 60.0;
/// A shorter soak has no goal.
const SOAK_S_MIN: f64 = 120.0;
/// The memory of so long has one mean: one look may fall on a buffer that is given back at once.
const MEAN_S: f64 = 10.0;
/// Between two looks at the memory.
const LOOK: Duration = Duration::from_secs(1);

/// What an open loop showed.
struct Shown {
    schedule: pace::Schedule,
    counted: Counted,
    /// From when a batch was due to its receipt.
    receipt: Histogram<u64>,
    cores: Watched,
    faults: u64,
    cpu_s: f64,
    took: Duration,
    /// Seconds, and bytes of the server.
    resident: Vec<(f64, f64)>,
    store: Stored,
}

/// What is on the disk at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stored {
    /// Bytes of all files.
    bytes: u64,
    /// Segments that are not there any more.
    removed: u64,
}

/// Where batches come from.
#[derive(Clone, Copy)]
enum Source {
    /// Sealed before.
    Before,
    /// Sealed meanwhile.
    Meanwhile,
}

/// Measures latency.
///
/// # Errors
/// The environment's.
pub fn measure(bench: &mut Bench) -> Result<(), Error> {
    let shown = open_loop(bench, "latency", bench.effort.latency, Source::Before)?;
    let bare = of(&bare::latencies(bench, shown.schedule)?);
    let rate = half(bench)?;
    let latency = shown.counted.durable_latency;
    bench.goals.row("latency", "frames due", rate, "frames/s", Clock::Wall);
    bench.goals.row("latency", "batches", shown.counted.batches, "", Clock::None);
    rows(bench, "arrival to durable", &latency);
    for (name, stage) in shown.counted.stages.named() {
        rows(bench, name, stage);
    }
    let receipt = of(&shown.receipt);
    rows(bench, "due to receipt", &receipt);
    rows(bench, "due to durable, bare log", &bare);
    deadline_rows(bench, "latency", &shown.counted);
    let cores = shown.cpu_s / shown.took.as_secs_f64();
    bench.goals.row("latency", "cores that the server used", cores, "s/s", Clock::Wall);
    bench.goals.row("latency", "page faults of the server meanwhile", shown.faults, "", Clock::Wall);
    for (what, latency) in [("arrival to durable", &latency), ("due to receipt", &receipt)] {
        let (p99_ms, what) = (latency.p99_ns as f64 / 1e6, format!("{what} at half the rate, p99, ms"));
        let peer = format!("{:.3} ms, due to durable", bare.p99_ns as f64 / 1e6);
        bench.goals.goal(&what, p99_ms, "bare log", peer, Wanted::AtMost(P99_MS));
    }
    let section = Section::new("Latency at half the rate")
        .text(
            "Batches are sent when they are due, however busy the server is, and due to receipt is counted from then. \
             Stages are of the server's own clock, and begin when it has read a batch: what waits before that is in due to \
             receipt alone. What is opened, or committed, together has the times of the group. The bare log is written after \
             that on the same schedule, by one thread of no class that syncs each batch alone.",
        )
        .table(table(&shown, &bare), "Greatest times are what was seen here, and bound nothing.")
        .chart(shown.cores.chart("Cores meanwhile"), "Server and gateways are on the same cores.");
    bench.sections.push(section);
    Ok(())
}

/// Half of the rate that goes through, in frames a second.
fn half(bench: &mut Bench) -> Result<f64, Error> {
    if bench.rate.is_none() {
        bench.rate = Some(rate::estimate(bench)?);
    }
    Ok(bench.rate.expect("it was estimated") / 2.0)
}

/// Measures memory.
///
/// # Errors
/// The environment's.
pub fn soak(bench: &mut Bench) -> Result<(), Error> {
    let shown = open_loop(bench, "soak", bench.effort.soak, Source::Meanwhile)?;
    let total_s = shown.resident.last().map_or(0.0, |(at_s, _)| *at_s);
    let [early, late] = early_and_late(total_s).map(|within| mean(&shown.resident, within));
    bench.goals.row("soak", "took", total_s, "s", Clock::Wall);
    bench.goals.row("soak", "batches", shown.counted.batches, "", Clock::None);
    // Whether retention began within it decides what its memory says of that.
    bench.goals.row("soak", "store at its end", shown.store.bytes, "B", Clock::Wall);
    bench.goals.row("soak", "segments removed", shown.store.removed, "", Clock::Wall);
    deadline_rows(bench, "soak", &shown.counted);
    let growth = 100.0 * (late / early - 1.0);
    if total_s < SOAK_S_MIN {
        bench.goals.row("soak", "resident in its first half", early, "B", Clock::None);
        bench.goals.row("soak", "resident in its second half", late, "B", Clock::None);
        eprintln!("skip: memory of a soak: found one of {total_s:.0} s, and its goal is for 2 min or more");
    } else {
        bench.goals.row("soak", "resident after a minute", early, "B", Clock::None);
        bench.goals.row("soak", "resident at its end", late, "B", Clock::None);
        let peer = format!("{:.1} MiB", early / f64::from(1 << 20));
        let wanted = Wanted::AtMost(GROWTH_PERCENT);
        bench.goals.goal("memory of a soak, growth, %", growth, "early", peer, wanted);
    }
    let (x, y) = (Axis::linear("wall time", "s"), Axis::linear("resident", "MiB"));
    let points = shown.resident.iter().map(|(at_s, bytes)| (*at_s, bytes / f64::from(1 << 20))).collect();
    let lines = Lines::new("Memory of the server", x, y, Panels::Together).series("resident", points);
    bench.sections.push(Section::new("Soak").chart(lines, "Half the rate, and 8 GiB of segments are kept."));
    Ok(())
}

/// Seconds in which the memory of a soak is compared with that in later ones.
fn early_and_late(total_s: f64) -> [RangeInclusive<f64>; 2] {
    if total_s < SOAK_S_MIN {
        return [0.0..=(total_s / 2.0).next_down(), total_s / 2.0..=total_s];
    }
    [SETTLED_S..=SETTLED_S + MEAN_S, total_s - MEAN_S..=total_s]
}

/// The mean of what was seen within these seconds.
fn mean(resident: &[(f64, f64)], within: RangeInclusive<f64>) -> f64 {
    let seen = resident.iter().filter(|(at_s, _)| within.contains(at_s));
    let bytes: Vec<f64> = seen.map(|(_, bytes)| *bytes).collect();
    assert!(!bytes.is_empty(), "somebody looked between {} s and {} s", within.start(), within.end());
    bytes.iter().sum::<f64>() / bytes.len() as f64
}

fn open_loop(bench: &mut Bench, name: &'static str, time: Duration, source: Source) -> Result<Shown, Error> {
    let rate = half(bench)?;
    let interval = Duration::from_secs_f64(LOAD.frames_per_batch as f64 / rate);
    let count = (time.as_secs_f64() / interval.as_secs_f64()).ceil().max(1.0) as u64;
    // As many for each gateway.
    let each = count.div_ceil(GATEWAYS as u64);
    let each = match source {
        Source::Before => each.min(batches_that_fit()?),
        Source::Meanwhile => each,
    };
    let schedule = pace::Schedule { interval, count: each * GATEWAYS as u64 };
    let mut sealers = Sealer::all(LOAD, bench.seed, GATEWAYS);
    let spools: Vec<u64> = sealers.iter().map(Sealer::spool).collect();
    let feeds = match source {
        Source::Before => sealed_before(&mut sealers, each as usize),
        Source::Meanwhile => sealed_meanwhile(sealers, each),
    };
    let retain_bytes = match source {
        Source::Before => bare::KEPT_BYTES,
        Source::Meanwhile => RETAIN_BYTES,
    };
    let server = bench.server(name, GATEWAYS, retain_bytes)?;
    let gateways = bench.connect(&server, spools.into_iter())?;
    let begin = bench.usage(server.id())?;
    let watch = Watch::begin().map_err(Error::process("collect bench"))?;
    let begun = Instant::now();
    let sent = send(bench, &server, gateways, feeds, schedule)?;
    // At once: to end the watch takes a while.
    let (took, end) = (begun.elapsed(), bench.usage(server.id())?);
    let cores = watch.end();
    let counted = server.stop()?;
    bench.conserve(schedule.count, sent.received, &counted);
    let (faults, cpu_s) = (end.faults - begin.faults, end.cpu_s - begin.cpu_s);
    let store = stored(&bench.folder.path().join(name))?;
    let Sent { receipt, resident, .. } = sent;
    Ok(Shown { schedule, counted, receipt, cores, faults, cpu_s, took, resident, store })
}

/// What is in the folder of a store. Segments are numbered from 0, and the oldest go first.
fn stored(folder: &Path) -> Result<Stored, Error> {
    let failed = |cause| Error::io("read", folder, cause);
    let (mut bytes, mut oldest) = (0, None::<u64>);
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        bytes += entry.metadata().map_err(failed)?.len();
        let number = entry.file_name().to_str().and_then(file_number);
        oldest = oldest.into_iter().chain(number).min();
    }
    Ok(Stored { bytes, removed: oldest.unwrap_or(0) })
}

fn sealed_before(sealers: &mut [Sealer], each: usize) -> Vec<mpsc::Receiver<Message>> {
    let feed = |messages: std::sync::Arc<Vec<Message>>| {
        let messages = std::sync::Arc::into_inner(messages).expect("nobody else has it yet");
        let (sender, receiver) = mpsc::channel(each);
        messages.into_iter().for_each(|message| sender.try_send(message).expect("there is room for all"));
        receiver
    };
    seal_all(sealers, each).into_iter().map(feed).collect()
}

fn sealed_meanwhile(sealers: Vec<Sealer>, each: u64) -> Vec<mpsc::Receiver<Message>> {
    let feed = |mut sealer: Sealer| {
        let (sender, receiver) = mpsc::channel(SEALED_MAX);
        // It ends when nobody takes any more.
        thread::spawn(move || (0..each).all(|_| sender.blocking_send(sealer.seal()).is_ok()));
        receiver
    };
    sealers.into_iter().map(feed).collect()
}

struct Sent {
    received: Received,
    receipt: Histogram<u64>,
    resident: Vec<(f64, f64)>,
}

/// Keeps the schedule on a thread of its own, while the gateways send and this thread looks at the server's memory.
fn send(
    bench: &Bench,
    server: &Server,
    gateways: Vec<Gateway>,
    feeds: Vec<mpsc::Receiver<Message>>,
    schedule: pace::Schedule,
) -> Result<Sent, Error> {
    let (mut sending, mut dues) = (JoinSet::new(), Vec::new());
    let each = schedule.count / gateways.len() as u64;
    for (mut gateway, feed) in gateways.into_iter().zip(feeds) {
        let (due, when_due) = mpsc::unbounded_channel();
        dues.push(due);
        let task = async move {
            let mut latency = no_latencies();
            let received = gateway.send_when_due(feed, when_due, each, &mut latency).await?;
            Ok::<_, Error>((received, latency))
        };
        sending.spawn_on(task, bench.runtime.handle());
    }
    let first_ns = pace::now_ns() + pace::LEAD_NS;
    let keeper = thread::Builder::new().name("schedule".to_owned()).spawn(move || {
        let mut next = 0;
        pace::keep(first_ns, schedule, |due_ns| {
            // A gateway that has failed takes none, and says so itself.
            let _ = dues[next % dues.len()].send(due_ns);
            next += 1;
            Ok::<_, Infallible>(())
        })
    });
    let keeper = keeper.map_err(Error::process("collect bench"))?;
    let bar = bench.progress("seconds", (schedule.interval * schedule.count as u32).as_secs());
    let (mut all, begun) = (
        Sent { received: Received::default(), receipt: no_latencies(), resident: Vec::new() },
        Instant::now(),
    );
    bench.runtime.block_on(async {
        let mut look = tokio::time::interval(LOOK);
        loop {
            tokio::select! {
                joined = sending.join_next() => match joined {
                    None => return Ok::<_, Error>(()),
                    Some(joined) => {
                        let (received, latency) = joined.expect("sending does not panic")?;
                        all.received = all.received.and(received);
                        all.receipt.add(&latency).expect("the bounds are the same");
                    }
                },
                _ = look.tick() => {
                    let bytes = resident_bytes(server.id()).map_err(Error::process("collect bench"))?;
                    all.resident.push((begun.elapsed().as_secs_f64(), bytes as f64));
                    bar.inc(1);
                    bench.launcher.check_interrupted()?;
                }
            }
        }
    })?;
    let bytes = resident_bytes(server.id()).map_err(Error::process("collect bench"))?;
    all.resident.push((begun.elapsed().as_secs_f64(), bytes as f64));
    bar.finish_and_clear();
    let Ok(()) = keeper.join().expect("it only waits");
    Ok(all)
}

fn of(times: &Histogram<u64>) -> Latency {
    let at = |quantile| times.value_at_quantile(quantile);
    Latency {
        count: times.len(),
        min_ns: times.min(),
        p50_ns: at(0.5),
        p99_ns: at(0.99),
        p999_ns: at(0.999),
        p9999_ns: at(0.9999),
        max_ns: times.max(),
    }
}

/// What is shown of a distribution, in nanoseconds.
fn quantiles(latency: &Latency) -> [(&'static str, u64); 5] {
    [
        ("p50", latency.p50_ns),
        ("p99", latency.p99_ns),
        ("p99.9", latency.p999_ns),
        ("p99.99", latency.p9999_ns),
        ("most seen", latency.max_ns),
    ]
}

fn rows(bench: &mut Bench, what: &str, latency: &Latency) {
    for (name, time_ns) in quantiles(latency) {
        bench.goals.row("latency", &format!("{what}, {name}"), time_ns as f64 / 1e3, "us", Clock::Wall);
    }
}

fn deadline_rows(bench: &mut Bench, scenario: &str, counted: &Counted) {
    if let Some(deadline) = counted.deadline {
        let words = format!("misses of {} ms", deadline.deadline_ns as f64 / 1e6);
        bench.goals.row(scenario, &words, deadline.missed, "", Clock::Wall);
        bench.goals.row(scenario, "longest run of misses", deadline.longest_run, "", Clock::Wall);
    }
}

fn table(shown: &Shown, bare: &Latency) -> Table {
    let mut columns = vec![Column::new("stage"), Column::new("batches")];
    let names = quantiles(&Latency::default()).map(|(name, _)| Column::new(name).unit("us").decimals(0));
    columns.extend(names);
    let mut table = Table::new("Wall time by stage", columns);
    let receipt = of(&shown.receipt);
    let mut push = |name: &str, latency: &Latency| {
        let mut line = vec![Entry::from(name), Entry::from(latency.count)];
        line.extend(quantiles(latency).map(|(_, time_ns)| Entry::from(time_ns as f64 / 1e3)));
        table.push(line);
    };
    shown.counted.stages.named().into_iter().for_each(|(name, stage)| push(name, stage));
    push("arrival to durable", &shown.counted.durable_latency);
    push("due to receipt", &receipt);
    push("due to durable, bare log", bare);
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use collect::segment::file_name;

    #[test]
    fn a_store_is_all_of_its_files_and_what_is_missing_below_was_removed() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(stored(folder.path()).unwrap(), Stored::default());
        for name in [file_name(0x1f), file_name(0x12), "spare.new".to_owned(), "lock".to_owned()] {
            fs::write(folder.path().join(name), [7; 100]).unwrap();
        }
        assert_eq!(stored(folder.path()).unwrap(), Stored { bytes: 400, removed: 0x12 });
    }

    #[test]
    fn what_a_soak_compares_does_not_overlap_and_has_at_least_one_look_in_each() {
        for total_s in [0.001, 1.0, 19.0, 60.0, 119.9, 120.0, 300.0, 3600.0] {
            let [early, late] = early_and_late(total_s);
            assert!(early.end() < late.start() && *late.end() == total_s, "{total_s}: {early:?}, {late:?}");
            let mut resident: Vec<(f64, f64)> =
                (0..total_s.ceil() as u32).map(|at| (at.into(), 2.0)).collect();
            resident.push((total_s, 2.0));
            assert_eq!([mean(&resident, early), mean(&resident, late)], [2.0, 2.0]);
        }
    }
}
