//! Whole programs on RV32IM: those of corpus/ end with the output that a native build has, and execute what they
//! execute under qemu-riscv32: as many instructions, at the same places, with the same registers.

mod emulator;

use emulator::rv32::{Record, record};
use emulator::{Run, digest, root, sample, soak};
use isa::Cycles;
use isa::rv32::{Image, Memory, Timing, User, user};

/// What a program is called where its inputs are, as scripts/corpus.sh calls it when it counts.
fn called(run: &Run) -> String {
    format!("../../corpus/rv32/{}.elf", run.program)
}

fn image(run: &Run) -> Image {
    let elf = std::fs::read(root("corpus/rv32").join(&run.program).with_extension("elf"));
    Image::parse(&elf.expect("the corpus has it")).expect("it is an image")
}

fn start(run: &Run, settings: user::Settings) -> User<Memory> {
    let (arguments, files) = run.prepare(&called(run));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    User::new(&image(run), &arguments, files, settings).expect("it fits")
}

#[test]
fn programs_print_what_they_print_natively_in_as_many_instructions_as_under_qemu() {
    for run in sample("RV32 programs") {
        let mut counts = Vec::new();
        for timing in [Timing::ibex(), Timing::ideal()] {
            let mut program = start(&run, user::Settings { timing, ..user::Settings::default() });
            let stop = program.run(Cycles::MAX, &mut ());
            assert_eq!(stop, user::Stop::Exit(0), "{} {}", run.program, run.name);
            assert_eq!(digest(&program.files.output), run.output(), "{} {}", run.program, run.name);
            // The last call is not come back from.
            let executed = program.machine.spent().instructions + 1;
            let [_, theirs] = run.instructions();
            assert_eq!(executed, theirs, "{} {}", run.program, run.name);
            counts.push(program.machine.cycle());
        }
        println!("{} {}: cycles of Ibex and instructions {counts:?}", run.program, run.name);
        let [_, theirs] = run.instructions();
        assert_eq!(counts[1] + 1, theirs, "{} {}", run.program, run.name);
        assert!(counts[0] > counts[1], "{} {}", run.program, run.name);
    }
}

#[test]
fn programs_execute_what_they_execute_under_qemu() {
    if !emulator::present("qemu-riscv32", "places of RV32 programs against qemu-riscv32") {
        return;
    }
    const COUNT: usize = 200_000;
    for run in sample("places of RV32 programs") {
        let (mut child, places) = emulator::places("qemu-riscv32", called(&run).as_ref(), &run);
        let mut ours = start(&run, user::Settings::default());
        let (mut executed, mut before) = (0, 0);
        for their in places {
            let case = format!("{} {}: instruction {executed}, after {before:#x}", run.program, run.name);
            assert_eq!(ours.machine.pc(), their, "{case}");
            before = their;
            let stop = ours.run(ours.machine.cycle() + 1, &mut ());
            executed += 1;
            if stop != user::Stop::Reached {
                assert_eq!(stop, user::Stop::Exit(0), "{case}");
                break;
            }
            if executed == COUNT && !soak() {
                break;
            }
        }
        let _ = child.kill();
        let _ = child.wait();
        println!("{} {}: {executed} instructions", run.program, run.name);
        let all = run.instructions()[1] as usize;
        assert_eq!(executed, if soak() { all } else { COUNT }, "{} {}", run.program, run.name);
    }
}

/// Where a program's arguments are, as strings.
struct Strings {
    theirs: std::ops::Range<u32>,
    /// How much lower ours are.
    lower_bytes: u32,
}

impl Strings {
    /// Whether a value is the same, or points to the same place in the same string.
    fn agree(&self, our: u32, their: u32) -> bool {
        our == their || self.theirs.contains(&their) && our.wrapping_add(self.lower_bytes) == their
    }
}

#[test]
fn programs_leave_every_register_as_under_qemu() {
    if !emulator::present("qemu-riscv32", "registers of RV32 programs against qemu-riscv32") {
        return;
    }
    let count = if soak() { 100_000 } else { 10_000 };
    for run in sample("registers of RV32 programs") {
        let mut command = emulator::rv32::user(called(&run).as_ref());
        command.args(&run.arguments).current_dir(root("data/workload")).stdin(run.stdin());
        let mut theirs = emulator::rv32::records(command);
        let first = theirs.next().expect("it executes something");
        // Linux puts more between the strings and what points to them; ours is to begin with the same stack pointer.
        let there = user::Settings::default();
        let plain = start(&run, there.clone()).machine.register(2);
        let strings_end = there.stack_end;
        let lower_bytes = plain - first.registers[2];
        let settings = user::Settings { stack_end: there.stack_end - lower_bytes, ..there };
        let mut ours = start(&run, settings);
        let strings = Strings { theirs: strings_end - 1024..strings_end, lower_bytes };
        assert_eq!(record(&ours.machine).registers[2], first.registers[2], "{}", run.program);
        (0..32).for_each(|number| ours.machine.set_register(number, first.registers[usize::from(number)]));
        let (mut before, mut compared, mut lower) = (first.pc, 0, 0);
        for their in theirs.take(count) {
            let stop = ours.run(ours.machine.cycle() + 1, &mut ());
            let case = || format!("{} {}: after {before:#x}, {compared} instructions", run.program, run.name);
            assert_eq!(stop, user::Stop::Reached, "{}", case());
            let our = record(&ours.machine);
            let mut pairs = our.registers.iter().zip(&their.registers);
            let agree = our.pc == their.pc && pairs.all(|(&our, &their)| strings.agree(our, their));
            assert!(agree, "{}: {}", case(), difference(&our, &their));
            lower += usize::from(our != their);
            before = their.pc;
            compared += 1;
        }
        assert_eq!(compared, count, "{} {}: the emulator ended early", run.program, run.name);
        println!("{} {}: {compared} instructions, {lower} with a string", run.program, run.name);
        // An interpreter makes its tables before it looks at an argument.
        assert!(lower > 0 || run.program == "lua", "{} {}: no argument was looked at", run.program, run.name);
    }
}

/// What differs, for a message.
fn difference(our: &Record, their: &Record) -> String {
    let all = (0..32).filter(|&number| our.registers[number] != their.registers[number]);
    let registers = all.map(|number| {
        let (our, their) = (our.registers[number], their.registers[number]);
        format!(", x{number} {our:#x} and {their:#x}")
    });
    format!("pc {:#x} and {:#x}{}", our.pc, their.pc, registers.collect::<String>())
}
