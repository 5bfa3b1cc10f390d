//! What Linux gives a program, on whatever processor.
//!
//! `files` is what a program has open and what is in it; `calls` is what its calls move between files and memory;
//! `stack` is what it finds when it begins. How it makes a call, and which calls there are, is in the room of its
//! processor (`sparc::user`, `rv32::user`).

pub(crate) mod calls;
pub mod files;
pub mod stack;
