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
    ends_words(&words(lines))
}

fn ends_words(words: &[u32]) -> String {
    let image = Image::parse(&elf(words, CODE)).expect("an image");
    let mut program =
        User::new(&image, &["program"], Files::default(), user::Settings::default()).expect("it fits");
    match program.run(100_000, &mut ()) {
        user::Stop::Fault(fault) => fault.to_string(),
        stop => panic!("{words:x?}: {stop:?}"),
    }
}

/// How a supervisor's program on a board ends, with traps disabled.
fn ends_on_board(words: &[u32]) -> FaultKind {
    let image = Image::parse(&elf(words, CODE)).expect("an image");
    let mut machine = Board::new(&image, 32 << 20, &[]).expect("it fits").start(Settings::default(), CODE);
    let Stop::Fault(fault) = machine.run(1000, &mut ()) else { panic!("{words:x?}: it stops") };
    fault.kind
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
fn what_only_supervisors_may_execute_is_privileged_before_it_is_anything_else() {
    // ldda with an odd register, stda with one, lda and stba with a constant, std of %fq and of %cq.
    let illegal = [0xc298_4160_u32, 0xc2b8_4160, 0xc280_6000, 0xc2a8_6000];
    let disabled = [(0xc130_4000_u32, Trap::FP_DISABLED), (0xc1b0_4000, Trap::CP_DISABLED)];
    for word in illegal.into_iter().chain(disabled.map(|(word, _)| word)) {
        let end = ends_words(&[word]);
        let words = "fault at 0x40000000: trap privileged_instruction (0x03), which nothing answers";
        assert_eq!(end, words, "{word:#010x}");
    }
    for (word, trap) in illegal.map(|word| (word, Trap::ILLEGAL_INSTRUCTION)).into_iter().chain(disabled) {
        assert_eq!(ends_on_board(&[word]), FaultKind::ErrorMode { trap }, "{word:#010x}");
    }
    // What everybody may execute is illegal for everybody.
    assert!(ends_words(&[0xc218_4000]).contains("trap illegal_instruction"), "ldd with an odd register");
}

#[test]
fn a_place_inside_a_word_is_no_instruction() {
    let code = Region { first: CODE, bytes: vec![1, 0, 0, 0, 1, 0, 0, 0], writable: false };
    let memory = Memory::new(vec![code], CODE, 8);
    for slot in 1..4 {
        let mut machine = Machine::new(memory.clone(), Settings::default(), CODE + slot);
        let Stop::Fault(fault) = machine.run(10, &mut ()) else { panic!("it stops") };
        assert_eq!(fault.kind, FaultKind::ErrorMode { trap: Trap::ILLEGAL_INSTRUCTION }, "{slot}");
    }
    let mut machine = Machine::new(memory, Settings::default(), CODE + 9);
    let Stop::Fault(fault) = machine.run(10, &mut ()) else { panic!("it stops") };
    assert_eq!(fault.kind, FaultKind::ErrorMode { trap: Trap::INSTRUCTION_ACCESS_EXCEPTION });
}

#[test]
fn a_double_word_whose_end_is_code_is_not_stored() {
    let code = words(&["nop", "std %g2, [%g1]", "nop"]);
    // Data and, from its last word on, code.
    let bytes = [0; 4].into_iter().chain(code.iter().flat_map(|word| word.to_be_bytes())).collect();
    let memory = Memory::new(vec![Region { first: CODE, bytes, writable: true }], CODE + 4, 12);
    let mut machine = Machine::new(memory, Settings::default(), CODE + 4);
    machine.set_register(1, CODE);
    let Stop::Fault(fault) = machine.run(10, &mut ()) else { panic!("it stops") };
    assert_eq!((fault.pc, fault.kind), (CODE + 8, FaultKind::StoredToCode { address: CODE + 4 }));
    assert_eq!(machine.bus.read(CODE, 8), Some(&[0, 0, 0, 0, 1, 0, 0, 0][..]));
}

#[test]
fn a_window_is_spilled_and_filled_only_where_words_can_be() {
    // Seven deeper calls need the first window's registers stored, at a stack pointer that is odd.
    let deep = ["or %sp, 1, %sp", "save %sp, -96, %sp", "ba .-4", "nop"];
    let end = ends(&deep);
    assert!(end.contains("a window does not fit the stack: found stack pointer 0x3fff"), "{end}");
    // And the same when it comes back from the eighth.
    let mut lines = vec!["save %sp, -96, %sp"; 8];
    lines.extend(["ta 3", "or %sp, 2, %fp", "restore", "restore"]);
    let end = ends(&lines);
    assert!(end.contains("a window does not fit the stack: found stack pointer 0x"), "{end}");
}

#[test]
fn what_packed_images_do_wrong_has_words() {
    let words = |kind| isa::sparc::Fault { pc: CODE, kind }.to_string();
    let line = "fault at 0x40000000: the tag of the lines from 0x40000040 on does not match: memory is not as \
                it was sealed";
    assert_eq!(words(FaultKind::LineCheck { line: CODE + 0x40 }), line);
    let packed = "fault at 0x40000000: loaded from 0x40000041, where packed instructions are\n\
                  help: keep constants in a section of their own";
    assert_eq!(words(FaultKind::PackedText { address: CODE + 0x41 }), packed);
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
    assert_eq!(
        refused(&with(72, &0xd000_0000_u32.to_be_bytes())),
        "segment outside memory: found 0x40000000 to 0x110000000, expected at most 0x100000000"
    );
    assert_eq!(refused(&with(72, &0x7fff_ffff_u32.to_be_bytes())), "two segments claim address 0x41000000");
    let large = "program is too large: found 1073741840 bytes, expected at most 268435456";
    assert_eq!(refused(&with(104, &0x4000_0000_u32.to_be_bytes())), large);
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
    // A heap that would grow onto instructions.
    let high = |address: u32| {
        let mut changed = elf(&words(&["nop"; 4]), address);
        for at in [60, 64] {
            changed[at..at + 4].copy_from_slice(&address.to_be_bytes());
        }
        Image::parse(&changed)
    };
    let image_above = high(DATA + 0x10_0000).expect("an image");
    let settings = user::Settings::default();
    let error = User::new(&image_above, &[], Files::default(), settings.clone()).expect_err("it cannot grow");
    assert_eq!(error, ImageError::Overlap { address: DATA + 0x10_0000 });
    let settings = user::Settings { heap_bytes: 0x1000, ..settings };
    assert!(User::new(&image_above, &[], Files::default(), settings).is_ok());
    // Nothing can be behind the last instruction.
    let last = "segment outside memory: found 0xfffffff0 to 0x100000000, expected at most 0xffffffff";
    assert_eq!(high(0xffff_fff0).expect_err("it is no image").to_string(), last);
    assert!(high(0xffff_ffe0).is_ok());
    let error = Board::new(&image, 1 << 20, &[]).expect_err("data is behind the memory").to_string();
    assert_eq!(error, "segment outside memory: found 0x41000000 to 0x41020000, expected at most 0x40100000");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

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

/// A program of the corpus, if that is here: the shortest, with sections, symbols and relocations.
fn program() -> Option<Vec<u8>> {
    let found = std::fs::read(emulator::root("corpus/sparc/search.elf")).ok();
    if found.is_none() {
        assert!(std::env::var_os("CI").is_none(), "corpus/sparc is missing, and under CI it must not be");
        eprintln!("skip: changed SPARC images: there is no corpus");
    }
    found
}

/// The tables of a file by which everything else is found: its header with its program headers, the headers of its
/// sections, and its symbols.
fn tables(elf: &[u8]) -> [std::ops::Range<usize>; 3] {
    let word = |at: usize| u32::from_be_bytes(elf[at..at + 4].try_into().expect("four bytes")) as usize;
    let half = |at: usize| usize::from(u16::from_be_bytes([elf[at], elf[at + 1]]));
    let headers = 0..word(28) + half(42) * half(44);
    let sections = word(32)..word(32) + half(46) * half(48);
    // The section of symbols is of type 2; offset and size are its fifth and sixth word.
    let symbols = sections.clone().step_by(40).find(|&at| word(at + 4) == 2).expect("it has symbols");
    [headers, sections, word(symbols + 16)..word(symbols + 16) + word(symbols + 20)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// Neither the reader nor what runs what it has read.
    #[test]
    fn a_changed_image_makes_nothing_panic(
        changes in proptest::collection::vec((0..5_usize, any::<prop::sample::Index>(), any::<u8>()), 1..6)
    ) {
        let Some(mut bytes) = program() else { return Ok(()) };
        let tables = tables(&bytes);
        for (table, place, byte) in changes {
            let all = 0..bytes.len();
            let range = tables.get(table).unwrap_or(&all);
            bytes[range.start + place.index(range.len())] = byte;
        }
        let Ok(image) = Image::parse(&bytes) else { return Ok(()) };
        if let Ok(mut program) = User::new(&image, &["search"], Files::default(), user::Settings::default()) {
            program.run(20_000, &mut ());
        }
        if let Ok(board) = Board::new(&image, 64 << 20, &[]) {
            board.start(Settings::default(), image.entry).run(20_000, &mut ());
        }
    }
}
