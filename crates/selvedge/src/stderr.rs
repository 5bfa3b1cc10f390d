//! Standard error, for who looks after a process: what is said there may be heard by nobody.
//!
//! Owns that a line which nobody can be told is no error: `eprintln!` would panic where standard error is full or gone. Leaves
//! which words, and the exit code, to whoever speaks.

use std::fmt::Display;
use std::io::{self, Write};

/// Says a line, or lines, if there is anybody.
pub fn tell(lines: impl Display) {
    let _ = writeln!(io::stderr(), "{lines}");
}
