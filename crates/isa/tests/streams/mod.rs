//! Random programs for the bare machine, from a seed: loops, branches, calls, loads and stores that meet each other and
//! that miss caches, multiplications and divisions, in an order that no compiler would choose.
#![allow(dead_code)] // each test file uses some of it

use isa::rv32::bare::Program;
use isa::rv32::{Instruction, Opcode, Unit, text};

use super::emulator::Random;

/// Counts the rounds of a loop.
const COUNTER: u8 = 2;
/// Where data is.
const NEAR: u8 = 3;
const FAR: u8 = 4;
/// Addresses that are computed.
const PLACE: u8 = 30;
/// Where the registers of the bare machine are.
const OUTSIDE: u8 = 31;
/// The registers that anything may be in.
const FREE: std::ops::Range<u32> = 5..29;
/// Where data begins, and how many pages of it there are.
const DATA: u32 = 0x10_0000;
const PAGES: u32 = 16;

const ARITHMETIC: &[Opcode] = {
    use Opcode::*;
    &[Add, Sub, Sll, Slt, Sltu, Xor, Srl, Sra, Or, And, Mul, Mulh, Mulhsu, Mulhu]
};
const DIVISIONS: &[Opcode] = &[Opcode::Div, Opcode::Divu, Opcode::Rem, Opcode::Remu];
const CONSTANT: &[Opcode] = {
    use Opcode::*;
    &[Addi, Slti, Sltiu, Xori, Ori, Andi]
};
const SHIFTS: &[Opcode] = &[Opcode::Slli, Opcode::Srli, Opcode::Srai];
const ACCESSES: &[(Opcode, i32)] = {
    use Opcode::*;
    &[(Lb, 1), (Lh, 2), (Lw, 4), (Lbu, 1), (Lhu, 2), (Lw, 4), (Sb, 1), (Sh, 2), (Sw, 4), (Sw, 4)]
};
const BRANCHES: &[Opcode] = {
    use Opcode::*;
    &[Beq, Bne, Blt, Bge, Bltu, Bgeu]
};

/// What a program is made of.
#[derive(Clone, Copy, Debug)]
pub struct Mixture {
    /// Loops, one after the other, and functions that they call.
    pub loops: u32,
    /// The most instructions of a loop's body.
    pub body_max: u32,
    /// The most rounds of a loop.
    pub rounds_max: u32,
    /// Of 100 instructions, how many are loads and stores, transfers of control, divisions, custom ones.
    pub accesses: u32,
    pub transfers: u32,
    pub divisions: u32,
    pub customs: u32,
}

/// Loops that are warm after a few rounds.
pub const WARM: Mixture = Mixture {
    loops: 40,
    body_max: 60,
    rounds_max: 12,
    accesses: 25,
    transfers: 15,
    divisions: 3,
    customs: 0,
};
/// Code that is hardly executed twice, and much of everything that takes its time.
pub const COLD: Mixture = Mixture {
    loops: 120,
    body_max: 60,
    rounds_max: 2,
    accesses: 40,
    transfers: 20,
    divisions: 2,
    customs: 0,
};

/// Writes one.
struct Writer<'a> {
    random: Random,
    mixture: Mixture,
    units: &'a [Unit],
    words: Vec<u32>,
    /// The first instruction that no branch before it can jump over.
    free_from: usize,
    /// Calls that wait for their function: where they stand.
    calls: Vec<usize>,
}

impl Writer<'_> {
    fn put(&mut self, instruction: Instruction) {
        self.words.push(instruction.encode().unwrap_or_else(|error| panic!("{error}")));
    }

    fn line(&mut self, line: &str) {
        self.put(text::parse(line).unwrap_or_else(|error| panic!("{line}: {error}")));
    }

    fn free(&mut self) -> u8 {
        (FREE.start + self.random.below(FREE.end - FREE.start)) as u8
    }

    /// A register that is often one of few, so that instructions wait for each other.
    fn source(&mut self) -> u8 {
        if self.random.below(3) == 0 { self.free() } else { (FREE.start + self.random.below(4)) as u8 }
    }

    fn destination(&mut self) -> u8 {
        match self.random.below(16) {
            0 => 0,
            1..=9 => (FREE.start + self.random.below(4)) as u8,
            _ => self.free(),
        }
    }

    fn registers(&mut self, opcode: Opcode) -> Instruction {
        Instruction { opcode, rd: self.destination(), rs1: self.source(), rs2: self.source(), k: 0 }
    }

    /// One that only computes.
    fn computes(&mut self) {
        let instruction = match self.random.below(8) {
            0..=3 => {
                let opcode = self.random.of(ARITHMETIC);
                self.registers(opcode)
            }
            4..=5 => {
                let opcode = self.random.of(CONSTANT);
                let k = self.random.below(4096) as i32 - 2048;
                Instruction { rs2: 0, k, ..self.registers(opcode) }
            }
            6 => {
                let opcode = self.random.of(SHIFTS);
                let k = self.random.below(32) as i32;
                Instruction { rs2: 0, k, ..self.registers(opcode) }
            }
            _ => {
                let opcode = self.random.of(&[Opcode::Lui, Opcode::Auipc]);
                let k = self.random.below(1 << 20) as i32;
                Instruction { rs1: 0, rs2: 0, k, ..self.registers(opcode) }
            }
        };
        self.put(instruction);
    }

    /// A load or store: of a few words that others access too, of any near word, of any word of a few pages, or a load
    /// of what is not memory.
    fn access(&mut self) {
        let (opcode, bytes) = self.random.of(ACCESSES);
        if self.random.below(24) == 0 {
            let rd = self.destination();
            return self.put(Instruction { rd, rs1: OUTSIDE, k: 12, ..Instruction::new(Opcode::Lw) });
        }
        let (base, k) = match self.random.below(8) {
            0..=3 => (NEAR, self.random.below(12) as i32 / bytes * bytes),
            4 => (NEAR, (self.random.below(4095) as i32 - 2047) / bytes * bytes),
            5 => (FAR, (self.random.below(4095) as i32 - 2047) / bytes * bytes),
            6 if self.words.len() >= self.free_from => {
                let (source, base) = (self.source(), self.random.of(&[NEAR, FAR]));
                self.put(Instruction { rd: PLACE, rs1: source, k: 0x7fc, ..Instruction::new(Opcode::Andi) });
                self.put(Instruction { rd: PLACE, rs1: PLACE, rs2: base, ..Instruction::new(Opcode::Add) });
                (PLACE, 0)
            }
            _ => {
                let page = (DATA >> 12) + 1 + self.random.below(PAGES);
                self.put(Instruction { rd: FAR, k: page as i32, ..Instruction::new(Opcode::Lui) });
                (FAR, 4 * self.random.below(8) as i32)
            }
        };
        let found = self.registers(opcode);
        self.put(match opcode {
            Opcode::Sb | Opcode::Sh | Opcode::Sw => Instruction { rd: 0, rs1: base, k, ..found },
            _ => Instruction { rs1: base, rs2: 0, k, ..found },
        });
    }

    /// A branch or jump over a few instructions, or a call.
    fn transfer(&mut self) {
        let over = 1 + self.random.below(6) as i32;
        match self.random.below(8) {
            0 => self.put(Instruction { rd: 0, k: 4 * over, ..Instruction::new(Opcode::Jal) }),
            1 => {
                let rd = self.destination();
                self.put(Instruction { rd, k: 4 * over, ..Instruction::new(Opcode::Jal) });
            }
            // Nothing may come between the address and the jump.
            2 if self.words.len() >= self.free_from => {
                let rd = self.destination();
                self.put(Instruction { rd: PLACE, ..Instruction::new(Opcode::Auipc) });
                let k = 4 * (over + 1);
                self.put(Instruction { rd, rs1: PLACE, rs2: 0, k, opcode: Opcode::Jalr });
            }
            3..=4 => {
                self.calls.push(self.words.len());
                self.put(Instruction::new(Opcode::Jal));
            }
            _ => {
                let opcode = self.random.of(BRANCHES);
                let found = self.registers(opcode);
                self.put(Instruction { rd: 0, k: 4 * over, ..found });
            }
        }
        self.free_from = self.free_from.max(self.words.len() - 1 + over as usize);
    }

    fn divides(&mut self) {
        let opcode = self.random.of(DIVISIONS);
        let instruction = self.registers(opcode);
        self.put(instruction);
    }

    /// A custom instruction of some unit, or none where there is no unit.
    fn custom(&mut self) {
        let Some(unit) = self.units.get(self.random.below(self.units.len().max(1) as u32) as usize) else {
            return;
        };
        let registers = [self.destination(), self.source(), self.source(), self.source()];
        let immediate = self.random.below(4096) as i32 - 2048;
        self.words.push(unit.word(registers, immediate));
    }

    /// Some instructions, in which no branch leads behind the end.
    fn body(&mut self, count: u32, may_call: bool) {
        let end = self.words.len() + count as usize;
        let Mixture { accesses, transfers, divisions, customs, .. } = self.mixture;
        while self.words.len() < end {
            match self.random.below(100) {
                of if of < accesses => self.access(),
                of if of < accesses + transfers && may_call => self.transfer(),
                of if of < accesses + transfers + divisions => self.divides(),
                of if of < accesses + transfers + divisions + customs => self.custom(),
                98 => self.line("csrr x29, instret"),
                99 => self.line("fence rw, rw"),
                _ => self.computes(),
            }
        }
        while self.words.len() < self.free_from {
            self.computes();
        }
    }

    /// A function for each of some calls, and a distance for each call.
    fn functions(&mut self) {
        let mut calls = std::mem::take(&mut self.calls);
        while !calls.is_empty() {
            let begin = self.words.len();
            let count = 1 + self.random.below(self.mixture.body_max);
            self.body(count, false);
            self.line("ret");
            let callers = (1 + self.random.below(4) as usize).min(calls.len());
            for call in calls.drain(..callers) {
                let k = 4 * (begin - call) as i32;
                let jump = Instruction { rd: 1, k, ..Instruction::new(Opcode::Jal) };
                self.words[call] = jump.encode().unwrap_or_else(|error| panic!("{error}"));
            }
        }
    }

    fn program(&mut self) {
        for register in 1..32 {
            let value = self.random.next();
            self.line(&format!("lui x{register}, {:#x}", value >> 12));
            self.line(&format!("addi x{register}, x{register}, {}", (value & 0xfff) as i32 - 2048));
        }
        self.line(&format!("lui x{NEAR}, {:#x}", DATA >> 12));
        self.line(&format!("lui x{FAR}, {:#x}", (DATA >> 12) + 1));
        self.line(&format!("lui x{OUTSIDE}, 0x80000"));
        // Custom instructions are switched on where they have to be.
        self.line(&format!("lw x{PLACE}, 12(x{OUTSIDE})"));
        self.line(&format!("beqz x{PLACE}, .+8"));
        self.line(&format!("csrrw x0, 0xbc0, x{PLACE}"));
        self.line(&format!("sw x0, 8(x{OUTSIDE})"));
        for _ in 0..self.mixture.loops {
            let rounds = 1 + self.random.below(self.mixture.rounds_max);
            self.line(&format!("addi x{COUNTER}, x0, {rounds}"));
            let begin = self.words.len();
            let count = 1 + self.random.below(self.mixture.body_max);
            self.body(count, true);
            self.line(&format!("addi x{COUNTER}, x{COUNTER}, -1"));
            let back = 4 * (self.words.len() - begin);
            self.line(&format!("bnez x{COUNTER}, .-{back}"));
        }
        self.line(&format!("sw x0, 8(x{OUTSIDE})"));
        self.line(&format!("sw x0, 0(x{OUTSIDE})"));
        self.line("j .+0");
        // Behind the end, nothing is executed that is not called.
        self.free_from = self.words.len();
        self.functions();
    }
}

/// The program of a seed.
pub fn program(seed: u64, mixture: Mixture) -> Program {
    with_units(seed, mixture, &[])
}

/// The same with custom instructions.
pub fn with_units(seed: u64, mixture: Mixture, units: &[Unit]) -> Program {
    let (random, words, calls) = (Random(seed), Vec::new(), Vec::new());
    let mut writer = Writer { random, mixture, units, words, free_from: 0, calls };
    writer.program();
    let bytes: Vec<u8> = writer.words.iter().flat_map(|word| word.to_le_bytes()).collect();
    assert!(bytes.len() < DATA as usize - 4096, "code would be where data is");
    Program::flat(bytes).expect("it fits")
}
