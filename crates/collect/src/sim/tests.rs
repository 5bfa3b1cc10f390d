//! Whole runs from thousands of seeds, and that a store which breaks its promises is found out.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use super::*;
use soak::is_soak;

#[path = "../../../cipher/tests/soak/mod.rs"]
mod soak;

/// Runs `seeds` and counts those in which a promise was broken.
fn broken(seeds: std::ops::Range<u64>, plan: &Plan) -> usize {
    seeds.filter(|&seed| run(seed, plan).is_err()).count()
}

/// Runs the first seeds on all cores; what all of them went through.
fn run_all(seeds: u64, plan: &Plan) -> Report {
    let next = AtomicU64::new(0);
    let run_some = || {
        let mut total = Report::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds {
                return total;
            }
            match run(seed, plan) {
                Ok(report) => total.add(&report),
                Err(violation) => panic!("seed {seed}: {violation:?}"),
            }
        }
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(run_some)).collect();
        let mut total = Report::default();
        threads.into_iter().for_each(|thread| total.add(&thread.join().expect("no promise is broken")));
        total
    })
}

#[test]
fn what_is_acknowledged_survives_every_power_cut() {
    let seeds = if is_soak() { 20_000 } else { 2_000 };
    let total = run_all(seeds, &Plan::default());
    println!("{seeds} seeds: {total:?}");
    // The runs must have been as hard as they were meant to be.
    assert!(
        total.power_cuts > 4 * seeds && 2 * total.restarts > 2 * total.power_cuts + 5 * seeds,
        "{total:?}"
    );
    assert!(
        2 * total.disk_full > seeds && total.repeated > 5 * seeds && total.segments > 3 * seeds,
        "{total:?}"
    );
    assert!(2 * total.torn_tails > seeds, "{total:?}");
    assert!(2 * total.changes > 5 * seeds && total.clock_steps > 5 * seeds, "{total:?}");
}

#[test]
fn a_run_without_trouble_loses_and_repeats_nothing() {
    let plan =
        Plan { stop_every: 0, sync_error_every: 0, disk_fills: false, clock_jumps: false, ..Plan::default() };
    let report = run(1, &plan).unwrap();
    assert_eq!((report.restarts, report.power_cuts), (1, 1), "the one at the end");
    assert_eq!((report.stored, report.clock_steps), (report.frames, 0));
}

#[test]
fn a_seed_is_one_run() {
    let plan = Plan::default();
    assert_eq!(run(7, &plan).unwrap(), run(7, &plan).unwrap());
    assert_ne!(run(7, &plan).unwrap().fingerprint, run(8, &plan).unwrap().fingerprint);
}

#[test]
fn a_store_that_does_not_sync_is_caught() {
    let honesty = Honesty { sync: false, ..Honesty::FULL };
    assert!(broken(0..40, &Plan { honesty, ..Plan::default() }) >= 36);
}

#[test]
fn a_store_that_does_not_sync_its_folder_is_caught() {
    let honesty = Honesty { sync_dir: false, ..Honesty::FULL };
    assert!(broken(0..40, &Plan { honesty, ..Plan::default() }) >= 36);
}

#[test]
fn a_store_that_trusts_its_cache_when_it_opens_is_caught() {
    let honesty = Honesty { settle: false, ..Honesty::FULL };
    assert!(broken(0..200, &Plan { honesty, ..Plan::default() }) >= 1);
}
