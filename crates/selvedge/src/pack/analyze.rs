//! `selvedge pack analyze`: what packing and sealing a program would give, before adopting either.
//!
//! Owns the verb, the tables of codes and switches that are tried, and the order of the work. What a program is made of
//! is `pack::analysis`'s, what packing makes of it the packer's report; `shown` draws.

use std::path::{Path, PathBuf};

use ::pack::analysis::{self, Heat, Lines, Words};
use ::pack::code::onfill::stored::compress;
use ::pack::code::{Code, dict};
use ::pack::packing::{Assignment, Fetches, Report};
use ::pack::{Image, Profile, Program, Sections, Settings};
use selvedge::error::{Error, PackFault};
use selvedge::whole;

use super::settings::Packing;
use super::{check_own_places, paths, read};
use crate::output::Output;
use crate::papers::spread::{on_all_cores, progress};
use shown::Shown;

mod shown;

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  selvedge pack analyze corpus/sparc/minigzip.elf\n  \
                        selvedge pack analyze corpus/sparc/search.elf --html search.html\n  \
                        selvedge pack analyze my.elf --profile first.profile --profile second.profile \\\n    \
                        --dictionary blend=50 --order hot --json\n\
                        Nothing is written but what is asked for; `pack build` does it.")]
pub struct Arguments {
    /// The program: a linked ELF file, with its relocations (`-Wl,-q`)
    #[arg(value_name = "ELF")]
    program: PathBuf,
    /// Write what is printed as a page, too
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    packing: Packing,
}

/// What a code makes of a program.
pub struct Coded {
    /// The code's name.
    pub name: &'static str,
    /// Its code, in bytes.
    pub code_bytes: u32,
    /// What else it needs in the image.
    pub tables_bytes: u32,
    /// Its code and tables, in parts of the program's code.
    pub ratio: f64,
    /// Words fetched in each profiled run.
    pub fetches: Vec<Fetches>,
}

type Measure = fn(&Program, &[Profile], &Settings) -> Result<Coded, ::pack::Error>;

/// The codes, whether each is chosen for profiles, and how each is measured.
const CODES: [(bool, Measure); 7] = [
    (false, |program, profiles, settings| {
        packets("compacket static", dict::Choice::Static, program, profiles, settings)
    }),
    (true, |program, profiles, settings| {
        let choice = dict::Choice::Blend { dynamic_percent: 50 };
        packets("compacket blend=50", choice, program, profiles, settings)
    }),
    (true, |program, profiles, settings| {
        packets("compacket dynamic", dict::Choice::Dynamic, program, profiles, settings)
    }),
    (false, |program, profiles, _| blocks(Code::Codepack, program, profiles)),
    (false, |program, profiles, _| blocks(Code::Bitmask, program, profiles)),
    (false, |program, profiles, _| blocks(Code::Huffman, program, profiles)),
    (false, |program, profiles, _| blocks(Code::Fields, program, profiles)),
];

/// Another choice of a switch, in words.
type Switch = (&'static str, fn(&mut Settings));

/// What each switch is worth is what another choice of it gives.
const SWITCHES: [Switch; 7] = [
    ("--assignment optimal", |settings| settings.assignment = Assignment::Optimal),
    ("--assignment greedy", |settings| settings.assignment = Assignment::Greedy),
    ("--no-canonical", |settings| settings.canonical = false),
    ("--no-far-branches", |settings| settings.far_branches = false),
    ("--entries 128", |settings| settings.entries = 128),
    ("--entries 64", |settings| settings.entries = 64),
    ("a processor whose calls return to slots", |settings| settings.choice.link_slots = true),
];

fn packets(
    name: &'static str,
    dictionary: dict::Choice,
    program: &Program,
    profiles: &[Profile],
    settings: &Settings,
) -> Result<Coded, ::pack::Error> {
    let packed = ::pack::pack(program, profiles, &Settings { dictionary, ..settings.clone() })?;
    let report = packed.report;
    Ok(Coded {
        name,
        code_bytes: 4 * report.packed_words,
        tables_bytes: report.dictionary_bytes,
        ratio: report.ratio(),
        fetches: report.fetches,
    })
}

/// Bytes of plain code in a block of the codes that are decoded on fill.
const BLOCK_BYTES: u32 = 64;

/// A code that is decoded on fill: the core fetches what it does without it.
fn blocks(code: Code, program: &Program, profiles: &[Profile]) -> Result<Coded, ::pack::Error> {
    let (_, report) = compress(&Image::from(program), code, BLOCK_BYTES)?;
    let fetches = profiles.iter().map(|profile| {
        let plain = profile.total();
        Fetches { plain, packed: plain }
    });
    Ok(Coded {
        name: code.name(),
        code_bytes: report.blocks_bytes,
        tables_bytes: report.model_bytes + report.table_bytes,
        ratio: report.ratio(),
        fetches: fetches.collect(),
    })
}

/// What packing would give.
pub struct Packable {
    /// The program's words.
    pub words: Words,
    /// What packing as asked for does.
    pub report: Report,
    /// What each code makes of it.
    pub codes: Vec<Coded>,
    /// By another choice of each switch, the ratio.
    pub switches: Vec<(&'static str, f64)>,
    /// The hottest functions first.
    pub heats: Vec<Heat>,
}

impl Packable {
    fn of(
        path: &Path,
        program: &Program,
        profiles: &[Profile],
        settings: &Settings,
    ) -> Result<Packable, Error> {
        let refused = |error: ::pack::Error| PackFault::from(error).of(path);
        let report = ::pack::pack(program, profiles, settings).map_err(refused)?.report;
        let words = Words::of(program, &settings.choice).map_err(refused)?;
        let (codes, switches, heats) = (Vec::new(), Vec::new(), Vec::new());
        let mut packable = Packable { words, report, codes, switches, heats };
        if !program.relocated {
            return Ok(packable);
        }
        let codes = CODES.iter().filter(|(profiled, _)| !profiled || !profiles.is_empty());
        let codes: Vec<Measure> = codes.map(|&(_, measure)| measure).collect();
        let bar = progress(codes.len() + SWITCHES.len());
        let measured = |measure: &Measure| measure(program, profiles, settings).map_err(refused);
        packable.codes = on_all_cores(&codes, &bar, measured)?;
        packable.switches = on_all_cores(&SWITCHES, &bar, |&(name, change)| {
            let mut other = settings.clone();
            change(&mut other);
            let packed = ::pack::pack(program, profiles, &other).map_err(refused)?;
            Ok((name, packed.report.ratio()))
        })?;
        bar.finish_and_clear();
        let mut merged = Profile::default();
        profiles.iter().for_each(|profile| merged.merge(profile));
        packable.heats = analysis::heat(program, &settings.choice, &merged).map_err(refused)?;
        Ok(packable)
    }
}

/// Runs the verb.
pub fn run(arguments: &Arguments, output: &Output) -> Result<(), Error> {
    let path = &arguments.program;
    check_own_places(&[path], &paths([&arguments.html]))?;
    let bytes = read(path)?;
    let (sections, left_out_bytes) =
        Sections::parse_counting(&bytes).map_err(|error| PackFault::from(error).of(path))?;
    let packable = match Program::parse(&bytes) {
        Ok(program) => {
            let (profiles, settings) = (arguments.packing.profiles(&program)?, arguments.packing.settings());
            Ok(Packable::of(path, &program, &profiles, &settings)?)
        }
        // It can be sealed all the same.
        Err(error @ ::pack::Error::Machine { .. }) => Err(error.to_string()),
        Err(error) => return Err(PackFault::from(error).of(path)),
    };
    let shown = Shown { path, lines: Lines::of(&sections.sections), sections, left_out_bytes, packable };
    if let Some(path) = &arguments.html {
        whole::write(path, shown.page().as_bytes())?;
    }
    output.put(&shown.text(), &shown.value())
}
