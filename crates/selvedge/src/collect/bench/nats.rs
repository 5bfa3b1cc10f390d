//! Batches through a cluster of three servers of NATS: what the server stores of them, beside a consumer that acknowledges
//! without storing. Both take turns on one cluster, and the processor time of each kind of process is told apart.
//!
//! How many batches are under way decides the rate of either: with few of them cores are idle while disks sync. So it is
//! swept, and what is compared is what each reaches at its best.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::Instant;

use collect::batch::{Answer, BatchId, HEADER_BYTES, SealedBatch};
use collect::load::{CELL, NODES, Plant};
use collect::nats::bare::ACKNOWLEDGED;
use collect::nats::client::Link;
use collect::nats::{Cluster, Protection, partition_of};
use report::row::Clock;
use selvedge::error::Error;
use selvedge::limits::BATCHES_IN_FLIGHT_MAX;
use tokio::task::JoinSet;

use super::gateway::{Opener, Received};
use super::server::Way;
use super::{Bench, LOAD, RETAIN_BYTES};
use crate::broker::stage::median;
use crate::goals::Wanted;

/// Partitions, each with a log and a gateway.
const PARTITIONS: u16 = 4;
/// Bridges whose batches a gateway has under way: each has as many as a bridge leaves unanswered.
const BRIDGES: [usize; 4] = [1, 2, 4, 8];
/// Batches of a window, of each gateway.
const WINDOW_BATCHES: usize = 400;
/// Copies of everything in the cluster that the goal is of.
const GOAL_REPLICAS: usize = 3;
/// Windows of each way under each load.
const WINDOWS: usize = 3;

/// What seals for one partition, and its connection.
struct Sender {
    partition: u16,
    spool: u64,
    next: u64,
    plant: Plant,
    link: Link,
}

/// A cluster as `scripts/nats.sh` starts it: where it listens, and its processes.
struct Started {
    cluster: Cluster,
    processes: Vec<u32>,
}

impl Started {
    fn read(folder: &Path) -> Result<Started, Error> {
        let mut started = Started {
            cluster: Cluster {
                servers: Vec::new(),
                partitions: PARTITIONS,
                protection: Protection::Loopback,
            },
            processes: Vec::new(),
        };
        for index in 0..3 {
            let [conf, pid] = ["conf", "pid"].map(|ending| folder.join(format!("{index}.{ending}")));
            let text = |path: &Path| fs::read_to_string(path).map_err(|cause| Error::io("read", path, cause));
            let none = |path: &Path, what| Error::io("read", path, std::io::Error::other(what));
            let (conf_text, pid_text) = (text(&conf)?, text(&pid)?);
            let listen = conf_text.lines().find_map(|line| line.strip_prefix("listen: "));
            let listen = listen.ok_or_else(|| none(&conf, "found no line that begins with `listen: `"))?;
            started.cluster.servers.push(format!("nats://{listen}"));
            let id = pid_text.trim().parse();
            started.processes.push(id.map_err(|_| none(&pid, "found no number of a process"))?);
        }
        Ok(started)
    }
}

/// One window.
struct Window {
    rate: f64,
    took_s: f64,
    received: Received,
    /// Processor seconds of the cluster, the gateways, and who consumes.
    cpu_s: [f64; 3],
}

/// The windows of one way under one load.
#[derive(Default)]
struct Loaded {
    rates: Vec<f64>,
    took_s: Vec<f64>,
    /// As of a window, of all of them.
    cpu_s: [f64; 3],
}

impl Loaded {
    fn add(&mut self, window: &Window) {
        self.rates.push(window.rate);
        self.took_s.push(window.took_s);
        self.cpu_s.iter_mut().zip(window.cpu_s).for_each(|(all, cpu_s)| *all += cpu_s);
    }
}

/// Measures, with the cluster that `scripts/nats.sh start` left in `folder`.
///
/// # Errors
/// The environment's.
pub fn measure(bench: &mut Bench, folder: &Path) -> Result<(), Error> {
    let started = Started::read(folder)?;
    let mut senders = senders(bench, &started.cluster)?;
    let (windows, batches) = if bench.is_quick { (1, 2) } else { (WINDOWS, WINDOW_BATCHES) };
    let bar = bench.progress("nats: windows", (BRIDGES.len() * 2 * windows) as u64);
    let ways = [Way::Nats(started.cluster.clone()), Way::Acknowledge(started.cluster.clone())];
    let frames = batches * senders.len() * LOAD.frames_per_batch;
    bench.goals.row("nats", "windows of each", windows, "", Clock::None);
    bench.goals.row("nats", "batches of a window", batches * senders.len(), "", Clock::None);
    let mut best = [0.0_f64; 2];
    for bridges in BRIDGES {
        let mut loads = [Loaded::default(), Loaded::default()];
        for window in 0..windows {
            // Each goes first as often as the other, or nearly so.
            for index in [window % 2, 1 - window % 2] {
                let sealed = seal(&mut senders, batches);
                let unanswered = bridges * BATCHES_IN_FLIGHT_MAX;
                let seen = one(bench, &started, &ways[index], &mut senders, sealed, unanswered)?;
                let stored = if index == 0 { frames as u64 } else { 0 };
                assert_eq!(
                    seen.received.stored, stored,
                    "each frame that was sent to the server is stored once"
                );
                loads[index].add(&seen);
                bar.inc(1);
            }
        }
        let case = format!("nats, {} batches under way", bridges * BATCHES_IN_FLIGHT_MAX * senders.len());
        for ((way, load), best) in ["stored", "acknowledged only"].into_iter().zip(loads).zip(&mut best) {
            let Loaded { rates, took_s, cpu_s } = load;
            let rate = median(rates);
            *best = best.max(rate);
            bench.goals.row(&case, &format!("{way}, median"), rate, "frames/s", Clock::Wall);
            bench.goals.row(&case, &format!("{way}: window, median"), median(took_s), "s", Clock::Wall);
            for (who, cpu_s) in ["the cluster", "gateways", "who consumes"].into_iter().zip(cpu_s) {
                let cpu_us = 1e6 * cpu_s / (frames * windows) as f64;
                let metric = format!("{way}: processor time of {who}");
                bench.goals.row(&case, &metric, cpu_us, "us/frame", Clock::Wall);
            }
        }
    }
    bar.finish_and_clear();
    let replicas = bench.runtime.block_on(senders[0].link.replicas())?;
    bench.goals.row("nats", "replicas of the stream", replicas as u64, "", Clock::None);
    let [served, alone] = best;
    let peer = format!("{alone:.0} frames/s");
    let what = "through JetStream at its best, of a consumer that does not store at its best";
    // The goal is of a cluster that keeps everything three times: one that does less is no witness for it.
    if replicas == GOAL_REPLICAS {
        bench.goals.goal(what, served / alone, "acknowledged only", peer, Wanted::AtLeast(0.8));
    } else {
        bench.goals.row("nats", what, served / alone, "", Clock::Wall);
    }
    Ok(())
}

fn senders(bench: &Bench, cluster: &Cluster) -> Result<Vec<Sender>, Error> {
    bench.runtime.block_on(async {
        let mut senders = Vec::new();
        for partition in 0..PARTITIONS {
            let nodes = (0..NODES).filter(|&node| partition_of(node, PARTITIONS) == partition);
            let (plant, spool) = (Plant::new(LOAD, nodes, bench.seed), 100 + u64::from(partition));
            let link = Link::open(cluster, CELL, spool).await?;
            senders.push(Sender { partition, spool, next: 0, plant, link });
        }
        Ok(senders)
    })
}

fn seal(senders: &mut [Sender], batches: usize) -> Vec<Vec<SealedBatch>> {
    let seal = |sender: &mut Sender| {
        let first = sender.next;
        sender.next += batches as u64;
        (first..sender.next).map(|number| sender.plant.batch(sender.spool, number)).collect()
    };
    senders.iter_mut().map(seal).collect()
}

fn one(
    bench: &Bench,
    started: &Started,
    way: &Way,
    senders: &mut Vec<Sender>,
    sealed: Vec<Vec<SealedBatch>>,
    unanswered: usize,
) -> Result<Window, Error> {
    let server = bench.server_by("nats", way.clone(), 1, RETAIN_BYTES)?;
    let usage = || -> Result<[f64; 3], Error> {
        let cluster = started.processes.iter().map(|&id| Ok(bench.usage(id)?.cpu_s));
        let cluster: Vec<f64> = cluster.collect::<Result<_, Error>>()?;
        let own = bench.usage(std::process::id())?.cpu_s;
        Ok([cluster.iter().sum(), own, bench.usage(server.id())?.cpu_s])
    };
    let frames = sealed.iter().map(Vec::len).sum::<usize>() * LOAD.frames_per_batch;
    let (before, begin) = (usage()?, Instant::now());
    let mut received = Received::default();
    let taken = std::mem::take(senders);
    bench.runtime.block_on(async {
        let mut sending = JoinSet::new();
        for (mut sender, batches) in taken.into_iter().zip(sealed) {
            sending.spawn(async move {
                let received = send(&mut sender, batches, unanswered).await?;
                Ok::<_, Error>((sender, received))
            });
        }
        while let Some(joined) = sending.join_next().await {
            let (sender, of_one) = joined.expect("sending does not panic")?;
            senders.push(sender);
            received = received.and(of_one);
        }
        Ok::<_, Error>(())
    })?;
    let (took_s, after) = (begin.elapsed().as_secs_f64(), usage()?);
    senders.sort_by_key(|sender| sender.partition);
    server.end()?;
    let cpu_s = std::array::from_fn(|index| after[index] - before[index]);
    Ok(Window { rate: frames as f64 / took_s, took_s, received, cpu_s })
}

/// Sends as fast as it is answered, by a receipt or by who only acknowledges, with so many batches unanswered at most.
async fn send(sender: &mut Sender, batches: Vec<SealedBatch>, unanswered: usize) -> Result<Received, Error> {
    let (opener, mut all) = (Opener::new(), Received::default());
    let mut seals = HashMap::new();
    let mut rest = batches.into_iter().peekable();
    while rest.peek().is_some() || !seals.is_empty() {
        if seals.len() < unanswered
            && let Some(batch) = rest.next()
        {
            seals.insert(batch.id.number, batch.seal().expect("it is sealed"));
            sender.link.send(&batch.id, &batch.body[HEADER_BYTES..], sender.partition).await?;
            continue;
        }
        let answer = sender.link.next().await?;
        let BatchId { number, .. } = answer.id();
        // What came twice is answered twice.
        let Some(seal) = seals.remove(&number) else { continue };
        sender.link.settle(&seal);
        if !matches!(answer, Answer::Refused { status: ACKNOWLEDGED, .. }) {
            all = all.and(opener.open(answer)?);
        }
    }
    Ok(all)
}
