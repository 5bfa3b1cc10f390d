//! How a run is watched.
//!
//! Owns: the hooks beyond those that all rooms share ([`crate::Observer`]). A program counter has its slot in bits
//! 1:0, as everywhere in this room. The shared hooks tell loads and stores byte by byte, the most significant first.

use super::trap::Trap;
use crate::Cycles;

/// Watches a run. Every hook has an empty default and is inlined away when it is not overridden.
///
/// Each instruction that is executed is told as a fetch, its accesses and a retirement; one that traps has no
/// retirement, and one that is annulled is told as that and nothing else.
pub trait Observer: crate::Observer {
    /// The instruction at `pc` was fetched, and a branch had annulled it.
    #[inline(always)]
    fn annulled(&mut self, _cycle: Cycles, _pc: u32) {}
    /// A trap was taken instead of the instruction at `pc`, behind which comes the one at `npc`.
    #[inline(always)]
    fn trap(&mut self, _cycle: Cycles, _trap: Trap, _pc: u32, _npc: u32) {}
}

impl Observer for () {}
