//! Cycle-exact instruction-set simulators, each derived from one table.
//!
//! This file owns how a run is watched ([`Observer`]) and how time is counted ([`Cycles`]). Each room (`avr`, `sparc`,
//! `rv32`) holds its instruction table and everything derived from it. What the 32-bit processors share stands beside:
//! `elf` reads linked programs, `region` is memory, `costs` reads what takes how many cycles, `linux` is what a program
//! finds there. This crate leaves buses between chips to `cell`, and what a program means to the tools above.

pub mod avr;
pub mod costs;
pub mod elf;
pub mod error;
pub mod limits;
pub mod linux;
pub mod region;
pub mod rv32;
pub mod sparc;

/// A count of processor clock cycles since reset.
pub type Cycles = u64;

/// Watches a run. Every hook has an empty default and is inlined away when it is not overridden.
///
/// Times are the cycle in which the access happens: the last cycle of its instruction for a data access.
pub trait Observer {
    /// The instruction at byte address `address` begins at `cycle`.
    #[inline(always)]
    fn fetch(&mut self, _cycle: Cycles, _address: u32) {}
    /// A byte was read from data space at `address`.
    #[inline(always)]
    fn load(&mut self, _cycle: Cycles, _address: u32, _value: u8) {}
    /// A byte was written to data space at `address`.
    #[inline(always)]
    fn store(&mut self, _cycle: Cycles, _address: u32, _value: u8) {}
    /// The stack pointer, which is x2 on RV32 and which no other core tells of, was set to `address`.
    #[inline(always)]
    fn stack(&mut self, _address: u32) {}
    /// The instruction at byte address `address` ended; the next one may begin at `cycle`.
    #[inline(always)]
    fn retire(&mut self, _cycle: Cycles, _address: u32) {}
}

/// Watches nothing, at no cost.
impl Observer for () {}
