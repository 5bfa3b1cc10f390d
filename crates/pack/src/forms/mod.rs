//! The forms in which a sealed image leaves for other people's tools: its memory as it is on the bus, without its key.
//!
//! Owns: raw memory ([`bin`]), Intel HEX ([`hex`]) and an ELF file ([`elf`]). They hold what a flash programmer writes:
//! the spans of a [`Container`](crate::Container), tables included. How it is opened (seal, nonce, wrapped key) is in
//! the container alone.

pub mod bin;
pub mod elf;
pub mod hex;
