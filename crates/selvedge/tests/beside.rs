//! Nodes that seal and open frames while others go over the line, as the build weaves them, or by interrupts: every sample is
//! taken at its instant, interrupts being off for a whole frame or not, and every frame holds what the converter took.
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
use cipher::TrafficKey;
use collect::frame::{self, Samples};
use collect::waveform::Waveform;
use isa::avr::Image;
use report::table::{Column, Entry, Table};
use rig::Rig;
use selvedge::limits::WOVEN_STATIC_BYTES_MAX;
use selvedge::link::deployment::Node as Plan;
use selvedge::link::filters::Filters;
use selvedge::link::journal::Journal;
use selvedge::link::provision;
use selvedge::toolchain::{Compiler, Image as Built};

const SUPERFRAMES: u32 = 9;
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
/// How long before a frame comes down a node asks for it: `ASK_LEAD_CYCLES` of `firmware/node/limits.h`.
const ASKED_PS: u64 = 1_700 * 125_000;
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
    /// What came down while interrupts were off, from when it asked for that on.
    heard: Vec<(Picoseconds, Picoseconds)>,
    /// When it decided to do that.
    asked: Vec<Picoseconds>,
    /// What the server opened of it, by the superframe in which it came.
    frames: BTreeMap<u32, Samples>,
    /// How often each of `FILTERS` ran.
    ran: [u64; FILTERS.len()],
    /// How often it sent and did something else as well, by its own word.
    woven: u64,
    awake_cycles: u64,
    /// Bytes of SRAM that are somebody's from the reset on.
    static_bytes: u64,
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
        let (mut ran, mut asked) = ([0; FILTERS.len()], Vec::new());
        for decision in node.log_mut().take_decisions().expect("it has a controller") {
            ran[decision.filter] += 1;
            if FILTERS[decision.filter].starts_with("receive +") {
                asked.push(node.clock.at(decision.cycle));
            }
        }
        let end = image.symbol("_end").expect("avr-gcc's linker defines it");
        let stack = image.symbol("controllerStk").expect("the controller is a task");
        let mut bytes = (stack.address..stack.address + stack.bytes).map(|at| node.chip().memory(at as u16));
        Seen {
            samples,
            sent: Vec::new(),
            heard: Vec::new(),
            asked,
            frames: BTreeMap::new(),
            ran,
            woven: node.log().work(Phase::Weaving).times,
            awake_cycles: node.chip().awake_cycles(),
            static_bytes: u64::from(end.address - 0x100), // where the ATmega128's SRAM begins
            spare_bytes: bytes.position(|byte| byte != Some(0)).expect("it has run"),
        }
    }

    fn ran(&self, name: &str) -> u64 {
        self.ran[FILTERS.iter().position(|filter| *filter == name).expect("it is one")]
    }

    /// How far samples were from their instants at most: those that were started while it sent, or while something came
    /// down, or around that, if any; and all others.
    fn off_ps(&self) -> [Picoseconds; 3] {
        let settled_ps = Picoseconds::from(SETTLED) * SUPERFRAME_PS;
        let mut off_ps = [0; 3];
        for taken in self.samples.values().filter(|taken| taken.at_ps > settled_ps) {
            let around = |&(start, end): &_| {
                (start - 20 * PS_PER_US..end + 20 * PS_PER_US).contains(&(taken.at_ps - HOLD_PS))
            };
            let which =
                [&self.sent, &self.heard].iter().position(|times| times.iter().any(around)).unwrap_or(2);
            off_ps[which] = taken.off_ps.max(off_ps[which]);
        }
        off_ps
    }
}

/// What the server and a node seal by.
fn key(rig: &Rig, plan: &Plan) -> TrafficKey {
    let master = rig.keys.node(plan.id).expect("the rig made it");
    master.traffic_key(plan.id, provision::FIRST_EPOCH, plan.suite)
}

/// Runs the rig's cell, whose nodes are told something in turn.
fn run(rig: &Rig) -> Vec<Seen> {
    let mut cell = rig.cell(Pace::RunAhead);
    let plans = &rig.plan().nodes;
    let key = |plan| key(rig, plan);
    let (mut sent, mut frames) = (vec![Vec::new(); plans.len()], vec![BTreeMap::new(); plans.len()]);
    let mut heard = Vec::new();
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
        // Behind the beacon, and from before its start on.
        let down = superframe.transmissions.iter().filter(|sent| sent.node.is_none()).nth(1);
        heard.extend(down.map(|down| (down.start_ps - ASKED_PS, down.end_ps)));
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
    let with = |((seen, sent), frames): ((Seen, _), _)| {
        let is_woven = |&&(start, _): &&_| {
            seen.asked.iter().any(|at_ps| (start - SUPERFRAME_PS / 10..=start).contains(at_ps))
        };
        let heard = heard.iter().filter(is_woven).copied().collect();
        Seen { sent, heard, frames, ..seen }
    };
    seen.zip(sent).zip(frames).map(with).collect()
}

/// Every sample is there, and every frame holds what the converter took, `late` superframes before.
fn assert_whole(seen: &Seen, samples: u32, late: u32) {
    let places: Vec<u32> = seen.samples.keys().copied().collect();
    assert!(places.windows(2).all(|pair| pair[1] == pair[0] + 1), "no sample is missing");
    for number in 2 + late..SUPERFRAMES {
        let frame = seen.frames.get(&number).unwrap_or_else(|| panic!("a frame in superframe {number}"));
        let first = (number - late) * samples;
        assert_eq!(frame.first, u64::from(first), "in superframe {number}");
        let codes: Vec<u16> = (first..).take(frame.waveform.len()).map(|at| seen.samples[&at].code).collect();
        assert!(frame.waveform == Waveform::of_codes(&codes), "in superframe {number}");
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

/// A line a run and node.
fn table() -> Table {
    let columns = [
        Column::new("filters"),
        Column::new("bus").unit("f/"),
        Column::new("node"),
        Column::new("worst while sending").unit("us").decimals(2),
        Column::new("worst while hearing").unit("us").decimals(2),
        Column::new("worst in between").unit("us").decimals(2),
        Column::new("awake").unit("cycles"),
        Column::new("transmit + seal"),
        Column::new("transmit + open"),
        Column::new("receive + seal"),
        Column::new("stack left").unit("B"),
    ];
    Table::new("Samples beside frames, how far from their instants", columns)
}

#[test]
fn samples_are_taken_at_their_instants_while_interrupts_are_off_for_a_frame() {
    let test = "samples beside frames";
    let Some(compiler) = rig::compiler(test) else { return };
    let seed = rig::seed(test);
    let mut table = table();
    // At f/8 a frame is shorter than a code may wait, and nothing takes it meanwhile.
    // What comes down comes 284 us before a sample is started in the last three, 14 us before, and 106 us behind.
    let slot_us = 16_600 + (seed % 800) as u16;
    for (filters, divider, slot_us) in [
        (Filters::Discrete, 16, slot_us),
        (Filters::Handler, 16, slot_us),
        (Filters::Handler, 2, slot_us),
        (Filters::HandlerByHand, 16, slot_us),
        (Filters::HandlerByHand, 2, slot_us),
        (Filters::Woven, 16, slot_us),
        (Filters::Woven, 8, slot_us),
        (Filters::Woven, 16, 17_011),
        (Filters::Woven, 16, 17_079),
        (Filters::Woven, 16, 17_108),
    ] {
        let rig = rig_of(&compiler, slot_us, filters, divider);
        for (seen, plan) in run(&rig).iter().zip(&rig.plan().nodes) {
            let [sending_ps, hearing_ps, between_ps] = seen.off_ps();
            let us = |ps: Picoseconds| ps as f64 / PS_PER_US as f64;
            table.push([
                Entry::from(filters.name()),
                u64::from(divider).into(),
                u64::from(plan.id).into(),
                us(sending_ps).into(),
                us(hearing_ps).into(),
                us(between_ps).into(),
                seen.awake_cycles.into(),
                seen.ran("transmit + seal").into(),
                seen.ran("transmit + open").into(),
                seen.ran("receive + seal").into(),
                seen.spare_bytes.into(),
            ]);
            let late = if filters.are_beside() { 2 } else { 1 };
            assert_whole(seen, plan.samples_per_superframe.into(), late);
            let sent = seen.sent.len() as u64;
            assert!(between_ps < DELAYED_PS_MAX, "node {} is off by {between_ps} ps", plan.id);
            let worst_ps = sending_ps.max(hearing_ps);
            let is_woven = filters == Filters::Woven;
            let worst_ps_max = if is_woven { INSTANT_PS_MAX } else { DELAYED_PS_MAX };
            assert!(worst_ps < worst_ps_max, "node {} is off by {worst_ps} ps", plan.id);
            let at_most = filters.byte_cycles(divider.into());
            let sent_ps =
                seen.sent.iter().map(|(start_ps, end_ps)| end_ps - start_ps).max().expect("it sent");
            let byte_cycles = sent_ps.div_ceil(125_000 * u64::from(plan.frame_bytes));
            println!("{}, f/{divider}: {byte_cycles} cycles a byte, at most {at_most}", filters.name());
            assert!(byte_cycles <= at_most);
            assert_eq!(seen.woven, if is_woven { sent } else { 0 });
            if filters.are_beside() {
                let opened = seen.ran("transmit + open");
                assert_eq!(seen.ran("transmit + seal") + opened, sent, "each beside another");
                // The first one, and those whose slot went into opening.
                assert_eq!(seen.ran("receive + seal"), 1 + opened, "in the slot after");
                assert_eq!(["seal", "transmit", "open"].map(|name| seen.ran(name)), [0; 3]);
                assert!(opened > 0, "what came down to node {}", plan.id);
            } else {
                assert!(seen.ran("open") > 0, "what came down to node {}", plan.id);
                assert_eq!((seen.ran("transmit + seal"), seen.ran("transmit")), (0, sent));
            }
            assert!(seen.spare_bytes >= HANDLERS_BYTES, "{} bytes of the stack are left", seen.spare_bytes);
            assert!(seen.static_bytes <= WOVEN_STATIC_BYTES_MAX, "{} bytes are static", seen.static_bytes);
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
            let [_, hearing_ps, between_ps] = seen.off_ps();
            let between_ps = hearing_ps.max(between_ps);
            let at = format!("node {}, slots of {slot_us} us", plan.id);
            println!("{at}: off by {between_ps} ps at most");
            assert!(between_ps < DELAYED_PS_MAX, "{at}");
        }
    }
}

/// The superframe in which somebody takes the bus where it is not theirs.
const TAKEN: u32 = 6;

/// Which node is told something in a superframe.
fn told(number: u32) -> usize {
    usize::from(number % 4 == 3)
}

/// When the bus is taken in it, from its start on, and for how long.
struct Held {
    from_us: i64,
    for_us: u32,
}

/// What became of a cell of two nodes, the second one's filters discrete.
struct Disturbed {
    /// By superframes, how many ago the samples of the first node's frame were taken that came.
    lags: BTreeMap<u32, u32>,
    /// `struct losses` of the first one (`firmware/node/controller.h`): refused, by pipe; unfit; unsent; unheard.
    losses: [u8; 7],
    rows: Vec<report::row::Row>,
}

impl Disturbed {
    fn of(compiler: &Compiler, filters: Filters, held: &Held) -> Disturbed {
        let rig = rig_with_holder(compiler, filters, held);
        let (mut cell, mut journal) = (rig.cell(Pace::RunAhead), Journal::default());
        let plans = &rig.plan().nodes[..2];
        let keys: Vec<_> = plans.iter().map(|plan| key(&rig, plan)).collect();
        let mut lags = BTreeMap::new();
        for number in 0..TAKEN + 8 {
            if number >= SETTLED {
                let (plan, key) = (&plans[told(number)], &keys[told(number)]);
                let counter = frame::DIRECTION_BIT | number;
                let (suite, epoch) = (plan.suite, provision::FIRST_EPOCH);
                let header = frame::Header { suite, node: plan.id, epoch, counter };
                cell.queue_downlink(frame::seal(key, &header, &frame::acknowledgement(number)))
                    .expect("there is room");
            }
            let superframe = cell.run_superframe().unwrap_or_else(|error| panic!("{error}"));
            for received in superframe.received.iter().filter(|received| received.slot == plans[0].slot) {
                let parsed = frame::parse(&received.bytes).expect("a frame");
                let text = frame::open(&keys[0], &parsed).expect("it is authentic");
                let first = Samples::parse(&text).expect("samples").first;
                let of_superframe = first / u64::from(plans[0].samples_per_superframe);
                lags.insert(number, number - of_superframe as u32);
            }
            journal.take(&mut cell, &superframe);
        }
        println!("lags by superframe: {lags:?}");
        let image = Image::parse(&rig.images[0].elf).expect("an image");
        let losses = image.symbol("controller_losses").expect("it counts").address as u16;
        let count = |at: u16| cell.nodes()[0].chip().memory(losses + at).expect("it is in SRAM");
        let losses = std::array::from_fn(|number| count(2 * number as u16));
        let rows = journal.rows(&cell, rig.plan(), "beside");
        for row in rows.iter().filter(|row| row.metric().starts_with("filter ") && row.metric().contains(':'))
        {
            println!("{}, {}: {:?}", row.case(), row.metric(), row.value());
        }
        Disturbed { lags, losses, rows }
    }

    /// How often a node's controller chose a filter, or chose it for a reason.
    fn ran(&self, node: u32, filter: &str) -> u64 {
        let (case, metric) = (format!("node {node}"), format!("filter {filter}"));
        let rows = self.rows.iter().filter(|row| row.case() == case && row.metric() == metric);
        rows.map(|row| row.value().number().expect("a count") as u64).sum()
    }
}

/// The rig of [`TEXT`] with somebody who takes the bus where it is not theirs. The first node has these filters, the second
/// one discrete ones.
fn rig_with_holder(compiler: &Compiler, filters: Filters, held: &Held) -> Rig {
    let mut deployment = rig::deployment(TEXT);
    let nodes = &mut deployment.cells[0].nodes;
    nodes.push(Plan { id: 3, slot: 5, filters: Filters::Discrete, ..nodes[0].clone() });
    (nodes[0].filters, nodes[1].filters) = (filters, Filters::Discrete);
    let mut images = rig::images(compiler, &rig::root(), &deployment);
    let source = rig::root().join("crates/selvedge/tests/beside/holder.c");
    let from_us = i64::from(TAKEN) * 250_000 + held.from_us;
    let flags = ["-Os".to_owned(), format!("-DFROM_US={from_us}"), format!("-DHELD_US={}", held.for_us)];
    let elf = compiler.program(&[source], "atmega128", &flags).unwrap_or_else(|error| panic!("{error}"));
    images[2] = Built { elf, ..images[0].clone() };
    Rig::new(deployment, images)
}

/// A slot that is missed costs the samples of one superframe, and leaves each of the eight filters something to do.
#[test]
fn a_node_whose_slot_is_taken_once_refuses_one_superframe_and_uses_all_eight_filters() {
    let Some(compiler) = rig::compiler("a slot that is taken") else { return };
    for filters in [Filters::Handler, Filters::HandlerByHand, Filters::Woven] {
        println!("{}:", filters.name());
        let seen = Disturbed::of(&compiler, filters, &Held { from_us: 17_200, for_us: 15_000 });
        let lag = |number: u32| if (TAKEN..=TAKEN + 3).contains(&number) { 3 } else { 2 };
        let expected = (4..TAKEN + 8).filter(|number| *number != TAKEN).map(|number| (number, lag(number)));
        assert_eq!(seen.lags, expected.collect());
        assert_eq!(
            seen.losses[..6],
            [1, 0, 0, 0, 0, 1],
            "a superframe is refused, a frame waits for the next slot"
        );
        for name in &FILTERS[1..] {
            let counts = [1, 2].map(|node| seen.ran(node, name));
            println!("{name}: {counts:?} times");
            assert!(counts.iter().sum::<u64>() > 0, "{name}");
            assert!(counts[0] > 0 || !name.contains('+'), "{name}");
        }
    }
}

/// A beacon that nobody can hear costs nothing: what comes down is heard by interrupts, and no superframe is refused.
#[test]
fn a_node_that_misses_a_beacon_hears_by_interrupts_what_nothing_is_woven_with() {
    let Some(compiler) = rig::compiler("a beacon that is missed") else { return };
    let seen = Disturbed::of(&compiler, Filters::Woven, &Held { from_us: -500, for_us: 3_000 });
    assert_eq!(seen.lags, (4..TAKEN + 8).map(|number| (number, 2)).collect());
    assert_eq!(seen.losses[..6], [0; 6]);
    assert_eq!(seen.ran(1, "receive: not woven"), 1);
    let slots: u64 =
        ["receive", "receive + seal", "receive + open"].map(|name| seen.ran(1, name)).iter().sum();
    let told = (SETTLED..TAKEN + 8).filter(|&number| told(number) == 0).count() as u64;
    assert_eq!(slots - u64::from(seen.losses[6]), told, "what came down to it");
}
