//! `selvedge explore`: which algorithm for which processor, before either is built. A verb a file.
//!
//! Owns the list of verbs and what they share: reading models, and saying where they are of other sources than this
//! program's library; an image for the processor. What measuring, modelling and ranking are is the tool's (`explore`);
//! here are flags, files, tables and pages.

use std::fs;
use std::path::{Path, PathBuf};

use ::explore::image::{Choice, Image, Leaves};
use ::explore::kept::SOURCES;
use ::explore::model::Models;
use ::explore::stored;
use clap::ValueEnum;
use isa::rv32::profile::{PROFILES, Profile};
use selvedge::error::Error;
use selvedge::{stderr, toolchain};

use crate::output::Output;

mod algorithms;
mod keeping;
mod model;
mod secrets;
mod shown;
mod validate;

/// Choose algorithms for a processor by macro-models of a library, and judge the models
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    selvedge explore model --profile vex5 --out vex5.ndjson\n  \
    selvedge explore algorithms --models vex5.ndjson --space paper-a --size 1024 --html front.html\n  \
    selvedge explore algorithms --models vex5.ndjson --space all --size 512,1024,2048,3072 --out out/all\n  \
    selvedge explore validate --models vex5.ndjson --space all --size 512 --count 60\n\
    `model`, `validate` and `--constant-time` need a compiler for RV32IM (scripts/install.sh test) and the source tree.")]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Measure every routine of the library on a processor, and fit macro-models
    Model(model::Arguments),
    /// Rank algorithms by what models say that they take
    Algorithms(algorithms::Arguments),
    /// Compare what models say with what the simulator counts, with fresh keys
    Validate(validate::Arguments),
}

/// Does what the subcommand says.
pub fn run(arguments: Arguments, output: &Output) -> Result<(), Error> {
    match arguments.command {
        Command::Model(arguments) => model::run(&arguments, output),
        Command::Algorithms(arguments) => algorithms::run(&arguments, output),
        Command::Validate(arguments) => validate::run(&arguments, output),
    }
}

/// A processor that routines are characterised on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Processor {
    /// PicoRV32, as its hardware is, cycle for cycle
    Pico,
    /// VexRiscv with five stages and two caches of 4 KiB
    Vex5,
    /// The same with tightly coupled memories instead
    Vex5Tcm,
}

impl Processor {
    fn profile(self) -> Profile {
        match self {
            Processor::Pico => Profile::Pico,
            Processor::Vex5 => Profile::Vex5,
            Processor::Vex5Tcm => Profile::Vex5Tcm,
        }
    }
}

/// Reads leaves for the command line.
fn leaves(text: &str) -> Result<Leaves, String> {
    Leaves::read(text).map_err(|error| error.to_string())
}

/// These, each once, in the order in which they are first named.
fn once<T: PartialEq>(named: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut once = Vec::new();
    for one in named {
        if !once.contains(&one) {
            once.push(one);
        }
    }
    once
}

/// Why an estimate is doubtful, in a table.
fn doubt(outside: &[String]) -> &'static str {
    if outside.is_empty() { "" } else { "outside of its domain" }
}

/// The models in a file; a warning is said where they are of other sources than the library that is linked, whose routines
/// may take other cycles than were measured.
fn read_models(path: &Path) -> Result<Models, Error> {
    let text = fs::read_to_string(path).map_err(|source| Error::io("read", path, source))?;
    let models = stored::read(&text).map_err(|error| Error::Explore { path: Some(path.into()), error })?;
    let path = path.display();
    match models.origin.sources.as_str() {
        SOURCES => {}
        "" => stderr::tell(format_args!("warning: `{path}` does not say of which sources its models are")),
        found => stderr::tell(format_args!(
            "warning: `{path}` has models of other sources than this program's: found digest {found}, expected {SOURCES}"
        )),
    }
    Ok(models)
}

/// The image of a choice, from the source tree at `root` or the working folder; one that was made before is found again.
fn image(root: Option<&PathBuf>, choice: &Choice) -> Result<Image, Error> {
    let root = root.map_or(Path::new("."), PathBuf::as_path);
    Ok(Image::make(root, choice, toolchain::cache_folder().as_deref())?)
}

/// The image and the processor that models were made with.
fn made_of(models: &Models) -> Result<(Choice, Profile), Error> {
    let origin = &models.origin;
    let level = origin.compiler.rsplit(' ').next().unwrap_or_default().to_owned();
    let leaves = Leaves::read(&origin.leaves)?;
    let choice = Choice { level, layout: origin.layout, ..Choice::of(leaves) };
    let names: Vec<String> = PROFILES.iter().map(|profile| profile.name().to_owned()).collect();
    let profile = Profile::named(&origin.profile).ok_or_else(|| ::explore::Error::Choice {
        what: "processor",
        found: origin.profile.clone(),
        known: names,
    })?;
    Ok((choice, profile))
}

/// The image that models are of, or the one that tells what is secret besides: by the same compiler.
fn image_of(root: Option<&PathBuf>, models: &Models, tells_secrets: bool) -> Result<Image, Error> {
    let (choice, _) = made_of(models)?;
    let image = image(root, &Choice { tells_secrets, ..choice })?;
    if image.compiler != models.origin.compiler {
        let (found, expected) = (models.origin.compiler.clone(), image.compiler);
        return Err(::explore::Error::OtherCompiler { found, expected }.into());
    }
    Ok(image)
}
