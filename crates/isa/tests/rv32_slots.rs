//! Places of instructions on a bus whose words hold several: a call from any slot is returned from to behind it, a
//! trap at any slot is gone on from there, and whole programs do the same as where each word has one instruction.

mod emulator;

use emulator::{digest, root, sample};
use isa::rv32::table::Operand;
use isa::rv32::{
    Bus, FaultKind, Fetched, Image, Instruction, Machine, Memory, Opcode, Refusal, Region, Stop, Timing,
    Trap, User, Width, text, user,
};
use isa::{Cycles, Observer};

const CODE: u32 = 0x1_0000;
const DATA: u32 = 0x100_0000;

/// Words of one to four instructions from `CODE` on, and data in plain memory.
struct Packed {
    memory: Memory,
    words: Vec<Vec<Instruction>>,
    /// Cycles that each word takes to bring, when another one was brought before it.
    wait: u32,
    last: u32,
}

impl Bus for Packed {
    const SLOTS: bool = true;

    fn fetch(&mut self, pc: u32, _cycle: Cycles, wait: &mut u32) -> Result<Fetched, Refusal> {
        let (word, slot) = (pc & !3, pc & 3);
        if std::mem::replace(&mut self.last, word) != word {
            *wait += self.wait;
        }
        let packet = self.words.get((word.wrapping_sub(CODE) / 4) as usize).ok_or(Trap::InstructionAccess)?;
        let instruction = *packet.get(slot as usize).ok_or(Trap::IllegalInstruction)?;
        let next = if slot as usize + 1 < packet.len() { pc + 1 } else { word + 4 };
        Ok(Fetched { instruction, next })
    }

    fn load(&mut self, address: u32, width: Width, cycle: Cycles, wait: &mut u32) -> Result<u32, Refusal> {
        self.memory.load(address, width, cycle, wait)
    }

    fn store(
        &mut self,
        address: u32,
        width: Width,
        value: u32,
        cycle: Cycles,
        wait: &mut u32,
    ) -> Result<(), Refusal> {
        self.memory.store(address, width, value, cycle, wait)
    }
}

fn machine(packets: &[&[&str]], wait: u32) -> Machine<Packed> {
    let decode = |line: &&str| text::parse(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    let words = packets.iter().map(|packet| packet.iter().map(decode).collect()).collect();
    let data = Region { first: DATA, bytes: vec![0; 8192], writable: true };
    let bus = Packed { memory: Memory::new(vec![data], DATA, 0), words, wait, last: 0 };
    Machine::new(bus, Timing::ibex(), CODE)
}

/// Where each instruction was that was executed.
#[derive(Default)]
struct Seen(Vec<u32>);

impl Observer for Seen {
    fn retire(&mut self, _cycle: Cycles, pc: u32) {
        self.0.push(pc);
    }
}

/// Runs until an EBREAK; what stops before is gone on from behind it.
fn run(mut machine: Machine<Packed>) -> (Machine<Packed>, Vec<u32>, Vec<u32>) {
    let (mut seen, mut calls) = (Seen::default(), Vec::new());
    loop {
        match machine.run(10_000, &mut seen) {
            Stop::Trap(Trap::EnvironmentCall) => {
                calls.push(machine.pc());
                machine.skip();
            }
            Stop::Trap(Trap::Breakpoint) => return (machine, seen.0, calls),
            stop => panic!("{stop:?} at {:#x}", machine.pc()),
        }
    }
}

/// A call from each slot, directly and by a register, and a function that counts them. Distances are from words.
const CALLS: &[&[&str]] = &[
    &["lui t0, 0x10", "addi t0, t0, 0x28", "li a0, 0", "jal ra, .+40"],
    &["jal ra, .+36", "jal ra, .+36", "jalr ra, 0(t0)"],
    &["jalr ra, 0(t0)"],
    &["nop", "jalr ra, 0(t0)", "nop", "jal ra, .+28"],
    &["ecall", "ecall", "ecall", "ecall"],
    &["li a1, 3", "addi a1, a1, -1"],
    &["slli a2, a2, 1", "addi a2, a2, 1", "bnez a1, .+8"],
    &["li a3, 99", "ebreak"],
    // Over the words between: to the first slot, from the last.
    &["nop", "nop", "addi a1, a1, -1", "beqz zero, .-8"],
    &["ebreak"],
    &["addi a0, a0, 1", "mv a4, ra", "ret"],
];

#[test]
fn a_call_from_any_slot_returns_to_behind_it() {
    let (machine, seen, calls) = run(machine(CALLS, 0));
    // Nine calls in all but one of the first four words' slots.
    let function = CODE + 4 * 10;
    let calls_from: Vec<u32> =
        seen.windows(2).filter(|pair| pair[1] == function).map(|pair| pair[0]).collect();
    let word = |index: u32| CODE + 4 * index;
    let expected = [word(0) + 3, word(1), word(1) + 1, word(1) + 2, word(2), word(3) + 1, word(3) + 3];
    assert_eq!(calls_from, expected);
    let returns: Vec<u32> =
        seen.windows(2).filter(|pair| pair[0] == function + 2).map(|pair| pair[1]).collect();
    let behind = [word(1), word(1) + 1, word(1) + 2, word(2), word(3), word(3) + 2];
    assert_eq!(returns[..6], behind);
    assert_eq!((machine.register(10), machine.register(14)), (7, word(4)));
    // What the environment answers is gone on from at the next slot, and the last one's at the next word.
    assert_eq!(calls, [word(4), word(4) + 1, word(4) + 2, word(4) + 3]);
    assert_eq!((machine.register(12), machine.register(13)), (7, 99));
}

#[test]
fn a_register_names_any_slot_and_a_distance_only_words() {
    let program: &[&[&str]] = &[
        // To slot 3 of the third word; its lowest bits stay.
        &["lui t0, 0x10", "jalr ra, 11(t0)"],
        &["ebreak"],
        &["li a0, 1", "li a0, 2", "li a0, 3", "auipc a1, 1"],
        &["ebreak"],
    ];
    let (machine, seen, _) = run(machine(program, 0));
    assert_eq!(seen, [CODE, CODE + 1, CODE + 11]);
    assert_eq!(
        (machine.register(10), machine.register(1), machine.register(11)),
        (0, CODE + 4, CODE + 8 + 0x1000)
    );
    let mut odd = self::machine(&[&["nop", "j .+6"]], 0);
    assert_eq!(odd.run(10, &mut ()), Stop::Trap(Trap::InstructionMisaligned));
    assert_eq!(odd.pc(), CODE + 1);
    let mut absent = self::machine(&[&["lui t0, 0x10", "jalr zero, 2(t0)"]], 0);
    assert_eq!((absent.run(10, &mut ()), absent.pc()), (Stop::Trap(Trap::IllegalInstruction), CODE + 2));
}

#[test]
fn what_the_bus_waits_is_told_by_cause() {
    let ((fast, seen, _), (slow, _, _)) = (run(machine(CALLS, 0)), run(machine(CALLS, 80)));
    let mut words: Vec<u32> = seen.iter().map(|pc| pc & !3).collect();
    words.dedup();
    assert_eq!(fast.spent().fetch_cycles, 0);
    assert_eq!(slow.spent().fetch_cycles, slow.cycle() - fast.cycle());
    assert!(slow.spent().fetch_cycles >= 80 * words.len() as u64);
}

/// A program whose words hold up to four instructions each: their own, and in slots 1 to 3 those of the words behind.
/// So every word can still be gone to, and after slot 3 comes the fourth word.
struct Overlaid(Memory);

impl Bus for Overlaid {
    const SLOTS: bool = true;

    fn fetch(&mut self, pc: u32, cycle: Cycles, wait: &mut u32) -> Result<Fetched, Refusal> {
        let (word, slot) = (pc & !3, pc & 3);
        let at = word + 4 * slot;
        let Fetched { mut instruction, mut next } = self.0.fetch(at, cycle, wait)?;
        if instruction
            .opcode
            .row()
            .operands
            .iter()
            .any(|operand| matches!(operand, Operand::Branch | Operand::Jump))
        {
            // Distances are from the word.
            instruction.k += 4 * slot as i32;
        }
        // Nobody puts an AUIPC anywhere but into slot 0.
        let behind = self.0.fetch(next, cycle, &mut 0);
        if slot < 3 && behind.is_ok_and(|behind| behind.instruction.opcode != Opcode::Auipc) {
            next = pc + 1;
        }
        Ok(Fetched { instruction, next })
    }

    fn load(&mut self, address: u32, width: Width, cycle: Cycles, wait: &mut u32) -> Result<u32, Refusal> {
        self.0.load(address, width, cycle, wait)
    }

    fn store(
        &mut self,
        address: u32,
        width: Width,
        value: u32,
        cycle: Cycles,
        wait: &mut u32,
    ) -> Result<(), Refusal> {
        self.0.store(address, width, value, cycle, wait)
    }

    fn settle(&mut self, cycle: Cycles, wait: &mut u32) -> Result<(), FaultKind> {
        self.0.settle(cycle, wait)
    }
}

/// How many instructions were executed in each slot, and a sum of their places without slots.
#[derive(Default)]
struct Slots {
    executed: [u64; 4],
    sum: u64,
}

impl Observer for Slots {
    fn retire(&mut self, _cycle: Cycles, pc: u32) {
        self.executed[(pc & 3) as usize] += 1;
        self.sum = self.sum.rotate_left(5) ^ u64::from((pc & !3) + 4 * (pc & 3));
    }
}

/// The same for a program whose words have one instruction each.
#[derive(Default)]
struct Plain(u64);

impl Observer for Plain {
    fn retire(&mut self, _cycle: Cycles, pc: u32) {
        self.0 = self.0.rotate_left(5) ^ u64::from(pc);
    }
}

#[test]
fn programs_do_the_same_where_words_hold_several_instructions() {
    for run in sample("RV32 programs with slots") {
        let path = root("corpus/rv32").join(&run.program).with_extension("elf");
        let image = Image::parse(&std::fs::read(path).expect("the corpus has it")).expect("it is an image");
        let (arguments, files) = run.prepare(&run.program);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let settings = user::Settings { timing: Timing::ideal(), ..user::Settings::default() };
        let (regions, start) =
            user::furnish(image.regions(), image.entry, &arguments, &settings).expect("it fits");
        let memory = Memory::new(regions, image.code_first, image.code_bytes);
        let mut plain = User::with_bus(memory.clone(), start, files.clone(), Timing::ideal());
        let mut packed = User::with_bus(Overlaid(memory), start, files, Timing::ideal());
        let (mut places, mut slots) = (Plain::default(), Slots::default());
        let case = format!("{} {}", run.program, run.name);
        assert_eq!(plain.run(Cycles::MAX, &mut places), user::Stop::Exit(0), "{case}");
        assert_eq!(packed.run(Cycles::MAX, &mut slots), user::Stop::Exit(0), "{case}");
        assert_eq!(digest(&packed.files.output), run.output(), "{case}");
        assert_eq!(packed.machine.spent().instructions, plain.machine.spent().instructions, "{case}");
        assert_eq!(slots.sum, places.0, "{case}: not the same instructions in the same order");
        assert!(slots.executed.iter().all(|&executed| executed > 10_000), "{case}: {:?}", slots.executed);
        println!("{case}: instructions by slot {:?}", slots.executed);
    }
}
