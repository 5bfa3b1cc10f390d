//! What an RV32 program or image does wrong is named: where, what was found, what was expected; and what it asks of
//! Linux is answered, or refused by the number that Linux has for it.

mod emulator;

use std::collections::BTreeMap;

use emulator::rv32::{CODE, DATA, elf};
use isa::rv32::{
    Fault, FaultKind, Files, Image, ImageError, Machine, Memory, Region, Stop, Timing, User, text, user,
};
use proptest::prelude::*;

fn words(lines: &[&str]) -> Vec<u32> {
    lines.iter().map(|line| text::parse(line).expect(line).encode().expect(line)).collect()
}

fn program(words: &[u32]) -> User<Memory> {
    let image = Image::parse(&elf(words, CODE)).expect("an image");
    User::new(&image, &["program"], Files::default(), user::Settings::default()).expect("it fits")
}

/// How a program under Linux ends, in words.
fn ends_words(words: &[u32]) -> String {
    match program(words).run(100_000, &mut ()) {
        user::Stop::Fault(fault) => fault.to_string(),
        stop => panic!("{words:x?}: {stop:?}"),
    }
}

#[test]
fn what_a_program_does_wrong_is_named() {
    let expected: [(&[&str], &str); 15] = [
        (&["lw a0, 2(zero)"], "trap load address misaligned (4), which nothing answers"),
        (&["lhu a0, 9(zero)"], "trap load address misaligned (4), which nothing answers"),
        (&["lw a0, 8(zero)"], "trap load access fault (5), which nothing answers"),
        (&["sh a0, 1(zero)"], "trap store address misaligned (6), which nothing answers"),
        (&["sb a0, 1(zero)"], "trap store access fault (7), which nothing answers"),
        (&["ebreak"], "trap breakpoint (3), which nothing answers"),
        (&["csrrw a0, cycle, a0"], "trap illegal instruction (2), which nothing answers"),
        (&["csrrs zero, time, ra"], "trap illegal instruction (2), which nothing answers"),
        (&["csrrci a0, instret, 1"], "trap illegal instruction (2), which nothing answers"),
        (&["csrr a0, 0x300"], "trap illegal instruction (2), which nothing answers"),
        (&["j .+6"], "trap instruction address misaligned (0), which nothing answers"),
        (&["beqz zero, .-2"], "trap instruction address misaligned (0), which nothing answers"),
        (&["li a0, 6", "jalr ra, 1(a0)"], "trap instruction address misaligned (0), which nothing answers"),
        (&["li a7, 999", "ecall"], "system call 999 is not known"),
        (
            &["lui a0, 0x10", "sb zero, 1(a0)"],
            "stored to 0x00010001, which is executed\nhelp: code that changes cannot be run",
        ),
    ];
    for (lines, message) in expected {
        let at = CODE + 4 * (lines.len() as u32 - 1);
        assert_eq!(ends_words(&words(lines)), format!("fault at {at:#010x}: {message}"), "{lines:?}");
    }
    // What a jump to nowhere does wrong, it does there; a branch that is not taken goes nowhere.
    let nowhere = "fault at 0x00000100: trap instruction access fault (1), which nothing answers";
    assert_eq!(ends_words(&words(&["bnez zero, .+2", "li a0, 0x101", "jr a0"])), nowhere);
    let behind = "fault at 0x00010004: trap instruction access fault (1), which nothing answers";
    assert_eq!(ends_words(&words(&["nop"])), behind);
}

#[test]
fn a_trapped_instruction_leaves_everything_as_it_was() {
    for line in ["lw a0, 8(zero)", "jal a0, .+2", "lh a0, 1(zero)", "csrrw a0, cycle, zero"] {
        let mut ours = program(&words(&[line]));
        ours.machine.set_register(10, 77);
        assert!(matches!(ours.run(10, &mut ()), user::Stop::Fault(_)), "{line}");
        assert_eq!((ours.machine.register(10), ours.machine.pc()), (77, CODE), "{line}");
        assert_eq!(ours.machine.spent().instructions, 0, "{line}");
    }
}

#[test]
fn compressed_and_unknown_instructions_are_told_apart() {
    // c.li a0, 0 and c.nop; then fence.i, and custom-0.
    let compressed = "fault at 0x00010000: compressed instruction: found half-word 0x4501, expected low bits 11\n\
                      help: compile with -march=rv32im";
    assert_eq!(ends_words(&[0x0001_4501]), compressed);
    for word in [0x0000_100f, 0x0000_000b, u32::MAX] {
        let illegal = "fault at 0x00010000: trap illegal instruction (2), which nothing answers";
        assert_eq!(ends_words(&[word]), illegal, "{word:#x}");
    }
}

#[test]
fn what_packed_images_do_wrong_has_words() {
    let words = |pc, kind| Fault { pc, kind }.to_string();
    let line = "fault at 0x00010004: slot 2: the tag of the lines from 0x00010000 on does not match: \
         memory is not as it was sealed";
    assert_eq!(words(CODE + 6, FaultKind::LineCheck { line: CODE }), line);
    let packed = "fault at 0x00010000: loaded from 0x00010041, where packed instructions are\n\
                  help: keep constants in a section of their own";
    assert_eq!(words(CODE, FaultKind::PackedText { address: CODE + 0x41 }), packed);
}

#[test]
fn a_place_inside_a_word_is_no_instruction_where_words_have_one() {
    let region = Region { first: CODE, bytes: vec![0x13, 0, 0, 0, 0x13, 0, 0, 0], writable: false };
    let memory = Memory::new(vec![region], CODE, 8);
    for slot in 1..4 {
        let mut machine = Machine::new(memory.clone(), Timing::ibex(), CODE + slot);
        let trap = isa::rv32::Trap::InstructionMisaligned;
        assert_eq!(machine.run(10, &mut ()), Stop::Trap(trap), "{slot}");
    }
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
    let machine = "not an RV32 program: found machine 2, expected 243";
    assert_eq!(refused(&with(18, &[2, 0])), machine);
    let sparc = emulator::elf(&[0x0100_0000], emulator::CODE);
    assert_eq!(refused(&sparc), machine);
    let other = isa::sparc::Image::parse(&sound).expect_err("it is none").to_string();
    assert_eq!(other, "not a SPARC V8 program: found machine 243, expected 2");
    let compressed = "not a program for RV32IM: found ELF flags 0x1, expected 0: it has compressed instructions\n\
                      help: compile it, and every library that it is linked with, with -march=rv32im -mabi=ilp32";
    assert_eq!(refused(&with(36, &[1])), compressed);
    for flags in [2, 4, 8] {
        let words = format!("not a program for RV32IM: found ELF flags {flags:#x}, expected 0\nhelp: ");
        assert!(refused(&with(36, &[flags])).starts_with(&words), "{flags}");
    }
    assert!(refused(&with(16, &[1])).starts_with("not a linked program: found ELF type 1, expected 2"));
    let entry = "entry is no word of a segment of instructions: found 0x00010002";
    assert_eq!(refused(&with(24, &0x1_0002_u32.to_le_bytes())), entry);
}

#[test]
fn what_does_not_fit_its_surroundings_is_named() {
    let image = Image::parse(&elf(&words(&["nop"; 4]), CODE)).expect("an image");
    let long = "x".repeat(200_000);
    let settings = user::Settings::default();
    let error = User::new(&image, &[&long], Files::default(), settings).expect_err("too long");
    assert!(
        matches!(error, ImageError::Arguments { found_bytes: 400_000.., limit_bytes: 131_072 }),
        "{error}"
    );
    let settings = user::Settings { stack_end: DATA + 4096, ..user::Settings::default() };
    let error = User::new(&image, &[], Files::default(), settings).expect_err("on top of each other");
    assert_eq!(error.to_string(), "two segments claim address 0x01000000");
}

/// A program that only makes calls, each with these arguments.
struct Calls(User<Memory>);

impl Calls {
    fn new(files: Files) -> Calls {
        let image = Image::parse(&elf(&words(&["ecall"; 100]), CODE)).expect("an image");
        Calls(User::new(&image, &[], files, user::Settings::default()).expect("it fits"))
    }

    fn call(&mut self, number: u32, arguments: &[u32]) -> i32 {
        let machine = &mut self.0.machine;
        machine.set_register(17, number);
        arguments.iter().zip(10..).for_each(|(&argument, register)| machine.set_register(register, argument));
        assert_eq!(self.0.run(self.0.machine.cycle() + 1, &mut ()), user::Stop::Reached, "{number}");
        self.0.machine.register(10) as i32
    }

    /// Puts bytes where a call finds them.
    fn put(&mut self, address: u32, bytes: &[u8]) -> u32 {
        use isa::rv32::{Bus, Width};
        for (offset, &byte) in bytes.iter().enumerate() {
            let stored = self.0.machine.bus.deposit(address + offset as u32, Width::Byte, byte.into());
            stored.expect("it can be stored");
        }
        address
    }
}

const FOLDER: u32 = -100_i32 as u32;
const UNLINKAT: u32 = 35;
const OPENAT: u32 = 56;
const CLOSE: u32 = 57;
const LLSEEK: u32 = 62;
const READ: u32 = 63;
const WRITE: u32 = 64;

#[test]
fn calls_do_with_files_what_linux_does() {
    let mut calls =
        Calls::new(Files::new(BTreeMap::from([("there".into(), b"abcdef".to_vec())]), b"in".to_vec()));
    let there = calls.put(DATA, b"there\0");
    let made = calls.put(DATA + 16, b"made\0");
    let text = calls.put(DATA + 32, b"hello");
    let room = DATA + 64;
    let file = calls.call(OPENAT, &[FOLDER, there, 0, 0]) as u32;
    assert_eq!((file, calls.call(LLSEEK, &[file, u32::MAX, -4_i32 as u32, room, 2])), (3, 0));
    assert_eq!(calls.0.machine.bus.read(room, 8), Some(&[2, 0, 0, 0, 0, 0, 0, 0][..]));
    assert_eq!(calls.call(READ, &[file, room, 3]), 3);
    assert_eq!(calls.0.machine.bus.read(room, 4), Some(&b"cde\0"[..]));
    assert_eq!((calls.call(READ, &[0, room, 100]), calls.call(READ, &[0, room, 100])), (2, 0));
    // Made (0x40) for writing (1), written behind what is there (0x400).
    let other = calls.call(OPENAT, &[FOLDER, made, 0x441, 0]) as u32;
    assert_eq!((other, calls.call(WRITE, &[other, text, 5]), calls.call(WRITE, &[1, text, 4])), (4, 5, 4));
    assert_eq!(
        (calls.0.files.named["made"].as_slice(), calls.0.files.output.as_slice()),
        (&b"hello"[..], &b"hell"[..])
    );
    assert_eq!((calls.call(CLOSE, &[other]), calls.call(CLOSE, &[other])), (0, -9));
    assert_eq!((calls.call(UNLINKAT, &[FOLDER, made, 0]), calls.call(UNLINKAT, &[FOLDER, made, 0])), (0, -2));
    assert_eq!(calls.0.machine.spent().traps, 12);
}

#[test]
fn a_call_that_cannot_be_done_is_answered_by_the_number_of_its_error() {
    let mut calls = Calls::new(Files::default());
    let name = calls.put(DATA, b"name\0/name\0");
    let long = calls.put(DATA + 64, &[b'x'; 5000]);
    let expected: [(u32, &[u32], i32); 12] = [
        (OPENAT, &[FOLDER, name, 0, 0], -2),
        (OPENAT, &[FOLDER, name, 3, 0], -22),
        (OPENAT, &[FOLDER, 0, 0, 0], -14),
        (OPENAT, &[FOLDER, long, 0x41, 0], -22),
        // Another folder, but not for a path that begins at the root.
        (OPENAT, &[5, name, 0x41, 0], -9),
        (OPENAT, &[5, name + 5, 0, 0], -2),
        (READ, &[7, DATA, 1], -9),
        (WRITE, &[1, 0xffff_fff0, 32], -14),
        // Nothing is read to where it executes.
        (WRITE, &[0, DATA, 1], -9),
        (LLSEEK, &[1, 0, 0, DATA, 0], -29),
        (LLSEEK, &[1, 1, 0, DATA, 0], -22),
        (CLOSE, &[64], -9),
    ];
    for (number, arguments, error) in expected {
        assert_eq!(calls.call(number, arguments), error, "{number} {arguments:x?}");
    }
    calls.0.files.input = b"in".to_vec();
    assert_eq!(calls.call(READ, &[0, CODE, 1]), -14);
}

#[test]
fn a_program_ends_with_its_status_and_stays_ended() {
    for number in [93, 94] {
        let mut ours = program(&words(&["li a0, 261", &format!("li a7, {number}"), "ecall"]));
        assert_eq!(ours.run(1000, &mut ()), user::Stop::Exit(5));
        assert_eq!((ours.run(2000, &mut ()), ours.machine.spent().instructions), (user::Stop::Exit(5), 2));
    }
    let mut ours = program(&words(&["ebreak"]));
    let stop = ours.run(1000, &mut ());
    assert_eq!((ours.run(2000, &mut ()), ours.machine.fault().is_some()), (stop, true));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_words_never_make_a_machine_panic_and_x0_stays_zero(
        code in proptest::collection::vec(any::<u32>(), 4..64), legal in any::<bool>()
    ) {
        // Words with the lowest bits of instructions get further.
        let opcodes = [0x33, 0x13, 0x03, 0x23, 0x63, 0x6f, 0x67, 0x37, 0x17, 0x73, 0x0f];
        let word = |word: u32| if legal { word & !0x7f | opcodes[(word % 11) as usize] } else { word };
        let bytes: Vec<u8> = code.iter().flat_map(|&found| word(found).to_le_bytes()).collect();
        let code_bytes = bytes.len() as u32;
        let data = Region { first: 0, bytes: vec![0; 8192], writable: true };
        let region = Region { first: CODE, bytes, writable: false };
        let memory = Memory::new(vec![data, region], CODE, code_bytes);
        let mut machine = Machine::new(memory, Timing::ibex(), CODE);
        for _ in 0..200 {
            let before = machine.cycle();
            match machine.step(&mut ()) {
                Stop::Fault(_) => break,
                // What was not fetched has nothing behind it.
                Stop::Trap(_) => machine.jump(CODE + ((before as u32 % code_bytes) & !3)),
                Stop::Reached => prop_assert!(machine.cycle() > before),
            }
            prop_assert!(machine.register(0) == 0);
        }
    }
}

/// A program of the corpus, if that is here: the shortest, with sections, symbols and relocations.
fn search() -> Option<Vec<u8>> {
    let found = std::fs::read(emulator::root("corpus/rv32/search.elf")).ok();
    if found.is_none() {
        assert!(std::env::var_os("CI").is_none(), "corpus/rv32 is missing, and under CI it must not be");
        eprintln!("skip: changed RV32 images: there is no corpus");
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// Neither the reader nor what runs what it has read.
    #[test]
    fn a_changed_image_makes_nothing_panic(
        changes in proptest::collection::vec((0..3_usize, any::<prop::sample::Index>(), any::<u8>()), 1..6)
    ) {
        let Some(mut bytes) = search() else { return Ok(()) };
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize;
        // Its header with its program headers, the headers of its eleven sections, all of it.
        let tables = [0..52 + 2 * 32, word(32)..word(32) + 11 * 40, 0..bytes.len()];
        for (table, place, byte) in changes {
            let range = &tables[table];
            bytes[range.start + place.index(range.len())] = byte;
        }
        let Ok(image) = Image::parse(&bytes) else { return Ok(()) };
        if let Ok(mut program) = User::new(&image, &["search"], Files::default(), user::Settings::default()) {
            program.run(20_000, &mut ());
        }
    }
}
