//! Programs of the corpus packed, sealed and run from their containers: every seal, with and without tags, prints what
//! a native build prints; and whatever is changed in a container's memory ends the run with its line.

mod corpus;
mod made;
mod packets;

use corpus::Run;
use isa::Cycles;
use isa::sparc::user::{self, Windows};
use isa::sparc::{FaultKind, Image, Timing, machine};
use made::{Seeded, device, seals};
use pack::chain::run::{self, End};
use pack::chain::{Outcome, Settings, Shape, integrity, sealed};
use pack::integrity::{ImageName, Integrity};
use pack::lines::{Choice, Role};
use pack::sealed::{Settings as Sealing, Unsealed};
use pack::{Container, Program, RunError};
use packets::mixed;

const INTEGRITIES: [Option<(u8, u8)>; 4] = [None, Some((1, 8)), Some((4, 16)), Some((8, 8))];
/// Where the tables are: below the programs, whose code leaves no room for a tag of each line.
const TABLES: u32 = 0x3000_0000;
/// How memory is changed in a test.
type Change = fn(&mut Vec<u8>, usize);

fn core(program: &Image) -> user::Settings {
    let table = program.symbol("reset").expect("it has a table of traps").address;
    user::Settings {
        machine: machine::Settings { timing: Timing::ideal(), ..machine::Settings::default() },
        windows: Windows::Image { table },
        ..user::Settings::default()
    }
}

fn packed(run: &Run) -> pack::Image {
    let path = corpus::root("corpus/sparc").join(&run.program).with_extension("elf");
    let program = Program::parse(&std::fs::read(path).expect("the corpus has it")).expect("it is a program");
    // How well is not asked here: the fastest way.
    let settings =
        pack::Settings { assignment: pack::packing::Assignment::Greedy, ..pack::Settings::default() };
    let image = pack::pack(&program, &[], &settings).expect("it can be packed").image;
    assert!(!image.map.is_empty(), "{}: nothing is packed", run.program);
    image
}

/// An image in a container, read back from its bytes.
fn container(image: &pack::Image, number: usize, tags: Option<(u8, u8)>) -> Container {
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

fn run_from(run: &Run, container: &Container, settings: &Settings, until: Cycles) -> Outcome {
    let (image, protection) = sealed::boot(made::unlock(container, 1)).expect("nothing was changed");
    start(run, &image, &protection, settings, until)
}

fn start(
    run: &Run,
    image: &pack::Image,
    protection: &pack::chain::Protection,
    settings: &Settings,
    until: Cycles,
) -> Outcome {
    let (told, files) = run.prepare();
    let told: Vec<&str> = told.iter().map(String::as_str).collect();
    let started = run::under_linux(image, protection, settings, &told, files, core(&run.image()));
    run::finish(&mut started.expect("it fits"), until, &mut ())
}

fn checks(speculative: bool) -> Settings {
    let mac_cache = Some(Shape::direct(256));
    Settings {
        integrity: integrity::Settings { latency_cycles: 80, speculative, mac_cache },
        ..Settings::default()
    }
}

/// All six seals, or two of them that a seed draws.
fn chosen(seeded: &mut Seeded) -> Vec<usize> {
    let seals = (0..6).collect();
    if corpus::soak() { seals } else { seeded.some(seals, 2) }
}

#[test]
fn packed_and_sealed_programs_print_what_they_print_natively_with_and_without_tags() {
    let mut seeded = Seeded::new();
    for (number, run) in corpus::sample("packed and sealed programs").iter().enumerate() {
        let image = packed(run);
        for seal in chosen(&mut seeded) {
            let tags = INTEGRITIES[1 + (number + seal) % 3];
            let mut cycles = Vec::new();
            for (tags, settings) in [(None, Settings::default()), (tags, checks(true)), (tags, checks(false))]
            {
                let container = container(&image, seal, tags);
                let outcome = run_from(run, &container, &settings, Cycles::MAX);
                let what = format!("{} {}: seal {seal}, {tags:?}", run.program, run.name);
                assert_eq!(outcome.end, End::Exit(0), "{what}");
                assert!(run.is_expected(&outcome.output), "{what}");
                let (spent, counts) = (outcome.spent, outcome.counts);
                if tags.is_none() {
                    let miss_cycles = [120, 122, 81, 81, 81, 81][seal];
                    let executed = spent.instructions + spent.annulled + spent.trap_cycles;
                    assert_eq!(outcome.cycles, executed + miss_cycles * counts.misses, "{what}");
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
fn a_change_in_any_code_that_is_executed_ends_the_run_with_its_line() {
    const CHANGES: [Change; 2] = [
        |line, random| line[random % 16] ^= 1 << (random / 16 % 8),
        // The same bytes in another order.
        |line, random| line.rotate_left(1 + random % 15),
    ];
    for run in corpus::sample("changed containers").iter().filter(|run| run.program == "minigzip") {
        let image = packed(run);
        let settings = Settings { cache: Shape::direct(16 << 10), ..checks(true) };
        for (number, tags) in INTEGRITIES.into_iter().flatten().enumerate() {
            let whole = container(&image, number, Some(tags));
            for (round, change) in CHANGES.iter().enumerate() {
                let booted = sealed::boot(made::unlock(&whole, 1));
                let (booted, mut protection) = booted.expect("nothing was changed");
                // The line where it begins is executed for sure.
                let line = booted.entry & !15;
                let group_bytes = 16 * u32::from(tags.0);
                let random = mixed(u64::from(line) + round as u64) as usize % 1000;
                let memory = protection.memory.as_mut().expect("it has memory");
                let piece = memory.iter_mut().rfind(|piece| piece.0 <= line).expect("it is there");
                let at = (line - piece.0) as usize;
                let mut changed = piece.1[at..at + 16].to_vec();
                change(&mut changed, random);
                piece.1[at..at + 16].copy_from_slice(&changed);
                let outcome = start(run, &booted, &protection, &settings, Cycles::MAX);
                let End::Fault(fault) = outcome.end else { panic!("{:?}", outcome.end) };
                let FaultKind::LineCheck { line: found } = fault.kind else { panic!("{fault}") };
                assert!(found <= line && line < found + group_bytes, "{found:#x} {line:#x}");
                assert_eq!(outcome.output, []);
            }
        }
    }
}

#[test]
fn what_a_boot_reads_is_checked_at_boot() {
    let image = packets::image(&[
        packets::packet(pack::code::packet::Format::Three, &["mov 1, %g1", "mov 2, %g2"]),
        packets::plain("ta 0"),
    ]);
    let whole = container(&image, 1, Some((1, 8)));
    let dictionary = whole.entry_of(Role::Dictionary).expect("it is packed").first;
    let mut bytes = whole.to_bytes();
    // Its line stands where the container's memory has it: it is found by its bytes.
    let line = whole.memory(dictionary, 16).expect("it is there").to_vec();
    let at = bytes.windows(16).position(|window| window == line).expect("it is in the container");
    bytes[at] ^= 1;
    let changed = Container::parse(&pack::container::with_checksum(bytes)).expect("it is laid out as before");
    let refused = sealed::boot(made::unlock(&changed, 1)).map(|_| ()).expect_err("its tag does not match");
    assert_eq!(refused, RunError::BootCheck { line: dictionary });
    let words = "does not match at boot: memory is not as it was sealed";
    assert!(refused.to_string().ends_with(words), "{refused}");
}
