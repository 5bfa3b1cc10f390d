//! How small programs become and how long that takes: `cargo bench -p pack --bench packing`.
//!
//! Owns: the ratios of the corpus by switch. Cycles are measured where images run.

use std::time::Instant;

use pack::flow::Choice;
use pack::packing::{Assignment, Report};
use pack::{Program, Settings, pack};

const PROGRAMS: [&str; 9] =
    ["cjpeg", "djpeg", "dijkstra", "pegwit", "search", "susan", "bzip2", "minigzip", "lua"];

fn program(name: &str) -> Program {
    let path = format!("{}/../../corpus/sparc/{name}.elf", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("`{path}`: {error}"));
    Program::parse(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"))
}

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
    for (name, settings) in rows {
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
    for name in PROGRAMS {
        let program = program(name);
        let begin = Instant::now();
        let packed =
            pack(&program, &[], &Settings::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let Report { plain_words, formats, alone, .. } = packed.report;
        let (time_s, plain_bytes) = (begin.elapsed().as_secs_f64(), plain_words * 4);
        println!("{name}: {plain_bytes} bytes in {time_s:.3} s; packets {formats:?}; words {alone:?}");
    }
}
