//! The programs of corpus/, each with its first input, as something to measure: the best of several runs, since noise
//! only ever slows down.

use std::path::{Path, PathBuf};
use std::time::Duration;

use isa::linux::files::Files;

/// How often everything is run.
pub const RUNS: usize = 5;
const PROGRAMS: [&str; 9] =
    ["cjpeg", "djpeg", "dijkstra", "search", "susan", "pegwit", "bzip2", "minigzip", "lua"];

/// A run of a program.
pub struct Measured {
    pub instructions: u64,
    pub cycles: u64,
    pub wall: Duration,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A program's first run in data/workload/runs.txt: what it is told, and its files.
fn first_run(program: &str) -> Option<(Vec<String>, Files)> {
    let folder = root().join("data/workload");
    let runs = std::fs::read_to_string(folder.join("runs.txt")).ok()?;
    let line = runs.lines().find(|line| line.split(' ').next() == Some(program))?;
    let mut files = Files::default();
    let mut arguments = vec![format!("{program}.elf")];
    let mut words = line.split(' ').skip(2);
    while let Some(word) = words.next() {
        if word == "<" {
            files.input = std::fs::read(folder.join(words.next()?)).ok()?;
            continue;
        }
        if let Ok(bytes) = std::fs::read(folder.join(word)) {
            files.named.insert(word.to_owned(), bytes);
        }
        arguments.push(word.to_owned());
    }
    Some((arguments, files))
}

fn measure(target: &str, program: &str, run: &impl Fn(&[u8], &[&str], Files) -> Measured) -> Option<f64> {
    let elf = std::fs::read(root().join(format!("corpus/{target}/{program}.elf"))).ok()?;
    let (arguments, files) = first_run(program)?;
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let all = (0..RUNS).map(|_| run(&elf, &arguments, files.clone()));
    let Measured { instructions, cycles, wall } = all.min_by_key(|one| one.wall)?;
    let rate = instructions as f64 / wall.as_secs_f64();
    println!("{program}: {instructions} instructions, {cycles} cycles, {:.0} M instructions/s", rate / 1e6);
    Some(rate)
}

/// Prints how fast each program of corpus/`target` runs, and whether the slowest reaches so many million instructions
/// per second. `run` takes an image, arguments and files.
pub fn measure_all(target: &str, what: &str, goal: f64, run: impl Fn(&[u8], &[&str], Files) -> Measured) {
    let rates: Vec<f64> = PROGRAMS.iter().filter_map(|program| measure(target, program, &run)).collect();
    if rates.len() < PROGRAMS.len() {
        eprintln!("skip: bench of {what}: corpus/{target} has {} of {}", rates.len(), PROGRAMS.len());
        return;
    }
    let slowest = rates.iter().copied().fold(f64::MAX, f64::min) / 1e6;
    println!("goal\t{what}, slowest program, M instructions/s\t{slowest:.1}\t-\t-\t>= {goal}");
}
