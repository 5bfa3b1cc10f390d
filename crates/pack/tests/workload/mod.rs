//! The corpus' SPARC programs and their inputs, and what executes them packed: packets are expanded where the core
//! fetches, without caches or ciphers.

#![allow(dead_code)] // each test file uses its part

use std::path::PathBuf;

use isa::Cycles;
use isa::sparc::{
    Bus, Fetched, Files, Image, Instruction, Machine, Memory, Refusal, Trap, User, Width, user,
};
use pack::code::packet::Packet;
use pack::image::Kind;
use pack::{Profile, Program, Target};

/// The paper's six, and three more.
pub const PROGRAMS: [&str; 9] =
    ["cjpeg", "djpeg", "dijkstra", "pegwit", "search", "susan", "bzip2", "minigzip", "lua"];

/// A path in the repository.
pub fn root(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// A program of the corpus.
pub fn elf(name: &str) -> Vec<u8> {
    let path = root("corpus/sparc").join(name).with_extension("elf");
    std::fs::read(&path).unwrap_or_else(|error| panic!("`{}`: {error}", path.display()))
}

/// The same, read.
pub fn program(name: &str) -> Program {
    Program::parse(&elf(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A run that data/workload lists.
pub struct Run {
    pub name: String,
    pub arguments: Vec<String>,
    pub input: Option<String>,
}

/// The runs of a program.
pub fn runs(program: &str) -> Vec<Run> {
    let text = std::fs::read_to_string(root("data/workload/runs.txt")).expect("the corpus has it");
    let of = |line: &str| {
        let (words, input) =
            line.split_once(" < ").map_or((line, None), |(words, input)| (words, Some(input)));
        let mut words = words.split_whitespace().map(str::to_owned);
        let named = words.next()? == program;
        let name = words.next()?;
        let input = input.map(|name| name.trim().to_owned());
        named.then(|| Run { name, arguments: words.collect(), input })
    };
    text.lines().filter(|line| !line.starts_with('#')).filter_map(of).collect()
}

fn files(run: &Run) -> Files {
    let read = |name: &String| std::fs::read(root("data/workload").join(name));
    let named = run.arguments.iter().filter_map(|name| Some((name.clone(), read(name).ok()?))).collect();
    let input = run.input.as_ref().map_or(Vec::new(), |name| read(name).expect("its input is there"));
    Files::new(named, input)
}

/// A word as the core sees it: its instructions.
#[derive(Clone, Copy)]
struct Word {
    instructions: [Option<Instruction>; 4],
    slots: u8,
}

/// Plain memory, and packets expanded.
pub struct Expanded {
    memory: Memory,
    words: Vec<Word>,
    first: u32,
    /// Words that were entered.
    pub entered: Vec<u64>,
    last: u32,
    /// Lines of 16 bytes, as they are entered one after the other.
    pub watch: Option<Vec<u32>>,
}

impl Bus for Expanded {
    const SLOTS: bool = true;

    fn fetch(&mut self, pc: u32, _cycle: Cycles, _wait: &mut u32) -> Result<Fetched, Refusal> {
        let (at, slot) = (pc & !3, pc & 3);
        let word = self.words.get((at.wrapping_sub(self.first) / 4) as usize);
        let word = word.ok_or(Trap::INSTRUCTION_ACCESS_EXCEPTION)?;
        let instruction = word.instructions[slot as usize].ok_or(Trap::ILLEGAL_INSTRUCTION)?;
        if slot == 0 {
            self.entered[(at.wrapping_sub(self.first) / 4) as usize] += 1;
        }
        if at / 16 != self.last {
            self.last = at / 16;
            if let Some(watch) = &mut self.watch {
                watch.push(at / 16);
            }
        }
        let next = if slot + 1 < u32::from(word.slots) { pc + 1 } else { at + 4 };
        Ok(Fetched { instruction, next })
    }

    fn load(&mut self, address: u32, width: Width, cycle: Cycles, wait: &mut u32) -> Result<u64, Refusal> {
        self.memory.load(address, width, cycle, wait)
    }

    fn store(
        &mut self,
        address: u32,
        width: Width,
        value: u64,
        cycle: Cycles,
        wait: &mut u32,
    ) -> Result<(), Refusal> {
        self.memory.store(address, width, value, cycle, wait)
    }
}

fn word_of(packed: &pack::Image, word: u32) -> Word {
    let alone = Word { instructions: [Instruction::decode(word), None, None, None], slots: 1 };
    let Some(packet) = Packet::of_word(Target::Sparc, word) else { return alone };
    let Some((words, slots)) = packed.dictionary.expand(Target::Sparc, &packet) else { return alone };
    let mut instructions = [None; 4];
    for (instruction, &word) in instructions.iter_mut().zip(&words[..usize::from(slots)]) {
        *instruction = Instruction::decode(word);
    }
    Word { instructions, slots }
}

/// A program in the form of this image, about to begin.
pub fn start(name: &str, packed: &pack::Image, run: &Run, watched: bool) -> User<Expanded> {
    let mut image = Image::parse(&elf(name)).expect("it is an image");
    image.entry = packed.entry;
    for section in &packed.sections {
        let segment = image.segments.iter_mut().find(|segment| {
            segment.first <= section.first && section.first - segment.first < segment.bytes.len() as u32
        });
        let segment = segment.expect("sections lie in segments");
        let at = (section.first - segment.first) as usize;
        segment.bytes[at..at + section.bytes.len()].copy_from_slice(&section.bytes);
    }
    let code: Vec<_> = packed.sections.iter().filter(|section| section.kind == Kind::Code).collect();
    let first = code.iter().map(|section| section.first).min().expect("there is code");
    let end = code.iter().map(|section| section.first + section.bytes.len() as u32).max().expect("there is");
    let mut words = vec![Word { instructions: [None; 4], slots: 1 }; ((end - first) / 4) as usize];
    for section in code {
        for (index, bytes) in section.bytes.chunks_exact(4).enumerate() {
            let word = Target::Sparc.word(bytes.try_into().expect("four bytes"));
            words[((section.first - first) / 4) as usize + index] = word_of(packed, word);
        }
    }
    let settings = user::Settings::default();
    let mut arguments = vec![format!("../../corpus/sparc/{name}.elf")];
    arguments.extend(run.arguments.iter().cloned());
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (memory, start) = user::load(&image, &arguments, &settings).expect("it fits");
    let entered = vec![0; words.len()];
    let bus = Expanded { memory, words, first, entered, last: 0, watch: watched.then(Vec::new) };
    User::with_bus(bus, start, files(run), settings)
}

/// A program as it is, as an image.
pub fn plain(program: &Program) -> pack::Image {
    pack::Image {
        target: program.target,
        entry: program.entry,
        sections: program.sections.clone(),
        zeros: program.zeros.clone(),
        dictionary: Default::default(),
        map: Vec::new(),
    }
}

/// Runs to the end.
pub fn finish(user: &mut User<Expanded>) {
    let stop = user.run(Cycles::MAX, &mut ());
    assert_eq!(stop, user::Stop::Exit(0), "{:?}", user.machine.fault());
}

/// The machine's bus.
pub fn bus(machine: &Machine<Expanded>) -> &Expanded {
    &machine.bus
}

/// How often each instruction of a plain run was executed.
pub fn profile(user: &User<Expanded>) -> Profile {
    let bus = bus(&user.machine);
    let counts = bus.entered.iter().enumerate();
    Profile::new(counts.map(|(index, &executions)| (bus.first + 4 * index as u32, executions)))
}
