//! What a run lets out of its secrets: short pieces of code that leak and that do not, each by its place, and functions
//! as a compiler makes them.

mod cores;
mod emulator;
mod workloads;

use std::path::Path;
use std::sync::Arc;

use isa::rv32::bare::{self, End, Outcome, Program};
use isa::rv32::custom::{Call, Form, Latency, Space};
use isa::rv32::{Class, Leak, Listing, Profile, Refusal, Taint, Unit, Units, Width, text};
use workloads::{LEVELS, Objects};

/// Where a word is secret, and where one is not.
const SECRET: u32 = 0x1000;
const OPEN: u32 = 0x2000;

/// What is found in a run, as instructions and what leaks; custom instructions are by their names.
fn found(lines: &[&str], units: &[Unit], varying: &[Class]) -> (Vec<(usize, Leak, u64)>, Outcome) {
    let head = ["lui s0, 1", "lui s1, 2", "lw a0, 0(s0)", "lw a1, 0(s1)"];
    let end = ["lui t6, 0x80000", "sw zero, 0(t6)"];
    let word = |line: &&str| match units.iter().find(|unit| line.starts_with(unit.name)) {
        // To a2 from a0 and a1, or with memory at s1.
        Some(unit) if unit.uses_memory => unit.word([12, 9, 10, 0], 8),
        Some(unit) if line.ends_with("open") => unit.word([12, 11, 11, 11], 8),
        Some(unit) => unit.word([12, 11, 11, 10], 8),
        None => text::parse(line).expect(line).encode().expect(line),
    };
    let words: Vec<u32> = head.iter().chain(lines).chain(&end).map(word).collect();
    let mut program =
        Program::flat(words.iter().flat_map(|word| word.to_le_bytes()).collect()).expect("it fits");
    program.place(SECRET, &[7, 0, 0, 0]).expect("it fits");
    program.place(OPEN, &[5, 0, 0, 0]).expect("it fits");
    let units = Arc::new(Units::new(units).expect("they are apart"));
    let mut taint = Taint::new(Listing::new(&program, &units), Arc::clone(&units), varying);
    taint.hide(SECRET..SECRET + 4);
    let outcome = bare::run(&program, Profile::Vex5, &units, 10_000, &mut taint);
    assert_eq!(outcome.end, End::Exit(0), "{lines:?}");
    let first = 4 * head.len() as u32;
    let places = taint.findings().into_iter();
    (places.map(|found| ((found.pc - first) as usize / 4, found.leak, found.count)).collect(), outcome)
}

fn leaks(lines: &[&str]) -> Vec<(usize, Leak, u64)> {
    found(lines, &[], Profile::Vex5.varying()).0
}

#[test]
fn a_secret_that_decides_a_branch_an_address_or_a_division_is_found_where_it_does() {
    for (lines, expected) in [
        (&["beqz a0, .+8", "nop"][..], (0, Leak::Branch)),
        (&["add a2, a1, a0", "bltu a1, a2, .+8", "nop"], (1, Leak::Branch)),
        (
            &[
                "andi a2, a0, 0",
                "auipc a3, 0",
                "slli a0, a0, 0",
                "srai a4, a0, 31",
                "add a3, a3, a4",
                "jalr zero, 20(a3)",
            ],
            (5, Leak::Branch),
        ),
        (&["add a2, s1, a0", "lbu a3, 0(a2)"], (1, Leak::Address)),
        (&["sltu a2, a1, a0", "slli a2, a2, 2", "add a2, a2, s1", "sw a1, 0(a2)"], (3, Leak::Address)),
        (&["divu a2, a1, a0"], (0, Leak::Operand)),
        (&["rem a2, a0, a1"], (0, Leak::Operand)),
        // By way of memory, a byte of it.
        (&["sb a0, 9(s1)", "lh a2, 8(s1)", "bnez a2, .+8", "nop"], (2, Leak::Branch)),
        // What a secret address brought is a secret, too.
        (&["add a2, s1, a0", "lbu a3, 0(a2)", "mul a3, a3, a3"], (1, Leak::Address)),
    ] {
        let (place, leak) = expected;
        assert_eq!(leaks(lines), [(place, leak, 1)], "{lines:?}");
    }
    // How often, and what comes of it.
    let lines =
        ["li a3, 3", "add a2, s1, a0", "lbu a4, 0(a2)", "addi a3, a3, -1", "bnez a3, .-8", "bnez a4, .+4"];
    assert_eq!(leaks(&lines), [(2, Leak::Address, 3), (5, Leak::Branch, 1)]);
}

#[test]
fn what_does_not_depend_on_a_secret_is_not_found() {
    for lines in [
        &["beqz a1, .+8", "nop", "divu a2, a1, a1", "add a2, s1, a1", "lbu a2, 0(a2)"][..],
        // Moved, computed with, stored and loaded again, with nothing decided.
        &[
            "mul a2, a0, a0",
            "sll a2, a2, a0",
            "sltu a3, a2, a0",
            "sw a3, 4(s1)",
            "lw a4, 4(s1)",
            "xor a4, a4, a2",
        ],
        // A register that is written with something else, and memory that is.
        &["mv a2, a0", "li a2, 1", "beqz a2, .+8", "nop"],
        &["sw a0, 8(s1)", "sw a1, 8(s1)", "lw a2, 8(s1)", "beqz a2, .+8", "nop"],
        // The byte beside it.
        &["sb a0, 9(s1)", "lbu a2, 8(s1)", "beqz a2, .+8", "nop"],
        // Nothing of it is left.
        &[
            "xor a2, a0, a0",
            "beqz a2, .+8",
            "nop",
            "sub a2, a0, a0",
            "beqz a2, .+8",
            "nop",
            "mul a2, a0, zero",
            "beqz a2, .+8",
            "nop",
        ],
        // What is secret is stored, and where is not.
        &["sw a0, 12(s1)", "csrr a2, instret", "beqz a2, .+4", "jal ra, .+4", "beqz ra, .+4"],
        // What stands where a register does is none.
        &["slli a2, a1, 10", "beqz a2, .+4"],
    ] {
        assert_eq!(leaks(lines), [], "{lines:?}");
    }
}

#[test]
fn what_takes_as_long_as_its_operands_say_is_for_the_core_to_tell() {
    let lines = ["mulhu a2, a0, a1", "srl a2, a1, a0", "slli a2, a0, 3", "mul a2, a1, a1", "divu a2, a0, a1"];
    let all = [Class::Shift, Class::Multiply, Class::MultiplyHigh, Class::Divide];
    let of =
        |varying: &[Class]| found(&lines, &[], varying).0.iter().map(|(at, _, _)| *at).collect::<Vec<_>>();
    assert_eq!(of(&all), [0, 1, 2, 4]);
    assert_eq!((of(&[Class::Shift]), of(&[])), (vec![1, 2], vec![]));
    for profile in isa::rv32::profile::PROFILES {
        assert_eq!(of(profile.varying()), [4], "{profile:?}");
    }
}

const fn unit(name: &'static str, funct3: u8, execute: fn(&mut Call<'_>) -> Result<u32, Refusal>) -> Unit {
    let latency = Latency { pico_cycles: 0, vex5_cycles: 0 };
    let (space, form, funct7) = (Space::Custom0, Form::R4, 0);
    let (uses_state, uses_memory) = (false, false);
    Unit { name, space, form, funct3, funct7, latency, uses_state, uses_memory, execute }
}

#[test]
fn secrets_go_through_custom_instructions_their_state_and_their_port() {
    let units = [
        unit("third", 0, |call| Ok(call.c)),
        Unit {
            uses_state: true,
            ..unit("keep", 1, |call| {
                call.state().registers[0] = call.c.into();
                Ok(0)
            })
        },
        Unit { uses_state: true, ..unit("give", 2, |call| Ok(call.state().registers[0] as u32)) },
        Unit {
            form: Form::S,
            uses_memory: true,
            ..unit("put", 3, |call| {
                let (at, value) = (call.a.wrapping_add(call.immediate as u32), call.b);
                call.port().store(at, Width::Word, value)?;
                Ok(0)
            })
        },
    ];
    let leaks = |lines: &[&str]| found(lines, &units, &[]).0;
    assert_eq!(leaks(&["third", "beqz a2, .+4"]), [(1, Leak::Branch, 1)]);
    assert_eq!(leaks(&["third open", "beqz a2, .+4"]), []);
    assert_eq!(leaks(&["keep", "give open", "beqz a2, .+4"]), [(2, Leak::Branch, 1)]);
    assert_eq!(leaks(&["keep open", "give open", "beqz a2, .+4"]), []);
    assert_eq!(leaks(&["put", "lw a3, 8(s1)", "beqz a3, .+4"]), [(2, Leak::Branch, 1)]);
    assert_eq!(leaks(&["put", "lw a3, 12(s1)", "beqz a3, .+4"]), []);
}

#[test]
fn functions_that_leak_are_found_and_those_that_do_not_are_not() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../firmware/bench/rv32/secrets.c");
    let file = file.canonicalize().expect("it is there");
    for level in LEVELS {
        let Some(objects) = Objects::compile(std::slice::from_ref(&file), &[level]) else { return };
        let image = objects.link(0);
        let mut program = Program::of_image(&image).expect("it fits");
        let symbol = |name: &str| image.symbol(name).unwrap_or_else(|| panic!("it has {name}"));
        let [secret, guess] = ["secret", "guess"].map(|name| (symbol(name).address, symbol(name).bytes));
        program.place(secret.0, &[0x5a; 16]).expect("it fits");
        program.place(guess.0, &[0x5a; 16]).expect("it fits");
        let units = Arc::default();
        let mut taint =
            Taint::new(Listing::new(&program, &units), Arc::clone(&units), Profile::Vex5.varying());
        taint.hide(secret.0..secret.0 + secret.1);
        let outcome = bare::run(&program, Profile::Vex5, &units, 1_000_000, &mut taint);
        assert_eq!(outcome.end, End::Exit(0), "{level}");
        let functions = image.symbols.iter().filter(|symbol| symbol.function);
        let mut found: Vec<(&str, Leak)> = Vec::new();
        for finding in taint.findings() {
            let mut functions = functions.clone();
            let function =
                functions.find(|function| finding.pc.wrapping_sub(function.address) < function.bytes);
            found.push((&function.expect("code is in functions").name, finding.leak));
        }
        found.sort_unstable();
        found.dedup();
        let expected = [
            ("leaks_address", Leak::Address),
            ("leaks_branch", Leak::Branch),
            ("leaks_operand", Leak::Operand),
        ];
        assert_eq!(found, expected, "{level}");
    }
}
