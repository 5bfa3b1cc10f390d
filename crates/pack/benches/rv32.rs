//! Table 1 for RV32IM: what packing leaves of programs' size, of the cipher's work and of their cycles:
//! `cargo bench -p pack --bench rv32`.
//!
//! Owns: the paper's point, measured on the programs of corpus/rv32: 1 KiB direct-mapped, lines of 16 bytes, 80 cycles
//! for memory and 40 for the cipher, with the cycles of Ibex. Profiles are of three inputs, runs of two others. Each
//! row is a mean over those two, and each table's last row one over the paper's six programs. Output that differs from
//! a native build's ends it.

#[path = "../tests/corpus/mod.rs"]
mod corpus;

use std::collections::BTreeMap;
use std::time::Instant;

use corpus::Run;
use isa::Cycles;
use isa::rv32::user;
use pack::chain::run::{self, End};
use pack::chain::{Protection, Settings, Work};
use pack::code::dict::Choice;
use pack::place::Order;
use pack::{Image, Profile, Program};

const SIX: [&str; 6] = ["cjpeg", "djpeg", "dijkstra", "pegwit", "search", "susan"];
const PROFILED: usize = 3;

/// Cycles and blocks of a run.
#[derive(Clone, Copy)]
struct Took {
    cycles: f64,
    blocks: f64,
}

fn took(run: &Run, image: &Image, protection: &Protection) -> Took {
    let (told, files) = run.prepare();
    let told: Vec<&str> = told.iter().map(String::as_str).collect();
    let (settings, user) = (Settings::default(), user::Settings::default());
    let started = run::rv32::under_linux(image, protection, &settings, &told, files, user);
    let outcome = run::rv32::finish(&mut started.expect("it fits"), Cycles::MAX, &mut ());
    assert_eq!(outcome.end, End::Exit(0), "{} {}", run.program, run.name);
    assert!(run.is_expected(&outcome.output), "{} {}", run.program, run.name);
    let blocks = outcome.counts.transfers.blocks.aes_blocks;
    Took { cycles: outcome.cycles as f64, blocks: blocks as f64 }
}

/// A program with what is measured of it unpacked: a pair for each run, without and with the cipher.
struct Measured {
    program: Program,
    profiles: Vec<Profile>,
    runs: Vec<(Run, Took, Took)>,
}

fn measured(runs: &[Run]) -> Measured {
    let program = Program::parse(&runs[0].elf("rv32")).expect("it is a program");
    let unpacked = run::unpacked(&runs[0].image_rv32());
    let ciphered = Protection::cost_of_code(&unpacked, Work::Block);
    let unpacked_runs = runs[PROFILED..].iter().map(|run| {
        let plain = took(run, &unpacked, &Protection::default());
        (run.clone(), plain, took(run, &unpacked, &ciphered))
    });
    Measured {
        program,
        profiles: runs[..PROFILED].iter().map(Run::profile_rv32).collect(),
        runs: unpacked_runs.collect(),
    }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}

/// Ratio, blocks left, cycles with both against plain and against the cipher alone, each in percent.
fn row(measured: &Measured, settings: &pack::Settings) -> [f64; 4] {
    let packed = pack::pack(&measured.program, &measured.profiles, settings).expect("it can be packed");
    let protection = Protection::cost_of_code(&packed.image, Work::Block);
    let runs: Vec<(Took, Took, Took)> = measured
        .runs
        .iter()
        .map(|(run, plain, ciphered)| (*plain, *ciphered, took(run, &packed.image, &protection)))
        .collect();
    [
        100.0 * packed.report.ratio(),
        100.0 * mean(runs.iter().map(|(_, ciphered, both)| both.blocks / ciphered.blocks)),
        100.0 * mean(runs.iter().map(|(plain, _, both)| both.cycles / plain.cycles)),
        100.0 * mean(runs.iter().map(|(_, ciphered, both)| both.cycles / ciphered.cycles)),
    ]
}

fn main() {
    let mut by_program: BTreeMap<String, Vec<Run>> = BTreeMap::new();
    for run in corpus::runs("Table 1 of RV32") {
        by_program.entry(run.program.clone()).or_default().push(run);
    }
    let measured: BTreeMap<String, Measured> =
        by_program.iter().map(|(name, runs)| (name.clone(), measured(runs))).collect();
    if measured.is_empty() {
        return;
    }
    let base = pack::Settings::default();
    let with = |dictionary, order| pack::Settings { dictionary, order, ..base.clone() };
    let blend = Choice::Blend { dynamic_percent: 50 };
    let tables = [
        ("static dictionary, order of the program", with(Choice::Static, Order::Given)),
        ("blended dictionary, order of the program", with(blend, Order::Given)),
        ("dynamic dictionary, order of the program", with(Choice::Dynamic, Order::Given)),
        ("blended dictionary, hot functions first", with(blend, Order::Hot)),
        ("dynamic dictionary, hot functions first", with(Choice::Dynamic, Order::Hot)),
    ];
    for (name, settings) in tables {
        let begin = Instant::now();
        println!("{name}");
        println!("{:14}{:>9}{:>12}{:>14}{:>14}", "", "ratio", "AES left", "both : plain", "both : AES");
        let rows: BTreeMap<&str, [f64; 4]> =
            measured.iter().map(|(name, measured)| (name.as_str(), row(measured, &settings))).collect();
        let print = |name: &str, row: [f64; 4]| {
            println!("{name:14}{:9.2}{:12.2}{:14.2}{:14.2}", row[0], row[1], row[2], row[3]);
        };
        rows.iter().for_each(|(name, row)| print(name, *row));
        let six: [f64; 4] = std::array::from_fn(|column| mean(SIX.iter().map(|name| rows[name][column])));
        print("six", six);
        println!("{:.1} s", begin.elapsed().as_secs_f64());
    }
    // Every row compared its output with a native build's.
    println!("goal\tRV32IM, programs that run packed behind the cipher\t{}\t-\t-\t>= 5", measured.len());
}
