//! The corpus' programs for tests and benches: what they are told, what they print natively, and how they are run.
#![allow(dead_code)] // each file that takes it uses some of it

pub mod stores;

use std::path::{Path, PathBuf};

use isa::Cycles;
use isa::sparc::user::{self, Windows};
use isa::sparc::{Files, Image};
use pack::chain::profile::{self, Counted};
use pack::sweep::Input;
use pack::{Profile, Program};
use sha2::{Digest, Sha256};

/// The paper's six, and three more.
pub const PROGRAMS: [&str; 9] =
    ["cjpeg", "djpeg", "dijkstra", "pegwit", "search", "susan", "bzip2", "minigzip", "lua"];

/// Long runs of the same.
pub fn soak() -> bool {
    std::env::var("SELVEDGE_SOAK").is_ok_and(|value| value == "1")
}

pub fn root(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

/// A program of the corpus.
pub fn elf(name: &str) -> Vec<u8> {
    let path = root("corpus/sparc").join(name).with_extension("elf");
    std::fs::read(&path).unwrap_or_else(|error| panic!("`{}`: {error}", path.display()))
}

/// The same, read by the packer.
pub fn program(name: &str) -> Program {
    Program::parse(&elf(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// LEON2 with the window handlers of the image.
pub fn with_handlers(image: &Image) -> user::Settings {
    let table = image.symbol("reset").expect("it has a table of traps").address;
    user::Settings { windows: Windows::Image { table }, ..user::Settings::default() }
}

/// A run of a program of the corpus.
#[derive(Clone, Debug)]
pub struct Run {
    pub program: String,
    /// The name of its input.
    pub name: String,
    arguments: Vec<String>,
    input: Option<String>,
}

/// The runs that data/workload lists; none, and said, where the corpus is not.
pub fn runs(what: &str) -> Vec<Run> {
    let Ok(text) = std::fs::read_to_string(root("data/workload/runs.txt")) else {
        assert!(std::env::var_os("CI").is_none(), "data/workload is missing, and under CI it must not be");
        eprintln!("skip: {what}: there is no corpus");
        return Vec::new();
    };
    let run = |line: &str| {
        let (words, input) =
            line.split_once(" < ").map_or((line, None), |(words, input)| (words, Some(input)));
        let mut words = words.split_whitespace().map(str::to_owned);
        let (program, name) = (words.next()?, words.next()?);
        let input = input.map(|name| name.trim().to_owned());
        Some(Run { program, name, arguments: words.collect(), input })
    };
    text.lines().filter(|line| !line.starts_with('#')).filter_map(run).collect()
}

/// All runs in a long run; elsewhere the shortest of each program.
pub fn sample(what: &str) -> Vec<Run> {
    let runs = runs(what);
    if soak() {
        return runs;
    }
    let shortest = |run: &Run| {
        let others = runs.iter().filter(|other| other.program == run.program);
        others.map(instructions).min() == Some(instructions(run))
    };
    runs.iter().filter(|run| shortest(run)).cloned().collect()
}

fn cell(file: &str, run: &Run) -> String {
    let text = std::fs::read_to_string(root(file)).expect("the corpus has it");
    let begin = format!("{},{},", run.program, run.name);
    text.lines().find_map(|line| line.strip_prefix(&begin)).expect("every run has a line").to_owned()
}

/// How many instructions `qemu-sparc` executes in a run.
pub fn instructions(run: &Run) -> u64 {
    let cells = cell("corpus/instructions.csv", run);
    cells.split(',').next().and_then(|cell| cell.parse().ok()).expect("a line has cells")
}

impl Run {
    /// How often each instruction is executed, with window handlers of the program's own.
    pub fn profile(&self) -> Profile {
        let (image, (told, files)) = (self.image(), self.prepare());
        let told: Vec<&str> = told.iter().map(String::as_str).collect();
        let mut counted = Counted::of(&image);
        let stop = profile::count(&image, &told, files, with_handlers(&image), &mut counted);
        assert_eq!(stop, Ok(user::Stop::Exit(0)), "{} {}", self.program, self.name);
        Profile::new(counted.by_address())
    }

    /// The same of the program for RV32.
    pub fn profile_rv32(&self) -> Profile {
        let (image, (told, files)) = (self.image_rv32(), self.prepare());
        let told: Vec<&str> = told.iter().map(String::as_str).collect();
        let mut counted = Counted::of(&image);
        let stop = profile::count_rv32(&image, &told, files, Default::default(), &mut counted);
        assert_eq!(stop, Ok(isa::rv32::user::Stop::Exit(0)), "{} {}", self.program, self.name);
        Profile::new(counted.by_address())
    }

    pub fn image(&self) -> Image {
        Image::parse(&elf(&self.program)).expect("it is an image")
    }

    pub fn image_rv32(&self) -> isa::rv32::Image {
        isa::rv32::Image::parse(&self.elf("rv32")).expect("it is an image")
    }

    /// The program's file, of one of the instruction sets.
    pub fn elf(&self, target: &str) -> Vec<u8> {
        let path = root("corpus").join(target).join(&self.program).with_extension("elf");
        std::fs::read(path).expect("the corpus has it")
    }

    /// The same for a sweep.
    pub fn input(&self) -> Input {
        let (arguments, files) = self.prepare();
        Input { name: self.name.clone(), arguments, files, limit: Cycles::MAX }
    }

    /// What the program is told, and the files that it names.
    pub fn prepare(&self) -> (Vec<String>, Files) {
        let read = |name: &String| std::fs::read(root("data/workload").join(name));
        let named = self.arguments.iter().filter_map(|name| Some((name.clone(), read(name).ok()?))).collect();
        let input = self.input.as_ref().map_or(Vec::new(), |name| read(name).expect("its input is there"));
        let arguments = [self.program.clone()].into_iter().chain(self.arguments.iter().cloned());
        (arguments.collect(), Files::new(named, input))
    }

    /// Whether this is what a native build prints.
    pub fn is_expected(&self, output: &[u8]) -> bool {
        let cells = cell("corpus/outputs.csv", self);
        let expected = cells.rsplit(',').next().expect("a line has cells");
        Sha256::digest(output).iter().map(|byte| format!("{byte:02x}")).collect::<String>() == expected
    }
}
