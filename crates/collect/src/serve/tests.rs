//! The threads of a log, with a transport that does as it likes.

use cipher::Suite;

use super::*;
use crate::load::{Load, Plant};
use crate::read::Filter;
use crate::stats::Stages;

/// A test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(60);
const LOAD: Load = Load { suite: Suite::Aes128Ccm, frame_bytes: 64, frames_per_batch: 8, nodes_per_batch: 8 };

/// A pipeline with a store in `folder`; `answer` is its transport.
fn pipeline(
    plant: &Plant,
    folder: &Path,
    answer: impl Fn(u64, &Answer, u64) + Send + 'static,
) -> (Pipeline, Inlet) {
    pipeline_with(Limits::default(), plant, folder, answer)
}

fn pipeline_with(
    limits: Limits,
    plant: &Plant,
    folder: &Path,
    answer: impl Fn(u64, &Answer, u64) + Send + 'static,
) -> (Pipeline, Inlet) {
    let realtime = Realtime::default();
    let disk = RealDisk::lock(folder).unwrap();
    let collector = Collector::open(disk, plant.ring(), limits.clone(), OsRandomness).unwrap();
    let shards = Shards::start(&plant.ring(), 1).unwrap();
    Pipeline::start(collector, shards, &limits, &realtime, Clock::start(), answer).unwrap()
}

fn stored(plant: &Plant, folder: &Path) -> usize {
    let keys = plant.ring().present().unwrap().store;
    crate::read::read(folder, keys, Filter::default()).unwrap().map(Result::unwrap).count()
}

fn send(plant: &mut Plant, inlet: &Inlet) {
    for arrived in plant.seal(1) {
        inlet.queue.blocking_send(Incoming::Batch(arrived)).map_err(drop).expect("it is taken");
    }
}

/// Looks until it sees what it wants.
fn wait_for(what: &str, mut look: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !look() {
        assert!(Instant::now() < deadline, "waited {PATIENCE:?} for {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_transport_that_holds_up_an_answer_holds_up_no_commit() {
    let folder = tempfile::tempdir().unwrap();
    let mut plant = Plant::new(LOAD, 0..64, 5);
    let (begun, begins) = unbounded();
    let (let_go, held): (Sender<()>, Receiver<()>) = unbounded();
    let answer = move |_, _: &Answer, _| {
        let _ = begun.send(());
        // As if another thread held what the transport needs, until it is let go of.
        let _ = held.recv();
    };
    let (pipeline, inlet) = pipeline(&plant, folder.path(), answer);
    send(&mut plant, &inlet);
    begins.recv_timeout(PATIENCE).expect("the first is answered");
    for _ in 0..3 {
        send(&mut plant, &inlet);
    }
    wait_for("what comes behind it", || stored(&plant, folder.path()) == 4 * LOAD.frames_per_batch);
    assert!(begins.try_recv().is_err(), "one at a time");
    drop((let_go, inlet));
    let Stages { sealing, storing, .. } = pipeline.end().unwrap().stats().stages;
    assert_eq!((sealing.count, storing.count), (4, 4));
}

#[test]
fn batches_that_are_opened_at_once_make_groups_within_their_limit() {
    let folder = tempfile::tempdir().unwrap();
    let mut plant = Plant::new(LOAD, 0..64, 5);
    let (answered, answers) = unbounded();
    let answer = move |number, _: &Answer, _| answered.send(number).expect("it is counted");
    let limits = Limits { group_bytes_max: 1, ..Limits::default() };
    let (pipeline, inlet) = pipeline_with(limits, &plant, folder.path(), answer);
    let batches = 64;
    for arrived in plant.seal(batches) {
        inlet.queue.blocking_send(Incoming::Batch(arrived)).map_err(drop).expect("it is taken");
    }
    drop(inlet);
    let stats = pipeline.end().unwrap().stats();
    assert_eq!((stats.batches, stats.groups), (batches as u64, batches as u64));
    assert_eq!(answers.iter().count(), batches);
}

#[test]
fn what_people_see_takes_of_the_thread_that_commits_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let mut plant = Plant::new(LOAD, 0..64, 5);
    let (pipeline, inlet) = pipeline(&plant, folder.path(), |_, _, _| ());
    send(&mut plant, &inlet);
    for _ in 0..3 {
        let (reply, replied) = oneshot::channel();
        let watched = [1].into();
        let looked = Incoming::Looked(live::Asked { watched, reply });
        inlet.queue.blocking_send(looked).map_err(drop).expect("it is taken");
        assert_eq!(replied.blocking_recv().expect("it is shown").stats.frames_stored, 8);
    }
    drop(inlet);
    let stats = pipeline.end().unwrap().stats();
    assert_eq!(stats.snapshots.count, 3);
    assert!(stats.snapshots.min_ns > 0 && stats.durable_latency.count == 1, "{stats:?}");
}
