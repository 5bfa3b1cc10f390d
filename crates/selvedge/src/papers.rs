//! Papers whose measurements are made again: what they print, beside what we measure. A folder a paper.

pub mod bus;
#[cfg(test)]
mod document;
pub mod mecha;
pub mod multicore;
pub mod platform;
pub mod spread;
pub mod sti;
