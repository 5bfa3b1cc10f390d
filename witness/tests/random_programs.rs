//! Programs that nobody wrote run the same on our chips and on simavr, instruction by instruction.

#[path = "../../crates/cipher/tests/seeded/mod.rs"]
#[allow(dead_code)] // bytes are not needed here
mod seeded;
#[path = "../../crates/cipher/tests/soak/mod.rs"]
mod soak;

use std::collections::BTreeMap;

use isa::avr::table::{OPCODES, Opcode};
use isa::avr::{ATMEGA128, ATMEGA328P, Profile};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::Rng;
use soak::is_soak;
use witness::lockstep::Lockstep;
use witness::program::{Random, generate, generates};

/// Programs for each chip; `SELVEDGE_SOAK=1` runs 50 times as many.
const PROGRAMS: usize = 200;
const SOAK_FACTOR: usize = 50;
const ITEMS: usize = 250;
/// More than any program needs: one that does not end is a bug of the generator.
const INSTRUCTIONS_MAX: u64 = 2_000_000;

struct Generator(ChaCha20Rng);

impl Random for Generator {
    fn next(&mut self) -> u64 {
        self.0.next_u64()
    }
}

fn check(profile: &'static Profile) {
    let factor = if is_soak() { SOAK_FACTOR } else { 1 };
    let mut random = Generator(seeded::seeded());
    let mut executed = BTreeMap::<Opcode, (u64, u64)>::new();
    let mut instructions = 0;
    for index in 0..PROGRAMS * factor {
        let program = generate(profile, &mut random, ITEMS);
        let mut lockstep = Lockstep::new(profile, &program.image);
        for number in 0..32 {
            lockstep.set_register(number, random.next() as u8);
        }
        for address in 0x100..0x100 + profile.ram_bytes {
            lockstep.set_memory(address, random.next() as u8);
        }
        while lockstep.chip.pc() != program.end {
            let (opcode, pc) = (lockstep.next().expect("it stays in its program").opcode, lockstep.chip.pc());
            if let Err(difference) = lockstep.step() {
                panic!("program {index} of the {}: {difference}", profile.name);
            }
            let (times, jumps) = executed.entry(opcode).or_default();
            *times += 1;
            *jumps += u64::from(lockstep.chip.pc() != pc + 2 * opcode.words());
            assert!(lockstep.agreed() < INSTRUCTIONS_MAX, "program {index} does not end");
        }
        instructions += lockstep.agreed();
        let difference = lockstep.memory_difference();
        assert_eq!(difference, None, "program {index} of the {}: address, ours, simavr's", profile.name);
    }
    println!("{}: {instructions} instructions of {} programs", profile.name, PROGRAMS * factor);
    for &opcode in OPCODES {
        let &(times, jumps) = executed.get(&opcode).unwrap_or(&(0, 0));
        if generates(profile, opcode) {
            assert!(times >= 50, "{opcode:?} ran {times} times: too few to say anything");
        } else {
            assert_eq!(times, 0, "{opcode:?} is not to be generated");
        }
        use Opcode::*;
        if matches!(opcode, Cpse | Sbrc | Sbrs | Sbic | Sbis | Brbs | Brbc) {
            assert!(jumps >= 20 && times - jumps >= 20, "{opcode:?} ran {times} times and jumped {jumps}");
        }
    }
}

#[test]
fn random_programs_run_on_the_atmega128_as_on_simavr() {
    check(&ATMEGA128);
}

#[test]
fn random_programs_run_on_the_atmega328p_as_on_simavr() {
    check(&ATMEGA328P);
}
