//! What programs are told when they are measured: a file with a line for each run, and files beside it.
//!
//! Owns reading it, which inputs are learnt from, and what a program of it is to a sweep.

use std::collections::BTreeMap;
use std::path::Path;

use ::pack::Program;
use ::pack::sweep::{Input, Subject};
use isa::Cycles;
use isa::sparc::{Files, user};
use selvedge::error::{Error, PackFault};

use super::{read, traps, windows};

/// Inputs that are learnt from when nobody says which.
const TRAINED: usize = 3;

/// The name by which the runs know a program: its file's, without what is behind the last dot.
pub fn name(program: &Path) -> String {
    program.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

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

/// What is learnt from, by the names of `train` or else the first three; and what is measured, by those of `measure` or
/// else all others.
pub fn parted(
    runs: &Path,
    inputs: Vec<Input>,
    [train, measure]: [&[String]; 2],
) -> Result<[Vec<Input>; 2], Error> {
    let known: Vec<String> = inputs.iter().map(|input| input.name.clone()).collect();
    if let Some(found) = train.iter().chain(measure).find(|name| !known.contains(name)) {
        return Err(PackFault::WhichInput { found: Some(found.clone()), inputs: known }.of(runs));
    }
    let trained = if train.is_empty() { &known[..TRAINED.min(known.len())] } else { train };
    let is_measured = |name: &String| match measure.is_empty() {
        true => !trained.contains(name),
        false => measure.contains(name),
    };
    let of =
        |keep: &dyn Fn(&String) -> bool| inputs.iter().filter(|input| keep(&input.name)).cloned().collect();
    Ok([of(&|name| trained.contains(name)), of(&is_measured)])
}

/// The same where there must be some of both.
pub fn parted_in_two(
    runs: &Path,
    inputs: Vec<Input>,
    asked: [&[String]; 2],
) -> Result<[Vec<Input>; 2], Error> {
    let known = inputs.iter().map(|input| input.name.clone()).collect();
    let parts = parted(runs, inputs, asked)?;
    match parts.iter().any(Vec::is_empty) {
        true => Err(PackFault::WhichInput { found: None, inputs: known }.of(runs)),
        false => Ok(parts),
    }
}

/// The program of a file, with what is learnt from and what is measured.
pub fn subject(path: &Path, name: &str, [training, measured]: [Vec<Input>; 2]) -> Result<Subject, Error> {
    let program = Program::parse(&read(path)?).map_err(|error| PackFault::from(error).of(path))?;
    let user = user::Settings { windows: windows(traps(&program.sections)), ..user::Settings::default() };
    Ok(Subject { name: name.to_owned(), program, user, training, measured })
}
