//! The core, the link and an emulated device on a clocked wire, in a world of its own time: what the wire's cycles carry,
//! how long a small request waits, and what is left of both when bytes are lost, damaged and out of order and the device
//! stands still or starts anew.
//!
//! `BROKER_SEED=n` replays one schedule of faults.

use std::collections::BTreeMap;
use std::time::Duration;

use broker::Stats;
use broker::emulate::clocked::Clocks;
use broker::emulate::faults::{Faults, Rates};
use broker::emulate::preset::{PRESETS, Preset};
use broker::limits::{FRAME_OVERHEAD_BYTES, HEADER_BYTES};
use broker::simulation::fairness::{Fairness, fairness};
use broker::simulation::sharing::{Sharing, Work};
use broker::simulation::{Ask, Simulation};
use broker::wire::Status;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

fn below(random: &mut ChaCha8Rng, bound: usize) -> usize {
    (random.next_u64() % bound as u64) as usize
}

/// A world as it is with this device.
fn world(seed: u64, preset: Preset, faults: Faults, asks: &[Ask]) -> Simulation {
    Simulation::new(seed, preset, preset.settings(), preset.filled_bytes(), faults, asks)
}

fn preset(name: &str) -> Preset {
    Preset::named(name).expect("it is in the table")
}

fn without_faults() -> Faults {
    Faults::new(Rates::default(), 0)
}

#[test]
fn eighty_requests_of_64_kib_fill_the_clock_in_both_directions() {
    let work = Work { count: 80, requests: 1, pdu_bytes: 65_536, outstanding: 1 };
    for name in ["ftdi-30MHz", "spidev"] {
        let took = Sharing::Gathered.simulate(preset(name), work);
        println!("{name}: {:.4?} of the cycles", took.clocks.shares());
        assert!(took.clocks.shares().iter().all(|share| *share >= 0.97));
        assert_eq!((took.clocks.requests, took.clocks.opens), (80, 0));
    }
}

/// The goal of a wire that is slow to turn around: 90 % of what is possible when it never waits.
#[test]
fn small_requests_leave_the_wire_no_pause() {
    let preset = preset("ftdi-30MHz");
    for (pdu_bytes, outstanding) in [(64, 1), (64, 8), (1024, 1), (1024, 8)] {
        let work = Work { count: 80, requests: 32_768 / pdu_bytes, pdu_bytes, outstanding };
        let took = Sharing::Gathered.simulate(preset, work);
        let each = took.time / (work.count * work.requests) as u32;
        let wire = preset.time(preset.cycles(pdu_bytes + FRAME_OVERHEAD_BYTES));
        println!("{pdu_bytes} B, {outstanding} outstanding: {each:?} each, {wire:?} on the wire");
        assert!(wire.as_secs_f64() >= 0.9 * each.as_secs_f64());
    }
}

#[test]
fn no_other_way_to_share_is_faster() {
    for name in ["ftdi-30MHz", "ftdi-30MHz-1ms", "ftdi-30MHz-16ms"] {
        for (count, pdu_bytes) in [(1, 64), (1, 16_384), (5, 64), (5, 65_536), (20, 1024), (80, 4096)] {
            let work = Work { count, requests: 65_536 / pdu_bytes, pdu_bytes, outstanding: 8 };
            let took = Sharing::ALL.map(|sharing| sharing.simulate(preset(name), work));
            let [reopened, locked, one_by_one, ours] = took.map(|took| took.time);
            println!("{name}, {count} x {pdu_bytes} B: {reopened:?} {locked:?} {one_by_one:?} {ours:?}");
            assert!(ours < reopened && ours < locked && ours < one_by_one);
        }
    }
}

/// Each is counted by hand: a request and its answer are one transaction each, each of which turns around once.
#[test]
fn applications_with_a_lock_take_what_their_transactions_take() {
    let preset = preset("ftdi-30MHz");
    let work = Work { count: 5, requests: 3, pdu_bytes: 1024, outstanding: 1 };
    let [reopened, locked] =
        [Sharing::Reopened, Sharing::Locked].map(|sharing| sharing.simulate(preset, work));
    let one = preset.time(preset.cycles(1024 + FRAME_OVERHEAD_BYTES)) + preset.turnaround;
    assert_eq!(locked.time, 2 * 15 * one);
    assert_eq!((locked.clocks.transactions, locked.clocks.requests, locked.clocks.opens), (30, 15, 0));
    assert_eq!(reopened.time, locked.time + 5 * preset.open);
    assert_eq!((reopened.clocks.transactions, reopened.clocks.opens), (30, 5));
}

#[test]
fn a_transaction_that_fills_its_packets_waits_for_no_timer() {
    let ask = Ask { user: 1, pdu_bytes: 300, outstanding: 1, pause: Duration::ZERO, total: 20 };
    let preset = preset("ftdi-30MHz-16ms");
    let [unfilled, filled] = [1, preset.filled_bytes()].map(|packet_bytes| {
        let mut world = Simulation::new(1, preset, preset.settings(), packet_bytes, without_faults(), &[ask]);
        let from = world.now();
        world.finish();
        world.now() - from
    });
    // Without that each request waits, the first look for its answer, and the rest of the answer.
    let waits = 3 * ask.total * preset.latency_timer;
    assert!(unfilled > waits && filled < waits / 20, "{unfilled:?} and {filled:?}");
}

#[test]
fn a_light_application_waits_for_no_more_than_two_transfers_of_8_kib() {
    let preset = preset("ftdi-30MHz");
    for users in [1, 17] {
        let Fairness { alone_p99, p99, busy, shares } = fairness(preset, users);
        println!("{users} users: alone {alone_p99:?}, beside 16 {p99:?}, busy {busy:.3}, {shares:.3?}");
        assert!(p99 <= alone_p99 + 2 * preset.time(preset.cycles(8192)));
        assert!(busy >= 0.9);
    }
}

#[test]
fn a_user_of_three_times_the_weight_gets_three_times_as_much_of_the_device() {
    let preset = preset("ftdi-30MHz");
    let mut settings = preset.settings();
    assert!(settings.weights.say(1, 3));
    let ask = |user| Ask { user, pdu_bytes: 65_536, outstanding: 16, pause: Duration::ZERO, total: 10_000 };
    // Of the first user there are two, who share what is that user's.
    let asks = [0, 0, 1, 2].map(ask);
    let filled_bytes = preset.filled_bytes();
    let mut world = Simulation::new(1, preset, settings, filled_bytes, without_faults(), &asks);
    while world.latencies(2).len() < 600 {
        world.pass();
    }
    let got = [0, 1, 2, 3].map(|application| world.latencies(application).len());
    for (application, expected) in [(0, 100), (1, 100), (3, 200)] {
        assert!(got[application].abs_diff(expected) < expected / 10, "{got:?}");
    }
}

#[test]
fn each_preset_carries_requests() {
    for preset in PRESETS {
        let ask = Ask { user: 1, pdu_bytes: 300, outstanding: 2, pause: Duration::ZERO, total: 5 };
        let mut world = world(1, *preset, without_faults(), &[ask; 2]);
        let (before, from) = (world.clocks(), world.now());
        world.finish();
        let clocks = world.clocks();
        assert_eq!(*world.answers(), BTreeMap::from([(Status::Done, 10)]), "{}", preset.name);
        assert_eq!(clocks.requests - before.requests, 10);
        // The wire cannot carry them faster than it is.
        let least = preset.time(10 * 300 * preset.byte_cycles);
        let took = world.now() - from;
        assert!(took >= least, "{}: {took:?} for {least:?}", preset.name);
    }
}

/// A world of its seed's choice, in which things go wrong.
fn run(seed: u64) -> (Stats, BTreeMap<Status, u64>, Clocks) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let preset = preset(["loopback", "ftdi-30MHz", "spidev", "i2c-400k"][below(&mut random, 4)]);
    let mut rate = || below(&mut random, 2) as f64 * below(&mut random, 60) as f64 / 1000.0;
    let rates = Rates { drop: rate(), corrupt: rate(), stall: rate(), reset: rate(), reorder: rate() };
    let mut asks = Vec::new();
    for user in 0..1 + below(&mut random, 5) as u32 {
        asks.push(Ask {
            user,
            pdu_bytes: HEADER_BYTES + [0, 10, 200, 3000, 20_000][below(&mut random, 5)],
            outstanding: 1 + below(&mut random, 6),
            pause: Duration::from_millis(below(&mut random, 8) as u64),
            total: 1 + below(&mut random, 30) as u32,
        });
    }
    let mut world = world(seed, preset, Faults::new(rates, seed), &asks);
    while below(&mut random, 200) > 0 {
        world.pass();
    }
    if below(&mut random, 2) == 0 {
        world.leave(0);
    }
    if below(&mut random, 4) == 0 {
        world.stop();
    }
    world.finish();
    (world.stats().clone(), world.answers().clone(), world.clocks())
}

#[test]
fn each_request_has_one_answer_whatever_goes_wrong_on_the_wire() {
    let seeds = match std::env::var("BROKER_SEED") {
        Ok(seed) => vec![seed.parse().expect("BROKER_SEED is a number")],
        Err(_) => (1..=3000).collect(),
    };
    let (mut answers, mut sum) = (BTreeMap::<Status, u64>::new(), BTreeMap::<&str, u64>::new());
    for seed in &seeds {
        println!("BROKER_SEED={seed}"); // shown when the test fails
        let (stats, answered, clocks) = run(*seed);
        for (status, count) in answered {
            *answers.entry(status).or_default() += count;
        }
        for (name, count) in [
            ("drops", clocks.struck.drops),
            ("corruptions", clocks.struck.corruptions),
            ("stalls", clocks.struck.stalls),
            ("resets", clocks.struck.resets),
            ("reorders", clocks.struck.reorders),
            ("openings of the bus", clocks.opens),
            ("losses", stats.device_losses),
            ("restarts that the broker saw", stats.device_restarts),
            ("failed openings", stats.device_open_failures),
            ("repeated", stats.requests_repeated),
            ("late", stats.answers_late),
        ] {
            *sum.entry(name).or_default() += count;
        }
    }
    println!("{answers:?} {sum:#?}");
    if seeds.len() > 1 {
        // The worlds are worth nothing if what they are for does not happen in them.
        assert!(sum.values().all(|count| *count > 0), "{sum:#?}");
        assert!(answers.contains_key(&Status::WireCorrupt), "{answers:?}");
        assert!(answers[&Status::Done] > 10 * seeds.len() as u64);
    }
}
