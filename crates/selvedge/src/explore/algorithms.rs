//! `selvedge explore algorithms`: a ranking of algorithms by what models say that they take.
//!
//! Owns the verb: which family and sizes, that an interrupted run goes on in its folder, and the files that are
//! written. Estimating is the tool's, on all cores; `shown` draws.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use ::explore::analytic::Analytic;
use ::explore::constant;
use ::explore::estimate::{self, Row, State};
use ::explore::image::Choice;
use ::explore::kept::{self, Kept, Provenance};
use ::explore::measure::Bench;
use ::explore::model::Models;
use ::explore::subject::{Family, Material, Subject};
use ::explore::{native, threads};
use clap::ValueEnum;
use selvedge::error::Error;
use selvedge::whole;

use super::shown::Shown;
use super::{image, made_of, read_models};
use crate::output::Output;
use crate::papers::spread::progress;

/// What is kept in the folder of a run.
const ROWS: &str = "rows.ndjson";
const TABLE: &str = "rows.csv";
const PAGE: &str = "front.html";

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    selvedge explore algorithms --models vex5.ndjson --space paper-a\n  \
    selvedge explore algorithms --models vex5.ndjson --space all --size 512,1024,2048,3072 --out out/all\n  \
    selvedge explore algorithms --models vex5.ndjson --space paper-b --analytic --top 5 --json\n  \
    selvedge explore algorithms --models vex5.ndjson --space aes --size 4096\n\
    A run that was interrupted goes on in its folder (--out). Sizes are bits of a modulus, or octets of a message.")]
pub struct Arguments {
    /// Models of a processor, as `explore model` writes them
    #[arg(long, value_name = "FILE")]
    models: PathBuf,
    /// What is ranked: paper-a, paper-b, all, aes, des, sha256 or ecc
    #[arg(long, value_name = "SPACE", default_value = "paper-a")]
    space: String,
    /// Only these, by name
    #[arg(long, value_name = "CANDIDATE", value_delimiter = ',')]
    only: Vec<String>,
    /// Sizes [default: 1024, or 256 for ecc]
    #[arg(long, value_name = "SIZE", value_delimiter = ',', alias = "bits")]
    size: Vec<u32>,
    /// Which of cold and warm is ranked
    #[arg(long, value_enum, default_value = "both")]
    state: States,
    /// Compute counts from formulas instead of running each natively: exponentiation only
    #[arg(long)]
    analytic: bool,
    /// Follow secrets through each on the processor: a branch, an address or a division that one decides is no constant
    /// time. Needs a compiler and the source tree
    #[arg(long)]
    constant_time: bool,
    /// The source tree, for --constant-time [default: the working folder]
    #[arg(long, value_name = "FOLDER")]
    root: Option<PathBuf>,
    /// How many are printed of each size and state
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,
    /// What operands are drawn from
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// A folder for all rows as NDJSON and CSV, and the page; a run that was interrupted goes on in it
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Write the ranking as a page with the front drawn
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write all rows as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

/// Which states are ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum States {
    /// With nothing kept from before
    Cold,
    /// With everything kept that the candidate keeps
    Warm,
    /// Both, apart
    Both,
}

/// Runs the verb.
pub fn run(arguments: &Arguments, output: &Output) -> Result<(), Error> {
    let family = Family::read(&arguments.space)?;
    let subjects = match arguments.only.is_empty() {
        true => family.subjects(),
        false => arguments.only.iter().map(|name| family.subject(name)).collect::<Result<_, _>>()?,
    };
    let sizes = if arguments.size.is_empty() { family.sizes() } else { &arguments.size };
    sizes.iter().try_for_each(|&size| family.check(size))?;
    let models = read_models(&arguments.models)?;
    let mode = if arguments.analytic { "analytic" } else { "native" };
    let provenance = Provenance::new(&models, mode, arguments.seed);
    let mut asked: Vec<(Subject, u32)> = Vec::new();
    for &size in sizes {
        asked.extend(subjects.iter().map(|subject| (subject.clone(), size)));
    }
    let kept = arguments.out.as_deref().map(|folder| Keeping::begin(folder, &provenance)).transpose()?;
    let rows = match arguments.analytic {
        true => analytic(family, &asked, &models, arguments.seed)?,
        false => natively(family, &asked, &models, &provenance, kept.as_ref())?,
    };
    let is_wanted = |row: &Row| match arguments.state {
        States::Both => true,
        States::Cold => row.state == State::Cold,
        States::Warm => row.state == State::Warm,
    };
    let mut rows: Vec<Row> = rows.into_iter().filter(is_wanted).collect();
    if arguments.constant_time {
        let found = followed(arguments, family, &subjects, &models)?;
        for row in &mut rows {
            row.constant_time = found.get(&(row.subject.clone(), row.state)).copied();
        }
    }
    let shown = Shown::of(family, rows, provenance, arguments.top);
    let beside = |name: &str| arguments.out.as_ref().map(|folder| folder.join(name));
    for path in [arguments.csv.clone(), beside(TABLE)].into_iter().flatten() {
        whole::write(&path, shown.csv().as_bytes())?;
    }
    for path in [arguments.html.clone(), beside(PAGE)].into_iter().flatten() {
        whole::write(&path, shown.page().as_bytes())?;
    }
    output.put(&shown.text(), &shown.value())
}

/// Whether no secret decides the time of each, cold and warm: on an image that tells what is secret, at the shortest
/// size that takes every path.
fn followed(
    arguments: &Arguments,
    family: Family,
    subjects: &[Subject],
    models: &Models,
) -> Result<HashMap<(String, State), bool>, Error> {
    let (choice, profile) = made_of(models)?;
    let image = image(arguments.root.as_ref(), &Choice { tells_secrets: true, ..choice })?;
    let bench = Bench::new(&image, profile);
    let size = family.shortest();
    let material = Material::new(family, &[size], arguments.seed)?;
    let mut alike: Vec<Subject> = Vec::new();
    for subject in subjects.iter().map(constant::alike) {
        if !alike.contains(&subject) {
            alike.push(subject);
        }
    }
    let bar = progress(alike.len());
    let follow = |subject: &Subject| {
        let places = constant::places(&bench, &constant::request(subject, size, &material)?)?;
        Ok(places.iter().map(Vec::is_empty).collect::<Vec<bool>>())
    };
    let found = threads::each(&alike, follow, |_, _| bar.inc(1))?;
    bar.finish_and_clear();
    let mut all = HashMap::new();
    for subject in subjects {
        let at = alike.iter().position(|other| *other == constant::alike(subject)).expect("it is among them");
        for (state, is_constant) in [State::Cold, State::Warm].into_iter().zip(&found[at]) {
            all.insert((subject.to_string(), state), *is_constant);
        }
    }
    Ok(all)
}

/// The rows in a folder, and what takes more of them.
struct Keeping {
    kept: Kept,
    path: PathBuf,
    file: Mutex<File>,
}

impl Keeping {
    /// Reads what is there, cuts off what an interruption left of a line, and goes on behind it.
    fn begin(folder: &Path, provenance: &Provenance) -> Result<Keeping, Error> {
        fs::create_dir_all(folder).map_err(|source| Error::io("create", folder, source))?;
        let path = folder.join(ROWS);
        let failed = |action| {
            let path = path.clone();
            move |source| Error::io(action, &path, source)
        };
        let mut options = OpenOptions::new();
        let file = options.create(true).append(true).read(true).open(&path).map_err(failed("open"))?;
        let text = fs::read_to_string(&path).map_err(failed("read"))?;
        let (kept, whole_bytes) = kept::read(&text, provenance)
            .map_err(|error| Error::Explore { path: Some(path.clone()), error })?;
        file.set_len(whole_bytes as u64).map_err(failed("shorten"))?;
        Ok(Keeping { kept, path, file: Mutex::new(file) })
    }

    /// What is kept of a subject: its cold row, and the warm one if it has two.
    fn rows(&self, subject: &Subject, size: u32) -> Option<Vec<Row>> {
        let states = if subject.keeps() { &[State::Cold, State::Warm][..] } else { &[State::Cold] };
        let row = |state: &estimate::State| self.kept.get(&(subject.to_string(), size, *state)).cloned();
        states.iter().map(row).collect()
    }

    /// Keeps all rows of a subject at once.
    fn keep(&self, rows: &[Row], provenance: &Provenance) -> Result<(), Error> {
        let lines: String = rows.iter().map(|row| kept::line(row, provenance)).collect();
        let mut file = self.file.lock().expect("a worker that panics ends the process");
        file.write_all(lines.as_bytes()).map_err(|source| Error::io("write", &self.path, source))
    }
}

/// Runs each natively that is not kept, on all cores.
fn natively(
    family: Family,
    asked: &[(Subject, u32)],
    models: &Models,
    provenance: &Provenance,
    keeping: Option<&Keeping>,
) -> Result<Vec<Row>, Error> {
    let mut sizes: Vec<u32> = asked.iter().map(|(_, size)| *size).collect();
    sizes.dedup();
    let material = Material::new(family, &sizes, provenance.seed)?;
    let bar = progress(asked.len());
    let failed = Mutex::new(None);
    let estimate = |(subject, size): &(Subject, u32)| {
        if let Some(rows) = keeping.and_then(|keeping| keeping.rows(subject, *size)) {
            return Ok(rows);
        }
        let native = native::run(&material.request(subject, *size)?)?;
        let rows = estimate::rows(subject, *size, &native, models)?;
        if let Some(Err(error)) = keeping.map(|keeping| keeping.keep(&rows, provenance)) {
            *failed.lock().expect("nobody panics with it") = Some(error);
        }
        Ok(rows)
    };
    let rows = threads::each(asked, estimate, |_, _| bar.inc(1))?;
    bar.finish_and_clear();
    match failed.into_inner().expect("nobody panicked with it") {
        Some(error) => Err(error),
        None => Ok(rows.concat()),
    }
}

/// Computes each from what its parts take.
fn analytic(family: Family, asked: &[(Subject, u32)], models: &Models, seed: u64) -> Result<Vec<Row>, Error> {
    let mut analytic = Analytic::new(family, models, seed)?;
    let bar = progress(asked.len());
    let mut rows = Vec::new();
    for (subject, size) in asked {
        rows.extend(analytic.rows(subject, *size)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(rows)
}
