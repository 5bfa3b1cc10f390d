//! Instructions of one's own: how words are whose, what a unit is given, and the time that units take, against the same
//! units as hardware behind the sockets of both cores (`units/custom.v`).

mod binutils;
mod cores;
mod emulator;
mod streams;

use std::sync::Arc;

use cores::{Bench, Core};
use emulator::soak;
use expect_test::{Expect, expect};
use isa::rv32::bare::{self, End, Program};
use isa::rv32::custom::{Call, Form, Latency, Space, UNITS, Unit, Units};
use isa::rv32::{Fault, FaultKind, Profile, Refusal, Trap, Width, text};
use streams::{COLD, Mixture, WARM};

const fn unit(
    name: &'static str,
    space: Space,
    funct3: u8,
    cycles: u8,
    execute: fn(&mut Call<'_>) -> Result<u32, Refusal>,
) -> Unit {
    let latency = Latency { pico_cycles: cycles, vex5_cycles: cycles };
    let (form, funct7, uses_state, uses_memory) = (Form::R, 0, false, false);
    Unit { name, space, form, funct3, funct7, latency, uses_state, uses_memory, execute }
}

fn product(call: &Call<'_>) -> u64 {
    u64::from(call.a) * u64::from(call.b)
}

/// What `units/custom.v` is, where the sockets of both cores have it.
const BOTH: [Unit; 6] = [
    unit("turn", Space::Custom0, 0, 0, |call| Ok(call.a.rotate_left(call.b & 31))),
    unit("count", Space::Custom0, 1, 1, |call| Ok((call.a ^ call.b).count_ones())),
    unit("mix", Space::Custom0, 2, 5, |call| Ok(product(call) as u32)),
    Unit { funct7: 77, ..unit("mixed", Space::Custom0, 2, 5, |call| Ok(product(call) as u32 ^ 77)) },
    Unit {
        uses_state: true,
        ..unit("gather", Space::Custom0, 3, 2, |call| {
            let product = product(call);
            let state = &mut call.state().registers[0];
            *state = state.wrapping_add(product.into());
            Ok(*state as u32)
        })
    },
    Unit {
        uses_state: true,
        ..unit("word", Space::Custom0, 4, 0, |call| {
            let shift = 32 * (call.b & 3);
            Ok((call.state().registers[0] >> shift) as u32)
        })
    },
];

/// What only the socket of `pico` has.
const SWAP: Unit = unit("swap", Space::Custom1, 0, 0, |call| Ok(call.a.swap_bytes().wrapping_add(call.b)));

/// Loops with units in them.
const BUSY: Mixture = Mixture { customs: 20, ..WARM };
const RARE: Mixture = Mixture { customs: 6, ..COLD };

/// Compares random programs with these units on a core; cycles that were compared.
fn compare(core: Core, lines: &[Unit]) {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/units");
    let Some(bench) = Bench::new(core, Some(&folder)) else { return };
    let units = Arc::new(Units::new(lines).expect("they are apart"));
    let seeds = if soak() { 100 } else { 6 };
    let mut cycles = 0;
    for seed in 0xc05_7001..0xc05_7001 + seeds {
        for mixture in [BUSY, RARE] {
            let what = format!("{core:?} seed {seed:#x} {mixture:?}");
            cycles += bench.compare(&streams::with_units(seed, mixture, lines), &units, &what);
        }
    }
    println!("{core:?}: {} programs, {cycles} cycles, every instruction at the same one", 2 * seeds);
}

#[test]
fn units_take_the_cycles_of_hardware_at_the_co_processor_interface_of_pico() {
    let lines: Vec<Unit> = BOTH.into_iter().chain([SWAP]).collect();
    compare(Core::Pico, &lines);
}

#[test]
fn units_take_the_cycles_of_hardware_at_the_custom_function_interface_of_vex5() {
    compare(Core::Vex5, &BOTH);
}

/// A unit of each form, which leaves what it was given.
const FORMS: [Unit; 4] = [
    Unit { funct7: 5, ..unit("r", Space::Custom0, 3, 0, |call| Ok(call.a << 16 | call.b)) },
    Unit {
        form: Form::I,
        ..unit("i", Space::Custom1, 2, 0, |call| Ok(call.a.wrapping_add(call.immediate as u32)))
    },
    Unit {
        form: Form::S,
        uses_memory: true,
        ..unit("s", Space::Custom2, 1, 0, |call| {
            let (at, value) = (call.a.wrapping_add(call.immediate as u32), call.b);
            call.port().store(at, Width::Word, !value)?;
            Ok(0)
        })
    },
    Unit {
        form: Form::R4,
        funct7: 2,
        ..unit("r4", Space::Custom3, 7, 0, |call| Ok(call.a << 16 | call.b << 8 | call.c))
    },
];

#[test]
fn words_are_those_of_gnu_as_in_every_form() {
    const AS: &str = "riscv64-unknown-elf-as";
    const OBJCOPY: &str = "riscv64-unknown-elf-objcopy";
    if !binutils::present(&[AS, OBJCOPY], "custom instructions against as") {
        return;
    }
    let folder = binutils::folder("rv32-custom");
    let mut lines = String::new();
    let mut ours = Vec::new();
    for (index, unit) in FORMS.iter().enumerate() {
        for (registers, immediate) in
            [([0, 0, 0, 0], 0), ([31, 31, 31, 31], -1), ([1, 2, 4, 8], -2048), ([16, 8, 4, 2], 1234)]
        {
            let [rd, rs1, rs2, rs3] = registers;
            let head = format!(".insn {} CUSTOM_{index}, {}", unit.form.name(), unit.funct3);
            lines += &match unit.form {
                Form::R => format!("{head}, {}, x{rd}, x{rs1}, x{rs2}\n", unit.funct7),
                Form::I => format!("{head}, x{rd}, x{rs1}, {immediate}\n"),
                Form::S => format!("{head}, x{rs2}, {immediate}(x{rs1})\n"),
                Form::R4 => format!("{head}, {}, x{rd}, x{rs1}, x{rs2}, x{rs3}\n", unit.funct7),
            };
            ours.push(unit.word(registers, immediate));
        }
    }
    std::fs::write(folder.join("a.s"), lines).expect("write the source");
    binutils::run(AS, &["-march=rv32im", "-mabi=ilp32", "a.s", "-o", "a.o"], &folder);
    binutils::run(OBJCOPY, &["-O", "binary", "-j", ".text", "a.o", "a.bin"], &folder);
    let theirs = std::fs::read(folder.join("a.bin")).expect("read what objcopy wrote");
    assert_eq!(ours.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>(), theirs);
    // What is decoded is the same word again, and reads and writes what the form says.
    let units = Units::new(&FORMS).expect("they are apart");
    for word in ours {
        let instruction = units.decode(word).expect("it is one of them");
        assert_eq!(instruction.encode(), Ok(word));
        assert_eq!(instruction.to_string(), format!(".4byte {word:#010x}"));
    }
    let [r, i, s, r4] = FORMS.map(|unit| units.decode(unit.word([1, 2, 3, 4], 5)).expect("it is one"));
    assert_eq!([r, i, s, r4].map(|i| units.sources(i)), [[2, 3, 0], [2, 0, 0], [2, 3, 0], [2, 3, 4]]);
    assert_eq!([r, i, s, r4].map(|i| i.rd), [1, 1, 0, 1]);
}

/// Runs lines, and words of units, on a profile; a0 is the status.
fn run(lines: &[Result<&str, u32>], units: &[Unit], profile: Profile) -> bare::Outcome {
    let word = |line: &Result<&str, u32>| match *line {
        Ok(line) => text::parse(line).expect(line).encode().expect(line),
        Err(word) => word,
    };
    let end = ["lui t6, 0x80000", "sw a0, 0(t6)"];
    let words = lines.iter().chain(&end.map(Ok)).map(word).collect::<Vec<_>>();
    let bytes = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let program = Program::flat(bytes).expect("it fits");
    bare::run(&program, profile, &Arc::new(Units::new(units).expect("they are apart")), 10_000, &mut ())
}

#[test]
fn a_unit_is_given_what_its_form_says_and_leaves_memory_and_results() {
    let [r, i, s, r4] = FORMS;
    let numbers = [Ok("li a1, 0x12"), Ok("li a2, 0x34"), Ok("li a3, 0x56"), Ok("lui a4, 1")];
    for profile in isa::rv32::profile::PROFILES.iter().copied() {
        for (line, expected) in [
            (Err(r.word([10, 11, 12, 0], 0)), 0x12_0034),
            (Err(i.word([10, 11, 0, 0], -3)), 0xf),
            (Err(r4.word([10, 11, 12, 13], 0)), 0x12_3456),
            // x0 stays zero, and a store leaves no result.
            (Err(r.word([0, 11, 12, 0], 0)), 0),
        ] {
            let lines: Vec<_> = numbers.into_iter().chain([line]).collect();
            assert_eq!(run(&lines, &FORMS, profile).end, End::Exit(expected), "{profile:?} {line:x?}");
        }
        // A line that the data cache has, which the unit's port goes by.
        let lines = [Ok("lw a0, 16(a4)"), Err(s.word([10, 14, 12, 0], 16)), Ok("lw a0, 16(a4)")];
        let lines: Vec<_> = numbers.into_iter().chain(lines).collect();
        assert_eq!(run(&lines, &FORMS, profile).end, End::Exit(!0x34), "{profile:?}");
    }
}

#[test]
fn what_memory_refuses_a_unit_is_a_trap_and_words_of_no_unit_are_illegal() {
    let lines = [Ok("lui a4, 1"), Err(FORMS[2].word([0, 14, 0, 0], 2))];
    let end = run(&lines, &FORMS, Profile::Pico).end;
    let unanswered = |pc, trap| End::Fault(Fault { pc, kind: FaultKind::Unanswered { trap } });
    assert_eq!(end, unanswered(4, Trap::StoreMisaligned));
    let lines = [Ok("nop"), Err(FORMS[0].word([1, 2, 3, 0], 0) ^ 1 << 12)];
    assert_eq!(run(&lines, &FORMS, Profile::Vex5).end, unanswered(4, Trap::IllegalInstruction));
    // None ships.
    assert!(UNITS.is_empty());
    let lines = [Err(FORMS[0].word([1, 2, 3, 0], 0))];
    assert_eq!(run(&lines, UNITS, Profile::Pico).end, unanswered(0, Trap::IllegalInstruction));
}

#[test]
fn a_unit_takes_its_latency_on_each_core() {
    let [fast, slow] = [0, 9].map(|cycles| {
        let latency = Latency { pico_cycles: cycles, vex5_cycles: cycles + 1 };
        Unit { latency, ..unit("unit", Space::Custom0, 0, 0, |call| Ok(call.a)) }
    });
    let cycles = |unit: Unit, profile| {
        let lines = [Ok("nop"), Err(unit.word([10, 11, 12, 0], 0))];
        run(&lines, &[unit], profile).cycle
    };
    // nop, the unit, lui; the store ends it.
    assert_eq!(cycles(fast, Profile::Pico), 3 + 4 + 3);
    assert_eq!(cycles(slow, Profile::Pico), 3 + 4 + 9 + 3);
    assert_eq!(cycles(slow, Profile::Vex5Tcm), cycles(fast, Profile::Vex5Tcm) + 9);
}

fn refused(lines: &[Unit], expected: Expect) {
    expected.assert_eq(&Units::new(lines).expect_err("it is no table").to_string());
}

#[test]
fn lines_that_are_no_table_are_refused_by_name() {
    let [r, i, s, r4] = FORMS;
    refused(
        &[Unit { funct3: 8, ..r }],
        expect!["unit `r`: found funct3 8 and funct7 5, expected at most 7 and 127"],
    );
    refused(
        &[i, Unit { funct7: 1, ..s }],
        expect!["unit `s`: found funct3 1 and funct7 1, expected at most 7 and 0"],
    );
    refused(
        &[r4, Unit { space: Space::Custom3, funct3: 7, funct7: 6, ..r }],
        expect![[r#"
            units `r4` and `r` have words in common
            help: give one of them another funct3, or another opcode"#]],
    );
    refused(&vec![r; 33], expect!["found 33 units, expected at most 32"]);
    assert!(Units::new(&[r4, Unit { space: Space::Custom3, funct3: 7, ..r }]).is_ok());
}
