//! How fast our simulator and simavr run one image, side by side, in simulated cycles per second of one core.
//!
//! Every case is measured several times, ours and simavr's in turn. What is printed: a table of medians and of
//! best runs (what the machine could do if nobody else used it), and for each goal, by its median, a line that
//! `scripts/bench.sh` collects. Seconds are those that the core gave to this thread. simavr runs as fast as it
//! can: it looks at its peripherals only when one is due.

use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use isa::Cycles;
use isa::avr::vcd::{Signal, Vcd};
use isa::avr::{ATMEGA128, Chip, Image, Pin};
use rustix::time::{ClockId, clock_gettime};
use witness::simavr::{Simavr, State};

const RUNS: usize = 201;
const CYCLES_PER_RUN: Cycles = 200_000;

/// A program that the benches of `crates/isa` run too.
fn compile(name: &str) -> Image {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/isa/benches").join(name);
    let elf = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name).with_extension("elf");
    let mut command = Command::new("avr-gcc");
    command.args(["-mmcu=atmega128", "-O2", "-std=c99", "-o"]).arg(&elf).arg(source);
    match command.status() {
        Ok(status) => assert!(status.success(), "avr-gcc refuses {name}"),
        Err(error) => {
            eprintln!("error: failed to run avr-gcc: {error}\nhelp: run scripts/install.sh test");
            std::process::exit(3);
        }
    }
    let bytes = std::fs::read(elf).expect("read what avr-gcc linked");
    Image::parse(&bytes).expect("what avr-gcc links is an image")
}

/// Counts what it is told, so that nothing of the hooks can be dropped.
#[derive(Default)]
struct Counter {
    count: u64,
    sum: u64,
}

impl isa::Observer for Counter {
    fn fetch(&mut self, _cycle: Cycles, address: u32) {
        self.count += 1;
        self.sum ^= u64::from(address);
    }
    fn load(&mut self, cycle: Cycles, _address: u32, value: u8) {
        self.count += 1;
        self.sum ^= cycle ^ u64::from(value);
    }
    fn store(&mut self, cycle: Cycles, _address: u32, value: u8) {
        self.count += 1;
        self.sum ^= cycle ^ u64::from(value);
    }
}

impl isa::avr::Observer for Counter {}

/// A simulator that goes on for some cycles, and says how many it took.
type Run<'a> = Box<dyn FnMut() -> Cycles + 'a>;

fn ours(image: &Image) -> Chip {
    let mut chip = Chip::new(&ATMEGA128);
    chip.load(image).expect("the program fits");
    chip
}

fn unwatched(image: &Image) -> Run<'static> {
    let mut chip = ours(image);
    Box::new(move || {
        let begin = chip.cycle();
        chip.run_until(begin + CYCLES_PER_RUN, &mut ());
        chip.cycle() - begin
    })
}

fn counted(image: &Image) -> Run<'static> {
    let mut chip = ours(image);
    Box::new(move || {
        let (begin, mut counter) = (chip.cycle(), Counter::default());
        chip.run_until(begin + CYCLES_PER_RUN, &mut counter);
        std::hint::black_box((counter.count, counter.sum));
        chip.cycle() - begin
    })
}

/// Takes every byte and keeps none. (`io::sink()` does not even format.)
struct Forgotten;

impl io::Write for Forgotten {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        std::hint::black_box(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn drawn(image: &Image) -> Run<'static> {
    let mut chip = ours(image);
    let pins = [0, 1, 2, 3].map(|bit| Signal::Pin(Pin { port: b'B', bit }));
    Box::new(move || {
        let begin = chip.cycle();
        let mut vcd = Vcd::new(Forgotten, &chip, &pins).expect("it takes everything");
        chip.run_until(begin + CYCLES_PER_RUN, &mut vcd);
        vcd.finish().expect("it takes everything");
        chip.cycle() - begin
    })
}

fn theirs(image: &Image) -> Run<'static> {
    let mut simavr = Simavr::new("atmega128", ours(image).flash());
    simavr.set_burst(Cycles::MAX);
    Box::new(move || {
        let begin = simavr.cycle();
        while simavr.cycle() - begin < CYCLES_PER_RUN {
            assert_eq!(simavr.step(), State::Running);
        }
        simavr.cycle() - begin
    })
}

/// What the core has given to this thread.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("a thread's time does not run backwards")
}

/// Of several runs, in millions of cycles per second.
#[derive(Clone, Copy)]
struct Speed {
    median: f64,
    best: f64,
}

impl Speed {
    fn of(mut runs: Vec<f64>) -> Speed {
        runs.sort_by(f64::total_cmp);
        Speed { median: runs[runs.len() / 2], best: runs[runs.len() - 1] }
    }
}

fn measure(runs: &mut [Run<'_>]) -> Vec<Speed> {
    let mut speeds = vec![Vec::new(); runs.len()];
    for _ in 0..RUNS {
        for (run, speeds) in runs.iter_mut().zip(&mut speeds) {
            let begin = thread_time();
            let cycles = run();
            speeds.push(cycles as f64 / (thread_time() - begin).as_secs_f64() / 1e6);
        }
    }
    speeds.into_iter().map(Speed::of).collect()
}

fn main() {
    let (load, send) = (compile("load.c"), compile("send.c"));
    let alone = measure(&mut [unwatched(&load), counted(&load), theirs(&load)]);
    let busy = measure(&mut [unwatched(&send), counted(&send), drawn(&send), theirs(&send)]);
    println!("simulated ATmega128 cycles per second of one core, in millions, of {RUNS} runs");
    println!("     median     best");
    for (case, speed) in [
        ("ciphers, nobody watching", alone[0]),
        ("ciphers, every fetch, load and store told", alone[1]),
        ("ciphers, simavr", alone[2]),
        ("RC4 over SPI at f/16, nobody watching", busy[0]),
        ("RC4 over SPI at f/16, every fetch, load and store told", busy[1]),
        ("RC4 over SPI at f/16, waveform of the four SPI pins", busy[2]),
        ("RC4 over SPI at f/16, simavr without edges or waveform", busy[3]),
    ] {
        println!("    {:7.1}  {:7.1}  {case}", speed.median, speed.best);
    }
    let goal = |what: &str, value: Speed, peer: Speed, at_least: f64| {
        println!("goal\t{what}\t{:.1}\tsimavr\t{:.1}\t>= {at_least}", value.median, peer.median);
    };
    goal("AVR simulation, M cycles/s", alone[0], alone[2], 150.0);
    goal("AVR simulation with SPI and its waveform, M cycles/s", busy[2], busy[3], 60.0);
    goal("AVR simulation with SPI, every access told, M cycles/s", busy[1], busy[3], 60.0);
}
