//! What keeps an image from being built, or drawn, in words.

use std::fmt;
use std::path::PathBuf;

use ::weave::linked::LinkedError;
use ::weave::proof::Violation;
use cipher::Suite;

use super::{COMPILER, SOURCES};
use crate::error::Error;

/// What keeps an image from being built, or drawn. [`NoTree`](Fault::NoTree) and [`NoCompiler`](Fault::NoCompiler) are the
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
    /// Nobody weaves filters for the suite.
    NoFilters {
        /// The suite.
        suite: Suite,
    },
    /// A gateway whose bytes are no whole cycles of a node apart: nothing can be woven that hears it.
    PartCycles {
        /// The node.
        node: u32,
        /// Its clock.
        clock_hz: u64,
        /// The gateway's bits.
        bus_hz: u64,
    },
    /// A line of a list that says what is woven.
    WovenLine {
        /// The list, and the line, from 1.
        place: (PathBuf, usize),
        /// What is wrong, in words.
        why: String,
    },
    /// What such a line says cannot be woven.
    NotWoven {
        /// The list, and the line, from 1.
        place: (PathBuf, usize),
        /// The woven function's name.
        name: String,
        /// Why.
        why: Box<Error>,
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
    /// An image that was to be drawn has no thread controller.
    NoController {
        /// One of its nodes.
        node: u32,
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
                "{}:{line}: found `{}`, expected `flag`, `link`, `source` or `woven-flag` and one word, or `woven`",
                path.display(),
                found.escape_debug()
            ),
            Fault::NoFilters { suite } => {
                write!(f, "there are no woven filters for `{suite}`, expected a suite of the node link")
            }
            Fault::PartCycles { node, clock_hz, bus_hz } => write!(
                f,
                "node {node}: the gateway's bytes at {bus_hz} bit/s take no whole cycles of {clock_hz} Hz\n\
                 help: choose a `bus` of the cell that divides the node's `clock`"
            ),
            Fault::WovenLine { place: (path, line), why } => write!(f, "{}:{line}: {why}", path.display()),
            Fault::NotWoven { place: (path, line), name, why } => {
                write!(f, "{}:{line}: `{name}` for this chip and line: {why}", path.display())
            }
            Fault::Compile { what, output } => write!(f, "{COMPILER} refused {what}:\n{}", output.trim_end()),
            Fault::Linked { chip, why } => write!(f, "the image for {chip}, linked: {why}"),
            Fault::Untimed { chip, violation } => {
                write!(
                    f,
                    "a timed function of the image for {chip} is not proved once it is linked: {violation}"
                )
            }
            Fault::NoController { node } => write!(
                f,
                "the image of node {node} has no thread controller to draw\n\
                 help: a program that calls `controller_register` and `controller_start` has one (firmware/node/controller.h)"
            ),
        }
    }
}
