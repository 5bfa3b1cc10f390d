//! Every word that this tool says when its input is wrong.
//!
//! Owns: the one closed enum, its fields, its words, and which of them are the environment's failures (a compiler
//! that is not there, a disk); our own bugs are assertions.

use std::fmt;
use std::path::PathBuf;

use crate::image::replaceable;

/// Why something is not measured, modelled, estimated or ranked.
#[derive(Clone, Debug, PartialEq)]
pub enum Error {
    /// A choice that does not exist.
    Choice {
        /// Of what.
        what: &'static str,
        /// As found.
        found: String,
        /// What there is.
        known: Vec<String>,
    },
    /// A candidate whose parts are not five.
    Candidate {
        /// As found.
        found: String,
    },
    /// A candidate that a space does not have.
    NotOfSpace {
        /// The space.
        space: &'static str,
        /// As found.
        found: String,
        /// What it has.
        known: Vec<String>,
    },
    /// A method with a window that it does not have.
    Window {
        /// As found.
        found: String,
    },
    /// The library did not do what a request asked.
    Refused {
        /// The operation.
        operation: &'static str,
        /// The status of its response.
        status: u16,
    },
    /// A line of a file of models that is none.
    ModelLine {
        /// From 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// A file that has not as many models as it says.
    ModelsCut {
        /// How many it has.
        found: usize,
        /// How many it was written with.
        expected: usize,
    },
    /// A file of models that is not as it was written.
    ModelsChanged {
        /// The digest of what there is.
        found: String,
        /// The digest that it says.
        expected: String,
    },
    /// Models of another library than the one that is estimated.
    ModelStale {
        /// The routine.
        routine: String,
        /// Its features as modelled.
        found: String,
        /// As the library counts them.
        expected: String,
    },
    /// A routine that was called and has no model.
    NoModel {
        /// The routine.
        routine: String,
        /// The profile.
        profile: String,
    },
    /// An estimate that is to be relied on, and cannot.
    Doubtful {
        /// What it is of.
        subject: String,
        /// Why not.
        why: String,
    },
    /// A routine was asked beyond what it was characterised for.
    OutOfDomain {
        /// The routine.
        routine: String,
        /// The feature.
        feature: String,
        /// Of a call; of what calls count as they go, the mean.
        found: f64,
        /// The least that was characterised.
        least: f64,
        /// The most.
        most: f64,
    },
    /// There is no compiler for the processor, or none of what comes with it.
    NoCompiler {
        /// What was looked for.
        program: &'static str,
        /// The package that it is in.
        package: &'static str,
    },
    /// The compiler has no C library.
    NoLibrary,
    /// There is no source tree.
    NoTree {
        /// The folder that is missing.
        folder: PathBuf,
    },
    /// A source tree that is not that of the library which counts.
    OtherSources {
        /// The folder of its sources.
        folder: PathBuf,
        /// Their digest.
        found: String,
        /// That of the library.
        expected: String,
    },
    /// A file in place of routines that has none, or something else.
    InPlace {
        /// The file.
        path: PathBuf,
        /// What it defines and is no routine; nothing where it defines nothing.
        found: Option<String>,
    },
    /// The compiler refused something.
    Compile {
        /// What.
        what: String,
        /// What it said.
        words: String,
    },
    /// A file that cannot be read or written.
    Io {
        /// What was to be done.
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system says.
        why: String,
    },
    /// A program that was made and does not do.
    Image {
        /// Why not.
        why: String,
    },
    /// Models of what another compiler made.
    OtherCompiler {
        /// As the models say.
        found: String,
        /// The one that there is.
        expected: String,
    },
    /// Models that are not to be ranked beside others.
    Beside {
        /// What of them is not as it should be.
        what: &'static str,
        /// As found.
        found: String,
        /// What would do.
        expected: String,
    },
    /// A family whose counts no formula tells.
    NoFormula {
        /// The family.
        family: &'static str,
    },
    /// A line of what is kept that is none.
    RowLine {
        /// From 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// What is kept of another run.
    OtherRun {
        /// What is not the same.
        what: String,
        /// As kept.
        found: String,
        /// As it is now.
        expected: String,
    },
    /// A size that a family does not have.
    Size {
        /// The family.
        family: &'static str,
        /// As found.
        found: u32,
        /// What it has.
        expected: &'static str,
    },
    /// Too few different measurements of a routine for a model.
    TooFew {
        /// The routine.
        routine: String,
        /// How many there are.
        found: usize,
    },
}

impl Error {
    /// Whether the environment failed, and not the input.
    pub fn is_environment(&self) -> bool {
        matches!(
            self,
            Error::NoCompiler { .. }
                | Error::NoLibrary
                | Error::NoTree { .. }
                | Error::Io { .. }
                | Error::Image { .. }
        )
    }

    pub(crate) fn choice<'a>(
        what: &'static str,
        found: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Error {
        let known = known.into_iter().map(str::to_owned).collect();
        Error::Choice { what, found: found.to_owned(), known }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Choice { what, found, known } => {
                write!(out, "no {what} is called `{found}`; expected {}", listed(known))?;
                match nearest(found, known) {
                    Some(name) => write!(out, "\nhelp: did you mean `{name}`?"),
                    None => Ok(()),
                }
            }
            Error::Candidate { found } => write!(
                out,
                "`{found}` is no candidate; expected its multiplication, method, use of the factors, caching and \
                 radix\nhelp: such as `cios/sliding-4/garner/constants/32+squaring`"
            ),
            Error::NotOfSpace { space, found, known } => {
                write!(out, "`{space}` has no candidate `{found}`; expected one of its {}", known.len())?;
                match nearest(found, known) {
                    Some(name) => write!(out, "\nhelp: did you mean `{name}`?"),
                    None => Ok(()),
                }
            }
            Error::Window { found } => {
                write!(
                    out,
                    "no method is called `{found}`; expected `binary`, or another with a window of 1 to 5 bits"
                )
            }
            Error::Refused { operation, status } => {
                write!(out, "the library refused `{operation}` with status {status}")
            }
            Error::ModelLine { line, why } => write!(out, "line {line} of the models: {why}"),
            Error::ModelsCut { found, expected } => write!(
                out,
                "the models are cut: found {found}, expected {expected}\nhelp: make the models again with \
                 `selvedge explore model`"
            ),
            Error::ModelsChanged { found, expected } => write!(
                out,
                "the models were changed: found SHA-256 {found}, expected {expected}\nhelp: make the models again with \
                 `selvedge explore model`"
            ),
            Error::ModelStale { routine, found, expected } => write!(
                out,
                "the model of `{routine}` is of `{found}`, and the library counts `{expected}`\nhelp: make the models \
                 again with `selvedge explore model`"
            ),
            Error::NoModel { routine, profile } => {
                write!(out, "`{routine}` was called and has no model on `{profile}`")
            }
            Error::OutOfDomain { routine, feature, found, least, most } => write!(
                out,
                "`{routine}` was characterised for {feature} of {least} to {most} a call, and is asked for {found}"
            ),
            Error::Doubtful { subject, why } => write!(out, "the estimate of `{subject}` is doubtful: {why}"),
            Error::NoCompiler { program, package } => write!(
                out,
                "found no `{program}`\nhelp: it is in the package {package} (scripts/install.sh test)"
            ),
            Error::NoLibrary => write!(
                out,
                "the compiler for RV32 has no C library\nhelp: it is in the package picolibc-riscv64-unknown-elf \
                 (scripts/install.sh test)"
            ),
            Error::NoTree { folder } => write!(
                out,
                "found no sources in `{}`\nhelp: `--root` names the folder with firmware/ in it",
                folder.display()
            ),
            Error::OtherSources { folder, found, expected } => write!(
                out,
                "the sources in `{}` are not those of this program: found digest {found}, expected {expected}\nhelp: build \
                 selvedge again",
                folder.display()
            ),
            Error::InPlace { path, found } => {
                let path = path.display();
                match found {
                    None => write!(out, "`{path}` defines nothing, expected a routine of the library")?,
                    Some(found) => {
                        write!(out, "`{path}` defines `{found}`, expected routines of the library alone")?
                    }
                }
                let names: Vec<String> = replaceable().map(str::to_owned).collect();
                if let Some(name) = found.as_ref().and_then(|found| nearest(found, &names)) {
                    write!(out, "\nhelp: did you mean `{name}`?")?;
                }
                write!(out, "\nhelp: what only this file uses is `static`")
            }
            Error::Compile { what, words } => {
                write!(out, "the compiler refuses {what}:\n{}", words.trim_end())
            }
            Error::Io { action, path, why } => write!(out, "cannot {action} `{}`: {why}", path.display()),
            Error::Image { why } => write!(out, "the program for the processor is of no use: {why}"),
            Error::OtherCompiler { found, expected } => write!(
                out,
                "the models are of what another compiler made: found `{found}`, expected `{expected}`\nhelp: make the \
                 models again with `selvedge explore model`"
            ),
            Error::Beside { what, found, expected } => write!(
                out,
                "these models cannot stand beside others: found {what} `{found}`, expected {expected}"
            ),
            Error::NoFormula { family } => write!(
                out,
                "no formula tells what `{family}` counts; expected a space of exponentiation\nhelp: leave `--analytic` \
                 away, and each is run natively"
            ),
            Error::RowLine { line, why } => write!(out, "line {line} of what is kept: {why}"),
            Error::OtherRun { what, found, expected } => write!(
                out,
                "what is kept is another run's: found {what} {found}, expected {expected}\nhelp: another name for \
                 `--out` keeps both"
            ),
            Error::Size { family, found, expected } => {
                write!(out, "`{family}` has no size of {found}; expected {expected}")
            }
            Error::TooFew { routine, found } => {
                write!(out, "`{routine}` was measured {found} times, too few for a model")
            }
        }
    }
}

impl std::error::Error for Error {}

fn listed(known: &[String]) -> String {
    let quoted: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

/// The name that was probably meant.
fn nearest<'a>(found: &str, known: &'a [String]) -> Option<&'a str> {
    let rated = known.iter().map(|name| (strsim::jaro_winkler(found, name), name.as_str()));
    let best = rated.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 >= crate::limits::LIKENESS_LEAST).then_some(best.1)
}
