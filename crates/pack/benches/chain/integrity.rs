//! What integrity takes of packed and sealed programs: memory for tags, and cycles, beside the same images without.
//!
//! Owns: the paper's six, packed for three inputs and run on another one, behind the paper's cache and cipher with the
//! cycles of LEON2 and window handlers of their own; tags of 8 bytes over each number of lines; and each way to check.
//! Cycles are counted, not timed.

use isa::Cycles;
use pack::chain::{Protection, Settings, Shape, integrity, run};
use pack::code::dict;
use pack::integrity::Integrity;
use pack::packing::Packed;
use pack::place::Order;
use pack::{Image, Profile};

use super::corpus::{self, Run};
use super::sealed_under;

const SIX: [&str; 6] = ["cjpeg", "djpeg", "dijkstra", "pegwit", "search", "susan"];
/// The inputs that are packed for.
const TRAINING: usize = 3;
const LINES: [u8; 3] = [1, 4, 8];
/// What keeps tags, in bytes.
const MAC_CACHE_BYTES: u32 = 256;
/// XTS, by its place among all seals.
const SEAL: usize = 1;

/// A way to check: whether the core goes on meanwhile, whether tags are kept, and whether stores wait.
struct Way {
    name: &'static str,
    speculative: bool,
    is_cached: bool,
    holds_stores: bool,
}

const fn way(name: &'static str, speculative: bool, is_cached: bool, holds_stores: bool) -> Way {
    Way { name, speculative, is_cached, holds_stores }
}

const WAYS: [Way; 6] = [
    way("waits", false, false, true),
    way("waits, tags kept", false, true, true),
    way("goes on", true, false, true),
    way("goes on, tags kept", true, true, true),
    way("goes on, stores free", true, false, false),
    way("goes on, tags kept, stores free", true, true, false),
];

impl Way {
    fn settings(&self) -> Settings {
        let mac_cache = self.is_cached.then(|| Shape::direct(MAC_CACHE_BYTES));
        let integrity = integrity::Settings {
            speculative: self.speculative,
            mac_cache,
            ..integrity::Settings::default()
        };
        Settings { integrity, holds_stores: self.holds_stores, ..Settings::default() }
    }
}

/// The cycles of a run that prints what it should.
fn cycles(run: &Run, image: &Image, protection: &Protection, settings: &Settings) -> f64 {
    let (told, files) = run.prepare();
    let told: Vec<&str> = told.iter().map(String::as_str).collect();
    let user = corpus::with_handlers(&run.image());
    let started = run::under_linux(image, protection, settings, &told, files, user);
    let outcome = run::finish(&mut started.expect("it fits"), Cycles::MAX, &mut ());
    assert_eq!(outcome.end, run::End::Exit(0), "{} {}", run.program, run.name);
    assert!(run.is_expected(&outcome.output), "{} {}", run.program, run.name);
    outcome.cycles as f64
}

/// In percent: the ratio with tags over each number of lines, and by it and way the cycles in parts of the plain run.
struct Measured {
    ratio: f64,
    sealed: f64,
    by_lines: Vec<(f64, Vec<f64>)>,
}

fn measured(name: &str) -> Measured {
    let runs: Vec<Run> = corpus::runs("integrity").into_iter().filter(|run| run.program == name).collect();
    let profiles: Vec<Profile> = runs[..TRAINING].iter().map(Run::profile).collect();
    let settings = pack::Settings {
        dictionary: dict::Choice::Blend { dynamic_percent: 50 },
        order: Order::Hot,
        ..pack::Settings::default()
    };
    let program = corpus::program(name);
    let Packed { image, report } = pack::pack(&program, &profiles, &settings).expect("it can be packed");
    let run = runs[TRAINING..].iter().min_by_key(|run| corpus::instructions(run)).expect("there are five");
    let unpacked = run::unpacked(&run.image());
    let plain = cycles(run, &unpacked, &Protection::default(), &Settings::default());
    let share = |image: &Image, protection: &Protection, settings: &Settings| {
        100.0 * cycles(run, image, protection, settings) / plain
    };
    let (_, _, booted, protection) = sealed_under(&image, SEAL, None);
    let by_lines = LINES.map(|lines| {
        let integrity = Integrity::new(lines, 8).expect("there are such");
        let (container, _, image, protection) = sealed_under(&image, SEAL, Some(integrity));
        let of_ways = WAYS.iter().map(|way| share(&image, &protection, &way.settings())).collect();
        (100.0 * report.ratio_with_tags(container.code_tags_bytes()), of_ways)
    });
    Measured {
        ratio: 100.0 * report.ratio(),
        sealed: share(&booted, &protection, &Settings::default()),
        by_lines: by_lines.into(),
    }
}

fn print(name: &str, Measured { ratio, sealed, by_lines }: &Measured) {
    println!("{name:10} without tags: ratio {ratio:.1} %, cycles {sealed:.1} % of plain");
    for (lines, (ratio, of_ways)) in LINES.iter().zip(by_lines) {
        print!("  over {lines}: ratio {ratio:.1} %, cycles");
        for (way, share) in WAYS.iter().zip(of_ways) {
            print!(" {share:.1} ({})", way.name);
        }
        println!();
    }
}

/// Prints each program, and the mean of all.
pub fn print_all() {
    let all: Vec<Measured> = SIX.iter().map(|name| measured(name)).collect();
    println!("integrity: tags of 8 bytes, {MAC_CACHE_BYTES} B where they are kept; packed for other inputs");
    SIX.iter().zip(&all).for_each(|(name, measured)| print(name, measured));
    let mean = |of: &dyn Fn(&Measured) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
    let by_lines = (0..LINES.len()).map(|lines| {
        let of_way = |way: usize| mean(&|one| one.by_lines[lines].1[way]);
        (mean(&|one| one.by_lines[lines].0), (0..WAYS.len()).map(of_way).collect())
    });
    let means = Measured {
        ratio: mean(&|one| one.ratio),
        sealed: mean(&|one| one.sealed),
        by_lines: by_lines.collect(),
    };
    print("mean", &means);
}
