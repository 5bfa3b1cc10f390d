//! Everything that can go wrong at the roof, in three classes: the input, the environment, or us.
//!
//! Owns which exit code an error means and how it is printed. The words of a tool's own errors are the
//! tool's; our bugs are panics, which `main` turns into exit code 70.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::link::Problems;
use crate::toolchain::Fault;

/// Why a verb ended without doing its work.
#[derive(Debug)]
pub enum Error {
    /// The deployment is wrong.
    Deployment(Problems),
    /// A file or folder of secrets must not be believed.
    Key {
        /// Which one.
        path: PathBuf,
        /// Why.
        fault: KeyFault,
    },
    /// A file or folder could not be used.
    Io {
        /// Verb for the message: "failed to ACTION".
        action: &'static str,
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// An image could not be built.
    Toolchain(Fault),
    /// Standard output could not be written.
    Output(io::Error),
}

/// Why a file or folder of secrets must not be believed. Says nothing of its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyFault {
    /// It is not there, and it is not ours to make.
    Missing,
    /// Others than its owner have rights to it.
    Mode {
        /// Permission bits of the file.
        found: u32,
        /// The bits that it should have.
        expected: u32,
    },
    /// It belongs to somebody else.
    Owner {
        /// User id of the owner.
        found: u32,
        /// User id that we run under.
        expected: u32,
    },
    /// It is a symbolic link, and could lead anywhere.
    Symlink,
    /// It is no regular file.
    NotAFile,
    /// It is no folder, or a link to one.
    NotAFolder,
    /// It is far too long for what it should be.
    TooLong,
    /// It is not a key.
    Content(cipher::Error),
    /// It is no private key or certificate, or none could be made.
    Certificate(String),
}

/// Whose fault an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// What we were given is wrong: exit code 1.
    Input,
    /// The machine did not do its part: exit code 3.
    Environment,
}

impl Class {
    /// The exit code. The command line's own errors are 2 (clap), ours 70 (panic hook).
    pub fn exit_code(self) -> u8 {
        match self {
            Class::Input => 1,
            Class::Environment => 3,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Class::Input => "input",
            Class::Environment => "environment",
        }
    }
}

impl Error {
    /// Whose fault it is.
    pub fn class(&self) -> Class {
        match self {
            Error::Deployment(_) | Error::Key { .. } => Class::Input,
            Error::Toolchain(Fault::Recipe { .. } | Fault::Compile { .. }) => Class::Input,
            Error::Toolchain(Fault::NoTree { .. } | Fault::NoCompiler) => Class::Environment,
            Error::Io { .. } | Error::Output(_) => Class::Environment,
        }
    }

    /// Complete lines for a terminal, the last one without its end.
    pub fn lines(&self) -> String {
        match self {
            Error::Deployment(problems) => problems.to_string(),
            other => format!("error: {other}"),
        }
    }

    /// What `--json` prints: one object, `{"error": {"class", "message" or "problems"}}`.
    pub fn json(&self) -> serde_json::Value {
        let class = self.class().name();
        match self {
            Error::Deployment(problems) => {
                serde_json::json!({ "error": { "class": class, "problems": problems.json() } })
            }
            other => serde_json::json!({ "error": { "class": class, "message": other.to_string() } }),
        }
    }
}

/// Reads after "error: ". Problems of a deployment are complete lines that begin with it themselves.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Deployment(problems) => write!(f, "{problems}"),
            Error::Key { path, fault } => key(path, fault, f),
            Error::Io { action, path, source } => {
                write!(f, "failed to {action} `{}`: {}", path.display(), words(source))
            }
            Error::Toolchain(fault) => write!(f, "{fault}"),
            Error::Output(source) => write!(f, "failed to write to standard output: {}", words(source)),
        }
    }
}

fn key(path: &Path, fault: &KeyFault, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let path = path.display();
    write!(f, "`{path}`: ")?;
    match fault {
        KeyFault::Missing => {
            write!(f, "not found\nhelp: a key folder that a deployment names must be complete")
        }
        KeyFault::Mode { found, expected } => write!(
            f,
            "mode is {found:04o}, expected {expected:04o}\n\
             help: `chmod {expected:04o} {path}` if you are sure that nobody else has read it, else delete it"
        ),
        KeyFault::Owner { found, expected } => write!(f, "owner is user {found}, expected user {expected}"),
        KeyFault::Symlink => write!(f, "found a symbolic link, expected a file"),
        KeyFault::NotAFile => write!(f, "found no regular file, expected one"),
        KeyFault::NotAFolder => write!(f, "found a link or a file, expected a folder"),
        KeyFault::TooLong => {
            write!(f, "found over {} bytes, expected a key or certificate", crate::limits::SECRET_BYTES_MAX)
        }
        KeyFault::Content(error) => write!(f, "{error}"),
        KeyFault::Certificate(error) => write!(f, "found no usable private key or certificate: {error}"),
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Error::Toolchain(fault)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Deployment(_) | Error::Key { .. } | Error::Toolchain(_) => None,
            Error::Io { source, .. } | Error::Output(source) => Some(source),
        }
    }
}

/// The system's words as the rest of a sentence: lower case, without its number.
pub(crate) fn words(source: &io::Error) -> String {
    let text = source.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}
