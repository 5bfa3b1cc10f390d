//! What programs are told when they are measured: a file with a line for each run, and files beside it.
//!
//! Owns reading it, and what a program of it is to a sweep. Which inputs are learnt from is the verb's.

use std::collections::BTreeMap;
use std::path::Path;

use ::pack::Program;
use ::pack::sweep::{Input, Subject};
use isa::Cycles;
use isa::sparc::{Files, user};
use selvedge::error::{Error, PackFault};

use super::{read, traps, windows};

/// Inputs that are learnt from when nobody says which.
pub const TRAINED: usize = 3;

/// What a program is told, in the order of the file; each run is given up after so many cycles.
pub fn inputs(runs: &Path, program: &str, limit: Cycles) -> Result<Vec<Input>, Error> {
    let text = String::from_utf8(read(runs)?).map_err(|_| PackFault::NotText.of(runs))?;
    let folder = runs.parent().unwrap_or(Path::new(""));
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let of_program = lines.filter_map(|line| line.strip_prefix(program)?.strip_prefix(' '));
    of_program.map(|line| input(program, line, folder, limit)).collect()
}

/// An input from its line: its name, and what the program is told.
fn input(program: &str, line: &str, folder: &Path, limit: Cycles) -> Result<Input, Error> {
    let (words, stdin) =
        line.split_once(" < ").map_or((line, None), |(words, file)| (words, Some(file.trim())));
    let mut words = words.split_whitespace().map(str::to_owned);
    let name = words.next().unwrap_or_default();
    let arguments: Vec<String> = [program.to_owned()].into_iter().chain(words).collect();
    let mut named = BTreeMap::new();
    for argument in &arguments[1..] {
        let path = folder.join(argument);
        if path.is_file() {
            named.insert(argument.clone(), read(&path)?);
        }
    }
    let stdin = stdin.map(|file| read(&folder.join(file))).transpose()?;
    Ok(Input { name, arguments, files: Files::new(named, stdin.unwrap_or_default()), limit })
}

/// The program of a file, with what is learnt from and what is measured.
pub fn subject(path: &Path, name: &str, [training, measured]: [Vec<Input>; 2]) -> Result<Subject, Error> {
    let program = Program::parse(&read(path)?).map_err(|error| PackFault::from(error).of(path))?;
    let user = user::Settings { windows: windows(traps(&program.sections)), ..user::Settings::default() };
    Ok(Subject { name: name.to_owned(), program, user, training, measured })
}
