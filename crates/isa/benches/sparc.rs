//! How fast SPARC is simulated, in instructions per second of wall time on one core, with the cycles of LEON2.
//! `cargo bench -p isa --bench sparc` prints a line per program of corpus/sparc: the best of several runs, since noise
//! only ever slows down; and one for a loop that is written here.

mod programs;

use std::time::Instant;

use isa::Cycles;
use isa::sparc::{Files, Image, Machine, Memory, Observer, Region, Settings, Stop, Trap, User, text, user};
use programs::{Measured, RUNS};

/// Counts what it is told, so that nothing of the hooks can be dropped.
#[derive(Default)]
struct Counter {
    fetches: u64,
    sum: u64,
}

impl isa::Observer for Counter {
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

impl Observer for Counter {
    fn trap(&mut self, _cycle: Cycles, trap: Trap, _pc: u32, _npc: u32) {
        self.sum ^= u64::from(trap.0);
    }
}

/// A checksum over 4,096 bytes by words and by bytes, with a call in each round.
const LOOP: &[&str] = &[
    "sethi %hi(0x41000000), %l0",
    "mov 4095, %l1",
    "ldub [%l0 + %l1], %o0",
    "xor %o1, %o0, %o0",
    "and %l1, -4, %l2",
    "ld [%l0 + %l2], %o2",
    "sll %o0, 1, %o3",
    "call .+40",
    "add %o3, %o2, %o0",
    "addcc %o0, %o1, %o1",
    "addx %o4, 0, %o4",
    "subcc %l1, 1, %l1",
    "bge .-40",
    "st %o1, [%l0 + %l2]",
    "ba .-52",
    "nop",
    "nop",
    "save %sp, -96, %sp",
    "srl %i0, 3, %l0",
    "ret",
    "restore %l0, %i0, %o0",
];

fn machine() -> Machine<Memory> {
    let words = LOOP.iter().map(|line| text::parse(line).expect(line).encode().expect(line));
    let bytes: Vec<u8> = words.flat_map(u32::to_be_bytes).collect();
    let code_bytes = bytes.len() as u32;
    let data = Region { first: 0x4100_0000, bytes: vec![0x5a; 8192], writable: true };
    let code = Region { first: 0x4000_0000, bytes, writable: false };
    let mut machine = Machine::new(
        Memory::new(vec![data, code], 0x4000_0000, code_bytes),
        Settings::default(),
        0x4000_0000,
    );
    machine.set_register(14, 0x4100_1f00);
    machine
}

fn measure_loop<O: Observer + Default>(case: &str) {
    let mut best = 0_f64;
    for _ in 0..RUNS {
        let mut machine = machine();
        let mut observer = O::default();
        let begin = Instant::now();
        assert_eq!(machine.run(20_000_000, &mut observer), Stop::Reached);
        std::hint::black_box(&observer);
        best = best.max(machine.spent().instructions as f64 / begin.elapsed().as_secs_f64());
    }
    println!("{case}: {:.0} M instructions/s", best / 1e6);
}

fn run(elf: &[u8], arguments: &[&str], files: Files) -> Measured {
    let image = Image::parse(elf).expect("what the corpus has is an image");
    let mut run = User::new(&image, arguments, files, user::Settings::default()).expect("it fits");
    let begin = Instant::now();
    let stop = run.run(Cycles::MAX, &mut ());
    let wall = begin.elapsed();
    assert!(matches!(stop, user::Stop::Exit(_)), "{arguments:?}: {stop:?}");
    Measured { instructions: run.machine.spent().instructions, cycles: run.machine.cycle(), wall }
}

fn main() {
    measure_loop::<()>("a checksum with calls, nobody watching");
    measure_loop::<Counter>("a checksum with calls, every fetch and access counted");
    programs::measure_all("sparc", "SPARC with LEON2's cycles", 50.0, run);
}
