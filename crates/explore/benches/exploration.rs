//! How accurate macro-models are, and how much faster than a simulator they estimate: the goals of exploration.
//! `cargo bench -p explore` makes the models of `pico` and `vex5`, compares them with the simulator on candidates of
//! all kinds, on those that are ranked first and on the other families, times models, simulator and the cores' hardware
//! in Verilator, and prints goals. Arguments are `pico`, `vex5`, `placement`, `speed`, `hardware`, `tcm` and `space`, for
//! a part of that; `placement` moves the stack, and `space` ranks all candidates at four sizes. Cycles are the same
//! everywhere; times are this machine's.

#[path = "../tests/compiled/mod.rs"]
mod compiled;
#[path = "../../isa/tests/cores/mod.rs"]
mod cores;

use std::time::{Duration, Instant};

use explore::analytic::Analytic;
use explore::estimate::{Row, State};
use explore::image::{Choice, Image, Leaves, REQUESTS};
use explore::measure::{Bench, Turn};
use explore::model::{Model, Models, Shape};
use explore::native::ROUTINES;
use explore::plan::{self, Depth};
use explore::rank::{self, Accuracy};
use explore::space::Space;
use explore::subject::{Family, Material, Subject};
use explore::validate::{self, Compared, Estimator};
use explore::{Request, characterise, estimate, fit, measure, native, stored, threads};
use isa::Cycles;
use isa::rv32::Profile;

/// The models that are kept beside the source.
const KEPT: &str = include_str!("../models/vex5.ndjson");
const MODELS_SEED: u64 = 1;
const SEED: u64 = 1001;
/// How many of all kinds are compared, and at which sizes.
const STRATIFIED: usize = 60;
const STRATIFIED_SIZES: [u32; 2] = [512, 1024];
/// How many of those that are ranked first.
const FIRST: usize = 20;
const SIZES: [u32; 4] = [512, 1024, 2048, 3072];
/// Bytes of a way of the caches of `vex5`, and at how many places of it the stack is tried.
const WAY_BYTES: u32 = 4096;
const PLACES: u32 = 16;
const ALL: Family = Family::Private(Space::All);
/// The other families, and sizes of each: the shortest, a usual one and the longest.
const OTHERS: [(Family, &[u32]); 4] = [
    (Family::Aes, &[16, 1024, 4096]),
    (Family::Des, &[8, 1024, 4096]),
    (Family::Sha256, &[64, 1024, 4096]),
    (Family::Ecc, &[256]),
];
/// How many of the models that err most are named.
const WORST: usize = 3;
/// How often what is timed is done; the least time counts.
const TIMES: u32 = 3;
/// What is timed on the cores' hardware.
const ON_HARDWARE: [&str; 2] = ["cios/kary-4/garner/constants/32", "sos/sliding-4/garner/fresh/32+squaring"];

fn goal(what: &str, value: f64, peer: &str, is_least: bool, wanted: f64) {
    let sign = if is_least { ">=" } else { "<=" };
    println!("goal\t{what}\t{value:.4}\t{peer}\t-\t{sign} {wanted}");
}

fn models(bench: &Bench) -> Models {
    let begin = Instant::now();
    let plan = plan::plan(MODELS_SEED, Depth(1)).expect("the library makes keys");
    let samples = characterise::sample(bench, &plan, || ()).expect("all requests are done");
    let models = samples.fit(bench, MODELS_SEED).expect("there are measurements");
    println!("{}: {} requests measured in {:.1?}", bench.profile().name(), plan.len(), begin.elapsed());
    let is_bent = |model: &&Model| model.terms.iter().any(|term| term.shape != Shape::Straight);
    let chosen = samples.chosen();
    let errors = models.routines.iter().flatten().filter(is_bent).map(|model| {
        let place = ROUTINES.iter().position(|routine| routine.name == model.routine).expect("it has one");
        let straight = fit::straight(&ROUTINES[place], &chosen[place]).expect("there are measurements");
        (model.held_out_error, straight.held_out_error)
    });
    let (bent, straight): (Vec<f64>, Vec<f64>) = errors.unzip();
    let count = models.routines.iter().flatten().count();
    print!("  {} of {count} models have a square or a bend", bent.len());
    match bent.is_empty() {
        true => println!(),
        false => println!(": mean held-out error {:.4}, without {:.4}", mean(&bent), mean(&straight)),
    }
    let mut worst: Vec<&Model> = models.routines.iter().flatten().collect();
    worst.sort_by(|a, b| b.held_out_error.total_cmp(&a.held_out_error));
    for model in &worst[..WORST.min(worst.len())] {
        println!(
            "  {}: held-out error {:.4}, at most {:.4}",
            model.routine, model.held_out_error, model.held_out_error_most
        );
    }
    models
}

/// Prints how accurate a group is; its pairs.
fn told(name: &str, compared: &[Compared]) -> Vec<(f64, f64)> {
    let pairs: Vec<(f64, f64)> = compared.iter().map(Compared::pair).collect();
    let accuracy = Accuracy::of(&pairs).expect("there are several");
    let outside = compared.iter().filter(|row| !row.outside.is_empty()).count();
    println!("  {name}: {} rows, {outside} outside of what was characterised, {accuracy:.4?}", pairs.len());
    let worst = compared.iter().max_by(|a, b| a.error().abs().total_cmp(&b.error().abs()));
    let worst = worst.expect("there are several");
    println!("    worst: {} at {} {}, {:+.4}", worst.subject, worst.size, worst.state.word(), worst.error());
    let of_stack = |row: &Compared| row.stack_off_bytes().expect("models say");
    println!(
        "    stack: at most {} bytes off",
        compared.iter().map(of_stack).max().expect("there are several")
    );
    pairs
}

/// Compares models with the simulator at these, each with a key of its own.
fn compared(bench: &Bench, models: &Models, subjects: Vec<Subject>, size: u32) -> Vec<Compared> {
    let asked: Vec<(Subject, u32)> = subjects.into_iter().map(|subject| (subject, size)).collect();
    validate::compare(bench, &Estimator::Native(models), SEED, &asked, || ()).expect("all are done")
}

/// Compares models with the simulator, and prints the goals.
fn accuracy(bench: &Bench, models: &Models, mean_wanted: f64) {
    let name = bench.profile().name();
    let subjects = ALL.subjects();
    let (mut all, mut tau, mut regret) = (Vec::new(), 1.0f64, 0.0f64);
    for size in STRATIFIED_SIZES {
        let begin = Instant::now();
        let of_all = validate::stratified(&subjects, STRATIFIED, SEED + u64::from(size));
        let compared = compared(bench, models, of_all, size);
        let pairs = told(&format!("all kinds at {size} bits, in {:.0?}", begin.elapsed()), &compared);
        tau = tau.min(Accuracy::of(&pairs).expect("there are several").tau);
        all.extend(pairs);
    }
    for size in SIZES {
        let material = Material::new(ALL, &[size], SEED).expect("the library makes keys");
        for state in [State::Cold, State::Warm] {
            let first = first_of(&subjects, (size, state), models, &material);
            let ranked = validate::compare_first(
                bench,
                &Estimator::Native(models),
                &material,
                (size, state),
                &first,
                || (),
            );
            let ranked = ranked.expect("all are done");
            all.extend(told(&format!("first at {size} bits, {}", state.word()), &ranked));
            let of_these = validate::regret(&ranked).expect("there are several");
            println!("    regret of the first: {of_these:.4}");
            regret = regret.max(of_these);
        }
    }
    let accuracy = Accuracy::of(&all).expect("there are many");
    goal(
        &format!("explore {name}, mean error, %"),
        100.0 * accuracy.error_mean,
        "simulator",
        false,
        mean_wanted,
    );
    goal(&format!("explore {name}, worst error, %"), 100.0 * accuracy.error_most, "simulator", false, 15.0);
    // Of the candidates of all kinds, and of those that are ranked first.
    goal(&format!("explore {name}, tau"), tau, "simulator", true, 0.95);
    goal(&format!("explore {name}, regret, %"), 100.0 * regret, "simulator", false, 1.0);
    others(bench, models, mean_wanted);
}

/// The same of ciphers, hashes and curves.
fn others(bench: &Bench, models: &Models, mean_wanted: f64) {
    let name = bench.profile().name();
    for (family, sizes) in OTHERS {
        let of = |&size: &u32| compared(bench, models, family.subjects(), size);
        let pairs = told(family.word(), &sizes.iter().flat_map(of).collect::<Vec<_>>());
        let Accuracy { error_mean, error_most, .. } = Accuracy::of(&pairs).expect("there are several");
        for (which, error, wanted) in [("mean", error_mean, mean_wanted), ("worst", error_most, 15.0)] {
            let what = format!("explore {name}, {}, {which} error, %", family.word());
            goal(&what, 100.0 * error, "simulator", false, wanted);
        }
    }
}

/// The first in a state: by formulas, four times as many as are wanted, and of these the first by native runs.
fn first_of(
    subjects: &[Subject],
    (size, state): (u32, State),
    models: &Models,
    material: &Material,
) -> Vec<Subject> {
    let mut analytic = Analytic::new(ALL, models, SEED).expect("it is exponentiation");
    let mut cycles = |subject: &Subject| {
        let rows = analytic.rows(subject, size).expect("there are models");
        rows.iter().find(|row| row.state == state).map(|row| row.cycles)
    };
    let mut rated: Vec<(f64, &Subject)> =
        subjects.iter().filter_map(|subject| Some((cycles(subject)?, subject))).collect();
    rated.sort_by(|a, b| a.0.total_cmp(&b.0));
    let likely: Vec<Subject> = rated.iter().take(4 * FIRST).map(|rated| rated.1.clone()).collect();
    validate::first(&likely, (size, state), FIRST, &Estimator::Native(models), material, || ())
        .expect("there are models")
}

/// The mean of logarithms, back.
fn geometric(ratios: &[f64]) -> f64 {
    (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp()
}

/// The least of some times.
fn timed<T>(turns: u32, mut work: impl FnMut() -> T) -> Duration {
    let once = |_| {
        let begin = Instant::now();
        std::hint::black_box(work());
        begin.elapsed()
    };
    (0..turns).map(once).min().expect("it is done once")
}

/// The simulator, native runs and formulas beside each other, for the same candidates in one run.
fn speed(bench: &Bench, models: &Models) {
    let size = 1024;
    let material = Material::new(ALL, &[size], SEED).expect("the library makes keys");
    let family = Family::Private(Space::PaperA);
    let (mut to_native, mut to_formulas, mut to_alone) = (Vec::new(), Vec::new(), Vec::new());
    let (mut mips, mut off) = (Vec::new(), Vec::new());
    // A share of all: the parts of candidates, and a key, are run natively first, once for those that have them alike.
    let by_formula = timed(TIMES, || by_formulas(family, size, models)) / family.subjects().len() as u32;
    for subject in validate::stratified(&family.subjects(), 24, SEED) {
        let request = material.request(&subject, size).expect("keys are there");
        let mut instructions = 0;
        let simulated = timed(TIMES, || instructions = bench.run_unwatched(&request).expect("it is done").0)
            .as_secs_f64();
        let natively = timed(TIMES, || natively(&request, &subject, size, models));
        // Nothing but the key is there before.
        let alone = timed(TIMES, || {
            let analytic = Analytic::new(ALL, models, SEED).expect("it is exponentiation");
            analytic.with(material.key(size)).rows(&subject, size).expect("there are models")
        });
        let mut analytic = Analytic::new(ALL, models, SEED).expect("it is exponentiation");
        let exact = analytic.rows(&subject, size).expect("there are models");
        let rows = self::natively(&request, &subject, size, models);
        off.extend(exact.iter().zip(&rows).map(|(a, b)| (a.cycles / b.cycles - 1.0).abs()));
        mips.push(instructions as f64 / simulated / 1e6);
        to_native.push(simulated / natively.as_secs_f64());
        to_formulas.push(simulated / by_formula.as_secs_f64());
        to_alone.push(simulated / alone.as_secs_f64());
    }
    println!(
        "  formulas beside native runs: mean {:.4}, most {:.4}",
        mean(&off),
        off.iter().fold(0.0, |a: f64, b| a.max(*b))
    );
    goal("explore, the simulator with time, MIPS", geometric(&mips), "-", true, 60.0);
    goal("explore, native estimate, times as fast", geometric(&to_native), "simulator", true, 100.0);
    goal("explore, formulas, times as fast", geometric(&to_formulas), "simulator", true, 1407.0);
    println!("  formulas for one candidate alone: {:.1} times as fast", geometric(&to_alone));
    let begin = Instant::now();
    rank_all(family, &[size], models);
    goal("explore, 450 candidates at 1024 bits, s", begin.elapsed().as_secs_f64(), "-", false, 5.0);
}

/// Estimates a subject by a native run.
fn natively(request: &Request, subject: &Subject, size: u32, models: &Models) -> Vec<Row> {
    let native = native::run(request).expect("it is done");
    estimate::rows(subject, size, &native, models).expect("there are models")
}

/// Native runs and formulas beside the cores' hardware, as Verilator simulates it, for short requests.
fn hardware(image: &Image, models: &Models) {
    let size = 512;
    let material = Material::new(ALL, &[size], SEED).expect("the library makes keys");
    let family = Family::Private(Space::PaperA);
    let by_formula =
        (timed(TIMES, || by_formulas(family, size, models)) / family.subjects().len() as u32).as_secs_f64();
    for core in [cores::Core::Pico, cores::Core::Vex5] {
        // It says itself what is missing.
        let Some(hardware) = cores::Bench::new(core, None) else { continue };
        let (mut to_native, mut to_formulas, mut rates) = (Vec::new(), Vec::new(), Vec::new());
        for name in ON_HARDWARE {
            let subject = ALL.subject(name).expect("it is one");
            let request = material.request(&subject, size).expect("keys are there");
            let (bytes, _) = measure::lay([request.bytes()]);
            let mut program = image.program.clone();
            program.place(REQUESTS, &bytes).expect("there is room");
            let mut cycles = 0;
            let run = || {
                let run = hardware.run(&program, Cycles::MAX >> 1);
                assert_eq!(run.end, cores::End::Exit(0), "{name}");
                cycles = run.cycle;
            };
            let simulated = timed(TIMES, run).as_secs_f64();
            let natively = timed(TIMES, || natively(&request, &subject, size, models)).as_secs_f64();
            rates.push(cycles as f64 / simulated / 1e6);
            to_native.push(simulated / natively);
            to_formulas.push(simulated / by_formula);
        }
        println!(
            "  {}'s hardware in Verilator, {:.2} million cycles a second: native estimates are {:.0} times as fast, \
             formulas {:.0} times",
            core.profile().name(),
            geometric(&rates),
            geometric(&to_native),
            geometric(&to_formulas)
        );
    }
}

/// Estimates all of a family by formulas, from nothing; how many rows.
fn by_formulas(family: Family, size: u32, models: &Models) -> usize {
    let mut analytic = Analytic::new(family, models, SEED).expect("it is exponentiation");
    let rows = |subject: &Subject| analytic.rows(subject, size).expect("there are models").len();
    family.subjects().iter().map(rows).sum()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Estimates a whole family natively, on all cores; how many rows.
fn rank_all(family: Family, sizes: &[u32], models: &Models) -> usize {
    let material = Material::new(family, sizes, SEED).expect("the library makes keys");
    let subjects = family.subjects();
    let asked: Vec<(&Subject, u32)> =
        sizes.iter().flat_map(|&size| subjects.iter().map(move |subject| (subject, size))).collect();
    let estimate = |(subject, size): &(&Subject, u32)| {
        let native = native::run(&material.request(subject, *size)?)?;
        estimate::rows(subject, *size, &native, models)
    };
    threads::each(&asked, estimate, |_, _| ()).expect("there are models").concat().len()
}

/// What of a ranking is the stack's place: the first, with the stack at places all over a way of the caches.
fn placement(models: &Models) {
    let asked = (512, State::Warm);
    let material = Material::new(ALL, &[asked.0], SEED).expect("the library makes keys");
    let first = first_of(&ALL.subjects(), asked, models, &material);
    let mut places: Vec<Vec<Turn>> = Vec::new();
    for stack_below in (0..WAY_BYTES).step_by((WAY_BYTES / PLACES) as usize) {
        let choice = Choice { stack_below, ..Choice::of(Leaves::Plain) };
        let Some(image) = compiled::image_of(&choice) else { return };
        let bench = Bench::new(&image, Profile::Vex5);
        let last = |subject: &Subject| {
            let measured = bench.measure(&[material.request(subject, asked.0)?])?;
            Ok::<_, explore::Error>(measured[0].last().clone())
        };
        places.push(threads::each(&first, last, |_, _| ()).expect("all are done"));
    }
    for (at, subject) in first.iter().enumerate().take(4) {
        let mut turns: Vec<&Turn> = places.iter().map(|turns| &turns[at]).collect();
        turns.sort_by_key(|turn| turn.cycles);
        let [least, median, most] = [0, turns.len() / 2, turns.len() - 1].map(|place| turns[place]);
        let mut more: Vec<(i64, &str)> = { ROUTINES.iter().zip(&least.local_cycles).zip(&most.local_cycles) }
            .map(|((routine, least), most)| (*most as i64 - *least as i64, routine.name.as_str()))
            .collect();
        more.sort_by(|a, b| b.cmp(a));
        println!(
            "  {subject}: {} cycles at the stack's best place, {} in the middle, {} at the worst, where {:?} are more",
            least.cycles,
            median.cycles,
            most.cycles,
            &more[..2]
        );
    }
    let cycles = |turns: &Vec<Turn>| turns.iter().map(|turn| turn.cycles as f64).collect::<Vec<f64>>();
    let of_each: Vec<f64> =
        places.iter().map(|turns| rank::regret(&cycles(turns)).expect("there are some")).collect();
    println!("  regret of the first at each of {PLACES} places of the stack: {of_each:.4?}");
    let means: Vec<f64> = (0..first.len())
        .map(|at| mean(&places.iter().map(|turns| turns[at].cycles as f64).collect::<Vec<_>>()))
        .collect();
    println!("  regret by means over these places: {:.4}", rank::regret(&means).expect("there are some"));
}

/// What the best takes without caches, warm, with leaves in C and in assembly.
fn tightly_coupled(ranked: &Models) {
    for (leaves, wanted) in [(Leaves::Plain, 11.0), (Leaves::Unrolled, 11.0), (Leaves::Assembly, 10.0)] {
        let Some(image) = compiled::image(leaves) else { return };
        let bench = Bench::new(&image, Profile::Vex5Tcm);
        let material = Material::new(ALL, &[1024], SEED).expect("the library makes keys");
        let keeping: Vec<Subject> = ALL.subjects().into_iter().filter(Subject::keeps).collect();
        let first = first_of(&keeping, (1024, State::Warm), ranked, &material);
        let cycles = first.iter().map(|subject| {
            let request = material.request(subject, 1024).expect("keys are there");
            (bench.measure(&[request]).expect("it is done")[0].last().cycles, subject.to_string())
        });
        let (cycles, name) = cycles.min().expect("there is one");
        println!("  RSA-1024 with leaves `{}`: {name}", leaves.word());
        let what = format!("explore vex5-tcm, RSA-1024 private, leaves {}, million cycles", leaves.word());
        goal(&what, cycles as f64 / 1e6, "-", false, wanted);
    }
    let Some(image) = compiled::image(Leaves::Plain) else { return };
    let bench = Bench::new(&image, Profile::Vex5Tcm);
    let material = Material::new(Family::Aes, &[1024], SEED).expect("it needs none");
    let mut least: Vec<(f64, String)> = Vec::new();
    for subject in Family::Aes.subjects() {
        let request = material.request(&subject, 1024).expect("operands are made").warm();
        let cycles = bench.measure(&[request]).expect("it is done")[0].last().cycles;
        least.push((cycles as f64 / 1024.0, subject.to_string()));
    }
    least.sort_by(|a, b| a.0.total_cmp(&b.0));
    println!("  AES-128, cycles an octet: {least:.1?}");
    goal("explore vex5-tcm, AES-128, cycles an octet", least[0].0, "best published", false, 57.0);
}

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let is_asked = |what: &str| asked.is_empty() || asked.iter().any(|word| word == what);
    let Some(image): Option<Image> = compiled::image_of(&Choice::of(Leaves::Plain)) else { return };
    if is_asked("pico") {
        let bench = Bench::new(&image, Profile::Pico);
        accuracy(&bench, &models(&bench), 2.0);
    }
    if !["vex5", "placement", "speed", "hardware", "tcm", "space"].into_iter().any(is_asked) {
        return;
    }
    let bench = Bench::new(&image, Profile::Vex5);
    if is_asked("vex5") {
        accuracy(&bench, &models(&bench), 5.0);
    }
    // How long it takes does not depend on which models of a library they are.
    let models = stored::read(KEPT).unwrap_or_else(|error| panic!("models/vex5.ndjson: {error}"));
    if is_asked("placement") {
        placement(&models);
    }
    if is_asked("speed") {
        speed(&bench, &models);
    }
    if is_asked("hardware") {
        hardware(&image, &models);
    }
    if is_asked("tcm") {
        tightly_coupled(&models);
    }
    if is_asked("space") {
        let begin = Instant::now();
        let rows = rank_all(ALL, &SIZES, &models);
        println!("  {rows} rows");
        goal(
            "explore, all candidates at four sizes, min",
            begin.elapsed().as_secs_f64() / 60.0,
            "-",
            false,
            20.0,
        );
    }
}
