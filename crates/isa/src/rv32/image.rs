//! A linked RV32IM program.
//!
//! Owns: which ELF files are for this processor. Reading them is `crate::elf`'s.

pub use crate::elf::{Segment, Symbol};

/// A program whose file says that it is for RISC-V without compressed instructions and without a floating-point unit.
pub type Image = crate::elf::Image<{ crate::elf::RISCV }>;
