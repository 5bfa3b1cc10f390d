//! How RV32's instructions are compared.
//!
//! Owns: which of them transfer control, which may change places, and executing two on `isa`'s core.

use isa::Cycles;
use isa::rv32::{Bus, Fetched, Instruction, Machine, Opcode, Refusal, Set, Stop, Timing, Width};

use super::{Check, Fault, Reading, STATES, mix, register};

/// RV32IM.
pub(super) struct Rv32;

impl Reading for Rv32 {
    type Instruction = Instruction;
    /// ADDI x0, x0, 0.
    const NOP: u32 = 0x0000_0013;

    fn decode(word: u32) -> Option<Instruction> {
        Instruction::decode(word)
    }

    fn distance(instruction: &Instruction) -> Option<i32> {
        (instruction.opcode == Opcode::Jal || is_branch(instruction.opcode)).then_some(instruction.k)
    }

    fn are_same_branch(a: Instruction, b: Instruction) -> bool {
        let same = Instruction { k: b.k, ..a } == b;
        let turned = Instruction { k: b.k, rs1: a.rs2, rs2: a.rs1, ..a } == b;
        same || turned && matches!(a.opcode, Opcode::Beq | Opcode::Bne)
    }

    fn sent(word: u32, bytes: u32) -> u32 {
        let sent = Instruction::decode(word).filter(|instruction| Rv32::distance(instruction).is_some());
        let sent = sent.map(|instruction| Instruction { k: bytes as i32, ..instruction });
        sent.and_then(|instruction| instruction.encode().ok()).unwrap_or(word)
    }

    fn do_the_same(a: Instruction, b: Instruction) -> bool {
        // Few states tell two comparisons apart.
        let compares = matches!(a.opcode, Opcode::Slt | Opcode::Slti | Opcode::Sltu | Opcode::Sltiu);
        if compares && a.opcode == b.opcode { a == b } else { do_the_same(a, b) }
    }

    fn loads(i: &Instruction) -> bool {
        access(i).is_some_and(|(_, stores)| !stores)
    }

    fn may_swap(check: &Check<'_, Rv32>, first: u32, second: u32) -> bool {
        let both = check.instruction(first).zip(check.instruction(second));
        both.is_some_and(|(a, b)| are_independent(&a, &b))
    }

    /// What a call or a trap comes back to begins the word behind it. What stands behind a branch is in its run, where
    /// nothing changes places with the branch.
    fn behind(check: &mut Check<'_, Rv32>, link_slots: bool) {
        for item in &check.flow.items {
            let Some(instruction) = check.instruction(item.old) else { continue };
            let links = matches!(instruction.opcode, Opcode::Jal | Opcode::Jalr) && instruction.rd != 0;
            let traps = matches!(instruction.opcode, Opcode::Ecall | Opcode::Ebreak);
            let comes_back = traps || links && !link_slots;
            let there = check.flow.index(item.old + 4).is_some();
            let back = check.place(item.old + 4);
            let found = check.skip_fillers(check.behind(check.place(item.old)));
            if comes_back && there && (found != back || back & 3 != 0) {
                check.faults.push(Fault::Behind { old: item.old });
            }
        }
    }
}

fn is_branch(opcode: Opcode) -> bool {
    use Opcode::*;
    matches!(opcode, Beq | Bne | Blt | Bge | Bltu | Bgeu)
}

const STACK_POINTER: u8 = 2;

/// How many bytes it loads or stores, and whether it stores.
fn access(i: &Instruction) -> Option<(i32, bool)> {
    Some(match i.opcode.row().mnemonic {
        "lb" | "lbu" => (1, false),
        "lh" | "lhu" => (2, false),
        "lw" => (4, false),
        "sb" => (1, true),
        "sh" => (2, true),
        "sw" => (4, true),
        _ => return None,
    })
}

/// Whether it does nothing but compute in registers.
fn computes(i: &Instruction) -> bool {
    // Of the major opcodes, OP-IMM, OP and LUI.
    i.encode().is_ok_and(|word| matches!(word & 0x7f, 0x13 | 0x33 | 0x37))
}

/// Whether neither changes what the other one has or does, and at most one of them may trap.
fn are_independent(a: &Instruction, b: &Instruction) -> bool {
    if ![a, b].into_iter().all(|i| computes(i) || access(i).is_some()) {
        return false;
    }
    let registers = |set: Set| set.without(Set::MEMORY);
    let meets =
        registers(a.writes()).meets(b.reads().union(b.writes())) || registers(b.writes()).meets(a.reads());
    // The stack is memory, where nothing traps. What global and thread pointer point at, others may look at.
    let on_stack = |i: &Instruction| i.rs1 == STACK_POINTER;
    let traps = |i: &Instruction| access(i).is_some() && !on_stack(i);
    if meets || traps(a) && traps(b) {
        return false;
    }
    let (Some((a_bytes, a_stores)), Some((b_bytes, b_stores))) = (access(a), access(b)) else { return true };
    let apart = on_stack(a) && on_stack(b) && (a.k + a_bytes <= b.k || b.k + b_bytes <= a.k);
    apart || !a_stores && !b_stores
}

/// A place with one instruction, and memory whose bytes follow from their addresses.
struct Bench {
    instruction: Instruction,
    stored: Option<(u32, Width, u32)>,
}

impl Bus for Bench {
    const SLOTS: bool = false;

    fn fetch(&mut self, pc: u32, _cycle: Cycles, _wait: &mut u32) -> Result<Fetched, Refusal> {
        Ok(Fetched { instruction: self.instruction, next: pc + 4 })
    }

    fn load(&mut self, address: u32, width: Width, _cycle: Cycles, _wait: &mut u32) -> Result<u32, Refusal> {
        Ok((mix(address.into()) >> (64 - 8 * width.bytes())) as u32)
    }

    fn store(
        &mut self,
        address: u32,
        width: Width,
        value: u32,
        _cycle: Cycles,
        _wait: &mut u32,
    ) -> Result<(), Refusal> {
        self.stored = Some((address, width, value));
        Ok(())
    }
}

/// Executes both from the same states and compares all that they leave.
pub fn do_the_same(a: Instruction, b: Instruction) -> bool {
    (0..STATES).all(|state| after(a, state) == after(b, state))
}

/// Everything that an instruction leaves behind: registers, PC, what it stored, and how it ended.
type After = (Vec<u32>, u32, Option<(u32, Width, u32)>, Stop);

fn after(instruction: Instruction, state: u64) -> After {
    let mut machine = Machine::new(Bench { instruction, stored: None }, Timing::ideal(), 0x1_0000);
    for number in 1..32 {
        machine.set_register(number, register(state, number));
    }
    let stop = machine.step(&mut ());
    let registers = (0..32).map(|number| machine.register(number)).collect();
    (registers, machine.pc(), machine.bus.stored, stop)
}
