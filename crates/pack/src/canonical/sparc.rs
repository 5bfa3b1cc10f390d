//! The rules of SPARC V8: operands of a sum or of logic in either order, a zero as register or constant, the ways to
//! copy, to clear, to compare with zero, to do nothing. Each is an equation of The SPARC Architecture Manual, version
//! 8, appendix B.

use isa::sparc::bits::CONSTANT;
use isa::sparc::{Instruction, Opcode};

/// The instruction that stands for a word's; the word itself when that is no instruction or has no other form.
pub(super) fn canonical(word: u32) -> u32 {
    let Some(instruction) = Instruction::decode(word) else { return word };
    let rewritten = ordered(simplified(zeroed(instruction)));
    rewritten.encode().unwrap_or(word)
}

/// A constant zero, where register 0 does as well.
fn zeroed(mut instruction: Instruction) -> Instruction {
    let has_second = word_class(instruction.opcode).is_some();
    if has_second && instruction.rs2 == CONSTANT && instruction.k == 0 {
        instruction.rs2 = 0;
    }
    instruction
}

/// What kind of operation it is, of those with a second operand and rules.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    /// Its operands may change places.
    Commutes,
    /// They may not.
    Ordered,
}

fn word_class(opcode: Opcode) -> Option<Operation> {
    use Opcode::*;
    match opcode {
        Ldsb | Ldsh | Ldub | Lduh | Ld | Ldd | Stb | Sth | St | Std => Some(Operation::Commutes),
        And | Andcc | Or | Orcc | Xor | Xorcc | Xnor | Xnorcc | Add | Addcc | Addx | Addxcc | Umul | Smul
        | Umulcc | Smulcc | Save | Restore | Taddcc | Jmpl => Some(Operation::Commutes),
        Andn | Andncc | Orn | Orncc | Sub | Subcc | Subx | Subxcc | Sll | Srl | Sra => {
            Some(Operation::Ordered)
        }
        _ => None,
    }
}

/// The smaller register first, register 0 last: `ld [%o0]` is the sum of %o0 and %g0. A copy keeps it first.
fn ordered(mut instruction: Instruction) -> Instruction {
    let commutes = word_class(instruction.opcode) == Some(Operation::Commutes);
    let (a, b) = (instruction.rs1, instruction.rs2);
    if !commutes || b == CONSTANT {
        return instruction;
    }
    let copies = matches!(instruction.opcode, Opcode::Or | Opcode::Orcc);
    let swap = match (a, b) {
        (0, _) => !copies && b != 0,
        (_, 0) => copies,
        _ => a > b,
    };
    if swap {
        (instruction.rs1, instruction.rs2) = (b, a);
    }
    instruction
}

/// Whether the second operand is zero in every state.
fn adds_nothing(instruction: &Instruction) -> bool {
    instruction.rs2 == 0
}

/// The plainest form of what an instruction does.
fn simplified(instruction: Instruction) -> Instruction {
    use Opcode::*;
    let i = instruction;
    let same = i.rs1 == i.rs2;
    match i.opcode {
        // Nothing is written and nothing can trap.
        Sethi | And | Andn | Or | Orn | Xor | Xnor | Sll | Srl | Sra | Add | Addx | Sub | Subx
            if i.rd == 0 =>
        {
            Instruction::new(Sethi)
        }
        Sethi => constant(i, i.k << 10),
        Add | Or | Xor if i.rs1 == 0 && i.rs2 == CONSTANT => constant(i, i.k),
        Sub if i.rs1 == 0 && i.rs2 == CONSTANT => constant(i, -i.k),
        Add | Or | Xor if i.rs1 == 0 => copy(i, i.rs2),
        Add | Sub | Or | Xor | Sll | Srl | Sra if adds_nothing(&i) => copy(i, i.rs1),
        And | Or if same => copy(i, i.rs1),
        And if i.rs1 == 0 || adds_nothing(&i) => constant(i, 0),
        Sub | Xor if same => constant(i, 0),
        // a - k is a + -k, where both have bits.
        Sub if i.rs2 == CONSTANT && i.k > -4096 => Instruction { opcode: Add, k: -i.k, ..i },
        Add if same => Instruction { opcode: Sll, rs2: CONSTANT, k: 1, ..i },
        // The complement.
        Xor if i.rs2 == CONSTANT && i.k == -1 => complement(i, i.rs1),
        Xnor if adds_nothing(&i) => complement(i, i.rs1),
        Xnor | Orn if i.rs1 == 0 && i.rs2 != CONSTANT => complement(i, i.rs2),
        // Comparing with zero: neither overflow nor carry.
        Subcc | Addcc | Xorcc | Orcc if adds_nothing(&i) => test(i, i.rs1),
        Addcc | Xorcc | Orcc if i.rs1 == 0 && i.rs2 != CONSTANT => test(i, i.rs2),
        Orcc | Andcc if same => test(i, i.rs1),
        // What is written to register 0 is lost; the window changes all the same.
        Save | Restore if i.rd == 0 => Instruction::new(i.opcode),
        _ => i,
    }
}

/// A number, written as an OR where its 13 bits are enough.
fn constant(i: Instruction, k: i32) -> Instruction {
    match k {
        0 => Instruction { opcode: Opcode::Or, rd: i.rd, rs1: 0, rs2: 0, k: 0 },
        -4096..=4095 => Instruction { opcode: Opcode::Or, rd: i.rd, rs1: 0, rs2: CONSTANT, k },
        _ => i,
    }
}

fn copy(i: Instruction, rs: u8) -> Instruction {
    Instruction { opcode: Opcode::Or, rd: i.rd, rs1: 0, rs2: rs, k: 0 }
}

fn complement(i: Instruction, rs: u8) -> Instruction {
    Instruction { opcode: Opcode::Xnor, rd: i.rd, rs1: rs, rs2: 0, k: 0 }
}

fn test(i: Instruction, rs: u8) -> Instruction {
    Instruction { opcode: Opcode::Orcc, rd: i.rd, rs1: 0, rs2: rs, k: 0 }
}
