//! `selvedge pack run`: a container, or a program as it is, behind cache, decipher and memory, with what it took.
//!
//! Owns the verb: what the program is told, where its output goes, and comparing it with the plain program. What is run
//! in which surroundings is `subject`'s, what is simulated `pack::chain`'s and `isa`'s.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use ::pack::{Profile, Target};
use isa::Cycles;
use isa::sparc::Files;
use selvedge::error::{Error, PackFault};
use selvedge::whole;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::key::Opening;
use super::words::percent;
use super::{check_own_places, paths, read};
use crate::output::Output;
use figures::Took;
use hardware::Hardware;
use subject::{Ran, Subject};

mod board;
mod figures;
mod hardware;
mod subject;

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    selvedge pack run minigzip.spk --device-key device.key --against corpus/sparc/minigzip.elf \\\n    \
    --stdin README.md > readme.gz\n  \
    selvedge pack run corpus/sparc/search.elf --file data/workload/texts/wizard.txt \\\n    \
    --file data/workload/texts/wizard.patterns --profile-out search.profile -- \\\n    \
    data/workload/texts/wizard.patterns data/workload/texts/wizard.txt\n  \
    selvedge pack run my.spk --device-key device.key --cache 4096x2x32 --memory 30+2 --cipher 11/1\n\
    What the program prints is printed, and the figures on standard error; with --json only the figures\n\
    are, and what it prints goes to --stdout or nowhere. What a boot takes stands apart.\n\
    Exit code 1: the program failed, printed something else than the other, or a line failed its check.")]
pub struct Arguments {
    /// A container, or a linked ELF file, which is run as it is
    #[arg(value_name = "IMAGE")]
    image: PathBuf,
    #[command(flatten)]
    opening: Opening,
    /// Run this program, too, neither packed nor sealed, and compare
    #[arg(long, value_name = "ELF")]
    against: Option<PathBuf>,
    /// Begin at the table of traps as on a LEON without a system, instead of under Linux's calls
    #[arg(long)]
    board: bool,
    /// A file that the program may open, and what is in it where the name is another
    #[arg(long, value_name = "NAME[=PATH]")]
    file: Vec<String>,
    /// The program's standard input; `-` is this one's
    #[arg(long, value_name = "FILE")]
    stdin: Option<PathBuf>,
    /// Write what the program prints to a file
    #[arg(long, value_name = "FILE")]
    stdout: Option<PathBuf>,
    /// Count how often each instruction is executed, for `pack build --profile`
    #[arg(long, value_name = "FILE")]
    profile_out: Option<PathBuf>,
    /// Cycles after which the program is given up
    #[arg(long, value_name = "CYCLES", default_value_t = Cycles::MAX, hide_default_value = true)]
    limit: Cycles,
    #[command(flatten)]
    hardware: Hardware,
    /// The program's arguments
    #[arg(last = true, value_name = "ARGUMENT")]
    arguments: Vec<String>,
}

impl Arguments {
    fn files(&self) -> Result<Files, Error> {
        let mut named = BTreeMap::new();
        for file in &self.file {
            let (name, path) = file.split_once('=').unwrap_or((file, file));
            named.insert(name.to_owned(), read(Path::new(path))?);
        }
        let mut input = Vec::new();
        match &self.stdin {
            Some(path) if path == Path::new("-") => {
                let read = io::stdin().lock().read_to_end(&mut input);
                read.map_err(|source| Error::io("read", path, source))?;
            }
            Some(path) => input = read(path)?,
            None => {}
        }
        Ok(Files::new(named, input))
    }

    /// The program's name and its arguments. Both of two that are compared have the same name.
    fn told(&self) -> Vec<&str> {
        let name = self.image.file_stem().and_then(|name| name.to_str()).unwrap_or("program");
        [name].into_iter().chain(self.arguments.iter().map(String::as_str)).collect()
    }
}

/// Runs the verb.
pub fn run(arguments: &Arguments, output: &Output) -> Result<(), Error> {
    let path = &arguments.image;
    let inputs: Vec<&Path> = [path.as_path()]
        .into_iter()
        .chain(paths([&arguments.against, &arguments.stdin, &arguments.opening.device_key]))
        .collect();
    check_own_places(&inputs, &paths([&arguments.stdout, &arguments.profile_out]))?;
    let mut subject = Subject::of(arguments, &read(path)?)?;
    arguments.check_target(subject.target())?;
    let other = match &arguments.against {
        Some(path) => Some((path, beside(path, subject.target())?)),
        None => None,
    };
    let files = arguments.files()?;
    let surroundings = Surroundings::of(arguments, &subject);
    let ran = match (&arguments.profile_out, subject.counted.take()) {
        (Some(file), Some(mut counted)) => {
            let ran = arguments.ran(path, subject, &files, &mut counted)?;
            whole::write(file, Profile::new(counted.by_address()).to_string().as_bytes())?;
            ran
        }
        _ => arguments.ran(path, subject, &files, &mut ())?,
    };
    let beside = match other {
        Some((path, other)) => Some((path, arguments.ran(path, other, &files, &mut ())?)),
        None => None,
    };
    let fault = match (&ran.ended, &beside) {
        (Err(fault), _) => Some(fault.clone()),
        (Ok(_), Some((other, plain))) if plain.took.output != ran.took.output => {
            Some(PackFault::Differs { other: other.to_path_buf() })
        }
        (Ok(0), _) => None,
        (Ok(found), _) => Some(PackFault::Status { found: *found }),
    };
    let plain = beside.as_ref().map(|(_, plain)| &plain.took);
    print(arguments, &ran, output)?;
    match fault {
        // One value on standard output: the fault is told there by who called.
        Some(fault) if output.is_json() => Err(fault.of(path)),
        None if output.is_json() => output.put("", &value(arguments, &ran.took, plain, surroundings)),
        fault => {
            aside(text(&ran.took, plain, surroundings).as_bytes());
            fault.map_or(Ok(()), |fault| Err(fault.of(path)))
        }
    }
}

/// The program that another one is compared with.
fn beside(path: &Path, expected: Target) -> Result<Subject, Error> {
    let subject = Subject::plain(path, &read(path)?)?;
    match subject.target() {
        found if found != expected => {
            Err(PackFault::OtherTarget { what: "the image", found, expected }.of(path))
        }
        _ => Ok(subject),
    }
}

/// What a program runs in.
#[derive(Clone, Copy)]
enum Surroundings {
    /// A LEON without a system.
    Board,
    /// Linux's calls, and its own handlers of register windows.
    OwnWindows,
    /// Linux's calls, which spill and fill register windows.
    Windows,
    /// Linux's calls, and no register windows.
    Linux,
}

impl Surroundings {
    fn of(arguments: &Arguments, subject: &Subject) -> Surroundings {
        match (subject.target(), arguments.board, subject.traps.is_some()) {
            (Target::Rv32, ..) => Surroundings::Linux,
            (Target::Sparc, true, _) => Surroundings::Board,
            (Target::Sparc, false, true) => Surroundings::OwnWindows,
            (Target::Sparc, false, false) => Surroundings::Windows,
        }
    }

    /// For a person; and for programs what it is called, and who does what register windows need.
    fn words(self) -> (&'static str, &'static str, Option<&'static str>) {
        match self {
            Surroundings::Board => ("on a board, with its own table of traps", "board", Some("image")),
            Surroundings::OwnWindows => (
                "under Linux's calls; its own handlers spill and fill register windows, and are counted",
                "linux",
                Some("image"),
            ),
            Surroundings::Windows => (
                "under Linux's calls, which spill and fill register windows at no cost",
                "linux",
                Some("environment"),
            ),
            Surroundings::Linux => ("under Linux's calls", "linux", None),
        }
    }
}

/// Prints beside the answer. What standard error does not take is lost; the exit code says enough.
fn aside(bytes: &[u8]) {
    let _ = io::stderr().write_all(bytes);
}

/// Prints what the program printed.
fn print(arguments: &Arguments, ran: &Ran, output: &Output) -> Result<(), Error> {
    aside(&ran.errors);
    match &arguments.stdout {
        Some(file) => whole::write(file, &ran.took.output),
        None if output.is_json() => Ok(()),
        None => output.bytes(&ran.took.output),
    }
}

fn text(took: &Took, plain: Option<&Took>, surroundings: Surroundings) -> String {
    let mut text = figures::text(took, plain);
    text += &format!("{}\n", surroundings.words().0);
    if let Some(plain) = plain {
        text += &format!("cycles: {:.1} % of plain\n", percent(took.cycles as f64, plain.cycles as f64));
    }
    text
}

fn value(arguments: &Arguments, took: &Took, plain: Option<&Took>, surroundings: Surroundings) -> Value {
    let sha256: String = Sha256::digest(&took.output).iter().map(|byte| format!("{byte:02x}")).collect();
    let (_, surroundings, windows) = surroundings.words();
    json!({
        "image": arguments.image, "surroundings": surroundings,
        "windows": windows, "stdout_bytes": took.output.len(), "stdout_sha256": sha256,
        "run": figures::value(took), "plain": plain.map(figures::value),
        "of_plain": plain.map(|plain| took.cycles as f64 / plain.cycles as f64),
    })
}
