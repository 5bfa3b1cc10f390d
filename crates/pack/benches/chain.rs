//! How fast programs are simulated, in instructions per second of wall time on one core: in plain memory with the
//! cycles of LEON2; behind the chain as they are; and packed, sealed and run from their containers, with the paper's
//! cache and cipher. `cargo bench -p pack --bench chain` prints a line per program of corpus/sparc, the best of several
//! runs, since noise only ever slows down.

#[path = "../tests/corpus/mod.rs"]
mod corpus;
#[path = "../tests/made/mod.rs"]
mod made;

use std::time::{Duration, Instant};

use corpus::Run;
use isa::Cycles;
use isa::sparc::{User, user};
use made::{Seeded, device, seals};
use pack::chain::{Protection, Settings, run, sealed};
use pack::integrity::ImageName;
use pack::lines::Choice;
use pack::{Image, Program};

const RUNS: usize = 5;
/// What the chain is to reach, in instructions per second.
const GOAL: f64 = 20e6;

/// Instructions per second of the best run.
fn rate(mut run: impl FnMut() -> (u64, Duration)) -> f64 {
    let rates = (0..RUNS).map(|_| {
        let (instructions, took) = run();
        instructions as f64 / took.as_secs_f64()
    });
    rates.fold(0.0, f64::max)
}

fn plain(run: &Run) -> f64 {
    let image = run.image();
    rate(|| {
        let (arguments, files) = run.prepare();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut program = User::new(&image, &arguments, files, user::Settings::default()).expect("it fits");
        let begin = Instant::now();
        let stop = program.run(Cycles::MAX, &mut ());
        let took = begin.elapsed();
        assert!(matches!(stop, user::Stop::Exit(0)), "{stop:?}");
        (program.machine.spent().instructions, took)
    })
}

fn chained(run: &Run, image: &pack::Image, protection: &Protection) -> f64 {
    rate(|| {
        let (arguments, files) = run.prepare();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let (settings, user) = (Settings::default(), user::Settings::default());
        let started = run::under_linux(image, protection, &settings, &arguments, files, user);
        let mut program = started.expect("it fits");
        let begin = Instant::now();
        let outcome = run::finish(&mut program, Cycles::MAX, &mut ());
        let took = begin.elapsed();
        assert_eq!(outcome.end, run::End::Exit(0));
        (outcome.spent.instructions, took)
    })
}

/// A program packed, and sealed by each seal, with its name.
fn packed_and_sealed(run: &Run) -> Vec<(String, Image, Protection)> {
    let path = corpus::root("corpus/sparc").join(&run.program).with_extension("elf");
    let program = Program::parse(&std::fs::read(path).expect("the corpus has it")).expect("it is a program");
    let image = pack::pack(&program, &[], &pack::Settings::default()).expect("it can be packed").image;
    let sealed = |(seal, key): (pack::seal::Seal, pack::ImageKey)| {
        let settings = pack::sealed::Settings {
            seal: seal.row(),
            allow_legacy: true,
            choice: Choice::default(),
            integrity: None,
            image: ImageName::default(),
            tables_first: None,
        };
        let container = made::seal(&image.clone().into(), &settings, &key, &device(1));
        let container = container.expect("it can be sealed");
        let (image, protection) = sealed::boot(made::unlock(&container, 1)).expect("it has no tags");
        (seal.to_string(), image, protection)
    };
    // The first three: ECB, XTS, and one kind of CTR.
    seals(&mut Seeded::from(1)).into_iter().take(3).map(sealed).collect()
}

fn main() {
    let mut slowest = f64::MAX;
    for run in corpus::sample("bench of the chain") {
        let image = run::unpacked(&run.image());
        let (plain, behind) = (plain(&run), chained(&run, &image, &Protection::default()));
        print!("{} {}: M instructions/s: {:.0} plain", run.program, run.name, plain / 1e6);
        print!(", {:.0} behind a cache; packed and sealed", behind / 1e6);
        for (seal, image, protection) in packed_and_sealed(&run) {
            let rate = chained(&run, &image, &protection);
            print!(" {seal} {:.0}", rate / 1e6);
            slowest = slowest.min(rate);
        }
        println!();
    }
    if slowest < f64::MAX {
        let (slowest, goal) = (slowest / 1e6, GOAL / 1e6);
        println!(
            "goal\tSPARC packed and sealed, slowest program, M instructions/s\t{slowest:.1}\t-\t-\t>= {goal}"
        );
    }
}
