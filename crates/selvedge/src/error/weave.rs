//! Why nothing was woven, as far as the roof knows: files, chips and names. The threads' own reasons are the tool's.

use std::fmt;
use std::path::PathBuf;

use super::Class;
use ::weave::limits::WOVEN_STATES_MAX;

/// Why nothing was woven.
#[derive(Debug)]
pub enum WeaveFault {
    /// Two functions that cannot be woven.
    NotWoven {
        /// Why.
        refusal: ::weave::error::Refusal,
        /// What else to know: where the lines that it names are written, and options that help.
        notes: Vec<String>,
    },
    /// A file that is neither C nor assembly, by its name.
    NotSource {
        /// The file.
        path: PathBuf,
    },
    /// A file must be compiled, and nobody says for which chip.
    WhichChip {
        /// The file.
        path: PathBuf,
    },
    /// What was timed for one chip or speed is to be woven for another.
    Mistimed {
        /// What it was timed for.
        found: String,
        /// What is asked for.
        expected: String,
        /// The function.
        function: String,
    },
    /// The host's parameters are said to have other sizes than in its definition.
    Arguments {
        /// The file that has the definition.
        path: PathBuf,
        /// The host as it is defined: its name and its parameters.
        prototype: String,
        /// The bytes of its parameters that are said.
        found: Vec<u32>,
        /// Those that it has, where their types are known.
        expected: Option<Vec<u32>>,
    },
    /// The woven function would have a name that is taken.
    NameTaken {
        /// The name.
        name: String,
        /// The file that has it.
        path: PathBuf,
    },
    /// Something would be written in the place of something else.
    Overwrites {
        /// What would be written.
        path: PathBuf,
        /// What is read or written there already.
        other: PathBuf,
    },
    /// A name that nothing has a use for.
    Unused {
        /// The name.
        name: String,
        /// Names that something has a use for.
        used: Vec<String>,
    },
    /// A name that is given different values.
    ManyValues {
        /// The name.
        name: String,
        /// Two of them.
        values: [i64; 2],
    },
    /// No way of weaving is as small as is asked for.
    Growth {
        /// What is asked for.
        growth_max: f64,
        /// The smallest that is possible, in hundredths.
        smallest: f64,
    },
    /// The proofs of what was woven come to too much, whichever way it is woven.
    TooManyStates {
        /// The host.
        host: String,
        /// The guest.
        guest: String,
    },
    /// A function of the library cannot be read.
    Library {
        /// The call by which it is reached.
        at: Box<::weave::error::Place>,
        /// The function.
        callee: String,
        /// Why.
        why: ::weave::archive::ArchiveError,
    },
    /// Data of a file that the woven function needs and cannot name.
    LocalData {
        /// The symbol.
        symbol: String,
        /// The file.
        path: PathBuf,
    },
}

impl WeaveFault {
    /// Whose fault it is.
    pub(super) fn class(&self) -> Class {
        match self {
            WeaveFault::Arguments { .. }
            | WeaveFault::NameTaken { .. }
            | WeaveFault::Overwrites { .. }
            | WeaveFault::Unused { .. }
            | WeaveFault::ManyValues { .. } => Class::CommandLine,
            _ => Class::Input,
        }
    }
}

impl fmt::Display for WeaveFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WeaveFault::NotWoven { refusal, notes } => {
                write!(f, "{refusal}")?;
                notes.iter().try_for_each(|note| write!(f, "\n{note}"))
            }
            WeaveFault::NotSource { path } => {
                write!(
                    f,
                    "`{}` is not a source, expected a name that ends in .c, .cpp, .S or .s",
                    path.display()
                )
            }
            WeaveFault::WhichChip { path } => {
                write!(f, "`{}` has to be compiled for a chip\nhelp: name it with `--chip`", path.display())
            }
            WeaveFault::Mistimed { found, expected, function } => {
                write!(f, "`{function}` is timed for {found}, expected {expected}")
            }
            WeaveFault::Arguments { path, prototype, found, expected } => {
                write!(
                    f,
                    "found parameters of {} for the host, expected those of `{prototype}`, as `{}` has it",
                    sizes(found),
                    path.display()
                )?;
                let Some(expected) = expected else { return Ok(()) };
                write!(f, "\nhelp: these are {}", sizes(expected))
            }
            WeaveFault::NameTaken { name, path } => write!(
                f,
                "found `{name}` as the woven function's name, which `{}` has already, expected a new one\n\
                 help: say another with `--name`",
                path.display()
            ),
            WeaveFault::Overwrites { path, other } => write!(
                f,
                "found `{}` as an output, which is the same file as `{}`, expected one of its own",
                path.display(),
                other.display()
            ),
            WeaveFault::Unused { name, used } if used.is_empty() => {
                write!(f, "found a value of `{name}`, which nothing has a use for, expected none")
            }
            WeaveFault::Unused { name, used } => {
                let used: Vec<String> = used.iter().map(|name| format!("`{name}`")).collect();
                write!(
                    f,
                    "found a value of `{name}`, which nothing has a use for, expected one of {}",
                    used.join(", ")
                )
            }
            WeaveFault::ManyValues { name, values: [one, other] } => {
                write!(f, "found {one} and {other} as values of `{name}`, expected one")
            }
            WeaveFault::Growth { growth_max, smallest } => write!(
                f,
                "found no way of weaving within {growth_max} times both functions' own size\n\
                 help: the smallest that works is `--growth {smallest:.2}`"
            ),
            WeaveFault::TooManyStates { host, guest } => write!(
                f,
                "`{host}` and `{guest}` woven are not proved in {WOVEN_STATES_MAX} states, expected fewer\n\
                 help: they come from branches on data, of which arithmetic on `float` has many: calculate in integers, or \
                 weave a smaller part of the host"
            ),
            WeaveFault::Library { at, callee, why } => ::weave::error::placed(
                f,
                Some(at),
                |f| write!(f, "`{callee}` of the library cannot be woven: {why}"),
                |f| write!(f, "\nhelp: let the host do without it, or give one of your own by `--with`"),
            ),
            WeaveFault::LocalData { symbol, path } => write!(
                f,
                "the woven function needs `{symbol}`, which only `{}` can name\n\
                 help: put it and the host into one file, or make it visible",
                path.display()
            ),
        }
    }
}

/// Bytes of parameters, as `--host-arguments` has them.
fn sizes(bytes: &[u32]) -> String {
    let words: Vec<String> = bytes.iter().map(u32::to_string).collect();
    if words.is_empty() { "no bytes".to_owned() } else { format!("{} bytes", words.join(",")) }
}
