//! How fast the AVR is simulated, in simulated cycles per second of wall time on one core.
//! `cargo bench -p isa` prints a line per case: the best of several runs, since noise only ever slows down.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use isa::Cycles;
use isa::avr::{ATMEGA128, Chip, Image, Observer};

/// Counts what it is told, so that nothing of the hooks can be dropped.
#[derive(Default)]
struct Counter {
    fetches: u64,
    loads: u64,
    stores: u64,
    sum: u64,
}

impl isa::Observer for Counter {
    fn fetch(&mut self, _cycle: Cycles, address: u32) {
        self.fetches += 1;
        self.sum ^= u64::from(address);
    }
    fn load(&mut self, cycle: Cycles, _address: u32, value: u8) {
        self.loads += 1;
        self.sum ^= cycle ^ u64::from(value);
    }
    fn store(&mut self, cycle: Cycles, _address: u32, value: u8) {
        self.stores += 1;
        self.sum ^= cycle ^ u64::from(value);
    }
}

impl Observer for Counter {}

const RUNS: usize = 2000;
const CYCLES_PER_RUN: Cycles = 100_000;

fn compile(name: &str) -> Option<Image> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches").join(name);
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name).with_extension("elf");
    let arguments = ["-mmcu=atmega128", "-O2", "-std=c99", "-o"];
    match Command::new("avr-gcc").args(arguments).arg(&out).arg(here).status() {
        Ok(status) => assert!(status.success(), "avr-gcc refuses {name}"),
        Err(error) => {
            eprintln!("skip: bench of {name}: avr-gcc: {error}");
            return None;
        }
    }
    let bytes = std::fs::read(out).expect("read what avr-gcc linked");
    Some(Image::parse(&bytes).expect("what avr-gcc links is an image"))
}

fn measure<O: Observer + Default>(case: &str, image: &Image) {
    // `cargo bench -p isa --bench avr -- SPI` measures the cases with that word.
    if !std::env::args().skip(1).all(|word| word.starts_with('-') || case.contains(&word)) {
        return;
    }
    let mut chip = Chip::new(&ATMEGA128);
    chip.load(image).expect("the program fits");
    let mut best = Duration::MAX;
    for _ in 0..RUNS {
        let mut observer = O::default();
        let until = chip.cycle() + CYCLES_PER_RUN;
        let begin = Instant::now();
        chip.run_until(until, &mut observer);
        best = best.min(begin.elapsed());
        std::hint::black_box(&observer);
    }
    println!("{case}: {:.0} M cycles/s", CYCLES_PER_RUN as f64 / best.as_secs_f64() / 1e6);
}

fn main() {
    if let Some(image) = compile("load.c") {
        measure::<()>("ciphers, nobody watching", &image);
        measure::<Counter>("ciphers, every fetch and access counted", &image);
    }
    if let Some(image) = compile("send.c") {
        measure::<()>("RC4 over SPI at f/16, edges shown, nobody watching", &image);
        measure::<Counter>("RC4 over SPI at f/16, edges shown, every fetch and access counted", &image);
    }
}
