//! What simavr is known to do otherwise still shows, and each difference has a datasheet test on our side.

#[path = "../../crates/isa/tests/assembler/mod.rs"]
mod assembler;

use std::path::Path;

use isa::avr::{Chip, Opcode};
use witness::known::{KNOWN, Known, Shows};
use witness::simavr::{Simavr, State};

/// More than any of the programs needs.
const STEPS_MAX: usize = 5_000;

fn chip(known: &Known) -> Chip {
    assembler::chip(known.profile, &known.program.replace('\n', " "))
}

fn ours(known: &Known) -> u64 {
    let mut chip = chip(known);
    for _ in 0..STEPS_MAX {
        if at_break(chip.flash(), chip.pc()) {
            break;
        }
        chip.run_until(chip.cycle() + 1, &mut ());
    }
    match known.shows {
        Shows::Register(number) => chip.register(number).into(),
        Shows::StackPointer => chip.sp().into(),
        Shows::Cycles => chip.cycle(),
    }
}

fn theirs(known: &Known) -> u64 {
    let chip = chip(known);
    let mut simavr = Simavr::new(&known.profile.name.to_lowercase(), chip.flash());
    for _ in 0..STEPS_MAX {
        if at_break(chip.flash(), simavr.pc()) || simavr.step() == State::Done {
            break;
        }
    }
    match known.shows {
        Shows::Register(number) => simavr.registers()[usize::from(number)].into(),
        Shows::StackPointer => simavr.sp().into(),
        Shows::Cycles => simavr.cycle(),
    }
}

fn at_break(flash: &[u8], pc: u32) -> bool {
    let (first, _) = isa::avr::Instruction::new(Opcode::Break).encode().expect("it has no operands");
    flash[pc as usize..pc as usize + 2] == first.to_le_bytes()
}

#[test]
fn every_known_difference_shows_as_it_is_described() {
    let mut wrong = Vec::new();
    for known in KNOWN {
        let found = (ours(known), theirs(known));
        if found != (known.ours, known.theirs) || found.0 == found.1 {
            wrong.push(format!(
                "the chip {}: expected {:?}, found {found:?} (ours, simavr's)",
                known.chip,
                (known.ours, known.theirs)
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_known_difference_has_its_datasheet_test() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/isa");
    for known in KNOWN {
        let (file, name) = known.test;
        let text =
            std::fs::read_to_string(folder.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(text.contains(&format!("#[test]\nfn {name}() {{")), "{file} has no test `{name}`");
    }
}
