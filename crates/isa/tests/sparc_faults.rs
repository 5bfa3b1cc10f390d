//! What a SPARC program or image does wrong is named: where, what was found, what was expected.

mod emulator;

use emulator::{CODE, DATA, elf};
use isa::sparc::user::{self, Windows};
use isa::sparc::{
    Board, FaultKind, Files, Image, ImageError, Machine, Memory, Region, Settings, Stop, Trap, User, text,
};
use proptest::prelude::*;

fn words(lines: &[&str]) -> Vec<u32> {
    lines.iter().map(|line| text::parse(line).expect(line).encode().expect(line)).collect()
}

/// How a program under Linux ends, in words.
fn ends(lines: &[&str]) -> String {
    let image = Image::parse(&elf(&words(lines), CODE)).expect("an image");
    let mut program =
        User::new(&image, &["program"], Files::default(), user::Settings::default()).expect("it fits");
    match program.run(100_000, &mut ()) {
        user::Stop::Fault(fault) => fault.to_string(),
        stop => panic!("{lines:?}: {stop:?}"),
    }
}

#[test]
fn what_a_program_does_wrong_is_named() {
    let expected: [(&[&str], &str); 12] = [
        (&["ld [%g0 + 2], %o0"], "trap mem_address_not_aligned (0x07), which nothing answers"),
        (&["ld [%g0 + 8], %o0"], "trap data_access_exception (0x09), which nothing answers"),
        (&["unimp 0"], "trap illegal_instruction (0x02), which nothing answers"),
        (&["rd %psr, %o0"], "trap privileged_instruction (0x03), which nothing answers"),
        (&["ldd [%sp], %f2"], "trap fp_disabled (0x04), which nothing answers"),
        (&["cba .+8"], "trap cp_disabled (0x24), which nothing answers"),
        (&["udiv %sp, %g0, %o0"], "trap division_by_zero (0x2a), which nothing answers"),
        (&["ta 5"], "trap instruction 0x05, which nothing answers"),
        (&["taddcctv %g0, 1, %g0"], "trap tag_overflow (0x0a), which nothing answers"),
        (&["rd %asr20, %o0"], "%asr20 is not modelled"),
        (&["mov 999, %g1", "ta 16"], "system call 999 is not known"),
        (
            &["sethi %hi(0x40000000), %g1", "st %g0, [%g1]"],
            "stored to 0x40000000, which is executed\nhelp: code that changes cannot be run",
        ),
    ];
    for (lines, words) in expected {
        let at = CODE + 4 * (lines.len() as u32 - 1);
        assert_eq!(ends(lines), format!("fault at {at:#010x}: {words}"), "{lines:?}");
    }
}

#[test]
fn a_program_that_leaves_its_code_or_its_stack_is_stopped() {
    assert!(ends(&["nop"]).ends_with("trap instruction_access_exception (0x01), which nothing answers"));
    let deep = ["save %g0, 0, %sp", "ba .-4", "nop"];
    assert!(ends(&deep).contains("a window does not fit the stack: found stack pointer 0x00000000"));
}

#[test]
fn a_trap_while_traps_are_disabled_is_the_error_mode() {
    let image = Image::parse(&elf(&words(&["mov 7, %o0", "ta 0"]), CODE)).expect("an image");
    let board = Board::new(&image, 32 << 20, &[]).expect("it fits");
    let mut machine = board.start(Settings::default(), CODE);
    let Stop::Fault(fault) = machine.run(1000, &mut ()) else { panic!("it stops") };
    assert_eq!((fault.pc, fault.kind), (CODE + 4, FaultKind::ErrorMode { trap: Trap::software(0) }));
    let ended =
        "fault at 0x40000004: trap instruction 0x00 while traps are disabled: the processor is in error mode";
    assert_eq!((fault.to_string().as_str(), machine.register(8)), (ended, 7));
    assert_eq!(machine.run(2000, &mut ()), Stop::Fault(fault), "it stands still");
    let words = "fault at 0x40000000: slot 2: trap illegal_instruction (0x02), which nothing answers";
    let kind = FaultKind::Unanswered { trap: Trap::ILLEGAL_INSTRUCTION };
    assert_eq!(isa::sparc::Fault { pc: CODE + 2, kind }.to_string(), words);
}

#[test]
fn an_address_space_of_leons_is_not_modelled_and_ordinary_ones_are_memory() {
    let lines = [
        "sethi %hi(0x41000000), %g1",
        "mov 5, %o0",
        "sta %o0, [%g1] 11",
        "lda [%g1] 10, %o1",
        "lda [%g1] 2, %o2",
    ];
    let image = Image::parse(&elf(&words(&lines), CODE)).expect("an image");
    let mut machine = Board::new(&image, 32 << 20, &[]).expect("it fits").start(Settings::default(), CODE);
    let Stop::Fault(fault) = machine.run(1000, &mut ()) else { panic!("it stops") };
    assert_eq!(fault.to_string(), "fault at 0x40000010: address space 0x02 is not modelled");
    assert_eq!(machine.register(9), 5);
}

fn refused(bytes: &[u8]) -> String {
    Image::parse(bytes).expect_err("it is no image").to_string()
}

#[test]
fn what_is_wrong_with_an_image_is_named() {
    let sound = elf(&words(&["nop"; 4]), CODE);
    let with = |at: usize, bytes: &[u8]| {
        let mut changed = sound.clone();
        changed[at..at + bytes.len()].copy_from_slice(bytes);
        changed
    };
    assert!(refused(b"no ELF").starts_with("not a readable 32-bit ELF file: "));
    let machine = "not a SPARC V8 program: found machine 18, expected 2\n\
                   help: 18 is V8 plus parts of V9: link no library that was compiled for V9";
    assert_eq!(refused(&with(18, &[0, 18])), machine);
    assert!(refused(&with(16, &[0, 1])).starts_with("not a linked program: found ELF type 1, expected 2"));
    let entry = "entry is no word of a segment of instructions: found 0x40000002";
    assert_eq!(refused(&with(24, &0x4000_0002_u32.to_be_bytes())), entry);
    // The first program header begins at 52: offset, address and lengths are 4, 8, 16 and 20 behind that.
    let unaligned =
        "instructions are not whole words: found 16 bytes from 0x40000002, expected multiples of 4";
    assert_eq!(refused(&with(60, &0x4000_0002_u32.to_be_bytes())), unaligned);
    let past = "not a readable 32-bit ELF file: a segment lies past the end of the file";
    assert_eq!(refused(&with(56, &0x7fff_ffff_u32.to_be_bytes())), past);
    assert!(refused(&with(72, &0x7fff_ffff_u32.to_be_bytes())).starts_with("segment outside memory: "));
    let shorter = "not a readable 32-bit ELF file: a segment is longer in the file than in memory";
    assert_eq!(refused(&with(72, &4_u32.to_be_bytes())), shorter);
    assert_eq!(refused(&with(92, &CODE.to_be_bytes())), "two segments claim address 0x40000000");
    // Neither segment is executable.
    assert_eq!(
        refused(&with(76, &4_u32.to_be_bytes())),
        "program is empty: found no segment of instructions"
    );
}

#[test]
fn what_does_not_fit_its_surroundings_is_named() {
    let image = Image::parse(&elf(&words(&["nop"; 4]), CODE)).expect("an image");
    let long = "x".repeat(200_000);
    let error =
        User::new(&image, &[&long], Files::default(), user::Settings::default()).expect_err("too long");
    assert_eq!(error, ImageError::Arguments { found_bytes: 400_104, limit_bytes: 131_072 });
    let settings = user::Settings { stack_end: DATA + 4096, ..user::Settings::default() };
    let error = User::new(&image, &[], Files::default(), settings).expect_err("on top of each other");
    assert_eq!(error.to_string(), "two segments claim address 0x41000000");
    let error = Board::new(&image, 1 << 20, &[]).expect_err("data is behind the memory").to_string();
    assert_eq!(error, "segment outside memory: found 0x41000000 to 0x41020000, expected at most 0x40100000");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_changed_file_never_makes_the_reader_panic(changes in proptest::collection::vec((0..200_usize, any::<u8>()), 1..8)) {
        let mut bytes = elf(&words(&["nop"; 4]), CODE);
        bytes.truncate(0x1100);
        for (at, byte) in changes {
            bytes[at] = byte;
        }
        let _ = Image::parse(&bytes);
    }

    #[test]
    fn random_words_never_make_a_machine_panic_and_r0_stays_zero(
        code in proptest::collection::vec(any::<u32>(), 4..64), windows in 2..=32_u32, trap_base in any::<bool>()
    ) {
        let bytes: Vec<u8> = code.iter().flat_map(|word| word.to_be_bytes()).collect();
        let code_bytes = bytes.len() as u32;
        let data = Region { first: 0, bytes: vec![0; 8192], writable: true };
        let region = Region { first: CODE, bytes, writable: false };
        let memory = Memory::new(vec![data, region], CODE, code_bytes);
        let mut machine = Machine::new(memory, Settings { windows, ..Settings::default() }, CODE);
        machine.set_psr(if trap_base { 0xe0 } else { 0x20 }).expect("window 0");
        machine.set_tbr(CODE);
        for _ in 0..200 {
            let before = machine.cycle();
            if let Stop::Fault(_) = machine.step(&mut ()) {
                break;
            }
            prop_assert!(machine.cycle() > before && machine.register(0) == 0);
            prop_assert!(machine.psr() & 31 < windows);
        }
    }

}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// A window keeps what is in it, however many there are and whoever spills them.
    #[test]
    fn calls_as_deep_as_one_likes_return_what_they_took(windows in 3..=32_u32, depth in 1..100_u32) {
        // Each call adds its depth to what the deeper one returns.
        let lines = [
            "sethi %hi(0x41010000), %sp", "add %g3, 0, %o0", "call .+16", "nop", "mov 1, %g1", "ta 16",
            "save %sp, -96, %sp", "subcc %i0, 1, %o0", "be .+20", "mov 0, %l1", "call .-16", "nop", "mov %o0, %l1",
            "add %i0, %l1, %i0", "ret", "restore",
        ];
        let image = Image::parse(&elf(&words(&lines), CODE)).expect("an image");
        let machine = Settings { windows, ..Settings::default() };
        let settings = user::Settings { machine, windows: Windows::Environment, ..user::Settings::default() };
        let mut program = User::new(&image, &[], Files::default(), settings).expect("it fits");
        program.machine.set_register(3, depth);
        let stop = program.run(1_000_000, &mut ());
        prop_assert_eq!(stop, user::Stop::Exit((depth * (depth + 1) / 2) as u8));
        prop_assert_eq!(program.machine.register(8), depth * (depth + 1) / 2);
    }
}
