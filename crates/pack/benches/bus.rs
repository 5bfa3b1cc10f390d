//! The paper's table and figure, and what it leaves out: programs packed and sealed behind many caches, in many orders
//! of their functions. `cargo bench -p pack --bench bus` prints a table for each program of corpus/sparc and the goals;
//! arguments are programs; `--seeds N` takes fewer orders, `--seeds A-B` other ones; `--cause` says of the worst order
//! which functions take each other's places; `--bounds` what a cache without conflicts would leave in the packer's own
//! order; `--room` what the room that packed functions get before them would gain for unpacked ones; `--ends` what the goals
//! are where every cost of LEON2 that may be otherwise is at its least, and at its most. Cycles are counted, not timed:
//! they are the same everywhere.

#[path = "../tests/corpus/mod.rs"]
mod corpus;

use isa::sparc::Timing;
use pack::SweepError;
use pack::place::Order;
use pack::sweep::{
    self, Geometry, Images, Means, Measured, Penalty, Settings, Spread, Subject, Sweep, WANTED, WORST_MAX,
    Worst, why,
};

/// The inputs that are packed for; the others are measured.
const TRAINING: usize = 3;
/// The programs that the paper has.
const SIX: usize = 6;
/// The cycles of LEON2, and what else some may be, which begins a comment: `1 to 2`.
const LEON2: &str = include_str!("../../isa/src/sparc/leon2.csv");
/// How many pairs of functions are told.
const CONFLICTS: usize = 8;

fn subject(name: &str) -> Subject {
    let runs: Vec<corpus::Run> =
        corpus::runs("the bus").into_iter().filter(|run| run.program == name).collect();
    let image = runs[0].image();
    let (training, measured) = runs.split_at(TRAINING);
    let inputs = |runs: &[corpus::Run]| runs.iter().map(corpus::Run::input).collect();
    Subject {
        name: name.to_owned(),
        program: corpus::program(name),
        user: corpus::with_handlers(&image),
        training: inputs(training),
        measured: inputs(measured),
    }
}

fn print(measured: &Measured) {
    println!(
        "{}: ratio {:.3} (static {:.3}), placed {:.3}; sized {} B; inputs {}",
        measured.program,
        measured.ratio(),
        measured.ratio_static,
        measured.placed.report.ratio(),
        measured.sized(0.05).bytes,
        measured.inputs.join(" "),
    );
    let base = |order: &sweep::Ordered| {
        let sum = |runs: &[sweep::Behind]| runs.iter().map(|run| run.cycles).sum::<u64>() as f64;
        sum(&order.packed) / sum(&order.plain)
    };
    let cycles = Spread::of(measured.orders.iter().map(base)).expect("there is an order");
    println!("  cycles but for misses, packed to plain: {:.4} to {:.4}", cycles.least, cycles.most);
    println!("  {:>12}    hits    aes packed (least  most) to aes (least  most)  lines  words", "cache");
    for cache in 0..measured.caches.len() {
        let cell = measured.cell(cache, Penalty::default());
        let Geometry { bytes, ways } = cell.cache;
        print!("  {bytes:5} x {ways:4} {:7.4} {:6.3}", cell.hits, cell.aes.mean);
        for Spread { mean, least, most } in [cell.packed, cell.packed_to_aes] {
            print!(" {mean:6.3} ({least:.3} {most:.3})");
        }
        print!("  {:.3}  {:.3} | own placement: plain", cell.lines_left.mean, cell.accesses.mean);
        println!(
            " {:.3} aes {:.3} packed {:.3} lines {:.3}",
            cell.placed_plain, cell.placed_aes, cell.placed, cell.placed_lines_left
        );
    }
}

fn goals(all: &[Measured]) {
    let all: Vec<&Measured> = all.iter().collect();
    let means = Means::of(&all[..all.len().min(SIX)], Geometry::direct(1024), Penalty::default());
    for (what, value) in [
        ("AES alone", means.aes),
        ("plain, own order", means.placed_plain),
        ("AES alone, own order", means.placed_aes),
        ("ratio, own order", means.placed_ratio),
    ] {
        println!("{what}: {value:.3}");
    }
    for wanted in &WANTED {
        let (value, at_most) = (wanted.value(&means), wanted.at_most);
        println!("goal\tpack, 1 KiB: {}\t{value:.3}\t-\t-\t<= {at_most}", wanted.metric);
    }
    for (what, wanted, worst) in [
        ("worst mean of a cell", WORST_MAX[0], Worst::mean(&all, Penalty::default())),
        ("worst order of a cell", WORST_MAX[1], Worst::order(&all, Penalty::default())),
    ] {
        let Worst { share, program, cache: Geometry { bytes, ways }, .. } = worst.expect("there is a cell");
        println!(
            "goal\tpack, {what}, packed to AES alone ({program}, {bytes} B in {ways})\t{share:.4}\tpaper\tnever degraded\t<= {wanted:.2}"
        );
    }
}

/// Says of the worst order which functions take each other's places.
fn cause(all: &[Measured], settings: &Settings) {
    let all: Vec<&Measured> = all.iter().collect();
    let worst = Worst::order(&all, Penalty::default()).expect("there is a cell");
    let Geometry { bytes, ways } = worst.cache;
    let seed = worst.seed.expect("it was drawn");
    let cause = in_order(worst.program, settings, Order::Seeded(seed), |sweep, images| {
        why::cause(sweep, images, worst.cache)
    });
    println!("{}, {bytes} B in {ways}, order {seed}, packed to aes:", worst.program);
    for why::Share { input, is_measured, share, plain_misses, packed_misses } in &cause.shares {
        let role = if *is_measured { "measured" } else { "learnt" };
        println!("  {input:10} {role:8} {share:.4}  misses {packed_misses} to {plain_misses}");
    }
    println!("  on {}, lines of the first that were given up for one of the second:", cause.input);
    for why::Conflict { first, second, packed, plain } in cause.conflicts.iter().take(CONFLICTS) {
        println!("    {first:24} {second:24} {packed:8} packed {plain:8} unpacked");
    }
}

/// What is found of a program's images in one order.
fn in_order<T>(
    name: &str,
    settings: &Settings,
    order: Order,
    find: impl FnOnce(&Sweep<'_>, &Images) -> Result<T, SweepError>,
) -> T {
    let subject = subject(name);
    let found = Sweep::new(&subject, settings, std::slice::from_ref(&subject.user), &mut |_| {})
        .and_then(|sweep| find(&sweep, &sweep.images(order)?));
    found.unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Says what a cache without conflicts would leave.
fn bounds(names: &[&str], settings: &Settings) {
    let mut found = Vec::new();
    for name in names {
        let bounds = in_order(name, settings, Order::Hot, |sweep, images| why::bounds(sweep, images, 1024));
        println!("{name}, own order, 1024 B: {}", words(bounds));
        found.push(bounds);
    }
    found.truncate(SIX);
    let mean = |of: fn(&why::Bounds) -> f64| Spread::of(found.iter().map(of)).expect("there is one").mean;
    let means = why::Bounds {
        direct: mean(|bounds| bounds.direct),
        full: mean(|bounds| bounds.full),
        least: mean(|bounds| bounds.least),
        none: mean(|bounds| bounds.none),
        plain_missing: mean(|bounds| bounds.plain_missing),
    };
    println!("mean of six: {}", words(means));
}

fn words(why::Bounds { direct, full, least, none, plain_missing }: why::Bounds) -> String {
    format!(
        "direct-mapped {direct:.3}, any place {full:.3}, best kept {least:.3}, no miss {none:.3}; plain, misses' share \
         {plain_missing:.3}"
    )
}

/// Says what room before functions gains where nothing is packed, in the orders that are drawn.
fn room(names: &[&str], settings: &Settings) {
    let cache = Geometry::direct(1024);
    let place = settings.caches.iter().position(|&other| other == cache).expect("it is one of them");
    let penalty = Penalty::default();
    let mut found: Vec<[f64; 2]> = Vec::new();
    for name in names {
        let subject = subject(name);
        let sweep = Sweep::new(&subject, settings, std::slice::from_ref(&subject.user), &mut |_| {});
        let sweep = sweep.unwrap_or_else(|error| panic!("{name}: {error}"));
        let orders = settings.seeds.iter().map(|&seed| {
            let [plain, spaced] = sweep.with_room(seed).unwrap_or_else(|error| panic!("{name}: {error}"));
            [penalty.memory_cycles, penalty.sealed_cycles()].map(|miss_cycles| {
                let share = |(spaced, plain): (&sweep::Behind, &sweep::Behind)| {
                    spaced.total_cycles(place, miss_cycles) as f64
                        / plain.total_cycles(place, miss_cycles) as f64
                };
                Spread::of(spaced.iter().zip(&plain).map(share)).expect("there is an input").mean
            })
        });
        let of_program = means(&orders.collect::<Vec<_>>());
        println!("{name}, 1024 B, with room: {}", shares(of_program));
        found.push(of_program);
    }
    found.truncate(SIX);
    println!("mean of six: {}", shares(means(&found)));
}

fn means(values: &[[f64; 2]]) -> [f64; 2] {
    [0, 1].map(|at| Spread::of(values.iter().map(|value| value[at])).expect("there is one").mean)
}

fn shares([plain, aes]: [f64; 2]) -> String {
    format!("plain to plain {plain:.3}, AES alone to AES alone {aes:.3}")
}

/// LEON2 with all that may be otherwise at its least, and at its most, and what that is.
fn ends() -> [(String, Timing); 2] {
    [("least", 0), ("most", 1)].map(|(end, which)| {
        let mut changed: Vec<(&str, u8)> = Vec::new();
        let mut line = |line: &'static str| {
            let cells: Vec<&str> = line.splitn(4, ',').collect();
            let range = cells[3].split_once(':').and_then(|(range, _)| range.split_once(" to "));
            let cycles = range.map(|(least, most)| [least, most][which]);
            changed.extend(cycles.map(|cycles| (cells[0], cycles.parse().expect("it is a number"))));
            // A file of costs has none that takes no time, which a core may have.
            let cycles = cycles.filter(|cycles| *cycles != "0").unwrap_or(cells[1]);
            format!("{},{cycles},{},{}\n", cells[0], cells[2], cells[3])
        };
        let text: String = LEON2.lines().map(&mut line).collect();
        let mut timing = Timing::parse(&text).expect("it is a file of them");
        for &(name, cycles) in &changed {
            match name {
                "annulled" => timing.annulled_cycles = cycles,
                "load_use" => timing.load_use_cycles = cycles,
                "icc_branch" => timing.icc_branch_cycles = cycles,
                class => assert_ne!(cycles, 0, "{class}"),
            }
        }
        assert!(timing != Timing::leon2(), "no cost of LEON2 may be otherwise");
        let words: Vec<String> = changed.iter().map(|(name, cycles)| format!("{name} {cycles}")).collect();
        (format!("LEON2 at its {end}: {}", words.join(", ")), timing)
    })
}

/// What is asked for.
#[derive(Default)]
struct Asked {
    settings: Settings,
    names: Vec<String>,
    cause: bool,
    bounds: bool,
    room: bool,
    ends: bool,
}

impl Asked {
    fn of(mut arguments: impl Iterator<Item = String>) -> Asked {
        let mut asked = Asked::default();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--seeds" => {
                    let seeds = arguments.next().expect("--seeds N or A-B");
                    let (first, last) = seeds.split_once('-').unwrap_or(("1", &seeds));
                    let number = |text: &str| text.parse::<u64>().expect("a seed is a number");
                    asked.settings.seeds = (number(first)..=number(last)).collect();
                }
                "--cause" => asked.cause = true,
                "--bounds" => asked.bounds = true,
                "--room" => asked.room = true,
                "--ends" => asked.ends = true,
                _ => asked.names.push(argument),
            }
        }
        asked
    }
}

/// Measures programs on a core, and prints each.
fn sweeps(names: &[&str], settings: &Settings, timing: &Timing) -> Vec<Measured> {
    let sweep = |name: &&str| {
        let begin = std::time::Instant::now();
        let mut subject = subject(name);
        subject.user.machine.timing = timing.clone();
        let measured = sweep::sweep(&subject, settings, &mut |_| {});
        let measured = measured.unwrap_or_else(|error| panic!("{name}: {error}"));
        eprintln!("{name}: {:.1} s", begin.elapsed().as_secs_f64());
        print(&measured);
        measured
    };
    names.iter().map(sweep).collect()
}

fn main() {
    let asked = Asked::of(std::env::args().skip(1).filter(|argument| argument != "--bench"));
    if corpus::runs("the bus").is_empty() {
        return;
    }
    let chosen: Vec<&str> = corpus::PROGRAMS
        .into_iter()
        .filter(|name| asked.names.is_empty() || asked.names.iter().any(|other| other == name))
        .collect();
    if asked.bounds {
        bounds(&chosen, &asked.settings);
        return;
    }
    if asked.room {
        room(&chosen, &asked.settings);
        return;
    }
    if asked.ends {
        for (what, timing) in ends() {
            println!("{what}");
            goals(&sweeps(&chosen, &asked.settings, &timing));
        }
        return;
    }
    let all = sweeps(&chosen, &asked.settings, &Timing::leon2());
    goals(&all);
    if asked.cause {
        cause(&all, &asked.settings);
    }
}
