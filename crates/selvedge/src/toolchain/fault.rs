//! What keeps an image from being built, in words.

use std::fmt;
use std::path::PathBuf;

use ::weave::linked::LinkedError;
use ::weave::proof::Violation;

use super::{COMPILER, SOURCES};

/// What keeps an image from being built. [`NoTree`](Fault::NoTree) and [`NoCompiler`](Fault::NoCompiler) are the
/// environment's fault.
#[derive(Debug)]
pub enum Fault {
    /// Not our source tree.
    NoTree {
        /// Where it was looked for.
        root: PathBuf,
    },
    /// The compiler is not installed.
    NoCompiler,
    /// A line of the list of sources.
    Recipe {
        /// The list.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What stands there.
        found: String,
    },
    /// The compiler refused.
    Compile {
        /// The file, or the image when linking failed.
        what: String,
        /// What the compiler printed.
        output: String,
    },
    /// The directives in the linked image make no program that can be proved.
    Linked {
        /// The chip of the image.
        chip: &'static str,
        /// Why.
        why: LinkedError,
    },
    /// A timed function of the image does not keep time, or that could not be proved.
    Untimed {
        /// The chip of the image.
        chip: &'static str,
        /// Why, with the path to it.
        violation: Box<Violation>,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::NoTree { root } => write!(
                f,
                "`{}` is not selvedge's source tree: found no {SOURCES}\nhelp: name the tree with `--root DIR`",
                root.display()
            ),
            Fault::NoCompiler => write!(
                f,
                "found no {COMPILER} on PATH\nhelp: install the packages `gcc-avr`, `avr-libc` and `binutils-avr`"
            ),
            Fault::Recipe { path, line, found } => write!(
                f,
                "{}:{line}: found `{}`, expected `flag`, `link` or `source` and one word",
                path.display(),
                found.escape_debug()
            ),
            Fault::Compile { what, output } => write!(f, "{COMPILER} refused {what}:\n{}", output.trim_end()),
            Fault::Linked { chip, why } => write!(f, "the image for {chip}, linked: {why}"),
            Fault::Untimed { chip, violation } => {
                write!(
                    f,
                    "a timed function of the image for {chip} is not proved once it is linked: {violation}"
                )
            }
        }
    }
}
