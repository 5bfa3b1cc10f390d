//! The profile `pico` against PicoRV32's hardware: the address and the cycle of every instruction.

mod cores;
mod emulator;
mod streams;
mod workloads;

use cores::{Bench, Core, End, same};
use emulator::soak;
use isa::rv32::bare::{Board, Program};
use isa::rv32::{Instruction, Machine, Profile, Stop, Timing, Trap};
use streams::{COLD, WARM};

/// Runs a program on both; compares every instruction, and what is told of the whole. Cycles that were compared.
fn compare(bench: &Bench, program: &Program, what: &str) -> u64 {
    let theirs = bench.trace(program, 100_000_000);
    assert!(matches!(theirs.end, End::Exit(_)), "{what}: {:?}", theirs.end);
    let mut ours = Machine::new(Board::new(program, 0), Timing::pico(), 0);
    let begin = theirs.taken_up[0].0;
    for &(cycle, pc) in &theirs.taken_up {
        let our = (ours.cycle() as u32, ours.pc());
        let word = program.bytes().get(pc as usize..pc as usize + 4);
        let word = word.map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")));
        let text = word.and_then(Instruction::decode).map(|instruction| instruction.to_string());
        assert_eq!(our, (cycle.wrapping_sub(begin), pc), "{what}: at {pc:#x}, {text:?}");
        if ours.step(&mut ()) == Stop::Trap(Trap::StoreAccess) {
            break;
        }
    }
    same(&theirs, program, Profile::Pico, what);
    u64::from(theirs.taken_up.last().expect("there is one").0 - begin)
}

#[test]
fn random_programs_take_the_cycles_of_the_hardware() {
    let Some(bench) = Bench::new(Core::Pico, None) else { return };
    let mut cycles = 0;
    let seeds = if soak() { 200 } else { 8 };
    for seed in 0x9_1c00..0x9_1c00 + seeds {
        for mixture in [WARM, COLD] {
            cycles +=
                compare(&bench, &streams::program(seed, mixture), &format!("seed {seed:#x} {mixture:?}"));
        }
    }
    println!("{} programs, {cycles} cycles, every instruction at the same one", 2 * seeds);
}

#[test]
fn programs_take_the_cycles_of_the_hardware() {
    let Some(bench) = Bench::new(Core::Pico, None) else { return };
    let Some((programs, cycles)) = workloads::each(1, |program, what| {
        let theirs = bench.run(program, 100_000_000);
        same(&theirs, program, Profile::Pico, what);
        theirs
    }) else {
        return;
    };
    println!("{programs} programs, {cycles} cycles, every mark at the same one");
}
