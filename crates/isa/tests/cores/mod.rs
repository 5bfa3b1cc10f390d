//! Cores as their hardware is: `rtl/tb/` with Verilog from Python packages, which `scripts/install.sh` brings, as
//! programs that Verilator makes. Each runs a program for the bare machine and tells its cycles.
#![allow(dead_code)] // each test file uses some of it

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use isa::Cycles;
use isa::rv32::bare::{self, Board, Mark, Program};
use isa::rv32::{Bus, FiveStage, Machine, Pipeline, Profile, Sequential, Stop, Timing, Trap, Units};

#[path = "../../../pack/tests/verilated/mod.rs"]
mod verilated;

/// A core that is hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Core {
    Pico,
    Vex5,
}

impl Core {
    /// What has its time.
    pub fn profile(self) -> Profile {
        match self {
            Core::Pico => Profile::Pico,
            Core::Vex5 => Profile::Vex5,
        }
    }

    /// Its top in `rtl/tb/`, and the file of its package.
    fn parts(self) -> (&'static str, &'static str) {
        match self {
            Core::Pico => ("pico", "pythondata_cpu_picorv32/verilog/picorv32.v"),
            Core::Vex5 => ("vex5", "pythondata_cpu_vexriscv/verilog/VexRiscv_FullCfu.v"),
        }
    }
}

/// Where `scripts/install.sh` puts Python packages.
fn packages() -> Option<PathBuf> {
    let libraries = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/python/lib");
    let python = fs::read_dir(libraries).ok()?.next()?.ok()?.path();
    python.join("site-packages").canonicalize().ok()
}

/// A file of a Python package. Under CI a missing one is a failure, elsewhere a printed skip.
fn packaged(file: &str) -> Option<PathBuf> {
    let found = packages().map(|packages| packages.join(file)).filter(|path| path.exists());
    if found.is_none() {
        let package = file.split('/').next().expect("a path has a beginning");
        assert!(std::env::var_os("CI").is_none(), "{package} is missing, and under CI it must not be");
        eprintln!("skip: {file} against Rust: {package} is not installed (scripts/install.sh)");
    }
    found
}

/// How a run on hardware ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With this status.
    Exit(u32),
    /// With a trap; the instruction that was taken up last.
    Trap(u32),
    /// With an access of what is not there.
    Nothing(u32),
    /// Not in the cycles that it had.
    Limit,
}

/// What a run on hardware was.
#[derive(Clone, Debug)]
pub struct Run {
    pub end: End,
    pub cycle: Cycles,
    pub console: Vec<u8>,
    pub marks: Vec<Mark>,
    /// Cycle, and address, of every instruction that was taken up (see the core's top), if that was asked for.
    pub taken_up: Vec<(u32, u32)>,
}

impl Run {
    /// The cycles between the first mark of one number and the next one of another.
    pub fn between(&self, from: u32, to: u32) -> Option<Cycles> {
        bare::between(&self.marks, from, to)
    }
}

/// A core that can be run.
pub struct Bench {
    core: Core,
    program: PathBuf,
}

/// Names of files of one process.
static COUNT: AtomicU32 = AtomicU32::new(0);

impl Bench {
    /// A core with nothing in its socket, or what the folder's `custom.v` is. `None`, and said, where a tool is missing.
    pub fn new(core: Core, unit: Option<&Path>) -> Option<Bench> {
        let (top, file) = core.parts();
        let package = packaged(file)?;
        let rtl =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rtl/tb").canonicalize().expect("it is there");
        let unit = unit.map_or(rtl.join("off"), |folder| folder.canonicalize().expect("there is a unit"));
        let mut files = verilated::files_in(&rtl);
        files.extend(verilated::files_in(&unit));
        files.push(package.clone());
        let text = |path: &Path| path.to_str().expect("a path is UTF-8").to_owned();
        let mut arguments: Vec<String> = ["-O3", "--x-assign", "fast", "--x-initial", "fast", "--noassert"]
            .into_iter()
            // What Verilator says against the core is its authors'.
            .chain(["-Wno-fatal", "-Wno-lint", "-Wno-MULTIDRIVEN", "--timescale", "1ns/1ps"])
            .chain(["-MAKEFLAGS", "OPT_FAST=-O2 OPT_GLOBAL=-O1", "--prefix", "Vbench", "--top-module", top])
            .map(str::to_owned)
            .collect();
        for folder in [&unit, &rtl] {
            arguments.extend(["-y".to_owned(), text(folder)]);
        }
        let own = [rtl.join(format!("{top}.v")), package, rtl.join("bench.cpp")];
        arguments.extend(own.iter().map(|path| text(path)));
        let built = verilated::made(&format!("{top}.v against Rust"), top, &files, &arguments)?;
        Some(Bench { core, program: built.join("Vbench") })
    }

    /// Runs a program, at most so many cycles.
    pub fn run(&self, program: &Program, cycles_max: Cycles) -> Run {
        self.start(program, cycles_max, false)
    }

    /// The same, and every instruction is told.
    pub fn trace(&self, program: &Program, cycles_max: Cycles) -> Run {
        self.start(program, cycles_max, true)
    }

    /// Asserts that a run tells the same here: status, output, and the cycles between marks and the end.
    pub fn same(&self, theirs: &Run, program: &Program, units: &Arc<Units>, what: &str) {
        let ours = bare::run(program, self.core.profile(), units, Cycles::MAX, &mut ());
        let End::Exit(status) = theirs.end else { panic!("{what}: {:?}", theirs.end) };
        assert_eq!(ours.end, bare::End::Exit(status), "{what}");
        assert_eq!(ours.console, theirs.console, "{what}");
        let before_end = |marks: &[Mark], end: Cycles| -> Vec<(u32, Cycles)> {
            marks.iter().map(|mark| (mark.number, end - mark.cycle)).collect()
        };
        assert_eq!(before_end(&ours.marks, ours.cycle), before_end(&theirs.marks, theirs.cycle), "{what}");
    }

    /// Runs a program on both; asserts that every instruction is at the same address and cycle, and that all that is told
    /// of the whole is the same. Cycles that were compared.
    pub fn compare(&self, program: &Program, units: &Arc<Units>, what: &str) -> Cycles {
        let theirs = self.trace(program, 100_000_000);
        assert!(matches!(theirs.end, End::Exit(_)), "{what}: {:?}", theirs.end);
        let compared = match self.core {
            // An instruction is told when it is taken up.
            Core::Pico => {
                let machine = bare::machine(program, Sequential::new(Timing::pico()), units);
                lockstep(&theirs, machine, what, |machine| (machine.cycle(), machine.step(&mut ())))
            }
            // When it is in write-back.
            Core::Vex5 => {
                lockstep(&theirs, bare::machine(program, FiveStage::cached(), units), what, |machine| {
                    let stop = machine.step(&mut ());
                    (machine.pipeline().written(), stop)
                })
            }
        };
        self.same(&theirs, program, units, what);
        compared
    }

    fn start(&self, program: &Program, cycles_max: Cycles, traces: bool) -> Run {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let file = |what: &str| {
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{what}-{}-{number}", std::process::id()))
        };
        let (image, taken_up) = (file("image"), file("taken-up"));
        fs::write(&image, program.bytes()).expect("an image can be written");
        let mut command = Command::new(&self.program);
        command.arg(&image).arg(cycles_max.to_string());
        if traces {
            command.arg(&taken_up);
        }
        let output = command.output().unwrap_or_else(|error| panic!("`{}`: {error}", self.program.display()));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut run = read(&String::from_utf8(output.stdout).expect("words"));
        fs::remove_file(image).expect("it is ours");
        if traces {
            let bytes = fs::read(&taken_up).expect("it was written");
            let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes"));
            run.taken_up = bytes.chunks_exact(8).map(|pair| (word(&pair[..4]), word(&pair[4..]))).collect();
            fs::remove_file(taken_up).expect("it is ours");
        }
        run
    }
}

/// Steps a machine beside a run on hardware; a step tells when its instruction was.
fn lockstep<P: Pipeline>(
    theirs: &Run,
    mut machine: Machine<Board, P>,
    what: &str,
    step: impl Fn(&mut Machine<Board, P>) -> (Cycles, Stop),
) -> Cycles {
    let (mut begin, mut last) = (None, 0);
    for (count, &(cycle, pc)) in theirs.taken_up.iter().enumerate() {
        let our_pc = machine.pc();
        let text = machine.bus.peek(our_pc).map_or("?".to_owned(), |instruction| instruction.to_string());
        let (our_cycle, stop) = step(&mut machine);
        let begin = *begin.get_or_insert(cycle.wrapping_sub(our_cycle as u32));
        last = cycle.wrapping_sub(begin);
        assert_eq!((our_pc, our_cycle as u32), (pc, last), "{what}: instruction {count}, `{text}`");
        if stop == Stop::Trap(Trap::StoreAccess) {
            break;
        }
    }
    last.into()
}

/// What `bench.cpp` says.
fn read(said: &str) -> Run {
    let (mut console, mut marks) = (Vec::new(), Vec::new());
    for line in said.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let cycle = words[1].parse().expect("a cycle");
        let value = words.get(2).map_or(0, |word| u32::from_str_radix(word, 16).expect("digits"));
        let end = match words[0] {
            "console" => {
                console.push(value as u8);
                continue;
            }
            "mark" => {
                marks.push(Mark { number: value, cycle });
                continue;
            }
            "exit" => End::Exit(value),
            "trap" => End::Trap(value),
            "nothing" => End::Nothing(value),
            "limit" => End::Limit,
            _ => panic!("{line}"),
        };
        return Run { end, cycle, console, marks, taken_up: Vec::new() };
    }
    panic!("it said no end: {said}")
}
