//! What packing asks of a SPARC V8 instruction.
//!
//! Owns: where control goes behind it ([`step`]), and which two instructions must keep their order ([`Effects`]). All
//! of it follows from `isa`'s table. Which words may be in packets is `flow`'s.
//!
//! # The rule of order
//! Two instructions of a block may change places when the program cannot tell. They keep their order
//! - when one writes a place (register, condition codes, Y, window) that the other reads or writes;
//! - when both may trap: every load and store, division, SAVE and RESTORE. So memory at the time of a trap, the order
//!   of traps, and the order in which devices are asked are the program's. An access at a constant distance from the
//!   stack or frame pointer counts as one that does not trap: stacks are memory, and window handlers use them too.
//!   Two of those may change places with each other and with other accesses where neither stores, or where both have
//!   the same base register and share no byte;
//! - when one is a transfer of control or its delay instruction, but for the exchange below; or of the kinds that
//!   change what the processor is: traps, other address spaces, atomic accesses, other units, writes to state registers
//!   and Y, and the three instructions behind such a write, before which it need not hold.
//!
//! An instruction before a transfer of control and its delay instruction may change places, where each is independent
//! of the transfer and of what stands between, and the delay instruction is executed whichever way control goes: both
//! are executed before what it goes to, as they were.
//!
//! What is given up is what V8 calls precise in one case only: a handler that looks at registers of the function that
//! trapped (not those of the trap itself) may find an instruction done that stood behind the one that trapped, or not
//! yet done one before it, neither of which could trap. Window handlers do not look there.

use isa::sparc::bits::CONSTANT;
use isa::sparc::table::Operand;
use isa::sparc::{Class, Instruction, Opcode, Set};

use super::Step;
use super::effects::{OnStack, are_apart};

/// What a word at an address does with control.
pub(super) fn step(word: u32, at: u32) -> Step {
    let Some(instruction) = Instruction::decode(word) else { return Step::Nothing };
    let to = at.wrapping_add(instruction.k as u32);
    match (instruction.opcode, instruction.opcode.row().operands) {
        (Opcode::Unimp, _) => Step::Nothing,
        (Opcode::Call, _) => Step::Call { to },
        (Opcode::Jmpl, _) if instruction.rd == 0 => Step::Jump,
        (Opcode::Jmpl, _) => Step::Link,
        (Opcode::Rett, _) => Step::Return,
        (_, [Operand::TrapNumber]) => Step::Trap,
        (opcode, [Operand::Relative22]) => {
            let always = matches!(opcode, Opcode::Ba | Opcode::Fba | Opcode::Cba);
            let other_unit = opcode.row().class == Class::Unit;
            Step::Branch { to, falls: !always, delay: !(always && instruction.annuls()), other_unit }
        }
        _ => Step::Plain,
    }
}

/// Whether it reads memory.
pub(super) fn is_load(word: u32) -> bool {
    let class = Instruction::decode(word).map(|instruction| instruction.opcode.row().class);
    matches!(class, Some(Class::Load | Class::LoadTwo))
}

/// Whether a call with this delay instruction returns elsewhere than behind it: the register that it left its address
/// in is another window's then, or has another address, which does not follow from this one.
pub fn leaves_link(delay: u32) -> bool {
    let Some(instruction) = Instruction::decode(delay) else { return false };
    let link = Set::register(LINK);
    let replaces = instruction.opcode == Opcode::Restore || instruction.writes().meets(link);
    replaces && !instruction.reads().meets(link)
}

/// Where a call leaves its address: %o7.
const LINK: u8 = 15;

/// Whether it is the size of a structure behind a call: UNIMP, with 12 bits that count (V8 manual, appendix D.4).
pub(super) fn is_structure_size(word: u32) -> bool {
    word != 0 && word < 1 << 12
}

/// What decides whether two instructions may change places.
#[derive(Clone, Copy, Debug)]
pub struct Effects {
    reads: Set,
    writes: Set,
    /// Nothing changes places with it.
    barrier: bool,
    /// Up to three instructions behind it may still find what it replaces (V8 manual, B.29).
    late: bool,
    may_trap: bool,
    on_stack: Option<OnStack>,
    loads: bool,
    /// Whether it goes one way or the other by the condition codes.
    tests: bool,
    /// Whether it transfers control and its delay instruction is executed whichever way it goes.
    delays: bool,
}

const STACK_POINTERS: [u8; 2] = [14, 30];

impl Effects {
    /// Those of a word; what is no instruction keeps its place.
    pub fn of(word: u32) -> Effects {
        let Some(instruction) = Instruction::decode(word) else { return Effects::BARRIER };
        let on_stack = on_stack(&instruction);
        let (barrier, may_trap) = manner(&instruction);
        Effects {
            reads: instruction.reads(),
            writes: instruction.writes(),
            barrier,
            late: is_late(instruction.opcode),
            may_trap: may_trap && on_stack.is_none(),
            on_stack,
            loads: is_load(word),
            tests: instruction.opcode.row().class == Class::Branch && instruction.reads().meets(Set::ICC),
            delays: is_transfer(&instruction) && !instruction.annuls(),
        }
    }

    /// Those of what keeps its place.
    pub const BARRIER: Effects = Effects {
        reads: Set::ALL,
        writes: Set::ALL,
        barrier: true,
        late: false,
        may_trap: true,
        on_stack: None,
        loads: false,
        tests: false,
        delays: false,
    };

    /// How many instructions behind it keep their places, too: the delay instruction of a transfer of control, and
    /// those that stand between a late write and its effect.
    pub fn keeps_behind(&self) -> usize {
        if self.late { 3 } else { usize::from(self.barrier) }
    }

    /// Whether it transfers control, and its delay instruction is executed whichever way it goes: what stands before
    /// it may then change places with that one.
    pub fn delays(&self) -> bool {
        self.delays
    }

    /// Whether this one may be executed before a transfer of control or as its delay instruction, as one likes.
    pub fn passes(&self, transfer: &Effects) -> bool {
        let shared =
            self.writes.meets(transfer.reads.union(transfer.writes)) || self.reads.meets(transfer.writes);
        let both_trap = self.may_trap && transfer.may_trap;
        !(self.barrier || self.late || both_trap || shared)
    }

    /// Whether this one waits when it stands right behind `earlier`: for what that loads, or as a branch for condition
    /// codes (LEON's interlocks, `isa::sparc::timing`).
    pub fn waits_for(&self, earlier: &Effects) -> bool {
        earlier.loads && earlier.writes.meets(self.reads) || self.tests && earlier.writes.meets(Set::ICC)
    }

    /// Whether this one, which stands before `later`, must stay before it.
    pub fn stays_before(&self, later: &Effects) -> bool {
        if self.barrier || later.barrier || self.may_trap && later.may_trap {
            return true;
        }
        let apart = are_apart(self.on_stack, later.on_stack);
        let shared = |writes: Set, other: Set| {
            // Memory is the last place that two may share when they are proved apart.
            if apart { writes.without(Set::MEMORY).meets(other) } else { writes.meets(other) }
        };
        shared(self.writes, later.reads)
            || shared(self.writes, later.writes)
            || shared(later.writes, self.reads)
    }
}

fn on_stack(instruction: &Instruction) -> Option<OnStack> {
    let bytes = match instruction.opcode {
        Opcode::Ldsb | Opcode::Ldub | Opcode::Stb => 1,
        Opcode::Ldsh | Opcode::Lduh | Opcode::Sth => 2,
        Opcode::Ld | Opcode::St => 4,
        Opcode::Ldd | Opcode::Std => 8,
        _ => return None,
    };
    let based = STACK_POINTERS.contains(&instruction.rs1) && instruction.rs2 == CONSTANT;
    based.then_some(OnStack { base: instruction.rs1, first: instruction.k, bytes })
}

/// Whether it writes a state register.
fn is_late(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::Wry | Opcode::Wrasr | Opcode::Wrpsr | Opcode::Wrwim | Opcode::Wrtbr)
}

/// Whether it goes elsewhere behind its delay instruction, for which nothing but registers and icc decide.
fn is_transfer(instruction: &Instruction) -> bool {
    let class = instruction.opcode.row().class;
    class == Class::Branch || matches!(instruction.opcode, Opcode::Call | Opcode::Jmpl)
}

/// Whether it is a barrier, and whether it may trap.
fn manner(instruction: &Instruction) -> (bool, bool) {
    use Opcode::*;
    match instruction.opcode {
        Ldsb | Ldsh | Ldub | Lduh | Ld | Ldd | Stb | Sth | St | Std => (false, true),
        Udiv | Sdiv | Udivcc | Sdivcc | Save | Restore | Taddcctv | Tsubcctv => (false, true),
        Sethi | And | Andcc | Andn | Andncc | Or | Orcc | Orn | Orncc | Xor | Xorcc | Xnor | Xnorcc | Sll
        | Srl | Sra | Add | Addcc | Addx | Addxcc | Taddcc | Sub | Subcc | Subx | Subxcc | Tsubcc
        | Mulscc | Umul | Smul | Umulcc | Smulcc | Rdy => (false, false),
        // A jump to what is no place of an instruction traps.
        _ => (true, !is_transfer(instruction) || instruction.opcode == Jmpl),
    }
}
