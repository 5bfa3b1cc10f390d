//! `selvedge pack sweep`: what packing does to a program behind many caches, with its functions in many orders.
//!
//! Owns the verb, and which ways of making a program smaller are measured. Each image is
//! run once; what all caches make of that is `pack::sweep`'s; `shown` draws.

use std::path::PathBuf;

use ::pack::Target;
use ::pack::code::onfill::stored;
use ::pack::code::{Code, dict};
use ::pack::sweep::{self, Penalty, Settings, Subject, Way};
use clap::ValueEnum;
use isa::Cycles;
use isa::sparc::Timing;
use selvedge::error::{Error, PackFault};
use selvedge::whole;

use super::{check_own_places, paths, runs, settings};
use crate::output::Output;
use crate::papers::spread::progress;
use shown::Shown;

mod shown;

/// Bytes of plain code in a block, where nobody says how many.
const BLOCK_BYTES: u32 = 64;

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    selvedge pack sweep corpus/sparc/search.elf --runs data/workload/runs.txt --html search.html\n  \
    selvedge pack sweep my.elf --runs my.runs --train a,b,c --measure d,e --seeds 4 --json\n  \
    selvedge pack sweep corpus/rv32/search.elf --runs data/workload/runs.txt --seeds 2 \\\n    \
    --dictionary static,dynamic,blend=50 --scheme codepack,fields --block 32,64\n\
    A line of the runs is `PROGRAM INPUT ARGUMENT...`, with `< FILE` behind it for standard input; lines of\n\
    other programs are passed over, and files are beside it. Seals are as in the paper.")]
pub struct Arguments {
    /// The program: a linked ELF file, with its relocations (`-Wl,-q`)
    #[arg(value_name = "ELF")]
    program: PathBuf,
    /// What it is told
    #[arg(long, value_name = "FILE")]
    runs: PathBuf,
    /// The inputs that the packer learns from [default: the first three]
    #[arg(long, value_name = "INPUT", value_delimiter = ',')]
    train: Vec<String>,
    /// The inputs that are measured [default: the others]
    #[arg(long, value_name = "INPUT", value_delimiter = ',')]
    measure: Vec<String>,
    /// How many orders of functions are drawn
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: u64,
    /// Measure packets with these dictionaries, too: static, dynamic, blend=PERCENT, multi=ENTRIES
    #[arg(long, value_name = "CHOICE", value_delimiter = ',', value_parser = settings::dictionary)]
    dictionary: Vec<dict::Choice>,
    /// Measure these codes, too, which are decoded on fill
    #[arg(long, value_enum, value_name = "CODE", value_delimiter = ',')]
    scheme: Vec<OnFill>,
    /// Bytes of plain code that these decode together: 16, 32 or 64 [default: 64]
    #[arg(long, value_name = "BYTES", value_delimiter = ',', requires = "scheme")]
    block: Vec<u32>,
    /// Whose cycles the core has [default: leon2; RV32IM has Ibex']
    #[arg(long, value_enum)]
    timing: Option<Leon>,
    /// Cycles of memory for a line
    #[arg(long, value_name = "CYCLES", default_value_t = Penalty::default().memory_cycles)]
    memory: Cycles,
    /// Cycles of the cipher behind it
    #[arg(long, value_name = "CYCLES", default_value_t = Penalty::default().cipher_cycles)]
    cipher: Cycles,
    /// Cycles after which a run is given up
    #[arg(long, value_name = "CYCLES", default_value_t = Cycles::MAX, hide_default_value = true)]
    limit: Cycles,
    /// Write what is printed as a page, too, with pictures
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// A code that is decoded on fill.
#[derive(Clone, Copy, ValueEnum)]
enum OnFill {
    /// Half-words by classes
    Codepack,
    /// Words of a dictionary, and masks over them
    Bitmask,
    /// Prefix codes of half-words
    Huffman,
    /// Prefix codes of the fields of instructions
    Fields,
}

/// A core of SPARC V8.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Leon {
    /// LEON2's, as in the AT697E
    Leon2,
    /// LEON3's
    Leon3,
}

impl OnFill {
    fn code(self) -> Code {
        match self {
            OnFill::Codepack => Code::Codepack,
            OnFill::Bitmask => Code::Bitmask,
            OnFill::Huffman => Code::Huffman,
            OnFill::Fields => Code::Fields,
        }
    }
}

impl Arguments {
    /// What is measured beside packing for caches.
    fn ways(&self) -> Vec<Way> {
        let blocks = if self.block.is_empty() { &[BLOCK_BYTES][..] } else { &self.block };
        let codes = self.scheme.iter().flat_map(|scheme| {
            let way = |&block_bytes: &u32| Way::OnFill { code: scheme.code(), block_bytes };
            blocks.iter().map(way)
        });
        self.dictionary.iter().map(|&choice| Way::Packets(choice)).chain(codes).collect()
    }

    /// Refuses what no image can be made with, before anything runs for long.
    fn check_ways(&self) -> Result<(), Error> {
        let refused = |error: ::pack::Error| PackFault::from(error).of(&self.program);
        for choice in &self.dictionary {
            choice.check(::pack::Settings::default().entries, true).map_err(refused)?;
        }
        match self.block.iter().find(|bytes| !stored::BLOCK_BYTES.contains(bytes)) {
            Some(&found_bytes) => Err(refused(::pack::Error::BlockBytes { found_bytes })),
            None => Ok(()),
        }
    }

    /// Gives a program's core the cycles that were asked for; what these are called.
    fn time(&self, subject: &mut Subject) -> Result<&'static str, Error> {
        let (found, expected) = (subject.program.target, Target::Sparc);
        let (name, what, timing) = match (self.timing, found) {
            (None, Target::Rv32) => return Ok("ibex"),
            (None | Some(Leon::Leon2), _) => ("leon2", "`--timing leon2`", Timing::leon2()),
            (Some(Leon::Leon3), _) => ("leon3", "`--timing leon3`", Timing::leon3()),
        };
        if found != expected {
            return Err(PackFault::OtherTarget { what, found, expected }.of(&self.program));
        }
        subject.user.machine.timing = timing;
        Ok(name)
    }
}

/// Runs the verb.
pub fn run(arguments: &Arguments, output: &Output) -> Result<(), Error> {
    let path = &arguments.program;
    check_own_places(&[path, &arguments.runs], &paths([&arguments.html]))?;
    arguments.check_ways()?;
    let name = runs::name(path);
    let inputs = runs::inputs(&arguments.runs, &name, arguments.limit)?;
    let parts = runs::parted_in_two(&arguments.runs, inputs, [&arguments.train, &arguments.measure])?;
    let mut subject = runs::subject(path, &name, parts)?;
    let timing = arguments.time(&mut subject)?;
    let settings = Settings { seeds: (1..=arguments.seeds).collect(), ..Settings::default() };
    let ways = arguments.ways();
    // Learning, the program as it is, each order that is drawn, the packer's own, and each order in other ways.
    let turns = if ways.is_empty() { 1 } else { 2 };
    let bar = progress(turns * settings.seeds.len() + 3);
    let swept = sweep::compare(&subject, &settings, &ways, &mut |_| bar.inc(1));
    bar.finish_and_clear();
    let (measured, others) = swept.map_err(|error| PackFault::from(error).of(path))?;
    let penalty = Penalty { memory_cycles: arguments.memory, cipher_cycles: arguments.cipher };
    let shown = Shown::of(measured, others, arguments.seeds, penalty, timing);
    if let Some(path) = &arguments.html {
        whole::write(path, shown.page().as_bytes())?;
    }
    output.put(&shown.text(), &shown.value())
}
