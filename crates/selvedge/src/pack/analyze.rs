//! `selvedge pack analyze`: what packing and sealing a program would give, before adopting either.
//!
//! Owns the verb, the tables of codes and switches that are tried, and the order of the work. What a program is made of
//! is `pack::analysis`'s, what packing makes of it the packer's report; `shown` draws.

use std::path::{Path, PathBuf};

use ::pack::analysis::{self, Heat, Lines, Words};
use ::pack::code::onfill::stored::{self, compress};
use ::pack::code::{Code, dict};
use ::pack::packing::{Assignment, Fetches, Report};
use ::pack::sealed::Unsealed;
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

/// A program, and how it is asked to be packed.
struct Asked<'a> {
    program: &'a Program,
    /// It as its file has it, for codes that move nothing.
    plain: &'a Image,
    profiles: &'a [Profile],
    settings: &'a Settings,
}

/// A code by its name, whether it is chosen for profiles, and how it is measured.
struct Measure {
    name: &'static str,
    needs_profile: bool,
    code: Tried,
}

/// What is tried.
enum Tried {
    Packets(dict::Choice),
    Blocks(Code),
}

const fn packets(name: &'static str, needs_profile: bool, dictionary: dict::Choice) -> Measure {
    Measure { name, needs_profile, code: Tried::Packets(dictionary) }
}

const fn blocks(name: &'static str, code: Code) -> Measure {
    Measure { name, needs_profile: false, code: Tried::Blocks(code) }
}

/// The codes.
const CODES: [Measure; 7] = [
    packets("compacket static", false, dict::Choice::Static),
    packets("compacket blend=50", true, dict::Choice::Blend { dynamic_percent: 50 }),
    packets("compacket dynamic", true, dict::Choice::Dynamic),
    blocks("codepack", Code::Codepack),
    blocks("bitmask", Code::Bitmask),
    blocks("huffman", Code::Huffman),
    blocks("fields", Code::Fields),
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

/// Bytes of plain code in a block of the codes that are decoded on fill.
const BLOCK_BYTES: u32 = 64;

impl Measure {
    /// What the code makes of a program; `None` where that would not gain.
    fn coded(&self, asked: &Asked<'_>) -> Result<Option<Coded>, ::pack::Error> {
        match self.code {
            Tried::Packets(dictionary) => self.packed(asked, dictionary),
            Tried::Blocks(code) => match compress(asked.plain, code, BLOCK_BYTES) {
                Ok((_, report)) => Ok(Some(self.compressed(asked, &report))),
                Err(::pack::Error::NotSmaller { .. }) => Ok(None),
                Err(error) => Err(error),
            },
        }
    }

    fn packed(&self, asked: &Asked<'_>, dictionary: dict::Choice) -> Result<Option<Coded>, ::pack::Error> {
        let settings = Settings { dictionary, ..asked.settings.clone() };
        let report = ::pack::pack(asked.program, asked.profiles, &settings)?.report;
        let coded = Coded {
            name: self.name,
            code_bytes: 4 * report.packed_words,
            tables_bytes: report.dictionary_bytes,
            ratio: report.ratio(),
            fetches: report.fetches,
        };
        Ok(report.nothing.is_none().then_some(coded))
    }

    /// By a code that is decoded on fill: the core fetches what it does without it.
    fn compressed(&self, asked: &Asked<'_>, report: &stored::Report) -> Coded {
        let fetches = asked.profiles.iter().map(|profile| {
            let plain = profile.total();
            Fetches { plain, packed: plain }
        });
        Coded {
            name: self.name,
            code_bytes: report.blocks_bytes,
            tables_bytes: report.model_bytes + report.table_bytes,
            ratio: report.ratio(),
            fetches: fetches.collect(),
        }
    }
}

/// What packing would give.
pub struct Packable {
    /// The program's words.
    pub words: Words,
    /// What packing as asked for does.
    pub report: Report,
    /// What each code makes of it.
    pub codes: Vec<Coded>,
    /// Codes by which it would not clearly gain.
    pub no_gain: Vec<&'static str>,
    /// By another choice of each switch, the ratio; `None` where nothing would be packed then.
    pub switches: Vec<(&'static str, Option<f64>)>,
    /// The hottest functions first.
    pub heats: Vec<Heat>,
}

impl Packable {
    fn of(path: &Path, asked: &Asked<'_>) -> Result<Packable, Error> {
        let Asked { program, profiles, settings, .. } = asked;
        let refused = |error: ::pack::Error| PackFault::from(error).of(path);
        let report = ::pack::pack(program, profiles, settings).map_err(refused)?.report;
        let words = Words::of(program, &settings.choice).map_err(refused)?;
        let (codes, no_gain, switches, heats) = Default::default();
        let mut packable = Packable { words, report, codes, no_gain, switches, heats };
        // Without relocations nothing can be moved; what is decoded on fill moves nothing.
        let is_possible = |code: &&Measure| match code.code {
            Tried::Packets(_) => program.relocated && (!code.needs_profile || !profiles.is_empty()),
            Tried::Blocks(_) => true,
        };
        let codes: Vec<&Measure> = CODES.iter().filter(is_possible).collect();
        let bar = progress(codes.len() + SWITCHES.len());
        let coded = on_all_cores(&codes, &bar, |code| code.coded(asked).map_err(refused))?;
        for (code, coded) in codes.iter().zip(coded) {
            match coded {
                Some(coded) => packable.codes.push(coded),
                None => packable.no_gain.push(code.name),
            }
        }
        if !program.relocated {
            bar.finish_and_clear();
            return Ok(packable);
        }
        packable.switches = on_all_cores(&SWITCHES, &bar, |&(name, change)| {
            let mut other = Settings::clone(settings);
            change(&mut other);
            let report = ::pack::pack(program, profiles, &other).map_err(refused)?.report;
            Ok((name, report.nothing.is_none().then(|| report.ratio())))
        })?;
        bar.finish_and_clear();
        let mut merged = Profile::default();
        profiles.iter().for_each(|profile| merged.merge(profile));
        packable.heats = analysis::heat(program, &settings.choice, &merged).map_err(refused)?;
        Ok(packable)
    }
}

/// What lies in memory as an image, if it is for a machine whose code can be packed.
fn plain(sections: &Sections) -> Option<Image> {
    Unsealed::from(sections.clone()).into_image()
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
            let plain = plain(&sections).expect("a program is for a machine whose code can be packed");
            let asked = Asked { program: &program, plain: &plain, profiles: &profiles, settings: &settings };
            Ok(Packable::of(path, &asked)?)
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
