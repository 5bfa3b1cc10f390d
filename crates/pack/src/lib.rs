//! Compressed and sealed firmware: what it is made of, and what running it costs.
//!
//! This file owns the order of things. An ELF file becomes a program (`program`); a code makes fewer words of its
//! instructions, which gives an image with an address map (`image`), or fewer bytes of its lines (`code`); or any
//! machine's file is taken as it is (`sections`). Its sections lie in lines (`lines`), which are sealed, each under its
//! address (`seal`), with tags (`integrity`), under keys (`keys`), and stand in a container (`container`); `sealed` has
//! these steps in order, `tables` gives what they add its place, and `forms` writes what others load. A run puts the
//! image behind a chain of decompressor, instruction cache, decipher and memory (`chain`), and counts what each stage
//! was asked and how long the core waited. What a program is made of before all that, `analysis` says.
//! It leaves executing instructions to `isa`, files and tables to the binary, keys' storage to the caller.

pub mod analysis;
pub mod canonical;
pub mod chain;
pub mod check;
pub mod code;
pub mod container;
pub mod error;
pub mod flow;
pub mod forms;
pub mod image;
pub mod integrity;
pub mod keys;
pub mod layout;
pub mod limits;
pub mod lines;
mod packer;
pub mod packing;
pub mod place;
pub mod profile;
pub mod program;
pub mod schedule;
pub mod seal;
pub mod sealed;
pub mod sections;
pub mod select;
pub mod sweep;
mod tables;
pub mod target;
pub mod tune;

pub use container::Container;
pub use error::{ElfError, Error, RunError, SealError, SweepError};
pub use image::{Image, Section};
pub use keys::{DeviceKey, ImageKey};
pub use packing::{Packed, Settings, pack};
pub use profile::Profile;
pub use program::Program;
pub use sections::Sections;
pub use target::Target;
