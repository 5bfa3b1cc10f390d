//! How fast RV32IM is simulated, in instructions per second of wall time on one core, with the cycles of Ibex and with
//! those of each other core. `cargo bench -p isa --bench rv32` prints a line per program of corpus/rv32, and one for a
//! loop that is written here.

mod programs;

use std::time::Instant;

use isa::rv32::{
    Files, FiveStage, Image, Machine, Memory, Pipeline, Region, Sequential, Stop, Timing, User, text, user,
};
use isa::{Cycles, Observer};
use programs::{Measured, RUNS};

/// Counts what it is told, so that nothing of the hooks can be dropped.
#[derive(Default)]
struct Counter {
    fetches: u64,
    sum: u64,
}

impl Observer for Counter {
    fn fetch(&mut self, _cycle: Cycles, address: u32) {
        self.fetches += 1;
        self.sum ^= u64::from(address);
    }
    fn load(&mut self, cycle: Cycles, _address: u32, value: u8) {
        self.sum ^= cycle ^ u64::from(value);
    }
    fn store(&mut self, cycle: Cycles, _address: u32, value: u8) {
        self.sum ^= cycle ^ u64::from(value);
    }
}

/// A checksum over 4,096 bytes by words and by bytes, with a call in each round.
const LOOP: &[&str] = &[
    "lui s0, 0x1000",
    "lui s1, 1",
    "addi s1, s1, -1",
    "add t0, s0, s1",
    "lbu a0, 0(t0)",
    "xor a0, a0, a1",
    "andi t1, s1, -4",
    "add t1, t1, s0",
    "lw a2, 0(t1)",
    "slli a0, a0, 1",
    "add a0, a0, a2",
    "jal ra, .+32",
    "add a1, a1, a0",
    "sltu t2, a1, a0",
    "add a4, a4, t2",
    "sw a1, 0(t1)",
    "addi s1, s1, -1",
    "bgez s1, .-56",
    "j .-68",
    "srli t3, a0, 3",
    "add a0, a0, t3",
    "ret",
];

fn memory() -> Memory {
    let words = LOOP.iter().map(|line| text::parse(line).expect(line).encode().expect(line));
    let bytes: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
    let code_bytes = bytes.len() as u32;
    let data = Region { first: 0x100_0000, bytes: vec![0x5a; 8192], writable: true };
    let code = Region { first: 0x1_0000, bytes, writable: false };
    Memory::new(vec![data, code], 0x1_0000, code_bytes)
}

fn measure_loop<O: Observer + Default>(case: &str, pipeline: &(impl Pipeline + Clone)) {
    let mut best = 0_f64;
    for _ in 0..RUNS {
        let mut machine = Machine::with_pipeline(memory(), pipeline.clone(), 0x1_0000);
        let mut observer = O::default();
        let begin = Instant::now();
        assert_eq!(machine.run(20_000_000, &mut observer), Stop::Reached);
        std::hint::black_box(&observer);
        best = best.max(machine.spent().instructions as f64 / begin.elapsed().as_secs_f64());
    }
    println!("{case}: {:.0} M instructions/s", best / 1e6);
}

fn run(elf: &[u8], arguments: &[&str], files: Files, pipeline: impl Pipeline) -> Measured {
    let image = Image::parse(elf).expect("what the corpus has is an image");
    let settings = user::Settings::default();
    let found = user::furnish(image.regions(), image.entry, arguments, &settings);
    let (regions, start) = found.expect("it fits");
    let memory = Memory::new(regions, image.code_first, image.code_bytes);
    let mut run = User::with_pipeline(memory, pipeline, start, files);
    let begin = Instant::now();
    let stop = run.run(Cycles::MAX, &mut ());
    let wall = begin.elapsed();
    assert!(matches!(stop, user::Stop::Exit(_)), "{arguments:?}: {stop:?}");
    Measured { instructions: run.machine.spent().instructions, cycles: run.machine.cycle(), wall }
}

/// A core on everything.
fn measure(name: &str, goal: f64, pipeline: &(impl Pipeline + Clone)) {
    measure_loop::<()>(&format!("{name}: a checksum with calls, nobody watching"), pipeline);
    measure_loop::<Counter>(
        &format!("{name}: a checksum with calls, every fetch and access counted"),
        pipeline,
    );
    let program = |elf: &[u8], arguments: &[&str], files: Files| run(elf, arguments, files, pipeline.clone());
    programs::measure_all("rv32", &format!("RV32 with the cycles of {name}"), goal, program);
}

fn main() {
    measure("Ibex", 50.0, &Sequential::new(Timing::ibex()));
    measure("PicoRV32", 60.0, &Sequential::new(Timing::pico()));
    measure("VexRiscv with tightly coupled memories", 60.0, &FiveStage::tightly_coupled());
    measure("VexRiscv with its caches", 60.0, &FiveStage::cached());
}
