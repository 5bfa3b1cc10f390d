//! What a host calls in libgcc and in the C library, as if its text had been given.
//!
//! Owns: which functions are looked for, and reading a program until none is missing that the library has. Where the
//! archives are is the compiler's to say (`toolchain`), what is in them `weave::archive`'s.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::PathBuf;

use ::weave::archive::{Archive, ArchiveError};
use ::weave::directive::Parameters;
use ::weave::error::Place;
use ::weave::program::{Callee, Flow, Origin, Point, Program};
use ::weave::source::Source;
use isa::avr::CoreType;

use super::texts::Text;
use crate::error::{Error, WeaveFault};
use crate::toolchain::{Compiler, Fault};

/// The function `root` of these texts with all that it calls. What no text has is looked for in the library, and added to
/// the texts; without a compiler for the chip there is no library, which [`lacks`] says.
///
/// # Errors
/// When a text, or what the library has, cannot be read.
pub fn read(
    texts: &mut Vec<Text>,
    root: &str,
    parameters: &Parameters,
    core: Option<CoreType>,
    chip: Option<&str>,
) -> Result<Program, Error> {
    let given = texts.len();
    let (mut library, mut asked) = (None, BTreeSet::new());
    loop {
        let sources: Vec<Source> = texts.iter().map(|text| text.assembly.clone()).collect();
        let program = Program::read(&sources, &[root], parameters, core)?.0;
        let missing: Vec<String> =
            missing(&program).into_iter().filter(|name| asked.insert(name.clone())).collect();
        let Some(chip) = chip.filter(|_| !missing.is_empty()) else { return Ok(program) };
        let library = match &library {
            Some(library) => library,
            None => library.insert(Library::of(chip)?),
        };
        let known = texts.len();
        for name in missing {
            let found = library.function(&name).map_err(|why| {
                let at = call(&program, &name, given);
                Error::Woven(WeaveFault::Library { at, callee: name, why })
            });
            texts.extend(found?);
        }
        if texts.len() == known {
            return Ok(program);
        }
    }
}

/// Why there is none for a chip, if so.
pub fn lacks(chip: &str) -> Option<String> {
    match archives(chip) {
        Err(Error::Toolchain(Fault::NoCompiler)) => Some("found no avr-gcc on PATH".to_owned()),
        Err(Error::Toolchain(_)) => Some(format!("avr-gcc does not know {chip}")),
        _ => None,
    }
}

fn archives(chip: &str) -> Result<Vec<PathBuf>, Error> {
    Compiler::find(&env::var_os("PATH").unwrap_or_default())?.archives(chip)
}

/// The functions that are called and are not here.
fn missing(program: &Program) -> BTreeSet<String> {
    let callees = program.code.iter().filter_map(|step| callee(&step.flow));
    let names = callees.filter_map(|callee| match callee {
        Callee::Unknown(name) => Some(name.clone()),
        Callee::Known(_) => None,
    });
    names.collect()
}

fn callee(flow: &Flow) -> Option<&Callee> {
    match flow {
        Flow::Call(callee) | Flow::TailCall(callee) => Some(callee),
        _ => None,
    }
}

/// The call in one of the first texts, so many as were given, by which the missing function `name` is reached: that of the
/// function itself, or of one of the library that calls it.
fn call(program: &Program, name: &str, given: usize) -> Box<Place> {
    let calls = |is_it: &dyn Fn(&Callee) -> bool| -> Vec<Point> {
        let points = 0..program.code.len();
        points.filter(|&point| callee(&program.code[point].flow).is_some_and(is_it)).collect()
    };
    let is_given = |point: &Point| match program.code[*point].origin {
        Origin::Line { text, .. } => text < given,
        Origin::Address(_) => false,
    };
    let mut reached = calls(&|callee| *callee == Callee::Unknown(name.to_owned()));
    let mut next = 0;
    while let Some(&point) = reached.get(next).filter(|_| !reached.iter().any(is_given)) {
        let caller = program.function_at(point).map(|function| function.entry);
        let above = calls(&|callee| match callee {
            Callee::Known(to) => program.function_at(*to).map(|function| function.entry) == caller,
            Callee::Unknown(_) => false,
        });
        reached.extend(above.into_iter().filter(|point| !reached.contains(point)).collect::<Vec<_>>());
        next += 1;
    }
    let point = reached.iter().copied().find(is_given).unwrap_or(reached[0]);
    program.place_of(point)
}

/// The archives that the compiler links with, in its order.
struct Library(Vec<(PathBuf, Vec<u8>)>);

impl Library {
    fn of(chip: &str) -> Result<Library, Error> {
        let archives = match archives(chip) {
            // Then nothing is found in it, and what is called is refused with the reason.
            Err(Error::Toolchain(_)) => Vec::new(),
            found => found?,
        };
        let read = |path: PathBuf| match fs::read(&path) {
            Ok(bytes) => Ok((path, bytes)),
            Err(source) => Err(Error::io("read", &path, source)),
        };
        archives.into_iter().map(read).collect::<Result<_, Error>>().map(Library)
    }

    fn function(&self, name: &str) -> Result<Option<Text>, ArchiveError> {
        for (path, bytes) in &self.0 {
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            if let Some(assembly) = Archive::parse(&file, bytes)?.function(name)? {
                let written = assembly.text().to_owned();
                return Ok(Some(Text { path: assembly.name().into(), written, assembly, made_by: None }));
            }
        }
        Ok(None)
    }
}
