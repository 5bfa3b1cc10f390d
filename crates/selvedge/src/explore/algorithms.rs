//! `selvedge explore algorithms`: a ranking of algorithms by what models say that they take.
//!
//! Owns the verb: which family, sizes and models, and the files that are written. Estimating is the tool's, on all cores;
//! what is kept of an interrupted run is `keeping`'s, following secrets is `secrets`', and `shown` draws.

use std::path::{Path, PathBuf};

use ::explore::analytic::Analytic;
use ::explore::estimate::{self, Row, State};
use ::explore::kept::Provenance;
use ::explore::model::Models;
use ::explore::subject::{Family, Material, Subject};
use ::explore::{native, threads};
use clap::ValueEnum;
use selvedge::error::Error;
use selvedge::whole;

use super::keeping::Keeping;
use super::shown::{Ranked, Shown};
use super::{once, read_models, secrets};
use crate::output::Output;
use crate::papers::spread::progress;

/// What is written in the folder of a run, besides its rows.
const TABLE: &str = "rows.csv";
const PAGE: &str = "front.html";

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    selvedge explore algorithms --models vex5.ndjson --space paper-a\n  \
    selvedge explore algorithms --models vex5.ndjson --space all --size 512,1024,2048,3072 --out out/all\n  \
    selvedge explore algorithms --models vex5.ndjson --space paper-b --analytic --top 5 --json\n  \
    selvedge explore algorithms --models vex5.ndjson --space aes --size 4096 --constant-time\n  \
    selvedge explore algorithms --models c.ndjson,rv32.ndjson --space paper-b --top 5\n\
    A run that was interrupted goes on in its folder (--out). Sizes are bits of a modulus, or octets of a message.")]
pub struct Arguments {
    /// Models of a processor, as `explore model` writes them; of several files, with other leaves each, candidates have
    /// their leaves behind their names
    #[arg(long, value_name = "FILE", value_delimiter = ',', required = true)]
    models: Vec<PathBuf>,
    /// What is ranked: paper-a, paper-b, all, aes, des, sha256 or ecc
    #[arg(long, value_name = "SPACE", default_value = "paper-a")]
    space: String,
    /// Only these of the space, by name
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

/// Models, and where rows by them come from.
pub struct Reading {
    pub models: Models,
    pub provenance: Provenance,
    /// What stands behind names where there are several.
    suffix: String,
}

impl Reading {
    /// The name of a subject in rows by these models.
    pub fn name(&self, subject: &Subject) -> String {
        format!("{subject}{}", self.suffix)
    }

    /// Rows by their names.
    fn named(&self, rows: Vec<Row>) -> Vec<Row> {
        let named = |row: Row| Row { subject: row.subject + &self.suffix, ..row };
        rows.into_iter().map(named).collect()
    }
}

/// Reads models, which are of one processor and of other leaves each.
fn readings(paths: &[PathBuf], mode: &str, seed: u64) -> Result<Vec<Reading>, Error> {
    let mut readings: Vec<Reading> = Vec::new();
    for path in paths {
        let models = read_models(path)?;
        let provenance = Provenance::new(&models, mode, seed);
        let other = |what, found: &str, expected: &str| Error::Explore {
            path: Some(path.clone()),
            error: ::explore::Error::Beside { what, found: found.to_owned(), expected: expected.to_owned() },
        };
        if let Some(first) = readings.first().filter(|first| first.provenance.profile != provenance.profile) {
            return Err(other("profile", &provenance.profile, &first.provenance.profile));
        }
        if readings.iter().any(|reading| reading.provenance.leaves == provenance.leaves) {
            return Err(other("leaves", &provenance.leaves, "others than those of the files before"));
        }
        let suffix = if paths.len() > 1 { format!("@{}", provenance.leaves) } else { String::new() };
        readings.push(Reading { models, provenance, suffix });
    }
    Ok(readings)
}

/// Runs the verb.
pub fn run(arguments: &Arguments, output: &Output) -> Result<(), Error> {
    let family = Family::read(&arguments.space)?;
    let subjects = match arguments.only.is_empty() {
        true => family.subjects(),
        false => {
            let named = arguments.only.iter().map(|name| family.subject(name));
            once(named.collect::<Result<Vec<_>, _>>()?)
        }
    };
    let sizes = if arguments.size.is_empty() { family.sizes() } else { &arguments.size };
    let sizes = once(sizes.iter().copied());
    sizes.iter().try_for_each(|&size| family.check(size))?;
    let mode = if arguments.analytic { "analytic" } else { "native" };
    let readings = readings(&arguments.models, mode, arguments.seed)?;
    let provenances: Vec<Provenance> = readings.iter().map(|reading| reading.provenance.clone()).collect();
    let mut asked: Vec<(Subject, u32)> = Vec::new();
    for &size in &sizes {
        asked.extend(subjects.iter().map(|subject| (subject.clone(), size)));
    }
    let keeping = arguments.out.as_deref().map(|folder| Keeping::begin(folder, &provenances)).transpose()?;
    let keeping = keeping.as_ref();
    let asked = Asked { family, subjects: &asked, readings: &readings, seed: arguments.seed, keeping };
    let mut ranked = if arguments.analytic { asked.analytic()? } else { asked.natively()? };
    ranked.retain(|ranked| match arguments.state {
        States::Both => true,
        States::Cold => ranked.row.state == State::Cold,
        States::Warm => ranked.row.state == State::Warm,
    });
    if arguments.constant_time {
        for (from, reading) in readings.iter().enumerate() {
            let root = arguments.root.as_ref();
            let found = secrets::follow(root, family, &subjects, reading, arguments.seed, keeping)?;
            for ranked in ranked.iter_mut().filter(|ranked| ranked.from == from) {
                let verdict = found.get(&(ranked.row.subject.clone(), ranked.row.state)).cloned();
                ranked.row = ranked.row.clone().judged(verdict);
            }
        }
    }
    write(arguments, &Shown::of(family, ranked, provenances, arguments.top), output)
}

/// The files that are asked for, and what is printed.
fn write(arguments: &Arguments, shown: &Shown, output: &Output) -> Result<(), Error> {
    let beside = |name: &str| arguments.out.as_deref().map(|folder: &Path| folder.join(name));
    for path in [arguments.csv.clone(), beside(TABLE)].into_iter().flatten() {
        whole::write(&path, shown.csv().as_bytes())?;
    }
    for path in [arguments.html.clone(), beside(PAGE)].into_iter().flatten() {
        whole::write(&path, shown.page().as_bytes())?;
    }
    output.put(&shown.text(), &shown.value())
}

/// What is asked for, and where it is kept.
struct Asked<'a> {
    family: Family,
    /// Each with its size.
    subjects: &'a [(Subject, u32)],
    readings: &'a [Reading],
    seed: u64,
    keeping: Option<&'a Keeping>,
}

impl Asked<'_> {
    /// What is kept of a subject by every reading, or what `estimate` says of it by each, which is kept then.
    fn kept_or(
        &self,
        (subject, size): &(Subject, u32),
        mut estimate: impl FnMut(usize) -> Result<Vec<Row>, Error>,
    ) -> Result<Vec<Ranked>, Error> {
        let mut all = Vec::new();
        for (from, reading) in self.readings.iter().enumerate() {
            let name = reading.name(subject);
            let kept = self.keeping.and_then(|keeping| keeping.rows(&name, subject.keeps(), *size));
            let rows = match kept {
                Some(rows) => rows,
                None => {
                    let rows = reading.named(estimate(from)?);
                    if let Some(keeping) = self.keeping {
                        keeping.keep(&rows, &reading.provenance)?;
                    }
                    rows
                }
            };
            all.extend(rows.into_iter().map(|row| Ranked { row, from }));
        }
        Ok(all)
    }

    /// Runs each natively that is not kept, on all cores.
    fn natively(&self) -> Result<Vec<Ranked>, Error> {
        let mut sizes: Vec<u32> = self.subjects.iter().map(|(_, size)| *size).collect();
        sizes.dedup();
        let material = Material::new(self.family, &sizes, self.seed)?;
        let bar = progress(self.subjects.len());
        let estimate = |asked: &(Subject, u32)| {
            let (subject, size) = asked;
            let mut native = None;
            self.kept_or(asked, |from| {
                if native.is_none() {
                    native = Some(native::run(&material.request(subject, *size)?)?);
                }
                let native = native.as_ref().expect("it was run");
                Ok(estimate::rows(subject, *size, native, &self.readings[from].models)?)
            })
        };
        let rows = threads::each(self.subjects, estimate, |_, _| bar.inc(1))?;
        bar.finish_and_clear();
        Ok(rows.into_iter().flatten().collect())
    }

    /// Computes each that is not kept from what its parts take.
    fn analytic(&self) -> Result<Vec<Ranked>, Error> {
        let mut analytics = Vec::new();
        for reading in self.readings {
            analytics.push(Analytic::new(self.family, &reading.models, self.seed)?);
        }
        let bar = progress(self.subjects.len());
        let mut rows = Vec::new();
        for asked in self.subjects {
            rows.extend(self.kept_or(asked, |from| Ok(analytics[from].rows(&asked.0, asked.1)?))?);
            bar.inc(1);
        }
        bar.finish_and_clear();
        Ok(rows)
    }
}
