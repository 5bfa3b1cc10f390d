//! RV32 programs that cannot be packed, each with its name; and tables of code addresses that follow what moves.

mod rv32;

use expect_test::expect;
use isa::rv32::{FaultKind, Files, Trap, user};
use pack::chain::run::{self, End};
use pack::chain::{self, Protection, Work};
use pack::check::check;
use pack::packing::Assignment;
use pack::place::Order;
use pack::program::{Form, Reference};
use pack::{Error, Program, Settings, pack};
use proptest::prelude::*;
use rv32::{CODE, elf, linked, program, word_of};

fn words(lines: &[&str]) -> Vec<u32> {
    lines.iter().map(|line| word_of(line)).collect()
}

fn refused(program: &Program, settings: &Settings) -> Error {
    pack(program, &[], settings).expect_err("it cannot be packed")
}

/// The place of a section's header, by its name.
fn header(elf: &[u8], name: &str) -> usize {
    let half = |at: usize| u16::from_le_bytes([elf[at], elf[at + 1]]) as usize;
    let word = |at: usize| u32::from_le_bytes(elf[at..at + 4].try_into().expect("four bytes")) as usize;
    let (first, names) = (word(32), half(50));
    let names = word(first + 40 * names + 16);
    let is_named = |at: &usize| elf[names + word(*at)..].starts_with(format!("{name}\0").as_bytes());
    (0..half(48)).map(|number| first + 40 * number).find(is_named).expect("it has such a section")
}

/// Where the first relocation of a type stands in the file.
fn relocation(elf: &[u8], r_type: u8) -> usize {
    let at = header(elf, ".rela.text");
    let word = |at: usize| u32::from_le_bytes(elf[at..at + 4].try_into().expect("four bytes")) as usize;
    let (first, bytes) = (word(at + 16), word(at + 20));
    (first..first + bytes).step_by(12).find(|&at| elf[at + 4] == r_type).expect("it has such a one")
}

#[test]
fn another_machine_and_other_extensions_are_named() {
    let mut other = elf("search");
    other[18] = 183;
    assert_eq!(Program::parse(&other), Err(Error::Machine { found: 183 }));
    for flags in [1u8, 2, 8] {
        let mut other = elf("search");
        other[36] |= flags;
        let error = Program::parse(&other).expect_err("it is not RV32IM");
        assert_eq!(error, Error::Extensions { found: flags.into() });
        assert!(error.to_string().contains("-march=rv32im"), "{error}");
    }
}

#[test]
fn relocations_that_are_unknown_alone_or_untrue_are_named() {
    const HI20_OF_GOT: u8 = 20;
    const JAL: u8 = 17;
    const PCREL_HI20: u8 = 23;
    let changed = |r_type: u8, change: fn(&mut Vec<u8>, usize)| {
        let mut elf = elf("search");
        let at = relocation(&elf, r_type);
        let place = u32::from_le_bytes(elf[at..at + 4].try_into().expect("four bytes"));
        change(&mut elf, at);
        (Program::parse(&elf).expect_err("it was changed"), place)
    };
    let (error, place) = changed(JAL, |elf, at| elf[at + 4] = HI20_OF_GOT);
    assert!(matches!(error, Error::Relocation { at, found: 20, .. } if at == place), "{error:?}");
    let (error, place) = changed(JAL, |elf, at| elf[at + 8] += 4);
    assert!(matches!(error, Error::Changed { at, .. } if at == place), "{error:?}");
    // Its low part names an AUIPC that no relocation is for any more.
    let (error, _) = changed(PCREL_HI20, |elf, at| elf[at + 4] = 0);
    assert!(matches!(error, Error::ApartHalves { .. }), "{error:?}");
    let (error, place) = changed(PCREL_HI20, |elf, at| elf[at + 8] += 4);
    assert!(matches!(error, Error::Changed { at, .. } if at >= place), "{error:?}");
}

#[test]
fn a_relocation_of_an_instruction_without_such_a_part_of_an_address_is_named() {
    const PCREL_LO12_I: u8 = 24;
    /// Without it ADDI is ADD, and a load is a store.
    const OPERATION: u32 = 1 << 5;
    let mut elf = elf("search");
    let word = |elf: &[u8], at: usize| u32::from_le_bytes(elf[at..at + 4].try_into().expect("four bytes"));
    let place = word(&elf, relocation(&elf, PCREL_LO12_I));
    let text = header(&elf, ".text");
    let at = (place - word(&elf, text + 12) + word(&elf, text + 16)) as usize;
    let found = word(&elf, at) ^ OPERATION;
    elf[at..at + 4].copy_from_slice(&found.to_le_bytes());
    let expected = Error::Unrelocatable { at: place, r_type: PCREL_LO12_I.into(), found };
    assert_eq!(Program::parse(&elf), Err(expected));
}

#[test]
fn a_program_that_reads_its_own_address_is_refused() {
    for lines in [["auipc a0, 0", "ret"], ["jal ra, .+4", "ret"]] {
        let found = refused(&linked(&words(&lines), &[0]), &Settings::default());
        assert_eq!(found, Error::ReadsItsPlace { at: CODE });
    }
    let program = linked(&words(&["beq a0, a1, .+6", "ret", "ret"]), &[0]);
    assert_eq!(refused(&program, &Settings::default()), Error::NoTarget { at: CODE, to: CODE + 6 });
}

#[test]
fn a_branch_that_no_longer_reaches_is_named() {
    // A branch from one function to another, which another order puts behind a long one.
    let mut lines = vec!["beq a0, a1, .+8", "ret", "ret"];
    let long: Vec<String> = (0..1200).map(|number| format!("addi a0, a1, {number}")).collect();
    lines.extend(long.iter().map(String::as_str));
    lines.extend(["addi a2, a2, 1"; 100]);
    lines.push("ret");
    let program = linked(&words(&lines), &[0, 2, 3]);
    let settings = |seed| Settings { order: Order::Seeded(seed), entries: 1, ..Settings::default() };
    let (mut packed, mut found) = (0, 0);
    for seed in 0..32 {
        match pack(&program, &[], &settings(seed)) {
            Ok(fits) => packed += u32::from(fits.report.nothing.is_none()),
            Err(error) => {
                let named = matches!(error, Error::TooFar { at: CODE, to, .. } if to == CODE + 8);
                assert!(named, "{error:?}");
                found += 1;
            }
        }
    }
    assert!(packed > 0 && found > 0 && packed + found == 32, "{packed} {found}");
}

/// Jumps through a table of words, and through one of distances, both among the instructions.
fn tables() -> Program {
    let distance = CODE + 4 * 9;
    let mut lines = vec![
        // Data follows code: a table of two addresses from word 8 on, and two distances from word 10 on.
        "lui a0, 0x10",
        "lw a1, 32(a0)",
        "jalr ra, 0(a1)",
        "lui a0, 0x10",
        "lw a1, 40(a0)",
        "addi a0, a0, 36",
        "add a1, a0, a1",
        "jalr zero, 0(a1)",
        "nop",
        "nop",
        "nop",
        "addi s1, zero, 1",
        "addi s1, zero, 1",
        "addi s1, zero, 1",
        "addi s2, zero, 7",
        "ret",
        "addi s3, zero, 9",
        "ebreak",
    ];
    // Enough that packing gains.
    lines.extend(["addi s4, s4, 1"; 40]);
    lines.push("ret");
    let mut words = words(&lines);
    let (first, second) = (CODE + 4 * 14, CODE + 4 * 16);
    words[8] = first;
    words[9] = second;
    words[10] = second.wrapping_sub(distance);
    let mut program = linked(&words, &[0, 11, 18]);
    let refer = |index: u32, form, to| Reference { at: CODE + 4 * index, form, to };
    program.references = vec![
        refer(0, Form::High20, CODE + 32),
        refer(1, Form::Low12, CODE + 32),
        refer(3, Form::High20, CODE + 40),
        refer(4, Form::Low12, CODE + 40),
        refer(5, Form::Low12, distance),
        refer(8, Form::Word, first),
        refer(9, Form::Word, second),
        refer(10, Form::Difference { from: distance }, second),
    ];
    program
}

#[test]
fn tables_of_addresses_and_of_distances_among_code_follow_what_moves() {
    let program = tables();
    for seed in 0..8 {
        let settings = Settings { order: Order::Seeded(seed), ..Settings::default() };
        let packed = pack(&program, &[], &settings).expect("it can be packed");
        assert_eq!(packed.report.nothing, None);
        assert_eq!(check(&program, &packed.image, &settings.choice), Ok(Vec::new()));
        for image in [&rv32::unpacked(&program), &packed.image] {
            let protection = Protection::cost_of_code(image, Work::Block);
            let files = Files::new(Default::default(), Vec::new());
            let (chain, user) = (chain::Settings::default(), user::Settings::default());
            let started = run::rv32::under_linux(image, &protection, &chain, &[], files, user);
            let mut running = started.expect("it fits");
            let outcome = run::rv32::finish(&mut running, 10_000, &mut ());
            let End::Fault(fault) = outcome.end else { panic!("{:?}", outcome.end) };
            assert_eq!(fault.kind, FaultKind::Unanswered { trap: Trap::Breakpoint });
            assert_eq!([18, 19].map(|number| running.machine.register(number)), [7, 9]);
            assert_eq!(outcome.counts.constants, 2);
        }
    }
}

#[test]
fn each_refusal_says_what_was_found_what_was_expected_and_how_to_mend_it() {
    let errors = [
        Error::Machine { found: 183 },
        Error::Extensions { found: 5 },
        Error::ReadsItsPlace { at: 0x1_0000 },
        Error::TooFar { at: 0x1_0000, to: 0x1_0008, distance_words: 1302 },
    ];
    expect![[r#"
        code of another processor: found e_machine 183, expected 2 (SPARC, high byte first) or 243 (RISC-V, low byte first)
        code of another RISC-V than RV32IM: found e_flags 0x5, expected 0
        help: compile it, and every library that it is linked with, with -march=rv32im -mabi=ilp32
        instruction at 0x00010000 reads its own address: what the program computes from it would be wrong
        help: compile without -fpic, or exclude the function
        branch at 0x00010000 to 0x00010008 is 1302 words long in the image, farther than it reaches
        help: keep the order of functions, or exclude the two"#]]
    .assert_eq(&errors.map(|error| error.to_string()).join("\n"));
}

#[test]
fn constants_of_a_section_that_was_once_written_are_constants() {
    let program = program("search");
    let rodata = program.sections.iter().find(|section| section.name == ".rodata").expect("it has one");
    assert_eq!(rodata.kind, pack::image::Kind::Constants);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    #[test]
    fn a_changed_program_is_packed_or_refused(
        places in proptest::collection::vec((0usize..152_100, any::<u8>()), 1..6),
        // The relocations of its code.
        others in proptest::collection::vec((0x207a4usize..0x24cbc, any::<u8>()), 1..6)
    ) {
        for places in [places, others] {
            let mut bytes = elf("search");
            for (at, value) in places {
                bytes[at] = value;
            }
            if let Ok(program) = Program::parse(&bytes) {
                let _ = pack(&program, &[], &Settings { assignment: Assignment::Greedy, ..Settings::default() });
            }
        }
    }
}
