//! The rules of RV32IM: operands of a sum, a product, of logic or of a comparison for equality in either order, a zero
//! as register or constant, the ways to copy, to clear, to double, to do nothing. Each is an equation of the
//! unprivileged manual's chapters "RV32I" and "M".

use isa::rv32::{Class, Instruction, Opcode};

/// The instruction that stands for a word's; the word itself when that is no instruction or has no other form.
pub(super) fn canonical(word: u32) -> u32 {
    let Some(instruction) = Instruction::decode(word) else { return word };
    ordered(simplified(instruction)).encode().unwrap_or(word)
}

/// The smaller register first, where both orders do the same.
fn ordered(mut instruction: Instruction) -> Instruction {
    use Opcode::*;
    let commutes = matches!(instruction.opcode, Add | Xor | Or | And | Mul | Mulh | Mulhu | Beq | Bne);
    // `beq a0, zero` is how compilers compare with zero.
    let is_branch = instruction.opcode.row().class == Class::Branch;
    let rank = |number: u8| if is_branch && number == 0 { u8::MAX } else { number };
    if commutes && rank(instruction.rs1) > rank(instruction.rs2) {
        (instruction.rs1, instruction.rs2) = (instruction.rs2, instruction.rs1);
    }
    instruction
}

/// Whether all that it does is to leave a value in a register.
fn only_computes(opcode: Opcode) -> bool {
    use Class::*;
    matches!(opcode.row().class, Single | Shift | Multiply | MultiplyHigh | Divide)
}

/// The plainest form of what an instruction does.
fn simplified(i: Instruction) -> Instruction {
    use Opcode::*;
    let same = i.rs1 == i.rs2;
    match i.opcode {
        opcode if only_computes(opcode) && i.rd == 0 => constant(0, 0),
        Lui if i.k == 0 => constant(i.rd, 0),
        // A constant.
        Addi | Ori | Xori if i.rs1 == 0 => constant(i.rd, i.k),
        Andi if i.rs1 == 0 || i.k == 0 => constant(i.rd, 0),
        Slli | Srli | Srai | Sll | Srl | Sra if i.rs1 == 0 => constant(i.rd, 0),
        And | Mul | Mulh | Mulhu | Mulhsu if i.rs1 == 0 || i.rs2 == 0 => constant(i.rd, 0),
        Sub | Xor | Slt | Sltu if same => constant(i.rd, 0),
        // Nothing is less than zero without a sign.
        Sltu if i.rs2 == 0 => constant(i.rd, 0),
        Sltiu if i.k == 0 => constant(i.rd, 0),
        Slti if i.rs1 == 0 => constant(i.rd, i32::from(i.k > 0)),
        Sltiu if i.rs1 == 0 => constant(i.rd, 1),
        // A copy.
        Ori | Xori | Slli | Srli | Srai if i.k == 0 => copy(i.rd, i.rs1),
        Andi if i.k == -1 => copy(i.rd, i.rs1),
        Add | Sub | Or | Xor | Sll | Srl | Sra if i.rs2 == 0 => copy(i.rd, i.rs1),
        Add | Or | Xor if i.rs1 == 0 => copy(i.rd, i.rs2),
        And | Or if same => copy(i.rd, i.rs1),
        // Twice.
        Add if same => Instruction { opcode: Slli, rd: i.rd, rs1: i.rs1, rs2: 0, k: 1 },
        _ => i,
    }
}

fn constant(rd: u8, k: i32) -> Instruction {
    Instruction { opcode: Opcode::Addi, rd, rs1: 0, rs2: 0, k }
}

fn copy(rd: u8, rs: u8) -> Instruction {
    Instruction { opcode: Opcode::Addi, rd, rs1: rs, rs2: 0, k: 0 }
}
