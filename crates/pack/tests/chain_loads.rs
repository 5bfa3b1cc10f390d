//! What a program finds where it executes: every load of every width from every place of packed code, every store, and
//! what a system call is told to take from there or put there. Only constants come back; packets end the run by name,
//! and so does code that would change itself.

mod made;
mod packets;
mod rv32;

use isa::sparc::machine::{self, Settings as Core};
use isa::sparc::{Board, FaultKind, Files, Machine, Timing, Trap, User, user};
use isa::{rv32 as riscv, sparc};
use made::{Seeded, device, seals};
use pack::chain::run::{self, End};
use pack::chain::{Chain, Data, DataTiming, Protection, Settings, Shape, Work, sealed};
use pack::code::packet::{Format, Packet};
use pack::image::Image;
use pack::integrity::Integrity;
use pack::lines::Role;
use pack::program::{Form, Reference};
use pack::sealed::{Settings as Sealing, Unsealed, seal_under_given_nonce};
use pack::{Profile, Program, Target, pack};
use packets::{CODE, DATA, Word, packet, plain};

const MEMORY_BYTES: u32 = 0x2_0000;
const CONSTANTS: [u32; 3] = [0x1234_5678, 0x9abc_def0, 0x0800_0100];

/// Data at no time, each access over the bus, and a cache.
fn data_ways() -> [Settings; 3] {
    let timing = DataTiming { first_cycles: 10, next_cycles: 1, store_cycles: 0 };
    let ways = [Data::Ideal, Data::Uncached(timing), Data::Cached(Shape::direct(64), timing)];
    ways.map(|data| Settings { data, ..Settings::default() })
}

/// By word of the code: what a load finds there, or `None` where packed text is.
type Places = Vec<Option<u32>>;

/// A program that does one thing with what an address in %g1 says, and ends; before and behind it packets, a hole, and
/// constants.
fn around(line: &str) -> (Image, Places) {
    let words = [
        packet(Format::Three, &["nop", "mov 5, %g3"]),
        plain(line),
        plain("ta 0"),
        packet(Format::Four, &["mov 1, %g4", "mov 2, %g4", "mov 3, %g4", "mov 4, %g4"]),
        packet(Format::TwoBranch, &["be .+8", "mov 1, %g4"]),
        // A hole before what must be aligned.
        plain("nop"),
        Word::Number(CONSTANTS[0]),
        Word::Number(CONSTANTS[1]),
        Word::Number(CONSTANTS[2]),
        packet(Format::FarBranch, &["mov 5, %g3", "be .+8"]),
    ];
    let place = |word: &Word| if let Word::Number(number) = word { Some(*number) } else { None };
    (packets::image(&words), words.iter().map(place).collect())
}

fn ran(image: &Image, address: u32, settings: &Settings) -> (Machine<Board<Chain>>, FaultKind) {
    let core = Core { timing: Timing::ideal(), ..Core::default() };
    let protection = Protection::cost_of_code(image, Work::Block);
    let started = run::on_board(image, &protection, settings, core, MEMORY_BYTES, &[]);
    let mut machine = started.expect("it fits");
    machine.set_register(1, address);
    let outcome = run::finish_board(&mut machine, 10_000, &mut ());
    let End::Fault(fault) = outcome.end else { panic!("{:?}", outcome.end) };
    (machine, fault.kind)
}

/// The program's own end, with traps off.
const ENDED: FaultKind = FaultKind::ErrorMode { trap: Trap::software(0) };

/// A load's mnemonic, how wide it is, and whether it extends a sign.
const LOADS: [(&str, u32, bool); 6] = [
    ("ldub", 1, false),
    ("ldsb", 1, true),
    ("lduh", 2, false),
    ("ldsh", 2, true),
    ("ld", 4, false),
    ("ldd", 8, false),
];

/// The bytes at an offset, or the first word of them that is packed text.
fn expected(places: &Places, offset: u32, bytes: u32) -> Result<u64, u32> {
    let mut value = 0;
    for at in offset..offset + bytes {
        // A load names the first byte that it asks of a word.
        let word = places[at as usize / 4].ok_or(if at / 4 == offset / 4 { offset } else { at & !3 })?;
        value = value << 8 | u64::from(word >> (24 - 8 * (at % 4)) & 0xff);
    }
    Ok(value)
}

#[test]
fn every_load_from_packed_text_ends_the_run_and_every_other_finds_what_stands_there() {
    for (mnemonic, bytes, is_signed) in LOADS {
        let (image, places) = around(&format!("{mnemonic} [%g1], %g2"));
        let end = 4 * places.len() as u32;
        let (mut packed, mut found) = (0, 0);
        for offset in (0..end).step_by(bytes as usize) {
            for settings in data_ways() {
                let (machine, kind) = ran(&image, CODE + offset, &settings);
                let what = format!("{mnemonic} {offset}");
                match expected(&places, offset, bytes) {
                    Err(at) => {
                        assert_eq!(kind, FaultKind::PackedText { address: CODE + at }, "{what}");
                        assert_eq!(machine.register(2), 0, "{what}");
                        packed += 1;
                    }
                    Ok(value) => {
                        assert_eq!(kind, ENDED, "{what}");
                        let unused = 64 - 8 * bytes;
                        let signed = ((value << unused) as i64 >> unused) as u32;
                        let words = if bytes == 8 { (value >> 32) as u32 } else { value as u32 };
                        let register = if is_signed { signed } else { words };
                        assert_eq!(machine.register(2), register, "{what}");
                        assert!(bytes < 8 || machine.register(3) == value as u32, "{what}");
                        found += 1;
                    }
                }
            }
        }
        assert!(packed > 0 && found > 0, "{mnemonic}: {packed} {found}");
    }
}

#[test]
fn a_constant_that_looks_like_a_packet_is_loaded() {
    let (image, places) = around("ld [%g1], %g2");
    let looks = |word: u32| {
        let packet = Packet::of_word(Target::Sparc, word);
        packet.is_some_and(|packet| image.dictionary.expand(Target::Sparc, &packet).is_some())
    };
    let number = places.iter().position(|place| place.is_some_and(looks)).expect("there is one");
    let (machine, kind) = ran(&image, CODE + 4 * number as u32, &Settings::default());
    assert_eq!((kind, Some(machine.register(2))), (ENDED, places[number]));
}

#[test]
fn an_exchange_and_a_store_anywhere_in_code_end_the_run_and_change_nothing() {
    let lines = [
        ("ldstub [%g1], %g2", 1, true),
        ("swap [%g1], %g2", 4, true),
        ("stb %g3, [%g1]", 1, false),
        ("sth %g3, [%g1]", 2, false),
        ("st %g3, [%g1]", 4, false),
        ("std %g4, [%g1]", 8, false),
    ];
    for (line, bytes, loads) in lines {
        let (image, places) = around(line);
        for offset in (0..4 * places.len() as u32).step_by(bytes as usize) {
            for settings in data_ways() {
                let (machine, kind) = ran(&image, CODE + offset, &settings);
                let address = CODE + offset;
                let packed = FaultKind::PackedText { address };
                let is_packed = loads && expected(&places, offset, bytes).is_err();
                let stored = FaultKind::StoredToCode { address };
                assert_eq!(kind, if is_packed { packed } else { stored }, "{line} {offset}");
                assert_eq!(machine.register(2), 0);
            }
        }
    }
}

#[test]
fn behind_and_before_code_is_memory_like_any_other_or_none() {
    // On a board there is memory; under Linux there is none, and there are no bytes of the table of a container.
    let (image, places) = around("ld [%g1], %g2");
    let end = CODE + 4 * places.len() as u32;
    for address in [CODE - 4, end] {
        assert_eq!(ran(&image, address, &Settings::default()).1, ENDED, "{address:#x}");
        for settings in data_ways() {
            let trap = Trap::DATA_ACCESS_EXCEPTION;
            assert_eq!(under_linux(&image, address, &settings).0, FaultKind::Unanswered { trap });
        }
    }
    // A double word of which the second half is not there.
    let (mut image, _) = around("ldd [%g1], %g2");
    let last = image.sections[0].bytes.len() - 4;
    image.sections[0].bytes.truncate(last);
    let trap = Trap::DATA_ACCESS_EXCEPTION;
    let found = under_linux(&image, CODE + 32, &Settings::default()).0;
    assert_eq!(found, FaultKind::Unanswered { trap });
}

/// The same under Linux' calls.
fn started(image: &Image, protection: &Protection, address: u32, settings: &Settings) -> User<Chain> {
    let core = machine::Settings { timing: Timing::ideal(), ..machine::Settings::default() };
    let user = user::Settings { machine: core, ..user::Settings::default() };
    let files = Files::new(Default::default(), b"input".to_vec());
    let started = run::under_linux(image, protection, settings, &[], files, user);
    let mut program = started.expect("it fits");
    program.machine.set_register(1, address);
    program
}

/// How that ends; what was written, and what the last call answered.
fn under_linux(image: &Image, address: u32, settings: &Settings) -> (FaultKind, Vec<u8>, u32) {
    let mut program = started(image, &Protection::cost_of_code(image, Work::Block), address, settings);
    let outcome = run::finish(&mut program, 10_000, &mut ());
    let End::Fault(fault) = outcome.end else { panic!("{:?}", outcome.end) };
    (fault.kind, outcome.output, program.machine.register(8))
}

#[test]
fn constants_come_through_the_decipher_and_dictionary_and_tags_are_no_data() {
    let (image, places) = around("ld [%g1], %g2");
    for (seal, key) in seals(&mut Seeded::new()) {
        let settings = Sealing {
            integrity: Integrity::new(1, 8).ok(),
            tables_first: Some(0x3000_0000),
            ..made::settings(seal)
        };
        let made = Unsealed::from(image.clone());
        let made =
            seal_under_given_nonce(&made, &settings, seal, &key, &device(2)).expect("it can be sealed");
        let (booted, protection) = sealed::boot(made::unlock(&made, 2)).expect("nothing was changed");
        let found = |address: u32, settings: &Settings| {
            let mut program = started(&booted, &protection, address, settings);
            let End::Fault(fault) = run::finish(&mut program, 10_000, &mut ()).end else { panic!("it ends") };
            (fault.kind, program.machine.register(2))
        };
        for settings in data_ways() {
            for (number, place) in places.iter().enumerate().skip(6) {
                let address = CODE + 4 * number as u32;
                let (kind, value) = found(address, &settings);
                assert_eq!(value, place.unwrap_or(0), "{seal}: {kind:?}");
                assert_eq!(kind == FaultKind::PackedText { address }, place.is_none());
            }
            for role in [Role::Dictionary, Role::Tags] {
                let entry = made.entry_of(role).expect("it has both");
                for address in (entry.first..entry.first + entry.bytes).step_by(4) {
                    let trap = Trap::DATA_ACCESS_EXCEPTION;
                    assert_eq!(found(address, &settings), (FaultKind::Unanswered { trap }, 0), "{role:?}");
                }
            }
        }
    }
}

/// A program that makes a call of Linux about eight bytes from an address on, and then one that is not answered.
fn calling(number: u32, file: u32, address: u32) -> Image {
    let words = [
        packet(Format::Three, &["mov 8, %o2", "nop", &format!("mov {file}, %o0")]),
        plain(&format!("sethi %hi({address:#x}), %o1")),
        plain(&format!("or %o1, {}, %o1", address & 0x3ff)),
        plain(&format!("mov {number}, %g1")),
        plain("ta 0x10"),
        plain("ta 1"),
        Word::Number(CONSTANTS[0]),
        Word::Number(CONSTANTS[1]),
        packet(Format::Three, &["nop", "nop", "nop"]),
    ];
    packets::image(&words)
}

#[test]
fn a_system_call_takes_constants_from_code_and_ends_the_run_at_a_packet() {
    const WRITE: u32 = 4;
    let unanswered = FaultKind::Unanswered { trap: Trap::software(1) };
    let (kind, output, answer) = under_linux(&calling(WRITE, 1, CODE + 24), 0, &Settings::default());
    assert_eq!((kind, answer), (unanswered, 8));
    assert_eq!(output, [CONSTANTS[0].to_be_bytes(), CONSTANTS[1].to_be_bytes()].concat());
    // From the second constant into the packet behind it, from the packet that begins the program, and from a word.
    for (address, packet) in [(CODE + 28, CODE + 32), (CODE, CODE), (CODE + 4, CODE + 4)] {
        let (kind, output, _) = under_linux(&calling(WRITE, 1, address), 0, &Settings::default());
        assert_eq!((kind, output), (FaultKind::PackedText { address: packet }, vec![]));
    }
}

#[test]
fn a_system_call_that_would_change_code_is_told_that_it_cannot() {
    const READ: u32 = 3;
    const EFAULT: u32 = 14;
    for address in [CODE, CODE + 4, CODE + 24, CODE + 32] {
        let (kind, _, answer) = under_linux(&calling(READ, 0, address), 0, &Settings::default());
        assert_eq!((kind, answer), (FaultKind::Unanswered { trap: Trap::software(1) }, EFAULT));
    }
}

#[test]
fn code_that_is_written_into_memory_is_not_executed_and_flush_does_nothing() {
    let instruction = packets::word_of("mov 7, %g4");
    for packed in [false, true] {
        let stores = ["st %g2, [%g3]", "flush %g3", "nop"];
        let mut words = vec![
            plain(&format!("sethi %hi({instruction:#x}), %g2")),
            plain(&format!("or %g2, {}, %g2", instruction & 0x3ff)),
            plain(&format!("sethi %hi({DATA:#x}), %g3")),
        ];
        if packed {
            words.push(packet(Format::Three, &stores));
        } else {
            words.extend(stores.map(plain));
        }
        words.extend([plain("ld [%g3], %g5"), plain("jmp %g3 + 0"), plain("nop"), plain("ta 0")]);
        let (machine, kind) = ran(&packets::image(&words), 0, &Settings::default());
        let trap = Trap::INSTRUCTION_ACCESS_EXCEPTION;
        let named = [FaultKind::Unfetched { trap }, FaultKind::ErrorMode { trap }];
        assert!(named.contains(&kind), "{kind:?}");
        assert_eq!((machine.register(5), machine.register(4)), (instruction, 0));
    }
    // A store to code ends the run before a FLUSH could tell the core of it.
    let words = [
        plain(&format!("sethi %hi({CODE:#x}), %g3")),
        packet(Format::Three, &["mov 7, %g4", "st %g2, [%g3 + 8]", "flush %g3 + 8"]),
        plain("ta 0"),
    ];
    let (machine, kind) = ran(&packets::image(&words), 0, &Settings::default());
    assert_eq!(kind, FaultKind::StoredToCode { address: CODE + 8 });
    assert_eq!((machine.pc(), machine.register(4)), (CODE + 5, 7));
}

/// A program of RV32 that does one thing with what t0 says; as [`around`].
fn around_rv32(line: &str) -> (Image, Places) {
    let words = [
        rv32::packet(Format::Three, &["nop", "addi s1, zero, 5"]),
        rv32::plain(line),
        rv32::plain("ebreak"),
        rv32::packet(Format::Four, &["nop", "nop", "nop", "nop"]),
        rv32::plain("nop"),
        rv32::Word::Number(CONSTANTS[0]),
        rv32::Word::Number(CONSTANTS[1]),
        rv32::packet(Format::FarBranch, &["nop", "jal zero, .+8"]),
    ];
    let place = |word: &rv32::Word| if let rv32::Word::Number(number) = word { Some(*number) } else { None };
    (rv32::image(&words), words.iter().map(place).collect())
}

fn ran_rv32(image: &Image, address: u32, settings: &Settings) -> (u32, riscv::FaultKind) {
    let protection = Protection::cost_of_code(image, Work::Block);
    let user = riscv::user::Settings::default();
    let started = run::rv32::under_linux(image, &protection, settings, &[], Files::default(), user);
    let mut program = started.expect("it fits");
    program.machine.set_register(5, address);
    let outcome = run::rv32::finish(&mut program, 10_000, &mut ());
    let End::Fault(fault) = outcome.end else { panic!("{:?}", outcome.end) };
    (program.machine.register(11), fault.kind)
}

#[test]
fn every_load_and_store_of_rv32_in_code_finds_a_constant_or_ends_the_run() {
    use riscv::FaultKind::{PackedText, StoredToCode, Unanswered};
    let ended = Unanswered { trap: riscv::Trap::Breakpoint };
    let loads = [("lb", 1, true), ("lbu", 1, false), ("lh", 2, true), ("lhu", 2, false), ("lw", 4, false)];
    for (mnemonic, bytes, is_signed) in loads {
        let (image, places) = around_rv32(&format!("{mnemonic} a1, 0(t0)"));
        for offset in (0..4 * places.len() as u32).step_by(bytes as usize) {
            let address = rv32::CODE + offset;
            for settings in data_ways() {
                let (found, kind) = ran_rv32(&image, address, &settings);
                let Some(word) = places[offset as usize / 4] else {
                    assert_eq!((found, kind), (0, PackedText { address }), "{mnemonic} {offset}");
                    continue;
                };
                let unused = 32 - 8 * bytes;
                let above = (word >> (8 * (offset % 4))) << unused;
                let value = if is_signed { (above as i32 >> unused) as u32 } else { above >> unused };
                assert_eq!((found, kind), (value, ended), "{mnemonic} {offset}");
            }
        }
    }
    for (mnemonic, bytes) in [("sb", 1), ("sh", 2), ("sw", 4)] {
        let (image, places) = around_rv32(&format!("{mnemonic} s1, 0(t0)"));
        for offset in (0..4 * places.len() as u32).step_by(bytes) {
            let address = rv32::CODE + offset;
            for settings in data_ways() {
                assert_eq!(ran_rv32(&image, address, &settings).1, StoredToCode { address }, "{mnemonic}");
            }
        }
    }
}

#[test]
fn code_that_rv32_writes_into_memory_is_not_executed_and_no_fence_changes_that() {
    let ended = |words: &[rv32::Word]| ran_rv32(&rv32::image(words), rv32::DATA, &Settings::default()).1;
    let unanswered = |trap| riscv::FaultKind::Unanswered { trap };
    let words = [
        rv32::packet(Format::Three, &["sw a1, 0(t0)", "fence rw, rw", "lw a2, 0(t0)"]),
        rv32::plain("jalr zero, 0(t0)"),
    ];
    assert_eq!(ended(&words), unanswered(riscv::Trap::InstructionAccess));
    // FENCE.I is of an extension that this core has not.
    assert_eq!(ended(&[rv32::Word::Number(0x0000_100f)]), unanswered(riscv::Trap::IllegalInstruction));
}

/// A program that loads the word with a number from a table among its instructions.
fn indexing() -> Program {
    const TABLE: u32 = rv32::CODE + 4 * 6;
    let mut lines =
        vec!["lui t1, 0x10", "slli t0, t0, 2", "add t1, t1, t0", "lw a1, 24(t1)", "ebreak", "jal zero, .-4"];
    // The table; behind it what training never looks at.
    lines.extend(["nop"; 4]);
    lines.extend(["addi s4, s4, 1"; 60]);
    lines.push("ret");
    let mut words: Vec<u32> = lines.iter().map(|line| rv32::word_of(line)).collect();
    words[6..10].copy_from_slice(&[CONSTANTS[0], CONSTANTS[1], CONSTANTS[2], 7]);
    let mut program = rv32::linked(&words, &[0, 10]);
    let refer = |at, form| Reference { at, form, to: TABLE };
    program.references = vec![refer(rv32::CODE, Form::High20), refer(rv32::CODE + 12, Form::Low12)];
    program
}

#[test]
fn an_index_that_training_never_had_finds_the_table_or_ends_the_run() {
    let program = indexing();
    // A run that loads the first entry.
    let profile = Profile::new((0..5).map(|word| (rv32::CODE + 4 * word, 1000)));
    let settings = pack::Settings::default();
    let packed = pack(&program, &[profile], &settings).expect("it can be packed");
    assert_eq!(packed.report.nothing, None);
    let image = packed.image;
    let new = |old: u32| image.map.iter().find(|moved| moved.old == old).expect("it is mapped").new;
    let table = new(rv32::CODE + 24);
    let end = rv32::CODE + image.sections[0].bytes.len() as u32;
    // The map is for debuggers: the same without it.
    for image in [image.clone(), Image { map: Vec::new(), ..image }] {
        let (mut packets, mut words) = (0, 0);
        for index in 0..32 {
            let (found, kind) = ran_rv32(&image, index, &Settings::default());
            let address = table + 4 * index;
            if let Some(&constant) = [CONSTANTS[0], CONSTANTS[1], CONSTANTS[2], 7].get(index as usize) {
                assert_eq!(found, constant);
            } else if address >= end {
                let trap = riscv::Trap::LoadAccess;
                assert_eq!(kind, riscv::FaultKind::Unanswered { trap }, "{index}");
            } else {
                let word = image.sections[0].word(Target::Rv32, address).expect("it is code");
                let is_packet = Packet::of_word(Target::Rv32, word).is_some();
                (packets, words) = (packets + u32::from(is_packet), words + u32::from(!is_packet));
                assert_eq!((found, kind), (0, riscv::FaultKind::PackedText { address }), "{index}");
            }
        }
        assert!(packets > 3 && words > 0, "{packets} packets and {words} words behind the table");
    }
}

/// A reader of errors need not know which core it was.
#[test]
fn cores_tell_the_same_story_in_their_own_words() {
    let sparc = sparc::Fault { pc: CODE + 2, kind: FaultKind::PackedText { address: CODE } };
    let rv32 = riscv::Fault { pc: CODE + 2, kind: riscv::FaultKind::PackedText { address: CODE } };
    assert_eq!(sparc.to_string(), rv32.to_string());
    let sparc = sparc::Fault { pc: CODE, kind: FaultKind::StoredToCode { address: CODE + 4 } };
    let rv32 = riscv::Fault { pc: CODE, kind: riscv::FaultKind::StoredToCode { address: CODE + 4 } };
    assert_eq!(sparc.to_string(), rv32.to_string());
}
