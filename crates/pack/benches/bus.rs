//! The paper's table and figure, and what it leaves out: programs packed and sealed behind many caches, in many orders
//! of their functions. `cargo bench -p pack --bench bus` prints a table for each program of corpus/sparc and the goals;
//! arguments are programs; `--seeds N` takes fewer orders, `--seeds A-B` other ones; `--cause` says of the worst order
//! which functions take each other's places; `--bounds` what a cache without conflicts would leave in the packer's own
//! order. Cycles are counted, not timed: they are the same everywhere.

#[path = "../tests/corpus/mod.rs"]
mod corpus;
#[path = "bus/why.rs"]
mod why;

use pack::sweep::{self, Geometry, Measured, Penalty, Settings, Spread, Subject};

/// The inputs that are packed for; the others are measured.
const TRAINING: usize = 3;
/// The programs that the paper has.
const SIX: usize = 6;

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

/// The value at one cache, mean over the first six programs that were measured.
fn mean(all: &[Measured], value: impl Fn(&Measured) -> f64) -> f64 {
    Spread::of(all.iter().take(SIX).map(value)).expect("a program was measured").mean
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
    let paper = Geometry::direct(1024);
    let at = all[0].caches.iter().position(|&cache| cache == paper).expect("it is swept");
    let cell = |measured: &Measured| measured.cell(at, Penalty::default());
    let rows = [
        ("AES alone, same order", mean(all, |m| cell(m).aes.mean), "1.39", ""),
        ("packed and AES, same order", mean(all, |m| cell(m).packed.mean), "0.80", "<= 0.90"),
        ("AES unit cycles left", mean(all, |m| cell(m).lines_left.mean), "0.509", "<= 0.509"),
        ("ratio of that image", mean(all, Measured::ratio), "0.91", "<= 0.91"),
        ("plain, own placement", mean(all, |m| cell(m).placed_plain), "-", ""),
        ("AES alone, own placement", mean(all, |m| cell(m).placed_aes), "-", ""),
        ("packed and AES, own placement", mean(all, |m| cell(m).placed), "0.80", "<= 0.80"),
        ("AES unit cycles left, own placement", mean(all, |m| cell(m).placed_lines_left), "0.509", "<= 0.45"),
        ("ratio, own placement", mean(all, |m| m.placed.report.ratio()), "0.91", ""),
        ("ratio, static dictionary", mean(all, |m| m.ratio_static), "0.86", "<= 0.86"),
    ];
    for (what, value, paper, wanted) in rows {
        if wanted.is_empty() {
            println!("{what}: {value:.3} (paper {paper})");
        } else {
            println!("goal\tpack, 1 KiB: {what}\t{value:.3}\tpaper\t{paper}\t{wanted}");
        }
    }
    let cells = all.iter().flat_map(|measured| {
        let cells = (0..measured.caches.len()).map(|cache| measured.cell(cache, Penalty::default()));
        cells.map(|cell| (measured.program.clone(), cell))
    });
    let cells: Vec<_> = cells.collect();
    let worst = |value: fn(&sweep::Cell) -> f64| {
        cells.iter().max_by(|a, b| value(&a.1).total_cmp(&value(&b.1))).expect("there is a cell")
    };
    for (what, wanted, value) in [
        (
            "worst mean of a cell, packed to AES alone",
            "<= 1.00",
            (|c| c.packed_to_aes.mean) as fn(&sweep::Cell) -> f64,
        ),
        ("worst order of a cell, packed to AES alone", "<= 1.02", |c| c.packed_to_aes.most),
    ] {
        let (program, cell) = worst(value);
        let Geometry { bytes, ways } = cell.cache;
        println!(
            "goal\tpack, {what} ({program}, {bytes} B in {ways})\t{:.4}\tpaper\tnever degraded\t{wanted}",
            value(cell)
        );
    }
}

/// The order that is worst beside AES alone, of all programs and caches: how much it takes, in parts of that; program,
/// seed and cache.
fn worst(all: &[Measured]) -> (f64, &str, u64, Geometry) {
    let mut worst = (0.0, "", 0, Geometry::direct(1024));
    for measured in all {
        for order in &measured.orders {
            for (cache, &geometry) in measured.caches.iter().enumerate() {
                let sealed_cycles = Penalty::default().sealed_cycles();
                let cycles = |run: &sweep::Behind| run.total_cycles(cache, sealed_cycles) as f64;
                let shares = order.packed.iter().zip(&order.plain).map(|(a, b)| cycles(a) / cycles(b));
                let share = Spread::of(shares).expect("there is an input").mean;
                if share > worst.0 {
                    worst = (share, &measured.program, order.seed.expect("it was drawn"), geometry);
                }
            }
        }
    }
    worst
}

/// What is asked for.
#[derive(Default)]
struct Asked {
    settings: Settings,
    names: Vec<String>,
    cause: bool,
    bounds: bool,
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
                _ => asked.names.push(argument),
            }
        }
        asked
    }
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
        let found: Vec<[f64; 3]> =
            chosen.iter().map(|name| why::bounds(&subject(name), &asked.settings, 1024)).collect();
        let mean = |which: usize| {
            found.iter().take(SIX).map(|row| row[which]).sum::<f64>() / found.len().min(SIX) as f64
        };
        println!(
            "mean of six: direct-mapped {:.3}, any place {:.3}, best kept {:.3}",
            mean(0),
            mean(1),
            mean(2)
        );
        return;
    }
    let mut all = Vec::new();
    for name in chosen {
        let begin = std::time::Instant::now();
        let measured = sweep::sweep(&subject(name), &asked.settings, &mut |_| {});
        let measured = measured.unwrap_or_else(|error| panic!("{name}: {error}"));
        eprintln!("{name}: {:.1} s", begin.elapsed().as_secs_f64());
        print(&measured);
        all.push(measured);
    }
    goals(&all);
    if asked.cause {
        let (_, program, seed, cache) = worst(&all);
        why::cause(&subject(program), &asked.settings, seed, cache);
    }
}
