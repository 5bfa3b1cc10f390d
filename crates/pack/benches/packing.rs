//! How small programs become and how long that takes: `cargo bench -p pack --bench packing`; arguments are rows.
//!
//! Owns: the ratios of the corpus by switch, and the time of both packers: `packing::pack`, which packs for size or a
//! profile and is what has to be done in 2 s, and `tune::pack`, which tries many ways for a cache and takes its time.
//! Cycles are measured where images run.

#[path = "../tests/corpus/mod.rs"]
mod corpus;

use std::time::Instant;

use corpus::{PROGRAMS, program};
use pack::chain;
use pack::flow::Choice;
use pack::packing::{Assignment, Report};
use pack::place::Order;
use pack::profile::Training;
use pack::sweep::{self, Ran, as_it_is};
use pack::tune::{self, Effort, Goal};
use pack::{Settings, pack};

/// What has to be packed in 2 s.
const GOAL_BYTES: u32 = 300_000;
/// The inputs that are packed for.
const TRAINING: usize = 3;

fn main() {
    let base = Settings {
        assignment: Assignment::Greedy,
        canonical: false,
        far_branches: false,
        ..Settings::default()
    };
    let link_slots = Choice { link_slots: true, ..Choice::default() };
    let rows: Vec<(&str, Settings)> = vec![
        ("greedy 64", Settings { entries: 64, ..base.clone() }),
        ("greedy 256", base.clone()),
        ("optimal 256", Settings { assignment: Assignment::Optimal, ..base.clone() }),
        ("canonical", Settings { assignment: Assignment::Optimal, canonical: true, ..base.clone() }),
        ("scheduled", Settings { assignment: Assignment::Scheduled, ..base.clone() }),
        ("far branches", Settings { assignment: Assignment::Optimal, far_branches: true, ..base.clone() }),
        ("all but far", Settings { far_branches: false, ..Settings::default() }),
        ("all 64", Settings { entries: 64, ..Settings::default() }),
        ("all 128", Settings { entries: 128, ..Settings::default() }),
        ("all 256", Settings::default()),
        ("link slots", Settings { choice: link_slots, ..Settings::default() }),
    ];
    print!("{:14}", "");
    PROGRAMS.iter().for_each(|name| print!("{name:>9}"));
    println!("{:>9}", "six");
    let asked: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    for (name, settings) in
        rows.into_iter().filter(|row| asked.is_empty() || asked.iter().any(|a| a == row.0))
    {
        print!("{name:14}");
        let mut sum = 0.0;
        let begin = Instant::now();
        for (index, name) in PROGRAMS.iter().enumerate() {
            let packed =
                pack(&program(name), &[], &settings).unwrap_or_else(|error| panic!("{name}: {error}"));
            print!("{:9.2}", 100.0 * packed.report.ratio());
            sum += if index < 6 { 100.0 * packed.report.ratio() } else { 0.0 };
        }
        println!("{:9.2}   {:.2} s", sum / 6.0, begin.elapsed().as_secs_f64());
    }
    println!();
    let mut slowest_s: f64 = 0.0;
    for name in PROGRAMS {
        let program = program(name);
        let begin = Instant::now();
        let packed =
            pack(&program, &[], &Settings::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let Report { plain_words, formats, alone, .. } = packed.report;
        let (time_s, plain_bytes) = (begin.elapsed().as_secs_f64(), plain_words * 4);
        println!("{name}: {plain_bytes} bytes in {time_s:.3} s; packets {formats:?}; words {alone:?}");
        slowest_s =
            f64::max(slowest_s, time_s * f64::from(GOAL_BYTES) / f64::from(plain_bytes.max(GOAL_BYTES)));
    }
    println!("goal\t`packing::pack` of {} KB, s\t{slowest_s:.2}\t-\t-\t<= 2", GOAL_BYTES / 1000);
    tuned("lua");
}

/// How long packing a program for the paper's cache takes, its runs not counted.
fn tuned(name: &str) {
    let runs = corpus::runs("packing for a cache").into_iter().filter(|run| run.program == name);
    let (program, chain) = (program(name), chain::Settings::default());
    let learn = |run: corpus::Run| {
        let user = corpus::with_handlers(&run.image());
        let ran = Ran::of(&as_it_is(&program), &run.input(), &chain, &user);
        Training::of(ran.expect("it runs").stream)
    };
    let training: Vec<Training> = runs.take(TRAINING).map(learn).collect();
    if training.is_empty() {
        return;
    }
    for (what, order) in [("the order that is given", Order::Given), ("its own order", Order::Hot)] {
        let settings = Settings { order, ..sweep::Settings::default().packing };
        let begin = Instant::now();
        let packed = tune::pack(&program, &training, &settings, &Goal::of_cache(1024), &Effort::default());
        let report = packed.unwrap_or_else(|error| panic!("{name}: {error}")).report;
        let (time_s, plain_bytes) = (begin.elapsed().as_secs_f64(), report.plain_words * 4);
        println!("`tune::pack` of {name} for 1 KiB in {what}: {plain_bytes} bytes in {time_s:.1} s");
    }
}
