//! Codes whose blocks are decoded when a line of the instruction cache is filled, and where in memory those blocks are.
//!
//! A block is 16, 32 or 64 bytes of plain code. `stored` has what all codes share: which memory the blocks, their line
//! address table and the code's own tables take. `codepack`, `bitmask`, `huffman` and `fields` are a code each, behind
//! the seam that `coder` has; `bits`, `prefix` and `model` are what they are made of.

pub mod bitmask;
pub mod bits;
pub mod codepack;
pub mod coder;
pub mod fields;
pub mod forms;
pub mod huffman;
pub mod model;
pub mod prefix;
pub mod stored;
