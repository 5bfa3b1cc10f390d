//! Packed programs of the corpus behind the chain: they print what they print natively, wherever they are looked at
//! their registers and memory are the plain run's but for where code is, and what they fetch and take is counted alike
//! by the paper's formula.

mod corpus;

use std::collections::{HashMap, HashSet};

use corpus::Run;
use corpus::stores::{self, Stores};
use isa::sparc::user::{self, Windows};
use isa::sparc::{Bus, Image, Machine, Memory, Timing, User, Width, machine};
use isa::{Cycles, Observer};
use pack::Profile;
use pack::chain::run::{self, End};
use pack::chain::stream::Replayed;
use pack::chain::{Chain, Protection, Settings, Shape, Stream, Work};
use pack::code::dict;
use pack::packing::Assignment;
use pack::place::Order;

/// A core on which everything takes a cycle, with window handlers in the image.
fn ideal(program: &Image, windows: Windows) -> user::Settings {
    let timing = Timing::ideal();
    assert!(program.symbol("reset").is_some());
    user::Settings {
        machine: machine::Settings { timing, ..machine::Settings::default() },
        windows,
        ..user::Settings::default()
    }
}

fn handlers(program: &Image) -> Windows {
    Windows::Image { table: program.symbol("reset").expect("it has a table of traps").address }
}

fn arguments(run: &Run) -> (Vec<String>, isa::sparc::Files) {
    run.prepare()
}

fn start(run: &Run, image: &pack::Image, settings: &Settings, windows: Windows) -> User<Chain> {
    let protection = Protection::cost_of_code(image, Work::Block);
    let (told, files) = arguments(run);
    let told: Vec<&str> = told.iter().map(String::as_str).collect();
    let user = ideal(&run.image(), windows);
    run::under_linux(image, &protection, settings, &told, files, user).expect("it fits")
}

/// The ways of packing that runs take in turn, each a program's shortest; all of them in a long run.
fn ways(number: usize) -> Vec<pack::Settings> {
    let base = pack::Settings::default();
    let ways = vec![
        pack::Settings {
            dictionary: dict::Choice::Blend { dynamic_percent: 50 },
            order: Order::Seeded(1),
            ..base.clone()
        },
        pack::Settings { dictionary: dict::Choice::Dynamic, order: Order::Hot, ..base.clone() },
        // For size alone, it need not gain in the run that is measured.
        pack::Settings { entries: 64, least_saving_percent: 0, ..base },
    ];
    if corpus::soak() { ways } else { vec![ways[number % ways.len()].clone()] }
}

fn packed(run: &Run, profile: &Profile, way: &pack::Settings) -> pack::Image {
    let program = corpus::program(&run.program);
    let packed = pack::pack(&program, std::slice::from_ref(profile), way);
    let image = packed.unwrap_or_else(|error| panic!("{}: {error}", run.program)).image;
    assert!(!image.map.is_empty(), "{}: nothing is packed", run.program);
    image
}

/// Every kind of dictionary, assignment and order.
fn switches() -> Vec<pack::Settings> {
    let base = pack::Settings { least_saving_percent: 0, ..pack::Settings::default() };
    vec![
        pack::Settings { assignment: Assignment::Words, order: Order::Seeded(2), ..base.clone() },
        pack::Settings { assignment: Assignment::Greedy, canonical: false, ..base.clone() },
        pack::Settings {
            assignment: Assignment::Optimal,
            order: Order::Seeded(7),
            entries: 64,
            ..base.clone()
        },
        pack::Settings { dictionary: dict::Choice::Dynamic, order: Order::Hot, ..base.clone() },
        pack::Settings {
            dictionary: dict::Choice::Blend { dynamic_percent: 50 },
            order: Order::Seeded(1),
            ..base.clone()
        },
        pack::Settings { dictionary: dict::Choice::Multi { dynamic_entries: 64 }, ..base },
    ]
}

#[test]
fn every_switch_leaves_what_a_program_prints() {
    let runs = corpus::sample("every switch").into_iter();
    for run in runs.filter(|run| corpus::soak() || run.program == "search") {
        let (profile, windows) = (run.profile(), handlers(&run.image()));
        for way in switches() {
            let image = packed(&run, &profile, &way);
            assert!(!image.map.is_empty(), "{}: nothing is packed: {way:?}", run.program);
            let after =
                run::finish(&mut start(&run, &image, &Settings::default(), windows), Cycles::MAX, &mut ());
            assert_eq!(after.end, End::Exit(0), "{} {}: {way:?}", run.program, run.name);
            assert!(run.is_expected(&after.output), "{} {}: {way:?}", run.program, run.name);
        }
    }
}

#[test]
fn packed_programs_print_what_they_print_natively_and_take_what_the_formula_says() {
    for (number, run) in corpus::sample("packed programs behind the chain").iter().enumerate() {
        let (plain, profile) = (run::unpacked(&run.image()), run.profile());
        let settings = Settings::default();
        let windows = handlers(&run.image());
        let before = run::finish(&mut start(run, &plain, &settings, windows), Cycles::MAX, &mut ());
        for way in ways(number) {
            let image = packed(run, &profile, &way);
            let mut program = start(run, &image, &settings, windows);
            program.machine.bus.stream = Some(Box::new(Stream::default()));
            let after = run::finish(&mut program, Cycles::MAX, &mut ());
            assert_eq!(after.end, End::Exit(0), "{} {}: {way:?}", run.program, run.name);
            assert!(run.is_expected(&after.output), "{} {}: {way:?}", run.program, run.name);
            let (spent, counts) = (after.spent, after.counts);
            let executed = spent.instructions + spent.annulled + spent.trap_cycles;
            assert_eq!(after.cycles, executed + 120 * counts.misses, "{} {}", run.program, run.name);
            // Every instruction comes from the word that is held, or from one that is asked for.
            let fetched = counts.held + counts.accesses;
            let executed = spent.instructions + spent.annulled;
            assert!((executed..=executed + spent.traps).contains(&fetched), "{counts:?} {spent:?}");
            assert!(counts.accesses < before.counts.accesses, "{} {}", run.program, run.name);
            let stream = program.machine.bus.stream.take().expect("it was given");
            let replayed = stream.replay(&[settings.cache, Shape::direct(4096)]).expect("they can be built");
            let expected = Replayed { accesses: counts.accesses, misses: counts.misses };
            assert_eq!(replayed[0], expected);
            println!(
                "{} {}: {:.3} of the words, {:.3} of the misses, {:.3} of the cycles at 1 KiB; {:?}",
                run.program,
                run.name,
                counts.accesses as f64 / before.counts.accesses as f64,
                counts.misses as f64 / before.counts.misses as f64,
                after.cycles as f64 / before.cycles as f64,
                way.dictionary,
            );
        }
    }
}

/// `ta 0x10`.
const SYSTEM_CALL: u32 = 0x91d0_2010;

/// Where code is in the packed image.
struct Moves {
    /// By where it was.
    places: HashMap<u32, u32>,
    /// Upper parts of both, which `sethi` leaves in registers.
    parts: HashSet<(u32, u32)>,
}

impl Moves {
    fn of(image: &pack::Image) -> Moves {
        let high = |address: u32| address & !0x3ff;
        Moves {
            places: image.map.iter().map(|moved| (moved.old, moved.new)).collect(),
            parts: image.map.iter().map(|moved| (high(moved.old), high(moved.new))).collect(),
        }
    }

    fn place(&self, old: u32) -> u32 {
        self.places.get(&old).copied().unwrap_or(old)
    }

    /// Whether a word of the packed run is the plain run's: the same, or where the code is now that was there.
    fn explain(&self, plain: u32, packed: u32) -> bool {
        plain == packed || self.places.get(&plain) == Some(&packed) || self.parts.contains(&(plain, packed))
    }
}

/// Runs to the next of these places, and says whether it came to one.
fn run_to<B: Bus>(program: &mut User<B>, stores: &mut Stores, is_there: impl Fn(u32) -> bool) -> bool {
    loop {
        let machine = &program.machine;
        match program.run(machine.cycle() + 1, stores) {
            user::Stop::Reached if is_there(program.machine.pc()) && !program.machine.is_annulled() => {
                return true;
            }
            user::Stop::Reached => {}
            user::Stop::Exit(0) => return false,
            stop => panic!("{stop:?}"),
        }
    }
}

/// All registers: globals, and outs and locals of every window.
fn registers<B: Bus>(machine: &Machine<B>) -> Vec<u32> {
    let globals = (0..8).map(|number| machine.register(number));
    let windows = (0..machine.windows()).flat_map(|window| (8..24).map(move |number| (window, number)));
    globals.chain(windows.map(|(window, number)| machine.window_register(window, number))).collect()
}

/// Compares the memory of the plain run and of the packed one, each with what was stored to it: in how many words they
/// differ by where code is.
fn compare_memory(what: &str, moves: &Moves, plain: (&Memory, &Stores), packed: (&Memory, &Stores)) -> usize {
    let number = u32::from_be_bytes;
    let mut moved = 0;
    for region in packed.0.regions() {
        let theirs = plain.0.read(region.first, region.bytes.len() as u32).expect("both have it");
        if theirs == region.bytes {
            continue;
        }
        let (theirs, ours) = (theirs.as_chunks().0, region.bytes.as_chunks().0);
        for (index, (&theirs, &ours)) in theirs.iter().zip(ours).enumerate().filter(|(_, (a, b))| a != b) {
            let address = region.first + 4 * index as u32;
            let before = stores::left_of(address, [theirs, ours], [plain.1, packed.1]);
            let explain = |[theirs, ours]: [[u8; 4]; 2]| moves.explain(number(theirs), number(ours));
            let same = explain([theirs, ours]) || before.is_some_and(explain);
            let (theirs, ours) = (number(theirs), number(ours));
            assert!(same, "{what}: memory at {address:#x}: {theirs:#x} {ours:#x}; left of {before:02x?}");
            moved += 1;
        }
    }
    moved
}

#[test]
fn what_is_left_of_an_address_is_told_from_an_address_that_is_another() {
    let run = |word: [u8; 4], bytes: &[(u32, u8)]| {
        let mut stores = Stores::default();
        (0x100..).zip(word).for_each(|(at, byte)| stores.store(7, at, byte));
        bytes.iter().for_each(|&(at, byte)| stores.store(8 + Cycles::from(at), at, byte));
        stores
    };
    let (whole, ours) = ([0x40, 0x00, 0x6d, 0x74], [0x40, 0x03, 0xec, 0x3c]);
    let zero = [(0x100, 0)];
    let stores = [&run(whole, &zero), &run(ours, &zero)];
    let left = |plain, packed| stores::left_of(0x100, [plain, packed], stores);
    assert_eq!(left([0x00, 0x00, 0x6d, 0x74], [0x00, 0x03, 0xec, 0x3c]), Some([whole, ours]));
    // Other bytes over it, in one of the runs or in both; and what is left of another address.
    assert_eq!(left([0x00, 0x00, 0x6d, 0x74], [0x01, 0x03, 0xec, 0x3c]), None);
    assert_eq!(left([0x00, 0x00, 0x6d, 0x74], [0x00, 0x03, 0xec, 0x40]), None);
    assert_eq!(left([0x00, 0x00, 0x6d, 0x70], [0x00, 0x03, 0xec, 0x3c]), None);
    // A byte over it in one of the runs alone, even by the same value; and all of it over, byte by byte.
    let once = |plain: &[(u32, u8)], packed: &[(u32, u8)]| {
        stores::left_of(0x100, [whole, ours], [&run(whole, plain), &run(ours, packed)])
    };
    assert_eq!(once(&[], &[]), Some([whole, ours]));
    assert_eq!(once(&[(0x100, 0x40)], &[]), None);
    let over = |word: [u8; 4]| -> Vec<(u32, u8)> { (0x100..).zip(word).collect() };
    assert_eq!(once(&over(whole), &over(ours)), None);
    // Four bytes of four instructions are no word, and nothing is where nothing was stored.
    let apart = [(0x200, 0x40), (0x201, 0x00), (0x202, 0x6d), (0x203, 0x74)];
    let stores = [&run(whole, &apart), &run(ours, &apart)];
    assert_eq!(stores::left_of(0x200, [whole, ours], stores), None);
}

/// What is stepped through elsewhere than in a long run.
const STEPPED: [&str; 4] = ["djpeg", "search", "minigzip", "lua"];

#[test]
fn registers_and_memory_are_the_plain_runs_but_for_where_code_is_at_every_system_call() {
    let mut compared = 0;
    for (number, run) in corpus::sample("registers of packed programs").iter().enumerate() {
        if !corpus::soak() && !STEPPED.contains(&run.program.as_str()) {
            continue;
        }
        let (program, profile) = (run.image(), run.profile());
        for way in ways(number) {
            let image = packed(run, &profile, &way);
            let moves = Moves::of(&image);
            let (told, files) = arguments(run);
            let told: Vec<&str> = told.iter().map(String::as_str).collect();
            let settings = ideal(&program, Windows::Environment);
            let mut plain = User::new(&program, &told, files, settings).expect("it fits");
            let mut ours = start(run, &image, &Settings::default(), Windows::Environment);
            let calls: Vec<u32> = (program.code_first..program.code_first + program.code_bytes)
                .step_by(4)
                .filter(|&at| plain.machine.bus.load(at, Width::Word, 0, &mut 0) == Ok(SYSTEM_CALL.into()))
                .collect();
            let our_calls: Vec<u32> = calls.iter().map(|&at| moves.place(at)).collect();
            let (mut stored, mut our_stored) = (Stores::default(), Stores::default());
            let mut count = 0;
            while run_to(&mut plain, &mut stored, |pc| calls.contains(&pc)) {
                let what = format!("{} {} call {count}", run.program, run.name);
                assert!(run_to(&mut ours, &mut our_stored, |pc| our_calls.contains(&pc)), "{what}: it ended");
                let place = plain.machine.pc();
                assert_eq!(ours.machine.pc(), moves.place(place));
                let (theirs, found) = (registers(&plain.machine), registers(&ours.machine));
                for (index, (&plain, &packed)) in theirs.iter().zip(&found).enumerate() {
                    let same = moves.explain(plain, packed);
                    assert!(same, "{what}: register {index}: {plain:#x} {packed:#x}");
                }
                assert_eq!((plain.machine.psr(), plain.machine.y()), (ours.machine.psr(), ours.machine.y()));
                // Memory is long, and so it is compared less often the longer it takes.
                if count < 4 || u32::is_power_of_two(count) {
                    let memory = (&plain.machine.bus, &stored);
                    compared += compare_memory(&what, &moves, memory, (ours.machine.bus.ram(), &our_stored));
                }
                count += 1;
            }
            assert!(!run_to(&mut ours, &mut our_stored, |_| false));
            assert!(count > 3, "{}: {count} calls", run.program);
        }
    }
    if !corpus::runs("registers of packed programs").is_empty() {
        assert!(compared > 0, "no word of memory says where code is");
    }
}
