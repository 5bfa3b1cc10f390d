//! `selvedge pack run`: a container, or a program as it is, behind cache, decipher and memory, with what it took.
//!
//! Owns the verb: what is run in which surroundings, where the program's output goes, and comparing it with the plain
//! program. What is simulated is `pack::chain`'s and `isa`'s.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use ::pack::chain::profile::Counted;
use ::pack::chain::run::{self, End};
use ::pack::chain::{Outcome, Protection, sealed};
use ::pack::container::MAGIC;
use ::pack::{Image, Profile, RunError, Sections};
use indicatif::{ProgressBar, ProgressStyle};
use isa::Cycles;
use isa::sparc::user;
use isa::sparc::{self, FaultKind, Files, Observer, Trap};
use selvedge::error::{Error, PackFault};
use selvedge::whole;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::key::Opening;
use super::opened::Opened;
use super::words::percent;
use super::{check_own_places, paths, read, traps, windows};
use crate::output::Output;
use hardware::Hardware;

mod board;
mod figures;
mod hardware;

/// How far a run goes before who waits is told so, in cycles.
const STRIDE_CYCLES: Cycles = 200_000_000;
/// The register in which a program on a board leaves its status.
const O0: u8 = 8;

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    selvedge pack run minigzip.spk --device-key device.key --against corpus/sparc/minigzip.elf \\\n    \
    --stdin README.md > readme.gz\n  \
    selvedge pack run corpus/sparc/search.elf --file data/workload/texts/wizard.txt \\\n    \
    --file data/workload/texts/wizard.patterns --profile-out search.profile -- \\\n    \
    data/workload/texts/wizard.patterns data/workload/texts/wizard.txt\n  \
    selvedge pack run my.spk --device-key device.key --cache 4096x2x32 --memory 30+2 --cipher 11/1\n\
    What the program prints is printed, and the figures on standard error; with --json only the figures\n\
    are, and what it prints goes to --stdout or nowhere. What a boot takes is not among the cycles.\n\
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

/// Something that can be run.
struct Subject {
    image: Image,
    protection: Protection,
    /// Its table of traps, if it brings one.
    traps: Option<u32>,
}

/// How a run went.
struct Ran {
    outcome: Outcome,
    /// What it wrote to standard error output.
    errors: Vec<u8>,
    /// What it ended with, if it did end.
    ended: Result<u32, PackFault>,
}

/// A program as it is.
fn plain(path: &Path, bytes: &[u8]) -> Result<(Subject, sparc::Image), Error> {
    let sections = Sections::parse(bytes).map_err(|error| PackFault::from(error).of(path))?;
    let refused = |error| PackFault::Run(RunError::Image(error)).of(path);
    let program = sparc::Image::parse(bytes).map_err(refused)?;
    let (image, traps) = (run::unpacked(&program), traps(&sections.sections));
    Ok((Subject { image, protection: Protection::default(), traps }, program))
}

impl Arguments {
    fn subject(&self, bytes: &[u8]) -> Result<(Subject, Option<sparc::Image>), Error> {
        let path = &self.image;
        if !bytes.starts_with(&MAGIC) {
            return plain(path, bytes).map(|(subject, program)| (subject, Some(program)));
        }
        if self.profile_out.is_some() {
            return Err(PackFault::Sealed { what: "a profile" }.of(path));
        }
        let opened = Opened::of(path, bytes, &self.opening)?;
        let unlocked = opened.unlock(&self.opening).map_err(|error| PackFault::from(error).of(path))?;
        let (image, protection) = sealed::boot(unlocked).map_err(|error| PackFault::from(error).of(path))?;
        let traps = traps(&image.sections);
        Ok((Subject { image, protection, traps }, None))
    }

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

    fn ran<O: Observer>(
        &self,
        path: &Path,
        subject: Subject,
        files: &Files,
        observer: &mut O,
    ) -> Result<Ran, Error> {
        let bar = spinner();
        let ran = if self.board {
            self.on_board(path, subject, files, observer, &bar)
        } else {
            self.under_linux(path, &subject, files, observer, &bar)
        };
        bar.finish_and_clear();
        ran
    }

    fn under_linux<O: Observer>(
        &self,
        path: &Path,
        subject: &Subject,
        files: &Files,
        observer: &mut O,
        bar: &ProgressBar,
    ) -> Result<Ran, Error> {
        let windows = windows(subject.traps);
        let core = user::Settings { machine: self.hardware.core(), windows, ..user::Settings::default() };
        let (image, protection, settings) = (&subject.image, &subject.protection, self.hardware.settings());
        let started = run::under_linux(image, protection, &settings, &self.told(), files.clone(), core);
        let mut program = started.map_err(|error| PackFault::from(error).of(path))?;
        let outcome = self.to_the_end(bar, |until| run::finish(&mut program, until, observer));
        let ended = match outcome.end {
            End::Exit(status) => Ok(status.into()),
            End::Fault(fault) => Err(fault.into()),
            End::Reached => Err(PackFault::NotEnded { limit: self.limit }),
        };
        Ok(Ran { outcome, errors: program.files.errors, ended })
    }

    fn on_board<O: Observer>(
        &self,
        path: &Path,
        mut subject: Subject,
        files: &Files,
        observer: &mut O,
        bar: &ProgressBar,
    ) -> Result<Ran, Error> {
        subject.image.entry = subject.traps.ok_or_else(|| PackFault::NoTraps.of(path))?;
        let archive = board::archive(&self.told(), files);
        let loaded: [(u32, &[u8]); 1] = [(board::ARCHIVE_FIRST, &archive)];
        let (image, protection, settings) = (&subject.image, &subject.protection, self.hardware.settings());
        let memory_bytes = sparc::bare::MEMORY_BYTES;
        let started =
            run::on_board(image, protection, &settings, self.hardware.core(), memory_bytes, &loaded);
        let mut machine = started.map_err(|error| PackFault::from(error).of(path))?;
        let outcome = self.to_the_end(bar, |until| run::finish_board(&mut machine, until, observer));
        let ended = match outcome.end {
            // How a program that has nobody to return to ends: `ta 0` with traps disabled.
            End::Fault(fault) if fault.kind == (FaultKind::ErrorMode { trap: Trap::software(0) }) => {
                Ok(machine.register(O0))
            }
            End::Fault(fault) => Err(fault.into()),
            End::Exit(_) | End::Reached => Err(PackFault::NotEnded { limit: self.limit }),
        };
        Ok(Ran { outcome, errors: Vec::new(), ended })
    }

    /// Runs until it ends or is given up, and says meanwhile how far it is.
    fn to_the_end(&self, bar: &ProgressBar, mut run: impl FnMut(Cycles) -> Outcome) -> Outcome {
        let mut until = 0;
        loop {
            until = self.limit.min(until + STRIDE_CYCLES);
            let outcome = run(until);
            if outcome.end != End::Reached || until == self.limit {
                return outcome;
            }
            bar.set_position(until / 1_000_000);
        }
    }
}

/// Says how far a run is, where standard error is a terminal.
fn spinner() -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {pos} million cycles");
    ProgressBar::new_spinner().with_style(style.expect("the template is ours"))
}

/// Runs the verb.
pub fn run(arguments: &Arguments, output: &Output) -> Result<(), Error> {
    let path = &arguments.image;
    let inputs: Vec<&Path> = [path.as_path()]
        .into_iter()
        .chain(paths([&arguments.against, &arguments.stdin, &arguments.opening.device_key]))
        .collect();
    check_own_places(&inputs, &paths([&arguments.stdout, &arguments.profile_out]))?;
    let (subject, program) = arguments.subject(&read(path)?)?;
    let other = match &arguments.against {
        Some(path) => Some((path, plain(path, &read(path)?)?.0)),
        None => None,
    };
    let files = arguments.files()?;
    let has_own_windows = subject.traps.is_some();
    let ran = match (&arguments.profile_out, program) {
        (Some(file), Some(program)) => {
            let mut counted = Counted::of(&program);
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
        (Ok(_), Some((other, plain))) if plain.outcome.output != ran.outcome.output => {
            Some(PackFault::Differs { other: other.to_path_buf() })
        }
        (Ok(0), _) => None,
        (Ok(found), _) => Some(PackFault::Status { found: *found }),
    };
    let plain = beside.as_ref().map(|(_, plain)| &plain.outcome);
    let windows = if has_own_windows { "image" } else { "environment" };
    print(arguments, &ran, output)?;
    match fault {
        // One value on standard output: the fault is told there by who called.
        Some(fault) if output.is_json() => Err(fault.of(path)),
        None if output.is_json() => output.put("", &value(arguments, &ran.outcome, plain, windows)),
        fault => {
            aside(text(arguments, &ran.outcome, plain, has_own_windows).as_bytes());
            fault.map_or(Ok(()), |fault| Err(fault.of(path)))
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
        Some(file) => whole::write(file, &ran.outcome.output),
        None if output.is_json() => Ok(()),
        None => output.bytes(&ran.outcome.output),
    }
}

fn text(arguments: &Arguments, outcome: &Outcome, plain: Option<&Outcome>, has_own_windows: bool) -> String {
    let mut text = figures::text(outcome, plain);
    text += match (arguments.board, has_own_windows) {
        (true, _) => "on a board, with its own table of traps\n",
        (false, true) => {
            "under Linux's calls; its own handlers spill and fill register windows, and are counted\n"
        }
        (false, false) => "under Linux's calls, which spill and fill register windows at no cost\n",
    };
    if let Some(plain) = plain {
        text += &format!("cycles: {:.1} % of plain\n", percent(outcome.cycles as f64, plain.cycles as f64));
    }
    text
}

fn value(arguments: &Arguments, outcome: &Outcome, plain: Option<&Outcome>, windows: &str) -> Value {
    let sha256: String = Sha256::digest(&outcome.output).iter().map(|byte| format!("{byte:02x}")).collect();
    json!({
        "image": arguments.image, "surroundings": if arguments.board { "board" } else { "linux" },
        "windows": windows, "stdout_bytes": outcome.output.len(), "stdout_sha256": sha256,
        "run": figures::value(outcome), "plain": plain.map(figures::value),
        "of_plain": plain.map(|plain| outcome.cycles as f64 / plain.cycles as f64),
    })
}
