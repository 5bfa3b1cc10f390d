//! Nodes that seal a frame while the one before it goes out, as the build weaves them: every sample is taken at its instant,
//! interrupts being off for a whole frame or not, and every frame holds what the converter took.
//!
//! Witnesses are the bus, the simulator's sample-and-hold, and the server's own opener. How long slots are, and so where
//! in a frame samples fall, is random; `SELVEDGE_SEED=n` repeats a run.

mod rig;

use std::collections::BTreeMap;

use cell::Pace;
use cell::clock::{PS_PER_S, Picoseconds};
use cell::decision::FILTERS;
use cell::log::Phase;
use cell::node::Node;
use collect::frame::{self, Samples};
use isa::avr::Image;
use report::table::{Column, Entry, Table};
use rig::Rig;
use selvedge::link::deployment::Node as Plan;
use selvedge::link::filters::Filters;
use selvedge::link::provision;
use selvedge::toolchain::{Compiler, Image as Built};

const SUPERFRAMES: u32 = 8;
/// Those in which all have joined and know their crystals.
const SETTLED: u32 = 5;
const PS_PER_US: u64 = 1_000_000;
const SUPERFRAME_PS: u64 = PS_PER_S / 4;
/// At 8 MHz, the clock's estimate included.
const INSTANT_PS_MAX: u64 = 5 * PS_PER_US;
/// And with what other interrupts may add: `START_DELAY_CYCLES_MAX` of `firmware/node/limits.h`, 125 ns each.
const DELAYED_PS_MAX: u64 = 300 * 125_000 + INSTANT_PS_MAX;
/// From the start of a conversion to the hold of its input: 14.5 converter clocks of 64 cycles.
const HOLD_PS: u64 = 116 * PS_PER_US;
/// What two handlers take of a stack, one of them the sampler's (`firmware/node/test/budget.py`).
const HANDLERS_BYTES: usize = 41 + 46;

/// Two nodes that take 90 samples in a superframe, one every 22,222 cycles; a woven frame takes 27,560.
const TEXT: &str = r#"
    [deployment]
    name = "beside"
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
    superframe = "250 ms"
    slot = "17 ms"
    guard = "1 ms"
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
    filters = "woven"
    counter_block = 1024

    [[cell.bench.node]]
    id = 1
    slot = 1
    drift = "+100 ppm"

    [[cell.bench.node]]
    id = 2
    slot = 3
    drift = "-100 ppm"
    start = "45 s"
"#;

/// A sample, by the simulator's sample-and-hold.
#[derive(Clone, Copy)]
struct Taken {
    at_ps: Picoseconds,
    /// How far from its instant.
    off_ps: Picoseconds,
    code: u16,
}

/// What a node did.
struct Seen {
    /// By their places in the grid.
    samples: BTreeMap<u32, Taken>,
    /// Its times on the bus.
    sent: Vec<(Picoseconds, Picoseconds)>,
    /// What the server opened of it, by the superframe in which it came.
    frames: BTreeMap<u32, Samples>,
    /// How often each of `FILTERS` ran.
    ran: [u64; FILTERS.len()],
    /// How often it sent and did something else as well, by its own word.
    woven: u64,
    awake_cycles: u64,
    /// Bytes of the controller's stack that nobody has written.
    spare_bytes: usize,
}

impl Seen {
    fn of(node: &mut Node, plan: &Plan, image: &Image, origin_ps: Picoseconds) -> Seen {
        let period_ps = PS_PER_S as f64 / plan.rate_hz as f64;
        let mut samples = BTreeMap::new();
        for taken in node.log_mut().take_samples() {
            let at_ps = node.clock.at(taken.cycle);
            let place = ((at_ps - origin_ps) as f64 / period_ps).round();
            let off_ps = at_ps.abs_diff(origin_ps + (place * period_ps) as Picoseconds);
            let before = samples.insert(place as u32, Taken { at_ps, off_ps, code: taken.code });
            assert!(before.is_none(), "one sample at each place");
        }
        let mut ran = [0; FILTERS.len()];
        for decision in node.log_mut().take_decisions().expect("it has a controller") {
            ran[decision.filter] += 1;
        }
        let stack = image.symbol("controllerStk").expect("the controller is a task");
        let mut bytes = (stack.address..stack.address + stack.bytes).map(|at| node.chip().memory(at as u16));
        Seen {
            samples,
            sent: Vec::new(),
            frames: BTreeMap::new(),
            ran,
            woven: node.log().work(Phase::Weaving).times,
            awake_cycles: node.chip().awake_cycles(),
            spare_bytes: bytes.position(|byte| byte != Some(0)).expect("it has run"),
        }
    }

    fn ran(&self, name: &str) -> u64 {
        self.ran[FILTERS.iter().position(|filter| *filter == name).expect("it is one")]
    }

    /// How far samples were from their instants at most: those that were started while it sent, or around that, if any; and
    /// all others.
    fn off_ps(&self) -> [Picoseconds; 2] {
        let settled_ps = Picoseconds::from(SETTLED) * SUPERFRAME_PS;
        let (during, between): (Vec<Taken>, Vec<Taken>) =
            { self.samples.values() }.filter(|taken| taken.at_ps > settled_ps).partition(|taken| {
                let around = |&(start, end): &_| {
                    (start - 20 * PS_PER_US..end + 20 * PS_PER_US).contains(&(taken.at_ps - HOLD_PS))
                };
                self.sent.iter().any(around)
            });
        [during, between].map(|samples| samples.iter().map(|taken| taken.off_ps).max().unwrap_or(0))
    }
}

/// Runs the rig's cell, whose nodes are told something in turn.
fn run(rig: &Rig) -> Vec<Seen> {
    let mut cell = rig.cell(Pace::RunAhead);
    let plans = &rig.plan().nodes;
    let key = |plan: &Plan| {
        let master = rig.keys.node(plan.id).expect("the rig made it");
        master.traffic_key(plan.id, provision::FIRST_EPOCH, plan.suite)
    };
    let (mut sent, mut frames) = (vec![Vec::new(); plans.len()], vec![BTreeMap::new(); plans.len()]);
    let mut origin_ps = None;
    for number in 0..SUPERFRAMES {
        if number >= SETTLED {
            let plan = &plans[number as usize % plans.len()];
            let counter = frame::DIRECTION_BIT | number;
            let header =
                frame::Header { suite: plan.suite, node: plan.id, epoch: provision::FIRST_EPOCH, counter };
            let down = frame::seal(&key(plan), &header, &frame::acknowledgement(number));
            cell.queue_downlink(down).expect("there is room");
        }
        let superframe = cell.run_superframe().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((&superframe.contentions[..], &superframe.torn[..]), (&[][..], &[][..]));
        origin_ps.get_or_insert(superframe.transmissions[0].start_ps);
        for transmission in &superframe.transmissions {
            if let Some(node) = transmission.node {
                sent[node].push((transmission.start_ps, transmission.end_ps));
            }
        }
        for received in superframe.received {
            let node = plans.iter().position(|plan| plan.slot == received.slot).expect("a node's slot");
            let parsed = frame::parse(&received.bytes).expect("a frame");
            let text = frame::open(&key(&plans[node]), &parsed).expect("it is authentic");
            frames[node].insert(number, Samples::parse(&text).expect("samples"));
        }
    }
    let origin_ps = origin_ps.expect("the gateway speaks first");
    let image = |built: &Built| Image::parse(&built.elf).expect("what avr-gcc links is an image");
    let nodes = cell.nodes_mut().iter_mut().zip(plans).zip(&rig.images);
    let seen = nodes.map(|((node, plan), built)| Seen::of(node, plan, &image(built), origin_ps));
    let with = |((seen, sent), frames)| Seen { sent, frames, ..seen };
    seen.zip(sent).zip(frames).map(with).collect()
}

/// Every sample is there, and every frame holds what the converter took, `late` superframes before.
fn assert_whole(seen: &Seen, samples: u32, late: u32) {
    let places: Vec<u32> = seen.samples.keys().copied().collect();
    assert!(places.windows(2).all(|pair| pair[1] == pair[0] + 1), "no sample is missing");
    for number in 2 + late..SUPERFRAMES {
        let frame = seen.frames.get(&number).unwrap_or_else(|| panic!("a frame in superframe {number}"));
        assert_eq!(frame.first, (number - late) * samples, "in superframe {number}");
        let codes: Vec<u16> =
            (frame.first..).zip(&frame.samples).map(|(at, _)| seen.samples[&at].code).collect();
        assert!(frame.samples == codes, "in superframe {number}");
    }
}

/// The rig of [`TEXT`], changed.
fn rig_of(compiler: &Compiler, slot_us: u16, filters: Filters, divider: u8) -> Rig {
    let mut deployment = rig::deployment(TEXT);
    let cell = &mut deployment.cells[0];
    cell.slot_us = slot_us;
    cell.nodes.iter_mut().for_each(|node| (node.filters, node.divider) = (filters, divider));
    let images = rig::images(compiler, &rig::root(), &deployment);
    Rig::new(deployment, images)
}

#[test]
fn samples_are_taken_at_their_instants_while_interrupts_are_off_for_a_frame() {
    let test = "samples beside frames";
    let Some(compiler) = rig::compiler(test) else { return };
    let seed = rig::seed(test);
    let columns = [
        Column::new("filters"),
        Column::new("bus").unit("f/"),
        Column::new("node"),
        Column::new("worst while sending").unit("us").decimals(2),
        Column::new("worst in between").unit("us").decimals(2),
        Column::new("awake").unit("cycles"),
        Column::new("transmit + seal"),
        Column::new("stack left").unit("B"),
    ];
    let mut table = Table::new("Samples beside frames, how far from their instants", columns);
    // At f/8 a frame is shorter than a code may wait, and nothing takes it meanwhile.
    for (filters, divider) in [(Filters::Discrete, 16), (Filters::Woven, 16), (Filters::Woven, 8)] {
        let rig = rig_of(&compiler, 16_600 + (seed % 800) as u16, filters, divider);
        for (seen, plan) in run(&rig).iter().zip(&rig.plan().nodes) {
            let [during_ps, between_ps] = seen.off_ps();
            let us = |ps: Picoseconds| ps as f64 / PS_PER_US as f64;
            table.push([
                Entry::from(filters.name()),
                u64::from(divider).into(),
                u64::from(plan.id).into(),
                us(during_ps).into(),
                us(between_ps).into(),
                seen.awake_cycles.into(),
                seen.ran("transmit + seal").into(),
                seen.spare_bytes.into(),
            ]);
            let late = if filters == Filters::Woven { 2 } else { 1 };
            assert_whole(seen, plan.samples_per_superframe.into(), late);
            let sent = seen.sent.len() as u64;
            assert!(between_ps < DELAYED_PS_MAX, "node {} is off by {between_ps} ps", plan.id);
            if filters == Filters::Woven {
                assert!(during_ps < INSTANT_PS_MAX, "node {} is off by {during_ps} ps", plan.id);
                assert_eq!((seen.ran("transmit + seal"), seen.woven), (sent, sent), "each beside the next");
                assert_eq!((seen.ran("seal"), seen.ran("transmit")), (1, 0), "but for the first");
            } else {
                assert_eq!((seen.ran("transmit + seal"), seen.woven, seen.ran("transmit")), (0, 0, sent));
            }
            assert!(seen.ran("open") > 0, "what came down to node {}", plan.id);
            assert!(seen.spare_bytes >= HANDLERS_BYTES, "{} bytes of the stack are left", seen.spare_bytes);
        }
    }
    println!("{}", table.text(None));
}

#[test]
fn a_frame_that_comes_to_its_end_while_a_sample_is_taken_keeps_the_next_one_from_nothing() {
    let Some(compiler) = rig::compiler("frames that end beside samples") else { return };
    // What comes down ends while the code of a sample is stored.
    for slot_us in [16_990, 17_001, 17_010] {
        let rig = rig_of(&compiler, slot_us, Filters::Discrete, 16);
        for (seen, plan) in run(&rig).iter().zip(&rig.plan().nodes) {
            let [_, between_ps] = seen.off_ps();
            let at = format!("node {}, slots of {slot_us} us", plan.id);
            println!("{at}: off by {between_ps} ps at most");
            assert!(between_ps < DELAYED_PS_MAX, "{at}");
        }
    }
}
