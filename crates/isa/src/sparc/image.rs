//! A linked SPARC program.
//!
//! Owns: which ELF files are for this processor. Reading them is `crate::elf`'s.

pub use crate::elf::{Segment, Symbol};

/// A program whose file says that it is for SPARC V8, the most significant byte first.
pub type Image = crate::elf::Image<{ crate::elf::SPARC }>;
