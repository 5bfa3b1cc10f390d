//! C programs for the bare machine: compiled for RV32IM, and linked in a layout that a seed chooses. Those of
//! `firmware/bench/rv32/work/` by their names, others by their files.
#![allow(dead_code)] // each test file uses some of it

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use isa::Cycles;
use isa::rv32::Image;
use isa::rv32::bare::Program;
use object::{Object, ObjectSection};

use super::cores::{Bench, End};
use super::emulator::{Random, present};

const COMPILER: &str = "riscv64-unknown-elf-gcc";
/// The levels at which a compiler optimises that programs are measured at.
pub const LEVELS: [&str; 3] = ["-O2", "-O3", "-Os"];
/// What is in `firmware/bench/rv32/work/`.
pub const WORK: [&str; 10] =
    ["copy", "crc", "digest", "list", "machine", "matrix", "product", "quotient", "sort", "table"];
/// What another file has that one of them needs.
const MORE: [(&str, &str); 1] = [("digest", "workload/sha256.c")];

/// Names of folders of one process.
static COUNT: AtomicU32 = AtomicU32::new(0);

fn firmware() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../firmware").canonicalize().expect("it is there")
}

/// Runs the compiler.
fn compiler(arguments: &[String], folder: &Path) {
    let output = Command::new(COMPILER).args(arguments).current_dir(folder).output();
    let output = output.unwrap_or_else(|error| panic!("{COMPILER}: {error}"));
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Compiled files, in a folder that goes with them.
pub struct Objects {
    folder: PathBuf,
    names: Vec<String>,
    /// The sections of functions, in the order in which they stand.
    sections: Vec<String>,
}

impl Drop for Objects {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Objects {
    /// A program of `firmware/bench/rv32/work/`. `None`, and said, where there is no compiler.
    pub fn of_work(name: &str, level: &str) -> Option<Objects> {
        let more = MORE.iter().filter(|(program, _)| *program == name).map(|(_, file)| firmware().join(file));
        let work = firmware().join("bench/rv32/work");
        let files = [work.join("main.c"), work.join(format!("{name}.c"))].into_iter().chain(more);
        Objects::compile(&files.collect::<Vec<_>>(), &[level])
    }

    /// These files and the way from reset to `main`, with flags of the compiler.
    pub fn compile(files: &[PathBuf], flags: &[&str]) -> Option<Objects> {
        if !present(COMPILER, "programs for the bare machine") {
            return None;
        }
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("bare-{}-{number}", std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&folder).expect("the folder can be made");
        let bench = firmware().join("bench/rv32");
        let text = |path: &Path| path.to_str().expect("a path is UTF-8").to_owned();
        let mut objects = Objects { folder, names: Vec::new(), sections: Vec::new() };
        let start = bench.join("start.S");
        for (index, file) in std::iter::once(&start).chain(files).enumerate() {
            let object = format!("{index}.o");
            let fixed =
                "-march=rv32im -mabi=ilp32 -g -Wall -Wextra -Werror -ffunction-sections -fdata-sections";
            let mut arguments: Vec<String> = fixed.split(' ').map(str::to_owned).collect();
            arguments.extend(["--specs=picolibc.specs", "-c", "-I"].map(str::to_owned));
            arguments.extend([text(&bench), text(file), "-o".to_owned(), object.clone()]);
            arguments.extend(flags.iter().map(|flag| flag.to_string()));
            compiler(&arguments, &objects.folder);
            objects.add(object);
        }
        Some(objects)
    }

    fn add(&mut self, name: String) {
        let bytes = fs::read(self.folder.join(&name)).expect("it was made");
        let file = object::File::parse(&*bytes).expect("the compiler makes objects");
        let names = file.sections().filter_map(|section| section.name().ok().map(str::to_owned));
        self.sections.extend(names.filter(|name| name.starts_with(".text.") && name != ".text.start"));
        self.names.push(name);
    }

    /// Links them in the layout of a seed; 0 is the linker's own.
    pub fn link(&self, layout: u64) -> Image {
        let bench = firmware().join("bench/rv32");
        let text = |path: &Path| path.to_str().expect("a path is UTF-8").to_owned();
        let name = format!("layout-{layout}");
        let own = self.folder.join(&name);
        fs::create_dir_all(&own).expect("the folder can be made");
        let mut arguments = vec!["-march=rv32im".to_owned(), "-mabi=ilp32".to_owned()];
        arguments.extend(["--specs=picolibc.specs", "-nostartfiles"].map(str::to_owned));
        arguments.extend(["-T".to_owned(), text(&bench.join("bare.ld"))]);
        let mut names = self.names.clone();
        if layout != 0 {
            let mut random = Random(layout);
            let mut sections = self.sections.clone();
            shuffle(&mut random, &mut sections);
            shuffle(&mut random, &mut names);
            let mut order = "/* As a seed wants it. */\n".to_owned();
            for section in sections {
                writeln!(order, "*({section})").expect("a string takes it");
            }
            fs::write(own.join("layout.ld"), order).expect("it can be written");
            for (symbol, limit) in [("layout_code", 256), ("layout_data", 256), ("layout_stack", 256)] {
                let bytes = 16 * random.below(limit);
                arguments.push(format!("-Wl,--defsym={symbol}={bytes}"));
            }
        }
        arguments.extend(["-L".to_owned(), text(&own), "-L".to_owned(), text(&bench)]);
        arguments.extend(names);
        arguments.extend(["-o".to_owned(), format!("{name}/image.elf")]);
        compiler(&arguments, &self.folder);
        let elf = fs::read(own.join("image.elf")).expect("it was made");
        Image::parse(&elf).unwrap_or_else(|error| panic!("{error}"))
    }
}

/// Runs every program of [`WORK`] at every level in so many layouts on hardware, and asserts that all marks are at the
/// same cycles here. Each ends well, and prints the same at all of them. How many there were, and their cycles; `None`,
/// and said, where there is no compiler.
pub fn each(bench: &Bench, layouts: u64) -> Option<(u64, Cycles)> {
    if !present(COMPILER, "programs for the bare machine") {
        return None;
    }
    let (next, programs, cycles) = (AtomicU32::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let work = || {
        while let Some(name) = WORK.get(next.fetch_add(1, Ordering::Relaxed) as usize) {
            let mut said = Vec::new();
            for level in LEVELS {
                let objects = Objects::of_work(name, level).expect("there is a compiler");
                for layout in 0..layouts {
                    let program = Program::of_image(&objects.link(layout)).expect("it fits");
                    let what = format!("{name} {level} layout {layout}");
                    let theirs = bench.run(&program, 100_000_000);
                    bench.same(&theirs, &program, &Arc::default(), &what);
                    assert_eq!(theirs.end, End::Exit(0), "{what}");
                    said.push(theirs.console);
                    programs.fetch_add(1, Ordering::Relaxed);
                    cycles.fetch_add(theirs.cycle, Ordering::Relaxed);
                }
            }
            assert!(said.iter().all(|words| *words == said[0]), "{name} depends on the compiler");
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    Some((programs.into_inner(), cycles.into_inner()))
}

fn shuffle<T>(random: &mut Random, items: &mut [T]) {
    for at in (1..items.len()).rev() {
        items.swap(at, random.below(at as u32 + 1) as usize);
    }
}
