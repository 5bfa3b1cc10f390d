//! The profile `vex5` against VexRiscv's hardware: when every instruction is in write-back.

mod cores;
mod emulator;
mod streams;
mod workloads;

use cores::{Bench, Core, End, same};
use emulator::soak;
use isa::rv32::bare::{self, Board, Program};
use isa::rv32::{FiveStage, Instruction, Machine, Profile, Stop, Trap};
use streams::{COLD, WARM};
use workloads::{Objects, WORK};

/// In how many layouts each program is linked.
const LAYOUTS: u64 = 8;

/// The instruction at a place, as text.
fn listed(program: &Program, pc: u32) -> String {
    let word = program.bytes().get(pc as usize..pc as usize + 4);
    let word = word.map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")));
    word.and_then(Instruction::decode).map_or("?".to_owned(), |instruction| instruction.to_string())
}

/// Runs a program on both; compares every instruction. Cycles that were compared.
fn compare(bench: &Bench, program: &Program, what: &str) -> u64 {
    let theirs = bench.trace(program, 100_000_000);
    assert!(matches!(theirs.end, End::Exit(_)), "{what}: {:?}", theirs.end);
    let mut ours = Machine::with_pipeline(Board::new(program, 0), FiveStage::cached(), 0);
    let (mut begin, mut last) = (None, 0);
    for (count, &(cycle, pc)) in theirs.taken_up.iter().enumerate() {
        let our_pc = ours.pc();
        let stop = ours.step(&mut ());
        let our = ours.pipeline().written() as u32;
        let begin = *begin.get_or_insert(cycle.wrapping_sub(our));
        last = cycle.wrapping_sub(begin);
        let text = listed(program, pc);
        assert_eq!((our_pc, our), (pc, last), "{what}: instruction {count}, `{text}` at {pc:#x}");
        if stop == Stop::Trap(Trap::StoreAccess) {
            break;
        }
    }
    same(&theirs, program, Profile::Vex5, what);
    last.into()
}

#[test]
fn random_programs_take_the_cycles_of_the_hardware() {
    let Some(bench) = Bench::new(Core::Vex5, None) else { return };
    let mut cycles = 0;
    let seeds = if soak() { 400 } else { 12 };
    for seed in 0x5_7a9e..0x5_7a9e + seeds {
        for mixture in [WARM, COLD] {
            cycles +=
                compare(&bench, &streams::program(seed, mixture), &format!("seed {seed:#x} {mixture:?}"));
        }
    }
    println!("{} programs, {cycles} cycles, every instruction at the same one", 2 * seeds);
}

#[test]
fn programs_take_the_cycles_of_the_hardware_in_every_layout() {
    let Some(bench) = Bench::new(Core::Vex5, None) else { return };
    let Some((programs, cycles)) = workloads::each(LAYOUTS, |program, what| {
        let theirs = bench.run(program, 100_000_000);
        same(&theirs, program, Profile::Vex5, what);
        theirs
    }) else {
        return;
    };
    println!("{programs} programs, {cycles} cycles, every mark at the same one");
}

/// Programs that are in the caches when they are done for the second time, and load nothing that was just stored.
const FIT: [&str; 6] = ["crc", "digest", "machine", "product", "quotient", "sort"];

#[test]
fn what_stays_in_the_caches_takes_what_it_takes_with_tightly_coupled_memories() {
    let Some(bench) = Bench::new(Core::Vex5, None) else { return };
    for name in WORK {
        let Some(objects) = Objects::of_work(name, "-O2") else { return };
        let program = Program::of_image(&objects.link(0)).expect("it fits");
        let [first, second] = [(1, 2), (2, 3)].map(|(from, to)| {
            let theirs = bench.run(&program, 100_000_000).between(from, to);
            let tightly = bare::run(&program, Profile::Vex5Tcm, u64::MAX, &mut ()).between(from, to);
            (theirs.expect("it was marked"), tightly.expect("so it was"))
        });
        println!("{name}: {first:?}, then {second:?}");
        assert!(first.0 > first.1, "{name}: {first:?}");
        assert_eq!(second.0 == second.1, FIT.contains(&name), "{name}: {second:?}");
        assert!(second.0 >= second.1, "{name}: {second:?}");
    }
}
