//! How SPARC's instructions are compared.
//!
//! Owns: which of them transfer control, which may change places, and executing two on `isa`'s core.

use isa::Cycles;
use isa::sparc::bits::CONSTANT;
use isa::sparc::table::Operand;
use isa::sparc::{Bus, Class, Fetched, Instruction, Machine, Opcode, Refusal, Set, Settings, Stop, Width};

use super::{Check, Fault, Reading, STATES, mix, register};

/// SPARC V8.
pub(super) struct Sparc;

impl Reading for Sparc {
    type Instruction = Instruction;
    const NOP: u32 = 0x0100_0000;

    fn decode(word: u32) -> Option<Instruction> {
        Instruction::decode(word)
    }

    fn distance(instruction: &Instruction) -> Option<i32> {
        let operands = instruction.opcode.row().operands;
        matches!(operands, [Operand::Relative22] | [Operand::Relative30]).then_some(instruction.k)
    }

    fn are_same_branch(a: Instruction, b: Instruction) -> bool {
        Instruction { k: b.k, ..a } == b
    }

    fn sent(word: u32, bytes: u32) -> u32 {
        if word >> 30 == 1 { 1 << 30 | bytes >> 2 } else { word >> 22 << 22 | bytes << 8 >> 10 }
    }

    fn do_the_same(a: Instruction, b: Instruction) -> bool {
        do_the_same(a, b)
    }

    fn loads(i: &Instruction) -> bool {
        i.reads().contains(Set::MEMORY) && !i.writes().contains(Set::MEMORY)
    }

    fn may_swap(check: &Check<'_, Sparc>, first: u32, second: u32) -> bool {
        let late = |opcode| {
            matches!(opcode, Opcode::Wry | Opcode::Wrpsr | Opcode::Wrwim | Opcode::Wrtbr | Opcode::Wrasr)
        };
        let before = |old: u32, words: u32| old.checked_sub(4 * words).and_then(|old| check.instruction(old));
        let keeps = |old: u32| {
            (1..=3).any(|words| before(old, words).is_some_and(|i| late(i.opcode)))
                || check.instruction(old).is_none_or(|i| late(i.opcode))
        };
        let (Some(a), Some(b)) = (check.instruction(first), check.instruction(second)) else { return false };
        if keeps(first) || keeps(second) || !are_independent(&a, &b) {
            return false;
        }
        // A delay instruction may go before its transfer, and another one that was before it take its place.
        let of_transfer = before(first, 1).is_some_and(|i| transfers(&i));
        let is_own_delay = second == first + 4;
        let is_behind = check.skip_fillers(check.behind(check.place(second))) == check.place(first);
        match (transfers(&a), transfers(&b)) {
            (true, true) => false,
            (true, false) => !of_transfer && is_own_delay && always_delays(&a),
            (false, true) => !of_transfer && is_behind && always_delays(&b),
            (false, false) => {
                let transfer = before(second, 1).filter(transfers);
                !of_transfer && transfer.is_none_or(|transfer| always_delays(&transfer))
            }
        }
    }

    /// The place of return is 8 behind a call, 12 where a structure's size stands between.
    fn behind(check: &mut Check<'_, Sparc>, link_slots: bool) {
        for item in &check.flow.items {
            let Some(instruction) = check.instruction(item.old) else { continue };
            let links = matches!(instruction.opcode, Opcode::Call)
                || instruction.opcode == Opcode::Jmpl && instruction.rd != 0;
            let new = check.place(item.old);
            let delay = check.place(item.old + 4);
            // What an unconditional branch annuls is never executed; RETT is a delay instruction itself.
            let annuls = instruction.opcode == Opcode::Ba && instruction.annuls();
            let delayed = transfers(&instruction) && !annuls && instruction.opcode != Opcode::Rett;
            let there = check.flow.index(item.old + 4).is_some();
            let behind = check.skip_fillers(check.behind(new));
            // In its place may be one from before; that the two may change places is asked for all pairs.
            let replaced = check.old_of.get(&behind).is_some_and(|&old| old < item.old);
            if delayed && there && behind != delay && !(replaced && always_delays(&instruction)) {
                check.faults.push(Fault::Behind { old: item.old });
            }
            let sized = check.program.word_at(item.old + 8).is_some_and(|word| word != 0 && word >> 12 == 0);
            let links = links && !check.flow.endless.contains(&item.old);
            let back = [Some(8), sized.then_some(12)];
            for bytes in back.into_iter().flatten().filter(|_| links && (sized || !link_slots)) {
                let there = check.flow.index(item.old + bytes).is_some();
                if there && (new & 3 != 0 || check.place(item.old + bytes) != new + bytes) {
                    check.faults.push(Fault::Behind { old: item.old });
                }
            }
        }
    }
}

/// What transfers control, and what decides where to.
fn transfers(instruction: &Instruction) -> bool {
    let operands = instruction.opcode.row().operands;
    let relative = matches!(operands, [Operand::Relative22] | [Operand::Relative30] | [Operand::TrapNumber]);
    relative || matches!(instruction.opcode, Opcode::Jmpl | Opcode::Rett)
}

/// What transfers control behind its delay instruction, whichever way it goes, by registers and icc alone.
fn always_delays(instruction: &Instruction) -> bool {
    let branches = instruction.opcode.row().class == Class::Branch && !instruction.annuls();
    branches || matches!(instruction.opcode, Opcode::Call | Opcode::Jmpl)
}

/// A constant distance from a stack pointer: base, first byte, and how many.
fn on_stack(i: &Instruction) -> Option<(u8, i32, i32)> {
    let bytes = match i.opcode.row().mnemonic {
        "ldsb" | "ldub" | "stb" => 1,
        "ldsh" | "lduh" | "sth" => 2,
        "ld" | "st" if i.opcode.row().class != Class::Unit => 4,
        "ldd" | "std" if i.opcode.row().class != Class::Unit => 8,
        _ => return None,
    };
    (matches!(i.rs1, 14 | 30) && i.rs2 == CONSTANT).then_some((i.rs1, i.k, bytes))
}

/// Whether neither changes what the other one has or does, and at most one of them may trap.
fn are_independent(a: &Instruction, b: &Instruction) -> bool {
    let registers = |set: Set| set.without(Set::MEMORY);
    let meets =
        registers(a.writes()).meets(b.reads().union(b.writes())) || registers(b.writes()).meets(a.reads());
    let memory = |i: &Instruction| i.reads().union(i.writes()).contains(Set::MEMORY);
    let stores = |i: &Instruction| i.writes().contains(Set::MEMORY);
    let divides = |i: &Instruction| i.opcode.row().class == Class::Divide;
    let windows = |i: &Instruction| matches!(i.opcode, Opcode::Save | Opcode::Restore);
    let tagged = |i: &Instruction| matches!(i.opcode, Opcode::Taddcctv | Opcode::Tsubcctv);
    let jumps = |i: &Instruction| i.opcode == Opcode::Jmpl;
    let traps = |i: &Instruction| {
        memory(i) && on_stack(i).is_none() || divides(i) || windows(i) || tagged(i) || jumps(i)
    };
    if meets || traps(a) && traps(b) {
        return false;
    }
    let apart = match (on_stack(a), on_stack(b)) {
        (Some((base, first, bytes)), Some((other, second, more))) => {
            base == other && (first + bytes <= second || second + more <= first)
        }
        _ => false,
    };
    !(memory(a) && memory(b)) || apart || !stores(a) && !stores(b)
}

/// A place with one instruction, and memory whose bytes follow from their addresses.
struct Bench {
    instruction: Instruction,
    stored: Option<(u32, Width, u64)>,
}

impl Bus for Bench {
    const SLOTS: bool = false;

    fn fetch(&mut self, pc: u32, _cycle: Cycles, _wait: &mut u32) -> Result<Fetched, Refusal> {
        Ok(Fetched { instruction: self.instruction, next: pc + 4 })
    }

    fn load(&mut self, address: u32, width: Width, _cycle: Cycles, _wait: &mut u32) -> Result<u64, Refusal> {
        let mixed = mix(address.into());
        Ok(if width == Width::Double { mixed } else { mixed >> (64 - 8 * width.bytes()) })
    }

    fn store(
        &mut self,
        address: u32,
        width: Width,
        value: u64,
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

/// Everything that an instruction leaves behind: registers, PSR, Y, PC, what it stored, and how it ended.
type After = (Vec<u32>, u32, u32, u32, Option<(u32, Width, u64)>, Stop);

fn after(instruction: Instruction, state: u64) -> After {
    let mut machine = Machine::new(Bench { instruction, stored: None }, Settings::default(), 0x4000_0000);
    for number in 1..32 {
        machine.set_register(number, register(state, number));
    }
    machine.set_y(mix(state << 8) as u32);
    let icc = (mix(state << 8 | 0xff) as u32 & 0xf) << 20;
    let psr = machine.psr() & !(0xf << 20) | icc;
    assert!(machine.set_psr(psr).is_ok(), "only condition codes change");
    let stop = machine.step(&mut ());
    let registers = (0..32).map(|number| machine.register(number)).collect();
    (registers, machine.psr(), machine.y(), machine.pc(), machine.bus.stored, stop)
}
