//! What Linux gives a program, on whatever processor.
//!
//! `files` is what a program has open and what is in it; `stack` is what it finds when it begins. How it makes a call,
//! and which calls there are, is in the room of its processor (`sparc::user`, `rv32::user`).

pub mod files;
pub mod stack;
