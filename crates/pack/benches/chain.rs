//! How fast programs are simulated, in instructions per second of wall time on one core: in plain memory; behind the
//! chain as they are; and packed, sealed and run from their containers, without tags and with them, with the paper's
//! cache and cipher. SPARC has the cycles of LEON2 and window handlers that are in the image, RV32 those of Ibex. And
//! what integrity takes of the six programs, in memory and cycles (`integrity`).
//!
//! `cargo bench -p pack --bench chain` prints a line per program of corpus/, the best of several runs, since noise only
//! ever slows down; arguments are `sparc`, `rv32` and `integrity`, for a part of it.

#[path = "../tests/corpus/mod.rs"]
mod corpus;
#[path = "chain/integrity.rs"]
mod integrity;
#[path = "../tests/made/mod.rs"]
mod made;

use std::time::{Duration, Instant};

use corpus::Run;
use isa::Cycles;
use isa::{rv32, sparc};
use made::{Seeded, device, seals};
use pack::chain::{Protection, Settings, run, sealed};
use pack::integrity::{ImageName, Integrity};
use pack::lines::Choice;
use pack::{Container, Image, Program, Target};

const RUNS: usize = 5;
/// What the chain is to reach, in instructions per second.
const GOAL: f64 = 20e6;
/// The seals that are run, by their places among all: ECB, XTS, and one kind of CTR.
const SEALS: [usize; 3] = [0, 1, 2];

/// Instructions per second of the best run.
fn rate(mut run: impl FnMut() -> (u64, Duration)) -> f64 {
    let rates = (0..RUNS).map(|_| {
        let (instructions, took) = run();
        instructions as f64 / took.as_secs_f64()
    });
    rates.fold(0.0, f64::max)
}

/// A run in plain memory, in instructions and time.
fn plain(run: &Run, target: Target) -> (u64, Duration) {
    let (arguments, files) = run.prepare();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match target {
        Target::Sparc => {
            let (image, user) = (run.image(), corpus::with_handlers(&run.image()));
            let mut program = sparc::User::new(&image, &arguments, files, user).expect("it fits");
            let begin = Instant::now();
            let stop = program.run(Cycles::MAX, &mut ());
            let took = begin.elapsed();
            assert!(matches!(stop, sparc::user::Stop::Exit(0)), "{stop:?}");
            (program.machine.spent().instructions, took)
        }
        Target::Rv32 => {
            let (image, user) = (run.image_rv32(), rv32::user::Settings::default());
            let mut program = rv32::User::new(&image, &arguments, files, user).expect("it fits");
            let begin = Instant::now();
            let stop = program.run(Cycles::MAX, &mut ());
            let took = begin.elapsed();
            assert!(matches!(stop, rv32::user::Stop::Exit(0)), "{stop:?}");
            (program.machine.spent().instructions, took)
        }
    }
}

/// The same behind the chain.
fn chained(run: &Run, image: &Image, protection: &Protection) -> (u64, Duration) {
    let (arguments, files) = run.prepare();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let settings = Settings::default();
    match image.target {
        Target::Sparc => {
            let user = corpus::with_handlers(&run.image());
            let started = run::under_linux(image, protection, &settings, &arguments, files, user);
            let mut program = started.expect("it fits");
            let begin = Instant::now();
            let outcome = run::finish(&mut program, Cycles::MAX, &mut ());
            let took = begin.elapsed();
            assert_eq!(outcome.end, run::End::Exit(0));
            (outcome.spent.instructions, took)
        }
        Target::Rv32 => {
            let user = rv32::user::Settings::default();
            let started = run::rv32::under_linux(image, protection, &settings, &arguments, files, user);
            let mut program = started.expect("it fits");
            let begin = Instant::now();
            let outcome = run::rv32::finish(&mut program, Cycles::MAX, &mut ());
            let took = begin.elapsed();
            assert_eq!(outcome.end, run::End::Exit(0));
            (outcome.spent.instructions, took)
        }
    }
}

/// Where nothing is of what is in `corpus/`: with every number of tags there would not be room behind the code.
const fn tables_first(target: Target) -> u32 {
    match target {
        Target::Sparc => 0x3000_0000,
        Target::Rv32 => 0x2000_0000,
    }
}

/// An image sealed by one of the seals and booted; with its container and the seal's name.
fn sealed_under(
    image: &Image,
    number: usize,
    integrity: Option<Integrity>,
) -> (Container, String, Image, Protection) {
    let (seal, key) = seals(&mut Seeded::from(1)).swap_remove(number);
    let settings = pack::sealed::Settings {
        seal: seal.row(),
        allow_legacy: true,
        choice: Choice::default(),
        integrity,
        image: ImageName::default(),
        tables_first: Some(tables_first(image.target)),
    };
    let container = made::seal(&image.clone().into(), &settings, &key, &device(1));
    let container = container.expect("it can be sealed");
    let (image, protection) = sealed::boot(made::unlock(&container, 1)).expect("nothing was changed");
    (container, seal.to_string(), image, protection)
}

/// Prints a program's rates; the slowest of those of sealed images without tags, and with them over each number of
/// lines.
fn rates(run: &Run, target: Target) -> [f64; 2] {
    let name = if target == Target::Sparc { "sparc" } else { "rv32" };
    let program = Program::parse(&run.elf(name)).expect("it is a program");
    let unpacked = match target {
        Target::Sparc => run::unpacked(&run.image()),
        Target::Rv32 => run::unpacked(&run.image_rv32()),
    };
    print!("{name} {} {}: M instructions/s: ", run.program, run.name);
    print!("{:.0} plain", rate(|| plain(run, target)) / 1e6);
    print!(
        ", {:.0} behind a cache; packed and sealed",
        rate(|| chained(run, &unpacked, &Protection::default())) / 1e6
    );
    let image = pack::pack(&program, &[], &pack::Settings::default()).expect("it can be packed").image;
    assert!(!image.map.is_empty(), "{}: nothing is packed", run.program);
    let tags = [1, 4, 8].map(|lines| Integrity::new(lines, 8).expect("there are such"));
    let mut slowest = [f64::MAX; 2];
    for number in SEALS {
        for integrity in [None].into_iter().chain(tags.map(Some)) {
            let (_, seal, image, protection) = sealed_under(&image, number, integrity);
            let rate = rate(|| chained(run, &image, &protection));
            let lines = integrity.map_or(String::new(), |tags| format!(" tags over {}", tags.lines()));
            print!(", {seal}{lines} {:.0}", rate / 1e6);
            let slowest = &mut slowest[usize::from(integrity.is_some())];
            *slowest = slowest.min(rate);
        }
    }
    println!();
    slowest
}

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let is_asked = |name: &str| asked.is_empty() || asked.iter().any(|other| other == name);
    // Says the seed, in a line of its own.
    Seeded::new();
    let runs = corpus::sample("bench of the chain");
    if runs.is_empty() {
        return;
    }
    for (name, of, target) in [("sparc", "SPARC", Target::Sparc), ("rv32", "RV32", Target::Rv32)] {
        if !is_asked(name) {
            continue;
        }
        let each = runs.iter().map(|run| rates(run, target));
        let slowest = each.fold([f64::MAX; 2], |[a, b], [c, d]| [a.min(c), b.min(d)]);
        let what = ["packed for size and sealed", "packed for size, sealed and tagged"];
        for (what, slowest) in what.iter().zip(slowest) {
            let (slowest, goal) = (slowest / 1e6, GOAL / 1e6);
            println!("goal\t{of} {what}, slowest program, M instructions/s\t{slowest:.1}\t-\t-\t>= {goal}");
        }
    }
    if is_asked("integrity") {
        integrity::print_all();
    }
}
