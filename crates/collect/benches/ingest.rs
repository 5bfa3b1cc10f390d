//! How many frames the server takes from memory to a log in memory: the real shards, collector and store, without
//! sockets. Frames and batches are sealed before, as their nodes and gateways would; a frame counts when the receipt of
//! its batch is there, and all of them have to be stored.
//!
//! `cargo bench -p collect --bench ingest`. As in `serve`, a thread opens groups on all shards while another one commits
//! what was opened before; that one writes as well, since a log in memory has no sync to wait for. Beside it runs what the
//! server did before it took many messages at once: each frame alone, by the library's ciphers, on as many threads. Rounds of both take turns, and the median of each counts. In front of a
//! round, memory for what it will store is written and given back: of a virtual machine's memory that nobody has used for
//! a while the host may have taken the pages, and each would be fetched again within the round. Where the time goes is
//! told by `stages`.

#[path = "../tests/alone/mod.rs"]
mod alone;
#[path = "ingest/stages.rs"]
mod stages;

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::{Duration, Instant};

use cipher::{OsRandomness, Suite};
use collect::disk::RealDisk;
use collect::limits::Limits;
use collect::load::{self, CELL, Load, NODES, Plant};
use collect::shard::{Arrived, Now, Opened, Shards};
use collect::{Action, Collector, Event, batch::Answer};

use self::alone::Alone;

/// Rounds of each way.
const ROUNDS: usize = 5;
/// A folder in memory; the log grows by what a round stores.
const FOLDER: &str = "/dev/shm";
/// Of the nodes' keys.
const SEED: u64 = 1;
/// What a record has besides its frame, at most.
const RECORD_BYTES: usize = 512;
/// Older segments go, so that memory suffices.
const RETAIN_BYTES: u64 = 1 << 30;

fn main() {
    let Ok(folder) = tempfile::tempdir_in(FOLDER) else {
        return println!("skip (machine): bench of ingest: {FOLDER} cannot be written");
    };
    let folder = folder.path();
    let load = |suite, frame_bytes, nodes_per_batch| Load {
        suite,
        frame_bytes,
        frames_per_batch: 64,
        nodes_per_batch,
    };
    // Waveforms come from as many computers as there are frames in a batch; a bus has sixteen nodes.
    let long = |suite| (load(suite, 4096, 64), 1024);
    let short = |suite| (load(suite, 32, 16), 8192);
    for ((load, batches), wanted) in [
        (long(Suite::Aes128Ccm), 150_000.0),
        (long(Suite::AsconAead128), 100_000.0),
        (short(Suite::Aes128Ccm), 1e6),
        (short(Suite::AsconAead128), 1e6),
    ] {
        stages::print(load, folder);
        measure(load, batches, folder, wanted);
    }
}

/// Frames in a second, so many batches in a round.
fn measure(load: Load, batches: usize, folder: &Path, wanted: f64) {
    let Load { suite, frame_bytes, frames_per_batch, .. } = load;
    println!(
        "{suite}, {frame_bytes} B, {frames_per_batch} to a batch: frames/s and CPU time of a frame, by round"
    );
    let mut plant = Plant::new(load, 0..NODES, SEED);
    let mut shards = Shards::start(&plant.ring(), 0).expect("threads can be started");
    let cores = thread::available_parallelism().expect("cores can be counted").get();
    let mut alone: Vec<Alone> = (0..cores).map(|_| alone(suite)).collect();
    let mut ways = [
        ("together", Rig::new(&plant, folder, "together"), Vec::new()),
        ("one at a time", Rig::new(&plant, folder, "alone"), Vec::new()),
    ];
    for _ in 0..ROUNDS {
        for (name, rig, rates) in &mut ways {
            let arrived = plant.seal(batches);
            let open: &mut (dyn FnMut(Vec<Arrived>) -> Vec<Opened> + Send) = if *name == "together" {
                &mut |group| shards.open(group)
            } else {
                &mut |group| open_alone(&mut alone, group)
            };
            touch(folder, batches * frames_per_batch * (frame_bytes + RECORD_BYTES));
            let (rate, cpu) = rig.round(arrived, frames_per_batch, open);
            println!("  {name:14} {rate:10.0}/s {:7.2} us", cpu.as_secs_f64() * 1e6);
            rates.push(rate);
        }
    }
    let [(.., together), (.., alone)] = ways;
    println!(
        "goal\t{suite} frames of {frame_bytes} B to a log in memory, median of {ROUNDS}, 1/s\t{:.0}\tone at a time\t{:.0}\t\
         >= {wanted}",
        median(together),
        median(alone)
    );
}

/// Has so many bytes of the memory that files in `folder` lie in at hand: they are written and given back.
fn touch(folder: &Path, bytes: usize) {
    let path = folder.join("touched");
    let page = [1; 4096];
    let mut file = File::create(&path).expect("memory can be written");
    (0..bytes.div_ceil(page.len())).for_each(|_| file.write_all(&page).expect("there is room"));
    fs::remove_file(path).expect("it is there");
}

/// The middle one.
fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// The way of one frame at a time.
fn alone(suite: Suite) -> Alone {
    Alone::new(load::nodes(suite, SEED).collect(), CELL, &load::cell_master())
}

/// Each frame by itself, on as many threads as there are of them.
fn open_alone(threads: &mut [Alone], group: Vec<Arrived>) -> Vec<Opened> {
    let share = group.len().div_ceil(threads.len());
    let mut group = group.into_iter();
    thread::scope(|scope| {
        let work = |alone| {
            let arrived: Vec<Arrived> = group.by_ref().take(share).collect();
            let open =
                move |alone: &mut Alone| arrived.into_iter().map(|arrived| alone.open(arrived)).collect();
            scope.spawn(move || -> Vec<Opened> { open(alone) })
        };
        let threads: Vec<_> = threads.iter_mut().map(work).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("it does not panic")).collect()
    })
}

/// A collector with its log.
struct Rig {
    folder: PathBuf,
    collector: Option<Collector<RealDisk, OsRandomness>>,
    limits: Limits,
}

impl Rig {
    fn new(plant: &Plant, folder: &Path, name: &str) -> Rig {
        let folder = folder.join(name);
        let limits = Limits { retain_bytes_max: RETAIN_BYTES, ..Limits::default() };
        let disk = RealDisk::lock(&folder).expect("memory can be written");
        let collector = Collector::open(disk, plant.ring(), limits.clone(), OsRandomness);
        Rig { folder, collector: Some(collector.expect("an empty folder is a store")), limits }
    }

    /// Takes everything to its receipts; returns frames a second, and CPU time of a frame.
    fn round(
        &mut self,
        arrived: Vec<Arrived>,
        frames_per_batch: usize,
        open: &mut (dyn FnMut(Vec<Arrived>) -> Vec<Opened> + Send),
    ) -> (f64, Duration) {
        let frames = (arrived.len() * frames_per_batch) as u64;
        let mut groups = Vec::new();
        let mut rest = arrived.into_iter().peekable();
        while rest.peek().is_some() {
            groups.push(rest.by_ref().take(self.limits.group_batches_max).collect::<Vec<_>>());
        }
        let batches: usize = groups.iter().map(Vec::len).sum();
        let mut collector = self.collector.take().expect("rounds come one after the other");
        let before = collector.stats();
        let (opened, waiting) = sync_channel::<Vec<Opened>>(2);
        let (begin, cpu) = (Instant::now(), cpu_time());
        let (collector, receipts) = thread::scope(|scope| {
            let commit = thread::Builder::new().name("commit".to_owned());
            let commit = commit.spawn_scoped(scope, move || {
                let mut receipts = 0;
                let mut step = |collector: &mut Collector<_, _>, event| {
                    let actions = collector.step(Now::default(), event).expect("the log can be written");
                    let is_receipt =
                        |Action::Send { answer, .. }: &Action| matches!(answer, Answer::Receipt { .. });
                    receipts += actions.iter().filter(|action| is_receipt(action)).count();
                };
                while let Ok(group) = waiting.recv() {
                    group.into_iter().for_each(|opened| step(&mut collector, Event::Opened(opened)));
                    step(&mut collector, Event::Commit);
                }
                (collector, receipts)
            });
            let commit = commit.expect("threads can be started");
            for group in groups {
                opened.send(open(group)).expect("the other thread goes on");
            }
            drop(opened);
            commit.join().expect("it does not panic")
        });
        let (elapsed, cpu) = (begin.elapsed(), cpu_time() - cpu);
        let stats = collector.stats();
        assert_eq!((receipts, stats.frames_stored - before.frames_stored), (batches, frames));
        self.collector = Some(collector);
        (frames as f64 / elapsed.as_secs_f64(), cpu / u32::try_from(frames).expect("few enough"))
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.collector = None;
        // Memory that is left behind is seen.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// CPU time of this process.
fn cpu_time() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").expect("Linux says it");
    // Fields 14 and 15, behind the name in parentheses, in ticks of a hundredth of a second.
    let fields = stat.rsplit(')').next().expect("there is an end").split_whitespace().skip(11).take(2);
    let ticks: u64 = fields.map(|field| field.parse::<u64>().expect("a number")).sum();
    Duration::from_millis(10 * ticks)
}
