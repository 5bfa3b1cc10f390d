//! `selvedge pack`: firmware made smaller and sealed, and what running it so costs. A verb a file.
//!
//! Owns the list of verbs and reading what they are given. What packing, sealing and running are is the tool's
//! (`pack`); here are flags, files, tables and pages.

use std::fs;
use std::path::{Path, PathBuf};

use ::pack::Section;
use ::pack::flow::FIXED_SECTIONS;
use isa::sparc::user::Windows;
use selvedge::error::{Error, PackFault};
use selvedge::whole::is_same_file;

use crate::output::Output;

mod analyze;
mod build;
mod key;
mod opened;
mod run;
pub mod runs;
mod settings;
mod sweep;
mod words;

/// Pack and seal firmware, and run it behind caches and a decipher, with what each costs
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    selvedge pack analyze corpus/sparc/minigzip.elf\n  \
    selvedge pack key -o device.key\n  \
    selvedge pack build corpus/sparc/minigzip.elf -o minigzip.spk --device-key device.key\n  \
    selvedge pack run minigzip.spk --device-key device.key --against corpus/sparc/minigzip.elf \\\n    \
    --stdin README.md > readme.gz\n\
    A program is one for SPARC V8 or RV32IM, linked with its relocations kept (`-Wl,-q`), or it is sealed\n\
    and not packed.")]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Say what packing and sealing a program would give, before adopting either
    Analyze(analyze::Arguments),
    /// Make the key of a device, in a file that only its owner can read
    Key(key::Arguments),
    /// Pack a program, seal it for a device, and write it as a container
    Build(Box<build::Arguments>),
    /// Run a container or a program behind cache, decipher and memory, and count
    Run(run::Arguments),
    /// Measure what packing does behind many caches, with functions in many orders
    Sweep(sweep::Arguments),
    /// Check every tag of a container
    Verify(opened::Verify),
    /// Write what a container holds, opened, as an ELF file
    Unseal(opened::Unseal),
}

/// Does what the subcommand says.
pub fn run(arguments: Arguments, output: &Output) -> Result<(), Error> {
    match arguments.command {
        Command::Analyze(arguments) => analyze::run(&arguments, output),
        Command::Key(arguments) => key::run(&arguments, output),
        Command::Build(arguments) => build::run(&arguments, output),
        Command::Run(arguments) => run::run(&arguments, output),
        Command::Sweep(arguments) => sweep::run(&arguments, output),
        Command::Verify(arguments) => opened::verify(&arguments, output),
        Command::Unseal(arguments) => opened::unseal(&arguments, output),
    }
}

/// The bytes of a file.
fn read(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|source| Error::io("read", path, source))
}

/// Checks that every file that is written has a place of its own.
fn check_own_places(read: &[&Path], written: &[&Path]) -> Result<(), Error> {
    for (index, path) in written.iter().enumerate() {
        let others = read.iter().chain(&written[..index]);
        if let Some(other) = others.copied().find(|other| is_same_file(path, other)) {
            return Err(PackFault::Overwrites { other: other.to_owned() }.of(path));
        }
    }
    Ok(())
}

/// Paths of values that may be there.
fn paths<'a>(files: impl IntoIterator<Item = &'a Option<PathBuf>>) -> Vec<&'a Path> {
    files.into_iter().flatten().map(PathBuf::as_path).collect()
}

/// The table of traps that a program brings, if it does.
fn traps(sections: &[Section]) -> Option<u32> {
    let table = sections.iter().find(|section| FIXED_SECTIONS.contains(&section.name.as_str()));
    table.map(|section| section.first)
}

/// Who spills and fills a program's register windows: itself, if it brings its table of traps.
fn windows(traps: Option<u32>) -> Windows {
    traps.map_or(Windows::Environment, |table| Windows::Image { table })
}

/// An address or another number: hexadecimal behind `0x`.
fn number(text: &str) -> Result<u32, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| format!("found `{text}`, expected a number, hexadecimal behind `0x`"))
}
