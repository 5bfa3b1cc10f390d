//! What packing asks of an RV32IM instruction.
//!
//! Owns: where control goes behind it ([`step`]), and which two instructions must keep their order ([`Effects`]). All
//! of it follows from `isa`'s table. Which words may be in packets is `flow`'s.
//!
//! # The rule of order
//! Two instructions of a block may change places when the program cannot tell. They keep their order
//! - when one writes a register that the other reads or writes, or one stores what the other may load or store;
//! - when both may trap, which is every load and store: so the order of traps, memory at the time of one, and the order
//!   in which devices are asked are the program's. Division does not trap on RV32. An access at a constant distance
//!   from the stack pointer counts as one that does not trap, since stacks are memory. Two of those may change places
//!   with each other and with other accesses where neither stores, or where both share no byte. Global and thread
//!   pointer do not count: small variables lie there, which a handler of interrupts may read;
//! - when one transfers control, calls the environment, is a fence, or reads or writes a state register: the counters
//!   of cycles and instructions are among those.
//!
//! What is given up is given up on SPARC, too: who looks at registers of the function that trapped may find an
//! instruction done that stood behind the one that trapped, or not yet done one before it, neither of which could trap.

use isa::rv32::{Class, Instruction, Opcode, Set};

use super::Step;
use super::effects::{OnStack, are_apart};

/// What a word at an address does with control.
pub(super) fn step(word: u32, at: u32) -> Step {
    let Some(instruction) = Instruction::decode(word) else { return Step::Nothing };
    let to = at.wrapping_add(instruction.k as u32);
    let branch = |falls| Step::Branch { to, falls, delay: false, other_unit: false };
    match instruction.opcode.row().class {
        Class::Branch => branch(true),
        Class::Jump if instruction.rd == 0 => branch(false),
        Class::Jump => Step::Call { to },
        Class::JumpRegister if instruction.rd == 0 => Step::Jump,
        Class::JumpRegister => Step::Link,
        Class::System => Step::Trap,
        _ if instruction.opcode == Opcode::Auipc => Step::OwnAddress,
        _ => Step::Plain,
    }
}

/// Whether it reads memory.
pub(super) fn is_load(word: u32) -> bool {
    Instruction::decode(word).is_some_and(|instruction| instruction.opcode.row().class == Class::Load)
}

/// What decides whether two instructions may change places.
#[derive(Clone, Copy, Debug)]
pub struct Effects {
    reads: Set,
    writes: Set,
    /// Nothing changes places with it.
    barrier: bool,
    may_trap: bool,
    on_stack: Option<OnStack>,
}

const STACK_POINTER: u8 = 2;

impl Effects {
    /// Those of a word; what is no instruction keeps its place.
    pub(super) fn of(word: u32) -> Effects {
        let Some(instruction) = Instruction::decode(word) else {
            return Effects {
                reads: Set::ALL,
                writes: Set::ALL,
                barrier: true,
                may_trap: true,
                on_stack: None,
            };
        };
        let on_stack = on_stack(&instruction);
        let (barrier, may_trap) = match instruction.opcode.row().class {
            Class::Single | Class::Shift | Class::Multiply | Class::MultiplyHigh | Class::Divide => {
                (false, false)
            }
            Class::Load | Class::Store => (false, on_stack.is_none()),
            _ => (true, true),
        };
        Effects { reads: instruction.reads(), writes: instruction.writes(), barrier, may_trap, on_stack }
    }

    /// Whether this one, which stands before `later`, must stay before it.
    pub(super) fn stays_before(&self, later: &Effects) -> bool {
        if self.barrier || later.barrier || self.may_trap && later.may_trap {
            return true;
        }
        let apart = are_apart(self.on_stack, later.on_stack);
        let shared = |writes: Set, other: Set| {
            // Memory is the one place that two may share when they are proved apart.
            if apart { writes.without(Set::MEMORY).meets(other) } else { writes.meets(other) }
        };
        shared(self.writes, later.reads)
            || shared(self.writes, later.writes)
            || shared(later.writes, self.reads)
    }
}

fn on_stack(instruction: &Instruction) -> Option<OnStack> {
    let bytes = match instruction.opcode {
        Opcode::Lb | Opcode::Lbu | Opcode::Sb => 1,
        Opcode::Lh | Opcode::Lhu | Opcode::Sh => 2,
        Opcode::Lw | Opcode::Sw => 4,
        _ => return None,
    };
    let base = instruction.rs1;
    (base == STACK_POINTER).then_some(OnStack { base, first: instruction.k, bytes })
}
