//! The profile `pico` against PicoRV32's hardware: the address and the cycle of every instruction.

mod cores;
mod emulator;
mod streams;
mod workloads;

use std::sync::Arc;

use cores::{Bench, Core};
use emulator::soak;
use streams::{COLD, WARM};

#[test]
fn random_programs_take_the_cycles_of_the_hardware() {
    let Some(bench) = Bench::new(Core::Pico, None) else { return };
    let mut cycles = 0;
    let seeds = if soak() { 200 } else { 8 };
    for seed in 0x9_1c00..0x9_1c00 + seeds {
        for mixture in [WARM, COLD] {
            let what = format!("seed {seed:#x} {mixture:?}");
            cycles += bench.compare(&streams::program(seed, mixture), &Arc::default(), &what);
        }
    }
    println!("{} programs, {cycles} cycles, every instruction at the same one", 2 * seeds);
}

#[test]
fn programs_take_the_cycles_of_the_hardware() {
    let Some(bench) = Bench::new(Core::Pico, None) else { return };
    let Some((programs, cycles)) = workloads::each(&bench, 1) else { return };
    println!("{programs} programs, {cycles} cycles, every mark at the same one");
}
