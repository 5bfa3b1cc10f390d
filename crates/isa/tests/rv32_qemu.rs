//! The RV32IM core against QEMU: every register after every instruction of random code, as a program under Linux.

mod emulator;

use emulator::rv32::{CODE, DATA, elf, record};
use emulator::{Random, soak};
use isa::rv32::{Files, Image, Instruction, Opcode, User, text, user};

/// The register whose value is the address of data.
const BASE: u8 = 4;

/// Random instructions, each of which is executed at most once.
struct Writer {
    random: Random,
    words: Vec<u32>,
    /// The first instruction that no branch before it can jump over.
    free_from: usize,
}

const ARITHMETIC: &[Opcode] = {
    use Opcode::*;
    &[Add, Sub, Sll, Slt, Sltu, Xor, Srl, Sra, Or, And, Mul, Mulh, Mulhsu, Mulhu, Div, Divu, Rem, Remu]
};
const CONSTANT: &[Opcode] = {
    use Opcode::*;
    &[Addi, Slti, Sltiu, Xori, Ori, Andi]
};
const SHIFTS: &[Opcode] = &[Opcode::Slli, Opcode::Srli, Opcode::Srai];
const ACCESSES: &[(Opcode, i32)] = {
    use Opcode::*;
    &[(Lb, 1), (Lh, 2), (Lw, 4), (Lbu, 1), (Lhu, 2), (Sb, 1), (Sh, 2), (Sw, 4)]
};
const BRANCHES: &[Opcode] = {
    use Opcode::*;
    &[Beq, Bne, Blt, Bge, Bltu, Bgeu]
};

impl Writer {
    fn put(&mut self, instruction: Instruction) {
        self.words.push(instruction.encode().expect("it is encodable"));
    }

    fn line(&mut self, line: &str) {
        self.put(text::parse(line).unwrap_or_else(|error| panic!("{line}: {error}")));
    }

    fn destination(&mut self) -> u8 {
        let register = self.random.below(32) as u8;
        if register == BASE { 0 } else { register }
    }

    /// An instruction with random registers.
    fn registers(&mut self, opcode: Opcode) -> Instruction {
        let rd = self.destination();
        let (rs1, rs2) = (self.random.below(32) as u8, self.random.below(32) as u8);
        Instruction { opcode, rd, rs1, rs2, k: 0 }
    }

    fn constant(&mut self) -> i32 {
        match self.random.below(3) {
            0 => self.random.below(16) as i32 - 8,
            1 => self.random.of(&[-2048, 2047, 1024, -1]),
            _ => self.random.below(4096) as i32 - 2048,
        }
    }

    /// One that is no transfer of control.
    fn plain(&mut self) {
        let instruction = match self.random.below(12) {
            0..=3 => {
                let opcode = self.random.of(ARITHMETIC);
                self.registers(opcode)
            }
            4..=6 => {
                let (opcode, k) = (self.random.of(CONSTANT), self.constant());
                Instruction { rs2: 0, k, ..self.registers(opcode) }
            }
            7 => {
                let (opcode, k) = (self.random.of(SHIFTS), self.random.below(32) as i32);
                Instruction { rs2: 0, k, ..self.registers(opcode) }
            }
            8 => {
                let opcode = self.random.of(&[Opcode::Lui, Opcode::Auipc]);
                let k = self.random.of(&[0, 1, 0x7_ffff, 0x8_0000, 0xf_ffff, 0x1_2345]);
                Instruction { rs1: 0, rs2: 0, k, ..self.registers(opcode) }
            }
            9 => {
                // Numbers whose quotients are special.
                let (rd, line) = (self.destination(), self.random.below(4));
                let opcode = if line == 0 { Opcode::Lui } else { Opcode::Addi };
                let k = [0x8_0000, -1, 0, 1][line as usize];
                Instruction { rd, k, ..Instruction::new(opcode) }
            }
            _ => self.access(),
        };
        self.put(instruction);
    }

    fn access(&mut self) -> Instruction {
        let (opcode, bytes) = self.random.of(ACCESSES);
        let k = (self.random.below(4096) as i32 - 2048) / bytes * bytes;
        let found = Instruction { rs1: BASE, k, ..self.registers(opcode) };
        match opcode {
            Opcode::Sb | Opcode::Sh | Opcode::Sw => Instruction { rd: 0, ..found },
            _ => Instruction { rs2: 0, ..found },
        }
    }

    /// A branch or jump over a few instructions.
    fn transfer(&mut self) {
        let over = 1 + self.random.below(6) as i32;
        match self.random.below(6) {
            0 => {
                let rd = self.destination();
                self.put(Instruction { rd, k: 4 * over, ..Instruction::new(Opcode::Jal) });
            }
            // Nothing may come between the address and the jump.
            1 if self.words.len() >= self.free_from => {
                let rd = self.destination();
                let rs1 = self.random.of(&[1_u8, 5, 6, 31]);
                self.put(Instruction { rd: rs1, ..Instruction::new(Opcode::Auipc) });
                // The lowest bit is dropped.
                let k = 4 * (over + 1) + self.random.below(2) as i32;
                self.put(Instruction { rd, rs1, rs2: 0, k, opcode: Opcode::Jalr });
            }
            _ => {
                let opcode = self.random.of(BRANCHES);
                let found = self.registers(opcode);
                self.put(Instruction { rd: 0, k: 4 * over, ..found });
            }
        }
        self.free_from = self.free_from.max(self.words.len() - 1 + over as usize);
    }

    fn instructions(&mut self, count: usize) {
        let end = self.words.len() + count;
        while self.words.len() < end {
            match self.random.below(6) {
                0 => self.transfer(),
                _ => self.plain(),
            }
        }
        // What the last branch may jump over.
        (0..8).for_each(|_| self.line("nop"));
    }
}

/// The instruction at an address, for a message.
fn listed(words: &[u32], pc: u32) -> String {
    let word = words.get((pc.wrapping_sub(CODE) / 4) as usize).copied().unwrap_or(0);
    Instruction::decode(word).map_or(format!("{word:#010x}"), |instruction| instruction.to_string())
}

#[test]
fn random_code_leaves_every_register_as_qemu_does() {
    if !emulator::present("qemu-riscv32", "RV32 against qemu-riscv32") {
        return;
    }
    let (seeds, count) = if soak() { (0..40, 20_000) } else { (0..3, 4_000) };
    for seed in seeds {
        let seed = 0x5eed_3201 + seed;
        println!("seed {seed:#x}");
        let mut writer = Writer { random: Random(seed), words: Vec::new(), free_from: 0 };
        writer.line(&format!("lui tp, {:#x}", (DATA + 0x8000) >> 12));
        writer.instructions(count);
        writer.line("li a7, 93");
        writer.line("ecall");
        let words = writer.words;
        let bytes = elf(&words, CODE);
        let program = emulator::write_program(&format!("rv32-random-{seed:x}.elf"), &bytes);
        let mut theirs = emulator::rv32::records(emulator::rv32::user(&program));
        let first = theirs.next().expect("it executes something");
        let image = Image::parse(&bytes).expect("an image");
        let settings = user::Settings::default();
        let mut ours = User::new(&image, &[], Files::default(), settings).expect("it fits");
        (0..32).for_each(|number| ours.machine.set_register(number, first.registers[usize::from(number)]));
        let (mut executed, mut before) = (0, CODE);
        for their in theirs {
            let stop = ours.run(ours.machine.cycle() + 1, &mut ());
            assert_eq!(stop, user::Stop::Reached, "{}", listed(&words, before));
            let our = record(&ours.machine);
            assert_eq!(our, their, "seed {seed:#x}, after `{}` at {before:#x}", listed(&words, before));
            before = our.pc;
            executed += 1;
        }
        assert_eq!(before, CODE + 4 * (words.len() as u32 - 1), "the emulator stopped early");
        assert!(executed > count / 2, "{executed} instructions");
        assert!(matches!(ours.run(u64::MAX, &mut ()), user::Stop::Exit(_)));
        println!("{executed} instructions");
    }
}
