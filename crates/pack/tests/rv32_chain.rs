//! RV32 programs of the corpus packed and behind the chain: they print what they print natively, plain and sealed by
//! every seal, with and without tags; cycles are the paper's formula; and registers and memory are the plain run's but
//! for where code is.

mod corpus;
mod made;

use std::collections::{HashMap, HashSet};

use corpus::Run;
use corpus::stores::{self, Stores};
use isa::Cycles;
use isa::rv32::{Bus, Fault, FaultKind, Machine, Memory, Spent, Timing, User, user};
use made::{Seeded, device, seals};
use pack::chain::run::{self, End};
use pack::chain::{Chain, Data, DataTiming, Lines, Outcome, Protection, Rv32, Settings, Shape, Work};
use pack::chain::{integrity, sealed};
use pack::code::Code;
use pack::code::dict;
use pack::code::onfill::stored::compress;
use pack::integrity::{ImageName, Integrity};
use pack::lines::Choice;
use pack::place::Order;
use pack::sealed::{Settings as Sealing, Unsealed};
use pack::{Container, Image, Profile, Program};

/// Where dictionary and tags go: memory that no program of the corpus takes.
const TABLES: u32 = 0x2000_0000;

/// A core on which everything takes a cycle.
fn ideal() -> user::Settings {
    user::Settings { timing: Timing::ideal(), ..user::Settings::default() }
}

fn start(run: &Run, image: &Image, protection: &Protection, settings: &Settings) -> User<Chain<Lines, Rv32>> {
    let (told, files) = run.prepare();
    let told: Vec<&str> = told.iter().map(String::as_str).collect();
    run::rv32::under_linux(image, protection, settings, &told, files, ideal()).expect("it fits")
}

fn outcome(run: &Run, image: &Image, protection: &Protection, settings: &Settings) -> Outcome<Spent, Fault> {
    run::rv32::finish(&mut start(run, image, protection, settings), Cycles::MAX, &mut ())
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
        pack::Settings {
            choice: pack::flow::Choice { link_slots: true, ..pack::flow::Choice::default() },
            entries: 64,
            // For size alone, it need not gain in the run that is measured.
            least_saving_percent: 0,
            ..base
        },
    ];
    if corpus::soak() { ways } else { vec![ways[number % ways.len()].clone()] }
}

fn packed(run: &Run, profile: &Profile, way: &pack::Settings) -> Image {
    let program = Program::parse(&run.elf("rv32")).unwrap_or_else(|error| panic!("{}: {error}", run.program));
    let packed = pack::pack(&program, std::slice::from_ref(profile), way);
    let image = packed.unwrap_or_else(|error| panic!("{}: {error}", run.program)).image;
    assert!(!image.map.is_empty(), "{}: nothing is packed", run.program);
    image
}

#[test]
fn packed_programs_print_what_they_print_natively_and_take_what_the_formula_says() {
    for (number, run) in corpus::sample("packed RV32 programs behind the chain").iter().enumerate() {
        let (plain, profile) = (run::unpacked(&run.image_rv32()), run.profile_rv32());
        let settings = Settings::default();
        let before = outcome(run, &plain, &Protection::cost_of_code(&plain, Work::Block), &settings);
        assert!(run.is_expected(&before.output), "{} {}", run.program, run.name);
        for way in ways(number) {
            let image = packed(run, &profile, &way);
            assert!(!image.map.is_empty(), "{}: nothing is packed", run.program);
            let protection = Protection::cost_of_code(&image, Work::Block);
            let after = outcome(run, &image, &protection, &settings);
            assert_eq!(after.end, End::Exit(0), "{} {}: {way:?}", run.program, run.name);
            assert!(run.is_expected(&after.output), "{} {}: {way:?}", run.program, run.name);
            let (spent, counts) = (after.spent, after.counts);
            assert_eq!(after.cycles, spent.instructions + 120 * counts.misses, "{}", run.program);
            // Every instruction comes from the word that is held, or from one that is asked for; so does the last
            // call, which is not come back from.
            assert_eq!(counts.held + counts.accesses, spent.instructions + 1, "{} {}", run.program, run.name);
            assert!(counts.accesses < before.counts.accesses, "{} {}", run.program, run.name);
            assert_eq!(spent.instructions, before.spent.instructions, "{} {}", run.program, run.name);
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

#[test]
fn data_that_takes_time_changes_nothing_but_time() {
    let timing = DataTiming { first_cycles: 10, next_cycles: 1, store_cycles: 2 };
    // A small one, which loses lines that were stored to.
    let ways = [Data::Ideal, Data::Uncached(timing), Data::Cached(Shape::direct(256), timing)];
    for run in corpus::sample("data of RV32 programs").iter().filter(|run| run.program == "minigzip") {
        let image = packed(run, &Profile::default(), &pack::Settings::default());
        let container = container(&image, 1, None);
        let (booted, protection) = sealed::boot(made::unlock(&container, 1)).expect("nothing was changed");
        let took: Vec<_> = ways
            .into_iter()
            .map(|data| outcome(run, &booted, &protection, &Settings { data, ..Settings::default() }))
            .collect();
        for outcome in &took {
            assert_eq!(outcome.end, End::Exit(0));
            assert!(run.is_expected(&outcome.output));
            assert_eq!(outcome.spent.instructions, took[0].spent.instructions);
            assert_eq!(outcome.counts.constants, took[0].counts.constants);
            assert!(outcome.counts.constants > 1000);
        }
        let waits: Vec<Cycles> = took.iter().map(|outcome| outcome.spent.data_cycles).collect();
        assert!(waits[0] == 0 && 0 < waits[2] && waits[2] < waits[1], "{waits:?}");
    }
}

const INTEGRITIES: [Option<(u8, u8)>; 4] = [None, Some((1, 8)), Some((4, 16)), Some((8, 8))];

/// An image in a container, read back from its bytes.
fn container(image: &Image, number: usize, tags: Option<(u8, u8)>) -> Container {
    let (seal, key) = seals(&mut Seeded::new()).into_iter().nth(number).expect("there are six");
    let settings = Sealing {
        seal: seal.row(),
        allow_legacy: true,
        choice: Choice::default(),
        integrity: tags.map(|(lines, bytes)| Integrity::new(lines, bytes).expect("there are such")),
        image: ImageName { version: 3, id: *b"selvedge" },
        tables_first: Some(TABLES),
    };
    let container = made::seal(&Unsealed::from(image.clone()), &settings, &key, &device(1));
    Container::parse(&container.expect("it can be sealed").to_bytes()).expect("it was written so")
}

fn checks(speculative: bool) -> Settings {
    let mac_cache = Some(Shape::direct(256));
    Settings {
        integrity: integrity::Settings { latency_cycles: 80, speculative, mac_cache },
        ..Settings::default()
    }
}

/// All six seals, or one of each kind: ECB, XTS, and one of the layouts of CTR.
fn chosen(number: usize) -> Vec<usize> {
    if corpus::soak() { (0..6).collect() } else { vec![0, 1, 2 + number % 4] }
}

#[test]
fn packed_and_sealed_programs_print_what_they_print_natively_with_and_without_tags() {
    for (number, run) in corpus::sample("packed and sealed RV32 programs").iter().enumerate() {
        let image = packed(run, &Profile::default(), &pack::Settings::default());
        for seal in chosen(number) {
            let tags = INTEGRITIES[1 + (number + seal) % 3];
            let mut cycles = Vec::new();
            for (tags, settings) in [(None, Settings::default()), (tags, checks(true)), (tags, checks(false))]
            {
                let container = container(&image, seal, tags);
                let (booted, protection) =
                    sealed::boot(made::unlock(&container, 1)).expect("nothing was changed");
                let outcome = outcome(run, &booted, &protection, &settings);
                let what = format!("{} {}: seal {seal}, {tags:?}", run.program, run.name);
                assert_eq!(outcome.end, End::Exit(0), "{what}");
                assert!(run.is_expected(&outcome.output), "{what}");
                let (spent, counts) = (outcome.spent, outcome.counts);
                if tags.is_none() {
                    let miss_cycles = [120, 122, 81, 81, 81, 81][seal];
                    assert_eq!(outcome.cycles, spent.instructions + miss_cycles * counts.misses, "{what}");
                } else {
                    assert!(counts.transfers.checks.groups >= counts.misses, "{what}");
                }
                cycles.push(outcome.cycles);
            }
            println!("{} {}: seal {seal}, {tags:?}: {cycles:?}", run.program, run.name);
            // Without checks, going on while they are made, waiting for them.
            assert!(cycles.is_sorted(), "{} {}: {cycles:?}", run.program, run.name);
        }
    }
}

#[test]
fn a_change_in_code_that_is_executed_ends_the_run_with_its_line() {
    for run in corpus::sample("changed RV32 containers").iter().filter(|run| run.program == "search") {
        let image = packed(run, &Profile::default(), &pack::Settings::default());
        for (seal, speculative) in [(0, false), (1, true), (2, false)] {
            let whole = container(&image, seal, Some((1, 8)));
            let (booted, mut protection) =
                sealed::boot(made::unlock(&whole, 1)).expect("nothing was changed");
            // The line where it begins is executed for sure.
            let line = booted.entry & !15;
            let memory = protection.memory.as_mut().expect("it has memory");
            let piece = memory.iter_mut().rfind(|piece| piece.0 <= line).expect("it is there");
            piece.1[(line - piece.0) as usize + 5] ^= 0x10;
            let outcome = outcome(run, &booted, &protection, &checks(speculative));
            let End::Fault(fault) = outcome.end else { panic!("{:?}", outcome.end) };
            assert_eq!(fault.kind, FaultKind::LineCheck { line });
            assert_eq!(outcome.output, []);
        }
    }
}

/// Where code is in the packed image.
struct Moves {
    /// By where it was.
    places: HashMap<u32, u32>,
    /// Upper parts of both, which LUI leaves in registers.
    parts: HashSet<(u32, u32)>,
}

impl Moves {
    fn of(run: &Run, image: &Image) -> Moves {
        let high = |address: u32| address.wrapping_add(0x800) & !0xfff;
        let highs = image.map.iter().map(|moved| (high(moved.old), high(moved.new)));
        let mut moves = Moves {
            places: image.map.iter().map(|moved| (moved.old, moved.new)).collect(),
            parts: highs.collect(),
        };
        // What a call leaves is the place behind it, where something else may stand now.
        let places: HashSet<u32> = image.map.iter().map(|moved| moved.new).collect();
        let behind = |new: u32| if places.contains(&(new + 1)) { new + 1 } else { (new & !3) + 4 };
        moves.parts.extend(image.map.iter().map(|moved| (moved.old + 4, behind(moved.new))));
        // Where AUIPC left its own address and a distance, there is the upper part of an address.
        let (before, program) =
            (run.image_rv32(), Program::parse(&run.elf("rv32")).expect("it is a program"));
        for segment in before.segments.iter().filter(|segment| !segment.writable) {
            for (at, bytes) in (segment.first..).step_by(4).zip(segment.bytes.chunks_exact(4)) {
                let was = u32::from_le_bytes(bytes.try_into().expect("four bytes"));
                let Some(now) = program.word_at(at).filter(|_| was & 0x7f == AUIPC) else { continue };
                let told = program.references.iter().find(|reference| reference.at == at);
                let part = told.map_or(now & !0xfff, |reference| high(moves.place(reference.to)));
                moves.parts.insert((at.wrapping_add(was & !0xfff), part));
            }
        }
        moves
    }

    fn place(&self, old: u32) -> u32 {
        self.places.get(&old).copied().unwrap_or(old)
    }

    /// Whether a word of the packed run is the plain run's: the same, or where the code is now that was there.
    fn explain(&self, plain: u32, packed: u32) -> bool {
        plain == packed || self.places.get(&plain) == Some(&packed) || self.parts.contains(&(plain, packed))
    }
}

/// Compares the memory of the plain run and of the packed one, each with what was stored to it: in how many words they
/// differ by where code is.
fn compare_memory(what: &str, moves: &Moves, plain: (&Memory, &Stores), packed: (&Memory, &Stores)) -> usize {
    let number = u32::from_le_bytes;
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

/// Runs to the next call of the environment, which it leaves to be answered; `None` at the end.
fn registers_at_call<B: Bus>(
    program: &mut User<B>,
    stores: &mut Stores,
    calls: &HashSet<u32>,
) -> Option<Vec<u32>> {
    loop {
        let machine: &Machine<B> = &program.machine;
        match program.run(machine.cycle() + 1, stores) {
            user::Stop::Reached if calls.contains(&program.machine.pc()) => {
                return Some((0..32).map(|number| program.machine.register(number)).collect());
            }
            user::Stop::Reached => {}
            user::Stop::Exit(0) => return None,
            stop => panic!("{stop:?}"),
        }
    }
}

/// What is stepped through elsewhere than in a long run.
const STEPPED: [&str; 3] = ["search", "minigzip", "lua"];
/// The opcode of AUIPC.
const AUIPC: u32 = 0x17;
/// ECALL.
const CALL: u32 = 0x0000_0073;

#[test]
fn registers_and_memory_are_the_plain_runs_but_for_where_code_is_at_every_system_call() {
    for (number, run) in corpus::sample("registers of packed RV32 programs").iter().enumerate() {
        if !corpus::soak() && !STEPPED.contains(&run.program.as_str()) {
            continue;
        }
        let profile = run.profile_rv32();
        for way in ways(number) {
            let image = packed(run, &profile, &way);
            let moves = Moves::of(run, &image);
            let (told, files) = run.prepare();
            let told: Vec<&str> = told.iter().map(String::as_str).collect();
            let program = run.image_rv32();
            let mut plain = User::new(&program, &told, files, ideal()).expect("it fits");
            let mut ours = start(run, &image, &Protection::default(), &Settings::default());
            let words = (program.code_first..program.code_first + program.code_bytes).step_by(4);
            let word = |at: u32| plain.machine.bus.read(at, 4).map(<[u8]>::to_vec);
            let calls: HashSet<u32> =
                words.filter(|&at| word(at).is_some_and(|bytes| bytes == CALL.to_le_bytes())).collect();
            let our_calls: HashSet<u32> = calls.iter().map(|at| moves.places[at]).collect();
            let (mut stored, mut our_stored) = (Stores::default(), Stores::default());
            let mut count = 0u32;
            while let Some(theirs) = registers_at_call(&mut plain, &mut stored, &calls) {
                let what = format!("{} {} call {count}", run.program, run.name);
                let found = registers_at_call(&mut ours, &mut our_stored, &our_calls);
                let found = found.unwrap_or_else(|| panic!("{what}: it ended"));
                assert_eq!(ours.machine.pc(), moves.places[&plain.machine.pc()]);
                for (index, (&plain, &packed)) in theirs.iter().zip(&found).enumerate() {
                    let same = moves.explain(plain, packed);
                    assert!(same, "{what}: register {index}: {plain:#x} {packed:#x}");
                }
                // Memory is long, and so it is compared less often the longer it takes.
                if count < 4 || count.is_power_of_two() {
                    let memory = (&plain.machine.bus, &stored);
                    compare_memory(&what, &moves, memory, (ours.machine.bus.ram(), &our_stored));
                }
                count += 1;
            }
            assert_eq!(registers_at_call(&mut ours, &mut our_stored, &our_calls), None);
            assert!(count > 3, "{}: {count} calls", run.program);
        }
    }
}

#[test]
fn compressed_programs_are_decoded_on_fill_and_print_what_they_print_natively() {
    for run in corpus::sample("compressed RV32 programs").iter().filter(|run| run.program == "search") {
        let program = Program::parse(&run.elf("rv32")).expect("it is a program");
        for code in Code::on_fill() {
            let (image, report) = compress(&Image::from(&program), code, 64).expect("it is plain");
            assert!(report.ratio() < 0.8, "{}: {}", code.name(), report.ratio());
            let protection = Protection::cost_of_code(&image, Work::Block);
            let after = outcome(run, &image, &protection, &Settings::default());
            assert_eq!(after.end, End::Exit(0), "{}", code.name());
            assert!(run.is_expected(&after.output), "{}", code.name());
        }
    }
}
