//! Compressed and sealed firmware: what it is made of, and what running it costs.
//!
//! This file owns the order of things. An ELF file becomes a program (`program`); a code makes fewer words of its
//! instructions (`code`), which gives an image with an address map (`image`); the image's lines are sealed, each under
//! its address (`seal`), and stand in a container (`container`). A run puts the image behind a chain of decompressor,
//! instruction cache, decipher and memory (`chain`), and counts what each stage was asked and how long the core waited.
//! It leaves executing instructions to `isa`, files and tables to the binary, keys' storage to the caller.

pub mod code;
pub mod image;
pub mod target;

pub use image::{Image, Section};
pub use target::Target;
