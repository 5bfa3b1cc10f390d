//! The profile `vex5` against VexRiscv's hardware: when every instruction is in write-back.

mod cores;
mod emulator;
mod streams;
mod workloads;

use std::sync::Arc;

use cores::{Bench, Core};
use emulator::soak;
use isa::rv32::Profile;
use isa::rv32::bare::{self, Program};
use streams::{COLD, WARM};
use workloads::{Objects, WORK};

/// In how many layouts each program is linked.
const LAYOUTS: u64 = 8;

#[test]
fn random_programs_take_the_cycles_of_the_hardware() {
    let Some(bench) = Bench::new(Core::Vex5, None) else { return };
    let mut cycles = 0;
    let seeds = if soak() { 400 } else { 12 };
    for seed in 0x5_7a9e..0x5_7a9e + seeds {
        for mixture in [WARM, COLD] {
            let what = format!("seed {seed:#x} {mixture:?}");
            cycles += bench.compare(&streams::program(seed, mixture), &Arc::default(), &what);
        }
    }
    println!("{} programs, {cycles} cycles, every instruction at the same one", 2 * seeds);
}

#[test]
fn programs_take_the_cycles_of_the_hardware_in_every_layout() {
    let Some(bench) = Bench::new(Core::Vex5, None) else { return };
    let Some((programs, cycles)) = workloads::each(&bench, LAYOUTS) else { return };
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
            let tightly =
                bare::run(&program, Profile::Vex5Tcm, &Arc::default(), u64::MAX, &mut ()).between(from, to);
            (theirs.expect("it was marked"), tightly.expect("so it was"))
        });
        println!("{name}: {first:?}, then {second:?}");
        assert!(first.0 > first.1, "{name}: {first:?}");
        assert_eq!(second.0 == second.1, FIT.contains(&name), "{name}: {second:?}");
        assert!(second.0 >= second.1, "{name}: {second:?}");
    }
}
