//! What a simulated cell must survive: two ways to run it that must agree, noise, drop-outs, crystals at both ends of
//! their tolerance, and two nodes that believe in the same slot.
//!
//! Nodes run their real image on both chips. Witnesses are the bus (who held SS, when), the simulator's
//! sample-and-hold, and the server's own opener of frames; nothing is believed because the node says it.
//! `SELVEDGE_SEED=n` repeats a run.

mod rig;
#[path = "../../cipher/tests/soak/mod.rs"]
mod soak;

use std::collections::BTreeMap;

use cell::clock::{PS_PER_S, Picoseconds};
use cell::decision::FILTERS;
use cell::inject::{Disturbance, Injector};
use cell::log::{Phase, Sample};
use cell::{Cell, Pace, Superframe, Transmission};
use cipher::TrafficKey;
use collect::frame::{self, Samples};
use collect::waveform::Waveform;
use rig::Rig;
use selvedge::link::deployment::{Deployment, DropOuts, Node as Plan};
use selvedge::link::journal::Journal;
use selvedge::link::{provision, simulation};
use soak::is_soak;

const PS_PER_US: u64 = 1_000_000;

/// Four nodes, three chips of one kind and one of the other, both suites, crystals at both ends of their tolerance.
/// A frame holds the 18 samples of 50 ms. The node that seals with AES, which takes longer, has a late slot.
const TEXT: &str = r#"
    [deployment]
    name = "cell"
    seed = 1
    duration = "10 s"

    [input.ecg]
    file = "../data/ecg/ecg.csv"
    column = "mlii"
    rate = "360 Hz"
    zero = 1024
    scale = "5 uV"

    [cell.bench]
    id = 7
    superframe = "50 ms"
    slot = "4 ms"
    guard = "300 us"
    bus = "500 kHz"
    byte_gap = "250 ns"

    [cell.bench.every_node]
    chip = "atmega128"
    clock = "8 MHz"
    input = "ecg"
    gain = "x300"
    offset = "1.28 V"
    reference = "2.56 V"
    rate = "360 Hz"
    bus = "f/16"
    counter_block = 1024

    [[cell.bench.node]]
    id = 1
    slot = 1
    drift = "+100 ppm"

    [[cell.bench.node]]
    id = 2
    slot = 2
    drift = "-100 ppm"
    start = "45 s"

    [[cell.bench.node]]
    id = 3
    slot = 3
    drift = "+3 ppm"
    start = "100 s"

    [[cell.bench.node]]
    id = 4
    slot = 5
    chip = "atmega328p"
    drift = "-100 ppm"
    start = "170 s"
    suite = "aes-128-ccm"
"#;

/// The rig of [`TEXT`], changed by `change`.
fn rig(test: &str, change: impl FnOnce(&mut Deployment)) -> Option<Rig> {
    let compiler = rig::compiler(test)?;
    let mut deployment = rig::deployment(TEXT);
    change(&mut deployment);
    let images = rig::images(&compiler, &rig::root(), &deployment);
    Some(Rig::new(deployment, images))
}

/// What a run left.
struct Run {
    superframes: Vec<Superframe>,
    /// Samples of each node, in the order of the plan, with the instants of cell time.
    samples: Vec<Vec<(Picoseconds, u16)>>,
}

/// Runs a cell for `count` superframes.
fn run(rig: &Rig, pace: Pace, count: usize) -> Run {
    let mut cell = rig.cell(pace);
    let superframes =
        (0..count).map(|_| cell.run_superframe().unwrap_or_else(|error| panic!("{error}"))).collect();
    Run { superframes, samples: samples(&mut cell) }
}

fn samples(cell: &mut Cell) -> Vec<Vec<(Picoseconds, u16)>> {
    let of = |node: &mut cell::node::Node| {
        let taken: Vec<Sample> = node.log_mut().take_samples();
        taken.iter().map(|sample| (node.clock.at(sample.cycle), sample.code)).collect()
    };
    cell.nodes_mut().iter_mut().map(of).collect()
}

impl Run {
    /// The gateway's first beacon: where the sampling grid begins.
    fn origin_ps(&self) -> Picoseconds {
        let first = self.superframes[0].transmissions[0];
        assert_eq!(first.node, None, "the gateway speaks first");
        first.start_ps
    }

    fn sent(&self, superframe: usize, node: usize) -> bool {
        self.superframes[superframe].transmissions.iter().any(|sent| sent.node == Some(node))
    }

    /// How far from its grid a node took a sample at most, for each node; behind its first superframes.
    fn settled_instants_ps(&self, rig: &Rig) -> Vec<Picoseconds> {
        let worst = |(plan, samples): (&Plan, &Vec<(Picoseconds, u16)>)| {
            // The first sample is that of superframe 2.
            let first = 2 * u64::from(plan.samples_per_superframe);
            (first..)
                .zip(samples)
                .skip(4 * usize::from(plan.samples_per_superframe))
                .map(|(index, (at_ps, _))| at_ps.abs_diff(self.origin_ps() + index * PS_PER_S / plan.rate_hz))
                .max()
                .expect("samples are taken")
        };
        rig.plan().nodes.iter().zip(&self.samples).map(worst).collect()
    }

    /// How far from its slot's instant a node began to send at most, behind its first superframes, in each of which it sent.
    fn settled_sends_ps(&self, rig: &Rig, node: usize) -> Picoseconds {
        let plan = rig.plan();
        let slot_us = u64::from(plan.nodes[node].slot) * u64::from(plan.slot_us) + u64::from(plan.guard_us);
        let off_ps = |superframe: &Superframe| {
            let instant_us = u64::from(superframe.number) * u64::from(plan.superframe_us) + slot_us;
            let sent = superframe.transmissions.iter().find(|sent| sent.node == Some(node));
            let sent = sent.unwrap_or_else(|| panic!("nothing was sent in superframe {}", superframe.number));
            sent.start_ps.abs_diff(self.origin_ps() + instant_us * PS_PER_US)
        };
        self.superframes
            .iter()
            .filter(|superframe| superframe.number > 3)
            .map(off_ps)
            .max()
            .expect("some are left")
    }

    fn assert_nobody_contends(&self) {
        for superframe in &self.superframes {
            assert_eq!(superframe.contentions, [], "in superframe {}", superframe.number);
        }
    }
}

/// The key under which the server opens a node's frames.
fn traffic_key(rig: &Rig, node: &Plan) -> TrafficKey {
    let master = rig.keys.node(node.id).expect("the rig made it");
    master.traffic_key(node.id, provision::FIRST_EPOCH, node.suite)
}

/// Runs a cell for 3 s in which every half second the power of another node fails, so that there is always one that
/// listens to the others because it has to join.
fn run_with_cuts(rig: &Rig, pace: Pace, seed: u64) -> Run {
    let mut cell = rig.cell(pace);
    let mut superframes = Vec::new();
    let mut taken = vec![Vec::new(); cell.nodes().len()];
    let mut next = |cell: &mut Cell, instant_ps| {
        while let Some(superframe) = cell.run_until(instant_ps).unwrap_or_else(|error| panic!("{error}")) {
            superframes.push(superframe);
        }
    };
    for cut in 1..6 {
        // Somewhere in the superframe, another place each time.
        let now_ps = cut * PS_PER_S / 2 + seed % 1_000_003 * 7_919 * cut;
        next(&mut cell, now_ps);
        let index = cut as usize % rig.plan().nodes.len();
        let node = cell.nodes()[index].cut_power(seed, now_ps);
        taken.iter_mut().zip(samples(&mut cell)).for_each(|(all, new)| all.extend(new));
        cell.replace(index, node, now_ps);
    }
    next(&mut cell, 3 * PS_PER_S);
    taken.iter_mut().zip(samples(&mut cell)).for_each(|(all, new)| all.extend(new));
    Run { superframes, samples: taken }
}

/// Asserts that two runs were the same, and that there was something to compare.
fn assert_same(ahead: &Run, together: &Run) {
    assert_eq!(ahead.superframes.len(), together.superframes.len());
    for (ahead, together) in ahead.superframes.iter().zip(&together.superframes) {
        assert_eq!(ahead, together);
    }
    assert_eq!(ahead.samples, together.samples);
    let frames: usize = ahead.superframes.iter().map(|superframe| superframe.received.len()).sum();
    assert!(frames >= 50, "the cell was alive: {frames} frames");
}

#[test]
fn a_cell_whose_nodes_run_ahead_does_what_one_does_that_is_stepped_together() {
    let test = "run-ahead against together";
    let seed = rig::seed(test);
    let Some(rig) = rig(test, |deployment| {
        deployment.seed = seed;
        deployment.cells[0].noise.bit_errors_ppb = 200_000;
        deployment.cells[0].noise.drop_outs =
            Some(DropOuts { interval_ps: PS_PER_S / 2, duration_ps: PS_PER_S / 20 });
    }) else {
        return;
    };
    assert_same(&run(&rig, Pace::RunAhead, 60), &run(&rig, Pace::Together, 60));
}

/// A seed with which a node reads SS low, which fell after the node had last touched the bus and before it looked.
const FALLS_BEFORE_A_LOOK: u64 = 55_433_000_168;
/// A seed with which two nodes let go of SS while a third one's clock falls.
const LETS_GO_NEAR_AN_EDGE: u64 = 776_062_011_270;

#[test]
fn nodes_that_run_ahead_see_each_other_on_the_bus_as_nodes_stepped_together_do() {
    // Twins believe in the same slot: which of them finds SS low, and which bits collide, depends on every access to
    // the bus coming at its own time.
    let test = "run-ahead of twins";
    let Some(rig) = rig(test, |deployment| {
        let nodes = &mut deployment.cells[0].nodes;
        let twin_of = |node: &Plan, drift_ppb| Plan { start_ps: 45 * PS_PER_S, drift_ppb, ..node.clone() };
        let twins = [twin_of(&nodes[0], 100_000), twin_of(&nodes[0], -90_000), twin_of(&nodes[3], 20_000)];
        nodes.splice(1..3, twins);
    }) else {
        return;
    };
    for seed in [FALLS_BEFORE_A_LOOK, LETS_GO_NEAR_AN_EDGE, rig::seed(test)] {
        let (ahead, together) =
            (run_with_cuts(&rig, Pace::RunAhead, seed), run_with_cuts(&rig, Pace::Together, seed));
        assert_same(&ahead, &together);
        assert!(ahead.superframes.iter().any(|superframe| !superframe.contentions.is_empty()));
    }
}

/// The rows of a run under noise, and everything that was received.
fn noisy_rows(seed: u64) -> Option<(Vec<report::row::Row>, Vec<Superframe>)> {
    let rig = rig("equal seeds", |deployment| {
        deployment.seed = seed;
        deployment.cells[0].noise.bit_errors_ppb = 1_000_000;
        deployment.cells[0].noise.drop_outs =
            Some(DropOuts { interval_ps: PS_PER_S / 2, duration_ps: PS_PER_S / 20 });
    })?;
    let mut cell = rig.cell(Pace::RunAhead);
    let mut journal = Journal::default();
    let mut superframes = Vec::new();
    for _ in 0..60 {
        let superframe = cell.run_superframe().expect("the program keeps to its chip");
        journal.take(&mut cell, &superframe);
        superframes.push(superframe);
    }
    Some((journal.rows(&cell, rig.plan(), "seeds"), superframes))
}

#[test]
fn equal_seeds_give_equal_rows_and_frames_and_others_do_not() {
    let seed = rig::seed("equal seeds");
    let Some(first) = noisy_rows(seed) else { return };
    let again = noisy_rows(seed).expect("the compiler was there");
    assert!(first == again, "seed {seed} gave two different runs");
    let other = noisy_rows(seed ^ 1).expect("the compiler was there");
    assert_ne!(first.0, other.0, "seeds {seed} and {}", seed ^ 1);
}

/// How far a sample may lie from its nominal instant while the node has heard one beacon only: two superframes at 100
/// ppm, and interrupts that delay the start of the conversion (`START_DELAY_CYCLES_MAX` of 125 ns).
const INSTANT_US_MAX: u64 = 10 + 25;
/// And once it knows its crystal.
const SETTLED_INSTANT_US_MAX: u64 = 5;

/// The codes that `node`'s converter took at the nominal instants of superframe `number`, counted from the first
/// beacon; `None` when it took one of them further from its instant than [`INSTANT_US_MAX`], or not at all.
fn codes(rig: &Rig, run: &Run, node: usize, number: u32) -> Option<Vec<u16>> {
    let (plan, taken) = (&rig.plan().nodes[node], &run.samples[node]);
    let per = u64::from(plan.samples_per_superframe);
    let first = u64::from(number) * per;
    let code = |index: u64| {
        let nominal_ps = run.origin_ps() + index * PS_PER_S / plan.rate_hz;
        let margin_ps = INSTANT_US_MAX * PS_PER_US;
        let next = taken.partition_point(|(at_ps, _)| *at_ps + margin_ps < nominal_ps);
        taken.get(next).filter(|(at_ps, _)| at_ps.abs_diff(nominal_ps) <= margin_ps).map(|(_, code)| *code)
    };
    (first..first + per).map(code).collect()
}

/// The frame that `node` owes in superframe `number` under count `count`, sealed by the server's code: what its
/// converter took in the superframe before.
fn owed(rig: &Rig, run: &Run, node: usize, number: u32, count: u32) -> Option<Vec<u8>> {
    let plan = &rig.plan().nodes[node];
    let before = number.checked_sub(1)?;
    let first = u64::from(before) * u64::from(plan.samples_per_superframe);
    let waveform = Waveform::of_codes(&codes(rig, run, node, before)?);
    let samples = Samples { first, channel: plan.channel, waveform };
    let header =
        frame::Header { suite: plan.suite, node: plan.id, epoch: provision::FIRST_EPOCH, counter: count };
    Some(frame::seal(&traffic_key(rig, plan), &header, &samples.to_bytes()))
}

/// Whether the frame, received in the slot of `plan`, opens under the slot owner's key, as the server would open it.
fn opens(rig: &Rig, plan: &Plan, bytes: &[u8]) -> bool {
    let Ok(parsed) = frame::parse(bytes) else { return false };
    if parsed.header.node != plan.id || parsed.header.suite != plan.suite || parsed.header.epoch != 0 {
        return false;
    }
    let key = traffic_key(rig, plan);
    let opened = frame::open(&key, &parsed);
    if opened.is_err() {
        let mut buffer = parsed.ciphertext.to_vec();
        let refused =
            key.open(parsed.header.counter, parsed.associated_data, &mut buffer, parsed.tag).is_err();
        assert!(refused && buffer.iter().all(|byte| *byte == 0), "a rejected frame left plaintext behind");
    }
    opened.is_ok()
}

#[test]
fn sealing_costs_what_the_cipher_does_and_not_what_interrupts_it() {
    let Some(rig) = rig("the cost of sealing", |_| {}) else { return };
    let mut cell = rig.cell(Pace::RunAhead);
    let mut sent = vec![0; cell.nodes().len()];
    for _ in 0..60 {
        let superframe = cell.run_superframe().unwrap_or_else(|error| panic!("{error}"));
        for node in superframe.transmissions.iter().filter_map(|transmission| transmission.node) {
            sent[node] += 1;
        }
    }
    let mut costs = Vec::new();
    for (node, sent) in cell.nodes().iter().zip(sent) {
        let (work, cycles) = (node.log().work(Phase::Sealing), node.log().phase_cycles(Phase::Sealing));
        println!("node {}: {work:?}, {cycles} cycles with interrupts, {sent} frames sent", node.id);
        // A frame is sealed before it is sent, and at the end one may wait for its slot.
        assert!(work.times == sent || work.times == sent + 1, "{} seals, {sent} frames", work.times);
        assert!(work.cycles < cycles, "nothing has interrupted node {}", node.id);
        assert_eq!(work.cycles % work.times, 0, "node {} seals in a constant number of cycles", node.id);
        costs.push(work.cycles / work.times);
    }
    assert!(
        costs[0] == costs[1] && costs[1] == costs[2],
        "the same program on three chips of one kind: {costs:?}"
    );
}

#[test]
fn a_controller_says_how_often_each_filter_ran_and_the_bus_agrees() {
    let Some(rig) = rig("filters that ran", |_| {}) else { return };
    let mut cell = rig.cell(Pace::RunAhead);
    let plans = &rig.plan().nodes;
    let (mut sent, mut told) = (vec![0; plans.len()], vec![0; plans.len()]);
    for number in 0..60_u32 {
        // One frame comes down in each superframe, once all have joined.
        let index = number as usize % plans.len();
        if number > 4 && number < 56 {
            let plan = &plans[index];
            let counter = frame::DIRECTION_BIT | number;
            let header =
                frame::Header { suite: plan.suite, node: plan.id, epoch: provision::FIRST_EPOCH, counter };
            let down = frame::seal(&traffic_key(&rig, plan), &header, &frame::acknowledgement(number));
            cell.queue_downlink(down).expect("there is room");
            told[index] += 1;
        }
        let superframe = cell.run_superframe().unwrap_or_else(|error| panic!("{error}"));
        for node in superframe.transmissions.iter().filter_map(|transmission| transmission.node) {
            sent[node] += 1;
        }
    }
    let mut controlled = 0;
    for (node, (sent, told)) in cell.nodes_mut().iter_mut().zip(sent.into_iter().zip(told)) {
        let Some(decisions) = node.log_mut().take_decisions() else { continue };
        let ran = |name| {
            let filter = FILTERS.iter().position(|filter| *filter == name).expect("it is one");
            decisions.iter().filter(|decision| decision.filter == filter).count()
        };
        assert_eq!(ran("transmit"), sent, "node {}", node.id);
        // At the end one may be under way.
        let sealed = node.log().work(Phase::Sealing).times;
        assert!([sealed, sealed + 1].contains(&(ran("seal") as u64)), "node {} seals {sealed}", node.id);
        assert!(ran("receive") >= sent, "node {} listens in each superframe", node.id);
        assert_eq!(ran("open"), told, "what came down to node {}", node.id);
        controlled += 1;
    }
    assert_eq!(controlled, 3, "those that have room for the pipes");
}

#[test]
fn without_noise_every_frame_opens_and_holds_what_the_converter_took() {
    let Some(rig) = rig("frames without noise", |_| {}) else { return };
    let run = run(&rig, Pace::RunAhead, 60);
    run.assert_nobody_contends();
    for superframe in &run.superframes[3..] {
        assert_eq!(superframe.torn, []);
        let slots: Vec<_> = superframe.received.iter().map(|received| received.slot).collect();
        assert_eq!(slots, [1, 2, 3, 5], "superframe {}", superframe.number);
        for (node, received) in superframe.received.iter().enumerate() {
            assert!(opens(&rig, &rig.plan().nodes[node], &received.bytes));
            // It was still booting at the first beacon: joined in superframe 1, it sampled superframe 2 first and
            // sent in superframe 3.
            let owed = owed(&rig, &run, node, superframe.number, superframe.number - 3);
            assert!(owed.as_ref() == Some(&received.bytes), "node {} in {}", node + 1, superframe.number);
        }
    }
}

#[test]
fn with_bit_errors_exactly_the_frames_that_came_whole_open() {
    let test = "frames with bit errors";
    let seed = rig::seed(test);
    let Some(rig) = rig(test, |deployment| {
        deployment.seed = seed;
        deployment.cells[0].noise.bit_errors_ppb = 800_000;
    }) else {
        return;
    };
    let run = run(&rig, Pace::RunAhead, 120);
    run.assert_nobody_contends();
    let (mut whole, mut hurt) = (0, 0);
    for superframe in &run.superframes {
        for received in &superframe.received {
            let node = rig.plan().nodes.iter().position(|plan| plan.slot == received.slot);
            let node = node.expect("a frame comes in the slot of a node");
            // Its count follows from when the node joined, which noise decides.
            let is_whole = (0..superframe.number).any(|count| {
                owed(&rig, &run, node, superframe.number, count).as_ref() == Some(&received.bytes)
            });
            let opened = opens(&rig, &rig.plan().nodes[node], &received.bytes);
            assert_eq!(opened, is_whole, "node {} in {}", node + 1, superframe.number);
            *if opened { &mut whole } else { &mut hurt } += 1;
        }
    }
    println!("{whole} frames came whole, {hurt} did not");
    assert!(whole > 100 && hurt > 50, "both kinds came: {whole} and {hurt}");
}

/// Superframes that a node goes on without a beacon (`firmware/node/limits.h`).
const FREE_RUN_SUPERFRAMES_MAX: usize = 8;

/// Whether the line was cut during the whole of, or a part of, a span; the line's own disturber says so.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    Whole,
    Cut,
    Touched,
}

/// The line's disturber: equal seeds disturb equally.
fn injector(rig: &Rig) -> Injector {
    let times = rig.plan().noise.drop_outs.expect("there are drop-outs");
    let disturbance =
        Disturbance { bit_errors_ppb: 0, dropout_every_ps: times.interval_ps, dropout_ps: times.duration_ps };
    Injector::new(disturbance, rig.deployment.seed ^ u64::from(rig.plan().id))
}

/// The superframes in which SS fell and the line was cut before it rose: until it is whole again, whoever looks finds
/// the bus taken.
fn taken(rig: &Rig, run: &Run) -> Vec<bool> {
    let mut injector = injector(rig);
    let mut is_left = |sent: &Transmission| !injector.is_cut(sent.start_ps) && injector.is_cut(sent.end_ps);
    run.superframes.iter().map(|superframe| superframe.transmissions.iter().any(&mut is_left)).collect()
}

/// What the drop-outs did to the beacon of each superframe.
fn beacons(rig: &Rig, run: &Run) -> Vec<Line> {
    let mut injector = injector(rig);
    let mut line = |from_ps: Picoseconds, to_ps: Picoseconds| {
        let cut = (0..=64).filter(|part| injector.is_cut(from_ps + (to_ps - from_ps) * part / 64)).count();
        match cut {
            0 => Line::Whole,
            65 => Line::Cut,
            _ => Line::Touched,
        }
    };
    let beacon = |superframe: &Superframe| {
        let beacon = superframe.transmissions.iter().find(|sent| sent.node.is_none());
        *beacon.expect("the gateway sends in each superframe")
    };
    run.superframes.iter().map(beacon).map(|sent| line(sent.start_ps, sent.end_ps)).collect()
}

#[test]
fn nodes_that_hear_no_beacon_go_on_then_fall_silent_then_join_again() {
    let test = "drop-outs";
    let seed = rig::seed(test);
    let Some(rig) = rig(test, |deployment| {
        deployment.seed = seed;
        deployment.cells[0].noise.drop_outs =
            Some(DropOuts { interval_ps: 2 * PS_PER_S, duration_ps: PS_PER_S * 7 / 10 });
    }) else {
        return;
    };
    let run = run(&rig, Pace::RunAhead, 200);
    run.assert_nobody_contends();
    let (beacons, taken) = (beacons(&rig, &run), taken(&rig, &run));
    let (mut free, mut silent, mut joined) = (0, 0, 0);
    for node in 0..rig.plan().nodes.len() {
        for number in 4..beacons.len() {
            let sent = run.sent(number, node);
            let unheard = beacons[..=number].iter().rev().take_while(|line| **line != Line::Whole).count();
            let lost = beacons[..=number].iter().rev().take_while(|line| **line == Line::Cut).count();
            let heard = beacons[..=number].iter().rev().take_while(|line| **line == Line::Whole).count();
            let at = format!("node {} in superframe {number}", node + 1);
            // A beacon that was touched may have been heard or not; whoever lost one while joining needs the one
            // after the next.
            if lost > FREE_RUN_SUPERFRAMES_MAX {
                assert!(!sent, "{at} sends after {lost} lost beacons");
                silent += 1;
            } else if heard >= 4 {
                assert!(sent || taken[number], "{at} is silent after {heard} heard beacons");
                joined += usize::from(heard == 4 && lost_long_ago(&beacons[..number]));
            } else if unheard > 0
                && lost == unheard
                && heard_before(&beacons[..=number - lost])
                && !taken[number - lost..=number].contains(&true)
            {
                assert!(sent, "{at} gives up after {lost} lost beacons");
                free += 1;
            }
        }
    }
    println!("{free} slots used free-running, {silent} left silent, {joined} times joined again");
    assert!(free > 20 && silent > 10 && joined >= 4);
}

/// Whether the beacons up to here end with enough whole ones that everybody is in the cell.
fn heard_before(beacons: &[Line]) -> bool {
    beacons.iter().rev().take_while(|line| **line == Line::Whole).count() >= 4
}

/// Whether the beacons before the last four were lost for so long that everybody had to join again.
fn lost_long_ago(beacons: &[Line]) -> bool {
    let before = beacons.iter().rev().skip_while(|line| **line != Line::Cut);
    before.take_while(|line| **line == Line::Cut).count() > FREE_RUN_SUPERFRAMES_MAX
}

#[test]
fn two_nodes_that_believe_in_one_slot_are_seen_to_contend() {
    // The same node twice, its crystals alike to the cycle, so that neither sees the other's SS before it drives its
    // own; but they measure different signals.
    let Some(mut rig) = rig("contention", |deployment| deployment.cells[0].nodes.truncate(1)) else { return };
    let twin = Plan { start_ps: 45 * PS_PER_S, ..rig.plan().nodes[0].clone() };
    rig.deployment.cells[0].nodes.push(twin);
    rig.images.push(rig.images[0].clone());
    let run = run(&rig, Pace::RunAhead, 10);
    let contended: Vec<_> =
        run.superframes.iter().filter(|superframe| !superframe.contentions.is_empty()).collect();
    assert_eq!(contended.len(), 7, "in each superframe in which they send");
    for superframe in contended {
        let slot_ps = run.origin_ps()
            + u64::from(superframe.number) * u64::from(rig.plan().superframe_us) * PS_PER_US
            + u64::from(rig.plan().slot_us) * PS_PER_US;
        for contention in &superframe.contentions {
            assert!(contention.start_ps >= slot_ps && contention.end_ps > contention.start_ps);
            assert!(contention.end_ps <= slot_ps + u64::from(rig.plan().slot_us) * PS_PER_US);
        }
    }
}

/// How far from its instant a node may begin to send, once it knows its crystal: an interrupt or two of its sampler.
const SEND_US_MAX: u64 = 10;
/// What the sampler's handler takes, for which a transmission waits that was to begin just then.
const SAMPLER_US_MAX: u64 = 70;

#[test]
fn nodes_keep_to_their_slots_and_to_the_grid_at_both_ends_of_their_crystals_tolerance() {
    let Some(rig) = rig("drift", |_| {}) else { return };
    let run = run(&rig, Pace::RunAhead, 100);
    run.assert_nobody_contends();
    let plan = rig.plan();
    let (slot_ps, guard_ps) = (u64::from(plan.slot_us) * PS_PER_US, u64::from(plan.guard_us) * PS_PER_US);
    let mut worst_ps = BTreeMap::new();
    for superframe in &run.superframes {
        let start_ps =
            run.origin_ps() + u64::from(superframe.number) * u64::from(plan.superframe_us) * PS_PER_US;
        for sent in &superframe.transmissions {
            let Some(node) = sent.node else { continue };
            let own_ps = start_ps + u64::from(plan.nodes[node].slot) * slot_ps;
            assert!(sent.start_ps >= own_ps && sent.end_ps <= own_ps + slot_ps, "{sent:?}");
            let off_ps = sent.start_ps.abs_diff(own_ps + guard_ps);
            if superframe.number > 3 {
                let worst = worst_ps.entry(plan.nodes[node].id).or_insert(0);
                *worst = off_ps.max(*worst);
            }
        }
    }
    println!("a transmission began at most so far from its instant, in ps: {worst_ps:?}");
    assert!(worst_ps.len() == 4 && worst_ps.values().all(|off_ps| *off_ps <= SEND_US_MAX * PS_PER_US));
}

#[test]
fn a_sample_is_taken_at_its_grid_index_after_the_first_beacon() {
    let Some(rig) = rig("grid", |_| {}) else { return };
    let run = run(&rig, Pace::RunAhead, 100);
    for (node, plan) in rig.plan().nodes.iter().enumerate() {
        let feed = simulation::feed(&rig.deployment, plan);
        let mut worst_ps = [0; 2];
        // The first sample is that of superframe 2.
        for (index, (at_ps, code)) in (2 * u64::from(plan.samples_per_superframe)..).zip(&run.samples[node]) {
            let off_ps = at_ps.abs_diff(run.origin_ps() + index * PS_PER_S / plan.rate_hz);
            let settled = usize::from(index >= 5 * u64::from(plan.samples_per_superframe));
            worst_ps[settled] = off_ps.max(worst_ps[settled]);
            assert_eq!(feed.ideal_code(*at_ps), *code, "sample {index} of node {}", plan.id);
        }
        println!("node {}: worst instants {worst_ps:?} ps from the grid, at first and later", plan.id);
        assert!(run.samples[node].len() >= 97 * usize::from(plan.samples_per_superframe));
        assert!(
            worst_ps[0] <= INSTANT_US_MAX * PS_PER_US && worst_ps[1] <= SETTLED_INSTANT_US_MAX * PS_PER_US
        );
    }
}

/// The alarm is set to what follows from the last sample of a superframe, a whole number of steps behind the others: with a
/// superframe of 90 of them and these crystals, 18 turns of the timer before it one of them is started.
#[test]
fn a_sample_that_is_due_at_a_match_of_the_alarm_that_counts_a_turn_is_taken_at_its_instant() {
    let Some(rig) = rig("turns of the alarm", |deployment| {
        let cell = &mut deployment.cells[0];
        (cell.superframe_us, cell.slot_us, cell.guard_us) = (250_000, 12_000, 1_000);
        cell.nodes.truncate(3);
        for (node, drift_ppb) in cell.nodes.iter_mut().zip([75_000, 80_000, 85_000]) {
            (node.samples_per_superframe, node.drift_ppb) = (90, drift_ppb);
        }
    }) else {
        return;
    };
    let run = run(&rig, Pace::RunAhead, 12);
    for (plan, worst_ps) in rig.plan().nodes.iter().zip(run.settled_instants_ps(&rig)) {
        println!("{} ppb: {worst_ps} ps from the grid at most", plan.drift_ppb);
        assert!(worst_ps <= SETTLED_INSTANT_US_MAX * PS_PER_US);
    }
}

/// The instant at which a node wakes before its slot passes over the start of the third conversion of a superframe; in a
/// long run all that a node does in its slot passes over it.
#[test]
fn a_sample_that_is_due_while_the_kernel_switches_is_taken_at_its_instant_and_every_frame_is_sent() {
    // One of each chip.
    for of in [0, 3] {
        let Some(mut rig) = rig("switches", |deployment| {
            let nodes = &mut deployment.cells[0].nodes;
            nodes[0].chip = nodes[of].chip;
            nodes.truncate(1);
        }) else {
            return;
        };
        let guards = if is_soak() { (300..2_700).step_by(1) } else { (1_720..1_830).step_by(3) };
        for guard_us in guards {
            rig.deployment.cells[0].guard_us = guard_us;
            let run = run(&rig, Pace::RunAhead, 8);
            let (sample_ps, send_ps) = (run.settled_instants_ps(&rig)[0], run.settled_sends_ps(&rig, 0));
            println!(
                "{}, guard {guard_us} us: {sample_ps} ps from the grid and {send_ps} ps from the slot at most",
                rig.plan().nodes[0].chip.name
            );
            assert!(sample_ps <= SETTLED_INSTANT_US_MAX * PS_PER_US);
            assert!(send_ps <= (SEND_US_MAX + SAMPLER_US_MAX) * PS_PER_US);
        }
    }
}

#[test]
fn a_node_whose_power_was_cut_goes_on_in_its_input_where_cell_time_is() {
    let Some(rig) = rig("input after a power cut", |_| {}) else { return };
    let (cut_ps, back_ps, end_ps) = (PS_PER_S, PS_PER_S * 13 / 10, 3 * PS_PER_S);
    let mut cell = rig.cell(Pace::RunAhead);
    let run_until = |cell: &mut Cell, instant_ps| {
        while cell.run_until(instant_ps).unwrap_or_else(|error| panic!("{error}")).is_some() {}
    };
    run_until(&mut cell, cut_ps);
    for index in 0..rig.plan().nodes.len() {
        let node = cell.nodes()[index].cut_power(index as u64, back_ps);
        cell.replace(index, node, cut_ps);
    }
    run_until(&mut cell, end_ps);
    for (plan, samples) in rig.plan().nodes.iter().zip(samples(&mut cell)) {
        let feed = simulation::feed(&rig.deployment, plan);
        assert!(samples.len() as u64 > plan.rate_hz, "node {} took {} samples", plan.id, samples.len());
        for (at_ps, code) in &samples {
            assert!(*at_ps >= back_ps, "node {} sampled without power", plan.id);
            assert_eq!(feed.ideal_code(*at_ps), *code, "node {} at {at_ps} ps", plan.id);
        }
        // The signal is one in which going on differs from beginning again.
        let replayed =
            samples.iter().filter(|(at_ps, code)| feed.ideal_code(at_ps - back_ps) == *code).count();
        assert!(2 * replayed < samples.len(), "node {}: {replayed} of {}", plan.id, samples.len());
    }
}
