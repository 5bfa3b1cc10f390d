//! How fast SPARC is simulated, in instructions per second of wall time on one core, with the cycles of LEON2.
//! `cargo bench -p isa --bench sparc` prints a line per program of corpus/sparc: the best of several runs, since noise
//! only ever slows down; and one for a loop that is written here.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use isa::Cycles;
use isa::sparc::{Files, Image, Machine, Memory, Observer, Region, Settings, Stop, Trap, User, text, user};

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

const RUNS: usize = 5;
/// What the loops are to reach, in instructions per second.
const GOAL: f64 = 50e6;

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

fn measure_program<O: Observer + Default>(program: &str) -> Option<f64> {
    let elf = std::fs::read(root().join(format!("corpus/sparc/{program}.elf"))).ok()?;
    let image = Image::parse(&elf).expect("what the corpus has is an image");
    let (arguments, files) = first_run(program)?;
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (mut best, mut instructions, mut cycles) = (Duration::MAX, 0, 0);
    for _ in 0..RUNS {
        let mut run =
            User::new(&image, &arguments, files.clone(), user::Settings::default()).expect("it fits");
        let mut observer = O::default();
        let begin = Instant::now();
        let stop = run.run(Cycles::MAX, &mut observer);
        best = best.min(begin.elapsed());
        assert!(matches!(stop, user::Stop::Exit(_)), "{program}: {stop:?}");
        std::hint::black_box(&observer);
        (instructions, cycles) = (run.machine.spent().instructions, run.machine.cycle());
    }
    let rate = instructions as f64 / best.as_secs_f64();
    println!("{program}: {instructions} instructions, {cycles} cycles, {:.0} M instructions/s", rate / 1e6);
    Some(rate)
}

fn main() {
    measure_loop::<()>("a checksum with calls, nobody watching");
    measure_loop::<Counter>("a checksum with calls, every fetch and access counted");
    let programs = ["cjpeg", "djpeg", "dijkstra", "search", "susan", "pegwit", "bzip2", "minigzip", "lua"];
    let rates: Vec<f64> = programs.iter().filter_map(|program| measure_program::<()>(program)).collect();
    if rates.len() < programs.len() {
        eprintln!("skip: bench of SPARC programs: corpus/sparc has {} of {}", rates.len(), programs.len());
        return;
    }
    let slowest = rates.iter().copied().fold(f64::MAX, f64::min);
    let goal = GOAL / 1e6;
    println!(
        "goal\tSPARC with LEON2's cycles, slowest program, M instructions/s\t{:.1}\t-\t-\t>= {goal}",
        slowest / 1e6
    );
}
