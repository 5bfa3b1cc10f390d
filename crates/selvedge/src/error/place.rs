//! Why a folder of a run cannot be worked in.
//!
//! Owns the list and its words. What is locked and emptied, and when, is `link`'s.

use std::fmt;
use std::path::{Path, PathBuf};

/// Why a folder cannot be worked in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlaceFault {
    /// It is not one of ours, and is not touched.
    NotOurs,
    /// A run would empty it, and needs what it holds.
    Needed {
        /// What it needs.
        needed: PathBuf,
    },
    /// Another process works in it.
    InUse,
    /// Another process runs the nodes in it.
    CellInUse,
}

impl PlaceFault {
    /// Whether another process has to end, and nothing else has to change.
    pub(super) fn is_environment(&self) -> bool {
        matches!(self, PlaceFault::InUse | PlaceFault::CellInUse)
    }

    /// The words for the folder at `path`.
    pub(super) fn write(&self, path: &Path, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = path.display();
        match self {
            PlaceFault::NotOurs => write!(
                f,
                "`{path}` is not empty and not the folder of a run, expected a new folder, an empty one, or a run's\n\
                 help: name another folder with `--out`"
            ),
            PlaceFault::Needed { needed } => write!(
                f,
                "`{}` lies in `{path}`, which a run empties\nhelp: move it, or name another folder with `--out`",
                needed.display()
            ),
            PlaceFault::InUse => write!(
                f,
                "another process works in `{path}`\nhelp: wait for it, or name another folder with `--out`"
            ),
            PlaceFault::CellInUse => write!(f, "another process runs the nodes in `{path}`"),
        }
    }
}
