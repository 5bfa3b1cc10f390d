//! Which two instructions must keep their order, for any instruction set.
//!
//! Owns: the one type that schedules are made with ([`Effects`]), and what accesses of the stack have in common. The
//! rule of each instruction set is in the file of its name.

use super::{rv32, sparc};
use crate::target::Target;

/// What decides whether two instructions may change places.
#[derive(Clone, Copy, Debug)]
pub enum Effects {
    /// On SPARC.
    Sparc(sparc::Effects),
    /// On RV32.
    Rv32(rv32::Effects),
}

impl Effects {
    /// Those of a word; what is no instruction keeps its place.
    pub fn of(target: Target, word: u32) -> Effects {
        match target {
            Target::Sparc => Effects::Sparc(sparc::Effects::of(word)),
            Target::Rv32 => Effects::Rv32(rv32::Effects::of(word)),
        }
    }

    /// How many instructions behind it keep their places, too.
    pub fn keeps_behind(&self) -> usize {
        match self {
            Effects::Sparc(effects) => effects.keeps_behind(),
            Effects::Rv32(_) => 0,
        }
    }

    /// Whether it transfers control behind a delay instruction that is executed whichever way it goes.
    pub fn delays(&self) -> bool {
        matches!(self, Effects::Sparc(effects) if effects.delays())
    }

    /// Whether this one may be executed before a transfer of control or as its delay instruction, as one likes.
    pub fn passes(&self, transfer: &Effects) -> bool {
        match (self, transfer) {
            (Effects::Sparc(this), Effects::Sparc(transfer)) => this.passes(transfer),
            _ => false,
        }
    }

    /// Whether this one waits when it stands right behind `earlier`, by the interlocks of its core.
    pub fn waits_for(&self, earlier: &Effects) -> bool {
        match (self, earlier) {
            (Effects::Sparc(this), Effects::Sparc(earlier)) => this.waits_for(earlier),
            _ => false,
        }
    }

    /// Whether this one, which stands before `later`, must stay before it.
    pub fn stays_before(&self, later: &Effects) -> bool {
        match (self, later) {
            (Effects::Sparc(first), Effects::Sparc(later)) => first.stays_before(later),
            (Effects::Rv32(first), Effects::Rv32(later)) => first.stays_before(later),
            _ => true,
        }
    }
}

/// An access at a constant distance from a register that points at memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OnStack {
    pub(super) base: u8,
    pub(super) first: i32,
    pub(super) bytes: i32,
}

/// Whether two accesses are of the same register and share no byte.
pub(super) fn are_apart(a: Option<OnStack>, b: Option<OnStack>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return false };
    a.base == b.base && (a.first + a.bytes <= b.first || b.first + b.bytes <= a.first)
}
