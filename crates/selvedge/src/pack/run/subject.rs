//! What is run: a program as it is, or an image that was booted; and what it runs in.
//!
//! Owns: reading both, the two instruction sets, and which flags are for one of them alone. What each surrounding does
//! is `isa`'s.

use std::path::Path;

use ::pack::chain::profile::Counted;
use ::pack::chain::run::{self, End};
use ::pack::chain::{Protection, boot, sealed};
use ::pack::container::MAGIC;
use ::pack::{Image, RunError, Sections, Target};
use indicatif::{ProgressBar, ProgressStyle};
use isa::Cycles;
use isa::sparc::{self, FaultKind, Files, Observer, Trap, user};
use isa::{elf, rv32};
use selvedge::error::{Error, PackFault};

use super::figures::Took;
use super::{Arguments, board};
use crate::pack::opened::Opened;
use crate::pack::{traps, windows};

/// How far a run goes before who waits is told so, in cycles.
const STRIDE_CYCLES: Cycles = 200_000_000;
/// The register in which a program on a board leaves its status.
const O0: u8 = 8;

/// Something that can be run.
pub struct Subject {
    image: Image,
    protection: Protection,
    /// What a boot reads.
    boot: Vec<boot::Piece>,
    /// Its table of traps, if it brings one.
    pub traps: Option<u32>,
    /// For what it executes, if it is as it was before it was packed.
    pub counted: Option<Counted>,
}

/// How a run went.
pub struct Ran {
    pub took: Took,
    /// What it wrote to standard error output.
    pub errors: Vec<u8>,
    /// What it ended with, if it did end.
    pub ended: Result<u32, PackFault>,
}

/// An ELF file of one of the instruction sets as it is.
fn unpacked<const MACHINE: u16>(path: &Path, bytes: &[u8]) -> Result<(Image, Counted), Error> {
    let refused = |error| PackFault::Run(RunError::Image(error)).of(path);
    let program = elf::Image::<MACHINE>::parse(bytes).map_err(refused)?;
    Ok((run::unpacked(&program), Counted::of(&program)))
}

impl Subject {
    /// A program as it is.
    pub fn plain(path: &Path, bytes: &[u8]) -> Result<Subject, Error> {
        let sections = Sections::parse(bytes).map_err(|error| PackFault::from(error).of(path))?;
        let found = sections.machine.number;
        let target = sections.machine.target().ok_or(RunError::Machine { found });
        let (image, counted) = match target.map_err(|error| PackFault::from(error).of(path))? {
            Target::Sparc => unpacked::<{ elf::SPARC }>(path, bytes)?,
            Target::Rv32 => unpacked::<{ elf::RISCV }>(path, bytes)?,
        };
        let (boot, traps) = (boot::of_image(&image), traps(&sections.sections));
        Ok(Subject { image, protection: Protection::default(), boot, traps, counted: Some(counted) })
    }

    /// What a file holds: a program, or a container that is booted.
    pub fn of(arguments: &Arguments, bytes: &[u8]) -> Result<Subject, Error> {
        let path = &arguments.image;
        if !bytes.starts_with(&MAGIC) {
            return Subject::plain(path, bytes);
        }
        if arguments.profile_out.is_some() {
            return Err(PackFault::Sealed { what: "a profile" }.of(path));
        }
        let opened = Opened::of(path, bytes, &arguments.opening)?;
        let boot = boot::of_container(opened.container());
        let unlocked = opened.unlock(&arguments.opening).map_err(|error| PackFault::from(error).of(path))?;
        let (image, protection) = sealed::boot(unlocked).map_err(|error| PackFault::from(error).of(path))?;
        let traps = traps(&image.sections);
        Ok(Subject { image, protection, boot, traps, counted: None })
    }

    /// Its instruction set.
    pub fn target(&self) -> Target {
        self.image.target
    }
}

impl Arguments {
    /// Refuses what is of another instruction set than the program.
    pub fn check_target(&self, found: Target) -> Result<(), Error> {
        let board = (self.board && found != Target::Sparc).then_some(("`--board`", Target::Sparc));
        match board.or(self.hardware.other_timing(found)) {
            Some((what, expected)) => Err(PackFault::OtherTarget { what, found, expected }.of(&self.image)),
            None => Ok(()),
        }
    }

    /// Boots it and runs it to its end.
    pub fn ran<O: Observer>(
        &self,
        path: &Path,
        subject: Subject,
        files: &Files,
        observer: &mut O,
    ) -> Result<Ran, Error> {
        let bar = spinner();
        let refused = |error: RunError| PackFault::from(error).of(path);
        let fill = run::straight(&subject.image, &subject.protection, &self.hardware.settings());
        let boot_cycles = fill.and_then(|fill| boot::cycles(fill, &subject.boot)).map_err(refused)?;
        let start = Start { path, subject, files, boot_cycles, bar: &bar };
        let ran = match (start.subject.target(), self.board) {
            (Target::Rv32, _) => self.on_rv32(start, observer),
            (Target::Sparc, true) => self.on_board(start, observer),
            (Target::Sparc, false) => self.on_sparc(start, observer),
        };
        bar.finish_and_clear();
        ran
    }

    fn on_sparc<O: Observer>(&self, start: Start<'_>, observer: &mut O) -> Result<Ran, Error> {
        let Start { path, subject, files, boot_cycles, bar } = start;
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
        Ok(Ran { took: Took::of_sparc(outcome, boot_cycles), errors: program.files.errors, ended })
    }

    fn on_rv32<O: Observer>(&self, start: Start<'_>, observer: &mut O) -> Result<Ran, Error> {
        let Start { path, subject, files, boot_cycles, bar } = start;
        let core = rv32::user::Settings { timing: self.hardware.timing_rv32(), ..Default::default() };
        let (image, protection, settings) = (&subject.image, &subject.protection, self.hardware.settings());
        let started = run::rv32::under_linux(image, protection, &settings, &self.told(), files.clone(), core);
        let mut program = started.map_err(|error| PackFault::from(error).of(path))?;
        let outcome = self.to_the_end(bar, |until| run::rv32::finish(&mut program, until, observer));
        let ended = match outcome.end {
            End::Exit(status) => Ok(status.into()),
            End::Fault(fault) => Err(fault.into()),
            End::Reached => Err(PackFault::NotEnded { limit: self.limit }),
        };
        Ok(Ran { took: Took::of_rv32(outcome, boot_cycles), errors: program.files.errors, ended })
    }

    fn on_board<O: Observer>(&self, start: Start<'_>, observer: &mut O) -> Result<Ran, Error> {
        let Start { path, mut subject, files, boot_cycles, bar } = start;
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
        Ok(Ran { took: Took::of_sparc(outcome, boot_cycles), errors: Vec::new(), ended })
    }

    /// Runs until it ends or is given up, and says meanwhile how far it is.
    fn to_the_end<S, W>(
        &self,
        bar: &ProgressBar,
        mut run: impl FnMut(Cycles) -> run::Outcome<S, W>,
    ) -> run::Outcome<S, W> {
        let mut until = 0;
        loop {
            until = self.limit.min(until + STRIDE_CYCLES);
            let outcome = run(until);
            if !matches!(outcome.end, End::Reached) || until == self.limit {
                return outcome;
            }
            bar.set_position(until / 1_000_000);
        }
    }
}

/// A run that is about to begin.
struct Start<'a> {
    path: &'a Path,
    subject: Subject,
    files: &'a Files,
    boot_cycles: Cycles,
    bar: &'a ProgressBar,
}

/// Says how far a run is, where standard error is a terminal.
fn spinner() -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {pos} million cycles");
    ProgressBar::new_spinner().with_style(style.expect("the template is ours"))
}
