//! The SPARC core against QEMU: every register before every instruction, of random code as a program under Linux and
//! as a supervisor on a LEON3 board with every trap that it runs into.

mod emulator;

use emulator::{CODE, DATA, Random, Records, record, soak};
use isa::sparc::bits::CONSTANT;
use isa::sparc::{Board, Files, Image, Instruction, Machine, Opcode, Settings, Stop, User, text, user};

/// The register whose value is the address of data, and the ones that hold stacks.
const BASE: u8 = 6;
const KEPT: [u8; 4] = [BASE, 14, 30, 0];

/// Random instructions, each of which is executed at most once.
struct Writer {
    random: Random,
    words: Vec<u32>,
    /// The first instruction that no branch before it can jump over.
    free_from: usize,
    depth: u32,
    /// Whether instructions may trap.
    traps: bool,
}

const ARITHMETIC: &[Opcode] = {
    use Opcode::*;
    &[
        And, Andcc, Andn, Andncc, Or, Orcc, Orn, Orncc, Xor, Xorcc, Xnor, Xnorcc, Add, Addcc, Addx, Addxcc,
        Taddcc, Sub, Subcc, Subx, Subxcc, Tsubcc, Mulscc, Umul, Smul, Umulcc, Smulcc, Wry,
    ]
};
const SHIFTS: &[Opcode] = &[Opcode::Sll, Opcode::Srl, Opcode::Sra];
const DIVISIONS: &[Opcode] = &[Opcode::Udiv, Opcode::Sdiv, Opcode::Udivcc, Opcode::Sdivcc];
const ACCESSES: &[(Opcode, i32)] = {
    use Opcode::*;
    &[
        (Ldsb, 1),
        (Ldsh, 2),
        (Ldub, 1),
        (Lduh, 2),
        (Ld, 4),
        (Ldd, 8),
        (Stb, 1),
        (Sth, 2),
        (St, 4),
        (Std, 8),
        (Ldstub, 1),
        (Swap, 4),
    ]
};
const BRANCHES: &[Opcode] = {
    use Opcode::*;
    &[Bn, Be, Ble, Bl, Bleu, Bcs, Bneg, Bvs, Ba, Bne, Bg, Bge, Bgu, Bcc, Bpos, Bvc]
};
const TRAPPING: &[Opcode] = {
    use Opcode::*;
    &[
        Taddcctv, Tsubcctv, Tn, Te, Tle, Tl, Tleu, Tcs, Tneg, Tvs, Ta, Tne, Tg, Tge, Tgu, Tcc, Tpos, Tvc,
        Unimp, Fba, Cba, Ldf, Stdc, Fpop1, Rdpsr, Rdwim, Rdtbr, Rett, Flush,
    ]
};

impl Writer {
    fn put(&mut self, instruction: Instruction) {
        self.words.push(instruction.encode().expect("it is encodable"));
    }

    fn line(&mut self, line: &str) {
        let instruction = text::parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        self.put(instruction);
    }

    fn destination(&mut self) -> u8 {
        loop {
            let register = self.random.below(32) as u8;
            if !KEPT.contains(&register) {
                return register;
            }
        }
    }

    /// An instruction with random registers or a random constant.
    fn operands(&mut self, opcode: Opcode) -> Instruction {
        let (rd, rs1) = (self.destination(), self.random.below(32) as u8);
        if self.random.below(2) == 0 {
            return Instruction { opcode, rd, rs1, rs2: self.random.below(32) as u8, k: 0 };
        }
        let k = match self.random.below(3) {
            0 => self.random.below(16) as i32 - 8,
            1 => self.random.of(&[-4096, 4095, 1024, -1]),
            _ => self.random.below(8192) as i32 - 4096,
        };
        Instruction { opcode, rd, rs1, rs2: CONSTANT, k }
    }

    /// One that is no transfer of control.
    fn plain(&mut self) {
        let instruction = match self.random.below(10) {
            0..=4 => {
                let opcode = self.random.of(ARITHMETIC);
                let mut found = self.operands(opcode);
                found.rd = if opcode == Opcode::Wry { 0 } else { found.rd };
                found
            }
            5 => {
                let opcode = self.random.of(SHIFTS);
                let found = self.operands(opcode);
                Instruction { k: found.k & 31, ..found }
            }
            6 => {
                let (rd, k) = (self.destination(), self.random.below(1 << 22) as i32);
                Instruction { opcode: Opcode::Sethi, rd, rs1: 0, rs2: 0, k }
            }
            7 => self.division(),
            8 if self.traps && self.random.below(4) == 0 => self.trapping(),
            8 => Instruction { rd: self.destination(), ..Instruction::new(Opcode::Rdy) },
            _ => self.access(),
        };
        self.put(instruction);
    }

    fn division(&mut self) -> Instruction {
        let opcode = self.random.of(DIVISIONS);
        let found = self.operands(opcode);
        let k = self.random.of(&[1, -1, 3, 10, -7, 4095, -4096]);
        if self.traps && self.random.below(8) == 0 {
            found
        } else {
            Instruction { rs2: CONSTANT, k, ..found }
        }
    }

    fn access(&mut self) -> Instruction {
        let (opcode, bytes) = self.random.of(ACCESSES);
        let stray = if self.traps && self.random.below(8) == 0 { 1 } else { 0 };
        let k = self.random.below(500) as i32 * bytes + stray;
        let rd =
            if bytes == 8 { self.random.of(&[2, 8, 10, 16, 18, 22, 24, 26]) } else { self.destination() };
        Instruction { opcode, rd, rs1: BASE, rs2: CONSTANT, k }
    }

    fn trapping(&mut self) -> Instruction {
        let opcode = self.random.of(TRAPPING);
        let found = self.operands(opcode);
        match opcode {
            Opcode::Taddcctv | Opcode::Tsubcctv => found,
            Opcode::Rdpsr | Opcode::Rdwim | Opcode::Rdtbr => Instruction { rs1: 0, rs2: 0, k: 0, ..found },
            Opcode::Rett | Opcode::Flush => Instruction { rd: 0, rs1: BASE, rs2: CONSTANT, k: 0, opcode },
            Opcode::Unimp => Instruction { k: 5, ..Instruction::new(opcode) },
            Opcode::Ldf | Opcode::Stdc => Instruction { rd: 2, rs1: BASE, rs2: CONSTANT, k: 8, opcode },
            Opcode::Fba | Opcode::Cba => Instruction { k: 8, ..Instruction::new(opcode) },
            Opcode::Fpop1 => Instruction { k: 0x41, ..Instruction::new(opcode) },
            // Numbers whose handlers do what the others do.
            _ => Instruction { rd: 0, rs1: 0, rs2: CONSTANT, k: 0x20 + self.random.below(64) as i32, opcode },
        }
    }

    /// A branch or call over a few instructions, with a random one in its delay slot.
    fn transfer(&mut self) {
        let over = 2 + self.random.below(5) as usize;
        let (opcode, annul) = (self.random.of(BRANCHES), self.random.below(2) as u8);
        match self.random.below(6) {
            0 => self.put(Instruction { k: 4 * over as i32, ..Instruction::new(Opcode::Call) }),
            _ => self.put(Instruction { rd: annul, k: 4 * over as i32, ..Instruction::new(opcode) }),
        }
        self.free_from = self.free_from.max(self.words.len() - 1 + over);
        self.plain();
    }

    fn window(&mut self) {
        // What is inside a branch's reach may be left out, and then calls and returns are no longer even.
        if self.words.len() < self.free_from {
            return self.plain();
        }
        if self.depth > 0 && self.random.below(2) == 0 {
            self.depth -= 1;
            let mut found = self.operands(Opcode::Restore);
            found.rs1 = self.destination();
            self.put(found);
        } else if self.depth < 20 {
            self.depth += 1;
            self.line("save %sp, -96, %sp");
        }
    }

    fn instructions(&mut self, count: usize) {
        let end = self.words.len() + count;
        while self.words.len() < end {
            match self.random.below(12) {
                0 | 1 => self.transfer(),
                2 => self.window(),
                _ => self.plain(),
            }
        }
        // What the last branch may jump over.
        (0..8).for_each(|_| self.line("nop"));
    }

    fn set(&mut self, value: u32, register: &str) {
        self.line(&format!("sethi %hi({value}), {register}"));
        self.line(&format!("or {register}, {}, {register}", value & 0x3ff));
    }
}

/// The instruction at an address, for a message.
fn listed(words: &[u32], pc: u32) -> String {
    let word = words.get((pc.wrapping_sub(CODE) / 4) as usize).copied().unwrap_or(0);
    Instruction::decode(word).map_or(format!("{word:#010x}"), |instruction| instruction.to_string())
}

#[test]
fn random_code_leaves_every_register_as_qemu_does() {
    if !emulator::present("qemu-sparc", "SPARC against qemu-sparc") {
        return;
    }
    let (seeds, count) = if soak() { (0..40, 20_000) } else { (0..3, 4_000) };
    for seed in seeds {
        let seed = 0x5eed_0001 + seed;
        println!("seed {seed:#x}");
        let random = Random(seed);
        let mut writer = Writer { random, words: Vec::new(), free_from: 0, depth: 0, traps: false };
        writer.set(DATA + 0x8000, "%g6");
        writer.instructions(count);
        writer.line("mov 1, %g1");
        writer.line("ta 16");
        let words = writer.words;
        let bytes = emulator::elf(&words, CODE);
        let program = emulator::write_program(&format!("random-{seed:x}.elf"), &bytes);
        let mut theirs = Records::start(emulator::user(&program));
        let first = theirs.next().expect("it executes something");
        let image = Image::parse(&bytes).expect("an image");
        let settings = user::Settings::default();
        let mut ours = User::new(&image, &[], Files::default(), settings).expect("it fits");
        (0..32).for_each(|number| ours.machine.set_register(number, first.registers[usize::from(number)]));
        let (mut executed, mut before) = (0, CODE);
        for mut their in theirs {
            let done = ours.machine.spent().instructions;
            while ours.machine.spent().instructions == done || ours.machine.is_annulled() {
                let stop = ours.run(ours.machine.cycle() + 1, &mut ());
                assert_eq!(stop, user::Stop::Reached, "{}", listed(&words, before));
            }
            let mut our = record(&ours.machine);
            // As a program under Linux it sees condition codes and, by what it computes, the window.
            (our.psr, their.psr) = (our.psr & 0x00f0_001f, their.psr & 0x00f0_001f);
            assert_eq!(our, their, "seed {seed:#x}, after `{}` at {before:#x}", listed(&words, before));
            before = our.pc;
            executed += 1;
        }
        assert!(executed > count / 2, "{executed} instructions");
        assert!(matches!(ours.run(u64::MAX, &mut ()), user::Stop::Exit(_)));
        println!("{executed} instructions");
    }
}

/// The software trap that makes a user a supervisor: none of those that are drawn.
const RAISING: u32 = 1;

/// Handlers of window traps, after the manual's appendix on software, and of [`RAISING`]; every other trap passes its
/// instruction.
fn table(writer: &mut Writer) {
    const SPILL: u32 = 0x1000;
    const FILL: u32 = 0x1080;
    const RAISE: u32 = 0x1100;
    const RAISED: u32 = 0x80 + RAISING;
    for trap in 0..256_u32 {
        let at = CODE + 16 * trap;
        match trap {
            0 => writer.line(&format!("ba .+{}", CODE + 0x2000 - at)),
            5 => writer.line(&format!("ba .+{}", CODE + SPILL - at)),
            6 => writer.line(&format!("ba .+{}", CODE + FILL - at)),
            RAISED => writer.line(&format!("ba .+{}", CODE + RAISE - at)),
            _ => {
                writer.line("jmp %l2");
                writer.line("rett %l2 + 4");
            }
        }
        writer.words.resize(4 * (trap as usize + 1), 0x0100_0000);
    }
    for line in [
        "rd %wim, %l3",
        "mov %g1, %l7",
        "srl %l3, 1, %g1",
        "sll %l3, 7, %l4",
        "or %l4, %g1, %g1",
        "save %g0, 0, %g0",
    ] {
        writer.line(line);
    }
    writer.line("wr %g1, 0, %wim");
    window(writer, "std");
    for line in ["restore", "mov %l7, %g1", "jmp %l1", "rett %l2"] {
        writer.line(line);
    }
    writer.words.resize(FILL as usize / 4, 0x0100_0000);
    for line in [
        "rd %wim, %l3",
        "sll %l3, 1, %l4",
        "srl %l3, 7, %l5",
        "or %l4, %l5, %l5",
        "wr %l5, 0, %wim",
        "restore",
        "restore",
    ] {
        writer.line(line);
    }
    window(writer, "ldd");
    for line in ["save %g0, 0, %g0", "save %g0, 0, %g0", "jmp %l1", "rett %l2"] {
        writer.line(line);
    }
    writer.words.resize(RAISE as usize / 4, 0x0100_0000);
    for line in ["rd %psr, %l3", "or %l3, 0x40, %l3", "wr %l3, 0, %psr", "nop", "nop", "nop", "jmp %l2"] {
        writer.line(line);
    }
    writer.line("rett %l2 + 4");
    writer.words.resize(0x2000 / 4, 0x0100_0000);
}

/// Loads or stores locals and ins of the current window.
fn window(writer: &mut Writer, how: &str) {
    for (index, register) in ["%l0", "%l2", "%l4", "%l6", "%i0", "%i2", "%i4", "%fp"].iter().enumerate() {
        let place = format!("[%sp + {}]", 8 * index);
        let operands =
            if how == "std" { format!("{register}, {place}") } else { format!("{place}, {register}") };
        writer.line(&format!("{how} {operands}"));
    }
}

/// A supervisor's program of so many random instructions, and a user's of a quarter of them.
fn supervised(seed: u64, count: usize) -> Vec<u32> {
    let mut writer = Writer { random: Random(seed), words: Vec::new(), free_from: 0, depth: 0, traps: true };
    table(&mut writer);
    for line in ["wr %g0, 0xfc0, %psr", "wr %g0, 2, %wim", "sethi %hi(0x40000000), %g1", "wr %g1, 0, %tbr"] {
        writer.line(line);
    }
    writer.line("wr %g0, 0xfe0, %psr");
    writer.set(DATA + 0x1_ff00, "%sp");
    writer.set(DATA + 0x8000, "%g6");
    writer.instructions(count);
    // The same as a user, whom privileged instructions are kept from.
    for line in ["rd %psr, %l0", "andn %l0, 0x80, %l0", "wr %l0, 0, %psr", "nop", "nop", "nop"] {
        writer.line(line);
    }
    writer.line("rd %wim, %l0");
    writer.instructions(count / 4);
    writer.line(&format!("ta {RAISING}"));
    writer.line("wr %g0, 0xfc0, %psr");
    writer.line("ta 0");
    writer.words
}

#[test]
fn a_supervisor_and_a_user_with_every_trap_are_as_on_qemus_leon3() {
    if !emulator::present("qemu-system-sparc", "SPARC traps against QEMU's LEON3") {
        return;
    }
    let (seeds, count) = if soak() { (0..40, 20_000) } else { (0..3, 4_000) };
    for seed in seeds {
        let seed = 0x5eed_0101 + seed;
        println!("seed {seed:#x}");
        let words = supervised(seed, count);
        let bytes = emulator::elf(&words, CODE);
        let program = emulator::write_program(&format!("traps-{seed:x}.elf"), &bytes);
        let mut theirs = Records::start(emulator::board(&program));
        // Before the program comes what QEMU has in the place of a boot loader.
        let first = theirs.find(|record| record.pc == CODE).expect("it comes to the program");
        let image = Image::parse(&bytes).expect("an image");
        let board = Board::new(&image, 64 << 20, &[]).expect("it fits");
        let mut ours = board.start(Settings::default(), CODE);
        ours.set_psr(first.psr).expect("a window that there is");
        ours.set_wim(first.wim);
        (0..32).for_each(|number| ours.set_register(number, first.registers[usize::from(number)]));
        let end = CODE + 4 * (words.len() as u32 - 1);
        let (mut executed, mut before, mut taken) = (0, CODE, [0_u32; 256]);
        for their in theirs {
            let progress = |machine: &Machine<Board>| machine.spent().instructions + machine.spent().traps;
            let (done, traps) = (progress(&ours), ours.spent().traps);
            while progress(&ours) == done || ours.is_annulled() {
                assert_eq!(ours.run(ours.cycle() + 1, &mut ()), Stop::Reached, "{}", listed(&words, before));
            }
            if ours.spent().traps != traps {
                taken[(ours.tbr() >> 4 & 0xff) as usize] += 1;
            }
            assert_eq!(
                record(&ours),
                their,
                "seed {seed:#x}, after `{}` at {before:#x}",
                listed(&words, before)
            );
            before = their.pc;
            executed += 1;
            if before == end {
                break;
            }
        }
        assert_eq!(before, end, "the emulator stopped early");
        let kinds: Vec<usize> = (0..256).filter(|&trap| taken[trap] > 0).collect();
        println!("{executed} instructions, traps {kinds:x?}");
        // Illegal, privileged, without a floating-point unit, both of windows, misaligned, tagged, without a coprocessor,
        // divided by zero, and those that software asks for.
        let expected = [2, 3, 4, 5, 6, 7, 0xa, 0x24, 0x2a, 0x80 + RAISING as usize];
        assert!(expected.iter().all(|trap| kinds.contains(trap)), "{kinds:x?}");
        assert!(kinds.iter().any(|&trap| trap > 0x80 + RAISING as usize), "{kinds:x?}");
        assert!(matches!(ours.run(u64::MAX, &mut ()), Stop::Fault(_)));
    }
}
